/* perfetto.c - Perfetto's own format: counters and moments, the file as a whole, its size.
 *
 * Holds the slices, arrows, counters and moments of the Chrome trace, in a third of its bytes, and
 * tells viewers more: the order of rows, units, a common axis, a colour by kind. */
#include "traces/perfetto/perfetto.h"

#include <stdio.h>

/* ---- counters ---- */

static void put_value(struct ty_pf *f, uint64_t track, uint64_t ns, double value)
{
    char body[48];
    char *p = ty_proto_u64(body, TY_PF_TYPE, TY_PF_COUNTER);
    p = ty_proto_u64(p, TY_PF_TRACK_UUID, track);
    p = ty_proto_double(p, TY_PF_COUNTER_DOUBLE, value);
    ty_pf_put_event(f, ns, body, (size_t)(p - body));
}

static void put_memory(void *arg, const struct ty_view_shown *shown, uint32_t i, uint64_t ns,
                       uint64_t kB)
{
    struct ty_pf *f = arg;
    const uint64_t track = ty_pf_rank_track(f, shown->gang->rank_of[shown->member[i]]) + f->memory;
    put_value(f, track + f->view.program->words->held, ns, (double)kB / 1e6);
}

static void put_layer(void *arg, const struct ty_view_shown *shown, uint32_t i, uint64_t ns,
                      uint64_t thousandths)
{
    struct ty_pf *f = arg;
    put_value(f, ty_pf_layers_track(f, shown->gang->rank_of[shown->member[i]]), ns,
              (double)thousandths / 1e3);
}

static int put_memories(struct ty_pf *f)
{
    const struct ty_vocabulary *words = f->view.program->words;
    for (uint32_t i = 0; i < f->view.trace->n_ranks; i++) {
        const uint32_t rank = f->view.trace->ranks[i];
        const uint32_t g = ty_program_seat(f->view.program, rank).gang;
        const bool measured = ty_view_observed(f->view.program, &f->view.program->gangs[g]);
        for (uint32_t m = 0; m < words->n_memory && !measured; m++) {
            const uint64_t kB = ty_view_fixed_kB(&f->view.program->gangs[g], m);
            if (m != words->held) {
                put_value(f, ty_pf_rank_track(f, rank) + f->memory + m, f->view.from_ns,
                          (double)kB / 1e6);
            }
        }
    }
    const int rc = ty_view_layers(&f->view, put_layer, f);
    return rc == 0 ? ty_view_memory(&f->view, put_memory, f) : rc;
}

/* Tracks of links come after those of all nodes. */
static uint64_t link_track(const struct ty_pf *f, const struct ty_view_link *link)
{
    return ty_pf_node_track(f, link->n_nodes) + 1 + f->n_tracks;
}

static void start_link(void *arg, const struct ty_view_link *link)
{
    struct ty_pf *f = arg;
    const uint64_t node = ty_pf_node_track(f, link->node);
    const bool between = link->node == link->n_nodes;
    char name[24];
    snprintf(name, sizeof(name), "node %u", (unsigned)link->node);
    if (link->first) {
        ty_pf_put_track(f, &(struct ty_pf_track){.uuid = node,
                                                 .parent = TY_PF_ROOT,
                                                 .order = 1 + link->position,
                                                 .name = between ? "switches" : name,
                                                 .description = "links in and out"});
    }
    f->n_tracks++;
    ty_pf_put_track(f, &(struct ty_pf_track){.uuid = link_track(f, link),
                                             .parent = node,
                                             .order = (uint32_t)(f->n_tracks % 1024),
                                             .name = link->title,
                                             .unit = "GB/s",
                                             .shared_axis = link->title});
}

static void put_load(void *arg, const struct ty_view_link *link, uint64_t ns, uint64_t kBps)
{
    struct ty_pf *f = arg;
    put_value(f, link_track(f, link), ns, (double)kBps / 1e6);
}

static int put_links(struct ty_pf *f)
{
    const struct ty_view_links_sink sink = {.start = start_link, .value = put_load, .arg = f};
    return ty_view_links(&f->view, &sink);
}

