/* chrome.h - what the files of the Chrome JSON writer share.
 *
 * Events are written gang by gang and operation by operation, all shown members abreast, as the
 * timeline stores them: memory is read in order, and neighbours that run in step differ in their
 * process number only. Every viewer sorts on load, so file order is free.
 *
 * An event is one line: a head that is the same for all members (name, category, colour, thread,
 * arguments), a piece that is the same for all events of a member (process number, communicator),
 * and the two times. Heads are rendered once per block, pieces once per member; per slice remain
 * copies and, when a member is out of step with its neighbour, the digits of two times.
 *
 * Times are whole nanoseconds, floor(ps / 1000) of starts and of ends: rounding is monotone, so
 * slices that nest or follow each other in picoseconds do so in the file. */
#ifndef TY_TRACES_CHROME_H
#define TY_TRACES_CHROME_H

#include "traces/writer.h"

/* Processes: no pid is 0 or equal to a tid. */
#define TY_CHROME_PID0    1000u /* of rank 0 */
#define TY_CHROME_NODE0   100u  /* of node 0; beyond 900 nodes they come after the ranks */
#define TY_CHROME_CLUSTER 1u    /* of what belongs to no node */
#define TY_CHROME_TEXT    1536u /* most bytes of a rendered head */
#define TY_CHROME_LINE    2048u /* most bytes of a slice, padding included */
#define TY_CHROME_NAME    200u  /* most bytes of one name inside a head; longer ones are cut */
#define TY_CHROME_NONE    UINT32_MAX

_Static_assert(TY_CHROME_LINE <= TY_OUT_SLACK, "a slice is put in one piece");

/* Numbers that vary from pass to pass inside a head. */
enum ty_chrome_hole {
    TY_HOLE_MB,
    TY_HOLE_STAGE,
    TY_HOLE_STEP,
    TY_HOLE_ORDINAL, /* of the operation within its gang */
    TY_N_HOLES
};

/* A slice that every pass of a block makes, from the start of one operation to the end of another
 * (or the same). The head ends inside "args" when the piece of a member continues there. */
struct ty_chrome_slice {
    const char *text; /* [len], padded to whole blocks */
    uint32_t len;
    uint32_t first, last; /* operations within the block */
    uint32_t piece;       /* row of ty_chrome_cast.pieces */
    uint8_t n_holes;
    uint8_t hole[4];
    uint16_t at[4]; /* hole i comes before text[at[i]] */
};

/* All slices of one block, parents before children. */
struct ty_chrome_plan {
    struct ty_chrome_slice *slices; /* [n] */
    uint32_t n;
    uint32_t first_compute, last_compute; /* operations; TY_CHROME_NONE: no compute operation */
};

/* What comes after the head for one member: `},"pid":1012,"ts":` and, before that, whom a
 * collective or message of this member concerns. Two cache lines. */
struct ty_chrome_piece {
    char text[124];
    uint32_t len;
};

/* The shown members of a gang. */
struct ty_chrome_cast {
    const struct ty_gang *gang;
    uint32_t n;
    uint32_t *member;                /* [n], increasing */
    uint32_t *slot;                  /* [gang->n_ranks]: index in member[], or TY_CHROME_NONE */
    struct ty_chrome_piece **pieces; /* [pieces of the program][n]; made when first needed */
};

struct ty_chrome {
    const struct ty_trace *trace;
    const struct ty_timeline *timeline;
    const struct ty_program *program;
    struct ty_out *out;
    struct ty_arena arena;
    struct ty_chrome_cast *casts; /* [n_gangs] */
    struct ty_chrome_plan *plans; /* [n_blocks][TY_N_PHASES], made when first needed */
    uint64_t from_ns, to_ns;      /* window */
    uint32_t largest;             /* members of the largest cast */
    bool named;                   /* an event was written: the next line begins with a comma */
};

/* At most `max` bytes of a name, safe inside a JSON string: quotes, backslashes and control
 * characters become '_'. Never cuts inside a UTF-8 character. NULL is empty. */
static inline char *ty_chrome_put_name(char *p, const char *name, size_t max)
{
    size_t n = name == NULL ? 0 : strlen(name);
    if (n > max) {
        n = max;
        while (n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80) {
            n--;
        }
    }
    for (size_t i = 0; i < n; i++) {
        const unsigned char ch = (unsigned char)name[i];
        p[i] = (char)(ch < 0x20 || ch == '"' || ch == '\\' ? '_' : ch);
    }
    return p + n;
}

