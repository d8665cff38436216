/* test_calibrate_operators.c - keys recovered from kernels that the model itself timed, through the
 * public interface. */
#include "model/block/block.h"
#include "model/kernel/operators.h"
#include "sim/base/noise.h"
#include "sim/base/text.h"
#include "tests/unit/calibration.h"

#define REST "model: {preset: llama-7b}\nlayout: {tensor: 8, global_batch: 64, zero: 1}\n"
static const char base[] =
    "cluster: {preset: dgx-a100-80g, nodes: 4, derate: 1.3, collective_derate: 1.2}\n" REST;

#define HEAD                                                                                       \
    "op,role,kernel,dtype,m,n,k,batch,sequence,heads,kv_heads,head_dim,causal,elements,time_us\n"

/* A kernel as its columns and as the model knows it. */
struct kernel {
    char cells[120];
    struct ty_operator_key key;
    double size, seconds; /* as put into the table */
};

#define KERNELS_MAX 100u

struct kernels {
    struct kernel kernel[KERNELS_MAX];
    uint32_t n;
};

static void add_products(struct kernels *t)
{
    static const struct {
        const char *name;
        int role;
    } roles[] = {{"forward", TY_ROLE_FORWARD}, {"dgrad", TY_ROLE_DGRAD}, {"wgrad", TY_ROLE_WGRAD}};
    static const double n[] = {1536, 4096, 2752}, k[] = {4096, 1376, 4096};
    for (uint32_t i = 0; i < 27; i++) {
        struct kernel *x = &t->kernel[t->n++];
        const double tokens = 256 << (i / 9 * 2);
        const uint32_t w = i / 3 % 3;
        const bool wgrad = roles[i % 3].role == TY_ROLE_WGRAD;
        const double dim[3] = {wgrad ? k[w] : tokens, n[w], wgrad ? tokens : k[w]};
        snprintf(x->cells, sizeof(x->cells), "matmul,%s,,bf16,%.0f,%.0f,%.0f,,,,,,,",
                 roles[i % 3].name, dim[0], dim[1], dim[2]);
        x->key = ty_operator_product(roles[i % 3].role, TY_DTYPE_BF16, 0, dim[0], dim[1], dim[2],
                                     &x->size);
    }
}

static void add_attention(struct kernels *t)
{
    for (uint32_t i = 0; i < 8; i++) {
        struct kernel *x = &t->kernel[t->n++];
        const double sequence = 512 << (i / 2), batch = 4;
        const bool backward = i % 2 != 0;
        snprintf(x->cells, sizeof(x->cells), "attention,%s,flash2,bf16,,,,%.0f,%.0f,16,4,128,true,",
                 backward ? "backward" : "forward", batch, sequence);
        x->key = (struct ty_operator_key){.op = TY_OPERATOR_ATTENTION,
                                          .role = backward ? TY_ROLE_BACKWARD : TY_ROLE_FORWARD,
                                          .dtype = TY_DTYPE_BF16,
                                          .kernel = TY_ATTENTION_FLASH2,
                                          .dim = {sequence, 16, 4, 128, 1}};
        x->size = batch;
    }
}

static void add_elementwise(struct kernels *t)
{
    static const struct {
        const char *op, *kernel;
        int op_id, kernel_id;
    } rows[] = {{"norm", "fused", TY_OPERATOR_NORM, TY_FUSED},
                {"residual", "", TY_OPERATOR_RESIDUAL, TY_ANY_KERNEL},
                {"activation", "swiglu", TY_OPERATOR_ACTIVATION, TY_ACTIVATION_SWIGLU},
                {"rotary", "fused", TY_OPERATOR_ROTARY, TY_FUSED}};
    for (uint32_t i = 0; i < 32; i++) {
        struct kernel *x = &t->kernel[t->n++];
        const uint32_t op = i % 4;
        const bool backward = i / 4 % 2 != 0;
        x->size = 65536 << (i / 8 * 3);
        snprintf(x->cells, sizeof(x->cells), "%s,%s,%s,bf16,,,,,,,,,,%.0f", rows[op].op,
                 backward ? "backward" : "forward", rows[op].kernel, x->size);
        x->key = (struct ty_operator_key){.op = rows[op].op_id,
                                          .role = backward ? TY_ROLE_BACKWARD : TY_ROLE_FORWARD,
                                          .dtype = TY_DTYPE_BF16,
                                          .kernel = rows[op].kernel_id};
    }
}

