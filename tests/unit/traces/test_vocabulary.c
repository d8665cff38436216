/* test_vocabulary.c - programs with words of their own, and rows of tables that nobody uses. */
#include "sim/core/program/vocabulary.h"

#include "sim/core/execute/execute.h"
#include "tests/unit/tiny_trace.h"

/* ---- rows that nobody uses ---- */

struct wider {
    struct ty_vocabulary words;
    struct ty_stream_row streams[TY_MAX_STREAMS];
    struct ty_category_row categories[64];
    struct ty_part_row parts[64];
};

/* As many streams as there can be; categories and parts that no operation has. */
static void widen(struct wider *w, const struct ty_vocabulary *from)
{
    w->words = *from;
    memcpy(w->streams, from->streams, from->n_streams * sizeof(*w->streams));
    memcpy(w->categories, from->categories, from->n_categories * sizeof(*w->categories));
    memcpy(w->parts, from->parts, from->n_parts * sizeof(*w->parts));
    while (w->words.n_streams < TY_MAX_STREAMS) {
        w->streams[w->words.n_streams] = (struct ty_stream_row){
            "nobody", (uint8_t)(TY_FIRST_TID + w->words.n_streams), TY_GRAIN_MICRO_BATCH};
        w->words.n_streams++;
    }
    for (uint32_t i = 0; i < 5; i++) {
        w->categories[w->words.n_categories++] =
            (struct ty_category_row){"comm.nobody", "grey", "nobody", from->message, false};
        w->parts[w->words.n_parts++] = (struct ty_part_row){"nobody", "grey"};
    }
    w->words.streams = w->streams;
    w->words.categories = w->categories;
    w->words.parts = w->parts;
}

/* What all formats write of a run, and what executors and statistics say. */
struct outcome {
    char *text[16];
    size_t n[16], n_formats;
    ty_ps *start;
    struct ty_stats stats;
    struct ty_arena arena;
};

static void find_outcome(struct outcome *o, struct tiny_trace *c)
{
    struct ty_timeline other;
    *o = (struct outcome){.n_formats = 0};
    ck_assert_int_eq(ty_sweep(&c->run.timeline, &err), 0);
    ck_assert_int_eq(ty_stats_compute(&o->stats, &c->run.timeline, &o->arena, &err), 0);
    ck_assert_int_eq(ty_timeline_init(&other, &c->run.program, &err), 0);
    ck_assert_int_eq(ty_events(&other, &err), 0);
    o->start = other.start;
    other.start = NULL;
    ty_timeline_release(&other);
    ck_assert_mem_eq(o->start, c->run.timeline.start, c->run.program.n_tasks * sizeof(*o->start));
    for (; ty_trace_formats[o->n_formats] != NULL; o->n_formats++) {
        const struct ty_trace_format *format = ty_trace_formats[o->n_formats];
        c->trace.n_ranks = format->per_rank ? 1 : c->run.program.n_ranks;
        o->text[o->n_formats] = write_text(&c->trace, format->name, &o->n[o->n_formats]);
    }
}

static void free_outcome(struct outcome *o)
{
    for (size_t i = 0; i < o->n_formats; i++) {
        free(o->text[i]);
    }
    free(o->start);
    ty_arena_release(&o->arena);
}

TEST(rows_that_nobody_uses_change_nothing)
{
    const struct tiny shape = {
        .p = 3, .t = 2, .d = 2, .m = 4, .layers = 2, .data = true, .recompute = true};
    struct wider wider;
    struct tiny_trace c;
    struct outcome a, b;
    begin(&c, &shape);
    const uint32_t n_lanes = c.run.program.n_lanes;
    find_outcome(&a, &c);
    widen(&wider, c.run.program.words);
    c.run.program.words = &wider.words;
    ck_assert_int_eq(ty_program_seal(&c.run.program, &c.run.arena, &err), 0);
    ck_assert_uint_eq(c.run.program.n_lanes, n_lanes);
    find_outcome(&b, &c);
    ck_assert_mem_eq(a.start, b.start, c.run.program.n_tasks * sizeof(*a.start));
    ck_assert_mem_eq(a.stats.rank, b.stats.rank, a.stats.n_ranks * sizeof(*a.stats.rank));
    for (size_t i = 0; i < a.n_formats; i++) {
        ck_assert_msg(a.n[i] == b.n[i] && memcmp(a.text[i], b.text[i], a.n[i]) == 0, "%s",
                      ty_trace_formats[i]->name);
    }
    free_outcome(&a);
    free_outcome(&b);
    tiny_release(&c.run);
}

/* ---- other words ---- */

enum {
    WORK,
    MAIL,
    WIRE
}; /* streams */
enum {
    LABOUR,
    POST
}; /* categories */
enum {
    BUSY,
    LATE,
    BEFORE,
    BETWEEN,
    AFTER
}; /* buckets */

static const struct ty_vocabulary post_office = {
    .streams = (const struct ty_stream_row[]){{"work", 11, TY_GRAIN_OPERATION},
                                              {"mail", 12, TY_GRAIN_MICRO_BATCH},
                                              {"wire", 13, TY_GRAIN_MICRO_BATCH}},
    .categories = (const struct ty_category_row[]){{"labour", "good", "labour", BUSY, false},
                                                   {"post", "bad", "post", LATE, false}},
    .buckets = (const struct ty_bucket_row[]){{.name = "busy", .pace = TY_PACE_COMPUTES},
                                              {.name = "late", .pace = TY_PACE_WAITS},
                                              {.name = "before", .pace = TY_PACE_IDLES},
                                              {.name = "between", .pace = TY_PACE_IDLES},
                                              {.name = "after", .pace = TY_PACE_IDLES}},
    .parts = (const struct ty_part_row[]){{"", NULL}},
    .memory = (const char *const[]){"letters"},
    .n_streams = 3,
    .n_categories = 2,
    .n_buckets = 5,
    .n_parts = 1,
    .n_memory = 1,
    .receives = MAIL,
    .closes = WIRE,
    .closing = LATE,
    .closed = "post",
    .fill = BEFORE,
    .stall = BETWEEN,
    .drain = AFTER,
    .message = LATE,
    .of_phase = {LABOUR},
};

