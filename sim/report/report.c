/* report.c - the reports of trainyard.h, as text. */
#include <stdio.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/words.h"
#include "sim/cli_api.h"
#include "sim/report/table.h"
#include "sim/run/jobs.h"
#include "topology/fabric/tiers.h"

#define COLUMN 40

struct tree {
    struct ty_text *text;
    int depth; /* levels above */
};

static const char *plural(uint32_t n)
{
    return n == 1 ? "" : "s";
}

/* "   `- 4 leaves       " */
static void branch(const struct tree *t, bool last, const char *label, const char *value)
{
    ty_text_add(t->text, "  ");
    for (int i = 1; i < t->depth; i++) {
        ty_text_add(t->text, "   ");
    }
    if (t->depth > 0) {
        ty_text_add(t->text, last ? "`- " : "|- ");
    }
    ty_text_add(t->text, "%s", label);
    if (value[0] != '\0') {
        ty_text_pad(t->text, COLUMN);
        ty_text_add(t->text, "%s", value);
    }
    ty_text_add(t->text, "\n");
}

static void switches(struct tree *t, const struct ty_fabric_shape *s,
                     const struct ty_fabric_options *o)
{
    char label[128], value[128], rails[64] = "";
    branch(t, true, s->pods > 0 ? "core" : "spine", "");
    t->depth++;
    if (s->rails > 1) {
        snprintf(rails, sizeof(rails), " a rail");
    }
    if (s->pods > 0) {
        snprintf(label, sizeof(label), "%u pods of %u lea%s%s", (unsigned)s->pods,
                 (unsigned)s->pod_blocks, s->pod_blocks == 1 ? "f" : "ves", rails);
        ty_snprintf(value, sizeof(value), "uplinks of %.4g GB/s, %g : 1", s->pod_Bps / 1e9,
                    o->pod_oversubscription);
        branch(t, true, label, value);
        t->depth++;
    }
    if (s->rails > 1) {
        snprintf(rails, sizeof(rails), ", %u on each of %u rails", (unsigned)s->blocks,
                 (unsigned)s->rails);
    }
    snprintf(label, sizeof(label), "%u leaves%s", (unsigned)(s->blocks * s->rails), rails);
    if (s->ecmp_paths > 0) {
        ty_snprintf(value, sizeof(value), "%u uplink%s of %.4g GB/s each, %g : 1",
                    (unsigned)s->spines, plural(s->spines), s->spine_Bps / 1e9,
                    o->oversubscription);
    } else {
        ty_snprintf(value, sizeof(value), "uplinks of %.4g GB/s, %g : 1", s->spine_Bps / 1e9,
                    o->oversubscription);
    }
    branch(t, true, label, value);
    t->depth++;
}

/* One switch, or one of each rail. */
static void one_switch(struct tree *t, const struct ty_fabric_shape *s)
{
    char label[64];
    snprintf(label, sizeof(label), "%u rails, a switch each", (unsigned)s->rails);
    branch(t, true, s->rails > 1 ? label : "one switch", "");
    t->depth++;
}

/* What is off the GPUs of a node. */
static void tiers(struct tree *t, const struct ty_fabric_shape *s, const struct ty_cluster *cluster)
{
    const uint32_t of = cluster->host.gpus_per_link;
    char label[64], value[96];
    snprintf(label, sizeof(label), "%u host link%s of %u GPU%s", (unsigned)s->host_links,
             plural(s->host_links), (unsigned)of, plural(of));
    ty_snprintf(value, sizeof(value), "%.4g GB/s each, both ways %.4g", cluster->host.link / 1e9,
                cluster->host.link * cluster->host.both_ways / 1e9);
    branch(t, false, label, value);
    snprintf(label, sizeof(label), "memory of %u socket%s", (unsigned)s->sockets,
             plural(s->sockets));
    ty_snprintf(value, sizeof(value), "%.4g GB/s each", ty_tiers_socket_Bps(cluster) / 1e9);
    branch(t, false, label, value);
    ty_snprintf(value, sizeof(value), "%.4g parameters/s updated", cluster->host.adam);
    branch(t, false, "processors", value);
    if (cluster->nvme.capacity > 0) {
        ty_snprintf(value, sizeof(value), "%.4g GB/s read, %.4g written, in turns",
                    cluster->nvme.read / 1e9, cluster->nvme.write / 1e9);
        branch(t, false, "drives", value);
    }
}

