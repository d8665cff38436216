/* remedy.c - what would make a plan fit.
 *
 * A change is a function that alters a copy of the configuration and notes the --set that does the
 * same; the copy is completed, checked and planned like any other, so a change that the layout or
 * the schedule refuses is none. */
#include "sim/run/remedy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/check.h"

/* ---- changes ---- */

static void note(struct ty_remedy *r, const char *key, const char *value)
{
    if (r->n_sets < TY_REMEDY_SETS) {
        (void)snprintf(r->set[r->n_sets++], sizeof(r->set[0]), "%s=%s", key, value);
    }
}

static void note_number(struct ty_remedy *r, const char *key, uint32_t value)
{
    char text[16];
    (void)snprintf(text, sizeof(text), "%u", (unsigned)value);
    note(r, key, text);
}

static bool recompute(struct ty_config *c, struct ty_remedy *r, enum ty_recompute mode,
                      const char *word)
{
    if (c->layout.recompute >= (int)mode) {
        return false;
    }
    c->layout.recompute = (int)mode;
    note(r, "layout.recompute", word);
    return true;
}

static bool recompute_selective(struct ty_config *c, struct ty_remedy *r)
{
    return recompute(c, r, TY_RECOMPUTE_SELECTIVE, "selective");
}

static bool recompute_ffn(struct ty_config *c, struct ty_remedy *r)
{
    return recompute(c, r, TY_RECOMPUTE_FFN, "ffn");
}

static bool recompute_full(struct ty_config *c, struct ty_remedy *r)
{
    return recompute(c, r, TY_RECOMPUTE_FULL, "full");
}

static bool shard(struct ty_config *c, struct ty_remedy *r, uint32_t zero)
{
    if (c->layout.zero >= zero || c->layout.data == 1) {
        return false;
    }
    const char *const stack = c->layout.framework.preset;
    const bool given = ty_check_given(&c->sections[TY_SECTION_FRAMEWORK], "preset");
    c->layout.zero = zero;
    note_number(r, "layout.zero", zero);
    if (!given && strcmp(stack, ty_framework_default(zero)) != 0) {
        note(r, "framework.preset", stack); /* sharding the weights would change it */
    }
    return true;
}

static bool shard_optimizer(struct ty_config *c, struct ty_remedy *r)
{
    return shard(c, r, 1);
}

static bool shard_gradients(struct ty_config *c, struct ty_remedy *r)
{
    return shard(c, r, 2);
}

static bool shard_weights(struct ty_config *c, struct ty_remedy *r)
{
    return shard(c, r, 3);
}

static bool smaller_micro_batch(struct ty_config *c, struct ty_remedy *r)
{
    if (c->layout.micro_batch % 2 != 0 || c->schedule.own != NULL) {
        return false;
    }
    c->layout.micro_batch /= 2;
    note_number(r, "layout.micro_batch", c->layout.micro_batch);
    return true;
}

/* Ranks of an axis taken from the replicas. */
static bool more_ranks(struct ty_config *c, struct ty_remedy *r, const char *key, uint32_t *axis,
                       uint32_t times)
{
    if (c->layout.data % times != 0 || c->schedule.own != NULL) {
        return false;
    }
    *axis *= times;
    c->layout.data /= times;
    note_number(r, key, *axis);
    return true;
}

