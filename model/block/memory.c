/* memory.c - bytes a rank holds.
 *
 * STATES (Rajbhandari et al. 2020): 16-bit weights and gradients, 2 B each, and 12 B of Adam state
 * where that is in 32 bit (master weight, two moments); N replicas share what the ZeRO stage says.
 *
 * ACTIVATIONS are the tensors that the lists of operators note (block.h), each with its name, its
 * bytes and how long it lives; every sum is a sum over them, so what a report names is what the
 * bill counts. */
#include "model/block/memory.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "model/block/optimizer.h"

/* ---- states ---- */

double ty_memory_grad_bytes(const struct ty_layout *layout)
{
    return layout->framework.grad_fp32 ? 4 : 2;
}

double ty_memory_reduced_bytes(const struct ty_layout *layout)
{
    return layout->framework.reduce_fp32 ? 4 : 2;
}

double ty_memory_added_bytes(const struct ty_layout *layout)
{
    const double kept = ty_memory_grad_bytes(layout);
    return layout->zero >= 2 ? fmax(kept, ty_memory_reduced_bytes(layout)) : kept;
}

double ty_memory_weight_bytes(const struct ty_layout *layout)
{
    return layout->framework.fp8_weights ? 1 : 2;
}

static const double state_bytes[] = {
    [TY_STATE_FP32] = 4, [TY_STATE_16BIT] = 2, [TY_STATE_FP8] = 1, [TY_STATE_NONE] = 0};

double ty_memory_optimizer_bytes(const struct ty_layout *layout)
{
    const struct ty_optimizer *o = ty_optimizer_of(layout);
    return state_bytes[layout->framework.master_dtype] + o->state_B +
           o->moments * state_bytes[layout->framework.moment_dtype];
}

double ty_memory_ends_bytes(const struct ty_layout *layout)
{
    return ty_optimizer_of(layout)->matrices ? state_bytes[layout->framework.moment_dtype] : 0;
}

double ty_memory_ends(const struct ty_layout *layout, double ends)
{
    return ty_memory_ends_bytes(layout) * ty_optimizer_params(layout, ends, 0);
}

struct ty_state_bytes ty_memory_states(const struct ty_layout *layout, double params,
                                       double experts)
{
    const double shared = ty_layout_shard(layout, params, experts);
    const double gradient = ty_memory_grad_bytes(layout);
    const double stays = 1 - layout->home.share;
    const bool whole = layout->zero >= 2 && ty_layout_moves_grads(layout) &&
                       ty_layout_reduces(layout) == TY_REDUCES_LAST && ty_layout_adds_up(layout);
    const double weights =
        layout->home.parameters == TY_HOME_GPU ? layout->zero >= 3 ? shared : params : 0;
    return (struct ty_state_bytes){
        .weights = ty_memory_weight_bytes(layout) * weights,
        .grads = whole ? ty_memory_added_bytes(layout) * params
                       : gradient * (layout->zero >= 2 ? stays * shared : params),
        .optimizer =
            ty_memory_optimizer_bytes(layout) * stays * (layout->zero >= 1 ? shared : params),
    };
}

double ty_memory_frozen(const struct ty_layout *layout, double bytes, double experts)
{
    return layout->home.parameters != TY_HOME_GPU ? 0
           : layout->zero >= 3                    ? ty_layout_shard(layout, bytes, experts)
                                                  : bytes;
}

/* ---- next to the GPU ---- */

static struct ty_state_bytes *tier_of(struct ty_away_bytes *away, int home)
{
    return home == TY_HOME_NVME ? &away->nvme : &away->host;
}

void ty_memory_frozen_away(const struct ty_layout *layout, double bytes, double experts,
                           struct ty_away_bytes *away)
{
    if (layout->home.parameters != TY_HOME_GPU) {
        tier_of(away, layout->home.parameters)->weights += ty_layout_shard(layout, bytes, experts);
    }
}

/* Gradients wait where the optimizer will read them; those of several micro-batches are added up in
 * the memory of the node. */