/* Writes the table as a machine would have timed it, each kernel off by its own noise. */
static void put_kernels(const struct place *p, struct kernels *t, const char *const *sets,
                        double noise)
{
    struct ty_text text = {.data = NULL};
    struct ty_config *config = machine(p, NULL, sets);
    ty_text_add(&text, HEAD);
    for (uint32_t i = 0; i < t->n; i++) {
        struct ty_cost cost;
        struct kernel *x = &t->kernel[i];
        ck_assert(ty_operator_cost(&config->cluster.gpu, &config->arch, &config->layout, &x->key,
                                   x->size, &cost));
        x->seconds = cost.seconds * exp(noise * ty_noise_normal(7, i, 0, 0));
        ty_text_add(&text, "%s,%.12g\n", x->cells, 1e6 * x->seconds);
    }
    ty_config_free(config);
    char *whole = ty_text_take(&text);
    ck_assert_ptr_nonnull(whole);
    put(p->rows, whole);
    ty_text_free(whole);
}

static int fit_kernels(struct place *p, const char *fit, double prior, uint32_t jobs,
                       struct ty_err *err)
{
    const struct ty_calibrate_options o = {
        .operators = p->rows, .fit = fit, .prior = prior, .jobs = jobs};
    return place_calibrate(p, &o, err);
}

static const struct truth gpu[] = {
    {"cluster.gemm_efficiency", 0.66, "cluster.gemm_efficiency=0.66"},
    {"cluster.gemm_overhead", 5e-6, "cluster.gemm_overhead=5 us"},
    {"cluster.wgrad_slowdown", 1.2, "cluster.wgrad_slowdown=1.2"},
    {"cluster.flash2_rate", 170e12, "cluster.flash2_rate=170 TFLOP/s"},
    {"cluster.flash2_half", 600, "cluster.flash2_half=600"},
    {"cluster.norm_passes", 4, "cluster.norm_passes=4"},
    {"cluster.add_efficiency", 0.7, "cluster.add_efficiency=0.7"},
    {"cluster.activation_efficiency", 0.6, "cluster.activation_efficiency=0.6"},
    {"cluster.rope_efficiency", 0.3, "cluster.rope_efficiency=0.3"},
    {"cluster.kernel_overhead", 3e-6, "cluster.kernel_overhead=3 us"},
    {"cluster.l2_bandwidth", 5e12, "cluster.l2_bandwidth=5 TB/s"},
};

TEST(kernels_give_back_the_gpu)
{
    const char *sets[TY_COUNT(gpu) + 1];
    struct kernels t = {.n = 0};
    struct place p;
    struct ty_err err;
    place_make(&p, base);
    add_products(&t);
    add_attention(&t);
    add_elementwise(&t);
    sets_of(gpu, TY_COUNT(gpu), sets);
    put_kernels(&p, &t, sets, 0);
    ck_assert_msg(fit_kernels(&p, NULL, 0, 0, &err) == 0, "%s", err.text);
    check_truth(&p, gpu, TY_COUNT(gpu), 0.005);
    /* kernels that no row has, and what multiplies them all */
    ck_assert(key_of(&p, "cluster.flash1_rate") == NULL);
    ck_assert(key_of(&p, "cluster.norm_passes_unfused") == NULL);
    ck_assert(key_of(&p, "cluster.optimizer_efficiency") == NULL);
    ck_assert(key_of(&p, "cluster.derate") == NULL);
    ck_assert(js_is(js_get(p.report, "measured"), "operators"));
    ck_assert(number(p.report, "rows_used") == t.n);
    ck_assert(number(js_get(p.report, "before"), "mape") > 0.05);
    ck_assert(number(js_get(p.report, "after"), "mape") < 1e-3);
    ck_assert(number(js_get(p.report, "left_out"), "mape") < 1e-2);
    place_remove(&p);
}

