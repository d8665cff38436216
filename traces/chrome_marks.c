/* chrome_marks.c - moments worth finding again: steps, the fullest moment of memory, the first one
 * that does not fit, and the last one of a run that could not finish.
 *
 * A step of a rank lasts from the start of its first operation to the end of its last, on whatever
 * stream. */
#include "traces/chrome.h"

struct span_of_step {
    ty_ps start, end; /* of one member */
};

static void put_mark(struct ty_chrome *c, const struct ty_chrome_piece *piece, const char *name,
                     const char *key, const char *value, ty_ps t)
{
    const uint64_t ns = t / 1000;
    if (ns < c->from_ns || ns > c->to_ns) {
        return;
    }
    char *p = ty_out_room(c->out, TY_CHROME_LINE);
    p = ty_put_str(p, ",\n{\"name\":\"");
    p = ty_put_str(p, name);
    p = ty_put_str(p, "\",\"cat\":\"phase\",\"ph\":\"i\",\"s\":\"p\",\"tid\":");
    p = ty_put_u64(p, ty_chrome_tid(TY_STREAM_COMPUTE));
    p = ty_put_str(p, ",\"args\":{\"");
    p = ty_put_str(p, key);
    p = ty_put_str(p, "\":");
    p = ty_put_str(p, value);
    *p++ = '}';
    p = ty_put_blocks(p, piece->text, piece->len);
    p = ty_put_ns_as_us(p, ns);
    *p++ = '}';
    ty_out_advance(c->out, p);
}

/* ---- steps ---- */

/* Widens the members' spans by one operation. */
static void widen(const struct ty_chrome *c, const struct ty_chrome_cast *cast,
                  const struct ty_pass *pass, const struct ty_op *op, struct span_of_step *spans)
{
    const struct ty_gang *gang = cast->gang;
    const uint64_t ordinal =
        (uint64_t)pass->first_op + (uint64_t)(op - ty_pass_ops(c->program, pass));
    const ty_ps *starts = ty_timeline_starts(c->timeline, gang, ordinal);
    ty_ps dur;
    const ty_ps *durs = ty_chrome_durations(c, gang, op, ordinal, &dur);
    for (uint32_t i = 0; i < cast->n; i++) {
        const uint32_t m = cast->member[i];
        const ty_ps end = starts[m] + (durs != NULL ? durs[m] : dur);
        spans[i].start = starts[m] < spans[i].start ? starts[m] : spans[i].start;
        spans[i].end = end > spans[i].end ? end : spans[i].end;
    }
}

/* Spans of the step that begins with pass `first`: streams are in order, so the first and the last
 * operation of each tell. Returns the first pass after the step. */
static uint32_t measure_step(const struct ty_chrome *c, const struct ty_chrome_cast *cast,
                             uint32_t first, struct span_of_step *spans)
{
    const struct ty_pass *passes = ty_gang_passes(c->program, cast->gang);
    const struct ty_pass *last_pass[TY_N_STREAMS] = {NULL};
    const struct ty_op *last_op[TY_N_STREAMS] = {NULL};
    uint32_t i = first;
    for (uint32_t n = 0; n < cast->n; n++) {
        spans[n] = (struct span_of_step){UINT64_MAX, 0};
    }
    for (; i < cast->gang->n_passes && passes[i].step == passes[first].step; i++) {
        const struct ty_op *ops = ty_pass_ops(c->program, &passes[i]);
        for (uint32_t k = 0; k < c->program->blocks[passes[i].block].n_ops; k++) {
            if (last_op[ops[k].stream] == NULL) {
                widen(c, cast, &passes[i], &ops[k], spans);
            }
            last_pass[ops[k].stream] = &passes[i];
            last_op[ops[k].stream] = &ops[k];
        }
    }
    for (uint32_t s = 0; s < TY_N_STREAMS; s++) {
        if (last_op[s] != NULL) {
            widen(c, cast, last_pass[s], last_op[s], spans);
        }
    }
    return i;
}

static void put_steps(struct ty_chrome *c, const struct ty_chrome_cast *cast,
                      struct span_of_step *spans)
{
    const struct ty_pass *passes = ty_gang_passes(c->program, cast->gang), *stuck;
    const bool ends = ty_timeline_stuck(c->timeline, (uint32_t)(cast - c->casts), &stuck) == NULL;
    for (uint32_t first = 0; first < cast->gang->n_passes;) {
        char step[24];
        *ty_put_u64(step, passes[first].step) = '\0';
        first = measure_step(c, cast, first, spans);
        for (uint32_t i = 0; i < cast->n && spans[i].start <= spans[i].end; i++) {
            put_mark(c, &cast->pieces[0][i], "step start", "step", step, spans[i].start);
            if (ends || first < cast->gang->n_passes) {
                put_mark(c, &cast->pieces[0][i], "step end", "step", step, spans[i].end);
            }
        }
    }
}

