/* placement.c - assigns the ranks of a job to GPUs of the cluster. */
#include "sim/config/placement.h"

#include "sim/base/noise.h"
#include "topology/rank_file.h"

static bool moves(const uint32_t *gpu_of, uint32_t n)
{
    for (uint32_t r = 0; r < n; r++) {
        if (gpu_of[r] != r) {
            return true;
        }
    }
    return false;
}

int ty_placement_load(struct ty_config *c, struct ty_err *err)
{
    const struct ty_place at = ty_section_place(&c->sections[TY_SECTION_LAYOUT], "rank_file");
    const struct ty_rank_file_shape shape = {c->layout.ranks, c->cluster.nodes,
                                             c->cluster.gpus_per_node};
    const uint32_t *gpu_of = NULL;
    if (c->layout.rank_file == NULL) {
        const bool some = c->seats != NULL && moves(c->seats, c->layout.ranks);
        c->layout.gpu_of = some ? c->seats : NULL;
        return 0;
    }
    const char *path = ty_config_beside(c, &at, c->layout.rank_file);
    const int rc = path != NULL ? ty_rank_file_load(&gpu_of, &shape, path, &c->arena, err)
                                : ty_fail_memory(err);
    if (rc < 0) {
        ty_hint_named(err, "layout.rank_file", &at);
        return rc;
    }
    c->layout.gpu_of = moves(gpu_of, shape.n_ranks) ? gpu_of : NULL;
    return 0;
}

uint64_t ty_placement_digest(const struct ty_config *c)
{
    uint64_t h = 0;
    for (uint32_t r = 0; c->layout.gpu_of != NULL && r < c->layout.ranks; r++) {
        h = ty_hash4(h, c->layout.gpu_of[r], r, 1);
    }
    return h;
}
