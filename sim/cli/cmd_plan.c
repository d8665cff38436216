/* cmd_plan.c - `trainyard plan`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
        cli_say("trainyard plan: --resume continues the search in a folder; name it with -o\n");
        return 2;
    }
    if (o->merge && o->output == NULL) {
        cli_say("trainyard plan: --merge combines the rows of shards in a folder; name it with "
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

/* "60" or "60s". 0, or 2 for what is no number of seconds. */
static int read_within(const struct cli_options *o, double *seconds)
{
    char *end = NULL;
    *seconds = o->within != NULL ? strtod(o->within, &end) : 0;
    if (end == NULL || (end != o->within && (*end == '\0' || strcmp(end, "s") == 0) &&
                        *seconds > 0 && *seconds <= 1e9)) {
        return 0;
    }
    cli_say("trainyard plan: --within %s: not a number of seconds above 0; write one, such as 60\n",
            o->within);
    return 2;
}

/* Lists of values, those of --free first, so that --over decides. */
struct lists {
    char free[2][32];
    const char *item[CLI_LIST_MAX + 2];
    size_t n;
};

static int read_lists(const struct cli_options *o, struct lists *out)
{
    for (const char *at = o->free; at != NULL && *at != '\0';) {
        const size_t n = strcspn(at, ",");
        const bool section =
            (n == 6 && memcmp(at, "layout", n) == 0) || (n == 8 && memcmp(at, "schedule", n) == 0);
        if (out->n == 2 || !section || strcmp(at + n, ",") == 0) {
            cli_say("trainyard plan: --free %s: not a list of sections; write layout, schedule or "
                    "layout,schedule\n",
                    o->free);
            return 2;
        }
        snprintf(out->free[out->n], sizeof(out->free[0]), "%.*s=auto", (int)n, at);
        out->item[out->n] = out->free[out->n];
        out->n++;
        at += n + (at[n] == ',');
    }
    for (size_t i = 0; i < o->over.n; i++) {
        out->item[out->n++] = o->over.item[i];
    }
    return 0;
}

/* Whether a program is asked for the words of a stack. */
static bool emits_words(const struct cli_options *o)
{
    return o->emit != NULL && strcmp(o->emit, "yaml") != 0;
}

static int check_emit(const struct cli_options *o)
{
    if (o->emit != NULL && o->uncertain) {
        cli_say("trainyard plan: --emit writes one layout, without bands; leave --uncertain out\n");
        return 2;
    }
    static const char *const stacks[] = {"megatron", "deepspeed", "torchtitan", "yaml"};
    for (size_t i = 0; o->emit != NULL && i < sizeof(stacks) / sizeof(stacks[0]); i++) {
        if (strcmp(o->emit, stacks[i]) == 0) {
            return 0;
        }
    }
    if (o->emit != NULL) {
        cli_say("trainyard plan: --emit: unknown framework '%s'; write one of megatron, deepspeed, "
                "torchtitan, yaml\n",
                o->emit);
    }
    return o->emit != NULL ? 2 : 0;
}

/* Hands a run file to trainyard-import; its exit status. */
static int emit(const struct cli_options *o, const char *run_file)
{
    char import[] = "import", option[] = "--emit", stack[32], name[4096];
    char *words[] = {import, option, stack, name, NULL};
    snprintf(stack, sizeof(stack), "%s", o->emit);
    snprintf(name, sizeof(name), "%s", o->operand);
    FILE *file = tmpfile();
    int status = 0;
    const pid_t child = file == NULL || fputs(run_file, file) < 0 || fflush(file) != 0 ||
                                fseek(file, 0, SEEK_SET) != 0 || fflush(stdout) != 0
                            ? -1
                            : fork();
    if (child == 0) {
        _exit(dup2(fileno(file), STDIN_FILENO) < 0 ? 3 : cli_run_import(words));
    }
    if (child < 0 || waitpid(child, &status, 0) < 0) {
        cli_say("trainyard plan: a run file cannot be handed over (%s)\n", strerror(errno));
        return 3;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int cmd_plan(const struct cli_options *o)
{
    struct lists lists = {.n = 0};
    struct ty_plan_options p = {.source = cli_source(o),
                                .gpus = o->gpus,
                                .over = lists.item,
                                .objective = o->objective,
                                .margin = o->margin,
                                .uncertain = o->uncertain,
                                .emit = emits_words(o) ? "yaml" : o->emit,
                                .merge = o->operands + 1,
                                .n_merge = o->n_operands - 1,
                                .folder = o->output,
                                .resume = o->resume,
                                .crew = o->crew,
                                .stats = o->stats};
    char *report = NULL;
    if (check_emit(o) != 0 || read_options(o, &p) != 0 || read_within(o, &p.within_s) != 0 ||
        read_lists(o, &lists) != 0) {
        return 2;
    }
    p.n_over = lists.n;
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
                "--resume continues there\n");
    }
    if (rc >= 0 && emits_words(o) && report[0] != '\0') { /* of a crew one has the layout */
        const int status = emit(o, report);
        ty_text_free(report);
        ty_err_free(err);
        return status;
    }
    const int written = cli_hand_over(rc, report, NULL, err);
    cli_written(written);
    return cli_end(o, written, err, 0);
}
