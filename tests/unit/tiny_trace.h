/* tiny_trace.h - a small run, the trace that shows all of it, and what a writer makes of it. */
#ifndef TY_TESTS_TINY_TRACE_H
#define TY_TESTS_TINY_TRACE_H

#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/tiny_run.h"
#include "traces/out/writer.h"

static struct ty_err err;

struct tiny_trace {
    struct tiny_run run;
    struct ty_trace trace;
    uint32_t ranks[256];
};

static inline void begin(struct tiny_trace *c, const struct tiny *shape)
{
    err = (struct ty_err)TY_ERR_NONE;
    ck_assert_msg(tiny_run(&c->run, shape, &err) == 0, "%s", err.text);
    for (uint32_t r = 0; r < c->run.program.n_ranks; r++) {
        c->ranks[r] = r;
    }
    c->trace = (struct ty_trace){.timeline = &c->run.timeline,
                                 .stats = &c->run.stats,
                                 .ranks = c->ranks,
                                 .n_ranks = c->run.program.n_ranks,
                                 .detail = TY_DETAIL_OP,
                                 .window_to = UINT64_MAX,
                                 .bubbles = true};
}

/* The file that a format writes, to be freed. */
static inline char *write_text(const struct ty_trace *trace, const char *format, size_t *n)
{
    struct temp_dir dir;
    struct ty_out out;
    temp_dir_make(&dir);
    const char *path = temp_dir_file(&dir, "trace");
    ck_assert_int_eq(ty_out_open(&out, path, &err), 0);
    const int rc = ty_trace_format(format)->write(trace, &out, &err);
    ck_assert_msg(rc == 0, "%s", err.text);
    ck_assert_int_eq(ty_out_commit(&out, &err), 0);
    char *text = file_text(path, n);
    temp_dir_remove(&dir);
    return text;
}

#endif
