/* derive.c - what values leave open, and checks that need more than one of them; see load.h. */
#include <string.h>

#include "model/block/memory.h"
#include "model/check.h"
#include "model/parallel/kinds.h"
#include "sim/base/path.h"
#include "sim/config/load.h"
#include "sim/config/measured.h"
#include "sim/config/placement.h"
#include "sim/config/workload.h"
#include "topology/exceptions.h"
#include "traces/out/writer.h"

/* ---- the trace that a run file names in place of model and layout ---- */

#define ROW(key_, type_, ...) TY_FIELD(struct ty_workload_options, #key_, key_, type_, __VA_ARGS__)

const struct ty_field ty_workload_fields[] = {
    ROW(chakra, STRING, .blank = "none", .fallback = "none", .late = true,
        .doc = "prefix of a Chakra execution trace, PREFIX.0.et and so on, beside the run file: it "
               "is executed in place of a model and its layout"),
    ROW(groups, STRING, .blank = "none", .fallback = "none", .late = true,
        .doc = "with chakra: the JSON file that says which ranks its process groups have"),
    ROW(goal, STRING, .blank = "none", .fallback = "none", .late = true,
        .doc = "a GOAL schedule, text or binary, that is executed in place of a model"),
    ROW(unit, QUANTITY, .dim = TY_DIM_SECONDS, .min = 1e-15, .max = 1, .fallback = "1 ns",
        .late = true, .doc = "with goal: what one unit of its calculations takes"),
};
const uint32_t ty_n_workload_fields = TY_COUNT(ty_workload_fields);

static bool is_given(const struct ty_section *section, uint32_t field)
{
    const enum ty_origin_kind kind = section->origins[field].kind;
    return kind == TY_ORIGIN_FILE || kind == TY_ORIGIN_COMMAND;
}

/* A trace says what these sections would. */
static int refuse_sections(const struct ty_config *c, struct ty_err *err)
{
    static const enum ty_section_index sections[] = {TY_SECTION_MODEL, TY_SECTION_LAYOUT,
                                                     TY_SECTION_FRAMEWORK, TY_SECTION_SCHEDULE};
    int rc = 0;
    for (size_t i = 0; i < TY_COUNT(sections); i++) {
        const struct ty_section *s = &c->sections[sections[i]];
        for (uint32_t k = 0; k < s->n_fields; k++) {
            if (is_given(s, k)) {
                rc = ty_fail_at(err, TY_EINPUT, &s->origins[k].at,
                                "%s.%s: the trace of workload defines what ranks do; leave this "
                                "out, or the section workload",
                                s->name, s->fields[k].key);
            }
        }
    }
    return rc;
}

static int read_trace(struct ty_config *c, struct ty_traced *job, struct ty_err *err)
{
    const struct ty_section *section = &c->sections[TY_SECTION_WORKLOAD];
    const struct ty_workload_options *w = &c->workload;
    const char *key = w->chakra != NULL ? "chakra" : "goal";
    const struct ty_place at = ty_section_place(section, key);
    const char *path = ty_config_beside(c, &at, w->chakra != NULL ? w->chakra : w->goal);
    const char *groups = w->groups != NULL ? ty_config_beside(c, &at, w->groups) : NULL;
    if (path == NULL || (w->groups != NULL && groups == NULL)) {
        return ty_fail_memory(err);
    }
    if (w->goal != NULL) {
        return ty_traced_read_goal(job, path, 1e12 * w->unit, &c->arena, err);
    }
#ifdef TY_WITH_PROTOBUF
    return ty_traced_read_chakra(job, path, groups, &c->arena, err);
#else
    return ty_fail_at(err, TY_EINPUT, &at,
                      "workload.chakra: this trainyard was built without protobuf-c; install "
                      "libprotobuf-c-dev and protobuf-c-compiler and build it again");
#endif
}

