/* explicit_job.h - the jobs of explicit_spec.h as programs over links. */
#ifndef TY_TESTS_EXPLICIT_JOB_H
#define TY_TESTS_EXPLICIT_JOB_H

#include "sim/core/program/program.h"
#include "tests/common/explicit_spec.h"

/* Links of a platform; routes are worked out when asked for. */
struct explicit_fabric {
    enum explicit_platform platform;
    uint32_t hosts, n_links;
    struct ty_link *links;
    double *latency_s; /* [n_links] */
};

/* Owned by the arena; false: no memory. */
bool explicit_fabric_new(struct explicit_fabric *fabric, const struct explicit_spec *spec,
                         struct ty_arena *arena);

/* From one host to another one. */
struct explicit_route {
    uint32_t link[4], n; /* increasing */
    double latency_s;    /* of all */
    double Bps;          /* of the narrowest */
};
struct explicit_route explicit_route(const struct explicit_fabric *fabric, uint32_t from,
                                     uint32_t to);

/* A message alone: latency, then bytes at full speed. */
ty_ps explicit_message_ps(const struct explicit_route *route, uint64_t bytes);

/* Builds and seals the program of a job in the arena. A ring is a gang with a collective played
 * message by message; a pipeline is a gang per stage, and each of its messages a send with its
 * receive. Flows that meet share as 1 / latency, as CM02 has it (Casanova & Marchal 2002). Returns
 * 0 or the builder's error. */
int explicit_job(struct ty_program *program, const struct explicit_spec *spec,
                 const struct explicit_fabric *fabric, struct ty_arena *arena, struct ty_err *err);

/* Messages in all. */
uint64_t explicit_messages(const struct explicit_spec *spec);

#endif
