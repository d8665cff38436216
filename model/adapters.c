/* adapters.c - what of a model is trained: frozen parts, adapters, and what they need. */
#include "model/arch.h"
#include "model/check.h"

#include "sim/base/compiler.h"

const struct ty_word ty_frozen_words[] = {
    {"none", 0, "all weights are trained"},
    {"all", TY_FREEZE_ALL, "no weight is"},
    {"embedding", TY_FREEZE_EMBEDDING, "the input matrix, positions and its norm"},
    {"attention", TY_FREEZE_ATTENTION, "matrices of attention and of states"},
    {"mlp", TY_FREEZE_MLP, "matrices of dense MLPs"},
    {"experts", TY_FREEZE_EXPERTS, "matrices of experts, routed and shared"},
    {"router", TY_FREEZE_ROUTER, "routers"},
    {"norm", TY_FREEZE_NORM, "norms of layers"},
    {"head", TY_FREEZE_HEAD, "the final norm and the output matrix"},
    {"mtp", TY_FREEZE_MTP, "what leads to further tokens (model.mtp)"},
    {NULL, 0, NULL},
};

const struct ty_word ty_frozen_dtype_words[] = {
    {"model", TY_FROZEN_MODEL, "as weights that are trained"},
    {"int8", TY_FROZEN_INT8, "8 bits (Dettmers et al. 2022)"},
    {"nf4", TY_FROZEN_NF4, "4 bits, with 0.127 of scales (Dettmers et al. 2023)"},
    {NULL, 0, NULL},
};

/* Our words first, then those of Hugging Face and of Megatron-Bridge. */
const struct ty_word ty_target_words[] = {
    {"all", TY_TARGET_ALL, "all of the below"},
    {"attention", TY_TARGET_ATTENTION, "q, k, v and proj"},
    {"qkv", TY_TARGET_QKV, "q, k and v: one adapter where they are one matrix"},
    {"mlp", TY_TARGET_MLP, "gate, up and down, also of experts"},
    {"state", TY_TARGET_STATE, "in and out: matrices around a scan (Mamba, delta nets)"},
    {"q", TY_TARGET_Q, "queries"},
    {"k", TY_TARGET_K, "keys"},
    {"v", TY_TARGET_V, "values"},
    {"proj", TY_TARGET_PROJ, "the output of attention"},
    {"gate", TY_TARGET_GATE, "the gate of the MLP"},
    {"up", TY_TARGET_UP, "from hidden states to the MLP's inner width"},
    {"down", TY_TARGET_DOWN, "back to the hidden states"},
    {"in", TY_TARGET_IN, "from hidden states to a scan"},
    {"out", TY_TARGET_OUT, "from a scan back to them"},
    {"q_proj", TY_TARGET_Q, "as q, Hugging Face's word"},
    {"k_proj", TY_TARGET_K, "as k"},
    {"v_proj", TY_TARGET_V, "as v"},
    {"o_proj", TY_TARGET_PROJ, "as proj"},
    {"gate_proj", TY_TARGET_GATE, "as gate"},
    {"up_proj", TY_TARGET_UP, "as up"},
    {"down_proj", TY_TARGET_DOWN, "as down"},
    {"in_proj", TY_TARGET_IN, "as in"},
    {"out_proj", TY_TARGET_OUT, "as out"},
    {"all-linear", TY_TARGET_ALL, "as all"},
    {"linear_qkv", TY_TARGET_QKV, "as qkv, Megatron-Bridge's word"},
    {"linear_proj", TY_TARGET_PROJ, "as proj"},
    {"linear_fc1", TY_TARGET_FC1, "as gate and up"},
    {"linear_fc2", TY_TARGET_DOWN, "as down"},
    {NULL, 0, NULL},
};

const struct ty_word ty_lora_experts_words[] = {
    {"each", TY_LORA_EACH, "each routed expert has adapters of its own (PEFT)"},
    {"shared", TY_LORA_SHARED, "the experts of a rank share them (Megatron-Bridge)"},
    {NULL, 0, NULL},
};

bool ty_arch_freezes(const struct ty_arch *arch, uint32_t parts)
{
    return (arch->frozen & parts) == parts;
}

double ty_arch_frozen_bytes(const struct ty_arch *arch)
{
    /* NF4: 4 bits, a scale of 8 for each 64, and one of 32 for 256 of these */
    static const double bytes[] = {[TY_FROZEN_MODEL] = 0,
                                   [TY_FROZEN_INT8] = 1,
                                   [TY_FROZEN_NF4] = (4 + 8 / 64.0 + 32 / 16384.0) / 8};
    return bytes[arch->frozen_dtype];
}

/* Matrices of a layer that can have adapters: enum ty_target, bits. */
static uint32_t matrices_of(const struct ty_arch *arch, uint32_t layer)
{
    const uint32_t blocks = ty_arch_blocks(arch, layer);
    const uint32_t mlp = ty_arch_is_gated(arch) ? TY_TARGET_MLP : TY_TARGET_MLP & ~TY_TARGET_GATE;
    return ((blocks & TY_HAS_ATTENTION) != 0 ? TY_TARGET_ATTENTION : 0) |
           ((blocks & TY_HAS_STATE) != 0 ? TY_TARGET_STATE : 0) |
           ((blocks & TY_HAS_FFN) != 0 ? mlp : 0);
}

