/* test_shared_sweep.c - a sweep whose rows several processes share; here they are threads. What
 * MPI makes of it is in tests/cli/ranks.py. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "sim/trainyard.h"
#include "tests/common/crew_threads.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

static const char run_file[] =
    "cluster: {preset: dgx-a100-80g, nodes: 1}\n"
    "model: {layers: 4, hidden: 256, heads: 4, vocabulary: 1000, sequence: 128}\n"
    "layout: {global_batch: 8, pipeline: 2}\n";
static const char *const over[] = {"layout.tensor=1,2,3,4", "schedule.name=gpipe,1f1b,zb-1p",
                                   "model.hidden=256,512"};

struct sweep {
    struct temp_dir dir;
    char run[128], output[128];
    uint32_t without; /* the member that does not see the run file; UINT32_MAX: all do */
    bool resume;
    atomic_uint n_failed, n_said;
};

static void set_up(struct sweep *s)
{
    *s = (struct sweep){.without = UINT32_MAX};
    temp_dir_make(&s->dir);
    snprintf(s->run, sizeof(s->run), "%s/run.yaml", s->dir.path);
    FILE *file = fopen(s->run, "w");
    ck_assert(file != NULL && fputs(run_file, file) >= 0 && fclose(file) == 0);
}

static void member(const struct ty_crew *crew, void *arg)
{
    struct sweep *s = arg;
    const bool sees = crew == NULL || crew->member != s->without;
    struct ty_err *err = ty_err_new();
    const struct ty_sweep_options options = {.path = sees ? s->run : "/none.yaml",
                                             .over = over,
                                             .n_over = 3,
                                             .output = s->output,
                                             .jobs = 2,
                                             .resume = s->resume,
                                             .crew = crew};
    s->n_failed += ty_sweep_rows(&options, err) < 0;
    s->n_said += ty_err_text(err)[0] != '\0';
    ty_err_free(err);
}

static void stop_soon(void *stop, double share)
{
    *(volatile int *)stop = share > 0.2;
}

/* The table that n members write; 0: one process without a crew. To be freed. */
static char *table_of(struct sweep *s, uint32_t n)
{
    size_t size;
    snprintf(s->output, sizeof(s->output), "%s/table.csv", s->dir.path);
    if (n == 0) {
        member(NULL, s);
    } else {
        crew_threads_play(n, member, s);
    }
    char *text = file_text(s->output, &size);
    ck_assert_msg(text != NULL, "%u members write no table", n);
    unlink(s->output);
    return text;
}

TEST(members_write_what_one_process_writes)
{
    struct sweep s;
    set_up(&s);
    char *one = table_of(&s, 0);
    for (uint32_t n = 1; n <= 4; n++) {
        char *all = table_of(&s, n);
        ck_assert_str_eq(all, one);
        ck_assert_uint_eq(temp_dir_count(&s.dir), 1); /* nothing is left beside the run file */
        free(all);
    }
    free(one);
    ck_assert_uint_eq(s.n_failed, 0);
    temp_dir_remove(&s.dir);
}

/* Where one cannot go on none does: nothing is written, and one message tells it. */
TEST(a_member_that_cannot_go_on_ends_all)
{
    struct sweep s;
    for (uint32_t without = 0; without < 3; without++) {
        set_up(&s);
        s.without = without;
        snprintf(s.output, sizeof(s.output), "%s/table.csv", s.dir.path);
        crew_threads_play(3, member, &s);
        ck_assert_uint_eq(s.n_failed, 3);
        ck_assert_uint_eq(s.n_said, 1);
        ck_assert_uint_eq(temp_dir_count(&s.dir), 1);
        temp_dir_remove(&s.dir);
    }
}

/* "row 7" as PATH.partial.7 of a job of eight processes would have it. */
TEST(rows_of_any_number_of_processes_are_gone_on_from)
{
    struct sweep s;
    set_up(&s);
    char *one = table_of(&s, 0);
    for (uint32_t n = 0; n <= 3; n++) {
        struct ty_sweep_options shard = {.path = s.run,
                                         .over = over,
                                         .n_over = 3,
                                         .output = s.output,
                                         .shard = 2,
                                         .n_shards = 5};
        char left[256];
        ck_assert_int_eq(ty_sweep_rows(&shard, NULL), 0);
        snprintf(left, sizeof(left), "%s.partial.7", s.output);
        ck_assert_int_eq(rename(s.output, left), 0);
        s.resume = true;
        char *all = table_of(&s, n);
        ck_assert_str_eq(all, one);
        ck_assert_uint_eq(temp_dir_count(&s.dir), 1);
        free(all);
    }
    free(one);
    temp_dir_remove(&s.dir);
}

/* Of a run file that no file holds. */
TEST(a_sweep_that_is_stopped_goes_on_where_it_was)
{
    struct sweep s;
    set_up(&s);
    char *whole = table_of(&s, 0);
    struct ty_err *err = ty_err_new();
    struct ty_sweep_summary summary;
    int stop = 0;
    struct ty_sweep_options options = {.path = "by hand",
                                       .text = run_file,
                                       .over = over,
                                       .n_over = 3,
                                       .output = s.output,
                                       .jobs = 2,
                                       .stop = &stop,
                                       .summary = &summary,
                                       .progress = stop_soon,
                                       .progress_arg = &stop};
    ck_assert_int_lt(ty_sweep_rows(&options, err), 0);
    ck_assert_int_eq(ty_err_exit_status(err), 3);
    ck_assert_ptr_nonnull(strstr(ty_err_text(err), "stopped before all rows were simulated"));
    ck_assert_int_ne(access(s.output, F_OK), 0);
    options.stop = NULL;
    options.resume = true;
    ck_assert_int_eq(ty_sweep_rows(&options, NULL), 0);
    ck_assert(summary.n_kept > 0 && summary.n_rows > 0);
    ty_text_free(summary.best);
    size_t size;
    char *resumed = file_text(s.output, &size);
    ck_assert_str_eq(resumed, whole);
    free(resumed);
    free(whole);
    ty_err_free(err);
    temp_dir_remove(&s.dir);
}

TY_SUITE("shared_sweep")
