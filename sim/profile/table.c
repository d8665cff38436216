/* table.c - samples become rows of a table.
 *
 * A row is the median of its samples. Of collectives it is that of the samples with most members,
 * each the shortest over these; where no other member's file is there, a kernel's time holds the
 * wait for the others, and the row is a low quantile instead: the members were together then, or
 * nearly so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/path.h"
#include "sim/profile/import.h"

#define LOW_QUANTILE 0.1 /* a guess; of ten samples or fewer it is the shortest */

static int key_order(const struct ty_import_key *x, const struct ty_import_key *y)
{
    int order = 8 * TY_ORDER(x->op, y->op) + 4 * TY_ORDER(x->role, y->role) +
                2 * TY_ORDER(x->kernel, y->kernel) + TY_ORDER(x->dtype, y->dtype);
    for (size_t i = 0; i < TY_IMPORT_DIMS && order == 0; i++) {
        order = TY_ORDER(x->dim[i], y->dim[i]);
    }
    return order;
}

/* Those of most members first. */
static int by_key(const void *a, const void *b)
{
    const struct ty_import_sample *x = a, *y = b;
    return 8 * key_order(&x->key, &y->key) + 4 * TY_ORDER(x->key.part, y->key.part) +
           2 * TY_ORDER(y->members, x->members) + TY_ORDER(x->ns, y->ns);
}

/* s[0 .. n) are of one key and part, most members first, then by time. */
static void make_row(struct ty_import_row *row, const struct ty_import_sample *s, uint32_t n)
{
    uint32_t best = 1;
    *row = (struct ty_import_row){.key = s->key, .members = s->members, .samples = n};
    for (uint32_t i = 0; i < n; i++) {
        row->gpu_ns += s[i].gpu_ns;
        best += i > 0 && s[i].members == s->members;
    }
    const bool waits = s->key.op >= TY_IMPORT_COLL && s->members == 1;
    const int64_t both = s[(best - 1) / 2].ns + s[best / 2].ns;
    const double middle = (double)both / 2;
    const uint32_t low = (uint32_t)((best - 1) * LOW_QUANTILE);
    row->time_us = (waits ? (double)s[low].ns : middle) / 1000;
    row->samples = best;
}

static int leave(struct ty_import *im, const struct ty_import_sample *s, uint32_t n)
{
    int rc = 0;
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        rc = ty_import_add_left(im, s[i].name, TY_IMPORT_NO_PARTNER, false, s[i].gpu_ns, 1);
    }
    return rc;
}

/* A row of each part; together they are one, if there are as many of each. */
static int join_parts(struct ty_import *im, const struct ty_import_sample *s, uint32_t n)
{
    struct ty_import_row whole, part;
    uint32_t parts = 0;
    bool even = true;
    for (uint32_t i = 0; i < n;) {
        uint32_t k = 1;
        while (i + k < n && s[i + k].key.part == s[i].key.part) {
            k++;
        }
        make_row(&part, &s[i], k);
        if (parts == 0) {
            whole = part;
        } else {
            even = even && part.samples == whole.samples;
            whole.time_us += part.time_us;
            whole.gpu_ns += part.gpu_ns;
        }
        parts++;
        i += k;
    }
    if (!even || parts != s->key.parts) {
        return leave(im, s, n);
    }
    im->rows[im->n_rows++] = whole;
    return 0;
}

int ty_import_make_rows(struct ty_import *im)
{
    int rc = 0;
    im->rows = ty_arena_array(&im->arena, struct ty_import_row, (size_t)im->n_samples + 1);
    if (im->rows == NULL) {
        return ty_fail_memory(im->err);
    }
    if (im->n_samples > 0) {
        qsort(im->samples, im->n_samples, sizeof(*im->samples), by_key);
    }
    for (uint32_t i = 0; i < im->n_samples && rc == 0;) {
        uint32_t n = 1;
        while (i + n < im->n_samples &&
               key_order(&im->samples[i].key, &im->samples[i + n].key) == 0) {
            n++;
        }
        rc = join_parts(im, &im->samples[i], n);
        i += n;
    }
    return rc;
}

