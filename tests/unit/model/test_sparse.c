/* test_sparse.c - mixtures of experts, latent attention, prediction of several tokens: what models
 * with them must be, and what they consist of. */
#include <stdio.h>

#include "tests/unit/model_case.h"

#define SHAPE "layers: 4\nhidden: 64\nheads: 4\nvocabulary: 100\n"
#define MOE   SHAPE "experts: 16\nexperts_per_token: 4\n"

START_TEST(what_must_fit_together_is_said_at_its_key)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {SHAPE "experts: 8", "model.experts_per_token: 0: with model.experts a token goes to one "
                             "of them at least; write from 1 to 8"},
        {SHAPE "experts: 8\nexperts_per_token: 9",
         "run.yaml:6:20: model.experts_per_token: 9 is more than model.experts (8); write 8 or "
         "less"},
        {SHAPE "shared_ffn: 128",
         "run.yaml:5:13: model.shared_ffn: no layer has experts; write a model.experts"},
        {MOE "dense_layers: 4", "run.yaml:7:15: model.dense_layers: 4 leaves no layer to "
                                "model.experts of the 4 there are; write less, or 0 experts"},
        {MOE "shared_gate: true", "run.yaml:7:14: model.shared_gate: true: no expert is shared; "
                                  "give model.shared_ffn, or write false"},
        {MOE "group_limit: 2", "run.yaml:7:14: model.group_limit: 2: experts are in no groups; "
                               "give model.expert_groups, or write none here"},
        {MOE "expert_groups: 3",
         "run.yaml:7:16: model.expert_groups: 3 does not divide model.experts (16); try 2"},
        {MOE "expert_groups: 8\ngroup_limit: 1",
         "run.yaml:8:14: model.group_limit: 1 groups of 2 experts hold fewer than "
         "model.experts_per_token (4); write 2 or more"},
        {MOE "expert_groups: 8\ngroup_limit: 9", "run.yaml:8:14: model.group_limit: 9 is more than "
                                                 "model.expert_groups (8); write from 2 to 8"},
        {SHAPE "head_rope: 8",
         "run.yaml:5:12: model.head_rope: attention is not latent; write a model.kv_latent"},
        {SHAPE "kv_latent: 32\nkv_heads: 2", "run.yaml:6:11: model.kv_heads: 2: with "
                                             "model.kv_latent every head has keys and values of "
                                             "its own; write 4, or auto"},
        {SHAPE "kv_latent: 32\nqk_norm: true", "run.yaml:6:10: model.qk_norm: true: with "
                                               "model.kv_latent the latents have norms, heads "
                                               "none; write false"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        model_case_begin(&c, 1);
        ck_assert_int_eq(model_read(&c, NULL, rows[i].text), TY_EINPUT);
        ck_assert_msg(strncmp(c.err.text, rows[i].message, strlen(rows[i].message)) == 0, "%s",
                      c.err.text);
        model_case_release(&c);
    }
}
END_TEST

/* Keys of experts may stay where a preset's model is made dense. */
START_TEST(keys_that_say_nothing_may_be_blank)
{
    struct model_case c;
    model_case_begin(&c, 1);
    ck_assert_int_eq(
        model_read(&c, NULL, SHAPE "experts: 0\nshared_ffn: 0\ngroup_limit: none\nhead_rope: 0"),
        0);
    ck_assert(!ty_arch_is_moe(&c.arch) && !ty_arch_is_latent(&c.arch));
    ck_assert(!ty_arch_has_experts(&c.arch, 3));
    model_case_release(&c);
}
END_TEST

TY_SUITE("sparse", what_must_fit_together_is_said_at_its_key, keys_that_say_nothing_may_be_blank)
