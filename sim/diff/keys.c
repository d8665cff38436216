/* keys.c - which keys of two configurations differ, and what a reader must know of that.
 *
 * A key that somebody gave stands before those that follow from it: of a preset, derived, default.
 * Values are compared as they are written, with their units. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/diff/diff.h"

/* Kept in the arena; NULL: no memory. */
static const char *value_of(const struct ty_section *section, const struct ty_field *field,
                            struct ty_arena *arena)
{
    char value[TY_CONFIG_VALUE];
    const bool unset = section->origins[field - section->fields].kind == TY_ORIGIN_UNSET &&
                       !field->blank && ty_field_is_blank(section, field);
    const char *text = unset ? "-" : ty_field_format(section, field, value, sizeof(value));
    return ty_arena_strndup(arena, text, strlen(text));
}

static bool given(const struct ty_section *section, const struct ty_field *field)
{
    const enum ty_origin_kind kind = ty_field_origin(section, field)->kind;
    return kind == TY_ORIGIN_FILE || kind == TY_ORIGIN_COMMAND;
}

/* A row when the values differ, but for a title that nobody gave: what it follows from has one. */
static int compare_field(struct ty_diff_pair *pair, const struct ty_section *a,
                         const struct ty_section *b, uint32_t k, struct ty_arena *arena)
{
    const struct ty_field *field = &a->fields[k];
    struct ty_diff_key key = {.a = value_of(a, field, arena),
                              .b = value_of(b, &b->fields[k], arena),
                              .given = given(a, field) || given(b, &b->fields[k])};
    if (key.a == NULL || key.b == NULL) {
        return TY_ENOMEM;
    }
    const bool title =
        field->type == TY_TYPE_STRING && strcmp(field->key, "name") == 0 && !key.given;
    if (strcmp(key.a, key.b) == 0 || title) {
        return 0;
    }
    key.key = ty_arena_printf(arena, "%s.%s", a->name, field->key);
    pair->key[pair->n_keys++] = key;
    pair->n_given += key.given;
    return key.key != NULL ? 0 : TY_ENOMEM;
}

/* Given ones first; else in the order of the tables, which is that of their places. */
static void order_keys(struct ty_diff_pair *pair, struct ty_diff_key *scratch)
{
    uint32_t n = 0;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < pair->n_keys; i++) {
            if (pair->key[i].given == (round == 0)) {
                scratch[n++] = pair->key[i];
            }
        }
    }
    pair->key = scratch;
}

int ty_diff_keys(struct ty_diff_pair *pair, struct ty_arena *arena, struct ty_err *err)
{
    if (pair->a->from->run == NULL || pair->b->from->run == NULL) {
        return 0;
    }
    const struct ty_config *a = pair->a->from->run->config, *b = pair->b->from->run->config;
    uint32_t n = 0;
    int rc = 0;
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        n += a->sections[i].n_fields;
    }
    struct ty_diff_key *scratch = ty_arena_array(arena, struct ty_diff_key, (size_t)n + 1);
    pair->key = ty_arena_array(arena, struct ty_diff_key, (size_t)n + 1);
    if (pair->key == NULL || scratch == NULL) {
        return ty_fail_memory(err);
    }
    for (int i = 0; i < TY_N_SECTIONS && rc == 0; i++) {
        for (uint32_t k = 0;
             ty_config_matters((enum ty_section_index)i) && k < a->sections[i].n_fields && rc == 0;
             k++) {
            rc = compare_field(pair, &a->sections[i], &b->sections[i], k, arena);
        }
    }
    order_keys(pair, scratch);
    return rc == 0 ? 0 : ty_fail_memory(err);
}
