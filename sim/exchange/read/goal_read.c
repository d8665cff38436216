/* goal_read.c - GOAL schedules read: the text, and the binary of LogGOPSim.
 *
 * A calculation occupies its CPU, which becomes a stream; sends of a rank go through its network
 * card one after the other. As in LogGOPSim without rendezvous, who requires a send waits until it
 * has begun.
 *
 * Sources: those of sim/exchange/goal.c. */
#include <stdlib.h>
#include <string.h>

#include "model/vocabulary.h"
#include "sim/base/compiler.h"
#include "sim/base/file.h"
#include "sim/base/noise.h"
#include "sim/exchange/read/formats.h"
#include "sim/exchange/read/traced.h"

#define FILE_MAX_B ((size_t)4 << 30)
#define PS_MAX     1e18 /* 11 days */

/* Streams that CPUs become, the first of them CPU 0. */
static const uint8_t stream_of_cpu[] = {
    TY_STREAM_COMPUTE, TY_STREAM_HOST,   TY_STREAM_TENSOR, TY_STREAM_REPLICA,
    TY_STREAM_CONTEXT, TY_STREAM_EXPERT, TY_STREAM_ROW,    TY_STREAM_COLUMN,
    TY_STREAM_DEPTH,   TY_STREAM_H2D,    TY_STREAM_D2H,    TY_STREAM_NVME,
};

#define CPUS 256u

struct label {
    const char *name;
    size_t len;
    uint32_t node, rank; /* the rank: 1 + its number; 0: free */
};

struct reader {
    struct ty_traced *job;
    const char *at, *end;
    uint32_t line;
    double unit_ps;
    struct ty_traced_rank *rank; /* at hand; NULL: none */
    uint32_t number;
    struct label *label; /* [cap], open addressing */
    uint32_t n_labels, cap;
    uint32_t *wait, n_waits, cap_waits; /* [2 * n_waits] of the rank at hand: A, and B for which it
                                         * waits */
    uint8_t cpu[CPUS];                  /* of that rank: 1 + number of its stream; 0: none yet */
    uint32_t n_cpus;
    struct ty_arena *arena;
    struct ty_err *err;
};

/* ---- words ---- */

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r')) {
        r->at++;
    }
}

/* To the next line, or over a comment; false: something else comes. */
static bool skip_comment(struct reader *r)
{
    const size_t left = (size_t)(r->end - r->at);
    if (left >= 2 && memcmp(r->at, "//", 2) == 0) {
        const char *newline = memchr(r->at, '\n', left);
        r->at = newline != NULL ? newline : r->end;
        return true;
    }
    if (left < 2 || memcmp(r->at, "/*", 2) != 0) {
        return false;
    }
    for (r->at += 2; r->at < r->end; r->at++) {
        r->line += *r->at == '\n';
        if (*r->at == '*' && r->at + 1 < r->end && r->at[1] == '/') {
            r->at += 2;
            return true;
        }
    }
    return true;
}

/* To the next word of this line; false: it ends. */
static bool in_line(struct reader *r)
{
    do {
        skip_blanks(r);
    } while (skip_comment(r));
    return r->at < r->end && *r->at != '\n';
}

/* To the first word of a line that has one; false: the file ends. */
static bool next_line(struct reader *r)
{
    while (!in_line(r)) {
        if (r->at == r->end) {
            return false;
        }
        r->at++;
        r->line++;
    }
    return true;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The word that comes next; its length, 0: there is none. */
static size_t word(struct reader *r, const char **out)
{
    (void)in_line(r);
    *out = r->at;
    while (r->at < r->end && is_word(*r->at)) {
        r->at++;
    }
    return (size_t)(r->at - *out);
}

static bool take(struct reader *r, const char *text)
{
    const char *before = r->at, *found;
    const size_t n = word(r, &found);
    if (n == strlen(text) && memcmp(found, text, n) == 0) {
        return true;
    }
    r->at = before;
    return false;
}

static bool take_char(struct reader *r, char c)
{
    if (in_line(r) && *r->at == c) {
        r->at++;
        return true;
    }
    return false;
}

static bool take_number(struct reader *r, uint64_t most, uint64_t *out)
{
    *out = 0;
    if (!in_line(r) || *r->at < '0' || *r->at > '9') {
        return false;
    }
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        const uint64_t digit = (uint64_t)(*r->at - '0');
        if (*out > (most - digit) / 10) {
            return false;
        }
        *out = *out * 10 + digit;
    }
    return true;
}

