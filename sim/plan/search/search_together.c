/* search_together.c - a search of several processes. See search_internal.h.
 *
 * Each screens a part of the space, and all are told what every other has found. Then they simulate
 * in rounds: of the next layouts that may have to be, whoever is free takes one. What it finds it
 * tells the others, so that none simulates what is ruled out meanwhile; where they cannot hear it,
 * a round is short. At its end all have the same results and have decided on them by themselves, so
 * that all decide alike, and as one process would. */
#include "sim/plan/search/search_internal.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/pool.h"

/* Waits for the other members of a crew; *stopped: one of them is not to go on. Of all of them the
 * search is what it would be of one: they know the same, and decide alike. */
static int meet(struct ty_plan_searching *s, bool *stopped)
{
    const struct ty_crew *crew = s->asked->crew;
    const int rc = ty_crew_meet(crew, s->fault.code);
    *stopped = ty_plan_is_stopped(s);
    if (rc == 0 && crew != NULL) {
        crew->combine(crew->arg, stopped, sizeof(*stopped));
    }
    return rc;
}

int ty_plan_share_screens(struct ty_plan_searching *s)
{
    const struct ty_crew *crew = s->asked->crew;
    const int rc = meet(s, &s->stopped);
    if (rc == 0 && crew != NULL && !s->stopped) {
        crew->combine(crew->arg, s->screen, s->result->space.n_points * sizeof(*s->screen));
    }
    return rc;
}

#define ROUND 256u /* layouts of a round whose results all hear */

struct round {
    struct ty_plan_searching *search;
    uint32_t point[ROUND]; /* [n] */
    uint32_t n, n_own;
    uint64_t n_told, n_heard; /* by others, in all rounds: one of them may be in the next one */
    struct ty_plan_row row[ROUND]; /* [n]; zeros: not simulated, by this member or by anyone */
};

/* Under the lock: what a member has found, and what follows from it. */
static void keep_row(struct ty_plan_searching *s, const struct ty_plan_row *found)
{
    const uint32_t point = found->row - s->result->first;
    if (s->state[point] == TY_PLAN_DECIDED || s->row[point] != NULL) {
        return;
    }
    struct ty_plan_row *row = malloc(sizeof(*row));
    int rc = row == NULL ? TY_ENOMEM : 0;
    if (row != NULL) {
        *row = *found;
        s->row[point] = row;
        rc = ty_plan_decide(s, &s->fault);
    }
    if (rc < 0) {
        ty_plan_keep_fault(s, rc, NULL);
    }
}

/* Under the lock. */
static void hear_rows(struct round *r)
{
    const struct ty_crew *crew = r->search->asked->crew;
    struct ty_plan_row row;
    while (crew->hear != NULL && crew->hear(crew->arg, &row, sizeof(row))) {
        r->n_heard++;
        keep_row(r->search, &row);
    }
}

/* Unless it has been ruled out meanwhile: it remains so. */
static bool simulate(struct round *r, uint32_t k)
{
    struct ty_plan_searching *s = r->search;
    const struct ty_crew *crew = s->asked->crew;
    pthread_mutex_lock(&s->lock);
    hear_rows(r);
    const bool stopped = ty_plan_is_stopped(s), wanted = ty_plan_is_wanted(s, r->point[k]);
    ty_plan_tell_simulated(s);
    pthread_mutex_unlock(&s->lock);
    if (stopped || !wanted) {
        return !stopped;
    }
    struct ty_err *err = ty_err_new();
    int rc = TY_ENOMEM;
    struct ty_plan_row *row = err != NULL ? ty_plan_simulate_open(s, r->point[k], &rc, err) : NULL;
    pthread_mutex_lock(&s->lock);
    if (row != NULL) {
        r->row[k] = *row;
        r->n_own++;
        keep_row(s, row);
    } else {
        ty_plan_keep_fault(s, rc, err);
    }
    pthread_mutex_unlock(&s->lock);
    if (row != NULL && crew->tell != NULL) {
        crew->tell(crew->arg, row, sizeof(*row));
    }
    free(row);
    ty_err_free(err);
    return row != NULL;
}

/* What one thread does, until nothing is left. */
static bool take_layouts(void *arg, uint32_t thread)
{
    struct round *r = arg;
    const struct ty_crew *crew = r->search->asked->crew;
    (void)thread;
    for (;;) {
        const uint64_t k = crew->take(crew->arg, 1);
        if (k >= r->n) {
            return false;
        }
        if (!simulate(r, (uint32_t)k)) {
            (void)crew->take(crew->arg, ROUND); /* all that could be left */
            return false;
        }
    }
}

/* The most threads that a member has. */
static uint32_t most_threads(const struct ty_plan_searching *s)
{
    const struct ty_crew *crew = s->asked->crew;
    const uint32_t own = ty_pool_threads(s->asked->jobs);
    bool has[TY_PLAN_ABREAST] = {false};
    uint32_t n = TY_PLAN_ABREAST;
    has[(own < n ? own : n) - 1] = true;
    crew->combine(crew->arg, has, sizeof(has));
    while (!has[n - 1]) {
        n--;
    }
    return n;
}

static void begin_round(struct round *r, uint32_t most)
{
    struct ty_plan_searching *s = r->search;
    r->n = r->n_own = 0;
    memset(r->row, 0, sizeof(r->row));
    while (r->n < most && ty_plan_begin_next(s, &r->point[r->n])) {
        r->n++;
    }
}

/* What all have found in a round, and those of it who have been told. */
static int end_round(struct round *r)
{
    struct ty_plan_searching *s = r->search;
    const struct ty_crew *crew = s->asked->crew;
    crew->combine(crew->arg, r->row, r->n * sizeof(*r->row));
    for (uint32_t k = 0; k < r->n; k++) {
        if (r->row[k].step_s > 0) {
            keep_row(s, &r->row[k]);
            r->n_told++;
        }
    }
    r->n_told -= r->n_own;
    while (crew->hear != NULL && r->n_heard < r->n_told) { /* what is on its way */
        hear_rows(r);
    }
    const int rc = s->fault.code;
    return rc < 0 ? rc : ty_plan_decide(s, &s->fault);
}

int ty_plan_simulate_together(struct ty_plan_searching *s, int rc)
{
    const struct ty_crew *crew = s->asked->crew;
    struct round r = {.search = s};
    bool stopped = false;
    rc = ty_crew_meet(crew, rc);
    if (rc < 0) {
        return rc;
    }
    const uint32_t threads = most_threads(s), all = crew->n * threads;
    s->most_open = crew->hear != NULL || all > ROUND ? ROUND : all;
    do {
        begin_round(&r, s->most_open);
        ty_pool_run(0, threads, s->asked->jobs, take_layouts, &r);
        rc = meet(s, &stopped);
        rc = rc == 0 && !stopped ? end_round(&r) : rc;
    } while (rc == 0 && !stopped && r.n > 0);
    return rc;
}
