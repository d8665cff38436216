/* cmd_run.c - `trainyard run`, `trainyard check`, `trainyard explain` and
 * `trainyard fleet`. */
#include <stdio.h>
#include <string.h>

#include "sim/cli/cli.h"

/* The i-th trace asked for, in the run file first, then on the command line; NULL after the
 * last. */
static const char *trace_target(const struct cli_options *o, const struct ty_config *config,
                                size_t i)
{
    size_t in_file = 0;
    while (ty_config_trace(config, in_file) != NULL) {
        in_file++;
    }
    if (i < in_file) {
        return ty_config_trace(config, i);
    }
    return i - in_file < o->trace.n ? o->trace.item[i - in_file] : NULL;
}

/* An option that shapes traces, where there are none. */
static void remark_traceless(const struct cli_options *o, const struct ty_config *config)
{
    const struct {
        const char *option;
        bool given;
    } rows[] = {
        {"ranks", o->ranks != NULL},       {"detail", o->detail != NULL},
        {"window", o->window != NULL},     {"order", o->order != NULL},
        {"counters", o->counters != NULL}, {"steps", o->steps != NULL},
        {"args", o->args != NULL},         {"flows", o->flows != NULL},
        {"critical", o->critical != NULL}, {"width", o->width != NULL},
        {"palette", o->palette != NULL},   {"bubbles", o->bubbles != NULL},
        {"no-bubbles", o->no_bubbles},     {"force", o->force},
    };
    const bool told = !o->quiet && trace_target(o, config, 0) == NULL;
    for (size_t i = 0; told && i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].given) {
            cli_say("--%s shapes traces, and none is asked for; add --trace FORMAT:PATH\n",
                    rows[i].option);
        }
    }
}

static int print_remarks(const struct cli_options *o, const struct ty_config *config,
                         struct ty_err *err)
{
    char *text = NULL;
    const int rc = o->quiet ? 0 : ty_config_remarks(config, &text, err);
    if (rc == 0 && text != NULL) {
        fputs(text, stderr);
    }
    ty_text_free(text);
    return rc;
}

/* Where the report goes; standard output unless told otherwise, nowhere when a trace goes there. */
static const char *target(const struct cli_options *o, const struct ty_config *config)
{
    const char *trace;
    for (size_t i = 0; (trace = trace_target(o, config, i)) != NULL && o->output == NULL; i++) {
        if (strcmp(cli_trace_path(trace), "-") == 0) {
            return "null:";
        }
    }
    return o->output != NULL ? o->output : "-";
}

/* No output may overwrite another, or what is read. Prints and returns 2 when one would. */
static int check_paths(const struct cli_options *o, const struct ty_config *config)
{
    const char *paths[2 * CLI_LIST_MAX + 1] = {o->output};
    const size_t most = sizeof(paths) / sizeof(paths[0]) - 1;
    size_t n = o->output != NULL ? 1 : 0;
    const char *trace;
    for (size_t i = 0; (trace = trace_target(o, config, i)) != NULL && n < most; i++) {
        paths[n++] = cli_trace_path(trace);
    }
    for (size_t i = 0; i < n; i++) {
        if (cli_overwrites_input(paths[i], config)) {
            return cli_fail_overwrites(o, paths[i]);
        }
        bool twice = false;
        for (size_t k = 0; k < i; k++) {
            twice = twice || cli_same_file(paths[i], paths[k]);
        }
        if (twice) {
            cli_say("trainyard %s: two outputs go to %s; name another file for one\n", o->command,
                    paths[i]);
            return 2;
        }
    }
    return 0;
}

/* Everything the command line says about outputs, before time is spent. */
static int check_outputs(const struct cli_options *o, const struct ty_config *config,
                         const struct ty_run *run, struct ty_err *err)
{
    const struct ty_trace_options options = cli_trace_options(o);
    const char *trace;
    int rc = cli_check_path(target(o, config), err);
    if (rc == 0) {
        rc = ty_run_trace_check(run, NULL, &options, err);
    }
    if (rc == 0 && o->stats != NULL) {
        const int known = ty_run_report_check(o->stats, err); /* which one, or negative */
        rc = known < 0 ? known : 0;
    }
    cli_writing(); /* it tries to */
    for (size_t i = 0; rc == 0 && (trace = trace_target(o, config, i)) != NULL; i++) {
        rc = ty_run_trace_check(run, trace, &options, err);
    }
    cli_written(rc);
    return rc;
}

/* What only the length of the run can tell, before anything is written. */
static int check_window(const struct cli_options *o, const struct ty_config *config,
                        const struct ty_run *run, struct ty_err *err)
{
    const struct ty_trace_options options = cli_trace_options(o);
    return trace_target(o, config, 0) != NULL ? ty_run_trace_check(run, NULL, &options, err) : 0;
}