/* ---- labels ---- */

static struct label *find_label(const struct reader *r, const char *name, size_t len)
{
    uint64_t h = r->number;
    for (size_t i = 0; i < len; i++) {
        h = (h ^ (unsigned char)name[i]) * UINT64_C(1099511628211);
    }
    uint32_t at = (uint32_t)ty_hash4(h, 0, 0, 0) & (r->cap - 1);
    while (r->label[at].rank != 0 &&
           (r->label[at].rank != r->number + 1 || r->label[at].len != len ||
            memcmp(r->label[at].name, name, len) != 0)) {
        at = (at + 1) & (r->cap - 1);
    }
    return &r->label[at];
}

static int more_labels(struct reader *r)
{
    struct label *old = r->label;
    const uint32_t n = r->cap, number = r->number;
    if (2 * r->n_labels < n) {
        return 0;
    }
    r->cap = n > 0 ? 2 * n : 1024;
    r->label = calloc(r->cap, sizeof(*r->label));
    if (r->label == NULL) {
        r->label = old;
        r->cap = n;
        return ty_fail_memory(r->err);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (old[i].rank != 0) {
            r->number = old[i].rank - 1;
            *find_label(r, old[i].name, old[i].len) = old[i];
        }
    }
    r->number = number;
    free(old);
    return 0;
}

/* A mistake in the line at hand. TY_EINPUT. */
static int goal_wrong(const struct reader *r, const char *what)
{
    return ty_fail(r->err, TY_EINPUT, "%s:%u: %s", r->job->name, (unsigned)r->line, what);
}

static int add_label(struct reader *r, const char *name, size_t len)
{
    int rc = more_labels(r);
    if (rc < 0) {
        return rc;
    }
    struct label *label = find_label(r, name, len);
    if (label->rank != 0) {
        return goal_wrong(r, "a label that this rank has already");
    }
    *label = (struct label){name, len, r->rank->n, r->number + 1};
    r->n_labels++;
    return 0;
}

/* ---- text ---- */

static int cpu_stream(struct reader *r, uint64_t cpu, uint8_t *out)
{
    if (r->cpu[cpu] == 0) {
        if (r->n_cpus == TY_COUNT(stream_of_cpu)) {
            return goal_wrong(r, "calculations on more than 12 CPUs");
        }
        r->cpu[cpu] = (uint8_t)++r->n_cpus;
    }
    *out = stream_of_cpu[r->cpu[cpu] - 1];
    return 0;
}

/* A node as both forms have it. */
static int goal_add_node(struct reader *r, const struct ty_goal_node *g)
{
    static const char *const names[] = {
        [TY_GOAL_SEND] = "send", [TY_GOAL_RECV] = "recv", [TY_GOAL_CALC] = "calc"};
    struct ty_traced_node *n = ty_traced_add(r->rank, r->arena);
    if (n == NULL) {
        return ty_fail_memory(r->err);
    }
    n->name = names[g->type];
    n->id = r->rank->n - 1;
    if (g->type == TY_GOAL_CALC) {
        const double ps = (double)g->size * r->unit_ps;
        if (ps > PS_MAX) {
            return goal_wrong(r, "a calculation of more than 11 days");
        }
        n->what = TY_TRACED_CALC;
        n->dur = (ty_ps)(ps + 0.5);
        n->stream = g->cpu; /* until the end of the rank */
        return 0;
    }
    if (g->peer >= r->job->n_ranks) {
        return goal_wrong(r, g->peer == UINT32_MAX
                                 ? "a receive from anybody cannot be executed; name the sender"
                                 : "a message to or from a rank that is not there");
    }
    if (g->tag == UINT32_MAX) {
        return goal_wrong(r, "a receive of any tag cannot be executed; name it");
    }
    const bool sends = g->type == TY_GOAL_SEND;
    n->what = sends ? TY_TRACED_SEND : TY_TRACED_RECV;
    n->stream = sends ? TY_STREAM_SEND : TY_STREAM_RECV;
    n->bytes = (double)g->size;
    n->peer = g->peer;
    n->tag = g->tag;
    return 0;
}

