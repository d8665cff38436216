/* framework.c - keys and presets of the `framework` section.
 *
 * Every value of a preset carries its reason; a preset names itself, since it may be chosen by
 * default and reports say which it was. "guess" marks what no source or measurement says. */
#include "model/framework.h"

#include "topology/cluster.h"

static const struct ty_word p2p_words[] = {
    {"auto", TY_OVERLAP_P2P_AUTO, "with several model chunks per rank, as Megatron-LM does"},
    {"true", TY_OVERLAP_P2P_TRUE, "messages leave beside the next pass"},
    {"false", TY_OVERLAP_P2P_FALSE, "the next pass waits for them"},
    {NULL, 0, NULL},
};

static const struct ty_word sync_words[] = {
    {"auto", TY_SYNC_EVERY_AUTO, "ZeRO-2 and -3 do, 0 and 1 do not"},
    {"true", TY_HABIT_TRUE, "reduced after every backward pass"},
    {"run", TY_SYNC_EVERY_RUN,
     "after the last of neighbouring backward passes of a model chunk; whole gradients of one "
     "chunk "
     "are kept"},
    {"false", TY_HABIT_FALSE, "added up first: whole gradients are kept on every rank"},
    {"no-pipeline", TY_HABIT_NO_PIPELINE, "true without a pipeline, false in one"},
    {NULL, 0, NULL},
};

static const struct ty_word habit_words[] = {
    {"true", TY_HABIT_TRUE, "always"},
    {"false", TY_HABIT_FALSE, "never"},
    {"no-pipeline", TY_HABIT_NO_PIPELINE, "true without a pipeline, false in one"},
    {NULL, 0, NULL},
};

static const struct ty_word split_words[] = {
    {"layers", TY_STAGE_SPLIT_LAYERS,
     "transformer layers; what is left over not to the last stage"},
    {"modules", TY_STAGE_SPLIT_MODULES,
     "embedding, layers, final norm and head, each counting one"},
    {NULL, 0, NULL},
};

#define ROW(key_, type_, ...)       TY_FIELD(struct ty_framework, #key_, key_, type_, __VA_ARGS__)
#define FLAG(key_, fallback_, doc_) ROW(key_, BOOL, .fallback = (fallback_), .doc = (doc_))
#define HABIT(key_, fallback_, doc_)                                                               \
    ROW(key_, WORD, .words = habit_words, .fallback = (fallback_), .doc = (doc_))
#define TIME(key_, doc_)                                                                           \
    ROW(key_, QUANTITY, .dim = TY_DIM_SECONDS, .max = 10, .fallback = "0 s", .doc = (doc_))

static const struct ty_word grad_words[] = {
    {"auto", TY_GRAD_AUTO, "fp32 where the model is bf16, else as the model"},
    {"model", TY_GRAD_MODEL, "16 bit, as the weights"},
    {"fp32", TY_GRAD_FP32, "32 bit"},
    {NULL, 0, NULL},
};

static const struct ty_word reduce_words[] = {
    {"auto", TY_GRAD_AUTO, "as gradients are kept"},
    {"model", TY_GRAD_MODEL, "16 bit, as the weights"},
    {"fp32", TY_GRAD_FP32, "32 bit"},
    {NULL, 0, NULL},
};

static const struct ty_word dispatch_words[] = {
    {"model", TY_DISPATCH_MODEL, "that of the model"},
    {"fp8", TY_DISPATCH_FP8, "8 bit, with a 32-bit scale for every 128 elements"},
    {NULL, 0, NULL},
};

static const struct ty_word dispatcher_words[] = {
    {"alltoall", TY_DISPATCHER_ALL_TO_ALL,
     "a copy of a token for each of its experts; the host waits for counts"},
    {"allgather", TY_DISPATCHER_ALL_GATHER, "all tokens to all expert ranks, sums scattered"},
    {"deepep", TY_DISPATCHER_DEEPEP,
     "a copy for each node over the network and for each rank in it, by kernels that take SMs"},
    {"hybridep", TY_DISPATCHER_HYBRIDEP, "the same with fewer SMs"},
    {NULL, 0, NULL},
};

