/* page.c - the manual pages, in the macros of groff_man(7): trainyard(1), and trainyard(5) for the
 * run file. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "sim/manual/manual.h"

#define LINE 72 /* columns of the source */

/* Returns columns of the source. */
static size_t put(const char *text, size_t n)
{
    size_t columns = n;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\\') {
            fputs("\\e", stdout);
            columns++;
        } else if (text[i] == '-') {
            fputs("\\-", stdout); /* one that can be copied, not a hyphen */
            columns++;
        } else {
            putchar(text[i]);
        }
    }
    return columns;
}

/* A paragraph's text: lines of words, a sentence begins a line. */
static void prose(const char *text)
{
    size_t column = 0; /* where the next word would begin, and one more */
    while (*text != '\0') {
        const size_t n = strcspn(text, " ");
        const char *next = text + n + strspn(text + n, " ");
        if (column > 0 && column + n > LINE) {
            putchar('\n');
            column = 0;
        }
        if (column > 0) {
            putchar(' ');
        } else if (*text == '.' || *text == '\'') {
            fputs("\\&", stdout); /* no request */
        }
        column += put(text, n) + 1;
        if (text[n - 1] == '.' && isupper((unsigned char)*next)) {
            putchar('\n');
            column = 0;
        }
        text = next;
    }
    if (column > 0) {
        putchar('\n');
    }
}

/* A macro's line: .SH "SEE ALSO". */
static void macro(const char *name, const char *text)
{
    printf(".%s \"", name);
    put(text, strlen(text));
    fputs("\"\n", stdout);
}

static void title(const struct manual *manual, const char *section, const char *book)
{
    printf(".\\\" Written while trainyard is built, from the tables of trainyard --help.\n"
           ".TH TRAINYARD %s \"%s\" \"trainyard %s\" \"%s\"\n"
           ".nh\n.ad l\n", /* options and keys are copied: they are not broken */
           section, manual->date, ty_version(), book);
}

/* The head of an entry: bold name, slanted argument. */
static void option_head(const struct cli_option_row *row)
{
    fputs(".TP\n", stdout);
    if (row->letter != 0) {
        printf("\\fB\\-%c\\fR, ", row->letter);
    }
    fputs("\\fB\\-\\-", stdout);
    put(row->name, strlen(row->name));
    fputs("\\fR", stdout);
    if (row->argument != NULL) {
        fputs(" \\fI", stdout);
        put(row->argument, strlen(row->argument));
        fputs("\\fR", stdout);
    }
    putchar('\n');
}

static bool all_have(const struct cli_option_row *row)
{
    for (int c = 0; c < CLI_N_COMMANDS; c++) {
        if (!cli_has((enum cli_command)c, row)) {
            return false;
        }
    }
    return true;
}

static void options(void)
{
    macro("SH", "OPTIONS");
    prose("Each with the commands that have it. What is typed may be shorter: a beginning of a "
          "long option that no other option of the command has, such as --eng for --engine. "
          "Scripts should spell options out, since a later version may have another one that "
          "begins so.");
    for (size_t i = 0; i < cli_n_option_rows; i++) {
        const struct cli_option_row *row = &cli_option_rows[i];
        char names[128], text[512];
        option_head(row);
        snprintf(text, sizeof(text), "%s (%s)", row->help,
                 all_have(row) ? "all" : manual_commands(row, names, sizeof(names)));
        prose(text);
    }
}

static void synopsis(void)
{
    macro("SH", "SYNOPSIS");
    for (int c = 0; c < CLI_N_COMMANDS; c++) {
        printf("%s\\fBtrainyard %s\\fR ", c > 0 ? ".br\n" : "", cli_commands[c].name);
        put(cli_commands[c].arguments, strlen(cli_commands[c].arguments));
        fputs(" [\\fIOPTION\\fR]...\n", stdout);
    }
    fputs(".br\n\\fBtrainyard help\\fR [\\fICOMMAND\\fR]\n"
          ".br\n\\fBtrainyard \\-\\-version\\fR\n",
          stdout);
}

static void commands(const struct manual *manual)
{
    macro("SH", "COMMANDS");
    for (int c = 0; c < CLI_N_COMMANDS; c++) {
        char head[128];
        snprintf(head, sizeof(head), "%s %s", cli_commands[c].name, cli_commands[c].arguments);
        macro("SS", head);
        snprintf(head, sizeof(head), "%c%s.", toupper((unsigned char)cli_commands[c].summary[0]),
                 cli_commands[c].summary + 1);
        prose(head);
        fputs(".PP\n", stdout);
        prose(cli_commands[c].about);
        for (size_t i = 0; c == CLI_list && i < manual->catalogues.n; i++) {
            printf(".TP\n.B %s\n", manual->catalogues.word[i].name);
            prose(manual->catalogues.word[i].doc);
        }
    }
}

