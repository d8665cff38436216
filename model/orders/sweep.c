/* sweep.c - can all ranks run through their orders, or do some wait for each other?
 *
 * Every rank runs until its next slot needs something that another rank has not run yet. An atom
 * is needed by at most one atom of another rank (the next stage on its way), so a rank that
 * advances knows whom it wakes: each atom is looked at once when it runs and once when it is
 * waited for, O(atoms) in all. If ranks are left, each of them waits for one that is left as well;
 * following that arrow must run into a ring, and every ring is reported once. */
#include "model/orders/internal.h"

#include <stdarg.h>
#include <stdio.h>

#include "sim/base/number_text.h"

#define RING_TEXT  4096
#define RING_LINKS 8 /* ranks of a ring named in a message */

struct sweep {
    struct ty_slots_index *index;
    uint32_t *next;  /* [p] first atom that has not run */
    uint32_t *ready; /* [p] stack of ranks that may advance */
    bool *is_ready;  /* [p] */
    uint32_t *seen;  /* [p] search that passed here; 0: none */
    uint32_t n_ready;
};

/* Position of the atom on another stage that `slot` needs; 0: none. */
static uint32_t needed_by(const struct ty_slots_index *index, const struct ty_slot *slot)
{
    const struct ty_slots_piece *piece = &index->piece[ty_slots_piece_of(index, slot)];
    if (slot->phase == TY_PHASE_FORWARD) {
        return slot->stage > 0 ? piece[-(ptrdiff_t)ty_slots_stage_step(index)].forward : 0;
    }
    if (slot->phase == TY_PHASE_WGRAD || slot->stage + 1u == index->stages) {
        return 0;
    }
    return piece[ty_slots_stage_step(index)].backward;
}

/* Rank of the stage that `slot` hands its result to, and the position there; 0: nobody. */
static uint32_t needs_it(const struct ty_slots_index *index, const struct ty_slot *slot,
                         uint32_t *rank)
{
    const struct ty_slots_piece *piece = &index->piece[ty_slots_piece_of(index, slot)];
    const uint32_t *owner = &index->owner[slot->direction * index->stages + slot->stage];
    if (slot->phase == TY_PHASE_FORWARD && slot->stage + 1u < index->stages) {
        *rank = owner[1];
        return piece[ty_slots_stage_step(index)].forward;
    }
    if ((slot->phase == TY_PHASE_BACKWARD || slot->phase == TY_PHASE_DGRAD) && slot->stage > 0) {
        *rank = owner[-1];
        return piece[-(ptrdiff_t)ty_slots_stage_step(index)].backward;
    }
    return 0;
}

/* Rank that runs what `slot` needs from another stage. */
static uint32_t supplier(const struct ty_slots_index *index, const struct ty_slot *slot)
{
    const uint32_t *owner = &index->owner[slot->direction * index->stages + slot->stage];
    return slot->phase == TY_PHASE_FORWARD ? owner[-1] : owner[1];
}

/* Atoms of the slot that begins at i. */
static uint32_t slot_width(const struct ty_rank_slots *rank, uint32_t i)
{
    return rank->slot[i].paired ? 2 : 1;
}

/* Index of the atom of the next slot of a rank that waits, or the rank's n when none does. */
static uint32_t waiting_atom(const struct sweep *sweep, uint32_t r)
{
    const struct ty_slots_index *index = sweep->index;
    const struct ty_rank_slots *rank = &index->slots->rank[r];
    const uint32_t end = sweep->next[r] + slot_width(rank, sweep->next[r]);
    for (uint32_t i = sweep->next[r]; i < end; i++) {
        const uint32_t needed = needed_by(index, &rank->slot[i]);
        if (needed != 0) {
            const uint32_t from = supplier(index, &rank->slot[i]);
            if (needed - 1 - index->first[from] >= sweep->next[from]) {
                return i;
            }
        }
    }
    return rank->n;
}

static void make_ready(struct sweep *sweep, uint32_t rank)
{
    if (!sweep->is_ready[rank]) {
        sweep->is_ready[rank] = true;
        sweep->ready[sweep->n_ready++] = rank;
    }
}

/* Wakes the rank whose next slot holds the atom that needs this one. */
static void wake(struct sweep *sweep, const struct ty_slot *slot, uint32_t rank)
{
    uint32_t other = rank;
    const uint32_t position = needs_it(sweep->index, slot, &other);
    if (position == 0 || other == rank) {
        return;
    }
    const uint32_t i = position - 1 - sweep->index->first[other], next = sweep->next[other];
    if (i >= next && i < next + slot_width(&sweep->index->slots->rank[other], next)) {
        make_ready(sweep, other);
    }
}

static void advance(struct sweep *sweep, uint32_t r)
{
    const struct ty_rank_slots *rank = &sweep->index->slots->rank[r];
    while (sweep->next[r] < rank->n && waiting_atom(sweep, r) == rank->n) {
        const uint32_t begin = sweep->next[r];
        sweep->next[r] += slot_width(rank, begin);
        for (uint32_t i = begin; i < sweep->next[r]; i++) {
            wake(sweep, &rank->slot[i], r);
        }
    }
}

/* ---- rings ---- */

struct ring_text {
    size_t len;
    char text[RING_TEXT];
};

