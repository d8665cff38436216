/* test_emit.c - configurations in the words of other stacks: what must be said, and what has no
 * word. */
#include "sim/emit/emit.h"

#include <stdio.h>
#include <string.h>

#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define WORDS 12u

static const char llama[] = "cluster: {preset: dgx-a100-80g, nodes: 4}\n"
                            "model: {preset: llama3-70b}\n"
                            "layout: {tensor: 4, pipeline: 4, micro_batch: 1, global_batch: 32, "
                            "sequence_parallel: true}\n";
static const char sparse[] =
    "cluster: {preset: dgx-h100, nodes: 2}\n"
    "model: {preset: deepseek-v3, layers: 8, mtp: 1, dtype: fp8}\n"
    "layout: {tensor: 1, expert: 8, pipeline: 2, global_batch: 64, recompute: [norm, mla_up]}\n"
    "framework: {preset: deepseek}\n";

/* Emits `yaml` under settings; the caller frees. */
static char *emitted(const char *yaml, const char *stack, const char *const *sets)
{
    struct ty_text out = {.data = NULL};
    struct ty_err err;
    ty_err_init(&err);
    struct quick_run q = quick_run(yaml, "sweep", sets);
    ck_assert_int_eq(ty_emit(&out, stack, q.config, &err), 0);
    quick_run_free(&q);
    return ty_text_take(&out);
}

static const struct emit_case {
    const char *yaml, *stack, *set[6];
    const char *said[WORDS], *not_said[4];
} cases[] = {
    {llama,
     "megatron",
     {"layout.zero=1"},
     {"--num-layers 80\n", "--num-query-groups 8\n", "--ffn-hidden-size 28672\n", "--swiglu\n",
      "--padded-vocab-size 128256\n", "--tensor-model-parallel-size 4\n", "--sequence-parallel\n",
      "--use-distributed-optimizer\n", "--global-batch-size 32\n", "--nnodes 4 --nproc_per_node 8",
      "--untie-embeddings-and-output-weights\n", "--disable-bias-linear\n"},
     {"has no word", "--num-virtual-stages", "--recompute", "--num-experts"}},
    {llama,
     "megatron",
     {"schedule.name=interleaved", "schedule.chunks=2", "layout.recompute=full",
      "layout.order=[tensor, context, pipeline, data]", "framework.bucket=80 MB"},
     {"--num-virtual-stages-per-pipeline-rank 2\n", "--recompute-granularity full\n",
      "--recompute-num-layers 1\n", "--use-tp-pp-dp-mapping\n", "--ddp-bucket-size 40000000\n"},
     {"has no word"}},
    {llama,
     "megatron",
     {"layout.zero=3", "layout.pipeline=1", "model.vocabulary=50257"},
     {"--use-distributed-optimizer\n", "--use-megatron-fsdp\n",
      "--data-parallel-sharding-strategy optim_grads_params\n", "--padded-vocab-size 50260\n",
      "#   model.vocabulary 50257: 4 tensor ranks share whole rows, 50260\n",
      "# simulated with the habits of fsdp; --set framework.preset=megatron-lm has those of "
      "Megatron-LM\n"},
     {NULL}},
    {llama,
     "megatron",
     {"layout.zero=3", "layout.pipeline=1", "framework.preset=megatron-lm"},
     {"--use-distributed-optimizer\n", "--use-megatron-fsdp\n"},
     {"habits", "has no word"}},
    {llama,
     "deepspeed",
     {"layout.zero=1"},
     {"# simulated with the habits of megatron-lm; --set framework.preset=megatron-deepspeed has "
      "those of DeepSpeed\n"},
     {"has no word"}},
    {sparse,
     "megatron",
     {"model.dense_layers=1", "model.mlp_layers=[3, 4]", NULL},
     {"--moe-layer-freq '([0]*1+[1]*2+[0]*2+[1]*3)'\n"},
     {"has no word here for"}},
    {llama,
     "megatron",
     {"model.rotary=25 %", "model.norms=4", NULL},
     {"--rotary-percent 0.25\n", "#   model.norms 4\n"},
     {"model.norm_kind"}},
    {llama,
     "deepspeed",
     {"layout.pipeline=1", "layout.offload=zero-infinity", "layout.offload_parameters=cpu"},
     {"\"offload_optimizer\": {\"device\": \"nvme\", \"pin_memory\": true, \"ratio\": 1}",
      "\"offload_param\": {\"device\": \"cpu\", \"pin_memory\": true}", "\"stage\": 3"},
     {"layout.offload"}},
    {llama,
     "deepspeed",
     {"layout.pipeline=1", "layout.offload=zero-offload", "layout.offload_share=0.4"},
     {"\"device\": \"cpu\"", "\"ratio\": 0.4}", "\"stage\": 2"},
     {"offload_param"}},
    {llama,
     "megatron",
     {"layout.pipeline=1", "layout.offload=zero-offload"},
     {"layout.offload zero-offload: states beside the GPU\n"},
     {NULL}},
    {llama,
     "megatron",
     {"layout.stage_layers=[19, 21, 21, 19]"},
     {"--pipeline-model-parallel-layout 'Et*19|t*21|t*21|t*19L'\n"},
     {"has no word"}},
    {llama,
     "megatron",
     {"layout.recompute=full", "layout.recompute_layers=[3]"},
     {"--recompute-method block\n", "--recompute-num-layers 3\n"},
     {"has no word", "uniform"}},
    {llama,
     "megatron",
     {"layout.recompute=full", "layout.recompute_layers=[3, 2, 1, 0]"},
     {"#   layout.recompute_layers "},
     {"--recompute"}},
    {llama,
     "megatron",
     {"schedule.name=zb-1p", "layout.order=[data, tensor, context, pipeline]"},
     {"Megatron-LM has no word here for\n", "#   schedule.name zb-1p: ", "#   layout.order "},
     {"--use-tp-pp-dp-mapping"}},
    {sparse,
     "megatron",
     {NULL},
     {"--multi-latent-attention\n", "--q-lora-rank 1536\n", "--kv-lora-rank 512\n",
      "--num-experts 256\n", "--moe-router-topk 8\n", "--moe-layer-freq '([0]*3+[1]*5)'\n",
      "--expert-model-parallel-size 8\n", "--moe-flex-dispatcher-backend deepep\n",
      "--mtp-num-layers 1\n", "--recompute-modules layernorm mla_up_proj\n",
      "--fp8-recipe blockwise\n"},
     {"--kv-channels"}},
    {llama,
     "deepspeed",
     {"layout.zero=1", "layout.recompute=full"},
     {"\"stage\": 1", "\"train_batch_size\": 32", "\"gradient_accumulation_steps\": 16",
      "--pipeline-model-parallel-size 4\n", "--num-key-value-heads 8\n",
      "--deepspeed-activation-checkpointing\n", "\"bf16\": {\"enabled\": true}"},
     {"has no word", "--no-pipeline-parallel"}},
    {llama,
     "deepspeed",
     {"layout.pipeline=1", "layout.tensor=1", "layout.zero=3", "layout.context=2",
      "layout.recompute=norm"},
     {"--no-pipeline-parallel\n", "\"stage\": 3", "#   layout.context 2 by zigzag",
      "#   layout.recompute norm"},
     {"--ds-sequence-parallel-size"}},
    {llama,
     "torchtitan",
     {"layout.zero=3", "layout.pipeline=1", "layout.recompute=full", "framework.preset=fsdp"},
     {"flavor = \"70B\"", "local_batch_size = 1\n", "global_batch_size = 32\n",
      "data_parallel_shard_degree = 8\n", "tensor_parallel_degree = 4\n",
      "pipeline_parallel_degree = 1\n", "mode = \"full\"",
      "fsdp_reshard_after_forward = \"default\"\n"},
     {"has no word", "pipeline_parallel_schedule"}},
    {llama,
     "torchtitan",
     {"layout.zero=0", "schedule.name=interleaved", "schedule.chunks=2"},
     {"local_batch_size = 16\n", "pipeline_parallel_microbatch_size = 1\n", "\"Interleaved1F1B\"",
      "pipeline_parallel_layers_per_stage = 10\n", "data_parallel_replicate_degree = 2\n"},
     {"has no word"}},
    {llama,
     "megatron",
     {"layout.tensor_scheme=2d", "layout.sequence_parallel=false", "layout.micro_batch=2"},
     {"#   layout.tensor_scheme 2d: it cuts products in one dimension\n"},
     {NULL}},
    {llama,
     "deepspeed",
     {"layout.tensor_scheme=2d", "layout.sequence_parallel=false", "layout.micro_batch=2"},
     {"#   layout.tensor_scheme 2d: it cuts products in one dimension\n"},
     {NULL}},
    {llama,
     "torchtitan",
     {"layout.tensor_scheme=2d", "layout.sequence_parallel=false", "layout.micro_batch=2"},
     {"#   layout.tensor_scheme 2d: it cuts products in one dimension\n"},
     {NULL}},
};

