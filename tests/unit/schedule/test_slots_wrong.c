/* test_slots_wrong.c - orders that no rank can follow: limits, shapes that do not fit, and damage
 * of every kind to what was right. */
#include "model/orders/csv.h"
#include "model/orders/text.h"
#include "tests/unit/slots_case.h"

TEST(a_file_of_another_kind_has_one_message)
{
    static const char text[] = "\xFF\xFEr\0a\0n\0k\0 \0000\0:\0\n\0";
    static const char binary[] = "rank 0: F0.0\0\0\0\0 B0.0\n";
    struct ty_arena arena = {.head = NULL};
    struct ty_slots_file file;
    clear_err();
    ck_assert_int_eq(ty_slots_read(&file, "f", text, sizeof(text) - 1, &arena, &err), TY_EINPUT);
    ck_assert_str_eq(err.text, "f: UTF-16 text; save the file as UTF-8");
    clear_err();
    ck_assert_int_eq(ty_slots_read(&file, "f", binary, sizeof(binary) - 1, &arena, &err),
                     TY_EINPUT);
    ck_assert_str_eq(err.text, "f: binary data, no text; name another file");
    ty_arena_release(&arena);
}

/* ---- limits ---- */

TEST(twenty_messages_are_shown_and_the_rest_is_counted)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_slots_file file;
    struct ty_text text = {.data = NULL};
    ty_text_add(&text, "rank 0: F0.0");
    for (unsigned i = 0; i < 3000; i++) {
        ty_text_add(&text, " F0.0");
    }
    clear_err();
    ck_assert_int_eq(ty_slots_read(&file, "f", text.data, text.len, &arena, &err), TY_EINPUT);
    ck_assert_uint_eq(err.n, TY_ERR_MAX);
    ck_assert_uint_eq(err.n_dropped, 3000 - TY_ERR_MAX + 1); /* and the backward that is missing */
    ck_assert_ptr_nonnull(strstr(err.text, "\n2981 more errors, not shown"));
    ty_text_release(&text);
    ty_arena_release(&arena);
}

/* 65,535 micro-batches in one stage each: more pieces than any table should have. */
TEST(a_file_cannot_ask_for_more_pieces_than_it_has_passes)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_slots_file file;
    struct ty_text text = {.data = NULL};
    ty_text_add(&text, "rank 0:");
    for (unsigned i = 0; i < 65535; i++) {
        ty_text_add(&text, " F%u.%u", i, i);
    }
    clear_err();
    ck_assert_int_eq(ty_slots_read(&file, "f", text.data, text.len, &arena, &err), TY_EINPUT);
    ck_assert_str_eq(err.text, "f: 65535 micro-batches of 1 slice through 65535 stages take at "
                               "least 8589672450 passes; only 65535 are there");
    ty_text_release(&text);
    ty_arena_release(&arena);
}

TEST(more_atoms_than_the_limit_are_refused)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_slots_file file;
    struct ty_text text = {.data = NULL};
    ty_text_add(&text, "rank 0:");
    for (unsigned i = 0; i <= TY_SLOTS_MAX_ATOMS; i++) {
        ty_text_bytes(&text, " F0.0", 5);
    }
    clear_err();
    ck_assert_int_eq(ty_slots_read(&file, "f", text.data, text.len, &arena, &err), TY_ELIMIT);
    ck_assert_str_eq(err.text, "f: more than 4000000 passes");
    ty_text_release(&text);
    ty_arena_release(&arena);
}

/* ---- checking orders that no file can hold ---- */

