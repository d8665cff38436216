/* test_tiers.c - links to what is beside GPUs: rates that emerge where they are shared. */
#include <math.h>
#include <string.h>

#include "sim/core/execute/execute.h"
#include "tests/common/quick_run.h"
#include "tests/unit/fabric_net.h"
#include "tests/unit/suite.h"
#include "topology/fabric/tiers.h"

static struct ty_err err;

/* ---- moves by hand ---- */

static const struct ty_tier_move down = {TY_TIER_GPU, TY_TIER_HOST},
                                 up = {TY_TIER_HOST, TY_TIER_GPU},
                                 load = {TY_TIER_NVME, TY_TIER_HOST},
                                 spill = {TY_TIER_HOST, TY_TIER_NVME},
                                 update = {TY_TIER_HOST, TY_TIER_HOST};

#define DGX2                                                                                       \
    "cluster: {preset: dgx2-v100, host.link: 12 GB/s, host.bandwidth: 256 GB/s, host.sockets: 2, " \
    "host.adam: 3.9e9, host.both_ways: 1.8, host.gpus_per_link: 2, nvme: 28 TB, "                  \
    "nvme.read: 28 GB/s, nvme.write: 14 GB/s}\n"
#define RANKS 16u

/* Gangs of one rank, on GPUs of one node, with a stream of moves each. */
struct host {
    struct net net;
    struct ty_arena arena;
    struct ty_program program;
    struct ty_builder b;
    struct ty_timeline timeline;
    struct ty_contention shared;
    uint32_t rank_of[RANKS], gpu[RANKS];
};

static void host_new(struct host *h, const char *text)
{
    *h = (struct host){.net = net_with(text, true)};
    h->b = (struct ty_builder){.program = &h->program, .arena = &h->arena, .err = &err};
    h->program.words = &ty_transformer_words;
    h->program.n_steps = 1;
    h->program.links = h->net.fabric.links;
    h->program.n_links = h->net.fabric.n_links;
}

/* The next rank; what follows is its. */
static void host_rank(struct host *h, uint32_t gpu)
{
    const uint32_t rank = h->program.n_gangs;
    h->rank_of[rank] = rank;
    h->gpu[rank] = gpu;
    ty_build_gang(&h->b,
                  &(struct ty_gang){.name = "rank", .n_ranks = 1, .rank_of = &h->rank_of[rank]});
    const int block = ty_build_block(&h->b, &(struct ty_block){.n_ops = 0});
    ty_build_pass(&h->b, &(struct ty_pass){.block = (uint32_t)block});
}

static void host_move(struct host *h, uint8_t stream, struct ty_tier_move move, double bytes)
{
    const struct ty_fabric *fabric = &h->net.fabric;
    struct ty_flow flow;
    struct ty_op op = TY_OP_INIT;
    struct ty_kind kind = {.name = "move", .category = TY_CAT_OFFLOAD, .bytes = bytes};
    ck_assert_int_eq(ty_tiers_flow(fabric, h->gpu[h->program.n_gangs - 1], move, &h->net.uses,
                                   &flow, &h->arena, &err),
                     0);
    flow.first_use = h->program.n_uses;
    flow.n_uses = h->net.uses.n;
    for (uint32_t i = 0; i < h->net.uses.n; i++) {
        ty_build_use(&h->b, &h->net.uses.row[i]);
    }
    ck_assert_int_eq(ty_ps_from_s(bytes / ty_tiers_alone_Bps(fabric, move), &kind.dur), 0);
    kind.first_flow = (uint32_t)ty_build_flow(&h->b, &flow) + 1;
    op.kind = (uint16_t)ty_build_kind(&h->b, &kind);
    op.stream = stream;
    ty_build_op(&h->b, &op);
}

static void host_run(struct host *h)
{
    ck_assert_int_eq(ty_program_seal(&h->program, &h->arena, &err), 0);
    ck_assert_int_eq(ty_contention_find(&h->shared, &h->program, &h->arena, &err), 0);
    ck_assert_int_eq(ty_timeline_init(&h->timeline, &h->program, &err), 0);
    ck_assert_int_eq(ty_events_shared(&h->timeline, &h->shared, &err), 0);
}

/* Seconds of an operation of a rank. */
static double took(const struct host *h, uint32_t rank, uint32_t op)
{
    return ty_s_from_ps(h->timeline.dur[h->program.gangs[rank].first_task + op]);
}

