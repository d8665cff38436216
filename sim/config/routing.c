/* routing.c - what run.routing says, and the file that it may name; see load.h. */
#include "sim/config/load.h"

static int load(struct ty_config *c, struct ty_err *err)
{
    const struct ty_place at = ty_section_place(&c->sections[TY_SECTION_RUN], "routing");
    const int rc = ty_token_routing_read(&c->routing, c->run.routing, &at, err);
    if (rc == 0 && c->routing.method != TY_TOKENS_BALANCED) {
        return ty_fail_at(err, TY_EINPUT, &at,
                          "run.routing: the model has no experts; leave this out (%s)",
                          c->run.routing);
    }
    return rc;
}

void ty_loader_routing(struct ty_loader *l)
{
    struct ty_config *c = l->config;
    if (!c->failed[TY_SECTION_MODEL] && !c->failed[TY_SECTION_RUN]) {
        ty_loader_note(l, TY_SECTION_RUN, load(c, l->err));
    }
}
