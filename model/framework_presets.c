/* framework_presets.c - training stacks, a row each.
 *
 * Every value carries its reason; a preset names itself, since it may be chosen by default and
 * reports say which it was. "guess" marks what no source or measurement says. */
#include "model/framework.h"

#include <stddef.h>

static const char megatron_lm[] =
    "preset: megatron-lm\n"
    "grad_dtype: auto                 # bf16 implies accumulate_allreduce_grads_in_fp32\n"
    "reduce_dtype: auto               # and reduces them as they are\n"
    "fused_accumulation: true         # gradient_accumulation_fusion is its default\n"
    "wgrad_placeholders: true         # Transformer Engine 2, module/base.py\n"
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

/* What NVIDIA's recipes set on top of Megatron-LM: performance scripts of
 * NVIDIA-NeMo/Megatron-Bridge (scripts/performance/configs, training/comm_overlap.py,
 * training/mixed_precision.py), and the configurations of MLPerf Training 3.0 to 6.0. Even stages
 * leave one layer less to the first and the last chunk where two are missing (126 layers in 64
 * chunks), which is what account_for_embedding_in_pipeline_split and its kin do. */
static const char nemo[] =
    "preset: nemo\n"
    "grad_dtype: model                # set_llama3_common_configs: grad_reduce_in_fp32 = False\n"
    "reduce_dtype: model              # the same: their buffer has one type\n"
    "overlap_tensor_products: true    # tp_comm_overlap, user buffers\n"
    "scatter_sms: 0                   # userbuffers_fp8_*: ring_exchange; bf16: pipeline, 4 to 32\n"
    "rack_pipelines: true             # TP_PP_DP_MAPPING\n"
    "fp8_weights: true                # fp8_param_gather of bf16_with_fp8_*_mixed\n"
    "bucket: 256 MiB                  # comm_overlap.py: 128 x 1024^2 parameters\n"
    "fused_loss: true                 # cross_entropy_fusion_impl te\n"
    "dispatch_sync: 0 s               # guess: full-iteration graphs leave no way to the host\n"
    "layer_floor: 0 s                 # cuda_graph_impl, FULL_CUDA_GRAPH: no host time\n"
    "pass_overhead: 0 s               # the same\n";
static const char megatron_bridge[] =
    "preset: megatron-bridge\n"
    "rack_pipelines: false            # use_tp_pp_dp_mapping: but for adapters\n";

/* Jiang et al. 2024 (MegaScale, NSDI), section 3, on top of Megatron-LM: what it says is hidden;
 * numbers of sections are from memory. Its parallel blocks and windows are keys of the model. */
