/* config.h - a whole run file, read, completed and checked.
 *
 * A value comes from the last of: what the module derives, the default of its field, the GPU
 * preset, the cluster or model preset (or a Hugging Face config.json), the run file, its
 * overlays in their order, --set. Every value knows which. */
#ifndef TY_CONFIG_CONFIG_H
#define TY_CONFIG_CONFIG_H

#include "model/layout.h"
#include "model/packing.h"
#include "model/routing.h"
#include "model/schedule/schedule.h"
#include "sim/config/fleet.h"
#include "sim/config/options.h"
#include "sim/config/uncertainty.h"
#include "sim/config/workload.h"
#include "sim/trainyard.h"
#include "topology/fabric/fabric.h"

/* enum suffix, name and member, doc */
#define TY_SECTIONS(X)                                                                             \
    X(CLUSTER, "cluster", "the machine: GPUs, links, efficiencies")                                \
    X(FABRIC, "fabric", "the network that joins the nodes")                                        \
    X(MODEL, "model", "the transformer")                                                           \
    X(LAYOUT, "layout", "how the model is laid over the GPUs")                                     \
    X(FRAMEWORK, "framework", "what the training framework does")                                  \
    X(SCHEDULE, "schedule", "order of the work of pipeline stages")                                \
    X(WORKLOAD, "workload", "an imported trace, in place of model, layout and schedule")           \
    X(RUN, "run", "how the step is simulated")                                                     \
    X(FLEET, "fleet", "the training around the step; none of it changes the step")                 \
    X(UNCERTAINTY, "uncertainty", "uncertainty of values; none of it changes the step")            \
    X(MEASURED, "measured", "measurements of the same job from a log; none changes the step")      \
    X(OUTPUT, "output", "what reports and traces show")

enum ty_section_index {
#define X(id, name, doc) TY_SECTION_##id,
    TY_SECTIONS(X)
#undef X
    TY_N_SECTIONS
};

#define TY_CONFIG_VALUE 2048 /* bytes of a value as text: longer lists are cut */

/* Another job on the same cluster: an entry of the list `jobs`. */
struct ty_job {
    const char *name;
    struct ty_config *config; /* complete, as if it were a run file; has no jobs of its own */
    uint32_t steps;           /* 0: as many as it takes to outlast the run file's own job */
    struct ty_place at;       /* of the entry */
};

/* What a preset said of a key, before files and settings. */
struct ty_preset_value {
    const char *preset, *text; /* its name, the value as a user would write it; NULL: nothing */
};

/* Sections from which something is derived, as presets, files, settings and defaults have them. */
struct ty_config_given {
    struct ty_cluster cluster;
    struct ty_fabric_options fabric;
    struct ty_arch arch;
    struct ty_layout layout;
    struct ty_sched_options schedule;
};

struct ty_config {
    struct ty_cluster cluster;
    struct ty_fabric_options fabric;
    struct ty_arch arch; /* section "model" */
    struct ty_layout layout;
    struct ty_sched_options schedule;
    struct ty_workload_options workload;
    struct ty_run_options run;
    struct ty_token_routing routing; /* what run.routing says */
    struct ty_lengths lengths;       /* what run.lengths says, and the sequences made of it: */
    struct ty_packing packing;
    struct ty_fleet_options fleet;
    struct ty_uncertainty_options uncertainty;
    struct ty_measured_options measured;
    struct ty_output_options output;
    struct ty_config_given given; /* before anything was derived: vary.h starts from it */

