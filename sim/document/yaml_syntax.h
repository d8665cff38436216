/* yaml_syntax.h - what libyaml says of wrong syntax, in words of the user. */
#ifndef TY_DOCUMENT_YAML_SYNTAX_H
#define TY_DOCUMENT_YAML_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/err.h"

#endif
