/* chrome_plan.c - which slices a pass makes at each level of detail, and their heads.
 *
 *     compute row   forward 3 [ attention [ norm qkv ... ] mlp [ ... ] ]      parents first
 *     other rows    all-gather, send 3, ...
 *
 * A pass reaches from its first compute operation to its last. Inside it, consecutive compute
 * operations of one layer and part form a slice, and so do those that repeat forward work.
 * Names are `kind number` and nothing else: viewers colour by name without its digits. */
#include <stdio.h>

#include "traces/chrome.h"

/* ---- text with holes ---- */

/* Fixed text, at most two names and a few numbers: fits. */
struct head {
    char text[TY_CHROME_TEXT];
    struct ty_chrome_slice slice;
    bool any_arg;
};

static void add(struct head *h, const char *s)
{
    h->slice.len = (uint32_t)(ty_put_str(h->text + h->slice.len, s) - h->text);
}

static void add_hole(struct head *h, enum ty_chrome_hole hole)
{
    h->slice.hole[h->slice.n_holes] = (uint8_t)hole;
    h->slice.at[h->slice.n_holes++] = (uint16_t)h->slice.len;
}

static void add_name(struct head *h, const char *name)
{
    h->slice.len =
        (uint32_t)(ty_chrome_put_name(h->text + h->slice.len, name, TY_CHROME_NAME) - h->text);
}

static void add_arg(struct head *h, const char *key)
{
    add(h, h->any_arg ? ",\"" : "\"");
    add(h, key);
    add(h, "\":");
    h->any_arg = true;
}

static void add_arg_hole(struct head *h, const char *key, enum ty_chrome_hole hole)
{
    add_arg(h, key);
    add_hole(h, hole);
}

static void add_arg_number(struct head *h, const char *key, double x)
{
    char digits[40];
    snprintf(digits, sizeof(digits), "%.0f", x);
    add_arg(h, key);
    add(h, digits);
}

static void add_arg_string(struct head *h, const char *key, const char *s)
{
    add_arg(h, key);
    add(h, "\"");
    add_name(h, s);
    add(h, "\"");
}

/* Begins a line: everything up to the arguments. `number`: the name ends with the micro-batch. */
static void begin(struct head *h, const char *name, bool number, uint8_t category, uint8_t stream)
{
    char tid[24];
    h->slice = (struct ty_chrome_slice){.len = 0};
    h->any_arg = false;
    add(h, ",\n{\"name\":\"");
    add_name(h, name);
    if (number) {
        add(h, " ");
        add_hole(h, TY_HOLE_MB);
    }
    add(h, "\",\"cat\":\"");
    add(h, ty_category_name(category));
    add(h, "\",\"cname\":\"");
    add(h, ty_chrome_cname(category));
    snprintf(tid, sizeof(tid), "\",\"ph\":\"X\",\"tid\":%u", (unsigned)ty_chrome_tid(stream));
    add(h, tid);
    add(h, ",\"args\":{");
}

/* Ends the arguments, unless the piece of the member goes on. */
static void end(struct head *h)
{
    if (h->slice.piece != 0) {
        add(h, h->any_arg ? "," : "");
    } else if (h->any_arg) {
        add(h, "}");
    } else {
        h->slice.len -= (uint32_t)sizeof(",\"args\":{") - 1;
    }
}

/* ---- slices of a block ---- */

struct builder {
    struct ty_chrome *c;
    struct ty_chrome_plan *plan;
    const struct ty_pass *pass;
    const struct ty_op *ops;
    uint32_t n_ops;
    struct head head;
    int rc;
};

static const struct ty_kind *kind_of(const struct builder *b, uint32_t op)
{
    return &b->c->program->kinds[b->ops[op].kind];
}

