/* explicit_spec.h - jobs spelled out message by message, in words that no simulator owns: rings of
 * all-reduces and 1F1B pipelines on two platforms of 256 GPUs. What is random is drawn here, so
 * that every simulator gets the same sizes for the same messages. */
#ifndef TY_TESTS_EXPLICIT_SPEC_H
#define TY_TESTS_EXPLICIT_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Both have links in pairs, one a direction.
 *   two-level  nodes of 8 GPUs: a port of 300 GB/s and 1 us each into the node's switch, which has
 *              a NIC of 100 GB/s and 2 us; NICs meet in a switch that is never full
 *   fat tree   leaves of 16 GPUs, 16 spines, all links 25 GB/s and 2 us; the way up is chosen by
 *              destination (D-mod-k: Zahavi 2012) */
enum explicit_platform {
    EXPLICIT_TWO_LEVEL,
    EXPLICIT_FAT_TREE
};

#define EXPLICIT_NODE     8u
#define EXPLICIT_LEAF     16u
#define EXPLICIT_PORT_BPS 300e9
#define EXPLICIT_PORT_S   1e-6
#define EXPLICIT_NIC_BPS  100e9
#define EXPLICIT_NIC_S    2e-6
#define EXPLICIT_TREE_BPS 25e9
#define EXPLICIT_TREE_S   2e-6

struct explicit_spec {
    enum explicit_platform platform;
    bool pipe; /* else rings */
    uint32_t hosts;
    double jitter; /* sizes of ring messages spread by +- this, uniformly */

    /* Ring all-reduces of `bytes` over hosts / rings GPUs each, `reps` in a row without a meeting
     * in between. A node's (two-level) or leaf's GPUs are divided among the rings, neighbours to
     * one ring; shuffled: GPUs are in random order instead. */
    double bytes;
    uint32_t reps, rings;
    bool shuffled;

    /* 1F1B: stages x replicas = hosts, stages next to each other. A forward takes forward_s, a
     * backward twice that, in `layers` tasks each; messages of message_bytes between stages, of
     * which a GPU sends up to `sends` at a time. */
    uint32_t stages, micro_batches, replicas, layers, sends;
    double forward_s, message_bytes;
};

/* 256 GPUs, two-level: one all-reduce of 1 GB; 8 stages, 64 micro-batches of 32 MiB messages, 32
 * replicas, 10 layers of a tenth of a millisecond. */
struct explicit_spec explicit_spec_default(void);

/* Sets "platform=fat-tree", "job=pipe", "jitter=0.1", ...; whether all words were understood and
 * make a job. */
bool explicit_spec_parse(struct explicit_spec *spec, int n, const char *const *words);

static inline uint32_t explicit_ring_size(const struct explicit_spec *spec)
{
    return spec->hosts / spec->rings;
}

/* Messages that every GPU of a ring sends. */
static inline uint32_t explicit_ring_steps(const struct explicit_spec *spec)
{
    return 2 * (explicit_ring_size(spec) - 1) * spec->reps;
}

/* Hosts of all rings, one after the other: malloc'ed [hosts]. */
uint32_t *explicit_ring_hosts(const struct explicit_spec *spec);

/* Bytes of each message: malloc'ed [steps][hosts], sender by number in the list above. Drawn in
 * this order. */
uint64_t *explicit_ring_bytes(const struct explicit_spec *spec);

/* What a stage does, in order: malloc'ed [2 * micro_batches]. */
struct explicit_slot {
    bool forward;
    uint32_t mb;
};
struct explicit_slot *explicit_pipe_slots(const struct explicit_spec *spec, uint32_t stage);

#ifdef __cplusplus
}
#endif

#endif
