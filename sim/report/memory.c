/* memory.c - does it fit: by how much, what fills the fullest GPU and when, what would
 * help. */
#include <math.h>
#include <stdio.h>

#include "sim/base/words.h"
#include "sim/report/table.h"
#include "sim/run/gpus.h"
#include "sim/run/offload.h"
#include "sim/plan/search/remedy.h"

#define NAME        18 /* where the first column ends */
#define TIER_COLUMN 14

static double item(const struct ty_bill *bill, const char *const what[2])
{
    double sum = 0;
    for (uint32_t i = 0; i < bill->n; i++) {
        for (int k = 0; k < 2; k++) {
            sum += what[k] != NULL && strcmp(bill->item[i].what, what[k]) == 0 ? bill->item[i].bytes
                                                                               : 0;
        }
    }
    return sum;
}

static void put_row(struct ty_text *t, const char *name, const double bytes[3])
{
    char value[64];
    ty_text_add(t, "  %s", name);
    ty_text_pad(t, NAME);
    for (int i = 0; i < 3; i++) {
        ty_text_add(t, "%*s", TIER_COLUMN,
                    bytes[i] > 0 ? ty_words_bytes(bytes[i], value, sizeof(value)) : "-");
    }
    ty_text_add(t, "\n");
}

static void put_verdict(const struct ty_offload_memory *bill, struct ty_text *t)
{
    char total[64], capacity[64], margin[64];
    const double left = bill->capacity_B - bill->total_B;
    if (bill->total_B <= 0) {
        return;
    }
    ty_text_add(t, "  %s of node %u, %u rank%s: %s of %s (%s), ", bill->tier, (unsigned)bill->node,
                (unsigned)bill->ranks, bill->ranks == 1 ? "" : "s",
                ty_words_bytes(bill->total_B, total, sizeof(total)),
                ty_words_bytes(bill->capacity_B, capacity, sizeof(capacity)), bill->key);
    ty_text_add(t, left < 0 ? "DOES NOT FIT, %s short\n" : "fits, %s free\n",
                ty_words_bytes(left < 0 ? -left : left, margin, sizeof(margin)));
}

static void report_tiers(const struct ty_run *run, const struct ty_bill *gpu, struct ty_text *t)
{
    if (run->away == NULL) {
        return;
    }
    const struct ty_offload_memory *host = &run->away[TY_OFFLOAD_HOST],
                                   *nvme = &run->away[TY_OFFLOAD_NVME];
    const double weights = item(gpu, (const char *const[]){"weights", "expert weights"});
    const double grads = item(gpu, (const char *const[]){"gradients", "expert gradients"});
    const double optimizer = item(gpu, (const char *const[]){"optimizer", "expert optimizer"});
    const double activations = item(gpu, (const char *const[]){"activations", NULL});
    const struct {
        const char *name;
        double bytes[3];
    } rows[] = {
        {"weights", {weights, host->weights_B, nvme->weights_B}},
        {"gradients", {grads, host->grads_B, nvme->grads_B}},
        {"optimizer", {optimizer, host->optimizer_B, nvme->optimizer_B}},
        {"activations", {activations, host->activations_B, nvme->activations_B}},
        {"pinned buffers", {0, host->pinned_B, nvme->pinned_B}},
        {"the rest", {gpu->total_B - weights - grads - optimizer - activations, 0, 0}},
        {"together", {gpu->total_B, host->total_B, nvme->total_B}},
        {"capacity", {gpu->capacity_B, host->capacity_B, nvme->capacity_B}},
    };
    ty_text_add(t, "\nwhere it lives");
    ty_text_pad(t, NAME);
    ty_text_add(t, "%*s%*s%*s\n", TIER_COLUMN, "a GPU", TIER_COLUMN, "host, a node", TIER_COLUMN,
                "nvme, a node");
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        put_row(t, rows[i].name, rows[i].bytes);
    }
    put_verdict(host, t);
    put_verdict(nvme, t);
}

static void put_json(struct ty_json *j, const struct ty_offload_memory *bill,
                     const char *const key[3])
{
    ty_json_real(j, key[0], bill->total_B);
    ty_json_real(j, key[1], bill->capacity_B);
    ty_json_text(
        j, key[2],
        ty_verdict_word(bill->total_B > bill->capacity_B ? TY_VERDICT_SHORT : TY_VERDICT_FITS));
}

