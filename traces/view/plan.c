/* plan.c - which slices a pass makes at each level of detail.
 *
 *     compute row   forward 3 [ attention [ norm qkv ... ] mlp [ ... ] ]      parents first
 *     other rows    all-gather, send 3, ...
 *
 * A pass reaches from its first compute operation to its last. Inside it, consecutive compute
 * operations of one layer and part form a slice, and so do those that repeat forward work.
 * Names are `kind number` and nothing else: viewers colour by name without its digits. */
#include <stdio.h>
#include <string.h>

#include "sim/core/program/issue.h"
#include "traces/view/view.h"

struct builder {
    struct ty_view *v;
    struct ty_view_plan *plan;
    const struct ty_pass *pass;
    const struct ty_op *ops;
    uint32_t n_ops;
    int rc;
};

/* ---- arguments ---- */

static void add_hole(struct ty_view_slice *s, const char *key, enum ty_view_hole hole)
{
    s->arg[s->n_args++] =
        (struct ty_view_arg){.key = key, .value = TY_VALUE_HOLE, .hole = (uint8_t)hole};
}

static void add_number(struct ty_view_slice *s, const char *key, double x)
{
    s->arg[s->n_args++] = (struct ty_view_arg){.key = key, .value = TY_VALUE_NUMBER, .number = x};
}

static void add_text(struct ty_view_slice *s, const char *key, const char *text)
{
    s->arg[s->n_args++] = (struct ty_view_arg){.key = key, .value = TY_VALUE_TEXT, .text = text};
}

/* ---- slices of a block ---- */

static const struct ty_vocabulary *words_of(const struct builder *b)
{
    return b->v->program->words;
}

static const struct ty_kind *kind_of(const struct builder *b, uint32_t op)
{
    return &b->v->program->kinds[b->ops[op].kind];
}

static bool full(const struct builder *b)
{
    return b->v->trace->args == TY_ARGS_FULL;
}

/* The next slice, from operation `first` on. */
static struct ty_view_slice *begin(struct builder *b, const char *name, uint8_t category,
                                   uint32_t first)
{
    struct ty_view_slice *s = &b->plan->slices[b->plan->n++];
    *s = (struct ty_view_slice){.name = name, .category = category, .first = first, .last = first};
    s->stream = b->ops[first].stream;
    return s;
}

/* "8-15", the layers of a pass; NULL when it has none. */
static const char *layers(struct builder *b)
{
    unsigned low = TY_NONE, high = 0;
    char out[16];
    for (uint32_t k = 0; k < b->n_ops; k++) {
        const unsigned layer = b->ops[k].layer;
        if (layer != TY_NONE && b->ops[k].stream == TY_STREAM_COMPUTE) {
            low = layer < low ? layer : low;
            high = layer > high ? layer : high;
        }
    }
    if (low == TY_NONE) {
        return NULL;
    }
    const int n = snprintf(out, sizeof(out), low == high ? "%u" : "%u-%u", low, high);
    const char *text = ty_arena_strndup(&b->v->arena, out, (size_t)n);
    b->rc = text == NULL ? TY_ENOMEM : b->rc;
    return text;
}

static void add_pass(struct builder *b)
{
    const enum ty_phase phase = (enum ty_phase)b->pass->phase;
    struct ty_view_slice *s =
        begin(b, ty_phase_word(phase), words_of(b)->of_phase[phase], b->plan->first_compute);
    s->last = b->plan->last_compute;
    s->numbered = phase != TY_PHASE_STEP && b->pass->mb != TY_NONE;
    if (s->numbered) {
        const char *range = full(b) ? layers(b) : NULL;
        if (full(b)) {
            add_hole(s, "mb", TY_HOLE_MB);
        }
        if (full(b) || b->v->several_stages) {
            add_hole(s, "stage", TY_HOLE_STAGE);
        }
        if (range != NULL) {
            add_text(s, "layers", range);
        }
    }
    if (!s->numbered || b->v->program->n_steps > 1) {
        add_hole(s, "step", TY_HOLE_STEP);
    }
}

/* Compute operations belong to one part slice when they agree in this; 0: to none. */
static uint32_t part_key(const struct builder *b, uint32_t op)
{
    const bool repeats = words_of(b)->categories[kind_of(b, op)->category].repeats;
    const uint32_t part = repeats ? words_of(b)->n_parts : b->ops[op].part;
    return part == 0 ? 0 : part << 16 | b->ops[op].layer;
}

