/* link_load_walk.c - when links carry what. See link_load.h.
 *
 * Operations on one stream of a rank follow each other. So the flows of one leader and stream are
 * a sequence of intervals in order of time, read off the timeline one by one, and the load of a set
 * of links is a merge of few such sequences: nothing is sorted, nothing but a cursor for each is
 * kept. */
#include "sim/core/analyse/link_load_internal.h"

#include <stdlib.h>

#include "sim/core/execute/evq.h"

/* The flows of one leader on one stream, as far as they use the links at hand. */
struct sequence {
    const struct ty_gang *gang; /* of the whole program */
    uint32_t gang_index, member;
    uint8_t lane;
    bool running;
    uint32_t first_kind, n_kinds;
    double *bytes;      /* [n_kinds] of one execution, over all links at hand */
    uint32_t pass, pos; /* next */
    uint32_t n_tasks;   /* operations with flows passed so far */
    const ty_ps *task;  /* of those, start and end; NULL: to be looked up */
    /* the execution at hand: looked at until `at`, over at `over`, so many bytes left */
    ty_ps at, over;
    double left, per_speed; /* bytes; bytes of a picosecond at full speed */
    bool varies;
    uint32_t speed_change; /* 1 + index of the next that was not looked at */
    ty_ps start, end;      /* of the interval that runs or comes next */
    double Bps;
    double carried; /* bytes of executions shorter than a quantum: added to the next */
};

struct walk {
    const struct ty_link_load *load;
    const struct ty_timeline *timeline;
    ty_ps quantum;
    struct ty_link_load_memory *memory; /* or NULL */
    struct sequence *sequence;          /* [n] */
    uint32_t n, n_running;
    struct ty_evq queue; /* of when they begin or end an interval */
    struct ty_arena arena;
};

/* ---- the intervals of one sequence ---- */

static double bytes_of(const struct walk *w, const struct sequence *c, uint16_t kind)
{
    const uint32_t k = kind - c->first_kind; /* wraps below the first */
    return k < c->n_kinds && w->load->owner[kind].gang == c->gang_index ? c->bytes[k] : 0;
}

/* From `begin` to `end`, or as long as the clock can tell, with what was carried; false: it
 * cannot. */
static bool interval(const struct walk *w, struct sequence *c, ty_ps begin, ty_ps end, double bytes)
{
    c->start = begin / w->quantum * w->quantum;
    c->end = end / w->quantum * w->quantum;
    c->carried += bytes;
    if (c->end <= c->start) {
        c->end = c->start;
        return false;
    }
    c->Bps = c->carried / ty_s_from_ps(c->end - c->start);
    c->carried = 0;
    return true;
}

static const struct ty_speed_change *change_at(const struct walk *w, uint32_t number)
{
    return number == 0 ? NULL : &w->load->speed_change[number - 1];
}

/* When the speed of the execution at hand changes after `b`, at the latest its end. */
static ty_ps until(const struct walk *w, const struct sequence *c, const struct ty_speed_change *b)
{
    const struct ty_speed_change *after = change_at(w, b->next);
    return after != NULL && after->t < c->over ? after->t : c->over;
}

/* An execution begins; how its speed changes, if it does, is told from `speed_change` on. */
static void begin_execution(const struct walk *w, struct sequence *c, ty_ps begin, ty_ps end,
                            double bytes)
{
    double area = 0;
    c->at = begin;
    c->over = end;
    c->left = bytes;
    while (c->speed_change != 0 && change_at(w, c->speed_change)->t < begin) {
        c->speed_change = change_at(w, c->speed_change)->next;
    }
    c->varies = c->speed_change != 0 && change_at(w, c->speed_change)->t == begin;
    for (uint32_t i = c->speed_change; c->varies && i != 0 && change_at(w, i)->t < end;
         i = change_at(w, i)->next) {
        const struct ty_speed_change *b = change_at(w, i);
        area += b->speed * (double)(until(w, c, b) - b->t);
    }
    c->varies = c->varies && area > 0;
    c->per_speed = c->varies ? bytes / area : 0;
}

/* The next interval of one speed of the execution at hand; false: it is over. */
static bool next_of_execution(const struct walk *w, struct sequence *c)
{
    while (c->at < c->over || c->left > 0) {
        const ty_ps from = c->at;
        const struct ty_speed_change *b = c->varies ? change_at(w, c->speed_change) : NULL;
        double part = c->left;
        c->at = b != NULL ? until(w, c, b) : c->over;
        if (b != NULL && c->at < c->over) {
            part = c->per_speed * b->speed * (double)(c->at - from);
            c->speed_change = b->next;
        }
        c->left = c->at == c->over ? 0 : c->left - part;
        if (interval(w, c, from, c->at, part)) {
            return true;
        }
    }
    return false;
}

