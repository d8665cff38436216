/* read.c - read, mapfile and printf: texts become variables, and variables texts; see shell.h. */
#include <string.h>

#include "sim/import/shell/shell.h"

#define FORMAT_ROUNDS 1000u

/* ---- input ---- */

static const char *word(const struct ty_shell_words *words, uint32_t i)
{
    return i < words->n ? ty_shell_string(&words->item[i]) : "";
}

/* What stands before `end` of the input, or all of it, and leaves the input; false: no `end`. */
static bool take(struct ty_shell *sh, char end, struct ty_shell_text *line)
{
    struct ty_shell_text *in = sh->in;
    const char *at = in->len > 0 ? memchr(in->bytes, end, in->len) : NULL;
    const uint32_t n = at != NULL ? (uint32_t)(at - in->bytes) : in->len;
    const uint32_t gone = n + (at != NULL);
    *line = ty_shell_part(sh, in, 0, n);
    if (gone > 0) {
        in->bytes += gone;
        in->marks += gone;
        in->len -= gone;
        in->cap -= gone;
    }
    return at != NULL;
}

/* A value that only running tells, unless --env does. */
static void assign_unknown(struct ty_shell *sh, const char *name, struct ty_shell_mark at)
{
    struct ty_shell_text value = {.len = 0};
    at.doubt = ty_shell_doubt(sh, false, "%s is read when the script runs (%s)", name,
                              ty_shell_place_text(sh, at));
    ty_shell_puts(sh, &value, "?", 1, at);
    ty_shell_assign_given(sh, name, &value, false);
}

/* ---- read ---- */

struct reading {
    const char *ifs;
    const char *array; /* -a NAME; NULL */
    char end;          /* of what is read: -d */
    uint32_t first;    /* word that is a name */
};

/* -r, -a NAME, -rd '' and their kin. */
static void read_options(const struct ty_shell_words *words, struct reading *r)
{
    for (r->first = 1; word(words, r->first)[0] == '-'; r->first++) {
        for (const char *option = word(words, r->first) + 1; *option != '\0'; option++) {
            if (strchr("adinNptu", *option) == NULL) {
                continue;
            }
            const char which = *option;
            const char *value = option[1] != '\0' ? option + 1 : word(words, ++r->first);
            r->array = which == 'a' ? value : r->array;
            r->end = which == 'd' ? value[0] : r->end;
            break;
        }
    }
}

/* IFS=, before the word `read` is of that line alone; a variable of the script stays. */
static const char *separators(struct ty_shell *sh, struct ty_shell_mark at)
{
    struct ty_shell_var *ifs = ty_shell_var(sh, "IFS", false);
    if (ifs == NULL || !ifs->set || ifs->array) {
        return " \t\n";
    }
    ifs->set = ifs->value.len > 0 && ifs->value.marks[0].line != at.line;
    return ty_shell_string(&ifs->value);
}

static bool is_blank(char c, const char *ifs)
{
    return strchr(" \t\n", c) != NULL && strchr(ifs, c) != NULL;
}

/* The next field from *at on; `last`: all that is left. */
static struct ty_shell_text field(struct ty_shell *sh, const struct ty_shell_text *line,
                                  uint32_t *at, const char *ifs, bool last)
{
    while (*at < line->len && is_blank(line->bytes[*at], ifs)) {
        ++*at;
    }
    uint32_t end = last ? line->len : *at;
    while (!last && end < line->len && strchr(ifs, line->bytes[end]) == NULL) {
        end++;
    }
    uint32_t next = end;
    while (next < line->len && is_blank(line->bytes[next], ifs)) {
        next++;
    }
    next += next < line->len && strchr(ifs, line->bytes[next]) != NULL;
    while (last && end > *at && is_blank(line->bytes[end - 1], ifs)) {
        end--;
    }
    const struct ty_shell_text text = ty_shell_part(sh, line, *at, end - *at);
    *at = next;
    return text;
}

static void assign_fields(struct ty_shell *sh, const struct ty_shell_words *words,
                          const struct reading *r, const struct ty_shell_text *line)
{
    struct ty_shell_words items = {.n = 0};
    uint32_t at = 0;
    if (r->array != NULL) {
        while (at < line->len && !sh->ended) {
            const struct ty_shell_text item = field(sh, line, &at, r->ifs, false);
            if (item.len > 0 || at < line->len) {
                ty_shell_add_word(sh, &items, &item);
            }
        }
        ty_shell_assign_array(sh, r->array, &items, false);
        return;
    }
    for (uint32_t i = r->first; i < words->n; i++) {
        const struct ty_shell_text item = field(sh, line, &at, r->ifs, i + 1 == words->n);
        ty_shell_assign_given(sh, word(words, i), &item, false);
    }
    if (r->first >= words->n) {
        ty_shell_assign(sh, "REPLY", line, false);
    }
}

