/* flags.c - see flags.h. */
#include "sim/import/flags.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/base/number_text.h"

/* ---- as they come ---- */

/* Room for one more of an array of the arena. */
static void *grown(struct ty_draft *d, const void *items, uint32_t n, uint32_t *cap, size_t size)
{
    const uint32_t more = *cap > 0 ? 2 * *cap : 4;
    void *array = ty_arena_alloc(d->arena, more, size);
    if (array == NULL) {
        d->code = d->code < 0 ? d->code : ty_fail_memory(d->err);
        return NULL;
    }
    if (n > 0) {
        memcpy(array, items, n * size);
    }
    *cap = more;
    return array;
}

const char *ty_flags_bare(struct ty_draft *d, const char *text)
{
    const size_t n = strlen(text);
    if (n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n - 1] == text[0]) {
        return ty_draft_text(d, "%.*s", (int)(n - 2), text + 1);
    }
    return text;
}

void ty_flags_put(struct ty_flags *flags, const char *name, const struct ty_draft_from *from,
                  const char *doubt)
{
    if (flags->n == flags->cap) {
        struct ty_flag *more =
            grown(flags->draft, flags->item, flags->n, &flags->cap, sizeof(*more));
        if (more == NULL) {
            return;
        }
        flags->item = more;
    }
    flags->item[flags->n++] = (struct ty_flag){.name = name, .from = *from, .doubt = doubt};
}

void ty_flags_add(struct ty_flags *flags, const char *word, const struct ty_place *at,
                  const char *doubt)
{
    struct ty_draft *d = flags->draft;
    const char *equals = strchr(word, '=');
    const int n = (int)(equals != NULL ? (size_t)(equals - word) : strlen(word));
    char *name = ty_arena_strndup(d->arena, word, (size_t)n);
    if (name == NULL) {
        d->code = d->code < 0 ? d->code : ty_fail_memory(d->err);
        return;
    }
    const char *written = ty_draft_text(d, "%.*s", n, word);
    for (char *c = name + 2 * (n > 2); *c != '\0'; c++) {
        *c = *c == '_' ? '-' : *c;
    }
    const struct ty_draft_from from = {.word = written, .at = *at};
    const uint32_t before = flags->n;
    ty_flags_put(flags, name, &from, doubt);
    if (equals != NULL && flags->n > before) {
        ty_flags_value(flags, equals + 1, doubt);
        flags->item[flags->n - 1].doubt = NULL;
    }
}

void ty_flags_value(struct ty_flags *flags, const char *text, const char *doubt)
{
    struct ty_draft *d = flags->draft;
    struct ty_flag *flag = &flags->item[flags->n - 1];
    if (flag->n_values == flag->cap_values) {
        struct ty_flag_value *more =
            grown(d, flag->values, flag->n_values, &flag->cap_values, sizeof(*more));
        if (more == NULL) {
            return;
        }
        flag->values = more;
    }
    flag->values[flag->n_values++] =
        (struct ty_flag_value){.text = ty_flags_bare(d, text), .doubt = doubt};
}

/* ---- looked up ---- */

const struct ty_flag *ty_flags_find(const struct ty_flags *flags, const char *name)
{
    for (uint32_t i = flags->n; i > 0; i--) {
        if (strcmp(flags->item[i - 1].name, name) == 0) {
            return &flags->item[i - 1];
        }
    }
    return NULL;
}

const struct ty_flag *ty_flags_get(struct ty_flags *flags, const char *name)
{
    const struct ty_flag *flag = ty_flags_find(flags, name);
    if (flag != NULL && flag->doubt != NULL) {
        ty_draft_refuse(flags->draft, &flag->from, "whether it is given is not known: %s",
                        flag->doubt);
        return NULL;
    }
    return flag;
}

bool ty_flags_has(struct ty_flags *flags, const char *name)
{
    return ty_flags_get(flags, name) != NULL;
}

const char *ty_flags_text(struct ty_flags *flags, const char *name, const char *otherwise)
{
    const struct ty_flag *flag = ty_flags_get(flags, name);
    if (flag == NULL) {
        return otherwise;
    }
    if (flag->n_values == 0) {
        ty_draft_refuse(flags->draft, &flag->from, "it has no value; write one behind it");
        return otherwise;
    }
    if (flag->values[0].doubt != NULL) {
        ty_draft_refuse(flags->draft, &flag->from, "its value is not known: %s",
                        flag->values[0].doubt);
        return otherwise;
    }
    return flag->values[0].text;
}

