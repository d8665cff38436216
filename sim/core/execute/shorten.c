/* shorten.c - programs with fewer repetitions, and timelines that stand for longer ones.
 *
 * Leaving out passes, numbers of messages have to be closed up: of each channel of a steady state,
 * in the passes behind it (of the same step, unless steps overlap). A gang leaves out its own last
 * repetitions, which need not be those of the messages that its partners leave out. That nobody is
 * told anything else rests on order: messages of a channel whose numbers have the same remainder by
 * the shift of a period are sent in order and received in order, so that the n-th of them is sent
 * and received n-th, whatever is left out of the middle on both sides. This is checked, not
 * assumed. */
#include "sim/core/execute/shorten.h"

#include <string.h>

#include "sim/core/execute/shorten_internal.h"

#define ROUND 4u /* repetitions that a period may be, a power of 2 */

/* So many repetitions, or of many a few more, such that those left out make whole
 * rounds. */
static uint32_t shorten_keep(const struct ty_steady *steady, uint32_t kept)
{
    const uint32_t out = kept < steady->least ? steady->least - kept : 0;
    return out < 4 * ROUND ? kept : kept + out % ROUND;
}

/* ---- stretches of passes that gangs repeat side by side ---- */

/* A stretch repeats with a period of n passes where each has the block of the one n passes before,
 * its messages are numbered a constant further on, and nothing in it meets other gangs. Each gang's
 * list is searched for such stretches from front to back, by the distances at which a block comes
 * again: 2 in one-forward-one-backward, 2 p v in an interleaved schedule; names of schedules play
 * no part. Stretches of different gangs are one steady state when they send to each other: each
 * message of one then belongs to the stretch of the other, too. */

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
    steady->kept = shorten_keep(steady, slow ? SETTLE : KEPT);
    return 0;
}

/* Finds s->block and s->steady, each with the fewest repetitions. 0 or TY_ENOMEM. */
static int shorten_find(struct ty_shortening *s, struct ty_err *err)
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

struct maker {
    struct ty_shortening *s;
    const struct ty_program *p; /* whole */
    struct ty_pass *passes;     /* of the shortened program */
    uint32_t n_passes;
    int64_t
        *moved; /* [n_channels] by how much numbers are lower from here on, in the gang at hand */
    uint32_t *stamp; /* [n_channels] 1 + the last steady state that moved them */
};

static uint32_t left_out(const struct ty_steady *steady)
{
    return steady->kept < steady->least ? steady->least - steady->kept : 0;
}

/* ---- passes ---- */

/* Numbers closed up; false: messages of a pass were moved differently. */
static bool renumber(const struct maker *m, struct ty_pass *pass)
{
    const struct ty_shorten_block *block = &m->s->block[pass->block];
    const struct ty_pass was = *pass;
    bool known[2] = {false, false};
    for (uint32_t i = 0; i < block->n_messages; i++) {
        const struct ty_op *op = block->message[i];
        const int64_t number = (int64_t)ty_op_seq(&was, op) - m->moved[op->link];
        uint32_t *seq = op->second ? &pass->seq2 : &pass->seq;
        if (number < 0 || number >= m->p->channels[op->link].n_seq ||
            (known[op->second] && *seq != number)) {
            return false;
        }
        struct ty_channel *c = &m->s->program.channels[op->link];
        known[op->second] = true;
        *seq = (uint32_t)number;
        c->n_seq = number >= c->n_seq ? (uint32_t)number + 1 : c->n_seq;
    }
    return true;
}

/* Passes from..to of a gang, to which those behind the earlier ones are closed up. */
static bool copy_passes(struct maker *m, const struct ty_gang *gang, uint32_t from, uint32_t to)
{
    const struct ty_pass *passes = ty_gang_passes(m->p, gang);
    for (uint32_t i = from; i < to; i++) {
        if (i > 0 && passes[i].step != passes[i - 1].step && !m->p->overlapping_steps) {
            memset(m->moved, 0, m->p->n_channels * sizeof(*m->moved));
        }
        m->passes[m->n_passes] = passes[i];
        if (!renumber(m, &m->passes[m->n_passes++])) {
            return false;
        }
    }
    return true;
}

/* Behind a stretch of which so many repetitions were left out. */
static void move(struct maker *m, const struct ty_gang *gang, uint32_t steady, uint32_t times)
{
    const struct ty_stretch *run = &m->s->steady[steady].of[gang - m->p->gangs];
    const struct ty_pass *passes = ty_gang_passes(m->p, gang) + run->first;
    for (uint32_t i = 0; i < run->n; i++) {
        const struct ty_shorten_block *block = &m->s->block[passes[i].block];
        for (uint32_t k = 0; k < block->n_messages; k++) {
            const uint16_t channel = block->message[k]->link;
            if (m->stamp[channel] != steady + 1) {
                m->stamp[channel] = steady + 1;
                m->moved[channel] += times * run->shift;
            }
        }
    }
}

