/* statement.c - simple statements: assignments, words, redirections, here-documents; shell.h. */
#include <string.h>

#include "sim/import/shell/param.h"
#include "sim/import/shell/run.h"

/* ---- read over ---- */

/* Behind the quote that closes one; false: there is none. */
static bool skip_quotes(struct ty_shell_cursor *c, char quote)
{
    while (c->at < c->end && *c->at != quote) {
        if (*c->at == '\\' && quote != '\'' && c->at + 1 < c->end) {
            ty_shell_next(c);
        }
        ty_shell_next(c);
    }
    if (c->at >= c->end) {
        return false;
    }
    ty_shell_next(c);
    return true;
}

/* Whether behind `before` a bracket opens that belongs to the word: $( ${ =( */
static bool opens(const struct ty_shell_cursor *c, char before)
{
    const char now = ty_shell_peek(c, 0);
    return (before == '$' && (now == '(' || now == '{')) || (before == '=' && now == '(');
}

void ty_shell_skip_word(struct ty_shell *sh, struct ty_shell_cursor *c)
{
    while (c->at < c->end && strchr(" \t\r\n;|&()<>", *c->at) == NULL && !sh->ended) {
        const char now = *c->at;
        bool closed = true;
        ty_shell_next(c);
        if (now == '\\' && c->at < c->end) {
            ty_shell_next(c);
        } else if (now == '\'' || now == '"' || now == '`') {
            closed = skip_quotes(c, now);
        } else if (opens(c, now)) {
            const char open = *c->at;
            ty_shell_next(c);
            closed = ty_shell_close(c, open, open == '(' ? ')' : '}');
        }
        if (!closed) {
            (void)ty_shell_wrong(sh, c, "a quote or bracket is not closed");
        }
    }
}

/* ---- here-documents ---- */

/* Where the next here-document of this line begins. */
static struct ty_shell_cursor here_begin(const struct ty_shell_cursor *c)
{
    struct ty_shell_cursor body = *c;
    if (c->here != NULL) {
        body.at = c->here;
        body.line = c->here_line;
    } else {
        while (body.at < body.end && *body.at != '\n') {
            body.at++;
        }
        body.at += body.at < body.end;
        body.line++;
    }
    body.here = NULL;
    body.col = 1;
    return body;
}

/* Whether a line is the delimiter and nothing else. */
static bool is_delimiter(const char *line, const char *end, bool tabs, const char *delimiter)
{
    while (tabs && line < end && *line == '\t') {
        line++;
    }
    size_t n = (size_t)(end - line);
    n -= n > 0 && line[n - 1] == '\r';
    return n == strlen(delimiter) && memcmp(line, delimiter, n) == 0;
}

/* The lines up to the delimiter, behind the line of the cursor and other here-documents. */
static void here_document(struct ty_shell *sh, struct ty_shell_cursor *c, bool tabs,
                          const char *delimiter, bool quoted, struct ty_shell_text *text)
{
    struct ty_shell_cursor body = here_begin(c);
    const char *line = body.at;
    for (uint32_t n_lines = 1;; n_lines++) {
        const char *end = memchr(line, '\n', (size_t)(body.end - line));
        end = end != NULL ? end : body.end;
        if (is_delimiter(line, end, tabs, delimiter)) {
            c->here = end < body.end ? end + 1 : end;
            c->here_line = body.line + n_lines;
            break;
        }
        if (end == body.end) {
            (void)ty_shell_wrong(sh, c,
                                 "a here-document has no end; write its delimiter alone on a "
                                 "line");
            return;
        }
        line = end + 1;
    }
    body.end = line;
    while (body.at < body.end && quoted && !sh->ended) {
        ty_shell_put(sh, text, *body.at, ty_shell_here(sh, &body));
        ty_shell_next(&body);
    }
    if (!sh->skip) {
        ty_shell_quoted(sh, &body, text);
    }
}

static void read_here(struct ty_shell *sh, struct ty_shell_cursor *c, struct ty_shell_text *in)
{
    const bool tabs = ty_shell_peek(c, 0) == '-';
    char delimiter[128];
    size_t n = 0;
    bool quoted = false;
    if (tabs) {
        ty_shell_next(c);
    }
    ty_shell_blanks(c, false);
    while (c->at < c->end && strchr(" \t\r\n;|&()<>", *c->at) == NULL) {
        if (strchr("'\"\\", *c->at) != NULL) {
            quoted = true;
        } else if (n + 1 < sizeof(delimiter)) {
            delimiter[n++] = *c->at;
        }
        ty_shell_next(c);
    }
    delimiter[n] = '\0';
    here_document(sh, c, tabs, delimiter, quoted, in);
}

/* ---- redirections ---- */

