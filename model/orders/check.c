/* check.c - the rules of a schedule, piece by piece.
 *
 * First every atom is entered in a table by what it computes; atoms outside the shape, on a wrong
 * rank, in a wrong pair or there twice are found on the way. Then every piece is looked up: what
 * lacks its other half, and what stands before something it needs on its own rank. What is left is
 * between ranks. */
#include "model/orders/check.h"

#include <stdio.h>

#include "model/orders/internal.h"
#include "model/orders/program.h"
#include "sim/base/text.h"
#include "sim/core/deadlock/autopsy.h"

/* ---- names and places ---- */

uint32_t ty_slots_slot_number(const struct ty_rank_slots *rank, uint32_t i)
{
    uint32_t number = i;
    for (uint32_t k = 0; k < i; k++) {
        number -= rank->slot[k].paired;
    }
    return number;
}

/* Place of atom i of a rank; without one when there are no marks. */
static struct ty_place slots_place(const struct ty_slots_marks *marks, uint32_t rank, uint32_t i)
{
    if (marks == NULL) {
        return (struct ty_place){.file = NULL};
    }
    const struct ty_slot_mark mark = marks->rank[rank].slot[i];
    return (struct ty_place){marks->file, marks->source, mark.line, mark.col};
}

static char *slots_name(const struct ty_slots *slots, uint32_t rank, uint32_t i, char *buf,
                        size_t size)
{
    char atom[32];
    snprintf(buf, size, "rank %u slot %u (%s)", (unsigned)rank,
             (unsigned)ty_slots_slot_number(&slots->rank[rank], i),
             ty_slot_text(&slots->rank[rank].slot[i], atom, sizeof(atom)));
    return buf;
}

/* ---- sizes and placement, from who holds which stage ---- */

/* Every number that occurs must have all smaller ones next to it: a gap is a misprint or a missing
 * piece, and is named by the number that is too high. The holder of a stage is the rank that most
 * of its atoms are on (Boyer and Moore's majority vote, one pass, no table of ranks by stages); a
 * single atom that strayed is left to ty_slots_check. Of the placements that trainyard knows, the
 * one with the fewest stages elsewhere is taken, and every stage elsewhere is an error. */

#define NUMBERS 65536u /* values of a 16-bit field */

/* The numbers of one kind that occur. */
struct tally {
    bool *occurs; /* [NUMBERS] */
    uint32_t top;
    uint32_t rank, i; /* an atom with the highest number */
};

struct vote {
    uint32_t rank, count; /* count 0: undecided */
};

struct survey {
    const struct ty_slots_file *file;
    struct tally mb[2], stage[2], slice; /* [direction] */
    struct vote *holder[2];              /* [direction][NUMBERS] */
    bool two_way;
    bool failed;
    struct ty_err *err;
};

/* "looped (stage s on rank s mod p)" and the like, static. */
static const char *slots_placement_text(enum ty_sched_placement placement)
{
    switch (placement) {
    case TY_PLACE_LOOPED:
        return "looped placement: stage s on rank s mod p";
    case TY_PLACE_V:
        return "V placement: stage s on rank min(s, 2 p - 1 - s)";
    case TY_PLACE_TWO_WAY:
        break;
    }
    return "two-way placement: stage s on rank s, with ^ on rank p - 1 - s";
}

static int survey_init(struct survey *survey, struct ty_arena *arena)
{
    struct tally *const tallies[] = {&survey->mb[0], &survey->mb[1], &survey->stage[0],
                                     &survey->stage[1], &survey->slice};
    for (size_t i = 0; i < TY_COUNT(tallies); i++) {
        tallies[i]->occurs = ty_arena_array(arena, bool, NUMBERS);
        if (tallies[i]->occurs == NULL) {
            return TY_ENOMEM;
        }
    }
    for (size_t d = 0; d < 2; d++) {
        survey->holder[d] = ty_arena_array(arena, struct vote, NUMBERS);
        if (survey->holder[d] == NULL) {
            return TY_ENOMEM;
        }
    }
    return 0;
}

static void tally_add(struct tally *tally, uint32_t number, uint32_t rank, uint32_t i)
{
    if (number > tally->top || !tally->occurs[number]) {
        tally->occurs[number] = true;
        if (number >= tally->top) {
            tally->top = number;
            tally->rank = rank;
            tally->i = i;
        }
    }
}

