/* main.c - finds the command and runs it, in one process or in several that share its work. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "sim/cli/cli.h"

static int (*const run[CLI_N_COMMANDS])(const struct cli_options *options) = {
#define X(name) cmd_##name,
    CLI_COMMANDS(X)
#undef X
};

/* What processes can do together. */
static bool is_shared(size_t command)
{
    return command == CLI_sweep || command == CLI_plan;
}

/* shared: by processes of a crew. */
static void print_usage(FILE *f, bool shared)
{
    fprintf(f, shared ? "trainyard-mpi " TRAINYARD_VERSION
                        " - sweeps and plans by MPI ranks that share the work\n\n"
                        "usage: mpirun -n RANKS trainyard-mpi COMMAND ... -o OUTPUT\n\n"
                      : "trainyard " TRAINYARD_VERSION
                        " - simulates GPU clusters that train large language models\n\n"
                        "usage: trainyard COMMAND ...\n\n");
    for (size_t i = 0; i < CLI_N_COMMANDS; i++) {
        if (!shared || is_shared(i)) {
            fprintf(f, "  %-9s %-15s %s\n", cli_commands[i].name, cli_commands[i].arguments,
                    cli_commands[i].summary);
        }
    }
    fprintf(f, "  %-9s %-15s %s\n\n", "help", "COMMAND", "options of a command");
    fprintf(f, shared
                   ? "OUTPUT must be on a file system that all ranks share. A rank has one thread "
                     "unless --jobs sets more.\nThe output is that of trainyard, which has all "
                     "other commands. See\ndocs/guides/clusters.md\n"
                   : "A first run:  trainyard init -o run.yaml, then trainyard run run.yaml; "
                     "examples are in\n"
                     "docs/examples, or share/doc/trainyard/examples where it is installed\n");
    for (const struct cli_status_row *row = cli_statuses; row->meaning != NULL; row++) {
        fprintf(f, "%-13s %3d  %s\n", row == cli_statuses ? "Exit status:" : "", row->status,
                row->meaning);
    }
}

size_t cli_find(const char *name)
{
    size_t i = 0;
    while (i < CLI_N_COMMANDS && strcmp(name, cli_commands[i].name) != 0) {
        i++;
    }
    return i;
}

static int unknown(const char *name)
{
    enum {
        OTHERS = 3
    };
    const char *names[CLI_N_COMMANDS + OTHERS + CLI_EXTERNALS_MAX] = {"help", "--help",
                                                                      "--version"};
    size_t n = OTHERS;
    for (size_t i = 0; i < CLI_N_COMMANDS; i++) {
        names[n++] = cli_commands[i].name;
    }
    const struct cli_externals externals = cli_externals();
    for (size_t i = 0; i < externals.n; i++) {
        names[n++] = externals.name[i];
    }
    const char *near = ty_suggest(name, names, n);
    cli_say("trainyard: unknown %s %s", name[0] == '-' ? "option" : "command", name);
    if (near != NULL) {
        cli_say("; did you mean %s?", near);
    }
    cli_say("\ntry trainyard --help\n");
    return 2;
}

static int too_many(const char *word, const char *behind, const char *form)
{
    cli_say("trainyard: %s is one word too many behind %s; write %s\n", word, behind, form);
    return 2;
}

static int help(int argc, char **argv, bool shared)
{
    if (argc > 3) {
        return too_many(argv[3], argv[2], "trainyard help COMMAND");
    }
    if (argc < 3) {
        print_usage(stdout, shared);
        const struct cli_externals externals = cli_externals();
        for (size_t i = 0; !shared && i < externals.n; i++) {
            printf("%s%s", i == 0 ? "\nAlso installed: " : ", ", externals.name[i]);
        }
        fputs(!shared && externals.n > 0 ? "\n" : "", stdout);
        return 0;
    }
    const size_t command = cli_find(argv[2]);
    if (command == CLI_N_COMMANDS) {
        char ask[] = "--help", *words[] = {NULL, ask, NULL};
        const int status = shared ? -1 : cli_run_external(argv[2], words, false);
        return status < 0 ? unknown(argv[2]) : status;
    }
    cli_print_help((enum cli_command)command);
    return 0;
}

/* What the words of a command of our own ask for. */
static int run_command(size_t command, int argc, char **argv, const struct ty_crew *crew)
{
    struct cli_options options;
    const int status = cli_parse((enum cli_command)command, argc, argv, &options);
    if (status != 0) {
        return status;
    }
    if (options.help) {
        cli_print_help((enum cli_command)command);
        return 0;
    }
    options.crew = crew;
    return run[command](&options);
}

static int dispatch(int argc, char **argv, const struct ty_crew *crew)
{
    if (argc < 2) {
        print_usage(stderr, crew != NULL);
        return 2;
    }
    if (strcmp(argv[1], "--version") == 0 && argc > 2) {
        return too_many(argv[2], argv[1], "it alone");
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("trainyard " TRAINYARD_VERSION "\n");
        return 0;
    }
    if (strcmp(argv[1], "--tables") == 0) {
        return cli_tables();
    }
    if (strcmp(argv[1], "--complete") == 0) {
        return cli_complete(argc - 2, argv + 2);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        return help(argc, argv, crew != NULL);
    }
    const size_t command = cli_find(argv[1]);
    if (command == CLI_N_COMMANDS) {
        const int status = crew != NULL ? -1 : cli_run_external(argv[1], argv + 1, false);
        return status < 0 ? unknown(argv[1]) : status;
    }
    if (crew != NULL && !is_shared(command)) {
        cli_say("trainyard-mpi: %s is for one process; write trainyard %s\n", argv[1], argv[1]);
        return 2;
    }
    return run_command(command, argc - 1, argv + 1, crew);
}

/* Sweeps, plans and fits make and free one run after the other, of a few megabytes. What is given
 * back at once has to be cleared by the kernel again, page by page: 160 pages and half of the time
 * of a small row. A thread keeps so much; what is larger is given back as ever. */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, 2 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 8 << 20);
#endif
}

int cli_main(int argc, char **argv, const struct ty_crew *crew)
{
    cli_catch_signals();
    ty_inputs_keep();
    keep_freed_memory();
    const int status = dispatch(argc, argv, crew);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        cli_say("trainyard: cannot write standard output: %s\n", strerror(errno));
        return status == 0 ? 3 : status;
    }
    return status;
}
