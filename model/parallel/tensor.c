/* tensor.c - tensor parallelism: what must divide what, the share of a rank, its sums.
 *
 * In one dimension (Shoeybi et al. 2019) ranks have whole heads, and columns of one product
 * after whose rows comes the next: the result of the second is a sum over them, and so is the
 * input gradient of the first. Logits stay sharded; of each token the 32-bit maximum, target
 * logit and sum of exponentials are reduced (section 3). Without framework.parallel_loss they
 * are gathered, and every rank computes the whole loss. */
#include <math.h>
#include <stdio.h>

#include "model/check.h"
#include "model/parallel/mesh.h"
#include "sim/base/text.h"

/* ---- more than one dimension ---- */

/* Numbers of ranks that can be such a group, and the share of each; what becomes of a product is
 * in tensor_2d.c and tensor_3d.c.
 *
 *            ranks    hidden states            a matrix of h x N        must divide
 *     2d     q q      b / q      x h / q       h / q    x N / q         b, h, f, heads by q
 *     2.5d   q q d    b / (q d)  x h / q       h / q    x N / q         b by q d as well
 *     3d     q q q    b / (q q)  x h / q       h / (q q) x N / q        b, h, f by q q
 *
 * Sequences are dealt out and not tokens, so that the attention core, with heads / q, needs nobody
 * else. The vocabulary is padded, as in one dimension (layout.c). */

static void mesh_shard(const struct ty_mesh *mesh, struct ty_shard *shard)
{
    shard->hidden /= mesh->side;
    shard->sequences /= ty_mesh_parts(mesh);
    shard->tokens /= ty_mesh_parts(mesh);
}

/* ---- how many ranks ---- */

static uint64_t power(uint64_t side, uint32_t times)
{
    return times == 3 ? side * side * side : side * side;
}

/* "9 or 16": the next squares or cubes of 2 or more. */
static void add_powers(struct ty_text *t, uint32_t ranks, uint32_t times)
{
    const uint32_t below = ty_root(ranks, times);
    const uint64_t above = power(below < 2 ? 2 : below + 1, times);
    if (below >= 2) {
        ty_text_add(t, "%llu or ", (unsigned long long)power(below, times));
    }
    ty_text_add(t, "%llu", (unsigned long long)above);
}

/* Whether so many are grids of 2 x 2 or more, two or more of them; the flattest. */
static bool is_stack(uint64_t ranks, uint64_t *side)
{
    for (*side = 2; *side * *side * 2 <= ranks; ++*side) {
        if (ranks % (*side * *side) == 0) {
            return true;
        }
    }
    return false;
}

static void add_stack(struct ty_text *t, uint64_t ranks)
{
    uint64_t side;
    if (is_stack(ranks, &side)) {
        ty_text_add(t, "%llu (%llux%llux%llu)", (unsigned long long)ranks, (unsigned long long)side,
                    (unsigned long long)side, (unsigned long long)(ranks / (side * side)));
    }
}

static void add_stacks(struct ty_text *t, uint32_t ranks)
{
    uint64_t below = ranks, above = (uint64_t)ranks + 1, side;
    while (below > 0 && !is_stack(below, &side)) {
        below--;
    }
    while (!is_stack(above, &side)) {
        above++;
    }
    add_stack(t, below);
    ty_text_add(t, "%s", below > 0 ? " or " : "");
    add_stack(t, above);
}