struct ty_away_bytes ty_memory_offloaded(const struct ty_layout *layout, double params,
                                         double experts)
{
    const struct ty_homes *home = &layout->home;
    const double shared = ty_layout_shard(layout, params, experts);
    const double grads = TY_MOVED_BYTES * home->share * shared;
    struct ty_away_bytes away = {.host = {.weights = 0}};
    if (home->parameters != TY_HOME_GPU) {
        tier_of(&away, home->parameters)->weights = ty_memory_weight_bytes(layout) * shared;
    }
    if (home->optimizer != TY_HOME_GPU) {
        tier_of(&away, home->optimizer)->optimizer =
            ty_memory_optimizer_bytes(layout) * home->share * shared;
        tier_of(&away, home->optimizer)->grads = grads;
        if (layout->micro_batches > 1 && ty_layout_reduces(layout) != TY_REDUCES_LAST) {
            away.host.grads = grads;
        }
    }
    return away;
}

double ty_memory_pinned(const struct ty_layout *layout, const struct ty_homes *home, double chunk,
                        double unit)
{
    const double weight = ty_memory_weight_bytes(layout);
    double bytes = 0;
    if (home->optimizer == TY_HOME_NVME) { /* read, updated, written */
        bytes += TY_OFFLOAD_BUFFERS * home->share * chunk *
                 (ty_memory_optimizer_bytes(layout) + TY_MOVED_BYTES + weight);
    } else if (home->optimizer == TY_HOME_CPU && home->parameters != TY_HOME_CPU) {
        bytes += 2 * home->share * chunk * weight; /* updated, and on its way */
    }
    if (home->parameters == TY_HOME_NVME) {
        bytes += layout->offload_depth * unit * weight;
    }
    return bytes;
}

/* ---- activations ---- */

/* What the parts of a unit need for a moment: that of the fullest. */
static enum ty_part fullest_part(const struct ty_unit_ops *unit)
{
    double sum[UINT8_MAX + 1] = {0};
    enum ty_part most = TY_PART_NONE;
    for (uint32_t i = 0; i < unit->n_saved; i++) {
        const struct ty_saved *x = &unit->saved[i];
        sum[x->part] += x->life == TY_LIFE_BACKWARD && x->part != TY_PART_NONE ? x->bytes : 0;
    }
    for (uint32_t i = 0; i < unit->n; i++) {
        most = sum[unit->op[i].part] > sum[most] ? unit->op[i].part : most;
    }
    return most;
}

void ty_memory_tensors(const struct ty_units *units, struct ty_tensors *out)
{
    out->n = 0;
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        const struct ty_unit_ops *unit = &units->kind[k];
        const enum ty_part fullest = fullest_part(unit);
        double most = 0;
        for (uint32_t i = 0; i < unit->n_saved; i++) {
            const struct ty_saved *x = &unit->saved[i];
            const bool brief = x->life == TY_LIFE_BACKWARD || x->life == TY_LIFE_WEIGHT;
            most = brief ? most : fmax(most, x->bytes);
            if (x->life == TY_LIFE_KEPT && units->stashed) {
                continue;
            }
            if (x->life != TY_LIFE_BACKWARD || x->part == TY_PART_NONE || x->part == fullest) {
                out->item[out->n++] =
                    (struct ty_tensor){x->name, k, x->weight, x->life, x->bytes, x->routed};
            }
        }
        if (units->splits && most > 0) {
            assert(out->n < TY_TENSORS_MAX);
            out->item[out->n++] =
                (struct ty_tensor){"split block", k, false, TY_LIFE_SPLIT, most, 0};
        }
    }
}

double ty_memory_kept(const struct ty_unit_ops *unit)
{
    double sum = 0;
    for (uint32_t i = 0; i < unit->n_saved; i++) {
        sum += unit->saved[i].life == TY_LIFE_KEPT ? unit->saved[i].bytes : 0;
    }
    return sum;
}

