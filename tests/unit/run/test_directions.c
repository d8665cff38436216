/* test_directions.c - which way a step moves: to overlap something, or a faster link, host or GPU,
 * never makes it longer. Jobs are random; a message says what to type.
 *
 * Links are not shared as it happens and computation beside collectives is not slowed down. A step
 * is then the longest path through operations in the order of issue, their events and messages:
 * shorter operations, and fewer things to wait for, cannot make it longer. Another order of issue
 * can (Graham, "Bounds on multiprocessing timing anomalies", 1969), and is left out:
 *
 * - zb-2p, zb-v, v-half and v-min find their order by playing durations.
 * - All collectives of a data group take turns on one communicator. With ZeRO-3 a gather that is
 *   issued two units ahead comes before a reduction that it came after, and gradients reduced
 *   during a backward, not after it, come before its gathers.
 *
 * One thing bends the rule: where the host sets the pace, the time that it needs for a layer is
 * drawn as longer kernels, all in proportion (model/block/host.c). When some of the layer's work
 * takes less, the layer ends when it did, but what ends inside of it may end later. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/noise.h"
#include "sim/run/figures.h"
#include "tests/unit/suite.h"

#define JOBS     3000
#define PART     15 /* of them in the quick suite */
#define SETS     48
#define SET_TEXT 72
#define STEPS    4 /* most on a ladder */

/* Times are whole picoseconds: each operation may be rounded up that was rounded down. */
#define ROUNDING 1e-8
/* Longest that a host's share of a layer, drawn elsewhere in it, has made a step of these. */
#define REDRAWN 0.02

struct job {
    char text[SETS][SET_TEXT];
    const char *set[SETS + 1]; /* [n], and one more */
    size_t n;
};

static uint64_t seed, drawn;

static uint32_t below(uint32_t n)
{
    return (uint32_t)(ty_hash4(seed, drawn++, 0, 0) % n);
}

static void put(struct job *job, const char *form, ...)
{
    va_list args;
    va_start(args, form);
    ck_assert_uint_lt(job->n, SETS);
    (void)vsnprintf(job->text[job->n], SET_TEXT, form, args);
    va_end(args);
    job->set[job->n] = job->text[job->n];
    job->n++;
}

/* One of the words of a list between bars. */
static void put_one_of(struct job *job, const char *key, const char *words)
{
    uint32_t n = 1;
    for (const char *c = words; *c != '\0'; c++) {
        n += *c == '|';
    }
    const char *word = words;
    for (uint32_t k = below(n); k > 0; k--) {
        word = strchr(word, '|') + 1;
    }
    put(job, "%s=%.*s", key, (int)strcspn(word, "|"), word);
}

static uint32_t power(uint32_t most)
{
    return 1u << below(most + 1);
}

