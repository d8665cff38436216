/* json.h - JSON: numbers and strings as it wants them, and a writer that knows its punctuation.
 *
 *     struct ty_json j = ty_json_to_text(&text);
 *     ty_json_object(&j, NULL);
 *     ty_json_real(&j, "step_time_s", 1.5);
 *     ty_json_array(&j, "peak_bytes");
 *     ty_json_whole(&j, NULL, 42);
 *     ty_json_end(&j);
 *     ty_json_end(&j);                    {"step_time_s": 1.5, "peak_bytes": [42]}
 *
 * The caller says what comes next; commas, colons, brackets, escapes and indents are the writer's.
 * What is put into an object has a key, what is put into an array or by itself has none (NULL). */
#ifndef TY_DOCUMENT_JSON_H
#define TY_DOCUMENT_JSON_H

#include <stdint.h>

#include "sim/base/text.h"

#define TY_JSON_NUMBER 32u /* bytes a number needs, with its zero */
#define TY_JSON_DEPTH  16u /* objects and arrays inside each other, at most */

/* x in 15 to 17 digits, as few as read back equal, without zeros at the end; "null" when it is not
 * finite. Returns buf. */
char *ty_json_number(double x, char buf[TY_JSON_NUMBER]);

/* Where text goes. */
typedef void ty_json_put_fn(void *to, const char *bytes, size_t n);

/* Puts s as a string, quotes and escapes included; characters of `also` are escaped, too. */
void ty_json_string(ty_json_put_fn *put, void *to, const char *s, const char *also);

/* Appends s as a string. */
void ty_json_put(struct ty_text *text, const char *s);

/* ---- the writer ---- */

/* An object or array that is open. */
struct ty_json_level {
    char close;       /* its bracket */
    bool any;         /* something is in it */
    uint32_t begun;   /* blanks before the line that it began on */
    bool rows, lines; /* see ty_json_rows, ty_json_lines */
};

struct ty_json {
    ty_json_put_fn *put;
    void *to;
    const char *also; /* characters that are escaped beyond what JSON asks for */
    bool tight;       /* for programs alone: no blanks */
    uint32_t depth, indent;
    bool line; /* the next item or bracket begins a line, `next` blanks in */
    uint32_t next;
    struct ty_json_level level[TY_JSON_DEPTH];
};

/* Appends to a text. */
struct ty_json ty_json_to_text(struct ty_text *text);

void ty_json_object(struct ty_json *json, const char *key);
void ty_json_array(struct ty_json *json, const char *key);
void ty_json_end(struct ty_json *json); /* of what was begun last */

void ty_json_text(struct ty_json *json, const char *key, const char *value); /* NULL: null */
void ty_json_real(struct ty_json *json, const char *key, double value);
void ty_json_whole(struct ty_json *json, const char *key, uint64_t value);
void ty_json_bool(struct ty_json *json, const char *key, bool value);

/* The value that follows is put by the caller himself. */
void ty_json_key(struct ty_json *json, const char *key);

/* Of the object or array that was just begun: every item is on a line of its own, two blanks
 * further in than the line it began on. Of `lines` the end is, too, unless there are none. In the
 * tight style both end lines after commas, and nowhere else. */
void ty_json_rows(struct ty_json *json);
void ty_json_lines(struct ty_json *json);

/* The next item or end begins a line with so many blanks; else what follows stays on the line. */
void ty_json_line(struct ty_json *json, uint32_t blanks);

#endif
