/* test_slots.c - schedules as text: what is written is read back, and what is wrong is named.
 *
 * tests/golden/schedules holds files that users could have written. A file that begins with
 * "# is: " is right and says what it is; all others carry their messages as "# expect: " lines. */
#include <dirent.h>

#include "model/slots_csv.h"
#include "model/slots_text.h"
#include "tests/unit/sched_play.h"

static struct ty_err err;

static void clear_err(void)
{
    err = (struct ty_err)TY_ERR_NONE;
}

/* ---- files ---- */

static char *read_file(const char *name)
{
    char path[1024];
    const char *top = getenv("TRAINYARD_SOURCE");
    snprintf(path, sizeof(path), "%s/tests/golden/schedules/%s", top != NULL ? top : ".", name);
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s cannot be read; TRAINYARD_SOURCE names the top", path);
    char *text = calloc(1, 65536);
    ck_assert_uint_lt(fread(text, 1, 65535, file), 65535);
    fclose(file);
    return text;
}

/* What the comments that begin with `mark` say, one line each. */
static void marked_lines(const char *text, const char *mark, char *out)
{
    const size_t n = strlen(mark);
    char *p = out;
    for (const char *line = text; *line != '\0'; line += strspn(line, "\n")) {
        const size_t len = strcspn(line, "\n");
        if (len >= n && strncmp(line, mark, n) == 0) {
            p += sprintf(p, "%s%.*s", p == out ? "" : "\n", (int)(len - n), line + n);
        }
        line += len;
    }
    *p = '\0';
}

static void describe(const struct ty_slots_file *file, char *out, size_t size)
{
    static const char *const placements[] = {"looped", "V", "two-way"};
    const struct ty_sched_shape *s = &file->shape;
    snprintf(out, size, "%s, %u ranks, %u micro-batches, %u stage%s per rank, %u slice%s",
             placements[file->placement], (unsigned)s->p, (unsigned)s->m, (unsigned)s->v,
             s->v == 1 ? "" : "s", (unsigned)s->slices, s->slices == 1 ? "" : "s");
}

static bool check_golden(const char *name)
{
    char *text = read_file(name), *expected = calloc(1, 65536);
    char is[256];
    struct ty_arena arena = {.head = NULL};
    struct ty_slots_file file;
    clear_err();
    const int rc = ty_slots_read(&file, name, text, strlen(text), &arena, &err);
    marked_lines(text, "# is: ", expected);
    const bool right = expected[0] != '\0';
    if (right) {
        ck_assert_msg(rc == 0, "%s", err.text);
        describe(&file, is, sizeof(is));
        ck_assert_str_eq(is, expected);
    } else {
        marked_lines(text, "# expect: ", expected);
        ck_assert_int_eq(rc, TY_EINPUT);
        ck_assert_str_eq(err.text, expected);
    }
    ty_arena_release(&arena);
    free(expected);
    free(text);
    return right;
}

START_TEST(files_are_read_or_refused_with_the_messages_they_state)
{
    char path[1024];
    unsigned n_right = 0, n_wrong = 0;
    const char *top = getenv("TRAINYARD_SOURCE");
    snprintf(path, sizeof(path), "%s/tests/golden/schedules", top != NULL ? top : ".");
    DIR *dir = opendir(path);
    ck_assert_msg(dir != NULL, "%s cannot be read; TRAINYARD_SOURCE names the top", path);
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        if (e->d_name[0] != '.') {
            const bool right = check_golden(e->d_name);
            n_right += right;
            n_wrong += !right;
        }
    }
    closedir(dir);
    ck_assert_uint_ge(n_right, 5);
    ck_assert_uint_ge(n_wrong, 18);
}
END_TEST

/* ---- there and back ---- */

