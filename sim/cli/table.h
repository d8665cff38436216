/* table.h - the commands and options there are: what reads the command line, --help, the manual
 * page and the completions of shells are all made of these rows. */
#ifndef TY_CLI_TABLE_H
#define TY_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* Commands, in the order help has them. */
#define CLI_COMMANDS(X)                                                                            \
    X(init)                                                                                        \
    X(run)                                                                                         \
    X(check)                                                                                       \
    X(report)                                                                                      \
    X(diff)                                                                                        \
    X(explain)                                                                                     \
    X(sweep)                                                                                       \
    X(plan)                                                                                        \
    X(fleet)                                                                                       \
    X(calibrate)                                                                                   \
    X(import)                                                                                      \
    X(export)                                                                                      \
    X(schedule)                                                                                    \
    X(classroom)                                                                                   \
    X(list)

enum cli_command {
#define X(name) CLI_##name,
    CLI_COMMANDS(X)
#undef X
    CLI_N_COMMANDS
};

#define CLI_RUNS_MAX 8 /* that are compared at once */
#define CLI_LIST_MAX 256
#define CLI_ANY_MANY (1 << 20) /* operands: more than a command line can have */

/* What a word on the command line is: how a shell completes it. */
enum cli_takes {
    CLI_TAKES_NOTHING,
    CLI_TAKES_TEXT,      /* nothing that could be guessed */
    CLI_TAKES_FILE,      /* `words`: what its name may end in, ".yaml|.csv"; NULL: any */
    CLI_TAKES_WORD,      /* `words`: "a|b" */
    CLI_TAKES_KEY_WORD,  /* `words`: a key of the run file, whose words it takes */
    CLI_TAKES_KEY_WORDS, /* the same, any number with commas between */
    CLI_TAKES_KEYS,      /* keys of the run file with commas between */
    CLI_TAKES_SETTING,   /* KEY=VALUE */
    CLI_TAKES_SETTINGS,  /* KEY=VALUE,VALUE */
    CLI_TAKES_TRACE,     /* FORMAT:PATH */
    CLI_TAKES_SCHEDULE,  /* the name of a schedule, or a file */
    CLI_TAKES_CATALOGUE, /* what can be listed */
    CLI_TAKES_IMPORT,    /* one of `words`, then files */
    CLI_TAKES_EXPORT,    /* "chakra" or "goal", then a run file */
};

struct cli_command_row {
    const char *name, *arguments, *summary;
    enum cli_takes takes;   /* its operands */
    const char *words;      /* of them, as `takes` says */
    int most;               /* operands */
    const char *about;      /* what it does, in sentences */
    const char *example;    /* that can be typed where the examples of docs/examples are */
    const char *example_is; /* what it does */
};
extern const struct cli_command_row cli_commands[CLI_N_COMMANDS];

/* How an option is stored: a bool, a text, a cli_list, or as the seed. */
enum cli_kind {
    CLI_FLAG,
    CLI_VALUE,
    CLI_LIST,
    CLI_SEED
};

struct cli_option_row {
    const char *name;
    char letter; /* 0: none */
    enum cli_kind kind;
    size_t offset;     /* in struct cli_options */
    unsigned commands; /* bits of enum cli_command */
    const char *argument;
    enum cli_takes takes;
    const char *words;
    const char *help;
};
#define CLI_OPTIONS_MAX 96
extern const struct cli_option_row cli_option_rows[]; /* [cli_n_option_rows] */
extern const size_t cli_n_option_rows;

/* Whether a command has the option. */
static inline bool cli_has(enum cli_command command, const struct cli_option_row *row)
{
    return (row->commands >> command & 1u) != 0;
}

/* What the exit status means: rows up to one without a meaning. */
struct cli_status_row {
    int status;
    const char *meaning;
};
extern const struct cli_status_row cli_statuses[];

#endif
