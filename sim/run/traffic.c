/* traffic.c - who talks: bytes of a step by kind of group and operation, and where groups lie
 * (traffic.h). */
#include "sim/run/traffic.h"

#include <math.h>
#include <string.h>

#include "sim/core/program/issue.h"
#include "sim/core/program/peers.h"

static bool equal(const char *a, const char *b)
{
    return a == b || strcmp(a, b) == 0;
}

const struct ty_traffic_row *ty_traffic_row_of(const struct ty_traffic_row *rows, uint32_t n,
                                               const struct ty_program *p, const struct ty_op *op)
{
    const struct ty_kind *kind = &p->kinds[op->kind];
    if (kind->group == NULL || op->sync == TY_SYNC_RECV) { /* counted where it is sent */
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (equal(rows[i].group, kind->group) && equal(rows[i].operation, kind->name)) {
            return &rows[i];
        }
    }
    return NULL;
}

/* What a byte of each row is counted in; 0: it cannot be. */
struct grains {
    double nvlink[TY_TRAFFIC_ROWS], net[TY_TRAFFIC_ROWS];
};

/* Rows that are being added up. */
struct adding {
    const struct ty_program *p;
    uint32_t likes; /* each rank counts for so many */
    struct ty_traffic_row *rows;
    uint32_t n;
    struct grains grains;
};

/* The row of one operation, made for the first of its like; NULL: it sends nothing, or all rows are
 * taken. */
static struct ty_traffic_row *row_for(struct adding *a, const struct ty_op *op)
{
    const struct ty_kind *kind = &a->p->kinds[op->kind];
    const struct ty_traffic_row *found = ty_traffic_row_of(a->rows, a->n, a->p, op);
    if (found != NULL) {
        return &a->rows[found - a->rows];
    }
    if (kind->group == NULL || op->sync == TY_SYNC_RECV || a->n == TY_TRAFFIC_ROWS) {
        return NULL;
    }
    a->rows[a->n] = (struct ty_traffic_row){
        .group = kind->group, .operation = kind->name, .to_host = op->sync == TY_SYNC_LOCAL};
    a->grains.nvlink[a->n] = a->grains.net[a->n] = 1;
    return &a->rows[a->n++];
}

/* What an operation sends on all members of its gang in a step. */
static void bytes_of(const struct adding *a, const struct ty_gang *gang, const struct ty_op *op,
                     double *nvlink_B, double *net_B)
{
    const struct ty_kind *kind = &a->p->kinds[op->kind];
    const uint32_t ranks = gang->n_ranks * a->likes;
    *nvlink_B = kind->nvlink_B * ranks / a->p->n_steps;
    *net_B = kind->net_B * ranks / a->p->n_steps;
}

/* Operation by operation, in the order of issue. */
static void add_up(struct adding *a)
{
    for (uint32_t g = 0; g < a->p->n_gangs; g++) {
        for (struct ty_issue at = ty_issue_of(a->p, &a->p->gangs[g]); ty_issue_next(&at);) {
            struct ty_traffic_row *row = row_for(a, at.op);
            double nvlink_B, net_B;
            bytes_of(a, at.gang, at.op, &nvlink_B, &net_B);
            if (row != NULL) {
                row->nvlink_B += nvlink_B;
                row->net_B += net_B;
            }
        }
    }
}

/* Sums of whole bytes, or of multiples of 2^-10 where some are not whole, are exact in any order
 * while they stay below 2^53 of their unit: nothing is ever rounded. */
#define FINE  1024.0
#define EXACT 9007199254740992.0

static bool is_whole(double units)
{
    return units < EXACT && floor(units) == units;
}

static double grain_of(double grain, double bytes)
{
    return is_whole(bytes * grain) ? grain : is_whole(bytes * FINE) && grain > 0 ? FINE : 0;
}

/* Adds a block that a gang runs so many times. */
static void add_block(struct adding *a, const struct ty_gang *gang, const struct ty_block *block,
                      double times)
{
    for (uint32_t k = 0; k < block->n_ops; k++) {
        const struct ty_op *op = &a->p->ops[block->first + k];
        struct ty_traffic_row *row = row_for(a, op);
        double nvlink_B, net_B;
        if (row == NULL) {
            continue;
        }
        const size_t i = (size_t)(row - a->rows);
        bytes_of(a, gang, op, &nvlink_B, &net_B);
        row->nvlink_B += times * nvlink_B;
        row->net_B += times * net_B;
        a->grains.nvlink[i] = grain_of(a->grains.nvlink[i], nvlink_B);
        a->grains.net[i] = grain_of(a->grains.net[i], net_B);
    }
}

