/* layout.h - how the model is laid over the ranks. */
#ifndef TY_MODEL_LAYOUT_H
#define TY_MODEL_LAYOUT_H

#include "model/arch.h"
#include "model/framework.h"
#include "topology/place.h"

/* Parts of a layer that run again in its backward, bits, and modes that are sets of them. The first
 * three give up what they made and are computed again just before it is used (Megatron-LM's
 * CheckpointWithoutOutput); what the others give, the operator behind them keeps as its input. */
enum ty_recompute {
    TY_RECOMPUTE_NONE,
    TY_RECOMPUTE_NORM = 1 << 0,    /* norms of hidden states and latents, not the sums before */
    TY_RECOMPUTE_MLA_UP = 1 << 1,  /* queries, keys and values out of their latents */
    TY_RECOMPUTE_MOE_ACT = 1 << 2, /* the activation of routed experts */
    TY_RECOMPUTE_CORE = 1 << 3,    /* the attention core (Korthikanti et al. 2022) */
    TY_RECOMPUTE_FFN = 1 << 4,     /* the wide part of a dense MLP: up, gate and activation */
    TY_RECOMPUTE_MLP = 1 << 5,     /* all of it */
    TY_RECOMPUTE_MOE = 1 << 6,     /* router to unpermute: its exchanges are repeated, too */
    TY_RECOMPUTE_SHARED = 1 << 7,  /* the shared experts */
    TY_RECOMPUTE_LAYER = 1 << 8,   /* every operator */
    TY_RECOMPUTE_FULL = (1 << 9) - 1,
    TY_RECOMPUTE_WITHOUT_OUTPUT = TY_RECOMPUTE_NORM | TY_RECOMPUTE_MLA_UP | TY_RECOMPUTE_MOE_ACT,
};

/* Different ones in one run; and kinds of layers in one run, by what they are and what they repeat
 * (ty_arch_layer_kinds says how many a model has without that). */
#define TY_RECOMPUTE_MODES 4u

/* How ranks that share a sequence do its attention (model/parallel/context.c). */
enum ty_context_method {
    TY_CONTEXT_ZIGZAG,
    TY_CONTEXT_RING,
    TY_CONTEXT_ALL_GATHER,
    TY_CONTEXT_ULYSSES,
    TY_CONTEXT_HYBRID
};

/* How ranks of a tensor group cut matrix products (model/parallel/tensor*.c). */
enum ty_tensor_scheme {
    TY_TENSOR_1D,
    TY_TENSOR_2D,
    TY_TENSOR_25D,
    TY_TENSOR_3D
};

/* How those of a 2D grid bring blocks to a product: step by step, or all before it. */
enum ty_summa {
    TY_SUMMA_BROADCAST,
    TY_SUMMA_GATHER
};

/* Systems that keep states off the GPU, and where what they keep may live (model/offload.h). */
enum ty_offload_system {
    TY_OFFLOAD_NONE,
    TY_OFFLOAD_ZERO_OFFLOAD,
    TY_OFFLOAD_ZERO3_OFFLOAD,
    TY_OFFLOAD_ZERO_INFINITY,
    TY_OFFLOAD_GEMINI,
};
enum ty_home {
    TY_HOME_GPU,
    TY_HOME_CPU,
    TY_HOME_NVME,
    TY_HOME_AUTO
};

/* Bytes of a parameter or a gradient on its way: 16 bit, whatever it is added up in (ZeRO-Offload,
 * section 4.1). Chunks of an optimizer on NVMe that are read, updated and written side by side. */
#define TY_MOVED_BYTES     2
#define TY_OFFLOAD_BUFFERS 3

/* Whether heads, and those of keys, can be scattered over so many ranks. */
static inline bool ty_heads_divide(const struct ty_arch *arch, uint32_t ranks)
{
    return arch->heads % ranks == 0 && arch->kv_heads % ranks == 0;
}

