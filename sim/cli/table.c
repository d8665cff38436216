/* table.c - see table.h. A row for each option; one that means another thing to another command has
 * another row. */
#include "sim/cli/table.h"

#include "sim/cli/cli.h"

#define BIT(name) (1u << CLI_##name)
#define FROM_FILE                                                                                  \
    (BIT(run) | BIT(check) | BIT(explain) | BIT(report) | BIT(diff) | BIT(sweep) | BIT(calibrate))
#define ALL ((1u << CLI_N_COMMANDS) - 1)

#define RUN_FILE ".yaml|.yml"

const struct cli_command_row cli_commands[CLI_N_COMMANDS] = {
    {"run", "FILE", "simulate a training step and report it", CLI_TAKES_FILE, RUN_FILE, 1,
     "Every GPU executes its part of the step that the run file describes. The report says how "
     "long "
     "it takes, where the time goes, what is in memory and what crosses which links; --trace "
     "writes "
     "the timeline. The exit status is 1 where a stage does not fit into its GPU.",
     "trainyard run llama-30b-256xa100.yaml --trace chrome:step.json",
     "a report, and a timeline for ui.perfetto.dev"},
    {"check", "FILE", "read and plan, show memory and size; simulate nothing", CLI_TAKES_FILE,
     RUN_FILE, 1,
     "Reports all mistakes of a run file at once, each with its place and what would be right; of "
     "a "
     "right one the cluster, the layout, memory by stage and the size of the simulation.",
     "trainyard check llama-30b-256xa100.yaml --show-config",
     "every value, its unit and where it came from"},
    {"report", "FILE -o PAGE", "a page for a browser: timeline, memory, numbers; two runs compared",
     CLI_TAKES_FILE, RUN_FILE, 2,
     "One HTML file that needs no network: every slice says what it is and why it started then. "
     "With a second run file, --against or --against-set, two runs on one time axis.",
     "trainyard report llama-30b-256xa100.yaml --against-set schedule.name=zb-1p -o page.html",
     "two schedules beside each other"},
    {"diff", "FILE FILE...", "runs aligned: what differs, where the time went, one timeline of all",
     CLI_TAKES_FILE, NULL, CLI_RUNS_MAX,
     "Compares run files, or profiles of torch.profiler with them: keys that differ, parts of the "
     "step, operations. One file is enough with --against-set.",
     "trainyard diff llama-30b-256xa100.yaml --against-set layout.tensor=4",
     "what another layout changes"},
    {"explain", "FILE", "where the time goes, formula beside simulation, what would help",
     CLI_TAKES_FILE, RUN_FILE, 1,
     "Published formulas beside what was simulated, idle time by stage and cause, the critical "
     "path, whom the others wait for, and changes that would help, each tried by another run.",
     "trainyard explain slow-gpu.yaml", "what one slow GPU costs, and what would help"},
    {"sweep", "FILE --rows CSV", "run every row of a table, or every combination of values",
     CLI_TAKES_FILE, RUN_FILE, 1,
     "A row of results for each row of a table whose columns name keys, or for each combination of "
     "--over. A row that is invalid gets its message, and the sweep goes on; one that was killed "
     "goes on with --resume.",
     "trainyard sweep llama-30b-256xa100.yaml --over layout.tensor=2,4,8 -o table.csv",
     "a table of three runs"},
    {"calibrate", "FILE --rows CSV", "fit keys of the run file to measured times", CLI_TAKES_FILE,
     RUN_FILE, 1,
     "Fits constants of the cluster to step times (--rows), kernels (--operators) or logs of "
     "nccl-tests (--collectives) that were measured. The overlay that comes out is for --with.",
     "trainyard calibrate calibration/run.yaml --rows calibration/measured.csv --measured step_s "
     "-o ours.yaml",
     "constants of a cluster from step times on it"},
    {"import", "kineto FILE...", "what torch.profiler measured: a summary, and a table for run",
     CLI_TAKES_IMPORT, ".json|.gz", CLI_LIST_MAX,
     "Reads files of torch.profiler, one a rank, or a folder of them. The table is for the key "
     "cluster.operators: kernels and collectives then take what they took there.",
     "trainyard import kineto profile -o measured.csv",
     "a folder of profiles becomes a table of kernels and collectives"},
    {"schedule", "NAME -p P -m M", "draw a pipeline schedule, formula beside simulation",
     CLI_TAKES_SCHEDULE, NULL, 1,
     "A pipeline schedule without a model, by name or from a file of slots or PyTorch's CSV: who "
     "works when, the bubble, how many micro-batches are held.",
     "trainyard schedule zb-v -p 4 -m 8", "a zero-bubble schedule, drawn"},
    {"list", "WHAT", "what a run file can name, its keys, its schema (trainyard help list)",
     CLI_TAKES_CATALOGUE, NULL, 2, "One entry a line, with its source.",
     "trainyard list keys layout", "all about the keys of a section"},
};

