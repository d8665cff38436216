/* perfetto.c - Perfetto's own format: counters and moments, the file as a whole, its size.
 *
 * Holds the slices, arrows, counters and moments of the Chrome trace, in a third of its bytes, and
 * tells viewers more: the order of rows, units, a common axis, a colour by kind. */
#include "traces/perfetto/perfetto.h"

#include <stdio.h>

/* ---- tracks ---- */

enum {
    EXPLICIT = 3
}; /* TrackDescriptor.ChildTracksOrdering */

/* Name and description are cut so that a packet fits. */
static char *put_text(char *p, uint32_t field, const char *text)
{
    char safe[2 * TY_VIEW_NAME];
    return ty_proto_bytes(p, field, safe,
                          (size_t)(ty_view_put_name(safe, text, sizeof(safe)) - safe));
}

static void pf_put_track(struct ty_pf *f, const struct ty_pf_track *track)
{
    char body[4 * TY_VIEW_NAME + 128], counter[128], packet[sizeof(body) + 32];
    char *p = ty_proto_u64(body, TY_PF_UUID, track->uuid);
    p = track->parent != 0 ? ty_proto_u64(p, TY_PF_PARENT, track->parent) : p;
    p = put_text(p, TY_PF_TRACK_NAME, track->name);
    if (track->unit != NULL) {
        char *q = ty_proto_str(counter, TY_PF_UNIT_NAME, track->unit);
        q = ty_proto_str(q, TY_PF_Y_AXIS, track->shared_axis);
        p = ty_proto_bytes(p, TY_PF_TRACK_COUNTER, counter, (size_t)(q - counter));
    } else {
        p = ty_proto_u64(p, TY_PF_CHILD_ORDERING, EXPLICIT);
    }
    p = ty_proto_u64(p, TY_PF_SIBLING_RANK, track->order);
    p = track->description != NULL ? put_text(p, TY_PF_DESCRIPTION, track->description) : p;
    char *q = ty_proto_u64(packet, TY_PF_SEQUENCE, 1);
    q = ty_proto_bytes(q, TY_PF_TRACK, body, (size_t)(p - body));
    char *room = ty_out_room(f->out, TY_OUT_SLACK);
    ty_out_advance(f->out, ty_proto_bytes(room, TY_PF_TRACE_PACKET, packet, (size_t)(q - packet)));
}

void ty_pf_put_event(struct ty_pf *f, uint64_t ns, const char *body, size_t n)
{
    char head[2 * TY_PROTO_MAX + 16];
    char *h = ty_proto_u64(head, TY_PF_TIME, ns);
    h = ty_proto_u64(h, TY_PF_SEQUENCE, 1);
    h = ty_proto_varint(ty_proto_tag(h, TY_PF_EVENT, TY_PROTO_BYTES), n);
    char *p = ty_proto_varint(
        ty_proto_tag(ty_out_room(f->out, TY_PF_PACKET), TY_PF_TRACE_PACKET, TY_PROTO_BYTES),
        (size_t)(h - head) + n);
    memcpy(p, head, (size_t)(h - head));
    memcpy(p + (h - head), body, n);
    ty_out_advance(f->out, p + (h - head) + n);
}

/* The first packet of sequence 1. */
static void put_start(struct ty_pf *f)
{
    char packet[16];
    char *p = ty_proto_u64(packet, TY_PF_SEQUENCE, 1);
    p = ty_proto_u64(p, TY_PF_FLAGS, TY_PF_CLEARED);
    char *room = ty_out_room(f->out, TY_OUT_SLACK);
    ty_out_advance(f->out, ty_proto_bytes(room, TY_PF_TRACE_PACKET, packet, (size_t)(p - packet)));
}

