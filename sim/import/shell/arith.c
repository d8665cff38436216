/* arith.c - arithmetic of bash, in 64 bits; see shell.h. Division by zero and numbers that are none
 * are in doubt like what is not set. */
#include <string.h>

#include "sim/import/shell/shell.h"

#define NEST 64u

struct arith {
    struct ty_shell *sh;
    const struct ty_shell_text *text;
    uint32_t at;
    uint16_t doubt;
    uint32_t depth;
};

static char peek(const struct arith *a, uint32_t i)
{
    return a->at + i < a->text->len ? a->text->bytes[a->at + i] : '\0';
}

static void blanks(struct arith *a)
{
    while (peek(a, 0) != '\0' && strchr(" \t\r\n\"", peek(a, 0)) != NULL) {
        a->at++;
    }
}

static void doubt(struct arith *a, const char *what)
{
    if (a->doubt == 0) {
        const struct ty_shell_mark mark =
            a->text->len > 0 ? a->text->marks[0] : (struct ty_shell_mark){.line = 0};
        a->doubt = ty_shell_doubt(a->sh, false, "%.60s (%s) %s", ty_shell_string(a->text),
                                  ty_shell_place_text(a->sh, mark), what);
    }
}

static bool take(struct arith *a, const char *word)
{
    blanks(a);
    const size_t n = strlen(word);
    if (a->text->len - a->at < n || memcmp(a->text->bytes + a->at, word, n) != 0) {
        return false;
    }
    /* "<" is not the beginning of "<=", nor "&" of "&&" */
    const char next = peek(a, (uint32_t)n);
    if (n == 1 && ((next == '=' && strchr("<>!=+-*/%", word[0]) != NULL) ||
                   (next == word[0] && strchr("<>&|*", word[0]) != NULL))) {
        return false;
    }
    a->at += (uint32_t)n;
    return true;
}

static int64_t choice(struct arith *a);

/* A variable by its name, or 0 where it is not set, as bash has it; but that is a doubt here. */
static int64_t variable(struct arith *a)
{
    const uint32_t begin = a->at;
    while (peek(a, 0) == '_' || (peek(a, 0) >= '0' && peek(a, 0) <= '9') ||
           (peek(a, 0) >= 'a' && peek(a, 0) <= 'z') || (peek(a, 0) >= 'A' && peek(a, 0) <= 'Z')) {
        a->at++;
    }
    const char *name =
        ty_draft_text(a->sh->draft, "%.*s", (int)(a->at - begin), a->text->bytes + begin);
    const struct ty_shell_text *value = ty_shell_value(a->sh, name);
    int64_t number = 0;
    if (value == NULL) {
        if (a->doubt == 0) {
            a->doubt =
                ty_shell_doubt(a->sh, true, "%s is not set (%s); give it with --env %s=VALUE", name,
                               ty_shell_place_text(a->sh, a->text->marks[begin]), name);
        }
        return 0;
    }
    if (a->depth < NEST) { /* its value is an expression, too */
        a->sh->depth++;
        const uint16_t inner = a->sh->depth < NEST ? ty_shell_arith(a->sh, value, &number) : 1;
        a->sh->depth--;
        a->doubt = a->doubt != 0 ? a->doubt : inner;
    }
    return number;
}

static int64_t number(struct arith *a)
{
    int64_t value = 0;
    bool fits = true;
    while (peek(a, 0) >= '0' && peek(a, 0) <= '9') {
        fits = fits && value <= (INT64_MAX - 9) / 10;
        value = fits ? 10 * value + (peek(a, 0) - '0') : 0;
        a->at++;
    }
    if (!fits || peek(a, 0) == '.') {
        doubt(a, "has a number that bash does not");
        while (peek(a, 0) == '.' || (peek(a, 0) >= '0' && peek(a, 0) <= '9')) {
            a->at++;
        }
    }
    return value;
}

static int64_t primary(struct arith *a);

/* -x, +x, !x */
static int64_t signed_one(struct arith *a, char sign)
{
    a->at++;
    const int64_t value = primary(a);
    if (sign == '!') {
        return !value;
    }
    return sign == '+' ? value : value == INT64_MIN ? 0 : -value;
}

static int64_t bracketed(struct arith *a)
{
    a->at++;
    const int64_t value = choice(a);
    if (!take(a, ")")) {
        doubt(a, "is not closed");
    }
    return value;
}

