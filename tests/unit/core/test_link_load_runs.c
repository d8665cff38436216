/* test_link_load_runs.c - what links carry in runs: against intervals added up one by one, against
 * the figures of a run and against what links have. */
#include <string.h>

#include "sim/base/noise.h"
#include "sim/core/execute/execute.h"
#include "sim/report/links.h"
#include "sim/run/links.h"
#include "tests/unit/halt.h"
#include "tests/unit/link_load_runs.h"

static struct ty_err err;

TEST(bytes_peaks_and_full_times_are_those_of_intervals_added_up_one_by_one)
{
    double used = 0;
    for (size_t v = 0; v < TY_COUNT(variants); v++) {
        for (int engine = 0; engine < 2; engine++) {
            struct quick_run q = run_variant(v, engine == 0 ? "sweep" : NULL);
            const struct ty_program *p = q.run->all.program;
            struct ty_arena arena = {.head = NULL};
            struct ty_link_load load;
            struct naive *naive = naive_links(&q.run->all);
            struct ty_link_load_peak *peak = calloc(p->n_links + 1, sizeof(*peak));
            ck_assert(v != STEPS || p->n_scripts > 0);
            ck_assert_uint_eq(p->n_tenants, v == JOBS ? 2 : 0);
            ck_assert_int_eq(ty_link_load_init(&load, p, &arena, &err), 0);
            load.lockstep = q.run->lockstep;
            ck_assert((q.run->all.peak != NULL) == (v == STEPS));
            q.run->all.peak = NULL; /* found from the timeline alone */
            ck_assert_int_eq(ty_link_load_peaks(&load, &q.run->all, peak, &err), 0);
            for (uint32_t l = 0; l < p->n_links; l++) {
                const struct ty_link_load_peak want = naive_peak(&naive[l], p->links[l].capacity);
                ASSERT_NEAR(load.bytes[l], naive[l].bytes, 1e-9);
                ASSERT_NEAR(peak[l].Bps, want.Bps, 1e-6);
                ck_assert_msg(peak[l].full == want.full, "variant %zu link %u: %llu, not %llu", v,
                              (unsigned)l, (unsigned long long)peak[l].full,
                              (unsigned long long)want.full);
                used += load.bytes[l] > 0;
                free(naive[l].edge);
            }
            free(naive);
            free(peak);
            ty_arena_release(&arena);
            quick_run_free(&q);
        }
    }
    ck_assert(used > 0);
}

/* Gangs that stop somewhere, each on its own. */
static void halt_somewhere(struct quick_run *q, uint64_t seed)
{
    const struct ty_program *p = q->run->all.program;
    struct ty_stop *stop = calloc(p->n_gangs, sizeof(*stop));
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        stop[g].pass = (uint32_t)(ty_hash4(seed, g, 0, 0) % (p->gangs[g].n_passes + 1));
        if (stop[g].pass < p->gangs[g].n_passes) {
            const struct ty_pass *pass = &ty_gang_passes(p, &p->gangs[g])[stop[g].pass];
            stop[g].op = (uint32_t)(ty_hash4(seed, g, 1, 0) % p->blocks[pass->block].n_ops);
        }
    }
    ck_assert_int_eq(halt_at(&q->run->all, stop, &q->run->all.arena, &err), 0);
    q->run->all.peak = NULL; /* of all that was executed */
    q->run->timeline = q->run->all;
    ty_run_link_load_forget(q->run->link_load);
    free(stop);
}

TEST(of_a_run_that_halted_what_was_issued_counts)
{
    uint32_t less = 0;
    for (size_t v = 0; v < TY_COUNT(variants); v++) {
        struct quick_run q = run_variant(v, "sweep");
        const struct ty_program *p = &q.run->lowered.program;
        const struct ty_link_load *load;
        struct ty_link_load_peak *peak = calloc(p->n_links + 1, sizeof(*peak));
        double *whole = calloc(p->n_links + 1, sizeof(*whole));
        ck_assert_int_eq(ty_run_link_load(q.run, &load, &err), 0);
        memcpy(whole, load->bytes, p->n_links * sizeof(*whole));
        halt_somewhere(&q, v);
        struct naive *naive = naive_links(&q.run->all);
        ck_assert_int_eq(ty_run_link_load(q.run, &load, &err), 0);
        ck_assert_int_eq(ty_link_load_peaks(load, &q.run->all, peak, &err), 0);
        for (uint32_t l = 0; l < p->n_links; l++) {
            ASSERT_NEAR(load->bytes[l], naive[l].bytes, 1e-9);
            ASSERT_NEAR(peak[l].Bps, naive_peak(&naive[l], p->links[l].capacity).Bps, 1e-6);
            less += load->bytes[l] < 0.99 * whole[l];
            free(naive[l].edge);
        }
        free(naive);
        free(peak);
        free(whole);
        quick_run_free(&q);
    }
    ck_assert_uint_gt(less, 100);
}

/* ---- what a walk adds up to ---- */

struct sum {
    double bytes, load, most;
    ty_ps since;
};

