/* layout_shapes.c - stages of different shape: other tensor and data widths in each.
 *
 *     stage_tensor: [2, 2, 4]     ranks 0 1 | 2 3 | 4 5 6 7
 *
 * A stage of t tensor and d data ranks sees every micro-batch as any other does: each of its
 * replicas takes a d-th of it. What a layout says of a rank it says of the first stage; the layout
 * of another stage (ty_layout_of_stage) is that of a job all of whose stages are like it, and
 * whoever looks at a rank looks at that one.
 *
 * Neighbours are to fit (struct ty_channel): the ranks of one divide those of the other, and so do
 * the replicas, so that a slice of a micro-batch goes from one rank to one rank. */
#include <stdio.h>

#include "model/check.h"
#include "model/layout.h"
#include "model/parallel.h"
#include "topology/exceptions.h"

static uint32_t tensor_of(const struct ty_layout *l, uint32_t stage)
{
    return l->stage_tensor.n > 0 ? l->stage_tensor.item[stage] : l->tensor;
}

static uint32_t data_of(const struct ty_layout *l, uint32_t stage)
{
    return l->stage_data.n > 0 ? l->stage_data.item[stage] : l->data;
}

struct ty_layout ty_layout_of_stage(const struct ty_layout *layout, uint32_t stage)
{
    struct ty_layout own = *layout;
    if (layout->unlike) {
        own.tensor = tensor_of(layout, stage);
        own.data = data_of(layout, stage);
        own.shard = own.data;
        own.micro_batch = layout->micro_batch * layout->data / own.data;
    }
    return own;
}

uint32_t ty_layout_members(const struct ty_layout *layout, uint32_t stage)
{
    return layout->unlike ? tensor_of(layout, stage) * data_of(layout, stage)
                          : layout->tensor * layout->context * layout->data;
}

uint32_t ty_layout_most_members(const struct ty_layout *layout)
{
    uint32_t most = 0;
    for (uint32_t s = 0; s < (layout->unlike ? layout->pipeline : 1); s++) {
        const uint32_t n = ty_layout_members(layout, s);
        most = n > most ? n : most;
    }
    return most;
}

uint64_t ty_layout_need(const struct ty_layout *l)
{
    uint64_t sum = 0;
    if (l->stage_tensor.n == 0 && l->stage_data.n == 0) {
        return (uint64_t)l->tensor * l->context * l->pipeline * l->data;
    }
    const uint32_t n = l->stage_tensor.n > 0 ? l->stage_tensor.n : l->stage_data.n;
    for (uint32_t s = 0; s < n; s++) {
        sum += (uint64_t)tensor_of(l, s) * data_of(l, s) * l->context;
    }
    return sum;
}

bool ty_layout_same_shape(const struct ty_layout *layout, uint32_t a, uint32_t b)
{
    return !layout->unlike || (tensor_of(layout, a) == tensor_of(layout, b) &&
                               data_of(layout, a) == data_of(layout, b));
}

static bool all_equal(const struct ty_uint_list *list)
{
    for (uint32_t s = 1; s < list->n; s++) {
        if (list->item[s] != list->item[0]) {
            return false;
        }
    }
    return true;
}

static const char *widths_text(uint32_t one, const struct ty_uint_list *list,
                               char buf[TY_WIDTHS_TEXT])
{
    size_t n = (size_t)snprintf(buf, TY_WIDTHS_TEXT, all_equal(list) ? "%u" : "[%u", (unsigned)one);
    for (uint32_t s = 1; s < list->n && !all_equal(list) && n < TY_WIDTHS_TEXT; s++) {
        n += (size_t)snprintf(buf + n, TY_WIDTHS_TEXT - n, ", %u%s", (unsigned)list->item[s],
                              s + 1 == list->n ? "]" : "");
    }
    return buf;
}

const char *ty_layout_tensor_text(const struct ty_layout *layout, char buf[TY_WIDTHS_TEXT])
{
    return widths_text(layout->tensor, &layout->stage_tensor, buf);
}

const char *ty_layout_data_text(const struct ty_layout *layout, char buf[TY_WIDTHS_TEXT])
{
    return widths_text(layout->data, &layout->stage_data, buf);
}

/* ---- checks ---- */

struct shapes {
    struct ty_layout *layout;
    const struct ty_section *section;
    const struct ty_arch *arch;
    uint32_t chunks, gpus;
    const char *key; /* that says so */
    struct ty_err *err;
};

/* The lists have a number for each stage, and the keys that they stand for are left out, or say
 * what the first stage has. */
