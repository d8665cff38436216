/* shorten_verify.c - does a timeline show that a steady state repeats? See shorten.h.
 *
 * WHAT IS COMPARED. A time t and a period d are taken from the starts of one gang. Then, of every
 * gang and each of its operations of a repetition,
 *   1. as many have started before t + d as before t, and one more;
 *   2. those that were running, or whose message was on its way, at t or at any time since the
 *      first of all that were running at t began, have a follower one repetition on that started d
 *      later and took as long;
 * and on streams that the repetition does not use nothing runs or starts from that time to t + d.
 *
 * WHY THAT IS ENOUGH. What an execution does from t on depends on its state at t and on what is to
 * be issued, and on nothing else: which operation each stream stands before, which messages have
 * come or when they will, what runs, since when, with how much of it left, at what speed. By 1 and
 * 2 all streams stand one repetition on at t + d, running operations and messages on the way are
 * as old. How often events have happened, and who has joined a collective, follow from where
 * streams stand. Work left and speeds follow from which flows and computations have run side by
 * side while those that run at t did: speeds depend on that set alone (maxmin.h), flows are told
 * theirs when they begin, and by 2 the sets were the same. So the state at t + d is that at t, d
 * later and a repetition on. Where a gang issues k more repetitions, what happens from t to t + d
 * happens k more times, d apart, and then everything else as it did, k d later: induction over k.
 * An execution depends on durations and on orders of simultaneous events, which follow numbers of
 * lanes; neither knows the time.
 *
 * A REPETITION may be several of the stretch taken as one. Cycles of waiting that carry several
 * messages need not be in step: what two micro-batches do alternately comes again every second
 * time (the cyclicity of a max-plus matrix: Baccelli, Cohen, Olsder, Quadrat 1992, section 3.7).
 * Nothing above asks what a repetition is made of; shorten.c leaves out whole rounds.
 *
 * FIGURES are sums over passes in the order of issue, and streams of a gang are apart in it: at t
 * one may be further than another. So the repetition that stands for those left out is the last
 * that any of them has come to, and
 *   3. from where each operation stands at t to that repetition, and as far back as a figure looks
 *      (from a computation: to what was recorded a repetition before, to the last collectives
 *      that are awaited, to the sending of a message), repetitions follow each other at a distance
 *      of d, as long each. */
#include "sim/core/execute/shorten_internal.h"

/* A message that a repetition of a gang sends. */
struct sending {
    uint32_t channel, number, place; /* number: in its first repetition */
};

/* A gang's part of the steady state, operation by operation. */
struct part {
    const struct ty_gang *gang;
    const struct ty_pass *passes;  /* of its first repetition */
    uint32_t n_passes, n, times;   /* passes and operations of one; repetitions */
    const ty_ps *start, *dur;      /* [times][n] */
    const struct ty_op **op;       /* [n] */
    uint32_t *pass_of;             /* [n] */
    ty_ps *takes;                  /* [n] where dur is NULL */
    uint32_t *begun;               /* [n] repetitions that have started at t */
    uint32_t *from, *to;           /* [n] that follow at the distance of a period */
    uint32_t last;                 /* repetition that stands for others */
    struct sending *sending;       /* [n_sendings] */
    uint32_t n_sendings, back;     /* repetitions that figures look back */
    ty_ps quiet_until, quiet_from; /* streams that it does not use */
};

struct verifier {
    const struct ty_shortening *s;
    const struct ty_steady *steady;
    const struct ty_timeline *timeline;
    struct part *part; /* [n_gangs] */
    ty_ps longest_delay;
    ty_ps t, period, since; /* the first of all that run at t began */
};

/* ---- operations ---- */

static ty_ps start_of(const struct part *p, uint32_t time, uint32_t k)
{
    return p->start[(size_t)time * p->n + k];
}

static ty_ps dur_of(const struct part *p, uint32_t time, uint32_t k)
{
    return p->dur != NULL ? p->dur[(size_t)time * p->n + k] : p->takes[k];
}

static ty_ps delay_of(const struct verifier *v, const struct ty_op *op)
{
    return op->sync == TY_SYNC_SEND ? v->s->program.channels[op->link].delay : 0;
}

/* When an operation is over, and its message there. */
static ty_ps over(const struct verifier *v, const struct part *p, uint32_t time, uint32_t k)
{
    return start_of(p, time, k) + dur_of(p, time, k) + delay_of(v, p->op[k]);
}

