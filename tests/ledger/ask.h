/* ask.h - test programs that answer questions: a run file names the machine, every line of standard
 * input asks, a line of standard output answers. The ledger compares answers with measurements. */
#ifndef TY_TESTS_LEDGER_ASK_H
#define TY_TESTS_LEDGER_ASK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/config/config.h"
#include "sim/trainyard.h"

#define ASK_LINE 512

/* Prints the answer to one line, or returns false when it makes no sense. */
typedef bool ask_fn(struct ty_config *config, const char *line);

static inline int ask_main(int argc, char **argv, ask_fn *answer)
{
    struct ty_err *err = ty_err_new();
    struct ty_config *config = NULL;
    char line[ASK_LINE];
    int status = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: %s RUN.yaml < questions\n", argv[0]);
        return 2;
    }
    if (ty_config_read(&config, &(struct ty_source){.path = argv[1]}, err) < 0) {
        fprintf(stderr, "%s\n", ty_err_text(err));
        status = ty_err_exit_status(err);
    }
    for (unsigned n = 1; status == 0 && fgets(line, sizeof(line), stdin) != NULL; n++) {
        if (!answer(config, line)) {
            fprintf(stderr, "line %u: cannot answer: %s", n, line);
            status = 3;
        }
    }
    ty_config_free(config);
    ty_err_free(err);
    return status;
}

#endif
