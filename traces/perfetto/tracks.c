/* tracks.c - the tracks, in an order that every viewer keeps.
 *
 *     critical path            its slices
 *       figures                of the run, as an instant
 *       node 0 ...             NVLink, PCIe, NIC: counters
 *       switches               counters of what lies between nodes
 *     rank 0 ...               its computation
 *       moments                steps, peaks as instants
 *       tensor comm, ...       a row for each other stream
 *       memory                 weights, grads, optimizer, activations: counters
 *
 * Every parent asks for the explicit order, every child has its place. Tracks below no other are
 * sorted by name: the numbers of ranks are padded with spaces, which viewers show as one, and where
 * the order asked for is another, names begin with the place in it. */
#include <stdio.h>

#include "traces/perfetto/perfetto.h"

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

void ty_pf_put_track(struct ty_pf *f, const struct ty_pf_track *track)
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

uint64_t ty_pf_node_track(const struct ty_pf *f, uint32_t node)
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

static void put_memory(struct ty_pf *f, uint64_t rank_track)
{
    ty_pf_put_track(f, &(struct ty_pf_track){.uuid = rank_track + f->memory - 1,
                                             .parent = rank_track,
                                             .order = f->memory,
                                             .name = "memory"});
    for (uint32_t m = 0; m < f->view.program->words->n_memory; m++) {
        ty_pf_put_track(f, &(struct ty_pf_track){.uuid = rank_track + f->memory + m,
                                                 .parent = rank_track + f->memory - 1,
                                                 .order = m,
                                                 .name = f->view.program->words->memory[m],
                                                 .unit = "GB",
                                                 .shared_axis = "memory"});
    }
    if (f->view.trace->layers != NULL) {
        ty_pf_put_track(f, &(struct ty_pf_track){.uuid = rank_track + f->memory +
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
    ty_pf_put_track(f,
                    &(struct ty_pf_track){.uuid = uuid,
                                          .order = 1 + f->position[rank],
                                          .name = name,
                                          .description = trace->rank_label != NULL
                                                             ? trace->rank_label(trace->arg, rank)
                                                             : gang->name});
    ty_pf_put_track(f, &(struct ty_pf_track){.uuid = ty_pf_moments_track(f, rank),
                                             .parent = uuid,
                                             .order = 0,
                                             .name = "moments"});
    const struct ty_program *p = f->view.program;
    for (uint32_t l = 1; l < p->n_lanes; l++) {
        const uint32_t s = p->stream_of[l];
        if ((streams >> s & 1u) != 0) {
            ty_pf_put_track(f, &(struct ty_pf_track){.uuid = ty_pf_row_track(f, rank, s),
                                                     .parent = uuid,
                                                     .order = ty_pf_order(f, s),
                                                     .name = ty_view_row(p, gang, s)});
        }
    }
    if (ty_view_counts(&f->view, TY_COUNTERS_MEMORY) && !ty_view_observed(f->view.program, gang)) {
        put_memory(f, uuid);
    }
}

void ty_pf_put_tracks(struct ty_pf *f)
{
    put_start(f);
    find_naming(f);
    ty_pf_put_track(f, &(struct ty_pf_track){.uuid = TY_PF_ROOT,
                                             .name = root_name(f),
                                             .description = f->view.path != NULL
                                                                ? "what the run is as long as"
                                                                : NULL});
    ty_pf_put_track(
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
