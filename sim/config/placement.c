/* placement.c - assigns the ranks of a job to GPUs of the cluster. */
#include "sim/config/placement.h"

#include "model/check.h"
#include "sim/base/noise.h"
#include "sim/base/number_text.h"
#include "topology/rank_file.h"

/* ---- the GPUs of a job: layout.nodes, layout.gpus, or what is left ---- */

/* A list of ranges being read. */
struct ranges {
    const struct ty_section *section;
    const char *key, *part; /* "nodes", "node" */
    const struct ty_string_list *texts;
    uint32_t n;   /* there are so many of the part */
    bool *chosen; /* [n] */
    uint32_t n_chosen;
    struct ty_err *err;
};

static struct ty_place item_place(const struct ranges *r, uint32_t i)
{
    struct ty_place at = ty_section_place(r->section, r->key);
    if (at.line > 0 && r->texts->at[i].line > 0) {
        at.line = r->texts->at[i].line;
        at.col = r->texts->at[i].col;
    }
    return at;
}

/* "4" or "4-7" */
static bool read_range(const char *text, uint32_t *first, uint32_t *last)
{
    const char *s = text;
    bool good = ty_scan_number(&s, NULL, UINT32_MAX, first);
    *last = *first;
    if (good && *s == '-') {
        s++;
        good = ty_scan_number(&s, NULL, UINT32_MAX, last);
    }
    return good && *s == '\0';
}

static int choose(struct ranges *r, uint32_t i)
{
    const char *text = r->texts->item[i];
    const struct ty_place at = item_place(r, i);
    const char *name = r->section->name;
    uint32_t first, last;
    if (!read_range(text, &first, &last)) {
        return ty_fail_at(r->err, TY_EINPUT, &at,
                          "%s.%s: not a range (%.40s); write one like 0-3, or several like "
                          "[0-3, 6]",
                          name, r->key, text);
    }
    if (last < first) {
        return ty_fail_at(r->err, TY_EINPUT, &at,
                          "%s.%s: a range that ends before it begins (%.40s); write the smaller "
                          "number first",
                          name, r->key, text);
    }
    if (last >= r->n) {
        return ty_fail_at(
            r->err, TY_EINPUT, &at, "%s.%s: %s %u does not exist (%.40s); the highest is %u", name,
            r->key, r->part, (unsigned)(first >= r->n ? first : last), text, (unsigned)r->n - 1);
    }
    for (uint32_t k = first; k <= last; k++) {
        if (r->chosen[k]) {
            return ty_fail_at(r->err, TY_EINPUT, &at,
                              "%s.%s: %s %u is there twice (%.40s); keep one of them", name, r->key,
                              r->part, (unsigned)k, text);
        }
        r->chosen[k] = true;
        r->n_chosen++;
    }
    return 0;
}

/* Nothing said: all of them. */
static int read_ranges(struct ranges *r, struct ty_arena *arena)
{
    int code = 0;
    r->chosen = ty_arena_array(arena, bool, (size_t)r->n + 1);
    if (r->chosen == NULL) {
        return ty_fail_memory(r->err);
    }
    for (uint32_t i = 0; i < r->texts->n; i++) {
        code = ty_check_first(code, choose(r, i));
    }
    for (uint32_t i = 0; r->texts->n == 0 && i < r->n; i++) {
        r->chosen[i] = true;
        r->n_chosen++;
    }
    return code;
}

static int take_named(struct ty_config *c, struct ty_err *err)
{
    const struct ty_section *section = &c->sections[TY_SECTION_LAYOUT];
    struct ranges nodes = {.section = section,
                           .key = "nodes",
                           .part = "node",
                           .texts = &c->layout.nodes,
                           .n = c->cluster.nodes,
                           .err = err};
    struct ranges gpus = {.section = section,
                          .key = "gpus",
                          .part = "GPU",
                          .texts = &c->layout.gpus,
                          .n = c->cluster.gpus_per_node,
                          .err = err};
    int rc = read_ranges(&nodes, &c->arena);
    rc = ty_check_first(rc, read_ranges(&gpus, &c->arena));
    uint32_t *seats =
        ty_arena_array(&c->arena, uint32_t, (size_t)nodes.n_chosen * gpus.n_chosen + 1);
    uint32_t n = 0;
    if (rc < 0 || seats == NULL) {
        return rc < 0 ? rc : ty_fail_memory(err);
    }
    for (uint32_t node = 0; node < nodes.n; node++) {
        for (uint32_t gpu = 0; nodes.chosen[node] && gpu < gpus.n; gpu++) {
            if (gpus.chosen[gpu]) {
                seats[n++] = node * gpus.n + gpu;
            }
        }
    }
    c->seats = seats;
    c->layout.n_gpus = n;
    return 0;
}

