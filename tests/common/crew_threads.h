/* crew_threads.h - a crew whose members are threads of a test. */
#ifndef TY_TESTS_CREW_THREADS_H
#define TY_TESTS_CREW_THREADS_H

#include "sim/trainyard.h"

/* What a member does. */
typedef void crew_member_fn(const struct ty_crew *crew, void *arg);

/* Plays n members, at most 8, beside each other. */
void crew_threads_play(uint32_t n, crew_member_fn *member, void *arg);

#endif
