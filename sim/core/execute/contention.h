/* contention.h - which links can be asked for more than they have.
 *
 * Communications on one stream of a rank follow each other (as do the messages of a collective), so
 * that a link is never asked for more than the sum, over the streams that use it, of the most that
 * one operation of the stream takes. A link that can carry this sum slows nobody down, whatever the
 * order of events; a flow whose links are all of that kind has a fixed duration. What is left,
 * usually the NICs, is what an executor has to follow. */
#ifndef TY_CORE_EXECUTE_CONTENTION_H
#define TY_CORE_EXECUTE_CONTENTION_H

#include "sim/core/program/program.h"

struct ty_contention {
    struct ty_link *links; /* [n_links]: those that may be contended, in the program's order */
    uint32_t *link_of;     /* [n_links]: their numbers in the program */
    uint32_t n_links;
    struct ty_flow *flows; /* [program->n_flows]; uses count in `uses`; n_uses 0: never slowed */
    struct ty_use *uses;
    uint32_t max_flows; /* most flows on these links at a time, and uses of theirs */
    uint64_t max_uses;
    bool gpus;      /* some computation runs during a collective that slows it down */
    bool scripts;   /* some collective is played message by message */
    bool estimates; /* some communication has less time alone than its duration, which divides links
                     * with others of its kind, whether they use them or not */
};

/* Owned by the arena. 0 or TY_ENOMEM with a message. */
int ty_contention_find(struct ty_contention *out, const struct ty_program *program,
                       struct ty_arena *arena, struct ty_err *err);

/* Links that may be contended in a job of which the program is one of `times` parts that are alike:
 * *n_links of all of them, from `found` in this one, the first. A group with `spread` [n_groups]
 * has members in all parts and flows that members of the first begin: elsewhere they come next to
 * what else is on that stream of others. What it works in is the arena's. 0 or TY_ENOMEM. */
int ty_contention_count(uint32_t *n_links, const struct ty_contention *found,
                        const struct ty_program *program, const bool *spread, uint32_t times,
                        struct ty_arena *arena, struct ty_err *err);

/* Whether anything is shared at all. */
static inline bool ty_contention_any(const struct ty_contention *c)
{
    return c->n_links > 0 || c->gpus || c->scripts;
}

/* Whether it takes ty_events_shared to find out how long tasks are. */
static inline bool ty_contention_matters(const struct ty_contention *c)
{
    return ty_contention_any(c) || c->estimates;
}

#endif
