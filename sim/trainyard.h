/* trainyard.h - the public interface: simulate the training of large language models on clusters of
 * GPUs.
 *
 *     ty_config_read -> ty_run_new -> ty_run_execute -> ty_run_figure, ty_run_report, ty_run_tasks,
 *     a run file        its plan      its timeline      ty_run_trace, ty_run_page, ty_diff_report
 *
 * The functions come in groups: errors, config, run, report, plan, sweep, fleet, schedule,
 * catalogues, measurements, other programs. Each of the first eight groups begins with an example.
 * An example is the body of a function in which `err` is an error object; its includes are
 * <stdio.h> and this header.
 *
 * The library has no global state. No function prints, ends the process or changes the locale, the
 * signals or the environment of its caller. One exception: the error handler of GSL, which would
 * end the process, is turned off for good.
 *
 * Results. A function that can fail returns 0 or a negative code, and takes the error object last,
 * which may be NULL. On failure the error object has the message, ready to print, with file, line
 * and column where there is a file, and what would have come back is NULL. "(2)" in a comment is a
 * failure of exit status 2, see ty_err_exit_status. Any function may run out of memory (4). An
 * argument may be NULL only where its comment says so.
 *
 * Ownership. The function of its noun frees an object: ty_run_free a run. ty_text_free frees a text
 * that came back in a `char **`. All of them take NULL. The library reads arguments during the call
 * and keeps no pointer to them, with two exceptions: a configuration must outlive its runs, and the
 * flag `stop` of an execution must outlive its run. A `const char *` that comes back belongs to the
 * object that was asked, and lives as long. Texts are UTF-8 and end with a zero.
 *
 * Units. Suffixes of names say them: _ps picoseconds, _s seconds, _B bytes. A name without a unit
 * is a share, 0..1. Ranks, stages, steps, layers and micro-batches count from 0. "[n]" is the
 * length of an array.
 *
 * Threads. Different objects may be used on different threads at the same time; one object, also a
 * const one, by one thread at a time. Runs only read their configuration, so several threads may
 * make, execute and ask runs of one configuration at once.
 *
 * Files. A file gets its name when it is whole: until then its name shows nothing, or the earlier
 * file. "-" is standard output, or standard input where something is read.
 *
 * docs/reference/formats.md says what figures mean, docs/internals/model.md where the models come
 * from. */
#ifndef TRAINYARD_H
#define TRAINYARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The shared library exports what is marked so, and hides everything else. */
#if defined(__GNUC__) || defined(__clang__)
#define TY_API __attribute__((visibility("default")))
#else
#define TY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* MAJOR.MINOR.PATCH; docs/reference/versions.md says what they promise. The build reads it here. */
#define TRAINYARD_VERSION "1.0.0"

/* The version of the library that is loaded, which may differ from the header's. Static. */
TY_API const char *ty_version(void);

/* ==== errors ====
 *
 *     struct ty_config *config;
 *     const struct ty_source source = {.path = "missing.yaml"};
 *     if (ty_config_read(&config, &source, err) < 0) {
 *         printf("%s\n", ty_err_text(err));
 *         printf("exit status %d\n", ty_err_exit_status(err));
 *         ty_err_clear(err);
 *     }
 *     ty_config_free(config);
 */

struct ty_err;

/* An error object without messages. NULL when memory is exhausted; every function takes NULL. */
TY_API struct ty_err *ty_err_new(void);
TY_API void ty_err_free(struct ty_err *err);

/* Removes all messages. Messages of several failures add up, so call it after each failure that you
 * have dealt with. NULL is ignored. */
TY_API void ty_err_clear(struct ty_err *err);

/* The messages of all calls since the object was new or cleared, up to 20, in lines; "" when there
 * are none. Of NULL, that memory is exhausted. Lives until the object is used again. */
TY_API const char *ty_err_text(const struct ty_err *err);

/* The exit status of the command line for the first of these messages. 0: no message. 1: the
 * question was answered, and the answer is no. 2: an argument is wrong, or comes at the wrong time.
 * 3: a file is wrong, cannot be read or written, or asks for more than this machine has. 4: a
 * deadlock of the schedule, exhausted memory, or an internal error. Of NULL 4. */
TY_API int ty_err_exit_status(const struct ty_err *err);

TY_API void ty_text_free(char *text);

