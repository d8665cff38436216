/* plan.c - `trainyard plan`: the answer as a report, and in a folder. */
#include "sim/report/plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/compiler.h"
#include "sim/base/number_text.h"
#include "sim/base/words.h"
#include "sim/cli_api.h"
#include "sim/document/json.h"
#include "sim/plan/search/continue.h"
#include "sim/plan/search/find.h"
#include "sim/plan/search/row_text.h"
#include "sim/report/axes.h"
#include "sim/run/bill.h"
#include "sim/trainyard.h"
#include "traces/svg/internal.h"

/* ---- JSON ----
 *
 * A plan's answer for programs: keys of the run file, seconds, bytes, shares. */

static void put_key(struct ty_json *j, const struct ty_plan_space *space,
                    const struct ty_plan_point *point, uint32_t i)
{
    char name[TY_PLAN_VALUE], value[TY_PLAN_VALUE];
    ty_plan_key_name(i, name);
    ty_plan_key_value(space, point, i, value);
    if (ty_plan_key_is_plain(i)) {
        ty_json_key(j, name);
        j->put(j->to, value, strlen(value));
    } else {
        ty_json_text(j, name, value);
    }
}

/* The value of a key that the layouts of a result share. */
static void put_set(struct ty_json *j, const struct ty_plan_result *r)
{
    char name[TY_PLAN_VALUE];
    if (r->set != NULL) {
        (void)ty_snprintf(name, sizeof(name), "%.*s", (int)strcspn(r->set, "="), r->set);
        ty_json_text(j, name, strchr(r->set, '=') + 1);
    }
}

static void put_row(struct ty_json *j, const struct ty_plan_result *r,
                    const struct ty_plan_row *row)
{
    ty_json_object(j, NULL);
    ty_json_whole(j, "row", row->row + 1);
    put_set(j, r);
    for (uint32_t i = 0; i < TY_PLAN_N_KEYS; i++) {
        if (ty_plan_key_is_told(&r->space, i)) {
            put_key(j, &r->space, &row->point, i);
        }
    }
    ty_json_whole(j, "gpus", ty_plan_gpus(&r->space));
    ty_json_real(j, "step_time_s", row->step_s);
    ty_json_real(j, "tokens_per_s", row->tokens_per_s);
    ty_json_real(j, "mfu", row->mfu);
    ty_json_real(j, "peak_memory_bytes", row->peak_B);
    ty_json_real(j, "capacity_bytes", row->capacity_B);
    ty_json_text(j, "verdict",
                 ty_plan_is_tight(&r->space, row->peak_B, row->capacity_B) ? "tight" : "fits");
    ty_json_whole(j, "fullest_stage", row->stage);
    ty_json_real(j, "bubble_fraction", row->bubble_fraction);
    if (ty_plan_cost(r, row) > 0) {
        ty_json_real(j, "cost_per_step", ty_plan_cost(r, row));
    }
    ty_json_object(j, "breakdown");
    const uint32_t n = r->space.base->packing.n > 0 ? TY_N_BUCKETS : TY_N_BUCKETS - 1;
    for (uint32_t b = 0; b < n; b++) { /* as runs have them */
        ty_json_real(j, ty_transformer_words.buckets[b].name, row->bucket_s[b]);
    }
    ty_json_end(j);
    ty_json_end(j);
}

static void put_rows(struct ty_json *j, const char *key, const struct ty_plan_result *r,
                     const struct ty_plan_row *row, uint32_t n)
{
    ty_json_array(j, key);
    ty_json_lines(j);
    for (uint32_t i = 0; i < n; i++) {
        put_row(j, r, &row[i]);
    }
    ty_json_end(j);
}