/* Whether an operation comes again a period later, as long. */
static bool comes_again(const struct verifier *v, const struct part *p, uint32_t time, uint32_t k)
{
    return start_of(p, time + 1, k) - start_of(p, time, k) == v->period &&
           dur_of(p, time + 1, k) == dur_of(p, time, k);
}

/* ---- parts ---- */

static bool is_awaited(const struct ty_program *p, const struct ty_op *op)
{
    return op->record != TY_NO_EVENT && ty_is_awaited(p, op);
}

static int fill_part(const struct verifier *v, struct part *p, struct ty_arena *arena)
{
    const struct ty_program *program = &v->s->program;
    uint32_t n_awaited = 0;
    p->op = ty_arena_array(arena, const struct ty_op *, (size_t)p->n + 1);
    p->pass_of = ty_arena_array(arena, uint32_t, (size_t)p->n + 1);
    p->takes = ty_arena_array(arena, ty_ps, (size_t)p->n + 1);
    p->begun = ty_arena_array(arena, uint32_t, (size_t)p->n + 1);
    p->from = ty_arena_array(arena, uint32_t, (size_t)p->n + 1);
    p->to = ty_arena_array(arena, uint32_t, (size_t)p->n + 1);
    p->sending = ty_arena_array(arena, struct sending, (size_t)p->n + 1);
    if (!p->op || !p->pass_of || !p->takes || !p->begun || !p->from || !p->to || !p->sending) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0, at = 0; i < p->n_passes; i++) {
        const struct ty_op *ops = ty_pass_ops(program, &p->passes[i]);
        for (uint32_t k = 0; k < program->blocks[p->passes[i].block].n_ops; k++, at++) {
            p->op[at] = &ops[k];
            p->pass_of[at] = i;
            p->takes[at] = ty_kind_duration(&program->kinds[ops[k].kind], 0);
            n_awaited += is_awaited(program, &ops[k]);
            if (ops[k].sync == TY_SYNC_SEND) {
                p->sending[p->n_sendings++] =
                    (struct sending){ops[k].link, ty_op_seq(&p->passes[i], &ops[k]), at};
            }
        }
    }
    p->back = 1 + (n_awaited > 0 ? (TY_AWAITED + n_awaited - 1) / n_awaited : 0);
    return 0;
}

/* Until when, and from when on, something else is on the streams: of passes before the stretch on
 * those that it does not use, behind it on any. */
static void find_quiet(const struct verifier *v, struct part *p, uint32_t first)
{
    const struct ty_program *program = &v->s->program;
    const struct ty_pass *passes = ty_gang_passes(program, p->gang);
    const ty_ps *start = v->timeline->start + p->gang->first_task;
    const uint32_t all = (1u << program->n_lanes) - 1;
    uint32_t used = 0;
    for (uint32_t i = 0; i < p->n_passes; i++) {
        used |= v->s->block[p->passes[i].block].lanes;
    }
    p->quiet_until = 0;
    for (uint32_t i = first, left = all & ~used; i > 0 && left != 0; i--) {
        const struct ty_pass *pass = &passes[i - 1];
        const struct ty_op *ops = ty_pass_ops(program, pass);
        for (uint32_t k = program->blocks[pass->block].n_ops;
             k > 0 && (v->s->block[pass->block].lanes & left) != 0; k--) {
            const struct ty_op *op = &ops[k - 1];
            if ((left >> op->lane & 1) != 0) {
                const uint64_t at = pass->first_op + k - 1;
                const ty_ps end =
                    start[at] + delay_of(v, op) + ty_timeline_dur(v->timeline, p->gang, op, at, 0);
                p->quiet_until = end > p->quiet_until ? end : p->quiet_until;
                left &= ~(1u << op->lane);
            }
        }
    }
    p->quiet_from = UINT64_MAX;
    uint32_t left = all;
    for (uint32_t i = first + p->n_passes * p->times; i < p->gang->n_passes && left != 0; i++) {
        const struct ty_op *ops = ty_pass_ops(program, &passes[i]);
        for (uint32_t k = 0; (v->s->block[passes[i].block].lanes & left) != 0; k++) {
            if ((left >> ops[k].lane & 1) != 0) {
                const ty_ps at = start[passes[i].first_op + k];
                p->quiet_from = at < p->quiet_from ? at : p->quiet_from;
                left &= ~(1u << ops[k].lane);
            }
        }
    }
}