void ty_import_coverage(const struct ty_import *im, int64_t *compute_ns, int64_t *communication_ns)
{
    *compute_ns = *communication_ns = 0;
    for (uint32_t i = 0; i < im->n_rows; i++) {
        const struct ty_import_row *row = &im->rows[i];
        *(row->key.op >= TY_IMPORT_COLL ? communication_ns : compute_ns) += row->gpu_ns;
    }
}

/* ---- the file ---- */

static void put_quoted(struct ty_text *t, const char *text)
{
    ty_text_add(t, "\"");
    while (*text != '\0') {
        const size_t n = strcspn(text, "\"\n");
        ty_text_add(t, "%.*s%s", (int)n, text,
                    text[n] == '"'    ? "\"\""
                    : text[n] == '\n' ? "_"
                                      : "");
        text += n + (text[n] != '\0');
    }
    ty_text_add(t, "\"");
}

/* Where the sizes of a key stand among the columns m, n, k, batch, sequence, heads, kv_heads,
 * head_dim, causal, elements, ranks, nodes, bytes. */
#define COLUMNS 13
#define CAUSAL  8

static void put_sizes(struct ty_text *t, const struct ty_import_key *key, int first, int n)
{
    for (int i = 0; i < COLUMNS; i++) {
        const bool here = i >= first && i < first + n;
        if (here && i == CAUSAL) {
            ty_text_add(t, "%s", key->dim[i - first] != 0 ? "true" : "false");
        } else if (here) {
            ty_text_add(t, "%llu", (unsigned long long)key->dim[i - first]);
        }
        ty_text_add(t, ",");
    }
}

static void put_key(struct ty_text *t, const struct ty_import_key *key)
{
    if (key->op >= TY_IMPORT_COLL) {
        ty_text_add(t, "%s,,,,", ty_coll_name((enum ty_coll)(key->op - TY_IMPORT_COLL)));
        put_sizes(t, key, 10, 3);
        return;
    }
    ty_text_add(t, "%s,%s,%s,%s,", ty_operator_name(key->op), ty_operator_role_name(key->role),
                ty_operator_kernel_name(key->op, key->kernel), ty_dtype_words[key->dtype].name);
    if (key->op == TY_OPERATOR_MATMUL) {
        put_sizes(t, key, 0, 3);
    } else if (key->op == TY_OPERATOR_ATTENTION) {
        put_sizes(t, key, 3, 6);
    } else {
        put_sizes(t, key, 9, 1);
    }
}

void ty_import_put_table(const struct ty_import *im, struct ty_text *t)
{
    const struct ty_profile_rank *first = &im->profile->ranks[0];
    char source[256], more[32] = "";
    if (im->profile->n_ranks > 1) {
        (void)snprintf(more, sizeof(more), " and %u more", (unsigned)im->profile->n_ranks - 1);
    }
    (void)snprintf(source, sizeof(source), "%.200s%s", ty_path_name(first->file), more);
    ty_text_add(t, "op,role,kernel,dtype,m,n,k,batch,sequence,heads,kv_heads,head_dim,causal,"
                   "elements,ranks,nodes,bytes,time_us,gpu,source,members,note\n");
    for (uint32_t i = 0; i < im->n_rows; i++) {
        const struct ty_import_row *row = &im->rows[i];
        put_key(t, &row->key);
        ty_text_add(t, "%.10g,", row->time_us);
        put_quoted(t, first->gpu);
        ty_text_add(t, ",");
        put_quoted(t, source);
        if (row->key.op < TY_IMPORT_COLL) {
            ty_text_add(t, ",,\"median of %u\"\n", (unsigned)row->samples);
            continue;
        }
        /* what trainyard writes holds no waiting */
        const uint32_t all = (uint32_t)row->key.dim[0];
        ty_text_add(t, ",%u,", (unsigned)(im->profile->own ? all : row->members));
        if (row->members > 1) {
            ty_text_add(t, "\"median of %u, each the shortest of %u members\"\n",
                        (unsigned)row->samples, (unsigned)row->members);
        } else {
            ty_text_add(t, "\"10 %% quantile of %u, of one member\"\n", (unsigned)row->samples);
        }
    }
}
