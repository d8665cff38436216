/* cli_api.h - what the program and the module for pages use of the library besides trainyard.h. It
 * is not installed, and the shared library hides it: both are linked with the static library. The
 * conventions are those of trainyard.h.
 *
 * Functions whose name ends in _check find out whether their noun could be asked for in this way,
 * before a long run. (2); (3) where nothing can be written. */
#ifndef TY_CLI_API_H
#define TY_CLI_API_H

#include "sim/trainyard.h"

/* ---- texts and paths ---- */

/* Makes a text fit to be shown, in place, as all texts of the library are: bytes that are no UTF-8,
 * that control a terminal or that turn the direction of writing become "?"; line ends stay. Returns
 * the text. */
char *ty_text_plain(char *text);

/* Writes text to a file; compressed where the path ends in ".gz". (3) */
int ty_text_write(const char *text, const char *path, struct ty_err *err);

/* From now on no output may replace a file that was read: for a process that is one command. */
void ty_inputs_keep(void);

/* Whether a file could be written there, found by trying. (3) */
int ty_path_check(const char *path, struct ty_err *err);

/* The entry of names[n] that a misspelt word most likely means, or NULL; names[i] may be NULL. */
const char *ty_suggest(const char *word, const char *const *names, size_t n);

/* The i-th catalogue, NULL after the last. `about` (may be NULL) receives what it has. */
const char *ty_list_name(size_t i, const char **about);

/* ---- configuration ---- */

/* The path of the i-th file that the configuration was read from or names: run file, overlays,
 * tables, logs, schedules, those of other jobs; NULL after the last. Writing to one would destroy
 * what the next run needs. */
const char *ty_config_input(const struct ty_config *config, size_t i);

/* Lines about settings that are right and may not be meant: keys of a file that take precedence
 * over a preset named later. "": none. */
int ty_config_remarks(const struct ty_config *config, char **text, struct ty_err *err);

/* What the section `output` of the run file asks for: the form of the report, "table" or "json";
 * the i-th "FORMAT:PATH" of its traces, NULL after the last. */
const char *ty_config_stats_format(const struct ty_config *config);
const char *ty_config_trace(const struct ty_config *config, size_t i);

/* ---- runs ---- */

/* True when the last execution ended in a deadlock: there are traces and pages of what ran before,
 * and neither reports, figures nor tasks. */
bool ty_run_halted(const struct ty_run *run);

/* About what an execution will take: seconds of one processor, at the least, and bytes of memory,
 * as for options.figures or of every rank. */
void ty_run_cost(const struct ty_run *run, bool figures, double *seconds, double *bytes);

/* Which rank of a planned run is in which group, on which GPU of which node. `form` is "table" or
 * "json"; `ranks` as in ty_trace_options, NULL: all, where a table shortens what repeats.
 * Other jobs of the run file are left out. The text is the caller's (ty_text_free). (2) */
int ty_run_places(const struct ty_run *run, const char *form, const char *ranks, char **text,
                  struct ty_err *err);

/* 0 for "table", 1 for "json", negative for another name of a report's form. */
int ty_run_report_check(const char *format, struct ty_err *err);

/* Without a target (NULL) it checks only the options, which may be NULL, too. */
int ty_run_trace_check(const struct ty_run *run, const char *target,
                       const struct ty_trace_options *options, struct ty_err *err);
int ty_diff_trace_check(const struct ty_shown_run *runs, size_t n, const char *target,
                        const struct ty_trace_options *options, struct ty_err *err);

/* About how many bytes a trace will have, before compression; 0 where it is small. Within a factor
 * of 1.5 of an executed run; before, idle time and links are guessed. `advice` receives a line when
 * that is much for a viewer, with a smaller trace to ask for; else NULL. */
int ty_run_trace_size(const struct ty_run *run, const char *target,
                      const struct ty_trace_options *options, double *bytes, char **advice,
                      struct ty_err *err);

int ty_run_page_check(const struct ty_run *run, const struct ty_page_options *options,
                      struct ty_err *err);

/* (3) for a format that was not built in. */
int ty_run_export_check(const struct ty_export_options *options, struct ty_err *err);

/* Whether the path is of a file or folder that ty_recording_read reads. */
bool ty_recording_named(const char *path);

/* ---- schedules, the classroom ---- */

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

/* `shared`: options->times and stages are as ty_schedule_compare takes them. options->format is not
 * read. Failures are those of ty_schedule_show. */
int ty_schedule_passes(const struct ty_schedule_options *options, bool shared,
                       struct ty_schedule_passes **passes, struct ty_err *err);
void ty_schedule_passes_free(struct ty_schedule_passes *passes);

/* A line about the memory that a large schedule would take, to be freed; NULL: little. */
int ty_schedule_advice(const struct ty_schedule_options *o, char **advice, struct ty_err *err);

/* The schedule of a run file, as ty_schedule_show takes it, with schedule.times and
 * schedule.stages; texts are the configuration's. (3) where it has none that is drawn alone. */
int ty_schedule_of(const struct ty_config *config, struct ty_schedule_options *options,
                   struct ty_err *err);

/* What ty_schedule_show draws (`many`: ty_schedule_compare), as the state of a page. (2) for more
 * than one order of the user's own, which no page has. */
int ty_schedule_state(const struct ty_schedule_options *options, bool many, char **state,
                      struct ty_err *err);

/* A page for a browser, HTML that needs no other file, in which this library simulates schedules,
 * whole models and the lessons of docs/course. `state` is the part of its address behind the #
 * that it opens with: "schedule=zb-v&p=4&m=8", "layout.tensor=2&...", "lesson=3"; NULL: 1F1B. (3)
 * where the library was built without the module for browsers. */
int ty_classroom(const char *state, char **page, struct ty_err *err);

#endif
