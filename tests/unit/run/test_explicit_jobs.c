/* test_explicit_jobs.c - collectives and pipelines spelled out message by message against closed
 * forms, longest paths and a textbook fluid. The benchmark beside SimGrid runs the same jobs. */
#include <math.h>
#include <string.h>

#include "sim/core/execute/execute.h"
#include "tests/common/explicit_job.h"
#include "tests/unit/suite.h"

#define US UINT64_C(1000000) /* ps */

static struct ty_err err;

struct job {
    struct ty_arena arena;
    struct explicit_spec spec;
    struct explicit_fabric fabric;
    struct ty_program program;
    struct ty_contention shared;
    struct ty_timeline timeline;
};

static struct job *job_new(int n, const char *const *words)
{
    struct job *j = calloc(1, sizeof(*j));
    j->spec = explicit_spec_default();
    ck_assert(explicit_spec_parse(&j->spec, n, words));
    ck_assert(explicit_fabric_new(&j->fabric, &j->spec, &j->arena));
    return j;
}
#define JOB(...)                                                                                   \
    job_new(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})

static ty_ps job_run(struct job *j)
{
    ck_assert_msg(explicit_job(&j->program, &j->spec, &j->fabric, &j->arena, &err) == 0, "%s",
                  err.text);
    ck_assert_int_eq(ty_contention_find(&j->shared, &j->program, &j->arena, &err), 0);
    ck_assert_int_eq(ty_timeline_init(&j->timeline, &j->program, &err), 0);
    ck_assert_msg(ty_events_shared(&j->timeline, &j->shared, &err) == 0, "%s", err.text);
    return j->timeline.makespan;
}

static void job_free(struct job *j)
{
    ty_timeline_release(&j->timeline);
    ty_arena_release(&j->arena);
    free(j);
}

/* ---- rings ---- */

TEST(routes_are_those_of_the_platform)
{
    struct job *node = JOB("platform=two-level"), *tree = JOB("platform=fat-tree");
    static const struct {
        uint32_t from, to, n[2];
        double us[2];
    } cases[] = {
        {0, 7, {2, 2}, {2, 4}},
        {7, 8, {4, 2}, {6, 4}},
        {15, 16, {4, 4}, {6, 8}},
        {255, 0, {4, 4}, {6, 8}},
    };
    for (size_t i = 0; i < TY_COUNT(cases); i++) {
        for (int p = 0; p < 2; p++) {
            const struct explicit_route r =
                explicit_route(p == 0 ? &node->fabric : &tree->fabric, cases[i].from, cases[i].to);
            ck_assert_uint_eq(r.n, cases[i].n[p]);
            ck_assert_double_eq_tol(r.latency_s, cases[i].us[p] * 1e-6, 1e-15);
            ck_assert_double_eq_tol(r.Bps, p == 1 ? 25e9 : r.n == 2 ? 300e9 : 100e9, 1);
            for (uint32_t k = 1; k < r.n; k++) {
                ck_assert_uint_lt(r.link[k - 1], r.link[k]);
            }
        }
    }
    /* to one destination through one spine, to its neighbours through others */
    const struct explicit_route a = explicit_route(&tree->fabric, 3, 100),
                                b = explicit_route(&tree->fabric, 4, 100),
                                c = explicit_route(&tree->fabric, 3, 101);
    ck_assert_uint_eq(a.link[2], b.link[2]);
    ck_assert_uint_ne(a.link[2], c.link[2]);
    job_free(node);
    job_free(tree);
}

/* 2 (n - 1) steps of the slowest hop: between nodes, or between leaves. */
TEST(a_ring_of_256_takes_its_steps_times_the_slowest_hop)
{
    static const struct {
        const char *platform;
        ty_ps latency;
        double Bps, ms;
    } cases[] = {
        {"platform=two-level", 6 * US, 100e9, 22.982},
        {"platform=fat-tree", 8 * US, 25e9, 83.767},
    };
    for (size_t i = 0; i < TY_COUNT(cases); i++) {
        const ty_ps hop = cases[i].latency + (ty_ps)(1e9 / 256 / cases[i].Bps * 1e12 + 0.5);
        for (uint32_t reps = 1; reps <= 3; reps += 2) {
            struct job *j = JOB(cases[i].platform, reps == 1 ? "reps=1" : "reps=3");
            const ty_ps makespan = job_run(j);
            ck_assert_uint_eq(j->shared.n_links, 0);
            ck_assert_uint_eq(makespan, reps * 510 * hop);
            ck_assert(fabs(ty_s_from_ps(makespan) / reps - cases[i].ms * 1e-3) < 0.51e-6);
            ck_assert_uint_eq(explicit_messages(&j->spec), reps * 510 * 256);
            job_free(j);
        }
    }
}

