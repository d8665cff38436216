/* sizes.c - how much a communication carries, by the operator that issued it.
 *
 * PyTorch writes sizes on NCCL's kernels since 2.2. Before, and where symmetric memory is used, the
 * tensors are among the arguments of what launched the kernel (record_shapes=True): of c10d's
 * operator (torch/csrc/distributed/c10d/Ops.cpp), or of the mark of the process group, whose
 * arguments are the input. An argument is a tensor or a list of some. Schemas are from memory. */
#include <string.h>

#include "sim/profile/read/read.h"
#include "sim/profile/read/words.h"

/* Where an operator has what one rank gives, or, with `output`, what one rank gets. */
static const struct issuer {
    const char *name; /* its beginning */
    uint8_t argument;
    bool output;
} issuers[] = {
    {"c10d::allgather_", 1, false},     {"c10d::_allgather_base_", 1, false},
    {"c10d::reduce_scatter_", 0, true}, {"c10d::_reduce_scatter_base_", 1, false},
    {"c10d::alltoall_", 1, false},      {"c10d::allreduce_", 0, false},
    {"c10d::broadcast_", 0, false},     {"c10d::send", 0, false},
    {"c10d::recv_", 0, false},          {"nccl:", 0, false},
    {"record_param_comms", 0, false},   {"symm_mem::", 0, false},
};

/* What a kernel that reduces has in its name: "ncclKernel_AllReduce_RING_LL_Sum_float(...)",
 * "ncclDevKernel_AllReduce_Sum_bf16_RING_LL". Others are called by bytes whatever they carry. */
static uint8_t bytes_in_name(const char *kernel)
{
    static const struct ty_profile_words types[] = {
        {4, {"_Sum_float", "_Sum_f32"}},
        {2, {"_Sum_half", "_Sum_f16", "_Sum___nv_bfloat16", "_Sum_bf16", "_Sum_hip_bfloat16"}},
        {2, {"_Sum___half"}},
        {8, {"_Sum_double", "_Sum_f64"}},
    };
    const bool reduces = strstr(kernel, "Reduce") != NULL;
    return (uint8_t)(reduces ? ty_profile_meaning(types, TY_COUNT(types), TY_MATCH_PART, kernel, 0)
                             : 0);
}

/* Both sides of one rank, by what one of them is. */
static void take_side(struct ty_profile_comm *comm, uint8_t coll, uint64_t n, bool output)
{
    const uint64_t ranks = comm->group_size > 0 ? comm->group_size : 1;
    const bool grows = coll == TY_PROFILE_COLL_ALL_GATHER;
    const bool shrinks = coll == TY_PROFILE_COLL_REDUCE_SCATTER;
    comm->in_nelems = output && shrinks ? n * ranks : output && grows ? n / ranks : n;
    comm->out_nelems = output ? n : grows ? n * ranks : shrinks ? n / ranks : n;
    /* what many ranks share needs their number */
    const bool whole = output ? shrinks : grows;
    comm->has_size = !whole || comm->group_size > 0;
}

static void take_size(struct ty_profile_comm *comm, uint8_t coll, const struct issuer *issuer,
                      const char *dims, const char *types)
{
    char type[64];
    const uint64_t n = ty_profile_elements(dims, issuer->argument, 0);
    if (!comm->has_size && n > 0) {
        take_side(comm, coll, n, issuer->output);
    }
    if (comm->element_B == 0) {
        comm->element_B =
            ty_profile_element_bytes(ty_profile_line(types, issuer->argument, type, sizeof(type)));
    }
}

static const struct issuer *issuer_of(const char *op)
{
    for (size_t i = 0; i < TY_COUNT(issuers); i++) {
        if (ty_text_begins(op, issuers[i].name)) {
            return &issuers[i];
        }
    }
    return NULL;
}

/* From the innermost operator outwards; the first that tells something is believed. */
void ty_profile_name_comm(struct ty_profile_rank *rank, const struct ty_profile_store *store,
                          struct ty_profile_kernel *kernel)
{
    struct ty_profile_comm *comm = &rank->comms[kernel->comm];
    const char *name = store->text[kernel->name];
    bool named = comm->name != 0;
    for (uint32_t i = kernel->op; i != TY_PROFILE_NONE && !named; i = rank->ops[i].parent) {
        const char *op = store->text[rank->ops[i].name];
        named = ty_text_begins(op, "nccl:") || ty_text_begins(op, "c10d::");
        if (named) {
            kernel->coll = (uint8_t)ty_profile_coll_of("", name, op);
        }
    }
    for (uint32_t i = kernel->op; i != TY_PROFILE_NONE; i = rank->ops[i].parent) {
        const struct ty_profile_op *op = &rank->ops[i];
        const struct issuer *issuer = issuer_of(store->text[op->name]);
        if (issuer != NULL) {
            take_size(comm, kernel->coll, issuer, store->text[op->dims], store->text[op->types]);
        }
    }
    comm->element_B = comm->element_B > 0 ? comm->element_B : bytes_in_name(name);
}
