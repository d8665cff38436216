/* chrome.c - Chrome trace JSON: the document around the events, and its size beforehand.
 *
 * Opens in Perfetto (https://ui.perfetto.dev), in Chromium's tracing pages and in speedscope. The
 * format: "Trace Event Format", Google, 2016. Rules that keep every viewer content, each found by
 * trying: no pid or tid is 0 and none equal (such rows move or merge); events of one row nest or
 * are disjoint (Perfetto drops what overlaps); complete events only, no begin/end pairs; colours
 * only from Catapult's reserved names (others abort its import); numbers never NaN. */
#include "traces/chrome/chrome.h"

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

void ty_chrome_put_naming(struct ty_chrome *c, const char *what, uint64_t pid, unsigned tid,
                          const char *key)
{
    ty_out_str(c->out, c->named ? ",\n" : "\n");
    c->named = true;
    ty_out_printf(c->out,
                  "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%llu,\"tid\":%u,\"args\":{\"%s\":", what,
                  (unsigned long long)pid, tid, key);
}

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
            ty_chrome_put_naming(c, "thread_name", pid_of(rank), tid, "name");
            ty_out_json_string(c->out, ty_view_row(p, gang, s));
            ty_out_str(c->out, "}}");
            ty_chrome_put_naming(c, "thread_sort_index", pid_of(rank), tid, "sort_index");
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
    ty_chrome_put_naming(c, "process_name", pid_of(rank), tid, "name");
    ty_out_json_string(c->out,
                       trace->rank_name != NULL ? trace->rank_name(trace->arg, rank) : fallback);
    ty_out_str(c->out, "}}");
    ty_chrome_put_naming(c, "process_sort_index", pid_of(rank), tid, "sort_index");
    ty_out_u64(c->out, position);
    ty_out_str(c->out, "}}");
    ty_chrome_put_naming(c, "process_labels", pid_of(rank), tid, "labels");
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
    ty_chrome_critical(c);
    int rc = put_names(c);
    rc = rc == 0 ? ty_chrome_marks(c) : rc;
    rc = rc == 0 && ty_view_counts(&c->view, TY_COUNTERS_MEMORY) ? ty_chrome_counters(c) : rc;
    rc = rc == 0 && ty_view_counts(&c->view, TY_COUNTERS_NET) ? ty_chrome_links(c) : rc;
    rc = rc == 0 ? ty_chrome_slices(c) : rc;
    if (rc == 0 && c->view.trace->bubbles) {
        rc = ty_chrome_bubbles(c);
    }
    return rc == 0 && c->view.trace->flows == TY_FLOWS_P2P ? ty_chrome_flows(c) : rc;
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
