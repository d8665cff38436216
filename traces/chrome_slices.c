/* chrome_slices.c - the hot path: one line per slice, all shown members of a gang abreast.
 *
 *     ,\n{"name":"all-reduce",...,"args":{"layer":3,"seq":812,"group":"tp 8"},"pid":1009,"ts":
 *     |------------------- head, per pass -------------------|----- piece, per member -----|
 *     1234.567,"dur":70.000}
 *     |------- times -------|
 *
 * Members in step have equal times: their digits are copied, not made again. */
#include "traces/chrome.h"

/* The head with the numbers of this pass put into its holes. Returns its length. */
static size_t assemble(const struct ty_chrome_slice *slice, const uint64_t number[TY_N_HOLES],
                       char head[TY_CHROME_LINE])
{
    char *p = head;
    uint32_t done = 0;
    for (uint32_t i = 0; i < slice->n_holes; i++) {
        p = ty_put_blocks(p, slice->text + done, slice->at[i] - done);
        p = ty_put_u64(p, number[slice->hole[i]]);
        done = slice->at[i];
    }
    p = ty_put_blocks(p, slice->text + done, slice->len - done);
    return (size_t)(p - head);
}

/* `start,"dur":length}` into text; its length, or 0 when nothing is left of the slice. */
static size_t times(const struct ty_chrome *c, ty_ps start, ty_ps end, char text[64])
{
    static const char between[TY_PUT_BLOCK] = ",\"dur\":";
    uint64_t s, e;
    if (!ty_chrome_clip(c, start, end, &s, &e)) {
        return 0;
    }
    char *p = ty_put_ns_as_us(text, s);
    memcpy(p, between, sizeof(between));
    p = ty_put_ns_as_us(p + sizeof(",\"dur\":") - 1, e - s);
    *p = '}';
    return (size_t)(p + 1 - text);
}

/* One slice of one pass, for every shown member. */
static void put_slice(struct ty_chrome *c, const struct ty_chrome_cast *cast,
                      const struct ty_pass *pass, const struct ty_chrome_slice *slice,
                      const struct ty_chrome_piece *pieces, const char *head, size_t head_len)
{
    const struct ty_gang *gang = cast->gang;
    const uint64_t last = pass->first_op + slice->last;
    const ty_ps *starts = ty_timeline_starts(c->timeline, gang, pass->first_op + slice->first);
    const ty_ps *lasts = ty_timeline_starts(c->timeline, gang, last);
    const struct ty_op *op = &ty_pass_ops(c->program, pass)[slice->last];
    ty_ps dur;
    const ty_ps *durs = ty_chrome_durations(c, gang, op, last, &dur);
    ty_ps known_start = UINT64_MAX, known_end = UINT64_MAX;
    char text[64];
    size_t text_len = 0;
    for (uint32_t i = 0; i < cast->n; i++) {
        const uint32_t m = cast->member[i];
        const ty_ps start = starts[m], end = lasts[m] + (durs != NULL ? durs[m] : dur);
        if (start != known_start || end != known_end) {
            text_len = times(c, start, end, text);
            known_start = start;
            known_end = end;
        }
        if (text_len == 0) {
            continue;
        }
        char *p = ty_out_room(c->out, TY_CHROME_LINE);
        p = ty_put_blocks(p, head, head_len);
        p = ty_put_blocks(p, pieces[i].text, pieces[i].len);
        ty_out_advance(c->out, ty_put_blocks(p, text, text_len));
    }
}

static int put_pass(struct ty_chrome *c, struct ty_chrome_cast *cast, const struct ty_pass *pass)
{
    const struct ty_chrome_plan *plan = ty_chrome_plan(c, pass);
    if (plan == NULL) {
        return TY_ENOMEM;
    }
    uint64_t number[TY_N_HOLES] = {
        [TY_HOLE_STAGE] = pass->stage, [TY_HOLE_STEP] = pass->step};
    char head[TY_CHROME_LINE];
    for (uint32_t i = 0; i < plan->n; i++) {
        const struct ty_chrome_slice *slice = &plan->slices[i];
        const struct ty_chrome_piece *pieces = ty_chrome_pieces(c, cast, slice->piece);
        if (pieces == NULL) {
            return TY_ENOMEM;
        }
        if (slice->n_holes == 0) {
            put_slice(c, cast, pass, slice, pieces, slice->text, slice->len);
            continue;
        }
        number[TY_HOLE_ORDINAL] = pass->first_op + slice->first;
        number[TY_HOLE_MB] = ty_op_mb(pass, &ty_pass_ops(c->program, pass)[slice->first]);
        put_slice(c, cast, pass, slice, pieces, head, assemble(slice, number, head));
    }
    return 0;
}

int ty_chrome_slices(struct ty_chrome *c)
{
    int rc = 0;
    for (uint32_t g = 0; g < c->program->n_gangs && rc == 0; g++) {
        struct ty_chrome_cast *cast = &c->casts[g];
        const struct ty_pass *passes = ty_gang_passes(c->program, cast->gang);
        for (uint32_t i = 0; i < cast->gang->n_passes && cast->n > 0 && rc == 0; i++) {
            rc = put_pass(c, cast, &passes[i]);
        }
    }
    return rc;
}
