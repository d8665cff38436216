/* link_load.c - bytes on links, counted by kinds of operations, and their load over time. */
#include "sim/core/analyse/link_load.h"

#include <assert.h>
#include <stdlib.h>

#include "sim/base/noise.h"
#include "sim/core/execute/evq.h"

/* Tasks of one member lie far apart in a timeline: where many links are looked at one by one, what
 * was found for one is kept for those that share its flows. 16 bytes for each flow that ran. */
struct memory {
    uint32_t *first;    /* [n_gangs]: lanes before this gang */
    const ty_ps **task; /* [lanes] start and end of each operation with a flow; NULL: not yet */
    struct ty_arena arena;
};

/* Whose times are looked at for a member. */
static uint32_t representative(const struct ty_link_load *h, uint32_t kind, uint32_t member)
{
    const struct ty_flow *flow = ty_kind_flow(h->program, &h->program->kinds[kind], 0);
    return h->lockstep && flow != NULL && flow[member].lead == flow->lead ? 0 : member;
}

/* How long an execution takes no link: messages of a collective have latencies all along. */
static ty_ps lead_of(const struct ty_link_load *h, uint32_t kind, uint32_t member)
{
    const struct ty_flow *flow = ty_kind_flow(h->program, &h->program->kinds[kind], member);
    return flow != NULL ? flow->lead : 0;
}

/* ---- load over time ---- */

/* Operations on one stream of a rank follow each other. So the flows of one leader and stream are
 * a sequence of intervals in order of time, read off the timeline one by one, and the load of a set
 * of links is a merge of few such sequences: nothing is sorted, nothing but a cursor for each is
 * kept. */

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
    struct memory *memory;     /* or NULL */
    struct sequence *sequence; /* [n] */
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
    const ty_ps lead = lead_of(w->load, kind, c->member);
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
            row[at++] = (struct row){owner->gang, representative(h, part->kind, part->member),
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

/* ty_link_load_walk; `memory` may be NULL. */
static int link_load_walk_from(const struct ty_link_load *load, const struct ty_timeline *timeline,
                               const uint32_t *links, uint32_t n, ty_ps quantum,
                               struct memory *memory, ty_link_load_fn *visit, void *arg,
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
    return link_load_walk_from(load, timeline, links, n, quantum, NULL, visit, arg, err);
}

/* ---- the most that each link carried, and how long it was full ---- */

struct measure {
    struct ty_link_load_peak peak;
    double full_Bps;
    ty_ps since;
    bool full;
};

static void measure(void *arg, ty_ps t, double Bps)
{
    struct measure *m = arg;
    m->peak.full += m->full ? t - m->since : 0;
    m->since = t;
    m->full = Bps >= m->full_Bps;
    m->peak.Bps = Bps > m->peak.Bps ? Bps : m->peak.Bps;
}

/* Links that look alike are neighbours when sorted by this. */
struct alike {
    uint64_t hash;
    uint32_t link;
};

static int by_hash(const void *a, const void *b)
{
    const struct alike *x = a, *y = b;
    return x->hash != y->hash ? (x->hash < y->hash ? -1 : 1)
                              : (x->link > y->link) - (x->link < y->link);
}

/* One who does a part of a link's work at the same times. */
static uint32_t like(const struct ty_link_load *h, const struct ty_link_load_part *part)
{
    const uint32_t member = representative(h, part->kind, part->member);
    const struct ty_flow *flow = ty_kind_flow(h->program, &h->program->kinds[part->kind], 0);
    const uint32_t twin = h->twins > 1 ? member - member % h->twins : member;
    return flow != NULL && flow[twin].lead == flow[member].lead ? twin : member;
}

static uint64_t hash_of(const struct ty_link_load *h, uint32_t link)
{
    uint64_t hash = ty_bits(h->program->links[link].capacity);
    for (uint32_t i = h->first_part[link]; i < h->first_part[link + 1]; i++) {
        const struct ty_link_load_part *part = &h->part[i];
        hash = ty_hash4(hash, part->kind, like(h, part), ty_bits(part->bytes));
    }
    return hash;
}

static bool are_alike(const struct ty_link_load *h, uint32_t a, uint32_t b)
{
    const struct ty_link_load_part *x = &h->part[h->first_part[a]], *y = &h->part[h->first_part[b]];
    const uint32_t n = h->first_part[a + 1] - h->first_part[a];
    bool same = n == h->first_part[b + 1] - h->first_part[b] &&
                ty_bits(h->program->links[a].capacity) == ty_bits(h->program->links[b].capacity);
    for (uint32_t i = 0; same && i < n; i++) {
        same = x[i].kind == y[i].kind && ty_bits(x[i].bytes) == ty_bits(y[i].bytes) &&
               like(h, &x[i]) == like(h, &y[i]);
    }
    return same;
}

static int remember(struct memory *m, const struct ty_program *p, struct ty_err *err)
{
    uint32_t lanes = 0;
    m->first = ty_arena_array(&m->arena, uint32_t, (size_t)p->n_gangs + 1);
    m->task = ty_arena_array(&m->arena, const ty_ps *, (size_t)p->n_ranks * p->n_lanes + 1);
    for (uint32_t g = 0; m->first != NULL && g < p->n_gangs; g++) {
        m->first[g] = lanes;
        lanes += p->gangs[g].n_ranks * p->n_lanes;
    }
    return m->first != NULL && m->task != NULL ? 0 : ty_fail_memory(err);
}

/* Links in the order of their hashes. */
static struct alike *sort_alike(const struct ty_link_load *h, struct ty_arena *arena,
                                struct ty_err *err)
{
    const uint32_t n = h->program->n_links;
    struct alike *order = ty_arena_array(arena, struct alike, (size_t)n + 1);
    for (uint32_t l = 0; order != NULL && l < n; l++) {
        order[l] = (struct alike){hash_of(h, l), l};
    }
    if (order != NULL) {
        qsort(order, n, sizeof(*order), by_hash);
    } else {
        ty_fail_memory(err);
    }
    return order;
}

int ty_link_load_peaks(const struct ty_link_load *h, const struct ty_timeline *timeline,
                       struct ty_link_load_peak *out, struct ty_err *err)
{
    struct memory memory = {.first = NULL};
    const struct alike *order = sort_alike(h, &memory.arena, err);
    int rc = order != NULL ? remember(&memory, h->program, err) : TY_ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < h->program->n_links; i++) {
        const uint32_t link = order[i].link;
        if (timeline->peak != NULL && timeline->peak[link].Bps >= 0) {
            out[link] = timeline->peak[link];
            continue;
        }
        struct measure m = {.full_Bps = TY_LINK_FULL * h->program->links[link].capacity};
        if (i > 0 && order[i - 1].hash == order[i].hash && are_alike(h, order[i - 1].link, link)) {
            out[link] = out[order[i - 1].link];
            continue;
        }
        rc = link_load_walk_from(h, timeline, &link, 1, 1, &memory, measure, &m, err);
        out[link] = m.peak;
    }
    ty_arena_release(&memory.arena);
    return rc;
}