/* Writes the best of each number of GPUs, and the tokens/s of a GPU over those of the first. */
static void put_scaling(struct ty_json *j, const struct ty_plan_answer *a)
{
    const struct ty_plan_result *first = NULL;
    ty_json_array(j, "scaling");
    ty_json_lines(j);
    for (uint32_t i = 0; i < a->n_results; i++) {
        const struct ty_plan_result *r = &a->result[i];
        const uint32_t gpus = ty_plan_gpus(&r->space);
        first = first == NULL && r->n_rows > 0 ? r : first;
        ty_json_object(j, NULL);
        put_set(j, r);
        ty_json_whole(j, "gpus", gpus);
        ty_json_whole(j, "space", r->space.n_points);
        ty_json_whole(j, "fit", r->n_fit);
        if (r->n_rows > 0) {
            ty_json_whole(j, "row", r->row[0].row + 1);
            ty_json_real(j, "step_time_s", r->row[0].step_s);
            ty_json_real(j, "tokens_per_s", r->row[0].tokens_per_s);
            ty_json_real(j, "efficiency",
                         r->row[0].tokens_per_s / gpus /
                             (first->row[0].tokens_per_s / ty_plan_gpus(&first->space)));
        }
        ty_json_end(j);
    }
    ty_json_end(j);
}

static void put_pareto(struct ty_json *j, const struct ty_plan_answer *a)
{
    if (a->objective != TY_PLAN_MEMORY) {
        ty_json_real(j, "pareto_within", TY_PLAN_SLOWEST);
    }
    ty_json_array(j, "pareto");
    ty_json_lines(j);
    for (uint32_t i = 0; i < a->n_pareto; i++) {
        put_row(j, &a->result[a->pareto_of[i]], &a->pareto[i]);
    }
    ty_json_end(j);
}

/* Writes the unequal stages that were found, which are not of the space. */
static void put_uneven(struct ty_json *j, const struct ty_plan_answer *a)
{
    const struct ty_plan_uneven *u = &a->uneven;
    const struct ty_plan_space *space = &a->result[a->best].space;
    ty_json_object(j, "uneven");
    ty_json_whole(j, "dealt", u->dealt);
    ty_json_whole(j, "simulated", u->simulated);
    ty_json_array(j, "rows");
    if (u->found) {
        ty_json_object(j, NULL);
        for (uint32_t i = 0; i < TY_PLAN_N_KEYS; i++) {
            if (!ty_plan_uneven_replaces(u, space, i) && ty_plan_key_is_told(space, i)) {
                put_key(j, space, &space->point[u->point], i);
            }
        }
        for (uint32_t i = 0; i < u->n_keys; i++) {
            ty_json_text(j, u->key[i].name, u->key[i].value);
        }
        ty_json_real(j, "step_time_s", u->stages.step_s);
        ty_json_real(j, "peak_memory_bytes", u->stages.peak_B);
        ty_json_real(j, "capacity_bytes", u->stages.capacity_B);
        ty_json_end(j);
    }
    ty_json_end(j);
    ty_json_end(j);
}

/* Puts the answer as one object. Without `seconds` it is the same for any number of threads, and
 * after a kill and --resume. */