/* Calls `visit` with every schedule on every shape of a small grid that it accepts. */
static void for_each_schedule(void (*visit)(const struct play *))
{
    const struct play_times times = play_even(1, 1, 1, 0);
    for (size_t i = 0; ty_schedules[i] != NULL; i++) {
        unsigned n = 0;
        for (uint32_t k = 0; k < 6 * 12 * 4 * 3; k++) {
            const struct ty_sched_shape shape = {
                .p = 1 + k % 6, .m = 1 + k / 6 % 12, .v = 1 + k / 72 % 4, .slices = 1 + k / 288};
            struct play play;
            if (shape.slices > 1 && strcmp(ty_schedules[i]->name, "seq1f1b") != 0) {
                continue; /* the others know whole sequences only */
            }
            if (play_begin(&play, ty_schedules[i]->name, &shape, &times, NULL) == 0) {
                visit(&play);
                n++;
            }
            play_end(&play);
        }
        ck_assert_msg(n >= 6, "%s accepts %u shapes", ty_schedules[i]->name, n);
    }
}

static void assert_same_slots(const struct ty_slots *a, const struct ty_slots *b)
{
    ck_assert_uint_eq(a->p, b->p);
    for (uint32_t r = 0; r < a->p; r++) {
        ck_assert_uint_eq(a->rank[r].n, b->rank[r].n);
        ck_assert_mem_eq(a->rank[r].slot, b->rank[r].slot, a->rank[r].n * sizeof(struct ty_slot));
    }
}

/* Reads a text and demands the orders, sizes and stage owners of a schedule. */
static void assert_reads_as(const char *text, const struct play *play)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_slots_file file;
    clear_err();
    ck_assert_msg(ty_slots_read(&file, "text", text, strlen(text), &arena, &err) == 0, "%s: %s\n%s",
                  play->sched->name, err.text, text);
    assert_same_slots(&file.slots, &play->slots);
    ck_assert_uint_eq(file.shape.p, play->shape.p);
    ck_assert_uint_eq(file.shape.m, play->shape.m);
    ck_assert_uint_eq(file.shape.v, play->shape.v);
    ck_assert_uint_eq(file.shape.slices, play->shape.slices);
    ck_assert_uint_eq(ty_sched_directions(file.placement),
                      ty_sched_directions(play->sched->placement));
    for (uint32_t d = 0; d < ty_sched_directions(file.placement); d++) {
        for (uint32_t s = 0; s < ty_sched_stages(&file.shape); s++) {
            ck_assert_uint_eq(ty_sched_owner(file.placement, &file.shape, d, s),
                              ty_sched_owner(play->sched->placement, &play->shape, d, s));
        }
    }
    ty_arena_release(&arena);
}

static void visit_text(const struct play *play)
{
    static char order[65536];
    struct ty_text text = {.data = NULL}, expected = {.data = NULL};
    ty_slots_write_text(&play->slots, &text);
    for (uint32_t r = 0; r < play->slots.p; r++) {
        play_text(&play->slots.rank[r], order, sizeof(order));
        ty_text_add(&expected, "rank %u: %s\n", (unsigned)r, order);
    }
    ck_assert_str_eq(text.data, expected.data);
    assert_reads_as(text.data, play);
    ty_text_release(&text);
    ty_text_release(&expected);
}

static void visit_csv(const struct play *play)
{
    struct ty_text text = {.data = NULL};
    clear_err();
    const bool writable = play->sched->placement != TY_PLACE_TWO_WAY && play->shape.slices == 1;
    if (writable) {
        ck_assert_int_eq(ty_slots_write_csv(&play->slots, &text, &err), 0);
        assert_reads_as(text.data, play);
    } else {
        ck_assert_int_eq(ty_slots_write_csv(&play->slots, &text, &err), TY_EUSAGE);
        ck_assert_uint_eq(text.len, 0);
    }
    ty_text_release(&text);
}

static void visit_check(const struct play *play)
{
    clear_err();
    ck_assert(play->done);
    ck_assert_msg(ty_slots_check(play->sched->placement, &play->shape, &play->slots, NULL, &err) ==
                      0,
                  "%s p=%u m=%u v=%u: %s", play->sched->name, (unsigned)play->shape.p,
                  (unsigned)play->shape.m, (unsigned)play->shape.v, err.text);
}

START_TEST(every_schedule_passes_its_rules)
{
    for_each_schedule(visit_check);
}
END_TEST

START_TEST(text_of_every_schedule_reads_back_as_the_same_slots)
{
    for_each_schedule(visit_text);
}
END_TEST

