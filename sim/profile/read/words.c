/* words.c - what names in a PyTorch profile mean. */
#include <string.h>

#include "sim/core/program/category.h"
#include "sim/profile/read/read.h"

const char *ty_profile_coll_word(int coll)
{
    static const char *const words[] = {
#define X(id, word) word,
        TY_PROFILE_COLLECTIVES(X)
#undef X
    };
    return words[coll];
}

struct word {
    const char *text;
    enum ty_profile_coll coll;
};

/* "Collective name" of record_param_comms; torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp. */
static const struct word said_words[] = {
    {"allreduce", TY_PROFILE_COLL_ALL_REDUCE},
    {"all_reduce", TY_PROFILE_COLL_ALL_REDUCE},
    {"allreduce_coalesced", TY_PROFILE_COLL_ALL_REDUCE},
    {"all_gather", TY_PROFILE_COLL_ALL_GATHER},
    {"allgather", TY_PROFILE_COLL_ALL_GATHER},
    {"_allgather_base", TY_PROFILE_COLL_ALL_GATHER},
    {"all_gather_into_tensor", TY_PROFILE_COLL_ALL_GATHER},
    {"allgather_into_tensor_coalesced", TY_PROFILE_COLL_ALL_GATHER},
    {"reduce_scatter", TY_PROFILE_COLL_REDUCE_SCATTER},
    {"_reduce_scatter_base", TY_PROFILE_COLL_REDUCE_SCATTER},
    {"reduce_scatter_tensor", TY_PROFILE_COLL_REDUCE_SCATTER},
    {"reduce_scatter_tensor_coalesced", TY_PROFILE_COLL_REDUCE_SCATTER},
    {"all_to_all", TY_PROFILE_COLL_ALL_TO_ALL},
    {"all_to_allv", TY_PROFILE_COLL_ALL_TO_ALL},
    {"alltoall_base", TY_PROFILE_COLL_ALL_TO_ALL},
    {"broadcast", TY_PROFILE_COLL_BROADCAST},
    {"_broadcast_oop", TY_PROFILE_COLL_BROADCAST},
    {"send", TY_PROFILE_COLL_SEND},
    {"recv", TY_PROFILE_COLL_RECV},
};

/* In names of NCCL's kernels. Before 2.19 "ncclKernel_AllReduce_RING_LL_Sum_half(...)". */
static const struct word kernel_words[] = {
    {"AllReduce", TY_PROFILE_COLL_ALL_REDUCE},
    {"AllGather", TY_PROFILE_COLL_ALL_GATHER},
    {"ReduceScatter", TY_PROFILE_COLL_REDUCE_SCATTER},
    {"Broadcast", TY_PROFILE_COLL_BROADCAST},
    {"SendRecv", TY_PROFILE_COLL_SEND_RECV},
    {"multimem_all_gather", TY_PROFILE_COLL_ALL_GATHER}, /* of symmetric memory */
    {"multimem_all_reduce", TY_PROFILE_COLL_ALL_REDUCE},
    {"shot_all_reduce", TY_PROFILE_COLL_ALL_REDUCE},
};

/* In names of operators that issue them: "nccl:send 0->1", "nccl:all_to_all". The whole of them:
 * RCCL's kernel is ncclDevKernel_Generic whatever it does. */
static const struct word op_words[] = {
    {"nccl:all_to_all", TY_PROFILE_COLL_ALL_TO_ALL},
    {"nccl:send", TY_PROFILE_COLL_SEND},
    {"nccl:recv", TY_PROFILE_COLL_RECV},
    {"nccl:all_reduce", TY_PROFILE_COLL_ALL_REDUCE},
    {"nccl:all_gather", TY_PROFILE_COLL_ALL_GATHER},
    {"nccl:_all_gather", TY_PROFILE_COLL_ALL_GATHER},
    {"nccl:reduce_scatter", TY_PROFILE_COLL_REDUCE_SCATTER},
    {"nccl:_reduce_scatter", TY_PROFILE_COLL_REDUCE_SCATTER},
    {"nccl:broadcast", TY_PROFILE_COLL_BROADCAST},
    {"c10d::alltoall", TY_PROFILE_COLL_ALL_TO_ALL},
    {"c10d::send", TY_PROFILE_COLL_SEND},
    {"c10d::recv", TY_PROFILE_COLL_RECV},
    {"c10d::allreduce", TY_PROFILE_COLL_ALL_REDUCE},
    {"c10d::allgather", TY_PROFILE_COLL_ALL_GATHER},
    {"c10d::_allgather", TY_PROFILE_COLL_ALL_GATHER},
    {"c10d::reduce_scatter", TY_PROFILE_COLL_REDUCE_SCATTER},
    {"c10d::_reduce_scatter", TY_PROFILE_COLL_REDUCE_SCATTER},
    {"c10d::broadcast", TY_PROFILE_COLL_BROADCAST},
};

