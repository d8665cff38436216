/* log_head.c - the comment lines of an nccl-tests log: which test, on whom, which columns. */
#include "sim/base/path.h"
#include "topology/collectives/log_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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

int ty_log_comment(struct ty_log_reader *r)
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

int ty_log_head(struct ty_log_reader *r)
{
    const int rc = r->stated ? 0 : read_name(r);
    return rc == 0 ? read_reach(r) : rc;
}
