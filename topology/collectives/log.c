/* log.c - reads the rows of an nccl-tests log.
 *
 *     # Collective test starting: all_reduce_perf              newer versions only
 *     #  Rank  0 Group  0 Pid   3141 on node-a device  0 [0x07] NVIDIA A100-SXM4-80GB
 *     #       size         count      type   redop    root     time   algbw   busbw #wrong ...
 *     #        (B)    (elements)                               (us)  (GB/s)  (GB/s)        ...
 *          1048576        262144     float     sum      -1    44.21   23.72   23.72      0 ...
 *     # Avg bus bandwidth    : 23.72
 *
 * Versions differ in columns: the table's own header says which is which. Old ones leave redop and
 * root empty in the rows of collectives that have none, so columns right of these are counted from
 * the end. Lines of launchers and of NCCL_DEBUG are passed over: a row begins with a number.
 *
 * Source: NVIDIA/nccl-tests, src/common.cu and doc/PERFORMANCE.md (bus bandwidth). */
#include "topology/collectives/log_internal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/file.h"
#include "sim/base/utf8.h"

/* Columns have two decimals; the rest of the slack is for times printed with one. */
#define ROUNDED   0.006
#define TOLERANCE 0.02

/* Columns of places are characters, not bytes. A '#' that begins a line is a word of its own. */
static void split(struct ty_log_reader *r, const char *text, size_t len)
{
    uint32_t col = 1;
    bool inside = false;
    r->n_words = 0;
    for (size_t i = 0; i < len; i++) {
        const bool space = isspace((unsigned char)text[i]) != 0;
        if (!space && !inside && r->n_words == TY_LOG_WORDS) {
            return;
        }
        if (!space && !inside) {
            r->word[r->n_words++] = (struct ty_log_word){text + i, 0, col};
        }
        inside = !space;
        if (inside) {
            r->word[r->n_words - 1].len++;
            inside = r->n_words > 1 || text[i] != '#';
        }
        col += ty_utf8_begins(text[i]);
    }
}

/* Reads a number that must be there and at least zero. */
static int number(const struct ty_log_reader *r, const struct ty_log_word *w, const char *what,
                  double *out)
{
    const struct ty_place at = ty_log_place(r, w->col);
    char buf[40], why[160];
    snprintf(buf, sizeof(buf), "%.*s", (int)w->len, w->start);
    if (w->len >= sizeof(buf) || ty_quantity_parse(buf, TY_DIM_COUNT, out, why, sizeof(why)) != 0) {
        return ty_fail_at(r->err, TY_EINPUT, &at,
                          "%s: not a number (%.30s); a whole log of nccl-tests is needed, as it "
                          "was printed",
                          what, buf);
    }
    if (*out < 0) {
        return ty_fail_at(r->err, TY_EINPUT, &at, "%s: negative (%s); it must be at least 0", what,
                          buf);
    }
    return 0;
}

/* ---- rows ---- */

/* The word of a column counted from the right. */
static const struct ty_log_word *cell(const struct ty_log_reader *r, uint32_t from_right)
{
    return &r->word[r->n_words - from_right];
}

static int check_row(struct ty_log_reader *r, double size_B, double time_us, double algbw)
{
    const struct ty_log_columns *c = &r->columns;
    const struct ty_log_word *type = cell(r, c->type - (c->n - r->n_words));
    const struct ty_place at = ty_log_place(r, cell(r, c->time)->col);
    const double expected = size_B / time_us * 1e-3;
    if (time_us <= 0) {
        return ty_fail_at(r->err, TY_EINPUT, &at, "time: not positive; it is in microseconds");
    }
    if (fabs(algbw - expected) > ROUNDED + TOLERANCE * expected) {
        return ty_fail_at(
            r->err, TY_EINPUT, &at,
            "%.0f B in %g us are %.2f GB/s, but algbw says %g; sizes must be in bytes "
            "and times in microseconds, as nccl-tests prints them",
            size_B, time_us, expected, algbw);
    }
    if (r->n_rows > 0 && !ty_log_same(type, &r->type)) {
        const struct ty_place type_at = ty_log_place(r, type->col);
        return ty_fail_at(r->err, TY_EINPUT, &type_at,
                          "a second type (%.*s after %.*s); run nccl-tests with one type, such as "
                          "-d bfloat16",
                          (int)type->len, type->start, (int)r->type.len, r->type.start);
    }
    r->type = *type;
    return 0;
}

