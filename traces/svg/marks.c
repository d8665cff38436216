/* marks.c - items of a row become rectangles on paper.
 *
 * An item that is wide enough is a rectangle. Thinner ones in a row are put into a bin, which is
 * drawn as layers, one per kind, as high as the kind's share of the bin's time; a bin joins the one
 * before when it is made up alike. Areas stay what they were, and a file does not grow with what
 * nobody can see: a long steady state is a few rectangles.
 *
 *     ||||||||||   F and B in turn,      ======   B two thirds
 *     ||||||||||   too thin to see       ------   F one third  */
#include <math.h>
#include <string.h>

#include "traces/svg/internal.h"

#define ALIKE (1.0 / TY_SVG_BIN) /* of shares in bins that are joined: one item more or less */

struct bin {
    ty_ps start, end;
    size_t n, n_boxes;
    struct ty_svg_item last;
    ty_ps time[TY_SVG_N_KINDS];
};

struct merger {
    struct ty_svg_marks *marks;
    const struct ty_svg_frame *frame;
    struct ty_arena *arena;
    struct bin done, bin; /* a full one, which may grow; one that is being filled */
};

int32_t ty_svg_x(const struct ty_svg_frame *frame, ty_ps t)
{
    const double share = (double)(t - frame->from) / (double)(frame->to - frame->from);
    return frame->left + (int32_t)lround(share * frame->width);
}

static int push(struct ty_svg_marks *marks, struct ty_svg_mark mark, struct ty_arena *arena)
{
    if (marks->n == marks->room) {
        const size_t room = marks->room < 256 ? 512 : 2 * marks->room;
        struct ty_svg_mark *grown = ty_arena_array(arena, struct ty_svg_mark, room);
        if (grown == NULL) {
            return TY_ENOMEM;
        }
        if (marks->n > 0) {
            memcpy(grown, marks->mark, marks->n * sizeof(*grown));
        }
        marks->mark = grown;
        marks->room = room;
    }
    marks->mark[marks->n++] = mark;
    return 0;
}

static int push_item(struct ty_svg_marks *marks, const struct ty_svg_item *item,
                     const struct ty_svg_frame *frame, struct ty_arena *arena)
{
    const struct ty_svg_mark mark = {.x0 = ty_svg_x(frame, item->start),
                                     .x1 = ty_svg_x(frame, item->end),
                                     .y0 = frame->y0,
                                     .y1 = frame->y1,
                                     .mb = item->mb,
                                     .kind = item->kind,
                                     .whole = true};
    return mark.x1 > mark.x0 ? push(marks, mark, arena) : 0;
}

/* Layers from below, passes first. A lone box keeps its shape, a lone thin gap is not seen. */
static int draw(const struct merger *m, const struct bin *bin)
{
    const struct ty_svg_frame *frame = m->frame;
    int rc = 0;
    if (bin->n == 1) {
        const int32_t width = ty_svg_x(frame, bin->end) - ty_svg_x(frame, bin->start);
        const bool seen = !ty_svg_is_idle(bin->last.kind) || width >= TY_SVG_THIN_UM;
        return seen ? push_item(m->marks, &bin->last, frame, m->arena) : 0;
    }
    const double span = (double)(bin->end - bin->start);
    struct ty_svg_mark mark = {
        .x0 = ty_svg_x(frame, bin->start), .x1 = ty_svg_x(frame, bin->end), .y1 = frame->y1};
    ty_ps below = 0;
    m->marks->n_merged += bin->n_boxes;
    for (uint32_t k = 0; k < TY_SVG_N_KINDS && rc == 0; k++) {
        below += bin->time[k];
        mark.kind = (uint8_t)k;
        mark.y0 =
            frame->y1 - (int32_t)lround((double)below / span * (double)(frame->y1 - frame->y0));
        if (bin->time[k] > 0 && mark.y0 < mark.y1 && mark.x0 < mark.x1) {
            rc = push(m->marks, mark, m->arena);
        }
        mark.y1 = mark.y0;
    }
    return rc;
}

/* Draws what is full. */
static int finish(struct merger *m)
{
    const int rc = m->done.n > 0 ? draw(m, &m->done) : 0;
    m->done = (struct bin){.n = 0};
    return rc;
}

static bool alike(const struct bin *a, const struct bin *b)
{
    bool same = a->n > 1 && b->n > 1 && a->end == b->start;
    for (uint32_t k = 0; k < TY_SVG_N_KINDS && same; k++) {
        const double x = (double)a->time[k] / (double)(a->end - a->start);
        const double y = (double)b->time[k] / (double)(b->end - b->start);
        same = fabs(x - y) <= ALIKE;
    }
    return same;
}

/* What is being filled becomes what is full, or part of it. */
static int fill_up(struct merger *m)
{
    struct bin *done = &m->done, *bin = &m->bin;
    int rc = 0;
    if (bin->n > 0 && done->n > 0 && alike(done, bin)) {
        done->end = bin->end;
        done->n += bin->n;
        done->n_boxes += bin->n_boxes;
        for (uint32_t k = 0; k < TY_SVG_N_KINDS; k++) {
            done->time[k] += bin->time[k];
        }
    } else if (bin->n > 0) {
        rc = finish(m);
        *done = *bin;
    }
    *bin = (struct bin){.n = 0};
    return rc;
}

static void put_into(struct bin *bin, const struct ty_svg_item *item)
{
    bin->start = bin->n == 0 ? item->start : bin->start;
    bin->end = item->end;
    bin->last = *item;
    bin->n_boxes += !ty_svg_is_idle(item->kind);
    bin->n++;
    bin->time[item->kind] += item->end - item->start;
}

int ty_svg_mark_row(struct ty_svg_marks *marks, const struct ty_svg_items *items,
                    const struct ty_svg_row *row, const struct ty_svg_frame *frame,
                    struct ty_arena *arena)
{
    const double um_per_ps = frame->width / (double)(frame->to - frame->from);
    struct merger m = {.marks = marks, .frame = frame, .arena = arena};
    int rc = 0;
    for (size_t i = 0; i < row->n && rc == 0; i++) {
        const struct ty_svg_item *item = &items->item[row->first + i];
        marks->n_boxes += !ty_svg_is_idle(item->kind);
        if ((double)(item->end - item->start) * um_per_ps >= frame->thin) {
            rc = fill_up(&m);
            if (rc == 0) {
                rc = finish(&m);
            }
            if (rc == 0) {
                rc = push_item(marks, item, frame, arena);
            }
            continue;
        }
        put_into(&m.bin, item);
        if ((double)(m.bin.end - m.bin.start) * um_per_ps >= TY_SVG_BIN * frame->thin) {
            rc = fill_up(&m);
        }
    }
    if (rc == 0) {
        rc = fill_up(&m);
    }
    return rc < 0 ? rc : finish(&m);
}
