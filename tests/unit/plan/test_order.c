/* test_order.c - what the costs of a plan know of an order is what its slots say, one by one. */
#include "sim/plan/costs_internal.h"
#include "tests/unit/plan_case.h"

/* A shape and its slots, beside what is known of them. */
struct looked {
    struct ty_plan_costs *costs;
    struct ty_sched_options options;
    struct ty_sched_shape shape;
    struct ty_slots slots;
    const struct ty_plan_order *order;
    struct ty_arena arena;
    struct ty_err err;
};

static const struct ty_sched_times times = {
    .forward = 1, .backward = 2, .input = 1, .weight = 1, .overlap = -1};

/* False: the schedule does not know the shape. */
static bool look_at(struct looked *l, struct ty_plan_costs *costs, int name,
                    const struct ty_sched_shape *shape, bool pairs)
{
    const struct ty_sched *sched = ty_schedules[name];
    *l = (struct looked){.costs = costs,
                         .options = {.name = name, .overlaps = pairs},
                         .shape = *shape,
                         .arena = {.head = NULL}};
    ty_err_init(&l->err);
    if (pairs && sched->pairs != TY_PAIRS_ASKED) {
        return false;
    }
    if (ty_sched_slots(sched, shape, &times, &l->slots, &l->arena, &l->err) < 0) {
        return false;
    }
    if (pairs) {
        ty_slots_pair(&l->slots);
    }
    ck_assert(ty_plan_order(costs, &l->options, shape, &times, &l->order, &l->err) == 0);
    ck_assert_uint_eq(l->order->shape.m, shape->m);
    return true;
}

static uint32_t chunk_of(const struct looked *l, const struct ty_plan_rank *rank, uint32_t r,
                         const struct ty_slot *slot)
{
    uint32_t chunk = 0;
    for (uint32_t d = 0; d <= slot->direction; d++) {
        const uint32_t end = d < slot->direction ? ty_sched_stages(&l->shape) : slot->stage;
        for (uint32_t s = 0; s < end; s++) {
            chunk += ty_sched_owner(l->order->sched->placement, &l->shape, d, s) == r;
        }
    }
    ck_assert_uint_eq(rank->stage[chunk], slot->stage);
    return chunk;
}

/* What a pass of a stage keeps, leaves between the halves of a backward, and needs while it runs:
 * whole numbers. */
static double weight(uint32_t what, uint32_t chunk, uint32_t trial)
{
    return (double)(ty_hash4(7, what, chunk, trial) % 1000);
}

static double fullest_of_slots(const struct looked *l, uint32_t r, const uint32_t *chunk,
                               uint32_t trial)
{
    const struct ty_rank_slots *slots = &l->slots.rank[r];
    double held = 0, most = 0;
    for (uint32_t i = 0; i < slots->n; i++) {
        const uint32_t c = chunk[i], phase = slots->slot[i].phase;
        const double kept = weight(10, c, trial), waiting = weight(11, c, trial);
        held += phase == TY_PHASE_FORWARD ? kept : 0;
        most = ty_plan_larger(most, held + weight(phase, c, trial));
        held -= phase == TY_PHASE_BACKWARD || phase == TY_PHASE_DGRAD ? kept : 0;
        held += phase == TY_PHASE_DGRAD ? waiting : phase == TY_PHASE_WGRAD ? -waiting : 0;
    }
    ck_assert_double_eq(held, 0);
    return most;
}

static double fullest_of_moments(const struct ty_plan_held *held, uint32_t trial)
{
    double most = 0;
    for (uint32_t i = 0; i < held->n_moments; i++) {
        const struct ty_plan_moment *moment = &held->moment[i];
        double sum = weight(moment->phase, moment->stage, trial);
        for (uint32_t c = 0; c < held->n_stages; c++) {
            sum +=
                moment->kept[c] * weight(10, c, trial) + moment->waiting[c] * weight(11, c, trial);
        }
        most = ty_plan_larger(most, sum);
    }
    return most;
}

/* Passes of a kind since the mark before it. */
static uint32_t passes_before(const struct ty_plan_order *order, const struct ty_plan_rank *rank,
                              uint32_t i, uint32_t pass)
{
    for (uint32_t k = rank->mark[i].work; k < rank->mark[i].work_end; k++) {
        if (rank->work[k].pass == pass) {
            return rank->work[k].n + (i == rank->steady ? order->more : 0);
        }
    }
    return 0;
}

