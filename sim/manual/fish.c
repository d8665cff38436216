/* fish.c - completion for fish. */
#include <stdio.h>
#include <string.h>

#include "sim/manual/manual.h"

static const char helpers[] =
    "# Whether the command is one of those; without any: whether there is none yet.\n"
    "function __trainyard_is\n"
    "    set -l words (commandline -opc)\n"
    "    if test (count $argv) -eq 0\n"
    "        test (count $words) -lt 2\n"
    "    else\n"
    "        test (count $words) -ge 2; and contains -- $words[2] $argv\n"
    "    end\n"
    "end\n\n"
    "# How many words there are after the command.\n"
    "function __trainyard_n_words\n"
    "    test (count (commandline -opc)) -eq (math 2 + $argv[1])\n"
    "end\n\n"
    "# The value that is being typed, without --option=.\n"
    "function __trainyard_value\n"
    "    commandline -ct | string replace -r '^--[a-z-]+=' ''\n"
    "end\n\n"
    "# KEY=VALUE: keys first, then the words of a key.\n"
    "function __trainyard_settings\n"
    "    set -l value (__trainyard_value)\n"
    "    set -l run (string match -r '^[A-Z]:' -- $value)\n"
    "    set -l setting (string replace -r '^[A-Z]:' '' -- $value)\n"
    "    if string match -q '*=*' -- $setting\n"
    "        set -l key (string replace -r '=.*' '' -- $setting)\n"
    "        set -l begun (string match -r '^.*,' -- (string replace -r '^[^=]*=' '' -- "
    "$setting))\n"
    "        __trainyard_key_words $key | string replace -r '^' -- \"$run$key=$begun\"\n"
    "        if contains -- $key $__trainyard_files_of\n"
    "            __fish_complete_path (string replace -r '^[^=]*=' '' -- $setting) |\n"
    "                string replace -r '^' -- \"$run$key=\"\n"
    "        end\n"
    "    else\n"
    "        __trainyard_keys | string replace -r '\\t' '=\\t' | string replace -r '^' -- "
    "\"$run\"\n"
    "    end\n"
    "end\n\n"
    "# Lines of a command, after what of a list with commas is there.\n"
    "function __trainyard_list\n"
    "    set -l begun (string match -r '^.*,' -- (__trainyard_value))\n"
    "    $argv | string replace -r '^' -- \"$begun\"\n"
    "end\n\n"
    "# FORMAT:PATH.\n"
    "function __trainyard_traces\n"
    "    set -l value (__trainyard_value)\n"
    "    if string match -q '*:*' -- $value\n"
    "        set -l format (string replace -r ':.*' '' -- $value)\n"
    "        __fish_complete_path (string replace -r '^[^:]*:' '' -- $value) | string replace -r "
    "'^' -- \"$format:\"\n"
    "    else\n"
    "        __trainyard_formats | string replace -r '\\t' ':\\t'\n"
    "    end\n"
    "end\n\n";

static void entry(const char *indent, const struct ty_key_word *word)
{
    printf("%sprintf '%%s\\t%%s\\n' ", indent);
    manual_quote_fish(word->name);
    putchar(' ');
    manual_quote_fish(word->doc);
    putchar('\n');
}

static void list(const char *name, const struct ty_key_word *word, size_t n)
{
    printf("function __trainyard_%s\n", name);
    for (size_t i = 0; i < n; i++) {
        entry("    ", &word[i]);
    }
    fputs("end\n\n", stdout);
}

static void keys(const struct manual *manual)
{
    fputs("function __trainyard_keys\n", stdout);
    for (size_t i = 0; i < manual->keys->n; i++) {
        const struct ty_key *key = &manual->keys->key[i];
        entry("    ", &(struct ty_key_word){key->name, key->doc});
    }
    fputs("end\n\nset -g __trainyard_files_of", stdout);
    for (size_t i = 0; i < manual->keys->n; i++) {
        if (manual_names_file(&manual->keys->key[i])) {
            printf(" %s", manual->keys->key[i].name);
        }
    }
    fputs("\n\nfunction __trainyard_key_words\n    switch $argv[1]\n", stdout);
    for (size_t i = 0; i < manual->keys->n; i++) {
        const struct ty_key *key = &manual->keys->key[i];
        if (key->n_words > 0) {
            printf("        case %s\n", key->name);
        }
        for (size_t k = 0; k < key->n_words; k++) {
            entry("            ", &key->words[k]);
        }
    }
    fputs("    end\nend\n\n", stdout);
}