static const struct choice {
    const char *key, *words;
} choices[] = {
    {"cluster.preset", "dgx-a100-80g|dgx-h100"},
    {"model.hidden", "1024|4096"},
    {"model.mlp", "gelu|swiglu"},
    {"model.tied", "false|true"},
    {"model.vocabulary", "1024|32000"},
    {"model.dtype", "bf16|fp16"},
    {"layout.sequence_parallel", "false|true"},
    {"layout.zero", "0|1|2|3"},
    {"layout.shard", "auto|auto|auto|2"},
    {"layout.recompute", "none|none|selective|ffn|full"},
    {"layout.context_method", "zigzag|ring|all-gather|ulysses|hybrid"},
    {"framework.preset", "megatron-lm|megatron-deepspeed|fsdp|torchtitan|llama3|ddp|ideal"},
    {"framework.sync_every", "auto|true|run|false"},
    {"framework.reduce_scatter", "true|true|false"},
    {"framework.bucket", "auto|1 MiB|10 MB|1 GB"},
    {"framework.reshard_after_forward", "true|false"},
    {"framework.reshard_after_backward", "true|true|false"},
    {"framework.fused_qkv", "true|false"},
    {"framework.fused_gate", "true|false"},
    {"framework.overlap_grad_reduce", "true|false"},
    {"framework.overlap_param_gather", "true|false"},
    {"framework.overlap_tensor_reduce", "true|false"},
    {"framework.overlap_tensor_products", "false|false|true"},
    {"framework.overlap_p2p", "auto|true|false"},
    {"framework.prefetch", "0|1|2"},
    {"framework.moment_dtype", "fp32|fp32|bf16|fp8"},
    {"framework.wgrad_placeholders", "true|false"},
    {"framework.layer_floor", "0 s|0 s|0.3 ms|2 ms"},
    {"framework.pass_overhead", "0 s|1 us|0.3 ms|2 ms"},
    {"framework.step_overhead", "0 s|1 us|0.3 ms|2 ms"},
    {"schedule.barrier", "true|true|false"},
    {"schedule.name", "gpipe|1f1b|1f1b|eager-1f1b|interleaved|interleaved|bfs|zb-1p|zb-2p|zb-v|"
                      "v-half|v-min|interleaved-zb|chimera|dualpipe|dualpipev|seq1f1b|pipedream|"
                      "pipedream-2bw"},
    {"run.steps", "1|1|2|3"},
};

static void draw(struct job *job, uint32_t number)
{
    seed = number;
    drawn = 0;
    job->n = 0;
    for (size_t i = 0; i < TY_COUNT(choices); i++) {
        put_one_of(job, choices[i].key, choices[i].words);
    }
    const uint32_t tensor = power(2), context = below(4) == 0 ? power(2) : 1, pipeline = power(3);
    const uint32_t data = power(3), ranks = tensor * context * pipeline * data;
    const uint32_t m = power(4), per_node = ranks < 8 ? ranks : power(3);
    put(job, "layout.tensor=%u", (unsigned)tensor);
    put(job, "layout.context=%u", (unsigned)context);
    put(job, "layout.pipeline=%u", (unsigned)pipeline);
    put(job, "layout.global_batch=%u", (unsigned)(data * m));
    put(job, "cluster.gpus_per_node=%u", (unsigned)per_node);
    put(job, "cluster.nodes=%u", (unsigned)(ranks / per_node));
    put(job, "model.layers=%u", (unsigned)(8u << below(3)));
    put(job, "model.sequence=%u", (unsigned)(512u << below(4)));
}

/* Whether a job has one of the settings of a list that ends with NULL. */
static bool has(const struct job *job, const char *const *settings)
{
    bool any = false;
    for (; *settings != NULL; settings++) {
        for (size_t i = 0; i < job->n; i++) {
            any = any || strcmp(job->set[i], *settings) == 0;
        }
    }
    return any;
}
#define HAS(job, ...) has(job, (const char *const[]){__VA_ARGS__, NULL})

/* All steps of a job, with one more setting; 0: it is not legal. */
static ty_ps play(struct job *job, const char *more)
{
    char path[] = "/tmp/trainyard-directions-XXXXXX";
    static const char base[] = "cluster: {nvlink_overlap_slowdown: 0, net_overlap_slowdown: 0}\n"
                               "model: {layers: 8, hidden: 1024, heads: 16, vocabulary: 1024}\n"
                               "run: {contention: false}\n";
    const int fd = mkstemp(path);
    ck_assert(fd >= 0 && write(fd, base, strlen(base)) == (ssize_t)strlen(base) && close(fd) == 0);
    struct ty_config *config = NULL;
    struct ty_run *run = NULL;
    struct ty_err *err = ty_err_new();
    ty_ps makespan = 0;
    job->set[job->n] = more;
    if (ty_config_read(&config,
                       &(struct ty_source){.path = path, .sets = job->set, .n_sets = job->n + 1},
                       err) == 0 &&
        ty_run_new(&run, config, err) == 0) {
        ck_assert_msg(ty_run_execute(run, NULL, err) == 0, "%s", ty_err_text(err));
        makespan = run->timeline.makespan;
    }
    unlink(path);
    ty_run_free(run);
    ty_config_free(config);
    ty_err_free(err);
    return makespan;
}

