/* init.h - a first run file: what `trainyard init` writes, and the search for its layout. */
#ifndef TY_SEARCH_INIT_H
#define TY_SEARCH_INIT_H

#include "sim/base/text.h"
#include "sim/config/config.h"

/* What a run file is made of. */
struct ty_init_job {
    const char *file;     /* what it will be called: paths in it count from there */
    const char *cluster;  /* preset; NULL: spelled out */
    const char *gpu;      /* else: its preset ... */
    const char *links[3]; /* ... and links: values of nvlink_bandwidth, nics_per_node and
                              * nic_bandwidth */
    const char *model;    /* preset, or a Hugging Face file */
    bool from_file;       /* the latter */
    bool half;            /* fp16, where a GPU has no bf16 */
    uint32_t whole_node;  /* GPUs that a node of the cluster has */
    uint32_t nodes, per_node;
    uint32_t sequence; /* tokens; 0: the model's */
    uint32_t tensor, pipeline, micro_batch, global_batch;
    uint32_t expert; /* ranks that share the experts of a layer */
    const char *recompute;
    bool runs_again;     /* more than what costs next to nothing */
    bool latent;         /* the model has latent attention */
    double batch_tokens; /* that a step should have */
    uint32_t heads, layers, experts;
};

/* Reads the run file that would be written. */
int ty_init_read(const struct ty_init_job *job, struct ty_config **config, struct ty_err *err);

/* init_layout.c: chooses tensor, pipeline, micro-batch, batch and recomputation for the nodes that
 * it has. 1: they fit into memory and leave some free, 0: none that is tried does, or TY_ENOMEM.
 * `recomputes`: with recomputation, if need be. */
int ty_init_layout(struct ty_init_job *job, bool recomputes, struct ty_err *err);

#endif
