/* output.c - messages to people, numbers and run files from them. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/cli/cli.h"

/* When memory is exhausted a long text is cut. */
void cli_say(const char *format, ...)
{
    char line[1024], *text = line;
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    char *whole = n >= (int)sizeof(line) ? malloc((size_t)n + 1) : NULL;
    if (whole != NULL) {
        va_start(args, format);
        vsnprintf(whole, (size_t)n + 1, format, args);
        va_end(args);
        text = whole;
    }
    fputs(ty_text_plain(text), stderr);
    free(whole);
}

int cli_fail(const struct cli_options *o, struct ty_err *err)
{
    if (err == NULL) {
        cli_say("trainyard: memory is exhausted\n");
        return 4;
    }
    const int status = ty_err_exit_status(err);
    if (status == 0) {
        ty_err_free(err);
        return 4;
    }
    if (status == 2) {
        cli_say("trainyard %s: ", o->command);
    }
    cli_say("%s\n", ty_err_text(err));
    ty_err_free(err);
    return status;
}

int cli_fail_overwrites(const struct cli_options *o, const char *path)
{
    cli_say("trainyard %s: %s is an input and would be overwritten; name another file\n",
            o->command, path);
    return 2;
}

int cli_number(const struct cli_options *o, const char *option, const char *text, uint32_t *out)
{
    char *end;
    errno = 0;
    const unsigned long x = text[0] >= '0' && text[0] <= '9' ? strtoul(text, &end, 10) : 0;
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || x == 0 || x > UINT32_MAX) {
        cli_say("trainyard %s: %s %s: not a whole number of at least 1; write one, such as 8\n",
                o->command, option, text);
        return 2;
    }
    *out = (uint32_t)x;
    return 0;
}

int cli_suggest(const struct cli_options *o, double *seconds)
{
    char *end = NULL;
    *seconds = o->suggest != NULL ? strtod(o->suggest, &end) : 0;
    if (end != NULL && (end == o->suggest || *end != '\0' || !(*seconds >= 0) || *seconds > 1e6)) {
        cli_say("trainyard %s: --suggest %s: not a number of seconds up to 1e6; write one, such as "
                "10, or 0 for no suggestions\n",
                o->command, o->suggest);
        return 2;
    }
    *seconds = end != NULL && *seconds == 0 ? -1 : *seconds;
    return 0;
}

int cli_jobs(const struct cli_options *o, uint32_t *jobs)
{
    *jobs = o->crew != NULL ? 1 : 0;
    return o->jobs != NULL ? cli_number(o, "--jobs", o->jobs, jobs) : 0;
}

/* Whether something is made that would have to be removed again; a pipe may wait for its reader. */
static bool makes_file(const char *path)
{
    struct stat st;
    return strcmp(path, "-") != 0 && strcmp(path, "null:") != 0 &&
           (stat(path, &st) != 0 || S_ISREG(st.st_mode));
}

int cli_write_text(const char *text, const char *path, struct ty_err *err)
{
    if (path == NULL || !makes_file(path)) {
        return ty_text_write(text, path != NULL ? path : "-", err);
    }
    cli_writing();
    const int rc = ty_text_write(text, path, err);
    cli_written(rc);
    return rc;
}

int cli_check_path(const char *path, struct ty_err *err)
{
    if (path == NULL) {
        return 0;
    }
    cli_writing();
    const int rc = ty_path_check(path, err);
    cli_written(rc);
    return rc;
}

int cli_hand_over(int rc, char *text, const char *path, struct ty_err *err)
{
    if (rc == 0) {
        rc = cli_write_text(text, path, err);
    }
    ty_text_free(text);
    return rc;
}

int cli_end(const struct cli_options *o, int rc, struct ty_err *err, int status)
{
    if (rc < 0) {
        const int failure = cli_fail(o, err);
        return cli_interrupted() != 0 ? 128 + cli_interrupted() : failure;
    }
    ty_err_free(err);
    return status;
}

uint32_t cli_columns(void)
{
    struct winsize size;
    const bool terminal = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    return terminal ? size.ws_col : 0;
}

/* Folder and last part of a path. */
static const char *split(const char *path, char *folder, size_t size)
{
    const char *slash = strrchr(path, '/');
    snprintf(folder, size, "%.*s", slash == NULL ? 1 : (int)(slash - path) + 1,
             slash == NULL ? "." : path);
    return slash == NULL ? path : slash + 1;
}

bool cli_same_file(const char *a, const char *b)
{
    struct stat x, y;
    char here[4096], there[4096];
    if (strncmp(a, "/dev/", 5) == 0 || strcmp(a, "null:") == 0) {
        return false;
    }
    if (strcmp(a, b) == 0) {
        return true;
    }
    const bool first = stat(a, &x) == 0, second = stat(b, &y) == 0;
    if (!first && !second) { /* neither is there yet: the same name in the same folder? */
        if (strcmp(split(a, here, sizeof(here)), split(b, there, sizeof(there))) != 0 ||
            stat(here, &x) != 0 || stat(there, &y) != 0) {
            return false;
        }
        return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    }
    return first && second && S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool cli_overwrites(const char *path, const char *input)
{
    struct stat target, folder;
    char here[4096];
    if (strcmp(path, "-") == 0 || strcmp(path, "null:") == 0) {
        return false;
    }
    if (stat(input, &folder) != 0 || !S_ISDIR(folder.st_mode)) {
        return cli_same_file(path, input);
    }
    const bool there = stat(path, &target) == 0 && S_ISREG(target.st_mode);
    split(path, here, sizeof(here));
    struct stat around;
    return there && stat(here, &around) == 0 && around.st_dev == folder.st_dev &&
           around.st_ino == folder.st_ino;
}

bool cli_overwrites_input(const char *path, const struct ty_config *config)
{
    const char *input;
    for (size_t i = 0; config != NULL && (input = ty_config_input(config, i)) != NULL; i++) {
        if (cli_overwrites(path, input)) {
            return true;
        }
    }
    return false;
}

void cli_say_unprinted(const struct cli_options *o, const char *target)
{
    if (o->stats != NULL && o->output == NULL && strcmp(target, "null:") == 0 && !o->quiet) {
        cli_say("the report is not printed: standard output has the trace; write the report to a "
                "file with -o PATH\n");
    }
}

int cli_load(const struct cli_options *o, const char *path, struct ty_config **config,
             struct ty_err *err)
{
    struct ty_source source = cli_source(o);
    source.path = path;
    return ty_config_read(config, &source, err);
}
