/* view.h - what a timeline looks like when it is drawn, whatever the file format.
 *
 * Ranks with rows; passes with the parts of layers and operations inside them; bubbles with their
 * reasons; messages; memory and links over time; moments. Formats differ in how they write this,
 * never in what there is: chrome*.c makes lines of JSON of it, perfetto*.c protobuf messages. Only
 * why slices started is in protobuf alone, where most of it is a number.
 *
 * Slices are visited gang by gang and operation by operation, all shown members abreast, as the
 * timeline stores them: memory is read in order, and neighbours that run in step differ in their
 * number only.
 *
 * Times are whole nanoseconds, floor(ps / 1000) of starts and of ends: rounding is monotone, so
 * slices that nest or follow each other in picoseconds do so in the file.
 *
 * Readers of JSON make doubles of its times and add: start + length may then lie a little beyond
 * the start of the slice that follows, or beyond the end of the one around it, and a reader that
 * closes slices by these sums (speedscope) never closes this one. So lengths in JSON fall short of
 * theirs, by a tenth of a nanosecond and a tenth more inside each slice: far more than what sums
 * of doubles lose in days of microseconds (an end below 3e11 us: a tenth is 3 units in its last
 * place), whatever the reader counts from, and far less than the half that would change a length
 * in nanoseconds. */
#ifndef TY_TRACES_VIEW_VIEW_H
#define TY_TRACES_VIEW_VIEW_H

#include "sim/base/utf8.h"
#include "sim/core/analyse/gaps.h"
#include "traces/out/writer.h"

#define TY_VIEW_NONE UINT32_MAX
#define TY_VIEW_NAME 200u /* most bytes of one name; longer ones are cut */
#define TY_VIEW_ARGS 7u   /* most arguments of a slice */

/* ---- slices ---- */

/* Numbers that vary from pass to pass. */
enum ty_view_hole {
    TY_HOLE_MB,
    TY_HOLE_STAGE,
    TY_HOLE_STEP,
    TY_HOLE_ORDINAL, /* of the operation within its gang */
    TY_HOLE_MEETING, /* of a collective between gangs: which of those of its group */
    TY_N_HOLES
};

enum ty_view_value {
    TY_VALUE_HOLE,
    TY_VALUE_NUMBER,
    TY_VALUE_TEXT
};

struct ty_view_arg {
    const char *key;
    uint8_t value; /* enum ty_view_value */
    uint8_t hole;
    double number; /* whole */
    const char *text;
};

/* A slice that every pass of a block makes, from the start of one operation to the end of another
 * (or the same). Its name is `name`, or `name mb`. */
struct ty_view_slice {
    const char *name;
    bool numbered;
    uint8_t category, stream;
    uint8_t n_args;
    uint8_t depth;        /* slices around it on its row */
    uint32_t first, last; /* operations within the block */
    uint32_t partner;     /* the last argument: row number of ty_view_partner; 0: it has none */
    struct ty_view_arg arg[TY_VIEW_ARGS];
};

/* All slices of one block, parents before children. */
struct ty_view_plan {
    struct ty_view_slice *slices; /* [n] */
    uint32_t n;
    uint32_t first_compute, last_compute; /* operations; TY_VIEW_NONE: no compute operation */
};

/* ---- who is shown ---- */

/* The shown members of a gang. */
struct ty_view_shown {
    const struct ty_gang *gang;
    uint32_t n;
    uint32_t *member; /* [n], increasing */
    uint32_t *slot;   /* [gang->n_ranks]: index in member[], or TY_VIEW_NONE */
};

/* A group of gangs may meet several times in a step: which of these times it is, and of how
 * many. */
struct ty_view_turn {
    uint32_t number, n;
};

struct ty_view {
    const struct ty_trace *trace;
    const struct ty_timeline *timeline;
    const struct ty_program *program;
    struct ty_arena arena;
    struct ty_view_shown *shown; /* [n_gangs] */
    struct ty_view_plan *plans;  /* [n_plans], made when first needed */
    size_t n_plans;              /* n_blocks x TY_N_PHASES */
    uint32_t n_partners;
    const struct ty_gang *
        *hosts;                 /* [n_meets]: the first gang that takes part; NULL: not yet known */
    struct ty_view_turn *turns; /* [n_meets] */
    uint64_t from_ns, to_ns;    /* window */
    bool several_stages;        /* some rank works on more than one virtual stage */
    struct ty_view_path *path;  /* ty_view_find_path; NULL: not shown */
    uint32_t largest;           /* shown members of a gang, at most */
};