/* Keeps the head as the slice from operation `first` to `last`. */
static void keep(struct builder *b, uint32_t first, uint32_t last)
{
    struct ty_chrome_slice *slice = &b->plan->slices[b->plan->n++];
    end(&b->head);
    char *text = ty_arena_array(&b->c->arena, char, b->head.slice.len + 2 * (size_t)TY_PUT_BLOCK);
    if (text == NULL) {
        b->rc = TY_ENOMEM;
        return;
    }
    memcpy(text, b->head.text, b->head.slice.len);
    *slice = b->head.slice;
    slice->text = text;
    slice->first = first;
    slice->last = last;
}

/* "8-15", the layers of a pass; empty when it has none. */
static void layers(const struct builder *b, char out[16])
{
    unsigned low = TY_NONE, high = 0;
    for (uint32_t k = 0; k < b->n_ops; k++) {
        const unsigned layer = b->ops[k].layer;
        if (layer != TY_NONE && b->ops[k].stream == TY_STREAM_COMPUTE) {
            low = layer < low ? layer : low;
            high = layer > high ? layer : high;
        }
    }
    out[0] = '\0';
    if (low != TY_NONE) {
        snprintf(out, 16, low == high ? "%u" : "%u-%u", low, high);
    }
}

static void add_pass(struct builder *b)
{
    struct head *h = &b->head;
    const bool numbered = b->pass->phase != TY_PHASE_STEP;
    char range[16];
    layers(b, range);
    begin(h, ty_phase_word(b->pass->phase), numbered, (uint8_t)ty_phase_category(b->pass->phase),
          TY_STREAM_COMPUTE);
    if (numbered) {
        add_arg_hole(h, "mb", TY_HOLE_MB);
        add_arg_hole(h, "stage", TY_HOLE_STAGE);
        if (range[0] != '\0') {
            add_arg_string(h, "layers", range);
        }
    }
    if (!numbered || b->c->program->n_steps > 1) {
        add_arg_hole(h, "step", TY_HOLE_STEP);
    }
    keep(b, b->plan->first_compute, b->plan->last_compute);
}

/* Compute operations belong to one part slice when they agree in this; 0: to none. */
static uint32_t part_key(const struct builder *b, uint32_t op)
{
    const uint32_t repeated = kind_of(b, op)->category == TY_CAT_RECOMPUTE;
    const uint32_t part = repeated ? TY_N_PARTS : b->ops[op].part;
    return part == TY_PART_NONE ? 0 : part << 16 | b->ops[op].layer;
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
            category = (uint8_t)ty_phase_category(b->pass->phase);
        }
    }
    const bool repeated = category == TY_CAT_RECOMPUTE;
    begin(&b->head, repeated ? "recompute" : ty_part_name(b->ops[first].part), false, category,
          TY_STREAM_COMPUTE);
    if (b->ops[first].layer != TY_NONE) {
        add_arg_number(&b->head, "layer", b->ops[first].layer);
    }
    keep(b, first, last);
    return last;
}

static void add_op(struct builder *b, uint32_t k)
{
    static const char *const messages[] = {[TY_SYNC_SEND] = "send", [TY_SYNC_RECV] = "recv"};
    const struct ty_op *op = &b->ops[k];
    const struct ty_kind *kind = kind_of(b, k);
    const bool message = op->sync == TY_SYNC_SEND || op->sync == TY_SYNC_RECV;
    struct head *h = &b->head;
    begin(h, message ? messages[op->sync] : kind->name, message, kind->category, op->stream);
    h->slice.piece = ty_chrome_piece_of(b->c->program, op);
    if (op->layer != TY_NONE) {
        add_arg_number(h, "layer", op->layer);
    }
    if (op->stream != TY_STREAM_COMPUTE || op->sync != TY_SYNC_LOCAL) {
        if (b->pass->phase != TY_PHASE_STEP) {
            add_arg_hole(h, "mb", TY_HOLE_MB);
        }
        if (kind->bytes > 0) {
            add_arg_number(h, "bytes", kind->bytes);
        }
        if (kind->algorithm != NULL) {
            add_arg_string(h, "algo", kind->algorithm);
        }
    }
    if (op->sync == TY_SYNC_GROUP || op->sync == TY_SYNC_MEET) {
        add_arg_hole(h, "seq", op->sync == TY_SYNC_MEET ? TY_HOLE_STEP : TY_HOLE_ORDINAL);
    }
    keep(b, k, k);
}

