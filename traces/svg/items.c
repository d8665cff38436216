/* items.c - rows of a picture: passes and, between them, idle stretches with their causes.
 *
 * Passes are those of the text Gantt. Waiting inside a pass is part of its box, and summed up by
 * cause; so boxes and idle stretches tile a row, and boxes minus what is inside are busy time. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/analyse/gaps.h"
#include "traces/svg/internal.h"
#include "traces/view/gantt_rows.h"
#include "traces/view/view.h"

#define WORTH 0.01 /* guess: below it is what any two GPUs differ by */

static int ascending(const void *a, const void *b)
{
    const ty_ps x = *(const ty_ps *)a, y = *(const ty_ps *)b;
    return (x > y) - (x < y);
}

static ty_ps busy(const struct ty_svg_panel *panel, uint32_t rank)
{
    return panel->stats->rank[rank].stream_busy[TY_STREAM_COMPUTE];
}

/* The median of a gang: the lower one of two. */
static ty_ps median(const struct ty_svg_panel *panel, const struct ty_gang *gang, ty_ps *sorted)
{
    for (uint32_t m = 0; m < gang->n_ranks; m++) {
        sorted[m] = busy(panel, gang->rank_of[m]);
    }
    qsort(sorted, gang->n_ranks, sizeof(*sorted), ascending);
    return sorted[(gang->n_ranks - 1) / 2];
}

static double behind(const struct ty_svg_panel *panel, uint32_t rank, ty_ps usual)
{
    const double by = usual > 0 ? (double)busy(panel, rank) / (double)usual - 1 : 0;
    return by >= WORTH ? by : 0;
}

static void find_slowest(struct ty_svg_items *items, const struct ty_svg_panel *panel, ty_ps *usual,
                         ty_ps *sorted)
{
    const struct ty_program *p = panel->timeline->program;
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        const struct ty_gang *gang = &p->gangs[g];
        usual[g] = median(panel, gang, sorted);
        for (uint32_t m = 0; m < gang->n_ranks; m++) {
            const double by = behind(panel, gang->rank_of[m], usual[g]);
            if (by > items->slowest.by) {
                items->slowest = (struct ty_svg_slow){.rank = gang->rank_of[m], .by = by};
            }
        }
    }
}

/* Marks the labels of slow rows, and finds the slowest of all ranks. 0 or TY_ENOMEM. */
static int svg_mark_slow(struct ty_svg_items *items, const struct ty_svg_panel *panel,
                         const uint32_t *rank_of_row, struct ty_arena *arena)
{
    const struct ty_program *p = panel->timeline->program;
    if (panel->stats == NULL) {
        return 0;
    }
    ty_ps *usual = ty_arena_array(arena, ty_ps, p->n_gangs);
    ty_ps *sorted = ty_arena_array(arena, ty_ps, p->n_ranks);
    if (usual == NULL || sorted == NULL) {
        return TY_ENOMEM;
    }
    find_slowest(items, panel, usual, sorted);
    for (uint32_t i = 0; i < items->n_rows && items->slowest.by > 0; i++) {
        const uint32_t rank = rank_of_row[i];
        const double by = behind(panel, rank, usual[ty_program_seat(p, rank).gang]);
        items->slowest.shown = items->slowest.shown || rank == items->slowest.rank;
        if (by > 0) {
            items->row[i].label =
                ty_arena_printf(arena, "%s, +%.0f %%", items->row[i].label, 100 * by);
            items->marked = true;
        }
        if (items->row[i].label == NULL) {
            return TY_ENOMEM;
        }
    }
    return 0;
}

/* ---- items ---- */

struct collect {
    struct ty_svg_items *items;
    const struct ty_timeline *t;
    struct ty_arena *arena;
    ty_ps from, to;
    const struct ty_gantt_box *box, *end; /* of the row, those that are to come */
    uint32_t gang;
    size_t first; /* item of the row */
    int rc;
};

static bool push(struct collect *c, struct ty_svg_item item)
{
    struct ty_svg_items *s = c->items;
    if (s->n_items == s->room) {
        const size_t room = s->room < 256 ? 512 : 2 * s->room;
        struct ty_svg_item *grown = ty_arena_array(c->arena, struct ty_svg_item, room);
        if (grown == NULL) {
            c->rc = TY_ENOMEM;
            return false;
        }
        if (s->item != NULL) {
            memcpy(grown, s->item, s->n_items * sizeof(*grown));
        }
        s->item = grown;
        s->room = room;
    }
    assert(s->item != NULL);
    s->item[s->n_items++] = item;
    s->time[item.kind] += item.end - item.start;
    return true;
}

