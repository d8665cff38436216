/* compound.c - if, for, while, case, functions, groups, [[ ]] and (( )); see shell.h. */
#include <string.h>

#include "sim/import/shell/param.h"
#include "sim/import/shell/run.h"

#define ROUNDS 1000u /* of a loop */

static void take(struct ty_shell *sh, struct ty_shell_cursor *c, const char *word)
{
    ty_shell_blanks(c, true);
    while (c->at < c->end && *c->at == ';' && ty_shell_peek(c, 1) != ';') {
        ty_shell_next(c);
        ty_shell_blanks(c, true);
    }
    if (sh->ended) {
        return;
    }
    if (!ty_shell_at_word(c, word)) {
        (void)ty_shell_wrong(sh, c, ty_draft_text(sh->draft, "%s is missing here", word));
        return;
    }
    for (size_t i = 0; i < strlen(word); i++) {
        ty_shell_next(c);
    }
}

/* ---- if ---- */

static enum ty_shell_status read_if(struct ty_shell *sh, struct ty_shell_cursor *c)
{
    const struct ty_shell_mode outer = ty_shell_mode(sh);
    struct ty_shell_mode rest = outer; /* of branches that are still to come */
    const char *word = "if";
    do {
        const struct ty_shell_mark at = ty_shell_here(sh, c);
        take(sh, c, word);
        ty_shell_set_mode(sh, rest);
        const enum ty_shell_status status = ty_shell_decided(sh, ty_shell_list(sh, c), at);
        take(sh, c, "then");
        ty_shell_below(sh, status, TY_SHELL_TRUE);
        if (!rest.skip) { /* else nothing was asked */
            rest.doubt = status == TY_SHELL_UNKNOWN ? sh->why : rest.doubt;
            rest.skip = status == TY_SHELL_TRUE;
        }
        (void)ty_shell_list(sh, c);
        word = "elif";
        ty_shell_blanks(c, true);
    } while (!sh->ended && ty_shell_at_word(c, word));
    ty_shell_set_mode(sh, rest);
    if (ty_shell_at_word(c, "else")) {
        take(sh, c, "else");
        (void)ty_shell_list(sh, c);
    }
    ty_shell_set_mode(sh, outer);
    take(sh, c, "fi");
    return TY_SHELL_TRUE;
}

/* ---- loops ---- */

/* The body, once; the cursor behind it. */
static void read_body(struct ty_shell *sh, struct ty_shell_cursor *c)
{
    take(sh, c, "do");
    (void)ty_shell_list(sh, c);
    take(sh, c, "done");
    sh->broke = false;
}

static void skip_body(struct ty_shell *sh, struct ty_shell_cursor *c)
{
    const bool skip = sh->skip;
    sh->skip = true;
    read_body(sh, c);
    sh->skip = skip;
}

static void too_many(struct ty_shell *sh, const struct ty_shell_cursor *c)
{
    (void)ty_shell_wrong(
        sh, c, ty_draft_text(sh->draft, "a loop of more than %u rounds is not followed", ROUNDS));
}

/* for NAME in words */
static void each_word(struct ty_shell *sh, struct ty_shell_cursor *c, const char *name,
                      const struct ty_shell_words *words)
{
    const struct ty_shell_cursor body = *c;
    skip_body(sh, c);
    if (words->n > ROUNDS) {
        too_many(sh, &body);
    }
    for (uint32_t i = 0; i < words->n && !sh->skip && !sh->ended; i++) {
        struct ty_shell_cursor again = body;
        const uint16_t doubt = sh->doubt, why = ty_shell_doubt_of(&words->item[i]);
        sh->doubt = why != 0 ? why : doubt;
        ty_shell_assign(sh, name, &words->item[i], false);
        take(sh, &again, "do");
        (void)ty_shell_list(sh, &again);
        sh->doubt = doubt;
        if (sh->broke) {
            sh->broke = false; /* of break and continue, both: one round is what counts here */
        }
    }
}

/* += and its kin. */
static bool changes(const char *op)
{
    return op[0] != '\0' && strchr("+-*/%", op[0]) != NULL && op[1] == '=';
}