static int fail_ranks(const struct ty_layout *layout, const struct ty_section *section,
                      struct ty_err *err)
{
    const int scheme = layout->tensor_scheme;
    char depth[32] = "d";
    struct ty_text near = {.data = NULL};
    add_powers(&near, layout->tensor, 2);
    ty_text_add(&near, " for 2d; ");
    add_stacks(&near, layout->tensor);
    ty_text_add(&near, " for 2.5d; ");
    add_powers(&near, layout->tensor, 3);
    ty_text_add(&near, " for 3d");
    if (layout->tensor_depth > 1) {
        (void)snprintf(depth, sizeof(depth), "%u", (unsigned)layout->tensor_depth);
    }
    const int rc =
        near.failed ? ty_fail_memory(err)
                    : ty_check_fail(section, "tensor", err,
                                    "%u is no q x q%s%s with tensor_scheme %s; try %s",
                                    (unsigned)layout->tensor, scheme == TY_TENSOR_2D ? "" : " x ",
                                    scheme == TY_TENSOR_2D    ? ""
                                    : scheme == TY_TENSOR_25D ? depth
                                                              : "q",
                                    ty_scheme_words[scheme].name, near.data);
    ty_text_release(&near);
    return rc;
}

static int check_ranks(const struct ty_layout *layout, const struct ty_section *section,
                       struct ty_err *err)
{
    const struct ty_mesh mesh = ty_layout_mesh(layout);
    const bool grids = layout->tensor_scheme == TY_TENSOR_25D;
    if (!grids && layout->tensor_depth > 1) {
        return ty_check_fail(section, "tensor_depth", err,
                             "%u grids with tensor_scheme %s, which has one; write 1, or a "
                             "tensor_scheme of 2.5d",
                             (unsigned)layout->tensor_depth,
                             ty_scheme_words[layout->tensor_scheme].name);
    }
    if (layout->tensor == 1 && layout->tensor_depth == 1) {
        return 0;
    }
    const uint64_t ranks = power(mesh.side, 2) * mesh.depth;
    return ranks == layout->tensor && mesh.side > 1 ? 0 : fail_ranks(layout, section, err);
}

/* ---- what else there is ---- */

