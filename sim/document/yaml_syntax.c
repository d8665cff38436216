/* yaml_syntax.c - libyaml says what its grammar expected; here is what the user did, and what would
 * be right. The problems are sentences of parser.c and scanner.c of libyaml 0.2.5. */
#include "sim/document/yaml_syntax.h"

#include <stdio.h>
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
     "a second \": \" on a line, a line indented too far, or no blank behind the colon of the line "
     "before; put text with a colon in quotes"},
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

/* The line that ends before `end`, without its blanks; false at the beginning of the text. */
static bool line_before(const char *source, const char *end, const char **begin)
{
    if (end == source) {
        return false;
    }
    const char *p = end - 1; /* its newline */
    while (p > source && p[-1] != '\n') {
        p--;
    }
    *begin = p;
    return true;
}

bool ty_yaml_no_blank(const char *problem, struct ty_place *at, char *said, size_t size)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const char *here = at->source, *before = NULL;
    if (problem == NULL || strncmp(problem, "mapping values", 14) != 0 || here == NULL) {
        return false;
    }
    for (uint32_t line = 1; line < at->line && strchr(here, '\n') != NULL; line++) {
        here = strchr(here, '\n') + 1;
    }
    const size_t indent = strspn(here, " ");
    if (!line_before(at->source, here, &before) || strspn(before, " ") != indent) {
        return false;
    }
    const char *key = before + indent;
    const size_t n = strspn(key, letters), value = strcspn(key, "\r\n");
    if (n == 0 || key[n] != ':' || value <= n + 1 || strchr(" \t", key[n + 1]) != NULL) {
        return false;
    }
    at->line--;
    at->col = (uint32_t)(indent + n) + 1;
    (void)snprintf(said, size, "no blank behind the colon; write \"%.*s: %.*s\"", (int)n, key,
                   (int)(value - n - 1 < 60 ? value - n - 1 : 60), key + n + 1);
    return true;
}

const char *ty_yaml_context(const char *context)
{
    const char *article = strstr(context, " a ");
    return article ? article + 3 : context;
}
