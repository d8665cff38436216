/* culprits.c - whom the others wait for: slow GPUs, worse links, and the draw of the dice.
 *
 * A cause costs what the step takes less without it, by another run. Costs do not add up: of two
 * GPUs that are equally slow, repairing one gains nothing, as everybody still waits for the other.
 * So all of them together are run, too. Which rank it is that everybody waits for shows in the
 * critical path, which runs through whoever came last. */
#include <stdio.h>
#include <stdlib.h>

#include "model/parallel.h"
#include "sim/base/noise.h"
#include "sim/base/number_text.h"
#include "sim/base/words.h"
#include "sim/core/analyse/crit.h"
#include "sim/report/table.h"
#include "sim/run/experts.h"
#include "sim/run/gpus.h"
#include "sim/search/trial.h"
#include "topology/exceptions.h"

#define LINES_MAX 8u     /* exceptions that are run without */
#define NOTHING   0.0005 /* share of a step below which a cause costs nothing */
#define RANKS     3u     /* of the critical path, named */

#define COST_COLUMN 34
#define NOTE_COLUMN 57

struct culprits {
    const struct ty_run *run;
    double step_s;
    struct ty_text *t;
    bool no_memory; /* for one of them */
};

/* ---- names ---- */

static void rank_words(const struct ty_run *run, uint32_t rank, char *buf, size_t size)
{
    const struct ty_layout *l = &run->config->layout;
    uint32_t coord[TY_N_AXES];
    ty_grid_coords(&run->lowered.grid, rank, coord);
    int n =
        snprintf(buf, size, "rank %u (stage %u", (unsigned)rank, (unsigned)coord[TY_AXIS_PIPELINE]);
    if (l->tensor > 1) {
        n += snprintf(buf + n, size - (size_t)n, ", tensor %u", (unsigned)coord[TY_AXIS_TENSOR]);
    }
    if (l->context > 1) {
        n += snprintf(buf + n, size - (size_t)n, ", context %u", (unsigned)coord[TY_AXIS_CONTEXT]);
    }
    if (l->expert > 1) {
        const struct ty_expert_place at = ty_expert_place(l, &run->lowered.grid, rank);
        n += snprintf(buf + n, size - (size_t)n, ", expert %u", (unsigned)at.expert);
    }
    (void)snprintf(buf + n, size - (size_t)n, ", data %u)", (unsigned)coord[TY_AXIS_DATA]);
}

/* Whether an exception is of a GPU, its port, or the NICs, the leaf or the GPUs of its node. */
static bool concerns(const struct ty_exception *x, const struct ty_fabric_shape *f, uint32_t gpu)
{
    const uint32_t node = gpu / f->gpus, block = node / f->leaf_nodes;
    switch (x->kind) {
    case TY_EXCEPTION_NIC:
        return node >= x->first / f->nics && node <= x->last / f->nics;
    case TY_EXCEPTION_LEAF: /* a block of nodes has a leaf of every rail */
        return block >= x->first / f->rails && block <= x->last / f->rails;
    case TY_EXCEPTION_NICS:
    case TY_EXCEPTION_GENERATION:
        return node >= x->first && node <= x->last;
    default:
        return gpu >= x->first && gpu <= x->last;
    }
}

/* Ranks that an exception is of; *one is the last of them. */
static uint32_t ranks_on(const struct ty_run *run, const struct ty_exception *x, uint32_t *one)
{
    struct ty_fabric_shape fabric;
    uint32_t n = 0;
    ty_fabric_shape_init(&fabric, &run->config->fabric, &run->config->cluster);
    for (uint32_t rank = 0; rank < run->lowered.grid.n_ranks; rank++) {
        if (concerns(x, &fabric, ty_grid_gpu(&run->lowered.grid, rank))) {
            *one = rank;
            n++;
        }
    }
    return n;
}

static void put_note(const struct culprits *c, const char *note)
{
    ty_text_pad(c->t, NOTE_COLUMN);
    ty_text_add(c->t, "%s", note);
}

