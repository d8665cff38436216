/* yaml_syntax.h - what libyaml says of wrong syntax, in words of the user. */
#ifndef TY_DOCUMENT_YAML_SYNTAX_H
#define TY_DOCUMENT_YAML_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/err.h"

/* What is wrong, and what would be right, for a problem that libyaml names; the problem itself when
 * it is one of the rare ones. NULL is answered, too. */
const char *ty_yaml_problem(const char *problem);

/* What libyaml was in: "while parsing a block mapping" is about a block mapping. */
const char *ty_yaml_context(const char *context);

/* Whether the problem comes from "key:value" on the line before that at `at`, indented alike: says
 * so, and moves the place there. */
bool ty_yaml_no_blank(const char *problem, struct ty_place *at, char *said, size_t size);

#endif