static void add_up(void *arg, ty_ps t, double Bps)
{
    struct sum *s = arg;
    s->bytes += s->load * ty_s_from_ps(t - s->since);
    s->load = Bps;
    s->since = t;
    s->most = Bps > s->most ? Bps : s->most;
}

TEST(no_link_is_above_its_capacity_and_no_byte_is_lost_where_links_are_shared)
{
    uint32_t filled = 0;
    for (size_t v = 0; v < TY_COUNT(variants); v++) {
        struct quick_run q = run_variant(v, NULL);
        const struct ty_program *p = &q.run->lowered.program;
        const struct ty_link_load *load;
        ck_assert_int_eq(ty_run_link_load(q.run, &load, &err), 0);
        for (uint32_t l = 0; l < p->n_links; l++) {
            for (ty_ps quantum = 1; quantum <= 1000; quantum += 999) {
                struct sum s = {.bytes = 0};
                ck_assert_int_eq(
                    ty_link_load_walk(load, &q.run->all, &l, 1, quantum, add_up, &s, &err), 0);
                ck_assert(s.load == 0);
                ASSERT_NEAR(s.bytes, load->bytes[l], 1e-9);
                ck_assert(v != STEPS || load->n_speed_changes == 0);
                ck_assert_msg(quantum > 1 || v == STEPS ||
                                  s.most <= p->links[l].capacity * (1 + 1e-6),
                              "variant %zu, link %u: %g of %g", v, l, s.most, p->links[l].capacity);
                filled += quantum == 1 && s.most > p->links[l].capacity * (1 - 1e-6);
            }
        }
        quick_run_free(&q);
    }
    ck_assert_uint_gt(filled, 0);
}

static void assert_same_use(const struct ty_class_use *a, const struct ty_class_use *b)
{
    ck_assert_uint_eq(a->n_used, b->n_used);
    ASSERT_NEAR(a->bytes, b->bytes, 1e-9);
    ASSERT_NEAR(a->mean, b->mean, 1e-9);
    ASSERT_NEAR(a->peak, b->peak, 1e-6);
    ASSERT_NEAR(a->full_s, b->full_s, 1e-9);
}

TEST(a_folded_run_and_members_in_lockstep_tell_the_same_as_all_ranks)
{
    uint32_t lockstep = 0;
    for (size_t v = 0; v < TY_COUNT(variants); v++) {
        for (int engine = 0; engine < 2; engine++) {
            struct quick_run q = run_variant(v, engine == 0 ? "sweep" : NULL);
            struct ty_class_use whole[TY_N_LINK_CLASSES], each[TY_N_LINK_CLASSES],
                folded[TY_N_LINK_CLASSES];
            q.config->run.engine = engine == 0 && v != STEPS ? TY_ENGINE_SWEEP : TY_ENGINE_AUTO;
            ck_assert_int_eq(ty_run_link_use(q.run, whole, &err), 0);
            lockstep += q.run->lockstep;
            q.run->lockstep = false; /* every member for itself */
            ty_run_link_load_forget(q.run->link_load);
            ck_assert_int_eq(ty_run_link_use(q.run, each, &err), 0);
            ck_assert_int_eq(ty_run_execute_folded(q.run, &err), 0);
            ck_assert_int_eq(ty_run_link_use(q.run, folded, &err), 0);
            for (uint32_t c = 0; c < TY_N_LINK_CLASSES; c++) {
                assert_same_use(&whole[c], &each[c]);
                assert_same_use(&whole[c], &folded[c]);
            }
            quick_run_free(&q);
        }
    }
    ck_assert_uint_gt(lockstep, 4);
}

/* The other job goes on when the run's own is over: bytes are those of as long as a step. */
TEST(a_step_is_one_of_the_runs_own_job)
{
    struct quick_run q = run_variant(JOBS, NULL);
    struct ty_class_use use[TY_N_LINK_CLASSES];
    const struct ty_link_load *load;
    double bytes = 0, in_a_step = 0;
    ck_assert_int_eq(ty_run_link_load(q.run, &load, &err), 0);
    for (uint32_t l = 0; l < load->program->n_links; l++) {
        bytes += load->bytes[l];
    }
    ck_assert_int_eq(ty_run_link_use(q.run, use, &err), 0);
    for (uint32_t c = 0; c < TY_N_LINK_CLASSES; c++) {
        in_a_step += use[c].bytes;
    }
    const double own_s = ty_s_from_ps(q.run->timeline.makespan);
    const double all_s = ty_s_from_ps(q.run->all.makespan);
    ck_assert(all_s > 1.01 * own_s);
    ASSERT_NEAR(in_a_step / own_s, bytes / all_s, 1e-9);
    quick_run_free(&q);
}

