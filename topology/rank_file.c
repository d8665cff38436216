/* rank_file.c - reads a file of `rank node.gpu` lines. */
#include "topology/rank_file.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/file.h"
#include "sim/base/number_text.h"
#include "sim/base/utf8.h"

#define LIKE "write \"RANK NODE.GPU\", such as \"12 1.4\""

struct word {
    const char *start;
    size_t len;
    uint32_t col;
};

struct reader {
    const struct ty_rank_file_shape *shape;
    const char *file, *text;
    struct ty_err *err;
    uint32_t line;
    uint32_t *gpu_of;               /* [n_ranks] */
    uint32_t *rank_line, *gpu_line; /* where a rank, a GPU was named first; 0: not yet */
    uint32_t *rank_on;              /* [nodes x gpus_per_node], where gpu_line is set */
};

static struct ty_place place(const struct reader *r, uint32_t col)
{
    return (struct ty_place){r->file, r->text, r->line, col};
}

/* ---- words and numbers ---- */

/* Words of a line up to its comment, at most three: the third is one too many. Columns count
 * characters. */
static uint32_t split(const char *text, size_t len, struct word word[3])
{
    uint32_t n = 0, col = 1;
    bool inside = false;
    for (size_t i = 0; i < len && text[i] != '#'; i++) {
        const bool space = isspace((unsigned char)text[i]) != 0;
        if (!space && !inside) {
            if (n == 3) {
                return n;
            }
            word[n++] = (struct word){text + i, 0, col};
        }
        inside = !space;
        if (inside) {
            word[n - 1].len++;
        }
        col += ty_utf8_begins(text[i]);
    }
    return n;
}

/* Digits only. */
static bool number(const char *text, size_t len, uint32_t *out)
{
    const char *at = text;
    return ty_scan_number(&at, text + len, UINT32_MAX, out) && at == text + len;
}

/* ---- lines ---- */

static int read_rank(struct reader *r, const struct word *w, uint32_t *rank)
{
    const struct ty_place at = place(r, w->col);
    const uint32_t n = r->shape->n_ranks;
    if (!number(w->start, w->len, rank)) {
        return ty_fail_at(r->err, TY_EINPUT, &at, "rank: not a whole number (%.*s); " LIKE,
                          (int)(w->len < 30 ? w->len : 30), w->start);
    }
    if (*rank >= n) {
        return ty_fail_at(r->err, TY_EINPUT, &at,
                          "rank %u: there is none; the layout has ranks 0 to %u", (unsigned)*rank,
                          (unsigned)(n - 1));
    }
    if (r->rank_line[*rank] != 0) {
        return ty_fail_at(r->err, TY_EINPUT, &at,
                          "rank %u: a second time (first on line %u); keep one line of each",
                          (unsigned)*rank, (unsigned)r->rank_line[*rank]);
    }
    return 0;
}

/* "1.4" -> 1 x gpus_per_node + 4 */
static int read_gpu(struct reader *r, const struct word *w, uint32_t *gpu)
{
    const struct ty_place at = place(r, w->col);
    const struct ty_rank_file_shape *shape = r->shape;
    const char *dot = memchr(w->start, '.', w->len);
    const size_t before = dot != NULL ? (size_t)(dot - w->start) : 0;
    uint32_t node, local;
    if (dot == NULL || !number(w->start, before, &node) ||
        !number(dot + 1, w->len - before - 1, &local)) {
        return ty_fail_at(r->err, TY_EINPUT, &at, "GPU: not NODE.GPU (%.*s); " LIKE,
                          (int)(w->len < 30 ? w->len : 30), w->start);
    }
    if (node >= shape->nodes) {
        return ty_fail_at(r->err, TY_EINPUT, &at,
                          "node %u: there is none; the cluster has nodes 0 to %u (cluster.nodes)",
                          (unsigned)node, (unsigned)(shape->nodes - 1));
    }
    if (local >= shape->gpus_per_node) {
        return ty_fail_at(
            r->err, TY_EINPUT, &at,
            "GPU %u of node %u: there is none; a node has GPUs 0 to %u (cluster.gpus_per_node)",
            (unsigned)local, (unsigned)node, (unsigned)(shape->gpus_per_node - 1));
    }
    *gpu = node * shape->gpus_per_node + local;
    if (r->gpu_line[*gpu] != 0) {
        return ty_fail_at(r->err, TY_EINPUT, &at,
                          "GPU %u of node %u: rank %u sits there (line %u); give each rank its own",
                          (unsigned)local, (unsigned)node, (unsigned)r->rank_on[*gpu],
                          (unsigned)r->gpu_line[*gpu]);
    }
    return 0;
}

