/* options.c - the command line from one table: parsing, --help, and hints all read it. */
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sim/cli/cli.h"

void cli_print_help(enum cli_command command)
{
    const struct cli_command_row *row = &cli_commands[command];
    printf("usage: trainyard %s %s [OPTION]...\n%s\n\n", row->name, row->arguments, row->summary);
    const char *name, *about;
    for (size_t i = 0; command == CLI_list && (name = ty_list_name(i, &about)) != NULL; i++) {
        printf("  %-32s %s\n", name, about);
    }
    for (size_t i = 0; i < cli_n_option_rows; i++) {
        const struct cli_option_row *option = &cli_option_rows[i];
        char left[64];
        if (!cli_has(command, option)) {
            continue;
        }
        snprintf(left, sizeof(left), "%s%c%s --%s%s%s", option->letter != 0 ? "-" : "  ",
                 option->letter != 0 ? option->letter : ' ', option->letter != 0 ? "," : "",
                 option->name, option->argument != NULL ? " " : "",
                 option->argument != NULL ? option->argument : "");
        printf("  %-32s %s\n", left, option->help);
    }
    printf("\nfor example:  %s\n", row->example);
}

static bool store(const struct cli_option_row *row, const char *value, struct cli_options *out)
{
    char *at = (char *)out + row->offset;
    switch (row->kind) {
    case CLI_FLAG:
        *(bool *)at = true;
        break;
    case CLI_VALUE:
        memcpy(at, &value, sizeof(value));
        break;
    case CLI_LIST: {
        struct cli_list *list = (struct cli_list *)(void *)at;
        if (list->n == CLI_LIST_MAX) {
            return false;
        }
        list->item[list->n++] = value;
        break;
    }
    case CLI_SEED:
        snprintf(out->seed, sizeof(out->seed), "run.seed=%s", value);
        break;
    }
    return true;
}

/* The rows of one command in the form getopt_long wants; values are row numbers + 1. */
static void prepare(enum cli_command command, struct option *options, char *letters)
{
    size_t n = 0;
    *letters++ = ':'; /* a missing argument is reported as ':' */
    for (size_t i = 0; i < cli_n_option_rows; i++) {
        if (!cli_has(command, &cli_option_rows[i])) {
            continue;
        }
        options[n++] =
            (struct option){cli_option_rows[i].name,
                            cli_option_rows[i].kind == CLI_FLAG ? no_argument : required_argument,
                            NULL, (int)(i + 1) << 8};
        if (cli_option_rows[i].letter != 0) {
            *letters++ = cli_option_rows[i].letter;
            if (cli_option_rows[i].kind != CLI_FLAG) {
                *letters++ = ':';
            }
        }
    }
    options[n] = (struct option){NULL, 0, NULL, 0};
    *letters = '\0';
}

static const struct cli_option_row *find(int code)
{
    for (size_t i = 0; i < cli_n_option_rows; i++) {
        if (code == (int)(i + 1) << 8 || (code < 256 && code == cli_option_rows[i].letter)) {
            return &cli_option_rows[i];
        }
    }
    return NULL;
}

static int unknown(enum cli_command command, const char *word)
{
    const char *names[CLI_OPTIONS_MAX];
    for (size_t i = 0; i < cli_n_option_rows; i++) {
        names[i] = cli_has(command, &cli_option_rows[i]) ? cli_option_rows[i].name : NULL;
    }
    char bare[64];
    snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(word + strspn(word, "-"), "="),
             word + strspn(word, "-"));
    const char *near = ty_suggest(bare, names, cli_n_option_rows);
    fprintf(stderr, "trainyard %s: unknown option %s", cli_commands[command].name, word);
    if (near != NULL) {
        fprintf(stderr, "; did you mean --%s?", near);
    }
    fprintf(stderr, "\ntry trainyard %s --help\n", cli_commands[command].name);
    return 2;
}

/* Words as a shell reads them again. */
static void keep_line(int argc, char **argv, struct cli_options *out)
{
    static const char harmless[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,+@%";
    size_t n = (size_t)snprintf(out->line, sizeof(out->line), "trainyard");
    for (int i = 0; i < argc && n + 8 < sizeof(out->line); i++) {
        const bool plain = argv[i][0] != '\0' && argv[i][strspn(argv[i], harmless)] == '\0';
        out->line[n++] = ' ';
        out->line[n] = '\'';
        n += plain ? 0 : 1;
        for (const char *c = argv[i]; *c != '\0' && n + 8 < sizeof(out->line); c++) {
            n += (size_t)snprintf(out->line + n, 8, *c == '\'' ? "'\\''" : "%c", *c);
        }
        out->line[n] = '\'';
        n += plain ? 0 : 1;
    }
    snprintf(out->line + n, sizeof(out->line) - n, "%s", n + 8 < sizeof(out->line) ? "" : "...");
}

/* The words that are no options: one, or two where a command compares. */
static int keep_operands(enum cli_command command, int n, char **words, struct cli_options *out)
{
    const int most = cli_commands[command].most;
    if (n == 0 && out->compare != NULL) {
        return 0; /* names take the place of the operand */
    }
    if (n < 1 || n > most) {
        fprintf(stderr, "trainyard %s: %s\nusage: trainyard %s %s [OPTION]...\n",
                cli_commands[command].name,
                n > most ? "too many words" : "what to work on is missing",
                cli_commands[command].name, cli_commands[command].arguments);
        return 2;
    }
    for (int i = 0; i < n; i++) {
        out->operands.item[out->operands.n++] = words[i];
    }
    out->operand = words[0];
    out->second = n > 1 ? words[1] : NULL;
    return 0;
}

int cli_parse(enum cli_command command, int argc, char **argv, struct cli_options *out)
{
    struct option options[CLI_OPTIONS_MAX + 1];
    char letters[2 * CLI_OPTIONS_MAX + 4];
    *out = (struct cli_options){.operand = NULL};
    keep_line(argc, argv, out);
    prepare(command, options, letters);
    opterr = 0;
    optind = 1;
    int code;
    while ((code = getopt_long(argc, argv, letters, options, NULL)) != -1) {
        if (code == ':') {
            fprintf(stderr, "trainyard %s: %s needs a value\n", cli_commands[command].name,
                    argv[optind - 1]);
            return 2;
        }
        const struct cli_option_row *row = code == '?' ? NULL : find(code);
        if (row == NULL) {
            return unknown(command, argv[optind - 1]);
        }
        if (!store(row, optarg, out)) {
            fprintf(stderr, "trainyard %s: --%s more than %d times\n", cli_commands[command].name,
                    row->name, CLI_LIST_MAX);
            return 2;
        }
    }
    if (out->help) {
        return 0;
    }
    return keep_operands(command, argc - optind, argv + optind, out);
}
