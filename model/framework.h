/* framework.h - what a training stack really does: the `framework` section.
 *
 * Two stacks that run the same layout launch different kernels and issue different collectives:
 * gradients travel in 16 or 32 bit, two halves of an MLP are reduced in one call or two, a pipeline
 * message blocks or not. Each key names one such habit; a preset is a stack's set of them. */
#ifndef TY_MODEL_FRAMEWORK_H
#define TY_MODEL_FRAMEWORK_H

#include "sim/document/fields.h"

#define TY_PREFETCH_MAX 8 /* an event each; see model/lower/internal.h */
enum ty_grad_dtype {
    TY_GRAD_MODEL, /* 16 bit */
    TY_GRAD_FP32,
    TY_GRAD_AUTO, /* grad_dtype: fp32 in bf16 training; reduce_dtype: as kept */
};

/* Types of what the optimizer keeps for itself. */
enum ty_state_dtype {
    TY_STATE_FP32,
    TY_STATE_16BIT,
    TY_STATE_FP8,
    TY_STATE_NONE /* master weights: those of the model are updated themselves */
};

/* A row each of model/block/optimizer.c. */
enum ty_optimizer_word {
    TY_ADAM,
    TY_ADAM_8BIT,
    TY_ADAFACTOR,
    TY_SGD,
    TY_MUON
};

/* How tensors get the scales with which they are cast to fp8. */
enum ty_fp8_recipe {
    TY_FP8_NONE,    /* products have the rate of fp8, and nothing is cast */
    TY_FP8_DELAYED, /* one a tensor, from the largest values of steps before */
    TY_FP8_CURRENT, /* one a tensor, from its own largest value */
    TY_FP8_BLOCKS,  /* one for some tens of elements, found while they are cast */
    TY_FP8_MX       /* the same, of 32, with weights that are gathered in 16 bit */
};

/* A habit that a pipeline may change; see ty_layout_does. */
enum ty_habit {
    TY_HABIT_TRUE = 1,
    TY_HABIT_FALSE,
    TY_HABIT_NO_PIPELINE /* true without a pipeline, false in one */
};

/* When gradients of several micro-batches are reduced: a habit, or */
enum ty_sync_every {
    TY_SYNC_EVERY_AUTO,                           /* by the ZeRO stage; see model/zero.c */
    TY_SYNC_EVERY_RUN = TY_HABIT_NO_PIPELINE + 1, /* after runs of passes of a model chunk */
};

/* What becomes of PyTorch's free blocks. */
enum ty_allocator {
    TY_ALLOCATOR_WHOLE,
    TY_ALLOCATOR_SPLIT /* gradients that the first backward makes are cut from the largest */
};

enum ty_overlap_p2p {
    TY_OVERLAP_P2P_TRUE,
    TY_OVERLAP_P2P_FALSE,
    TY_OVERLAP_P2P_AUTO /* with several model chunks per rank */
};

/* ZeRO-3: what is gathered together. */
enum ty_gather_unit {
    TY_GATHER_LAYER, /* the parameters of a unit */
    TY_GATHER_MODULE /* each matrix, or several that are gathered ahead */
};

/* What layout.stage_layers auto deals evenly. */
enum ty_stage_split {
    TY_STAGE_SPLIT_LAYERS,
    TY_STAGE_SPLIT_MODULES, /* embedding, layers, final norm and head alike */
    TY_STAGE_SPLIT_MATRICES /* layers and head by their matrices */
};

/* How tokens get to their experts and back. */
enum ty_dispatcher {
    TY_DISPATCHER_ALL_TO_ALL, /* a copy for each expert, after counts have been exchanged */
    TY_DISPATCHER_ALL_GATHER, /* everything to everybody */
    TY_DISPATCHER_DEEPEP,     /* a copy for each node, in kernels that take SMs */
    TY_DISPATCHER_HYBRIDEP
};

/* What rows are on the way to their experts, and gradients to theirs. */
enum ty_dispatch_dtype {
    TY_DISPATCH_MODEL,
    TY_DISPATCH_FP8 /* with a 32-bit scale for every 128 elements */
};

