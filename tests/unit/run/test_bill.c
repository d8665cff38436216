/* test_bill.c - the bill of a GPU: its names add up, its moment is the fullest, its remedies
 * hold. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/plan/search/remedy.h"

#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char small[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                            "model: {preset: llama-7b, sequence: 2048}\n"
                            "layout: {global_batch: 64, pipeline: 4}\n";

/* No GPU holds this. */
static const char large[] = "cluster: {preset: dgx-a100-80g, nodes: 4}\n"
                            "model: {preset: llama-65b, attention: unfused, norm: unfused}\n"
                            "layout: {global_batch: 256, tensor: 2, pipeline: 4, micro_batch: 2, "
                            "zero: 1}\n";

static double item_B(const struct ty_bill *bill, enum ty_bill_life life)
{
    double sum = 0;
    for (uint32_t i = 0; i < bill->n; i++) {
        sum += bill->item[i].life == life ? bill->item[i].bytes : 0;
    }
    return sum;
}

static double parts_B(const struct ty_bill *bill, bool transient)
{
    double sum = 0;
    for (uint32_t i = 0; i < bill->n_parts; i++) {
        sum += bill->part[i].transient == transient ? bill->part[i].bytes : 0;
    }
    return sum;
}

static double part_B(const struct ty_bill *bill, const char *what)
{
    for (uint32_t i = 0; i < bill->n_parts; i++) {
        if (strcmp(bill->part[i].what, what) == 0) {
            return bill->part[i].bytes;
        }
    }
    return 0;
}

static double bill_item(const struct ty_bill *bill, const char *what)
{
    for (uint32_t i = 0; i < bill->n; i++) {
        if (strcmp(bill->item[i].what, what) == 0) {
            return bill->item[i].bytes;
        }
    }
    return 0;
}

/* Two ways to the same sum: acquired and released bytes along the order of passes, and tensors
 * times how often they are held. Rounding only. */
TEST(tensors_add_up_to_what_the_passes_hold)
{
    static const char *const names[] = {
        "gpipe", "1f1b",    "interleaved", "bfs",       "zb-1p",   "zb-2p",     "zb-v",
        "v-min", "chimera", "dualpipe",    "dualpipev", "seq1f1b", "pipedream", "pipedream-2bw"};
    static const char *const modes[] = {"none", "selective", "ffn", "full"};
    static const char two[] = "cluster: {preset: dgx-a100-80g, nodes: 1}\n"
                              "model: {preset: llama-7b, sequence: 2048, dropout: 0.1}\n"
                              "layout: {global_batch: 16, pipeline: 4, tensor: 2}\n";
    static const char *const losses[] = {"framework.parallel_loss=true",
                                         "framework.parallel_loss=false"};
    static const char *const buffers[] = {"framework.buffered_logits=false",
                                          "framework.buffered_logits=true"};
    for (size_t n = 0; n < TY_COUNT(names); n++) {
        for (size_t r = 0; r < 4 * TY_COUNT(modes); r++) {
            char name[64], mode[64];
            (void)snprintf(name, sizeof(name), "schedule.name=%s", names[n]);
            (void)snprintf(mode, sizeof(mode), "layout.recompute=%s", modes[r / 4]);
            const bool looped =
                strcmp(names[n], "interleaved") == 0 || strcmp(names[n], "bfs") == 0;
            const bool sliced = strcmp(names[n], "seq1f1b") == 0;
            struct quick_run q =
                quick_run(two, NULL,
                          SETS(name, mode, "model.attention=unfused", losses[r % 2],
                               buffers[r / 2 % 2], "framework.recompute_head=true",
                               looped   ? "schedule.chunks=2"
                               : sliced ? "schedule.slices=2"
                                        : "run.seed=1"));
            const struct ty_program *p = &q.run->lowered.program;
            for (uint32_t s = 0; s < p->n_gangs; s++) {
                struct ty_gang_memory memory;
                struct ty_bill bill;
                ty_memory_profile(p, &p->gangs[s], &memory);
                ty_run_bill(q.run, s, &bill);
                const double fixed =
                    item_B(&bill, TY_BILL_FIXED) - bill_item(&bill, "fragmentation") -
                    bill_item(&bill, "CUDA context") - bill_item(&bill, "communicators");
                const double sum = fixed + parts_B(&bill, false) + parts_B(&bill, true);
                ck_assert_double_eq(item_B(&bill, TY_BILL_HELD), parts_B(&bill, false));
                ck_assert_double_eq_tol(item_B(&bill, TY_BILL_TRANSIENT), parts_B(&bill, true), 1);
                ck_assert_msg(sum / memory.peak_B > 1 - 1e-12 && sum / memory.peak_B < 1 + 1e-12,
                              "%s, %s, stage %u: %.17g, passes hold %.17g", names[n], modes[r / 4],
                              (unsigned)s, sum, memory.peak_B);
            }
            quick_run_free(&q);
        }
    }
}

