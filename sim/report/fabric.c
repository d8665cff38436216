/* fabric.c - the network as `check` draws it: a tree of switches, nodes and their ports.
 *
 *     network: fat-tree, adaptive routing (GB/s are of one direction)
 *       spine
 *       `- 4 leaves                      uplinks of 192 GB/s, 2 : 1
 *          `- 8 nodes, 2 on a leaf
 *             |- 8 NICs                 24 GB/s each
 *             `- 8 GPUs                 NVLink of 240 GB/s each
 *
 * Counts are of all there are, or of a node where they are below the nodes; bandwidths those that
 * links have in the simulation (topology/fabric/fabric.h), without exceptions of single parts. */
#include <stdio.h>

#include "sim/base/number_text.h"

#include "sim/report/table.h"
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

/* What lies beside the GPUs of a node. */
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

void ty_report_fabric(const struct ty_run *run, struct ty_text *text)
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
