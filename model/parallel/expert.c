/* expert.c - expert parallelism: ranks share the experts of a layer.
 *
 * Experts are laid over the ranks of a pipeline stage by a grid of their own, whatever tensor,
 * context and data parallelism do with the rest of the layer (Megatron-LM's parallel folding):
 * neighbours have parts of the same experts (layout.expert_tensor), then come those that have other
 * experts (layout.expert), then those that have the same (expert-data ranks). */
#include "model/block/maker.h"
#include "model/check.h"

static void around(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const bool apart = op->expert && ty_layout_experts_apart(b->layout);
    for (uint32_t i = 0; i < op->n_weights && apart; i++) {
        op->weights[i].group = TY_GROUP_EXPERT_DATA;
    }
}

/* ---- what must divide what ---- */

/* What a degree is checked against. */
struct expert_check {
    const struct ty_layout *layout;
    const struct ty_section *section;
    const struct ty_arch *arch;
    uint32_t stage; /* ranks of it; 0: not known, as the pipeline does not divide the GPUs */
    struct ty_err *err;
};

/* Degrees that divide `whole` and leave whole groups in a stage next to `other`, the degree of the
 * other kind. */
static struct ty_numbers candidates(const struct expert_check *c, uint32_t whole, uint32_t other)
{
    struct ty_numbers list = {.n = 0};
    for (uint32_t n = 1; n <= whole && (c->stage == 0 || n <= c->stage / other); n++) {
        if (whole % n == 0 && (c->stage == 0 || c->stage % ((uint64_t)n * other) == 0)) {
            ty_numbers_add(&list, n);
        }
    }
    return list;
}

static int check_dense(const struct expert_check *c)
{
    const bool tensor = c->layout->expert == 1;
    const uint32_t n = tensor ? c->layout->expert_tensor : c->layout->expert;
    return n == 1 ? 0
                  : ty_check_fail(c->section, tensor ? "expert_tensor" : "expert", c->err,
                                  "%u ranks share experts, and the model has none (model.experts); "
                                  "write 1",
                                  (unsigned)n);
}

/* What a degree has next to it: the other one, or nothing where that fits no stage itself. */
static uint32_t beside(const struct expert_check *c, uint32_t other)
{
    return c->stage % other == 0 ? other : 1;
}

/* Experts for each of the ranks that share them, and whole columns for each that share one. */
static int check_shares(const struct expert_check *c)
{
    const struct ty_layout *l = c->layout;
    if (c->arch->experts % l->expert != 0) {
        return ty_check_fail(c->section, "expert", c->err,
                             "%u does not divide model.experts (%u); try %s", (unsigned)l->expert,
                             (unsigned)c->arch->experts,
                             candidates(c, c->arch->experts, beside(c, l->expert_tensor)).text);
    }
    if (c->arch->expert_ffn % l->expert_tensor != 0) {
        return ty_check_fail(c->section, "expert_tensor", c->err,
                             "%u does not divide model.expert_ffn (%u); try %s",
                             (unsigned)l->expert_tensor, (unsigned)c->arch->expert_ffn,
                             candidates(c, c->arch->expert_ffn, beside(c, l->expert)).text);
    }
    return 0;
}

/* Both grids have the ranks of a stage. */
static int check_grid(const struct expert_check *c)
{
    const struct ty_layout *l = c->layout;
    const uint64_t n = (uint64_t)l->expert * l->expert_tensor;
    if (c->stage == 0 || c->stage % n == 0) {
        return 0;
    }
    const bool tensor = l->expert == 1;
    const struct ty_numbers list = tensor ? candidates(c, c->arch->expert_ffn, l->expert)
                                          : candidates(c, c->arch->experts, l->expert_tensor);
    return ty_check_fail(c->section, tensor ? "expert_tensor" : "expert", c->err,
                         "expert x expert_tensor = %u x %u = %llu does not divide the GPUs of a "
                         "pipeline stage (tensor x context x data, %u); %s%s",
                         (unsigned)l->expert, (unsigned)l->expert_tensor, (unsigned long long)n,
                         (unsigned)c->stage, list.n > 0 ? "try " : "change layout.expert_tensor",
                         list.text);
}

/* A forward and a backward over each other need something to hide, and hide nothing twice: rules of
 * Megatron-LM's overlap_moe_expert_parallel_comm (transformer_config.py), but that collectives of
 * tensor parallelism are worth it, too. */
static int check_overlap(const struct ty_layout *l, const struct ty_section *section,
                         struct ty_err *err)
{
    const struct ty_framework *f = &l->framework;
    if (!f->expert_overlap) {
        return 0;
    }
    if (l->expert == 1 && l->tensor == 1) {
        return ty_check_fail(section, "expert", err,
                             "1: framework.expert_overlap has no exchange of experts to hide, and "
                             "with layout.tensor 1 no other collective; write false there, or a "
                             "layout.expert of 2 or more");
    }
    if ((ty_layout_repeats(l) & (TY_RECOMPUTE_LAYER | TY_RECOMPUTE_MOE)) != 0) {
        return ty_check_fail(section, ty_layout_recompute_key(l), err,
                             "framework.expert_overlap hides no collectives that are repeated "
                             "before a backward; write parts without them, such as core_attn, or "
                             "none");
    }
    if (l->expert > 1 && (f->shared_overlap || f->dispatcher == TY_DISPATCHER_ALL_GATHER)) {
        return ty_check_fail(section, "expert", err,
                             "%u: framework.expert_overlap does not go with framework.%s; write "
                             "%s there",
                             (unsigned)l->expert,
                             f->shared_overlap ? "shared_overlap true" : "dispatcher allgather",
                             f->shared_overlap ? "false" : "alltoall, deepep or hybridep");
    }
    return 0;
}

static int check(const struct ty_layout *layout, const struct ty_section *section,
                 const struct ty_arch *arch, uint32_t gpus, struct ty_err *err)
{
    const struct expert_check c = {
        .layout = layout,
        .section = section,
        .arch = arch,
        .stage = gpus % layout->pipeline == 0 ? gpus / layout->pipeline : 0,
        .err = err,
    };
    int rc = check_overlap(layout, section, err);
    if (rc < 0) {
        return rc;
    }
    if (!ty_arch_is_moe(arch)) {
        return check_dense(&c);
    }
    if (layout->tensor > 1 && !layout->sequence_parallel) {
        return ty_check_fail(
            section, "sequence_parallel", err,
            "false: %u tensor ranks would all send the same tokens to the experts; "
            "write true, or a layout.tensor of 1",
            (unsigned)layout->tensor);
    }
    if (layout->expert_tensor > 1 && arch->lora.rank > 0 &&
        (arch->lora.targets & TY_TARGET_MLP) != 0) {
        return ty_check_fail(section, "expert_tensor", err,
                             "%u: adapters of routed experts are not split over expert-tensor "
                             "ranks; write 1, or model.lora.targets without mlp",
                             (unsigned)layout->expert_tensor);
    }
    rc = check_shares(&c);
    return rc < 0 ? rc : check_grid(&c);
}

const struct ty_parallel ty_parallel_expert = {.check = check, .around = around};
