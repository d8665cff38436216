/* test_observed.c - where time went, by what ran: against a count picosecond by picosecond. */
#include "model/vocabulary.h"
#include "sim/core/analyse/observed.h"

#include <string.h>

#include "sim/core/execute/execute.h"
#include "tests/common/random_program.h"
#include "tests/unit/suite.h"

static struct ty_err err;

/* What a moment of a rank is charged to: computation on the compute stream, else what began first
 * on another stream, else nothing. O(tasks). */
static uint8_t bucket_at(const struct ty_timeline *t, uint32_t rank, ty_ps now)
{
    struct ty_span_cursor cursor = ty_spans_of(t, rank);
    struct ty_span span;
    ty_ps began[TY_N_STREAMS] = {0};
    uint8_t bucket[TY_N_STREAMS];
    uint32_t first = TY_N_STREAMS;
    memset(bucket, TY_N_BUCKETS, sizeof(bucket));
    while (ty_span_next(&cursor, &span)) {
        if (span.start <= now && now < span.start + span.dur) {
            began[span.op->stream] = span.start;
            bucket[span.op->stream] = ty_kind_bucket(t->program, span.kind);
        }
    }
    if (bucket[TY_STREAM_COMPUTE] < TY_N_BUCKETS) {
        return bucket[TY_STREAM_COMPUTE];
    }
    for (uint32_t s = 0; s < TY_N_STREAMS; s++) {
        if (bucket[s] < TY_N_BUCKETS && (first == TY_N_STREAMS || began[s] < began[first])) {
            first = s;
        }
    }
    return first < TY_N_STREAMS ? bucket[first] : (uint8_t)TY_BUCKET_BUBBLE_STALL;
}

static int by_time(const void *a, const void *b)
{
    const ty_ps *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* The same sums, stretch by stretch between all starts and ends of the rank. */
static void count(const struct ty_timeline *t, uint32_t rank, ty_ps bucket[TY_MAX_BUCKETS])
{
    struct ty_span_cursor cursor = ty_spans_of(t, rank);
    struct ty_span span;
    size_t n = 0;
    ty_ps *at = calloc(2 * (size_t)cursor.gang->n_ops + 2, sizeof(*at));
    ck_assert_ptr_nonnull(at);
    while (ty_span_next(&cursor, &span)) {
        at[n++] = span.start;
        at[n++] = span.start + span.dur;
    }
    at[n++] = 0;
    at[n++] = t->makespan;
    qsort(at, n, sizeof(*at), by_time);
    memset(bucket, 0, TY_MAX_BUCKETS * sizeof(*bucket));
    for (size_t i = 1; i < n; i++) {
        if (at[i] > at[i - 1]) {
            bucket[bucket_at(t, rank, at[i - 1])] += at[i] - at[i - 1];
        }
    }
    free(at);
}

TEST(sums_are_those_of_a_count_of_every_stretch)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_program p;
        struct ty_timeline t;
        ck_assert_int_eq(random_program(&p, seed, &arena, &err), 0);
        ck_assert_int_eq(ty_timeline_init(&t, &p, &err), 0);
        ck_assert_int_eq(ty_sweep(&t, &err), 0);
        for (uint32_t g = 0; g < p.n_gangs; g++) {
            ty_ps seen[TY_MAX_BUCKETS], counted[TY_MAX_BUCKETS], sum = 0;
            ty_observed_buckets(&t, g, 0, t.makespan, seen);
            count(&t, p.gangs[g].rank_of[0], counted);
            for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
                ck_assert_msg(seen[b] == counted[b], "seed %lu, %s", (unsigned long)seed,
                              ty_bucket(&p, b)->name);
                sum += seen[b];
            }
            ck_assert_uint_eq(sum, t.makespan);
        }
        ty_timeline_release(&t);
        ty_arena_release(&arena);
    }
}

TY_SUITE("observed")
