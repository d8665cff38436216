/* goal_read.c - GOAL schedules read: the text, and the binary of LogGOPSim.
 *
 * A calculation occupies its CPU, which becomes a stream; sends of a rank go through its network
 * card one after the other. As in LogGOPSim without rendezvous, who requires a send waits until it
 * has begun.
 *
 * Sources: those of sim/exchange/goal.c and goal_write.c. */
#include <stdlib.h>
#include <string.h>

#include "model/vocabulary.h"
#include "sim/base/compiler.h"
#include "sim/base/file.h"
#include "sim/exchange/read/goal_internal.h"

#define FILE_MAX_B ((size_t)4 << 30)
#define PS_MAX     1e18 /* 11 days */

/* Streams that CPUs become, the first of them CPU 0. */
static const uint8_t stream_of_cpu[] = {
    TY_STREAM_COMPUTE, TY_STREAM_HOST,   TY_STREAM_TENSOR, TY_STREAM_REPLICA,
    TY_STREAM_CONTEXT, TY_STREAM_EXPERT, TY_STREAM_ROW,    TY_STREAM_COLUMN,
    TY_STREAM_DEPTH,   TY_STREAM_H2D,    TY_STREAM_D2H,    TY_STREAM_NVME,
};

int ty_goal_wrong(const struct ty_goal_reader *r, const char *what)
{
    return ty_fail(r->err, TY_EINPUT, "%s:%u: %s", r->job->name, (unsigned)r->line, what);
}

/* ---- nodes ---- */

static int cpu_stream(struct ty_goal_reader *r, uint64_t cpu, uint8_t *out)
{
    if (r->cpu[cpu] == 0) {
        if (r->n_cpus == TY_COUNT(stream_of_cpu)) {
            return ty_goal_wrong(r, "calculations on more than 12 CPUs");
        }
        r->cpu[cpu] = (uint8_t)++r->n_cpus;
    }
    *out = stream_of_cpu[r->cpu[cpu] - 1];
    return 0;
}

/* A node as both forms have it. */
int ty_goal_add_node(struct ty_goal_reader *r, const struct ty_goal_node *g)
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
            return ty_goal_wrong(r, "a calculation of more than 11 days");
        }
        n->what = TY_TRACED_CALC;
        n->dur = (ty_ps)(ps + 0.5);
        return cpu_stream(r, g->cpu, &n->stream);
    }
    if (g->peer >= r->job->n_ranks) {
        return ty_goal_wrong(r, g->peer == UINT32_MAX
                                    ? "a receive from anybody cannot be executed; name the sender"
                                    : "a message to or from a rank that is not there");
    }
    if (g->tag == UINT32_MAX) {
        return ty_goal_wrong(r, "a receive of any tag cannot be executed; name it");
    }
    const bool sends = g->type == TY_GOAL_SEND;
    n->what = sends ? TY_TRACED_SEND : TY_TRACED_RECV;
    n->stream = sends ? TY_STREAM_SEND : TY_STREAM_RECV;
    n->bytes = (double)g->size;
    n->peer = g->peer;
    n->tag = g->tag;
    return 0;
}

int ty_goal_keep_wait(struct ty_goal_reader *r, uint32_t node, uint32_t other)
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

static int by_node(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return 2 * TY_ORDER(x[0], y[0]) + TY_ORDER(x[1], y[1]);
}

/* What nodes of a rank wait for, as rows. */
int ty_goal_end_rank(struct ty_goal_reader *r)
{
    struct ty_traced_rank *rank = r->rank;
    if (r->n_waits > 0) {
        qsort(r->wait, r->n_waits, 2 * sizeof(*r->wait), by_node);
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
                return ty_goal_wrong(r, "irequires of a receive cannot be executed");
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

int ty_goal_begin_ranks(struct ty_goal_reader *r, uint64_t n)
{
    struct ty_traced *job = r->job;
    if (n == 0 || n > TY_TRACED_RANKS_MAX) {
        return ty_goal_wrong(r, "from 1 to 65000 ranks can be executed");
    }
    job->n_ranks = (uint32_t)n;
    job->rank = ty_arena_array(r->arena, struct ty_traced_rank, n);
    return job->rank != NULL ? 0 : ty_fail_memory(r->err);
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

static int cut_short(const struct ty_goal_reader *r)
{
    return ty_fail(r->err, TY_EINPUT, "%s: rank %u: not as LogGOPSim's binary is", r->job->name,
                   (unsigned)r->number);
}

/* Those that wait for a node, its end or its start: a part of the appendix. */
static int read_waiting(struct ty_goal_reader *r, const char *field, const char *appendix,
                        uint32_t node, uint32_t n, bool start)
{
    const uint64_t count = number_at(field, 4), first = number_at(field + 4, 4);
    int rc = count <= (uint64_t)(r->end - appendix) / 4 &&
                     first + count <= (uint64_t)(r->end - appendix) / 4
                 ? 0
                 : cut_short(r);
    for (uint64_t i = 0; i < count && rc == 0; i++) {
        const uint64_t waiting = number_at(appendix + 4 * (first + i), 4);
        rc = waiting < n
                 ? ty_goal_keep_wait(r, (uint32_t)waiting, node | (start ? TY_TRACED_START : 0))
                 : cut_short(r);
    }
    return rc;
}

static int read_block(struct ty_goal_reader *r)
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
        rc = g.type >= TY_GOAL_SEND && g.type <= TY_GOAL_CALC ? ty_goal_add_node(r, &g)
                                                              : cut_short(r);
        rc = rc < 0 ? rc : read_waiting(r, at + 23, appendix, i, (uint32_t)n, false);
        rc = rc < 0 ? rc : read_waiting(r, at + 31, appendix, i, (uint32_t)n, true);
    }
    return rc < 0 ? rc : ty_goal_end_rank(r);
}

static int read_binary(struct ty_goal_reader *r)
{
    const char *whole = r->at, *end = r->end;
    const uint64_t size = (uint64_t)(end - whole) - TY_GOAL_HEAD;
    if (size < 6 || number_at(whole + 8, 4) > size / 16) {
        return cut_short(r);
    }
    int rc = ty_goal_begin_ranks(r, number_at(whole + 8, 4));
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
    struct ty_goal_reader r = {.job = out,
                               .at = bytes,
                               .end = bytes + n,
                               .line = 1,
                               .unit_ps = unit_ps,
                               .arena = arena,
                               .err = err};
    const bool binary = n >= TY_GOAL_HEAD && number_at(bytes, TY_GOAL_HEAD) == TY_GOAL_MAGIC;
    const int rc = binary ? read_binary(&r) : ty_goal_read_text(&r);
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
