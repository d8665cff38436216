/* groups.c - the process groups of a profile, each once.
 *
 * Files number groups as they please: PyTorch counts those of each rank, so that one name stands
 * for other ranks in another file. A group is one with another when its name and its ranks are, as
 * far as they are known: both together are a text of the store. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/profile/read/read.h"

#define MAX_GROUPS 65536u
#define MAX_RANK   999999999u

static int ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return TY_ORDER(x, y);
}

/* "[0, 1, 2]" as ranks; they are not whole ("...") unless it is such a list. */
static void parse_ranks(struct ty_arena *arena, const char *text, struct ty_profile_pg *pg)
{
    const size_t len = strlen(text);
    uint32_t n = 0;
    uint32_t *ranks = ty_arena_array(arena, uint32_t, len / 2 + 1);
    if (ranks == NULL || len < 3 || text[0] != '[' || text[len - 1] != ']') {
        return;
    }
    for (const char *p = text + 1; *p != ']' && *p != '\0';) {
        if (!ty_scan_number(&p, NULL, MAX_RANK, &ranks[n++])) {
            return;
        }
        p += strspn(p, ", ");
    }
    pg->ranks = ranks;
    pg->n = n;
    pg->whole = n > 0;
}

/* What is said of a group: by the list on the kernel, if it is whole; by distributedInfo. */
static struct ty_profile_pg describe(const struct ty_profile_groups *t,
                                     const struct ty_profile_file *file, uint32_t comm)
{
    const struct ty_profile_named *named = &file->named[comm];
    const struct ty_profile_pg *listed = NULL;
    struct ty_profile_pg pg = {.name = named->name, .desc = named->desc};
    for (uint32_t i = 0; i < file->n_pgs && listed == NULL; i++) {
        listed = file->pgs[i].name == pg.name ? &file->pgs[i] : NULL;
    }
    parse_ranks(&t->store->arena, t->store->text[named->ranks], &pg);
    if (!pg.whole && listed != NULL) {
        pg.ranks = listed->ranks;
        pg.n = listed->n;
        pg.whole = listed->whole;
    }
    pg.desc = pg.desc == 0 && listed != NULL ? listed->desc : pg.desc;
    if (pg.whole) {
        qsort(pg.ranks, pg.n, sizeof(*pg.ranks), ascending);
    } else {
        pg.n = pg.n != 0 ? pg.n : file->rank.comms[comm].group_size;
    }
    return pg;
}

/* The number of a group by a text that stands for it: 1 + the number, 0 unless it is known; NULL
 * when memory is exhausted. */
static uint32_t *number_of(struct ty_profile_groups *t, const uint32_t *key, uint32_t n)
{
    const uint32_t text = ty_profile_intern(t->store, (const char *)key, n * sizeof(*key));
    if (text >= t->n_of_text && text != TY_PROFILE_NONE) {
        const uint32_t cap = t->store->cap_texts;
        uint32_t *wider = realloc(t->of_text, cap * sizeof(*wider));
        if (wider == NULL) {
            return NULL;
        }
        memset(wider + t->n_of_text, 0, (cap - t->n_of_text) * sizeof(*wider));
        t->of_text = wider;
        t->n_of_text = cap;
    }
    return text != TY_PROFILE_NONE ? &t->of_text[text] : NULL;
}

/* By the ranks, as far as they are known. */
static uint32_t *number_of_group(struct ty_profile_groups *t, const struct ty_profile_pg *pg)
{
    const uint32_t n = pg->whole ? pg->n : 0;
    uint32_t *key = malloc(((size_t)n + 3) * sizeof(*key)), *number = NULL;
    if (key != NULL) {
        key[0] = pg->name;
        key[1] = pg->n;
        key[2] = pg->whole;
        memcpy(key + 3, n > 0 ? pg->ranks : key, n * sizeof(*key));
        number = number_of(t, key, n + 3);
    }
    free(key);
    return number;
}

/* Gives a group its number among the profile's, new or known: 1 + it. */
static int find_group(struct ty_profile_groups *t, const struct ty_profile_pg *pg, uint32_t *out,
                      struct ty_err *err)
{
    struct ty_profile *p = t->profile;
    uint32_t *number = number_of_group(t, pg);
    if (number == NULL || !TY_PROFILE_GROW(p->groups, p->n_groups, t->cap_groups)) {
        return ty_fail_memory(err);
    }
    if (*number == 0) {
        if (p->n_groups == MAX_GROUPS) {
            return ty_fail(err, TY_ELIMIT, "more than %u process groups", MAX_GROUPS);
        }
        p->groups[p->n_groups] = (struct ty_profile_group){
            .name = pg->name, .desc = pg->desc, .ranks = pg->whole ? pg->ranks : NULL, .n = pg->n};
        *number = ++p->n_groups;
    }
    *out = *number;
    return 0;
}

int ty_profile_find_groups(struct ty_profile_groups *t, struct ty_profile_file *file,
                           struct ty_err *err)
{
    for (uint32_t c = 0; c < file->rank.n_comms; c++) {
        struct ty_profile_comm *comm = &file->rank.comms[c];
        const struct ty_profile_named *named = &file->named[c];
        /* as it is called in this file, which no other group is: the third word is never 0 or 1 */
        const uint32_t key[] = {named->name, named->ranks, t->profile->n_ranks + 2,
                                comm->group_size};
        uint32_t *known, number;
        if (named->name == 0 && named->ranks == 0) {
            continue; /* nothing is said */
        }
        known = number_of(t, key, TY_COUNT(key));
        if (known == NULL) {
            return ty_fail_memory(err);
        }
        number = *known;
        if (number == 0) {
            const uint32_t text = (uint32_t)(known - t->of_text);
            const struct ty_profile_pg pg = describe(t, file, c);
            const int rc = find_group(t, &pg, &number, err);
            if (rc < 0) {
                return rc;
            }
            t->of_text[text] = number; /* what is known may have moved */
        }
        comm->group = number - 1;
    }
    return 0;
}
