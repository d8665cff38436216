/* test_link_load.c - what links carry: against intervals added up one by one, against the figures of a
 * run, against what links have, and in traces. */
#include "sim/core/link_load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/noise.h"
#include "sim/core/execute.h"
#include "sim/core/fold.h"
#include "sim/run/links.h"
#include "sim/run/report_links.h"
#include "tests/common/quick_run.h"
#include "tests/unit/json_tree.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"
#include "traces/writer.h"

static struct ty_err err;

/* Equal to a share of the second; nothing is equal to nothing. */
#define ASSERT_NEAR(a, b, share)                                                                   \
    ck_assert_msg(fabs((a) - (b)) <= (share)*fabs(b), "%.17g, not %.17g", (double)(a), (double)(b))

/* ---- by hand ---- */

struct seen {
    ty_ps t[16];
    double Bps[16];
    uint32_t n;
};

static void see(void *arg, ty_ps t, double Bps)
{
    struct seen *s = arg;
    ck_assert_uint_lt(s->n, 16);
    ck_assert(s->n == 0 || t > s->t[s->n - 1]);
    s->t[s->n] = t;
    s->Bps[s->n++] = Bps;
}

/* Ranks whose operations take the link, 1 GB/s, alone for `dur`, but for the lead. */
struct pair {
    struct ty_arena arena;
    struct ty_program program;
    struct ty_timeline timeline;
    struct ty_contention shared;
    struct ty_link_load load;
};
static const struct ty_link one_link = {"link", TY_LINK_NIC, TY_NO_NODE, 1e9};
static const uint32_t rank_of[] = {0, 1};

static void add_flow(struct pair *h, struct ty_builder *b, ty_ps dur, ty_ps lead)
{
    struct ty_flow flow = {.first_use = h->program.n_uses, .n_uses = 1, .weight = 1, .lead = lead};
    struct ty_kind kind = {.name = "flow", .category = TY_CAT_COMM_DATA, .dur = dur};
    struct ty_op op = TY_OP_INIT;
    ty_build_use(b, &(struct ty_use){0, 1e9});
    kind.first_flow = (uint32_t)ty_build_flow(b, &flow) + 1;
    op.kind = (uint16_t)ty_build_kind(b, &kind);
    op.stream = TY_STREAM_DATA;
    ty_build_op(b, &op);
}

static void add_rank(struct pair *h, struct ty_builder *b)
{
    ty_build_gang(b, &(struct ty_gang){
                         .name = "rank", .n_ranks = 1, .rank_of = &rank_of[h->program.n_gangs]});
    const int block = ty_build_block(b, &(struct ty_block){.n_ops = 0});
    ty_build_pass(b, &(struct ty_pass){.block = (uint32_t)block});
}

static struct ty_builder begin_pair(struct pair *h)
{
    *h = (struct pair){.program = {.n_steps = 1, .links = &one_link, .n_links = 1}};
    return (struct ty_builder){.program = &h->program, .arena = &h->arena, .err = &err};
}

static void run_pair(struct pair *h)
{
    ck_assert_int_eq(ty_program_seal(&h->program, &h->arena, &err), 0);
    ck_assert_int_eq(ty_contention_find(&h->shared, &h->program, &h->arena, &err), 0);
    ck_assert_int_eq(ty_timeline_init(&h->timeline, &h->program, &err), 0);
    ck_assert_int_eq(ty_events_shared(&h->timeline, &h->shared, &err), 0);
    ck_assert_int_eq(ty_link_load_init(&h->load, &h->program, &h->arena, &err), 0);
}

static void release_pair(struct pair *h)
{
    ty_timeline_release(&h->timeline);
    ty_arena_release(&h->arena);
}

