/* fabric.c - the links of a cluster, laid out class by class.
 *
 *     NVLink   of each GPU       out, in          PCIe   of each group of GPUs   out, in
 *     NIC      of each node      out, in          leaf   of each leaf and spine  up, down
 *                                                 pod    of each pod             up, down
 * and, where something lives off GPUs, the links of hosts and drives (tiers.h).
 *
 * Classes follow each other in that order, and so do numbers of links in a list of uses. Leafs are
 * counted block by block: leaf number = block x rails + rail, as in cluster.exceptions. */
#include "topology/fabric/internal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "topology/exceptions.h"
#include "topology/fabric/tiers.h"

/* ---- host memory and drives of a node ---- */

/* Buffers of a rank are pinned in the memory of its GPU's socket. An update is the work of all
 * processors of a node, on memory of all sockets: one rank alone gets what they have (Ren et al.
 * 2021, table 4: one GPU, and 3.9e9 parameters a second), all ranks divide it. It is counted in
 * bytes of memory, TY_HOST_UPDATE_B a parameter. What writes to drives takes more of them than it
 * moves bytes, where they write slower than they read: both together then take the sum of their
 * times. */

void ty_tiers_shape(struct ty_fabric_shape *shape, const struct ty_cluster *cluster)
{
    const uint32_t of_link = cluster->host.gpus_per_link;
    shape->host_links = (shape->gpus + of_link - 1) / of_link;
    shape->sockets = cluster->host.sockets;
}

double ty_tiers_socket_Bps(const struct ty_cluster *cluster)
{
    return cluster->host.bandwidth / cluster->host.sockets;
}

static double tiers_drive_Bps(const struct ty_cluster *cluster)
{
    return fmax(cluster->nvme.read, cluster->nvme.write);
}

static void tiers_link_name(const struct ty_fabric_shape *s, enum ty_link_class class, uint32_t i,
                            const char *way, char name[TY_LINK_NAME])
{
    switch (class) {
    case TY_LINK_HOST:
    case TY_LINK_HOST_BOTH:
        (void)snprintf(name, TY_LINK_NAME, "node %u host link %u %s", i / s->host_links,
                       i % s->host_links, class == TY_LINK_HOST ? way : "both ways");
        break;
    case TY_LINK_MEMORY:
        (void)snprintf(name, TY_LINK_NAME, "node %u socket %u memory", i / s->sockets,
                       i % s->sockets);
        break;
    default:
        (void)snprintf(name, TY_LINK_NAME, "node %u %s", i,
                       class == TY_LINK_CPU ? "processors" : "drives");
    }
}

static bool is_update(struct ty_tier_move move)
{
    return move.from == TY_TIER_HOST && move.to == TY_TIER_HOST;
}

static bool crosses_link(struct ty_tier_move move)
{
    return move.from == TY_TIER_GPU || move.to == TY_TIER_GPU;
}

double ty_tiers_alone_Bps(const struct ty_fabric *f, struct ty_tier_move move)
{
    const struct ty_cluster *cluster = f->cluster;
    if (is_update(move)) {
        return fmin(TY_HOST_UPDATE_B * cluster->host.adam, cluster->host.bandwidth);
    }
    double Bps = move.from == TY_TIER_NVME ? cluster->nvme.read
                 : move.to == TY_TIER_NVME ? cluster->nvme.write
                                           : cluster->host.link;
    if (crosses_link(move) && f->shape.pcie_groups > 0) { /* the switch that the NICs are on, too */
        Bps = fmin(Bps, f->shape.pcie_Bps);
    }
    return fmin(Bps, ty_tiers_socket_Bps(cluster));
}

static void take_link(const struct ty_fabric *f, uint32_t gpu, int way, double Bps)
{
    const struct ty_fabric_shape *s = &f->shape;
    const uint32_t link =
        gpu / s->gpus * s->host_links + gpu % s->gpus / f->cluster->host.gpus_per_link;
    if (s->pcie_groups > 0) {
        ty_fabric_take(f->scratch, ty_fabric_pcie(f, gpu, way), Bps);
    }
    ty_fabric_take(f->scratch, f->first[TY_LINK_HOST] + 2 * link + (uint32_t)way, Bps);
    ty_fabric_take(f->scratch, f->first[TY_LINK_HOST_BOTH] + link, Bps);
}

