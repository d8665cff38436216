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
        size_t n = 0;
        if (!cli_has(command, option)) {
            continue;
        }
        if (option->letter != 0) {
            n = (size_t)snprintf(left, sizeof(left), "-%c, --%s", option->letter, option->name);
        } else {
            n = (size_t)snprintf(left, sizeof(left), "    --%s", option->name);
        }
        if (option->argument != NULL) {
            snprintf(left + n, sizeof(left) - n, " %s", option->argument);
        }
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
        if (code == (int)(i + 1) << 8 ||
            (code > 0 && code < 256 && code == cli_option_rows[i].letter)) {
            return &cli_option_rows[i];
        }
    }
    return NULL;
}

static bool has_name(enum cli_command command, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < cli_n_option_rows; i++) {
        found = found || (cli_has(command, &cli_option_rows[i]) &&
                          strcmp(cli_option_rows[i].name, name) == 0);
    }
    return found;
}

/* "; sweep and calibrate have it" */
static void print_owners(unsigned owners)
{
    unsigned left = owners;
    cli_say("; ");
    for (size_t i = 0; left != 0; i++) {
        if ((left >> i & 1u) != 0) {
            left &= ~(1u << i);
            cli_say("%s", cli_commands[i].name);
            if (left != 0) {
                cli_say("%s", (left & (left - 1)) == 0 ? " and " : ", ");
            }
        }
    }
    cli_say("%s", (owners & (owners - 1)) == 0 ? " has it" : " have it");
}

/* "; hint: --set layout.tensor=4", where the name is a key's, or that of a section before it. */
static bool print_key(enum cli_command command, const char *option, const char *value)
{
    char name[64];
    struct ty_keys *keys = NULL;
    bool found = false;
    const bool settable = has_name(command, "set");
    if (!settable || ty_keys_new(&keys, NULL) < 0) {
        return false;
    }
    snprintf(name, sizeof(name), "%s", option);
    for (char *dash = name; (dash = strchr(dash, '-')) != NULL;) {
        *dash = '_'; /* --sequence-parallel */
    }
    for (size_t i = 0; i < keys->n; i++) {
        const char *dot = strchr(keys->key[i].name, '.');
        if (strcmp(keys->key[i].name, name) == 0 || (dot != NULL && strcmp(dot + 1, name) == 0)) {
            cli_say("%s --set %s=%s", found ? ", or" : "; hint:", keys->key[i].name, value);
            found = true;
        }
    }
    ty_keys_free(keys);
    return found;
}

static int unknown(enum cli_command command, const char *word, const char *next)
{
    const char *names[CLI_OPTIONS_MAX];
    unsigned owners = 0;
    char bare[64];
    const char *name = word + strspn(word, "-");
    snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(name, "="), name);
    for (size_t i = 0; i < cli_n_option_rows; i++) {
        const struct cli_option_row *row = &cli_option_rows[i];
        const bool letter = bare[0] != '\0' && bare[0] == row->letter && bare[1] == '\0';
        names[i] = cli_has(command, row) ? row->name : NULL;
        owners |= letter || strcmp(bare, row->name) == 0 ? row->commands : 0;
    }
    const char *near = ty_suggest(bare, names, cli_n_option_rows);
    const char *equals = strchr(word, '=');
    const char *value = "VALUE";
    if (equals != NULL) {
        value = equals + 1;
    } else if (next != NULL && next[0] != '-') {
        value = next;
    }
    cli_say("trainyard %s: unknown option %s", cli_commands[command].name, word);
    if ((owners >> command & 1u) != 0) { /* "---set" */
        cli_say("; did you mean --%s?", bare);
    } else if (owners != 0) {
        print_owners(owners);
    } else if (!print_key(command, bare, value) && near != NULL) {
        cli_say("; did you mean --%s?", near);
    }
    cli_say("\ntry trainyard %s --help\n", cli_commands[command].name);
    return 2;
}

static int no_value(enum cli_command command, const struct cli_option_row *row)
{
    cli_say("trainyard %s: --%s needs a value; write --%s %s\n", cli_commands[command].name,
            row->name, row->name, row->argument);
    return 2;
}

/* "-q=1", of which getopt_long has read the q. */
static int letter_with_value(enum cli_command command, const char *word)
{
    const char letter = *(strchr(word, '=') - 1);
    cli_say("trainyard %s: %s: -%c has no value; write -%c alone\n", cli_commands[command].name,
            word, letter, letter);
    return 2;
}

/* The word in which getopt_long stopped: behind its last letter it counts on. */
static const char *stopped_in(int argc, char **argv, int option)
{
    const bool inside = optind < argc && argv[optind][0] == '-' && argv[optind][1] != '-' &&
                        strchr(argv[optind] + 1, option) != NULL;
    return argv[inside ? optind : optind - 1];
}