/* The first runs alone until 300, at half its speed until 1700; the second then alone. */
START_TEST(two_flows_that_meet_fill_their_link_and_no_more)
{
    struct pair h;
    struct seen even = {.n = 0}, bent = {.n = 0};
    struct ty_link_load_peak peak;
    const uint32_t link = 0;
    struct ty_builder b = begin_pair(&h);
    add_rank(&h, &b);
    add_flow(&h, &b, 1000, 0);
    add_rank(&h, &b);
    add_flow(&h, &b, 1300, 300);
    run_pair(&h);
    ck_assert_double_eq_tol(h.load.bytes[0], 2000e-12 * 1e9, 1e-12);
    ck_assert_int_eq(ty_link_load_walk(&h.load, &h.timeline, &link, 1, 1, see, &even, &err), 0);
    ck_assert_uint_eq(even.n, 4);
    ck_assert_uint_eq(even.t[1], 300);
    ck_assert_double_eq_tol(even.Bps[0], 1e9 * 1000 / 1700, 1);
    ck_assert_double_eq_tol(even.Bps[1], 2 * 1e9 * 1000 / 1700, 1); /* means: above the link */
    ck_assert_uint_eq(even.t[2], 1700);
    ck_assert_uint_eq(even.t[3], 2000);
    ck_assert(even.Bps[3] == 0);
    ck_assert_int_eq(
        ty_link_load_replay(&h.load, &h.program, &h.shared, &h.timeline, &h.arena, &err), 0);
    ck_assert_int_eq(ty_link_load_walk(&h.load, &h.timeline, &link, 1, 1, see, &bent, &err), 0);
    for (uint32_t i = 0; i + 1 < bent.n; i++) {
        ck_assert_double_eq_tol(bent.Bps[i], 1e9, 1);
    }
    ck_assert_uint_eq(bent.t[bent.n - 1], 2000);
    ck_assert(bent.Bps[bent.n - 1] == 0);
    ck_assert_int_eq(ty_link_load_peaks(&h.load, &h.timeline, &peak, &err), 0);
    ck_assert_double_eq_tol(peak.Bps, 1e9, 1);
    ck_assert_uint_eq(peak.full, 2000);
    release_pair(&h);
}
END_TEST

/* At a clock of 700 the third takes [0, 700); those before it go into it, and the last, ten
 * picoseconds without a stretch of their own, are put behind. */
START_TEST(a_coarse_clock_loses_no_byte)
{
    struct pair h;
    struct seen seen = {.n = 0};
    const uint32_t link = 0;
    struct ty_builder b = begin_pair(&h);
    add_rank(&h, &b);
    add_flow(&h, &b, 10, 0);
    add_flow(&h, &b, 20, 0);
    add_flow(&h, &b, 1000, 0);
    add_flow(&h, &b, 10, 0);
    run_pair(&h);
    ck_assert_int_eq(ty_link_load_walk(&h.load, &h.timeline, &link, 1, 700, see, &seen, &err), 0);
    ck_assert_uint_eq(seen.n, 3);
    ck_assert_uint_eq(seen.t[0], 0);
    ck_assert_double_eq_tol(seen.Bps[0] * 700, 1030 * 1e9, 1);
    ck_assert_uint_eq(seen.t[1], 700);
    ck_assert_double_eq_tol(seen.Bps[1] * 700, 10 * 1e9, 1);
    ck_assert_uint_eq(seen.t[2], 1400);
    ck_assert(seen.Bps[2] == 0);
    release_pair(&h);
}
END_TEST

