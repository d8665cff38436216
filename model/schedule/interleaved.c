/* interleaved.c - 1F1B over several virtual stages per rank.
 *
 *     p = 2, m = 4, v = 2
 *     rank 0 |F0 F1 f0 f1 F2 .. b0 == F3 b1 == f2 B0 == f3 B1 == .. b2 == .. b3 == B2 == B3 ==|
 *     rank 1 |.. F0 F1 f0 b0 == f1 b1 == F2 B0 == F3 B1 == f2 b2 == f3 b3 == B2 == B3 == .. ..|
 *
 * Lower case: the rank's second stage. Groups of g micro-batches go through chunk 0, then through
 * chunk 1, and so on; a rank runs the forwards of all groups in that order and the backwards in the
 * same order with the chunks reversed. Rank r warms up with min(m v, 2 (p - 1 - r) + (v - 1) g)
 * forwards. The bubble is a v-th of 1F1B's, for v times the messages.
 *
 * Which g: Megatron-LM takes p <= g <= m whose last group is whole or has at least p micro-batches
 * (a smaller one would have to wait for itself), and p when nothing is said. With m < p there is no
 * such g; PyTorch then sends all m as one group, and so do we. With v = 1 groups mean nothing: the
 * rule becomes eager 1F1B, as it does in PyTorch, where Megatron-LM runs plain 1F1B instead.
 * Sources: Narayanan et al., "Efficient large-scale language model training on GPU clusters", SC
 * 2021; NVIDIA/Megatron-LM megatron/core/pipeline_parallel/schedules.py, get_schedule_table and
 * get_pp_rank_microbatches; pytorch/pytorch torch/distributed/pipelining/schedules.py,
 * ScheduleInterleaved1F1B. */
#include <stdio.h>

#include "model/schedule/steady.h"

static uint32_t group_of(const struct ty_sched_shape *shape)
{
    if (shape->group != 0) {
        return shape->group;
    }
    return shape->p < shape->m ? shape->p : shape->m;
}

/* The last group, if it is cut, still reaches around the ring of ranks. */
static bool last_group_fits(const struct ty_sched_shape *shape, uint32_t group)
{
    const uint32_t rest = shape->m % group;
    return rest == 0 || rest >= shape->p;
}

/* "5, 6 or 10": groups that would do, the smallest ones and m. */
static void list_groups(const struct ty_sched_shape *shape, char *buf, size_t size)
{
    int len = 0;
    uint32_t listed = 0;
    for (uint32_t g = shape->p; g < shape->m && listed < 2; g++) {
        if (last_group_fits(shape, g)) {
            len +=
                snprintf(buf + len, size - (size_t)len, listed == 0 ? "%u" : ", %u", (unsigned)g);
            listed++;
        }
    }
    snprintf(buf + len, size - (size_t)len, listed == 0 ? "%u" : " or %u", (unsigned)shape->m);
}

static int check(const struct ty_sched_shape *shape, struct ty_err *err)
{
    const uint32_t p = shape->p, m = shape->m, g = group_of(shape);
    char groups[48]; /* three numbers of at most ten digits */
    if (shape->v == 1 || (m < p && g == m)) {
        return 0;
    }
    if (m < p) {
        return ty_fail(err, TY_EUSAGE,
                       "interleaved: groups of %u micro-batches; %u micro-batches, fewer "
                       "than the %u ranks, form one group: group %u",
                       (unsigned)g, (unsigned)m, (unsigned)p, (unsigned)m);
    }
    if (g >= p && g <= m && last_group_fits(shape, g)) {
        return 0;
    }
    list_groups(shape, groups, sizeof(groups));
    if (g < p || g > m) {
        return ty_fail(err, TY_EUSAGE,
                       "interleaved: groups of %u micro-batches; a group has at least %u "
                       "(pipeline ranks) and at most %u (micro-batches): group %s",
                       (unsigned)g, (unsigned)p, (unsigned)m, groups);
    }
    const uint32_t whole = m - m % g;
    return ty_fail(err, TY_EUSAGE,
                   "interleaved: %u micro-batches in groups of %u leave a last group "
                   "of %u, fewer than the %u ranks; group %s would do, or %u or %u "
                   "micro-batches",
                   (unsigned)m, (unsigned)g, (unsigned)(m % g), (unsigned)p, groups,
                   (unsigned)whole, (unsigned)(whole + p));
}

/* Group by group, in a group chunk by chunk (backwards from the last chunk), in a chunk the
 * micro-batches of the group. Only the last group can be shorter than g. */
static struct ty_slot piece(const struct ty_sched_shape *shape, uint32_t rank, uint32_t k,
                            enum ty_phase phase)
{
    const uint32_t g = group_of(shape), first = k / (g * shape->v) * g;
    const uint32_t size = shape->m - first < g ? shape->m - first : g;
    const uint32_t within = k % (g * shape->v);
    const uint32_t chunk = phase == TY_PHASE_FORWARD ? within / size : shape->v - 1 - within / size;
    return (struct ty_slot){.mb = (uint16_t)(first + within % size),
                            .stage = (uint16_t)(chunk * shape->p + rank),
                            .phase = (uint8_t)phase};
}

static uint32_t warm_up(const struct ty_sched_shape *shape, uint32_t rank)
{
    return 2 * (shape->p - 1 - rank) + (shape->v - 1) * group_of(shape);
}

static bool in_domain(const struct ty_sched_shape *shape, const struct ty_sched_times *times)
{
    (void)times;
    return shape->m >= shape->p || shape->v == 1;
}

extern const struct ty_sched ty_sched_interleaved;
const struct ty_sched ty_sched_interleaved = {
    .name = "interleaved",
    .grouped = true,
    .summary = "1F1B over v virtual stages per rank: a v-th of the bubble, v times the messages",
    .source = "Narayanan et al. 2021, Megatron-LM; order of megatron/core and of PyTorch",
    .pairs = TY_PAIRS_ASKED,
    .placement = TY_PLACE_LOOPED,
    .auto_chunks = 2,
    .usual = true,
    .reduced = "eager-1f1b",
    .check = check,
    .warm_up = warm_up,
    .piece = piece,
    .period = group_of,
    .formula = "(m v + p - 1)(tF + tB)",
    .domain = "equal stages, m >= p",
    .makespan = ty_sched_one_round_each,
    .in_domain = in_domain,
};
