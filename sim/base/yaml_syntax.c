/* yaml_syntax.c - libyaml says what its grammar expected; here is what the user did, and what would
 * be right. The problems are sentences of parser.c and scanner.c of libyaml 0.2.5. */
#include "sim/base/yaml_syntax.h"

#include <stddef.h>
#include <string.h>

#include "sim/base/compiler.h"

static const struct {
    const char *problem, *words;
} syntax_words[] = {
    {"did not find expected key",
     "indented differently from its neighbours; keys of one mapping begin in one column"},
    {"did not find expected '-' indicator",
     "no item of the list above; begin it with \"- \", or end the list by indenting less"},
    {"did not find expected ',' or '}'",
     "a { is not closed; write a comma between entries and } at the end"},
    {"did not find expected ',' or ']'",
     "a [ is not closed; write a comma between items and ] at the end"},
    {"found unexpected end of stream", "a quote that is not closed; write it at the end, too"},
    {"mapping values are not allowed in this context",
     "a second \": \" on a line, or a line indented too far; put text with a colon in quotes"},
    {"could not find expected ':'", "a line without a colon; write key: value"},
    {"did not find expected node content",
     "a value is missing, or a bracket before it is not closed"},
    {"found character that cannot start any token",
     "a value cannot begin with this character; put it in quotes"},
    {"did not find expected <document start>", "text behind the end of the value; remove it"},
    {"found unknown escape character",
     "a backslash that begins no escape; write it twice, or use single quotes"},
    {"block sequence entries are not allowed in this context",
     "a list cannot begin here; write its \"- \" on a line of its own"},
};

const char *ty_yaml_problem(const char *problem)
{
    for (size_t i = 0; problem && i < TY_COUNT(syntax_words); i++) {
        if (strcmp(problem, syntax_words[i].problem) == 0) {
            return syntax_words[i].words;
        }
    }
    return problem ? problem : "not YAML; write \"key: value\" lines";
}

const char *ty_yaml_context(const char *context)
{
    const char *article = strstr(context, " a ");
    return article ? article + 3 : context;
}