/* Of a large trace, before it is written: how large it will be, and what would be less. */
static void warn_of_size(const struct cli_options *o, const struct ty_run *run, const char *trace,
                         const struct ty_trace_options *options)
{
    char *advice = NULL;
    double bytes;
    if (!o->quiet && strcmp(cli_trace_path(trace), "null:") != 0 &&
        ty_run_trace_size(run, trace, options, &bytes, &advice, NULL) == 0 && advice != NULL) {
        cli_say("%s\n", advice);
    }
    ty_text_free(advice);
}

static int write_traces(const struct cli_options *o, const struct ty_config *config,
                        const struct ty_run *run, struct ty_err *err)
{
    struct ty_trace_options options = cli_trace_options(o);
    const char *trace;
    for (size_t i = 0; (trace = trace_target(o, config, i)) != NULL; i++) {
        char *note = NULL;
        warn_of_size(o, run, trace, &options);
        options.stop = cli_writing();
        struct cli_progress progress = cli_progress("writing", o->quiet);
        options.progress = progress.on ? cli_progress_share : NULL;
        options.progress_arg = &progress;
        const int rc = ty_run_trace(run, trace, &options, &note, err);
        cli_progress_end(&progress);
        cli_written(rc);
        if (rc < 0) {
            return rc;
        }
        if (note != NULL && !o->quiet) {
            cli_say("%s\n", note);
        }
        ty_text_free(note);
    }
    return 0;
}

/* How sure the run is, where that is asked for. */
static int find_band(const struct cli_options *o, struct ty_run *run, struct ty_err *err)
{
    const struct ty_source source = cli_source(o);
    return o->uncertain ? ty_run_uncertain(run, &source, err) : 0;
}

/* Whether somebody reads the report while the rest of it is still searched for. */
static bool streams(const struct cli_options *o, const struct ty_config *config, const char *format)
{
    return strcmp(format, "table") == 0 && strcmp(target(o, config), "-") == 0;
}

/* Writes the report; where it streams, before the search for what would make the run fit. */
static int write_report(const struct cli_options *o, const struct ty_config *config,
                        const struct ty_run *run, const char *format, struct ty_err *err)
{
    const char *path = target(o, config);
    const bool parts = streams(o, config, format);
    char *text = NULL;
    int rc = ty_run_report(run, parts ? "step" : format, &text, err);
    rc = cli_hand_over(rc, text, path, err);
    if (rc == 0 && parts) {
        (void)fflush(stdout);
        text = NULL;
        rc = ty_run_report(run, "suggest", &text, err);
        rc = cli_hand_over(rc, text, path, err);
    }
    return rc;
}

static int simulate(const struct cli_options *o, const struct ty_config *config, struct ty_run *run,
                    struct ty_err *err)
{
    const char *format = o->stats != NULL ? o->stats : ty_config_stats_format(config);
    int rc = check_outputs(o, config, run, err);
    if (rc == 0) {
        remark_traceless(o, config);
        const bool traced = trace_target(o, config, 0) != NULL;
        rc = cli_execute(o, run, !traced, err);
    }
    if (ty_run_halted(run)) { /* the picture of a deadlock is worth having */
        write_traces(o, config, run, err);
        return rc;
    }
    if (rc == 0) {
        rc = check_window(o, config, run, err);
    }
    if (rc == 0) {
        rc = find_band(o, run, err);
    }
    if (rc == 0) {
        rc = write_report(o, config, run, format, err);
    }
    cli_say_unprinted(o, target(o, config));
    return rc < 0 ? rc : write_traces(o, config, run, err);
}

static int describe(const struct cli_options *o, const struct ty_config *config, struct ty_run *run,
                    struct ty_err *err)
{
    char *text = NULL;
    int rc;
    if (o->show_config) {
        rc = ty_config_show(config, &text, err);
    } else {
        rc = ty_run_report(run, o->traffic ? "traffic" : "check", &text, err);
    }
    return cli_hand_over(rc, text, target(o, config), err);
}

/* 0, or 2 as cli_number. */
static int fleet_options(const struct cli_options *o, struct ty_fleet_request *request)
{
    uint32_t days = 0;
    if ((o->days != NULL && cli_number(o, "--days", o->days, &days) != 0) ||
        (o->runs != NULL && cli_number(o, "--runs", o->runs, &request->runs) != 0)) {
        return 2;
    }
    request->days = days;
    return cli_jobs(o, &request->jobs);
}

static int explain(const struct cli_options *o, const struct ty_config *config, struct ty_run *run,
                   struct ty_err *err)
{
    char *text = NULL;
    int rc = cli_check_path(target(o, config), err);
    if (rc == 0) {
        rc = cli_execute(o, run, true, err);
    }
    if (rc == 0) {
        rc = find_band(o, run, err);
    }
    if (rc == 0) {
        rc = ty_run_report(run, "explain", &text, err);
    }
    return cli_hand_over(rc, text, target(o, config), err);
}

