/* renewal.h - the share of a long training that is progress, in closed form.
 *
 * Failures come at a constant rate 1/M. Work goes on between checkpoints; a failure costs what came
 * after the last one that had become durable, a wait D in which nothing runs and nothing fails, and
 * a restart R, in which it may fail again. From one restart that came to its end to the next takes
 * (M + D) e^(R/M) in the mean, and e^(-w/M) / (e^((tau+C)/M) - 1) checkpoints become durable before
 * a failure, so that
 *
 *     goodput = tau e^(-w/M) / ((M + D) e^(R/M) (e^((tau+C)/M) - 1))
 *
 * exactly: the model of Daly (2006) with a wait (Bougeret et al. 2011), and checkpoints that are
 * written while work goes on.
 *
 * With two levels every checkpoint is in the memory of other nodes, and one of k in storage, too. A
 * failure leaves what is in memory with probability q; then it costs R1 and what came after the
 * last checkpoint, and with 1 - q all that came after the last one in storage. A period of length a
 * is completed before storage is needed with probability
 *
 *     phi(a) = e^(-a/M) / (1 - q rho (1 - e^(-a/M))),  rho = e^(-R1/M) / (1 - q (1 - e^(-R1/M))),
 *
 * a round of k periods with their product, and rounds are to each other what periods are above:
 * also exact, but for w, of which the failures that storage heals are counted. q = 0, k = 1 is the
 * formula above.
 *
 * Planned stops come at a constant rate p, too: each saves all, and a round begins anew. Then work
 * ends at rate 1/M + p, and the share p / (1/M + p) of what it had not stored stays. A stop that
 * falls due while the job does not run is held before it runs again, and saves nothing: what all of
 * them take is a share of the time that is known without this, and the shares here are those of
 * the rest. */
#ifndef TY_FLEET_RENEWAL_H
#define TY_FLEET_RENEWAL_H

#include <stdint.h>

struct ty_renewal {
    double rate;            /* failures a second, 1/M; 0: none */
    double every_s;         /* tau: work between checkpoints; may be infinite */
    double stall_s;         /* C: work stands while one goes to storage */
    double durable_after_s; /* w: it is of no use until so long after that; at most a round */
    double wait_s;          /* D: mean time until a restart may begin */
    double restart_s;       /* R: until work goes on */
    double stops;           /* planned ones a second outside of them, p; 0: none */
    /* Two levels: */
    uint32_t store_every;    /* k, from 1 */
    double memory_stall_s;   /* of every checkpoint; those to storage stall for both */
    double from_memory;      /* q */
    double memory_restart_s; /* R1 */
};

/* Shares of the time that add up to 1. */
struct ty_renewal_shares {
    double goodput, checkpoints, lost_work, wait, restart;
};
struct ty_renewal_shares ty_renewal_shares(const struct ty_renewal *renewal);

/* The interval of most goodput, whatever every_s is: of one level M (1 + W0(-e^(-1 - C/M))) with
 * the main branch of Lambert's function, which neither wait, restart nor durability change; of two,
 * and with planned stops, found by search up to 100 M. Infinite without failures. */
double ty_best_interval(const struct ty_renewal *renewal);

/* Its approximations of one level by Young (1974) and Daly (2006): sqrt(2 C M), and more terms, for
 * C < 2 M. */
double ty_young_interval(double rate, double stall_s);
double ty_daly_interval(double rate, double stall_s);

/* Erlang's loss formula B(servers, load): with spares + 1 servers and load = nodes x repair time /
 * time between failures of a node the share of time in which more nodes are in repair than there
 * are spares, whatever the distribution of repair times, if nodes fail only while the job runs. */
double ty_erlang_loss(uint32_t servers, double load);

#endif