static int read_row(struct ty_log_reader *r)
{
    const struct ty_log_columns *c = &r->columns;
    const struct ty_place at = ty_log_place(r, r->word[0].col);
    double size_B = 0, time_us = 0, algbw = 0, busbw = 0, wrong = 0;
    if (r->n_words != c->n && r->n_words != c->n - c->blank) {
        return ty_fail_at(r->err, TY_EINPUT, &at,
                          "a row of %u cells under a header of %u; the log is cut or was edited",
                          (unsigned)r->n_words, (unsigned)c->n);
    }
    const struct {
        const struct ty_log_word *word;
        const char *name;
        double *out;
    } numbers[] = {
        {&r->word[0], "size", &size_B},        {cell(r, c->time), "time", &time_us},
        {cell(r, c->algbw), "algbw", &algbw},  {cell(r, c->busbw), "busbw", &busbw},
        {cell(r, c->wrong), "#wrong", &wrong}, /* if it was counted */
    };
    const bool counted = c->wrong > 0 && !ty_log_is(cell(r, c->wrong), "N/A");
    const size_t n = counted ? TY_COUNT(numbers) : TY_COUNT(numbers) - 1;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = number(r, numbers[i].word, numbers[i].name, numbers[i].out);
    }
    if (rc < 0 || size_B <= 0) {
        return rc; /* fewer elements than ranks: nothing was sent */
    }
    if (wrong >= 1) { /* below, it is the rounding that old versions print */
        const struct ty_place wrong_at = ty_log_place(r, cell(r, c->wrong)->col);
        return ty_fail_at(r->err, TY_EINPUT, &wrong_at,
                          "%.0f wrong results; such a run measures nothing, repeat it", wrong);
    }
    rc = check_row(r, size_B, time_us, algbw);
    if (rc == 0) {
        r->size_B[r->n_rows] = size_B;
        r->time_s[r->n_rows++] = time_us * 1e-6;
        r->algbw = size_B >= r->largest_B ? algbw : r->algbw;
        r->busbw = size_B >= r->largest_B ? busbw : r->busbw;
        r->largest_B = fmax(size_B, r->largest_B);
    }
    return rc;
}

static int read_lines(struct ty_log_reader *r, size_t len)
{
    int rc = 0;
    for (size_t from = 0; from < len && rc == 0;) {
        const char *end = memchr(r->text + from, '\n', len - from);
        const size_t n = end != NULL ? (size_t)(end - (r->text + from)) : len - from;
        r->line++;
        split(r, r->text + from, n);
        from += n + 1;
        if (r->n_words == 0) {
            continue;
        }
        if (r->word[0].start[0] == '#') {
            rc = ty_log_comment(r);
        } else if (r->columns.n > 0 && !r->ended && isdigit((unsigned char)r->word[0].start[0])) {
            rc = read_row(r);
        }
    }
    return rc;
}

/* ---- the whole ---- */

/* Bus over algorithm bandwidth of the largest size: is it that collective over so many ranks? */
static int check_factor(const struct ty_log_reader *r)
{
    const struct ty_coll_log *log = r->log;
    const double factor = ty_coll_bus_factor(log->coll, log->ranks);
    const double slack = ROUNDED * (1 + factor) + TOLERANCE * r->busbw;
    if (fabs(r->busbw - factor * r->algbw) <= slack) {
        return 0;
    }
    return ty_fail(r->err, TY_EINPUT,
                   "%s: busbw is %.3g times algbw, but %.3g for %s over %u ranks; the log is of "
                   "another collective, or lines of its head are missing",
                   r->file, r->busbw / r->algbw, factor, ty_coll_name(log->coll),
                   (unsigned)log->ranks);
}

