/* kernel_times.c - seconds of single kernels, without and with derate, for the ledger.
 *
 * Questions, sizes in elements:
 *
 *     gemm forward|dgrad|wgrad M N K
 *     flash forward|backward SEQUENCES TOKENS HEADS KV_HEADS HEAD_DIM
 *     norm|add TOKENS HIDDEN        rope TOKENS WIDTH        activation TOKENS FFN */
#include "model/kernels_internal.h"

#include "tests/ledger/ask.h"

static void print(const struct ty_config *config, struct ty_cost cost)
{
    printf("%.9g %.9g\n", cost.seconds, cost.seconds * config->cluster.derate);
}

static bool gemm(struct ty_config *config, const char *role, const char *sizes)
{
    static const char *const names[] = {"forward", "dgrad", "wgrad"};
    double m, n, k;
    if (sscanf(sizes, "%lf %lf %lf", &m, &n, &k) != 3) {
        return false;
    }
    for (int r = TY_GEMM_FORWARD; r <= TY_GEMM_WGRAD; r++) {
        if (strcmp(role, names[r]) == 0) {
            print(config, ty_gemm_cost_at(&config->cluster, (enum ty_dtype)config->arch.dtype,
                                          (enum ty_gemm_role)r, 1, m, n, k));
            return true;
        }
    }
    return false;
}

static bool flash(struct ty_config *config, const char *direction, const char *sizes)
{
    struct ty_arch arch = config->arch;
    struct ty_layout layout = config->layout;
    if (sscanf(sizes, "%u %u %u %u %u", &layout.micro_batch, &arch.sequence, &arch.heads,
               &arch.kv_heads, &arch.head_dim) != 5) {
        return false;
    }
    const bool backward = strcmp(direction, "backward") == 0;
    print(config, ty_attention(&config->cluster, &arch, &layout, backward));
    return true;
}

static bool elementwise(struct ty_config *config, const char *kernel, const char *sizes)
{
    struct ty_arch arch = config->arch;
    struct ty_shard shard = ty_shard_of(&arch, &config->layout);
    unsigned width;
    if (sscanf(sizes, "%lf %u", &shard.tokens, &width) != 2) {
        return false;
    }
    shard.norm_tokens = shard.tokens;
    shard.ffn = shard.heads = width; /* heads of width 1 */
    shard.kv = 0;
    arch.hidden = width;
    arch.head_dim = 1;
    const struct {
        const char *name;
        struct ty_cost (*cost)(const struct ty_cluster *, const struct ty_arch *,
                               const struct ty_shard *, bool backward);
    } kernels[] = {
        {"norm", ty_norm}, {"add", ty_residual}, {"rope", ty_rope}, {"activation", ty_activation}};
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        if (strcmp(kernel, kernels[i].name) == 0) {
            print(config, kernels[i].cost(&config->cluster, &arch, &shard, false));
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
