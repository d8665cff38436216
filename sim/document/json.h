/* json.h - numbers and strings as JSON wants them. */
#ifndef TY_DOCUMENT_JSON_H
#define TY_DOCUMENT_JSON_H

#include "sim/base/text.h"

#define TY_JSON_NUMBER 32u /* bytes a number needs, with its zero */
#define TY_JSON_ESCAPE 8u  /* and a character */

/* x in 15 to 17 digits, as few as read back equal, without zeros at the end; "null" when it is not
 * finite. Returns buf. */
char *ty_json_number(double x, char buf[TY_JSON_NUMBER]);

/* Bytes at the beginning of s that stand for themselves in a string: printable ASCII other than
 * quotes, backslashes and `also`. */
size_t ty_json_plain(const char *s, const char *also);

/* The one character that s begins with, as a string has it: "\\n", "\\u001b", itself; what is not
 * shown is escaped, and what is no UTF-8 becomes U+FFFD. Returns its bytes in s; s is not "". */
size_t ty_json_escape(const char *s, char buf[TY_JSON_ESCAPE]);

/* Appends s as a string, quotes and escapes included. */
void ty_json_put(struct ty_text *text, const char *s);

/* Appends `"key": x`; the key needs no escapes. */
void ty_json_put_member(struct ty_text *text, const char *key, double x);

#endif
