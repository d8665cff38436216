/* test_families.c - decoders in use, by their config.json: the parameters counted here from the
 * published shape, in whole numbers and without lists of operators, are those of the model that the
 * file becomes; and where its authors, or the checkpoint, say how many there are, these. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/parallel/whole.h"
#include "tests/unit/model/families_dense.h"
#include "tests/unit/model/families_gpt.h"
#include "tests/unit/model/families_hybrid.h"
#include "tests/unit/model/families_sparse.h"
#include "tests/unit/model_case.h"

/* ---- arithmetic ---- */

/* A vector for a norm, two with a shift. */
static uint64_t norm(const struct facts *x, uint64_t width)
{
    return x->norms == NO_NORMS ? 0 : (x->shifts > 0 ? 2 : 1) * width;
}

static uint64_t latent(const struct facts *x)
{
    const uint64_t h = x->hidden, a = x->heads, q = a * (x->head_dim + x->rope);
    const uint64_t queries = x->q_rank > 0 ? h * x->q_rank + x->q_rank + x->q_rank * q : h * q;
    const uint64_t keys = h * (x->kv_rank + x->rope) + x->kv_rank;
    return queries + keys + x->kv_rank * a * (x->head_dim + x->value) + a * x->value * h;
}

static uint64_t attention(const struct facts *x)
{
    const uint64_t h = x->hidden, q = x->heads * x->head_dim, kv = x->kv_heads * x->head_dim;
    if (x->kv_rank > 0) {
        return latent(x);
    }
    uint64_t n = h * q + 2 * h * kv + q * h;
    n += x->qkv_bias + x->attention_bias > 0 ? q + 2 * kv : 0;
    n += x->proj_bias + x->attention_bias > 0 ? h : 0;
    n += x->qk_head * 2 * x->head_dim + x->qk_whole * (q + kv);
    return n + (x->sinks > 0 ? x->heads : 0);
}

static uint64_t mlp(const struct facts *x, uint64_t width)
{
    const uint64_t wide = x->plain > 0 ? 1 : 2;
    return (wide + 1) * x->hidden * width + (x->mlp_bias > 0 ? wide * width + x->hidden : 0);
}

static uint64_t experts(const struct facts *x)
{
    const uint64_t shared = x->shared > 0 ? mlp(x, x->shared) : 0;
    return x->experts * mlp(x, x->width) + shared + (x->gate > 0 ? x->hidden : 0) +
           x->hidden * x->experts + (x->router_bias > 0 ? x->experts : 0);
}

static uint64_t count(const struct facts *x)
{
    const uint64_t width = x->halved > 0 ? x->ffn / 2 : x->ffn;
    const uint64_t sparse = x->experts > 0 ? x->layers - x->dense : 0;
    const uint64_t norms = x->norms > 0 ? x->norms : 2;
    uint64_t n = x->layers * (attention(x) + norms * norm(x, x->hidden));
    n += sparse * experts(x) + (x->layers - sparse) * mlp(x, width);
    n += (x->vocabulary + x->positions) * x->hidden;
    n += x->tied > 0 ? 0 : x->vocabulary * x->hidden;
    n += x->head_bias > 0 ? x->vocabulary : 0;
    return n + (1 + x->embedding_norm) * norm(x, x->hidden);
}

/* ---- the models ---- */

static void read_config(struct model_case *c, const char *json)
{
    struct ty_huggingface out = {NULL, NULL};
    char path[] = "/tmp/test_families_XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    ck_assert_ptr_nonnull(file);
    fputs(json, file);
    ck_assert_int_eq(fclose(file), 0);
    model_case_begin(c, 1);
    const int rc = ty_arch_huggingface(&c->arena, path, &out, &c->err);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_msg(rc == 0, "%s", c->err.text);
    ck_assert_int_eq(section_apply(c, &c->model_section, TY_ORIGIN_PRESET, "config.json", out.text),
                     0);
    ck_assert_msg(model_read(c, NULL, "") == 0, "%s\n%s", c->err.text, out.text);
}

static void check(const struct family_row *row)
{
    struct model_case c;
    const uint64_t n = count(&row->facts);
    const double off = (double)n - row->published;
    read_config(&c, row->json);
    ck_assert_msg((uint64_t)ty_arch_params(&c.arch) == n, "%s: %.12g parameters, not %" PRIu64,
                  row->name, ty_arch_params(&c.arch), n);
    ck_assert_msg(row->published <= 0 || (off < 0 ? -off : off) <= row->tolerance * row->published,
                  "%s: %" PRIu64 " parameters, published are %.12g", row->name, n, row->published);
    ck_assert_uint_eq(c.arch.head_dim, row->facts.head_dim);
    ck_assert_uint_eq(c.arch.layers, row->facts.layers);
    model_case_release(&c);
}

TEST(gated_decoders_have_the_parameters_of_their_checkpoints)
{
    for (size_t i = 0; i < TY_COUNT(dense_families); i++) {
        check(&dense_families[i]);
    }
}

TEST(decoders_like_gpt_have_the_parameters_of_their_checkpoints)
{
    for (size_t i = 0; i < TY_COUNT(gpt_families); i++) {
        check(&gpt_families[i]);
    }
}

TEST(sparse_decoders_have_the_parameters_of_their_checkpoints)
{
    for (size_t i = 0; i < TY_COUNT(sparse_families); i++) {
        check(&sparse_families[i]);
    }
}

TEST(hybrid_decoders_have_the_parameters_of_their_checkpoints)
{
    for (size_t i = 0; i < TY_COUNT(hybrid_families); i++) {
        const struct hybrid_row *row = &hybrid_families[i];
        struct model_case c;
        read_config(&c, row->json);
        const double n = ty_arch_params(&c.arch), off = n - row->published;
        ck_assert_msg((off < 0 ? -off : off) <= row->tolerance * row->published,
                      "%s: %.12g parameters, published are %.12g", row->name, n, row->published);
        model_case_release(&c);
    }
}

TY_SUITE("families")
