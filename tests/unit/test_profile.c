/* test_profile.c - PyTorch profiles: what is kept of them, and how wrong ones are refused. */
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

START_TEST(kernels_are_kept_in_order_of_start_in_nanoseconds)
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
END_TEST

/* Forward, its backward on autograd's thread, recomputation inside one, the optimizer. */
START_TEST(phases_come_from_autograd)
{
    struct profile_case c;
    profile_of(&c, PROFILE_HEAD
               "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#3\", "
               "\"pid\": 4, "
               "\"tid\": 4, \"ts\": 0, \"dur\": 100},\n"
               "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": "
               "\"Optimizer.step#AdamW.step\", "
               "\"pid\": 4, \"tid\": 4, \"ts\": 80, \"dur\": 10},\n" OP("aten::linear", "10", "5", 1, ", \"Sequence number\": 7, \"Fwd thread id\": 0") ",\n" OP(
                   "aten::addmm", "11", "3", 2,
                   ", \"Sequence number\": 7, \"Fwd thread id\": 0, \"Input Dims\": [[64], [8, "
                   "32], [32, "
                   "64], []], \"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\", "
                   "\"c10::BFloat16\", "
                   "\"Scalar\"], \"Concrete Inputs\": [\"\", \"\", \"\", \"1\"]") ",\n"
                                                                                  "{\"ph\": \"X\", "
                                                                                  "\"cat\": "
                                                                                  "\"cpu_op\", "
                                                                                  "\"name\": "
                                                                                  "\"autograd::"
                                                                                  "engine::"
                                                                                  "evaluate_"
                                                                                  "function: "
                                                                                  "AddmmBackward0\""
                                                                                  ", \"pid\": 4, "
                                                                                  "\"tid\": 9, "
                                                                                  "\"ts\": 30, "
                                                                                  "\"dur\": 20, "
                                                                                  "\"args\": "
                                                                                  "{\"External "
                                                                                  "id\": 3, "
                                                                                  "\"Sequence "
                                                                                  "number\": 7, "
                                                                                  "\"Fwd thread "
                                                                                  "id\": 1}},\n"
                                                                                  "{\"ph\": \"X\", "
                                                                                  "\"cat\": "
                                                                                  "\"cpu_op\", "
                                                                                  "\"name\": "
                                                                                  "\"aten::gelu\", "
                                                                                  "\"pid\": 4, "
                                                                                  "\"tid\": 9, "
                                                                                  "\"ts\": 31, "
                                                                                  "\"dur\": 2, "
                                                                                  "\"args\": "
                                                                                  "{\"External "
                                                                                  "id\": 4, "
                                                                                  "\"Sequence "
                                                                                  "number\": 1, "
                                                                                  "\"Fwd "
                                                                                  "thread id\": "
                                                                                  "0}},\n"
                                                                                  "{\"ph\": \"X\", "
                                                                                  "\"cat\": "
                                                                                  "\"cpu_op\", "
                                                                                  "\"name\": "
                                                                                  "\"aten::mm\", "
                                                                                  "\"pid\": 4, "
                                                                                  "\"tid\": 9, "
                                                                                  "\"ts\": 35, "
                                                                                  "\"dur\": 2, "
                                                                                  "\"args\": "
                                                                                  "{\"External "
                                                                                  "id\": 5}},\n" OP("aten::_fused_adamw_", "81", "5", 6, "") ",\n" KERNEL(
                                                                                      "k_forward",
                                                                                      "12", "1", 7,
                                                                                      2) ","
                                                                                         "\n" KERNEL("k_recompute", "40", "1", 7, 4) ",\n" KERNEL(
                                                                                             "k_"
                                                                                             "backw"
                                                                                             "ard",
                                                                                             "50",
                                                                                             "1", 7,
                                                                                             5) ","
                                                                                                "\n" KERNEL(
                                                                                                    "k_adam",
                                                                                                    "90",
                                                                                                    "1",
                                                                                                    7,
                                                                                                    6) ",\n"
                                                                                                       "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 4, "
                                                                                                       "\"tid\": 4, \"ts\": 12.5, \"dur\": 1, \"args\": {\"correlation\": 77}},\n" KERNEL(
                                                                                                           "k_late",
                                                                                                           "120",
                                                                                                           "1",
                                                                                                           7,
                                                                                                           77) ",\n" KERNEL("k_nobody",
                                                                                                                            "130",
                                                                                                                            "1",
                                                                                                                            7,
                                                                                                                            99)
                                                                                                           PROFILE_TAIL);
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
END_TEST

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

START_TEST(few_operators_of_one_sequence_number_are_looked_at)
{
    ck_assert_uint_eq(forward_behind(900), 0);
    ck_assert_uint_eq(forward_behind(1100), TY_PROFILE_NONE);
}
END_TEST

START_TEST(arguments_are_found_in_lists_too)
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
END_TEST

/* What versions of PyTorch write differently, and what does not matter. */
START_TEST(what_does_no_harm_is_taken)
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
        "\"7\"},\n" KERNEL("overlaps", "6", "1", 9, 0) PROFILE_TAIL);
    const struct ty_profile_kernel *k = &c.profile->ranks[0].kernels[0];
    ck_assert_int_eq(k->start_ns, 4001);
    ck_assert_int_eq(k->dur_ns, 10000);
    ck_assert_uint_eq(k->stream, 9);
    ck_assert_str_eq(name_of(&c, k->name), "late \xC3\xA9");
    ck_assert_uint_eq(c.profile->ranks[0].n_overlaps, 1);
    profile_end(&c);
}
END_TEST

