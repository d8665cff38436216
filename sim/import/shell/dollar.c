/* dollar.c - what begins with a dollar: variables and arrays, $(( )), $( ), ` `; see shell.h. */
#include <stdio.h>
#include <string.h>

#include "sim/import/shell/param.h"

#define NAME_MAX_LEN 200u
#define QUOTE        60 /* bytes of source that a message quotes */
#define DEPTH        32u

static bool is_name(char c, bool first)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (!first && c >= '0' && c <= '9');
}

/* The source from `begin` to the cursor as a text in doubt: its first word, so that it stays
 * one. */
static void put_doubt(struct ty_shell *sh, struct ty_shell_text *text, const char *begin,
                      const struct ty_shell_cursor *c, struct ty_shell_mark mark)
{
    size_t n = 0;
    while (begin + n < c->at && n < QUOTE && strchr(" \t\n", begin[n]) == NULL) {
        n++;
    }
    ty_shell_puts(sh, text, begin, n, mark);
    if (begin + n < c->at) {
        ty_shell_puts(sh, text, "...)", 4, mark);
    }
}

/* A variable without a value stands for itself, and asks for one. */
static void put_unset(struct ty_shell *sh, struct ty_shell_text *text, const char *name,
                      struct ty_shell_mark mark)
{
    const bool argument = name[0] >= '0' && name[0] <= '9';
    mark.doubt = ty_shell_doubt(sh, true, "%s%s is not set (%s); give it with --env %s=VALUE",
                                argument ? "$" : "", name, ty_shell_place_text(sh, mark), name);
    ty_shell_put(sh, text, '$', mark);
    ty_shell_puts(sh, text, name, strlen(name), mark);
}

/* ---- $(( )) and $( ) ---- */

static void put_number(struct ty_shell *sh, struct ty_shell_text *text, int64_t value,
                       struct ty_shell_mark mark)
{
    char digits[32];
    const int n = snprintf(digits, sizeof(digits), "%lld", (long long)value);
    ty_shell_puts(sh, text, digits, (size_t)n, mark);
}

static void arithmetic(struct ty_shell *sh, struct ty_shell_cursor *c, struct ty_shell_text *text,
                       uint32_t brackets)
{
    const char *begin = c->at;
    struct ty_shell_mark mark = ty_shell_here(sh, c);
    for (uint32_t i = 0; i <= brackets; i++) {
        ty_shell_next(c);
    }
    struct ty_shell_cursor inner = *c;
    const char close = brackets == 2 ? ')' : ']';
    if (!ty_shell_close(c, brackets == 2 ? '(' : '[', close) ||
        (brackets == 2 && ty_shell_peek(c, 0) != ')')) {
        (void)ty_shell_wrong(sh, &inner, "an expression is not closed; write )) behind it");
        return;
    }
    inner.end = c->at - 1;
    if (brackets == 2) {
        ty_shell_next(c);
    }
    struct ty_shell_text expression = {.len = 0};
    int64_t value = 0;
    ty_shell_quoted(sh, &inner, &expression);
    mark.doubt = ty_shell_arith(sh, &expression, &value);
    if (mark.doubt != 0) {
        put_doubt(sh, text, begin, c, mark);
    } else {
        put_number(sh, text, value, mark);
    }
}

/* Runs what is inside as far as it is known: cat, echo, sed. Else it is in doubt. */
static void substitution(struct ty_shell *sh, struct ty_shell_cursor *c, struct ty_shell_text *text)
{
    const char *begin = c->at;
    struct ty_shell_mark mark = ty_shell_here(sh, c);
    const bool back = *c->at == '`';
    ty_shell_next(c);
    if (!back) {
        ty_shell_next(c);
    }
    struct ty_shell_cursor inner = *c;
    while (back && c->at < c->end && *c->at != '`') {
        ty_shell_next(c);
    }
    inner.end = c->at;
    if (back && c->at < c->end) {
        ty_shell_next(c);
    } else if (!back && ty_shell_close(c, '(', ')')) {
        inner.end = c->at - 1;
    } else {
        (void)ty_shell_wrong(sh, &inner, "a command substitution is not closed; write ) behind it");
        return;
    }
    struct ty_shell_text out = {.len = 0};
    struct ty_shell_text *outer = sh->out, *in = sh->in;
    const uint32_t n_commands = sh->n_commands;
    const bool returned = sh->returned, answers = sh->answers;
    sh->out = &out;
    sh->answers = true;
    sh->in = NULL;
    inner.here = NULL;
    if (sh->depth < DEPTH) {
        sh->depth++;
        (void)ty_shell_list(sh, &inner);
        sh->depth--;
    }
    sh->out = outer;
    sh->in = in;
    sh->returned = returned;
    sh->answers = answers;
    if (sh->n_commands > n_commands) {
        sh->n_commands = n_commands; /* a program that answers is not the job */
        mark.doubt =
            ty_shell_doubt(sh, false, "%.*s (%s) would have to be run",
                           (int)((size_t)(c->at - begin) < QUOTE ? (size_t)(c->at - begin) : QUOTE),
                           begin, ty_shell_place_text(sh, mark));
        put_doubt(sh, text, begin, c, mark);
        return;
    }
    while (out.len > 0 && out.bytes[out.len - 1] == '\n') {
        out.len--;
    }
    ty_shell_append(sh, text, &out);
}

