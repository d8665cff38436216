/* days.c - see days.h. */
#include "sim/fleet/days.h"

#include <math.h>
#include <stdlib.h>

#include "sim/base/err.h"
#include "sim/base/noise.h"
#include "sim/base/pool.h"

const char *ty_fleet_state_name(enum ty_fleet_state state)
{
    static const char *const names[TY_N_FLEET_STATES] = {
#define X(id, name, doc) name,
        TY_FLEET_STATES(X)
#undef X
    };
    return names[state];
}

/* ---- draws ---- */

enum draw {
    DRAW_LIFE,
    DRAW_RESTART,
    DRAW_HEALS,
    DRAW_CAUSE,
    DRAW_REPLICA,
    DRAW_STOP = 6 /* 5 is that of slow.c */
};

struct history {
    const struct ty_days *d;
    double length_s;
    uint64_t seed, number;
    double scale_s; /* of the Weibull distribution: its mean is 1 / rate */
    double rarer;   /* failures that stop a whole job, than all of them: so many times */
    ty_days_fn *tell;
    void *arg;
    struct ty_days_sums *sums;

    double now_s;
    double life_s;      /* until the next failure, of time that counts */
    double next_stop_s; /* when it falls due */
    uint64_t stops;
    uint64_t drawn;    /* failures, also of what is away */
    uint32_t memories; /* checkpoints since the last to storage from where work goes on */
    double into_s;     /* further than that, when a replica left or returned */

    double *repaired_s; /* [spares + 1] a ring: when nodes are back, in rising order */
    uint32_t first, n_away;
    struct ty_absent away; /* of an elastic job */
    struct ty_slow_play slow;
    struct ty_slow_shares lately; /* lost to it by the work that was kept last */
};

/* In (0, 1). */
static double uniform_of(const struct history *p, uint64_t drawn, enum draw what)
{
    return ty_hash4_uniform(p->seed, p->number, drawn, what);
}

static double uniform(const struct history *p, enum draw what)
{
    return uniform_of(p, p->drawn, what);
}

/* Until a planned stop, of the time outside of them. */
static double draw_stop(struct history *p)
{
    return p->d->planned_every_s * -log(uniform_of(p, p->stops++, DRAW_STOP));
}

static double draw_life(const struct history *p, enum draw what)
{
    if (!(p->d->rate > 0)) {
        return INFINITY;
    }
    const double x = -log(uniform(p, what));
    return p->scale_s * (p->d->shape == 1 ? x : pow(x, 1 / p->d->shape));
}

static const struct ty_days_cause *draw_cause(const struct history *p)
{
    const struct ty_days *d = p->d;
    double left = uniform(p, DRAW_CAUSE) * d->rate;
    uint32_t i = 0;
    while (i + 1 + d->evicts < d->n_causes && left >= d->cause[i].rate) {
        left -= d->cause[i++].rate;
    }
    return &d->cause[i];
}

/* ---- time ---- */

static void spend(struct history *p, enum ty_fleet_state state, double s)
{
    const double end_s = fmin(p->now_s + s, p->length_s);
    p->sums->s[state] += end_s - p->now_s;
    if (p->tell != NULL && end_s > p->now_s) {
        p->tell(p->arg, state, p->now_s, end_s, 0, 0);
    }
    p->now_s = end_s;
}

struct ty_days_round ty_days_round(const struct ty_days *d, double y_s)
{
    const double period_s = d->every_s + d->stall_s;
    const double round_s = d->store_every * period_s + d->store_stall_s;
    if (isinf(round_s)) {
        return (struct ty_days_round){.stored = 0};
    }
    const double stored = floor(y_s / round_s), rest_s = y_s - stored * round_s;
    const double more = fmin(floor(rest_s / period_s), d->store_every - 1);
    const double taken = stored * d->store_every + more;
    const double work_s = taken * d->every_s + fmin(rest_s - more * period_s, d->every_s);
    return (struct ty_days_round){stored, taken, y_s - work_s};
}

/* How far into a round a stretch begins; periods may be infinite. */
static double begun_s(const struct history *p)
{
    return (p->memories > 0 ? p->memories * (p->d->every_s + p->d->stall_s) : 0) + p->into_s;
}

/* Stalls of that. */
static double begun_stall_s(const struct history *p)
{
    return p->into_s > 0 ? ty_days_round(p->d, begun_s(p)).stall_s : p->memories * p->d->stall_s;
}

