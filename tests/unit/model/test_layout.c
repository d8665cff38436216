/* test_layout.c - which layouts are possible, what is said about the others, who holds what. */
#include "model/parallel/kinds.h"
#include "model/parallel/whole.h"
#include "tests/unit/model_case.h"

/* Reads llama-30b (52 heads, 60 layers, ffn 17920) on 4 nodes of 8 GPUs and the layout; returns the
 * code. */
static int read_layout(struct model_case *c, const char *text, uint32_t chunks)
{
    model_case_begin(c, 4);
    ck_assert_msg(model_read(c, "llama-30b", "") == 0, "%s", c->err.text);
    return layout_read(c, text, chunks);
}

TEST(what_is_left_out_is_derived)
{
    struct model_case c;
    ck_assert_msg(read_layout(&c, "{tensor: 2, pipeline: 4, global_batch: 2048}", 1) == 0, "%s",
                  c.err.text);
    ck_assert_uint_eq(c.layout.data, 4);
    ck_assert_uint_eq(c.layout.ranks, 32);
    ck_assert_uint_eq(c.layout.micro_batch, 1);
    ck_assert_uint_eq(c.layout.micro_batches, 512);
    ck_assert_uint_eq(c.layout.context, 1);
    ck_assert_uint_eq(c.layout.expert, 1);
    ck_assert_uint_eq(c.layout.zero, 0);
    ck_assert_uint_eq(c.layout.shard, 4);
    ck_assert_int_eq(c.layout.recompute, TY_RECOMPUTE_NONE);
    ck_assert(!c.layout.sequence_parallel);
    ck_assert_uint_eq(c.layout.order.n, TY_N_AXES);
    for (int i = 0; i < TY_N_AXES; i++) {
        ck_assert_int_eq(c.layout.order.item[i], i);
    }
    ck_assert_uint_eq(c.layout.stage_layers.n, 0);
    model_case_release(&c);
}