START_TEST(csv_of_every_schedule_reads_back_as_the_same_slots)
{
    for_each_schedule(visit_csv);
}
END_TEST

START_TEST(csv_is_what_pytorch_writes)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_slots_file file;
    struct ty_text text = {.data = NULL};
    static const char slots[] = "rank 0: F0.0 F1.0 (F2.0|B0.0) I1.0 W1.0 B2.0\n"
                                "rank 1: F0.1 B0.1 F1.1 B1.1 F2.1 B2.1\n";
    clear_err();
    ck_assert_int_eq(ty_slots_read(&file, "text", slots, strlen(slots), &arena, &err), 0);
    ck_assert_int_eq(ty_slots_write_csv(&file.slots, &text, &err), 0);
    ck_assert_str_eq(text.data, "0F0,0F1,(0F2;0B0)OVERLAP_F_B,0I1,0W1,0B2\n"
                                "1F0,1B0,1F1,1B1,1F2,1B2\n");
    ty_text_release(&text);
    ty_arena_release(&arena);
}
END_TEST

START_TEST(csv_refuses_what_it_cannot_say)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"rank 0: F0.0 F0.0^ B0.0 B0.0^\n",
         "rank 0 slot 1 (F0.0^): PyTorch's schedule CSV has no second direction; use the slots "
         "format"},
        {"rank 0: F0.0 F0.0#1 B0.0#1 B0.0\n",
         "rank 0 slot 1 (F0.0#1): PyTorch's schedule CSV has no slices of sequences; use the slots "
         "format"},
    };
    for (size_t i = 0; i < TY_COUNT(cases); i++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_slots_file file;
        struct ty_text text = {.data = NULL};
        const size_t len = strlen(cases[i].text);
        clear_err();
        ck_assert_int_eq(ty_slots_read(&file, "text", cases[i].text, len, &arena, &err), 0);
        ck_assert_int_eq(ty_slots_write_csv(&file.slots, &text, &err), TY_EUSAGE);
        ck_assert_str_eq(err.text, cases[i].message);
        ck_assert_uint_eq(text.len, 0);
        ty_arena_release(&arena);
    }
}
END_TEST

/* ---- reading in detail ---- */

/* Line ends of three systems, a byte-order mark, tabs, halves and marks in any order. */
START_TEST(spellings_of_the_same_schedule_read_alike)
{
    static const char *const texts[] = {
        "rank 0: F0.0 F1.0 (F2.0|B0.0) B1.0 B2.0\nrank 1: F0.1 B0.1 F1.1 B1.1 F2.1 B2.1\n",
        "rank 1: F0.1 B0.1 F1.1 B1.1 F2.1 B2.1\r\nrank 0: F0.0 F1.0 (B0.0|F2.0) B1.0 B2.0",
        "\xEF\xBB\xBF\r\r#\r  rank  0 :F0.0\tF1.0 (F2.0|B0.0) B1.0 B2.0 \r"
        "\trank\t1:F0.1 B0.1 F1.1 B1.1 F2.1 B2.1",
        "rank 0: F0000.0 F1.0#0 (F2.0|B0.0) B1.00 B2.0\n\n \t\nrank 1: F0.1 B0.1 F1.1 B1.1 F2.1 "
        "B2.1",
        "\n0F0,0F1,(0F2;0B0)OVERLAP_F_B,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n",
        "0UNSHARD,0F0,\"0F1\",,,(0B0;0F2)OVERLAP_F_B, 0B1 ,0B2,0RESHARD,,\r\n"
        "1RECV_F0,1F0,1B0,1SEND_B0,1F1,1B1,1F2,1B2,1REDUCE_GRAD\r\n\r\n",
    };
    struct ty_arena arena = {.head = NULL};
    struct ty_slots_file first, file;
    clear_err();
    for (size_t i = 0; i < TY_COUNT(texts); i++) {
        struct ty_slots_file *target = i == 0 ? &first : &file;
        ck_assert_msg(ty_slots_read(target, "text", texts[i], strlen(texts[i]), &arena, &err) == 0,
                      "%s", err.text);
        assert_same_slots(&target->slots, &first.slots);
    }
    ty_arena_release(&arena);
}
END_TEST