/* Whether a job must not be slower by a step than by the one before it. */
typedef bool holds_fn(const struct job *job, size_t step);

/* Settings from the slowest to the fastest. */
struct ladder {
    const char *step[STEPS + 1];
    holds_fn *holds; /* NULL: the common one */
};

static void complain(const struct job *job, const struct ladder *ladder, size_t step, double by)
{
    char text[SETS * (SET_TEXT + 8)] = "";
    for (size_t i = 0; i < job->n; i++) {
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), " --set '%s'",
                       job->set[i]);
    }
    ck_abort_msg("%s is %.3g %% slower than %s:%s", ladder->step[step], 100 * by,
                 ladder->step[step - 1], text);
}

/* Jobs, each on one of the ladders; what holds of every ladder may not of one. */
static void climb(const struct ladder *ladders, size_t n, holds_fn *holds, double tolerance)
{
    const uint32_t jobs = suite_part(JOBS, PART);
    uint32_t legal = 0;
    for (uint32_t i = 0; i < jobs; i++) {
        struct job job;
        draw(&job, i);
        const struct ladder *ladder = &ladders[below((uint32_t)n)];
        ty_ps last = 0;
        for (size_t k = 0; k < STEPS && ladder->step[k] != NULL; k++) {
            const ty_ps now = play(&job, ladder->step[k]);
            const bool compares = last > 0 && now > 0;
            legal += compares;
            if (compares && (ladder->holds != NULL ? ladder->holds : holds)(&job, k) &&
                (double)now > (double)last * (1 + tolerance)) {
                complain(&job, ladder, k, (double)now / (double)last - 1);
            }
            last = now;
        }
    }
    ck_assert_uint_gt(2 * legal, jobs);
}

/* ---- what is left out ---- */

static bool of_every_job(const struct job *job, size_t step)
{
    (void)job, (void)step;
    return true;
}

static bool has_an_order(const struct job *job, size_t step)
{
    (void)step;
    return !HAS(job, "schedule.name=zb-2p", "schedule.name=zb-v", "schedule.name=v-half",
                "schedule.name=v-min");
}

static bool has_a_quick_host(const struct job *job, size_t step)
{
    (void)step;
    return HAS(job, "framework.layer_floor=0 s");
}

static bool has_an_order_and_a_quick_host(const struct job *job, size_t step)
{
    return has_an_order(job, step) && has_a_quick_host(job, step);
}

static bool reduces_where_it_gathers(const struct job *job, size_t step)
{
    (void)step;
    return !HAS(job, "layout.zero=3") ||
           !HAS(job, "framework.sync_every=false", "framework.sync_every=run");
}

static bool reduces_late_or_gathers_one_ahead(const struct job *job, size_t step)
{
    return step == 1 || (HAS(job, "framework.sync_every=false") &&
                         HAS(job, "framework.overlap_grad_reduce=false"));
}

/* ---- tests ---- */

TEST(to_overlap_is_never_slower)
{
    static const struct ladder ladders[] = {
        {.step = {"framework.overlap_grad_reduce=false", "framework.overlap_grad_reduce=true"},
         .holds = reduces_where_it_gathers},
        {.step = {"framework.overlap_param_gather=false", "framework.overlap_param_gather=true"}},
        {.step = {"framework.overlap_p2p=false", "framework.overlap_p2p=auto",
                  "framework.overlap_p2p=true"}},
        {.step = {"framework.prefetch=0", "framework.prefetch=1", "framework.prefetch=2",
                  "framework.prefetch=4"},
         .holds = reduces_late_or_gathers_one_ahead},
        {.step = {"framework.reshard_after_forward=true", "framework.reshard_after_forward=false"}},
        {.step = {"framework.reshard_after_backward=true",
                  "framework.reshard_after_backward=false"}},
        {.step = {"schedule.barrier=true", "schedule.barrier=false"}},
    };
    climb(ladders, TY_COUNT(ladders), of_every_job, ROUNDING);
}