/* Ranks are what a pipeline of so many stages has: each does something of its own. */
static void lay_out(struct ty_config *c, const struct ty_traced *job)
{
    struct ty_layout *l = &c->layout;
    const char *slash = strrchr(job->name, '/');
    c->arch.name = slash != NULL ? slash + 1 : job->name;
    c->arch.layers = c->arch.sequence = 1;
    l->tensor = l->context = l->data = l->expert = l->expert_tensor = 1;
    l->pipeline = l->ranks = job->n_ranks;
    l->micro_batch = l->micro_batches = l->global_batch = 1;
}

/* What is asked of a run that a trace cannot do. */
static int refuse_options(const struct ty_config *c, struct ty_err *err)
{
    const struct ty_section *s = &c->sections[TY_SECTION_RUN];
    const struct {
        const char *key, *why;
        bool given;
    } rows[] = {
        {"steps", "a trace is executed once; leave it out", c->run.steps != 1},
        {"routing", "a trace has no tokens; leave it out", strcmp(c->run.routing, "balanced") != 0},
        {"lengths", "a trace has no tokens; leave it out", strcmp(c->run.lengths, "whole") != 0},
        {"detail", "collectives of a trace are flows; leave it out, or bring them as GOAL",
         c->run.detail == TY_RUN_STEPS},
    };
    int rc = 0;
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const struct ty_place at = ty_section_place(s, rows[i].key);
        rc = rows[i].given ? ty_fail_at(err, TY_EINPUT, &at, "run.%s: %s", rows[i].key, rows[i].why)
                           : rc;
    }
    return rc;
}

static int load_workload(struct ty_config *c, struct ty_err *err)
{
    const struct ty_section *section = &c->sections[TY_SECTION_WORKLOAD];
    const struct ty_workload_options *w = &c->workload;
    const struct ty_place at = ty_section_place(section, w->chakra != NULL ? "chakra" : "goal");
    struct ty_traced *job = ty_arena_array(&c->arena, struct ty_traced, 1);
    if (w->chakra != NULL && w->goal != NULL) {
        return ty_fail_at(err, TY_EINPUT, &at,
                          "workload.chakra: workload.goal is another trace; name one of them");
    }
    int rc = refuse_sections(c, err);
    rc = rc < 0 || c->failed[TY_SECTION_RUN] ? rc : refuse_options(c, err);
    if (rc == 0) {
        rc = job != NULL ? read_trace(c, job, err) : ty_fail_memory(err);
        if (rc < 0) {
            ty_hint_named(err, w->chakra != NULL ? "workload.chakra" : "workload.goal", &at);
        }
    }
    if (rc == 0 && job->n_ranks > ty_cluster_gpus(&c->cluster)) {
        rc = ty_fail_at(err, TY_EINPUT, &at,
                        "%s: %u ranks, and the cluster has %u GPUs; write more cluster.nodes",
                        job->name, (unsigned)job->n_ranks, (unsigned)ty_cluster_gpus(&c->cluster));
    }
    if (rc == 0) {
        lay_out(c, job);
        c->workload.job = job;
    }
    return rc;
}

/* Reads the trace that the section workload names, and lays its ranks out. */
static void loader_workload(struct ty_loader *l)
{
    struct ty_config *c = l->config;
    if (l->open) {
        const struct ty_place at = c->sections[TY_SECTION_WORKLOAD].at;
        ty_loader_note(l, TY_SECTION_WORKLOAD,
                       ty_fail_at(l->err, TY_EINPUT, &at,
                                  "workload: a trace is laid out already; there is nothing to "
                                  "plan"));
    } else if (!c->failed[TY_SECTION_WORKLOAD] && !c->failed[TY_SECTION_CLUSTER]) {
        ty_loader_note(l, TY_SECTION_WORKLOAD, load_workload(c, l->err));
    }
}

/* ---- the traces that are asked for ---- */