/* Whether a layer has weights that are trained. */
static bool trains(const struct ty_arch *arch, uint32_t layer)
{
    const bool experts = ty_arch_has_experts(arch, layer);
    const uint32_t parts = TY_FREEZE_ATTENTION | TY_FREEZE_NORM |
                           (experts ? TY_FREEZE_EXPERTS | TY_FREEZE_ROUTER : TY_FREEZE_MLP);
    return !ty_arch_freezes(arch, parts) ||
           (arch->lora.rank > 0 && (arch->lora.targets & matrices_of(arch, layer)) != 0);
}

static bool trains_nothing(const struct ty_arch *arch)
{
    bool any = !ty_arch_freezes(arch, TY_FREEZE_EMBEDDING | TY_FREEZE_HEAD) ||
               (arch->mtp > 0 && !ty_arch_freezes(arch, TY_FREEZE_MTP));
    for (uint32_t i = 0; i < arch->layers && !any; i++) {
        any = trains(arch, i);
    }
    return !any;
}

bool ty_arch_is_lowest(const struct ty_arch *arch, uint32_t layer)
{
    uint32_t i = 0;
    while (i < layer && i < arch->layers && !trains(arch, i)) {
        i++;
    }
    return ty_arch_freezes(arch, TY_FREEZE_EMBEDDING) && (i == layer || i == arch->layers);
}

/* The smallest side of the matrices with adapters, and its key. */
static uint32_t smallest(const struct ty_arch *arch, uint32_t targets, const char **key)
{
    const struct {
        uint32_t targets, side;
        const char *key;
    } rows[] = {
        {TY_TARGET_ALL, arch->hidden, "model.hidden"},
        {TY_TARGET_STATE, arch->state_heads * arch->state_head_dim,
         "model.state_heads x model.state_head_dim"},
        {TY_TARGET_Q | TY_TARGET_PROJ, arch->heads * ty_arch_value_width(arch),
         "model.heads x model.head_dim"},
        {TY_TARGET_K | TY_TARGET_V, arch->kv_heads * ty_arch_value_width(arch),
         "model.kv_heads x model.head_dim"},
        {TY_TARGET_MLP, arch->ffn, "model.ffn"},
        {TY_TARGET_MLP, arch->expert_ffn, "model.expert_ffn"},
    };
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        if ((targets & rows[i].targets) != 0 && rows[i].side > 0 && rows[i].side < least) {
            least = rows[i].side;
            *key = rows[i].key;
        }
    }
    return least;
}

static int check_lora(const struct ty_arch *arch, const struct ty_section *section,
                      struct ty_err *err)
{
    static const struct {
        uint32_t targets;
        const char *words;
    } rows[] = {{TY_TARGET_ATTENTION, "attention"},
                {TY_TARGET_GATE, "gate"},
                {TY_TARGET_MLP, "mlp"},
                {TY_TARGET_STATE, "state"}};
    const uint32_t asked = arch->lora.targets == TY_TARGET_ALL ? 0 : arch->lora.targets;
    const char *key = "";
    uint32_t there = 0;
    for (uint32_t i = 0; i < arch->layers; i++) {
        there |= matrices_of(arch, i);
    }
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const bool alone = (rows[i].targets & there) == 0 && (rows[i].targets & asked) != 0;
        if (alone && (rows[i].targets != TY_TARGET_GATE || (asked & TY_TARGET_UP) == 0)) {
            return ty_check_fail(section, "lora.targets", err,
                                 "%s: no layer of the model has such a matrix; write all, or of "
                                 "attention, mlp and state those that it has",
                                 rows[i].words);
        }
    }
    const uint32_t most = smallest(arch, arch->lora.targets & there, &key);
    if (arch->lora.rank > most) {
        return ty_check_fail(section, "lora", err,
                             "rank %u is more than %s (%u), the smallest side of a matrix in "
                             "model.lora.targets; write less than %u, such as 16",
                             (unsigned)arch->lora.rank, key, (unsigned)most, (unsigned)most);
    }
    return 0;
}

int ty_arch_check_adapters(struct ty_arch *arch, const struct ty_section *section,
                           struct ty_err *err)
{
    static const char *const options[] = {"lora.targets",    "lora.dropout", "lora.fused",
                                          "lora.all_to_all", "lora.experts", NULL};
    int rc = 0;
    if (arch->lora.rank > 0) {
        arch->frozen = arch->frozen == 0 ? TY_FREEZE_ALL : arch->frozen;
        rc = check_lora(arch, section, err);
    }
    if (rc == 0 && trains_nothing(arch)) {
        const bool lora = arch->lora.rank > 0;
        rc = ty_check_fail(section, lora ? "lora.targets" : "frozen", err,
                           lora ? "none: nothing would be trained; write all, or some matrices"
                                : "nothing would be trained; write a model.lora, such as "
                                  "{rank: 16}, or leave out a part that the model has");
    }
    if (arch->lora.rank == 0 && !ty_check_given(section, "lora")) {
        rc = ty_check_first(
            rc, ty_check_idle(section, options,
                              "there are no adapters; write a model.lora.rank, such as 16", err));
    }
    if (arch->frozen == 0 && arch->frozen_dtype != TY_FROZEN_MODEL) {
        rc = ty_check_first(rc, ty_check_fail(section, "frozen_dtype", err,
                                              "%s: no weight is frozen; write a model.lora, or "
                                              "model here",
                                              ty_frozen_dtype_words[arch->frozen_dtype].name));
    }
    return rc;
}
