/* search.c - decides which layouts of a space are simulated, in one process or in several.
 *
 * Each point is screened first: memory and a lower bound. Points that fit wait in a queue, best
 * bound first. Threads begin simulations from its head. A result is taken or discarded in the order
 * of the queue, once all results before it are known.
 *
 * Several processes (a crew) each screen a part of the space and exchange what they found. Then
 * they simulate in rounds: whoever is free takes one of the next layouts that may have to be
 * simulated, and sends the result to the others, which then skip what it rules out. Where they
 * cannot receive messages during a round, rounds are short. At the end of a round all members have
 * the same results, and decide on them as one process would. */
#include "sim/plan/search/search.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/check.h"
#include "sim/base/clock.h"
#include "sim/base/pool.h"
#include "sim/plan/search/front.h"
#include "sim/plan/search/screen.h"

static int plan_front_init(struct ty_plan_front *front, enum ty_plan_objective objective,
                           uint32_t top, uint32_t most)
{
    *front =
        /* ---- the K best keys and the Pareto set ----
 *
 * Keeps the K best keys and the staircase of the Pareto set. */

        (struct ty_plan_front){.top = top < most ? top : most,
                               .slowest = objective == TY_PLAN_MEMORY ? INFINITY : TY_PLAN_SLOWEST};
    front->best = malloc((front->top + 1) * sizeof(*front->best));
    front->tight = malloc((front->top + 1) * sizeof(*front->tight));
    front->stair = malloc((most + 1) * sizeof(*front->stair));
    return front->best != NULL && front->tight != NULL && front->stair != NULL ? 0 : TY_ENOMEM;
}

/* Prepares for at most `most` layouts. The objective memory keeps all stairs, others those up to
 * TY_PLAN_SLOWEST times the fastest step. Returns 0 or TY_ENOMEM; to be released in any case. */
static void plan_front_release(struct ty_plan_front *front)
{
    free(front->best);
    free(front->tight);
    free(front->stair);
}

/* Adds a key to the `top` best of a list. */
static void add_best(struct ty_plan_key *best, uint32_t *n, uint32_t top,
                     const struct ty_plan_key *key)
{
    uint32_t at = *n;
    while (at > 0 && ty_plan_key_before(key, &best[at - 1])) {
        at--;
    }
    memmove(best + at + 1, best + at, (*n - at) * sizeof(*key));
    best[at] = *key;
    *n += *n < top;
    assert(at <= *n);
}

/* Returns whether a stair is at least as good in both; of equal ones the earlier row is better. */
static bool beats(const struct ty_plan_stair *a, const struct ty_plan_stair *b)
{
    const bool equal = a->step_s == b->step_s && a->peak_B == b->peak_B;
    return equal ? a->row < b->row : a->step_s <= b->step_s && a->peak_B <= b->peak_B;
}