/* The run of compute operations with the key of operation `first`: a slice. Returns its last. */
static uint32_t add_part(struct builder *b, uint32_t first)
{
    const uint32_t key = part_key(b, first);
    uint32_t last = first;
    uint8_t category = kind_of(b, first)->category;
    for (uint32_t k = first + 1; k < b->n_ops; k++) {
        if (b->ops[k].stream != TY_STREAM_COMPUTE) {
            continue;
        }
        if (part_key(b, k) != key) {
            break;
        }
        last = k;
        if (kind_of(b, k)->category != category) {
            category = words_of(b)->of_phase[b->pass->phase];
        }
    }
    const bool repeats = words_of(b)->categories[category].repeats;
    struct ty_view_slice *s = begin(
        b, repeats ? "recompute" : words_of(b)->parts[b->ops[first].part].name, category, first);
    s->last = last;
    s->depth = 1;
    if (b->ops[first].layer != TY_NONE) {
        add_number(s, "layer", b->ops[first].layer);
    }
    return last;
}

/* Whether an operation is a communication of a layer. */
static bool is_of_layer(const struct builder *b, const struct ty_op *op)
{
    return words_of(b)->streams[op->stream].grain == TY_GRAIN_LAYER && op->layer != TY_NONE;
}

/* Whether the collectives of layers that are called like operation k all have its size: then the
 * figures of the run say it, and the slices need not. */
static bool one_size(const struct builder *b, uint32_t k)
{
    const struct ty_op *ops = b->ops;
    bool same = is_of_layer(b, &ops[k]);
    for (uint32_t i = 0; i < b->n_ops && same; i++) {
        const bool like = ops[i].stream == ops[k].stream && is_of_layer(b, &ops[i]) &&
                          strcmp(kind_of(b, i)->name, kind_of(b, k)->name) == 0;
        same = !like || kind_of(b, i)->bytes == kind_of(b, k)->bytes;
    }
    return same;
}

/* What a communication says of itself; a message has its micro-batch in its name. */
static void add_payload(struct builder *b, struct ty_view_slice *s, uint32_t k)
{
    const struct ty_kind *kind = kind_of(b, k);
    if (full(b) && b->pass->phase != TY_PHASE_STEP && b->pass->mb != TY_NONE) {
        add_hole(s, "mb", TY_HOLE_MB);
    }
    if (kind->bytes > 0 && (full(b) || !one_size(b, k))) {
        add_number(s, "bytes", kind->bytes);
    }
    if (full(b) && kind->algorithm != NULL) {
        add_text(s, "algo", kind->algorithm);
    }
}

/* Of what has no partner: its group in a measurement; else it moves things next to the GPU, which
 * the row says, unless both ways are on it. */
static void add_whereto(struct builder *b, struct ty_view_slice *s, uint32_t k)
{
    const struct ty_program *p = b->v->program;
    const char *group = kind_of(b, k)->group;
    if (p->observed) {
        add_text(s, "measured_group", group != NULL ? group : "none");
    } else if (group != NULL && strcmp(group, ty_stream_name(p, b->ops[k].stream)) != 0) {
        add_text(s, "way", group);
    }
}

/* `inside`: a slice of its layer is around it. */
static void add_op(struct builder *b, uint32_t k, bool inside)
{
    static const char *const messages[] = {[TY_SYNC_SEND] = "send", [TY_SYNC_RECV] = "recv"};
    const struct ty_op *op = &b->ops[k];
    const struct ty_kind *kind = kind_of(b, k);
    const bool message = op->sync == TY_SYNC_SEND || op->sync == TY_SYNC_RECV;
    struct ty_view_slice *s =
        begin(b, message ? messages[op->sync] : kind->name, kind->category, k);
    s->numbered = message;
    s->depth = op->stream == TY_STREAM_COMPUTE ? 1 + inside : 0;
    s->partner = ty_view_partner_of(b->v->program, op);
    if (op->layer != TY_NONE && (full(b) || !inside)) {
        add_number(s, "layer", op->layer);
    }
    if (op->stream != TY_STREAM_COMPUTE || op->sync != TY_SYNC_LOCAL) {
        add_payload(b, s, k);
    }
    if (op->sync == TY_SYNC_LOCAL && op->stream != TY_STREAM_COMPUTE) {
        add_whereto(b, s, k);
    }
    if (op->sync == TY_SYNC_GROUP || op->sync == TY_SYNC_MEET) {
        add_hole(s, "seq", op->sync == TY_SYNC_MEET ? TY_HOLE_MEETING : TY_HOLE_ORDINAL);
    }
}