static void vote_add(struct vote *vote, uint32_t rank)
{
    if (vote->count == 0) {
        *vote = (struct vote){rank, 1};
    } else if (vote->rank == rank) {
        vote->count++;
    } else {
        vote->count--;
    }
}

static void survey_atoms(struct survey *survey)
{
    const struct ty_slots *slots = &survey->file->slots;
    for (uint32_t r = 0; r < slots->p; r++) {
        for (uint32_t i = 0; i < slots->rank[r].n; i++) {
            const struct ty_slot *slot = &slots->rank[r].slot[i];
            const uint32_t d = slot->direction;
            survey->two_way |= d != 0;
            tally_add(&survey->mb[d], slot->mb, r, i);
            tally_add(&survey->stage[d], slot->stage, r, i);
            tally_add(&survey->slice, slot->slice, r, i);
            vote_add(&survey->holder[d][slot->stage], r);
        }
    }
}

/* Counts an error; true when its message is wanted. Then `at` is the place of the atom with the
 * highest number, and `name` says "rank 0 slot 3 (F1.2)". */
static bool tally_fails(struct survey *survey, const struct tally *tally, struct ty_place *at,
                        char *name, size_t size)
{
    survey->failed = true;
    if (ty_err_is_full(survey->err)) {
        return false;
    }
    *at = slots_place(&survey->file->marks, tally->rank, tally->i);
    slots_name(&survey->file->slots, tally->rank, tally->i, name, size);
    return true;
}

/* ---- sizes ---- */

static uint32_t tally_count(const struct tally *tally)
{
    return tally->occurs[tally->top] ? tally->top + 1 : 0;
}

/* Reports each run of numbers that never occur below the highest one. */
static void find_gaps(struct survey *survey, const struct tally *tally, const char *singular,
                      const char *plural, const char *suffix)
{
    struct ty_place at;
    char name[TY_SLOTS_NAME];
    for (uint32_t low = 0; low < tally->top; low++) {
        uint32_t high = low;
        if (tally->occurs[low]) {
            continue;
        }
        while (!tally->occurs[high + 1]) {
            high++;
        }
        const bool shown = tally_fails(survey, tally, &at, name, sizeof(name));
        if (shown && low == high) {
            (void)ty_fail_at(survey->err, TY_EINPUT, &at,
                             "%s: %s %u%s is missing everywhere; the highest is %u%s", name,
                             singular, (unsigned)low, suffix, (unsigned)tally->top, suffix);
        } else if (shown) {
            (void)ty_fail_at(survey->err, TY_EINPUT, &at,
                             "%s: %s %u%s to %u%s are missing everywhere; the highest is %u%s",
                             name, plural, (unsigned)low, suffix, (unsigned)high, suffix,
                             (unsigned)tally->top, suffix);
        }
        low = high;
    }
}

static void check_stage_count(struct survey *survey, uint32_t direction)
{
    struct ty_place at;
    char name[TY_SLOTS_NAME];
    const struct tally *tally = &survey->stage[direction];
    const uint32_t p = survey->file->slots.p, stages = tally_count(tally);
    if (survey->two_way && stages != p && tally_fails(survey, tally, &at, name, sizeof(name))) {
        (void)ty_fail_at(survey->err, TY_EINPUT, &at,
                         "%s: %u stage%s of the %s direction on %u ranks; a two-way schedule has "
                         "one per rank and direction",
                         name, (unsigned)stages, stages == 1 ? "" : "s",
                         direction == 0 ? "first" : "second", (unsigned)p);
    }
    if (!survey->two_way && stages % p != 0 &&
        tally_fails(survey, tally, &at, name, sizeof(name))) {
        (void)ty_fail_at(survey->err, TY_EINPUT, &at,
                         "%s: %u stage%s (0 to %u) on %u ranks; every rank holds equally many",
                         name, (unsigned)stages, stages == 1 ? "" : "s", (unsigned)(stages - 1),
                         (unsigned)p);
    }
}