/* ---- moments ---- */

static void put_mark(void *arg, const struct ty_view_shown *shown, uint32_t i,
                     const struct ty_view_mark *mark, uint64_t ns)
{
    struct ty_pf *f = arg;
    char body[TY_PF_BODY], value[TY_PF_BODY / 2];
    char *q = ty_proto_str(value, TY_PF_KEY, mark->key);
    q = mark->text != NULL  ? ty_proto_str(q, TY_PF_STRING, mark->text)
        : mark->thousandths ? ty_proto_double(q, TY_PF_DOUBLE, (double)mark->number / 1e3)
                            : ty_proto_u64(q, TY_PF_UINT, mark->number);
    char *p = ty_proto_u64(body, TY_PF_TYPE, TY_PF_INSTANT);
    p = ty_proto_u64(p, TY_PF_TRACK_UUID,
                     ty_pf_moments_track(f, shown->gang->rank_of[shown->member[i]]));
    p = ty_proto_str(p, TY_PF_NAME, mark->name);
    p = ty_proto_str(p, TY_PF_CATEGORY, "phase");
    p = ty_proto_bytes(p, TY_PF_ANNOTATION, value, (size_t)(q - value));
    ty_pf_put_event(f, ns, body, (size_t)(p - body));
}

static int put_marks(struct ty_pf *f)
{
    return ty_view_marks(&f->view, put_mark, f);
}

/* ---- writing ---- */

/* Room for the row of the last stream, and for the track that holds those of memory. */
static uint32_t numbers_of_rows(const struct ty_pf *f)
{
    const struct ty_program *p = f->view.program;
    uint32_t n = 8;
    while (n < ty_pf_order(f, p->stream_of[p->n_lanes - 1]) + 3) {
        n *= 2;
    }
    return n;
}

static int prepare(struct ty_pf *f, const struct ty_trace *trace, struct ty_out *out,
                   struct ty_err *err)
{
    *f = (struct ty_pf){.out = out};
    int rc = ty_view_init(&f->view, trace, err);
    if (rc == 0) {
        rc = ty_view_find_path(&f->view, err);
    }
    if (rc < 0) {
        return rc;
    }
    f->memory = numbers_of_rows(f);
    f->position = ty_arena_array(&f->view.arena, uint32_t, f->view.program->n_ranks);
    for (uint32_t i = 0; f->position != NULL && i < trace->n_ranks; i++) {
        f->position[trace->ranks[i]] = i;
    }
    return f->position != NULL ? 0 : ty_fail_memory(err);
}

static void release(struct ty_pf *f)
{
    ty_arena_release(&f->arena);
    ty_view_release(&f->view);
}

static int perfetto_write(const struct ty_trace *trace, struct ty_out *out, struct ty_err *err)
{
    struct ty_pf f;
    int rc = prepare(&f, trace, out, err);
    if (rc == 0) {
        ty_pf_put_tracks(&f);
        ty_pf_critical(&f);
        rc = put_marks(&f);
        rc = rc == 0 && ty_view_counts(&f.view, TY_COUNTERS_MEMORY) ? put_memories(&f) : rc;
        rc = rc == 0 && ty_view_counts(&f.view, TY_COUNTERS_NET) ? put_links(&f) : rc;
        rc = rc == 0 ? ty_pf_slices(&f) : rc;
        rc = rc == 0 ? 0 : ty_fail_memory(err);
    }
    release(&f);
    return rc;
}

/* ---- size ---- */

#define PACKET_B  10.0  /* packet, row, time: of a begin without its head, and of an end */
#define PARTNER_B 9.0   /* communicator or peer */
#define BUBBLE_B  58.0  /* a bubble */
#define COUNTER_B 24.0  /* a value */
#define FLOW_B    10.0  /* one end of an arrow */
#define ROW_B     95.0  /* a row: its track and first packet */
#define WHY_B     9.0   /* why it started, a string of its row */
#define TEXT_B    36.0  /* the same spelled out */
#define STRING_B  13.0  /* a string of a row, without its letters */
#define RANK_B    370.0 /* track and moments of a rank, and a node now and then */
#define MEMORY_B  260.0 /* tracks and fixed memory of a rank */
#define STEP_B    220.0 /* a step of the critical path */
#define META_B    50.0

