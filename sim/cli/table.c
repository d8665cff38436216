/* table.c - see table.h. A row for each option; one that means another thing to another command has
 * another row. */
#include "sim/cli/table.h"

#include "sim/cli/cli.h"

#define BIT(name) (1u << CLI_##name)
#define FROM_FILE                                                                                  \
    (BIT(run) | BIT(check) | BIT(explain) | BIT(report) | BIT(diff) | BIT(sweep) | BIT(plan) |     \
     BIT(fleet) | BIT(calibrate) | BIT(export))
#define ALL ((1u << CLI_N_COMMANDS) - 1)

#define RUN_FILE ".yaml|.yml"

const struct cli_command_row cli_commands[CLI_N_COMMANDS] = {
    {"init", "[-o FILE]", "write a first run file, with a layout that fits", CLI_TAKES_NOTHING,
     NULL, 0,
     "Writes a commented run file for a model on a cluster. Chooses tensor and pipeline ranks, "
     "micro-batch and recomputation so that the model fits into memory. Edit the file by hand; "
     "`plan` finds the fastest layout.",
     "trainyard init --model llama2-70b --cluster dgx-a100-80g --gpus 64 -o run.yaml",
     "a run file for 64 GPUs"},
    {"run", "FILE", "simulate a training step and report it", CLI_TAKES_FILE, RUN_FILE, 1,
     "Simulates the step on every GPU. The report shows step time, where the time goes, memory and "
     "link traffic; --trace writes the timeline. Exits with 1 if a stage does not fit into its "
     "GPU.",
     "trainyard run llama-30b-256xa100.yaml --trace chrome:step.json",
     "a report, and a timeline for ui.perfetto.dev"},
    {"check", "FILE",
     "validate a run file and show its memory, without a "
     "simulation",
     CLI_TAKES_FILE, RUN_FILE, 1,
     "Reports all mistakes of a run file at once, each with its place and a fix. For a valid file "
     "it prints the cluster, the layout, memory by stage and the size of the simulation.",
     "trainyard check llama-30b-256xa100.yaml --show-config",
     "every value, its unit and where it came from"},
    {"report", "FILE -o PAGE", "one HTML page of a run or of two: timeline, memory, figures",
     CLI_TAKES_FILE, RUN_FILE, 2,
     "Writes one HTML file that needs no network. Every slice says what it is and why it started "
     "when it did. A second run file, --against or --against-set puts two runs on one time axis.",
     "trainyard report llama-30b-256xa100.yaml --against-set schedule.name=zb-1p -o page.html",
     "two schedules beside each other"},
    {"diff", "FILE FILE...", "compare runs: keys that differ, where the time goes, one timeline",
     CLI_TAKES_FILE, NULL, CLI_RUNS_MAX,
     "Compares run files, also with profiles of torch.profiler: keys, parts of the step and "
     "operations that differ. With --against-set one file is enough.",
     "trainyard diff llama-30b-256xa100.yaml --against-set layout.tensor=4",
     "what another layout changes"},
    {"explain", "FILE", "what limits a step, and fixes", CLI_TAKES_FILE, RUN_FILE, 1,
     "Compares the step with published formulas, and shows idle time by stage and cause, the "
     "critical path and stragglers. Tries possible fixes, each by another run.",
     "trainyard explain slow-gpu.yaml", "what one slow GPU costs, and fixes"},
    {"sweep", "FILE --rows CSV", "run every row of a table, or every combination of values",
     CLI_TAKES_FILE, RUN_FILE, CLI_ANY_MANY,
     "Simulates each row of a table whose columns name keys, or each combination of --over, and "
     "writes a row of results. An invalid row gets its message, and the sweep continues. --resume "
     "continues a sweep that was killed. On several machines, run --shard on each and then "
     "--merge, or use trainyard-mpi.",
     "trainyard sweep llama-30b-256xa100.yaml --over layout.tensor=2,4,8 -o table.csv",
     "a table of three runs"},
    {"plan", "FILE", "find the fastest layout that fits, with proof", CLI_TAKES_FILE, RUN_FILE,
     CLI_ANY_MANY,
     "Searches the keys of layout and schedule that the run file leaves out or sets to auto, or "
     "that --over names. Memory rules out most layouts, and a lower bound of the step time most of "
     "the others. The rest is simulated in full, so no layout of the space is better than the "
     "first one printed. Exits with 1 if no layout fits and leaves the margin free.",
     "trainyard plan first.yaml --over layout.tensor=auto --over layout.pipeline=auto --top 5",
     "the five fastest layouts of a job, and why the second is slower"},
    {"fleet", "FILE", "a whole training: failures, checkpoints, spare nodes, cost", CLI_TAKES_FILE,
     RUN_FILE, 1,
     "Simulates the step, then the training around it, as the section fleet describes. Prints the "
     "share of time that is progress and where the rest goes, by closed form and by simulation of "
     "random failures day by day. With fleet.tokens it also prints days, GPU-hours and cost.",
     "trainyard fleet llama-30b-256xa100.yaml --set fleet.tokens=1e12 --set fleet.price=2.5",
     "days and cost of a training of 1e12 tokens"},
    {"calibrate", "FILE --rows CSV", "fit keys of the run file to measured times", CLI_TAKES_FILE,
     RUN_FILE, CLI_LIST_MAX,
     "Fits constants of the cluster to step times (--rows), kernels (--operators) or logs of "
     "nccl-tests (--collectives) that were measured. Several run files with a section measured, as "
     "import log writes them, can serve as rows. The result is an overlay for --with.",
     "trainyard calibrate calibration/run.yaml --rows calibration/measured.csv --measured step_s "
     "-o ours.yaml",
     "constants of a cluster from step times on it"},
    {"import", "FORMAT FILE...", "a run file from a job's scripts, configuration, log or profile",
     CLI_TAKES_IMPORT,
     "megatron|deepspeed|torchtitan|nemo|nanotron|neox|accelerate|axolotl|llamafactory|torchtune|"
     "huggingface|log|kineto",
     CLI_LIST_MAX,
     "FORMAT names the framework that wrote the files. Turns scripts and configurations of a "
     "training job into a run file, with the origin of each value beside it. Prints every setting "
     "that has no key and every word that it does not understand. Scripts are read, never run: a "
     "value that only running would show is asked for by name. kineto reads files of "
     "torch.profiler, one per rank, or a folder of them, and writes a summary and a table for the "
     "key cluster.operators.",
     "trainyard import megatron train.sh --gpus 64 -o run.yaml",
     "a run file of the job that a script starts"},
    {"export", "chakra|goal FILE -o FOLDER", "write a step as traces for other simulators",
     CLI_TAKES_EXPORT, RUN_FILE, 2,
     "Simulates the run file and writes the operations and dependencies of its ranks: Chakra "
     "execution traces for ASTRA-sim, or GOAL for ATLAHS. README.txt beside them has the command "
     "line, the network to use, and what the format loses.",
     "trainyard export goal first.yaml -o first.goal", "a step as messages and calculations"},
    {"schedule", "NAME -p P -m M", "draw a pipeline schedule, formula beside simulation",
     CLI_TAKES_SCHEDULE, NULL, 1,
     "Draws a pipeline schedule without a model: by name, from a file of slots or PyTorch's CSV, "
     "or that of a run file (.yaml). Prints the timeline, the bubble, and how many micro-batches "
     "each rank holds.",
     "trainyard schedule zb-v -p 4 -m 8", "a zero-bubble schedule, drawn"},
    {"classroom", "-o PAGE.html", "one HTML page on which a class simulates, offline",
     CLI_TAKES_NOTHING, NULL, 0,
     "Writes one HTML file with the simulator inside: pipeline schedules with sliders, orders "
     "edited by hand, whole models on a cluster, and the lessons of docs/course with exercises. It "
     "opens from disk. A link to it keeps what it shows.",
     "trainyard classroom -o classroom.html", "the page for a class"},
    {"list", "WHAT", "list presets, keys, schedules, the schema (trainyard help list)",
     CLI_TAKES_CATALOGUE, NULL, 2, "Prints one entry a line, with its source.",
     "trainyard list keys layout", "all about the keys of a section"},
};

