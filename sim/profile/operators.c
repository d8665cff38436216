/* operators.c - samples of kernels, from the operators that launched them.
 *
 * A kernel belongs to the outermost operator around it that the table knows, so that a product in
 * pieces, or a loss of three kernels, is one sample: the sum of its kernels. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/path.h"
#include "sim/profile/import.h"
#include "sim/profile/read/words.h"

#define X(id, text) text,
const char *const ty_import_kind_words[] = {TY_IMPORT_KINDS(X)};
const char *const ty_import_reasons[] = {TY_IMPORT_REASONS(X)};
#undef X

/* ---- kinds ---- */

/* In names of operators and kernels; the first that fits. */
static const struct ty_profile_words parts[] = {
    {TY_IMPORT_OPTIMIZER, {"Optimizer.", "_fused_adam", "adam", "Adam"}},
    {TY_IMPORT_ATTENTION, {"attention", "attn", "fmha", "flash_fwd", "flash_bwd", "sdpa"}},
    {TY_IMPORT_NORM, {"layer_norm", "LayerNorm", "rms_norm", "RMSNorm"}},
    {TY_IMPORT_GEMM,
     {"aten::mm", "addmm", "bmm", "matmul", "_scaled_mm", "gemm", "nvjet", "splitKreduce", "xmma",
      "cutlass"}},
    {TY_IMPORT_LOSS, {"cross_entropy", "nll_loss", "log_softmax"}},
    {TY_IMPORT_ACTIVATION, {"gelu", "silu", "swiglu"}},
    {TY_IMPORT_EMBEDDING, {"embedding"}},
    {TY_IMPORT_ELEMENTWISE, {"elementwise", "aten::copy_", "aten::add", "aten::mul"}},
};

/* Kernels of trainyard, but for " backward", " dgrad" and " wgrad" behind the name. */
static const struct ty_profile_words own[] = {
    {TY_IMPORT_GEMM, {"qkv", "proj", "mlp core", "mlp", "fc1", "fc2", "logits", "logits and loss"}},
    {TY_IMPORT_ATTENTION, {"attention core"}},
    {TY_IMPORT_NORM, {"norm"}},
    {TY_IMPORT_OPTIMIZER, {"optimizer step"}},
};

static enum ty_import_kind kind_of_name(const char *name)
{
    static const char *const passes[] = {" backward", " dgrad", " wgrad"};
    char bare[32] = "";
    for (size_t i = 0; i < TY_COUNT(passes) && bare[0] == '\0'; i++) {
        const size_t n = strlen(name), pass = strlen(passes[i]);
        if (ty_path_ends(name, passes[i]) && n - pass < sizeof(bare)) {
            memcpy(bare, name, n - pass);
        }
    }
    int kind = ty_profile_meaning(parts, TY_COUNT(parts), TY_MATCH_PART, name, TY_IMPORT_REST);
    kind =
        ty_profile_meaning(own, TY_COUNT(own), TY_MATCH_WHOLE, bare[0] != '\0' ? bare : name, kind);
    return (enum ty_import_kind)kind;
}

static enum ty_import_kind kind_of(const struct ty_profile *profile,
                                   const struct ty_profile_rank *rank,
                                   const struct ty_profile_kernel *k)
{
    enum ty_import_kind kind = TY_IMPORT_REST;
    if (k->phase == TY_PROFILE_OPTIMIZER) {
        return TY_IMPORT_OPTIMIZER;
    }
    for (uint32_t op = k->op; op != TY_PROFILE_NONE; op = rank->ops[op].parent) {
        const enum ty_import_kind here = kind_of_name(ty_profile_text(profile, rank->ops[op].name));
        if (rank->ops[op].annotation) {
            break; /* names that people chose */
        }
        kind = here != TY_IMPORT_REST ? here : kind;
        if (kind != TY_IMPORT_REST && kind != TY_IMPORT_ELEMENTWISE) {
            return kind;
        }
    }
    return kind != TY_IMPORT_REST ? kind : kind_of_name(ty_profile_text(profile, k->name));
}

/* ---- what is left ---- */

int ty_import_add_left(struct ty_import *im, uint32_t name, enum ty_import_reason reason,
                       bool communication, int64_t gpu_ns, uint32_t count)
{
    const uint32_t key[] = {name, reason, communication};
    const uint32_t number = ty_profile_intern(&im->lefts, (const char *)key, sizeof(key));
    if (number == TY_PROFILE_NONE || !TY_PROFILE_GROW(im->left, im->n_left, im->cap_left)) {
        return ty_fail_memory(im->err);
    }
    if (number > im->n_left) {
        im->left[im->n_left++] =
            (struct ty_import_left){.name = name, .reason = reason, .communication = communication};
    }
    im->left[number - 1].count += count;
    im->left[number - 1].gpu_ns += gpu_ns;
    return 0;
}