/* That of the GPU's socket. */
static void take_memory(const struct ty_fabric *f, uint32_t gpu, double Bps)
{
    const struct ty_fabric_shape *s = &f->shape;
    const uint32_t socket = (uint32_t)((uint64_t)(gpu % s->gpus) * s->sockets / s->gpus);
    ty_fabric_take(f->scratch, f->first[TY_LINK_MEMORY] + gpu / s->gpus * s->sockets + socket, Bps);
}

static void take_processors(const struct ty_fabric *f, uint32_t node, double Bps)
{
    const uint32_t sockets = f->shape.sockets;
    for (uint32_t i = 0; i < sockets; i++) {
        ty_fabric_take(f->scratch, f->first[TY_LINK_MEMORY] + node * sockets + i, Bps / sockets);
    }
    ty_fabric_take(f->scratch, f->first[TY_LINK_CPU] + node, Bps);
}

int ty_tiers_flow(const struct ty_fabric *f, uint32_t gpu, struct ty_tier_move move,
                  struct ty_use_list *uses, struct ty_flow *flow, struct ty_arena *arena,
                  struct ty_err *err)
{
    const struct ty_nvme *nvme = &f->cluster->nvme;
    const double Bps = ty_tiers_alone_Bps(f, move);
    const uint32_t node = gpu / f->shape.gpus;
    double port; /* it has none of those that messages share by */
    *flow = (struct ty_flow){.weight = 1 / Bps};
    if (is_update(move)) {
        take_processors(f, node, Bps);
    } else if (crosses_link(move)) {
        take_memory(f, gpu, Bps);
        take_link(f, gpu, move.from == TY_TIER_GPU ? OUT : IN, Bps);
    } else {
        const double own = move.from == TY_TIER_NVME ? nvme->read : nvme->write;
        const double share = own / tiers_drive_Bps(f->cluster);
        take_memory(f, gpu, Bps);
        ty_fabric_take(f->scratch, f->first[TY_LINK_DRIVE] + node, Bps / share);
        flow->port_idle = 1 - share;
    }
    return ty_fabric_hand_over(f, uses, &port, arena, err);
}

#define DEAD_Bps  1.0 /* of a NIC that nothing goes through: a capacity is above zero */
#define LINKS_MAX (UINT64_C(1) << 24) /* 16 B each, and as much to work in: 0.5 GiB */

static uint32_t links_of(const struct ty_fabric_shape *s, enum ty_link_class class, uint64_t *n)
{
    const uint64_t counts[TY_N_LINK_CLASSES] = {
        [TY_LINK_NVLINK] = s->nvlink_Bps > 0 ? (uint64_t)s->nodes * s->gpus : 0,
        [TY_LINK_PCIE] = (uint64_t)s->nodes * s->pcie_groups,
        [TY_LINK_NIC] = s->nic_Bps > 0 ? (uint64_t)s->nodes * s->nics : 0,
        [TY_LINK_LEAF] = (uint64_t)s->blocks * s->rails * s->spines,
        [TY_LINK_POD] = s->pods,
        [TY_LINK_HOST] = (uint64_t)s->nodes * s->host_links,
        [TY_LINK_HOST_BOTH] = (uint64_t)s->nodes * s->host_links,
        [TY_LINK_MEMORY] = (uint64_t)s->nodes * s->sockets,
        [TY_LINK_CPU] = s->sockets > 0 ? s->nodes : 0,
        [TY_LINK_DRIVE] = s->sockets > 0 ? s->nodes : 0,
    };
    const uint64_t links = counts[class] * (ty_fabric_is_directed((uint8_t) class) ? 2 : 1);
    *n += links;
    return (uint32_t)links;
}