/* 0, TY_ENOMEM or TY_EBUG with a message. Released either way by ty_view_release. */
int ty_view_init(struct ty_view *v, const struct ty_trace *trace, struct ty_err *err);
void ty_view_release(struct ty_view *v);

/* Whether the trace has counters of memory, or of links. */
static inline bool ty_view_counts(const struct ty_view *v, enum ty_counters which)
{
    return v->trace->counters == TY_COUNTERS_ALL || v->trace->counters == which;
}

/* At most `max` bytes of a name, safe inside a JSON string: quotes, backslashes and what is not
 * shown (sim/base/utf8.h) become '_'. Never cuts inside a UTF-8 character. NULL is empty. */
static inline char *ty_view_put_name(char *p, const char *name, size_t max)
{
    size_t n = name == NULL ? 0 : strlen(name);
    if (n > max) {
        n = max;
        while (n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80) {
            n--;
        }
    }
    unsigned char all = 0;
    for (size_t i = 0; i < n; i++) {
        const unsigned char ch = (unsigned char)name[i];
        p[i] = (char)(ch < 0x20 || ch == 0x7F || ch == '"' || ch == '\\' ? '_' : ch);
        all |= ch;
    }
    return p + (TY_UNLIKELY(all > 0x7F) ? ty_utf8_replace(p, n, '_') : n);
}

/* Whether a gang's times were measured. */
static inline bool ty_view_observed(const struct ty_program *p, const struct ty_gang *gang)
{
    return p->n_tenants > 0 ? p->tenants[gang->tenant].observed : p->observed;
}

/* What a row is called. */
static inline const char *ty_view_row(const struct ty_program *p, const struct ty_gang *gang,
                                      uint32_t stream)
{
    const char *own = gang->row != NULL ? gang->row[stream] : NULL;
    return own != NULL ? own : ty_stream_name(p, stream);
}

/* [*start, *end) in nanoseconds and inside the window; false when nothing is left. */
static inline bool ty_view_clip(const struct ty_view *v, ty_ps start, ty_ps end, uint64_t *s,
                                uint64_t *e)
{
    *s = start / 1000;
    *e = end / 1000;
    *s = *s < v->from_ns ? v->from_ns : *s;
    *e = *e > v->to_ns ? v->to_ns : *e;
    return *e > *s;
}

/* How long a slice says it is in JSON, in tenths of nanoseconds, with so many slices around it. */
static inline uint64_t ty_view_length(uint64_t start_ns, uint64_t end_ns, unsigned depth)
{
    return 10 * (end_ns - start_ns) - 1 - depth;
}

/* Durations of one operation on all members: a row, or NULL and the common duration. */
static inline const ty_ps *ty_view_durations(const struct ty_view *v, const struct ty_gang *gang,
                                             const struct ty_op *op, uint64_t ordinal,
                                             ty_ps *common)
{
    const struct ty_kind *kind = &v->program->kinds[op->kind];
    *common = kind->dur;
    return v->timeline->dur != NULL ? v->timeline->dur + gang->first_task + ordinal * gang->n_ranks
                                    : kind->dur_of;
}

/* Rows of the start of one operation, and of the start and duration of one that ends later or is
 * the same (durs NULL: `dur` for all). */
struct ty_view_extent {
    const ty_ps *start, *last, *durs;
    ty_ps dur;
};

static inline ty_ps ty_view_extent_end(const struct ty_view_extent *e, uint32_t member)
{
    return e->last[member] + (e->durs != NULL ? e->durs[member] : e->dur);
}

/* From operation `first` to operation `last` of a pass. */
struct ty_view_extent ty_view_extent(const struct ty_view *v, const struct ty_gang *gang,
                                     const struct ty_pass *pass, uint32_t first, uint32_t last);

/* A pass on the compute stream; false when it computes nothing. */
bool ty_view_pass_extent(struct ty_view *v, const struct ty_gang *gang, const struct ty_pass *pass,
                         struct ty_view_extent *out);

/* Which plan, and the plan: made when first asked for. NULL when memory is exhausted. */
static inline size_t ty_view_plan_number(const struct ty_pass *pass)
{
    return (size_t)pass->block * TY_N_PHASES + pass->phase;
}
const struct ty_view_plan *ty_view_plan(struct ty_view *v, const struct ty_pass *pass);

