/* external.c - commands that are programs of their own: `trainyard NAME` runs `trainyard-NAME`.
 *
 * Such a program is searched in the folders of TRAINYARD_EXEC_PATH, or, without that variable, in
 * libexec/trainyard of the installation, in sim/python of a build folder and beside this program;
 * then in those of PATH.
 * It takes the place of this process, so its exit status and its signals are those of the command.
 * It finds this program by the variable TRAINYARD, and the library of the same version by
 * TRAINYARD_LIBRARY. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/cli/cli.h"

#define PATH_SIZE    4096
#define FOLDERS_SIZE (4 * PATH_SIZE)
#define PREFIX       "trainyard-"

/* The path of this program, and how many bytes of it are its folder with the slash. */
static size_t own_path(char path[PATH_SIZE])
{
    const ssize_t n = readlink("/proc/self/exe", path, PATH_SIZE - 1);
    path[n > 0 ? n : 0] = '\0';
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/* The folders of trainyard's own commands, with colons between them. */
static const char *own_folders(char folders[FOLDERS_SIZE])
{
    char path[PATH_SIZE];
    const char *set = getenv("TRAINYARD_EXEC_PATH");
    if (set != NULL) {
        return set;
    }
    path[own_path(path)] = '\0';
    snprintf(folders, FOLDERS_SIZE, "%s" CLI_LIBEXEC ":%ssim/python:%s",
             CLI_LIBEXEC[0] == '/' ? "" : path, path, path);
    return folders;
}

/* Takes the first folder off a list; false after the last. Folders without a name are none. */
static bool next_folder(const char **list, char folder[PATH_SIZE])
{
    *list += strspn(*list, ":");
    const size_t n = strcspn(*list, ":");
    snprintf(folder, PATH_SIZE, "%.*s", (int)n, *list);
    *list += n;
    return n > 0;
}

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The first program of that name in a list of folders. */
static bool find_in(const char *folders, const char *name, char path[PATH_SIZE])
{
    char folder[PATH_SIZE];
    while (next_folder(&folders, folder)) {
        if (snprintf(path, PATH_SIZE, "%s/%s", folder, name) < PATH_SIZE && is_program(path)) {
            return true;
        }
    }
    return false;
}

static const char *search_path(void)
{
    const char *path = getenv("PATH");
    return path != NULL ? path : "";
}

/* The program of a command; *own: it is among trainyard's own. */
static bool find(const char *name, char path[PATH_SIZE], bool *own)
{
    char folders[FOLDERS_SIZE], program[CLI_NAME_SIZE + sizeof(PREFIX)];
    if (name[0] == '\0' || name[0] == '-' || strchr(name, '/') != NULL ||
        strlen(name) >= CLI_NAME_SIZE) {
        return false;
    }
    snprintf(program, sizeof(program), PREFIX "%s", name);
    *own = find_in(own_folders(folders), program, path);
    return *own || find_in(search_path(), program, path);
}

/* What a script's first line asks for and is not there, "#!/usr/bin/env NAME" included; else "". */
static const char *missing_interpreter(const char *script, char line[PATH_SIZE])
{
    char path[PATH_SIZE], *rest = NULL;
    FILE *file = fopen(script, "r");
    const bool any = file != NULL && fgets(line, PATH_SIZE, file) != NULL;
    if (file != NULL) {
        (void)fclose(file);
    }
    const char *word =
        any && strncmp(line, "#!", 2) == 0 ? strtok_r(line + 2, " \t\n", &rest) : NULL;
    if (word == NULL || access(word, X_OK) != 0) {
        return word != NULL ? word : "";
    }
    const size_t n = strlen(word);
    word = n >= 4 && strcmp(word + n - 4, "/env") == 0 ? strtok_r(NULL, " \t\n", &rest) : NULL;
    const bool plain = word != NULL && word[0] != '-' && strpbrk(word, "=/") == NULL;
    return plain && !find_in(search_path(), word, path) ? word : "";
}

/* Says where this program and its library are. A library that the user has named stays. */
static void set_environment(void)
{
    static const char *const libraries[] = {"libtrainyard.so", CLI_LIBRARY};
    char path[PATH_SIZE], library[2 * PATH_SIZE];
    const int n = (int)own_path(path);
    if (n > 0) {
        (void)setenv("TRAINYARD", path, 1);
    }
    for (size_t i = 0; n > 0 && i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        snprintf(library, sizeof(library), "%.*s%s", libraries[i][0] == '/' ? 0 : n, path,
                 libraries[i]);
        if (access(library, R_OK) == 0) {
            (void)setenv("TRAINYARD_LIBRARY", library, 0);
        }
    }
}

int cli_run_external(const char *name, char **words, bool own_only)
{
    char path[PATH_SIZE], line[PATH_SIZE];
    bool own = false;
    if (!find(name, path, &own) || (own_only && !own)) {
        return -1;
    }
    const char *missing = missing_interpreter(path, line);
    if (missing[0] != '\0') {
        cli_say("trainyard: %s: %s, which runs it, is not installed\n", path, missing);
        return 3;
    }
    set_environment();
    signal(SIGXFSZ, SIG_DFL); /* what is ignored would stay ignored */
    words[0] = path;
    execv(path, words);
    cli_say("trainyard: %s: cannot be run (%s)\n", path, strerror(errno));
    return 3;
}

int cli_run_import(char **words)
{
    const int status = cli_run_external("import", words, true);
    if (status < 0) {
        cli_say("trainyard: trainyard-import, which reads and writes files of frameworks, is not "
                "installed\n");
    }
    return status < 0 ? 3 : status;
}

static void list_folder(const char *folder, struct cli_externals *out)
{
    char path[PATH_SIZE];
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        const char *name = entry->d_name + sizeof(PREFIX) - 1;
        bool known = strncmp(entry->d_name, PREFIX, sizeof(PREFIX) - 1) != 0 ||
                     out->n == CLI_EXTERNALS_MAX || strlen(name) >= CLI_NAME_SIZE ||
                     cli_find(name) != CLI_N_COMMANDS;
        for (size_t i = 0; !known && i < out->n; i++) {
            known = strcmp(out->name[i], name) == 0;
        }
        if (!known && snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) < PATH_SIZE &&
            is_program(path)) {
            memcpy(out->name[out->n++], name, strlen(name) + 1);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

struct cli_externals cli_externals(void)
{
    struct cli_externals found = {.n = 0};
    char folders[FOLDERS_SIZE], folder[PATH_SIZE];
    const char *lists[] = {own_folders(folders), search_path()};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        while (next_folder(&lists[i], folder)) {
            list_folder(folder, &found);
        }
    }
    qsort(found.name, found.n, sizeof(found.name[0]), by_name);
    return found;
}