/* `gain`: share of the step, negative when the exception makes it shorter. */
static void put_who(const struct culprits *c, const struct ty_exception *x, double gain)
{
    const uint32_t all = c->run->lowered.grid.n_ranks;
    char who[96] = "", note[192];
    uint32_t rank = 0;
    const uint32_t n = ranks_on(c->run, x, &rank), others = all - n;
    if (n == 1) {
        rank_words(c->run, rank, who, sizeof(who));
    } else {
        (void)snprintf(who, sizeof(who), "%u ranks", (unsigned)n);
    }
    if (n == 0) {
        (void)snprintf(note, sizeof(note), "no rank sits there");
    } else if (gain < -NOTHING) {
        (void)snprintf(note, sizeof(note), "%s: faster, and the step with %s", who,
                       n == 1 ? "it" : "them");
    } else if (gain <= NOTHING) {
        (void)snprintf(note, sizeof(note), "%s: nobody waits longer for %s than for others", who,
                       n == 1 ? "it" : "them");
    } else if (others == 0) {
        (void)snprintf(note, sizeof(note), "all ranks");
    } else {
        (void)snprintf(note, sizeof(note), "%s: %u other%s wait%s for %s", who, (unsigned)others,
                       others == 1 ? "" : "s", others == 1 ? "s" : "", n == 1 ? "it" : "them");
    }
    put_note(c, note);
}

/* ---- the step without a cause ---- */

/* Seconds that the step gains, or a negative code. */
static int gain_of(struct culprits *c, const struct ty_config *without, double *gain)
{
    double step_s = 0;
    const int rc = ty_trial_step(without, &step_s);
    *gain = c->step_s - step_s;
    return rc;
}

/* "gpu 17 at 80 %      +1.026 s (17.86 %)  "; false: it could not be run. */
static bool put_cost(struct culprits *c, const char *label, const struct ty_config *without,
                     double *gain)
{
    char value[64];
    const int rc = gain_of(c, without, gain);
    ty_text_add(c->t, "  %s", label);
    ty_text_pad(c->t, COST_COLUMN);
    if (rc < 0) {
        c->no_memory = c->no_memory || rc == TY_ENOMEM;
        ty_text_add(c->t, "the run without it failed (%s)", ty_code_name(rc));
        return false;
    }
    ty_text_add(c->t, "%s%s (%.2f %%)", *gain < 0 ? "-" : "+",
                ty_words_seconds(*gain < 0 ? -*gain : *gain, value, sizeof(value)),
                100 * *gain / c->step_s);
    return true;
}

/* Largest gain by repairing one part. */
static double put_exceptions(struct culprits *c, struct ty_arena *arena)
{
    const struct ty_config *config = c->run->config;
    const struct ty_exceptions *e = config->cluster.exceptions;
    double best = 0;
    for (uint32_t i = 0; i < e->n && i < LINES_MAX; i++) {
        struct ty_exceptions less;
        struct ty_config without = *config;
        double gain = 0;
        if (ty_exceptions_without(&config->cluster, i, &less, arena) < 0) {
            c->no_memory = true;
            return best;
        }
        without.cluster.exceptions = &less;
        if (put_cost(c, e->item[i].text, &without, &gain)) {
            put_who(c, &e->item[i], gain / c->step_s);
        }
        ty_text_add(c->t, "\n");
        best = gain > best ? gain : best;
    }
    return best;
}

static void put_together(struct culprits *c, double best)
{
    const uint32_t n = c->run->config->cluster.exceptions->n;
    struct ty_config without = *c->run->config;
    double gain = 0;
    if (n > LINES_MAX) {
        ty_text_add(c->t, "  the first %u of %u exceptions are listed\n", LINES_MAX, (unsigned)n);
    }
    if (n < 2) {
        return;
    }
    without.cluster.exceptions = NULL;
    if (put_cost(c, "all exceptions together", &without, &gain) && gain > NOTHING * c->step_s &&
        best < 0.5 * gain) {
        put_note(c, "repairing one leaves the others to wait for");
    }
    ty_text_add(c->t, "\n");
}