/* Bytes of one life that are there in a pass; in a whole backward all of them are. */
static double sum_in(const struct ty_tensors *tensors, enum ty_unit_kind unit,
                     enum ty_tensor_life life, enum ty_phase phase)
{
    double sum = 0;
    for (uint32_t i = 0; i < tensors->n; i++) {
        const struct ty_tensor *x = &tensors->item[i];
        sum += x->unit == unit && x->life == life && ty_tensor_is_in(x, phase) ? x->bytes : 0;
    }
    return sum;
}

double ty_tensors_sum(const struct ty_tensors *tensors, enum ty_unit_kind unit,
                      enum ty_tensor_life life)
{
    return sum_in(tensors, unit, life, TY_PHASE_BACKWARD);
}

bool ty_tensor_waits(const struct ty_tensor *x)
{
    return x->life == TY_LIFE_WEIGHT ||
           (x->weight && (x->life == TY_LIFE_KEPT || x->life == TY_LIFE_RECOMPUTED));
}

double ty_tensors_waiting(const struct ty_tensors *tensors, enum ty_unit_kind unit)
{
    double sum = 0;
    for (uint32_t i = 0; i < tensors->n; i++) {
        const struct ty_tensor *x = &tensors->item[i];
        sum += x->unit == unit && ty_tensor_waits(x) ? x->bytes : 0;
    }
    return sum;
}

void ty_memory_done(const struct ty_memory_stage *stage, enum ty_unit_kind kind,
                    uint32_t done[TY_N_UNIT_KINDS])
{
    const struct ty_layers *layers = &stage->layers;
    const uint32_t mode = ty_kind_mode(stage->arch, kind);
    memset(done, 0, TY_N_UNIT_KINDS * sizeof(*done));
    for (uint32_t i = layers->count; layers->n_runs > 0 && i > 0; i--) {
        if (ty_layers_mode(layers, i - 1) == mode) {
            break;
        }
        done[ty_layer_kind(stage->arch, layers, i - 1)]++;
    }
}

static double freed(const struct ty_tensors *tensors, const struct ty_memory_stage *stage,
                    enum ty_unit_kind kind)
{
    uint32_t done[TY_N_UNIT_KINDS];
    double sum = 0;
    ty_memory_done(stage, kind, done);
    for (enum ty_unit_kind k = TY_UNIT_LAYER; k < TY_UNIT_MTP; k++) {
        sum += done[k] > 0 ? done[k] * ty_tensors_sum(tensors, k, TY_LIFE_KEPT) : 0;
    }
    return sum;
}

/* What the backward of a unit needs and brings back. */
static double brief_of(const struct ty_tensors *tensors, enum ty_unit_kind k, enum ty_phase phase)
{
    return sum_in(tensors, k, TY_LIFE_BACKWARD, phase) +
           ty_tensors_sum(tensors, k, TY_LIFE_RECOMPUTED);
}

/* The fullest backward of a layer. */
static struct ty_memory_peak fullest_layer(const struct ty_tensors *tensors,
                                           const struct ty_memory_stage *stage)
{
    struct ty_memory_peak peak = {
        .kind = TY_PEAK_LAYER, .layer = TY_UNIT_LAYER, .bytes = -HUGE_VAL};
    for (enum ty_unit_kind k = TY_UNIT_LAYER; k < TY_UNIT_HEAD; k++) {
        if (stage->count[k] == 0) {
            continue;
        }
        double bytes = brief_of(tensors, k, TY_PHASE_BACKWARD);
        if (ty_unit_is_layer(k)) {
            bytes -= freed(tensors, stage, k);
        }
        if (bytes > peak.bytes) {
            peak.layer = k;
            peak.bytes = bytes;
        }
    }
    peak.bytes = peak.bytes < 0 ? 0 : peak.bytes;
    return peak;
}

/* ---- the first half of a split backward ---- */

/* A walk through it, from the last unit to the first. */
struct walk {
    struct ty_memory_peak now, peak; /* now.bytes: more than at its beginning; may be less */
    double more[TY_N_UNIT_KINDS];    /* that a unit holds when it is done with */
    double brief[TY_N_UNIT_KINDS];
};