static const struct ty_word moment_words[] = {
    {"fp32", TY_STATE_FP32, "32 bit"},
    {"bf16", TY_STATE_16BIT, "16 bit (DeepSeek-V3; Megatron-LM's --exp-avg-dtype)"},
    {"fp8", TY_STATE_FP8, "8 bit"},
    {NULL, 0, NULL},
};

static const struct ty_word master_words[] = {
    {"fp32", TY_STATE_FP32, "32 bit beside the weights of the model"},
    {"bf16", TY_STATE_16BIT,
     "16 bit (--main-params-dtype), or what 16-bit weights lack of 32 (store_param_remainders)"},
    {"none", TY_STATE_NONE, "none: the weights of the model are updated themselves"},
    {NULL, 0, NULL},
};

static const struct ty_word fp8_words[] = {
    {"none", TY_FP8_NONE, "nothing is cast: fp8 is a rate of products"},
    {"delayed", TY_FP8_DELAYED,
     "a scale for a tensor, from largest values of steps before (Transformer Engine's default)"},
    {"current", TY_FP8_CURRENT,
     "a scale for a tensor, from its own largest value: it is read once more (torchao)"},
    {"blockwise", TY_FP8_BLOCKS, "a scale for 1 x 128 elements (DeepSeek-V3)"},
    {"mxfp8", TY_FP8_BLOCKS, "a scale for 32 elements (Blackwell): as blockwise"},
    {NULL, 0, NULL},
};

