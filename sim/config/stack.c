/* stack.c - names the training framework of a run and who chose it. */
#include "sim/config/stack.h"

#include <stdio.h>
#include <string.h>

#include "model/check.h"
#include "model/offload.h"
#include "sim/config/config.h"

bool ty_stack_by_layout(const struct ty_config *config)
{
    return !ty_check_given(&config->sections[TY_SECTION_FRAMEWORK], "preset") &&
           strcmp(config->layout.framework.preset, ty_offload_framework(TY_OFFLOAD_NONE, 0)) != 0;
}

char *ty_stack_words(const struct ty_config *config, char buf[TY_STACK_WORDS])
{
    const struct ty_layout *layout = &config->layout;
    if (ty_stack_by_layout(config)) {
        (void)snprintf(buf, TY_STACK_WORDS, "%s (not named; layout.zero is %u)",
                       layout->framework.preset, (unsigned)layout->zero);
    } else {
        (void)snprintf(buf, TY_STACK_WORDS, "%s", layout->framework.preset);
    }
    return buf;
}
