/* param.c - ${...}: arrays, lengths, defaults, what is cut off or replaced; see shell.h. */
#include "sim/import/shell/param.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/number_text.h"

#define NAME_MAX_LEN 200u

/* A parameter under way. */
struct param {
    struct ty_shell *sh;
    struct ty_shell_mark mark;
    char name[NAME_MAX_LEN];
    char key[NAME_MAX_LEN]; /* of an array: "@", "*" or that of an item; "": none */
    struct ty_shell_text value;
    bool set;
    struct ty_shell_words all; /* of [@] and [*] */
};

static void add_key(struct param *p, const struct ty_shell_text *subscript)
{
    struct ty_shell_var *var = ty_shell_var(p->sh, p->name, false);
    const char *key = ty_shell_string(subscript);
    int64_t number;
    char digits[32];
    for (uint32_t i = 0; var != NULL && i < var->n_items; i++) {
        if (strcmp(var->items[i].key, key) == 0) {
            (void)snprintf(p->key, sizeof(p->key), "%.*s", (int)sizeof(p->key) - 1, key);
            return;
        }
    }
    if (ty_shell_arith(p->sh, subscript, &number) == 0) { /* a name, or 1 + 1 */
        if (number < 0 && var != NULL) {
            number += var->n_items;
        }
        (void)snprintf(digits, sizeof(digits), "%lld", (long long)number);
        key = digits;
    }
    (void)snprintf(p->key, sizeof(p->key), "%.*s", (int)sizeof(p->key) - 1, key);
}

/* [subscript], quoted or not; false: it is not closed. */
static bool read_subscript(struct param *p, struct ty_shell_cursor *c)
{
    struct ty_shell_text subscript = {.len = 0};
    ty_shell_next(c);
    struct ty_shell_cursor inner = *c;
    if (!ty_shell_close(c, '[', ']')) {
        return false;
    }
    inner.end = c->at - 1;
    while (inner.at < inner.end && (*inner.at == '"' || *inner.at == '\'')) {
        ty_shell_next(&inner);
    }
    while (inner.end > inner.at && (inner.end[-1] == '"' || inner.end[-1] == '\'')) {
        inner.end--;
    }
    ty_shell_quoted(p->sh, &inner, &subscript);
    add_key(p, &subscript);
    return true;
}

/* name, and [subscript] behind it. False: there is no name. */
static bool read_name(struct param *p, struct ty_shell_cursor *c)
{
    size_t n = 0;
    const bool digits = c->at < c->end && *c->at >= '0' && *c->at <= '9';
    while (c->at < c->end && (ty_shell_is_name(*c->at, n == 0 && !digits))) {
        if (n + 1 < sizeof(p->name)) {
            p->name[n++] = *c->at;
        }
        ty_shell_next(c);
    }
    if (n == 0 && c->at < c->end && strchr("@*?$!-", *c->at) != NULL) {
        p->name[n++] = *c->at;
        ty_shell_next(c);
    }
    p->name[n] = '\0';
    return n > 0 && (ty_shell_peek(c, 0) != '[' || read_subscript(p, c));
}

static bool is_all(const struct param *p)
{
    return strcmp(p->key, "@") == 0 || strcmp(p->key, "*") == 0;
}

static void find_item(struct param *p)
{
    const struct ty_shell_var *var = ty_shell_var(p->sh, p->name, false);
    if (var != NULL && var->set && !var->array && strcmp(p->key, "0") == 0) {
        p->value = var->value;
        p->set = true;
    }
    for (uint32_t i = 0; var != NULL && var->array && i < var->n_items; i++) {
        if (strcmp(var->items[i].key, p->key) == 0) {
            p->value = var->items[i].value;
            p->set = true;
        }
    }
}

static void find_all(struct param *p)
{
    const struct ty_shell_var *var = ty_shell_var(p->sh, p->name, false);
    p->set = var != NULL && var->set;
    for (uint32_t i = 0; p->set && var->array && i < var->n_items; i++) {
        ty_shell_add_word(p->sh, &p->all, &var->items[i].value);
    }
    if (p->set && !var->array) {
        ty_shell_add_word(p->sh, &p->all, &var->value);
    }
}

static void find(struct param *p)
{
    const char *digits = p->name;
    uint32_t number = 0;
    if (is_all(p)) {
        find_all(p);
    } else if (p->key[0] != '\0') {
        find_item(p);
    } else if (ty_scan_number(&digits, NULL, 1000, &number) && *digits == '\0' && number > 0) {
        const struct ty_shell_text *value = ty_shell_argument(p->sh, number);
        p->set = value != NULL;
        p->value = value != NULL ? *value : p->value;
    } else if (p->name[1] == '\0' && !ty_shell_is_name(p->name[0], true)) {
        struct ty_shell_words *all = strchr("@*", p->name[0]) != NULL ? &p->all : NULL;
        p->set = ty_shell_special(p->sh, p->name[0], &p->value, all, p->mark);
        (void)snprintf(p->key, sizeof(p->key), "%s", all != NULL ? "@" : "");
    } else {
        const struct ty_shell_text *value = ty_shell_value(p->sh, p->name);
        p->set = value != NULL;
        p->value = value != NULL ? *value : p->value;
    }
}

