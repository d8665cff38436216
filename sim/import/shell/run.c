/* run.c - lists of statements: ; && || |; see shell.h. */
#include "sim/import/shell/run.h"

#include <string.h>

#define STATEMENT 64u /* what one costs of what a script may cost, in bytes of text */
#define DEPTH     48u

void ty_shell_below(struct ty_shell *sh, enum ty_shell_status status, enum ty_shell_status holds)
{
    if (status == TY_SHELL_UNKNOWN) {
        sh->doubt = sh->why;
    } else if (status != holds && !(status == TY_SHELL_PROGRAM && holds == TY_SHELL_TRUE)) {
        sh->skip = true;
    }
}

enum ty_shell_status ty_shell_decided(struct ty_shell *sh, enum ty_shell_status status,
                                      struct ty_shell_mark at)
{
    if (status == TY_SHELL_PROGRAM) {
        sh->why = ty_shell_doubt(sh, false, "whether a program succeeds (%s) only running tells",
                                 ty_shell_place_text(sh, at));
        return TY_SHELL_UNKNOWN;
    }
    return status;
}

/* ---- pipes ---- */

static enum ty_shell_status command(struct ty_shell *sh, struct ty_shell_cursor *c)
{
    enum ty_shell_status status = TY_SHELL_TRUE;
    if (!ty_shell_compound(sh, c, &status)) {
        return ty_shell_simple(sh, c);
    }
    struct ty_shell_text in = {.len = 0};
    const char *to = NULL;
    bool has_in = false, append = false;
    for (ty_shell_blanks(c, false);
         !sh->ended && ty_shell_redirection(sh, c, &in, &has_in, &to, &append);) {
        ty_shell_blanks(c, false);
    }
    if (to != NULL && sh->out != NULL && !sh->skip) {
        ty_shell_write(sh, to, sh->out, append);
        *sh->out = (struct ty_shell_text){.len = 0};
    }
    return status;
}

static bool at_pipe(const struct ty_shell_cursor *c)
{
    return ty_shell_peek(c, 0) == '|' && ty_shell_peek(c, 1) != '|';
}

static enum ty_shell_status pipeline(struct ty_shell *sh, struct ty_shell_cursor *c)
{
    struct ty_shell_text *outer_out = sh->out, *outer_in = sh->in;
    struct ty_shell_text brought = {.len = 0};
    enum ty_shell_status status = TY_SHELL_TRUE;
    bool negated = false;
    while (ty_shell_at_word(c, "!")) {
        negated = !negated;
        ty_shell_next(c);
        ty_shell_blanks(c, false);
    }
    for (bool more = true; more && !sh->ended;) {
        struct ty_shell_text out = {.len = 0};
        sh->out = &out;
        status = command(sh, c);
        ty_shell_blanks(c, false);
        more = at_pipe(c);
        if (more) {
            ty_shell_next(c);
            if (ty_shell_peek(c, 0) == '&') {
                ty_shell_next(c);
            }
            ty_shell_blanks(c, true);
            brought = out;
            sh->in = &brought;
        } else if (outer_out != NULL) {
            ty_shell_append(sh, outer_out, &out);
        }
    }
    sh->out = outer_out;
    sh->in = outer_in;
    if (negated && (status == TY_SHELL_TRUE || status == TY_SHELL_FALSE)) {
        return status == TY_SHELL_TRUE ? TY_SHELL_FALSE : TY_SHELL_TRUE;
    }
    return status;
}

/* ---- && and || ---- */

static enum ty_shell_status conditional(struct ty_shell *sh, struct ty_shell_cursor *c)
{
    enum ty_shell_status status = pipeline(sh, c);
    while (!sh->ended) {
        ty_shell_blanks(c, false);
        const bool both = ty_shell_peek(c, 0) == '&' && ty_shell_peek(c, 1) == '&';
        if (!both && (ty_shell_peek(c, 0) != '|' || ty_shell_peek(c, 1) != '|')) {
            return status;
        }
        const struct ty_shell_mode mode = ty_shell_mode(sh);
        ty_shell_next(c);
        ty_shell_next(c);
        ty_shell_blanks(c, true);
        ty_shell_below(sh, status, both ? TY_SHELL_TRUE : TY_SHELL_FALSE);
        const bool skipped = sh->skip;
        const enum ty_shell_status next = pipeline(sh, c);
        const bool doubted = sh->doubt != mode.doubt;
        ty_shell_set_mode(sh, mode);
        status = skipped ? status : doubted ? TY_SHELL_UNKNOWN : next;
    }
    return status;
}