static void pass_unit(struct walk *w, enum ty_unit_kind k)
{
    const double bytes = w->now.bytes + w->brief[k];
    if (!ty_unit_is_end(k) && bytes > w->peak.bytes) {
        w->peak = w->now;
        w->peak.layer = k;
        w->peak.bytes = bytes;
    }
    w->now.bytes += w->more[k];
    w->now.done[k]++;
}

static void pass_units(struct walk *w, enum ty_unit_kind k, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        pass_unit(w, k);
    }
}

/* Its fullest moment: units behind the one at work hold what their weight gradients need, those
 * before it what they have held since their forward. */
static struct ty_memory_peak fullest_moment(const struct ty_tensors *tensors,
                                            const struct ty_memory_stage *stage)
{
    const struct ty_layers *layers = &stage->layers;
    struct walk w = {.now = {.kind = TY_PEAK_LAYER, .layer = TY_UNIT_LAYER}};
    uint32_t modules[TY_N_UNIT_KINDS];
    memcpy(modules, stage->count, sizeof(modules));
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        w.brief[k] = brief_of(tensors, k, TY_PHASE_DGRAD);
        w.more[k] = ty_tensors_waiting(tensors, k) - ty_tensors_sum(tensors, k, TY_LIFE_KEPT);
    }
    for (uint32_t i = 0; i < layers->count; i++) {
        modules[ty_layer_kind(stage->arch, layers, i)]--;
    }
    w.peak = w.now;
    pass_units(&w, TY_UNIT_HEAD, stage->count[TY_UNIT_HEAD]);
    pass_units(&w, TY_UNIT_MTP_HEAD, stage->count[TY_UNIT_MTP_HEAD]);
    for (enum ty_unit_kind k = TY_UNIT_LAYER; k <= TY_UNIT_MTP; k++) {
        pass_units(&w, k, modules[k]);
    }
    for (uint32_t i = layers->count; i > 0; i--) {
        pass_unit(&w, ty_layer_kind(stage->arch, layers, i - 1));
    }
    pass_units(&w, TY_UNIT_EMBEDDING, stage->count[TY_UNIT_EMBEDDING]);
    if (w.now.bytes > w.peak.bytes) { /* when all is done */
        w.peak = w.now;
        w.peak.kind = TY_PEAK_NONE;
    }
    return w.peak;
}

enum ty_tensor_life ty_memory_loss_life(enum ty_phase phase)
{
    return phase == TY_PHASE_FORWARD ? TY_LIFE_LOSS : TY_LIFE_LOSS_BACKWARD;
}

struct ty_memory_peak ty_memory_pass(const struct ty_tensors *tensors,
                                     const struct ty_memory_stage *stage, enum ty_phase phase)
{
    const enum ty_tensor_life life = ty_memory_loss_life(phase);
    const double buffered =
        stage->head ? ty_tensors_sum(tensors, TY_UNIT_HEAD, TY_LIFE_BUFFERED) : 0;
    const double loss = stage->head ? sum_in(tensors, TY_UNIT_HEAD, life, phase) + buffered : 0;
    struct ty_memory_peak layer = {.kind = TY_PEAK_NONE, .layer = TY_UNIT_LAYER};
    if (phase == TY_PHASE_DGRAD) {
        layer = fullest_moment(tensors, stage);
    } else if (phase == TY_PHASE_BACKWARD) {
        layer = fullest_layer(tensors, stage);
        layer.bytes -= stage->head ? ty_tensors_sum(tensors, TY_UNIT_HEAD, TY_LIFE_KEPT) : 0;
        layer.bytes -= stage->count[TY_UNIT_MTP_HEAD] *
                       ty_tensors_sum(tensors, TY_UNIT_MTP_HEAD, TY_LIFE_KEPT);
    }
    if (phase == TY_PHASE_STEP) {
        return layer;
    }
    layer.bytes += 2 * buffered; /* and its own */
    if (phase == TY_PHASE_WGRAD) {
        return layer;
    }
    return stage->head && loss >= layer.bytes
               ? (struct ty_memory_peak){.kind = TY_PEAK_LOSS, .layer = TY_UNIT_HEAD, .bytes = loss}
               : layer;
}

