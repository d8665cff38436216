/* fleet.h - pictures of a whole training. */
#ifndef TY_REPORT_FLEET_H
#define TY_REPORT_FLEET_H

#include "sim/base/text.h"
#include "sim/fleet/fleet.h"
#include "sim/fleet/history.h"

/* A line a day: what most of each quarter of an hour went to, failures before work. */
void ty_fleet_gantt(struct ty_text *text, const struct ty_fleet *fleet,
                    const struct ty_fleet_history *history);

/* Slices for ui.perfetto.dev: what the job does, its checkpoints, failures; microseconds. */
void ty_fleet_chrome(struct ty_text *text, const struct ty_fleet *fleet,
                     const struct ty_fleet_history *history);

/* Days as rows; goodput over the interval between checkpoints, and over the size of the job. */
void ty_fleet_svg(struct ty_text *text, const struct ty_fleet *fleet,
                  const struct ty_fleet_history *history);

/* Of the page and the legend: in words, and its colour. */
/* Whether a job can be in that state: what only elastic ones know is left out for others. */
static inline bool ty_fleet_knows(const struct ty_fleet *f, int state)
{
    return state != TY_FLEET_REPLICAS || f->job.days.replicas.n > 0;
}

const char *ty_fleet_state_words(enum ty_fleet_state state);
const char *ty_fleet_colour(enum ty_fleet_state state);

#endif
