/* gpu_name.c - the model in a name is its first word of letters followed by a number of two digits
 * or more (A100, MI300X, GB200, gfx942), else one of digits alone (4090); sizes of memory begin
 * with their digits and end with letters. The form is sxm or pcie. */
#include "topology/gpu_name.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct word {
    const char *at;
    size_t len;
};

/* Letters, at least two digits, letters. */
static bool is_model(const struct word *w, bool letters_first)
{
    size_t i = 0, digits = 0;
    while (i < w->len && isalpha((unsigned char)w->at[i])) {
        i++;
    }
    const size_t letters = i;
    while (i < w->len && isdigit((unsigned char)w->at[i])) {
        i++;
        digits++;
    }
    return letters_first ? letters > 0 && digits >= 2
                         : letters == 0 && digits >= 3 && digits == w->len;
}

/* The first model in a name; length 0: none. */
static struct word model_of(const char *name, bool letters_first)
{
    struct word w = {name, 0};
    while (*w.at != '\0') {
        while (isalnum((unsigned char)w.at[w.len])) {
            w.len++;
        }
        if (is_model(&w, letters_first)) {
            return w;
        }
        w = (struct word){w.at + w.len + (w.at[w.len] != '\0'), 0};
    }
    return w;
}

static bool has(const char *name, const char *part)
{
    for (; *name != '\0'; name++) {
        if (strncasecmp(name, part, strlen(part)) == 0) {
            return true;
        }
    }
    return false;
}

bool ty_gpu_names_differ(const char *a, const char *b)
{
    struct word x = model_of(a, true), y = model_of(b, true);
    x = x.len > 0 ? x : model_of(a, false);
    y = y.len > 0 ? y : model_of(b, false);
    if (x.len == 0 || y.len == 0) {
        return false;
    }
    return x.len != y.len || strncasecmp(x.at, y.at, x.len) != 0 ||
           (has(a, "pcie") && has(b, "sxm")) || (has(a, "sxm") && has(b, "pcie"));
}