/* The bytes at the place of an atom, counted without the reader's help. */
static const char *at_mark(const char *text, struct ty_slot_mark mark)
{
    for (uint32_t line = 1; line < mark.line; line++) {
        text = strchr(text, '\n') + 1;
    }
    return text + mark.col - 1;
}

START_TEST(marks_point_at_their_atoms)
{
    static const char *const names[] = {"1f1b.slots", "split_v.slots", "two_way.slots",
                                        "sliced.slots"};
    char atom[32];
    unsigned n = 0;
    for (size_t i = 0; i < TY_COUNT(names); i++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_slots_file file;
        char *text = read_file(names[i]);
        clear_err();
        ck_assert_int_eq(ty_slots_read(&file, names[i], text, strlen(text), &arena, &err), 0);
        for (uint32_t r = 0; r < file.slots.p; r++) {
            char row[32];
            snprintf(row, sizeof(row), "rank %u:", (unsigned)r);
            ck_assert_int_eq(strncmp(at_mark(text, file.marks.rank[r].row), row, strlen(row)), 0);
            for (uint32_t k = 0; k < file.slots.rank[r].n; k++, n++) {
                ty_slot_text(&file.slots.rank[r].slot[k], atom, sizeof(atom));
                const char *found = at_mark(text, file.marks.rank[r].slot[k]);
                ck_assert_int_eq(strncmp(found, atom, strlen(atom)), 0);
            }
        }
        ty_arena_release(&arena);
        free(text);
    }
    ck_assert_uint_gt(n, 60);
}
END_TEST

START_TEST(wrong_texts_are_refused_in_one_line)
{
    static const struct {
        const char *text, *message;
        int code;
    } cases[] = {
        {"", "f: no schedule; write one line per rank, such as \"rank 0: F0.0 B0.0\"", TY_EINPUT},
        {"# nothing\n\n", "f: no schedule; write one line per rank, such as \"rank 0: F0.0 B0.0\"",
         TY_EINPUT},
        {"rank 0:", "f:1:1: rank 0 runs nothing\n    rank 0:\n    ^", TY_EINPUT},
        {",,", "f:1:1: rank 0 runs nothing\n    ,,\n    ^", TY_EINPUT},
        {"rank 1: F0.0 B0.0",
         "f:1:1: rank 1: ranks of 1 line are numbered from 0 to 0; rank 0 is missing\n"
         "    rank 1: F0.0 B0.0\n    ^",
         TY_EINPUT},
        {"rank 99999: F0.0",
         "f:1:1: wrong line (rank 99999: F0.0); write \"rank R:\" and the slots of rank R, 0 to "
         "65534\n    rank 99999: F0.0\n    ^",
         TY_EINPUT},
        {"rank 0: F0.0^ B0.0^",
         "f:1:9: rank 0 slot 0 (F0.0^): 0 micro-batches in the first direction, 1 in the second "
         "(^); a two-way schedule has equally many\n    rank 0: F0.0^ B0.0^\n            ^",
         TY_EINPUT},
        {"rank 0: F0.0 B0.0 F0.0^ F0.1^ B0.1^ B0.0^",
         "f:1:25: rank 0 slot 3 (F0.1^): 2 stages of the second direction on 1 ranks; a two-way "
         "schedule has one per rank and direction\n"
         "    rank 0: F0.0 B0.0 F0.0^ F0.1^ B0.1^ B0.0^\n                            ^",
         TY_EINPUT},
        {"rank 0: F0.0#3 B0.0#3",
         "f:1:9: rank 0 slot 0 (F0.0#3): slices 0 to 2 are missing everywhere; the highest is 3\n"
         "    rank 0: F0.0#3 B0.0#3\n            ^",
         TY_EINPUT},
        {"rank 0: F0.0 \xC3\xA9\xC3\xA9 F1-0 B0.0",
         "f:1:14: wrong slot (\xC3\xA9\xC3\xA9); write F, B, I or W, micro-batch, dot, stage, such "
         "as F3.1\n    rank 0: F0.0 \xC3\xA9\xC3\xA9 F1-0 B0.0\n                 ^\n"
         "f:1:17: wrong slot (F1-0); write F, B, I or W, micro-batch, dot, stage, such as F3.1\n"
         "    rank 0: F0.0 \xC3\xA9\xC3\xA9 F1-0 B0.0\n                    ^",
         TY_EINPUT},
    };
    for (size_t i = 0; i < TY_COUNT(cases); i++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_slots_file file;
        const size_t len = strlen(cases[i].text);
        clear_err();
        ck_assert_int_eq(ty_slots_read(&file, "f", cases[i].text, len, &arena, &err),
                         cases[i].code);
        ck_assert_str_eq(err.text, cases[i].message);
        ty_arena_release(&arena);
    }
}
END_TEST