TEST(what_is_wrong_is_said_at_the_value_to_change)
{
    static const struct {
        const char *text;
        uint32_t chunks;
        const char *message; /* first line, after "run.yaml:" */
    } rows[] = {
        {"tensor: 3\nglobal_batch: 96", 1,
         "1:9: layout.tensor: 3 does not divide model.heads (52); try 1, 2, 4"},
        {"tensor: 26\nglobal_batch: 96", 1,
         "1:9: layout.tensor: 26 does not divide model.ffn (17920); try 1, 2, 4"},
        {"global_batch: 96\npipeline: 3", 1,
         "2:11: layout.pipeline: tensor x context x pipeline = 1 x 1 x 3 = 3 does not divide the "
         "cluster's GPUs (32); try 1, 2, 4, 8, 16, 32"},
        {"tensor: 52\nglobal_batch: 96", 1,
         "1:9: layout.tensor: 52 does not divide model.ffn (17920); try 1, 2, 4"},
        {"tensor: 2\npipeline: 4\ndata: 8\nglobal_batch: 96", 1,
         "3:7: layout.data: tensor x context x pipeline x data = 2 x 1 x 4 x 8 = 64, and the "
         "cluster has 32 GPUs; write 4, or auto"},
        {"pipeline: 4\nmicro_batch: 2\nglobal_batch: 100", 1,
         "3:15: layout.global_batch: 100 is no multiple of data x micro_batch = 8 x 2 = 16; try "
         "96, 112"},
        {"pipeline: 4\nmicro_batch: 2\nglobal_batch: 10", 1,
         "3:15: layout.global_batch: 10 is no multiple of data x micro_batch = 8 x 2 = 16; try 16"},
        {"pipeline: 32\nglobal_batch: 70000", 1,
         "2:15: layout.global_batch: 70000 makes 70000 micro-batches on each of 1 replicas; at "
         "most "
         "65534 are simulated: write at most 65534, or a larger layout.micro_batch"},
        {"pipeline: 16\nglobal_batch: 96", 4,
         "1:11: layout.pipeline: pipeline x schedule.chunks = 16 x 4 = 64 stages for model.layers "
         "(60), embedding and head; write at most 15"},
        {"pipeline: 4\nglobal_batch: 96\nstage_layers: [0, 60, 0, 0]", 1,
         "3:15: layout.stage_layers: stage 2 has no layers; only the first (embedding) and the "
         "last (head) may have none: write at least 1, or auto"},
        {"pipeline: 2\nglobal_batch: 96\nstage_layers: [30, 15, 15]", 1,
         "3:15: layout.stage_layers: 3 numbers for pipeline x schedule.chunks = 2 x 1 = 2 stages; "
         "write 2, or auto"},
        {"pipeline: 2\nglobal_batch: 96\nstage_layers: [30, 31]", 1,
         "3:15: layout.stage_layers: 61 layers in all, and the model has 60 (model.layers); make "
         "the numbers add up, or write auto"},
        {"zero: 3\npipeline: 4\nshard: 3\nglobal_batch: 96", 1,
         "3:8: layout.shard: 3 does not divide the data ranks (8); try 2, 4, 8, or auto"},
        {"shard: 4\nglobal_batch: 96", 1,
         "1:8: layout.shard: 4 ranks share nothing with layout.zero 0; write a zero of 1, 2 or 3, "
         "or auto"},
        {"zero: 1\nshard: 1\nglobal_batch: 96", 1,
         "2:8: layout.shard: 1: a rank alone shares with nobody; try 2, 4, 8, 16, 32, or "
         "layout.zero 0"},
        {"expert: 4\nglobal_batch: 96", 1,
         "1:9: layout.expert: 4 ranks share experts, and the model has none (model.experts); write "
         "1"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        ck_assert_int_eq(read_layout(&c, rows[i].text, rows[i].chunks), TY_EINPUT);
        char *end = strchr(c.err.text, '\n');
        ck_assert_ptr_nonnull(end);
        *end = '\0';
        ck_assert_msg(strncmp(c.err.text, "run.yaml:", 9) == 0, "%s", c.err.text);
        ck_assert_str_eq(c.err.text + 9, rows[i].message);
        ck_assert_uint_eq(c.err.n, 1); /* one mistake, one message */
        model_case_release(&c);
    }
}

/* 16 GPUs, a model of 32 experts of width 768. */
static int read_experts(struct model_case *c, const char *text)
{
    model_case_begin(c, 2);
    ck_assert_int_eq(model_read(c, "llama-7b", "{}"), 0);
    c->arch.experts = 32;
    c->arch.experts_per_token = 4;
    c->arch.expert_ffn = 768;
    return layout_read(c, text, 1);
}

/* Handbook of the schemes, section 6: numbers of ranks that would do; section 1: what they must
 * divide. Of llama-30b: 52 heads, width 6656, 17920 inside. */
TEST(grids_of_ranks_have_their_messages)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"{tensor: 10, tensor_scheme: 2d, micro_batch: 4, global_batch: 32}",
         "1:10: layout.tensor: 10 is no q x q with tensor_scheme 2d; try 9 or 16 for 2d; 8 (2x2x2) "
         "or 12 (2x2x3) for 2.5d; 8 or 27 for 3d"},
        {"{tensor: 10, tensor_scheme: 2.5d, tensor_depth: 2, micro_batch: 4, global_batch: 32}",
         "1:10: layout.tensor: 10 is no q x q x 2 with tensor_scheme 2.5d; try 9 or 16 for 2d; 8 "
         "(2x2x2) or 12 (2x2x3) for 2.5d; 8 or 27 for 3d"},
        {"{tensor: 2, tensor_scheme: 2.5d, tensor_depth: 2, micro_batch: 4, global_batch: 32}",
         "1:10: layout.tensor: 2 is no q x q x 2 with tensor_scheme 2.5d; try 4 for 2d; 8 (2x2x2) "
         "for 2.5d; 8 for 3d"},
        {"{tensor: 4, tensor_scheme: 3d, micro_batch: 4, global_batch: 32}",
         "1:10: layout.tensor: 4 is no q x q x q with tensor_scheme 3d; try 4 or 9 for 2d; 8 "
         "(2x2x2) for 2.5d; 8 for 3d"},
        {"{tensor: 4, tensor_scheme: 2d, tensor_depth: 2, micro_batch: 4, global_batch: 32}",
         "1:46: layout.tensor_depth: 2 grids with tensor_scheme 2d, which has one; write 1, or a "
         "tensor_scheme of 2.5d"},
        {"{tensor: 4, tensor_depth: 2, micro_batch: 4, global_batch: 32}",
         "1:27: layout.tensor_depth: 2 grids with tensor_scheme 1d, which has one; write 1, or a "
         "tensor_scheme of 2.5d"},
        {"{tensor: 4, tensor_scheme: 2d, micro_batch: 3, global_batch: 24}",
         "1:45: layout.micro_batch: 3: tensor_scheme 2d spreads sequences over 2 parts of a tensor "
         "group of 4; try 4"},
        {"{tensor: 8, tensor_scheme: 3d, micro_batch: 2, global_batch: 32}",
         "1:45: layout.micro_batch: 2: tensor_scheme 3d spreads sequences over 4 parts of a tensor "
         "group of 8; try 4"},
        {"{tensor: 9, tensor_scheme: 2d, micro_batch: 3, global_batch: 24}",
         "1:10: layout.tensor: 9: with tensor_scheme 2d 3 must divide model.heads (52); try 1, 4, "
         "16, or a model.heads of 54"},
        {"{tensor: 4, tensor_scheme: 2d, micro_batch: 2, global_batch: 16, sequence_parallel: "
         "true}",
         "1:85: layout.sequence_parallel: true: with tensor_scheme 2d hidden states are cut "
         "everywhere already; write false, or a tensor_scheme of 1d"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        ck_assert_int_eq(read_layout(&c, rows[i].text, 1), TY_EINPUT);
        c.err.text[strcspn(c.err.text, "\n")] = '\0';
        ck_assert_str_eq(c.err.text + strlen("run.yaml:"), rows[i].message);
        ck_assert_uint_eq(c.err.n, 1);
        model_case_release(&c);
    }
}