    struct ty_section sections[TY_N_SECTIONS]; /* by enum ty_section_index */
    bool *was_blank[TY_N_SECTIONS];            /* [n_fields] blank before values were derived */
    struct ty_preset_value *preset_values[TY_N_SECTIONS]; /* [n_fields] */
    const char *model_remarks;  /* lines about keys of the Hugging Face file; NULL: none */
    bool failed[TY_N_SECTIONS]; /* it has a wrong or missing value: not to be relied on */
    struct ty_job *jobs;        /* [n_jobs]: those that share the cluster with this one */
    uint32_t n_jobs;
    bool shares;        /* other jobs have GPUs of the cluster; first_gpu: those from it on are */
    uint32_t first_gpu; /* free for a job that does not say where it sits */
    bool tiers; /* of another job: links lead next to GPUs, where some job keeps something */
    struct ty_place job_at; /* of an entry of `jobs`: where it is; else line 0 */
    const uint32_t *seats;  /* [layout.n_gpus] GPUs it has, when it does */
    struct ty_doc *docs; /* [n_docs] the run file, then overlays, each stronger than those before */
    size_t n_docs;
    const char **inputs; /* [n_inputs] other files that it names and reads */
    size_t n_inputs, cap_inputs;
    struct ty_arena arena; /* owns everything above */
};

/* Whether a trace of others is executed, in place of a model. */
static inline bool ty_config_is_traced(const struct ty_config *config)
{
    return config->workload.chakra != NULL || config->workload.goal != NULL;
}

/* Whether a section says what a step does, and not only what is shown or asked of it. */
static inline bool ty_config_matters(enum ty_section_index section)
{
    return section != TY_SECTION_OUTPUT && section != TY_SECTION_FLEET &&
           section != TY_SECTION_UNCERTAINTY && section != TY_SECTION_MEASURED;
}

/* Public functions (load, free, show) are in sim/trainyard.h. */

/* As ty_config_read, for a plan: keys that it searches may be left at auto, and layout and schedule
 * are neither completed nor checked. Such a configuration is varied (vary.h), never run. */
int ty_config_read_open(struct ty_config **config, const struct ty_source *source,
                        struct ty_err *err);

/* A run file on standard input, which can be read once: reads it into the arena, so that the source
 * can be read as often as any. With others (a crew) it cannot be: each process has its own. 0, or
 * TY_EUSAGE, or the codes of reading. */
int ty_source_hold(struct ty_source *source, const struct ty_crew *crew, struct ty_arena *arena,
                   struct ty_err *err);

/* The presets that a key names, up to one without a name; NULL where it names none. */
const struct ty_preset *ty_config_presets(enum ty_section_index section, const char *key);

/* A JSON schema (draft 7) of the run file, for editors. */
int ty_config_schema(char **text, struct ty_err *err);

/* A hash of what is simulated: equal when two configurations have equal values, wherever these come
 * from. The names of presets and the output section are left out, as they change no result. */
uint64_t ty_config_digest(const struct ty_config *config);

/* The same of the values of one section; 0: it has none that count. */
uint64_t ty_config_section_digest(const struct ty_config *config, enum ty_section_index section);

/* That of all as 16 digits, as outputs have it. Returns buf. */
#define TY_DIGEST_TEXT 17u
char *ty_config_digest_text(const struct ty_config *config, char buf[TY_DIGEST_TEXT]);

/* A configuration without values: sections with their tables, all fields unset. 0 or TY_ENOMEM. */
int ty_config_init(struct ty_config *config, struct ty_err *err);

/* Lets the sections describe the structs of this configuration, which is a copy of another. */
void ty_config_point(struct ty_config *config);

/* Name of a section in a run file; that of a job's section in messages says whose it is. */
const char *ty_config_section_name(enum ty_section_index section);

/* The section called name[0..len), or TY_N_SECTIONS. */
enum ty_section_index ty_config_section(const char *name, size_t len);

/* The field that "section.key" names; NULL: there is none. *section: what is before the dot. */
const struct ty_field *ty_config_field(const struct ty_config *config, const char *name,
                                       enum ty_section_index *section);

/* `path` as seen from the folder of the file that gives it; NULL: no memory. A path from the
 * command line counts from the run file: it stands for a line of it. The file is remembered as
 * read. */
const char *ty_config_beside(struct ty_config *config, const struct ty_place *given_at,
                             const char *path);

/* The list "keys" of ty_list: a line each, or all about a section or key. */
int ty_list_keys(const char *about, char **text, struct ty_err *err);

#endif
