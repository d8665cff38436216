/* toml_value.c - numbers, dates, booleans, arrays, inline tables. */
#include "sim/document/toml_read.h"

#include <stdlib.h>
#include <string.h>

#define WORD_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-.:"
#define DIGITS          "0123456789"

/* ---- words ---- */

/* Digits of a base with "_" between some of them; moves behind. False: there are none. */
static bool take_digits(const char **at, const char *of)
{
    const char *s = *at;
    while (*s != '\0' && strchr(of, *s) != NULL) {
        s++;
        s += s[0] == '_' && s[1] != '\0' && strchr(of, s[1]) != NULL;
    }
    const bool any = s > *at;
    *at = s;
    return any;
}

/* 0x, 0o or 0b, without a sign. */
static bool is_other_base(const char *word)
{
    static const struct {
        char letter;
        const char *digits;
    } bases[] = {{'x', DIGITS "abcdefABCDEF"}, {'o', "01234567"}, {'b', "01"}};
    for (size_t i = 0; word[0] == '0' && i < TY_COUNT(bases); i++) {
        if (word[1] == bases[i].letter) {
            const char *at = word + 2;
            return take_digits(&at, bases[i].digits) && *at == '\0';
        }
    }
    return false;
}

/* An integer, or a number with a point, an exponent or both; no zeros before others. */
static bool is_decimal(const char *word)
{
    const char *at = word + (*word == '+' || *word == '-');
    if (strcmp(at, "inf") == 0 || strcmp(at, "nan") == 0) {
        return true;
    }
    if (at[0] == '0' && at[1] != '\0' && strchr(DIGITS "_", at[1]) != NULL) {
        return false;
    }
    if (!take_digits(&at, DIGITS)) {
        return false;
    }
    if (*at == '.') {
        at++;
        if (!take_digits(&at, DIGITS)) {
            return false;
        }
    }
    if (*at == 'e' || *at == 'E') {
        at += 1 + (at[1] == '+' || at[1] == '-');
        if (!take_digits(&at, DIGITS)) {
            return false;
        }
    }
    return *at == '\0';
}

/* Whether it has the shape of a picture, in which 0 is a digit; moves behind. */
static bool take_shape(const char **at, const char *picture)
{
    const char *s = *at;
    for (; *picture != '\0'; picture++, s++) {
        const bool digit = *s >= '0' && *s <= '9';
        if (*picture == '0' ? !digit : *s != *picture) {
            return false;
        }
    }
    *at = s;
    return true;
}

/* Two digits from `at` as a number of at most `most`. */
static bool is_field(const char *at, int least, int most)
{
    const int n = 10 * (at[0] - '0') + (at[1] - '0');
    return n >= least && n <= most;
}

static bool is_day(const char *date)
{
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const long year = strtol(date, NULL, 10);
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (!is_field(date + 5, 1, 12)) {
        return false;
    }
    const int month = 10 * (date[5] - '0') + (date[6] - '0');
    return is_field(date + 8, 1, month == 2 && !leap ? 28 : days[month - 1]);
}

/* A second of 60 is a leap second. */
static bool is_time(const char *time)
{
    return is_field(time, 0, 23) && is_field(time + 3, 0, 59) && is_field(time + 6, 0, 60);
}

/* The rest of a date and time: Z, +01:00. */
static bool is_offset(const char *at)
{
    if (*at == 'Z' || *at == 'z') {
        return at[1] == '\0';
    }
    const char *end = at + 1;
    return (*at == '+' || *at == '-') && take_shape(&end, "00:00") && *end == '\0' &&
           is_field(at + 1, 0, 23) && is_field(at + 4, 0, 59);
}

/* A date, a time of day, or both (RFC 3339), with or without an offset. */
static bool is_date(const char *word)
{
    const char *at = word;
    const bool date = take_shape(&at, "0000-00-00");
    if (date && !is_day(word)) {
        return false;
    }
    if (date && *at == '\0') {
        return true;
    }
    if (date) {
        if (strchr("Tt ", *at) == NULL) {
            return false;
        }
        at++;
    }
    const char *time = at;
    if (!take_shape(&at, "00:00:00") || !is_time(time)) {
        return false;
    }
    if (*at == '.') {
        at++;
        const size_t n = strspn(at, DIGITS);
        if (n == 0) {
            return false;
        }
        at += n;
    }
    return (date && is_offset(at)) || *at == '\0';
}

static void drop_underscores(char *word)
{
    char *to = word;
    for (const char *from = word; *from != '\0'; from++) {
        if (*from != '_') {
            *to++ = *from;
        }
    }
    *to = '\0';
}