/* When the task of an operation with a flow starts and ends. */
static void find_task(const struct walk *w, const struct sequence *c, const struct ty_pass *pass,
                      uint32_t k, ty_ps out[2])
{
    const struct ty_timeline *t = w->timeline;
    const struct ty_gang *gang = &t->program->gangs[c->gang_index]; /* one member when folded */
    const uint32_t column = gang->n_ranks == c->gang->n_ranks ? c->member : 0;
    const uint64_t ordinal = (uint64_t)pass->first_op + k;
    out[0] = ty_timeline_starts(t, gang, ordinal)[column];
    out[1] =
        out[0] + ty_timeline_dur(t, gang, &ty_pass_ops(w->load->program, pass)[k], ordinal, column);
}

/* An execution of bytes begins: the `n_tasks`-th operation with a flow on this stream. */
static void find_execution(const struct walk *w, struct sequence *c, const struct ty_pass *pass,
                           uint32_t k, uint32_t kind)
{
    ty_ps task[2];
    const ty_ps *at = task;
    if (c->task != NULL) {
        at = c->task + 2 * (size_t)(c->n_tasks - 1);
    } else {
        find_task(w, c, pass, k, task);
    }
    const ty_ps lead = ty_link_load_lead(w->load, kind, c->member);
    begin_execution(w, c, at[0] + (lead < at[1] - at[0] ? lead : 0), at[1],
                    bytes_of(w, c, (uint16_t)kind));
}

/* The next interval of a sequence, if there is one. What is too short for the clock is carried to
 * the next one, and takes a quantum of its own after the last. */
static bool next(const struct walk *w, struct sequence *c)
{
    const struct ty_program *p = w->load->program;
    if (next_of_execution(w, c)) {
        return true;
    }
    for (; c->pass < c->gang->n_passes; c->pass++, c->pos = 0) {
        const struct ty_pass *pass = &ty_gang_passes(p, c->gang)[c->pass];
        const uint32_t *list = &w->load->first_op[(size_t)pass->block * p->n_lanes + c->lane];
        while (list[0] + c->pos < list[1]) {
            const uint32_t k = w->load->op[list[0] + c->pos++];
            const uint16_t kind = ty_pass_ops(p, pass)[k].kind;
            c->n_tasks++;
            if (bytes_of(w, c, kind) <= 0) {
                continue;
            }
            find_execution(w, c, pass, k, kind);
            if (next_of_execution(w, c)) {
                return true;
            }
        }
    }
    if (c->carried <= 0) {
        return false;
    }
    c->start = c->end;
    c->end += w->quantum;
    c->Bps = c->carried / ty_s_from_ps(w->quantum);
    c->carried = 0;
    return true;
}

/* ---- which sequences use the links ---- */

struct row {
    uint32_t gang, member;
    uint8_t lane;
    uint32_t kind;
    double bytes;
};

static int by_sequence(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
#define BY(member)                                                                                 \
    if (x->member != y->member) {                                                                  \
        return x->member < y->member ? -1 : 1;                                                     \
    }
    BY(gang)
    BY(lane)
    BY(member)
    BY(kind)
#undef BY
    return 0;
}

static struct row *list_rows(struct walk *w, const uint32_t *links, uint32_t n, size_t *n_rows)
{
    const struct ty_link_load *h = w->load;
    *n_rows = 0;
    for (uint32_t i = 0; i < n; i++) {
        *n_rows += h->first_part[links[i] + 1] - h->first_part[links[i]];
    }
    struct row *row = ty_arena_array(&w->arena, struct row, *n_rows + 1);
    size_t at = 0;
    for (uint32_t i = 0; row != NULL && i < n; i++) {
        for (uint32_t k = h->first_part[links[i]]; k < h->first_part[links[i] + 1]; k++) {
            const struct ty_link_load_part *part = &h->part[k];
            const struct ty_owner *owner = &h->owner[part->kind];
            row[at++] =
                (struct row){owner->gang, ty_link_load_representative(h, part->kind, part->member),
                             owner->lane, part->kind, part->bytes};
        }
    }
    if (row != NULL) {
        qsort(row, *n_rows, sizeof(*row), by_sequence);
    }
    return row;
}

static bool same_sequence(const struct row *a, const struct row *b)
{
    return a->gang == b->gang && a->lane == b->lane && a->member == b->member;
}

/* Times of all operations with flows on a sequence's stream; NULL: no memory. */
static const ty_ps *recall(struct walk *w, const struct sequence *c)
{
    const struct ty_program *p = w->load->program;
    const struct ty_pass *passes = ty_gang_passes(p, c->gang);
    const size_t lane = w->memory->first[c->gang_index] + (size_t)c->member * p->n_lanes + c->lane;
    size_t n = 0;
    if (w->memory->task[lane] != NULL) {
        return w->memory->task[lane];
    }
    for (uint32_t i = 0; i < c->gang->n_passes; i++) {
        const uint32_t *list = &w->load->first_op[(size_t)passes[i].block * p->n_lanes + c->lane];
        n += list[1] - list[0];
    }
    ty_ps *task = ty_arena_array(&w->memory->arena, ty_ps, 2 * n + 1);
    w->memory->task[lane] = task;
    for (uint32_t i = 0; task != NULL && i < c->gang->n_passes; i++) {
        const uint32_t *list = &w->load->first_op[(size_t)passes[i].block * p->n_lanes + c->lane];
        for (uint32_t k = list[0]; k < list[1]; k++, task += 2) {
            find_task(w, c, &passes[i], w->load->op[k], task);
        }
    }
    return w->memory->task[lane];
}

