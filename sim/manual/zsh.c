/* zsh.c - completion for zsh: a specification for _arguments per command. */
#include <stdio.h>
#include <string.h>

#include "sim/manual/manual.h"

static const char helpers[] =
    "_trainyard_keys()\n"
    "{\n"
    "    _describe -t keys 'key of the run file' _trainyard_key_list \"$@\"\n"
    "}\n\n"
    "_trainyard_settings()\n"
    "{\n"
    "    [[ $service_command == diff ]] && compset -P '[A-Z]:'\n"
    "    if compset -P 1 '*='; then\n"
    "        local key=${${IPREFIX%=}##*[=:]}\n"
    "        [[ $1 == list ]] && compset -P '*,'\n"
    "        _trainyard_key_words $key || { (( ${_trainyard_files_of[(I)$key]} )) && _files }\n"
    "    else\n"
    "        _trainyard_keys -S '=' -q\n"
    "    fi\n"
    "}\n\n"
    "_trainyard_trace()\n"
    "{\n"
    "    if compset -P 1 '*:'; then\n"
    "        _files\n"
    "    else\n"
    "        _describe -t formats 'format' _trainyard_formats -S ':' -q\n"
    "    fi\n"
    "}\n\n"
    "_trainyard_list()\n"
    "{\n"
    "    compset -P '*,'\n"
    "    \"$@\"\n"
    "}\n\n"
    "_trainyard_catalogue()\n"
    "{\n"
    "    if (( CURRENT == 2 )); then\n"
    "        _describe -t catalogues 'what to list' _trainyard_catalogues\n"
    "    elif [[ $words[2] == keys ]]; then\n"
    "        _describe -t sections 'section' _trainyard_sections\n"
    "        _trainyard_keys\n"
    "    fi\n"
    "}\n\n"
    "_trainyard_schedule()\n"
    "{\n"
    "    _alternative 'names:schedule: _trainyard_key_words schedule.name' 'files:file:_files'\n"
    "}\n\n"
    "_trainyard_import()\n"
    "{\n"
    "    if (( CURRENT == 2 )); then\n"
    "        compadd kineto\n"
    "    else\n"
    "        _files\n"
    "    fi\n"
    "}\n\n";

/* 'name:what it is', with the colons of a name kept. */
static void described(const char *name, const char *doc)
{
    char text[1024];
    size_t n = 0;
    for (; *name != '\0' && n + 3 < sizeof(text); name++) {
        if (*name == ':') {
            text[n++] = '\\';
        }
        text[n++] = *name;
    }
    snprintf(text + n, sizeof(text) - n, ":%s", doc);
    manual_quote(text);
}

static void list(const char *variable, const struct ty_key_word *word, size_t n)
{
    printf("_trainyard_%s=(\n", variable);
    for (size_t i = 0; i < n; i++) {
        fputs("    ", stdout);
        described(word[i].name, word[i].doc);
        putchar('\n');
    }
    fputs(")\n\n", stdout);
}

static void keys(const struct manual *manual)
{
    fputs("_trainyard_key_list=(\n", stdout);
    for (size_t i = 0; i < manual->keys->n; i++) {
        fputs("    ", stdout);
        described(manual->keys->key[i].name, manual->keys->key[i].doc);
        putchar('\n');
    }
    fputs(")\n\n_trainyard_files_of=(\n", stdout);
    for (size_t i = 0; i < manual->keys->n; i++) {
        if (manual_names_file(&manual->keys->key[i])) {
            printf("    %s\n", manual->keys->key[i].name);
        }
    }
    fputs(")\n\n_trainyard_key_words()\n{\n    local -a list\n    case $1 in\n", stdout);
    for (size_t i = 0; i < manual->keys->n; i++) {
        const struct ty_key *key = &manual->keys->key[i];
        if (key->n_words == 0) {
            continue;
        }
        printf("    %s)\n        list=(\n", key->name);
        for (size_t k = 0; k < key->n_words; k++) {
            fputs("            ", stdout);
            described(key->words[k].name, key->words[k].doc);
            putchar('\n');
        }
        fputs("        ) ;;\n", stdout);
    }
    fputs("    *) return 1 ;;\n    esac\n    shift\n    _describe -t words 'value' list "
          "\"$@\"\n}\n\n",
          stdout);
}

/* The action of a specification: how an argument is completed. A space before a function keeps
 * _arguments from giving it options of compadd. */
