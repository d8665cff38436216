/* build.c - growing the columns of a program.
 *
 * Columns double inside the arena; what is left behind is at most as large as what is kept, and a
 * program is small (blocks are stored once, tasks never). The first failure is remembered in the
 * builder, so that callers check once, at the end. */
#include "sim/core/program/program.h"

#include <string.h>

int ty_build_no_memory(struct ty_builder *b)
{
    return b->code < 0 ? b->code : ty_build_note(b, ty_fail_memory(b->err));
}

/* Appends one row of `size` bytes to a column of n rows; index widths limit it to `limit` rows. */
static int append(struct ty_builder *b, const char *rows, void **column, uint32_t *n, uint32_t *cap,
                  size_t size, uint32_t limit, const void *row)
{
    if (b->code < 0) {
        return b->code;
    }
    if (*n >= limit) {
        return ty_build_note(b, ty_fail(b->err, TY_ELIMIT,
                                        "program: more than %u %s, the most that can be numbered; "
                                        "try fewer pipeline ranks, chunks or layers",
                                        (unsigned)limit, rows));
    }
    assert(*n <= *cap);
    if (*n == *cap) {
        const uint32_t more = *cap == 0 ? 16 : *cap * 2;
        void *grown = ty_arena_alloc(b->arena, more, size);
        if (grown == NULL) {
            return ty_build_no_memory(b);
        }
        if (*n > 0) {
            memcpy(grown, *column, *n * size);
        }
        *column = grown;
        *cap = more;
    }
    memcpy((char *)*column + *n * size, row, size);
    return (int)(*n)++;
}

#define APPEND(b, col, limit, row)                                                                 \
    append((b), #col, (void **)&(b)->program->col, &(b)->program->n_##col, &(b)->cap_##col,        \
           sizeof(*(b)->program->col), (limit), (row))

int ty_build_kind(struct ty_builder *b, const struct ty_kind *kind)
{
    return APPEND(b, kinds, TY_NONE, kind);
}

int ty_build_group(struct ty_builder *b, const struct ty_group *group)
{
    return APPEND(b, groups, TY_NONE, group);
}

int ty_build_meet(struct ty_builder *b, const struct ty_meet *meet)
{
    return APPEND(b, meets, TY_NONE, meet);
}

int ty_build_channel(struct ty_builder *b, const struct ty_channel *channel)
{
    return APPEND(b, channels, TY_NONE, channel);
}

int ty_build_gang(struct ty_builder *b, const struct ty_gang *gang)
{
    struct ty_gang row = *gang;
    row.first_pass = b->program->n_passes;
    row.n_passes = 0;
    return APPEND(b, gangs, INT32_MAX, &row);
}

int ty_build_block(struct ty_builder *b, const struct ty_block *block)
{
    struct ty_block row = *block;
    row.first = b->program->n_ops;
    row.n_ops = 0;
    return APPEND(b, blocks, INT32_MAX, &row);
}

int ty_build_op(struct ty_builder *b, const struct ty_op *op)
{
    struct ty_op row = *op;
    row.lane = row.stream;
    const int index = APPEND(b, ops, INT32_MAX, &row);
    if (index >= 0) {
        assert(b->program->n_blocks > 0); /* its block was begun */
        b->program->blocks[b->program->n_blocks - 1].n_ops++;
    }
    return index;
}

int ty_build_pass(struct ty_builder *b, const struct ty_pass *pass)
{
    const int index = APPEND(b, passes, INT32_MAX, pass);
    if (index >= 0) {
        assert(b->program->n_gangs > 0); /* its gang was begun */
        b->program->gangs[b->program->n_gangs - 1].n_passes++;
    }
    return index;
}

int ty_build_reserve(struct ty_builder *b, size_t n)
{
    struct ty_program *p = b->program;
    const size_t most = INT32_MAX - (size_t)p->n_passes, all = p->n_passes + (n < most ? n : most);
    if (b->code < 0 || all <= b->cap_passes) {
        return b->code;
    }
    struct ty_pass *column = ty_arena_array(b->arena, struct ty_pass, all);
    if (column == NULL) {
        return ty_build_no_memory(b);
    }
    if (p->n_passes > 0) {
        memcpy(column, p->passes, p->n_passes * sizeof(*column));
    }
    p->passes = column;
    b->cap_passes = (uint32_t)all;
    return 0;
}

int ty_build_flow(struct ty_builder *b, const struct ty_flow *flow)
{
    return APPEND(b, flows, INT32_MAX, flow);
}

int ty_build_use(struct ty_builder *b, const struct ty_use *use)
{
    return APPEND(b, uses, INT32_MAX, use);
}

int ty_build_script(struct ty_builder *b, const struct ty_script *script)
{
    return APPEND(b, scripts, INT32_MAX, script);
}

int ty_build_message(struct ty_builder *b, const struct ty_message *message)
{
    return APPEND(b, messages, INT32_MAX, message);
}

int ty_build_send(struct ty_builder *b, uint32_t first_message)
{
    return APPEND(b, sends, INT32_MAX, &first_message);
}

int ty_build_after(struct ty_builder *b, uint32_t message)
{
    return APPEND(b, afters, INT32_MAX, &message);
}