static void push_box(struct collect *c)
{
    const struct ty_gantt_box *box = c->box++;
    push(c, (struct ty_svg_item){.start = box->start,
                                 .end = box->end,
                                 .mb = box->mb,
                                 .kind = (uint8_t)(box->phase + (box->other ? TY_SVG_OTHER : 0))});
}

static uint8_t kind_of_gap(const struct collect *c, const struct ty_gap *gap)
{
    const struct ty_pass *stuck;
    const bool stands =
        gap->before == NULL && ty_timeline_blocked_op(c->t, c->gang, &stuck) != NULL;
    const bool unknown = gap->bucket == c->t->program->words->stall &&
                         ty_view_observed(c->t->program, &c->t->program->gangs[c->gang]);
    return (uint8_t)(stands    ? TY_SVG_DEADLOCK
                     : unknown ? TY_SVG_UNKNOWN
                               : TY_SVG_CAUSE + gap->bucket);
}

/* A gap comes behind the passes that begin before it ends; it lies in the last of them when that
 * ends after it begins. */
static void visit(void *arg, uint32_t member, const struct ty_gap *gap)
{
    struct collect *c = arg;
    struct ty_svg_items *s = c->items;
    const ty_ps start = gap->start < c->from ? c->from : gap->start;
    const ty_ps end = gap->start + gap->dur > c->to ? c->to : gap->start + gap->dur;
    (void)member;
    if (start >= end || c->rc != 0) {
        return;
    }
    while (c->box < c->end && c->box->start < end) {
        push_box(c);
    }
    struct ty_svg_item *last = s->n_items > c->first ? &s->item[s->n_items - 1] : NULL;
    if (last != NULL && start < last->end) {
        s->inside[gap->bucket] += end - start;
        return;
    }
    const uint8_t kind = kind_of_gap(c, gap);
    if (last != NULL && last->kind == kind && last->end == start) {
        last->end = end;
        s->time[kind] += end - start;
        return;
    }
    push(c, (struct ty_svg_item){.start = start, .end = end, .kind = kind});
}

static int add_row(struct collect *c, const struct ty_gantt_rows *rows,
                   const struct ty_gantt_row *row, struct ty_gaps *gaps)
{
    struct ty_svg_row *out = &c->items->row[c->items->n_rows++];
    const struct ty_seat seat = ty_program_seat(c->t->program, row->rank);
    c->gang = row->gang;
    c->box = rows->box + row->first;
    c->end = c->box + row->n;
    c->first = c->items->n_items;
    ty_gaps_walk(gaps, seat.gang, seat.member, 1, visit, c);
    while (c->box < c->end && c->rc == 0) {
        push_box(c);
    }
    *out = (struct ty_svg_row){
        .label = row->label, .first = c->first, .n = c->items->n_items - c->first};
    return c->rc;
}

int ty_svg_collect(struct ty_svg_items *items, const struct ty_svg_panel *panel, ty_ps from,
                   ty_ps to, struct ty_arena *arena)
{
    const struct ty_timeline *t = panel->timeline;
    const struct ty_gantt options = {.ranks = panel->ranks, .n_ranks = panel->n_ranks};
    struct collect c = {.items = items, .t = t, .arena = arena, .from = from, .to = to};
    struct ty_gantt_rows rows;
    struct ty_gaps gaps;
    *items = (struct ty_svg_items){.end = t->makespan < to ? t->makespan : to,
                                   .halted = t->halt != NULL};
    items->end = items->end < from ? from : items->end;
    int rc = ty_gantt_collect(&rows, t, &options, from, to, arena);
    if (rc == 0) {
        rc = ty_gaps_init(&gaps, t, arena);
    }
    if (rc < 0) {
        return rc;
    }
    items->merged = rows.merged;
    items->row = ty_arena_array(arena, struct ty_svg_row, rows.n_rows);
    if (items->row == NULL) {
        return TY_ENOMEM;
    }
    uint32_t *ranks = ty_arena_array(arena, uint32_t, rows.n_rows);
    rc = ranks == NULL ? TY_ENOMEM : 0;
    for (uint32_t i = 0; i < rows.n_rows && rc == 0; i++) {
        rc = add_row(&c, &rows, &rows.row[i], &gaps);
        ranks[i] = rows.row[i].rank;
    }
    return rc == 0 ? svg_mark_slow(items, panel, ranks, arena) : rc;
}
