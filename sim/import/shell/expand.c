/* expand.c - words: quotes, what dollars stand for, where they are split; see shell.h. */
#include <string.h>

#include "sim/import/shell/shell.h"

#define ENDS_WORD " \t\r\n;|&()<>"

/* A word under way: fields that are done, and the one that grows. */
struct field {
    struct ty_shell *sh;
    struct ty_shell_words *done; /* NULL: it is not split */
    struct ty_shell_text text;
    bool any; /* something was there, if only quotes */
};

static void end_field(struct field *f)
{
    if (f->any || f->text.len > 0) {
        ty_shell_add_word(f->sh, f->done, &f->text);
    }
    f->text = (struct ty_shell_text){.len = 0};
    f->any = false;
}

/* What an unquoted expansion brings: it is split at blanks. */
static void add_split(struct field *f, const struct ty_shell_text *value)
{
    for (uint32_t i = 0; i < value->len; i++) {
        const char c = value->bytes[i];
        if (f->done != NULL && (c == ' ' || c == '\t' || c == '\n')) {
            end_field(f);
        } else {
            ty_shell_put(f->sh, &f->text, c, value->marks[i]);
        }
    }
}

/* Items that stay words of their own: "${a[@]}". */
static void add_items(struct field *f, const struct ty_shell_words *items)
{
    for (uint32_t i = 0; i < items->n; i++) {
        if (i > 0 && f->done != NULL) {
            end_field(f);
        } else if (i > 0) {
            const struct ty_shell_mark mark = {.line = 0};
            ty_shell_put(f->sh, &f->text, ' ', mark);
        }
        ty_shell_append(f->sh, &f->text, &items->item[i]);
        f->any = true;
    }
}

/* Behind the quote that closes one. */
static void end_single(struct field *f, struct ty_shell_cursor *c)
{
    if (c->at >= c->end) {
        (void)ty_shell_wrong(f->sh, c, "a single quote is not closed; write another one");
        return;
    }
    ty_shell_next(c);
}

static void single_quotes(struct field *f, struct ty_shell_cursor *c)
{
    for (ty_shell_next(c); c->at < c->end && *c->at != '\'';) {
        ty_shell_put(f->sh, &f->text, *c->at, ty_shell_here(f->sh, c));
        ty_shell_next(c);
    }
    end_single(f, c);
}

/* One character between double quotes, or what stands there for more. */
static void quoted_one(struct ty_shell *sh, struct ty_shell_cursor *c, struct ty_shell_text *text,
                       struct ty_shell_words *items)
{
    if (*c->at == '\\' && c->at + 1 < c->end && strchr("$`\"\\\n", c->at[1]) != NULL) {
        const bool line = c->at[1] == '\n';
        ty_shell_next(c);
        if (!line) {
            ty_shell_put(sh, text, *c->at, ty_shell_here(sh, c));
        }
        ty_shell_next(c);
    } else if (*c->at == '$' || *c->at == '`') {
        ty_shell_dollar(sh, c, text, items);
    } else {
        ty_shell_put(sh, text, *c->at, ty_shell_here(sh, c));
        ty_shell_next(c);
    }
}

void ty_shell_quoted(struct ty_shell *sh, struct ty_shell_cursor *c, struct ty_shell_text *text)
{
    while (c->at < c->end && !sh->ended) {
        quoted_one(sh, c, text, NULL);
    }
}

static void double_quotes(struct field *f, struct ty_shell_cursor *c)
{
    f->any = true;
    ty_shell_next(c);
    while (c->at < c->end && *c->at != '"' && !f->sh->ended) {
        struct ty_shell_words items = {.n = 0};
        const bool empty = f->text.len == 0;
        quoted_one(f->sh, c, &f->text, &items);
        if (items.n > 0) {
            add_items(f, &items);
        } else if (items.none && empty && ty_shell_peek(c, 0) == '"') {
            f->any = false; /* "${none[@]}" is no word at all */
        }
    }
    if (c->at >= c->end) {
        (void)ty_shell_wrong(f->sh, c, "a double quote is not closed; write another one");
        return;
    }
    ty_shell_next(c);
}

/* $'...' with its escapes. */
static void escaped_quotes(struct field *f, struct ty_shell_cursor *c)
{
    ty_shell_next(c);
    for (ty_shell_next(c); c->at < c->end && *c->at != '\'';) {
        char now = *c->at;
        if (now == '\\' && c->at + 1 < c->end) {
            ty_shell_next(c);
            now = *c->at == 'n' ? '\n' : *c->at == 't' ? '\t' : *c->at;
        }
        ty_shell_put(f->sh, &f->text, now, ty_shell_here(f->sh, c));
        ty_shell_next(c);
    }
    end_single(f, c);
}