/* ---- operations of blocks ---- */

static size_t list_of(const struct ty_program *p, uint32_t block, uint32_t lane)
{
    return (size_t)block * p->n_lanes + lane;
}

/* Calls for every operation with flows of every block. */
static void each_op(struct ty_link_load *h,
                    void (*visit)(struct ty_link_load *h, size_t list, uint32_t k))
{
    const struct ty_program *p = h->program;
    for (uint32_t b = 0; b < p->n_blocks; b++) {
        for (uint32_t k = 0; k < p->blocks[b].n_ops; k++) {
            const struct ty_op *op = &p->ops[p->blocks[b].first + k];
            if (p->kinds[op->kind].first_flow != 0) {
                visit(h, list_of(p, b, op->lane), k);
            }
        }
    }
}

/* Lists are laid out by counting sort: list i is counted at i + 2, so that after adding up it
 * begins at [i + 1], and at [i] once all is kept. */
static void count_op(struct ty_link_load *h, size_t list, uint32_t k)
{
    (void)k;
    h->first_op[list + 2]++;
}

static void keep_op(struct ty_link_load *h, size_t list, uint32_t k)
{
    h->op[h->first_op[list + 1]++] = k;
}

static int list_ops(struct ty_link_load *h, struct ty_arena *arena)
{
    const size_t lists = (size_t)h->program->n_blocks * h->program->n_lanes;
    h->first_op = ty_arena_array(arena, uint32_t, lists + 2);
    if (h->first_op == NULL) {
        return TY_ENOMEM;
    }
    each_op(h, count_op);
    for (size_t i = 2; i < lists + 2; i++) {
        h->first_op[i] += h->first_op[i - 1];
    }
    /* the blocks of a program that was cut overlap: together they may have more operations */
    h->op = ty_arena_array(arena, uint32_t, (size_t)h->first_op[lists + 1] + 1);
    if (h->op == NULL) {
        return TY_ENOMEM;
    }
    each_op(h, keep_op);
    return 0;
}

/* ---- executions ---- */