/* When each member's message of a step has arrived. It leaves when the one before it, and the one
 * that it passes on, have. */
static void check_longest_paths(struct job *j)
{
    const uint32_t n = j->spec.hosts, steps = explicit_ring_steps(&j->spec);
    uint32_t *host = explicit_ring_hosts(&j->spec);
    uint64_t *bytes = explicit_ring_bytes(&j->spec);
    ty_ps *end = calloc(n, sizeof(*end)), *before = calloc(n, sizeof(*before)), last = 0;
    for (uint32_t s = 0; s < steps; s++) {
        memcpy(before, end, n * sizeof(*end));
        for (uint32_t i = 0; i < n; i++) {
            const struct explicit_route r = explicit_route(&j->fabric, host[i], host[(i + 1) % n]);
            const ty_ps from = before[(i + n - 1) % n];
            end[i] = (from > before[i] ? from : before[i]) +
                     explicit_message_ps(&r, bytes[(size_t)s * n + i]);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        const ty_ps received = end[(i + n - 1) % n], over = received > end[i] ? received : end[i];
        ck_assert_uint_eq(j->timeline.start[i] + j->timeline.dur[i], over);
        last = over > last ? over : last;
    }
    ck_assert_uint_eq(j->timeline.makespan, last);
    free(host);
    free(bytes);
    free(end);
    free(before);
}

TEST(with_sizes_that_differ_every_member_ends_with_its_longest_path)
{
    const char *platforms[] = {"platform=two-level", "platform=fat-tree"};
    for (size_t i = 0; i < TY_COUNT(platforms); i++) {
        struct job *j = JOB(platforms[i], "jitter=0.1", "reps=2"),
                   *even = JOB(platforms[i], "reps=2");
        const ty_ps makespan = job_run(j);
        ck_assert_uint_eq(j->shared.n_links, 0);
        check_longest_paths(j);
        ck_assert_uint_gt(makespan, job_run(even)); /* of several hops the slowest counts */
        job_free(j);
        job_free(even);
    }
}

TEST(sizes_spread_as_far_as_they_are_told)
{
    struct job *j = JOB("jitter=0.1");
    uint64_t *bytes = explicit_ring_bytes(&j->spec), low = UINT64_MAX, high = 0;
    double sum = 0;
    const size_t n = (size_t)explicit_messages(&j->spec);
    for (size_t i = 0; i < n; i++) {
        low = bytes[i] < low ? bytes[i] : low;
        high = bytes[i] > high ? bytes[i] : high;
        sum += (double)bytes[i];
    }
    ck_assert(low >= 3515625 && low < 3516000);
    ck_assert(high <= 4296875 && high > 4296500);
    ck_assert_double_eq_tol(sum / (double)n, 3906250, 3000); /* 5 standard errors */
    free(bytes);
    job_free(j);
}

/* ---- on one NIC ---- */

/* All rings cross from node to node at the same time: each gets 1 / k of the NIC. */
TEST(hops_of_k_rings_over_one_nic_take_k_times_as_long)
{
    const char *words[] = {"rings=1", "rings=2", "rings=4", "rings=8"};
    for (uint32_t i = 0; i < TY_COUNT(words); i++) {
        const uint32_t k = 1u << i, n = 256 / k;
        struct job *j = JOB(words[i]);
        const ty_ps makespan = job_run(j);
        const double hop_s = 6e-6 + k * (1e9 / n) / 100e9;
        ck_assert_uint_eq(j->shared.n_links, k > 1 ? 64 : 0);
        ck_assert_double_eq_tol(ty_s_from_ps(makespan), 2 * (n - 1) * hop_s, 1e-9);
        job_free(j);
    }
}

/* ---- a textbook fluid: all rates anew at every event (Bertsekas & Gallager 1992, 6.5.2) ---- */

enum phase {
    WAITS,
    LEADS,
    MOVES,
    IS_DONE
};

struct sender {
    struct explicit_route route;
    enum phase phase;
    uint32_t step, received;
    double until_s, left_B, Bps;
};

struct fluid {
    const struct job *job;
    struct sender *senders;
    uint64_t *bytes;
    double *left, *weight; /* of links: what is left, and the weight of those that want it */
    double now_s;
    uint32_t n_done;
};

/* As in CM02, shares are as 1 / latency. */
static double weight_of(const struct sender *s)
{
    return 1 / s->route.latency_s;
}

static bool uses(const struct sender *s, uint32_t link)
{
    bool found = false;
    for (uint32_t k = 0; k < s->route.n; k++) {
        found |= s->route.link[k] == link;
    }
    return found;
}

/* Fixes the flows of the link that is full first. */
static uint32_t fill_one(struct fluid *f)
{
    double level = HUGE_VAL;
    uint32_t full = 0, n = 0;
    for (uint32_t l = 0; l < f->job->fabric.n_links; l++) {
        if (f->weight[l] > 1 && f->left[l] / f->weight[l] < level) { /* weights are above 10^5 */
            level = f->left[l] / f->weight[l];
            full = l;
        }
    }
    for (uint32_t i = 0; i < f->job->spec.hosts; i++) {
        struct sender *s = &f->senders[i];
        if (s->phase == MOVES && s->Bps < 0 && uses(s, full)) {
            s->Bps = weight_of(s) * level;
            n++;
            for (uint32_t k = 0; k < s->route.n; k++) {
                f->left[s->route.link[k]] -= s->Bps;
                f->weight[s->route.link[k]] -= weight_of(s);
            }
        }
    }
    return n;
}

static void fill(struct fluid *f)
{
    uint32_t n = 0;
    for (uint32_t l = 0; l < f->job->fabric.n_links; l++) {
        f->left[l] = f->job->fabric.links[l].capacity;
        f->weight[l] = 0;
    }
    for (uint32_t i = 0; i < f->job->spec.hosts; i++) {
        struct sender *s = &f->senders[i];
        s->Bps = -1;
        n += s->phase == MOVES;
        for (uint32_t k = 0; s->phase == MOVES && k < s->route.n; k++) {
            f->weight[s->route.link[k]] += weight_of(s);
        }
    }
    while (n > 0) {
        n -= fill_one(f);
    }
}

static void begin_messages(struct fluid *f)
{
    const uint32_t steps = explicit_ring_steps(&f->job->spec);
    for (uint32_t i = 0; i < f->job->spec.hosts; i++) {
        struct sender *s = &f->senders[i];
        if (s->phase == WAITS && s->step < steps && s->received >= s->step) {
            s->phase = LEADS;
            s->until_s = f->now_s + s->route.latency_s;
        }
    }
}

static void end_message(struct fluid *f, uint32_t i)
{
    const uint32_t size = explicit_ring_size(&f->job->spec);
    struct sender *s = &f->senders[i];
    s->phase = ++s->step == explicit_ring_steps(&f->job->spec) ? IS_DONE : WAITS;
    f->n_done += s->phase == IS_DONE;
    f->senders[i / size * size + (i + 1) % size].received++;
}

static void to_next_event(struct fluid *f)
{
    double next_s = HUGE_VAL;
    const uint32_t n = f->job->spec.hosts;
    for (uint32_t i = 0; i < n; i++) {
        const struct sender *s = &f->senders[i];
        const double end_s = s->phase == LEADS   ? s->until_s
                             : s->phase == MOVES ? f->now_s + s->left_B / s->Bps
                                                 : HUGE_VAL;
        next_s = fmin(next_s, end_s);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct sender *s = &f->senders[i];
        s->left_B -= s->phase == MOVES ? (next_s - f->now_s) * s->Bps : 0;
        if (s->phase == MOVES && s->left_B <= s->Bps * 1e-13) {
            end_message(f, i);
        } else if (s->phase == LEADS && s->until_s <= next_s) {
            s->phase = MOVES;
            s->left_B = (double)f->bytes[(size_t)s->step * n + i];
        }
    }
    f->now_s = next_s;
}

static double fluid_run(const struct job *j)
{
    const uint32_t n = j->spec.hosts, size = explicit_ring_size(&j->spec);
    uint32_t *host = explicit_ring_hosts(&j->spec);
    struct fluid f = {.job = j, .bytes = explicit_ring_bytes(&j->spec)};
    f.senders = calloc(n, sizeof(*f.senders));
    f.left = calloc(j->fabric.n_links, sizeof(double));
    f.weight = calloc(j->fabric.n_links, sizeof(double));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t next = i / size * size + (i + 1) % size;
        f.senders[i].route = explicit_route(&j->fabric, host[i], host[next]);
    }
    while (f.n_done < n) {
        begin_messages(&f);
        fill(&f);
        to_next_event(&f);
    }
    free(host);
    free(f.bytes);
    free(f.senders);
    free(f.left);
    free(f.weight);
    return f.now_s;
}

