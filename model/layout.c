/* layout.c - the `layout` section, and which layers go where.
 *
 * Every rule is a function that reports at the value to change, with values that would do. Rules
 * that need another one to hold are skipped when it does not: one mistake, one message.
 *
 * The vocabulary need not divide by `tensor`: frameworks pad it to a multiple of 128 tensor (as
 * Megatron-LM does), a difference that is left out here. */
#include "model/layout.h"

#include <stdio.h>

#include "model/check.h"
#include "model/offload.h"
#include "model/packing.h"
#include "model/parallel.h"
#include "topology/exceptions.h"

/* ---- the grid of a tensor group ---- */

uint32_t ty_root(uint32_t n, uint32_t power)
{
    uint32_t root = 0;
    for (uint64_t s = 1; s * s * (power == 3 ? s : 1) <= n; s++) {
        root = (uint32_t)s;
    }
    return root;
}

struct ty_mesh ty_layout_mesh(const struct ty_layout *layout)
{
    const uint32_t ranks = layout->tensor;
    uint32_t side = ranks, depth = 1;
    if (!ty_layout_is_mesh(layout)) {
        return (struct ty_mesh){TY_TENSOR_1D, ranks, 1, 1};
    }
    switch ((enum ty_tensor_scheme)layout->tensor_scheme) {
    case TY_TENSOR_1D:
        break;
    case TY_TENSOR_2D:
        side = ty_root(ranks, 2);
        break;
    case TY_TENSOR_25D:
        depth = layout->tensor_depth;
        side = ty_root(ranks / depth, 2);
        break;
    case TY_TENSOR_3D:
        depth = side = ty_root(ranks, 3);
        break;
    }
    side = side > 0 ? side : 1; /* of a depth that is refused */
    const bool cube = layout->tensor_scheme == TY_TENSOR_3D;
    return (struct ty_mesh){(enum ty_tensor_scheme)layout->tensor_scheme, side, depth,
                            cube ? side * side : side};
}

bool ty_mesh_deals(const struct ty_layout *layout)
{
    const struct ty_mesh mesh = ty_layout_mesh(layout);
    return !ty_layout_is_mesh(layout) || layout->micro_batch % ty_mesh_parts(&mesh) == 0;
}

static int mesh_check_batch(const struct ty_layout *layout, const struct ty_section *section,
                            struct ty_err *err)
{
    const struct ty_mesh mesh = ty_layout_mesh(layout);
    const uint32_t b = ty_mesh_parts(&mesh);
    return ty_mesh_deals(layout)
               ? 0
               : ty_check_fail(section, "micro_batch", err,
                               "%u: tensor_scheme %s spreads sequences over %u parts of a tensor "
                               "group of %u; try %u",
                               (unsigned)layout->micro_batch,
                               ty_scheme_words[layout->tensor_scheme].name, (unsigned)b,
                               (unsigned)layout->tensor,
                               (unsigned)(layout->micro_batch / b + 1) * b);
}

/* ---- the layers of a virtual stage, and which of them run again ---- */

/* Of embedding, layers, final norm and head, dealt evenly, what is left over to the first stages:
 * the first layer behind where a stage begins. */
static uint32_t layer_of_module(const struct ty_arch *arch, uint32_t stages, uint32_t stage)
{
    const uint32_t even = (arch->layers + TY_LAYOUT_MODULES) / stages;
    const uint32_t left = (arch->layers + TY_LAYOUT_MODULES) % stages;
    const uint32_t module = stage * even + (stage < left ? stage : left);
    const uint32_t layer = module > 0 ? module - 1 : 0;
    return layer < arch->layers ? layer : arch->layers;
}

/* Of layers and head, weighed by q, k, v, output and a gated MLP, and by the vocabulary (nanotron's
 * build_model): a stage ends behind the layer with which all up to it have more than their
 * share. */
static uint32_t layer_of_share(const struct ty_arch *arch, uint32_t stages, uint32_t stage)
{
    const uint64_t layer = 4 * (uint64_t)arch->heads * arch->head_dim + 3 * (uint64_t)arch->ffn;
    const uint64_t all = layer * arch->layers + arch->vocabulary;
    const uint64_t begin = all * stage / (stages * layer) + 1;
    return stage == 0 ? 0 : begin < arch->layers && stage < stages ? (uint32_t)begin : arch->layers;
}

/* What predicts further tokens runs behind the last layer: each module is a layer and another run
 * of the head, and the head counts as a layer, too. The last stage has as many layers fewer. */
static struct ty_layers before_modules(const struct ty_arch *arch, uint32_t stages, uint32_t stage)
{
    const uint32_t tail = 2 * arch->mtp + 1, share = (arch->layers + tail) / stages;
    const uint32_t last = share > tail ? share - tail : 0, others = stages - 1;
    const uint32_t even = (arch->layers - last) / others, left = (arch->layers - last) % others;
    const uint32_t before = stage == 0 ? 0 : stage - 1 < left ? stage - 1 : left;
    const uint32_t more = stage > 0 && stage <= left ? 1 : 0;
    return (struct ty_layers){.first = stage * even + before,
                              .count = stage == others ? last : even + more};
}