const struct ty_field ty_framework_fields[] = {
    ROW(preset, STRING,
        .doc = "a training stack (trainyard list frameworks); other keys override it; left out: "
               "megatron-lm, but fsdp with layout.zero 3"),
    ROW(grad_dtype, WORD, .words = grad_words, .fallback = "model",
        .doc = "type in which gradients are kept and accumulated"),
    ROW(reduce_dtype, WORD, .words = reduce_words, .fallback = "auto",
        .doc = "type in which gradients cross the wire between replicas"),
    ROW(moment_dtype, WORD, .words = moment_words, .fallback = "fp32",
        .doc = "type in which the optimizer keeps its two moments"),
    ROW(master_dtype, WORD, .words = master_words, .fallback = "fp32",
        .doc = "type of the weights that the optimizer updates and casts to those of the model"),
    ROW(fp8_recipe, WORD, .words = fp8_words, .fallback = "delayed",
        .doc = "model.dtype fp8: how inputs, gradients and weights are cast for the products of "
               "layers"),
    FLAG(fp8_activations, "true",
         "model.dtype fp8: whether inputs of products are kept as they were cast, one byte an "
         "element; false: in 16 bit"),
    FLAG(fp8_cache, "false",
         "framework.fp8_recipe: whether inputs of SwiGLU in experts are kept in fp8, too, and the "
         "output of attention once, in 12 bits, for its own backward and proj's (DeepSeek-V3)"),
    FLAG(fp8_weights, "false",
         "model.dtype fp8: whether weights are kept and gathered in fp8 (--fp8-param-gather), "
         "one byte; false: in 16 bit, and cast once a step"),
    FLAG(fused_accumulation, "true",
         "whether weight-gradient products add to the gradients of earlier micro-batches; false: "
         "one more kernel per matrix does"),
    ROW(bucket, QUANTITY, .dim = TY_DIM_BYTES, .min = 1024, .max = 1e13, .fallback = "auto",
        .blank = "auto",
        .doc =
            "gradients reduced in one call, bytes at 16 bit (not ZeRO-3, which reduces unit by "
            "unit): a bucket closes with the matrix that "
            "fills it; auto: 25 MiB, with ZeRO 40 million parameters or 1 million per replica if "
            "that is more"),
    ROW(first_bucket, QUANTITY, .dim = TY_DIM_BYTES, .min = 1024, .max = 1e13, .fallback = "auto",
        .blank = "auto",
        .doc =
            "the first bucket of a backward pass; auto: 1 MiB where framework.bucket is 25 MiB by "
            "rule, else like the others"),
    HABIT(overlap_grad_reduce, "true",
          "whether gradients are reduced while the last backward pass still runs"),
    ROW(sync_every, WORD, .words = sync_words, .fallback = "auto",
        .doc = "whether gradients are reduced after every micro-batch; false: added up and reduced "
               "after the last (no_sync), which takes memory with ZeRO-2 and -3; auto: true with "
               "those"),
    FLAG(
        reduce_scatter, "true",
        "ZeRO-1 and -2: whether gradients are reduce-scattered; false: all-reduced, and every rank "
        "keeps its shard"),
    FLAG(overlap_param_gather, "false",
         "ZeRO-1 and -2: whether updated parameters are gathered while the next forward pass "
         "already runs"),
    ROW(prefetch, UINT, .max = TY_PREFETCH_MAX, .fallback = "1",
        .doc = "ZeRO-3: units gathered ahead of the one at work; 1 + prefetch exist whole"),
    HABIT(reshard_after_forward, "true",
          "ZeRO-3: whether parameters are given up after a forward pass and gathered again for the "
          "backward; false: kept until then"),
    HABIT(reshard_after_backward, "true",
          "ZeRO-3: whether parameters are given up after every backward pass; false: after the "
          "last of a step"),
    ROW(zero_in_pipeline, UINT, .max = 3, .fallback = "3",
        .doc = "highest layout.zero that the stack lets a pipeline have; more is refused"),
    FLAG(fused_qkv, "true",
         "whether q, k and v are one matrix; false: three products, and three tensor all-reduces "
         "in the backward pass"),
    FLAG(fused_gate, "true",
         "whether SwiGLU's gate and up are one matrix; false: two, with an all-reduce each"),
    FLAG(overlap_tensor_reduce, "true",
         "whether those all-reduces run beside the weight gradient of the same layer"),
    ROW(overlap_p2p, WORD, .words = p2p_words, .fallback = "true",
        .doc = "whether a pipeline rank starts its next pass before the last message has left"),
    ROW(stage_split, WORD, .words = split_words, .fallback = "layers",
        .doc = "what layout.stage_layers auto deals evenly to the stages of a pipeline"),
    FLAG(
        scatter_gather_p2p, "false",
        "whether each tensor rank sends its part of a pipeline message over its own NIC, and those "
        "that receive it gather the whole; false: all of it, unless layout.sequence_parallel"),
    FLAG(
        expert_overlap, "false",
        "whether a forward and a backward of different micro-batches run over each other, layer by "
        "layer, so that exchanges of experts (in a model without them: collectives of "
        "layout.tensor) of one pass run beside computation of the other"),
    FLAG(fused_activation, "true", "whether SwiGLU is one kernel; false: two, more traffic"),
    FLAG(keep_product, "true",
         "framework.fused_activation: whether the product of SwiGLU is kept for the backward; "
         "false: "
         "its kernel makes it again there from gate and up"),
    FLAG(fused_loss, "false",
         "whether the cross-entropy is one kernel on 16-bit logits that writes their gradient over "
         "them; false: operators on 32-bit copies (memory only: the time is that of operators)"),
    FLAG(parallel_loss, "true",
         "whether the loss is worked out on sharded columns of logits; false: tensor ranks gather "
         "all columns, and each runs framework operators on all of them, an arg-max beside them"),
    FLAG(recompute_head, "false",
         "layout.recompute full: whether the head's product runs again, too, as it is checkpointed "
         "like a layer"),
    FLAG(regather_inputs, "true",
         "layout.sequence_parallel: whether the whole input of a column-parallel product is given "
         "up after it and gathered again for the weight gradient; false: kept whole"),
    FLAG(fused_rotary, "true",
         "whether the rotary embedding is one kernel; false: framework operators"),
    FLAG(fused_merge, "true",
         "whether the outputs that the rounds of a ring give (layout.context) are put together by "
         "one kernel; false: framework operators"),
    FLAG(fused_optimizer, "true",
         "whether Adam is one kernel; false: framework operators, three times the traffic"),
    ROW(norm_speed, QUANTITY, .dim = TY_DIM_COUNT, .min = 0.1, .max = 10, .fallback = "1",
        .doc = "speed of the stack's fused norm, over the one of cluster.norm_passes"),
    TIME(layer_floor, "host time to launch a layer's forward pass, s, on a host of host_speed 1: "
                      "a lower bound on that pass (0 with CUDA graphs)"),
    ROW(expert_floor, QUANTITY, .dim = TY_DIM_COUNT, .min = 1, .max = 1e3, .fallback = "auto",
        .blank = "auto",
        .doc = "layer_floor of a layer with experts, in those of others; auto: as it has more "
               "launches than they"),
    TIME(attention_sync,
         "time a GPU waits in the attention of every layer, s, on a host of host_speed "
         "1 that reads a scalar back from it; recomputation repeats it"),
    TIME(pass_overhead, "time a GPU waits for its host at the start of each pass of a pipeline, s: "
                        "messages that block, synchronisation, scheduling"),
    ROW(dispatcher, WORD, .words = dispatcher_words, .fallback = "alltoall",
        .doc = "model.experts: how tokens get to their experts and back"),
    ROW(dispatch_dtype, WORD, .words = dispatch_words, .fallback = "model",
        .doc = "type in which rows travel to their experts, and gradients to theirs; back they "
               "come in that of the model"),
    FLAG(shared_overlap, "false",
         "model.shared_ffn: whether shared experts run beside dispatch and combine; false: before "
         "them"),
    FLAG(overlap_dispatch, "false",
         "whether weight gradients of experts run beside the dispatch's backward; false: before "
         "it"),
    ROW(capacity, QUANTITY, .dim = TY_DIM_COUNT, .max = 1e3, .fallback = "none", .blank = "none",
        .doc = "most rows an expert takes of one rank, over the mean of all experts; others are "
               "dropped; none: no row is"),
    FLAG(pad_to_capacity, "false",
         "framework.capacity: whether every expert gets as many rows as it takes at most, so that "
         "no host has to learn counts"),
    TIME(dispatch_sync, "time a GPU waits in every layer with experts, forward, until its host "
                        "knows how many rows come, s, on a host of host_speed 1"),
    ROW(dispatch_buffer, QUANTITY, .dim = TY_DIM_COUNT, .min = 1, .max = 1e3, .fallback = "1.2",
        .doc = "room for rows that come, over those of a balanced load"),
    FLAG(fused_permute, "true",
         "whether rows are put in the order of experts, and back with their sum, by one kernel; "
         "false: framework operators"),
    FLAG(fused_experts, "true",
         "whether a product of all experts of a rank is one launch; false: one for each expert"),
    FLAG(fused_router, "false",
         "whether scores, top-k and maps of the router are fused kernels; false: framework "
         "operators"),
    FLAG(scale_activation, "true",
         "whether the router's probabilities scale what the activation of an expert gives; false: "
         "its output, which is kept for the backward then"),
};