/* ==== config ====
 *
 *     const char *sets[] = {"layout.tensor=4", "model.preset=llama-7b"};
 *     const struct ty_source source = {.path = "first.yaml", .sets = sets, .n_sets = 2};
 *     struct ty_config *config;
 *     char *text = NULL;
 *     if (ty_config_read(&config, &source, err) == 0 && ty_config_show(config, &text, err) == 0) {
 *         printf("%s", text);
 *     }
 *     ty_text_free(text);
 *     ty_config_free(config);
 */

struct ty_config;

/* What a configuration is read from, the weakest first: a run file, overlays (files of the same
 * form with the keys that differ, such as a calibration writes), settings. */
struct ty_source {
    const char *path;        /* of the run file; with `text`, its name in messages */
    const char *text;        /* the run file itself; NULL: the file at `path` */
    const char *const *with; /* [n_with] paths of overlays */
    size_t n_with;
    const char *const *sets; /* [n_sets] "section.key=value" */
    size_t n_sets;
    size_t n_against; /* so many of the last sets are called --against-set in messages, not --set */
};

/* Reads a run file: applies presets, fills defaults, checks values. Nothing is planned. All
 * mistakes are collected, with their places. (2) for a setting that has no key, (3). */
TY_API int ty_config_read(struct ty_config **config, const struct ty_source *source,
                          struct ty_err *err);
TY_API void ty_config_free(struct ty_config *config);

/* Every value with its unit and where it came from, a line a key. */
TY_API int ty_config_show(const struct ty_config *config, char **text, struct ty_err *err);

struct ty_init_options {
    const char *model;   /* a preset, or a path of a Hugging Face config.json; NULL: llama3-8b */
    const char *cluster; /* a preset, or a GPU of a cluster that is spelled out; NULL: dgx-h100 */
    uint32_t gpus;       /* 0: as few nodes as it fits into without recomputation */
    const char *path;    /* where the run file will be: paths in it start there; NULL: here */
    uint32_t lora;       /* rank of adapters that are trained alone; 0: all weights are */
    bool qlora;          /* the others are stored in 4 bits */
};

/* Writes a commented run file with a layout that fits. (1) where nothing fits, (2) for unknown
 * names, (3). */
TY_API int ty_init(const struct ty_init_options *options, char **text, struct ty_err *err);

/* ==== run ====
 *
 *     struct ty_config *config;
 *     struct ty_run *run = NULL;
 *     double mfu;
 *     if (ty_config_read(&config, &(struct ty_source){.path = "first.yaml"}, err) == 0 &&
 *         ty_run_new(&run, config, err) == 0 && ty_run_execute(run, NULL, err) == 0 &&
 *         ty_run_figure(run, "mfu", &mfu, err) == 0) {
 *         printf("MFU %.1f %%, fits: %d\n", 100 * mfu, ty_run_fits(run));
 *     }
 *     ty_run_free(run);
 *     ty_config_free(config);
 */

struct ty_run;

/* Plans: cluster, model, layout and schedule become a program. (3), with a place in the run file,
 * when parts do not fit together, or when this machine has too little memory to execute the
 * program. */
TY_API int ty_run_new(struct ty_run **run, const struct ty_config *config, struct ty_err *err);

/* The same for a run that is asked for its memory, its report "check" or an execution for figures.
 * Ranks that repeat others on other nodes are planned when the run is executed in another way, so
 * the number of GPUs costs next to nothing. (2) from what looks at single ranks before. */
TY_API int ty_run_outline(struct ty_run **run, const struct ty_config *config, struct ty_err *err);
TY_API void ty_run_free(struct ty_run *run);

/* Bytes that a GPU of each stage holds at its fullest moment, by the plan: fills bytes[n], and
 * returns how many stages there are. `bytes` may be NULL where n is 0. */
TY_API uint32_t ty_run_stage_memory(const struct ty_run *run, double *bytes, uint32_t n);

/* True when every stage of a plan fits into the memory of its GPUs. */
TY_API bool ty_run_fits(const struct ty_run *run);

/* The caller's function for progress, called now and then with the share of the work that is done,
 * by the thread that asked for the work unless a comment says otherwise. */
typedef void ty_progress_fn(void *arg, double share);

