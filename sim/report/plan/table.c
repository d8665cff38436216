/* table.c - a plan's answer for people: what was searched, the best layouts by the keys in which
 * they differ, why the first is best, the Pareto set. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/words.h"
#include "sim/plan/search/row_text.h"
#include "sim/report/plan/plan.h"

#define CELL          64u
#define FIGURES       6u
#define COLUMNS_MAX   (TY_PLAN_N_KEYS + FIGURES + 2)
#define PARETO_SHOWN  12u
#define VALUES_SHOWN  12u
#define VALUES_MOST   256u /* of a key: divisors of a batch */
#define REASONS_SHOWN 4u
#define REASON_LEAST  0.02 /* of the largest difference: smaller ones are not shown */

/* ---- what was searched ---- */

/* The different values of a key, each with a point that has it. */
struct values {
    uint32_t n;
    struct {
        uint32_t number, result;
        const struct ty_plan_point *point;
    } of[VALUES_MOST];
};

/* Adds a value in its place. Keeps the smallest ones where there are too many. */
static void add_value(struct values *v, uint32_t key, uint32_t result,
                      const struct ty_plan_point *point)
{
    const uint32_t number = ty_plan_key_number(point, key);
    uint32_t at = v->n;
    while (at > 0 && v->of[at - 1].number > number) {
        at--;
    }
    if ((at > 0 && v->of[at - 1].number == number) || at == VALUES_MOST) {
        return;
    }
    v->n += v->n < VALUES_MOST;
    memmove(&v->of[at + 1], &v->of[at], (v->n - at - 1) * sizeof(v->of[0]));
    v->of[at].number = number;
    v->of[at].result = result;
    v->of[at].point = point;
}

/* Finds the values among all points of all numbers of GPUs. Outer axes rarely change from one point
 * to the next. */
static void find_values(const struct ty_plan_answer *a, uint32_t key, struct values *v)
{
    *v = (struct values){.n = 0};
    for (uint32_t r = 0; r < a->n_results; r++) {
        const struct ty_plan_space *space = &a->result[r].space;
        uint32_t last = 0;
        for (uint32_t i = 0; i < space->n_points; i++) {
            const uint32_t number = ty_plan_key_number(&space->point[i], key);
            if (i == 0 || number != last) {
                add_value(v, key, r, &space->point[i]);
            }
            last = number;
        }
    }
}

/* Appends the different values of a key in their order, "1, 2, 4"; of many numbers the first ones
 * and the last. Returns how many there are. */
static uint32_t put_values(struct ty_text *t, const struct ty_plan_answer *a, uint32_t key,
                           const struct values *values)
{
    char value[TY_PLAN_VALUE];
    const bool many = ty_plan_key_is_plain(key) && values->n > VALUES_SHOWN;
    for (uint32_t i = 0; i < values->n; i++) {
        if (many && i == VALUES_SHOWN - 1) {
            ty_text_add(t, ", ...");
            i = values->n - 1;
        }
        ty_text_add(t, "%s%s", i > 0 ? ", " : "",
                    ty_plan_key_value(&a->result[values->of[i].result].space, values->of[i].point,
                                      key, value));
    }
    return values->n;
}

/* Appends those of the numbers or schedules that --over lists which no layout has: "; none has 3".
 * Returns how many. */
static uint32_t put_unused(struct ty_text *t, const struct ty_plan_answer *a, uint32_t key,
                           const struct values *values)
{
    const struct ty_plan_space *space = &a->result[0].space;
    const struct ty_plan_axis *axis = &space->axis[key];
    const bool known = ty_plan_key_is_plain(key) && key != TY_PLAN_SEQUENCE_PARALLEL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < axis->n && axis->searched && values->n < VALUES_MOST; i++) {
        bool used = false;
        for (uint32_t k = 0; k < values->n; k++) {
            used = used || values->of[k].number == axis->value[i];
        }
        if (!used && known) {
            ty_text_add(t, "%s%u", n++ == 0 ? "; none has " : ", ", (unsigned)axis->value[i]);
        } else if (!used && key == TY_PLAN_SCHEDULE) {
            ty_text_add(t, "%s%s", n++ == 0 ? "; none has " : ", ",
                        ty_schedules[axis->value[i]]->name);
        }
    }
    return n;
}

