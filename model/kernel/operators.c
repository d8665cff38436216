/* operators.c - a table of measured kernels, asked for one. See operators.h. */
#include "model/kernel/operators.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/kernel/operators_internal.h"
#include "sim/base/number_text.h"
#include "topology/gpu_name.h"

const char *ty_operator_name(int op)
{
    static const char *const names[] = {
#define X(id, name) [TY_OPERATOR_##id] = (name),
        TY_OPERATORS(X)
#undef X
    };
    return names[op];
}

const char *ty_operator_role_name(int role)
{
    static const char *const names[] = {
#define X(id, name) [TY_ROLE_##id] = (name),
        TY_OPERATOR_ROLES(X)
#undef X
    };
    return names[role];
}

const struct ty_word *ty_operator_kernel_words(int op)
{
    static const struct ty_word fusion[] = {
        {"unfused", TY_UNFUSED, NULL}, {"fused", TY_FUSED, NULL}, {NULL, 0, NULL}};
    static const struct ty_word activation[] = {
        {"gelu", TY_ACTIVATION_GELU, NULL},
        {"swiglu", TY_ACTIVATION_SWIGLU, NULL},
        {"swiglu-remade", TY_ACTIVATION_SWIGLU_REMADE, NULL},
        {"swiglu-unfused", TY_ACTIVATION_SWIGLU_UNFUSED, NULL},
        {NULL, 0, NULL}};
    static const struct ty_word grouped[] = {
        {"calls", TY_GROUPED_CALLS, NULL}, {"one", TY_GROUPED_ONE, NULL}, {NULL, 0, NULL}};
    static const struct ty_word cast[] = {
        {"quantize", TY_CAST_QUANTIZE, NULL},   {"both", TY_CAST_BOTH, NULL},
        {"transpose", TY_CAST_TRANSPOSE, NULL}, {"dequantize", TY_CAST_DEQUANTIZE, NULL},
        {"amax", TY_CAST_AMAX, NULL},           {NULL, 0, NULL}};
    switch (op) {
    case TY_OPERATOR_ATTENTION:
        return ty_attention_words;
    case TY_OPERATOR_NORM:
    case TY_OPERATOR_ROTARY:
    case TY_OPERATOR_MERGE:
    case TY_OPERATOR_PERMUTE:
    case TY_OPERATOR_UNPERMUTE:
    case TY_OPERATOR_ROUTER:
    case TY_OPERATOR_CROSS_ENTROPY:
    case TY_OPERATOR_OPTIMIZER:
        return fusion;
    case TY_OPERATOR_ACTIVATION:
        return activation;
    case TY_OPERATOR_GROUPED:
        return grouped;
    case TY_OPERATOR_CAST:
        return cast;
    default:
        return NULL;
    }
}

const char *ty_operator_kernel_name(int op, int kernel)
{
    const struct ty_word *w = ty_operator_kernel_words(op);
    for (; w != NULL && w->name != NULL; w++) {
        if (w->value == kernel) {
            return w->name;
        }
    }
    return "";
}

const char *ty_operator_size_name(const struct ty_operator_key *key)
{
    switch (key->op) {
    case TY_OPERATOR_MATMUL:
    case TY_OPERATOR_GROUPED:
        return key->role == TY_ROLE_WGRAD ? "k" : "m";
    case TY_OPERATOR_ATTENTION:
        return "batch";
    default:
        return "elements";
    }
}

char *ty_operator_words(const struct ty_operator_key *key, char buf[TY_OPERATOR_WORDS])
{
    const char *kind = ty_operator_kernel_name(key->op, key->kernel);
    snprintf(buf, TY_OPERATOR_WORDS, "%s %s%s%s", ty_operator_name(key->op),
             ty_operator_role_name(key->role), kind[0] != '\0' ? " " : "", kind);
    return buf;
}

