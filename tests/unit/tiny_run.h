/* tiny_run.h - a transformer-like 1F1B program straight through the core, executed by the sweep.
 *
 * Ranks (d, s, t) of data, pipeline and tensor are numbered with tensor fastest, then pipeline,
 * then data. Every layer is attention (qkv, core, proj), all-reduce, mlp, all-reduce; backward
 * mirrors it. Durations are those of tensor-parallel work on an imagined GPU, in nanoseconds,
 * unless the caller scales them. */
#ifndef TY_TESTS_TINY_RUN_H
#define TY_TESTS_TINY_RUN_H

#include <stdio.h>
#include <stdlib.h>

#include "model/vocabulary.h"
#include "sim/core/analyse/stats.h"
#include "sim/core/execute/execute.h"

struct tiny {
    uint32_t p, t, d, m; /* pipeline, tensor, data; micro-batches */
    uint32_t layers;     /* per stage */
    uint32_t steps;
    ty_ps scale;    /* picoseconds per unit of the table below; 0: 1000 (the table is in ns) */
    bool unit;      /* forward 1, backward 2, all else 0, instead of the table */
    bool data;      /* reduce-scatter in the last backward, optimizer, all-gather, step meeting */
    bool recompute; /* the attention core is repeated before its backward */
    bool gpipe;     /* all forwards first, instead of 1F1B */
    double jitter;  /* coefficient of variation */
    const double *slow_of; /* [p t d] factors on the computation of ranks; NULL: none */
    uint64_t seed;
};

struct tiny_run {
    struct ty_arena arena;
    struct ty_program program;
    struct ty_timeline timeline;
    struct ty_stats stats;
};

/* name, category, duration */
#define TINY_KINDS(X)                                                                              \
    X(QKV, "qkv", FORWARD, 210000)                                                                 \
    X(CORE, "attention core", FORWARD, 160000)                                                     \
    X(PROJ, "proj", FORWARD, 90000)                                                                \
    X(MLP, "mlp core", FORWARD, 480000)                                                            \
    X(B_MLP, "mlp core", BACKWARD, 960000)                                                         \
    X(B_PROJ, "proj", BACKWARD, 180000)                                                            \
    X(AGAIN, "attention core", RECOMPUTE, 160000)                                                  \
    X(B_CORE, "attention core", BACKWARD, 400000)                                                  \
    X(B_QKV, "qkv", BACKWARD, 420000)                                                              \
    X(REDUCE, "all-reduce", COMM_TENSOR, 70000)                                                    \
    X(SEND, "send", COMM_PIPELINE, 80000)                                                          \
    X(RECV, "recv", COMM_PIPELINE, 10000)                                                          \
    X(SCATTER, "reduce-scatter", COMM_DATA, 300000)                                                \
    X(NORM, "all-reduce", COMM_DATA, 20000)                                                        \
    X(ADAM, "adam", OPTIMIZER, 250000)                                                             \
    X(GATHER, "all-gather", COMM_DATA, 200000)

enum tiny_kind {
#define X(id, name, cat, dur) TINY_##id,
    TINY_KINDS(X)
#undef X
    TINY_N_KINDS
};

enum {
    TINY_GOT,
    TINY_DONE,
    TINY_REDUCED,
    TINY_GRADS,
    TINY_AGREED,
    TINY_STEPPED,
    TINY_PARAMS
};

struct tiny_build {
    const struct tiny *tiny;
    struct ty_builder b;
    uint8_t wait, also; /* events the next operation has to wait for */
};

static void tiny_op(struct tiny_build *x, enum tiny_kind kind, uint8_t stream, uint8_t record,
                    uint16_t layer, uint8_t part)
{
    struct ty_op op = TY_OP_INIT;
    op.kind = (uint16_t)kind;
    op.stream = stream;
    op.record = record;
    op.layer = layer;
    op.part = part;
    op.wait[0] = x->wait != TY_NO_EVENT ? x->wait : x->also;
    op.wait[1] = x->wait != TY_NO_EVENT ? x->also : TY_NO_EVENT;
    x->wait = x->also = TY_NO_EVENT;
    ty_build_op(&x->b, &op);
}

static void tiny_linked(struct tiny_build *x, enum tiny_kind kind, uint8_t stream,
                        enum ty_sync sync, uint16_t link, uint8_t wait, uint8_t record,
                        uint16_t layer)
{
    struct ty_op op = TY_OP_INIT;
    op.kind = (uint16_t)kind;
    op.stream = stream;
    op.sync = (uint8_t)sync;
    op.link = link;
    op.wait[0] = wait;
    op.record = record;
    op.layer = layer;
    ty_build_op(&x->b, &op);
    x->wait = record;
}

static void tiny_reduce(struct tiny_build *x, uint16_t layer)
{
    tiny_linked(x, TINY_REDUCE, TY_STREAM_TENSOR, TY_SYNC_GROUP, 0, TINY_DONE, TINY_REDUCED, layer);
}

