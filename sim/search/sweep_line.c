/* sweep_line.c - see sweep_line.h.
 *
 * ",1.5,0.4,0.5,9e5,0.1,7e10,1,fsdp,\n": six numbers, whether it fits, the stack, an empty error.
 * ",,,,,,,,,message\n": nothing but the error. */
#include "sim/search/sweep_line.h"

#include <string.h>

#include "model/framework.h"
#include "sim/document/json.h"
#include "sim/base/number_text.h"

static const char *const names[TY_SWEEP_N_ALL] = {
    [TY_SWEEP_STEP] = "step_time_s",
    [TY_SWEEP_MFU] = "mfu",
    [TY_SWEEP_HFU] = "hfu",
    [TY_SWEEP_TOKENS] = "tokens_per_s",
    [TY_SWEEP_BUBBLE] = "bubble_fraction",
    [TY_SWEEP_PEAK] = "peak_memory_bytes",
    [TY_SWEEP_DAYS] = "days_for_tokens",
    [TY_SWEEP_GPU_HOURS] = "gpu_hours",
    [TY_SWEEP_COST] = "cost",
    [TY_SWEEP_COST_BILLION] = "cost_per_billion_tokens",
};

static uint32_t n_values(bool fleet)
{
    return fleet ? TY_SWEEP_N_ALL : TY_SWEEP_N_VALUES;
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

void ty_sweep_line_head(struct ty_text *t, bool fleet)
{
    for (uint32_t i = 0; i < n_values(fleet); i++) {
        ty_text_add(t, "%s,%s", i == TY_SWEEP_N_VALUES ? ",fits,framework" : "", names[i]);
    }
    ty_text_add(t, "%s,error", fleet ? "" : ",fits,framework");
}

void ty_sweep_line_put(struct ty_text *t, const struct ty_sweep_figures *f, bool fleet)
{
    for (uint32_t i = 0; i < TY_SWEEP_N_VALUES; i++) {
        char number[TY_JSON_NUMBER];
        ty_text_add(t, ",%s", ty_json_number(f->value[i], number));
    }
    ty_text_add(t, ",%d,%s", f->fits ? 1 : 0, f->framework);
    for (uint32_t i = TY_SWEEP_N_VALUES; i < n_values(fleet); i++) {
        char number[TY_JSON_NUMBER];
        ty_text_add(t, ",%s", f->value[i] > 0 ? ty_json_number(f->value[i], number) : "");
    }
    ty_text_add(t, ",");
}

void ty_sweep_line_error(struct ty_text *t, const char *message, bool fleet)
{
    for (uint32_t i = 0; i < n_values(fleet) + 3; i++) {
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

enum ty_sweep_read ty_sweep_line_read(const char *text, bool fleet, struct ty_sweep_figures *f)
{
    const size_t n_empty = n_values(fleet) + 3; /* of an error */
    const char *p = text;
    *f = (struct ty_sweep_figures){.framework = ""};
    if (strspn(text, ",") >= n_empty) {
        return text[n_empty] != '\n' && text[n_empty] != '\0' ? TY_SWEEP_ERROR : TY_SWEEP_NONSENSE;
    }
    bool ok = true;
    for (uint32_t i = 0; i < TY_SWEEP_N_VALUES && ok; i++) {
        ok = read_number(&p, false, &f->value[i]);
    }
    ok = ok && read_stack(&p, f);
    for (uint32_t i = TY_SWEEP_N_VALUES; i < n_values(fleet) && ok; i++) {
        ok = read_number(&p, true, &f->value[i]);
    }
    ok = ok && f->value[TY_SWEEP_STEP] > 0 && strcmp(p, ",\n") == 0;
    return ok ? TY_SWEEP_ANSWER : TY_SWEEP_NONSENSE;
}