/* One sequence: rows[n], kinds increasing. */
static int add_sequence(struct walk *w, const struct row *rows, size_t n)
{
    struct sequence *c = &w->sequence[w->n++];
    *c = (struct sequence){.gang = &w->load->program->gangs[rows->gang],
                           .gang_index = rows->gang,
                           .member = rows->member,
                           .lane = rows->lane,
                           .first_kind = rows->kind,
                           .n_kinds = rows[n - 1].kind - rows->kind + 1};
    const uint32_t lane = w->load->first_speed_change == NULL
                              ? 0
                              : ty_link_load_lane(w->load, rows->gang, rows->member, rows->lane);
    if (w->load->first_speed_change != NULL && lane < w->load->first_lane[rows->gang + 1]) {
        c->speed_change = w->load->first_speed_change[lane];
    }
    c->bytes = ty_arena_array(&w->arena, double, c->n_kinds);
    for (size_t i = 0; c->bytes != NULL && i < n; i++) {
        c->bytes[rows[i].kind - c->first_kind] += rows[i].bytes;
    }
    c->task = w->memory != NULL ? recall(w, c) : NULL;
    return c->bytes != NULL && (w->memory == NULL || c->task != NULL) ? 0 : TY_ENOMEM;
}

static int prepare(struct walk *w, const uint32_t *links, uint32_t n)
{
    size_t n_rows, n_sequences = 0;
    int rc = 0;
    const struct row *row = list_rows(w, links, n, &n_rows);
    for (size_t i = 0; row != NULL && i < n_rows; i++) {
        n_sequences += i == 0 || !same_sequence(&row[i - 1], &row[i]);
    }
    w->sequence = ty_arena_array(&w->arena, struct sequence, n_sequences + 1);
    w->queue.row = ty_arena_array(&w->arena, struct ty_ev, n_sequences + 1);
    w->queue.at = ty_arena_array(&w->arena, uint32_t, n_sequences + 1);
    if (row == NULL || w->sequence == NULL || w->queue.row == NULL || w->queue.at == NULL) {
        return TY_ENOMEM;
    }
    for (size_t first = 0, end; first < n_rows && rc == 0; first = end) {
        for (end = first + 1; end < n_rows && same_sequence(&row[first], &row[end]); end++) {}
        rc = add_sequence(w, row + first, end - first);
    }
    return rc;
}

/* ---- the merge ---- */

/* A sequence begins or ends its interval; returns by how much the load changes. */
static double change(struct walk *w, uint32_t index)
{
    struct sequence *c = &w->sequence[index];
    const double Bps = c->Bps;
    if (!c->running) {
        c->running = true;
        w->n_running++;
        ty_evq_set(&w->queue, index, c->end);
        return Bps;
    }
    c->running = false;
    w->n_running--;
    if (next(w, c)) {
        ty_evq_set(&w->queue, index, c->start);
    }
    return -Bps;
}

static void merge(struct walk *w, ty_link_load_fn *visit, void *arg)
{
    double load = 0, told = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        if (next(w, &w->sequence[i])) {
            ty_evq_set(&w->queue, i, w->sequence[i].start);
        }
    }
    while (w->queue.n > 0) {
        const struct ty_ev ev = ty_evq_pop(&w->queue);
        load += change(w, ev.lane);
        load = w->n_running == 0 ? 0 : load; /* sums of differences are rounded */
        if ((w->queue.n == 0 || w->queue.row[0].t > ev.t) && (load < told || load > told)) {
            visit(arg, ev.t, load);
            told = load;
        }
    }
}

int ty_link_load_walk_from(const struct ty_link_load *load, const struct ty_timeline *timeline,
                           const uint32_t *links, uint32_t n, ty_ps quantum,
                           struct ty_link_load_memory *memory, ty_link_load_fn *visit, void *arg,
                           struct ty_err *err)
{
    struct walk w = {.load = load, .timeline = timeline, .quantum = quantum, .memory = memory};
    const int rc = prepare(&w, links, n);
    if (rc == 0) {
        merge(&w, visit, arg);
    }
    ty_arena_release(&w.arena);
    return rc == 0 ? 0 : ty_fail_memory(err);
}

int ty_link_load_walk(const struct ty_link_load *load, const struct ty_timeline *timeline,
                      const uint32_t *links, uint32_t n, ty_ps quantum, ty_link_load_fn *visit,
                      void *arg, struct ty_err *err)
{
    return ty_link_load_walk_from(load, timeline, links, n, quantum, NULL, visit, arg, err);
}
