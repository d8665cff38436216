/* critical.c - the critical path as a row of its own: what the run is as long as.
 *
 *     forward 0 | send 0 | in flight 0 | recv 0 | forward 0 | ... | optimizer step
 *
 * sim/core/analyse/crit.h finds a chain of tasks that follow each other without a gap, from 0 to
 * the end. Tasks of one slice of a rank that follow each other are one step here; what the detail
 * does not show belongs to the pass it happened in, or is a step by itself, as is a message between
 * the end of its send and its receive. So the steps fill the row, and the sum of their lengths is
 * that of the run. Why any other slice started when it did is told in the same words. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/core/analyse/crit.h"
#include "traces/view/view.h"

/* How the path came to a step. */
enum why {
    WHY_START,
    WHY_ORDER,
    WHY_EVENT,
    WHY_MESSAGE,
    WHY_PARTNER,
    WHY_FLIES, /* the message of the step before is on its way */
};

struct step {
    ty_ps start, end;
    uint32_t gang, member, pass, op; /* its first task; of a message on its way, the send */
    uint32_t slice;                  /* of the plan, or TY_VIEW_NONE */
    uint8_t why;                     /* enum why */
    bool partly;                     /* its slice goes on */
};

struct ty_view_path {
    struct step *step; /* [n] in order of time */
    uint32_t n, cap;
    struct ty_view_mark_at *mark; /* [n_marks], sorted */
    uint32_t n_marks;
};

struct finder {
    struct ty_view *v;
    struct ty_view_path *path; /* the latest step first */
    struct ty_crit_task later; /* visited before this one */
    bool any;
    int rc;
};

static const struct ty_pass *pass_of(const struct ty_view *v, uint32_t gang, uint32_t pass)
{
    return &ty_gang_passes(v->program, &v->program->gangs[gang])[pass];
}

static const struct ty_op *op_of(const struct ty_view *v, uint32_t gang, uint32_t pass, uint32_t op)
{
    return &ty_pass_ops(v->program, pass_of(v, gang, pass))[op];
}

/* ---- finding it ---- */

/* Whether a task lies inside the slice of its pass, whatever its stream. */
static bool inside_pass(struct ty_view *v, const struct ty_crit_task *t)
{
    struct ty_view_extent e;
    return ty_view_pass_extent(v, &v->program->gangs[t->gang], pass_of(v, t->gang, t->pass), &e) &&
           t->start >= e.start[t->member] && t->start + t->dur <= ty_view_extent_end(&e, t->member);
}

/* How many slices of a plan come before those that begin after operation `op`: the pass comes
 * first, the others in order. */
