/* test_adapters.c - frozen weights and adapters: who is trained, what backward passes leave out,
 * what is kept, what tensor ranks exchange. */
#include <string.h>

#include "model/parallel/whole.h"
#include "tests/unit/model_case.h"
#include "tests/unit/suite.h"

static struct ty_units units;

static void tuned(struct model_case *c, const char *model, const char *layout)
{
    model_case(c, 1, "llama-7b", model, layout);
    ty_units_make(&units, &c->arch, &c->layout);
}

/* The unit of a layer in the middle. */
static const struct ty_unit_ops *layer(const struct model_case *c)
{
    const struct ty_layers all = {.count = c->arch.layers};
    return &units.kind[ty_layer_kind(&c->arch, &all, c->arch.layers / 2)];
}

static const struct ty_unit_op *op_named(const struct ty_unit_ops *unit, const char *name)
{
    for (uint32_t i = 0; i < unit->n; i++) {
        if (strcmp(unit->op[i].name, name) == 0) {
            return &unit->op[i];
        }
    }
    ck_abort_msg("no operator %s", name);
    return NULL;
}

/* Counts as publications have them: 4,194,304 of LLaMA 7B with r = 8 on q and v (huggingface/peft,
 * README), 39,976,960 with 16 on all seven matrices (QLoRA's usual log line), 44,564,480 of Llama 2
 * 70B with 16 beside fused q, k, v and proj (Megatron-Bridge's targets). */
TEST(adapters_have_the_published_numbers_of_parameters)
{
    static const struct {
        const char *preset, *model;
        bool fused;
        double params;
    } rows[] = {
        {"llama-7b", "{lora: {rank: 8, targets: [q_proj, v_proj]}}", false, 4194304},
        {"llama-7b", "{lora: {rank: 16, targets: all}}", false, 39976960},
        {"llama2-70b", "{lora: {rank: 16, targets: [linear_qkv, linear_proj]}}", true, 44564480},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        model_case(&c, 1, rows[i].preset, rows[i].model, "{data: 8, global_batch: 8}");
        c.layout.framework.fused_qkv = c.layout.framework.fused_gate = rows[i].fused;
        ck_assert_double_eq(ty_arch_trained_params(&c.arch, &c.layout), rows[i].params);
        struct ty_arch plain = c.arch;
        plain.lora.rank = plain.frozen = 0;
        ck_assert_double_eq(ty_arch_params(&c.arch), ty_arch_params(&plain));
        ck_assert_double_eq(ty_arch_trained_params(&plain, &c.layout), ty_arch_params(&plain));
    }
}

/* 2 N forward, 2 N for input gradients: without weight gradients a third of the products goes. */
TEST(frozen_weights_have_no_weight_gradients)
{
    struct model_case all, some;
    struct ty_unit_costs a, b;
    tuned(&all, "{}", "{data: 8, global_batch: 8}");
    ty_unit_price(layer(&all), &all.layout, &all.cluster.gpu, &a);
    const double kept = ty_memory_kept(layer(&all));
    const double flops = ty_flops_model(&all.arch, false);
    tuned(&some, "{frozen: [embedding, attention, mlp, head]}", "{data: 8, global_batch: 8}");
    ty_unit_price(layer(&some), &some.layout, &some.cluster.gpu, &b);
    for (uint32_t i = 0; i < layer(&some)->n; i++) {
        ck_assert_double_eq(b.op[i].forward.seconds, a.op[i].forward.seconds);
        ck_assert_double_eq(b.op[i].dgrad.seconds, a.op[i].dgrad.seconds);
        ck_assert_double_eq(b.op[i].wgrad.seconds, 0);
    }
    /* inputs of q, k, v and of up and gate, 2 h each, and the product before down, 2 f */
    const double T = 2048, h = some.arch.hidden, f = some.arch.ffn;
    ck_assert_double_eq(kept - ty_memory_kept(layer(&some)), T * (4 * h + 2 * f));
    const double norms = some.arch.layers * 2 * h, params = ty_arch_params(&some.arch);
    const double trained = ty_arch_trained_params(&some.arch, &some.layout);
    ck_assert_double_eq(trained, norms);
    assert_near(flops - ty_flops_model(&some.arch, false), 2 * (params - norms), 1e-6);
    const struct ty_layers layers = {.count = some.arch.layers};
    const struct ty_stage_params p = ty_stage_params(&units, &some.arch, &layers, true, true);
    ck_assert_double_eq(p.all, norms);
    ck_assert_double_eq(p.frozen, params - norms);
    ck_assert_double_eq(p.frozen_B, 2 * (params - norms));
}

