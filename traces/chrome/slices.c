/* slices.c - the hot path: one line per slice, all shown members of a gang abreast.
 *
 *     ,\n{"name":"all-reduce",...,"args":{"layer":3,"seq":812,"group":"tp 8"},"pid":1009,"ts":
 *     |------------------- head, per pass -------------------|----- piece, per member -----|
 *     1234.567,"dur":70.000}
 *     |------- times -------|
 *
 * Members in step have equal times: their digits are copied, not made again. */
#include "traces/chrome/chrome.h"

/* ---- the critical path ---- */

#define TID 10u

static void put_naming(struct ty_chrome *c, const char *what, const char *key, const char *value)
{
    ty_chrome_put_naming(c, what, TY_CHROME_CRITICAL, TID, key);
    ty_out_str(c->out, value);
    ty_out_str(c->out, "}}");
}

static char *put_arg(char *p, const struct ty_view_arg *arg, bool first)
{
    p = ty_put_str(p, first ? "\"" : ",\"");
    p = ty_put_str(p, arg->key);
    p = ty_put_str(p, "\":");
    if (arg->value != TY_VALUE_TEXT) {
        return ty_put_u64(p, (uint64_t)arg->number);
    }
    *p++ = '"';
    p = ty_put_str(p, arg->text); /* made of safe names */
    *p++ = '"';
    return p;
}

static void put_step(void *arg, const struct ty_view_step *step)
{
    struct ty_chrome *c = arg;
    const struct ty_category_row *category = ty_category(c->view.program, step->category);
    char *p = ty_out_room(c->out, TY_CHROME_LINE);
    p = ty_put_str(p, ",\n{\"name\":\"");
    p = ty_view_put_name(p, step->name, TY_VIEW_NAME);
    if (step->numbered) {
        *p++ = ' ';
        p = ty_put_u64(p, step->mb);
    }
    p = ty_put_str(p, "\",\"cat\":\"");
    p = ty_put_str(p, category->name);
    p = ty_put_str(p, "\",\"cname\":\"");
    p = ty_put_str(p, category->colour);
    p = ty_put_str(p, "\",\"ph\":\"X\",\"tid\":");
    p = ty_put_u64(p, TID);
    p = ty_put_str(p, ",\"args\":{");
    for (uint32_t i = 0; i < step->n_args; i++) {
        p = put_arg(p, &step->arg[i], i == 0);
    }
    p = ty_put_str(p, "},\"pid\":");
    p = ty_put_u64(p, TY_CHROME_CRITICAL);
    p = ty_put_str(p, ",\"ts\":");
    p = ty_put_ns_as_us(p, step->start);
    p = ty_put_str(p, ",\"dur\":");
    p = ty_put_tenths_as_us(p, ty_view_length(step->start, step->end, 0));
    *p++ = '}';
    ty_out_advance(c->out, p);
}

/* Sorts before rank 0, whose index is 0. */
void ty_chrome_critical(struct ty_chrome *c)
{
    if (c->view.path == NULL) {
        return;
    }
    put_naming(c, "process_name", "name", "\"critical path\"");
    put_naming(c, "process_sort_index", "sort_index", "-1");
    put_naming(c, "process_labels", "labels", "\"what the run is as long as\"");
    put_naming(c, "thread_name", "name", "\"critical path\"");
    put_naming(c, "thread_sort_index", "sort_index", "10" /* TID */);
    ty_view_critical(&c->view, put_step, c);
}

/* A head ends with its arguments, inside them where the piece of a member goes on, or without. */
static size_t chrome_mark_head(const struct ty_view_slice *slice, const char *head, size_t n,
                               char *out)
{
    static const char mark[] = "\"critical\":true";
    memcpy(out, head, n);
    char *p = out + n;
    if (slice->partner != 0) {
        p = ty_put_str(ty_put_str(p, mark), ",");
    } else if (slice->n_args > 0) {
        p[-1] = ',';
        p = ty_put_str(ty_put_str(p, mark), "}");
    } else {
        p = ty_put_str(ty_put_str(ty_put_str(p, ",\"args\":{"), mark), "}");
    }
    return (size_t)(p - out);
}

/* ---- slices ---- */

#define TIMES 64u /* at least the bytes of two times and what is around them */

