/* diff.c - comparisons of trainyard.h, as text. */
#include "sim/diff/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/text.h"
#include "sim/cli_api.h"
#include "sim/core/analyse/observed.h"
#include "sim/core/program/issue.h"
#include "sim/document/json.h"
#include "sim/run/bill.h"
#include "sim/run/figures.h"
#include "sim/run/gpus.h"

bool ty_diff_gap(const struct ty_diff_side *a, const struct ty_diff_side *b,
                 struct ty_band_gap *gap)
{
    const struct ty_run *x = a->from->run, *y = b->from->run;
    if (x == NULL || y == NULL || x->band == NULL || y->band == NULL) {
        return false;
    }
    *gap = ty_band_gap(y->band, x->band, log(b->step_s / a->step_s));
    return true;
}

/* ---- JSON ----
 *
 * A comparison for programs: seconds, bytes, shares in 0..1. */

static void put_side(struct ty_json *j, const struct ty_diff_side *s)
{
    const bool measured = s->from->run == NULL;
    char digest[TY_DIGEST_TEXT];
    ty_json_object(j, NULL);
    ty_json_text(j, "name", s->from->name);
    ty_json_text(j, "letter", (const char[]){s->letter, '\0'});
    ty_json_whole(j, "gpus", s->n_gpus);
    ty_json_whole(j, "steps", s->n_steps);
    ty_json_line(j, 5);
    ty_json_real(j, "step_time_s", s->step_s);
    ty_json_real(j, "tokens_per_step", s->tokens);
    ty_json_real(j, "tokens_per_s", s->tokens_per_s);
    ty_json_real(j, "mfu", s->mfu);
    ty_json_line(j, 5);
    ty_json_real(j, "idle_fraction", s->idle);
    ty_json_real(j, "peak_memory_bytes", s->peak_B);
    ty_json_bool(j, "measured", measured);
    ty_json_whole(j, "ranks", s->n_counted);
    if (!measured) {
        ty_json_line(j, 5);
        ty_json_whole(j, "fullest_stage", s->stage);
        ty_json_text(j, "framework", s->stack);
        ty_json_bool(j, "fits", s->fits);
        ty_json_text(j, "config_digest", ty_config_digest_text(s->from->run->config, digest));
    }
    if (!measured && s->from->run->band != NULL) {
        const struct ty_band_ends ends = ty_band_ends(s->from->run->band, s->step_s);
        ty_json_line(j, 5);
        ty_band_members(j, &ends, NULL);
    }
    ty_json_end(j);
}

static void put_remarks(struct ty_json *j, const struct ty_diff_pair *p)
{
    ty_json_line(j, 5);
    ty_json_array(j, "remarks");
    for (uint32_t i = 0; i < p->n_remarks; i++) {
        ty_json_text(j, NULL, p->remark[i]);
    }
    ty_json_end(j);
}

/* An item of a list of a pair: on a line of its own. */
static void put_row(struct ty_json *j)
{
    ty_json_line(j, 6);
    ty_json_object(j, NULL);
}

static void put_keys(struct ty_json *j, const struct ty_diff_pair *p)
{
    ty_json_line(j, 5);
    ty_json_array(j, "keys");
    for (uint32_t i = 0; i < p->n_keys; i++) {
        const struct ty_diff_key *key = &p->key[i];
        put_row(j);
        ty_json_text(j, "key", key->key);
        ty_json_text(j, "a", key->a);
        ty_json_text(j, "b", key->b);
        ty_json_bool(j, "given", key->given);
        ty_json_end(j);
    }
    ty_json_end(j);
}

static void put_parts(struct ty_json *j, const struct ty_diff_pair *p)
{
    const double whole = p->b->step_s - p->a->step_s;
    ty_json_line(j, 5);
    ty_json_array(j, "breakdown");
    for (uint32_t i = 0; i < p->n_parts; i++) {
        const struct ty_diff_part *part = &p->part[i];
        const double change = part->b - part->a;
        put_row(j);
        ty_json_text(j, "part", part->name);
        ty_json_real(j, "a_s", part->a);
        ty_json_real(j, "b_s", part->b);
        ty_json_real(j, "difference_s", change);
        ty_json_real(j, "share", whole < 0 || whole > 0 ? change / whole : 0);
        ty_json_end(j);
    }
    ty_json_end(j);
}

