/* members.c - what each member of a gang pays for a communication.
 *
 * A price follows from where the member's group lies and what it is loaded with; a gang of
 * thousands has a handful of such classes. Each is priced once, and its other members take that. */
#include "model/lower/internal.h"

#include <string.h>

/* Members that were priced, by what a price is worked out from: as a rule a handful of classes, in
 * which members lie in turns. */
#define CLASSES 16u

struct priced {
    uint32_t member[CLASSES];
    uint32_t n, last; /* last: number of the class that was found last */
};

/* Whether two members pay the same for a collective: their groups lie so, with such loads. */
static bool same_price(const struct ty_collective *all, uint32_t a, uint32_t b)
{
    const struct ty_member_load *load = all->load;
    if (memcmp(&all->reach[a], &all->reach[b], sizeof(*all->reach)) != 0) {
        return false;
    }
    return load == NULL || (all->what.exchange != NULL
                                ? load[a].rank == load[b].rank && load[a].node == load[b].node
                                : load[a].own == load[b].own);
}

/* A member before this one that pays the same; `member` itself where none is known. */
static uint32_t like(struct priced *p, const struct ty_collective *c, uint32_t member)
{
    for (uint32_t i = 0; c != NULL && i < p->n; i++) {
        const uint32_t k = (p->last + i) % p->n;
        if (same_price(c, p->member[k], member)) {
            p->last = k;
            return p->member[k];
        }
    }
    if (p->n < CLASSES) {
        p->member[p->n++] = member;
    }
    return member;
}

bool ty_lower_price_members(struct ty_lowering *l, const struct ty_collective *c, bool alone,
                            ty_lower_cost_fn *cost_of, const void *arg, ty_ps *dur)
{
    struct priced priced = {.n = 0};
    bool equal = true;
    for (uint32_t i = 0; i < l->members; i++) {
        const uint32_t known = like(&priced, c, i);
        if (known < i) {
            l->cost_of[i] = l->cost_of[known];
            dur[i] = dur[known];
        } else {
            double seconds = 0;
            l->cost_of[i] = (struct ty_coll_cost){.latency_s = 0};
            cost_of(l, arg, i, alone, &l->cost_of[i], &seconds);
            dur[i] = ty_lower_ps(l, seconds);
        }
        equal = equal && dur[i] == dur[0];
    }
    return equal;
}