const uint32_t ty_n_framework_fields = sizeof(ty_framework_fields) / sizeof(ty_framework_fields[0]);

static const char megatron_lm[] =
    "preset: megatron-lm\n"
    "grad_dtype: auto                 # bf16 implies accumulate_allreduce_grads_in_fp32\n"
    "reduce_dtype: auto               # and reduces them as they are\n"
    "fused_accumulation: true         # gradient_accumulation_fusion is its default\n"
    "overlap_grad_reduce: true        # a flag, set in its published recipes\n"
    "overlap_param_gather: true       # the same\n"
    "fused_qkv: true                  # linear_qkv\n"
    "fused_gate: true                 # linear_fc1 holds both\n"
    "overlap_tensor_reduce: true      # async all-reduce of column-parallel layers\n"
    "overlap_p2p: auto                # 1F1B blocks; overlap_p2p_communication when interleaved\n"
    "scatter_gather_p2p: true         # scatter_gather_tensors_in_pipeline (SC21, section 4.1)\n"
    "fused_activation: true           # bias_swiglu_fusion\n"
    "fused_rotary: true               # apply_rope_fusion\n"
    "fused_merge: true                # Transformer Engine: flash_attn_fwd_out_correction\n"
    "fused_optimizer: true            # apex or Transformer Engine FusedAdam\n"
    "fused_experts: false             # GroupedLinear: cuBLAS, expert by expert on four streams\n"
    "dispatch_sync: 40 us             # guess 50 %: counts copied to the host, launches behind it\n"
    "norm_speed: 2                    # guess 30 %: theirs reach 60 to 80 % of bandwidth, vidur's "
    "32 %\n"
    "layer_floor: 0.3 ms              # guess 40 %: 14 kernels, 8 us each, and their Python\n"
    "expert_floor: 17                 # guess 20 %: a layer takes 9.4 to 9.7 ms there and back in\n"
    "#                                  three runs of Qwen3 on H100 that have less to compute\n"
    "pass_overhead: 0.3 ms            # vTrain, one node: 0.3 ms fits its pipelines best\n";