static void put_kind(struct ty_json *j, const char *key, const struct ty_diff_kind *kind)
{
    ty_json_object(j, key);
    ty_json_real(j, "count", kind->count);
    ty_json_real(j, "time_s", kind->seconds);
    ty_json_end(j);
}

static void put_kinds(struct ty_json *j, const struct ty_diff_pair *p)
{
    ty_json_line(j, 5);
    ty_json_array(j, "operations");
    for (uint32_t i = 0; i < p->n_kinds; i++) {
        const struct ty_diff_both *both = &p->kind[i];
        put_row(j);
        ty_json_text(j, "name", both->a.name);
        ty_json_text(j, "part", ty_transformer_words.buckets[both->a.bucket].name);
        ty_json_text(j, "group", both->a.group);
        put_kind(j, "a", &both->a);
        put_kind(j, "b", &both->b);
        ty_json_real(j, "difference_s", both->b.seconds - both->a.seconds);
        ty_json_end(j);
    }
    ty_json_end(j);
}

static void put_pair(struct ty_json *j, const struct ty_diff_pair *p, uint32_t run)
{
    struct ty_band_gap gap;
    ty_json_object(j, NULL);
    ty_json_whole(j, "run", run);
    ty_json_real(j, "step_time_difference_s", p->b->step_s - p->a->step_s);
    if (ty_diff_gap(p->a, p->b, &gap)) {
        ty_band_members(j, NULL, &gap);
    }
    put_remarks(j, p);
    put_keys(j, p);
    put_parts(j, p);
    put_kinds(j, p);
    ty_json_end(j);
}

static void diff_json(const struct ty_diff *d, struct ty_text *t)
{
    struct ty_json j = ty_json_to_text(t);
    ty_json_object(&j, NULL);
    ty_json_lines(&j);
    ty_json_array(&j, "runs");
    ty_json_rows(&j);
    for (uint32_t i = 0; i < d->n; i++) {
        put_side(&j, &d->side[i]);
    }
    ty_json_end(&j);
    ty_json_array(&j, "against_first");
    ty_json_rows(&j);
    for (uint32_t i = 1; i < d->n; i++) {
        put_pair(&j, &d->pair[i], i);
    }
    ty_json_end(&j);
    ty_json_text(&j, "version", TRAINYARD_VERSION);
    ty_json_end(&j);
    ty_text_bytes(t, "\n", 1);
}

#define MORE 1.1 /* of FLOPs: a vocabulary that was padded, a head that was computed twice */

/* FLOPs of the recorded matrix products of a GPU in a step; 0: no shapes. */
static double recorded_flops(const struct ty_diff_side *side)
{
    const struct ty_recording *r = side->from->recording;
    const uint32_t n_ranks = r->n_ranks - (r->marked ? r->n_unmarked : 0);
    return n_ranks > 0 ? r->product_flops / ((double)n_ranks * side->n_steps) : 0;
}

/* What a measured side worked on, as far as the runs during it tell: tokens and MFU, or whose work
 * it is not. work.c */
static void diff_assume_work(struct ty_diff *d, struct ty_diff_side *side)
{
    const double recorded = recorded_flops(side);
    for (uint32_t i = 0; i < d->n && isnan(side->tokens); i++) {
        const struct ty_diff_side *from = &d->side[i];
        struct ty_figures f;
        if (from->from->run == NULL || from->n_gpus != side->n_gpus) {
            continue;
        }
        ty_run_figures(from->from->run, &f);
        const double planned = f.hfu * ty_run_peak(from->from->run) * from->step_s;
        const double mfu = from->mfu * from->step_s / side->step_s;
        if (mfu > 1 || recorded > MORE * planned) {
            side->unlike = side->unlike != 0 ? side->unlike : from->letter;
            side->unlike_mfu = mfu;
            side->unlike_flops = planned > 0 ? recorded / planned : 0;
            continue;
        }
        side->tokens = from->tokens;
        side->tokens_per_s = side->tokens / side->step_s;
        side->mfu = mfu;
        side->assumed = from->letter;
    }
}

/* ---- one side ---- */

/* ---- kinds of operations ---- */

