/* cmd_schedule.c - `trainyard schedule` and `trainyard list`. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "sim/cli/cli.h"

/* The form of the answer: as asked for, else by the end of the path; NULL: a chart. */
static const char *format_of(const struct cli_options *o)
{
    static const struct {
        const char *end, *format;
    } ends[] = {{".svg", "svg"},
                {".json", "json"},
                {".slots", "slots"},
                {".csv", "csv"},
                {".html", "html"}};
    const size_t n = o->output != NULL ? strlen(o->output) : 0;
    const char *format = o->format;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]) && format == NULL; i++) {
        const size_t m = strlen(ends[i].end);
        if (n > m && strcmp(o->output + n - m, ends[i].end) == 0) {
            format = ends[i].format;
        }
    }
    return format;
}

/* A chart in a file whose name promises something else. */
static void say_chart(const struct cli_options *o, const char *format)
{
    const char *end = o->output != NULL ? strrchr(o->output, '.') : NULL;
    if (!o->quiet && format == NULL && end != NULL && strchr(end, '/') == NULL && end[1] != '\0' &&
        strcmp(end, ".txt") != 0) {
        cli_say("%s has a chart as text; --format svg, json, slots or csv writes something else\n",
                o->output);
    }
}

/* Options that belong to a picture, formats that a comparison has. */
static int check_options(const struct cli_options *o, const char *format, bool svg)
{
    if (!svg && (o->palette != NULL || o->bubbles != NULL)) {
        cli_say("trainyard schedule: %s is for pictures; add --format svg\n",
                o->palette != NULL ? "--palette" : "--bubbles");
        return 2;
    }
    const bool many =
        format == NULL || svg || strcmp(format, "json") == 0 || strcmp(format, "html") == 0;
    if (o->compare != NULL && !many) {
        cli_say("trainyard schedule: --compare has only the formats svg, json and html%s%s\n",
                o->format == NULL ? ", so not what the name asks for: " : "",
                o->format == NULL ? o->output : "");
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
    if (ty_list("schedules", NULL, &text, NULL) < 0) {
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

/* The names to compare: an operand comes first, unless it is among them. */
#define NAMES_SIZE 4096u
static const char *with_operand(const struct cli_options *o, char all[NAMES_SIZE])
{
    bool listed = o->operand == NULL;
    for (const char *at = o->compare; !listed; at++) {
        const size_t n = strcspn(at, ",");
        listed = n == strlen(o->operand) && strncmp(at, o->operand, n) == 0;
        at += n;
        if (*at == '\0') {
            break;
        }
    }
    if (listed) {
        return o->compare;
    }
    (void)snprintf(all, NAMES_SIZE, "%s,%s", o->operand, o->compare);
    return all;
}

/* A run file, by its name and by its first line that says something; orders begin with "rank", or
 * with no letter. */
static bool is_run_file(const char *path)
{
    const char *end = path != NULL ? strrchr(path, '.') : NULL;
    char line[256] = "";
    if (end == NULL || (strcmp(end, ".yaml") != 0 && strcmp(end, ".yml") != 0)) {
        return false;
    }
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL &&
           strchr("#\r\n", line[0]) != NULL) {}
    if (file != NULL) {
        (void)fclose(file);
    }
    return isalpha((unsigned char)line[0]) && strncmp(line, "rank ", 5) != 0;
}

/* Prints and returns 2 for options that it has keys for. */
static int check_run_file(const struct cli_options *o, bool run_file)
{
    const struct {
        const char *option, *given;
    } keys[] = {{"-p", o->pipeline},   {"-m", o->micro_batches}, {"-v", o->chunks},
                {"--group", o->group}, {"--slices", o->slices},  {"--compare", o->compare}};
    for (size_t i = 0; run_file && i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (keys[i].given != NULL) {
            cli_say("trainyard schedule: %s and a run file: it has a schedule of its own (%s); "
                    "leave %s out, or name a schedule in its place\n",
                    keys[i].option, o->operand, keys[i].option);
            return 2;
        }
    }
    return 0;
}

/* Its schedule; --times and --stages come before those of the file. */
static int from_run_file(const struct cli_options *o, struct ty_config **config,
                         struct ty_schedule_options *s, struct ty_err *err)
{
    struct ty_schedule_options own;
    int rc = cli_load(o, o->operand, config, err);
    rc = rc == 0 ? ty_schedule_of(*config, &own, err) : rc;
    if (rc == 0) {
        own.times = s->times != NULL ? s->times : own.times;
        own.stages = s->stages != NULL ? s->stages : own.stages;
        own.format = s->format;
        own.width = s->width;
        own.svg_width = s->svg_width;
        own.palette = s->palette;
        own.bubbles = s->bubbles;
        *s = own;
    }
    return rc;
}

/* What is asked for, as text. */
static int answer(const struct cli_options *o, const struct ty_schedule_options *s, char **text,
                  struct ty_err *err)
{
    if (s->format != NULL && strcmp(s->format, "html") == 0) {
        return cli_classroom(s, o->compare != NULL, text, err);
    }
    return o->compare != NULL ? ty_schedule_compare(s, text, err) : ty_schedule_show(s, text, err);
}

/* The numbers among the options. Prints and returns 2 where one is none. */
static int read_numbers(const struct cli_options *o, bool svg, struct ty_schedule_options *s)
{
    const struct {
        const char *option, *text;
        uint32_t *value;
    } numbers[] = {
        {"-p", o->pipeline, &s->pipeline},   {"-m", o->micro_batches, &s->micro_batches},
        {"-v", o->chunks, &s->chunks},       {"--group", o->group, &s->group},
        {"--slices", o->slices, &s->slices}, {"--width", svg ? NULL : o->width, &s->width},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (numbers[i].text != NULL &&
            cli_number(o, numbers[i].option, numbers[i].text, numbers[i].value) != 0) {
            return 2;
        }
    }
    return 0;
}

int cmd_schedule(const struct cli_options *o)
{
    const char *format = format_of(o);
    struct ty_schedule_options s = {.name = o->operand,
                                    .times = o->times,
                                    .stages = o->stages,
                                    .format = format,
                                    .width = cli_columns(),
                                    .palette = o->palette,
                                    .bubbles = o->bubbles};
    const bool svg = format != NULL && strcmp(format, "svg") == 0;
    const bool run_file = is_run_file(o->operand);
    s.svg_width = svg ? o->width : NULL;
    if (read_numbers(o, svg, &s) != 0 || check_options(o, format, svg) != 0 ||
        check_output(o) != 0 || check_run_file(o, run_file) != 0) {
        return 2;
    }
    struct ty_err *err = ty_err_new();
    struct ty_config *config = NULL;
    char *text = NULL;
    char all[NAMES_SIZE];
    int rc = run_file ? from_run_file(o, &config, &s, err) : 0;
    if (o->compare != NULL) {
        s.name = with_operand(o, all);
    } else if (rc == 0 && !o->quiet && ty_schedule_advice(&s, &text, NULL) == 0 && text != NULL) {
        cli_say("%s\n", text);
        ty_text_free(text);
        text = NULL;
    }
    rc = rc == 0 ? answer(o, &s, &text, err) : rc;
    rc = cli_hand_over(rc, text, o->output, err);
    ty_config_free(config);
    if (rc == 0) {
        say_chart(o, format);
    }
    return cli_end(o, rc, err, 0);
}

/* What a list has of a run file. */
static int list_layer(const struct ty_run *run, const struct cli_options *o, char **text,
                      struct ty_err *err)
{
    (void)o;
    return ty_run_report(run, "layers", text, err);
}

static int list_ranks(const struct ty_run *run, const struct cli_options *o, char **text,
                      struct ty_err *err)
{
    return ty_run_places(run, o->stats != NULL ? o->stats : "table", o->ranks, text, err);
}

/* Lists about a run file. */
static const struct run_list {
    const char *name;
    int (*write)(const struct ty_run *run, const struct cli_options *o, char **text,
                 struct ty_err *err);
} run_lists[] = {{"layer", list_layer}, {"ranks", list_ranks}};

static int list_of_run(const struct run_list *list, const struct cli_options *o, char **text,
                       struct ty_err *err)
{
    struct ty_config *config = NULL;
    struct ty_run *run = NULL;
    int rc = cli_load(o, o->second, &config, err);
    if (rc == 0) {
        rc = ty_run_new(&run, config, err);
    }
    if (rc == 0) {
        rc = list->write(run, o, text, err);
    }
    ty_run_free(run);
    ty_config_free(config);
    return rc;
}

int cmd_list(const struct cli_options *o)
{
    char *text = NULL;
    const struct run_list *list = NULL;
    for (size_t i = 0; i < sizeof(run_lists) / sizeof(run_lists[0]) && o->second != NULL; i++) {
        list = strcmp(o->operand, run_lists[i].name) == 0 ? &run_lists[i] : list;
    }
    if (o->set.n + o->with.n > 0 && list == NULL) {
        cli_say("trainyard list: --set and --with are about a run file; write list layer FILE or "
                "list ranks FILE\n");
        return 2;
    }
    if ((o->stats != NULL || o->ranks != NULL) && (list == NULL || list->write != list_ranks)) {
        cli_say("trainyard list: --stats and --ranks go with list ranks FILE\n");
        return 2;
    }
    struct ty_err *err = ty_err_new();
    int rc = list != NULL ? list_of_run(list, o, &text, err)
                          : ty_list(o->operand, o->second, &text, err);
    rc = cli_hand_over(rc, text, NULL, err);
    return cli_end(o, rc, err, 0);
}
