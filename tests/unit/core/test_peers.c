/* test_peers.c - messages and meetings between gangs of different size, worked out by hand.
 *
 *     gang 0      a0   a1           sends after 10 and 30: to two neighbours each
 *     gang 1    b0 b1 b2 b3         works 1, 2, 3, 4, and sends back: two to each
 *     gang 0      a0   a1           goes on when both have arrived; then all six meet */
#include "model/vocabulary.h"
#include "sim/core/analyse/crit.h"
#include "sim/core/execute/execute.h"
#include "tests/unit/suite.h"

#define DELAY 100

struct made {
    struct ty_arena arena;
    struct ty_program program;
    struct ty_builder b;
};

/* An operation of its own kind, as the next of the last block. */
static void add(struct made *m, const ty_ps *dur, enum ty_sync sync, uint16_t link, uint8_t wait,
                uint8_t record)
{
    const struct ty_kind kind = {.name = "op", .category = TY_CAT_FORWARD, .dur_of = dur};
    struct ty_op op = TY_OP_INIT;
    op.kind = (uint16_t)ty_build_kind(&m->b, &kind);
    op.stream = sync == TY_SYNC_RECV   ? TY_STREAM_RECV
                : sync == TY_SYNC_SEND ? TY_STREAM_SEND
                                       : TY_STREAM_COMPUTE;
    op.sync = (uint8_t)sync;
    op.link = link;
    op.wait[0] = wait;
    op.record = record;
    ty_build_op(&m->b, &op);
}

enum {
    WORKED,
    CAME,
    MET
};

static void make(struct made *m)
{
    static const uint32_t ranks[] = {0, 1, 2, 3, 4, 5};
    static const ty_ps first[] = {10, 30}, each[] = {1, 2, 3, 4}, none[] = {0, 0, 0, 0};
    static struct ty_err err;
    *m = (struct made){.arena = {.head = NULL}};
    m->b = (struct ty_builder){.program = &m->program, .arena = &m->arena, .err = &err};
    m->program.words = &ty_transformer_words;
    m->program.n_steps = 1;
    const uint16_t to = (uint16_t)ty_build_channel(
        &m->b, &(struct ty_channel){.name = "act", .from = 0, .to = 1, .n_seq = 1, .delay = DELAY});
    const uint16_t back = (uint16_t)ty_build_channel(
        &m->b,
        &(struct ty_channel){.name = "grad", .from = 1, .to = 0, .n_seq = 1, .delay = DELAY});
    const uint16_t meet = (uint16_t)ty_build_meet(
        &m->b, &(struct ty_meet){.name = "world", .group = TY_NONE, .n_gangs = 2, .n_members = 6});
    ty_build_block(&m->b, &(struct ty_block){.transient_what = NULL});
    add(m, first, TY_SYNC_LOCAL, TY_NONE, TY_NO_EVENT, WORKED);
    add(m, none, TY_SYNC_SEND, to, WORKED, TY_NO_EVENT);
    add(m, none, TY_SYNC_RECV, back, TY_NO_EVENT, CAME);
    add(m, none, TY_SYNC_MEET, meet, CAME, MET);
    ty_build_block(&m->b, &(struct ty_block){.transient_what = NULL});
    add(m, none, TY_SYNC_RECV, to, TY_NO_EVENT, CAME);
    add(m, each, TY_SYNC_LOCAL, TY_NONE, CAME, WORKED);
    add(m, none, TY_SYNC_SEND, back, WORKED, TY_NO_EVENT);
    add(m, none, TY_SYNC_MEET, meet, TY_NO_EVENT, MET);
    for (uint32_t g = 0; g < 2; g++) {
        ty_build_gang(&m->b, &(struct ty_gang){.name = "gang",
                                               .n_ranks = g == 0 ? 2 : 4,
                                               .rank_of = ranks + (g == 0 ? 0 : 2)});
        ty_build_pass(&m->b, &(struct ty_pass){.block = g, .phase = TY_PHASE_FORWARD});
    }
    ck_assert_int_eq(m->b.code, 0);
    ck_assert_msg(ty_program_seal(&m->program, &m->arena, &err) == 0, "%s", err.text);
}

/* Starts of the operations of both gangs, member by member. */
static const ty_ps expected[] = {
    0,   0,   10,  30,  /* work and sends of gang 0 */
    212, 234, 234, 234, /* the later of two that came back; the meeting */
    110, 110, 130, 130, /* what gang 1 received */
    110, 110, 130, 130, /* its work */
    111, 112, 133, 134, /* its sends */
    234, 234, 234, 234,
};

TEST(neighbours_share_a_partner)
{
    int (*const executors[])(struct ty_timeline *, struct ty_err *) = {ty_sweep, ty_events};
    struct made m;
    make(&m);
    for (size_t e = 0; e < TY_COUNT(executors); e++) {
        static struct ty_err err;
        struct ty_timeline t;
        ck_assert_int_eq(ty_timeline_init(&t, &m.program, &err), 0);
        ck_assert_int_eq(executors[e](&t, &err), 0);
        for (size_t i = 0; i < TY_COUNT(expected); i++) {
            ck_assert_msg(t.start[i] == expected[i], "%zu: %llu", i,
                          (unsigned long long)t.start[i]);
        }
        ty_timeline_release(&t);
    }
    ty_arena_release(&m.arena);
}

/* Who is on it, from the meeting back. */
struct path {
    uint32_t n;
    ty_ps sum;
};

static void step(void *arg, const struct ty_crit_task *task)
{
    static const uint32_t who[][3] = {{0, 0, 3}, {0, 1, 2}, {1, 3, 2}, {1, 3, 1},
                                      {1, 3, 0}, {0, 1, 1}, {0, 1, 0}}; /* gang, member, op */
    struct path *path = arg;
    ck_assert_uint_lt(path->n, TY_COUNT(who));
    ck_assert_uint_eq(task->gang, who[path->n][0]);
    ck_assert_uint_eq(task->member, who[path->n][1]);
    ck_assert_uint_eq(task->op, who[path->n][2]);
    path->sum += task->dur + task->delay;
    path->n++;
}

TEST(the_critical_path_goes_by_whoever_was_last)
{
    static struct ty_err err;
    struct made m;
    struct ty_timeline t;
    struct path path = {.n = 0};
    make(&m);
    ck_assert_int_eq(ty_timeline_init(&t, &m.program, &err), 0);
    ck_assert_int_eq(ty_sweep(&t, &err), 0);
    ck_assert_int_eq(ty_critical_path(&t, step, &path, &err), 0);
    ck_assert_uint_eq(path.n, 7);
    ck_assert_uint_eq(path.sum, 234);
    ty_timeline_release(&t);
    ty_arena_release(&m.arena);
}

TY_SUITE("peers")