/* Checks formats and paths of traces, each at its own place in the list. */
static void loader_output(struct ty_loader *l)
{
    const struct ty_config *c = l->config;
    struct ty_place at = ty_section_place(&c->sections[TY_SECTION_OUTPUT], "trace");
    for (uint32_t i = 0; i < c->output.trace.n && !c->failed[TY_SECTION_OUTPUT]; i++) {
        const struct ty_trace_format *format;
        const char *path;
        struct ty_err why;
        ty_err_init(&why);
        if (ty_trace_target("output.trace:", c->output.trace.item[i], &format, &path, &why) < 0) {
            at.line = c->output.trace.at[i].line;
            at.col = c->output.trace.at[i].col;
            ty_loader_note(l, TY_SECTION_OUTPUT,
                           ty_fail_at(l->err, TY_EINPUT, &at, "%s", why.text));
        }
    }
}

/* ---- run.routing, and the file that it may name ---- */

/* Of a job the run file's own model may be the one that has experts. */
static int check_experts(const struct ty_config *c, const struct ty_place *at, struct ty_err *err)
{
    if (ty_arch_is_moe(&c->arch) || c->job_at.line != 0) {
        return 0;
    }
    return ty_fail_at(err, TY_EINPUT, at,
                      "run.routing: the model has no experts (%s); leave this out, or set "
                      "model.experts",
                      c->run.routing);
}

/* A file has the layers from the first with experts on. */
static int check_layers(const struct ty_config *c, const struct ty_place *at, struct ty_err *err)
{
    if (c->arch.mlp_layers.n == 0) {
        return 0;
    }
    return ty_fail_at(err, TY_EINPUT, at,
                      "run.routing: %s has loads of all layers behind model.dense_layers, and "
                      "model.mlp_layers have no experts; write a distribution here",
                      c->run.routing);
}

/* Modules for multi-token prediction are layers with experts behind the last. */
static int load_file(struct ty_config *c, const struct ty_place *at, struct ty_err *err)
{
    const struct ty_token_routing_shape shape = {
        .first_layer = c->arch.dense_layers,
        .n_layers = c->arch.layers + c->arch.mtp - c->arch.dense_layers,
        .experts = c->arch.experts,
    };
    const char *path = ty_config_beside(c, at, c->routing.path);
    const int rc = path != NULL ? ty_token_routing_load(&c->routing, path, &shape, &c->arena, err)
                                : ty_fail_memory(err);
    if (rc < 0) {
        ty_hint_named(err, "run.routing", at);
    }
    return rc;
}

static int load(struct ty_config *c, struct ty_err *err)
{
    const struct ty_place at = ty_section_place(&c->sections[TY_SECTION_RUN], "routing");
    int rc = ty_token_routing_read(&c->routing, c->run.routing, &at, err);
    if (rc == 0 && c->routing.method != TY_TOKENS_BALANCED) {
        rc = check_experts(c, &at, err);
    }
    const bool file = rc == 0 && c->routing.method == TY_TOKENS_FILE && ty_arch_is_moe(&c->arch);
    rc = file ? check_layers(c, &at, err) : rc;
    return file && rc == 0 ? load_file(c, &at, err) : rc;
}

/* What run.routing says, with the file that it may name, of a model whose layers are known. */
static void loader_routing(struct ty_loader *l)
{
    struct ty_config *c = l->config;
    if (!c->failed[TY_SECTION_MODEL] && !c->failed[TY_SECTION_RUN]) {
        ty_loader_note(l, TY_SECTION_RUN, load(c, l->err));
    }
}

/* ---- run.lengths, and the file that it may name ---- */

#define SEQUENCES_MOST (1u << 22) /* of all steps, that are packed */

