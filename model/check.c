/* check.c - messages about values that do not go together.
 *
 * The user can change what the user wrote: a value from a preset has the place of the preset's
 * name, a default has none. */
#include "model/check.h"

#include <stdio.h>

#include "sim/base/number_text.h"

#define MESSAGE_BYTES 512

static const struct ty_origin *origin_of(const struct ty_section *section, const char *key)
{
    const struct ty_field *field = section == NULL ? NULL : ty_section_field(section, key);
    return field == NULL ? NULL : ty_field_origin(section, field);
}

static bool is_given(const struct ty_origin *origin)
{
    return origin != NULL && (origin->kind == TY_ORIGIN_FILE || origin->kind == TY_ORIGIN_COMMAND);
}

bool ty_check_given(const struct ty_section *section, const char *key)
{
    return is_given(origin_of(section, key));
}

int ty_check_fail(const struct ty_section *section, const char *key, struct ty_err *err,
                  const char *format, ...)
{
    char message[MESSAGE_BYTES];
    va_list args;
    if (err == NULL) {
        return TY_EINPUT;
    }
    va_start(args, format);
    (void)ty_vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    struct ty_place at = {.line = 0};
    const char *const keys[] = {key, "preset", "huggingface"};
    for (size_t i = 0; i < TY_COUNT(keys) && at.line == 0; i++) {
        const struct ty_origin *origin = origin_of(section, keys[i]);
        if (is_given(origin)) {
            at = origin->at;
        }
    }
    return ty_fail_at(err, TY_EINPUT, &at, "%s%s%s: %s", section == NULL ? "" : section->name,
                      section == NULL ? "" : ".", key, message);
}

int ty_check_idle(const struct ty_section *section, const char *const *key, const char *why,
                  struct ty_err *err)
{
    int rc = 0;
    for (; *key != NULL; key++) {
        const struct ty_field *field = ty_section_field(section, *key);
        if (ty_check_given(section, *key) && !ty_field_is_blank(section, field)) {
            rc = ty_check_first(rc, ty_check_fail(section, *key, err, "%s", why));
        }
    }
    return rc;
}

uint32_t ty_check_divisor(uint32_t n, uint32_t x)
{
    for (uint32_t step = 1; step < n; step++) {
        if (x > step && n % (x - step) == 0) {
            return x - step;
        }
        if (x + step <= n && n % (x + step) == 0) {
            return x + step;
        }
    }
    return n;
}

void ty_numbers_add(struct ty_numbers *list, uint64_t x)
{
    char number[24];
    const int len =
        snprintf(number, sizeof(number), "%s%llu", list->n > 0 ? ", " : "", (unsigned long long)x);
    size_t used = 0;
    while (list->text[used] != '\0') {
        used++;
    }
    if (list->n < 8 && len > 0 && used + (size_t)len < sizeof(list->text)) {
        (void)snprintf(list->text + used, sizeof(list->text) - used, "%s", number);
        list->n++;
    }
}
