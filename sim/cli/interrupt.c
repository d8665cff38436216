/* interrupt.c - Ctrl-C leaves nothing behind.
 *
 * Outside of writing there is nothing to clean up and the process ends at once. While a file is
 * written, the signal only raises a flag; the writer sees it, removes what it wrote, and reports. */
#include <signal.h>
#include <unistd.h>

#include "sim/cli/cli.h"

static volatile int raised;
static volatile sig_atomic_t writing;

static void on_signal(int number)
{
    raised = number;
    if (!writing) {
        _exit(128 + number);
    }
}

void cli_catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        sigaction(signals[i], &action, NULL);
    }
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error of writing, not the end */
}

const volatile int *cli_writing(bool on)
{
    writing = on;
    return &raised;
}

int cli_interrupted(void)
{
    return raised;
}
