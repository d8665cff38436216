/* trainyard.h - the public interface: simulate the training of large language models on GPU
 * clusters.
 *
 *     ty_config_load -> ty_run_new -> ty_run_execute -> ty_run_figure, ty_run_report, ty_run_tasks,
 *     a run file        its plan      its timeline      ty_run_trace, ty_run_page, ty_diff_report
 *
 * Configuration, run, recording, tasks, error: five kinds of objects, and nothing global. No
 * function prints, ends the process or changes what it has of others: locale, signals, environment;
 * but the error handler of GSL, which would end the process, is turned off for good.
 *
 * Results. Functions that can fail return 0 or a negative code and take the error object last,
 * which may be NULL; it has the message then, ready to print, with file, line and column where
 * there is a file. Messages add up: after a failure that was dealt with, ty_err_clear. "(2)" is a
 * failure of exit status 2, by ty_err_exit_status. On failure what would have come back is NULL.
 * Any function may fail with exhausted memory (4). Arguments may be NULL where that is said.
 *
 * Ownership. An object is freed by the function of its noun, a `char **` that was filled by
 * ty_text_free; both take NULL. Arguments are looked at during the call, and no pointer to them is
 * kept, but for three: a configuration must outlive its runs, what ty_run_progress was given the
 * executions that tell it, and the word of ty_run_stop its run. A `const char *` that comes back is
 * the object's it was asked of, and lives as long, unless it is said otherwise. Texts are UTF-8 and
 * end with a zero.
 *
 * Units. Names say them: _ps picoseconds, _s seconds, _B bytes; a ratio has none and is a share,
 * 0..1. Ranks, stages, steps, layers, micro-batches count from 0. "[n]" is an array's length.
 *
 * Threads. Different objects may be used on different threads at the same time; one object, also a
 * const one, by one thread at a time. But a configuration is only read by its runs: they may be
 * made, executed and asked on several threads at once.
 *
 * Files. One gets its name when it is whole; before, nothing is there, or what was. "-" is standard
 * output, or input where something is read.
 *
 * What figures mean and where the models come from: docs/formats.md, docs/model.md. */
#ifndef TRAINYARD_H
#define TRAINYARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exported from the shared library; everything else is hidden. */
#if defined(__GNUC__) || defined(__clang__)
#define TY_API __attribute__((visibility("default")))
#else
#define TY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* MAJOR.MINOR.PATCH; docs/versions.md says what they promise. The build reads it here. */
#define TRAINYARD_VERSION "0.1.0"

/* The version of the library that is loaded, which may be another than the header's. Static. */
TY_API const char *ty_version(void);

struct ty_err;
struct ty_config;
struct ty_run;

/* ---- errors ---- */

/* An error object without messages; NULL when memory is exhausted, which every function takes. */
TY_API struct ty_err *ty_err_new(void);
TY_API void ty_err_free(struct ty_err *err);
/* Forgets all messages. Of NULL nothing. */
TY_API void ty_err_clear(struct ty_err *err);

/* The messages of all calls since the object was new or cleared, up to 20, in lines; "" when there
 * are none. Of NULL, that memory is exhausted. Lives until the object is used again. */
TY_API const char *ty_err_text(const struct ty_err *err);

/* What the command line ends with, by the first of these messages: 0 none; 1 the question was
 * answered, and the answer is no; 2 an argument is wrong, or comes at the wrong time; 3 a file is
 * wrong, cannot be read or written, or asks for more than this machine has; 4 a deadlock of the
 * schedule, exhausted memory, or an internal error. Of NULL 4. */
TY_API int ty_err_exit_status(const struct ty_err *err);

TY_API void ty_text_free(char *text);
/* Makes a text fit to be shown, in place, as all texts of this library are: what is no UTF-8, what
 * controls a terminal or turns the direction of writing becomes "?"; line ends stay. Returns it. */
TY_API char *ty_text_plain(char *text);

/* Writes text to a file; compressed where the path ends in ".gz". (3) */
TY_API int ty_text_write(const char *text, const char *path, struct ty_err *err);
/* Whether a file could be written there, found by trying; to be called before a long run. (3) */
TY_API int ty_path_check(const char *path, struct ty_err *err);

/* The entry of names[n] that a misspelt word most likely means, or NULL; names[i] may be NULL. */
TY_API const char *ty_suggest(const char *word, const char *const *names, size_t n);

/* ---- configuration ---- */

/* Reads a run file. Presets are applied, defaults filled, values checked; nothing is planned.
 * sets[n_sets] are "section.key=value" texts, applied over the file (NULL for none of them). All
 * that is wrong is collected, with its places. (2) for a setting that is none, (3). */
