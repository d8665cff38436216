/* deal_least.c - which layers of a stage run again: as little as fits. See deal.h.
 *
 * Layers that run again come first, and what the last ones keep is free again before the others
 * bring back theirs; where all do, room for what one of them brings back is needed as well. So a
 * stage of equal layers is looked at twice: with a last layer that does not run again, and without
 * that room, or with it. Unlike layers need it where any runs again, and so do all where a split
 * backward frees little before its second half.
 *
 * EQUAL LAYERS. n layers, each in one of M modes of (bytes b_k, seconds x_k): with two modes the
 * count is the least that fits. With more, the count c of the one that takes most seconds is tried
 * outward from where the relaxation to fractions of layers has it, while
 *
 *     c x_M + relaxed(others, n - c, room - c b_M)
 *
 * which is convex in c and never above what it bounds, is below the best found. How far that goes
 * does not depend on n but on how far the mode is from being worth it.
 *
 * UNLIKE LAYERS. The first a in one mode, the next b in another: sums of the layers before, for
 * each a and pair of modes the least b. */
#include "sim/run/deal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RELAXED_SLACK 1e-9 /* of a stage's room: rounding */

/* ---- equal layers ---- */

struct mode {
    double bytes, seconds;
    uint32_t number;
};

/* Bytes of a layer in a mode. */
static double bytes_of(const struct ty_deal_stage *stage, const struct ty_deal_kind *kind,
                       uint32_t mode)
{
    const double kept = kind->kept_B[mode], waiting = kind->waiting_B[mode];
    return stage->held * kept + stage->waiting * waiting + stage->turns * fmax(waiting - kept, 0);
}

/* Modes of a layer on a stage, most bytes first; none that another one beats in both. */
static uint32_t modes_of(const struct ty_deal *d, const struct ty_deal_stage *stage,
                         const struct ty_deal_kind *kind, struct mode mode[TY_DEAL_MODES])
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < d->n_modes; k++) {
        const struct mode one = {bytes_of(stage, kind, k), kind->seconds[k], k};
        uint32_t at = n++;
        for (; at > 0 && mode[at - 1].seconds > one.seconds; at--) {
            mode[at] = mode[at - 1];
        }
        mode[at] = one;
    }
    uint32_t kept = 0;
    for (uint32_t k = 0; k < n; k++) { /* slower ones have to need less */
        if (kept == 0 || mode[k].bytes < mode[kept - 1].bytes) {
            mode[kept++] = mode[k];
        }
    }
    return kept;
}

/* The least seconds of n layers that may be cut into fractions; *last: how many are then in the
 * last mode. */
static double relaxed(const struct mode *mode, uint32_t n_modes, double n, double room,
                      double *last)
{
    double best = HUGE_VAL;
    *last = 0;
    for (uint32_t k = 0; k < n_modes; k++) {
        const double over = n * mode[k].bytes - room;
        if (over <= 0) {
            if (n * mode[k].seconds < best) {
                best = n * mode[k].seconds;
                *last = k == n_modes - 1 ? n : 0;
            }
            continue;
        }
        for (uint32_t j = k + 1; j < n_modes; j++) {
            const double moved = over / (mode[k].bytes - mode[j].bytes);
            const double sum = n * mode[k].seconds + moved * (mode[j].seconds - mode[k].seconds);
            if (moved <= n && sum < best) {
                best = sum;
                *last = j == n_modes - 1 ? moved : 0;
            }
        }
    }
    return best;
}

/* count[n_modes]: of the best. */
static double equal(const struct mode *mode, uint32_t n_modes, uint32_t n, double room,
                    uint32_t *count, uint64_t *steps);

