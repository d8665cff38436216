/* script.h - a collective as the messages that make it up: who sends what to whom, after what.
 *
 * A member sends one message at a time, in the order of its list; each starts when those that it
 * waits for have arrived and the one before it has been sent. A member is done when it has sent and
 * received all of its own: members of a group need not end together.
 *
 *     ring of 4, all-reduce     member 0   -> 1   -> 1   -> 1   ...     each after what came from 3
 *
 * Scripts know positions in a group, not ranks: groups of a kind share one. */
#ifndef TY_CORE_PROGRAM_SCRIPT_H
#define TY_CORE_PROGRAM_SCRIPT_H

#include <stdint.h>

#include "sim/base/units.h"

struct ty_message {
    uint32_t to;                   /* position in the group */
    uint32_t pair;                 /* which flow of the group it is: 0 .. n_pairs - 1 */
    uint32_t first_after, n_after; /* rows of the program's afters: messages to the sender, by their
                                    * number in the script, that must have arrived */
    ty_ps alone;                   /* with the links to itself, latency (ty_flow.lead) and bytes */
};

/* Messages by sender, in the order they are sent. */
struct ty_script {
    uint32_t first, n;   /* rows of the program's messages */
    uint32_t first_send; /* row of position 0 in the program's sends, which hold the number of the
                          * first message of each position, and n at the end: [positions + 1] */
    uint32_t positions, n_pairs;
};

#endif
