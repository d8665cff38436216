/* field_expects.c - what a user may write for a key, in words, for messages and lists. */
#include <stdio.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/document/field_value.h"

/* " from 1 to 1024", " of at least 1" or "", in the unit of the field. */
static void range_text(const struct ty_field *field, char *buf, size_t size)
{
    char low[64], high[64];
    const bool whole = field->type != TY_TYPE_QUANTITY;
    if (whole) {
        (void)ty_snprintf(low, sizeof(low), "%.0f", field->min);
        (void)ty_snprintf(high, sizeof(high), "%.0f", field->max);
    } else {
        ty_quantity_format(field->min, field->dim, low, sizeof(low));
        ty_quantity_format(field->max, field->dim, high, sizeof(high));
    }
    if (field->max != 0) {
        (void)snprintf(buf, size, " from %s to %s", low, high);
    } else {
        (void)snprintf(buf, size, " of at least %s", low);
    }
}

/* A whole number that reads naturally as an example: 8, or what comes nearest in the range. */
static double example_of(const struct ty_field *field)
{
    const double wanted = 8;
    if (wanted < field->min) {
        return field->min;
    }
    return field->max != 0 && wanted > field->max ? field->max : wanted;
}

const char *ty_field_example(const struct ty_field *field)
{
    const char *text = field->fallback;
    const bool number =
        text != NULL && text[0] >= '0' && text[0] <= '9' && strpbrk(text, "123456789") != NULL;
    const bool ranges = field->dim == TY_DIM_COUNT || field->dim == TY_DIM_SECONDS;
    return ranges && number ? text : ty_dimension_example(field->dim);
}

/* "a, b, c". */
static void words_text(const struct ty_field *field, char *buf, size_t size)
{
    size_t len = 0;
    buf[0] = '\0';
    for (const struct ty_word *w = field->words; w->name && len + 1 < size; w++) {
        const int n = snprintf(buf + len, size - len, "%s%s", len > 0 ? ", " : "", w->name);
        len += n > 0 ? (size_t)n : 0;
    }
}

void ty_value_expects(const struct ty_field *field, const char *noun, char *buf, size_t size)
{
    char range[160], words[400] = "";
    range_text(field, range, sizeof(range));
    if (field->words) {
        words_text(field, words, sizeof(words));
    }
    switch (field->type) {
    case TY_TYPE_UINT:
    case TY_TYPE_UINT64:
        (void)ty_snprintf(buf, size, "%s%s, such as %.0f", noun ? noun : "a whole number", range,
                          example_of(field));
        break;
    case TY_TYPE_QUANTITY:
        if (noun) {
            (void)snprintf(buf, size, "%s%s", noun, range);
        } else {
            (void)snprintf(buf, size, "it like %s", ty_field_example(field));
        }
        break;
    case TY_TYPE_BOOL:
        (void)snprintf(buf, size, "true or false");
        break;
    case TY_TYPE_WORD:
        (void)snprintf(buf, size, "one of %s", words);
        break;
    case TY_TYPE_WORDS:
        (void)snprintf(buf, size, "each of %s once, like [%s]", words, words);
        break;
    case TY_TYPE_SET:
        (void)snprintf(buf, size, "one or more of %s, like %s", words,
                       field->example ? field->example : "a+b");
        break;
    case TY_TYPE_STRING:
        (void)snprintf(buf, size, "a text");
        break;
    case TY_TYPE_UINTS:
        (void)ty_snprintf(buf, size, "%s%s, like [%.0f, %.0f]", noun ? noun : "whole numbers",
                          range, example_of(field), example_of(field));
        break;
    case TY_TYPE_COUNTS:
        (void)snprintf(buf, size, "%s%s, alone or behind some of %s, like %s",
                       noun ? noun : "whole numbers", range, words,
                       field->example ? field->example : "[a+b:2, 3]");
        break;
    case TY_TYPE_STRINGS:
        (void)snprintf(buf, size, "texts in brackets, like %s",
                       field->example ? field->example : "[a, b]");
        break;
    }
    if (field->blank) {
        const size_t len = strlen(buf);
        (void)snprintf(buf + len, size - len, ", or %s", field->blank);
    }
}

char *ty_field_expects(const struct ty_field *field, char *buf, size_t size)
{
    ty_value_expects(field, NULL, buf, size);
    return buf;
}