bool ty_shell_at_redirection(const struct ty_shell_cursor *c)
{
    uint32_t i = 0;
    while (ty_shell_peek(c, i) >= '0' && ty_shell_peek(c, i) <= '9') {
        i++;
    }
    const char now = ty_shell_peek(c, i);
    return now == '<' || now == '>' || (i == 0 && now == '&' && ty_shell_peek(c, 1) == '>');
}

/* Input that nobody knows. */
static void put_unknown(struct ty_shell *sh, struct ty_shell_text *in, const char *what,
                        const char *why, struct ty_shell_mark at)
{
    if (!sh->skip) {
        at.doubt =
            ty_shell_doubt(sh, false, "%.60s (%s) %s", what, ty_shell_place_text(sh, at), why);
        ty_shell_puts(sh, in, "?\n", 2, at);
    }
}

/* Reads < FILE and its kin into `in`. */
static void read_input(struct ty_shell *sh, struct ty_shell_cursor *c, struct ty_shell_text *in)
{
    const struct ty_shell_mark at = ty_shell_here(sh, c);
    struct ty_shell_text word = {.len = 0};
    if (ty_shell_peek(c, 0) == '<' && ty_shell_peek(c, 1) == '<') { /* <<< word */
        ty_shell_next(c);
        ty_shell_next(c);
        ty_shell_blanks(c, false);
        (void)ty_shell_value_word(sh, c, in);
        ty_shell_put(sh, in, '\n', at);
    } else if (ty_shell_peek(c, 0) == '<') {
        ty_shell_next(c);
        read_here(sh, c, in);
    } else if (ty_shell_peek(c, 0) == '(') { /* <(program) */
        ty_shell_next(c);
        (void)ty_shell_close(c, '(', ')');
        put_unknown(sh, in, "<(...)", "would have to be run", at);
    } else {
        if (ty_shell_peek(c, 0) == '&') {
            ty_shell_next(c);
        }
        ty_shell_blanks(c, false);
        if (ty_shell_value_word(sh, c, &word) && !sh->skip) {
            const struct ty_shell_text *text = ty_shell_file_text(sh, ty_shell_string(&word), at);
            if (text != NULL) {
                ty_shell_append(sh, in, text);
            } else {
                put_unknown(sh, in, ty_shell_string(&word), "is no file that was given", at);
            }
        }
    }
}

bool ty_shell_redirection(struct ty_shell *sh, struct ty_shell_cursor *c, struct ty_shell_text *in,
                          bool *has_in, const char **to, bool *append)
{
    if (!ty_shell_at_redirection(c)) {
        return false;
    }
    const bool errors = *c->at != '1' && *c->at >= '0' && *c->at <= '9';
    while (*c->at != '<' && *c->at != '>') {
        ty_shell_next(c);
    }
    const bool input = *c->at == '<';
    ty_shell_next(c);
    if (input) {
        *in = (struct ty_shell_text){.len = 0};
        *has_in = true;
        read_input(sh, c, in);
        return true;
    }
    struct ty_shell_text word = {.len = 0};
    const bool more = ty_shell_peek(c, 0) == '>';
    const bool copy = ty_shell_peek(c, 0) == '&';
    if (more || copy || ty_shell_peek(c, 0) == '|') {
        ty_shell_next(c);
    }
    if (ty_shell_peek(c, 0) == '(') { /* >(program) */
        ty_shell_next(c);
        (void)ty_shell_close(c, '(', ')');
        return true;
    }
    ty_shell_blanks(c, false);
    if (sh->skip) {
        ty_shell_skip_word(sh, c);
    } else if (ty_shell_value_word(sh, c, &word) && !errors && !copy) {
        *to = ty_shell_string(&word);
        *append = more;
    }
    return true;
}

/* ---- assignments ---- */

/* The length of NAME at the cursor when an assignment is there: NAME=, NAME+=, NAME[...]=. */
static uint32_t assignment(const struct ty_shell_cursor *c)
{
    uint32_t n = 0;
    while (ty_shell_is_name(ty_shell_peek(c, n), n == 0)) {
        n++;
    }
    uint32_t i = n;
    if (n > 0 && ty_shell_peek(c, i) == '[') {
        while (ty_shell_peek(c, i) != '\0' && strchr("]\n", ty_shell_peek(c, i)) == NULL) {
            i++;
        }
        i += ty_shell_peek(c, i) == ']';
    }
    i += ty_shell_peek(c, i) == '+';
    return n > 0 && ty_shell_peek(c, i) == '=' ? n : 0;
}

/* ( words ), on as many lines as there are. */
static void read_array(struct ty_shell *sh, struct ty_shell_cursor *c, struct ty_shell_words *words)
{
    ty_shell_next(c);
    for (ty_shell_blanks(c, true); c->at < c->end && *c->at != ')' && !sh->ended;
         ty_shell_blanks(c, true)) {
        if (!ty_shell_word(sh, c, words)) {
            (void)ty_shell_wrong(sh, c, "this cannot be in an array; quote it");
        }
    }
    if (c->at >= c->end && !sh->ended) {
        (void)ty_shell_wrong(sh, c, "an array is not closed; write ) behind it");
    }
    if (c->at < c->end) {
        ty_shell_next(c);
    }
}

