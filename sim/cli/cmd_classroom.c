/* cmd_classroom.c - `trainyard classroom`, and a schedule in it. */
#include <stdio.h>
#include <string.h>

#include "sim/cli/cli.h"

#define STATE_SIZE 65536u /* of an address, about as much as browsers take */

/* Adds KEY=VALUE to an address; false: there is no room, or the value cannot be in one. */
static bool add(char state[STATE_SIZE], const char *key, const char *value)
{
    const size_t n = strlen(state);
    if (value == NULL) {
        return true;
    }
    const int more = snprintf(state + n, STATE_SIZE - n, "%s%s=%s", n > 0 ? "&" : "", key, value);
    return more >= 0 && (size_t)more < STATE_SIZE - n && strchr(value, '&') == NULL;
}

/* An order of the user's own in one line. */
static int slots_of(const struct ty_schedule_options *asked, char **slots, struct ty_err *err)
{
    struct ty_schedule_options s = *asked;
    s.format = "slots";
    const int rc = ty_schedule_show(&s, slots, err);
    for (char *c = rc == 0 ? *slots : NULL; c != NULL && *c != '\0'; c++) {
        *c = *c != '\n' ? *c : c[1] != '\0' ? ';' : '\0';
    }
    return rc;
}

/* What cannot be drawn is refused here, in the words of `schedule`. */
static int try_it(const struct cli_options *o, const struct ty_schedule_options *asked,
                  struct ty_err *err)
{
    struct ty_schedule_options s = *asked;
    char *text = NULL;
    s.format = "json";
    const int rc =
        o->compare != NULL ? ty_schedule_compare(&s, &text, err) : ty_schedule_show(&s, &text, err);
    ty_text_free(text);
    return rc;
}

int cli_classroom(const struct cli_options *o, const struct ty_schedule_options *asked, bool own,
                  char **page, struct ty_err *err)
{
    static char state[STATE_SIZE];
    char *slots = NULL;
    int rc = own ? slots_of(asked, &slots, err) : try_it(o, asked, err);
    if (rc < 0) {
        return rc;
    }
    const struct {
        const char *key, *value;
    } pairs[] = {{"schedule", own ? NULL : asked->name},
                 {"p", o->pipeline},
                 {"m", o->micro_batches},
                 {"v", o->chunks},
                 {"group", o->group},
                 {"slices", o->slices},
                 {"times", o->times},
                 {"stages", o->stages},
                 {"slots", slots}};
    bool room = true;
    state[0] = '\0';
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]) && room; i++) {
        room = add(state, pairs[i].key, pairs[i].value);
    }
    ty_text_free(slots);
    return ty_classroom(room ? state : NULL, page, err);
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
