/* explain_changes.c - the end of `trainyard explain`: what changes of the plan do, and what better
 * hardware would do. */
#include <math.h>

#include "sim/base/number_text.h"
#include "sim/base/words.h"
#include "sim/report/table.h"
#include "sim/search/neighbours.h"
#include "topology/exceptions.h"

/* ---- what can be changed ---- */

#define CHANGE_COLUMN  13
#define MEMORY_COLUMN  25
#define VERDICT_COLUMN 38
#define SET_COLUMN     53

/* What to type, and what that takes the place of. */
void ty_report_sets(struct ty_text *t, const struct ty_change *change)
{
    for (uint32_t i = 0; i < change->n; i++) {
        ty_text_add(t, "%s--set ", i == 0 ? "" : " ");
        ty_change_put(t, change->set[i]);
    }
    for (uint32_t i = 0; i < change->n; i++) {
        ty_text_add(t, "%s%s", i == 0 ? "  (was " : ", ", change->was[i]);
    }
    ty_text_add(t, change->n > 0 ? ")\n" : "as it is\n");
}

/* One that does exactly what the plan as it is does. */
static bool is_same(const struct ty_neighbour *a, const struct ty_neighbour *own)
{
    return a != own && a->trial.step_s == own->trial.step_s && a->trial.peak_B == own->trial.peak_B;
}

static void put_row(struct ty_text *t, const struct ty_neighbour *n, const struct ty_neighbour *own)
{
    char value[64];
    ty_text_add(t, "  %s", ty_words_seconds(n->trial.step_s, value, sizeof(value)));
    ty_text_pad(t, CHANGE_COLUMN);
    if (n != own) {
        ty_text_add(t, "%+.2f %%", 100 * (n->trial.step_s / own->trial.step_s - 1));
    }
    ty_text_pad(t, MEMORY_COLUMN);
    ty_text_add(t, "%s", ty_words_bytes(n->trial.peak_B, value, sizeof(value)));
    ty_text_pad(t, VERDICT_COLUMN);
    ty_text_add(t, "%s", ty_verdict_word(n->trial.verdict));
    ty_text_pad(t, SET_COLUMN);
    ty_report_sets(t, &n->change);
}

static void put_same(struct ty_text *t, const struct ty_neighbours *all)
{
    const struct ty_neighbour *own = &all->item[all->own];
    bool any = false;
    for (uint32_t i = 0; i < all->n; i++) {
        const struct ty_change *change = &all->item[i].change;
        if (is_same(&all->item[i], own)) {
            ty_text_add(t, any ? ", " : "  no difference: ");
            for (uint32_t k = 0; k < change->n; k++) {
                ty_text_add(t, k == 0 ? "" : " ");
                ty_change_put(t, change->set[k]);
            }
            any = true;
        }
    }
    ty_text_add(t, any ? "\n" : "");
}

int ty_report_changes(const struct ty_run *run, struct ty_text *t, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_neighbours all;
    const int rc = ty_run_neighbours(run, false, &all, &arena, err);
    if (rc < 0 || all.n < 2) {
        ty_arena_release(&arena);
        return rc;
    }
    ty_text_add(t, "what you can change: step time, memory of the fullest GPU, and what to type; "
                   "fastest first\n");
    if (all.no_noise) {
        ty_text_add(t, "  all without run.jitter, run.gpu_spread and run.routing, for the sake of "
                       "time\n");
    }
    for (uint32_t i = 0; i < all.n; i++) {
        if (!is_same(&all.item[i], &all.item[all.own])) {
            put_row(t, &all.item[i], &all.item[all.own]);
        }
    }
    put_same(t, &all);
    if (all.left_out > 0) {
        ty_text_add(t,
                    "  %u more were left out: runs of this size take too long, or too much "
                    "memory\n",
                    (unsigned)all.left_out);
    }
    ty_text_add(t, "\n");
    ty_arena_release(&arena);
    return 0;
}

/* ---- what would help ---- */

static void faster_gpus(struct ty_config *c)
{
    c->cluster.gpu.derate /= 1.1;
}

/* Those of other generations; *faster NULL: there are none. TY_ENOMEM. */
static int faster_others(const struct ty_cluster *cluster, const struct ty_exceptions **faster,
                         struct ty_arena *arena)
{
    *faster = NULL;
    if (cluster->exceptions == NULL) {
        return 0;
    }
    struct ty_exceptions *others = ty_arena_array(arena, struct ty_exceptions, 1);
    *faster = others;
    return others != NULL ? ty_exceptions_faster(cluster, 1.1, others, arena) : TY_ENOMEM;
}

