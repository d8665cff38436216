/* perfetto_tracks.c - the tree of tracks, in an order that every viewer keeps.
 *
 *     trainyard run            the run's figures as an instant
 *       node 0                 NVLink, PCIe, NIC: counters
 *         rank 0 ...           steps, peaks as instants
 *           compute, ...       a row for each stream
 *           memory             weights, grads, optimizer, activations: counters
 *       switches               counters of what lies between nodes
 *
 * Every parent asks for the explicit order, every child has its place. */
#include <stdio.h>

#include "traces/perfetto.h"

enum {
    EXPLICIT = 3
}; /* TrackDescriptor.ChildTracksOrdering */
enum {
    FIRST_RANK = 1024
}; /* places of a node's ranks: after its counters */

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
    p = ty_proto_u64(p, TY_PF_TRACK_UUID, TY_PF_ROOT);
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
    return (f->view.trace->n_ranks + 1ULL) * TY_PF_PER_RANK + node;
}

/* Nodes that have a shown rank, in the order in which these are listed. */
static int put_nodes(struct ty_pf *f)
{
    const struct ty_trace *trace = f->view.trace;
    const uint32_t n_ranks = trace->node_of != NULL ? trace->n_ranks : 0;
    uint32_t n_nodes = 0, order = 1; /* after the critical path */
    for (uint32_t i = 0; i < n_ranks; i++) {
        const uint32_t node = trace->node_of[trace->ranks[i]];
        n_nodes = node >= n_nodes ? node + 1 : n_nodes;
    }
    bool *known = ty_arena_array(&f->view.arena, bool, (size_t)n_nodes + 1);
    for (uint32_t i = 0; i < n_ranks && known != NULL; i++) {
        const uint32_t node = trace->node_of[trace->ranks[i]];
        char name[24];
        if (!known[node]) {
            known[node] = true;
            snprintf(name, sizeof(name), "node %u", (unsigned)node);
            ty_pf_put_track(f, &(struct ty_pf_track){.uuid = ty_pf_node_track(f, node),
                                                     .parent = TY_PF_ROOT,
                                                     .order = order,
                                                     .name = name});
            order++;
        }
    }
    return known != NULL ? 0 : TY_ENOMEM;
}

static void put_memory(struct ty_pf *f, uint64_t rank_track)
{
    ty_pf_put_track(f, &(struct ty_pf_track){.uuid = rank_track + TY_PF_MEMORY - 1,
                                             .parent = rank_track,
                                             .order = TY_PF_MEMORY,
                                             .name = "memory"});
    for (uint32_t m = 0; m < TY_N_MEMORY; m++) {
        ty_pf_put_track(f, &(struct ty_pf_track){.uuid = rank_track + TY_PF_MEMORY + m,
                                                 .parent = rank_track + TY_PF_MEMORY - 1,
                                                 .order = m,
                                                 .name = ty_memory_name((enum ty_memory_kind)m),
                                                 .unit = "GB",
                                                 .shared_axis = "memory"});
    }
}

static void put_rank(struct ty_pf *f, const struct ty_gang *gang, uint32_t rank, unsigned streams)
{
    const struct ty_trace *trace = f->view.trace;
    const uint64_t uuid = ty_pf_rank_track(f, rank);
    char fallback[24];
    snprintf(fallback, sizeof(fallback), "rank %u", (unsigned)rank);
    /* the label may overwrite the name */
    char name[2 * TY_VIEW_NAME + 1];
    *ty_view_put_name(name,
                      trace->rank_name != NULL ? trace->rank_name(trace->arg, rank) : fallback,
                      sizeof(name) - 1) = '\0';
    ty_pf_put_track(
        f, &(struct ty_pf_track){
               .uuid = uuid,
               .parent =
                   trace->node_of != NULL ? ty_pf_node_track(f, trace->node_of[rank]) : TY_PF_ROOT,
               .order = FIRST_RANK + f->position[rank],
               .name = name,
               .description =
                   trace->rank_label != NULL ? trace->rank_label(trace->arg, rank) : gang->name});
    for (uint32_t s = 0; s < TY_N_STREAMS; s++) {
        if ((streams >> s & 1u) != 0) {
            ty_pf_put_track(f, &(struct ty_pf_track){.uuid = uuid + 1 + s,
                                                     .parent = uuid,
                                                     .order = s,
                                                     .name = ty_view_row(gang, s)});
        }
    }
    if (ty_view_counts(&f->view, TY_COUNTERS_MEMORY) && !ty_view_observed(f->view.program, gang)) {
        put_memory(f, uuid);
    }
}

int ty_pf_put_tree(struct ty_pf *f)
{
    put_start(f);
    ty_pf_put_track(f, &(struct ty_pf_track){.uuid = TY_PF_ROOT, .name = "trainyard run"});
    put_figures(f);
    const int rc = put_nodes(f);
    for (uint32_t g = 0; g < f->view.program->n_gangs; g++) {
        const struct ty_view_shown *shown = &f->view.shown[g];
        const unsigned streams = shown->n > 0 ? ty_view_streams(&f->view, shown->gang) : 0;
        for (uint32_t i = 0; i < shown->n; i++) {
            put_rank(f, shown->gang, shown->gang->rank_of[shown->member[i]], streams);
        }
    }
    return rc;
}