/* The numbers of a slice of a pass. */
static inline void ty_view_numbers(const struct ty_view *v, const struct ty_pass *pass,
                                   const struct ty_view_slice *slice, uint64_t number[TY_N_HOLES])
{
    const struct ty_op *op = &ty_pass_ops(v->program, pass)[slice->first];
    number[TY_HOLE_MB] = ty_op_mb(pass, op);
    number[TY_HOLE_STAGE] = pass->stage;
    number[TY_HOLE_STEP] = pass->step;
    number[TY_HOLE_ORDINAL] = pass->first_op + slice->first;
    number[TY_HOLE_MEETING] = 0;
    if (op->sync == TY_SYNC_MEET) {
        const struct ty_view_turn *turn = &v->turns[op->link];
        number[TY_HOLE_MEETING] =
            (uint64_t)ty_meet_number(v->program, pass, op) * turn->n + turn->number;
    }
}

/* True when the trace shows single tasks of this operation. */
bool ty_view_shows(const struct ty_program *p, enum ty_detail detail, const struct ty_op *op);

/* Streams that have at least one row, a bit each. */
unsigned ty_view_streams(const struct ty_view *v, const struct ty_gang *gang);

/* The partners of a member in a collective or message: the group ("tp", rank 8 is its lowest), or
 * the rank at the other end. */
struct ty_view_partner {
    const char *group; /* NULL: a peer */
    uint32_t rank;
};

/* Partners are numbered through all groups, meetings and ends of channels: 0 < partner <
 * n_partners; the number of those of an operation, 0 where it has none. */
struct ty_view_partner ty_view_partner(struct ty_view *v, const struct ty_view_shown *shown,
                                       uint32_t partner, uint32_t member);
uint32_t ty_view_partner_of(const struct ty_program *p, const struct ty_op *op);

/* ---- bubbles ---- */

struct ty_view_bubble {
    const struct ty_view_shown *shown;
    uint32_t i; /* in shown->member */
    uint64_t start, end;
    const char *why, *kind;
    const struct ty_pass *before; /* the pass that waited; NULL: idle until the end */
    uint64_t serial;              /* why and kind are as last time when this is */
};
typedef void ty_view_bubble_fn(void *arg, const struct ty_view_bubble *bubble);

/* What a bubble of a bucket is called: "fill", "exposed p2p"; "idle" of one that has no word. Of
 * measured times nobody knows the cause where nothing ran: "unknown". */
const char *ty_view_bubble_kind(const struct ty_program *p, uint8_t bucket, bool observed);

/* Bubbles of shown members i .. i + n - 1 of a gang: pass by pass of all of them, each member's in
 * order of time. 0 or TY_ENOMEM. */
int ty_view_bubbles(struct ty_view *v, struct ty_gaps *gaps, const struct ty_view_shown *shown,
                    uint32_t i, uint32_t n, ty_view_bubble_fn *visit, void *arg);

/* How many shown members from i on lie close together: worth one replay. */
uint32_t ty_view_stretch(const struct ty_view_shown *shown, uint32_t i);

/* About how many bubbles there will be: those of one member of each gang stand for all. */
double ty_view_count_bubbles(struct ty_view *v);

/* ---- messages ---- */

/* Where a message leaves or arrives: a pass of the program and an operation of its block;
 * pass TY_VIEW_NONE: it is not shown. */
struct ty_view_end {
    uint32_t pass, op;
};

/* By slot of the message. */
struct ty_view_ends {
    struct ty_view_end *send, *recv; /* [n_slots] */
};
int ty_view_ends(struct ty_view *v, struct ty_view_ends *ends);

/* One end of a message on the gang it belongs to. */
struct ty_view_extent ty_view_end_extent(const struct ty_view *v, uint32_t gang,
                                         const struct ty_view_end *end);

/* ---- over time ---- */

/* The kinds that do not change, in kB. */
uint64_t ty_view_fixed_kB(const struct ty_gang *gang, uint32_t kind);

/* Activations of a shown member are kB from ns on; changes only, one per nanosecond, in order. */
typedef void ty_view_memory_fn(void *arg, const struct ty_view_shown *shown, uint32_t i,
                               uint64_t ns, uint64_t kB);
int ty_view_memory(struct ty_view *v, ty_view_memory_fn *visit, void *arg);