struct tally {
    const struct ty_timeline *t;
    const bool *counted; /* ranks; NULL: all */
    uint64_t *count;     /* [n_kinds] tasks of all ranks and steps */
    double *seconds;
};

/* All tasks of one operation. */
static void add_op(struct tally *y, const struct ty_issue *at)
{
    const struct ty_gang *gang = at->gang;
    const struct ty_op *op = at->op;
    const struct ty_kind *kind = &y->t->program->kinds[op->kind];
    if (y->counted == NULL) {
        y->count[op->kind] += gang->n_ranks;
    }
    if (y->counted == NULL && y->t->dur == NULL && kind->dur_of == NULL) {
        y->seconds[op->kind] += ty_s_from_ps(kind->dur) * gang->n_ranks;
        return;
    }
    ty_ps sum = 0;
    for (uint32_t m = 0; m < gang->n_ranks; m++) {
        if (y->counted == NULL || y->counted[gang->rank_of[m]]) {
            sum += ty_timeline_dur(y->t, gang, op, at->ordinal, m);
            y->count[op->kind] += y->counted != NULL;
        }
    }
    y->seconds[op->kind] += ty_s_from_ps(sum);
}

static void add_all(struct tally *y)
{
    const struct ty_program *p = y->t->program;
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        for (struct ty_issue at = ty_issue_of(p, &p->gangs[g]); ty_issue_next(&at);) {
            add_op(y, &at);
        }
    }
}

static int compare_text(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

int ty_diff_kind_order(const void *a, const void *b)
{
    const struct ty_diff_kind *x = a, *y = b;
    if (x->bucket != y->bucket) {
        return x->bucket < y->bucket ? -1 : 1;
    }
    const int order = compare_text(x->name, y->name);
    return order != 0 ? order : compare_text(x->group, y->group);
}

/* Kinds that differ in cost alone become one row. */
static void join_kinds(struct ty_diff_side *side)
{
    uint32_t n = 0;
    qsort(side->kind, side->n_kinds, sizeof(*side->kind), ty_diff_kind_order);
    for (uint32_t i = 0; i < side->n_kinds; i++) {
        if (n > 0 && ty_diff_kind_order(&side->kind[n - 1], &side->kind[i]) == 0) {
            side->kind[n - 1].count += side->kind[i].count;
            side->kind[n - 1].seconds += side->kind[i].seconds;
        } else {
            side->kind[n++] = side->kind[i];
        }
    }
    side->n_kinds = n;
}

/* Who only sees a collective does not know what it is for. */
static const char *seen_name(const struct ty_kind *kind, bool observed)
{
    return observed && kind->collective != NULL ? kind->collective : kind->name;
}

static int add_kinds(struct ty_diff_side *side, bool observed, struct ty_arena *arena)
{
    const struct ty_program *p = side->timeline->program;
    struct tally y = {.t = side->timeline,
                      .counted = side->counted,
                      .count = ty_arena_array(arena, uint64_t, (size_t)p->n_kinds + 1),
                      .seconds = ty_arena_array(arena, double, (size_t)p->n_kinds + 1)};
    side->kind = ty_arena_array(arena, struct ty_diff_kind, (size_t)p->n_kinds + 1);
    if (y.count == NULL || y.seconds == NULL || side->kind == NULL) {
        return TY_ENOMEM;
    }
    add_all(&y);
    const double per = (double)side->n_counted * side->n_steps;
    for (uint32_t i = 0; i < p->n_kinds; i++) {
        if (y.count[i] > 0) {
            const enum ty_category category = (enum ty_category)p->kinds[i].category;
            side->kind[side->n_kinds++] =
                (struct ty_diff_kind){.name = seen_name(&p->kinds[i], observed),
                                      .group = p->kinds[i].group,
                                      .bucket = ty_transformer_words.categories[category].bucket,
                                      .count = (double)y.count[i] / per,
                                      .seconds = y.seconds[i] / per};
        }
    }
    join_kinds(side);
    return 0;
}

/* ---- parts of a step ---- */

/* As one who only sees the timeline would say: means over the ranks that count. */
static void observe_parts(struct ty_diff_side *side)
{
    const struct ty_timeline *t = side->timeline;
    const double per = (double)side->n_counted * side->n_steps;
    memset(side->part_s, 0, sizeof(side->part_s));
    for (uint32_t g = 0; g < t->program->n_gangs; g++) {
        const struct ty_gang *gang = &t->program->gangs[g];
        for (uint32_t m = 0; m < gang->n_ranks; m++) {
            ty_ps bucket[TY_MAX_BUCKETS];
            if (side->counted != NULL && !side->counted[gang->rank_of[m]]) {
                continue;
            }
            ty_observed_buckets(t, g, m, t->makespan, bucket);
            for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
                side->part_s[b] += ty_s_from_ps(bucket[b]) / per;
            }
        }
    }
}

