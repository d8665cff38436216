/* svg_marks.c - items of a row become rectangles on paper.
 *
 * An item that is wide enough is a rectangle. Thinner ones in a row are put into a bin, which is
 * drawn as layers, one per kind, as high as the kind's share of the bin's time: areas stay what they
 * were, and a file does not grow with what nobody can see.
 *
 *     ||||||||||   F and B in turn,      ======   B two thirds
 *     ||||||||||   too thin to see       ------   F one third  */
#include <math.h>
#include <string.h>

#include "traces/svg_internal.h"

struct bin {
    ty_ps start, end;
    size_t n, n_boxes;
    struct ty_svg_item last;
    ty_ps time[TY_SVG_N_KINDS];
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

/* Layers from below, passes first. A lone box keeps its shape; a lone thin gap is nothing to see. */
static int flush(struct ty_svg_marks *marks, struct bin *bin, const struct ty_svg_frame *frame,
                 struct ty_arena *arena)
{
    int rc = 0;
    if (bin->n == 1) {
        rc = ty_svg_is_idle(bin->last.kind) ? 0 : push_item(marks, &bin->last, frame, arena);
    } else if (bin->n > 1) {
        const double span = (double)(bin->end - bin->start);
        struct ty_svg_mark mark = {.x0 = ty_svg_x(frame, bin->start),
                                   .x1 = ty_svg_x(frame, bin->end),
                                   .y1 = frame->y1};
        ty_ps below = 0;
        marks->n_merged += bin->n_boxes;
        for (uint32_t k = 0; k < TY_SVG_N_KINDS && rc == 0; k++) {
            below += bin->time[k];
            mark.kind = (uint8_t)k;
            mark.y0 = frame->y1 -
                      (int32_t)lround((double)below / span * (double)(frame->y1 - frame->y0));
            if (bin->time[k] > 0 && mark.y0 < mark.y1 && mark.x0 < mark.x1) {
                rc = push(marks, mark, arena);
            }
            mark.y1 = mark.y0;
        }
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
    struct bin bin = {.n = 0};
    int rc = 0;
    for (size_t i = 0; i < row->n && rc == 0; i++) {
        const struct ty_svg_item *item = &items->item[row->first + i];
        marks->n_boxes += !ty_svg_is_idle(item->kind);
        if ((double)(item->end - item->start) * um_per_ps >= TY_SVG_THIN_UM) {
            rc = flush(marks, &bin, frame, arena);
            rc = rc < 0 ? rc : push_item(marks, item, frame, arena);
            continue;
        }
        put_into(&bin, item);
        if ((double)(bin.end - bin.start) * um_per_ps >= TY_SVG_BIN_UM) {
            rc = flush(marks, &bin, frame, arena);
        }
    }
    return rc < 0 ? rc : flush(marks, &bin, frame, arena);
}