static int read_options(struct reader *r, struct ty_goal_node *g)
{
    uint64_t x;
    if (g->type != TY_GOAL_CALC && take(r, "tag")) {
        const bool any = take_char(r, '-');
        if (!take_number(r, UINT32_MAX, &x)) {
            return goal_wrong(r, "tag: a whole number is expected");
        }
        g->tag = any ? UINT32_MAX : (uint32_t)x;
    }
    if (take(r, "cpu")) {
        if (!take_number(r, CPUS - 1, &x)) {
            return goal_wrong(r, "cpu: a whole number from 0 to 255 is expected");
        }
        g->cpu = (uint8_t)x;
    }
    if (g->type != TY_GOAL_CALC && take(r, "nic")) {
        if (!take_number(r, CPUS - 1, &x)) {
            return goal_wrong(r, "nic: a whole number from 0 to 255 is expected");
        }
        g->nic = (uint8_t)x;
    }
    return in_line(r) ? goal_wrong(r, "a word too many behind a node") : goal_add_node(r, g);
}

static int read_message(struct reader *r, bool sends)
{
    struct ty_goal_node g = {.type = sends ? TY_GOAL_SEND : TY_GOAL_RECV};
    uint64_t peer = 0;
    if (!take_number(r, UINT64_C(1) << 60, &g.size) || r->at == r->end || *r->at != 'b') {
        return goal_wrong(r, "a size is expected, such as 4096b");
    }
    r->at++;
    if (!take(r, sends ? "to" : "from")) {
        return goal_wrong(r, sends ? "to RANK is expected" : "from RANK is expected");
    }
    const bool any = take_char(r, '-');
    if (!take_number(r, UINT32_MAX - 1, &peer)) {
        return goal_wrong(r, "a rank is expected");
    }
    g.peer = any ? UINT32_MAX : (uint32_t)peer;
    return read_options(r, &g);
}

static int read_calc(struct reader *r)
{
    struct ty_goal_node g = {.type = TY_GOAL_CALC};
    return take_number(r, UINT64_C(1) << 62, &g.size) ? read_options(r, &g)
                                                      : goal_wrong(r, "a time is expected");
}

static int goal_keep_wait(struct reader *r, uint32_t node, uint32_t other)
{
    if (r->n_waits == r->cap_waits) {
        const uint32_t cap = r->cap_waits > 0 ? 2 * r->cap_waits : 1024;
        uint32_t *larger = realloc(r->wait, 2 * (size_t)cap * sizeof(*larger));
        if (larger == NULL) {
            return ty_fail_memory(r->err);
        }
        r->wait = larger;
        r->cap_waits = cap;
    }
    r->wait[2 * (size_t)r->n_waits] = node;
    r->wait[2 * (size_t)r->n_waits++ + 1] = other;
    return 0;
}

/* "A requires B", behind A. */
static int read_requires(struct reader *r, const char *name, size_t len, bool start)
{
    const char *other;
    const size_t n = word(r, &other);
    const struct label *a = r->cap > 0 ? find_label(r, name, len) : NULL;
    const struct label *b = r->cap > 0 ? find_label(r, other, n) : NULL;
    if (a == NULL || a->rank == 0 || b->rank == 0) {
        return goal_wrong(r, "a label that this rank has not had before");
    }
    return in_line(r) ? goal_wrong(r, "a word too many behind a dependency")
                      : goal_keep_wait(r, a->node, b->node | (start ? TY_TRACED_START : 0));
}