void ty_report_tiers_json(const struct ty_run *run, struct ty_json *j)
{
    if (run->away != NULL) {
        put_json(j, &run->away[TY_OFFLOAD_HOST],
                 (const char *const[]){"host_bytes", "host_capacity_bytes", "host_verdict"});
        put_json(j, &run->away[TY_OFFLOAD_NVME],
                 (const char *const[]){"nvme_bytes", "nvme_capacity_bytes", "nvme_verdict"});
    }
}

/* ---- stages ---- */

#define COLUMN         22   /* where values begin */
#define PART_SHOWN     0.01 /* of a line: smaller tensors are summed up */
#define REMEDIES_SHOWN 5u

/* "layers 0-9", "layers 0-4, 40-44": of each virtual stage, the first four. */
static void write_layers(const struct ty_stage_plan *plan, struct ty_text *t)
{
    for (uint32_t i = 0; i < plan->n_chunks && i < 4; i++) {
        char range[32];
        ty_text_add(
            t, "%s%s", i == 0 ? "layers " : ", ",
            ty_words_range(plan->chunk[i].first, plan->chunk[i].count, range, sizeof(range)));
    }
    ty_text_add(t, plan->n_chunks > 4 ? ", ..." : "");
}

/* "fits, 12.0 GiB free (15.2 %)" */
static void verdict(const struct ty_bill *bill, struct ty_text *t)
{
    char value[64];
    const double capacity = bill->capacity_B, margin = capacity - bill->total_B;
    switch (ty_memory_verdict(bill->total_B, capacity)) {
    case TY_VERDICT_SHORT:
        ty_text_add(t, "DOES NOT FIT, %s short (%.1f %%)",
                    ty_words_bytes(-margin, value, sizeof(value)), -100 * margin / capacity);
        break;
    case TY_VERDICT_TIGHT:
        ty_text_add(t, "TIGHT, %s free (%.1f %%; below %.0f %% it may fail)",
                    ty_words_bytes(margin, value, sizeof(value)), 100 * margin / capacity,
                    100 * TY_FITS_TIGHT);
        break;
    case TY_VERDICT_FITS:
        ty_text_add(t, "fits, %s free (%.1f %%)", ty_words_bytes(margin, value, sizeof(value)),
                    100 * margin / capacity);
        break;
    }
}

/* " on node 2: a100-sxm-40g, 39.4 GiB" */
static void smallest(const struct ty_run *run, const struct ty_bill *bill, struct ty_text *t)
{
    char value[64];
    const uint32_t generation = ty_exceptions_generation(&run->config->cluster, bill->node);
    ty_text_add(t, " on node %u: %s, %s", (unsigned)bill->node, ty_run_gpu_name(run, generation),
                ty_words_bytes(bill->capacity_B, value, sizeof(value)));
}

/* Of the stage that has least free, if it fits. */
static void warn_of_retries(const struct ty_run *run, double least, struct ty_text *t)
{
    char value[64];
    if (run->config->layout.framework.allocator == TY_ALLOCATOR_SPLIT && least >= 0 &&
        least < TY_RETRY_FREE) {
        ty_text_add(t,
                    "  only %s free: PyTorch's allocator may free blocks and allocate them again "
                    "in every step. Steps of LLaMA\n"
                    "  30B on 256 A100 with less than 10 GiB free took 9 %% longer than simulated "
                    "(median of 13, 1 to 21 %%).\n",
                    ty_words_bytes(least, value, sizeof(value)));
    }
}

