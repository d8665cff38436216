/* memory.h - bytes a rank holds: states by ZeRO stage, activations by what is kept. */
#ifndef TY_MODEL_MEMORY_H
#define TY_MODEL_MEMORY_H

#include "model/block/block.h"
#include "model/vocabulary.h"

/* Bytes of weights, gradients and optimizer state for `params` parameters of one rank's model
 * part, `experts` of them of experts. Source: Rajbhandari et al. 2020 (ZeRO): 16 P, 4 P + 12 P/N,
 * 2 P + 14 P/N, 16 P/N for 16-bit gradients; fp32 gradients add 2 B per parameter of the gradient
 * term, other types of states (framework.moment_dtype, master_dtype) change the 12. Where ZeRO-2 or
 * -3 reduces only after the last of several micro-batches, gradients are whole until then. */
struct ty_state_bytes {
    double weights, grads, optimizer;
};
struct ty_state_bytes ty_memory_states(const struct ty_layout *layout, double params,
                                       double experts);

/* Of the same, what a rank keeps next to its GPU, in the memory of its node and on its drives
 * (layout.offload): 16-bit weights and gradients, and the optimizer's state. */
struct ty_away_bytes {
    struct ty_state_bytes host, nvme;
};
/* Bytes of frozen weights that a rank keeps on its GPU of so many, `experts` of them of experts;
 * and where parameters live beside it (layout.offload_parameters), added to what lives there. */
double ty_memory_frozen(const struct ty_layout *layout, double bytes, double experts);
void ty_memory_frozen_away(const struct ty_layout *layout, double bytes, double experts,
                           struct ty_away_bytes *away);

struct ty_away_bytes ty_memory_offloaded(const struct ty_layout *layout, double params,
                                         double experts);

/* A tensor of one micro-batch on one rank; those of a layer are there once in each layer. */
struct ty_tensor {
    const char *name;
    uint8_t unit; /* enum ty_unit_kind */
    bool weight;  /* as in struct ty_saved */
    enum ty_tensor_life life;
    double bytes, routed; /* the same */
};
#define TY_TENSORS_MAX (TY_N_UNIT_KINDS * TY_UNIT_SAVED)
struct ty_tensors {
    struct ty_tensor item[TY_TENSORS_MAX];
    uint32_t n;
};

/* Every tensor that counts, of all units: the one source of the sums below and of the names in
 * reports. Of what the parts of a layer need for a moment, one after the other, that of the fullest
 * part. */
void ty_memory_tensors(const struct ty_units *units, struct ty_tensors *out);
/* Bytes that a unit keeps from forward to backward, wherever they wait. */
double ty_memory_kept(const struct ty_unit_ops *unit);
double ty_tensors_sum(const struct ty_tensors *tensors, enum ty_unit_kind unit,
                      enum ty_tensor_life life);

/* Whether a tensor is there between the halves of a split backward; bytes of those that are.
 * Whether what a layer or the loss needs for a moment is there in a pass. */
bool ty_tensor_waits(const struct ty_tensor *x);
static inline bool ty_tensor_is_in(const struct ty_tensor *x, enum ty_phase phase)
{
    return !x->weight || phase != TY_PHASE_DGRAD;
}
double ty_tensors_waiting(const struct ty_tensors *tensors, enum ty_unit_kind unit);

/* The fullest moment inside a pass. */
enum ty_peak_kind {
    TY_PEAK_NONE,
    TY_PEAK_LOSS, /* head and loss run */
    TY_PEAK_LAYER /* the backward of a layer runs */
};
struct ty_memory_peak {
    enum ty_peak_kind kind;
    enum ty_unit_kind layer;        /* TY_PEAK_LAYER: of which kind */
    double bytes;                   /* beyond what is held from forward to backward */
    uint32_t done[TY_N_UNIT_KINDS]; /* first half of a split backward: units behind, which hold
                                     * only what their second half needs */
};

/* The units of a stage: its layers, and with what stands before and behind them how many there are
 * of each kind. */
struct ty_memory_stage {
    const struct ty_arch *arch;
    struct ty_layers layers;
    uint32_t count[TY_N_UNIT_KINDS];
    bool head; /* it has the head */
};