/* What no library has in more than one dimension. */
static int check_model(const struct ty_layout *layout, const struct ty_section *section,
                       const struct ty_arch *arch, struct ty_err *err)
{
    const char *scheme = ty_scheme_words[layout->tensor_scheme].name;
    const struct {
        bool there;
        const char *what;
    } rows[] = {
        {ty_arch_is_moe(arch), "experts (model.experts)"},
        {ty_arch_is_latent(arch), "latent attention (model.kv_latent)"},
        {arch->sparse_topk > 0, "native sparse attention (model.sparse_topk)"},
        {arch->attention_gate, "a gate behind attention (model.attention_gate)"},
        {arch->n_patterns > 0, "layers of several kinds (model.layer_pattern)"},
        {arch->norm_kind > TY_NORM_RMS, "norms that lack parameters (model.norm_kind)"},
        {ty_arch_norms(arch) == 4, "norms behind the blocks (model.norms)"},
        {arch->qk_norm && arch->qk_norm_kind == TY_QK_NORM_WHOLE,
         "a norm of all heads at once (model.qk_norm_kind)"},
        {arch->embedding_norm, "a norm of the embedding (model.embedding_norm)"},
        {arch->head_bias, "a bias of the output matrix (model.head_bias)"},
        {arch->frozen != 0, "frozen weights (model.frozen, model.lora)"},
        {arch->mtp > 0, "modules for further tokens (model.mtp)"},
        {ty_dtype_is_narrow(arch->dtype), "GEMMs in fp8 or nvfp4 (model.dtype)"},
        {layout->framework.expert_overlap, "overlapped passes (framework.expert_overlap)"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        if (rows[i].there) {
            return ty_check_fail(section, "tensor_scheme", err,
                                 "%s: there is no such scheme for %s; write 1d", scheme,
                                 rows[i].what);
        }
    }
    if (layout->sequence_parallel) {
        return ty_check_fail(section, "sequence_parallel", err,
                             "true: with tensor_scheme %s hidden states are cut everywhere "
                             "already; write false, or a tensor_scheme of 1d",
                             scheme);
    }
    return 0;
}

/* What a side must divide, and its square where matrices are cut in two dimensions and weights once
 * more. */
struct divided {
    const char *name;
    uint32_t value, by;
};
#define DIVIDED 4

static const struct divided *first_left(const struct ty_layout *layout, const struct ty_arch *arch,
                                        struct divided rows[DIVIDED])
{
    const struct ty_mesh mesh = ty_layout_mesh(layout);
    const uint32_t q = mesh.side, cut = mesh.cut;
    const struct divided all[DIVIDED] = {{"model.heads", arch->heads, q},
                                         {"model.kv_heads", arch->kv_heads, q},
                                         {"model.hidden", arch->hidden, cut},
                                         {"model.ffn", arch->ffn, cut}};
    for (uint32_t i = 0; i < DIVIDED; i++) {
        rows[i] = all[i];
        if (rows[i].value % rows[i].by != 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/* Numbers of ranks that would do with this scheme and depth. */
static struct ty_numbers mesh_candidates(const struct ty_layout *layout, const struct ty_arch *arch,
                                         uint32_t gpus)
{
    struct ty_numbers list = {.n = 0};
    const uint64_t rest = (uint64_t)layout->context * layout->pipeline;
    for (uint32_t side = 1; (uint64_t)side * side * rest <= gpus; side++) {
        struct divided rows[DIVIDED];
        struct ty_layout other = *layout;
        const bool cube = layout->tensor_scheme == TY_TENSOR_3D;
        const uint64_t ranks = power(side, 2) * (cube ? side : layout->tensor_depth);
        other.tensor = (uint32_t)ranks;
        if (ranks * rest <= gpus && gpus % (ranks * rest) == 0 && (side > 1 || ranks == 1) &&
            first_left(&other, arch, rows) == NULL) {
            ty_numbers_add(&list, ranks);
        }
    }
    return list;
}

static int check_divides(const struct ty_layout *layout, const struct ty_section *section,
                         const struct ty_arch *arch, uint32_t gpus, struct ty_err *err)
{
    struct divided rows[DIVIDED];
    const struct divided *left = first_left(layout, arch, rows);
    if (left == NULL) {
        return 0;
    }
    const struct ty_numbers list = mesh_candidates(layout, arch, gpus);
    return ty_check_fail(section, "tensor", err,
                         "%u: with tensor_scheme %s %u must divide %s (%u); try %s%sa %s of %u",
                         (unsigned)layout->tensor, ty_scheme_words[layout->tensor_scheme].name,
                         (unsigned)left->by, left->name, (unsigned)left->value, list.text,
                         list.n > 0 ? ", or " : "", left->name,
                         (unsigned)(left->value / left->by + 1) * left->by);
}

/* Whether tensor groups can be such a grid. */
static int mesh_check(const struct ty_layout *layout, const struct ty_section *section,
                      const struct ty_arch *arch, uint32_t gpus, struct ty_err *err)
{
    int rc = check_ranks(layout, section, err);
    if (rc == 0 && layout->tensor > 1) {
        rc = check_model(layout, section, arch, err);
    }
    return rc == 0 && layout->tensor > 1 ? check_divides(layout, section, arch, gpus, err) : rc;
}

static void shard(const struct ty_arch *arch, const struct ty_layout *layout,
                  struct ty_shard *shard)
{
    const struct ty_mesh mesh = ty_layout_mesh(layout);
    const double t = mesh.side;
    shard->heads = arch->heads / t;
    shard->kv_heads = fmax(arch->kv_heads / t, 1); /* shared by several when there are fewer */
    shard->ffn = arch->ffn / t;
    shard->state_heads = arch->state_heads / t;
    shard->state_groups = fmax(arch->state_groups / t, 1);
    shard->vocabulary = arch->vocabulary / t;
    shard->ranks = t * mesh.cut;
    shard->cut = mesh.cut;
    shard->hidden = arch->hidden;
    if (mesh.scheme != TY_TENSOR_1D) {
        mesh_shard(&mesh, shard);
    }
}

static void around(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const struct ty_op_comm sum = {
        .group = TY_GROUP_TENSOR, .coll = TY_COLL_ALL_REDUCE, .bytes = ty_block_hidden_bytes(b)};
    if (b->layout->tensor == 1) {
        return;
    }
    if (ty_layout_is_mesh(b->layout)) {
        const struct ty_mesh mesh = ty_layout_mesh(b->layout);
        (mesh.scheme == TY_TENSOR_3D ? ty_mesh_3d_around : ty_mesh_2d_around)(b, &mesh, op);
        return;
    }
    if (op->column && !op->detached && (op->joined & TY_JOINED_INPUT) == 0) {
        ty_block_column_comm(b, op, TY_AFTER_DGRAD, TY_COLL_ALL_REDUCE, op->n_reduces);
    }
    if (op->loss) {
        struct ty_op_comm loss = sum;
        loss.calls = 3;
        loss.bytes = 4 * b->shard.tokens;
        ty_block_comm(op, TY_AFTER_FORWARD, &loss, 1);
    }
    if (op->gathers > 0) { /* its gradient is cut, which takes nobody else */
        struct ty_op_comm whole = sum;
        whole.coll = TY_COLL_ALL_GATHER;
        whole.bytes = b->shard.tokens * op->gathers * ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
        ty_block_comm(op, TY_AFTER_FORWARD, &whole, 1);
    }
    if (op->row && (op->joined & TY_JOINED_RESULT) == 0) {
        ty_block_comm(op, TY_AFTER_FORWARD, &sum, 1);
    }
}

/* ---- what must divide what ---- */

/* Whether one tensor rank of t gets whole heads and equal shares. With fewer key and value heads
 * than ranks, each of those heads is kept by t / kv_heads ranks. */
static bool tensor_divides(const struct ty_arch *arch, uint32_t t)
{
    uint32_t of;
    return ty_tensor_undivided(arch, t, &of) == NULL;
}

static struct ty_numbers candidates_of(const struct ty_layout *layout, const struct ty_arch *arch,
                                       uint32_t gpus)
{
    struct ty_numbers list = {.n = 0};
    const uint64_t rest = (uint64_t)layout->context * layout->pipeline;
    for (uint32_t t = 1; t <= arch->heads; t++) {
        if (tensor_divides(arch, t) && gpus % (t * rest) == 0) {
            ty_numbers_add(&list, t);
        }
    }
    for (uint32_t t = 1; list.n == 0 && t <= arch->heads; t++) {
        if (tensor_divides(arch, t)) {
            ty_numbers_add(&list, t);
        }
    }
    return list;
}

static int check(const struct ty_layout *layout, const struct ty_section *section,
                 const struct ty_arch *arch, uint32_t gpus, struct ty_err *err)
{
    const uint32_t t = layout->tensor;
    uint32_t of;
    if (layout->tensor_scheme != TY_TENSOR_1D || layout->tensor_depth > 1) {
        return arch->block == TY_BLOCK_PARALLEL && t > 1
                   ? ty_check_fail(
                         section, "tensor_scheme", err,
                         "%s: supported only for layers whose blocks follow each other; write 1d, "
                         "or model.block: serial",
                         ty_scheme_words[layout->tensor_scheme].name)
                   : mesh_check(layout, section, arch, gpus, err);
    }
    if (arch->lora.rank % t != 0) {
        return ty_check_fail(section, "tensor", err,
                             "%u does not divide model.lora.rank (%u), which tensor ranks share; "
                             "try %u, or a rank of %u",
                             (unsigned)t, (unsigned)arch->lora.rank,
                             (unsigned)ty_check_divisor(arch->lora.rank, t),
                             (unsigned)(arch->lora.rank / t + 1) * t);
    }
    const char *undivided = ty_tensor_undivided(arch, t, &of);
    if (undivided == NULL) {
        return 0;
    }
    const struct ty_numbers candidates = candidates_of(layout, arch, gpus);
    return ty_check_fail(section, "tensor", err, "%u does not divide %s (%u); try %s", (unsigned)t,
                         undivided, (unsigned)of, candidates.text);
}

const struct ty_parallel ty_parallel_tensor = {.check = check, .shard = shard, .around = around};
