/* say.h - gangs, passes and operations in words, for messages about a program. */
#ifndef TY_CORE_PROGRAM_SAY_H
#define TY_CORE_PROGRAM_SAY_H

#include "sim/core/program/program.h"

#define TY_SAY 160u /* bytes that suffice for each of these */

/* An operation of a program by gang, pass within the gang and number within the block. */
struct ty_op_ref {
    uint32_t gang, pass, op;
};

static inline const struct ty_pass *ty_op_ref_pass(const struct ty_program *p, struct ty_op_ref at)
{
    return &ty_gang_passes(p, &p->gangs[at.gang])[at.pass];
}
static inline const struct ty_op *ty_op_ref_op(const struct ty_program *p, struct ty_op_ref at)
{
    return &ty_pass_ops(p, ty_op_ref_pass(p, at))[at.op];
}

/* "stage 3 (ranks 24-31)". All return buf. */
char *ty_say_gang(const struct ty_program *p, uint32_t gang, char buf[TY_SAY]);

/* "backward 3", "optimizer step", with " of step 1" when there are several. */
char *ty_say_pass(const struct ty_program *p, const struct ty_pass *pass, char buf[TY_SAY]);

/* What an operation carries: "act of micro-batch 3 (send, 32 MiB, group pp)", "all-reduce (262 MB,
 * group dp)". */
char *ty_say_op(const struct ty_program *p, const struct ty_pass *pass, const struct ty_op *op,
                char buf[TY_SAY]);

#endif
