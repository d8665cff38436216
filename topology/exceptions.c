/* exceptions.c - tables of the parts that differ, as the lines of cluster.exceptions say. */
#include "topology/exceptions.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/base/text.h"

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

/* Fills the tables from the items. 0 or TY_ENOMEM. */
static int exceptions_tables(struct ty_exceptions *e, const struct ty_cluster *cluster,
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
    return out->item == NULL ? TY_ENOMEM : exceptions_tables(out, cluster, arena);
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

/* Number of the generation of a GPU preset, made when it is the first of its name: the cluster with
 * the preset's GPU in place of its own. 0: no such preset; TY_EINPUT: the cluster's reserve leaves
 * nothing of its memory; neither is reported. Or another negative code. */
static int exceptions_generation_of(struct ty_exceptions *e, const struct ty_cluster *cluster,
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

/* ---- the lines of cluster.exceptions: a part, then what it is like ---- */

/*
 *     line  = part ("at" SHARE | "dead" | "with" COUNT "nics" | "with" GPU)
 *     part  = WORD place ["-" place]
 *     place = NUMBER | NODE "." NUMBER
 *
 * Lines are read one by one, then compared: nothing may be said of a part twice, and a node that
 * has to talk to others keeps a NIC. */

#define GPUS_SHOWN 32u

/* What a line may be about. */
static const struct subject {
    const char *one, *many;
    enum ty_exception_kind kind; /* of "at" and "dead" */
    bool at, dead, with;
    bool dotted, flat; /* written as node.number, as one number */
    const char *example;
} subjects[] = {
    {"gpu", "gpus", TY_EXCEPTION_GPU, true, false, false, true, true, "\"gpu 17 at 80 %\""},
    {"nvlink", "nvlinks", TY_EXCEPTION_NVLINK, true, false, false, true, true,
     "\"nvlink 2.1 at 50 %\""},
    {"nic", "nics", TY_EXCEPTION_NIC, true, true, false, true, false,
     "\"nic 3.5 at 50 %\" or \"nic 3.5 dead\""},
    {"node", "nodes", TY_EXCEPTION_NICS, false, false, true, false, true,
     "\"node 7 with 4 nics\" or \"nodes 8-15 with a100-sxm-40g\""},
    {"leaf", "leaves", TY_EXCEPTION_LEAF, true, false, false, false, true, "\"leaf 1 at 25 %\""},
};

#define ANY_EXAMPLE                                                                                \
    "\"gpu 17 at 80 %\", \"nvlink 2.1 at 50 %\", \"nic 3.6 dead\", \"node 7 with 4 nics\", "       \
    "\"leaf 1 at 25 "                                                                              \
    "%\" or \"nodes 8-15 with a100-sxm-40g\""

struct reader {
    const struct ty_cluster *cluster;
    struct ty_exceptions *e;
    struct ty_exception *item; /* being read */
    const char *rest;          /* of its text */
    const struct subject *subject;
    struct ty_arena *arena;
    struct ty_err *err;
};

static int fail(const struct reader *r, const char *what, const char *right)
{
    return ty_fail_at(r->err, TY_EINPUT, &r->item->at, "cluster.exceptions: %s (%.60s); %s", what,
                      r->item->text, right);
}

/* "... (gpu 17 at 80); write "gpu 17 at 80 %"" */
static int wrong(const struct reader *r, const char *what)
{
    char right[400];
    (void)snprintf(right, sizeof(right), "write %s",
                   r->subject != NULL ? r->subject->example : ANY_EXAMPLE);
    return fail(r, what, right);
}

/* ---- words and numbers ---- */

/* A number that does not fit is as wrong as any that is too large. */
static bool take_number(struct reader *r, uint32_t *out)
{
    const size_t digits = strspn(r->rest, "0123456789");
    const unsigned long value = digits > 0 ? strtoul(r->rest, NULL, 10) : 0;
    *out = digits > 9 || value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
    r->rest += digits;
    return digits > 0;
}

/* ---- parts ---- */

static int missing_part(const struct reader *r, const char *what, uint32_t number, uint32_t n,
                        const char *where)
{
    char text[80], right[80];
    (void)snprintf(text, sizeof(text), "%s %u does not exist", what, (unsigned)number);
    (void)snprintf(right, sizeof(right), "the highest of %s is %u", where, (unsigned)n - 1);
    return fail(r, text, right);
}

/* How many of its kind a node has; 0: they belong to no node, or are nodes. */
static uint32_t per_node(const struct reader *r)
{
    switch (r->subject->kind) {
    case TY_EXCEPTION_GPU:
    case TY_EXCEPTION_NVLINK:
        return r->cluster->gpus_per_node;
    case TY_EXCEPTION_NIC:
        return r->cluster->net.nics;
    default:
        return 0;
    }
}

/* "17" or "2.1", as a number over the whole cluster. */
static int read_place(struct reader *r, uint32_t *out)
{
    const char *one = r->subject->kind == TY_EXCEPTION_NVLINK ? "gpu" : r->subject->one;
    uint32_t a = 0, b = 0;
    if (!take_number(r, &a)) {
        return wrong(r, "a number is due after the part");
    }
    if (*r->rest != '.') {
        const uint32_t n = per_node(r) > 0 ? ty_cluster_gpus(r->cluster) : r->cluster->nodes;
        if (!r->subject->flat) {
            return wrong(r, "its node is missing");
        }
        *out = a;
        const bool leaf = r->subject->kind == TY_EXCEPTION_LEAF; /* the network knows how many */
        return leaf || a < n ? 0 : missing_part(r, one, a, n, "the cluster");
    }
    r->rest++;
    if (!r->subject->dotted || !take_number(r, &b)) {
        return wrong(r, r->subject->dotted ? "a number is due after the point"
                                           : "such a part has one number");
    }
    if (a >= r->cluster->nodes) {
        return missing_part(r, "node", a, r->cluster->nodes, "the cluster");
    }
    *out = a * per_node(r) + b;
    return b < per_node(r) ? 0 : missing_part(r, one, b, per_node(r), "a node");
}

static int read_part(struct reader *r)
{
    for (size_t i = 0; i < TY_COUNT(subjects) && r->subject == NULL; i++) {
        if (ty_text_take_word(&r->rest, subjects[i].one) ||
            ty_text_take_word(&r->rest, subjects[i].many)) {
            r->subject = &subjects[i];
        }
    }
    if (r->subject == NULL) {
        return wrong(r, "not a part that can be an exception");
    }
    r->item->kind = r->subject->kind;
    ty_text_skip_blanks(&r->rest);
    int rc = read_place(r, &r->item->first);
    r->item->last = r->item->first;
    if (rc < 0 || *r->rest != '-') {
        return rc;
    }
    r->rest++;
    rc = read_place(r, &r->item->last);
    if (rc == 0 && r->item->last < r->item->first) {
        return fail(r, "a range that ends before it begins", "write the smaller number first");
    }
    return rc;
}

/* ---- what it is like ---- */

static int read_share(struct reader *r)
{
    char why[300];
    ty_text_skip_blanks(&r->rest);
    if (ty_quantity_parse(r->rest, TY_DIM_RATIO, &r->item->share, why, sizeof(why)) != 0) {
        return wrong(r, "not a share");
    }
    if (r->item->share < 0.01 || r->item->share > 1) {
        return fail(r, "a share out of range",
                    r->subject->dead ? "write one from 1 % to 100 %, or \"dead\""
                                     : "write one from 1 % to 100 %");
    }
    return 0;
}

static int read_nics(struct reader *r, uint32_t count)
{
    char right[80];
    if (!ty_text_take_word(&r->rest, "nics") && !ty_text_take_word(&r->rest, "nic")) {
        return wrong(r, "a node is with a number of nics or a kind of GPU");
    }
    ty_text_skip_blanks(&r->rest);
    if (*r->rest != '\0') {
        return wrong(r, "nothing is due after the nics");
    }
    if (count < 1 || count > r->cluster->net.nics) {
        (void)snprintf(right, sizeof(right), "write 1 to %u, the cluster.nics_per_node",
                       (unsigned)r->cluster->net.nics);
        return fail(r, count < 1 ? "no NIC is left" : "more NICs than nodes have", right);
    }
    r->item->count = count;
    return 0;
}

static int read_generation(struct reader *r)
{
    const char *names[GPUS_SHOWN];
    char right[240], hint[TY_SUGGESTION];
    size_t n = 0;
    r->item->kind = TY_EXCEPTION_GENERATION;
    const int k = exceptions_generation_of(r->e, r->cluster, r->rest, r->arena, r->err);
    if (k == TY_EINPUT) {
        return fail(r, "its memory is no more than what the cluster keeps free",
                    "lower cluster.reserve or cluster.context_memory, or name another GPU");
    }
    if (k != 0) {
        r->item->count = k > 0 ? (uint32_t)k : 0;
        return k < 0 ? k : 0;
    }
    for (const struct ty_preset *p = ty_gpu_presets; p->name != NULL && n < GPUS_SHOWN; p++) {
        names[n++] = p->name;
    }
    (void)snprintf(right, sizeof(right), "\"trainyard list gpus\" shows all%s",
                   ty_suggestion(r->rest, names, n, hint));
    return fail(r, "unknown GPU", right);
}

static int read_state(struct reader *r)
{
    uint32_t count = 0;
    if (r->subject->at && ty_text_take_word(&r->rest, "at")) {
        return read_share(r);
    }
    if (r->subject->dead && ty_text_take_word(&r->rest, "dead")) {
        ty_text_skip_blanks(&r->rest);
        r->item->share = 0;
        return *r->rest == '\0' ? 0 : wrong(r, "nothing is due after \"dead\"");
    }
    if (!r->subject->with || !ty_text_take_word(&r->rest, "with")) {
        return wrong(r, "what it is like cannot be read");
    }
    ty_text_skip_blanks(&r->rest);
    if (*r->rest == '\0') {
        return wrong(r, "a node is with a number of nics or a kind of GPU");
    }
    return take_number(r, &count) ? read_nics(r, count) : read_generation(r);
}

/* Links that the cluster does not have cannot be worse than others. */
static int check_link(const struct reader *r)
{
    const struct ty_cluster *c = r->cluster;
    if (r->item->kind == TY_EXCEPTION_NVLINK &&
        (c->gpus_per_node == 1 || c->nvlink.bandwidth <= 0)) {
        return fail(r, "the cluster has no NVLink", "leave the line out");
    }
    const bool network = r->item->kind == TY_EXCEPTION_NIC || r->item->kind == TY_EXCEPTION_NICS ||
                         r->item->kind == TY_EXCEPTION_LEAF;
    if (network && c->net.nic_bandwidth <= 0) {
        return fail(r, "the cluster has no network",
                    "leave the line out, or give cluster.nic_bandwidth");
    }
    return 0;
}

static int read_line(struct reader *r)
{
    int rc = read_part(r);
    if (rc == 0) {
        rc = read_state(r);
    }
    return rc == 0 ? check_link(r) : rc;
}

/* ---- all lines together ---- */

static int check_twice(const struct ty_exceptions *e, uint32_t i, struct ty_err *err)
{
    const struct ty_exception *x = &e->item[i];
    for (uint32_t k = 0; k < i; k++) {
        const struct ty_exception *y = &e->item[k];
        if (y->kind == x->kind && y->first <= x->last && x->first <= y->last) {
            return ty_fail_at(err, TY_EINPUT, &x->at,
                              "cluster.exceptions: the same part twice (%.60s and %.60s); keep one",
                              y->text, x->text);
        }
    }
    return 0;
}

/* A NIC that another line takes away. */
static int check_nic(const struct ty_exceptions *e, const struct ty_cluster *c, uint32_t i,
                     struct ty_err *err)
{
    const struct ty_exception *x = &e->item[i];
    for (uint32_t k = 0; k < e->n && x->kind == TY_EXCEPTION_NIC; k++) {
        const struct ty_exception *y = &e->item[k];
        for (uint32_t nic = x->first; nic <= x->last && y->kind == TY_EXCEPTION_NICS; nic++) {
            const uint32_t node = nic / c->net.nics, number = nic % c->net.nics;
            if (node >= y->first && node <= y->last && number >= y->count) {
                return ty_fail_at(err, TY_EINPUT, &x->at,
                                  "cluster.exceptions: node %u has no NIC %u (%.60s), as it is one "
                                  "of those \"%.60s\"; keep one of the two lines",
                                  (unsigned)node, (unsigned)number, x->text, y->text);
            }
        }
    }
    return 0;
}

/* The last line that takes a NIC from the node. */
static const struct ty_exception *taker(const struct ty_exceptions *e, const struct ty_cluster *c,
                                        uint32_t node)
{
    const struct ty_exception *last = NULL;
    for (uint32_t i = 0; i < e->n; i++) {
        const struct ty_exception *x = &e->item[i];
        if (x->kind == TY_EXCEPTION_NIC && x->share <= 0 && x->first / c->net.nics <= node &&
            x->last / c->net.nics >= node) {
            last = x;
        }
    }
    return last;
}

static int check_reachable(const struct ty_exceptions *e, const struct ty_cluster *c,
                           struct ty_err *err)
{
    for (uint32_t node = 0; e->nics != NULL && c->nodes > 1 && node < c->nodes; node++) {
        const struct ty_exception *x = e->nics[node] == 0 ? taker(e, c, node) : NULL;
        if (x != NULL) {
            return ty_fail_at(err, TY_EINPUT, &x->at,
                              "cluster.exceptions: no NIC of node %u is left (%.60s), and other "
                              "nodes have to reach it; leave it at least one of %u, or take the "
                              "node out of cluster.nodes",
                              (unsigned)node, x->text, (unsigned)c->net.nics);
        }
    }
    return 0;
}

static int check_lines(struct ty_exceptions *e, const struct ty_cluster *c, struct ty_arena *arena,
                       struct ty_err *err)
{
    int code = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        int rc = check_twice(e, i, err);
        if (rc == 0) {
            rc = check_nic(e, c, i, err);
        }
        code = code < 0 ? code : rc;
    }
    if (code == 0 && exceptions_tables(e, c, arena) < 0) {
        code = ty_fail_memory(err);
    }
    return code < 0 ? code : check_reachable(e, c, err);
}

int ty_exceptions_read(struct ty_cluster *cluster, const struct ty_section *section,
                       struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_string_list *texts = &cluster->exception_texts;
    struct ty_exceptions *e = ty_arena_array(arena, struct ty_exceptions, 1);
    const struct ty_origin *from =
        ty_field_origin(section, ty_section_field(section, "exceptions"));
    const bool visible = from->kind == TY_ORIGIN_FILE || from->kind == TY_ORIGIN_COMMAND;
    int code = 0;
    cluster->exceptions = NULL;
    if (texts->n == 0) {
        return 0;
    }
    if (e != NULL) {
        e->item = ty_arena_array(arena, struct ty_exception, texts->n);
    }
    if (e == NULL || e->item == NULL) {
        return ty_fail_memory(err);
    }
    for (e->n = 0; e->n < texts->n; e->n++) {
        struct reader r = {.cluster = cluster, .e = e, .arena = arena, .err = err};
        r.item = &e->item[e->n];
        r.rest = texts->item[e->n];
        *r.item = (struct ty_exception){
            .text = r.rest, .at = ty_section_place(section, "exceptions"), .share = 1};
        if (visible) {
            r.item->at.line = texts->at[e->n].line;
            r.item->at.col = texts->at[e->n].col;
        }
        const int rc = read_line(&r);
        code = code < 0 ? code : rc;
    }
    code = code < 0 ? code : check_lines(e, cluster, arena, err);
    cluster->exceptions = code == 0 ? e : NULL;
    return code;
}
