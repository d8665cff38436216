/* builtin.c - programs that are known: what they print, and what they change; see shell.h. Any
 * other one is noted, as it may be the job. */
#include <string.h>

#include "sim/base/path.h"
#include "sim/import/shell/shell.h"

static const char *word(const struct ty_shell_words *words, uint32_t i)
{
    return i < words->n ? ty_shell_string(&words->item[i]) : "";
}

/* Prints, where somebody reads it. */
static void print(struct ty_shell *sh, const struct ty_shell_text *text)
{
    if (sh->out != NULL) {
        ty_shell_append(sh, sh->out, text);
    }
}

static struct ty_shell_text joined(struct ty_shell *sh, const struct ty_shell_words *words,
                                   uint32_t first)
{
    struct ty_shell_text text = {.len = 0};
    const struct ty_shell_mark mark = {.line = 0};
    for (uint32_t i = first; i < words->n; i++) {
        ty_shell_puts(sh, &text, " ", i > first, mark);
        ty_shell_append(sh, &text, &words->item[i]);
    }
    return text;
}

static enum ty_shell_status echo(struct ty_shell *sh, const struct ty_shell_words *words)
{
    uint32_t first = 1;
    const struct ty_shell_mark mark = {.line = 0};
    while (strcmp(word(words, first), "-e") == 0 || strcmp(word(words, first), "-n") == 0) {
        first++;
    }
    struct ty_shell_text text = joined(sh, words, first);
    ty_shell_puts(sh, &text, "\n", 1, mark);
    print(sh, &text);
    return TY_SHELL_TRUE;
}

/* Files, or what a pipe brings; a file that nobody knows is in doubt. */
static enum ty_shell_status cat(struct ty_shell *sh, const struct ty_shell_words *words,
                                struct ty_shell_mark at)
{
    if (words->n == 1 && sh->in != NULL) {
        print(sh, sh->in);
    }
    for (uint32_t i = 1; i < words->n; i++) {
        const struct ty_shell_text *text = ty_shell_file_text(sh, word(words, i), at);
        if (text != NULL) {
            print(sh, text);
        } else if (sh->out != NULL) {
            struct ty_shell_mark mark = at;
            mark.doubt = ty_shell_doubt(sh, false, "%.60s (%s) is no file that was given",
                                        word(words, i), ty_shell_place_text(sh, at));
            ty_shell_puts(sh, sh->out, "?", 1, mark);
        }
    }
    return TY_SHELL_TRUE;
}

/* ---- sed s/A/B/g ---- */

/* One expression on a text. False: it is another one than s with words that stand for
 * themselves. */
static bool substitute(struct ty_shell *sh, const struct ty_shell_text *expression,
                       const struct ty_shell_text *text, struct ty_shell_text *out)
{
    const char *s = ty_shell_string(expression);
    const char by = s[0] == 's' ? s[1] : '\0';
    const char *middle = by != '\0' ? strchr(s + 2, by) : NULL;
    const char *end = middle != NULL ? strchr(middle + 1, by) : NULL;
    const size_t n = middle != NULL ? (size_t)(middle - s) - 2 : 0;
    if (end == NULL || n == 0) {
        return false;
    }
    const struct ty_shell_text with =
        ty_shell_part(sh, expression, (uint32_t)(middle + 1 - s), (uint32_t)(end - middle - 1));
    const bool all = strchr(end, 'g') != NULL;
    bool done = false; /* of this line */
    for (uint32_t i = 0; i < text->len && !sh->ended;) {
        if (!done && text->len - i >= n && memcmp(text->bytes + i, s + 2, n) == 0) {
            ty_shell_append(sh, out, &with);
            i += (uint32_t)n;
            done = !all;
        } else {
            done = done && text->bytes[i] != '\n';
            ty_shell_put(sh, out, text->bytes[i], text->marks[i]);
            i++;
        }
    }
    return true;
}

