/* shorten_find.c - which stretches of their passes gangs repeat side by side. See shorten.h.
 *
 * A stretch repeats with a period of n passes where each has the block of the one n passes before,
 * its messages are numbered a constant further on, and nothing in it meets other gangs. Each gang's
 * list is searched for such stretches from front to back, by the distances at which a block comes
 * again: 2 in one-forward-one-backward, 2 p v in an interleaved schedule; names of schedules play
 * no part. Stretches of different gangs are one steady state when they send to each other: each
 * message of one then belongs to the stretch of the other, too. */
#include <string.h>

#include "sim/core/execute/shorten_internal.h"

#define FEWEST 3u  /* repetitions of what is worth leaving out */
#define KEPT   4u  /* repetitions of a first attempt: of three, few are settled by contention */
#define LONG   64u /* repetitions of which an attempt is a small part ... */
#define SETTLE 8u  /* ... that keeps so many, in which most pipelines of several stages settle */
#define TRIES  64u /* distances looked at from one pass */
#define RUNS   64u /* stretches kept of a gang: a few a step */

struct finder {
    struct ty_shortening *s;
    const struct ty_program *p;
    struct ty_stretch *run;           /* [n_gangs][RUNS] */
    uint32_t *n_runs;                 /* [n_gangs] */
    uint32_t *used;                   /* [n_gangs] passes up to the end of the last steady state */
    const struct ty_stretch **chosen; /* [n_gangs] for the steady state at hand */
    uint32_t *queue;                  /* [n_gangs] gangs whose partners are to be looked at */
};

/* ---- blocks ---- */

static bool is_message(const struct ty_op *op)
{
    return op->sync == TY_SYNC_SEND || op->sync == TY_SYNC_RECV;
}

static int look_at_blocks(struct ty_shortening *s)
{
    const struct ty_program *p = s->whole;
    s->block = ty_arena_array(s->arena, struct ty_shorten_block, (size_t)p->n_blocks + 1);
    for (uint32_t b = 0; s->block != NULL && b < p->n_blocks; b++) {
        struct ty_shorten_block *block = &s->block[b];
        const struct ty_op *ops = p->ops + p->blocks[b].first;
        for (uint32_t k = 0; k < p->blocks[b].n_ops; k++) {
            block->lanes |= 1u << ops[k].lane;
            block->meets = block->meets || ops[k].sync == TY_SYNC_MEET;
            block->n_messages += is_message(&ops[k]);
        }
        block->message = ty_arena_array(s->arena, const struct ty_op *, block->n_messages + 1);
        if (block->message == NULL) {
            return TY_ENOMEM;
        }
        for (uint32_t k = 0, n = 0; n < block->n_messages; k++) {
            if (is_message(&ops[k])) {
                block->message[n++] = &ops[k];
            }
        }
    }
    return s->block == NULL ? TY_ENOMEM : 0;
}

/* ---- stretches of one gang ---- */

/* Whether b is a again, all its messages *shift later; 0: not known yet. */
static bool is_again(const struct finder *f, const struct ty_pass *a, const struct ty_pass *b,
                     int64_t *shift)
{
    const struct ty_shorten_block *block = &f->s->block[a->block];
    if (a->block != b->block || block->meets || (a->step != b->step && !f->p->overlapping_steps)) {
        return false;
    }
    for (uint32_t i = 0; i < block->n_messages; i++) {
        const struct ty_op *op = block->message[i];
        const int64_t by = (int64_t)ty_op_seq(b, op) - ty_op_seq(a, op);
        *shift = *shift == 0 ? by : *shift;
        if (by == 0 || by != *shift) {
            return false;
        }
    }
    return true;
}

/* As far as passes from `first` on repeat with a period of n. */
static struct ty_stretch extend(const struct finder *f, const struct ty_gang *gang, uint32_t first,
                                uint32_t n)
{
    const struct ty_pass *passes = ty_gang_passes(f->p, gang);
    struct ty_stretch run = {.first = first, .n = n};
    uint32_t end = first + n;
    while (end < gang->n_passes && is_again(f, &passes[end - n], &passes[end], &run.shift)) {
        end++;
    }
    run.times = (end - first) / n;
    return run;
}

/* Passes that can be left out. */
static uint64_t spare(const struct ty_stretch *run)
{
    return run->times > FEWEST ? (uint64_t)(run->times - FEWEST) * run->n : 0;
}

/* The stretch from `first` on of which most can be left out. */
static struct ty_stretch longest(const struct finder *f, const struct ty_gang *gang, uint32_t first)
{
    const struct ty_pass *passes = ty_gang_passes(f->p, gang);
    const uint32_t left = gang->n_passes - first;
    struct ty_stretch best = {.n = 1}, last = {.n = 1};
    for (uint32_t n = 1, tries = 0; n <= left / (FEWEST + 1) && tries < TRIES; n++) {
        const bool within = n % last.n == 0 && n < last.n * last.times; /* it says no more */
        if (passes[first + n].block != passes[first].block || within) {
            continue;
        }
        const struct ty_stretch run = extend(f, gang, first, n);
        tries++;
        last = run.times > 1 ? run : last;
        best = spare(&run) > spare(&best) ? run : best;
        if (spare(&best) > left / 2) {
            break;
        }
    }
    return best;
}

static void find_runs(struct finder *f, uint32_t g)
{
    const struct ty_gang *gang = &f->p->gangs[g];
    for (uint32_t i = 0; i < gang->n_passes && f->n_runs[g] < RUNS;) {
        const struct ty_stretch run = longest(f, gang, i);
        if (spare(&run) == 0) {
            i++;
            continue;
        }
        f->run[g * RUNS + f->n_runs[g]++] = run;
        i += run.n * run.times;
    }
}