/* The rank that drew the slowest GPU, and how slow: what is given does not count. */
static void put_slowest_draw(struct culprits *c)
{
    const struct ty_program *p = &c->run->lowered.program;
    char who[96], note[192];
    double most = 0;
    uint32_t slowest = 0;
    for (uint32_t rank = 0; rank < p->n_ranks; rank++) {
        const double drawn = p->spread_of[rank] / (p->slow_of != NULL ? p->slow_of[rank] : 1);
        slowest = drawn > most ? rank : slowest;
        most = drawn > most ? drawn : most;
    }
    rank_words(c->run, slowest, who, sizeof(who));
    (void)ty_snprintf(note, sizeof(note), "GPUs drawn slow for the whole run, %s most: %+.2f %%",
                      who, 100 * (most - 1));
    put_note(c, note);
}

/* How many of the nodes that compute are drawn slow. */
static void put_slow_hosts(struct culprits *c)
{
    const struct ty_run_options *o = &c->run->config->run;
    struct ty_config without = *c->run->config;
    char label[64], note[64];
    double gain = 0;
    uint32_t slow = 0;
    const uint32_t nodes = without.cluster.nodes;
    for (uint32_t node = 0; node < nodes; node++) {
        slow += ty_noise_slow_host(o->slow_hosts, 1, o->seed, node) > 1;
    }
    (void)ty_snprintf(label, sizeof(label), "slow_hosts %.3g %%", 100 * o->slow_hosts);
    without.run.slow_hosts = 0;
    if (put_cost(c, label, &without, &gain)) {
        (void)ty_snprintf(note, sizeof(note), "%u of %u nodes, %.3g %% longer", (unsigned)slow,
                          (unsigned)nodes, 100 * o->slow_by);
        put_note(c, note);
    }
    ty_text_add(c->t, "\n");
}

static void put_dice(struct culprits *c)
{
    const struct ty_config *config = c->run->config;
    struct ty_config without = *config;
    char label[64];
    double gain = 0;
    if (config->run.gpu_spread > 0) {
        (void)ty_snprintf(label, sizeof(label), "gpu_spread %.3g %%", 100 * config->run.gpu_spread);
        without.run.gpu_spread = 0;
        if (put_cost(c, label, &without, &gain)) {
            put_slowest_draw(c);
        }
        ty_text_add(c->t, "\n");
        without.run.gpu_spread = config->run.gpu_spread;
    }
    if (config->run.jitter > 0) {
        (void)ty_snprintf(label, sizeof(label), "jitter %.3g %%", 100 * config->run.jitter);
        without.run.jitter = 0;
        if (put_cost(c, label, &without, &gain)) {
            put_note(c, "passes of layers drawn slow, one by one");
        }
        ty_text_add(c->t, "\n");
    }
}

/* ---- experts ---- */

/* Of the layer that is waited for longest: who has most rows. */
static void put_fullest(struct culprits *c)
{
    struct ty_arena arena = {.head = NULL};
    uint32_t n = 0, worst = 0;
    const struct ty_expert_layer *layer = ty_run_expert_layers(c->run, &n, &arena);
    for (uint32_t i = 1; i < n; i++) {
        worst = layer[i].waited_s > layer[worst].waited_s ? i : worst;
    }
    c->no_memory |= layer == NULL;
    if (n > 0) {
        char who[96], note[224], waited[32];
        rank_words(c->run, layer[worst].rank, who, sizeof(who));
        (void)ty_snprintf(note, sizeof(note),
                          "longest in layer %u: %s a GPU, most rows (x %.2f) on %s",
                          (unsigned)layer[worst].layer,
                          ty_words_seconds(layer[worst].waited_s, waited, sizeof(waited)),
                          layer[worst].load, who);
        put_note(c, note);
    }
    ty_arena_release(&arena);
}

static bool is_routed(const struct ty_run *run)
{
    return run->lowered.stage[0].n_loads > 0 ||
           run->lowered.stage[run->config->layout.pipeline - 1].n_loads > 0;
}

static void put_routing(struct culprits *c)
{
    struct ty_config without = *c->run->config;
    char label[64];
    double gain = 0;
    without.routing = (struct ty_token_routing){.method = TY_TOKENS_BALANCED};
    (void)snprintf(label, sizeof(label), "routing %.40s", c->run->config->run.routing);
    if (put_cost(c, label, &without, &gain)) {
        put_fullest(c);
    }
    ty_text_add(c->t, "\n");
}

