/* markdown.c - docs/keys.md: every key of the run file, for reading in a browser. */
#include <stdio.h>
#include <string.h>

#include "sim/manual/manual.h"

/* Text of a table's cell. */
static void cell(const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '|':
            fputs("\\|", stdout);
            break;
        case '<':
            fputs("&lt;", stdout);
            break;
        case '*':
        case '[':
            putchar('\\');
            putchar(*text);
            break;
        default:
            putchar(*text);
        }
    }
}

/* Presets are listed with what they are by `trainyard list`; here their names. */
static bool is_preset(const struct ty_key *key)
{
    return strcmp(key->accepts, "text") == 0;
}

static void words(const struct ty_key *key)
{
    for (size_t i = 0; i < key->n_words; i++) {
        const struct ty_key_word *word = &key->words[i];
        if (is_preset(key)) {
            printf("%s`%s`", i > 0 ? ", " : "<br>", word->name);
        } else if (word->doc[0] != '\0') {
            printf("<br>`%s` ", word->name);
            cell(word->doc);
        }
    }
}

static void row(const struct ty_key *key)
{
    printf("| `%s` | ", key->name);
    cell(key->accepts);
    fputs(" | ", stdout);
    if (key->required) {
        fputs("required", stdout);
    } else if (key->fallback != NULL && key->fallback[0] != '\0') {
        cell(key->fallback);
    }
    fputs(" | ", stdout);
    cell(key->doc);
    words(key);
    fputs(" |\n", stdout);
}

void manual_markdown(const struct manual *manual)
{
    const struct ty_keys *keys = manual->keys;
    fputs(
        "# Keys of the run file\n\n"
        "Every section and key there is, as `trainyard list keys SECTION` tells them. A tool "
        "of the build (sim/manual) prints this page from the tables that read the file; the suite "
        "fails when it is out of date.\n\n"
        "Numbers with a unit are written with it: `200 Gb/s`, `2 us`, `80 GiB`, `3 %`. SI prefixes "
        "are powers of 1000, Ki, Mi and Gi of 1024; b is bits, B bytes. `true` and `false` may "
        "also be written `True`, `TRUE`, `False`, `FALSE`. A value comes from the last of: the "
        "default, the preset, the file, files of `--with`, `--set`. A required key may come from "
        "a preset. `auto` and `none` are words for what the meaning says.\n",
        stdout);
    for (size_t s = 0; s < keys->n_sections; s++) {
        const char *name = keys->section[s].name;
        const size_t n = strlen(name);
        printf("\n## %s\n\n%c%s.\n\n| key | value | default | meaning |\n|---|---|---|---|\n", name,
               keys->section[s].doc[0] - 'a' + 'A', keys->section[s].doc + 1);
        for (size_t k = 0; k < keys->n; k++) {
            const char *key = keys->key[k].name;
            if (strncmp(key, name, n) == 0 && (key[n] == '.' || key[n] == '\0')) {
                row(&keys->key[k]);
            }
        }
    }
}