int ty_import_add_sample(struct ty_import *im, const struct ty_import_sample *sample)
{
    if (!TY_PROFILE_GROW(im->samples, im->n_samples, im->cap_samples)) {
        return ty_fail_memory(im->err);
    }
    im->samples[im->n_samples++] = *sample;
    return 0;
}

/* ---- a rank ---- */

struct owner {
    struct ty_import_key key;
    enum ty_import_reason reason;
    bool known;  /* the table knows such operators */
    uint32_t of; /* the outermost known operator around it or itself; TY_PROFILE_NONE */
    int64_t ns;
    uint32_t kernels;
};

/* Parents come before their children. */
static void find_owners(const struct ty_import_recorded *of, struct owner *owners)
{
    const struct ty_profile_rank *rank = of->rank;
    for (uint32_t i = 0; i < rank->n_ops; i++) {
        const uint32_t parent = rank->ops[i].parent;
        struct owner *o = &owners[i];
        *o = (struct owner){.of = parent != TY_PROFILE_NONE ? owners[parent].of : TY_PROFILE_NONE};
        if (o->of == TY_PROFILE_NONE) {
            o->reason = ty_import_recognise(of, i, &o->key, &o->known);
            o->of = o->known ? i : TY_PROFILE_NONE;
        }
    }
}

static int unowned(struct ty_import *im, const struct ty_profile_rank *rank,
                   const struct ty_profile_kernel *k)
{
    const bool has_op = k->op != TY_PROFILE_NONE;
    return ty_import_add_left(im, has_op ? rank->ops[k->op].name : k->name,
                              has_op             ? TY_IMPORT_NO_ROW
                              : im->profile->own ? TY_IMPORT_OWN_KERNEL
                                                 : TY_IMPORT_NO_OP,
                              false, k->dur_ns, 1);
}

/* A kernel of each operator that has one. */
static void find_kernels(const struct ty_profile_rank *rank, uint32_t *kernel_of)
{
    for (uint32_t i = 0; i < rank->n_ops; i++) {
        kernel_of[i] = TY_PROFILE_NONE;
    }
    for (uint32_t i = 0; i < rank->n_kernels; i++) {
        if (rank->kernels[i].op != TY_PROFILE_NONE) {
            kernel_of[rank->kernels[i].op] = i;
        }
    }
}

/* Adds the times of the kernels to their owners'. */
static int add_kernels(struct ty_import *im, uint32_t r, struct owner *owners)
{
    const struct ty_profile_rank *rank = &im->profile->ranks[r];
    int rc = 0;
    for (uint32_t i = 0; i < rank->n_kernels && rc == 0; i++) {
        const struct ty_profile_kernel *k = &rank->kernels[i];
        const bool computes = k->class == TY_PROFILE_COMPUTE;
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): find_owners sets all */
        const uint32_t owner = k->op != TY_PROFILE_NONE ? owners[k->op].of : TY_PROFILE_NONE;
        if (k->class == TY_PROFILE_COMMUNICATION || !ty_import_kernel_chosen(im, r, k)) {
            continue;
        }
        if (computes) {
            im->kind_ns[kind_of(im->profile, rank, k)] += k->dur_ns;
        }
        if (owner != TY_PROFILE_NONE && computes) { /* fills of work space are not its work */
            owners[owner].ns += k->dur_ns;
            owners[owner].kernels++;
        } else if (computes) {
            rc = unowned(im, rank, k);
        }
    }
    return rc;
}

static int import_rank(struct ty_import *im, uint32_t r, struct owner *owners, uint32_t *kernel_of)
{
    const struct ty_profile_rank *rank = &im->profile->ranks[r];
    const struct ty_import_recorded of = {im->profile, rank, kernel_of};
    find_kernels(rank, kernel_of);
    find_owners(&of, owners);
    int rc = add_kernels(im, r, owners);
    for (uint32_t i = 0; i < rank->n_ops && rc == 0; i++) {
        const struct owner *o = &owners[i];
        const struct ty_import_sample sample = {
            .key = o->key, .ns = o->ns, .gpu_ns = o->ns, .members = 1, .name = rank->ops[i].name};
        if (o->kernels > 0 && o->ns > 0) {
            rc = o->reason == TY_IMPORT_TOLD ? ty_import_add_sample(im, &sample)
                                             : ty_import_add_left(im, rank->ops[i].name, o->reason,
                                                                  false, o->ns, o->kernels);
        }
    }
    return rc;
}

int ty_import_operators(struct ty_import *im)
{
    int rc = 0;
    for (uint32_t r = 0; r < im->profile->n_ranks && rc == 0; r++) {
        const size_t n = (size_t)im->profile->ranks[r].n_ops + 1;
        struct owner *owners = malloc(n * sizeof(*owners));
        uint32_t *kernel_of = malloc(n * sizeof(*kernel_of));
        rc = owners != NULL && kernel_of != NULL ? import_rank(im, r, owners, kernel_of)
                                                 : ty_fail_memory(im->err);
        free(owners);
        free(kernel_of);
    }
    return rc;
}