/* A line within a rank. */
static int read_line(struct reader *r)
{
    const char *name;
    const char *before = r->at;
    const size_t len = word(r, &name);
    if (len == 0) {
        return goal_wrong(r, "send, recv, calc, a label or } is expected");
    }
    if (take_char(r, ':')) {
        const int rc = add_label(r, name, len);
        if (rc < 0) {
            return rc;
        }
    } else if (take(r, "requires")) {
        return read_requires(r, name, len, false);
    } else if (take(r, "irequires")) {
        return read_requires(r, name, len, true);
    } else {
        r->at = before;
    }
    if (take(r, "send")) {
        return read_message(r, true);
    }
    if (take(r, "recv")) {
        return read_message(r, false);
    }
    return take(r, "calc") ? read_calc(r) : goal_wrong(r, "send, recv or calc is expected");
}

static int by_node(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return 2 * TY_ORDER(x[0], y[0]) + TY_ORDER(x[1], y[1]);
}

#define NOTHING UINT32_MAX

/* Finds joins: calculations of no length on a CPU that never calculates, behind one node at most.
 * They take no turn. now[n]: number of a node without them; of a join, what it waits for. */
static void find_joins(const struct reader *r, uint32_t *now, bool *is_join)
{
    const struct ty_traced_rank *rank = r->rank;
    bool busy[CPUS] = {false};
    for (uint32_t i = 0; i < rank->n; i++) {
        busy[rank->node[i].stream] |= rank->node[i].what == TY_TRACED_CALC && rank->node[i].dur > 0;
    }
    for (uint32_t i = 0, k = 0, n = 0; i < rank->n; i++) {
        uint32_t n_waits = 0, other = NOTHING;
        for (; k < r->n_waits && r->wait[2 * (size_t)k] == i; k++, n_waits++) {
            other = r->wait[2 * (size_t)k + 1];
        }
        const uint32_t node = other & ~TY_TRACED_START;
        is_join[i] = rank->node[i].what == TY_TRACED_CALC && !busy[rank->node[i].stream] &&
                     (n_waits == 0 || (n_waits == 1 && node < i));
        if (!is_join[i]) {
            now[i] = n++;
        } else if (n_waits == 0 || is_join[node]) {
            now[i] = n_waits == 0 ? NOTHING : now[node];
        } else {
            now[i] = now[node] | (other & TY_TRACED_START);
        }
    }
}

/* Who waits for a join waits for what it waits for, so that it needs no stream. */
static int fold_joins(struct reader *r)
{
    struct ty_traced_rank *rank = r->rank;
    uint32_t *now = malloc((rank->n + 1) * sizeof(*now)), n = 0, n_waits = 0;
    bool *is_join = malloc((rank->n + 1) * sizeof(*is_join));
    if (now == NULL || is_join == NULL) {
        free(now);
        free(is_join);
        return ty_fail_memory(r->err);
    }
    find_joins(r, now, is_join);
    for (uint32_t k = 0; k < r->n_waits; k++) {
        const uint32_t *wait = &r->wait[2 * (size_t)k], node = wait[1] & ~TY_TRACED_START;
        const uint32_t start = is_join[node] ? 0 : wait[1] & TY_TRACED_START;
        if (!is_join[wait[0]] && now[node] != NOTHING) {
            r->wait[2 * (size_t)n_waits] = now[wait[0]];
            r->wait[2 * (size_t)n_waits++ + 1] = now[node] | start;
        }
    }
    for (uint32_t i = 0; i < rank->n; i++) {
        if (!is_join[i]) {
            rank->node[n++] = rank->node[i];
        }
    }
    rank->n = n;
    r->n_waits = n_waits;
    free(now);
    free(is_join);
    return 0;
}