static bool copy_gang(struct maker *m, uint32_t g)
{
    const struct ty_gang *gang = &m->p->gangs[g];
    struct ty_gang *out = &m->s->program.gangs[g];
    uint32_t done = 0;
    memset(m->moved, 0, m->p->n_channels * sizeof(*m->moved));
    memset(m->stamp, 0, m->p->n_channels * sizeof(*m->stamp));
    out->first_pass = m->n_passes;
    for (uint32_t i = 0; i < m->s->n; i++) {
        struct ty_steady *steady = &m->s->steady[i];
        const struct ty_stretch *run = &steady->of[g];
        const uint32_t out_of_it = left_out(steady);
        if (!copy_passes(m, gang, done, run->first)) {
            return false;
        }
        steady->at[g] = m->n_passes - out->first_pass;
        done = run->first + run->n * (run->times - out_of_it);
        if (!copy_passes(m, gang, run->first, done)) {
            return false;
        }
        done += run->n * out_of_it;
        move(m, gang, i, out_of_it);
    }
    const bool good = copy_passes(m, gang, done, gang->n_passes);
    out->n_passes = m->n_passes - out->first_pass;
    return good;
}

/* ---- order of messages ---- */

/* The messages of a channel of one remainder, as one side issues them. */
struct line {
    uint32_t last, step;
    bool begun;
};

struct order {
    const struct ty_shortening *s;
    int64_t *shift;       /* [n_channels] 0: not of a steady state */
    uint32_t *first;      /* [n_channels] row of its lines */
    struct line *line[2]; /* sent, received */
    uint8_t *known;       /* [n_slots] bits: sent, received */
};

/* False: a channel is of two steady states that go on differently. */
static bool find_shifts(struct order *o)
{
    const struct ty_program *p = o->s->whole;
    for (uint32_t i = 0; i < o->s->n; i++) {
        for (uint32_t g = 0; g < p->n_gangs; g++) {
            const struct ty_stretch *run = &o->s->steady[i].of[g];
            const struct ty_pass *passes = ty_gang_passes(p, &p->gangs[g]) + run->first;
            for (uint32_t k = 0; k < run->n; k++) {
                const struct ty_shorten_block *block = &o->s->block[passes[k].block];
                for (uint32_t m = 0; m < block->n_messages; m++) {
                    int64_t *shift = &o->shift[block->message[m]->link];
                    if (*shift != 0 && *shift != run->shift) {
                        return false;
                    }
                    *shift = run->shift;
                }
            }
        }
    }
    return true;
}

/* Whether a message is the next of its line. */
static bool is_next(struct order *o, const struct ty_pass *pass, const struct ty_op *op)
{
    const struct ty_program *p = &o->s->program;
    const int64_t shift = o->shift[op->link];
    const uint32_t number = ty_op_seq(pass, op), side = op->sync == TY_SYNC_RECV;
    if (shift == 0) {
        return true;
    }
    const uint32_t step = p->overlapping_steps ? 0 : pass->step;
    struct line *line =
        &o->line[side][o->first[op->link] + number % (uint32_t)(shift < 0 ? -shift : shift)];
    uint8_t *known = &o->known[p->channels[op->link].first_slot + number];
    if ((*known & 1u << side) != 0 ||
        (line->begun && line->step == step && (int64_t)number - line->last != shift)) {
        return false;
    }
    *known |= (uint8_t)(1u << side);
    *line = (struct line){number, step, true};
    return true;
}

static bool all_in_order(struct order *o)
{
    const struct ty_program *p = &o->s->program;
    for (uint32_t i = 0; i < p->n_passes; i++) {
        const struct ty_shorten_block *block = &o->s->block[p->passes[i].block];
        for (uint32_t k = 0; k < block->n_messages; k++) {
            if (!is_next(o, &p->passes[i], block->message[k])) {
                return false;
            }
        }
    }
    bool both = true; /* what is sent is received, and the other way round */
    for (uint32_t i = 0; i < p->n_slots; i++) {
        both = both && (o->known[i] == 0 || o->known[i] == 3);
    }
    return both;
}

