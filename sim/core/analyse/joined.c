/* joined.c - puts the timelines of separate runs on one clock. */
#include "sim/core/analyse/joined.h"

#include <string.h>

#include "sim/core/program/merge.h"

/* What was to be executed, also where some of it was not. */
static const struct ty_program *whole_of(const struct ty_timeline *t)
{
    return t->halt != NULL ? t->halt->whole : t->program;
}

/* A copy that takes no links and plays no messages. NULL: no memory. */
static const struct ty_program *without_links(const struct ty_program *p, struct ty_arena *arena)
{
    struct ty_program *out = ty_arena_array(arena, struct ty_program, 1);
    struct ty_kind *kinds = ty_arena_array(arena, struct ty_kind, (size_t)p->n_kinds + 1);
    if (out == NULL || kinds == NULL) {
        return NULL;
    }
    *out = *p;
    for (uint32_t i = 0; i < p->n_kinds; i++) {
        kinds[i] = p->kinds[i];
        kinds[i].first_flow = 0;
        kinds[i].script = 0;
    }
    out->kinds = kinds;
    out->n_flows = out->n_uses = out->n_links = 0;
    out->n_scripts = out->n_messages = out->n_sends = out->n_afters = 0;
    return out;
}

static int merge(struct ty_program *out, const struct ty_beside_part *parts, uint32_t n,
                 struct ty_arena *arena, struct ty_err *err)
{
    struct ty_merge_part *merged = ty_arena_array(arena, struct ty_merge_part, (size_t)n + 1);
    bool ok = merged != NULL;
    for (uint32_t i = 0; i < n && ok; i++) {
        merged[i].name = parts[i].name;
        merged[i].program = without_links(whole_of(parts[i].timeline), arena);
        ok = merged[i].program != NULL;
    }
    return ok ? ty_program_merge(out, merged, n, arena, err) : ty_fail_memory(err);
}

/* Durations of a gang's tasks as a column. */
static void fill_durations(const struct ty_timeline *t, const struct ty_gang *gang, ty_ps *out)
{
    for (uint32_t i = 0; i < gang->n_passes; i++) {
        const struct ty_pass *pass = &ty_gang_passes(t->program, gang)[i];
        const struct ty_op *ops = ty_pass_ops(t->program, pass);
        for (uint32_t k = 0; k < t->program->blocks[pass->block].n_ops; k++) {
            const uint64_t ordinal = (uint64_t)pass->first_op + k;
            for (uint32_t m = 0; m < gang->n_ranks; m++) {
                out[ordinal * gang->n_ranks + m] = ty_timeline_dur(t, gang, &ops[k], ordinal, m);
            }
        }
    }
}

/* The columns of a part. */
static void copy(struct ty_timeline *out, const struct ty_timeline *t, uint32_t first_gang)
{
    for (uint32_t g = 0; g < t->program->n_gangs; g++) {
        const struct ty_gang *gang = &t->program->gangs[g];
        const uint64_t to = out->program->gangs[first_gang + g].first_task;
        const size_t n = (size_t)gang->n_ops * gang->n_ranks;
        if (n > 0) {
            memcpy(out->start + to, t->start + gang->first_task, n * sizeof(*out->start));
        }
        if (out->dur != NULL) {
            fill_durations(t, gang, out->dur + to);
        }
    }
}

/* Where the gangs of a part stopped. */
static void copy_halt(const struct ty_halt *out, const struct ty_program *program,
                      const struct ty_timeline *t, uint32_t first_gang)
{
    for (uint32_t g = 0; g < t->program->n_gangs; g++) {
        const struct ty_stop end = {.pass = t->program->gangs[g].n_passes};
        out->stop[first_gang + g] = t->halt != NULL ? t->halt->stop[g] : end;
        for (uint32_t l = 0; l < program->n_lanes; l++) {
            out->front[(size_t)(first_gang + g) * program->n_lanes + l] =
                t->halt != NULL
                    ? ty_stream_front(t->halt->whole, t->halt->front, g, program->stream_of[l])
                    : end;
        }
    }
}

/* Where one was cut, the whole is. */
static int cut(struct ty_timeline *out, const struct ty_beside_part *parts, uint32_t n,
               struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_program *program = out->program;
    const size_t gangs = program->n_gangs;
    const struct ty_halt halt = {
        .stop = ty_arena_array(arena, struct ty_stop, gangs + 1),
        .front = ty_arena_array(arena, struct ty_stop, gangs * program->n_lanes + 1)};
    bool halted = false;
    if (halt.stop == NULL || halt.front == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t i = 0; i < n; i++) {
        copy_halt(&halt, program, parts[i].timeline, program->tenants[i].first_gang);
        halted = halted || parts[i].timeline->halt != NULL;
    }
    return halted ? ty_timeline_cut_program(out, &halt, &out->arena, err) : 0;
}

static int copy_all(struct ty_timeline *out, const struct ty_beside_part *parts, uint32_t n,
                    struct ty_arena *arena, struct ty_err *err)
{
    const int rc = cut(out, parts, n, arena, err);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        const ty_ps end = parts[i].timeline->makespan;
        copy(out, parts[i].timeline, out->program->tenants[i].first_gang);
        out->makespan = end > out->makespan ? end : out->makespan;
    }
    return rc;
}

int ty_timeline_beside(struct ty_timeline *out, const struct ty_beside_part *parts, uint32_t n,
                       struct ty_arena *arena, struct ty_err *err)
{
    struct ty_program *program = ty_arena_array(arena, struct ty_program, 1);
    bool kept = false;
    *out = (struct ty_timeline){.makespan = 0};
    int rc = program == NULL ? ty_fail_memory(err) : merge(program, parts, n, arena, err);
    if (rc == 0) {
        rc = ty_timeline_init(out, program, err);
    }
    for (uint32_t i = 0; i < n; i++) {
        kept = kept || parts[i].timeline->dur != NULL;
    }
    rc = rc < 0 || !kept ? rc : ty_timeline_keep_durations(out, err);
    return rc < 0 ? rc : copy_all(out, parts, n, arena, err);
}
