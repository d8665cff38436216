/* test_packing.c - documents in sequences: what packing keeps, what it spreads, and what a run
 * makes of the micro-batches. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/packing.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

#define SEQUENCE 4096u

static const struct ty_packing_order order = {
    .seed = 7, .steps = 3, .batch = 64, .sequence = SEQUENCE, .window = 512};

static struct ty_packing packed(const char *text, int method, struct ty_arena *arena)
{
    const struct ty_place at = {.file = "run.yaml", .line = 1, .col = 1};
    struct ty_packing_order o = order;
    struct ty_lengths lengths;
    struct ty_packing out;
    struct ty_err err;
    ty_err_init(&err);
    o.method = method;
    ck_assert_int_eq(ty_lengths_read(&lengths, text, SEQUENCE, &at, &err), 0);
    ck_assert_int_eq(ty_packing_make(&out, &lengths, &o, arena, &err), 0);
    return out;
}

TEST(equal_documents_fill_sequences_as_far_as_they_go)
{
    struct ty_arena arena = {.head = NULL};
    for (int method = TY_PACKING_FIRST_FIT; method <= TY_PACKING_BALANCED; method++) {
        const struct ty_packing p = packed("fixed:1000", method, &arena);
        ck_assert_uint_eq(p.n, order.steps * order.batch);
        for (uint32_t i = 0; i < p.n; i++) {
            ck_assert_double_eq(p.sequence[i].documents, 4);
            ck_assert_double_eq(p.sequence[i].tokens, 4000);
            ck_assert_double_eq(p.sequence[i].pairs[0], 4 * 1000.0 * 1000.0 / 2);
            ck_assert_double_eq(p.sequence[i].pairs[1], 4 * (512 * 1000.0 - 512 * 512 / 2.0));
        }
    }
    ty_arena_release(&arena);
}

TEST(a_length_above_the_sequence_is_refused_at_its_line)
{
    struct temp_dir dir;
    struct ty_lengths lengths = {.method = TY_LENGTHS_FILE};
    struct ty_arena arena = {.head = NULL};
    struct ty_err err;
    ty_err_init(&err);
    temp_dir_make(&dir);
    FILE *file = fopen(temp_dir_file(&dir, "lengths.txt"), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs("100\n4096\n4097\n", file), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(ty_lengths_load(&lengths, dir.file, SEQUENCE, &arena, &err), TY_EINPUT);
    ck_assert_ptr_nonnull(strstr(
        err.text, "lengths.txt:3:1: longer than model.sequence (4097 tokens, of 4096); cut the"));
    temp_dir_remove(&dir);
    ty_arena_release(&arena);
}

TEST(no_sequence_is_too_full_and_few_tokens_are_left_empty)
{
    struct ty_arena arena = {.head = NULL};
    for (int method = TY_PACKING_FIRST_FIT; method <= TY_PACKING_BALANCED; method++) {
        const struct ty_packing p = packed("lognormal:700:1.5", method, &arena);
        for (uint32_t i = 0; i < p.n; i++) {
            ck_assert_double_le(p.sequence[i].tokens, SEQUENCE);
            ck_assert_double_ge(p.sequence[i].documents, 1);
        }
        ck_assert_double_gt(p.all->tokens, 0.95 * SEQUENCE * p.n);
    }
    ty_arena_release(&arena);
}

/* Pairs of the data ranks in all steps: the most over the mean. */
static double spread(const struct ty_packing *p, const struct ty_layout *layout)
{
    double most = 0;
    for (uint32_t d = 0; d < layout->data; d++) {
        double sum = 0;
        for (uint32_t i = 0; i < order.steps * layout->micro_batches; i++) {
            sum += ty_packing_micro_batch(p, layout, i / layout->micro_batches,
                                          i % layout->micro_batches, d)
                       .pairs[0];
        }
        most = fmax(most, sum * layout->data / p->all->pairs[0]);
    }
    return most;
}

TEST(balanced_packing_has_the_same_documents_and_gives_ranks_equal_work)
{
    static const struct ty_layout layout = {.data = 8, .micro_batch = 2, .micro_batches = 4};
    struct ty_arena arena = {.head = NULL};
    const struct ty_packing a = packed("lognormal:700:1.5", TY_PACKING_FIRST_FIT, &arena);
    const struct ty_packing b = packed("lognormal:700:1.5", TY_PACKING_BALANCED, &arena);
    ck_assert_double_eq_tol(b.all->documents, a.all->documents, 0.02 * a.all->documents);
    ck_assert_double_eq_tol(b.all->pairs[0], a.all->pairs[0], 0.01 * a.all->pairs[0]);
    ck_assert_double_gt(spread(&a, &layout), 1.05);
    ck_assert_double_lt(spread(&b, &layout), 1.03);
    ck_assert_double_lt(ty_packing_slowest(&b, &layout, order.steps),
                        0.95 * ty_packing_slowest(&a, &layout, order.steps));
    ty_arena_release(&arena);
}

