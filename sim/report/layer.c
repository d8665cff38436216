/* layer.c - the lists of operators that a run is made of (model/block/block.h), for people: what a
 * rank does in one micro-batch, kernel by kernel, with the collectives around it. */
#include <stdio.h>
#include <string.h>

#include "model/block/memory.h"
#include "model/parallel.h"
#include "sim/base/number_text.h"
#include "sim/base/words.h"
#include "sim/report/table.h"
#include "sim/run/run.h"
#include "topology/collectives/coll.h"

/* Columns: name, FLOPs, bytes, weights, kept, forward, input gradient, weight gradient, again. */
static const size_t column[] = {28, 40, 52, 65, 77, 89, 101, 113, 125};

struct listing {
    const struct ty_run *run;
    struct ty_text *t;
    const struct ty_gpu *gpu;
    struct ty_arena *arena;                         /* scratch */
    const struct ty_reach *reach[TY_N_COMM_GROUPS]; /* of rank 0 */
};

/* Right-aligned at the end of a column; nothing for zero. */
static void cell(struct ty_text *t, size_t end, const char *text)
{
    ty_text_pad(t, end - strlen(text));
    ty_text_add(t, "%s", text);
}

static void seconds(struct ty_text *t, size_t end, double s)
{
    char text[32] = "-";
    cell(t, end, s > 0 ? ty_words_seconds(s, text, sizeof(text)) : text);
}

static void count(struct ty_text *t, size_t end, double x, char *(*words)(double, char *, size_t))
{
    char text[40] = "-";
    cell(t, end, x > 0 ? words(x, text, sizeof(text)) : text);
}

static char *flops_words(double x, char *buf, size_t size)
{
    ty_snprintf(buf, size, "%.4g G", x / 1e9);
    return buf;
}

/* ---- below an operator ---- */

static void put_shape(struct ty_text *t, const struct ty_kernel *kernel)
{
    const struct ty_matmul *m = &kernel->matmul;
    const struct ty_attention_core *x = &kernel->attention;
    const struct ty_grouped *g = &kernel->grouped;
    const struct ty_permute *p = &kernel->permute;
    const struct ty_scan *s = &kernel->scan;
    const struct ty_index *i = &kernel->index;
    char number[32];
    switch (kernel->op) {
    case TY_OPERATOR_MATMUL:
        ty_text_add(t, "%.10g rows, %.10g in, %.10g out", m->rows, m->in, m->out);
        return;
    case TY_OPERATOR_GROUPED:
        ty_text_add(t, "%.10g rows in %.10g groups, %.10g in, %.10g out", g->rows, g->groups, g->in,
                    g->out);
        return;
    case TY_OPERATOR_PERMUTE:
    case TY_OPERATOR_UNPERMUTE:
        ty_text_add(t, "%.10g tokens, %.10g rows, %.10g wide", p->tokens, p->rows, p->width);
        return;
    case TY_OPERATOR_ATTENTION:
        ty_text_add(t, "%.10g x %.10g queries, %.10g keys%s, %.10g heads of %.10g, %.10g of keys",
                    x->sequences, x->queries > 0 ? x->queries : x->tokens, x->tokens,
                    x->unmasked ? ", none masked" : "", x->heads, x->head_dim, x->kv_heads);
        if (x->value_dim > 0) {
            ty_text_add(t, ", values of %.10g", x->value_dim);
        }
        if (x->window > 0) {
            ty_text_add(t, x->chosen ? ", %.10g chosen" : ", window of %.10g", x->window);
        }
        return;
    case TY_OPERATOR_SCAN:
        ty_text_add(
            t,
            "%.10g x %.10g tokens in chunks of %.10g, %.10g heads of %.10g, %.10g groups of "
            "keys of %.10g",
            s->sequences, s->tokens, s->chunk, s->heads, s->value, s->groups, s->key);
        return;
    case TY_OPERATOR_INDEX:
        ty_text_add(t, "%.10g x %.10g queries, %.10g keys, %.10g heads of %.10g, %.10g chosen",
                    i->sequences, i->queries > 0 ? i->queries : i->tokens, i->tokens, i->heads,
                    i->width, i->chosen);
        return;
    default:
        ty_text_add(t, "%s elements", ty_words_count(kernel->elements, number, sizeof(number)));
    }
}

