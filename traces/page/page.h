/* page.h - slices of a run as compact columns, for a page that a browser opens.
 *
 * A slice is a pass, an idle stretch between passes, a part of a layer, an operation or a
 * communication on one row (a shown rank). Slices lie lane by lane, row by row, in order of time;
 * they are numbered from 0. Each knows what it waited for last: the slice that ended when it
 * started. Passes say how their time divides into buckets, waiting inside them included, so that
 * the buckets of the passes and idle stretches of a row sum to the statistics of its rank, in whole
 * picoseconds. */
#ifndef TY_TRACES_PAGE_PAGE_H
#define TY_TRACES_PAGE_PAGE_H

#include "sim/base/text.h"
#include "traces/out/writer.h"

#define TY_PAGE_NONE       UINT32_MAX
#define TY_PAGE_SLICES_MAX 1000000u /* guess: what a browser still opens within seconds */

/* What a slice is; words are those in the page. */
#define TY_PAGE_SORTS(X)                                                                           \
    X(PASS, "pass")                                                                                \
    X(IDLE, "idle")                                                                                \
    X(PART, "part")                                                                                \
    X(OP, "op")                                                                                    \
    X(COMM, "comm")

enum ty_page_sort {
#define X(id, word) TY_PAGE_##id,
    TY_PAGE_SORTS(X)
#undef X
};

/* Why a slice started when it did: what ended then was ... */
#define TY_PAGE_HOWS(X)                                                                            \
    X(START, "start")     /* nothing: it starts with the run, or nobody knows */                   \
    X(STREAM, "stream")   /* the work before it on its own stream */                               \
    X(EVENT, "event")     /* work of the same rank on another stream */                            \
    X(MESSAGE, "message") /* the send of a message that it received */                             \
    X(PARTNER, "partner") /* the slowest member of its collective */

enum ty_page_how {
#define X(id, word) TY_PAGE_HOW_##id,
    TY_PAGE_HOWS(X)
#undef X
};

/* What slices have in common. */
struct ty_page_kind {
    uint8_t sort;                  /* enum ty_page_sort */
    uint8_t category;              /* of IDLE: bucket */
    const char *name;              /* "forward", "send", "all-reduce", "bubble_fill" */
    const char *group, *algorithm; /* of a collective; NULL */
    double bytes;                  /* of a communication, else 0 */
    uint32_t block;                /* of a pass: what it does to memory; else TY_PAGE_NONE */
};

/* Rows of a lane: passes, what is inside them, and other streams in use by ty_op.lane. */
enum ty_page_lane {
    TY_PAGE_LANE_PASSES,
    TY_PAGE_LANE_PARTS,
    TY_PAGE_LANE_OPS,
    TY_PAGE_LANE_STREAMS, /* lane 1 of the program */
};

struct ty_page_slice {
    ty_ps start, dur;
    uint32_t row, lane, kind;
    uint32_t pass, op,
        last;        /* operations first .. last of the pass; of IDLE: the one that waited */
    uint32_t mix;    /* of PASS: row of mixes; else TY_PAGE_NONE */
    uint32_t before; /* the slice that it waited for; TY_PAGE_NONE */
    uint32_t via;    /* the nearest rank on the way there that is not shown; TY_PAGE_NONE */
    ty_ps delay;     /* of the message on the way */
    uint16_t mb, stage, layer, step; /* TY_NONE: has none */
    uint8_t event;                   /* of IDLE: what it waited for, or TY_NO_EVENT */
    uint8_t how;                     /* enum ty_page_how */
    bool open;                       /* of IDLE: until the end of the run */
};

/* Time of a pass by bucket. */
struct ty_page_mix {
    ty_ps bucket[TY_MAX_BUCKETS];
};

/* A stretch of the critical path, the latest first: time spent in a slice, or in one that is not
 * shown (slice TY_PAGE_NONE). */
struct ty_page_step {
    uint32_t slice, rank;
    ty_ps dur;
};

struct ty_page {
    const struct ty_trace *trace;
    const struct ty_timeline *timeline;
    const struct ty_program *program;
    const volatile int *stop; /* collecting ends when this is set; NULL */
    struct ty_arena arena;
    struct ty_seat *seat; /* [n_ranks of the trace] of each row */
    uint32_t *row_of;     /* [ranks of the program] or TY_PAGE_NONE */
    uint32_t **slice_of;  /* [rows][operations of the gang]: the innermost, or TY_PAGE_NONE */
    struct ty_page_slice *slice;
    struct ty_page_kind *kind;
    struct ty_page_mix *mix;
    struct ty_page_step *path;
    uint64_t n_beyond; /* slices above TY_PAGE_SLICES_MAX: counted, not kept */
    uint32_t n_slices, cap_slices, n_kinds, cap_kinds, n_mixes, cap_mixes, n_path, cap_path;
};

/* Refuses what would have too many slices however long the tasks of the trace's program wait:
 * before its execution. TY_ELIMIT or TY_ENOMEM. */
int ty_page_check(const struct ty_trace *trace, struct ty_err *err);

/* Collects the slices of the shown ranks, their causes, and the critical path of `own`, the
 * timeline of a program whose gangs are the first of the trace's (often the same one). TY_ENOMEM,
 * TY_ELIMIT where there are too many slices, or TY_EIO when *stop was set (`stop` may be NULL),
 * with a message; release it in any case. */
int ty_page_collect(struct ty_page *page, const struct ty_trace *trace,
                    const struct ty_timeline *own, const volatile int *stop, struct ty_err *err);
void ty_page_release(struct ty_page *page);

/* columns.c: puts them as members of the object that is open in a ty_out_html_json.
 * docs/guides/report.md has the fields. */
int ty_page_put(const struct ty_page *page, struct ty_json *json, struct ty_err *err);

/* page_template.c, made of the files in traces/page: what comes before and after the data. */
extern const unsigned char ty_page_head[], ty_page_tail[];
extern const size_t ty_page_head_len, ty_page_tail_len;

#endif
