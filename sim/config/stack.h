/* stack.h - the training stack of a run, and who chose it, in the words of all outputs. */
#ifndef TY_CONFIG_STACK_H
#define TY_CONFIG_STACK_H

#include <stdbool.h>
#include <stddef.h>

struct ty_config;

/* Whether nobody named the stack and the layout left no choice: framework.preset is not the one
 * that every other job without a name gets. */
bool ty_stack_by_layout(const struct ty_config *config);

/* "megatron-lm"; where nobody named it and it is not the usual one, "fsdp (not named; layout.zero
 * is 3)". Returns buf. */
#define TY_STACK_WORDS 96
char *ty_stack_words(const struct ty_config *config, char buf[TY_STACK_WORDS]);

#endif
