/* links.c - the words of the closed list in links.h. */
#include "sim/core/links.h"

const char *ty_link_class_word(enum ty_link_class class)
{
    static const char *const words[] = {
#define X(id, word) word,
        TY_LINK_CLASSES(X)
#undef X
    };
    return words[class];
}
