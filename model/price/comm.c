/* comm.c - prices collectives: those of an operator, slot by slot, and those of buckets. */
#include "model/price/price.h"
#include "model/zero.h"
#include "topology/collectives/coll.h"

#include <math.h>

static bool of_move(const struct ty_op_move *move, enum ty_phase phase, struct ty_priced_comm *out)
{
    *out = (struct ty_priced_comm){.group = (enum ty_comm_group)move->group,
                                   .coll = (enum ty_coll)move->coll,
                                   .phase = phase,
                                   .bytes = move->bytes,
                                   .calls = 1};
    return move->bytes > 0;
}

static bool of_share(const struct ty_op_pieces *pieces, bool back, struct ty_priced_comm *out)
{
    *out = (struct ty_priced_comm){.group = TY_GROUP_TENSOR,
                                   .coll = TY_COLL_SEND_RECV,
                                   .phase = back ? TY_PHASE_BACKWARD : TY_PHASE_FORWARD,
                                   .bytes = ty_op_message_bytes(pieces, back),
                                   .calls = 1,
                                   .name = "copy",
                                   .copied = true};
    return pieces->n > 0 && (!back || pieces->scatters);
}

static bool of_round(const struct ty_op_rounds *rounds, uint32_t message,
                     struct ty_priced_comm *out)
{
    const double bytes[4] = {rounds->forward_B, rounds->first_B, rounds->middle_B, rounds->last_B};
    *out = (struct ty_priced_comm){.group = (enum ty_comm_group)rounds->group,
                                   .coll = TY_COLL_SEND_RECV,
                                   .phase = message == 0 ? TY_PHASE_FORWARD : TY_PHASE_BACKWARD,
                                   .bytes = bytes[message],
                                   .calls = 1};
    return rounds->n > 0;
}

static bool of_place(const struct ty_op_comms *comms, uint32_t item, enum ty_phase phase,
                     struct ty_priced_comm *out)
{
    const struct ty_op_comm *comm = &comms->item[item];
    *out = (struct ty_priced_comm){.group = (enum ty_comm_group)comm->group,
                                   .coll = (enum ty_coll)comm->coll,
                                   .phase = phase,
                                   .bytes = comm->bytes,
                                   .calls = comm->calls,
                                   .name = comm->name,
                                   .exchange = comm->exchange.tokens > 0 ? &comm->exchange : NULL};
    return item < comms->n;
}

bool ty_price_slot(const struct ty_unit_op *op, uint32_t slot, struct ty_priced_comm *out)
{
    if (slot < TY_COMM_ROUND) {
        return of_share(&op->pieces, slot > TY_COMM_SHARE, out);
    }
    if (slot < TY_COMM_PLACE) {
        return of_round(&op->rounds, slot - TY_COMM_ROUND, out);
    }
    if (slot < TY_COMM_STEP) {
        const uint32_t place = (slot - TY_COMM_PLACE) / TY_PLACE_COMMS;
        return of_place(&op->comms[place], (slot - TY_COMM_PLACE) % TY_PLACE_COMMS,
                        place <= TY_AFTER_FORWARD ? TY_PHASE_FORWARD : TY_PHASE_BACKWARD, out);
    }
    if (slot < TY_COMM_GRAD) {
        const uint32_t way = (slot - TY_COMM_STEP) / (TY_STEP_BLOCKS + 1);
        const uint32_t k = (slot - TY_COMM_STEP) % (TY_STEP_BLOCKS + 1);
        return of_move(k < TY_STEP_BLOCKS ? &op->steps.block[way][k] : &op->steps.sum[way],
                       way == TY_FORWARD ? TY_PHASE_FORWARD : TY_PHASE_BACKWARD, out);
    }
    return of_move(&op->grad[slot - TY_COMM_GRAD], TY_PHASE_BACKWARD, out);
}

