/* cli.h - what the commands share: options, output, errors. Of the library it uses trainyard.h and
 * cli_api.h. */
#ifndef TY_CLI_CLI_H
#define TY_CLI_CLI_H

#include "sim/cli/table.h"
#include "sim/cli_api.h"

struct cli_list {
    size_t n;
    const char *item[CLI_LIST_MAX + 1]; /* the last is for the seed among settings */
};

/* Every option of every command, as given; NULL or 0 when absent. */
struct cli_options {
    const char *command;         /* its name */
    const char *operand;         /* FILE, NAME or WHAT */
    const char *second;          /* another FILE, where a command takes two */
    const char *const *operands; /* [n_operands] all of them, where a command takes several */
    size_t n_operands;
    char **words; /* all words from the command on, options before operands; NULL ends */
    struct cli_list set, with, trace, over, against_set, env;
    const char *stats, *output, *engine, *ranks, *detail, *window, *order, *counters, *steps, *args,
        *flows, *critical;
    const char *pipeline, *micro_batches, *chunks, *group, *slices, *times, *stages, *format,
        *width, *palette, *bubbles, *compare;
    const char *rows, *jobs, *shard, *measured, *operators, *collectives, *fit, *prior, *against,
        *gpus_per_node, *run_of_log, *model, *cluster, *gpus, *top, *within, *margin, *free,
        *uneven, *meshes, *objective, *emit, *days, *runs, *suggest, *unit, *lora, *qlora;
    bool show_config, traffic, uncertain, no_bubbles, force, resume, merge, quiet, help;
    const struct ty_crew *crew; /* with whom the work is shared; NULL: nobody */
    char seed[64];              /* "run.seed=N", the last of `set`; or empty */
    char line[4096];            /* the command as pages show it, or its beginning, "..." */
};

/* The program, of which a process of a crew (NULL: none) plays its part. The exit status. */
int cli_main(int argc, char **argv, const struct ty_crew *crew);

/* Reads the words after the command. Returns 0, or prints what is wrong and returns 2. */
int cli_parse(enum cli_command command, int argc, char **argv, struct cli_options *out);

/* The classroom, opened with a schedule, an order of the user's own, or (`many`) those that are
 * compared. */
int cli_classroom(const struct ty_schedule_options *asked, bool many, char **page,
                  struct ty_err *err);

/* Number of a command, or CLI_N_COMMANDS. */
size_t cli_find(const char *name);

/* external.c: programs trainyard-NAME that are commands, too; their names, sorted, without those of
 * the commands in table.h. */
#define CLI_EXTERNALS_MAX 64
#define CLI_NAME_SIZE     32
struct cli_externals {
    size_t n;
    char name[CLI_EXTERNALS_MAX][CLI_NAME_SIZE];
};
struct cli_externals cli_externals(void);

/* Becomes the program of a command, which gets words[1..] up to NULL; words[0] is free. Returns -1
 * where there is none (own_only: none outside of trainyard's own folders), or prints why it cannot
 * be run and returns the exit status. */
int cli_run_external(const char *name, char **words, bool own_only);

/* The same of trainyard-import, without which a message is printed. */
int cli_run_import(char **words);

/* complete.c: prints what may stand in place of the last word, for shells. The exit status. */
int cli_complete(int n, char **words);

/* `trainyard --tables`: all that help and lists say of commands, options and keys, a line each with
 * tabs between its fields, from which sim/manual/manual.py writes the manual. */
int cli_tables(void);

/* The run file at `path` with its overlays and everything that the command line sets. */
int cli_load(const struct cli_options *o, const char *path, struct ty_config **config,
             struct ty_err *err);

/* Usage of a command on standard output. */
void cli_print_help(enum cli_command command);

/* Prints to standard error, as printf does, what is fit to be shown: everything that the program
 * says there goes through this. */
#if defined(__GNUC__) || defined(__clang__)
__attribute__((format(printf, 1, 2)))
#endif
void cli_say(const char *format, ...);

/* Prints the messages, those about the command line with the command's name before them, and
 * returns the exit status; frees the error. Without a message another process has one. */
