/* crew.c - hands out pieces of work to threads and processes. Threads of all processes take from
 * one counter, many pieces at first and single ones at the end (guided self-scheduling:
 * Polychronopoulos and Kuck 1987), as a question to another machine may take as long as a row. */
#include "sim/sweep/crew.h"

#define SHARES 8u /* of what is left a thread takes one of so many for each thread there is */

struct shared {
    const struct ty_crew *crew;
    uint32_t n;
    uint64_t n_shares;
    ty_pool_fn *work;
    void *arg;
};

/* How many pieces to take, when all before `from` are taken. */
static uint32_t share_of(const struct shared *s, uint64_t from)
{
    const uint64_t left = from < s->n ? s->n - from : 0;
    return left > s->n_shares ? (uint32_t)(left / s->n_shares) : 1;
}

/* What one thread does, until nothing is left: false, as no further thread is needed then. */
static bool take_pieces(void *arg, uint32_t thread)
{
    const struct shared *s = arg;
    uint32_t pieces = share_of(s, 0);
    (void)thread;
    for (;;) {
        const uint64_t first = s->crew->take(s->crew->arg, pieces);
        for (uint64_t i = first; i < first + pieces; i++) {
            if (i >= s->n) {
                return false;
            }
            if (!s->work(s->arg, (uint32_t)i)) {
                (void)s->crew->take(s->crew->arg, s->n); /* all that could be left */
                return false;
            }
        }
        pieces = share_of(s, first + pieces);
    }
}

void ty_crew_run(const struct ty_crew *crew, uint32_t n, uint32_t jobs, ty_pool_fn *work, void *arg)
{
    if (crew == NULL) {
        ty_pool_run(0, n, jobs, work, arg);
        return;
    }
    struct shared s = {.crew = crew,
                       .n = n,
                       .n_shares = (uint64_t)SHARES * crew->n * (jobs > 0 ? jobs : 1),
                       .work = work,
                       .arg = arg};
    ty_pool_run(0, jobs > 0 ? jobs : n, jobs, take_pieces, &s);
}

int ty_crew_meet(const struct ty_crew *crew, int rc)
{
    if (crew == NULL || crew->meet(crew->arg, rc == 0)) {
        return rc;
    }
    return rc < 0 ? rc : TY_EIO;
}
