/* host.c - a layer whose launches take longer than its work.
 *
 * The host launches kernels and collectives one after the other and runs ahead of the GPU; where it
 * needs longer, the GPU waits for it. A pass through a layer then lasts as long as its launches:
 * max(GPU, floor), never the sum. It is drawn with longer kernels, all by one factor s; collectives
 * stay what they are, and what of them is seen depends on the kernels next to them. Seconds of a
 * layer are so a convex function of s in straight pieces, fixed + kernels x s:
 *
 *     floor  - - - - - - - - - x
 *                          . '
 *                      . '          a collective longer than the kernel next to it is fixed,
 *              _ . - '              behind a longer kernel it is not seen
 *        1 ----------------- s --
 *
 * and s is where it reaches the floor. Host time does not depend on links: with faster ones a layer
 * of which the host sets the pace lasts as long as before. */
#include <float.h>
#include <math.h>

#include "model/block/block.h"

/* Host time of a backward over that of a forward: 1.37 / 1.05 ms per layer, fitted on 1440
 * Megatron-DeepSpeed runs on A100 hosts (VIA-Research/vTrain, single node). */
#define FLOOR_BACKWARD 1.3

/* Launches of a dense layer as kernels are counted here, those of framework.layer_floor; of a
 * router from logits to maps, and of rows put in order, of framework operators and fused (counted
 * roughly in Megatron-LM, moe_utils.py: guess 30 %). */
#define DENSE_LAUNCHES   11.0
#define ROUTER_LAUNCHES  20.0
#define PERMUTE_LAUNCHES 6.0
#define FUSED_LAUNCHES   2.0

/* Seconds that a call of a collective keeps a layer. Where passes are woven, exchanges run under
 * the other half of a pair, and take what it loses next to them. */
static double kept_by(const struct ty_layout *layout, const struct ty_cluster *cluster,
                      const struct ty_op_comm *comm, const struct ty_reach *reach)
{
    struct ty_op_comm beside = *comm;
    if (comm->exchange.tokens <= 0 || !layout->framework.expert_overlap) {
        return ty_op_comm_seconds(cluster, comm, reach);
    }
    beside.exchange.overlapped = true;
    const double slows = ty_exchange_slows(cluster, &comm->exchange, reach->nodes > 1);
    return ty_op_comm_seconds(cluster, &beside, reach) * slows / (1 - slows);
}

/* Seconds of what goes on during a step: blocks come, and sums leave, on streams of their own. */
static double beside_step(const struct ty_cluster *cluster, const struct ty_op_steps *steps,
                          enum ty_direction pass,
                          const struct ty_reach *const reach[TY_N_COMM_GROUPS])
{
    const struct ty_op_move *moves[] = {&steps->block[pass][0], &steps->block[pass][1],
                                        &steps->sum[pass]};
    double longest = 0;
    for (size_t i = 0; i < TY_COUNT(moves) && steps->n > 0; i++) {
        if (moves[i]->bytes > 0) {
            longest = fmax(longest, ty_op_move_seconds(cluster, moves[i], reach[moves[i]->group]));
        }
    }
    return longest;
}

void ty_unit_waits(const struct ty_unit_ops *unit, const struct ty_layout *layout,
                   const struct ty_cluster *cluster,
                   const struct ty_reach *const reach[TY_N_COMM_GROUPS], struct ty_unit_waits *out)
{
    *out = (struct ty_unit_waits){.seconds = {{0}}};
    for (uint32_t i = 0; i < unit->n; i++) {
        for (enum ty_comm_place place = 0; place < TY_N_COMM_PLACES; place++) {
            const struct ty_op_comms *comms = &unit->op[i].comms[place];
            for (uint32_t k = 0; k < comms->n; k++) {
                const struct ty_op_comm *comm = &comms->item[k];
                out->seconds[i][place] +=
                    comm->times *
                    (comm->calls * kept_by(layout, cluster, comm, reach[comm->group]));
            }
        }
        for (enum ty_direction pass = TY_FORWARD; pass <= TY_WGRAD; pass++) {
            out->steps[i][pass] =
                unit->op[i].steps.n * beside_step(cluster, &unit->op[i].steps, pass, reach);
        }
        const struct ty_op_pieces *pieces = &unit->op[i].pieces;
        if (pieces->n > 0) {
            const struct ty_reach *ranks = reach[TY_GROUP_TENSOR];
            out->steps[i][TY_FORWARD] = ty_op_share_seconds(cluster, pieces, false, ranks);
            out->steps[i][TY_DGRAD] =
                pieces->scatters ? ty_op_share_seconds(cluster, pieces, true, ranks) : 0;
        }
    }
}

struct pass {
    const struct ty_unit_ops *unit;
    const struct ty_unit_waits *waits;
    const struct ty_unit_costs *costs;
    const struct ty_framework *framework;
};

