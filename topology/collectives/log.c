/* log.c - reads an nccl-tests log: its comment lines and its rows.
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
#include "topology/collectives/log.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/file.h"
#include "sim/base/path.h"
#include "sim/base/utf8.h"

#define TY_LOG_WORDS 40u /* of a line; the rest is not looked at */

struct ty_log_word {
    const char *start;
    uint32_t len, col;
};

struct ty_log_rank {
    struct ty_log_word group, host; /* group.len 0: versions without groups */
};

/* Positions of columns, counted from the right; 0: not there. */
struct ty_log_columns {
    uint32_t n, blank; /* of them, redop and root, which rows may leave empty */
    uint32_t type, time, algbw, busbw, wrong;
};

struct ty_log_reader {
    const char *file, *text;
    struct ty_err *err;
    struct ty_coll_log *log;

    struct ty_log_word word[TY_LOG_WORDS]; /* of the present line */
    uint32_t n_words, line;

    bool stated; /* the head says which collective */
    bool ended;  /* the last line of a test was met */
    struct ty_log_columns columns;
    struct ty_log_rank *ranks; /* [n_ranks], room for one per line of the file */
    double *size_B, *time_s;   /* [n_rows], the same */
    uint32_t n_ranks, n_rows;
    struct ty_log_word type;
    double largest_B, algbw, busbw; /* the largest size, and what the log says of it */
};

static inline bool ty_log_is(const struct ty_log_word *w, const char *text)
{
    return w->len == strlen(text) && memcmp(w->start, text, w->len) == 0;
}

static inline bool ty_log_same(const struct ty_log_word *a, const struct ty_log_word *b)
{
    return a->len == b->len && memcmp(a->start, b->start, a->len) == 0;
}

static inline struct ty_place ty_log_place(const struct ty_log_reader *r, uint32_t col)
{
    return (struct ty_place){r->file, r->text, r->line > 0 ? r->line : 1, col};
}

/* ---- the comment lines: which test, on whom, which columns ---- */

#define KNOWN                                                                                      \
    "all_reduce_perf, all_gather_perf, reduce_scatter_perf, alltoall_perf, broadcast_perf, "       \
    "reduce_perf or sendrecv_perf"

/* ---- header ---- */

/* "all_reduce_perf" -> the collective. */
static int read_stated(struct ty_log_reader *r, const struct ty_log_word *w)
{
    const struct ty_place at = ty_log_place(r, w->col);
    if (r->stated) {
        return ty_fail_at(r->err, TY_EINPUT, &at,
                          "a second test in one log (%.*s); put each into a file of its own",
                          (int)w->len, w->start);
    }
    for (int i = 0; i < TY_N_COLLECTIVES; i++) {
        const char *test = ty_coll_test((enum ty_coll)i);
        const size_t n = strlen(test);
        if (w->len == n + strlen("_perf") && memcmp(w->start, test, n) == 0) {
            r->log->coll = (enum ty_coll)i;
            r->stated = true;
            return 0;
        }
    }
    return ty_fail_at(r->err, TY_EINPUT, &at,
                      "a log of %.*s, which no run of this simulator uses; give one of " KNOWN,
                      (int)w->len, w->start);
}

static int read_rank(struct ty_log_reader *r)
{
    struct ty_log_rank rank = {.group = {.len = 0}};
    for (uint32_t i = 1; i + 1 < r->n_words; i++) {
        if (ty_log_is(&r->word[i], "Group")) {
            rank.group = r->word[i + 1];
        } else if (ty_log_is(&r->word[i], "on")) {
            rank.host = r->word[i + 1];
        }
    }
    if (rank.host.len == 0) {
        const struct ty_place at = ty_log_place(r, r->word[0].col);
        return ty_fail_at(r->err, TY_EINPUT, &at,
                          "a rank without its host; nccl-tests writes \"# Rank 0 Group 0 Pid 1 on "
                          "HOST device 0 ...\"");
    }
    r->ranks[r->n_ranks++] = rank;
    return 0;
}

