/* words.c - what may stand where, looked up once for all forms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/cli_api.h"
#include "sim/manual/manual.h"

/* The day that a reproducible build gives (reproducible-builds.org/specs/source-date-epoch). */
static void date(char *buf, size_t size)
{
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    const time_t t = epoch != NULL ? (time_t)strtoll(epoch, NULL, 10) : 0;
    struct tm tm;
    buf[0] = '\0';
    if (t > 0 && gmtime_r(&t, &tm) != NULL) {
        strftime(buf, size, "%Y-%m-%d", &tm);
    }
}

static void add(struct manual_words *out, const char *name, const char *doc)
{
    if (out->n < MANUAL_WORDS_MAX) {
        out->word[out->n++] = (struct ty_key_word){name, doc};
    }
}

/* Lines of "name   what it is", as ty_list writes them, into names and docs. */
static void cut_lines(struct manual_words *out)
{
    for (char *line = out->text, *end; *line != '\0'; line = end) {
        end = line + strcspn(line, "\n");
        char *name_end = line + strcspn(line, " \n");
        char *doc = name_end + strspn(name_end, " ");
        end += *end == '\n';
        if (end > line && end[-1] == '\n') {
            end[-1] = '\0';
        }
        *name_end = '\0';
        add(out, line, doc);
    }
}

int manual_init(struct manual *manual, const char *doc_dir)
{
    struct ty_err *err = ty_err_new();
    char *formats = NULL;
    const char *name, *about;
    *manual = (struct manual){.doc_dir = doc_dir};
    date(manual->date, sizeof(manual->date));
    if (ty_keys_new(&manual->keys, err) < 0 || ty_list("formats", NULL, &formats, err) < 0) {
        fprintf(stderr, "%s\n", ty_err_text(err));
        ty_err_free(err);
        manual_release(manual);
        return 1;
    }
    snprintf(manual->formats.text, sizeof(manual->formats.text), "%s", formats);
    cut_lines(&manual->formats);
    for (size_t i = 0; (name = ty_list_name(i, &about)) != NULL; i++) {
        add(&manual->catalogues, name, about);
    }
    ty_text_free(formats);
    ty_err_free(err);
    return 0;
}

void manual_release(struct manual *manual)
{
    ty_keys_free(manual->keys);
}

char *manual_commands(const struct cli_option_row *row, char *buf, size_t size)
{
    size_t n = 0;
    buf[0] = '\0';
    for (int c = 0; c < CLI_N_COMMANDS && n < size; c++) {
        if (cli_has((enum cli_command)c, row)) {
            n += (size_t)snprintf(buf + n, size - n, "%s%s", n > 0 ? ", " : "",
                                  cli_commands[c].name);
        }
    }
    return buf;
}
