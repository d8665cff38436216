/* tasks.c - an executed run as columns, for programs that compute with it.
 *
 * A task is nowhere stored as a row (sim/core/program/program.h); here the tasks of some ranks are
 * written out, each column in one allocation that readers may use in place. */
#include <stdio.h>
#include <stdlib.h>

#include "sim/run/jobs.h"
#include "sim/run/limits.h"
#include "sim/run/select.h"

static const char *const phase_names[] = {
#define X(id, letter, word) word,
    TY_PHASES(X)
#undef X
};
/* The columns while they are filled. id, type; those of struct ty_tasks point to the same
 * arrays. */
#define COLUMNS(X)                                                                                 \
    X(start_ps, uint64_t)                                                                          \
    X(dur_ps, uint64_t)                                                                            \
    X(rank, uint32_t)                                                                              \
    X(kind, uint32_t)                                                                              \
    X(pass, uint32_t)                                                                              \
    X(micro_batch, uint16_t)                                                                       \
    X(stage, uint16_t)                                                                             \
    X(step, uint16_t)                                                                              \
    X(layer, uint16_t)                                                                             \
    X(stream, uint8_t)                                                                             \
    X(phase, uint8_t)                                                                              \
    X(category, uint8_t)

struct columns {
    struct ty_tasks public; /* first: what is handed out is a pointer to it */
    struct ty_arena arena;  /* owns the columns */
#define X(id, type) type *id;
    COLUMNS(X)
#undef X
};

static size_t row_bytes(void)
{
    size_t bytes = 0;
#define X(id, type) bytes += sizeof(type);
    COLUMNS(X)
#undef X
    return bytes;
}

/* Room for n rows. */
static bool make_columns(struct columns *c, size_t n)
{
    bool ok = true;
#define X(id, type)                                                                                \
    c->id = ty_arena_array(&c->arena, type, n);                                                    \
    c->public.id = c->id;                                                                          \
    ok = ok && c->id != NULL;
    COLUMNS(X)
#undef X
    c->public.n = n;
    return ok;
}

/* What the numbers in the columns mean. */
static bool name_rows(struct columns *c, const struct ty_program *p)
{
    const struct ty_vocabulary *words = p->words;
    const char **kinds = ty_arena_array(&c->arena, const char *, p->n_kinds);
    const char **streams = ty_arena_array(&c->arena, const char *, words->n_streams);
    const char **categories = ty_arena_array(&c->arena, const char *, words->n_categories);
    if (kinds == NULL || streams == NULL || categories == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < words->n_streams; i++) {
        streams[i] = words->streams[i].name;
    }
    for (uint32_t i = 0; i < words->n_categories; i++) {
        categories[i] = words->categories[i].name;
    }
    for (uint32_t i = 0; i < p->n_kinds; i++) {
        kinds[i] = ty_arena_printf(&c->arena, "%s", p->kinds[i].name);
        if (kinds[i] == NULL) {
            return false;
        }
    }
    c->public.kind_names = kinds;
    c->public.n_kinds = p->n_kinds;
    c->public.stream_names = streams;
    c->public.n_streams = words->n_streams;
    c->public.phase_names = phase_names;
    c->public.n_phases = TY_N_PHASES;
    c->public.category_names = categories;
    c->public.n_categories = words->n_categories;
    return true;
}

/* The tasks of one rank from row i on; the row after them. */
static size_t fill_rank(struct columns *c, size_t i, const struct ty_timeline *t, uint32_t rank)
{
    struct ty_span_cursor cursor = ty_spans_of(t, rank);
    const struct ty_pass *first = ty_gang_passes(t->program, cursor.gang);
    struct ty_span span;
    for (; ty_span_next(&cursor, &span); i++) {
        c->start_ps[i] = span.start;
        c->dur_ps[i] = span.dur;
        c->rank[i] = rank;
        c->kind[i] = span.op->kind;
        c->pass[i] = (uint32_t)(span.pass - first);
        c->micro_batch[i] = (uint16_t)ty_op_mb(span.pass, span.op);
        c->stage[i] = span.pass->stage;
        c->step[i] = span.pass->step;
        c->layer[i] = span.op->layer;
        c->stream[i] = span.op->stream;
        c->phase[i] = span.pass->phase;
        c->category[i] = span.kind->category;
    }
    return i;
}

static size_t count_tasks(const struct ty_program *p, const struct ty_selection *selection)
{
    size_t n = 0;
    for (uint32_t i = 0; i < selection->n; i++) {
        n += p->gangs[ty_program_seat(p, selection->ranks[i]).gang].n_ops;
    }
    return n;
}

static int fill(struct columns *c, const struct ty_run *run, const struct ty_selection *selection,
                struct ty_err *err)
{
    const struct ty_timeline *t = &run->all;
    const size_t n = count_tasks(t->program, selection);
    char what[64];
    (void)snprintf(what, sizeof(what), "columns of %zu tasks", n);
    const int rc = ty_limit_check(run->config, what, (double)n * (double)row_bytes(), 0,
                                  "ask for fewer ranks, such as one-per-stage", err);
    if (rc < 0) {
        return rc;
    }
    if (!make_columns(c, n) || !name_rows(c, t->program)) {
        return ty_fail_memory(err);
    }
    size_t row = 0;
    for (uint32_t i = 0; i < selection->n; i++) {
        row = fill_rank(c, row, t, selection->ranks[i]);
    }
    return 0;
}

int ty_run_tasks(const struct ty_run *run, const char *ranks, struct ty_tasks **tasks,
                 struct ty_err *err)
{
    *tasks = NULL;
    int rc = ty_run_check_ranks(run, "a column of tasks", false, err);
    if (rc < 0) {
        return rc;
    }
    struct ty_arena arena = {.head = NULL};
    struct ty_selection selection;
    rc = ty_select_ranks(run, ranks, "rank", &arena, &selection, err);
    struct columns *c = rc == 0 ? calloc(1, sizeof(*c)) : NULL;
    if (rc == 0) {
        rc = c != NULL ? fill(c, run, &selection, err) : ty_fail_memory(err);
    }
    ty_arena_release(&arena);
    if (rc < 0) {
        ty_tasks_free(c != NULL ? &c->public : NULL);
        return rc;
    }
    *tasks = &c->public;
    return 0;
}

void ty_tasks_free(struct ty_tasks *tasks)
{
    if (tasks != NULL) {
        struct columns *c = (struct columns *)(void *)tasks;
        ty_arena_release(&c->arena);
        free(c);
    }
}