/* ---- limits ---- */

START_TEST(twenty_messages_are_shown_and_the_rest_is_counted)
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
END_TEST

/* 65,535 micro-batches in one stage each: more pieces than any table should have. */
START_TEST(a_file_cannot_ask_for_more_pieces_than_it_has_passes)
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
END_TEST

START_TEST(more_atoms_than_the_limit_are_refused)
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
END_TEST

/* ---- checking orders that no file can hold ---- */

START_TEST(shapes_that_do_not_fit_are_refused)
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
END_TEST

START_TEST(atoms_that_make_no_sense_are_named)
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
END_TEST

/* Stage 12 waits at rank 0 for micro-batch 0, rank 11 wants micro-batch 1 first, which all ranks
 * between them wait for and rank 0 has not begun. */
START_TEST(a_long_ring_is_cut_short)
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
    ck_assert_int_eq(ty_slots_read(&file, "f", text.data, text.len, &arena, &err), TY_EINPUT);
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
END_TEST

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
        const int rc = ty_slots_check(play.sched->placement, &play.shape, &play.slots, NULL, &err);
        ck_assert_msg((rc == 0) == play.done, "%s p=%u m=%u v=%u: %s", play.sched->name,
                      (unsigned)play.shape.p, (unsigned)play.shape.m, (unsigned)play.shape.v,
                      err.text);
        ck_assert_int_eq(rc, err.code);
    }
}

START_TEST(an_order_is_refused_exactly_when_it_cannot_run)
{
    for_each_schedule(visit_swaps);
}
END_TEST

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
            ck_assert_int_lt(
                ty_slots_check(play->sched->placement, &play->shape, &play->slots, NULL, NULL), 0);
            rank->slot[i] = kept;
            rank->slot[i].stage = (uint16_t)((kept.stage + 1) % ty_sched_stages(&play->shape));
            ck_assert_int_lt(
                ty_slots_check(play->sched->placement, &play->shape, &play->slots, NULL, NULL), 0);
            rank->slot[i] = kept;
        }
    }
}

START_TEST(an_atom_that_is_lost_or_renamed_is_refused)
{
    for_each_schedule(visit_losses);
}
END_TEST

/* Bytes changed, cut out or put in: the reader answers, and says something when it refuses. */
START_TEST(damaged_files_are_read_or_refused_with_a_message)
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
        const int rc = ty_slots_read(&file, "f", text, strlen(text), &arena, &err);
        ck_assert_int_eq(rc == 0, err.n == 0);
        ck_assert_int_eq(rc, err.code);
        ty_arena_release(&arena);
        free(text);
    }
}
END_TEST

TY_SUITE("slots", files_are_read_or_refused_with_the_messages_they_state,
         every_schedule_passes_its_rules, text_of_every_schedule_reads_back_as_the_same_slots,
         csv_of_every_schedule_reads_back_as_the_same_slots, csv_is_what_pytorch_writes,
         csv_refuses_what_it_cannot_say, spellings_of_the_same_schedule_read_alike,
         marks_point_at_their_atoms, wrong_texts_are_refused_in_one_line,
         twenty_messages_are_shown_and_the_rest_is_counted,
         a_file_cannot_ask_for_more_pieces_than_it_has_passes,
         more_atoms_than_the_limit_are_refused, shapes_that_do_not_fit_are_refused,
         atoms_that_make_no_sense_are_named, a_long_ring_is_cut_short,
         an_order_is_refused_exactly_when_it_cannot_run, an_atom_that_is_lost_or_renamed_is_refused,
         damaged_files_are_read_or_refused_with_a_message)