static const char megatron_deepspeed[] =
    "preset: megatron-deepspeed\n"
    "grad_dtype: model                # with fp32 20 of 145 runs of Hagemann et al. would not fit\n"
    "reduce_dtype: auto               # and reduces what it accumulated\n"
    "fused_accumulation: false        # a cast and an addition per parameter and micro-batch\n"
    "overlap_grad_reduce: false       # after the last backward\n"
    "zero_in_pipeline: 1              # PipelineEngine: \"ZeRO-2 and ZeRO-3 are incompatible\"\n"
    "overlap_param_gather: false      # all-gather at the end of the step\n"
    "bucket: 1 GB                     # reduce_bucket_size, 5e8 elements\n"
    "reduce_scatter: false            # use_multi_rank_bucket_allreduce, its default\n"
    "fused_qkv: true                  # query_key_value\n"
    "fused_gate: false                # guess: the gate is a layer of its own\n"
    "overlap_tensor_reduce: false     # the all-reduce is part of autograd's backward\n"
    "overlap_p2p: false               # pipeline instructions block\n"
    "scatter_gather_p2p: true         # PipelineEngine.is_pipe_partitioned\n"
    "fused_activation: false          # silu, then a product\n"
    "fused_rotary: false              # framework operators\n"
    "fused_merge: false               # guess: it has no rings\n"
    "fused_optimizer: true            # FusedAdam\n"
    "layer_floor: 1.05 ms             # VIA-Research/vTrain, 1440 single-node runs\n"
    "pass_overhead: 2 ms              # vTrain's pipelines ask for 1, Hagemann's 13B for 2.4\n";

/* code: read in github.com/Aleph-Alpha/scaling, a later release than the runs of Hagemann et al.
 * 2023, which this stack stands for. */
static const char aleph_alpha_scaling[] =
    "preset: aleph-alpha-scaling\n"
    "grad_dtype: model                # code: 16-bit gradients are accumulated ...\n"
    "reduce_dtype: fp32               # code: and cast bucket by bucket: optimizer/allreduce.py\n"
    "fused_accumulation: false        # a cast and an addition per parameter and micro-batch\n"
    "overlap_grad_reduce: false       # code: after the pipeline has drained\n"
    "overlap_param_gather: false      # code: all-gather at the end of the step\n"
    "bucket: 1 GB                     # code: blocking buckets of 5e8 elements\n"
    "reduce_scatter: false            # code: a whole all-reduce, though states are sharded\n"
    "fused_qkv: true                  # query_key_value\n"
    "fused_gate: false                # guess: the gate is a layer of its own\n"
    "overlap_tensor_reduce: false     # the all-reduce is part of autograd's backward\n"
    "overlap_p2p: false               # pipeline instructions block\n"
    "stage_split: modules             # code: uniform; which the runs had is not known\n"
    "scatter_gather_p2p: false        # guess: 65B on 128 GPUs is 0.5 points better so\n"
    "fused_activation: false          # silu, then a product\n"
    "parallel_loss: false             # code: parallel_output is false in lm_head.py\n"
    "recompute_head: true             # code: the head is checkpointed like a layer\n"
    "regather_inputs: false           # code: gathered inputs of qkv and MLP are kept\n"
    "fused_rotary: false              # framework operators\n"
    "fused_merge: false               # guess: it has no rings\n"
    "fused_optimizer: true            # FusedAdam\n"
    "layer_floor: 1.05 ms             # guess 40 %: as megatron-deepspeed\n"
    "attention_sync: 30 us            # code: attention reads a scalar; guess 50 %: its way back\n"
    "pass_overhead: 2 ms              # guess 50 %: as megatron-deepspeed\n";

