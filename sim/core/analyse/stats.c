/* stats.c - sums over a finished timeline: buckets, busy streams, memory. */
#include "sim/core/analyse/stats.h"

#include "sim/base/check.h"
#include "sim/core/analyse/gaps.h"
#include "sim/core/execute/shorten.h"

/* One gang of the whole program. */
struct tally {
    struct ty_stats *stats;
    const struct ty_gang *gang;
    uint32_t n, times; /* members that are looked at; each counts for so many neighbours */
    uint32_t step;     /* from one to the next in the timeline: `times`, or 1 in that of a fold */
    bool again;        /* a member waited like that more than once (gap->times) */
    /* what one member waited for collectives of layers before one operation */
    uint32_t member, n_waited;
    const struct ty_pass *before;
    const struct ty_op *op;
    struct {
        uint16_t layer;
        double s;
    } waited[2 * TY_WAITS];
};

/* Members that were not looked at would have come in turn: sums are rounded, so that many times the
 * same is added that many times. */
static void add_waited(struct tally *tally)
{
    for (uint32_t k = 0; tally->n_waited > 0 && k < tally->times; k++) {
        for (uint32_t i = 0; i < tally->n_waited; i++) {
            tally->stats->layer_waited_s[tally->waited[i].layer] += tally->waited[i].s;
        }
    }
    tally->n_waited = 0;
}

static void add_gap(void *arg, uint32_t member, const struct ty_gap *gap)
{
    struct tally *tally = arg;
    struct ty_rank_stats *rank =
        &tally->stats->rank[tally->gang->rank_of[member / tally->step * tally->times]];
    rank->bucket[gap->bucket] += gap->dur * gap->times;
    rank->waited += gap->waited * gap->times;
    if (gap->waited == 0 || gap->layer == TY_NONE) {
        return;
    }
    tally->again = tally->again || gap->times > 1;
    if (member != tally->member || gap->before != tally->before || gap->op != tally->op) {
        add_waited(tally);
        tally->member = member;
        tally->before = gap->before;
        tally->op = gap->op;
    }
    assert(tally->n_waited < TY_COUNT(tally->waited));
    tally->waited[tally->n_waited].layer = gap->layer;
    tally->waited[tally->n_waited++].s = ty_s_from_ps(gap->waited) / tally->stats->n_ranks;
}

/* Busy time of members that are looked at. Durations that are equal for all are summed once. */
static void add_busy(const struct tally *tally, const struct ty_timeline *t,
                     const struct ty_gang *gang)
{
    const struct ty_program *p = t->program;
    const uint32_t n = tally->n, twins = tally->times;
    struct ty_rank_stats *ranks = tally->stats->rank;
    struct ty_rank_stats common = {.bucket = {0}};
    for (uint32_t i = 0; i < gang->n_passes; i++) {
        const struct ty_pass *pass = &ty_gang_passes(p, gang)[i];
        const struct ty_op *ops = ty_pass_ops(p, pass);
        const uint32_t times = ty_pass_times(t, (uint32_t)(gang - p->gangs), i);
        for (uint32_t k = 0; k < p->blocks[pass->block].n_ops; k++) {
            const struct ty_op *op = &ops[k];
            const struct ty_kind *kind = &p->kinds[op->kind];
            const uint8_t bucket = ty_kind_bucket(p, kind);
            const bool compute = op->stream == TY_STREAM_COMPUTE;
            tally->stats->flops += kind->flops * tally->gang->n_ranks * times;
            if (t->dur == NULL && kind->dur_of == NULL) {
                common.stream_busy[op->stream] += kind->dur * times;
                common.bucket[bucket] += compute ? kind->dur * times : 0;
                continue;
            }
            for (uint32_t m = 0; m < n; m++) {
                struct ty_rank_stats *rank = &ranks[tally->gang->rank_of[m * twins]];
                const ty_ps dur =
                    times * ty_timeline_dur(t, gang, op, pass->first_op + k, m * tally->step);
                rank->stream_busy[op->stream] += dur;
                rank->bucket[bucket] += compute ? dur : 0;
            }
        }
    }
    for (uint32_t m = 0; m < n; m++) {
        struct ty_rank_stats *rank = &ranks[tally->gang->rank_of[m * twins]];
        for (uint32_t b = 0; b < p->words->n_buckets; b++) {
            rank->bucket[b] += common.bucket[b];
        }
        for (uint32_t l = 0; l < p->n_lanes; l++) {
            rank->stream_busy[p->stream_of[l]] += common.stream_busy[p->stream_of[l]];
        }
    }
}

