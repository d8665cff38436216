/* unit_times.c - see unit_times.h; names are those of model/lower/layer.c. */
#include "sim/plan/unit_times.h"

#include <math.h>

enum event {
    TENSOR,
    CONTEXT,
    CONTEXT_ODD,
    EXPERT,
    REGATHER,
    ROW, /* of a tensor group in more than one dimension: around products, and of steps */
    COLUMN,
    DEPTH,
    ROW_EVEN,
    ROW_ODD,
    COLUMN_EVEN,
    COLUMN_ODD,
    N_EVENTS
};

enum stream {
    TENSOR_STREAM,
    CONTEXT_STREAM,
    EXPERT_STREAM,
    ROW_STREAM,
    COLUMN_STREAM,
    DEPTH_STREAM,
    N_STREAMS
};

struct player {
    const struct ty_unit_play *play;
    double compute; /* when the computation issued last ends */
    double stream[N_STREAMS], event[N_EVENTS];
    double bare;
    bool late;     /* collectives before the first computation were over long ago */
    uint32_t need; /* events that the next computation waits for: bits */
    uint32_t weight[TY_UNIT_OPS], gathered[TY_UNIT_OPS]; /* [n_weights] put off; what they need */
    uint32_t n_weights;
};

static double needed(const struct player *p)
{
    double at = p->compute;
    for (uint32_t e = 0; e < N_EVENTS; e++) {
        at = (p->need >> e & 1u) != 0 ? fmax(at, p->event[e]) : at;
    }
    return at;
}

static void compute(struct player *p, double ps)
{
    p->compute = needed(p) + ps;
    p->bare += ps;
    p->need = 0;
}

static enum event event_of(enum ty_comm_group group)
{
    switch (group) {
    case TY_GROUP_TENSOR:
        return TENSOR;
    case TY_GROUP_EXPERT:
    case TY_GROUP_EXPERT_TENSOR:
    case TY_GROUP_EXPERT_ALL:
        return EXPERT;
    case TY_GROUP_ROW:
    case TY_GROUP_OUTPUT:
        return ROW;
    case TY_GROUP_COLUMN:
    case TY_GROUP_INPUT:
        return COLUMN;
    case TY_GROUP_WEIGHT:
        return DEPTH;
    default:
        return CONTEXT;
    }
}

static enum stream stream_of(enum ty_comm_group group)
{
    static const enum stream of[N_EVENTS] = {
        [TENSOR] = TENSOR_STREAM, [CONTEXT] = CONTEXT_STREAM, [EXPERT] = EXPERT_STREAM,
        [ROW] = ROW_STREAM,       [COLUMN] = COLUMN_STREAM,   [DEPTH] = DEPTH_STREAM};
    return of[event_of(group)];
}

/* Nothing has been computed yet, and collectives take no time. */
static bool is_early(const struct player *p)
{
    return p->late && p->bare <= 0;
}

/* A collective on what has been computed so far; on a grid of ranks on what the next computation
 * waits for, too. */
static void collective(struct player *p, enum stream stream, enum event event, double ps)
{
    const double ready = ty_layout_is_mesh(p->play->layout) ? needed(p) : p->compute;
    p->stream[stream] = fmax(p->stream[stream], ready) + (is_early(p) ? 0 : ps);
    p->event[event] = p->stream[stream];
}

/* An operator beside an exchange leaves what that brings to the one after it. */
static uint32_t pass_by(struct player *p, const struct ty_unit_op *op)
{
    const uint32_t passed = op->overlaps_comm ? p->need & 1u << EXPERT : 0;
    p->need &= ~passed;
    return passed;
}

static bool hides(const struct ty_layout *layout, const struct ty_op_comms *comms,
                  enum ty_comm_place place)
{
    const bool experts = layout->expert > 1;
    bool any = false;
    if (place == TY_BEFORE_WGRAD || (experts && place == TY_BEFORE_FORWARD)) {
        return false;
    }
    for (uint32_t i = 0; i < comms->n; i++) {
        const enum ty_comm_group group = (enum ty_comm_group)comms->item[i].group;
        any = any || (experts ? group == TY_GROUP_EXPERT || group == TY_GROUP_EXPERT_ALL
                              : group == TY_GROUP_TENSOR);
    }
    return any;
}

static void catch_up(struct player *p)
{
    for (uint32_t i = 0; i < p->n_weights; i++) {
        p->need |= p->gathered[i];
        compute(p, p->play->op[p->weight[i]].weight);
    }
    p->n_weights = 0;
}

