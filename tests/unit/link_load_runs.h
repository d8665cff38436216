/* link_load_runs.h - runs of all kinds of links, and what their links carry, added up interval by
 * interval. */
#ifndef TY_TESTS_LINK_LOAD_RUNS_H
#define TY_TESTS_LINK_LOAD_RUNS_H

#include <math.h>
#include <stdlib.h>

#include "sim/core/analyse/link_load.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

/* Equal to a share of the second; nothing is equal to nothing. */
#define ASSERT_NEAR(a, b, share)                                                                   \
    ck_assert_msg(fabs((a) - (b)) <= (share)*fabs(b), "%.17g, not %.17g", (double)(a), (double)(b))

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
    {"layout.pipeline=1", "layout.zero=3", "layout.offload=zero3-offload"},
    {"layout.zero=2", "layout.offload_optimizer=nvme", "cluster.nvme.write=4 GB/s"},
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

static inline struct quick_run run_variant(size_t v, const char *engine)
{
    const char *sets[] = {variants[v][0], variants[v][1], variants[v][2], NULL};
    return quick_run(v == JOBS ? RUN OTHER : RUN, v == STEPS ? NULL : engine, sets);
}

struct edge {
    ty_ps t;
    double Bps;
};

static inline int by_time(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return (x->t > y->t) - (x->t < y->t);
}

struct naive {
    struct edge *edge; /* of one link */
    size_t n, cap;
    double bytes;
};

static inline void naive_edge(struct naive *o, ty_ps t, double Bps)
{
    if (o->n == o->cap) {
        o->cap = o->cap == 0 ? 1024 : 2 * o->cap;
        o->edge = realloc(o->edge, o->cap * sizeof(*o->edge));
    }
    o->edge[o->n++] = (struct edge){t, Bps};
}

/* The group a member of an operation shares a flow with begins with it. */
static inline bool stands(const struct ty_program *p, const struct ty_op *op, uint32_t m)
{
    const uint16_t group = op->sync == TY_SYNC_GROUP  ? op->link
                           : op->sync == TY_SYNC_MEET ? p->meets[op->link].group
                                                      : TY_NONE;
    return group == TY_NONE || m / p->groups[group].stride % p->groups[group].count == 0;
}

/* What a flow moves alone, evenly from one time to another. */
static inline void naive_flow(struct naive *out, const struct ty_program *p,
                              const struct ty_flow *flow, ty_ps alone, ty_ps from, ty_ps to)
{
    ck_assert(flow != NULL && to >= from);
    for (uint32_t u = flow->first_use; u < flow->first_use + flow->n_uses; u++) {
        struct naive *o = &out[p->uses[u].link];
        const double bytes =
            ty_use_moves(flow, &p->uses[u], p->links) * (double)(alone - flow->lead);
        naive_edge(o, from, bytes / (double)(to - from));
        naive_edge(o, to, -bytes / (double)(to - from));
        o->bytes += bytes * 1e-12;
    }
}

static inline void naive_messages(struct naive *out, const struct ty_program *p,
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
static inline struct naive *naive_links(const struct ty_timeline *t)
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
static inline struct ty_link_load_peak naive_peak(struct naive *o, double capacity)
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

#endif