/* ---- several files ---- */

#define BARE(extra) "{" extra "\"traceEvents\": [" KERNEL("k", "1", "1", 7, 1) "]}"

START_TEST(ranks_come_from_the_file_then_its_name_then_the_order)
{
    struct profile_case c;
    profile_begin(&c);
    profile_write(&c, "a.json", BARE(""), strlen(BARE("")));
    profile_write(&c, "rank-0.json", BARE(""), strlen(BARE("")));
    static const char told[] =
        BARE("\"distributedInfo\": {\"rank\": 2}, \"baseTimeNanoseconds\": 0, ");
    profile_write(&c, "rank7.json", told, sizeof(told) - 1);
    profile_write(&c, "notes.txt", "x", 1);
    profile_read(&c);
    ck_assert_msg(c.code == 0, "%s", c.err.text);
    static const char *const names[] = {"rank-0.json", "a.json", "rank7.json"};
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(c.profile->ranks[i].rank, i);
        ck_assert_ptr_nonnull(strstr(c.profile->ranks[i].file, names[i]));
    }
    ck_assert(c.profile->world == 3 && !c.profile->world_told);
    profile_end(&c);
}
END_TEST

START_TEST(times_of_files_count_from_the_earliest_base)
{
    struct profile_case c;
    profile_begin(&c);
    static const char late[] = BARE("\"baseTimeNanoseconds\": 1700000000000000700, ");
    static const char early[] = BARE("\"baseTimeNanoseconds\": 1700000000000000000, ");
    profile_write(&c, "rank1.json", late, sizeof(late) - 1);
    profile_write(&c, "rank0.json", early, sizeof(early) - 1);
    profile_read(&c);
    ck_assert_msg(c.code == 0, "%s", c.err.text);
    ck_assert_int_eq(c.profile->base_ns, 1700000000000000000);
    ck_assert_int_eq(c.profile->ranks[0].kernels[0].start_ns, 1000);
    ck_assert_int_eq(c.profile->ranks[1].kernels[0].start_ns, 1700);
    profile_end(&c);
}
END_TEST

static void refused(const struct profile_case *c, const char *said)
{
    ck_assert_int_eq(ty_exit_status(c->code), 3);
    ck_assert_msg(strstr(c->err.text, said) != NULL, "%s, not %s", c->err.text, said);
    ck_assert_ptr_null(c->profile);
}

START_TEST(files_of_one_rank_or_of_two_runs_are_refused)
{
    struct profile_case c;
    profile_begin(&c);
    profile_read(&c);
    refused(&c, "a folder without profiles");
    static const char zero[] = BARE("\"distributedInfo\": {\"rank\": 0, \"world_size\": 2}, ");
    static const char one[] = BARE("\"distributedInfo\": {\"rank\": 1, \"world_size\": 4}, ");
    profile_write(&c, "a.json", zero, sizeof(zero) - 1);
    profile_write(&c, "b.json", one, sizeof(one) - 1);
    profile_read(&c);
    refused(&c, "b.json: of a run of 4 ranks, others of 2");
    profile_write(&c, "b.json", zero, sizeof(zero) - 1);
    profile_read(&c);
    refused(&c, "b.json: of rank 0, as is ");
    profile_end(&c);
}
END_TEST

/* ---- what is wrong ---- */

#define EVENT_OF(text) PROFILE_HEAD text PROFILE_TAIL