/* NAME=x, NAME+=x, NAME++ at the beginning of a text: as an expression for the new value. */
static const char *assigned(struct ty_shell *sh, const struct ty_shell_text *text,
                            struct ty_shell_text *expression)
{
    const char *bytes = ty_shell_string(text);
    const size_t begin = strspn(bytes, " \t\n");
    size_t n = 0;
    while (ty_shell_is_name(bytes[begin + n], n == 0)) {
        n++;
    }
    size_t at = begin + n;
    at += strspn(bytes + at, " ");
    const char op = bytes[at];
    const bool one = strncmp(bytes + at, "++", 2) == 0 || strncmp(bytes + at, "--", 2) == 0;
    const bool sets = op == '=' && bytes[at + 1] != '=';
    if (n == 0 || !(one || sets || changes(bytes + at))) {
        return NULL;
    }
    const struct ty_shell_mark mark = text->marks[begin];
    const struct ty_shell_text right =
        ty_shell_part(sh, text, (uint32_t)at + (sets ? 1 : 2), text->len);
    if (!sets) {
        ty_shell_puts(sh, expression, bytes + begin, n, mark);
        ty_shell_put(sh, expression, op, mark);
    }
    ty_shell_puts(sh, expression, one ? "1" : "(", 1, mark);
    if (!one) {
        ty_shell_append(sh, expression, &right);
        ty_shell_put(sh, expression, ')', mark);
    }
    return ty_draft_text(sh->draft, "%.*s", (int)n, bytes + begin);
}

/* A statement of for ((a; b; c)), or of (( )); what assigns nothing is a condition. */
static enum ty_shell_status step(struct ty_shell *sh, const struct ty_shell_text *text)
{
    struct ty_shell_text expression = {.len = 0}, result = {.len = 0};
    int64_t value = 0;
    const char *name = assigned(sh, text, &expression);
    const uint16_t doubt = ty_shell_arith(sh, name != NULL ? &expression : text, &value);
    if (name == NULL) {
        sh->why = doubt != 0 ? doubt : sh->why;
        return doubt != 0 ? TY_SHELL_UNKNOWN : value != 0 ? TY_SHELL_TRUE : TY_SHELL_FALSE;
    }
    struct ty_shell_mark mark = text->marks[0];
    mark.doubt = doubt;
    const char *digits = ty_draft_text(sh->draft, "%lld", (long long)value);
    ty_shell_puts(sh, &result, digits, strlen(digits), mark);
    ty_shell_assign(sh, name, &result, false);
    return TY_SHELL_TRUE;
}

/* The text between (( and )); the cursor behind it. */
static struct ty_shell_text between(struct ty_shell *sh, struct ty_shell_cursor *c)
{
    struct ty_shell_text text = {.len = 0};
    ty_shell_next(c);
    ty_shell_next(c);
    struct ty_shell_cursor inner = *c;
    if (!ty_shell_close(c, '(', ')') || ty_shell_peek(c, 0) != ')') {
        (void)ty_shell_wrong(sh, &inner, "(( is not closed; write )) behind it");
        return text;
    }
    inner.end = c->at - 1;
    ty_shell_next(c);
    if (!sh->skip) {
        ty_shell_quoted(sh, &inner, &text);
    }
    return text;
}

static void read_for_numbers(struct ty_shell *sh, struct ty_shell_cursor *c)
{
    const struct ty_shell_text text = between(sh, c);
    struct ty_shell_text part[3] = {{.len = 0}, {.len = 0}, {.len = 0}};
    uint32_t k = 0;
    for (uint32_t i = 0; i < text.len; i++) {
        if (text.bytes[i] == ';') {
            k = k < 2 ? k + 1 : k;
        } else {
            ty_shell_put(sh, &part[k], text.bytes[i], text.marks[i]);
        }
    }
    ty_shell_blanks(c, true);
    while (ty_shell_peek(c, 0) == ';') {
        ty_shell_next(c);
    }
    const struct ty_shell_cursor body = *c;
    skip_body(sh, c);
    if (sh->skip) {
        return;
    }
    (void)step(sh, &part[0]);
    uint32_t rounds = 0;
    for (enum ty_shell_status s = step(sh, &part[1]); s != TY_SHELL_FALSE && !sh->ended;
         s = step(sh, &part[1])) {
        struct ty_shell_cursor again = body;
        const struct ty_shell_mode mode = ty_shell_mode(sh);
        ty_shell_below(sh, s, TY_SHELL_TRUE);
        read_body(sh, &again);
        ty_shell_set_mode(sh, mode);
        (void)step(sh, &part[2]);
        if (s == TY_SHELL_UNKNOWN) {
            return;
        }
        if (++rounds > ROUNDS) {
            too_many(sh, &body);
        }
    }
}