/* One gang of two in lockstep, with latencies of their own; what was executed is its fold. */
START_TEST(members_in_lockstep_keep_their_own_latencies)
{
    struct pair h;
    struct seen seen = {.n = 0};
    struct ty_program folded;
    const uint32_t link = 0;
    struct ty_builder b = begin_pair(&h);
    struct ty_kind kind = {.name = "flow", .category = TY_CAT_COMM_DATA, .dur = 1000};
    struct ty_op op = TY_OP_INIT;
    ty_build_gang(&b, &(struct ty_gang){.name = "pair", .n_ranks = 2, .rank_of = rank_of});
    const int block = ty_build_block(&b, &(struct ty_block){.n_ops = 0});
    ty_build_pass(&b, &(struct ty_pass){.block = (uint32_t)block});
    ty_build_use(&b, &(struct ty_use){0, 1e8});
    kind.first_flow = 1 + (uint32_t)ty_build_flow(&b, &(struct ty_flow){.n_uses = 1, .weight = 1});
    ty_build_flow(&b, &(struct ty_flow){.n_uses = 1, .weight = 1, .lead = 600});
    op.kind = (uint16_t)ty_build_kind(&b, &kind);
    op.stream = TY_STREAM_DATA;
    ty_build_op(&b, &op);
    ty_build_op(&b, &op);
    ck_assert_int_eq(ty_program_seal(&h.program, &h.arena, &err), 0);
    ck_assert_int_eq(ty_program_fold(&folded, &h.program, &h.arena, &err), 0);
    ck_assert_int_eq(ty_timeline_init(&h.timeline, &folded, &err), 0);
    ck_assert_int_eq(ty_sweep(&h.timeline, &err), 0);
    ck_assert_int_eq(ty_link_load_init(&h.load, &h.program, &h.arena, &err), 0);
    h.load.lockstep = true;
    ck_assert_int_eq(ty_link_load_walk(&h.load, &h.timeline, &link, 1, 1, see, &seen, &err), 0);
    ck_assert_uint_eq(seen.n, 5);
    ck_assert_double_eq_tol(seen.Bps[0], 1e8, 1);
    ck_assert_uint_eq(seen.t[1], 600);
    ck_assert_double_eq_tol(seen.Bps[1], 2e8, 1);
    ck_assert_uint_eq(seen.t[2], 1000);
    ck_assert_double_eq_tol(seen.Bps[2], 1e8, 1);
    ck_assert_uint_eq(seen.t[3], 1600);
    ck_assert_uint_eq(seen.t[4], 2000);
    release_pair(&h);
}
END_TEST

/* Two gangs come to a meeting with one kind: it happens once. */
START_TEST(a_meeting_counts_once)
{
    struct pair h;
    struct ty_builder b = begin_pair(&h);
    struct ty_op op = TY_OP_INIT;
    add_rank(&h, &b);
    add_flow(&h, &b, 1000, 0);
    add_rank(&h, &b);
    op.stream = TY_STREAM_DATA;
    ty_build_op(&b, &op); /* of kind 0 */
    op.sync = TY_SYNC_MEET;
    op.link = (uint16_t)ty_build_meet(
        &b, &(struct ty_meet){.name = "both", .group = TY_NONE, .n_gangs = 2});
    h.program.ops[0] = h.program.ops[1] = op;
    run_pair(&h);
    ck_assert_double_eq_tol(h.load.bytes[0], 1000e-12 * 1e9, 1e-12);
    release_pair(&h);
}
END_TEST

/* ---- runs, against intervals added up one by one ---- */

#define RUN                                                                                        \
    "cluster:\n  preset: dgx-a100-80g\n  nodes: 4\n"                                               \
    "model:\n  preset: llama-13b\n  layers: 8\n  sequence: 2048\n"                                 \
    "layout:\n  tensor: 2\n  pipeline: 4\n  global_batch: 64\n  zero: 1\n"

static const char *const variants[][3] = {
    {NULL},
    {"layout.tensor=8", "layout.pipeline=2", NULL},
    {"layout.tensor=1", "layout.zero=3", "layout.pipeline=1"},
    {"cluster.nics_per_node=2", NULL},
    {"cluster.nics_per_node=4", "layout.order=[pipeline,tensor,context,data]", NULL},
    {"layout.tensor=4", "layout.order=[data,pipeline,tensor,context]", NULL},
    {"schedule.name=chimera", "cluster.nics_per_node=2", NULL},
    {"schedule.name=interleaved", "schedule.chunks=2", "run.jitter=5%"},
    {"cluster.exceptions=[gpu 3 at 50 %, nic 1.2 dead]", "cluster.nics_per_node=4", NULL},
    {"run.steps=2", "model.tied=true", NULL},
    {"fabric.topology=fat-tree", "fabric.leaf_nodes=1", "fabric.oversubscription=4"},
    {"fabric.topology=fat-tree", "fabric.leaf_nodes=2", "fabric.routing=ecmp"},
    {"fabric.topology=rail-optimized", "fabric.leaf_nodes=2", "layout.tensor=8"},
    {"fabric.pcie_bandwidth=25 GB/s", "cluster.exceptions=[node 1 with h100-sxm]", NULL},
    {"run.detail=steps", "cluster.nics_per_node=2", NULL},
    {"fabric.topology=fat-tree", "fabric.leaf_nodes=2", "layout.nodes=[0, 2]"},
};
#define STEPS (TY_COUNT(variants) - 2)
#define JOBS  (TY_COUNT(variants) - 1) /* the last has another job on the same leaves */
#define OTHER                                                                                      \
    "jobs:\n  - name: other\n    layout: {nodes: [1, 3], tensor: 8, pipeline: 1, zero: 3}\n"