static int make_parts(struct verifier *v, struct ty_arena *arena)
{
    const struct ty_program *program = &v->s->program;
    int rc = 0;
    v->part = ty_arena_array(arena, struct part, program->n_gangs);
    for (uint32_t g = 0; v->part != NULL && g < program->n_gangs && rc == 0; g++) {
        struct part *p = &v->part[g];
        const struct ty_stretch *run = &v->steady->of[g];
        const uint32_t first = v->steady->at[g];
        p->gang = &program->gangs[g];
        p->passes = ty_gang_passes(program, p->gang) + first;
        p->n_passes = run->n;
        p->times = run->times - (v->steady->least - v->steady->kept);
        const uint64_t row = p->gang->first_task + p->passes[0].first_op;
        p->start = v->timeline->start + row;
        p->dur = v->timeline->dur != NULL ? v->timeline->dur + row : NULL;
        for (uint32_t i = 0; i < p->n_passes; i++) {
            p->n += program->blocks[p->passes[i].block].n_ops;
        }
        rc = fill_part(v, p, arena);
        find_quiet(v, p, first);
    }
    for (uint32_t c = 0; c < program->n_channels; c++) {
        const ty_ps delay = program->channels[c].delay;
        v->longest_delay = delay > v->longest_delay ? delay : v->longest_delay;
    }
    return v->part == NULL ? TY_ENOMEM : rc;
}

/* ---- 1: where streams stand ---- */

/* Counts what has started at t; false: not one more at t + d. */
static bool count_begun(const struct verifier *v, struct part *p)
{
    uint32_t i = 0, seen = 0;
    for (uint32_t k = 0; k < p->n; k++) {
        while (i < p->times && start_of(p, i, k) < v->t) {
            i++;
        }
        while (i > 0 && start_of(p, i - 1, k) >= v->t) {
            i--;
        }
        p->begun[k] = i;
        if (i == 0 || i == p->times || start_of(p, i, k) >= v->t + v->period ||
            (i + 1 < p->times && start_of(p, i + 1, k) < v->t + v->period)) {
            return false;
        }
        /* messages sent before the stretch have come */
        if ((seen >> p->op[k]->lane & 1) == 0 && start_of(p, 0, k) + v->longest_delay >= v->t) {
            return false;
        }
        seen |= 1u << p->op[k]->lane;
    }
    return p->quiet_from >= v->t + v->period;
}

/* Moves v->since back to the first start of what is not over at t; false: that may lie before the
 * stretch. */
static bool look_for_running(struct verifier *v, const struct part *p)
{
    for (uint32_t k = 0; k < p->n; k++) {
        uint32_t i = p->begun[k];
        for (; i > 0 && over(v, p, i - 1, k) >= v->t; i--) {
            const ty_ps start = start_of(p, i - 1, k);
            v->since = start < v->since ? start : v->since;
        }
        if (i == 0) {
            return false;
        }
    }
    return true;
}

/* ---- 2: what ran ---- */

static bool ran_alike(const struct verifier *v, const struct part *p)
{
    for (uint32_t k = 0; k < p->n; k++) {
        uint32_t i = p->begun[k];
        for (; i > 0 && over(v, p, i - 1, k) >= v->since; i--) {
            if (!comes_again(v, p, i - 1, k)) {
                return false;
            }
        }
        if (i == 0) { /* what was before the stretch may have run then, too */
            return false;
        }
    }
    return p->quiet_until < v->since;
}

/* ---- 3: what figures look at ---- */

/* The repetition that stands for others: the last that an operation has come to at t. */
static uint32_t last_of(const struct part *p)
{
    uint32_t last = 0;
    for (uint32_t k = 0; k < p->n; k++) {
        last = p->begun[k] > last ? p->begun[k] : last;
    }
    return last;
}

static void need(struct part *p, uint32_t k, uint32_t time)
{
    p->from[k] = time < p->from[k] ? time : p->from[k];
    p->to[k] = time > p->to[k] ? time : p->to[k];
}

/* The repetition in which the message is sent that an operation receives in its last one; false: in
 * none of this steady state. */
