/* exceptions.c - tables of the parts that differ, and clusters with other GPUs. See
 * exceptions.h. */
#include "topology/exceptions_internal.h"

/* ---- tables ---- */

static double *filled(struct ty_arena *arena, size_t n)
{
    double *table = ty_arena_array(arena, double, n);
    for (size_t i = 0; table != NULL && i < n; i++) {
        table[i] = 1;
    }
    return table;
}

/* The table of a kind, and how many parts it has; NULL for kinds that fill none of shares. */
static double **table_of(struct ty_exceptions *e, enum ty_exception_kind kind,
                         const struct ty_cluster *c, size_t *n)
{
    *n = ty_cluster_gpus(c);
    switch (kind) {
    case TY_EXCEPTION_GPU:
        return &e->gpu_speed;
    case TY_EXCEPTION_NVLINK:
        return &e->nvlink_share;
    case TY_EXCEPTION_NIC:
    case TY_EXCEPTION_NICS:
        *n = (size_t)c->nodes * c->net.nics;
        return &e->nic_share;
    case TY_EXCEPTION_LEAF:
        *n = e->n_leaves;
        return &e->leaf_share;
    case TY_EXCEPTION_GENERATION:
    case TY_N_EXCEPTION_KINDS:
        break;
    }
    return NULL;
}

static int fill_shares(struct ty_exceptions *e, const struct ty_cluster *c, struct ty_arena *arena)
{
    for (uint32_t i = 0; i < e->n; i++) {
        const struct ty_exception *x = &e->item[i];
        size_t n = 0;
        double **table = table_of(e, x->kind, c, &n);
        if (table == NULL) {
            continue;
        }
        *table = *table != NULL ? *table : filled(arena, n);
        if (*table == NULL) {
            return TY_ENOMEM;
        }
        for (uint32_t part = x->first; part <= x->last; part++) {
            if (x->kind != TY_EXCEPTION_NICS) {
                (*table)[part] = x->share;
                continue;
            }
            for (uint32_t nic = x->count; nic < c->net.nics; nic++) {
                (*table)[(size_t)part * c->net.nics + nic] = 0;
            }
        }
    }
    return 0;
}

static int count_nics(struct ty_exceptions *e, const struct ty_cluster *c, struct ty_arena *arena)
{
    e->nics = e->nic_share != NULL ? ty_arena_array(arena, uint32_t, c->nodes) : NULL;
    if (e->nics == NULL) {
        return e->nic_share != NULL ? TY_ENOMEM : 0;
    }
    for (uint32_t node = 0; node < c->nodes; node++) {
        for (uint32_t nic = 0; nic < c->net.nics; nic++) {
            e->nics[node] += e->nic_share[(size_t)node * c->net.nics + nic] > 0;
        }
    }
    return 0;
}

static int fill_generations(struct ty_exceptions *e, const struct ty_cluster *c,
                            struct ty_arena *arena)
{
    for (uint32_t i = 0; i < e->n; i++) {
        const struct ty_exception *x = &e->item[i];
        if (x->kind != TY_EXCEPTION_GENERATION) {
            continue;
        }
        if (e->generation_of == NULL) {
            e->generation_of = ty_arena_array(arena, uint8_t, c->nodes);
        }
        if (e->generation_of == NULL) {
            return TY_ENOMEM;
        }
        for (uint32_t node = x->first; node <= x->last; node++) {
            e->generation_of[node] = (uint8_t)x->count;
        }
    }
    return 0;
}

int ty_exceptions_tables(struct ty_exceptions *e, const struct ty_cluster *cluster,
                         struct ty_arena *arena)
{
    e->gpu_speed = e->nvlink_share = e->nic_share = e->leaf_share = NULL;
    e->nics = NULL;
    e->generation_of = NULL;
    e->n_leaves = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        const struct ty_exception *x = &e->item[i];
        if (x->kind == TY_EXCEPTION_LEAF && x->last >= e->n_leaves) {
            e->n_leaves = x->last + 1;
        }
    }
    int rc = fill_shares(e, cluster, arena);
    if (rc == 0) {
        rc = count_nics(e, cluster, arena);
    }
    return rc == 0 ? fill_generations(e, cluster, arena) : rc;
}

int ty_exceptions_without(const struct ty_cluster *cluster, uint32_t i, struct ty_exceptions *out,
                          struct ty_arena *arena)
{
    const struct ty_exceptions *e = cluster->exceptions;
    *out = *e;
    out->n = 0;
    out->item = ty_arena_array(arena, struct ty_exception, e->n);
    for (uint32_t k = 0; out->item != NULL && k < e->n; k++) {
        if (k != i) {
            out->item[out->n++] = e->item[k];
        }
    }
    return out->item == NULL ? TY_ENOMEM : ty_exceptions_tables(out, cluster, arena);
}

