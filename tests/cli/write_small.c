/* write_small.c - the traces of small programs, each in the formats that have to agree.
 *
 * usage: write_small FOLDER     writes FOLDER/N.json and FOLDER/N.pftrace */
#include "tests/unit/tiny_run.h"
#include "traces/out/writer.h"

static const struct tiny shapes[] = {
    {.p = 1, .t = 1, .d = 1, .m = 1, .layers = 1},
    {.p = 2, .t = 1, .d = 1, .m = 4, .layers = 1, .recompute = true},
    {.p = 4, .t = 2, .d = 2, .m = 5, .layers = 2, .data = true, .recompute = true},
    {.p = 3, .t = 2, .d = 2, .m = 4, .layers = 1, .data = true, .steps = 3},
    {.p = 4, .t = 2, .d = 1, .m = 6, .layers = 2, .data = true, .jitter = 0.2, .seed = 3},
    /* around and below a nanosecond: many slices round to nothing */
    {.p = 4, .t = 2, .d = 1, .m = 6, .layers = 2, .data = true, .scale = 1, .jitter = 0.3},
    {.p = 4, .t = 1, .d = 2, .m = 8, .layers = 1, .data = true, .scale = 333, .unit = true},
};

static int write_one(const struct ty_trace *trace, const char *folder, unsigned number,
                     const char *format, struct ty_err *err)
{
    char path[4096];
    uint64_t bytes;
    const struct ty_trace_format *f = ty_trace_format(format);
    snprintf(path, sizeof(path), "%s/%u.%s", folder, number, f->extension);
    return ty_trace_write(f, trace, path, NULL, &bytes, err);
}

/* All details, with and without bubbles, whole and cut; of all ranks, or some in another order. */
static int write_shape(const struct tiny *shape, const char *folder, unsigned *number,
                       struct ty_err *err)
{
    struct tiny_run run;
    uint32_t ranks[64];
    int rc = tiny_run(&run, shape, err);
    const uint32_t n = run.program.n_ranks;
    for (uint32_t r = 0; r < n; r++) {
        ranks[r] = n - 1 - r;
    }
    for (unsigned form = 0; form < 16 && rc == 0; form++) {
        const ty_ps end = run.timeline.makespan;
        const bool cut = form % 4 == 3;
        const struct ty_trace trace = {.timeline = &run.timeline,
                                       .stats = &run.stats,
                                       .ranks = ranks,
                                       .n_ranks = form % 4 == 2 ? (n + 1) / 2 : n,
                                       .detail = (enum ty_detail)(form / 4),
                                       .window_from = cut ? end / 3 : 0,
                                       .window_to = cut ? end / 2 : UINT64_MAX,
                                       .critical = form % 3 == 0 ? &run.timeline : NULL,
                                       .bubbles = form % 4 != 1};
        ++*number;
        rc = write_one(&trace, folder, *number, "chrome", err);
        rc = rc == 0 ? write_one(&trace, folder, *number, "perfetto", err) : rc;
    }
    tiny_release(&run);
    return rc;
}

int main(int argc, char **argv)
{
    static struct ty_err err = TY_ERR_NONE;
    unsigned number = 0;
    int rc = argc == 2 ? 0 : TY_EUSAGE;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]) && rc == 0; i++) {
        rc = write_shape(&shapes[i], argv[1], &number, &err);
    }
    if (rc != 0) {
        fprintf(stderr, "%s\n", argc == 2 ? err.text : "usage: write_small FOLDER");
    }
    return rc == 0 ? 0 : 1;
}