static struct ty_layers stretch(const struct ty_layout *layout, const struct ty_arch *arch,
                                uint32_t stages, uint32_t stage)
{
    struct ty_layers layers = {.first = 0};
    if (layout->stage_layers.n == stages) {
        for (uint32_t s = 0; s < stage; s++) {
            layers.first += layout->stage_layers.item[s];
        }
        layers.count = layout->stage_layers.item[stage];
        return layers;
    }
    if (layout->framework.stage_split != TY_STAGE_SPLIT_LAYERS && stages > 1) {
        uint32_t (*first)(const struct ty_arch *, uint32_t, uint32_t) =
            layout->framework.stage_split == TY_STAGE_SPLIT_MODULES ? layer_of_module
                                                                    : layer_of_share;
        const uint32_t begin = first(arch, stages, stage);
        return (struct ty_layers){.first = begin, .count = first(arch, stages, stage + 1) - begin};
    }
    if (arch->mtp > 0 && stages > 1) {
        return before_modules(arch, stages, stage);
    }
    /* One more for stages 1, 2, ...; the first stage (embedding) only when all others but the last
     * have one; the last (head) never. */
    const uint32_t even = arch->layers / stages, left = arch->layers % stages;
    const uint32_t inner = stages > 2 ? stages - 2 : 0;
    const uint32_t with_one = left < inner ? left : inner;
    const uint32_t on_first = left > with_one ? 1 : 0;
    if (stage == 0) {
        return (struct ty_layers){.count = even + on_first};
    }
    const uint32_t before = stage - 1 < with_one ? stage - 1 : with_one;
    layers.first = stage * even + on_first + before;
    layers.count = even + (stage <= with_one ? 1 : 0);
    return layers;
}

/* ---- which of them run again ---- */

/* Bits of what so many layers repeat. */
static uint32_t set_of(const struct ty_layout *layout, uint32_t set)
{
    return set == TY_COUNTS_PLAIN ? layout->recompute : set;
}

/* What a virtual stage is to repeat; NULL: nobody counts. */
static const struct ty_counts *counts_of(const struct ty_layout *layout, uint32_t stage)
{
    const struct ty_counts_list *list = &layout->recompute_layers;
    return list->n == 0 ? NULL : &list->item[list->n == 1 ? 0 : stage];
}

static uint32_t mode_number(const struct ty_layout *layout, uint32_t set)
{
    uint32_t mode = 0;
    while (mode < layout->n_modes && layout->mode[mode] != set) {
        mode++;
    }
    return mode;
}

struct ty_layers ty_layout_layers(const struct ty_layout *layout, const struct ty_arch *arch,
                                  uint32_t stages, uint32_t stage)
{
    struct ty_layers layers = stretch(layout, arch, stages, stage);
    const struct ty_counts *counts = counts_of(layout, stage);
    uint32_t sum = 0;
    for (uint32_t i = 0; counts != NULL && i < counts->n; i++) {
        struct ty_layer_run *run = &layers.run[layers.n_runs++];
        *run = (struct ty_layer_run){counts->item[i].n,
                                     mode_number(layout, set_of(layout, counts->item[i].set))};
        sum += run->n;
        if (layers.count > 0 && sum >= layers.count) { /* all, and what stands behind them */
            run->n = UINT32_MAX;
            break;
        }
    }
    return layers;
}

uint32_t ty_layers_mode(const struct ty_layers *layers, uint32_t i)
{
    for (uint32_t k = 0; k < layers->n_runs; k++) {
        if (i < layers->run[k].n) {
            return layers->run[k].mode;
        }
        i -= layers->run[k].n;
    }
    return 0;
}

uint32_t ty_layout_mode(const struct ty_layout *layout, uint32_t mode)
{
    return layout->recompute_layers.n == 0 ? layout->recompute : layout->mode[mode];
}

uint32_t ty_layout_last_mode(const struct ty_layout *layout, const struct ty_arch *arch)
{
    if (layout->recompute_layers.n == 0) {
        return layout->recompute;
    }
    const struct ty_layers last =
        ty_layout_layers(layout, arch, layout->stages, layout->stages - 1);
    return ty_layout_mode(layout, ty_layers_mode(&last, last.count));
}

uint32_t ty_layout_repeats(const struct ty_layout *layout)
{
    uint32_t set = ty_layout_mode(layout, 0);
    for (uint32_t i = 1; i < layout->n_modes; i++) {
        set |= layout->mode[i];
    }
    return set;
}

const char *ty_layout_recompute_key(const struct ty_layout *layout)
{
    return layout->recompute_layers.n == 0 ? "recompute" : "recompute_layers";
}

/* ---- checks ---- */

static uint32_t most_modes(const struct ty_arch *arch)
{
    const uint32_t room = TY_LAYER_KINDS / ty_arch_layer_kinds(arch);
    return room < TY_RECOMPUTE_MODES ? room : TY_RECOMPUTE_MODES;
}

