/* plan_case.h - spaces of many kinds, and random points of them. Includers are tests. */
#ifndef TY_TESTS_PLAN_CASE_H
#define TY_TESTS_PLAN_CASE_H

#include <stdio.h>

#include "sim/base/noise.h"
#include "sim/config/vary.h"
#include "sim/plan/space.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

/* A run file and axes; `more`: sections' further lines are part of the text. */
struct plan_case {
    const char *name, *text;
    const char *over[4]; /* up to the first NULL */
};

/* Schedules that flush, all of them. */
#define PLAN_FLUSHING                                                                              \
    "schedule.name=gpipe,1f1b,eager-1f1b,interleaved,bfs,zb-1p,zb-2p,zb-v,v-half,v-min,"           \
    "interleaved-zb,chimera,dualpipe,dualpipev,seq1f1b"

#define PLAN_MODEL "model: {layers: 8, heads: 8, hidden: 1024, sequence: 1024, vocabulary: 32000"
#define PLAN_MOE                                                                                   \
    "model: {layers: 8, heads: 8, hidden: 1024, ffn: 4096, sequence: 1024, "                       \
    "vocabulary: 32000, mlp: swiglu, experts: 16, "                                                \
    "experts_per_token: 2, expert_ffn: 512, shared_ffn: 512, dense_layers: 1"
#define PLAN_TWO  "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
#define PLAN_H100 "cluster: {preset: dgx-h100, nodes: 2}\n"

