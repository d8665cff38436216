/* operators.c - reads tables of measured kernels, and looks kernels up in them. */
#include "model/kernel/operators.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/document/csv.h"
#include "topology/gpu_name.h"

/* The kernels told apart of this operator, or NULL. */
static const struct ty_word *operator_kernel_words(int op)
{
    static const struct ty_word fusion[] = {
        {"unfused", TY_UNFUSED, NULL}, {"fused", TY_FUSED, NULL}, {NULL, 0, NULL}};
    static const struct ty_word activation[] = {
        {"gelu", TY_ACTIVATION_GELU, NULL},
        {"swiglu", TY_ACTIVATION_SWIGLU, NULL},
        {"swiglu-remade", TY_ACTIVATION_SWIGLU_REMADE, NULL},
        {"swiglu-unfused", TY_ACTIVATION_SWIGLU_UNFUSED, NULL},
        {"expert-bias", TY_ACTIVATION_EXPERT_BIAS, NULL},
        {"clamp", TY_ACTIVATION_CLAMP, NULL},
        {NULL, 0, NULL}};
    static const struct ty_word grouped[] = {
        {"calls", TY_GROUPED_CALLS, NULL}, {"one", TY_GROUPED_ONE, NULL}, {NULL, 0, NULL}};
    static const struct ty_word cast[] = {{"quantize", TY_CAST_QUANTIZE, NULL},
                                          {"both", TY_CAST_BOTH, NULL},
                                          {"transpose", TY_CAST_TRANSPOSE, NULL},
                                          {"dequantize", TY_CAST_DEQUANTIZE, NULL},
                                          {"amax", TY_CAST_AMAX, NULL},
                                          {"hadamard", TY_CAST_HADAMARD, NULL},
                                          {NULL, 0, NULL}};
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

/* ---- tables of kernels from CSV ---- */

/* The columns an operator needs are a row of a table here; all others must be empty in its rows, so
 * that a value in the wrong column is noticed. Rows are sorted by key and size; a run of one key is
 * a curve. */

enum column {
    OP,
    ROLE,
    KERNEL,
    DTYPE,
    M,
    N,
    K,
    GROUPS,
    BATCH,
    SEQUENCE,
    HEADS,
    KV_HEADS,
    HEAD_DIM,
    CAUSAL,
    VALUE_DIM,
    ELEMENTS,
    RANKS,
    NODES,
    BYTES,
    TIME,
    GPU,
    MEMBERS,
    N_COLUMNS
};

static const char *const column_names[N_COLUMNS] = {
    "op",    "role",     "kernel", "dtype",    "m",        "n",       "k",         "groups",
    "batch", "sequence", "heads",  "kv_heads", "head_dim", "causal",  "value_dim", "elements",
    "ranks", "nodes",    "bytes",  "time_us",  "gpu",      "members",
};

/* Columns that say where a row comes from, and nothing else. */
static const char *const note_names[] = {"date", "software", "clock_mhz", "source", "note"};

#define BIT(column) (1u << (column))
#define PRODUCT     (BIT(M) | BIT(N) | BIT(K))
#define CORE        (BIT(ELEMENTS) - BIT(BATCH)) /* those between */
#define BOTH        (1u << TY_ROLE_FORWARD | 1u << TY_ROLE_BACKWARD)
#define PRODUCTS    (1u << TY_ROLE_FORWARD | 1u << TY_ROLE_DGRAD | 1u << TY_ROLE_WGRAD)

struct shape {
    unsigned columns, roles;
};

/* Columns of sizes, and roles, of an operator: elements, where it is not listed. */
static struct shape shape_of(int op)
{
    static const struct shape shapes[TY_N_OPERATORS] = {
        [TY_OPERATOR_MATMUL] = {PRODUCT, PRODUCTS},
        [TY_OPERATOR_GROUPED] = {PRODUCT | BIT(GROUPS), PRODUCTS},
        [TY_OPERATOR_ATTENTION] = {CORE, BOTH},
        [TY_OPERATOR_ACCUMULATION] = {BIT(ELEMENTS), 1u << TY_ROLE_WGRAD},
        [TY_OPERATOR_OPTIMIZER] = {BIT(ELEMENTS), 1u << TY_ROLE_STEP},
    };
    return shapes[op].roles != 0 ? shapes[op] : (struct shape){BIT(ELEMENTS), BOTH};
}

/* A measured kernel. */
struct row {
    struct ty_operator_key key;
    double size, seconds;
    uint32_t number; /* of the CSV row, header 0 */
};

struct reader {
    struct ty_csv csv;
    struct row *row;               /* [n] */
    struct ty_operator_coll *coll; /* [n_colls] */
    uint32_t n, n_colls;
    uint32_t index[N_COLUMNS]; /* where each column is; UINT32_MAX: nowhere */
    uint32_t number;           /* row being read, header 0 */
    struct ty_err *err;
};

/* ---- cells ---- */

static const char *cell(const struct reader *r, enum column column)
{
    return r->index[column] == UINT32_MAX ? ""
                                          : ty_csv_cell(&r->csv, r->number - 1, r->index[column]);
}

/* Reads the table again, so not for messages that are only counted. */
static struct ty_place place(const struct reader *r, enum column column)
{
    if (r->err != NULL && r->err->n >= TY_ERR_MAX) {
        return (struct ty_place){.line = 0};
    }
    const bool there = r->index[column] != UINT32_MAX;
    return ty_csv_place(&r->csv, r->number, there ? r->index[column] : 0);
}

static int TY_PRINTF(3, 4)
    wrong(const struct reader *r, enum column column, const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    (void)ty_vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    const struct ty_place at = place(r, column);
    return ty_fail_at(r->err, TY_EINPUT, &at, "%s: %s", column_names[column], message);
}

/* A word out of names[0..n) of which bit i of `allowed` is set; its index, or a negative code. */
static int read_word(const struct reader *r, enum column column, const char *const *names, int n,
                     unsigned allowed)
{
    const char *text = cell(r, column);
    const char *listed[32] = {NULL};
    char list[300] = "", hint[TY_SUGGESTION];
    int k = 0;
    for (int i = 0; i < n; i++) {
        if ((allowed >> i & 1u) == 0) {
            continue;
        }
        if (strcmp(names[i], text) == 0) {
            return i;
        }
        const size_t len = strlen(list);
        (void)snprintf(list + len, sizeof(list) - len, "%s%s", k > 0 ? ", " : "", names[i]);
        listed[k++] = names[i];
    }
    return wrong(r, column, "%s (%.40s); write one of %s%s",
                 text[0] == '\0' ? "missing" : "unknown word", text, list,
                 ty_suggestion(text, listed, (size_t)k, hint));
}

/* The value of a word of the run file; with `optional`, TY_ANY_KERNEL for an empty cell. */
static int read_value(const struct reader *r, enum column column, const struct ty_word *words,
                      bool optional, int *value)
{
    const char *names[32];
    int n = 0;
    *value = TY_ANY_KERNEL;
    if (optional && cell(r, column)[0] == '\0') {
        return 0;
    }
    if (words == NULL) {
        return wrong(r, column, "%.40s has no kinds of kernels (%.40s); leave this empty",
                     cell(r, OP), cell(r, column));
    }
    for (const struct ty_word *w = words; w->name != NULL; w++) {
        names[n++] = w->name;
    }
    const int found = read_word(r, column, names, n, ~0u);
    *value = found < 0 ? TY_ANY_KERNEL : words[found].value;
    return found < 0 ? found : 0;
}

static int read_number(const struct reader *r, enum column column, bool whole, double *out)
{
    char why[200];
    const char *text = cell(r, column), *what = whole ? "a whole number above 0" : "a time above 0";
    *out = 0;
    if (text[0] == '\0') {
        return wrong(r, column, "missing; %.40s needs %s here", cell(r, OP), what);
    }
    if (ty_quantity_parse(text, TY_DIM_COUNT, out, why, sizeof(why)) != 0) {
        return wrong(r, column, "not a number (%.40s); write %s", text, what);
    }
    if (*out <= 0 || (whole && *out != floor(*out))) {
        return wrong(r, column, "%s (%.40s); write %s", *out <= 0 ? "not positive" : "not whole",
                     text, what);
    }
    return 0;
}

static int worst(int a, int b)
{
    return a < 0 ? a : b < 0 ? b : 0;
}

/* ---- rows ---- */

/* Sizes that the operator has, and none that it has not. */
static int read_sizes(const struct reader *r, int op, double size[N_COLUMNS])
{
    int code = 0;
    for (enum column c = M; c <= BYTES; c++) {
        const bool due = (shape_of(op).columns & BIT(c)) != 0;
        if (!due && cell(r, c)[0] != '\0') {
            code = worst(code, wrong(r, c, "%.40s has none (%.40s); leave this empty", cell(r, OP),
                                     cell(r, c)));
        } else if (due && c == CAUSAL) {
            static const char *const words[] = {"false", "true"};
            const int causal = read_word(r, c, words, 2, 3);
            size[c] = causal;
            code = worst(code, causal);
        } else if (due && (c != VALUE_DIM || cell(r, c)[0] != '\0')) {
            code = worst(code, read_number(r, c, true, &size[c]));
        }
    }
    return code;
}

static struct ty_operator_key key_of(int op, int role, int dtype, int kernel, const double *size,
                                     double *x)
{
    struct ty_operator_key key = {.op = op, .role = role, .dtype = dtype, .kernel = kernel};
    *x = size[ELEMENTS];
    if (op == TY_OPERATOR_MATMUL || op == TY_OPERATOR_GROUPED) {
        return ty_operator_product(role, dtype, size[GROUPS], size[M], size[N], size[K], x);
    }
    if (op == TY_OPERATOR_ATTENTION) {
        memcpy(key.dim, &size[SEQUENCE], sizeof(key.dim));
        key.dim[5] = size[VALUE_DIM] == size[HEAD_DIM] ? 0 : size[VALUE_DIM];
        *x = size[BATCH];
    }
    return key;
}

/* A collective has a size, and none of the columns of an operator. */
static int read_coll(struct reader *r, enum ty_coll coll)
{
    double size[N_COLUMNS] = {0};
    int code = 0;
    for (enum column c = ROLE; c <= ELEMENTS; c++) {
        if (cell(r, c)[0] != '\0') {
            code = worst(code, wrong(r, c, "%.40s has none (%.40s); leave this empty", cell(r, OP),
                                     cell(r, c)));
        }
    }
    for (enum column c = RANKS; c <= TIME; c++) {
        code = worst(code, read_number(r, c, c != TIME, &size[c]));
    }
    if (code == 0 && (size[RANKS] < 2 || size[RANKS] > UINT32_MAX)) {
        code = wrong(r, RANKS, "a group of %g; write at least 2", size[RANKS]);
    } else if (code == 0 && size[NODES] > size[RANKS]) {
        code = wrong(r, NODES, "%g ranks on %g nodes; write on how many nodes they are",
                     size[RANKS], size[NODES]);
    } else if (code == 0 && cell(r, MEMBERS)[0] != '\0') {
        code = read_number(r, MEMBERS, true, &size[MEMBERS]);
        if (code == 0 && size[MEMBERS] > size[RANKS]) {
            code =
                wrong(r, MEMBERS, "%g members of %g ranks; write of how many the times are known",
                      size[MEMBERS], size[RANKS]);
        }
    }
    if (code == 0) {
        r->coll[r->n_colls++] = (struct ty_operator_coll){.coll = coll,
                                                          .ranks = (uint32_t)size[RANKS],
                                                          .nodes = (uint32_t)size[NODES],
                                                          .bytes = size[BYTES],
                                                          .seconds = size[TIME] * 1e-6,
                                                          .number = r->number,
                                                          .members = (uint32_t)size[MEMBERS]};
    }
    return code;
}

static int read_row(struct reader *r)
{
    static const char *const ops[] = {
#define X(id, name) name,
        TY_OPERATORS(X)
#undef X
#define X(id, name, test, shares) name,
            TY_COLLECTIVES(X)
#undef X
    };
    static const char *const roles[] = {
#define X(id, name) name,
        TY_OPERATOR_ROLES(X)
#undef X
    };
    double size[N_COLUMNS] = {0}, time_us = 0;
    int dtype = 0, kernel = 0;
    const int op = read_word(r, OP, ops, (int)TY_COUNT(ops), ~0u);
    if (op < 0) {
        return op;
    }
    if (op >= (int)TY_N_OPERATORS) {
        return read_coll(r, (enum ty_coll)(op - (int)TY_N_OPERATORS));
    }
    const int role = read_word(r, ROLE, roles, TY_N_ROLES, shape_of(op).roles);
    int code = worst(role, read_value(r, KERNEL, operator_kernel_words(op), true, &kernel));
    code = worst(code, read_value(r, DTYPE, ty_dtype_words, false, &dtype));
    code = worst(code, read_sizes(r, op, size));
    code = worst(code, read_number(r, TIME, false, &time_us));
    if (code == 0) {
        struct row *row = &r->row[r->n++];
        row->key = key_of(op, role, dtype, kernel, size, &row->size);
        row->seconds = time_us * 1e-6;
        row->number = r->number;
    }
    return code;
}

/* ---- the whole ---- */

#define N_KNOWN (N_COLUMNS + TY_COUNT(note_names))

/* The first one that is like none is told with all that there are. */
static int unknown_column(const struct reader *r, const struct ty_place *at, const char *name,
                          const char *const known[N_KNOWN], bool first)
{
    char list[512] = "", hint[TY_SUGGESTION];
    const char *near = ty_suggestion(name, known, N_KNOWN, hint);
    size_t n = 0;
    for (size_t i = 0; i < N_KNOWN && n < sizeof(list) && first && near[0] == '\0'; i++) {
        n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i > 0 ? ", " : "; write one of ",
                              known[i]);
    }
    return ty_fail_at(r->err, TY_EINPUT, at, "unknown column (%.40s)%s%s", name, list, near);
}

