/* common.c - see fuzz.h. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Noreturn void fuzz_stop(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

static void drop_file(void);
static char path[64];

const char *fuzz_file(const uint8_t *data, size_t size)
{
    if (path[0] == '\0') {
        const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(path, sizeof(path), "%s/trainyard-fuzz-%ld", folder, (long)getpid());
        atexit(drop_file);
    }
    FILE *file = fopen(path, "wb");
    FUZZ_DEMAND(file != NULL);
    const int written = fwrite(data, 1, size, file) == size;
    FUZZ_DEMAND(fclose(file) == 0 && written);
    return path;
}

char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    FUZZ_DEMAND(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

static void drop_file(void)
{
    unlink(path);
}

void fuzz_check(int rc, const struct ty_err *err)
{
    if (rc < 0) {
        FUZZ_DEMAND(err->text[0] != '\0');
        if (rc == TY_EBUG) {
            fprintf(stderr, "%s\n", err->text);
        }
        FUZZ_DEMAND(rc != TY_EBUG);
    }
}
