/* test_profile_files.c - a profile of several files: whose each is, common clocks and groups. */
#include "tests/unit/profile_text.h"

#define COMM_OF(pg, ranks)                                                                         \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce\", \"pid\": 0, "     \
    "\"tid\": 20, "                                                                                \
    "\"ts\": 1, \"dur\": 1, \"args\": {\"stream\": 20, \"correlation\": 0, \"Collective name\": "  \
    "\"allreduce\", \"Group size\": 2, \"Process Group Name\": \"" pg                              \
    "\", \"Process Group Ranks\": \"" ranks "\"}}"

#define BARE(extra) "{" extra "\"traceEvents\": [" KERNEL("k", "1", "1", 7, 1) "]}"

TEST(ranks_come_from_the_file_then_its_name_then_the_order)
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

TEST(times_of_files_count_from_the_earliest_base)
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

TEST(files_of_one_rank_or_of_two_runs_are_refused)
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

/* PyTorch numbers the groups of each rank: a thousand files, whose group "3" is another in each
 * two, whatever the order of its ranks. */
TEST(groups_are_told_apart_by_their_ranks)
{
    struct profile_case c;
    profile_begin(&c);
    for (unsigned r = 0; r < 1000; r++) {
        char name[32], text[1024];
        const unsigned first = r / 2 * 2;
        (void)snprintf(name, sizeof(name), "rank%u.json", r);
        const int n = snprintf(
            text, sizeof(text),
            "{\"traceEvents\": [" COMM_OF("3", "[%u, %u]") "," COMM_OF("world", "[0, ...]") "]}",
            r % 2 == 0 ? first : first + 1, r % 2 == 0 ? first + 1 : first);
        profile_write(&c, name, text, (size_t)n);
    }
    profile_read(&c);
    ck_assert_msg(c.code == 0, "%s", c.err.text);
    ck_assert_uint_eq(c.profile->n_groups, 501);
    for (uint32_t r = 0; r < 1000; r++) {
        const struct ty_profile_rank *rank = &c.profile->ranks[r];
        ck_assert_uint_eq(rank->n_comms, 2);
        const struct ty_profile_group *pair = &c.profile->groups[rank->comms[0].group];
        const struct ty_profile_group *world = &c.profile->groups[rank->comms[1].group];
        ck_assert(pair->n == 2 && pair->ranks[0] == r / 2 * 2 && pair->ranks[1] == r / 2 * 2 + 1);
        ck_assert_str_eq(ty_profile_text(c.profile, pair->name), "3");
        ck_assert(world->ranks == NULL);
        ck_assert_str_eq(ty_profile_text(c.profile, world->name), "world");
    }
    profile_end(&c);
}

TY_SUITE("profile_files")