static int read_header(struct reader *r)
{
    const char *known[N_KNOWN];
    int code = 0;
    r->number = 0;
    memcpy(known, column_names, sizeof(column_names));
    memcpy(known + N_COLUMNS, note_names, sizeof(note_names));
    memset(r->index, 0xFF, sizeof(r->index));
    for (uint32_t i = 0; i < r->csv.n_columns; i++) {
        const char *name = ty_csv_header(&r->csv, i);
        const struct ty_place at = ty_csv_place(&r->csv, 0, i);
        size_t k = 0;
        while (k < N_KNOWN && strcmp(known[k], name) != 0) {
            k++;
        }
        if (k == N_KNOWN) {
            code = unknown_column(r, &at, name, known, code == 0);
        } else if (k < N_COLUMNS && r->index[k] != UINT32_MAX) {
            code = ty_fail_at(r->err, TY_EINPUT, &at, "a second column %s; keep one", name);
        } else if (k < N_COLUMNS) {
            r->index[k] = i;
        }
    }
    static const enum column needed[] = {OP, ROLE, DTYPE, TIME};
    for (size_t i = 0; i < TY_COUNT(needed) && code == 0; i++) {
        if (r->index[needed[i]] == UINT32_MAX) {
            const struct ty_place at = ty_csv_place(&r->csv, 0, 0);
            code = ty_fail_at(r->err, TY_EINPUT, &at,
                              "no column %s; a table needs op, role, dtype, time_us and the sizes "
                              "of its operators",
                              column_names[needed[i]]);
        }
    }
    return code;
}

