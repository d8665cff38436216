/* merge.h - several programs on the same links as one.
 *
 * Gangs, blocks, messages and flows of all of them stand one after the other, each program's rows
 * together and in their order; only links are common. So tasks of a program keep their order, too,
 * and a timeline of the whole is one of each in a row. No operation of one waits for another's:
 * they meet on links alone, and where these are not contended each is executed as if it were alone,
 * to the bit, draws of jitter included. */
#ifndef TY_CORE_PROGRAM_MERGE_H
#define TY_CORE_PROGRAM_MERGE_H

#include "sim/core/program/timeline.h"

struct ty_merge_part {
    const char *name; /* stands before the names of its gangs; "": they keep theirs */
    const struct ty_program *program; /* sealed */
};

/* A sealed program of all parts[n]; ranks of a part are numbered after those of the parts before.
 * Its columns are the arena's, but for names, links (those of the first part) and what is given
 * member by member, which stay the parts'. TY_EBUG when links or vocabularies differ, TY_ELIMIT
 * when there are more rows than can be numbered. */
int ty_program_merge(struct ty_program *out, const struct ty_merge_part *parts, uint32_t n,
                     struct ty_arena *arena, struct ty_err *err);

/* The timeline of part number `tenant`, whose program is `part`, out of that of the whole; its
 * makespan is the part's own, and it has halted if a gang of the part has. Columns are borrowed:
 * never to be released; the halt is the arena's. TY_ENOMEM with a message. */
int ty_timeline_part(struct ty_timeline *out, const struct ty_timeline *whole, uint32_t tenant,
                     const struct ty_program *part, struct ty_arena *arena, struct ty_err *err);

#endif
