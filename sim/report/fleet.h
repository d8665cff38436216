/* fleet.h - pictures of a whole training. */
#ifndef TY_REPORT_FLEET_H
#define TY_REPORT_FLEET_H

#include "sim/base/text.h"
#include "sim/fleet/fleet.h"
#include "sim/fleet/history.h"

/* Days as rows; goodput over the interval between checkpoints, and over the size of the job. */
void ty_fleet_svg(struct ty_text *text, const struct ty_fleet *fleet,
                  const struct ty_fleet_history *history);

/* Whether a job can be in that state: what only elastic ones know, or ones with hosts that become
 * slow, launches that drift or evaluations, is left out for others. */
static inline bool ty_fleet_knows(const struct ty_fleet *f, int state)
{
    const struct ty_days *d = &f->job.days;
    return state == TY_FLEET_REPLICAS     ? d->replicas.n > 0
           : state == TY_FLEET_SLOW       ? d->slow.rate > 0
           : state == TY_FLEET_DRIFT      ? d->slow.drift > 0
           : state == TY_FLEET_EVALUATION ? d->evaluation > 0
                                          : true;
}

/* Whether it is a stretch of time, and has a colour: slow steps and evaluations are part of the
 * work. */
static inline bool ty_fleet_lasts(const struct ty_fleet *f, int state)
{
    return state < TY_FLEET_SLOW && ty_fleet_knows(f, state);
}

/* Of the page and the legend: in words, and its colour. */
const char *ty_fleet_state_words(enum ty_fleet_state state);
const char *ty_fleet_colour(enum ty_fleet_state state);

#endif
