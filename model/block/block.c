/* block.c - the units of a model, as lists of operators: embedding, layers, head. */
#include "model/block/block.h"

#include <math.h>
#include <string.h>

#include "model/block/maker.h"
#include "model/block/memory.h"

/* ---- what predicts a further token: the way into its layer (DeepSeek-V3, section 2.2) ---- */

/*
 *     embedding of the next token, norm  |
 *                                        | concatenated, projection 2 h x h
 *     hidden states, norm                |
 *
 * A layer like the model's last follows, then final norm, logits and loss; the output matrix is
 * that of the head, the embedding that of the first stage, of which the last has a copy when it is
 * on another rank. All modules are on the last stage. The projection is column-parallel, and its
 * result is gathered (Megatron-LM, multi_token_prediction.py). Kept, elements per token: inputs of
 * both norms and of the projection, 4 h. */

static void mtp_embedding(struct ty_block_maker *b)
{
    const double h = b->arch->hidden, rows = (double)b->arch->vocabulary + b->arch->positions;
    struct ty_unit_op *op = ty_block_op(b, TY_PART_MTP, "mtp embedding", "mtp embedding backward",
                                        "mtp embedding backward");
    op->row = op->first = true;
    ty_block_elementwise(b, op, TY_OPERATOR_EMBEDDING, TY_ANY_KERNEL, b->shard.tokens * h);
    /* one for all modules, unless it is that of a tied head */
    const bool copy = ty_layout_ends_apart(b->layout) && !b->arch->tied;
    ty_block_weight(op, "embedding", copy ? rows * h / b->shard.ranks / b->arch->mtp : 0);
}

static void mtp_projection(struct ty_block_maker *b)
{
    const double h = b->arch->hidden, out[] = {h / b->shard.ranks};
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_MTP, "mtp proj", "mtp proj dgrad", "mtp proj wgrad");
    op->column = true;
    op->width[0] = 2 * h;
    op->gathers = h;
    ty_block_linear(b, op, 2 * h, out, 1);
    ty_block_weight(op, "mtp projection", 2 * h * out[0]);
}

static void block_mtp(struct ty_block_maker *b)
{
    const double hidden =
        b->shard.own_tokens * b->arch->hidden * ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    mtp_embedding(b);
    struct ty_unit_op *op = ty_block_op(b, TY_PART_MTP, "mtp norms", "mtp norms backward", NULL);
    op->recompute = TY_RECOMPUTE_NORM;
    ty_block_norm(b, op);
    ty_block_norm(b, op);
    mtp_projection(b);
    ty_block_keep(b, TY_INPUT, 1, "inputs of the MTP norms", 2 * hidden);
    ty_block_keep_input(b, 1, 0, 2, "inputs of the MTP projection",
                        ty_block_kept_input(b, &b->out->op[2], 0, 0, 2 * ty_block_input_bytes(b)));
}

/* ---- the ends: embedding; final norm, logits and loss ---- */

/* Of the rank's own tokens, behind the sum of the parts of the vocabulary. */
static void embedding_norm(struct ty_block_maker *b)
{
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    struct ty_unit_op *op = ty_block_op(b, TY_PART_EMBEDDING, "norm", "norm backward", NULL);
    ty_block_norm(b, op);
    ty_block_keep(b, 0, 1, "input of the embedding's norm",
                  b->shard.own_tokens * b->shard.hidden * e);
}

static void block_embedding(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_EMBEDDING, "embedding", "embedding backward", "embedding backward");
    op->row = op->first = true;
    ty_block_elementwise(b, op, TY_OPERATOR_EMBEDDING, TY_ANY_KERNEL,
                         b->shard.tokens * b->shard.hidden);
    ty_block_weight(op, "embedding",
                    ((double)arch->vocabulary + arch->positions) * arch->hidden / b->shard.ranks);
    if (arch->embedding_norm) {
        embedding_norm(b);
    }
    ty_block_keep_input(b, TY_INPUT, 0, 0, "token numbers", 8 * b->shard.tokens); /* 64 bit */
    ty_block_keep_input(b, 0, 0, 0, "embedding's dropout mask",
                        arch->dropout > 0 ? b->shard.own_tokens * b->shard.hidden : 0);
}

