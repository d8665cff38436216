/* cmd_sweep.c - `trainyard sweep`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/cli.h"

#define INTERRUPTED                                                                                \
    "interrupted; finished rows are kept, and the same command with --resume continues\n"

/* Whether every row has an error in place of an answer. */
static bool is_in_vain(const struct ty_sweep_summary *s)
{
    return s->n_invalid > 0 && s->n_fit + s->n_not == 0;
}

static void put_summary(const struct ty_sweep_summary *s)
{
    if (s->remark[0] != '\0') {
        cli_say("%s\n", s->remark);
    }
    if (s->left_out[0] != '\0') {
        cli_say("%s\n", s->left_out);
    }
    if (is_in_vain(s)) {
        cli_say("no row was simulated: %u with an error\n", s->n_invalid);
        return;
    }
    cli_say("%u row%s simulated", s->n_rows, s->n_rows == 1 ? "" : "s");
    if (s->n_kept > 0) {
        cli_say(", %u kept", s->n_kept);
    }
    cli_say(": %u fit%s, %u do%s not, %u with an error\n", s->n_fit, s->n_fit == 1 ? "s" : "",
            s->n_not, s->n_not == 1 ? "es" : "", s->n_invalid);
    if (s->best != NULL) {
        cli_say("\nfastest that fit\n%s", s->best);
    }
}

int cmd_sweep(const struct cli_options *o)
{
    struct ty_sweep_options s = {.path = o->operand,
                                 .rows = o->rows,
                                 .output = o->output,
                                 .resume = o->resume,
                                 .uncertain = o->uncertain,
                                 .crew = o->crew,
                                 .over = o->over.item,
                                 .n_over = o->over.n,
                                 .with = o->with.item,
                                 .n_with = o->with.n,
                                 .sets = o->set.item,
                                 .n_sets = o->set.n};
    if (cli_jobs(o, &s.jobs) != 0 || cli_shard(o, &s.shard, &s.n_shards) != 0 ||
        cli_check_merge(o) != 0) {
        return 2;
    }
    s.merge = o->operands + 1;
    s.n_merge = o->n_operands - 1;
    struct ty_sweep_summary summary;
    s.summary = &summary;
    struct ty_err *err = ty_err_new();
    struct cli_progress progress = cli_progress("sweeping", o->quiet);
    s.progress = progress.on ? cli_progress_share : NULL;
    s.progress_arg = &progress;
    if (o->output != NULL && strcmp(o->output, "-") != 0) {
        cli_last_words(progress.on && progress.terminal ? "\n" INTERRUPTED : INTERRUPTED);
    }
    const int rc = ty_sweep_rows(&s, err);
    cli_last_words(NULL);
    cli_progress_end(&progress);
    if (rc < 0) {
        return cli_fail(o, err);
    }
    ty_err_free(err);
    if (!o->quiet) {
        put_summary(&summary);
    }
    ty_text_free(summary.best);
    return is_in_vain(&summary) && s.n_shards <= 1 ? 2 : 0; /* the other shards may have answers */
}
