/* interrupt.c - Ctrl-C leaves nothing behind.
 *
 * Outside of writing there is nothing to clean up and the process ends at once. While a file is
 * written, the signal only raises a flag; the writer sees it, removes what it wrote, and
 * reports. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sim/cli/cli.h"

static volatile int raised;
static volatile sig_atomic_t writing;
static const char *volatile last_words;

static void on_signal(int number)
{
    raised = number;
    if (!writing) {
        const char *words = last_words;
        if (words != NULL && write(STDERR_FILENO, words, strlen(words)) < 0) {
            /* there is nobody to tell */
        }
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

const volatile int *cli_writing(void)
{
    writing = true;
    return &raised;
}

void cli_written(int rc)
{
    writing = false;
    if (rc == 0 && raised != 0) {
        _exit(128 + raised);
    }
}

void cli_last_words(const char *text)
{
    last_words = text;
}

int cli_interrupted(void)
{
    return raised;
}