/* The node of link, or pair of links, i of a class. */
static uint32_t node_of(const struct ty_fabric_shape *s, enum ty_link_class class, uint32_t i)
{
    switch (class) {
    case TY_LINK_NVLINK:
        return i / s->gpus;
    case TY_LINK_PCIE:
        return i / s->pcie_groups;
    case TY_LINK_NIC:
        return i / s->nics;
    case TY_LINK_HOST:
    case TY_LINK_HOST_BOTH:
        return i / s->host_links;
    case TY_LINK_MEMORY:
        return i / s->sockets;
    case TY_LINK_CPU:
    case TY_LINK_DRIVE:
        return i;
    default:
        return TY_NO_NODE;
    }
}

/* Capacity of link pair i of a class, as share of that of its kind. */
static double share_of(const struct ty_fabric *f, enum ty_link_class class, uint32_t i)
{
    const struct ty_fabric_shape *s = &f->shape;
    switch (class) {
    case TY_LINK_NVLINK:
        return ty_exceptions_nvlink_share(f->cluster, i);
    case TY_LINK_NIC:
        return ty_exceptions_nic_share(f->cluster, i / s->nics, i % s->nics);
    case TY_LINK_LEAF:
        return ty_exceptions_leaf_share(f->cluster, i / s->spines);
    default:
        return 1;
    }
}

static void fill(struct ty_fabric *f, enum ty_link_class class, uint32_t n)
{
    const struct ty_fabric_shape *s = &f->shape;
    const double capacity[TY_N_LINK_CLASSES] = {
        [TY_LINK_NVLINK] = s->nvlink_Bps,
        [TY_LINK_PCIE] = s->pcie_Bps,
        [TY_LINK_NIC] = s->nic_Bps,
        [TY_LINK_LEAF] = s->spine_Bps,
        [TY_LINK_POD] = s->pod_Bps,
        [TY_LINK_HOST] = f->cluster->host.link,
        [TY_LINK_HOST_BOTH] = f->cluster->host.link * f->cluster->host.both_ways,
        [TY_LINK_MEMORY] = ty_tiers_socket_Bps(f->cluster),
        [TY_LINK_CPU] = TY_HOST_UPDATE_B * f->cluster->host.adam,
        [TY_LINK_DRIVE] = tiers_drive_Bps(f->cluster),
    };
    const uint32_t ways = ty_fabric_is_directed((uint8_t) class) ? 2 : 1;
    for (uint32_t i = 0; i < n; i++) {
        struct ty_link *link = &f->links[f->first[class] + i];
        *link = (struct ty_link){
            .class = (uint8_t) class,
            .node = node_of(s, class, i / ways),
            .capacity = fmax(capacity[class] * share_of(f, class, i / ways), DEAD_Bps),
        };
    }
}

static struct ty_fabric_scratch *scratch_new(const struct ty_fabric *f, struct ty_arena *arena)
{
    const struct ty_fabric_shape *s = &f->shape;
    struct ty_fabric_scratch *w = ty_arena_array(arena, struct ty_fabric_scratch, 1);
    if (w == NULL) {
        return NULL;
    }
    w->load = ty_arena_array(arena, double, f->n_links);
    w->touched = ty_arena_array(arena, uint32_t, f->n_links);
    w->slot = ty_arena_array(arena, uint32_t, s->nodes);
    w->node = ty_arena_array(arena, uint32_t, s->nodes);
    w->members = ty_arena_array(arena, uint32_t, s->nodes);
    w->rate[OUT] = ty_arena_array(arena, double, s->nodes);
    w->rate[IN] = ty_arena_array(arena, double, s->nodes);
    w->share = ty_arena_array(arena, double, (size_t)s->nodes * s->nics);
    w->on_rail = ty_arena_array(arena, uint32_t, s->rails);
    w->in_block = ty_arena_array(arena, uint32_t, s->blocks);
    w->in_pod = ty_arena_array(arena, uint32_t, s->pods + 1);
    const bool ok = w->load && w->touched && w->slot && w->node && w->members && w->rate[OUT] &&
                    w->rate[IN] && w->share && w->on_rail && w->in_block && w->in_pod;
    return ok ? w : NULL;
}