TEST(what_no_library_has_on_a_grid_is_told)
{
    struct model_case c;
    ck_assert_int_eq(
        read_experts(&c, "{tensor: 4, tensor_scheme: 2d, micro_batch: 2, global_batch: 16}"),
        TY_EINPUT);
    ck_assert_msg(strstr(c.err.text, "layout.tensor_scheme: 2d: there is no such scheme for "
                                     "experts (model.experts); write 1d") != NULL,
                  "%s", c.err.text);
    model_case_release(&c);
}

TEST(mistakes_about_experts_have_their_messages)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"recompute: [norm, mla_up]\nglobal_batch: 96",
         "1:12: layout.recompute: mla_up: the model has no latent attention (model.kv_latent is "
         "0); leave it out"},
        {"expert: 3\nglobal_batch: 96",
         "1:9: layout.expert: 3 does not divide model.experts (32); try 1, 2, 4, 8, 16"},
        {"expert: 3\nexpert_tensor: 5\nglobal_batch: 96", /* which fits no stage beside any */
         "1:9: layout.expert: 3 does not divide model.experts (32); try 1, 2, 4, 8, 16"},
        {"expert: 2\nexpert_tensor: 9\nglobal_batch: 96",
         "2:16: layout.expert_tensor: 9 does not divide model.expert_ffn (768); try 1, 2, 4, 8"},
        {"expert: 8\npipeline: 4\nglobal_batch: 96",
         "1:9: layout.expert: expert x expert_tensor = 8 x 1 = 8 does not divide the GPUs of a "
         "pipeline stage (tensor x context x data, 4); try 1, 2, 4"},
        {"expert_tensor: 3\nglobal_batch: 96",
         "1:16: layout.expert_tensor: expert x expert_tensor = 1 x 3 = 3 does not divide the GPUs "
         "of a pipeline stage (tensor x context x data, 16); try 1, 2, 4, 8, 16"},
        {"tensor: 2\nglobal_batch: 96",
         "layout.sequence_parallel: false: 2 tensor ranks would all send the same tokens to the "
         "experts; write true, or a layout.tensor of 1"},
        {"expert: 8\nzero: 3\nshard: 4\nglobal_batch: 96",
         "3:8: layout.shard: 4 makes 4 copies of the states, and 2 ranks have the same experts "
         "(layout.expert, layout.expert_tensor); try 8, 16, or auto"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        ck_assert_int_eq(read_experts(&c, rows[i].text), TY_EINPUT);
        c.err.text[strcspn(c.err.text, "\n")] = '\0';
        const size_t file = strncmp(c.err.text, "run.yaml:", 9) == 0 ? 9 : 0;
        ck_assert_str_eq(c.err.text + file, rows[i].message);
        ck_assert_uint_eq(c.err.n, 1);
        model_case_release(&c);
    }
}

