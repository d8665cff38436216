/* framework.c - keys of the `framework` section. */
#include "model/framework.h"

#include "topology/cluster.h"

static const struct ty_word p2p_words[] = {
    {"auto", TY_OVERLAP_P2P_AUTO, "with several model chunks per rank, as Megatron-LM does"},
    {"true", TY_OVERLAP_P2P_TRUE, "messages are sent while the next pass runs"},
    {"false", TY_OVERLAP_P2P_FALSE, "the next pass waits for them"},
    {NULL, 0, NULL},
};

static const struct ty_word sync_words[] = {
    {"auto", TY_SYNC_EVERY_AUTO, "ZeRO-2 and -3 do, 0 and 1 do not"},
    {"true", TY_HABIT_TRUE, "reduced after every backward pass"},
    {"run", TY_SYNC_EVERY_RUN,
     "after the last of neighbouring backward passes of a model chunk; whole gradients of one "
     "chunk are kept"},
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

static const struct ty_word gather_words[] = {
    {"layer", TY_GATHER_LAYER, "the parameters of a layer, the embedding or the head (FSDP)"},
    {"module", TY_GATHER_MODULE,
     "each matrix by itself, or several that are gathered ahead (DeepSpeed)"},
    {NULL, 0, NULL},
};

static const struct ty_word split_words[] = {
    {"layers", TY_STAGE_SPLIT_LAYERS, "transformer layers; the last stage gets no extra layer"},
    {"modules", TY_STAGE_SPLIT_MODULES,
     "embedding, layers, final norm and head, each counting one"},
    {"matrices", TY_STAGE_SPLIT_MATRICES,
     "layers and head by the sizes of their matrices, to a stage until it has more than its share"},
    {NULL, 0, NULL},
};

#define ROW(key_, type_, ...)       TY_FIELD(struct ty_framework, #key_, key_, type_, __VA_ARGS__)
#define FLAG(key_, fallback_, doc_) ROW(key_, BOOL, .fallback = (fallback_), .doc = (doc_))
#define HABIT(key_, fallback_, doc_)                                                               \
    ROW(key_, WORD, .words = habit_words, .fallback = (fallback_), .doc = (doc_))
#define TIME(key_, doc_)                                                                           \
    ROW(key_, QUANTITY, .dim = TY_DIM_SECONDS, .max = 10, .fallback = "0 s", .doc = (doc_))

#define PARAMETERS(key_, fallback_, doc_)                                                          \
    ROW(key_, QUANTITY, .late = true, .dim = TY_DIM_COUNT, .max = 1e15, .fallback = (fallback_),   \
        .doc = "framework.gather_unit module: " doc_)

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

static const struct ty_word allocator_words[] = {
    {"whole", TY_ALLOCATOR_WHOLE,
     "no: gradients have buffers before the first step, or expandable_segments is set"},
    {"split", TY_ALLOCATOR_SPLIT,
     "yes: gradients that the first of several backward passes makes are cut from it"},
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
     "16 bit (--main-params-dtype), or the 16 bits that bf16 weights lack "
     "(store_param_remainders)"},
    {"none", TY_STATE_NONE, "none: the weights of the model are updated themselves"},
    {NULL, 0, NULL},
};

static const struct ty_word fp8_words[] = {
    {"none", TY_FP8_NONE, "nothing is cast: fp8 is a rate of GEMMs"},
    {"delayed", TY_FP8_DELAYED,
     "a scale for each tensor, from the largest values of earlier steps (Transformer Engine's "
     "default)"},
    {"current", TY_FP8_CURRENT,
     "a scale for each tensor, from its own largest value, which takes one more read (torchao)"},
    {"blockwise", TY_FP8_BLOCKS, "a scale for 1 x 128 elements (DeepSeek-V3)"},
    {"mxfp8", TY_FP8_MX, "a scale for 32 elements (Blackwell): bytes and time of blockwise"},
    {NULL, 0, NULL},
};