TEST(load_is_found_once_for_every_execution)
{
    struct quick_run q = run_variant(3, "sweep");
    const struct ty_link_load *load;
    ck_assert_int_eq(ty_run_link_load(q.run, &load, &err), 0);
    ck_assert(load->n_speed_changes == 0);
    ck_assert_int_eq(ty_run_execute(q.run, &(struct ty_execute_options){.engine = "events"}, &err),
                     0);
    q.config->run.contention = true;
    ck_assert_int_eq(ty_run_execute(q.run, &(struct ty_execute_options){.engine = "events"}, &err),
                     0);
    ck_assert_int_eq(ty_run_link_load(q.run, &load, &err), 0);
    const struct ty_speed_change *changes = load->speed_change;
    ck_assert(load->n_speed_changes > 0);
    ck_assert_int_eq(ty_run_link_load(q.run, &load, &err), 0);
    ck_assert_ptr_eq(load->speed_change, changes);
    quick_run_free(&q);
}

/* What leaves a port enters another. */
TEST(links_carry_twice_what_ranks_send)
{
    for (size_t v = 0; v < JOBS; v++) { /* figures are of one job */
        struct quick_run q = run_variant(v, NULL);
        struct ty_class_use use[TY_N_LINK_CLASSES];
        double nvlink = 0, net = 0;
        for (uint32_t i = 0; i < q.figures.n_traffic; i++) {
            const struct ty_traffic *t = &q.figures.traffic[i];
            const bool norm = strcmp(t->group, "world") == 0 || strcmp(t->group, "mp") == 0;
            nvlink += norm ? 0 : t->nvlink_B; /* one number: takes no link */
            net += norm ? 0 : t->net_B;
        }
        ck_assert_int_eq(ty_run_link_use(q.run, use, &err), 0);
        if (q.config->fabric.topology != TY_FABRIC_RAIL_OPTIMIZED) { /* NVLink leads to the rail */
            ASSERT_NEAR(use[TY_LINK_NVLINK].bytes, 2 * nvlink, 1e-6);
        }
        ASSERT_NEAR(use[TY_LINK_NIC].bytes, 2 * net, 1e-6);
        quick_run_free(&q);
    }
}

/* ---- capacities ---- */

static uint32_t draw(uint64_t *state, uint32_t n)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % n;
}

static const char *pick(uint64_t *state, const char *const *from, uint32_t n)
{
    return from[draw(state, n)];
}
#define PICK(...)                                                                                  \
    pick(&state, (const char *const[]){__VA_ARGS__}, TY_COUNT(((const char *const[]){__VA_ARGS__})))

/* Random jobs, whose links are shared as they are used: none carries more than it can, at any
 * time, whether collectives are flows or messages; nor is it full for longer than there is time,
 * or carries less at its fullest than on average. */
TEST(no_link_of_a_random_job_is_above_what_it_has)
{
    uint64_t state = 20;
    uint32_t n_full[2] = {0, 0};
    for (int job = 0; job < 40; job++) {
        const char *const sets[] = {
            PICK("cluster.nics_per_node=1", "cluster.nics_per_node=2", "cluster.nics_per_node=8"),
            PICK("cluster.collectives=auto", "cluster.collectives=ring",
                 "cluster.collectives=tree"),
            PICK("fabric.topology=fat-tree", "fabric.topology=rail-optimized"),
            PICK("fabric.oversubscription=1", "fabric.oversubscription=3"),
            PICK("layout.tensor=1", "layout.tensor=2", "layout.tensor=8"),
            PICK("layout.pipeline=1", "layout.pipeline=2"),
            PICK("layout.zero=0", "layout.zero=1", "layout.zero=2", "layout.zero=3"),
            PICK("layout.order=[tensor,context,data,pipeline]",
                 "layout.order=[pipeline,tensor,context,data]"),
            PICK("framework.preset=megatron-lm", "framework.preset=megatron-deepspeed",
                 "framework.preset=fsdp"),
            "framework.zero_in_pipeline=3", /* DeepSpeed would refuse some */
            job % 2 == 0 ? "run.detail=flows" : "run.detail=steps",
            NULL};
        struct quick_run q = quick_run("cluster: {preset: dgx-a100-80g, nodes: 4}\n"
                                       "fabric: {leaf_nodes: 2}\n"
                                       "model: {preset: llama-7b, layers: 4, vocabulary: 1000}\n"
                                       "layout: {global_batch: 64}\n",
                                       NULL, sets);
        struct ty_class_use use[TY_N_LINK_CLASSES];
        ck_assert_int_eq(ty_run_link_use(q.run, use, &err), 0);
        for (int c = 0; c < TY_N_LINK_CLASSES; c++) {
            ck_assert_msg(use[c].peak <= 1 + 1e-6, "job %d: %s at %.17g", job,
                          ty_link_class_key((enum ty_link_class)c), use[c].peak);
            ck_assert_double_ge(use[c].peak * (1 + 1e-9), use[c].mean);
            ck_assert_double_le(use[c].full_s, q.figures.step_s);
            n_full[job % 2] += use[c].peak > 0.99;
        }
        quick_run_free(&q);
    }
    ck_assert_uint_gt(n_full[0], 10); /* there is something to be above of */
    ck_assert_uint_gt(n_full[1], 10);
}

TY_SUITE("load of runs")