/* The ranks of a stage, once as tensor x context x data and once as expert ones. */
TEST(expert_data_ranks_are_what_is_left_of_a_stage)
{
    static const struct {
        const char *text;
        uint32_t data;
    } rows[] = {
        {"{global_batch: 96}", 16},
        {"{expert: 8, global_batch: 96}", 2},
        {"{expert: 16, global_batch: 96}", 1},
        {"{pipeline: 2, expert: 4, expert_tensor: 2, global_batch: 96}", 1},
        {"{tensor: 4, sequence_parallel: true, expert: 8, global_batch: 96}", 2},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        ck_assert_int_eq(read_experts(&c, rows[i].text), 0);
        ck_assert_uint_eq(c.layout.expert_data, rows[i].data);
        model_case_release(&c);
    }
    struct model_case dense;
    ck_assert_int_eq(read_layout(&dense, "{global_batch: 96}", 1), 0);
    ck_assert_uint_eq(dense.layout.expert_data, 0);
    model_case_release(&dense);
}

TEST(two_mistakes_are_two_messages)
{
    struct model_case c;
    ck_assert_int_eq(read_layout(&c,
                                 "{tensor: 2, pipeline: 2, data: 7, global_batch: 8, "
                                 "stage_layers: [1, 2]}",
                                 1),
                     TY_EINPUT);
    ck_assert_uint_eq(c.err.n, 2);
    model_case_release(&c);
}

TEST(an_unsupported_type_is_refused)
{
    struct model_case c;
    model_case_begin(&c, 1);
    ck_assert_int_eq(model_read(&c, "llama-7b", "dtype: fp8"), 0);
    ck_assert_int_eq(layout_read(&c, "global_batch: 8", 1), TY_EINPUT);
    ck_assert_str_eq(c.err.text,
                     "model.dtype: fp8 is not supported by the GPU (cluster.peak_fp8 is "
                     "none); write another, or give the peak");
    model_case_release(&c);
}

TEST(sequence_parallelism_needs_a_divisible_sequence_and_nothing_else)
{
    struct model_case c;
    model_case_begin(&c, 1);
    ck_assert_int_eq(model_read(&c, "llama-7b", "sequence: 2047"), 0);
    ck_assert_int_eq(layout_read(&c, "global_batch: 8\ntensor: 8\nsequence_parallel: true", 1),
                     TY_EINPUT);
    ck_assert_msg(strstr(c.err.text, "layout.sequence_parallel: layout.tensor (8) does not divide "
                                     "model.sequence (2047); write false, or a sequence of 2048\n"),
                  "%s", c.err.text);
    model_case_release(&c);
    model_case(&c, 1, "llama-7b", "sequence: 2047", "{global_batch: 8, sequence_parallel: true}");
}

TEST(few_key_heads_are_shared_by_whole_numbers_of_ranks)
{
    static const struct {
        const char *kv_heads;
        bool works;
    } rows[] = {{"kv_heads: 8", true},
                {"kv_heads: 4", true},
                {"kv_heads: 1", true},
                {"kv_heads: 16", true},
                {"kv_heads: 12", false}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        model_case_begin(&c, 1);
        ck_assert_int_eq(
            model_read(&c, NULL, "{layers: 4, hidden: 3072, heads: 48, vocabulary: 100}"), 0);
        c.arch.kv_heads = (uint32_t)strtoul(rows[i].kv_heads + 10, NULL, 10);
        const int rc = layout_read(&c, "{tensor: 8, global_batch: 8}", 1);
        ck_assert_int_eq(rc, rows[i].works ? 0 : TY_EINPUT);
        model_case_release(&c);
    }
}