/* Megatron-LM's vocab_parallel_cross_entropy is fullest when the 32-bit copy has had its maximum
 * taken off and the exponentials, which become the probabilities, are there too: 14 B a logit.
 * Their gradient is written over them and cast. */
static void sharded(const struct ty_block_maker *b, uint32_t loss)
{
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const double n = b->shard.tokens * b->shard.vocabulary;
    ty_block_keep(b, loss, loss, "probabilities of the loss, 32 bit", 4 * n);
    ty_block_need(b, TY_LIFE_LOSS, TY_PART_HEAD, "logits", 2 * n);
    ty_block_need(b, TY_LIFE_LOSS, TY_PART_HEAD, "logits in 32 bit", 4 * n);
    ty_block_need(b, TY_LIFE_LOSS, TY_PART_HEAD, "logits less their maximum, 32 bit", 4 * n);
    ty_block_need(b, TY_LIFE_LOSS_BACKWARD, TY_PART_HEAD, "gradient of logits", e * n);
}

/* torch.nn.functional.cross_entropy of all columns. Going forward the 32-bit copy is there until
 * its log-probabilities are; the 16-bit logits, which a pipeline's pass has put out, stay
 * until its backward. That is fullest in the gradient of log_softmax, which reads the one of
 * nll_loss: 14 B a logit, of V columns on every tensor rank. */
static void whole(const struct ty_block_maker *b, uint32_t loss)
{
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const double n = b->shard.tokens * b->arch->vocabulary;
    ty_block_keep(b, loss - 1, loss, "logits, all columns", e * n);
    ty_block_keep(b, loss, loss, "log-probabilities, 32 bit", 4 * n);
    ty_block_need(b, TY_LIFE_LOSS, TY_PART_HEAD, "logits in 32 bit", 4 * n);
    ty_block_need(b, TY_LIFE_LOSS_BACKWARD, TY_PART_HEAD, "gradient of log-probabilities", 4 * n);
    ty_block_need(b, TY_LIFE_LOSS_BACKWARD, TY_PART_HEAD, "gradient of logits in 32 bit", 4 * n);
}

int ty_loss_of(const struct ty_framework *framework)
{
    return framework->fused_loss ? TY_FUSED : framework->parallel_loss ? TY_ANY_KERNEL : TY_UNFUSED;
}

/* In an operator of its own where not all of it is alike: gathered, or run again, or its product
 * alone is in steps. */
static void loss(struct ty_block_maker *b)
{
    const struct ty_framework *framework = &b->layout->framework;
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const bool parallel = framework->parallel_loss;
    const double columns = parallel ? b->shard.vocabulary : b->arch->vocabulary;
    const uint32_t product = b->out->n - 1;
    struct ty_unit_op *op = &b->out->op[product];
    if (!parallel || framework->recompute_head || ty_layout_is_mesh(b->layout)) {
        op->name = "logits";
        op->gathers = parallel ? 0 : b->arch->vocabulary;
        op = ty_block_op(b, TY_PART_HEAD, "loss", "loss backward", NULL);
    }
    op->loss = parallel;
    ty_block_elementwise(b, op, TY_OPERATOR_CROSS_ENTROPY, ty_loss_of(framework),
                         b->shard.tokens * columns);
    for (uint32_t i = 0; i < framework->loss_metrics; i++) {
        ty_block_elementwise(b, op, TY_OPERATOR_CROSS_ENTROPY, TY_LOSS_METRIC,
                             b->shard.tokens * columns);
    }
    const uint32_t last = b->out->n - 1;
    if (framework->fused_loss) {
        ty_block_keep(b, last, last, "logits", e * b->shard.tokens * columns);
        ty_block_need_wgrad(b, TY_LIFE_LOSS_BACKWARD, &b->out->op[product],
                            "gradient of the output matrix");
    } else {
        (parallel ? sharded : whole)(b, last);
    }
    if (framework->buffered_logits && b->kind == TY_UNIT_HEAD && b->layout->micro_batches > 1 &&
        b->layout->zero < 2) { /* others have no pipeline engine */
        ty_block_need(b, TY_LIFE_BUFFERED, TY_PART_HEAD, "logits in pipeline buffers",
                      e * b->shard.tokens * columns);
    }
}