/* How a run is executed. Zeros are the defaults. */
struct ty_execute_options {
    const char *engine; /* "sweep", "events", or "auto": the faster of those that are exact for
                               * the run; NULL: as run.engine says */
    bool figures;       /* only figures and reports are wanted, which are the same to the last
                               * digit: of ranks that cannot differ one is executed */
    uint32_t threads;   /* 0: one per core; also of later reports, traces and pages */
    const volatile int *stop; /* when it becomes other than 0, from any thread or a signal handler,
                               * the execution ends (3), and so do later explanations; NULL */
    ty_progress_fn *progress; /* NULL: none */
    void *progress_arg;
    double suggest_s; /* about so many seconds of a core, counted in tasks, may later reports
                       * simulate what would make a run fit; 0: one, below 0: none */
};

/* Executes the plan. May be called again; the results of the execution before are gone then.
 * `options` may be NULL: the defaults, or the threads and the flag of the execution before. (2) for
 * an unknown engine, which leaves all as it was; (3) when this machine has too little memory; (4)
 * for a deadlock, after which there are traces and pages of what ran before it, and neither
 * reports, figures nor tasks. After an execution for figures (2) from what shows single ranks:
 * traces, pages, tasks, explanations, comparisons. */
TY_API int ty_run_execute(struct ty_run *run, const struct ty_execute_options *options,
                          struct ty_err *err);

/* One figure of an executed run, by the name and in the unit of ty_list("figures"), such as
 * "step_time_s" or "mfu"; or a part of the step, as "breakdown.exposed_data". (2) for an unknown
 * name, for a figure that the run file asks nothing about, and before execution. */
TY_API int ty_run_figure(const struct ty_run *run, const char *name, double *value,
                         struct ty_err *err);

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

/* Columns of the ranks selected as in ty_trace_options.ranks. NULL: all up to 32 ranks, one
 * data-parallel replica above. 39 bytes a task. (2) for ranks that do not exist, and before
 * execution; (3) when this machine has too little memory for them. */
TY_API int ty_run_tasks(const struct ty_run *run, const char *ranks, struct ty_tasks **tasks,
                        struct ty_err *err);
TY_API void ty_tasks_free(struct ty_tasks *tasks);

/* Gives the reports of an executed run a 90 % band: executes its source with each uncertain value
 * (section `uncertainty`) moved. (2) before execution, and for standard input; (3). */
TY_API int ty_run_uncertain(struct ty_run *run, const struct ty_source *source, struct ty_err *err);

/* ==== report ====
 *
 *     struct ty_config *config;
 *     struct ty_run *run = NULL;
 *     char *text = NULL, *note = NULL;
 *     if (ty_config_read(&config, &(struct ty_source){.path = "first.yaml"}, err) == 0 &&
 *         ty_run_new(&run, config, err) == 0 && ty_run_execute(run, NULL, err) == 0 &&
 *         ty_run_report(run, "table", &text, err) == 0 &&
 *         ty_run_trace(run, "chrome:step.json.gz", NULL, &note, err) == 0) {
 *         printf("%s%s\n", text, note);
 *     }
 *     ty_text_free(text);
 *     ty_text_free(note);
 *     ty_run_free(run);
 *     ty_config_free(config);
 */

/* A report, for people unless it says otherwise. Of an executed run:
 *
 *     "table"    what `trainyard run` prints
 *     "json"     the same for programs
 *     "brief"    JSON without suggestions that would make a run fit
 *     "step"     the table without such suggestions
 *     "suggest"  these suggestions alone; "" where the run fits
 *     "explain"  where the time goes, and what changes of layout, schedule, framework and hardware
 *                do, each by another run
 *
 * Of a planned run:
 *
 *     "check"    cluster, layout, tasks, memory estimate
 *     "layers"   the operators of each kind of layer, as one rank executes them
 *     "traffic"  who talks over which class of link, and how many bytes a step
 *
 * (2) for other names, and before execution where one is needed; (3), (4) where a schedule file is
 * wrong or would deadlock. */
TY_API int ty_run_report(const struct ty_run *run, const char *name, char **text,
                         struct ty_err *err);

/* What a trace shows. NULL and false are the default: where the section `output` has such a key,
 * its value. docs/reference/formats.md describes each. */
struct ty_trace_options {
    const char *ranks;  /* "all", "0-15,64", "dp=0", "tp=0,dp=0", "one-per-stage", "slowest:8" */
    const char *detail; /* "stage", "microbatch", "layer", "op" */
    const char *window; /* "1.5 s:2 s", either side may be empty */
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
    ty_progress_fn *progress; /* of the writing; NULL: none */
    void *progress_arg;
    const char *width;   /* of pictures: "170 mm" */
    const char *palette; /* of pictures: "traces", "safe", "print" */
    const char *bubbles; /* of pictures: "shaded", "named", "none" */
};

