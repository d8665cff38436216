/* stage_times.c - a pipeline with measured passes: the schedule engine alone, for the ledger.
 *
 * A question is `SCHEDULE P M DELAY F.. B..`: ranks, micro-batches, the delay of a message and the
 * times of a forward and of a backward of each stage, in microseconds. The answer is the time of
 * all micro-batches, s. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/orders/program.h"
#include "sim/core/execute/execute.h"

#define STAGES_MAX 64u
#define PS_PER_US  1000000.0

static bool read_times(const char **line, uint32_t n, ty_ps *out)
{
    for (uint32_t i = 0; i < n; i++) {
        char *end;
        const double us = strtod(*line, &end);
        if (end == *line || us < 0) {
            return false;
        }
        out[i] = (ty_ps)(us * PS_PER_US + 0.5);
        *line = end;
    }
    return true;
}

static int play(const char *name, const struct ty_sched_shape *shape,
                const struct ty_sched_durations *times, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_program program;
    struct ty_timeline timeline = {.program = NULL};
    const struct ty_sched *sched = ty_sched_find(name);
    int rc = sched == NULL ? ty_fail(err, TY_EUSAGE, "no schedule %s", name)
                           : ty_sched_program(&program, sched, shape, times, &arena, err);
    rc = rc < 0 ? rc : ty_timeline_init(&timeline, &program, err);
    if (rc == 0) {
        rc = ty_sweep(&timeline, err);
        printf("%.9f\n", (double)timeline.makespan * 1e-12);
        ty_timeline_release(&timeline);
    }
    ty_arena_release(&arena);
    return rc;
}

int main(void)
{
    static struct ty_err err;
    static char line[4096];
    while (fgets(line, sizeof(line), stdin) != NULL) {
        char name[32];
        struct ty_sched_shape shape = {.v = 1, .slices = 1};
        ty_ps forward[STAGES_MAX], backward[STAGES_MAX], edge;
        int at = 0;
        bool good =
            sscanf(line, "%31s %" SCNu32 " %" SCNu32 " %n", name, &shape.p, &shape.m, &at) == 3 &&
            shape.p <= STAGES_MAX;
        const char *rest = line + at;
        good = good && read_times(&rest, 1, &edge) && read_times(&rest, shape.p, forward) &&
               read_times(&rest, shape.p, backward);
        if (!good) {
            fprintf(stderr, "cannot answer: %s", line);
            return 3;
        }
        /* the order may depend on the times of a pass: those of the first stage stand for all */
        const struct ty_sched_durations times = {
            .forward = forward[0],
            .backward = backward[0],
            .overlap = UINT64_MAX,
            .edge = edge,
            .of_stage = {[TY_PHASE_FORWARD] = forward, [TY_PHASE_BACKWARD] = backward}};
        if (play(name, &shape, &times, &err) < 0) {
            fprintf(stderr, "%s\n", err.text);
            return 4;
        }
    }
    return 0;
}
