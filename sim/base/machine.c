/* machine.c - asks the operating system how much memory this process may use. Control
 * groups: Linux, Documentation/admin-guide/cgroup-v2.rst (memory.max) and
 * cgroup-v1/memory.rst (memory.limit_in_bytes, about 2^63 when there is none). */
#define _DEFAULT_SOURCE /* madvise */
#include "sim/base/machine.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define NO_LIMIT 1e18 /* B; what version 1 writes for none is larger, no machine has as much */

static void lower(struct ty_machine_memory *m, double bytes, const char *of)
{
    if (bytes > 0 && bytes < m->bytes) {
        *m = (struct ty_machine_memory){bytes, of};
    }
}

double ty_machine_limit(const char *text)
{
    char *end;
    errno = 0;
    const double x = text[0] >= '0' && text[0] <= '9' ? (double)strtoull(text, &end, 10) : 0;
    return x >= NO_LIMIT || errno != 0 ? 0 : x;
}

/* The first line of a small file; false: there is none. */
static int first_line(const char *path, char *line, int size)
{
    FILE *file = fopen(path, "r");
    const int got = file != NULL && fgets(line, size, file) != NULL;
    if (file != NULL) {
        (void)fclose(file);
    }
    return got;
}

/* A group, and all around it: "/a/b", "/a", "". */
static void lower_by_group(struct ty_machine_memory *m, const char *root, const char *group,
                           const char *name)
{
    char inner[1024], path[1200], line[64];
    (void)snprintf(inner, sizeof(inner), "%s", group);
    inner[strcspn(inner, "\n")] = '\0';
    for (char *slash = inner; slash != NULL;) {
        (void)snprintf(path, sizeof(path), "%s%s/%s", root, inner, name);
        if (first_line(path, line, sizeof(line))) {
            lower(m, ty_machine_limit(line), "the memory limit of the control group");
        }
        slash = strrchr(inner, '/');
        if (slash != NULL) {
            *slash = '\0';
        }
    }
}

/* "0::/group" is of version 2, "4:cpu,memory:/group" of version 1. */
static void lower_by_groups(struct ty_machine_memory *m)
{
    char line[1200];
    FILE *file = fopen("/proc/self/cgroup", "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        const char *controllers = strchr(line, ':');
        const char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (group == NULL) {
            continue;
        }
        const char *memory = strstr(controllers, "memory");
        if (group == controllers + 1) {
            lower_by_group(m, "/sys/fs/cgroup", group + 1, "memory.max");
            lower_by_group(m, "/sys/fs/cgroup/unified", group + 1, "memory.max");
        } else if (memory != NULL && memory < group) {
            lower_by_group(m, "/sys/fs/cgroup/memory", group + 1, "memory.limit_in_bytes");
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

static void lower_by_rlimit(struct ty_machine_memory *m, int resource, const char *of)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        lower(m, (double)limit.rlim_cur, of);
    }
}

struct ty_machine_memory ty_machine_memory(void)
{
    struct ty_machine_memory m = {NO_LIMIT, "the memory of this machine"};
    lower(&m, (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE), m.of);
    lower_by_groups(&m);
    lower_by_rlimit(&m, RLIMIT_AS, "the address space that ulimit -v leaves");
    lower_by_rlimit(&m, RLIMIT_DATA, "the data segment that ulimit -d leaves");
    return m;
}

double ty_machine_held(void)
{
    char line[128], *end;
    if (!first_line("/proc/self/statm", line, sizeof(line))) {
        return 0;
    }
    (void)strtoull(line, &end, 10);
    return (double)strtoull(end, NULL, 10) * (double)sysconf(_SC_PAGESIZE);
}

/* From some pages on. Not of what is larger: a virtual machine has no such piece at hand and is
 * given it by its host, 4 KiB by 4 KiB, which took up to four times as long as all the faults (1.2
 * GB; 0.1 GB: 40 ms of 75 saved, 0.4 GB: 0.18 s of 0.25). */
#define HUGE_PAGE      ((size_t)2 << 20)
#define HUGE_PAGES_MIN (4 * HUGE_PAGE)
#define HUGE_PAGES_MAX ((size_t)512 << 20)

void ty_machine_huge_pages(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    if (bytes >= HUGE_PAGES_MIN && bytes <= HUGE_PAGES_MAX) {
        const uintptr_t at = (uintptr_t)memory;
        const size_t skip = (HUGE_PAGE - at % HUGE_PAGE) % HUGE_PAGE;
        const size_t whole = (bytes - skip) / HUGE_PAGE * HUGE_PAGE;
        (void)madvise((char *)memory + skip, whole, MADV_HUGEPAGE); /* advice: no error matters */
    }
#else
    (void)memory;
    (void)bytes;
#endif
}
