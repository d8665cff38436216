/* bash.c - completion for bash 4 and later; needs no other package.
 *
 * bash splits words at = and : before it asks. The function joins them again, works on whole words,
 * and takes off what bash has kept of them before it answers. */
#include <stdio.h>
#include <string.h>

#include "sim/manual/manual.h"

/* Joins the words of the line up to the cursor; finds command, option, value, number of operand. */
static const char reading[] =
    "_trainyard()\n"
    "{\n"
    "    local line=${COMP_LINE:0:COMP_POINT} word rest takes='' of='' option='' value base=''\n"
    "    local -a line_words=()\n"
    "    for word in \"${COMP_WORDS[@]:0:COMP_CWORD+1}\"; do\n"
    "        rest=${line#\"${line%%[![:space:]]*}\"}\n"
    "        [[ $word == \"$rest\"* ]] && word=$rest\n"
    "        if [[ $rest == \"$line\" ]] && ((${#line_words[@]} > 0)); then\n"
    "            line_words[-1]+=$word\n"
    "        else\n"
    "            line_words+=(\"$word\")\n"
    "        fi\n"
    "        line=${rest#\"$word\"}\n"
    "    done\n"
    "    COMPREPLY=()\n"
    "    local last=$((${#line_words[@]} - 1)) current=${line_words[-1]} command=${line_words[1]}\n"
    "    value=$current\n"
    "    if ((last < 2)); then\n"
    "        _trainyard_offer '' \"$_trainyard_commands\" \"$current\"\n"
    "        return\n"
    "    fi\n"
    "    local i operands=0 only_operands=''\n"
    "    for ((i = 2; i <= last; i++)); do\n"
    "        word=${line_words[i]}\n"
    "        takes='' of=''\n"
    "        if [[ -z $only_operands && $word == -- ]] && ((i < last)); then\n"
    "            only_operands=1\n"
    "        elif [[ -z $only_operands && $word == --*=* ]]; then\n"
    "            option=${word%%=*}\n"
    "            _trainyard_takes \"$command\" \"$option\"\n"
    "            base=$option= value=${word#*=}\n"
    "        elif [[ -z $only_operands && $word == -* && $word != - ]]; then\n"
    "            _trainyard_takes \"$command\" \"$word\"\n"
    "            base='' value=${line_words[i + 1]}\n"
    "            if [[ -n $takes ]] && ((i < last)); then\n"
    "                ((i++))\n"
    "                ((i == last)) || takes=''\n"
    "            else\n"
    "                takes=option\n"
    "            fi\n"
    "        else\n"
    "            ((operands++))\n"
    "            base='' value=$word\n"
    "            _trainyard_operand \"$command\" \"$operands\" \"${line_words[2]}\"\n"
    "        fi\n"
    "    done\n"
    "    _trainyard_value \"$base\" \"$value\" \"$current\"\n"
    "}\n"
    "complete -F _trainyard trainyard\n";