static int by_key(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    const int order = ty_operator_key_compare(&x->key, &y->key);
    if (order != 0) {
        return order;
    }
    if (x->size != y->size) {
        return x->size < y->size ? -1 : 1;
    }
    return x->number < y->number ? -1 : x->number > y->number;
}

static int check_twice(struct reader *r, const struct row *row, uint32_t n)
{
    int code = 0;
    for (uint32_t i = 1; i < n; i++) {
        if (ty_operator_key_compare(&row[i].key, &row[i - 1].key) == 0 &&
            row[i].size == row[i - 1].size) {
            r->number = row[i - 1].number;
            const uint32_t first = place(r, OP).line;
            r->number = row[i].number;
            code = wrong(r, OP,
                         "this kernel is there twice, first in line %u; keep one, such as "
                         "the median",
                         (unsigned)first);
        }
    }
    return code;
}

static int by_reach(const void *a, const void *b)
{
    const struct ty_operator_coll *x = a, *y = b;
    const double order[] = {(double)x->coll - (double)y->coll, (double)x->ranks - (double)y->ranks,
                            (double)x->nodes - (double)y->nodes, x->bytes - y->bytes,
                            (double)x->number - (double)y->number};
    for (size_t i = 0; i < TY_COUNT(order); i++) {
        if (order[i] != 0) {
            return order[i] < 0 ? -1 : 1;
        }
    }
    return 0;
}

