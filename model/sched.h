/* sched.h - pipeline schedules: in which order a rank runs its passes.
 *
 * A schedule is only an order of slots per rank. What a slot expands to (layers, collectives),
 * what it costs and where messages go are other modules' business. A schedule is one file
 * sched_<name>.c ending in one descriptor, and one row below. */
#ifndef TY_MODEL_SCHED_H
#define TY_MODEL_SCHED_H

#include "sim/base/fields.h"
#include "sim/core/category.h"

/* descriptor suffix, name */
#define TY_SCHEDULES(X)                                                                            \
    X(gpipe, "gpipe")                                                                              \
    X(1f1b, "1f1b")

struct ty_sched_shape {
    uint32_t p; /* pipeline ranks */
    uint32_t m; /* micro-batches */
    uint32_t v; /* virtual stages per rank */
};

/* One entry of a rank's order. */
struct ty_slot {
    uint16_t mb;    /* micro-batch, 0-based */
    uint16_t stage; /* global virtual stage, 0 .. p v - 1, in the order a micro-batch visits them */
    uint8_t phase;  /* enum ty_phase */
    uint8_t pad[3];
};

/* Durations of one pass, any unit. */
struct ty_sched_times {
    double forward, backward;
    double edge; /* delay of a message between ranks */
};

struct ty_sched {
    const char *name, *summary, *source;
    /* Most virtual stages per rank it knows. */
    uint32_t max_chunks;
    /* The slots of one rank in order; out NULL: count only. Returns their number. */
    uint32_t (*order)(const struct ty_sched_shape *shape, uint32_t rank, struct ty_slot *out);
    /* Published makespan without message delays, as text and number. */
    const char *formula;
    double (*makespan)(const struct ty_sched_shape *shape, const struct ty_sched_times *times);
    /* Most micro-batches whose activations a rank holds. */
    uint32_t (*in_flight)(const struct ty_sched_shape *shape, uint32_t rank);
};

extern const struct ty_sched *const ty_schedules[]; /* ends with NULL */
extern const struct ty_word ty_sched_words[];       /* value: index into ty_schedules */

/* By name, or NULL. */
const struct ty_sched *ty_sched_find(const char *name);

/* Pipeline rank of a virtual stage (looped placement). */
static inline uint32_t ty_sched_owner(const struct ty_sched_shape *shape, uint32_t stage)
{
    return stage % shape->p;
}

/* The `schedule` section. */
struct ty_sched_options {
    int name; /* index into ty_schedules */
    uint32_t chunks;
};
extern const struct ty_field ty_sched_fields[];
extern const uint32_t ty_n_sched_fields;

/* "F3.1": a slot as schedule text. Returns buf. */
char *ty_slot_text(const struct ty_slot *slot, char *buf, size_t size);

#endif
