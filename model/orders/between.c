/* between.c - what only shows when ranks are laid side by side: pieces that one rank has and
 * another lacks whole, and ranks that wait for each other in a ring.
 *
 * The orders become a program (program.h), in which a pass is an atom, and its autopsy
 * (sim/core/deadlock/autopsy.h) follows who waits for whom. */
#include "model/orders/internal.h"
#include "model/orders/program.h"
#include "sim/base/text.h"
#include "sim/core/deadlock/autopsy.h"

#define RING_LINKS 8 /* ranks of a ring named in a message */

/* ---- missing pieces ---- */

/* Neither forward nor backward: there is no atom to point at, only the rank. */
static void report_missing(struct ty_slots_index *index, const struct ty_slot *slot, int code)
{
    char forward[32];
    struct ty_place at = {.file = NULL};
    index->failed = true;
    if (ty_err_is_full(index->err)) {
        return;
    }
    const uint32_t rank = index->owner[slot->direction * index->stages + slot->stage];
    if (index->marks != NULL) {
        const struct ty_slot_mark mark = index->marks->rank[rank].row;
        at = (struct ty_place){index->marks->file, index->marks->source, mark.line, mark.col};
    }
    (void)ty_fail_at(index->err, code, &at,
                     "rank %u: %s and its backward are missing; every micro-batch passes every "
                     "stage",
                     (unsigned)rank, ty_slot_text(slot, forward, sizeof(forward)));
}

/* `code`: of the error. */
static void check_missing(struct ty_slots_index *index, int code)
{
    const uint32_t stages = index->directions * index->stages;
    const size_t pieces = ty_slots_stage_step(index);
    for (size_t i = 0; i < stages * pieces; i++) {
        const struct ty_slots_piece *piece = &index->piece[i];
        if (piece->forward == 0 && piece->backward == 0 && piece->weight == 0) {
            const uint32_t stage = (uint32_t)(i / pieces), rest = (uint32_t)(i % pieces);
            const struct ty_slot slot = {.mb = (uint16_t)(rest / index->slices),
                                         .stage = (uint16_t)(stage % index->stages),
                                         .slice = (uint8_t)(rest % index->slices),
                                         .direction = (uint8_t)(stage / index->stages)};
            report_missing(index, &slot, code);
        }
    }
}

/* ---- rings ---- */

/* The atom of a message: the forward half of an overlapped slot takes those of both, the backward
 * half sends them. */
static uint32_t atom_of(const struct ty_autopsy *a, struct ty_op_ref at)
{
    const struct ty_op *op = ty_op_ref_op(a->p, at);
    if (!op->second) {
        return at.pass;
    }
    return op->sync == TY_SYNC_RECV ? at.pass + 1 : at.pass - 1;
}

/* " waits for B0.1 on rank 1, which stands behind F2.1 (slot 2)". */
static void add_link(struct ty_text *ring, const struct ty_slots_index *index,
                     const struct ty_autopsy *a, uint32_t front)
{
    char what[32], head[32];
    const struct ty_wait *wait = &a->wait[front];
    const struct ty_rank_slots *other = &index->slots->rank[wait->at.gang];
    const struct ty_op_ref stands = ty_autopsy_issue(a, wait->next);
    const uint32_t needed = atom_of(a, wait->at), waiting = atom_of(a, stands);
    const unsigned number = (unsigned)ty_slots_slot_number(other, stands.pass);
    ty_text_add(ring, " waits for %s on rank %u",
                ty_slot_text(&other->slot[needed], what, sizeof(what)), (unsigned)wait->at.gang);
    if (needed == waiting) {
        ty_text_add(ring, " (slot %u)", number);
    } else {
        const bool overlaps = needed <= stands.pass + other->slot[stands.pass].paired;
        ty_text_add(ring, ", which %s %s (slot %u)", overlaps ? "overlaps with" : "stands behind",
                    ty_slot_text(&other->slot[waiting], head, sizeof(head)), number);
    }
}

/* The ring of `n` ranks through a front. TY_ENOMEM. */
static int report_ring(struct ty_slots_index *index, const struct ty_autopsy *a, uint32_t front,
                       uint32_t n)
{
    struct ty_text ring = {.data = NULL};
    char name[TY_SLOTS_NAME];
    index->failed = true;
    if (ty_err_is_full(index->err)) {
        return 0;
    }
    const uint32_t rank = ty_front_gang(a->p, front), i = atom_of(a, ty_autopsy_issue(a, front));
    const struct ty_place at = ty_slots_place(index->marks, rank, i);
    if (n == 2) {
        ty_text_add(&ring, "ranks %u and %u wait for each other: ", (unsigned)rank,
                    (unsigned)ty_front_gang(a->p, a->wait[front].next));
    } else {
        ty_text_add(&ring, "%u ranks wait in a ring: ", (unsigned)n);
    }
    ty_text_add(&ring, "%s", ty_slots_name(index->slots, rank, i, name, sizeof(name)));
    for (uint32_t link = 0; link < n && link < RING_LINKS; link++) {
        ty_text_add(&ring, "%s", link > 0 ? ", which" : "");
        add_link(&ring, index, a, front);
        front = a->wait[front].next;
    }
    if (n > RING_LINKS) {
        ty_text_add(&ring, ", and so on through %u more ranks back to rank %u",
                    (unsigned)(n - RING_LINKS), (unsigned)rank);
    }
    int rc = 0;
    if (ring.failed) {
        rc = ty_fail_memory(index->err);
    } else {
        (void)ty_fail_at(index->err, TY_EDEADLOCK, &at, "%s", ring.data);
    }
    ty_text_release(&ring);
    return rc;
}

static int check_rings(struct ty_slots_index *index, const struct ty_autopsy *a)
{
    int rc = 0;
    for (uint32_t i = 0; i < a->n_fronts && rc == 0; i++) {
        uint32_t n = 0;
        const uint32_t end = ty_wait_is_told(&a->wait[i]) ? ty_autopsy_follow(a, i, &n) : TY_NOBODY;
        if (end != TY_NOBODY && n > 0) {
            rc = report_ring(index, a, end, n);
        }
    }
    return rc;
}

int ty_slots_between(struct ty_slots_index *index, enum ty_sched_placement placement,
                     const struct ty_sched_shape *shape)
{
    static const struct ty_sched_durations none = {.overlap = UINT64_MAX};
    struct ty_program program;
    struct ty_autopsy autopsy;
    int rc = ty_sched_program_of(&program, placement, shape, index->slots, &none, &index->arena,
                                 index->err);
    if (rc < 0) {
        return rc;
    }
    if (ty_autopsy_make(&autopsy, &program, NULL, &index->arena) < 0) {
        return ty_fail_memory(index->err);
    }
    const bool halts = autopsy.stall.n_stuck > 0;
    const int code = halts ? TY_EDEADLOCK : TY_EINPUT;
    check_missing(index, code);
    if (halts && !index->failed) {
        rc = check_rings(index, &autopsy);
    }
    return rc == 0 && index->failed ? code : rc;
}