#define MORE(name_, axis_, times_)                                                                 \
    static bool name_(struct ty_config *c, struct ty_remedy *r)                                    \
    {                                                                                              \
        return more_ranks(c, r, "layout." #axis_, &c->layout.axis_, (times_));                     \
    }
MORE(tensor_2, tensor, 2)
MORE(tensor_4, tensor, 4)
MORE(tensor_8, tensor, 8)
MORE(pipeline_2, pipeline, 2)
MORE(pipeline_4, pipeline, 4)
MORE(pipeline_8, pipeline, 8)

/* The schedule that holds least without splitting the backward. */
static bool one_forward_one_backward(struct ty_config *c, struct ty_remedy *r)
{
    int index = 0;
    while (ty_schedules[index] != NULL && strcmp(ty_schedules[index]->name, "1f1b") != 0) {
        index++;
    }
    if (c->layout.pipeline == 1 || c->schedule.own != NULL || c->schedule.name == index ||
        ty_schedules[index] == NULL) {
        return false;
    }
    c->schedule.name = index;
    note(r, "schedule.name", "1f1b");
    if (c->schedule.chunks > 1) { /* given for the other schedule */
        c->schedule.chunks = 1;
        note(r, "schedule.chunks", "1");
    }
    if (c->schedule.slices > 1) {
        c->schedule.slices = 1;
        note(r, "schedule.slices", "1");
    }
    return true;
}

static bool split_sequence(struct ty_config *c, struct ty_remedy *r)
{
    if (c->layout.tensor == 1 || c->layout.sequence_parallel) {
        return false;
    }
    c->layout.sequence_parallel = true;
    note(r, "layout.sequence_parallel", "true");
    return true;
}

static bool fused_norm(struct ty_config *c, struct ty_remedy *r)
{
    if (c->arch.norm == TY_FUSED) {
        return false;
    }
    c->arch.norm = TY_FUSED;
    note(r, "model.norm", "fused");
    return true;
}

static bool flash_attention(struct ty_config *c, struct ty_remedy *r)
{
    if (c->arch.attention >= TY_ATTENTION_FLASH1) {
        return false;
    }
    c->arch.attention = TY_ATTENTION_FLASH2;
    note(r, "model.attention", "flash2");
    return true;
}

static bool fused_loss(struct ty_config *c, struct ty_remedy *r)
{
    if (c->layout.framework.fused_loss) {
        return false;
    }
    c->layout.framework.fused_loss = true;
    note(r, "framework.fused_loss", "true");
    return true;
}

/* Makes the change and says how to type it; false: it does not apply. */
typedef bool change_fn(struct ty_config *c, struct ty_remedy *r);

static change_fn *const changes[] = {
    flash_attention,
    fused_norm,
    fused_loss,
    recompute_selective,
    recompute_ffn,
    recompute_full,
    shard_optimizer,
    shard_gradients,
    shard_weights,
    split_sequence,
    smaller_micro_batch,
    tensor_2,
    tensor_4,
    tensor_8,
    pipeline_2,
    pipeline_4,
    pipeline_8,
    one_forward_one_backward,
};

/* ---- plans ---- */

/* Time of a step of a plan: executed, one member of each gang. */
static int step_s(struct ty_run *run, double *seconds, struct ty_err *err)
{
    const int rc = ty_run_execute_folded(run, err);
    *seconds = rc == 0 ? ty_s_from_ps(run->timeline.makespan) / run->lowered.program.n_steps : 0;
    return rc;
}

/* The plan as it is. */
struct before {
    const struct ty_config *config;
    enum ty_verdict verdict;
    double seconds;
};

/* Completes and plans a changed configuration. 1: its verdict is better, 0: it is not, or cannot be
 * planned, or TY_ENOMEM. */
static int try_plan(const struct before *before, struct ty_config *c, struct ty_remedy *r,
                    struct ty_err *why)
{
    const struct ty_config *original = before->config;
    const struct ty_section *layout = &original->sections[TY_SECTION_LAYOUT];
    const size_t data = (size_t)(ty_section_field(layout, "data") - layout->fields);
    const size_t shard = (size_t)(ty_section_field(layout, "shard") - layout->fields);
    struct ty_run *run = NULL;
    struct ty_bill bill;
    if (c->layout.data != original->layout.data && !original->was_blank[TY_SECTION_LAYOUT][data]) {
        note_number(r, "layout.data", c->layout.data);
    }
    if (original->was_blank[TY_SECTION_LAYOUT][shard]) {
        c->layout.shard = 0; /* derived anew */
    }
    why->code = 0;
    int rc = ty_layout_finish(&c->layout, layout, &c->arch, &c->cluster,
                              ty_sched_chunks(&c->schedule), why);
    rc = rc < 0 || c->schedule.own != NULL
             ? rc
             : ty_sched_finish(&c->schedule, &original->sections[TY_SECTION_SCHEDULE],
                               c->layout.pipeline, c->layout.micro_batches, c->arch.sequence, why);
    rc = rc < 0 ? rc : ty_run_new(&run, c, why);
    if (rc < 0) {
        return rc == TY_ENOMEM ? rc : 0;
    }
    ty_run_fullest(run, &bill);
    r->peak_B = bill.total_B;
    const bool better = ty_bill_verdict(&bill, bill.capacity_B) < before->verdict;
    double seconds = 0;
    rc = better ? step_s(run, &seconds, why) : 0;
    r->slower = seconds / before->seconds - 1;
    ty_run_free(run);
    return rc < 0 ? (rc == TY_ENOMEM ? rc : 0) : better;
}

/* Whether two --set texts are of one key. */
static bool same_key(const char *a, const char *b)
{
    const size_t n = strcspn(a, "=");
    return strncmp(a, b, n + 1) == 0;
}

/* Changes number i and, unless it is the same, number k. Adds the plan when its verdict is better
 * and it is faster than `limit`. */
static int try_changes(const struct before *before, size_t i, size_t k, double limit,
                       struct ty_remedies *out, struct ty_err *why)
{
    struct ty_config changed = *before->config;
    struct ty_remedy remedy = {.n_sets = 0};
    if (!changes[i](&changed, &remedy)) {
        return 0;
    }
    const uint32_t first = remedy.n_sets;
    if (k != i && (!changes[k](&changed, &remedy) || same_key(remedy.set[0], remedy.set[first]))) {
        return 0;
    }
    const int rc = try_plan(before, &changed, &remedy, why);
    if (rc > 0 && remedy.slower < limit && out->n < TY_REMEDIES_MAX) {
        out->item[out->n++] = remedy;
    }
    return rc < 0 ? rc : 0;
}

static int fastest_first(const void *a, const void *b)
{
    const struct ty_remedy *x = a, *y = b;
    if (x->slower != y->slower) {
        return x->slower > y->slower ? 1 : -1;
    }
    const int order = strcmp(x->set[0], y->set[0]);
    return order != 0 || x->n_sets < 2 || y->n_sets < 2 ? order : strcmp(x->set[1], y->set[1]);
}

int ty_run_remedies(const struct ty_run *run, struct ty_remedies *out, struct ty_err *err)
{
    struct ty_bill bill;
    struct ty_run *again = NULL;
    ty_run_fullest(run, &bill);
    /* by itself, and in no more detail than the differences need: there are many to try */
    struct ty_config alone = *run->config;
    alone.n_jobs = 0;
    alone.run.detail = TY_RUN_FLOWS;
    struct before before = {&alone, ty_bill_verdict(&bill, bill.capacity_B), 0};
    int rc = ty_run_new(&again, &alone, err);
    rc = rc < 0 ? rc : step_s(again, &before.seconds, err);
    ty_run_free(again);
    if (rc < 0) {
        return rc;
    }
    struct ty_err *why = ty_err_new(); /* why a change is none: nobody asks */
    rc = why != NULL ? 0 : TY_ENOMEM;
    *out = (struct ty_remedies){.n = 0};
    for (size_t i = 0; i < TY_COUNT(changes) && rc == 0; i++) {
        rc = try_changes(&before, i, i, HUGE_VAL, out, why);
    }
    double best = HUGE_VAL;
    for (uint32_t i = 0; i < out->n; i++) {
        best = out->item[i].slower < best ? out->item[i].slower : best;
    }
    out->pairs = best > TY_REMEDY_CHEAP;
    for (size_t i = 0; i < TY_COUNT(changes) && rc == 0 && out->pairs; i++) {
        for (size_t k = i + 1; k < TY_COUNT(changes) && rc == 0; k++) {
            rc = try_changes(&before, i, k, best, out, why);
        }
    }
    ty_err_free(why);
    qsort(out->item, out->n, sizeof(out->item[0]), fastest_first);
    return rc == 0 ? 0 : ty_fail_memory(err);
}