/* The collectives of an operator at a place. Returns the events they record. */
static uint32_t comms(struct player *p, uint32_t op, enum ty_comm_place place)
{
    const struct ty_op_comms *all = &p->play->ops->op[op].comms[place];
    uint32_t events = 0;
    for (uint32_t i = 0; i < all->n; i++) {
        const enum ty_comm_group group = (enum ty_comm_group)all->item[i].group;
        const enum event record = place == TY_BEFORE_WGRAD ? REGATHER : event_of(group);
        for (uint32_t k = 0; k < all->item[i].times; k++) {
            collective(p, stream_of(group), record, p->play->comm[op][place][i]);
        }
        events |= 1u << record;
    }
    if (hides(p->play->layout, all, place)) {
        catch_up(p);
    }
    return events;
}

static enum event step_event(const struct ty_op_move *move, uint32_t step)
{
    const bool odd = step % 2 == 1;
    return move->group == TY_GROUP_ROW ? (odd ? ROW_ODD : ROW_EVEN)
                                       : (odd ? COLUMN_ODD : COLUMN_EVEN);
}

static void put_move(struct player *p, const struct ty_op_move *move, uint32_t step, double ps)
{
    if (move->bytes > 0) {
        collective(p, stream_of((enum ty_comm_group)move->group), step_event(move, step), ps);
    }
}

static void bring(struct player *p, uint32_t op, enum ty_direction pass, uint32_t step)
{
    const struct ty_op_steps *steps = &p->play->ops->op[op].steps;
    for (uint32_t i = 0; i < TY_STEP_BLOCKS && step < steps->n; i++) {
        put_move(p, &steps->block[pass][i], step, p->play->block[op][pass][i]);
    }
}

/* As model/lower/grid.c has them. */
static void steps(struct player *p, uint32_t op, enum ty_direction pass, double ps)
{
    const struct ty_op_steps *all = &p->play->ops->op[op].steps;
    const struct ty_op_move *sum = &all->sum[pass];
    bring(p, op, pass, 0);
    p->need = 0;
    for (uint32_t step = 0; step < all->n; step++) {
        bring(p, op, pass, step + 1);
        for (uint32_t i = 0; i < TY_STEP_BLOCKS; i++) {
            const struct ty_op_move *block = &all->block[pass][i];
            p->need |= block->bytes > 0 ? 1u << step_event(block, step) : 0;
        }
        p->need |= step >= 2 && sum->bytes > 0 ? 1u << step_event(sum, step) : 0;
        compute(p, ps);
        put_move(p, sum, step, p->play->sum[op][pass]);
    }
    p->need |= sum->bytes > 0 ? 1u << step_event(sum, all->n - 1) : 0;
}

/* A round of an operator, and what arrives beside it. Where a pass begins with a round, its message
 * does not wait for that of the pass, beside which it may be over. */
static void round_of(struct player *p, uint32_t op, uint32_t i, double ps, bool back)
{
    const uint32_t n = p->play->ops->op[op].rounds.n;
    const double *message = p->play->round[op];
    const enum event event = i % 2 == 1 ? CONTEXT_ODD : CONTEXT;
    const bool sends = back || i < n - 1;
    if (sends && p->bare > 0) {
        collective(p, CONTEXT_STREAM, event, message[!back ? 0 : i == 0 ? 1 : i < n - 1 ? 2 : 3]);
    }
    compute(p, ps);
    p->need |= sends ? 1u << event : 0;
}

/* A product in pieces: a share of its input, or of its result, on what is there at `ready`. */
static void pass_share(struct player *p, uint32_t op, double ready)
{
    double *stream = &p->stream[TENSOR_STREAM];
    const bool early = p->late && *stream <= 0 && ready <= 0; /* it waits for no computation */
    *stream = fmax(*stream, ready) + (early ? 0 : p->play->copy[op]);
    p->event[TENSOR] = *stream;
}

static void gathered_pieces(struct player *p, uint32_t op, double piece)
{
    pass_share(p, op, p->compute);
    compute(p, piece);
    for (uint32_t left = p->play->ops->op[op].pieces.n - 1; left > 0; left--) {
        p->need |= 1u << TENSOR;
        compute(p, piece);
        if (left > 1) {
            pass_share(p, op, 0);
        }
    }
}

static void scattered_pieces(struct player *p, uint32_t op, double piece)
{
    for (uint32_t i = 1; i < p->play->ops->op[op].pieces.n; i++) {
        compute(p, piece);
        pass_share(p, op, p->compute);
    }
    compute(p, piece);
    p->need |= 1u << TENSOR;
}

