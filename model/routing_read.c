/* routing_read.c - a file of loads by layer and expert; see routing.h. */
#include <math.h>
#include <string.h>

#include "model/routing.h"
#include "sim/base/number_text.h"
#include "sim/document/csv.h"

enum column {
    LAYER,
    EXPERT,
    LOAD,
    N_COLUMNS
};
static const char *const names[N_COLUMNS] = {"layer", "expert", "load"};

struct reader {
    struct ty_csv csv;
    const struct ty_token_routing_shape *shape;
    struct ty_err *err;
    uint32_t index[N_COLUMNS]; /* where each column is */
    uint32_t *row_of;          /* [n_layers][experts]: 1 + row that has it; 0: none yet */
    double *load;              /* the same */
};

static int wrong_column(const struct reader *r, uint32_t i, const char *what)
{
    const struct ty_place at = ty_csv_place(&r->csv, 0, i);
    return ty_fail_at(r->err, TY_EINPUT, &at, "%s (%.40s); write the columns layer, expert, load",
                      what, ty_csv_header(&r->csv, i));
}

static int read_header(struct reader *r)
{
    int code = 0;
    memset(r->index, 0xff, sizeof(r->index));
    for (uint32_t i = 0; i < r->csv.n_columns; i++) {
        uint32_t c = 0;
        while (c < N_COLUMNS && strcmp(ty_csv_header(&r->csv, i), names[c]) != 0) {
            c++;
        }
        const bool known = c < N_COLUMNS, twice = known && r->index[c] != UINT32_MAX;
        if (!known || twice) {
            code = wrong_column(r, i, twice ? "a second column" : "unknown column");
        } else {
            r->index[c] = i;
        }
    }
    for (uint32_t c = 0; c < N_COLUMNS && code == 0; c++) {
        if (r->index[c] == UINT32_MAX) {
            const struct ty_place at = ty_csv_place(&r->csv, 0, 0);
            code = ty_fail_at(r->err, TY_EINPUT, &at,
                              "no column %s; loads need the columns layer, expert, load", names[c]);
        }
    }
    return code;
}

static const char *cell(const struct reader *r, uint32_t row, enum column c)
{
    return ty_csv_cell(&r->csv, row, r->index[c]);
}

static struct ty_place place(const struct reader *r, uint32_t row, enum column c)
{
    return ty_csv_place(&r->csv, row + 1, r->index[c]);
}

/* A number from `first` to `first + n - 1`. */
static int read_number(const struct reader *r, uint32_t row, enum column c, uint32_t first,
                       uint32_t n, uint32_t *out)
{
    const char *text = cell(r, row, c), *at = text;
    if (ty_scan_number(&at, NULL, UINT32_MAX, out) && *at == '\0' && *out >= first &&
        *out - first < n) {
        return 0;
    }
    const struct ty_place here = place(r, row, c);
    return ty_fail_at(r->err, TY_EINPUT, &here,
                      "%s: there is none of that number (%.40s); those with loads are %u to %u",
                      names[c], text, (unsigned)first, (unsigned)(first + n - 1));
}

static int read_row(struct reader *r, uint32_t row)
{
    uint32_t layer = 0, expert = 0;
    char *end;
    int rc = read_number(r, row, LAYER, r->shape->first_layer, r->shape->n_layers, &layer);
    if (rc == 0) {
        rc = read_number(r, row, EXPERT, 0, r->shape->experts, &expert);
    }
    if (rc < 0) {
        return rc;
    }
    const char *text = cell(r, row, LOAD);
    const double load = ty_strtod(text, &end);
    const size_t i = (size_t)(layer - r->shape->first_layer) * r->shape->experts + expert;
    if (end == text || *end != '\0' || !isfinite(load) || load < 0) {
        const struct ty_place at = place(r, row, LOAD);
        return ty_fail_at(
            r->err, TY_EINPUT, &at,
            "load: not a number from 0 on (%.40s); write a share or a count of tokens", text);
    }
    if (r->row_of[i] != 0) {
        const struct ty_place at = place(r, row, LAYER);
        return ty_fail_at(r->err, TY_EINPUT, &at,
                          "expert %u of layer %u is there twice, first in line %u; keep one",
                          (unsigned)expert, (unsigned)layer,
                          (unsigned)place(r, r->row_of[i] - 1, LAYER).line);
    }
    r->row_of[i] = row + 1;
    r->load[i] = load;
    return 0;
}

/* Every expert of every layer has a row, and somebody something to do. Makes shares of loads. */
static int finish_layer(const struct reader *r, uint32_t layer)
{
    const uint32_t n = r->shape->experts;
    const uint32_t *row_of = &r->row_of[(size_t)layer * n];
    const struct ty_place end = ty_csv_place(&r->csv, r->csv.n_rows, 0);
    double *load = &r->load[(size_t)layer * n], sum = 0;
    uint32_t missing = 0, first = n;
    for (uint32_t e = 0; e < n; e++) {
        sum += load[e];
        missing += row_of[e] == 0;
        first = row_of[e] == 0 && e < first ? e : first;
    }
    const unsigned number = layer + r->shape->first_layer;
    if (missing == n) {
        return ty_fail_at(r->err, TY_EINPUT, &end,
                          "the file ends without layer %u; layers %u to %u need %u rows each",
                          number, (unsigned)r->shape->first_layer,
                          (unsigned)(r->shape->first_layer + r->shape->n_layers - 1), (unsigned)n);
    }
    if (missing > 0) {
        return ty_fail_at(r->err, TY_EINPUT, &end,
                          "the file ends without expert %u of layer %u (%u of %u are missing); "
                          "write one with load 0 for an expert without tokens",
                          (unsigned)first, number, (unsigned)missing, (unsigned)n);
    }
    if (!(sum > 0) || !isfinite(sum)) {
        const struct ty_place at = place(r, row_of[0] - 1, LOAD);
        return ty_fail_at(
            r->err, TY_EINPUT, &at,
            "the loads of layer %u sum to %g; write numbers whose sum is above 0, and "
            "a number",
            number, sum);
    }
    for (uint32_t e = 0; e < n; e++) {
        load[e] /= sum;
    }
    return 0;
}

static int read_rows(struct reader *r)
{
    int code = 0;
    for (uint32_t row = 0; row < r->csv.n_rows; row++) {
        const int rc = read_row(r, row);
        code = code < 0 ? code : rc;
    }
    for (uint32_t layer = 0; layer < r->shape->n_layers && code == 0; layer++) {
        code = finish_layer(r, layer);
    }
    return code;
}

int ty_token_routing_load(struct ty_token_routing *routing, const char *path,
                          const struct ty_token_routing_shape *shape, struct ty_arena *arena,
                          struct ty_err *err)
{
    const size_t n = (size_t)shape->n_layers * shape->experts;
    struct reader r = {.shape = shape, .err = err};
    int rc = ty_csv_load(&r.csv, path, arena, err);
    if (rc == 0) {
        rc = read_header(&r);
    }
    if (rc < 0) {
        return rc;
    }
    r.row_of = ty_arena_array(arena, uint32_t, n);
    r.load = ty_arena_array(arena, double, n);
    if (r.row_of == NULL || r.load == NULL) {
        return ty_fail_memory(err);
    }
    rc = read_rows(&r);
    routing->shape = *shape;
    routing->share = rc == 0 ? r.load : NULL;
    return rc;
}