/* What completes an argument: -F files, -xa 'words', -x nothing. */
static void argument(enum cli_takes takes, const char *words)
{
    switch (takes) {
    case CLI_TAKES_FILE:
    case CLI_TAKES_IMPORT:
        fputs(" -rF", stdout);
        break;
    case CLI_TAKES_WORD:
        fputs(" -xa '", stdout);
        for (; *words != '\0'; words++) {
            putchar(*words == '|' ? ' ' : *words);
        }
        putchar('\'');
        break;
    case CLI_TAKES_KEY_WORD:
        printf(" -xa '(__trainyard_key_words %s)'", words);
        break;
    case CLI_TAKES_KEY_WORDS:
        printf(" -xa '(__trainyard_list __trainyard_key_words %s)'", words);
        break;
    case CLI_TAKES_KEYS:
        fputs(" -xa '(__trainyard_list __trainyard_keys)'", stdout);
        break;
    case CLI_TAKES_SETTING:
    case CLI_TAKES_SETTINGS:
        fputs(" -xa '(__trainyard_settings)'", stdout);
        break;
    case CLI_TAKES_TRACE:
        fputs(" -xa '(__trainyard_traces)'", stdout);
        break;
    case CLI_TAKES_SCHEDULE:
        fputs(" -Fa '(__trainyard_key_words schedule.name)'", stdout);
        break;
    case CLI_TAKES_CATALOGUE:
        fputs(" -fa '(__trainyard_catalogues)'", stdout);
        break;
    case CLI_TAKES_TEXT:
        fputs(" -x", stdout);
        break;
    case CLI_TAKES_NOTHING:
        break;
    }
}

static void option(const struct cli_option_row *row)
{
    char names[128];
    manual_commands(row, names, sizeof(names));
    for (char *c = names; *c != '\0'; c++) {
        *c = *c == ',' ? ' ' : *c;
    }
    printf("complete -c trainyard -n '__trainyard_is %s' -l %s", names, row->name);
    if (row->letter != 0) {
        printf(" -s %c", row->letter);
    }
    argument(row->takes, row->words);
    fputs(" -d ", stdout);
    manual_quote_fish(row->help);
    putchar('\n');
}

static void operands(void)
{
    for (int c = 0; c < CLI_N_COMMANDS; c++) {
        const struct cli_command_row *row = &cli_commands[c];
        printf("complete -c trainyard -n __trainyard_is -fa %s -d ", row->name);
        manual_quote_fish(row->summary);
        putchar('\n');
        if (row->takes == CLI_TAKES_CATALOGUE || row->takes == CLI_TAKES_SCHEDULE) {
            printf("complete -c trainyard -n '__trainyard_is %s; and __trainyard_n_words 0'",
                   row->name);
            argument(row->takes, row->words);
            putchar('\n');
        }
        if (row->takes == CLI_TAKES_FILE || row->takes == CLI_TAKES_IMPORT) {
            printf("complete -c trainyard -n '__trainyard_is %s' -F\n", row->name);
        }
    }
    fputs("complete -c trainyard -n __trainyard_is -fa help -d 'options of a command'\n"
          "complete -c trainyard -n __trainyard_is -fl help -d 'what there is'\n"
          "complete -c trainyard -n __trainyard_is -fl version -d 'which version it is'\n"
          "complete -c trainyard -n '__trainyard_is list; and __trainyard_n_words 1; and contains "
          "keys (commandline -opc)' -fa '(__trainyard_sections; __trainyard_keys)'\n"
          "complete -c trainyard -n '__trainyard_is import; and __trainyard_n_words 0' -fa kineto\n"
          "complete -c trainyard -n '__trainyard_is help; and __trainyard_n_words 0' -fa '",
          stdout);
    for (int c = 0; c < CLI_N_COMMANDS; c++) {
        printf("%s%s", c > 0 ? " " : "", cli_commands[c].name);
    }
    fputs("'\n", stdout);
}

void manual_fish(const struct manual *manual)
{
    fputs("# fish completion for trainyard, made from the tables of trainyard --help.\n\n", stdout);
    list("catalogues", manual->catalogues.word, manual->catalogues.n);
    list("formats", manual->formats.word, manual->formats.n);
    list("sections", manual->keys->section, manual->keys->n_sections);
    keys(manual);
    fputs(helpers, stdout);
    fputs("complete -c trainyard -f\n", stdout);
    operands();
    for (size_t i = 0; i < cli_n_option_rows; i++) {
        option(&cli_option_rows[i]);
    }
}