static void tiny_compute(struct tiny_build *x, enum tiny_kind kind, uint16_t layer, uint8_t part)
{
    tiny_op(x, kind, TY_STREAM_COMPUTE, TINY_DONE, layer, part);
}

static void tiny_forward(struct tiny_build *x, uint32_t s)
{
    const struct tiny *c = x->tiny;
    const struct ty_block block = {
        .acquire_B = 1.5e9, .transient_B = 0.25e9, .transient_what = "mlp"};
    ty_build_block(&x->b, &block);
    x->wait = TY_NO_EVENT;
    x->also = TINY_REDUCED; /* of the pass before */
    if (s > 0) {
        tiny_linked(x, TINY_RECV, TY_STREAM_RECV, TY_SYNC_RECV, (uint16_t)(2 * (s - 1)),
                    TY_NO_EVENT, TINY_GOT, TY_NONE);
    }
    for (uint32_t l = 0; l < c->layers; l++) {
        const uint16_t layer = (uint16_t)(s * c->layers + l);
        tiny_compute(x, TINY_QKV, layer, TY_PART_ATTENTION);
        tiny_compute(x, TINY_CORE, layer, TY_PART_ATTENTION);
        tiny_compute(x, TINY_PROJ, layer, TY_PART_ATTENTION);
        tiny_reduce(x, layer);
        tiny_compute(x, TINY_MLP, layer, TY_PART_MLP);
        tiny_reduce(x, layer);
    }
    if (s + 1 < c->p) {
        tiny_linked(x, TINY_SEND, TY_STREAM_SEND, TY_SYNC_SEND, (uint16_t)(2 * s), x->wait,
                    TY_NO_EVENT, TY_NONE);
    }
}

static void tiny_backward(struct tiny_build *x, uint32_t s, bool last)
{
    const struct tiny *c = x->tiny;
    const struct ty_block block = {
        .release_B = 1.5e9, .transient_B = 0.5e9, .transient_what = "gradients"};
    ty_build_block(&x->b, &block);
    x->wait = TY_NO_EVENT;
    x->also = TINY_REDUCED;
    if (s + 1 < c->p) {
        tiny_linked(x, TINY_RECV, TY_STREAM_RECV, TY_SYNC_RECV, (uint16_t)(2 * s + 1), TY_NO_EVENT,
                    TINY_GOT, TY_NONE);
    }
    for (uint32_t l = c->layers; l-- > 0;) {
        const uint16_t layer = (uint16_t)(s * c->layers + l);
        if (c->recompute) {
            tiny_compute(x, TINY_AGAIN, layer, TY_PART_ATTENTION);
        }
        tiny_compute(x, TINY_B_MLP, layer, TY_PART_MLP);
        tiny_reduce(x, layer);
        tiny_compute(x, TINY_B_PROJ, layer, TY_PART_ATTENTION);
        tiny_compute(x, TINY_B_CORE, layer, TY_PART_ATTENTION);
        tiny_compute(x, TINY_B_QKV, layer, TY_PART_ATTENTION);
        tiny_reduce(x, layer);
    }
    const uint8_t reduced = x->wait;
    if (s > 0) {
        tiny_linked(x, TINY_SEND, TY_STREAM_SEND, TY_SYNC_SEND, (uint16_t)(2 * (s - 1) + 1),
                    reduced, TY_NO_EVENT, TY_NONE);
    }
    if (last && c->data) {
        tiny_linked(x, TINY_SCATTER, TY_STREAM_DATA, TY_SYNC_GROUP, 1, TINY_DONE, TINY_GRADS,
                    TY_NONE);
    }
}

static void tiny_step(struct tiny_build *x)
{
    const struct ty_block block = {.transient_B = 0};
    ty_build_block(&x->b, &block);
    tiny_linked(x, TINY_NORM, TY_STREAM_DATA, TY_SYNC_MEET, 0, TINY_GRADS, TINY_AGREED, TY_NONE);
    tiny_op(x, TINY_ADAM, TY_STREAM_COMPUTE, TINY_STEPPED, TY_NONE, TY_PART_NONE);
    tiny_linked(x, TINY_GATHER, TY_STREAM_DATA, TY_SYNC_GROUP, 1, TINY_STEPPED, TINY_PARAMS,
                TY_NONE);
}

static void tiny_pass(struct tiny_build *x, uint32_t s, uint32_t step, uint32_t mb,
                      enum ty_phase phase, uint32_t block)
{
    const struct ty_pass pass = {.block = block,
                                 .seq = step * x->tiny->m + mb,
                                 .mb = (uint16_t)mb,
                                 .stage = (uint16_t)s,
                                 .step = (uint16_t)step,
                                 .phase = (uint8_t)phase};
    ty_build_pass(&x->b, &pass);
}