/* Larger ones on two levels amplify picoseconds: which of two messages is first decides. */
TEST(sizes_that_differ_on_shared_links_end_as_in_a_textbook_fluid)
{
    struct job *jobs[] = {
        JOB("hosts=64", "rings=2", "jitter=0.1"),
        JOB("hosts=64", "rings=8", "jitter=0.1"),
        JOB("hosts=32", "order=shuffled", "jitter=0.1"),
        JOB("hosts=128", "order=shuffled", "jitter=0.1", "platform=fat-tree"),
    };
    for (size_t i = 0; i < TY_COUNT(jobs); i++) {
        const double ours_s = ty_s_from_ps(job_run(jobs[i])), theirs_s = fluid_run(jobs[i]);
        ck_assert_uint_gt(jobs[i]->shared.n_links, 0);
        ck_assert_msg(fabs(ours_s / theirs_s - 1) < 1e-9, "job %zu: %.12f s, fluid %.12f s", i,
                      ours_s, theirs_s);
        job_free(jobs[i]);
    }
}

/* ---- 1F1B ---- */

/* Huang et al. 2019, Narayanan et al. 2019: p - 1 slots of ramp, of a forward and a backward. */
TEST(a_pipeline_with_free_messages_takes_its_micro_batches_and_its_ramp)
{
    const char *sends[] = {"sends=1", "sends=4"};
    for (size_t i = 0; i < TY_COUNT(sends); i++) {
        struct job *j = JOB("job=pipe", sends[i]);
        memset(j->fabric.latency_s, 0, j->fabric.n_links * sizeof(double));
        j->spec.message_bytes = 0;
        ck_assert_uint_eq(job_run(j), (64 + 8 - 1) * 3000 * US);
        job_free(j);
    }
}

