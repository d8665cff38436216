/* colls.c - samples of collectives and messages.
 *
 * A kernel of NCCL runs from when its rank comes until the last byte has come, so it holds the wait
 * for members that are late. The member that came last waited for nobody: the shortest duration
 * over the members of one collective (the same group, name and Seq) is what it took. Members whose
 * files are missing may have come later, so that is an upper bound until all are there.
 *
 * In files of trainyard itself a send takes as long as its bytes, a receive the latency: their sum
 * is the message. Sizes are those of nccl-tests (coll.h). */
#include <stdlib.h>
#include <string.h>

#include "sim/profile/import.h"

/* One kernel, to be found with those of the other members. */
struct member {
    uint32_t group, coll, nth; /* nth: of equal Seq on its rank */
    uint64_t seq, bytes;
    int64_t ns;
    uint32_t rank, name;
    uint32_t traffic; /* in im->traffic */
    uint64_t pair;    /* of a message: from and to; else 0 */
    bool has_seq;
};

struct collector {
    struct ty_import *im;
    struct member *members;
    uint32_t n, cap;
};

/* enum ty_coll and 1; 0 where the table has no such row. */
static const uint8_t coll_and_1[TY_PROFILE_N_COLLS] = {
    [TY_PROFILE_COLL_ALL_REDUCE] = TY_COLL_ALL_REDUCE + 1,
    [TY_PROFILE_COLL_ALL_GATHER] = TY_COLL_ALL_GATHER + 1,
    [TY_PROFILE_COLL_REDUCE_SCATTER] = TY_COLL_REDUCE_SCATTER + 1,
    [TY_PROFILE_COLL_ALL_TO_ALL] = TY_COLL_ALL_TO_ALL + 1,
    [TY_PROFILE_COLL_BROADCAST] = TY_COLL_BROADCAST + 1,
    [TY_PROFILE_COLL_SEND] = TY_COLL_SEND_RECV + 1,
    [TY_PROFILE_COLL_RECV] = TY_COLL_SEND_RECV + 1,
};

double ty_import_bus_Bps(const struct ty_import_traffic *t)
{
    if (t->best_ns <= 0 || t->ranks < 2) {
        return 0;
    }
    const double factor = ty_coll_bus_factor((enum ty_coll)(coll_and_1[t->coll] - 1), t->ranks);
    return factor * t->best_bytes / (t->best_ns * 1e-9);
}

static uint64_t bytes_of(const struct ty_profile_comm *comm, int coll)
{
    const uint64_t in = comm->in_nelems, out = comm->out_nelems, more = in > out ? in : out;
    switch (coll) {
    case TY_PROFILE_COLL_ALL_GATHER:
        return out * comm->element_B;
    case TY_PROFILE_COLL_REDUCE_SCATTER:
    case TY_PROFILE_COLL_ALL_TO_ALL:
        return in * comm->element_B;
    default:
        return more * comm->element_B;
    }
}

/* Nodes that the members are on; 0: not known. */
static uint32_t nodes_of(const struct ty_import *im, const struct ty_profile_group *group)
{
    uint32_t n = 0;
    for (uint32_t i = 0; group->ranks != NULL && i < group->n; i++) {
        n += i == 0 ||
             group->ranks[i] / im->gpus_per_node != group->ranks[i - 1] / im->gpus_per_node;
    }
    return n;
}

/* Whom a communication connects. */
struct reach {
    uint32_t ranks, nodes; /* nodes 0: not known */
    uint64_t pair; /* of a message: from << 32 | to; 0 otherwise and where it is not known */
};

/* Whom a message goes to or comes from, a global rank; TY_PROFILE_NONE: not known. PyTorch says the
 * other end, as a rank of the group; trainyard both, as global ranks. */
static uint32_t other_end(const struct ty_profile_comm *comm, const struct ty_profile_group *group,
                          bool sends)
{
    const uint32_t other = sends ? comm->dst : comm->src;
    if (comm->src != TY_PROFILE_NONE && comm->dst != TY_PROFILE_NONE) {
        return other;
    }
    const bool named = group != NULL && group->ranks != NULL && other < group->n;
    return named ? group->ranks[other] : TY_PROFILE_NONE;
}

