/* cmd_diff.c - `trainyard diff`: runs two files or more, tells where the time went in each, and
 * writes them as one timeline. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/cli.h"

#define WOULD_OVERWRITE 1 /* an output an input: told, and no error of the library */

/* One of the runs, from its file to its messages. */
struct compared {
    const char *path;
    const char *sets[3 * CLI_LIST_MAX + 1];
    size_t n_sets, n_against; /* against: of the last ones, those of --against-set */
    char name[512];
    struct ty_config *config;
    struct ty_run *run;
    struct ty_recording *recording; /* in place of both */
    struct ty_err *err;             /* of its execution: what ran before a deadlock is drawn */
    int rc;
};

struct comparison {
    struct compared *run; /* [n] */
    struct ty_shown_run shown[CLI_RUNS_MAX];
    size_t n;
};

/* ---- the words ---- */

/* Settings of all runs, and what the name of one says: those that are its own. */
static void add_set(struct compared *c, const char *set, bool own)
{
    const size_t len = strlen(c->name);
    c->sets[c->n_sets++] = set;
    if (own) {
        snprintf(c->name + len, sizeof(c->name) - len, " %s", set);
    }
}

/* "B:schedule.name=gpipe" is of the second run only. No key has a capital letter or a colon. */
static bool is_of_one(const char *set)
{
    return set[0] >= 'A' && set[0] <= 'Z' && set[1] == ':';
}

static int fill_sets(const struct cli_options *o, struct comparison *c)
{
    for (size_t k = 0; k < o->set.n; k++) {
        const char *set = o->set.item[k];
        const size_t whose = is_of_one(set) ? (size_t)(set[0] - 'A') : 0;
        if (whose >= c->n) {
            cli_say("trainyard diff: --set %s: there is no run %c; they are A to %c\n", set, set[0],
                    (char)('A' + c->n - 1));
            return 2;
        }
        for (size_t i = 0; i < c->n; i++) {
            if (!is_of_one(set)) {
                add_set(&c->run[i], set, false);
            } else if (i == whose) {
                add_set(&c->run[i], set + 2, true);
            }
        }
    }
    for (size_t i = 0; i < c->n; i++) {
        c->run[i].n_against = i > 0 ? o->against_set.n : 0;
        for (size_t k = 0; k < c->run[i].n_against; k++) {
            add_set(&c->run[i], o->against_set.item[k], true);
        }
    }
    return 0;
}

/* The files, and that none of them is standard input twice. */
static int fill_paths(const struct cli_options *o, struct comparison *c)
{
    size_t pipes = 0;
    for (; c->n < o->n_operands; c->n++) {
        c->run[c->n].path = o->operands[c->n];
    }
    if (o->against != NULL && c->n == CLI_RUNS_MAX) {
        cli_say("trainyard diff: --against %s: %d runs are compared at once; write one FILE "
                "less\n",
                o->against, CLI_RUNS_MAX);
        return 2;
    }
    if (o->against != NULL) {
        c->run[c->n++].path = o->against;
    }
    if (c->n == 1 && o->against_set.n > 0) {
        c->run[c->n++].path = o->operand;
    }
    for (size_t i = 0; i < c->n; i++) {
        snprintf(c->run[i].name, sizeof(c->run[i].name), "%s", c->run[i].path);
        pipes += strcmp(c->run[i].path, "-") == 0;
    }
    if (c->n < 2 || pipes > 1) {
        cli_say("trainyard diff: %s\n",
                pipes > 1 ? "standard input can be read once; give the others as files"
                          : "what to compare with is missing; write a second FILE, or "
                            "--against-set KEY=VALUE for the same file with another value");
        return 2;
    }
    return 0;
}

static bool is_read(const struct cli_options *o, const struct comparison *c, const char *path)
{
    bool found = false;
    for (size_t i = 0; i < c->n; i++) {
        found = found || cli_overwrites(path, c->run[i].path) ||
                cli_overwrites_input(path, c->run[i].config);
    }
    for (size_t i = 0; i < o->with.n; i++) {
        found = found || cli_same_file(path, o->with.item[i]);
    }
    return found && strcmp(path, "-") != 0;
}

/* A profile is what it is: settings of its own would be told in its name and change nothing. */
static int check_sets(const struct comparison *c)
{
    for (size_t i = 0; i < c->n; i++) {
        if (strcmp(c->run[i].name, c->run[i].path) != 0 && ty_recording_named(c->run[i].path)) {
            cli_say("trainyard diff: %s: a profile was measured and has no keys to set; "
                    "set those of a run file\n",
                    c->run[i].name);
            return 2;
        }
    }
    return 0;
}

/* No output may overwrite another, or what is read. */
static int check_paths(const struct cli_options *o, const struct comparison *c)
{
    const char *paths[CLI_LIST_MAX + 1];
    size_t n = 0;
    for (; n < o->trace.n; n++) {
        paths[n] = cli_trace_path(o->trace.item[n]);
    }
    if (o->output != NULL) {
        paths[n++] = o->output;
    }
    for (size_t i = 0; i < n; i++) {
        bool twice = false;
        for (size_t k = 0; k < i; k++) {
            twice = twice || cli_same_file(paths[i], paths[k]);
        }
        if (twice) {
            cli_say("trainyard diff: two outputs go to %s; name another file for one\n", paths[i]);
            return 2;
        }
        if (is_read(o, c, paths[i])) {
            return cli_fail_overwrites(o, paths[i]);
        }
    }
    return 0;
}

/* ---- the work ---- */

static struct ty_source source_of(const struct cli_options *o, const struct compared *c)
{
    return (struct ty_source){.path = c->path,
                              .with = o->with.item,
                              .n_with = o->with.n,
                              .sets = c->sets,
                              .n_sets = c->n_sets,
                              .n_against = c->n_against};
}