const struct cli_option_row cli_option_rows[] = {
#define AT(member) offsetof(struct cli_options, member)
    {"set", 0, CLI_LIST, AT(set), FROM_FILE & ~BIT(diff), "KEY=VALUE", CLI_TAKES_SETTING, NULL,
     "set a key of the run file, such as layout.tensor=8; may be repeated"},
    {"set", 0, CLI_LIST, AT(set), BIT(diff), "[RUN:]KEY=VALUE", CLI_TAKES_SETTING, NULL,
     "set a key of all runs, or of one, such as B:layout.tensor=8; may be repeated"},
    {"with", 0, CLI_LIST, AT(with), FROM_FILE, "OVERLAY", CLI_TAKES_FILE, RUN_FILE,
     "a file of keys that differ from FILE's, such as calibrate writes; may be repeated"},
    {"stats", 0, CLI_VALUE, AT(stats), BIT(run) | BIT(diff) | BIT(calibrate) | BIT(import),
     "table|json", CLI_TAKES_KEY_WORD, "output.stats", "form of the report"},
    {"output", 'o', CLI_VALUE, AT(output), FROM_FILE | BIT(schedule), "PATH", CLI_TAKES_FILE, NULL,
     "where the report (calibrate: the overlay) goes; - is standard output"},
    {"output", 'o', CLI_VALUE, AT(output), BIT(import), "TABLE.csv", CLI_TAKES_FILE, NULL,
     "write kernels and collectives as a table for cluster.operators; - is standard output"},
    {"gpus-per-node", 0, CLI_VALUE, AT(gpus_per_node), BIT(import), "N", CLI_TAKES_TEXT, NULL,
     "ranks on a node, which tells on how many a group is; 8 when left out"},
    {"steps", 0, CLI_VALUE, AT(steps), BIT(import), "SELECTION", CLI_TAKES_TEXT, NULL,
     "numbers of ProfilerStep that count: 3 or 2-5,7; left out: all that was recorded"},
    {"against", 0, CLI_VALUE, AT(against), BIT(report) | BIT(diff), "FILE", CLI_TAKES_FILE, NULL,
     "the run to compare with"},
    {"against-set", 0, CLI_LIST, AT(against_set), BIT(report) | BIT(diff), "KEY=VALUE",
     CLI_TAKES_SETTING, NULL,
     "set a key of the run to compare with, FILE itself unless there is another"},
    {"trace", 0, CLI_LIST, AT(trace), BIT(run) | BIT(diff), "FORMAT:PATH", CLI_TAKES_TRACE, NULL,
     "write a trace, such as chrome:step.json (.gz compresses); may be repeated"},
    {"ranks", 0, CLI_VALUE, AT(ranks), BIT(run) | BIT(report) | BIT(diff), "SELECTION",
     CLI_TAKES_WORD, "all|one-per-stage",
     "ranks that are shown: all, 0-15,64, tp=0,dp=0-1, one-per-stage, slowest:8"},
    {"detail", 0, CLI_VALUE, AT(detail), BIT(run) | BIT(report) | BIT(diff), "LEVEL",
     CLI_TAKES_KEY_WORD, "output.detail", "stage, microbatch, layer or op"},
    {"window", 0, CLI_VALUE, AT(window), BIT(run) | BIT(diff), "FROM:TO", CLI_TAKES_TEXT, NULL,
     "stretch of time to trace: 1.5s:2s"},
    {"steps", 0, CLI_VALUE, AT(steps), BIT(run) | BIT(diff), "A-B", CLI_TAKES_TEXT, NULL,
     "steps to trace, counted from 0: 2-3"},
    {"order", 0, CLI_VALUE, AT(order), BIT(run) | BIT(report), "ORDER", CLI_TAKES_WORD,
     "stage|rank|node", "order of ranks: stage, rank or node"},
    {"order", 0, CLI_VALUE, AT(order), BIT(diff), "ORDER", CLI_TAKES_WORD, "stage|rank|node|run",
     "order of ranks, runs taking turns: stage, rank or node; or run: one run after the other"},
    {"counters", 0, CLI_VALUE, AT(counters), BIT(run) | BIT(diff), "WHICH", CLI_TAKES_KEY_WORD,
     "output.counters", "values over time in traces: all, memory, net or none"},
    {"args", 0, CLI_VALUE, AT(args), BIT(run) | BIT(diff), "full|short|none", CLI_TAKES_KEY_WORD,
     "output.args", "what slices say of themselves; short: not what their name or row says"},
    {"flows", 0, CLI_VALUE, AT(flows), BIT(run) | BIT(diff), "p2p|none", CLI_TAKES_KEY_WORD,
     "output.flows", "arrows from sends to receives"},
    {"critical", 0, CLI_VALUE, AT(critical), BIT(run), "path|none", CLI_TAKES_KEY_WORD,
     "output.critical",
     "the critical path in chrome and perfetto traces: a row of its own, or none"},
    {"no-bubbles", 0, CLI_FLAG, AT(no_bubbles), BIT(run) | BIT(diff), NULL, CLI_TAKES_NOTHING, NULL,
     "leave idle time empty in traces"},
    {"force", 0, CLI_FLAG, AT(force), BIT(run) | BIT(diff), NULL, CLI_TAKES_NOTHING, NULL,
     "write traces beyond output.trace_limit"},
    {"engine", 0, CLI_VALUE, AT(engine), BIT(run) | BIT(report) | BIT(diff) | BIT(explain),
     "auto|sweep|events", CLI_TAKES_KEY_WORD, "run.engine", "which executor"},
    {"seed", 0, CLI_SEED, AT(seed), FROM_FILE, "N", CLI_TAKES_TEXT, NULL,
     "the same as --set run.seed=N"},
    {"show-config", 0, CLI_FLAG, AT(show_config), BIT(check), NULL, CLI_TAKES_NOTHING, NULL,
     "every value with its unit and where it came from"},
    {"traffic", 0, CLI_FLAG, AT(traffic), BIT(check), NULL, CLI_TAKES_NOTHING, NULL,
     "who talks over which class of link, and how many bytes a step"},
    {"rows", 0, CLI_VALUE, AT(rows), BIT(sweep) | BIT(calibrate), "CSV", CLI_TAKES_FILE, ".csv",
     "table whose columns name keys of the run file"},
    {"over", 0, CLI_LIST, AT(over), BIT(sweep), "KEY=V1,V2,..", CLI_TAKES_SETTINGS, NULL,
     "values of a key; several: all combinations"},
    {"jobs", 'j', CLI_VALUE, AT(jobs), BIT(sweep) | BIT(calibrate), "N", CLI_TAKES_TEXT, NULL,
     "threads; one per core when left out"},
    {"resume", 0, CLI_FLAG, AT(resume), BIT(sweep), NULL, CLI_TAKES_NOTHING, NULL,
     "keep the rows that a killed sweep finished"},
    {"measured", 0, CLI_VALUE, AT(measured), BIT(calibrate), "COLUMN", CLI_TAKES_TEXT, NULL,
     "column of --rows with measured step times, in seconds or with a unit"},
    {"operators", 0, CLI_VALUE, AT(operators), BIT(calibrate), "CSV", CLI_TAKES_FILE, ".csv",
     "measured kernels, as for cluster.operators"},
    {"collectives", 0, CLI_VALUE, AT(collectives), BIT(calibrate), "LOG,LOG..", CLI_TAKES_FILE,
     NULL, "what nccl-tests printed, as for cluster.collectives.measured"},
    {"fit", 0, CLI_VALUE, AT(fit), BIT(calibrate), "KEY,KEY..", CLI_TAKES_KEYS, NULL,
     "keys to fit; left out: those the measurements tell something about"},
    {"prior", 0, CLI_VALUE, AT(prior), BIT(calibrate), "SHARE", CLI_TAKES_WORD, "none",
     "how far a key may be from its start (20 %), or none"},
    {"group", 0, CLI_VALUE, AT(group), BIT(calibrate), "COLUMN", CLI_TAKES_TEXT, NULL,
     "of --rows, left out together to judge the fit; left out: equal model.* columns"},
    {"pipeline", 'p', CLI_VALUE, AT(pipeline), BIT(schedule), "P", CLI_TAKES_TEXT, NULL,
     "pipeline ranks"},
    {"micro-batches", 'm', CLI_VALUE, AT(micro_batches), BIT(schedule), "M", CLI_TAKES_TEXT, NULL,
     "micro-batches"},
    {"chunks", 'v', CLI_VALUE, AT(chunks), BIT(schedule), "V", CLI_TAKES_TEXT, NULL,
     "virtual stages per rank"},
    {"group", 0, CLI_VALUE, AT(group), BIT(schedule), "G", CLI_TAKES_TEXT, NULL,
     "micro-batch group of interleaved schedules"},
    {"slices", 0, CLI_VALUE, AT(slices), BIT(schedule), "Q", CLI_TAKES_TEXT, NULL,
     "slices of a sequence (seq1f1b)"},
    {"times", 0, CLI_VALUE, AT(times), BIT(schedule), "F=1,B=2,C=0", CLI_TAKES_TEXT, NULL,
     "forward, backward (I and W its parts), FB an overlapped slot, C delay of a message"},
    {"format", 0, CLI_VALUE, AT(format), BIT(schedule), "gantt|svg|slots|csv|json", CLI_TAKES_WORD,
     "gantt|svg|slots|csv|json", "form of the answer"},
    {"compare", 0, CLI_VALUE, AT(compare), BIT(schedule), "NAME,NAME,..", CLI_TAKES_KEY_WORDS,
     "schedule.name",
     "one table and stacked charts (svg: charts only); times are then of a whole stage"},
    {"width", 0, CLI_VALUE, AT(width), BIT(schedule), "N|LENGTH", CLI_TAKES_TEXT, NULL,
     "columns of the Gantt chart; of an svg its width, such as 170mm"},
    {"width", 0, CLI_VALUE, AT(width), BIT(run) | BIT(diff), "LENGTH", CLI_TAKES_TEXT, NULL,
     "width of svg traces, such as 170mm"},
    {"palette", 0, CLI_VALUE, AT(palette), BIT(run) | BIT(diff) | BIT(schedule), "WHICH",
     CLI_TAKES_KEY_WORD, "output.svg",
     "of svg: traces, safe (for the colour-blind) or print (black and white)"},
    {"bubbles", 0, CLI_VALUE, AT(bubbles), BIT(run) | BIT(diff) | BIT(schedule), "HOW",
     CLI_TAKES_KEY_WORD, "output.svg.bubbles",
     "idle time in svg: shaded (by cause), named or none"},
    {"quiet", 'q', CLI_FLAG, AT(quiet), ALL, NULL, CLI_TAKES_NOTHING, NULL,
     "no remarks on standard error"},
    {"help", 'h', CLI_FLAG, AT(help), ALL, NULL, CLI_TAKES_NOTHING, NULL, "this text"},
#undef AT
};
const size_t cli_n_option_rows = sizeof(cli_option_rows) / sizeof(cli_option_rows[0]);

_Static_assert(sizeof(cli_option_rows) / sizeof(cli_option_rows[0]) <= CLI_OPTIONS_MAX,
               "CLI_OPTIONS_MAX is too small");

const struct cli_status_row cli_statuses[] = {
    {0, "done"},
    {1, "done, and the answer is no (does not fit)"},
    {2, "wrong command line"},
    {3, "bad input"},
    {4, "deadlock or internal error"},
    {0, NULL},
};