/* Seconds of a pass around one stretch. */
struct line {
    double fixed, kernels;
};
typedef struct line line_fn(const struct pass *p, double s);

static void in_turn(struct line *line, double kernel, double wait)
{
    line->kernels += kernel;
    line->fixed += wait;
}

static void beside(struct line *line, double s, double kernel, double wait)
{
    const bool covers = s * kernel >= wait;
    in_turn(line, covers ? kernel : 0, covers ? 0 : wait);
}

/* An operator, `all` seconds of it, and what comes or leaves next to its steps or its pieces. Of
 * pieces with longer copies between them one is seen; the others run during these. */
static void at_work(struct line *line, double s, const struct ty_unit_op *op, double all,
                    const struct ty_cost *piece, double wait)
{
    if (op->pieces.n == 0 || piece->seconds <= 0) {
        beside(line, s, all, wait);
        return;
    }
    const double others = (op->pieces.n - 1.0) * piece->seconds;
    const bool covers = s * others >= wait;
    in_turn(line, covers ? all : all - others, covers ? 0 : wait);
}

/* Whether an operator runs during what comes after its neighbour. */
static bool is_beside(const struct pass *p, uint32_t i)
{
    return i < p->unit->n && p->unit->op[i].overlaps_comm;
}

static struct line forward(const struct pass *p, double s)
{
    struct line line = {0, 0};
    for (uint32_t i = 0; i < p->unit->n; i++) {
        const double *wait = p->waits->seconds[i];
        const bool hides = is_beside(p, i + 1);
        at_work(&line, s, &p->unit->op[i], is_beside(p, i) ? 0 : p->costs->op[i].forward.seconds,
                &p->costs->next[i].forward, p->waits->steps[i][TY_FORWARD]);
        in_turn(&line, 0, wait[TY_BEFORE_FORWARD] + (hides ? 0 : wait[TY_AFTER_FORWARD]));
        if (hides) {
            beside(&line, s, p->costs->op[i + 1].forward.seconds, wait[TY_AFTER_FORWARD]);
        }
    }
    return line;
}

/* Whether the weight gradient runs during what comes after the input gradient. */
static bool hides_reduction(const struct pass *p, uint32_t i)
{
    const struct ty_unit_op *op = &p->unit->op[i];
    return op->expert ? p->framework->overlap_dispatch
                      : p->framework->overlap_tensor_reduce && op->column;
}

static struct line backward(const struct pass *p, double s)
{
    struct line line = {0, 0};
    for (uint32_t i = 0; i < p->unit->n; i++) {
        const struct ty_op_costs *cost = &p->costs->op[i];
        const double *wait = p->waits->seconds[i];
        in_turn(&line, 0, wait[TY_BEFORE_DGRAD]);
        if (is_beside(p, i)) { /* its kernels are next to what comes after the operator behind it */
            in_turn(&line, 0, wait[TY_AFTER_DGRAD]);
            continue;
        }
        const double *steps = p->waits->steps[i];
        at_work(&line, s, &p->unit->op[i], cost->dgrad.seconds, &p->costs->next[i].dgrad,
                fmax(wait[TY_BEFORE_WGRAD], steps[TY_DGRAD]));
        const bool next = i > 0 && is_beside(p, i - 1);
        const struct ty_op_costs *other = next ? &p->costs->op[i - 1] : NULL;
        const double more = next ? other->dgrad.seconds + other->wgrad.seconds : 0;
        if (hides_reduction(p, i) || steps[TY_WGRAD] > 0) {
            beside(&line, s, cost->wgrad.seconds + more,
                   fmax(wait[TY_AFTER_DGRAD], steps[TY_WGRAD]));
        } else {
            in_turn(&line, cost->wgrad.seconds, next ? 0 : wait[TY_AFTER_DGRAD]);
            beside(&line, s, more, next ? wait[TY_AFTER_DGRAD] : 0);
        }
    }
    return line;
}

/* The two passes of a split backward: nothing is left to run during a collective but steps. */
static struct line input(const struct pass *p, double s)
{
    struct line line = {0, 0};
    for (uint32_t i = 0; i < p->unit->n; i++) {
        const double *wait = p->waits->seconds[i];
        at_work(&line, s, &p->unit->op[i], p->costs->op[i].input.seconds, &p->costs->next[i].input,
                p->waits->steps[i][TY_DGRAD]);
        in_turn(&line, 0, wait[TY_BEFORE_DGRAD] + wait[TY_AFTER_DGRAD]);
    }
    return line;
}

static struct line weight(const struct pass *p, double s)
{
    struct line line = {0, 0};
    for (uint32_t i = 0; i < p->unit->n; i++) {
        beside(&line, s, p->costs->op[i].weight.seconds, p->waits->steps[i][TY_WGRAD]);
        in_turn(&line, 0, p->waits->seconds[i][TY_BEFORE_WGRAD]);
    }
    return line;
}

