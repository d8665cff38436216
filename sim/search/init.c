/* init.c - `trainyard init`: a first run file for a model on a cluster, to be changed by hand.
 *
 * Names become presets, a Hugging Face file, or a machine spelled out around a GPU. The layout is
 * one that fits and that a practitioner would start from. What is written has been read back and
 * planned.
 *
 * The layout follows the usual order (Narayanan et al. 2021, section 3). A replica gets as few GPUs
 * as its memory allows, since every partition costs communication. Of these, tensor ranks come
 * first, for which a node has NVLink, then pipeline stages for what a node cannot hold. The rest
 * are data-parallel replicas, which share the optimizer's state. Layers are recomputed only where
 * no partition fits without, as that costs a part of the forward pass or all of it.
 *
 * Models with experts differ: their matrices are narrow, and rows that leave the node cost more
 * than anything else. So experts are spread over the ranks of a node, or over all of a stage where
 * that does not fit. At most two tensor ranks are tried before more. What is cheap to recompute is
 * not kept where that saves GPUs: it costs 1 or 2 %, twice the stages more. (Of 12 to 48 layouts of
 * DeepSeek-V3 on 2048 H800, Qwen3-235B on 256 and Mixtral 8x7B on 64 H100 that gives the fastest.)
 *
 * Then the micro-batch grows while there is memory, and enough of them to keep the pipeline full.
 * Whether a layout fits is decided by planning the very file that would be written. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/block/block.h"
#include "model/parallel/whole.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/config/config.h"
#include "sim/config/load.h"
#include "sim/document/json.h"
#include "sim/run/bill.h"
#include "sim/run/run.h"
#include "sim/trainyard.h"
#include "topology/cluster.h"

#define DEFAULT_MODEL    "llama3-8b"
#define DEFAULT_CLUSTER  "dgx-h100"
#define SEQUENCE_MOST    8192u /* tokens: enough for a first run of models that read more */
#define NODES_MOST       4096u
#define LAVISH           4u /* times the fewest nodes */
#define NAMES_MAX        64u
#define COMMENT_COLUMN   32u
#define TENSOR_MOST      8u /* with more, matrices are too narrow for a GPU */
#define TENSOR_SPARSE    2u /* the same for models with experts */
#define MICRO_BATCH_MOST 8u
#define TUNED_BATCH      32u /* sequences of a step that trains adapters (guess) */
#define PER_STAGE        4u  /* micro-batches for each stage: idle a fifth at most */

/* The contents of a run file. */
struct job {
    const char *file;     /* its name: paths in it count from there */
    const char *cluster;  /* preset; NULL: spelled out around `gpu` */
    const char *gpu;      /* preset */
    const char *links[3]; /* values of nvlink_bandwidth, nics_per_node and nic_bandwidth */
    const char *model;    /* preset, or a Hugging Face file */
    bool from_file;       /* model is a file */
    bool half;            /* fp16, where a GPU has no bf16 */
    uint32_t whole_node;  /* GPUs that a node of the cluster has */
    uint32_t nodes, per_node;
    uint32_t sequence; /* tokens; 0: the model's */
    uint32_t tensor, pipeline, micro_batch, global_batch;
    uint32_t expert; /* ranks that share the experts of a layer */
    const char *recompute;
    bool runs_again;     /* more than what costs next to nothing */
    bool latent;         /* the model has latent attention */
    double batch_tokens; /* that a step should have */
    uint32_t lora;       /* rank of adapters; 0: all weights are trained */
    bool qlora;
    uint32_t heads, layers, experts;
};

/* ---- the text ---- */

static void line(struct ty_text *t, const char *key, const char *value, const char *comment)
{
    ty_text_add(t, "  %s: %s", key, value);
    if (comment != NULL) {
        ty_text_pad(t, COMMENT_COLUMN);
        ty_text_add(t, "# %s", comment);
    }
    ty_text_add(t, "\n");
}

static void count(struct ty_text *t, const char *key, uint32_t value, const char *comment)
{
    char text[16];
    (void)ty_snprintf(text, sizeof(text), "%u", (unsigned)value);
    line(t, key, text, comment);
}