TY_API int ty_config_load(struct ty_config **config, const char *path, const char *const *sets,
                          size_t n_sets, struct ty_err *err);
TY_API void ty_config_free(struct ty_config *config);

/* What a configuration is read from, the weakest first: a run file, overlays (files of the same
 * form with the keys that differ, such as a calibration writes), settings. */
struct ty_source {
    const char *path;        /* of the run file, or, with `text`, how messages call it */
    const char *text;        /* the run file itself; NULL: it is read */
    const char *const *with; /* [n_with] paths */
    size_t n_with;
    const char *const *sets; /* [n_sets] "section.key=value" */
    size_t n_sets;
    size_t n_against; /* of sets, the last ones: messages call them --against-set, not --set */
};

/* As ty_config_load. */
TY_API int ty_config_read(struct ty_config **config, const struct ty_source *source,
                          struct ty_err *err);

/* Every value with its unit and where it came from, one line a key. */
TY_API int ty_config_show(const struct ty_config *config, char **text, struct ty_err *err);

/* The path of the i-th file that it was read from or names: run file, overlays, tables, logs,
 * schedules, those of other jobs; NULL after the last. Writing to one would destroy what the next
 * run needs. */
TY_API const char *ty_config_input(const struct ty_config *config, size_t i);

/* What is right and still may not be meant, a line each: keys of a file that stay over a preset
 * named later. "": nothing. */
TY_API int ty_config_remarks(const struct ty_config *config, char **text, struct ty_err *err);

/* What the run file's section `output` asks for: the form of the report, "table" or "json"; the
 * i-th "FORMAT:PATH" of its traces, NULL after the last. */
TY_API const char *ty_config_stats_format(const struct ty_config *config);
TY_API const char *ty_config_trace(const struct ty_config *config, size_t i);

/* ---- runs ---- */

/* Plans: cluster, model, layout and schedule become a program. (3), with a place in the run file,
 * when parts do not fit together, or when this machine has no room to execute it, of ranks that
 * cannot differ one. */
TY_API int ty_run_new(struct ty_run **run, const struct ty_config *config, struct ty_err *err);

/* The same for ty_run_describe, ty_run_peak_memory, ty_run_fits and ty_run_execute_figures: ranks
 * that repeat others on other nodes are planned when the run is executed in another way, so that
 * the number of GPUs costs next to nothing. (2) from what looks at single ranks before. */
TY_API int ty_run_outline(struct ty_run **run, const struct ty_config *config, struct ty_err *err);
TY_API void ty_run_free(struct ty_run *run);

/* Called now and then with the share of the work that is done, by the thread that asked for it. */
typedef void ty_progress_fn(void *arg, double share);

/* Whom later calls of ty_run_execute tell, with `arg`; NULL: nobody. */
TY_API void ty_run_progress(struct ty_run *run, ty_progress_fn *progress, void *arg);

/* What ends later executions, and the runs that explanations and bands make: a word that becomes
 * other than 0, from any thread or a signal handler. (3) from them. NULL: nothing does. */
TY_API void ty_run_stop(struct ty_run *run, const volatile int *stop);

/* Threads that execute and draw: statistics of many ranks, files of traces, variants that
 * explanations and pages try; 0, as at first: one per core. */
TY_API void ty_run_threads(struct ty_run *run, uint32_t threads);

/* Executes the plan by "sweep", "events" or "auto", the faster of those that are exact for it;
 * NULL: as run.engine says. May be called again; what the execution before had is gone then. (2)
 * for another engine, which leaves all as it was; (3) when this machine has no room for it; (4) for
 * a deadlock, see ty_run_halted. */
TY_API int ty_run_execute(struct ty_run *run, const char *engine, struct ty_err *err);

/* The same for figures and reports, which are those of ty_run_execute to the last digit: of ranks
 * that cannot differ one is executed, and what ty_run_outline made of a few stays that. (2) from
 * whatever shows single ranks after it: traces, pages, tasks, explanations, comparisons. */
TY_API int ty_run_execute_figures(struct ty_run *run, const char *engine, struct ty_err *err);

/* True when the last execution ended in a deadlock: there are traces and pages of what ran before,
 * and neither reports, figures nor tasks. */
TY_API bool ty_run_halted(const struct ty_run *run);
/* Not negative when there is a report of that name; to be called before a long run. (2) */
TY_API int ty_run_report_check(const char *format, struct ty_err *err);

