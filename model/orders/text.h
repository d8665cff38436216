/* text.h - a schedule as text that people write and programs print.
 *
 *     # 1F1B on two ranks
 *     rank 0: F0.0 F1.0 B0.0 B1.0
 *     rank 1: F0.1 B0.1 F1.1 B1.1
 *
 * An atom is K<micro-batch>.<stage> with K in F (forward), B (full backward), I (input gradient), W
 * (weight gradient); "^" after it marks the second direction, "#2" slice 2 of a sequence;
 * (F5.0|B1.7) is one slot in which a forward and a backward overlap. Behind an atom,
 * all-reduce:0-1:64MiB is a collective of that rank with pipeline ranks 0 and 1. Blank lines and
 * lines that begin with "#" are skipped. */
#ifndef TY_MODEL_ORDERS_TEXT_H
#define TY_MODEL_ORDERS_TEXT_H

#include "model/orders/check.h"
#include "sim/base/text.h"

#define TY_SLOTS_MAX_ATOMS 4000000u /* of one file ... */
#define TY_SLOTS_MAX_COLLS 16384u
#define TY_SLOTS_MAX_BYTES ((size_t)64 << 20) /* ... which may be so long */

/* What a schedule file says. Sizes and placement are inferred from who holds which stage. Owned by
 * the arena it was read into. */
struct ty_slots_file {
    struct ty_sched_shape shape; /* group: 0 */
    enum ty_sched_placement placement;
    struct ty_slots slots;
    struct ty_slots_marks marks;
};

/* Reads a schedule and checks it rank by rank (ty_slots_check): slots text, or the CSV of csv.h
 * when the first line that says something does not begin with a letter. `text` has `len` bytes and
 * a zero behind them; it and `name` (for messages) must live as long as the file. All errors are
 * reported in one go: those of syntax, else those of shape, else those of the ranks. TY_EINPUT,
 * TY_ELIMIT, TY_ENOMEM. */
int ty_slots_read(struct ty_slots_file *file, const char *name, const char *text, size_t len,
                  struct ty_arena *arena, struct ty_err *err);

/* Appends one line per rank. ty_slots_read reads it back. */
void ty_slots_write_text(const struct ty_slots *slots, struct ty_text *text);

#endif