TEST(shapes_that_do_not_fit_are_refused)
{
    struct ty_slot slot[2] = {{.phase = TY_PHASE_FORWARD}, {.phase = TY_PHASE_BACKWARD}};
    struct ty_rank_slots rank = {.slot = slot, .n = 2, .cap = 2};
    const struct ty_slots slots = {&rank, 1};
    const struct ty_sched_shape two = {.p = 2, .m = 1, .v = 1, .slices = 1};
    const struct ty_sched_shape one = {.p = 1, .m = 1, .v = 1, .slices = 1};
    clear_err();
    ck_assert_int_eq(ty_slots_check(TY_PLACE_LOOPED, &two, &slots, NULL, &err), TY_EINPUT);
    ck_assert_int_eq(ty_slots_check(TY_PLACE_V, &one, &slots, NULL, &err), TY_EINPUT);
    ck_assert_int_eq(ty_slots_check(TY_PLACE_TWO_WAY, &one, &slots, NULL, &err), TY_EINPUT);
    ck_assert_str_eq(
        err.text,
        "schedule: 2 ranks, 1 micro-batches, 1 stages per rank do not fit looped placement: stage "
        "s on rank s mod p\n"
        "schedule: 1 ranks, 1 micro-batches, 1 stages per rank do not fit V placement: stage s on "
        "rank min(s, 2 p - 1 - s)\n"
        "schedule: 1 ranks, 1 micro-batches, 1 stages per rank do not fit two-way placement: stage "
        "s on rank s, with ^ on rank p - 1 - s");
    ck_assert_int_eq(ty_slots_check(TY_PLACE_LOOPED, &one, &slots, NULL, NULL), 0);
}

TEST(atoms_that_make_no_sense_are_named)
{
    struct ty_slot slot[] = {
        {.phase = TY_PHASE_FORWARD, .paired = true},
        {.phase = TY_PHASE_FORWARD, .mb = 1},
        {.phase = TY_PHASE_STEP},
        {.phase = TY_PHASE_BACKWARD},
        {.phase = TY_PHASE_BACKWARD, .mb = 1, .paired = true},
        {.phase = TY_PHASE_FORWARD, .direction = 1},
    };
    struct ty_rank_slots rank = {.slot = slot, .n = TY_COUNT(slot), .cap = TY_COUNT(slot)};
    const struct ty_slots slots = {&rank, 1};
    const struct ty_sched_shape shape = {.p = 1, .m = 2, .v = 1, .slices = 1};
    clear_err();
    ck_assert_int_eq(ty_slots_check(TY_PLACE_LOOPED, &shape, &slots, NULL, &err), TY_EINPUT);
    ck_assert_str_eq(
        err.text,
        "rank 0 slot 0 (F0.0): an overlapped slot is a forward and a backward\n"
        "rank 0 slot 1 (S0.0): outside 1 direction of 2 micro-batches, 1 stages, 1 slices\n"
        "rank 0 slot 3 (B1.0): an overlapped slot is a forward and a backward\n"
        "rank 0 slot 3 (F0.0^): outside 1 direction of 2 micro-batches, 1 stages, 1 slices");
}

/* Stage 12 waits at rank 0 for micro-batch 0, rank 11 wants micro-batch 1 first, which all ranks
 * between them wait for and rank 0 has not begun. */
TEST(a_long_ring_is_cut_short)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_slots_file file;
    struct ty_text text = {.data = NULL};
    for (unsigned r = 0; r < 12; r++) {
        const unsigned first = r == 11 ? 1 : 0, up = r + 12;
        if (r == 0) {
            ty_text_add(&text, "rank 0: F0.0 F0.12 F1.0");
        } else {
            ty_text_add(&text, "rank %u: F%u.%u F%u.%u F0.%u", r, first, r, 1 - first, r, up);
        }
        ty_text_add(&text, " F1.%u B0.%u B0.%u B1.%u B1.%u\n", up, up, r, up, r);
    }
    clear_err();
    ck_assert_int_eq(read_all(&file, "f", text.data, text.len, &arena), TY_EDEADLOCK);
    ck_assert_str_eq(
        err.text,
        "f:1:14: 12 ranks wait in a ring: rank 0 slot 1 (F0.12) waits for F0.11 on rank 11, which "
        "stands behind F1.11 (slot 0), which waits for F1.10 on rank 10 (slot 1), which waits for "
        "F1.9 on rank 9 (slot 1), which waits for F1.8 on rank 8 (slot 1), which waits for F1.7 on "
        "rank 7 (slot 1), which waits for F1.6 on rank 6 (slot 1), which waits for F1.5 on rank 5 "
        "(slot 1), which waits for F1.4 on rank 4 (slot 1), and so on through 4 more ranks back to "
        "rank 0\n    rank 0: F0.0 F0.12 F1.0 F1.12 B0.12 B0.0 B1.12 B1.0\n                 ^");
    ty_text_release(&text);
    ty_arena_release(&arena);
}