/* blank_at: the rightmost of redop and root, from the right; UINT32_MAX: neither is there. */
static struct ty_log_columns find_columns(const struct ty_log_reader *r, uint32_t *blank_at)
{
    struct ty_log_columns c = {.n = r->n_words - 1};
    *blank_at = UINT32_MAX;
    /* Of repeated names the first is out-of-place. */
    for (uint32_t i = r->n_words - 1; i > 0; i--) {
        const struct ty_log_word *w = &r->word[i];
        const uint32_t from_right = r->n_words - i;
        c.type = ty_log_is(w, "type") ? from_right : c.type;
        c.time = ty_log_is(w, "time") ? from_right : c.time;
        c.algbw = ty_log_is(w, "algbw") ? from_right : c.algbw;
        c.busbw = ty_log_is(w, "busbw") ? from_right : c.busbw;
        c.wrong = ty_log_is(w, "#wrong") || ty_log_is(w, "error") ? from_right : c.wrong;
        if (ty_log_is(w, "redop") || ty_log_is(w, "root")) {
            c.blank++;
            *blank_at = *blank_at < from_right ? *blank_at : from_right;
        }
    }
    return c;
}

static int read_columns(struct ty_log_reader *r)
{
    const struct ty_place at = ty_log_place(r, r->word[0].col);
    uint32_t blank_at;
    if (r->columns.n > 0) {
        return ty_fail_at(r->err, TY_EINPUT, &at,
                          "a second table in one log; put each test into a file of its own");
    }
    const struct ty_log_columns c = find_columns(r, &blank_at);
    if (c.type == 0 || c.time == 0 || c.algbw == 0 || c.busbw == 0) {
        return ty_fail_at(r->err, TY_EINPUT, &at,
                          "a table without one of the columns type, time, algbw, busbw; a whole "
                          "log of nccl-tests is needed");
    }
    /* Rows without redop and root are read from the right, their type left of the gap. */
    if (c.blank > 0 && (c.type < blank_at + c.blank || c.time >= blank_at || c.algbw >= blank_at ||
                        c.busbw >= blank_at || (c.wrong >= blank_at && c.wrong != 0))) {
        return ty_fail_at(r->err, TY_EINPUT, &at,
                          "columns in an order that nccl-tests does not write; it is size, count, "
                          "type, redop, root, time, algbw, busbw");
    }
    r->columns = c;
    return 0;
}

/* A line that begins with '#'. */
static int log_comment(struct ty_log_reader *r)
{
    const struct ty_log_word *w = r->word;
    if (r->n_words > 4 && ty_log_is(&w[1], "Collective") && ty_log_is(&w[3], "starting:")) {
        return read_stated(r, &w[4]);
    }
    if (r->n_words > 2 && ty_log_is(&w[1], "Rank")) {
        return read_rank(r);
    }
    if (r->n_words > 2 && ty_log_is(&w[1], "size")) {
        return read_columns(r);
    }
    if (r->n_words > 4 && ty_log_is(&w[1], "Out") && ty_log_is(&w[2], "of") &&
        !ty_log_is(&w[r->n_words - 1], "OK")) {
        const struct ty_place at = ty_log_place(r, w[r->n_words - 1].col);
        return ty_fail_at(r->err, TY_EINPUT, &at,
                          "the test found wrong results; such a run measures nothing, repeat it");
    }
    r->ended = r->ended || (r->n_words > 4 && ty_log_is(&w[1], "Avg") && ty_log_is(&w[2], "bus"));
    return 0;
}

/* The collective of a file name: letters only, in any case. A longer name says what it says: that
 * of an all-reduce is none of a reduce. */
static int read_name(struct ty_log_reader *r)
{
    const char *name = ty_path_name(r->file);
    char letters[256], found[32] = "";
    size_t n = 0;
    uint32_t n_matches = 0;
    for (const char *p = name; *p != '\0' && n + 1 < sizeof(letters); p++) {
        if (isalpha((unsigned char)*p)) {
            letters[n++] = (char)tolower((unsigned char)*p);
        }
    }
    letters[n] = '\0';
    for (int i = 0; i < TY_N_COLLECTIVES; i++) {
        char wanted[32];
        size_t k = 0;
        for (const char *p = ty_coll_test((enum ty_coll)i); *p != '\0'; p++) {
            wanted[k] = *p;
            k += *p != '_';
        }
        wanted[k] = '\0';
        if (strstr(letters, wanted) != NULL && strstr(found, wanted) == NULL) {
            n_matches = strstr(wanted, found) != NULL ? 1 : n_matches + 1;
            r->log->coll = (enum ty_coll)i;
            memcpy(found, wanted, k + 1);
        }
    }
    if (n_matches == 1) {
        return 0;
    }
    return ty_fail(r->err, TY_EINPUT,
                   "%s: which collective is this? Neither a line \"# Collective test starting:\" "
                   "nor the file's name says so; give it a name with one of " KNOWN,
                   r->file);
}