/* "svg:days.svg": a history as a file. */
static int write_fleet(const struct ty_run *run, const struct ty_fleet_request *request,
                       const char *trace, struct ty_err *err)
{
    struct ty_fleet_request r = *request;
    char form[16], *text = NULL;
    (void)snprintf(form, sizeof(form), "%.*s", (int)strcspn(trace, ":"), trace);
    r.form = form;
    int rc = ty_run_fleet(run, &r, &text, err);
    if (rc == 0) {
        cli_writing();
        rc = ty_text_write(text, cli_trace_path(trace), err);
        cli_written(rc);
    }
    ty_text_free(text);
    return rc;
}

static int fleet(const struct cli_options *o, const struct ty_config *config, struct ty_run *run,
                 struct ty_err *err)
{
    char *text = NULL;
    struct ty_fleet_request request = {.form = o->stats};
    (void)fleet_options(o, &request); /* cmd_fleet has read them */
    if (request.form == NULL) {
        request.form = ty_config_stats_format(config);
    }
    int rc = cli_check_path(target(o, config), err);
    rc = rc < 0 ? rc : ty_run_report_check(request.form, err);
    for (size_t i = 0; rc >= 0 && i < o->trace.n; i++) {
        rc = cli_check_path(cli_trace_path(o->trace.item[i]), err);
    }
    rc = rc < 0 ? rc : cli_execute(o, run, true, err);
    for (size_t i = 0; rc == 0 && i < o->trace.n; i++) {
        rc = write_fleet(run, &request, o->trace.item[i], err);
    }
    struct cli_progress progress = cli_progress("playing histories", o->quiet);
    request.progress = progress.on ? cli_progress_share : NULL;
    request.progress_arg = &progress;
    rc = rc < 0 ? rc : ty_run_fleet(run, &request, &text, err);
    cli_progress_end(&progress);
    return cli_hand_over(rc, text, target(o, config), err);
}

/* What a command does with a plan. */
typedef int plan_fn(const struct cli_options *o, const struct ty_config *config, struct ty_run *run,
                    struct ty_err *err);

/* ty_run_new, or ty_run_outline where nobody looks at single ranks. */
typedef int make_fn(struct ty_run **run, const struct ty_config *config, struct ty_err *err);

/* All commands read and plan; an answer of "does not fit" is exit status 1. */
static int plan_and(const struct cli_options *o, make_fn *make, plan_fn *then)
{
    struct ty_err *err = ty_err_new();
    struct ty_config *config = NULL;
    struct ty_run *run = NULL;
    int rc = cli_load(o, o->operand, &config, err);
    if (rc == 0 && check_paths(o, config) != 0) {
        ty_config_free(config);
        ty_err_free(err);
        return 2;
    }
    if (rc == 0) {
        rc = print_remarks(o, config, err);
    }
    if (rc == 0) {
        rc = make(&run, config, err);
    }
    if (rc == 0) {
        rc = then(o, config, run, err);
    }
    const int status = rc == 0 && !ty_run_fits(run) ? 1 : 0;
    ty_run_free(run);
    ty_config_free(config);
    return cli_end(o, rc, err, status);
}

int cmd_run(const struct cli_options *o)
{
    uint32_t jobs;
    double suggest_s;
    return cli_jobs(o, &jobs) != 0 || cli_suggest(o, &suggest_s) != 0
               ? 2
               : plan_and(o, o->trace.n > 0 ? ty_run_new : ty_run_outline, simulate);
}

int cmd_check(const struct cli_options *o)
{
    if (o->show_config && o->traffic) {
        cli_say("trainyard check: --show-config and --traffic exclude each other; give one\n");
        return 2;
    }
    return plan_and(o, o->traffic ? ty_run_new : ty_run_outline, describe);
}

int cmd_explain(const struct cli_options *o)
{
    uint32_t jobs;
    return cli_jobs(o, &jobs) != 0 ? 2 : plan_and(o, ty_run_new, explain);
}

int cmd_fleet(const struct cli_options *o)
{
    struct ty_fleet_request request = {.form = NULL};
    for (size_t i = 0; i < o->trace.n; i++) {
        const char *colon = strchr(o->trace.item[i], ':');
        if (colon == NULL || colon[1] == '\0') {
            cli_say("trainyard fleet: --trace %s: no path; write FORMAT:PATH, such as "
                    "svg:days.svg\n",
                    o->trace.item[i]);
            return 2;
        }
    }
    return fleet_options(o, &request) != 0 ? 2 : plan_and(o, ty_run_outline, fleet);
}
