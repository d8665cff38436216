/* sweep_table.c - reads a table of settings, or makes one from lists. */
#include "sim/sweep/sweep_table.h"

#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/config/config.h"

#define MAX_PRODUCT 1000000u

/* The key that somebody meant with a column that is none: its name without the section, or with
 * another sign or case between the two. NULL: no such key. */
static const char *meant(const struct ty_config *blank, const char *name, struct ty_arena *arena)
{
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        const struct ty_section *section = &blank->sections[i];
        const size_t n = strlen(section->name);
        for (uint32_t k = 0; k < section->n_fields; k++) {
            const char *key = section->fields[k].key;
            const bool whole = strncasecmp(name, section->name, n) == 0 && name[n] != '\0' &&
                               strcasecmp(name + n + 1, key) == 0;
            const bool common = strcmp(key, "name") == 0; /* tables have names of their own */
            if (whole || (strcasecmp(name, key) == 0 && !common)) {
                return ty_arena_printf(arena, "%s.%s", section->name, key);
            }
        }
    }
    return NULL;
}

void ty_sweep_remark(struct ty_sweep_table *table, struct ty_arena *arena, const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    (void)ty_vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    table->remark = table->remark != NULL ? ty_arena_printf(arena, "%s\n%s", table->remark, line)
                                          : ty_arena_printf(arena, "%s", line);
}

/* "layout.tensr" is more likely a slip than data that passes through. `place`, "FILE: column ", and
 * code: of messages. */
static int unknown_key(const struct ty_section *section, const char *name, const char *place,
                       int code, struct ty_err *err)
{
    const char *keys[256];
    const size_t n_keys = section->n_fields < TY_COUNT(keys) ? section->n_fields : TY_COUNT(keys);
    for (size_t k = 0; k < n_keys; k++) {
        keys[k] = section->fields[k].key;
    }
    ty_fail(err, code, "%s%s: %s has no such key; \"trainyard list keys\" shows all", place, name,
            section->name);
    const char *near = ty_nearest(strchr(name, '.') + 1, keys, n_keys);
    if (near != NULL) {
        ty_hint(err, "did you mean \"%s.%s\"?", section->name, near);
    }
    return code;
}

/* A column that is no key. path NULL: of --over, which has to be one. */
static int check_column(struct ty_sweep_table *table, const struct ty_config *blank,
                        enum ty_section_index section, const char *name, const char *path,
                        struct ty_arena *arena, struct ty_err *err)
{
    if (section != TY_N_SECTIONS) {
        const char *place = path != NULL ? ty_arena_printf(arena, "%s: column ", path) : "--over ";
        return place != NULL ? unknown_key(&blank->sections[section], name, place,
                                           path != NULL ? TY_EINPUT : TY_EUSAGE, err)
                             : ty_fail_memory(err);
    }
    const char *key = meant(blank, name, arena);
    if (path == NULL) {
        ty_fail(err, TY_EUSAGE, "--over %s: no such key; \"trainyard list keys\" shows all", name);
        if (key != NULL) {
            ty_hint(err, "did you mean \"%s\"?", key);
        }
        return TY_EUSAGE;
    }
    if (key != NULL) {
        ty_sweep_remark(table, arena, "column %s passes through; did you mean %s?", name, key);
    }
    return 0;
}

static int check_twice(const struct ty_sweep_table *table, uint32_t k, const char *path,
                       struct ty_err *err)
{
    for (uint32_t i = 0; i < k && table->is_key[k]; i++) {
        if (strcmp(ty_csv_header(&table->csv, i), ty_csv_header(&table->csv, k)) == 0) {
            const char *name = ty_csv_header(&table->csv, k);
            return path != NULL
                       ? ty_fail(err, TY_EINPUT, "%s: column %s is there twice; keep one", path,
                                 name)
                       : ty_fail(err, TY_EUSAGE,
                                 "--over %s is given twice; write all its values in one, such as "
                                 "%s=1,2",
                                 name, name);
        }
    }
    return 0;
}

/* ---- lists ---- */

static const char *trimmed(const char *from, size_t n, struct ty_arena *arena)
{
    const char *begin = ty_text_trim(from, &n);
    return ty_arena_strndup(arena, begin, n);
}

