/* diff.c - comparisons of trainyard.h, as text. */
#include "sim/diff/diff.h"

#include "sim/base/text.h"

static int check(const struct ty_diff_run *runs, size_t n, struct ty_err *err)
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

bool ty_diff_was_measured(const struct ty_diff_run *runs, size_t n, uint32_t n_ranks, uint32_t rank)
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
static int match_ranks(struct ty_diff_side *side, const struct ty_diff_run *runs, size_t n,
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
static int match(struct ty_diff *d, const struct ty_diff_run *runs, struct ty_arena *arena)
{
    int rc = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        d->observed = d->observed || runs[i].recording != NULL;
    }
    for (uint32_t i = 0; i < d->n && d->observed && rc == 0; i++) {
        const struct ty_recording *own = runs[i].recording;
        rc = match_ranks(&d->side[i], runs, d->n, arena);
        if (own != NULL && rc == 0) {
            ty_diff_assume_work(d, &d->side[i]);
        }
        d->lumped = d->lumped || (own != NULL && own->unphased_s > 0.99 * own->computed_s);
    }
    return rc;
}

static int fill(struct ty_diff *d, const struct ty_diff_run *runs, size_t n, struct ty_arena *arena,
                struct ty_err *err)
{
    d->n = (uint32_t)n;
    for (uint32_t i = 0; i < n; i++) {
        ty_diff_side_begin(&d->side[i], &runs[i], (char)('A' + i));
    }
    int rc = match(d, runs, arena) == 0 ? 0 : ty_fail_memory(err);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        rc = ty_diff_side(&d->side[i], d->observed, arena, err);
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

int ty_diff_report(const struct ty_diff_run *runs, size_t n, const char *format, char **text,
                   struct ty_err *err)
{
    static void (*const write[])(const struct ty_diff *, struct ty_text *) = {ty_diff_table,
                                                                              ty_diff_json};
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
