/* words.c - what names in a PyTorch profile mean. */
#include "sim/profile/read/words.h"

#include <string.h>

#include "sim/core/program/vocabulary.h"
#include "sim/profile/read/read.h"

static bool matches(enum ty_profile_match match, const char *name, const char *word)
{
    switch (match) {
    case TY_MATCH_WHOLE:
        return strcmp(name, word) == 0;
    case TY_MATCH_BEGIN:
        return ty_text_begins(name, word);
    case TY_MATCH_PART:
        return strstr(name, word) != NULL;
    }
    return false;
}

int ty_profile_meaning(const struct ty_profile_words *rows, size_t n, enum ty_profile_match match,
                       const char *name, int otherwise)
{
    for (size_t i = 0; i < n; i++) {
        for (const char *const *word = rows[i].word; *word != NULL; word++) {
            if (matches(match, name, *word)) {
                return rows[i].meaning;
            }
        }
    }
    return otherwise;
}

#define X(id, word) word,
const char *const ty_profile_coll_words[] = {TY_PROFILE_COLLECTIVES(X)};
#undef X

/* "Collective name" of record_param_comms; torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp. */
static const struct ty_profile_words said_words[] = {
    {TY_PROFILE_COLL_ALL_REDUCE, {"allreduce", "all_reduce", "allreduce_coalesced"}},
    {TY_PROFILE_COLL_ALL_GATHER,
     {"all_gather", "allgather", "_allgather_base", "all_gather_into_tensor",
      "allgather_into_tensor_coalesced"}},
    {TY_PROFILE_COLL_REDUCE_SCATTER,
     {"reduce_scatter", "_reduce_scatter_base", "reduce_scatter_tensor",
      "reduce_scatter_tensor_coalesced"}},
    {TY_PROFILE_COLL_ALL_TO_ALL, {"all_to_all", "all_to_allv", "alltoall_base"}},
    {TY_PROFILE_COLL_BROADCAST, {"broadcast", "_broadcast_oop"}},
    {TY_PROFILE_COLL_SEND, {"send"}},
    {TY_PROFILE_COLL_RECV, {"recv"}},
};

/* In names of NCCL's kernels (before 2.19 "ncclKernel_AllReduce_RING_LL_Sum_half(...)"), and of
 * symmetric memory. */
static const struct ty_profile_words kernel_words[] = {
    {TY_PROFILE_COLL_ALL_REDUCE, {"AllReduce"}},
    {TY_PROFILE_COLL_ALL_GATHER, {"AllGather"}},
    {TY_PROFILE_COLL_REDUCE_SCATTER, {"ReduceScatter"}},
    {TY_PROFILE_COLL_BROADCAST, {"Broadcast"}},
    {TY_PROFILE_COLL_SEND_RECV, {"SendRecv"}},
    {TY_PROFILE_COLL_ALL_GATHER, {"multimem_all_gather"}},
    {TY_PROFILE_COLL_ALL_REDUCE, {"multimem_all_reduce", "shot_all_reduce"}},
};

/* Names of operators that issue them begin so: "nccl:send 0->1", "nccl:all_to_all". RCCL's kernel
 * is ncclDevKernel_Generic whatever it does. */
static const struct ty_profile_words op_words[] = {
    {TY_PROFILE_COLL_ALL_TO_ALL, {"nccl:all_to_all", "c10d::alltoall"}},
    {TY_PROFILE_COLL_SEND, {"nccl:send", "c10d::send"}},
    {TY_PROFILE_COLL_RECV, {"nccl:recv", "c10d::recv"}},
    {TY_PROFILE_COLL_ALL_REDUCE, {"nccl:all_reduce", "c10d::allreduce"}},
    {TY_PROFILE_COLL_ALL_GATHER,
     {"nccl:all_gather", "nccl:_all_gather", "c10d::allgather", "c10d::_allgather"}},
    {TY_PROFILE_COLL_REDUCE_SCATTER,
     {"nccl:reduce_scatter", "nccl:_reduce_scatter", "c10d::reduce_scatter",
      "c10d::_reduce_scatter"}},
    {TY_PROFILE_COLL_BROADCAST, {"nccl:broadcast", "c10d::broadcast"}},
};