/* What nodes of a rank wait for, as rows, and the streams of its CPUs. */
static int goal_end_rank(struct reader *r)
{
    struct ty_traced_rank *rank = r->rank;
    memset(r->cpu, 0, sizeof(r->cpu));
    r->n_cpus = 0;
    if (r->n_waits > 0) {
        qsort(r->wait, r->n_waits, 2 * sizeof(*r->wait), by_node);
    }
    int rc = fold_joins(r);
    for (uint32_t i = 0; i < rank->n && rc == 0; i++) {
        struct ty_traced_node *n = &rank->node[i];
        rc = n->what == TY_TRACED_CALC ? cpu_stream(r, n->stream, &n->stream) : 0;
    }
    if (rc < 0) {
        return rc;
    }
    rank->dep = ty_arena_array(r->arena, uint32_t, r->n_waits + 1u);
    if (rank->dep == NULL) {
        return ty_fail_memory(r->err);
    }
    uint32_t k = 0;
    for (uint32_t i = 0; i < rank->n; i++) {
        rank->node[i].first_dep = k;
        for (; k < r->n_waits && r->wait[2 * (size_t)k] == i; k++) {
            const uint32_t other = r->wait[2 * (size_t)k + 1];
            const uint8_t what = rank->node[other & ~TY_TRACED_START].what;
            if (what == TY_TRACED_RECV && (other & TY_TRACED_START) != 0) {
                return goal_wrong(r, "irequires of a receive cannot be executed");
            }
            rank->dep[k] = other | (what == TY_TRACED_SEND ? TY_TRACED_START : 0);
        }
        rank->node[i].n_deps = k - rank->node[i].first_dep;
    }
    rank->n_deps = r->n_waits;
    r->n_waits = 0;
    r->rank = NULL;
    return 0;
}

static int read_rank(struct reader *r)
{
    uint64_t number;
    if (!take(r, "rank") || !take_number(r, UINT32_MAX, &number) || number != r->number ||
        number >= r->job->n_ranks || !take_char(r, '{')) {
        return goal_wrong(r, "rank N { is expected, in order from 0 upwards");
    }
    r->rank = &r->job->rank[number];
    r->rank->file = r->job->name;
    int rc = 0;
    while (rc == 0) {
        if (!next_line(r)) {
            return goal_wrong(r, "the file ends within a rank");
        }
        if (take_char(r, '}')) {
            return goal_end_rank(r);
        }
        rc = read_line(r);
    }
    return rc;
}

/* Room for so many ranks; a node of the rank at hand; A waits for B, by their numbers there; the
 * end of a rank, when all its nodes are known. */
static int goal_begin_ranks(struct reader *r, uint64_t n)
{
    struct ty_traced *job = r->job;
    if (n == 0 || n > TY_TRACED_RANKS_MAX) {
        return goal_wrong(r, "from 1 to 65000 ranks can be executed");
    }
    job->n_ranks = (uint32_t)n;
    job->rank = ty_arena_array(r->arena, struct ty_traced_rank, n);
    return job->rank != NULL ? 0 : ty_fail_memory(r->err);
}

/* goal_text.c: all of a text. */
static int goal_read_text(struct reader *r)
{
    uint64_t n;
    if (!next_line(r) || !take(r, "num_ranks") || !take_number(r, UINT32_MAX, &n)) {
        return goal_wrong(r, "num_ranks N is expected");
    }
    int rc = goal_begin_ranks(r, n);
    for (; rc == 0 && r->number < r->job->n_ranks; r->number++) {
        rc = next_line(r) ? read_rank(r) : goal_wrong(r, "the file ends before its last rank");
    }
    return rc == 0 && next_line(r) ? goal_wrong(r, "something behind the last rank") : rc;
}

/* ---- binary ---- */

/* A number at a place of the file; places beyond its end are looked at before. */
static uint64_t number_at(const char *at, uint32_t n)
{
    uint64_t x = 0;
    for (uint32_t i = 0; i < n; i++) {
        x |= (uint64_t)(unsigned char)at[i] << 8 * i;
    }
    return x;
}

static int cut_short(const struct reader *r)
{
    return ty_fail(r->err, TY_EINPUT, "%s: rank %u: not as LogGOPSim's binary is", r->job->name,
                   (unsigned)r->number);
}

/* Those that wait for a node, its end or its start: a part of the appendix. */
static int read_waiting(struct reader *r, const char *field, const char *appendix, uint32_t node,
                        uint32_t n, bool start)
{
    const uint64_t count = number_at(field, 4), first = number_at(field + 4, 4);
    int rc = count <= (uint64_t)(r->end - appendix) / 4 &&
                     first + count <= (uint64_t)(r->end - appendix) / 4
                 ? 0
                 : cut_short(r);
    for (uint64_t i = 0; i < count && rc == 0; i++) {
        const uint64_t waiting = number_at(appendix + 4 * (first + i), 4);
        rc = waiting < n
                 ? goal_keep_wait(r, (uint32_t)waiting, node | (start ? TY_TRACED_START : 0))
                 : cut_short(r);
    }
    return rc;
}