static void put_answer(struct ty_json *j, const char *key, const struct ty_plan_answer *a,
                       bool seconds)
{
    static const char *const objectives[] = {"time", "cost", "memory"};
    const struct ty_plan_result *best = &a->result[a->best];
    uint64_t space = 0, fit = 0, bounded = 0, simulated = 0;
    char digest[TY_DIGEST_TEXT];
    for (uint32_t i = 0; i < a->n_results; i++) {
        space += a->result[i].space.n_points;
        fit += a->result[i].n_fit;
        bounded += a->result[i].n_bounded;
        simulated += a->result[i].n_simulated;
    }
    ty_json_object(j, key);
    ty_json_lines(j);
    ty_json_whole(j, "space", space);
    ty_json_whole(j, "fit", fit);
    ty_json_whole(j, "bounded", bounded);
    ty_json_whole(j, "simulated", simulated);
    ty_json_bool(j, "exact", a->exact);
    if (ty_plan_gap(a) >= 0) {
        ty_json_real(j, "gap", ty_plan_gap(a));
    }
    ty_json_text(j, "objective", objectives[a->objective]);
    if (a->n_shards > 1) {
        ty_json_whole(j, "shard", a->shard + 1);
        ty_json_whole(j, "shards", a->n_shards);
    }
    if (a->own.step_s > 0) {
        ty_json_object(j, "given");
        ty_json_real(j, "step_time_s", a->own.step_s);
        ty_json_real(j, "peak_memory_bytes", a->own.peak_B);
        ty_json_bool(j, "fits", a->own.fits);
        ty_json_bool(j, "tight", a->own.tight);
        ty_json_end(j);
    }
    ty_json_array(j, "rows");
    ty_json_lines(j);
    for (uint32_t i = 0; i < a->n_rank; i++) {
        put_row(j, a->rank_of != NULL ? &a->result[a->rank_of[i]] : best, &a->rank[i]);
    }
    ty_json_end(j);
    ty_json_real(j, "margin", best->space.margin);
    put_rows(j, "tight", best, best->tight, best->n_tight);
    if (a->sure != NULL) {
        ty_json_array(j, "uncertainty");
        ty_json_lines(j);
        for (uint32_t i = 0; i < best->n_rows; i++) {
            ty_json_object(j, NULL);
            ty_json_whole(j, "row", best->row[i].row + 1);
            ty_band_members(j, &a->sure[i].step, i > 0 ? &a->sure[i].gap : NULL);
            ty_json_end(j);
        }
        ty_json_end(j);
    }
    put_pareto(j, a);
    if (a->uneven.dealt > 0) {
        put_uneven(j, a);
    }
    if (a->n_results > 1) {
        put_scaling(j, a);
    }
    ty_json_bool(j, "chance_set_aside", a->no_noise);
    ty_json_text(j, "config_digest", ty_config_digest_text(best->base, digest));
    ty_json_whole(j, "seed", best->base->run.seed);
    ty_json_text(j, "version", TRAINYARD_VERSION);
    if (seconds) {
        ty_json_real(j, "seconds", a->seconds);
    }
    ty_json_end(j);
}

static void plan_json(const struct ty_plan_answer *a, bool seconds, struct ty_text *t)
{
    struct ty_json j = ty_json_to_text(t);
    put_answer(&j, NULL, a, seconds);
    ty_text_bytes(t, "\n", 1);
}

/* ---- the picture ----
 *
 * A plan's answer as a picture: step time against memory. Lengths are pixels at 96 to
 * the inch. */

#define WIDTH    960.0
#define LEFT     84.0
#define RIGHT    930.0
#define TOP      92.0
#define BOTTOM   430.0
#define TABLE    500.0 /* y of its first line */
#define LINE     20.0
#define NUMBERED 12u /* layouts with a line in the table */
#define GIB      1073741824.0
#define APART    24.0 /* marks with numbers are at least so far from each other */
#define WORD     96u
#define LETTERS  80u /* of a line of a layout's keys */

/* Colours that colour-blind readers can tell apart (Okabe and Ito 2008). */
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73",
                                      "#cc79a7", "#e69f00", "#56b4e9"};

struct plot {
    const struct ty_plan_answer *answer;
    struct ty_text *out;
    struct ty_scale x, y;
    double unit_s; /* seconds of a unit of the x axis: 1 or 1e-3 */
};

static double x_of(const struct plot *p, const struct ty_plan_row *row)
{
    return ty_scale_at(&p->x, row->step_s / p->unit_s);
}

static double y_of(const struct plot *p, double bytes)
{
    return ty_scale_at(&p->y, bytes / GIB);
}

/* ---- axes ---- */

static void put_axes(struct plot *p, double capacity_B)
{
    ty_axes_put(p->out, &p->x, &p->y);
    ty_axes_text(p->out, (LEFT + RIGHT) / 2, BOTTOM + 38, "middle",
                 p->unit_s < 1 ? "time of a step, ms" : "time of a step, s");
    ty_axes_text_up(p->out, 24, (TOP + BOTTOM) / 2, "memory of the fullest GPU, GiB");
    const double y = y_of(p, capacity_B);
    ty_text_add(p->out, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#333\" stroke-dasharray=\"6 4\"/>\n",
                LEFT, y, RIGHT);
    ty_axes_text(p->out, RIGHT, y - 5, "end", "what a GPU has");
}

/* ---- layouts ---- */

