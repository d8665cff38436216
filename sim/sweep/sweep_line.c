/* sweep_line.c - writes the figures of a row as cells of CSV, and reads them back.
 *
 * ",1.5,0.4,0.5,9e5,0.1,7e10,1,fsdp,\n": six numbers, whether it fits, the stack, an empty error.
 * ",,,,,,,,,message\n": nothing but the error. */
#include "sim/sweep/sweep_line.h"

#include <assert.h>
#include <string.h>

#include "model/framework.h"
#include "sim/base/number_text.h"
#include "sim/document/json.h"

#define OTHERS 3u /* fits, framework, error */

struct columns {
    const struct ty_figure_row *row[TY_FIGURES_MAX];
    uint32_t n_plain, n; /* `fits` and `framework` stand between those and what is asked for */
};

/* `fleet`: with what a fleet section asks for. */
static struct columns columns_of(bool fleet)
{
    struct columns c = {.n_plain = 0};
    c.n = ty_figure_rows(TY_IN_SWEEP, c.row);
    while (c.n_plain < c.n && !c.row[c.n_plain]->asked) {
        c.n_plain++;
    }
    c.n = fleet ? c.n : c.n_plain;
    return c;
}

/* A name that outlives the configuration. */
static const char *stack_name(const struct ty_run *run)
{
    const struct ty_preset *preset = ty_framework_presets;
    while (preset->name != NULL &&
           strcmp(preset->name, run->config->layout.framework.preset) != 0) {
        preset++;
    }
    return preset->name != NULL ? preset->name : "";
}

void ty_sweep_line_take(struct ty_sweep_figures *figures, const struct ty_run *run)
{
    const struct columns c = columns_of(true);
    struct ty_figures f;
    ty_run_numbers(run, &f);
    *figures = (struct ty_sweep_figures){.fits = ty_run_fits(run), .framework = stack_name(run)};
    for (uint32_t i = 0; i < c.n; i++) {
        figures->value[i] = ty_figure_value(c.row[i], &f);
    }
}

double ty_sweep_line_value(const struct ty_sweep_figures *figures, const char *name)
{
    const struct columns c = columns_of(true);
    uint32_t i = 0;
    while (i < c.n && strcmp(c.row[i]->name, name) != 0) {
        i++;
    }
    assert(i < c.n);
    return figures->value[i];
}

void ty_sweep_line_cell(struct ty_text *t, const char *s)
{
    const bool quoted = strpbrk(s, ",\"\r\n") != NULL;
    ty_text_bytes(t, "\"", quoted);
    while (*s != '\0') {
        const size_t n = strcspn(s, "\"");
        ty_text_bytes(t, s, n);
        ty_text_bytes(t, "\"\"", s[n] == '"' ? 2 : 0);
        s += n + (s[n] == '"');
    }
    ty_text_bytes(t, "\"", quoted);
}

void ty_sweep_line_head(struct ty_text *t, struct ty_sweep_columns with)
{
    const struct columns c = columns_of(with.fleet);
    for (uint32_t i = 0; i < c.n_plain; i++) {
        ty_text_add(t, ",%s", c.row[i]->name);
    }
    ty_text_add(t, ",fits,framework");
    for (uint32_t i = c.n_plain; i < c.n; i++) {
        ty_text_add(t, ",%s", c.row[i]->name);
    }
    ty_text_add(t, with.bands ? ",step_low_s,step_high_s,error" : ",error");
}

void ty_sweep_line_put(struct ty_text *t, const struct ty_sweep_figures *f,
                       struct ty_sweep_columns with)
{
    const struct columns c = columns_of(with.fleet);
    char number[TY_JSON_NUMBER];
    for (uint32_t i = 0; i < c.n_plain; i++) {
        ty_text_add(t, ",%s", ty_json_number(f->value[i], number));
    }
    ty_text_add(t, ",%d,%s", f->fits ? 1 : 0, f->framework);
    for (uint32_t i = c.n_plain; i < c.n; i++) {
        ty_text_add(t, ",%s", f->value[i] > 0 ? ty_json_number(f->value[i], number) : "");
    }
    if (with.bands) {
        ty_text_add(t, ",%s", ty_json_number(f->low_s, number));
        ty_text_add(t, ",%s", ty_json_number(f->high_s, number));
    }
    ty_text_add(t, ",");
}

