/* program.c - sealing a program: numbering, and checking once what executors then rely on. */
#include "sim/core/program/program.h"

#include <string.h>

#include "sim/base/check.h"
#include "sim/base/noise.h"

/* ---- checks ---- */

static int bug(struct ty_err *err, const char *what, uint32_t index)
{
    return ty_fail(err, TY_EBUG, "program: %s (row %u)", what, (unsigned)index);
}

static bool link_ok(const struct ty_program *p, const struct ty_op *op)
{
    switch ((enum ty_sync)op->sync) {
    case TY_SYNC_LOCAL:
        return true;
    case TY_SYNC_GROUP:
        return op->link < p->n_groups;
    case TY_SYNC_MEET:
        return op->link < p->n_meets;
    case TY_SYNC_SEND:
    case TY_SYNC_RECV:
        return op->link < p->n_channels;
    }
    return false;
}

static bool event_ok(uint8_t event)
{
    return event == TY_NO_EVENT || event < TY_EVENTS;
}

static int check_words(const struct ty_program *p, struct ty_err *err)
{
    const struct ty_vocabulary *w = p->words;
    if (w == NULL || w->n_streams > TY_MAX_STREAMS || w->n_buckets > TY_MAX_BUCKETS ||
        w->n_memory > TY_MAX_MEMORY) {
        return bug(err, "vocabulary is missing or too large", 0);
    }
    for (uint32_t i = 0; i < p->n_kinds; i++) {
        if (p->kinds[i].category >= w->n_categories) {
            return bug(err, "kind of a category that does not exist", i);
        }
    }
    return 0;
}

static int check_op(const struct ty_program *p, uint32_t index, struct ty_err *err)
{
    const struct ty_op *op = &p->ops[index];
    const struct ty_vocabulary *w = p->words;
    if (op->kind >= p->n_kinds || op->stream >= w->n_streams || op->part >= w->n_parts) {
        return bug(err, "operation names a kind, stream or part that does not exist", index);
    }
    if (!p->observed && (op->sync == TY_SYNC_RECV) != (op->stream == w->receives)) {
        return bug(err, "messages are received on the receive stream, and nothing else is", index);
    }
    if (!link_ok(p, op)) {
        return bug(err, "operation names a group, meeting or channel that does not exist", index);
    }
    bool events = event_ok(op->record);
    for (uint32_t i = 0; i < TY_WAITS; i++) {
        events = events && event_ok(op->wait[i]);
    }
    return events ? 0 : bug(err, "operation names an event that does not exist", index);
}

static int check_channels(const struct ty_program *p, struct ty_err *err)
{
    for (uint32_t i = 0; i < p->n_channels; i++) {
        const struct ty_channel *c = &p->channels[i];
        if (c->from >= p->n_gangs || c->to >= p->n_gangs) {
            return bug(err, "channel joins gangs that do not exist", i);
        }
        const uint32_t a = p->gangs[c->from].n_ranks, b = p->gangs[c->to].n_ranks;
        if (a % b != 0 && b % a != 0) {
            return bug(err, "channel joins gangs neither of which divides the other", i);
        }
    }
    return 0;
}

static int check_groups(const struct ty_program *p, struct ty_err *err)
{
    for (uint32_t i = 0; i < p->n_groups; i++) {
        if (p->groups[i].stride == 0 || p->groups[i].count == 0) {
            return bug(err, "group without members", i);
        }
    }
    return 0;
}

static int check_message(const struct ty_program *p, const struct ty_script *s, uint32_t from,
                         uint32_t number, struct ty_err *err)
{
    const struct ty_message *m = &p->messages[s->first + number];
    bool good = m->to < s->positions && m->to != from && m->pair < s->n_pairs &&
                (uint64_t)m->first_after + m->n_after <= p->n_afters;
    for (uint32_t i = 0; good && i < m->n_after; i++) {
        const uint32_t after = p->afters[m->first_after + i];
        good = after < s->n && p->messages[s->first + after].to == from;
    }
    return good ? 0 : bug(err, "message of a script that cannot be sent", s->first + number);
}

static int check_scripts(const struct ty_program *p, struct ty_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < p->n_scripts && rc == 0; i++) {
        const struct ty_script *s = &p->scripts[i];
        const uint32_t *send = p->sends + s->first_send;
        if (s->positions < 2 || (uint64_t)s->first + s->n > p->n_messages ||
            (uint64_t)s->first_send + s->positions >= p->n_sends || send[0] != 0 ||
            send[s->positions] != s->n) {
            return bug(err, "script out of range", i);
        }
        for (uint32_t from = 0; from < s->positions && rc == 0; from++) {
            for (uint32_t m = send[from]; m < send[from + 1] && rc == 0; m++) {
                rc = check_message(p, s, from, m, err);
            }
        }
    }
    return rc;
}