/* Writes a trace of an executed run, or of a deadlock. `target` is "FORMAT:PATH", such as
 * "chrome:step.json.gz"; ty_list("formats") has the formats. `options` may be NULL. `note` (may be
 * NULL) receives a line for the user: where the file is, how large, and which ranks were chosen;
 * NULL for standard output. (2) for options or a target that are wrong, (3) also for a trace larger
 * than output.trace_limit. */
TY_API int ty_run_trace(const struct ty_run *run, const char *target,
                        const struct ty_trace_options *options, char **note, struct ty_err *err);

/* One of the runs that a page or a comparison shows: simulated, or measured. */
struct ty_recording;
struct ty_shown_run {
    const struct ty_run *run;             /* NULL: measured */
    const struct ty_recording *recording; /* NULL: simulated, as all of a page are */
    const char *name;                     /* for the reader */
    const char *trouble;                  /* on a page, the messages of a deadlock; NULL: none */
};

/* NULL: the default of each, or of all where there are no options. */
struct ty_page_options {
    const char *command;      /* the line that made the page, to be shown in it */
    const char *ranks;        /* as in ty_trace_options; NULL: one of each stage */
    const char *detail;       /* as in ty_trace_options; NULL: "microbatch" */
    const char *order;        /* as in ty_trace_options */
    const volatile int *stop; /* as in ty_trace_options */
};

/* Writes runs[n], executed or with a deadlock, as one HTML file that needs no other; two or more
 * share a time axis. `note` receives a line for the user, or NULL where the page is standard
 * output. (2) for runs that were not executed, (3). */
TY_API int ty_run_page(const struct ty_shown_run *runs, size_t n, const char *path,
                       const struct ty_page_options *options, char **note, struct ty_err *err);

/* Compares the others with the first of runs[n], 2 to 8 of them: which keys differ, where the time
 * of a step goes in each, how long operations take. `format` is "table" or "json". (2) for runs
 * that were not executed to their end, or too many. */
TY_API int ty_diff_report(const struct ty_shown_run *runs, size_t n, const char *format,
                          char **text, struct ty_err *err);

/* Writes one timeline of all of them, executed or with a deadlock, which begin together: as
 * ty_run_trace, with the section `output` of the first run file. Ranks alternate: the first of each
 * run, the second of each run, and so on. With the order "run" the ranks of a run stay together. */
TY_API int ty_diff_trace(const struct ty_shown_run *runs, size_t n, const char *target,
                         const struct ty_trace_options *options, char **note, struct ty_err *err);

/* ==== plan ====
 *
 *     const char *over[] = {"layout.tensor=auto", "layout.pipeline=auto"};
 *     const struct ty_plan_options options = {
 *         .source = {.path = "first.yaml"}, .over = over, .n_over = 2, .top = 3};
 *     char *report = NULL;
 *     if (ty_plan(&options, &report, err) == 0) {
 *         printf("%s", report);
 *     }
 *     ty_text_free(report);
 */

/* Processes that answer one question together, on one machine or on many that share a file system.
 * Each makes the same call with the same options, except for its number. Whoever starts them
 * decides how they reach each other (trainyard-mpi: by MPI). Several threads may call `take` and
 * `tell` at once, and one thread the others. A call fails without a message where another member
 * has the message. */
struct ty_crew {
    uint32_t member, n; /* this process, of so many; member 0 writes the result */
    void *arg;          /* of the functions */
    /* Hands out the next `pieces` of the work to this member alone. Returns the number of the
     * first, counted from 0 since the last meeting, without end. */
    uint64_t (*take)(void *arg, uint32_t pieces);
    /* Waits for all members. Returns true when all came with `good`. After false nobody may call
     * anything. */
    bool (*meet)(void *arg, bool good);
    /* Gives each of `bytes` all bits that it has with any member. All members call it together. */
    void (*combine)(void *arg, void *bytes, size_t n);
    /* Sends bytes to every other member. Each of them hears these bytes once: soon, and at the
     * latest when it asks after a meeting. `tell` and `hear` may both be NULL: members of a plan
     * then learn of each other's results only at meetings, and meet more often. */
    void (*tell)(void *arg, const void *bytes, size_t n);
    /* Takes bytes that another member has told, of the size that is asked for; false: none are
     * here. */
    bool (*hear)(void *arg, void *bytes, size_t n);
};

