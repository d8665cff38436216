/* sched_program.c - see sched_program.h. */
#include "model/sched_program.h"

enum {
    EVENT_COMPUTE,
    EVENT_RECV
};

struct outline {
    struct ty_builder b;
    const struct ty_sched *sched;
    const struct ty_sched_shape *shape;
    uint16_t pass[2], send, recv; /* kinds; pass: forward, backward */
};

static uint16_t add_kind(struct outline *o, const char *name, enum ty_category category,
                         enum ty_phase phase, ty_ps dur)
{
    const struct ty_kind kind = {.name = name, .category = (uint8_t)category,
                                 .phase = (uint8_t)phase, .dur = dur};
    const int index = ty_build_kind(&o->b, &kind);
    return index < 0 ? 0 : (uint16_t)index;
}

static void add_message(struct outline *o, bool send, uint32_t channel)
{
    struct ty_op op = TY_OP_INIT;
    op.kind = send ? o->send : o->recv;
    op.stream = send ? TY_STREAM_SEND : TY_STREAM_RECV;
    op.sync = send ? TY_SYNC_SEND : TY_SYNC_RECV;
    op.link = (uint16_t)channel;
    if (send) {
        op.wait[0] = EVENT_COMPUTE;
    } else {
        op.record = EVENT_RECV;
    }
    ty_build_op(&o->b, &op);
}

/* A pass of a virtual stage. Channels: 2 k carries activations from stage k to k + 1, 2 k + 1
 * gradients back. */
static uint32_t add_block(struct outline *o, uint32_t stage, bool back)
{
    const uint32_t last = o->shape->p * o->shape->v - 1;
    const int block = ty_build_block(&o->b, &(struct ty_block){.acquire_B = back ? 0 : 1,
                                                               .release_B = back ? 1 : 0});
    const bool takes = back ? stage < last : stage > 0;
    if (takes) {
        add_message(o, false, back ? 2 * stage + 1 : 2 * (stage - 1));
    }
    struct ty_op op = TY_OP_INIT;
    op.kind = o->pass[back];
    op.stream = TY_STREAM_COMPUTE;
    op.wait[0] = takes ? EVENT_RECV : TY_NO_EVENT;
    op.record = EVENT_COMPUTE;
    ty_build_op(&o->b, &op);
    if (back ? stage > 0 : stage < last) {
        add_message(o, true, back ? 2 * (stage - 1) + 1 : 2 * stage);
    }
    return block < 0 ? 0 : (uint32_t)block;
}

static int add_rank(struct outline *o, uint32_t rank)
{
    struct ty_arena *arena = o->b.arena;
    const uint32_t n = o->sched->order(o->shape, rank, NULL);
    struct ty_slot *slots = ty_arena_array(arena, struct ty_slot, n);
    uint32_t *blocks = ty_arena_array(arena, uint32_t, 2 * o->shape->v);
    uint32_t *rank_of = ty_arena_array(arena, uint32_t, 1);
    if (slots == NULL || blocks == NULL || rank_of == NULL) {
        return ty_fail(o->b.err, TY_ENOMEM, "schedule: out of memory");
    }
    rank_of[0] = rank;
    ty_build_gang(&o->b, &(struct ty_gang){
                             .name = ty_arena_printf(arena, "stage %u", (unsigned)rank),
                             .n_ranks = 1, .rank_of = rank_of});
    for (uint32_t c = 0; c < o->shape->v; c++) {
        blocks[2 * c] = add_block(o, c * o->shape->p + rank, false);
        blocks[2 * c + 1] = add_block(o, c * o->shape->p + rank, true);
    }
    o->sched->order(o->shape, rank, slots);
    for (uint32_t i = 0; i < n; i++) {
        const bool back = slots[i].phase != TY_PHASE_FORWARD;
        ty_build_pass(&o->b, &(struct ty_pass){
                                 .block = blocks[2 * (slots[i].stage / o->shape->p) + back],
                                 .seq = slots[i].mb, .mb = slots[i].mb,
                                 .stage = slots[i].stage, .phase = slots[i].phase});
    }
    return 0;
}

int ty_sched_program(struct ty_program *program, const struct ty_sched *sched,
                     const struct ty_sched_shape *shape, const struct ty_sched_durations *times,
                     struct ty_arena *arena, struct ty_err *err)
{
    struct outline o = {.sched = sched, .shape = shape};
    o.b = (struct ty_builder){.program = program, .arena = arena, .err = err};
    *program = (struct ty_program){.n_steps = 1};
    o.pass[0] = add_kind(&o, "forward", TY_CAT_FORWARD, TY_PHASE_FORWARD, times->forward);
    o.pass[1] = add_kind(&o, "backward", TY_CAT_BACKWARD, TY_PHASE_BACKWARD, times->backward);
    o.send = add_kind(&o, "send", TY_CAT_COMM_PIPELINE, TY_PHASE_FORWARD, 0);
    o.recv = add_kind(&o, "recv", TY_CAT_COMM_PIPELINE, TY_PHASE_FORWARD, 0);
    for (uint32_t k = 0; k + 1 < shape->p * shape->v; k++) {
        const uint32_t here = ty_sched_owner(shape, k), next = ty_sched_owner(shape, k + 1);
        const ty_ps delay = here == next ? 0 : times->edge;
        ty_build_channel(&o.b, &(struct ty_channel){"act", here, next, shape->m, delay, 0});
        ty_build_channel(&o.b, &(struct ty_channel){"grad", next, here, shape->m, delay, 0});
    }
    int rc = 0;
    for (uint32_t rank = 0; rank < shape->p && rc == 0; rank++) {
        rc = add_rank(&o, rank);
    }
    if (rc == 0 && o.b.failed) {
        rc = err != NULL && err->code < 0 ? err->code : TY_ENOMEM;
    }
    return rc == 0 ? ty_program_seal(program, arena, err) : rc;
}