int ty_sweep_list(struct ty_sweep_list *list, const char *text, struct ty_arena *arena,
                  struct ty_err *err)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0') {
        return ty_fail(err, TY_EUSAGE,
                       "--over %s: not KEY=V1,V2,..; write it like layout.tensor=1,2,4", text);
    }
    list->key = trimmed(text, (size_t)(equals - text), arena);
    list->value = ty_arena_array(arena, const char *, strlen(equals));
    if (list->key == NULL || list->value == NULL) {
        return ty_fail_memory(err);
    }
    int depth = 0;
    const char *from = equals + 1;
    for (const char *p = from;; p++) {
        depth += (*p == '[') - (*p == ']');
        if (*p == '\0' || (*p == ',' && depth == 0)) {
            const char *value = trimmed(from, (size_t)(p - from), arena);
            if (value == NULL || value[0] == '\0') {
                return value == NULL ? ty_fail_memory(err)
                                     : ty_fail(err, TY_EUSAGE,
                                               "--over %s: value %u is empty; write it, or one "
                                               "comma less",
                                               text, (unsigned)list->n + 1);
            }
            list->value[list->n++] = value;
            from = p + 1;
        }
        if (*p == '\0') {
            return 0;
        }
    }
}

static int product(struct ty_sweep_table *table, const char *const *over, size_t n_over,
                   struct ty_arena *arena, struct ty_err *err)
{
    struct ty_sweep_list *lists = ty_arena_array(arena, struct ty_sweep_list, n_over);
    uint64_t rows = 1;
    for (size_t i = 0; i < n_over; i++) {
        const int rc =
            lists == NULL ? ty_fail_memory(err) : ty_sweep_list(&lists[i], over[i], arena, err);
        if (rc < 0) {
            return rc;
        }
        rows *= lists[i].n;
        if (rows > MAX_PRODUCT) {
            return ty_fail(err, TY_ELIMIT, "--over: more than %u combinations; give fewer values",
                           MAX_PRODUCT);
        }
    }
    const char **cell = ty_arena_array(arena, const char *, (size_t)(rows + 1) * n_over);
    uint32_t *n_values = ty_arena_array(arena, uint32_t, n_over);
    if (cell == NULL || n_values == NULL) {
        return ty_fail_memory(err);
    }
    for (size_t i = 0; i < n_over; i++) {
        n_values[i] = lists[i].n;
        cell[i] = lists[i].key;
        uint64_t stride = 1; /* rows between changes: the last list changes in every row */
        for (size_t k = i + 1; k < n_over; k++) {
            stride *= lists[k].n;
        }
        for (uint64_t row = 0; row < rows; row++) {
            cell[(row + 1) * n_over + i] = lists[i].value[row / stride % lists[i].n];
        }
    }
    table->n_values = n_values;
    table->csv =
        (struct ty_csv){.cell = cell, .n_columns = (uint32_t)n_over, .n_rows = (uint32_t)rows};
    return 0;
}

int ty_sweep_table(struct ty_sweep_table *table, const char *path, const char *const *over,
                   size_t n_over, struct ty_arena *arena, struct ty_err *err)
{
    uint32_t n_keys = 0;
    struct ty_config blank = {.run = {.steps = 0}};
    table->remark = NULL;
    table->n_values = NULL;
    if ((path != NULL) == (n_over > 0)) {
        return ty_fail(err, TY_EUSAGE, "%s; write one of them",
                       path != NULL ? "--rows and --over are both given"
                                    : "neither --rows CSV nor --over KEY=V1,V2,.. is given");
    }
    int rc = ty_config_init(&blank, err);
    if (rc == 0) {
        rc = path != NULL ? ty_csv_load(&table->csv, path, arena, err)
                          : product(table, over, n_over, arena, err);
    }
    table->is_key = rc < 0 ? NULL : ty_arena_array(arena, bool, (size_t)table->csv.n_columns + 1);
    if (rc == 0 && table->is_key == NULL) {
        rc = ty_fail_memory(err);
    }
    for (uint32_t k = 0; rc == 0 && k < table->csv.n_columns; k++) {
        const char *name = ty_csv_header(&table->csv, k);
        enum ty_section_index section;
        table->is_key[k] = ty_config_field(&blank, name, &section) != NULL;
        if (!table->is_key[k]) {
            rc = check_column(table, &blank, section, name, path, arena, err);
        }
        n_keys += table->is_key[k];
        if (rc == 0) {
            rc = check_twice(table, k, path, err);
        }
    }
    if (rc == 0 && n_keys == 0 && table->remark == NULL) {
        ty_sweep_remark(table, arena,
                        "%s: no column is a key of the run file; every row is the run file as it "
                        "is",
                        path);
    }
    ty_arena_release(&blank.arena);
    return rc;
}