bool ty_chrome_shows_stream(enum ty_detail detail, enum ty_stream stream)
{
    static const enum ty_detail from[] = {
        [TY_STREAM_COMPUTE] = TY_DETAIL_OP,      [TY_STREAM_TENSOR] = TY_DETAIL_LAYER,
        [TY_STREAM_DATA] = TY_DETAIL_MICROBATCH, [TY_STREAM_SEND] = TY_DETAIL_MICROBATCH,
        [TY_STREAM_RECV] = TY_DETAIL_MICROBATCH, [TY_STREAM_REPLICA] = TY_DETAIL_MICROBATCH,
    };
    return detail >= from[stream];
}

bool ty_chrome_shows(enum ty_detail detail, const struct ty_op *op)
{
    return ty_chrome_shows_stream(detail, (enum ty_stream)op->stream);
}

static void find_compute(struct builder *b)
{
    b->plan->first_compute = b->plan->last_compute = TY_CHROME_NONE;
    for (uint32_t k = 0; k < b->n_ops; k++) {
        if (b->ops[k].stream == TY_STREAM_COMPUTE) {
            b->plan->last_compute = k;
            if (b->plan->first_compute == TY_CHROME_NONE) {
                b->plan->first_compute = k;
            }
        }
    }
}

static void build(struct builder *b)
{
    const enum ty_detail detail = b->c->trace->detail;
    uint32_t part_end = TY_CHROME_NONE; /* last operation of the part slice we are in */
    if (b->plan->first_compute != TY_CHROME_NONE) {
        add_pass(b);
    }
    for (uint32_t k = 0; k < b->n_ops && b->rc == 0; k++) {
        const bool compute = b->ops[k].stream == TY_STREAM_COMPUTE;
        const bool inside = part_end != TY_CHROME_NONE && k <= part_end;
        if (compute && detail >= TY_DETAIL_LAYER && !inside && part_key(b, k) != 0) {
            part_end = add_part(b, k);
        }
        if (ty_chrome_shows(detail, &b->ops[k])) {
            add_op(b, k);
        }
    }
}

const struct ty_chrome_plan *ty_chrome_plan(struct ty_chrome *c, const struct ty_pass *pass)
{
    struct ty_chrome_plan *plan = &c->plans[(size_t)pass->block * TY_N_PHASES + pass->phase];
    if (plan->slices != NULL) {
        return plan;
    }
    struct builder b = {.c = c, .plan = plan, .pass = pass};
    b.ops = ty_pass_ops(c->program, pass);
    b.n_ops = c->program->blocks[pass->block].n_ops;
    /* at most the pass, and for every operation itself and a part that it begins */
    plan->slices = ty_arena_array(&c->arena, struct ty_chrome_slice, 1 + 2 * (size_t)b.n_ops);
    if (plan->slices == NULL) {
        return NULL;
    }
    find_compute(&b);
    build(&b);
    return b.rc == 0 ? plan : NULL;
}

bool ty_chrome_extent(struct ty_chrome *c, const struct ty_gang *gang, const struct ty_pass *pass,
                      struct ty_chrome_extent *out)
{
    const struct ty_chrome_plan *plan = ty_chrome_plan(c, pass);
    if (plan == NULL || plan->first_compute == TY_CHROME_NONE) {
        return false;
    }
    const uint64_t last = (uint64_t)pass->first_op + plan->last_compute;
    const struct ty_op *op = &ty_pass_ops(c->program, pass)[plan->last_compute];
    out->start = ty_timeline_starts(c->timeline, gang, pass->first_op + plan->first_compute);
    out->last = ty_timeline_starts(c->timeline, gang, last);
    out->durs = ty_chrome_durations(c, gang, op, last, &out->dur);
    return true;
}
