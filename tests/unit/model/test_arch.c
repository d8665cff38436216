/* test_arch.c - parameters and FLOPs against published figures; what the section accepts. */
#include <stdio.h>

#include "model/parallel/whole.h"
#include "tests/unit/model_case.h"

TEST(presets_have_their_published_parameters)
{
    for (const struct ty_preset *preset = ty_arch_presets; preset->name != NULL; preset++) {
        struct model_case c;
        model_case_begin(&c, 1);
        ck_assert_msg(model_read(&c, preset->name, "") == 0, "%s: %s", preset->name, c.err.text);
        const double params = ty_arch_params(&c.arch);
        ck_assert_msg(preset->published > 0 && preset->tolerance > 0, "%s", preset->name);
        ck_assert_msg(params > preset->published * (1 - preset->tolerance) &&
                          params < preset->published * (1 + preset->tolerance),
                      "%s: %.6g parameters, published %.6g", preset->name, params,
                      preset->published);
        ck_assert_ptr_nonnull(preset->summary);
        ck_assert_ptr_nonnull(preset->source);
        model_case_release(&c);
    }
}

TEST(a_gpt_layer_has_12_h2_plus_13_h_parameters)
{
    struct model_case c;
    model_case_begin(&c, 1);
    ck_assert_int_eq(model_read(&c, "gpt3-175b", ""), 0);
    const double h = 12288;
    ck_assert_double_eq(ty_arch_layer_params(&c.arch), 12 * h * h + 13 * h);
    ck_assert_double_eq(ty_arch_embedding_params(&c.arch), (50257.0 + 2048) * h);
    ck_assert_double_eq(ty_arch_head_params(&c.arch), 2 * h); /* tied: the final norm only */
    model_case_release(&c);
}

TEST(a_grouped_swiglu_layer_counts_its_matrices)
{
    struct model_case c;
    model_case_begin(&c, 1);
    ck_assert_int_eq(model_read(&c, "llama3-8b", ""), 0);
    /* q, o 4096 x 4096; k, v 4096 x 1024; up, gate, down 4096 x 14336; two norms */
    ck_assert_double_eq(ty_arch_layer_params(&c.arch),
                        2 * 4096.0 * 4096 + 2 * 4096.0 * 1024 + 3 * 4096.0 * 14336 + 2 * 4096);
    model_case_release(&c);
}

/* Hagemann et al. 2023: utilisations of their table, from step times, GPUs and a global batch of
 * 2048 sequences of 2048 tokens; vocabulary 128000. Rounded to four digits there; the last one is
 * 0.7057 there, a mean of ratios: hence 2e-3. */
TEST(palm_flops_give_published_utilisations)
{
    static const struct {
        const char *preset, *text;
        double gpus, step_s, mfu;
    } rows[] = {
        {"llama-65b", "vocabulary: 128000", 128, 79.3069, 0.5526},
        {"llama-30b", "{vocabulary: 128000, ffn: 17888}", 64, 71.9954, 0.6198},
        {"llama-13b", "vocabulary: 128000", 64, 26.5395, 0.7046},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        model_case_begin(&c, 1);
        ck_assert_msg(model_read(&c, rows[i].preset, rows[i].text) == 0, "%s", c.err.text);
        const double flops = ty_flops_model(&c.arch, false) * 2048 * 2048;
        assert_near(flops / (rows[i].step_s * rows[i].gpus * 312e12), rows[i].mfu, 2e-3);
        model_case_release(&c);
    }
}

TEST(causal_flops_halve_the_attention_term_only)
{
    struct model_case c;
    model_case_begin(&c, 1);
    ck_assert_int_eq(model_read(&c, "llama-13b", "sequence: 8192"), 0);
    const double full = ty_flops_model(&c.arch, false);
    const double half = ty_flops_model(&c.arch, true);
    ck_assert_double_eq(full - half, 6.0 * 40 * 5120 * 8192);
    ck_assert_double_eq(full, 6 * (40 * ty_arch_layer_params(&c.arch) + 2.0 * 32000 * 5120) +
                                  12.0 * 40 * 5120 * 8192);
    model_case_release(&c);
}

/* Counted by hand: 2 layers of 4 h^2 in attention and 8 h^2 behind it, h = 64, V = 1000, s = 32;
 * norms and the head's are the only further parameters. */