static void node(struct tree *t, const struct ty_fabric_shape *s, const struct ty_cluster *cluster)
{
    char label[128], value[128], on_leaf[64] = "";
    if (s->spines > 0) {
        snprintf(on_leaf, sizeof(on_leaf), ", %u on a leaf", (unsigned)s->leaf_nodes);
    }
    snprintf(label, sizeof(label), "%u node%s%s", (unsigned)s->nodes, plural(s->nodes), on_leaf);
    branch(t, true, label, "");
    t->depth++;
    if (s->nic_Bps > 0) {
        snprintf(label, sizeof(label), "%u NIC%s", (unsigned)s->nics, plural(s->nics));
        ty_snprintf(value, sizeof(value), "%.4g GB/s each", s->nic_Bps / 1e9);
        branch(t, false, label, value);
    }
    if (s->pcie_groups > 0) {
        snprintf(label, sizeof(label), "%u PCIe link%s of %u GPU%s", (unsigned)s->pcie_groups,
                 plural(s->pcie_groups), (unsigned)s->gpus_per_pcie, plural(s->gpus_per_pcie));
        ty_snprintf(value, sizeof(value), "%.4g GB/s each", s->pcie_Bps / 1e9);
        branch(t, false, label, value);
    }
    if (s->sockets > 0) {
        tiers(t, s, cluster);
    }
    snprintf(label, sizeof(label), "%u GPU%s", (unsigned)s->gpus, plural(s->gpus));
    ty_snprintf(value, sizeof(value), "NVLink of %.4g GB/s each", s->nvlink_Bps / 1e9);
    branch(t, true, label, s->nvlink_Bps > 0 ? value : "");
}

/* fabric.c: the network as a tree, with counts and capacities. */
static void report_fabric(const struct ty_run *run, struct ty_text *text)
{
    const struct ty_fabric_options *o = &run->config->fabric;
    struct ty_fabric_shape s;
    struct tree t = {.text = text};
    ty_fabric_shape_init(&s, o, &run->config->cluster);
    if (run->lowered.fabric.shape.sockets > 0) {
        ty_tiers_shape(&s, &run->config->cluster);
    }
    ty_text_add(text, "\nnetwork: ");
    if (s.nodes == 1) {
        ty_text_add(text, "none");
    } else {
        ty_text_add(text, "%s", ty_fabric_form_words[o->topology].name);
    }
    if (s.spines > 0 && s.ecmp_paths == 0) {
        ty_text_add(text, ", adaptive routing");
    } else if (s.spines > 0) {
        ty_text_add(text, ", ECMP with %u path%s between two NICs", (unsigned)s.ecmp_paths,
                    plural(s.ecmp_paths));
    }
    ty_text_add(text, " (bandwidths are of one direction, as far as communication gets them)\n");
    if (s.spines > 0) {
        switches(&t, &s, o);
    } else if (s.nodes > 1) {
        one_switch(&t, &s);
    }
    node(&t, &s, &run->config->cluster);
}

int ty_run_report_check(const char *format, struct ty_err *err)
{
    const bool table = strcmp(format, "table") == 0;
    if (table || strcmp(format, "json") == 0) {
        return table ? 0 : 1;
    }
    return ty_fail(err, TY_EUSAGE, "--stats %s: unknown; write table or json", format);
}

