/* Arena: alignment, zeroes, limits. */
#include "sim/base/arena.h"

#include <stdint.h>
#include <string.h>

#include "tests/unit/suite.h"

TEST(memory_is_zeroed_and_aligned)
{
    struct ty_arena arena = {0};
    static const size_t sizes[] = {1, 15, 16, 17, 63, 64, 65, 1000, 16384, 16385, 70000, 1 << 20};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        unsigned char *p = ty_arena_alloc(&arena, sizes[i], 1);
        ck_assert_ptr_nonnull(p);
        ck_assert_uint_eq((uintptr_t)p % (sizes[i] > 64 ? 64 : 16), 0);
        for (size_t k = 0; k < sizes[i]; k++) {
            ck_assert_uint_eq(p[k], 0);
        }
        memset(p, 0xFF, sizes[i]); /* a later piece that overlapped would not be zero */
    }
    ty_arena_release(&arena);
}

TEST(large_pieces_do_not_waste_the_current_chunk)
{
    struct ty_arena arena = {0};
    const char *before = ty_arena_alloc(&arena, 16, 1);
    ck_assert_ptr_nonnull(ty_arena_alloc(&arena, 1 << 20, 1));
    const char *after = ty_arena_alloc(&arena, 16, 1);
    ck_assert_ptr_eq(after, before + 16);
    ty_arena_release(&arena);
}

TEST(overflow_gives_null)
{
    struct ty_arena arena = {0};
    ck_assert_ptr_null(ty_arena_alloc(&arena, SIZE_MAX / 2, 3));
    ck_assert_ptr_null(ty_arena_alloc(&arena, SIZE_MAX - 8, 1));
    ck_assert_ptr_null(ty_arena_strndup(&arena, "", SIZE_MAX));
    ck_assert_ptr_nonnull(ty_arena_alloc(&arena, 0, 8));
    ty_arena_release(&arena);
}

TEST(total_counts_and_release_makes_it_usable_again)
{
    struct ty_arena arena = {0};
    ck_assert_ptr_nonnull(ty_arena_array(&arena, double, 100000));
    ck_assert_uint_ge(arena.total, 800000);
    ck_assert_uint_lt(arena.total, 801000);
    ty_arena_release(&arena);
    ck_assert_uint_eq(arena.total, 0);
    ck_assert_ptr_null(arena.head);
    ck_assert_str_eq(ty_arena_printf(&arena, "%s-%d", "a", 7), "a-7");
    ck_assert_str_eq(ty_arena_strndup(&arena, "abcdef", 3), "abc");
    ty_arena_release(&arena);
}

TEST(reset_keeps_memory_of_the_same_size_and_zeroes_it)
{
    struct ty_arena arena = {0};
    ty_arena_reset(&arena);
    ck_assert_ptr_null(arena.head);
    struct ty_arena_chunk *kept = NULL;
    for (int job = 0; job < 4; job++) {
        unsigned char *large = ty_arena_alloc(&arena, 100000, 1);
        unsigned char *small = ty_arena_alloc(&arena, 100, 1);
        for (int i = 0; i < 100; i++) {
            ck_assert_uint_eq(large[999 * i] | small[i], 0);
        }
        memset(large, 0xff, 100000);
        memset(small, 0xff, 100);
        ck_assert(job < 2 || arena.head == kept);
        ty_arena_reset(&arena);
        kept = arena.head;
    }
    ck_assert_uint_lt(arena.total, 200000);
    ty_arena_release(&arena);
}

TY_SUITE("arena")
