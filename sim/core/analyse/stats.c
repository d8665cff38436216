/* stats.c - sums over a finished timeline: buckets, busy streams, memory. */
#include "sim/core/analyse/stats.h"

#include "sim/base/check.h"
#include "sim/core/analyse/gaps.h"

struct tally {
    struct ty_stats *stats;
    const struct ty_gang *gang;
};

static void add_gap(void *arg, uint32_t member, const struct ty_gap *gap)
{
    const struct tally *tally = arg;
    struct ty_rank_stats *rank = &tally->stats->rank[tally->gang->rank_of[member]];
    rank->bucket[gap->bucket] += gap->dur;
    if (gap->waited > 0) {
        rank->waited += gap->waited;
        if (gap->layer != TY_NONE) {
            tally->stats->layer_waited_s[gap->layer] +=
                ty_s_from_ps(gap->waited) / tally->stats->n_ranks;
        }
    }
}

/* Busy time. Durations that are equal for all members are summed once for the gang. */
static void add_busy(struct ty_stats *stats, const struct ty_timeline *t,
                     const struct ty_gang *gang)
{
    const struct ty_program *p = t->program;
    struct ty_rank_stats common = {.bucket = {0}};
    for (uint32_t i = 0; i < gang->n_passes; i++) {
        const struct ty_pass *pass = &ty_gang_passes(p, gang)[i];
        const struct ty_op *ops = ty_pass_ops(p, pass);
        for (uint32_t k = 0; k < p->blocks[pass->block].n_ops; k++) {
            const struct ty_op *op = &ops[k];
            const struct ty_kind *kind = &p->kinds[op->kind];
            const uint8_t bucket = ty_kind_bucket(p, kind);
            const bool compute = op->stream == TY_STREAM_COMPUTE;
            stats->flops += kind->flops * gang->n_ranks;
            if (t->dur == NULL && kind->dur_of == NULL) {
                common.stream_busy[op->stream] += kind->dur;
                common.bucket[bucket] += compute ? kind->dur : 0;
                continue;
            }
            for (uint32_t m = 0; m < gang->n_ranks; m++) {
                struct ty_rank_stats *rank = &stats->rank[gang->rank_of[m]];
                const ty_ps dur = ty_timeline_dur(t, gang, op, pass->first_op + k, m);
                rank->stream_busy[op->stream] += dur;
                rank->bucket[bucket] += compute ? dur : 0;
            }
        }
    }
    for (uint32_t m = 0; m < gang->n_ranks; m++) {
        struct ty_rank_stats *rank = &stats->rank[gang->rank_of[m]];
        for (uint32_t b = 0; b < p->words->n_buckets; b++) {
            rank->bucket[b] += common.bucket[b];
        }
        for (uint32_t l = 0; l < p->n_lanes; l++) {
            rank->stream_busy[p->stream_of[l]] += common.stream_busy[p->stream_of[l]];
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
    for (uint32_t b = 0; b < words->n_buckets; b++) {
        double sum = 0;
        for (uint32_t r = 0; r < stats->n_ranks; r++) {
            sum += ty_s_from_ps(stats->rank[r].bucket[b]);
        }
        stats->bucket_s[b] = stats->n_ranks > 0 ? sum / stats->n_ranks : 0;
    }
    for (uint32_t r = 0; r < stats->n_ranks; r++) {
        stats->waited_s += ty_s_from_ps(stats->rank[r].waited) / stats->n_ranks;
    }
    stats->bubble_s = stats->bucket_s[words->fill] + stats->bucket_s[words->stall] +
                      stats->bucket_s[words->drain] + stats->bucket_s[words->message];
}

int ty_stats_compute(struct ty_stats *stats, const struct ty_timeline *timeline,
                     struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_program *p = timeline->program;
    struct ty_gaps gaps;
    *stats = (struct ty_stats){.makespan = timeline->makespan, .n_ranks = p->n_ranks};
    stats->rank = ty_arena_array(arena, struct ty_rank_stats, p->n_ranks);
    stats->memory = ty_arena_array(arena, struct ty_gang_memory, p->n_gangs);
    stats->n_layers = n_layers(p);
    stats->layer_waited_s = ty_arena_array(arena, double, stats->n_layers + 1);
    if (stats->rank == NULL || stats->memory == NULL || stats->layer_waited_s == NULL ||
        ty_gaps_init(&gaps, timeline, arena) < 0) {
        return ty_fail_memory(err);
    }
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        struct tally tally = {.stats = stats, .gang = &p->gangs[g]};
        add_busy(stats, timeline, &p->gangs[g]);
        ty_gaps_walk(&gaps, g, 0, p->gangs[g].n_ranks, add_gap, &tally);
        TY_DEBUG_CHECK(buckets_fill(stats, &p->gangs[g], gaps.over[p->gangs[g].tenant]));
        ty_memory_profile(p, &p->gangs[g], &stats->memory[g]);
    }
    average(stats, p->words);
    return 0;
}
