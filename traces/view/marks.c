/* marks.c - moments worth finding again: steps, the fullest moment of memory, the first one
 * that does not fit, and the last one of a run that could not finish.
 *
 * A step of a rank lasts from the start of its first operation to the end of its last, on whatever
 * stream. */
#include "traces/view/view.h"

struct span_of_step {
    ty_ps start, end; /* of one member */
};

struct marks {
    struct ty_view *v;
    ty_view_mark_fn *visit;
    void *arg;
};

static void tell(const struct marks *k, const struct ty_view_shown *shown, uint32_t i,
                 const struct ty_view_mark *mark, ty_ps t)
{
    const uint64_t ns = t / 1000;
    if (ns >= k->v->from_ns && ns <= k->v->to_ns) {
        k->visit(k->arg, shown, i, mark, ns);
    }
}

/* ---- steps ---- */

/* Widens the members' spans by one operation. */
static void widen(const struct ty_view *v, const struct ty_view_shown *shown,
                  const struct ty_pass *pass, const struct ty_op *op, struct span_of_step *spans)
{
    const struct ty_gang *gang = shown->gang;
    const uint64_t ordinal =
        (uint64_t)pass->first_op + (uint64_t)(op - ty_pass_ops(v->program, pass));
    const ty_ps *starts = ty_timeline_starts(v->timeline, gang, ordinal);
    ty_ps dur;
    const ty_ps *durs = ty_view_durations(v, gang, op, ordinal, &dur);
    for (uint32_t i = 0; i < shown->n; i++) {
        const uint32_t m = shown->member[i];
        const ty_ps end = starts[m] + (durs != NULL ? durs[m] : dur);
        spans[i].start = starts[m] < spans[i].start ? starts[m] : spans[i].start;
        spans[i].end = end > spans[i].end ? end : spans[i].end;
    }
}

/* Spans of the step that begins with pass `first`: streams are in order, so the first and the last
 * operation of each tell. Returns the first pass after the step. */
static uint32_t measure_step(const struct ty_view *v, const struct ty_view_shown *shown,
                             uint32_t first, struct span_of_step *spans)
{
    const struct ty_pass *passes = ty_gang_passes(v->program, shown->gang);
    const struct ty_pass *last_pass[TY_MAX_STREAMS] = {NULL};
    const struct ty_op *last_op[TY_MAX_STREAMS] = {NULL};
    uint32_t i = first;
    for (uint32_t n = 0; n < shown->n; n++) {
        spans[n] = (struct span_of_step){UINT64_MAX, 0};
    }
    for (; i < shown->gang->n_passes && passes[i].step == passes[first].step; i++) {
        const struct ty_op *ops = ty_pass_ops(v->program, &passes[i]);
        for (uint32_t k = 0; k < v->program->blocks[passes[i].block].n_ops; k++) {
            if (last_op[ops[k].lane] == NULL) {
                widen(v, shown, &passes[i], &ops[k], spans);
            }
            last_pass[ops[k].lane] = &passes[i];
            last_op[ops[k].lane] = &ops[k];
        }
    }
    for (uint32_t l = 0; l < v->program->n_lanes; l++) {
        if (last_op[l] != NULL) {
            widen(v, shown, last_pass[l], last_op[l], spans);
        }
    }
    return i;
}

static void tell_steps(const struct marks *k, const struct ty_view_shown *shown,
                       struct span_of_step *spans)
{
    const struct ty_view *v = k->v;
    const struct ty_pass *passes = ty_gang_passes(v->program, shown->gang), *stuck;
    const bool ends =
        ty_timeline_blocked_op(v->timeline, (uint32_t)(shown - v->shown), &stuck) == NULL;
    for (uint32_t first = 0; first < shown->gang->n_passes;) {
        const uint64_t step = passes[first].step;
        const struct ty_view_mark start = {.name = "step start", .key = "step", .number = step};
        const struct ty_view_mark end = {.name = "step end", .key = "step", .number = step};
        first = measure_step(v, shown, first, spans);
        for (uint32_t i = 0; i < shown->n && spans[i].start <= spans[i].end; i++) {
            tell(k, shown, i, &start, spans[i].start);
            if (ends || first < shown->gang->n_passes) {
                tell(k, shown, i, &end, spans[i].end);
            }
        }
    }
}