/* Gradients end at the lowest weight that is trained: all layers, or what is below the adapters of
 * the first. */
TEST(nothing_runs_backward_below_what_is_trained)
{
    struct model_case c;
    struct ty_unit_costs cost;
    const struct ty_layers all = {.count = 32};
    const char *const layout = "{data: 8, global_batch: 8}";
    tuned(&c, "{frozen: [embedding, attention, mlp, norm]}", layout);
    ty_unit_price(layer(&c), &c.layout, &c.cluster.gpu, &cost);
    for (uint32_t i = 0; i < layer(&c)->n; i++) {
        ck_assert_double_eq(cost.op[i].dgrad.seconds + cost.op[i].wgrad.seconds, 0);
    }
    ck_assert_double_eq(ty_memory_kept(layer(&c)), 0);
    tuned(&c, "{lora: {rank: 8, targets: [proj]}}", layout);
    const struct ty_unit_ops *first = &units.kind[ty_layer_kind(&c.arch, &all, 0)];
    ck_assert(first != layer(&c));
    ck_assert(!ty_op_has_backward(op_named(first, "qkv")));
    ck_assert(!ty_op_has_backward(op_named(first, "attention core")));
    ck_assert(ty_op_has_backward(op_named(first, "lora A, row")));
    ck_assert(ty_op_has_backward(op_named(first, "mlp core")));
    ck_assert(ty_op_has_backward(op_named(layer(&c), "qkv")));
    ck_assert(!ty_op_has_backward(&units.kind[TY_UNIT_EMBEDDING].op[0]));
}

/* Dropped inputs are kept beside a mask of a byte; without dropout q, k, v share their input. */
TEST(adapters_keep_their_inputs)
{
    struct model_case c;
    const double T = 2048, h = 4096, r = 8;
    const char *const layout = "{data: 8, global_batch: 8}";
    tuned(&c, "{frozen: all, lora: {rank: 8, targets: [qkv]}}", layout);
    const double shared = ty_memory_kept(layer(&c));
    tuned(&c, "{lora: {rank: 8, targets: [proj]}}", layout);
    const double none = ty_memory_kept(layer(&c)); /* proj reads what the core keeps */
    tuned(&c, "{lora: {rank: 8, targets: [qkv], dropout: 5 %}}", layout);
    const double dropped = ty_memory_kept(layer(&c));
    ck_assert_double_eq(shared - none, 2 * T * h);
    ck_assert_double_eq(dropped - none, 3 * T * h);
    ck_assert_double_gt(none, T * r);
}

/* Bytes of all collectives of an operator at a place, of one kind. */
static double moved(const struct ty_unit_op *op, enum ty_comm_place place, enum ty_coll coll)
{
    const struct ty_op_comms *comms = &op->comms[place];
    return comms->n == 1 && comms->item[0].coll == coll ? comms->item[0].bytes : 0;
}

