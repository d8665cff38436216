/* chakra.h - the files that ASTRA-sim needs with a Chakra trace. */
#ifndef TY_EXCHANGE_CHAKRA_H
#define TY_EXCHANGE_CHAKRA_H

#include "sim/exchange/read/formats.h"

struct ty_export;
struct ty_out;

/* astra.c: system, network and memory of a machine with one switch; what to know about them. */
int ty_astra_write(struct ty_export *x);
void ty_astra_about(struct ty_export *x, struct ty_out *readme);

#endif