static enum ty_shell_status sed(struct ty_shell *sh, const struct ty_shell_words *words,
                                struct ty_shell_mark at)
{
    struct ty_shell_text text = {.len = 0};
    const char *in_place = NULL;
    bool inside = false;
    struct ty_shell_words expressions = {.n = 0};
    if (sh->in != NULL) {
        text = *sh->in;
    }
    for (uint32_t i = 1; i < words->n; i++) {
        if (strcmp(word(words, i), "-e") == 0 && i + 1 < words->n) {
            ty_shell_add_word(sh, &expressions, &words->item[++i]);
        } else if (ty_text_begins(word(words, i), "-i")) {
            inside = true;
        } else if (word(words, i)[0] == '-') {
            continue;
        } else if (expressions.n == 0) {
            ty_shell_add_word(sh, &expressions, &words->item[i]);
        } else {
            const struct ty_shell_text *file = ty_shell_file_text(sh, word(words, i), at);
            in_place = word(words, i);
            if (file != NULL) {
                text = *file;
            }
        }
    }
    for (uint32_t i = 0; i < expressions.n; i++) {
        struct ty_shell_text out = {.len = 0};
        if (!substitute(sh, &expressions.item[i], &text, &out)) {
            struct ty_shell_mark mark = at;
            mark.doubt =
                ty_shell_doubt(sh, false, "sed %.60s (%s) is not known here",
                               ty_shell_string(&expressions.item[i]), ty_shell_place_text(sh, at));
            ty_shell_puts(sh, &out, "?", 1, mark);
        }
        text = out;
    }
    if (inside && in_place != NULL) {
        ty_shell_write(sh, in_place, &text, false);
    } else {
        print(sh, &text);
    }
    return TY_SHELL_TRUE;
}

/* ---- what changes the shell ---- */

/* export, declare, local, readonly: A=B was assigned by the reader of statements; what expansion
 * made of it comes here. */
static enum ty_shell_status declare(struct ty_shell *sh, const struct ty_shell_words *words)
{
    for (uint32_t i = 1; i < words->n; i++) {
        const struct ty_shell_text *w = &words->item[i];
        const char *equals = strchr(ty_shell_string(w), '=');
        if (equals == NULL || w->bytes[0] == '-') {
            continue;
        }
        const uint32_t n = (uint32_t)(equals - w->bytes);
        const struct ty_shell_text value = ty_shell_part(sh, w, n + 1, w->len);
        ty_shell_assign(sh, ty_draft_text(sh->draft, "%.*s", (int)n, w->bytes), &value, false);
    }
    return TY_SHELL_TRUE;
}

static enum ty_shell_status source(struct ty_shell *sh, const struct ty_shell_words *words,
                                   struct ty_shell_mark at, bool own_arguments)
{
    const struct ty_draft_file *file =
        ty_draft_named(sh->draft, sh->files[at.file], word(words, 1));
    const struct ty_draft_from from = {.word = word(words, 1), .at = ty_shell_place(sh, at)};
    struct ty_shell_words args = {.n = 0};
    if (file == NULL) {
        if (!own_arguments) {
            ty_draft_remark(sh->draft, &from,
                            "no such file was given: what it sets is not known; name it, too");
        }
        return TY_SHELL_PROGRAM;
    }
    for (uint32_t i = 2; i < words->n; i++) {
        ty_shell_add_word(sh, &args, &words->item[i]);
    }
    ty_shell_source(sh, file, own_arguments || args.n > 0 ? &args : NULL);
    return TY_SHELL_TRUE;
}

static enum ty_shell_status shift(struct ty_shell *sh, const struct ty_shell_words *words)
{
    int64_t by = 1;
    if (words->n > 1) {
        (void)ty_shell_arith(sh, &words->item[1], &by);
    }
    const uint32_t n = by < 0 ? 0 : by > sh->args.n ? sh->args.n : (uint32_t)by;
    if (n > 0) { /* without arguments there is no array to move in */
        sh->args.item += n;
        sh->args.n -= n;
    }
    sh->args.cap -= sh->args.cap > n ? n : sh->args.cap;
    return TY_SHELL_TRUE;
}

