/* fleet_causes.c - the lines of fleet.failures: a cause, its rate, what it takes to go on.
 *
 *     line = NAME.. RATE ["detect" TIME] ["replace" TIME] ["healed"]
 *
 * RATE: failures in 1000 days of one node. NAME may have blanks, and no word that begins with a
 * digit. */
#include <stdio.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/config/fleet.h"

#define EXAMPLE    "\"gpu 1.34 detect 10 s\" or \"maintenance 0.29 detect 1 min replace 5 min\""
#define CAUSES_MAX 64u
#define TEXT_MAX   64u

struct line {
    const char *text, *rest;
    struct ty_place at;
    struct ty_err *err;
};

static int wrong(const struct line *l, const char *what)
{
    return ty_fail_at(l->err, TY_EINPUT, &l->at, "fleet.failures: %s (%.60s); write %s", what,
                      l->text, EXAMPLE);
}

/* A number and its unit, up to the second blank. */
static int take_time(struct line *l, double *out)
{
    char text[TEXT_MAX], why[160];
    ty_text_skip_blanks(&l->rest);
    size_t n = strcspn(l->rest, " ");
    n += strspn(l->rest + n, " ");
    n += strcspn(l->rest + n, " ");
    (void)snprintf(text, sizeof(text), "%.*s", (int)n, l->rest);
    if (ty_quantity_parse(text, TY_DIM_SECONDS, out, why, sizeof(why)) != 0) {
        return ty_fail_at(l->err, TY_EINPUT, &l->at, "fleet.failures: %s; write %s", why, EXAMPLE);
    }
    l->rest += n;
    return *out < 0 ? wrong(l, "a time below 0") : 0;
}

/* The name, up to the first word that begins with a digit, and the rate. */
static int take_rate(struct line *l, struct ty_fleet_cause *cause, struct ty_arena *arena)
{
    ty_text_skip_blanks(&l->rest);
    const char *name = l->rest;
    while (*l->rest != '\0' && (*l->rest < '0' || *l->rest > '9')) {
        l->rest += strcspn(l->rest, " ");
        ty_text_skip_blanks(&l->rest);
    }
    size_t n = (size_t)(l->rest - name);
    name = ty_text_trim(name, &n);
    if (n == 0) {
        return wrong(l, "no cause before the rate");
    }
    char *end;
    cause->per_1000_node_days = ty_strtod(l->rest, &end);
    if (end == l->rest || (*end != '\0' && *end != ' ') || !(cause->per_1000_node_days < 1e6)) {
        return wrong(l, "no rate behind the cause");
    }
    l->rest = end;
    cause->name = ty_arena_strndup(arena, name, n);
    return cause->name == NULL ? ty_fail_memory(l->err) : 0;
}

static int read_line(struct line *l, struct ty_fleet_cause *cause, struct ty_arena *arena)
{
    int rc = take_rate(l, cause, arena);
    if (rc == 0 && ty_text_take_word(&l->rest, "detect")) {
        rc = take_time(l, &cause->detect_s);
    }
    if (rc == 0 && ty_text_take_word(&l->rest, "replace")) {
        rc = take_time(l, &cause->replace_s);
    }
    cause->drained = !ty_text_take_word(&l->rest, "healed");
    ty_text_skip_blanks(&l->rest);
    return rc == 0 && *l->rest != '\0' ? wrong(l, "a word too many") : rc;
}

int ty_fleet_check(struct ty_fleet_options *fleet, const struct ty_section *section,
                   struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_string_list *lines = &fleet->failures;
    struct ty_place at = ty_section_place(section, "failures");
    if (lines->n > CAUSES_MAX) {
        return ty_fail_at(err, TY_EINPUT, &at, "fleet.failures: %u lines; give %u at most",
                          (unsigned)lines->n, CAUSES_MAX);
    }
    struct ty_fleet_cause *cause = ty_arena_array(arena, struct ty_fleet_cause, lines->n + 1);
    if (cause == NULL) {
        return ty_fail_memory(err);
    }
    int code = 0;
    for (uint32_t i = 0; i < lines->n; i++) {
        at.line = lines->at[i].line;
        at.col = lines->at[i].col;
        cause[i] =
            (struct ty_fleet_cause){.detect_s = fleet->detect_s, .replace_s = fleet->replace_s};
        struct line l = {.text = lines->item[i], .rest = lines->item[i], .at = at, .err = err};
        const int rc = read_line(&l, &cause[i], arena);
        code = code < 0 ? code : rc;
    }
    const struct ty_field *rate = ty_section_field(section, "failures_per_1000_node_days");
    if (lines->n > 0 && ty_field_origin(section, rate)->kind > TY_ORIGIN_DEFAULT) {
        at = ty_section_place(section, "failures_per_1000_node_days");
        code = ty_fail_at(err, TY_EINPUT, &at,
                          "fleet.failures_per_1000_node_days: given beside fleet.failures, whose "
                          "rates add up to it; take one of them away");
    }
    fleet->cause = cause;
    fleet->n_causes = code == 0 ? lines->n : 0;
    return code;
}