static void put_kernels(const struct listing *l, const struct ty_unit_op *op)
{
    for (uint32_t i = 0; i < op->n_kernels; i++) {
        const struct ty_kernel *kernel = &op->kernel[i];
        const bool again = op->rounds.n > 0 && i >= op->rounds.n_first;
        ty_text_add(l->t, "    %-14s", ty_operator_name(kernel->op));
        put_shape(l->t, kernel);
        if (again) {
            const unsigned rounds = op->rounds.n - 1;
            ty_text_add(l->t,
                        rounds == 1 ? ", in a second round" : ", in each of %u further rounds",
                        rounds);
        }
        if (op->steps.n > 0) {
            ty_text_add(l->t, ", in each of %u steps", (unsigned)op->steps.n);
        }
        ty_text_add(l->t, "\n");
    }
}

static const char *exchange_name(const struct ty_op_comm *comm)
{
    const bool by_node = comm->exchange.tokens > 0 && comm->exchange.method == TY_EXCHANGE_PER_NODE;
    return by_node ? "a copy a node" : ty_coll_name((enum ty_coll)comm->coll);
}

static void put_comm(const struct listing *l, const char *when, const struct ty_op_comm *comm)
{
    char bytes[32], time[32];
    const struct ty_reach *reach = &l->reach[comm->group][0];
    const double s = ty_op_comm_seconds(&l->run->config->cluster, comm, reach); /* each */
    const bool exchange = comm->exchange.tokens > 0;
    const double B = exchange ? ty_exchange_bytes(&comm->exchange, reach->ranks) : comm->bytes;
    ty_text_add(l->t, "    %s: %s%s%s over %s, %u ranks, %s, %s", when,
                comm->name == NULL ? "" : comm->name, comm->name == NULL ? "" : ", ",
                exchange_name(comm), ty_comm_group_name((enum ty_comm_group)comm->group),
                (unsigned)reach->ranks, ty_words_bytes(B, bytes, sizeof(bytes)),
                ty_words_seconds(s, time, sizeof(time)));
    if (comm->times * comm->calls > 1) {
        ty_text_add(l->t, ", %u times", (unsigned)comm->times * comm->calls);
    }
    ty_text_add(l->t, "\n");
}

static void put_move(const struct listing *l, const char *when, const struct ty_op_move *move)
{
    char bytes[32], time[32];
    if (move->bytes > 0) {
        const struct ty_reach *reach = &l->reach[move->group][0];
        const double s = ty_op_move_seconds(&l->run->config->cluster, move, reach);
        ty_text_add(l->t, "    %s: %s over %s, %u ranks, %s, %s\n", when,
                    ty_coll_name((enum ty_coll)move->coll),
                    ty_comm_group_name((enum ty_comm_group)move->group), (unsigned)reach->ranks,
                    ty_words_bytes(move->bytes, bytes, sizeof(bytes)),
                    ty_words_seconds(s, time, sizeof(time)));
    }
}

/* What ranks on a grid say to each other besides. */
static void put_moves(const struct listing *l, const struct ty_unit_op *op)
{
    static const char *const blocks[] = {[TY_FORWARD] = "for each step of the forward",
                                         [TY_DGRAD] = "for each step of the input gradient",
                                         [TY_WGRAD] = "for each step of the weight gradient"};
    for (enum ty_direction pass = TY_FORWARD; pass <= TY_WGRAD; pass++) {
        for (uint32_t i = 0; i < TY_STEP_BLOCKS; i++) {
            put_move(l, blocks[pass], &op->steps.block[pass][i]);
        }
        put_move(l, blocks[pass], &op->steps.sum[pass]);
    }
    for (uint32_t i = 0; i < TY_OP_GRADS; i++) {
        put_move(l, "behind the weight gradient, until the end of the step", &op->grad[i]);
    }
}

