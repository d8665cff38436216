/* program.c - turns a schedule alone into a program with one task per pass.
 *
 * Every atom is a pass with one computation. An overlapped slot becomes two passes: the forward
 * half takes both messages and sends none, the backward half sends both, so that nothing starts
 * before both inputs are there and both results leave at the end of the slot. Blocks are made once
 * for each (direction, stage, phase, role in a pair). */
#include "model/orders/program.h"

#include "model/schedule/edges.h"
#include "model/vocabulary.h"

enum {
    EVENT_COMPUTE,
    EVENT_RECV
};

struct outline {
    struct ty_builder b;
    enum ty_sched_placement placement;
    const struct ty_sched_shape *shape;
    const struct ty_slots *slots;
    const struct ty_sched_durations *times;
    struct ty_sched_edges edges;
    uint16_t kind[TY_N_PHASES], half[TY_N_PHASES], send, recv;
    /* Blocks of an atom, one for each other half that it has in a slot, as a list: 1 + the newest,
     * and of each block 1 + the one before. 0: none. */
    uint32_t *newest;  /* [directions][stages][TY_N_PHASES] */
    struct made *made; /* [n_passes] by block */
};

struct made {
    uint32_t partner; /* 1 + directions x stages; 0: alone */
    uint32_t before;
};

/* ---- kinds ---- */

static uint16_t add_kind(struct outline *o, const char *name, enum ty_category category,
                         enum ty_phase phase, ty_ps dur)
{
    const struct ty_kind kind = {
        .name = name, .category = (uint8_t)category, .phase = (uint8_t)phase, .dur = dur};
    const int index = ty_build_kind(&o->b, &kind);
    return index < 0 ? 0 : (uint16_t)index;
}

/* The kind of an atom that is not half of a slot with a duration of its own. */
static uint16_t kind_of(struct outline *o, const struct ty_slot *slot)
{
    const enum ty_phase phase = (enum ty_phase)slot->phase;
    const ty_ps *own = o->times->of_stage[phase];
    return own == NULL ? o->kind[phase]
                       : add_kind(o, ty_phase_word(phase), ty_transformer_words.of_phase[phase],
                                  phase, own[slot->stage]);
}

/* A slot with a duration of its own is drawn as its halves, in proportion. */
static void add_halves(struct outline *o)
{
    const struct ty_sched_durations *d = o->times;
    const ty_ps sum = d->forward + d->backward;
    const ty_ps first =
        sum == 0 ? d->overlap / 2 : (ty_ps)((double)d->overlap * (double)d->forward / (double)sum);
    o->half[TY_PHASE_FORWARD] =
        add_kind(o, ty_phase_word(TY_PHASE_FORWARD), TY_CAT_FORWARD, TY_PHASE_FORWARD, first);
    o->half[TY_PHASE_BACKWARD] = add_kind(o, ty_phase_word(TY_PHASE_BACKWARD), TY_CAT_BACKWARD,
                                          TY_PHASE_BACKWARD, d->overlap - first);
}

static void add_kinds(struct outline *o)
{
    const struct ty_sched_durations *d = o->times;
    const ty_ps dur[TY_N_PHASES] = {[TY_PHASE_FORWARD] = d->forward,
                                    [TY_PHASE_BACKWARD] = d->backward,
                                    [TY_PHASE_DGRAD] = d->input,
                                    [TY_PHASE_WGRAD] = d->weight};
    for (enum ty_phase phase = 0; phase < TY_N_PHASES; phase++) {
        o->kind[phase] = add_kind(o, ty_phase_word(phase), ty_transformer_words.of_phase[phase],
                                  phase, dur[phase]);
    }
    if (d->overlap != UINT64_MAX) {
        add_halves(o);
    }
    o->send = add_kind(o, "send", TY_CAT_COMM_PIPELINE, TY_PHASE_FORWARD, 0);
    o->recv = add_kind(o, "recv", TY_CAT_COMM_PIPELINE, TY_PHASE_FORWARD, 0);
}

/* ---- blocks ---- */

static bool is_forward(const struct ty_slot *slot)
{
    return slot->phase == TY_PHASE_FORWARD;
}

static void add_message(struct outline *o, bool send, uint16_t channel, bool second)
{
    struct ty_op op = TY_OP_INIT;
    if (channel == TY_NONE) {
        return;
    }
    op.kind = send ? o->send : o->recv;
    op.stream = send ? TY_STREAM_SEND : TY_STREAM_RECV;
    op.sync = send ? TY_SYNC_SEND : TY_SYNC_RECV;
    op.link = channel;
    op.second = second;
    if (send) {
        op.wait[0] = EVENT_COMPUTE;
    } else {
        op.record = EVENT_RECV;
    }
    ty_build_op(&o->b, &op);
}

/* Channel that an atom takes its input from, or hands its result to. */
static uint16_t channel_of(const struct outline *o, const struct ty_slot *slot, bool in)
{
    const struct ty_stage_edges e = ty_sched_edges_of(&o->edges, slot->direction, slot->stage);
    if (slot->phase == TY_PHASE_WGRAD) {
        return TY_NONE;
    }
    if (is_forward(slot)) {
        return in ? e.act_in : e.act_out;
    }
    return in ? e.grad_in : e.grad_out;
}