/* ---- operators ---- */

/* ${name:-word}: what stands for a variable that is not set, or empty. */
static void use_default(struct param *p, struct ty_shell_cursor *c, bool empty_too,
                        struct ty_shell_text *text)
{
    const char operator= * c->at;
    ty_shell_next(c);
    const struct ty_shell_text settled = ty_shell_settled(p->sh, &p->value);
    const bool there = p->set && !(empty_too && settled.len == 0 && p->all.n == 0);
    struct ty_shell_text word = {.len = 0};
    if (operator== '+' ? there : !there) {
        while (c->at < c->end && !p->sh->ended) {
            const struct ty_shell_cursor before = *c;
            if (!ty_shell_value_word(p->sh, c, &word)) { /* blanks and brackets stay */
                ty_shell_put(p->sh, &word, *before.at, ty_shell_here(p->sh, &before));
                ty_shell_next(c);
            }
        }
    }
    if (operator== '?' && !there) {
        ty_shell_put_unset(p->sh, text, p->name, p->mark);
    } else if (operator== '+' || !there) {
        ty_shell_append(p->sh, text, &word);
    } else {
        ty_shell_append(p->sh, text, &p->value);
    }
    if (operator== '=' && !there) {
        ty_shell_assign(p->sh, p->name, &word, false);
    }
}

/* ${name#pattern}, ${name%pattern}: the shortest, doubled the longest, is cut off. */
static void cut(struct param *p, struct ty_shell_cursor *c, struct ty_shell_text *text)
{
    const char side = *c->at;
    ty_shell_next(c);
    const bool longest = ty_shell_peek(c, 0) == side;
    if (longest) {
        ty_shell_next(c);
    }
    struct ty_shell_text pattern = {.len = 0};
    ty_shell_quoted(p->sh, c, &pattern);
    const uint32_t n = p->value.len;
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i <= n && !p->sh->ended; i++) {
        const uint32_t k = longest ? n - i : i; /* bytes that are cut */
        const struct ty_shell_text part =
            ty_shell_part(p->sh, &p->value, side == '#' ? 0 : n - k, k);
        if (ty_shell_match(ty_shell_string(&pattern), ty_shell_string(&part))) {
            best = k;
            break;
        }
    }
    const uint32_t off = best != UINT32_MAX ? best : 0;
    const struct ty_shell_text rest =
        ty_shell_part(p->sh, &p->value, side == '#' ? off : 0, n - off);
    ty_shell_append(p->sh, text, &rest);
}

/* ${name/pattern/word}: the first, or with // all; patterns stand for themselves. */
static void replace(struct param *p, struct ty_shell_cursor *c, struct ty_shell_text *text)
{
    ty_shell_next(c);
    const bool all = ty_shell_peek(c, 0) == '/';
    if (all) {
        ty_shell_next(c);
    }
    struct ty_shell_text pattern = {.len = 0}, word = {.len = 0};
    struct ty_shell_cursor middle = *c;
    while (middle.at < middle.end && *middle.at != '/') {
        ty_shell_next(&middle);
    }
    struct ty_shell_cursor first = *c;
    first.end = middle.at;
    ty_shell_quoted(p->sh, &first, &pattern);
    *c = middle;
    if (c->at < c->end) {
        ty_shell_next(c);
        ty_shell_quoted(p->sh, c, &word);
    }
    bool done = pattern.len == 0;
    for (uint32_t i = 0; i < p->value.len && !p->sh->ended;) {
        if (!done && p->value.len - i >= pattern.len &&
            memcmp(p->value.bytes + i, pattern.bytes, pattern.len) == 0) {
            ty_shell_append(p->sh, text, &word);
            i += pattern.len;
            done = !all;
        } else {
            ty_shell_put(p->sh, text, p->value.bytes[i], p->value.marks[i]);
            i++;
        }
    }
}

/* ${name^^}, ${name,,} */
static void change_case(struct param *p, struct ty_shell_cursor *c, struct ty_shell_text *text)
{
    const bool up = *c->at == '^';
    const bool all = ty_shell_peek(c, 1) == *c->at;
    for (uint32_t i = 0; i < p->value.len; i++) {
        char b = p->value.bytes[i];
        if ((all || i == 0) && (up ? b >= 'a' && b <= 'z' : b >= 'A' && b <= 'Z')) {
            b = (char)(up ? b - 32 : b + 32);
        }
        ty_shell_put(p->sh, text, b, p->value.marks[i]);
    }
    c->at = c->end;
}