/* Without framework.regather_inputs the matrix keeps its whole input. */
static void block_head(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const double e = ty_dtype_bytes((enum ty_dtype)arch->dtype), h = b->shard.hidden;
    const double out[] = {b->shard.vocabulary};
    const bool grid = ty_layout_is_mesh(b->layout);
    /* a tied matrix is a copy when the last stage is on another rank than the first; that of a
     * further token is the head's */
    const bool biased = b->kind == TY_UNIT_HEAD && arch->head_bias;
    const bool own = b->kind == TY_UNIT_HEAD && (!arch->tied || ty_layout_ends_apart(b->layout));
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_HEAD, grid ? "norm" : "logits and loss",
                    grid ? "norm backward" : "logits dgrad", grid ? NULL : "logits wgrad");
    ty_block_norm(b, op);
    if (grid) { /* every product is an operator */
        op = ty_block_op(b, TY_PART_HEAD, "logits", "logits dgrad", "logits wgrad");
    }
    const uint32_t at = b->out->n - 1;
    op->column = true;
    ty_block_linear(b, op, h, out, 1);
    ty_block_weight(op, "output matrix",
                    (own ? arch->hidden * b->shard.vocabulary / b->shard.cut : 0) +
                        (biased ? b->shard.vocabulary / b->shard.cut : 0));
    ty_block_keep(b, TY_INPUT, 0, "input of the final norm", b->shard.own_tokens * e * h);
    ty_block_keep_input(b, grid ? 0 : TY_INPUT, 0, at, "input of the output matrix",
                        ty_block_kept_input(b, &b->out->op[at], 0, 0, ty_block_input_bytes(b)));
    loss(b);
}

/* ---- a pre-norm decoder layer: the stream of hidden states, and two blocks ---- */

/*
 *     x = x + attention(norm(x))     x = x + mlp(norm(x))        (Vaswani et al. 2017)
 *     y = norm(x)                    x = x + attention(y) + mlp(y)        (Wang and Komatsuzaki
 *                                                                        2021; model.block)
 *
 * Parallel blocks may have a norm each (GPT-NeoX), and blocks in a row a second one behind them,
 * x + norm(attention(norm(x))) (Gemma 2; model.norms). Norms behind the blocks only (OLMo 2) cost
 * and keep what those before them do: the same tensors under other names.
 *
 * Kept, h wide, e bytes an element, on every tensor rank (a share of the tokens with sequence
 * parallelism; without framework.regather_inputs all of them of what goes into the blocks): the
 * inputs of both norms and of both blocks, 4 e h; two dropout masks 2 h; unfused
 * norms: 32-bit copies of their input and output 16 h. With what the blocks keep, e = 2, dropout,
 * GELU, f = 4 h, a d = h and the softmax in one kernel these are the s b h (10 + 24/t + 5 a s /
 * (h t)) of Korthikanti et al. 2022, table 2. */

#define NORM 1u /* of the kernels of a norm, behind the addition */

/* A block's norm, with the addition of what the block before it gave. */
static uint32_t norm(struct ty_block_maker *b, enum ty_part part)
{
    struct ty_unit_op *op = ty_block_op(b, part, "norm", "norm backward", NULL);
    ty_block_elementwise(b, op, TY_OPERATOR_RESIDUAL, TY_ANY_KERNEL,
                         b->shard.own_tokens * b->shard.hidden);
    ty_block_norm(b, op);
    op->recompute = TY_RECOMPUTE_NORM;
    op->frozen = ty_arch_freezes(b->arch, TY_FREEZE_NORM);
    return b->out->n - 1;
}

