/* uncertainty.h - the section `uncertainty`: how far values of the run file may be off.
 *
 *     uncertainty:
 *       errors:
 *         - cluster.derate 0.8 % fitted to 28 rows
 *         - cluster.nic_bandwidth 25 % a guess, nobody wrote it down
 *       correlations:
 *         - cluster.derate cluster.nic_bandwidth -0.31
 *       scatter: 3 %
 *
 * An error is the standard deviation of a value's logarithm. It is of the value that stands in the
 * same file or below it: a stronger file or --set that gives the key another value takes the error
 * away with the old one. Overlays add their entries to those below; of a key the strongest counts.
 * Where nobody states an error, one that a preset or a default states counts: its comment says
 * "guess 15 %: as A100". Nothing here changes a run; `--uncertain` asks for it. */
#ifndef TY_CONFIG_UNCERTAINTY_H
#define TY_CONFIG_UNCERTAINTY_H

#include "sim/document/fields.h"

#define TY_ERROR_MAX      2.0 /* a factor of 7: beyond it nothing is known */
#define TY_SCATTER_MIN    1e-4
#define TY_UNCERTAIN_KEYS 96u

struct ty_uncertainty_options {
    struct ty_string_list errors, correlations;
    double scatter, shared_scatter; /* 0: by kind of run, sim/config/scatter.h */
    double layout_scatter;
    bool guesses;
};
extern const struct ty_field ty_uncertainty_fields[];
extern const uint32_t ty_n_uncertainty_fields;

struct ty_config;

/* A value that may be off. */
struct ty_uncertain_key {
    const char *name; /* "cluster.derate" */
    const struct ty_field *field;
    double value; /* base unit, above zero */
    double error; /* standard deviation of its logarithm */
    bool guess;   /* a preset's, or a default's */
    const char *why;
};

struct ty_uncertain {
    struct ty_uncertain_key key[TY_UNCERTAIN_KEYS];
    uint32_t n;
    double correlation[TY_UNCERTAIN_KEYS][TY_UNCERTAIN_KEYS];
};

/* What a complete configuration says of its values; zeroed before, texts in the arena. All entries
 * that are wrong are reported. */
int ty_uncertain_read(const struct ty_config *config, struct ty_uncertain *uncertain,
                      struct ty_arena *arena, struct ty_err *err);

/* The same without guesses and result, while a file is read; nothing where it has no such
 * section. */
int ty_uncertain_check(const struct ty_config *config, struct ty_err *err);

#endif