static int sort_colls(struct reader *r, struct ty_operators *table)
{
    int code = 0;
    if (r->n_colls > 0) {
        qsort(r->coll, r->n_colls, sizeof(*r->coll), by_reach);
    }
    for (uint32_t i = 1; i < r->n_colls; i++) {
        struct ty_operator_coll *a = &r->coll[i - 1], *b = &r->coll[i];
        if (a->coll == b->coll && a->ranks == b->ranks && a->nodes == b->nodes &&
            a->bytes == b->bytes) {
            r->number = b->number;
            code = wrong(r, OP, "this collective is there twice; keep one, such as the median");
        }
    }
    table->coll = r->coll;
    table->n_colls = r->n_colls;
    return code;
}

/* A curve for every run of one key. */
static int make_curves(struct ty_operators *table, const struct row *row, uint32_t n,
                       struct ty_arena *arena, struct ty_err *err)
{
    if (n == 0) {
        return 0; /* collectives only */
    }
    double *x = ty_arena_array(arena, double, n), *y = ty_arena_array(arena, double, n);
    table->curve = ty_arena_array(arena, struct ty_operator_curve, n);
    if (x == NULL || y == NULL || table->curve == NULL) {
        return ty_fail_memory(err);
    }
    int rc = 0;
    for (uint32_t i = 0; i < n && rc == 0;) {
        uint32_t k = i;
        for (; k < n && ty_operator_key_compare(&row[k].key, &row[i].key) == 0; k++) {
            x[k - i] = row[k].size;
            y[k - i] = row[k].seconds;
        }
        struct ty_operator_curve *curve = &table->curve[table->n++];
        curve->key = row[i].key;
        rc = ty_curve_init(&curve->curve, x, y, k - i, arena, err);
        i = k;
    }
    return rc;
}

