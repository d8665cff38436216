/* fields.h - configuration is a table of fields, not parsing code.
 *
 * A module describes the struct it wants filled: one row per key with type, unit, range, words,
 * default and a line of documentation. The same rows serve the run file, `--set`, presets,
 * `check --show-config` and `list keys`. Every value remembers where it came from. */
#ifndef TY_DOCUMENT_FIELDS_H
#define TY_DOCUMENT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/document/yaml.h"

enum ty_field_type {
    TY_TYPE_UINT,     /* uint32_t: a whole number in [min, max] */
    TY_TYPE_UINT64,   /* uint64_t */
    TY_TYPE_QUANTITY, /* double, in the base unit of `dim`, in [min, max] */
    TY_TYPE_BOOL,     /* bool: true or false */
    TY_TYPE_WORD,     /* int: value of one of `words` */
    TY_TYPE_WORDS,    /* struct ty_word_list: each word exactly once, in any order */
    TY_TYPE_SET,      /* uint32_t: bits of some of `words`, a list or joined by + */
    TY_TYPE_STRING,   /* const char * */
    TY_TYPE_UINTS,    /* struct ty_uint_list */
    TY_TYPE_STRINGS,  /* struct ty_string_list */
    TY_TYPE_COUNTS,   /* struct ty_counts_list: whole numbers in [min, max], or sets of `words` with
                       * one each, a+b:2+c:3 */
};

struct ty_word {
    const char *name;
    int value; /* of a set: bits; 0 stands alone. Neighbours with the same: the first is a word for
                * it alone, the last its name among others */
    const char *doc;
};

/* The value of a word; false when the table has none of that name. */
static inline bool ty_word_value(const struct ty_word *words, const char *name, int *value)
{
    for (; words->name != NULL; words++) {
        if (strcmp(words->name, name) == 0) {
            *value = words->value;
            return true;
        }
    }
    return false;
}

#define TY_LIST_MAX 128u
struct ty_word_list {
    uint32_t n;
    int item[8];
};
/* So many of each of a few sets of words, in this order; a number alone is of TY_COUNTS_PLAIN. */
#define TY_COUNTS_SETS  4u
#define TY_COUNTS_PLAIN UINT32_MAX
struct ty_counts {
    uint32_t n;
    struct {
        uint32_t set, n;
    } item[TY_COUNTS_SETS]; /* [n] */
};
/* Items of these three are the arena's that the value was read with; copies share them. */
struct ty_uint_list {
    uint32_t n;
    const uint32_t *item; /* [n] */
};
struct ty_list_place {
    uint32_t line, col;
};
struct ty_counts_list {
    uint32_t n;
    const struct ty_counts *item; /* [n] */
};
struct ty_string_list {
    uint32_t n;
    const char *const *item;        /* [n] */
    const struct ty_list_place *at; /* [n]: in the text its field's origin names */
};

/* One key. A `max` of 0 means no upper limit (but that of the type). `fallback` is the default as a
 * user would write it; NULL with `required` false leaves the zero value. `blank` is a word ("auto",
 * "none") that is accepted instead of a value and stores zero (or an empty list). `doc` has no full
 * stop and starts in lower case.
 *
 * A row with `inner` may also be written as a mapping, in which its own value has that name and the
 * rows "key.x" have theirs: `key: value` and `key: {inner: value, x: ...}`. */
struct ty_field {
    const char *key;
    const char *inner;
    enum ty_field_type type;
    enum ty_dimension dim;
    size_t offset; /* in the section's struct */
    double min, max;
    double zero;                 /* what a written 0 is kept as, where blank is kept as 0 */
    const struct ty_word *words; /* ends with a NULL name */
    bool any_case;               /* words may be written in capitals, as papers do */
    const char *fallback;
    const char *blank;
    bool searched; /* may be left at auto: `trainyard plan` finds it. Who reads the section decides
                    * whether that will do: struct ty_origin */
    bool late;     /* there were runs before it, whose digest is what it was: its default does not
                    * count */
    bool shape;    /* of texts: a step depends on them, and so does a digest */
    bool aside;    /* no step depends on it, nor does a digest */
    bool tokens;   /* a k behind a whole number is 1024 of it, as in "8k" */
    const char *example; /* of texts in a list, for messages; NULL: [a, b] */
    bool required;
    const char *doc;
};

/* A row of the section whose struct is `of_`; what else it needs comes last. */
#define TY_FIELD(of_, key_, member_, type_, ...)                                                   \
    {                                                                                              \
        .key = (key_), .type = TY_TYPE_##type_, .offset = offsetof(of_, member_), __VA_ARGS__      \
    }

enum ty_origin_kind {
    TY_ORIGIN_UNSET,
    TY_ORIGIN_DEFAULT,
    TY_ORIGIN_PRESET,
    TY_ORIGIN_FILE,
    TY_ORIGIN_COMMAND,
};

