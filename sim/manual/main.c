/* main.c - `trainyard-manual FORM DOC_DIR`: writes one form to standard output. Not installed. */
#include <stdio.h>
#include <string.h>

#include "sim/manual/manual.h"

static const struct {
    const char *name;
    void (*write)(const struct manual *manual);
} forms[] = {
    {"trainyard.1", manual_page},
    {"trainyard.5", manual_page_keys},
    {"keys.md", manual_markdown},
};

int main(int argc, char **argv)
{
    struct manual manual;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]) && argc == 3; i++) {
        if (strcmp(argv[1], forms[i].name) == 0) {
            if (manual_init(&manual, argv[2]) != 0) {
                return 1;
            }
            forms[i].write(&manual);
            manual_release(&manual);
            return fflush(stdout) != 0 || ferror(stdout) ? 1 : 0;
        }
    }
    fprintf(stderr, "usage: trainyard-manual FORM DOC_DIR, with FORM one of");
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        fprintf(stderr, " %s", forms[i].name);
    }
    fprintf(stderr, "\n");
    return 2;
}
