/* path.h - the words of a path. */
#ifndef TY_BASE_PATH_H
#define TY_BASE_PATH_H

#include <stdbool.h>
#include <string.h>

/* Whether it ends so: ty_path_ends("step.json.gz", ".gz"). */
static inline bool ty_path_ends(const char *path, const char *end)
{
    const size_t n = strlen(path), k = strlen(end);
    return n >= k && strcmp(path + n - k, end) == 0;
}

/* What is behind the last slash. */
static inline const char *ty_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* A path, and words after it, as titles have them: of one from the root the name alone, since where
 * it lies is not for who gets the picture. */
static inline const char *ty_path_shown(const char *path)
{
    const char *name = path;
    for (const char *c = path; path[0] == '/' && *c != '\0' && *c != ' '; c++) {
        name = *c == '/' ? c + 1 : name;
    }
    return name;
}

/* Length of a file's name (no slash in it) without its ending: 5 of "llama.json". */
static inline size_t ty_path_stem(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL && dot > name ? (size_t)(dot - name) : strlen(name);
}

#endif
