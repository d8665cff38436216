/* bench_trace.c - speed of a timeline writer into memory.
 *
 * usage: bench_trace FORMAT [T P D M L [DETAIL [JITTER [full]]]]     FORMAT: chrome or perfetto
 * The program has the durations of the reference job: 256 GPUs (tensor 4, pipeline 8, data 8), 256
 * micro-batches, 10 layers a stage make 7,979,008 tasks. The best of five is printed. */
#define _XOPEN_SOURCE 700 /* clock_gettime */

#include <time.h>
#include <unistd.h>

#include "tests/unit/tiny_run.h"
#include "traces/out/writer.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Lines of the Chrome trace that are slices; other formats have the same ones. */
static uint64_t count_slices(const struct ty_trace *trace, struct ty_err *err)
{
    char path[] = "/tmp/bench-trace-XXXXXX";
    struct ty_out out;
    const int fd = mkstemp(path);
    uint64_t n = 0;
    char line[4096];
    if (fd < 0) {
        return 0;
    }
    close(fd); /* another file takes its name */
    if (ty_out_open(&out, path, err) == 0 && ty_trace_chrome.write(trace, &out, err) == 0 &&
        ty_out_commit(&out, err) == 0) {
        FILE *f = fopen(path, "r");
        while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
            n += strstr(line, "\"ph\":\"X\"") != NULL;
        }
        if (f != NULL) {
            fclose(f);
        }
    }
    remove(path);
    return n;
}

int main(int argc, char **argv)
{
    const unsigned fallback[] = {4, 8, 8, 256, 10, TY_DETAIL_OP};
    unsigned v[6];
    const struct ty_trace_format *format = argc > 1 ? ty_trace_format(argv[1]) : NULL;
    if (format == NULL) {
        fprintf(stderr, "usage: bench_trace FORMAT [T P D M L [DETAIL [JITTER [full]]]]\n");
        return 2;
    }
    for (int i = 0; i < 6; i++) {
        v[i] = argc > i + 2 ? (unsigned)strtoul(argv[i + 2], NULL, 10) : fallback[i];
    }
    const struct tiny tiny = {.t = v[0],
                              .p = v[1],
                              .d = v[2],
                              .m = v[3],
                              .layers = v[4],
                              .jitter = argc > 8 ? strtod(argv[8], NULL) : 0,
                              .seed = 1};
    static struct ty_err err = TY_ERR_NONE;
    struct tiny_run run;
    if (tiny_run(&run, &tiny, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    uint32_t *ranks = ty_arena_array(&run.arena, uint32_t, run.program.n_ranks);
    for (uint32_t r = 0; r < run.program.n_ranks; r++) {
        ranks[r] = r;
    }
    const bool full = argc > 9 && strcmp(argv[9], "full") == 0;
    const struct ty_trace trace = {.timeline = &run.timeline,
                                   .stats = &run.stats,
                                   .ranks = ranks,
                                   .n_ranks = run.program.n_ranks,
                                   .detail = (enum ty_detail)v[5],
                                   .args = full ? TY_ARGS_FULL : TY_ARGS_SHORT,
                                   .window_to = UINT64_MAX,
                                   .bubbles = true};
    double best = 1e9;
    struct ty_out out;
    uint64_t bytes = 0;
    for (int i = 0; i < 5; i++) {
        const double t0 = now();
        if (ty_out_open(&out, "null:", &err) < 0 || format->write(&trace, &out, &err) < 0 ||
            ty_out_commit(&out, &err) < 0) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        const double t = now() - t0;
        best = t < best ? t : best;
        bytes = out.total;
    }
    const uint64_t slices = count_slices(&trace, &err);
    printf("%s: %llu slices, %.0f MB (estimate %.0f MB), %.1f B/slice, %.3f s, %.1f M slices/s, "
           "%.1f ns/slice, %.0f MB/s; makespan %.6f s, %llu tasks\n",
           format->name, (unsigned long long)slices, (double)bytes / 1e6,
           format->estimate(&trace) / 1e6, (double)bytes / (double)slices, best,
           (double)slices / best / 1e6, best * 1e9 / (double)slices, (double)bytes / best / 1e6,
           ty_s_from_ps(run.timeline.makespan), (unsigned long long)run.program.n_tasks);
    tiny_release(&run);
    return 0;
}