/* The `layout` section. */
struct ty_layout {
    uint32_t tensor, context, pipeline, data;
    uint32_t expert, expert_tensor;     /* ranks that share a layer's experts; an expert */
    int tensor_scheme;                  /* enum ty_tensor_scheme */
    uint32_t tensor_depth;              /* 2.5d: grids that have the same weights */
    int summa;                          /* enum ty_summa */
    bool keep_gathered;                 /* 3d: what the forward gathers is kept for the backward */
    int context_method;                 /* enum ty_context_method */
    uint32_t context_inner;             /* hybrid: neighbours that scatter heads; 0: auto */
    uint32_t micro_batch, global_batch; /* sequences */
    bool sequence_parallel;
    uint32_t zero;       /* 0..3 */
    int activation_bits; /* of activations that are kept; 0: 16 */
    uint32_t shard; /* data ranks that share states, side by side; 0: all. See ty_layout_shards */
    uint32_t recompute; /* enum ty_recompute: bits */
    struct ty_word_list order;
    struct ty_string_list nodes, gpus; /* ranges such as "0-3": nodes it has ranks on, and GPUs of
                                        * each; empty: all */
    const char *rank_file;             /* name; NULL: rank r on GPU r */
    struct ty_uint_list stage_layers;  /* layers of each virtual stage; empty: even */
    struct ty_uint_list stage_tensor, stage_data; /* tensor and data ranks of each pipeline stage;
                                                   * empty: as tensor and data say, which else are
                                                   * those of the first (layout_shapes.c) */
    struct ty_counts_list recompute_layers; /* of each virtual stage, or one for all: how many of
                                             * its first layers run again, and what of them; empty:
                                             * all, as `recompute` says */
    int offload;                            /* enum ty_offload_system */
    int offload_optimizer, offload_parameters, offload_activations; /* enum ty_home */
    double offload_share;          /* of the optimizer: what is not on the GPU */
    uint32_t offload_depth;        /* units on their way or at work */
    bool offload_delay;            /* the update runs during the next step */
    double offload_room;           /* gemini: share of a GPU's memory that it fills */
    struct ty_framework framework; /* habits of the stack that runs it; a section of its own */

    /* derived by ty_layout_derive */
    struct ty_homes {
        int optimizer, parameters, activations; /* enum ty_home, never auto */
        double share; /* of optimizer and gradients that is not on the GPU; 0: optimizer is GPU */
    } home;
    bool unlike;            /* pipeline stages are of different shape */
    uint32_t micro_batches; /* per pipeline and step */
    uint32_t ranks;
    uint32_t expert_data;              /* ranks that have the same experts; 0: the model has none */
    uint32_t stages;                   /* virtual ones of a direction */
    uint32_t mode[TY_RECOMPUTE_MODES]; /* [n_modes] bits of enum ty_recompute: what layers repeat
                                        * that no one counts, then the others of recompute_layers */
    uint32_t n_modes;

    /* filled by whoever places the job: how many GPUs it sits on (before ty_layout_finish; 0: all
     * of the cluster), and which, as in struct ty_grid, or NULL */
    uint32_t n_gpus;
    const uint32_t *gpu_of;
    bool ends_together; /* the schedule has the last stage on the rank of the first */
};

extern const struct ty_word ty_context_words[]; /* by enum ty_context_method */
extern const struct ty_word ty_scheme_words[];  /* by enum ty_tensor_scheme */
extern const struct ty_field ty_layout_fields[];
extern const uint32_t ty_n_layout_fields;

/* Fills `data: auto`, derives, and checks every divisibility rule, with those of the kinds of
 * parallelism (kinds[] ends with NULL). ty_layout_finish of model/parallel/kinds.h has them all. */
struct ty_parallel;
int ty_layout_derive(struct ty_layout *layout, const struct ty_section *section,
                     const struct ty_arch *arch, const struct ty_cluster *cluster, uint32_t chunks,
                     const struct ty_parallel *const *kinds, struct ty_err *err);

/* A sequence that a schedule cuts into slices is not shared by ranks as well, and packed ones are
 * neither. */
int ty_layout_check_slices(const struct ty_layout *layout, const struct ty_section *section,
                           const struct ty_arch *arch, uint32_t slices, struct ty_err *err);

/* Communicators that a rank opens, one per kind of group it talks to: every group of more than one
 * rank, replicas of a shard group, all ranks together, and the two homes of a tied embedding. Names
 * go into name[]. */
#define TY_COMMUNICATORS_MAX 14u
uint32_t ty_layout_communicators(const struct ty_layout *layout, const struct ty_arch *arch,
                                 const char *name[TY_COMMUNICATORS_MAX]);

/* The grid that the ranks of a tensor group are. One rank alone is a line of one. */
struct ty_mesh {
    enum ty_tensor_scheme scheme;
    uint32_t side;  /* ranks that share heads, inner width and vocabulary: of a line all */
    uint32_t depth; /* 2.5d: grids of side x side; 3d: side; else 1 */
    uint32_t cut; /* parts that the rows of a rank's columns of a matrix are cut in; of a line 1 */
};
struct ty_mesh ty_layout_mesh(const struct ty_layout *layout);

