/* perfetto.h - what the files of the Perfetto writer share.
 *
 * A .pftrace is a row of packets (google/perfetto, protos/perfetto/trace). Tracks are plain ones:
 * those with process descriptors come in an order of the viewer's own, and closed. A track below no
 * other is shown at once, with its own slices and without its children, sorted by name: so the
 * critical path and the computation of each rank are such tracks, and the rest lies below them, in
 * the order given. Each stream of each rank is a packet sequence of its own, whose
 * first packet says for all that follow: which track, that times are differences, and what the
 * numbers of names mean. What remains of a slice are two packets of some twenty bytes and its
 * arguments. Names that end with a number are spelled out: most occur once.
 *
 * All that is not a slice is on sequence 1, in absolute times. */
#ifndef TY_TRACES_PERFETTO_PERFETTO_H
#define TY_TRACES_PERFETTO_PERFETTO_H

#include "traces/perfetto/proto.h"
#include "traces/view/view.h"

#define TY_PF_BODY   2048u /* most bytes of an event */
#define TY_PF_PACKET 3072u /* most bytes of a packet with an event */

_Static_assert(TY_PF_PACKET <= TY_OUT_SLACK, "a packet is put in one piece");

/* Field numbers. */
enum {
    TY_PF_TRACE_PACKET = 1,
    /* TracePacket */
    TY_PF_CLOCKS = 6,
    TY_PF_TIME = 8,
    TY_PF_SEQUENCE = 10,
    TY_PF_EVENT = 11,
    TY_PF_INTERNED = 12,
    TY_PF_FLAGS = 13,
    TY_PF_DEFAULTS = 59,
    TY_PF_TRACK = 60,
    /* TrackEvent */
    TY_PF_CATEGORY_IID = 3,
    TY_PF_ANNOTATION = 4,
    TY_PF_TYPE = 9,
    TY_PF_NAME_IID = 10,
    TY_PF_TRACK_UUID = 11,
    TY_PF_CATEGORY = 22,
    TY_PF_NAME = 23,
    TY_PF_COUNTER_DOUBLE = 44,
    TY_PF_FLOW = 47,
    TY_PF_FLOW_ENDS = 48,
    TY_PF_CORRELATION = 53,
    TY_PF_CORRELATION_IID = 54,
    /* DebugAnnotation */
    TY_PF_KEY_IID = 1,
    TY_PF_BOOL = 2,
    TY_PF_UINT = 3,
    TY_PF_DOUBLE = 5,
    TY_PF_STRING = 6,
    TY_PF_KEY = 10,
    TY_PF_STRING_IID = 17,
    /* TrackDescriptor */
    TY_PF_UUID = 1,
    TY_PF_TRACK_NAME = 2,
    TY_PF_PARENT = 5,
    TY_PF_TRACK_COUNTER = 8,
    TY_PF_CHILD_ORDERING = 11,
    TY_PF_SIBLING_RANK = 12,
    TY_PF_DESCRIPTION = 14,
    /* CounterDescriptor */
    TY_PF_UNIT_NAME = 6,
    TY_PF_Y_AXIS = 7,
    /* ClockSnapshot, and its Clock */
    TY_PF_CLOCK = 1,
    TY_PF_CLOCK_ID = 1,
    TY_PF_CLOCK_NOW = 2,
    TY_PF_CLOCK_INCREMENTAL = 3,
    /* TracePacketDefaults */
    TY_PF_EVENT_DEFAULTS = 11,
    TY_PF_TIME_CLOCK = 58,
    /* a string of InternedData */
    TY_PF_IID = 1,
    TY_PF_TEXT = 2,
};
enum {
    TY_PF_BEGIN = 1,
    TY_PF_END = 2,
    TY_PF_INSTANT = 3,
    TY_PF_COUNTER = 4
}; /* types */
enum {
    TY_PF_CLEARED = 1
}; /* flags */

/* Strings that have a number: what they are, and their field in InternedData. */
#define TY_PF_TABLES(X)                                                                            \
    X(CATEGORY, 1)                                                                                 \
    X(NAME, 2)                                                                                     \
    X(KEY, 3)                                                                                      \
    X(VALUE, 29)                                                                                   \
    X(CORRELATION, 43)
enum {
#define X(id, field) TY_PF_TABLE_##id,
    TY_PF_TABLES(X)
#undef X
    TY_PF_N_TABLES
};

/* Strings of one stream of one gang, numbered from 1. */
struct ty_pf_strings {
    const char **text[TY_PF_N_TABLES];
    uint32_t n[TY_PF_N_TABLES], cap[TY_PF_N_TABLES];
};

