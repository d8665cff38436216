/* draft_settle.c - the cluster of an imported job, and whether its world can be.
 *
 * Files of jobs say what a model is and how it is laid out; the machine they leave to whoever
 * starts them. So --cluster and --gpus decide, then what the files say, then a guess that is told
 * as one. */
#include "sim/import/draft.h"

#include <string.h>

#include "sim/base/number_text.h"
#include "sim/config/config.h"

#define PRESET_NODE 8u /* GPUs of a node, of presets that say nothing else */

/* ---- which machine ---- */

static const struct {
    const char *gpu, *preset;
} machines[] = {
    {"v100", "dgx1-v100"}, {"a100", "dgx-a100-80g"}, {"h100", "dgx-h100"},
    {"h200", "dgx-h200"},  {"h800", "dgx-h800"},     {"b200", "dgx-b200"},
    {"b300", "dgx-b300"},  {"gb200", "gb200-nvl72"}, {"gb300", "gb300-nvl72"},
};

static void choose_cluster(struct ty_draft *d)
{
    static const struct ty_draft_from option = {.word = "--cluster"};
    static const struct ty_draft_from guess = {.word = "guess"};
    if (d->options->cluster != NULL) {
        ty_draft_set(d, "cluster.preset", &option, "%s", d->options->cluster);
        return;
    }
    for (size_t i = 0; d->gpu != NULL && i < TY_COUNT(machines); i++) {
        if (strcmp(machines[i].gpu, d->gpu) == 0) {
            ty_draft_set(d, "cluster.preset", &d->gpu_from, "%s", machines[i].preset);
            ty_draft_explain(d, "cluster.preset", "a guess by its name; --cluster says it");
            return;
        }
    }
    const bool fp8 = ty_draft_is(d, "model.dtype", "fp8");
    ty_draft_set(d, "cluster.preset", &guess, "dgx-h100");
    ty_draft_explain(d, "cluster.preset",
                     fp8 ? "fp8 runs on Hopper and later; --cluster says it"
                         : "no file names a GPU; --cluster says it");
    ty_draft_remark(d, &guess, "no file names a GPU: the cluster is a guess; --cluster says it");
}

/* GPUs of a node of that preset; 0: there is no such preset. */
static uint32_t node_of(const char *preset)
{
    const struct ty_preset *p =
        ty_preset_find(ty_config_presets(TY_SECTION_CLUSTER, "preset"), preset);
    const char *line = p != NULL ? ty_preset_line(p->text, "gpus_per_node") : NULL;
    uint32_t n = 0;
    if (line != NULL) {
        line += strcspn(line, "0123456789\n");
        (void)ty_scan_number(&line, NULL, 1024, &n);
    }
    return p == NULL ? 0 : n > 0 ? n : PRESET_NODE;
}

/* ---- how many ---- */

/* The largest number of GPUs a node may have so that all nodes have as many. */
static uint32_t whole_nodes(uint32_t gpus, uint32_t per_node)
{
    uint32_t n = per_node < gpus ? per_node : gpus;
    while (gpus % n != 0) {
        n--;
    }
    return n;
}

static void set_nodes(struct ty_draft *d)
{
    const uint32_t preset = node_of(ty_draft_get(d, "cluster.preset")->value);
    if (preset == 0) {
        return; /* the run file's reader knows the names there are */
    }
    const uint32_t node = d->per_node > 0 ? d->per_node : preset;
    const uint32_t each = whole_nodes(d->gpus, node);
    ty_draft_set(d, "cluster.nodes", &d->gpus_from, "%u", (unsigned)(d->gpus / each));
    ty_draft_explain(d, "cluster.nodes", "%u GPU%s", (unsigned)d->gpus, d->gpus == 1 ? "" : "s");
    if (each != preset) {
        ty_draft_set(d, "cluster.gpus_per_node", &d->gpus_from, "%u", (unsigned)each);
    }
}

/* "--tensor-model-parallel-size 8, --pipeline-model-parallel-size 16" */
static const char *factors(struct ty_draft *d, const char *const keys[3])
{
    const char *text = "";
    for (size_t i = 0; i < 3; i++) {
        const struct ty_draft_fact *fact = ty_draft_get(d, keys[i]);
        if (fact != NULL && strcmp(fact->value, "1") != 0) {
            text = ty_draft_text(d, "%s%s%s %s", text, text[0] != '\0' ? ", " : "", fact->from.word,
                                 fact->value);
        }
    }
    return text;
}

