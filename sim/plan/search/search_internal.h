/* search_internal.h - a search under way; see search.h. */
#ifndef TY_PLAN_SEARCH_INTERNAL_H
#define TY_PLAN_SEARCH_INTERNAL_H

#include <pthread.h>

#include "sim/plan/search/front.h"
#include "sim/plan/search/screen.h"
#include "sim/plan/search/search.h"
#include "sim/plan/search/tools.h"

/* Of a layout that fits. */
enum ty_plan_state {
    TY_PLAN_WAITING,
    TY_PLAN_BEGUN,  /* its simulation, perhaps for nothing */
    TY_PLAN_DECIDED /* it is an answer, or known to be none */
};

struct ty_plan_searching {
    struct ty_plan_result *result;
    const struct ty_plan_search *asked;
    struct ty_plan_tools tools;
    struct ty_plan_screen *screen; /* [n_points] */
    uint32_t *queue;               /* [n_queued] points that fit, best bound first */
    uint32_t n_queued;
    uint32_t next;   /* of the queue: all before it are decided */
    uint32_t ahead;  /* of the queue: all before it are decided or begun, or ruled out */
    uint32_t n_open; /* begun and not decided: at most */
    uint32_t most_open;
    uint8_t *state;  /* [n_points] enum ty_plan_state */
    uint32_t *taken; /* [n_taken] those that were to be simulated */
    uint32_t n_taken;
    struct ty_plan_row **row;   /* [n_points] what was simulated, or was known */
    struct ty_plan_front front; /* of those taken */
    uint32_t screened;
    double tell_s, told; /* when simulations are told of next (ty_wall_s), and their share so far */
    bool stopped;
    pthread_mutex_t lock;
    pthread_cond_t news;
    struct ty_err fault; /* of the first layout that could not be simulated */
};

bool ty_plan_is_stopped(const struct ty_plan_searching *s);
void ty_plan_tell(struct ty_plan_searching *s, double share);

/* The same of simulations, which are the second half; under the lock. */
void ty_plan_tell_simulated(struct ty_plan_searching *s);

/* One that is known, or simulated, with a tool that nobody else uses; NULL: it cannot be. */
struct ty_plan_row *ty_plan_simulate_open(struct ty_plan_searching *s, uint32_t point, int *rc,
                                          struct ty_err *err);

/* The rest is called under the lock, or where one thread is at work. The search ends for this
 * reason, unless it has one. */
void ty_plan_keep_fault(struct ty_plan_searching *s, int rc, const struct ty_err *err);

/* The next layout that may have to be simulated; false: there is none. What is known only grows, so
 * one that is ruled out remains so. */
bool ty_plan_begin_next(struct ty_plan_searching *s, uint32_t *point);

/* Whether one that was begun may still be an answer. */
bool ty_plan_is_wanted(const struct ty_plan_searching *s, uint32_t point);

/* Decides on layouts one after the other, as far as it is known what all before them take. */
int ty_plan_decide(struct ty_plan_searching *s, struct ty_err *err);

/* ---- search_together.c: of a crew, or nothing ---- */

/* What others have screened. */
int ty_plan_share_screens(struct ty_plan_searching *s);

/* Simulates what has to be, with the others; rc: how this member has fared. */
int ty_plan_simulate_together(struct ty_plan_searching *s, int rc);

#endif