static int layout_find_modes(struct ty_layout *layout, const struct ty_section *section,
                             const struct ty_arch *arch, struct ty_err *err)
{
    const struct ty_counts_list *list = &layout->recompute_layers;
    const uint32_t most = most_modes(arch);
    layout->n_modes = 1;
    layout->mode[0] = list->n == 0 ? layout->recompute : TY_RECOMPUTE_NONE;
    for (uint32_t i = 0; i < list->n; i++) {
        for (uint32_t k = 0; k < list->item[i].n; k++) {
            const uint32_t set = set_of(layout, list->item[i].item[k].set);
            if (mode_number(layout, set) < layout->n_modes) {
                continue;
            }
            if (layout->n_modes == most) {
                return ty_check_fail(section, "recompute_layers", err,
                                     "more than %u different sets of parts, of a model with so "
                                     "many kinds of layers; write at most %u beside none",
                                     (unsigned)(most - 1), (unsigned)(most - 1));
            }
            layout->mode[layout->n_modes++] = set;
        }
    }
    return 0;
}

/* One stage's: they are there, and there is something to repeat. */
static int check_counts(const struct ty_layout *layout, const struct ty_section *section,
                        const struct ty_arch *arch, uint32_t stage, struct ty_err *err)
{
    const struct ty_counts *counts = counts_of(layout, stage);
    const uint32_t have = stretch(layout, arch, layout->stages, stage).count;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < counts->n; i++) {
        sum += counts->item[i].n;
        if (counts->item[i].set == TY_COUNTS_PLAIN && counts->item[i].n > 0 &&
            layout->recompute == TY_RECOMPUTE_NONE) {
            return ty_check_fail(section, "recompute_layers", err,
                                 "%u: layout.recompute is none; write there which parts of these "
                                 "layers to recompute, or full:%u here",
                                 (unsigned)counts->item[i].n, (unsigned)counts->item[i].n);
        }
    }
    if (layout->recompute_layers.n > 1 && sum > have) {
        return ty_check_fail(section, "recompute_layers", err,
                             "%llu layers of stage %u, which has %u; write at most %u",
                             (unsigned long long)sum, (unsigned)stage, (unsigned)have,
                             (unsigned)have);
    }
    return 0;
}

/* Part of ty_layout_finish: derives the modes; needs stages, and, to check, stage_layers. */
static int layout_check_recompute(const struct ty_layout *layout, const struct ty_section *section,
                                  const struct ty_arch *arch, struct ty_err *err)
{
    const uint32_t n = layout->recompute_layers.n;
    int rc = 0;
    if (n > 1 && n != layout->stages) {
        return ty_check_fail(section, "recompute_layers", err,
                             "%u numbers for pipeline x schedule.chunks = %u stages; write %u, or "
                             "one for all of them",
                             (unsigned)n, (unsigned)layout->stages, (unsigned)layout->stages);
    }
    for (uint32_t stage = 0; stage < n && rc == 0; stage++) {
        rc = check_counts(layout, section, arch, stage, err);
    }
    return rc;
}

#define ENDS 2u /* stages that may do without a layer: the embedding's and the head's */

static const struct ty_word recompute_words[] = {
    {"none", TY_RECOMPUTE_NONE, "all activations are kept"},
    {"ffn", TY_RECOMPUTE_FFN, "the wide half of the MLP is recomputed"},
    {"full", TY_RECOMPUTE_FULL, "the whole layer is recomputed (Chen et al. 2016)"},
    {"selective", TY_RECOMPUTE_CORE, "the attention core is recomputed (Korthikanti et al. 2022)"},
    {"core_attn", TY_RECOMPUTE_CORE, "as selective"},
    {"norm", TY_RECOMPUTE_NORM, "norms, also those of latents"},
    {"mla_up", TY_RECOMPUTE_MLA_UP, "latent attention: queries, keys and values made from latents"},
    {"mlp", TY_RECOMPUTE_MLP, "dense MLPs, the down projection included"},
    {"moe_act", TY_RECOMPUTE_MOE_ACT, "the activation of routed experts"},
    {"moe", TY_RECOMPUTE_MOE, "router to combine: exchanges are repeated, too"},
    {"shared_experts", TY_RECOMPUTE_SHARED, "the shared experts"},
    {"layernorm", TY_RECOMPUTE_NORM, "as norm, Megatron-LM's word"},
    {"mla_up_proj", TY_RECOMPUTE_MLA_UP, "as mla_up, Megatron-LM's word"},
    {NULL, 0, NULL},
};

const struct ty_word ty_context_words[] = {
    {"zigzag", TY_CONTEXT_ZIGZAG,
     "keys and values pass around a ring; every rank has an early and a late chunk (Megatron-LM's "
     "p2p)"},
    {"ring", TY_CONTEXT_RING, "the same with contiguous chunks: late ranks have more work"},
    {"all-gather", TY_CONTEXT_ALL_GATHER, "keys and values of all are gathered (Llama 3)"},
    {"ulysses", TY_CONTEXT_ULYSSES, "heads are scattered for tokens, by all-to-all (DeepSpeed)"},
    {"hybrid", TY_CONTEXT_HYBRID,
     "ulysses among neighbours, zigzag beyond (Megatron-LM's a2a+p2p)"},
    {NULL, 0, NULL},
};