static int64_t primary(struct arith *a)
{
    blanks(a);
    const char c = peek(a, 0);
    int64_t value = 0;
    if (++a->depth > NEST) {
        doubt(a, "is too deep");
        a->at = a->text->len;
    } else if (c == '(') {
        value = bracketed(a);
    } else if (c != '\0' && strchr("-+!", c) != NULL) {
        value = signed_one(a, c);
    } else if (c >= '0' && c <= '9') {
        value = number(a);
    } else if (c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        value = variable(a);
    } else {
        doubt(a, "is no arithmetic");
        a->at = a->text->len;
    }
    a->depth--;
    return value;
}

/* Rows bind tighter downwards. */
static const char *const levels[][5] = {
    {"||", NULL},       {"&&", NULL},     {"==", "!=", NULL}, {"<=", ">=", "<", ">", NULL},
    {"<<", ">>", NULL}, {"+", "-", NULL}, {"**", NULL},       {"*", "/", "%", NULL},
};

static int64_t power(struct arith *a, int64_t x, int64_t n)
{
    int64_t value = 1;
    for (int64_t i = 0; i < n && i < 64; i++) {
        if (__builtin_mul_overflow(value, x, &value)) {
            doubt(a, "is too large");
            return 0;
        }
    }
    return value;
}

static int64_t compare(const char *op, int64_t x, int64_t y)
{
    switch (op[0]) {
    case '|':
        return x || y;
    case '&':
        return x && y;
    case '=':
        return x == y;
    case '!':
        return x != y;
    case '<':
        return op[1] == '=' ? x <= y : x < y;
    default:
        return op[1] == '=' ? x >= y : x > y;
    }
}

static int64_t shifted(const char *op, int64_t x, int64_t y)
{
    const bool fits = y >= 0 && y < 32 && x >= 0 && x < 1ll << 31;
    return !fits ? 0 : op[0] == '<' ? x << y : x >> y;
}

static int64_t divided(struct arith *a, const char *op, int64_t x, int64_t y)
{
    if (y == 0 || (y == -1 && x == INT64_MIN)) {
        doubt(a, "divides by zero");
        return 0;
    }
    return op[0] == '/' ? x / y : x % y;
}

static int64_t apply(struct arith *a, const char *op, int64_t x, int64_t y)
{
    int64_t value = 0;
    bool over = false;
    if (strcmp(op, "<<") == 0 || strcmp(op, ">>") == 0) {
        return shifted(op, x, y);
    }
    if (strcmp(op, "**") == 0) {
        return power(a, x, y);
    }
    switch (op[0]) {
    case '+':
        over = __builtin_add_overflow(x, y, &value);
        break;
    case '-':
        over = __builtin_sub_overflow(x, y, &value);
        break;
    case '*':
        over = __builtin_mul_overflow(x, y, &value);
        break;
    case '/':
    case '%':
        return divided(a, op, x, y);
    default:
        return compare(op, x, y);
    }
    if (over) {
        doubt(a, "is too large");
    }
    return value;
}

static int64_t level(struct arith *a, size_t l)
{
    if (l == TY_COUNT(levels)) {
        return primary(a);
    }
    int64_t x = level(a, l + 1);
    for (size_t i = 0; levels[l][i] != NULL && !a->sh->ended;) {
        if (take(a, levels[l][i])) {
            const int64_t y = level(a, l + 1);
            x = apply(a, levels[l][i], x, y);
            i = 0;
        } else {
            i++;
        }
    }
    return x;
}

static int64_t choice(struct arith *a)
{
    const int64_t condition = level(a, 0);
    if (!take(a, "?")) {
        return condition;
    }
    const int64_t yes = choice(a);
    const int64_t no = take(a, ":") ? choice(a) : 0;
    return condition ? yes : no;
}

uint16_t ty_shell_arith(struct ty_shell *sh, const struct ty_shell_text *expression, int64_t *value)
{
    struct arith a = {.sh = sh, .text = expression, .doubt = ty_shell_doubt_of(expression)};
    *value = 0;
    if (a.doubt != 0) {
        return a.doubt;
    }
    blanks(&a);
    if (a.at == expression->len) {
        return 0; /* nothing is 0 */
    }
    *value = choice(&a);
    blanks(&a);
    if (a.at < expression->len) {
        doubt(&a, "is no arithmetic");
    }
    return a.doubt;
}
