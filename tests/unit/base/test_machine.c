/* What a process may have of its machine. Check runs tests in processes of their own. */
#include "sim/base/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/suite.h"

TEST(limits_of_control_groups_are_numbers_or_none)
{
    ck_assert(ty_machine_limit("1073741824\n") == 1073741824.0);
    ck_assert(ty_machine_limit("max\n") == 0);                  /* version 2: none */
    ck_assert(ty_machine_limit("9223372036854771712\n") == 0);  /* version 1: none */
    ck_assert(ty_machine_limit("99999999999999999999\n") == 0); /* no number of 64 bits */
    ck_assert(ty_machine_limit("") == 0);
    ck_assert(ty_machine_limit("-1\n") == 0);
}

/* What the machine says under a limit, which is lifted again: sanitizers map terabytes. */
static struct ty_machine_memory under(int resource, rlim_t bytes)
{
    struct rlimit before;
    ck_assert_int_eq(getrlimit(resource, &before), 0);
    ck_assert_int_eq(setrlimit(resource, &(struct rlimit){bytes, before.rlim_max}), 0);
    const struct ty_machine_memory memory = ty_machine_memory();
    ck_assert_int_eq(setrlimit(resource, &before), 0);
    return memory;
}

TEST(the_least_limit_counts)
{
    const double machine = ty_machine_memory().bytes;
    ck_assert(machine > 0 && machine < 1e18);
    const rlim_t half = (rlim_t)(machine / 2);
    const struct ty_machine_memory data = under(RLIMIT_DATA, half), all = under(RLIMIT_AS, half);
    ck_assert(data.bytes == (double)half && strstr(data.of, "ulimit -d") != NULL);
    ck_assert(all.bytes == (double)half && strstr(all.of, "ulimit -v") != NULL);
    ck_assert(ty_machine_memory().bytes == machine);
}

TEST(what_is_held_grows_with_what_is_touched)
{
    const size_t n = (size_t)32 << 20;
    const double before = ty_machine_held();
    char *memory = malloc(n);
    volatile char *p = memory; /* every page is written to, whatever the compiler thinks of it */
    ck_assert_ptr_nonnull(memory);
    for (size_t i = 0; i < n; i += 4096) {
        p[i] = 1;
    }
    ck_assert(ty_machine_held() > before + 0.9 * (double)n);
    free(memory);
}

/* KiB of this process for which huge pages were asked: flag "hg" of /proc/self/smaps. */
static size_t advised_KiB(void)
{
    char line[512];
    size_t of_area = 0, sum = 0;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "Size:", 5) == 0) {
            of_area = strtoul(line + 5, NULL, 10);
        }
        if (strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " hg") != NULL) {
            sum += of_area;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return sum;
}

/* How much is advised for so many bytes, which begin at any address. */
static size_t advised_for(size_t bytes)
{
    const size_t before = advised_KiB();
    char *memory = malloc(bytes);
    ck_assert_ptr_nonnull(memory);
    memory[0] = memory[bytes - 1] = 1;
    ty_machine_huge_pages(memory, bytes);
    const size_t advised = advised_KiB() - before;
    ck_assert(memory[0] == 1 && memory[bytes - 1] == 1);
    free(memory);
    return advised;
}

TEST(huge_pages_are_asked_for_where_they_pay)
{
    const size_t MiB = (size_t)1 << 20;
    if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) != 0) {
        return; /* none on this system */
    }
    ck_assert_uint_eq(advised_for(MiB), 0);
    ck_assert_uint_eq(advised_for(1024 * MiB), 0);
    const size_t advised = advised_for(64 * MiB); /* whole ones inside it */
    ck_assert_uint_ge(advised, (64 - 2) * 1024);
    ck_assert_uint_le(advised, 64 * 1024);
}

TY_SUITE("machine")