static void count_times(struct ty_link_load *h)
{
    const struct ty_program *p = h->program;
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        for (uint32_t i = 0; i < p->gangs[g].n_passes; i++) {
            const uint32_t b = ty_gang_passes(p, &p->gangs[g])[i].block;
            const struct ty_op *ops = p->ops + p->blocks[b].first;
            const uint32_t end = h->first_op[list_of(p, b + 1, 0)];
            for (uint32_t k = h->first_op[list_of(p, b, 0)]; k < end; k++) {
                const uint16_t kind = ops[h->op[k]].kind;
                h->times[kind] += h->owner[kind].gang == g;
            }
        }
    }
}

/* ---- parts of links ---- */

typedef void part_fn(struct ty_link_load *h, const struct ty_link_load_part *part, uint32_t link);

/* What a flow moves in so many seconds at full speed. */
static void flow_parts(struct ty_link_load *h, uint32_t kind, uint32_t member,
                       const struct ty_flow *flow, double s, part_fn *visit)
{
    for (uint32_t u = 0; u < flow->n_uses; u++) {
        const struct ty_use *use = &h->program->uses[flow->first_use + u];
        visit(h,
              &(struct ty_link_load_part){kind, member,
                                          ty_use_moves(flow, use, h->program->links) * s},
              use->link);
    }
}

static double moves_for(const struct ty_flow *flow, ty_ps alone)
{
    return alone > flow->lead ? ty_s_from_ps(alone - flow->lead) : 0;
}

/* All messages that a member sends in a collective, those to the same one together. */
static void message_parts(struct ty_link_load *h, uint32_t kind, uint32_t member, part_fn *visit)
{
    const struct ty_program *p = h->program;
    const struct ty_group *g = &p->groups[h->owner[kind].group];
    struct ty_sender sender = ty_script_sender(p, &p->kinds[kind], g, member);
    while (ty_sender_next(&sender)) {
        assert(p->flows != NULL);
        const struct ty_flow *flow = &p->flows[sender.flow];
        double s = 0;
        for (uint32_t m = sender.first; m < sender.end; m++) {
            s += moves_for(flow, sender.messages[m].alone);
        }
        flow_parts(h, kind, member, flow, s, visit);
    }
}

/* Visits every use of every flow that a member stands for. */
static void each_part(struct ty_link_load *h, part_fn *visit)
{
    const struct ty_program *p = h->program;
    for (uint32_t k = 0; k < p->n_kinds; k++) {
        const struct ty_owner *owner = &h->owner[k];
        const uint32_t members = owner->gang == TY_NO_GANG ? 0 : p->gangs[owner->gang].n_ranks;
        for (uint32_t i = 0; i < members; i++) {
            const struct ty_flow *flow = ty_kind_flow(p, &p->kinds[k], i);
            if (flow == NULL) {
                message_parts(h, k, i, visit);
            } else if (ty_owner_is_first(p, owner, i)) {
                const double s = moves_for(flow, ty_kind_alone(&p->kinds[k], i));
                flow_parts(h, k, i, flow, s, visit);
            }
        }
    }
}

static void count_part(struct ty_link_load *h, const struct ty_link_load_part *part, uint32_t link)
{
    h->first_part[link + 2]++;
    h->bytes[link] += part->bytes * (double)h->times[part->kind];
}

static void keep_part(struct ty_link_load *h, const struct ty_link_load_part *part, uint32_t link)
{
    h->part[h->first_part[link + 1]++] = *part;
}

static int list_parts(struct ty_link_load *h, struct ty_arena *arena)
{
    const uint32_t n = h->program->n_links;
    each_part(h, count_part);
    for (uint32_t l = 2; l <= n + 1; l++) {
        h->first_part[l] += h->first_part[l - 1];
    }
    h->part = ty_arena_array(arena, struct ty_link_load_part, (size_t)h->first_part[n + 1] + 1);
    if (h->part == NULL) {
        return TY_ENOMEM;
    }
    each_part(h, keep_part);
    return 0;
}

int ty_link_load_init(struct ty_link_load *load, const struct ty_program *p, struct ty_arena *arena,
                      struct ty_err *err)
{
    *load = (struct ty_link_load){.program = p};
    const int rc = ty_owners_find(&load->owner, p, arena, err);
    if (rc < 0) {
        return rc;
    }
    load->times = ty_arena_array(arena, uint64_t, (size_t)p->n_kinds + 1);
    load->bytes = ty_arena_array(arena, double, (size_t)p->n_links + 1);
    load->first_part = ty_arena_array(arena, uint32_t, (size_t)p->n_links + 2);
    if (load->times == NULL || load->bytes == NULL || load->first_part == NULL ||
        list_ops(load, arena) < 0) {
        return ty_fail_memory(err);
    }
    count_times(load);
    return list_parts(load, arena) < 0 ? ty_fail_memory(err) : 0;
}