enum ty_profile_coll ty_profile_coll_of(const char *said, const char *kernel, const char *op)
{
    for (size_t i = 0; i < TY_COUNT(said_words); i++) {
        if (strcmp(said, said_words[i].text) == 0) {
            return said_words[i].coll;
        }
    }
    if (said[0] != '\0') {
        return TY_PROFILE_COLL_OTHER;
    }
    for (size_t i = 0; i < TY_COUNT(op_words); i++) {
        if (strncmp(op, op_words[i].text, strlen(op_words[i].text)) == 0) {
            return op_words[i].coll;
        }
    }
    for (size_t i = 0; i < TY_COUNT(kernel_words); i++) {
        if (strstr(kernel, kernel_words[i].text) != NULL) {
            return kernel_words[i].coll;
        }
    }
    return TY_PROFILE_COLL_OTHER;
}

/* Names of c10::ScalarType; c10/core/ScalarType.h. */
uint8_t ty_profile_element_bytes(const char *dtype)
{
    static const struct {
        const char *name;
        uint8_t bytes;
    } types[] = {
        {"Byte", 1},
        {"Char", 1},
        {"Bool", 1},
        {"Short", 2},
        {"Int", 4},
        {"Long", 8},
        {"Half", 2},
        {"BFloat16", 2},
        {"Float", 4},
        {"Double", 8},
        {"UInt16", 2},
        {"UInt32", 4},
        {"UInt64", 8},
        {"ComplexHalf", 4},
        {"ComplexFloat", 8},
        {"ComplexDouble", 16},
        {"Float8_e5m2", 1},
        {"Float8_e4m3fn", 1},
        {"Float8_e5m2fnuz", 1},
        {"Float8_e4m3fnuz", 1},
        {"c10::BFloat16", 2}, /* as Input type has them */
        {"c10::Half", 2},
        {"float", 4},
        {"double", 8},
        {"long int", 8},
        {"long", 8},
        {"int", 4},
        {"short", 2},
        {"unsigned char", 1},
        {"signed char", 1},
        {"bool", 1},
        {"c10::Float8_e4m3fn", 1},
        {"c10::Float8_e5m2", 1},
    };
    for (size_t i = 0; i < TY_COUNT(types); i++) {
        if (strcmp(dtype, types[i].name) == 0) {
            return types[i].bytes;
        }
    }
    return 0;
}

/* facebookresearch/HolisticTraceAnalysis, hta/utils/utils.py, is_comm_kernel, is_memory_kernel;
 * its ^hip for AMD's communication is left out, since it takes in hipMemcpy. AMD's library keeps
 * NVIDIA's names, in some versions as a template; kernels of symmetric memory
 * (torch/csrc/distributed/c10d/CUDASymmetricMemoryOps.cu) are its neighbours. */
enum ty_profile_class ty_profile_class_of(const char *kernel)
{
    static const char *const parts[] = {"ncclKernel", "ncclDevKernel",       "rccl",
                                        "multimem_",  "one_shot_all_reduce", "two_shot_all_reduce"};
    if (ty_text_begins(kernel, "nccl") || ty_text_begins(kernel, "hccl")) {
        return TY_PROFILE_COMMUNICATION;
    }
    for (size_t i = 0; i < TY_COUNT(parts); i++) {
        if (strstr(kernel, parts[i]) != NULL) {
            return TY_PROFILE_COMMUNICATION;
        }
    }
    const char *bare = ty_text_begins(kernel, "hip") ? kernel + strlen("hip") : kernel;
    return ty_text_begins(bare, "Memcpy") || ty_text_begins(bare, "Memset") ||
                   ty_text_begins(kernel, "dma")
               ? TY_PROFILE_MEMORY
               : TY_PROFILE_COMPUTE;
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