/* ${name:from:length} */
static void slice(struct param *p, struct ty_shell_cursor *c, struct ty_shell_text *text)
{
    struct ty_shell_text numbers = {.len = 0};
    ty_shell_quoted(p->sh, c, &numbers);
    const char *colon = numbers.len > 0 ? strchr(numbers.bytes, ':') : NULL;
    const uint32_t n = colon != NULL ? (uint32_t)(colon - numbers.bytes) : numbers.len;
    const struct ty_shell_text first = ty_shell_part(p->sh, &numbers, 0, n);
    const struct ty_shell_text second = ty_shell_part(p->sh, &numbers, n + 1, numbers.len);
    int64_t from = 0, many = p->value.len;
    uint16_t doubt = ty_shell_arith(p->sh, &first, &from);
    if (colon != NULL && doubt == 0) {
        doubt = ty_shell_arith(p->sh, &second, &many);
    }
    from = from < 0 ? from + p->value.len : from;
    if (doubt != 0 || from < 0 || from > p->value.len) {
        return;
    }
    many = many < 0 ? (int64_t)p->value.len - from + many : many;
    const struct ty_shell_text part = ty_shell_part(p->sh, &p->value, (uint32_t)from,
                                                    many < 0              ? 0
                                                    : many > p->value.len ? p->value.len
                                                                          : (uint32_t)many);
    ty_shell_append(p->sh, text, &part);
}

static void operate(struct param *p, struct ty_shell_cursor *c, struct ty_shell_text *text)
{
    const char now = *c->at, next = ty_shell_peek(c, 1);
    if (now == ':' && next != '\0' && strchr("-=?+", next) != NULL) {
        ty_shell_next(c);
        use_default(p, c, true, text);
    } else if (strchr("-=?+", now) != NULL) {
        use_default(p, c, false, text);
    } else if (!p->set) {
        ty_shell_put_unset(p->sh, text, p->name, p->mark);
    } else if (now == '#' || now == '%') {
        cut(p, c, text);
    } else if (now == '/') {
        replace(p, c, text);
    } else if (now == '^' || now == ',') {
        change_case(p, c, text);
    } else if (now == ':') {
        ty_shell_next(c);
        slice(p, c, text);
    } else { /* ${name@Q} and what is to come */
        struct ty_shell_mark mark = p->mark;
        mark.doubt = ty_shell_doubt(p->sh, false, "what ${%s%c...} (%s) does is not known", p->name,
                                    now, ty_shell_place_text(p->sh, mark));
        ty_shell_puts(p->sh, text, p->name, strlen(p->name), mark);
    }
}

static void put_plain(struct param *p, struct ty_shell_text *text, struct ty_shell_words *items)
{
    if (!is_all(p)) {
        if (p->set) {
            ty_shell_append(p->sh, text, &p->value);
        } else {
            ty_shell_put_unset(p->sh, text, p->name, p->mark);
        }
        return;
    }
    const bool apart = items != NULL && p->key[0] == '@';
    if (apart && p->all.n == 0) {
        items->none = true;
    }
    for (uint32_t i = 0; i < p->all.n; i++) {
        if (apart) {
            ty_shell_add_word(p->sh, items, &p->all.item[i]);
        } else {
            ty_shell_puts(p->sh, text, " ", i > 0, p->mark);
            ty_shell_append(p->sh, text, &p->all.item[i]);
        }
    }
}

static void put_length(struct param *p, struct ty_shell_text *text)
{
    char digits[16];
    const uint32_t length = is_all(p) ? p->all.n : p->value.len;
    const int n = snprintf(digits, sizeof(digits), "%u", (unsigned)length);
    struct ty_shell_mark mark = p->mark;
    mark.doubt = ty_shell_doubt_of(&p->value);
    ty_shell_puts(p->sh, text, digits, (size_t)n, mark);
}

void ty_shell_braces(struct ty_shell *sh, struct ty_shell_cursor *c, struct ty_shell_text *text,
                     struct ty_shell_words *items)
{
    struct param p = {.sh = sh, .mark = ty_shell_here(sh, c)};
    ty_shell_next(c);
    ty_shell_next(c);
    struct ty_shell_cursor inner = *c;
    if (!ty_shell_close(c, '{', '}')) {
        (void)ty_shell_wrong(sh, &inner, "a ${ is not closed; write } behind it");
        return;
    }
    inner.end = c->at - 1;
    const bool length = ty_shell_peek(&inner, 0) == '#' && inner.end - inner.at > 1;
    const bool indirect = ty_shell_peek(&inner, 0) == '!';
    if (length || indirect) {
        ty_shell_next(&inner);
    }
    if (ty_shell_peek(&inner, 0) == '#') { /* ${#} */
        (void)ty_shell_special(sh, '#', text, items, p.mark);
        return;
    }
    if (!read_name(&p, &inner)) {
        (void)ty_shell_wrong(sh, &inner, "no name behind ${; write one, such as ${NNODES}");
        return;
    }
    if (indirect && !is_all(&p)) {
        const struct ty_shell_text *name = ty_shell_value(sh, p.name);
        if (name != NULL && ty_shell_doubt_of(name) == 0) {
            (void)snprintf(p.name, sizeof(p.name), "%.*s", (int)sizeof(p.name) - 1,
                           ty_shell_string(name));
        }
    }
    find(&p);
    if (length) {
        put_length(&p, text);
    } else if (inner.at < inner.end) {
        if (is_all(&p)) {
            put_plain(&p, &p.value, NULL);
        }
        operate(&p, &inner, text);
    } else {
        put_plain(&p, text, items);
    }
}