static int pack(struct ty_config *c, struct ty_err *err)
{
    const struct ty_place at = ty_section_place(&c->sections[TY_SECTION_RUN], "lengths");
    const struct ty_arch *a = &c->arch;
    const struct ty_packing_order order = {.seed = c->run.seed,
                                           .steps = c->run.steps,
                                           .batch = c->layout.global_batch,
                                           .sequence = a->sequence,
                                           .window = a->window,
                                           .method = c->run.packing};
    int rc = ty_lengths_read(&c->lengths, c->run.lengths, a->sequence, &at, err);
    if (rc < 0 || c->lengths.method == TY_LENGTHS_WHOLE) {
        return rc < 0 || !ty_check_given(&c->sections[TY_SECTION_RUN], "packing")
                   ? rc
                   : ty_check_fail(&c->sections[TY_SECTION_RUN], "packing", err,
                                   "%s: no documents are packed; write a run.lengths",
                                   ty_packing_words[c->run.packing].name);
    }
    if (a->attention < TY_ATTENTION_FLASH1) {
        return ty_fail_at(err, TY_EINPUT, &at,
                          "run.lengths: model.attention %s works on all pairs and masks those of "
                          "different documents; write flash2 there, or whole here",
                          ty_attention_words[a->attention].name);
    }
    if (a->index_topk > 0) {
        return ty_fail_at(
            err, TY_EINPUT, &at,
            "run.lengths: what an indexer chooses (model.index_topk) is not simulated "
            "in packed documents; write whole here");
    }
    if ((uint64_t)order.steps * order.batch > SEQUENCES_MOST) {
        return ty_fail_at(err, TY_EINPUT, &at,
                          "run.lengths: %u steps of %u sequences are too many to pack (%u at "
                          "most); write fewer run.steps",
                          (unsigned)order.steps, (unsigned)order.batch, SEQUENCES_MOST);
    }
    if (c->lengths.method == TY_LENGTHS_FILE) {
        const char *path = ty_config_beside(c, &at, c->lengths.path);
        rc = path != NULL ? ty_lengths_load(&c->lengths, path, a->sequence, &c->arena, err)
                          : ty_fail_memory(err);
        if (rc < 0) {
            ty_hint_named(err, "run.lengths", &at);
        }
    }
    rc = rc < 0 ? rc : ty_packing_make(&c->packing, &c->lengths, &order, &c->arena, err);
    c->arch.packed = rc == 0 ? c->packing.all : NULL;
    return rc;
}

/* The documents of all sequences, of a batch whose size is known. */
static void loader_lengths(struct ty_loader *l, const bool *anew)
{
    struct ty_config *c = l->config;
    const bool same = !anew[TY_SECTION_MODEL] && !anew[TY_SECTION_RUN] &&
                      c->packing.batch == c->layout.global_batch;
    if (c->failed[TY_SECTION_MODEL] || c->failed[TY_SECTION_RUN] || c->failed[TY_SECTION_LAYOUT] ||
        (same && c->packing.n > 0)) {
        return;
    }
    c->packing = (struct ty_packing){.n = 0};
    c->arch.packed = NULL;
    ty_loader_note(l, TY_SECTION_RUN, pack(c, l->err));
}

/* Checks of the cluster that need more than one value. */
static void check_cluster(struct ty_loader *l)
{
    struct ty_config *c = l->config;
    const struct ty_section *section = &c->sections[TY_SECTION_CLUSTER];
    const struct ty_field *share = ty_section_field(section, "fragmentation");
    c->cluster.overhead.split_fragmentation = is_given(section, (uint32_t)(share - section->fields))
                                                  ? c->cluster.overhead.fragmentation
                                                  : TY_SPLIT_FRAGMENTATION;
    if (!c->failed[TY_SECTION_CLUSTER]) {
        ty_loader_note(l, TY_SECTION_CLUSTER,
                       ty_cluster_check(&c->cluster, &c->sections[TY_SECTION_CLUSTER], l->err));
    }
    if (!c->failed[TY_SECTION_CLUSTER]) {
        ty_loader_note(
            l, TY_SECTION_CLUSTER,
            ty_exceptions_read(&c->cluster, &c->sections[TY_SECTION_CLUSTER], &c->arena, l->err));
    }
    if (!c->failed[TY_SECTION_CLUSTER]) {
        ty_loader_note(l, TY_SECTION_CLUSTER, ty_measured_load(c, l->err));
    }
    if (!c->failed[TY_SECTION_CLUSTER] && !c->failed[TY_SECTION_FABRIC]) {
        ty_loader_note(
            l, TY_SECTION_FABRIC,
            ty_fabric_check(&c->fabric, &c->cluster, &c->sections[TY_SECTION_FABRIC], l->err));
    }
}

