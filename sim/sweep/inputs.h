/* inputs.h - the files that runs are made of, before anything is written: a table must not take the
 * place of one of them, and one that is missing is missing in every row. */
#ifndef TY_SWEEP_INPUTS_H
#define TY_SWEEP_INPUTS_H

#include "sim/sweep/row_run.h"

/* Whether the files of a source are there and hold sections, whatever is in them: what would be
 * wrong in every row of a table. */
int ty_config_readable(const struct ty_source *source, struct ty_err *err);

/* Whether a section is there, in a file of the source, a setting or a column of the table. */
int ty_rows_mention(const struct ty_row_source *rows, const char *section, bool *found,
                    struct ty_err *err);

/* TY_EUSAGE when `path` is a file that the source reads or names, also where what is in it is
 * wrong. NULL, "-", and what is no file, stand for nothing that could be lost. */
int ty_config_spares(const struct ty_source *source, const char *path, struct ty_err *err);

/* The same of all rows of a table. */
int ty_rows_spare(const struct ty_row_source *rows, const char *path, struct ty_err *err);

#endif
