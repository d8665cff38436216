/* trainyard.h - the public interface.
 *
 * Configure, plan, execute, read: four nouns (configuration, run, schedule, error) and nothing
 * global. No function prints or exits. Distinct objects may be used on distinct threads.
 *
 * Return values: 0, or a negative code; the message is then in the error object, complete and ready
 * to print. `err` may be NULL. Strings returned through `char **` are the caller's: ty_text_free. */
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

#define TRAINYARD_VERSION "0.1.0"

/* The version of the library that is loaded, which may be another than the header's. */
TY_API const char *ty_version(void);

struct ty_err;
struct ty_config;
struct ty_run;

/* ---- errors ---- */

TY_API struct ty_err *ty_err_new(void); /* NULL when memory is exhausted */
TY_API void ty_err_free(struct ty_err *err);
/* All messages, "" when there are none; of NULL that memory is exhausted, as for ty_err_new. */
TY_API const char *ty_err_text(const struct ty_err *err);
TY_API int ty_err_exit_status(const struct ty_err *err); /* 0, 1, 2, 3 or 4, as documented */
TY_API void ty_text_free(char *text);

/* Writes text to a file, which gets its name only when it is whole; "-" is standard output. */
TY_API int ty_text_write(const char *text, const char *path, struct ty_err *err);

/* Whether a file could be written there, found by trying; to be called before a long run. */
TY_API int ty_path_check(const char *path, struct ty_err *err);

/* The entry of names[0..n) a misspelt word most likely means, or NULL; names[i] may be NULL. */
TY_API const char *ty_suggest(const char *word, const char *const *names, size_t n);

/* ---- configuration ---- */

/* Reads a run file; "-" is standard input. Presets are applied, defaults filled, nothing planned.
 * `sets` are "section.key=value" texts, applied over the file. All errors are collected. */
TY_API int ty_config_load(struct ty_config **config, const char *path, const char *const *sets,
                          size_t n_sets, struct ty_err *err);
TY_API void ty_config_free(struct ty_config *config);

/* What a configuration is read from, the weakest first: a run file, overlays (files of the same
 * form with the keys that differ, such as a calibration writes), settings. */
struct ty_source {
    const char *path; /* "-" is standard input */
    const char *const *with;
    size_t n_with;
    const char *const *sets; /* "section.key=value" */
    size_t n_sets;
};
TY_API int ty_config_read(struct ty_config **config, const struct ty_source *source,
                          struct ty_err *err);

/* Every value with its unit and where it came from, one line a key. */
TY_API int ty_config_show(const struct ty_config *config, char **text, struct ty_err *err);

/* The i-th file that it was read from or names: run file, overlays, tables, logs, schedules, those
 * of other jobs; NULL after the last. Writing to one would destroy what the next run needs. */
TY_API const char *ty_config_input(const struct ty_config *config, size_t i);

/* What is right and still may not be meant, a line each: keys of a file that stay over a preset
 * named later. Empty: nothing. */
TY_API int ty_config_remarks(const struct ty_config *config, char **text, struct ty_err *err);

/* The run file's output section: "table" or "json"; the i-th "FORMAT:PATH", NULL after the last. */
TY_API const char *ty_config_stats_format(const struct ty_config *config);
TY_API const char *ty_config_trace(const struct ty_config *config, size_t i);

/* ---- runs ---- */

/* Plans: cluster, model, layout and schedule become a program. The configuration must outlive the
 * run. Fails with a place in the run file when parts do not fit together. */
TY_API int ty_run_new(struct ty_run **run, const struct ty_config *config, struct ty_err *err);
TY_API void ty_run_free(struct ty_run *run);

/* Told now and then how far it is, 0..1, by the calling thread. */
typedef void ty_progress_fn(void *arg, double share);

/* Whom ty_run_execute tells; NULL: nobody. */
TY_API void ty_run_progress(struct ty_run *run, ty_progress_fn *progress, void *arg);