/* Neighbours that were not looked at. */
static void copy_ranks(const struct tally *tally)
{
    struct ty_rank_stats *ranks = tally->stats->rank;
    const uint32_t *rank_of = tally->gang->rank_of;
    for (uint32_t m = 0; m < tally->gang->n_ranks; m++) {
        const uint32_t like = rank_of[m - m % tally->times];
        if (rank_of[m] != like) {
            ranks[rank_of[m]] = ranks[like];
        }
    }
}

/* What holds of every rank: its time lies in one bucket or another. */
static bool buckets_fill(const struct ty_stats *stats, const struct ty_gang *gang, ty_ps over)
{
    bool fill = true;
    for (uint32_t m = 0; m < gang->n_ranks; m++) {
        ty_ps sum = 0;
        for (uint32_t b = 0; b < TY_MAX_BUCKETS; b++) {
            sum += stats->rank[gang->rank_of[m]].bucket[b];
        }
        fill = fill && sum == over;
    }
    return fill;
}

void ty_memory_profile(const struct ty_program *p, const struct ty_gang *gang,
                       struct ty_gang_memory *out)
{
    double fixed = 0, held = 0;
    uint32_t n_held = 0;
    *out = (struct ty_gang_memory){.peak_B = 0};
    for (uint32_t k = 0; k < p->words->n_memory; k++) {
        fixed += gang->static_B[k];
    }
    out->peak_B = fixed;
    out->peak_activations_B = gang->static_B[p->words->held];
    for (uint32_t i = 0; i < gang->n_passes; i++) {
        const struct ty_pass *pass = &ty_gang_passes(p, gang)[i];
        const struct ty_block *block = &p->blocks[pass->block];
        const bool input = pass->phase == TY_PHASE_DGRAD; /* may hold more, not another piece */
        held += block->acquire_B;
        n_held += block->acquire_B > 0 && !input;
        if (fixed + held + block->transient_B > out->peak_B) {
            out->peak_B = fixed + held + block->transient_B;
            out->peak_activations_B = gang->static_B[p->words->held] + held + block->transient_B;
            out->transient_B = block->transient_B;
            out->transient_what = block->transient_what;
            out->peak_held = n_held;
            out->peak_pass = i;
        }
        held -= block->release_B;
        n_held -= block->release_B > 0 && n_held > 0;
    }
}

static uint32_t n_layers(const struct ty_program *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const uint32_t layer = p->ops[i].layer;
        n = layer != TY_NONE && layer >= n ? layer + 1 : n;
    }
    return n;
}

static void average(struct ty_stats *stats, const struct ty_vocabulary *words)
{
    for (uint32_t r = 0; r < stats->n_ranks; r++) {
        for (uint32_t b = 0; b < words->n_buckets; b++) { /* side by side, each in their order */
            stats->bucket_s[b] += ty_s_from_ps(stats->rank[r].bucket[b]);
        }
        stats->waited_s += ty_s_from_ps(stats->rank[r].waited) / stats->n_ranks;
    }
    for (uint32_t b = 0; b < words->n_buckets; b++) {
        stats->bucket_s[b] = stats->n_ranks > 0 ? stats->bucket_s[b] / stats->n_ranks : 0;
    }
    stats->bubble_s = stats->bucket_s[words->fill] + stats->bucket_s[words->stall] +
                      stats->bucket_s[words->drain] + stats->bucket_s[words->message];
}

