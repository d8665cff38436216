/* options.c - the command line from one table: parsing, --help, and hints all read it. */
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sim/cli/cli.h"

#define BIT(name) (1u << CLI_##name)
#define FROM_FILE                                                                                  \
    (BIT(run) | BIT(check) | BIT(explain) | BIT(report) | BIT(diff) | BIT(sweep) | BIT(calibrate))
#define ALL ((1u << CLI_N_COMMANDS) - 1)

enum kind {
    FLAG,
    VALUE,
    LIST,
    SEED
};

static const struct row {
    const char *name;
    char letter; /* 0: none */
    enum kind kind;
    size_t offset;
    unsigned commands;
    const char *argument, *help;
} rows[] = {
#define AT(member) offsetof(struct cli_options, member)
    {"set", 0, LIST, AT(set), FROM_FILE & ~BIT(diff), "KEY=VALUE",
     "set a key of the run file, such as layout.tensor=8; may be repeated"},
    {"set", 0, LIST, AT(set), BIT(diff), "[RUN:]KEY=VALUE",
     "set a key of all runs, or of one, such as B:layout.tensor=8; may be repeated"},
    {"with", 0, LIST, AT(with), FROM_FILE, "OVERLAY",
     "a file of keys that differ from FILE's, such as calibrate writes; may be repeated"},
    {"stats", 0, VALUE, AT(stats), BIT(run) | BIT(diff) | BIT(calibrate) | BIT(import),
     "table|json", "form of the report"},
    {"output", 'o', VALUE, AT(output), FROM_FILE | BIT(schedule), "PATH",
     "where the report (calibrate: the overlay) goes; - is standard output"},
    {"output", 'o', VALUE, AT(output), BIT(import), "TABLE.csv",
     "write kernels and collectives as a table for cluster.operators; - is standard output"},
    {"gpus-per-node", 0, VALUE, AT(gpus_per_node), BIT(import), "N",
     "ranks on a node, which tells on how many a group is; 8 when left out"},
    {"steps", 0, VALUE, AT(steps), BIT(import), "SELECTION",
     "numbers of ProfilerStep that count: 3 or 2-5,7; left out: all that was recorded"},
    {"against", 0, VALUE, AT(against), BIT(report) | BIT(diff), "FILE", "the run to compare with"},
    {"against-set", 0, LIST, AT(against_set), BIT(report) | BIT(diff), "KEY=VALUE",
     "set a key of the run to compare with, FILE itself unless there is another"},
    {"trace", 0, LIST, AT(trace), BIT(run) | BIT(diff), "FORMAT:PATH",
     "write a trace, such as chrome:step.json (.gz compresses); may be repeated"},
    {"ranks", 0, VALUE, AT(ranks), BIT(run) | BIT(report) | BIT(diff), "SELECTION",
     "ranks that are shown: all, 0-15,64, tp=0,dp=0-1, one-per-stage, slowest:8"},
    {"detail", 0, VALUE, AT(detail), BIT(run) | BIT(report) | BIT(diff), "LEVEL",
     "stage, microbatch, layer or op"},
    {"window", 0, VALUE, AT(window), BIT(run) | BIT(diff), "FROM:TO",
     "stretch of time to trace: 1.5s:2s"},
    {"steps", 0, VALUE, AT(steps), BIT(run) | BIT(diff), "A-B",
     "steps to trace, counted from 0: 2-3"},
    {"order", 0, VALUE, AT(order), BIT(run) | BIT(report), "ORDER",
     "order of ranks: stage, rank or node"},
    {"order", 0, VALUE, AT(order), BIT(diff), "ORDER",
     "order of ranks, runs taking turns: stage, rank or node; or run: one run after the other"},
    {"counters", 0, VALUE, AT(counters), BIT(run) | BIT(diff), "WHICH",
     "values over time in traces: all, memory, net or none"},
    {"args", 0, VALUE, AT(args), BIT(run) | BIT(diff), "full|short|none",
     "what slices say of themselves; short: not what their name or row says"},
    {"flows", 0, VALUE, AT(flows), BIT(run) | BIT(diff), "p2p|none",
     "arrows from sends to receives"},
    {"critical", 0, VALUE, AT(critical), BIT(run), "path|none",
     "the critical path in chrome and perfetto traces: a row of its own, or none"},
    {"no-bubbles", 0, FLAG, AT(no_bubbles), BIT(run) | BIT(diff), NULL,
     "leave idle time empty in traces"},
    {"force", 0, FLAG, AT(force), BIT(run) | BIT(diff), NULL,
     "write traces beyond output.trace_limit"},
    {"engine", 0, VALUE, AT(engine), BIT(run) | BIT(report) | BIT(diff), "auto|sweep|events",
     "which executor"},
    {"seed", 0, SEED, AT(seed), BIT(run) | BIT(report) | BIT(diff) | BIT(calibrate), "N",
     "the same as --set run.seed=N"},
    {"show-config", 0, FLAG, AT(show_config), BIT(check), NULL,
     "every value with its unit and where it came from"},
    {"traffic", 0, FLAG, AT(traffic), BIT(check), NULL,
     "who talks over which class of link, and how many bytes a step"},
    {"rows", 0, VALUE, AT(rows), BIT(sweep) | BIT(calibrate), "CSV",
     "table whose columns name keys of the run file"},
    {"over", 0, LIST, AT(over), BIT(sweep), "KEY=V1,V2,..",
     "values of a key; several: all combinations"},
    {"jobs", 'j', VALUE, AT(jobs), BIT(sweep) | BIT(calibrate), "N",
     "threads; one per core when left out"},
    {"resume", 0, FLAG, AT(resume), BIT(sweep), NULL, "keep the rows that a killed sweep finished"},
    {"measured", 0, VALUE, AT(measured), BIT(calibrate), "COLUMN",
     "column of --rows with measured step times, in seconds or with a unit"},
    {"operators", 0, VALUE, AT(operators), BIT(calibrate), "CSV",
     "measured kernels, as for cluster.operators"},
    {"collectives", 0, VALUE, AT(collectives), BIT(calibrate), "LOG,LOG..",
     "what nccl-tests printed, as for cluster.collectives.measured"},
    {"fit", 0, VALUE, AT(fit), BIT(calibrate), "KEY,KEY..",
     "keys to fit; left out: those the measurements tell something about"},
    {"prior", 0, VALUE, AT(prior), BIT(calibrate), "SHARE",
     "how far a key may be from its start (20 %), or none"},
    {"group", 0, VALUE, AT(group), BIT(calibrate), "COLUMN",
     "of --rows, left out together to judge the fit; left out: equal model.* columns"},
    {"pipeline", 'p', VALUE, AT(pipeline), BIT(schedule), "P", "pipeline ranks"},
    {"micro-batches", 'm', VALUE, AT(micro_batches), BIT(schedule), "M", "micro-batches"},
    {"chunks", 'v', VALUE, AT(chunks), BIT(schedule), "V", "virtual stages per rank"},
    {"group", 0, VALUE, AT(group), BIT(schedule), "G",
     "micro-batch group of interleaved schedules"},
    {"slices", 0, VALUE, AT(slices), BIT(schedule), "Q", "slices of a sequence (seq1f1b)"},
    {"times", 0, VALUE, AT(times), BIT(schedule), "F=1,B=2,C=0",
     "forward, backward (I and W its parts), FB an overlapped slot, C delay of a message"},
    {"format", 0, VALUE, AT(format), BIT(schedule), "gantt|svg|slots|csv|json",
     "form of the answer"},
    {"compare", 0, VALUE, AT(compare), BIT(schedule), "NAME,NAME,..",
     "one table and stacked charts (svg: charts only); times are then of a whole stage"},
    {"width", 0, VALUE, AT(width), BIT(schedule), "N|LENGTH",
     "columns of the Gantt chart; of an svg its width, such as 170mm"},
    {"width", 0, VALUE, AT(width), BIT(run) | BIT(diff), "LENGTH",
     "width of svg traces, such as 170mm"},
    {"palette", 0, VALUE, AT(palette), BIT(run) | BIT(diff) | BIT(schedule), "WHICH",
     "of svg: traces, safe (for the colour-blind) or print (black and white)"},
    {"bubbles", 0, VALUE, AT(bubbles), BIT(run) | BIT(diff) | BIT(schedule), "HOW",
     "idle time in svg: shaded (by cause), named or none"},
    {"quiet", 'q', FLAG, AT(quiet), ALL, NULL, "no remarks on standard error"},
    {"help", 'h', FLAG, AT(help), ALL, NULL, "this text"},
#undef AT
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static const struct {
    const char *name, *arguments, *summary;
} commands[] = {
#define X(name, arguments, summary) {#name, arguments, summary},
    CLI_COMMANDS(X)
#undef X
};

void cli_print_help(enum cli_command command)
{
    printf("usage: trainyard %s %s [OPTION]...\n%s\n\n", commands[command].name,
           commands[command].arguments, commands[command].summary);
    for (size_t i = 0; i < N_ROWS; i++) {
        char left[64];
        if ((rows[i].commands >> command & 1u) == 0) {
            continue;
        }
        snprintf(left, sizeof(left), "%s%c%s --%s%s%s", rows[i].letter != 0 ? "-" : "  ",
                 rows[i].letter != 0 ? rows[i].letter : ' ', rows[i].letter != 0 ? "," : "",
                 rows[i].name, rows[i].argument != NULL ? " " : "",
                 rows[i].argument != NULL ? rows[i].argument : "");
        printf("  %-32s %s\n", left, rows[i].help);
    }
}

static bool store(const struct row *row, const char *value, struct cli_options *out)
{
    char *at = (char *)out + row->offset;
    switch (row->kind) {
    case FLAG:
        *(bool *)at = true;
        break;
    case VALUE:
        memcpy(at, &value, sizeof(value));
        break;
    case LIST: {
        struct cli_list *list = (struct cli_list *)(void *)at;
        if (list->n == CLI_LIST_MAX) {
            return false;
        }
        list->item[list->n++] = value;
        break;
    }
    case SEED:
        snprintf(out->seed, sizeof(out->seed), "run.seed=%s", value);
        break;
    }
    return true;
}

/* The rows of one command in the form getopt_long wants; values are row numbers + 1. */
static void prepare(enum cli_command command, struct option *options, char *letters)
{
    size_t n = 0;
    *letters++ = ':'; /* a missing argument is reported as ':' */
    for (size_t i = 0; i < N_ROWS; i++) {
        if ((rows[i].commands >> command & 1u) == 0) {
            continue;
        }
        options[n++] =
            (struct option){rows[i].name, rows[i].kind == FLAG ? no_argument : required_argument,
                            NULL, (int)(i + 1) << 8};
        if (rows[i].letter != 0) {
            *letters++ = rows[i].letter;
            if (rows[i].kind != FLAG) {
                *letters++ = ':';
            }
        }
    }
    options[n] = (struct option){NULL, 0, NULL, 0};
    *letters = '\0';
}

static const struct row *find(int code)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        if (code == (int)(i + 1) << 8 || (code < 256 && code == rows[i].letter)) {
            return &rows[i];
        }
    }
    return NULL;
}