static void write_cluster(const struct job *job, struct ty_text *t)
{
    ty_text_add(t, "cluster:\n");
    if (job->cluster != NULL) {
        line(t, "preset", job->cluster, "trainyard list clusters");
    } else {
        line(t, "gpu", job->gpu, "trainyard list gpus");
    }
    count(t, "nodes", job->nodes, NULL);
    if (job->cluster == NULL || job->per_node != job->whole_node) {
        count(t, "gpus_per_node", job->per_node, NULL);
    }
    if (job->cluster == NULL) {
        line(t, "nvlink_bandwidth", job->links[0], "of a GPU, one direction");
        line(t, "nics_per_node", job->links[1], NULL);
        line(t, "nic_bandwidth", job->links[2], "of one, one direction");
    }
}

/* A path as YAML reads it back. */
static void put_path(struct ty_text *t, const char *path)
{
    static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789._/+-";
    if (path[strspn(path, harmless)] == '\0') {
        ty_text_add(t, "%s", path);
    } else {
        ty_json_put(t, path);
    }
}

static void write_model(const struct job *job, struct ty_text *t)
{
    ty_text_add(t, "model:\n  %s: ", job->from_file ? "huggingface" : "preset");
    put_path(t, job->model);
    ty_text_pad(t, COMMENT_COLUMN);
    ty_text_add(t, "# %s\n",
                job->from_file ? "or a preset: trainyard list models"
                               : "trainyard list models; or huggingface: config.json");
    if (job->sequence > 0) {
        count(t, "sequence", job->sequence, "tokens");
    }
    if (job->half) {
        line(t, "dtype", "fp16", "the GPU has no bf16");
    }
    if (job->lora > 0) {
        char rank[32];
        (void)ty_snprintf(rank, sizeof(rank), "{rank: %u}", (unsigned)job->lora);
        line(t, "lora", rank, "adapters of all matrices; targets: [q_proj, v_proj]");
    }
    if (job->qlora) {
        line(t, "frozen_dtype", "nf4", "QLoRA: frozen matrices in 4 bits");
    }
}

static void write_layout(const struct job *job, struct ty_text *t)
{
    const uint32_t replicas = job->nodes * job->per_node / (job->tensor * job->pipeline);
    char batch[96], stages[96];
    (void)ty_snprintf(batch, sizeof(batch), "sequences a step: %.3g million tokens",
                      1e-6 * job->global_batch * job->sequence);
    (void)ty_snprintf(stages, sizeof(stages),
                      "stages that share the layers; %u data-parallel "
                      "replica%s",
                      (unsigned)replicas, replicas > 1 ? "s" : "");
    ty_text_add(t, "layout:\n");
    count(t, "tensor", job->tensor, "GPUs that share each matrix");
    if (job->tensor > 1) {
        line(t, "sequence_parallel", "true", "they share norms and dropouts, too");
    }
    if (job->experts > 0) {
        count(t, "expert", job->expert, "GPUs that share a layer's experts");
    }
    count(t, "pipeline", job->pipeline, stages);
    line(t, "zero", replicas > 1 ? "1" : "0",
         replicas > 1 ? "replicas shard the optimizer's state; 3: weights, too" : NULL);
    count(t, "micro_batch", job->micro_batch, "sequences at a time");
    count(t, "global_batch", job->global_batch, batch);
    if (strcmp(job->recompute, "none") != 0) {
        line(t, "recompute", job->recompute,
             job->runs_again ? "no layout fits without" : "cheap: avoids a wider split");
    }
    if (job->pipeline > 1) {
        ty_text_add(t, "schedule: {name: 1f1b}");
        ty_text_pad(t, COMMENT_COLUMN);
        ty_text_add(t, "# trainyard list schedules\n");
    }
}

static void write_run_file(const struct job *job, struct ty_text *t)
{
    write_cluster(job, t);
    write_model(job, t);
    write_layout(job, t);
}

