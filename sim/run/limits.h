/* limits.h - what a run takes of this machine's memory, told before it is taken.
 *
 * A run may take run.memory_limit, or else 80 % of what the machine lets this process have
 * (sim/base/machine.h). Bills are within a factor of 1.5 of what is taken then;
 * docs/internals/robustness.md has them next to measurements. */
#ifndef TY_RUN_LIMITS_H
#define TY_RUN_LIMITS_H

#include "sim/run/run.h"

/* Whether a run of this configuration may take that many bytes; NULL: no run file says how many. */
bool ty_limit_allows(const struct ty_config *config, double need);

/* Whether `need` bytes for `what` ("a run of 12 tasks") are there, `held` being taken already. 0,
 * or TY_ELIMIT with both figures and the remedy. */
int ty_limit_check(const struct ty_config *config, const char *what, double need, double held,
                   const char *remedy, struct ty_err *err);

/* For struct ty_lower_input, allow: whether the least that the program and its timeline will take
 * is there, as far as its ranks are known. The figure that is told is of all ranks. */
struct ty_limit_plan {
    const struct ty_config *config;
    bool folded; /* one member of each gang will be executed ... */
    bool report; /* ... for a report, not for a row of a sweep */
};

/* An execution of a program. */
struct ty_limit_use {
    enum ty_engine engine;
    bool folded;    /* one member of each gang ... */
    bool report;    /* ... for a report, not for a row of a sweep */
    double plan;    /* bytes of the program */
    uint32_t times; /* ranks of the job that one of the program stands for; 0: 1 */
    double held;    /* bytes that others hold */
};

/* Bytes of an execution next to the program: its timeline, and what executors and statistics need
 * for a while. `plan` and `held` are not read. */
double ty_limit_execution_B(const struct ty_config *config, const struct ty_program *program,
                            const struct ty_limit_use *use);

/* Whether there is memory for an execution and its program, next to what others hold. */
int ty_limit_check_program(const struct ty_config *config, const struct ty_program *program,
                           const struct ty_limit_use *use, struct ty_err *err);

#endif