enum ty_profile_coll ty_profile_coll_of(const char *said, const char *kernel, const char *op)
{
    int coll = TY_PROFILE_COLL_OTHER;
    if (said[0] != '\0') {
        coll = ty_profile_meaning(said_words, TY_COUNT(said_words), TY_MATCH_WHOLE, said, coll);
    } else {
        coll =
            ty_profile_meaning(kernel_words, TY_COUNT(kernel_words), TY_MATCH_PART, kernel, coll);
        coll = ty_profile_meaning(op_words, TY_COUNT(op_words), TY_MATCH_BEGIN, op, coll);
    }
    return (enum ty_profile_coll)coll;
}

/* Names of c10::ScalarType (c10/core/ScalarType.h), and as Input type has them. */
uint8_t ty_profile_element_bytes(const char *dtype)
{
    static const struct ty_profile_words types[] = {
        {1, {"Byte", "Char", "Bool", "unsigned char", "signed char", "bool"}},
        {1, {"Float8_e5m2", "Float8_e4m3fn", "Float8_e5m2fnuz", "Float8_e4m3fnuz"}},
        {1, {"c10::Float8_e4m3fn", "c10::Float8_e5m2"}},
        {2, {"Short", "Half", "BFloat16", "UInt16", "c10::BFloat16", "c10::Half", "short"}},
        {4, {"Int", "Float", "UInt32", "ComplexHalf", "float", "int"}},
        {8, {"Long", "Double", "UInt64", "ComplexFloat", "double", "long int", "long"}},
        {16, {"ComplexDouble"}},
    };
    return (uint8_t)ty_profile_meaning(types, TY_COUNT(types), TY_MATCH_WHOLE, dtype, 0);
}

/* facebookresearch/HolisticTraceAnalysis, hta/utils/utils.py, is_comm_kernel, is_memory_kernel;
 * its ^hip for AMD's communication is left out, since it takes in hipMemcpy. AMD's library keeps
 * NVIDIA's names, in some versions as a template; kernels of symmetric memory
 * (torch/csrc/distributed/c10d/CUDASymmetricMemoryOps.cu) are its neighbours. */
enum ty_profile_class ty_profile_class_of(const char *kernel)
{
    static const struct ty_profile_words begins[] = {
        {TY_PROFILE_COMMUNICATION, {"nccl", "hccl"}},
    };
    static const struct ty_profile_words parts[] = {
        {TY_PROFILE_COMMUNICATION,
         {"ncclKernel", "ncclDevKernel", "rccl", "multimem_", "one_shot_all_reduce",
          "two_shot_all_reduce"}},
    };
    static const struct ty_profile_words memory[] = {
        {TY_PROFILE_MEMORY, {"Memcpy", "Memset", "hipMemcpy", "hipMemset", "dma"}},
    };
    int class = ty_profile_meaning(memory, 1, TY_MATCH_BEGIN, kernel, TY_PROFILE_COMPUTE);
    class = ty_profile_meaning(parts, 1, TY_MATCH_PART, kernel, class);
    class = ty_profile_meaning(begins, 1, TY_MATCH_BEGIN, kernel, class);
    return (enum ty_profile_class) class;
}

enum ty_profile_phase ty_profile_phase_of(const char *word)
{
    static const enum ty_profile_phase phases[TY_N_PHASES] = {
        [TY_PHASE_FORWARD] = TY_PROFILE_FORWARD, [TY_PHASE_BACKWARD] = TY_PROFILE_BACKWARD,
        [TY_PHASE_DGRAD] = TY_PROFILE_BACKWARD,  [TY_PHASE_WGRAD] = TY_PROFILE_BACKWARD,
        [TY_PHASE_STEP] = TY_PROFILE_OPTIMIZER,
    };
    for (int i = 0; i < TY_N_PHASES; i++) {
        if (strcmp(word, ty_phase_word((enum ty_phase)i)) == 0) {
            return phases[i];
        }
    }
    return TY_PROFILE_OTHER;
}