/* The report of an executed run: "table", for people, or "json". (2) for other names, and before
 * execution. */
TY_API int ty_run_report(const struct ty_run *run, const char *format, char **text,
                         struct ty_err *err);

/* The JSON report without what would make a run fit, which takes many plans. */
TY_API int ty_run_report_brief(const struct ty_run *run, char **text, struct ty_err *err);

/* Gives the reports of an executed run a 90 % band, by runs of its source with each value that may
 * be off (section `uncertainty`) moved. (2) before execution, and for standard input; (3). */
TY_API int ty_run_uncertain(struct ty_run *run, const struct ty_source *source, struct ty_err *);

/* One figure of an executed run: by the name and in the unit that ty_list("figures") has, such as
 * "step_time_s" or "mfu", or a part of the step, as "breakdown.exposed_data". (2) for another name,
 * for one that the run file asks nothing about, and before execution. */
TY_API int ty_run_figure(const struct ty_run *run, const char *name, double *value,
                         struct ty_err *err);

/* How many pipeline stages a plan has. */
TY_API uint32_t ty_run_stages(const struct ty_run *run);
/* Bytes that a GPU of a stage holds at its fullest moment, by the plan. (2) for a stage that is not
 * there. */
TY_API int ty_run_peak_memory(const struct ty_run *run, uint32_t stage, double *bytes,
                              struct ty_err *err);

/* True when every stage of a plan fits into its GPUs' memory. */
TY_API bool ty_run_fits(const struct ty_run *run);

/* What an executed run did, as columns: row i of every column is one task (an operation of one
 * rank), rank by rank in rising order, each in its order of issue. All of it belongs to the object
 * and lives until ty_tasks_free, also when the run is gone. */
struct ty_tasks {
    size_t n;                 /* rows: length of every column */
    const uint64_t *start_ps; /* from the start of the run */
    const uint64_t *dur_ps;
    const uint32_t *rank; /* global rank */
    const uint32_t *kind; /* index into kind_names: "qkv", "all-reduce", ... */
    const uint32_t *pass; /* number of the pass within the rank; its tasks follow one another */
    const uint16_t *micro_batch; /* of the pass; 0 in that of the optimizer */
    const uint16_t *stage;       /* of the pass, virtual */
    const uint16_t *step;        /* of the pass */
    const uint16_t *layer;       /* global number; 65535: none */
    const uint8_t *stream;       /* index into stream_names: tasks of one never overlap */
    const uint8_t *phase;        /* index into phase_names: "forward", ... */
    const uint8_t *category;     /* index into category_names: "compute.forward", "comm.tp", ... */
    const char *const *kind_names;
    const char *const *stream_names;
    const char *const *phase_names;
    const char *const *category_names;
    uint32_t n_kinds, n_streams, n_phases, n_categories; /* lengths of these */
};

/* Columns of the ranks selected as in ty_trace_options.ranks (NULL: all up to 32, one data-parallel
 * replica above). 39 bytes a task. (2) for ranks that are not there, and before execution; (3) when
 * this machine has no room for them. */
TY_API int ty_run_tasks(const struct ty_run *run, const char *ranks, struct ty_tasks **tasks,
                        struct ty_err *err);
TY_API void ty_tasks_free(struct ty_tasks *tasks);

/* Where the time of an executed run goes, and what changes of layout, schedule, stack and hardware
 * do, each by another run. For people. (2) before execution. */
TY_API int ty_run_explain(const struct ty_run *run, char **text, struct ty_err *err);

struct ty_fleet_request {
    double days;   /* of a history; 0: 365, of one that is shown 30 */
    uint32_t runs; /* histories; 0: 100 */
    uint32_t jobs; /* threads; 0: one per core */
    const char
        *form; /* "table" (NULL) or "json"; one history: "gantt" in letters, "svg" with goodput
                       * over checkpoints and size, "chrome" for viewers */
};
/* The whole training of which an executed run is a step, as the section `fleet` says: failures,
 * checkpoints, spares, what they leave of the time, in closed form and played. (2) before
 * execution, and for other forms; (3). */
TY_API int ty_run_fleet(const struct ty_run *run, const struct ty_fleet_request *request,
                        char **report, struct ty_err *err);

/* The operators of each kind of layer of a planned run, as one rank does them; for people. */
TY_API int ty_run_layers(const struct ty_run *run, char **text, struct ty_err *err);

/* What a plan is: cluster, layout, tasks, memory bill. Who talks over which class of link, and how
 * many bytes a step. For people; (3), (4) where a schedule file is wrong or would deadlock. */
