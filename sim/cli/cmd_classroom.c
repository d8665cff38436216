/* cmd_classroom.c - `trainyard classroom`, and a schedule in it. */
#include "sim/cli/cli.h"

int cli_classroom(const struct ty_schedule_options *asked, bool many, char **page,
                  struct ty_err *err)
{
    struct ty_schedule_options s = *asked;
    char *text = NULL, *state = NULL;
    s.format = "json"; /* what cannot be drawn is refused in the words of `schedule` */
    int rc = many ? ty_schedule_compare(&s, &text, err) : ty_schedule_show(&s, &text, err);
    rc = rc == 0 ? ty_schedule_state(asked, many, &state, err) : rc;
    rc = rc == 0 ? ty_classroom(state, page, err) : rc;
    ty_text_free(text);
    ty_text_free(state);
    return rc;
}

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
