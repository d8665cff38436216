/* context.c - context parallelism: ranks share the tokens of every sequence.
 *
 * Outside the attention core each works on its own tokens and knows nothing of the others. In the
 * core queries need the keys and values before them, wherever they are (c tokens a rank, n ranks):
 *
 *     zigzag      rank i has chunks i and 2 n - 1 - i of 2 n, so that all have the same work. Keys
 *                 and values go round a ring: in each of n rounds a rank works on those it has, in
 *                 half a square of c tokens, and passes them on. Going backward, their gradients
 *                 travel with them, and home with the last message. (Transformer Engine's p2p.)
 *     ring        the same with contiguous chunks: rank i has work in the first i + 1 rounds, whole
 *                 squares but for the first (Liu et al. 2023)
 *     all-gather  keys and values of the whole sequence are gathered, before the forward and again
 *                 before the backward, and their gradients scattered (Llama 3, section 3.3.2)
 *     ulysses     heads are scattered while the sequence is gathered, by all-to-all, and back
 *                 (Jacobs et al. 2023, DeepSpeed-Ulysses)
 *     hybrid      ulysses among neighbours, zigzag among such groups (Fang and Zhao 2024, USP)
 *
 * A partial output is merged into what came before it: elementwise work of each round but the
 * first. Messages run during the work of a round, collectives of the other kinds next to
 * nothing. */
#include <math.h>

#include "model/block/maker.h"
#include "model/check.h"

#define RING_MAX 1024u /* kinds of rounds grow with the square of the ranks */

/* Bytes on one rank of queries, of the output, and of keys or values: the mean of both. */
struct sizes {
    double queries, output, keys;
};

static struct sizes sizes(const struct ty_block_maker *b)
{
    const double token = b->shard.tokens * ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const double q = ty_arch_query_width(b->arch), v = ty_arch_value_width(b->arch);
    return (struct sizes){token * q * b->shard.heads, token * v * b->shard.heads,
                          token * (q + v) / 2 * b->shard.kv_heads};
}

/* ---- methods ---- */

static void ring(const struct ty_block_maker *b, struct ty_unit_op *op, enum ty_comm_group group,
                 uint32_t ranks, bool balanced)
{
    const double keys = sizes(b).keys, e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const struct ty_attention_core *own = &op->kernel[0].attention;
    const double value = ty_arch_value_width(b->arch), wider = own->head_dim / value;
    struct ty_kernel next = op->kernel[0];
    if (ranks == 1) {
        return;
    }
    next.attention.queries = own->tokens;
    const bool skips = !own->full; /* kernels leave out what is masked, and so whole rounds */
    next.attention.tokens = balanced && skips ? own->tokens / 2 : own->tokens;
    next.attention.unmasked = true;
    ty_block_kernel(op, &next);
    ty_block_kernel(
        op, &(struct ty_kernel){.op = TY_OPERATOR_MERGE,
                                .dtype = b->arch->dtype,
                                .variant = b->layout->framework.fused_merge ? TY_FUSED : TY_UNFUSED,
                                .gradients = wider + (1 + wider) * own->kv_heads / own->heads,
                                .elements = own->sequences * own->tokens * own->heads * value});
    op->rounds = (struct ty_op_rounds){.n = ranks,
                                       .n_first = 1,
                                       .uneven = !balanced && skips,
                                       .group = (uint8_t)group,
                                       .forward_B = 2 * keys,
                                       .first_B = 2 * keys,
                                       .middle_B = 4 * keys,
                                       .last_B = 2 * keys};
    ty_block_need(b, TY_LIFE_BACKWARD, op->part, "keys, values and their gradients on the way",
                  8 * keys);
    ty_block_need(b, TY_LIFE_BACKWARD, op->part, "32-bit sums of partial outputs",
                  4 / e * sizes(b).output);
}