double ty_memory_split(const struct ty_tensors *tensors, const uint32_t count[TY_N_UNIT_KINDS])
{
    double most = 0;
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        most = count[k] > 0 ? fmax(most, ty_tensors_sum(tensors, k, TY_LIFE_SPLIT)) : most;
    }
    return most;
}

bool ty_memory_splits(const struct ty_layout *layout)
{
    return layout->framework.allocator == TY_ALLOCATOR_SPLIT && layout->micro_batches > 1 &&
           layout->zero < 2;
}

double ty_memory_fragmentation(const struct ty_cluster *cluster, const struct ty_layout *layout)
{
    return ty_memory_splits(layout) ? cluster->overhead.split_fragmentation
                                    : cluster->overhead.fragmentation;
}

double ty_memory_lost(double fragmentation, double bytes, double split)
{
    return fragmentation > 0 ? fragmentation * bytes + split : 0;
}

/* ---- placeholders of weight gradients ---- */

static void add_shape(struct ty_placeholders *out, double in, double columns, enum ty_unit_kind k)
{
    uint32_t i = 0;
    while (i < out->n && (out->shape[i].in != in || out->shape[i].out != columns)) {
        i++;
    }
    if (i == out->n) {
        assert(out->n < TY_PLACEHOLDERS);
        out->shape[out->n++] = (struct ty_placeholder){in, columns, 0};
    }
    out->shape[i].kinds |= 1u << k;
}

static void add_shapes(struct ty_placeholders *out, const struct ty_unit_op *op,
                       enum ty_unit_kind k)
{
    for (uint32_t i = 0; i < op->n_kernels; i++) {
        const struct ty_kernel *x = &op->kernel[i];
        if (x->op == TY_OPERATOR_MATMUL) {
            add_shape(out, x->matmul.in, x->matmul.out, k);
        } else if (x->op == TY_OPERATOR_GROUPED) { /* of one expert: all are alike */
            add_shape(out, x->grouped.in, x->grouped.out, k);
        }
    }
}

void ty_placeholders_make(struct ty_placeholders *out, const struct ty_arch *arch,
                          const struct ty_layout *layout,
                          const struct ty_unit_ops unit[TY_N_UNIT_KINDS])
{
    const bool any = arch->lora.rank == 0 && ty_layout_has_placeholders(layout);
    out->n = 0;
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS && any; k++) {
        for (uint32_t i = 0; i < unit[k].n && !ty_unit_is_end(k); i++) {
            const struct ty_unit_op *op = &unit[k].op[i];
            if (op->n_weights > 0 && !op->frozen) {
                add_shapes(out, op, k);
            }
        }
    }
}

double ty_memory_placeholders(const struct ty_placeholders *placeholders, uint32_t kinds)
{
    double sum = 0;
    for (uint32_t i = 0; i < placeholders->n; i++) {
        const struct ty_placeholder *x = &placeholders->shape[i];
        sum += (x->kinds & kinds) != 0 ? ty_dtype_bytes(TY_DTYPE_BF16) * x->in * x->out : 0;
    }
    return sum;
}

uint32_t ty_unit_kinds_of(const uint32_t count[TY_N_UNIT_KINDS])
{
    uint32_t kinds = 0;
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        kinds |= count[k] > 0 ? 1u << k : 0;
    }
    return kinds;
}

/* ---- buffers ---- */

double ty_memory_buffers(const struct ty_layout *layout, const struct ty_whole *whole)
{
    const bool late = ty_layout_reduces_late(layout); /* when activations are gone: never at the
                                                       * peak */
    if (!ty_layout_moves_grads(layout)) {
        return 0;
    }
    if (layout->zero < 2 || (layout->zero == 2 && ty_layout_reduces(layout) == TY_REDUCES_LAST)) {
        return late ? 0 : ty_layout_bucket_params(layout) * ty_memory_grad_bytes(layout);
    }
    return ty_memory_weight_bytes(layout) * whole->gathered +
           ty_memory_added_bytes(layout) * whole->added +
           ty_memory_grad_bytes(layout) * whole->made +
           (late ? 0 : ty_memory_reduced_bytes(layout) * whole->reduced);
}
