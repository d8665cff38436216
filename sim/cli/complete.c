/* complete.c - what may stand where on the command line: what `trainyard --complete WORD...` tells
 * the scripts of shells in sim/manual.
 *
 * The words are those behind the program up to the cursor, and the last one is completed, be it
 * empty. The first line of the answer is empty, or "files KEPT ENDINGS" where a file is meant:
 * KEPT bytes of the word are settled, names of files end in one of "a|b", or anyhow. Then comes a
 * line a word: all of it, a tab, what it means. A word that ends in = or : goes on. The shell
 * chooses those that begin with what is typed. */
#include <stdio.h>
#include <string.h>

#include "sim/cli/cli.h"

/* What the last word is, and what of it is settled. */
struct place {
    enum cli_takes takes;
    const char *words; /* as `takes` says */
    const char *word, *value;
    const struct ty_keys *keys;
};

static void offer(const struct place *at, const char *name, const char *more, const char *about)
{
    printf("%.*s%s%s\t%s\n", (int)(at->value - at->word), at->word, name, more, about);
}

static void say_files(const struct place *at, const char *endings)
{
    printf("files %d %s\n", (int)(at->value - at->word), endings != NULL ? endings : "");
}

/* Behind the last comma of a list. */
static void skip_list(struct place *at)
{
    const char *comma = strrchr(at->value, ',');
    at->value = comma != NULL ? comma + 1 : at->value;
}

/* ---- words ---- */

static void offer_commands(const struct place *at)
{
    for (int c = 0; c < CLI_N_COMMANDS; c++) {
        offer(at, cli_commands[c].name, "", cli_commands[c].summary);
    }
    const struct cli_externals externals = cli_externals();
    for (size_t i = 0; i < externals.n; i++) {
        offer(at, externals.name[i], "", "an installed program");
    }
}

/* The words of a program that is a command: one of trainyard's own is asked as this one is, of
 * others nobody knows whether they would answer, and any word may be the name of a file. words[-1]
 * and words[0] are "--complete" and the command. */
static int complete_external(const struct place *at, char **words)
{
    char ask[] = "--complete";
    const char *name = words[0];
    words[0] = ask;
    const int status = cli_run_external(name, words - 1, true);
    if (status < 0) {
        say_files(at, NULL);
    }
    return 0;
}

static void offer_options(enum cli_command command)
{
    for (size_t i = 0; i < cli_n_option_rows; i++) {
        if (cli_has(command, &cli_option_rows[i])) {
            printf("--%s\t%s\n", cli_option_rows[i].name, cli_option_rows[i].help);
        }
    }
}

/* "a|b" */
static void offer_split(const struct place *at, const char *words)
{
    while (*words != '\0') {
        char word[64];
        const size_t n = strcspn(words, "|");
        snprintf(word, sizeof(word), "%.*s", (int)n, words);
        offer(at, word, "", "");
        words += n + (words[n] == '|');
    }
}

static const struct ty_key *find_key(const struct ty_keys *keys, const char *name, size_t n)
{
    for (size_t i = 0; i < keys->n; i++) {
        if (strlen(keys->key[i].name) == n && strncmp(keys->key[i].name, name, n) == 0) {
            return &keys->key[i];
        }
    }
    return NULL;
}

static void offer_key_words(const struct place *at, const struct ty_key *key)
{
    for (size_t i = 0; key != NULL && i < key->n_words; i++) {
        offer(at, key->words[i].name, "", key->words[i].doc);
    }
}

static void offer_keys(const struct place *at, const char *more)
{
    for (size_t i = 0; i < at->keys->n; i++) {
        offer(at, at->keys->key[i].name, more, at->keys->key[i].doc);
    }
}

/* Lines of "chrome   what it is" */
static void offer_entries(const struct place *at, const char *catalogue, const char *more)
{
    char *text = NULL;
    (void)ty_list(catalogue, NULL, &text, NULL);
    for (char *line = text, *end; line != NULL && *line != '\0'; line = end) {
        end = line + strcspn(line, "\n");
        end += *end == '\n';
        const size_t n = strcspn(line, " ");
        char *about = line + n + strspn(line + n, " ");
        about[strcspn(about, "\n")] = '\0';
        line[n] = '\0';
        offer(at, line, more, about);
    }
    ty_text_free(text);
}

/* ---- places ---- */

