/* inputs.c - finds the files that configurations and tables read or name.
 *
 * A configuration remembers the files that it reads, but one with a mistake is not there to be
 * asked, and it may stop before it has read them all: so the loader is asked, and the keys that
 * name files are read off once more. */
#include "sim/sweep/inputs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/cli_api.h"
#include "sim/config/load.h"

#define LOOK_BACK 256u /* rows among which a cell is looked for */

int ty_config_readable(const struct ty_source *source, struct ty_err *err)
{
    struct ty_loader l = {.config = calloc(1, sizeof(struct ty_config)), .err = err};
    if (!l.config) {
        return ty_fail_memory(err);
    }
    const int rc = ty_loader_docs(&l, source);
    ty_config_free(l.config);
    return rc == 0 ? l.code : rc;
}

static bool is_in_section(const char *key, const char *section)
{
    const size_t n = strlen(section);
    return strncmp(key, section, n) == 0 && key[n] == '.';
}

int ty_rows_mention(const struct ty_row_source *rows, const char *section, bool *found,
                    struct ty_err *err)
{
    const struct ty_csv *csv = &rows->table->csv;
    struct ty_loader l = {.config = calloc(1, sizeof(struct ty_config)), .err = err};
    *found = false;
    if (!l.config) {
        return ty_fail_memory(err);
    }
    const int rc = ty_loader_docs(&l, &rows->source);
    for (size_t i = 0; rc == 0 && i < l.config->n_docs; i++) {
        const struct ty_node *root = l.config->docs[i].root;
        for (const struct ty_node *node = root->first; node; node = node->next) {
            *found = *found || strcmp(node->key, section) == 0;
        }
    }
    for (size_t i = 0; i < rows->source.n_sets; i++) {
        *found = *found || is_in_section(rows->source.sets[i], section);
    }
    for (uint32_t k = 0; k < csv->n_columns; k++) {
        *found = *found || is_in_section(ty_csv_header(csv, k), section);
    }
    ty_config_free(l.config);
    return rc == 0 ? l.code : rc;
}

/* ---- one configuration ---- */

static bool is_file(const char *path, const struct stat *file)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_dev == file->st_dev && st.st_ino == file->st_ino;
}

/* Remembers what the keys name, wherever the loader stopped. */
static void name_files(struct ty_config *c)
{
    const struct {
        enum ty_section_index section;
        const char *key, *file;
    } keys[] = {
        {TY_SECTION_CLUSTER, "operators", c->cluster.operators},
        {TY_SECTION_LAYOUT, "rank_file", c->layout.rank_file},
        {TY_SECTION_SCHEDULE, "file", c->schedule.file},
    };
    for (size_t i = 0; i < TY_COUNT(keys); i++) {
        const struct ty_place at = ty_section_place(&c->sections[keys[i].section], keys[i].key);
        if (keys[i].file != NULL && strchr(keys[i].file, '\n') == NULL) {
            (void)ty_config_beside(c, &at, keys[i].file);
        }
    }
    const struct ty_string_list *logs = &c->cluster.collectives.measured_files;
    const struct ty_place at =
        ty_section_place(&c->sections[TY_SECTION_CLUSTER], "collectives.measured");
    for (uint32_t i = 0; i < logs->n; i++) {
        (void)ty_config_beside(c, &at, logs->item[i]);
    }
}

static bool names(struct ty_config *c, const struct stat *file)
{
    const char *input;
    bool found = false;
    if (c->n_docs > 0 && c->docs[0].file != NULL) {
        name_files(c);
    }
    for (size_t i = 0; !found && (input = ty_config_input(c, i)) != NULL; i++) {
        found = is_file(input, file);
    }
    return found;
}

