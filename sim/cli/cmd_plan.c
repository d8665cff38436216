/* cmd_plan.c - `trainyard plan`. */
#include <stdio.h>
#include <string.h>

#include "sim/cli/cli.h"

/* 0, or 2 as cli_number. */
static int read_options(const struct cli_options *o, struct ty_plan_options *p)
{
    if ((o->top != NULL && cli_number(o, "--top", o->top, &p->top) != 0) ||
        (o->uneven != NULL && cli_number(o, "--uneven", o->uneven, &p->uneven) != 0) ||
        (o->meshes != NULL && cli_number(o, "--meshes", o->meshes, &p->meshes) != 0)) {
        return 2;
    }
    if (o->resume && o->output == NULL) {
        cli_say("trainyard plan: --resume: goes on with what is in a folder; name it with -o\n");
        return 2;
    }
    if (o->merge && o->output == NULL) {
        cli_say("trainyard plan: --merge: puts rows of shards together in a folder; name it with "
                "-o\n");
        return 2;
    }
    if (o->output != NULL && strcmp(o->output, "-") == 0) {
        cli_say("trainyard plan: -o -: a plan writes a folder; name one, or leave -o out for the "
                "answer alone\n");
        return 2;
    }
    return cli_jobs(o, &p->jobs) != 0 || cli_shard(o, &p->shard, &p->n_shards) != 0
               ? 2
               : cli_check_merge(o);
}

int cmd_plan(const struct cli_options *o)
{
    struct ty_plan_options p = {.source = cli_source(o),
                                .gpus = o->gpus,
                                .over = o->over.item,
                                .n_over = o->over.n,
                                .objective = o->objective,
                                .emit = o->emit,
                                .merge = o->operands + 1,
                                .n_merge = o->n_operands - 1,
                                .folder = o->output,
                                .resume = o->resume,
                                .crew = o->crew,
                                .stats = o->stats};
    char *report = NULL;
    if (read_options(o, &p) != 0) {
        return 2;
    }
    struct ty_err *err = ty_err_new();
    struct cli_progress progress = cli_progress("planning", o->quiet);
    p.progress = progress.on ? cli_progress_share : NULL;
    p.progress_arg = &progress;
    bool stopped = false;
    p.stop = cli_writing(); /* Ctrl-C ends the search, and what it found is told */
    p.stopped = &stopped;
    const int rc = ty_plan(&p, &report, err);
    cli_progress_end(&progress);
    if (stopped && o->output != NULL && !o->quiet) {
        cli_say("interrupted; the rows that are finished are kept, and the same command with "
                "--resume goes on from there\n");
    }
    const int written = cli_hand_over(rc, report, NULL, err);
    cli_written(written);
    return cli_end(o, written, err, 0);
}
