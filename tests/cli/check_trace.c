/* check_trace.c - holds a Chrome trace file against every rule in tests/unit/trace_rules.h.
 *
 * usage: check_trace FILE     (plain or gzip; "-" is standard input)
 * Prints "ok N slices ..." and exits 0, or the first violation and exits 1. */
#include <zlib.h>

#include "tests/unit/trace_rules.h"

static char *read_all(const char *path, size_t *n)
{
    gzFile file = strcmp(path, "-") == 0 ? gzdopen(0, "rb") : gzopen(path, "rb");
    size_t cap = 0;
    char *text = NULL;
    int got = 1;
    *n = 0;
    while (file != NULL && got > 0) {
        if (cap - *n < 65537) {
            cap = cap == 0 ? (size_t)1 << 20 : 2 * cap;
            char *more = realloc(text, cap);
            if (more == NULL) {
                break;
            }
            text = more;
        }
        got = gzread(file, text + *n, 65536);
        *n += got > 0 ? (size_t)got : 0;
    }
    if (got != 0) {
        free(text);
        text = NULL;
    } else {
        text[*n] = '\0';
    }
    if (file != NULL) {
        gzclose(file);
    }
    return text;
}

int main(int argc, char **argv)
{
    struct rules rules;
    size_t n;
    if (argc != 2) {
        fprintf(stderr, "usage: check_trace FILE\n");
        return 2;
    }
    char *text = read_all(argv[1], &n);
    if (text == NULL) {
        fprintf(stderr, "cannot read %s\n", argv[1]);
        return 3;
    }
    const bool ok = rules_check(&rules, text, n);
    if (ok) {
        printf(
            "ok %zu slices, %zu bubbles, %zu collectives, %zu flows, %zu counters, %zu loads, %zu "
            "instants "
            "on %zu ranks\n",
            rules.n_slices, rules.n_bubbles, rules.n_collectives, rules.n_flows, rules.n_counters,
            rules.n_loads, rules.n_marks, rules.n_ranks);
    } else {
        printf("%s\n", rules.why);
    }
    rules_release(&rules);
    free(text);
    return ok ? 0 : 1;
}