/* On every rank that can never finish, when the last one stopped: what it stands at. */
static void put_deadlock(struct ty_chrome *c, const struct ty_chrome_cast *cast)
{
    const struct ty_pass *pass;
    const struct ty_op *op = ty_timeline_stuck(c->timeline, (uint32_t)(cast - c->casts), &pass);
    char value[TY_CHROME_NAME + 64];
    if (op == NULL) {
        return;
    }
    char *p = ty_put_str(value, "\"");
    p = ty_put_str(p, ty_phase_word((enum ty_phase)pass->phase));
    if (pass->phase != TY_PHASE_STEP) {
        *p++ = ' ';
        p = ty_put_u64(p, pass->mb);
    }
    p = ty_put_str(p, ": ");
    p = ty_chrome_put_name(p, c->program->kinds[op->kind].name, TY_CHROME_NAME);
    *ty_put_str(p, "\"") = '\0';
    for (uint32_t i = 0; i < cast->n; i++) {
        put_mark(c, &cast->pieces[0][i], "deadlock", "stands_at", value, c->timeline->makespan);
    }
}

/* ---- memory ---- */

static void GB(char out[48], double bytes)
{
    const uint64_t MB = (uint64_t)(bytes / 1e6 + 0.5);
    char *p = ty_put_u64(out, MB / 1000);
    *p++ = '.';
    *p++ = (char)('0' + MB / 100 % 10);
    memcpy(p, ty_digit_pairs + 2 * (MB % 100), 2);
    p[2] = '\0';
}

/* The first pass whose memory exceeds a capacity, and how much that is. */
static uint32_t first_beyond(const struct ty_chrome *c, const struct ty_gang *gang,
                             double capacity_B, double *bytes)
{
    double held = 0;
    for (uint32_t m = 0; m < TY_N_MEMORY; m++) {
        held += gang->static_B[m];
    }
    for (uint32_t i = 0; i < gang->n_passes; i++) {
        const struct ty_block *block =
            &c->program->blocks[ty_gang_passes(c->program, gang)[i].block];
        held += block->acquire_B;
        *bytes = held + block->transient_B;
        if (*bytes > capacity_B) {
            return i;
        }
        held -= block->release_B;
    }
    return TY_CHROME_NONE;
}

/* On members [first, first + n) of a cast. */
static void put_at_pass(struct ty_chrome *c, const struct ty_chrome_cast *cast, uint32_t first,
                        uint32_t n, uint32_t pass, const char *name, double bytes)
{
    struct ty_chrome_extent extent;
    char value[48];
    if (pass >= cast->gang->n_passes ||
        !ty_chrome_extent(c, cast->gang, ty_gang_passes(c->program, cast->gang) + pass, &extent)) {
        return;
    }
    GB(value, bytes);
    for (uint32_t i = first; i < first + n; i++) {
        put_mark(c, &cast->pieces[0][i], name, "memory_GB", value, extent.start[cast->member[i]]);
    }
}

static void put_memory(struct ty_chrome *c, const struct ty_chrome_cast *cast)
{
    struct ty_gang_memory memory;
    ty_memory_profile(c->program, cast->gang, &memory);
    if (memory.peak_B <= 0) {
        return;
    }
    put_at_pass(c, cast, 0, cast->n, memory.peak_pass, "peak memory", memory.peak_B);
    for (uint32_t i = 0; c->trace->capacity_B != NULL && i < cast->n; i++) {
        const double capacity = c->trace->capacity_B[cast->gang->rank_of[cast->member[i]]];
        double bytes = 0;
        if (memory.peak_B > capacity) {
            const uint32_t pass = first_beyond(c, cast->gang, capacity, &bytes);
            put_at_pass(c, cast, i, 1, pass, "out of memory", bytes);
        }
    }
}

int ty_chrome_marks(struct ty_chrome *c)
{
    struct span_of_step *spans = ty_arena_array(&c->arena, struct span_of_step, c->largest);
    for (uint32_t g = 0; g < c->program->n_gangs && spans != NULL; g++) {
        struct ty_chrome_cast *cast = &c->casts[g];
        if (cast->n == 0) {
            continue;
        }
        if (ty_chrome_pieces(c, cast, 0) == NULL) {
            return TY_ENOMEM;
        }
        put_steps(c, cast, spans);
        put_memory(c, cast);
        put_deadlock(c, cast);
    }
    return spans != NULL ? 0 : TY_ENOMEM;
}