/* Executes the plan with the configured engine ("auto", "sweep", "events"; NULL: configured). */
TY_API int ty_run_execute(struct ty_run *run, const char *engine, struct ty_err *err);

/* True when the last execution ended in a deadlock (exit status 4): there are traces of what ran
 * before, and no reports. */
TY_API bool ty_run_halted(const struct ty_run *run);

/* Not negative when there is a report of that name; to be called before a long run. */
TY_API int ty_run_report_check(const char *format, struct ty_err *err);

/* Report of an executed run: "table" or "json". */
TY_API int ty_run_report(const struct ty_run *run, const char *format, char **text,
                         struct ty_err *err);

/* One figure of an executed run by its name in `--stats json` (docs/formats.md), in that unit:
 * "step_time_s", "mfu", "breakdown.exposed_data", ... TY_EUSAGE for an unknown name. */
TY_API int ty_run_figure(const struct ty_run *run, const char *name, double *value,
                         struct ty_err *err);

/* Pipeline stages of a plan, and bytes of a GPU of one of them (0-based) at its fullest moment. */
TY_API uint32_t ty_run_stages(const struct ty_run *run);
TY_API int ty_run_peak_memory(const struct ty_run *run, uint32_t stage, double *bytes,
                              struct ty_err *err);

/* What an executed run did, as columns: row i of every column is one task (an operation of one
 * rank), rank by rank in the order they were asked for, each in its order of issue. The arrays
 * belong to the object and live until ty_tasks_free. */
struct ty_tasks {
    size_t n;                 /* rows: length of every column */
    const uint64_t *start_ps; /* picoseconds from the start of the run */
    const uint64_t *dur_ps;
    const uint32_t *rank; /* global rank */
    const uint32_t *kind; /* index into kind_names: "qkv", "all-reduce", ... */
    const uint32_t *pass; /* number of the pass within the rank; its tasks follow one another */
    const uint16_t *micro_batch, *stage, *step; /* of the pass; stage is the virtual one */
    const uint16_t *layer;                      /* global number; 65535: none */
    const uint8_t *stream;   /* index into stream_names: tasks of one never overlap */
    const uint8_t *phase;    /* index into phase_names: "forward", ... */
    const uint8_t *category; /* index into category_names: "compute.forward", "comm.tp", ... */
    const char *const *kind_names, *const *stream_names, *const *phase_names,
                                                             *const *category_names;
    uint32_t n_kinds, n_streams, n_phases, n_categories;
};

/* Columns of the ranks selected as in ty_trace_options.ranks ("all", "0-15", "dp=0"; NULL: all up
 * to 32, one replica above). 36 bytes a task: TY_ELIMIT when this machine has no room for them. */
TY_API int ty_run_tasks(const struct ty_run *run, const char *ranks, struct ty_tasks **tasks,
                        struct ty_err *err);
TY_API void ty_tasks_free(struct ty_tasks *tasks);

/* Where the time of an executed run goes: published formula beside simulation, idle time by stage,
 * critical path, and what would help, each verified by another run. */
TY_API int ty_run_explain(const struct ty_run *run, char **text, struct ty_err *err);

/* What the plan is, before execution: cluster, layout, tasks, memory bill. */
TY_API int ty_run_describe(const struct ty_run *run, char **text, struct ty_err *err);

/* Who talks over which class of link, and how many bytes a step: a table, before execution. */
TY_API int ty_run_traffic(const struct ty_run *run, char **text, struct ty_err *err);

/* True when every stage fits into its GPU's memory. */
TY_API bool ty_run_fits(const struct ty_run *run);