bool ty_view_shows(const struct ty_program *p, enum ty_detail detail, const struct ty_op *op)
{
    static const enum ty_detail from[] = {
        [TY_GRAIN_MICRO_BATCH] = TY_DETAIL_MICROBATCH,
        [TY_GRAIN_LAYER] = TY_DETAIL_LAYER,
        [TY_GRAIN_OPERATION] = TY_DETAIL_OP,
    };
    return detail >= from[p->words->streams[op->stream].grain];
}

unsigned ty_view_streams(const struct ty_view *v, const struct ty_gang *gang)
{
    unsigned streams = 1u << TY_STREAM_COMPUTE;
    for (struct ty_issue at = ty_issue_of(v->program, gang); ty_issue_next(&at);) {
        streams |= (ty_view_shows(v->program, v->trace->detail, at.op) ? 1u : 0u) << at.op->stream;
    }
    return streams;
}

static void find_compute(struct builder *b)
{
    b->plan->first_compute = b->plan->last_compute = TY_VIEW_NONE;
    for (uint32_t k = 0; k < b->n_ops; k++) {
        if (b->ops[k].stream == TY_STREAM_COMPUTE) {
            b->plan->last_compute = k;
            if (b->plan->first_compute == TY_VIEW_NONE) {
                b->plan->first_compute = k;
            }
        }
    }
}

static void build(struct builder *b)
{
    const enum ty_detail detail = b->v->trace->detail;
    uint32_t part_end = TY_VIEW_NONE; /* last operation of the part slice we are in */
    if (b->plan->first_compute != TY_VIEW_NONE) {
        add_pass(b);
    }
    for (uint32_t k = 0; k < b->n_ops && b->rc == 0; k++) {
        const bool compute = b->ops[k].stream == TY_STREAM_COMPUTE;
        const bool inside = part_end != TY_VIEW_NONE && k <= part_end;
        if (compute && detail >= TY_DETAIL_LAYER && !inside && part_key(b, k) != 0) {
            part_end = add_part(b, k);
        }
        if (ty_view_shows(b->v->program, detail, &b->ops[k])) {
            add_op(b, k, compute && part_end != TY_VIEW_NONE && k <= part_end);
        }
    }
}

const struct ty_view_plan *ty_view_plan(struct ty_view *v, const struct ty_pass *pass)
{
    struct ty_view_plan *plan = &v->plans[ty_view_plan_number(pass)];
    if (plan->slices != NULL) {
        return plan;
    }
    struct builder b = {.v = v, .plan = plan, .pass = pass};
    b.ops = ty_pass_ops(v->program, pass);
    b.n_ops = v->program->blocks[pass->block].n_ops;
    /* at most the pass, and for every operation itself and a part that it begins */
    plan->slices = ty_arena_array(&v->arena, struct ty_view_slice, 1 + 2 * (size_t)b.n_ops);
    if (plan->slices == NULL) {
        return NULL;
    }
    find_compute(&b);
    build(&b);
    for (uint32_t i = 0; i < plan->n && v->trace->args == TY_ARGS_NONE; i++) {
        plan->slices[i].n_args = 0;
        plan->slices[i].partner = 0;
    }
    return b.rc == 0 ? plan : NULL;
}

/* ---- when ---- */

struct ty_view_extent ty_view_extent(const struct ty_view *v, const struct ty_gang *gang,
                                     const struct ty_pass *pass, uint32_t first, uint32_t last)
{
    const uint64_t ordinal = (uint64_t)pass->first_op + last;
    const struct ty_op *op = &ty_pass_ops(v->program, pass)[last];
    struct ty_view_extent e = {
        .start = ty_timeline_starts(v->timeline, gang, (uint64_t)pass->first_op + first),
        .last = ty_timeline_starts(v->timeline, gang, ordinal)};
    e.durs = ty_view_durations(v, gang, op, ordinal, &e.dur);
    return e;
}

bool ty_view_pass_extent(struct ty_view *v, const struct ty_gang *gang, const struct ty_pass *pass,
                         struct ty_view_extent *out)
{
    const struct ty_view_plan *plan = ty_view_plan(v, pass);
    if (plan == NULL || plan->first_compute == TY_VIEW_NONE) {
        return false;
    }
    *out = ty_view_extent(v, gang, pass, plan->first_compute, plan->last_compute);
    return true;
}
