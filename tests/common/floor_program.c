/* floor_program.c - see floor_program.h. */
#include "tests/common/floor_program.h"

#include "model/schedule/schedule.h"
#include "model/vocabulary.h"

enum {
    QKV,
    ATTENTION,
    PROJ,
    REDUCE_ATTENTION,
    MLP,
    REDUCE_MLP,
    MLP_BACK,
    REDUCE_MLP_BACK,
    PROJ_BACK,
    ATTENTION_BACK,
    QKV_BACK,
    REDUCE_ATTENTION_BACK,
    SEND,
    RECV,
    N_KINDS
};

static const struct {
    const char *name;
    unsigned us;
    bool collective;
} KIND[N_KINDS] = {
    {"qkv", 210, false},       {"attention", 160, false},
    {"proj", 90, false},       {"all-reduce", 70, true},
    {"mlp", 480, false},       {"all-reduce", 70, true},
    {"mlp back", 960, false},  {"all-reduce", 70, true},
    {"proj back", 180, false}, {"attention back", 400, false},
    {"qkv back", 420, false},  {"all-reduce", 70, true},
    {"send", 90, false},       {"recv", 0, false},
};

static void add_kinds(struct ty_builder *b)
{
    for (int k = 0; k < N_KINDS; k++) {
        const bool back = k >= MLP_BACK && k < SEND;
        struct ty_kind kind = {.name = KIND[k].name, .dur = KIND[k].us * (ty_ps)1000000};
        kind.category = KIND[k].collective ? TY_CAT_COMM_TENSOR
                        : k >= SEND        ? TY_CAT_COMM_PIPELINE
                        : back             ? TY_CAT_BACKWARD
                                           : TY_CAT_FORWARD;
        kind.phase = back ? TY_PHASE_BACKWARD : TY_PHASE_FORWARD;
        ty_build_kind(b, &kind);
    }
}

/* Collectives run on the compute stream: everything waits for them anyway. */
static void add_layers(struct ty_builder *b, uint32_t stage, uint32_t ls, bool back)
{
    for (uint32_t i = 0; i < ls; i++) {
        const uint32_t layer = stage * ls + (back ? ls - 1 - i : i);
        for (int k = back ? MLP_BACK : QKV; k <= (back ? REDUCE_ATTENTION_BACK : REDUCE_MLP); k++) {
            struct ty_op op = TY_OP_INIT;
            op.kind = (uint16_t)k;
            op.stream = TY_STREAM_COMPUTE;
            op.record = 0;
            op.layer = (uint16_t)layer;
            const bool mlp = k == MLP || k == REDUCE_MLP || k == MLP_BACK || k == REDUCE_MLP_BACK;
            op.part = mlp ? TY_PART_MLP : TY_PART_ATTENTION;
            if (i == 0 && (k == QKV || k == MLP_BACK)) {
                op.wait[0] = 1;
            }
            if (KIND[k].collective) {
                op.sync = TY_SYNC_GROUP;
                op.link = 0;
            }
            ty_build_op(b, &op);
        }
    }
}

static void add_message(struct ty_builder *b, bool send, int channel)
{
    struct ty_op op = TY_OP_INIT;
    op.kind = send ? SEND : RECV;
    op.stream = send ? TY_STREAM_SEND : TY_STREAM_RECV;
    op.sync = send ? TY_SYNC_SEND : TY_SYNC_RECV;
    op.link = (uint16_t)channel;
    if (send) {
        op.wait[0] = 0;
    } else {
        op.record = 1;
    }
    ty_build_op(b, &op);
}

static uint32_t add_block(struct ty_builder *b, const struct floor_shape *f, uint32_t stage,
                          bool back)
{
    const bool takes = back ? stage + 1 < f->pp : stage > 0;
    const bool gives = back ? stage > 0 : stage + 1 < f->pp;
    /* channels 2k: activations k -> k + 1; 2k + 1: gradients k + 1 -> k */
    const int in = back ? (int)(2 * stage + 1) : (int)(2 * stage) - 2;
    const int out = back ? (int)(2 * stage) - 1 : (int)(2 * stage);
    const int block = ty_build_block(
        b, &(struct ty_block){.acquire_B = back ? 0 : 1e9, .release_B = back ? 1e9 : 0});
    if (takes) {
        add_message(b, false, in);
    }
    add_layers(b, stage, f->ls, back);
    if (gives) {
        add_message(b, true, out);
    }
    return (uint32_t)block;
}

static void add_stage(struct ty_builder *b, const struct floor_shape *f, uint32_t stage)
{
    const uint32_t n = f->tp * f->dp;
    uint32_t *ranks = ty_arena_array(b->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        ranks[i] = i / f->tp * f->tp * f->pp + stage * f->tp + i % f->tp;
    }
    ty_build_gang(b,
                  &(struct ty_gang){.name = ty_arena_printf(b->arena, "stage %u", (unsigned)stage),
                                    .n_ranks = n,
                                    .rank_of = ranks});
    const uint32_t forward = add_block(b, f, stage, false);
    const uint32_t backward = add_block(b, f, stage, true);
    const struct ty_sched_shape shape = {.p = f->pp, .m = f->m, .v = 1, .slices = 1};
    struct ty_slots slots;
    if (ty_build_note(
            b, ty_sched_slots(ty_sched_find("1f1b"), &shape, NULL, &slots, b->arena, b->err)) < 0) {
        return;
    }
    for (uint32_t i = 0; i < slots.rank[stage].n; i++) {
        const struct ty_slot *slot = &slots.rank[stage].slot[i];
        ty_build_pass(
            b, &(struct ty_pass){.block = slot->phase == TY_PHASE_FORWARD ? forward : backward,
                                 .seq = slot->mb,
                                 .mb = slot->mb,
                                 .stage = slot->stage,
                                 .phase = slot->phase});
    }
}

int floor_program(struct ty_program *program, const struct floor_shape *f, struct ty_arena *arena,
                  struct ty_err *err)
{
    struct ty_builder b = {.program = program, .arena = arena, .err = err};
    *program = (struct ty_program){.words = &ty_transformer_words, .n_steps = 1};
    add_kinds(&b);
    ty_build_group(&b, &(struct ty_group){"tp", 1, f->tp});
    for (uint32_t k = 0; k + 1 < f->pp; k++) {
        ty_build_channel(&b, &(struct ty_channel){"act", k, k + 1, f->m, 0, 0});
        ty_build_channel(&b, &(struct ty_channel){"grad", k + 1, k, f->m, 0, 0});
    }
    for (uint32_t s = 0; s < f->pp; s++) {
        add_stage(&b, f, s);
    }
    return b.code < 0 ? b.code : ty_program_seal(program, arena, err);
}