static struct quick_run run_variant(size_t v, const char *engine)
{
    const char *sets[] = {variants[v][0], variants[v][1], variants[v][2], NULL};
    return quick_run(v == JOBS ? RUN OTHER : RUN, v == STEPS ? NULL : engine, sets);
}

struct edge {
    ty_ps t;
    double Bps;
};

static int by_time(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return (x->t > y->t) - (x->t < y->t);
}

struct naive {
    struct edge *edge; /* of one link */
    size_t n, cap;
    double bytes;
};

static void naive_edge(struct naive *o, ty_ps t, double Bps)
{
    if (o->n == o->cap) {
        o->cap = o->cap == 0 ? 1024 : 2 * o->cap;
        o->edge = realloc(o->edge, o->cap * sizeof(*o->edge));
    }
    o->edge[o->n++] = (struct edge){t, Bps};
}

/* The group a member of an operation shares a flow with begins with it. */
static bool stands(const struct ty_program *p, const struct ty_op *op, uint32_t m)
{
    const uint16_t group = op->sync == TY_SYNC_GROUP  ? op->link
                           : op->sync == TY_SYNC_MEET ? p->meets[op->link].group
                                                      : TY_NONE;
    return group == TY_NONE || m / p->groups[group].stride % p->groups[group].count == 0;
}

/* What a flow moves alone, evenly from one time to another. */
static void naive_flow(struct naive *out, const struct ty_program *p, const struct ty_flow *flow,
                       ty_ps alone, ty_ps from, ty_ps to)
{
    ck_assert_uint_ge(to, from);
    for (uint32_t u = flow->first_use; u < flow->first_use + flow->n_uses; u++) {
        struct naive *o = &out[p->uses[u].link];
        const double bytes =
            ty_use_moves(flow, &p->uses[u], p->links) * (double)(alone - flow->lead);
        naive_edge(o, from, bytes / (double)(to - from));
        naive_edge(o, to, -bytes / (double)(to - from));
        o->bytes += bytes * 1e-12;
    }
}

static void naive_messages(struct naive *out, const struct ty_program *p,
                           const struct ty_span *span, uint32_t member)
{
    const struct ty_group *g = &p->groups[span->op->link];
    const struct ty_script *script = &p->scripts[span->kind->script - 1];
    const uint32_t *send = p->sends + script->first_send + ty_group_position(g, member);
    const struct ty_flow *flows = &p->flows[ty_script_flow(p, span->kind, g, member)];
    for (uint32_t m = send[0]; m < send[1]; m++) {
        const struct ty_message *message = &p->messages[script->first + m];
        naive_flow(out, p, &flows[message->pair], message->alone, span->start,
                   span->start + span->dur);
    }
}