static bool need_sending(struct verifier *v, const struct part *p, uint32_t k, int64_t shift)
{
    const uint32_t g = v->s->program.channels[p->op[k]->link].from;
    struct part *sender = &v->part[g];
    const int64_t number =
        ty_op_seq(&p->passes[p->pass_of[k]], p->op[k]) + shift * (int64_t)p->last;
    for (uint32_t i = 0; i < sender->n_sendings; i++) {
        const struct sending *s = &sender->sending[i];
        const int64_t far = number - s->number;
        if (s->channel == p->op[k]->link && far % shift == 0) {
            const int64_t time = far / shift;
            if (time < 0 || time >= sender->times) {
                return false;
            }
            need(sender, s->place, (uint32_t)time);
            return true;
        }
    }
    return false;
}

static bool find_needed(struct verifier *v)
{
    const uint32_t n = v->s->program.n_gangs;
    for (uint32_t g = 0; g < n; g++) {
        struct part *p = &v->part[g];
        p->last = last_of(p);
        if (p->last < p->back) {
            return false;
        }
        for (uint32_t k = 0; k < p->n; k++) {
            p->from[k] = p->to[k] = p->begun[k];
            need(p, k, p->last);
            need(p, k, p->last - p->back);
        }
    }
    bool found = true;
    for (uint32_t g = 0; g < n && found; g++) {
        const struct part *p = &v->part[g];
        for (uint32_t k = 0; k < p->n && found; k++) {
            found = p->op[k]->sync != TY_SYNC_RECV || need_sending(v, p, k, v->steady->of[g].shift);
        }
    }
    return found;
}

static bool figures_hold(struct verifier *v)
{
    if (!find_needed(v)) {
        return false;
    }
    for (uint32_t g = 0; g < v->s->program.n_gangs; g++) {
        const struct part *p = &v->part[g];
        for (uint32_t k = 0; k < p->n; k++) {
            for (uint32_t i = p->from[k]; i < p->to[k]; i++) {
                if (!comes_again(v, p, i, k)) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* ---- the whole ---- */

static bool is_period(struct verifier *v)
{
    const uint32_t n = v->s->program.n_gangs;
    bool good = true;
    v->since = v->t;
    for (uint32_t g = 0; g < n && good; g++) {
        good = count_begun(v, &v->part[g]);
    }
    for (uint32_t g = 0; g < n && good; g++) {
        good = look_for_running(v, &v->part[g]);
    }
    for (uint32_t g = 0; g < n && good; g++) {
        good = ran_alike(v, &v->part[g]);
    }
    return good && figures_hold(v);
}

/* The gang that repeats least often: times are tried from the last of its passes back. */
static const struct part *shortest(const struct verifier *v)
{
    const struct part *least = &v->part[0];
    for (uint32_t g = 1; g < v->s->program.n_gangs; g++) {
        least = v->part[g].times < least->times ? &v->part[g] : least;
    }
    return least;
}

/* Every gang computes in each repetition: an idle stretch never reaches over all of one. */
static bool all_compute(const struct verifier *v)
{
    bool all = true;
    for (uint32_t g = 0; g < v->s->program.n_gangs; g++) {
        bool computes = false;
        for (uint32_t k = 0; k < v->part[g].n; k++) {
            computes = computes || v->part[g].op[k]->stream == TY_STREAM_COMPUTE;
        }
        all = all && computes;
    }
    return all;
}

static bool search(struct verifier *v)
{
    const struct part *p = shortest(v);
    for (uint32_t i = p->times - 1; i > 0; i--) {
        for (uint32_t k = 0, pass = UINT32_MAX; k < p->n; k++) {
            if (p->op[k]->stream != TY_STREAM_COMPUTE || p->pass_of[k] == pass) {
                continue; /* the first computation of each pass */
            }
            pass = p->pass_of[k];
            v->t = start_of(p, i, k);
            v->period = v->t - start_of(p, i - 1, k);
            if (is_period(v)) {
                return true;
            }
        }
    }
    return false;
}

int ty_shorten_verify(const struct ty_shortening *s, const struct ty_steady *steady,
                      const struct ty_timeline *timeline, ty_ps *period, uint32_t *last,
                      struct ty_arena *arena)
{
    struct verifier v = {.s = s, .steady = steady, .timeline = timeline};
    if (make_parts(&v, arena) < 0) {
        return TY_ENOMEM;
    }
    if (!all_compute(&v) || !search(&v)) {
        return 0;
    }
    for (uint32_t g = 0; g < s->program.n_gangs; g++) {
        last[g] = v.part[g].last;
    }
    *period = v.period;
    return 1;
}
