/* test_rank_file.c - rank files are read whole, and whatever is wrong in one is said with its
 * place. */
#include "topology/rank_file.h"

#include <string.h>

#include "tests/unit/suite.h"

/* Four ranks on two nodes of four GPUs. */
static const struct ty_rank_file_shape shape = {4, 2, 4};

static int read(const char *text, const uint32_t **gpu_of, struct ty_arena *arena,
                struct ty_err *err)
{
    *err = (struct ty_err)TY_ERR_NONE;
    return ty_rank_file_read(gpu_of, &shape, "map.txt", text, strlen(text), arena, err);
}

TEST(lines_come_in_any_order_with_comments_and_spaces)
{
    static const char *const texts[] = {
        "0 0.3\n1 1.0\n2 0.0\n3 1.3\n",
        "3 1.3\n2 0.0\n1 1.0\n0 0.3",
        "# rank  node.gpu\r\n\r\n  0\t0.3 # a comment\r\n1 1.0#another\r\n\t2   0.0  \r\n3 1.3\r\n",
        "00 0.03\n01 01.0\n2 0.0\n3 1.3\n#",
    };
    static const uint32_t expected[] = {3, 4, 0, 7};
    for (size_t i = 0; i < TY_COUNT(texts); i++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_err err;
        const uint32_t *gpu_of = NULL;
        ck_assert_msg(read(texts[i], &gpu_of, &arena, &err) == 0, "%s", err.text);
        ck_assert_int_eq(memcmp(gpu_of, expected, sizeof(expected)), 0);
        ty_arena_release(&arena);
    }
}

TEST(what_is_wrong_is_said_with_its_place)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"0 0.0\nrank1 0.1\n2 0.2\n3 0.3\n",
         "map.txt:2:1: rank: not a whole number (rank1); write \"RANK NODE.GPU\", such as \"12 "
         "1.4\"\n    rank1 0.1\n    ^"},
        {"0 0.0\n1\n",
         "map.txt:2:1: a rank without a GPU; write \"RANK NODE.GPU\", such as \"12 1.4\"\n    1\n"
         "    ^"},
        {"0 0.0 slot=1\n",
         "map.txt:1:7: more than a rank and a GPU on a line; write \"RANK NODE.GPU\", such as \"12 "
         "1.4\"\n    0 0.0 slot=1\n          ^"},
        {"\xC3\xA4 0.0\n",
         "map.txt:1:1: rank: not a whole number (\xC3\xA4); write \"RANK NODE.GPU\", such as \"12 "
         "1.4\"\n    \xC3\xA4 0.0\n    ^"},
        {"0 0\n",
         "map.txt:1:3: GPU: not NODE.GPU (0); write \"RANK NODE.GPU\", such as \"12 1.4\"\n    0 "
         "0\n      ^"},
        {"0 0.\n",
         "map.txt:1:3: GPU: not NODE.GPU (0.); write \"RANK NODE.GPU\", such as \"12 1.4\"\n    0 "
         "0.\n      ^"},
        {"0 -1.0\n",
         "map.txt:1:3: GPU: not NODE.GPU (-1.0); write \"RANK NODE.GPU\", such as \"12 1.4\"\n    "
         "0 -1.0\n      ^"},
        {"4294967296 0.0\n",
         "map.txt:1:1: rank: not a whole number (4294967296); write \"RANK NODE.GPU\", such as "
         "\"12 1.4\"\n    4294967296 0.0\n    ^"},
        {"4 0.0\n",
         "map.txt:1:1: rank 4: there is none; the layout has ranks 0 to 3\n    4 0.0\n    ^"},
        {"0 2.0\n",
         "map.txt:1:3: node 2: there is none; the cluster has nodes 0 to 1 (cluster.nodes)\n    0 "
         "2.0\n      ^"},
        {"0 1.4\n", "map.txt:1:3: GPU 4 of node 1: there is none; a node has GPUs 0 to 3 "
                    "(cluster.gpus_per_node)\n    0 1.4\n      ^"},
        {"0 0.0\n0 0.1\n",
         "map.txt:2:1: rank 0: a second time (first on line 1); keep one line of each\n    0 0.1\n"
         "    ^"},
        {"0 1.1\n2 0.0\n# swapped\n1 1.1\n",
         "map.txt:4:3: GPU 1 of node 1: rank 0 sits there (line 1); give each rank its own\n    1 "
         "1.1\n      ^"},
        {"1 0.0\n",
         "map.txt:1:1: the file ends without ranks 0, 2, 3; every rank from 0 to 3 needs a line\n"
         "    1 0.0\n    ^"},
        {"", "map.txt:1:1: the file ends without ranks 0, 1, 2, 3; every rank from 0 to 3 needs a "
             "line"},
        {"0 0.0\n1 0.1\n3 0.3\n",
         "map.txt:3:1: the file ends without rank 2; every rank from 0 to 3 needs a line\n    3 "
         "0.3\n    ^"},
        {"0 0.0\n1 \x07\n", "map.txt:2:3: a control character (byte 0x07); remove it"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_err err;
        const uint32_t *gpu_of = NULL;
        ck_assert_int_eq(read(rows[i].text, &gpu_of, &arena, &err), TY_EINPUT);
        ck_assert_ptr_null(gpu_of);
        ck_assert_msg(strncmp(err.text, rows[i].message, strlen(rows[i].message)) == 0 &&
                          err.n == 1,
                      "row %zu: %s\nexpected %s", i, err.text, rows[i].message);
        ty_arena_release(&arena);
    }
}

TEST(all_mistakes_are_told_at_once)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_err err;
    const uint32_t *gpu_of = NULL;
    ck_assert_int_lt(read("9 0.0\n0 0.0\n0 0.1\n1 9.1\n2 0.0\n3\n", &gpu_of, &arena, &err), 0);
    ck_assert_uint_eq(err.n, 5); /* and nothing of ranks 1 to 3 missing: they are there, wrong */
    ty_arena_release(&arena);
}

TEST(missing_ranks_beyond_eight_are_counted)
{
    const struct ty_rank_file_shape large = {100, 25, 4};
    struct ty_arena arena = {.head = NULL};
    struct ty_err err = TY_ERR_NONE;
    const uint32_t *gpu_of = NULL;
    ck_assert_int_lt(ty_rank_file_read(&gpu_of, &large, "m", "0 0.0\n", 6, &arena, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "without ranks 1, 2, 3, 4, 5, 6, 7, 8 and 91 more;"));
    ty_arena_release(&arena);
}

TY_SUITE("rank_file")