/* Each block of each gang once, first met first; false: sums may be rounded, or no memory. */
static bool add_blocks(struct adding *a)
{
    const struct ty_program *p = a->p;
    struct ty_arena arena = {.head = NULL};
    uint32_t *times = ty_arena_array(&arena, uint32_t, (size_t)p->n_blocks + 1);
    bool exact = times != NULL;
    for (uint32_t g = 0; g < p->n_gangs && exact; g++) {
        const struct ty_gang *gang = &p->gangs[g];
        const struct ty_pass *passes = ty_gang_passes(p, gang);
        for (uint32_t i = 0; i < gang->n_passes; i++) {
            times[passes[i].block]++;
        }
        for (uint32_t i = 0; i < gang->n_passes; i++) {
            const uint32_t b = passes[i].block;
            if (times[b] > 0) {
                add_block(a, gang, &p->blocks[b], times[b]);
                times[b] = 0;
            }
        }
    }
    for (uint32_t i = 0; i < a->n && exact; i++) {
        const double nvlink = a->grains.nvlink[i], net = a->grains.net[i];
        exact = nvlink > 0 && a->rows[i].nvlink_B * nvlink < EXACT && net > 0 &&
                a->rows[i].net_B * net < EXACT;
    }
    ty_arena_release(&arena);
    return exact;
}

uint32_t ty_traffic_rows(const struct ty_program *p, uint32_t likes, struct ty_traffic_row *rows)
{
    struct adding a = {.p = p, .likes = likes, .rows = rows};
    if (!add_blocks(&a)) {
        a.n = 0;
        add_up(&a);
    }
    return a.n;
}

/* ---- where groups lie ---- */

/* Groups that were looked at: by row, and what they are. */
struct seen {
    uint32_t row, a, b;
    uint8_t sync;
};

struct survey {
    const struct ty_program *p;
    const struct ty_grid *grid;
    struct ty_traffic_place *out;
    struct seen *seen; /* [n_seen of cap] */
    size_t n_seen, cap;
    bool *sends;           /* [rows x n_ranks] */
    uint32_t *mark, now;   /* [nodes]: the last group that had it */
    uint32_t ranks, nodes; /* of the group at hand */
    struct ty_arena arena;
};

static void begin_group(struct survey *s)
{
    s->now++;
    s->ranks = s->nodes = 0;
}

static void add_rank(struct survey *s, uint32_t row, uint32_t rank, bool sends)
{
    uint32_t *mark = &s->mark[ty_grid_node(s->grid, rank)];
    bool *known = &s->sends[(size_t)row * s->p->n_ranks + rank];
    s->nodes += *mark != s->now;
    *mark = s->now;
    s->ranks++;
    s->out[row].n_senders += sends && !*known;
    *known = *known || sends;
}

static void end_group(struct survey *s, uint32_t row)
{
    struct ty_traffic_place *out = &s->out[row];
    if (s->ranks < 2) {
        return;
    }
    out->n_groups++;
    out->ranks = s->ranks > out->ranks ? s->ranks : out->ranks;
    if (s->nodes > 1) {
        out->fewest_nodes =
            out->n_straddling == 0 || s->nodes < out->fewest_nodes ? s->nodes : out->fewest_nodes;
        out->most_nodes = s->nodes > out->most_nodes ? s->nodes : out->most_nodes;
        out->n_straddling++;
    }
}

static void add_members(struct survey *s, uint32_t row, uint32_t gang, const struct ty_group *g,
                        uint32_t first)
{
    for (uint32_t i = 0; i < g->count; i++) {
        add_rank(s, row, s->p->gangs[gang].rank_of[first + i * g->stride], true);
    }
}

static void survey_group(struct survey *s, uint32_t row, uint32_t gang, uint16_t link)
{
    const struct ty_group *g = &s->p->groups[link];
    for (uint32_t m = 0; m < s->p->gangs[gang].n_ranks; m++) {
        if (ty_group_position(g, m) == 0) {
            begin_group(s);
            add_members(s, row, gang, g, m);
            end_group(s, row);
        }
    }
}

static int survey_meet(struct survey *s, uint32_t row, uint16_t link)
{
    const struct ty_meet *meet = &s->p->meets[link];
    bool *in = ty_arena_array(&s->arena, bool, s->p->n_gangs);
    uint32_t first = UINT32_MAX;
    for (uint32_t k = 0; in != NULL && k < s->p->n_gangs; k++) {
        in[k] = ty_gang_meets(s->p, &s->p->gangs[k], link);
        first = in[k] && first == UINT32_MAX ? k : first;
    }
    for (uint32_t m = 0; first != UINT32_MAX && m < s->p->gangs[first].n_ranks; m++) {
        const struct ty_group own = ty_meet_group(s->p, meet, s->p->gangs[first].n_ranks);
        if (ty_group_position(&own, m) != 0) {
            continue;
        }
        begin_group(s);
        for (uint32_t k = 0; k < s->p->n_gangs; k++) {
            const struct ty_group group = ty_meet_group(s->p, meet, s->p->gangs[k].n_ranks);
            if (in[k]) {
                add_members(s, row, k, &group, m);
            }
        }
        end_group(s, row);
    }
    return in != NULL ? 0 : TY_ENOMEM;
}