TEST(tensor_ranks_share_adapters)
{
    struct model_case c;
    const double T = 2048, h = 4096, r = 8;
    tuned(&c, "{lora: {rank: 8, targets: [qkv, proj]}}",
          "{tensor: 4, data: 2, global_batch: 8, sequence_parallel: true}");
    const struct ty_unit_op *a = op_named(layer(&c), "lora A");
    const struct ty_unit_op *b = op_named(layer(&c), "lora B, row");
    ck_assert_double_eq(a->weights[0].params, h * r / 4);
    ck_assert_double_eq(b->weights[0].params, r * h / 4);
    ck_assert_double_eq(moved(a, TY_AFTER_FORWARD, TY_COLL_ALL_GATHER), 2 * T * r);
    ck_assert_uint_eq(a->comms[TY_AFTER_DGRAD].n, 0); /* summed with that of qkv */
    ck_assert_double_eq(moved(b, TY_AFTER_FORWARD, TY_COLL_ALL_GATHER), 2 * T * h);
    ck_assert_double_eq(moved(b, TY_BEFORE_DGRAD, TY_COLL_ALL_GATHER), 2 * T * h);
    ck_assert_double_eq(moved(b, TY_AFTER_DGRAD, TY_COLL_ALL_REDUCE), 2 * T * r);
    tuned(&c, "{lora: {rank: 8, targets: [qkv, proj], all_to_all: true}}",
          "{tensor: 4, data: 2, global_batch: 8, sequence_parallel: true}");
    b = op_named(layer(&c), "lora B, row");
    ck_assert_double_eq(moved(b, TY_AFTER_FORWARD, TY_COLL_ALL_TO_ALL), 2 * T * h / 4);
    tuned(&c, "{lora: {rank: 8, targets: [qkv]}}", "{tensor: 4, data: 2, global_batch: 8}");
    a = op_named(layer(&c), "lora A");
    ck_assert_double_eq(moved(a, TY_AFTER_DGRAD, TY_COLL_ALL_REDUCE), 2 * T * h);
}

/* QLoRA: 4.127 bits of a matrix of a layer (Dettmers et al. 2023, section 3); the ends have 16. */
TEST(frozen_matrices_can_be_packed)
{
    struct model_case c;
    tuned(&c, "{frozen_dtype: nf4, lora: {rank: 8}}", "{data: 8, global_batch: 8}");
    const double matrices = 4.0 * 4096 * 4096 + 3.0 * 4096 * 11008;
    const double bytes = ty_unit_frozen_bytes(layer(&c), false) - 2 * 2 * 4096;
    assert_near(bytes, matrices * 4.127 / 8, 1e-4);
    ck_assert_double_eq(ty_unit_frozen_bytes(&units.kind[TY_UNIT_EMBEDDING], false),
                        2.0 * 32000 * 4096);
}

/* Of every expert, or one of all of a rank's: r (3 h + 3 f) of each. What returns to their ranks
 * waits for the last product. */
TEST(experts_have_adapters)
{
    struct model_case c;
    const double r = 16, h = 4096, f = 14336, one = r * 3 * (h + f);
    const struct ty_layers all = {.count = 32};
    const char *const layout = "{data: 8, expert: 4, global_batch: 8}";
    for (int shared = 0; shared < 2; shared++) {
        model_case(&c, 1, "mixtral-8x7b",
                   shared ? "{lora: {rank: 16, targets: mlp, experts: shared}}"
                          : "{lora: {rank: 16, targets: mlp}}",
                   layout);
        c.layout.framework.fused_gate = false;
        ty_units_make(&units, &c.arch, &c.layout);
        const struct ty_unit_ops *unit = &units.kind[ty_layer_kind(&c.arch, &all, 16)];
        const struct ty_unit_op *a = op_named(unit, "lora A"), *b = op_named(unit, "lora B");
        ck_assert_int_eq(a->kernel[0].op, shared ? TY_OPERATOR_MATMUL : TY_OPERATOR_GROUPED);
        ck_assert_double_eq(a->weights[0].params + b->weights[0].params, (shared ? 1 : 2) * one);
        ck_assert(a->expert && a->routed && b->expert && b->routed);
        ck_assert_uint_eq(op_named(unit, "experts")->rows & TY_ROWS_RETURN, 0);
        ck_assert_uint_eq(b->rows & TY_ROWS_RETURN, TY_ROWS_RETURN);
        ck_assert_double_eq(ty_arch_trained_params(&c.arch, &c.layout),
                            (shared ? 4 : 8) * 32 * one);
    }
}