static int read_line(struct reader *r, const char *text, size_t len)
{
    struct word word[3];
    const uint32_t n = split(text, len, word);
    uint32_t rank = 0, gpu = 0;
    if (n == 0) {
        return 0;
    }
    if (n != 2) {
        const struct ty_place at = place(r, word[n - 1].col);
        return ty_fail_at(r->err, TY_EINPUT, &at, "%s; " LIKE,
                          n > 2 ? "more than a rank and a GPU on a line" : "a rank without a GPU");
    }
    int rc = read_rank(r, &word[0], &rank);
    if (rc == 0) {
        r->rank_line[rank] = r->line; /* even if its GPU is wrong: it is not missing */
        rc = read_gpu(r, &word[1], &gpu);
    }
    if (rc == 0) {
        r->gpu_line[gpu] = r->line;
        r->rank_on[gpu] = rank;
        r->gpu_of[rank] = gpu;
    }
    return rc;
}

/* Up to eight ranks that no line names. */
static int check_missing(const struct reader *r)
{
    char list[120] = "";
    size_t used = 0;
    uint32_t missing = 0;
    for (uint32_t rank = 0; rank < r->shape->n_ranks; rank++) {
        if (r->rank_line[rank] == 0 && missing++ < 8) {
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%u",
                                     missing > 1 ? ", " : "", (unsigned)rank);
        }
    }
    if (missing == 0) {
        return 0;
    }
    const struct ty_place at = place(r, 1);
    char more[32] = "";
    if (missing > 8) {
        snprintf(more, sizeof(more), " and %u more", (unsigned)(missing - 8));
    }
    return ty_fail_at(r->err, TY_EINPUT, &at,
                      "the file ends without rank%s %s%s; every rank from 0 to %u needs a line",
                      missing == 1 ? "" : "s", list, more, (unsigned)(r->shape->n_ranks - 1));
}

static int read_lines(struct reader *r, size_t len)
{
    int code = 0;
    for (size_t from = 0; from < len;) {
        const char *end = memchr(r->text + from, '\n', len - from);
        const size_t n = end != NULL ? (size_t)(end - (r->text + from)) : len - from;
        r->line++;
        const int rc = read_line(r, r->text + from, n);
        code = code < 0 ? code : rc;
        from += n + 1;
    }
    r->line = r->line > 0 ? r->line : 1;
    return code < 0 ? code : check_missing(r);
}

int ty_rank_file_read(const uint32_t **gpu_of, const struct ty_rank_file_shape *shape,
                      const char *file, const char *text, size_t len, struct ty_arena *arena,
                      struct ty_err *err)
{
    const size_t gpus = (size_t)shape->nodes * shape->gpus_per_node;
    struct reader r = {.shape = shape, .file = file, .text = text, .err = err};
    int rc = ty_utf8_check(file, text, len, err);
    if (rc < 0) {
        return rc;
    }
    r.gpu_of = ty_arena_array(arena, uint32_t, shape->n_ranks);
    r.rank_line = ty_arena_array(arena, uint32_t, shape->n_ranks);
    r.gpu_line = ty_arena_array(arena, uint32_t, gpus);
    r.rank_on = ty_arena_array(arena, uint32_t, gpus);
    if (r.gpu_of == NULL || r.rank_line == NULL || r.gpu_line == NULL || r.rank_on == NULL) {
        return ty_fail_memory(err);
    }
    rc = read_lines(&r, len);
    *gpu_of = rc == 0 ? r.gpu_of : NULL;
    return rc;
}

int ty_rank_file_load(const uint32_t **gpu_of, const struct ty_rank_file_shape *shape,
                      const char *path, struct ty_arena *arena, struct ty_err *err)
{
    const char *text = NULL;
    size_t len = 0;
    const int rc = ty_file_read(arena, path, TY_RANK_FILE_MAX_BYTES, &text, &len, err);
    return rc == 0 ? ty_rank_file_read(gpu_of, shape, path, text, len, arena, err) : rc;
}
