/* days.c - a training day by day: failures drawn, checkpoints, restarts, spare nodes (days.h). */
#include "sim/fleet/days.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "sim/base/err.h"
#include "sim/base/noise.h"
#include "sim/base/pool.h"
#include "sim/config/fleet.h"
#include "sim/fleet/replicas.h"
#include "sim/fleet/slow.h"
#include "sim/run/run.h"

/* Who is away in a history. */
struct absent {
    const struct ty_replicas *replicas;
    uint32_t spares;
    double repair_s;
    double *repaired_s, *back_s; /* rings of [n_nodes], [replicas->n], in rising order */
    uint32_t n_nodes, first_node, nodes, first, n;
};

/* Played: a history, beginning with no slow host. */
struct slow_play {
    const struct ty_slow *slow;
    uint64_t seed, number;
    uint64_t drawn;
    double clock_s, at_s; /* now; when the first of those that are not yet found becomes slow */
    double fresh_s;       /* when the job last began anew */
};

/* ---- replicas ---- */

/* ---- which can leave ---- */

/* Data ranks that together hold one copy of everything. */
static uint32_t data_ranks_of_a_copy(const struct ty_layout *l)
{
    const uint32_t sharded = l->zero == 0 ? 1 : l->shard == 0 ? l->data : l->shard;
    const uint32_t there = l->tensor * l->context, experts = l->expert * l->expert_tensor;
    const uint32_t spread = l->expert_data == 0 ? 1 : (experts + there - 1) / there;
    return sharded > spread ? sharded : spread;
}

static uint32_t top_of(uint32_t *above, uint32_t i)
{
    while (above[i] != i) {
        above[i] = above[above[i]];
        i = above[i];
    }
    return i;
}

uint32_t ty_replicas_of(const struct ty_run *run)
{
    const struct ty_grid *grid = &run->lowered.grid;
    const uint32_t each = data_ranks_of_a_copy(&run->config->layout);
    const uint32_t copies = run->config->layout.data / each, nodes = ty_grid_nodes(grid);
    uint32_t *above = malloc((size_t)(copies + nodes) * sizeof(*above));
    if (above == NULL) {
        return 0;
    }
    for (uint32_t i = 0; i < copies + nodes; i++) {
        above[i] = i;
    }
    uint32_t parts = copies + nodes;
    for (uint32_t rank = 0; rank < grid->n_ranks; rank++) {
        uint32_t coord[TY_N_AXES];
        ty_grid_coords(grid, rank, coord);
        const uint32_t copy = coord[TY_AXIS_DATA] / each;
        const uint32_t a = top_of(above, copy < copies ? copy : copies - 1);
        const uint32_t b = top_of(above, copies + ty_grid_node(grid, rank));
        parts -= a != b;
        above[a] = b;
    }
    free(above);
    return parts;
}

/* ---- in closed form ---- */

struct ty_replicas_mean ty_replicas_mean(const struct ty_replicas *r, double load, double repairs,
                                         uint32_t spares)
{
    const double each = load / r->n, away = each / (1 + each);
    const bool enough = spares == TY_FLEET_SPARES_ENOUGH;
    double running = 0, there = 0, seen = 0;
    for (uint32_t lacking = 0; lacking <= r->n && seen < 1 - 1e-13; lacking++) {
        /* Nodes in repair that leave so many replicas without. */
        double p = enough ? lacking == 0 : 0;
        const uint32_t from = lacking == 0 ? 0 : spares + (lacking - 1) * r->nodes + 1;
        for (uint32_t k = from; !enough && k <= spares + lacking * r->nodes; k++) {
            p += repairs > 0 ? gsl_ran_poisson_pdf(k, repairs) : k == 0;
        }
        seen += p;
        for (uint32_t k = 0; k + lacking + r->least <= r->n; k++) {
            const double both = p * gsl_ran_binomial_pdf(k, away, r->n - lacking);
            running += both;
            there += both * (r->n - k - lacking) / r->n;
            if (k > 10 + 2 * load && both < 1e-16 * p) {
                break;
            }
        }
    }
    return (struct ty_replicas_mean){running, running > 0 ? there / running : 0};
}