/* Bytes of the word that comes next; in a date a blank may stand for the T. */
static size_t word_length(const char *at)
{
    const size_t n = strspn(at, WORD_CHARACTERS);
    const char *day = at;
    const bool time = n == 10 && take_shape(&day, "0000-00-00") && at[n] == ' ' &&
                      at[n + 1] >= '0' && at[n + 1] <= '9';
    return time ? n + 1 + strspn(at + n + 1, WORD_CHARACTERS) : n;
}

static bool is_any_of(const char *word, const char *one, const char *other)
{
    return strcmp(word, one) == 0 || strcmp(word, other) == 0;
}

static struct ty_toml_node *read_word(struct ty_toml_reader *r)
{
    const size_t n = word_length(r->at);
    if (n == 0) {
        return ty_toml_stop(r, "no value; write a number, true, false, a string in quotes, [...] "
                               "or {...}");
    }
    char *word = ty_arena_strndup(r->arena, r->at, n);
    struct ty_toml_node *made = ty_toml_new(r, TY_NODE_SCALAR, TY_TOML_CLOSED);
    if (made == NULL || word == NULL) {
        r->code = r->code < 0 ? r->code : ty_fail_memory(r->err);
        return NULL;
    }
    if (is_decimal(word) || is_other_base(word)) {
        drop_underscores(word);
    } else if (!is_any_of(word, "true", "false") && !is_date(word)) {
        return ty_toml_stop(
            r, "%.60s is no value; write text in quotes%s", word,
            is_any_of(word, "True", "False") ? ", and true and false in small letters" : "");
    }
    made->node.text = word;
    ty_toml_advance(r, n);
    return made;
}

/* ---- what holds others ---- */

static struct ty_toml_node *read_array(struct ty_toml_reader *r, uint32_t depth)
{
    struct ty_toml_node *list = ty_toml_new(r, TY_NODE_LIST, TY_TOML_CLOSED);
    if (list == NULL) {
        return NULL;
    }
    ty_toml_advance(r, 1);
    for (;;) {
        ty_toml_skip(r, true);
        if (*r->at == ']') {
            break;
        }
        struct ty_toml_node *item = r->code < 0 ? NULL : ty_toml_value(r, depth + 1);
        if (item == NULL) {
            return NULL;
        }
        ty_toml_append(list, item);
        ty_toml_skip(r, true);
        if (*r->at == ',') {
            ty_toml_advance(r, 1);
        } else if (*r->at != ']') {
            return r->code < 0 ? NULL
                               : ty_toml_stop_at(r, list->node.line, list->node.col,
                                                 "a [ is not closed; write a comma between items "
                                                 "and ] at the end");
        }
    }
    ty_toml_advance(r, 1);
    return list;
}

static struct ty_toml_node *read_inline_table(struct ty_toml_reader *r, uint32_t depth)
{
    struct ty_toml_node *table = ty_toml_new(r, TY_NODE_MAP, TY_TOML_HEADER);
    if (table == NULL) {
        return NULL;
    }
    table->depth = depth;
    ty_toml_advance(r, 1);
    ty_toml_skip(r, false);
    while (*r->at != '}') {
        ty_toml_key_value(r, table);
        ty_toml_skip(r, false);
        if (r->code < 0) {
            return NULL;
        }
        if (*r->at == ',') {
            ty_toml_advance(r, 1);
            ty_toml_skip(r, false);
            if (*r->at == '}') {
                return ty_toml_stop(r, "a comma before }; remove it");
            }
        } else if (*r->at != '}') {
            return ty_toml_stop_at(r, table->node.line, table->node.col,
                                   "a { is not closed in its line; write a comma between entries "
                                   "and } at the end");
        }
    }
    ty_toml_advance(r, 1);
    table->origin = TY_TOML_CLOSED;
    return table;
}

struct ty_toml_node *ty_toml_value(struct ty_toml_reader *r, uint32_t depth)
{
    if (depth >= TY_TOML_MAX_DEPTH) {
        return ty_toml_stop_deep(r);
    }
    if (*r->at == '[') {
        return read_array(r, depth);
    }
    if (*r->at == '{') {
        return read_inline_table(r, depth);
    }
    if (*r->at != '"' && *r->at != '\'') {
        return read_word(r);
    }
    struct ty_toml_node *made = ty_toml_new(r, TY_NODE_SCALAR, TY_TOML_CLOSED);
    if (made == NULL) {
        return NULL;
    }
    made->node.quoted = true;
    made->node.text = ty_toml_string(r, true);
    return made->node.text != NULL ? made : NULL;
}
