/* fabric.h - plays the messages of a collective on an idle fabric.
 *
 * A message takes alpha (by link class) plus its bytes over the rate of the sender's port of that
 * class; a port sends one message at a time; a rank sends step k+1 when what step k brings it has
 * arrived. Nothing here knows a closed form. */
#ifndef TY_TESTS_FABRIC_H
#define TY_TESTS_FABRIC_H

#include <math.h>
#include <string.h>

#include "topology/collectives/coll.h"

#include "tests/unit/suite.h"

#define FABRIC_RANKS 256u

enum link {
    NVLINK,
    NET,
    N_LINKS
};

struct fabric {
    uint32_t n, g;
    const uint32_t *node_of; /* [n], or NULL: g consecutive ranks share a node */
    double alpha_s[N_LINKS], rate[N_LINKS];
    /* state */
    uint32_t step, n_messages;
    double ready[FABRIC_RANKS], next[FABRIC_RANKS], port[N_LINKS][FABRIC_RANKS];
    double sent[FABRIC_RANKS], received[FABRIC_RANKS], carried[N_LINKS];
    double end_s;
};

static inline void next_step(struct fabric *f)
{
    for (uint32_t r = 0; r < f->n; r++) {
        f->ready[r] = fmax(f->ready[r], f->next[r]);
    }
}

static inline void play(void *arg, const struct ty_coll_step *m)
{
    struct fabric *f = arg;
    /* One check per message: Check writes each of its assertions to a pipe. */
    if (m->from >= f->n || m->to >= f->n || m->from == m->to || m->step < f->step) {
        ck_abort_msg("step %u: %u to %u of %u", m->step, m->from, m->to, f->n);
    }
    if (m->step > f->step) {
        f->step = m->step;
        next_step(f);
    }
    const bool same = f->node_of != NULL ? f->node_of[m->from] == f->node_of[m->to]
                                         : m->from / f->g == m->to / f->g;
    const enum link link = same ? NVLINK : NET;
    double *port = &f->port[link][m->from];
    *port = fmax(*port, f->ready[m->from]) + m->bytes / f->rate[link];
    const double arrival = *port + f->alpha_s[link];
    f->next[m->to] = fmax(f->next[m->to], arrival);
    f->end_s = fmax(f->end_s, arrival);
    f->sent[m->from] += m->bytes;
    f->received[m->to] += m->bytes;
    f->carried[link] += m->bytes;
    f->n_messages++;
}

static inline void fabric_init(struct fabric *f, uint32_t n, uint32_t g)
{
    memset(f, 0, sizeof(*f));
    ck_assert_uint_le(n, FABRIC_RANKS);
    f->n = n;
    f->g = g;
}

#endif
