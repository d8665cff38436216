/* A forward and a backward over each other: what is hidden, what stays the same, what is refused.
 * Dense layers of tensor parallelism have all that is needed. */
#include <math.h>
#include <stdio.h>

#include "sim/core/program/issue.h"

#include "tests/common/quick_run.h"

#include "tests/unit/model_case.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define APART     "framework.expert_overlap=false"
#define WOVEN     "framework.expert_overlap=true"

/* A 7B model on 8 H100 that nothing slows down. */
static struct quick_run run(const char *layout, const char *schedule, const char *engine,
                            const char *const *sets)
{
    char yaml[768];
    (void)snprintf(yaml, sizeof(yaml),
                   "cluster: {preset: dgx-h100, nodes: 1, nvlink_overlap_slowdown: 0}\n"
                   "model: {preset: llama-7b, sequence: 2048, layers: 16}\n"
                   "layout: {%s}\n"
                   "schedule: {%s}\n"
                   "framework: {preset: ideal}\n",
                   layout, schedule);
    return quick_run(yaml, engine, sets);
}

/* Layouts and schedules that have pairs; with and without sequence parallelism, units of several
 * kinds, uneven stages, splits, slices of memory. */
static const struct {
    const char *layout, *schedule;
} rows[] = {
    {"tensor: 8, global_batch: 6", "name: 1f1b"},
    {"tensor: 2, pipeline: 4, global_batch: 16, sequence_parallel: true", "name: dualpipev"},
    {"tensor: 2, pipeline: 4, global_batch: 16", "name: dualpipe"},
    {"tensor: 2, pipeline: 4, global_batch: 8, sequence_parallel: true",
     "name: interleaved, chunks: 2"},
    {"tensor: 2, pipeline: 4, global_batch: 13", "name: eager-1f1b"},
    {"tensor: 2, pipeline: 2, global_batch: 16, zero: 3, recompute: selective",
     "name: interleaved, chunks: 4"},
    {"tensor: 4, global_batch: 16, zero: 2, sequence_parallel: true", "name: 1f1b"},
    {"tensor: 2, context: 2, pipeline: 2, global_batch: 16, stage_layers: [3, 5, 5, 3]",
     "name: interleaved, chunks: 2"},
};

static double busy(const struct quick_run *q, uint32_t stream)
{
    double sum = 0;
    for (uint32_t r = 0; r < q->run->stats.n_ranks; r++) {
        sum += ty_s_from_ps(q->run->stats.rank[r].stream_busy[stream]);
    }
    return sum;
}

static void same_work(size_t i)
{
    struct quick_run apart =
        run(rows[i].layout, rows[i].schedule, NULL, SETS(APART, "run.contention=false"));
    struct quick_run woven =
        run(rows[i].layout, rows[i].schedule, NULL, SETS(WOVEN, "run.contention=false"));
    static const uint32_t streams[] = {TY_STREAM_COMPUTE, TY_STREAM_TENSOR, TY_STREAM_CONTEXT,
                                       TY_STREAM_SEND, TY_STREAM_DATA};
    /* which parameters are still there when a pass begins depends on the order */
    const size_t n = TY_COUNT(streams) - (strstr(rows[i].layout, "zero: 3") != NULL);
    for (size_t k = 0; k < n; k++) {
        const double a = busy(&apart, streams[k]), b = busy(&woven, streams[k]);
        ck_assert_msg(fabs(b - a) <= 1e-9 * a, "%s, %s: stream %u, %.9f s and %.9f s",
                      rows[i].layout, rows[i].schedule, (unsigned)streams[k], a, b);
    }
    ck_assert_double_lt(woven.figures.step_s, apart.figures.step_s);
    ck_assert_double_lt(woven.run->stats.bucket_s[TY_BUCKET_EXPOSED_TENSOR],
                        0.8 * apart.run->stats.bucket_s[TY_BUCKET_EXPOSED_TENSOR]);
    quick_run_free(&apart);
    quick_run_free(&woven);
}

TEST(work_is_the_same_and_waiting_is_less)
{
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        same_work(i);
    }
}

