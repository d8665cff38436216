/* bubbles.c - idle stretches between passes, and why.
 *
 * Passes and bubbles tile the compute row from 0 to the end of the run. Waiting inside a pass stays
 * a hole in it: a slice there could overlap the parts. */
#include "traces/view/view.h"

#define NEAR 8u /* members skipped at most before a second replay is cheaper than visiting them */

struct bubbles {
    struct ty_view *v;
    const struct ty_view_shown *shown;
    ty_view_bubble_fn *visit;
    void *arg;
    int rc;
    uint64_t n; /* counted */
    /* the gap for which `why` was made: members in step ask again and again */
    const struct ty_pass *before;
    const struct ty_op *op;
    uint8_t bucket, event;
    bool inside; /* of a pass: no slice */
    struct ty_view_bubble bubble;
    char why[2 * TY_VIEW_NAME + 64];
};

const char *ty_view_bubble_kind(const struct ty_program *p, uint8_t bucket, bool observed)
{
    return observed && bucket == p->words->stall ? "unknown" : ty_bucket(p, bucket)->short_name;
}

/* The operation that last recorded `event` before `op` of `pass` in issue order, and its pass. */
static const struct ty_op *recorder(const struct ty_program *p, const struct ty_gang *gang,
                                    const struct ty_pass **pass, const struct ty_op *op,
                                    uint8_t event)
{
    const struct ty_pass *at = *pass;
    const struct ty_op *ops = ty_pass_ops(p, at), *k = op;
    for (;;) {
        while (k > ops) {
            if ((--k)->record == event) {
                *pass = at;
                return k;
            }
        }
        if (at == ty_gang_passes(p, gang)) {
            return NULL;
        }
        at--;
        ops = ty_pass_ops(p, at);
        k = ops + p->blocks[at->block].n_ops;
    }
}

/* What a gap waited for, in words: "recv act 3", "all-gather", "other stages", "end of step". */
static char *put_why(char *q, const struct bubbles *b, const struct ty_gap *gap)
{
    const struct ty_program *p = b->v->program;
    const uint32_t gang = (uint32_t)(b->shown - b->v->shown);
    const struct ty_pass *stuck;
    if (gap->before == NULL && ty_timeline_blocked_op(b->v->timeline, gang, &stuck) != NULL) {
        return ty_put_str(q, "deadlock");
    }
    if (ty_view_observed(p, b->shown->gang)) {
        return ty_put_str(q, gap->bucket == p->words->stall ? "nothing ran" : "communication ran");
    }
    if (gap->before == NULL) {
        return ty_put_str(q, gap->bucket == p->words->closing ? p->words->closed : "end of step");
    }
    const struct ty_pass *pass = gap->before;
    const struct ty_op *op = gap->op; /* itself, unless an event says otherwise */
    if (gap->event != TY_NO_EVENT) {
        op = recorder(p, b->shown->gang, &pass, gap->op, gap->event);
    }
    if (gap->bucket == p->words->fill) {
        q = ty_put_str(q, "first micro-batch: ");
    }
    if (op == NULL) {
        return ty_put_str(q, "nothing");
    }
    if (op->sync == TY_SYNC_MEET && gap->bucket == p->words->drain) {
        return ty_put_str(q, "other stages");
    }
    if (op->sync != TY_SYNC_SEND && op->sync != TY_SYNC_RECV) {
        return ty_view_put_name(q, p->kinds[op->kind].name, TY_VIEW_NAME);
    }
    q = ty_put_str(q, op->sync == TY_SYNC_SEND ? "send " : "recv ");
    q = ty_view_put_name(q, p->channels[op->link].name, TY_VIEW_NAME);
    *q++ = ' ';
    return ty_put_u64(q, ty_op_mb(pass, op));
}

/* True when a gap lies between passes: the waiting operation is the first to compute in its own. */
static bool between_passes(struct ty_view *v, const struct ty_gap *gap, int *rc)
{
    if (gap->before == NULL) {
        return true;
    }
    const struct ty_view_plan *plan = ty_view_plan(v, gap->before);
    if (plan == NULL) {
        *rc = TY_ENOMEM;
        return false;
    }
    return gap->op == &ty_pass_ops(v->program, gap->before)[plan->first_compute];
}

static void explain(struct bubbles *b, const struct ty_gap *gap)
{
    b->before = gap->before;
    b->op = gap->op;
    b->bucket = gap->bucket;
    b->event = gap->event;
    b->inside = !between_passes(b->v, gap, &b->rc);
    if (b->inside) {
        return;
    }
    *put_why(b->why, b, gap) = '\0';
    b->bubble.why = b->why;
    b->bubble.kind = ty_view_bubble_kind(b->v->program, gap->bucket,
                                         ty_view_observed(b->v->program, b->shown->gang));
    b->bubble.before = gap->before;
    b->bubble.serial++;
}

static void visit_gap(void *arg, uint32_t member, const struct ty_gap *gap)
{
    struct bubbles *b = arg;
    if (b->shown->slot[member] == TY_VIEW_NONE || b->rc != 0) {
        return;
    }
    if (b->before != gap->before || b->op != gap->op || b->bucket != gap->bucket ||
        b->event != gap->event || b->bubble.serial == 0) {
        explain(b, gap);
    }
    if (!b->inside && b->rc == 0 &&
        ty_view_clip(b->v, gap->start, gap->start + gap->dur, &b->bubble.start, &b->bubble.end)) {
        b->bubble.i = b->shown->slot[member];
        b->visit(b->arg, &b->bubble);
    }
}

uint32_t ty_view_stretch(const struct ty_view_shown *shown, uint32_t i)
{
    const uint32_t first = i;
    while (i + 1 < shown->n && shown->member[i + 1] - shown->member[i] <= NEAR) {
        i++;
    }
    return i + 1 - first;
}

int ty_view_bubbles(struct ty_view *v, struct ty_gaps *gaps, const struct ty_view_shown *shown,
                    uint32_t i, uint32_t n, ty_view_bubble_fn *visit, void *arg)
{
    struct bubbles b = {
        .v = v, .shown = shown, .visit = visit, .arg = arg, .bubble = {.shown = shown}};
    const uint32_t first = shown->member[i];
    ty_gaps_walk(gaps, (uint32_t)(shown - v->shown), first, shown->member[i + n - 1] - first + 1,
                 visit_gap, &b);
    return b.rc;
}

/* ---- size ---- */

static void count(void *arg, uint32_t member, const struct ty_gap *gap)
{
    struct bubbles *b = arg;
    (void)member;
    b->n += between_passes(b->v, gap, &b->rc);
}

/* Before execution. Guess: with a pipeline most passes wait a little for a message. */
static double guess(const struct ty_view *v)
{
    double n = 0;
    for (uint32_t g = 0; g < v->program->n_gangs; g++) {
        n += (double)v->shown[g].n *
             (v->program->n_gangs > 1 ? 1.2 * v->shown[g].gang->n_passes + 2 : 2);
    }
    return n;
}

double ty_view_count_bubbles(struct ty_view *v)
{
    struct ty_gaps gaps;
    double n = 0;
    if (v->timeline->start == NULL) {
        return guess(v);
    }
    int rc = ty_gaps_init(&gaps, v->timeline, &v->arena);
    for (uint32_t g = 0; g < v->program->n_gangs && rc == 0; g++) {
        struct bubbles b = {.v = v};
        if (v->shown[g].n > 0) {
            ty_gaps_walk(&gaps, g, v->shown[g].member[0], 1, count, &b);
            n += (double)b.n * v->shown[g].n;
        }
    }
    return n;
}
