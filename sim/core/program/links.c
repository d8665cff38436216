/* links.c - the words of the closed list in links.h. */
#include "sim/core/program/links.h"

static const struct {
    const char *title, *key;
} classes[] = {
#define X(id, title, key) {title, key},
    TY_LINK_CLASSES(X)
#undef X
};

const char *ty_link_class_title(enum ty_link_class class)
{
    return classes[class].title;
}

const char *ty_link_class_key(enum ty_link_class class)
{
    return classes[class].key;
}
