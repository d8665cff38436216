/* goal_text.c - GOAL as text; see goal_read.c.
 *
 *     num_ranks 2
 *     rank 0 {
 *     a: calc 1000 cpu 0
 *     b: send 4096b to 1 tag 7 cpu 0 nic 0
 *     b requires a
 *     }
 *     rank 1 { ... }
 *
 * Labels are of their rank, and known before they are used. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/noise.h"
#include "sim/exchange/read/goal_internal.h"

/* ---- words ---- */

static void skip_blanks(struct ty_goal_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r')) {
        r->at++;
    }
}

/* To the next line, or over a comment; false: something else comes. */
static bool skip_comment(struct ty_goal_reader *r)
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
static bool in_line(struct ty_goal_reader *r)
{
    do {
        skip_blanks(r);
    } while (skip_comment(r));
    return r->at < r->end && *r->at != '\n';
}

/* To the first word of a line that has one; false: the file ends. */
static bool next_line(struct ty_goal_reader *r)
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
static size_t word(struct ty_goal_reader *r, const char **out)
{
    (void)in_line(r);
    *out = r->at;
    while (r->at < r->end && is_word(*r->at)) {
        r->at++;
    }
    return (size_t)(r->at - *out);
}

static bool take(struct ty_goal_reader *r, const char *text)
{
    const char *before = r->at, *found;
    const size_t n = word(r, &found);
    if (n == strlen(text) && memcmp(found, text, n) == 0) {
        return true;
    }
    r->at = before;
    return false;
}

static bool take_char(struct ty_goal_reader *r, char c)
{
    if (in_line(r) && *r->at == c) {
        r->at++;
        return true;
    }
    return false;
}

static bool take_number(struct ty_goal_reader *r, uint64_t most, uint64_t *out)
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

static struct ty_goal_label *find_label(const struct ty_goal_reader *r, const char *name,
                                        size_t len)
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

static int more_labels(struct ty_goal_reader *r)
{
    struct ty_goal_label *old = r->label;
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

static int add_label(struct ty_goal_reader *r, const char *name, size_t len)
{
    int rc = more_labels(r);
    if (rc < 0) {
        return rc;
    }
    struct ty_goal_label *label = find_label(r, name, len);
    if (label->rank != 0) {
        return ty_goal_wrong(r, "a label that this rank has already");
    }
    *label = (struct ty_goal_label){name, len, r->rank->n, r->number + 1};
    r->n_labels++;
    return 0;
}

/* ---- text ---- */

static int read_options(struct ty_goal_reader *r, struct ty_goal_node *g)
{
    uint64_t x;
    if (g->type != TY_GOAL_CALC && take(r, "tag")) {
        const bool any = take_char(r, '-');
        if (!take_number(r, UINT32_MAX, &x)) {
            return ty_goal_wrong(r, "tag: a whole number is expected");
        }
        g->tag = any ? UINT32_MAX : (uint32_t)x;
    }
    if (take(r, "cpu")) {
        if (!take_number(r, TY_GOAL_CPUS - 1, &x)) {
            return ty_goal_wrong(r, "cpu: a whole number from 0 to 255 is expected");
        }
        g->cpu = (uint8_t)x;
    }
    if (g->type != TY_GOAL_CALC && take(r, "nic")) {
        if (!take_number(r, TY_GOAL_CPUS - 1, &x)) {
            return ty_goal_wrong(r, "nic: a whole number from 0 to 255 is expected");
        }
        g->nic = (uint8_t)x;
    }
    return in_line(r) ? ty_goal_wrong(r, "a word too many behind a node") : ty_goal_add_node(r, g);
}

static int read_message(struct ty_goal_reader *r, bool sends)
{
    struct ty_goal_node g = {.type = sends ? TY_GOAL_SEND : TY_GOAL_RECV};
    uint64_t peer = 0;
    if (!take_number(r, UINT64_C(1) << 60, &g.size) || r->at == r->end || *r->at != 'b') {
        return ty_goal_wrong(r, "a size is expected, such as 4096b");
    }
    r->at++;
    if (!take(r, sends ? "to" : "from")) {
        return ty_goal_wrong(r, sends ? "to RANK is expected" : "from RANK is expected");
    }
    const bool any = take_char(r, '-');
    if (!take_number(r, UINT32_MAX - 1, &peer)) {
        return ty_goal_wrong(r, "a rank is expected");
    }
    g.peer = any ? UINT32_MAX : (uint32_t)peer;
    return read_options(r, &g);
}

static int read_calc(struct ty_goal_reader *r)
{
    struct ty_goal_node g = {.type = TY_GOAL_CALC};
    return take_number(r, UINT64_C(1) << 62, &g.size) ? read_options(r, &g)
                                                      : ty_goal_wrong(r, "a time is expected");
}

/* "A requires B", behind A. */
static int read_requires(struct ty_goal_reader *r, const char *name, size_t len, bool start)
{
    const char *other;
    const size_t n = word(r, &other);
    const struct ty_goal_label *a = r->cap > 0 ? find_label(r, name, len) : NULL;
    const struct ty_goal_label *b = r->cap > 0 ? find_label(r, other, n) : NULL;
    if (a == NULL || a->rank == 0 || b->rank == 0) {
        return ty_goal_wrong(r, "a label that this rank has not had before");
    }
    return in_line(r) ? ty_goal_wrong(r, "a word too many behind a dependency")
                      : ty_goal_keep_wait(r, a->node, b->node | (start ? TY_TRACED_START : 0));
}

/* A line within a rank. */
static int read_line(struct ty_goal_reader *r)
{
    const char *name;
    const char *before = r->at;
    const size_t len = word(r, &name);
    if (len == 0) {
        return ty_goal_wrong(r, "send, recv, calc, a label or } is expected");
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
    return take(r, "calc") ? read_calc(r) : ty_goal_wrong(r, "send, recv or calc is expected");
}

static int read_rank(struct ty_goal_reader *r)
{
    uint64_t number;
    if (!take(r, "rank") || !take_number(r, UINT32_MAX, &number) || number != r->number ||
        number >= r->job->n_ranks || !take_char(r, '{')) {
        return ty_goal_wrong(r, "rank N { is expected, in order from 0 upwards");
    }
    r->rank = &r->job->rank[number];
    r->rank->file = r->job->name;
    int rc = 0;
    while (rc == 0) {
        if (!next_line(r)) {
            return ty_goal_wrong(r, "the file ends within a rank");
        }
        if (take_char(r, '}')) {
            return ty_goal_end_rank(r);
        }
        rc = read_line(r);
    }
    return rc;
}

int ty_goal_read_text(struct ty_goal_reader *r)
{
    uint64_t n;
    if (!next_line(r) || !take(r, "num_ranks") || !take_number(r, UINT32_MAX, &n)) {
        return ty_goal_wrong(r, "num_ranks N is expected");
    }
    int rc = ty_goal_begin_ranks(r, n);
    for (; rc == 0 && r->number < r->job->n_ranks; r->number++) {
        rc = next_line(r) ? read_rank(r) : ty_goal_wrong(r, "the file ends before its last rank");
    }
    return rc == 0 && next_line(r) ? ty_goal_wrong(r, "something behind the last rank") : rc;
}