/* One figure a packet: they are few, and any length fits. */
static void put_figures(struct ty_pf *f)
{
    const struct ty_trace *trace = f->view.trace;
    char body[TY_PF_BODY], value[TY_PF_BODY / 2];
    char *end = body + sizeof(body);
    char *p = ty_proto_u64(body, TY_PF_TYPE, TY_PF_INSTANT);
    p = ty_proto_u64(p, TY_PF_TRACK_UUID, TY_PF_FIGURES);
    p = ty_proto_str(p, TY_PF_NAME, "run");
    p = ty_proto_str(p, TY_PF_CATEGORY, "metadata");
    for (uint32_t i = 0; i < trace->n_meta; i++) {
        const struct ty_meta *meta = &trace->meta[i];
        char *q = put_text(value, TY_PF_KEY, meta->key);
        q = meta->text != NULL ? put_text(q, TY_PF_STRING, meta->text)
            : meta->flag       ? ty_proto_u64(q, TY_PF_BOOL, 1)
                               : ty_proto_double(q, TY_PF_DOUBLE, meta->number);
        if ((size_t)(end - p) > (size_t)(q - value) + 16) {
            p = ty_proto_bytes(p, TY_PF_ANNOTATION, value, (size_t)(q - value));
        }
    }
    ty_pf_put_event(f, f->view.from_ns, body, (size_t)(p - body));
}

static uint64_t pf_node_track(const struct ty_pf *f, uint32_t node)
{
    return (f->view.trace->n_ranks + 1ULL) * 2 * f->memory + node;
}

/* ---- ranks ---- */

enum {
    NAME = 2 * TY_VIEW_NAME + 64 /* most bytes of the name of a rank */
};

/* "rank 12 · pp1", "rank  8 · pp0": as texts they are in the order of the numbers. */
static char *put_padded(char *p, const char *name, unsigned digits)
{
    static const char word[] = "rank ";
    const char *at = strstr(name, word);
    const size_t before = at != NULL ? (size_t)(at - name) + sizeof(word) - 1 : 0;
    const size_t n = strspn(name + before, "0123456789");
    memcpy(p, name, before);
    p += before;
    for (size_t i = n; before > 0 && n > 0 && i < digits; i++) {
        *p++ = ' ';
    }
    return ty_put_str(p, name + before);
}

static void make_name(const struct ty_pf *f, uint32_t rank, char name[NAME])
{
    const struct ty_trace *trace = f->view.trace;
    char safe[2 * TY_VIEW_NAME + 1], fallback[24];
    char *p = name;
    snprintf(fallback, sizeof(fallback), "rank %u", (unsigned)rank);
    *ty_view_put_name(safe,
                      trace->rank_name != NULL ? trace->rank_name(trace->arg, rank) : fallback,
                      sizeof(safe) - 1) = '\0';
    if (f->counted) {
        p += snprintf(p, 32, "no. %*u · ", (int)f->digits, (unsigned)f->position[rank] + 1);
    }
    *put_padded(p, safe, f->digits) = '\0';
}

static const char *root_name(const struct ty_pf *f)
{
    return f->view.path != NULL ? "critical path" : "figures";
}

/* How names have to begin so that they sort as the ranks are listed. */
static void find_naming(struct ty_pf *f)
{
    const struct ty_trace *trace = f->view.trace;
    char last[NAME], name[NAME];
    uint64_t largest = trace->n_ranks;
    for (uint32_t i = 0; i < trace->n_ranks; i++) {
        largest = trace->ranks[i] > largest ? trace->ranks[i] : largest;
    }
    f->digits = (unsigned)(ty_put_u64(name, largest) - name);
    snprintf(last, sizeof(last), "%s", root_name(f));
    for (uint32_t i = 0; i < trace->n_ranks && !f->counted; i++) {
        make_name(f, trace->ranks[i], name);
        f->counted = strcmp(last, name) > 0;
        memcpy(last, name, sizeof(last));
    }
}