/* What a trace shows; zero-initialised fields mean the default. */
struct ty_trace_options {
    const char *ranks;  /* "all", "0-15,64", "dp=0", "tp=0,dp=0", "one-per-stage", "slowest:8" */
    const char *detail; /* "stage", "microbatch", "layer", "op" */
    const char *window; /* "1.5 s:2 s" */
    const char *order;  /* "rank", "stage", "node" */
    bool no_bubbles;
    bool force;               /* write beyond output.trace_limit */
    const volatile int *stop; /* a signal handler may set it: the file is then not written */
    const char *counters;     /* "all", "memory", "net", "none" */
    const char *steps;        /* "2-3": a window of whole steps */
    const char *args;         /* of slices: "full", "short", "none" */
    const char *flows;        /* arrows: "p2p", "none" */
    const char *critical;     /* "path", "none" */
    ty_progress_fn *progress; /* of the writing; NULL: nobody is told */
    void *progress_arg;
    const char *width, *palette, *bubbles; /* of pictures, as output.svg has them */
};

/* Whether a trace could be asked for like this, and written; to be called before a long run. `target` may be
 * NULL: only the options are looked at. */
TY_API int ty_run_trace_check(const struct ty_run *run, const char *target,
                              const struct ty_trace_options *options, struct ty_err *err);

/* Writes a trace of an executed or halted run; target is "FORMAT:PATH". `note` (may be NULL) receives a line
 * for the user, such as which ranks were chosen, and where the file is. */
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

struct ty_page_options {
    const char *command; /* the line that made the page, to be shown in it; NULL */
    const char *ranks;   /* as in ty_trace_options; NULL: one of each stage */
    const char *detail;  /* NULL: "microbatch" */
    const char *order;
    const volatile int *stop; /* as in ty_trace_options */
};

/* Whether a page could be asked for like this; to be called before a long run. */
TY_API int ty_run_page_check(const struct ty_run *run, const struct ty_page_options *options,
                             struct ty_err *err);

/* Writes executed or halted runs as one HTML file that needs no other: two or more share a time
 * axis. `note` receives a line for the user, or NULL where the page is standard output. */
TY_API int ty_run_page(const struct ty_page_run *runs, size_t n, const char *path,
                       const struct ty_page_options *options, char **note, struct ty_err *err);

/* ---- runs aligned ---- */

/* What PyTorch's profiler recorded: a Kineto file (.json, .json.gz), or a folder with one for each
 * rank. */
struct ty_recording;
TY_API bool ty_recording_named(const char *path); /* whether the path is of such a file or folder */
TY_API int ty_recording_read(struct ty_recording **recording, const char *path, struct ty_err *err);
TY_API void ty_recording_free(struct ty_recording *recording);

/* One of the runs that are compared: simulated, or measured. */
struct ty_diff_run {
    const struct ty_run *run;             /* NULL: measured */
    const struct ty_recording *recording; /* NULL: simulated */
    const char *name;                     /* for the reader */
};

/* The others against the first run: which keys differ, where the time of a step goes in each, what
 * operations take; "table" or "json". All have been executed. */
TY_API int ty_diff_report(const struct ty_diff_run *runs, size_t n, const char *format, char **text,
                          struct ty_err *err);

/* Whether a trace of them could be asked for like this; to be called before long runs. */
TY_API int ty_diff_trace_check(const struct ty_diff_run *runs, size_t n, const char *target,
                               const struct ty_trace_options *options, struct ty_err *err);

/* Writes one timeline of all of them, executed or halted, that begin together: as ty_run_trace.
 * Ranks take turns (the first of each run, the second, ...); with the order "run" those of a run
 * stay together. */
TY_API int ty_diff_trace(const struct ty_diff_run *runs, size_t n, const char *target,
                         const struct ty_trace_options *options, char **note, struct ty_err *err);

/* ---- many runs ---- */

struct ty_sweep_options {
    const char *path;        /* run file */
    const char *rows;        /* CSV whose columns name keys; NULL: `over` */
    const char *const *over; /* "KEY=V1,V2": all combinations */
    size_t n_over;
    const char *const *with; /* overlays of the run file */
    size_t n_with;
    const char *const *sets; /* for every row, under what the row says */
    size_t n_sets;
    const char *output;               /* CSV; NULL or "-": standard output */
    uint32_t jobs;                    /* threads; 0: one per core */
    bool resume;                      /* keep the finished rows of output.partial */
    struct ty_sweep_summary *summary; /* filled when not NULL */
    ty_progress_fn *progress;         /* one call at a time, from any thread; or NULL */
    void *progress_arg;
};

