/* compare.c - `trainyard schedule --compare`: several schedules of the same work, one clock.
 *
 * The times are those of a whole stage. A schedule with v chunks per rank, or q slices of a
 * sequence, works in pieces of 1/v or 1/q of that, and holds pieces; both are put back into stages
 * and micro-batches here, so that columns compare. */
#include <stdio.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/document/json.h"
#include "sim/schedule/run.h"
#include "traces/view/gantt.h"

#define COMPARE_MAX 32u
#define COLUMN      16

struct comparison {
    struct ty_sched_run run[COMPARE_MAX];
    struct ty_sched_summary summary[COMPARE_MAX];
    double pieces[COMPARE_MAX]; /* parts that a stage's pass is cut into */
    uint32_t n;
    ty_ps longest;
};

static int add(struct comparison *c, const struct ty_schedule_options *o, const char *name,
               struct ty_err *err)
{
    if (c->n == COMPARE_MAX) {
        return ty_fail(err, TY_EUSAGE, "--compare: more than %u schedules; name fewer",
                       COMPARE_MAX);
    }
    const int rc = ty_sched_run_shared(&c->run[c->n], o, name, &c->pieces[c->n], err);
    c->n++; /* counted in any case: it has to be released */
    if (rc < 0) {
        return rc;
    }
    const ty_ps makespan = c->run[c->n - 1].timeline.makespan;
    c->longest = makespan > c->longest ? makespan : c->longest;
    ty_sched_summarise(&c->run[c->n - 1], &c->summary[c->n - 1]);
    return 0;
}

static int add_all(struct comparison *c, const struct ty_schedule_options *o, struct ty_err *err)
{
    const char *at = o->name;
    while (at != NULL) {
        const char *comma = strchr(at, ',');
        const size_t n = comma != NULL ? (size_t)(comma - at) : strlen(at);
        char name[64];
        snprintf(name, sizeof(name), "%.*s", (int)(n < sizeof(name) ? n : sizeof(name) - 1), at);
        const int rc = add(c, o, name, err);
        if (rc < 0) {
            return rc;
        }
        at = comma != NULL ? comma + 1 : NULL;
    }
    return 0;
}

static void cell(struct ty_text *t, uint32_t column, double value)
{
    char buf[32];
    ty_text_pad(t, COLUMN + 12 * (size_t)column);
    ty_snprintf(buf, sizeof(buf), "%.7g", value);
    ty_text_add(t, "%s", buf);
}

static void write_row(const struct comparison *c, uint32_t i, struct ty_text *t)
{
    const struct ty_sched_summary *s = &c->summary[i];
    char share[32];
    ty_text_add(t, "%s", c->run[i].name);
    cell(t, 0, s->makespan);
    cell(t, 1, s->max_rank_span);
    ty_snprintf(share, sizeof(share), "%.2f %%", 100 * s->bubble_fraction);
    ty_text_pad(t, COLUMN + 24);
    ty_text_add(t, "%s", share);
    cell(t, 3, s->peak_input / c->pieces[i]);
    cell(t, 4, s->peak_weight / c->pieces[i]);
    cell(t, 5, s->weight_copies);
    cell(t, 6, (double)s->messages);
    ty_text_add(t, "\n");
}

static void write_table(const struct comparison *c, struct ty_text *t)
{
    static const char *const heads[] = {"makespan",  "rank span", "bubble",  "held to I",
                                        "held to W", "weights x", "messages"};
    const struct ty_sched_run *first = &c->run[0];
    const double scale = c->pieces[0];
    char f[TY_JSON_NUMBER], in[TY_JSON_NUMBER], w[TY_JSON_NUMBER], e[TY_JSON_NUMBER];
    ty_text_add(
        t,
        "%u stage%s, %u micro-batch%s; per stage and micro-batch tF = %s, tI = %s, tW = %s; "
        "message delay %s\n\n",
        (unsigned)first->shape.p, first->shape.p == 1 ? "" : "s", (unsigned)first->shape.m,
        first->shape.m == 1 ? "" : "es", ty_json_number(first->times.forward * scale, f),
        ty_json_number(first->times.input * scale, in),
        ty_json_number(first->times.weight * scale, w), ty_json_number(first->times.edge, e));
    ty_text_add(t, "schedule");
    for (uint32_t k = 0; k < TY_COUNT(heads); k++) {
        ty_text_pad(t, COLUMN + 12 * (size_t)k);
        ty_text_add(t, "%s", heads[k]);
    }
    ty_text_add(t, "\n");
    for (uint32_t i = 0; i < c->n; i++) {
        write_row(c, i, t);
    }
    ty_text_add(t, "\nheld: most micro-batches whose activations a rank holds when they are freed "
                   "after the\ninput gradient, and after the weight gradient\n");
}

