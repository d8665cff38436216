/* test_replay.c - measured kernels in rows, and where passes begin. */
#include "sim/profile/replay.h"

#include "tests/unit/suite.h"

#define KERNELS_MAX 64u

struct rank {
    struct ty_profile_kernel kernel[KERNELS_MAX];
    struct ty_replay_item item[KERNELS_MAX];
    const char *names[TY_N_STREAMS];
    uint32_t n;
    uint64_t dropped;
    struct ty_arena arena;
};

static void add(struct rank *r, uint32_t stream, int64_t start, int64_t end, uint8_t phase)
{
    r->kernel[r->n] = (struct ty_profile_kernel){.start_ns = start,
                                                 .dur_ns = end - start,
                                                 .stream = stream,
                                                 .class = TY_PROFILE_COMPUTE,
                                                 .phase = phase};
    r->item[r->n] =
        (struct ty_replay_item){.kernel = &r->kernel[r->n], .start_ns = start, .end_ns = end};
    r->n++;
}

static void lay(struct rank *r)
{
    int rc = 0;
    r->dropped = ty_replay_rows(r->item, r->n, r->names, &r->arena, &rc);
    ck_assert_int_eq(rc, 0);
    ty_replay_passes(r->item, r->n, 1000000);
}

/* The last kernel runs on that GPU. */
static void on(struct rank *r, uint8_t device)
{
    r->kernel[r->n - 1].device = device;
}

/* The rule that all rows keep. */
static void check_rows(const struct rank *r)
{
    int64_t until[TY_N_STREAMS] = {0};
    for (uint32_t i = 0; i < r->n; i++) {
        const struct ty_replay_item *item = &r->item[i];
        if (item->row != TY_REPLAY_DROPPED) {
            ck_assert_int_ge(item->start_ns, until[item->row]);
            ck_assert_int_ge(item->end_ns, item->start_ns);
            until[item->row] = item->end_ns;
        }
    }
}

TEST(the_stream_that_computes_longest_is_the_compute_row)
{
    struct rank r = {.n = 0};
    add(&r, 3, 0, 1000, TY_PROFILE_FORWARD);
    add(&r, 7, 500, 90000, TY_PROFILE_FORWARD);
    add(&r, 20, 600, 4000, TY_PROFILE_FORWARD);
    lay(&r);
    check_rows(&r);
    ck_assert_uint_eq(r.item[1].row, TY_STREAM_COMPUTE);
    ck_assert_str_eq(r.names[TY_STREAM_COMPUTE], "compute (stream 7)");
    ck_assert_uint_ne(r.item[0].row, r.item[2].row);
    ty_arena_release(&r.arena);
}

TEST(a_microsecond_of_overlap_is_cut_and_more_is_another_row)
{
    struct rank r = {.n = 0};
    add(&r, 7, 0, 10900, TY_PROFILE_FORWARD);
    add(&r, 7, 10000, 20000, TY_PROFILE_FORWARD);
    add(&r, 7, 15000, 30000, TY_PROFILE_FORWARD);
    lay(&r);
    check_rows(&r);
    ck_assert_int_eq(r.item[0].end_ns, 10000);
    ck_assert_uint_eq(r.item[0].row, r.item[1].row);
    ck_assert_uint_ne(r.item[1].row, r.item[2].row);
    ck_assert_int_eq(r.item[1].end_ns, 20000);
    ck_assert_uint_eq(r.dropped, 0);
    ty_arena_release(&r.arena);
}

/* Every GPU numbers its streams. */
TEST(equal_streams_of_two_gpus_are_two_rows)
{
    struct rank r = {.n = 0};
    add(&r, 7, 0, 9000, TY_PROFILE_FORWARD);
    add(&r, 7, 100, 4000, TY_PROFILE_FORWARD);
    on(&r, 1);
    add(&r, 7, 9000, 9900, TY_PROFILE_FORWARD);
    lay(&r);
    check_rows(&r);
    ck_assert_uint_eq(r.item[0].row, TY_STREAM_COMPUTE);
    ck_assert_uint_eq(r.item[2].row, TY_STREAM_COMPUTE);
    ck_assert_uint_ne(r.item[1].row, TY_STREAM_COMPUTE);
    ck_assert_str_eq(r.names[TY_STREAM_COMPUTE], "compute (GPU 0, stream 7)");
    ck_assert_str_eq(r.names[r.item[1].row], "other (GPU 1, stream 7)");
    ty_arena_release(&r.arena);
}

TEST(more_streams_than_rows_share_them_and_what_finds_none_is_counted)
{
    struct rank r = {.n = 0};
    for (uint32_t s = 0; s < 10; s++) { /* one after the other */
        add(&r, s, 10000 * s, 10000 * s + 9000, TY_PROFILE_FORWARD);
    }
    for (uint32_t s = 0; s < 10; s++) { /* all at once */
        add(&r, s, 200000 + s, 300000, TY_PROFILE_FORWARD);
    }
    lay(&r);
    check_rows(&r);
    ck_assert_uint_eq(r.dropped, 10 - TY_REPLAY_ROWS);
    ty_arena_release(&r.arena);
}

TEST(passes_end_where_phases_change_and_at_pauses)
{
    static const struct {
        int64_t start, end;
        uint8_t phase;
        bool begins;
    } told[] = {
        {0, 10, TY_PROFILE_FORWARD, true},
        {10, 20, TY_PROFILE_OTHER, false},
        {20, 30, TY_PROFILE_FORWARD, false},
        {2000030, 2000040, TY_PROFILE_FORWARD, true},
        {2000040, 2000050, TY_PROFILE_RECOMPUTE, true},
        {2000050, 2000060, TY_PROFILE_BACKWARD, false},
        {2000060, 2000070, TY_PROFILE_OTHER, true},
        {2000070, 2000080, TY_PROFILE_OPTIMIZER, true},
    };
    struct rank r = {.n = 0};
    for (size_t i = 0; i < TY_COUNT(told); i++) {
        add(&r, 7, told[i].start, told[i].end, told[i].phase);
    }
    lay(&r);
    for (size_t i = 0; i < TY_COUNT(told); i++) {
        ck_assert_msg(r.item[i].begins == told[i].begins, "kernel %u", (unsigned)i);
    }
    ck_assert_uint_eq(r.item[1].phase, TY_PHASE_FORWARD);
    ck_assert_uint_eq(r.item[6].phase, TY_PHASE_OTHER);
    ty_arena_release(&r.arena);
}

TY_SUITE("replay")
