/* test_own_orders.c - schedule files with collectives: run, checked and drawn alike, and diagnosed
 * as an oracle does that works it out the slow way. */
#include <string.h>

#include "model/orders/text.h"
#include "sim/base/noise.h"
#include "sim/run/run.h"
#include "sim/schedule/run.h"
#include "tests/common/oracle.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

static struct ty_err err;

/* ---- a job whose orders are exchanged ---- */

struct job {
    struct ty_config *config;
    struct ty_sched_custom own;
};

/* A small model on p ranks with m micro-batches a step. */
static void job_make(struct job *job, uint32_t p, uint32_t m)
{
    struct temp_dir dir;
    char yaml[512];
    temp_dir_make(&dir);
    snprintf(yaml, sizeof(yaml),
             "cluster: {preset: dgx-a100-80g, nodes: 1, gpus_per_node: %u}\n"
             "model: {layers: %u, hidden: 64, heads: 4, vocabulary: 1000, sequence: 64}\n"
             "layout: {pipeline: %u, data: 1, micro_batch: 1, global_batch: %u}\n"
             "run: {contention: false}\n",
             (unsigned)p, (unsigned)p, (unsigned)p, (unsigned)m);
    const char *path = temp_dir_file(&dir, "job.yaml");
    FILE *file = fopen(path, "w");
    ck_assert(file != NULL && fputs(yaml, file) >= 0 && fclose(file) == 0);
    *job = (struct job){.config = NULL};
    ck_assert_msg(ty_config_read(&job->config, &(struct ty_source){.path = path}, &err) == 0, "%s",
                  err.text);
    temp_dir_remove(&dir);
}

/* What became of orders, and how many were looked at. */
struct tally {
    uint32_t finished, halted, mismatched, faults;
};

/* The orders of a text; what is wrong between ranks is kept as config.c keeps it. */
static void set_orders(struct job *job, const char *text, struct ty_arena *arena)
{
    struct ty_slots_file file;
    static struct ty_err found;
    found = (struct ty_err)TY_ERR_NONE;
    ck_assert_msg(ty_slots_read(&file, "orders", text, strlen(text), arena, &err) == 0, "%s\n%s",
                  err.text, text);
    job->own = (struct ty_sched_custom){.sched = {.name = "file", .placement = file.placement},
                                        .shape = file.shape,
                                        .slots = file.slots};
    if (ty_slots_check_between(file.placement, &file.shape, &file.slots, &file.marks, &found) < 0) {
        job->own.fault = found.text;
    }
    job->config->schedule.custom = &job->own;
}