static const struct ty_word optimizer_words[] = {
    {"adam", TY_ADAM, "two moments of every parameter; AdamW is the same"},
    {"adam8bit", TY_ADAM_8BIT, "moments of one byte, a scale for 256 of them (bitsandbytes)"},
    {"adafactor", TY_ADAFACTOR,
     "no first moment; the second has one number per row and per "
     "column"},
    {"sgd", TY_SGD, "momentum alone"},
    {"muon", TY_MUON,
     "momentum, orthogonalized by five Newton-Schulz iterations on whole matrices; Adam for "
     "embedding and head"},
    {NULL, 0, NULL},
};

const struct ty_field ty_framework_fields[] = {
    ROW(preset, STRING,
        .doc =
            "a training framework (trainyard list frameworks); other keys override it; left out: "
            "megatron-lm, but fsdp with layout.zero 3, and deepspeed-zero3 with layout.offload "
            "zero3-offload and zero-infinity"),
    ROW(grad_dtype, WORD, .words = grad_words, .fallback = "model",
        .doc = "type in which gradients are kept and accumulated"),
    ROW(reduce_dtype, WORD, .words = reduce_words, .fallback = "auto",
        .doc = "type in which gradients cross the wire between replicas"),
    ROW(optimizer, WORD, .words = optimizer_words, .fallback = "adam",
        .doc = "the optimizer: what it keeps, moves, computes and sends in a step"),
    ROW(moment_dtype, WORD, .words = moment_words, .fallback = "fp32",
        .doc = "type in which the optimizer keeps its moments (adam8bit: always a byte)"),
    ROW(master_dtype, WORD, .words = master_words, .fallback = "fp32",
        .doc = "type of the weights that the optimizer updates and casts to those of the model"),
    ROW(fp8_recipe, WORD, .words = fp8_words, .fallback = "delayed",
        .doc = "model.dtype fp8: how inputs, gradients and weights are cast for the GEMMs of "
               "layers; nvfp4: none, or by the recipe of that type"),
    FLAG(fp8_activations, "true",
         "model.dtype fp8: whether inputs of GEMMs are kept as they were cast, one byte an "
         "element; false: in 16 bit"),
    ROW(fp8_activation_input, BOOL, .late = true, .fallback = "false",
        .doc = "whether inputs of SwiGLU in dense MLPs are kept in fp8 (Megatron-LM's "
               "activation_func_fp8_input_store)"),
    FLAG(fp8_cache, "false",
         "framework.fp8_recipe: whether inputs of SwiGLU in experts are kept in fp8, too, and the "
         "output of attention once, in 12 bits, for its own backward and proj's (DeepSeek-V3)"),
    FLAG(fp8_weights, "false",
         "model.dtype fp8: whether weights are kept and gathered in fp8 (--fp8-param-gather), "
         "one byte; false, and with fp8_recipe mxfp8: in 16 bit, and cast once a step"),
    FLAG(fp8_attention, "false",
         "model.dtype fp8 or nvfp4: whether queries, keys and values are cast to fp8 for flash "
         "attention (fp8_dot_product_attention)"),
    FLAG(fp8_head, "false",
         "framework.fp8_recipe mxfp8: whether GEMMs of the output matrix are in fp8, too "
         "(Megatron Core's fp8_output_proj)"),
    FLAG(wgrad_placeholders, "false",
         "framework.fused_accumulation, below ZeRO-2: whether autograd's 16-bit placeholder of a "
         "weight gradient stays for every shape of matrix (Transformer Engine 2, get_dummy_wgrad); "
         "false: it is there while its part of a layer runs backward"),
    FLAG(fused_accumulation, "true",
         "whether weight-gradient GEMMs add to the gradients of earlier micro-batches; false: "
         "one more kernel per matrix does"),
    ROW(bucket, QUANTITY, .dim = TY_DIM_BYTES, .min = 1024, .max = 1e13, .fallback = "auto",
        .blank = "auto",
        .doc =
            "gradients reduced in one call, bytes at 16 bit (not ZeRO-3 with framework.gather_unit "
            "layer, which reduces unit by unit): a bucket closes with the matrix that "
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
        .doc = "ZeRO-3: units gathered ahead of the one in use; 1 + prefetch units are whole at "
               "once"),
    ROW(gather_unit, WORD, .late = true, .words = gather_words, .fallback = "layer",
        .doc = "ZeRO-3: what one gather fetches. With layer, framework.prefetch says how far "
               "ahead; with module, the next four keys do, and framework.bucket says how many "
               "gradients are reduced together"),
    PARAMETERS(gather_prefetch, "5e7",
               "parameters gathered ahead in one gather: the next matrices until they have as many "
               "(stage3_prefetch_bucket_size); 0: none"),
    PARAMETERS(gather_live, "1e9",
               "whole parameters of a rank above which nothing is gathered ahead "
               "(stage3_max_live_parameters)"),
    PARAMETERS(gather_reuse, "1e9",
               "a matrix stays whole when fewer parameters than these are used before it is used "
               "again (stage3_max_reuse_distance)"),
    PARAMETERS(gather_persistent, "1e5",
               "matrices and norms of at most so many parameters are whole on every rank all the "
               "time (stage3_param_persistence_threshold)"),
    ROW(rank_copy, QUANTITY, .late = true, .dim = TY_DIM_SECONDS, .max = 1, .fallback = "0 s",
        .doc = "ZeRO-3: time that a gather or reduction takes longer for each rank of its group, "
               "s, where the framework views and copies the part of each rank on its own"),
    ROW(gather_copies, QUANTITY, .late = true, .dim = TY_DIM_COUNT, .max = 100, .fallback = "0",
        .doc = "ZeRO-3: extra reads or writes in GPU memory of the bytes of a gather or reduction, "
               "where the framework copies them"),
    ROW(unaligned_gather, QUANTITY, .late = true, .dim = TY_DIM_COUNT, .min = 1, .max = 100,
        .fallback = "1",
        .doc = "ZeRO-3: times as long that the bytes of a gather take, where the part of a rank is "
               "no multiple of 16 bytes and NCCL copies it byte by byte; a reduction copies by "
               "elements, in half of that with 16 bits; 1: parts are padded"),
    HABIT(reshard_after_forward, "true",
          "ZeRO-3: whether parameters are freed after a forward pass and gathered again for the "
          "backward pass; false: kept until then"),
    HABIT(reshard_after_backward, "true",
          "ZeRO-3: whether parameters are freed after every backward pass; false: after the last "
          "of a step"),
    ROW(zero_in_pipeline, UINT, .max = 3, .fallback = "3",
        .doc = "highest layout.zero that the framework allows with a pipeline"),
    FLAG(fused_qkv, "true",
         "whether q, k and v are one matrix; false: three GEMMs, and three tensor all-reduces "
         "in the backward pass"),
    FLAG(fused_gate, "true",
         "whether SwiGLU's gate and up are one matrix; false: two, with an all-reduce each"),
    FLAG(overlap_tensor_reduce, "true",
         "whether those all-reduces overlap the weight gradient of the same layer"),
    ROW(overlap_tensor_products, BOOL, .late = true, .fallback = "false",
        .doc = "whether GEMMs of layers run in one piece per tensor rank and overlap the gathers "
               "and scatters of layout.sequence_parallel; never with nvfp4"),
    ROW(scatter_sms, UINT, .late = true, .max = 64, .fallback = "0",
        .doc = "overlap_tensor_products: SMs that kernels reducing the scattered pieces take from "
               "the GEMMs; 0: copy engines move the pieces, and one kernel reduces them at the "
               "end"),
    ROW(overlap_p2p, WORD, .words = p2p_words, .fallback = "true",
        .doc = "whether a pipeline rank starts its next pass before the last message has left"),
    ROW(stage_split, WORD, .words = split_words, .fallback = "layers",
        .doc = "what layout.stage_layers auto spreads evenly over the stages of a pipeline"),
    FLAG(rack_pipelines, "false",
         "whether a dense model's layout.order, left out, is [tensor, context, pipeline, data] "
         "where a node is a rack (more than 16 GPUs), so that a pipeline lies within one"),
    FLAG(
        scatter_gather_p2p, "false",
        "whether each tensor rank sends one part of a pipeline message over its own NIC and the "
        "receivers gather the parts; false: each sends all of it, unless layout.sequence_parallel"),
    FLAG(expert_overlap, "false",
         "whether a forward and a backward pass of different micro-batches overlap layer by layer: "
         "expert exchanges of one (without experts: its tensor-parallel collectives) run beside "
         "computation of the other"),
    FLAG(fused_activation, "true", "whether SwiGLU is one kernel; false: two, more traffic"),
    FLAG(keep_product, "true",
         "framework.fused_activation: whether the output of SwiGLU is kept for the backward pass; "
         "false: its kernel recomputes it there from gate and up"),
    FLAG(fused_loss, "false",
         "whether the cross-entropy is one kernel on 16-bit logits that writes their gradient over "
         "them; false: operators on 32-bit copies"),
    ROW(loss_metrics, UINT, .max = 4, .fallback = "0",
        .doc =
            "losses without gradients that are computed next to the loss, for logs (Composer: 2)"),
    FLAG(parallel_loss, "true",
         "whether the loss is computed on sharded columns of logits; false: tensor ranks gather "
         "all columns, and each runs framework operators and an arg-max on all of them"),
    FLAG(buffered_logits, "false",
         "whether pipeline buffers keep the 16-bit logits of the previous micro-batch until a "
         "later one replaces them (DeepSpeed), and those of the current one while its layers run "
         "backward"),
    ROW(allocator, WORD, .words = allocator_words, .fallback = "whole",
        .doc = "whether PyTorch's caching allocator loses the largest block of a rank to "
               "splitting"),
    FLAG(recompute_head, "false",
         "layout.recompute full: whether the GEMM of the head is recomputed, too, as it is "
         "checkpointed like a layer"),
    FLAG(regather_inputs, "true",
         "layout.sequence_parallel: whether the gathered input of a column-parallel GEMM is freed "
         "after it and gathered again for the weight gradient; false: kept"),
    FLAG(retain_graph, "false",
         "whether all that a split backward pass keeps stays until its weight gradients; false: "
         "inputs of GEMMs and gradients of their results do"),
    FLAG(fused_rotary, "true",
         "whether the rotary embedding is one kernel; false: framework operators"),
    FLAG(fused_merge, "true",
         "whether one kernel merges the outputs of the rounds of a ring (layout.context); false: "
         "framework operators"),
    FLAG(
        fused_optimizer, "true",
        "whether the optimizer is one kernel; false: framework operators, three times the traffic"),
    ROW(norm_speed, QUANTITY, .dim = TY_DIM_COUNT, .min = 0.1, .max = 10, .fallback = "1",
        .doc = "speed of the framework's fused norm, over that of cluster.norm_passes"),
    TIME(layer_floor, "host time to launch a layer's forward pass, s, on a host of host_speed 1: "
                      "a lower bound on that pass (0 with CUDA graphs)"),
    ROW(expert_floor, QUANTITY, .dim = TY_DIM_COUNT, .min = 1, .max = 1e3, .fallback = "auto",
        .blank = "auto",
        .doc = "layer_floor of a layer with experts, over that of other layers; auto: by the "
               "number of launches"),
    TIME(attention_sync,
         "time a GPU waits in the attention of every layer, s, on a host of host_speed "
         "1 that reads a scalar back from it; recomputation repeats it"),
    TIME(pass_overhead, "time a GPU waits for its host at the start of each pass of a pipeline, s: "
                        "messages that block, synchronisation, scheduling"),
    TIME(step_overhead,
         "time a GPU waits for its host at the end of each step, s, behind the optimizer and "
         "counted with it: loading data, logging, what a source shows and cannot explain"),
    ROW(dispatcher, WORD, .words = dispatcher_words, .fallback = "alltoall",
        .doc = "model.experts: how tokens get to their experts and back"),
    ROW(dispatch_dtype, WORD, .words = dispatch_words, .fallback = "model",
        .doc = "type in which rows and gradients are sent to the experts; results return in the "
               "type of the model"),
    FLAG(shared_overlap, "false",
         "model.shared_ffn: whether shared experts run beside dispatch and combine; false: before "
         "them"),
    FLAG(overlap_dispatch, "false",
         "whether weight gradients of experts run beside the dispatch's backward; false: before "
         "it"),
    ROW(capacity, QUANTITY, .dim = TY_DIM_COUNT, .max = 1e3, .fallback = "none", .blank = "none",
        .doc = "most rows that an expert takes from one rank, over the mean of all experts; more "
               "are dropped; none: no limit"),
    FLAG(pad_to_capacity, "false",
         "framework.capacity: whether the rows of every expert are padded to its capacity, so that "
         "no host needs the counts"),
    TIME(dispatch_sync, "time a GPU waits in the forward pass of every layer with experts until "
                        "its host knows how many rows arrive, s, on a host of host_speed 1"),
    ROW(dispatch_buffer, QUANTITY, .dim = TY_DIM_COUNT, .min = 1, .max = 1e3, .fallback = "1.2",
        .doc = "space for rows that arrive, over those of a balanced load"),
    FLAG(fused_permute, "true",
         "whether one kernel sorts rows by expert, and one sorts them back and sums them; false: "
         "framework operators"),
    FLAG(fused_experts, "true",
         "whether the GEMMs of all experts of a rank are one launch; false: one for each expert"),
    FLAG(fused_expert_mlp, "false",
         "whether GEMMs of experts also apply SwiGLU, forward and backward, and cast their outputs "
         "for the next GEMM, without a kernel between (cuDNN's grouped kernels); needs "
         "fused_experts"),
    FLAG(fused_router, "false",
         "whether scores, top-k and maps of the router are fused kernels; false: framework "
         "operators"),
    FLAG(scale_activation, "true",
         "whether the router's probabilities scale the output of an expert's activation; false: "
         "the output of the expert, which is then kept for the backward pass"),
};

