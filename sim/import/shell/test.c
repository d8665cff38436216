/* test.c - [ ], [[ ]] and patterns; see shell.h. A variable that is not set is empty here, as it is
 * in bash: scripts ask that way whether it is. */
#include <string.h>

#include "sim/import/shell/shell.h"

#define NEST 32u

/* ---- patterns ---- */

/* [a-z], [!0-9]: the length of the class, 0 for none. */
static size_t class_of(const char *pattern, char c, bool *holds)
{
    size_t i = 1;
    const bool not = pattern[1] == '!' || pattern[1] == '^';
    bool in = false;
    i += not ;
    for (size_t first = i; pattern[i] != '\0' && (pattern[i] != ']' || i == first); i++) {
        if (pattern[i + 1] == '-' && pattern[i + 2] != ']' && pattern[i + 2] != '\0') {
            in = in || (c >= pattern[i] && c <= pattern[i + 2]);
            i += 2;
        } else {
            in = in || c == pattern[i];
        }
    }
    *holds = in != not ;
    return pattern[i] == ']' ? i + 1 : 0;
}

/* Goes back to the last star only, which is enough for patterns of this kind. */
bool ty_shell_match(const char *pattern, const char *text)
{
    const char *star = NULL, *from = NULL;
    while (*text != '\0') {
        bool holds = false;
        const size_t n = *pattern == '[' ? class_of(pattern, *text, &holds) : 0;
        if (*pattern == '*') {
            star = ++pattern;
            from = text;
        } else if (n > 0 ? holds : (*pattern == '?' || (*pattern == *text && *pattern != '\0'))) {
            pattern += n > 0 ? n : 1;
            text++;
        } else if (star != NULL) {
            pattern = star;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

/* ---- conditions ---- */

struct test {
    struct ty_shell *sh;
    const struct ty_shell_words *words;
    uint32_t at, depth;
    bool brackets; /* [[ ]] */
};

static const char *word(const struct test *t, uint32_t i)
{
    return t->at + i < t->words->n ? ty_shell_string(&t->words->item[t->at + i]) : "";
}

static bool is(const struct test *t, uint32_t i, const char *what)
{
    return t->at + i < t->words->n && strcmp(word(t, i), what) == 0;
}

static enum ty_shell_status truth(bool holds)
{
    return holds ? TY_SHELL_TRUE : TY_SHELL_FALSE;
}

static enum ty_shell_status unknown(struct test *t, uint16_t doubt)
{
    t->sh->why = doubt;
    return TY_SHELL_UNKNOWN;
}

/* A word as it is compared, or the doubt in it. */
static struct ty_shell_text operand(struct test *t, uint32_t i, uint16_t *doubt)
{
    static const struct ty_shell_text none = {.len = 0};
    const struct ty_shell_text settled =
        t->at + i < t->words->n ? ty_shell_settled(t->sh, &t->words->item[t->at + i]) : none;
    *doubt = *doubt != 0 ? *doubt : ty_shell_doubt_of(&settled);
    return settled;
}

static enum ty_shell_status unary(struct test *t)
{
    const char what = word(t, 0)[1];
    uint16_t doubt = 0;
    const struct ty_shell_text value = operand(t, 1, &doubt);
    const struct ty_shell_mark mark = t->words->n > 0 && t->words->item[0].len > 0
                                          ? t->words->item[0].marks[0]
                                          : (struct ty_shell_mark){.line = 0};
    const char *name = word(t, 1);
    t->at += 2;
    if (what == 'v') {
        return truth(ty_shell_value(t->sh, name) != NULL);
    }
    if (what == 'z' || what == 'n') {
        /* what hangs on something is not empty, but for what may not have been said */
        return doubt != 0 && value.len > 0 && value.marks[0].line == 0
                   ? unknown(t, doubt)
                   : truth((value.len == 0) == (what == 'z'));
    }
    return unknown(t,
                   ty_shell_doubt(t->sh, false, "whether -%c %.60s (%s) holds only running tells",
                                  what, name, ty_shell_place_text(t->sh, mark)));
}

static enum ty_shell_status compare_numbers(struct test *t, const char *op)
{
    uint16_t doubt = 0;
    int64_t x = 0, y = 0;
    const struct ty_shell_text a = operand(t, 0, &doubt), b = operand(t, 2, &doubt);
    if (doubt == 0) {
        doubt = ty_shell_arith(t->sh, &a, &x);
    }
    if (doubt == 0) {
        doubt = ty_shell_arith(t->sh, &b, &y);
    }
    t->at += 3;
    if (doubt != 0) {
        return unknown(t, doubt);
    }
    return truth(strcmp(op, "-eq") == 0   ? x == y
                 : strcmp(op, "-ne") == 0 ? x != y
                 : strcmp(op, "-lt") == 0 ? x < y
                 : strcmp(op, "-le") == 0 ? x <= y
                 : strcmp(op, "-gt") == 0 ? x > y
                                          : x >= y);
}

static enum ty_shell_status compare(struct test *t, const char *op)
{
    static const char *const numeric[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    for (size_t i = 0; i < TY_COUNT(numeric); i++) {
        if (strcmp(op, numeric[i]) == 0) {
            return compare_numbers(t, op);
        }
    }
    uint16_t doubt = 0;
    const struct ty_shell_text a = operand(t, 0, &doubt), b = operand(t, 2, &doubt);
    const char *left = ty_shell_string(&a), *right = ty_shell_string(&b);
    const bool equal = t->brackets ? ty_shell_match(right, left) : strcmp(left, right) == 0;
    t->at += 3;
    if (doubt != 0) {
        return unknown(t, doubt);
    }
    if (op[0] == '<' || op[0] == '>') {
        return truth(op[0] == '<' ? strcmp(left, right) < 0 : strcmp(left, right) > 0);
    }
    if (strcmp(op, "=~") == 0) {
        return unknown(t, ty_shell_doubt(t->sh, false, "=~ %.60s is a regular expression", right));
    }
    return truth(equal == (op[0] != '!'));
}

static bool is_binary(const struct test *t)
{
    static const char *const ops[] = {"=",   "==",  "!=",  "=~",  "<",   ">",
                                      "-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    for (size_t i = 0; i < TY_COUNT(ops); i++) {
        if (is(t, 1, ops[i]) && t->at + 2 < t->words->n) {
            return true;
        }
    }
    return false;
}

static enum ty_shell_status either(struct test *t);

static enum ty_shell_status term(struct test *t)
{
    enum ty_shell_status s;
    if (++t->depth > NEST || t->at >= t->words->n) {
        return TY_SHELL_FALSE; /* [ ] of nothing */
    }
    if (is_binary(t)) {
        s = compare(t, word(t, 1));
    } else if (is(t, 0, "!")) {
        t->at++;
        s = term(t);
        s = s == TY_SHELL_UNKNOWN ? s : truth(s == TY_SHELL_FALSE);
    } else if (is(t, 0, "(")) {
        t->at++;
        s = either(t);
        t->at += is(t, 0, ")");
    } else if (word(t, 0)[0] == '-' && word(t, 0)[1] != '\0' && word(t, 0)[2] == '\0' &&
               t->at + 1 < t->words->n) {
        s = unary(t);
    } else {
        uint16_t doubt = 0;
        const struct ty_shell_text value = operand(t, 0, &doubt);
        t->at++;
        s = truth(value.len > 0);
    }
    t->depth--;
    return s;
}

static enum ty_shell_status both(struct test *t)
{
    enum ty_shell_status s = term(t);
    while (is(t, 0, "-a") || is(t, 0, "&&")) {
        t->at++;
        const enum ty_shell_status other = term(t);
        s = s == TY_SHELL_FALSE || other == TY_SHELL_FALSE ? TY_SHELL_FALSE
            : s == TY_SHELL_UNKNOWN                        ? s
                                                           : other;
    }
    return s;
}

static enum ty_shell_status either(struct test *t)
{
    enum ty_shell_status s = both(t);
    while (is(t, 0, "-o") || is(t, 0, "||")) {
        t->at++;
        const enum ty_shell_status other = both(t);
        s = s == TY_SHELL_TRUE || other == TY_SHELL_TRUE ? TY_SHELL_TRUE
            : s == TY_SHELL_UNKNOWN                      ? s
                                                         : other;
    }
    return s;
}

enum ty_shell_status ty_shell_test(struct ty_shell *sh, const struct ty_shell_words *words,
                                   bool double_brackets)
{
    struct test t = {.sh = sh, .words = words, .brackets = double_brackets};
    return either(&t);
}