/* ZB-1P, stage 3 of 4, while a forward runs: one micro-batch is before its input gradients and
 * holds all. Three are before their weight gradients and hold inputs of products and gradients of
 * what these give: qkv 3 h, proj h, gate and up 2 f, down h. */
TEST(a_split_backward_gives_back_what_its_second_half_does_not_need)
{
    struct quick_run q = quick_run(small, NULL, SETS("schedule.name=zb-1p"));
    const double tokens = 2048, h = 4096, f = 11008, vocabulary = 32000;
    struct ty_bill bill;
    ty_run_bill(q.run, 3, &bill);
    ck_assert_int_eq(bill.pass->phase, TY_PHASE_FORWARD);
    ck_assert_uint_eq(bill.held, 4);
    ck_assert_double_eq(part_B(&bill, "q, k, v"), 8 * tokens * 3 * 2 * h);
    ck_assert_double_eq(part_B(&bill, "MLP gate"), 8 * tokens * 2 * f);
    ck_assert_double_eq(part_B(&bill, "layer inputs"), 8 * tokens * 2 * h);
    ck_assert_double_eq(part_B(&bill, "MLP gated output"), 4 * 8 * tokens * 2 * f);
    ck_assert_double_eq(part_B(&bill, "inputs of q, k, v"), 4 * 8 * tokens * 2 * h);
    ck_assert_double_eq(part_B(&bill, "attention output"), 4 * 8 * tokens * 2 * h);
    ck_assert_double_eq(part_B(&bill, "gradients of results"),
                        3 * 8 * tokens * 2 * (5 * h + 2 * f));
    ck_assert_double_eq(part_B(&bill, "gradients of the head's results"),
                        3 * tokens * 2 * vocabulary);
    ck_assert_double_eq(part_B(&bill, "probabilities of the loss, 32 bit"),
                        tokens * 4 * vocabulary);
    quick_run_free(&q);
}

/* 1F1B, stage 0 of 4: four micro-batches of eight layers. */
TEST(a_tensor_is_held_in_every_layer_of_every_micro_batch)
{
    struct quick_run q = quick_run(small, NULL, SETS("layout.micro_batch=2"));
    struct ty_bill bill;
    ty_run_bill(q.run, 0, &bill);
    const double tokens = 2 * 2048;
    ck_assert_uint_eq(bill.held, 4);
    ck_assert_int_eq(bill.pass->phase, TY_PHASE_BACKWARD);
    ck_assert_uint_eq(bill.pass->mb, 0);
    ck_assert_int_eq(bill.kind, TY_PEAK_LAYER);
    ck_assert_double_eq(part_B(&bill, "q, k, v"), 4 * 8 * tokens * 3 * 2 * 4096);
    ck_assert_double_eq(part_B(&bill, "MLP gated output"), 4 * 8 * tokens * 2 * 11008);
    ck_assert_double_eq(part_B(&bill, "token numbers"), 4 * tokens * 8);
    ck_assert_double_eq(part_B(&bill, "gradients in the MLP"), tokens * 3 * 2 * 11008);
    ck_assert_double_eq(part_B(&bill, "logits"), 0);
    ty_run_bill(q.run, 3, &bill); /* 14 B a logit weigh more than the backward of a layer */
    ck_assert_int_eq(bill.kind, TY_PEAK_LOSS);
    ck_assert_double_eq(part_B(&bill, "logits"), tokens * 2 * 32000);
    quick_run_free(&q);
}

/* What is named is so many times what one of them has, and was made when the bill says: stage s of
 * 4 holds 4 - s micro-batches in 1F1B, and layers run backward from the last. */
