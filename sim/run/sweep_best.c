/* sweep_best.c - see sweep_best.h. */
#include "sim/run/sweep_best.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/text.h"
#include "sim/run/words.h"

#define GAP 2u /* columns between columns */

static bool is_better(const struct ty_sweep_figures *a, const struct ty_sweep_figures *b)
{
    return a->value[TY_SWEEP_TOKENS] > b->value[TY_SWEEP_TOKENS] ||
           (a->value[TY_SWEEP_TOKENS] == b->value[TY_SWEEP_TOKENS] && a->row < b->row);
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

static void figure_cell(const void *arg, uint32_t column, uint32_t line, char *buf, size_t size)
{
    static const char *const heads[] = {"row", "step", "tokens/s", "MFU", "memory", "framework"};
    const struct lines *l = arg;
    if (line == 0) {
        (void)snprintf(buf, size, "%s", heads[column]);
        return;
    }
    const struct ty_sweep_figures *f = &l->best->row[line - 1];
    switch (column) {
    case 0:
        (void)snprintf(buf, size, "%u", (unsigned)f->row + 1);
        break;
    case 1:
        ty_words_seconds(f->value[TY_SWEEP_STEP], buf, size);
        break;
    case 2:
        ty_words_count(f->value[TY_SWEEP_TOKENS], buf, size);
        break;
    case 3:
        ty_words_share(f->value[TY_SWEEP_MFU], buf, size);
        break;
    case 4:
        ty_words_bytes(f->value[TY_SWEEP_PEAK], buf, size);
        break;
    default:
        (void)snprintf(buf, size, "%s", f->framework);
        break;
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

char *ty_sweep_best_text(const struct ty_sweep_best *best, const struct ty_sweep_table *table)
{
    const struct lines l = {.best = best, .table = table};
    struct ty_text line[TY_SWEEP_BEST + 1] = {{.data = NULL}}, all = {.data = NULL};
    if (best->n == 0) {
        return NULL;
    }
    put(line, &l, figure_cell, 0, true);
    for (uint32_t k = 0; k < table->csv.n_columns; k++) {
        if (table->is_key[k] && varies(table, k) &&
            strcmp(ty_csv_header(&table->csv, k), "framework.preset") != 0) {
            put(line, &l, key_cell, k, false);
        }
    }
    for (uint32_t k = 1; k < 6; k++) {
        put(line, &l, figure_cell, k, k < 5);
    }
    for (uint32_t i = 0; i <= best->n; i++) {
        char *text = ty_text_take(&line[i]);
        size_t n = text != NULL ? strlen(text) : 0;
        while (n > 0 && text[n - 1] == ' ') {
            n--;
        }
        ty_text_add(&all, "%.*s\n", (int)n, text != NULL ? text : "");
        free(text);
    }
    return ty_text_take(&all);
}