/* ---- documents ---- */

/* Every micro-batch as the mean of all. */
static void put_documents(struct culprits *c)
{
    struct ty_config without = *c->run->config;
    char label[64];
    double gain = 0;
    (void)snprintf(label, sizeof(label), "packing %s", ty_packing_words[without.run.packing].name);
    without.packing = (struct ty_packing){.n = 0};
    if (put_cost(c, label, &without, &gain)) {
        put_note(c, "micro-batches whose documents differ");
    }
    ty_text_add(c->t, "\n");
}

/* ---- ranks of the critical path ---- */

struct path_ranks {
    const struct ty_program *p, *executed;
    double *seconds; /* [n_ranks] of computation on the path */
    double total;
};

static void add_rank(void *arg, const struct ty_crit_task *task)
{
    struct path_ranks *path = arg;
    const struct ty_program *p = path->executed;
    const struct ty_pass *pass = &ty_gang_passes(p, &p->gangs[task->gang])[task->pass];
    if (ty_pass_ops(p, pass)[task->op].stream == TY_STREAM_COMPUTE) {
        path->seconds[path->p->gangs[task->gang].rank_of[task->member]] += ty_s_from_ps(task->dur);
        path->total += ty_s_from_ps(task->dur);
    }
}

/* The ranks through which most of it runs, the first of them named in full. */
static int put_path_ranks(struct culprits *c, struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_program *p = &c->run->lowered.program;
    struct path_ranks path = {.p = p,
                              .executed = c->run->timeline.program,
                              .seconds = ty_arena_array(arena, double, p->n_ranks)};
    if (path.seconds == NULL) {
        return ty_fail_memory(err);
    }
    const int rc = ty_critical_path(&c->run->timeline, add_rank, &path, err);
    if (rc < 0 || path.total <= 0) {
        return rc;
    }
    ty_text_add(c->t, "  computation on the critical path: ");
    for (uint32_t k = 0; k < RANKS; k++) {
        uint32_t most = 0;
        char who[96];
        for (uint32_t rank = 1; rank < p->n_ranks; rank++) {
            most = path.seconds[rank] > path.seconds[most] ? rank : most;
        }
        if (path.seconds[most] < 0.01 * path.total) {
            break;
        }
        rank_words(c->run, most, who, sizeof(who));
        ty_text_add(c->t, "%s%.1f %% on %s", k > 0 ? ", " : "",
                    100 * path.seconds[most] / path.total, who);
        path.seconds[most] = 0;
    }
    ty_text_add(c->t, "\n");
    return 0;
}

int ty_report_culprits(const struct ty_run *run, double step_s, struct ty_text *t,
                       struct ty_err *err)
{
    const struct ty_config *config = run->config;
    struct ty_arena arena = {.head = NULL};
    struct culprits c = {.run = run, .step_s = step_s, .t = t};
    const bool parts = config->cluster.exceptions != NULL;
    int rc = 0;
    if (!parts && config->run.gpu_spread <= 0 && config->run.slow_hosts <= 0 &&
        config->run.jitter <= 0 && config->packing.n == 0 && !is_routed(run)) {
        return 0;
    }
    ty_text_add(t, "stragglers: what each cause adds to a step, by a run without it\n");
    if (parts) {
        put_together(&c, put_exceptions(&c, &arena));
    }
    if (config->run.slow_hosts > 0) {
        put_slow_hosts(&c);
    }
    put_dice(&c);
    if (is_routed(run)) {
        put_routing(&c);
    }
    if (config->packing.n > 0) {
        put_documents(&c);
    }
    if (ty_program_varies(&run->lowered.program) || ty_run_n_generations(run) > 1) {
        rc = put_path_ranks(&c, &arena, err);
    }
    ty_text_add(t, "\n");
    ty_arena_release(&arena);
    return rc == 0 && c.no_memory ? ty_fail_memory(err) : rc;
}