static void faster_nvlink(struct ty_config *c)
{
    c->cluster.nvlink.bandwidth *= 1.1;
}

static void faster_network(struct ty_config *c)
{
    c->cluster.net.nic_bandwidth *= 1.1;
}

static void shorter_latency(struct ty_config *c)
{
    double *const latencies[] = {&c->cluster.nvlink.latency,
                                 &c->cluster.nvlink.latency_per_rank,
                                 &c->cluster.nvlink.gather_latency,
                                 &c->cluster.nvlink.step,
                                 &c->cluster.nvlink.tree_step,
                                 &c->cluster.nvlink.p2p_latency,
                                 &c->cluster.net.step,
                                 &c->cluster.net.tree_step,
                                 &c->cluster.net.latency,
                                 &c->cluster.net.p2p_latency};
    for (size_t i = 0; i < TY_COUNT(latencies); i++) {
        *latencies[i] /= 1.1;
    }
}

static void more_micro_batches(struct ty_config *c)
{
    c->layout.global_batch *= 2;
    c->layout.micro_batches *= 2;
}

/* Changed configurations that can be made, each with its place in `trial`. */
struct what_if {
    const char *label;
    void (*change)(struct ty_config *);
    double predicted; /* change of time per token by the path; NAN: it does not say */
};

static void put_what_if(const struct what_if *row, const struct ty_trial *trial,
                        double tokens_per_s, struct ty_text *t)
{
    ty_text_add(t, "  %s", row->label);
    ty_text_pad(t, 34);
    if (row->change == more_micro_batches && trial->config.schedule.custom != NULL) {
        ty_text_add(t, "a schedule of your own has as many as it has\n");
        return;
    }
    if (trial->rc < 0) {
        ty_text_add(t, "cannot be run (%s)\n", ty_code_name(trial->rc));
        return;
    }
    ty_text_add(t, "%+.2f %%", 100 * (tokens_per_s / trial->tokens_per_s - 1));
    if (!isnan(row->predicted)) {
        ty_text_pad(t, 48);
        ty_text_add(t, "expected from the critical path: %+.2f %%", 100 * row->predicted);
    }
    ty_text_add(t, "\n");
}

int ty_report_what_if(const struct ty_run *run, double tokens_per_s,
                      const struct ty_path_sums *path, struct ty_text *t, struct ty_err *err)
{
    const double gain = 1 - 1 / 1.1; /* of the part of the path that gets faster */
    const double share = gain / ty_s_from_ps(run->timeline.makespan);
    const struct what_if rows[] = {
        {"GPUs 10 % faster", faster_gpus, -share * path->compute},
        {"NVLink 10 % faster", faster_nvlink, -share * path->nvlink},
        {"network 10 % faster", faster_network, -share * path->network},
        {"latencies 10 % shorter", shorter_latency, (double)NAN},
        {"twice the micro-batches", more_micro_batches, (double)NAN},
    };
    struct ty_arena arena = {.head = NULL};
    const struct ty_exceptions *faster;
    int rc = faster_others(&run->config->cluster, &faster, &arena);
    struct ty_trial *trial = ty_arena_array(&arena, struct ty_trial, TY_COUNT(rows));
    struct ty_trial *runs[TY_COUNT(rows)];
    uint32_t n = 0;
    rc = rc == 0 && trial != NULL ? 0 : ty_fail_memory(err);
    for (size_t i = 0; i < TY_COUNT(rows) && rc == 0; i++) {
        trial[i].config = ty_trial_config(run);
        rows[i].change(&trial[i].config);
        if (rows[i].change == faster_gpus && faster != NULL) {
            trial[i].config.cluster.exceptions = faster;
        }
        if (rows[i].change != more_micro_batches || run->config->schedule.custom == NULL) {
            runs[n++] = &trial[i];
        }
    }
    if (rc == 0) {
        rc = ty_trials_execute(run, runs, n, err);
    }
    if (rc == 0) {
        ty_text_add(t, "what would help: time per token, by a run with one thing changed\n");
    }
    for (size_t i = 0; i < TY_COUNT(rows) && rc == 0; i++) {
        put_what_if(&rows[i], &trial[i], tokens_per_s, t);
    }
    ty_arena_release(&arena);
    return rc;
}
