/* sweep_best.c - keeps the fastest rows and prints them in columns. */
#include "sim/sweep/sweep_best.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/base/words.h"
#include "sim/sweep/sweep_bands.h"

#define GAP 2u /* columns between columns */

static bool is_better(const struct ty_sweep_figures *a, const struct ty_sweep_figures *b)
{
    const double x = ty_sweep_line_value(a, "tokens_per_s");
    const double y = ty_sweep_line_value(b, "tokens_per_s");
    return x > y || (x == y && a->row < b->row);
}

void ty_sweep_best_add(struct ty_sweep_best *best, const struct ty_sweep_figures *figures)
{
    uint32_t at = best->n;
    while (at > 0 && is_better(figures, &best->row[at - 1])) {
        at--;
    }
    if (!figures->fits || at == TY_SWEEP_BEST) {
        return;
    }
    best->n += best->n < TY_SWEEP_BEST;
    for (uint32_t i = best->n - 1; i > at; i--) {
        best->row[i] = best->row[i - 1];
    }
    best->row[at] = *figures;
}

/* ---- columns ---- */

/* A column of the text: as wide as its widest cell. */
typedef void cell_fn(const void *arg, uint32_t column, uint32_t line, char *buf, size_t size);

static bool varies(const struct ty_sweep_table *table, uint32_t column)
{
    for (uint32_t row = 1; row < table->csv.n_rows; row++) {
        if (strcmp(ty_csv_cell(&table->csv, row, column), ty_csv_cell(&table->csv, 0, column)) !=
            0) {
            return true;
        }
    }
    return false;
}

/* What a key is called at the head of a column: its own name, or its section's where that is what
 * the name is of ("schedule.name"), or both where two columns would be called the same. */
static void title(const struct ty_csv *csv, uint32_t column, char *buf, size_t size)
{
    static const char *const of_section[] = {"name", "preset"};
    const char *key = ty_csv_header(csv, column), *dot = strchr(key, '.');
    bool section = false, twice = false;
    for (size_t i = 0; i < TY_COUNT(of_section); i++) {
        section = section || strcmp(dot + 1, of_section[i]) == 0;
    }
    for (uint32_t k = 0; k < csv->n_columns; k++) {
        const char *other = strchr(ty_csv_header(csv, k), '.');
        twice = twice || (k != column && other != NULL && strcmp(other, dot) == 0);
    }
    if (section) {
        (void)snprintf(buf, size, "%.*s", (int)(dot - key), key);
    } else {
        (void)snprintf(buf, size, "%s", twice ? key : dot + 1);
    }
}

struct lines {
    const struct ty_sweep_best *best;
    const struct ty_sweep_table *table;
    const struct ty_figure_row *figure[TY_FIGURES_MAX]; /* [n_figures] */
    uint32_t n_figures;
};

/* Line 0 is the head. A cell that was left empty is as the run file says. */
static void key_cell(const void *arg, uint32_t column, uint32_t line, char *buf, size_t size)
{
    const struct lines *l = arg;
    if (line == 0) {
        title(&l->table->csv, column, buf, size);
        return;
    }
    const char *value = ty_csv_cell(&l->table->csv, l->best->row[line - 1].row, column);
    (void)snprintf(buf, size, "%s", value[0] != '\0' ? value : "-");
}

/* Its number, from 1. */
static void row_cell(const void *arg, uint32_t column, uint32_t line, char *buf, size_t size)
{
    const struct lines *l = arg;
    (void)column;
    if (line == 0) {
        (void)snprintf(buf, size, "row");
    } else {
        (void)snprintf(buf, size, "%u", (unsigned)l->best->row[line - 1].row + 1);
    }
}

static void figure_cell(const void *arg, uint32_t column, uint32_t line, char *buf, size_t size)
{
    const struct lines *l = arg;
    const struct ty_figure_row *figure = l->figure[column];
    if (line == 0) {
        (void)snprintf(buf, size, "%s", figure->in[TY_IN_BEST].label);
    } else {
        const double value = ty_sweep_line_value(&l->best->row[line - 1], figure->name);
        ty_figure_cell(figure->unit, value, buf, size);
    }
}

static void framework_cell(const void *arg, uint32_t column, uint32_t line, char *buf, size_t size)
{
    const struct lines *l = arg;
    (void)column;
    (void)snprintf(buf, size, "%s", line == 0 ? "framework" : l->best->row[line - 1].framework);
}