static void assign(struct ty_shell *sh, struct ty_shell_cursor *c, uint32_t n)
{
    const char *name = ty_draft_text(sh->draft, "%.*s", (int)n, c->at);
    struct ty_shell_text key = {.len = 0}, value = {.len = 0};
    struct ty_shell_words words = {.n = 0};
    for (uint32_t i = 0; i < n; i++) {
        ty_shell_next(c);
    }
    const bool item = *c->at == '[';
    if (item) {
        ty_shell_next(c);
        struct ty_shell_cursor inner = *c;
        while (*c->at != ']') {
            ty_shell_next(c);
        }
        inner.end = c->at;
        (void)ty_shell_value_word(sh, &inner, &key);
        ty_shell_next(c);
    }
    const bool append = *c->at == '+';
    if (append) {
        ty_shell_next(c);
    }
    ty_shell_next(c);
    if (ty_shell_peek(c, 0) == '(' && !item) {
        read_array(sh, c, &words);
        ty_shell_assign_array(sh, name, &words, append);
        return;
    }
    (void)ty_shell_value_word(sh, c, &value);
    const struct ty_shell_var *var = ty_shell_var(sh, name, false);
    if (item) {
        ty_shell_assign_item(sh, name, ty_shell_string(&key), &value);
    } else if (append && var != NULL && var->array) {
        ty_shell_add_word(sh, &words, &value);
        ty_shell_assign_array(sh, name, &words, true);
    } else {
        ty_shell_assign_given(sh, name, &value, append);
    }
}

/* ---- a statement ---- */

static bool declares(const struct ty_shell_words *words)
{
    static const char *const names[] = {"export", "declare", "local", "readonly", "typeset"};
    const char *first = words->n > 0 ? ty_shell_string(&words->item[0]) : "";
    for (size_t i = 0; i < TY_COUNT(names); i++) {
        if (strcmp(first, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void skip_simple(struct ty_shell *sh, struct ty_shell_cursor *c)
{
    struct ty_shell_text in = {.len = 0};
    const char *to = NULL;
    bool has_in = false, append = false;
    for (ty_shell_blanks(c, false); c->at < c->end && !sh->ended; ty_shell_blanks(c, false)) {
        if (ty_shell_at_redirection(c)) {
            (void)ty_shell_redirection(sh, c, &in, &has_in, &to, &append);
        } else if (strchr("\n;|&()", *c->at) != NULL) {
            return;
        } else {
            ty_shell_skip_word(sh, c);
        }
    }
}

static enum ty_shell_status execute(struct ty_shell *sh, struct ty_shell_words *words,
                                    struct ty_shell_mark at, struct ty_shell_text *in, bool has_in,
                                    const char *to, bool append)
{
    struct ty_shell_text *outer_in = sh->in, *outer_out = sh->out;
    struct ty_shell_text out = {.len = 0};
    enum ty_shell_status status = TY_SHELL_TRUE;
    sh->in = has_in ? in : sh->in;
    sh->out = to != NULL ? &out : sh->out;
    if (words->n > 0) {
        status = ty_shell_call(sh, words, at);
    }
    sh->in = outer_in;
    sh->out = outer_out;
    if (to != NULL) {
        ty_shell_write(sh, to, &out, append);
    }
    return status;
}

enum ty_shell_status ty_shell_simple(struct ty_shell *sh, struct ty_shell_cursor *c)
{
    if (sh->skip) {
        skip_simple(sh, c);
        return TY_SHELL_TRUE;
    }
    struct ty_shell_words words = {.n = 0};
    struct ty_shell_text in = {.len = 0};
    const char *to = NULL;
    bool has_in = false, append = false;
    struct ty_shell_mark at = ty_shell_here(sh, c);
    for (ty_shell_blanks(c, false); c->at < c->end && !sh->ended; ty_shell_blanks(c, false)) {
        const uint32_t n = words.n == 0 || declares(&words) ? assignment(c) : 0;
        if (n > 0) {
            assign(sh, c, n);
        } else if (ty_shell_at_redirection(c)) {
            (void)ty_shell_redirection(sh, c, &in, &has_in, &to, &append);
        } else if (strchr("\n;|&()", *c->at) != NULL) {
            break;
        } else {
            at = words.n == 0 ? ty_shell_here(sh, c) : at;
            (void)ty_shell_word(sh, c, &words);
        }
    }
    return sh->ended ? TY_SHELL_TRUE : execute(sh, &words, at, &in, has_in, to, append);
}