static const struct plan_case plan_cases[] = {
    {"every schedule", PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 32}\n", {PLAN_FLUSHING}},
    {"tied embedding, dropout, scores in memory",
     PLAN_TWO PLAN_MODEL ", tied: true, dropout: 0.1, attention: unfused}\n"
                         "layout: {global_batch: 32}\n",
     {PLAN_FLUSHING}},
    {"products in pieces",
     PLAN_TWO PLAN_MODEL ", mlp: swiglu}\nlayout: {global_batch: 32}\n"
                         "framework: {preset: torchtitan, overlap_tensor_products: true}\n",
     {PLAN_FLUSHING, "layout.tensor=4,8", "layout.sequence_parallel=true"}},
    {"products in pieces of parallel blocks, behind each other's reductions",
     PLAN_TWO PLAN_MODEL ", block: parallel}\nlayout: {global_batch: 32}\n"
                         "framework: {preset: megatron-lm, overlap_tensor_products: true, "
                         "overlap_tensor_reduce: false}\n",
     {PLAN_FLUSHING, "layout.tensor=2,4,8", "layout.sequence_parallel=true"}},
    {"megatron-deepspeed",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 64}\nframework: {preset: megatron-deepspeed}\n",
     {NULL}},
    {"aleph-alpha-scaling",
     PLAN_TWO PLAN_MODEL
     "}\nlayout: {global_batch: 64}\nframework: {preset: aleph-alpha-scaling}\n",
     {PLAN_FLUSHING}},
    {"nanotron",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 64}\nframework: {preset: nanotron}\n",
     {NULL}},
    {"fsdp",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 64}\nframework: {preset: fsdp}\n",
     {"layout.zero=2,3"}},
    {"torchtitan",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 64}\nframework: {preset: torchtitan}\n",
     {PLAN_FLUSHING, "layout.zero=0,3"}},
    {"llama3",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 64}\nframework: {preset: llama3}\n",
     {PLAN_FLUSHING, "layout.zero=1,2"}},
    {"ddp",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 64}\nframework: {preset: ddp}\n",
     {NULL}},
    {"every axis the other way",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 32}\n",
     {"layout.order=[tensor, context, data, pipeline],[pipeline, data, context, tensor],"
      "[data, tensor, pipeline, context]"}},
    {"parts in shards, reduced at once, no overlap",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 32, shard: 2}\n"
                         "framework: {overlap_grad_reduce: false, overlap_param_gather: false}\n",
     {"layout.tensor=1,2", "layout.pipeline=1,2,4", "layout.zero=1,2,3"}},
    {"every pass reduces, 32-bit gradients",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 32}\n"
                         "framework: {sync_every: true, reduce_dtype: fp32, prefetch: 2}\n",
     {"layout.zero=0,1,2,3", PLAN_FLUSHING}},
    {"weights that are not prefetched, on thin links",
     "cluster: {preset: dgx-a100-80g, nodes: 2, nics_per_node: 1}\n" PLAN_MODEL
     ", tied: true}\nlayout: {global_batch: 32}\nframework: {preset: megascale, prefetch: 0}\n",
     {"layout.zero=3", "schedule.name=gpipe,1f1b,interleaved"}},
    {"optimizer on the host",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 32, offload: zero-offload}\n",
     {"layout.zero=2,3", "schedule.name=gpipe,1f1b,interleaved,zb-1p,zb-v"}},
    {"a share of it, late",
     PLAN_TWO PLAN_MODEL
     "}\nlayout: {global_batch: 32, offload_optimizer: cpu, offload_share: 0.4}\n"
     "framework: {overlap_grad_reduce: false}\n",
     {"layout.zero=1,2,3", "schedule.name=gpipe,1f1b,interleaved,zb-1p,zb-v"}},
    {"parameters on the host",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 32, offload: zero3-offload}\n"
                         "framework: {preset: fsdp}\n",
     {"layout.zero=3", "schedule.name=gpipe,1f1b,interleaved,zb-1p,zb-v"}},
    {"all on drives",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 32, offload: zero-infinity}\n",
     {"layout.zero=3", "schedule.name=gpipe,1f1b,interleaved"}},
    {"every system that keeps states beside the GPU",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 32}\nframework: {preset: fsdp}\n",
     {"layout.offload=auto", "layout.pipeline=1,2", "schedule.name=1f1b,zb-1p"}},
    {"gemini, in a GPU that is nearly full",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 32, offload_room: 8 %}\n",
     {"layout.offload=gemini,zero3-offload", "layout.zero=3", "layout.micro_batch=1,2,4"}},
    {"shared sequences",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 16}\n",
     {"layout.context=2,4", "schedule.name=1f1b,interleaved"}},
    {"rings with unequal work",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 16, context_method: ring}\n",
     {"layout.context=2,4", "schedule.name=1f1b,zb-1p"}},
    {"grids of ranks",
     PLAN_TWO PLAN_MODEL ", tied: true}\nlayout: {global_batch: 32, tensor_scheme: 2d}\n",
     {PLAN_FLUSHING, "layout.tensor=1,4,16", "layout.zero=0,1,3"}},
    {"several grids, gathered",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 32, tensor_scheme: 2.5d, tensor_depth: 2,\n"
                         "  summa: gather}\n",
     {"layout.tensor=8", "schedule.name=1f1b,zb-1p,interleaved", "layout.context=1,2"}},
    {"cubes of ranks",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 32, tensor_scheme: 3d}\n"
                         "framework: {parallel_loss: false}\n",
     {"layout.tensor=8", PLAN_FLUSHING}},
    {"every scheme",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 32}\n",
     {"layout.tensor_scheme=auto", "layout.tensor=1,4,8,16", "schedule.name=1f1b,interleaved"}},
    {"scattered heads",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 16, context_method: ulysses}\n",
     {"layout.context=2,4", "schedule.name=1f1b"}},
    {"gathered keys",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 16, context_method: all-gather}\n",
     {"layout.context=2,4", "schedule.name=1f1b,gpipe"}},
    {"stages of unequal size",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 32, stage_layers: [1, 3, 3, 1]}\n",
     {"layout.pipeline=4", "schedule.name=gpipe,1f1b,zb-1p"}},
    {"some layers run again",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 32, recompute_layers: [2, 1, 1, 0]}\n",
     {"layout.pipeline=4", "schedule.name=gpipe,1f1b,zb-1p", "layout.recompute=full,ffn"}},
    {"modules dealt alike",
     PLAN_TWO PLAN_MODEL "}\nlayout: {global_batch: 32}\nframework: {stage_split: modules}\n",
     {"schedule.name=1f1b,interleaved"}},
    {"two kinds of GPU",
     "cluster:\n  preset: dgx-h100\n  nodes: 2\n  exceptions:\n    - nodes 0-0 with "
     "a100-sxm-80g\n" PLAN_MODEL "}\nlayout: {global_batch: 32}\n",
     {"schedule.name=1f1b,interleaved,zb-v", "layout.recompute=none,full"}},
    {"a slow GPU and a dead card",
     "cluster:\n  preset: dgx-a100-80g\n  nodes: 2\n  exceptions:\n    - gpu 3 at 80 %\n    - nic "
     "1.6 dead\n    - nvlink 1.1 at 50 %\n" PLAN_MODEL "}\nlayout: {global_batch: 32}\n",
     {"schedule.name=1f1b", "layout.recompute=none"}},
    {"thin network",
     "cluster: {preset: dgx1-v100, nodes: 2, nic_bandwidth: 3 GB/s, nics_per_node: 1}\n" PLAN_MODEL
     ", dtype: fp16}\nlayout: {global_batch: 32}\n",
     {"schedule.name=1f1b,interleaved,gpipe"}},
    {"fp8",
     PLAN_H100 PLAN_MODEL ", dtype: fp8}\nlayout: {global_batch: 32}\n",
     {"schedule.name=1f1b,interleaved,dualpipev"}},
    {"experts", PLAN_H100 PLAN_MOE "}\nlayout: {global_batch: 32}\n", {"schedule.name=1f1b,gpipe"}},
    {"experts, further tokens, latents",
     PLAN_H100 PLAN_MOE ", mtp: 1, kv_latent: 128, query_latent: 256, head_dim: 64, head_rope: 32, "
                        "head_value: 64}\nlayout: {global_batch: 32}\n",
     {PLAN_FLUSHING, "layout.tensor=1", "layout.expert=1,4,8"}},
    {"experts over each other",
     PLAN_H100 PLAN_MOE "}\nlayout: {global_batch: 32}\n"
                        "framework: {preset: deepseek, expert_overlap: true}\n",
     {"schedule.name=dualpipe,dualpipev,1f1b", "layout.tensor=1", "layout.expert=2,4,8"}},
    {"experts by all-gather",
     PLAN_H100 PLAN_MOE "}\nlayout: {global_batch: 32}\n"
                        "framework: {dispatcher: allgather, overlap_dispatch: true}\n",
     {"schedule.name=1f1b,zb-1p", "layout.expert=2,4,8"}},
    {"experts by node, shared ones beside",
     PLAN_H100 PLAN_MOE
     "}\nlayout: {global_batch: 32}\n"
     "framework: {dispatcher: deepep, overlap_dispatch: true, shared_overlap: true}\n",
     {"schedule.name=1f1b,zb-1p,dualpipev", "layout.expert=2,4,8"}},
};