/* Where a value came from. `name` is the preset, or the file, or the text of --set. */
struct ty_origin {
    enum ty_origin_kind kind;
    const char *name;
    struct ty_place at; /* TY_ORIGIN_FILE and TY_ORIGIN_COMMAND */
    bool searched;      /* auto where a plan is to find the value; meanwhile it is the default */
};

/* Words, with spaces between and in lower case, that users may write for a key, and what they may
 * have to know then (NULL: nothing). A table of them ends with NULL. */
struct ty_synonym {
    const char *section, *key, *words, *note;
};

/* One section of the run file: rows, the struct they fill, and where each value came from. */
struct ty_section {
    const char *name; /* "layout" */
    const char *doc;
    const struct ty_field *fields; /* [n_fields] */
    uint32_t n_fields;
    void *base;                        /* the struct; offsets of the rows count from here */
    struct ty_origin *origins;         /* [n_fields] */
    struct ty_place at;                /* of the section in the run file; line 0: it is not there */
    const struct ty_synonym *synonyms; /* for messages; NULL: none */
};

/* Fills every field of the section that has a fallback and no value yet (TY_ORIGIN_UNSET), or is
 * left to a plan. A fallback that does not parse is a bug in the table and reported as TY_EBUG. */
int ty_section_defaults(const struct ty_section *section, struct ty_arena *arena,
                        struct ty_err *err);

/* What values are read from, and what becomes their origin. */
struct ty_value_source {
    const struct ty_doc *doc;
    enum ty_origin_kind kind;
    const char *name;
};

/* Applies a YAML mapping: unknown keys (with the nearest known one as a hint), wrong types, units
 * and ranges are collected in err. */
int ty_section_apply(const struct ty_section *section, const struct ty_value_source *source,
                     const struct ty_node *map, struct ty_arena *arena, struct ty_err *err);

/* Reports a key that the section does not have; its hint is the key that the word is a synonym of,
 * or else the nearest one. */
int ty_section_unknown(const struct ty_section *section, const char *key, const struct ty_place *at,
                       struct ty_err *err);

/* Applies one value, a scalar or a list as the field wants. A value that cannot be read is reported
 * and leaves the field as it was, but its origin is recorded: it is not missing, too. */
int ty_field_apply(const struct ty_section *section, const struct ty_field *field,
                   const struct ty_value_source *source, const struct ty_node *node,
                   struct ty_arena *arena, struct ty_err *err);

/* Reports every required field that is still unset, at the place of the section. */
int ty_section_require(const struct ty_section *section, struct ty_err *err);

/* The row of a key, or NULL; "key.inner" is the row of "key". */
const struct ty_field *ty_section_field(const struct ty_section *section, const char *key);

/* True when the value is zero, empty or NULL. */
bool ty_field_is_blank(const struct ty_section *section, const struct ty_field *field);

/* A quantity as one would write it: of a bare number or a time the default, which says more than
 * any. */
const char *ty_field_example(const struct ty_field *field);

/* What a user may write, for messages and lists: "a whole number from 1 to 1024, such as 8",
 * "one of gpipe, 1f1b", "like 300 GB/s or 200 Gb/s". Returns buf. */
char *ty_field_expects(const struct ty_field *field, char *buf, size_t size);

/* The value as a user would write it, with its unit; "-" for a text that is not set. Returns
 * buf. */
char *ty_field_format(const struct ty_section *section, const struct ty_field *field, char *buf,
                      size_t size);

/* The same of some bits of a set. */
#define TY_SET_TEXT 128u
void ty_set_format(const struct ty_field *field, uint32_t set, char *buf, size_t size);

/* "preset dgx-a100-80g", "run.yaml:7", "--set", "default". Returns buf. */
char *ty_origin_format(const struct ty_origin *origin, char *buf, size_t size);

/* Where a user would change the value of a key: where it was given in the file or on the command
 * line, else the section (of a preset or default nobody can see the text). */
struct ty_place ty_section_place(const struct ty_section *section, const char *key);

/* The origin of a field's value. */
const struct ty_origin *ty_field_origin(const struct ty_section *section,
                                        const struct ty_field *field);

/* A named bundle of values: YAML text of one section, applied with TY_ORIGIN_PRESET. A new preset
 * is one row. `source` says where the figures come from; a comment in the text cites single
 * ones. A preset with a `base` starts from the one of that name in its list, and each of its own
 * keys replaces the base's. */
struct ty_preset {
    const char *name;
    const char *summary;
    const char *source;
    const char *text;
    double published; /* a published figure the tests check: parameters of a model, else 0 */
    double tolerance; /* relative, for `published` */
    const char *base; /* NULL: its text is all there is */
};

/* The preset of a list with this name, or NULL. */
const struct ty_preset *ty_preset_find(const struct ty_preset *presets, const char *name);

/* All that a preset of this list says: what is left of its base's lines, then its own. A line that
 * does not begin with a key goes with the one before it. NULL: no memory. */
const char *ty_preset_text(const struct ty_preset *presets, const struct ty_preset *preset,
                           struct ty_arena *arena);

/* The line of a preset's text about a key, or NULL. */
const char *ty_preset_line(const char *text, const char *key);

#endif