/* Draws the mark of a result: circle, square, triangle, diamond. */
static void put_mark(struct plot *p, uint32_t result, double x, double y, bool filled)
{
    static const char *const paths[] = {
        "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
        "M-4.5 -4.5h9v9h-9z",
        "M0 -6L5.5 4.5H-5.5z",
        "M0 -6.5L6 0L0 6.5L-6 0z",
    };
    const char *colour = colours[result % TY_COUNT(colours)];
    ty_text_add(p->out,
                "<path transform=\"translate(%.1f %.1f)\" d=\"%s\" fill=\"%s\" "
                "stroke=\"%s\" stroke-width=\"1.5\"/>\n",
                x, y, paths[result % TY_COUNT(paths)], filled ? colour : "#fff", colour);
}

/* Draws the stairs of the Pareto set: to the right of and above a corner every layout is beaten. */
static void put_stairs(struct plot *p, uint32_t result)
{
    const struct ty_plan_result *r = &p->answer->result[result];
    if (r->n_pareto == 0) {
        return;
    }
    ty_text_add(p->out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" d=\"M%.1f %.1f",
                colours[result % TY_COUNT(colours)], x_of(p, &r->pareto[0]), TOP);
    for (uint32_t i = 0; i < r->n_pareto; i++) {
        const bool last = i + 1 == r->n_pareto;
        ty_text_add(p->out, "V%.1fH%.1f", y_of(p, r->pareto[i].peak_B),
                    last ? RIGHT : x_of(p, &r->pareto[i + 1]));
    }
    ty_text_add(p->out, "\"/>\n");
}

static void put_result(struct plot *p, uint32_t result)
{
    const struct ty_plan_result *r = &p->answer->result[result];
    put_stairs(p, result);
    for (uint32_t i = 0; i < r->n_rows; i++) {
        put_mark(p, result, x_of(p, &r->row[i]), y_of(p, r->row[i].peak_B), false);
    }
    for (uint32_t i = 0; i < r->n_pareto; i++) {
        put_mark(p, result, x_of(p, &r->pareto[i]), y_of(p, r->pareto[i].peak_B), true);
    }
}

/* ---- the table ---- */

/* A layout with a line in the table, far enough from the one before. */
struct numbered {
    const struct ty_plan_row *row;
    uint32_t result;
};

static uint32_t pick(const struct plot *p, struct numbered picked[NUMBERED])
{
    const struct ty_plan_answer *a = p->answer;
    const uint32_t each = a->n_results < NUMBERED ? NUMBERED / a->n_results : 1;
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->n_results && n < NUMBERED; i++) {
        const struct ty_plan_row *last = NULL;
        const struct ty_plan_result *r = &a->result[i];
        for (uint32_t k = 0, own = 0; k < r->n_pareto && own < each; k++) {
            const struct ty_plan_row *row = &r->pareto[k];
            if (last == NULL || hypot(x_of(p, row) - x_of(p, last),
                                      y_of(p, row->peak_B) - y_of(p, last->peak_B)) > APART) {
                picked[n++] = (struct numbered){row, i};
                last = row;
                own++;
            }
        }
    }
    return n;
}

/* Returns whether the table's layouts differ in a key. */
static bool differs(const struct numbered *picked, uint32_t n, uint32_t key)
{
    bool found = false;
    for (uint32_t i = 1; i < n; i++) {
        found = found || ty_plan_key_number(&picked[i].row->point, key) !=
                             ty_plan_key_number(&picked[0].row->point, key);
    }
    return found;
}

/* "tensor 2, schedule 1f1b": the searched keys in which they differ, or those in which they do
 * not. Of one alone all are told. To be freed; NULL: no memory. */