/* The world is not so many times a product of degrees. */
static void refuse_world(struct ty_draft *d, uint64_t product, const char *const keys[3])
{
    ty_draft_refuse(
        d, &d->gpus_from,
        "a world of %u GPUs is not a multiple of %llu (%s); say how many there are with "
        "--gpus N",
        (unsigned)d->gpus, (unsigned long long)product, factors(d, keys));
}

static void check_world(struct ty_draft *d)
{
    static const char *const dense_keys[] = {"layout.tensor", "layout.context", "layout.pipeline"};
    static const char *const sparse_keys[] = {"layout.expert", "layout.expert_tensor",
                                              "layout.pipeline"};
    const uint32_t tensor = ty_draft_count(d, "layout.tensor", 1);
    const uint32_t context = ty_draft_count(d, "layout.context", 1);
    const uint32_t pipeline = ty_draft_count(d, "layout.pipeline", 1);
    const uint32_t expert = ty_draft_count(d, "layout.expert", 1);
    const uint32_t expert_tensor = ty_draft_count(d, "layout.expert_tensor", 1);
    const uint64_t dense = (uint64_t)tensor * context * pipeline;
    const uint64_t sparse = (uint64_t)expert * expert_tensor * pipeline;
    if (dense == 0 || sparse == 0) {
        return; /* a degree of zero is the run file's to refuse */
    }
    const uint64_t least = dense > sparse ? dense : sparse;
    if (d->gpus == 0) {
        ty_draft_refuse(
            d, &d->gpus_from, "how many GPUs there are is not known%s%s; say it with --gpus N%s",
            d->no_world != NULL ? ": " : "", d->no_world != NULL ? d->no_world : "",
            least > 1 ? ty_draft_text(d, ", a multiple of %llu", (unsigned long long)least) : "");
    } else if (d->gpus % dense != 0) {
        refuse_world(d, dense, dense_keys);
    } else if (d->gpus % sparse != 0) {
        refuse_world(d, sparse, sparse_keys);
    }
}

/* The batch is whole micro-batches on every replica: a world that leaves another number of replicas
 * is the more likely mistake, as files seldom say it. */
static void check_batch(struct ty_draft *d)
{
    const struct ty_draft_fact *batch = ty_draft_get(d, "layout.global_batch");
    const uint64_t each = (uint64_t)ty_draft_count(d, "layout.tensor", 1) *
                          ty_draft_count(d, "layout.context", 1) *
                          ty_draft_count(d, "layout.pipeline", 1);
    const uint32_t micro = ty_draft_count(d, "layout.micro_batch", 1);
    const uint32_t whole = ty_draft_count(d, "layout.global_batch", 0);
    const uint64_t replicas = each > 0 ? d->gpus / each : 0;
    if (whole == 0 || micro == 0 || replicas == 0 || whole % (replicas * micro) == 0) {
        return;
    }
    if (whole % micro != 0) {
        ty_draft_refuse(d, &batch->from, "%u is no multiple of the micro-batch, %u",
                        (unsigned)whole, (unsigned)micro);
        return;
    }
    uint64_t most = whole / micro < replicas ? whole / micro : replicas;
    while (whole / micro % most != 0) {
        most--;
    }
    ty_draft_refuse(d, &batch->from,
                    "%u is no multiple of the micro-batch, %u, times %llu replicas, which %u GPUs "
                    "make; say how many there are with --gpus N, such as %llu",
                    (unsigned)whole, (unsigned)micro, (unsigned long long)replicas,
                    (unsigned)d->gpus, (unsigned long long)(most * each));
}

void ty_draft_settle(struct ty_draft *d)
{
    static const struct ty_draft_from option = {.word = "--gpus"};
    d->half = ty_draft_get(d, "model.layers") == NULL && ty_draft_get(d, "model.preset") == NULL &&
              ty_draft_get(d, "model.huggingface") == NULL;
    if (d->half) {
        return;
    }
    if (d->options->gpus > 0) {
        if (d->gpus > 0 && d->gpus != d->options->gpus) {
            ty_draft_remark(d, &d->gpus_from, "the files say %u GPUs; --gpus %u counts",
                            (unsigned)d->gpus, (unsigned)d->options->gpus);
        }
        d->gpus = d->options->gpus;
        d->gpus_from = option;
    }
    choose_cluster(d);
    check_world(d);
    if (d->code == 0) {
        check_batch(d);
    }
    if (d->code == 0) {
        set_nodes(d);
    }
}