static const char megascale[] =
    "preset: megascale\n"
    "grad_dtype: auto                 # guess: as megatron-lm, on which it is built\n"
    "reduce_dtype: auto               # guess: the same\n"
    "fused_accumulation: true         # guess: the same\n"
    "overlap_grad_reduce: true        # 3.2: after the backward of each model chunk\n"
    "overlap_param_gather: true       # 3.2: before its forward, the first one prefetched\n"
    "fused_qkv: true                  # guess: as megatron-lm\n"
    "fused_gate: true                 # guess: as megatron-lm\n"
    "overlap_tensor_reduce: true      # 3.2: with the GEMMs of forward and backward\n"
    "overlap_tensor_products: true    # 3.2: GEMMs in small chunks, pipelined with messages\n"
    "overlap_p2p: true                # 3.2: send and receive are decoupled, and asynchronous\n"
    "scatter_gather_p2p: true         # guess: as megatron-lm\n"
    "fused_activation: true           # 3.3: GeLU in one kernel\n"
    "fused_rotary: true               # guess: as megatron-lm\n"
    "fused_merge: true                # guess: there are no rings\n"
    "fused_optimizer: true            # guess: as megatron-lm\n"
    "norm_speed: 2                    # 3.3: LayerNorm in one kernel; guess 30 %: as megatron-lm\n"
    "layer_floor: 0.3 ms              # guess 40 %: as megatron-lm\n"
    "pass_overhead: 0.3 ms            # guess: as megatron-lm\n";

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
    "buffered_logits: true            # pipe_buffers['outputs']: the last stage frees none\n"
    "allocator: split                 # ZeRO-1's param.grad is None after a step\n"
    "fused_activation: false          # silu, then a multiplication\n"
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
    "scatter_gather_p2p: true         # guess: a later release sends whole states, which over one\n"
    "#                                  NIC a node is far too slow where states are large\n"
    "fused_activation: false          # silu, then a multiplication\n"
    "parallel_loss: false             # code: parallel_output is false in lm_head.py\n"
    "buffered_logits: true            # code: the loss gets them out of two buffers\n"
    "allocator: split                 # code: gradients are None after a step\n"
    "recompute_head: true             # code: the head is checkpointed like a layer\n"
    "regather_inputs: false           # code: gathered inputs of qkv and MLP are kept\n"
    "fused_rotary: false              # framework operators\n"
    "fused_merge: false               # guess: it has no rings\n"
    "fused_optimizer: true            # FusedAdam\n"
    "layer_floor: 1.05 ms             # guess 40 %: as megatron-deepspeed\n"
    "attention_sync: 30 us            # code: attention reads a scalar; guess 50 %: its way back\n"
    "pass_overhead: 6.5 ms            # Hagemann et al., 10 %; code: the host waits for the GPU "
    "to\n"
    "#                                  know sizes of a batch, then sends tensors one by one\n";

/* Next to the next unit's backward; set_requires_gradient_sync and no_sync are opt-in; FULL_SHARD.
 * Under torch.distributed.pipelining a stage is gathered once a step, its gradients are added up
 * whole, and the last backward is over when they are reduced (_PipelineStageBase,
 * backward_maybe_with_nosync; torchtitan's fsdp_reshard_after_forward: default). Weight gradients
 * of a split backward start inside the graph, of which only the loss is gone by then
 * (_backward.py). */
#define FSDP_IN_PIPELINES                                                                          \
    "overlap_grad_reduce: no-pipeline # post_backward is called when the last backward is over\n"  \
    "sync_every: no-pipeline          # set_requires_gradient_sync(False) but for the last\n"      \
    "reshard_after_forward: no-pipeline   # torchtitan: never with pipelines, else always\n"       \
    "reshard_after_backward: no-pipeline  # set_reshard_after_backward(False) but for the last\n"  \
    "retain_graph: true               # stage_backward_input: autograd.grad(retain_graph=True)\n"

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
    "stage_split: matrices            # build_model: get_block_compute_costs\n"
    "fused_activation: false          # GLUActivation: act(gate), then a multiplication\n"
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
    "fused_activation: false          # silu, then a multiplication, unless compiled\n"
    "fused_rotary: false              # framework operators, unless compiled\n"
    "fused_merge: false               # _SDPAMerger of torch.distributed\n"
    "fused_optimizer: false           # torch.optim.AdamW's foreach form\n"
    "fused_loss: true                 # llm-foundry; 102 of its 215 runs would not fit without\n"
    "layer_floor: 0.45 ms             # guess 40 %: hooks of a unit beside its kernels\n";

