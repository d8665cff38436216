/* kernel_times.c - seconds of single kernels, alone and in a step, for the ledger.
 *
 * Questions, sizes in elements:
 *
 *     gemm forward|dgrad|wgrad M N K
 *     flash forward|backward SEQUENCES TOKENS HEADS KV_HEADS HEAD_DIM
 *     norm|add TOKENS HIDDEN        rope TOKENS WIDTH        activation TOKENS FFN */
#include "model/kernel/kernel_internal.h"

#include "tests/ledger/ask.h"

/* At `sustained` of its rate in a step, before the derate. */
static void print(const struct ty_config *config, struct ty_cost cost, double sustained)
{
    printf("%.9g %.9g\n", cost.seconds, cost.seconds / sustained * config->cluster.gpu.derate);
}

static bool gemm(struct ty_config *config, const char *role, const char *sizes)
{
    static const char *const names[] = {"forward", "dgrad", "wgrad"};
    double m, n, k;
    if (sscanf(sizes, "%lf %lf %lf", &m, &n, &k) != 3) {
        return false;
    }
    for (int r = TY_FORWARD; r <= TY_WGRAD; r++) {
        if (strcmp(role, names[r]) == 0) {
            print(config,
                  ty_gemm_cost(&config->cluster.gpu, (enum ty_dtype)config->arch.dtype,
                               (enum ty_direction)r, 1, m, n, k),
                  config->cluster.gpu.gemm_sustained);
            return true;
        }
    }
    return false;
}

static bool flash(struct ty_config *config, const char *direction, const char *sizes)
{
    struct ty_kernel kernel = {.op = TY_OPERATOR_ATTENTION,
                               .dtype = config->arch.dtype,
                               .variant = config->arch.attention,
                               .dropout = config->arch.dropout > 0};
    struct ty_attention_core *x = &kernel.attention;
    x->full = config->arch.full_attention;
    if (sscanf(sizes, "%lf %lf %lf %lf %lf", &x->sequences, &x->tokens, &x->heads, &x->kv_heads,
               &x->head_dim) != 5) {
        return false;
    }
    const bool backward = strcmp(direction, "backward") == 0;
    print(config, ty_kernel_cost(&config->cluster.gpu, &kernel, backward ? TY_DGRAD : TY_FORWARD),
          1);
    return true;
}

static bool elementwise(struct ty_config *config, const char *name, const char *sizes)
{
    const struct ty_framework *framework = &config->layout.framework;
    const bool swiglu = config->arch.mlp == TY_MLP_SWIGLU;
    const struct {
        const char *name;
        enum ty_operator op;
        int variant;
    } rows[] = {{"norm", TY_OPERATOR_NORM, config->arch.norm},
                {"add", TY_OPERATOR_RESIDUAL, TY_ANY_KERNEL},
                {"rope", TY_OPERATOR_ROTARY, framework->fused_rotary ? TY_FUSED : TY_UNFUSED},
                {"activation", TY_OPERATOR_ACTIVATION,
                 !swiglu                       ? TY_ACTIVATION_GELU
                 : framework->fused_activation ? TY_ACTIVATION_SWIGLU
                                               : TY_ACTIVATION_SWIGLU_UNFUSED}};
    double tokens, width;
    if (sscanf(sizes, "%lf %lf", &tokens, &width) != 2) {
        return false;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(name, rows[i].name) == 0) {
            const struct ty_kernel kernel = {.op = rows[i].op,
                                             .dtype = config->arch.dtype,
                                             .variant = rows[i].variant,
                                             .dropout = config->arch.dropout > 0,
                                             .speed = framework->norm_speed,
                                             .elements = tokens * width};
            print(config, ty_kernel_cost(&config->cluster.gpu, &kernel, TY_FORWARD), 1);
            return true;
        }
    }
    return false;
}

static bool answer(struct ty_config *config, const char *line)
{
    char kernel[32], variant[32];
    int at = 0;
    if (sscanf(line, "%31s %n", kernel, &at) != 1) {
        return false;
    }
    const char *rest = line + at;
    const bool is_gemm = strcmp(kernel, "gemm") == 0;
    if (!is_gemm && strcmp(kernel, "flash") != 0) {
        return elementwise(config, kernel, rest);
    }
    if (sscanf(rest, "%31s %n", variant, &at) != 1) {
        return false;
    }
    return is_gemm ? gemm(config, variant, rest + at) : flash(config, variant, rest + at);
}

int main(int argc, char **argv)
{
    return ask_main(argc, argv, answer);
}