/* Sorts by size (insertion: logs are in order) and averages what was measured more than once. */
static void order_rows(struct ty_log_reader *r)
{
    uint32_t n = 0, repeats = 1;
    for (uint32_t i = 1; i < r->n_rows; i++) {
        const double size = r->size_B[i], time = r->time_s[i];
        uint32_t k = i;
        for (; k > 0 && r->size_B[k - 1] > size; k--) {
            r->size_B[k] = r->size_B[k - 1];
            r->time_s[k] = r->time_s[k - 1];
        }
        r->size_B[k] = size;
        r->time_s[k] = time;
    }
    for (uint32_t i = 1; i < r->n_rows; i++) {
        if (r->size_B[i] == r->size_B[n]) {
            r->time_s[n] += (r->time_s[i] - r->time_s[n]) / ++repeats;
        } else {
            r->size_B[++n] = r->size_B[i];
            r->time_s[n] = r->time_s[i];
            repeats = 1;
        }
    }
    r->log->n = r->n_rows > 0 ? n + 1 : 0;
    r->log->size_B = r->size_B;
    r->log->time_s = r->time_s;
}

static int wrong_log(const struct ty_log_reader *r, const char *message)
{
    const struct ty_place at = ty_log_place(r, 1);
    return ty_fail_at(r->err, TY_EINPUT, &at, "%s", message);
}

static int finish(struct ty_log_reader *r, struct ty_arena *arena)
{
    if (r->columns.n == 0) {
        return wrong_log(r,
                         "no table (\"# size count type ... time algbw busbw\") up to here; give "
                         "what nccl-tests printed, without prefixes of a launcher");
    }
    if (!r->ended) {
        return wrong_log(r, "the log ends here without \"# Avg bus bandwidth\": the test did not "
                            "finish, or the copy is cut");
    }
    const int rc = ty_log_head(r);
    if (rc < 0) {
        return rc;
    }
    order_rows(r);
    if (r->log->n < 2) {
        return wrong_log(r, "fewer than two sizes above zero up to here; measure a range, such as "
                            "-b 1M -e 1G -f 2");
    }
    r->log->type = ty_arena_strndup(arena, r->type.start, r->type.len);
    return r->log->type != NULL ? check_factor(r) : ty_fail_memory(r->err);
}

int ty_coll_log_read(struct ty_coll_log *log, const char *file, const char *text, size_t len,
                     struct ty_arena *arena, struct ty_err *err)
{
    struct ty_log_reader r = {.file = file, .text = text, .err = err, .log = log};
    size_t lines = 1;
    int rc = ty_utf8_check(file, text, len, err);
    if (rc < 0) {
        return rc;
    }
    for (const char *p = text; (p = memchr(p, '\n', len - (size_t)(p - text))) != NULL; p++) {
        lines++;
    }
    *log = (struct ty_coll_log){.file = ty_arena_strndup(arena, file, strlen(file))};
    r.ranks = ty_arena_array(arena, struct ty_log_rank, lines);
    r.size_B = ty_arena_array(arena, double, lines);
    r.time_s = ty_arena_array(arena, double, lines);
    if (log->file == NULL || r.ranks == NULL || r.size_B == NULL || r.time_s == NULL) {
        return ty_fail_memory(err);
    }
    rc = read_lines(&r, len);
    return rc == 0 ? finish(&r, arena) : rc;
}

int ty_coll_log_load(struct ty_coll_log *log, const char *path, struct ty_arena *arena,
                     struct ty_err *err)
{
    const char *text = NULL;
    size_t len = 0;
    const int rc = ty_file_read(arena, path, TY_COLL_LOG_MAX_BYTES, &text, &len, err);
    return rc == 0 ? ty_coll_log_read(log, path, text, len, arena, err) : rc;
}