const uint32_t ty_n_framework_fields = sizeof(ty_framework_fields) / sizeof(ty_framework_fields[0]);

/* Weights next to products in fp8 or NVFP4 are bf16. MXFP8 ones need scales of rows and of columns:
 * Megatron-LM gathers them in 16 bit (reuse_grad_buf_for_mxfp8_param_ag), and none in NVFP4
 * (Megatron-Bridge, mixed_precision.py), whose products run in one piece for it
 * (its test of recipes in NVFP4: tp_comm_overlap is off). */
void ty_framework_finish(struct ty_framework *framework, int dtype)
{
    const bool bf16 = dtype == TY_DTYPE_BF16 || ty_dtype_is_narrow(dtype);
    framework->fp8_weights =
        framework->fp8_weights && dtype == TY_DTYPE_FP8 && framework->fp8_recipe != TY_FP8_MX;
    framework->wgrad_placeholders = framework->wgrad_placeholders && framework->fused_accumulation;
    framework->fp8_head =
        framework->fp8_head && dtype == TY_DTYPE_FP8 && framework->fp8_recipe == TY_FP8_MX;
    framework->overlap_tensor_products =
        framework->overlap_tensor_products && dtype != TY_DTYPE_NVFP4;
    framework->grad_fp32 =
        framework->grad_dtype == TY_GRAD_FP32 || (framework->grad_dtype == TY_GRAD_AUTO && bf16);
    framework->reduce_fp32 = framework->reduce_dtype == TY_GRAD_FP32 ||
                             (framework->reduce_dtype == TY_GRAD_AUTO && framework->grad_fp32);
}