/* What the simulator itself would need: the timeline column and the program. */
static void describe_simulator(const struct ty_run *run, struct ty_text *t)
{
    const struct ty_program *p = run->jobs != NULL ? &run->jobs->program : &run->lowered.program;
    const double bytes = ty_run_timeline_B(p) * run->lowered.window.times;
    char tasks[64], size[64];
    ty_text_add(
        t, "\nto simulate: %s tasks in %u passes from %u blocks; timeline %s\n",
        ty_words_count((double)p->n_tasks * run->lowered.window.times, tasks, sizeof(tasks)),
        (unsigned)p->n_passes, (unsigned)p->n_blocks, ty_words_bytes(bytes, size, sizeof(size)));
}

/* The traces of the run file, and about how large they will be. */
static int describe_traces(const struct ty_run *run, struct ty_text *t, struct ty_err *err)
{
    const char *trace;
    int rc = 0;
    for (size_t i = 0; (trace = ty_config_trace(run->config, i)) != NULL && rc == 0; i++) {
        double bytes;
        char size[64], *advice = NULL;
        rc = ty_run_trace_size(run, trace, NULL, &bytes, &advice, err);
        ty_text_add(t, "trace %s: %s%s\n", trace, bytes > 0 ? "about " : "small",
                    bytes > 0 ? ty_words_bytes(bytes, size, sizeof(size)) : "");
        if (bytes > run->config->output.trace_limit) {
            ty_text_add(t, "  more than output.trace_limit: run will refuse it\n");
        }
        if (advice != NULL) {
            ty_text_add(t, "  %s\n", advice);
        }
        ty_text_free(advice);
    }
    return rc;
}

static int describe(const struct ty_run *run, struct ty_text *t, struct ty_err *err)
{
    const int fault = ty_run_schedule_check(run, err);
    if (fault < 0) {
        return fault;
    }
    ty_report_head(run, t);
    if (run->config->workload.job != NULL) {
        report_fabric(run, t);
        describe_simulator(run, t);
        return describe_traces(run, t, err);
    }
    ty_text_add(t, "parameters held by a GPU before data-parallel sharding\n");
    for (uint32_t s = 0; s < run->lowered.program.n_gangs; s++) {
        char params[64];
        ty_text_add(t, "  stage %u", (unsigned)s);
        ty_text_pad(t, 12);
        ty_text_add(t, "%s\n",
                    ty_words_count(run->lowered.stage[s].params, params, sizeof(params)));
    }
    ty_report_memory(run, t);
    int rc = ty_report_suggest(run, t, err);
    if (rc < 0) {
        return rc;
    }
    report_fabric(run, t);
    rc = ty_report_measured(run, t, err);
    if (rc < 0) {
        return rc;
    }
    ty_report_jobs_describe(run, t);
    describe_simulator(run, t);
    return run->jobs == NULL ? describe_traces(run, t, err) : 0;
}

static const struct {
    const char *name;
    int (*write)(const struct ty_run *run, struct ty_text *text, struct ty_err *err);
    bool any_time; /* it needs no execution, or checks that itself */
} reports[] = {
    {"table", ty_report_table, false},
    {"json", ty_report_json, false},
    {"brief", ty_report_brief, false},
    {"step", ty_report_step, false},
    {"suggest", ty_report_suggest, false},
    {"explain", ty_report_explain, true},
    {"check", describe, true},
    {"layers", ty_report_layers, true},
    {"traffic", ty_report_traffic, true},
};

int ty_run_report(const struct ty_run *run, const char *name, char **text, struct ty_err *err)
{
    struct ty_text t = {.data = NULL};
    size_t i = 0;
    *text = NULL;
    while (i < TY_COUNT(reports) && strcmp(name, reports[i].name) != 0) {
        i++;
    }
    if (i == TY_COUNT(reports)) {
        return ty_run_report_check(name, err);
    }
    if (!reports[i].any_time && !run->executed) {
        return ty_fail(err, TY_EUSAGE, "a report needs an executed run");
    }
    const int rc = reports[i].write(run, &t, err);
    if (rc < 0) {
        ty_text_release(&t);
        return rc;
    }
    *text = ty_text_take(&t);
    return *text != NULL ? 0 : ty_fail_memory(err);
}