static void put_space(struct ty_text *t, const struct ty_plan_answer *a)
{
    char name[TY_PLAN_VALUE];
    for (uint32_t i = 0; i < TY_PLAN_N_AXES; i++) {
        struct values found;
        struct ty_text values = {.data = NULL};
        const bool every = i == TY_PLAN_ORDER && a->result[0].space.axis[i].n == 0;
        /* data follows from the others */
        find_values(a, i, &found);
        const bool varies = i != TY_PLAN_DATA && put_values(&values, a, i, &found) > 1;
        const bool unused = put_unused(&values, a, i, &found) > 0;
        if ((varies || unused) && !values.failed) {
            ty_text_add(t, "  %s", ty_plan_key_name(i, name));
            ty_text_pad(t, 28);
            ty_text_add(t, "%s\n",
                        every ? "every order that places ranks differently" : values.data);
        }
        t->failed = t->failed || values.failed;
        ty_text_release(&values);
    }
}

/* Whether the run file fixes the key of an axis and put_fixed says so. */
static bool is_fixed(const struct ty_plan_space *space, uint32_t i)
{
    return i < TY_PLAN_N_AXES && !space->axis[i].searched && i != TY_PLAN_DATA &&
           i != TY_PLAN_ORDER && !ty_plan_axis_is_rare((int)i) && ty_plan_key_applies(space, i);
}

/* Keys that the run file fixes: others may be faster, and a user has to know. */
static void put_fixed(struct ty_text *t, const struct ty_plan_answer *a)
{
    const struct ty_plan_space *space = &a->result[0].space;
    char name[TY_PLAN_VALUE], value[TY_PLAN_VALUE];
    bool any = false;
    for (uint32_t i = 0; i < TY_PLAN_N_AXES && space->n_points > 0; i++) {
        if (!is_fixed(space, i)) {
            continue;
        }
        if (!any) {
            ty_text_add(t, "  fixed");
            ty_text_pad(t, 28);
        }
        ty_text_add(t, "%s%s %s", any ? ", " : "", ty_plan_key_name(i, name),
                    ty_plan_key_value(space, space->point, i, value));
        any = true;
    }
    if (any) {
        ty_text_add(t, "; --free layout,schedule searches them\n");
    }
}

static void put_counts(struct ty_text *t, const struct ty_plan_result *r)
{
    const unsigned gpus = ty_plan_gpus(&r->space);
    char n[4][32];
    ty_text_add(t, "%s%s", r->set != NULL ? r->set : "", r->set != NULL ? ": " : "");
    ty_text_add(t,
                "%s layout%s on %u GPU%s: ", ty_words_count(r->space.n_points, n[0], sizeof(n[0])),
                r->space.n_points == 1 ? "" : "s", gpus, gpus == 1 ? "" : "s");
    if (r->n_screened < r->space.n_points) { /* what fits is counted when all are */
        ty_text_add(t, "ended early: the memory of %s is known, %s simulated\n",
                    ty_words_count(r->n_screened, n[1], sizeof(n[1])),
                    r->n_simulated == 0 ? "none"
                                        : ty_words_count(r->n_simulated, n[3], sizeof(n[3])));
        return;
    }
    ty_text_add(t, "%s fit, %s of them ruled out by a bound, %s simulated\n",
                ty_words_count(r->n_fit, n[1], sizeof(n[1])),
                ty_words_count(r->n_bounded, n[2], sizeof(n[2])),
                ty_words_count(r->n_simulated, n[3], sizeof(n[3])));
}

/* ---- a table ---- */

/* Cells right-aligned under their heads, in columns as wide as their widest cell. */
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