/* The event that begins a slice, in three parts: the same for all passes, the numbers of a pass,
 * and its partners. */
struct ty_pf_head {
    const char *text; /* [len], padded to whole blocks */
    uint32_t len;
    const char *name; /* with the number of the micro-batch; NULL: in the text */
    uint8_t n_holes;
    uint8_t hole[4], key[4];
};

/* Begins and ends of the slices of a plan, row by row in order of time: 2 * slice, or that + 1 for
 * the end. */
struct ty_pf_plan {
    struct ty_pf_head *heads; /* [slices of the plan] */
    uint32_t *order;          /* [2 * slices] */
};

/* The reason of one slice as an annotation, with the last of the row's values that it needs. */
struct ty_pf_note {
    struct ty_view_why why;
    char text[sizeof(((struct ty_view_why *)0)->text) + 32];
    size_t len;
    uint32_t value; /* 0: none */
};

/* Bytes of a member that go into events as they are. */
struct ty_pf_piece {
    char text[63]; /* whole blocks are copied */
    uint8_t len;
};

struct ty_pf {
    struct ty_view view;
    struct ty_out *out;
    uint32_t *position;       /* [ranks of the program] in display order */
    unsigned digits;          /* of the largest rank shown */
    bool counted;             /* names of ranks begin with their position */
    uint64_t n_tracks;        /* links, so far */
    uint32_t memory;          /* first number of a rank's tracks of memory, after those of rows */
    struct ty_view_ends ends; /* of messages */
    /* of the gang that is being written */
    const struct ty_view_shown *shown;
    struct ty_pf_strings strings[TY_MAX_STREAMS];
    struct ty_pf_plan *plans;    /* [view.n_plans] */
    struct ty_pf_piece **pieces; /* [view.n_partners]: [members] */
    struct ty_arena arena;       /* owns these */
};

/* Numbers of tracks and sequences: unique, and small. A rank has `memory` numbers for itself, its
 * moments and its rows, and as many for its memory; `memory` is a power of two, at least 8. */
enum {
    TY_PF_ROOT = 1,
    TY_PF_FIGURES = 2
};
static inline uint64_t ty_pf_rank_track(const struct ty_pf *f, uint32_t rank)
{
    return (f->position[rank] + 1ULL) * 2 * f->memory;
}
/* Place of a row among the children of its rank. */
static inline uint32_t ty_pf_order(const struct ty_pf *f, uint32_t stream)
{
    return f->view.program->words->streams[stream].tid - TY_FIRST_TID;
}
/* Computation is on the track of the rank itself; its number among the children has the moments. */
static inline uint64_t ty_pf_moments_track(const struct ty_pf *f, uint32_t rank)
{
    return ty_pf_rank_track(f, rank) + 1;
}
static inline uint64_t ty_pf_row_track(const struct ty_pf *f, uint32_t rank, uint32_t stream)
{
    return ty_pf_rank_track(f, rank) +
           (stream == TY_STREAM_COMPUTE ? 0 : 1 + ty_pf_order(f, stream));
}
static inline uint64_t ty_pf_row_sequence(const struct ty_pf *f, uint32_t rank, uint32_t stream)
{
    return 2 + (uint64_t)f->position[rank] * f->memory + ty_pf_order(f, stream);
}

/* The counter of ty_trace.layers, after those of memory. */
static inline uint64_t ty_pf_layers_track(const struct ty_pf *f, uint32_t rank)
{
    return ty_pf_rank_track(f, rank) + f->memory + f->view.program->words->n_memory;
}

/* A packet of sequence 1 around body[n], an event at a time. */
void ty_pf_put_event(struct ty_pf *f, uint64_t ns, const char *body, size_t n);

/* A track, or the figures of the run. */
struct ty_pf_track {
    uint64_t uuid, parent;
    uint32_t order;
    const char *name, *description; /* NULL: none */
    const char *unit, *shared_axis; /* of a counter; else NULL */
};

/* plan.c: strings, heads and order of the slices of the gang that is being written; 0 or
 * TY_ENOMEM. */
int ty_pf_begin_gang(struct ty_pf *f, const struct ty_view_shown *shown);

/* slices.c: all slices and bubbles, with the arrows between them; 0 or TY_ENOMEM. */
int ty_pf_slices(struct ty_pf *f);

/* critical.c: the track of the critical path; the event of a slice of that stream,
 * body[n], with the remark that it lies on it, which needs a string. */
void ty_pf_critical(struct ty_pf *f);

#endif
