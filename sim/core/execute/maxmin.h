/* maxmin.h - weighted max-min fair speeds of flows over links, solved again only where something
 * changed.
 *
 * Every flow runs at a speed of 0 < x <= 1 and takes x times its uses. Speeds are the weighted
 * max-min fair ones: a level rises for all flows alike, x = weight * level, until a flow reaches 1
 * or a link is full; the flows of a full link stop there, the others go on (progressive filling,
 * Bertsekas & Gallager 1992, section 6.5.2). No speed can then be raised without lowering one of a
 * flow that is no better off, relative to its weight.
 *
 * Flows that share no link, directly or through others, do not concern each other: adding and
 * removing marks the links of a flow, and solving visits the connected components of marked links
 * only. Speeds depend on the flows of a component alone, to the bit: not on the order in which they
 * came, nor on what came and went in between, nor on what is elsewhere. */
#ifndef TY_CORE_EXECUTE_MAXMIN_H
#define TY_CORE_EXECUTE_MAXMIN_H

#include <stdbool.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/core/program/links.h"

struct ty_maxmin;

/* A solver for n links of the given capacities (borrowed), at most max_flows flows at a time with
 * at most max_uses uses in all. Owned by the arena; NULL: no memory. */
struct ty_maxmin *ty_maxmin_new(const struct ty_link *links, uint32_t n, uint32_t max_flows,
                                uint64_t max_uses, struct ty_arena *arena);

/* A flow begins: returns its number, 0 .. max_flows - 1, the lowest that is free. Its speed is
 * known after the next solve. uses[n] is borrowed until it is removed; n >= 1, weight > 0. */
uint32_t ty_maxmin_add(struct ty_maxmin *m, const struct ty_use *uses, uint32_t n, double weight);

/* A flow ends. */
void ty_maxmin_remove(struct ty_maxmin *m, uint32_t flow);

/* Called for every flow whose speed changed by more than rounding, a part in 10^12, since it was
 * last told; new ones among them (from 0). Nothing may be added or removed meanwhile. */
typedef void ty_maxmin_changed_fn(void *arg, uint32_t flow, double now);

/* Speeds after all changes since the last call. */
void ty_maxmin_solve(struct ty_maxmin *m, ty_maxmin_changed_fn *changed, void *arg);

/* Whether something was added or removed since the last solve. */
bool ty_maxmin_is_dirty(const struct ty_maxmin *m);

/* Of a solved set. */
double ty_maxmin_speed(const struct ty_maxmin *m, uint32_t flow);

#endif