int ty_exceptions_faster(const struct ty_cluster *cluster, double by, struct ty_exceptions *out,
                         struct ty_arena *arena)
{
    const uint32_t n = cluster->exceptions->n_generations;
    struct ty_cluster *copies = ty_arena_array(arena, struct ty_cluster, n);
    *out = *cluster->exceptions;
    out->generation = ty_arena_alloc(arena, n + 1, sizeof(*out->generation));
    if (copies == NULL || out->generation == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < n; i++) {
        copies[i] = *cluster->exceptions->generation[i];
        copies[i].gpu.derate /= by;
        out->generation[i] = &copies[i];
    }
    return 0;
}

int ty_exceptions_check_leaves(const struct ty_cluster *cluster, uint32_t n_leaves,
                               struct ty_err *err)
{
    const struct ty_exceptions *e = cluster->exceptions;
    int code = 0;
    for (uint32_t i = 0; e != NULL && i < e->n; i++) {
        const struct ty_exception *x = &e->item[i];
        if (x->kind == TY_EXCEPTION_LEAF && n_leaves == 0) {
            code =
                ty_fail_at(err, TY_EINPUT, &x->at,
                           "cluster.exceptions: the network has no leaves with uplinks (%s); set "
                           "fabric.topology to fat-tree or rail-optimized, over more nodes than "
                           "a leaf holds",
                           x->text);
        } else if (x->kind == TY_EXCEPTION_LEAF && x->last >= n_leaves) {
            code = ty_fail_at(err, TY_EINPUT, &x->at,
                              "cluster.exceptions: leaf %u does not exist (%s); the highest is %u",
                              (unsigned)x->last, x->text, (unsigned)n_leaves - 1);
        }
    }
    return code;
}

/* ---- generations ---- */

/* A cluster of defaults with the GPU of a preset. */
static int preset_cluster(struct ty_cluster *out, const struct ty_preset *preset,
                          struct ty_arena *arena, struct ty_err *err)
{
    struct ty_section section = {.name = "cluster",
                                 .fields = ty_cluster_fields,
                                 .n_fields = ty_n_cluster_fields,
                                 .base = out};
    struct ty_doc doc;
    section.origins = ty_arena_array(arena, struct ty_origin, section.n_fields);
    const char *text = ty_preset_text(ty_gpu_presets, preset, arena);
    if (section.origins == NULL || text == NULL) {
        return ty_fail_memory(err);
    }
    int rc = ty_doc_parse(&doc, arena, preset->name, text, strlen(text), err);
    const struct ty_value_source source = {&doc, TY_ORIGIN_PRESET, preset->name};
    if (rc == 0) {
        rc = ty_section_apply(&section, &source, doc.root, arena, err);
    }
    return rc == 0 ? ty_section_defaults(&section, arena, err) : rc;
}

static int make_generation(struct ty_exceptions *e, const struct ty_cluster *cluster,
                           const struct ty_preset *preset, struct ty_arena *arena,
                           struct ty_err *err)
{
    struct ty_cluster *out = ty_arena_array(arena, struct ty_cluster, 2);
    if (e->generation == NULL) {
        e->generation = ty_arena_alloc(arena, TY_GENERATIONS_MAX, sizeof(*e->generation));
    }
    if (out == NULL || e->generation == NULL) {
        return ty_fail_memory(err);
    }
    int rc = preset_cluster(&out[1], preset, arena, err);
    out[0] = *cluster;
    out[0].gpu_preset = preset->name;
    out[0].gpu = out[1].gpu;
    out[0].exceptions = NULL;
    out[0].operators = NULL; /* measured on the cluster's own */
    if (rc == 0 && ty_cluster_reserve(&out[0], 0) >= out[0].gpu.memory) {
        return TY_EINPUT;
    }
    if (rc == 0) {
        rc = ty_cluster_check(&out[0], NULL, err);
    }
    e->generation[e->n_generations++] = &out[0];
    return rc == 0 ? (int)e->n_generations : rc;
}

int ty_exceptions_generation_of(struct ty_exceptions *e, const struct ty_cluster *cluster,
                                const char *preset, struct ty_arena *arena, struct ty_err *err)
{
    for (uint32_t k = 0; k < e->n_generations; k++) {
        if (strcmp(e->generation[k]->gpu_preset, preset) == 0) {
            return (int)k + 1;
        }
    }
    for (const struct ty_preset *p = ty_gpu_presets; p->name != NULL; p++) {
        if (strcmp(p->name, preset) == 0 && e->n_generations + 1 < TY_GENERATIONS_MAX) {
            return make_generation(e, cluster, p, arena, err);
        }
    }
    return 0;
}
