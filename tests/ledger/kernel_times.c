/* kernel_times.c - seconds of single kernels, alone and in a step, for the ledger.
 *
 * Questions, sizes in elements:
 *
 *     gemm forward|dgrad|wgrad M N K
 *     grouped forward|dgrad|wgrad GROUPS ROWS IN OUT CALLS SUM_B    (of all groups; CALLS: 1 or 0)
 *     flash forward|backward|both SEQUENCES TOKENS HEADS KV_HEADS HEAD_DIM [VALUE_DIM WINDOW TYPE]
 *         (WINDOW 0: none; TYPE of operands 0: that of the run, 1: fp8, 2: MXFP8)
 *     norm|add TOKENS HIDDEN        rope TOKENS WIDTH        activation TOKENS FFN
 *     permute|unpermute TOKENS ROWS WIDTH EXPERT_B           cast KERNEL ELEMENTS */
#include "model/kernel/kernel_internal.h"

#include "tests/ledger/ask.h"

/* At `sustained` of its rate in a step, before the derate. */
static void print(const struct ty_config *config, struct ty_cost cost, double sustained)
{
    printf("%.9g %.9g\n", cost.seconds, cost.seconds / sustained * config->cluster.gpu.derate);
}

/* The direction of a word, or -1. */
static int direction_of(const char *role)
{
    static const char *const names[] = {
        [TY_FORWARD] = "forward", [TY_DGRAD] = "dgrad", [TY_WGRAD] = "wgrad"};
    for (int i = TY_FORWARD; i <= TY_WGRAD; i++) {
        if (strcmp(role, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static bool gemm(struct ty_config *config, const char *role, const char *sizes)
{
    const int direction = direction_of(role);
    double m, n, k;
    if (direction < 0 || sscanf(sizes, "%lf %lf %lf", &m, &n, &k) != 3) {
        return false;
    }
    print(config,
          ty_gemm_cost(&config->cluster.gpu, (enum ty_dtype)config->arch.dtype,
                       (enum ty_direction)direction, 1, m, n, k),
          config->cluster.gpu.gemm_sustained);
    return true;
}

static bool grouped(struct ty_config *config, const char *role, const char *sizes)
{
    const int direction = direction_of(role);
    struct ty_kernel kernel = {.op = TY_OPERATOR_GROUPED, .dtype = config->arch.dtype};
    struct ty_grouped *x = &kernel.grouped;
    int calls;
    if (direction < 0 || sscanf(sizes, "%lf %lf %lf %lf %d %lf", &x->groups, &x->rows, &x->in,
                                &x->out, &calls, &x->sum_B) != 6) {
        return false;
    }
    kernel.variant = calls != 0 ? TY_GROUPED_CALLS : TY_GROUPED_ONE;
    print(config, ty_kernel_cost(&config->cluster.gpu, &kernel, (enum ty_direction)direction),
          config->cluster.gpu.gemm_sustained);
    return true;
}

static bool permute(struct ty_config *config, const char *name, const char *sizes)
{
    struct ty_kernel kernel = {.op = strcmp(name, "permute") == 0 ? TY_OPERATOR_PERMUTE
                                                                  : TY_OPERATOR_UNPERMUTE,
                               .dtype = config->arch.dtype,
                               .variant = TY_FUSED};
    struct ty_permute *x = &kernel.permute;
    if (sscanf(sizes, "%lf %lf %lf %lf", &x->tokens, &x->rows, &x->width, &x->expert_B) != 4) {
        return false;
    }
    print(config, ty_kernel_cost(&config->cluster.gpu, &kernel, TY_FORWARD), 1);
    return true;
}

static bool cast(struct ty_config *config, const char *name, const char *sizes)
{
    struct ty_kernel kernel = {.op = TY_OPERATOR_CAST, .dtype = config->arch.dtype};
    while (strcmp(ty_operator_kernel_name(kernel.op, kernel.variant), name) != 0) {
        if (ty_operator_kernel_name(kernel.op, kernel.variant++)[0] == '\0') {
            return false;
        }
    }
    if (sscanf(sizes, "%lf", &kernel.elements) != 1) {
        return false;
    }
    print(config, ty_kernel_cost(&config->cluster.gpu, &kernel, TY_FORWARD), 1);
    return true;
}

static bool flash(struct ty_config *config, const char *direction, const char *sizes)
{
    struct ty_kernel kernel = {.op = TY_OPERATOR_ATTENTION,
                               .dtype = config->arch.dtype,
                               .variant = config->arch.attention,
                               .dropout = config->arch.dropout > 0};
    struct ty_attention_core *x = &kernel.attention;
    int type = 0;
    x->full = config->arch.full_attention;
    if (sscanf(sizes, "%lf %lf %lf %lf %lf %lf %lf %d", &x->sequences, &x->tokens, &x->heads,
               &x->kv_heads, &x->head_dim, &x->value_dim, &x->window, &type) < 5) {
        return false;
    }
    x->fp8 = type > 0;
    kernel.mx = type == 2;
    struct ty_cost sum = {.seconds = 0};
    if (strcmp(direction, "backward") != 0) {
        sum.seconds += ty_kernel_cost(&config->cluster.gpu, &kernel, TY_FORWARD).seconds;
    }
    if (strcmp(direction, "forward") != 0) {
        sum.seconds += ty_kernel_cost(&config->cluster.gpu, &kernel, TY_DGRAD).seconds;
    }
    print(config, sum, 1);
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
    static const struct {
        const char *name;
        bool (*of)(struct ty_config *, const char *, const char *);
    } rows[] = {{"gemm", gemm}, {"grouped", grouped}, {"flash", flash}, {"cast", cast}};
    char kernel[32], variant[32];
    int at = 0, after = 0;
    if (sscanf(line, "%31s %n%31s %n", kernel, &at, variant, &after) != 2) {
        return false;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(kernel, rows[i].name) == 0) {
            return rows[i].of(config, variant, line + after);
        }
    }
    return strstr(kernel, "permute") != NULL ? permute(config, kernel, line + at)
                                             : elementwise(config, kernel, line + at);
}

int main(int argc, char **argv)
{
    return ask_main(argc, argv, answer);
}
