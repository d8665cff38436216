/* state.c - what `trainyard schedule` was asked for, as the address of a classroom's page. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/text.h"
#include "sim/cli_api.h"
#include "sim/document/json.h"
#include "sim/schedule/run.h"

/* ---- pairs ---- */

/* As a page reads it: "+" is a space there, "%" begins a number, ";" ends a line. */
static void put(struct ty_text *t, const char *key, const char *value)
{
    ty_text_add(t, "%s%s=", t->len > 0 ? "&" : "", key);
    for (const char *c = value; *c != '\0'; c++) {
        const bool plain = isalnum((unsigned char)*c) || strchr("-_.~=,:;|^()/", *c) != NULL;
        if (plain || *c == ' ') {
            ty_text_bytes(t, plain ? c : "+", 1);
        } else if (*c != '\n') {
            ty_text_add(t, "%%%02X", (unsigned char)*c);
        } else if (c[1] != '\0') {
            ty_text_bytes(t, ";", 1);
        }
    }
}

static void put_number(struct ty_text *t, const char *key, uint32_t value)
{
    if (value > 0) {
        ty_text_add(t, "%s%s=%u", t->len > 0 ? "&" : "", key, (unsigned)value);
    }
}

/* ---- names ---- */

struct names {
    struct ty_text known;       /* ",1f1b,zb-v" */
    const struct ty_sched *top; /* the first of these */
    char *own;                  /* path of an order of the user's own; NULL: none */
    uint32_t n_own;
};

static int read_names(struct names *names, const char *list, bool many, struct ty_err *err)
{
    for (const char *at = list; at != NULL;) {
        const size_t n = many ? strcspn(at, ",") : strlen(at);
        char *name = strndup(at, n);
        const struct ty_sched *sched = name != NULL ? ty_sched_find(name) : NULL;
        at = at[n] == ',' ? at + n + 1 : NULL;
        if (name == NULL) {
            return ty_fail_memory(err);
        }
        if (sched != NULL) {
            names->top = names->top != NULL ? names->top : sched;
            ty_text_add(&names->known, ",%s", sched->name);
            free(name);
        } else {
            free(names->own);
            names->own = name;
            names->n_own++;
        }
    }
    return names->n_own < 2 ? 0
                            : ty_fail(err, TY_EUSAGE,
                                      "--compare %s: a page shows one order of your own, beside "
                                      "schedules by name; name one file, or write --format svg",
                                      list);
}

/* The order of the user's own comes first: the page draws it, and others next to it. It goes by the
 * last part of its path. */
static void put_names(struct ty_text *t, const struct names *names)
{
    struct ty_text all = {.data = NULL};
    const char *slash = names->own != NULL ? strrchr(names->own, '/') : NULL;
    for (const char *c = slash != NULL ? slash + 1 : names->own; c != NULL && *c != '\0'; c++) {
        ty_text_bytes(&all, *c == ',' ? "_" : c, 1);
    }
    ty_text_add(&all, "%s", names->known.data != NULL ? names->known.data : "");
    put(t, "schedule", all.data != NULL ? all.data + (all.data[0] == ',') : "");
    t->failed = t->failed || all.failed || names->known.failed;
    ty_text_release(&all);
}

static int put_order(struct ty_text *t, const struct ty_schedule_options *o, const char *own,
                     struct ty_err *err)
{
    const struct ty_schedule_options asked = {.name = own, .text = o->text, .format = "slots"};
    char *slots = NULL;
    const int rc = ty_schedule_show(&asked, &slots, err);
    if (rc == 0) {
        put(t, "slots", slots);
    }
    ty_text_free(slots);
    return rc;
}

/* ---- durations ---- */

/* Those of a comparison are of whole stages and of parts of the model; those of a page belong to
 * virtual stages of the schedule that is drawn first. */
static int put_shared(struct ty_text *t, const struct ty_schedule_options *o,
                      const struct ty_sched *top, struct ty_err *err)
{
    const uint32_t v = ty_sched_chunks_of(top, top->chunks > 0 ? 0 : o->chunks);
    const uint32_t slices = ty_sched_slices_of(top, top->sliced ? o->slices : 0);
    const double pieces = (double)v * slices;
    struct ty_text values = {.data = NULL};
    struct ty_arena arena = {.head = NULL};
    struct ty_sched_times times;
    double *factors = NULL;
    char f[TY_JSON_NUMBER], b[TY_JSON_NUMBER], i[TY_JSON_NUMBER], w[TY_JSON_NUMBER];
    int rc = ty_sched_times_read("--times", o->times, &times, err);
    if (rc == 0 && o->stages != NULL) {
        rc = ty_sched_factors_read("--stages", o->stages, o->pipeline * v, true, &arena, &factors,
                                   err);
    }
    if (rc == 0) {
        ty_text_add(&values, "F=%s,B=%s,I=%s,W=%s", ty_json_number(times.forward / pieces, f),
                    ty_json_number(times.backward / pieces, b),
                    ty_json_number(times.input / pieces, i),
                    ty_json_number(times.weight / pieces, w));
        if (times.overlap >= 0) {
            ty_text_add(&values, ",FB=%s", ty_json_number(times.overlap / pieces, f));
        }
        ty_text_add(&values, ",C=%s", ty_json_number(times.edge, f));
        put(t, "times", values.data != NULL ? values.data : "");
    }
    for (uint32_t k = 0; factors != NULL && k < o->pipeline * v; k++) {
        ty_text_add(t, "%s%s", k == 0 ? "&stages=" : ",", ty_json_number(factors[k], f));
    }
    t->failed = t->failed || values.failed;
    ty_text_release(&values);
    ty_arena_release(&arena);
    return rc;
}

static int put_durations(struct ty_text *t, const struct ty_schedule_options *o,
                         const struct ty_sched *shared, struct ty_err *err)
{
    if (shared != NULL && (o->times != NULL || o->stages != NULL || shared->chunks > 1 ||
                           shared->auto_chunks > 1 || shared->auto_slices > 1)) {
        return put_shared(t, o, shared, err);
    }
    if (o->times != NULL) {
        put(t, "times", o->times);
    }
    if (o->stages != NULL) {
        put(t, "stages", o->stages);
    }
    return 0;
}

int ty_schedule_state(const struct ty_schedule_options *o, bool many, char **state,
                      struct ty_err *err)
{
    struct ty_text t = {.data = NULL};
    struct names names = {.own = NULL};
    *state = NULL;
    int rc = read_names(&names, o->name, many, err);
    if (rc == 0) {
        put_names(&t, &names);
        put_number(&t, "p", o->pipeline);
        put_number(&t, "m", o->micro_batches);
        put_number(&t, "v", o->chunks);
        put_number(&t, "group", o->group);
        put_number(&t, "slices", o->slices);
        rc = put_durations(&t, o, many && names.own == NULL ? names.top : NULL, err);
    }
    if (rc == 0 && names.own != NULL) {
        rc = put_order(&t, o, names.own, err);
    }
    if (rc == 0) {
        *state = ty_text_take(&t);
        rc = *state != NULL ? 0 : ty_fail_memory(err);
    }
    free(names.own);
    ty_text_release(&names.known);
    ty_text_release(&t);
    return rc;
}