struct ty_plan_options {
    struct ty_source source; /* run file, overlays, settings; "-" does not work for a crew */
    const char *gpus;        /* "64,128": each is searched; NULL: those of the run file */
    const char *const *over; /* [n_over] "KEY=V1,V2": values of a key that are searched, or one of
                              * model or run, whose values are ranked together; or
                              * "SECTION=auto": all of a section that the run file fixes */
    size_t n_over;
    const char *objective; /* "time" (NULL), "cost", "memory" */
    uint32_t top;          /* rows of the report; 0: ten */
    uint32_t uneven;       /* of so many layouts the layers are then repartitioned unevenly, and of
                               * each stage as many recomputed as memory asks for; 0: none */
    uint32_t meshes;       /* so many partitions into stages on parts of the machine of different
                               * shape are then simulated; 0: none */
    uint32_t jobs;         /* threads; 0: one per core */
    uint32_t shard;        /* 1 .. n_shards: only every n_shards-th row, from this one on */
    uint32_t n_shards;     /* 0: all rows */
    const char *const *merge; /* [n_merge] rows.csv of shards, whose rows are kept */
    size_t n_merge;
    const char *folder;       /* for plan.json, rows.csv, best.yaml and pictures; NULL: none */
    bool resume;              /* keep the rows that an earlier call left in the folder */
    const char *stats;        /* "table" (NULL) or "json" */
    const char *emit;         /* "yaml": in place of a report the best layout as a run file; NULL:
                               * the report */
    const volatile int *stop; /* when it becomes other than 0 (a signal handler may set it), the
                               * report has the best so far, and says so */
    bool *stopped;            /* receives whether `stop` ended the search early; or NULL */
    ty_progress_fn *progress; /* one call at a time, from any thread; or NULL */
    void *progress_arg;
    const struct ty_crew *crew; /* with whom the search is shared, which then needs a folder; member
                                 * 0 gets the report, others ""; NULL: nobody */
    double within_s;    /* the search ends after so many seconds with the best so far; 0: once no
                      * other layout can be among the best */
    const char *margin; /* "5 %": share of the memory that recommended layouts leave free; NULL: 5
                         * %; layouts that fit with less are listed apart */
    bool uncertain;     /* with 90 % bands, and which rows cannot be told from the first */
};

/* Searches the layouts that the run file leaves open (docs/guides/plan.md) for the best. No layout
 * of the space is better, unless the report says that it is not exact. (1) where nothing fits, with
 * what comes nearest; (2) for options that are wrong, (3). */
TY_API int ty_plan(const struct ty_plan_options *options, char **report, struct ty_err *err);

/* ==== sweep ====
 *
 *     const char *over[] = {"layout.tensor=1,2,4", "schedule.name=1f1b,zb-1p"};
 *     struct ty_sweep_summary summary;
 *     const struct ty_sweep_options options = {.path = "first.yaml",
 *                                              .over = over,
 *                                              .n_over = 2,
 *                                              .output = "table.csv",
 *                                              .summary = &summary};
 *     if (ty_sweep_rows(&options, err) == 0) {
 *         printf("fastest: row %u, %.3f s\n", (unsigned)summary.fastest, summary.fastest_s);
 *         ty_text_free(summary.best);
 *     }
 */

/* The rows of a table: those that this call simulated, and those kept of an earlier one. */
struct ty_sweep_summary {
    uint32_t n_rows, n_kept;          /* simulated by this call, kept by resume */
    uint32_t n_fit, n_not, n_invalid; /* of both: fit, do not, have an error */
    uint32_t fastest; /* number of the row that fits with most tokens a second, from 1; 0: none */
    double fastest_s; /* its step time */
    char *best;       /* the five fastest that fit, a table; ty_text_free frees it; NULL: none */
    char left_out[1024]; /* impossible combinations of `over`, counted, and why; "": none */
    char remark[512];    /* lines for the user, about columns and earlier rows; "" */
};