/* Whether tensor groups have more than one dimension. */
static inline bool ty_layout_is_mesh(const struct ty_layout *layout)
{
    return layout->tensor_scheme != TY_TENSOR_1D && layout->tensor > 1;
}

/* Whether what autograd is given for weight gradients stays; buffers of shards need none. */
static inline bool ty_layout_has_placeholders(const struct ty_layout *layout)
{
    return layout->framework.wgrad_placeholders && layout->zero < 2 && !ty_layout_is_mesh(layout);
}

/* Whether ranks of a sequence have some of the heads each while attention runs. */
static inline bool ty_layout_scatters_heads(const struct ty_layout *layout)
{
    return layout->context > 1 && (layout->context_method == TY_CONTEXT_ULYSSES ||
                                   layout->context_method == TY_CONTEXT_HYBRID);
}

/* The largest s with s^power <= n; power 2 or 3. */
uint32_t ty_root(uint32_t n, uint32_t power);

/* Parts of a micro-batch that such a group deals its sequences to, and whether there are enough. */
static inline uint32_t ty_mesh_parts(const struct ty_mesh *mesh)
{
    return mesh->side * mesh->depth;
}
bool ty_mesh_deals(const struct ty_layout *layout);

/* The key of what so many tensor ranks cannot share in one dimension, and its value in *of; NULL:
 * nothing. */
const char *ty_tensor_undivided(const struct ty_arch *arch, uint32_t ranks, uint32_t *of);

/* layout_shapes.c: the layout of a pipeline stage, as if all were like it: itself, where they are.
 * Ranks of a stage; of the largest; of all, from what was given, 0 where data is auto. Whether two
 * stages have one shape. */
struct ty_layout ty_layout_of_stage(const struct ty_layout *layout, uint32_t stage);
uint32_t ty_layout_members(const struct ty_layout *layout, uint32_t stage);
uint32_t ty_layout_most_members(const struct ty_layout *layout);
uint64_t ty_layout_need(const struct ty_layout *layout);
bool ty_layout_same_shape(const struct ty_layout *layout, uint32_t a, uint32_t b);

/* "4", "[2, 2, 4]": tensor or data ranks of all stages. Returns buf. */
#define TY_WIDTHS_TEXT 256u
const char *ty_layout_tensor_text(const struct ty_layout *layout, char buf[TY_WIDTHS_TEXT]);
const char *ty_layout_data_text(const struct ty_layout *layout, char buf[TY_WIDTHS_TEXT]);

/* Part of ty_layout_finish: shapes of stages, checked and derived. */
int ty_layout_find_shapes(struct ty_layout *layout, const struct ty_section *section,
                          const struct ty_arch *arch, uint32_t chunks, uint32_t gpus,
                          struct ty_err *err);

/* layout_replicas.c: ranks that have the same parameters (data and context ranks), of which so many
 * hold one copy of sharded states, and how many copies there are: N, N and 1 unless hybrid. */
uint32_t ty_layout_alike(const struct ty_layout *layout);
uint32_t ty_layout_shards(const struct ty_layout *layout);
uint32_t ty_layout_replicas(const struct ty_layout *layout);

/* The same of experts. They have as many copies as the rest, of fewer or more ranks each: a group
 * that keeps one copy of the dense states keeps one of the experts' (Megatron-LM's
 * num_distributed_optimizer_instances, torchtitan's efsdp). 1: no experts. */
uint32_t ty_layout_expert_shards(const struct ty_layout *layout);

/* Of `params` parameters of a rank, `experts` of them of experts, what it keeps where each group
 * keeps one copy. */
double ty_layout_shard(const struct ty_layout *layout, double params, double experts);

/* Whether anyone has the same parameters, or the same experts, as a rank. */
bool ty_layout_has_copies(const struct ty_layout *layout);

/* Whether gradients go anywhere once they are made: to those, or to where the optimizer lives. */
static inline bool ty_layout_moves_grads(const struct ty_layout *layout)
{
    return layout->home.share > 0 || ty_layout_has_copies(layout);
}

/* Whether anything lives off the GPU. */
static inline bool ty_layout_is_offloaded(const struct ty_layout *layout)
{
    return layout->home.optimizer != TY_HOME_GPU || layout->home.activations != TY_HOME_GPU;
}