const struct ty_word ty_scheme_words[] = {
    {"1d", TY_TENSOR_1D, "columns of a matrix, then rows of the next (Shoeybi et al. 2019)"},
    {"2d", TY_TENSOR_2D, "blocks on a grid of q x q ranks, SUMMA (Xu et al. 2021, Optimus)"},
    {"2.5d", TY_TENSOR_25D, "layout.tensor_depth such grids (Wang et al. 2021, Tesseract)"},
    {"3d", TY_TENSOR_3D, "blocks on a cube of q x q x q ranks (Bian et al. 2021)"},
    {NULL, 0, NULL},
};

static const struct ty_word summa_words[] = {
    {"broadcast", TY_SUMMA_BROADCAST, "q steps with two buffers, as the libraries do"},
    {"gather", TY_SUMMA_GATHER, "one all-gather of each operand: the same bytes, no steps"},
    {NULL, 0, NULL},
};

#define ROW(key_, type_, ...) TY_FIELD(struct ty_layout, #key_, key_, type_, __VA_ARGS__)
#define COUNT(key_, max_, fallback_, doc_)                                                         \
    ROW(key_, UINT, .min = 1, .max = (max_), .fallback = (fallback_), .searched = true,            \
        .doc = (doc_))

static const struct ty_word bits_words[] = {
    {"16", 0, "in the type of the model"},
    {"8", 8, "a scale and a zero for 256 of them (GACT, Liu et al. 2022)"},
    {"4", 4, "the same (ActNN, Chen et al. 2021)"},
    {NULL, 0, NULL},
};

const struct ty_field ty_layout_fields[] = {
    COUNT(tensor, 65536, "1", "ranks that share every GEMM"),
    ROW(tensor_scheme, WORD, .late = true, .words = ty_scheme_words, .fallback = "1d",
        .doc = "how these ranks split a GEMM: in one dimension, or on a grid"),
    ROW(tensor_depth, UINT, .late = true, .min = 1, .max = 65536, .fallback = "1",
        .doc = "tensor_scheme 2.5d: number of grids, which hold the same weights; tensor is q x q "
               "x this"),
    ROW(summa, WORD, .late = true, .words = summa_words, .fallback = "broadcast",
        .doc = "tensor_scheme 2d and 2.5d: how ranks get the blocks of a GEMM"),
    ROW(keep_gathered, BOOL, .late = true, .fallback = "true",
        .doc = "tensor_scheme 3d: whether inputs and weights gathered in a forward pass are kept "
               "for its backward pass; false: gathered again"),
    COUNT(context, 65536, "1", "ranks that share the tokens of every sequence"),
    ROW(context_method, WORD, .words = ty_context_words, .fallback = "zigzag",
        .doc = "how queries meet the keys of other ranks"),
    ROW(context_inner, UINT, .min = 1, .max = 65536, .fallback = "auto", .blank = "auto",
        .doc = "hybrid method: number of neighbouring ranks that scatter heads; auto: the most "
               "that divide the heads and are on one node"),
    COUNT(pipeline, 65535, "1", "ranks that hold successive layers"),
    ROW(data, UINT, .min = 1, .fallback = "auto", .blank = "auto",
        .doc = "replicas of the model; auto: GPUs / (tensor context pipeline)"),
    COUNT(expert, 65536, "1", "ranks that share the experts of a layer"),
    COUNT(expert_tensor, 65536, "1",
          "ranks that share the GEMMs of every expert, whatever layout.tensor is"),
    COUNT(micro_batch, 1000000, "1", "sequences in a micro-batch"),
    ROW(global_batch, UINT, .min = 1, .required = true,
        .doc = "sequences in an optimizer step, over all replicas"),
    ROW(sequence_parallel, BOOL, .fallback = "false", .searched = true,
        .doc =
            "tensor ranks also share the sequence in norms and dropout (Korthikanti et al. 2022)"),
    ROW(zero, UINT, .min = 0, .max = 3, .fallback = "0", .searched = true,
        .doc = "what is sharded over replicas: 0 nothing, 1 optimizer state, 2 gradients too, 3 "
               "weights too"),
    ROW(shard, UINT, .min = 1, .fallback = "auto", .blank = "auto",
        .doc = "neighbouring data-parallel ranks over which layout.zero shards; gradients are "
               "all-reduced between such groups (FSDP's hybrid sharding); auto: all data ranks"),
    ROW(recompute, SET, .words = recompute_words, .fallback = "none", .searched = true,
        .example = "[norm, mla_up] or norm+mla_up",
        .doc = "activations that are recomputed in the backward pass: a mode (the first four), or "
               "parts of a layer"),
    ROW(order, WORDS, .words = ty_axis_words, .fallback = "[tensor, context, data, pipeline]",
        .searched = true,
        .doc = "dimensions of the rank grid, fastest-varying first: which ranks are neighbours"),
    ROW(nodes, STRINGS, .blank = "auto", .fallback = "auto", .example = "[0-3, 6]",
        .doc = "nodes of the job, such as 0-3; auto: all, or those that other jobs leave free"),
    ROW(gpus, STRINGS, .blank = "auto", .fallback = "auto", .example = "[0-3, 6]",
        .doc = "GPUs of each of these nodes that the job uses, such as 0-3; auto: all"),
    ROW(rank_file, STRING, .blank = "none", .fallback = "none",
        .doc = "file with a line RANK NODE.GPU for each rank; none: rank r on GPU r"),
    ROW(stage_layers, UINTS, .max = 10000, .fallback = "auto", .blank = "auto",
        .doc = "layers of each stage (with chunks: virtual stage), in the order a micro-batch "
               "visits them; auto: even"),
    ROW(stage_tensor, UINTS, .late = true, .max = 65536, .fallback = "auto", .blank = "auto",
        .example = "[2, 2, 4]",
        .doc = "tensor ranks of each pipeline stage, where they differ; auto: layout.tensor"),
    ROW(stage_data, UINTS, .late = true, .max = 65536, .fallback = "auto", .blank = "auto",
        .example = "[1, 1, 2]",
        .doc = "replicas of each pipeline stage, where they differ: they share the sequences of a "
               "micro-batch, layout.micro_batch for each replica of the first stage; auto: "
               "layout.data"),
    ROW(activation_bits, WORD, .words = bits_words, .fallback = "16",
        .doc = "bits of the activations that layers keep for the backward pass; below 16 each "
               "operator casts after its forward and before its backward"),
    ROW(recompute_layers, COUNTS, .late = true, .max = 10000, .words = recompute_words,
        .fallback = "auto", .blank = "auto", .example = "[4, 2] or [full:2+selective:3, 4]",
        .doc = "how many of the first layers of each stage (with chunks: virtual stage) recompute: "
               "one number for all, or one for each; with words, which parts of so many layers "
               "recompute; auto: all"),
    TY_OFFLOAD_ROWS(ROW),
};