static void unquoted_dollar(struct field *f, struct ty_shell_cursor *c)
{
    struct ty_shell_words items = {.n = 0};
    struct ty_shell_text value = {.len = 0};
    ty_shell_dollar(f->sh, c, &value, &items);
    for (uint32_t i = 0; i < items.n; i++) {
        if (i > 0 && f->done != NULL) {
            end_field(f);
        } else if (i > 0) {
            const struct ty_shell_mark mark = {.line = 0};
            ty_shell_put(f->sh, &f->text, ' ', mark);
        }
        add_split(f, &items.item[i]);
    }
    add_split(f, &value);
}

/* Quotes of whatever kind; false: there are none here. */
static bool read_quotes(struct field *f, struct ty_shell_cursor *c)
{
    if (*c->at == '"') {
        double_quotes(f, c);
        return true;
    }
    const bool escaped = *c->at == '$' && ty_shell_peek(c, 1) == '\'';
    if (!escaped && *c->at != '\'') {
        return false;
    }
    f->any = true;
    if (escaped) {
        escaped_quotes(f, c);
    } else {
        single_quotes(f, c);
    }
    return true;
}

static void read_field(struct field *f, struct ty_shell_cursor *c)
{
    while (c->at < c->end && strchr(ENDS_WORD, *c->at) == NULL && !f->sh->ended) {
        if (read_quotes(f, c)) {
            continue;
        }
        if (*c->at == '$' && ty_shell_peek(c, 1) == '"') {
            ty_shell_next(c); /* a text that would be translated */
        } else if (*c->at == '$' || *c->at == '`') {
            unquoted_dollar(f, c);
        } else {
            bool line = false;
            if (*c->at == '\\' && c->at + 1 < c->end) {
                ty_shell_next(c);
                line = *c->at == '\n' || *c->at == '\r';
            }
            if (!line) {
                ty_shell_put(f->sh, &f->text, *c->at, ty_shell_here(f->sh, c));
            }
            ty_shell_next(c);
        }
    }
}

static bool at_word(const struct ty_shell_cursor *c)
{
    return c->at < c->end && strchr(ENDS_WORD, *c->at) == NULL;
}

/* {1..3} is not unrolled: it stands for itself. */
bool ty_shell_word(struct ty_shell *sh, struct ty_shell_cursor *c, struct ty_shell_words *words)
{
    struct field f = {.sh = sh, .done = words};
    if (!at_word(c)) {
        return false;
    }
    read_field(&f, c);
    end_field(&f);
    return true;
}

bool ty_shell_value_word(struct ty_shell *sh, struct ty_shell_cursor *c, struct ty_shell_text *text)
{
    struct field f = {.sh = sh, .done = NULL};
    if (!at_word(c)) {
        return false;
    }
    read_field(&f, c);
    ty_shell_append(sh, text, &f.text);
    return true;
}

/* ---- words of a text that is no script ---- */

static void end_word(struct ty_shell *sh, struct ty_shell_words *words, struct ty_shell_text *word,
                     bool *any)
{
    if (*any || word->len > 0) {
        ty_shell_add_word(sh, words, word);
    }
    *word = (struct ty_shell_text){.len = 0};
    *any = false;
}

/* A backslash that is none: a line that goes on, or what is meant as it stands. */
static bool escapes(char c, char next, char quote)
{
    return c == '\\' && quote != '\'' && (next == '\n' || next == '"' || next == '$');
}

void ty_shell_split(struct ty_shell *sh, const struct ty_shell_text *text,
                    struct ty_shell_words *words)
{
    struct ty_shell_text word = {.len = 0};
    bool any = false;
    char quote = '\0';
    for (uint32_t i = 0; i < text->len && !sh->ended; i++) {
        const char c = text->bytes[i], next = i + 1 < text->len ? text->bytes[i + 1] : '\0';
        const bool opens = quote == '\0' && (c == '"' || c == '\'');
        if (escapes(c, next, quote)) {
            i++;
            ty_shell_puts(sh, &word, &next, next != '\n', text->marks[i]);
        } else if (opens || (quote != '\0' && c == quote)) {
            quote = opens ? c : '\0';
            any = true;
        } else if (quote == '\0' && strchr(" \t\r\n", c) != NULL) {
            end_word(sh, words, &word, &any);
        } else {
            ty_shell_put(sh, &word, c, text->marks[i]);
        }
    }
    end_word(sh, words, &word, &any);
}