/* Every mark is where the first or the last pass of a kind is, with as many of each before it. */
static void demand_marks(const struct looked *l, uint32_t r, const uint32_t *chunk)
{
    const struct ty_rank_slots *slots = &l->slots.rank[r];
    const struct ty_plan_rank *rank = &l->order->rank[r];
    const uint32_t n = rank->n_chunks * l->shape.slices * TY_PLAN_PHASES;
    uint32_t *all = calloc(3 * (size_t)n, sizeof(*all)), mark = 0;
    ck_assert_ptr_nonnull(all);
    uint32_t *seen = all + n, *since = seen + n;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < slots->n; i++) {
            const struct ty_slot *slot = &slots->slot[i];
            const uint32_t kind =
                (chunk[i] * l->shape.slices + slot->slice) * TY_PLAN_PHASES + slot->phase;
            for (int k = 0; k < 2 && pass == 1; k++) {
                if (seen[kind] == (k == 0 ? 0 : all[kind] - 1)) {
                    ck_assert_uint_lt(mark, rank->n_marks);
                    ck_assert(rank->mark[mark].first == (k == 0));
                    ck_assert_uint_eq(rank->mark[mark].chunk, chunk[i]);
                    ck_assert_uint_eq(rank->mark[mark].phase, slot->phase);
                    ck_assert_uint_eq(rank->mark[mark].slice, slot->slice);
                    for (uint32_t w = 0; w < n; w++) {
                        ck_assert_uint_eq(passes_before(l->order, rank, mark, w), since[w]);
                        since[w] = 0;
                    }
                    mark++;
                }
            }
            all[kind] += pass == 0;
            seen[kind] += pass == 1;
            since[kind] += pass == 1;
        }
    }
    ck_assert_uint_eq(mark + 1, rank->n_marks);
    free(all);
}

static void demand_slots(const struct looked *l)
{
    for (uint32_t r = 0; r < l->shape.p; r++) {
        const struct ty_rank_slots *slots = &l->slots.rank[r];
        uint32_t *chunk = calloc(slots->n, sizeof(*chunk));
        ck_assert_ptr_nonnull(chunk);
        for (uint32_t i = 0; i < slots->n; i++) {
            chunk[i] = chunk_of(l, &l->order->rank[r], r, &slots->slot[i]);
        }
        for (uint32_t trial = 0; trial < 4; trial++) {
            ck_assert_double_eq(fullest_of_moments(&l->order->held[r], trial),
                                fullest_of_slots(l, r, chunk, trial));
        }
        demand_marks(l, r, chunk);
        free(chunk);
    }
}

#define SHAPES 12000u /* of each schedule, a fortieth of them unless all is tested */

static struct ty_sched_shape shape_of(uint32_t k)
{
    uint32_t pick[5];
    for (uint32_t i = 0; i < TY_COUNT(pick); i++) {
        pick[i] = (uint32_t)(ty_hash4(3, k, i, 0) >> 8);
    }
    return (struct ty_sched_shape){.p = 1 + pick[0] % 7,
                                   .m = 1 + pick[1] % 60,
                                   .v = 1 + pick[2] % 4,
                                   .group = pick[3] % 3 == 0 ? 1 + pick[3] % 9 : 0,
                                   .slices = pick[4] % 2 == 0 ? 1 : 1 + pick[4] % 4};
}

/* With few micro-batches and with many: beyond those of ty_sched_settled only counts grow. */
TEST(an_order_is_known_as_its_slots_are)
{
    struct plan_made m;
    struct ty_plan_costs *costs;
    uint32_t n = 0, lasting = 0;
    plan_make(&m, &plan_cases[0]);
    ck_assert(ty_plan_costs_new(&costs, m.base, &m.err) == 0);
    for (int name = 0; ty_schedules[name] != NULL; name++) {
        for (uint32_t k = 0; k < suite_part(SHAPES, 40) && !ty_schedules[name]->asynchronous; k++) {
            const struct ty_sched_shape shape = shape_of(k);
            struct looked l;
            if (look_at(&l, costs, name, &shape, k % 3 == 0)) {
                demand_slots(&l);
                n++;
                lasting += l.order->more > 0;
            }
            ty_arena_release(&l.arena);
        }
    }
    printf("# %u orders, %u of them of fewer micro-batches\n", (unsigned)n, (unsigned)lasting);
    ck_assert_uint_gt(lasting, 100);
    ty_plan_costs_free(costs);
    plan_drop(&m);
}

TY_SUITE("order")
