/* import_operators.c - samples of kernels, from the operators that launched them.
 *
 * A kernel belongs to the outermost operator around it that the table knows, so that a product in
 * pieces, or a loss of three kernels, is one sample: the sum of its kernels. */
#include <stdlib.h>
#include <string.h>

#include "sim/profile/import.h"

const char *ty_import_kind_word(int kind)
{
    static const char *const words[] = {
#define X(id, word) word,
        TY_IMPORT_KINDS(X)
#undef X
    };
    return words[kind];
}

const char *ty_import_reason_text(int reason)
{
    static const char *const texts[] = {
#define X(id, text) text,
        TY_IMPORT_REASONS(X)
#undef X
    };
    return texts[reason];
}

/* ---- kinds ---- */

/* In names of operators and kernels; the first that fits. The last lines are trainyard's own. */
static const struct {
    const char *part;
    enum ty_import_kind kind;
} parts[] = {
    {"Optimizer.", TY_IMPORT_OPTIMIZER},
    {"_fused_adam", TY_IMPORT_OPTIMIZER},
    {"adam", TY_IMPORT_OPTIMIZER},
    {"Adam", TY_IMPORT_OPTIMIZER},
    {"attention", TY_IMPORT_ATTENTION},
    {"attn", TY_IMPORT_ATTENTION},
    {"fmha", TY_IMPORT_ATTENTION},
    {"flash_fwd", TY_IMPORT_ATTENTION},
    {"flash_bwd", TY_IMPORT_ATTENTION},
    {"sdpa", TY_IMPORT_ATTENTION},
    {"layer_norm", TY_IMPORT_NORM},
    {"LayerNorm", TY_IMPORT_NORM},
    {"rms_norm", TY_IMPORT_NORM},
    {"RMSNorm", TY_IMPORT_NORM},
    {"aten::mm", TY_IMPORT_GEMM},
    {"addmm", TY_IMPORT_GEMM},
    {"bmm", TY_IMPORT_GEMM},
    {"matmul", TY_IMPORT_GEMM},
    {"_scaled_mm", TY_IMPORT_GEMM},
    {"gemm", TY_IMPORT_GEMM},
    {"nvjet", TY_IMPORT_GEMM},
    {"splitKreduce", TY_IMPORT_GEMM},
    {"xmma", TY_IMPORT_GEMM},
    {"cutlass", TY_IMPORT_GEMM},
    {"cross_entropy", TY_IMPORT_LOSS},
    {"nll_loss", TY_IMPORT_LOSS},
    {"log_softmax", TY_IMPORT_LOSS},
    {"gelu", TY_IMPORT_ACTIVATION},
    {"silu", TY_IMPORT_ACTIVATION},
    {"swiglu", TY_IMPORT_ACTIVATION},
    {"embedding", TY_IMPORT_EMBEDDING},
    {"elementwise", TY_IMPORT_ELEMENTWISE},
    {"aten::copy_", TY_IMPORT_ELEMENTWISE},
    {"aten::add", TY_IMPORT_ELEMENTWISE},
    {"aten::mul", TY_IMPORT_ELEMENTWISE},
};

static const struct {
    const char *name; /* of a kernel, but for " backward", " dgrad" and " wgrad" behind it */
    enum ty_import_kind kind;
} own[] = {
    {"qkv", TY_IMPORT_GEMM},
    {"proj", TY_IMPORT_GEMM},
    {"mlp core", TY_IMPORT_GEMM},
    {"mlp", TY_IMPORT_GEMM},
    {"fc1", TY_IMPORT_GEMM},
    {"fc2", TY_IMPORT_GEMM},
    {"logits", TY_IMPORT_GEMM},
    {"logits and loss", TY_IMPORT_GEMM},
    {"attention core", TY_IMPORT_ATTENTION},
    {"norm", TY_IMPORT_NORM},
    {"optimizer step", TY_IMPORT_OPTIMIZER},
};

static enum ty_import_kind kind_of_name(const char *name)
{
    for (size_t i = 0; i < TY_COUNT(own); i++) {
        const size_t n = strlen(own[i].name);
        if (strncmp(own[i].name, name, n) == 0 &&
            (name[n] == '\0' || strcmp(name + n, " backward") == 0 ||
             strcmp(name + n, " dgrad") == 0 || strcmp(name + n, " wgrad") == 0)) {
            return own[i].kind;
        }
    }
    for (size_t i = 0; i < TY_COUNT(parts); i++) {
        if (strstr(name, parts[i].part) != NULL) {
            return parts[i].kind;
        }
    }
    return TY_IMPORT_REST;
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
    for (uint32_t i = im->left_of[name]; i != 0; i = im->left[i - 1].next) {
        struct ty_import_left *left = &im->left[i - 1];
        if (left->reason == reason && left->communication == communication) {
            left->count += count;
            left->gpu_ns += gpu_ns;
            return 0;
        }
    }
    if (!ty_profile_grow(&im->left, im->n_left, &im->cap_left, sizeof(*im->left))) {
        return ty_fail_memory(im->err);
    }
    im->left[im->n_left] = (struct ty_import_left){.name = name,
                                                   .reason = reason,
                                                   .count = count,
                                                   .gpu_ns = gpu_ns,
                                                   .communication = communication,
                                                   .next = im->left_of[name]};
    im->left_of[name] = ++im->n_left;
    return 0;
}

int ty_import_add_sample(struct ty_import *im, const struct ty_import_sample *sample)
{
    if (!ty_profile_grow(&im->samples, im->n_samples, &im->cap_samples, sizeof(*im->samples))) {
        return ty_fail_memory(im->err);
    }
    im->samples[im->n_samples++] = *sample;
    return 0;
}

bool ty_import_kernel_chosen(const struct ty_import *im, uint32_t rank,
                             const struct ty_profile_kernel *k)
{
    return im->chosen == NULL ||
           (k->step != TY_PROFILE_NONE && im->chosen[im->chosen_at[rank] + k->step]);
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