/* An operator in one piece, in several, in steps, or in rounds, each with a message beside it. */
static void work(struct player *p, uint32_t op, double first, double next, bool back)
{
    const struct ty_unit_op *one = &p->play->ops->op[op];
    if (one->steps.n > 0) {
        steps(p, op, back ? TY_DGRAD : TY_FORWARD, first);
        return;
    }
    if (one->pieces.n > 0 && next > 0) {
        (one->pieces.scatters && !back ? scattered_pieces : gathered_pieces)(p, op, next);
        if (first > 0) { /* what is left of the operator */
            compute(p, first);
        }
        return;
    }
    if (one->rounds.n == 0) {
        compute(p, first);
        return;
    }
    for (uint32_t i = 0; i < one->rounds.n; i++) {
        round_of(p, op, i, i == 0 ? first : next, back);
    }
}

static void weigh(struct player *p, uint32_t op, double ps)
{
    if (p->play->ops->op[op].steps.n > 0) {
        steps(p, op, TY_WGRAD, ps);
    } else {
        compute(p, ps);
    }
}

/* ---- operators ---- */

static void forward_op(struct player *p, uint32_t i)
{
    const struct ty_op_times *t = &p->play->op[i];
    const uint32_t rows = pass_by(p, &p->play->ops->op[i]);
    p->need |= comms(p, i, TY_BEFORE_FORWARD);
    work(p, i, t->forward, t->next_forward, false);
    p->need |= comms(p, i, TY_AFTER_FORWARD) | rows;
}

static void again_op(struct player *p, uint32_t i)
{
    const struct ty_unit_op *op = &p->play->ops->op[i];
    const struct ty_op_times *t = &p->play->op[i];
    const uint32_t rows = pass_by(p, op);
    if ((op->again & 1u) != 0) {
        p->need |= comms(p, i, TY_BEFORE_FORWARD);
    }
    work(p, i, t->recompute, t->next_recompute, false);
    if ((op->again >> (op->n_kernels - 1) & 1u) != 0) {
        p->need |= comms(p, i, TY_AFTER_FORWARD);
    }
    p->need |= rows;
}

/* The weight gradient is put off until there is a collective to run beside. */
static void delayed_op(struct player *p, uint32_t i)
{
    const struct ty_op_times *t = &p->play->op[i];
    p->need |= comms(p, i, TY_BEFORE_DGRAD);
    const uint32_t gathered = comms(p, i, TY_BEFORE_WGRAD);
    work(p, i, t->input, t->next_input, true);
    if (p->play->ops->op[i].weight != NULL) {
        p->weight[p->n_weights] = i;
        p->gathered[p->n_weights++] = gathered;
    }
    p->need |= comms(p, i, TY_AFTER_DGRAD);
}

/* Picoseconds of the collectives of an operator at a place. */
static double sum_comms(const struct player *p, uint32_t op, enum ty_comm_place place)
{
    const struct ty_op_comms *all = &p->play->ops->op[op].comms[place];
    double sum = 0;
    for (uint32_t i = 0; i < all->n; i++) {
        const double times = all->item[i].group == TY_GROUP_TENSOR ? all->item[i].times : 0;
        sum += times * p->play->comm[op][place][i];
    }
    return sum;
}

/* A computation of `ps` and collectives of `beside`, none of which begins before it, are both over
 * by the time that `event` stands for now, which somebody waits for. With s lost beside them, D the
 * time of the computation and T that of both, D >= ps + s (beside + D - T) and T >= D, so that
 * T >= ps + s beside, wherever they lie. The clock rounds twice. */
static void join(struct player *p, enum event event, double start, double ps, double beside)
{
    const double end = start + ps + floor(p->play->slows * beside) - 2;
    p->event[event] = fmax(p->event[event], end);
    p->stream[TENSOR_STREAM] =
        event == REGATHER ? fmax(p->stream[TENSOR_STREAM], end) : p->stream[TENSOR_STREAM];
}

static void whole_op(struct player *p, uint32_t i)
{
    const struct ty_unit_op *op = &p->play->ops->op[i];
    const struct ty_op_times *t = &p->play->op[i];
    const bool split = op->column || op->pieces.n > 0;
    const uint32_t rows = pass_by(p, op);
    p->need |= comms(p, i, TY_BEFORE_DGRAD);
    const bool in_step = (p->need & ~(1u << TENSOR)) == 0 && op->rounds.n == 0 && !is_early(p);
    const double start = needed(p);
    const uint32_t gathered = comms(p, i, TY_BEFORE_WGRAD);
    work(p, i, t->dgrad, t->next_dgrad, true);
    if (in_step && gathered != 0) { /* behind whatever it waits for on their stream */
        join(p, REGATHER, start, t->dgrad, sum_comms(p, i, TY_BEFORE_WGRAD));
    }
    const uint32_t reduced = comms(p, i, TY_AFTER_DGRAD);
    if (!split || !p->play->layout->framework.overlap_tensor_reduce) {
        p->need |= reduced;
    }
    if (split) {
        const bool beside = p->need == 0 && reduced == 1u << TENSOR;
        p->need |= gathered;
        const double second = needed(p);
        weigh(p, i, t->wgrad);
        if (beside) {
            join(p, TENSOR, second, t->wgrad, sum_comms(p, i, TY_AFTER_DGRAD));
        }
        p->need |= reduced;
    }
    p->need |= rows;
}