static struct reach reach_of(const struct ty_import *im, uint32_t rank, int coll,
                             const struct ty_profile_comm *comm,
                             const struct ty_profile_group *group)
{
    const bool sends = coll == TY_PROFILE_COLL_SEND;
    struct reach reach = {
        .ranks = group != NULL && group->n > 0 ? group->n : comm->group_size,
        .nodes = group != NULL ? nodes_of(im, group) : 0,
    };
    if (!sends && coll != TY_PROFILE_COLL_RECV) {
        return reach;
    }
    const uint32_t other = other_end(comm, group, sends);
    reach.ranks = 2;
    if (other != TY_PROFILE_NONE && other != rank) {
        const uint64_t from = sends ? rank : other, to = sends ? other : rank;
        reach.pair = from << 32 | to;
        reach.nodes = from / im->gpus_per_node == to / im->gpus_per_node ? 1 : 2;
    } else {
        reach.nodes = reach.nodes == 1 ? 1 : 0;
    }
    return reach;
}

static int find_traffic(struct ty_import *im, uint32_t coll, uint32_t desc,
                        const struct reach *reach, uint32_t *out)
{
    const uint32_t key[] = {coll, desc, reach->ranks, reach->nodes};
    const uint32_t number = ty_profile_intern(&im->traffics, (const char *)key, sizeof(key));
    if (number == TY_PROFILE_NONE ||
        !TY_PROFILE_GROW(im->traffic, im->n_traffic, im->cap_traffic)) {
        return ty_fail_memory(im->err);
    }
    if (number > im->n_traffic) {
        im->traffic[im->n_traffic++] = (struct ty_import_traffic){
            .coll = (int)coll, .desc = desc, .ranks = reach->ranks, .nodes = reach->nodes};
    }
    *out = number - 1;
    return 0;
}

/* ---- kernels ---- */

/* Why a kernel is not in the table, by what is known of it. */
static enum ty_import_reason reason_of(const struct ty_profile_kernel *k, uint64_t bytes,
                                       const struct ty_profile_group *group,
                                       const struct reach *reach)
{
    if (coll_and_1[k->coll] == 0) {
        return TY_IMPORT_NO_ROW;
    }
    if (bytes == 0) {
        return TY_IMPORT_NO_SIZE;
    }
    if (group == NULL || reach->nodes == 0) {
        return TY_IMPORT_NO_GROUP;
    }
    return reach->ranks < 2 ? TY_IMPORT_ALONE : TY_IMPORT_TOLD;
}

static int take(struct collector *c, uint32_t r, const struct ty_profile_kernel *k)
{
    struct ty_import *im = c->im;
    const struct ty_profile_comm *comm = &im->profile->ranks[r].comms[k->comm];
    const struct ty_profile_group *group =
        comm->group != TY_PROFILE_NONE ? &im->profile->groups[comm->group] : NULL;
    const struct reach reach = reach_of(im, im->profile->ranks[r].rank, k->coll, comm, group);
    const uint64_t bytes = comm->has_size ? bytes_of(comm, k->coll) : 0;
    const enum ty_import_reason reason = reason_of(k, bytes, group, &reach);
    uint32_t traffic = 0;
    int rc = find_traffic(im, k->coll, group != NULL ? group->desc : 0, &reach, &traffic);
    if (rc < 0) {
        return rc;
    }
    im->traffic[traffic].count++;
    im->traffic[traffic].gpu_ns += k->dur_ns;
    im->traffic[traffic].bytes += (double)bytes;
    if (reason != TY_IMPORT_TOLD) {
        return ty_import_add_left(im, k->name, reason, true, k->dur_ns, 1);
    }
    if (!TY_PROFILE_GROW(c->members, c->n, c->cap)) {
        return ty_fail_memory(im->err);
    }
    c->members[c->n] = (struct member){.group = comm->group,
                                       .coll = coll_and_1[k->coll] - 1u,
                                       .seq = comm->has_seq ? comm->seq : c->n,
                                       .has_seq = comm->has_seq,
                                       .bytes = bytes,
                                       .nth = c->n, /* as they come */
                                       .ns = k->dur_ns,
                                       .rank = r,
                                       .name = k->name,
                                       .traffic = traffic,
                                       .pair = reach.pair};
    c->n++;
    return 0;
}