/* Idle for whatever reason: what is not computation. */
static double idle_share(const struct ty_diff_side *side)
{
    const double busy = side->part_s[TY_BUCKET_COMPUTE_FORWARD] +
                        side->part_s[TY_BUCKET_COMPUTE_BACKWARD] +
                        side->part_s[TY_BUCKET_RECOMPUTE] + side->part_s[TY_BUCKET_OPTIMIZER] +
                        side->part_s[TY_BUCKET_COMPUTE_OTHER];
    return side->step_s > 0 ? 1 - busy / side->step_s : 0;
}

/* ---- the whole ---- */

static void begin_run(struct ty_diff_side *side, const struct ty_run *run)
{
    struct ty_figures f;
    struct ty_bill bill;
    ty_run_figures(run, &f);
    side->timeline = &run->timeline;
    side->stack = run->config->layout.framework.preset;
    side->n_gpus = run->lowered.program.n_ranks;
    side->step_s = f.step_s;
    side->tokens = (double)run->config->layout.global_batch * run->config->arch.sequence;
    side->tokens_per_s = f.tokens_per_s;
    side->expert_wait_s = f.expert_wait_s;
    side->mfu = f.mfu;
    memcpy(side->part_s, f.bucket_s, sizeof(side->part_s));
    side->stage = ty_run_fullest(run, &bill);
    side->peak_B = bill.total_B;
    side->fits = ty_run_fits(run);
}

/* Who and how long: what is known without looking into the timeline. */
static void diff_side_begin(struct ty_diff_side *side, const struct ty_shown_run *from, char letter)
{
    *side = (struct ty_diff_side){.from = from,
                                  .letter = letter,
                                  .tokens = (double)NAN,
                                  .tokens_per_s = (double)NAN,
                                  .mfu = (double)NAN,
                                  .peak_B = (double)NAN,
                                  .fits = true};
    if (from->run != NULL) {
        begin_run(side, from->run);
    } else {
        side->timeline = &from->recording->timeline;
        side->n_gpus = from->recording->world;
    }
    side->n_steps = side->timeline->program->n_steps;
    side->n_counted = side->timeline->program->n_ranks;
    if (from->run == NULL) {
        side->step_s = ty_s_from_ps(side->timeline->makespan) / side->n_steps;
    }
}

/* Parts of a step and kinds of operations, of the ranks that count. `observed`: as by one who only
 * sees it (sim/core/analyse/observed.h). Columns are the arena's. 0 or TY_ENOMEM. */
static int diff_side(struct ty_diff_side *side, bool observed, struct ty_arena *arena,
                     struct ty_err *err)
{
    if (observed) {
        observe_parts(side);
    }
    side->idle = idle_share(side);
    return add_kinds(side, observed, arena) == 0 ? 0 : ty_fail_memory(err);
}

/* ---- both sides ---- */

