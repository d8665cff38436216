/* yaml_syntax.h - what libyaml says of wrong syntax, in words of the user. */
#ifndef TY_BASE_YAML_SYNTAX_H
#define TY_BASE_YAML_SYNTAX_H

/* What is wrong, and what would be right, for a problem that libyaml names; the problem itself when
 * it is one of the rare ones. NULL is answered, too. */
const char *ty_yaml_problem(const char *problem);

/* What libyaml was in: "while parsing a block mapping" is about a block mapping. */
const char *ty_yaml_context(const char *context);

#endif