/* On every rank that can never finish, when the last one stopped: what it stands at. */
static void tell_deadlock(const struct marks *k, const struct ty_view_shown *shown)
{
    const struct ty_view *v = k->v;
    const struct ty_pass *pass;
    const struct ty_op *op =
        ty_timeline_blocked_op(v->timeline, (uint32_t)(shown - v->shown), &pass);
    char text[TY_VIEW_NAME + 64];
    if (op == NULL) {
        return;
    }
    char *p = ty_put_str(text, ty_phase_word((enum ty_phase)pass->phase));
    if (pass->phase != TY_PHASE_STEP) {
        *p++ = ' ';
        p = ty_put_u64(p, pass->mb);
    }
    p = ty_put_str(p, ": ");
    *ty_view_put_name(p, v->program->kinds[op->kind].name, TY_VIEW_NAME) = '\0';
    const struct ty_view_mark mark = {.name = "deadlock", .key = "stands_at", .text = text};
    for (uint32_t i = 0; i < shown->n; i++) {
        tell(k, shown, i, &mark, v->timeline->makespan);
    }
}

/* ---- memory ---- */

/* The first pass whose memory exceeds a capacity, and how much that is. */
static uint32_t first_beyond(const struct ty_view *v, const struct ty_gang *gang, double capacity_B,
                             double *bytes)
{
    double held = 0;
    for (uint32_t m = 0; m < v->program->words->n_memory; m++) {
        held += gang->static_B[m];
    }
    for (uint32_t i = 0; i < gang->n_passes; i++) {
        const struct ty_block *block =
            &v->program->blocks[ty_gang_passes(v->program, gang)[i].block];
        held += block->acquire_B;
        *bytes = held + block->transient_B;
        if (*bytes > capacity_B) {
            return i;
        }
        held -= block->release_B;
    }
    return TY_VIEW_NONE;
}

/* On shown members [first, first + n). */
static void tell_pass(const struct marks *k, const struct ty_view_shown *shown, uint32_t first,
                      uint32_t n, uint32_t pass, const char *name, double bytes)
{
    struct ty_view_extent extent;
    const struct ty_view_mark mark = {.name = name,
                                      .key = "memory_GB",
                                      .number = (uint64_t)(bytes / 1e6 + 0.5),
                                      .thousandths = true};
    if (pass >= shown->gang->n_passes ||
        !ty_view_pass_extent(k->v, shown->gang, ty_gang_passes(k->v->program, shown->gang) + pass,
                             &extent)) {
        return;
    }
    for (uint32_t i = first; i < first + n; i++) {
        tell(k, shown, i, &mark, extent.start[shown->member[i]]);
    }
}

static void tell_memory(const struct marks *k, const struct ty_view_shown *shown)
{
    const struct ty_view *v = k->v;
    struct ty_gang_memory memory;
    ty_memory_profile(v->program, shown->gang, &memory);
    if (memory.peak_B <= 0) {
        return;
    }
    tell_pass(k, shown, 0, shown->n, memory.peak_pass, "peak memory", memory.peak_B);
    for (uint32_t i = 0; v->trace->capacity_B != NULL && i < shown->n; i++) {
        const double capacity = v->trace->capacity_B[shown->gang->rank_of[shown->member[i]]];
        double bytes = 0;
        if (memory.peak_B > capacity) {
            const uint32_t pass = first_beyond(v, shown->gang, capacity, &bytes);
            tell_pass(k, shown, i, 1, pass, "out of memory", bytes);
        }
    }
}

int ty_view_marks(struct ty_view *v, ty_view_mark_fn *visit, void *arg)
{
    const struct marks k = {.v = v, .visit = visit, .arg = arg};
    struct span_of_step *spans = ty_arena_array(&v->arena, struct span_of_step, v->largest);
    for (uint32_t g = 0; g < v->program->n_gangs && spans != NULL; g++) {
        const struct ty_view_shown *shown = &v->shown[g];
        if (shown->n > 0) {
            tell_steps(&k, shown, spans);
            tell_memory(&k, shown);
            tell_deadlock(&k, shown);
        }
    }
    return spans != NULL ? 0 : TY_ENOMEM;
}