static enum ty_shell_status read_for(struct ty_shell *sh, struct ty_shell_cursor *c)
{
    take(sh, c, "for");
    ty_shell_blanks(c, true);
    if (ty_shell_peek(c, 0) == '(' && ty_shell_peek(c, 1) == '(') {
        read_for_numbers(sh, c);
        return TY_SHELL_TRUE;
    }
    const char *begin = c->at;
    while (c->at < c->end && ty_shell_is_name(*c->at, c->at == begin)) {
        ty_shell_next(c);
    }
    const char *name = ty_draft_text(sh->draft, "%.*s", (int)(c->at - begin), begin);
    struct ty_shell_words words = {.n = 0};
    ty_shell_blanks(c, true);
    if (ty_shell_at_word(c, "in")) {
        take(sh, c, "in");
        for (ty_shell_blanks(c, false);
             c->at < c->end && *c->at != '\n' && *c->at != ';' && !sh->ended;
             ty_shell_blanks(c, false)) {
            if (sh->skip) {
                ty_shell_skip_word(sh, c);
            } else if (!ty_shell_word(sh, c, &words)) {
                break;
            }
        }
    } else {
        words = sh->args;
    }
    each_word(sh, c, name, &words);
    return TY_SHELL_TRUE;
}

static enum ty_shell_status read_while(struct ty_shell *sh, struct ty_shell_cursor *c)
{
    const bool until = ty_shell_at_word(c, "until");
    const struct ty_shell_mark at = ty_shell_here(sh, c);
    const enum ty_shell_status goes_on = until ? TY_SHELL_FALSE : TY_SHELL_TRUE;
    take(sh, c, until ? "until" : "while");
    const struct ty_shell_cursor condition = *c;
    const bool skip = sh->skip;
    for (uint32_t rounds = 0; !sh->ended; rounds++) {
        *c = condition;
        const struct ty_shell_mode mode = ty_shell_mode(sh);
        const enum ty_shell_status status = ty_shell_decided(sh, ty_shell_list(sh, c), at);
        ty_shell_below(sh, status, goes_on);
        const bool last = sh->skip || status == TY_SHELL_UNKNOWN;
        take(sh, c, "do");
        (void)ty_shell_list(sh, c);
        take(sh, c, "done");
        const bool broke = sh->broke;
        sh->broke = false;
        ty_shell_set_mode(sh, mode);
        if (last || broke || skip || sh->returned) {
            return TY_SHELL_TRUE;
        }
        if (rounds >= ROUNDS) {
            too_many(sh, &condition);
        }
    }
    return TY_SHELL_TRUE;
}

/* ---- case ---- */

/* Whether a pattern of the list up to ) fits. */
static bool read_patterns(struct ty_shell *sh, struct ty_shell_cursor *c, const char *word)
{
    bool fits = false;
    if (ty_shell_peek(c, 0) == '(') {
        ty_shell_next(c);
    }
    for (ty_shell_blanks(c, false); c->at < c->end && *c->at != ')' && !sh->ended;
         ty_shell_blanks(c, false)) {
        struct ty_shell_text pattern = {.len = 0};
        const char *before = c->at;
        if (*c->at == '|') {
            ty_shell_next(c);
        } else if (sh->skip) {
            ty_shell_skip_word(sh, c);
        } else if (ty_shell_value_word(sh, c, &pattern)) {
            fits = fits || ty_shell_match(ty_shell_string(&pattern), word);
        }
        if (c->at == before) {
            (void)ty_shell_wrong(sh, c, "this cannot be a pattern of case");
        }
    }
    if (c->at < c->end) {
        ty_shell_next(c);
    }
    return fits;
}

static enum ty_shell_status read_case(struct ty_shell *sh, struct ty_shell_cursor *c)
{
    struct ty_shell_text raw = {.len = 0};
    take(sh, c, "case");
    ty_shell_blanks(c, true);
    if (sh->skip) {
        ty_shell_skip_word(sh, c);
    } else {
        (void)ty_shell_value_word(sh, c, &raw);
    }
    const struct ty_shell_text word = ty_shell_settled(sh, &raw);
    const uint16_t doubt = ty_shell_doubt_of(&word);
    const struct ty_shell_mode outer = ty_shell_mode(sh);
    bool found = false;
    take(sh, c, "in");
    for (ty_shell_blanks(c, true); !sh->ended && c->at < c->end && !ty_shell_at_word(c, "esac");
         ty_shell_blanks(c, true)) {
        const bool fits = read_patterns(sh, c, ty_shell_string(&word));
        sh->doubt = doubt != 0 ? doubt : sh->doubt;
        sh->skip = sh->skip || (doubt == 0 && (found || !fits));
        (void)ty_shell_list(sh, c);
        ty_shell_set_mode(sh, outer);
        found = found || fits;
        while (ty_shell_peek(c, 0) == ';' || ty_shell_peek(c, 0) == '&') {
            ty_shell_next(c);
        }
    }
    take(sh, c, "esac");
    return TY_SHELL_TRUE;
}

/* ---- [[ ]], functions, groups ---- */