/* Returns how many stairs are as fast or faster. */
static uint32_t as_fast(const struct ty_plan_front *front, double step_s)
{
    uint32_t low = 0, high = front->n_stairs;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (front->stair[middle].step_s <= step_s) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Compares with the last stair that is as fast: it needs least memory of these. */
static bool is_beaten(const struct ty_plan_front *front, const struct ty_plan_stair *stair)
{
    const uint32_t n = as_fast(front, stair->step_s);
    return n > 0 && beats(&front->stair[n - 1], stair);
}

/* Returns whether each stair is slower than the one before and needs less memory. */
static bool is_staircase(const struct ty_plan_front *front)
{
    bool falls = true;
    for (uint32_t i = 1; i < front->n_stairs; i++) {
        const struct ty_plan_stair *a = &front->stair[i - 1], *b = &front->stair[i];
        falls = falls && a->step_s < b->step_s && a->peak_B > b->peak_B;
    }
    return falls;
}

static void add_stair(struct ty_plan_front *front, const struct ty_plan_stair *stair)
{
    if (is_beaten(front, stair)) {
        return;
    }
    uint32_t n = 0, at = 0;
    for (uint32_t i = 0; i < front->n_stairs; i++) {
        if (!beats(stair, &front->stair[i])) {
            front->stair[n++] = front->stair[i];
        }
    }
    while (at < n && front->stair[at].step_s < stair->step_s) {
        at++;
    }
    memmove(front->stair + at + 1, front->stair + at, (n - at) * sizeof(*stair));
    front->stair[at] = *stair;
    front->n_stairs = n + 1;
    TY_DEBUG_CHECK(is_staircase(front));
}

static void plan_front_add(struct ty_plan_front *front, const struct ty_plan_key *key,
                           double step_s, double peak_B, bool tight)
{
    const struct ty_plan_stair stair = {step_s, peak_B, key->row};
    assert(step_s > 0 && peak_B > 0);
    if (tight) {
        add_best(front->tight, &front->n_tight, front->top, key);
    } else {
        add_best(front->best, &front->n_best, front->top, key);
        add_stair(front, &stair);
    }
}

/* Compares with the first stair, which is the fastest. */
static bool is_slow(const struct ty_plan_front *front, double step_s)
{
    return front->n_stairs > 0 && step_s > front->slowest * front->stair[0].step_s;
}

/* Removes the stairs that are too slow, now that the fastest is known. */
static void plan_front_cut(struct ty_plan_front *front)
{
    while (front->n_stairs > 0 && is_slow(front, front->stair[front->n_stairs - 1].step_s)) {
        front->n_stairs--;
    }
}

/* Returns whether a key is among the `top` best of a list. */
static bool is_among(const struct ty_plan_key *best, uint32_t n, uint32_t top,
                     const struct ty_plan_key *key)
{
    return n < top || ty_plan_key_before(key, &best[n - 1]);
}

/* Returns whether a layout of this key or a later one, with at least this step and peak, could be
 * among the best or on the stairs. A tight one is not for itself, but may be ahead of these. */
static bool plan_front_admits(const struct ty_plan_front *front, const struct ty_plan_key *key,
                              double step_s, double peak_B, bool tight)
{
    const struct ty_plan_stair stair = {step_s, peak_B, key->row};
    const bool is_best = is_among(front->best, front->n_best, front->top, key);
    if (tight) {
        return is_best && is_among(front->tight, front->n_tight, front->top, key);
    }
    return is_best || (!is_slow(front, step_s) && !is_beaten(front, &stair));
}

#define ABREAST      32u  /* layouts begun and not decided, at most */
#define PIECE        256u /* points that a thread screens at a time */
#define ROUND        256u /* layouts of a round, where members receive results meanwhile */
#define TELL_EVERY_S 0.2  /* between two reports of progress */
#define ROUNDING                                                                                   \
    1e-12 /* relative, between the peak of a screen and of a run: sums in other orders */

/* States of a layout that fits. */
enum state {
    WAITING,
    BEGUN,  /* its simulation has begun, perhaps for nothing */
    DECIDED /* it was taken, or ruled out */
};

struct searching {
    struct ty_plan_result *result;
    const struct ty_plan_search *asked;
    struct ty_plan_tools tools;
    struct ty_plan_screen *screen; /* [n_points] */
    uint32_t *queue;               /* [n_queued] points that fit, best bound first */
    uint32_t n_queued;
    uint32_t next;              /* index into the queue: all before it are decided */
    uint32_t ahead;             /* index into the queue: none before it is left to begin */
    uint32_t n_open, most_open; /* layouts begun and not decided, and how many there may be */
    uint8_t *state;             /* [n_points] enum state */
    uint32_t *taken;            /* [n_taken] points that had to be simulated */
    uint32_t n_taken;
    struct ty_plan_row **row;   /* [n_points] results, simulated now or before; or NULL */
    struct ty_plan_front front; /* of the points taken */
    uint32_t screened;          /* points */
    uint32_t stride;            /* between pieces of points that are screened one after the other */
    double half_s;              /* of ty_wall_s, when screening ends; 0: with the last point */
    double tell_s, told; /* time of the next report of progress (ty_wall_s); share reported */
    bool stopped;
    pthread_mutex_t lock;
    pthread_cond_t news; /* a simulation has ended */
    struct ty_err fault; /* of the first layout that could not be simulated */
};

/* Ends the search for a reason, unless it has one already. Under the lock. */
static void keep_fault(struct searching *s, int rc, const struct ty_err *err)
{
    if (s->fault.code == 0) {
        ty_fail(&s->fault, rc, "%s", err != NULL ? err->text : "memory is exhausted");
    }
    s->stopped = true;
}

static void tell(struct searching *s, double share)
{
    if (s->asked->progress != NULL) {
        s->asked->progress(s->asked->progress_arg, share);
    }
}

static bool is_stopped(const struct searching *s)
{
    return s->stopped || (s->asked->stop != NULL && *s->asked->stop != 0) ||
           (s->asked->until_s > 0 && ty_wall_s() > s->asked->until_s);
}

/* ---- memory and bounds ---- */

/* Returns whether a point belongs to the shard and to this member of a crew. */
static bool is_ours(const struct searching *s, uint32_t point)
{
    const struct ty_plan_search *asked = s->asked;
    return (s->result->first + point) % asked->n_shards == asked->shard &&
           (asked->crew == NULL || point / PIECE % asked->crew->n == asked->crew->member);
}

static uint32_t n_pieces(const struct searching *s)
{
    return (s->result->space.n_points + PIECE - 1) / PIECE;
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/* A search that may end early looks at layouts from all over the space, for half of its time. */
static void spread_pieces(struct searching *s)
{
    const double until_s = s->asked->until_s;
    s->stride = 1;
    if (until_s > 0) {
        s->half_s = (ty_wall_s() + until_s) / 2;
        s->stride = (uint32_t)(0.618 * n_pieces(s)) + 1;
        while (common_divisor(s->stride, n_pieces(s)) > 1) {
            s->stride++;
        }
    }
}

static bool screen_piece(void *arg, uint32_t i)
{
    struct searching *s = arg;
    const struct ty_plan_space *space = &s->result->space;
    const uint32_t n = space->n_points;
    i = (uint32_t)((uint64_t)i * s->stride % n_pieces(s));
    const uint32_t end = n - i * PIECE < PIECE ? n : (i + 1) * PIECE;
    struct ty_err *err = ty_err_new();
    struct ty_plan_tool *tool = err != NULL ? ty_plan_tools_take(&s->tools) : NULL;
    int rc = tool != NULL ? 0 : TY_ENOMEM;
    for (uint32_t k = i * PIECE; k < end && rc == 0; k++) {
        if (is_ours(s, k)) {
            rc = ty_plan_screen(space, &space->point[k], tool, &s->screen[k], err);
        }
    }
    pthread_mutex_lock(&s->lock);
    if (rc < 0) {
        keep_fault(s, rc, err);
    }
    assert(end > i * PIECE && end <= n);
    s->screened += end - i * PIECE;
    tell(s, 0.5 * s->screened / n);
    const bool more = !is_stopped(s) && (s->half_s <= 0 || ty_wall_s() < s->half_s);
    pthread_mutex_unlock(&s->lock);
    ty_plan_tools_give(&s->tools, tool);
    ty_err_free(err);
    return more;
}

/* Returns a lower bound of the peak memory of a run. */
static double least_peak(const struct searching *s, uint32_t point)
{
    return s->screen[point].peak_B * (1 - ROUNDING);
}

static struct ty_plan_key key_of(const struct searching *s, uint32_t point)
{
    return ty_plan_key(s->asked->objective, s->screen[point].bound_s, least_peak(s, point), point);
}

static int by_key(const void *a, const void *b)
{
    const struct ty_plan_key *x = a, *y = b;
    return ty_plan_key_before(x, y) ? -1 : ty_plan_key_before(y, x);
}

/* Returns whether each queued point comes after the one before it. */
static bool is_in_order(const struct searching *s)
{
    bool in_order = true;
    for (uint32_t i = 1; i < s->n_queued; i++) {
        const struct ty_plan_key a = key_of(s, s->queue[i - 1]), b = key_of(s, s->queue[i]);
        in_order = in_order && ty_plan_key_before(&a, &b);
    }
    return in_order;
}

/* Queues the points that fit, best first. If none fits, notes the one that lacks least memory. */
static int make_queue(struct searching *s)
{
    struct ty_plan_result *r = s->result;
    struct ty_plan_key *queued = malloc((r->space.n_points + 1) * sizeof(*queued));
    double least = 0;
    if (queued == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < r->space.n_points; i++) {
        const struct ty_plan_screen *screen = &s->screen[i];
        const double over = screen->peak_B - screen->capacity_B;
        if (screen->fits) {
            queued[s->n_queued++] = key_of(s, i);
        } else if (screen->peak_B > 0 && (r->nearest_peak_B == 0 || over < least)) {
            least = over;
            r->nearest = i;
            r->nearest_peak_B = screen->peak_B;
            r->nearest_capacity_B = screen->capacity_B;
        }
    }
    qsort(queued, s->n_queued, sizeof(*queued), by_key);
    for (uint32_t i = 0; i < s->n_queued; i++) {
        s->queue[i] = queued[i].row;
    }
    free(queued);
    TY_DEBUG_CHECK(is_in_order(s));
    return 0;
}

/* ---- simulation ---- */

static bool is_tight(const struct searching *s, uint32_t point)
{
    const struct ty_plan_screen *screen = &s->screen[point];
    return ty_plan_is_tight(&s->result->space, screen->peak_B, screen->capacity_B);
}

/* Adds a result to a front. */
static void add_found(const struct searching *s, struct ty_plan_front *front, uint32_t point)
{
    const struct ty_plan_row *row = s->row[point];
    const struct ty_plan_key key =
        ty_plan_key(s->asked->objective, row->step_s, row->peak_B, point);
    plan_front_add(front, &key, row->step_s, row->peak_B, is_tight(s, point));
}

/* Returns whether a point may still be among the best or in the Pareto set. */
static bool admits(const struct searching *s, uint32_t point)
{
    const struct ty_plan_key key = key_of(s, point);
    return plan_front_admits(&s->front, &key, s->screen[point].bound_s, least_peak(s, point),
                             is_tight(s, point));
}

/* Returns whether the result of a layout that was begun is still needed. */
static bool is_wanted(const struct searching *s, uint32_t point)
{
    return s->state[point] == BEGUN && s->row[point] == NULL && admits(s, point);
}

/* Takes the result of a layout that had to be simulated. */
static void take(struct searching *s, uint32_t point)
{
    assert(s->state[point] == DECIDED && s->n_taken < s->n_queued);
    s->taken[s->n_taken++] = point;
    add_found(s, &s->front, point);
}

/* Reports the progress of simulations, which are the second half, under the lock. Their number is
 * not known beforehand: every result rules some layouts out. It is estimated as those taken and
 * those that would have to be simulated now. Counting them takes 5 % of the time. */
static void tell_simulated(struct searching *s)
{
    const double now_s = s->asked->progress != NULL ? ty_wall_s() : 0;
    uint32_t left = 0;
    if (s->asked->progress == NULL || now_s < s->tell_s) {
        return;
    }
    for (uint32_t k = s->next; k < s->n_queued; k++) {
        left += s->state[s->queue[k]] != DECIDED && admits(s, s->queue[k]);
    }
    s->told = fmax(s->told, s->n_taken / (s->n_taken + (double)left + 1));
    tell(s, 0.5 + 0.5 * s->told);
    s->tell_s = now_s + fmax(TELL_EVERY_S, 20 * (ty_wall_s() - now_s));
}

/* Decides on the layouts of the queue as far as all results before them are known. Under the lock,
 * or where one thread is at work. */
static int decide(struct searching *s, struct ty_err *err)
{
    int rc = 0;
    for (; s->next < s->ahead && rc == 0; s->next++) {
        const uint32_t i = s->queue[s->next];
        const bool wanted = s->state[i] == BEGUN && admits(s, i);
        if (wanted && s->row[i] == NULL) {
            break;
        }
        assert(s->n_open > 0 || s->state[i] != BEGUN);
        s->n_open -= s->state[i] == BEGUN;
        s->state[i] = DECIDED;
        s->result->n_bounded += !wanted;
        if (!wanted) {
            free(s->row[i]);
            s->row[i] = NULL;
        } else if (s->asked->finished != NULL) {
            rc = s->asked->finished(s->asked->arg, s->result, s->row[i], err);
        }
        if (wanted) {
            take(s, i);
        }
    }
    return rc;
}

/* Begins the next layout that may have to be simulated; false: there is none. What is known only
 * grows, so a layout that is ruled out remains so. Under the lock. */
static bool begin_next(struct searching *s, uint32_t *point)
{
    while (s->n_open == s->most_open && !is_stopped(s)) {
        pthread_cond_wait(&s->news, &s->lock);
    }
    while (s->ahead < s->n_queued && !is_stopped(s)) {
        *point = s->queue[s->ahead++];
        if (admits(s, *point)) {
            assert(s->state[*point] == WAITING && s->n_open < s->most_open);
            s->state[*point] = BEGUN;
            s->n_open++;
            return true;
        }
    }
    return false;
}

/* Returns the row of a point, known before or simulated. NULL: it failed, with *rc. */
static struct ty_plan_row *make_row(struct searching *s, uint32_t point, struct ty_plan_tool *tool,
                                    int *rc, struct ty_err *err)
{
    const struct ty_plan_search *asked = s->asked;
    const uint32_t number = s->result->first + point;
    const struct ty_plan_row *known =
        asked->known != NULL ? asked->known(asked->arg, number) : NULL;
    struct ty_plan_row *row = malloc(sizeof(*row));
    if (row == NULL) {
        *rc = TY_ENOMEM;
        return NULL;
    }
    if (known != NULL) {
        *row = *known;
        return row;
    }
    *rc = ty_plan_simulate_with(&s->result->space, point, tool, &s->tools.gate, row, err);
    row->row = number;
    if (*rc < 0) {
        free(row);
        return NULL;
    }
    TY_DEBUG_CHECK(s->screen[point].bound_s <= row->step_s);
    TY_DEBUG_CHECK(fabs(s->screen[point].peak_B - row->peak_B) <= ROUNDING * row->peak_B);
    return row;
}

/* The same with a tool that nobody else uses. */
static struct ty_plan_row *simulate_open(struct searching *s, uint32_t point, int *rc,
                                         struct ty_err *err)
{
    struct ty_plan_tool *tool = ty_plan_tools_take(&s->tools);
    *rc = tool != NULL ? 0 : TY_ENOMEM;
    struct ty_plan_row *row = tool != NULL ? make_row(s, point, tool, rc, err) : NULL;
    ty_plan_tools_give(&s->tools, tool);
    return row;
}

/* Keeps the result of a simulation that has ended. Under the lock. */
static int end(struct searching *s, uint32_t point, struct ty_plan_row *row, struct ty_err *err)
{
    if (s->state[point] == DECIDED) { /* other results have ruled it out meanwhile */
        free(row);
        return 0;
    }
    assert(s->state[point] == BEGUN && s->row[point] == NULL);
    s->row[point] = row;
    return decide(s, err);
}

static bool simulate_next(void *arg, uint32_t i)
{
    struct searching *s = arg;
    uint32_t point = 0;
    (void)i; /* which one is next depends on results */
    pthread_mutex_lock(&s->lock);
    const bool any = begin_next(s, &point);
    pthread_mutex_unlock(&s->lock);
    if (!any) {
        return false;
    }
    struct ty_err *err = ty_err_new();
    int rc = TY_ENOMEM;
    struct ty_plan_row *row = err != NULL ? simulate_open(s, point, &rc, err) : NULL;
    pthread_mutex_lock(&s->lock);
    if (rc == 0) {
        rc = end(s, point, row, err);
    }
    if (rc < 0) {
        keep_fault(s, rc, err);
    }
    tell_simulated(s);
    pthread_cond_broadcast(&s->news);
    pthread_mutex_unlock(&s->lock);
    ty_err_free(err);
    return rc == 0;
}

/* ---- a search of several processes ---- */

/* Waits for the other members of a crew. *stopped: one of them was stopped, or failed. */
static int meet(struct searching *s, bool *stopped)
{
    const struct ty_crew *crew = s->asked->crew;
    const int rc = ty_crew_meet(crew, s->fault.code);
    *stopped = is_stopped(s);
    if (rc == 0 && crew != NULL) {
        crew->combine(crew->arg, stopped, sizeof(*stopped));
    }
    return rc;
}

/* Exchanges what the members of a crew have screened. */
static int share_screens(struct searching *s)
{
    const struct ty_crew *crew = s->asked->crew;
    const int rc = meet(s, &s->stopped);
    if (rc == 0 && crew != NULL && !s->stopped) {
        crew->combine(crew->arg, s->screen, s->result->space.n_points * sizeof(*s->screen));
    }
    return rc;
}

struct round {
    struct searching *search;
    uint32_t point[ROUND];    /* [n] */
    uint32_t n, n_own;        /* layouts of the round; those that this member simulated */
    uint64_t n_told, n_heard; /* rows that others sent, and that arrived, in all rounds: one may
                                    * arrive in the next */
    struct ty_plan_row row[ROUND]; /* [n] step_s 0: not simulated */
};

/* Keeps the row that a member found, and decides what follows. Under the lock. */
static void keep_row(struct searching *s, const struct ty_plan_row *found)
{
    const uint32_t point = found->row - s->result->first;
    assert(point < s->result->space.n_points && s->state[point] != WAITING);
    if (s->state[point] == DECIDED || s->row[point] != NULL) {
        return;
    }
    struct ty_plan_row *row = malloc(sizeof(*row));
    int rc = row == NULL ? TY_ENOMEM : 0;
    if (row != NULL) {
        *row = *found;
        s->row[point] = row;
        rc = decide(s, &s->fault);
    }
    if (rc < 0) {
        keep_fault(s, rc, NULL);
    }
}

/* Keeps the rows that other members have sent. Under the lock. */
static void hear_rows(struct round *r)
{
    const struct ty_crew *crew = r->search->asked->crew;
    struct ty_plan_row row;
    while (crew->hear != NULL && crew->hear(crew->arg, &row, sizeof(row))) {
        r->n_heard++;
        keep_row(r->search, &row);
    }
}

/* Simulates a layout of the round, unless it has been ruled out meanwhile. False: no more. */
static bool simulate(struct round *r, uint32_t k)
{
    struct searching *s = r->search;
    const struct ty_crew *crew = s->asked->crew;
    pthread_mutex_lock(&s->lock);
    hear_rows(r);
    const bool stopped = is_stopped(s), wanted = is_wanted(s, r->point[k]);
    tell_simulated(s);
    pthread_mutex_unlock(&s->lock);
    if (stopped || !wanted) {
        return !stopped;
    }
    struct ty_err *err = ty_err_new();
    int rc = TY_ENOMEM;
    struct ty_plan_row *row = err != NULL ? simulate_open(s, r->point[k], &rc, err) : NULL;
    pthread_mutex_lock(&s->lock);
    if (row != NULL) {
        r->row[k] = *row;
        r->n_own++;
        keep_row(s, row);
    } else {
        keep_fault(s, rc, err);
    }
    pthread_mutex_unlock(&s->lock);
    if (row != NULL && crew->tell != NULL) {
        crew->tell(crew->arg, row, sizeof(*row));
    }
    free(row);
    ty_err_free(err);
    return row != NULL;
}

/* Takes layouts of the round until none is left: the work of one thread. */
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
            (void)crew->take(crew->arg, ROUND); /* leaves none to the others */
            return false;
        }
    }
}