static int read_back(const struct job *job, struct ty_config **config, struct ty_err *err)
{
    struct ty_text text = {.data = NULL};
    *config = NULL;
    write_run_file(job, &text);
    char *written = ty_text_take(&text);
    struct ty_loader l = {.config = calloc(1, sizeof(struct ty_config)), .err = err};
    int rc =
        written != NULL && l.config != NULL ? ty_config_init(l.config, err) : ty_fail_memory(err);
    if (rc == 0) {
        l.config->n_docs = 1;
        l.config->docs = ty_arena_array(&l.config->arena, struct ty_doc, 1);
        rc = l.config->docs == NULL ? ty_fail_memory(err)
                                    : ty_doc_parse(&l.config->docs[0], &l.config->arena, job->file,
                                                   written, strlen(written), err);
    }
    if (rc == 0) {
        ty_loader_fill(&l);
        rc = l.code;
    }
    free(written);
    if (rc < 0) {
        ty_config_free(l.config);
        return rc;
    }
    *config = l.config;
    return 0;
}

/* ---- the layout ---- */

static int fits(const struct job *job)
{
    struct ty_config *config = NULL;
    struct ty_run *run = NULL;
    struct ty_bill bill;
    int rc = read_back(job, &config, NULL);
    if (rc == 0) {
        rc = ty_run_plan(&run, config, NULL, NULL);
    }
    if (rc == 0) {
        ty_run_fullest(run, &bill);
        rc = ty_run_verdict(run, &bill) == TY_VERDICT_FITS;
        ty_run_free(run);
    } else {
        rc = rc == TY_ENOMEM ? rc : 0;
    }
    ty_config_free(config);
    return rc;
}

static uint32_t replicas(const struct job *job)
{
    return job->nodes * job->per_node / (job->tensor * job->pipeline);
}

/* Returns the micro-batches that a pipeline should have. */
static uint32_t enough(const struct job *job)
{
    return job->pipeline > 1 ? PER_STAGE * job->pipeline : 1;
}

/* Chooses a power of two of micro-batches for every replica: as many tokens as wanted, or more. */
static void choose_batch(struct job *job)
{
    const double wanted = job->batch_tokens / ((double)job->sequence * replicas(job));
    uint32_t each = 1;
    while (each < enough(job) || each < wanted) {
        each *= 2;
    }
    job->global_batch = each * replicas(job);
}

/* Returns the widest tensor group of `ranks` that stays in a node and divides the heads. */
static uint32_t widest(const struct job *job, uint32_t ranks)
{
    uint32_t tensor = TENSOR_MOST;
    while (ranks % tensor != 0 || job->per_node % tensor != 0 || job->heads % tensor != 0) {
        tensor /= 2;
    }
    return tensor;
}

/* Returns the most ranks that can share experts, at most `most`. */
static uint32_t expert_ranks(const struct job *job, uint32_t most)
{
    const uint32_t stage = job->nodes * job->per_node / job->pipeline;
    uint32_t n = stage < most ? stage : most;
    while (n > 1 && (stage % n != 0 || job->experts % n != 0)) {
        n--;
    }
    return n;
}

/* Tries a layout with experts shared by few ranks, then by many. */
static int fit_experts(struct job *job)
{
    const uint32_t many = job->experts > 0 ? expert_ranks(job, job->experts) : 1;
    job->expert = job->experts > 0 ? expert_ranks(job, job->per_node) : 1;
    int rc = fits(job);
    if (rc == 0 && many > job->expert) {
        job->expert = many;
        rc = fits(job);
    }
    return rc;
}

static int grow_micro_batch(struct job *job)
{
    int rc = 1;
    while (rc > 0 && 2 * job->micro_batch <= MICRO_BATCH_MOST &&
           job->global_batch / replicas(job) >= 2 * job->micro_batch * enough(job)) {
        job->micro_batch *= 2;
        rc = fits(job);
        job->micro_batch /= rc > 0 ? 1 : 2;
    }
    return rc < 0 ? rc : 1;
}

/* Tries layouts in the usual order. */
static int cut(struct job *job, bool recomputes)
{
    static const char *const modes[] = {"none", "selective", "full"};
    const uint32_t gpus = job->nodes * job->per_node;
    int rc = 0;
    for (size_t i = 0; i < (recomputes ? TY_COUNT(modes) : 1) && rc == 0; i++) {
        for (uint32_t ranks = 1; ranks <= gpus && rc == 0; ranks++) {
            if (gpus % ranks != 0) {
                continue;
            }
            job->recompute = modes[i];
            job->runs_again = i > 0;
            job->tensor = widest(job, ranks);
            job->pipeline = ranks / job->tensor;
            job->micro_batch = 1;
            choose_batch(job);
            rc = job->pipeline <= job->layers ? fit_experts(job) : 0;
        }
    }
    return rc;
}