/* ---- $name, ${...} ---- */

/* "$@" and $*: each for itself where there is room for that. */
static void arguments(struct ty_shell *sh, struct ty_shell_text *text, struct ty_shell_words *items,
                      struct ty_shell_mark mark)
{
    for (uint32_t i = 0; i < sh->args.n; i++) {
        if (items != NULL) {
            ty_shell_add_word(sh, items, &sh->args.item[i]);
        } else {
            ty_shell_puts(sh, text, " ", i > 0, mark);
            ty_shell_append(sh, text, &sh->args.item[i]);
        }
    }
    if (items != NULL && sh->args.n == 0) {
        items->none = true;
    }
}

static void argument(struct ty_shell *sh, char digit, struct ty_shell_text *text,
                     struct ty_shell_mark mark)
{
    const char name[2] = {digit, '\0'};
    const struct ty_shell_text *value = ty_shell_argument(sh, (uint32_t)(digit - '0'));
    if (value != NULL) {
        ty_shell_append(sh, text, value);
    } else {
        put_unset(sh, text, name, mark);
    }
}

/* $1, $#, $@, $?, ... */
static bool special(struct ty_shell *sh, char what, struct ty_shell_text *text,
                    struct ty_shell_words *items, struct ty_shell_mark mark)
{
    if (what == '@' || what == '*') {
        arguments(sh, text, items, mark);
    } else if (what == '#') {
        put_number(sh, text, sh->args.n, mark);
    } else if (what == '0') {
        const char *path = sh->files[mark.file]->path;
        ty_shell_puts(sh, text, path, strlen(path), mark);
    } else if (what >= '1' && what <= '9') {
        argument(sh, what, text, mark);
    } else if (strchr("?$!-", what) != NULL) {
        mark.doubt = ty_shell_doubt(sh, false, "$%c (%s) is known only to who runs it", what,
                                    ty_shell_place_text(sh, mark));
        ty_shell_put(sh, text, '$', mark);
        ty_shell_put(sh, text, what, mark);
    } else {
        return false;
    }
    return true;
}

void ty_shell_dollar(struct ty_shell *sh, struct ty_shell_cursor *c, struct ty_shell_text *text,
                     struct ty_shell_words *items)
{
    const struct ty_shell_mark mark = ty_shell_here(sh, c);
    const char next = ty_shell_peek(c, 1);
    char name[NAME_MAX_LEN];
    size_t n = 0;
    if (*c->at == '`' || (next == '(' && ty_shell_peek(c, 2) != '(')) {
        substitution(sh, c, text);
    } else if (next == '(') {
        arithmetic(sh, c, text, 2);
    } else if (next == '[') {
        arithmetic(sh, c, text, 1);
    } else if (next == '{') {
        ty_shell_braces(sh, c, text, items);
    } else if (is_name(next, true)) {
        for (ty_shell_next(c); c->at < c->end && is_name(*c->at, false); ty_shell_next(c)) {
            if (n + 1 < sizeof(name)) {
                name[n++] = *c->at;
            }
        }
        name[n] = '\0';
        const struct ty_shell_text *value = ty_shell_value(sh, name);
        if (value != NULL) {
            ty_shell_append(sh, text, value);
        } else {
            put_unset(sh, text, name, mark);
        }
    } else {
        ty_shell_next(c);
        if (next != '\0' && special(sh, next, text, items, mark)) {
            ty_shell_next(c);
        } else {
            ty_shell_put(sh, text, '$', mark);
        }
    }
}

void ty_shell_put_unset(struct ty_shell *sh, struct ty_shell_text *text, const char *name,
                        struct ty_shell_mark mark)
{
    put_unset(sh, text, name, mark);
}

bool ty_shell_is_name(char c, bool first)
{
    return is_name(c, first);
}

bool ty_shell_special(struct ty_shell *sh, char what, struct ty_shell_text *text,
                      struct ty_shell_words *items, struct ty_shell_mark mark)
{
    return special(sh, what, text, items, mark);
}

const struct ty_shell_text *ty_shell_argument(struct ty_shell *sh, uint32_t number)
{
    return number >= 1 && number <= sh->args.n ? &sh->args.item[number - 1] : NULL;
}