static void put_stages(const struct ty_run *run, struct ty_text *t)
{
    double least = HUGE_VAL;
    const bool mixed = ty_run_n_generations(run) > 1;
    struct ty_bill bill;
    char value[64];
    ty_run_bill(run, 0, &bill);
    ty_text_add(t, "\nmemory of a GPU, by pipeline stage (%s%s)\n",
                mixed ? "that of the stage's smallest"
                      : ty_words_bytes(bill.capacity_B, value, sizeof(value)),
                mixed ? "" : " usable");
    for (uint32_t s = 0; s < run->lowered.program.n_gangs; s++) {
        ty_run_bill(run, s, &bill);
        ty_text_add(t, "  stage %u", (unsigned)s);
        ty_text_pad(t, 12);
        write_layers(&run->lowered.stage[s], t);
        ty_text_pad(t, run->lowered.stage[0].n_chunks > 1 ? COLUMN + 24 : COLUMN + 6);
        ty_text_add(t, "%10s  ", ty_words_bytes(bill.total_B, value, sizeof(value)));
        verdict(&bill, t);
        if (mixed) {
            smallest(run, &bill, t);
        }
        ty_text_add(t, "\n");
        least = fmin(least, bill.capacity_B - bill.total_B);
    }
    warn_of_retries(run, least, t);
}

/* ---- what fills the fullest ---- */

static void put_line(struct ty_text *t, const char *indent, const char *what, double bytes,
                     const char *note)
{
    char value[64];
    ty_text_add(t, "%s%s", indent, what);
    ty_text_pad(t, COLUMN + 18);
    ty_text_add(t, "%10s%s%s\n", ty_words_bytes(bytes, value, sizeof(value)),
                note[0] != '\0' ? "  " : "", note);
}

/* "30.0 MiB in each of 20 layers x 2 micro-batches" */
static const char *copies(const struct ty_bill *bill, const struct ty_bill_part *part,
                          const char *piece, char *buf, size_t size)
{
    const uint32_t per = bill->held > 0 ? bill->held : 1, layers = part->copies / per;
    char each[32] = "", in[64] = "";
    if (part->transient || part->copies == 1) {
        return part->life == TY_LIFE_RECOMPUTED ? "recomputed" : "";
    }
    if (part->each_B > 0) {
        (void)snprintf(in, sizeof(in), "%s in each of ",
                       ty_words_bytes(part->each_B, each, sizeof(each)));
    }
    if (!ty_unit_is_layer(part->unit) || part->copies % per != 0 || !part->all) {
        (void)snprintf(buf, size, "%s%u %s", in, (unsigned)part->copies,
                       part->copies == per && part->all ? piece : "places");
    } else {
        (void)snprintf(buf, size, "%s%u layer%s x %u %s", in, (unsigned)layers,
                       layers == 1 ? "" : "s", (unsigned)per, piece);
    }
    return buf;
}

/* The tensors of a line, down to a share of it, and the rest of them in one. */
static void put_parts(const struct ty_bill *bill, const struct ty_bill_item *item,
                      const char *piece, struct ty_text *t)
{
    const bool transient = item->life == TY_BILL_TRANSIENT;
    uint32_t others = 0;
    double rest = 0;
    char note[96];
    for (uint32_t i = 0; i < bill->n_parts; i++) {
        const struct ty_bill_part *part = &bill->part[i];
        if (part->transient != transient) {
            continue;
        }
        if (part->bytes >= PART_SHOWN * item->bytes) {
            put_line(t, "      ", part->what, part->bytes,
                     copies(bill, part, piece, note, sizeof(note)));
        } else {
            rest += part->bytes;
            others++;
        }
    }
    if (others > 0) {
        (void)snprintf(note, sizeof(note), "%u more", (unsigned)others);
        put_line(t, "      ", note, rest, "");
    }
}

/* "in the backward of micro-batch 0, layer 9" */
static void put_moment(const struct ty_bill *bill, struct ty_text *t)
{
    ty_text_add(t, "in the %s of micro-batch %u", ty_phase_word((enum ty_phase)bill->pass->phase),
                (unsigned)bill->pass->mb);
    if (bill->kind == TY_PEAK_LAYER) {
        ty_text_add(t, ", layer %u", (unsigned)bill->layer_number);
    } else if (bill->kind == TY_PEAK_LOSS) {
        ty_text_add(t, ", head and loss");
    }
}

