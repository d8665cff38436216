/* kineto.h - what the files of the Kineto writer share. */
#ifndef TY_TRACES_CHROME_KINETO_H
#define TY_TRACES_CHROME_KINETO_H

#include "traces/out/writer.h"

/* The ranks that communicate in an operation of a member of a gang. */
struct ty_kineto_group {
    uint64_t number;    /* of the process group: the same in the files of all its ranks */
    const char *what;   /* "tp", "pp" */
    uint32_t *ranks, n; /* ascending */
};

/* The group of an operation that is not LOCAL; ranks are the arena's. 0 or TY_ENOMEM. */
int ty_kineto_group(const struct ty_program *p, struct ty_seat seat, const struct ty_op *op,
                    struct ty_arena *arena, struct ty_kineto_group *out);

/* Which of the links of a program an operation uses: < ty_kineto_links(p), each with one group on
 * a rank. */
uint32_t ty_kineto_link(const struct ty_program *p, const struct ty_op *op);
uint32_t ty_kineto_links(const struct ty_program *p);

#endif