/* What getopt_long could not read: an option without its value, with one too many, or none. */
static int misused(enum cli_command command, int code, int option, const char *word,
                   const char *next)
{
    const struct cli_option_row *row = option != 0 ? find(option) : NULL;
    const char letter[] = {'-', (char)option, '\0'};
    if (option == '=' && word[1] != '=') {
        return letter_with_value(command, word);
    }
    if (row != NULL && code == ':') {
        return no_value(command, row);
    }
    if (row != NULL && option > 255) {
        cli_say("trainyard %s: --%s has no value; write --%s alone\n", cli_commands[command].name,
                row->name, row->name);
        return 2;
    }
    return unknown(command, option > 0 && option < 256 ? letter : word, next);
}

/* What fits into a seed, 64 bits. Prints what is wrong and returns 2. */
static int check_seed(const struct cli_options *o, const char *text)
{
    static const char most[] = "18446744073709551615";
    const char *digits = text + strspn(text, "0");
    const size_t n = strspn(digits, "0123456789"), room = sizeof(most) - 1;
    const bool whole = text[0] != '\0' && digits[n] == '\0';
    if (whole && (n < room || (n == room && strcmp(digits, most) <= 0))) {
        return 0;
    }
    cli_say("trainyard %s: --seed %s: %s; write one from 0 to %s, such as 1\n", o->command, text,
            whole ? "too large a number" : "not a whole number", most);
    return 2;
}

/* Words as a shell reads them again; of paths from the root the name alone, as in titles. */
static void keep_line(int argc, char **argv, struct cli_options *out)
{
    static const char harmless[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,+@%";
    size_t n = (size_t)snprintf(out->line, sizeof(out->line), "trainyard");
    for (int i = 0; i < argc && n + 8 < sizeof(out->line); i++) {
        const bool plain = argv[i][0] != '\0' && argv[i][strspn(argv[i], harmless)] == '\0';
        const char *path = argv[i][0] == '/' ? argv[i] : strstr(argv[i], "=/");
        path += path != NULL && *path == '=' ? 1 : 0;
        const char *name = path != NULL ? strrchr(path, '/') + 1 : "";
        out->line[n++] = ' ';
        out->line[n] = '\'';
        n += plain ? 0 : 1;
        for (const char *c = argv[i]; *c != '\0' && n + 8 < sizeof(out->line); c++) {
            c = c == path && *name != '\0' ? name : c;
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
    const struct cli_command_row *row = &cli_commands[command];
    if (n == 0 && most == 0) {
        return 0;
    }
    if (n > most && most == 0) {
        cli_say(
            "trainyard %s: %s is one word too many; write options only\ntry trainyard %s --help\n",
            row->name, words[0], row->name);
        return 2;
    }
    if (n < 1) {
        cli_say("trainyard %s: %.*s is missing", row->name, (int)strcspn(row->arguments, " "),
                row->arguments);
    } else if (n > most) {
        cli_say("trainyard %s: %s is one word too many; write at most %d", row->name, words[most],
                most);
    }
    if (n < 1 || n > most) {
        cli_say("\nusage: trainyard %s %s [OPTION]...\n", row->name, row->arguments);
        return 2;
    }
    for (int i = 0; i < n; i++) {
        if (words[i][0] == '\0') {
            cli_say("trainyard %s: %.*s is an empty word; write one\n", row->name,
                    (int)strcspn(row->arguments, " "), row->arguments);
            return 2;
        }
    }
    out->operands = (const char *const *)words;
    out->n_operands = (size_t)n;
    out->operand = words[0];
    out->second = n > 1 ? words[1] : NULL;
    return 0;
}

int cli_parse(enum cli_command command, int argc, char **argv, struct cli_options *out)
{
    struct option options[CLI_OPTIONS_MAX + 1];
    char letters[2 * CLI_OPTIONS_MAX + 4];
    *out = (struct cli_options){.command = cli_commands[command].name, .words = argv};
    keep_line(argc, argv, out);
    prepare(command, options, letters);
    opterr = 0;
    optind = 1;
    int code;
    while ((code = getopt_long(argc, argv, letters, options, NULL)) != -1) {
        const struct cli_option_row *row = find(code);
        if (row == NULL) {
            const bool equals = optopt == '=';
            return misused(command, code, optopt,
                           equals ? stopped_in(argc, argv, optopt) : argv[optind - 1],
                           optind < argc ? argv[optind] : NULL);
        }
        if (row->kind != CLI_FLAG && optarg[0] == '\0') {
            return no_value(command, row);
        }
        if (row->kind == CLI_SEED && check_seed(out, optarg) != 0) {
            return 2;
        }
        if (!store(row, optarg, out)) {
            cli_say("trainyard %s: --%s is given more than %d times; write fewer\n",
                    cli_commands[command].name, row->name, CLI_LIST_MAX);
            return 2;
        }
    }
    if (out->seed[0] != '\0') {
        out->set.item[out->set.n++] = out->seed;
    }
    if (out->help && argc - optind <= cli_commands[command].most) {
        return 0;
    }
    return keep_operands(command, argc - optind, argv + optind, out);
}

struct ty_source cli_source(const struct cli_options *o)
{
    return (struct ty_source){.path = o->operand,
                              .with = o->with.item,
                              .n_with = o->with.n,
                              .sets = o->set.item,
                              .n_sets = o->set.n};
}