static const struct {
    const char *text, *said;
} wrong[] = {
    {"", "a.json: empty"},
    {"  \n ", "a.json:2:2: the file ends here"},
    {"hello", "a.json:1:1: not JSON: lexical error"},
    {"3", "a.json:1:2: not a trace"},
    {"[{\"name\": \"aten::zeros\", \"ph\": \"X\"}]", "a.json:1:2: a list of events, not a Kineto"},
    {"{\"traceEvents\": []}", "a.json: no kernels of a GPU"},
    {"{\"schemaVersion\": 1}\n", "a.json:2:1: no traceEvents"},
    {"{\"traceEvents\": [1]}", "traceEvents: an event that is no object"},
    {"{\"traceEvents\": [[]]}", "traceEvents: an event that is no object"},
    {"{\"traceEvents\": [], \"traceEvents\": []}", "traceEvents: a second one"},
    {"{\"distributedInfo\": {}, \"distributedInfo\": {}}", "distributedInfo: a second one"},
    {"{\"distributedInfo\": {\"rank\": -1}}", "distributedInfo.rank: not the number of a rank"},
    {"{\"distributedInfo\": {\"rank\": 99999999999999999999}}", "distributedInfo.rank"},
    {"{\"distributedInfo\": {\"world_size\": 1.5}}", "distributedInfo.world_size"},
    {"{\"baseTimeNanoseconds\": 1e30}", "baseTimeNanoseconds: not a number"},
    {"{\"traceEvents\": [{\"ph\": \"X\"", "the file ends here, in the middle"},
    {"{\"traceEvents\": []} x", "a.json:1:"},
    {"{\"traceEvents\": [],}", "a.json:1:"},
    {"{\"traceEvents\":\n [{\"ts\": NaN}]}", "a.json:2:"},
    {"{\"a\": \"\xFF\"}", "invalid bytes in UTF8 string"},
    {"{\"a\": \"\n\"}", "a.json:1:"},
    {EVENT_OF("{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1, \"dur\": 1}"),
     "a.json:8:1: traceEvents[0].args.stream: missing"},
    {EVENT_OF("{},\n\n {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": -1, \"dur\": "
              "1, \"args\": {\"stream\": 7}}"),
     "a.json:10:2: traceEvents[1].ts: not a time (-1)"},
    {EVENT_OF(KERNEL("k", "1e400", "1", 7, 1)), "ts: not a time (1e400)"},
    {EVENT_OF(KERNEL("k", "99999999999999999999", "1", 7, 1)), "ts: not a time"},
    {EVENT_OF(KERNEL("k", "1", "-2", 7, 1)), "dur: not a time (-2)"},
    {EVENT_OF(KERNEL("k", "1", "1e15", 7, 1)), "longer than two years"},
    {EVENT_OF(KERNEL("k", "1", "3e11", 7, 1) "," KERNEL("k", "1", "3e11", 8, 1)),
     "a.json: kernels run for more than five days"},
    {EVENT_OF(KERNEL("k", "1", "1", 7, 1) "," KERNEL("k", "6e11", "1", 7, 1)),
     "a.json: from the first kernel to the last are 6e+05 s, more than five days"},
    {EVENT_OF(KERNEL("k", "\"1\"", "1", 7, 1)), "ts: not a time (1)"},
    {EVENT_OF(KERNEL("k", "{}", "1", 7, 1)), "ts: not a time ()"},
    {EVENT_OF(KERNEL("k", "1", "1", -1, 1)), "args.stream: not a stream (-1)"},
    {EVENT_OF("{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": 5, \"ts\": 1, \"dur\": 1}"),
     "name: not a text"},
    {EVENT_OF("{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"ts\": 1}"), "dur: missing"},
};

START_TEST(a_wrong_file_is_refused_with_its_place)
{
    struct profile_case c;
    profile_begin(&c);
    profile_write(&c, "a.json", wrong[_i].text, strlen(wrong[_i].text));
    profile_read(&c);
    refused(&c, wrong[_i].said);
    profile_end(&c);
}
END_TEST

START_TEST(a_file_cut_anywhere_is_refused)
{
    static const char text[] =
        PROFILE_HEAD OP("aten::mm", "1", "1", 1,
                        ", \"Input Dims\": [[1]]") ",\n" KERNEL("k", "1", "1", 7, 1) PROFILE_TAIL;
    struct profile_case c;
    profile_begin(&c);
    for (size_t n = 0; n + 2 < sizeof(text) - 1; n += 3) {
        profile_write(&c, "a.json", text, n);
        profile_read(&c);
        ck_assert_int_eq(ty_exit_status(c.code), 3);
    }
    profile_end(&c);
}
END_TEST

/* A megabyte of brackets must not cost a megabyte of stack. */
START_TEST(deep_nesting_is_refused)
{
    const size_t n = 1u << 20;
    char *text = malloc(n);
    struct profile_case c;
    profile_begin(&c);
    for (int object = 0; object < 2; object++) {
        size_t len = (size_t)sprintf(text, "{\"a\":");
        while (len + 5 < n) {
            len += (size_t)sprintf(text + len, object != 0 ? "{\"a\":" : "[");
        }
        profile_write(&c, "a.json", text, len);
        profile_read(&c);
        refused(&c, "nested more than 200 deep");
    }
    free(text);
    profile_end(&c);
}
END_TEST

