/* timeline.h - when every task started: the result of an execution.
 *
 * start[] holds, gang after gang and in issue order, the start of an operation on all members side
 * by side: start[gang->first_task + ordinal * gang->n_ranks + member]. Durations come from the
 * program unless an executor had to store them (jitter, shared links). Readers use ty_span_cursor
 * or the rows. */
#ifndef TY_CORE_PROGRAM_TIMELINE_H
#define TY_CORE_PROGRAM_TIMELINE_H

#include "sim/core/program/program.h"

/* The most that a link carried at a time, and how long it was full. */
struct ty_link_load_peak {
    double Bps;
    ty_ps full; /* at 99 % of its capacity or above */
};
#define TY_LINK_FULL 0.99

/* An operation that can never start, by pass within the gang and number within the block. pass ==
 * n_passes: there is none. */
struct ty_stop {
    uint32_t pass, op;
};

/* What could not be of an execution that deadlocked. */
struct ty_halt {
    const struct ty_program *whole; /* borrowed */
    struct ty_stop *stop;           /* [n_gangs] where it is said to stand, in the whole program */
    struct ty_stop *front;          /* [n_gangs][n_lanes] first operation that was not executed */
};

/* Told now and then how far it is, 0..1; tell NULL: nobody is. Before that somebody may end it, by
 * setting *stop to other than 0; stop NULL: nobody may. */
struct ty_progress {
    void (*tell)(void *arg, double share);
    void *arg;
    const volatile int *stop;
};
static inline bool ty_progress_ends(const struct ty_progress *progress)
{
    return progress->stop != NULL && *progress->stop != 0;
}
/* TY_EIO, with words for it. */
int ty_progress_stopped(struct ty_err *err);

/* Passes of a gang that stand for further ones, which were like them and were left out: the k-th
 * time k periods later, and what comes behind them `times` periods (execute/shorten.h). */
struct ty_repeat {
    uint32_t first_pass, n_passes; /* within the gang */
    uint32_t times;                /* that were left out; 0: none were */
    ty_ps period;
};

struct ty_mismatch; /* mismatch.h */

struct ty_timeline {
    const struct ty_program *program;   /* borrowed; after a deadlock: what was executed of it */
    ty_ps *start;                       /* [n_tasks] */
    ty_ps *dur;                         /* [n_tasks], or NULL: durations of the program hold */
    ty_ps makespan;                     /* end of the last task */
    const struct ty_halt *halt;         /* NULL: everything finished */
    struct ty_arena arena;              /* owns the halt and the program that goes with it */
    struct ty_progress progress;        /* told how far the execution is */
    struct ty_link_load_peak *peak;     /* as measured while it was executed (link_meter.h), the
                                         * arena's; NULL: not */
    const struct ty_mismatch *mismatch; /* where an execution is to halt; NULL: nowhere */
    /* of a shortened program: columns are of `program`, the makespan is that of `whole` */
    const struct ty_program *whole; /* borrowed; NULL: it was not shortened */
    struct ty_repeat *repeat; /* [n_gangs][n_repeats] in the order of the passes; the arena's */
    uint32_t n_repeats;
    ty_ps left_out; /* of the makespan */
};

/* How often a pass of a gang happened, what was left out included: 1, where nothing was. */
static inline uint32_t ty_pass_times(const struct ty_timeline *t, uint32_t gang, uint32_t pass)
{
    uint32_t times = 1;
    for (uint32_t i = 0; i < t->n_repeats; i++) {
        const struct ty_repeat *r = &t->repeat[(size_t)gang * t->n_repeats + i];
        times += pass - r->first_pass < r->n_passes ? r->times : 0; /* wraps below the first */
    }
    return times;
}

/* Collectives on one stream that a computation may wait for together: what happened before they
 * began is in no figure (analyse/gaps.h). */
#define TY_AWAITED 4u

/* Columns for a sealed program. TY_ENOMEM or TY_ELIMIT with a message. */
int ty_timeline_init(struct ty_timeline *timeline, const struct ty_program *program,
                     struct ty_err *err);
