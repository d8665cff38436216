/* test_crew.c - pieces of work that several processes share; here they are threads. */
#include <math.h>
#include <string.h>

#include "sim/sweep/crew.h"
#include "tests/common/crew_threads.h"
#include "tests/unit/suite.h"

#define N_PIECES 500u
#define STOP_AT  100u

struct work {
    uint32_t jobs;
    bool stops;
    _Atomic uint32_t done[N_PIECES], n_done;
};

static bool piece(void *arg, uint32_t i)
{
    struct work *work = arg;
    ck_assert_uint_lt(i, N_PIECES);
    work->done[i]++;
    work->n_done++;
    return !work->stops || i < STOP_AT;
}

static void twice(const struct ty_crew *crew, void *arg)
{
    struct work *work = arg;
    for (uint32_t i = 0; i < 2; i++) {
        ty_crew_run(crew, N_PIECES, work->jobs, piece, work);
        ck_assert_int_eq(ty_crew_meet(crew, 0), 0);
    }
}

TEST(each_piece_is_done_once_before_all_meet_again)
{
    for (uint32_t members = 1; members <= 4; members++) {
        for (uint32_t jobs = 0; jobs <= 3; jobs++) {
            struct work work = {.jobs = jobs};
            crew_threads_play(members, twice, &work);
            for (uint32_t i = 0; i < N_PIECES; i++) {
                ck_assert_uint_eq(work.done[i], 2);
            }
        }
    }
}

static void once(const struct ty_crew *crew, void *arg)
{
    struct work *work = arg;
    ty_crew_run(crew, N_PIECES, work->jobs, piece, work);
    ck_assert_int_eq(ty_crew_meet(crew, 0), 0);
}

/* Each thread of each member may have pieces in its hands: of what was left then, an eighth of what
 * each of them would get. */
TEST(a_member_that_stops_stops_all)
{
    struct work work = {.jobs = 2, .stops = true};
    crew_threads_play(4, once, &work);
    ck_assert_uint_ge(work.n_done, STOP_AT + 1);
    ck_assert_uint_le(work.n_done, STOP_AT + (N_PIECES - STOP_AT) / 8 + 4 * 2);
}

static void tell_bits(const struct ty_crew *crew, void *arg)
{
    (void)arg;
    unsigned char bytes[4] = {0, 8};
    bytes[0] = (unsigned char)(1u << crew->member);
    bytes[3] = crew->member == 2 ? 0x70 : 0;
    for (int again = 0; again < 2; again++) {
        crew->combine(crew->arg, bytes, sizeof(bytes));
        ck_assert_uint_eq(bytes[0], 7);
        ck_assert_uint_eq(bytes[1], 8);
        ck_assert_uint_eq(bytes[2], 0);
        ck_assert_uint_eq(bytes[3], 0x70);
    }
}

TEST(bytes_that_are_combined_have_the_bits_of_all)
{
    crew_threads_play(3, tell_bits, NULL);
}

/* One of them has come upon something. */
static void fall(const struct ty_crew *crew, void *arg)
{
    struct ty_err err = TY_ERR_NONE;
    (void)arg;
    const int own = crew->member == 2 ? ty_fail(&err, TY_ELIMIT, "its own") : 0;
    ck_assert_int_eq(ty_crew_meet(crew, own), own < 0 ? TY_ELIMIT : TY_EIO);
    ck_assert_str_eq(err.text, own < 0 ? "its own" : "");
}

TEST(a_failure_of_one_is_that_of_all_and_told_by_it)
{
    crew_threads_play(4, fall, NULL);
    ck_assert_int_eq(ty_crew_meet(NULL, TY_EINPUT), TY_EINPUT);
}

TY_SUITE("crew")