/* Columns of a row without an answer that are empty. */
static uint32_t empty_columns(struct ty_sweep_columns with)
{
    return columns_of(with.fleet).n + OTHERS + (with.bands ? 2 : 0);
}

void ty_sweep_line_error(struct ty_text *t, const char *message, struct ty_sweep_columns with)
{
    const uint32_t n = empty_columns(with);
    for (uint32_t i = 0; i < n; i++) {
        ty_text_add(t, ",");
    }
    ty_sweep_line_cell(t, message);
}

/* ---- and back ---- */

/* The number behind a comma; 0 where there is none and it may lack. */
static bool read_number(const char **p, bool may_lack, double *value)
{
    char *rest;
    *value = 0;
    if (**p != ',') {
        return false;
    }
    if (may_lack && (*p)[1] == ',') {
        (*p)++;
        return true;
    }
    *value = ty_strtod(*p + 1, &rest);
    const bool found = rest > *p + 1;
    *p = rest;
    return found;
}

/* ",1,fsdp" */
static bool read_stack(const char **p, struct ty_sweep_figures *f)
{
    if (strncmp(*p, ",0,", 3) != 0 && strncmp(*p, ",1,", 3) != 0) {
        return false;
    }
    f->fits = (*p)[1] == '1';
    *p += 3;
    const size_t n = strcspn(*p, ",");
    for (const struct ty_preset *preset = ty_framework_presets; preset->name != NULL; preset++) {
        if (strlen(preset->name) == n && strncmp(*p, preset->name, n) == 0) {
            f->framework = preset->name;
            *p += n;
            return true;
        }
    }
    return false;
}

/* ",1.3,1.7" */
static bool read_band(const char **p, struct ty_sweep_figures *f)
{
    return read_number(p, false, &f->low_s) && read_number(p, false, &f->high_s) && f->low_s > 0 &&
           f->high_s >= f->low_s;
}

/* A cell up to the end of the line, without its quotes. */
static void read_cell(const char *p, char *text, size_t size)
{
    const bool quoted = *p == '"';
    size_t n = 0;
    for (p += quoted; *p != '\0' && (quoted || *p != '\n') && n + 1 < size; p++) {
        if (quoted && *p == '"' && *++p != '"') {
            break;
        }
        text[n++] = *p;
    }
    text[n] = '\0';
}

enum ty_sweep_read ty_sweep_line_read(const char *text, struct ty_sweep_columns with,
                                      struct ty_sweep_figures *f, char message[TY_ROW_MESSAGE])
{
    const struct columns c = columns_of(with.fleet);
    const size_t n_empty = empty_columns(with);
    const char *p = text;
    *f = (struct ty_sweep_figures){.framework = ""};
    if (strspn(text, ",") >= n_empty) {
        read_cell(text + n_empty, message, TY_ROW_MESSAGE);
        return message[0] != '\0' ? TY_SWEEP_ERROR : TY_SWEEP_NONSENSE;
    }
    bool ok = true;
    for (uint32_t i = 0; i < c.n_plain && ok; i++) {
        ok = read_number(&p, false, &f->value[i]);
    }
    ok = ok && read_stack(&p, f);
    for (uint32_t i = c.n_plain; i < c.n && ok; i++) {
        ok = read_number(&p, true, &f->value[i]);
    }
    ok = ok && (!with.bands || read_band(&p, f));
    ok = ok && ty_sweep_line_value(f, "step_time_s") > 0 && strcmp(p, ",\n") == 0;
    return ok ? TY_SWEEP_ANSWER : TY_SWEEP_NONSENSE;
}