static int load(const struct cli_options *o, struct compared *c, struct ty_err *err)
{
    if (ty_recording_named(c->path)) {
        return ty_recording_read(&c->recording, c->path, err);
    }
    const struct ty_source source = source_of(o, c);
    const int rc = ty_config_read(&c->config, &source, err);
    return rc < 0 ? rc : ty_run_new(&c->run, c->config, err);
}

/* Where the table goes: nowhere when a trace goes to standard output. */
static const char *target(const struct cli_options *o)
{
    for (size_t i = 0; i < o->trace.n && o->output == NULL; i++) {
        if (strcmp(cli_trace_path(o->trace.item[i]), "-") == 0) {
            return "null:";
        }
    }
    return o->output != NULL ? o->output : "-";
}

static int check_outputs(const struct cli_options *o, const struct comparison *c,
                         struct ty_err *err)
{
    const struct ty_trace_options options = cli_trace_options(o);
    int rc = cli_check_path(target(o), err);
    if (rc == 0 && o->stats != NULL) {
        const int known = ty_run_report_check(o->stats, err); /* which one, or negative */
        rc = known < 0 ? known : 0;
    }
    if (rc == 0) {
        rc = ty_diff_trace_check(c->shown, c->n, NULL, &options, err);
    }
    cli_writing(); /* it tries to */
    for (size_t i = 0; i < o->trace.n && rc == 0; i++) {
        rc = ty_diff_trace_check(c->shown, c->n, o->trace.item[i], &options, err);
    }
    cli_written(rc);
    return rc;
}

/* Reads and executes all; a deadlock is kept with its run. */
static int execute(const struct cli_options *o, struct comparison *c, struct ty_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < c->n && rc == 0; i++) {
        rc = load(o, &c->run[i], err);
        c->shown[i] = (struct ty_shown_run){
            .run = c->run[i].run, .recording = c->run[i].recording, .name = c->run[i].name};
    }
    if (rc == 0 && check_paths(o, c) != 0) { /* now it is known which files they name */
        return WOULD_OVERWRITE;
    }
    if (rc == 0) {
        rc = check_outputs(o, c, err);
    }
    for (size_t i = 0; i < c->n && rc == 0; i++) {
        struct compared *one = &c->run[i];
        if (one->recording != NULL) {
            continue;
        }
        one->err = ty_err_new();
        one->rc = cli_execute(o, one->run, false, one->err);
        if (one->rc < 0 && !ty_run_halted(one->run)) {
            return one->rc;
        }
        const struct ty_source source = source_of(o, one);
        if (o->uncertain && one->rc == 0) {
            rc = ty_run_uncertain(one->run, &source, err);
        }
    }
    return rc;
}

static int write_traces(const struct cli_options *o, const struct comparison *c, struct ty_err *err)
{
    struct ty_trace_options options = cli_trace_options(o);
    int rc = 0;
    for (size_t i = 0; i < o->trace.n && rc == 0; i++) {
        char *note = NULL;
        options.stop = cli_writing();
        struct cli_progress progress = cli_progress("writing", o->quiet);
        options.progress = progress.on ? cli_progress_share : NULL;
        options.progress_arg = &progress;
        rc = ty_diff_trace(c->shown, c->n, o->trace.item[i], &options, &note, err);
        cli_progress_end(&progress);
        cli_written(rc);
        if (rc == 0 && note != NULL && !o->quiet) {
            cli_say("%s\n", note);
        }
        ty_text_free(note);
    }
    return rc;
}

static int compare(const struct cli_options *o, struct comparison *c, struct ty_err *err)
{
    char *text = NULL;
    bool halted = false;
    int rc = execute(o, c, err);
    if (rc != 0) {
        return rc;
    }
    for (size_t i = 0; i < c->n; i++) {
        halted = halted || c->run[i].rc < 0;
    }
    if (!halted) {
        rc = ty_diff_report(c->shown, c->n, o->stats != NULL ? o->stats : "table", &text, err);
        rc = cli_hand_over(rc, text, target(o), err);
        cli_say_unprinted(o, target(o));
    }
    return rc < 0 ? rc : write_traces(o, c, err);
}

/* ---- the answer ---- */

/* Prints what stopped single runs; their exit status, or that of the answer. */
static int judge(const struct comparison *c)
{
    int status = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (c->run[i].rc < 0) {
            cli_say("%s: %s\n", c->run[i].name, ty_err_text(c->run[i].err));
            status = ty_err_exit_status(c->run[i].err);
        } else if (status == 0 && c->run[i].run != NULL && !ty_run_fits(c->run[i].run)) {
            status = 1;
        }
    }
    return status;
}

static int run(const struct cli_options *o, struct comparison *c)
{
    if (fill_paths(o, c) != 0 || fill_sets(o, c) != 0 || check_sets(c) != 0 ||
        check_paths(o, c) != 0) {
        return 2;
    }
    struct ty_err *err = ty_err_new();
    const int rc = compare(o, c, err);
    const int status = rc == WOULD_OVERWRITE ? 2 : judge(c);
    return cli_end(o, ty_err_exit_status(err) != 0 ? rc : 0, err, status);
}

int cmd_diff(const struct cli_options *o)
{
    struct comparison c = {.run = calloc(CLI_RUNS_MAX, sizeof(*c.run))};
    const int status = c.run != NULL ? run(o, &c) : cli_fail(o, NULL);
    for (size_t i = 0; i < c.n; i++) {
        ty_run_free(c.run[i].run);
        ty_recording_free(c.run[i].recording);
        ty_config_free(c.run[i].config);
        ty_err_free(c.run[i].err);
    }
    free(c.run);
    return status;
}