/* Each sequence belongs to one data rank and micro-batch. */
TEST(every_sequence_is_dealt_once)
{
    static const struct ty_layout layout = {.data = 4, .micro_batch = 2, .micro_batches = 8};
    struct ty_arena arena = {.head = NULL};
    for (int method = TY_PACKING_FIRST_FIT; method <= TY_PACKING_BALANCED; method++) {
        const struct ty_packing p = packed("uniform:1:2000", method, &arena);
        double documents = 0, pairs = 0;
        for (uint32_t i = 0; i < order.steps * 8 * 4; i++) {
            const struct ty_pack x = ty_packing_micro_batch(&p, &layout, i / 32, i % 8, i / 8 % 4);
            ck_assert_double_eq(x.sequences, 2);
            documents += x.documents;
            pairs += x.pairs[0];
        }
        ck_assert_double_eq(documents, p.all->documents);
        ck_assert_double_eq_tol(pairs, p.all->pairs[0], 1e-9 * pairs);
    }
    ty_arena_release(&arena);
}

/* A kernel for equal documents has the pairs and tokens of those that differ; a window too. */
TEST(a_kernel_has_the_pairs_of_its_documents)
{
    static const double n[] = {300, 2000, 700};
    for (double w = 0; w < 1000; w += 500) {
        struct ty_pack x = {.sequences = 1, .documents = 3};
        double pairs = 0;
        for (size_t i = 0; i < 3; i++) {
            x.tokens += n[i];
            pairs += w > 0 && w < n[i] ? w * n[i] - w * w / 2 : n[i] * n[i] / 2;
        }
        x.pairs[w > 0] = pairs;
        struct ty_attention_core core = {.sequences = 2, .tokens = SEQUENCE, .window = w};
        ty_pack_core(NULL, &x, 1, &core);
        const double k = core.tokens;
        const double of_one = w > 0 && w < k ? w * k - w * w / 2 : k * k / 2;
        ck_assert_double_eq_tol(core.sequences * k, 2 * 3000, 1e-6);
        ck_assert_double_eq_tol(core.sequences * of_one, 2 * pairs, 1e-6 * pairs);
    }
}

/* ---- runs ---- */

static const char small[] =
    "cluster: {preset: dgx-h100, nodes: 1}\n"
    "model: {layers: 4, hidden: 2048, heads: 16, ffn: 4096, vocabulary: 32000, sequence: 4096}\n"
    "layout: {pipeline: 2, global_batch: 32}\n"
    "schedule: {name: 1f1b}\n"
    "framework: {layer_floor: 0 s}\n";

static struct quick_run run_of(const char *lengths, const char *more, const char *third)
{
    char set[128];
    snprintf(set, sizeof(set), "run.lengths=%s", lengths);
    const char *const sets[] = {set, more, third, NULL};
    return quick_run(small, NULL, sets);
}

TEST(documents_as_long_as_a_sequence_change_nothing)
{
    static const char *const methods[] = {"zigzag", "all-gather", "ulysses", "hybrid", NULL};
    char set[64];
    for (size_t i = 0; i < TY_COUNT(methods); i++) {
        snprintf(set, sizeof(set), "layout.context_method=%s",
                 methods[i] != NULL ? methods[i] : "");
        const char *const context = methods[i] != NULL ? "layout.context=4" : NULL;
        struct quick_run a = run_of("whole", context, context != NULL ? set : NULL);
        struct quick_run b = run_of("fixed:4096", context, context != NULL ? set : NULL);
        ck_assert_uint_eq(a.run->timeline.makespan, b.run->timeline.makespan);
        ck_assert_double_eq(a.figures.mfu, b.figures.mfu);
        quick_run_free(&a);
        quick_run_free(&b);
    }
}

/* Of every document a rank has a fourth: the pairs of all rounds are those of the documents. */
TEST(context_ranks_share_every_document)
{
    struct quick_run q = quick_run(
        small, NULL, (const char *const[]){"run.lengths=fixed:1024", "layout.context=4", NULL});
    const struct ty_unit_ops *layer = &q.run->lowered.units->kind[TY_UNIT_LAYER];
    uint32_t i = 0;
    while (strcmp(layer->op[i].name, "attention core") != 0) {
        i++;
    }
    const struct ty_attention_core *own = &layer->op[i].kernel[0].attention;
    const struct ty_attention_core *next = &layer->op[i].kernel[1].attention;
    ck_assert_double_eq(own->sequences, 4);
    ck_assert_double_eq(own->tokens, 256);
    ck_assert_double_eq(next->queries, 256);
    ck_assert_double_eq(next->tokens, 128);
    ck_assert_double_eq(own->sequences *
                            (own->tokens * own->tokens / 2 + 3 * next->queries * next->tokens),
                        4 * 1024 * 1024 / 2 / 4);
    quick_run_free(&q);
}

/* The first forward of attention of a rank in a micro-batch. */
static ty_ps core_of(const struct quick_run *q, uint32_t rank, uint32_t mb)
{
    struct ty_span_cursor cursor = ty_spans_of(&q->run->timeline, rank);
    struct ty_span span;
    while (ty_span_next(&cursor, &span)) {
        if (strcmp(span.kind->name, "attention core") == 0 && span.pass->mb == mb) {
            return span.dur;
        }
    }
    ck_abort_msg("no attention");
}