static int check(const struct ty_shown_run *runs, size_t n, struct ty_err *err)
{
    if (n < 2 || n > TY_DIFF_RUNS_MAX) {
        return ty_fail(err, TY_EUSAGE, "a comparison is of two runs or more, up to %u",
                       TY_DIFF_RUNS_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        const struct ty_run *run = runs[i].run;
        const int rc = run != NULL ? ty_run_check_ranks(run, "a comparison", false, err) : 0;
        if (rc < 0) {
            return rc;
        }
    }
    return 0;
}

bool ty_diff_was_measured(const struct ty_shown_run *runs, size_t n, uint32_t n_ranks,
                          uint32_t rank)
{
    bool all = true;
    for (size_t i = 0; i < n; i++) {
        const struct ty_recording *r = runs[i].recording;
        all = all && (r == NULL || r->world != n_ranks || ty_recording_has(r, rank));
    }
    return all;
}

/* Where not all ranks of a job were measured, those of its simulation that were; all of them where
 * no rank is in every recording. */
static int match_ranks(struct ty_diff_side *side, const struct ty_shown_run *runs, size_t n,
                       struct ty_arena *arena)
{
    const uint32_t n_ranks = side->timeline->program->n_ranks;
    if (side->from->run == NULL) {
        return 0;
    }
    bool *counted = ty_arena_array(arena, bool, (size_t)n_ranks + 1);
    uint32_t n_counted = 0;
    for (uint32_t rank = 0; counted != NULL && rank < n_ranks; rank++) {
        counted[rank] = ty_diff_was_measured(runs, n, n_ranks, rank);
        n_counted += counted[rank];
    }
    if (n_counted > 0 && n_counted < n_ranks) {
        side->counted = counted;
        side->n_counted = n_counted;
    }
    return counted != NULL ? 0 : TY_ENOMEM;
}

/* Forward, backward and the others as one part. */
static void lump(struct ty_diff_side *side)
{
    static const uint8_t others[] = {TY_BUCKET_COMPUTE_BACKWARD, TY_BUCKET_RECOMPUTE,
                                     TY_BUCKET_OPTIMIZER, TY_BUCKET_COMPUTE_OTHER};
    for (size_t i = 0; i < TY_COUNT(others); i++) {
        side->part_s[TY_BUCKET_COMPUTE_FORWARD] += side->part_s[others[i]];
        side->part_s[others[i]] = 0;
    }
}

/* What runs that are measured leave for the others to tell. */
static int match(struct ty_diff *d, const struct ty_shown_run *runs, struct ty_arena *arena)
{
    int rc = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        d->observed = d->observed || runs[i].recording != NULL;
    }
    for (uint32_t i = 0; i < d->n && d->observed && rc == 0; i++) {
        const struct ty_recording *own = runs[i].recording;
        rc = match_ranks(&d->side[i], runs, d->n, arena);
        if (own != NULL && rc == 0) {
            diff_assume_work(d, &d->side[i]);
        }
        d->lumped = d->lumped || (own != NULL && own->unphased_s > 0.99 * own->computed_s);
    }
    return rc;
}

static int fill(struct ty_diff *d, const struct ty_shown_run *runs, size_t n,
                struct ty_arena *arena, struct ty_err *err)
{
    d->n = (uint32_t)n;
    for (uint32_t i = 0; i < n; i++) {
        diff_side_begin(&d->side[i], &runs[i], (char)('A' + i));
    }
    int rc = match(d, runs, arena) == 0 ? 0 : ty_fail_memory(err);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        rc = diff_side(&d->side[i], d->observed, arena, err);
        if (d->lumped) {
            lump(&d->side[i]);
        }
    }
    for (uint32_t i = 1; i < n && rc == 0; i++) {
        d->pair[i] = (struct ty_diff_pair){
            .a = &d->side[0], .b = &d->side[i], .observed = d->observed, .lumped = d->lumped};
        rc = ty_diff_pair(&d->pair[i], arena, err);
    }
    return rc;
}

int ty_diff_report(const struct ty_shown_run *runs, size_t n, const char *format, char **text,
                   struct ty_err *err)
{
    static void (*const write[])(const struct ty_diff *, struct ty_text *) = {ty_diff_table,
                                                                              diff_json};
    struct ty_arena arena = {.head = NULL};
    struct ty_text t = {.data = NULL};
    struct ty_diff *d = ty_arena_array(&arena, struct ty_diff, 1);
    const int index = ty_run_report_check(format, err);
    int rc = index < 0 ? index : check(runs, n, err);
    *text = NULL;
    if (rc == 0) {
        rc = d == NULL ? ty_fail_memory(err) : fill(d, runs, n, &arena, err);
    }
    if (rc == 0) {
        write[index](d, &t);
        *text = ty_text_take(&t);
        rc = *text != NULL ? 0 : ty_fail_memory(err);
    }
    ty_text_release(&t);
    ty_arena_release(&arena);
    return rc;
}