/* Layers are covered once and in order, for every count up to 70 and every number of stages. */
TEST(stages_cover_the_layers_evenly_and_in_order)
{
    for (uint32_t layers = 1; layers <= 70; layers++) {
        const struct ty_arch arch = {.layers = layers};
        const struct ty_layout layout = {.tensor = 1};
        for (uint32_t stages = 1; stages <= layers + (stages > 1 ? 2 : 0); stages++) {
            uint32_t next = 0;
            const uint32_t last = ty_layout_layers(&layout, &arch, stages, stages - 1).count;
            for (uint32_t s = 0; s < stages; s++) {
                const struct ty_layers part = ty_layout_layers(&layout, &arch, stages, s);
                ck_assert_uint_eq(part.first, next);
                ck_assert_uint_ge(part.count, last);     /* the head's stage has the fewest */
                ck_assert_uint_le(part.count, last + 1); /* even */
                next += part.count;
            }
            ck_assert_uint_eq(next, layers);
        }
    }
}

/* Stages have count[stages] layers, in order, and together all. */
static void stages_have(const struct ty_layout *layout, const struct ty_arch *arch, uint32_t stages,
                        const uint32_t *count)
{
    uint32_t next = 0;
    for (uint32_t s = 0; s < stages; s++) {
        const struct ty_layers part = ty_layout_layers(layout, arch, stages, s);
        ck_assert_uint_eq(part.count, count[s]);
        ck_assert_uint_eq(part.first, next);
        next += part.count;
    }
    ck_assert_uint_eq(next, arch->layers);
}

/* framework.stage_split modules: embedding, final norm and head count as much as a layer. */
TEST(modules_are_dealt_evenly_and_what_is_left_over_to_the_first)
{
    static const struct {
        uint32_t layers, stages, count[8];
    } rows[] = {
        {80, 8, {10, 11, 11, 10, 10, 10, 10, 8}}, /* 11 11 11 10 10 10 10 10 modules */
        {60, 4, {15, 16, 16, 13}},                /* 16 16 16 15 */
        {40, 2, {21, 19}},                        /* 22 21 */
        {40, 1, {40}},
        {5, 4, {1, 2, 2, 0}}, /* the last has norm and head */
    };
    struct ty_layout layout = {.tensor = 1};
    layout.framework.stage_split = TY_STAGE_SPLIT_MODULES;
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const struct ty_arch arch = {.layers = rows[i].layers};
        stages_have(&layout, &arch, rows[i].stages, rows[i].count);
    }
}

/* framework.stage_split matrices: a stage ends when all up to it have more than their share, also
 * where a layer ends at the share itself. The head of the first weighs four layers, of the third
 * ten. */
TEST(matrices_of_layers_and_head_are_shared)
{
    static const struct {
        uint32_t layers, heads, head_dim, ffn, stages, count[8];
    } rows[] = {{16, 32, 64, 8192, 2, {11, 5}},
                {28, 32, 96, 8192, 2, {16, 12}},
                {4, 8, 64, 3686, 3, {4, 0, 0}},
                {32, 32, 128, 14336, 4, {9, 9, 8, 6}},
                {32, 32, 128, 14336, 1, {32}}};
    struct ty_layout layout = {.tensor = 1};
    layout.framework.stage_split = TY_STAGE_SPLIT_MATRICES;
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const struct ty_arch arch = {.layers = rows[i].layers,
                                     .heads = rows[i].heads,
                                     .head_dim = rows[i].head_dim,
                                     .ffn = rows[i].ffn,
                                     .vocabulary = 131072};
        stages_have(&layout, &arch, rows[i].stages, rows[i].count);
    }
}

/* A module that predicts a further token weighs two layers, and the head one. */
TEST(modules_that_predict_tokens_spare_the_last_stage)
{
    static const struct {
        uint32_t mtp, stages, count[16];
    } rows[] = {
        {1, 16, {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1}},
        {1, 8, {8, 8, 8, 8, 8, 8, 8, 5}},
        {1, 2, {32, 29}},
        {2, 4, {16, 17, 17, 11}},
        {1, 1, {61}},
    };
    const struct ty_layout layout = {.tensor = 1};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const struct ty_arch arch = {.layers = 61, .mtp = rows[i].mtp};
        stages_have(&layout, &arch, rows[i].stages, rows[i].count);
    }
}

