/* workload.h - the section `workload`: what ranks do, as others wrote it down, in place of a model
 * and its layout. */
#ifndef TY_CONFIG_WORKLOAD_H
#define TY_CONFIG_WORKLOAD_H

#include "sim/document/fields.h"
#include "sim/exchange/read/traced.h"

struct ty_workload_options {
    const char *chakra;          /* PREFIX of PREFIX.RANK.et; NULL: none */
    const char *groups;          /* JSON of its groups; NULL: none */
    const char *goal;            /* path of a GOAL schedule, text or binary; NULL: none */
    double unit;                 /* s of its time */
    const struct ty_traced *job; /* what was read; NULL: nothing, there are model and layout */
};

extern const struct ty_field ty_workload_fields[];
extern const uint32_t ty_n_workload_fields;

#endif