/* What a look at a block has told: a gang runs the same few in thousands of passes. */
struct seen_block {
    uint32_t by;       /* the last gang that was looked at with it: number + 1 */
    uint64_t n_seq[2]; /* messages of its channels with fewest, by ty_op.second */
};

/* One operation in a gang: its message's channel, its group and script. NULL, or what is wrong. */
static const char *check_gang_op(const struct ty_program *p, const struct ty_gang *gang,
                                 const struct ty_op *op, uint64_t n_seq[2])
{
    const struct ty_group *g = op->sync == TY_SYNC_GROUP ? &p->groups[op->link] : NULL;
    const uint32_t script = p->kinds[op->kind].script;
    if (op->sync == TY_SYNC_SEND || op->sync == TY_SYNC_RECV) {
        const uint64_t n = p->channels[op->link].n_seq;
        n_seq[op->second] = n < n_seq[op->second] ? n : n_seq[op->second];
    }
    if (op->sync == TY_SYNC_MEET && p->meets[op->link].n_seq > 0) {
        const uint64_t n = p->meets[op->link].n_seq;
        n_seq[0] = n < n_seq[0] ? n : n_seq[0];
    }
    if (g != NULL && gang->n_ranks % (g->stride * g->count) != 0) {
        return "group does not divide its gang";
    }
    if (script != 0 && (g == NULL || g->count != p->scripts[script - 1].positions)) {
        return "script of another group";
    }
    return NULL;
}

/* A block that a gang has not run yet. An event recorded on two streams could complete out of issue
 * order: stream_of[TY_EVENTS] remembers those of the gang. */
static int check_block(const struct ty_program *p, const struct ty_gang *gang, uint32_t pass,
                       struct seen_block *seen, uint8_t *stream_of, struct ty_err *err)
{
    const struct ty_block *block = &p->blocks[p->passes[pass].block];
    *seen = (struct seen_block){(uint32_t)(gang - p->gangs) + 1, {UINT64_MAX, UINT64_MAX}};
    for (uint32_t k = 0; k < block->n_ops; k++) {
        const struct ty_op *op = &p->ops[block->first + k];
        const char *wrong = check_gang_op(p, gang, op, seen->n_seq);
        if (wrong != NULL) {
            return bug(err, wrong, pass);
        }
        if (op->record == TY_NO_EVENT) {
            continue;
        }
        uint8_t *stream = &stream_of[op->record];
        if (*stream != TY_NO_EVENT && *stream != op->stream) {
            return bug(err, "event recorded on two streams", block->first + k);
        }
        *stream = op->stream;
    }
    return 0;
}

/* Operations of a gang: indices of its passes, messages and groups. */
static int check_gang(const struct ty_program *p, const struct ty_gang *gang,
                      struct seen_block *blocks, struct ty_err *err)
{
    const uint32_t by = (uint32_t)(gang - p->gangs) + 1;
    uint8_t stream_of[TY_EVENTS];
    memset(stream_of, TY_NO_EVENT, sizeof(stream_of));
    for (uint32_t i = gang->first_pass; i < gang->first_pass + gang->n_passes; i++) {
        const struct ty_pass *pass = &p->passes[i];
        if (pass->block >= p->n_blocks || pass->step >= p->n_steps || pass->phase >= TY_N_PHASES) {
            return bug(err, "pass names a block, step or phase that does not exist", i);
        }
        struct seen_block *seen = &blocks[pass->block];
        const int rc = seen->by == by ? 0 : check_block(p, gang, i, seen, stream_of, err);
        if (rc < 0) {
            return rc;
        }
        if (pass->seq >= seen->n_seq[0] || pass->seq2 >= seen->n_seq[1]) {
            return bug(err, "message number beyond its channel", i);
        }
    }
    return 0;
}

static int check_gangs(const struct ty_program *p, struct ty_arena *arena, struct ty_err *err)
{
    struct seen_block *blocks = ty_arena_array(arena, struct seen_block, (size_t)p->n_blocks + 1);
    int rc = blocks != NULL ? 0 : ty_fail_memory(err);
    for (uint32_t g = 0; g < p->n_gangs && rc == 0; g++) {
        rc = check_gang(p, &p->gangs[g], blocks, err);
    }
    return rc;
}

static int check_ranks(const struct ty_program *p, struct ty_arena *arena, struct ty_err *err)
{
    bool *seen = ty_arena_array(arena, bool, p->n_ranks);
    if (seen == NULL && p->n_ranks > 0) {
        return ty_fail_memory(err);
    }
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        for (uint32_t i = 0; i < p->gangs[g].n_ranks; i++) {
            const uint32_t rank = p->gangs[g].rank_of[i];
            if (rank >= p->n_ranks || seen[rank]) {
                return bug(err, "ranks of the gangs are not a permutation", g);
            }
            seen[rank] = true;
        }
    }
    return 0;
}

