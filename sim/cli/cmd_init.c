/* cmd_init.c - `trainyard init`: a first run file, where none is yet. */
#include <string.h>
#include <sys/stat.h>

#include "sim/cli/cli.h"

/* Nothing is overwritten, not even a link that leads nowhere. */
static int check_path(const struct cli_options *o)
{
    struct stat status;
    if (o->output == NULL || strcmp(o->output, "-") == 0 || lstat(o->output, &status) != 0) {
        return 0;
    }
    cli_say("trainyard init: -o %s: there is one already, and init overwrites nothing; write "
            "another name\n",
            o->output);
    return 2;
}

int cmd_init(const struct cli_options *o)
{
    struct ty_init_options options = {.model = o->model, .cluster = o->cluster, .path = o->output};
    const char *rank = o->lora != NULL ? o->lora : o->qlora;
    options.qlora = o->qlora != NULL;
    if (o->lora != NULL && o->qlora != NULL) {
        cli_say("trainyard init: --lora and --qlora: weights are either in 16 or in 4 bits; leave "
                "one out\n");
        return 2;
    }
    if (check_path(o) != 0 ||
        (rank != NULL &&
         cli_number(o, options.qlora ? "--qlora" : "--lora", rank, &options.lora) != 0) ||
        (o->gpus != NULL && cli_number(o, "--gpus", o->gpus, &options.gpus) != 0)) {
        return 2;
    }
    char *text = NULL;
    struct ty_err *err = ty_err_new();
    int rc = cli_check_path(o->output, err);
    if (rc == 0) {
        rc = ty_init(&options, &text, err);
    }
    rc = cli_hand_over(rc, text, o->output, err);
    return cli_end(o, rc, err, 0);
}