static void agree(size_t i)
{
    struct quick_run a = run(rows[i].layout, rows[i].schedule, "sweep",
                             SETS(WOVEN, "cluster.nvlink_overlap_slowdown=20 %"));
    struct quick_run b =
        run(rows[i].layout, rows[i].schedule, "events",
            SETS(WOVEN, "cluster.nvlink_overlap_slowdown=20 %", "run.contention=false"));
    ck_assert_double_eq(a.figures.step_s, b.figures.step_s);
    quick_run_free(&a);
    quick_run_free(&b);
}

TEST(both_executors_agree)
{
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        agree(i);
    }
}

/* A piece waits for what was before the pair, and for pieces of its own pass; for gathers and
 * reductions of either. */
static void wait_apart(size_t i)
{
    struct quick_run q = run(rows[i].layout, rows[i].schedule, NULL, SETS(WOVEN));
    const struct ty_program *p = &q.run->lowered.program;
    const struct ty_pass *recorder[TY_EVENTS] = {NULL}, *pair = p->passes;
    bool data[TY_EVENTS] = {false};
    uint32_t waits = 0;
    for (uint32_t n = 0; n < p->n_passes; n++) {
        const struct ty_pass *pass = &p->passes[n];
        const struct ty_op *ops = ty_pass_ops(p, pass);
        pair = pass->resumed || (n > 0 && pass[-1].interrupted) ? pair : pass;
        for (uint32_t k = 0; k < p->blocks[pass->block].n_ops; k++) {
            for (uint32_t w = 0; w < TY_WAITS && pass->resumed; w++) {
                const uint8_t event = ops[k].wait[w];
                if (event != TY_NO_EVENT && !data[event] && recorder[event] >= pair) {
                    ck_assert_msg(recorder[event]->mb == pass->mb &&
                                      recorder[event]->phase == pass->phase,
                                  "%s, %s: piece %u waits for event %u of the other half",
                                  rows[i].layout, rows[i].schedule, (unsigned)n, (unsigned)event);
                    waits++;
                }
            }
            if (ops[k].record != TY_NO_EVENT) {
                recorder[ops[k].record] = pass;
                data[ops[k].record] = ops[k].stream == TY_STREAM_DATA;
            }
        }
    }
    ck_assert_uint_gt(waits, 0);
    quick_run_free(&q);
}

TEST(halves_wait_for_their_own)
{
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        wait_apart(i);
    }
}

/* DeepSeek's order of a pair of layers, with the collectives of sequence parallelism for those of
 * experts: the backward's pieces and the forward's take turns, whatever each holds. */
TEST(pieces_take_turns_and_are_whole)
{
    struct quick_run q = run(rows[1].layout, rows[1].schedule, NULL, SETS(WOVEN));
    const struct ty_program *p = &q.run->lowered.program;
    uint32_t turns = 0, begun[2] = {0}, ended[2] = {0};
    for (uint32_t i = 0; i + 1 < p->n_passes; i++) {
        const struct ty_pass *a = &p->passes[i], *b = a + 1;
        const bool back = a->phase == TY_PHASE_BACKWARD;
        begun[back] += a->interrupted && !a->resumed;
        ended[back] += a->resumed && !a->interrupted;
        if (a->interrupted && b->resumed) {
            ck_assert(a->phase != b->phase && a->mb != b->mb);
            turns++;
        }
        ck_assert(!(a->interrupted || a->resumed) || back || a->phase == TY_PHASE_FORWARD);
    }
    for (int half = 0; half < 2; half++) {
        ck_assert_uint_gt(begun[half], 0);
        ck_assert_uint_eq(begun[half], ended[half]);
    }
    ck_assert_uint_gt(turns, 4 * begun[0]);
    quick_run_free(&q);
}

