/* test_hybrid_sharding.c - shards inside a group of replicas, reductions between the groups. */
#include "tests/unit/replicas.h"

/* ---- hybrid sharding ---- */

static struct ty_traffic traffic_of(const struct quick_run *q, const char *group)
{
    for (uint32_t i = 0; i < q->figures.n_traffic; i++) {
        if (strcmp(q->figures.traffic[i].group, group) == 0) {
            return q->figures.traffic[i];
        }
    }
    return (struct ty_traffic){.group = NULL};
}

/* Groups of n = 8 of 16 ranks: 3 X (n - 1) / n of every rank stay in its node, and of X / n, the
 * part of the gradients it holds, an all-reduce between R = 2 replicas sends 2 (R - 1) / R. With
 * ZeRO-1 and -2 the same with 2 X. */
TEST(hybrid_sharding_sends_a_share_of_the_gradients_between_nodes)
{
    static const char *const zero[] = {"layout.zero=1", "layout.zero=2", "layout.zero=3"};
    for (int i = 0; i < 3; i++) {
        struct quick_run q = run(SETS(zero[i], "layout.shard=8"));
        const double kept = i == 2 ? head_bytes(&q) : 0;
        const double inside = 16 * 7.0 / 8 * ((i == 2 ? 3 : 2) * X(&q) - kept);
        const double between = 16 * 2 * (1.0 / 2) * X(&q) / 8;
        const struct ty_traffic shard = traffic_of(&q, "shard"), pair = traffic_of(&q, "replica");
        ck_assert_double_eq_tol(shard.nvlink_B, inside, 1e-9 * inside);
        ck_assert_double_eq(shard.net_B, 0);
        ck_assert_double_eq_tol(pair.net_B, between, 1e-9 * between);
        ck_assert_double_eq(pair.nvlink_B, 0);
        quick_run_free(&q);
    }
}

/* States are divided by the shard group; a group that is everybody is plain sharding. */
TEST(shard_groups_decide_the_memory)
{
    struct quick_run eight = run(SETS("layout.zero=3", "layout.shard=8"));
    struct quick_run whole = run(SETS("layout.zero=3", "layout.shard=16"));
    struct quick_run plain = run(SETS("layout.zero=3"));
    const struct ty_state_bytes *s = &eight.run->lowered.stage[0].states;
    ck_assert_double_eq(s->weights + s->grads + s->optimizer, 8 * X(&eight) / 8);
    ck_assert_double_eq(whole.figures.step_s, plain.figures.step_s);
    ck_assert_double_eq(quick_run_traffic(&whole, "dp"), quick_run_traffic(&plain, "dp"));
    quick_run_free(&eight);
    quick_run_free(&whole);
    quick_run_free(&plain);
}

/* On a slow network groups inside nodes win; what replicas say to each other runs beside the
 * reductions of later units, on a stream of its own. */
TEST(hybrid_sharding_hides_the_network)
{
    const char *const slow = "cluster.nic_bandwidth=20 Gb/s";
    struct quick_run plain = run(SETS("layout.zero=3", slow));
    struct quick_run q = run(SETS("layout.zero=3", slow, "layout.shard=8"));
    ck_assert_double_lt(q.figures.step_s, plain.figures.step_s);
    const uint32_t n = spans_of(&q, NULL, TY_PHASE_BACKWARD, span);
    uint32_t beside = 0, replicated = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (span[i].op->stream != TY_STREAM_REPLICA) {
            continue;
        }
        replicated++;
        for (uint32_t k = i + 1; k < n; k++) {
            if (strcmp(span[k].kind->name, "reduce-scatter") == 0) {
                beside += span[k].start < end_of(&span[i]) && end_of(&span[k]) > span[i].start;
                break;
            }
        }
    }
    ck_assert_uint_eq(replicated, q.config->arch.layers + 2);
    ck_assert_uint_gt(beside, 0);
    quick_run_free(&plain);
    quick_run_free(&q);
}

/* Shard groups are neighbours along the data axis, wherever that lies in the grid: of 16 ranks with
 * tensor 2, groups of 4 span 8 GPUs, or 4, or every fourth of 16. */
TEST(shard_groups_are_neighbours_along_the_data_axis)
{
    static const struct {
        const char *order;
        bool inside; /* the shard group in a node */
        bool pair;   /* its replicas too */
    } rows[] = {
        {"layout.order=[tensor, context, data, pipeline]", true, false},
        {"layout.order=[data, context, tensor, pipeline]", true, true},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct quick_run q =
            run(SETS("layout.zero=3", "layout.tensor=2", "layout.shard=4", rows[i].order));
        ck_assert_int_eq(traffic_of(&q, "shard").net_B == 0, rows[i].inside);
        ck_assert_int_eq(traffic_of(&q, "replica").net_B == 0, rows[i].pair);
        ck_assert_double_gt(quick_run_traffic(&q, "replica"), 0);
        quick_run_free(&q);
    }
}

/* The optimizer waits for the replicas, with and without a gradient norm. */
TEST(the_optimizer_waits_for_all_replicas)
{
    static const char *const barrier[] = {"schedule.barrier=true", "schedule.barrier=false"};
    for (int i = 0; i < 2; i++) {
        struct quick_run q = run(
            SETS("layout.zero=3", "layout.shard=8", barrier[i], "cluster.nic_bandwidth=1 Gb/s"));
        ty_ps replicated = 0;
        const uint32_t n = spans_of(&q, NULL, TY_N_PHASES, span);
        for (uint32_t k = 0; k < n; k++) {
            if (span[k].op->stream == TY_STREAM_REPLICA) {
                replicated = end_of(&span[k]);
            }
            if (span[k].kind->category == TY_CAT_OPTIMIZER) {
                ck_assert_uint_ge(span[k].start, replicated);
            }
        }
        ck_assert_uint_gt(replicated, 0);
        quick_run_free(&q);
    }
}

TY_SUITE("hybrid sharding")