static void survey_channel(struct survey *s, uint32_t row, uint32_t from, uint32_t to)
{
    const struct ty_gang *a = &s->p->gangs[from], *b = &s->p->gangs[to];
    const uint32_t wide = a->n_ranks > b->n_ranks ? a->n_ranks : b->n_ranks;
    for (uint32_t k = 0; k < wide; k++) {
        begin_group(s);
        add_rank(s, row, a->rank_of[k / (wide / a->n_ranks)], true);
        add_rank(s, row, b->rank_of[k / (wide / b->n_ranks)], false);
        end_group(s, row);
    }
}

/* Each by itself, to what is next to it. */
static void survey_local(struct survey *s, uint32_t row, uint32_t gang)
{
    const struct ty_gang *g = &s->p->gangs[gang];
    for (uint32_t m = 0; m < g->n_ranks; m++) {
        begin_group(s);
        add_rank(s, row, g->rank_of[m], true);
    }
    s->out[row].ranks = 1;
    s->out[row].n_groups += g->n_ranks;
}

/* True the first time; *rc becomes TY_ENOMEM when it cannot be remembered. */
static bool is_new(struct survey *s, struct seen what, int *rc)
{
    for (size_t i = 0; i < s->n_seen; i++) {
        const struct seen *x = &s->seen[i];
        if (x->row == what.row && x->a == what.a && x->b == what.b && x->sync == what.sync) {
            return false;
        }
    }
    if (s->n_seen == s->cap) {
        const size_t cap = s->cap == 0 ? 64 : 2 * s->cap;
        struct seen *more = ty_arena_array(&s->arena, struct seen, cap);
        if (more == NULL) {
            *rc = TY_ENOMEM;
            return false;
        }
        if (s->n_seen > 0) {
            memcpy(more, s->seen, s->n_seen * sizeof(*more));
        }
        s->seen = more;
        s->cap = cap;
    }
    s->seen[s->n_seen++] = what;
    return true;
}

static int survey_op(struct survey *s, uint32_t row, uint32_t gang, const struct ty_op *op)
{
    const struct ty_channel *c = op->sync == TY_SYNC_SEND ? &s->p->channels[op->link] : NULL;
    const bool of_gang = op->sync == TY_SYNC_GROUP || op->sync == TY_SYNC_LOCAL;
    const struct seen what = {row, c != NULL ? c->from : op->link,
                              c != NULL ? c->to
                              : of_gang ? gang
                                        : 0,
                              op->sync};
    int rc = 0;
    if (!is_new(s, what, &rc)) {
        return rc;
    }
    if (c != NULL) {
        survey_channel(s, row, c->from, c->to);
    } else if (op->sync == TY_SYNC_LOCAL) {
        survey_local(s, row, gang);
    } else if (op->sync == TY_SYNC_GROUP) {
        survey_group(s, row, gang, op->link);
    } else {
        rc = survey_meet(s, row, op->link);
    }
    return rc;
}

/* Every block of every gang once. */
static int survey_all(struct survey *s, const struct ty_traffic_row *rows, uint32_t n)
{
    const struct ty_program *p = s->p;
    uint32_t *done = ty_arena_array(&s->arena, uint32_t, (size_t)p->n_blocks + 1);
    int rc = done != NULL ? 0 : TY_ENOMEM;
    for (uint32_t g = 0; g < p->n_gangs && rc == 0; g++) {
        for (uint32_t i = 0; i < p->gangs[g].n_passes && rc == 0; i++) {
            const struct ty_pass *pass = &ty_gang_passes(p, &p->gangs[g])[i];
            const uint32_t n_ops = done[pass->block] == g + 1 ? 0 : p->blocks[pass->block].n_ops;
            done[pass->block] = g + 1;
            for (uint32_t k = 0; k < n_ops && rc == 0; k++) {
                const struct ty_op *op = &ty_pass_ops(p, pass)[k];
                const struct ty_traffic_row *row = ty_traffic_row_of(rows, n, p, op);
                rc = row == NULL ? 0 : survey_op(s, (uint32_t)(row - rows), g, op);
            }
        }
    }
    return rc;
}

int ty_traffic_places(const struct ty_run *run, const struct ty_traffic_row *rows, uint32_t n,
                      struct ty_traffic_place *out, struct ty_err *err)
{
    struct survey s = {.p = &run->lowered.program, .grid = &run->lowered.grid, .out = out};
    s.mark = ty_arena_array(&s.arena, uint32_t, ty_grid_nodes(s.grid));
    s.sends = ty_arena_array(&s.arena, bool, (size_t)n *s.p->n_ranks + 1);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (struct ty_traffic_place){.ranks = 0};
    }
    const int rc = s.mark == NULL || s.sends == NULL ? TY_ENOMEM : survey_all(&s, rows, n);
    ty_arena_release(&s.arena);
    return rc == 0 ? 0 : ty_fail_memory(err);
}