TY_API int ty_run_describe(const struct ty_run *run, char **text, struct ty_err *err);
TY_API int ty_run_traffic(const struct ty_run *run, char **text, struct ty_err *err);

/* ---- traces ---- */

/* What a trace shows. NULL and false mean the default: where there is such a key in the section
 * `output`, what the run file says. docs/formats.md has what each does. */
struct ty_trace_options {
    const char *ranks;  /* "all", "0-15,64", "dp=0", "tp=0,dp=0", "one-per-stage", "slowest:8" */
    const char *detail; /* "stage", "microbatch", "layer", "op" */
    const char *window; /* "1.5 s:2 s", either side may be empty; all of it */
    const char *order;  /* of ranks: "stage" by default, "rank", "node" */
    bool no_bubbles;    /* idle time is left empty */
    bool force;         /* written beyond output.trace_limit */
    const volatile int *stop; /* when it becomes other than 0 (a signal handler may set it), the
                               * writing fails (3), and the file is not there */
    const char *counters;     /* "all", "memory", "net", "none" */
    const char *steps;        /* "2" or "2-3", counted from 0: a window of whole steps */
    const char *args;         /* of slices: "full", "short", "none" */
    const char *flows;        /* arrows: "p2p", "none" */
    const char *critical;     /* "path", "none" */
    ty_progress_fn *progress; /* of the writing; NULL: nobody is told */
    void *progress_arg;
    const char *width, *palette, *bubbles; /* of pictures: "170 mm"; "traces", "safe", "print";
                                            * "shaded", "named", "none" */
};

/* `options` may be NULL for the defaults of all. `target` is "FORMAT:PATH", "chrome:step.json.gz";
 * ty_list("formats") has the formats. (2) for options or a target that cannot be. */

/* Whether a trace could be asked for like this, and written; to be called before a long run.
 * Without a target (NULL) only the options are looked at. (2), (3) where nothing can be written. */
TY_API int ty_run_trace_check(const struct ty_run *run, const char *target,
                              const struct ty_trace_options *options, struct ty_err *err);

/* Writes a trace of an executed or halted run. `note` (may be NULL) receives a line for the user:
 * where the file is, how large, and which ranks were chosen; NULL for standard output. (3) also for
 * one larger than output.trace_limit. */
TY_API int ty_run_trace(const struct ty_run *run, const char *target,
                        const struct ty_trace_options *options, char **note, struct ty_err *err);

/* About how many bytes a trace will have, before compression; 0 where it is small. Within a factor
 * of 1.5 of an executed run; before, idle time and links are guessed. `advice` receives a line when
 * that is much for a viewer: what would be less; else NULL. */
TY_API int ty_run_trace_size(const struct ty_run *run, const char *target,
                             const struct ty_trace_options *options, double *bytes, char **advice,
                             struct ty_err *err);

/* ---- a page ---- */

/* One of the runs that a page shows. */
struct ty_page_run {
    const struct ty_run *run;
    const char *name;    /* of its run file, for the reader */
    const char *trouble; /* of a halted run: the messages; NULL */
};

/* NULL: the default of each, or of all where there are no options. */
struct ty_page_options {
    const char *command; /* the line that made the page, to be shown in it */
    const char *ranks;   /* as in ty_trace_options; NULL: one of each stage */
    const char *detail;  /* as in ty_trace_options; NULL: "microbatch" */
    const char *order;   /* as in ty_trace_options */
    const volatile int *stop;
};

/* Whether a page could be asked for like this; to be called before a long run. (2) */
TY_API int ty_run_page_check(const struct ty_run *run, const struct ty_page_options *options,
                             struct ty_err *err);

/* Writes runs[n], executed or halted, as one HTML file that needs no other: two or more share a
 * time axis. `note` receives a line for the user, or NULL where the page is standard output. (2)
 * for runs that were not executed, (3). */
TY_API int ty_run_page(const struct ty_page_run *runs, size_t n, const char *path,
                       const struct ty_page_options *options, char **note, struct ty_err *err);

/* ---- runs aligned ---- */

/* What PyTorch's profiler recorded: a Kineto file (.json, .json.gz), or a folder with one for each
 * rank. */
struct ty_recording;
TY_API bool ty_recording_named(const char *path); /* whether the path is of such a file or folder */

/* Reads one. (3), with file, line and column. */
TY_API int ty_recording_read(struct ty_recording **recording, const char *path, struct ty_err *err);
TY_API void ty_recording_free(struct ty_recording *recording);