/* A clerk works for 100 ps, then sends a letter of 10 ps, which another gets 5 ps later, reads for
 * 10 ps and works on for 100 ps. */
static void make_office(struct ty_program *p, struct ty_arena *arena)
{
    static const uint32_t ranks[] = {0, 1};
    struct ty_builder b = {.program = p, .arena = arena, .err = &err};
    struct ty_op work = TY_OP_INIT, post = TY_OP_INIT;
    *p = (struct ty_program){.words = &post_office, .n_steps = 1, .jitter = {.group = TY_NONE}};
    ty_build_kind(&b, &(struct ty_kind){.name = "labour", .category = LABOUR, .dur = 100});
    ty_build_kind(&b, &(struct ty_kind){.name = "letter", .category = POST, .dur = 10});
    ty_build_channel(
        &b, &(struct ty_channel){.name = "letter", .from = 0, .to = 1, .n_seq = 1, .delay = 5});
    post.kind = 1;
    post.link = 0;
    for (uint32_t g = 0; g < 2; g++) {
        ty_build_gang(&b, &(struct ty_gang){.name = "clerk", .n_ranks = 1, .rank_of = &ranks[g]});
        ty_build_block(&b, &(struct ty_block){.n_ops = 0});
        post.stream = g == 0 ? WIRE : MAIL;
        post.sync = g == 0 ? TY_SYNC_SEND : TY_SYNC_RECV;
        struct ty_op *first = g == 0 ? &work : &post, *second = g == 0 ? &post : &work;
        first->wait[0] = TY_NO_EVENT;
        first->record = 0;
        second->wait[0] = 0;
        second->record = TY_NO_EVENT;
        ty_build_op(&b, first);
        ty_build_op(&b, second);
        ty_build_pass(&b, &(struct ty_pass){.block = g});
    }
    ck_assert_msg(ty_program_seal(p, arena, &err) == 0, "%s", err.text);
}

TEST(a_program_has_words_of_its_own)
{
    struct tiny_trace c = {.run = {.program = {.n_steps = 1}}};
    struct tiny_run *run = &c.run;
    make_office(&run->program, &run->arena);
    ck_assert_uint_eq(run->program.n_lanes, 3);
    ck_assert_int_eq(ty_timeline_init(&run->timeline, &run->program, &err), 0);
    ck_assert_int_eq(ty_sweep(&run->timeline, &err), 0);
    ck_assert_uint_eq(run->timeline.makespan, 225);
    ck_assert_int_eq(ty_events(&run->timeline, &err), 0);
    ck_assert_uint_eq(run->timeline.makespan, 225);
    ck_assert_int_eq(ty_stats_compute(&run->stats, &run->timeline, &run->arena, &err), 0);
    const ty_ps sends[] = {[BUSY] = 100, [LATE] = 10, [AFTER] = 115};
    const ty_ps reads[] = {[BUSY] = 100, [LATE] = 25, [BEFORE] = 100, [AFTER] = 0};
    ck_assert_mem_eq(run->stats.rank[0].bucket, sends, sizeof(sends));
    ck_assert_mem_eq(run->stats.rank[1].bucket, reads, sizeof(reads));
    c.trace = (struct ty_trace){.timeline = &run->timeline,
                                .ranks = (const uint32_t[]){0, 1},
                                .n_ranks = 2,
                                .detail = TY_DETAIL_OP,
                                .window_to = UINT64_MAX};
    size_t n;
    char *text = write_text(&c.trace, "csv", &n);
    ck_assert_ptr_nonnull(strstr(text, "\n0,wire,forward,0,0,0,,letter,post,100,10,"));
    ck_assert_ptr_nonnull(strstr(text, "\n1,mail,forward,0,0,0,,letter,post,115,10,"));
    free(text);
    tiny_release(run);
}

TEST(what_does_not_fit_a_vocabulary_is_refused)
{
    static struct ty_err wrong;
    struct ty_arena arena = {.head = NULL};
    struct ty_program p;
    struct ty_vocabulary words = post_office;
    make_office(&p, &arena);
    p.words = &words;
    ck_assert_int_eq(ty_program_seal(&p, &arena, &wrong), 0);
    words.n_streams = WIRE;
    ck_assert_int_eq(ty_program_seal(&p, &arena, &wrong), TY_EBUG);
    words.n_streams = TY_MAX_STREAMS + 1;
    ck_assert_int_eq(ty_program_seal(&p, &arena, &wrong), TY_EBUG);
    words.n_streams = 3;
    words.n_categories = POST;
    ck_assert_int_eq(ty_program_seal(&p, &arena, &wrong), TY_EBUG);
    words.n_categories = 2;
    words.receives = WIRE; /* now the letter arrives where nothing is received */
    ck_assert_int_eq(ty_program_seal(&p, &arena, &wrong), TY_EBUG);
    p.words = NULL;
    ck_assert_int_eq(ty_program_seal(&p, &arena, &wrong), TY_EBUG);
    ty_arena_release(&arena);
}

TY_SUITE("vocabulary")