/* code: microsoft/DeepSpeed runtime/zero/config.py and, by file, its neighbours (03aecee8). */
#define DEEPSPEED_ZERO3                                                                            \
    "grad_dtype: model                # code: 16-bit gradients, shards of them kept\n"             \
    "reduce_dtype: model              # code: communication_data_type is that of training\n"       \
    "fused_accumulation: true         # autograd's gradients go to the bucket as they are\n"       \
    "zero_in_pipeline: 1              # PipelineEngine: \"ZeRO-2 and ZeRO-3 are incompatible\"\n"  \
    "gather_unit: module              # code: partitioned_param_coordinator.py\n"                  \
    "gather_live: 1e9                 # code: stage3_max_live_parameters\n"                        \
    "gather_persistent: 1e5           # code: stage3_param_persistence_threshold\n"                \
    "unaligned_gather: 3.5            # guess 40 %: 2 and 7 ms, 6.3 MB a rank, 16 bit; horovod\n"  \
    "#                                  pull 3727; code: _aligned_size counts elements\n"          \
    "fused_qkv: true                  # guess: models differ\n"                                    \
    "fused_gate: false                # gate and up are modules\n"                                 \
    "overlap_tensor_reduce: false     # the all-reduce is part of autograd's backward\n"           \
    "overlap_p2p: false               # hardly used with pipelines\n"                              \
    "fused_activation: false          # silu, then a multiplication\n"                             \
    "fused_rotary: false              # framework operators\n"                                     \
    "fused_merge: false               # guess: it has no rings\n"                                  \
    "fused_optimizer: true            # FusedAdam\n"                                               \
    "layer_floor: 1.05 ms             # guess 40 %: as megatron-deepspeed\n"

static const char deepspeed_zero3[] =
    "preset: deepspeed-zero3\n" DEEPSPEED_ZERO3
    "gather_prefetch: 5e7             # code: stage3_prefetch_bucket_size\n"
    "gather_reuse: 1e9                # code: stage3_max_reuse_distance\n"
    "overlap_grad_reduce: true        # code: overlap_comm is true at stage 3\n"
    "bucket: 1 GB                     # code: reduce_bucket_size, 5e8 elements\n";

/* DeepSpeed 0.3.13 (March 2021) and PyTorch 1.8, before pull requests 1170, 1188 and 1453. */
static const char deepspeed_zero3_2021[] =
    "preset: deepspeed-zero3-2021\n" DEEPSPEED_ZERO3
    "gather_prefetch: 0               # pull 1188: \"not async at all\", each gather "
    "synchronizes;\n"
    "gather_reuse: 0                  # pull 1170: off by one, a trace that does not match is "
    "unused\n"
    "overlap_grad_reduce: false       # code: overlap_comm was false\n"
    "bucket: 1 KiB                    # code: _reduce_scatter_gradients, one for each parameter\n"
    "rank_copy: 10 us                 # guess 40 %: a narrow() and a copy_() for each rank, some\n"
    "#                                  3 and 7 us; issue 1069: 0.4 ms in all among 8\n"
    "gather_copies: 4                 # code: zeros, list to list, norm() in a message; or a\n"
    "#                                  division and list to list\n";

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
    "fused_activation: false          # silu, then a multiplication; compile is opt-in\n"
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
static const char torchtitan_layout[] = "context_method: ring             # context_parallel of "
                                        "torch.distributed: load balance is opt-in\n";

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
    "reshard_after_backward: false    # guess: no use in a pipeline\n"
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
    "fp8_cache: true                  # 3.3.3: E5M6 after attention, fp8 before SwiGLU\n"
    "dispatcher: deepep               # 3.2.2; deepseek-ai/DeepEP\n"
    "fused_experts: true              # deepseek-ai/DeepGEMM, m_grouped_gemm\n"
    "norm_speed: 2                    # guess 30 %: as megatron-lm\n"
    "layer_floor: 0.3 ms              # guess 40 %: as megatron-lm\n";

/* DeepSeek-AI 2024 (arXiv 2405.04434), section 3.1.3; what it leaves open is as in DeepSeek-V3. */
static const char deepseek_v2[] =
    "preset: deepseek-v2\n"
    "moment_dtype: fp32               # guess: as others\n"
    "fp8_cache: false                 # bf16 training\n"
    "dispatcher: alltoall             # the expert-parallel all-to-all ...\n"
    "shared_overlap: true             # ... with shared experts beside it\n";