/* One of the runs that are compared: simulated, or measured. */
struct ty_diff_run {
    const struct ty_run *run;             /* NULL: measured */
    const struct ty_recording *recording; /* NULL: simulated */
    const char *name;                     /* for the reader */
};

/* The others against the first of runs[n], 2 to 8 of them: which keys differ, where the time of a
 * step goes in each, what operations take; "table" or "json". (2) for runs that were not executed
 * to their end, or too many. */
TY_API int ty_diff_report(const struct ty_diff_run *runs, size_t n, const char *format, char **text,
                          struct ty_err *err);

/* As ty_run_trace_check, of one timeline of them all. */
TY_API int ty_diff_trace_check(const struct ty_diff_run *runs, size_t n, const char *target,
                               const struct ty_trace_options *options, struct ty_err *err);

/* Writes one timeline of all of them, executed or halted, that begin together: as ty_run_trace,
 * with the first run file's section `output`. Ranks take turns (the first of each run, the second,
 * ...); with the order "run" those of a run stay together. */
TY_API int ty_diff_trace(const struct ty_diff_run *runs, size_t n, const char *target,
                         const struct ty_trace_options *options, char **note, struct ty_err *err);

/* ---- many runs ---- */

/* Processes that answer one question together, on one machine or on many that share a file system:
 * each makes the same call with the same options, but for its number. How they reach each other is
 * up to whoever starts them (trainyard-mpi: by MPI). `take` and `tell` may be called by several
 * threads at once, the others by one. A call fails without a message where another member's has
 * one. */
struct ty_crew {
    uint32_t member, n; /* this process, of so many; the first writes the result */
    void *arg;          /* of the functions */
    /* Hands out the next `pieces` of the work to nobody else: the number of the first, counted from
     * 0 since all last met, without end. */
    uint64_t (*take)(void *arg, uint32_t pieces);
    /* Waits for all members. True: all came with `good`. After false nobody may call anything. */
    bool (*meet)(void *arg, bool good);
    /* Gives each of `bytes` all bits that it has with any member. All call it, as they meet. */
    void (*combine)(void *arg, void *bytes, size_t n);
    /* Tells every other member what each of them will hear once: before long, and surely when it
     * asks after all have met. Both NULL: in a plan's search nobody hears of what others have found
     * before they meet, which they then do more often. */
    void (*tell)(void *arg, const void *bytes, size_t n);
    /* Takes what another member has told, of the size that is asked for; false: nothing is here. */
    bool (*hear)(void *arg, void *bytes, size_t n);
};

struct ty_sweep_options {
    const char *path;        /* run file; "-": standard input, unless there is a crew */
    const char *text;        /* the run file itself, which messages then call `path`; NULL: none */
    const char *rows;        /* CSV whose columns name keys; NULL: `over` */
    const char *const *over; /* [n_over] "KEY=V1,V2": all combinations, the last varies fastest */
    size_t n_over;
    const char *const *with; /* [n_with] overlays of the run file */
    size_t n_with;
    const char *const *sets; /* [n_sets] for every row, under what the row says */
    size_t n_sets;
    const char *output; /* CSV; NULL: standard output */
    uint32_t jobs;      /* threads; 0: one per core */
    bool resume;        /* keep the finished rows of an earlier call's output.partial; a file */
    uint32_t shard;     /* 1 .. n_shards: only every n_shards-th row, from this one on */
    uint32_t n_shards;  /* 0: all rows */
    const char *const *merge; /* [n_merge] outputs of shards: put together, nothing is simulated */
    size_t n_merge;
    bool uncertain;           /* with 90 % bands, and which rows cannot be told from the fastest */
    const volatile int *stop; /* when it becomes other than 0 (a signal handler may set it), no
                               * further row is begun and the sweep fails (3); output.partial keeps
                               * finished ones, to be resumed */
    struct ty_sweep_summary *summary; /* filled when not NULL */
    ty_progress_fn *progress;         /* one call at a time, from any thread; or NULL */
    void *progress_arg;
    const struct ty_crew *crew; /* with whom rows are shared; NULL: nobody */
};

/* What is in the table: rows that this call simulated, and those kept of an earlier one. */
struct ty_sweep_summary {
    uint32_t n_rows, n_kept;          /* simulated by this call, kept by resume */
    uint32_t n_fit, n_not, n_invalid; /* of both: fit, do not, have an error */
    uint32_t fastest; /* number of the row that fits with most tokens a second, from 1; 0: none */
    double fastest_s; /* its step time */
    char *best;       /* the five fastest that fit, a table; to be freed; NULL: none */
    char left_out[1024]; /* combinations of `over` that cannot be, counted, and why; "": none */
    char remark[512];    /* lines for the user, about columns and earlier rows; "" */
};

