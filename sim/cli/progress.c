/* progress.c - how far it is: one line on standard error, rewritten, on a terminal; elsewhere one
 * that stays, of what takes long.
 *
 * A terminal shows nothing of what is over in half a second. Its line is taken away at the end, so
 * that what follows stands where it began. */
#define _XOPEN_SOURCE 700 /* clock_gettime */

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/cli/cli.h"

#define WAIT_S  0.5
#define EVERY_S 0.2
#define LOOK_S  3.0  /* so long is waited for a share that tells the whole */
#define LEAST   2e-4 /* a share that does */
#define LONG_S  10.0 /* what is told beforehand */
#define LARGE_B 2e9

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* "12 s", "3 min". */
static void put_duration(double s, char *text, size_t size)
{
    if (s < 90) {
        snprintf(text, size, "%.0f s", s);
    } else if (s < 5400) {
        snprintf(text, size, "%.0f min", s / 60);
    } else {
        snprintf(text, size, "%.1f h", s / 3600);
    }
}

struct cli_progress cli_progress(const char *what, bool quiet)
{
    const double begun = now();
    return (struct cli_progress){.what = what,
                                 .on = !quiet,
                                 .terminal = isatty(STDERR_FILENO),
                                 .begun = begun,
                                 .next = begun + WAIT_S};
}

/* Once, how long all of it will take, where that is long. */
static void project(struct cli_progress *p, double spent, double share)
{
    const double all = share >= LEAST && spent >= LOOK_S ? spent / share : 0;
    char text[32];
    if (all > LONG_S && !p->told) {
        put_duration(all, text, sizeof(text));
        cli_say("%s takes about %s in all; Ctrl-C stops it\n", p->what, text);
        p->told = true;
    }
}

void cli_progress_share(void *arg, double share)
{
    struct cli_progress *p = arg;
    const double t = p->on && !p->told ? now() : 0;
    char left[32] = "";
    if (!p->on || t < p->next) {
        return;
    }
    p->next = t + EVERY_S;
    if (share > 1) {
        share = 1;
    }
    if (!p->terminal) {
        project(p, t - p->begun, share);
        return;
    }
    fputs("\r\033[K", stderr);
    cli_say("%s %.0f %%", p->what, 100 * share);
    if (share > 0.02 && share < 1) {
        put_duration((t - p->begun) * (1 - share) / share, left, sizeof(left));
        cli_say(", %s left", left);
    }
    p->shown = true;
}

void cli_progress_line(void *arg, const char *line)
{
    struct cli_progress *p = arg;
    if (p->on && p->terminal && line[0] != '\0') {
        fputs("\r\033[K", stderr);
        cli_say("%s ...", line);
        p->shown = true;
    }
}

void cli_progress_end(struct cli_progress *p)
{
    if (p->shown) {
        fputs("\r\033[K", stderr);
    }
    p->shown = false;
}

/* What it will take, where that is much. */
static void tell_cost(const struct ty_run *run, bool figures)
{
    double seconds, bytes;
    char text[32];
    ty_run_cost(run, figures, &seconds, &bytes);
    if (seconds > LONG_S || bytes > LARGE_B) {
        put_duration(seconds < 1 ? 1 : seconds, text, sizeof(text));
        cli_say("this run will take %s or more and about %.1f GiB of memory\n", text,
                bytes / 1073741824);
    }
}

int cli_execute(const struct cli_options *o, struct ty_run *run, bool figures, struct ty_err *err)
{
    struct cli_progress progress = cli_progress("simulating", o->quiet);
    struct ty_execute_options options = {.engine = o->engine,
                                         .figures = figures,
                                         .progress = progress.on ? cli_progress_share : NULL,
                                         .progress_arg = &progress};
    if (progress.on) {
        tell_cost(run, figures);
    }
    (void)cli_jobs(o, &options.threads);
    (void)cli_suggest(o, &options.suggest_s);
    const int rc = ty_run_execute(run, &options, err);
    cli_progress_end(&progress);
    return rc;
}