static const char ddp[] =
    "preset: ddp\n"
    "grad_dtype: model                # autograd's gradients have the type of the weights\n"
    "reduce_dtype: model              # and travel so, without a communication hook\n"
    "fused_accumulation: true         # autograd adds in place\n"
    "bucket: 25 MiB                   # bucket_cap_mb\n"
    "first_bucket: 1 MiB              # dist._DEFAULT_FIRST_BUCKET_BYTES\n"
    "overlap_grad_reduce: true        # the purpose of its hooks\n"
    "sync_every: true                 # no_sync is opt-in\n"
    "fused_qkv: true                  # guess: models differ\n"
    "fused_gate: false                # gate and up are modules\n"
    "overlap_tensor_reduce: false     # as fsdp\n"
    "overlap_p2p: true                # hardly used with pipelines\n"
    "fused_activation: false          # silu, then a multiplication, unless compiled\n"
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
    {.name = "nemo",
     .summary = "Megatron-LM as NVIDIA's recipes run it: bf16 gradients, CUDA graphs, fp8 weights",
     .source = "NVIDIA-NeMo/Megatron-Bridge scripts/performance; MLPerf Training configurations",
     .base = "megatron-lm",
     .text = nemo},
    {.name = "megatron-bridge",
     .summary = "the same as nemo, from which it was split",
     .source = "NVIDIA-NeMo/Megatron-Bridge",
     .base = "nemo",
     .text = megatron_bridge},
    {.name = "megascale",
     .summary = "Megatron-LM whose GEMMs hide messages and reductions",
     .source = "Jiang et al. 2024 (MegaScale, NSDI), section 3",
     .text = megascale},
    {.name = "megatron-deepspeed",
     .summary = "pipelines on DeepSpeed, eager kernels",
     .source = "microsoft/DeepSpeed; VIA-Research/vTrain",
     .text = megatron_deepspeed},
    {.name = "aleph-alpha-scaling",
     .summary = "the framework of Hagemann et al. 2023: whole logits and fp32 all-reduces",
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
    {.name = "deepspeed-zero3",
     .summary = "DeepSpeed ZeRO-3: gathers of single matrices, prefetch counted in parameters",
     .source = "microsoft/DeepSpeed runtime/zero",
     .text = deepspeed_zero3},
    {.name = "deepspeed-zero3-2021",
     .summary = "the same in early 2021: nothing is prefetched, lists of tensors are copied",
     .source = "microsoft/DeepSpeed 0.3.13, pulls 1170 and 1188; PyTorch 1.8 ProcessGroupNCCL",
     .text = deepspeed_zero3_2021},
    {.name = "torchtitan",
     .summary = "FSDP2 under pipelines and DTensor, eager",
     .source = "pytorch/torchtitan models/llama3, torch.distributed.pipelining stage.py",
     .text = torchtitan},
    {.name = "llama3",
     .summary = "the framework of Llama 3: FSDP that shards states and gradients under pipelines",
     .source = "Grattafiori et al. 2024, section 3.3.2",
     .text = llama3},
    {.name = "deepseek",
     .summary = "DeepSeek-V3's own: blockwise fp8, DeepEP, overlapped passes",
     .source = "arXiv 2412.19437, section 3; deepseek-ai/DeepEP, DeepGEMM, profile-data",
     .text = deepseek},
    {.name = "deepseek-v2",
     .base = "deepseek",
     .summary = "DeepSeek-V2's: bf16, shared experts beside the all-to-all",
     .source = "arXiv 2405.04434, section 3.1.3",
     .text = deepseek_v2},
    {.name = "ddp",
     .summary = "PyTorch DistributedDataParallel",
     .source = "pytorch/pytorch torch/nn/parallel/distributed.py",
     .text = ddp},
    {.name = "ideal",
     .summary = "a host that takes no time, and everything overlapped that can be",
     .source = "by definition",
     .text = ideal},
    {.name = NULL},
};

const struct ty_preset ty_framework_layouts[] = {
    {.name = "torchtitan", .text = torchtitan_layout},
    {.name = NULL},
};