/* Returns the most threads that a member has. */
static uint32_t most_threads(const struct searching *s)
{
    const struct ty_crew *crew = s->asked->crew;
    const uint32_t own = ty_pool_threads(s->asked->jobs);
    bool has[ABREAST] = {false};
    uint32_t n = ABREAST;
    has[(own < n ? own : n) - 1] = true;
    crew->combine(crew->arg, has, sizeof(has));
    while (!has[n - 1]) {
        n--;
    }
    return n;
}

static void begin_round(struct round *r, uint32_t most)
{
    struct searching *s = r->search;
    r->n = r->n_own = 0;
    memset(r->row, 0, sizeof(r->row));
    while (r->n < most && begin_next(s, &r->point[r->n])) {
        r->n++;
    }
}

/* Exchanges the rows of a round, and waits for those still on their way. */
static int end_round(struct round *r)
{
    struct searching *s = r->search;
    const struct ty_crew *crew = s->asked->crew;
    crew->combine(crew->arg, r->row, r->n * sizeof(*r->row));
    for (uint32_t k = 0; k < r->n; k++) {
        if (r->row[k].step_s > 0) {
            keep_row(s, &r->row[k]);
            r->n_told++;
        }
    }
    assert(r->n_own <= r->n && r->n_told >= r->n_own);
    r->n_told -= r->n_own;
    while (crew->hear != NULL && r->n_heard < r->n_told) {
        hear_rows(r);
    }
    const int rc = s->fault.code;
    return rc < 0 ? rc : decide(s, &s->fault);
}

