/* table.c - a plan's answer for people: what was searched, the best layouts by what tells them
 * apart, the Pareto set. */
#include <stdio.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/words.h"
#include "sim/plan/search/row_text.h"
#include "sim/report/plan/plan.h"

#define CELL         64u
#define FIGURES      6u
#define COLUMNS_MAX  (TY_PLAN_N_KEYS + FIGURES + 2)
#define PARETO_SHOWN 12u

/* ---- what was searched ---- */

static void put_space(struct ty_text *t, const struct ty_plan_answer *a)
{
    char name[TY_PLAN_VALUE];
    for (uint32_t i = 0; i < TY_PLAN_N_AXES; i++) {
        struct ty_text values = {.data = NULL};
        const bool every = i == TY_PLAN_ORDER && a->result[0].space.axis[i].n == 0;
        /* data follows from the others */
        if (i != TY_PLAN_DATA && ty_plan_key_values(&values, a, i) > 1 && !values.failed) {
            ty_text_add(t, "  %s", ty_plan_key_name(i, name));
            ty_text_pad(t, 28);
            ty_text_add(t, "%s\n",
                        every ? "every order that places ranks differently" : values.data);
        }
        t->failed = t->failed || values.failed;
        ty_text_release(&values);
    }
}

static void put_counts(struct ty_text *t, const struct ty_plan_result *r)
{
    const unsigned gpus = ty_plan_gpus(&r->space);
    char n[4][32];
    ty_text_add(t,
                "%s layout%s on %u GPU%s: ", ty_words_count(r->space.n_points, n[0], sizeof(n[0])),
                r->space.n_points == 1 ? "" : "s", gpus, gpus == 1 ? "" : "s");
    if (r->n_billed < r->space.n_points) { /* what fits is counted when all are */
        ty_text_add(t, "interrupted with the memory of %s known, none simulated\n",
                    ty_words_count(r->n_billed, n[1], sizeof(n[1])));
        return;
    }
    ty_text_add(t, "%s fit, %s of them ruled out by a bound, %s simulated\n",
                ty_words_count(r->n_fit, n[1], sizeof(n[1])),
                ty_words_count(r->n_bounded, n[2], sizeof(n[2])),
                ty_words_count(r->n_simulated, n[3], sizeof(n[3])));
}

/* ---- a table ---- */

/* Cells right-aligned under their heads; columns as wide as they have to be. */
struct grid {
    uint32_t n_rows, n_columns;
    char heads[COLUMNS_MAX][CELL];
    char (*cell)[COLUMNS_MAX][CELL]; /* [n_rows] */
};

static void put_grid(struct ty_text *t, const struct grid *g)
{
    size_t width[COLUMNS_MAX];
    for (uint32_t c = 0; c < g->n_columns; c++) {
        width[c] = strlen(g->heads[c]);
        for (uint32_t r = 0; r < g->n_rows; r++) {
            const size_t n = strlen(g->cell[r][c]);
            width[c] = n > width[c] ? n : width[c];
        }
    }
    for (uint32_t r = 0; r <= g->n_rows; r++) {
        for (uint32_t c = 0; c < g->n_columns; c++) {
            ty_text_add(t, "%s%*s", c > 0 ? "  " : "", (int)width[c],
                        r == 0 ? g->heads[c] : g->cell[r - 1][c]);
        }
        ty_text_add(t, "\n");
    }
}

static bool differs(const struct ty_plan_row *row, uint32_t n, uint32_t key)
{
    bool found = false;
    for (uint32_t i = 1; i < n; i++) {
        found = found ||
                ty_plan_key_number(&row[i].point, key) != ty_plan_key_number(&row[0].point, key);
    }
    return found;
}

/* The last column, where anybody asks: money where there is a price, else GPU time. */
static const char *cost_head(const struct ty_plan_answer *a)
{
    const bool priced = a->result[0].base->fleet.price > 0;
    return priced ? "cost/step" : a->objective == TY_PLAN_COST ? "GPU time" : NULL;
}

