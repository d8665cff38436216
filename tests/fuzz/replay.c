/* replay.c - plays the files, archives (*.tar) and folders it is given through a fuzz target: each
 * input once whole, and cut off at places spread over its length, as a download or a full disk
 * would leave it. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

#define CUTS  16
#define BLOCK 512u /* of an archive (POSIX ustar): a header, then the file filled up to blocks */

static int played;

static void play(const uint8_t *data, size_t size)
{
    for (size_t cut = 0; cut <= CUTS; cut++) {
        /* a copy of its own, so that reading behind the end is seen by a sanitizer */
        const size_t n = size * cut / CUTS;
        uint8_t *part = malloc(n > 0 ? n : 1);
        FUZZ_DEMAND(part != NULL);
        memcpy(part, data, n);
        LLVMFuzzerTestOneInput(part, n);
        free(part);
    }
    played++;
}

static void play_archive(const uint8_t *data, size_t size)
{
    for (size_t at = 0; at + BLOCK <= size && data[at] != '\0';) {
        const char *length = (const char *)&data[at + 124]; /* octal */
        const size_t n = strtoul(length, NULL, 8);
        FUZZ_DEMAND(memcmp(&data[at + 257], "ustar", 5) == 0 && at + BLOCK + n <= size);
        play(&data[at + BLOCK], n);
        at += BLOCK + (n + BLOCK - 1) / BLOCK * BLOCK;
    }
}

static void play_file(const char *name)
{
    FILE *file = fopen(name, "rb");
    struct stat status;
    FUZZ_DEMAND(file != NULL && fstat(fileno(file), &status) == 0);
    const size_t size = (size_t)status.st_size;
    uint8_t *data = malloc(size + 1);
    FUZZ_DEMAND(data != NULL && fread(data, 1, size, file) == size);
    fclose(file);
    const char *end = strrchr(name, '.');
    if (end != NULL && strcmp(end, ".tar") == 0) {
        play_archive(data, size);
    } else {
        play(data, size);
    }
    free(data);
}

static void visit(const char *name)
{
    DIR *folder = opendir(name);
    const struct dirent *entry;
    if (folder == NULL) {
        play_file(name);
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
    printf("%d inputs played\n", played);
    return played > 0 ? 0 : 1;
}
