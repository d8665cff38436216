/* tiers.c - the links on which GPUs, host memory and drives of a node exchange bytes.
 *
 * Buffers of a rank are pinned in the memory of its GPU's socket. An update is the work of all
 * processors of a node, on memory of all sockets: one rank alone gets what they have (Ren et al.
 * 2021, table 4: one GPU, and 3.9e9 parameters a second), all ranks divide it. It is counted in
 * bytes of memory, TY_HOST_UPDATE_B a parameter. What writes to drives takes more of them than it
 * moves bytes, where they write slower than they read: both together then take the sum of their
 * times. */
#include "topology/fabric/tiers.h"

#include <math.h>
#include <stdio.h>

#include "topology/fabric/internal.h"

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

double ty_tiers_drive_Bps(const struct ty_cluster *cluster)
{
    return fmax(cluster->nvme.read, cluster->nvme.write);
}

void ty_tiers_link_name(const struct ty_fabric_shape *s, enum ty_link_class class, uint32_t i,
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
        const double share = own / ty_tiers_drive_Bps(f->cluster);
        take_memory(f, gpu, Bps);
        ty_fabric_take(f->scratch, f->first[TY_LINK_DRIVE] + node, Bps / share);
        flow->port_idle = 1 - share;
    }
    return ty_fabric_hand_over(f, uses, &port, arena, err);
}
