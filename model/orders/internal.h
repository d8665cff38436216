/* internal.h - shared by the files that read and check schedules; see text.h. */
#ifndef TY_MODEL_ORDERS_INTERNAL_H
#define TY_MODEL_ORDERS_INTERNAL_H

#include "model/orders/text.h"
#include "sim/base/number_text.h"

/* Largest numbers: counts of micro-batches, stages and slices must fit their fields as well. */
#define TY_SLOTS_MAX_MB    65534u
#define TY_SLOTS_MAX_STAGE 65534u
#define TY_SLOTS_MAX_SLICE 254u
#define TY_SLOTS_MAX_RANK  65534u

/* ---- reading ---- */

/* The line of one rank. */
struct ty_slots_row {
    uint32_t rank;
    uint32_t first, n;            /* its atoms among all */
    uint32_t first_coll, n_colls; /* its collectives among all */
    struct ty_slot_mark at;
};

/* A file being read, line by line. */
struct ty_slots_reader {
    const char *file, *source;
    const char *at, *stop; /* what is left of the current line */
    const char *start;     /* of the current line */
    uint32_t line, wide;   /* wide: bytes since `start` that begin no character */
    struct ty_slot *slot;  /* [cap] atoms in the order of the file */
    struct ty_slot_mark *mark;
    uint32_t n, cap;
    struct ty_slots_row *row; /* [cap_rows] */
    uint32_t n_rows, cap_rows;
    struct ty_slot_coll *coll; /* [cap_colls] collectives in the order of the file */
    struct ty_slot_mark *coll_mark;
    uint32_t n_colls, cap_colls;
    struct ty_arena *arena;
    int code;     /* of the first error */
    bool stopped; /* the rest of the file is not read */
    struct ty_err *err;
};

/* A piece of the current line, and where it begins. */
struct ty_slots_word {
    const char *at, *end;
    struct ty_slot_mark mark;
};

/* True where no further message would be shown: the error is counted. Callers look before they
 * word a message, so that a file with a million errors costs no more than one with twenty. */
bool ty_err_is_full(struct ty_err *err);

/* Remembers that there was an error. */
static inline void ty_slots_reader_fails(struct ty_slots_reader *reader, int code)
{
    reader->code = reader->code != 0 ? reader->code : code;
}

static inline bool ty_slot_is_backward(const struct ty_slot *slot)
{
    return slot->phase == TY_PHASE_BACKWARD || slot->phase == TY_PHASE_DGRAD;
}

/* How a format writes slots. */
struct ty_slots_form {
    /* One atom at *at. NULL, or what would be right. TY_PHASE_STEP: it says nothing of the order.
     */
    const char *(*read)(const char **at, const char *end, struct ty_slot *slot);
    char *(*write)(char *p, const struct ty_slot *slot); /* at most TY_SLOTS_ATOM bytes */
    char between;              /* the halves of an overlapped slot: "(F5.0|B1.7)" ... */
    const char *end;           /* ... and what closes it */
    const char *pair, *single; /* what would be right where a slot of two, of one atom goes wrong */
};
#define TY_SLOTS_ATOM 20 /* "F65535.65535^#255" and more */

/* Sizes and placement of what was read. */
int ty_slots_infer(struct ty_slots_file *file, struct ty_err *err);

/* ---- checking ---- */

/* Where the atoms of one piece stand: positions, counted from 1 over all ranks; 0: nowhere. */
struct ty_slots_piece {
    uint32_t forward, backward, weight; /* backward: B or I */
};

/* Every atom of a schedule by what it computes. */
struct ty_slots_index {
    const struct ty_slots *slots;
    const struct ty_slots_marks *marks;       /* or NULL */
    uint32_t directions, stages, mbs, slices; /* mbs: of one direction */
    uint32_t *first;                          /* [p + 1] positions before each rank */
    uint32_t *owner;                          /* [directions][stages] */
    struct ty_slots_piece *piece;             /* [directions][stages][mbs][slices] */
    struct ty_arena arena;
    struct ty_err *err;
    bool failed;
};

/* The piece of an atom, and the distance to the same one stage on. */
static inline size_t ty_slots_piece_of(const struct ty_slots_index *index,
                                       const struct ty_slot *slot)
{
    const size_t stage = (size_t)slot->direction * index->stages + slot->stage;
    return (stage * index->mbs + slot->mb) * index->slices + slot->slice;
}
static inline size_t ty_slots_stage_step(const struct ty_slots_index *index)
{
    return (size_t)index->mbs * index->slices;
}

/* Slot number of atom i of a rank. O(i). */
uint32_t ty_slots_slot_number(const struct ty_rank_slots *rank, uint32_t i);

/* "rank 0 slot 3 (F1.2)": atom i of a rank. Returns buf. O(i). */
#define TY_SLOTS_NAME 64

#endif