static double launches(const struct ty_kernel *kernel)
{
    const bool fused = kernel->variant == TY_FUSED;
    switch (kernel->op) {
    case TY_OPERATOR_GROUPED:
        return kernel->variant == TY_GROUPED_CALLS ? kernel->grouped.groups : 1;
    case TY_OPERATOR_ROUTER:
        return fused ? FUSED_LAUNCHES : ROUTER_LAUNCHES;
    case TY_OPERATOR_PERMUTE:
    case TY_OPERATOR_UNPERMUTE:
        return fused ? FUSED_LAUNCHES : PERMUTE_LAUNCHES;
    default:
        return 1;
    }
}

/* Of a forward: all, and those of products. */
struct launches {
    double kernels, products;
    bool routed;
};
static struct launches launches_of(const struct ty_unit_ops *unit)
{
    struct launches sum = {0, 0, false};
    for (uint32_t i = 0; i < unit->n; i++) {
        const double times = fmax(unit->op[i].steps.n, 1);
        sum.routed = sum.routed || unit->op[i].routed;
        for (uint32_t k = 0; k < unit->op[i].n_kernels; k++) {
            const struct ty_kernel *kernel = &unit->op[i].kernel[k];
            const bool product =
                kernel->op == TY_OPERATOR_MATMUL || kernel->op == TY_OPERATOR_GROUPED;
            sum.kernels += times * launches(kernel);
            sum.products += product ? times * launches(kernel) : 0;
        }
    }
    return sum;
}

/* Of the launches of a backward, those of weight gradients: one product each, where every kernel
 * has one for its input. */
static double weight_share(const struct launches *n)
{
    return n->products / (n->kernels + n->products);
}

/* Collectives of a forward, one broadcast for each block of a step. */
static double collectives_of(const struct ty_unit_ops *unit)
{
    double n = 0;
    for (uint32_t i = 0; i < unit->n; i++) {
        const struct ty_unit_op *op = &unit->op[i];
        n += op->comms[TY_BEFORE_FORWARD].n + op->comms[TY_AFTER_FORWARD].n;
        n += op->steps.n * TY_STEP_BLOCKS;
    }
    return n;
}

/* The time of a forward's launches: of a layer with experts as many times that of a dense one as
 * framework.expert_floor says, or as it has more of them, its exchanges included; of one on a grid
 * of ranks the same. */
static double floor_of(const struct ty_unit_ops *unit, const struct launches *n,
                       const struct ty_layout *layout)
{
    const struct ty_framework *framework = &layout->framework;
    if (n->routed && framework->expert_floor > 0 && !unit->hybrid) {
        return framework->layer_floor * framework->expert_floor;
    }
    const bool counts = n->routed || unit->hybrid || ty_layout_is_mesh(layout);
    return framework->layer_floor *
           (counts ? (n->kernels + collectives_of(unit)) / DENSE_LAUNCHES : 1);
}

/* The stretch under which a pass reaches the floor: Newton's method from above, which meets each
 * piece once. */
static double stretch(const struct pass *p, line_fn *line, double floor)
{
    struct line at = line(p, 1);
    if (at.fixed + at.kernels >= floor) {
        return 1;
    }
    double s = DBL_MAX, next = DBL_MAX;
    do {
        s = next;
        at = line(p, s);
        next = at.kernels > 0 ? (floor - at.fixed) / at.kernels : 1;
    } while (next < s);
    return next;
}

void ty_unit_host(const struct ty_unit_ops *unit, const struct ty_layout *layout,
                  const struct ty_gpu *gpu, const struct ty_unit_waits *waits,
                  struct ty_unit_costs *costs)
{
    const struct launches n = launches_of(unit);
    const double floor = floor_of(unit, &n, layout) / gpu->host_speed;
    const struct pass p = {unit, waits, costs, &layout->framework};
    const double ahead = stretch(&p, forward, floor);
    const double back = stretch(&p, backward, FLOOR_BACKWARD * floor);
    const double of_weights = weight_share(&n);
    const double in = stretch(&p, input, FLOOR_BACKWARD * floor * (1 - of_weights));
    const double weights = stretch(&p, weight, FLOOR_BACKWARD * floor * of_weights);
    for (uint32_t i = 0; i < unit->n; i++) {
        struct ty_op_costs *const all[] = {&costs->op[i], &costs->first[i], &costs->next[i]};
        for (uint32_t k = 0; k < (ty_op_has_parts(&unit->op[i]) ? 3u : 1u); k++) {
            all[k]->forward.seconds *= ahead;
            all[k]->dgrad.seconds *= back;
            all[k]->wgrad.seconds *= back;
            all[k]->input.seconds *= in;
            all[k]->weight.seconds *= weights;
            if (unit->recompute == TY_RECOMPUTE_FULL) { /* a forward of its own */
                all[k]->recompute.seconds *= ahead;
            }
        }
    }
}