/* layers.c: the values of ty_trace.layers, if any, of each shown member in order; changes only. 0
 * or TY_ENOMEM. */
typedef void ty_view_layers_fn(void *arg, const struct ty_view_shown *shown, uint32_t i,
                               uint64_t ns, uint64_t thousandths);
int ty_view_layers(struct ty_view *v, ty_view_layers_fn *visit, void *arg);

/* A counter of links: those of a class of a node, or between nodes. */
struct ty_view_link {
    uint32_t node, n_nodes; /* node == n_nodes: switches */
    uint32_t position;      /* of the node among those that have counters */
    const char *title;
    bool first; /* of its node */
};

/* start is called once before the values of a counter, which have GB/s = bytes per ns, in kB/s. */
struct ty_view_links_sink {
    void (*start)(void *arg, const struct ty_view_link *link);
    void (*value)(void *arg, const struct ty_view_link *link, uint64_t ns, uint64_t kBps);
    void *arg;
};
int ty_view_links(struct ty_view *v, const struct ty_view_links_sink *sink);

/* About how many values the counters of links will have. */
double ty_view_count_links(struct ty_view *v);

/* ---- moments ---- */

struct ty_view_mark {
    const char *name, *key;
    const char *text; /* NULL: a number */
    uint64_t number;
    bool thousandths; /* the number is of them */
};
typedef void ty_view_mark_fn(void *arg, const struct ty_view_shown *shown, uint32_t i,
                             const struct ty_view_mark *mark, uint64_t ns);
int ty_view_marks(struct ty_view *v, ty_view_mark_fn *visit, void *arg);

/* ---- the critical path ---- */

/* A stretch of the path, as a slice. `why` is text of the arguments. */
struct ty_view_step {
    uint64_t start, end; /* ns, inside the window */
    const char *name;
    bool numbered; /* by the micro-batch */
    uint8_t category, n_args;
    uint16_t mb;
    struct ty_view_arg arg[8]; /* numbers and text, which is safe inside a JSON string */
    char why[2 * TY_VIEW_NAME + 96];
};
typedef void ty_view_step_fn(void *arg, const struct ty_view_step *step);

/* Finds the path of trace->critical, if there is one to show; 0, TY_ENOMEM or TY_EBUG with a
 * message. Visits it in order of time: steps follow each other without a gap. */
int ty_view_find_path(struct ty_view *v, struct ty_err *err);
void ty_view_release_path(struct ty_view *v);
uint32_t ty_view_count_path(const struct ty_view *v);
void ty_view_critical(struct ty_view *v, ty_view_step_fn *visit, void *arg);

/* Why a task started when it did, in the words of the path. */
struct ty_view_why {
    char text[2 * TY_VIEW_NAME + 96];
    bool recurs; /* the text has no number: many slices have the same */
    bool same;   /* as the time before: for the same operation of another member */
    /* of that time */
    bool known;
    uint8_t why;
    uint32_t pass, op, slice;
};

/* For an operation and one shown member after the other (`known` false before the first). 1; 0:
 * nobody knows; TY_ENOMEM. */
int ty_view_why(struct ty_view *v, const struct ty_view_shown *shown, const struct ty_pass *pass,
                uint32_t op, uint32_t member, struct ty_view_why *out);

/* A slice that lies on it, by shown member and number in its plan. */
struct ty_view_mark_at {
    uint32_t gang, pass, slice, i;
};

/* Those of one pass: [*n], by slice, then member. */
const struct ty_view_mark_at *ty_view_critical_slices(const struct ty_view *v,
                                                      const struct ty_view_shown *shown,
                                                      const struct ty_pass *pass, uint32_t *n);

/* kB as GB: up to six decimals. */
static inline char *ty_view_put_GB(char *p, uint64_t kB)
{
    p = ty_put_u64(p, kB / 1000000);
    if (kB % 1000000 == 0) {
        return p;
    }
    *p++ = '.';
    const uint32_t rest = (uint32_t)(kB % 1000000);
    memcpy(p, ty_digit_pairs + (size_t)2 * (rest / 10000), 2);
    memcpy(p + 2, ty_digit_pairs + (size_t)2 * (rest / 100 % 100), 2);
    memcpy(p + 4, ty_digit_pairs + (size_t)2 * (rest % 100), 2);
    for (p += 6; p[-1] == '0'; p--) {}
    return p;
}

#endif
