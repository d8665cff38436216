/* overlap.c - how much of the communication of a run hides behind computation.
 *
 *   cc overlap.c $(pkg-config --cflags --libs trainyard) -o overlap
 *   ./overlap run.yaml
 *
 * For each kind of communication of rank 0: seconds, and how much of them ran while the rank's
 * compute stream was busy, too. */
#include <stdio.h>
#include <string.h>
#include <trainyard.h>

static uint8_t stream_named(const struct ty_tasks *t, const char *name)
{
    uint8_t i = 0;
    while (i < t->n_streams && strcmp(t->stream_names[i], name) != 0) {
        i++;
    }
    return i;
}

/* The next task of a stream from row i on; t->n: there is none. */
static size_t next_of(const struct ty_tasks *t, uint8_t stream, size_t i)
{
    while (i < t->n && t->stream[i] != stream) {
        i++;
    }
    return i;
}

/* Picoseconds in which tasks of two streams of one rank run at once. Those of a stream lie in order
 * of time, so that both are walked once. */
static uint64_t both_busy(const struct ty_tasks *t, uint8_t one, uint8_t other)
{
    uint64_t sum = 0;
    size_t a = next_of(t, one, 0), b = next_of(t, other, 0);
    while (a < t->n && b < t->n) {
        const uint64_t end_a = t->start_ps[a] + t->dur_ps[a];
        const uint64_t end_b = t->start_ps[b] + t->dur_ps[b];
        const uint64_t from = t->start_ps[a] > t->start_ps[b] ? t->start_ps[a] : t->start_ps[b];
        const uint64_t to = end_a < end_b ? end_a : end_b;
        sum += to > from ? to - from : 0;
        if (end_a < end_b) {
            a = next_of(t, one, a + 1);
        } else {
            b = next_of(t, other, b + 1);
        }
    }
    return sum;
}

static void print_overlap(const struct ty_tasks *t)
{
    const uint8_t compute = stream_named(t, "compute");
    for (uint8_t s = 0; s < t->n_streams; s++) {
        uint64_t busy = 0;
        for (size_t i = next_of(t, s, 0); i < t->n; i = next_of(t, s, i + 1)) {
            busy += t->dur_ps[i];
        }
        if (s != compute && busy > 0) {
            printf("%-14s %8.3f s, %5.1f %% behind computation\n", t->stream_names[s],
                   (double)busy * 1e-12, 100 * (double)both_busy(t, s, compute) / (double)busy);
        }
    }
}

/* 0, or the code of the step that failed. */
static int study(const char *path, struct ty_err *err)
{
    struct ty_config *config = NULL;
    struct ty_run *run = NULL;
    struct ty_tasks *tasks = NULL;
    double step = 0, mfu = 0;
    int rc = ty_config_read(&config, &(struct ty_source){.path = path}, err);
    rc = rc < 0 ? rc : ty_run_new(&run, config, err);
    rc = rc < 0 ? rc : ty_run_execute(run, NULL, err);
    rc = rc < 0 ? rc : ty_run_figure(run, "step_time_s", &step, err);
    rc = rc < 0 ? rc : ty_run_figure(run, "mfu", &mfu, err);
    rc = rc < 0 ? rc : ty_run_tasks(run, "0", &tasks, err);
    if (rc == 0) {
        printf("step %.4g s, MFU %.1f %%; rank 0:\n", step, 100 * mfu);
        print_overlap(tasks);
    }
    ty_tasks_free(tasks);
    ty_run_free(run);
    ty_config_free(config);
    return rc;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: overlap RUN.yaml\n");
        return 2;
    }
    struct ty_err *err = ty_err_new();
    const int rc = study(argv[1], err);
    if (rc < 0) {
        fputs(ty_err_text(err), stderr);
    }
    const int status = rc < 0 ? ty_err_exit_status(err) : 0;
    ty_err_free(err);
    return status;
}
