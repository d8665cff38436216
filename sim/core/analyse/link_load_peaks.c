/* link_load_peaks.c - the most that each link carried, and how long it was full. See
 * link_load.h. */
#include <stdlib.h>

#include "sim/base/noise.h"
#include "sim/core/analyse/link_load_internal.h"

struct measure {
    struct ty_link_load_peak peak;
    double full_Bps;
    ty_ps since;
    bool full;
};

static void measure(void *arg, ty_ps t, double Bps)
{
    struct measure *m = arg;
    m->peak.full += m->full ? t - m->since : 0;
    m->since = t;
    m->full = Bps >= m->full_Bps;
    m->peak.Bps = Bps > m->peak.Bps ? Bps : m->peak.Bps;
}

/* Links that look alike are neighbours when sorted by this. */
struct alike {
    uint64_t hash;
    uint32_t link;
};

static int by_hash(const void *a, const void *b)
{
    const struct alike *x = a, *y = b;
    return x->hash != y->hash ? (x->hash < y->hash ? -1 : 1)
                              : (x->link > y->link) - (x->link < y->link);
}

/* One who does a part of a link's work at the same times. */
static uint32_t like(const struct ty_link_load *h, const struct ty_link_load_part *part)
{
    const uint32_t member = ty_link_load_representative(h, part->kind, part->member);
    const struct ty_flow *flow = ty_kind_flow(h->program, &h->program->kinds[part->kind], 0);
    const uint32_t twin = h->twins > 1 ? member - member % h->twins : member;
    return flow != NULL && flow[twin].lead == flow[member].lead ? twin : member;
}

static uint64_t hash_of(const struct ty_link_load *h, uint32_t link)
{
    uint64_t hash = ty_bits(h->program->links[link].capacity);
    for (uint32_t i = h->first_part[link]; i < h->first_part[link + 1]; i++) {
        const struct ty_link_load_part *part = &h->part[i];
        hash = ty_hash4(hash, part->kind, like(h, part), ty_bits(part->bytes));
    }
    return hash;
}

static bool are_alike(const struct ty_link_load *h, uint32_t a, uint32_t b)
{
    const struct ty_link_load_part *x = &h->part[h->first_part[a]], *y = &h->part[h->first_part[b]];
    const uint32_t n = h->first_part[a + 1] - h->first_part[a];
    bool same = n == h->first_part[b + 1] - h->first_part[b] &&
                ty_bits(h->program->links[a].capacity) == ty_bits(h->program->links[b].capacity);
    for (uint32_t i = 0; same && i < n; i++) {
        same = x[i].kind == y[i].kind && ty_bits(x[i].bytes) == ty_bits(y[i].bytes) &&
               like(h, &x[i]) == like(h, &y[i]);
    }
    return same;
}

static int remember(struct ty_link_load_memory *m, const struct ty_program *p, struct ty_err *err)
{
    uint32_t lanes = 0;
    m->first = ty_arena_array(&m->arena, uint32_t, (size_t)p->n_gangs + 1);
    m->task = ty_arena_array(&m->arena, const ty_ps *, (size_t)p->n_ranks * p->n_lanes + 1);
    for (uint32_t g = 0; m->first != NULL && g < p->n_gangs; g++) {
        m->first[g] = lanes;
        lanes += p->gangs[g].n_ranks * p->n_lanes;
    }
    return m->first != NULL && m->task != NULL ? 0 : ty_fail_memory(err);
}

/* Links in the order of their hashes. */
static struct alike *sort_alike(const struct ty_link_load *h, struct ty_arena *arena,
                                struct ty_err *err)
{
    const uint32_t n = h->program->n_links;
    struct alike *order = ty_arena_array(arena, struct alike, (size_t)n + 1);
    for (uint32_t l = 0; order != NULL && l < n; l++) {
        order[l] = (struct alike){hash_of(h, l), l};
    }
    if (order != NULL) {
        qsort(order, n, sizeof(*order), by_hash);
    } else {
        ty_fail_memory(err);
    }
    return order;
}

int ty_link_load_peaks(const struct ty_link_load *h, const struct ty_timeline *timeline,
                       struct ty_link_load_peak *out, struct ty_err *err)
{
    struct ty_link_load_memory memory = {.first = NULL};
    const struct alike *order = sort_alike(h, &memory.arena, err);
    int rc = order != NULL ? remember(&memory, h->program, err) : TY_ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < h->program->n_links; i++) {
        const uint32_t link = order[i].link;
        if (timeline->peak != NULL && timeline->peak[link].Bps >= 0) {
            out[link] = timeline->peak[link];
            continue;
        }
        struct measure m = {.full_Bps = TY_LINK_FULL * h->program->links[link].capacity};
        if (i > 0 && order[i - 1].hash == order[i].hash && are_alike(h, order[i - 1].link, link)) {
            out[link] = out[order[i - 1].link];
            continue;
        }
        rc = ty_link_load_walk_from(h, timeline, &link, 1, 1, &memory, measure, &m, err);
        out[link] = m.peak;
    }
    ty_arena_release(&memory.arena);
    return rc;
}
