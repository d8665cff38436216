/* chrome.c - Chrome trace JSON: the document around the events, and its size beforehand.
 *
 * Opens in Perfetto (https://ui.perfetto.dev), in Chromium's tracing pages and in speedscope. The
 * format: "Trace Event Format", Google, 2016. Rules that keep every viewer content, each found by
 * trying: no pid or tid is 0 and none equal (such rows move or merge); events of one row nest or
 * are disjoint (Perfetto drops what overlaps); complete events only, no begin/end pairs; colours
 * only from Catapult's reserved names (others abort its import); numbers never NaN. */
#include "traces/chrome/chrome.h"

#include "sim/core/program/peers.h"

/* ---- the critical path ---- */

/* ---- slices, the hot path ----
 *
 * The hot path: one line per slice, all shown members of a gang abreast.
 *
 *     ,\n{"name":"all-reduce",...,"args":{"layer":3,"seq":812,"group":"tp 8"},"pid":1009,"ts":
 *     |------------------- head, per pass -------------------|----- piece, per member -----|
 *     1234.567,"dur":70.000}
 *     |------- times -------|
 *
 * Members in step have equal times: their digits are copied, not made again. */

#define TID 10u

/* chrome.c: a metadata event up to its argument: `{"name":"process_name",...,"args":{"name":`. */
static void chrome_put_naming(struct ty_chrome *c, const char *what, uint64_t pid, unsigned tid,
                              const char *key)
{
    ty_out_str(c->out, c->named ? ",\n" : "\n");
    c->named = true;
    ty_out_printf(c->out,
                  "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%llu,\"tid\":%u,\"args\":{\"%s\":", what,
                  (unsigned long long)pid, tid, key);
}