int cli_fail(const struct cli_options *o, struct ty_err *err);

/* Prints that an output would take the place of an input; returns 2. */
int cli_fail_overwrites(const struct cli_options *o, const char *path);

/* interrupt.c: signals end the process, but never in the middle of a file. cli_writing begins one
 * and returns the flag that stops a writer; cli_written ends it with the code of the writer, which
 * tells of an interruption itself: after a file that became whole the process ends here.
 * cli_interrupted is the signal that was caught, or 0. cli_last_words are printed by a signal that
 * ends the process; the text stays the caller's. */
void cli_catch_signals(void);
const volatile int *cli_writing(void);
void cli_written(int rc);
int cli_interrupted(void);
void cli_last_words(const char *text);

/* progress.c: how far it is, on a terminal; elsewhere a line where it takes long.
 * cli_progress_share and cli_progress_line are for callbacks of the library, with a cli_progress as
 * their argument. */
struct cli_progress {
    const char *what;
    bool on, terminal, shown, told;
    double begun, next; /* s, of a clock that does not jump */
};
struct cli_progress cli_progress(const char *what, bool quiet);
void cli_progress_share(void *arg, double share);
void cli_progress_line(void *arg, const char *line);
void cli_progress_end(struct cli_progress *p);

/* ty_text_write and ty_path_check, which leave nothing behind when they are interrupted. Without a
 * path (NULL) standard output. */
int cli_write_text(const char *text, const char *path, struct ty_err *err);
int cli_check_path(const char *path, struct ty_err *err);

/* The end of what makes a text: writes it, unless rc says that there is none, and frees it. */
int cli_hand_over(int rc, char *text, const char *path, struct ty_err *err);

/* The end of a command: prints what is wrong, if anything is, and frees the error. `status` or that
 * of the error; of a signal, where one stopped the writing. */
int cli_end(const struct cli_options *o, int rc, struct ty_err *err, int status);

/* The run file with the overlays and settings of the command line. */
struct ty_source cli_source(const struct cli_options *o);

/* ty_run_execute with --engine and --jobs, which the command has checked; shows progress. */
int cli_execute(const struct cli_options *o, struct ty_run *run, bool figures, struct ty_err *err);

/* Whether two paths name one file, also one that is not there yet. Devices may be written twice. */
bool cli_same_file(const char *a, const char *b);

/* Whether writing to path would replace what is read: the input itself, or a file of the folder
 * that it is; one of the files of a configuration. */
bool cli_overwrites(const char *path, const char *input);
bool cli_overwrites_input(const char *path, const struct ty_config *config);

/* traces.c: what the options ask for of traces, and where a "FORMAT:PATH" goes. */
struct ty_trace_options cli_trace_options(const struct cli_options *o);
const char *cli_trace_path(const char *trace);

/* Says that a report which was asked for went nowhere, because a trace has standard output. */
void cli_say_unprinted(const struct cli_options *o, const char *target);

/* Columns of the terminal on standard output; 0 when it is none. */
uint32_t cli_columns(void);

/* A whole number of at least 1 from text; on failure prints what is wrong with `option` and returns
 * 2. */
int cli_number(const struct cli_options *o, const char *option, const char *text, uint32_t *out);

/* The value of --shard, "2/8"; 0 and 0 without. Returns 0, or 2 with what is wrong printed. */
int cli_shard(const struct cli_options *o, uint32_t *shard, uint32_t *n_shards);

/* The same of what is behind FILE: tables of shards, with --merge. */
int cli_check_merge(const struct cli_options *o);

/* The value of --jobs; without it 0, and 1 where processes share the work: there may be one for
 * each core. Returns 0, or 2 as cli_number. */
int cli_jobs(const struct cli_options *o, uint32_t *jobs);

/* The value of --suggest as in struct ty_execute_options. Returns 0, or prints what is wrong and
 * returns 2. */
int cli_suggest(const struct cli_options *o, double *seconds);

/* One function per command: the exit status. */
#define X(name) int cmd_##name(const struct cli_options *options);
CLI_COMMANDS(X)
#undef X

#endif