const struct cli_option_row cli_option_rows[] = {
#define AT(member) offsetof(struct cli_options, member)
    {"set", 0, CLI_LIST, AT(set), (FROM_FILE & ~BIT(diff)) | BIT(list), "KEY=VALUE",
     CLI_TAKES_SETTING, NULL,
     "set a key of the run file, such as layout.tensor=8; may be repeated"},
    {"set", 0, CLI_LIST, AT(set), BIT(diff), "[RUN:]KEY=VALUE", CLI_TAKES_SETTING, NULL,
     "set a key of all runs, or of one, such as B:layout.tensor=8; may be repeated"},
    {"with", 0, CLI_LIST, AT(with), FROM_FILE | BIT(list), "OVERLAY", CLI_TAKES_FILE, RUN_FILE,
     "a file of keys that override those of FILE, as calibrate writes; may be repeated"},
    {"stats", 0, CLI_VALUE, AT(stats),
     BIT(run) | BIT(diff) | BIT(plan) | BIT(fleet) | BIT(calibrate) | BIT(import), "table|json",
     CLI_TAKES_KEY_WORD, "output.stats", "form of the report"},
    {"stats", 0, CLI_VALUE, AT(stats), BIT(list), "table|json", CLI_TAKES_WORD, "table|json",
     "form of list ranks"},
    {"uncertain", 0, CLI_FLAG, AT(uncertain),
     BIT(run) | BIT(explain) | BIT(sweep) | BIT(plan) | BIT(diff), NULL, CLI_TAKES_NOTHING, NULL,
     "90 % bands, from the errors of fitted and guessed values"},
    {"model", 0, CLI_VALUE, AT(model), BIT(init), "M", CLI_TAKES_FILE, ".json",
     "one of trainyard list models, or a Hugging Face config.json; llama3-8b when left out"},
    {"cluster", 0, CLI_VALUE, AT(cluster), BIT(init), "C", CLI_TAKES_TEXT, NULL,
     "one of trainyard list clusters, or of list gpus for a machine without a preset, whose keys "
     "are then written out; dgx-h100 when left out"},
    {"gpus", 0, CLI_VALUE, AT(gpus), BIT(init), "N", CLI_TAKES_TEXT, NULL,
     "GPUs of the run file; left out: the fewest nodes that fit without recomputation"},
    {"lora", 0, CLI_VALUE, AT(lora), BIT(init), "R", CLI_TAKES_TEXT, NULL,
     "fine-tuning: adapters of rank R are trained, all weights are frozen"},
    {"qlora", 0, CLI_VALUE, AT(qlora), BIT(init), "R", CLI_TAKES_TEXT, NULL,
     "the same with frozen matrices in 4 bits"},
    {"cluster", 0, CLI_VALUE, AT(cluster), BIT(import), "C", CLI_TAKES_TEXT, NULL,
     "cluster of the job, one of trainyard list clusters; left out: a guess, marked as such"},
    {"gpus", 0, CLI_VALUE, AT(gpus), BIT(import), "N", CLI_TAKES_TEXT, NULL,
     "GPUs of the job; left out: as its files say"},
    {"env", 0, CLI_LIST, AT(env), BIT(import), "NAME=VALUE", CLI_TAKES_TEXT, NULL,
     "a variable of a script's environment, 1=VALUE its first argument; may be repeated"},
    {"gpus", 0, CLI_VALUE, AT(gpus), BIT(plan), "N,N..", CLI_TAKES_TEXT, NULL,
     "GPUs to plan for: whole nodes, or a part of one; several numbers are compared; left out: as "
     "the run file says"},
    {"top", 0, CLI_VALUE, AT(top), BIT(plan), "K", CLI_TAKES_TEXT, NULL,
     "number of layouts to print, best first; 10 when left out"},
    {"uneven", 0, CLI_VALUE, AT(uneven), BIT(plan), "N", CLI_TAKES_TEXT, NULL,
     "then repartitions the layers of up to N layouts unevenly, chooses how many layers each stage "
     "recomputes, and simulates the results"},
    {"meshes", 0, CLI_VALUE, AT(meshes), BIT(plan), "N", CLI_TAKES_TEXT, NULL,
     "then partitions layers into stages on nodes or parts of nodes of different shape, as Alpa "
     "does, and simulates the N most promising"},
    {"days", 0, CLI_VALUE, AT(days), BIT(fleet), "D", CLI_TAKES_TEXT, NULL,
     "days of each simulated training; 365 when left out"},
    {"runs", 0, CLI_VALUE, AT(runs), BIT(fleet), "N", CLI_TAKES_TEXT, NULL,
     "number of simulated trainings, each with other failures; 100 when left out"},
    {"emit", 0, CLI_VALUE, AT(emit), BIT(plan), "FRAMEWORK", CLI_TAKES_WORD,
     "megatron|deepspeed|torchtitan|yaml",
     "print the best layout as arguments of that framework, or as a run file, instead of a report"},
    {"free", 0, CLI_VALUE, AT(free), BIT(plan), "SECTIONS", CLI_TAKES_WORD, "layout|schedule",
     "search all keys of layout, schedule or both (layout,schedule), also those that the file "
     "sets"},
    {"within", 0, CLI_VALUE, AT(within), BIT(plan), "SECONDS", CLI_TAKES_TEXT, NULL,
     "stop after so many seconds, and print the best so far and how much faster the rest can be"},
    {"margin", 0, CLI_VALUE, AT(margin), BIT(plan), "SHARE", CLI_TAKES_TEXT, NULL,
     "share of memory that a recommended layout leaves free, 5 % when left out; layouts that fit "
     "with less are listed apart"},
    {"objective", 0, CLI_VALUE, AT(objective), BIT(plan), "time|cost|memory", CLI_TAKES_WORD,
     "time|cost|memory", "what to minimise: step time, GPU hours, memory of a GPU"},
    {"output", 'o', CLI_VALUE, AT(output),
     BIT(run) | BIT(check) | BIT(explain) | BIT(diff) | BIT(fleet), "PATH", CLI_TAKES_FILE, NULL,
     "where the report goes; - or left out: standard output"},
    {"output", 'o', CLI_VALUE, AT(output), BIT(report), "PAGE", CLI_TAKES_FILE, ".html",
     "path of the page (required); - is standard output"},
    {"output", 'o', CLI_VALUE, AT(output), BIT(sweep), "TABLE.csv", CLI_TAKES_FILE, ".csv",
     "where the table goes; - or left out: standard output"},
    {"output", 'o', CLI_VALUE, AT(output), BIT(plan), "FOLDER", CLI_TAKES_FILE, NULL,
     "folder of plan.json, rows.csv, best.yaml (a run file to continue with), pareto.svg and "
     "plan.html; left out: none is written"},
    {"output", 'o', CLI_VALUE, AT(output), BIT(calibrate), "OVERLAY.yaml", CLI_TAKES_FILE, RUN_FILE,
     "path of the fitted keys, a file for --with; left out: only the report is printed"},
    {"output", 'o', CLI_VALUE, AT(output), BIT(classroom), "PAGE.html", CLI_TAKES_FILE, ".html",
     "where the page goes; - or left out: standard output"},
    {"output", 'o', CLI_VALUE, AT(output), BIT(schedule), "PATH", CLI_TAKES_FILE, NULL,
     "where the drawing goes; - or left out: standard output"},
    {"output", 'o', CLI_VALUE, AT(output), BIT(init), "FILE", CLI_TAKES_FILE, NULL,
     "path of the run file, which must not exist; left out: standard output"},
    {"output", 'o', CLI_VALUE, AT(output), BIT(import), "PATH", CLI_TAKES_FILE, NULL,
     "path of the run file, - or left out: standard output; with kineto the path of the table, "
     "which is otherwise not written"},
    {"output", 'o', CLI_VALUE, AT(output), BIT(export), "FOLDER", CLI_TAKES_FILE, NULL,
     "folder of the files (required); made if it does not exist"},
    {"gpus-per-node", 0, CLI_VALUE, AT(gpus_per_node), BIT(import), "N", CLI_TAKES_TEXT, NULL,
     "ranks on a node, which sets how many nodes a group spans; 8 when left out"},
    {"run", 0, CLI_VALUE, AT(run_of_log), BIT(import), "N", CLI_TAKES_TEXT, NULL,
     "which run of a log, where it holds several; left out: the last one with steps"},
    {"steps", 0, CLI_VALUE, AT(steps), BIT(import), "SELECTION", CLI_TAKES_TEXT, NULL,
     "steps to use, by number of ProfilerStep: 3 or 2-5,7; left out: all"},
    {"against", 0, CLI_VALUE, AT(against), BIT(report) | BIT(diff), "FILE", CLI_TAKES_FILE, NULL,
     "the run to compare with"},
    {"against-set", 0, CLI_LIST, AT(against_set), BIT(report) | BIT(diff), "KEY=VALUE",
     CLI_TAKES_SETTING, NULL,
     "set a key of the run to compare with: that of --against, or FILE itself"},
    {"trace", 0, CLI_LIST, AT(trace), BIT(run) | BIT(diff), "FORMAT:PATH", CLI_TAKES_TRACE, NULL,
     "write a trace, such as chrome:step.json (.gz compresses); may be repeated"},
    {"trace", 0, CLI_LIST, AT(trace), BIT(fleet), "FORMAT:PATH", CLI_TAKES_TEXT, NULL,
     "one simulated training, as gantt (letters), svg (its days, goodput over checkpoints and "
     "size) or chrome (for viewers); may be repeated"},
    {"ranks", 0, CLI_VALUE, AT(ranks), BIT(run) | BIT(report) | BIT(diff), "SELECTION",
     CLI_TAKES_WORD, "all|one-per-stage",
     "ranks to show: all, 0-15,64, tp=0,dp=0-1, one-per-stage, slowest:8"},
    {"ranks", 0, CLI_VALUE, AT(ranks), BIT(export), "SELECTION", CLI_TAKES_WORD,
     "all|one-per-stage", "with chakra: ranks to write, as --ranks of run; left out: all"},
    {"ranks", 0, CLI_VALUE, AT(ranks), BIT(list), "SELECTION", CLI_TAKES_WORD, "all|one-per-stage",
     "with list ranks: ranks to list, as --ranks of run; left out: a summary of all"},
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
     "output.args", "details of slices; short: without what their name or row says"},
    {"flows", 0, CLI_VALUE, AT(flows), BIT(run) | BIT(diff), "p2p|none", CLI_TAKES_KEY_WORD,
     "output.flows", "arrows from sends to receives"},
    {"critical", 0, CLI_VALUE, AT(critical), BIT(run), "path|none", CLI_TAKES_KEY_WORD,
     "output.critical",
     "the critical path in chrome and perfetto traces: a row of its own, or none"},
    {"no-bubbles", 0, CLI_FLAG, AT(no_bubbles), BIT(run) | BIT(diff), NULL, CLI_TAKES_NOTHING, NULL,
     "leave idle time empty in traces"},
    {"force", 0, CLI_FLAG, AT(force), BIT(run) | BIT(diff), NULL, CLI_TAKES_NOTHING, NULL,
     "write traces beyond output.trace_limit"},
    {"engine", 0, CLI_VALUE, AT(engine),
     BIT(run) | BIT(report) | BIT(diff) | BIT(explain) | BIT(fleet) | BIT(export),
     "auto|sweep|events", CLI_TAKES_KEY_WORD, "run.engine", "which executor"},
    {"suggest", 0, CLI_VALUE, AT(suggest), BIT(run), "SECONDS", CLI_TAKES_TEXT, NULL,
     "seconds to search for changes that make a run fit; 1 when left out, 0: no search"},
    {"unit", 0, CLI_VALUE, AT(unit), BIT(export), "ns", CLI_TAKES_WORD, "ns",
     "with goal: time in ns, for packet simulators; left out: as LogGOPSim in ATLAHS needs it"},
    {"seed", 0, CLI_SEED, AT(seed), FROM_FILE, "N", CLI_TAKES_TEXT, NULL,
     "the same as --set run.seed=N"},
    {"show-config", 0, CLI_FLAG, AT(show_config), BIT(check), NULL, CLI_TAKES_NOTHING, NULL,
     "every value with its unit and where it came from"},
    {"traffic", 0, CLI_FLAG, AT(traffic), BIT(check), NULL, CLI_TAKES_NOTHING, NULL,
     "which groups use which class of link, and their bytes per step"},
    {"rows", 0, CLI_VALUE, AT(rows), BIT(sweep) | BIT(calibrate), "CSV", CLI_TAKES_FILE, ".csv",
     "table whose columns name keys of the run file"},
    {"over", 0, CLI_LIST, AT(over), BIT(plan), "KEY=V1,V2,..", CLI_TAKES_SETTINGS, NULL,
     "values of a key to search, one of model or run included; auto: all sensible ones; "
     "schedule.name=all: every synchronous schedule"},
    {"over", 0, CLI_LIST, AT(over), BIT(sweep), "KEY=V1,V2,..", CLI_TAKES_SETTINGS, NULL,
     "values of a key; repeated: all valid combinations"},
    {"jobs", 'j', CLI_VALUE, AT(jobs),
     BIT(run) | BIT(sweep) | BIT(plan) | BIT(fleet) | BIT(calibrate) | BIT(explain) | BIT(report),
     "N", CLI_TAKES_TEXT, NULL, "threads; one per core when left out"},
    {"resume", 0, CLI_FLAG, AT(resume), BIT(sweep) | BIT(plan), NULL, CLI_TAKES_NOTHING, NULL,
     "keep the rows that a killed run finished"},
    {"shard", 0, CLI_VALUE, AT(shard), BIT(sweep) | BIT(plan), "I/N", CLI_TAKES_TEXT, NULL,
     "only the I-th of N shards, such as 2/8: rows I, I + N, I + 2 N and so on; merge them later"},
    {"merge", 0, CLI_FLAG, AT(merge), BIT(sweep) | BIT(plan), NULL, CLI_TAKES_NOTHING, NULL,
     "combine the tables of all shards, named after FILE; one row of each is simulated again as a "
     "check"},
    {"measured", 0, CLI_VALUE, AT(measured), BIT(calibrate), "COLUMN", CLI_TAKES_TEXT, NULL,
     "column of --rows with measured step times, in seconds or with a unit"},
    {"operators", 0, CLI_VALUE, AT(operators), BIT(calibrate), "CSV", CLI_TAKES_FILE, ".csv",
     "measured kernels, as for cluster.operators"},
    {"collectives", 0, CLI_VALUE, AT(collectives), BIT(calibrate), "LOG,LOG..", CLI_TAKES_FILE,
     NULL, "logs of nccl-tests, as for cluster.collectives.measured"},
    {"fit", 0, CLI_VALUE, AT(fit), BIT(calibrate), "KEY,KEY..", CLI_TAKES_KEYS, NULL,
     "keys to fit; left out: those that the measurements depend on"},
    {"prior", 0, CLI_VALUE, AT(prior), BIT(calibrate), "SHARE", CLI_TAKES_WORD, "none",
     "expected error of a key's start value (20 %), or none"},
    {"group", 0, CLI_VALUE, AT(group), BIT(calibrate), "COLUMN", CLI_TAKES_TEXT, NULL,
     "columns of --rows that form groups, each left out once to judge the fit; left out: the "
     "model.* columns"},
    {"pipeline", 'p', CLI_VALUE, AT(pipeline), BIT(schedule), "P", CLI_TAKES_TEXT, NULL,
     "pipeline ranks"},
    {"micro-batches", 'm', CLI_VALUE, AT(micro_batches), BIT(schedule), "M", CLI_TAKES_TEXT, NULL,
     "micro-batches"},
    {"chunks", 'v', CLI_VALUE, AT(chunks), BIT(schedule), "V", CLI_TAKES_TEXT, NULL,
     "virtual stages per rank"},
    {"group", 0, CLI_VALUE, AT(group), BIT(schedule), "G", CLI_TAKES_TEXT, NULL,
     "micro-batch group of interleaved schedules; zb-1p: most that wait for W"},
    {"slices", 0, CLI_VALUE, AT(slices), BIT(schedule), "Q", CLI_TAKES_TEXT, NULL,
     "slices of a sequence (seq1f1b)"},
    {"times", 0, CLI_VALUE, AT(times), BIT(schedule), "F=1,B=2,C=0", CLI_TAKES_TEXT, NULL,
     "forward, backward (I and W its parts), FB an overlapped slot, C delay of a message"},
    {"stages", 0, CLI_VALUE, AT(stages), BIT(schedule), "1,1,1.5,1", CLI_TAKES_TEXT, NULL,
     "factor on the time of each virtual stage"},
    {"format", 0, CLI_VALUE, AT(format), BIT(schedule), "gantt|svg|slots|csv|json|html",
     CLI_TAKES_WORD, "gantt|svg|slots|csv|json|html",
     "form of the output (html: the classroom with it); left out: by the ending of PATH, else "
     "gantt"},
    {"compare", 0, CLI_VALUE, AT(compare), BIT(schedule), "NAME,NAME,..", CLI_TAKES_KEY_WORDS,
     "schedule.name",
     "one table and stacked charts (svg: charts only); times are those of a whole stage"},
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
    {3, "bad input, a file that cannot be written, or more than this machine has"},
    {4, "deadlock, exhausted memory or internal error"},
    {129, "the terminal is gone (SIGHUP)"},
    {130, "interrupted (SIGINT, Ctrl-C)"},
    {141, "the reader of a pipe is gone (SIGPIPE)"},
    {143, "terminated (SIGTERM)"},
    {0, NULL},
};