/* Where an indexer chooses: one latent of a token in place of its keys and values, or its key. */
static void all_gather(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const uint32_t n = b->layout->context;
    struct ty_kernel *kernel = &op->kernel[0];
    struct ty_attention_core *core = &kernel->attention;
    struct ty_index *index = &kernel->index;
    /* of native sparse attention: compressed keys; compressed values and two kinds of keys */
    const double stride = b->arch->sparse_stride, sparse = b->arch->sparse_topk > 0;
    const double times = sparse == 0 ? 2 : op->detached ? 1 / stride : 4 + 1 / stride;
    const double token = b->shard.tokens * ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const double keys = kernel->op == TY_OPERATOR_INDEX ? token * index->width
                        : core->chosen                  ? token * core->head_dim
                                                        : times * sizes(b).keys;
    struct ty_op_comm whole = {
        .group = TY_GROUP_CONTEXT, .coll = TY_COLL_ALL_GATHER, .bytes = keys * n};
    if (kernel->op == TY_OPERATOR_INDEX) {
        index->queries = index->tokens;
        index->tokens *= n;
    } else {
        for (uint32_t i = 0; i < op->n_kernels && op->kernel[i].op == TY_OPERATOR_ATTENTION; i++) {
            core = &op->kernel[i].attention;
            core->queries = core->queries > 0 ? core->queries : core->tokens;
            core->tokens *= n;
        }
    }
    ty_block_comm(op, TY_BEFORE_FORWARD, &whole, 1);
    if (!ty_op_has_backward(op)) {
        return;
    }
    ty_block_comm(op, TY_BEFORE_DGRAD, &whole, 1);
    whole.coll = TY_COLL_REDUCE_SCATTER;
    ty_block_comm(op, TY_AFTER_DGRAD, &whole, 1);
    ty_block_need(b, TY_LIFE_BACKWARD, op->part, "keys and values of all, and their gradients",
                  2 * whole.bytes);
}

/* Heads for tokens, among the ranks of a group. */
static void ulysses(const struct ty_block_maker *b, struct ty_unit_op *op, enum ty_comm_group group,
                    uint32_t ranks)
{
    const struct sizes x = sizes(b);
    const struct ty_op_comm output = {
        .group = (uint8_t)group, .coll = TY_COLL_ALL_TO_ALL, .bytes = x.output};
    struct ty_op_comm queries = output, keys = output;
    struct ty_attention_core *core = &op->kernel[0].attention;
    if (ranks == 1) {
        return;
    }
    queries.bytes = x.queries;
    keys.bytes = x.keys;
    core->tokens *= ranks;
    core->heads /= ranks;
    core->kv_heads = fmax(core->kv_heads / ranks, 1);
    ty_block_comm(op, TY_BEFORE_FORWARD, &queries, 1);
    ty_block_comm(op, TY_BEFORE_FORWARD, &keys, 2);
    ty_block_comm(op, TY_AFTER_FORWARD, &output, 1);
    ty_block_comm(op, TY_BEFORE_DGRAD, &output, 1);
    ty_block_comm(op, TY_AFTER_DGRAD, &queries, 1);
    ty_block_comm(op, TY_AFTER_DGRAD, &keys, 2);
    ty_block_need(b, TY_LIFE_BACKWARD, op->part, "q, k, v and output in both layouts",
                  x.queries + x.output + 2 * x.keys);
}

/* Of a scan: states of the ranks before it, one for each rank, go round (of two chunks each where
 * they are zigzag), and their gradients back; or heads are scattered. */