static enum ty_shell_status read_test(struct ty_shell *sh, struct ty_shell_cursor *c)
{
    struct ty_shell_words words = {.n = 0};
    bool expression = false; /* what comes is a regular one */
    take(sh, c, "[[");
    for (ty_shell_blanks(c, true); c->at < c->end && !ty_shell_at_word(c, "]]") && !sh->ended;
         ty_shell_blanks(c, true)) {
        struct ty_shell_text word = {.len = 0};
        const char now = *c->at;
        if (expression || sh->skip) {
            while (c->at < c->end && strchr(" \t\n", *c->at) == NULL) {
                ty_shell_put(sh, &word, *c->at, ty_shell_here(sh, c));
                ty_shell_next(c);
            }
        } else if (strchr("&|()<>;", now) != NULL) {
            const bool two = (now == '&' || now == '|') && ty_shell_peek(c, 1) == now;
            for (int i = 0; i < 1 + two; i++) {
                ty_shell_put(sh, &word, *c->at, ty_shell_here(sh, c));
                ty_shell_next(c);
            }
        } else {
            (void)ty_shell_value_word(sh, c, &word);
        }
        expression = word.len == 2 && memcmp(word.bytes, "=~", 2) == 0;
        ty_shell_add_word(sh, &words, &word);
    }
    take(sh, c, "]]");
    return sh->skip || sh->ended ? TY_SHELL_TRUE : ty_shell_test(sh, &words, true);
}

/* NAME() or function NAME: where its body begins is noted. */
static bool read_function(struct ty_shell *sh, struct ty_shell_cursor *c)
{
    struct ty_shell_cursor look = *c;
    const bool word = ty_shell_at_word(&look, "function");
    if (word) {
        take(sh, &look, "function");
        ty_shell_blanks(&look, false);
    }
    const char *begin = look.at;
    while (look.at < look.end && (ty_shell_is_name(*look.at, false) || *look.at == '-')) {
        ty_shell_next(&look);
    }
    const char *name = ty_draft_text(sh->draft, "%.*s", (int)(look.at - begin), begin);
    ty_shell_blanks(&look, false);
    const bool brackets = ty_shell_peek(&look, 0) == '(' && ty_shell_peek(&look, 1) == ')';
    if (name[0] == '\0' || (!word && !brackets)) {
        return false;
    }
    if (brackets) {
        ty_shell_next(&look);
        ty_shell_next(&look);
    }
    ty_shell_blanks(&look, true);
    *c = look;
    void *items = sh->functions;
    if (!sh->skip &&
        ty_shell_grow(sh, &items, sh->n_functions, &sh->cap_functions, sizeof(sh->functions[0]))) {
        sh->functions = items;
        sh->functions[sh->n_functions++] = (struct ty_shell_function){.name = name, .body = look};
    }
    const bool skip = sh->skip;
    enum ty_shell_status status;
    sh->skip = true;
    if (!ty_shell_compound(sh, c, &status)) {
        (void)ty_shell_wrong(sh, c, "a function has no body; write { behind its name");
    }
    sh->skip = skip;
    return true;
}

static enum ty_shell_status read_group(struct ty_shell *sh, struct ty_shell_cursor *c, char close)
{
    ty_shell_next(c);
    const enum ty_shell_status status = ty_shell_list(sh, c);
    ty_shell_blanks(c, true);
    if (!sh->ended && ty_shell_peek(c, 0) != close) {
        (void)ty_shell_wrong(sh, c, close == ')' ? ") is missing here" : "} is missing here");
    } else if (c->at < c->end) {
        ty_shell_next(c);
    }
    return status;
}

bool ty_shell_compound(struct ty_shell *sh, struct ty_shell_cursor *c, enum ty_shell_status *status)
{
    static const struct {
        const char *word;
        enum ty_shell_status (*read)(struct ty_shell *sh, struct ty_shell_cursor *c);
    } words[] = {{"if", read_if},       {"for", read_for},   {"while", read_while},
                 {"until", read_while}, {"case", read_case}, {"[[", read_test}};
    for (size_t i = 0; i < TY_COUNT(words); i++) {
        if (ty_shell_at_word(c, words[i].word)) {
            *status = words[i].read(sh, c);
            return true;
        }
    }
    if (ty_shell_peek(c, 0) == '(' && ty_shell_peek(c, 1) == '(') {
        const struct ty_shell_text text = between(sh, c);
        *status = sh->skip || sh->ended ? TY_SHELL_TRUE : step(sh, &text);
        return true;
    }
    if (ty_shell_peek(c, 0) == '(' || ty_shell_at_word(c, "{")) {
        *status = read_group(sh, c, *c->at == '(' ? ')' : '}');
        return true;
    }
    *status = TY_SHELL_TRUE;
    return read_function(sh, c);
}