/* Tries a replica of a model with experts on so many ranks, as few as possible of them tensor
 * ranks. */
static int cut_sparse(struct job *job, uint32_t ranks, uint32_t most_experts)
{
    const char *const modes[] = {"none", job->latent ? "norm+mla_up+moe_act" : "norm+moe_act"};
    int rc = 0;
    for (job->tensor = 1; job->tensor <= TENSOR_SPARSE && rc == 0;) {
        job->pipeline = ranks / job->tensor;
        const bool possible = ranks % job->tensor == 0 && job->per_node % job->tensor == 0 &&
                              job->heads % job->tensor == 0 && job->pipeline <= job->layers;
        for (size_t i = 0; i < TY_COUNT(modes) && possible && rc == 0; i++) {
            job->recompute = modes[i];
            job->micro_batch = 1;
            choose_batch(job);
            job->expert = expert_ranks(job, most_experts);
            rc = fits(job);
        }
        job->tensor *= rc == 0 ? 2 : 1;
    }
    return rc;
}

static int few_tensor_ranks(struct job *job)
{
    const uint32_t gpus = job->nodes * job->per_node, most[] = {job->per_node, job->experts};
    int rc = 0;
    job->runs_again = false;
    for (size_t i = 0; i < TY_COUNT(most) && rc == 0; i++) {
        for (uint32_t ranks = 1; ranks <= gpus && rc == 0; ranks++) {
            rc = gpus % ranks == 0 ? cut_sparse(job, ranks, most[i]) : 0;
        }
    }
    return rc;
}

static int choose_layout(struct job *job, bool recomputes, struct ty_err *err)
{
    const bool sparse = job->experts > 0;
    int rc = sparse ? few_tensor_ranks(job) : 0;
    rc = rc == 0 && (recomputes || !sparse) ? cut(job, recomputes) : rc;
    rc = rc > 0 ? grow_micro_batch(job) : rc;
    return rc < 0 ? ty_fail_memory(err) : rc;
}

/* ---- what was asked for ---- */

static bool is_named(const struct ty_preset *presets, const char *name)
{
    while (presets->name != NULL && strcmp(presets->name, name) != 0) {
        presets++;
    }
    return presets->name != NULL;
}

static size_t add_names(const struct ty_preset *presets, const char **names, size_t n)
{
    for (; presets->name != NULL && n < NAMES_MAX; presets++) {
        names[n++] = presets->name;
    }
    return n;
}

static int no_model(const char *word, struct ty_err *err)
{
    const char *names[NAMES_MAX];
    char hint[TY_SUGGESTION];
    const size_t n = add_names(ty_arch_presets, names, 0);
    return ty_fail(err, TY_EUSAGE,
                   "--model %.200s: neither a model nor a file; write one of \"trainyard list "
                   "models\", or the path of a Hugging Face config.json%s",
                   word, ty_suggestion(word, names, n, hint));
}

static int no_cluster(const char *word, struct ty_err *err)
{
    const char *names[NAMES_MAX];
    char hint[TY_SUGGESTION];
    const size_t n = add_names(ty_gpu_presets, names, add_names(ty_cluster_presets, names, 0));
    if (is_named(ty_gpu_presets, word)) {
        return ty_fail(err, TY_EUSAGE,
                       "--cluster %s: no cluster preset has this GPU, so its links are unknown; "
                       "write another cluster, then change cluster.gpu and the links in the run "
                       "file",
                       word);
    }
    return ty_fail(err, TY_EUSAGE,
                   "--cluster %.200s: neither a cluster nor a GPU; write one of \"trainyard list "
                   "clusters\", or of \"trainyard list gpus\" for a cluster of your own%s",
                   word, ty_suggestion(word, names, n, hint));
}

/* A path as the run file has to give it: its own folder is where paths count from. */
static const char *path_from(const char *file, const char *path, struct ty_arena *arena)
{
    if (path[0] == '/' || strchr(file, '/') == NULL) {
        return path;
    }
    char here[4096];
    return getcwd(here, sizeof(here)) != NULL ? ty_arena_printf(arena, "%s/%s", here, path) : NULL;
}