TEST(llama3_405b_on_16_stages_spares_both_ends)
{
    /* 126 layers: Grattafiori et al. 2024, section 3.3.2, take one from the first and the last */
    const struct ty_arch arch = {.layers = 126};
    const struct ty_layout layout = {.tensor = 1};
    ck_assert_uint_eq(ty_layout_layers(&layout, &arch, 16, 0).count, 7);
    ck_assert_uint_eq(ty_layout_layers(&layout, &arch, 16, 1).count, 8);
    ck_assert_uint_eq(ty_layout_layers(&layout, &arch, 16, 14).count, 8);
    ck_assert_uint_eq(ty_layout_layers(&layout, &arch, 16, 15).count, 7);
    /* in eight chunks: "the first model chunk on the first stage has only the embedding, and the
     * last model chunk on the last stage has only output projection and loss calculation" */
    for (uint32_t s = 0; s < 128; s++) {
        ck_assert_uint_eq(ty_layout_layers(&layout, &arch, 128, s).count, s > 0 && s < 127);
    }
}

TEST(given_stage_layers_are_taken)
{
    struct model_case c;
    ck_assert_msg(
        read_layout(&c, "{pipeline: 4, global_batch: 32, stage_layers: [12, 17, 18, 13]}", 1) == 0,
        "%s", c.err.text);
    const struct ty_layers third = ty_layout_layers(&c.layout, &c.arch, 4, 2);
    ck_assert_uint_eq(third.first, 29);
    ck_assert_uint_eq(third.count, 18);
    model_case_release(&c);
}

TEST(stages_hold_all_parameters_between_them)
{
    static const struct {
        const char *preset, *layout;
        uint32_t stages;
    } rows[] = {
        {"llama-30b", "{tensor: 1, pipeline: 1, global_batch: 32}", 1},
        {"llama-30b", "{tensor: 4, pipeline: 8, global_batch: 32}", 8},
        {"gpt3-175b", "{tensor: 8, pipeline: 4, global_batch: 32}", 4},
        {"llama3-405b", "{tensor: 8, pipeline: 4, global_batch: 32}", 4},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        model_case(&c, 4, rows[i].preset, "", rows[i].layout);
        struct ty_units units;
        double sum = 0;
        ty_units_make(&units, &c.arch, &c.layout);
        for (uint32_t s = 0; s < rows[i].stages; s++) {
            const struct ty_layers layers = ty_layout_layers(&c.layout, &c.arch, rows[i].stages, s);
            sum += ty_stage_params(&units, &c.arch, &layers, s == 0, s == rows[i].stages - 1).all;
        }
        /* a tied matrix has a copy on the last stage */
        const bool copied = c.arch.tied && c.layout.pipeline > 1;
        const double copy = copied ? (double)c.arch.vocabulary * c.arch.hidden : 0;
        assert_near(sum * c.layout.tensor, ty_arch_params(&c.arch) + copy, 1e-12); /* rounding */
    }
}

TEST(shared_key_heads_are_copied)
{
    struct model_case c;
    model_case(&c, 2, "llama3-8b", "", "{tensor: 16, global_batch: 32}");
    /* one of 8 key and value heads of 128 on each of 16 ranks: 16 times two matrices 4096 x 128 */
    const double kv = 2.0 * 4096 * 128;
    struct ty_units units;
    ty_units_make(&units, &c.arch, &c.layout);
    assert_near(ty_unit_params(&units.kind[TY_UNIT_LAYER]) * 16,
                ty_arch_layer_params(&c.arch) - 8 * kv + 16 * kv, 1e-12); /* rounding */
}

/* A bias belongs to its head: 128 more for k and for v, whole on each rank that has the head. */
TEST(biases_of_shared_key_heads_are_copied_with_them)
{
    static const char *const words[] = {"{bias: qkv}", "{bias: attention}", "{bias: true}"};
    for (size_t i = 0; i < TY_COUNT(words); i++) {
        struct model_case c;
        model_case(&c, 2, "llama3-8b", words[i], "{tensor: 16, global_batch: 32}");
        const double kv = 2.0 * (4096 + 1) * 128;
        struct ty_units units;
        ty_units_make(&units, &c.arch, &c.layout);
        assert_near(ty_unit_params(&units.kind[TY_UNIT_LAYER]) * 16,
                    ty_arch_layer_params(&c.arch) - 8 * kv + 16 * kv, 1e-12); /* rounding */
    }
}

TY_SUITE("layout")