/* Links, and how much is seen of collectives around kernels. */
static const struct ladder collectives[] = {
    {.step = {"framework.overlap_tensor_reduce=false", "framework.overlap_tensor_reduce=true"}},
    {.step = {"cluster.nvlink_bandwidth=150 GB/s", "cluster.nvlink_bandwidth=300 GB/s",
              "cluster.nvlink_bandwidth=1 TB/s"}},
    {.step = {"cluster.nic_bandwidth=10 GB/s", "cluster.nic_bandwidth=25 GB/s",
              "cluster.nic_bandwidth=100 GB/s"}},
    {.step = {"cluster.nvlink_latency=80 us", "cluster.nvlink_latency=10 us"}},
    {.step = {"cluster.nvlink_gather_latency=80 us", "cluster.nvlink_gather_latency=10 us"}},
    {.step = {"cluster.nvlink_step=20 us", "cluster.nvlink_step=1 us"}},
    {.step = {"cluster.nvlink_p2p_latency=80 us", "cluster.nvlink_p2p_latency=5 us"}},
    {.step = {"cluster.net_latency=20 us", "cluster.net_latency=1 us"}},
    {.step = {"cluster.net_step=20 us", "cluster.net_step=2 us"}},
    {.step = {"cluster.net_p2p_latency=80 us", "cluster.net_p2p_latency=10 us"}},
    {.step = {"cluster.collective_derate=1.5", "cluster.collective_derate=1"}},
};

TEST(a_faster_or_hidden_collective_is_never_slower)
{
    climb(collectives, TY_COUNT(collectives), has_a_quick_host, ROUNDING);
}

static const struct ladder gpus[] = {
    {.step = {"cluster.peak_bf16=100 TFLOP/s", "cluster.peak_bf16=300 TFLOP/s",
              "cluster.peak_bf16=1 PFLOP/s"}},
    {.step = {"cluster.memory_bandwidth=1 TB/s", "cluster.memory_bandwidth=3 TB/s"}},
    {.step = {"cluster.gemm_efficiency=50 %", "cluster.gemm_efficiency=80 %"}},
    {.step = {"cluster.gemm_overhead=20 us", "cluster.gemm_overhead=2 us"}},
    {.step = {"cluster.derate=1.5", "cluster.derate=1"}},
};

TEST(a_faster_gpu_is_never_slower)
{
    climb(gpus, TY_COUNT(gpus), has_an_order_and_a_quick_host, ROUNDING);
}

TEST(a_faster_host_is_never_slower)
{
    static const struct ladder ladders[] = {
        {.step = {"cluster.host_speed=0.5", "cluster.host_speed=1", "cluster.host_speed=2"}},
        {.step = {"framework.layer_floor=2 ms", "framework.layer_floor=0.5 ms",
                  "framework.layer_floor=0 s"}},
        {.step = {"framework.pass_overhead=2 ms", "framework.pass_overhead=1 us",
                  "framework.pass_overhead=0 s"}},
        {.step = {"framework.step_overhead=2 ms", "framework.step_overhead=1 us",
                  "framework.step_overhead=0 s"}},
    };
    climb(ladders, TY_COUNT(ladders), has_an_order, ROUNDING);
}

TEST(where_the_host_sets_the_pace_they_only_move_what_it_needs)
{
    climb(collectives, TY_COUNT(collectives), has_an_order, REDRAWN);
    climb(gpus, TY_COUNT(gpus), has_an_order, REDRAWN);
}

TY_SUITE("directions")