/* Nemotron-H; to be released, for it has a pattern of layers. */
static void hybrid(struct model_case *c, const char *model)
{
    model_case_begin(c, 1);
    ck_assert_int_eq(model_read(c, "nemotron-h-8b", model), 0);
    ck_assert_int_eq(layout_read(c, "{data: 8, global_batch: 8}", 1), 0);
    ty_units_make(&units, &c->arch, &c->layout);
}

static const struct ty_unit_ops *layer_of(const struct model_case *c, uint32_t layer)
{
    const struct ty_layers all = {.count = c->arch.layers};
    return &units.kind[ty_layer_kind(&c->arch, &all, layer)];
}

/* Nemotron-H: 24 layers of Mamba-2, in of 4096 x 18560 and out of 8192 x 4096. */
TEST(scans_have_adapters)
{
    struct model_case c;
    hybrid(&c, "{lora: {rank: 16, targets: [in_proj, out_proj]}}");
    ck_assert_double_eq(ty_arch_trained_params(&c.arch, &c.layout),
                        24 * 16.0 * (4096 + 18560 + 8192 + 4096));
    model_case_release(&c);
}

/* Layers alike lie below what is trained and above it: layers 0 and 9 are Mamba-2, 7 has attention,
 * the first of four. */
TEST(gradients_of_hybrid_models_end_at_the_lowest_layer)
{
    struct model_case c;
    hybrid(&c, "{lora: {rank: 16, targets: attention}}");
    const struct ty_unit_ops *below = layer_of(&c, 0), *above = layer_of(&c, 9);
    ck_assert(!ty_op_has_backward(op_named(below, "scan")));
    ck_assert(ty_op_has_backward(op_named(above, "scan")));
    ck_assert_double_eq(ty_memory_kept(below), 0);
    ck_assert_double_gt(ty_memory_kept(above), 0);
    model_case_release(&c);
}

/* Without its matrix's weight gradient "scan, normed" is kept for an adapter alone. */
TEST(frozen_scans_keep_less)
{
    struct model_case c;
    double kept[2];
    for (int out = 0; out < 2; out++) {
        hybrid(&c, out ? "{frozen: all, lora: {rank: 16, targets: [q, out]}}"
                       : "{frozen: all, lora: {rank: 16, targets: [q]}}");
        kept[out] = ty_memory_kept(layer_of(&c, 50));
        model_case_release(&c);
    }
    ck_assert_double_eq(kept[1] - kept[0], 8192 * 2.0 * (8192 + 16));
}

/* Where parameters live beside the GPU all do: 2 bytes of each, over 8 ranks. */
TEST(frozen_weights_live_where_parameters_do)
{
    struct model_case c;
    struct ty_away_bytes away = {.host = {.weights = 1}};
    tuned(&c, "{lora: {rank: 8}}", "{data: 8, global_batch: 8, offload: zero3-offload}");
    ck_assert_double_eq(ty_memory_frozen(&c.layout, 8e9, 0), 0);
    ty_memory_frozen_away(&c.layout, 8e9, 0, &away);
    ck_assert_double_eq(away.host.weights, 1e9 + 1);
    tuned(&c, "{lora: {rank: 8}}", "{data: 8, global_batch: 8, offload: zero-offload}");
    ck_assert_double_eq(ty_memory_frozen(&c.layout, 8e9, 0), 8e9);
    ty_memory_frozen_away(&c.layout, 8e9, 0, &away);
    ck_assert_double_eq(away.host.weights, 1e9 + 1);
}

TY_SUITE("adapters")