/* Simulates every row and writes a table: one output row per row, in order, with the figures or the
 * error of its run, whatever the threads. A row that cannot be run is no failure of the call; (2)
 * for options that cannot be, and for an output that a row reads, (3) for a table that is wrong or
 * a file that cannot be written. */
TY_API int ty_sweep_rows(const struct ty_sweep_options *options, struct ty_err *err);

/* ---- the best layout ---- */

struct ty_plan_options {
    struct ty_source source; /* run file, overlays, settings; "-" will not do for a crew */
    const char *gpus;        /* "64,128": each is searched; NULL: those of the run file */
    const char *const *over; /* [n_over] "KEY=V1,V2": values that are searched of a key */
    size_t n_over;
    const char *objective;    /* "time" (NULL), "cost", "memory" */
    uint32_t top;             /* rows; 0: ten */
    uint32_t uneven;          /* layouts whose layers are then repartitioned unevenly, and of each
                               * stage as many recomputed as memory asks for; 0: none */
    uint32_t meshes;          /* cuts into stages on parts of the machine of different shape that
                               * are then simulated; 0: none */
    uint32_t jobs;            /* threads; 0: one per core */
    uint32_t shard;           /* 1 .. n_shards: only every n_shards-th row, from this one on */
    uint32_t n_shards;        /* 0: all rows */
    const char *const *merge; /* [n_merge] rows.csv of shards, whose rows are kept */
    size_t n_merge;
    const char *folder;       /* for plan.json, rows.csv, best.yaml and pictures; NULL: nowhere */
    bool resume;              /* keep the rows that an earlier call left in the folder */
    const char *stats;        /* "table" (NULL) or "json" */
    const char *emit;         /* "yaml": in place of a report the best layout as a run file, or
                               * NULL: the report */
    const volatile int *stop; /* when it becomes other than 0 (a signal handler may set it), the
                               * report is of the best so far, and says so */
    bool *stopped;            /* whether that ended the search before it was done; or NULL */
    ty_progress_fn *progress; /* one call at a time, from any thread; or NULL */
    void *progress_arg;
    const struct ty_crew *crew; /* with whom the search is shared, which then needs a folder; the
                                 * report is the first member's, others have ""; NULL: nobody */
};

/* Searches the layouts that the run file leaves open (docs/plan.md) for the best: nothing of the
 * space can be better, unless the report says that it is not exact. (1) where nothing fits, with
 * what comes nearest; (2) for options that cannot be, (3). */
TY_API int ty_plan(const struct ty_plan_options *options, char **report, struct ty_err *err);

/* ---- calibration ---- */

struct ty_calibrate_options {
    struct ty_source source; /* run file, overlays, settings; standard input will not do */
    /* What was measured, exactly one of three: */
    const char *rows;        /* step times: CSV as for a sweep, ... */
    const char *measured;    /* ... its column of times: seconds, or with a unit */
    const char *operators;   /* kernels: CSV as for cluster.operators */
    const char *collectives; /* "a.log,b.log": logs of nccl-tests */
    const char *fit;         /* "cluster.derate,cluster.nic_efficiency"; NULL: what the rows tell */
    const char *group;       /* of rows: column, each value is left out in turn; NULL: model.* */
    double prior;            /* standard deviation of a key's logarithm; 0: none */
    const char *stats;       /* "table" or "json"; NULL: table */
    const char *output;      /* where the caller will write the overlay; NULL: nowhere */
    uint32_t jobs;           /* threads; 0: one per core */
    /* Called now and then by the calling thread, with what is being done; or NULL. */
    void (*progress)(void *arg, const char *line);
    void *progress_arg;
};

/* Fits keys of the run file to measured times (docs/calibration.md). `report` says how well,
 * `overlay` is the text of a file of the fitted keys for ty_source.with. (2) for options that
 * cannot be, and for an output that the fit reads, (3) for measurements that are wrong or too
 * few. */
TY_API int ty_calibrate(const struct ty_calibrate_options *options, char **report, char **overlay,
                        struct ty_err *err);

/* ---- traces for other simulators ---- */

struct ty_export_options {
    const char *format; /* "chakra" (ASTRA-sim), "goal" (LogGOPSim) */
    const char *folder; /* that the files go into; made where there is none */
    const char *ranks;  /* as in ty_trace_options; NULL: all. GOAL has all */
    const volatile int *stop;
};

/* Whether an export could be asked for like this; to be called before a long run. (2); (3) for a
 * format that was not built in. */