static char *layout_words(const struct plot *p, const struct numbered *picked, uint32_t n,
                          uint32_t which, bool differing)
{
    const struct ty_plan_result *r = &p->answer->result[picked[which].result];
    struct ty_text words = {.data = NULL};
    char value[TY_PLAN_VALUE];
    for (uint32_t k = 0; k < TY_PLAN_N_AXES; k++) {
        const struct ty_plan_axis *axis = &r->space.axis[k];
        const bool told = axis->searched && k != TY_PLAN_DATA && ty_plan_key_applies(&r->space, k);
        if (told && (n == 1 || differs(picked, n, k)) == differing) {
            ty_text_add(&words, "%s%s %s", words.len > 0 ? ", " : "",
                        k == TY_PLAN_SCHEDULE ? "schedule" : axis->key,
                        ty_plan_key_value(&r->space, &picked[which].row->point, k, value));
        }
    }
    return ty_text_take(&words);
}

/* Writes text as lines broken after commas. Returns how many. */
static uint32_t put_lines(struct plot *p, double y, const char *text)
{
    uint32_t n = 0;
    while (text != NULL && *text != '\0') {
        size_t end = strlen(text);
        if (end > LETTERS) {
            for (end = LETTERS; end > 1 && text[end - 1] != ','; end--) {}
        }
        ty_text_add(p->out, "<text x=\"%.1f\" y=\"%.1f\">", LEFT + 290, y + LINE * n);
        struct ty_text line = {.data = NULL};
        ty_text_bytes(&line, text, end);
        ty_svg_put_escaped(p->out, line.failed ? "" : line.data);
        p->out->failed = p->out->failed || line.failed;
        ty_text_release(&line);
        ty_text_add(p->out, "</text>\n");
        text += end;
        text += *text == ' ';
        n++;
    }
    return n;
}

/* Writes a layout's line or lines. Returns y of the next one. */
static double put_line(struct plot *p, const struct numbered *picked, uint32_t n, uint32_t i,
                       double y)
{
    const struct ty_plan_row *row = picked[i].row;
    const struct ty_plan_result *r = &p->answer->result[picked[i].result];
    char word[WORD], *layout = layout_words(p, picked, n, i, true);
    put_mark(p, picked[i].result, LEFT - 52, y - 4, true);
    (void)ty_snprintf(word, sizeof(word), "%u", (unsigned)(i + 1));
    ty_axes_text(p->out, LEFT - 20, y, "end", word);
    ty_axes_text(p->out, x_of(p, row) + 8, y_of(p, row->peak_B) - 6, "start", word);
    (void)ty_snprintf(word, sizeof(word), "%u", (unsigned)ty_plan_gpus(&r->space));
    ty_axes_text(p->out, LEFT + 30, y, "end", word);
    ty_axes_text(p->out, LEFT + 110, y, "end", ty_words_seconds(row->step_s, word, sizeof(word)));
    ty_axes_text(p->out, LEFT + 180, y, "end", ty_words_share(row->mfu, word, sizeof(word)));
    ty_axes_text(p->out, LEFT + 270, y, "end", ty_words_bytes(row->peak_B, word, sizeof(word)));
    const uint32_t lines = put_lines(p, y, layout);
    p->out->failed = p->out->failed || layout == NULL;
    free(layout);
    return y + LINE * (lines > 0 ? lines : 1);
}

/* Writes the table. Returns y of its end. */
static double put_table(struct plot *p)
{
    static const struct {
        double x;
        const char *head;
    } heads[] = {{30, "GPUs"}, {110, "step"}, {180, "MFU"}, {270, "memory"}, {332, "layout"}};
    struct numbered picked[NUMBERED];
    const uint32_t n = pick(p, picked);
    char *all = layout_words(p, picked, n, 0, false);
    double y = TABLE + LINE;
    for (size_t i = 0; i < TY_COUNT(heads); i++) {
        ty_axes_text(p->out, LEFT + heads[i].x, TABLE, "end", heads[i].head);
    }
    for (uint32_t i = 0; i < n; i++) {
        y = put_line(p, picked, n, i, y);
    }
    if (all != NULL && all[0] != '\0') {
        ty_axes_text(p->out, LEFT + 270, y, "end", "all of them");
        y += LINE * put_lines(p, y, all);
    }
    p->out->failed = p->out->failed || all == NULL;
    free(all);
    return y;
}

/* ---- the picture ---- */