static void scan(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    struct ty_scan *x = &op->kernel[0].scan;
    const uint32_t n = b->layout->context;
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype),
                 tokens = x->sequences * x->tokens;
    const bool halves = b->layout->context_method == TY_CONTEXT_ZIGZAG;
    struct ty_op_comm states = {.group = TY_GROUP_CONTEXT,
                                .coll = TY_COLL_ALL_GATHER,
                                .name = "states",
                                .bytes = 4 * (halves ? 2 : 1) * n * x->sequences * x->heads *
                                         x->key * x->value};
    struct ty_op_comm in = {.group = TY_GROUP_CONTEXT,
                            .coll = TY_COLL_ALL_TO_ALL,
                            .bytes = e * tokens *
                                     (2 * x->heads * x->value + 2 * x->groups * x->key + x->heads)};
    struct ty_op_comm out = in;
    out.bytes = e * tokens * x->heads * x->value;
    if (b->layout->context_method != TY_CONTEXT_ULYSSES) {
        ty_block_comm(op, TY_BEFORE_FORWARD, &states, 1);
        ty_block_comm(op, TY_BEFORE_DGRAD, &states, 1);
        return;
    }
    x->tokens *= n;
    x->heads /= n;
    x->groups = fmax(x->groups / n, 1);
    ty_block_comm(op, TY_BEFORE_FORWARD, &in, 1);
    ty_block_comm(op, TY_AFTER_FORWARD, &out, 1);
    ty_block_comm(op, TY_BEFORE_DGRAD, &out, 1);
    ty_block_comm(op, TY_AFTER_DGRAD, &in, 1);
}

/* ---- the kind ---- */

static void shard(const struct ty_arch *arch, const struct ty_layout *layout,
                  struct ty_shard *shard)
{
    (void)arch;
    shard->context = layout->context;
    shard->sequence /= layout->context;
    shard->tokens /= layout->context;
}

static void around(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const uint32_t n = b->layout->context, inner = b->layout->context_inner;
    if (n > 1 && op->kernel[0].op == TY_OPERATOR_SCAN) {
        scan(b, op);
        return;
    }
    const bool core = op->kernel[0].op == TY_OPERATOR_ATTENTION;
    if (n == 1 || (!core && op->kernel[0].op != TY_OPERATOR_INDEX)) {
        return;
    }
    switch ((enum ty_context_method)b->layout->context_method) {
    case TY_CONTEXT_ZIGZAG:
    case TY_CONTEXT_RING:
        ring(b, op, TY_GROUP_CONTEXT, n, b->layout->context_method == TY_CONTEXT_ZIGZAG);
        break;
    case TY_CONTEXT_ALL_GATHER:
        all_gather(b, op);
        break;
    case TY_CONTEXT_ULYSSES:
        ulysses(b, op, TY_GROUP_CONTEXT, n);
        break;
    case TY_CONTEXT_HYBRID:
        ulysses(b, op, TY_GROUP_CONTEXT_INNER, inner);
        ring(b, op, TY_GROUP_CONTEXT_OUTER, n / inner, true);
        break;
    }
}

/* ---- what must divide what ---- */

/* Degrees that would do, on so many GPUs; 1 shares nothing. */
static struct ty_numbers candidates(const struct ty_layout *layout, const struct ty_arch *arch,
                                    uint32_t gpus,
                                    bool (*divides)(const struct ty_layout *,
                                                    const struct ty_arch *, uint32_t))
{
    struct ty_numbers list = {.n = 0};
    const uint64_t rest = (uint64_t)layout->tensor * layout->pipeline;
    for (uint32_t n = 1; n * rest <= gpus; n++) {
        if (gpus % (n * rest) == 0 && (n == 1 || divides(layout, arch, n))) {
            ty_numbers_add(&list, n);
        }
    }
    return list;
}

static bool heads_divide(const struct ty_layout *layout, const struct ty_arch *arch, uint32_t n)
{
    return ty_heads_divide(arch, ty_layout_mesh(layout).side * n) &&
           arch->state_heads % (layout->tensor * n) == 0;
}

static bool chunks_divide(const struct ty_layout *layout, const struct ty_arch *arch, uint32_t n)
{
    const uint32_t halves = layout->context_method == TY_CONTEXT_RING ? 1 : 2;
    return arch->sequence % (halves * n) == 0;
}

