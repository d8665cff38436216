/* gaps_stretch.c - what of a block waits for nothing but itself; see gaps.c.
 *
 *     recv   host  A  B  AR  C  D  AR  E  send
 *                  `------ a stretch ---'
 */
#include "sim/core/analyse/gaps.h"

/* Whether an operation waits for what was recorded from `first` on, recorded[] being 1 + by whom,
 * and for nothing and nobody else. */
static bool waits_within(const struct ty_program *p, const struct ty_op *op, uint32_t first,
                         const uint32_t *recorded)
{
    bool within =
        op->sync == TY_SYNC_LOCAL ||
        (op->sync == TY_SYNC_GROUP && ty_kind_bucket(p, &p->kinds[op->kind]) != p->words->awaited);
    for (uint32_t k = 0; k < TY_WAITS && op->wait[k] != TY_NO_EVENT; k++) {
        within = within && recorded[op->wait[k]] > first;
    }
    return within;
}

/* The longest stretch of a block; record[]: its records. */
static struct ty_gap_stretch find_stretch(const struct ty_program *p, const struct ty_block *block,
                                          uint32_t *record)
{
    const struct ty_op *ops = p->ops + block->first;
    struct ty_gap_stretch longest = {.end = 0};
    uint32_t recorded[TY_EVENTS] = {0}, first = UINT32_MAX;
    for (uint32_t k = 0; k < block->n_ops; k++) {
        if (first == UINT32_MAX || !waits_within(p, &ops[k], first, recorded)) {
            first = ops[k].stream == TY_STREAM_COMPUTE ? k : UINT32_MAX;
        } else if (k - first >= longest.end - longest.first) {
            longest.first = first;
            longest.end = k + 1;
        }
        if (ops[k].record != TY_NO_EVENT) {
            recorded[ops[k].record] = k + 1;
        }
    }
    uint32_t known = 0;
    for (uint32_t k = longest.end; k > longest.first; k--) {
        const struct ty_op *op = &ops[k - 1];
        longest.last = op->stream == TY_STREAM_COMPUTE && longest.last == 0 ? k - 1 : longest.last;
        if (op->record != TY_NO_EVENT && (known >> op->record & 1) == 0) {
            known |= 1u << op->record;
            record[longest.n_records++] = k - 1;
        }
    }
    return longest;
}

int ty_gaps_find_stretches(struct ty_gaps *gaps, struct ty_arena *arena)
{
    const struct ty_program *p = gaps->timeline->program;
    struct ty_gap_stretch *stretch = ty_arena_array(arena, struct ty_gap_stretch, p->n_blocks);
    uint32_t *record = ty_arena_array(arena, uint32_t, p->n_ops);
    for (uint32_t b = 0; stretch != NULL && record != NULL && b < p->n_blocks; b++) {
        stretch[b] = find_stretch(p, &p->blocks[b], record + p->blocks[b].first);
    }
    gaps->stretch = stretch;
    gaps->record = record;
    return stretch == NULL || record == NULL ? TY_ENOMEM : 0;
}