/* 1: messages of the shortened program go where they went; 0, or TY_ENOMEM. */
static int check_order(const struct ty_shortening *s)
{
    const struct ty_program *p = &s->program;
    struct ty_arena arena = {.head = NULL};
    struct order o = {.s = s};
    size_t lines = 0;
    o.shift = ty_arena_array(&arena, int64_t, (size_t)p->n_channels + 1);
    o.first = ty_arena_array(&arena, uint32_t, (size_t)p->n_channels + 1);
    o.known = ty_arena_array(&arena, uint8_t, (size_t)p->n_slots + 1);
    int rc = o.shift == NULL || o.first == NULL || o.known == NULL ? TY_ENOMEM : find_shifts(&o);
    for (uint32_t c = 0; rc > 0 && c < p->n_channels; c++) {
        o.first[c] = (uint32_t)lines;
        lines += (size_t)(o.shift[c] < 0 ? -o.shift[c] : o.shift[c]);
    }
    if (rc > 0) {
        o.line[0] = ty_arena_array(&arena, struct line, lines + 1);
        o.line[1] = ty_arena_array(&arena, struct line, lines + 1);
        rc = o.line[0] == NULL || o.line[1] == NULL ? TY_ENOMEM : all_in_order(&o);
    }
    ty_arena_release(&arena);
    return rc;
}

/* ---- programs ---- */

int ty_shorten_begin(struct ty_shortening *s, const struct ty_program *folded,
                     struct ty_arena *arena, struct ty_err *err)
{
    *s = (struct ty_shortening){.whole = folded, .arena = arena};
    return folded->n_tenants > 0 || folded->n_gangs == 0 ? 0 : shorten_find(s, err);
}

/* Passes left out of all gangs. */
static uint64_t saved(const struct ty_shortening *s)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        for (uint32_t g = 0; g < s->whole->n_gangs; g++) {
            sum += (uint64_t)left_out(&s->steady[i]) * s->steady[i].of[g].n;
        }
    }
    return sum;
}

/* Attempts have cost enough: what did not hold is executed as it is. */
static void give_up(struct ty_shortening *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->steady[i].failed) {
            s->steady[i].kept = s->steady[i].least;
        }
    }
}

static bool make(struct maker *m, struct ty_arena *arena)
{
    const struct ty_program *p = m->p;
    struct ty_program *out = &m->s->program;
    *out = *p;
    out->gangs = ty_arena_array(arena, struct ty_gang, p->n_gangs);
    out->channels = ty_arena_array(arena, struct ty_channel, (size_t)p->n_channels + 1);
    out->meets = ty_arena_array(arena, struct ty_meet, (size_t)p->n_meets + 1);
    m->passes = ty_arena_array(arena, struct ty_pass, p->n_passes - saved(m->s));
    m->moved = ty_arena_array(arena, int64_t, (size_t)p->n_channels + 1);
    m->stamp = ty_arena_array(arena, uint32_t, (size_t)p->n_channels + 1);
    if (out->gangs == NULL || out->channels == NULL || out->meets == NULL || m->passes == NULL ||
        m->moved == NULL || m->stamp == NULL) {
        return false;
    }
    memcpy(out->gangs, p->gangs, p->n_gangs * sizeof(*p->gangs));
    for (uint32_t i = 0; i < p->n_meets; i++) {
        out->meets[i] = p->meets[i];
    }
    for (uint32_t c = 0; c < p->n_channels; c++) {
        out->channels[c] = p->channels[c];
        out->channels[c].n_seq = 0; /* as many as are left */
    }
    out->passes = m->passes;
    return true;
}

int ty_shorten_next(struct ty_shortening *s, const struct ty_program **program, struct ty_err *err)
{
    struct maker m = {.s = s, .p = s->whole};
    bool good = true;
    if (s->tried + s->whole->n_passes - saved(s) > s->whole->n_passes / 4 * 3) {
        give_up(s);
    }
    if (saved(s) <= s->whole->n_passes / 8) { /* to try costs more than it may save */
        return 0;
    }
    s->tried += s->whole->n_passes - saved(s);
    if (!make(&m, s->arena)) {
        return ty_fail_memory(err);
    }
    for (uint32_t g = 0; g < s->whole->n_gangs && good; g++) {
        good = copy_gang(&m, g);
    }
    s->program.n_passes = m.n_passes;
    int rc = good ? ty_program_number(&s->program, s->arena, err) : 0;
    if (good && rc == 0) {
        rc = check_order(s);
        rc = rc < 0 ? ty_fail_memory(err) : rc;
    }
    *program = &s->program;
    return rc;
}

/* ---- timelines ---- */

/* The same passes, so many repetitions taken as one; what is left over comes behind. */
static struct ty_steady in_rounds(const struct ty_shortening *s, const struct ty_steady *steady,
                                  uint32_t round, struct ty_stretch *of)
{
    const uint32_t out = left_out(steady) / round;
    for (uint32_t g = 0; g < s->whole->n_gangs; g++) {
        const struct ty_stretch *run = &steady->of[g];
        of[g] = (struct ty_stretch){.first = run->first,
                                    .n = run->n * round,
                                    .times = (run->times - left_out(steady)) / round + out,
                                    .shift = run->shift * round};
    }
    return (struct ty_steady){.of = of, .least = out, .at = steady->at};
}