static void backward_op(struct player *p, uint32_t i)
{
    const struct ty_layout *layout = p->play->layout;
    const bool delays =
        p->play->ops->op[i].expert && layout->expert > 1 && layout->framework.overlap_dispatch;
    (delays ? delayed_op : whole_op)(p, i);
}

static void input_op(struct player *p, uint32_t i)
{
    const struct ty_unit_op *op = &p->play->ops->op[i];
    const struct ty_op_times *t = &p->play->op[i];
    if (op->first) {
        return;
    }
    const uint32_t rows = pass_by(p, op);
    p->need |= comms(p, i, TY_BEFORE_DGRAD);
    work(p, i, t->input, t->next_input, true);
    p->need |= comms(p, i, TY_AFTER_DGRAD) | rows;
}

static void weight_op(struct player *p, uint32_t i)
{
    const struct ty_unit_op *op = &p->play->ops->op[i];
    if (op->weight == NULL) {
        return;
    }
    if (op->first) {
        p->need |= comms(p, i, TY_BEFORE_DGRAD);
    }
    p->need |= comms(p, i, TY_BEFORE_WGRAD);
    weigh(p, i, p->play->op[i].weight);
}

/* ---- passes ---- */

typedef void op_fn(struct player *p, uint32_t i);

static struct ty_unit_time played(const struct player *p)
{
    return (struct ty_unit_time){.through = needed(p), .busy = p->compute, .bare = p->bare};
}

/* What runs again before a backward. */
static void again(struct player *p)
{
    for (uint32_t i = 0; i < p->play->ops->n; i++) {
        if (p->play->ops->op[i].again != 0) {
            again_op(p, i);
        }
    }
}

/* The operators of a part before `end`, from the last to the first; weight gradients that are put
 * off end with it. Returns where the part begins. */
static uint32_t part_backwards(struct player *p, uint32_t end, op_fn *op)
{
    const struct ty_unit_ops *ops = p->play->ops;
    uint32_t i = end;
    do {
        op(p, --i);
    } while (i > 0 && ops->op[i - 1].part == ops->op[i].part);
    catch_up(p);
    return i;
}

static struct ty_unit_time backwards(const struct ty_unit_play *play, op_fn *op, bool recomputes)
{
    struct player p = {.play = play};
    if (recomputes) {
        again(&p);
    }
    for (uint32_t end = play->ops->n; end > 0;) {
        end = part_backwards(&p, end, op);
    }
    return played(&p);
}

static void time_parts(const struct ty_unit_play *play, struct ty_part_time *part)
{
    const struct ty_unit_ops *ops = play->ops;
    struct player all = {.play = play};
    uint32_t n = ops->n > 0;
    for (uint32_t i = 1; i < ops->n; i++) {
        n += ops->op[i].part != ops->op[i - 1].part;
    }
    again(&all);
    double begin = 0;
    for (uint32_t end = ops->n; end > 0; n--) {
        struct player late = {.play = play, .late = true};
        if (end == ops->n) {
            again(&late);
        }
        (void)part_backwards(&late, end, backward_op);
        end = part_backwards(&all, end, backward_op);
        part[n - 1] = (struct ty_part_time){.through = needed(&all) - begin,
                                            .busy = all.compute - begin,
                                            .late_through = needed(&late),
                                            .late_busy = late.compute};
        begin = needed(&all);
    }
}

void ty_unit_times(const struct ty_unit_play *play, struct ty_unit_times *out)
{
    struct player p = {.play = play}, late = {.play = play, .late = true};
    for (uint32_t i = 0; i < play->ops->n; i++) {
        forward_op(&p, i);
        forward_op(&late, i);
    }
    out->forward = played(&p);
    out->late = played(&late);
    out->backward = backwards(play, backward_op, true);
    out->input = backwards(play, input_op, true);
    out->weight = backwards(play, weight_op, false);
    time_parts(play, out->part);
}

bool ty_unit_cuts(const struct ty_unit_ops *ops, const struct ty_layout *layout)
{
    bool cuts = false;
    for (uint32_t i = 0; i < ops->n; i++) {
        const struct ty_unit_op *op = &ops->op[i];
        cuts = cuts || hides(layout, &op->comms[TY_BEFORE_DGRAD], TY_BEFORE_DGRAD) ||
               hides(layout, &op->comms[TY_AFTER_DGRAD], TY_AFTER_DGRAD);
    }
    return cuts;
}