/* What the members of a collective have in common, but for `nth`. */
static int common_order(const struct member *x, const struct member *y)
{
    return 32 * TY_ORDER(x->group, y->group) + 16 * TY_ORDER(x->coll, y->coll) +
           8 * TY_ORDER(x->has_seq, y->has_seq) + 4 * TY_ORDER(x->pair, y->pair) +
           2 * TY_ORDER(x->seq, y->seq) + TY_ORDER(x->bytes, y->bytes);
}

static int by_rank(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    return 4 * common_order(x, y) + 2 * TY_ORDER(x->rank, y->rank) + TY_ORDER(x->nth, y->nth);
}

static int by_collective(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    return 4 * common_order(x, y) + 2 * TY_ORDER(x->nth, y->nth) + TY_ORDER(x->rank, y->rank);
}

/* members[0 .. n) are of one collective. */
static int sample(struct collector *c, const struct member *members, uint32_t n)
{
    struct ty_import *im = c->im;
    const bool message = members->coll == TY_COLL_SEND_RECV;
    const struct ty_import_traffic *t = &im->traffic[members->traffic];
    struct ty_import_sample out = {.key = {.op = TY_IMPORT_COLL + (int32_t)members->coll,
                                           .dim = {t->ranks, t->nodes, members->bytes},
                                           .parts = 1},
                                   .name = members->name,
                                   .ns = members->ns,
                                   .members = n};
    for (uint32_t i = 0; i < n; i++) {
        out.gpu_ns += members[i].ns;
        out.ns = members[i].ns < out.ns ? members[i].ns : out.ns;
    }
    if (message && im->profile->own) {
        out.ns = out.gpu_ns;
    }
    if ((message && im->profile->own && n != 2) || out.ns <= 0) {
        return ty_import_add_left(im, members->name, TY_IMPORT_NO_END, true, out.gpu_ns, n);
    }
    im->traffic[members->traffic].best_ns += (double)out.ns;
    im->traffic[members->traffic].best_bytes += (double)members->bytes;
    return ty_import_add_sample(im, &out);
}

static int take_all(struct collector *c)
{
    const struct ty_import *im = c->im;
    for (uint32_t r = 0; r < im->profile->n_ranks; r++) {
        const struct ty_profile_rank *rank = &im->profile->ranks[r];
        for (uint32_t i = 0; i < rank->n_kernels; i++) {
            const struct ty_profile_kernel *k = &rank->kernels[i];
            if (k->class == TY_PROFILE_COMMUNICATION && ty_import_kernel_chosen(im, r, k)) {
                const int rc = take(c, r, k);
                if (rc < 0) {
                    return rc;
                }
            }
        }
    }
    return 0;
}

/* Which of those that a rank issued alike each is. */
static void number(struct collector *c)
{
    qsort(c->members, c->n, sizeof(*c->members), by_rank);
    for (uint32_t i = 0, nth = 0; i < c->n; i++) {
        struct member *m = &c->members[i];
        const bool again = i > 0 && m[-1].rank == m->rank && common_order(&m[-1], m) == 0;
        nth = again ? nth + 1 : 0;
        m->nth = nth;
    }
}

/* One sample of each collective that was executed; whose Seq is not known is alone. */
static int sample_all(struct collector *c)
{
    int rc = 0;
    qsort(c->members, c->n, sizeof(*c->members), by_collective);
    for (uint32_t i = 0; i < c->n && rc == 0;) {
        const struct member *first = &c->members[i];
        uint32_t n = 1;
        while (i + n < c->n && first->has_seq && common_order(first, &first[n]) == 0 &&
               first[n].nth == first->nth) {
            n++;
        }
        rc = sample(c, first, n);
        i += n;
    }
    return rc;
}

int ty_import_collectives(struct ty_import *im)
{
    struct collector c = {.im = im};
    int rc = take_all(&c);
    if (c.n > 0 && rc == 0) {
        number(&c);
        rc = sample_all(&c);
    }
    free(c.members);
    return rc;
}