char *ty_operator_sizes(const struct ty_operator_key *key, double size, char buf[TY_OPERATOR_WORDS])
{
    const char *over = ty_operator_size_name(key);
    const bool wgrad = key->role == TY_ROLE_WGRAD;
    size_t n = (size_t)ty_snprintf(buf, TY_OPERATOR_WORDS, "%s %.0f", over, size);
    switch (key->op) {
    case TY_OPERATOR_MATMUL:
    case TY_OPERATOR_GROUPED:
        n += (size_t)ty_snprintf(buf + n, TY_OPERATOR_WORDS - n, ", %s %.0f, %s %.0f",
                                 wgrad ? "m" : "n", key->dim[0], wgrad ? "n" : "k", key->dim[1]);
        if (key->dim[2] > 0) {
            ty_snprintf(buf + n, TY_OPERATOR_WORDS - n, ", groups %.0f", key->dim[2]);
        }
        break;
    case TY_OPERATOR_ATTENTION:
        n += (size_t)ty_snprintf(buf + n, TY_OPERATOR_WORDS - n,
                                 ", sequence %.0f, heads %g, kv_heads %g, head_dim %.0f",
                                 key->dim[0], key->dim[1], key->dim[2], key->dim[3]);
        if (key->dim[5] > 0) {
            ty_snprintf(buf + n, TY_OPERATOR_WORDS - n, ", value_dim %.0f", key->dim[5]);
        }
        break;
    default:
        break;
    }
    return buf;
}

struct ty_operator_key ty_operator_product(int role, int dtype, double groups, double m, double n,
                                           double k, double *size)
{
    struct ty_operator_key key = {.op = groups > 0 ? TY_OPERATOR_GROUPED : TY_OPERATOR_MATMUL,
                                  .role = role,
                                  .dtype = dtype,
                                  .kernel = TY_ANY_KERNEL};
    /* Tokens are the rows of the activations, and summed over in a weight gradient, which may be
     * computed as either it or its transpose. */
    const bool wgrad = role == TY_ROLE_WGRAD;
    key.dim[0] = wgrad ? fmin(m, n) : n;
    key.dim[1] = wgrad ? fmax(m, n) : k;
    key.dim[2] = groups;
    *size = wgrad ? k : m;
    return key;
}

int ty_operator_key_compare(const struct ty_operator_key *a, const struct ty_operator_key *b)
{
    const int x[] = {a->op, a->role, a->dtype, a->kernel};
    const int y[] = {b->op, b->role, b->dtype, b->kernel};
    for (size_t i = 0; i < TY_COUNT(x); i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i] ? -1 : 1;
        }
    }
    for (size_t i = 0; i < TY_OPERATOR_DIMS; i++) {
        if (a->dim[i] != b->dim[i]) {
            return a->dim[i] < b->dim[i] ? -1 : 1;
        }
    }
    return 0;
}

/* By halving: curves are sorted by key. */
static const struct ty_curve *exact(const struct ty_operators *table,
                                    const struct ty_operator_key *key)
{
    uint32_t low = 0, high = table->n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = ty_operator_key_compare(key, &table->curve[middle].key);
        if (order == 0) {
            return &table->curve[middle].curve;
        }
        low = order > 0 ? middle + 1 : low;
        high = order < 0 ? middle : high;
    }
    return NULL;
}

bool ty_operators_find(const struct ty_operators *table, const struct ty_operator_key *key,
                       double size, struct ty_operator_time *found)
{
    if (table == NULL) {
        return false;
    }
    struct ty_operator_key any = *key;
    any.kernel = TY_ANY_KERNEL;
    const struct ty_curve *curve = exact(table, key);
    curve = curve != NULL ? curve : exact(table, &any);
    if (curve != NULL) {
        found->at = fmin(fmax(size, curve->x[0]), curve->x[curve->n - 1]);
        found->seconds = ty_curve_at(curve, found->at);
    }
    if (table->note != NULL) {
        table->note(table->note_arg, key, size, curve != NULL ? found : NULL);
    }
    return curve != NULL;
}

int ty_operators_check_gpu(const struct ty_operators *table, const char *gpu, struct ty_err *err)
{
    int code = 0;
    for (uint32_t i = 0; i < table->n_gpus && gpu != NULL; i++) {
        const struct ty_operator_gpu *on = &table->gpu[i];
        if (ty_gpu_names_differ(on->name, gpu)) {
            code = ty_fail_at(err, TY_EINPUT, &on->at,
                              "gpu: %u row%s measured on another GPU (%.60s) than the cluster's "
                              "(%s); measure on that, or empty this column to take the times all "
                              "the same",
                              (unsigned)on->n_rows, on->n_rows == 1 ? "" : "s", on->name, gpu);
        }
    }
    return code;
}

uint32_t ty_operators_waiting(const struct ty_operators *table)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < table->n_colls; i++) {
        n += table->coll[i].members > 0 && table->coll[i].members < table->coll[i].ranks;
    }
    return n;
}