static char *cost_text(const struct ty_plan_result *r, const struct ty_plan_row *row, char *buf)
{
    const double cost = ty_plan_cost(r, row);
    if (cost > 0) {
        (void)ty_snprintf(buf, CELL, "%.4g", cost);
        return buf;
    }
    return ty_words_seconds(ty_plan_gpus(&r->space) * row->step_s, buf, CELL);
}

static void put_figures(const struct ty_plan_result *r, const struct ty_plan_row *row,
                        char cell[FIGURES][CELL])
{
    ty_words_seconds(row->step_s, cell[0], CELL);
    ty_words_count(row->tokens_per_s, cell[1], CELL);
    ty_words_share(row->mfu, cell[2], CELL);
    ty_words_bytes(row->peak_B, cell[3], CELL);
    ty_words_share(row->bubble_fraction, cell[4], CELL);
    cost_text(r, row, cell[5]);
}

/* Rows of results of[n] (NULL: of the first alone), by the keys in which they differ. */
static void put_rows(struct ty_text *t, const struct ty_plan_answer *a,
                     const struct ty_plan_row *row, const uint32_t *of, uint32_t n)
{
    const char *const figures[FIGURES] = {"step",   "tokens/s", "MFU",
                                          "memory", "bubble",   cost_head(a)};
    const uint32_t n_figures = figures[FIGURES - 1] != NULL ? FIGURES : FIGURES - 1;
    struct ty_arena arena = {.head = NULL};
    struct grid g = {.n_rows = n};
    char name[TY_PLAN_VALUE], value[TY_PLAN_VALUE];
    g.cell = (char(*)[COLUMNS_MAX][CELL])ty_arena_alloc(&arena, n, sizeof(*g.cell));
    if (g.cell == NULL) {
        t->failed = true;
        return;
    }
    (void)snprintf(g.heads[g.n_columns++], CELL, "row");
    if (of != NULL && a->n_results > 1) {
        (void)snprintf(g.heads[g.n_columns++], CELL, "GPUs");
    }
    const uint32_t first = g.n_columns;
    for (uint32_t i = 0; i < n; i++) {
        const struct ty_plan_result *r = &a->result[of != NULL ? of[i] : a->best];
        uint32_t c = 0;
        (void)snprintf(g.cell[i][c++], CELL, "%u", (unsigned)row[i].row + 1);
        if (first > 1) {
            (void)snprintf(g.cell[i][c++], CELL, "%u", (unsigned)ty_plan_gpus(&r->space));
        }
        for (uint32_t k = 0; k < TY_PLAN_N_KEYS; k++) {
            if (differs(row, n, k)) {
                (void)snprintf(g.heads[c], CELL, "%.60s", ty_plan_key_short(k, name));
                ty_plan_key_value(&r->space, &row[i].point, k, value);
                (void)snprintf(g.cell[i][c++], CELL, "%.60s", value);
            }
        }
        put_figures(r, &row[i], &g.cell[i][c]);
        g.n_columns = c + n_figures;
    }
    for (uint32_t i = 0; i < n_figures; i++) {
        (void)snprintf(g.heads[g.n_columns - n_figures + i], CELL, "%s", figures[i]);
    }
    put_grid(t, &g);
    ty_arena_release(&arena);
}

/* What all of them have in common. */
static void put_common(struct ty_text *t, const struct ty_plan_answer *a)
{
    const struct ty_plan_result *r = &a->result[a->best];
    char name[TY_PLAN_VALUE], value[TY_PLAN_VALUE];
    bool any = a->n_results > 1;
    if (any) {
        ty_text_add(t, "%u GPUs", (unsigned)ty_plan_gpus(&r->space));
    }
    for (uint32_t k = 0; k < TY_PLAN_N_KEYS; k++) {
        const bool experts = k == TY_PLAN_EXPERT || k == TY_PLAN_EXPERT_TENSOR;
        const bool told = ty_plan_key_is_told(&r->space, k);
        if (told && !differs(r->row, r->n_rows, k) &&
            (!experts || ty_arch_is_moe(&r->base->arch))) {
            ty_text_add(t, "%s%s %s", any ? ", " : "", ty_plan_key_short(k, name),
                        ty_plan_key_value(&r->space, &r->row[0].point, k, value));
            any = true;
        }
    }
    ty_text_add(t, !any ? "" : r->n_rows > 1 ? " in all of them\n" : "\n");
}

