/* shape.c - sizes and placement of a schedule from who holds which stage.
 *
 * Every number that occurs must have all smaller ones beside it: a gap is a misprint or a missing
 * piece, and is named by the number that is too high. The holder of a stage is the rank that most
 * of its atoms are on (Boyer and Moore's majority vote, one pass, no table of ranks by stages); a
 * single atom that strayed is left to ty_slots_check. Of the placements that trainyard knows, the
 * one with the fewest stages elsewhere is taken, and every stage elsewhere is an error. */
#include "model/orders/internal.h"

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

const char *ty_slots_placement_text(enum ty_sched_placement placement)
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
    *at = ty_slots_place(&survey->file->marks, tally->rank, tally->i);
    ty_slots_name(&survey->file->slots, tally->rank, tally->i, name, size);
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
    const struct ty_place at = ty_slots_place(&survey->file->marks, rank, i);
    (void)ty_fail_at(survey->err, TY_EINPUT, &at,
                     "%s: rank %u holds stage %u%s; in the nearest placement it is on rank %u (%s)",
                     ty_slots_name(&survey->file->slots, rank, i, name, sizeof(name)),
                     (unsigned)rank, (unsigned)stage, direction == 1 ? "^" : "",
                     (unsigned)ty_sched_owner(placement, &survey->file->shape, direction, stage),
                     ty_slots_placement_text(placement));
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