/* Whether the order could be the other one. */
static void tie_cell(const void *arg, uint32_t column, uint32_t line, char *buf, size_t size)
{
    const struct lines *l = arg;
    (void)column;
    if (line == 0) {
        (void)snprintf(buf, size, "faster than row %u", (unsigned)l->best->row[0].row + 1);
    } else if (line == 1) {
        (void)snprintf(buf, size, "-");
    } else {
        const double p = l->best->faster[line - 1];
        ty_snprintf(buf, size, p > TY_SWEEP_TIED ? "not significant: p = %.2f" : "p = %.2g", p);
    }
}

static void band_cell(const void *arg, uint32_t column, uint32_t line, char *buf, size_t size)
{
    const struct lines *l = arg;
    char low[64], high[64];
    (void)column;
    if (line == 0) {
        (void)snprintf(buf, size, "90 %% band of it");
    } else {
        const struct ty_sweep_figures *f = &l->best->row[line - 1];
        (void)snprintf(buf, size, "%s to %s", ty_words_seconds(f->low_s, low, sizeof(low)),
                       ty_words_seconds(f->high_s, high, sizeof(high)));
    }
}

/* Puts a column behind the others on every line. */
static void put(struct ty_text *line, const struct lines *l, cell_fn *cell, uint32_t column,
                bool right)
{
    char buf[64];
    size_t width = 0;
    for (uint32_t i = 0; i <= l->best->n; i++) {
        cell(l, column, i, buf, sizeof(buf));
        width = strlen(buf) > width ? strlen(buf) : width;
    }
    for (uint32_t i = 0; i <= l->best->n; i++) {
        cell(l, column, i, buf, sizeof(buf));
        const int pad = (int)(width - strlen(buf));
        ty_text_add(&line[i], "%*s%s%*s%*s", right ? pad : 0, "", buf, right ? 0 : pad, "",
                    (int)GAP, "");
    }
}

/* The lines, without blanks at their ends; NULL: no memory. */
static char *joined(const struct ty_sweep_best *best, struct ty_text *line, uint32_t n)
{
    struct ty_text all = {.data = NULL};
    bool whole = true;
    for (uint32_t i = 0; i < n; i++) {
        char *text = ty_text_take(&line[i]);
        whole = whole && text != NULL;
        size_t len = text != NULL ? strlen(text) : 0;
        while (len > 0 && text[len - 1] == ' ') {
            len--;
        }
        ty_text_bytes(&all, text, len);
        ty_text_bytes(&all, "\n", 1);
        free(text);
    }
    if (best->judged) {
        ty_text_add(&all,
                    "no significant difference from row %u (p > %g): %u of %u other rows "
                    "that fit\n",
                    (unsigned)best->row[0].row + 1, TY_SWEEP_TIED, (unsigned)best->n_tied,
                    (unsigned)best->n_others);
    }
    if (!whole) {
        ty_text_release(&all);
    }
    return whole ? ty_text_take(&all) : NULL;
}

static bool is_shown(const struct ty_sweep_table *table, uint32_t column)
{
    return table->is_key[column] && varies(table, column) &&
           strcmp(ty_csv_header(&table->csv, column), "framework.preset") != 0;
}

char *ty_sweep_best_text(const struct ty_sweep_best *best, const struct ty_sweep_table *table)
{
    struct lines l = {.best = best, .table = table};
    struct ty_text line[TY_SWEEP_BEST + 1] = {{.data = NULL}};
    if (best->n == 0) {
        return NULL;
    }
    l.n_figures = ty_figure_rows(TY_IN_BEST, l.figure);
    put(line, &l, row_cell, 0, true);
    for (uint32_t k = 0; k < table->csv.n_columns; k++) {
        if (is_shown(table, k)) {
            put(line, &l, key_cell, k, false);
        }
    }
    for (uint32_t k = 0; k < l.n_figures; k++) {
        if (!l.figure[k]->asked || ty_sweep_line_value(&best->row[0], l.figure[k]->name) > 0) {
            put(line, &l, figure_cell, k, true);
        }
        if (k == 0 && best->judged) { /* the first is the step time */
            put(line, &l, band_cell, 0, true);
        }
    }
    put(line, &l, framework_cell, 0, false);
    if (best->judged) {
        put(line, &l, tie_cell, 0, false);
    }
    return joined(best, line, best->n + 1);
}