/* What is in the table: rows that this call simulated, and those kept of an earlier one. */
struct ty_sweep_summary {
    uint32_t n_rows, n_kept;          /* simulated by this call, kept by resume */
    uint32_t n_fit, n_not, n_invalid; /* of both: fit, do not, have an error */
    uint32_t fastest;                 /* number of the fastest row that fits, from 1; 0: none */
    double fastest_s;                 /* its step time */
    char remark[512];                 /* columns that may be keys misspelt; empty: none */
};

/* One output row per row, in order, with the figures or the error of its run. */
TY_API int ty_sweep_rows(const struct ty_sweep_options *options, struct ty_err *err);

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
    uint32_t jobs;           /* threads; 0: one per core */
    /* Called now and then by the calling thread; or NULL. */
    void (*progress)(void *arg, const char *line);
    void *progress_arg;
};

/* Fits keys of the run file to measured times. `report` says how well, `overlay` is a file of
 * the fitted keys for ty_source.with. */
TY_API int ty_calibrate(const struct ty_calibrate_options *options, char **report, char **overlay,
                        struct ty_err *err);

/* ---- measured profiles ---- */

struct ty_import_options {
    const char *const *paths; /* files of torch.profiler, one a rank, or folders of them */
    size_t n_paths;
    uint32_t gpus_per_node; /* how ranks lie on nodes; 0: 8 */
    const char *steps;      /* "2-5,7": numbers of ProfilerStep; NULL: all that was recorded */
    const char *stats;      /* "table" or "json"; NULL: table */
};

/* What was measured as a summary, and as a table of kernels and collectives for the key
 * cluster.operators (CSV). */
TY_API int ty_import_kineto(const struct ty_import_options *options, char **report, char **table,
                            struct ty_err *err);

/* ---- schedules without a model ---- */

struct ty_schedule_options {
    const char *name; /* of a schedule, or the path of a schedule file */
    uint32_t pipeline, micro_batches;
    uint32_t chunks;    /* virtual stages per rank; 0: what the schedule needs */
    uint32_t group;     /* micro-batch group of interleaved schedules; 0: pipeline */
    uint32_t slices;    /* of a sequence; 0: one */
    const char *times;  /* "F=1,B=2,I=1,W=1,FB=3,C=0": durations per virtual stage */
    const char *format; /* "gantt", "svg", "slots", "csv" (PyTorch), "json" */
    uint32_t width;     /* columns for the Gantt; 0: as many as needed, up to 160 */
    const char *svg_width, *palette, *bubbles; /* of an svg, as the keys of output.svg; or NULL */
};

/* One schedule in one of the formats. */
TY_API int ty_schedule_show(const struct ty_schedule_options *options, char **text,
                            struct ty_err *err);

/* Several: a table and stacked Gantt charts on one time axis (format "svg": a picture of the
 * charts). options->name is a list "gpipe,1f1b,zb-v", options->times are of a whole stage, whatever
 * it is cut into. */
TY_API int ty_schedule_compare(const struct ty_schedule_options *options, char **text,
                               struct ty_err *err);

/* ---- catalogues ---- */

/* The i-th catalogue that there is: "schedules", "models", ..., "schema"; NULL after the last.
 * `about` (may be NULL) receives what it is, in a few words. */
TY_API const char *ty_list_name(size_t i, const char **about);

/* One line per entry, its name first, of a catalogue; "schema" is a JSON schema of the run file. */
TY_API int ty_list(const char *what, char **text, struct ty_err *err);

/* The catalogue "keys", a line each; or, for a section ("layout") or key ("layout.zero"), all that is
 * to be known of it, in lines of 80 columns. */
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