static void host_free(struct host *h)
{
    ty_timeline_release(&h->timeline);
    ty_arena_release(&h->arena);
    net_free(&h->net);
}

static void about(double got, double want)
{
    ck_assert_double_eq_tol(got / want, 1, 1e-9);
}

TEST(a_rate_halves_only_while_both_of_a_pair_transfer)
{
    struct host h;
    host_new(&h, DGX2);
    host_rank(&h, 0);
    host_move(&h, TY_STREAM_D2H, down, 24e9);
    host_rank(&h, 1); /* below the same link */
    host_move(&h, TY_STREAM_D2H, down, 12e9);
    host_rank(&h, 2); /* not */
    host_move(&h, TY_STREAM_D2H, down, 24e9);
    host_run(&h);
    about(took(&h, 0, 0), 2 + 1);
    about(took(&h, 1, 0), 2);
    about(took(&h, 2, 0), 2);
    host_free(&h);
}

TEST(both_ways_at_once_are_less_than_twice_one)
{
    struct host h;
    host_new(&h, DGX2);
    host_rank(&h, 0);
    host_move(&h, TY_STREAM_D2H, down, 12e9);
    host_move(&h, TY_STREAM_H2D, up, 12e9);
    host_run(&h);
    about(took(&h, 0, 0), 1 / 0.9);
    about(took(&h, 0, 1), 1 / 0.9);
    host_free(&h);
}

TEST(all_ranks_divide_what_one_alone_gets_of_the_processors)
{
    struct host h;
    host_new(&h, DGX2);
    for (uint32_t i = 0; i < RANKS; i++) {
        host_rank(&h, i);
        host_move(&h, TY_STREAM_HOST, update, TY_HOST_UPDATE_B * 3.9e9 / RANKS);
    }
    host_run(&h);
    about(took(&h, 0, 0), 1); /* 3.9e9 parameters of the node, in one second */
    about(took(&h, RANKS - 1, 0), 1);
    host_free(&h);
    host_new(&h, DGX2);
    host_rank(&h, 0);
    host_move(&h, TY_STREAM_HOST, update, TY_HOST_UPDATE_B * 3.9e9);
    host_run(&h);
    about(took(&h, 0, 0), 1);
    host_free(&h);
}

/* Of each socket's 50 GB/s the update takes 45, and a transfer 12 of one: it gets its 12, less than
 * half, and leaves the update 38. */
TEST(an_update_shares_host_memory_with_transfers)
{
    struct host h;
    host_new(&h, "cluster: {preset: dgx2-v100, host.link: 12 GB/s, host.bandwidth: 100 GB/s, "
                 "host.sockets: 2, host.adam: 3e9}\n");
    host_rank(&h, 0);
    host_move(&h, TY_STREAM_HOST, update, 90e9);
    host_move(&h, TY_STREAM_D2H, down, 6e9);
    host_run(&h);
    about(took(&h, 0, 1), 0.5);
    about(took(&h, 0, 0), 0.5 + 1 - 0.5 * 38 / 45);
    host_free(&h);
}

TEST(reads_and_writes_of_drives_take_turns)
{
    struct host h;
    host_new(&h, DGX2);
    host_rank(&h, 0);
    host_move(&h, TY_STREAM_NVME, load, 28e9);
    host_rank(&h, 1);
    host_move(&h, TY_STREAM_NVME, spill, 14e9);
    host_run(&h);
    /* equal bytes a second: x / 28 + x / 14 = 1, until 14 of 28 are read, too; the rest alone */
    about(took(&h, 1, 0), 1.5);
    about(took(&h, 0, 0), 1.5 + 0.5);
    host_free(&h);
}

/* ---- runs ---- */

static const char job[] =
    "cluster: {preset: dgx2-v100}\n"
    "model: {layers: 8, hidden: 2048, heads: 16, vocabulary: 50304, sequence: 1024, dtype: fp16}\n"
    "layout: {micro_batch: 4, global_batch: 64, zero: 2, offload: zero-offload}\n";

/* B/s of the transfers of rank 0 to its host, together. */
static double rate_down(const char *const *sets)
{
    struct quick_run q = quick_run(job, NULL, sets);
    struct ty_span_cursor at = ty_spans_of(&q.run->timeline, 0);
    struct ty_span span;
    double bytes = 0, s = 0;
    while (ty_span_next(&at, &span)) {
        if (span.op->stream == TY_STREAM_D2H) {
            bytes += span.kind->bytes;
            s += ty_s_from_ps(span.dur);
        }
    }
    quick_run_free(&q);
    return bytes / s;
}