/* Adds the column of durations, unless it is there. */
int ty_timeline_keep_durations(struct ty_timeline *timeline, struct ty_err *err);
void ty_timeline_release(struct ty_timeline *timeline);

/* Cuts a timeline down to what was executed before all came to a halt: the program becomes that
 * part of the whole one, numbered anew, its passes those of which something was executed; the
 * columns are moved together and the makespan is the end of the last task. Readers of finished
 * timelines work on it as it is. `halt` is copied; what is new is the arena's, often the
 * timeline's own. TY_ENOMEM with a message, and nothing is changed. */
int ty_timeline_cut(struct ty_timeline *timeline, const struct ty_halt *halt,
                    struct ty_arena *arena, struct ty_err *err);
/* The same where columns are to be filled, or have been, by the numbers of the cut program. */
int ty_timeline_cut_program(struct ty_timeline *timeline, const struct ty_halt *halt,
                            struct ty_arena *arena, struct ty_err *err);

/* The front of a gang's stream, where fronts[n_gangs][n_lanes] are of this program: programs that
 * were merged, or are parts of one, number their lanes differently. */
struct ty_stop ty_stream_front(const struct ty_program *program, const struct ty_stop *fronts,
                               uint32_t gang, uint8_t stream);

/* What holds of every one: on each lane of each rank operations follow one another, and none ends
 * after the makespan. O(n_tasks). */
bool ty_timeline_is_ordered(const struct ty_timeline *timeline);

/* Whether a gang did not finish. */
bool ty_timeline_halts(const struct ty_timeline *timeline, uint32_t gang);

/* The operation at which a gang is said to stand for ever, and its pass, in the whole program;
 * NULL: it finished. */
const struct ty_op *ty_timeline_blocked_op(const struct ty_timeline *timeline, uint32_t gang,
                                           const struct ty_pass **pass);

/* When the last task of gangs first .. first + n - 1 ends; 0: they have none. */
ty_ps ty_timeline_end(const struct ty_timeline *timeline, uint32_t first, uint32_t n);

/* When each step is over, every task of it and of those before: into end[n_steps]. */
void ty_timeline_step_ends(const struct ty_timeline *timeline, ty_ps *end);

/* Row of all members for the operation with that ordinal. */
static inline const ty_ps *ty_timeline_starts(const struct ty_timeline *t,
                                              const struct ty_gang *gang, uint64_t ordinal)
{
    assert(ordinal < gang->n_ops);
    return t->start + gang->first_task + ordinal * gang->n_ranks;
}

/* Duration of one task. */
static inline ty_ps ty_timeline_dur(const struct ty_timeline *t, const struct ty_gang *gang,
                                    const struct ty_op *op, uint64_t ordinal, uint32_t member)
{
    assert(member < gang->n_ranks);
    if (t->dur != NULL) {
        return t->dur[gang->first_task + ordinal * gang->n_ranks + member];
    }
    return ty_kind_duration(&t->program->kinds[op->kind], member);
}

/* Where a global rank lives: its gang and member number. */
struct ty_seat {
    uint32_t gang, member;
};

/* Seat of a global rank; rank < program->n_ranks. O(gangs) or O(n_ranks): keep the result. */
struct ty_seat ty_program_seat(const struct ty_program *program, uint32_t rank);

/* One task, as writers see it. */
struct ty_span {
    ty_ps start, dur;
    const struct ty_pass *pass;
    const struct ty_op *op;
    const struct ty_kind *kind;
    uint32_t ordinal; /* of the operation within the gang */
};

/* Walks the tasks of one rank in issue order. */
struct ty_span_cursor {
    const struct ty_timeline *timeline;
    const struct ty_gang *gang;
    uint32_t member;
    uint32_t pass, op; /* next: pass within the gang, operation within the block */
};
struct ty_span_cursor ty_spans_of(const struct ty_timeline *timeline, uint32_t rank);

/* The next task; false at the end. */
bool ty_span_next(struct ty_span_cursor *cursor, struct ty_span *span);

#endif