TEST(the_bill_says_of_each_tensor_how_much_and_since_when)
{
    struct quick_run q = quick_run(small, NULL, SETS("layout.global_batch=256"));
    for (uint32_t s = 0; s < 4; s++) {
        struct ty_bill bill;
        ty_run_bill(q.run, s, &bill);
        const struct ty_pass *since = ty_run_held_since(q.run, s, &bill);
        ck_assert_uint_eq(bill.held, 4 - s);
        ck_assert_int_eq(since->phase, TY_PHASE_FORWARD);
        ck_assert_uint_eq(since->mb, bill.pass->mb);
        ck_assert(s == 3 || bill.layer_number == 8 * s + 7);
        for (uint32_t i = 0; i < bill.n_parts; i++) {
            ck_assert_double_eq(bill.part[i].bytes, bill.part[i].copies * bill.part[i].each_B);
            ck_assert_int_eq(bill.part[i].transient, bill.part[i].life != TY_LIFE_KEPT);
        }
    }
    quick_run_free(&q);
    q = quick_run(small, NULL, SETS("schedule.name=gpipe"));
    struct ty_bill bill;
    ty_run_bill(q.run, 0, &bill);
    ck_assert_uint_eq(bill.held, 16);
    ck_assert_uint_eq(ty_run_held_since(q.run, 0, &bill)->mb, 0);
    quick_run_free(&q);
}

/* With everything recomputed, on the last stage, the loss is over before layers come back. */
TEST(the_head_is_done_with_when_layers_are_recomputed)
{
    struct quick_run q =
        quick_run(small, NULL, SETS("layout.recompute=full", "model.attention=unfused"));
    struct ty_bill bill;
    ty_run_bill(q.run, 3, &bill);
    ck_assert_int_eq(bill.kind, TY_PEAK_LAYER);
    ck_assert_double_eq(part_B(&bill, "probabilities of the loss, 32 bit"), 0);
    ck_assert_double_eq(part_B(&bill, "attention probabilities"), 32.0 * 2048 * 2048 * 2);
    quick_run_free(&q);
}

TEST(communicators_are_those_of_groups_that_exist)
{
    static const struct {
        const char *set, *names;
        uint32_t n;
    } rows[] = {{"layout.pipeline=1", "data, world", 2},
                {"layout.pipeline=16", "pipeline, world", 2},
                {"layout.tensor=2", "tensor, data, pipeline, world", 4},
                {"model.tied=true", "data, pipeline, embedding, world", 4}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct quick_run q = quick_run(small, NULL, SETS(rows[i].set));
        struct ty_bill bill;
        ty_run_bill(q.run, 0, &bill);
        const struct ty_bill_item *last = &bill.item[bill.n - 1];
        ck_assert_str_eq(last->what, "communicators");
        ck_assert_str_eq(last->note, rows[i].names);
        ck_assert_double_eq(last->bytes, rows[i].n * 0.875 * 1073741824);
        quick_run_free(&q);
    }
    struct quick_run q = quick_run(small, NULL, SETS("cluster.reserve=4 GiB"));
    struct ty_bill bill;
    ty_run_bill(q.run, 0, &bill);
    ck_assert_double_eq(bill_item(&bill, "reserve"), 4 * 1073741824.0);
    ck_assert_double_eq(bill_item(&bill, "communicators"), 0);
    quick_run_free(&q);
}

/* A V brings the last stage back to the first rank. */
TEST(ends_on_one_rank_share_a_tied_matrix)
{
    struct ty_bill bill[2];
    double matrix = 0;
    for (int tied = 0; tied < 2; tied++) {
        const char *const key = tied != 0 ? "model.tied=true" : "model.tied=false";
        struct quick_run q = quick_run(small, NULL, SETS("schedule.name=zb-v", key));
        const struct ty_arch *arch = &q.config->arch;
        matrix = 2.0 * arch->vocabulary * arch->hidden;
        ty_run_bill(q.run, 0, &bill[tied]);
        ck_assert_str_eq(bill[tied].item[bill[tied].n - 1].note, "data, pipeline, world");
        quick_run_free(&q);
    }
    ck_assert_double_eq(bill_item(&bill[0], "weights") - bill_item(&bill[1], "weights"), matrix);
}