/* What may stand there. `base` is what of the current word is settled, `value` the rest. */
static const char offering[] =
    "# Answers with base and those of words that begin with value.\n"
    "_trainyard_offer()\n"
    "{\n"
    "    local base=$1 value=$3 breaks=${COMP_WORDBREAKS//[^=:]} reply kept=''\n"
    "    local current=$base$value\n"
    "    [[ -n $breaks ]] && kept=${current%\"${current##*[\"$breaks\"]}\"}\n"
    "    while IFS= read -r reply; do\n"
    "        reply=$base$reply\n"
    "        COMPREPLY+=(\"${reply#\"$kept\"}\")\n"
    "    done < <(compgen -W \"$2\" -- \"$value\")\n"
    "    [[ ${COMPREPLY[0]} == *[=:] ]] && compopt -o nospace 2>/dev/null\n"
    "    return 0\n"
    "}\n\n"
    "# Files whose names end in one of \"a|b\", and folders; any file where there is none of "
    "them.\n"
    "_trainyard_files()\n"
    "{\n"
    "    local IFS='|' end found=''\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    for end in $1; do\n"
    "        mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -X \"!*$end\" -- \"$2\")\n"
    "    done\n"
    "    found=${#COMPREPLY[@]}\n"
    "    if ((found > 0)); then\n"
    "        mapfile -t -O \"$found\" COMPREPLY < <(compgen -d -- \"$2\")\n"
    "    else\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$2\")\n"
    "    fi\n"
    "}\n\n"
    "# KEY=VALUE: the key first, then its words, or files where it has none.\n"
    "_trainyard_setting()\n"
    "{\n"
    "    local base=$1 value=$2 key words=''\n"
    "    if [[ $command == diff && $value == [A-Z]:* ]]; then\n"
    "        base+=${value:0:2} value=${value:2}\n"
    "    fi\n"
    "    if [[ $value != *=* ]]; then\n"
    "        _trainyard_offer \"$base\" \"${_trainyard_keys// /= }=\" \"$value\"\n"
    "        return\n"
    "    fi\n"
    "    key=${value%%=*} base+=${value%%=*}= value=${value#*=}\n"
    "    if [[ $takes == settings && $value == *,* ]]; then\n"
    "        base+=${value%,*}, value=${value##*,}\n"
    "    fi\n"
    "    _trainyard_key_words \"$key\"\n"
    "    _trainyard_offer \"$base\" \"$words\" \"$value\"\n"
    "    if ((${#COMPREPLY[@]} == 0)) && [[ \" $_trainyard_files_of \" == *\" $key \"* ]]; then\n"
    "        _trainyard_files '' \"$value\"\n"
    "    fi\n"
    "}\n\n"
    "_trainyard_value()\n"
    "{\n"
    "    local base=$1 value=$2 words=''\n"
    "    case $takes in\n"
    "    keys | key_words)\n"
    "        [[ $value == *,* ]] && base+=${value%,*}, value=${value##*,}\n"
    "        ;;\n"
    "    esac\n"
    "    case $takes in\n"
    "    option)\n"
    "        _trainyard_options \"$command\"\n"
    "        _trainyard_offer '' \"$words\" \"$3\"\n"
    "        ;;\n"
    "    words) _trainyard_offer \"$base\" \"${of//|/ }\" \"$value\" ;;\n"
    "    key_word | key_words)\n"
    "        _trainyard_key_words \"$of\"\n"
    "        _trainyard_offer \"$base\" \"$words\" \"$value\"\n"
    "        ;;\n"
    "    keys) _trainyard_offer \"$base\" \"$_trainyard_keys\" \"$value\" ;;\n"
    "    setting | settings) _trainyard_setting \"$base\" \"$value\" ;;\n"
    "    schedule)\n"
    "        _trainyard_key_words schedule.name\n"
    "        _trainyard_offer \"$base\" \"$words\" \"$value\"\n"
    "        ((${#COMPREPLY[@]} > 0)) || _trainyard_files '' \"$value\"\n"
    "        ;;\n"
    "    trace)\n"
    "        if [[ $value == *:* ]]; then\n"
    "            _trainyard_files '' \"${value#*:}\"\n"
    "        else\n"
    "            _trainyard_offer \"$base\" \"${_trainyard_formats// /: }:\" \"$value\"\n"
    "        fi\n"
    "        ;;\n"
    "    file) _trainyard_files \"$of\" \"$value\" ;;\n"
    "    esac\n"
    "}\n\n";

static void names(const char *variable, const struct manual_words *words, const char *more)
{
    printf("%s='", variable);
    for (size_t i = 0; i < words->n; i++) {
        printf("%s%s", i > 0 ? " " : "", words->word[i].name);
    }
    printf("%s'\n", more);
}

static void lists(const struct manual *manual)
{
    fputs("_trainyard_commands='", stdout);
    for (int c = 0; c < CLI_N_COMMANDS; c++) {
        printf("%s ", cli_commands[c].name);
    }
    fputs("help --help --version'\n", stdout);
    names("_trainyard_catalogues", &manual->catalogues, "");
    names("_trainyard_formats", &manual->formats, "");
    fputs("_trainyard_sections='", stdout);
    for (size_t i = 0; i < manual->keys->n_sections; i++) {
        printf("%s%s", i > 0 ? " " : "", manual->keys->section[i].name);
    }
    fputs("'\n_trainyard_keys='", stdout);
    for (size_t i = 0; i < manual->keys->n; i++) {
        printf("%s%s", i > 0 ? " " : "", manual->keys->key[i].name);
    }
    fputs("'\n# Those that may be the name of a file.\n_trainyard_files_of='", stdout);
    for (size_t i = 0, n = 0; i < manual->keys->n; i++) {
        if (manual_names_file(&manual->keys->key[i])) {
            printf("%s%s", n++ > 0 ? " " : "", manual->keys->key[i].name);
        }
    }
    fputs("'\n\n", stdout);
}