/* Beside the next unit's backward; set_requires_gradient_sync and no_sync are opt-in; FULL_SHARD.
 * Under torch.distributed.pipelining a stage is gathered once a step, its gradients are added up
 * whole, and the last backward is over when they are reduced (_PipelineStageBase,
 * backward_maybe_with_nosync; torchtitan's fsdp_reshard_after_forward: default). */
#define FSDP_IN_PIPELINES                                                                          \
    "overlap_grad_reduce: no-pipeline # post_backward is called when the last backward is over\n"  \
    "sync_every: no-pipeline          # set_requires_gradient_sync(False) but for the last\n"      \
    "reshard_after_forward: no-pipeline   # torchtitan: never with pipelines, else always\n"       \
    "reshard_after_backward: no-pipeline  # set_reshard_after_backward(False) but for the last\n"

static const char nanotron[] =
    "preset: nanotron\n"
    "grad_dtype: fp32                 # accumulate_grad_in_fp32 of its recipes\n"
    "reduce_dtype: fp32               # FP32GradientAccumulator\n"
    "fused_accumulation: false        # a hook adds to the accumulator\n"
    "overlap_grad_reduce: false       # its runs say so: no backward hides the reductions\n"
    "overlap_param_gather: false      # after the optimizer's step\n"
    "bucket: 1 KiB                    # optim/zero.py: one collective a parameter\n"
    "fused_qkv: true                  # qkv_proj\n"
    "fused_gate: true                 # gate_up_proj\n"
    "overlap_tensor_reduce: false     # guess: tp_linear_async_communication is an option\n"
    "overlap_p2p: false               # sends and receives are waited for\n"
    "fused_activation: false          # GLUActivation: act(gate), then a product\n"
    "fused_rotary: true               # flash-attn's kernel\n"
    "fused_merge: false               # guess: it has no rings\n"
    "fused_optimizer: true            # torch.optim.AdamW(fused=True)\n"
    "layer_floor: 0.45 ms             # guess 40 %: as fsdp\n"
    "pass_overhead: 2 ms              # guess 50 %: shapes are sent before tensors\n";

static const char fsdp[] =
    "preset: fsdp\n"
    "grad_dtype: model                # shards are fp32 weight, gradient and Adam: 16 B in all\n"
    "reduce_dtype: fp32               # MixedPrecision(reduce_dtype) of published recipes\n"
    "fused_accumulation: true         # autograd adds in place; 32-bit sums are kernels "
    "anyway\n" FSDP_IN_PIPELINES
    "prefetch: 1                      # limit_all_gathers: two in flight; FSDP2 the same\n"
    "fused_qkv: true                  # guess: models differ\n"
    "fused_gate: false                # gate and up are modules\n"
    "overlap_tensor_reduce: false     # DTensor's all-reduce is waited for\n"
    "overlap_p2p: true                # sends are awaited at the end of a step\n"
    "fused_activation: false          # silu, then a product, unless compiled\n"
    "fused_rotary: false              # framework operators, unless compiled\n"
    "fused_merge: false               # _SDPAMerger of torch.distributed\n"
    "fused_optimizer: false           # torch.optim.AdamW's foreach form\n"
    "fused_loss: true                 # llm-foundry; 102 of its 215 runs would not fit without\n"
    "layer_floor: 0.45 ms             # guess 40 %: hooks of a unit beside its kernels\n";

static const char torchtitan[] =
    "preset: torchtitan\n"
    "grad_dtype: model                # mixed_precision_param: bfloat16\n"
    "reduce_dtype: fp32               # mixed_precision_reduce: float32\n"
    "fused_accumulation: true         # as fsdp\n" FSDP_IN_PIPELINES
    "prefetch: 1                      # as fsdp\n"
    "fused_qkv: false                 # wq, wk and wv are modules\n"
    "fused_gate: false                # w1 and w3, too\n"
    "overlap_tensor_reduce: false     # enable_async_tensor_parallel is opt-in\n"
    "overlap_p2p: true                # sends are awaited at the end of a step\n"
    "parallel_loss: true              # disable_loss_parallel: false\n"
    "regather_inputs: false           # what a Linear of DTensors saves is gathered\n"
    "fused_activation: false          # silu, then a product; compile is opt-in\n"
    "fused_rotary: false              # apply_rotary_emb on complex numbers\n"
    "fused_merge: false               # _SDPAMerger of torch.distributed\n"
    "fused_optimizer: true            # optimizer.implementation: fused\n"
    "fused_experts: true              # torch._grouped_mm\n"
    "fused_permute: false             # guess: sorts and gathers of framework operators\n"
    "dispatch_sync: 40 us             # code: splits go to the host; guess 50 %\n"
    "fp8_recipe: current              # torchao Float8Linear: dynamic tensorwise scales ...\n"
    "fp8_activations: false           # ... and inputs are saved in high precision\n"
    "fused_loss: false                # cross_entropy of logits in 32 bit\n"
    "layer_floor: 0.45 ms             # guess: as fsdp\n";