/* ZeRO-3: units whose parameters are whole at a time. */
static inline uint32_t ty_layout_whole_units(const struct ty_layout *layout)
{
    return layout->home.parameters == TY_HOME_GPU ? 1 + layout->framework.prefetch
                                                  : layout->offload_depth;
}

/* ZeRO-3: whether parameters are gathered matrix by matrix. Chunks of Gemini are layers. */
static inline bool ty_layout_gathers_modules(const struct ty_layout *layout)
{
    return layout->zero == 3 && layout->framework.gather_unit == TY_GATHER_MODULE &&
           layout->offload != TY_OFFLOAD_GEMINI;
}

/* Whether gradients of experts are those of other ranks than the rest's, and so reduced apart. On
 * the same ranks they are, too, as soon as experts are shared (Megatron-LM's param.allreduce). */
bool ty_layout_experts_apart(const struct ty_layout *layout);

/* Parameters in a gradient bucket. Auto: for plain data parallelism 25 MiB at 16 bit (PyTorch's
 * bucket_cap_mb); with ZeRO max(40e6, 1e6 data) (Megatron-LM's DistributedDataParallelConfig). */
double ty_layout_bucket_params(const struct ty_layout *layout);

/* In the first one. Auto: 1 MiB at 16 bit where the others have PyTorch's 25 MiB, else the same. */
double ty_layout_first_bucket_params(const struct ty_layout *layout);

/* Whether the stack does what a pipeline may keep it from: enum ty_habit. */
static inline bool ty_layout_does(const struct ty_layout *layout, int habit)
{
    return habit == TY_HABIT_TRUE || (habit == TY_HABIT_NO_PIPELINE && layout->pipeline == 1);
}

/* Whether what first and last stage have in common is there twice. */
static inline bool ty_layout_ends_apart(const struct ty_layout *layout)
{
    return layout->pipeline > 1 && !layout->ends_together;
}

/* After which backward passes gradients are reduced. */
enum ty_reduces {
    TY_REDUCES_EVERY,
    TY_REDUCES_RUN, /* the last of neighbouring ones of a model chunk */
    TY_REDUCES_LAST /* of a step */
};
enum ty_reduces ty_layout_reduces(const struct ty_layout *layout);

/* Whether gradients are whole for more than a pass, or at its end, unless every one reduces. */
bool ty_layout_adds_up(const struct ty_layout *layout);

/* Whether a pass is over before the gradients it makes are reduced: without overlap, where
 * gradients are kept whole. */
bool ty_layout_reduces_late(const struct ty_layout *layout);

/* What framework.stage_split deals next to layers: embedding, final norm, head. */
#define TY_LAYOUT_MODULES 3

/* Layers [first, first + count) of virtual stage s of `stages`. When they do not divide, stages 1,
 * 2, ... take one more each; the first (which has the embedding) only when all of those have, the
 * last (which has the head) never. So with as many stages as layers and two more the ends have
 * none (Llama 3 405B on 16 ranks of 8 chunks; Grattafiori et al. 2024, section 3.3.2). With modules
 * that predict further tokens behind it the last has 2 mtp + 1 layers fewer than its share. */
struct ty_layers {
    uint32_t first, count;
    struct ty_layer_run {
        uint32_t n, mode;  /* neighbouring layers; number of their mode in the layout */
    } run[TY_COUNTS_SETS]; /* [n_runs] from the first layer on; those behind are of mode 0 */
    uint32_t n_runs;
};
/* Layers of a stage that run again come first: what its last layers keep is free again when the
 * backward of the others brings back theirs. What stands behind the last layer, modules for further
 * tokens and the head, runs again where all layers of its stage do. */
struct ty_layers ty_layout_layers(const struct ty_layout *layout, const struct ty_arch *arch,
                                  uint32_t stages, uint32_t stage);

/* The mode of layer i of a stretch, or of what stands behind it; bits of a mode, and of what stands
 * behind the last layer of all. */
uint32_t ty_layers_mode(const struct ty_layers *layers, uint32_t i);
uint32_t ty_layout_mode(const struct ty_layout *layout, uint32_t mode);
uint32_t ty_layout_last_mode(const struct ty_layout *layout, const struct ty_arch *arch);

/* What some layer repeats: bits of enum ty_recompute; and the key that says so. */
uint32_t ty_layout_repeats(const struct ty_layout *layout);
const char *ty_layout_recompute_key(const struct ty_layout *layout);

#endif
