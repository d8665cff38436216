/* output.c - messages to people, numbers from them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sim/cli/cli.h"

int cli_fail(struct ty_err *err)
{
    if (err == NULL) {
        fprintf(stderr, "trainyard: out of memory\n");
        return 4;
    }
    const int status = ty_err_exit_status(err);
    fprintf(stderr, "%s\n", ty_err_text(err));
    ty_err_free(err);
    return status;
}

int cli_number(const char *option, const char *text, uint32_t *out)
{
    char *end;
    errno = 0;
    const unsigned long x = text[0] >= '0' && text[0] <= '9' ? strtoul(text, &end, 10) : 0;
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || x > UINT32_MAX) {
        fprintf(stderr, "trainyard: %s: \"%s\" is not a whole number\n", option, text);
        return 2;
    }
    *out = (uint32_t)x;
    return 0;
}

uint32_t cli_columns(void)
{
    struct winsize size;
    const bool terminal = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    return terminal ? size.ws_col : 0;
}