/* ---- in a history ---- */

static int absent_init(struct absent *a, const struct ty_replicas *replicas, uint32_t spares,
                       double repair_s)
{
    const bool enough = spares == TY_FLEET_SPARES_ENOUGH;
    *a = (struct absent){.replicas = replicas, .spares = spares, .repair_s = repair_s};
    a->n_nodes = enough ? 0 : spares + 1 + replicas->n * replicas->nodes;
    a->repaired_s = malloc((a->n_nodes + 1) * sizeof(*a->repaired_s));
    a->back_s = malloc((replicas->n + 1) * sizeof(*a->back_s));
    return a->repaired_s == NULL || a->back_s == NULL ? TY_ENOMEM : 0;
}

static void absent_release(struct absent *a)
{
    free(a->repaired_s);
    free(a->back_s);
}

/* Replicas that no node is left for. */
static uint32_t lacking(const struct absent *a)
{
    const uint32_t each = a->replicas->nodes;
    return a->nodes > a->spares ? (a->nodes - a->spares + each - 1) / each : 0;
}

static uint32_t absent_count(const struct absent *a)
{
    return a->n + lacking(a);
}

/* Replicas that are away; when that may change next. */
static double absent_next_s(const struct absent *a)
{
    const double back_s = a->n > 0 ? a->back_s[a->first] : INFINITY;
    const double repaired_s = a->nodes > 0 ? a->repaired_s[a->first_node] : INFINITY;
    return fmin(back_s, repaired_s);
}

static void restart(struct absent *a, double now_s)
{
    a->back_s[(a->first + a->n++) % a->replicas->n] = now_s + a->replicas->restart_s;
}

/* One leaves; its failed node is `drained`, or will do again. */
static void absent_leave(struct absent *a, double now_s, bool drained)
{
    const uint32_t before = lacking(a);
    if (drained && a->spares != TY_FLEET_SPARES_ENOUGH) {
        a->repaired_s[(a->first_node + a->nodes++) % a->n_nodes] = now_s + a->repair_s;
    }
    if (lacking(a) == before) {
        restart(a, now_s);
    }
}

/* What has happened until now_s; true: a replica is back. */
static bool absent_advance(struct absent *a, double now_s)
{
    while (a->nodes > 0 && a->repaired_s[a->first_node] <= now_s) {
        const uint32_t before = lacking(a);
        const double at_s = a->repaired_s[a->first_node];
        a->first_node = (a->first_node + 1) % a->n_nodes;
        a->nodes--;
        if (lacking(a) < before) {
            restart(a, at_s);
        }
    }
    bool back = false;
    while (a->n > 0 && a->back_s[a->first] <= now_s) {
        a->first = (a->first + 1) % a->replicas->n;
        a->n--;
        back = true;
    }
    return back;
}

/* The whole job starts again: only those stay away that lack a node. */
static void absent_restart(struct absent *a)
{
    a->n = 0;
}

/* ---- slow hosts ---- */

/* Mean of e^(-x) over 0 .. x. */
static double mean_exp(double x)
{
    return x > 0 ? isinf(x) ? 0 : -expm1(-x) / x : 1;
}

/* ---- closed form ---- */

/* Mean of 1 - e^(-r (T - h)) over the h of a period: its end is durable `after_s` later. */
static double slow_and_kept(const struct ty_slow *s, double period_s, double after_s)
{
    const double most = fmax(s->found_s - after_s, 0), reached = fmin(period_s, most);
    const double none = exp(-s->rate * (most - reached)) * reached * mean_exp(s->rate * reached);
    return isinf(period_s) ? 0 : (reached - none) / period_s;
}

/* Of work that is kept the mean of e^(-rate x), x being the time since the job began anew, which it
 * does `ends` times a second: of whole periods that end by failures, and of all that stops end. */