/* The overlay's kernels take what the report calls "after"; derate has no part in it. */
TEST(kernels_under_the_overlay_have_the_fitted_times)
{
    struct kernels t = {.n = 0};
    struct place p;
    struct ty_err err;
    double sum = 0;
    place_make(&p, base);
    add_products(&t);
    put_kernels(&p, &t, NULL, 0.05);
    ck_assert_msg(fit_kernels(&p, "cluster.gemm_efficiency,cluster.derate", 0.2, 0, &err) == 0,
                  "%s", err.text);
    const struct js *derate = key_of(&p, "cluster.derate");
    ck_assert(!is_identified(derate) && number(derate, "value") == 1.3);
    const struct js *efficiency = key_of(&p, "cluster.gemm_efficiency");
    ck_assert(number(efficiency, "error") > 0.003 && number(efficiency, "error") < 0.03);
    ck_assert(fabs(log(number(efficiency, "value") / number(efficiency, "start"))) <
              3 * number(efficiency, "error"));
    struct ty_config *fitted = machine(&p, p.overlay, NULL);
    for (uint32_t i = 0; i < t.n; i++) {
        struct ty_cost cost;
        const struct kernel *x = &t.kernel[i];
        ck_assert(ty_operator_cost(&fitted->cluster.gpu, &fitted->arch, &fitted->layout, &x->key,
                                   x->size, &cost));
        sum += fabs(cost.seconds / x->seconds - 1);
    }
    ck_assert_double_eq_tol(sum / t.n, number(js_get(p.report, "after"), "mape"), 1e-9);
    ty_config_free(fitted);
    place_remove(&p);
}

/* Three weight matrices, four sequences, four decades of each of four operators. */
TEST(kernels_are_left_out_with_their_relatives)
{
    static const char *const groups[] = {
        "matmul 1536 x 4096",       "matmul 1376 x 4096",
        "matmul 2752 x 4096",       "attention flash2, sequence 512",
        "norm fused, 1e4 elements", "residual, 1e7 elements"};
    struct kernels t = {.n = 0};
    struct place p;
    struct ty_err err;
    place_make(&p, base);
    add_products(&t);
    add_attention(&t);
    add_elementwise(&t);
    put_kernels(&p, &t, NULL, 0.01);
    ck_assert_msg(fit_kernels(&p, NULL, 0.2, 0, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(js_need(p.report, "groups")->n, 3 + 4 + 4 * 4);
    for (size_t i = 0; i < TY_COUNT(groups); i++) {
        bool found = false;
        for (const struct js *g = js_need(p.report, "groups")->first; g != NULL; g = g->next) {
            found = found || strncmp(g->raw, groups[i], strlen(groups[i])) == 0;
        }
        ck_assert_msg(found, "%s", groups[i]);
    }
    place_remove(&p);
}

TEST(a_table_of_the_run_file_does_not_answer)
{
    struct kernels t = {.n = 0};
    struct place p;
    struct ty_err err;
    size_t n;
    place_make(&p, base);
    add_products(&t);
    put_kernels(&p, &t, NULL, 0.02);
    ck_assert_msg(fit_kernels(&p, NULL, 0.2, 0, &err) == 0, "%s", err.text);
    ck_assert(js_need(p.report, "set_aside")->type == JS_NULL);
    char *without = file_text(p.overlay, &n);
    put(p.run,
        "cluster: {preset: dgx-a100-80g, nodes: 4, derate: 1.3, operators: rows.csv}\n" REST);
    ck_assert_msg(fit_kernels(&p, NULL, 0.2, 0, &err) == 0, "%s", err.text);
    ck_assert(js_is(js_get(p.report, "set_aside"), "cluster.operators"));
    char *with = file_text(p.overlay, &n);
    /* the same values, under a head that says so */
    ck_assert_ptr_nonnull(strstr(with, "# cluster.operators of the run file: not used in the fit"));
    ck_assert_str_eq(strstr(without, "\ncluster:"), strstr(with, "\ncluster:"));
    free(without);
    free(with);
    place_remove(&p);
}

TEST(threads_change_nothing)
{
    struct kernels t = {.n = 0};
    struct place p;
    struct ty_err err;
    size_t n;
    place_make(&p, base);
    add_products(&t);
    add_attention(&t);
    add_elementwise(&t);
    put_kernels(&p, &t, NULL, 0.02);
    ck_assert_msg(fit_kernels(&p, NULL, 0.2, 1, &err) == 0, "%s", err.text);
    char *one = file_text(p.overlay, &n);
    ck_assert_msg(fit_kernels(&p, NULL, 0.2, 5, &err) == 0, "%s", err.text);
    char *five = file_text(p.overlay, &n);
    ck_assert_str_eq(one, five);
    free(one);
    free(five);
    place_remove(&p);
}

TY_SUITE("calibrate_operators")