static enum ty_shell_status set(struct ty_shell *sh, const struct ty_shell_words *words)
{
    for (uint32_t i = 1; i < words->n; i++) {
        if (strcmp(word(words, i), "--") == 0) {
            struct ty_shell_words args = {.n = 0};
            for (uint32_t k = i + 1; k < words->n; k++) {
                ty_shell_add_word(sh, &args, &words->item[k]);
            }
            sh->args = args;
            return TY_SHELL_TRUE;
        }
    }
    return TY_SHELL_TRUE; /* -e, -x, ... change nothing that is read here */
}

static enum ty_shell_status let(struct ty_shell *sh, const struct ty_shell_words *words)
{
    for (uint32_t i = 1; i < words->n; i++) {
        const struct ty_shell_text *w = &words->item[i];
        const char *equals = strchr(ty_shell_string(w), '=');
        if (equals != NULL) {
            const uint32_t n = (uint32_t)(equals - w->bytes);
            const struct ty_shell_text right = ty_shell_part(sh, w, n + 1, w->len);
            int64_t value = 0;
            struct ty_shell_text text = {.len = 0};
            struct ty_shell_mark mark = w->marks[0];
            mark.doubt = ty_shell_arith(sh, &right, &value);
            const char *digits = ty_draft_text(sh->draft, "%lld", (long long)value);
            ty_shell_puts(sh, &text, digits, strlen(digits), mark);
            ty_shell_assign(sh, ty_draft_text(sh->draft, "%.*s", (int)n, w->bytes), &text, false);
        }
    }
    return TY_SHELL_TRUE;
}

static void end(struct ty_shell *sh, struct ty_shell_mark at, bool *flag)
{
    if (sh->doubt == 0) { /* else nobody knows */
        *flag = true;
        sh->ended_at = at;
    }
}

static enum ty_shell_status dirname_of(struct ty_shell *sh, const struct ty_shell_words *words,
                                       bool name)
{
    const struct ty_shell_text *w = words->n > 1 ? &words->item[1] : NULL;
    if (w == NULL || sh->out == NULL) {
        return TY_SHELL_TRUE;
    }
    const uint32_t folder = (uint32_t)(ty_path_name(ty_shell_string(w)) - ty_shell_string(w));
    const struct ty_shell_text part = name ? ty_shell_part(sh, w, folder, w->len)
                                           : ty_shell_part(sh, w, 0, folder > 0 ? folder - 1 : 0);
    const struct ty_shell_mark mark = {.line = 0};
    ty_shell_append(sh, sh->out, &part);
    ty_shell_puts(sh, sh->out, ".", !name && folder == 0, mark);
    return TY_SHELL_TRUE;
}

/* A program of which nothing is known. */
static enum ty_shell_status note(struct ty_shell *sh, const struct ty_shell_words *words,
                                 struct ty_shell_mark at)
{
    void *items = sh->commands;
    if (ty_shell_grow(sh, &items, sh->n_commands, &sh->cap_commands, sizeof(sh->commands[0]))) {
        sh->commands = items;
        sh->commands[sh->n_commands++] =
            (struct ty_shell_command){.words = *words, .at = at, .doubt = sh->doubt};
    }
    return TY_SHELL_PROGRAM;
}

static enum ty_shell_status call_known(struct ty_shell *sh, struct ty_shell_words *words,
                                       struct ty_shell_mark at, bool *known)
{
    const char *name = word(words, 0);
    *known = true;
    if (strcmp(name, "echo") == 0) {
        return echo(sh, words);
    }
    if (strcmp(name, "cat") == 0) {
        return cat(sh, words, at);
    }
    if (strcmp(name, "sed") == 0) {
        return sed(sh, words, at);
    }
    if (strcmp(name, "dirname") == 0 || strcmp(name, "basename") == 0) {
        return dirname_of(sh, words, name[0] == 'b');
    }
    if (strcmp(name, "source") == 0 || strcmp(name, ".") == 0) {
        return source(sh, words, at, false);
    }
    if (strcmp(name, "export") == 0 || strcmp(name, "declare") == 0 || strcmp(name, "local") == 0 ||
        strcmp(name, "readonly") == 0 || strcmp(name, "typeset") == 0) {
        return declare(sh, words);
    }
    *known = false;
    return TY_SHELL_PROGRAM;
}

