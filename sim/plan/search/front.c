/* front.c - keeps the K best keys and the staircase of the Pareto set. */
#include "sim/plan/search/front.h"

#include "sim/base/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int ty_plan_front_init(struct ty_plan_front *front, enum ty_plan_objective objective, uint32_t top,
                       uint32_t most)
{
    *front =
        (struct ty_plan_front){.top = top < most ? top : most,
                               .slowest = objective == TY_PLAN_MEMORY ? INFINITY : TY_PLAN_SLOWEST};
    front->best = malloc((front->top + 1) * sizeof(*front->best));
    front->stair = malloc((most + 1) * sizeof(*front->stair));
    return front->best != NULL && front->stair != NULL ? 0 : TY_ENOMEM;
}

void ty_plan_front_release(struct ty_plan_front *front)
{
    free(front->best);
    free(front->stair);
}

static void add_best(struct ty_plan_front *front, const struct ty_plan_key *key)
{
    uint32_t at = front->n_best;
    while (at > 0 && ty_plan_key_before(key, &front->best[at - 1])) {
        at--;
    }
    memmove(front->best + at + 1, front->best + at, (front->n_best - at) * sizeof(*key));
    front->best[at] = *key;
    front->n_best += front->n_best < front->top;
    assert(at <= front->n_best);
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

void ty_plan_front_add(struct ty_plan_front *front, const struct ty_plan_key *key, double step_s,
                       double peak_B)
{
    const struct ty_plan_stair stair = {step_s, peak_B, key->row};
    assert(step_s > 0 && peak_B > 0);
    add_best(front, key);
    add_stair(front, &stair);
}

/* Compares with the first stair, which is the fastest. */
static bool is_slow(const struct ty_plan_front *front, double step_s)
{
    return front->n_stairs > 0 && step_s > front->slowest * front->stair[0].step_s;
}

void ty_plan_front_cut(struct ty_plan_front *front)
{
    while (front->n_stairs > 0 && is_slow(front, front->stair[front->n_stairs - 1].step_s)) {
        front->n_stairs--;
    }
}

bool ty_plan_front_admits(const struct ty_plan_front *front, const struct ty_plan_key *key,
                          double step_s, double peak_B)
{
    const struct ty_plan_stair stair = {step_s, peak_B, key->row};
    const bool is_best =
        front->n_best < front->top || ty_plan_key_before(key, &front->best[front->n_best - 1]);
    return is_best || (!is_slow(front, step_s) && !is_beaten(front, &stair));
}