static void formats(const struct manual *manual)
{
    macro("SH", "TRACE FORMATS");
    prose("Of --trace FORMAT:PATH. A .gz at the end of the path compresses.");
    for (size_t i = 0; i < manual->formats.n; i++) {
        printf(".TP\n.B %s\n", manual->formats.word[i].name);
        prose(manual->formats.word[i].doc);
    }
}

static void examples(const struct manual *manual)
{
    macro("SH", "EXAMPLES");
    char where[512];
    snprintf(where, sizeof(where),
             "With the files of %s/examples in the current folder:", manual->doc_dir);
    prose(where);
    for (int c = 0; c < CLI_N_COMMANDS; c++) {
        fputs(".TP\n\\fB", stdout);
        put(cli_commands[c].example, strlen(cli_commands[c].example));
        fputs("\\fR\n", stdout);
        prose(cli_commands[c].example_is);
    }
}

static void exit_status(void)
{
    macro("SH", "EXIT STATUS");
    for (const struct cli_status_row *row = cli_statuses; row->meaning != NULL; row++) {
        printf(".TP\n.B %d\n", row->status);
        prose(row->meaning);
    }
    fputs(".PP\n", stdout);
    prose("Nothing exits with 0 without a complete answer. A file gets its name when it is whole: "
          "no partial one is left behind.");
}

void manual_page(const struct manual *manual)
{
    char guides[512];
    title(manual, "1", "User Commands");
    macro("SH", "NAME");
    fputs("trainyard \\- simulate GPU clusters that train large language models\n", stdout);
    synopsis();
    macro("SH", "DESCRIPTION");
    prose("A run file describes cluster, model, layout and schedule. Every GPU of the cluster then "
          "executes its part of a training step, layer by layer, with its collectives. Out come "
          "step time, MFU, pipeline bubbles, the memory of every stage, and a timeline. No GPU is "
          "needed.");
    fputs(".PP\n", stdout);
    prose("FILE is a run file, in YAML; trainyard(5) has its keys. A single - reads standard "
          "input, or writes standard output. Results go to standard output, everything else to "
          "standard error.");
    commands(manual);
    options();
    formats(manual);
    exit_status();
    macro("SH", "FILES");
    snprintf(guides, sizeof(guides), ".TP\n.I %s/formats.md\n", manual->doc_dir);
    fputs(guides, stdout);
    prose("every file that is read or written, field by field");
    printf(".TP\n.I %s/examples\n", manual->doc_dir);
    prose("run files to start from");
    examples(manual);
    fputs(".SH \"SEE ALSO\"\n.BR trainyard (5)\n", stdout);
}

static void key(const struct ty_key *k)
{
    printf(".TP\n.B %s\n", k->name);
    prose(k->doc);
    fputs(".br\nValue:\n", stdout);
    prose(k->accepts);
    if (k->required) {
        fputs(".br\nRequired, here or by a preset.\n", stdout);
    } else if (k->fallback != NULL && k->fallback[0] != '\0') {
        fputs(".br\nDefault:\n", stdout);
        prose(k->fallback);
    }
    bool any = false;
    for (size_t i = 0; i < k->n_words; i++) {
        if (k->words[i].doc[0] == '\0') {
            continue;
        }
        fputs(any ? "" : ".RS\n", stdout);
        any = true;
        fputs(".TP\n\\fI", stdout);
        put(k->words[i].name, strlen(k->words[i].name));
        fputs("\\fR\n", stdout);
        prose(k->words[i].doc);
    }
    fputs(any ? ".RE\n" : "", stdout);
}

void manual_page_keys(const struct manual *manual)
{
    const struct ty_keys *keys = manual->keys;
    title(manual, "5", "File Formats");
    macro("SH", "NAME");
    fputs("trainyard \\- run file of trainyard(1)\n", stdout);
    macro("SH", "DESCRIPTION");
    prose("A run file is YAML: sections with keys. cluster.nodes is the key nodes of the section "
          "cluster. Numbers with a unit are written with it: 200 Gb/s, 2 us, 80 GiB, 3 %. SI "
          "prefixes are powers of 1000, Ki, Mi and Gi of 1024; b is bits, B bytes.");
    fputs(".PP\n", stdout);
    prose("A value comes from the last of: the default, the preset, the file, files of --with, "
          "--set. trainyard check --show-config says which it was.");
    for (size_t s = 0; s < keys->n_sections; s++) {
        const char *name = keys->section[s].name;
        const size_t n = strlen(name);
        char head[64];
        snprintf(head, sizeof(head), "SECTION %s", name);
        for (char *c = head; *c != '\0'; c++) {
            *c = (char)toupper((unsigned char)*c);
        }
        macro("SH", head);
        prose(keys->section[s].doc);
        for (size_t k = 0; k < keys->n; k++) {
            if (strncmp(keys->key[k].name, name, n) == 0 && strchr(".", keys->key[k].name[n])) {
                key(&keys->key[k]);
            }
        }
    }
    fputs(".SH \"SEE ALSO\"\n.BR trainyard (1)\n", stdout);
}