/* ---- several numbers of GPUs ---- */

static void put_scaling(struct ty_text *t, const struct ty_plan_answer *a)
{
    const struct ty_plan_result *first = NULL;
    const char *cost = cost_head(a);
    char step[CELL], tokens[CELL], share[CELL], each[CELL], words[CELL];
    ty_text_add(t, "\nGPUs     %s    tokens/s     a GPU  of the first",
                a->objective == TY_PLAN_TIME ? " best step" : "  its step");
    ty_text_add(t, a->objective == TY_PLAN_MEMORY ? "  least memory" : "");
    ty_text_add(t, cost != NULL ? "  %9s  row\n" : "  row\n", cost);
    for (uint32_t i = 0; i < a->n_results; i++) {
        const struct ty_plan_result *r = &a->result[i];
        const double gpus = ty_plan_gpus(&r->space);
        if (r->n_rows == 0) {
            ty_text_add(t, "%-8.0f  nothing fits\n", gpus);
            continue;
        }
        first = first == NULL ? r : first;
        const double per_gpu = r->row[0].tokens_per_s / gpus;
        const double at_first = first->row[0].tokens_per_s / ty_plan_gpus(&first->space);
        ty_text_add(t, "%-8.0f %10s  %10s  %8s  %12s", gpus,
                    ty_words_seconds(r->row[0].step_s, step, sizeof(step)),
                    ty_words_count(r->row[0].tokens_per_s, tokens, sizeof(tokens)),
                    ty_words_count(per_gpu, each, sizeof(each)),
                    ty_words_share(per_gpu / at_first, share, sizeof(share)));
        if (a->objective == TY_PLAN_MEMORY) {
            ty_text_add(t, "  %12s", ty_words_bytes(r->row[0].peak_B, words, sizeof(words)));
        }
        if (cost != NULL) {
            ty_text_add(t, "  %9s", cost_text(r, &r->row[0], words));
        }
        ty_text_add(t, "  %u\n", (unsigned)r->row[0].row + 1);
    }
}

void ty_plan_table(const struct ty_plan_answer *a, struct ty_text *t)
{
    const struct ty_plan_result *best = &a->result[a->best];
    const uint32_t shown = a->n_pareto < PARETO_SHOWN ? a->n_pareto : PARETO_SHOWN;
    for (uint32_t i = 0; i < a->n_results; i++) {
        put_counts(t, &a->result[i]);
    }
    if (a->n_shards > 1) {
        ty_text_add(t, "shard %u of %u: every layout of it was looked at, of no other\n",
                    (unsigned)a->shard + 1, (unsigned)a->n_shards);
    }
    ty_text_add(t, a->exact ? "exact: no other layout of these is among the best\n"
                            : "NOT exact: interrupted, the best so far\n");
    if (a->no_dice) {
        ty_text_add(t, "chance is set aside: jitter, spread of GPUs and uneven routing\n");
    }
    put_space(t, a);
    if (best->n_rows == 0) {
        ty_text_add(t, "nothing was simulated yet\n");
        return;
    }
    ty_text_add(t, "\n");
    put_rows(t, a, best->row, NULL, best->n_rows);
    put_common(t, a);
    ty_text_add(t, "\n");
    ty_plan_reasons(a, t);
    if (a->n_results > 1) {
        put_scaling(t, a);
    }
    ty_text_add(t, "\nno other is as fast with as little memory%s",
                a->n_results > 1 ? " on as few GPUs" : "");
    if (a->objective != TY_PLAN_MEMORY) {
        ty_text_add(t, ", of those up to %g times as long", TY_PLAN_SLOWEST);
    }
    ty_text_add(t, "\n");
    put_rows(t, a, a->pareto, a->pareto_of, shown);
    if (shown < a->n_pareto) {
        ty_text_add(t, "and %u more (--stats json has all)\n", (unsigned)(a->n_pareto - shown));
    }
}
