/* cmd_report.c - `trainyard report`: runs one file, or two to compare, and writes a page. */
#include <stdio.h>
#include <string.h>

#include "sim/cli/cli.h"

#define RUNS_MAX        2u
#define WOULD_OVERWRITE 1 /* the page an input: no error of the library */

/* One of the runs, from its file to its messages. */
struct shown {
    const char *path;
    struct ty_config *config;
    struct ty_run *run;
    struct ty_err *err; /* of its execution: a page shows it, too */
    int rc;
};

/* The other run's file; NULL: there is none. */
static const char *other_path(const struct cli_options *o)
{
    if (o->against != NULL || o->second != NULL) {
        return o->against != NULL ? o->against : o->second;
    }
    return o->against_set.n > 0 ? o->operand : NULL;
}

static bool is_read(const struct cli_options *o, const char *path)
{
    bool found = cli_same_file(path, o->operand) ||
                 (other_path(o) != NULL && cli_same_file(path, other_path(o)));
    for (size_t i = 0; i < o->with.n; i++) {
        found = found || cli_same_file(path, o->with.item[i]);
    }
    return found;
}

/* What is wrong with the words alone. Prints and returns 2. */
static int check_words(const struct cli_options *o)
{
    const char *other = other_path(o), *wrong = NULL;
    if (o->output == NULL) {
        wrong = "where the page goes is missing; write -o PAGE.html";
    } else if (strcmp(o->output, "-") != 0 && is_read(o, o->output)) {
        return cli_fail_overwrites(o, o->output);
    } else if (o->against != NULL && o->second != NULL) {
        wrong = "--against and a second FILE are two runs to compare with; give one";
    } else if (other != NULL && strcmp(o->operand, "-") == 0 && strcmp(other, "-") == 0) {
        wrong = "standard input can be read once; give the run to compare with as a file";
    }
    if (wrong != NULL) {
        cli_say("trainyard report: %s\n", wrong);
        return 2;
    }
    return 0;
}

/* The run file with its overlays and settings; the second one has settings of its own. */
static int load(const struct cli_options *o, struct shown *s, bool second, struct ty_err *err)
{
    const char *sets[2 * CLI_LIST_MAX + 1];
    size_t n = 0;
    for (; n < o->set.n; n++) {
        sets[n] = o->set.item[n];
    }
    for (size_t i = 0; second && i < o->against_set.n; i++) {
        sets[n++] = o->against_set.item[i];
    }
    const struct ty_source source = {.path = s->path,
                                     .with = o->with.item,
                                     .n_with = o->with.n,
                                     .sets = sets,
                                     .n_sets = n,
                                     .n_against = second ? o->against_set.n : 0};
    const int rc = ty_config_read(&s->config, &source, err);
    return rc == 0 ? ty_run_new(&s->run, s->config, err) : rc;
}

static int write_page(const struct cli_options *o, const struct shown *s, size_t n,
                      struct ty_page_options *options, struct ty_err *err)
{
    struct ty_shown_run runs[RUNS_MAX];
    char *note = NULL;
    for (size_t i = 0; i < n; i++) {
        runs[i] = (struct ty_shown_run){.run = s[i].run,
                                        .name = s[i].path,
                                        .trouble = s[i].rc < 0 ? ty_err_text(s[i].err) : NULL};
    }
    options->stop = cli_writing();
    const int rc = ty_run_page(runs, n, o->output, options, &note, err);
    cli_written(rc);
    if (rc == 0 && note != NULL && !o->quiet) {
        cli_say("%s\n", note);
    }
    ty_text_free(note);
    return rc;
}

/* Reads and executes all runs, then writes. A deadlock is a run with a picture; s[i].rc keeps
 * it. */
static int make(const struct cli_options *o, struct shown *s, size_t n, struct ty_err *err)
{
    struct ty_page_options options = {
        .command = o->line, .ranks = o->ranks, .detail = o->detail, .order = o->order};
    int rc = cli_check_path(o->output, err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = load(o, &s[i], i > 0, err);
        if (rc == 0 && cli_overwrites_input(o->output, s[i].config)) {
            return WOULD_OVERWRITE;
        }
        if (rc == 0) {
            rc = ty_run_page_check(s[i].run, &options, err);
        }
    }
    for (size_t i = 0; i < n && rc == 0; i++) {
        s[i].err = ty_err_new();
        s[i].rc = cli_execute(o, s[i].run, false, s[i].err);
        if (s[i].rc < 0 && !ty_run_halted(s[i].run)) {
            cli_say("%s\n", ty_err_text(s[i].err));
            return s[i].rc;
        }
    }
    return rc < 0 ? rc : write_page(o, s, n, &options, err);
}

/* Prints what stopped the runs; their exit status, or that of the answer. */
static int judge(const struct shown *s, size_t n)
{
    int status = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i].rc < 0) {
            cli_say("%s\n", ty_err_text(s[i].err));
            status = ty_err_exit_status(s[i].err);
        } else if (status == 0 && !ty_run_fits(s[i].run)) {
            status = 1;
        }
    }
    return status;
}

int cmd_report(const struct cli_options *o)
{
    struct shown s[RUNS_MAX] = {{.path = o->operand}, {.path = other_path(o)}};
    const size_t n = s[1].path != NULL ? 2 : 1;
    struct ty_err *err = NULL;
    uint32_t jobs;
    if (check_words(o) != 0 || cli_jobs(o, &jobs) != 0) {
        return 2;
    }
    err = ty_err_new();
    const int rc = make(o, s, n, err);
    const bool own = ty_err_exit_status(err) == 0; /* the message was that of an execution */
    int status = 0;
    if (rc == 0) {
        status = judge(s, n);
    } else if (rc == WOULD_OVERWRITE) {
        status = cli_fail_overwrites(o, o->output);
    }
    for (size_t i = 0; i < n; i++) {
        status = rc < 0 && own && s[i].rc < 0 ? ty_err_exit_status(s[i].err) : status;
        ty_run_free(s[i].run);
        ty_config_free(s[i].config);
        ty_err_free(s[i].err);
    }
    return cli_end(o, own ? 0 : rc, err, status);
}