/* ---- lists ---- */

static bool at_end(const struct ty_shell_cursor *c)
{
    static const char *const words[] = {"then", "do", "done", "fi", "else", "elif", "esac", "}"};
    if (c->at >= c->end || *c->at == ')' || (*c->at == ';' && ty_shell_peek(c, 1) == ';')) {
        return true;
    }
    for (size_t i = 0; i < TY_COUNT(words); i++) {
        if (ty_shell_at_word(c, words[i])) {
            return true;
        }
    }
    return false;
}

enum ty_shell_status ty_shell_list(struct ty_shell *sh, struct ty_shell_cursor *c)
{
    enum ty_shell_status status = TY_SHELL_TRUE;
    const bool skip = sh->skip;
    if (++sh->depth > DEPTH) {
        (void)ty_shell_wrong(sh, c, "statements are too deep inside each other");
    }
    while (!sh->ended) {
        ty_shell_blanks(c, true);
        while (c->at < c->end && (*c->at == ';' || *c->at == '&') && !at_end(c)) {
            ty_shell_next(c);
            ty_shell_blanks(c, true);
        }
        if (at_end(c)) {
            break;
        }
        const char *before = c->at;
        sh->spent += STATEMENT;
        status = conditional(sh, c);
        sh->skip = sh->skip || sh->broke || sh->returned; /* the rest is read over */
        if (c->at == before && !sh->ended) {
            (void)ty_shell_wrong(sh, c, "this cannot be read as a statement");
        }
    }
    sh->depth--;
    sh->skip = skip;
    return status;
}

/* ---- files and functions ---- */

void ty_shell_source(struct ty_shell *sh, const struct ty_draft_file *file,
                     const struct ty_shell_words *args)
{
    if (sh->n_files == TY_SHELL_FILES || sh->depth > DEPTH) {
        return;
    }
    struct ty_shell_cursor c = {.at = file->text,
                                .end = file->text + file->len,
                                .line = 1,
                                .col = 1,
                                .file = (uint8_t)sh->n_files};
    const struct ty_shell_words outer = sh->args;
    sh->files[sh->n_files++] = file;
    if (args != NULL) {
        sh->args = *args;
    }
    (void)ty_shell_list(sh, &c);
    if (c.at < c.end && !sh->ended) {
        (void)ty_shell_wrong(sh, &c, "nothing is open here that this would end");
    }
    sh->returned = false;
    if (args != NULL) {
        sh->args = outer;
    }
}

enum ty_shell_status ty_shell_function_call(struct ty_shell *sh,
                                            const struct ty_shell_function *function,
                                            const struct ty_shell_words *words)
{
    struct ty_shell_cursor c = function->body;
    const struct ty_shell_words outer = sh->args;
    enum ty_shell_status status = TY_SHELL_TRUE;
    if (sh->depth > DEPTH) {
        return TY_SHELL_PROGRAM; /* it calls itself */
    }
    sh->args = (struct ty_shell_words){.item = words->item + 1, .n = words->n - 1};
    (void)ty_shell_compound(sh, &c, &status);
    sh->args = outer;
    sh->returned = false;
    return status;
}

void ty_shell_run(struct ty_shell *sh, const struct ty_draft_file *file)
{
    /* what is behind --env 1=..., 2=... */
    for (uint32_t i = sh->args.n + 1; i < 100; i++) {
        const char *name = ty_draft_text(sh->draft, "%u", (unsigned)i);
        const char *given = ty_draft_env(sh->draft, name);
        if (given == NULL) {
            break;
        }
        struct ty_shell_text text = {.len = 0};
        const struct ty_shell_mark mark = {.line = 0};
        ty_shell_puts(sh, &text, given, strlen(given), mark);
        ty_shell_add_word(sh, &sh->args, &text);
    }
    ty_shell_source(sh, file, NULL);
}