static void key_words(const struct manual *manual)
{
    fputs("# The words that a key may be.\n_trainyard_key_words()\n{\n    case $1 in\n", stdout);
    for (size_t i = 0; i < manual->keys->n; i++) {
        const struct ty_key *key = &manual->keys->key[i];
        for (size_t k = 0; k < key->n_words; k++) {
            if (k == 0) {
                printf("    %s) words='", key->name);
            }
            printf("%s%s", k > 0 ? " " : "", key->words[k].name);
        }
        fputs(key->n_words > 0 ? "' ;;\n" : "", stdout);
    }
    fputs("    esac\n}\n\n", stdout);
}

/* The name by which _trainyard_value knows it. */
static const char *takes_name(enum cli_takes takes)
{
    static const char *const of[] = {
        [CLI_TAKES_NOTHING] = "",          [CLI_TAKES_TEXT] = "text",
        [CLI_TAKES_FILE] = "file",         [CLI_TAKES_WORD] = "words",
        [CLI_TAKES_KEY_WORD] = "key_word", [CLI_TAKES_KEY_WORDS] = "key_words",
        [CLI_TAKES_KEYS] = "keys",         [CLI_TAKES_SETTING] = "setting",
        [CLI_TAKES_SETTINGS] = "settings", [CLI_TAKES_TRACE] = "trace",
        [CLI_TAKES_SCHEDULE] = "schedule", [CLI_TAKES_CATALOGUE] = "words",
        [CLI_TAKES_IMPORT] = "file",
    };
    return of[takes];
}

static void option_takes(void)
{
    fputs("# What an option of a command takes; nothing: it is a flag.\n"
          "_trainyard_takes()\n{\n    case $1:$2 in\n",
          stdout);
    for (size_t i = 0; i < cli_n_option_rows; i++) {
        const struct cli_option_row *row = &cli_option_rows[i];
        bool first = true;
        for (int c = 0; c < CLI_N_COMMANDS && row->kind != CLI_FLAG; c++) {
            if (cli_has((enum cli_command)c, row)) {
                printf("%s%s:--%s", first ? "    " : " | ", cli_commands[c].name, row->name);
                if (row->letter != 0) {
                    printf(" | %s:-%c", cli_commands[c].name, row->letter);
                }
                first = false;
            }
        }
        if (row->kind != CLI_FLAG) {
            printf(") takes=%s of='%s' ;;\n", takes_name(row->takes),
                   row->words != NULL ? row->words : "");
        }
    }
    fputs("    esac\n}\n\n", stdout);
}

static void options(void)
{
    fputs("_trainyard_options()\n{\n    case $1 in\n", stdout);
    for (int c = 0; c < CLI_N_COMMANDS; c++) {
        printf("    %s) words='", cli_commands[c].name);
        for (size_t i = 0; i < cli_n_option_rows; i++) {
            if (cli_has((enum cli_command)c, &cli_option_rows[i])) {
                printf("--%s ", cli_option_rows[i].name);
            }
        }
        fputs("' ;;\n", stdout);
    }
    fputs("    esac\n}\n\n", stdout);
}

static void operands(void)
{
    fputs(
        "# What the n-th operand of a command is; the third argument is the first of them.\n"
        "_trainyard_operand()\n{\n    case $1:$2 in\n"
        "    help:1) takes=words of=${_trainyard_commands% --help*} ;;\n"
        "    list:1) takes=words of=$_trainyard_catalogues ;;\n"
        "    list:2) [[ $3 == keys ]] && takes=words of=\"$_trainyard_sections $_trainyard_keys\" "
        ";;\n"
        "    import:1) takes=words of=kineto ;;\n",
        stdout);
    for (int c = 0; c < CLI_N_COMMANDS; c++) {
        if (cli_commands[c].takes != CLI_TAKES_CATALOGUE && cli_commands[c].most > 0) {
            printf("    %s:*) takes=%s of='%s' ;;\n", cli_commands[c].name,
                   takes_name(cli_commands[c].takes),
                   cli_commands[c].words != NULL ? cli_commands[c].words : "");
        }
    }
    fputs("    esac\n}\n\n", stdout);
}

void manual_bash(const struct manual *manual)
{
    fputs("# bash completion for trainyard, made from the tables of trainyard --help.\n"
          "# shellcheck shell=bash disable=SC2034,SC2154\n\n",
          stdout);
    lists(manual);
    key_words(manual);
    option_takes();
    options();
    operands();
    fputs(offering, stdout);
    fputs(reading, stdout);
}
