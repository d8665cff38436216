/* jobs.h - several jobs in one run file: the list `jobs`.
 *
 *     jobs:
 *       - name: neighbour
 *         layout: {nodes: 4-7, tensor: 2}
 *
 * The run file's own job is the first, the one that figures are about. An entry is another one on
 * the same cluster: its sections model, layout, framework and schedule differ from those of the run
 * file by the keys that it gives, or from those of another run file (`file`); where it sits is its
 * own in any case. cluster, fabric, run and output are the run file's. */
#ifndef TY_CONFIG_JOBS_H
#define TY_CONFIG_JOBS_H

#include "sim/config/load.h"
#include "sim/trainyard.h"

#define TY_JOBS_KEY "jobs"
#define TY_JOBS_MAX 64u

/* Finds the list among the files, the last of them that has one, and says in the configuration
 * whether the cluster is shared. */
int ty_jobs_find(struct ty_loader *l);

/* Reads, completes and checks the job of every entry, into config->jobs. Where the run file's own
 * is wrong (l->code), entries are looked at by themselves only. Settings of the command line are
 * its own, but for those of sections that jobs share. */
int ty_jobs_load(struct ty_loader *l, const struct ty_source *source);

/* Whether an entry may have the section: what it lacks, it shares. */
bool ty_jobs_section(enum ty_section_index section);

/* A hash of all jobs but the first, for ty_config_digest; 0: none. */
uint64_t ty_jobs_digest(const struct ty_config *config);

#endif