/* Another norm, behind no addition: of what a block gives, or of a parallel block's input. */
static uint32_t norm_alone(struct ty_block_maker *b, enum ty_part part)
{
    struct ty_unit_op *op = ty_block_op(b, part, "norm", "norm backward", NULL);
    ty_block_norm(b, op);
    op->recompute = TY_RECOMPUTE_NORM;
    op->frozen = ty_arch_freezes(b->arch, TY_FREEZE_NORM);
    return b->out->n - 1;
}

/* One behind a block, where there are any. */
static void norm_behind(struct ty_block_maker *b, enum ty_part part)
{
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    if (ty_arch_norms(b->arch) == 4) {
        const uint32_t at = norm_alone(b, part);
        ty_block_keep_of(b, at - 1, b->out->op[at - 1].n_kernels - 1, at,
                         "inputs of the norm behind a block",
                         b->shard.own_tokens * e * b->shard.hidden);
    }
}

/* The block behind the second norm, which is number `second`. One expert gets every token: that is
 * an MLP. */
static uint32_t feed_forward(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const bool experts = ty_arch_has_experts(arch, b->layer), routed = experts && arch->experts > 1;
    const uint32_t second = norm(b, routed ? TY_PART_MOE : TY_PART_MLP);
    if (experts) {
        b->shard.ffn = ((double)arch->expert_ffn + arch->shared_ffn) / b->layout->tensor;
    }
    (routed ? ty_block_experts : ty_block_mlp)(b);
    if ((ty_arch_blocks(arch, b->layer) & TY_HAS_RWKV) != 0) {
        ty_block_shift(b, second + 1, 1);
    }
    const bool whole = b->out->op[second + 1].column; /* a router sees tokens of its own */
    ty_block_keep_input(
        b, second, NORM, second + 1, routed ? "inputs of the experts" : "inputs of the MLP",
        ty_block_kept_input(
            b, &b->out->op[second + 1], TY_TARGET_FC1, b->shard.tokens * b->shard.hidden,
            whole ? ty_block_input_bytes(b) : b->shard.own_tokens * ty_block_row_bytes(b, false)));
    norm_behind(b, routed ? TY_PART_MOE : TY_PART_MLP);
    return second;
}

/* The MLP next to attention, and the norm of its own where it has one. Without, both read the
 * result of norm `first`: it is gathered once, and its gradient reduced once. Returns the MLP's
 * first. */
static uint32_t mlp_beside(struct ty_block_maker *b, uint32_t first)
{
    const bool apart = ty_arch_norms(b->arch) > 1;
    if (apart) {
        (void)norm_alone(b, TY_PART_MLP);
    }
    const uint32_t mlp = b->out->n;
    ty_block_mlp(b);
    b->out->op[first + 1].joined = apart ? 0 : TY_JOINED_AGAIN;
    b->out->op[mlp].joined = apart ? 0 : TY_JOINED_INPUT;
    return mlp;
}

/* What the norms of parallel blocks leave for these. */
static void keep_beside(const struct ty_block_maker *b, uint32_t first, uint32_t mlp)
{
    const double all = b->shard.tokens * b->shard.hidden, bytes = ty_block_input_bytes(b);
    const struct ty_unit_op *op = b->out->op;
    const double qkv = ty_block_kept_input(b, &op[first + 1], TY_TARGET_QKV, all, bytes);
    const double inputs = ty_block_kept_input(b, &op[mlp], TY_TARGET_FC1, all, bytes);
    if (ty_arch_norms(b->arch) == 1) {
        ty_block_keep_input(b, first, NORM, mlp, "inputs of q, k, v and the MLP",
                            fmax(qkv, inputs));
        return;
    }
    ty_block_keep_input(b, first, NORM, first + 1, "inputs of q, k, v", qkv);
    ty_block_keep_input(b, mlp - 1, 0, mlp, "inputs of the MLP", inputs);
}