TEST(frameworks_count_flops_each_in_its_own_way)
{
    const double products = 6 * (2 * 12 * 64 * 64 + 1000 * 64), attention = 12.0 * 2 * 64 * 32;
    for (int tied = 0; tied < 2; tied++) {
        char text[160];
        struct model_case c;
        (void)snprintf(text, sizeof(text),
                       "{layers: 2, hidden: 64, heads: 4, vocabulary: 1000, sequence: 32, "
                       "norm_kind: rmsnorm, tied: %s}",
                       tied ? "true" : "false");
        model_case_begin(&c, 1);
        ck_assert_msg(model_read(&c, NULL, text) == 0, "%s", c.err.text);
        ck_assert_double_eq(ty_flops_counted(&c.arch, ty_flops_convention("megatron-lm"), false),
                            products + attention / 2);
        ck_assert_double_eq(ty_flops_counted(&c.arch, ty_flops_convention("nanotron"), false),
                            products + attention);
        ck_assert_double_eq(
            ty_flops_counted(&c.arch, ty_flops_convention("megatron-deepspeed"), true),
            (products + attention) * 4 / 3);
        ck_assert_double_eq(ty_flops_counted(&c.arch, ty_flops_convention("torchtitan"), false),
                            products + attention + 6 * 5 * 64 - (tied ? 6 * 64000 : 0));
        ck_assert_double_eq(ty_flops_counted(&c.arch, ty_flops_convention("fsdp"), false),
                            ty_flops_model(&c.arch, false));
        model_case_release(&c);
    }
}

TEST(a_tied_matrix_counts_twice_in_flops_and_once_in_parameters)
{
    static const char shape[] = "{layers: 2, hidden: 64, heads: 4, vocabulary: 1000, tied: %s}";
    double params[2], flops[2];
    for (int tied = 0; tied < 2; tied++) {
        char text[128];
        struct model_case c;
        (void)snprintf(text, sizeof(text), shape, tied ? "true" : "false");
        model_case_begin(&c, 1);
        ck_assert_msg(model_read(&c, NULL, text) == 0, "%s", c.err.text);
        params[tied] = ty_arch_params(&c.arch);
        flops[tied] = ty_flops_model(&c.arch, false);
        model_case_release(&c);
    }
    ck_assert_double_eq(flops[0], flops[1]);
    ck_assert_double_eq(params[0] - params[1], 64000);
}

TEST(what_is_left_out_is_derived)
{
    struct model_case c;
    model_case_begin(&c, 1);
    ck_assert_int_eq(model_read(&c, NULL, "{layers: 2, hidden: 1024, heads: 16, vocabulary: 1000}"),
                     0);
    ck_assert_uint_eq(c.arch.kv_heads, 16);
    ck_assert_uint_eq(c.arch.head_dim, 64);
    ck_assert_uint_eq(c.arch.ffn, 4096);
    ck_assert_uint_eq(c.arch.sequence, 2048);
    ck_assert_int_eq(c.arch.attention, TY_ATTENTION_FLASH2);
    ck_assert_int_eq(c.arch.norm, TY_FUSED);
    ck_assert_int_eq(c.arch.dtype, TY_DTYPE_BF16);
    ck_assert_uint_eq(c.arch.positions, 0);
    model_case_release(&c);
}

TEST(learned_positions_of_a_preset_follow_the_sequence)
{
    struct model_case c;
    model_case_begin(&c, 1);
    ck_assert_int_eq(model_read(&c, "gpt3-13b", "sequence: 4096"), 0);
    ck_assert_uint_eq(c.arch.positions, 4096);
    model_case_release(&c);
}

TEST(what_must_divide_is_said_at_its_place)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"layers: 2\nhidden: 1024\nheads: 12\nvocabulary: 100",
         "run.yaml:3:8: model.heads: 12 does not divide model.hidden (1024); write 8, or give "
         "model.head_dim\n    heads: 12\n           ^"},
        {"layers: 2\nhidden: 1024\nheads: 16\nkv_heads: 3\nvocabulary: 100",
         "run.yaml:4:11: model.kv_heads: 3 does not divide model.heads (16); 2 would, and so would "
         "1\n    kv_heads: 3\n              ^"},
        {"layers: 2\nhidden: 64\nheads: 2\nvocabulary: 100\npositions: 1024",
         "run.yaml:5:12: model.positions: 1024 is less than model.sequence (2048); write 2048 or "
         "more, or none\n    positions: 1024\n               ^"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        model_case_begin(&c, 1);
        ck_assert_int_eq(model_read(&c, NULL, rows[i].text), TY_EINPUT);
        ck_assert_str_eq(c.err.text, rows[i].message);
        model_case_release(&c);
    }
}

TEST(a_preset_that_no_longer_fits_is_blamed_on_what_changed)
{
    struct model_case c;
    model_case_begin(&c, 1);
    ck_assert_int_eq(model_read(&c, "llama-7b", "preset: llama-7b\nhidden: 5000"), TY_EINPUT);
    ck_assert_str_eq(c.err.text,
                     "run.yaml:2:9: model.hidden: 5000 is no multiple of model.heads (32); write "
                     "5024, or give model.head_dim\n    hidden: 5000\n            ^");
    model_case_release(&c);
    model_case_begin(&c, 1);
    ck_assert_int_eq(model_read(&c, "llama3-8b", "preset: llama3-8b\nheads: 4"), TY_EINPUT);
    ck_assert_str_eq(c.err.text, "run.yaml:1:9: model.kv_heads: 8 does not divide model.heads (4); "
                                 "4 would, and so would 1\n    preset: llama3-8b\n            ^");
    model_case_release(&c);
}

TY_SUITE("arch")
