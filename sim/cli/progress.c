/* progress.c - how far it is: one line on standard error, rewritten, on a terminal only.
 *
 * Nothing is shown of what is over in half a second. The line is taken away at the end, so that
 * what follows stands where it began. */
#define _XOPEN_SOURCE 700 /* clock_gettime */

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/cli/cli.h"

#define WAIT_S  0.5
#define EVERY_S 0.2

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
                                 .on = !quiet && isatty(STDERR_FILENO),
                                 .begun = begun,
                                 .next = begun + WAIT_S};
}

void cli_progress_share(void *arg, double share)
{
    struct cli_progress *p = arg;
    const double t = p->on ? now() : 0;
    char left[32] = "";
    if (!p->on || t < p->next) {
        return;
    }
    p->next = t + EVERY_S;
    if (share > 1) {
        share = 1;
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
    if (p->on && line[0] != '\0') {
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

int cli_execute(const struct cli_options *o, struct ty_run *run, bool figures, struct ty_err *err)
{
    struct cli_progress progress = cli_progress("simulating", o->quiet);
    struct ty_execute_options options = {.engine = o->engine,
                                         .figures = figures,
                                         .progress = progress.on ? cli_progress_share : NULL,
                                         .progress_arg = &progress};
    (void)cli_jobs(o, &options.threads);
    (void)cli_suggest(o, &options.suggest_s);
    const int rc = ty_run_execute(run, &options, err);
    cli_progress_end(&progress);
    return rc;
}