/* One norm, or one for each, and both blocks behind it. */
static void parallel(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const double e = ty_dtype_bytes((enum ty_dtype)arch->dtype), h = b->shard.hidden;
    const double own = b->shard.own_tokens;
    const uint32_t first = norm(b, TY_PART_ATTENTION);
    ty_block_attention(b);
    const uint32_t proj = b->out->n - 1;
    const uint32_t mlp = mlp_beside(b, first);
    b->out->op[proj].joined = TY_JOINED_RESULT;
    ty_block_keep(b, TY_INPUT, first, "layer inputs", own * e * h);
    keep_beside(b, first, mlp);
    ty_block_keep(b, first, mlp, "dropout masks", arch->dropout > 0 ? own * 2 * h : 0);
    ty_block_keep_of(b, first, NORM, mlp, "32-bit copies of unfused norms",
                     arch->norm == TY_UNFUSED ? ty_arch_norms(arch) * own * 8 * h : 0);
    ty_block_need(b, TY_LIFE_BACKWARD, TY_PART_NONE, "gradients of hidden states",
                  own * e * h + b->shard.tokens * e * h);
}

/* The blocks that mix tokens, behind one norm; several stand side by side, and their results are
 * added. They are one part of the layer. */
static void mixers(struct ty_block_maker *b, uint32_t blocks, enum ty_part part)
{
    const uint32_t before = b->out->n, kept = b->out->n_saved;
    for (uint32_t bit = 1; bit < TY_HAS_MLP; bit *= 2) {
        const uint32_t first = b->out->n;
        if ((blocks & bit) == 0) {
            continue;
        }
        if (bit == TY_HAS_ATTENTION) {
            ty_block_attention(b);
        } else {
            ty_block_state(b, (enum ty_layer_block)bit);
        }
        if (first > before) {
            b->out->op[before].joined |= TY_JOINED_AGAIN;
            b->out->op[first].joined |= TY_JOINED_INPUT;
            b->out->op[first - 1].joined |= TY_JOINED_RESULT;
        }
    }
    for (uint32_t i = before; i < b->out->n; i++) {
        b->out->op[i].part = part;
    }
    for (uint32_t i = kept; i < b->out->n_saved; i++) {
        struct ty_saved *x = &b->out->saved[i];
        x->part = x->part != TY_PART_NONE ? part : TY_PART_NONE;
    }
}

static void block_layer(struct ty_block_maker *b)
{
    if (b->arch->block == TY_BLOCK_PARALLEL) {
        parallel(b);
        return;
    }
    const struct ty_arch *arch = b->arch;
    const double e = ty_dtype_bytes((enum ty_dtype)arch->dtype), h = b->shard.hidden;
    const double own = b->shard.own_tokens, hidden = own * e * h;
    const uint32_t blocks = ty_arch_blocks(arch, b->layer), first = b->out->n;
    const bool mixes = (blocks & TY_HAS_MIXER) != 0, feeds = (blocks & TY_HAS_FFN) != 0;
    uint32_t second = first;
    b->out->hybrid = arch->n_patterns > 0;
    if (mixes) {
        const enum ty_part part =
            (blocks & TY_HAS_ATTENTION) != 0 ? TY_PART_ATTENTION : TY_PART_STATE;
        (void)norm(b, part);
        mixers(b, blocks, part);
        norm_behind(b, part);
    }
    if (feeds) {
        second = feed_forward(b);
    }
    ty_block_keep(b, TY_INPUT, first, "layer inputs", hidden);
    /* a latent's matrix works on the rank's own tokens */
    const bool latent = arch->query_latent > 0 && (blocks & TY_HAS_ATTENTION) != 0;
    ty_block_keep_input(
        b, first, NORM, first + 1,
        (blocks & TY_HAS_STATE) != 0 ? "inputs of the state" : "inputs of q, k, v",
        !mixes ? 0
               : ty_block_kept_input(b, &b->out->op[first + 1],
                                     ((blocks & TY_HAS_STATE) != 0 ? TY_TARGET_IN : 0) |
                                         ((blocks & TY_HAS_ATTENTION) != 0 ? TY_TARGET_QKV : 0),
                                     latent ? own * h : b->shard.tokens * h,
                                     latent ? hidden : ty_block_input_bytes(b)));
    ty_block_keep(b, second - 1, second, "inputs of the MLP's norm", mixes && feeds ? hidden : 0);
    ty_block_keep(b, first, second, "dropout masks", arch->dropout > 0 ? own * 2 * h : 0);
    ty_block_keep_of(b, first, NORM, second, "32-bit copies of unfused norms",
                     arch->norm == TY_UNFUSED ? ty_arch_layer_norms(arch, b->layer) * own * 8 * h
                                              : 0);
    /* With sequence parallelism a linear layer's whole input, gathered again, has the place of its
     * gradient. */
    ty_block_need(b, TY_LIFE_BACKWARD, TY_PART_NONE, "gradients of hidden states",
                  own * e * h + b->shard.tokens * e * h);
}