/* kB as GB with six decimals. */
static inline char *ty_chrome_put_GB(char *p, uint64_t kB)
{
    p = ty_put_u64(p, kB / 1000000);
    *p++ = '.';
    const uint32_t rest = (uint32_t)(kB % 1000000);
    memcpy(p, ty_digit_pairs + (size_t)2 * (rest / 10000), 2);
    memcpy(p + 2, ty_digit_pairs + (size_t)2 * (rest / 100 % 100), 2);
    memcpy(p + 4, ty_digit_pairs + (size_t)2 * (rest % 100), 2);
    return p + 6;
}

static inline uint32_t ty_chrome_tid(uint8_t stream)
{
    static const uint8_t tids[] = {
#define X(id, name, tid) tid,
        TY_STREAMS(X)
#undef X
    };
    return tids[stream];
}

/* Colour of a category: a name that Catapult reserves. */
static inline const char *ty_chrome_cname(uint8_t category)
{
    static const char *const names[] = {
#define X(id, name, cname, bucket) cname,
        TY_CATEGORIES(X)
#undef X
    };
    return names[category];
}

/* [*start, *end) in nanoseconds and inside the window; false when nothing is left. */
static inline bool ty_chrome_clip(const struct ty_chrome *c, ty_ps start, ty_ps end, uint64_t *s,
                                  uint64_t *e)
{
    *s = start / 1000;
    *e = end / 1000;
    *s = *s < c->from_ns ? c->from_ns : *s;
    *e = *e > c->to_ns ? c->to_ns : *e;
    return *e > *s;
}

/* Durations of one operation on all members: a row, or NULL and the common duration. */
static inline const ty_ps *ty_chrome_durations(const struct ty_chrome *c,
                                               const struct ty_gang *gang, const struct ty_op *op,
                                               uint64_t ordinal, ty_ps *common)
{
    const struct ty_kind *kind = &c->program->kinds[op->kind];
    *common = kind->dur;
    return c->timeline->dur != NULL ? c->timeline->dur + gang->first_task + ordinal * gang->n_ranks
                                    : kind->dur_of;
}

/* Extent of a pass on the compute stream: rows of the first start, the last start and the last
 * duration (NULL: `dur` for all). False when the pass computes nothing. */
struct ty_chrome_extent {
    const ty_ps *start, *last, *durs;
    ty_ps dur;
};
bool ty_chrome_extent(struct ty_chrome *c, const struct ty_gang *gang, const struct ty_pass *pass,
                      struct ty_chrome_extent *out);

static inline ty_ps ty_chrome_extent_end(const struct ty_chrome_extent *e, uint32_t member)
{
    return e->last[member] + (e->durs != NULL ? e->durs[member] : e->dur);
}

/* True when the trace shows single tasks of this operation. */
bool ty_chrome_shows(enum ty_detail detail, const struct ty_op *op);
bool ty_chrome_shows_stream(enum ty_detail detail, enum ty_stream stream);

/* chrome_plan.c: slices of a pass, rendered when first asked for. NULL when memory is
 * exhausted. */
const struct ty_chrome_plan *ty_chrome_plan(struct ty_chrome *c, const struct ty_pass *pass);

/* chrome_cast.c: who is shown, and the pieces of the members. */
int ty_chrome_cast_all(struct ty_chrome *c, struct ty_err *err);
const struct ty_chrome_piece *ty_chrome_pieces(struct ty_chrome *c, struct ty_chrome_cast *cast,
                                               uint32_t piece);
uint32_t ty_chrome_piece_of(const struct ty_program *p, const struct ty_op *op);

/* Each writes all events of its sort; returns 0 or TY_ENOMEM. */
int ty_chrome_slices(struct ty_chrome *c);
int ty_chrome_bubbles(struct ty_chrome *c);
int ty_chrome_flows(struct ty_chrome *c);
int ty_chrome_counters(struct ty_chrome *c);
int ty_chrome_links(struct ty_chrome *c);
int ty_chrome_marks(struct ty_chrome *c);

/* About how many bubbles there will be: those of one member of each gang stand for all. */
double ty_chrome_count_bubbles(struct ty_chrome *c);

/* About how many values the counters of links will have. */
double ty_chrome_count_links(struct ty_chrome *c);

#endif