/* The first activation and the last gradient cross every boundary with nothing to hide behind. */
TEST(messages_of_a_pipeline_cost_at_least_the_ramp_and_change_nothing_else)
{
    struct job *j = JOB("job=pipe", "micro_batches=1");
    const ty_ps message = 2 * US + (ty_ps)(33554432 / 300e9 * 1e12 + 0.5);
    ck_assert_uint_eq(job_run(j), 8 * 3000 * US + 2 * 7 * message);
    job_free(j);
    j = JOB("job=pipe", "micro_batches=1", "platform=fat-tree", "stages=32", "replicas=8");
    const ty_ps bytes = (ty_ps)(33554432 / 25e9 * 1e12 + 0.5);
    ck_assert_uint_eq(job_run(j), 32 * 3000 * US + 2 * (31 * bytes + 30 * 4 * US + 8 * US));
    job_free(j);
}

/* Two stages, two micro-batches, messages longer than a forward: one after the other the second
 * activation arrives two messages after the first forward; side by side they share the port. */
TEST(messages_of_a_gpu_go_one_by_one_or_side_by_side)
{
    const double latency_s = 4e-6, bytes_s = 33554432 / 25e9, f_s = 1e-3;
    for (int side_by_side = 0; side_by_side < 2; side_by_side++) {
        struct job *j = JOB("job=pipe", "platform=fat-tree", "stages=3", "replicas=1", "hosts=3",
                            "micro_batches=2", "layers=1", side_by_side ? "sends=2" : "sends=1");
        job_run(j);
        /* stage 0: two forwards; the first activation moves alone for a forward */
        const struct ty_gang *second = &j->program.gangs[1];
        const double first_alone_s = f_s + latency_s + bytes_s;
        const double left_s = bytes_s - f_s, shared_s = 2 * f_s + latency_s + 2 * left_s;
        const double arrives_s = side_by_side ? shared_s : first_alone_s;
        /* the receive of the second stage's first forward, then its layer */
        ck_assert_double_eq_tol(ty_s_from_ps(j->timeline.start[second->first_task + 1]), arrives_s,
                                2e-12);
        job_free(j);
    }
}

TY_SUITE("explicit_jobs")