/* Layers of experts, as DeepSeek-V3 has them. */
static const char experts[] =
    "cluster: {preset: dgx-h100, nodes: 4}\n"
    "model: {layers: 8, hidden: 2048, heads: 16, ffn: 8192, vocabulary: 32768, sequence: 4096,\n"
    "  experts: 64, experts_per_token: 6, expert_ffn: 1408, shared_ffn: 2816, dense_layers: 1}\n"
    "layout: {pipeline: 2, expert: 16, zero: 1, global_batch: 192}\n"
    "schedule: {name: dualpipev}\n"
    "framework: {preset: ideal}\n";

static bool is_exchange(const struct ty_kind *kind)
{
    return strncmp(kind->name, "combine", 7) == 0 || strncmp(kind->name, "dispatch", 8) == 0;
}

/* The exchanges of woven passes of a gang in the order of issue: C and D of forwards, c and d of
 * backwards. What is computed behind each does not wait for it. */
static void exchanges(const struct ty_program *p, const struct ty_gang *gang, char *out,
                      size_t size)
{
    struct ty_issue last = {.op = NULL};
    size_t n = 0;
    for (struct ty_issue at = ty_issue_of(p, gang); ty_issue_next(&at);) {
        const struct ty_kind *kind = &p->kinds[at.op->kind];
        if (!at.pass->resumed && !at.pass->interrupted) {
            last.op = NULL;
        } else if (is_exchange(kind)) {
            const bool back = at.pass->phase == TY_PHASE_BACKWARD;
            last = at;
            ck_assert_uint_lt(n + 1, size);
            out[n++] = (char)((back ? 'a' : 'A') + kind->name[0] - 'a');
        } else if (last.op != NULL && at.op->stream == TY_STREAM_COMPUTE) {
            ck_assert(kind->category == TY_CAT_WGRAD || at.pass->phase != last.pass->phase);
            last.op = NULL;
        }
    }
    out[n] = '\0';
}

/* combine(B), dispatch(F), dispatch(B), combine(F), as DeepSeek published. */
TEST(exchanges_are_issued_before_what_hides_them)
{
    static const char *const dispatchers[] = {"framework.dispatcher=alltoall",
                                              "framework.dispatcher=deepep"};
    for (size_t d = 0; d < TY_COUNT(dispatchers); d++) {
        char order[1024];
        struct quick_run q =
            quick_run(experts, NULL, SETS(WOVEN, dispatchers[d], "model.dense_layers=0"));
        const struct ty_program *p = &q.run->lowered.program;
        exchanges(p, &p->gangs[0], order, sizeof(order));
        ck_assert_uint_gt(strlen(order), 4 * 8);
        for (size_t i = 0; order[i] != '\0'; i++) {
            ck_assert_msg(order[i] == "cDdC"[i % 4], "%s", order);
        }
        quick_run_free(&q);
    }
}

TEST(exchanges_of_experts_are_hidden)
{
    static const char alike[] = "cluster.exchange_overlap_slowdown=0";
    struct quick_run apart = quick_run(experts, NULL, SETS(APART, alike));
    struct quick_run woven = quick_run(experts, NULL, SETS(WOVEN, alike));
    ck_assert_double_lt(woven.figures.step_s, apart.figures.step_s);
    ck_assert_double_lt(woven.run->stats.bucket_s[TY_BUCKET_EXPOSED_EXPERT],
                        0.6 * apart.run->stats.bucket_s[TY_BUCKET_EXPOSED_EXPERT]);
    ck_assert_double_ge(busy(&woven, TY_STREAM_COMPUTE), busy(&apart, TY_STREAM_COMPUTE));
    quick_run_free(&apart);
    quick_run_free(&woven);
}

/* Busy time of a stream of the first member of a gang from `from` to `to`, ps. */
static ty_ps busy_within(const struct quick_run *q, uint8_t stream, ty_ps from, ty_ps to)
{
    const struct ty_program *p = &q->run->lowered.program;
    ty_ps sum = 0;
    for (struct ty_issue at = ty_issue_of(p, &p->gangs[0]); ty_issue_next(&at);) {
        const ty_ps start = ty_timeline_starts(&q->run->timeline, at.gang, at.ordinal)[0];
        const ty_ps end = start + ty_timeline_dur(&q->run->timeline, at.gang, at.op, at.ordinal, 0);
        if (at.op->stream == stream && start < to && end > from) {
            sum += (end < to ? end : to) - (start > from ? start : from);
        }
    }
    return sum;
}