/* All tasks of all ranks; of a meeting, those of the first gang that comes. */
static struct naive *naive_links(const struct ty_timeline *t)
{
    const struct ty_program *p = t->program;
    struct naive *out = calloc(p->n_links + 1, sizeof(*out));
    uint32_t *host = calloc(p->n_meets + 1, sizeof(*host));
    for (uint32_t rank = 0; rank < p->n_ranks; rank++) {
        const struct ty_seat seat = ty_program_seat(p, rank);
        struct ty_span_cursor cursor = ty_spans_of(t, rank);
        struct ty_span span;
        while (ty_span_next(&cursor, &span)) {
            const struct ty_flow *flow = ty_kind_flow(p, span.kind, seat.member);
            if (span.kind->script != 0) {
                naive_messages(out, p, &span, seat.member);
            }
            if (span.op->sync == TY_SYNC_MEET) {
                uint32_t *first = &host[span.op->link];
                *first = *first == 0 || seat.gang + 1 < *first ? seat.gang + 1 : *first;
            }
            if (flow == NULL || !stands(p, span.op, seat.member) ||
                (span.op->sync == TY_SYNC_MEET && host[span.op->link] != seat.gang + 1)) {
                continue;
            }
            naive_flow(out, p, flow, ty_kind_alone(span.kind, seat.member), span.start + flow->lead,
                       span.start + span.dur);
        }
    }
    free(host);
    return out;
}

/* Peak and time at 99 % of the capacity. */
static struct ty_link_load_peak naive_peak(struct naive *o, double capacity)
{
    struct ty_link_load_peak peak = {.Bps = 0};
    double load = 0;
    if (o->n > 0) {
        qsort(o->edge, o->n, sizeof(*o->edge), by_time);
    }
    for (size_t i = 0; i < o->n; i++) {
        load += o->edge[i].Bps;
        if (i + 1 == o->n || o->edge[i + 1].t > o->edge[i].t) {
            peak.Bps = load > peak.Bps ? load : peak.Bps;
            peak.full +=
                load >= 0.99 * capacity && i + 1 < o->n ? o->edge[i + 1].t - o->edge[i].t : 0;
        }
    }
    return peak;
}

START_TEST(bytes_peaks_and_full_times_are_those_of_intervals_added_up_one_by_one)
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
END_TEST

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
    ck_assert_int_eq(ty_timeline_cut(&q->run->all, stop, &q->run->all.arena, &err), 0);
    q->run->timeline = q->run->all;
    ty_run_link_load_forget(q->run->link_load);
    free(stop);
}

START_TEST(of_a_run_that_halted_what_was_issued_counts)
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
END_TEST

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

START_TEST(no_link_is_above_its_capacity_and_no_byte_is_lost_where_links_are_shared)
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
                ck_assert_msg(
                    quantum > 1 || v == STEPS || s.most <= p->links[l].capacity * (1 + 1e-6),
                    "variant %zu, %s: %g of %g", v, p->links[l].name, s.most, p->links[l].capacity);
                filled += quantum == 1 && s.most > p->links[l].capacity * (1 - 1e-6);
            }
        }
        quick_run_free(&q);
    }
    ck_assert_uint_gt(filled, 0);
}
END_TEST

static void assert_same_use(const struct ty_class_use *a, const struct ty_class_use *b)
{
    ck_assert_uint_eq(a->n_used, b->n_used);
    ASSERT_NEAR(a->bytes, b->bytes, 1e-9);
    ASSERT_NEAR(a->mean, b->mean, 1e-9);
    ASSERT_NEAR(a->peak, b->peak, 1e-6);
    ASSERT_NEAR(a->full_s, b->full_s, 1e-9);
}

START_TEST(a_folded_run_and_members_in_lockstep_tell_the_same_as_all_ranks)
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
END_TEST

/* The other job goes on when the run's own is over: bytes are those of as long as a step. */
START_TEST(a_step_is_one_of_the_runs_own_job)
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
END_TEST

START_TEST(load_is_found_once_for_every_execution)
{
    struct quick_run q = run_variant(3, "sweep");
    const struct ty_link_load *load;
    ck_assert_int_eq(ty_run_link_load(q.run, &load, &err), 0);
    ck_assert(load->n_speed_changes == 0);
    ck_assert_int_eq(ty_run_execute(q.run, "events", &err), 0);
    q.config->run.contention = true;
    ck_assert_int_eq(ty_run_execute(q.run, "events", &err), 0);
    ck_assert_int_eq(ty_run_link_load(q.run, &load, &err), 0);
    const struct ty_speed_change *changes = load->speed_change;
    ck_assert(load->n_speed_changes > 0);
    ck_assert_int_eq(ty_run_link_load(q.run, &load, &err), 0);
    ck_assert_ptr_eq(load->speed_change, changes);
    quick_run_free(&q);
}
END_TEST

