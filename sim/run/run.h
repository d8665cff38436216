/* run.h - a planned and perhaps executed run; the opaque struct of trainyard.h. */
#ifndef TY_RUN_RUN_H
#define TY_RUN_RUN_H

#include "model/lower/lower.h"
#include "model/vocabulary.h"
#include "sim/config/config.h"
#include "sim/core/analyse/stats.h"
#include "sim/core/execute/execute.h"
#include "sim/trainyard.h"

/* What an execution did about what several want at once. */
enum ty_sharing {
    TY_SHARING_NONE,      /* it was proved that nothing can be */
    TY_SHARING_SIMULATED, /* as it happened */
    TY_SHARING_ESTIMATED, /* beforehand */
};
extern const char *const ty_sharing_words[];

struct ty_band;
struct ty_uneven;
struct ty_offload_memory;

struct ty_run {
    const struct ty_config *config; /* borrowed */
    struct ty_arena arena;          /* owns what follows */
    struct ty_lowered lowered;
    const struct ty_lower_room *room; /* [stages]; NULL: nobody asks for it */
    struct ty_program folded;         /* what the timeline is of after ty_run_execute_folded */
    struct ty_contention shared; /* what could be shared; nothing under the sweep, if not asked */
    uint32_t n_shared_links;     /* that could be, of the whole cluster */
    struct ty_timeline all;      /* of what was executed, all jobs together: owns the columns */
    struct ty_timeline timeline; /* the run file's own job in it; columns only when executed */
    struct ty_stats stats;
    const struct ty_program *counted; /* whose gangs name the ranks of `stats` */
    bool executed;                    /* to the end; else all.halt says whether some of it was */
    enum ty_sharing sharing;
    uint32_t n_twins;                   /* so many neighbours in each gang do so; 1: none */
    bool is_folded;                     /* `all` has one member of each gang, for all of them */
    bool lockstep;                      /* members of a gang do everything at the same times */
    struct ty_run_link_load *link_load; /* of the links, once somebody asked (links.h) */
    const char *engine;                 /* "sweep" or "events", once executed */
    struct ty_progress progress;        /* of executions */
    uint32_t threads;                   /* of statistics, traces and variants; 0: one per core */
    double suggest_s;                   /* struct ty_execute_options */
    double plan_s, execute_s;           /* wall-clock time of the simulator itself */
    struct ty_band *band;               /* how sure it is, once asked (sim/sweep/band.h); NULL */
    struct ty_offload_memory *away; /* [TY_N_OFFLOAD_TIERS] (offload.h); NULL: all is on the GPUs */
    struct ty_uneven *uneven;       /* [gangs] (uneven.h); NULL: experts get equal loads */
    struct ty_run_jobs *jobs;       /* other jobs on the cluster (jobs.h); NULL: none */
};

/* Bytes of states, activations and buffers that the GPU of a rank has room for: what is left of its
 * memory after reserve and fragmentation. */
double ty_run_capacity(const struct ty_run *run, uint32_t rank);

/* The program of a configuration, on its cluster or one like it. */
int ty_run_lower(const struct ty_config *config, const struct ty_cluster *cluster,
                 struct ty_lowered *out, struct ty_arena *arena, struct ty_err *err);

/* Whether there is a model, as `what` ("an explanation") needs. 0 or TY_EUSAGE. */
int ty_run_check_model(const struct ty_run *run, const char *what, struct ty_err *err);

/* What is wrong between the ranks of a schedule file, that of another job included: TY_EDEADLOCK
 * where ranks would wait for ever, TY_EINPUT where some of the work is missing and nobody would
 * notice; 0. */
int ty_run_schedule_fault(const struct ty_run *run, struct ty_err *err);

/* The same, and whether its collectives and messages can be matched, without executing it. */
int ty_run_schedule_check(const struct ty_run *run, struct ty_err *err);
/* Executes one program, the run's own or one it is merged into, into run->all and, for the time
 * being, run->timeline; what is shared is looked for in it. One that deadlocks halts both. */
int ty_run_execute_program(struct ty_run *run, const struct ty_program *program, const char *engine,
                           struct ty_err *err);

/* ty_run_new without the question whether an execution has memory: for executions of one member of
 * each gang. `book`: of prices that plans before had, of this thread; NULL: none. Its program may
 * be that of a window (model/lower/window.c). */
int ty_run_plan(struct ty_run **run, const struct ty_config *config, struct ty_price_book *book,
                struct ty_err *err);

/* Whether one member of each gang was executed for all. */
static inline bool ty_run_is_folded(const struct ty_run *run)
{
    return run->is_folded;
}

/* The program that was executed, all jobs, every rank counted; of a run that halted, what was
 * issued of it. */
static inline const struct ty_program *ty_run_program(const struct ty_run *run)
{
    return ty_run_is_folded(run) ? &run->lowered.program : run->all.program;
}

/* Whether every rank was executed, as `what` ("a trace") needs; `halted`: or as far as it went. 0
 * or TY_EUSAGE. */
int ty_run_check_ranks(const struct ty_run *run, const char *what, bool halted, struct ty_err *err);

/* Whether every rank was planned, as `what` ("a trace") needs. 0 or TY_EUSAGE. */
int ty_run_check_planned(const struct ty_run *run, const char *what, struct ty_err *err);

/* Plans all ranks, where the program is that of a window. */
int ty_run_make_whole(struct ty_run *run, struct ty_err *err);

/* GPUs of the job. */
static inline uint32_t ty_run_ranks(const struct ty_run *run)
{
    return run->lowered.program.n_ranks * run->lowered.window.times;
}

/* Executes for figures only: one member of each gang where members cannot differ, all of them
 * else. Figures are those of ty_run_execute to the bit of the clock; there is no timeline of every
 * rank to trace or to explain. */
int ty_run_execute_folded(struct ty_run *run, struct ty_err *err);

/* Tasks of all ranks that count, of all jobs. */
static inline uint64_t ty_run_n_tasks(const struct ty_run *run)
{
    return ty_run_program(run)->n_tasks * run->lowered.window.times;
}

/* Bytes of the timeline of a program. */
static inline double ty_run_timeline_B(const struct ty_program *p)
{
    return (double)p->n_tasks * sizeof(ty_ps) * (ty_program_varies(p) || p->n_flows > 0 ? 2 : 1);
}

/* What ends later executions, and the runs that explanations and bands make, as
 * ty_execute_options.stop; how many threads execute and draw, 0: one per core. */
void ty_run_stop(struct ty_run *run, const volatile int *stop);
void ty_run_threads(struct ty_run *run, uint32_t threads);

#endif
