/* cmd_schedule.c - `trainyard schedule` and `trainyard list`. */
#include <stdio.h>
#include <string.h>

#include "sim/cli/cli.h"

static int hand_over(const struct cli_options *o, int rc, char *text, const char *path,
                     struct ty_err *err)
{
    rc = rc < 0 ? rc : cli_write_text(text, path != NULL ? path : "-", err);
    ty_text_free(text);
    if (rc < 0) {
        return cli_fail(o, err);
    }
    ty_err_free(err);
    return 0;
}

/* Options that belong to a picture, formats that a comparison has. */
static int check_options(const struct cli_options *o, bool svg)
{
    if (!svg && (o->palette != NULL || o->bubbles != NULL)) {
        cli_say("trainyard schedule: %s is for pictures; add --format svg\n",
                o->palette != NULL ? "--palette" : "--bubbles");
        return 2;
    }
    if (o->compare != NULL && o->format != NULL && !svg) {
        cli_say("trainyard schedule: --compare draws tables and charts; of --format it has "
                "svg only\n");
        return 2;
    }
    return 0;
}

/* Whether the operand is a schedule that the program knows, and no file. */
static bool is_known(const char *name)
{
    char *text = NULL;
    const size_t n = strlen(name);
    bool found = false;
    if (ty_list("schedules", &text, NULL) < 0) {
        return false;
    }
    for (const char *line = text; line != NULL && !found; line = strchr(line, '\n')) {
        line += *line == '\n';
        found = strncmp(line, name, n) == 0 && (line[n] == ' ' || line[n] == '\n');
    }
    ty_text_free(text);
    return found;
}

/* The answer may not take the place of the schedule file. Prints and returns 2 when it would. */
static int check_output(const struct cli_options *o)
{
    const bool reads = o->output != NULL && o->operand != NULL && o->compare == NULL;
    return reads && cli_overwrites(o->output, o->operand) && !is_known(o->operand)
               ? cli_fail_overwrites(o, o->output)
               : 0;
}

int cmd_schedule(const struct cli_options *o)
{
    struct ty_schedule_options s = {.name = o->operand,
                                    .times = o->times,
                                    .format = o->format,
                                    .width = cli_columns(),
                                    .palette = o->palette,
                                    .bubbles = o->bubbles};
    const bool svg = o->format != NULL && strcmp(o->format, "svg") == 0;
    s.svg_width = svg ? o->width : NULL;
    const struct {
        const char *option, *text;
        uint32_t *value;
    } numbers[] = {
        {"-p", o->pipeline, &s.pipeline},   {"-m", o->micro_batches, &s.micro_batches},
        {"-v", o->chunks, &s.chunks},       {"--group", o->group, &s.group},
        {"--slices", o->slices, &s.slices}, {"--width", svg ? NULL : o->width, &s.width},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (numbers[i].text != NULL &&
            cli_number(o, numbers[i].option, numbers[i].text, numbers[i].value) != 0) {
            return 2;
        }
    }
    if (check_options(o, svg) != 0 || check_output(o) != 0) {
        return 2;
    }
    struct ty_err *err = ty_err_new();
    char *text = NULL;
    if (o->compare != NULL) {
        s.name = o->compare;
    } else if (!o->quiet && ty_schedule_advice(&s, &text, NULL) == 0 && text != NULL) {
        fprintf(stderr, "%s\n", text);
        ty_text_free(text);
        text = NULL;
    }
    const int rc =
        o->compare != NULL ? ty_schedule_compare(&s, &text, err) : ty_schedule_show(&s, &text, err);
    return hand_over(o, rc, text, o->output, err);
}

int cmd_list(const struct cli_options *o)
{
    struct ty_err *err = ty_err_new();
    char *text = NULL;
    const bool keys = strcmp(o->operand, "keys") == 0;
    if (o->second != NULL && !keys) {
        cli_say("trainyard list: %s is one word too many; a second one goes with keys\n",
                o->second);
        ty_err_free(err);
        return 2;
    }
    const int rc = keys ? ty_list_keys(o->second, &text, err) : ty_list(o->operand, &text, err);
    return hand_over(o, rc, text, NULL, err);
}