static int unknown(enum cli_command command, const char *word)
{
    const char *names[N_ROWS];
    for (size_t i = 0; i < N_ROWS; i++) {
        names[i] = (rows[i].commands >> command & 1u) != 0 ? rows[i].name : NULL;
    }
    char bare[64];
    snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(word + strspn(word, "-"), "="),
             word + strspn(word, "-"));
    const char *near = ty_suggest(bare, names, N_ROWS);
    fprintf(stderr, "trainyard %s: unknown option %s", commands[command].name, word);
    if (near != NULL) {
        fprintf(stderr, "; did you mean --%s?", near);
    }
    fprintf(stderr, "\ntry trainyard %s --help\n", commands[command].name);
    return 2;
}

/* Words as a shell reads them again. */
static void keep_line(int argc, char **argv, struct cli_options *out)
{
    static const char harmless[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,+@%";
    size_t n = (size_t)snprintf(out->line, sizeof(out->line), "trainyard");
    for (int i = 0; i < argc && n + 8 < sizeof(out->line); i++) {
        const bool plain = argv[i][0] != '\0' && argv[i][strspn(argv[i], harmless)] == '\0';
        out->line[n++] = ' ';
        out->line[n] = '\'';
        n += plain ? 0 : 1;
        for (const char *c = argv[i]; *c != '\0' && n + 8 < sizeof(out->line); c++) {
            n += (size_t)snprintf(out->line + n, 8, *c == '\'' ? "'\\''" : "%c", *c);
        }
        out->line[n] = '\'';
        n += plain ? 0 : 1;
    }
    snprintf(out->line + n, sizeof(out->line) - n, "%s", n + 8 < sizeof(out->line) ? "" : "...");
}

/* The words that are no options: one, or two where a command compares. */
static int keep_operands(enum cli_command command, int n, char **words, struct cli_options *out)
{
    const int most = command == CLI_import   ? CLI_LIST_MAX
                     : command == CLI_report ? 2
                     : command == CLI_diff   ? CLI_RUNS_MAX
                                             : 1;
    if (n == 0 && out->compare != NULL) {
        return 0; /* names take the place of the operand */
    }
    if (n < 1 || n > most) {
        fprintf(stderr, "trainyard %s: %s\nusage: trainyard %s %s [OPTION]...\n",
                commands[command].name, n > most ? "too many words" : "what to work on is missing",
                commands[command].name, commands[command].arguments);
        return 2;
    }
    for (int i = 0; i < n; i++) {
        out->operands.item[out->operands.n++] = words[i];
    }
    out->operand = words[0];
    out->second = n > 1 ? words[1] : NULL;
    return 0;
}

int cli_parse(enum cli_command command, int argc, char **argv, struct cli_options *out)
{
    struct option options[N_ROWS + 1];
    char letters[2 * N_ROWS + 4];
    *out = (struct cli_options){.operand = NULL};
    keep_line(argc, argv, out);
    prepare(command, options, letters);
    opterr = 0;
    optind = 1;
    int code;
    while ((code = getopt_long(argc, argv, letters, options, NULL)) != -1) {
        if (code == ':') {
            fprintf(stderr, "trainyard %s: %s needs a value\n", commands[command].name,
                    argv[optind - 1]);
            return 2;
        }
        const struct row *row = code == '?' ? NULL : find(code);
        if (row == NULL) {
            return unknown(command, argv[optind - 1]);
        }
        if (!store(row, optarg, out)) {
            fprintf(stderr, "trainyard %s: --%s more than %d times\n", commands[command].name,
                    row->name, CLI_LIST_MAX);
            return 2;
        }
    }
    if (out->help) {
        return 0;
    }
    return keep_operands(command, argc - optind, argv + optind, out);
}