/* Left out, cluster.fragmentation is less beside the block that is lost: one of MLP gates on the
 * first stage, of 32 bits a logit on the last. */
TEST(a_block_that_is_lost_is_part_of_fragmentation)
{
    static const char *const shares[] = {"run.seed=1", "cluster.fragmentation=4%",
                                         "cluster.fragmentation=0"};
    const double share[] = {TY_SPLIT_FRAGMENTATION, 0.04, 0};
    for (size_t i = 0; i < TY_COUNT(shares); i++) {
        struct quick_run q = quick_run(small, NULL, SETS("framework.allocator=split", shares[i]));
        for (uint32_t s = 0; s < 4; s += 3) {
            struct ty_bill bill;
            ty_run_bill(q.run, s, &bill);
            const double lost = bill_item(&bill, "fragmentation");
            const double held = bill.total_B - lost - bill_item(&bill, "CUDA context") -
                                bill_item(&bill, "communicators");
            const double block = s == 0 ? 2048.0 * 2 * 3 * 4096 : 2048.0 * 4 * 32000;
            ck_assert_double_eq_tol(lost, i == 2 ? 0 : share[i] * held + block, 1);
            ck_assert_double_eq_tol(
                ty_run_capacity(q.run, q.run->lowered.program.gangs[s].rank_of[0]),
                (bill.capacity_B - (bill.total_B - lost - held) - (i == 2 ? 0 : block)) /
                    (1 + share[i]),
                1);
        }
        quick_run_free(&q);
    }
}

TEST(the_verdict_is_tight_below_its_margin)
{
    const double capacity = 1e9;
    const struct {
        double bytes;
        enum ty_verdict verdict;
    } rows[] = {{0, TY_VERDICT_FITS},
                {(1 - TY_FITS_TIGHT) * 1e9 - 1, TY_VERDICT_FITS},
                {(1 - TY_FITS_TIGHT) * 1e9 + 1, TY_VERDICT_TIGHT},
                {1e9, TY_VERDICT_TIGHT},
                {1e9 + 1, TY_VERDICT_SHORT}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const struct ty_bill bill = {.total_B = rows[i].bytes};
        ck_assert_int_eq(ty_memory_verdict(bill.total_B, capacity), rows[i].verdict);
    }
}

/* The step of a run is what a remedy promised; at least that, if it was not simulated. */
static void assert_promise(const struct ty_remedy *r, const struct quick_run *before,
                           const struct quick_run *after)
{
    const double more_s = after->figures.step_s - before->figures.step_s;
    if (r->simulated) {
        ck_assert_double_eq_tol(more_s, r->more_s, 1e-9);
        ck_assert_double_eq_tol(more_s / before->figures.step_s, r->slower, 1e-12);
    } else if (r->step_s < HUGE_VAL) {
        ck_assert_double_ge(after->figures.step_s, r->step_s);
    }
}

/* What a remedy promises comes true when it is typed: with --set, over the same file. */
static void assert_remedies_hold(const char *zero)
{
    struct quick_run q = quick_run(large, NULL, SETS(zero));
    struct ty_arena arena = {.head = NULL};
    struct ty_remedies list;
    ck_assert(!ty_run_fits(q.run));
    ck_assert_int_eq(ty_run_remedies(q.run, 1e3, &list, &arena, NULL), 0);
    ck_assert_uint_gt(list.n, 0);
    for (uint32_t i = 0; i < list.n; i++) {
        const struct ty_remedy *r = &list.item[i];
        const char *sets[TY_CHANGE_SETS + 2] = {zero};
        struct ty_bill bill;
        for (uint32_t k = 0; k < r->change.n; k++) {
            sets[k + 1] = r->change.set[k];
        }
        struct quick_run other = quick_run(large, NULL, sets);
        ty_run_fullest(other.run, &bill);
        ck_assert_msg(bill.total_B == r->peak_B, "%s: %.17g, promised %.17g", r->change.set[0],
                      bill.total_B, r->peak_B);
        ck_assert(ty_run_fits(other.run));
        ck_assert(i == 0 || r->order_s >= list.item[i - 1].order_s);
        assert_promise(r, &q, &other);
        quick_run_free(&other);
    }
    ty_arena_release(&arena);
    quick_run_free(&q);
}

