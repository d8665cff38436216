/* row_run.c - see row_run.h. */
#include "sim/run/row_run.h"

#include <stdio.h>
#include <string.h>

/* Settings of the source, then of the row, then the extra ones; NULL without memory. */
static const char **row_sets(const struct ty_row_source *rows, uint32_t row,
                             const char *const *extra, size_t n_extra, struct ty_arena *arena,
                             size_t *n_sets)
{
    const struct ty_csv *csv = &rows->table->csv;
    const size_t most = rows->source.n_sets + csv->n_columns + n_extra;
    const char **sets = ty_arena_array(arena, const char *, most + 1);
    size_t n = 0;
    for (size_t i = 0; sets != NULL && i < rows->source.n_sets; i++) {
        sets[n++] = rows->source.sets[i];
    }
    for (uint32_t k = 0; sets != NULL && k < csv->n_columns; k++) {
        const char *value = ty_csv_cell(csv, row, k);
        if (rows->table->is_key[k] && value[0] != '\0') {
            sets[n] = ty_arena_printf(arena, "%s=%s", ty_csv_header(csv, k), value);
            sets = sets[n++] != NULL ? sets : NULL;
        }
    }
    for (size_t i = 0; sets != NULL && i < n_extra; i++) {
        sets[n++] = extra[i];
    }
    *n_sets = n;
    return sets;
}

int ty_row_run(const struct ty_row_source *rows, uint32_t row, const char *const *extra,
               size_t n_extra, ty_row_fn *see, void *arg, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_config *config = NULL;
    struct ty_run *run = NULL;
    struct ty_source source = rows->source;
    source.sets = row_sets(rows, row, extra, n_extra, &arena, &source.n_sets);
    int rc = source.sets == NULL ? ty_fail(err, TY_ENOMEM, "memory is exhausted")
                                 : ty_config_read(&config, &source, err);
    rc = rc < 0 ? rc : ty_run_new(&run, config, err);
    rc = rc < 0 ? rc : ty_run_execute_folded(run, err);
    if (rc == 0) {
        see(run, arg);
    }
    ty_run_free(run);
    ty_config_free(config);
    ty_arena_release(&arena);
    return rc;
}

void ty_row_message(const struct ty_err *err, char buf[TY_ROW_MESSAGE])
{
    char first[TY_ROW_MESSAGE];
    snprintf(first, sizeof(first), "%.*s", (int)strcspn(err->text, "\n"), err->text);
    const char *message = first;
    if (strncmp(first, "--set ", 6) == 0) {
        const char *key = strchr(first, ':');
        for (int colons = 0; key != NULL && colons < 2; colons++) {
            key = strchr(key + 1, ':');
        }
        message = key != NULL && key[1] == ' ' ? key + 2 : first;
    }
    memmove(buf, message, strlen(message) + 1);
}