/* Whether all that the layout is made of is right so far. */
static bool layout_stands(const struct ty_config *c)
{
    return !c->failed[TY_SECTION_CLUSTER] && !c->failed[TY_SECTION_MODEL] &&
           !c->failed[TY_SECTION_LAYOUT] && !c->failed[TY_SECTION_SCHEDULE];
}

/* What other sections may not say next to stages of different shape. */
static int check_unlike(const struct ty_config *c, struct ty_err *err)
{
    const char *key = c->layout.stage_tensor.n > 0 ? "stage_tensor" : "stage_data";
    const struct ty_section *section = &c->sections[TY_SECTION_LAYOUT];
    const char *what = c->schedule.custom != NULL ? "an order of your own (schedule.file)"
                       : c->run.jitter > 0        ? "run.jitter"
                                                  : NULL;
    return !c->layout.unlike || what == NULL
               ? 0
               : ty_check_fail(section, key, err,
                               "stages of different shape are not supported with %s; leave it out, "
                               "or write auto here",
                               what);
}

/* Checks of the layout that need more than one value. */
static void check_layout(struct ty_loader *l)
{
    struct ty_config *c = l->config;
    c->schedule.slices = ty_sched_slices(&c->schedule);
    c->schedule.overlaps = c->layout.framework.expert_overlap;
    c->layout.ends_together = ty_sched_of(&c->schedule)->placement != TY_PLACE_LOOPED;
    if (layout_stands(c)) {
        ty_loader_note(l, TY_SECTION_LAYOUT, ty_placement_claim(c, l->err));
    }
    if (layout_stands(c)) {
        ty_loader_note(l, TY_SECTION_LAYOUT,
                       ty_layout_finish(&c->layout, &c->sections[TY_SECTION_LAYOUT], &c->arch,
                                        &c->cluster, ty_sched_chunks(&c->schedule), l->err));
    }
    if (layout_stands(c)) {
        ty_loader_note(l, TY_SECTION_LAYOUT,
                       ty_layout_check_slices(&c->layout, &c->sections[TY_SECTION_LAYOUT], &c->arch,
                                              c->schedule.slices, l->err));
    }
    if (layout_stands(c)) {
        ty_loader_note(l, TY_SECTION_LAYOUT, check_unlike(c, l->err));
        ty_loader_note(l, TY_SECTION_LAYOUT, ty_placement_load(c, l->err));
        c->schedule.updates_away = c->layout.home.optimizer != TY_HOME_GPU;
        ty_loader_note(l, TY_SECTION_SCHEDULE,
                       ty_sched_finish(&c->schedule, &c->sections[TY_SECTION_SCHEDULE],
                                       c->layout.pipeline, c->layout.micro_batches,
                                       c->arch.sequence, l->err));
    }
}

/* Values that are left to a plan, where none is being made. */
static void refuse_left(struct ty_loader *l, const bool *anew)
{
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        const struct ty_section *s = &l->config->sections[i];
        for (uint32_t k = 0; anew[i] && k < s->n_fields; k++) {
            if (s->origins[k].searched) {
                ty_loader_note(
                    l, (enum ty_section_index)i,
                    ty_fail_at(l->err, TY_EINPUT, &s->origins[k].at,
                               "%s.%s: auto: \"trainyard plan\" with this file finds the "
                               "best value; write it, or leave the key out for %s",
                               s->name, s->fields[k].key, s->fields[k].fallback));
            }
        }
    }
}