static double since_fresh(const struct ty_renewal *r, double rate)
{
    const double a = r->every_s + r->memory_stall_s + r->stall_s / r->store_every;
    const double ends = r->rate + r->stops;
    if (!(rate > 0 && ends > 0)) {
        return rate > 0 ? 0 : 1;
    }
    const double in = mean_exp(rate * a);
    const double periods = isinf(a) ? 1 : expm1(-a * ends) / expm1(-a * (ends + rate));
    const double kept = isinf(a) ? 0 : r->rate * a * exp(-a * ends) / -expm1(-a * ends);
    const double stops = r->stops / ends, all = kept + stops;
    return all > 0 ? (kept * in * periods + stops * ends / (ends + rate)) / all : in * periods;
}

struct ty_slow_shares ty_slow_mean(const struct ty_slow *s, const struct ty_renewal *r, bool undone)
{
    const double together = since_fresh(r, s->drift);
    const struct ty_slow_shares drifts = {.drift = 1 - together};
    if (!(s->rate > 0)) {
        return drifts;
    }
    if (isinf(s->found_s)) { /* none is slow yet: e^(-r x) */
        const double well = since_fresh(r, s->drift + s->rate);
        return (struct ty_slow_shares){s->lost * (together - well), drifts.drift};
    }
    double slow = -expm1(-s->rate * s->found_s);
    if (undone) {
        const double q = r->from_memory, period = r->every_s + r->memory_stall_s;
        const double round = r->store_every * period + r->stall_s;
        slow = (1 - q) * slow_and_kept(s, round, r->durable_after_s) +
               (q > 0 ? q * slow_and_kept(s, period, 0) : 0);
    }
    return (struct ty_slow_shares){s->lost * slow * together, drifts.drift};
}

/* ---- played ---- */

#define DRAW_SLOW 5u /* after the draws of days.c */

/* From when the one before became slow. */
static double gap_s(const struct slow_play *p, uint64_t drawn)
{
    return -log(ty_hash4_uniform(p->seed, p->number, drawn, DRAW_SLOW)) / p->slow->rate;
}

static void slow_begin(struct slow_play *p, const struct ty_slow *slow, uint64_t seed,
                       uint64_t number)
{
    *p = (struct slow_play){.slow = slow, .seed = seed, .number = number, .at_s = INFINITY};
    if (slow->rate > 0) {
        p->at_s = gap_s(p, 0);
    }
}

/* The integral of e^(-g x) from one time to another. */
static double together_s(const struct slow_play *p, double from_s, double to_s)
{
    const double g = p->slow->drift;
    return exp(-g * (from_s - p->fresh_s)) * (to_s - from_s) * mean_exp(g * (to_s - from_s));
}

/* Of the next so many seconds the mean of what is lost; the clock stays. */
static struct ty_slow_shares slow_ahead(const struct slow_play *p, double s)
{
    const double end_s = p->clock_s + s;
    double upto_s = p->clock_s, begin_s = p->at_s, slow_s = 0;
    for (uint64_t k = p->drawn; begin_s < end_s && upto_s < end_s; begin_s += gap_s(p, ++k)) {
        const double from_s = fmax(begin_s, upto_s);
        const double to_s = fmin(begin_s + p->slow->found_s, end_s);
        if (to_s > from_s) {
            slow_s += together_s(p, from_s, to_s);
            upto_s = to_s;
        }
    }
    return (struct ty_slow_shares){
        s > 0 ? p->slow->lost * slow_s / s : 0,
        s > 0 && p->slow->drift > 0 ? 1 - together_s(p, p->clock_s, end_s) / s : 0};
}

static double slow_found_s(const struct slow_play *p)
{
    return fmax(p->at_s + p->slow->found_s - p->clock_s, 0);
}

/* Until the next host is found; that is done. */
static void slow_evicted(struct slow_play *p)
{
    p->at_s += gap_s(p, ++p->drawn);
}

/* The job begins anew: launches are together again, and a host that was left alone is replaced. */
static void slow_fresh(struct slow_play *p)
{
    p->fresh_s = p->clock_s;
    if (p->slow->rate > 0 && isinf(p->slow->found_s)) {
        p->at_s = p->clock_s + gap_s(p, ++p->drawn);
    }
}

/* ---- days ---- */

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
    struct absent away; /* of an elastic job */
    struct slow_play slow;
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
    return n == 0 ? 1 : (double)(n - absent_count(&p->away)) / n;
}

/* Work that is kept, less evaluations and what slow steps lose of it; below 0: it is lost after
 * all. */