/* PipeDream-Flush: p-s-1 forwards, then one forward and one backward in turn, then the rest. */
static void tiny_order(struct tiny_build *x, uint32_t s, uint32_t step, uint32_t block)
{
    const uint32_t m = x->tiny->m, in_flight = x->tiny->gpipe ? m : x->tiny->p - 1 - s;
    const uint32_t ahead = in_flight < m ? in_flight : m;
    uint32_t f = 0, b = 0;
    while (b < m) {
        const bool forward = f < ahead || (f < m && f - ahead <= b);
        if (forward) {
            tiny_pass(x, s, step, f++, TY_PHASE_FORWARD, block);
        } else {
            tiny_pass(x, s, step, b, TY_PHASE_BACKWARD, block + (b == m - 1 ? 2 : 1));
            b++;
        }
    }
    if (x->tiny->data) {
        tiny_pass(x, s, step, 0, TY_PHASE_STEP, block + 3);
    }
}

static ty_ps tiny_unit(enum tiny_kind kind)
{
    return kind == TINY_QKV ? 1 : kind == TINY_B_QKV ? 2 : kind == TINY_ADAM ? 1 : 0;
}

static void tiny_tables(struct tiny_build *x, ty_ps scale)
{
    static const struct {
        const char *name;
        uint8_t category;
        ty_ps dur;
    } rows[] = {
#define X(id, name, cat, dur) {name, TY_CAT_##cat, dur},
        TINY_KINDS(X)
#undef X
    };
    const struct tiny *c = x->tiny;
    for (size_t i = 0; i < TINY_N_KINDS; i++) {
        const bool comm = rows[i].category >= TY_CAT_COMM_TENSOR;
        const struct ty_kind kind = {.name = rows[i].name,
                                     .category = rows[i].category,
                                     .group = rows[i].category == TY_CAT_COMM_TENSOR ? "tp"
                                              : rows[i].category == TY_CAT_COMM_DATA ? "dp"
                                                                                     : NULL,
                                     .algorithm = comm ? "ring" : NULL,
                                     .dur = scale *
                                            (c->unit ? tiny_unit((enum tiny_kind)i) : rows[i].dur),
                                     .flops = comm ? 0 : 1e9,
                                     .bytes = comm ? 33554432 : 0};
        ty_build_kind(&x->b, &kind);
    }
    ty_build_group(&x->b, &(struct ty_group){"tp", 1, c->t});
    ty_build_group(&x->b, &(struct ty_group){"dp", c->t, c->d});
    ty_build_meet(&x->b, &(struct ty_meet){.name = "step", .group = 1, .n_gangs = c->p});
    for (uint32_t s = 0; s + 1 < c->p; s++) {
        ty_build_channel(
            &x->b,
            &(struct ty_channel){.name = "act", .from = s, .to = s + 1, .n_seq = c->m * c->steps});
        ty_build_channel(
            &x->b,
            &(struct ty_channel){.name = "grad", .from = s + 1, .to = s, .n_seq = c->m * c->steps});
    }
}

/* Builds, seals, executes and analyses. Returns 0 or a code, with the message in err. */
static int tiny_run(struct tiny_run *run, const struct tiny *config, struct ty_err *err)
{
    struct tiny c = *config;
    c.steps = c.steps == 0 ? 1 : c.steps;
    *run = (struct tiny_run){.program = {.words = &ty_transformer_words, .n_steps = c.steps}};
    run->program.jitter = (struct ty_jitter){.seed = c.seed, .cv = c.jitter, .group = TY_NONE};
    run->program.slow_of = c.slow_of;
    struct tiny_build x = {.tiny = &c,
                           .b = {.program = &run->program, .arena = &run->arena, .err = err}};
    tiny_tables(&x, c.scale == 0 ? 1000 : c.scale);
    for (uint32_t s = 0; s < c.p; s++) {
        uint32_t *ranks = ty_arena_array(&run->arena, uint32_t, c.t * c.d);
        for (uint32_t i = 0; i < c.t * c.d; i++) {
            ranks[i] = (i / c.t * c.p + s) * c.t + i % c.t;
        }
        char name[32];
        const int n = snprintf(name, sizeof(name), "stage %u", (unsigned)s);
        const struct ty_gang gang = {.name = ty_arena_strndup(&run->arena, name, (size_t)n),
                                     .n_ranks = c.t * c.d,
                                     .rank_of = ranks,
                                     .static_B = {10e9, 20e9, 30e9, 1e9}};
        const uint32_t block = run->program.n_blocks;
        tiny_forward(&x, s);
        tiny_backward(&x, s, false);
        tiny_backward(&x, s, true);
        if (c.data) {
            tiny_step(&x);
        }
        ty_build_gang(&x.b, &gang);
        for (uint32_t step = 0; step < c.steps; step++) {
            tiny_order(&x, s, step, block);
        }
    }
    int rc = x.b.code < 0 ? x.b.code : ty_program_seal(&run->program, &run->arena, err);
    rc = rc == 0 ? ty_timeline_init(&run->timeline, &run->program, err) : rc;
    rc = rc == 0 ? ty_sweep(&run->timeline, err) : rc;
    return rc == 0 ? ty_stats_compute(&run->stats, &run->timeline, &run->arena, err) : rc;
}

static void tiny_release(struct tiny_run *run)
{
    ty_timeline_release(&run->timeline);
    ty_arena_release(&run->arena);
}

#endif