/* ZeRO-Infinity's slides and paper: 12 GB/s for one GPU alone, 3 to 4 each for all 16. */
TEST(a_gpu_of_a_full_dgx2_gets_a_quarter_of_its_link)
{
    const char *const one[] = {"cluster.gpus_per_node=1", "layout.global_batch=4", NULL};
    const char *const own[] = {"cluster.host.gpus_per_link=1", NULL};
    ck_assert_double_eq_tol(rate_down(NULL), 3e9, 1e3);
    ck_assert_double_eq_tol(rate_down(one), 12e9, 1e5);
    ck_assert_double_eq_tol(rate_down(own), 12e9, 1e5);
}

static double step_of(const char *set)
{
    const char *const sets[] = {set, NULL};
    struct quick_run q = quick_run(job, NULL, sets);
    const double s = q.figures.step_s;
    quick_run_free(&q);
    return s;
}

TEST(a_step_never_takes_longer_with_more_bandwidth_beside_the_gpu)
{
    static const char *const keys[] = {"host.link", "host.bandwidth"};
    for (size_t k = 0; k < TY_COUNT(keys); k++) {
        double before = INFINITY, first = 0;
        for (uint32_t GBps = 8; GBps <= 512; GBps *= 2) {
            char set[64];
            (void)snprintf(set, sizeof(set), "cluster.%s=%u GB/s", keys[k], (unsigned)GBps);
            const double s = step_of(set);
            ck_assert_msg(s <= before, "%s: %.17g after %.17g", set, s, before);
            first = first > 0 ? first : s;
            before = s;
        }
        ck_assert_double_lt(before, first);
    }
}

/* Without contention each has its part of what all of a node share. */
TEST(links_that_are_not_followed_are_divided)
{
    const double followed = step_of("run.contention=true");
    ck_assert_double_eq_tol(step_of("run.contention=false"), followed, 0.01 * followed);
}

TEST(who_keeps_all_on_the_gpu_has_no_links_beside_it)
{
    const char *const none[] = {"layout.offload=none", NULL};
    struct quick_run without = quick_run(job, NULL, none), with = quick_run(job, NULL, NULL);
    const struct ty_program *p = &without.run->lowered.program;
    for (uint32_t l = 0; l < p->n_links; l++) {
        ck_assert_int_lt(p->links[l].class, TY_LINK_HOST);
    }
    /* 4 host links out, in and both ways, 2 sockets, processors and drives */
    ck_assert_uint_eq(with.run->lowered.program.n_links, p->n_links + 3 * 4 + 2 + 1 + 1);
    quick_run_free(&without);
    quick_run_free(&with);
}

/* Jobs on halves of the GPUs of a node; the run file's own, and another. */
static double step_beside(const char *own, const char *other)
{
    char text[1024];
    (void)snprintf(text, sizeof(text),
                   "cluster: {preset: dgx2-v100}\n"
                   "model: {layers: 4, hidden: 1024, heads: 16, vocabulary: 4096, sequence: 512, "
                   "dtype: fp16}\n"
                   "layout: {global_batch: 16, gpus: 0-7, zero: 2, offload: %s}\n"
                   "jobs:\n"
                   "  - name: other\n"
                   "    layout: {gpus: 8-15, offload: %s}\n",
                   own, other);
    struct quick_run q = quick_run(text, NULL, NULL);
    const double s = q.figures.step_s;
    quick_run_free(&q);
    return s;
}

TEST(jobs_share_the_host_of_a_node)
{
    const double alone = step_beside("zero-offload", "none");
    ck_assert_double_gt(step_beside("zero-offload", "zero-offload"), 1.2 * alone);
    /* no link of theirs is one of its own */
    ck_assert_double_eq(step_beside("none", "zero-offload"), step_beside("none", "none"));
}

TEST(traffic_lists_what_goes_to_the_host)
{
    struct quick_run q = quick_run(job, NULL, NULL);
    char *text = NULL;
    ck_assert_int_eq(ty_run_report(q.run, "traffic", &text, &err), 0);
    ck_assert_ptr_nonnull(strstr(text, "d2h        gradients            1      16"));
    ck_assert_ptr_nonnull(strstr(text, "host links"));
    ck_assert_ptr_nonnull(strstr(text, "host memory"));
    ck_assert_ptr_null(strstr(text, "drives"));
    free(text);
    quick_run_free(&q);
}

TY_SUITE("tiers")