const uint32_t ty_n_layout_fields = TY_COUNT(ty_layout_fields);

/* ---- checks ---- */

struct layout_check {
    struct ty_layout *layout;
    const struct ty_section *section;
    const struct ty_arch *arch;
    const struct ty_cluster *cluster;
    uint32_t chunks, gpus;
    struct ty_err *err;
};

/* GPUs of nodes that have another kind. */
static int check_generations(const struct layout_check *c)
{
    const struct ty_exceptions *e = c->cluster->exceptions;
    const char *dtype = ty_dtype_words[c->arch->dtype].name;
    int rc = 0;
    for (uint32_t i = 0; e != NULL && i < e->n; i++) {
        const struct ty_exception *x = &e->item[i];
        if (x->kind == TY_EXCEPTION_GENERATION &&
            ty_exceptions_cluster(c->cluster, x->count)->gpu.peak[c->arch->dtype] <= 0) {
            rc = ty_check_first(rc, ty_fail_at(c->err, TY_EINPUT, &x->at,
                                               "cluster.exceptions: that GPU has no %s (%.60s), "
                                               "the model.dtype; write a dtype that all GPUs have, "
                                               "or another GPU",
                                               dtype, x->text));
        }
    }
    return rc;
}

static int check_supported(const struct layout_check *c)
{
    int rc = 0;
    if (c->cluster->gpu.peak[c->arch->dtype] <= 0) {
        struct ty_err *err = c->err; /* the section at hand is not the model's: no place */
        const char *const name = ty_dtype_words[c->arch->dtype].name;
        rc = ty_check_first(
            rc, ty_fail(err, TY_EINPUT,
                        "model.dtype: %s is not supported by the GPU (cluster.peak_%s is none); "
                        "write another, or give the peak",
                        name, c->arch->dtype == TY_DTYPE_NVFP4 ? "fp4" : name));
    }
    if (ty_dtype_is_narrow(c->arch->dtype) && c->cluster->gpu.peak[TY_DTYPE_BF16] <= 0) {
        rc = ty_check_first(rc, ty_fail(c->err, TY_EINPUT,
                                        "model.dtype: %s leaves the output matrix in bf16, which "
                                        "the GPU does not have (cluster.peak_bf16 is none); give "
                                        "the peak",
                                        ty_dtype_words[c->arch->dtype].name));
    }
    if (c->arch->shared_blocks > 0 && c->layout->pipeline > 1) {
        rc = ty_check_first(rc, ty_check_fail(c->section, "pipeline", c->err,
                                              "%u: layers of all stages would share weights "
                                              "(model.shared_blocks); write 1",
                                              (unsigned)c->layout->pipeline));
    }
    return ty_check_first(rc, check_generations(c));
}

/* Values of one dimension with which tensor x context x pipeline divides the GPUs. `others`: the
 * product of the other two. */
static struct ty_numbers degree_candidates(uint32_t gpus, uint64_t others, uint32_t most)
{
    struct ty_numbers list = {.n = 0};
    for (uint32_t x = 1; x <= most && x * others <= gpus; x++) {
        if (gpus % (x * others) == 0) {
            ty_numbers_add(&list, x);
        }
    }
    return list;
}