static void check_sizes(struct survey *survey)
{
    struct ty_place at;
    char name[TY_SLOTS_NAME];
    const uint32_t directions = survey->two_way ? 2 : 1;
    const uint32_t down = tally_count(&survey->mb[0]), up = tally_count(&survey->mb[1]);
    for (uint32_t d = 0; d < directions; d++) {
        const char *suffix = d == 1 ? "^" : "";
        find_gaps(survey, &survey->mb[d], "micro-batch", "micro-batches", suffix);
        find_gaps(survey, &survey->stage[d], "stage", "stages", suffix);
    }
    find_gaps(survey, &survey->slice, "slice", "slices", "");
    if (survey->failed) {
        return;
    }
    if (survey->two_way && down != up &&
        tally_fails(survey, &survey->mb[up > down], &at, name, sizeof(name))) {
        (void)ty_fail_at(survey->err, TY_EINPUT, &at,
                         "%s: %u micro-batches in the first direction, %u in the second (^); a "
                         "two-way schedule has equally many",
                         name, (unsigned)down, (unsigned)up);
    }
    for (uint32_t d = 0; !survey->failed && d < directions; d++) {
        check_stage_count(survey, d);
    }
}

/* ---- placement ---- */

static bool sits_elsewhere(const struct survey *survey, enum ty_sched_placement placement,
                           uint32_t direction, uint32_t stage)
{
    const struct vote *holder = &survey->holder[direction][stage];
    return holder->count > 0 &&
           holder->rank != ty_sched_owner(placement, &survey->file->shape, direction, stage);
}

static uint32_t count_elsewhere(const struct survey *survey, enum ty_sched_placement placement)
{
    uint32_t n = 0;
    for (uint32_t d = 0; d < ty_sched_directions(placement); d++) {
        for (uint32_t s = 0; s < ty_sched_stages(&survey->file->shape); s++) {
            n += sits_elsewhere(survey, placement, d, s);
        }
    }
    return n;
}

static void report_stage(struct survey *survey, enum ty_sched_placement placement,
                         uint32_t direction, uint32_t stage)
{
    const uint32_t rank = survey->holder[direction][stage].rank;
    const struct ty_rank_slots *slots = &survey->file->slots.rank[rank];
    char name[TY_SLOTS_NAME];
    survey->failed = true;
    if (ty_err_is_full(survey->err)) {
        return;
    }
    uint32_t i = 0;
    while (i + 1 < slots->n &&
           (slots->slot[i].stage != stage || slots->slot[i].direction != direction)) {
        i++;
    }
    const struct ty_place at = slots_place(&survey->file->marks, rank, i);
    (void)ty_fail_at(survey->err, TY_EINPUT, &at,
                     "%s: rank %u holds stage %u%s; in the nearest placement it is on rank %u (%s)",
                     slots_name(&survey->file->slots, rank, i, name, sizeof(name)), (unsigned)rank,
                     (unsigned)stage, direction == 1 ? "^" : "",
                     (unsigned)ty_sched_owner(placement, &survey->file->shape, direction, stage),
                     slots_placement_text(placement));
}

static enum ty_sched_placement find_placement(struct survey *survey)
{
    enum ty_sched_placement best = survey->two_way ? TY_PLACE_TWO_WAY : TY_PLACE_LOOPED;
    if (!survey->two_way && survey->file->shape.v == 2 &&
        count_elsewhere(survey, TY_PLACE_V) < count_elsewhere(survey, best)) {
        best = TY_PLACE_V;
    }
    for (uint32_t d = 0; d < ty_sched_directions(best); d++) {
        for (uint32_t s = 0; s < ty_sched_stages(&survey->file->shape); s++) {
            if (sits_elsewhere(survey, best, d, s)) {
                report_stage(survey, best, d, s);
            }
        }
    }
    return best;
}

static void infer(struct survey *survey, struct ty_slots_file *file)
{
    survey_atoms(survey);
    check_sizes(survey);
    if (survey->failed) {
        return;
    }
    const uint32_t directions = survey->two_way ? 2 : 1;
    file->shape = (struct ty_sched_shape){
        .p = file->slots.p,
        .m = directions * tally_count(&survey->mb[0]),
        .v = tally_count(&survey->stage[0]) / file->slots.p,
        .slices = tally_count(&survey->slice),
    };
    file->placement = find_placement(survey);
}

int ty_slots_infer(struct ty_slots_file *file, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct survey survey = {.file = file, .err = err};
    int rc = survey_init(&survey, &arena);
    if (rc < 0) {
        (void)ty_fail_memory(err);
    } else {
        infer(&survey, file);
        rc = survey.failed ? TY_EINPUT : 0;
    }
    ty_arena_release(&arena);
    return rc;
}

/* ---- ranks side by side ---- */

