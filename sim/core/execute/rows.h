/* rows.h - arithmetic on rows: one value per member of a gang, side by side.
 *
 * The state of a gang is a handful of rows (when each stream is free, when each event happened);
 * executing an operation for all members is a few passes over rows that stay in the first-level
 * cache. Rows never alias unless a comment says so. */
#ifndef TY_CORE_EXECUTE_ROWS_H
#define TY_CORE_EXECUTE_ROWS_H

#include "sim/base/check.h"
#include "sim/core/program/program.h"

static inline ty_ps ty_later(ty_ps a, ty_ps b)
{
    return a > b ? a : b;
}

/* a[i] = max(a[i], b[i]) */
static inline void ty_row_later(ty_ps *restrict a, const ty_ps *restrict b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        a[i] = ty_later(a[i], b[i]);
    }
}

/* Combines a row over a group: every member gets the latest value among its group. */
static inline void ty_row_combine(ty_ps *row, const struct ty_group *group, uint32_t n)
{
    const uint32_t stride = group->stride, run = group->stride * group->count;
    if (group->count == 1) {
        return;
    }
    assert(run > 0 && n % run == 0);
    for (uint32_t base = 0; base < n; base += run) {
        for (uint32_t first = base; first < base + stride; first++) {
            ty_ps latest = 0;
            for (uint32_t i = first; i < base + run; i += stride) {
                latest = ty_later(latest, row[i]);
            }
            for (uint32_t i = first; i < base + run; i += stride) {
                row[i] = latest;
            }
        }
    }
}

/* When the streams and events of one gang are free and done. `event` has one row more than there
 * are events: operations that record nothing write there. */
struct ty_rows {
    uint32_t n;   /* members */
    ty_ps *lane;  /* [n_lanes][n] */
    ty_ps *event; /* [TY_EVENTS + 1][n] */
};

static inline ty_ps *ty_rows_lane(const struct ty_rows *rows, uint32_t lane)
{
    return rows->lane + (size_t)lane * rows->n;
}

static inline ty_ps *ty_rows_event(const struct ty_rows *rows, uint8_t event)
{
    assert(event == TY_NO_EVENT || event < TY_EVENTS);
    return rows->event + (size_t)(event == TY_NO_EVENT ? TY_EVENTS : event) * rows->n;
}

/* start[i] = when member i could start `op`, partners aside. */
static inline void ty_rows_ready(const struct ty_rows *rows, const struct ty_op *op,
                                 ty_ps *restrict start)
{
    const uint32_t n = rows->n;
    const ty_ps *restrict free_at = ty_rows_lane(rows, op->lane);
    if (op->wait[0] == TY_NO_EVENT) {
        for (uint32_t i = 0; i < n; i++) {
            start[i] = free_at[i];
        }
        return;
    }
    const ty_ps *restrict first = ty_rows_event(rows, op->wait[0]);
    for (uint32_t i = 0; i < n; i++) {
        start[i] = ty_later(free_at[i], first[i]);
    }
    for (uint32_t w = 1; w < TY_WAITS && op->wait[w] != TY_NO_EVENT; w++) {
        ty_row_later(start, ty_rows_event(rows, op->wait[w]), n);
    }
}

/* a[i] >= b[i] */
static inline bool ty_row_is_later(const ty_ps *a, const ty_ps *b, uint32_t n)
{
    bool later = true;
    for (uint32_t i = 0; i < n; i++) {
        later = later && a[i] >= b[i];
    }
    return later;
}

/* The operation started at start[] and takes dur, or dur_of[] when not NULL. */
static inline void ty_rows_finish(const struct ty_rows *rows, const struct ty_op *op,
                                  const ty_ps *restrict start, ty_ps dur,
                                  const ty_ps *restrict dur_of)
{
    ty_ps *restrict free_at = ty_rows_lane(rows, op->lane);
    ty_ps *restrict done = ty_rows_event(rows, op->record);
    TY_DEBUG_CHECK(ty_row_is_later(start, free_at, rows->n));
    if (dur_of == NULL) {
        for (uint32_t i = 0; i < rows->n; i++) {
            done[i] = free_at[i] = start[i] + dur;
        }
    } else {
        for (uint32_t i = 0; i < rows->n; i++) {
            done[i] = free_at[i] = start[i] + dur_of[i];
        }
    }
}

#endif