/* Simulates what is needed with the other members; rc: how this member has fared. */
static int simulate_together(struct searching *s, int rc)
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

/* ---- the whole search ---- */

static int collect(struct searching *s)
{
    struct ty_plan_result *r = s->result;
    struct ty_plan_front all;
    int rc = plan_front_init(&all, s->asked->objective, s->asked->top, s->n_taken);
    for (uint32_t i = 0; i < s->n_taken && rc == 0; i++) {
        add_found(s, &all, s->taken[i]);
    }
    assert(s->n_taken + r->n_bounded <= s->n_queued);
    r->n_simulated = s->n_taken;
    plan_front_cut(&all);
    while (all.n_tight > 0 &&
           !is_among(all.best, all.n_best, all.top, &all.tight[all.n_tight - 1])) {
        all.n_tight--;
    }
    struct ty_plan_row *best = ty_arena_array(&r->arena, struct ty_plan_row, all.n_best + 1);
    struct ty_plan_row *tight = ty_arena_array(&r->arena, struct ty_plan_row, all.n_tight + 1);
    struct ty_plan_row *pareto = ty_arena_array(&r->arena, struct ty_plan_row, all.n_stairs + 1);
    rc = rc == 0 && best != NULL && tight != NULL && pareto != NULL ? 0 : TY_ENOMEM;
    for (uint32_t i = 0; i < all.n_best && rc == 0; i++) {
        best[r->n_rows++] = *s->row[all.best[i].row];
    }
    for (uint32_t i = 0; i < all.n_tight && rc == 0; i++) {
        tight[r->n_tight++] = *s->row[all.tight[i].row];
    }
    for (uint32_t i = 0; i < all.n_stairs && rc == 0; i++) {
        pareto[r->n_pareto++] = *s->row[all.stair[i].row];
    }
    assert(rc < 0 ||
           (r->n_rows <= s->asked->top && (r->n_rows + r->n_tight > 0) == (s->n_taken > 0)));
    r->row = best;
    r->tight = tight;
    r->pareto = pareto;
    plan_front_release(&all);
    return rc;
}

