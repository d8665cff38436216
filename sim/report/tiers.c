/* tiers.c - what a job keeps on its GPUs, in the memory of its nodes and on their drives, side by
 * side, each with its own verdict. */
#include "sim/base/words.h"
#include "sim/report/table.h"
#include "sim/run/offload.h"

#define NAME   18 /* where the first column ends */
#define COLUMN 14

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
        ty_text_add(t, "%*s", COLUMN,
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

void ty_report_tiers(const struct ty_run *run, const struct ty_bill *gpu, struct ty_text *t)
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
    ty_text_add(t, "%*s%*s%*s\n", COLUMN, "a GPU", COLUMN, "host, a node", COLUMN, "nvme, a node");
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
