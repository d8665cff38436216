/* json.h - numbers and strings as JSON wants them. */
#ifndef TY_BASE_JSON_H
#define TY_BASE_JSON_H

#include "sim/base/text.h"

#define TY_JSON_NUMBER 32u /* bytes a number needs, with its zero */

/* x in 15 to 17 digits, as few as read back equal, without zeros at the end; "null" when it is not
 * finite. Returns buf. */
char *ty_json_number(double x, char buf[TY_JSON_NUMBER]);

/* The escape for a byte of a string: "\\n", "\\u0001", ..., or NULL when it stands for itself. */
const char *ty_json_escape(unsigned char c, char buf[8]);

/* Appends s as a string, quotes and escapes included. */
void ty_json_put(struct ty_text *text, const char *s);

/* Appends `"key": x`; the key needs no escapes. */
void ty_json_put_member(struct ty_text *text, const char *key, double x);

#endif
