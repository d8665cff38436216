/* stats.c - sums over a finished timeline: buckets, busy streams, memory.
 *
 * Every rank has sums of its own, so that parts of gangs can be looked at side by side. Sums over
 * ranks are rounded, and are therefore added in the order of gangs: operations before the parts,
 * means behind them; and gangs that wait for others in the same layer are one part (find_parts). */
#include "sim/core/analyse/stats.h"

#include <pthread.h>

#include "sim/base/check.h"
#include "sim/base/pool.h"
#include "sim/base/sum.h"
#include "sim/core/analyse/gaps.h"
#include "sim/core/program/issue.h"
#include "sim/core/execute/shorten.h"

/* Some members of a gang of the whole program. */
struct tally {
    struct ty_stats *stats;
    const struct ty_gang *gang;
    uint32_t first, n; /* members that are looked at ... */
    uint32_t times;    /* ... each counts for so many neighbours, */
    uint32_t likes;    /* and each of these for so many ranks that have no statistics */
    bool counts;       /* FLOPs and energy of all ranks; else they are another part's */
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
    for (uint32_t k = 0; tally->n_waited > 0 && k < tally->times * tally->likes; k++) {
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
    assert(gap->times > 0 && gap->waited <= gap->dur);
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

/* Busy time of members that are looked at. Durations that are equal for all, or of the only one,
 * are summed once. */
static void add_busy(const struct tally *tally, const struct ty_timeline *t,
                     const struct ty_gang *gang)
{
    const struct ty_program *p = t->program;
    const uint32_t end = tally->first + tally->n, twins = tally->times;
    struct ty_rank_stats *ranks = tally->stats->rank;
    struct ty_rank_stats common = {.bucket = {0}};
    double flops = 0, energy_uJ = 0;
    for (uint32_t i = 0; i < gang->n_passes; i++) {
        const struct ty_pass *pass = &ty_gang_passes(p, gang)[i];
        const struct ty_op *ops = ty_pass_ops(p, pass);
        const uint32_t times = ty_pass_times(t, (uint32_t)(gang - p->gangs), i);
        for (uint32_t k = 0; k < p->blocks[pass->block].n_ops; k++) {
            const struct ty_op *op = &ops[k];
            const struct ty_kind *kind = &p->kinds[op->kind];
            const bool compute = op->stream == TY_STREAM_COMPUTE;
            const double all = (double)(tally->gang->n_ranks * tally->likes) * times;
            flops += kind->flops * all;
            energy_uJ += kind->energy_uJ * all;
            if (tally->n == 1 || (t->dur == NULL && kind->dur_of == NULL)) {
                const ty_ps dur = times * ty_timeline_dur(t, gang, op, pass->first_op + k,
                                                          tally->first * tally->step);
                common.stream_busy[op->stream] += dur;
                common.bucket[ty_kind_bucket(p, kind)] += compute ? dur : 0;
                continue;
            }
            const uint8_t bucket = ty_kind_bucket(p, kind);
            for (uint32_t m = tally->first; m < end; m++) {
                struct ty_rank_stats *rank = &ranks[tally->gang->rank_of[m * twins]];
                const ty_ps dur =
                    times * ty_timeline_dur(t, gang, op, pass->first_op + k, m * tally->step);
                rank->stream_busy[op->stream] += dur;
                rank->bucket[bucket] += compute ? dur : 0;
            }
        }
    }
    if (tally->counts) {
        tally->stats->flops += flops;
        tally->stats->energy_uJ += energy_uJ;
    }
    for (uint32_t m = tally->first; m < end; m++) {
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
    for (uint32_t m = tally->first * tally->times; m < (tally->first + tally->n) * tally->times;
         m++) {
        const uint32_t like = rank_of[m - m % tally->times];
        if (rank_of[m] != like) {
            ranks[rank_of[m]] = ranks[like];
        }
    }
}

/* What holds of every rank: its time lies in one bucket or another. */
static bool buckets_fill(const struct tally *tally, ty_ps over)
{
    bool fill = true;
    for (uint32_t m = tally->first; m < tally->first + tally->n; m++) {
        ty_ps sum = 0;
        for (uint32_t b = 0; b < TY_MAX_BUCKETS; b++) {
            sum += tally->stats->rank[tally->gang->rank_of[m * tally->times]].bucket[b];
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
        const bool input = pass->phase == TY_PHASE_DGRAD; /* more or less of the same piece */
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
        assert(out->peak_B >= fixed);
        held -= block->release_B;
        n_held -= block->release_B > 0 && !input && n_held > 0;
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

/* Every rank in its turn. */
static void add_ranks(struct ty_stats *stats, uint32_t n_buckets)
{
    for (uint32_t r = 0; r < stats->n_ranks; r++) {
        for (uint32_t b = 0; b < n_buckets; b++) { /* side by side, each in their order */
            stats->bucket_s[b] += ty_s_from_ps(stats->rank[r].bucket[b]);
        }
        stats->waited_s += ty_s_from_ps(stats->rank[r].waited) / stats->n_ranks;
    }
}

/* The same of ranks of which there is one for many, n of them; term[n] is scratch. */
static void add_likes(struct ty_stats *stats, const struct ty_stand_in *of, uint32_t n_buckets,
                      struct ty_term *term, uint32_t n)
{
    for (uint32_t b = 0; b < n_buckets; b++) {
        for (uint32_t r = 0; r < n; r++) {
            term[r] = (struct ty_term){ty_s_from_ps(stats->rank[r].bucket[b]), of->row};
        }
        stats->bucket_s[b] = ty_sum_terms(0, term, n, of->times);
    }
    for (uint32_t r = 0; r < n; r++) {
        term[r] = (struct ty_term){ty_s_from_ps(stats->rank[r].waited) / stats->n_ranks, of->row};
    }
    stats->waited_s = ty_sum_terms(0, term, n, of->times);
}

static int average(struct ty_stats *stats, const struct ty_stand_in *of,
                   const struct ty_vocabulary *words, struct ty_arena *arena)
{
    const uint32_t n = stats->n_ranks / stats->likes;
    struct ty_term *term = stats->likes > 1 ? ty_arena_array(arena, struct ty_term, n) : NULL;
    if (stats->likes == 1) {
        add_ranks(stats, words->n_buckets);
    } else if (term != NULL) {
        add_likes(stats, of, words->n_buckets, term, n);
    } else {
        return TY_ENOMEM;
    }
    for (uint32_t b = 0; b < words->n_buckets; b++) {
        stats->bucket_s[b] = stats->n_ranks > 0 ? stats->bucket_s[b] / stats->n_ranks : 0;
    }
    stats->bubble_s = stats->bucket_s[words->fill] + stats->bucket_s[words->stall] +
                      stats->bucket_s[words->drain] + stats->bucket_s[words->message];
    return 0;
}

/* ---- side by side ---- */

#define MEMBERS 512u /* of a gang in one part: rows of less are read at twice the cost */

/* All of a timeline. */
struct analysis {
    struct ty_stats *stats;
    const struct ty_program *whole;
    struct ty_gaps gaps;
    uint32_t twins;   /* so many neighbours are alike; 0: all */
    uint32_t members; /* of a gang in a part, at most */
    bool alone;       /* one thread: parts come in order */
    uint32_t *with;   /* [n_gangs] the first gang of the part; NULL: none is one with others */
    pthread_mutex_t lock;
    /* under it */
    uint32_t gang, member; /* where the next part begins */
    bool again;
};

static uint32_t looked_at(const struct analysis *a, uint32_t gang)
{
    return a->twins == 0 ? 1 : a->whole->gangs[gang].n_ranks / a->twins;
}

/* Members first .. first + n of a gang. Whether any waited more than once (struct tally). */
static bool look_at(const struct analysis *a, struct ty_gaps *gaps, uint32_t g, uint32_t first,
                    uint32_t n)
{
    const struct ty_timeline *t = gaps->timeline;
    assert(first + n <= looked_at(a, g));
    const uint32_t all = looked_at(a, g);
    struct tally tally = {.stats = a->stats,
                          .gang = &a->whole->gangs[g],
                          .first = first,
                          .n = n,
                          .times = a->whole->gangs[g].n_ranks / all,
                          .likes = a->stats->likes,
                          .counts = a->alone,
                          .step = t->program->gangs[g].n_ranks / all};
    gaps->step = tally.step;
    add_busy(&tally, t, &t->program->gangs[g]);
    ty_gaps_walk(gaps, g, first * tally.step, n, add_gap, &tally);
    add_waited(&tally);
    copy_ranks(&tally);
    TY_DEBUG_CHECK(buckets_fill(&tally, gaps->over[tally.gang->tenant] + t->left_out));
    return tally.again;
}

/* The next part that nobody has taken: n members of a gang; false: there is none. */
static bool take_part(struct analysis *a, bool again, uint32_t *gang, uint32_t *first, uint32_t *n)
{
    pthread_mutex_lock(&a->lock);
    a->again = a->again || again;
    while (a->with != NULL && a->gang < a->whole->n_gangs && a->with[a->gang] != a->gang) {
        a->gang++;
    }
    const bool found = a->gang < a->whole->n_gangs;
    if (found) {
        const uint32_t left = looked_at(a, a->gang) - a->member;
        *gang = a->gang;
        *first = a->member;
        *n = left < a->members ? left : a->members;
        a->gang += *n == left;
        a->member = *n == left ? 0 : a->member + *n;
    }
    pthread_mutex_unlock(&a->lock);
    return found;
}

static bool look_at_parts(void *arg, uint32_t thread)
{
    struct analysis *a = arg;
    struct ty_arena arena = {.head = NULL};
    struct ty_gaps gaps = a->gaps; /* the first thread takes its rows */
    uint32_t gang, first, n;
    bool again = false;
    const int rc = thread > 0 ? ty_gaps_init_beside(&gaps, &a->gaps, &arena) : 0;
    while (rc == 0 && take_part(a, again, &gang, &first, &n)) { /* else the others do it */
        again = look_at(a, &gaps, gang, first, n);
        for (uint32_t g = gang + 1; a->with != NULL && g < a->whole->n_gangs; g++) {
            again = (a->with[g] == gang && look_at(a, &gaps, g, 0, looked_at(a, g))) || again;
        }
    }
    ty_arena_release(&arena);
    return true;
}

/* Both parts are one from now on, that of the first. */
static void join_parts(uint32_t *with, uint32_t n_gangs, uint32_t *of, uint32_t n_layers,
                       uint32_t a, uint32_t b)
{
    const uint32_t first = a < b ? a : b, other = a < b ? b : a;
    for (uint32_t g = 0; g < n_gangs; g++) {
        with[g] = with[g] == other ? first : with[g];
    }
    for (uint32_t l = 0; l < n_layers; l++) {
        of[l] = of[l] == other ? first : of[l];
    }
}

/* Gangs in which members wait for others in the same layer are one part, as they add to one sum.
 * Where none waits, a gang is several. */
static int find_parts(struct analysis *a, struct ty_arena *arena)
{
    const struct ty_program *p = a->gaps.timeline->program;
    const uint32_t n_layers = a->stats->n_layers;
    uint32_t *of = ty_arena_array(arena, uint32_t, n_layers + 1); /* a gang; n_gangs: none */
    uint32_t *with = ty_arena_array(arena, uint32_t, p->n_gangs);
    if (of == NULL || with == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t l = 0; l < n_layers; l++) {
        of[l] = p->n_gangs;
    }
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        with[g] = g;
        for (struct ty_issue at = ty_issue_of(p, &p->gangs[g]); ty_issue_next(&at);) {
            const uint32_t layer = at.op->layer;
            if (layer == TY_NONE ||
                ty_kind_bucket(p, &p->kinds[at.op->kind]) != p->words->awaited) {
                continue;
            }
            a->with = with;
            if (of[layer] == p->n_gangs) {
                of[layer] = with[g];
            } else if (of[layer] != with[g]) {
                join_parts(with, g + 1, of, n_layers, of[layer], with[g]);
            }
        }
    }
    a->members = a->with != NULL ? UINT32_MAX : MEMBERS;
    return 0;
}

/* ---- everything ---- */

/* What is to be analysed, and how. */
struct job {
    const struct ty_program *whole; /* whose ranks are told of */
    struct ty_stand_in of;          /* for whom they stand */
    uint32_t twins;                 /* so many neighbours of the timeline are alike; 0: all */
    uint32_t threads;
};

static int prepare(struct analysis *a, const struct ty_timeline *timeline, const struct job *job,
                   struct ty_arena *arena)
{
    const struct ty_program *whole = a->whole;
    struct ty_stats *stats = a->stats;
    const uint32_t likes = job->of.row * job->of.times;
    *stats = (struct ty_stats){
        .makespan = timeline->makespan, .n_ranks = whole->n_ranks * likes, .likes = likes};
    stats->rank = ty_arena_array(arena, struct ty_rank_stats, whole->n_ranks);
    stats->memory = ty_arena_array(arena, struct ty_gang_memory, whole->n_gangs);
    stats->n_layers = n_layers(whole);
    stats->layer_waited_s = ty_arena_array(arena, double, stats->n_layers + 1);
    if (stats->rank == NULL || stats->memory == NULL || stats->layer_waited_s == NULL ||
        ty_gaps_init(&a->gaps, timeline, arena) < 0) {
        return TY_ENOMEM;
    }
    return job->threads > 1 ? find_parts(a, arena) : 0;
}

/* Everything of a timeline. 1: what was left out of it would add to sums of waiting in another
 * order; or TY_ENOMEM. */
static int analyse(struct ty_stats *stats, const struct ty_timeline *timeline,
                   const struct job *job, struct ty_arena *arena)
{
    const struct ty_program *longer = timeline->whole != NULL ? timeline->whole : timeline->program;
    const struct ty_program *whole = job->whole;
    struct analysis a = {.stats = stats,
                         .whole = whole,
                         .twins = job->twins,
                         .members = UINT32_MAX,
                         .alone = job->threads == 1};
    if (prepare(&a, timeline, job, arena) < 0) {
        return TY_ENOMEM;
    }
    for (uint32_t g = 0; g < whole->n_gangs; g++) {
        struct tally nobody = {.stats = stats,
                               .gang = &whole->gangs[g],
                               .times = 1,
                               .likes = stats->likes,
                               .counts = true};
        if (job->threads > 1) {
            add_busy(&nobody, timeline, &timeline->program->gangs[g]);
        }
        ty_memory_profile(longer, &longer->gangs[g], &stats->memory[g]);
    }
    pthread_mutex_init(&a.lock, NULL);
    ty_pool_run(0, job->threads, job->threads, look_at_parts, &a);
    pthread_mutex_destroy(&a.lock);
    return average(stats, &job->of, whole->words, arena) < 0 ? TY_ENOMEM : a.again;
}

/* The same of all that a shortened timeline stands for. */
static int analyse_longer(struct ty_stats *stats, const struct ty_timeline *timeline,
                          const struct job *job, struct ty_arena *arena, struct ty_err *err)
{
    struct ty_timeline longer;
    struct job all = *job;
    int rc = ty_timeline_init(&longer, timeline->whole, err);
    all.whole = job->whole == timeline->program ? timeline->whole : job->whole;
    if (rc == 0) {
        rc = ty_timeline_lengthen(&longer, timeline, err);
    }
    if (rc == 0 && analyse(stats, &longer, &all, arena) < 0) {
        rc = ty_fail_memory(err);
    }
    ty_timeline_release(&longer);
    return rc;
}

static int compute(struct ty_stats *stats, const struct ty_timeline *timeline,
                   const struct job *job, struct ty_arena *arena, struct ty_err *err)
{
    const int rc = analyse(stats, timeline, job, arena);
    if (rc < 0) {
        return ty_fail_memory(err);
    }
    return rc > 0 ? analyse_longer(stats, timeline, job, arena, err) : 0;
}

int ty_stats_compute(struct ty_stats *stats, const struct ty_timeline *timeline,
                     struct ty_arena *arena, struct ty_err *err)
{
    return ty_stats_compute_twins(stats, timeline, 1, 1, arena, err);
}

int ty_stats_compute_alike(struct ty_stats *stats, const struct ty_program *whole,
                           const struct ty_timeline *timeline, struct ty_arena *arena,
                           struct ty_err *err)
{
    const struct job job = {whole, {1, 1}, 0, 1};
    return compute(stats, timeline, &job, arena, err);
}

int ty_stats_compute_folded(struct ty_stats *stats, const struct ty_timeline *timeline,
                            struct ty_stand_in of, struct ty_arena *arena, struct ty_err *err)
{
    const struct job job = {timeline->program, of, 0, 1};
    return compute(stats, timeline, &job, arena, err);
}

int ty_stats_compute_twins(struct ty_stats *stats, const struct ty_timeline *timeline,
                           uint32_t twins, uint32_t threads, struct ty_arena *arena,
                           struct ty_err *err)
{
    const struct job job = {timeline->program, {1, 1}, twins, ty_pool_threads(threads)};
    return compute(stats, timeline, &job, arena, err);
}