static void action(enum cli_takes takes, const char *words)
{
    char globs[256];
    size_t n = 0;
    switch (takes) {
    case CLI_TAKES_FILE:
        for (const char *w = words; w != NULL && *w != '\0' && n + 8 < sizeof(globs);
             w += strcspn(w, "|"), w += *w == '|') {
            n += (size_t)snprintf(globs + n, sizeof(globs) - n, "%s*%.*s", n > 0 ? "|" : "",
                                  (int)strcspn(w, "|"), w);
        }
        if (n > 0) {
            printf("_files -g \"(%s)\"", globs);
        } else {
            fputs("_files", stdout);
        }
        break;
    case CLI_TAKES_WORD:
        putchar('(');
        for (; *words != '\0'; words++) {
            putchar(*words == '|' ? ' ' : *words);
        }
        putchar(')');
        break;
    case CLI_TAKES_KEY_WORD:
        printf(" _trainyard_key_words %s", words);
        break;
    case CLI_TAKES_KEY_WORDS:
        printf(" _trainyard_list _trainyard_key_words %s", words);
        break;
    case CLI_TAKES_KEYS:
        fputs(" _trainyard_list _trainyard_keys", stdout);
        break;
    case CLI_TAKES_SETTING:
        fputs(" _trainyard_settings one", stdout);
        break;
    case CLI_TAKES_SETTINGS:
        fputs(" _trainyard_settings list", stdout);
        break;
    case CLI_TAKES_TRACE:
        fputs(" _trainyard_trace", stdout);
        break;
    case CLI_TAKES_SCHEDULE:
        fputs(" _trainyard_schedule", stdout);
        break;
    case CLI_TAKES_CATALOGUE:
        fputs(" _trainyard_catalogue", stdout);
        break;
    case CLI_TAKES_IMPORT:
        fputs(" _trainyard_import", stdout);
        break;
    case CLI_TAKES_NOTHING:
    case CLI_TAKES_TEXT:
        putchar(' ');
        break;
    }
}

/* Text inside a specification, in single quotes, where `special` means something. */
static void inside(const char *text, const char *special)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            fputs("'\\''", stdout);
            continue;
        }
        if (strchr(special, *text) != NULL) {
            putchar('\\');
        }
        putchar(*text);
    }
}

static void option(const struct cli_option_row *row)
{
    const bool again = row->kind == CLI_LIST;
    const char *value = row->kind == CLI_FLAG ? "" : "=";
    fputs("            ", stdout);
    if (row->letter != 0) {
        printf("'(-%c --%s)'{-%c%s,--%s%s}'[", row->letter, row->name, row->letter,
               row->kind == CLI_FLAG ? "" : "+", row->name, value);
    } else {
        printf("'%s--%s%s[", again ? "*" : "", row->name, value);
    }
    inside(row->help, "[]\\");
    putchar(']');
    if (row->kind != CLI_FLAG) {
        putchar(':');
        inside(row->argument, ":\\");
        putchar(':');
        action(row->takes, row->words);
    }
    fputs("' \\\n", stdout);
}

static void command(enum cli_command c)
{
    printf("    %s)\n        _arguments -s -S \\\n", cli_commands[c].name);
    for (size_t i = 0; i < cli_n_option_rows; i++) {
        if (cli_has(c, &cli_option_rows[i])) {
            option(&cli_option_rows[i]);
        }
    }
    if (cli_commands[c].most == 0) {
        fputs("            ;;\n", stdout);
        return;
    }
    fputs(cli_commands[c].most > 1 ? "            '*:" : "            '1:", stdout);
    inside(cli_commands[c].arguments, ":\\");
    putchar(':');
    action(cli_commands[c].takes, cli_commands[c].words);
    fputs("' ;;\n", stdout);
}

void manual_zsh(const struct manual *manual)
{
    fputs("#compdef trainyard\n"
          "# zsh completion for trainyard, made from the tables of trainyard --help.\n\n"
          "local -a _trainyard_commands _trainyard_catalogues _trainyard_formats\n"
          "local -a _trainyard_sections _trainyard_key_list _trainyard_files_of\n\n"
          "_trainyard_commands=(\n",
          stdout);
    for (int c = 0; c < CLI_N_COMMANDS; c++) {
        fputs("    ", stdout);
        described(cli_commands[c].name, cli_commands[c].summary);
        putchar('\n');
    }
    fputs("    'help:options of a command'\n)\n\n", stdout);
    list("catalogues", manual->catalogues.word, manual->catalogues.n);
    list("formats", manual->formats.word, manual->formats.n);
    list("sections", manual->keys->section, manual->keys->n_sections);
    keys(manual);
    fputs(helpers, stdout);
    fputs("_trainyard_command()\n{\n    local service_command=$words[1]\n    case $words[1] in\n"
          "    help) _describe -t commands 'command' _trainyard_commands ;;\n",
          stdout);
    for (int c = 0; c < CLI_N_COMMANDS; c++) {
        command((enum cli_command)c);
    }
    fputs(
        "    esac\n}\n\n"
        "_arguments '(- *)'{-h,--help}'[what there is]' '(- *)--version[which version it is]' \\\n"
        "    '1:command:{ _describe -t commands command _trainyard_commands }' \\\n"
        "    '*:: :_trainyard_command'\n",
        stdout);
}