/* Share of the replicas that work. */
static double there(const struct history *p)
{
    const uint32_t n = p->d->replicas.n;
    return n == 0 ? 1 : (double)(n - ty_absent_count(&p->away)) / n;
}

/* Work that is kept, less what slow steps lose of it; below 0: it is lost after all. */
static void keep(struct history *p, double kept_s)
{
    const double slow_s = p->lately.hosts * kept_s, drift_s = p->lately.drift * kept_s;
    p->sums->s[TY_FLEET_WORK] += kept_s - slow_s - drift_s;
    p->sums->s[TY_FLEET_SLOW] += slow_s;
    p->sums->s[TY_FLEET_DRIFT] += drift_s;
}

/* `kept_s` of a stretch of work is progress; below 0: so much is lost of what came before. */
static void spend_working(struct history *p, double s, double stall_s, double kept_s)
{
    const double part = there(p);
    if ((p->d->slow.rate > 0 || p->d->slow.drift > 0) && kept_s > 0) {
        p->lately = ty_slow_ahead(&p->slow, kept_s + stall_s);
    }
    p->slow.clock_s += s;
    keep(p, part * kept_s);
    p->sums->s[TY_FLEET_CHECKPOINT] += part * stall_s;
    p->sums->s[TY_FLEET_LOST] += part * (s - stall_s - kept_s);
    p->sums->s[TY_FLEET_REPLICAS] += (1 - part) * s;
    if (p->tell != NULL && s > 0) {
        p->tell(p->arg, TY_FLEET_WORK, p->now_s, p->now_s + s, s - stall_s - kept_s, begun_s(p));
    }
    p->now_s += s;
}

/* Works for s; checkpoints go on as if nothing were after it. */
static void work_on(struct history *p, double s)
{
    const double before_s = begun_s(p);
    const double stall_s = ty_days_round(p->d, before_s + s).stall_s - begun_stall_s(p);
    spend_working(p, s, stall_s, s - stall_s);
    p->into_s += s;
}

/* Works for s, then stops as it likes: nothing is lost. */
static void work(struct history *p, double s)
{
    work_on(p, s);
    p->memories = 0;
    p->into_s = 0;
}

/* Whether a failure leaves what is in the memory of other nodes. */
static bool survives(const struct history *p)
{
    return p->d->from_memory > 0 && uniform(p, DRAW_HEALS) < p->d->from_memory;
}

/* Works for s, then fails; true: memory of peers has what it takes to go on. */
static bool work_and_fail(struct history *p, double s)
{
    const struct ty_days *d = p->d;
    const double y_s = begun_s(p) + s, stall_s = begun_stall_s(p);
    const bool within = p->into_s > 0; /* work of this round was done before this stretch */
    const double m = within ? 0 : p->memories, done_s = within ? begun_s(p) - stall_s : 0;
    const struct ty_days_round r = ty_days_round(d, y_s);
    const bool heals = survives(p);
    const double durable =
        ty_days_round(d, fmax(y_s - d->durable_after_s, 0)).stored * d->store_every;
    /* What storage is still being written from outlives the failure with the memory. */
    const double taken = heals ? r.taken : durable;
    const double kept_s = taken == m ? 0 : (taken - m) * d->every_s; /* no period may end */
    spend_working(p, s, r.stall_s - stall_s, kept_s - done_s);
    p->memories = heals ? (uint32_t)(r.taken - r.stored * d->store_every) : 0;
    p->into_s = 0;
    return heals;
}

/* ---- nodes ---- */

/* A node may be away for repair; the job waits while more are than there are spares. */
static void replace(struct history *p)
{
    const uint32_t spares = p->d->spares;
    if (spares == TY_FLEET_SPARES_ENOUGH) {
        return;
    }
    while (p->n_away > 0 && p->repaired_s[p->first] <= p->now_s) {
        p->first = (p->first + 1) % (spares + 1);
        p->n_away--;
    }
    p->repaired_s[(p->first + p->n_away++) % (spares + 1)] = p->now_s + p->d->repair_s;
    if (p->n_away > spares) {
        spend(p, TY_FLEET_SPARES, p->repaired_s[p->first] - p->now_s);
        p->first = (p->first + 1) % (spares + 1);
        p->n_away--;
    }
}

/* Until a slow host is found, of a job that restarts without it. */
static double found_s(const struct history *p)
{
    return p->d->evicts ? ty_slow_found_s(&p->slow) : INFINITY;
}