/* KEY=VALUE: the key first, then its words; a text without any may be the name of a file. */
static void complete_setting(struct place *at, bool of_runs)
{
    if (of_runs && at->value[0] >= 'A' && at->value[0] <= 'Z' && at->value[1] == ':') {
        at->value += 2;
    }
    const char *equals = strchr(at->value, '=');
    if (equals == NULL) {
        puts("");
        offer_keys(at, "=");
        return;
    }
    const struct ty_key *key = find_key(at->keys, at->value, (size_t)(equals - at->value));
    const bool is_text = key != NULL && (strncmp(key->accepts, "text", 4) == 0 ||
                                         strncmp(key->accepts, "list of texts", 13) == 0);
    at->value = equals + 1;
    if (at->takes == CLI_TAKES_SETTINGS) {
        skip_list(at);
    }
    if (is_text && (key->n_words == 0 || key->words[0].doc[0] == '\0')) { /* and not of presets */
        say_files(at, NULL);
    } else {
        puts("");
    }
    offer_key_words(at, key);
}

static void complete_trace(struct place *at)
{
    const char *colon = strchr(at->value, ':');
    if (colon != NULL) {
        at->value = colon + 1;
        say_files(at, NULL);
    } else {
        puts("");
        offer_entries(at, "formats", ":");
    }
}

/* The first or second operand of list; `before` is the one before it. */
static void complete_catalogue(const struct place *at, const char *before)
{
    const char *name, *about;
    if (before != NULL && (strcmp(before, "layer") == 0 || strcmp(before, "ranks") == 0)) {
        say_files(at, NULL);
        return;
    }
    puts("");
    for (size_t i = 0; (name = ty_list_name(i, &about)) != NULL; i++) {
        if (before == NULL) {
            offer(at, name, "", about);
        } else if (strcmp(before, name) == 0 && strstr(about, "presets of") != NULL) {
            offer_entries(at, name, "");
        }
    }
    if (before != NULL && strcmp(before, "keys") == 0) {
        for (size_t i = 0; i < at->keys->n_sections; i++) {
            offer(at, at->keys->section[i].name, "", at->keys->section[i].doc);
        }
        offer_keys(at, "");
    }
}

/* `before`: the first operand, if the word is another one. */
static void complete_value(struct place *at, enum cli_command command, const char *before)
{
    const struct ty_key *key = NULL;
    switch (at->takes) {
    case CLI_TAKES_SETTING:
    case CLI_TAKES_SETTINGS:
        complete_setting(at, command == CLI_diff);
        return;
    case CLI_TAKES_TRACE:
        complete_trace(at);
        return;
    case CLI_TAKES_CATALOGUE:
        complete_catalogue(at, before);
        return;
    case CLI_TAKES_SCHEDULE:
        say_files(at, NULL);
        offer_key_words(at, find_key(at->keys, "schedule.name", strlen("schedule.name")));
        return;
    case CLI_TAKES_IMPORT:
        if (before == NULL) {
            puts("");
            offer_split(at, at->words);
            return;
        }
        say_files(at, NULL);
        return;
    case CLI_TAKES_EXPORT:
        if (before == NULL) {
            puts("");
            offer(at, "chakra", "", "for ASTRA-sim");
            offer(at, "goal", "", "for ATLAHS");
            return;
        }
        say_files(at, at->words);
        return;
    case CLI_TAKES_FILE:
        say_files(at, at->words);
        return;
    case CLI_TAKES_WORD:
        puts("");
        offer_split(at, at->words);
        return;
    case CLI_TAKES_KEYS:
        skip_list(at);
        puts("");
        offer_keys(at, "");
        return;
    case CLI_TAKES_KEY_WORDS:
        skip_list(at);
        key = find_key(at->keys, at->words, strlen(at->words));
        break;
    case CLI_TAKES_KEY_WORD:
        key = find_key(at->keys, at->words, strlen(at->words));
        break;
    case CLI_TAKES_NOTHING:
    case CLI_TAKES_TEXT:
        break;
    }
    puts("");
    offer_key_words(at, key);
}

/* ---- the line ---- */

/* The option of a command that a word names, with its value behind = or without. */
static const struct cli_option_row *find_option(enum cli_command command, const char *word)
{
    const bool is_long = word[1] == '-';
    const char *name = word + (is_long ? 2 : 1);
    const size_t n = strcspn(name, "=");
    for (size_t i = 0; i < cli_n_option_rows; i++) {
        const struct cli_option_row *row = &cli_option_rows[i];
        const bool same = is_long ? strlen(row->name) == n && strncmp(row->name, name, n) == 0
                                  : n == 1 && row->letter == name[0];
        if (same && cli_has(command, row)) {
            return row;
        }
    }
    return NULL;
}