/* What leaves a port enters another. */
START_TEST(links_carry_twice_what_ranks_send)
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
END_TEST

/* ---- traces ---- */

#define SWITCHES 63u /* in the place of a node */

struct load {
    double bytes[64][TY_N_LINK_CLASSES]; /* by node */
    double value[64][TY_N_LINK_CLASSES], since[64][TY_N_LINK_CLASSES];
    size_t n;
};

/* Adds up the counters of a trace, event by event in the order of the file. */
static void read_counters(const struct quick_run *q, const char *detail, const char *window,
                          struct load *out)
{
    struct temp_dir dir;
    struct ty_arena arena = {.head = NULL};
    char target[256], why[256], *note;
    size_t n;
    temp_dir_make(&dir);
    const char *path = temp_dir_file(&dir, "trace.json");
    const struct ty_trace_options options = {
        .detail = detail, .ranks = "all", .window = window, .counters = "net"};
    snprintf(target, sizeof(target), "chrome:%s", path);
    ck_assert_msg(ty_run_trace(q->run, target, &options, &note, &err) == 0, "%s", err.text);
    ty_text_free(note);
    char *text = file_text(path, &n);
    const struct js *root = js_parse(&arena, text, n, why, sizeof(why));
    ck_assert_msg(root != NULL, "%s", why);
    *out = (struct load){.n = 0};
    for (const struct js *e = js_get(root, "traceEvents")->first; e != NULL; e = e->next) {
        uint32_t class = 0;
        ck_assert(!js_is(js_get(e, "name"), "memory"));
        if (!js_is(js_get(e, "ph"), "C")) {
            continue;
        }
        while (!js_is(js_get(e, "name"), ty_link_class_title((enum ty_link_class) class))) {
            ck_assert_uint_lt(++class, TY_N_LINK_CLASSES);
        }
        const unsigned long pid = strtoul(js_get(e, "pid")->raw, NULL, 10);
        const uint32_t node = pid == 1 ? SWITCHES : (uint32_t)pid - 100;
        const double t = strtod(js_get(e, "ts")->raw, NULL);
        ck_assert_uint_lt(node, 64);
        ck_assert(out->value[node][class] == 0 || t > out->since[node][class]);
        out->bytes[node][class] += out->value[node][class] * 1e3 * (t - out->since[node][class]);
        out->value[node][class] = strtod(js_get(js_get(e, "args"), "GB/s")->raw, NULL);
        out->since[node][class] = t;
        out->n++;
    }
    free(text);
    temp_dir_remove(&dir);
    ty_arena_release(&arena);
}

START_TEST(a_counter_times_time_is_bytes_and_ends_at_zero)
{
    static const char *const details[] = {"stage", "layer"};
    uint32_t between = 0;
    for (size_t v = 0; v < TY_COUNT(variants); v++) {
        struct quick_run q = run_variant(v, NULL);
        const struct ty_program *p = &q.run->lowered.program;
        struct naive *naive = naive_links(&q.run->all);
        for (size_t d = 0; d < TY_COUNT(details); d++) {
            struct load load;
            double want[64][TY_N_LINK_CLASSES] = {{0}};
            for (uint32_t l = 0; l < p->n_links; l++) {
                const uint32_t node = p->links[l].node;
                want[node == TY_NO_NODE ? SWITCHES : node][p->links[l].class] += naive[l].bytes;
            }
            read_counters(&q, details[d], NULL, &load);
            for (uint32_t n = 0; n < 64; n++) {
                for (uint32_t c = 0; c < TY_N_LINK_CLASSES; c++) {
                    ck_assert(load.value[n][c] == 0);
                    ASSERT_NEAR(load.bytes[n][c], want[n][c], 1e-6);
                }
            }
            between += load.bytes[SWITCHES][TY_LINK_LEAF] > 0;
            ck_assert_uint_le(d == 0 ? load.n : 0, 5 * 4098 * TY_N_LINK_CLASSES);
        }
        for (uint32_t l = 0; l < p->n_links; l++) {
            free(naive[l].edge);
        }
        free(naive);
        quick_run_free(&q);
    }
    ck_assert_uint_ge(between, 4);
}
END_TEST

