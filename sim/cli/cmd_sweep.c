/* cmd_sweep.c - `trainyard sweep`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/cli.h"

#define INTERRUPTED                                                                                \
    "interrupted; the rows that are finished are kept, and the same command with --resume goes "   \
    "on "                                                                                          \
    "from there\n"

static void put_summary(const struct ty_sweep_summary *s)
{
    if (s->remark[0] != '\0') {
        cli_say("%s\n", s->remark);
    }
    if (s->left_out[0] != '\0') {
        cli_say("%s\n", s->left_out);
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

/* "2/8"; 0/0 without. Returns 0, or prints what is wrong and returns 2. */
static int read_shard(const struct cli_options *o, uint32_t *shard, uint32_t *n_shards)
{
    unsigned long i = 0, n = 0;
    char *end = NULL;
    *shard = *n_shards = 0;
    if (o->shard == NULL) {
        return 0;
    }
    if (o->shard[0] >= '0' && o->shard[0] <= '9') {
        i = strtoul(o->shard, &end, 10);
    }
    if (end != NULL && end[0] == '/' && end[1] >= '0' && end[1] <= '9') {
        n = strtoul(end + 1, &end, 10);
    }
    if (end == NULL || *end != '\0' || n == 0 || n > UINT32_MAX) {
        cli_say("trainyard %s: --shard %s: not I/N; write which of how many, such as 2/8\n",
                o->command, o->shard);
        return 2;
    }
    if (i == 0 || i > n) {
        cli_say("trainyard %s: --shard %s: there is no shard %lu; write one of 1/%lu .. %lu/%lu\n",
                o->command, o->shard, i, n, n, n);
        return 2;
    }
    *shard = (uint32_t)i;
    *n_shards = (uint32_t)n;
    return 0;
}

/* What is behind FILE: tables of shards, where they are merged. As read_shard. */
static int check_operands(const struct cli_options *o)
{
    if (o->merge && o->shard != NULL) {
        cli_say("trainyard sweep: --shard and --merge are both given; write one of them\n");
        return 2;
    }
    if (o->merge && o->n_operands < 2) {
        cli_say("trainyard sweep: --merge: no table of a shard is named; write all of them behind "
                "%s, such as %s shard-*.csv\n",
                o->operand, o->operand);
        return 2;
    }
    if (!o->merge && o->n_operands > 1) {
        cli_say("trainyard sweep: %s is one word too many; tables of shards go with --merge\n",
                o->operands[1]);
        return 2;
    }
    for (size_t i = 1; i < o->n_operands && o->output != NULL; i++) {
        if (cli_overwrites(o->output, o->operands[i])) {
            return cli_fail_overwrites(o, o->output);
        }
    }
    return 0;
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
    if (cli_jobs(o, &s.jobs) != 0 || read_shard(o, &s.shard, &s.n_shards) != 0 ||
        check_operands(o) != 0) {
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
        cli_last_words(progress.on ? "\n" INTERRUPTED : INTERRUPTED);
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
    return 0;
}