/* A remedy with such a text; NULL: none. */
static const struct ty_remedy *with_set(const struct ty_remedies *list, const char *set)
{
    for (uint32_t i = 0; i < list->n; i++) {
        for (uint32_t k = 0; k < list->item[i].change.n; k++) {
            if (strcmp(list->item[i].change.set[k], set) == 0) {
                return &list->item[i];
            }
        }
    }
    return NULL;
}

/* GPipe holds all micro-batches: some GB too many. Parts of the optimizer that make room for them:
 * no more of it leaves than has to, and that is cheaper than all of it. */
TEST(no_more_is_offloaded_than_has_to_be)
{
    static const char job[] =
        "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
        "model: {preset: llama-13b, sequence: 2048, attention: flash2}\n"
        "layout: {tensor: 1, pipeline: 4, micro_batch: 1, global_batch: 64, zero: 0}\n"
        "schedule: {name: gpipe}\n";
    struct quick_run q = quick_run(job, NULL, NULL);
    struct ty_arena arena = {.head = NULL};
    struct ty_remedies list;
    uint32_t whole = 0;
    ck_assert_int_eq(ty_run_remedies(q.run, 1e3, &list, &arena, NULL), 0);
    const struct ty_remedy *some = with_set(&list, "layout.offload_share=20 %");
    ck_assert_ptr_nonnull(some);
    for (uint32_t i = 0; i < list.n; i++) {
        const struct ty_change *c = &list.item[i].change;
        if (c->n == 2 && strcmp(c->set[1], "layout.offload=zero-offload") == 0) {
            ck_assert_double_gt(list.item[i].slower, some->slower);
            ck_assert_double_lt(list.item[i].peak_B, some->peak_B);
            whole++;
        }
    }
    ck_assert_uint_eq(whole, 1);
    ck_assert_ptr_nonnull(with_set(&list, "layout.offload=gemini"));
    ck_assert_ptr_nonnull(with_set(&list, "layout.offload=zero-infinity"));
    ty_arena_release(&arena);
    quick_run_free(&q);
}

/* 101B on a DGX-2: too much for the memory of the node, not for its drives, nor for all of its
 * memories together. */
TEST(a_node_that_is_too_small_has_remedies)
{
    static const char job[] =
        "cluster: {preset: dgx2-v100, nodes: 1}\n"
        "model: {layers: 125, hidden: 8192, heads: 64, vocabulary: 50304, sequence: 1024,\n"
        "        dtype: fp16}\n"
        "layout: {offload: zero3-offload, global_batch: 16, recompute: full}\n"
        "framework: {preset: megatron-deepspeed}\n";
    static const char *const offered[] = {"layout.offload=gemini", "layout.offload=zero-infinity"};
    struct quick_run q = quick_run(job, NULL, NULL);
    struct ty_arena arena = {.head = NULL};
    struct ty_remedies list;
    ck_assert(!ty_run_fits(q.run));
    ck_assert_int_eq(ty_run_remedies(q.run, 1e3, &list, &arena, NULL), 0);
    for (size_t i = 0; i < TY_COUNT(offered); i++) {
        const struct ty_remedy *r = with_set(&list, offered[i]);
        ck_assert_ptr_nonnull(r);
        const char *sets[TY_CHANGE_SETS + 1] = {NULL};
        for (uint32_t k = 0; k < r->change.n; k++) {
            sets[k] = r->change.set[k];
        }
        struct quick_run other = quick_run(job, NULL, sets);
        ck_assert(ty_run_fits(other.run));
        assert_promise(r, &q, &other);
        quick_run_free(&other);
    }
    ty_arena_release(&arena);
    quick_run_free(&q);
}

/* Chunks are given for a schedule that needs them: 1F1B has one. */
static const char in_pieces[] = "cluster: {preset: dgx-a100-80g, nodes: 4}\n"
                                "model: {preset: llama-13b, sequence: 2048}\n"
                                "layout: {global_batch: 64, pipeline: 4}\n"
                                "schedule: {name: bfs, chunks: 2}\n";