static void put_largest(const struct ty_run *run, uint32_t stage, const struct ty_bill *bill,
                        struct ty_text *t)
{
    const bool pieces =
        run->lowered.stage[0].n_chunks > 1 || ty_sched_slices(&run->config->schedule) > 1;
    const char *const one = pieces ? "piece" : "micro-batch";
    const char *const several = pieces ? "pieces of micro-batches" : "micro-batches";
    const char *const piece = bill->held == 1 ? one : several;
    const struct ty_pass *since = ty_run_held_since(run, stage, bill);
    ty_text_add(t, "  the fullest is stage %u, ", (unsigned)stage);
    put_moment(bill, t);
    ty_text_add(t, "; %u %s held", (unsigned)bill->held, piece);
    if (since != NULL && bill->held > 1) {
        ty_text_add(t, " since the forward of micro-batch %u", (unsigned)since->mb);
    }
    ty_text_add(t, ":\n");
    for (uint32_t i = 0; i < bill->n; i++) {
        const struct ty_bill_item *item = &bill->item[i];
        put_line(t, "    ", item->what, item->bytes, item->note);
        if (item->life != TY_BILL_FIXED) {
            put_parts(bill, item, piece, t);
        }
    }
}

/* ---- what would help ---- */

static void put_remedy(const struct ty_remedy *r, struct ty_text *t)
{
    const char *least = r->simulated ? "  " : ">=";
    char value[64];
    ty_text_add(t, "  %10s", ty_words_bytes(r->peak_B, value, sizeof(value)));
    if (r->slower < HUGE_VAL) {
        (void)ty_words_seconds(fabs(r->more_s), value, sizeof(value));
        ty_text_add(t, "  time %s %+6.1f %%  %c%-9s", least, 100 * r->slower,
                    r->more_s < 0 ? '-' : '+', value);
    } else {
        ty_text_add(t, "  time not known              ");
    }
    for (uint32_t k = 0; k < r->change.n; k++) {
        ty_text_add(t, " --set ");
        ty_change_put(t, r->change.set[k]);
    }
    ty_text_add(t, "\n");
}

static void put_remedies(const struct ty_run *run, const struct ty_remedies *list,
                         struct ty_text *t)
{
    if (list->n == 0) {
        ty_text_add(
            t, "\nnone of the changes tried makes it fit: one or two of recomputation, sharding, "
               "offload, parallel degrees, micro-batch, schedule or kernels\n");
        return;
    }
    ty_text_add(t, "\nchanges that make it fit, %s, fastest first\n",
                list->pairs ? "one or two changes" : "one change each");
    for (uint32_t i = 0; i < list->n && i < REMEDIES_SHOWN; i++) {
        put_remedy(&list->item[i], t);
    }
    if (!run->executed) {
        ty_text_add(t,
                    "  times compare lower bounds; `trainyard run` simulates the best of them\n");
    } else if (list->untried > 0) {
        ty_text_add(t,
                    "  %u more that may be as fast %s not simulated (>= is a lower bound); "
                    "--suggest SECONDS allows more\n",
                    (unsigned)list->untried, list->untried == 1 ? "was" : "were");
    }
}

double ty_report_budget_s(const struct ty_run *run)
{
    return run->suggest_s == 0 ? 1 : run->suggest_s;
}

int ty_report_suggest(const struct ty_run *run, struct ty_text *t, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_bill largest;
    const double budget_s = ty_report_budget_s(run);
    if (run->config->workload.job != NULL || budget_s < 0) {
        return 0;
    }
    ty_run_fullest(run, &largest);
    if (ty_run_verdict(run, &largest) == TY_VERDICT_FITS) {
        return 0;
    }
    struct ty_remedies *list = ty_arena_array(&arena, struct ty_remedies, 1);
    const int rc =
        list != NULL ? ty_run_remedies(run, budget_s, list, &arena, err) : ty_fail_memory(err);
    if (rc == 0) {
        put_remedies(run, list, t);
    }
    ty_arena_release(&arena);
    return rc;
}

static void put_fullest(const struct ty_run *run, struct ty_text *t)
{
    struct ty_bill fullest;
    const uint32_t stage = ty_run_fullest(run, &fullest);
    put_largest(run, stage, &fullest, t);
    report_tiers(run, &fullest, t);
}

void ty_report_memory(const struct ty_run *run, struct ty_text *t)
{
    put_stages(run, t);
    put_fullest(run, t);
}
