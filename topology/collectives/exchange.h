/* exchange.h - dispatch and combine: tokens go to the ranks that have their experts, and back.
 *
 * A router sends a token to `top_k` of `experts`, which n ranks hold in equal stretches: rank r has
 * experts r E/n up to (r+1) E/n. What that costs are copies, and copies depend on the library:
 *
 *     all-to-all   a copy for each of its experts, wherever that is         NCCL
 *     per node     a copy for each other node that has one, over the NIC    DeepEP, HybridEP
 *                  to the GPU of the sender's place there, and from that
 *                  one over NVLink for each rank that has one
 *
 * Within a node the second is a copy for each rank. Of a combine everything runs backward, sums in
 * the place of copies: as many bytes, the other way.
 *
 * Where copies go is drawn at random: any `top_k` experts, or, where routing is limited, any
 * `group_limit` of `groups` equal stretches of experts and any `top_k` of theirs. A sender's own
 * node is as likely as any. Expectations are exact.
 *
 * Sources: DeepSeek-V3 (arXiv 2412.19437) sections 2.1.2 and 3.2.2; deepseek-ai/DeepEP; NVIDIA,
 * HybridEP (arXiv 2603.07685). */
#ifndef TY_TOPOLOGY_COLLECTIVES_EXCHANGE_H
#define TY_TOPOLOGY_COLLECTIVES_EXCHANGE_H

#include "topology/collectives/coll.h"

enum ty_exchange_method {
    TY_EXCHANGE_ALL_TO_ALL,
    TY_EXCHANGE_PER_NODE,
};

struct ty_exchange {
    enum ty_exchange_method method;
    double tokens;                /* of a rank, on average; 0: no exchange */
    double row_B;                 /* of a token, with the scales of its numbers */
    uint32_t experts, top_k;      /* 1 <= top_k <= experts */
    uint32_t groups, group_limit; /* of experts, which groups divides; either 0: not limited */
    double load;      /* what the busiest rank sends or receives over the mean; 0 and 1: balanced */
    double node_load; /* the same of the busiest node; 0: as `load` */
    uint32_t sms;     /* that its kernels take from computation; 0: what other collectives do */
    bool overlapped;  /* computation runs during it all along */
};

/* Copies of a token if it needs one for each of so many parts that has an expert of it: expected
 * number of distinct parts. Experts lie in equal stretches on the parts (nodes, ranks, experts). */
double ty_exchange_copies(const struct ty_exchange *exchange, uint32_t parts);

/* What ty_coll_cost says of a collective. Bytes are means over members, and as many come in as go
 * out; times are those of the busiest. An all-to-all is ty_coll_cost's, measured ones included. */
void ty_exchange_cost(const struct ty_cluster *cluster, const struct ty_exchange *exchange,
                      const struct ty_reach *reach, struct ty_coll_cost *out);

/* Bytes of all copies that a rank makes, those for itself included: of an all-to-all nccl-tests' S,
 * by node those that ranks receive in the end. */
double ty_exchange_bytes(const struct ty_exchange *exchange, uint32_t ranks);

bool ty_exchange_is(const struct ty_exchange *a, const struct ty_exchange *b); /* the same */

/* Share of its speed that computation during it loses: the SMs that it takes; where the library's
 * are not known, as with other collectives. */
double ty_exchange_slows(const struct ty_cluster *cluster, const struct ty_exchange *exchange,
                         bool between_nodes);

#endif