/* Tensor x context x pipeline do not divide the GPUs: told at the one that the user wrote; the
 * pipeline when it is several or none. */
static int fail_product(const struct layout_check *c, uint64_t model)
{
    const struct ty_layout *l = c->layout;
    const bool pipeline = ty_check_given(c->section, "pipeline");
    const bool context = l->context > 1 && ty_check_given(c->section, "context") && !pipeline;
    const bool tensor =
        l->tensor > 1 && ty_check_given(c->section, "tensor") && !pipeline && !context;
    const char *key = tensor ? "tensor" : context ? "context" : "pipeline";
    const uint32_t own = tensor ? l->tensor : context ? l->context : l->pipeline;
    const uint32_t most = tensor    ? c->arch->heads
                          : context ? c->arch->sequence
                                    : (c->arch->layers + ENDS) / c->chunks;
    const struct ty_numbers candidates = degree_candidates(c->gpus, model / own, most);
    const bool none = candidates.n == 0;
    return ty_check_fail(c->section, key, c->err,
                         "tensor x context x pipeline = %u x %u x %u = %llu does not divide "
                         "the %sGPUs (%u); %s%s",
                         (unsigned)l->tensor, (unsigned)l->context, (unsigned)l->pipeline,
                         (unsigned long long)model, l->n_gpus > 0 ? "job's " : "cluster's ",
                         (unsigned)c->gpus, none ? "change layout.tensor first" : "try ",
                         candidates.text);
}

/* tensor x context x pipeline x data = GPUs; derives data. */
static int check_product(const struct layout_check *c)
{
    struct ty_layout *l = c->layout;
    const uint64_t model = (uint64_t)l->tensor * l->context * l->pipeline;
    if (l->unlike) {
        return 0; /* its ranks have been added up */
    }
    if (c->gpus % model != 0) {
        return fail_product(c, model);
    }
    const uint32_t data = (uint32_t)(c->gpus / model);
    if (l->data != 0 && l->data != data) {
        return ty_check_fail(c->section, "data", c->err,
                             "tensor x context x pipeline x data = %u x %u x %u x %u = %llu, and "
                             "the %s has %u GPUs; write %u, or auto",
                             (unsigned)l->tensor, (unsigned)l->context, (unsigned)l->pipeline,
                             (unsigned)l->data, (unsigned long long)model * l->data,
                             l->n_gpus > 0 ? "job" : "cluster", (unsigned)c->gpus, (unsigned)data);
    }
    l->data = data;
    l->ranks = c->gpus;
    l->expert_data =
        ty_arch_is_moe(c->arch) ? c->gpus / (l->pipeline * l->expert * l->expert_tensor) : 0;
    return 0;
}

/* There are as many copies of the experts as of the rest. */
static int check_expert_copies(const struct layout_check *c)
{
    const struct ty_layout *l = c->layout;
    struct ty_numbers list = {.n = 0};
    if (l->expert_data % ty_layout_replicas(l) == 0) {
        return 0;
    }
    for (uint32_t n = 1; n <= l->data; n++) {
        if (l->data % n == 0 && l->expert_data % (l->data / n) == 0) {
            ty_numbers_add(&list, n);
        }
    }
    return ty_check_fail(c->section, "shard", c->err,
                         "%u makes %u copies of the states, and %u ranks have the same experts "
                         "(layout.expert, layout.expert_tensor); try %s, or auto",
                         (unsigned)l->shard, (unsigned)ty_layout_replicas(l),
                         (unsigned)l->expert_data, list.text);
}

/* Groups that share states divide the data ranks; derives auto. */
static int check_shard(const struct layout_check *c)
{
    struct ty_layout *l = c->layout;
    struct ty_numbers list = {.n = 0};
    l->shard = l->shard == 0 ? l->data : l->shard;
    const bool divides = l->data % l->shard == 0;
    const bool alone = l->shard == 1 && l->data > 1 && l->context == 1;
    for (uint32_t n = 2; (!divides || alone) && n <= l->data; n++) {
        if (l->data % n == 0) {
            ty_numbers_add(&list, n);
        }
    }
    if (!divides) {
        return ty_check_fail(c->section, "shard", c->err,
                             "%u does not divide the data ranks (%u); try %s, or auto",
                             (unsigned)l->shard, (unsigned)l->data, list.n > 0 ? list.text : "1");
    }
    if (l->zero == 0 && l->shard != l->data) {
        return ty_check_fail(c->section, "shard", c->err,
                             "%u ranks share nothing with layout.zero 0; write a zero of 1, 2 or "
                             "3, or auto",
                             (unsigned)l->shard);
    }
    if (alone) {
        return ty_check_fail(c->section, "shard", c->err,
                             "1: a rank alone shares with nobody; try %s, or layout.zero 0",
                             list.text);
    }
    return check_expert_copies(c);
}