static void put_comms(const struct listing *l, const struct ty_unit_op *op)
{
    static const char *const when[TY_N_COMM_PLACES] = {
        "before the forward", "after the forward", "before the backward",
        "after the input gradient", "beside the input gradient, for the weight gradient"};
    for (uint32_t place = 0; place < TY_N_COMM_PLACES; place++) {
        for (uint32_t i = 0; i < op->comms[place].n; i++) {
            put_comm(l, when[place], &op->comms[place].item[i]);
        }
    }
    if (op->rounds.n > 0) {
        struct ty_op_comm message = {.group = op->rounds.group,
                                     .coll = TY_COLL_SEND_RECV,
                                     .calls = 1,
                                     .times = 1,
                                     .bytes = op->rounds.forward_B};
        put_comm(l, "beside each round but the last", &message);
        const bool pair = op->rounds.n == 2;
        message.bytes = pair ? op->rounds.first_B : op->rounds.middle_B;
        put_comm(l,
                 pair ? "beside each round of the backward"
                      : "beside each round of the backward (first and last: half)",
                 &message);
    }
}

/* What an operator leaves for the backward pass: bytes that are kept; with `print` a line each,
 * also of what is computed again. */
static double put_kept(const struct listing *l, const struct ty_unit_ops *unit, uint32_t number,
                       bool print)
{
    double sum = 0;
    for (uint32_t i = 0; i < unit->n_saved; i++) {
        const struct ty_saved *x = &unit->saved[i];
        const bool mine = x->made == number || (x->made == TY_INPUT && x->used == number);
        const bool kept = x->life == TY_LIFE_KEPT;
        char bytes[32];
        if (!mine || (!kept && x->life != TY_LIFE_RECOMPUTED)) {
            continue;
        }
        sum += kept ? x->bytes : 0;
        if (print) {
            ty_text_add(l->t, "    %s %s, %s\n", kept ? "keeps" : "gives up", x->name,
                        ty_words_bytes(x->bytes, bytes, sizeof(bytes)));
        }
    }
    return sum;
}

/* ---- a unit ---- */

static void put_operator(const struct listing *l, const struct ty_unit_ops *unit, uint32_t i,
                         const struct ty_op_costs *cost)
{
    const struct ty_unit_op *op = &unit->op[i];
    double bytes = 0, weights = 0;
    for (uint32_t k = 0; k < op->n_kernels; k++) {
        const bool again = op->rounds.n > 0 && k >= op->rounds.n_first;
        const uint32_t times = again ? op->rounds.n - 1 : op->steps.n > 0 ? op->steps.n : 1;
        bytes += times * ty_kernel_bytes(l->gpu, &op->kernel[k]);
    }
    for (uint32_t k = 0; k < op->n_weights; k++) {
        weights += op->weights[k].params;
    }
    ty_text_add(l->t, "  %s", op->name);
    count(l->t, column[1], cost->forward.flops, flops_words);
    count(l->t, column[2], bytes, ty_words_bytes);
    count(l->t, column[3], weights, ty_words_count);
    count(l->t, column[4], put_kept(l, unit, i, false), ty_words_bytes);
    seconds(l->t, column[5], cost->forward.seconds);
    seconds(l->t, column[6], op->first ? 0 : cost->dgrad.seconds);
    seconds(l->t, column[7], op->first ? cost->dgrad.seconds : cost->wgrad.seconds);
    seconds(l->t, column[8], cost->recompute.seconds);
    ty_text_add(l->t, "\n");
    put_kernels(l, op);
    put_comms(l, op);
    put_moves(l, op);
    put_kept(l, unit, i, true);
}

static void put_unit(const struct listing *l, const char *name, const struct ty_unit_ops *unit)
{
    static const char *const head[] = {"FLOPs",   "bytes",      "weights",     "kept",
                                       "forward", "input grad", "weight grad", "again"};
    static const char *const when[] = {[TY_LIFE_BACKWARD] = "while it runs backward",
                                       [TY_LIFE_LOSS] = "while the loss runs",
                                       [TY_LIFE_LOSS_BACKWARD] = "while the loss runs backward",
                                       [TY_LIFE_BUFFERED] = "in pipeline buffers"};
    const struct ty_layout *layout = &l->run->config->layout;
    struct ty_unit_costs costs;
    ty_unit_price(unit, layout, l->gpu, &costs);
    ty_text_add(l->t, "\n%s", name);
    for (size_t i = 0; i < TY_COUNT(head); i++) {
        cell(l->t, column[i + 1], head[i]);
    }
    ty_text_add(l->t, "\n");
    for (uint32_t i = 0; i < unit->n; i++) {
        put_operator(l, unit, i, &costs.op[i]);
    }
    for (uint32_t i = 0; i < unit->n_saved; i++) {
        const struct ty_saved *x = &unit->saved[i];
        char bytes[32];
        if (when[x->life] != NULL) {
            ty_text_add(l->t, "  %s: %s, %s\n", when[x->life], x->name,
                        ty_words_bytes(x->bytes, bytes, sizeof(bytes)));
        }
    }
}