/* The model by name, or the file that it is in; of a folder its config.json. */
static int find_model(struct job *job, const char *word, struct ty_arena *arena, struct ty_err *err)
{
    struct stat status;
    job->model = word;
    job->from_file = !is_named(ty_arch_presets, word);
    if (!job->from_file) {
        return 0;
    }
    if (stat(word, &status) == 0 && S_ISDIR(status.st_mode)) {
        word = ty_arena_printf(arena, "%s/config.json", word);
    }
    if (word != NULL && stat(word, &status) != 0) {
        return no_model(word, err);
    }
    job->model = word != NULL ? path_from(job->file, word, arena) : NULL;
    struct ty_huggingface model; /* of no use yet: mistakes are told, and not as the run file's */
    return job->model == NULL ? ty_fail_memory(err) : ty_arch_huggingface(arena, word, &model, err);
}

/* Returns the first cluster preset that has a GPU, or NULL. Its links are where a machine of one's
 * own begins. */
static const char *machine_with(const char *gpu)
{
    const struct ty_preset *p = ty_cluster_presets;
    const size_t n = strlen(gpu);
    for (; p->name != NULL; p++) {
        const char *at = strstr(p->text, "gpu: ");
        if (at != NULL && strncmp(at + 5, gpu, n) == 0 && strchr(" \n", at[5 + n]) != NULL) {
            break;
        }
    }
    return p->name;
}

static int find_cluster(struct job *job, const char *word, struct ty_err *err)
{
    job->cluster = word;
    if (!is_named(ty_cluster_presets, word)) {
        job->cluster = is_named(ty_gpu_presets, word) ? machine_with(word) : NULL;
        job->gpu = word;
    }
    return job->cluster != NULL ? 0 : no_cluster(word, err);
}

/* Tokens of a step by parameters (Brown et al. 2020, table 2.1). */
static double batch_for(double params)
{
    if (params < 1e9) {
        return 0.5e6;
    }
    if (params < 5e9) {
        return 1e6;
    }
    return params < 50e9 ? 2e6 : 4e6;
}

/* Links of a machine, as one would write them. */
static bool keep_links(struct job *job, const struct ty_cluster *c, struct ty_arena *arena)
{
    job->links[0] = ty_arena_printf(arena, "%.6g GB/s", c->nvlink.bandwidth / 1e9);
    job->links[1] = ty_arena_printf(arena, "%u", (unsigned)c->net.nics);
    job->links[2] = ty_arena_printf(arena, "%.6g Gb/s", 8 * c->net.nic_bandwidth / 1e9);
    return job->links[0] != NULL && job->links[1] != NULL && job->links[2] != NULL;
}

/* What has to be known before a layout is looked for, out of a run file with any. */
static int look(struct job *job, struct ty_arena *arena, struct ty_err *err)
{
    struct ty_config *c = NULL;
    const int rc = read_back(job, &c, err);
    if (rc < 0) {
        return rc;
    }
    job->whole_node = job->per_node = c->cluster.gpus_per_node;
    job->half = c->cluster.gpu.peak[TY_DTYPE_BF16] <= 0;
    job->heads = c->arch.heads;
    job->layers = c->arch.layers;
    job->experts = c->arch.experts;
    job->latent = ty_arch_is_latent(&c->arch);
    job->sequence = c->arch.sequence < SEQUENCE_MOST ? c->arch.sequence : SEQUENCE_MOST;
    job->batch_tokens =
        job->lora > 0 ? (double)TUNED_BATCH * job->sequence : batch_for(ty_arch_params(&c->arch));
    const bool kept = keep_links(job, &c->cluster, arena);
    ty_config_free(c);
    if (job->gpu != NULL) {
        job->cluster = NULL; /* what it was looked up for is known */
    }
    return kept ? 0 : ty_fail_memory(err);
}

/* Nodes for a number of GPUs: a part of one, or whole ones. */
static int take_gpus(struct job *job, uint32_t gpus, struct ty_err *err)
{
    const uint32_t whole = job->whole_node;
    if (gpus > whole && gpus % whole != 0) {
        return ty_fail(err, TY_EUSAGE,
                       "--gpus %u: not a whole number of nodes of %u GPUs; write %u or %u",
                       (unsigned)gpus, (unsigned)whole, (unsigned)(gpus - gpus % whole),
                       (unsigned)(gpus - gpus % whole + whole));
    }
    if (gpus / whole > NODES_MOST) {
        return ty_fail(err, TY_EUSAGE, "--gpus %u: more than %u nodes; write at most %u",
                       (unsigned)gpus, NODES_MOST, (unsigned)(NODES_MOST * whole));
    }
    job->per_node = gpus < whole ? gpus : whole;
    job->nodes = gpus < whole ? 1 : gpus / whole;
    return 0;
}

