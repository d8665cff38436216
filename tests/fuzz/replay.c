/* replay.c - plays the files and folders it is given through a fuzz target: once whole, and cut off
 * at places spread over their length, as a download or a full disk would leave them. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

#define CUTS 16

static int played;

static void play(const char *name)
{
    FILE *file = fopen(name, "rb");
    struct stat status;
    FUZZ_DEMAND(file != NULL && fstat(fileno(file), &status) == 0);
    const size_t size = (size_t)status.st_size;
    uint8_t *data = malloc(size + 1);
    FUZZ_DEMAND(data != NULL && fread(data, 1, size, file) == size);
    fclose(file);
    for (size_t cut = 0; cut <= CUTS; cut++) {
        /* a copy of its own, so that reading behind the end is seen by a sanitizer */
        const size_t n = size * cut / CUTS;
        uint8_t *part = malloc(n > 0 ? n : 1);
        FUZZ_DEMAND(part != NULL);
        memcpy(part, data, n);
        LLVMFuzzerTestOneInput(part, n);
        free(part);
    }
    free(data);
    played++;
}

static void visit(const char *name)
{
    DIR *folder = opendir(name);
    const struct dirent *entry;
    if (folder == NULL) {
        play(name);
        return;
    }
    while ((entry = readdir(folder)) != NULL) {
        char below[4096];
        if (entry->d_name[0] != '.') {
            snprintf(below, sizeof(below), "%s/%s", name, entry->d_name);
            visit(below);
        }
    }
    closedir(folder);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        visit(argv[i]);
    }
    printf("%d files played\n", played);
    return played > 0 ? 0 : 1;
}