static enum ty_shell_status read_line(struct ty_shell *sh, const struct ty_shell_words *words,
                                      struct ty_shell_mark at)
{
    struct reading r = {.end = '\n', .ifs = separators(sh, at)};
    struct ty_shell_text line = {.len = 0};
    read_options(words, &r);
    if (sh->in == NULL) {
        for (uint32_t i = r.first; i < words->n; i++) {
            assign_unknown(sh, word(words, i), at);
        }
        if (r.array != NULL) {
            assign_unknown(sh, r.array, at);
        }
        return TY_SHELL_PROGRAM;
    }
    const bool whole = take(sh, r.end, &line);
    assign_fields(sh, words, &r, &line);
    return whole ? TY_SHELL_TRUE : TY_SHELL_FALSE;
}

/* ---- mapfile ---- */

static enum ty_shell_status map_lines(struct ty_shell *sh, const struct ty_shell_words *words,
                                      struct ty_shell_mark at)
{
    const char *name = words->n > 1 ? word(words, words->n - 1) : "MAPFILE";
    struct ty_shell_words items = {.n = 0};
    if (sh->in == NULL) {
        assign_unknown(sh, name, at);
        return TY_SHELL_PROGRAM;
    }
    while (sh->in->len > 0 && !sh->ended) {
        struct ty_shell_text line = {.len = 0};
        (void)take(sh, '\n', &line);
        ty_shell_add_word(sh, &items, &line);
    }
    ty_shell_assign_array(sh, name, &items, false);
    return TY_SHELL_TRUE;
}

/* ---- printf ---- */

/* One conversion, at the percent sign; behind it. */
static uint32_t convert(struct ty_shell *sh, const struct ty_shell_text *format, uint32_t i,
                        const struct ty_shell_text *value, struct ty_shell_text *out, bool *took)
{
    const char kind = i + 1 < format->len ? format->bytes[i + 1] : '%';
    if (kind == '%') {
        ty_shell_put(sh, out, '%', format->marks[i]);
        return i + 2;
    }
    *took = true;
    if (strchr("sdiubq", kind) == NULL) { /* widths, other bases: not known here */
        struct ty_shell_mark mark = format->marks[i];
        mark.doubt = ty_shell_doubt(sh, false, "printf %.60s (%s) is not known here",
                                    ty_shell_string(format), ty_shell_place_text(sh, mark));
        ty_shell_puts(sh, out, "?", 1, mark);
        while (i + 2 < format->len && strchr("0123456789.-+ #*", format->bytes[i + 1]) != NULL) {
            i++;
        }
    } else if (value != NULL) {
        ty_shell_append(sh, out, value);
    }
    return i + 2;
}

/* The format once; the argument that comes next. */
static uint32_t print_once(struct ty_shell *sh, const struct ty_shell_words *words, uint32_t first,
                           uint32_t next, struct ty_shell_text *out)
{
    const struct ty_shell_text *format = &words->item[first];
    for (uint32_t i = 0; i < format->len && !sh->ended;) {
        const char now = format->bytes[i];
        const char then = i + 1 < format->len ? format->bytes[i + 1] : '\0';
        bool took = false;
        if (now == '%') {
            i = convert(sh, format, i, next < words->n ? &words->item[next] : NULL, out, &took);
            next += took;
        } else if (now == '\\' && then != '\0') {
            ty_shell_put(sh, out, then == 'n' ? '\n' : then == 't' ? '\t' : then, format->marks[i]);
            i += 2;
        } else {
            ty_shell_put(sh, out, now, format->marks[i]);
            i++;
        }
    }
    return next;
}

static enum ty_shell_status print_formatted(struct ty_shell *sh, const struct ty_shell_words *words)
{
    const bool assigns = strcmp(word(words, 1), "-v") == 0 && words->n > 3;
    const uint32_t first = assigns ? 3 : 1 + (strcmp(word(words, 1), "--") == 0);
    struct ty_shell_text out = {.len = 0};
    uint32_t next = first + 1, before = 0;
    for (uint32_t n = 0; first < words->n && n < FORMAT_ROUNDS && !sh->ended; n++) {
        before = next;
        next = print_once(sh, words, first, next, &out);
        if (next >= words->n || next == before) { /* the format is used again for what is left */
            break;
        }
    }
    if (assigns) {
        ty_shell_assign(sh, word(words, 2), &out, false);
    } else if (sh->out != NULL) {
        ty_shell_append(sh, sh->out, &out);
    }
    return TY_SHELL_TRUE;
}

enum ty_shell_status ty_shell_call_text(struct ty_shell *sh, const struct ty_shell_words *words,
                                        struct ty_shell_mark at, bool *known)
{
    const char *name = word(words, 0);
    *known = true;
    if (strcmp(name, "read") == 0) {
        return read_line(sh, words, at);
    }
    if (strcmp(name, "mapfile") == 0 || strcmp(name, "readarray") == 0) {
        return map_lines(sh, words, at);
    }
    if (strcmp(name, "printf") == 0) {
        return print_formatted(sh, words);
    }
    *known = false;
    return TY_SHELL_PROGRAM;
}
