/* cmd_calibrate.c - `trainyard calibrate`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/cli.h"

#define PRIOR_DEFAULT 0.2 /* guess: presets of known machines are within a fifth of what fits say */
#define PRIOR_MAX     10.0

/* "0.2", "20 %" or "none". Prints and returns 2 on anything else. */
static int read_prior(const char *text, double *out)
{
    char *end;
    *out = 0;
    if (strcmp(text, "none") == 0) {
        return 0;
    }
    errno = 0;
    const double x = strtod(text, &end);
    const char *rest = end + strspn(end, " ");
    *out = strcmp(rest, "%") == 0 ? x / 100 : x;
    if (end == text || errno != 0 || (*rest != '\0' && strcmp(rest, "%") != 0) ||
        !(*out > 0 && *out <= PRIOR_MAX)) {
        cli_say(
            "trainyard calibrate: --prior %s: not a share above 0 %%; write one, such as 0.2 or "
            "20 %%, or none\n",
            text);
        return 2;
    }
    return 0;
}

/* Whether `path` is one of "a,b,c". */
static bool is_listed(const char *path, const char *list)
{
    char one[4096];
    for (;; list++) {
        const size_t n = strcspn(list, ",");
        snprintf(one, sizeof(one), "%.*s", (int)n, list);
        if (cli_same_file(path, one)) {
            return true;
        }
        list += n;
        if (*list == '\0') {
            return false;
        }
    }
}

/* The overlay may not replace what is read. Prints and returns 2 when it would. */
static int check_output(const struct cli_options *o)
{
    bool read = false;
    if (o->output == NULL || strcmp(o->output, "-") == 0) {
        return 0;
    }
    read = cli_same_file(o->output, o->operand) ||
           (o->rows != NULL && cli_same_file(o->output, o->rows)) ||
           (o->operators != NULL && cli_same_file(o->output, o->operators)) ||
           (o->collectives != NULL && is_listed(o->output, o->collectives));
    for (size_t i = 0; i < o->with.n; i++) {
        read = read || cli_same_file(o->output, o->with.item[i]);
    }
    if (read) {
        return cli_fail_overwrites(o, o->output);
    }
    return 0;
}

/* The overlay where -o says; the report on standard output, unless the overlay goes there. */
static int hand_over(const struct cli_options *o, const char *report, const char *overlay,
                     struct ty_err *err)
{
    const bool taken = o->output != NULL && strcmp(o->output, "-") == 0;
    int rc = o->output != NULL ? cli_write_text(overlay, o->output, err) : 0;
    if (rc == 0 && !taken) {
        rc = cli_write_text(report, "-", err);
    }
    if (rc == 0 && taken && !o->quiet) {
        fputs(report, stderr);
    }
    if (rc == 0 && !taken && o->output != NULL && !o->quiet) {
        cli_say("wrote %s; use it as --with %s\n", o->output, o->output);
    }
    return rc;
}

/* Run files with a section `measured`: a program in Python makes a table of them and calls this
 * command with it. The options stand before the files. */
static int calibrate_run_files(const struct cli_options *o)
{
    char n[64], *words[CLI_LIST_MAX + CLI_OPTIONS_MAX] = {NULL, n};
    if (o->rows != NULL || o->operators != NULL || o->collectives != NULL) {
        cli_say("trainyard calibrate: %s is a second run file, and what was measured is said by an "
                "option; leave one of them out\n",
                o->operands[1]);
        return 2;
    }
    snprintf(n, sizeof(n), "--calibrate=%zu", o->n_operands);
    for (size_t i = 1; o->words[i] != NULL && i + 2 < sizeof(words) / sizeof(words[0]); i++) {
        words[i + 1] = o->words[i];
    }
    const int status = cli_run_external("compare", words, true);
    if (status < 0) {
        cli_say("trainyard: trainyard-compare, which reads several run files, is not installed\n");
    }
    return status < 0 ? 3 : status;
}

int cmd_calibrate(const struct cli_options *o)
{
    if (o->n_operands > 1) {
        return calibrate_run_files(o);
    }
    struct ty_calibrate_options c = {
        .source = cli_source(o),
        .rows = o->rows,
        .measured = o->measured,
        .operators = o->operators,
        .collectives = o->collectives,
        .fit = o->fit,
        .group = o->group,
        .prior = PRIOR_DEFAULT,
        .stats = o->stats,
        .output = o->output,
    };
    struct cli_progress progress = cli_progress("calibrating", o->quiet);
    if (cli_jobs(o, &c.jobs) != 0 || (o->prior != NULL && read_prior(o->prior, &c.prior) != 0) ||
        check_output(o) != 0) {
        return 2;
    }
    c.progress = progress.on ? cli_progress_line : NULL;
    c.progress_arg = &progress;
    struct ty_err *err = ty_err_new();
    char *report = NULL, *overlay = NULL;
    int rc = cli_check_path(o->output, err);
    if (rc == 0) {
        rc = ty_calibrate(&c, &report, &overlay, err);
    }
    cli_progress_end(&progress);
    if (rc == 0) {
        rc = hand_over(o, report, overlay, err);
    }
    ty_text_free(report);
    ty_text_free(overlay);
    return cli_end(o, rc, err, 0);
}