/* A case's space. */
struct plan_made {
    struct ty_config *base;
    struct ty_plan_space space;
    struct ty_arena arena;
    struct ty_err err;
};

static inline void plan_make(struct plan_made *m, const struct plan_case *row)
{
    struct temp_dir dir;
    size_t n = 0;
    temp_dir_make(&dir);
    const char *path = temp_dir_file(&dir, "run.yaml");
    const struct ty_source source = {.path = path};
    FILE *out = fopen(path, "w");
    ck_assert(out != NULL && fputs(row->text, out) >= 0 && fclose(out) == 0);
    m->arena = (struct ty_arena){.head = NULL};
    m->space = (struct ty_plan_space){.n_points = 0};
    ty_err_init(&m->err);
    while (n < TY_COUNT(row->over) && row->over[n] != NULL) {
        n++;
    }
    int rc = ty_config_read_open(&m->base, &source, &m->err);
    if (rc == 0) {
        rc = ty_plan_space(&m->space, m->base, &source, row->over, n, &m->arena, &m->err);
    }
    ck_assert_msg(rc == 0 && m->space.n_points > 0, "%s: %s", row->name, m->err.text);
    temp_dir_remove(&dir);
}

static inline void plan_drop(struct plan_made *m)
{
    ty_plan_space_release(&m->space);
    ty_arena_release(&m->arena);
    ty_config_free(m->base);
}

/* Point number `k` of those that a test looks at. */
static inline const struct ty_plan_point *plan_point(const struct plan_made *m, uint32_t k)
{
    return &m->space.point[ty_hash4(19, k, 0, 0) % m->space.n_points];
}

/* A point in words. Returns buf. */
static inline const char *plan_words(const struct ty_plan_point *p, char buf[160])
{
    (void)snprintf(buf, 160,
                   "tensor %u context %u pipeline %u data %u expert %u x %u, %u x %u, %s of %u, "
                   "ZeRO-%u, recompute %x, sequence parallel %d, order %u",
                   (unsigned)p->tensor, (unsigned)p->context, (unsigned)p->pipeline,
                   (unsigned)p->data, (unsigned)p->expert, (unsigned)p->expert_tensor,
                   (unsigned)p->micro_batches, (unsigned)p->micro_batch,
                   ty_schedules[p->schedule]->name, (unsigned)p->chunks, (unsigned)p->zero,
                   (unsigned)p->recompute, p->sequence_parallel, (unsigned)p->order);
    return buf;
}

#endif
