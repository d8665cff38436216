/* python_tokens.c - see python.h. */
#include "sim/import/nemo/python.h"

#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define DIGITS  "0123456789"

struct scan {
    struct ty_draft *draft;
    const char *at;
    uint32_t line, col, depth;
    struct ty_python_token *token; /* [n]; a file has no more tokens than bytes and an end */
    uint32_t n;
};

static void move(struct scan *s, size_t n)
{
    for (; n > 0; n--, s->at++) {
        s->col++;
        if (*s->at == '\n') {
            s->line++;
            s->col = 1;
        }
    }
}

static void add(struct scan *s, enum ty_python_kind kind, const char *text, size_t n)
{
    s->token[s->n++] =
        (struct ty_python_token){.kind = kind,
                                 .text = ty_draft_text(s->draft, "%.*s", (int)n, text),
                                 .line = s->line,
                                 .col = s->col,
                                 .depth = s->depth};
}

/* A string with its quotes, one or three; escapes stay as they are. */
static void read_string(struct scan *s)
{
    const char quote = *s->at;
    const size_t quotes = s->at[1] == quote && s->at[2] == quote ? 3 : 1;
    const char *text = s->at + quotes, *end = text;
    while (*end != '\0' &&
           !(*end == quote && (quotes == 1 || (end[1] == quote && end[2] == quote)))) {
        if (quotes == 1 && *end == '\n') {
            break;
        }
        end += 1 + (*end == '\\' && end[1] != '\0');
    }
    const size_t n = (size_t)(end - text);
    const bool closed = *end == quote;
    add(s, TY_PYTHON_STRING, text, n);
    move(s, quotes + n + (closed ? quotes : 0));
}

static void read_other(struct scan *s)
{
    const bool two = strchr("=!<>+-*/:", *s->at) != NULL && s->at[1] == '=';
    if (strchr(")]}", *s->at) != NULL && s->depth > 0) {
        s->depth--;
    }
    add(s, TY_PYTHON_OTHER, s->at, two ? 2 : 1);
    if (strchr("([{", *s->at) != NULL) {
        s->depth++;
    }
    move(s, two ? 2 : 1);
}

static void read_next(struct scan *s)
{
    const char c = *s->at;
    if (c == '#') {
        move(s, strcspn(s->at, "\n"));
    } else if (c == '\n') {
        const bool empty = s->n == 0 || s->token[s->n - 1].kind == TY_PYTHON_LINE;
        if (s->depth == 0 && !empty) {
            add(s, TY_PYTHON_LINE, "", 0);
        }
        move(s, 1);
    } else if (c == '\\' && s->at[1] == '\n') {
        move(s, 2);
    } else if (strchr(" \t\r\f", c) != NULL) {
        move(s, 1);
    } else if (c == '"' || c == '\'') {
        read_string(s);
    } else if (strchr(LETTERS, c) != NULL) {
        const size_t n = strspn(s->at, LETTERS DIGITS ".");
        add(s, TY_PYTHON_NAME, s->at, n);
        move(s, n);
    } else if (strchr(DIGITS, c) != NULL) {
        size_t n = strspn(s->at, LETTERS DIGITS ".");
        n += strchr("eE", s->at[n - 1]) != NULL && s->at[n] == '-'
                 ? 1 + strspn(s->at + n + 1, DIGITS)
                 : 0;
        add(s, TY_PYTHON_NUMBER, s->at, n);
        move(s, n);
    } else {
        read_other(s);
    }
}

const struct ty_python_token *ty_python_tokens(struct ty_draft *draft,
                                               const struct ty_draft_file *file, uint32_t *n)
{
    struct scan s = {.draft = draft, .at = file->text, .line = 1, .col = 1};
    s.token = ty_arena_array(draft->arena, struct ty_python_token, file->len + 2);
    if (s.token == NULL) {
        draft->code = ty_fail_memory(draft->err);
        return NULL;
    }
    while (*s.at != '\0' && draft->code == 0) {
        read_next(&s);
    }
    add(&s, TY_PYTHON_LINE, "", 0);
    *n = s.n;
    return draft->code == 0 ? s.token : NULL;
}