TY_API int ty_run_export_check(const char *format, const char *ranks, struct ty_err *err);

/* Writes what the ranks of a run that ty_run_execute executed do, with what they wait for: files
 * that the other simulator reads, and README.txt, which says how. `note` receives a line for the
 * user. (2) for what cannot be asked for, (3). */
TY_API int ty_run_export(const struct ty_run *run, const struct ty_export_options *options,
                         char **note, struct ty_err *err);

/* ---- measured profiles ---- */

struct ty_import_options {
    const char *const *paths; /* [n_paths] files of torch.profiler, one a rank, or their folders */
    size_t n_paths;
    uint32_t gpus_per_node; /* how ranks lie on nodes; 0: 8 */
    const char *steps;      /* "2-5,7": numbers of ProfilerStep; NULL: all that was recorded */
    const char *stats;      /* "table" or "json"; NULL: table */
};

/* What was measured as a summary, and as a table of kernels and collectives for the key
 * cluster.operators (CSV). (2) for options that cannot be, (3), with file, line and column. */
TY_API int ty_import_kineto(const struct ty_import_options *options, char **report, char **table,
                            struct ty_err *err);

/* ---- files of other stacks ---- */

/* A text of YAML or JSON as a tree in JSON, for programs that read files of other stacks; `name` is
 * for messages. [ROOT], or [ROOT, [line, column, key]] with a key that came twice: the last one
 * counts. A node is [line, column, VALUE, quoted]; VALUE is a text or null, a list of nodes, or an
 * object of [line, column, node] with the place of each key. ROOT is null of an empty text. (3) */
TY_API int ty_foreign_tree(const char *name, const char *text, char **json, struct ty_err *err);

/* The section `model` that a Hugging Face config.json describes, a line a key, and lines about what
 * is not understood. (3) */
TY_API int ty_foreign_model(const char *path, char **lines, char **remarks, struct ty_err *err);

/* Whether a run file without a model, for --with behind another, has values that can be. (3) */
TY_API int ty_foreign_overlay(const char *name, const char *text, struct ty_err *err);

/* A run file as it counts, in JSON: [{"section.key": "value"}, {figures that follow from these}].
 * (3) */
TY_API int ty_foreign_values(const char *name, const char *text, char **json, struct ty_err *err);

/* ---- schedules without a model ---- */

struct ty_schedule_options {
    const char *name; /* of a schedule, or the path of a schedule file */
    const char *text; /* a schedule file itself, which messages then call `name`; NULL: none */
    uint32_t pipeline, micro_batches;
    uint32_t chunks;    /* virtual stages per rank; 0: what the schedule needs */
    uint32_t group;     /* micro-batch group of interleaved schedules; 0: pipeline */
    uint32_t slices;    /* of a sequence; 0: what the schedule needs */
    const char *times;  /* "F=1,B=2,I=1,W=1,FB=3,C=0": durations per virtual stage; NULL: these */
    const char *stages; /* "1,1,1.5,1": of each virtual stage, how many times as long; NULL: 1 */
    const char *format; /* "gantt" (NULL), "svg", "slots", "csv" (PyTorch), "json" */
    uint32_t width;     /* columns for the Gantt; 0: as many as needed, up to 160 */
    const char *svg_width, *palette, *bubbles; /* of an svg, as in ty_trace_options; or NULL */
};

/* One schedule in one of the formats. (2) for options that cannot be; (3), (4) for a schedule file
 * that is wrong or would deadlock. */
TY_API int ty_schedule_show(const struct ty_schedule_options *options, char **text,
                            struct ty_err *err);

/* Of two passes that overlap, in one slot of a rank's order, each has a row. */
enum ty_slot_half {
    TY_SLOT_WHOLE,
    TY_SLOT_FIRST,
    TY_SLOT_SECOND
};

/* What the ranks of a schedule do when, as columns: a row for every pass, rank by rank, in the
 * order of each. All of it belongs to the object. */
struct ty_schedule_passes {
    size_t n;               /* rows: length of every column */
    const double *start;    /* of its slot, in units of --times */
    const double *duration; /* of its slot */
    const uint16_t *micro_batch;
    const uint16_t *stage;    /* virtual */
    const char *phase;        /* 'F', 'B', 'I', 'W' */
    const uint8_t *slice;     /* of the sequence */
    const uint8_t *direction; /* 1: of the second pipe of a two-way schedule */
    const uint8_t *half;      /* enum ty_slot_half */
    const uint32_t *first;    /* [n_ranks + 1]: rows of rank r are first[r] .. first[r + 1] - 1 */
    uint32_t n_ranks;
    const char *figures; /* format "json", without the lists that the columns are */
};