struct ty_sweep_options {
    const char *path;        /* run file; "-": standard input, unless there is a crew */
    const char *text;        /* the run file itself; `path` is then its name in messages; NULL */
    const char *rows;        /* CSV whose columns name keys; NULL: `over` */
    const char *const *over; /* [n_over] "KEY=V1,V2": all combinations, the last varies fastest */
    size_t n_over;
    const char *const *with; /* [n_with] overlays of the run file */
    size_t n_with;
    const char *const *sets; /* [n_sets] for every row; values of the row replace them */
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

/* Simulates every row and writes a table: one output row per row, in order, with the figures or the
 * error of its run, whatever the threads. A row that cannot be run is no failure of the call. (2)
 * for options that are wrong, and for an output that a row reads, (3) for a table that is wrong or
 * a file that cannot be written. */
TY_API int ty_sweep_rows(const struct ty_sweep_options *options, struct ty_err *err);

/* ==== fleet ====
 *
 *     const char *sets[] = {"fleet.tokens=1e12"};
 *     const struct ty_source source = {.path = "first.yaml", .sets = sets, .n_sets = 1};
 *     struct ty_config *config;
 *     struct ty_run *run = NULL;
 *     char *text = NULL;
 *     if (ty_config_read(&config, &source, err) == 0 && ty_run_outline(&run, config, err) == 0 &&
 *         ty_run_execute(run, &(struct ty_execute_options){.figures = true}, err) == 0 &&
 *         ty_run_fleet(run, &(struct ty_fleet_request){.days = 30, .runs = 20}, &text, err) == 0) {
 *         printf("%s", text);
 *     }
 *     ty_text_free(text);
 *     ty_run_free(run);
 *     ty_config_free(config);
 */

struct ty_fleet_request {
    double days;      /* of a history; 0: 365, of one that is shown 30 */
    uint32_t runs;    /* histories; 0: 100 */
    uint32_t jobs;    /* threads; 0: one per core */
    const char *form; /* "table" (NULL) or "json"; one history: "gantt" in letters, "svg" with
                       * goodput over checkpoints and size, "chrome" for viewers */
    void (*progress)(void *arg, double share); /* called while histories are played; NULL */
    void *progress_arg;
    const volatile int *stop; /* playing ends when this is set, with TY_EIO; NULL */
};

/* The whole training of which an executed run is a step, as the section `fleet` says: failures,
 * checkpoints, spares, and the share of time that remains, in closed form and simulated. (2) before
 * execution, and for other forms; (3). */
TY_API int ty_run_fleet(const struct ty_run *run, const struct ty_fleet_request *request,
                        char **report, struct ty_err *err);

/* ==== schedule ====
 *
 *     const struct ty_schedule_options options = {
 *         .name = "zb-v", .pipeline = 4, .micro_batches = 8};
 *     char *text = NULL;
 *     if (ty_schedule_show(&options, &text, err) == 0) {
 *         printf("%s", text);
 *     }
 *     ty_text_free(text);
 */

/* A pipeline schedule without a model. */
struct ty_schedule_options {
    const char *name; /* of a schedule, or the path of a schedule file */
    const char *text; /* a schedule file itself; `name` is then its name in messages; NULL */
    uint32_t pipeline, micro_batches;
    uint32_t chunks;    /* virtual stages per rank; 0: as many as the schedule needs */
    uint32_t group;     /* micro-batch group of interleaved schedules; of zb-1p most that wait for
                         * weight gradients; 0: pipeline */
    uint32_t slices;    /* of a sequence; 0: as many as the schedule needs */
    const char *times;  /* "F=1,B=2,I=1,W=1,FB=3,C=0": durations per virtual stage; NULL: these */
    const char *stages; /* "1,1,1.5,1": factors of each virtual stage's durations; NULL: 1 */
    const char *format; /* "gantt" (NULL), "svg", "slots", "csv" (PyTorch), "json" */
    uint32_t width;     /* columns for the Gantt; 0: as many as needed, up to 160 */
    const char *svg_width, *palette, *bubbles; /* of an svg, as in ty_trace_options; or NULL */
};

/* One schedule in one of the formats. (2) for options that are wrong; (3), (4) for a schedule file
 * that is wrong or would deadlock. */
TY_API int ty_schedule_show(const struct ty_schedule_options *options, char **text,
                            struct ty_err *err);

/* Several schedules: a table and stacked Gantt charts on one time axis (format "svg": a picture of
 * the charts, "json": the table). options->name is a list "gpipe,1f1b,zb-v". options->times are of
 * a whole stage, however many virtual stages it is divided into, and options->stages of as many
 * equal parts of the model. */
TY_API int ty_schedule_compare(const struct ty_schedule_options *options, char **text,
                               struct ty_err *err);

/* ==== catalogues ==== */

/* Text about what a run file can name. ty_list(NULL, NULL) has the catalogues, ty_list("models",
 * NULL) the entries of one, a line each with its name first, and ty_list("models", "llama-13b") a
 * preset as a section of a run file with the reason for each value. "keys" has all keys, or all
 * about a section ("layout") or key ("layout.zero"). "schema" is a JSON schema. (2) for unknown
 * names. */
TY_API int ty_list(const char *what, const char *name, char **text, struct ty_err *err);

/* A word that is allowed, and what it means ("" where that is clear). */
struct ty_key_word {
    const char *name, *doc;
};

/* A key of the run file. */
struct ty_key {
    const char *name;                /* "layout.zero" */
    const char *accepts;             /* "whole number 0 .. 3", "like 80 GiB, 1 MB .. 100 TB" */
    const char *fallback;            /* the default as one would write it; NULL: none */
    const char *doc;                 /* what it means; the unit of a quantity in SI */
    const struct ty_key_word *words; /* [n_words] allowed words, names of presets */
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

/* ==== measurements ==== */

/* Reads what PyTorch's profiler recorded, for ty_shown_run: a Kineto file (.json, .json.gz), or a
 * folder with one for each rank. (3), with file, line and column. */
TY_API int ty_recording_read(struct ty_recording **recording, const char *path, struct ty_err *err);
TY_API void ty_recording_free(struct ty_recording *recording);

struct ty_import_options {
    const char *const *paths; /* [n_paths] files of torch.profiler, one a rank, or their folders */
    size_t n_paths;
    uint32_t gpus_per_node; /* ranks on a node; 0: 8 */
    const char *steps;      /* "2-5,7": numbers of ProfilerStep; NULL: all that was recorded */
    const char *stats;      /* "table" or "json"; NULL: table */
};

/* Summarizes measured profiles, and writes a table of kernels and collectives for the key
 * cluster.operators (CSV). (2) for options that are wrong, (3), with file, line and column. */
TY_API int ty_import_kineto(const struct ty_import_options *options, char **report, char **table,
                            struct ty_err *err);

struct ty_calibrate_options {
    struct ty_source source; /* run file, overlays, settings; standard input does not work */
    /* What was measured, exactly one of rows, operators and collectives: */
    const char *rows;        /* step times: CSV as for a sweep, ... */
    const char *measured;    /* ... its column of times: seconds, or with a unit */
    const char *operators;   /* kernels: CSV as for cluster.operators */
    const char *collectives; /* "a.log,b.log": logs of nccl-tests */
    const char *fit;    /* "cluster.derate,cluster.nic_efficiency"; NULL: what the rows determine */
    const char *group;  /* of rows: column, each value is left out in turn; NULL: model.* */
    double prior;       /* standard deviation of a key's logarithm; 0: none */
    const char *stats;  /* "table" or "json"; NULL: table */
    const char *output; /* where the caller will write the overlay; NULL: nowhere */
    uint32_t jobs;      /* threads; 0: one per core */
    /* Called now and then by the calling thread, with a line about the current work; or NULL. */
    void (*progress)(void *arg, const char *line);
    void *progress_arg;
};

/* Fits keys of the run file to measured times (docs/guides/calibration.md). `report` says how well,
 * `overlay` is the text of a file of the fitted keys for ty_source.with. (2) for options that are
 * wrong, and for an output that the fit reads, (3) for measurements that are wrong or too few. */
TY_API int ty_calibrate(const struct ty_calibrate_options *options, char **report, char **overlay,
                        struct ty_err *err);

/* ==== other programs ==== */

struct ty_export_options {
    const char *format;       /* "chakra" (ASTRA-sim), "goal" (ATLAHS) */
    const char *folder;       /* for the files; made where there is none */
    const char *ranks;        /* as in ty_trace_options; NULL: all. GOAL has all */
    const volatile int *stop; /* as in ty_trace_options */
    const char *unit;         /* of GOAL's time: "ns", for packet simulators; NULL: such that a byte
                               * takes a whole number, as LogGOPSim needs it */
};

/* Writes the operations of the ranks of an executed run, and what they wait for: files that another
 * simulator reads, and README.txt, which says how. `note` receives a line for the user. (2) for
 * options that are wrong, and after an execution for figures; (3). */
TY_API int ty_run_export(const struct ty_run *run, const struct ty_export_options *options,
                         char **note, struct ty_err *err);

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

#ifdef __cplusplus
}
#endif

#endif