static int check(const struct ty_program *p, struct ty_arena *arena, struct ty_err *err)
{
    int rc = check_words(p, err);
    for (uint32_t i = 0; i < p->n_ops && rc == 0; i++) {
        rc = check_op(p, i, err);
    }
    if (rc == 0) {
        rc = check_channels(p, err);
    }
    if (rc == 0) {
        rc = check_groups(p, err);
    }
    if (rc == 0) {
        rc = check_scripts(p, err);
    }
    if (rc == 0) {
        rc = check_gangs(p, arena, err);
    }
    return rc == 0 ? check_ranks(p, arena, err) : rc;
}

/* ---- numbering ---- */

static int number_tasks(struct ty_program *p, struct ty_err *err)
{
    uint64_t tasks = 0;
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        struct ty_gang *gang = &p->gangs[g];
        struct ty_pass *passes = p->passes + gang->first_pass;
        uint64_t ops = 0;
        for (uint32_t i = 0; i < gang->n_passes; i++) {
            passes[i].first_op = (uint32_t)ops;
            ops += passes[i].block < p->n_blocks ? p->blocks[passes[i].block].n_ops : 0;
        }
        if (ops > UINT32_MAX) {
            return ty_fail(err, TY_ELIMIT, "program: more than 2^32 operations on one rank");
        }
        gang->n_ops = (uint32_t)ops;
        gang->first_task = tasks;
        tasks += ops * gang->n_ranks;
        p->n_ranks += gang->n_ranks;
        if (gang->n_ranks > p->slot_width) {
            p->slot_width = gang->n_ranks;
        }
    }
    p->n_tasks = tasks;
    return 0;
}

/* Streams in use get numbers without holes, in the order of the vocabulary. */
static void number_lanes(struct ty_program *p)
{
    uint8_t lane_of[TY_MAX_STREAMS];
    const uint8_t receives = p->words->receives;
    uint32_t used = 1u << TY_STREAM_COMPUTE | (p->n_channels > 0 ? 1u << receives : 0);
    for (uint32_t i = 0; i < p->n_ops; i++) {
        used |= 1u << p->ops[i].stream;
    }
    p->n_lanes = 0;
    for (uint8_t s = 0; s < TY_MAX_STREAMS; s++) {
        lane_of[s] = (uint8_t)p->n_lanes;
        if ((used >> s & 1) != 0) {
            p->stream_of[p->n_lanes++] = s;
        }
    }
    for (uint32_t i = 0; i < p->n_ops; i++) {
        p->ops[i].lane = lane_of[p->ops[i].stream];
    }
    p->receive_lane = lane_of[receives];
    assert(p->n_lanes > 0 && p->stream_of[0] == TY_STREAM_COMPUTE);
}

/* Longest duration of a kind on any member. */
static ty_ps longest(const struct ty_kind *kind, uint32_t members)
{
    ty_ps most = kind->dur;
    for (uint32_t i = 0; kind->dur_of != NULL && i < members; i++) {
        most = kind->dur_of[i] > most ? kind->dur_of[i] : most;
    }
    return most;
}

/* A block's operations one after the other, each as long as on its slowest member, in ps. */
static double block_length(const struct ty_program *p, const struct ty_block *block,
                           uint32_t members)
{
    double total = 0;
    for (uint32_t k = 0; k < block->n_ops; k++) {
        const struct ty_op *op = &p->ops[block->first + k];
        total += (double)longest(&p->kinds[op->kind], members);
        total += op->sync == TY_SYNC_SEND ? (double)p->channels[op->link].delay : 0;
    }
    return total;
}

/* The largest given factor. */
static double slowest(const struct ty_program *p)
{
    double most = 1;
    for (uint32_t r = 0; p->slow_of != NULL && r < p->n_ranks; r++) {
        most = p->slow_of[r] > most ? p->slow_of[r] : most;
    }
    return most;
}

/* A bound on the makespan: everything one after the other. Sums of times must not overflow the
 * clock, which wraps silently; a quarter of its range is left for jitter. */
static int check_clock(const struct ty_program *p, struct ty_arena *arena, struct ty_err *err)
{
    double *length = ty_arena_array(arena, double, p->n_blocks); /* 0: not known yet */
    double total = 0;
    for (uint32_t g = 0; length != NULL && g < p->n_gangs; g++) {
        const struct ty_gang *gang = &p->gangs[g];
        for (uint32_t i = 0; i < gang->n_passes; i++) {
            const uint32_t b = ty_gang_passes(p, gang)[i].block;
            if (length[b] <= 0) {
                length[b] = block_length(p, &p->blocks[b], gang->n_ranks);
            }
            total += length[b];
        }
    }
    if (length == NULL) {
        return ty_fail_memory(err);
    }
    total *= slowest(p);
    if (total * (1 + 5 * p->jitter.cv) * (1 + 5 * p->jitter.spread) > 4.6e18) { /* 2^62 ps */
        return ty_fail(err, TY_ELIMIT,
                       "the run could last %.3g s, longer than the simulated clock can hold "
                       "(4.6e6 s); simulate fewer steps or micro-batches",
                       total * 1e-12);
    }
    return 0;
}