static void keep(struct history *p, double kept_s)
{
    const double slow_s = p->lately.hosts * kept_s, drift_s = p->lately.drift * kept_s;
    const double rest_s = kept_s - slow_s - drift_s, evaluation_s = p->d->evaluation * rest_s;
    p->sums->s[TY_FLEET_WORK] += rest_s - evaluation_s;
    p->sums->s[TY_FLEET_EVALUATION] += evaluation_s;
    p->sums->s[TY_FLEET_SLOW] += slow_s;
    p->sums->s[TY_FLEET_DRIFT] += drift_s;
}

/* `kept_s` of a stretch of work is progress; below 0: so much is lost of what came before. */
static void spend_working(struct history *p, double s, double stall_s, double kept_s)
{
    const double part = there(p);
    if ((p->d->slow.rate > 0 || p->d->slow.drift > 0) && kept_s > 0) {
        p->lately = slow_ahead(&p->slow, kept_s + stall_s);
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
    return p->d->evicts ? slow_found_s(&p->slow) : INFINITY;
}

static const struct ty_days_cause *evict(struct history *p)
{
    slow_evicted(&p->slow);
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
    slow_fresh(&p->slow);
    absent_restart(&p->away);
}

/* ---- replicas ---- */

/* Takes in replicas that are back, and waits while too few are there. */
static void regroup(struct history *p)
{
    const struct ty_replicas *r = &p->d->replicas;
    bool back = absent_advance(&p->away, p->now_s);
    while (p->now_s < p->length_s && r->n - absent_count(&p->away) < r->least) {
        spend(p, TY_FLEET_REPLICAS, absent_next_s(&p->away) - p->now_s);
        back |= absent_advance(&p->away, p->now_s);
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
        absent_leave(&p->away, p->now_s + cause->wait_s + d->replicas.regroup_s, cause->drained);
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
        p->d->replicas.n > 0 ? fmax(absent_next_s(&p->away) - p->now_s, 0) : INFINITY;
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
            slow_fresh(&p->slow);
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
    if (d->replicas.n > 0 && absent_init(&p.away, &d->replicas, d->spares, d->repair_s) < 0) {
        absent_release(&p.away);
        free(p.repaired_s);
        return TY_ENOMEM;
    }
    p.scale_s = d->rate > 0 ? 1 / (d->rate * tgamma(1 + 1 / d->shape)) : INFINITY;
    p.rarer = rarer(d);
    slow_begin(&p.slow, &d->slow, seed, number);
    p.life_s = draw_life(&p, DRAW_LIFE);
    p.next_stop_s = d->planned_every_s > 0 ? draw_stop(&p) : INFINITY;
    while (p.now_s < length_s) {
        play_on(&p);
    }
    absent_release(&p.away);
    free(p.repaired_s);
    return 0;
}

/* ---- many ---- */

struct many {
    const struct ty_days *d;
    double length_s;
    uint64_t seed;
    uint32_t runs;
    pthread_t caller; /* who tells of progress */
    const struct ty_progress *progress;
    struct ty_days_sums *sums; /* [runs] */
    int *code;                 /* [runs] */
};

static bool play_one(void *arg, uint32_t i)
{
    const struct many *m = arg;
    if (ty_progress_ends(m->progress)) {
        m->code[i] = TY_EIO;
        return false;
    }
    m->code[i] = ty_days_play(m->d, m->length_s, m->seed, i, NULL, NULL, &m->sums[i]);
    if (m->progress->tell != NULL && pthread_equal(m->caller, pthread_self())) {
        m->progress->tell(m->progress->arg, (double)(i + 1) / m->runs);
    }
    return m->code[i] == 0;
}

int ty_days_mean(const struct ty_days *d, double length_s, uint64_t seed, uint32_t runs,
                 uint32_t threads, const struct ty_progress *progress, struct ty_days_mean *mean)
{
    static const struct ty_progress alone;
    struct many m = {.d = d,
                     .length_s = length_s,
                     .seed = seed,
                     .runs = runs,
                     .caller = pthread_self(),
                     .progress = progress != NULL ? progress : &alone,
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