/* `shared`: the times are of a whole stage, whatever it is cut into, and the stages equal parts of
 * the model, as ty_schedule_compare takes them. options->format is not read. As for
 * ty_schedule_show. */
TY_API int ty_schedule_passes(const struct ty_schedule_options *options, bool shared,
                              struct ty_schedule_passes **passes, struct ty_err *err);
TY_API void ty_schedule_passes_free(struct ty_schedule_passes *passes);

/* What a large schedule would take of this machine's memory, to be freed; NULL: little. */
TY_API int ty_schedule_advice(const struct ty_schedule_options *o, char **advice, struct ty_err *);

/* Several: a table and stacked Gantt charts on one time axis (format "svg": a picture of the
 * charts, "json": the table). options->name is a list "gpipe,1f1b,zb-v", options->times are of a
 * whole stage, whatever it is cut into, options->stages of as many equal parts of the model. */
TY_API int ty_schedule_compare(const struct ty_schedule_options *options, char **text,
                               struct ty_err *err);

/* The schedule of a run file, as ty_schedule_show takes it, with schedule.times and
 * schedule.stages; texts are the configuration's. (3) where it has none that is drawn alone. */
TY_API int ty_schedule_of(const struct ty_config *config, struct ty_schedule_options *options,
                          struct ty_err *err);

/* ---- the classroom ---- */

/* What ty_schedule_show draws (`many`: ty_schedule_compare), as the state of a page. (2) for more
 * than one order of the user's own, which no page has. */
TY_API int ty_schedule_state(const struct ty_schedule_options *options, bool many, char **state,
                             struct ty_err *err);

/* A page for a browser, HTML that needs no other file, in which schedules, whole models and the
 * lessons of docs/tutorial are simulated by this library. `state` is what it opens with, as its
 * address has it behind the #: "schedule=zb-v&p=4&m=8", "layout.tensor=2&...", "lesson=3"; NULL:
 * 1F1B. (3) where the library was built without what browsers run. */
TY_API int ty_classroom(const char *state, char **page, struct ty_err *err);

/* ---- a first run file ---- */

struct ty_init_options {
    const char *model;   /* a preset, or a path of a Hugging Face config.json; NULL: chosen */
    const char *cluster; /* a preset, or a GPU of a cluster that is spelled out; NULL: chosen */
    uint32_t gpus;       /* 0: as few nodes as it fits into without recomputation */
    const char *path;    /* where it is going to be: paths in it count from there; NULL: here */
};

/* A commented run file with a layout that fits. (2) for names that are none, (1) where nothing
 * fits, (3). */
TY_API int ty_init(const struct ty_init_options *options, char **text, struct ty_err *err);

/* ---- catalogues ---- */

/* The i-th catalogue that there is: "schedules", "models", ..., "schema"; NULL after the last.
 * `about` (may be NULL) receives what it is, in a few words. */
TY_API const char *ty_list_name(size_t i, const char **about);

/* A line per entry, its name first; "schema" is a JSON schema. Or a preset, as a section with the
 * reason for each value. (2) */
TY_API int ty_list(const char *what, char **text, struct ty_err *err);
TY_API int ty_list_preset(const char *what, const char *name, char **text, struct ty_err *err);

/* "keys", a line each; or all there is to know of a section ("layout") or key ("layout.zero"). */
TY_API int ty_list_keys(const char *about, char **text, struct ty_err *err);

/* A word that may be written, and what it means ("" where that is clear). */
struct ty_key_word {
    const char *name, *doc;
};

/* A key of the run file. */
struct ty_key {
    const char *name;                /* "layout.zero" */
    const char *accepts;             /* "whole number 0 .. 3", "like 80 GiB, 1 MB .. 100 TB" */
    const char *fallback;            /* the default as one would write it; NULL: none */
    const char *doc;                 /* what it means; the unit of a quantity in SI */
    const struct ty_key_word *words; /* [n_words] words that `accepts` tells of, names of presets */
    size_t n_words;
    bool required; /* by the file, unless a preset has it */
};

/* All keys, section by section, and the sections. */
struct ty_keys {
    size_t n, n_sections;
    const struct ty_key *key;          /* [n] */
    const struct ty_key_word *section; /* [n_sections] */
};
TY_API int ty_keys_new(struct ty_keys **keys, struct ty_err *err);
TY_API void ty_keys_free(struct ty_keys *keys);

#ifdef __cplusplus
}
#endif

#endif