static void put_naming(struct ty_chrome *c, const char *what, const char *key, const char *value)
{
    chrome_put_naming(c, what, TY_CHROME_CRITICAL, TID, key);
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
static void chrome_critical(struct ty_chrome *c)
{
    if (c->view.path == NULL) {
        return;
    }
    put_naming(c, "process_name", "name", "\"critical path\"");
    put_naming(c, "process_sort_index", "sort_index", "-1");
    put_naming(c, "process_labels", "labels", "\"sets the run time\"");
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

/* Each writes all events of its sort; returns 0 or TY_ENOMEM. */
static int chrome_slices(struct ty_chrome *c)
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

/* ---- bubbles ---- */

struct bubbles {
    struct ty_chrome *c;
    uint64_t serial; /* of the bubble that `head` was made for */
    size_t head_len;
    char head[TY_CHROME_LINE];
};

static void make_head(struct bubbles *b, const struct ty_view_bubble *bubble)
{
    char *q = ty_put_str(b->head, ",\n{\"name\":\"bubble\",\"cat\":\"bubble\",\"cname\":\"grey\","
                                  "\"ph\":\"X\",\"tid\":");
    q = ty_put_u64(q, TY_FIRST_TID);
    if (b->c->view.trace->args != TY_ARGS_NONE) {
        q = ty_put_str(q, ",\"args\":{\"why\":\"");
        q = ty_put_str(q, bubble->why);
        q = ty_put_str(q, "\",\"kind\":\"");
        q = ty_put_str(q, bubble->kind);
        q = ty_put_str(q, "\"}");
    }
    b->head_len = (size_t)(q - b->head);
    b->serial = bubble->serial;
}

static void put_bubble(void *arg, const struct ty_view_bubble *bubble)
{
    struct bubbles *b = arg;
    if (b->serial != bubble->serial) {
        make_head(b, bubble);
    }
    const struct ty_chrome_piece *piece = /* made before the walk */
        ty_chrome_pieces(b->c, bubble->shown, 0) + bubble->i;
    char *p = ty_out_room(b->c->out, TY_CHROME_LINE);
    p = ty_put_blocks(p, b->head, b->head_len);
    p = ty_put_blocks(p, piece->text, piece->len);
    p = ty_put_ns_as_us(p, bubble->start);
    p = ty_put_str(p, ",\"dur\":");
    p = ty_put_tenths_as_us(p, ty_view_length(bubble->start, bubble->end, 0));
    *p++ = '}';
    ty_out_advance(b->c->out, p);
}

static int chrome_bubbles(struct ty_chrome *c)
{
    struct ty_gaps gaps;
    int rc = ty_gaps_init(&gaps, c->view.timeline, &c->view.arena);
    for (uint32_t g = 0; g < c->view.program->n_gangs && rc == 0; g++) {
        const struct ty_view_shown *shown = &c->view.shown[g];
        rc = shown->n > 0 && ty_chrome_pieces(c, shown, 0) == NULL ? TY_ENOMEM : 0;
        for (uint32_t i = 0, n; i < shown->n && rc == 0; i += n) {
            struct bubbles b = {.c = c};
            n = ty_view_stretch(shown, i);
            rc = ty_view_bubbles(&c->view, &gaps, shown, i, n, put_bubble, &b);
        }
    }
    return rc;
}

/* ---- counters ---- */

/* Ends the arguments of an event of a rank, and it: whose it is, and when. */
static void put_end(struct ty_chrome *c, char *p, const struct ty_chrome_piece *piece, uint64_t ns)
{
    *p++ = '}';
    p = ty_put_blocks(p, piece->text, piece->len);
    p = ty_put_ns_as_us(p, ns);
    *p++ = '}';
    ty_out_advance(c->out, p);
}

/* ---- memory ---- */

struct memory {
    struct ty_chrome *c;
    const struct ty_view_shown *shown; /* that `fixed` is of */
    const struct ty_chrome_piece *pieces;
    char fixed[512]; /* the series that do not change, up to the value of activations */
    size_t fixed_len;
};

static void put_fixed(struct memory *k)
{
    char *p = ty_put_str(k->fixed, ",\n{\"name\":\"memory\",\"ph\":\"C\",\"args\":{");
    const struct ty_vocabulary *words = k->c->view.program->words;
    for (uint32_t m = 0; m < words->n_memory; m++) {
        if (m != words->held) {
            *p++ = '"';
            p = ty_put_str(p, words->memory[m]);
            p = ty_put_str(p, "_GB\":");
            p = ty_view_put_GB(p, ty_view_fixed_kB(k->shown->gang, m));
            *p++ = ',';
        }
    }
    *p++ = '"';
    p = ty_put_str(p, words->memory[words->held]);
    k->fixed_len = (size_t)(ty_put_str(p, "_GB\":") - k->fixed);
}

static void put_memory(void *arg, const struct ty_view_shown *shown, uint32_t i, uint64_t ns,
                       uint64_t kB)
{
    struct memory *k = arg;
    if (k->shown != shown) {
        k->shown = shown;
        k->pieces = ty_chrome_pieces(k->c, shown, 0); /* made before the walk */
        put_fixed(k);
    }
    char *p = ty_out_room(k->c->out, TY_CHROME_LINE);
    p = ty_put_blocks(p, k->fixed, k->fixed_len);
    p = ty_view_put_GB(p, kB);
    put_end(k->c, p, &k->pieces[i], ns);
}

static void put_layer(void *arg, const struct ty_view_shown *shown, uint32_t i, uint64_t ns,
                      uint64_t thousandths)
{
    struct ty_chrome *c = arg;
    const struct ty_trace_layers *layers = c->view.trace->layers;
    const struct ty_chrome_piece *piece = ty_chrome_pieces(c, shown, 0) + i;
    char *p = ty_out_room(c->out, TY_CHROME_LINE);
    p = ty_put_str(p, ",\n{\"name\":\"");
    p = ty_put_str(p, layers->name);
    p = ty_put_str(p, "\",\"ph\":\"C\",\"args\":{\"");
    p = ty_put_str(p, layers->series);
    p = ty_put_str(p, "\":");
    p = ty_put_ns_as_us(p, thousandths);
    put_end(c, p, piece, ns);
}

/* Pieces of all members, so that nothing can fail later. */
static int make_pieces(struct ty_chrome *c)
{
    for (uint32_t g = 0; g < c->view.program->n_gangs; g++) {
        const struct ty_view_shown *shown = &c->view.shown[g];
        if (shown->n > 0 && ty_chrome_pieces(c, shown, 0) == NULL) {
            return TY_ENOMEM;
        }
    }
    return 0;
}

static int chrome_counters(struct ty_chrome *c)
{
    struct memory k = {.c = c};
    const int rc = make_pieces(c) == 0 ? ty_view_memory(&c->view, put_memory, &k) : TY_ENOMEM;
    return rc == 0 ? ty_view_layers(&c->view, put_layer, c) : rc;
}

/* ---- links ---- */

/* Before the ranks' processes, as long as there is room. */
static uint64_t link_pid(const struct ty_chrome *c, const struct ty_view_link *link)
{
    if (link->node == link->n_nodes) {
        return TY_CHROME_CLUSTER;
    }
    return link->n_nodes <= TY_CHROME_PID0 - TY_CHROME_NODE0
               ? TY_CHROME_NODE0 + (uint64_t)link->node
               : TY_CHROME_PID0 + (uint64_t)c->view.program->n_ranks + link->node;
}

static void put_node(void *arg, const struct ty_view_link *link)
{
    struct ty_chrome *c = arg;
    const uint64_t pid = link_pid(c, link);
    const unsigned tid = TY_FIRST_TID;
    if (!link->first) {
        return;
    }
    chrome_put_naming(c, "process_name", pid, tid, "name");
    if (link->node == link->n_nodes) {
        ty_out_str(c->out, "\"switches\"}}");
    } else {
        ty_out_printf(c->out, "\"node %u\"}}", (unsigned)link->node);
    }
    chrome_put_naming(c, "process_sort_index", pid, tid, "sort_index");
    ty_out_u64(c->out, (uint64_t)c->view.trace->n_ranks + link->position);
    ty_out_str(c->out, "}}");
    chrome_put_naming(c, "process_labels", pid, tid, "labels");
    ty_out_str(c->out, "\"links in and out\"}}");
}

static void put_load(void *arg, const struct ty_view_link *link, uint64_t ns, uint64_t kBps)
{
    struct ty_chrome *c = arg;
    char *p = ty_out_room(c->out, TY_CHROME_LINE);
    p = ty_put_str(p, ",\n{\"name\":\"");
    p = ty_put_str(p, link->title);
    p = ty_put_str(p, "\",\"ph\":\"C\",\"args\":{\"GB/s\":");
    p = ty_view_put_GB(p, kBps);
    p = ty_put_str(p, "},\"pid\":");
    p = ty_put_u64(p, link_pid(c, link));
    p = ty_put_str(p, ",\"ts\":");
    p = ty_put_ns_as_us(p, ns);
    *p++ = '}';
    ty_out_advance(c->out, p);
}

static int chrome_links(struct ty_chrome *c)
{
    const struct ty_view_links_sink sink = {.start = put_node, .value = put_load, .arg = c};
    return ty_view_links(&c->view, &sink);
}

/* ---- moments ---- */

static char *put_value(char *p, const struct ty_view_mark *mark)
{
    if (mark->text != NULL) {
        *p++ = '"';
        p = ty_put_str(p, mark->text);
        *p++ = '"';
        return p;
    }
    if (!mark->thousandths) {
        return ty_put_u64(p, mark->number);
    }
    return ty_put_ns_as_us(p, mark->number);
}

static void put_mark(void *arg, const struct ty_view_shown *shown, uint32_t i,
                     const struct ty_view_mark *mark, uint64_t ns)
{
    struct ty_chrome *c = arg;
    const struct ty_chrome_piece *piece = ty_chrome_pieces(c, shown, 0) + i;
    char *p = ty_out_room(c->out, TY_CHROME_LINE);
    p = ty_put_str(p, ",\n{\"name\":\"");
    p = ty_put_str(p, mark->name);
    p = ty_put_str(p, "\",\"cat\":\"phase\",\"ph\":\"i\",\"s\":\"p\",\"tid\":");
    p = ty_put_u64(p, TY_FIRST_TID);
    p = ty_put_str(p, ",\"args\":{\"");
    p = ty_put_str(p, mark->key);
    p = ty_put_str(p, "\":");
    p = put_value(p, mark);
    put_end(c, p, piece, ns);
}

static int chrome_marks(struct ty_chrome *c)
{
    return make_pieces(c) == 0 ? ty_view_marks(&c->view, put_mark, c) : TY_ENOMEM;
}

/* ---- arrows ---- */

/* One end of a flow on one gang. */
struct side {
    const struct ty_view_shown *shown;
    struct ty_view_extent extent;
    uint32_t tid;
};

static struct side side_of(const struct ty_chrome *c, uint32_t gang, const struct ty_view_end *end)
{
    const struct ty_program *p = c->view.program;
    const struct ty_op *op = &ty_pass_ops(p, &p->passes[end->pass])[end->op];
    return (struct side){.shown = &c->view.shown[gang],
                         .extent = ty_view_end_extent(&c->view, gang, end),
                         .tid = p->words->streams[op->stream].tid};
}

static bool clip_side(const struct ty_chrome *c, const struct side *side, uint32_t member,
                      uint64_t *s, uint64_t *e)
{
    return ty_view_clip(&c->view, side->extent.start[member],
                        ty_view_extent_end(&side->extent, member), s, e);
}

/* `,\n{"name":"act 3","cat":"p2p",`: the part that both events of all members share. */
static size_t put_head(const struct ty_channel *channel, uint16_t mb, char head[TY_CHROME_LINE])
{
    char *p = ty_put_str(head, ",\n{\"name\":\"");
    p = ty_view_put_name(p, channel->name, TY_VIEW_NAME);
    *p++ = ' ';
    p = ty_put_u64(p, mb);
    return (size_t)(ty_put_str(p, "\",\"cat\":\"p2p\",\"id\":") - head);
}

static void put_event(struct ty_chrome *c, const char *head, size_t n, uint64_t id, const char *ph,
                      const struct side *side, uint32_t member, uint64_t ns)
{
    char *p = ty_out_room(c->out, TY_CHROME_LINE);
    p = ty_put_blocks(p, head, n);
    p = ty_put_u64(p, id);
    p = ty_put_str(p, ph);
    p = ty_put_u64(p, TY_CHROME_PID0 + (uint64_t)side->shown->gang->rank_of[member]);
    p = ty_put_str(p, ",\"tid\":");
    p = ty_put_u64(p, side->tid);
    p = ty_put_str(p, ",\"ts\":");
    p = ty_put_ns_as_us(p, ns);
    *p++ = '}';
    ty_out_advance(c->out, p);
}

/* From a member to one of those it sends to: the time of the slot numbers the arrow. */
static void put_arrow(struct ty_chrome *c, const char *head, size_t n, uint64_t id,
                      const struct side *from, uint32_t sender, const struct side *to,
                      uint32_t receiver)
{
    uint64_t s, e, s2, e2;
    if (to->shown->slot[receiver] == TY_VIEW_NONE || !clip_side(c, from, sender, &s, &e) ||
        !clip_side(c, to, receiver, &s2, &e2)) {
        return;
    }
    put_event(c, head, n, id, ",\"ph\":\"s\",\"pid\":", from, sender, e - 1);
    put_event(c, head, n, id, ",\"ph\":\"f\",\"bp\":\"e\",\"pid\":", to, receiver, s2);
}

static void put_message(struct ty_chrome *c, const struct ty_channel *channel, uint32_t slot,
                        const struct ty_view_end *send, const struct ty_view_end *recv)
{
    char head[TY_CHROME_LINE];
    const struct side from = side_of(c, channel->from, send);
    const struct side to = side_of(c, channel->to, recv);
    const struct ty_pass *pass = &c->view.program->passes[send->pass];
    const size_t n =
        put_head(channel, ty_op_mb(pass, &ty_pass_ops(c->view.program, pass)[send->op]), head);
    const uint32_t senders = from.shown->gang->n_ranks, receivers = to.shown->gang->n_ranks;
    const uint32_t wide = senders > receivers ? senders : receivers;
    for (uint32_t i = 0; i < from.shown->n; i++) {
        const struct ty_peers times = ty_peers_of(from.shown->member[i], senders, wide);
        for (uint32_t k = times.first; k < times.first + times.n; k++) {
            put_arrow(c, head, n, (uint64_t)slot * c->view.program->slot_width + k + 1, &from,
                      from.shown->member[i], &to, k / (wide / receivers));
        }
    }
}

static int chrome_flows(struct ty_chrome *c)
{
    const struct ty_program *p = c->view.program;
    struct ty_view_ends ends;
    if (ty_view_ends(&c->view, &ends) != 0) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < p->n_channels; i++) {
        const struct ty_channel *channel = &p->channels[i];
        for (uint32_t seq = 0; seq < channel->n_seq; seq++) {
            const uint32_t slot = channel->first_slot + seq;
            if (ends.send[slot].pass != TY_VIEW_NONE && ends.recv[slot].pass != TY_VIEW_NONE) {
                put_message(c, channel, slot, &ends.send[slot], &ends.recv[slot]);
            }
        }
    }
    return 0;
}

/* ---- the file ---- */

/* ---- head and foot ---- */

static void put_metadata(struct ty_chrome *c, const char *key)
{
    struct ty_out *out = c->out;
    ty_out_json_string(out, key);
    ty_out_str(out, ":{");
    for (uint32_t i = 0; i < c->view.trace->n_meta; i++) {
        const struct ty_meta *meta = &c->view.trace->meta[i];
        ty_out_str(out, i > 0 ? "," : "");
        ty_out_json_string(out, meta->key);
        ty_out_str(out, ":");
        ty_trace_put_meta(out, meta);
    }
    ty_out_str(out, "},\n");
}

static void put_document_head(struct ty_chrome *c)
{
    ty_out_str(c->out, "{\"displayTimeUnit\":\"ms\",\n");
    put_metadata(c, "metadata");
    put_metadata(c, "otherData"); /* Catapult and older Perfetto read this name */
    ty_out_str(c->out, "\"traceEvents\":[");
}

/* ---- names of processes and threads ---- */

/* The process of a rank. */
static uint64_t pid_of(uint32_t rank)
{
    return TY_CHROME_PID0 + (uint64_t)rank;
}

static void put_threads(struct ty_chrome *c, const struct ty_gang *gang, uint32_t rank,
                        unsigned streams)
{
    const struct ty_program *p = c->view.program;
    for (uint32_t l = 0; l < p->n_lanes; l++) {
        const uint32_t s = p->stream_of[l];
        if ((streams >> s & 1u) != 0) {
            const unsigned tid = p->words->streams[s].tid;
            chrome_put_naming(c, "thread_name", pid_of(rank), tid, "name");
            ty_out_json_string(c->out, ty_view_row(p, gang, s));
            ty_out_str(c->out, "}}");
            chrome_put_naming(c, "thread_sort_index", pid_of(rank), tid, "sort_index");
            ty_out_u64(c->out, tid);
            ty_out_str(c->out, "}}");
        }
    }
}

static void put_process(struct ty_chrome *c, const struct ty_gang *gang, uint32_t rank,
                        uint32_t position, unsigned streams)
{
    const struct ty_trace *trace = c->view.trace;
    const unsigned tid = TY_FIRST_TID;
    char fallback[64];
    *ty_put_u64(ty_put_str(fallback, "rank "), rank) = '\0';
    chrome_put_naming(c, "process_name", pid_of(rank), tid, "name");
    ty_out_json_string(c->out,
                       trace->rank_name != NULL ? trace->rank_name(trace->arg, rank) : fallback);
    ty_out_str(c->out, "}}");
    chrome_put_naming(c, "process_sort_index", pid_of(rank), tid, "sort_index");
    ty_out_u64(c->out, position);
    ty_out_str(c->out, "}}");
    chrome_put_naming(c, "process_labels", pid_of(rank), tid, "labels");
    ty_out_json_string(c->out, trace->rank_label != NULL ? trace->rank_label(trace->arg, rank)
                               : gang->name != NULL      ? gang->name
                                                         : "");
    ty_out_str(c->out, "}}");
    put_threads(c, gang, rank, streams);
}

/* In display order, whatever the order of the gangs. */
static int put_names(struct ty_chrome *c)
{
    const struct ty_program *p = c->view.program;
    uint32_t *gang_of = ty_arena_array(&c->view.arena, uint32_t, p->n_ranks);
    unsigned *streams = ty_arena_array(&c->view.arena, unsigned, p->n_gangs);
    if (gang_of == NULL || streams == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        streams[g] = c->view.shown[g].n > 0 ? ty_view_streams(&c->view, &p->gangs[g]) : 0;
        for (uint32_t m = 0; m < p->gangs[g].n_ranks; m++) {
            gang_of[p->gangs[g].rank_of[m]] = g;
        }
    }
    for (uint32_t i = 0; i < c->view.trace->n_ranks; i++) {
        const uint32_t rank = c->view.trace->ranks[i], g = gang_of[rank];
        put_process(c, &p->gangs[g], rank, i, streams[g]);
    }
    return 0;
}

/* ---- writing ---- */

static int prepare(struct ty_chrome *c, const struct ty_trace *trace, struct ty_out *out,
                   struct ty_err *err)
{
    *c = (struct ty_chrome){.out = out};
    int rc = ty_view_init(&c->view, trace, err);
    if (rc == 0) {
        rc = ty_view_find_path(&c->view, err);
    }
    if (rc < 0) {
        return rc;
    }
    c->heads = ty_arena_array(&c->view.arena, struct ty_chrome_head *, c->view.n_plans);
    c->pieces = ty_arena_array(&c->view.arena, struct ty_chrome_piece *,
                               (size_t)c->view.program->n_gangs * c->view.n_partners);
    return c->heads != NULL && c->pieces != NULL ? 0 : ty_fail_memory(err);
}

static int write_events(struct ty_chrome *c)
{
    chrome_critical(c);
    int rc = put_names(c);
    rc = rc == 0 ? chrome_marks(c) : rc;
    rc = rc == 0 && ty_view_counts(&c->view, TY_COUNTERS_MEMORY) ? chrome_counters(c) : rc;
    rc = rc == 0 && ty_view_counts(&c->view, TY_COUNTERS_NET) ? chrome_links(c) : rc;
    rc = rc == 0 ? chrome_slices(c) : rc;
    if (rc == 0 && c->view.trace->bubbles) {
        rc = chrome_bubbles(c);
    }
    return rc == 0 && c->view.trace->flows == TY_FLOWS_P2P ? chrome_flows(c) : rc;
}

static int chrome_write(const struct ty_trace *trace, struct ty_out *out, struct ty_err *err)
{
    struct ty_chrome c;
    int rc = prepare(&c, trace, out, err);
    if (rc == 0) {
        put_document_head(&c);
        rc = write_events(&c);
        ty_out_str(out, "\n]}\n");
        rc = rc == 0 ? 0 : ty_fail_memory(err);
    }
    ty_view_release(&c.view);
    return rc;
}

/* ---- size ---- */

#define TIMES_B   19.0  /* digits of two times, typical */
#define BUBBLE_B  150.0 /* a bubble */
#define COUNTER_B 160.0 /* a memory counter; one or two per pass */
#define LINK_B    82.0  /* a value of a counter of links */
#define FLOW_B    85.0  /* one end of an arrow */
#define NAMES_B   300.0 /* naming events of a rank, and of each of its rows */
#define ROW_B     195.0
#define ROWS      6     /* of a rank: guess, most have fewer */
#define STEP_B    250.0 /* a step of the critical path */
#define META_B    120.0 /* an entry of the metadata, written twice */

static double pass_bytes(struct ty_chrome *c, const struct ty_pass *pass)
{
    const struct ty_view_plan *plan;
    const struct ty_chrome_head *heads = ty_chrome_heads(c, pass, &plan);
    double bytes = ty_view_counts(&c->view, TY_COUNTERS_MEMORY) ? COUNTER_B * 1.3 : 0;
    for (uint32_t i = 0; heads != NULL && i < plan->n; i++) {
        const struct ty_view_slice *slice = &plan->slices[i];
        const struct ty_op *op = &ty_pass_ops(c->view.program, pass)[slice->first];
        const bool message = op->sync == TY_SYNC_SEND || op->sync == TY_SYNC_RECV;
        const double piece = slice->partner != 0 ? 35 : 18; /* process, communicator */
        bytes += heads[i].len + piece + TIMES_B + sizeof(",\"dur\":}") - 1;
        bytes += 2.0 * heads[i].n_holes;
        bytes += message && c->view.trace->flows == TY_FLOWS_P2P ? FLOW_B : 0;
    }
    return bytes;
}

static double chrome_estimate(const struct ty_trace *trace)
{
    struct ty_chrome c;
    double bytes = 0, links = 0;
    if (prepare(&c, trace, NULL, NULL) == 0) {
        bytes = STEP_B * ty_view_count_path(&c.view);
        links = ty_view_counts(&c.view, TY_COUNTERS_NET) ? ty_view_count_links(&c.view) : 0;
        for (uint32_t g = 0; g < c.view.program->n_gangs; g++) {
            double one = 0; /* rank */
            const struct ty_gang *gang = c.view.shown[g].gang;
            for (uint32_t i = 0; i < gang->n_passes && c.view.shown[g].n > 0; i++) {
                one += pass_bytes(&c, &ty_gang_passes(c.view.program, gang)[i]);
            }
            bytes += one * c.view.shown[g].n;
        }
        bytes += trace->bubbles ? BUBBLE_B * ty_view_count_bubbles(&c.view) : 0;
    }
    ty_view_release(&c.view);
    const double rows = trace->detail == TY_DETAIL_STAGE ? 1 : ROWS;
    return bytes * ty_trace_window_share(trace) + (NAMES_B + rows * ROW_B) * trace->n_ranks +
           META_B * trace->n_meta + LINK_B * links;
}

const struct ty_trace_format ty_trace_chrome = {
    .name = "chrome",
    .extension = "json",
    .summary = "trace events as JSON, for ui.perfetto.dev and chrome://tracing",
    .links = true,
    .estimate = chrome_estimate,
    .write = chrome_write,
};