/* ---- damage ---- */

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u; /* Numerical Recipes' linear congruence */
    return *state >> 8;
}

/* Two slots of a rank change places: refused exactly when an independent player cannot end. */
static void visit_swaps(const struct play *generated)
{
    static uint32_t state = 1;
    struct play play = *generated;
    if (play.shape.m > 6 || play.shape.v > 2 || play.shape.slices > 2) {
        return;
    }
    for (unsigned round = 0; round < 8; round++) {
        const struct ty_rank_slots *rank = &play.slots.rank[next_random(&state) % play.shape.p];
        const uint32_t i = next_random(&state) % rank->n;
        const uint32_t j = round % 2 == 0 ? next_random(&state) % rank->n : (i + 1) % rank->n;
        struct ty_slot *a = &rank->slot[i], *b = &rank->slot[j];
        const bool whole =
            !a->paired && !b->paired && (i == 0 || !a[-1].paired) && (j == 0 || !b[-1].paired);
        if (whole) {
            const struct ty_slot kept = *a;
            *a = *b;
            *b = kept;
        }
        clear_err();
        play_run(&play);
        const int rc = check_all(play.sched->placement, &play.shape, &play.slots);
        ck_assert_msg((rc == 0) == play.done, "%s p=%u m=%u v=%u: %s", play.sched->name,
                      (unsigned)play.shape.p, (unsigned)play.shape.m, (unsigned)play.shape.v,
                      err.text);
        ck_assert_int_eq(rc, err.code);
    }
}

TEST(an_order_is_refused_exactly_when_it_cannot_run)
{
    for_each_schedule(visit_swaps);
}

/* Any one atom left out, doubled or moved to the next rank is refused. */
static void visit_losses(const struct play *play)
{
    if (play->shape.m > 4 || play->shape.p < 2) {
        return;
    }
    for (uint32_t r = 0; r < play->shape.p; r++) {
        struct ty_rank_slots *rank = &play->slots.rank[r];
        for (uint32_t i = 0; i < rank->n; i++) {
            const struct ty_slot kept = rank->slot[i];
            struct ty_slot *other = &rank->slot[(i + 1) % rank->n];
            if (kept.paired || (i > 0 && rank->slot[i - 1].paired) || rank->n < 2) {
                continue;
            }
            rank->slot[i] = *other;
            clear_err();
            ck_assert_int_lt(check_all(play->sched->placement, &play->shape, &play->slots), 0);
            rank->slot[i] = kept;
            rank->slot[i].stage = (uint16_t)((kept.stage + 1) % ty_sched_stages(&play->shape));
            clear_err();
            ck_assert_int_lt(check_all(play->sched->placement, &play->shape, &play->slots), 0);
            rank->slot[i] = kept;
        }
    }
}

TEST(an_atom_that_is_lost_or_renamed_is_refused)
{
    for_each_schedule(visit_losses);
}

/* Bytes changed, cut out or put in: the reader answers, and says something when it refuses. */
TEST(damaged_files_are_read_or_refused_with_a_message)
{
    static const char *const names[] = {"two_way.slots", "sliced.slots", "lowered.csv"};
    static const char bytes[] = "FBIW0123456789.^#()|;, \n\r\"\xC3";
    uint32_t state = 7;
    for (unsigned round = 0; round < 6000; round++) {
        char *text = read_file(names[round % TY_COUNT(names)]);
        for (unsigned hit = next_random(&state) % 3; hit < 3; hit++) {
            const size_t len = strlen(text), at = next_random(&state) % (len + 1);
            if (next_random(&state) % 2 == 0 && at < len) {
                memmove(text + at, text + at + 1, len - at);
            } else {
                text[at] = bytes[next_random(&state) % (sizeof(bytes) - 1)];
            }
        }
        struct ty_arena arena = {.head = NULL};
        struct ty_slots_file file;
        clear_err();
        const int rc = read_all(&file, "f", text, strlen(text), &arena);
        ck_assert_int_eq(rc == 0, err.n == 0);
        ck_assert_int_eq(rc, err.code);
        ty_arena_release(&arena);
        free(text);
    }
}

TY_SUITE("wrong slots")