/* Layers whose backward has run, and what they kept is free, before any layer of a kind brings back
 * its own: those behind that repeat something else, or nothing. By kind. */
void ty_memory_done(const struct ty_memory_stage *stage, enum ty_unit_kind kind,
                    uint32_t done[TY_N_UNIT_KINDS]);

/* What a pass needs besides what is held while it runs. The head is done with, and its tensors
 * freed, when the backward of the layers begins. */
struct ty_memory_peak ty_memory_pass(const struct ty_tensors *tensors,
                                     const struct ty_memory_stage *stage, enum ty_phase phase);

/* cluster.fragmentation where a block is lost, if the run file has none. Of the 439 outcomes of
 * Hagemann et al. 2023 that are seen, 2.25 to 2.5 % call most right. */
#define TY_SPLIT_FRAGMENTATION 0.025

/* Whether a block is lost to splitting: framework.allocator says so, and gradients of one backward
 * pass stay, whole, through others. And what share of the model's bytes is lost besides. */
bool ty_memory_splits(const struct ty_layout *layout);
double ty_memory_fragmentation(const struct ty_cluster *cluster, const struct ty_layout *layout);

/* The block that PyTorch's allocator loses to splitting on a rank with these units. */
double ty_memory_split(const struct ty_tensors *tensors, const uint32_t count[TY_N_UNIT_KINDS]);

/* What is lost beside the `bytes` of a rank: cluster.fragmentation of them, and that block. Nothing
 * where no share is: then only what is allocated counts. */
double ty_memory_lost(double fragmentation, double bytes, double split);

/* Shapes of weight gradients whose placeholders stay, none of adapters, which are small; and bytes
 * of those on a rank with units of these kinds, a bit each, in 16 bit. */
void ty_placeholders_make(struct ty_placeholders *out, const struct ty_arch *arch,
                          const struct ty_layout *layout,
                          const struct ty_unit_ops unit[TY_N_UNIT_KINDS]);
double ty_memory_placeholders(const struct ty_placeholders *placeholders, uint32_t kinds);
/* Bits of the kinds that a stage has. */
uint32_t ty_unit_kinds_of(const uint32_t count[TY_N_UNIT_KINDS]);

/* How long what the loss needs in a pass lives. */
enum ty_tensor_life ty_memory_loss_life(enum ty_phase phase);

/* Parameters that are whole on a rank that keeps shards of them, or of their gradients. */
struct ty_whole {
    double gathered; /* weights: of the unit at work and of those gathered ahead */
    double added;    /* gradients: of the chunk for which they are added up, */
    double made;     /* of the unit or bucket at work, and */
    double reduced;  /* of the one that is being reduced */
};

/* Communication buffers a rank always holds: the gradient bucket; of what is kept in shards what is
 * whole for a while. 0 without replicas, and where a bucket is filled after the backward, with
 * activations gone. */
double ty_memory_buffers(const struct ty_layout *layout, const struct ty_whole *whole);

/* Pinned memory of the node through which a rank moves what does not live there: of `chunk`
 * parameters that are updated together, `unit` that are fetched together, shards of a rank. */
double ty_memory_pinned(const struct ty_layout *layout, const struct ty_homes *home, double chunk,
                        double unit);

/* Bytes of a weight as it is kept and gathered. */
double ty_memory_weight_bytes(const struct ty_layout *layout);

/* Bytes of what the optimizer keeps of a parameter: master weight and moments; what it keeps beyond
 * that of one of embedding and head, where it has another optimizer for these; all that on a rank
 * that has `ends` of them before sharding, not in ty_memory_states. */
double ty_memory_optimizer_bytes(const struct ty_layout *layout);
double ty_memory_ends_bytes(const struct ty_layout *layout);
double ty_memory_ends(const struct ty_layout *layout, double ends);

/* Bytes of a gradient: as it is made and kept; as it is reduced; as it is added up over
 * micro-batches, of what is then kept in shards in the wider of both (FSDP2's
 * unsharded_accumulated_grad). */
double ty_memory_grad_bytes(const struct ty_layout *layout);
double ty_memory_reduced_bytes(const struct ty_layout *layout);
double ty_memory_added_bytes(const struct ty_layout *layout);

#endif
