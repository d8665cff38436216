/* workload.c - reads the trace that a run file names in place of model and layout. */
#include "sim/config/workload.h"

#include <string.h>

#include "sim/base/path.h"
#include "sim/config/load.h"

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
                                "%s.%s: the trace that workload names has what ranks do; leave "
                                "this out, or the section workload",
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
                      "libprotobuf-c-dev and protobuf-c-compiler and build it anew");
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

static int load(struct ty_config *c, struct ty_err *err)
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

void ty_loader_workload(struct ty_loader *l)
{
    struct ty_config *c = l->config;
    if (l->open) {
        const struct ty_place at = c->sections[TY_SECTION_WORKLOAD].at;
        ty_loader_note(l, TY_SECTION_WORKLOAD,
                       ty_fail_at(l->err, TY_EINPUT, &at,
                                  "workload: a trace is laid out already; there is nothing to "
                                  "plan"));
    } else if (!c->failed[TY_SECTION_WORKLOAD] && !c->failed[TY_SECTION_CLUSTER]) {
        ty_loader_note(l, TY_SECTION_WORKLOAD, load(c, l->err));
    }
}