static const struct ty_days_cause *evict(struct history *p)
{
    ty_slow_evicted(&p->slow);
    p->drawn++;
    return &p->d->cause[p->d->n_causes - 1];
}

static const struct ty_days_cause *fail(struct history *p)
{
    p->sums->failures++;
    p->drawn++;
    return draw_cause(p);
}

/* From a failure, or an eviction, until work goes on. */
static void recover(struct history *p, bool from_memory, bool evicts)
{
    const struct ty_days *d = p->d;
    for (bool again = true; again && p->now_s < p->length_s;) {
        const struct ty_days_cause *cause = evicts ? evict(p) : fail(p);
        spend(p, TY_FLEET_DETECT, cause->wait_s);
        if (cause->drained) {
            replace(p);
        }
        const double restart_s = from_memory ? d->memory_restart_s : d->restart_s;
        const double fails_s = draw_life(p, DRAW_RESTART) * p->rarer;
        const double evicts_s = d->replicas.n > 0 ? INFINITY : found_s(p);
        const double life_s = fmin(fails_s, evicts_s);
        again = life_s < restart_s;
        evicts = evicts_s < fails_s;
        spend(p, TY_FLEET_RESTART, again ? life_s : restart_s);
        p->slow.clock_s += again ? life_s : restart_s;
        if (again && from_memory && !survives(p)) {
            from_memory = false;
            keep(p, -(p->memories * d->every_s));
            p->sums->s[TY_FLEET_LOST] += p->memories * d->every_s;
            p->memories = 0;
        }
    }
    p->life_s = draw_life(p, DRAW_LIFE);
    ty_slow_fresh(&p->slow);
    ty_absent_restart(&p->away);
}

/* ---- replicas ---- */

/* Takes in replicas that are back, and waits while too few are there. */
static void regroup(struct history *p)
{
    const struct ty_replicas *r = &p->d->replicas;
    bool back = ty_absent_advance(&p->away, p->now_s);
    while (p->now_s < p->length_s && r->n - ty_absent_count(&p->away) < r->least) {
        spend(p, TY_FLEET_REPLICAS, ty_absent_next_s(&p->away) - p->now_s);
        back |= ty_absent_advance(&p->away, p->now_s);
    }
    if (back) {
        spend(p, TY_FLEET_RESTART, r->regroup_s);
    }
}

/* Works for s, until `cause` takes a replica, unless what it hits is away already; NULL: a slow
 * host is found. */
static void lose_replica(struct history *p, double s, const struct ty_days_cause *cause)
{
    const struct ty_days *d = p->d;
    const bool fails = cause != NULL;
    work_on(p, s);
    if (fails) {
        p->drawn++;
    } else {
        cause = evict(p);
    }
    if (uniform(p, DRAW_REPLICA) < there(p)) {
        p->sums->failures += fails;
        ty_absent_leave(&p->away, p->now_s + cause->wait_s + d->replicas.regroup_s, cause->drained);
        spend(p, TY_FLEET_DETECT, cause->wait_s);
        spend(p, TY_FLEET_RESTART, d->replicas.regroup_s);
        regroup(p);
    }
    p->life_s = draw_life(p, DRAW_LIFE);
}

/* The cause of the failure that comes next, if it takes a replica only. */
static const struct ty_days_cause *leaving(struct history *p)
{
    if (p->d->replicas.n == 0) {
        return NULL;
    }
    p->drawn++;
    const struct ty_days_cause *cause = draw_cause(p);
    p->drawn--;
    return cause->leaves ? cause : NULL;
}

/* ---- a history ---- */

/* What comes first: a failure, a stop, a replica. */
static void play_on(struct history *p)
{
    const double stop_s = fmin(p->length_s, fmax(p->next_stop_s, p->now_s)) - p->now_s;
    const double back_s =
        p->d->replicas.n > 0 ? fmax(ty_absent_next_s(&p->away) - p->now_s, 0) : INFINITY;
    const double evicts_s = found_s(p), ends_s = fmin(p->life_s, evicts_s);
    if (ends_s < fmin(stop_s, back_s)) {
        const bool evicts = evicts_s < p->life_s;
        const struct ty_days_cause *cause = evicts ? NULL : leaving(p);
        if (cause != NULL || (evicts && p->d->replicas.n > 0)) {
            lose_replica(p, ends_s, cause);
        } else {
            recover(p, work_and_fail(p, ends_s), evicts);
        }
    } else if (back_s < stop_s) {
        work_on(p, back_s);
        p->life_s -= back_s;
        regroup(p);
    } else {
        if (stop_s > 0) { /* else it fell due while nothing ran, and has nothing to save */
            work(p, stop_s);
            p->life_s -= stop_s;
        }
        if (p->now_s < p->length_s) {
            spend(p, TY_FLEET_PLANNED, p->d->planned_s);
            p->next_stop_s += p->d->planned_s + draw_stop(p);
            ty_slow_fresh(&p->slow);
        }
    }
}

