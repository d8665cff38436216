/* links.h - how hot the links of an executed run got, by class, with the busiest by name. */
#ifndef TY_REPORT_LINKS_H
#define TY_REPORT_LINKS_H

#include "sim/base/text.h"
#include "sim/core/analyse/link_load.h"
#include "sim/document/json.h"
#include "sim/run/run.h"

#define TY_BUSIEST 3u

struct ty_link_use {
    uint32_t link;     /* of the program; it, or its like on another node ... */
    uint32_t node;     /* ... of the cluster: TY_NO_NODE */
    double bytes;      /* in a step */
    double mean, peak; /* shares of its capacity */
    double full_s;     /* in a step, mean over steps */
};

/* All links of one class, all jobs; a step is one of the run's own job. In and out are links of
 * their own, so that a byte counts on both. */
struct ty_class_use {
    uint32_t n_links, n_used;
    double bytes;      /* in a step, all of them */
    double mean, peak; /* of what those in use can carry; of the one that got fullest */
    double full_s;     /* in a step, the one that was full for longest */
    bool alike;        /* all in use carry the same */
    struct ty_link_use busiest[TY_BUSIEST]; /* by mean, then by number; [min(n_used, 3)] */
};

/* Links of the cluster. */
uint32_t ty_run_n_links(const struct ty_run *run);

/* By class: out[TY_N_LINK_CLASSES]. 0, TY_ENOMEM, or as ty_link_load_init. */
int ty_run_link_use(const struct ty_run *run, struct ty_class_use *out, struct ty_err *err);

/* Sections of the two reports. *full_s: how long the link was full that was so for longest. */
int ty_report_links_table(const struct ty_run *run, struct ty_text *text, double *full_s,
                          struct ty_err *err);
int ty_report_links_json(const struct ty_run *run, struct ty_json *json, struct ty_err *err);

#endif