/* Returns the head of the last column: money where there is a price; GPU time where that is the
 * objective; else NULL, no such column. */
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

/* Whether results are of several numbers of GPUs, or all of one and of values of a key. */
static bool several_gpus(const struct ty_plan_answer *a)
{
    return ty_plan_gpus(&a->result[0].space) != ty_plan_gpus(&a->result[a->n_results - 1].space);
}

/* Writes rows of the results of[n] (NULL: of the best alone), by the keys in which they differ. */
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
    const bool gpus = of != NULL && several_gpus(a);
    const bool set = of != NULL && a->result[0].set != NULL;
    if (gpus) {
        (void)snprintf(g.heads[g.n_columns++], CELL, "GPUs");
    }
    if (set) {
        (void)snprintf(g.heads[g.n_columns++], CELL, "%.*s", (int)strcspn(a->result[0].set, "="),
                       a->result[0].set);
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct ty_plan_result *r = &a->result[of != NULL ? of[i] : a->best];
        uint32_t c = 0;
        (void)snprintf(g.cell[i][c++], CELL, "%u", (unsigned)row[i].row + 1);
        if (gpus) {
            (void)snprintf(g.cell[i][c++], CELL, "%u", (unsigned)ty_plan_gpus(&r->space));
        }
        if (set) {
            (void)snprintf(g.cell[i][c++], CELL, "%.60s", strchr(r->set, '=') + 1);
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

/* Returns whether people are shown a key: those of experts only for models that have some. */
static bool is_shown(const struct ty_plan_result *r, uint32_t key)
{
    return ty_plan_key_is_told(&r->space, key) && ty_plan_key_applies(&r->space, key);
}

/* Writes the keys that all rows have in common, but for those that are fixed. */
static void put_common(struct ty_text *t, const struct ty_plan_answer *a)
{
    const struct ty_plan_result *r = &a->result[a->best];
    char name[TY_PLAN_VALUE], value[TY_PLAN_VALUE];
    bool any = several_gpus(a);
    if (any) {
        ty_text_add(t, "%u GPUs", (unsigned)ty_plan_gpus(&r->space));
    }
    for (uint32_t k = 0; k < TY_PLAN_N_KEYS; k++) {
        if (is_shown(r, k) && !is_fixed(&a->result[0].space, k) &&
            !differs(a->rank, a->n_rank, k)) {
            ty_text_add(t, "%s%s %s", any ? ", " : "", ty_plan_key_short(k, name),
                        ty_plan_key_value(&r->space, &r->row[0].point, k, value));
            any = true;
        }
    }
    ty_text_add(t, !any ? "" : a->n_rank > 1 ? " in all of them\n" : "\n");
}

/* ---- why ---- */

/* A part of a step. A pipeline's idle time is one part, as in bubble_fraction: layouts trade its
 * kinds for each other. */
struct part {
    const char *name;
    double s;
};

static uint32_t read_parts(const double bucket_s[TY_N_BUCKETS], struct part part[TY_N_BUCKETS])
{
    double bubble_s = 0;
    uint32_t n = 0;
    for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
        if (b == TY_BUCKET_BUBBLE_FILL || b == TY_BUCKET_BUBBLE_STALL ||
            b == TY_BUCKET_BUBBLE_DRAIN || b == TY_BUCKET_EXPOSED_PIPELINE) {
            bubble_s += bucket_s[b];
        } else {
            part[n++] = (struct part){ty_transformer_words.buckets[b].name, bucket_s[b]};
        }
    }
    part[n++] = (struct part){"bubble", bubble_s};
    return n;
}

/* Orders parts, the largest first. */
static int by_length(const void *a, const void *b)
{
    const double x = fabs(((const struct part *)a)->s), y = fabs(((const struct part *)b)->s);
    return (x < y) - (x > y);
}

static void put_signed(struct ty_text *t, double s)
{
    char words[CELL];
    ty_text_add(t, "%s%s", s < 0 ? "-" : "+", ty_words_seconds(fabs(s), words, sizeof(words)));
}

/* Writes the parts in which two steps differ most, and the rest of the difference. */
static void put_differences(struct ty_text *t, const double *a, const double *b)
{
    double difference_s[TY_N_BUCKETS], rest_s = 0;
    struct part part[TY_N_BUCKETS];
    for (uint32_t k = 0; k < TY_N_BUCKETS; k++) {
        difference_s[k] = b[k] - a[k];
    }
    const uint32_t n = read_parts(difference_s, part);
    qsort(part, n, sizeof(part[0]), by_length);
    for (uint32_t i = 0; i < n; i++) {
        if (i < REASONS_SHOWN && fabs(part[i].s) > REASON_LEAST * fabs(part[0].s)) {
            ty_text_add(t, "%s%s ", i > 0 ? ", " : "", part[i].name);
            put_signed(t, part[i].s);
        } else {
            rest_s += part[i].s;
        }
    }
    if (fabs(rest_s) > REASON_LEAST * fabs(part[0].s)) {
        ty_text_add(t, ", the rest ");
        put_signed(t, rest_s);
    }
}

/* Writes why a is better than b by the objective. */
static void put_against(struct ty_text *t, const struct ty_plan_answer *answer,
                        const struct ty_plan_row *a, const struct ty_plan_row *b)
{
    const bool by_memory = answer->objective == TY_PLAN_MEMORY;
    const double more_B = b->peak_B - a->peak_B;
    char words[CELL], share[CELL];
    ty_text_add(t, "row %u against row %u: ", (unsigned)b->row + 1, (unsigned)a->row + 1);
    ty_words_bytes(fabs(more_B), words, sizeof(words));
    if (b->step_s == a->step_s && more_B == 0) {
        ty_text_add(t, "as fast to the picosecond with as much memory; the earlier row stands "
                       "first\n");
        return;
    }
    if (by_memory) {
        ty_words_share(b->peak_B / a->peak_B - 1, share, sizeof(share));
        ty_text_add(t, more_B == 0 ? "as much memory, " : "%s more of memory (%s), ", words, share);
    }
    if (b->step_s == a->step_s) {
        ty_text_add(t,
                    by_memory ? "as fast to the picosecond\n"
                              : "as fast to the picosecond, with %s more of memory\n",
                    words);
        return;
    }
    put_signed(t, b->step_s - a->step_s);
    ty_words_share(fabs(b->step_s / a->step_s - 1), share, sizeof(share));
    ty_text_add(t, " a step (%s): ", share);
    put_differences(t, a->bucket_s, b->bucket_s);
    ty_text_add(t, "\n");
}

/* Writes why the second row is second. If both are as fast, also compares the next that is not. */
static void put_second(struct ty_text *t, const struct ty_plan_answer *answer)
{
    const struct ty_plan_row *row = answer->rank;
    uint32_t i = 1;
    if (answer->n_rank > 1) {
        put_against(t, answer, row, &row[1]);
    }
    while (i < answer->n_rank && row[i].step_s == row[0].step_s) {
        i++;
    }
    if (i > 1 && i < answer->n_rank) {
        put_against(t, answer, row, &row[i]);
    }
}

static void put_binding(struct ty_text *t, const struct ty_plan_row *row)
{
    char has[CELL], of[CELL], share[CELL], words[CELL];
    struct part part[TY_N_BUCKETS];
    const uint32_t n = read_parts(row->bucket_s, part);
    qsort(part, n, sizeof(part[0]), by_length);
    const struct part *most = part; /* the largest that is not computation */
    while (strncmp(most->name, "compute", 7) == 0) {
        most++;
    }
    ty_words_seconds(most->s, words, sizeof(words));
    ty_words_share(most->s / row->step_s, share, sizeof(share));
    ty_words_bytes(row->peak_B, has, sizeof(has));
    ty_words_bytes(row->capacity_B, of, sizeof(of));
    ty_text_add(t,
                "row %u is bound by %s (%s, %s of the step) beside computation; memory: stage "
                "%u has %s of %s\n",
                (unsigned)row->row + 1, most->name, words, share, (unsigned)row->stage, has, of);
}

/* Writes the layouts that leave less memory free than the margin, below the row that they would be
 * ahead of. */
static void put_tight(struct ty_text *t, const struct ty_plan_answer *a)
{
    const struct ty_plan_result *r = &a->result[a->best];
    struct ty_arena arena = {.head = NULL};
    char share[CELL];
    struct ty_plan_row *rows = ty_arena_array(&arena, struct ty_plan_row, r->n_tight + 1);
    if (r->n_tight == 0 || rows == NULL) {
        t->failed = t->failed || rows == NULL;
        ty_arena_release(&arena);
        return;
    }
    rows[0] = r->row[0];
    memcpy(&rows[1], r->tight, r->n_tight * sizeof(*rows));
    ty_text_add(
        t,
        "\ntight: fast enough for the rows above, but they leave less than %s of the memory free "
        "(--margin) and may fail; row %u to compare\n",
        ty_words_share(r->space.margin, share, sizeof(share)), (unsigned)rows[0].row + 1);
    put_rows(t, a, rows, NULL, r->n_tight + 1);
    ty_arena_release(&arena);
}

/* Writes the bands of the rows, and which of them cannot be told from the first. */
static void put_sure(struct ty_text *t, const struct ty_plan_answer *a)
{
    const struct ty_plan_result *r = &a->result[a->best];
    uint32_t tied = 0;
    char name[CELL];
    if (a->sure == NULL) {
        return;
    }
    ty_text_add(t, "\nuncertainty: 90 %% bands of the step, and of its difference from row %u\n",
                (unsigned)r->row[0].row + 1);
    for (uint32_t i = 0; i < r->n_rows; i++) {
        (void)ty_snprintf(name, sizeof(name), "%6u  ", (unsigned)r->row[i].row + 1);
        ty_band_line(t, name, &a->sure[i].step, i > 0 ? &a->sure[i].gap : NULL);
        tied += i > 0 && !ty_band_told_apart(&a->sure[i].gap);
    }
    ty_text_add(t, "no significant difference from row %u (p > %g): %u of %u other rows\n",
                (unsigned)r->row[0].row + 1, TY_SWEEP_TIED, (unsigned)tied,
                (unsigned)r->n_rows - 1);
}

/* ---- unequal stages ---- */

/* Writes the unequal stages that were found, as keys of a run file. */
static void put_uneven(struct ty_text *t, const struct ty_plan_answer *a)
{
    const struct ty_plan_uneven *u = &a->uneven;
    const struct ty_plan_result *r = &a->result[a->best];
    char name[TY_PLAN_VALUE], value[TY_PLAN_VALUE], has[CELL], of[CELL], share[CELL];
    ty_text_add(
        t, "\nunequal stages: %u layout%s repartitioned and simulated, beside the space above: ",
        (unsigned)u->dealt, u->dealt == 1 ? "" : "s");
    if (!u->found) {
        ty_text_add(t, "none is faster\n");
        return;
    }
    ty_text_add(t, "%s, %s less, %s of %s\n ",
                ty_words_seconds(u->stages.step_s, value, sizeof(value)),
                ty_words_share(1 - u->stages.step_s / r->row[0].step_s, share, sizeof(share)),
                ty_words_bytes(u->stages.peak_B, has, sizeof(has)),
                ty_words_bytes(u->stages.capacity_B, of, sizeof(of)));
    for (uint32_t k = 0; k < TY_PLAN_N_KEYS; k++) {
        if (is_shown(r, k) && !ty_plan_uneven_replaces(u, &r->space, k)) {
            ty_text_add(t, " %s %s,", ty_plan_key_short(k, name),
                        ty_plan_key_value(&r->space, &r->space.point[u->point], k, value));
        }
    }
    bool counted = false; /* recompute_layers: what its numbers count */
    for (uint32_t i = 0; i < u->n_keys; i++) {
        ty_text_add(t, "%s %s %s", i > 0 ? "," : "", u->key[i].name + strlen("layout."),
                    u->key[i].value);
        counted = counted || strcmp(u->key[i].name, "layout.recompute_layers") == 0;
    }
    ty_text_add(t, counted ? " (layers of each stage that recompute)\n" : "\n");
}

/* Says why the first row is the best: why the second loses, what bounds the first, how little
 * memory it leaves, what unequal stages gain. */
static void put_reasons(struct ty_text *t, const struct ty_plan_answer *a)
{
    const struct ty_plan_result *best = &a->result[a->best];
    put_second(t, a);
    put_binding(t, &best->row[0]);
    put_sure(t, a);
    put_tight(t, a);
    if (a->uneven.dealt > 0) {
        put_uneven(t, a);
    }
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
            ty_text_add(t, "%-8.0f  nothing %s\n", gpus,
                        r->n_tight > 0 ? "keeps the margin" : "fits");
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

/* Whether others may be faster, and by how much at most. */
static void put_exact(struct ty_text *t, const struct ty_plan_answer *a)
{
    const struct ty_plan_result *best = &a->result[a->best];
    char least[CELL], less[CELL];
    if (a->exact) {
        ty_text_add(t, "exact: no other layout of the space is among the best\n");
        return;
    }
    ty_text_add(t, "NOT exact: the search ended early; the best so far");
    if (ty_plan_gap(a) >= 0) {
        ty_text_add(t, "; no other takes less than %s (%s less)",
                    ty_words_seconds(best->left_s, least, sizeof(least)),
                    ty_words_share(ty_plan_gap(a), less, sizeof(less)));
    }
    ty_text_add(t, "\n");
}

/* The file's own layout beside the best. */
static void put_own(struct ty_text *t, const struct ty_plan_answer *a)
{
    const struct ty_plan_result *best = &a->result[a->best];
    char own[CELL], least[CELL], less[CELL];
    if (a->own.step_s <= 0) {
        return;
    }
    ty_text_add(t, "yours %s%s", ty_words_seconds(a->own.step_s, own, sizeof(own)),
                !a->own.fits   ? " (does not fit)"
                : a->own.tight ? " (tight)"
                               : "");
    if (best->n_rows == 0) { /* the search ended before */
        ty_text_add(t, "\n");
        return;
    }
    const double step_s = a->uneven.found ? a->uneven.stages.step_s : best->row[0].step_s;
    ty_text_add(t, ", best %s", ty_words_seconds(step_s, least, sizeof(least)));
    if (step_s < a->own.step_s) {
        ty_text_add(t, ", %s less", ty_words_share(1 - step_s / a->own.step_s, less, sizeof(less)));
    }
    ty_text_add(t, "\n");
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
    put_exact(t, a);
    if (a->no_noise) {
        ty_text_add(t, "random factors are off: jitter, GPU spread and uneven routing\n");
    }
    put_own(t, a);
    put_space(t, a);
    put_fixed(t, a);
    if (best->n_rows == 0) {
        ty_text_add(t, "nothing was simulated yet\n");
        return;
    }
    ty_text_add(t, "\n");
    put_rows(t, a, a->rank, a->rank_of, a->n_rank);
    put_common(t, a);
    ty_text_add(t, "\n");
    put_reasons(t, a);
    if (several_gpus(a)) {
        put_scaling(t, a);
    }
    ty_text_add(t, "\nPareto set: no other layout is as fast with as little memory%s",
                several_gpus(a) ? " on as few GPUs" : "");
    if (a->objective != TY_PLAN_MEMORY) {
        ty_text_add(t, "; steps up to %g times the fastest", TY_PLAN_SLOWEST);
    }
    ty_text_add(t, "\n");
    put_rows(t, a, a->pareto, a->pareto_of, shown);
    if (shown < a->n_pareto) {
        ty_text_add(t, "and %u more (--stats json has all)\n", (unsigned)(a->n_pareto - shown));
    }
}
