/* flags.h - a command line of a training script, as flags with places, whatever carried it: a
 * shell script, a mapping of flags in YAML, the sections of --yaml-cfg. */
#ifndef TY_IMPORT_FLAGS_H
#define TY_IMPORT_FLAGS_H

#include "sim/import/draft.h"

struct ty_flag_value {
    const char *text;
    const char *doubt; /* why the value is not known, "$N is not set (train.sh:3)"; NULL: it is */
};

struct ty_flag {
    const char *name; /* "--num-layers"; "_" of the file are "-" here */
    struct ty_draft_from from;
    const char *doubt; /* why it is not known whether the flag is there at all; NULL: it is */
    struct ty_flag_value *values;
    uint32_t n_values, cap_values;
};

struct ty_flags {
    struct ty_draft *draft;
    struct ty_flag *item; /* [n] as they came; the last of a name counts, as in argparse */
    uint32_t n, cap;
};

/* What becomes of a flag. */
enum ty_flag_use {
    TY_FLAG_TAKEN, /* code looks it up by its name */
    TY_FLAG_KEY,   /* a key: of `value`, or of the flag's own where that is NULL */
    TY_FLAG_IDLE,  /* no part in a step; "--save-*" is all that begin so */
    TY_FLAG_NO_KEY /* it matters; `note` says what trainyard does not know */
};
struct ty_flag_row {
    const char *name;
    enum ty_flag_use use;
    const char *key, *value, *note;
};

/* Appends a flag, of "--name=value" with its value; then values to the last flag. */
void ty_flags_add(struct ty_flags *flags, const char *word, const struct ty_place *at,
                  const char *doubt);
void ty_flags_value(struct ty_flags *flags, const char *text, const char *doubt);

/* Appends a flag of that name that stands in the files as another word. */
void ty_flags_put(struct ty_flags *flags, const char *name, const struct ty_draft_from *from,
                  const char *doubt);

/* The flag of that name, whether or not it is known to be there; NULL: it is not. */
const struct ty_flag *ty_flags_find(const struct ty_flags *flags, const char *name);

/* The flag of that name. A flag in doubt is refused, and NULL. */
const struct ty_flag *ty_flags_get(struct ty_flags *flags, const char *name);
bool ty_flags_has(struct ty_flags *flags, const char *name);

/* Its value, or `otherwise` where it is absent; in doubt or missing it is refused. Of numbers: one
 * that is none is refused, too; "_" between digits is Python's. */
const char *ty_flags_text(struct ty_flags *flags, const char *name, const char *otherwise);
uint32_t ty_flags_count(struct ty_flags *flags, const char *name, uint32_t otherwise);
double ty_flags_real(struct ty_flags *flags, const char *name, double otherwise);

/* Where a flag stands, or {.word = `rule`} for what its absence means. */
struct ty_draft_from ty_flags_from(const struct ty_flags *flags, const char *name,
                                   const char *rule);

/* The key of a count that a flag says or, where it is absent, a rule. */
void ty_flags_set_count(struct ty_flags *flags, const char *name, const char *key);

/* Does with every flag what its row says; what no row of the two tables (the second may be NULL)
 * knows is unknown. Tables end with a NULL name. */
void ty_flags_apply(struct ty_flags *flags, const struct ty_flag_row *rows,
                    const struct ty_flag_row *more);

/* Whether a row of the table is of that flag. */
const struct ty_flag_row *ty_flags_row(const struct ty_flag_row *rows, const char *name);

/* A value without quotes around it. */
const char *ty_flags_bare(struct ty_draft *draft, const char *text);

#endif
