/* test_slots.c - schedules as text: what is written is read back, what is wrong is named.
 *
 * tests/golden/schedules holds files that users could have written. A file that begins with
 * "# is: " is right and says what it is; all others carry their messages as "# expect: " lines, and
 * end with "# halts" if ranks can never finish. */
#include <dirent.h>

#include "model/orders/csv.h"
#include "model/orders/text.h"
#include "tests/unit/slots_case.h"

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
    const int rc = read_all(&file, name, text, strlen(text), &arena);
    marked_lines(text, "# is: ", expected);
    const bool right = expected[0] != '\0';
    if (right) {
        ck_assert_msg(rc == 0, "%s", err.text);
        describe(&file, is, sizeof(is));
        ck_assert_str_eq(is, expected);
    } else {
        marked_lines(text, "# expect: ", expected);
        ck_assert_int_eq(rc, strstr(text, "\n# halts") != NULL ? TY_EDEADLOCK : TY_EINPUT);
        ck_assert_str_eq(err.text, expected);
    }
    ty_arena_release(&arena);
    free(expected);
    free(text);
    return right;
}

TEST(files_are_read_or_refused_with_the_messages_they_state)
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

/* ---- there and back ---- */

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
    ck_assert_msg(read_all(&file, "text", text, strlen(text), &arena) == 0, "%s: %s\n%s",
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
    ck_assert_msg(check_all(play->sched->placement, &play->shape, &play->slots) == 0,
                  "%s p=%u m=%u v=%u: %s", play->sched->name, (unsigned)play->shape.p,
                  (unsigned)play->shape.m, (unsigned)play->shape.v, err.text);
}

TEST(every_schedule_passes_its_rules)
{
    for_each_schedule(visit_check);
}

TEST(text_of_every_schedule_reads_back_as_the_same_slots)
{
    for_each_schedule(visit_text);
}

TEST(csv_of_every_schedule_reads_back_as_the_same_slots)
{
    for_each_schedule(visit_csv);
}

TEST(csv_is_what_pytorch_writes)
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

TEST(csv_refuses_what_it_cannot_say)
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

/* ---- reading in detail ---- */

/* Line ends of three systems, a byte-order mark, tabs, halves and marks in any order. */
TEST(spellings_of_the_same_schedule_read_alike)
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
    memset(&first, 0, sizeof(first));
    memset(&file, 0, sizeof(file));
    clear_err();
    for (size_t i = 0; i < TY_COUNT(texts); i++) {
        struct ty_slots_file *target = i == 0 ? &first : &file;
        ck_assert_msg(ty_slots_read(target, "text", texts[i], strlen(texts[i]), &arena, &err) == 0,
                      "%s", err.text);
        assert_same_slots(&target->slots, &first.slots);
    }
    ty_arena_release(&arena);
}

/* The bytes at the place of an atom, counted without the reader's help. */
static const char *at_mark(const char *text, struct ty_slot_mark mark)
{
    for (uint32_t line = 1; line < mark.line; line++) {
        text = strchr(text, '\n') + 1;
    }
    return text + mark.col - 1;
}

TEST(marks_point_at_their_atoms)
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

TEST(wrong_texts_are_refused_in_one_line)
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

TY_SUITE("slots")
