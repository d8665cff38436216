/* temp_dir.h - an empty folder for one test, and files read back whole. */
#ifndef TY_TESTS_TEMP_DIR_H
#define TY_TESTS_TEMP_DIR_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct temp_dir {
    char path[64];
    char file[192]; /* the last path asked for */
};

static inline void temp_dir_make(struct temp_dir *dir)
{
    strcpy(dir->path, "/tmp/trainyard-test-XXXXXX");
    if (mkdtemp(dir->path) == NULL) {
        abort();
    }
}

static inline const char *temp_dir_file(struct temp_dir *dir, const char *name)
{
    snprintf(dir->file, sizeof(dir->file), "%s/%s", dir->path, name);
    return dir->file;
}

/* Entries of the folder, without . and .. */
static inline unsigned temp_dir_count(const struct temp_dir *dir)
{
    unsigned n = 0;
    DIR *d = opendir(dir->path);
    for (struct dirent *e = d != NULL ? readdir(d) : NULL; e != NULL; e = readdir(d)) {
        n += e->d_name[0] != '.';
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

/* Removes the folder and the files in it. */
static inline void temp_dir_remove(const struct temp_dir *dir)
{
    char path[512];
    DIR *d = opendir(dir->path);
    for (struct dirent *e = d != NULL ? readdir(d) : NULL; e != NULL; e = readdir(d)) {
        snprintf(path, sizeof(path), "%s/%s", dir->path, e->d_name);
        if (e->d_name[0] != '.') {
            remove(path);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    rmdir(dir->path);
}

/* Contents of a file, zero-terminated, to be freed; NULL when it cannot be read. */
static inline char *file_text(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t size = 0;
    if (f != NULL && fseek(f, 0, SEEK_END) == 0 && ftell(f) >= 0) {
        size = (size_t)ftell(f);
        rewind(f);
        text = malloc(size + 1);
        if (text != NULL && fread(text, 1, size, f) == size) {
            text[size] = '\0';
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    *n = size;
    return text;
}

#endif
