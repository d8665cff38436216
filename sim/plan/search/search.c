/* search.c - see search.h. */
#include "sim/plan/search/search_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/check.h"
#include "sim/base/clock.h"
#include "sim/base/pool.h"

#define PIECE        256u /* points that are screened at a time */
#define TELL_EVERY_S 0.2
#define ROUNDING                                                                                   \
    1e-12 /* of a verdict against the bill that it foretells: they add in other orders */

void ty_plan_keep_fault(struct ty_plan_searching *s, int rc, const struct ty_err *err)
{
    if (s->fault.code == 0) {
        ty_fail(&s->fault, rc, "%s", err != NULL ? err->text : "memory is exhausted");
    }
    s->stopped = true;
}

void ty_plan_tell(struct ty_plan_searching *s, double share)
{
    if (s->asked->progress != NULL) {
        s->asked->progress(s->asked->progress_arg, share);
    }
}

bool ty_plan_is_stopped(const struct ty_plan_searching *s)
{
    return s->stopped || (s->asked->stop != NULL && *s->asked->stop != 0);
}

/* ---- memory and bounds ---- */

/* Whether a point is of the shard, and of those that this member of a crew looks at. */
static bool is_ours(const struct ty_plan_searching *s, uint32_t point)
{
    const struct ty_plan_search *asked = s->asked;
    return (s->result->first + point) % asked->n_shards == asked->shard &&
           (asked->crew == NULL || point / PIECE % asked->crew->n == asked->crew->member);
}

static bool screen_piece(void *arg, uint32_t i)
{
    struct ty_plan_searching *s = arg;
    const struct ty_plan_space *space = &s->result->space;
    const uint32_t n = space->n_points, end = n - i * PIECE < PIECE ? n : (i + 1) * PIECE;
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
        ty_plan_keep_fault(s, rc, err);
    }
    s->screened += end - i * PIECE;
    ty_plan_tell(s, 0.5 * s->screened / n);
    const bool more = !ty_plan_is_stopped(s);
    pthread_mutex_unlock(&s->lock);
    ty_plan_tools_give(&s->tools, tool);
    ty_err_free(err);
    return more;
}

/* No more than the bill of a point. */
static double least_peak(const struct ty_plan_searching *s, uint32_t point)
{
    return s->screen[point].peak_B * (1 - ROUNDING);
}

static struct ty_plan_key key_of(const struct ty_plan_searching *s, uint32_t point)
{
    return ty_plan_key(s->asked->objective, s->screen[point].bound_s, least_peak(s, point), point);
}

/* qsort has no argument: what is sorted carries its key. */
struct queued {
    struct ty_plan_key key;
};

static int by_key(const void *a, const void *b)
{
    const struct queued *x = a, *y = b;
    return ty_plan_key_before(&x->key, &y->key) ? -1 : ty_plan_key_before(&y->key, &x->key);
}

/* What fits, best first; where nothing does, what lacks least. */
static int make_queue(struct ty_plan_searching *s)
{
    struct ty_plan_result *r = s->result;
    struct queued *queued = malloc((r->space.n_points + 1) * sizeof(*queued));
    double least = 0;
    if (queued == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < r->space.n_points; i++) {
        const struct ty_plan_screen *screen = &s->screen[i];
        const double over = screen->peak_B - screen->capacity_B;
        if (screen->fits) {
            queued[s->n_queued++].key = key_of(s, i);
        } else if (screen->peak_B > 0 && (r->nearest_peak_B == 0 || over < least)) {
            least = over;
            r->nearest = i;
            r->nearest_peak_B = screen->peak_B;
            r->nearest_capacity_B = screen->capacity_B;
        }
    }
    qsort(queued, s->n_queued, sizeof(*queued), by_key);
    for (uint32_t i = 0; i < s->n_queued; i++) {
        s->queue[i] = queued[i].key.row;
    }
    free(queued);
    return 0;
}

/* ---- simulation ---- */

static struct ty_plan_key found(const struct ty_plan_searching *s, uint32_t point)
{
    return ty_plan_key(s->asked->objective, s->row[point]->step_s, s->row[point]->peak_B, point);
}

static bool admits(const struct ty_plan_searching *s, uint32_t point)
{
    const struct ty_plan_key key = key_of(s, point);
    return ty_plan_front_admits(&s->front, &key, s->screen[point].bound_s, least_peak(s, point));
}

bool ty_plan_is_wanted(const struct ty_plan_searching *s, uint32_t point)
{
    return s->state[point] == TY_PLAN_BEGUN && s->row[point] == NULL && admits(s, point);
}

