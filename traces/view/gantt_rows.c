/* gantt_rows.c - what a text Gantt shows.
 *
 * A pass is a box from its first compute operation to its last. Ranks of a gang that do the same at
 * the same time share a row; a gang with a single row goes by its own name. */
#include "traces/view/gantt_rows.h"

#include <stdio.h>
#include <string.h>

/* Appends the box of one pass when something of it lies in the stretch. */
static void add_box(struct ty_gantt_rows *rows, const struct ty_timeline *t,
                    const struct ty_gang *gang, const struct ty_pass *pass, uint32_t member,
                    ty_ps from, ty_ps to)
{
    const struct ty_op *ops = ty_pass_ops(t->program, pass);
    struct ty_gantt_box *box = &rows->box[rows->n_boxes];
    bool any = false;
    const struct ty_program *p = t->program;
    const uint32_t peers = p->n_tenants > 0 ? p->tenants[gang->tenant].n_gangs : p->n_gangs;
    const bool odd = pass->stage / peers % 2 == 1;
    *box = (struct ty_gantt_box){.mb = pass->mb,
                                 .phase = pass->phase,
                                 .other =
                                     pass->phase != TY_PHASE_STEP && (odd || pass->direction != 0)};
    for (uint32_t k = 0; k < t->program->blocks[pass->block].n_ops; k++) {
        if (ops[k].stream == TY_STREAM_COMPUTE) {
            const uint64_t ordinal = (uint64_t)pass->first_op + k;
            const ty_ps start = ty_timeline_starts(t, gang, ordinal)[member];
            box->start = any ? box->start : start;
            box->end = start + ty_timeline_dur(t, gang, &ops[k], ordinal, member);
            any = true;
        }
    }
    box->start = box->start < from ? from : box->start;
    box->end = box->end > to ? to : box->end;
    rows->n_boxes += any && box->end > box->start;
}

static bool same_boxes(const struct ty_gantt_rows *rows, const struct ty_gantt_row *a,
                       const struct ty_gantt_row *b)
{
    const struct ty_gantt_box *x = rows->box + a->first, *y = rows->box + b->first;
    bool same = a->n == b->n;
    for (uint32_t i = 0; i < a->n && same; i++) {
        same = x[i].start == y[i].start && x[i].end == y[i].end && x[i].mb == y[i].mb &&
               x[i].phase == y[i].phase && x[i].other == y[i].other;
    }
    return same;
}

static void add_row(struct ty_gantt_rows *rows, const struct ty_timeline *t, struct ty_seat seat,
                    ty_ps from, ty_ps to)
{
    const struct ty_gang *gang = &t->program->gangs[seat.gang];
    struct ty_gantt_row *row = &rows->row[rows->n_rows];
    *row = (struct ty_gantt_row){
        .gang = seat.gang, .rank = gang->rank_of[seat.member], .first = rows->n_boxes};
    for (uint32_t i = 0; i < gang->n_passes; i++) {
        add_box(rows, t, gang, &ty_gang_passes(t->program, gang)[i], seat.member, from, to);
    }
    row->n = rows->n_boxes - row->first;
    for (uint32_t k = 0; k < rows->n_rows; k++) {
        if (rows->row[k].gang == seat.gang && same_boxes(rows, &rows->row[k], row)) {
            rows->merged = true;
            rows->n_boxes = row->first;
            return;
        }
    }
    rows->n_rows++;
}

/* Names rows by gang, or by (first) rank when the gang has several. */
static void label_rows(struct ty_gantt_rows *rows, const struct ty_program *p, uint32_t *n_of_gang)
{
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        n_of_gang[rows->row[i].gang]++;
    }
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        struct ty_gantt_row *row = &rows->row[i];
        const char *name = p->gangs[row->gang].name;
        if (n_of_gang[row->gang] == 1 && name != NULL) {
            snprintf(row->label, sizeof(row->label), "%s", name);
        } else {
            snprintf(row->label, sizeof(row->label), "rank %u", (unsigned)row->rank);
        }
        const uint32_t width = (uint32_t)strlen(row->label);
        rows->label_width = width > rows->label_width ? width : rows->label_width;
    }
}

int ty_gantt_collect(struct ty_gantt_rows *rows, const struct ty_timeline *t,
                     const struct ty_gantt *options, ty_ps from, ty_ps to, struct ty_arena *arena)
{
    const struct ty_program *p = t->program;
    const uint32_t n = options->n_ranks > 0 ? options->n_ranks : p->n_gangs;
    struct ty_seat *seats = ty_arena_array(arena, struct ty_seat, n);
    uint32_t *n_of_gang = ty_arena_array(arena, uint32_t, p->n_gangs);
    size_t n_boxes = 0;
    *rows = (struct ty_gantt_rows){.row = ty_arena_array(arena, struct ty_gantt_row, n)};
    if (seats == NULL || n_of_gang == NULL || rows->row == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < n; i++) {
        seats[i] = options->n_ranks > 0 ? ty_program_seat(p, options->ranks[i])
                                        : (struct ty_seat){.gang = i};
        n_boxes += p->gangs[seats[i].gang].n_passes;
    }
    rows->box = ty_arena_array(arena, struct ty_gantt_box, n_boxes + 1);
    if (rows->box == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < n; i++) {
        add_row(rows, t, seats[i], from, to);
    }
    for (uint32_t i = 0; i < rows->n_boxes; i++) {
        const struct ty_gantt_box *box = &rows->box[i];
        rows->others = rows->others || box->other;
        rows->phases[box->phase] = true;
        rows->last_mb = box->mb != TY_NONE && box->mb > rows->last_mb ? box->mb : rows->last_mb;
    }
    label_rows(rows, p, n_of_gang);
    return 0;
}