/* The block of an atom; `partner` is the other half of its slot, or NULL. */
static uint32_t add_block(struct outline *o, const struct ty_slot *slot,
                          const struct ty_slot *partner)
{
    const bool holds = is_forward(slot);
    const bool frees = slot->phase == TY_PHASE_BACKWARD || slot->phase == TY_PHASE_WGRAD;
    const struct ty_block block = {.acquire_B = holds ? 1 : 0, .release_B = frees ? 1 : 0};
    const int index = ty_build_block(&o->b, &block);
    const bool first = partner != NULL && holds, second = partner != NULL && !holds;
    if (!second) {
        add_message(o, false, channel_of(o, slot, true), false);
    }
    if (first) {
        add_message(o, false, channel_of(o, partner, true), true);
    }
    struct ty_op op = TY_OP_INIT;
    op.kind = partner != NULL && o->times->overlap != UINT64_MAX ? o->half[slot->phase]
                                                                 : kind_of(o, slot);
    op.stream = TY_STREAM_COMPUTE;
    op.wait[0] = EVENT_RECV;
    op.record = EVENT_COMPUTE;
    ty_build_op(&o->b, &op);
    if (second) {
        add_message(o, true, channel_of(o, partner, false), true);
    }
    if (!first) {
        add_message(o, true, channel_of(o, slot, false), false);
    }
    return index < 0 ? 0 : (uint32_t)index;
}

static uint32_t stage_of(const struct outline *o, const struct ty_slot *slot)
{
    return slot->direction * o->edges.stages + slot->stage;
}

/* Blocks are shared; those of pairs are looked up by both halves, which are few. */
static uint32_t block_of(struct outline *o, const struct ty_slot *slot,
                         const struct ty_slot *partner)
{
    uint32_t *newest = &o->newest[(size_t)stage_of(o, slot) * TY_N_PHASES + slot->phase];
    const uint32_t other = partner == NULL ? 0 : 1 + stage_of(o, partner);
    for (uint32_t i = *newest; i != 0; i = o->made[i - 1].before) {
        if (o->made[i - 1].partner == other) {
            return i - 1;
        }
    }
    const uint32_t block = add_block(o, slot, partner);
    o->made[block] = (struct made){other, *newest};
    *newest = block + 1;
    return block;
}

/* ---- ranks ---- */

static void add_pass(struct outline *o, const struct ty_slot *slot, const struct ty_slot *partner)
{
    const uint32_t q = o->shape->slices;
    struct ty_pass pass = {.block = block_of(o, slot, partner),
                           .mb = slot->mb,
                           .seq = slot->mb * q + slot->slice,
                           .stage = slot->stage,
                           .phase = slot->phase,
                           .direction = slot->direction};
    if (partner != NULL) {
        pass.mb2 = partner->mb;
        pass.seq2 = partner->mb * q + partner->slice;
    }
    ty_build_pass(&o->b, &pass);
}

static int add_rank(struct outline *o, uint32_t rank)
{
    const struct ty_rank_slots *order = &o->slots->rank[rank];
    uint32_t *rank_of = ty_arena_array(o->b.arena, uint32_t, 1);
    if (rank_of == NULL) {
        return ty_fail_memory(o->b.err);
    }
    rank_of[0] = rank;
    ty_build_gang(&o->b,
                  &(struct ty_gang){.name = ty_arena_printf(o->b.arena, "stage %u", (unsigned)rank),
                                    .n_ranks = 1,
                                    .rank_of = rank_of});
    for (uint32_t i = 0; i < order->n; i++) {
        const struct ty_slot *slot = &order->slot[i];
        const bool pair = slot->paired && i + 1 < order->n;
        add_pass(o, slot, pair ? slot + 1 : NULL);
        if (pair) {
            add_pass(o, slot + 1, slot);
            i++;
        }
    }
    return 0;
}

static int allocate(struct outline *o)
{
    const size_t stages = (size_t)ty_sched_directions(o->placement) * ty_sched_stages(o->shape);
    size_t n_passes = 0;
    for (uint32_t rank = 0; rank < o->shape->p; rank++) {
        n_passes += o->slots->rank[rank].n;
    }
    o->newest = ty_arena_array(o->b.arena, uint32_t, stages * TY_N_PHASES);
    o->made = ty_arena_array(o->b.arena, struct made, n_passes);
    if (o->newest == NULL || o->made == NULL) {
        return ty_fail_memory(o->b.err);
    }
    return ty_build_reserve(&o->b, n_passes);
}

int ty_sched_program_of(struct ty_program *program, enum ty_sched_placement placement,
                        const struct ty_sched_shape *shape, const struct ty_slots *slots,
                        const struct ty_sched_durations *times, struct ty_arena *arena,
                        struct ty_err *err)
{
    struct outline o = {.placement = placement, .shape = shape, .slots = slots, .times = times};
    o.b = (struct ty_builder){.program = program, .arena = arena, .err = err};
    *program = (struct ty_program){.words = &ty_transformer_words, .n_steps = 1};
    int rc = allocate(&o);
    if (rc == 0) {
        rc = ty_sched_edges_build(&o.edges, &o.b, placement, shape, shape->m * shape->slices,
                                  times->edge);
    }
    add_kinds(&o);
    for (uint32_t rank = 0; rank < shape->p && rc == 0; rank++) {
        rc = add_rank(&o, rank);
    }
    if (rc == 0) {
        rc = o.b.code;
    }
    return rc == 0 ? ty_program_seal(program, arena, err) : rc;
}

int ty_sched_program(struct ty_program *program, const struct ty_sched *sched,
                     const struct ty_sched_shape *shape, const struct ty_sched_durations *times,
                     struct ty_arena *arena, struct ty_err *err)
{
    struct ty_slots slots;
    struct ty_sched_times t = {.forward = (double)times->forward,
                               .backward = (double)times->backward,
                               .input = (double)times->input,
                               .weight = (double)times->weight,
                               .overlap =
                                   times->overlap == UINT64_MAX ? -1 : (double)times->overlap,
                               .edge = (double)times->edge};
    const int rc = ty_sched_slots(sched, shape, &t, &slots, arena, err);
    return rc < 0
               ? rc
               : ty_sched_program_of(program, sched->placement, shape, &slots, times, arena, err);
}
