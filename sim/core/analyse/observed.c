/* observed.c - attributes the time of a rank from its slices alone. A cursor on each stream, all
 * moved along by the compute stream. */
#include "sim/core/analyse/observed.h"

#include <string.h>

/* An operation of one stream, and where to look for the next. */
struct cursor {
    uint32_t pass, op; /* next */
    ty_ps start, end;
    const struct ty_pass *at;
    const struct ty_op *now;
    uint8_t bucket;
    bool valid;
};

struct observer {
    const struct ty_timeline *t;
    const struct ty_gang *gang;
    uint32_t member;
    struct cursor on[TY_MAX_STREAMS]; /* [n_lanes] */
    ty_observed_fn *visit;
    void *arg;
};

static void advance(struct observer *e, uint32_t lane)
{
    const struct ty_program *p = e->t->program;
    struct cursor *c = &e->on[lane];
    for (c->valid = false; c->pass < e->gang->n_passes && !c->valid; c->pass++) {
        const struct ty_pass *pass = &ty_gang_passes(p, e->gang)[c->pass];
        const struct ty_op *ops = ty_pass_ops(p, pass);
        const uint32_t n = p->blocks[pass->block].n_ops;
        while (c->op < n && ops[c->op].lane != lane) {
            c->op++;
        }
        if (c->op < n) {
            const uint64_t ordinal = (uint64_t)pass->first_op + c->op;
            c->now = &ops[c->op++];
            c->at = pass;
            c->start = ty_timeline_starts(e->t, e->gang, ordinal)[e->member];
            c->end = c->start + ty_timeline_dur(e->t, e->gang, c->now, ordinal, e->member);
            c->bucket = ty_kind_bucket(p, &p->kinds[c->now->kind]);
            c->valid = true;
            return;
        }
        c->op = 0;
    }
}

/* What runs during the compute stream at a time, the one that began first; NULL: nothing. *next is
 * when something else begins, if that is sooner. */
static const struct cursor *running(struct observer *e, ty_ps now, ty_ps *next)
{
    const struct cursor *first = NULL;
    for (uint32_t s = 0; s < e->t->program->n_lanes; s++) {
        struct cursor *c = &e->on[s];
        if (s == TY_STREAM_COMPUTE) {
            continue;
        }
        while (c->valid && c->end <= now) {
            advance(e, s);
        }
        if (c->valid && c->start <= now && (first == NULL || c->start < first->start)) {
            first = c;
        } else if (c->valid && c->start > now && c->start < *next) {
            *next = c->start;
        }
    }
    return first;
}

/* A stretch without work on the compute stream; `before` is what ends it, or NULL. */
static void look(struct observer *e, ty_ps from, ty_ps to, const struct cursor *before)
{
    while (from < to) {
        ty_ps next = to;
        const struct cursor *c = running(e, from, &next);
        next = c == NULL ? next : c->end < to ? c->end : to;
        const struct ty_gap gap = {.start = from,
                                   .dur = next - from,
                                   .bucket = c != NULL ? c->bucket : e->t->program->words->stall,
                                   .before = before != NULL ? before->at : NULL,
                                   .op = before != NULL ? before->now : NULL,
                                   .event = TY_NO_EVENT,
                                   .times = 1};
        e->visit(e->arg, e->member, &gap);
        from = next;
    }
}

void ty_observed_walk(const struct ty_timeline *timeline, uint32_t gang, uint32_t member,
                      ty_ps over, ty_observed_fn *visit, void *arg)
{
    struct observer e = {.t = timeline,
                         .gang = &timeline->program->gangs[gang],
                         .member = member,
                         .visit = visit,
                         .arg = arg};
    const struct cursor *c = &e.on[TY_STREAM_COMPUTE];
    ty_ps until = 0;
    for (uint32_t s = 0; s < timeline->program->n_lanes; s++) {
        advance(&e, s);
    }
    for (; c->valid; advance(&e, TY_STREAM_COMPUTE)) {
        look(&e, until, c->start, c);
        until = c->end;
    }
    look(&e, until, over, NULL);
}

/* ---- sums ---- */

static void add(void *arg, uint32_t member, const struct ty_gap *gap)
{
    ty_ps *bucket = arg;
    (void)member;
    bucket[gap->bucket] += gap->dur;
}

void ty_observed_buckets(const struct ty_timeline *timeline, uint32_t gang, uint32_t member,
                         ty_ps over, ty_ps bucket[TY_MAX_BUCKETS])
{
    struct observer e = {.t = timeline, .gang = &timeline->program->gangs[gang], .member = member};
    const struct cursor *c = &e.on[TY_STREAM_COMPUTE];
    memset(bucket, 0, TY_MAX_BUCKETS * sizeof(*bucket));
    for (advance(&e, TY_STREAM_COMPUTE); c->valid; advance(&e, TY_STREAM_COMPUTE)) {
        bucket[c->bucket] += c->end - c->start;
    }
    ty_observed_walk(timeline, gang, member, over, add, bucket);
}