/* Ten thousand operators, each inside the one before. */
START_TEST(deep_nesting_of_operators_is_refused)
{
    struct profile_case c;
    const size_t cap = 4u << 20;
    char *text = malloc(cap);
    size_t n = (size_t)sprintf(text, PROFILE_HEAD);
    for (int i = 0; i < 10000; i++) {
        n += (size_t)sprintf(text + n,
                             "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", "
                             "\"tid\": 1, \"ts\": %d, \"dur\": %d},\n",
                             i, 30000 - 2 * i);
    }
    sprintf(text + n, KERNEL("k", "1", "1", 7, 1) PROFILE_TAIL);
    profile_begin(&c);
    profile_write(&c, "a.json", text, strlen(text));
    profile_read(&c);
    refused(&c, "operators nested 9999 deep");
    free(text);
    profile_end(&c);
}
END_TEST

/* ---- compressed ---- */

static void write_gz(struct profile_case *c, const char *name, const char *text, size_t n,
                     size_t repeats)
{
    gzFile gz = gzopen(temp_dir_file(&c->dir, name), "wb9");
    for (size_t i = 0; i < repeats; i++) {
        ck_assert_int_eq(gzwrite(gz, text, (unsigned)n), (int)n);
    }
    ck_assert_int_eq(gzclose(gz), Z_OK);
}

START_TEST(a_compressed_file_is_read_and_a_damaged_one_refused)
{
    static const char text[] = PROFILE_HEAD KERNEL("k", "1", "1", 7, 1) PROFILE_TAIL;
    struct profile_case c;
    size_t n;
    profile_begin(&c);
    write_gz(&c, "a.json.gz", text, sizeof(text) - 1, 1);
    profile_read(&c);
    ck_assert_msg(c.code == 0, "%s", c.err.text);
    ck_assert_uint_eq(c.profile->ranks[0].n_kernels, 1);
    char *packed = file_text(temp_dir_file(&c.dir, "a.json.gz"), &n);
    profile_write(&c, "a.json.gz", packed, n / 2);
    profile_read(&c);
    refused(&c, "the compressed file is damaged or cut");
    packed[n / 2] = (char)~packed[n / 2];
    profile_write(&c, "a.json.gz", packed, n);
    profile_read(&c);
    ck_assert_int_eq(ty_exit_status(c.code), 3);
    free(packed);
    profile_end(&c);
}
END_TEST

/* Little that unpacks to much: blanks, one string without an end, a list of zeros. */
START_TEST(a_bomb_is_refused_before_it_fills_memory)
{
    static char blanks[1u << 20];
    struct profile_case c;
    profile_begin(&c);
    memset(blanks, ' ', sizeof(blanks));
    write_gz(&c, "a.json.gz", blanks, sizeof(blanks), 64);
    profile_read(&c);
    refused(&c, "MiB up to here without a value");
    memset(blanks, 'x', sizeof(blanks));
    memcpy(blanks, "{\"a\": \"", 7);
    write_gz(&c, "a.json.gz", blanks, sizeof(blanks), 1);
    profile_read(&c);
    refused(&c, "the file ends here");
    for (size_t i = 0; i < sizeof(blanks); i++) {
        blanks[i] = i % 2 == 0 ? '0' : ',';
    }
    gzFile gz = gzopen(temp_dir_file(&c.dir, "a.json.gz"), "wb9");
    gzputs(gz, "{\"a\": [");
    for (int i = 0; i < 300; i++) {
        gzwrite(gz, blanks, sizeof(blanks));
    }
    gzputs(gz, "0], \"traceEvents\": []}");
    ck_assert_int_eq(gzclose(gz), Z_OK);
    profile_read(&c);
    refused(&c, "a.json.gz: 200 times smaller than its content");
    profile_end(&c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile");
    TCase *all = tcase_create("profile");
    tcase_set_timeout(all, 120);
    const TTest *const tests[] = {
        kernels_are_kept_in_order_of_start_in_nanoseconds,
        phases_come_from_autograd,
        few_operators_of_one_sequence_number_are_looked_at,
        arguments_are_found_in_lists_too,
        what_does_no_harm_is_taken,
        ranks_come_from_the_file_then_its_name_then_the_order,
        times_of_files_count_from_the_earliest_base,
        files_of_one_rank_or_of_two_runs_are_refused,
        a_file_cut_anywhere_is_refused,
        deep_nesting_is_refused,
        deep_nesting_of_operators_is_refused,
        a_compressed_file_is_read_and_a_damaged_one_refused,
        a_bomb_is_refused_before_it_fills_memory,
    };
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        tcase_add_test(all, tests[i]);
    }
    tcase_add_loop_test(all, a_wrong_file_is_refused_with_its_place, 0,
                        (int)(sizeof(wrong) / sizeof(wrong[0])));
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
