/* sweep_bands.c - finds the bands of rows, and the rows that may be as fast as the fastest. */
#include "sim/sweep/sweep_bands.h"

#include <math.h>
#include <stdlib.h>

int ty_sweep_bands_init(struct ty_sweep_bands *b, const struct ty_row_source *rows,
                        struct ty_err *err)
{
    const uint32_t n = rows->table->csv.n_rows;
    *b = (struct ty_sweep_bands){.rows = rows,
                                 .band = calloc((size_t)n + 1, sizeof(*b->band)),
                                 .arena = calloc((size_t)n + 1, sizeof(*b->arena)),
                                 .speed = calloc((size_t)n + 1, sizeof(*b->speed)),
                                 .deviation = calloc((size_t)n + 1, sizeof(*b->deviation)),
                                 .n = n};
    return b->band && b->arena && b->speed && b->deviation ? 0 : ty_fail_memory(err);
}

void ty_sweep_bands_release(struct ty_sweep_bands *b)
{
    for (uint32_t i = 0; i < b->n && b->arena != NULL; i++) {
        ty_arena_release(&b->arena[i]);
    }
    free(b->band);
    free(b->arena);
    free(b->speed);
    free(b->deviation);
}

int ty_sweep_bands_find(struct ty_sweep_bands *b, uint32_t row, struct ty_sweep_figures *f,
                        struct ty_err *err)
{
    if (b->rows == NULL) {
        return 0;
    }
    struct ty_band *band = &b->band[row];
    const int rc = ty_band_find(band, b->rows, row, NULL, 1, &b->arena[row], err);
    if (rc == 0) {
        const struct ty_band_ends ends = ty_band_ends(band, band->step_s);
        f->low_s = ends.fast_s;
        f->high_s = ends.slow_s;
    }
    return rc;
}

void ty_sweep_bands_note(struct ty_sweep_bands *b, const struct ty_sweep_figures *f)
{
    if (b->rows != NULL && f->fits) {
        b->speed[f->row] = ty_sweep_line_value(f, "tokens_per_s");
        b->deviation[f->row] = log(f->high_s / f->low_s) / (2 * TY_BAND_HALF);
    }
}

/* ---- the fastest and the others ---- */

/* A row of an earlier sweep has its ends in the table, and no more. */
static int complete(struct ty_sweep_bands *b, uint32_t row, uint32_t jobs, struct ty_err *err)
{
    return b->band[row].step_s > 0
               ? 0
               : ty_band_find(&b->band[row], b->rows, row, NULL, jobs, &b->arena[row], err);
}

/* Chance that a row is faster than the fastest; one that cannot be tied is not looked at: what two
 * rows differ by varies by no more than both together (with room for bands that are askew). */
static int faster(struct ty_sweep_bands *b, uint32_t row, uint32_t best, uint32_t jobs,
                  double *chance, struct ty_err *err)
{
    const double ahead = log(b->speed[best] / b->speed[row]);
    *chance = 0;
    if (ahead > 2 * TY_BAND_HALF * (b->deviation[row] + b->deviation[best])) {
        return 0;
    }
    const int rc = complete(b, row, jobs, err);
    *chance = rc == 0 ? ty_band_faster(&b->band[row], &b->band[best], ahead) : 0;
    return rc;
}

int ty_sweep_bands_judge(struct ty_sweep_bands *b, struct ty_sweep_best *best, uint32_t jobs,
                         struct ty_err *err)
{
    if (b->rows == NULL || best->n == 0) {
        return 0;
    }
    const uint32_t first = best->row[0].row;
    int rc = complete(b, first, jobs, err);
    best->judged = true;
    for (uint32_t row = 0; row < b->n && rc == 0; row++) {
        double chance;
        if (row == first || b->speed[row] <= 0) {
            continue;
        }
        rc = faster(b, row, first, jobs, &chance, err);
        best->n_tied += chance > TY_SWEEP_TIED;
        best->n_others++;
        for (uint32_t i = 0; i < best->n; i++) {
            best->faster[i] = best->row[i].row == row ? chance : best->faster[i];
        }
    }
    return rc;
}