/* One count of the last mode: whether its bound still promises something. */
static bool try_count(const struct mode *mode, uint32_t n_modes, uint32_t n, double room,
                      uint32_t last, double *best, uint32_t *count, uint64_t *steps)
{
    const double seconds = last * mode[n_modes - 1].seconds;
    const double left = room - last * mode[n_modes - 1].bytes;
    uint32_t others[TY_DEAL_MODES] = {0};
    double unused;
    ++*steps;
    if (seconds + relaxed(mode, n_modes - 1, n - last, left, &unused) >= *best) {
        return false;
    }
    const double sum = seconds + equal(mode, n_modes - 1, n - last, left, others, steps);
    if (sum < *best) {
        *best = sum;
        memcpy(count, others, sizeof(others));
        count[n_modes - 1] = last;
    }
    return true;
}

static double equal(const struct mode *mode, uint32_t n_modes, uint32_t n, double room,
                    uint32_t *count, uint64_t *steps)
{
    const struct mode *last = &mode[n_modes - 1];
    double best = HUGE_VAL, middle;
    ++*steps;
    if (n * last->bytes > room) {
        return HUGE_VAL;
    }
    if (n_modes == 1) {
        count[0] = n;
        return n * last->seconds;
    }
    if (n_modes == 2) {
        const double over = n * mode[0].bytes - room;
        uint32_t moved = over > 0 ? (uint32_t)ceil(over / (mode[0].bytes - last->bytes)) : 0;
        moved = moved > n ? n : moved; /* rounding */
        count[0] = n - moved;
        count[1] = moved;
        return count[0] * mode[0].seconds + moved * last->seconds;
    }
    (void)relaxed(mode, n_modes, n, room, &middle);
    const uint32_t from = (uint32_t)ceil(middle);
    for (uint32_t c = from; c <= n; c++) {
        if (!try_count(mode, n_modes, n, room, c, &best, count, steps) && best < HUGE_VAL) {
            break;
        }
    }
    for (uint32_t c = from; c > 0; c--) {
        if (!try_count(mode, n_modes, n, room, c - 1, &best, count, steps)) {
            break;
        }
    }
    return best;
}

/* Equal layers from `from` on; `own`: one more, which does not run again. */
static double least_equal(const struct ty_deal *d, uint32_t s, uint32_t from, uint32_t n, bool own,
                          double room, struct ty_deal_share *share, uint64_t *steps)
{
    const struct ty_deal_kind *kind = &d->kind[d->layer[from]];
    struct mode mode[TY_DEAL_MODES] = {{0, 0, 0}};
    uint32_t count[TY_DEAL_MODES] = {0};
    const uint32_t n_modes = modes_of(d, &d->stage[s], kind, mode);
    const double kept = own ? bytes_of(&d->stage[s], kind, 0) : 0;
    const double sum = equal(mode, n_modes, n - own, room - kept, count, steps);
    *share = (struct ty_deal_share){.layers = n};
    for (uint32_t k = n_modes; k > 0; k--) {
        if (mode[k - 1].number > 0 && count[k - 1] > 0) {
            share->again[share->n_again++] =
                (struct ty_deal_again){mode[k - 1].number, count[k - 1]};
        }
    }
    return sum + (own ? kind->seconds[0] : 0);
}

/* ---- unlike layers ---- */

static double seconds_of(const struct ty_deal *d, uint32_t layer, uint32_t mode)
{
    return d->kind[d->layer[layer]].seconds[mode];
}

/* Of layers [from, to) the first *n in a mode, as few as fit and at most `most`; the others do not
 * run again. HUGE_VAL: none do. */
static double few(const struct ty_deal *d, uint32_t s, uint32_t from, uint32_t to, uint32_t mode,
                  uint32_t most, double room, uint32_t *n, uint64_t *steps)
{
    double bytes = 0, seconds = 0;
    for (uint32_t i = from; i < to; i++) {
        bytes += bytes_of(&d->stage[s], &d->kind[d->layer[i]], 0);
        seconds += seconds_of(d, i, 0);
    }
    for (*n = 0; bytes > room && *n < most; ++*n) {
        const uint32_t i = from + *n;
        bytes += bytes_of(&d->stage[s], &d->kind[d->layer[i]], mode) -
                 bytes_of(&d->stage[s], &d->kind[d->layer[i]], 0);
        seconds += seconds_of(d, i, mode) - seconds_of(d, i, 0);
    }
    *steps += to - from + *n;
    return bytes <= room ? seconds : HUGE_VAL;
}