/* Of documents of a whole and a quarter of a sequence, a sequence has one or four: its attention
 * lasts as in a run of only these, on both stages of its pipeline, and others do not wait for less
 * than the slowest data rank. */
TEST(a_micro_batch_lasts_as_its_documents_ask_for)
{
    struct temp_dir dir;
    char text[256];
    temp_dir_make(&dir);
    FILE *file = fopen(temp_dir_file(&dir, "lengths.txt"), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs("4096\n1024\n\n1024 \n1024\n1024\n", file), 0);
    ck_assert_int_eq(fclose(file), 0);
    snprintf(text, sizeof(text), "file:%s", dir.file);
    struct quick_run mixed = run_of(text, NULL, NULL), whole = run_of("whole", NULL, NULL);
    struct quick_run quarter = run_of("fixed:1024", NULL, NULL);
    const ty_ps one = core_of(&whole, 0, 0), four = core_of(&quarter, 0, 0);
    const struct ty_packing *p = &mixed.config->packing;
    uint32_t n[2] = {0};
    ck_assert_uint_gt(one, 2 * four);
    for (uint32_t d = 0; d < 4; d++) {
        for (uint32_t mb = 0; mb < 8; mb++) {
            const double documents =
                ty_packing_micro_batch(p, &mixed.config->layout, 0, mb, d).documents;
            const ty_ps dur = core_of(&mixed, d, mb);
            ck_assert(documents == 1 || documents == 4);
            ck_assert_uint_eq(dur, documents == 1 ? one : four);
            ck_assert_uint_eq(core_of(&mixed, 4 + d, mb), dur);
            n[documents == 4]++;
        }
    }
    ck_assert(n[0] > 0 && n[1] > 0);
    ck_assert_double_lt(mixed.figures.step_s, whole.figures.step_s);
    ck_assert_double_gt(mixed.figures.step_s, quarter.figures.step_s);
    quick_run_free(&mixed);
    quick_run_free(&whole);
    quick_run_free(&quarter);
    temp_dir_remove(&dir);
}

/* Of two data ranks without a pipeline the one with less to do waits for the other, by as much as
 * it computes less, and that is a cause of its own. */
TEST(waiting_for_uneven_ranks_is_told_apart)
{
    static const char *const sets[] = {"run.lengths=lognormal:900:1.5",
                                       "layout.pipeline=1",
                                       "layout.tensor=4",
                                       "layout.zero=0",
                                       "framework.overlap_grad_reduce=false",
                                       NULL};
    struct quick_run q = quick_run(small, "sweep", sets);
    const struct ty_rank_stats *rank = q.run->stats.rank;
    ty_ps busy[2] = {0};
    for (uint32_t d = 0; d < 2; d++) {
        for (uint32_t b = 0; b < TY_BUCKET_EXPOSED_PIPELINE; b++) {
            busy[d] += rank[4 * d].bucket[b];
        }
    }
    const uint32_t less = busy[0] < busy[1] ? 0 : 1;
    ck_assert_uint_eq(q.run->stats.n_ranks, 8);
    ck_assert_uint_gt(busy[1 - less], busy[less]);
    ck_assert_uint_eq(rank[4 * less].bucket[TY_BUCKET_EXPOSED_UNEVEN], busy[1 - less] - busy[less]);
    ck_assert_uint_eq(rank[4 * (1 - less)].bucket[TY_BUCKET_EXPOSED_UNEVEN], 0);
    ck_assert_uint_eq(rank[0].bucket[TY_BUCKET_EXPOSED_DATA],
                      rank[4].bucket[TY_BUCKET_EXPOSED_DATA]);
    quick_run_free(&q);
}

TEST(balanced_packing_is_faster_and_a_seed_is_a_draw)
{
    static const char wide[] = "lognormal:900:1.5";
    struct quick_run a = run_of(wide, NULL, NULL), b = run_of(wide, "run.packing=balanced", NULL);
    struct quick_run again = run_of(wide, NULL, NULL), other = run_of(wide, "run.seed=2", NULL);
    ck_assert_double_lt(b.figures.step_s, a.figures.step_s);
    ck_assert_uint_eq(a.run->timeline.makespan, again.run->timeline.makespan);
    ck_assert_uint_ne(a.run->timeline.makespan, other.run->timeline.makespan);
    quick_run_free(&a);
    quick_run_free(&b);
    quick_run_free(&again);
    quick_run_free(&other);
}

TEST(both_executors_agree_on_packed_batches)
{
    static const char *const sets[] = {"run.lengths=lognormal:900:1.5", "run.steps=2", NULL};
    static const char *const pairs[] = {"run.lengths=lognormal:900:1.5", "schedule.name=dualpipe",
                                        NULL};
    static const char *const split[] = {"run.lengths=lognormal:900:1.5", "schedule.name=zb-1p",
                                        "layout.zero=3", NULL};
    quick_run_demand_same(small, sets);
    quick_run_demand_same(small, pairs);
    quick_run_demand_same(small, split);
}

TY_SUITE("packing")
