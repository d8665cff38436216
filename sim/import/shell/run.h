/* run.h - what the files about statements share. */
#ifndef TY_IMPORT_SHELL_RUN_H
#define TY_IMPORT_SHELL_RUN_H

#include "sim/import/shell/shell.h"

/* Whether what comes is executed, read over, or may be executed (`why`). */
struct ty_shell_mode {
    bool skip;
    uint16_t doubt;
};
static inline struct ty_shell_mode ty_shell_mode(const struct ty_shell *sh)
{
    return (struct ty_shell_mode){.skip = sh->skip, .doubt = sh->doubt};
}
static inline void ty_shell_set_mode(struct ty_shell *sh, struct ty_shell_mode mode)
{
    sh->skip = mode.skip;
    sh->doubt = mode.doubt;
}
/* As a condition that ended so lets it; `holds` is the status that does. */
void ty_shell_below(struct ty_shell *sh, enum ty_shell_status status, enum ty_shell_status holds);

/* A status that an `if` asks for: what a program answers is not known. */
enum ty_shell_status ty_shell_decided(struct ty_shell *sh, enum ty_shell_status status,
                                      struct ty_shell_mark at);

/* statement.c: assignments, words, redirections. */
enum ty_shell_status ty_shell_simple(struct ty_shell *sh, struct ty_shell_cursor *c);
/* A redirection at the cursor, if there is one: of statements as a whole. */
bool ty_shell_redirection(struct ty_shell *sh, struct ty_shell_cursor *c, struct ty_shell_text *in,
                          bool *has_in, const char **to, bool *append);
/* Behind the word at the cursor, unread. */
void ty_shell_skip_word(struct ty_shell *sh, struct ty_shell_cursor *c);
bool ty_shell_at_redirection(const struct ty_shell_cursor *c);

/* compound.c: if, for, while, case, [[ ]], (( )), functions, groups; false: none is there. */
bool ty_shell_compound(struct ty_shell *sh, struct ty_shell_cursor *c,
                       enum ty_shell_status *status);

#endif