/* `brief`: bytes that are needed where any runs again. */
static double least_unlike(const struct ty_deal *d, uint32_t s, uint32_t from, uint32_t to,
                           double room, double brief, struct ty_deal_share *share, uint64_t *steps)
{
    const uint32_t most = to - from;
    uint32_t b = 0;
    *share = (struct ty_deal_share){.layers = most};
    double best = few(d, s, from, to, 0, 0, room, &b, steps);
    if (best < HUGE_VAL) {
        return best;
    }
    room -= brief;
    for (uint32_t first = 1; first < d->n_modes; first++) {
        double bytes = 0, seconds = 0;
        for (uint32_t a = 1; a <= most; a++) {
            bytes += bytes_of(&d->stage[s], &d->kind[d->layer[from + a - 1]], first);
            seconds += seconds_of(d, from + a - 1, first);
            for (uint32_t second = 1; second < d->n_modes; second++) {
                const double sum =
                    seconds + few(d, s, from + a, to, second, most - a, room - bytes, &b, steps);
                if (sum < best) {
                    best = sum;
                    share->n_again = b > 0 ? 2 : 1;
                    share->again[0] = (struct ty_deal_again){first, a};
                    share->again[1] = (struct ty_deal_again){second, b};
                }
            }
        }
    }
    return best;
}

/* ---- a stage ---- */

static bool is_equal(const struct ty_deal *d, uint32_t from, uint32_t to)
{
    uint32_t i = from;
    while (d->n_kinds > 1 && i + 1 < to && d->layer[i] == d->layer[i + 1]) {
        i++;
    }
    return d->n_kinds == 1 || i + 1 >= to;
}

/* Most that a layer of any kind brings back when it runs again. */
static double most_again(const struct ty_deal *d, uint32_t s)
{
    double most = 0;
    for (uint32_t i = 0; i < d->n_kinds; i++) {
        for (uint32_t k = 1; k < d->n_modes; k++) {
            most = fmax(most, d->kind[i].again_B[k]);
        }
    }
    return fmax(0, most - d->stage[s].spare_B);
}

static double states_of(const struct ty_deal *d, uint32_t from, uint32_t to)
{
    double sum = 0;
    if (d->n_kinds == 1) {
        return (to - from) * d->kind[0].states_B;
    }
    for (uint32_t i = from; i < to; i++) {
        sum += d->kind[d->layer[i]].states_B;
    }
    return sum;
}

double ty_deal_least(const struct ty_deal *deal, uint32_t s, uint32_t from, uint32_t to,
                     struct ty_deal_share *share, uint64_t *steps)
{
    const struct ty_deal_stage *stage = &deal->stage[s];
    const double room = stage->room_B - states_of(deal, from, to);
    const double brief = most_again(deal, s);
    struct ty_deal_share mixed = {.layers = 0}, all;
    double best = room >= 0 ? 0 : HUGE_VAL;
    if (from < to && is_equal(deal, from, to)) {
        uint32_t none;
        const double other =
            least_equal(deal, s, from, to - from, false, room - brief, &all, steps);
        mixed.layers = to - from;
        best = stage->turns > 0 ? few(deal, s, from, to, 0, 0, room, &none, steps)
                                : least_equal(deal, s, from, to - from, true, room, &mixed, steps);
        mixed = other < best ? all : mixed;
        best = fmin(best, other);
    } else if (from < to) {
        best = least_unlike(deal, s, from, to, room, brief, &mixed, steps);
    }
    if (share != NULL) {
        *share = mixed;
    }
    return stage->seconds + best;
}