/* Where the value of a key would be changed: that of an entry without it, in the entry. */
static struct ty_place place_of(const struct ty_config *c, const char *key)
{
    const struct ty_section *section = &c->sections[TY_SECTION_LAYOUT];
    const struct ty_place at = ty_section_place(section, key);
    return c->job_at.line > 0 && !ty_check_given(section, key) ? c->job_at : at;
}

/* More GPUs than are left from the first that is free. */
static int fail_seats(const struct ty_config *c, uint64_t need, struct ty_err *err)
{
    const char *name = c->sections[TY_SECTION_LAYOUT].name;
    const struct ty_layout *l = &c->layout;
    const struct ty_place at = place_of(c, "data");
    const unsigned all = ty_cluster_gpus(&c->cluster), first = c->first_gpu;
    if (l->stage_tensor.n + l->stage_data.n > 0) {
        return ty_fail_at(err, TY_EINPUT, &at,
                          "%s: its stages have %llu ranks, from GPU %u on, and the cluster has %u "
                          "GPUs; write fewer, or layout.nodes",
                          name, (unsigned long long)need, first, all);
    }
    return ty_fail_at(err, TY_EINPUT, &at,
                      "%s.data: tensor x context x pipeline x data = %u x %u x %u x %u = %llu GPUs "
                      "from GPU %u on, and the cluster has %u; write a smaller one, auto, "
                      "or layout.nodes",
                      name, (unsigned)l->tensor, (unsigned)l->context, (unsigned)l->pipeline,
                      (unsigned)l->data, (unsigned long long)need, first, all);
}

/* As many as it needs, or all to the last, from the first that is free. */
static int take_next(struct ty_config *c, struct ty_err *err)
{
    const char *name = c->sections[TY_SECTION_LAYOUT].name;
    const struct ty_place data_at = place_of(c, "data"), nodes_at = place_of(c, "nodes");
    const struct ty_layout *l = &c->layout;
    const uint32_t all = ty_cluster_gpus(&c->cluster), first = c->first_gpu;
    const uint64_t need = ty_layout_need(l);
    if (need == 0 && l->rank_file != NULL) {
        return ty_fail_at(err, TY_EINPUT, &data_at,
                          "%s.data: auto: several jobs share the cluster, and a rank file does not "
                          "say how many ranks a job has; write the number",
                          name);
    }
    if (first >= all && l->rank_file == NULL) {
        return ty_fail_at(err, TY_EINPUT, &nodes_at,
                          "%s.nodes: auto: the job before has GPUs up to the last (%u), none is "
                          "left after it; write where each job sits, such as nodes: 0-3, or a "
                          "layout.data of the job before",
                          name, (unsigned)(all - 1));
    }
    if (need != 0 && l->rank_file == NULL && need > all - first) {
        return fail_seats(c, need, err);
    }
    const uint32_t n = need != 0 && need <= all ? (uint32_t)need : all - first;
    uint32_t *seats = ty_arena_array(&c->arena, uint32_t, (size_t)n + 1);
    if (seats == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t i = 0; i < n; i++) {
        seats[i] = first + i;
    }
    c->seats = seats;
    c->layout.n_gpus = n;
    return 0;
}

int ty_placement_claim(struct ty_config *c, struct ty_err *err)
{
    if (c->layout.nodes.n > 0 || c->layout.gpus.n > 0) {
        return take_named(c, err);
    }
    return c->shares ? take_next(c, err) : 0;
}

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