/* A report without what the file shows by itself. */
static const char *report_of(const char *text)
{
    const char *at = text;
    while (*at != '\0' && strncmp(at, "mismatch: ", 10) != 0 &&
           strncmp(at, "deadlock: ", 10) != 0) {
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return at;
}

/* Runs and checks one text; both executors, and `check`, as the oracle. */
static void look_at(struct job *job, const char *text, struct tally *tally)
{
    static const char *const engines[] = {"sweep", "events"};
    struct ty_arena arena = {.head = NULL};
    struct ty_run *run;
    struct oracle o;
    set_orders(job, text, &arena);
    ck_assert_msg(ty_run_new(&run, job->config, &err) == 0, "%s\n%s", err.text, text);
    oracle_make(&o, &run->lowered.program, true, &arena);
    const int expected = o.n_stuck > 0 ? TY_EDEADLOCK : job->own.fault != NULL ? TY_EINPUT : 0;
    for (size_t e = 0; e < TY_COUNT(engines); e++) {
        err = (struct ty_err)TY_ERR_NONE;
        const int rc =
            ty_run_execute(run, &(struct ty_execute_options){.engine = engines[e]}, &err);
        const char *report = report_of(err.text);
        ck_assert_msg(rc == expected, "%s: %d, not %d\n%s%s", engines[e], rc, expected, text,
                      err.text);
        const char *wrong = rc == TY_EINPUT ? NULL : oracle_check_timeline(&o, &run->all);
        wrong = wrong == NULL && rc == TY_EDEADLOCK ? oracle_check_report(&o, report) : wrong;
        ck_assert_msg(wrong == NULL, "%s: %s\n%s%s", engines[e], wrong, text, err.text);
        tally->mismatched += e == 0 && strncmp(report, "mismatch: ", 10) == 0;
    }
    err = (struct ty_err)TY_ERR_NONE;
    const int rc = ty_run_schedule_check(run, &err);
    ck_assert_msg(rc == expected, "check: %d, not %d\n%s%s", rc, expected, text, err.text);
    const bool mismatch = strncmp(err.text, "mismatch: ", 10) == 0;
    ck_assert_msg(job->own.fault != NULL || !mismatch || rc < 0, "check: %s\n%s", err.text, text);
    tally->finished += o.n_stuck == 0;
    tally->halted += o.n_stuck > 0;
    tally->faults += job->own.fault != NULL;
    ty_run_free(run);
    ty_arena_release(&arena);
}

/* ---- every small one ---- */

/* The orders of two micro-batches, each forward before its backward. */
static const char *const orders[][4] = {
    {"F0", "B0", "F1", "B1"}, {"F0", "F1", "B0", "B1"}, {"F0", "F1", "B1", "B0"},
    {"F1", "B1", "F0", "B0"}, {"F1", "F0", "B1", "B0"}, {"F1", "F0", "B0", "B1"},
};
static const char *const collectives[] = {"all-reduce:0-1:1MiB", "all-gather:0-1:1MiB"};

/* Up to two collectives of one rank: after which pass each stands, and which it is. */
struct pick {
    uint32_t n, after[2], what[2];
};

static uint32_t list_picks(struct pick *picks)
{
    uint32_t n = 1;
    picks[0] = (struct pick){.n = 0};
    for (uint32_t a = 0; a < 4; a++) {
        for (uint32_t x = 0; x < 2; x++) {
            picks[n++] = (struct pick){1, {a, 0}, {x, 0}};
            for (uint32_t b = a; b < 4; b++) {
                for (uint32_t y = 0; y < 2; y++) {
                    picks[n++] = (struct pick){2, {a, b}, {x, y}};
                }
            }
        }
    }
    return n;
}

static void write_rank(struct ty_text *text, uint32_t rank, const char *const order[4],
                       const struct pick *pick)
{
    ty_text_add(text, "rank %u:", (unsigned)rank);
    for (uint32_t i = 0; i < 4; i++) {
        ty_text_add(text, " %s.%u", order[i], (unsigned)rank);
        for (uint32_t k = 0; k < pick->n; k++) {
            ty_text_add(text, "%s%s", pick->after[k] == i ? " " : "",
                        pick->after[k] == i ? collectives[pick->what[k]] : "");
        }
    }
    ty_text_add(text, "\n");
}

TEST(every_schedule_of_two_ranks_and_up_to_two_collectives_each)
{
    struct pick picks[64];
    const uint32_t n_picks = list_picks(picks), n_orders = (uint32_t)TY_COUNT(orders);
    const uint32_t n = n_picks * n_picks * n_orders * n_orders;
    struct tally tally = {0};
    struct job job;
    ck_assert_uint_eq(n, 86436);
    job_make(&job, 2, 2);
    for (uint32_t i = 0; i < n; i += suite_whole() ? 1 : 23) { /* shares no factor with n */
        struct ty_text text = {.data = NULL};
        uint32_t at = i;
        const struct pick *pick[2];
        for (uint32_t r = 0; r < 2; r++, at /= n_picks) {
            pick[r] = &picks[at % n_picks];
        }
        for (uint32_t r = 0; r < 2; r++, at /= n_orders) {
            write_rank(&text, r, orders[at % n_orders], pick[r]);
        }
        look_at(&job, text.data, &tally);
        ty_text_release(&text);
    }
    ty_config_free(job.config);
    ck_assert_uint_gt(tally.finished, 100);
    ck_assert_uint_gt(tally.halted, 1000);
    ck_assert_uint_gt(tally.mismatched, 1000);
}

/* ---- random ones ---- */

struct dice {
    uint64_t seed, n;
};

static uint32_t roll(struct dice *d, uint32_t below)
{
    return (uint32_t)(ty_hash4(d->seed, d->n++, 0, 0) % below);
}

#define MAX_ATOMS 16
#define MAX_COLLS 4

struct words {
    char word[MAX_ATOMS + MAX_COLLS][40];
    uint32_t n;
};

static void insert(struct words *w, uint32_t at, const char *word)
{
    memmove(w->word[at + 1], w->word[at], (w->n - at) * sizeof(w->word[0]));
    memcpy(w->word[at], word, sizeof(w->word[at]));
    w->n++;
}

/* 1F1B with a number of forwards ahead that is the rank's own; perhaps two passes change places, or
 * a micro-batch is left out. */
static void write_order(struct words *w, struct dice *d, uint32_t rank, uint32_t p, uint32_t m)
{
    const uint32_t least = roll(d, 4) == 0 ? 0 : p - 1 - rank;
    const uint32_t wanted = least + roll(d, 2), ahead = wanted < m ? wanted : m;
    const uint32_t left_out = rank > 0 && roll(d, 12) == 0 ? roll(d, m) : m; /* rank 0 has all */
    const bool swaps = roll(d, 6) == 0;
    uint32_t forward = 0;
    for (uint32_t b = 0; b < m; b++) {
        for (; forward < m && forward <= b + ahead; forward++) {
            if (forward != left_out) {
                snprintf(w->word[w->n++], 40, "F%u.%u", (unsigned)forward, (unsigned)rank);
            }
        }
        if (b != left_out) {
            snprintf(w->word[w->n++], 40, "B%u.%u", (unsigned)b, (unsigned)rank);
        }
    }
    const uint32_t at = roll(d, w->n - 1);
    if (swaps && strcmp(w->word[at] + 1, w->word[at + 1] + 1) != 0) {
        char kept[40];
        memcpy(kept, w->word[at], sizeof(kept));
        memcpy(w->word[at], w->word[at + 1], sizeof(kept));
        memcpy(w->word[at + 1], kept, sizeof(kept));
    }
}

/* Collectives that all members issue in one order, each somewhere behind the one before; perhaps
 * one member forgets one, or means another. */
static void write_collectives(struct words *rank, struct dice *d, uint32_t p)
{
    static const char *const sizes[] = {"1MiB", "4MiB"};
    uint32_t from[4] = {1, 1, 1, 1};
    for (uint32_t k = roll(d, MAX_COLLS); k > 0; k--) {
        const uint32_t low = roll(d, p - 1), high = low + 1 + roll(d, p - 1 - low);
        const uint32_t what = roll(d, 2), size = roll(d, 2);
        const uint32_t wrong = roll(d, 10) < 2 ? low + roll(d, high - low + 1) : p;
        for (uint32_t r = low; r <= high; r++) {
            char word[sizeof(rank->word[0])];
            const uint32_t other = r == wrong ? roll(d, 3) : 3;
            snprintf(word, sizeof(word), "%s:%u-%u:%s",
                     (what ^ (other == 1)) != 0 ? "all-gather" : "all-reduce", (unsigned)low,
                     (unsigned)high, sizes[size ^ (other == 2)]);
            from[r] += roll(d, (rank[r].n - from[r]) / 2 + 1);
            if (other != 0) {
                insert(&rank[r], from[r]++, word);
            }
        }
    }
}

static void write_random(struct ty_text *text, uint64_t seed, uint32_t p, uint32_t m,
                         bool collective)
{
    struct dice d = {.seed = seed};
    static struct words rank[4];
    memset(rank, 0, sizeof(rank));
    for (uint32_t r = 0; r < p; r++) {
        write_order(&rank[r], &d, r, p, m);
    }
    if (collective) {
        write_collectives(rank, &d, p);
    }
    for (uint32_t r = 0; r < p; r++) {
        ty_text_add(text, "rank %u:", (unsigned)r);
        for (uint32_t i = 0; i < rank[r].n; i++) {
            ty_text_add(text, " %s", rank[r].word[i]);
        }
        ty_text_add(text, "\n");
    }
}

TEST(random_schedules_are_diagnosed_as_the_oracle_does)
{
    const uint32_t n = suite_whole() ? 3000 : 150; /* of each size */
    struct tally tally = {0};
    for (uint32_t p = 2; p <= 4; p++) {
        for (uint32_t m = 2; m <= 5; m++) {
            struct job job;
            job_make(&job, p, m);
            for (uint32_t i = 0; i < n; i++) {
                struct ty_text text = {.data = NULL};
                write_random(&text, ((uint64_t)p * 8 + m) * 100000 + i, p, m, true);
                look_at(&job, text.data, &tally);
                ty_text_release(&text);
            }
            ty_config_free(job.config);
        }
    }
    ck_assert_uint_gt(tally.finished, 3 * n);
    ck_assert_uint_gt(tally.halted, 3 * n);
    ck_assert_uint_gt(tally.mismatched, n);
    ck_assert_uint_gt(tally.faults, n);
}

/* `schedule` knows no collectives; what else can be wrong ends as it does for `run`. */
TEST(a_fault_ends_with_one_status_whoever_meets_it)
{
    uint32_t n[3] = {0};
    struct temp_dir dir;
    temp_dir_make(&dir);
    for (uint32_t p = 2; p <= 4; p++) {
        struct job job;
        job_make(&job, p, 4);
        for (uint32_t i = 0; i < 100; i++) {
            struct ty_text text = {.data = NULL};
            struct ty_arena arena = {.head = NULL};
            struct ty_sched_run drawn;
            struct ty_run *run;
            const char *path = temp_dir_file(&dir, "orders.slots");
            write_random(&text, p * 1000 + i, p, 4, false);
            FILE *file = fopen(path, "w");
            ck_assert(file != NULL && fputs(text.data, file) >= 0 && fclose(file) == 0);
            set_orders(&job, text.data, &arena);
            ck_assert_int_eq(ty_run_new(&run, job.config, &err), 0);
            const int as_run = ty_run_execute(run, NULL, &err);
            err = (struct ty_err)TY_ERR_NONE;
            const int as_drawn =
                ty_sched_run(&drawn, &(struct ty_schedule_options){.name = path}, &err);
            ck_assert_msg(as_run == as_drawn, "%d, %d\n%s%s", as_run, as_drawn, text.data,
                          err.text);
            ck_assert_int_eq(ty_run_schedule_check(run, &err), as_run);
            n[as_run == 0 ? 0 : as_run == TY_EDEADLOCK ? 1 : 2]++;
            ty_sched_run_release(&drawn);
            ty_run_free(run);
            ty_arena_release(&arena);
            ty_text_release(&text);
        }
        ty_config_free(job.config);
    }
    temp_dir_remove(&dir);
    ck_assert_uint_gt(n[0], 30);
    ck_assert_uint_gt(n[1], 30);
}

TY_SUITE("own_orders")