static int read_block(struct reader *r)
{
    const uint64_t left = (uint64_t)(r->end - r->at);
    const uint64_t n = left >= 8 ? number_at(r->at, 4) : 0;
    const uint64_t roots = left >= 8 ? number_at(r->at + 4, 4) : 0;
    if (left < 8 || 8 + 4 * roots + TY_GOAL_NODE_B * n > left) {
        return cut_short(r);
    }
    const char *at = r->at + 8 + 4 * roots, *appendix = at + TY_GOAL_NODE_B * n;
    int rc = 0;
    for (uint32_t i = 0; i < n && rc == 0; i++, at += TY_GOAL_NODE_B) {
        const struct ty_goal_node g = {.type = (uint8_t)at[4],
                                       .peer = (uint32_t)number_at(at + 5, 4),
                                       .size = number_at(at + 9, 8),
                                       .tag = (uint32_t)number_at(at + 17, 4),
                                       .cpu = (uint8_t)at[21],
                                       .nic = (uint8_t)at[22]};
        rc = g.type >= TY_GOAL_SEND && g.type <= TY_GOAL_CALC ? goal_add_node(r, &g) : cut_short(r);
        rc = rc < 0 ? rc : read_waiting(r, at + 23, appendix, i, (uint32_t)n, false);
        rc = rc < 0 ? rc : read_waiting(r, at + 31, appendix, i, (uint32_t)n, true);
    }
    return rc < 0 ? rc : goal_end_rank(r);
}

static int read_binary(struct reader *r)
{
    const char *whole = r->at, *end = r->end;
    const uint64_t size = (uint64_t)(end - whole) - TY_GOAL_HEAD;
    if (size < 6 || number_at(whole + 8, 4) > size / 16) {
        return cut_short(r);
    }
    int rc = goal_begin_ranks(r, number_at(whole + 8, 4));
    for (; rc == 0 && r->number < r->job->n_ranks; r->number++) {
        const char *place = whole + 14 + 16 * (size_t)r->number;
        const uint64_t from = place + 16 <= end ? number_at(place, 8) : 1;
        const uint64_t to = place + 16 <= end ? number_at(place + 8, 8) : 0;
        if (from > to || to > size) {
            return cut_short(r);
        }
        r->rank = &r->job->rank[r->number];
        r->rank->file = r->job->name;
        r->at = whole + TY_GOAL_HEAD + from;
        r->end = whole + TY_GOAL_HEAD + to;
        rc = read_block(r);
    }
    return rc;
}

int ty_traced_parse_goal(struct ty_traced *out, const char *bytes, size_t n, double unit_ps,
                         struct ty_arena *arena, struct ty_err *err)
{
    struct reader r = {.job = out,
                       .at = bytes,
                       .end = bytes + n,
                       .line = 1,
                       .unit_ps = unit_ps,
                       .arena = arena,
                       .err = err};
    const bool binary = n >= TY_GOAL_HEAD && number_at(bytes, TY_GOAL_HEAD) == TY_GOAL_MAGIC;
    const int rc = binary ? read_binary(&r) : goal_read_text(&r);
    free(r.label);
    free(r.wait);
    return rc;
}

int ty_traced_read_goal(struct ty_traced *out, const char *path, double unit_ps,
                        struct ty_arena *arena, struct ty_err *err)
{
    struct ty_arena scratch = {.head = NULL};
    const char *bytes = NULL;
    size_t n = 0;
    *out = (struct ty_traced){.name = path};
    int rc = ty_file_read(&scratch, path, FILE_MAX_B, &bytes, &n, err);
    rc = rc < 0 ? rc : ty_traced_parse_goal(out, bytes, n, unit_ps, arena, err);
    ty_arena_release(&scratch);
    return rc;
}