/* Keeps on what the row was measured. */
static void note_gpu(const struct reader *r, struct ty_operators *table)
{
    const char *name = cell(r, GPU);
    uint32_t i = 0;
    while (i < table->n_gpus && strcmp(table->gpu[i].name, name) != 0) {
        i++;
    }
    if (name[0] == '\0' || i == TY_OPERATOR_GPUS) {
        return;
    }
    if (i == table->n_gpus) {
        table->gpu[table->n_gpus++] = (struct ty_operator_gpu){.name = name, .at = place(r, GPU)};
    }
    table->gpu[i].n_rows++;
}

int ty_operators_load(struct ty_operators *table, const char *path, struct ty_arena *arena,
                      struct ty_err *err)
{
    struct reader r = {.err = err};
    int code = ty_csv_load(&r.csv, path, arena, err);
    code = code < 0 ? code : read_header(&r);
    if (code < 0) {
        return code;
    }
    const uint32_t n = r.csv.n_rows;
    r.row = ty_arena_array(arena, struct row, n + 1);
    r.coll = ty_arena_array(arena, struct ty_operator_coll, n + 1);
    *table = (struct ty_operators){.file = r.csv.file, .n_rows = n};
    if (r.row == NULL || r.coll == NULL || r.csv.file == NULL) {
        return ty_fail_memory(err);
    }
    if (n == 0) {
        return ty_fail(err, TY_EINPUT, "%s: a table without a kernel; write rows below the header",
                       path);
    }
    for (uint32_t i = 0; i < n; i++) {
        r.number = i + 1;
        code = worst(code, read_row(&r));
        note_gpu(&r, table);
    }
    if (code < 0) {
        return code;
    }
    qsort(r.row, r.n, sizeof(*r.row), by_key);
    code = worst(check_twice(&r, r.row, r.n), sort_colls(&r, table));
    return code < 0 ? code : make_curves(table, r.row, r.n, arena, err);
}

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

const char *ty_operator_kernel_name(int op, int kernel)
{
    const struct ty_word *w = operator_kernel_words(op);
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