/* What a stack does not do next to a pipeline. */
static int check_zero(const struct layout_check *c)
{
    const struct ty_layout *l = c->layout;
    const unsigned most = l->framework.zero_in_pipeline;
    if (l->pipeline == 1 || l->zero <= most) {
        return 0;
    }
    return ty_check_fail(c->section, "zero", c->err,
                         "%u, and with a pipeline (layout.pipeline is %u) framework %s goes up to "
                         "%u (framework.zero_in_pipeline); write %u, or a layout.pipeline of 1",
                         (unsigned)l->zero, (unsigned)l->pipeline, l->framework.preset, most, most);
}

static int check_batch(const struct layout_check *c)
{
    struct ty_layout *l = c->layout;
    const uint64_t pass = (uint64_t)l->data * l->micro_batch;
    const uint64_t count = l->global_batch / pass;
    const uint64_t most = UINT16_MAX - 1; /* the number of a micro-batch has 16 bits */
    if (l->global_batch % pass != 0) {
        struct ty_numbers list = {.n = 0};
        if (count > 0) {
            ty_numbers_add(&list, count * pass);
        }
        ty_numbers_add(&list, (count + 1) * pass);
        return ty_check_fail(c->section, "global_batch", c->err,
                             "%u is no multiple of data x micro_batch = %u x %u = %llu; try %s",
                             (unsigned)l->global_batch, (unsigned)l->data, (unsigned)l->micro_batch,
                             (unsigned long long)pass, list.text);
    }
    if (count > most) {
        return ty_check_fail(c->section, "global_batch", c->err,
                             "%u makes %llu micro-batches on each of %u replicas; at most %llu are "
                             "simulated: write at most %llu, or a larger layout.micro_batch",
                             (unsigned)l->global_batch, (unsigned long long)count,
                             (unsigned)l->data, (unsigned long long)most,
                             (unsigned long long)most * pass);
    }
    l->micro_batches = (uint32_t)count;
    return 0;
}

static int fail_many_stages(const struct layout_check *c, uint64_t stages)
{
    const unsigned work = c->arch->layers + ENDS, most = work / c->chunks;
    return ty_check_fail(c->section, "pipeline", c->err,
                         "pipeline x schedule.chunks = %u x %u = %llu stages for model.layers "
                         "(%u), embedding and head; %s %u",
                         (unsigned)c->layout->pipeline, (unsigned)c->chunks,
                         (unsigned long long)stages, (unsigned)c->arch->layers,
                         most > 0 ? "write at most" : "with one chunk, at most",
                         most > 0 ? most : work);
}

static int check_stages(const struct layout_check *c)
{
    const struct ty_layout *l = c->layout;
    const uint64_t stages = (uint64_t)l->pipeline * c->chunks;
    const struct ty_uint_list *given = &l->stage_layers;
    uint64_t sum = 0;
    if (stages > (uint64_t)c->arch->layers + ENDS) {
        return fail_many_stages(c, stages);
    }
    if (given->n == 0 && l->framework.stage_split == TY_STAGE_SPLIT_MODULES && stages > 1 &&
        (c->arch->layers + TY_LAYOUT_MODULES) / stages < 2) {
        return ty_check_fail(c->section, "pipeline", c->err,
                             "framework.stage_split modules assigns %u modules to %llu stages, one "
                             "of which would be a norm alone; write at most %u stages, or "
                             "layout.stage_layers",
                             (unsigned)(c->arch->layers + TY_LAYOUT_MODULES),
                             (unsigned long long)stages,
                             (unsigned)(c->arch->layers + TY_LAYOUT_MODULES) / 2);
    }
    if (given->n == 0 && l->framework.stage_split == TY_STAGE_SPLIT_MATRICES && stages > 2 &&
        layer_of_share(c->arch, (uint32_t)stages, (uint32_t)stages - 2) == c->arch->layers) {
        return ty_check_fail(c->section, "pipeline", c->err,
                             "framework.stage_split matrices leaves no layers to the last two of "
                             "%llu stages, so large is the head; write fewer stages, or "
                             "layout.stage_layers",
                             (unsigned long long)stages);
    }
    for (uint32_t i = 0; i < given->n; i++) {
        sum += given->item[i];
        if (given->item[i] == 0 && i > 0 && i + 1 < given->n) {
            return ty_check_fail(c->section, "stage_layers", c->err,
                                 "stage %u has no layers; only the first (embedding) and the last "
                                 "(head) may have none: write at least 1, or auto",
                                 (unsigned)i);
        }
    }
    if (given->n > 0 && given->n != stages) {
        return ty_check_fail(c->section, "stage_layers", c->err,
                             "%u numbers for pipeline x schedule.chunks = %u x %u = %llu stages; "
                             "write %llu, or auto",
                             (unsigned)given->n, (unsigned)l->pipeline, (unsigned)c->chunks,
                             (unsigned long long)stages, (unsigned long long)stages);
    }
    if (given->n > 0 && sum != c->arch->layers) {
        return ty_check_fail(c->section, "stage_layers", c->err,
                             "%llu layers in all, and the model has %u (model.layers); make the "
                             "numbers add up, or write auto",
                             (unsigned long long)sum, (unsigned)c->arch->layers);
    }
    return 0;
}