struct ty_shard ty_block_shard(const struct ty_arch *arch, const struct ty_layout *layout,
                               const struct ty_parallel *const *kinds)
{
    struct ty_shard shard = {.sequences = layout->micro_batch,
                             .sequence = arch->sequence,
                             .tokens = (double)layout->micro_batch * arch->sequence,
                             .context = 1};
    for (size_t i = 0; kinds[i] != NULL; i++) {
        if (kinds[i]->shard != NULL) {
            kinds[i]->shard(arch, layout, &shard);
        }
    }
    return shard;
}

/* ---- units ---- */

/* Whether the backward finds a tensor made anew. */
static bool comes_back(const struct ty_unit_ops *unit, const struct ty_saved *x)
{
    if (x->life != TY_LIFE_KEPT || x->made == TY_INPUT) {
        return false;
    }
    const struct ty_unit_op *maker = &unit->op[x->made], *user = &unit->op[x->used];
    return (maker->again >> x->kernel & 1u) != 0 && (maker->drops || user->again != 0);
}

/* Activations of a layer that are kept are cast to a few bits behind the operator that makes them,
 * and back before the backward needs them: those of one operator at a time. */
static void compress(struct ty_block_maker *b)
{
    const int bits = b->layout->activation_bits;
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype), by = TY_GROUP_BYTES(bits) / e;
    double elements[TY_UNIT_OPS] = {0}, most = 0;
    for (uint32_t i = 0; i < b->out->n_saved; i++) {
        struct ty_saved *x = &b->out->saved[i];
        const bool first = x->made != TY_INPUT && !ty_op_has_parts(&b->out->op[x->made]);
        if (x->life == TY_LIFE_KEPT &&
            strstr(x->name, "mask") == NULL) { /* masks have no 16 bits */
            double *at = &elements[first ? x->made : x->used];
            *at += x->bytes / e;
            most = fmax(most, *at * e);
            x->bytes *= by;
            x->routed *= by;
        }
    }
    for (uint32_t i = 0; i < b->out->n; i++) {
        if (elements[i] > 0) {
            ty_block_elementwise(b, &b->out->op[i], TY_OPERATOR_CAST,
                                 bits == 8 ? TY_CAST_8BIT : TY_CAST_4BIT, elements[i]);
            b->out->op[i].kernel[b->out->op[i].n_kernels - 1].gradients = 1;
        }
    }
    ty_block_need(b, TY_LIFE_BACKWARD, TY_PART_NONE, "activations in 16 bits again", most);
}