static void TY_PRINTF(2, 3) ring_add(struct ring_text *ring, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n =
        ty_vsnprintf(ring->text + ring->len, sizeof(ring->text) - ring->len, format, args);
    va_end(args);
    if (n > 0 && (size_t)n < sizeof(ring->text) - ring->len) {
        ring->len += (size_t)n;
    }
}

/* The rank that a rank which is left waits for. */
static uint32_t waits_for(const struct sweep *sweep, uint32_t r)
{
    const struct ty_slot *slot = sweep->index->slots->rank[r].slot;
    return supplier(sweep->index, &slot[waiting_atom(sweep, r)]);
}

/* " waits for B0.1 on rank 1, which stands behind F2.1 (slot 2)". */
static void add_link(struct ring_text *ring, const struct sweep *sweep, uint32_t r)
{
    char what[32], head[32];
    const struct ty_slots_index *index = sweep->index;
    const struct ty_slot *slot = &index->slots->rank[r].slot[waiting_atom(sweep, r)];
    const uint32_t from = supplier(index, slot);
    const struct ty_rank_slots *other = &index->slots->rank[from];
    const uint32_t i = needed_by(index, slot) - 1 - index->first[from];
    const uint32_t waiting = waiting_atom(sweep, from);
    const unsigned number = (unsigned)ty_slots_slot_number(other, sweep->next[from]);
    ring_add(ring, " waits for %s on rank %u", ty_slot_text(&other->slot[i], what, sizeof(what)),
             (unsigned)from);
    if (i == waiting) {
        ring_add(ring, " (slot %u)", number);
    } else {
        ring_add(ring, ", which %s %s (slot %u)",
                 i < sweep->next[from] + slot_width(other, sweep->next[from]) ? "overlaps with"
                                                                              : "stands behind",
                 ty_slot_text(&other->slot[waiting], head, sizeof(head)), number);
    }
}

/* The ring through `rank`, of `n` ranks. */
static void report_ring(struct sweep *sweep, uint32_t rank, uint32_t n)
{
    struct ty_slots_index *index = sweep->index;
    struct ring_text ring = {.len = 0};
    char name[TY_SLOTS_NAME];
    index->failed = true;
    if (ty_slots_crowded(index->err)) {
        return;
    }
    const uint32_t i = waiting_atom(sweep, rank);
    const struct ty_place at = ty_slots_place(index->marks, rank, i);
    if (n == 1) {
        ring_add(&ring, "rank %u waits for itself: ", (unsigned)rank);
    } else if (n == 2) {
        ring_add(&ring, "ranks %u and %u wait for each other: ", (unsigned)rank,
                 (unsigned)waits_for(sweep, rank));
    } else {
        ring_add(&ring, "%u ranks wait in a ring: ", (unsigned)n);
    }
    ring_add(&ring, "%s", ty_slots_name(index->slots, rank, i, name, sizeof(name)));
    uint32_t r = rank;
    for (uint32_t link = 0; link < n && link < RING_LINKS; link++) {
        ring_add(&ring, "%s", link > 0 ? ", which" : "");
        add_link(&ring, sweep, r);
        r = waits_for(sweep, r);
    }
    if (n > RING_LINKS) {
        ring_add(&ring, ", and so on through %u more ranks back to rank %u",
                 (unsigned)(n - RING_LINKS), (unsigned)rank);
    }
    (void)ty_fail_at(index->err, TY_EINPUT, &at, "%s", ring.text);
}

/* Follows the waits from a rank that is left; reports the ring they run into, if it is new. */
static void follow(struct sweep *sweep, uint32_t start)
{
    uint32_t r = start, n = 0;
    while (sweep->seen[r] == 0) {
        sweep->seen[r] = start + 1;
        r = waits_for(sweep, r);
    }
    if (sweep->seen[r] != start + 1) {
        return;
    }
    const uint32_t entry = r;
    uint32_t lowest = r;
    do {
        lowest = r < lowest ? r : lowest;
        n++;
        r = waits_for(sweep, r);
    } while (r != entry);
    report_ring(sweep, lowest, n);
}

int ty_slots_sweep(struct ty_slots_index *index)
{
    const uint32_t p = index->slots->p;
    struct sweep sweep = {.index = index,
                          .next = ty_arena_array(&index->arena, uint32_t, p),
                          .ready = ty_arena_array(&index->arena, uint32_t, p),
                          .is_ready = ty_arena_array(&index->arena, bool, p),
                          .seen = ty_arena_array(&index->arena, uint32_t, p)};
    if (sweep.next == NULL || sweep.ready == NULL || sweep.is_ready == NULL || sweep.seen == NULL) {
        return ty_fail_memory(index->err);
    }
    for (uint32_t r = p; r-- > 0;) {
        make_ready(&sweep, r);
    }
    while (sweep.n_ready > 0) {
        const uint32_t r = sweep.ready[--sweep.n_ready];
        sweep.is_ready[r] = false;
        advance(&sweep, r);
    }
    for (uint32_t r = 0; r < p; r++) {
        if (sweep.next[r] < index->slots->rank[r].n) {
            follow(&sweep, r);
        }
    }
    return index->failed ? TY_EINPUT : 0;
}