START_TEST(windows_cut_a_counter_into_what_adds_up_again)
{
    static const char *const windows[] = {"0 s:0.1 s", "0.1 s:0.15 s", "0.15 s:100 s"};
    struct quick_run q = run_variant(0, NULL);
    struct load whole, part;
    double sum[64][TY_N_LINK_CLASSES] = {{0}};
    ck_assert(ty_s_from_ps(q.run->timeline.makespan) > 0.2);
    for (size_t w = 0; w < TY_COUNT(windows); w++) {
        read_counters(&q, "layer", windows[w], &part);
        ck_assert_uint_gt(part.n, 0);
        for (uint32_t n = 0; n < 64; n++) {
            for (uint32_t c = 0; c < TY_N_LINK_CLASSES; c++) {
                sum[n][c] += part.bytes[n][c];
                ck_assert(part.value[n][c] == 0);
            }
        }
    }
    read_counters(&q, "layer", NULL, &whole);
    for (uint32_t n = 0; n < 64; n++) {
        for (uint32_t c = 0; c < TY_N_LINK_CLASSES; c++) {
            ASSERT_NEAR(sum[n][c], whole.bytes[n][c], 1e-6);
        }
    }
    quick_run_free(&q);
}
END_TEST

START_TEST(the_estimate_of_a_trace_counts_the_values_of_links)
{
    for (int detail = TY_DETAIL_STAGE; detail <= TY_DETAIL_LAYER; detail++) {
        struct quick_run q = run_variant(0, NULL);
        const struct ty_link_load *load;
        struct ty_out out;
        const uint32_t ranks[] = {0, 9};
        struct ty_trace trace = {.timeline = &q.run->all,
                                 .stats = &q.run->stats,
                                 .ranks = ranks,
                                 .n_ranks = 2,
                                 .detail = (enum ty_detail)detail,
                                 .window_to = UINT64_MAX,
                                 .counters = TY_COUNTERS_NONE};
        ck_assert_int_eq(ty_run_link_load(q.run, &load, &err), 0);
        trace.link_load = load;
        const double without = ty_trace_chrome.estimate(&trace);
        ck_assert_int_eq(ty_out_open(&out, "null:", &err), 0);
        ck_assert_int_eq(ty_trace_chrome.write(&trace, &out, &err), 0);
        ck_assert_int_eq(ty_out_commit(&out, &err), 0);
        const double base = (double)out.total;
        trace.counters = TY_COUNTERS_NET;
        const double with = ty_trace_chrome.estimate(&trace);
        ck_assert_int_eq(ty_out_open(&out, "null:", &err), 0);
        ck_assert_int_eq(ty_trace_chrome.write(&trace, &out, &err), 0);
        ck_assert_int_eq(ty_out_commit(&out, &err), 0);
        const double ratio = (with - without) / ((double)out.total - base);
        ck_assert_msg(ratio < 1.5 && ratio > 1 / 1.5, "detail %d: %g", detail, ratio);
        quick_run_free(&q);
    }
}
END_TEST

TY_SUITE("load", two_flows_that_meet_fill_their_link_and_no_more, a_coarse_clock_loses_no_byte,
         members_in_lockstep_keep_their_own_latencies, a_meeting_counts_once,
         a_step_is_one_of_the_runs_own_job, load_is_found_once_for_every_execution,
         bytes_peaks_and_full_times_are_those_of_intervals_added_up_one_by_one,
         of_a_run_that_halted_what_was_issued_counts,
         no_link_is_above_its_capacity_and_no_byte_is_lost_where_links_are_shared,
         a_folded_run_and_members_in_lockstep_tell_the_same_as_all_ranks,
         links_carry_twice_what_ranks_send, a_counter_times_time_is_bytes_and_ends_at_zero,
         the_estimate_of_a_trace_counts_the_values_of_links,
         windows_cut_a_counter_into_what_adds_up_again)
