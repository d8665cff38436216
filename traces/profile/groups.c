/* groups.c - the process groups of a profile, each once.
 *
 * Files number groups as they please: PyTorch counts those of each rank, so that one name stands
 * for other ranks in another file. A group is one with another when its name and its ranks are, as
 * far as they are known. Jobs have tens of thousands of them, which are found by a hash of both. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/noise.h"
#include "traces/profile/internal.h"

#define MAX_GROUPS  65536u
#define FIRST_SLOTS 256u /* a power of two */

static int no_memory(struct ty_err *err)
{
    return ty_fail_memory(err);
}

static int ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* "[0, 1, 2]" as sorted ranks; false when it is not whole ("...") or no such list. */
static bool parse_ranks(struct ty_arena *arena, const char *text, struct ty_profile_pg *pg)
{
    const size_t len = strlen(text);
    uint32_t n = 0;
    uint32_t *ranks = ty_arena_array(arena, uint32_t, len / 2 + 1);
    if (ranks == NULL || len < 3 || text[0] != '[' || text[len - 1] != ']') {
        return false;
    }
    for (const char *p = text + 1; *p != ']' && *p != '\0';) {
        const size_t digits = strspn(p, "0123456789");
        if (digits == 0 || digits > 9) {
            return false;
        }
        ranks[n++] = (uint32_t)strtoul(p, NULL, 10);
        p += digits;
        p += strspn(p, ", ");
    }
    pg->ranks = ranks;
    pg->n = n;
    pg->whole = n > 0;
    return pg->whole;
}

/* ---- the table ---- */

static uint64_t hash(uint32_t name, const uint32_t *ranks, uint32_t n)
{
    uint64_t h = ty_hash4(name, n, ranks != NULL, 0);
    for (uint32_t i = 0; ranks != NULL && i < n; i++) {
        h = ty_hash4(h, ranks[i], 0, 0);
    }
    return h;
}

static bool same(const struct ty_profile_group *g, const struct ty_profile_pg *pg)
{
    return g->name == pg->name && g->n == pg->n && (g->ranks != NULL) == pg->whole &&
           (!pg->whole || memcmp(g->ranks, pg->ranks, pg->n * sizeof(*g->ranks)) == 0);
}

/* Twice the slots; false when memory is exhausted. */
static bool widen(struct ty_profile_groups *t)
{
    const uint32_t size = t->size == 0 ? FIRST_SLOTS : 2 * t->size;
    uint32_t *slots = calloc(size, sizeof(*slots));
    if (slots == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < t->profile->n_groups; i++) {
        const struct ty_profile_group *g = &t->profile->groups[i];
        uint32_t at = (uint32_t)hash(g->name, g->ranks, g->n) & (size - 1);
        while (slots[at] != 0) {
            at = (at + 1) & (size - 1);
        }
        slots[at] = i + 1;
    }
    free(t->slots);
    t->slots = slots;
    t->size = size;
    return true;
}

void ty_profile_groups_release(struct ty_profile_groups *t)
{
    free(t->slots);
}

/* The number of a group among the profile's, new or known. */
static int find_group(struct ty_profile_groups *t, const struct ty_profile_pg *pg, uint32_t *out,
                      struct ty_err *err)
{
    struct ty_profile *p = t->profile;
    if (2 * p->n_groups >= t->size && !widen(t)) {
        return no_memory(err);
    }
    uint32_t at = (uint32_t)hash(pg->name, pg->whole ? pg->ranks : NULL, pg->n) & (t->size - 1);
    for (; t->slots[at] != 0; at = (at + 1) & (t->size - 1)) {
        if (same(&p->groups[t->slots[at] - 1], pg)) {
            *out = t->slots[at] - 1;
            return 0;
        }
    }
    if (p->n_groups == MAX_GROUPS) {
        return ty_fail(err, TY_ELIMIT, "more than %u process groups", MAX_GROUPS);
    }
    if (!ty_profile_grow(&p->groups, p->n_groups, &t->cap_groups, sizeof(*p->groups))) {
        return no_memory(err);
    }
    p->groups[p->n_groups] = (struct ty_profile_group){
        .name = pg->name, .desc = pg->desc, .ranks = pg->whole ? pg->ranks : NULL, .n = pg->n};
    t->slots[at] = p->n_groups + 1;
    *out = p->n_groups++;
    return 0;
}

/* ---- what a file says ---- */

/* What is said of a group: by the list on the kernel, if it is whole; by distributedInfo. */
static void describe_group(const struct ty_profile_groups *t, const struct ty_profile_file *file,
                           uint32_t c, struct ty_profile_pg *pg)
{
    *pg = (struct ty_profile_pg){.name = file->pg_names[c], .desc = file->pg_descs[c]};
    const struct ty_profile_pg *listed = NULL;
    for (uint32_t i = 0; i < file->n_pgs && listed == NULL; i++) {
        listed = file->pgs[i].name == pg->name ? &file->pgs[i] : NULL;
    }
    if (!parse_ranks(&t->store->arena, t->store->text[file->pg_ranks[c]], pg) && listed != NULL) {
        pg->ranks = listed->ranks;
        pg->n = listed->n;
        pg->whole = listed->whole;
    }
    if (pg->desc == 0 && listed != NULL) {
        pg->desc = listed->desc;
    }
    if (!pg->whole) {
        pg->n = pg->n != 0 ? pg->n : file->rank.comms[c].group_size;
    } else {
        qsort(pg->ranks, pg->n, sizeof(*pg->ranks), ascending);
    }
}

int ty_profile_find_groups(struct ty_profile_groups *t, struct ty_profile_file *file,
                           struct ty_err *err)
{
    struct {
        uint32_t name, ranks, size, group;
    } known[64]; /* the first ones, and the last of the others: a rank is in few */
    uint32_t n = 0;
    int rc = 0;
    for (uint32_t c = 0; c < file->rank.n_comms && rc == 0; c++) {
        struct ty_profile_comm *comm = &file->rank.comms[c];
        uint32_t i = 0;
        if (file->pg_names[c] == 0 && file->pg_ranks[c] == 0) {
            continue; /* nothing is said */
        }
        while (i < n &&
               (known[i].name != file->pg_names[c] || known[i].ranks != file->pg_ranks[c] ||
                known[i].size != comm->group_size)) {
            i++;
        }
        if (i == n) {
            struct ty_profile_pg pg;
            describe_group(t, file, c, &pg);
            i = n < TY_COUNT(known) ? n++ : n - 1;
            known[i].name = file->pg_names[c];
            known[i].ranks = file->pg_ranks[c];
            known[i].size = comm->group_size;
            known[i].group = TY_PROFILE_NONE;
            rc = find_group(t, &pg, &known[i].group, err);
        }
        comm->group = known[i].group;
    }
    return rc;
}