/* What kinds of parallelism do to the operators of a finished list, and what that gives up. */
static void transform(struct ty_block_maker *b, const struct ty_parallel *const *kinds)
{
    struct ty_unit_ops *unit = b->out;
    for (size_t k = 0; kinds[k] != NULL; k++) {
        for (uint32_t i = 0; i < unit->n && kinds[k]->around != NULL; i++) {
            kinds[k]->around(b, &unit->op[i]);
        }
    }
    for (uint32_t i = 0; i < unit->n_saved; i++) {
        struct ty_saved *x = &unit->saved[i];
        x->life = comes_back(unit, x) ? TY_LIFE_RECOMPUTED : x->life;
    }
    if (b->layout->activation_bits > 0 && ty_unit_is_layer(b->kind)) {
        compress(b);
    }
    ty_block_hold_gradients(b);
    for (uint32_t i = 0; i < unit->n_saved && b->layout->framework.retain_graph; i++) {
        struct ty_saved *x = &unit->saved[i];
        const bool held = x->life == TY_LIFE_KEPT || x->life == TY_LIFE_RECOMPUTED;
        const bool loss = ty_unit_is_head(b->kind) && x->made != TY_INPUT;
        x->weight = x->weight || (held && !loss);
    }
}

/* Kinds of layers are numbered by mode, then by what differs in the model: modes are in the
 * layout. */
static enum ty_unit_kind kind_of(const struct ty_arch *arch, uint32_t layer, uint32_t mode)
{
    layer = layer < arch->layers ? layer : arch->layers - 1;
    return TY_UNIT_LAYER +
           (enum ty_unit_kind)(mode * ty_arch_layer_kinds(arch) + ty_arch_layer_kind(arch, layer));
}

enum ty_unit_kind ty_layer_kind(const struct ty_arch *arch, const struct ty_layers *layers,
                                uint32_t i)
{
    return kind_of(arch, layers->first + i, ty_layers_mode(layers, i));
}

uint32_t ty_kind_mode(const struct ty_arch *arch, enum ty_unit_kind kind)
{
    return (uint32_t)(kind - TY_UNIT_LAYER) / ty_arch_layer_kinds(arch);
}

uint32_t ty_kind_first(const struct ty_arch *arch, enum ty_unit_kind kind)
{
    const uint32_t mode = ty_kind_mode(arch, kind);
    uint32_t i = 0;
    while (i < arch->layers && kind_of(arch, i, mode) != kind) {
        i++;
    }
    return i;
}

/* What of a unit runs again. Layers that a run does not have repeat nothing. */
static uint32_t recompute_of(const struct ty_arch *arch, const struct ty_layout *layout,
                             enum ty_unit_kind kind)
{
    if (!ty_unit_is_layer(kind)) {
        return ty_layout_last_mode(layout, arch);
    }
    return ty_layout_mode(layout, ty_kind_mode(arch, kind));
}

static bool has_kind(const struct ty_block_maker *b)
{
    const uint32_t modes = b->layout->recompute_layers.n == 0 ? 1 : b->layout->n_modes;
    return ty_kind_mode(b->arch, b->kind) < modes && b->layer < b->arch->layers;
}

void ty_block_units(struct ty_units *units, const struct ty_arch *arch,
                    const struct ty_layout *layout, const struct ty_parallel *const *kinds)
{
    units->shard = ty_block_shard(arch, layout, kinds);
    units->stashed = layout->home.activations != TY_HOME_GPU;
    units->splits = ty_memory_splits(layout);
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        struct ty_block_maker b = {.arch = arch,
                                   .layout = layout,
                                   .shard = units->shard,
                                   .kind = k,
                                   .out = &units->kind[k]};
        b.layer = ty_unit_is_layer(k) ? ty_kind_first(arch, k) : arch->layers;
        b.out->n = b.out->n_saved = b.out->recompute = 0;
        b.out->hybrid = false;
        if (k == TY_UNIT_EMBEDDING) {
            block_embedding(&b);
        } else if (k == TY_UNIT_HEAD || (k == TY_UNIT_MTP_HEAD && arch->mtp > 0)) {
            block_head(&b);
        } else if (k == TY_UNIT_MTP && arch->mtp > 0) {
            block_mtp(&b);
        } else if (ty_unit_is_layer(k) && has_kind(&b)) {
            block_layer(&b);
            ty_block_share(&b);
        }
        if (b.out->n > 0) {
            ty_block_adapt(&b);
            b.out->recompute = recompute_of(arch, layout, k);
            transform(&b, kinds);
        }
    }
    ty_placeholders_make(&units->placeholders, arch, layout, units->kind);
}