/* Neighbours in a node that heads can be scattered over. */
static void derive_inner(const struct layout_check *c)
{
    struct ty_layout *l = c->layout;
    const bool hybrid = l->context_method == TY_CONTEXT_HYBRID && l->context > 1;
    const uint32_t node = c->cluster->gpus_per_node;
    if (hybrid && l->context_inner > 0) {
        return;
    }
    l->context_inner = 1; /* nobody else asks */
    for (uint32_t n = 2; hybrid && n <= l->context && n * l->tensor <= node; n++) {
        if (l->context % n == 0 && ty_heads_divide(c->arch, n * ty_layout_mesh(l).side)) {
            l->context_inner = n;
        }
    }
}

int ty_layout_derive(struct ty_layout *layout, const struct ty_section *section,
                     const struct ty_arch *arch, const struct ty_cluster *cluster, uint32_t chunks,
                     const struct ty_parallel *const *kinds, struct ty_err *err)
{
    const struct layout_check c = {.layout = layout,
                                   .section = section,
                                   .arch = arch,
                                   .cluster = cluster,
                                   .chunks = chunks == 0 ? 1 : chunks,
                                   .gpus = layout->n_gpus > 0 ? layout->n_gpus
                                                              : ty_cluster_gpus(cluster),
                                   .err = err};
    ty_framework_finish(&layout->framework, arch->dtype);
    layout->framework.fp8_reads_both = cluster->gpu.fp8_reads_both;
    layout->stages = layout->pipeline * c.chunks;
    int rc = ty_check_first(check_supported(&c), layout_find_modes(layout, section, arch, err));
    rc = ty_check_first(rc, ty_offload_finish(layout, section, arch->frozen != 0, err));
    rc = ty_check_first(rc, ty_layout_find_shapes(layout, section, arch, c.chunks, c.gpus, err));
    /* each needs what the one before establishes */
    derive_inner(&c);
    for (size_t i = 0; kinds[i] != NULL && rc == 0; i++) {
        if (kinds[i]->check != NULL) {
            rc = kinds[i]->check(layout, section, arch, c.gpus, err);
        }
    }
    rc = rc < 0 ? rc : mesh_check_batch(layout, section, err);
    rc = rc < 0 ? rc : check_product(&c);
    if (rc == 0) {
        rc = ty_check_first(ty_check_first(check_shard(&c), check_zero(&c)), check_batch(&c));
        rc = ty_check_first(rc, ty_offload_check(layout, section, err));
    }
    const int stages = check_stages(&c);
    rc = ty_check_first(rc, stages);
    return stages < 0 ? rc : ty_check_first(rc, layout_check_recompute(layout, section, arch, err));
}

int ty_layout_check_slices(const struct ty_layout *layout, const struct ty_section *section,
                           const struct ty_arch *arch, uint32_t slices, struct ty_err *err)
{
    if (arch->sparse_topk > 0 && (arch->packed != NULL || slices > 1)) {
        return ty_fail(err, TY_EINPUT,
                       "model.sparse_topk: %u: not simulated with parts of sequences "
                       "(schedule.slices) or packed documents (run.lengths); leave that out, or "
                       "write none",
                       (unsigned)arch->sparse_topk);
    }
    if (arch->packed != NULL) {
        return ty_packing_check(layout, section, slices, err);
    }
    if (layout->context == 1 || slices <= 1) {
        return 0;
    }
    return ty_check_fail(section, "context", err,
                         "%u: schedule.slices (%u) cuts sequences already; write 1 for one of them",
                         (unsigned)layout->context, (unsigned)slices);
}

/* ---- where things go ---- */

uint32_t ty_layout_communicators(const struct ty_layout *layout, const struct ty_arch *arch,
                                 const char *name[TY_COMMUNICATORS_MAX])
{
    const bool two_contexts = layout->context_inner > 1 && layout->context_inner < layout->context;
    const struct {
        const char *name;
        bool opened;
    } rows[TY_COMMUNICATORS_MAX] = {
        {"tensor", layout->tensor > 1 && !ty_layout_is_mesh(layout)},
        {"tensor row", ty_layout_is_mesh(layout)},
        {"tensor column", ty_layout_is_mesh(layout)},
        {"tensor depth", ty_layout_mesh(layout).depth > 1},
        {"context", layout->context > 1},
        {"context ring", two_contexts},
        {"data", ty_layout_alike(layout) > 1},
        {"replica", ty_layout_replicas(layout) > 1},
        {"expert", layout->expert > 1},
        {"expert tensor", layout->expert_tensor > 1},
        {"expert data", ty_layout_experts_apart(layout) && layout->expert_data > 1},
        {"pipeline", layout->pipeline > 1},
        {"embedding", ty_layout_ends_apart(layout) && (arch->tied || arch->mtp > 0)},
        {"world", layout->ranks > 1},
    };
    uint32_t n = 0;
    for (uint32_t i = 0; i < TY_COMMUNICATORS_MAX; i++) {
        if (rows[i].opened) {
            name[n++] = rows[i].name;
        }
    }
    return n;
}