START_TEST(a_stack_gets_its_words)
{
    for (size_t i = 0; i < TY_COUNT(cases); i++) {
        char *text = emitted(cases[i].yaml, cases[i].stack, cases[i].set);
        for (size_t k = 0; k < TY_COUNT(cases[i].said) && cases[i].said[k] != NULL; k++) {
            ck_assert_msg(strstr(text, cases[i].said[k]) != NULL, "case %zu: no '%s' in\n%s", i,
                          cases[i].said[k], text);
        }
        for (size_t k = 0; k < TY_COUNT(cases[i].not_said) && cases[i].not_said[k] != NULL; k++) {
            ck_assert_msg(strstr(text, cases[i].not_said[k]) == NULL, "case %zu: '%s' in\n%s", i,
                          cases[i].not_said[k], text);
        }
        free(text);
    }
}
END_TEST

START_TEST(a_stack_that_is_not_there_is_refused)
{
    struct ty_text out = {.data = NULL};
    struct ty_err err;
    ty_err_init(&err);
    struct quick_run q = quick_run(llama, "sweep", (const char *const[]){NULL});
    ck_assert_int_eq(ty_emit(&out, "megatron-lm", q.config, &err), TY_EUSAGE);
    ck_assert_ptr_nonnull(strstr(err.text, "megatron, deepspeed, torchtitan, yaml"));
    quick_run_free(&q);
    ty_text_release(&out);
}
END_TEST

TY_SUITE("emit", a_stack_gets_its_words, a_stack_that_is_not_there_is_refused)