/* A number as Python reads it, 9_765_625; false: it is none. */
static bool number_of(const char *text, double *value)
{
    char digits[64];
    size_t n = 0;
    for (const char *c = text; *c != '\0' && n + 1 < sizeof(digits); c++) {
        if (*c != '_') {
            digits[n++] = *c;
        }
    }
    digits[n] = '\0';
    char *end;
    *value = ty_strtod(digits, &end);
    return n > 0 && *end == '\0' && isfinite(*value);
}

double ty_flags_real(struct ty_flags *flags, const char *name, double otherwise)
{
    const char *text = ty_flags_text(flags, name, NULL);
    double value;
    if (text == NULL) {
        return otherwise;
    }
    if (!number_of(text, &value)) {
        ty_draft_refuse(flags->draft, &ty_flags_find(flags, name)->from,
                        "'%s' is no number; write one", text);
        return otherwise;
    }
    return value;
}

uint32_t ty_flags_count(struct ty_flags *flags, const char *name, uint32_t otherwise)
{
    const double value = ty_flags_real(flags, name, otherwise);
    if (value >= 0 && value <= UINT32_MAX && floor(value) == value) {
        return (uint32_t)value;
    }
    ty_draft_refuse(flags->draft, &ty_flags_find(flags, name)->from,
                    "%s is no whole number; write one", ty_flags_find(flags, name)->values[0].text);
    return otherwise;
}

struct ty_draft_from ty_flags_from(const struct ty_flags *flags, const char *name, const char *rule)
{
    const struct ty_flag *flag = ty_flags_find(flags, name);
    return flag != NULL ? flag->from : (struct ty_draft_from){.word = rule};
}

void ty_flags_set_count(struct ty_flags *flags, const char *name, const char *key)
{
    const struct ty_flag *flag = ty_flags_get(flags, name);
    if (flag != NULL) {
        ty_draft_set(flags->draft, key, &flag->from, "%u",
                     (unsigned)ty_flags_count(flags, name, 0));
    }
}

/* ---- tables ---- */

const struct ty_flag_row *ty_flags_row(const struct ty_flag_row *rows, const char *name)
{
    for (; rows != NULL && rows->name != NULL; rows++) {
        const size_t n = strlen(rows->name);
        const bool begins = rows->name[n - 1] == '*' && strncmp(rows->name, name, n - 1) == 0;
        if (begins || strcmp(rows->name, name) == 0) {
            return rows;
        }
    }
    return NULL;
}

/* The values of a flag as they stood. */
static const char *values_of(struct ty_draft *d, const struct ty_flag *flag)
{
    const char *text = "";
    for (uint32_t i = 0; i < flag->n_values; i++) {
        text = ty_draft_text(d, "%s%s%s", text, i > 0 ? " " : "", flag->values[i].text);
    }
    return text;
}

/* Whether a word says that nothing of the kind is done. */
static bool is_off(const struct ty_flag *flag)
{
    static const char *const off[] = {"false", "no", "none", "0"};
    bool said = false;
    for (size_t i = 0; flag->n_values == 1 && i < TY_COUNT(off); i++) {
        said = said || strcasecmp(flag->values[0].text, off[i]) == 0;
    }
    return said;
}

static void apply(struct ty_flags *flags, const struct ty_flag *flag, const struct ty_flag_row *row)
{
    struct ty_draft *d = flags->draft;
    switch (row->use) {
    case TY_FLAG_TAKEN:
        return;
    case TY_FLAG_IDLE:
        ty_draft_idle(d, &flag->from);
        return;
    case TY_FLAG_NO_KEY:
        if (is_off(flag)) {
            ty_draft_idle(d, &flag->from);
            return;
        }
        ty_draft_remark(d, &flag->from, "%s%s%s", values_of(d, flag),
                        flag->n_values > 0 ? ": " : "", row->note);
        return;
    case TY_FLAG_KEY:
        break;
    }
    if (flag != ty_flags_find(flags, flag->name)) {
        return; /* another one of its name comes later */
    }
    const char *value = row->value;
    if (value != NULL ? ty_flags_has(flags, flag->name)
                      : (value = ty_flags_text(flags, flag->name, NULL)) != NULL) {
        ty_draft_set(d, row->key, &flag->from, "%s", value);
        if (row->note != NULL) {
            ty_draft_explain(d, row->key, "%s", row->note);
        }
    }
}

void ty_flags_apply(struct ty_flags *flags, const struct ty_flag_row *rows,
                    const struct ty_flag_row *more)
{
    for (uint32_t i = 0; i < flags->n; i++) {
        const struct ty_flag *flag = &flags->item[i];
        const struct ty_flag_row *row = ty_flags_row(rows, flag->name);
        row = row != NULL ? row : ty_flags_row(more, flag->name);
        if (row != NULL) {
            apply(flags, flag, row);
        } else {
            ty_draft_unknown(flags->draft, &flag->from, values_of(flags->draft, flag));
        }
    }
}