static void ranges(struct plot *p, double *capacity_B)
{
    const struct ty_plan_answer *a = p->answer;
    double fast = INFINITY, slow = 0, peak = 0;
    *capacity_B = 0;
    for (uint32_t i = 0; i < a->n_results; i++) {
        const struct ty_plan_result *r = &a->result[i];
        for (uint32_t k = 0; k < r->n_rows + r->n_pareto; k++) {
            const struct ty_plan_row *row = k < r->n_rows ? &r->row[k] : &r->pareto[k - r->n_rows];
            fast = fmin(fast, row->step_s);
            slow = fmax(slow, row->step_s);
            peak = fmax(peak, row->peak_B);
            *capacity_B = fmax(*capacity_B, row->capacity_B);
        }
    }
    p->unit_s = slow < 1 ? 1e-3 : 1;
    p->x = ty_scale_linear(fast / p->unit_s, slow / p->unit_s, LEFT, RIGHT);
    p->y = ty_scale_linear(0, fmax(peak, *capacity_B) / GIB, BOTTOM, TOP);
}

static void put_title(struct plot *p)
{
    const struct ty_config *base = p->answer->result[0].base;
    char digest[TY_DIGEST_TEXT];
    ty_text_add(p->out, "<text x=\"%.1f\" y=\"30\" font-size=\"18\" font-weight=\"bold\">", 24.0);
    ty_svg_put_escaped(p->out, base->arch.name != NULL ? base->arch.name : "A model");
    ty_text_add(p->out, ": layouts that no other beats in both time and memory%s</text>\n",
                p->answer->exact ? "" : " (as far as was searched)");
    ty_text_add(p->out,
                "<text x=\"24\" y=\"50\" fill=\"#555\">filled: such a layout; hollow: the fastest "
                "others. trainyard %s, configuration %s</text>\n",
                ty_version(), ty_config_digest_text(base, digest));
    for (uint32_t i = 0; i < p->answer->n_results; i++) {
        char word[WORD];
        const struct ty_plan_result *r = &p->answer->result[i];
        (void)ty_snprintf(word, sizeof(word), "%u GPUs%s%s", (unsigned)ty_plan_gpus(&r->space),
                          r->set != NULL ? ", " : "",
                          r->set != NULL ? strchr(r->set, '=') + 1 : "");
        put_mark(p, i, LEFT + 8 + 120 * i, 72, true);
        ty_axes_text(p->out, LEFT + 18 + 120 * i, 76, "start", word);
    }
}

/* Appends a picture: the layouts of each number of GPUs that no other beats in time and memory, the
 * best rows, the memory that a GPU has, and a table of those that are numbered. */
static void plan_svg(struct ty_text *out, const struct ty_plan_answer *answer)
{
    struct ty_text table = {.data = NULL};
    struct plot p = {.answer = answer, .out = &table};
    double capacity_B = 0, end = TOP;
    if (answer->n_pareto > 0) { /* the picture is as high as its lines need */
        ranges(&p, &capacity_B);
        end = put_table(&p);
    }
    p.out = out;
    ty_axes_begin(out, WIDTH, end);
    put_title(&p);
    if (answer->n_pareto == 0) {
        ty_axes_text(out, WIDTH / 2, TOP - 12, "middle", "no layout fits");
    } else {
        put_axes(&p, capacity_B);
        for (uint32_t i = 0; i < answer->n_results; i++) {
            put_result(&p, i);
        }
        ty_text_bytes(out, table.data, table.len);
    }
    ty_text_add(out, "</svg>\n");
    out->failed = out->failed || table.failed;
    ty_text_release(&table);
}

/* Appends a page of the same answer: HTML that needs no other file. */
static void plan_page(struct ty_text *out, const struct ty_plan_answer *answer)
{
    const char *model = answer->result[0].base->arch.name;
    struct ty_text table = {.data = NULL};
    struct ty_json j = ty_json_to_text(out);
    j.also = "<>&";
    ty_plan_table(answer, &table);
    ty_text_bytes(out, (const char *)ty_plan_page_head, ty_plan_page_head_len);
    ty_json_object(&j, NULL);
    ty_json_text(&j, "model", model != NULL ? model : "");
    ty_json_text(&j, "text", table.len > 0 ? table.data : "");
    put_answer(&j, "plan", answer, false);
    ty_json_end(&j);
    ty_text_bytes(out, (const char *)ty_plan_page_tail, ty_plan_page_tail_len);
    out->failed = out->failed || table.failed;
    ty_text_release(&table);
}

