/* arch_sparse.c - the keys of experts and of latent attention: what is left out, and what must fit
 * together. */
#include "model/arch.h"

#include "model/check.h"

bool ty_arch_is_moe(const struct ty_arch *arch)
{
    return arch->experts > 0;
}

bool ty_arch_has_experts(const struct ty_arch *arch, uint32_t layer)
{
    const uint32_t last = arch->layers - 1, number = layer < last ? layer : last;
    return ty_arch_is_moe(arch) && layer >= arch->dense_layers &&
           !ty_arch_listed(&arch->mlp_layers, number);
}

bool ty_arch_has_dense(const struct ty_arch *arch)
{
    return ty_arch_is_moe(arch) && (arch->dense_layers > 0 || arch->mlp_layers.n > 0);
}

bool ty_arch_is_latent(const struct ty_arch *arch)
{
    return arch->kv_latent > 0;
}

uint32_t ty_arch_query_width(const struct ty_arch *arch)
{
    return arch->head_dim + (ty_arch_is_latent(arch) ? arch->head_rope : 0);
}

uint32_t ty_arch_value_width(const struct ty_arch *arch)
{
    return ty_arch_is_latent(arch) ? arch->head_value : arch->head_dim;
}

/* Keys that say nothing where another one is not given. */
static int check_idle(const struct ty_section *section, const char *const *key, const char *why,
                      struct ty_err *err)
{
    int rc = 0;
    for (; *key != NULL; key++) {
        const struct ty_field *field = ty_section_field(section, *key);
        if (ty_check_given(section, *key) && !ty_field_is_blank(section, field)) {
            rc = ty_check_first(rc, ty_check_fail(section, *key, err, "%s", why));
        }
    }
    return rc;
}

/* ---- experts ---- */

static int check_choice(const struct ty_arch *arch, const struct ty_section *section,
                        struct ty_err *err)
{
    if (arch->experts_per_token == 0) {
        return ty_check_fail(section, "experts_per_token", err,
                             "0: with model.experts a token goes to one of them at least; write "
                             "from 1 to %u",
                             (unsigned)arch->experts);
    }
    if (arch->experts_per_token > arch->experts) {
        return ty_check_fail(section, "experts_per_token", err,
                             "%u is more than model.experts (%u); write %u or less",
                             (unsigned)arch->experts_per_token, (unsigned)arch->experts,
                             (unsigned)arch->experts);
    }
    return 0;
}

/* A token chooses groups first, and its experts in them. */
static int check_groups(const struct ty_arch *arch, const struct ty_section *section,
                        struct ty_err *err)
{
    const uint32_t groups = arch->expert_groups, limit = arch->group_limit;
    if (limit > 0 && groups == 0) {
        return ty_check_fail(section, "group_limit", err,
                             "%u: experts are in no groups; give model.expert_groups, or write "
                             "none here",
                             (unsigned)limit);
    }
    if (groups == 0) {
        return 0;
    }
    if (arch->experts % groups != 0) {
        return ty_check_fail(section, "expert_groups", err,
                             "%u does not divide model.experts (%u); try %u", (unsigned)groups,
                             (unsigned)arch->experts,
                             (unsigned)ty_check_divisor(arch->experts, groups));
    }
    const uint32_t each = arch->experts / groups;
    const uint32_t least = (arch->experts_per_token + each - 1) / each;
    if (limit > groups) {
        return ty_check_fail(section, "group_limit", err,
                             "%u is more than model.expert_groups (%u); write from %u to %u",
                             (unsigned)limit, (unsigned)groups, (unsigned)least, (unsigned)groups);
    }
    if (limit > 0 && limit < least) {
        return ty_check_fail(section, "group_limit", err,
                             "%u groups of %u experts hold fewer than model.experts_per_token "
                             "(%u); write %u or more",
                             (unsigned)limit, (unsigned)each, (unsigned)arch->experts_per_token,
                             (unsigned)least);
    }
    return 0;
}

/* Beside the first dense ones, and not all there are. */
static int check_mlp_layers(const struct ty_arch *arch, const struct ty_section *section,
                            struct ty_err *err)
{
    const struct ty_uint_list *list = &arch->mlp_layers;
    const int rc = ty_arch_check_layers(arch, section, "mlp_layers", list, err);
    if (rc < 0 || list->n == 0) {
        return rc;
    }
    if (list->item[0] < arch->dense_layers) {
        return ty_check_fail(section, "mlp_layers", err,
                             "layer %u is one of model.dense_layers (%u) already; leave it out",
                             (unsigned)list->item[0], (unsigned)arch->dense_layers);
    }
    if (arch->dense_layers + list->n >= arch->layers) {
        return ty_check_fail(section, "mlp_layers", err,
                             "leaves no layer to model.experts of the %u there are; write fewer, "
                             "or 0 experts",
                             (unsigned)arch->layers);
    }
    return 0;
}

static int check_experts(struct ty_arch *arch, const struct ty_section *section, struct ty_err *err)
{
    static const char *const idle[] = {
        "experts_per_token", "expert_ffn",  "shared_ffn",  "dense_layers", "shared_gate",
        "expert_groups",     "group_limit", "router_bias", "mlp_layers",   NULL};
    if (!ty_arch_is_moe(arch)) {
        return check_idle(section, idle, "no layer has experts; write a model.experts", err);
    }
    arch->expert_ffn = arch->expert_ffn == 0 ? arch->ffn : arch->expert_ffn;
    int rc = check_choice(arch, section, err);
    if (arch->dense_layers >= arch->layers) {
        rc =
            ty_check_first(rc, ty_check_fail(section, "dense_layers", err,
                                             "%u leaves no layer to model.experts of the %u there "
                                             "are; write less, or 0 experts",
                                             (unsigned)arch->dense_layers, (unsigned)arch->layers));
    }
    rc = ty_check_first(rc, check_mlp_layers(arch, section, err));
    if (arch->shared_gate && arch->shared_ffn == 0) {
        rc = ty_check_first(rc, ty_check_fail(section, "shared_gate", err,
                                              "true: no expert is shared; give model.shared_ffn, "
                                              "or write false"));
    }
    return rc < 0 ? rc : check_groups(arch, section, err);
}

/* ---- latent attention ---- */

static int check_latent(struct ty_arch *arch, const struct ty_section *section, struct ty_err *err)
{
    static const char *const idle[] = {"query_latent", "head_rope", "head_value", NULL};
    int rc = 0;
    if (!ty_arch_is_latent(arch)) {
        return check_idle(section, idle, "attention is not latent; write a model.kv_latent", err);
    }
    arch->head_value = arch->head_value == 0 ? arch->head_dim : arch->head_value;
    if (arch->kv_heads != arch->heads) {
        rc = ty_check_fail(section, "kv_heads", err,
                           "%u: with model.kv_latent every head has keys and values of its own; "
                           "write %u, or auto",
                           (unsigned)arch->kv_heads, (unsigned)arch->heads);
    }
    if (arch->qk_norm) {
        rc = ty_check_first(rc, ty_check_fail(section, "qk_norm", err,
                                              "true: with model.kv_latent the latents have norms, "
                                              "heads none; write false"));
    }
    return rc;
}

int ty_arch_finish_sparse(struct ty_arch *arch, const struct ty_section *section,
                          struct ty_err *err)
{
    const int rc = check_experts(arch, section, err);
    return ty_check_first(rc, check_latent(arch, section, err));
}
