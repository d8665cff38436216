/* slow.c - which ranks compute longer than the others of their gang, which do the same work.
 *
 * A rank that is slow by nature (an old GPU, a hot one) makes others wait; in the picture it is one
 * of the rows without gaps. Its label says so, and of how much the slowest of all is behind, shown
 * or not, a remark below the rows. */
#include <stdlib.h>

#include "traces/svg/internal.h"

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

int ty_svg_mark_slow(struct ty_svg_items *items, const struct ty_svg_panel *panel,
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