/* Grattafiori et al. 2024 (The Llama 3 Herd of Models), section 3.3.2, for layout.zero 2: "FSDP
 * shards optimizer states and gradients, but for model shards we do not reshard after forward
 * computation". When gradients are reduced is not said. */
static const char llama3[] =
    "preset: llama3\n"
    "grad_dtype: fp32                 # \"FP32 gradient accumulation [...] over micro-batches\"\n"
    "reduce_dtype: fp32               # \"and also reduce-scatter gradients in FP32\"\n"
    "sync_every: run                  # guess: what interleaving leaves together is added up\n"
    "overlap_param_gather: true       # FSDP gathers beside the first forward pass\n"
    "reshard_after_forward: false     # \"we do not reshard after forward computation\"\n"
    "reshard_after_backward: false    # guess: what for, in a pipeline\n"
    "fused_qkv: true                  # guess\n"
    "fused_gate: true                 # guess\n"
    "overlap_p2p: true                # \"asynchronous point-to-point communication\"\n"
    "keep_product: false              # guess: as xformers' SwiGLU, silu_bw_fused\n"
    "norm_speed: 2                    # guess: as megatron-lm\n"
    "layer_floor: 0.3 ms              # guess: as megatron-lm\n"
    "pass_overhead: 0.3 ms            # guess: as megatron-lm\n";

/* DeepSeek-AI 2024 (arXiv 2412.19437), by section; Zhao et al. 2025 (arXiv 2505.09343). */
static const char deepseek[] =
    "preset: deepseek\n"
    "grad_dtype: fp32                 # 3.3.3: gradients of weights are accumulated in FP32\n"
    "reduce_dtype: auto               # guess: and reduced so\n"
    "fused_accumulation: true         # guess: DeepGEMM adds to a 32-bit result\n"
    "overlap_grad_reduce: true        # guess: as megatron-lm\n"
    "overlap_param_gather: true       # guess: as megatron-lm\n"
    "fused_qkv: true                  # guess\n"
    "fused_gate: true                 # 3.3.3: the activation reads both from one buffer\n"
    "overlap_p2p: true                # 3.2.1: DualPipe hides pipeline messages\n"
    "fused_activation: true           # 3.2.3: its output is computed again\n"
    "keep_product: false              # the same, of dense layers\n"
    "fused_rotary: true               # guess\n"
    "fused_merge: true                # guess: there are no rings\n"
    "fused_optimizer: true            # guess\n"
    "moment_dtype: bf16               # 3.3.3\n"
    "fp8_recipe: blockwise            # 3.3.2: tiles of 1 x 128, blocks of 128 x 128\n"
    "fp8_activations: true            # 3.3.3\n"
    "dispatcher: deepep               # 3.2.2; deepseek-ai/DeepEP\n"
    "dispatch_dtype: fp8              # 3.3.3: before the dispatch, and of gradients\n"
    "expert_overlap: true             # 3.2.1\n"
    "fused_experts: true              # deepseek-ai/DeepGEMM, m_grouped_gemm\n"
    "norm_speed: 2                    # guess 30 %: as megatron-lm\n"
    "layer_floor: 0.3 ms              # guess 40 %: as megatron-lm\n";

