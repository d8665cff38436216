/* sweep_space.h - combinations of --over whose values cannot go together.
 *
 * A value may be legal with some values of another key and not with others: chunks that a schedule
 * does not have, tensor ranks that leave no whole number of stages. Such combinations have no rows.
 * A value that is refused in every combination is a mistake of its own: its rows stay, and say what
 * is wrong. So a combination is left out if the run file is refused with it and each of its values
 * is accepted in another one. */
#ifndef TY_SWEEP_SPACE_H
#define TY_SWEEP_SPACE_H

#include "sim/sweep/row_run.h"

/* Removes such rows from a table of --over, not of --rows; rows->table is `table`. `why`: how many,
 * and the reasons, as a line; "" for none. */
int ty_sweep_space(const struct ty_row_source *rows, struct ty_sweep_table *table, uint32_t jobs,
                   char *why, size_t size, struct ty_arena *arena, struct ty_err *err);

#endif
