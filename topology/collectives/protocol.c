/* protocol.c - times rings and trees under NCCL's protocols. */
#include "topology/collectives/protocol.h"

#include <math.h>

#define KIB               1024.0
#define CHANNELS_PER_NIC  2.0         /* NCCL: one by the search for rings, then doubled */
#define SIMPLE_MESSAGE_B  (512 * KIB) /* NCCL: 4 MiB of buffer in 8 slots */
#define LL_MESSAGE_B      (64 * KIB)  /* NCCL: 512 KiB in 8 slots */
#define SIMPLE_CHANNEL_B  (32 * KIB)  /* NCCL: 512 threads of 64 B */
#define LL_CHANNEL_B      (4 * KIB)   /* NCCL: 512 threads of 8 B; of a ring, for each rank */
#define NCCL_SIMPLE_NET_S 14e-6       /* s, NCCL's step over the network by Simple */
#define LL_RATE_MAX       20e9        /* B/s, NCCL's llMaxBw: 19 to 22.5 on A100, more on Hopper */

struct ty_coll_protocol ty_coll_protocol_ring(const struct ty_cluster *cluster)
{
    return (struct ty_coll_protocol){.base_s = cluster->net.latency,
                                     .nvlink_s = cluster->nvlink.step,
                                     .net_s = cluster->net.step,
                                     .data = 1,
                                     .rate_max = HUGE_VAL,
                                     .message_B = SIMPLE_MESSAGE_B,
                                     .channel_B = SIMPLE_CHANNEL_B};
}

struct ty_coll_protocol ty_coll_protocol_tree(const struct ty_cluster *cluster)
{
    struct ty_coll_protocol p = ty_coll_protocol_ring(cluster);
    p.nvlink_s = cluster->nvlink.tree_step;
    p.net_s = cluster->net.tree_step;
    p.fills = true;
    return p;
}

/* NCCL's step by LL; where the network's own is longer than NCCL's by Simple, by so much more: a
 * guess. */
static double ll_net_s(double ll_s, double simple_s)
{
    return ll_s + fmax(0, simple_s - NCCL_SIMPLE_NET_S);
}

struct ty_coll_protocol ty_coll_protocol_ring_ll(const struct ty_cluster *cluster, uint32_t ranks)
{
    return (struct ty_coll_protocol){.base_s = 6.6e-6, /* s, NCCL tuning.cc, as are the others */
                                     .nvlink_s = 0.6e-6,
                                     .net_s = ll_net_s(2.7e-6, cluster->net.step),
                                     .data = 0.5,
                                     .rate_max = LL_RATE_MAX,
                                     .message_B = LL_MESSAGE_B,
                                     .channel_B = LL_CHANNEL_B * ranks};
}

struct ty_coll_protocol ty_coll_protocol_tree_ll(const struct ty_cluster *cluster)
{
    struct ty_coll_protocol p = ty_coll_protocol_ring_ll(cluster, 1);
    p.base_s = 6.8e-6;
    p.net_s = ll_net_s(5e-6, cluster->net.tree_step);
    return p;
}

double ty_coll_channels(const struct ty_cluster *cluster, const struct ty_reach *reach,
                        const struct ty_coll_protocol *p, double bytes)
{
    const double nic = cluster->net.nic_bandwidth * cluster->net.nic_efficiency;
    const double all = round(CHANNELS_PER_NIC * ty_coll_net_rate(cluster, reach) / nic);
    return fmax(1, fmin(all, floor(bytes / p->channel_B)));
}

double ty_coll_crossing_s(const struct ty_cluster *cluster, const struct ty_coll_protocol *p,
                          double messages, double data_B)
{
    const double long_s =
        fmin(data_B / p->data, p->message_B) > cluster->net.eager ? cluster->net.rendezvous : 0;
    return p->net_s + messages * (cluster->net.message + long_s);
}
