/* search_together.c - a search of several processes. See search_internal.h.
 *
 * Each screens a part of the space, and all are told what every other has found. Then they simulate
 * in rounds: of the next layouts that may have to be, each takes its share. All have the results at
 * the end of a round and decide on them by themselves, so that all decide alike, and as one process
 * would. */
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

/* Layouts that members simulate side by side, each every n-th. */
struct round {
    struct ty_plan_searching *search;
    uint32_t *point; /* [n] */
    uint32_t n;
    struct ty_plan_row *row; /* [n] of all members, zeros until they have told */
};

static bool simulate_own(void *arg, uint32_t i)
{
    const struct round *r = arg;
    struct ty_plan_searching *s = r->search;
    const uint32_t k = s->asked->crew->member + i * s->asked->crew->n;
    struct ty_err *err = ty_err_new();
    int rc = TY_ENOMEM;
    struct ty_plan_row *row = err != NULL ? ty_plan_simulate_open(s, r->point[k], &rc, err) : NULL;
    if (row != NULL) {
        r->row[k] = *row;
    } else {
        pthread_mutex_lock(&s->lock);
        ty_plan_keep_fault(s, rc, err);
        pthread_mutex_unlock(&s->lock);
    }
    free(row);
    ty_err_free(err);
    return row != NULL;
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

/* What all have found in a round. */
static int end_round(const struct round *r)
{
    struct ty_plan_searching *s = r->search;
    const struct ty_crew *crew = s->asked->crew;
    crew->combine(crew->arg, r->row, r->n * sizeof(*r->row));
    for (uint32_t k = 0; k < r->n; k++) {
        struct ty_plan_row *row = malloc(sizeof(*row));
        if (row == NULL) {
            return TY_ENOMEM;
        }
        *row = r->row[k];
        s->row[r->point[k]] = row;
    }
    return ty_plan_decide(s, &s->fault);
}

int ty_plan_simulate_together(struct ty_plan_searching *s, int rc)
{
    const struct ty_crew *crew = s->asked->crew;
    uint32_t point[TY_PLAN_ABREAST];
    struct ty_plan_row row[TY_PLAN_ABREAST];
    struct round r = {.search = s, .point = point, .row = row};
    bool stopped = false;
    rc = ty_crew_meet(crew, rc);
    if (rc < 0) {
        return rc;
    }
    const uint32_t threads = most_threads(s);
    do {
        memset(row, 0, sizeof(row));
        for (r.n = 0; r.n < crew->n * threads && s->n_open < TY_PLAN_ABREAST &&
                      ty_plan_begin_next(s, &point[r.n]);) {
            r.n++;
        }
        const uint32_t after = r.n > crew->member ? r.n - crew->member : 0;
        ty_pool_run(0, (after + crew->n - 1) / crew->n, s->asked->jobs, simulate_own, &r);
        rc = meet(s, &stopped);
        rc = rc == 0 && !stopped ? end_round(&r) : rc;
        ty_plan_tell_simulated(s);
    } while (rc == 0 && !stopped && r.n > 0);
    return rc;
}