/* A layout that had to be simulated, and was. */
static void take(struct ty_plan_searching *s, uint32_t point)
{
    const struct ty_plan_row *row = s->row[point];
    const struct ty_plan_key key = found(s, point);
    s->taken[s->n_taken++] = point;
    ty_plan_front_add(&s->front, &key, row->step_s, row->peak_B);
}

/* How many there will be nobody knows: those that had to be, and those that would have to be by all
 * that is known, of which every result rules some out. Counting them takes 5 % of the time. */
void ty_plan_tell_simulated(struct ty_plan_searching *s)
{
    const double now_s = s->asked->progress != NULL ? ty_wall_s() : 0;
    uint32_t left = 0;
    if (s->asked->progress == NULL || now_s < s->tell_s) {
        return;
    }
    for (uint32_t k = s->next; k < s->n_queued; k++) {
        left += s->state[s->queue[k]] != TY_PLAN_DECIDED && admits(s, s->queue[k]);
    }
    s->told = fmax(s->told, s->n_taken / (s->n_taken + (double)left + 1));
    ty_plan_tell(s, 0.5 + 0.5 * s->told);
    s->tell_s = now_s + fmax(TELL_EVERY_S, 20 * (ty_wall_s() - now_s));
}

int ty_plan_decide(struct ty_plan_searching *s, struct ty_err *err)
{
    int rc = 0;
    for (; s->next < s->ahead && rc == 0; s->next++) {
        const uint32_t i = s->queue[s->next];
        const bool wanted = s->state[i] == TY_PLAN_BEGUN && admits(s, i);
        if (wanted && s->row[i] == NULL) {
            break;
        }
        s->n_open -= s->state[i] == TY_PLAN_BEGUN;
        s->state[i] = TY_PLAN_DECIDED;
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

bool ty_plan_begin_next(struct ty_plan_searching *s, uint32_t *point)
{
    while (s->n_open == s->most_open && !ty_plan_is_stopped(s)) {
        pthread_cond_wait(&s->news, &s->lock);
    }
    while (s->ahead < s->n_queued && !ty_plan_is_stopped(s)) {
        *point = s->queue[s->ahead++];
        if (admits(s, *point)) {
            s->state[*point] = TY_PLAN_BEGUN;
            s->n_open++;
            return true;
        }
    }
    return false;
}

/* One that is known, or simulated; NULL: it cannot be. */
static struct ty_plan_row *make_row(struct ty_plan_searching *s, uint32_t point,
                                    struct ty_plan_tool *tool, int *rc, struct ty_err *err)
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

struct ty_plan_row *ty_plan_simulate_open(struct ty_plan_searching *s, uint32_t point, int *rc,
                                          struct ty_err *err)
{
    struct ty_plan_tool *tool = ty_plan_tools_take(&s->tools);
    *rc = tool != NULL ? 0 : TY_ENOMEM;
    struct ty_plan_row *row = tool != NULL ? make_row(s, point, tool, rc, err) : NULL;
    ty_plan_tools_give(&s->tools, tool);
    return row;
}

/* Under the lock: a simulation is over. */
static int end(struct ty_plan_searching *s, uint32_t point, struct ty_plan_row *row,
               struct ty_err *err)
{
    if (s->state[point] == TY_PLAN_DECIDED) { /* meanwhile others were found that beat its bound */
        free(row);
        return 0;
    }
    s->row[point] = row;
    return ty_plan_decide(s, err);
}

static bool simulate_next(void *arg, uint32_t i)
{
    struct ty_plan_searching *s = arg;
    uint32_t point = 0;
    (void)i; /* which one is next depends on results */
    pthread_mutex_lock(&s->lock);
    const bool any = ty_plan_begin_next(s, &point);
    pthread_mutex_unlock(&s->lock);
    if (!any) {
        return false;
    }
    struct ty_err *err = ty_err_new();
    int rc = TY_ENOMEM;
    struct ty_plan_row *row = err != NULL ? ty_plan_simulate_open(s, point, &rc, err) : NULL;
    pthread_mutex_lock(&s->lock);
    if (rc == 0) {
        rc = end(s, point, row, err);
    }
    if (rc < 0) {
        ty_plan_keep_fault(s, rc, err);
    }
    ty_plan_tell_simulated(s);
    pthread_cond_broadcast(&s->news);
    pthread_mutex_unlock(&s->lock);
    ty_err_free(err);
    return rc == 0;
}

/* ---- what was found ---- */

static int collect(struct ty_plan_searching *s)
{
    struct ty_plan_result *r = s->result;
    struct ty_plan_front all;
    int rc = ty_plan_front_init(&all, s->asked->objective, s->asked->top, s->n_taken);
    for (uint32_t i = 0; i < s->n_taken && rc == 0; i++) {
        const struct ty_plan_row *row = s->row[s->taken[i]];
        const struct ty_plan_key key = found(s, s->taken[i]);
        ty_plan_front_add(&all, &key, row->step_s, row->peak_B);
    }
    r->n_simulated = s->n_taken;
    ty_plan_front_cut(&all);
    struct ty_plan_row *best = ty_arena_array(&r->arena, struct ty_plan_row, all.n_best + 1);
    struct ty_plan_row *pareto = ty_arena_array(&r->arena, struct ty_plan_row, all.n_stairs + 1);
    rc = rc == 0 && best != NULL && pareto != NULL ? 0 : TY_ENOMEM;
    for (uint32_t i = 0; i < all.n_best && rc == 0; i++) {
        best[r->n_rows++] = *s->row[all.best[i].row];
    }
    for (uint32_t i = 0; i < all.n_stairs && rc == 0; i++) {
        pareto[r->n_pareto++] = *s->row[all.stair[i].row];
    }
    r->row = best;
    r->pareto = pareto;
    ty_plan_front_release(&all);
    return rc;
}

/* What is short of memory, where nothing fits: another member may have screened it. */
static int look_at_nearest(struct ty_plan_searching *s)
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

static int search(struct ty_plan_searching *s)
{
    const uint32_t n = s->result->space.n_points;
    ty_pool_run(0, (n + PIECE - 1) / PIECE, s->asked->jobs, screen_piece, s);
    int rc = ty_plan_share_screens(s);
    if (rc < 0) {
        return rc;
    }
    rc = ty_plan_is_stopped(s) ? 0 : make_queue(s);
    s->result->n_billed = s->screened;
    s->result->n_fit = s->n_queued;
    if (rc == 0 && s->n_queued == 0 && s->result->nearest_peak_B > 0) {
        rc = look_at_nearest(s);
    }
    if (s->asked->crew != NULL) {
        rc = ty_plan_simulate_together(s, rc);
    } else if (rc == 0) {
        ty_pool_run(0, s->n_queued, s->asked->jobs, simulate_next, s);
        rc = ty_plan_decide(s, &s->fault); /* those at the end that nobody had to begin */
    }
    return rc == 0 && s->fault.code == 0 ? collect(s) : rc;
}

static int prepare(struct ty_plan_searching *s, struct ty_err *err)
{
    const uint32_t n = s->result->space.n_points + 1;
    s->screen = calloc(n, sizeof(*s->screen));
    s->queue = malloc(n * sizeof(*s->queue));
    s->state = calloc(n, sizeof(*s->state));
    s->taken = malloc(n * sizeof(*s->taken));
    s->row = calloc(n, sizeof(struct ty_plan_row *));
    const bool got = s->screen != NULL && s->queue != NULL && s->state != NULL &&
                     s->taken != NULL && s->row != NULL;
    return got && ty_plan_front_init(&s->front, s->asked->objective, s->asked->top, n) == 0
               ? 0
               : ty_fail_memory(err);
}

static void release(struct ty_plan_searching *s)
{
    for (uint32_t i = 0; s->row != NULL && i < s->result->space.n_points; i++) {
        free(s->row[i]);
    }
    free(s->screen);
    free(s->queue);
    free(s->state);
    free(s->taken);
    free(s->row);
    ty_plan_front_release(&s->front);
    ty_plan_tools_release(&s->tools);
    pthread_cond_destroy(&s->news);
    pthread_mutex_destroy(&s->lock);
}

int ty_plan_search(struct ty_plan_result *result, const struct ty_plan_search *asked, bool *exact,
                   struct ty_err *err)
{
    struct ty_plan_searching s = {.result = result, .asked = asked, .most_open = TY_PLAN_ABREAST};
    ty_err_init(&s.fault);
    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.news, NULL);
    ty_plan_tools_init(&s.tools, result->base);
    int rc = prepare(&s, err);
    if (rc == 0) {
        rc = search(&s);
        rc = rc == TY_ENOMEM ? ty_fail_memory(err) : rc;
    }
    if (s.fault.code != 0) {
        rc = ty_fail(err, s.fault.code, "%s", s.fault.text);
    }
    *exact =
        s.next == s.n_queued && s.screened == result->space.n_points && !ty_plan_is_stopped(&s);
    release(&s);
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
