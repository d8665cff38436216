/* fail_alloc.c - to be preloaded: the n-th allocation of a program fails, and none other.
 *
 * FAIL_ALLOC=n says which (0: none). With FAIL_ALLOC_COUNT=path the number of allocations is
 * written there at the end. All of them count, also those of libraries and of standard output. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

#define EXPORT __attribute__((visibility("default")))

static unsigned long count, fail_at;

__attribute__((constructor)) static void start(void)
{
    const char *text = getenv("FAIL_ALLOC");
    fail_at = text != NULL ? strtoul(text, NULL, 10) : 0;
    count = 0;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAIL_ALLOC_COUNT");
    const unsigned long n = count;
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    if (file != NULL) {
        fprintf(file, "%lu\n", n);
        fclose(file);
    }
}

/* Jobs of a sweep allocate on several threads. */
static int fails(void)
{
    if (__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) != fail_at) {
        return 0;
    }
    errno = ENOMEM;
    return 1;
}

EXPORT void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

EXPORT void *realloc(void *p, size_t size)
{
    return fails() ? NULL : __libc_realloc(p, size);
}