/* ---- who took part ---- */

static int compare(const struct ty_log_word *a, const struct ty_log_word *b)
{
    if (a->len != b->len) {
        return a->len < b->len ? -1 : 1;
    }
    return a->len == 0 ? 0 : memcmp(a->start, b->start, a->len);
}

static int by_group(const void *a, const void *b)
{
    const struct ty_log_rank *x = a, *y = b;
    const int order = compare(&x->group, &y->group);
    return order != 0 ? order : compare(&x->host, &y->host);
}

static int by_host(const void *a, const void *b)
{
    const struct ty_log_rank *x = a, *y = b;
    const int order = compare(&x->host, &y->host);
    return order != 0 ? order : compare(&x->group, &y->group);
}

/* Groups on the busiest host. Leaves the ranks in order of hosts. */
static uint32_t sharing(struct ty_log_reader *r)
{
    uint32_t most = 0, on_host = 0;
    qsort(r->ranks, r->n_ranks, sizeof(*r->ranks), by_host);
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        const bool new_host = i == 0 || compare(&r->ranks[i].host, &r->ranks[i - 1].host) != 0;
        const bool new_group = i == 0 || compare(&r->ranks[i].group, &r->ranks[i - 1].group) != 0;
        on_host = new_host ? 1 : on_host + new_group;
        most = on_host > most ? on_host : most;
    }
    return most;
}

/* Every group must be like the first: they have one time. Leaves the ranks in order of groups. */
static bool extents(struct ty_log_reader *r)
{
    struct ty_coll_log *log = r->log;
    uint32_t ranks = 0, nodes = 0, on_host = 0;
    bool equal = true;
    qsort(r->ranks, r->n_ranks, sizeof(*r->ranks), by_group);
    for (uint32_t i = 0; i <= r->n_ranks; i++) {
        const bool end = i == r->n_ranks;
        const bool new_group =
            end || i == 0 || compare(&r->ranks[i].group, &r->ranks[i - 1].group) != 0;
        if (new_group && i > 0) {
            equal = equal && (log->ranks == 0 || (ranks == log->ranks && nodes == log->nodes));
            log->ranks = ranks;
            log->nodes = nodes;
        }
        const bool new_host = new_group || compare(&r->ranks[i].host, &r->ranks[i - 1].host) != 0;
        ranks = new_group ? 1 : ranks + 1;
        nodes = new_group ? 1 : nodes + new_host;
        on_host = new_host ? 1 : on_host + 1;
        log->per_node = !end && on_host > log->per_node ? on_host : log->per_node;
    }
    return equal;
}

static int read_reach(struct ty_log_reader *r)
{
    const struct ty_place at = ty_log_place(r, 1);
    if (r->n_ranks == 0) {
        return ty_fail_at(r->err, TY_EINPUT, &at,
                          "no \"# Rank\" lines up to here: how many ranks on how many nodes took "
                          "part is unknown; keep the head of the log");
    }
    if (!extents(r)) {
        return ty_fail_at(
            r->err, TY_EINPUT, &at,
            "groups of different size or spread ran together; split the ranks evenly");
    }
    if (r->log->ranks < 2) {
        return ty_fail_at(r->err, TY_EINPUT, &at,
                          "a group of one rank: nothing was sent; start nccl-tests with -g, or "
                          "build it with MPI=1 and start it with mpirun");
    }
    r->log->sharing = sharing(r);
    return 0;
}

/* What the head says when all is read: the collective (else by the file's name), the reach. */
static int ty_log_head(struct ty_log_reader *r)
{
    const int rc = r->stated ? 0 : read_name(r);
    return rc == 0 ? read_reach(r) : rc;
}

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
            rc = log_comment(r);
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
