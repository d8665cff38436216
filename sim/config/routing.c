/* routing.c - what run.routing says, and the file that it may name; see load.h. */
#include "sim/config/load.h"

/* Of a job the run file's own model may be the one that has experts. */
static int check_experts(const struct ty_config *c, const struct ty_place *at, struct ty_err *err)
{
    if (ty_arch_is_moe(&c->arch) || c->job_at.line != 0) {
        return 0;
    }
    return ty_fail_at(err, TY_EINPUT, at,
                      "run.routing: the model has no experts (%s); leave this out, or set "
                      "model.experts",
                      c->run.routing);
}

/* A file has the layers from the first with experts on. */
static int check_layers(const struct ty_config *c, const struct ty_place *at, struct ty_err *err)
{
    if (c->arch.mlp_layers.n == 0) {
        return 0;
    }
    return ty_fail_at(err, TY_EINPUT, at,
                      "run.routing: %s has loads of all layers behind model.dense_layers, and "
                      "model.mlp_layers have no experts; write a distribution here",
                      c->run.routing);
}

/* Modules for multi-token prediction are layers with experts behind the last. */
static int load_file(struct ty_config *c, const struct ty_place *at, struct ty_err *err)
{
    const struct ty_token_routing_shape shape = {
        .first_layer = c->arch.dense_layers,
        .n_layers = c->arch.layers + c->arch.mtp - c->arch.dense_layers,
        .experts = c->arch.experts,
    };
    const char *path = ty_config_beside(c, at, c->routing.path);
    const int rc = path != NULL ? ty_token_routing_load(&c->routing, path, &shape, &c->arena, err)
                                : ty_fail_memory(err);
    if (rc < 0) {
        ty_hint_named(err, "run.routing", at);
    }
    return rc;
}

static int load(struct ty_config *c, struct ty_err *err)
{
    const struct ty_place at = ty_section_place(&c->sections[TY_SECTION_RUN], "routing");
    int rc = ty_token_routing_read(&c->routing, c->run.routing, &at, err);
    if (rc == 0 && c->routing.method != TY_TOKENS_BALANCED) {
        rc = check_experts(c, &at, err);
    }
    const bool file = rc == 0 && c->routing.method == TY_TOKENS_FILE && ty_arch_is_moe(&c->arch);
    rc = file ? check_layers(c, &at, err) : rc;
    return file && rc == 0 ? load_file(c, &at, err) : rc;
}

void ty_loader_routing(struct ty_loader *l)
{
    struct ty_config *c = l->config;
    if (!c->failed[TY_SECTION_MODEL] && !c->failed[TY_SECTION_RUN]) {
        ty_loader_note(l, TY_SECTION_RUN, load(c, l->err));
    }
}