/* What is wrong in it is told by whoever reads it next. */
static int config_names(const struct ty_source *source, const struct stat *file, bool *found,
                        struct ty_err *err)
{
    struct ty_err *own = ty_err_new();
    struct ty_loader l = {.config = calloc(1, sizeof(struct ty_config)), .err = own};
    int rc = own != NULL && l.config != NULL ? 0 : TY_ENOMEM;
    if (rc == 0) {
        rc = ty_loader_read(&l, source);
        *found = rc != TY_ENOMEM && names(l.config, file);
    }
    ty_config_free(l.config);
    ty_err_free(own);
    return rc == TY_ENOMEM ? ty_fail_memory(err) : 0;
}

/* ---- what would be lost ---- */

/* Whether there is a file under the name, and something in it. */
static bool is_there(const char *path, struct stat *file)
{
    return path != NULL && strcmp(path, "-") != 0 && stat(path, file) == 0 &&
           S_ISREG(file->st_mode) && file->st_size > 0;
}

static int refuse(const char *path, struct ty_err *err)
{
    return ty_fail(err, TY_EUSAGE, "%s is an input and would be overwritten; name another file",
                   path);
}

int ty_config_spares(const struct ty_source *source, const char *path, struct ty_err *err)
{
    struct stat file;
    bool found = false;
    if (!is_there(path, &file) || strcmp(source->path, "-") == 0) {
        return 0;
    }
    const int rc = config_names(source, &file, &found, err);
    return found ? refuse(path, err) : rc;
}

/* Whether a row can name other files than those before it: its texts are new. */
static bool is_new(const struct ty_row_source *rows, const bool *is_text, uint32_t row)
{
    const struct ty_csv *csv = &rows->table->csv;
    bool new = row == 0;
    for (uint32_t k = 0; k < csv->n_columns && !new; k++) {
        bool seen = !is_text[k];
        for (uint32_t i = row; i-- > 0 && row - i <= LOOK_BACK && !seen;) {
            seen = strcmp(ty_csv_cell(csv, i, k), ty_csv_cell(csv, row, k)) == 0;
        }
        new = !seen;
    }
    return new;
}

/* Whether a column is a key whose values are texts. */
static bool has_texts(const struct ty_config *blank, const char *name)
{
    enum ty_section_index section;
    const struct ty_field *field = ty_config_field(blank, name, &section);
    return field != NULL && (field->type == TY_TYPE_STRING || field->type == TY_TYPE_STRINGS);
}

/* is_text[n_columns], of the arena; NULL: no memory. */
static bool *text_columns(const struct ty_csv *csv, struct ty_arena *arena, struct ty_err *err)
{
    struct ty_config blank = {.run = {.steps = 0}};
    bool *is_text = ty_arena_array(arena, bool, (size_t)csv->n_columns + 1);
    if (is_text == NULL || ty_config_init(&blank, err) < 0) {
        ty_arena_release(&blank.arena);
        return NULL;
    }
    for (uint32_t k = 0; k < csv->n_columns; k++) {
        is_text[k] = has_texts(&blank, ty_csv_header(csv, k));
    }
    ty_arena_release(&blank.arena);
    return is_text;
}

int ty_rows_spare(const struct ty_row_source *rows, const char *path, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct stat file;
    bool found = false;
    if (!is_there(path, &file) || strcmp(rows->source.path, "-") == 0) {
        return 0;
    }
    found = rows->table->csv.file != NULL && is_file(rows->table->csv.file, &file);
    const bool *is_text = text_columns(&rows->table->csv, &arena, err);
    int rc = is_text == NULL ? ty_fail_memory(err) : 0;
    for (uint32_t row = 0; row < rows->table->csv.n_rows && rc == 0 && !found; row++) {
        if (is_new(rows, is_text, row)) {
            struct ty_arena own = {.head = NULL};
            struct ty_source source = rows->source;
            source.sets = ty_row_sets(rows, row, NULL, 0, &own, &source.n_sets);
            rc = source.sets == NULL ? ty_fail_memory(err)
                                     : config_names(&source, &file, &found, err);
            ty_arena_release(&own);
        }
    }
    ty_arena_release(&arena);
    return found ? refuse(path, err) : rc;
}