/* The table as JSON. */
static void write_json(const struct comparison *c, struct ty_text *t)
{
    struct ty_json j = ty_json_to_text(t);
    ty_json_object(&j, NULL);
    ty_json_array(&j, "schedules");
    ty_json_lines(&j);
    for (uint32_t i = 0; i < c->n; i++) {
        const struct ty_sched_summary *s = &c->summary[i];
        ty_json_object(&j, NULL);
        ty_json_text(&j, "schedule", c->run[i].name);
        ty_json_real(&j, "makespan", s->makespan);
        ty_json_real(&j, "max_rank_span", s->max_rank_span);
        ty_json_real(&j, "bubble_fraction", s->bubble_fraction);
        ty_json_real(&j, "held_I", s->peak_input / c->pieces[i]);
        ty_json_real(&j, "held_W", s->peak_weight / c->pieces[i]);
        ty_json_whole(&j, "weight_copies", s->weight_copies);
        ty_json_whole(&j, "messages", s->messages);
        ty_json_end(&j);
    }
    ty_json_end(&j);
    ty_json_end(&j);
    ty_text_add(t, "\n");
}

static int write_charts(const struct comparison *c, uint32_t width, struct ty_text *t,
                        struct ty_err *err)
{
    for (uint32_t i = 0; i < c->n; i++) {
        const struct ty_gantt options = {
            .width = width, .unit = TY_SCHED_UNIT_PS, .to = c->longest, .bare = true};
        ty_text_add(t, "\n%s\n", c->run[i].name);
        const int rc = ty_gantt(&c->run[i].timeline, &options, t, err);
        if (rc < 0) {
            return rc;
        }
    }
    ty_text_add(t, "\nF forward, B backward, I and W its parts; lower case: other chunk or "
                   "direction\n");
    return 0;
}

static int write_svg(const struct comparison *c, const struct ty_schedule_options *options,
                     struct ty_text *t, struct ty_err *err)
{
    const struct ty_sched_run *runs[COMPARE_MAX];
    for (uint32_t i = 0; i < c->n; i++) {
        runs[i] = &c->run[i];
    }
    return ty_sched_svg(runs, c->n, options, t, err);
}

int ty_schedule_compare(const struct ty_schedule_options *options, char **text, struct ty_err *err)
{
    struct comparison c = {.n = 0};
    struct ty_text t = {.data = NULL};
    *text = NULL;
    const bool svg = options->format != NULL && strcmp(options->format, "svg") == 0;
    const bool json = options->format != NULL && strcmp(options->format, "json") == 0;
    int rc = options->format == NULL || svg || json
                 ? add_all(&c, options, err)
                 : ty_fail(err, TY_EUSAGE,
                           "--format %s: a comparison has charts and a table only; write svg or "
                           "json, or leave it out",
                           options->format);
    if (rc == 0 && svg) {
        rc = write_svg(&c, options, &t, err);
    } else if (rc == 0 && json) {
        write_json(&c, &t);
    } else if (rc == 0) {
        write_table(&c, &t);
        rc = write_charts(&c, options->width, &t, err);
    }
    if (rc == 0) {
        *text = ty_text_take(&t);
        rc = *text != NULL ? 0 : ty_fail_memory(err);
    }
    for (uint32_t i = 0; i < c.n; i++) {
        ty_sched_run_release(&c.run[i]);
    }
    ty_text_release(&t);
    return rc;
}