/* deepseek-ai/profile-data, train.json: four layers of a pair in 129.0 ms, and 80.5 ms of exchanges
 * without their waiting; DeepSeek-V3 on H800, EP64, 4096 tokens. */
TEST(a_pair_of_deepseek_v3_lasts_as_long_as_in_its_trace)
{
    struct quick_run q =
        quick_run("cluster: {preset: dgx-h800, nodes: 16}\n"
                  "model: {preset: deepseek-v3, layers: 8, dense_layers: 0, dtype: fp8}\n"
                  "layout: {pipeline: 2, expert: 64, zero: 1, global_batch: 1024,\n"
                  "  recompute: [norm, mla_up, moe_act]}\n"
                  "schedule: {name: dualpipe}\n"
                  "framework: {dispatcher: deepep, dispatch_dtype: fp8, expert_overlap: true}\n",
                  NULL, NULL);
    const struct ty_program *p = &q.run->lowered.program;
    ty_ps last[2] = {0}, period = 0, exchange = 0;
    uint32_t n = 0;
    for (struct ty_issue at = ty_issue_of(p, &p->gangs[0]); ty_issue_next(&at);) {
        if (at.pass->resumed && at.pass->phase == TY_PHASE_FORWARD && at.op->layer != 0 &&
            strcmp(p->kinds[at.op->kind].name, "dispatch") == 0) {
            last[0] = last[1];
            last[1] = ty_timeline_starts(&q.run->timeline, at.gang, at.ordinal)[0];
            if (at.op->layer == 2) { /* from that of layer 1: within one slot */
                period += last[1] - last[0];
                exchange += busy_within(&q, TY_STREAM_EXPERT, last[0], last[1]);
                n++;
            }
        }
    }
    ck_assert_uint_gt(n, 0);
    ck_assert_double_eq_tol(4e3 * ty_s_from_ps(period) / n, 129.0, 0.1 * 129.0);
    ck_assert_double_eq_tol(4e3 * ty_s_from_ps(exchange) / n, 80.5, 0.1 * 80.5);
    quick_run_free(&q);
}

TEST(one_more_is_in_flight)
{
    struct quick_run apart = run("tensor: 8, global_batch: 6", "name: 1f1b", NULL, SETS(APART));
    struct quick_run woven = run("tensor: 8, global_batch: 6", "name: 1f1b", NULL, SETS(WOVEN));
    ck_assert_uint_eq(apart.run->stats.memory[0].peak_held, 1);
    ck_assert_uint_eq(woven.run->stats.memory[0].peak_held, 2);
    ck_assert_double_gt(woven.run->stats.memory[0].peak_B, apart.run->stats.memory[0].peak_B);
    quick_run_free(&apart);
    quick_run_free(&woven);
}

/* Computation loses speed to the other half's collectives, as much as runs beside it. */
TEST(what_runs_beside_is_slowed)
{
    static const char slow[] = "cluster.nvlink_overlap_slowdown=20 %";
    struct quick_run apart = run(rows[1].layout, rows[1].schedule, NULL, SETS(APART, slow));
    struct quick_run woven = run(rows[1].layout, rows[1].schedule, NULL, SETS(WOVEN, slow));
    struct quick_run even = run(rows[1].layout, rows[1].schedule, NULL, SETS(WOVEN));
    const double more = busy(&woven, TY_STREAM_COMPUTE) - busy(&even, TY_STREAM_COMPUTE);
    ck_assert_double_gt(busy(&woven, TY_STREAM_COMPUTE), busy(&apart, TY_STREAM_COMPUTE));
    ck_assert_double_le(more, 0.25 * busy(&even, TY_STREAM_TENSOR));
    quick_run_free(&apart);
    quick_run_free(&woven);
    quick_run_free(&even);
}

TY_SUITE("pairs")
