/* param.h - what dollar.c and param.c share. */
#ifndef TY_IMPORT_SHELL_PARAM_H
#define TY_IMPORT_SHELL_PARAM_H

#include "sim/import/shell/shell.h"

/* ${...} with its operators; the cursor is at the dollar. */
void ty_shell_braces(struct ty_shell *shell, struct ty_shell_cursor *c, struct ty_shell_text *text,
                     struct ty_shell_words *items);

void ty_shell_put_unset(struct ty_shell *shell, struct ty_shell_text *text, const char *name,
                        struct ty_shell_mark mark);
bool ty_shell_is_name(char c, bool first);
bool ty_shell_special(struct ty_shell *shell, char what, struct ty_shell_text *text,
                      struct ty_shell_words *items, struct ty_shell_mark mark);
const struct ty_shell_text *ty_shell_argument(struct ty_shell *shell, uint32_t number);

#endif
