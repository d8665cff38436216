/* chakra.h - numbers of the Chakra format, and the files that ASTRA-sim wants beside it. */
#ifndef TY_EXCHANGE_CHAKRA_H
#define TY_EXCHANGE_CHAKRA_H

#include <stdint.h>

#define TY_CHAKRA_VERSION "0.0.4" /* as ASTRA-sim's own samples say */

enum ty_chakra_coll {
    TY_CHAKRA_ALL_REDUCE,
    TY_CHAKRA_REDUCE,
    TY_CHAKRA_ALL_GATHER,
    TY_CHAKRA_GATHER,
    TY_CHAKRA_SCATTER,
    TY_CHAKRA_BROADCAST,
    TY_CHAKRA_ALL_TO_ALL,
    TY_CHAKRA_REDUCE_SCATTER,
    TY_CHAKRA_REDUCE_SCATTER_BLOCK,
    TY_CHAKRA_BARRIER,
};

struct ty_export;
struct ty_out;

/* astra.c: system, network and memory of a machine with one switch; what to know about them. */
int ty_astra_write(struct ty_export *x);
void ty_astra_about(struct ty_export *x, struct ty_out *readme);

#endif