TEST(a_remedy_of_another_schedule_says_all_of_it)
{
    struct quick_run q = quick_run(in_pieces, NULL, SETS("run.steps=1"));
    struct ty_arena arena = {.head = NULL};
    struct ty_remedies list;
    uint32_t found = 0;
    ck_assert_int_eq(ty_run_remedies(q.run, 1e3, &list, &arena, NULL), 0);
    for (uint32_t i = 0; i < list.n; i++) {
        const struct ty_remedy *r = &list.item[i];
        if (strcmp(r->change.set[0], "schedule.name=1f1b") != 0 || r->change.n != 2) {
            continue;
        }
        struct ty_bill bill;
        struct quick_run other =
            quick_run(in_pieces, NULL, SETS(r->change.set[0], r->change.set[1]));
        ty_run_fullest(other.run, &bill);
        ck_assert_str_eq(r->change.set[1], "schedule.chunks=auto");
        ck_assert_double_eq(bill.total_B, r->peak_B);
        assert_promise(r, &q, &other);
        quick_run_free(&other);
        found++;
    }
    ck_assert_uint_eq(found, 1);
    ty_arena_release(&arena);
    quick_run_free(&q);
}

TEST(a_remedy_typed_gives_the_peak_it_promised)
{
    assert_remedies_hold("layout.zero=0"); /* another stage has another default framework */
    assert_remedies_hold("layout.zero=1");
}

static const char wide[] = "cluster: {preset: dgx-a100-80g, nodes: 32, memory: 24 GiB}\n"
                           "model: {preset: llama-65b, sequence: 2048}\n"
                           "layout: {global_batch: 2048, tensor: 2, pipeline: 8, zero: 1}\n";

static uint32_t simulated(const struct ty_remedies *list)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        n += list->item[i].simulated;
    }
    return n;
}

TEST(the_budget_says_how_many_are_simulated)
{
    struct quick_run q = quick_run(wide, NULL, NULL);
    struct ty_arena arena = {.head = NULL};
    struct ty_remedies none, some, all;
    ck_assert_int_eq(ty_run_remedies(q.run, 0, &none, &arena, NULL), 0);
    ck_assert_int_eq(ty_run_remedies(q.run, 0.01, &some, &arena, NULL), 0);
    ck_assert_int_eq(ty_run_remedies(q.run, 1e3, &all, &arena, NULL), 0);
    ck_assert_uint_eq(simulated(&none), 0);
    ck_assert(none.untried > 0 && some.untried > 0);
    ck_assert_uint_lt(simulated(&some), simulated(&all));
    ck_assert_uint_ge(simulated(&all), 5);
    ck_assert_uint_eq(all.untried, 0);
    ck_assert(all.pairs);
    ck_assert_str_eq(all.item[0].change.set[0], "layout.sequence_parallel=true");
    ck_assert_str_eq(all.item[0].change.set[1], "layout.tensor=8");
    q.run->executed = false; /* as `check` has it */
    ck_assert_int_eq(ty_run_remedies(q.run, 1e3, &some, &arena, NULL), 0);
    ck_assert_uint_eq(simulated(&some), 0);
    ck_assert_uint_eq(some.n, none.n);
    q.run->executed = true;
    ty_arena_release(&arena);
    quick_run_free(&q);
}

/* 3.6 GiB short; what its experts give before their last product is 4 GiB. */
static const char sparse[] = "cluster: {preset: dgx-h100, nodes: 1, memory: 66 GiB}\n"
                             "model: {preset: olmoe-1b-7b, sequence: 4096}\n"
                             "layout: {global_batch: 64, micro_batch: 4, expert: 8}\n"
                             "run: {routing: \"dirichlet:0.5\"}\n";

TEST(experts_run_again_where_that_is_enough)
{
    struct quick_run q = quick_run(sparse, NULL, NULL);
    struct ty_arena arena = {.head = NULL};
    struct ty_remedies list;
    bool found = false;
    ck_assert(!ty_run_fits(q.run));
    ck_assert_int_eq(ty_run_remedies(q.run, 1e3, &list, &arena, NULL), 0);
    for (uint32_t i = 0; i < list.n; i++) {
        found |= strcmp(list.item[i].change.set[0], "layout.recompute=moe_act") == 0;
    }
    ck_assert(found);
    ty_arena_release(&arena);
    quick_run_free(&q);
}

TY_SUITE("bill")
