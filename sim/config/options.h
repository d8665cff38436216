/* options.h - the `run`, `measured` and `output` sections: how a plan is executed, what a log says
 * of the same job, and what is shown. */
#ifndef TY_CONFIG_OPTIONS_H
#define TY_CONFIG_OPTIONS_H

#include "sim/document/fields.h"
#include "traces/svg/svg.h"

/* What a collective is made of. */
enum ty_run_detail {
    TY_RUN_FLOWS,
    TY_RUN_STEPS,
};

/* The `run` section. */
struct ty_run_options {
    uint32_t steps; /* optimizer steps */
    uint64_t seed;
    double jitter;       /* coefficient of variation of compute times; 0: none */
    const char *routing; /* of tokens to experts, as written: model/routing.h */
    const char *lengths; /* of documents, as written: model/packing.h */
    int packing;         /* enum ty_packing_method */
    double gpu_spread;   /* standard deviation of a lasting factor per GPU; 0: none */
    double slow_hosts;   /* share of nodes that are drawn slow; 0: none */
    double slow_by;      /* their GPUs take so much longer */
    int engine;          /* enum ty_engine */
    int detail;          /* enum ty_run_detail */
    double memory_limit; /* B that a run may take of this machine; 0: most of what it has */
    bool contention;     /* GPUs and links are shared as they are used; false: as estimated */
};

/* The `measured` section: `trainyard import log` writes it and `trainyard compare` reads it. Zero
 * or an empty list is what the log does not say. */
struct ty_measured_options {
    double step_s, step_p10_s, step_p90_s; /* median and deciles of an optimizer step */
    uint32_t steps;                        /* steps behind them */
    double tokens_per_s;                   /* of all GPUs, as the log prints it */
    double model_flops;                    /* FLOP/s of a GPU, as the log prints it */
    double mfu;                            /* as the log prints it */
    struct ty_string_list memory;          /* "RANK SIZE": allocated at most */
    struct ty_string_list reserved;        /* "RANK SIZE": reserved by the allocator at most */
    struct ty_string_list timers;          /* "NAME TIME" of a step */
    const char *writer;                    /* framework that wrote the log */
    const char *source;                    /* "train.log:2211" */
};

enum ty_stats_format {
    TY_STATS_TABLE,
    TY_STATS_JSON,
};

/* The `output` section. */
struct ty_output_options {
    int stats;                   /* enum ty_stats_format */
    struct ty_string_list trace; /* "FORMAT:PATH" */
    double trace_limit;          /* B, estimated size of one trace file */
    int detail;                  /* enum ty_detail */
    int counters;                /* enum ty_counters */
    int args;                    /* enum ty_args */
    int flows;                   /* enum ty_flows */
    int critical;                /* whether the critical path is shown */
    const char *ranks;           /* selection; "": by rule */
    struct ty_svg_style svg;
};

extern const struct ty_word ty_engine_words[], ty_detail_words[], ty_counters_words[],
    ty_args_words[], ty_flows_words[], ty_critical_words[];

extern const struct ty_field ty_run_fields[];
extern const uint32_t ty_n_run_fields;
extern const struct ty_field ty_measured_fields[];
extern const uint32_t ty_n_measured_fields;
extern const struct ty_field ty_output_fields[];
extern const uint32_t ty_n_output_fields;

/* The value of a word given to an option, into *value, which stays when there is none (NULL). 0, or
 * TY_EUSAGE with a message that lists the words. */
int ty_word_read(const char *option, const char *text, const struct ty_word *words, int *value,
                 struct ty_err *err);

/* What the command line says of a picture, over what is there: a width such as "170 mm", words of
 * palette and bubbles; each may be NULL. 0, or TY_EUSAGE with a message. */
int ty_svg_style_read(struct ty_svg_style *style, const char *width, const char *palette,
                      const char *bubbles, struct ty_err *err);

#endif