struct ty_framework {
    const char *preset;
    int grad_dtype;             /* enum ty_grad_dtype: gradients as kept and accumulated ... */
    int reduce_dtype;           /* ... and as they cross the wire between replicas */
    int optimizer;              /* enum ty_optimizer_word */
    int moment_dtype;           /* enum ty_state_dtype: of its moments ... */
    int master_dtype;           /* ... and of the weights that it updates */
    bool fused_accumulation;    /* the weight gradient's product adds to them */
    bool wgrad_placeholders;    /* and what autograd is given instead stays, one for each shape */
    double bucket;              /* gradients reduced in one call, B at 16 bit; 0: by rule */
    double first_bucket;        /* in the first call of a backward; 0: by rule */
    int overlap_grad_reduce;    /* enum ty_habit: buckets are reduced while the last backward still
                                 * runs */
    int sync_every;             /* enum ty_sync_every: in the backward of every micro-batch */
    bool reduce_scatter;        /* ZeRO-1, -2: a rank receives its shard only */
    bool overlap_param_gather;  /* ZeRO-1, -2: and gathered while the next forward already runs */
    uint32_t prefetch;          /* ZeRO-3: gathers ahead of the unit at work */
    int gather_unit;            /* enum ty_gather_unit. ZeRO-3: the parameters of one gather; */
    double gather_prefetch;     /* of modules, parameters gathered ahead at once, */
    double gather_live;         /* whole at a time, before none are gathered ahead, */
    double gather_reuse;        /* used before a module is used again, if it stays, */
    double gather_persistent;   /* of a matrix that every rank keeps whole */
    double rank_copy;           /* ZeRO-3: s for each rank in a gather or reduction, */
    double gather_copies;       /* times that GPU memory moves its bytes beside it, */
    double unaligned_gather;    /* and times as long as aligned ones its bytes take, unaligned */
    int reshard_after_forward;  /* enum ty_habit. ZeRO-3: gathered again for the backward */
    int reshard_after_backward; /* enum ty_habit. ZeRO-3: and for the next forward of the step */
    uint32_t zero_in_pipeline;  /* most of layout.zero that a pipeline goes with */
    bool fused_qkv;             /* one matrix for q, k and v, else three ... */
    bool fused_gate; /* SwiGLU: one for gate and up, else two: one backward all-reduce each */
    bool overlap_tensor_reduce;   /* backward all-reduces run during weight gradients */
    bool overlap_tensor_products; /* products run during what sequence parallelism gathers before
                                   * them, and scatters after them, piece by piece */
    uint32_t scatter_sms; /* what they scatter is summed up by kernels on so many multiprocessors */
    int overlap_p2p;      /* enum ty_overlap_p2p: the next pass may start before a message is
                                 * sent */
    int stage_split;      /* enum ty_stage_split */
    bool rack_pipelines;  /* stages of a dense model are neighbours where a node is a rack */
    bool expert_overlap;  /* a forward and a backward over each other */
    bool scatter_gather_p2p; /* messages are sent in parts, one a tensor rank */
    bool fused_activation;   /* SwiGLU is one kernel ... */
    bool keep_product;       /* ... whose result is kept for the backward */
    bool fused_rotary;
    bool fused_merge; /* of partial outputs of attention */
    bool fused_optimizer;
    int fp8_recipe;       /* enum ty_fp8_recipe */
    bool fp8_activations; /* inputs of products are kept as they were cast */
    bool fp8_cache;       /* so is what SwiGLU of experts read; attention's output is kept once */
    bool fp8_activation_input; /* and what SwiGLU of dense MLPs read */
    bool fp8_weights;          /* weights are kept and gathered in fp8 */
    bool fp8_attention;        /* so are queries, keys and values on the way into attention */
    bool fp8_head;             /* so is what the output matrix multiplies; MXFP8 only */
    double norm_speed;         /* of fused norms over the GPU's norm_passes */
    uint32_t loss_metrics;     /* further losses of the same logits, for logs */
    bool fused_loss;    /* cross-entropy reads 16-bit logits and writes their gradient over them */
    bool parallel_loss; /* tensor ranks keep their columns of logits to themselves */
    bool buffered_logits;  /* the last stage keeps those of the micro-batch before */
    int allocator;         /* enum ty_allocator */
    bool recompute_head;   /* full recomputation repeats the head's product, too */
    bool regather_inputs;  /* sequence parallelism: a whole input is gathered again, not kept */
    bool retain_graph;     /* all that a split backward kept stays for its second half */
    double layer_floor;    /* s of host time to launch one layer's forward; 0: none */
    double expert_floor;   /* of a layer with experts, in such floors; 0: as it has more launches */
    double attention_sync; /* s the GPU waits for its host in the attention of every layer */
    double pass_overhead;  /* s the GPU idles at the start of every pass of a pipeline, */
    double step_overhead;  /* and at the end of every step */

    /* mixtures of experts */
    int dispatcher;         /* enum ty_dispatcher */
    int dispatch_dtype;     /* enum ty_dispatch_dtype */
    bool shared_overlap;    /* shared experts run during dispatch and combine */
    bool overlap_dispatch;  /* weight gradients of experts run during the dispatch's backward */
    double capacity;        /* of an expert over the mean load; 0: no row is dropped ... */
    bool pad_to_capacity;   /* ... and each expert gets as many rows as it takes */
    double dispatch_sync;   /* s the GPU waits for its host to learn how many rows come */
    double dispatch_buffer; /* rows there is room for, over those of a balanced load */
    bool fused_permute, fused_experts, fused_router;
    bool fused_expert_mlp; /* products of experts make the activation and the casts around it */
    bool scale_activation; /* probabilities scale the activation, else the experts' outputs */

    /* derived by ty_framework_finish; the last by ty_layout_derive, of the GPU: a tensor is cast
     * once for all products */
    bool grad_fp32, reduce_fp32, fp8_reads_both;
};

extern const struct ty_field ty_framework_fields[];
extern const uint32_t ty_n_framework_fields;
extern const struct ty_preset ty_framework_presets[]; /* ends with a NULL name */
/* Keys of the section layout that come with some of them, by their names. */
extern const struct ty_preset ty_framework_layouts[];

/* Derives what is "auto" from the type of the model's products, enum ty_dtype. */
void ty_framework_finish(struct ty_framework *framework, int dtype);

#endif
