/* cursor.c - a place in a script, and how it moves; see shell.h. */
#include <string.h>

#include "sim/import/shell/shell.h"

struct ty_shell_mark ty_shell_here(const struct ty_shell *sh, const struct ty_shell_cursor *c)
{
    (void)sh;
    return (struct ty_shell_mark){
        .line = c->line & 0xffffff, .file = c->file, .col = (uint16_t)(c->col & 0xffff)};
}

void ty_shell_next(struct ty_shell_cursor *c)
{
    if (*c->at != '\n') {
        c->at++;
        c->col++;
        return;
    }
    c->at++;
    c->line++;
    c->col = 1;
    if (c->here != NULL) { /* over the here-documents of the line that ended */
        c->at = c->here;
        c->line = c->here_line;
        c->here = NULL;
    }
}

void ty_shell_blanks(struct ty_shell_cursor *c, bool lines)
{
    while (c->at < c->end) {
        const char now = *c->at;
        if (now == ' ' || now == '\t' || now == '\r' || (lines && now == '\n')) {
            ty_shell_next(c);
        } else if (now == '\\' && ty_shell_peek(c, 1) == '\n') {
            ty_shell_next(c);
            ty_shell_next(c);
        } else if (now == '\\' && ty_shell_peek(c, 1) == '\r' && ty_shell_peek(c, 2) == '\n') {
            ty_shell_next(c);
            ty_shell_next(c);
            ty_shell_next(c);
        } else if (now == '#') {
            while (c->at < c->end && *c->at != '\n') {
                ty_shell_next(c);
            }
        } else {
            return;
        }
    }
}

bool ty_shell_at_word(const struct ty_shell_cursor *c, const char *word)
{
    const size_t n = strlen(word);
    if ((size_t)(c->end - c->at) < n || strncmp(c->at, word, n) != 0) {
        return false;
    }
    const char behind = ty_shell_peek(c, (uint32_t)n);
    return behind == '\0' || strchr(" \t\r\n;|&()<>", behind) != NULL;
}

bool ty_shell_close(struct ty_shell_cursor *c, char open, char close)
{
    uint32_t depth = 1;
    while (c->at < c->end) {
        const char now = *c->at;
        if (now == '\\' && c->at + 1 < c->end) {
            ty_shell_next(c);
        } else if (now == '\'' || now == '"') {
            ty_shell_next(c);
            while (c->at < c->end && *c->at != now) {
                if (*c->at == '\\' && now == '"' && c->at + 1 < c->end) {
                    ty_shell_next(c);
                }
                ty_shell_next(c);
            }
            if (c->at >= c->end) {
                return false;
            }
        } else if (now == close && --depth == 0) {
            ty_shell_next(c);
            return true;
        } else if (now == open) {
            depth++;
        }
        ty_shell_next(c);
    }
    return false;
}

int ty_shell_wrong(struct ty_shell *sh, const struct ty_shell_cursor *c, const char *what)
{
    if (!sh->ended) {
        const struct ty_draft_from from = {.word = "",
                                           .at = ty_shell_place(sh, ty_shell_here(sh, c))};
        ty_draft_refuse(sh->draft, &from, "%s", what);
        sh->ended = true;
    }
    return TY_EINPUT;
}