static bool is_dashed(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

/* What the words before the last one tell of it. */
struct before {
    const struct cli_option_row *row; /* the option whose value it is; or NULL */
    const char *operand;              /* the first; or NULL */
    bool only_operands;
};

static struct before read_before(enum cli_command command, int n, char **words)
{
    struct before b = {.row = NULL};
    for (int i = 0; i < n; i++) {
        if (b.row != NULL) {
            b.row = NULL; /* this was its value */
        } else if (b.only_operands || !is_dashed(words[i])) {
            b.operand = b.operand != NULL ? b.operand : words[i];
        } else if (strcmp(words[i], "--") == 0) {
            b.only_operands = true;
        } else if (strchr(words[i], '=') == NULL) {
            b.row = find_option(command, words[i]);
            b.row = b.row != NULL && b.row->kind != CLI_FLAG ? b.row : NULL;
        }
    }
    return b;
}

/* The words of a command, the last of which is completed. */
static void complete_words(struct place *at, enum cli_command command, int n, char **words)
{
    struct before b = read_before(command, n - 1, words);
    const char *equals = strchr(at->word, '=');
    const bool is_option = at->word[0] == '-' && b.row == NULL && !b.only_operands;
    if (is_option && equals == NULL) {
        puts("");
        offer_options(command);
        return;
    }
    if (is_option) {
        b.row = find_option(command, at->word);
        at->value = equals + 1;
        if (b.row == NULL) {
            return;
        }
    }
    at->takes = b.row != NULL ? b.row->takes : cli_commands[command].takes;
    at->words = b.row != NULL ? b.row->words : cli_commands[command].words;
    complete_value(at, command, b.operand);
}

int cli_complete(int n, char **words)
{
    struct ty_keys *keys = NULL;
    const size_t command = n > 1 ? cli_find(words[0]) : CLI_N_COMMANDS;
    if (n < 1) {
        cli_say(
            "trainyard: --complete is for shells; write the words up to the cursor behind it\n");
        return 2;
    }
    if (ty_keys_new(&keys, NULL) < 0) {
        return 4;
    }
    struct place at = {.word = words[n - 1], .value = words[n - 1], .keys = keys};
    if (command != CLI_N_COMMANDS) {
        complete_words(&at, (enum cli_command)command, n - 1, words + 1);
    } else if (n == 1 || (n == 2 && strcmp(words[0], "help") == 0)) {
        puts("");
        offer_commands(&at);
    } else {
        ty_keys_free(keys);
        return complete_external(&at, words);
    }
    if (n == 1) {
        offer(&at, "help", "", "options of a command");
        offer(&at, "--help", "", "what there is");
        offer(&at, "--version", "", "which version it is");
    }
    ty_keys_free(keys);
    return 0;
}

/* ---- tables for the manual ---- */

static const char *text_or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static void put_option(const struct cli_option_row *row)
{
    const char letter[2] = {(char)row->letter, '\0'};
    const char *comma = "";
    printf("option\t%s\t%s\t%s\t%s\t", letter, row->name, text_or_empty(row->argument), row->help);
    for (int c = 0; c < CLI_N_COMMANDS; c++) {
        if (cli_has((enum cli_command)c, row)) {
            printf("%s%s", comma, cli_commands[c].name);
            comma = ", ";
        }
    }
    puts("");
}

static void put_key(const struct ty_key *key)
{
    printf("key\t%s\t%s\t%s\t%s\t%s\n", key->name, key->accepts, key->required ? "required" : "",
           text_or_empty(key->fallback), key->doc);
    for (size_t i = 0; i < key->n_words; i++) {
        printf("word\t%s\t%s\t%s\n", key->name, key->words[i].name, key->words[i].doc);
    }
}

int cli_tables(void)
{
    struct ty_err *err = ty_err_new();
    struct ty_keys *keys;
    const char *name, *about;
    if (ty_keys_new(&keys, err) < 0) {
        return cli_end(&(struct cli_options){.command = "--tables"}, -1, err, 0);
    }
    printf("version\t%s\n", ty_version());
    for (int c = 0; c < CLI_N_COMMANDS; c++) {
        const struct cli_command_row *row = &cli_commands[c];
        printf("command\t%s\t%s\t%s\t%s\t%s\t%s\n", row->name, row->arguments, row->summary,
               row->about, row->example, row->example_is);
    }
    for (size_t i = 0; i < cli_n_option_rows; i++) {
        put_option(&cli_option_rows[i]);
    }
    for (const struct cli_status_row *row = cli_statuses; row->meaning != NULL; row++) {
        printf("status\t%d\t%s\n", row->status, row->meaning);
    }
    for (size_t i = 0; (name = ty_list_name(i, &about)) != NULL; i++) {
        printf("catalogue\t%s\t%s\n", name, about);
    }
    for (size_t i = 0; i < keys->n_sections; i++) {
        printf("section\t%s\t%s\n", keys->section[i].name, keys->section[i].doc);
    }
    for (size_t i = 0; i < keys->n; i++) {
        put_key(&keys->key[i]);
    }
    ty_keys_free(keys);
    ty_err_free(err);
    return 0;
}