static const char ddp[] =
    "preset: ddp\n"
    "grad_dtype: model                # autograd's gradients have the type of the weights\n"
    "reduce_dtype: model              # and travel so, without a communication hook\n"
    "fused_accumulation: true         # autograd adds in place\n"
    "bucket: 25 MiB                   # bucket_cap_mb\n"
    "first_bucket: 1 MiB              # dist._DEFAULT_FIRST_BUCKET_BYTES\n"
    "overlap_grad_reduce: true        # what its hooks are for\n"
    "sync_every: true                 # no_sync is opt-in\n"
    "fused_qkv: true                  # guess: models differ\n"
    "fused_gate: false                # gate and up are modules\n"
    "overlap_tensor_reduce: false     # as fsdp\n"
    "overlap_p2p: true                # no pipeline to speak of\n"
    "fused_activation: false          # silu, then a product, unless compiled\n"
    "fused_rotary: false              # framework operators, unless compiled\n"
    "fused_merge: false               # _SDPAMerger of torch.distributed\n"
    "fused_optimizer: false           # torch.optim.AdamW's foreach form\n"
    "layer_floor: 0.3 ms              # guess 40 %: as megatron-lm, hooks are in C++\n";

static const char ideal[] =
    "preset: ideal\n"
    "overlap_grad_reduce: true        # by definition: everything that can overlap does\n"
    "overlap_param_gather: true       # and the host costs nothing\n"
    "norm_speed: 2                    # the fastest of the others\n";

const struct ty_preset ty_framework_presets[] = {
    {.name = "megatron-lm",
     .summary = "Megatron-LM with its distributed optimizer and fused kernels",
     .source = "NVIDIA/Megatron-LM arguments and distributed_data_parallel_config",
     .text = megatron_lm},
    {.name = "megatron-deepspeed",
     .summary = "pipelines on DeepSpeed, eager kernels",
     .source = "microsoft/DeepSpeed; VIA-Research/vTrain",
     .text = megatron_deepspeed},
    {.name = "aleph-alpha-scaling",
     .summary = "the stack of Hagemann et al. 2023: whole logits and fp32 all-reduces",
     .source = "Aleph-Alpha/scaling; Hagemann et al. 2023",
     .text = aleph_alpha_scaling},
    {.name = "nanotron",
     .summary = "3D parallelism in plain PyTorch, ZeRO-1 parameter by parameter",
     .source = "huggingface/nanotron",
     .text = nanotron},
    {.name = "fsdp",
     .summary = "PyTorch FSDP, one unit per layer",
     .source = "pytorch/pytorch fsdp; mosaicml/llm-foundry",
     .text = fsdp},
    {.name = "torchtitan",
     .summary = "FSDP2 under pipelines and DTensor, eager",
     .source = "pytorch/torchtitan models/llama3, torch.distributed.pipelining stage.py",
     .text = torchtitan},
    {.name = "llama3",
     .summary = "the stack of Llama 3: FSDP that shards states and gradients under pipelines",
     .source = "Grattafiori et al. 2024, section 3.3.2",
     .text = llama3},
    {.name = "deepseek",
     .summary = "DeepSeek-V3's own: fp8 in blocks, tokens by DeepEP, passes over each other",
     .source = "arXiv 2412.19437, section 3; deepseek-ai/DeepEP, DeepGEMM, profile-data",
     .text = deepseek},
    {.name = "ddp",
     .summary = "PyTorch DistributedDataParallel",
     .source = "pytorch/pytorch torch/nn/parallel/distributed.py",
     .text = ddp},
    {.name = "ideal",
     .summary = "a host that costs nothing, and all overlap there can be",
     .source = "by definition",
     .text = ideal},
    {.name = NULL},
};

/* Weights beside products in fp8 are bf16. */
void ty_framework_finish(struct ty_framework *framework, int dtype)
{
    const bool bf16 = dtype == TY_DTYPE_BF16 || dtype == TY_DTYPE_FP8;
    framework->fp8_weights = framework->fp8_weights && dtype == TY_DTYPE_FP8;
    framework->grad_fp32 =
        framework->grad_dtype == TY_GRAD_FP32 || (framework->grad_dtype == TY_GRAD_AUTO && bf16);
    framework->reduce_fp32 = framework->reduce_dtype == TY_GRAD_FP32 ||
                             (framework->reduce_dtype == TY_GRAD_AUTO && framework->grad_fp32);
}

const char *ty_framework_default(uint32_t zero)
{
    return zero < 3 ? "megatron-lm" : "fsdp";
}