/* ---- steady states ---- */

/* Whether a stretch of a gang has messages of a channel. */
static bool touches(const struct finder *f, uint32_t g, const struct ty_stretch *run,
                    uint32_t channel)
{
    const struct ty_pass *passes = ty_gang_passes(f->p, &f->p->gangs[g]) + run->first;
    for (uint32_t i = 0; i < run->n; i++) {
        const struct ty_shorten_block *block = &f->s->block[passes[i].block];
        for (uint32_t k = 0; k < block->n_messages; k++) {
            if (block->message[k]->link == channel) {
                return true;
            }
        }
    }
    return false;
}

/* Of a gang's stretches, behind earlier steady states, the one for the messages of a channel of
 * which most can be left out; NULL: none. */
static const struct ty_stretch *partner_of(const struct finder *f, uint32_t g, uint32_t channel,
                                           int64_t shift)
{
    const struct ty_stretch *best = NULL;
    for (uint32_t i = 0; i < f->n_runs[g]; i++) {
        const struct ty_stretch *run = &f->run[g * RUNS + i];
        if (run->first >= f->used[g] && run->shift == shift && touches(f, g, run, channel) &&
            (best == NULL || spare(run) > spare(best))) {
            best = run;
        }
    }
    return best;
}

/* Chooses the stretch of whoever is at the other end of a channel; false: there is none that all
 * its messages are of. */
static bool choose_partner(struct finder *f, uint32_t g, const struct ty_op *op, uint32_t *n)
{
    const struct ty_channel *c = &f->p->channels[op->link];
    const uint32_t other = op->sync == TY_SYNC_SEND ? c->to : c->from;
    const int64_t shift = f->chosen[g]->shift;
    if (f->chosen[other] == NULL) {
        f->chosen[other] = partner_of(f, other, op->link, shift);
        f->queue[(*n)++] = other;
        return f->chosen[other] != NULL;
    }
    return f->chosen[other]->shift == shift && touches(f, other, f->chosen[other], op->link);
}

/* Chooses a stretch of every gang, by their messages from that of gang 0 on. */
static bool choose(struct finder *f, const struct ty_stretch *first)
{
    uint32_t n = 1;
    memset(f->chosen, 0, f->p->n_gangs * sizeof(*f->chosen));
    f->chosen[0] = first;
    f->queue[0] = 0;
    for (uint32_t at = 0; at < n; at++) {
        const uint32_t g = f->queue[at];
        const struct ty_stretch *run = f->chosen[g];
        const struct ty_pass *passes = ty_gang_passes(f->p, &f->p->gangs[g]) + run->first;
        for (uint32_t i = 0; i < run->n; i++) {
            const struct ty_shorten_block *block = &f->s->block[passes[i].block];
            for (uint32_t k = 0; k < block->n_messages; k++) {
                if (!choose_partner(f, g, block->message[k], &n)) {
                    return false;
                }
            }
        }
    }
    return n == f->p->n_gangs;
}

static int keep_steady(struct finder *f)
{
    struct ty_shortening *s = f->s;
    struct ty_steady *steady = &s->steady[s->n++];
    steady->of = ty_arena_array(s->arena, struct ty_stretch, f->p->n_gangs);
    steady->at = ty_arena_array(s->arena, uint32_t, f->p->n_gangs);
    if (steady->of == NULL || steady->at == NULL) {
        return TY_ENOMEM;
    }
    steady->least = UINT32_MAX;
    for (uint32_t g = 0; g < f->p->n_gangs; g++) {
        const struct ty_stretch *run = f->chosen[g];
        steady->of[g] = *run;
        steady->least = run->times < steady->least ? run->times : steady->least;
        f->used[g] = run->first + run->n * run->times;
    }
    const bool slow = f->p->n_gangs > 2 && steady->least >= LONG;
    steady->kept = ty_shorten_keep(steady, slow ? SETTLE : KEPT);
    return 0;
}

int ty_shorten_find(struct ty_shortening *s, struct ty_err *err)
{
    struct finder f = {.s = s, .p = s->whole};
    const size_t n = f.p->n_gangs;
    int rc = look_at_blocks(s);
    f.run = ty_arena_array(s->arena, struct ty_stretch, n * RUNS + 1);
    f.n_runs = ty_arena_array(s->arena, uint32_t, n + 1);
    f.used = ty_arena_array(s->arena, uint32_t, n + 1);
    f.chosen = ty_arena_array(s->arena, const struct ty_stretch *, n + 1);
    f.queue = ty_arena_array(s->arena, uint32_t, n + 1);
    s->steady = ty_arena_array(s->arena, struct ty_steady, RUNS);
    if (rc < 0 || !f.run || !f.n_runs || !f.used || !f.chosen || !f.queue || !s->steady) {
        return ty_fail_memory(err);
    }
    for (uint32_t g = 0; g < n; g++) {
        find_runs(&f, g);
        if (f.n_runs[g] == 0) {
            return 0; /* this gang does not repeat anything */
        }
    }
    for (uint32_t i = 0; i < f.n_runs[0] && rc == 0; i++) {
        if (f.run[i].first >= f.used[0] && choose(&f, &f.run[i])) {
            rc = keep_steady(&f);
        }
    }
    return rc < 0 ? ty_fail_memory(err) : 0;
}