int ty_fabric_build(struct ty_fabric *fabric, const struct ty_cluster *cluster,
                    const struct ty_fabric_options *options, uint32_t nodes, bool tiers,
                    struct ty_arena *arena, struct ty_err *err)
{
    uint32_t count[TY_N_LINK_CLASSES];
    uint64_t n = 0;
    *fabric = (struct ty_fabric){.cluster = cluster};
    ty_fabric_shape_init(&fabric->shape, options, cluster);
    if (tiers) {
        ty_tiers_shape(&fabric->shape, cluster);
    }
    if (nodes > 0) {
        assert(fabric->shape.blocks == 1);
        fabric->shape.nodes = fabric->shape.leaf_nodes = nodes;
    }
    for (int i = 0; i < TY_N_LINK_CLASSES; i++) {
        fabric->first[i] = (uint32_t)n;
        count[i] = links_of(&fabric->shape, (enum ty_link_class)i, &n);
        if (n > LINKS_MAX) {
            return ty_fail(err, TY_ELIMIT,
                           "the network has more than %u million links; choose fabric.routing "
                           "adaptive, or fewer nodes",
                           (unsigned)(LINKS_MAX >> 20));
        }
    }
    fabric->n_links = (uint32_t)n;
    fabric->links = ty_arena_array(arena, struct ty_link, n);
    fabric->scratch = fabric->links != NULL ? scratch_new(fabric, arena) : NULL;
    if (fabric->scratch == NULL) {
        return ty_fail_memory(err);
    }
    for (int i = 0; i < TY_N_LINK_CLASSES; i++) {
        fill(fabric, (enum ty_link_class)i, count[i]);
    }
    return 0;
}

/* Of the whole cluster, or of so many of its nodes. */
static uint32_t links_on(const struct ty_fabric *f, enum ty_link_class class, uint32_t nodes)
{
    struct ty_fabric_shape shape = f->shape;
    uint64_t n = 0;
    shape.nodes = nodes;
    return links_of(&shape, class, &n);
}

uint32_t ty_fabric_count(const struct ty_fabric *f, enum ty_link_class class)
{
    return links_on(f, class, f->cluster->nodes);
}

const char *ty_fabric_link_name(const struct ty_fabric *f, uint32_t link, char name[TY_LINK_NAME])
{
    return ty_fabric_like_name(f, link, f->links[link].node, name);
}

const char *ty_fabric_like_name(const struct ty_fabric *f, uint32_t link, uint32_t node,
                                char name[TY_LINK_NAME])
{
    static const char *const ways[] = {"out", "in"}, *const climbs[] = {"up", "down"};
    const struct ty_fabric_shape *s = &f->shape;
    const enum ty_link_class class = (enum ty_link_class)f->links[link].class;
    const uint32_t ahead = (node - f->links[link].node) * links_on(f, class, 1);
    const unsigned i =
        (link - f->first[class] + ahead) / (ty_fabric_is_directed((uint8_t) class) ? 2 : 1);
    const int way = ty_fabric_leads_out(f, link) ? OUT : IN;
    switch (class) {
    case TY_LINK_NVLINK:
        (void)snprintf(name, TY_LINK_NAME, "gpu %u nvlink %s", i, ways[way]);
        break;
    case TY_LINK_PCIE:
        (void)snprintf(name, TY_LINK_NAME, "node %u pcie %u %s", i / s->pcie_groups,
                       i % s->pcie_groups, ways[way]);
        break;
    case TY_LINK_NIC:
        (void)snprintf(name, TY_LINK_NAME, "node %u nic %u %s", i / s->nics, i % s->nics,
                       ways[way]);
        break;
    case TY_LINK_LEAF:
        if (s->ecmp_paths > 0) {
            (void)snprintf(name, TY_LINK_NAME, "leaf %u %s spine %u", i / s->spines,
                           way == OUT ? "up to" : "down from", i % s->spines);
        } else {
            (void)snprintf(name, TY_LINK_NAME, "leaf %u %s", i / s->spines, climbs[way]);
        }
        break;
    case TY_LINK_POD:
        (void)snprintf(name, TY_LINK_NAME, "pod %u %s", i, climbs[way]);
        break;
    default:
        tiers_link_name(s, class, i, ways[way], name);
    }
    return name;
}