/* NCCL moves 16 bytes at a time if the part of every rank begins at a multiple of them, else single
 * elements; to it an all-gather is one of bytes. Source: NVIDIA/nccl 2.8, ReduceOrCopyMulti in
 * common_kernel.h, ArgsCheck in argcheck.cc; issues 413 and 1281. */
static double by_elements(const struct ty_priced_comm *comm, double ranks)
{
    if (comm->unaligned <= 1) {
        return 1;
    }
    const double part_B = ceil(comm->bytes / comm->element_B / ranks) * comm->element_B;
    const double element_B = comm->coll == TY_COLL_ALL_GATHER ? 1 : comm->element_B;
    return fmod(part_B, 16) == 0 ? 1 : fmax(1, comm->unaligned / element_B);
}

/* Links are kept for as long, and carry the same bytes. */
static void take_longer(struct ty_coll_cost *cost, double times)
{
    cost->transfer_s *= times;
    cost->net_idle = 1 - (1 - cost->net_idle) / times;
    cost->port_idle = 1 - (1 - cost->port_idle) / times;
}

static void price(const struct ty_cluster *cluster, const struct ty_priced_comm *comm,
                  const struct ty_coll_algorithm *algorithm, const struct ty_reach *reach,
                  struct ty_coll_cost *out)
{
    const double copy_rate = cluster->gpu.memory_bandwidth * cluster->gpu.add_efficiency;
    if (comm->copied) {
        ty_coll_copy_cost(cluster, comm->bytes, reach, out);
    } else if (comm->exchange != NULL) {
        ty_exchange_cost(cluster, comm->exchange, reach, out);
    } else {
        ty_coll_cost(cluster, algorithm, comm->coll, comm->bytes, reach, out);
        out->latency_s += comm->rank_s * reach->ranks + comm->copies * comm->bytes / copy_rate;
        take_longer(out, by_elements(comm, reach->ranks));
    }
}

double ty_price_comm(const struct ty_cluster *cluster, const struct ty_priced_comm *comm,
                     const struct ty_reach *reach, bool alone, struct ty_coll_cost *out)
{
    struct ty_reach own = *reach;
    price(cluster, comm, NULL, &own, out);
    if (alone && own.sharing > 1) { /* the library chooses once */
        own.sharing = 1;
        price(cluster, comm, out->algorithm, &own, out);
    }
    return ty_coll_seconds(out) * (comm->calls * cluster->collectives.derate);
}

/* What ZeRO-3 adds to a collective of so many parameters. */
static struct ty_priced_comm of_shards(const struct ty_layout *layout, struct ty_priced_comm comm,
                                       double params, double element_B)
{
    const struct ty_framework *f = &layout->framework;
    comm.bytes = params * element_B;
    comm.calls = 1;
    if (layout->zero == 3) {
        comm.rank_s = f->rank_copy;
        comm.copies = f->gather_copies;
        comm.unaligned = f->unaligned_gather;
        comm.element_B = element_B;
    }
    return comm;
}

struct ty_priced_comm ty_price_reduce(const struct ty_layout *layout, enum ty_comm_group group,
                                      double params)
{
    const struct ty_zero *zero = &ty_zero_stages[layout->zero];
    const bool whole = zero->gather_after_step && !layout->framework.reduce_scatter;
    const struct ty_priced_comm comm = {.group = group,
                                        .coll = whole ? TY_COLL_ALL_REDUCE : zero->reduce,
                                        .phase = TY_PHASE_BACKWARD};
    return of_shards(layout, comm, params, ty_memory_reduced_bytes(layout));
}

struct ty_priced_comm ty_price_gather(const struct ty_layout *layout, enum ty_comm_group group,
                                      enum ty_phase phase, double params)
{
    const struct ty_priced_comm comm = {.group = group, .coll = TY_COLL_ALL_GATHER, .phase = phase};
    return of_shards(layout, comm, params, ty_memory_weight_bytes(layout));
}