/* A restart of all is not stopped by what takes a replica only. */
static double rarer(const struct ty_days *d)
{
    double whole = 0;
    for (uint32_t i = 0; i < d->n_causes; i++) {
        whole += d->cause[i].leaves ? 0 : d->cause[i].rate;
    }
    return d->replicas.n == 0 ? 1 : whole > 0 ? d->rate / whole : INFINITY;
}

int ty_days_play(const struct ty_days *d, double length_s, uint64_t seed, uint64_t number,
                 ty_days_fn *tell, void *arg, struct ty_days_sums *sums)
{
    struct history p = {.d = d,
                        .length_s = length_s,
                        .seed = seed,
                        .number = number,
                        .tell = tell,
                        .arg = arg,
                        .sums = sums};
    *sums = (struct ty_days_sums){.failures = 0};
    if (d->spares != TY_FLEET_SPARES_ENOUGH) {
        p.repaired_s = malloc(((size_t)d->spares + 1) * sizeof(*p.repaired_s));
        if (p.repaired_s == NULL) {
            return TY_ENOMEM;
        }
    }
    if (d->replicas.n > 0 && ty_absent_init(&p.away, &d->replicas, d->spares, d->repair_s) < 0) {
        ty_absent_release(&p.away);
        free(p.repaired_s);
        return TY_ENOMEM;
    }
    p.scale_s = d->rate > 0 ? 1 / (d->rate * tgamma(1 + 1 / d->shape)) : INFINITY;
    p.rarer = rarer(d);
    ty_slow_begin(&p.slow, &d->slow, seed, number);
    p.life_s = draw_life(&p, DRAW_LIFE);
    p.next_stop_s = d->planned_every_s > 0 ? draw_stop(&p) : INFINITY;
    while (p.now_s < length_s) {
        play_on(&p);
    }
    ty_absent_release(&p.away);
    free(p.repaired_s);
    return 0;
}

/* ---- many ---- */

struct many {
    const struct ty_days *d;
    double length_s;
    uint64_t seed;
    struct ty_days_sums *sums; /* [runs] */
    int *code;                 /* [runs] */
};

static bool play_one(void *arg, uint32_t i)
{
    const struct many *m = arg;
    m->code[i] = ty_days_play(m->d, m->length_s, m->seed, i, NULL, NULL, &m->sums[i]);
    return m->code[i] == 0;
}

int ty_days_mean(const struct ty_days *d, double length_s, uint64_t seed, uint32_t runs,
                 uint32_t threads, struct ty_days_mean *mean)
{
    struct many m = {.d = d,
                     .length_s = length_s,
                     .seed = seed,
                     .sums = calloc(runs, sizeof(*m.sums)),
                     .code = calloc(runs, sizeof(int))};
    int code = m.sums == NULL || m.code == NULL ? TY_ENOMEM : 0;
    if (code == 0) {
        ty_pool_run(0, runs, threads, play_one, &m);
    }
    *mean = (struct ty_days_mean){.standard_error = 0};
    double failures = 0, squares = 0;
    for (uint32_t i = 0; i < runs && code == 0; i++) {
        code = m.code[i];
        failures += (double)m.sums[i].failures;
        for (int s = 0; s < TY_N_FLEET_STATES; s++) {
            mean->share[s] += m.sums[i].s[s] / length_s / runs;
        }
    }
    for (uint32_t i = 0; i < runs && code == 0; i++) {
        const double off = m.sums[i].s[TY_FLEET_WORK] / length_s - mean->share[TY_FLEET_WORK];
        squares += off * off;
    }
    mean->standard_error = runs > 1 ? sqrt(squares / (runs - 1) / runs) : NAN;
    mean->failures_per_day = failures / runs / length_s * TY_DAY_S;
    free(m.sums);
    free(m.code);
    return code;
}