static int number_slots(struct ty_program *p, struct ty_err *err)
{
    uint64_t slots = 0;
    for (uint32_t i = 0; i < p->n_channels; i++) {
        p->channels[i].first_slot = (uint32_t)slots;
        slots += p->channels[i].n_seq;
    }
    for (uint32_t i = 0; i < p->n_meets; i++) {
        p->meets[i].first_slot = (uint32_t)slots;
        slots += ty_meet_instances(p, &p->meets[i]);
    }
    if (slots > UINT32_MAX) {
        return ty_fail(err, TY_ELIMIT, "program: more than 2^32 messages");
    }
    p->n_slots = (uint32_t)slots;
    return 0;
}

/* ---- factors ---- */

/* A rank's draw: a GPU is as fast as it is for the whole run. Normal, mean 1; a draw below 0.5
 * would be a broken GPU, not a slow one, and is cut. */
static double drawn_spread(const struct ty_program *p, uint32_t rank)
{
    const double f = 1 + p->jitter.spread * ty_noise_normal(p->jitter.seed, UINT64_MAX, rank, 0);
    return f > 0.5 ? f : 0.5;
}

static int find_lasting(struct ty_program *p, struct ty_arena *arena, struct ty_err *err)
{
    p->spread_of = NULL;
    if (p->jitter.spread <= 0 && p->slow_of == NULL) {
        return 0;
    }
    double *factor = ty_arena_array(arena, double, p->n_ranks);
    if (factor == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        factor[r] = p->jitter.spread > 0 ? drawn_spread(p, r) : 1;
        factor[r] *= p->slow_of != NULL ? p->slow_of[r] : 1;
        assert(factor[r] > 0);
    }
    p->spread_of = factor;
    return 0;
}

/* Number of a member's jitter group within its gang. */
static uint32_t jitter_group(const struct ty_program *p, const struct ty_jitter *jitter,
                             uint32_t member)
{
    if (jitter->group == TY_NONE) {
        return member;
    }
    return ty_group_number(&p->groups[jitter->group], member);
}

void ty_program_factors(const struct ty_program *p, const struct ty_gang *gang, uint32_t pass,
                        uint16_t layer, double *out)
{
    /* a program draws the same by itself and merged with others */
    const struct ty_tenant *tenant = p->n_tenants > 0 ? &p->tenants[gang->tenant] : NULL;
    const struct ty_jitter *jitter = tenant != NULL ? &tenant->jitter : &p->jitter;
    const uint32_t first = tenant != NULL ? tenant->first_gang : 0;
    const uint64_t who = (uint64_t)(gang - p->gangs - first) << 32;
    const uint64_t what = (uint64_t)pass << 16 | layer;
    assert(pass < gang->n_passes);
    uint32_t known = UINT32_MAX; /* neighbours share a group: draw once */
    double factor = 1;
    for (uint32_t i = 0; i < gang->n_ranks; i++) {
        const uint32_t group = jitter_group(p, jitter, i);
        if (group != known) {
            factor = ty_noise_lognormal(jitter->cv, jitter->seed, who | group, what, 0);
            known = group;
        }
        assert(factor > 0);
        out[i] = p->spread_of != NULL ? factor * p->spread_of[gang->rank_of[i]] : factor;
    }
}

/* ---- public ---- */

static int number(struct ty_program *p, struct ty_err *err)
{
    p->n_ranks = 0;
    p->slot_width = 0;
    const int rc = number_tasks(p, err);
    return rc == 0 ? number_slots(p, err) : rc;
}

int ty_program_number(struct ty_program *p, struct ty_arena *arena, struct ty_err *err)
{
    int rc = number(p, err);
    TY_DEBUG_CHECK(rc < 0 || check(p, arena, NULL) == 0);
    return rc == 0 ? find_lasting(p, arena, err) : rc;
}

int ty_program_seal(struct ty_program *p, struct ty_arena *arena, struct ty_err *err)
{
    int rc = number(p, err);
    if (rc == 0) {
        rc = check(p, arena, err);
    }
    if (rc == 0) {
        number_lanes(p);
        rc = check_clock(p, arena, err);
    }
    return rc == 0 ? find_lasting(p, arena, err) : rc;
}
