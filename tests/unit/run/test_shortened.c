/* Shortened runs of layouts: every schedule, by both executors, with and without contention. Every
 * start and duration, and every figure, is that of the folded run executed whole. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/noise.h"
#include "sim/core/execute/shorten.h"
#include "sim/run/figures.h"
#include "tests/unit/suite.h"

static struct ty_err err;
static char path[40];

static const char small[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                            "model: {preset: llama-7b, layers: 16, sequence: 2048}\n"
                            "layout: {global_batch: 64}\n";

static void write_small(void)
{
    strcpy(path, "/tmp/trainyard-shortened-XXXXXX");
    const int fd = mkstemp(path);
    ck_assert(fd >= 0 && write(fd, small, sizeof(small) - 1) == (ssize_t)sizeof(small) - 1);
    close(fd);
}

/* A planned run; NULL: the settings go together in no layout. */
static struct ty_run *plan(struct ty_config **config, const char *const *sets, size_t n)
{
    struct ty_run *run = NULL;
    *config = NULL;
    if (ty_config_read(config, &(struct ty_source){.path = path, .sets = sets, .n_sets = n}, NULL) <
            0 ||
        ty_run_plan(&run, *config, NULL, NULL) < 0) {
        ty_config_free(*config);
        return NULL;
    }
    return run;
}

static void discard(struct ty_run *run, struct ty_config *config)
{
    ty_run_free(run);
    ty_config_free(config);
}

/* The folded program of an executed run once more, whole. */
static void execute_whole(struct ty_run *run, struct ty_timeline *t)
{
    struct ty_contention shared;
    ck_assert_int_eq(ty_timeline_init(t, &run->folded, &err), 0);
    if (strcmp(run->engine, "sweep") == 0) {
        ck_assert_int_eq(ty_sweep(t, &err), 0);
    } else if (!ty_contention_matters(&run->shared)) {
        ck_assert_int_eq(ty_events(t, &err), 0);
    } else {
        ck_assert_int_eq(ty_contention_find(&shared, &run->folded, &run->arena, &err), 0);
        ck_assert_int_eq(ty_events_shared(t, &shared, &err), 0);
    }
}

static void assert_same_times(const struct ty_timeline *a, const struct ty_timeline *b,
                              const char *what)
{
    struct ty_timeline all;
    ck_assert_int_eq(ty_timeline_init(&all, b->program, &err), 0);
    ck_assert_int_eq(ty_timeline_lengthen(&all, a, &err), 0);
    ck_assert_uint_eq(all.makespan, b->makespan);
    ck_assert((all.dur == NULL) == (b->dur == NULL));
    for (uint64_t i = 0; i < b->program->n_tasks; i++) {
        ck_assert_msg(all.start[i] == b->start[i], "%s: task %lu", what, (unsigned long)i);
        ck_assert_msg(b->dur == NULL || all.dur[i] == b->dur[i], "%s: task %lu", what,
                      (unsigned long)i);
    }
    ty_timeline_release(&all);
}

/* Every figure there is, to the bit. */
static void assert_same_figures(const struct ty_run *a, const struct ty_run *b, const char *what)
{
    const struct ty_stats *x = &a->stats, *y = &b->stats;
    struct ty_figures f, g;
    ck_assert_uint_eq(x->makespan, y->makespan);
    ck_assert_msg(memcmp(x->rank, y->rank, x->n_ranks * sizeof(*x->rank)) == 0, "%s", what);
    for (uint32_t i = 0; i < x->n_layers; i++) {
        ck_assert_double_eq(x->layer_waited_s[i], y->layer_waited_s[i]);
    }
    ck_assert_mem_eq(x->memory, y->memory, a->folded.n_gangs * sizeof(*x->memory));
    ty_run_figures(a, &f);
    ty_run_figures(b, &g);
    for (uint32_t i = 0; i < ty_n_figures; i++) { /* those without a name look at all ranks */
        ck_assert_msg(ty_figure_table[i].name == NULL ||
                          ty_figure_value(&ty_figure_table[i], &f) ==
                              ty_figure_value(&ty_figure_table[i], &g),
                      "%s: %s", what, ty_figure_table[i].name);
    }
    ck_assert_mem_eq(f.bucket_s, g.bucket_s, sizeof(f.bucket_s));
}

/* The share of its tasks that was executed; 1: it was not shortened. */
static double demand_same(struct ty_run *run, const char *what)
{
    struct ty_timeline whole;
    const int rc = ty_run_execute_folded(run, &err);
    ck_assert_msg(rc == 0, "%s: %d %s", what, rc, err.text);
    if (run->all.whole == NULL) {
        return 1;
    }
    execute_whole(run, &whole);
    assert_same_times(&run->all, &whole, what);
    struct ty_run again = *run;
    again.all = again.timeline = whole;
    ck_assert_int_eq(ty_stats_compute(&again.stats, &whole, &run->arena, &err), 0);
    assert_same_figures(run, &again, what);
    ty_timeline_release(&whole);
    return (double)run->all.program->n_tasks / (double)run->folded.n_tasks;
}

/* ---- every schedule ---- */

/* Of 64 micro-batches on four stages, the share of tasks that is executed at most, without
 * contention and with it. */