static double pass_bytes(struct ty_pf *f, const struct ty_pass *pass)
{
    const struct ty_view_plan *plan = ty_view_plan(&f->view, pass);
    const struct ty_pf_plan *mine = &f->plans[ty_view_plan_number(pass)];
    const bool full = f->view.trace->args == TY_ARGS_FULL;
    double bytes = ty_view_counts(&f->view, TY_COUNTERS_MEMORY) ? 2 * COUNTER_B : 0;
    for (uint32_t i = 0; plan != NULL && i < plan->n; i++) {
        const struct ty_pf_head *head = &mine->heads[i];
        const struct ty_op *op = &ty_pass_ops(f->view.program, pass)[plan->slices[i].first];
        const bool message = op->sync == TY_SYNC_SEND || op->sync == TY_SYNC_RECV;
        bytes += head->len + 7.0 * head->n_holes + 2 * PACKET_B + 4;
        bytes += head->name != NULL ? (double)strlen(head->name) + 7 : 0;
        bytes += plan->slices[i].partner != 0 ? PARTNER_B : 0;
        bytes += full ? (plan->slices[i].numbered ? TEXT_B : WHY_B) : 0;
        bytes += message && f->view.trace->flows == TY_FLOWS_P2P ? FLOW_B : 0;
    }
    return bytes;
}

/* The rows of a rank before their slices. */
static double rows_bytes(const struct ty_pf *f, const struct ty_gang *gang)
{
    const unsigned streams = ty_view_streams(&f->view, gang);
    double bytes = 0;
    for (uint32_t l = 0; l < f->view.program->n_lanes; l++) {
        const uint32_t s = f->view.program->stream_of[l];
        bytes += (streams >> s & 1u) != 0 ? ROW_B : 0;
        for (uint32_t t = 0; t < TY_PF_N_TABLES; t++) {
            for (uint32_t i = 0; i < f->strings[s].n[t]; i++) {
                bytes += STRING_B + (double)strlen(f->strings[s].text[t][i]);
            }
        }
    }
    return bytes;
}

static double perfetto_estimate(const struct ty_trace *trace)
{
    struct ty_pf f;
    double bytes = 0, links = 0, rows = 0;
    if (prepare(&f, trace, NULL, NULL) == 0) {
        bytes = STEP_B * ty_view_count_path(&f.view);
        links = ty_view_counts(&f.view, TY_COUNTERS_NET) ? ty_view_count_links(&f.view) : 0;
        for (uint32_t g = 0; g < f.view.program->n_gangs; g++) {
            const struct ty_view_shown *shown = &f.view.shown[g];
            double one = 0; /* rank */
            const bool ok = shown->n > 0 && ty_pf_begin_gang(&f, shown) == 0;
            for (uint32_t i = 0; ok && i < shown->gang->n_passes; i++) {
                one += pass_bytes(&f, &ty_gang_passes(f.view.program, shown->gang)[i]);
            }
            bytes += one * shown->n;
            rows += ok ? rows_bytes(&f, shown->gang) * shown->n : 0;
        }
        bytes += trace->bubbles ? BUBBLE_B * ty_view_count_bubbles(&f.view) : 0;
    }
    release(&f);
    const bool memory = trace->counters == TY_COUNTERS_ALL || trace->counters == TY_COUNTERS_MEMORY;
    return bytes * ty_trace_window_share(trace) + rows +
           (RANK_B + (memory ? MEMORY_B : 0)) * trace->n_ranks + META_B * trace->n_meta +
           COUNTER_B * links;
}

const struct ty_trace_format ty_trace_perfetto = {
    .name = "perfetto",
    .extension = "pftrace",
    .summary = "Perfetto's own format, for ui.perfetto.dev: rows in order, a third of the size",
    .links = true,
    .estimate = perfetto_estimate,
    .write = perfetto_write,
};