/* The head with the numbers of this pass put into its holes. Returns its length. */
static size_t assemble(const struct ty_chrome_head *slice, const uint64_t number[TY_N_HOLES],
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
static size_t times(const struct ty_chrome *c, ty_ps start, ty_ps end, unsigned depth,
                    char text[TIMES])
{
    static const char between[TY_PUT_BLOCK] = ",\"dur\":";
    uint64_t s, e;
    if (!ty_view_clip(&c->view, start, end, &s, &e)) {
        return 0;
    }
    char *p = ty_put_ns_as_us(text, s);
    memcpy(p, between, sizeof(between));
    p = ty_put_tenths_as_us(p + sizeof(",\"dur\":") - 1, ty_view_length(s, e, depth));
    *p = '}';
    return (size_t)(p + 1 - text);
}

/* One slice of one pass, for shown members from .. to - 1. */
static inline void put_slice(struct ty_chrome *c, const struct ty_view_shown *shown, uint32_t from,
                             uint32_t to, const struct ty_view_extent *extent, unsigned depth,
                             const struct ty_chrome_piece *pieces, const char *head,
                             size_t head_len)
{
    ty_ps known_start = UINT64_MAX, known_end = UINT64_MAX;
    char text[TIMES];
    size_t text_len = 0;
    for (uint32_t i = from; i < to; i++) {
        const uint32_t m = shown->member[i];
        const ty_ps start = extent->start[m], end = ty_view_extent_end(extent, m);
        if (start != known_start || end != known_end) {
            text_len = times(c, start, end, depth, text);
            known_start = start;
            known_end = end;
        }
        if (text_len == 0) {
            continue;
        }
        char *p = ty_out_room(c->out, TY_CHROME_LINE);
        p = ty_put_blocks(p, head, head_len);
        p = ty_put_blocks(p, pieces[i].text, pieces[i].len);
        memcpy(p, text, TIMES); /* a few whole blocks, however many of its bytes count */
        ty_out_advance(c->out, p + text_len);
    }
}

/* The slices of a pass that lie on the critical path, from the next one on. */
struct marks {
    const struct ty_view_mark_at *at;
    uint32_t n;
};

/* One slice for every shown member; those on the critical path say so. */
static void put_members(struct ty_chrome *c, const struct ty_view_shown *shown, uint32_t number,
                        const struct ty_view_slice *slice, const struct ty_view_extent *extent,
                        const struct ty_chrome_piece *pieces, const char *head, size_t len,
                        struct marks *marks)
{
    uint32_t done = 0;
    for (; marks->n > 0 && marks->at->slice == number; marks->at++, marks->n--) {
        char marked[TY_CHROME_LINE];
        const uint32_t i = marks->at->i;
        put_slice(c, shown, done, i, extent, slice->depth, pieces, head, len);
        put_slice(c, shown, i, i + 1, extent, slice->depth, pieces, marked,
                  chrome_mark_head(slice, head, len, marked));
        done = i + 1;
    }
    put_slice(c, shown, done, shown->n, extent, slice->depth, pieces, head, len);
}

static int put_pass(struct ty_chrome *c, const struct ty_view_shown *shown,
                    const struct ty_pass *pass)
{
    const struct ty_view_plan *plan;
    const struct ty_chrome_head *heads = ty_chrome_heads(c, pass, &plan);
    uint64_t number[TY_N_HOLES];
    char head[TY_CHROME_LINE];
    struct marks marks;
    marks.at = ty_view_critical_slices(&c->view, shown, pass, &marks.n);
    if (heads == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < plan->n; i++) {
        const struct ty_view_slice *slice = &plan->slices[i];
        const struct ty_chrome_piece *pieces = ty_chrome_pieces(c, shown, slice->partner);
        const struct ty_view_extent extent =
            ty_view_extent(&c->view, shown->gang, pass, slice->first, slice->last);
        if (pieces == NULL) {
            return TY_ENOMEM;
        }
        const char *text = heads[i].text;
        size_t len = heads[i].len;
        if (heads[i].n_holes > 0) {
            ty_view_numbers(&c->view, pass, slice, number);
            len = assemble(&heads[i], number, head);
            text = head;
        }
        if (marks.n > 0) {
            put_members(c, shown, i, slice, &extent, pieces, text, len, &marks);
        } else {
            put_slice(c, shown, 0, shown->n, &extent, slice->depth, pieces, text, len);
        }
    }
    return 0;
}

int ty_chrome_slices(struct ty_chrome *c)
{
    const struct ty_program *p = c->view.program;
    int rc = 0;
    for (uint32_t g = 0; g < p->n_gangs && rc == 0; g++) {
        const struct ty_view_shown *shown = &c->view.shown[g];
        const struct ty_pass *passes = ty_gang_passes(p, shown->gang);
        for (uint32_t i = 0; i < shown->gang->n_passes && shown->n > 0 && rc == 0; i++) {
            rc = put_pass(c, shown, &passes[i]);
        }
    }
    return rc;
}