/* Layers, a listing for each kind: "layer (32)". */
static void put_layers(const struct listing *l, const struct ty_units *units)
{
    const struct ty_config *c = l->run->config;
    const struct ty_section *layout = &c->sections[TY_SECTION_LAYOUT];
    const struct ty_arch *arch = &c->arch;
    uint32_t count[TY_N_UNIT_KINDS];
    ty_model_layers(arch, &c->layout, count);
    for (enum ty_unit_kind k = TY_UNIT_LAYER; k < TY_UNIT_MTP; k++) {
        char name[128], again[TY_SET_TEXT] = "", letters[TY_BLOCK_LETTERS];
        const uint32_t layer = ty_kind_first(arch, k);
        if (count[k] == 0) {
            continue;
        }
        if (c->layout.recompute_layers.n > 0) {
            ty_set_format(ty_section_field(layout, "recompute"), units->kind[k].recompute, again,
                          sizeof(again));
        }
        snprintf(name, sizeof(name), "layer (%u%s%s%s%s%s%s)", (unsigned)count[k],
                 arch->n_patterns > 0 ? ", " : "", ty_arch_block_letters(arch, layer, letters),
                 ty_arch_has_window(arch, layer) ? ", window" : "",
                 !ty_arch_is_moe(arch) || arch->n_patterns > 0 ? ""
                 : ty_arch_has_experts(arch, layer)            ? ", experts"
                                                               : ", dense",
                 again[0] != '\0' ? ", again " : "", again);
        put_unit(l, name, &units->kind[k]);
    }
}

/* Without experts nobody has a place among those who share them. */
static bool is_there(const struct ty_layout *layout, enum ty_comm_group g)
{
    const bool experts = g == TY_GROUP_EXPERT || g == TY_GROUP_EXPERT_TENSOR ||
                         g == TY_GROUP_EXPERT_ALL || g == TY_GROUP_EXPERT_DATA;
    return !experts || layout->expert_data > 0;
}

static int find_groups(struct listing *l, struct ty_err *err)
{
    for (enum ty_comm_group g = 0; g < TY_N_COMM_GROUPS; g++) {
        if (!is_there(&l->run->config->layout, g)) {
            continue;
        }
        l->reach[g] =
            ty_comm_reaches(&l->run->config->layout, &l->run->lowered.grid, g, NULL, l->arena);
        if (l->reach[g] == NULL) {
            return ty_fail_memory(err);
        }
    }
    return 0;
}

int ty_report_layers(const struct ty_run *run, struct ty_text *t, struct ty_err *err)
{
    struct ty_arena arena = {0};
    const struct ty_config *c = run->config;
    const struct ty_units *units = run->lowered.units;
    struct listing l = {.run = run, .t = t, .gpu = &c->cluster.gpu, .arena = &arena};
    char gpu[64];
    int rc = ty_run_check_model(run, "a list of its layers", err);
    rc = rc < 0 ? rc : find_groups(&l, err);
    if (rc == 0) {
        snprintf(gpu, sizeof(gpu), "%s",
                 c->cluster.gpu_preset != NULL ? c->cluster.gpu_preset : "GPU");
        ty_text_add(t,
                    "%s: what a rank does with a micro-batch, %.10g x %.10g tokens of %u; times on "
                    "an idle %s, with its derate\n",
                    c->arch.name, units->shard.sequences, units->shard.sequence,
                    (unsigned)c->arch.sequence, gpu);
        put_unit(&l, "embedding", &units->kind[TY_UNIT_EMBEDDING]);
        put_layers(&l, units);
        if (c->arch.mtp > 0) { /* between them a layer, like the last */
            put_unit(&l, "mtp", &units->kind[TY_UNIT_MTP]);
            put_unit(&l, "mtp head", &units->kind[TY_UNIT_MTP_HEAD]);
        }
        put_unit(&l, "head", &units->kind[TY_UNIT_HEAD]);
    }
    ty_arena_release(&arena);
    return rc;
}