/* Instead, for a plan: on which GPUs the job sits, which no layout changes. */
static void find_gpus(struct ty_loader *l)
{
    struct ty_config *c = l->config;
    if (layout_stands(c)) {
        ty_loader_note(l, TY_SECTION_LAYOUT, ty_placement_claim(c, l->err));
    }
    if (layout_stands(c)) {
        c->layout.ranks = c->layout.n_gpus > 0 ? c->layout.n_gpus : ty_cluster_gpus(&c->cluster);
        ty_loader_note(l, TY_SECTION_LAYOUT, ty_placement_load(c, l->err));
    }
}

/* A framework's order of ranks, where the file has none. Where nothing is new, who varies a
 * configuration has set the order. */
static void order_ranks(struct ty_config *c, const bool *anew)
{
    const struct ty_section *s = &c->sections[TY_SECTION_LAYOUT];
    struct ty_origin *from = &s->origins[ty_section_field(s, "order") - s->fields];
    const struct ty_layout *l = &c->layout;
    const bool within = l->framework.rack_pipelines && c->cluster.gpus_per_node > TY_NODE_GPUS &&
                        !ty_arch_is_moe(&c->arch) && l->stage_tensor.n + l->stage_data.n == 0;
    if (from->kind <= TY_ORIGIN_PRESET && (anew[TY_SECTION_CLUSTER] || anew[TY_SECTION_MODEL] ||
                                           anew[TY_SECTION_LAYOUT] || anew[TY_SECTION_FRAMEWORK])) {
        *from = (struct ty_origin){.kind = within ? TY_ORIGIN_PRESET : TY_ORIGIN_DEFAULT,
                                   .name = l->framework.preset,
                                   .searched = from->searched};
        c->layout.order.item[2] = within ? TY_AXIS_PIPELINE : TY_AXIS_DATA;
        c->layout.order.item[3] = within ? TY_AXIS_DATA : TY_AXIS_PIPELINE;
    }
}

/* Of what is derived for the first time. */
static void keep_given(struct ty_config *c, const bool *anew)
{
    if (anew[TY_SECTION_CLUSTER]) {
        c->given.cluster = c->cluster;
        c->given.fabric = c->fabric;
    }
    if (anew[TY_SECTION_MODEL]) {
        c->given.arch = c->arch;
    }
    c->given.layout = c->layout;
    c->given.schedule = c->schedule;
}

void ty_loader_check(struct ty_loader *l, const bool *anew)
{
    struct ty_config *c = l->config;
    order_ranks(c, anew);
    keep_given(c, anew);
    if (!l->open) {
        refuse_left(l, anew);
    }
    if (anew[TY_SECTION_CLUSTER]) {
        check_cluster(l);
    }
    if (ty_config_is_traced(c)) {
        loader_workload(l);
        loader_output(l);
        return;
    }
    if (anew[TY_SECTION_MODEL]) {
        ty_loader_name_model(l);
    }
    if (anew[TY_SECTION_MODEL] && !c->failed[TY_SECTION_MODEL]) {
        ty_loader_note(l, TY_SECTION_MODEL,
                       ty_arch_finish(&c->arch, &c->sections[TY_SECTION_MODEL], l->err));
    }
    loader_lengths(l, anew);
    (l->open ? find_gpus : check_layout)(l);
    if (anew[TY_SECTION_MODEL] || anew[TY_SECTION_RUN]) {
        loader_routing(l);
    }
    if (anew[TY_SECTION_OUTPUT]) {
        loader_output(l);
    }
    if (anew[TY_SECTION_FLEET]) {
        ty_loader_note(
            l, TY_SECTION_FLEET,
            ty_fleet_check(&c->fleet, &c->sections[TY_SECTION_FLEET], &c->arena, l->err));
    }
    if (l->code == 0) { /* of values that stand */
        ty_loader_note(l, TY_SECTION_UNCERTAINTY, ty_uncertain_check(c, l->err));
    }
}
