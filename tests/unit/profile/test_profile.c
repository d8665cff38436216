/* test_profile.c - PyTorch profiles: what is kept of a file. */
#include "tests/unit/profile_text.h"

#define COMM(name, coll, ts, dur, stream, seq)                                                     \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" name "\", \"pid\": 0, \"tid\": " #stream   \
    ", \"ts\": " ts ", \"dur\": " dur ", \"args\": {\"stream\": " #stream                          \
    ", \"correlation\": 0, \"Collective name\": \"" coll                                           \
    "\", \"In msg nelems\": 512, \"Out msg nelems\": 1024, \"Group size\": 2, \"dtype\": "         \
    "\"BFloat16\", \"Process Group Name\": \"0\", \"Process Group Ranks\": \"[0, 1]\", "           \
    "\"Seq\": " #seq "}}"

static const char *name_of(const struct profile_case *c, uint32_t text)
{
    return ty_profile_text(c->profile, text);
}

TEST(kernels_are_kept_in_order_of_start_in_nanoseconds)
{
    struct profile_case c;
    profile_of(
        &c, PROFILE_HEAD KERNEL("gemm", "20.5", "3.250", 7, 2) ",\n" KERNEL(
                "Memcpy HtoD (Pageable -> Device)", "10", "1", 7,
                1) ",\n" COMM("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                              "_allgather_base", "12.001", "30.9996", 16, 5) PROFILE_TAIL);
    const struct ty_profile_rank *rank = &c.profile->ranks[0];
    ck_assert_uint_eq(rank->n_kernels, 3);
    ck_assert_int_eq(c.profile->base_ns, 5000000000);
    ck_assert_str_eq(rank->gpu, "NVIDIA H100");
    ck_assert_int_eq(rank->kernels[0].start_ns, 10000);
    ck_assert_int_eq(rank->kernels[0].class, TY_PROFILE_MEMORY);
    ck_assert_int_eq(rank->kernels[1].start_ns, 12001);
    ck_assert_int_eq(rank->kernels[1].dur_ns, 31000);
    ck_assert_int_eq(rank->kernels[1].class, TY_PROFILE_COMMUNICATION);
    ck_assert_int_eq(rank->kernels[1].coll, TY_PROFILE_COLL_ALL_GATHER);
    ck_assert_int_eq(rank->kernels[2].dur_ns, 3250);
    ck_assert_str_eq(name_of(&c, rank->kernels[2].name), "gemm");
    const struct ty_profile_comm *comm = &rank->comms[rank->kernels[1].comm];
    ck_assert(comm->out_nelems == 1024 && comm->element_B == 2 && comm->seq == 5);
    const struct ty_profile_group *group = &c.profile->groups[comm->group];
    ck_assert(group->n == 2 && group->ranks[1] == 1);
    ck_assert_str_eq(name_of(&c, group->desc), "default_pg");
    profile_end(&c);
}

/* Forward, its backward on autograd's thread, recomputation inside one, the optimizer. */
static const char *const phases[] = {
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#3\", \"pid\": 4, "
    "\"tid\": 4, \"ts\": 0, \"dur\": 100}",
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"Optimizer.step#AdamW.step\", "
    "\"pid\": 4, \"tid\": 4, \"ts\": 80, \"dur\": 10}",
    OP("aten::linear", "10", "5", 1, ", \"Sequence number\": 7, \"Fwd thread id\": 0"),
    OP("aten::addmm", "11", "3", 2,
       ", \"Sequence number\": 7, \"Fwd thread id\": 0, \"Input Dims\": [[64], [8, 32], [32, 64], "
       "[]], \"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\", "
       "\"Scalar\"], \"Concrete Inputs\": [\"\", \"\", \"\", \"1\"]"),
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"autograd::engine::evaluate_function: "
    "AddmmBackward0\", \"pid\": 4, \"tid\": 9, \"ts\": 30, \"dur\": 20, \"args\": {\"External "
    "id\": 3, \"Sequence number\": 7, \"Fwd thread id\": 1}}",
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::gelu\", \"pid\": 4, \"tid\": 9, "
    "\"ts\": 31, \"dur\": 2, \"args\": {\"External id\": 4, \"Sequence number\": 1, \"Fwd thread "
    "id\": 0}}",
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 4, \"tid\": 9, \"ts\": "
    "35, \"dur\": 2, \"args\": {\"External id\": 5}}",
    OP("aten::_fused_adamw_", "81", "5", 6, ""),
    KERNEL("k_forward", "12", "1", 7, 2),
    KERNEL("k_recompute", "40", "1", 7, 4),
    KERNEL("k_backward", "50", "1", 7, 5),
    KERNEL("k_adam", "90", "1", 7, 6),
    "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 4, "
    "\"tid\": 4, \"ts\": 12.5, \"dur\": 1, \"args\": {\"correlation\": 77}}",
    KERNEL("k_late", "120", "1", 7, 77),
    KERNEL("k_nobody", "130", "1", 7, 99),
};

TEST(phases_come_from_autograd)
{
    struct profile_case c;
    profile_of_events(&c, phases, TY_COUNT(phases));
    static const struct {
        const char *kernel, *op;
        int phase;
    } expected[] = {
        {"k_forward", "aten::addmm", TY_PROFILE_FORWARD},
        {"k_recompute", "aten::gelu", TY_PROFILE_RECOMPUTE},
        {"k_backward", "aten::mm", TY_PROFILE_BACKWARD},
        {"k_adam", "aten::_fused_adamw_", TY_PROFILE_OPTIMIZER},
        {"k_late", "aten::addmm", TY_PROFILE_FORWARD}, /* by its correlation */
    };
    const struct ty_profile_rank *rank = &c.profile->ranks[0];
    for (size_t i = 0; i < 5; i++) {
        const struct ty_profile_kernel *k = &rank->kernels[i];
        ck_assert_str_eq(name_of(&c, k->name), expected[i].kernel);
        ck_assert_uint_ne(k->op, TY_PROFILE_NONE);
        ck_assert_str_eq(name_of(&c, rank->ops[k->op].name), expected[i].op);
        ck_assert_int_eq(k->phase, expected[i].phase);
        ck_assert_uint_eq(k->step, 0); /* also that of the kernel that ran after its end */
    }
    ck_assert_uint_eq(rank->kernels[5].op, TY_PROFILE_NONE);
    ck_assert_uint_eq(rank->n_unlinked, 1);
    ck_assert_uint_eq(rank->steps[0].number, 3);
    const struct ty_profile_op *mm = &rank->ops[rank->kernels[2].op];
    const struct ty_profile_op *node = &rank->ops[mm->parent];
    ck_assert_uint_ne(node->forward, TY_PROFILE_NONE);
    const struct ty_profile_op *forward = &rank->ops[node->forward];
    ck_assert_str_eq(name_of(&c, forward->name), "aten::addmm");
    uint64_t dim[TY_PROFILE_DIMS];
    char word[40];
    ck_assert_int_eq(ty_profile_dims(name_of(&c, forward->dims), 2, TY_PROFILE_NONE, dim), 2);
    ck_assert(dim[0] == 32 && dim[1] == 64);
    ck_assert_str_eq(ty_profile_line(name_of(&c, forward->types), 3, word, sizeof(word)), "Scalar");
    ck_assert_str_eq(ty_profile_line(name_of(&c, forward->values), 3, word, sizeof(word)), "1");
    ck_assert_str_eq(ty_profile_line(name_of(&c, forward->values), 4, word, sizeof(word)), "");
    profile_end(&c);
}

/* The forward of an operator, with so many others of its sequence number between them. */
static uint32_t forward_behind(uint32_t n)
{
    static const char first[] =
        PROFILE_HEAD OP("aten::mm", "1", "1", 1, ", \"Sequence number\": 5");
    static const char other[] = "," OP("aten::empty", "3", "0", 3, ", \"Sequence number\": 5");
    static const char last[] =
        "," OP("MmBackward0", "5", "1", 2,
               ", \"Sequence number\": 5, \"Fwd thread id\": 1") "," KERNEL("a", "8", "1", 7,
                                                                            1) "," KERNEL("b", "9",
                                                                                          "1", 7, 2)
            PROFILE_TAIL;
    char *text = malloc(sizeof(first) + n * sizeof(other) + sizeof(last));
    struct profile_case c;
    ck_assert_ptr_nonnull(text);
    char *p = stpcpy(text, first);
    for (uint32_t i = 0; i < n; i++) {
        p = stpcpy(p, other);
    }
    strcpy(p, last);
    profile_of(&c, text);
    ck_assert_uint_eq(c.profile->ranks[0].n_ops, 2);
    const uint32_t forward = c.profile->ranks[0].ops[1].forward;
    profile_end(&c);
    free(text);
    return forward;
}

TEST(few_operators_of_one_sequence_number_are_looked_at)
{
    ck_assert_uint_eq(forward_behind(900), 0);
    ck_assert_uint_eq(forward_behind(1100), TY_PROFILE_NONE);
}

TEST(arguments_are_found_in_lists_too)
{
    uint64_t dim[TY_PROFILE_DIMS];
    static const char dims[] = "[[[4],[2,3]],[],[5,6,7]]";
    ck_assert_int_eq(ty_profile_dims(dims, 0, 1, dim), 2);
    ck_assert(dim[0] == 2 && dim[1] == 3);
    ck_assert_int_eq(ty_profile_dims(dims, 0, 2, dim), -1);
    ck_assert_int_eq(ty_profile_dims(dims, 0, TY_PROFILE_NONE, dim), -1);
    ck_assert_int_eq(ty_profile_dims(dims, 1, TY_PROFILE_NONE, dim), 0);
    ck_assert_int_eq(ty_profile_dims(dims, 2, TY_PROFILE_NONE, dim), 3);
    ck_assert_int_eq(ty_profile_dims(dims, 3, TY_PROFILE_NONE, dim), -1);
    ck_assert_int_eq(ty_profile_dims("", 0, TY_PROFILE_NONE, dim), -1);
}

TEST(elements_of_a_list_are_those_of_its_tensors)
{
    static const char dims[] = "[[4,5],[[4,5],[7],[]],[],[18446744073709551615,2],[0,3]]";
    ck_assert_uint_eq(ty_profile_elements(dims, 0, 1), 20);
    ck_assert_uint_eq(ty_profile_elements(dims, 1, 1), 28);
    ck_assert_uint_eq(ty_profile_elements(dims, 1, 0), 27);
    for (uint32_t i = 2; i < 6; i++) { /* no tensor, too many, none, no argument */
        ck_assert_uint_eq(ty_profile_elements(dims, i, 1), 0);
    }
}

/* Steps that trainyard names as cut; others are whole, and who has none of that number stays so. */
TEST(steps_that_are_not_whole_are_known)
{
    struct profile_case c;
    profile_of(&c, "{\"traceEvents\": ["
                   "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"a\", \"ts\": 1, \"dur\": 1, "
                   "\"args\": {\"stream\": 7, \"step\": 4}},"
                   "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"b\", \"ts\": 3, \"dur\": 1, "
                   "\"args\": {\"stream\": 7, \"step\": 5}}], \"trainyardCutSteps\": [5, 6]}");
    const struct ty_profile_rank *rank = &c.profile->ranks[0];
    ck_assert_uint_eq(rank->n_steps, 2);
    ck_assert(rank->steps[0].number == 4 && !rank->steps[0].cut);
    ck_assert(rank->steps[1].number == 5 && rank->steps[1].cut);
    profile_end(&c);
}

/* What versions of PyTorch write differently, and what does not matter. */
TEST(what_does_no_harm_is_taken)
{
    struct profile_case c;
    profile_of(
        &c,
        "\xEF\xBB\xBF" PROFILE_HEAD
        "{\"ph\": \"M\", \"name\": \"process_labels\", \"pid\": \"Spans\", \"tid\": \"x\", \"ts\": "
        "-1, \"args\": {\"labels\": \"GPU 0\"}},\n"
        "{\"ph\": \"X\", \"cat\": \"Trace\", \"name\": \"PyTorch Profiler (0)\", \"pid\": "
        "\"Spans\", \"ts\": 1, \"dur\": 5, \"args\": {\"Op count\": 0}},\n"
        "{\"ph\": \"s\", \"id\": 3, \"cat\": \"ac2g\", \"name\": \"ac2g\", \"ts\": 1},\n"
        "{\"args\": {\"stream\": 3, \"stream\": 9, \"unknown\": {\"a\": [null, true, {}]}, "
        "\"memory bandwidth (GB/s)\": \"inf\"}, \"dur\": 1e1, \"ts\": 2.0004, \"ts\": 4.0006, "
        "\"name\": \"late \\u00e9\", \"cat\": \"kernel\", \"ph\": \"X\", \"pid\": \"0\", \"tid\": "
        "\"7\"},\n" KERNEL(
            "overlaps", "6", "1", 9,
            0) ",\n"
               "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"row\", \"pid\": 0, \"tid\": 5, "
               "\"ts\": 20, \"dur\": 1, \"args\": {}}" PROFILE_TAIL);
    const struct ty_profile_kernel *k = &c.profile->ranks[0].kernels[0];
    ck_assert_int_eq(k->start_ns, 4001);
    ck_assert_int_eq(k->dur_ns, 10000);
    ck_assert_uint_eq(k->stream, 9);
    ck_assert_str_eq(name_of(&c, k->name), "late \xC3\xA9");
    ck_assert_uint_eq(c.profile->ranks[0].n_overlaps, 1);
    ck_assert_uint_eq(c.profile->ranks[0].kernels[2].stream, 5); /* the row of the viewer */
    profile_end(&c);
}

TY_SUITE("profile")