static int check_list(const struct shapes *c, const char *key, const struct ty_uint_list *list,
                      const char *instead, uint32_t one)
{
    if (list->n == 0) {
        return 0;
    }
    if (list->n != c->layout->pipeline) {
        return ty_check_fail(
            c->section, key, c->err,
            "%u numbers for %u stages (layout.pipeline); write %u of them, or auto",
            (unsigned)list->n, (unsigned)c->layout->pipeline, (unsigned)c->layout->pipeline);
    }
    for (uint32_t s = 0; s < list->n; s++) {
        if (list->item[s] == 0) {
            return ty_check_fail(c->section, key, c->err, "stage %u has no ranks; write at least 1",
                                 (unsigned)s);
        }
    }
    if (ty_check_given(c->section, instead) && one != 0 && one != list->item[0]) {
        return ty_check_fail(c->section, key, c->err,
                             "layout.%s is %u, and the first stage has %u; leave layout.%s out",
                             instead, (unsigned)one, (unsigned)list->item[0], instead);
    }
    return 0;
}

/* What stages of different shape are not known next to. */
static int check_beside(const struct shapes *c)
{
    const struct ty_layout *l = c->layout;
    const bool last = l->order.item[TY_N_AXES - 1] == TY_AXIS_PIPELINE;
    const struct {
        bool other;
        const char *what, *instead;
    } rows[] = {
        {c->chunks > 1, "schedule.chunks above 1", "a schedule with one chunk"},
        {l->ends_together, "a schedule whose stages go both ways", "1f1b or gpipe"},
        {l->context > 1, "layout.context", "a context of 1"},
        {l->tensor_scheme != TY_TENSOR_1D || l->tensor_depth > 1, "layout.tensor_scheme", "1d"},
        {ty_arch_is_moe(c->arch), "experts", "a dense model"},
        {l->shard != 0 && l->shard != l->data, "layout.shard", "auto"},
        {ty_layout_is_offloaded(l), "layout.offload", "none"},
        {!last, "another layout.order of the pipeline", "[tensor, context, data, pipeline]"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        if (rows[i].other) {
            return ty_check_fail(c->section, c->key, c->err,
                                 "stages of different shape are not supported with %s; write %s, "
                                 "or auto here",
                                 rows[i].what, rows[i].instead);
        }
    }
    return 0;
}

/* Embedding and head share weights, member by member. */
static int check_ends(const struct shapes *c)
{
    const struct ty_layout *l = c->layout;
    const uint32_t last = l->pipeline - 1;
    if ((!c->arch->tied && c->arch->mtp == 0) || ty_layout_same_shape(l, 0, last)) {
        return 0;
    }
    return ty_check_fail(c->section, c->key, c->err,
                         "first and last stage share the embedding (%s) and have %u x %u and %u x "
                         "%u ranks; give them one shape, or write %s",
                         c->arch->tied ? "model.tied" : "model.mtp", (unsigned)tensor_of(l, 0),
                         (unsigned)data_of(l, 0), (unsigned)tensor_of(l, last),
                         (unsigned)data_of(l, last),
                         c->arch->tied ? "model.tied: false" : "model.mtp: 0");
}

static bool divide(uint32_t a, uint32_t b)
{
    return a % b == 0 || b % a == 0;
}

/* A stage and the next. */
static int check_neighbours(const struct shapes *c, uint32_t stage)
{
    const struct ty_layout *l = c->layout;
    const uint32_t t = tensor_of(l, stage), d = data_of(l, stage);
    const uint32_t t2 = tensor_of(l, stage + 1), d2 = data_of(l, stage + 1);
    if (!divide(d, d2) || !divide(t * d, t2 * d2)) {
        return ty_check_fail(c->section, c->key, c->err,
                             "stages %u and %u have %u x %u and %u x %u (tensor x data) ranks, and "
                             "slices go from one rank to one rank: replicas, and ranks, of one "
                             "have to divide the other's",
                             (unsigned)stage, (unsigned)stage + 1, (unsigned)t, (unsigned)d,
                             (unsigned)t2, (unsigned)d2);
    }
    if (l->sequence_parallel && d != d2) {
        return ty_check_fail(c->section, "sequence_parallel", c->err,
                             "stages %u and %u have %u and %u replicas, and parts of sequences go "
                             "to the same replica; write false, or one layout.stage_data",
                             (unsigned)stage, (unsigned)stage + 1, (unsigned)d, (unsigned)d2);
    }
    return 0;
}

const char *ty_tensor_undivided(const struct ty_arch *arch, uint32_t t, uint32_t *of)
{
    const struct {
        const char *name;
        uint32_t value;
        bool divides;
    } rows[] = {
        {"model.heads", arch->heads, arch->heads % t == 0},
        {"model.kv_heads", arch->kv_heads, arch->kv_heads % t == 0 || t % arch->kv_heads == 0},
        {"model.ffn", arch->ffn, arch->ffn % t == 0},
        {"model.state_heads", arch->state_heads, arch->state_heads % t == 0},
        {"model.state_groups", arch->state_groups,
         arch->state_groups % t == 0 || ty_arch_has_block(arch, TY_HAS_SELECTIVE)},
        {"model.hidden", arch->hidden,
         arch->hidden % t == 0 || !ty_arch_has_block(arch, TY_HAS_CONVOLUTION)},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        if (!rows[i].divides) {
            *of = rows[i].value;
            return rows[i].name;
        }
    }
    return NULL;
}

/* A stage by itself: what its ranks share can be shared. */
static int check_stage(const struct shapes *c, uint32_t stage)
{
    const struct ty_layout *l = c->layout;
    const uint32_t t = tensor_of(l, stage), d = data_of(l, stage);
    const uint64_t sequences = (uint64_t)l->micro_batch * l->data;
    uint32_t of;
    const char *undivided = ty_tensor_undivided(c->arch, t, &of);
    if (undivided != NULL) {
        return ty_check_fail(c->section, "stage_tensor", c->err,
                             "%u (stage %u) does not divide %s (%u); try %u", (unsigned)t,
                             (unsigned)stage, undivided, (unsigned)of,
                             (unsigned)ty_check_divisor(of, t));
    }
    if (l->sequence_parallel && c->arch->sequence % t != 0) {
        return ty_check_fail(c->section, "sequence_parallel", c->err,
                             "%u tensor ranks (stage %u) do not divide model.sequence (%u); write "
                             "false",
                             (unsigned)t, (unsigned)stage, (unsigned)c->arch->sequence);
    }
    if (sequences % d != 0) {
        return ty_check_fail(c->section, "stage_data", c->err,
                             "%u replicas (stage %u) do not divide the %llu sequences of a "
                             "micro-batch (layout.micro_batch x replicas of the first stage); "
                             "write a micro_batch of %u",
                             (unsigned)d, (unsigned)stage, (unsigned long long)sequences,
                             (unsigned)d);
    }
    return 0;
}

/* Ranks of all stages = GPUs; derives data. */
static int check_sum(const struct shapes *c)
{
    struct ty_layout *l = c->layout;
    struct ty_layout one = *l;
    one.data = l->stage_data.n > 0 || l->data == 0 ? 1 : l->data;
    const uint64_t need = ty_layout_need(&one);
    if (l->stage_data.n == 0 && l->data == 0 && c->gpus % need == 0) {
        l->data = (uint32_t)(c->gpus / need);
        return 0;
    }
    if (need != c->gpus) {
        return ty_check_fail(c->section, c->key, c->err,
                             "the stages have %llu ranks%s, and there are %u GPUs; write numbers "
                             "that add up to them, or which GPUs the job sits on (layout.nodes, "
                             "layout.gpus)",
                             (unsigned long long)need,
                             l->stage_data.n == 0 && l->data == 0 ? " for each replica" : "",
                             (unsigned)c->gpus);
    }
    return 0;
}

int ty_layout_find_shapes(struct ty_layout *layout, const struct ty_section *section,
                          const struct ty_arch *arch, uint32_t chunks, uint32_t gpus,
                          struct ty_err *err)
{
    struct ty_uint_list *tensor = &layout->stage_tensor, *data = &layout->stage_data;
    const struct shapes c = {.layout = layout,
                             .section = section,
                             .arch = arch,
                             .chunks = chunks,
                             .gpus = gpus,
                             .key = tensor->n > 0 ? "stage_tensor" : "stage_data",
                             .err = err};
    layout->unlike = false;
    if (tensor->n == 0 && data->n == 0) {
        return 0;
    }
    int rc = check_list(&c, "stage_tensor", tensor, "tensor", layout->tensor);
    rc = rc < 0 ? rc : check_list(&c, "stage_data", data, "data", layout->data);
    if (rc < 0) {
        return rc;
    }
    layout->tensor = tensor_of(layout, 0); /* of equal stages, and of the first */
    layout->data = data_of(layout, 0);
    layout->unlike = !all_equal(tensor) || !all_equal(data);
    if (!layout->unlike) {
        return 0;
    }
    rc = check_beside(&c);
    rc = rc < 0 ? rc : check_sum(&c);
    for (uint32_t s = 0; s < layout->pipeline && rc == 0; s++) {
        rc = check_stage(&c, s);
    }
    for (uint32_t s = 0; s + 1 < layout->pipeline && rc == 0; s++) {
        rc = check_neighbours(&c, s);
    }
    rc = rc < 0 ? rc : check_ends(&c);
    layout->ranks = rc == 0 ? gpus : layout->ranks;
    return rc;
}