/* The fewest whole nodes, doubled again and again up to `most`, for which there is a layout. */
static int grow(struct job *job, uint32_t nodes, uint32_t most, bool recomputes, struct ty_err *err)
{
    int rc = 0;
    job->per_node = job->whole_node;
    for (job->nodes = nodes; job->nodes <= most && rc == 0;) {
        rc = choose_layout(job, recomputes, err);
        job->nodes *= rc == 0 ? 2 : 1;
    }
    return rc;
}

static int too_few(struct job *job, uint32_t gpus, struct ty_err *err)
{
    const int rc = grow(job, gpus < job->whole_node ? 1 : 2 * job->nodes, NODES_MOST, true, err);
    if (rc < 0) {
        return rc;
    }
    (void)ty_fail(err, TY_EINFEASIBLE,
                  "%.200s does not fit into %u GPUs with any tensor and pipeline ranks, even with "
                  "recomputation",
                  job->model, (unsigned)gpus);
    if (rc > 0) {
        ty_hint(err, "it fits into %u; write --gpus %u", (unsigned)(job->nodes * job->whole_node),
                (unsigned)(job->nodes * job->whole_node));
    }
    return TY_EINFEASIBLE;
}

/* As few nodes as it fits into; up to LAVISH times as many, if that spares the recomputation. */
static int choose_nodes(struct job *job, struct ty_err *err)
{
    int rc = grow(job, 1, NODES_MOST, true, err);
    if (rc == 0) {
        return ty_fail(err, TY_EINFEASIBLE, "%.200s does not fit into %u nodes", job->model,
                       NODES_MOST);
    }
    const struct job found = *job;
    if (rc > 0 && job->runs_again) {
        rc = grow(job, 2 * found.nodes, LAVISH * found.nodes, false, err);
        *job = rc > 0 ? *job : found;
    }
    return rc == 0 ? 1 : rc;
}

static int choose(struct job *job, uint32_t gpus, struct ty_err *err)
{
    if (gpus == 0) {
        return choose_nodes(job, err);
    }
    int rc = take_gpus(job, gpus, err);
    if (rc == 0) {
        rc = choose_layout(job, true, err);
    }
    return rc != 0 ? rc : too_few(job, gpus, err);
}

int ty_init(const struct ty_init_options *o, char **text, struct ty_err *err)
{
    const bool printed = o->path == NULL || strcmp(o->path, "-") == 0;
    const char *model = o->model != NULL ? o->model : DEFAULT_MODEL;
    const char *cluster = o->cluster != NULL ? o->cluster : DEFAULT_CLUSTER;
    struct ty_arena arena = {.head = NULL};
    struct job job = {.file = printed ? "run.yaml" : o->path,
                      .nodes = 1,
                      .tensor = 1,
                      .expert = 1,
                      .pipeline = 1,
                      .micro_batch = 1,
                      .lora = o->lora,
                      .qlora = o->qlora,
                      .half = true, /* which every GPU has */
                      .recompute = "none"};
    *text = NULL;
    /* any that a node's GPUs can share */
    job.global_batch = 5040;
    int rc = find_cluster(&job, cluster, err);
    if (rc == 0) {
        rc = find_model(&job, model, &arena, err);
    }
    if (rc == 0) {
        rc = look(&job, &arena, err);
    }
    if (rc == 0) {
        rc = choose(&job, o->gpus, err);
    }
    if (rc > 0) {
        struct ty_text t = {.data = NULL};
        ty_text_add(&t, "# ");
        put_path(&t, job.model);
        ty_text_add(&t, " on %u GPUs: trainyard run %s\n", (unsigned)(job.nodes * job.per_node),
                    job.file);
        write_run_file(&job, &t);
        *text = ty_text_take(&t);
        rc = *text != NULL ? 0 : ty_fail_memory(err);
    }
    ty_arena_release(&arena);
    return rc;
}
