/* cmd_classroom.c - `trainyard classroom`. */
#include "sim/cli/cli.h"

int cmd_classroom(const struct cli_options *o)
{
    struct ty_err *err = ty_err_new();
    char *page = NULL;
    int rc = cli_check_path(o->output, err);
    if (rc == 0) {
        rc = ty_classroom(NULL, &page, err);
    }
    rc = cli_hand_over(rc, page, o->output, err);
    return cli_end(o, rc, err, 0);
}