static const struct {
    const char *sets[4];
    double share[2];
} known[] = {
    {{"schedule.name=gpipe"}, {0.6, 0.6}},
    {{"schedule.name=1f1b"}, {0.15, 0.15}},
    {{"schedule.name=eager-1f1b"}, {0.25, 0.25}},
    {{"schedule.name=interleaved", "schedule.chunks=2"}, {0.4, 0.4}},
    {{"schedule.name=zb-1p"}, {0.3, 1}}, /* shared links: neighbours fall into step slowly */
    {{"schedule.name=zb-2p"}, {0.3, 1}},
    {{"schedule.name=zb-v"}, {0.4, 0.4}},
    {{"schedule.name=v-half"}, {0.2, 0.2}},
    {{"schedule.name=v-min"}, {0.15, 0.15}},
    {{"schedule.name=interleaved-zb", "schedule.chunks=2"}, {0.5, 0.5}},
    {{"schedule.name=chimera"}, {0.35, 0.35}},
    {{"schedule.name=dualpipe"}, {0.3, 0.3}},
    {{"schedule.name=dualpipev"}, {0.3, 0.35}}, /* shared links: a period of several repetitions */
    {{"schedule.name=seq1f1b"}, {0.15, 0.15}},
    {{"schedule.name=pipedream"}, {0.15, 0.15}},
    {{"schedule.name=pipedream-2bw"}, {0.15, 0.15}},
    {{"schedule.name=1f1b", "run.steps=3"}, {0.25, 0.25}},
    {{"schedule.name=1f1b", "layout.tensor=4", "layout.zero=2"}, {0.25, 0.25}},
    {{"schedule.name=1f1b", "layout.pipeline=1", "layout.tensor=8"}, {0.5, 0.5}},
};

TEST(common_schedules_are_shortened)
{
    write_small();
    for (size_t i = 0; i < TY_COUNT(known); i++) {
        for (int contention = 0; contention < 2; contention++) {
            const char *sets[8] = {"layout.pipeline=4", "layout.tensor=4",
                                   "layout.global_batch=64"};
            size_t n = 3;
            for (size_t k = 0; k < 4 && known[i].sets[k] != NULL; k++) {
                sets[n++] = known[i].sets[k];
            }
            sets[n++] = contention == 1 ? "run.contention=true" : "run.contention=false";
            struct ty_config *config;
            struct ty_run *run = plan(&config, sets, n);
            ck_assert_msg(run != NULL, "row %zu", i);
            const double share = demand_same(run, known[i].sets[0]);
            ck_assert_msg(share <= known[i].share[contention], "row %zu: %g", i, share);
            discard(run, config);
        }
    }
    unlink(path);
}

/* ---- random layouts ---- */

#define SETS  14u
#define WIDTH 64u

struct dice {
    uint64_t seed, n;
};

static uint32_t roll(struct dice *d, uint32_t below)
{
    return (uint32_t)(ty_hash4(d->seed, d->n++, 41, 0) % below);
}

static const char *const frameworks[] = {"megatron-lm", "megatron-deepspeed", "nanotron",
                                         "torchtitan"};

static void draw(struct dice *d, char sets[SETS][WIDTH])
{
    uint32_t n_schedules = 0;
    while (ty_sched_words[n_schedules].name != NULL) {
        n_schedules++;
    }
    const uint32_t p = 1u << roll(d, 4), chunks = 1 + roll(d, 3);
    uint32_t n = 0;
#define SET(...) snprintf(sets[n++], WIDTH, __VA_ARGS__)
    SET("schedule.name=%s", ty_sched_words[roll(d, n_schedules)].name);
    SET("layout.pipeline=%u", p);
    SET("layout.tensor=%u", 1u << roll(d, 4));
    SET("layout.micro_batch=%u", 1 + roll(d, 2));
    SET("layout.global_batch=%u", 32u << roll(d, 3));
    SET("layout.zero=%u", roll(d, 4));
    SET("layout.recompute=%s", roll(d, 2) == 0 ? "none" : "full");
    SET("layout.sequence_parallel=%s", roll(d, 2) == 0 ? "true" : "false");
    SET("run.steps=%u", 1 + roll(d, 3));
    SET("run.contention=%s", roll(d, 3) == 0 ? "false" : "true");
    SET("run.engine=%s", roll(d, 3) == 0 ? "events" : roll(d, 4) == 0 ? "sweep" : "auto");
    SET("schedule.chunks=%s", roll(d, 2) == 0 ? "auto" : chunks == 1 ? "1" : "2");
    SET("model.layers=%u", roll(d, 2) == 0 ? 16 : 13 + roll(d, 8));
    SET("framework.preset=%s", frameworks[roll(d, TY_COUNT(frameworks))]);
#undef SET
}

TEST(random_layouts)
{
    const uint32_t n = suite_part(3000, 10);
    uint32_t planned = 0, shortened = 0;
    write_small();
    for (uint32_t seed = 0; seed < n; seed++) {
        struct dice dice = {.seed = seed};
        char text[SETS][WIDTH], what[SETS * WIDTH] = "";
        const char *sets[SETS];
        draw(&dice, text);
        for (uint32_t i = 0; i < SETS; i++) {
            sets[i] = text[i];
            strcat(strcat(what, text[i]), " ");
        }
        struct ty_config *config;
        struct ty_run *run = plan(&config, sets, SETS);
        if (run != NULL) {
            planned++;
            shortened += demand_same(run, what) < 1;
            discard(run, config);
        }
    }
    unlink(path);
    printf("# %u of %u\n", shortened, planned);
    ck_assert_uint_gt(planned, n / 8);
    ck_assert_uint_gt(shortened, planned / 3);
}

TY_SUITE("shortened")