/* What a steady state stands for, gang by gang. */
static void note_repeats(const struct ty_shortening *s, uint32_t i, const struct ty_steady *steady,
                         ty_ps period, const uint32_t *last, struct ty_repeat *repeat)
{
    for (uint32_t g = 0; g < s->whole->n_gangs; g++) {
        const uint32_t n = steady->of[g].n;
        repeat[(size_t)g * s->n + i] = (struct ty_repeat){.first_pass = steady->at[g] + n * last[g],
                                                          .n_passes = n,
                                                          .times = left_out(steady),
                                                          .period = period};
    }
}

/* Looks for a period of one repetition, of two, of four. 1: *sum is what was left out; 0, or
 * TY_ENOMEM. */
static int look_for_period(const struct ty_shortening *s, uint32_t i,
                           const struct ty_timeline *timeline, struct ty_repeat *repeat, ty_ps *sum,
                           struct ty_arena *arena)
{
    const uint32_t n_gangs = s->whole->n_gangs, out = left_out(&s->steady[i]);
    uint32_t *last = ty_arena_array(arena, uint32_t, n_gangs);
    struct ty_stretch *of = ty_arena_array(arena, struct ty_stretch, n_gangs);
    int found = last == NULL || of == NULL ? TY_ENOMEM : 0;
    for (uint32_t round = 1; round <= ROUND && out % round == 0 && found == 0; round *= 2) {
        const struct ty_steady steady = in_rounds(s, &s->steady[i], round, of);
        ty_ps period;
        found = ty_shorten_verify(s, &steady, timeline, &period, last, arena);
        if (found > 0) {
            note_repeats(s, i, &steady, period, last, repeat);
            *sum = left_out(&steady) * period;
        }
    }
    return found;
}

int ty_shorten_holds(struct ty_shortening *s, struct ty_timeline *timeline, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_repeat *repeat =
        ty_arena_array(&timeline->arena, struct ty_repeat, (size_t)s->whole->n_gangs * s->n + 1);
    ty_ps sum = 0;
    int rc = repeat == NULL ? TY_ENOMEM : 1;
    for (uint32_t i = 0; i < s->n && rc >= 0; i++) {
        struct ty_steady *steady = &s->steady[i];
        ty_ps gone = 0;
        if (left_out(steady) == 0) {
            continue; /* executed as it is; its rows say so */
        }
        const int found = look_for_period(s, i, timeline, repeat, &gone, &arena);
        sum += gone;
        steady->failed = found <= 0;
        if (found == 0) {
            steady->kept = shorten_keep(steady, 2 * steady->kept);
        }
        rc = found < rc ? found : rc;
    }
    ty_arena_release(&arena);
    if (rc > 0) {
        timeline->repeat = repeat;
        timeline->n_repeats = s->n;
        timeline->whole = s->whole;
        timeline->left_out = sum;
        timeline->makespan += sum;
    }
    return rc < 0 ? ty_fail_memory(err) : rc;
}

/* Column of one gang: rows up to the end of what repeats, as often again, and so on. */
static void lengthen(ty_ps *out, const ty_ps *in, const struct ty_timeline *t, uint32_t g,
                     bool shifted)
{
    const struct ty_program *p = t->program;
    const struct ty_gang *gang = &p->gangs[g];
    const struct ty_pass *passes = ty_gang_passes(p, gang);
    uint64_t done = 0;
    ty_ps late = 0;
    for (uint32_t i = 0; i < t->n_repeats; i++) {
        const struct ty_repeat *r = &t->repeat[(size_t)g * t->n_repeats + i];
        if (r->times == 0) {
            continue;
        }
        const uint32_t end = r->first_pass + r->n_passes;
        const uint64_t from = passes[r->first_pass].first_op;
        const uint64_t to = end < gang->n_passes ? passes[end].first_op : gang->n_ops;
        for (; done < to; done++) {
            *out++ = in[done] + late;
        }
        for (uint32_t k = 0; k < r->times; k++) {
            late += shifted ? r->period : 0;
            for (uint64_t o = from; o < to; o++) {
                *out++ = in[o] + late;
            }
        }
    }
    for (; done < gang->n_ops; done++) {
        *out++ = in[done] + late;
    }
}

int ty_timeline_lengthen(struct ty_timeline *out, const struct ty_timeline *t, struct ty_err *err)
{
    const struct ty_program *p = out->program;
    const int rc = t->dur == NULL ? 0 : ty_timeline_keep_durations(out, err);
    for (uint32_t g = 0; g < p->n_gangs && rc == 0; g++) {
        const uint64_t to = p->gangs[g].first_task, from = t->program->gangs[g].first_task;
        lengthen(out->start + to, t->start + from, t, g, true);
        if (t->dur != NULL) {
            lengthen(out->dur + to, t->dur + from, t, g, false);
        }
    }
    out->makespan = t->makespan;
    return rc;
}