static int check_form(const char *stats, struct ty_err *err)
{
    return stats == NULL || strcmp(stats, "table") == 0 || strcmp(stats, "json") == 0
               ? 0
               : ty_fail(err, TY_EUSAGE, "--stats %.40s: write table or json", stats);
}

/* Writes the best layout as a run file. */
static int emit(const struct ty_plan_answer *answer, struct ty_text *t, struct ty_err *err)
{
    return answer->result[answer->best].n_rows > 0
               ? ty_plan_continue(answer, t, err)
               : ty_fail(err, TY_EIO, "interrupted before a layout was simulated: --emit has none");
}

static int check_emit(const struct ty_plan_options *options, struct ty_err *err)
{
    if (options->emit != NULL && options->stats != NULL) {
        return ty_fail(err, TY_EUSAGE,
                       "--emit prints a layout in place of a report; leave --stats out");
    }
    return options->emit == NULL || strcmp(options->emit, "yaml") == 0
               ? 0
               : ty_fail(err, TY_EUSAGE, "emit: a run file is all that is emitted; write yaml");
}

static int write_text(struct ty_text *t, const char *folder, const char *name, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    const char *path = ty_arena_printf(&arena, "%s/%s", folder, name);
    char *text = ty_text_take(t);
    const int rc =
        path == NULL || text == NULL ? ty_fail_memory(err) : ty_text_write(text, path, err);
    ty_text_free(text);
    ty_arena_release(&arena);
    return rc;
}

/* Writes the files of the folder. An interrupted search writes none: --resume finds its rows. */
static int write_folder(const struct ty_plan_answer *answer, const struct ty_plan_options *options,
                        struct ty_err *err)
{
    struct ty_text json = {.data = NULL}, best = {.data = NULL}, svg = {.data = NULL},
                   page = {.data = NULL};
    if (options->folder == NULL || !answer->exact) {
        return 0;
    }
    plan_json(answer, false, &json);
    int rc = write_text(&json, options->folder, "plan.json", err);
    if (rc == 0) {
        rc = ty_plan_continue(answer, &best, err);
    }
    if (rc == 0) {
        rc = write_text(&best, options->folder, "best.yaml", err);
    }
    if (rc == 0) {
        plan_svg(&svg, answer);
        rc = write_text(&svg, options->folder, "pareto.svg", err);
    }
    if (rc == 0) {
        plan_page(&page, answer);
        rc = write_text(&page, options->folder, "plan.html", err);
    }
    ty_text_release(&best);
    return rc;
}

/* Writes the report in the form that the options ask for. */
static int tell(const struct ty_plan_answer *answer, const struct ty_plan_options *options,
                struct ty_text *t, struct ty_err *err)
{
    if (options->emit != NULL) {
        return emit(answer, t, err);
    }
    if (options->stats != NULL && strcmp(options->stats, "json") == 0) {
        plan_json(answer, true, t);
    } else {
        ty_plan_table(answer, t);
    }
    return 0;
}

int ty_plan(const struct ty_plan_options *options, char **report, struct ty_err *err)
{
    struct ty_plan_answer answer = {.n_results = 0};
    struct ty_text t = {.data = NULL};
    *report = NULL;
    int rc = check_form(options->stats, err);
    rc = rc < 0 ? rc : check_emit(options, err);
    rc = rc < 0 ? rc : ty_plan_find(&answer, options, err);
    if (rc == 0 && ty_crew_leads(options->crew)) {
        rc = write_folder(&answer, options, err);
        rc = rc < 0 ? rc : tell(&answer, options, &t, err);
    }
    ty_plan_answer_release(&answer);
    *report = rc == 0 ? ty_text_take(&t) : NULL;
    ty_text_release(&t);
    return rc == 0 && *report == NULL ? ty_fail_memory(err) : rc;
}