static uint32_t begun_by(const struct ty_view_plan *plan, uint32_t op)
{
    uint32_t low = plan->n > 0, high = plan->n;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (plan->slices[mid].first <= op) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

/* The innermost slice of the plan that shows a task, or TY_VIEW_NONE; rc: no memory. */
static uint32_t slice_of(struct ty_view *v, const struct ty_crit_task *t, int *rc)
{
    const struct ty_op *op = op_of(v, t->gang, t->pass, t->op);
    const struct ty_view_plan *plan = ty_view_plan(v, pass_of(v, t->gang, t->pass));
    if (plan == NULL) {
        *rc = TY_ENOMEM;
        return TY_VIEW_NONE;
    }
    const bool computes = plan->first_compute != TY_VIEW_NONE; /* slice 0 is the pass */
    for (uint32_t i = begun_by(plan, t->op); i-- > 0;) {       /* children come after parents */
        const struct ty_view_slice *s = &plan->slices[i];
        if (s->stream == op->stream && s->first <= t->op && t->op <= s->last) {
            return i;
        }
    }
    return computes && inside_pass(v, t) ? 0 : TY_VIEW_NONE;
}

/* What joins a task to the next one, which it held back. */
static enum why why_next(const struct ty_view *v, const struct ty_crit_task *t,
                         const struct ty_crit_task *next)
{
    const struct ty_op *op = op_of(v, t->gang, t->pass, t->op);
    const struct ty_op *then = op_of(v, next->gang, next->pass, next->op);
    if (t->gang != next->gang || t->member != next->member) {
        return op->sync == TY_SYNC_SEND && then->sync == TY_SYNC_RECV ? WHY_MESSAGE : WHY_PARTNER;
    }
    return op->stream == then->stream ? WHY_ORDER : WHY_EVENT;
}

static void add(struct finder *f, const struct step *step)
{
    struct ty_view_path *path = f->path;
    if (path->n == path->cap) {
        const uint32_t cap = path->cap == 0 ? 256 : 2 * path->cap;
        struct step *more = realloc(path->step, cap * sizeof(*more));
        if (more == NULL) {
            f->rc = TY_ENOMEM;
            return;
        }
        path->step = more;
        path->cap = cap;
    }
    assert(path->step != NULL);
    path->step[path->n++] = *step;
}

/* Widens the step visited before, when the task is of its slice, or begins another. */
static void add_task(void *arg, const struct ty_crit_task *t)
{
    struct finder *f = arg;
    struct ty_view_path *path = f->path;
    struct step step = {t->start,
                        t->start + t->dur,
                        t->gang,
                        t->member,
                        t->pass,
                        t->op,
                        f->rc == 0 ? slice_of(f->v, t, &f->rc) : TY_VIEW_NONE,
                        WHY_START,
                        false};
    struct step *last = path->n > 0 ? &path->step[path->n - 1] : NULL;
    if (last != NULL && f->rc == 0) {
        last->why = (uint8_t)why_next(f->v, t, &f->later);
    }
    f->later = *t;
    if (last != NULL && step.slice != TY_VIEW_NONE && last->slice == step.slice &&
        last->gang == step.gang && last->member == step.member && last->pass == step.pass) {
        last->start = step.start;
        last->op = step.op;
        last->why = WHY_START;
        return;
    }
    if (t->delay > 0 && f->rc == 0) {
        const struct step flight = {step.end, step.end + t->delay, t->gang,   t->member, t->pass,
                                    t->op,    TY_VIEW_NONE,        WHY_FLIES, false};
        add(f, &flight);
    }
    if (f->rc == 0) {
        add(f, &step);
    }
}

static void reverse(struct ty_view_path *path)
{
    for (uint32_t i = 0; i < path->n / 2; i++) {
        const struct step swap = path->step[i];
        path->step[i] = path->step[path->n - 1 - i];
        path->step[path->n - 1 - i] = swap;
    }
}

/* ---- slices that lie on it, inside the window ---- */

static int by_place(const void *a, const void *b)
{
    const struct ty_view_mark_at *x = a, *y = b;
    if (x->gang != y->gang) {
        return x->gang < y->gang ? -1 : 1;
    }
    if (x->pass != y->pass) {
        return x->pass < y->pass ? -1 : 1;
    }
    if (x->slice != y->slice) {
        return x->slice < y->slice ? -1 : 1;
    }
    return x->i != y->i ? (x->i < y->i ? -1 : 1) : 0;
}

static int find_marks(struct ty_view *v)
{
    struct ty_view_path *path = v->path;
    uint32_t n = 0;
    path->mark = ty_arena_array(&v->arena, struct ty_view_mark_at, (size_t)path->n + 1);
    if (path->mark == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t k = 0; k < path->n; k++) {
        const struct step *s = &path->step[k];
        uint64_t start, end;
        const uint32_t i =
            v->shown[s->gang].n > 0 ? v->shown[s->gang].slot[s->member] : TY_VIEW_NONE;
        if (s->slice != TY_VIEW_NONE && i != TY_VIEW_NONE &&
            ty_view_clip(v, s->start, s->end, &start, &end)) {
            path->mark[n++] = (struct ty_view_mark_at){s->gang, s->pass, s->slice, i};
        }
    }
    qsort(path->mark, n, sizeof(*path->mark), by_place);
    for (uint32_t k = 0; k < n; k++) { /* the path may come back to a slice */
        if (path->n_marks == 0 || by_place(&path->mark[path->n_marks - 1], &path->mark[k]) != 0) {
            path->mark[path->n_marks++] = path->mark[k];
        }
    }
    return 0;
}

const struct ty_view_mark_at *ty_view_critical_slices(const struct ty_view *v,
                                                      const struct ty_view_shown *shown,
                                                      const struct ty_pass *pass, uint32_t *n)
{
    const struct ty_view_path *path = v->path;
    const uint32_t gang = (uint32_t)(shown - v->shown);
    const struct ty_view_mark_at from = {
        gang, (uint32_t)(pass - ty_gang_passes(v->program, shown->gang)), 0, 0};
    const bool marked = path != NULL && v->trace->args != TY_ARGS_NONE;
    uint32_t low = 0, high = marked ? path->n_marks : 0;
    *n = 0;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (by_place(&path->mark[mid], &from) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    while (marked && low + *n < path->n_marks && path->mark[low + *n].gang == gang &&
           path->mark[low + *n].pass == from.pass) {
        ++*n;
    }
    return path != NULL ? path->mark + low : NULL;
}

int ty_view_find_path(struct ty_view *v, struct ty_err *err)
{
    struct finder f = {.v = v};
    if (v->trace->critical == NULL) {
        return 0;
    }
    v->path = f.path = ty_arena_array(&v->arena, struct ty_view_path, 1);
    if (v->path == NULL) {
        return ty_fail_memory(err);
    }
    int rc = ty_critical_path(v->trace->critical, add_task, &f, err);
    if (rc == 0 && f.rc == 0) {
        reverse(v->path);
        f.rc = find_marks(v);
    }
    return rc != 0 ? rc : f.rc == 0 ? 0 : ty_fail_memory(err);
}

void ty_view_release_path(struct ty_view *v)
{
    if (v->path != NULL) {
        free(v->path->step);
    }
}

uint32_t ty_view_count_path(const struct ty_view *v)
{
    return v->path != NULL ? v->path->n : 0;
}

/* ---- telling it ---- */

static uint32_t rank_of(const struct ty_view *v, const struct step *s)
{
    return v->program->gangs[s->gang].rank_of[s->member];
}

/* Whether a step is a pass, not a part of it. */
static bool is_pass(struct ty_view *v, const struct step *s)
{
    return s->slice == 0 &&
           ty_view_plan(v, pass_of(v, s->gang, s->pass))->first_compute != TY_VIEW_NONE;
}

/* Name, category and number of a step. */
static void describe(struct ty_view *v, const struct step *s, struct ty_view_step *out)
{
    const struct ty_pass *pass = pass_of(v, s->gang, s->pass);
    const struct ty_op *op = &ty_pass_ops(v->program, pass)[s->op];
    const struct ty_kind *kind = &v->program->kinds[op->kind];
    out->mb = ty_op_mb(pass, op);
    out->numbered = op->sync == TY_SYNC_SEND || op->sync == TY_SYNC_RECV;
    out->category = kind->category;
    out->name = s->why == WHY_FLIES        ? "in flight"
                : op->sync == TY_SYNC_SEND ? "send"
                : op->sync == TY_SYNC_RECV ? "recv"
                                           : kind->name;
    if (s->slice != TY_VIEW_NONE) {
        const struct ty_view_slice *slice = &ty_view_plan(v, pass)->slices[s->slice];
        out->mb = ty_op_mb(pass, &ty_pass_ops(v->program, pass)[slice->first]);
        out->numbered = slice->numbered;
        out->category = slice->category;
        out->name = slice->name;
    }
}

/* The message that an operation sends or takes: "act 3". */
static char *put_message(char *p, const struct ty_view *v, const struct step *s)
{
    const struct ty_pass *pass = pass_of(v, s->gang, s->pass);
    const struct ty_op *op = &ty_pass_ops(v->program, pass)[s->op];
    p = ty_view_put_name(p, v->program->channels[op->link].name, TY_VIEW_NAME);
    *p++ = ' ';
    return ty_put_u64(p, ty_op_mb(pass, op));
}

/* "forward 3", "qkv", "recv act 3" */
static char *put_step_name(char *p, struct ty_view *v, const struct step *s)
{
    struct ty_view_step step;
    describe(v, s, &step);
    p = ty_view_put_name(ty_put_str(p, s->partly ? "a part of " : ""), step.name, TY_VIEW_NAME);
    if (!step.numbered) {
        return p;
    }
    *p++ = ' ';
    const enum ty_sync sync = (enum ty_sync)op_of(v, s->gang, s->pass, s->op)->sync;
    const bool message = (sync == TY_SYNC_SEND || sync == TY_SYNC_RECV) && !is_pass(v, s);
    return message ? put_message(p, v, s) : ty_put_u64(p, step.mb);
}

/* Why the path came here, from the step before (NULL: it begins here). */
static char *put_why(char *p, struct ty_view *v, const struct step *s, const struct step *before)
{
    if (before == NULL) {
        return ty_put_str(p, "start of the run");
    }
    switch ((enum why)s->why) {
    case WHY_FLIES:
        return ty_put_str(put_message(ty_put_str(p, "message "), v, s), " is on its way");
    case WHY_MESSAGE:
        p = put_message(ty_put_str(p, "message "), v, s);
        return ty_put_u64(ty_put_str(p, " arrived from rank "), rank_of(v, before));
    case WHY_PARTNER:
        p = ty_put_u64(ty_put_str(p, "the last to join was rank "), rank_of(v, before));
        return put_step_name(ty_put_str(p, ", after "), v, before);
    case WHY_ORDER:
        return put_step_name(ty_put_str(p, "next in order after "), v, before);
    case WHY_START:
    case WHY_EVENT:
        break;
    }
    return put_step_name(ty_put_str(p, "waited for "), v, before);
}

static void add_number(struct ty_view_step *out, const char *key, uint64_t x)
{
    out->arg[out->n_args++] =
        (struct ty_view_arg){.key = key, .value = TY_VALUE_NUMBER, .number = (double)x};
}

static void add_text(struct ty_view_step *out, const char *key, const char *text)
{
    out->arg[out->n_args++] =
        (struct ty_view_arg){.key = key, .value = TY_VALUE_TEXT, .text = text};
}

static void add_args(struct ty_view *v, const struct step *s, const struct step *before,
                     struct ty_view_step *out)
{
    const struct ty_pass *pass = pass_of(v, s->gang, s->pass);
    const struct ty_op *op = &ty_pass_ops(v->program, pass)[s->op];
    const bool flies = s->why == WHY_FLIES;
    add_number(out, "rank", rank_of(v, s));
    if (!flies) {
        add_text(out, "row",
                 ty_stream_name(v->program, is_pass(v, s) ? TY_STREAM_COMPUTE : op->stream));
    }
    add_number(out, "stage", pass->stage);
    if (pass->phase != TY_PHASE_STEP) {
        add_number(out, "mb", out->mb);
    }
    if (v->program->n_steps > 1) {
        add_number(out, "step", pass->step);
    }
    if (op->layer != TY_NONE && !is_pass(v, s)) {
        add_number(out, "layer", op->layer);
    }
    *put_why(out->why, v, s, before) = '\0';
    add_text(out, "why", out->why);
    if (before != NULL && !flies) {
        add_number(out, "from", rank_of(v, before));
    }
}

void ty_view_critical(struct ty_view *v, ty_view_step_fn *visit, void *arg)
{
    const struct ty_view_path *path = v->path;
    for (uint32_t i = 0; path != NULL && i < path->n; i++) {
        const struct step *s = &path->step[i];
        struct ty_view_step out;
        out.n_args = 0;
        if (ty_view_clip(v, s->start, s->end, &out.start, &out.end)) {
            describe(v, s, &out);
            add_args(v, s, i > 0 ? s - 1 : NULL, &out);
            visit(arg, &out);
        }
    }
}

/* ---- other slices ---- */

/* Whether the slice that shows a task goes on after it. */
static bool goes_on(struct ty_view *v, const struct step *s)
{
    return s->slice != TY_VIEW_NONE &&
           ty_view_plan(v, pass_of(v, s->gang, s->pass))->slices[s->slice].last != s->op;
}

/* Members in step have the same reason, up to their numbers. */
static int tell(struct ty_view *v, const struct step *s, struct step *before,
                struct ty_view_why *out)
{
    struct ty_view_step step;
    const bool own = s->why == WHY_ORDER || s->why == WHY_EVENT; /* not of another member */
    out->same = out->known && own && out->why == s->why && out->pass == before->pass &&
                out->op == before->op && out->slice == before->slice;
    if (out->same) {
        return 1;
    }
    before->partly = goes_on(v, before);
    describe(v, before, &step);
    *put_why(out->text, v, s, before) = '\0';
    out->recurs = own && !step.numbered;
    out->known = own;
    out->why = s->why;
    out->pass = before->pass;
    out->op = before->op;
    out->slice = before->slice;
    return 1;
}

int ty_view_why(struct ty_view *v, const struct ty_view_shown *shown, const struct ty_pass *pass,
                uint32_t op, uint32_t member, struct ty_view_why *out)
{
    struct step s = {.gang = (uint32_t)(shown - v->shown),
                     .member = member,
                     .pass = (uint32_t)(pass - ty_gang_passes(v->program, shown->gang)),
                     .op = op};
    const struct ty_crit_task at = {.gang = s.gang, .member = member, .pass = s.pass, .op = op};
    struct ty_crit_task cause;
    int rc = 0;
    out->same = false;
    if (ty_timeline_starts(v->timeline, shown->gang, (uint64_t)pass->first_op + op)[member] == 0) {
        *put_why(out->text, v, &s, NULL) = '\0';
        out->recurs = true;
        out->known = false;
        return 1;
    }
    if (!ty_critical_cause(v->timeline, &at, &cause)) {
        return 0;
    }
    struct step before = {.gang = cause.gang,
                          .member = cause.member,
                          .pass = cause.pass,
                          .op = cause.op,
                          .slice = slice_of(v, &cause, &rc)};
    s.why = (uint8_t)why_next(v, &cause, &at);
    return rc < 0 ? rc : tell(v, &s, &before, out);
}