/* Finds which memory is short, where nothing fits. Another member may have screened the point. */
static int look_at_nearest(struct searching *s)
{
    struct ty_plan_result *r = s->result;
    struct ty_plan_screen screen = {.away = NULL};
    struct ty_plan_tool *tool = ty_plan_tools_take(&s->tools);
    const int rc = tool == NULL ? TY_ENOMEM
                                : ty_plan_screen(&r->space, &r->space.point[r->nearest], tool,
                                                 &screen, &s->fault);
    ty_plan_tools_give(&s->tools, tool);
    r->nearest_away = screen.away;
    return rc;
}

static int search(struct searching *s)
{
    spread_pieces(s);
    ty_pool_run(0, n_pieces(s), s->asked->jobs, screen_piece, s);
    int rc = share_screens(s);
    if (rc < 0) {
        return rc;
    }
    rc = is_stopped(s) ? 0 : make_queue(s);
    s->result->n_screened = s->screened;
    s->result->n_fit = s->n_queued;
    if (rc == 0 && s->n_queued == 0 && s->result->nearest_peak_B > 0) {
        rc = look_at_nearest(s);
    }
    if (s->asked->crew != NULL) {
        rc = simulate_together(s, rc);
    } else if (rc == 0) {
        ty_pool_run(0, s->n_queued, s->asked->jobs, simulate_next, s);
        rc = decide(s, &s->fault); /* the last ones of the queue were never begun */
    }
    return rc == 0 && s->fault.code == 0 ? collect(s) : rc;
}