static int check_heads(const struct ty_layout *layout, const struct ty_section *section,
                       const struct ty_arch *arch, uint32_t gpus, struct ty_err *err)
{
    const bool hybrid = layout->context_method == TY_CONTEXT_HYBRID;
    const char *key = hybrid ? "context_inner" : "context";
    const uint32_t n = hybrid ? layout->context_inner : layout->context;
    if (n == 1 || heads_divide(layout, arch, n)) {
        return 0;
    }
    return ty_check_fail(
        section, key, err,
        "%u: heads are scattered over tensor x %s = %u x %u ranks, which must divide model.heads "
        "(%u) and model.kv_heads (%u); try %s, or context_method zigzag",
        (unsigned)n, key, (unsigned)layout->tensor, (unsigned)n, (unsigned)arch->heads,
        (unsigned)arch->kv_heads,
        candidates(layout, arch,
                   hybrid ? layout->context * layout->tensor * layout->pipeline : gpus,
                   heads_divide)
            .text);
}

static int check(const struct ty_layout *layout, const struct ty_section *section,
                 const struct ty_arch *arch, uint32_t gpus, struct ty_err *err)
{
    const bool scatters = ty_layout_scatters_heads(layout);
    if (layout->context == 1) {
        return 0;
    }
    if (arch->attention < TY_ATTENTION_FLASH1) {
        return ty_check_fail(section, "context", err,
                             "%u: parts of a sequence are put together by flash kernels, and "
                             "model.attention is %s; write flash2 there, or 1 here",
                             (unsigned)layout->context, ty_attention_words[arch->attention].name);
    }
    if ((ty_arch_is_indexed(arch) || arch->sparse_topk > 0) &&
        layout->context_method != TY_CONTEXT_ALL_GATHER) {
        return ty_check_fail(
            section, "context_method", err,
            "%s: keys that queries choose (model.%s) are those of all ranks; write "
            "all-gather",
            ty_context_words[layout->context_method].name,
            ty_arch_is_indexed(arch) ? "index_topk" : "sparse_topk");
    }
    const bool rings = layout->context_method == TY_CONTEXT_HYBRID
                           ? layout->context_inner < layout->context
                           : layout->context_method != TY_CONTEXT_ALL_GATHER &&
                                 layout->context_method != TY_CONTEXT_ULYSSES;
    if (rings && arch->window > 0 && arch->window < arch->sequence) {
        return ty_check_fail(section, "context_method", err,
                             "%s: no kernel has rings and a window (model.window %u); write "
                             "all-gather or ulysses",
                             ty_context_words[layout->context_method].name, (unsigned)arch->window);
    }
    if (layout->context_method == TY_CONTEXT_RING && layout->context > RING_MAX) {
        return ty_check_fail(section, "context", err,
                             "%u: of a plain ring every round is timed rank by rank, and at most "
                             "%u ranks are simulated; write that, or context_method zigzag",
                             (unsigned)layout->context, RING_MAX);
    }
    if (!chunks_divide(layout, arch, layout->context)) {
        return ty_check_fail(section, "context", err,
                             "%u ranks have %s each, and that does not divide model.sequence (%u); "
                             "try %s",
                             (unsigned)layout->context,
                             layout->context_method == TY_CONTEXT_RING ? "a chunk" : "two chunks",
                             (unsigned)arch->sequence,
                             candidates(layout, arch, gpus, chunks_divide).text);
    }
    if (layout->context % layout->context_inner != 0) {
        return ty_check_fail(section, "context_inner", err,
                             "%u does not divide layout.context (%u); write auto",
                             (unsigned)layout->context_inner, (unsigned)layout->context);
    }
    return scatters ? check_heads(layout, section, arch, gpus, err) : 0;
}

const struct ty_parallel ty_parallel_context = {.check = check, .shard = shard, .around = around};