static void unset(struct ty_shell *sh, const struct ty_shell_words *words)
{
    for (uint32_t i = 1; i < words->n; i++) {
        struct ty_shell_var *var = ty_shell_var(sh, word(words, i), false);
        if (var != NULL) {
            var->set = false;
        }
    }
}

/* exit, return, break, continue: what ends. False: it is none of these. */
static bool ends(struct ty_shell *sh, const char *name, struct ty_shell_mark at)
{
    if (strcmp(name, "exit") == 0) {
        if (!sh->answers) {
            end(sh, at, &sh->ended);
        }
        return true;
    }
    if (strcmp(name, "return") == 0) {
        end(sh, at, &sh->returned);
        return true;
    }
    if (strcmp(name, "break") == 0 || strcmp(name, "continue") == 0) {
        end(sh, at, &sh->broke);
        return true;
    }
    return false;
}

/* The rest of those that change the shell. */
static enum ty_shell_status call_own(struct ty_shell *sh, struct ty_shell_words *words,
                                     struct ty_shell_mark at, bool *known)
{
    const char *name = word(words, 0);
    *known = true;
    if (strcmp(name, "shift") == 0) {
        return shift(sh, words);
    }
    if (strcmp(name, "set") == 0) {
        return set(sh, words);
    }
    if (strcmp(name, "let") == 0) {
        return let(sh, words);
    }
    if (strcmp(name, "unset") == 0) {
        unset(sh, words);
        return TY_SHELL_TRUE;
    }
    if (strcmp(name, "exec") == 0 && words->n > 1) {
        words->item++;
        words->n--;
        words->cap = words->n;
        return ty_shell_call(sh, words, at);
    }
    if (strcmp(name, "true") == 0 || strcmp(name, ":") == 0 || strcmp(name, "false") == 0) {
        return name[0] == 'f' ? TY_SHELL_FALSE : TY_SHELL_TRUE;
    }
    *known = ends(sh, name, at);
    return *known ? TY_SHELL_TRUE : TY_SHELL_PROGRAM;
}

enum ty_shell_status ty_shell_call(struct ty_shell *sh, struct ty_shell_words *words,
                                   struct ty_shell_mark at)
{
    bool known = false;
    enum ty_shell_status status = call_known(sh, words, at, &known);
    if (!known) {
        status = ty_shell_call_text(sh, words, at, &known);
    }
    if (!known) {
        status = call_own(sh, words, at, &known);
    }
    if (known || words->n == 0) {
        return status;
    }
    const char *name = ty_path_name(word(words, 0));
    if (strcmp(name, "test") == 0 || strcmp(name, "[") == 0) {
        struct ty_shell_words inner = *words;
        inner.item++;
        inner.n -= 1 + (name[0] == '[' && strcmp(word(words, words->n - 1), "]") == 0);
        return ty_shell_test(sh, &inner, false);
    }
    for (uint32_t i = sh->n_functions; i > 0; i--) {
        if (strcmp(sh->functions[i - 1].name, word(words, 0)) == 0) {
            return ty_shell_function_call(sh, &sh->functions[i - 1], words);
        }
    }
    if ((strcmp(name, "bash") == 0 || strcmp(name, "sh") == 0) && words->n > 1 &&
        word(words, 1)[0] != '-') {
        return source(sh, words, at, true) == TY_SHELL_TRUE ? TY_SHELL_PROGRAM
                                                            : note(sh, words, at);
    }
    return note(sh, words, at);
}