static int prepare(struct searching *s, struct ty_err *err)
{
    const uint32_t n = s->result->space.n_points + 1;
    s->screen = calloc(n, sizeof(*s->screen));
    s->queue = malloc(n * sizeof(*s->queue));
    s->state = calloc(n, sizeof(*s->state));
    s->taken = malloc(n * sizeof(*s->taken));
    s->row = calloc(n, sizeof(struct ty_plan_row *));
    const bool got = s->screen != NULL && s->queue != NULL && s->state != NULL &&
                     s->taken != NULL && s->row != NULL;
    return got && plan_front_init(&s->front, s->asked->objective, s->asked->top, n) == 0
               ? 0
               : ty_fail_memory(err);
}

static void release(struct searching *s)
{
    for (uint32_t i = 0; s->row != NULL && i < s->result->space.n_points; i++) {
        free(s->row[i]);
    }
    free(s->screen);
    free(s->queue);
    free(s->state);
    free(s->taken);
    free(s->row);
    plan_front_release(&s->front);
    ty_plan_tools_release(&s->tools);
    pthread_cond_destroy(&s->news);
    pthread_mutex_destroy(&s->lock);
}

int ty_plan_search(struct ty_plan_result *result, const struct ty_plan_search *asked, bool *exact,
                   struct ty_err *err)
{
    struct searching *s = malloc(sizeof(*s));
    if (s == NULL) {
        return ty_fail_memory(err);
    }
    *s = (struct searching){.result = result, .asked = asked, .most_open = ABREAST};
    ty_err_init(&s->fault);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->news, NULL);
    ty_plan_tools_init(&s->tools, result->base);
    int rc = prepare(s, err);
    if (rc == 0) {
        rc = search(s);
        rc = rc == TY_ENOMEM ? ty_fail_memory(err) : rc;
    }
    if (s->fault.code != 0) {
        rc = ty_fail(err, s->fault.code, "%s", s->fault.text);
    }
    const bool screened = s->screened == result->space.n_points;
    *exact = s->next == s->n_queued && screened;
    result->left_s = screened && !*exact ? s->screen[s->queue[s->next]].bound_s : 0;
    release(s);
    free(s);
    return rc;
}

int ty_plan_simulate(const struct ty_plan_result *result, uint32_t point, struct ty_plan_row *row,
                     struct ty_err *err)
{
    struct ty_plan_tools tools;
    ty_plan_tools_init(&tools, result->base);
    struct ty_plan_tool *tool = ty_plan_tools_take(&tools);
    const int rc = tool == NULL
                       ? ty_fail_memory(err)
                       : ty_plan_simulate_with(&result->space, point, tool, NULL, row, err);
    row->row = result->first + point;
    ty_plan_tools_give(&tools, tool);
    ty_plan_tools_release(&tools);
    return rc;
}
