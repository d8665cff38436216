/* fold.c - makes a program with one member per gang, where members cannot differ. */
#include "sim/core/execute/fold.h"

#include <string.h>

bool ty_program_folds(const struct ty_program *p)
{
    if (ty_program_varies(p) || p->n_scripts > 0) {
        return false;
    }
    for (uint32_t k = 0; k < p->n_kinds; k++) {
        if (p->kinds[k].dur_of != NULL || p->kinds[k].alone_of != NULL) {
            return false;
        }
    }
    return true;
}

/* All of one member each: whoever meets, meets by equal numbers. */
static struct ty_meet *fold_meets(const struct ty_program *p, struct ty_arena *arena)
{
    struct ty_meet *out = ty_arena_array(arena, struct ty_meet, (size_t)p->n_meets + 1);
    for (uint32_t i = 0; out != NULL && i < p->n_meets; i++) {
        out[i] = p->meets[i];
        out[i].n_members = 0;
    }
    return out;
}

int ty_program_fold(struct ty_program *out, const struct ty_program *p, struct ty_arena *arena,
                    struct ty_err *err)
{
    uint32_t *ranks = ty_arena_array(arena, uint32_t, (size_t)p->n_gangs + 1);
    *out = *p;
    out->gangs = ty_arena_array(arena, struct ty_gang, (size_t)p->n_gangs + 1);
    out->groups = ty_arena_array(arena, struct ty_group, (size_t)p->n_groups + 1);
    out->meets = fold_meets(p, arena);
    if (ranks == NULL || out->gangs == NULL || out->groups == NULL || out->meets == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t g = 0; g < p->n_groups; g++) {
        out->groups[g] = (struct ty_group){p->groups[g].name, 1, 1};
    }
    /* of what the seal numbers and checks, only this depends on the size of a gang */
    out->n_tasks = 0;
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        ranks[g] = g;
        out->gangs[g] = p->gangs[g];
        out->gangs[g].n_ranks = 1;
        out->gangs[g].rank_of = &ranks[g];
        out->gangs[g].first_task = out->n_tasks;
        out->n_tasks += p->gangs[g].n_ops;
    }
    out->n_ranks = p->n_gangs;
    out->slot_width = 1;
    return 0;
}

/* Each of a row for its twins. */
static void spread(ty_ps *out, const ty_ps *one, size_t n, uint32_t twins)
{
    for (size_t k = 0; k < n; k++) {
        for (uint32_t i = 0; i < twins; i++) {
            out[k * twins + i] = one[k];
        }
    }
}

int ty_timeline_unfold(struct ty_timeline *out, const struct ty_timeline *folded,
                       struct ty_err *err)
{
    const struct ty_program *p = out->program;
    assert(p->n_gangs == folded->program->n_gangs);
    const int rc = folded->dur == NULL ? 0 : ty_timeline_keep_durations(out, err);
    for (uint32_t g = 0; g < p->n_gangs && rc == 0; g++) {
        const struct ty_gang *gang = &p->gangs[g];
        const struct ty_gang *one = &folded->program->gangs[g];
        const size_t n = (size_t)one->n_ops * one->n_ranks;
        assert(gang->n_ops == one->n_ops && gang->n_ranks % one->n_ranks == 0);
        const uint32_t twins = gang->n_ranks / one->n_ranks;
        spread(out->start + gang->first_task, folded->start + one->first_task, n, twins);
        if (folded->dur != NULL) {
            spread(out->dur + gang->first_task, folded->dur + one->first_task, n, twins);
        }
    }
    out->makespan = folded->makespan;
    return rc;
}
