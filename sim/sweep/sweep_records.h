/* sweep_records.h - numbered rows of a table, as they are kept while not all of them are there: in
 * PATH.partial of a sweep, in the tables of its shards. */
#ifndef TY_SWEEP_RECORDS_H
#define TY_SWEEP_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/text.h"

/* Looks at the line of row `row` that was read. 1: it has an answer; 0: it tells why it has none;
 * TY_EINPUT: it is not of this sweep; TY_ENOMEM. */
typedef int ty_sweep_look(void *arg, uint32_t row, const char *line);

/* Rows that were read or simulated. */
struct ty_sweep_records {
    const char *what; /* "sweep", "plan": what messages call it */
    const char *head; /* line of such a file */
    char **line;      /* [n_rows] of the table; NULL: not there, or written in order */
    uint32_t n_rows;
};

/* What was in a file. */
struct ty_sweep_found {
    size_t size, whole; /* B; of them up to the first broken record */
    uint32_t sample;    /* a row that it brought, with an answer if one has; UINT32_MAX: none */
};

/* The first line of such files, of a table with that header; NULL without memory. */
const char *ty_sweep_records_head(const char *header, struct ty_arena *arena);

/* Appends the record of a row, a line of the table. */
void ty_sweep_records_put(struct ty_text *t, uint32_t row, const char *line);

/* Takes over the rows of a file before the first broken one; those that are there already have to
 * be the same. `otherwise` ends the message about a file that is of another sweep. */
int ty_sweep_records_read(struct ty_sweep_records *records, const char *path, ty_sweep_look *look,
                          void *arg, const char *otherwise, struct ty_sweep_found *found,
                          struct ty_err *err);

void ty_sweep_records_release(struct ty_sweep_records *records);

#endif