static void put_memory_track(struct ty_pf *f, uint64_t rank_track)
{
    pf_put_track(f, &(struct ty_pf_track){.uuid = rank_track + f->memory - 1,
                                          .parent = rank_track,
                                          .order = f->memory,
                                          .name = "memory"});
    for (uint32_t m = 0; m < f->view.program->words->n_memory; m++) {
        pf_put_track(f, &(struct ty_pf_track){.uuid = rank_track + f->memory + m,
                                              .parent = rank_track + f->memory - 1,
                                              .order = m,
                                              .name = f->view.program->words->memory[m],
                                              .unit = "GB",
                                              .shared_axis = "memory"});
    }
    if (f->view.trace->layers != NULL) {
        pf_put_track(f, &(struct ty_pf_track){.uuid = rank_track + f->memory +
                                                      f->view.program->words->n_memory,
                                              .parent = rank_track,
                                              .order = f->memory + 1,
                                              .name = f->view.trace->layers->name,
                                              .unit = f->view.trace->layers->series,
                                              .shared_axis = f->view.trace->layers->name});
    }
}

static void put_rank(struct ty_pf *f, const struct ty_gang *gang, uint32_t rank, unsigned streams)
{
    const struct ty_trace *trace = f->view.trace;
    const uint64_t uuid = ty_pf_rank_track(f, rank);
    char name[NAME];
    make_name(f, rank, name);
    pf_put_track(f, &(struct ty_pf_track){.uuid = uuid,
                                          .order = 1 + f->position[rank],
                                          .name = name,
                                          .description = trace->rank_label != NULL
                                                             ? trace->rank_label(trace->arg, rank)
                                                             : gang->name});
    pf_put_track(f, &(struct ty_pf_track){.uuid = ty_pf_moments_track(f, rank),
                                          .parent = uuid,
                                          .order = 0,
                                          .name = "moments"});
    const struct ty_program *p = f->view.program;
    for (uint32_t l = 1; l < p->n_lanes; l++) {
        const uint32_t s = p->stream_of[l];
        if ((streams >> s & 1u) != 0) {
            pf_put_track(f, &(struct ty_pf_track){.uuid = ty_pf_row_track(f, rank, s),
                                                  .parent = uuid,
                                                  .order = ty_pf_order(f, s),
                                                  .name = ty_view_row(p, gang, s)});
        }
    }
    if (ty_view_counts(&f->view, TY_COUNTERS_MEMORY) && !ty_view_observed(f->view.program, gang)) {
        put_memory_track(f, uuid);
    }
}

static void pf_put_tracks(struct ty_pf *f)
{
    put_start(f);
    find_naming(f);
    pf_put_track(
        f, &(struct ty_pf_track){.uuid = TY_PF_ROOT,
                                 .name = root_name(f),
                                 .description = f->view.path != NULL ? "sets the run time" : NULL});
    pf_put_track(
        f, &(struct ty_pf_track){.uuid = TY_PF_FIGURES, .parent = TY_PF_ROOT, .name = "figures"});
    put_figures(f);
    for (uint32_t g = 0; g < f->view.program->n_gangs; g++) {
        const struct ty_view_shown *shown = &f->view.shown[g];
        const unsigned streams = shown->n > 0 ? ty_view_streams(&f->view, shown->gang) : 0;
        for (uint32_t i = 0; i < shown->n; i++) {
            put_rank(f, shown->gang, shown->gang->rank_of[shown->member[i]], streams);
        }
    }
}

/* ---- the file ---- */

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
    return pf_node_track(f, link->n_nodes) + 1 + f->n_tracks;
}

static void start_link(void *arg, const struct ty_view_link *link)
{
    struct ty_pf *f = arg;
    const uint64_t node = pf_node_track(f, link->node);
    const bool between = link->node == link->n_nodes;
    char name[24];
    snprintf(name, sizeof(name), "node %u", (unsigned)link->node);
    if (link->first) {
        pf_put_track(f, &(struct ty_pf_track){.uuid = node,
                                              .parent = TY_PF_ROOT,
                                              .order = 1 + link->position,
                                              .name = between ? "switches" : name,
                                              .description = "links in and out"});
    }
    f->n_tracks++;
    pf_put_track(f, &(struct ty_pf_track){.uuid = link_track(f, link),
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
        pf_put_tracks(&f);
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