/* Some mistakes show only here: pieces that one rank has and another lacks whole, and ranks that
 * wait for each other in a ring.
 *
 * The orders become a program (program.h), in which a pass is an atom, and its autopsy
 * (sim/core/deadlock/autopsy.h) follows who waits for whom. */

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
    const struct ty_place at = slots_place(index->marks, rank, i);
    if (n == 2) {
        ty_text_add(&ring, "ranks %u and %u wait for each other: ", (unsigned)rank,
                    (unsigned)ty_front_gang(a->p, a->wait[front].next));
    } else {
        ty_text_add(&ring, "%u ranks wait in a ring: ", (unsigned)n);
    }
    ty_text_add(&ring, "%s", slots_name(index->slots, rank, i, name, sizeof(name)));
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

/* Of orders that are right rank by rank, entered in the index: names every piece that is missing
 * whole, or else every ring of ranks that wait for each other. */
static int slots_between(struct ty_slots_index *index, enum ty_sched_placement placement,
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

#define SPARE_PIECES (1u << 20) /* pieces a table may have beyond one per atom */

/* ---- the table of atoms ---- */

/* The rank of a position, which is at least 1: the last rank that begins before it. */
static uint32_t rank_of(const struct ty_slots_index *index, uint32_t position)
{
    uint32_t low = 0, high = index->slots->p;
    while (high - low > 1) {
        const uint32_t mid = low + (high - low) / 2;
        if (index->first[mid] < position) {
            low = mid;
        } else {
            high = mid;
        }
    }
    return low;
}

/* An atom in a message. */
struct spot {
    uint32_t rank, i;
    struct ty_slot slot;
    char name[TY_SLOTS_NAME]; /* "rank 0 slot 3 (F1.2)" */
    struct ty_place at;
};

static void spot_set(struct spot *spot, const struct ty_slots_index *index, uint32_t position)
{
    spot->rank = rank_of(index, position);
    spot->i = position - 1 - index->first[spot->rank];
    spot->slot = index->slots->rank[spot->rank].slot[spot->i];
    spot->at = slots_place(index->marks, spot->rank, spot->i);
    (void)slots_name(index->slots, spot->rank, spot->i, spot->name, sizeof(spot->name));
}

/* Counts an error at an atom; true when its message is wanted and the spot is filled. */
static bool fails(struct ty_slots_index *index, uint32_t position, struct spot *spot)
{
    index->failed = true;
    if (ty_err_is_full(index->err)) {
        return false;
    }
    spot_set(spot, index, position);
    return true;
}

/* "I3.1" for F3.1. */
static char *sibling(struct ty_slot slot, enum ty_phase phase, char *buf, size_t size)
{
    slot.phase = (uint8_t)phase;
    return ty_slot_text(&slot, buf, size);
}

/* ---- atoms ---- */

static bool is_inside(const struct ty_slots_index *index, const struct ty_slot *slot)
{
    return slot->phase <= TY_PHASE_WGRAD && slot->direction < index->directions &&
           slot->stage < index->stages && slot->mb < index->mbs && slot->slice < index->slices;
}

static void check_rank(struct ty_slots_index *index, enum ty_sched_placement placement,
                       uint32_t rank, const struct ty_slot *slot, uint32_t position)
{
    struct spot spot;
    const uint32_t owner = index->owner[slot->direction * index->stages + slot->stage];
    if (owner != rank && fails(index, position, &spot)) {
        (void)ty_fail_at(index->err, TY_EINPUT, &spot.at, "%s: stage %u%s belongs on rank %u (%s)",
                         spot.name, (unsigned)slot->stage, slot->direction == 1 ? "^" : "",
                         (unsigned)owner, slots_placement_text(placement));
    }
}

/* Two halves may overlap when neither needs the other. A backward needs all forwards of its
 * micro-batch: those of earlier slices and stages directly, those of later stages because the
 * gradient starts at the last one. */
static void check_pair(struct ty_slots_index *index, const struct ty_rank_slots *rank, uint32_t i,
                       uint32_t position)
{
    struct spot spot;
    char other[32];
    const struct ty_slot *slot = &rank->slot[i];
    if (i + 1 == rank->n || slot->phase != TY_PHASE_FORWARD || !ty_slot_is_backward(slot + 1) ||
        slot[1].paired) {
        if (fails(index, position, &spot)) {
            (void)ty_fail_at(index->err, TY_EINPUT, &spot.at,
                             "%s: an overlapped slot is a forward and a backward", spot.name);
        }
    } else if (slot->mb == slot[1].mb && slot->direction == slot[1].direction &&
               fails(index, position + 1, &spot)) {
        (void)ty_fail_at(index->err, TY_EINPUT, &spot.at,
                         "%s: overlaps with %s, which it needs: both are of micro-batch %u%s",
                         spot.name, ty_slot_text(slot, other, sizeof(other)), (unsigned)slot->mb,
                         slot->direction == 1 ? "^" : "");
    }
}

static uint32_t *entry_of(struct ty_slots_piece *piece, enum ty_phase phase)
{
    switch (phase) {
    case TY_PHASE_FORWARD:
        return &piece->forward;
    case TY_PHASE_WGRAD:
        return &piece->weight;
    default:
        return &piece->backward;
    }
}

/* Enters an atom at its piece. */
static void enter(struct ty_slots_index *index, const struct ty_slot *slot, uint32_t position)
{
    struct ty_slots_piece *piece = &index->piece[ty_slots_piece_of(index, slot)];
    uint32_t *const entry = entry_of(piece, (enum ty_phase)slot->phase);
    struct spot spot, earlier;
    if (*entry == 0) {
        *entry = position;
    } else if (fails(index, position, &spot)) {
        spot_set(&earlier, index, *entry);
        (void)ty_fail_at(index->err, TY_EINPUT, &spot.at,
                         earlier.slot.phase == spot.slot.phase
                             ? "%s: repeats %s"
                             : "%s: computes again what %s computes",
                         spot.name, earlier.name);
    }
}

static void enter_all(struct ty_slots_index *index, enum ty_sched_placement placement)
{
    struct spot spot;
    for (uint32_t r = 0; r < index->slots->p; r++) {
        const struct ty_rank_slots *rank = &index->slots->rank[r];
        for (uint32_t i = 0; i < rank->n; i++) {
            const struct ty_slot *slot = &rank->slot[i];
            const uint32_t position = index->first[r] + i + 1;
            if (is_inside(index, slot)) {
                check_rank(index, placement, r, slot, position);
                enter(index, slot, position);
            } else if (fails(index, position, &spot)) {
                (void)ty_fail_at(index->err, TY_EINPUT, &spot.at,
                                 "%s: outside %u direction%s of %u micro-batches, %u stages, %u "
                                 "slices",
                                 spot.name, (unsigned)index->directions,
                                 index->directions == 1 ? "" : "s", (unsigned)index->mbs,
                                 (unsigned)index->stages, (unsigned)index->slices);
            }
            if (slot->paired) {
                check_pair(index, rank, i, position);
            }
        }
    }
}

/* ---- pieces ---- */

/* Reports what a piece lacks, or has next to a full backward. True: it is complete. */
static bool check_complete(struct ty_slots_index *index, const struct ty_slots_piece *piece,
                           const struct ty_slot *slot)
{
    struct spot spot;
    char a[32], b[32], c[32];
    const uint32_t any = piece->backward != 0 ? piece->backward : piece->weight;
    if (piece->forward == 0 && any == 0) {
        return false; /* looked for between ranks */
    }
    if (piece->forward == 0 && fails(index, any, &spot)) {
        (void)ty_fail_at(index->err, TY_EINPUT, &spot.at, "%s: its forward %s is missing",
                         spot.name, sibling(*slot, TY_PHASE_FORWARD, a, sizeof(a)));
    }
    if (any == 0 && fails(index, piece->forward, &spot)) {
        (void)ty_fail_at(index->err, TY_EINPUT, &spot.at,
                         "%s: its backward is missing; write %s, or %s and %s", spot.name,
                         sibling(*slot, TY_PHASE_BACKWARD, a, sizeof(a)),
                         sibling(*slot, TY_PHASE_DGRAD, b, sizeof(b)),
                         sibling(*slot, TY_PHASE_WGRAD, c, sizeof(c)));
    }
    if (any != 0 && piece->backward == 0 && fails(index, any, &spot)) {
        (void)ty_fail_at(index->err, TY_EINPUT, &spot.at, "%s: its input gradient %s is missing",
                         spot.name, sibling(*slot, TY_PHASE_DGRAD, a, sizeof(a)));
    }
    return piece->forward != 0 && piece->backward != 0;
}

/* W next to I, and none next to B. */
static void check_weight(struct ty_slots_index *index, const struct ty_slots_piece *piece,
                         uint32_t rank)
{
    struct spot spot, other;
    char name[32];
    const uint32_t i = piece->backward - 1 - index->first[rank];
    const struct ty_slot *backward = &index->slots->rank[rank].slot[i];
    const bool split = backward->phase == TY_PHASE_DGRAD;
    if (split && piece->weight == 0 && fails(index, piece->backward, &spot)) {
        (void)ty_fail_at(index->err, TY_EINPUT, &spot.at, "%s: its weight gradient %s is missing",
                         spot.name, sibling(*backward, TY_PHASE_WGRAD, name, sizeof(name)));
    }
    if (!split && piece->weight != 0 && fails(index, piece->weight, &spot)) {
        spot_set(&other, index, piece->backward);
        (void)ty_fail_at(index->err, TY_EINPUT, &spot.at,
                         "%s: %s computes the weight gradient too; write %s there, or leave this "
                         "one out",
                         spot.name, other.name,
                         sibling(*backward, TY_PHASE_DGRAD, name, sizeof(name)));
    }
}

/* Reports an atom that stands before one it needs on the same rank. */
static void check_order(struct ty_slots_index *index, uint32_t position, uint32_t needed,
                        const char *why)
{
    struct spot spot, other;
    if (position < needed && fails(index, position, &spot)) {
        spot_set(&other, index, needed);
        (void)ty_fail_at(index->err, TY_EINPUT, &spot.at, "%s: before %s; %s", spot.name,
                         other.name, why);
    }
}

/* Atoms that are missing are nowhere else. */
static bool is_local(const struct ty_slots_index *index, const struct ty_slots_piece *piece,
                     uint32_t rank)
{
    const uint32_t positions[] = {piece->forward, piece->backward, piece->weight};
    for (size_t i = 0; i < TY_COUNT(positions); i++) {
        const uint32_t position = positions[i];
        if (position != 0 &&
            (position <= index->first[rank] || position > index->first[rank + 1])) {
            return false;
        }
    }
    return true;
}

/* A piece of the same rank that goes forward after this one, and backward before it. */
static void check_neighbour(struct ty_slots_index *index, const struct ty_slots_piece *piece,
                            const struct ty_slots_piece *other, uint32_t rank, const char *forward,
                            const char *backward)
{
    if (other == NULL || !is_local(index, other, rank)) {
        return;
    }
    if (other->forward != 0) {
        check_order(index, other->forward, piece->forward, forward);
    }
    if (other->backward != 0) {
        check_order(index, piece->backward, other->backward, backward);
    }
}

/* A complete piece on its own rank. `next`: the same of the next slice, or NULL; `above`: of the
 * next stage, if the same rank has that, too. */
static void check_piece(struct ty_slots_index *index, const struct ty_slots_piece *piece,
                        const struct ty_slots_piece *next, const struct ty_slots_piece *above,
                        uint32_t rank)
{
    check_weight(index, piece, rank);
    check_order(index, piece->backward, piece->forward, "a backward needs its forward");
    if (piece->weight != 0) {
        check_order(index, piece->weight, piece->backward,
                    "a weight gradient needs the input gradient of its stage");
    }
    check_neighbour(index, piece, next, rank, "slices of a sequence go forward in ascending order",
                    "slices of a sequence go backward in descending order");
    check_neighbour(index, piece, above, rank, "a forward needs that of the stage before",
                    "a backward needs that of the stage behind");
}

/* All pieces of one stage. */
static void check_stage(struct ty_slots_index *index, uint32_t direction, uint32_t stage)
{
    const uint32_t *owner = &index->owner[direction * index->stages + stage];
    const uint32_t rank = owner[0];
    const bool has_next_stage = stage + 1 < index->stages && owner[1] == rank;
    struct ty_slot slot = {.stage = (uint16_t)stage, .direction = (uint8_t)direction};
    for (uint32_t mb = 0; mb < index->mbs; mb++) {
        for (uint32_t q = 0; q < index->slices; q++) {
            slot.mb = (uint16_t)mb;
            slot.slice = (uint8_t)q;
            const struct ty_slots_piece *piece = &index->piece[ty_slots_piece_of(index, &slot)];
            if (check_complete(index, piece, &slot) && is_local(index, piece, rank)) {
                check_piece(index, piece, q + 1 < index->slices ? piece + 1 : NULL,
                            has_next_stage ? piece + ty_slots_stage_step(index) : NULL, rank);
            }
        }
    }
}

/* ---- the whole ---- */

/* Shapes that no order could fill, before anything is sized by them. */
static int check_shape(const struct ty_slots_index *index, enum ty_sched_placement placement,
                       const struct ty_sched_shape *shape)
{
    const uint64_t atoms = index->first[index->slots->p];
    const uint64_t stages = (uint64_t)index->directions * index->stages;
    const uint64_t pieces = (uint64_t)index->mbs * index->slices;
    if (shape->p != index->slots->p || shape->p == 0 || index->stages == 0 || pieces == 0 ||
        (placement == TY_PLACE_V && shape->v != 2) ||
        (placement == TY_PLACE_TWO_WAY && (shape->v != 1 || shape->m % 2 != 0))) {
        return ty_fail(index->err, TY_EINPUT,
                       "schedule: %u ranks, %u micro-batches, %u stages per rank do not fit %s",
                       (unsigned)shape->p, (unsigned)shape->m, (unsigned)shape->v,
                       slots_placement_text(placement));
    }
    if (pieces > (atoms + SPARE_PIECES) / stages) {
        return ty_fail(index->err, TY_EINPUT,
                       "%s%s%u micro-batches of %u slice%s through %llu stages take at least %llu "
                       "passes; only %llu are there",
                       index->marks != NULL ? index->marks->file : "schedule", ": ",
                       (unsigned)index->mbs, (unsigned)index->slices, index->slices == 1 ? "" : "s",
                       (unsigned long long)stages, 2ULL * pieces * stages,
                       (unsigned long long)atoms);
    }
    return 0;
}

static int index_init(struct ty_slots_index *index, enum ty_sched_placement placement,
                      const struct ty_sched_shape *shape)
{
    const uint32_t p = index->slots->p;
    index->directions = ty_sched_directions(placement);
    index->stages = ty_sched_stages(shape);
    index->mbs = shape->m / index->directions;
    index->slices = shape->slices;
    index->first = ty_arena_array(&index->arena, uint32_t, (size_t)p + 1);
    for (uint32_t r = 0; index->first != NULL && r < p; r++) {
        index->first[r + 1] = index->first[r] + index->slots->rank[r].n;
    }
    const int rc = index->first != NULL ? check_shape(index, placement, shape) : TY_ENOMEM;
    if (rc < 0) {
        return rc;
    }
    const size_t stages = (size_t)index->directions * index->stages;
    index->owner = ty_arena_array(&index->arena, uint32_t, stages);
    index->piece =
        ty_arena_array(&index->arena, struct ty_slots_piece, stages * ty_slots_stage_step(index));
    for (size_t s = 0; index->owner != NULL && s < stages; s++) {
        index->owner[s] = ty_sched_owner(placement, shape, (uint32_t)(s / index->stages),
                                         (uint32_t)(s % index->stages));
    }
    return index->owner != NULL && index->piece != NULL ? 0 : TY_ENOMEM;
}

/* Enters all atoms; what is wrong with one is reported. */
static int index_fill(struct ty_slots_index *index, enum ty_sched_placement placement,
                      const struct ty_sched_shape *shape)
{
    const int rc = index_init(index, placement, shape);
    if (rc == TY_ENOMEM) {
        return ty_fail_memory(index->err);
    }
    if (rc == 0) {
        enter_all(index, placement);
    }
    return rc;
}

int ty_slots_check(enum ty_sched_placement placement, const struct ty_sched_shape *shape,
                   const struct ty_slots *slots, const struct ty_slots_marks *marks,
                   struct ty_err *err)
{
    struct ty_slots_index index = {.slots = slots, .marks = marks, .err = err};
    int rc = index_fill(&index, placement, shape);
    for (uint32_t s = 0; rc == 0 && s < index.directions * index.stages; s++) {
        check_stage(&index, s / index.stages, s % index.stages);
    }
    ty_arena_release(&index.arena);
    return rc == 0 && index.failed ? TY_EINPUT : rc;
}

int ty_slots_check_between(enum ty_sched_placement placement, const struct ty_sched_shape *shape,
                           const struct ty_slots *slots, const struct ty_slots_marks *marks,
                           struct ty_err *err)
{
    struct ty_slots_index index = {.slots = slots, .marks = marks, .err = err};
    int rc = index_fill(&index, placement, shape);
    if (rc == 0) {
        rc = slots_between(&index, placement, shape);
    }
    ty_arena_release(&index.arena);
    return rc;
}