static void analyse_gang(struct tally *tally, struct ty_gaps *gaps, uint32_t g)
{
    const struct ty_timeline *t = gaps->timeline;
    const struct ty_program *p = t->program, *longer = t->whole != NULL ? t->whole : p;
    struct ty_stats *stats = tally->stats;
    add_busy(tally, t, &p->gangs[g]);
    gaps->step = tally->step;
    ty_gaps_walk(gaps, g, 0, tally->n, add_gap, tally);
    add_waited(tally);
    copy_ranks(tally);
    TY_DEBUG_CHECK(buckets_fill(stats, tally->gang, gaps->over[tally->gang->tenant] + t->left_out));
    ty_memory_profile(longer, &longer->gangs[g], &stats->memory[g]);
}

/* Everything of a timeline, in which so many neighbours are alike; 0: all. 1: what was left out
 * of it would add to sums of waiting in another order; or TY_ENOMEM. */
static int analyse(struct ty_stats *stats, const struct ty_program *whole,
                   const struct ty_timeline *timeline, uint32_t twins, struct ty_arena *arena)
{
    struct ty_gaps gaps;
    bool again = false;
    *stats = (struct ty_stats){.makespan = timeline->makespan, .n_ranks = whole->n_ranks};
    stats->rank = ty_arena_array(arena, struct ty_rank_stats, whole->n_ranks);
    stats->memory = ty_arena_array(arena, struct ty_gang_memory, whole->n_gangs);
    stats->n_layers = n_layers(whole);
    stats->layer_waited_s = ty_arena_array(arena, double, stats->n_layers + 1);
    if (stats->rank == NULL || stats->memory == NULL || stats->layer_waited_s == NULL ||
        ty_gaps_init(&gaps, timeline, arena) < 0) {
        return TY_ENOMEM;
    }
    for (uint32_t g = 0; g < whole->n_gangs; g++) {
        const struct ty_gang *gang = &whole->gangs[g];
        const uint32_t times = twins == 0 ? gang->n_ranks : twins, n = gang->n_ranks / times;
        struct tally tally = {.stats = stats,
                              .gang = gang,
                              .n = n,
                              .times = times,
                              .step = timeline->program->gangs[g].n_ranks / n};
        analyse_gang(&tally, &gaps, g);
        again = again || tally.again;
    }
    average(stats, whole->words);
    return again;
}

/* The same of all that a shortened timeline stands for. */
static int analyse_longer(struct ty_stats *stats, const struct ty_program *whole,
                          const struct ty_timeline *timeline, uint32_t twins,
                          struct ty_arena *arena, struct ty_err *err)
{
    struct ty_timeline longer;
    int rc = ty_timeline_init(&longer, timeline->whole, err);
    if (rc == 0) {
        rc = ty_timeline_lengthen(&longer, timeline, err);
    }
    if (rc == 0 && analyse(stats, whole == timeline->program ? timeline->whole : whole, &longer,
                           twins, arena) < 0) {
        rc = ty_fail_memory(err);
    }
    ty_timeline_release(&longer);
    return rc;
}

static int compute(struct ty_stats *stats, const struct ty_program *whole,
                   const struct ty_timeline *timeline, uint32_t twins, struct ty_arena *arena,
                   struct ty_err *err)
{
    const int rc = analyse(stats, whole, timeline, twins, arena);
    if (rc < 0) {
        return ty_fail_memory(err);
    }
    return rc > 0 ? analyse_longer(stats, whole, timeline, twins, arena, err) : 0;
}

int ty_stats_compute(struct ty_stats *stats, const struct ty_timeline *timeline,
                     struct ty_arena *arena, struct ty_err *err)
{
    return compute(stats, timeline->program, timeline, 1, arena, err);
}

int ty_stats_compute_alike(struct ty_stats *stats, const struct ty_program *whole,
                           const struct ty_timeline *timeline, struct ty_arena *arena,
                           struct ty_err *err)
{
    return compute(stats, whole, timeline, 0, arena, err);
}

int ty_stats_compute_twins(struct ty_stats *stats, const struct ty_timeline *timeline,
                           uint32_t twins, struct ty_arena *arena, struct ty_err *err)
{
    return compute(stats, timeline->program, timeline, twins, arena, err);
}
