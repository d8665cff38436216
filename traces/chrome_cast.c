/* chrome_cast.c - which members of each gang are shown, and what their lines end with.
 *
 * Members of one communicator share args.group and args.seq. The group is named by its lowest
 * member's global rank ("tp 8"); a collective that spans gangs, by that rank in the first gang. */
#include <stdio.h>

#include "traces/chrome.h"

/* Rows of ty_chrome_cast.pieces: plain, one per group, per meeting, per channel as its sender, per
 * channel as its receiver. */
uint32_t ty_chrome_piece_of(const struct ty_program *p, const struct ty_op *op)
{
    switch ((enum ty_sync)op->sync) {
    case TY_SYNC_LOCAL:
        break;
    case TY_SYNC_GROUP:
        return 1 + op->link;
    case TY_SYNC_MEET:
        return 1 + p->n_groups + op->link;
    case TY_SYNC_SEND:
        return 1 + p->n_groups + p->n_meets + op->link;
    case TY_SYNC_RECV:
        return 1 + p->n_groups + p->n_meets + p->n_channels + op->link;
    }
    return 0;
}

/* Lowest member of the group that a member belongs to. */
static uint32_t leader(const struct ty_group *group, uint32_t member)
{
    const uint32_t run = group->stride * group->count;
    return member / run * run + member % group->stride;
}

/* The first gang that takes part in a meeting. */
static const struct ty_gang *host(const struct ty_program *p, uint32_t meet)
{
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        const struct ty_gang *gang = &p->gangs[g];
        for (uint32_t i = 0; i < gang->n_passes; i++) {
            const struct ty_pass *pass = &ty_gang_passes(p, gang)[i];
            const struct ty_op *ops = ty_pass_ops(p, pass);
            for (uint32_t k = 0; k < p->blocks[pass->block].n_ops; k++) {
                if (ops[k].sync == TY_SYNC_MEET && ops[k].link == meet) {
                    return gang;
                }
            }
        }
    }
    return NULL;
}

static void put_group(struct ty_chrome_piece *piece, const char *name, uint32_t rank)
{
    char safe[33];
    *ty_chrome_put_name(safe, name, sizeof(safe) - 1) = '\0';
    piece->len = (uint32_t)snprintf(piece->text, sizeof(piece->text), "\"group\":\"%s%s%u\"}", safe,
                                    safe[0] != '\0' ? " " : "", (unsigned)rank);
}

static void put_piece(const struct ty_chrome *c, const struct ty_chrome_cast *cast, uint32_t row,
                      const struct ty_gang *meeting, uint32_t member, struct ty_chrome_piece *piece)
{
    const struct ty_program *p = c->program;
    piece->len = 0;
    if (row > p->n_groups + p->n_meets) {
        const uint32_t i = row - 1 - p->n_groups - p->n_meets;
        const bool sends = i < p->n_channels;
        const struct ty_channel *channel = &p->channels[sends ? i : i - p->n_channels];
        const struct ty_gang *other = &p->gangs[sends ? channel->to : channel->from];
        piece->len = (uint32_t)snprintf(piece->text, sizeof(piece->text), "\"peer\":%u}",
                                        (unsigned)other->rank_of[member]);
    } else if (row > p->n_groups) {
        const struct ty_meet *meet = &p->meets[row - 1 - p->n_groups];
        const uint32_t first =
            meet->group != TY_NONE ? leader(&p->groups[meet->group], member) : member;
        put_group(piece, meet->name, meeting->rank_of[first]);
    } else if (row > 0) {
        const struct ty_group *group = &p->groups[row - 1];
        put_group(piece, group->name, cast->gang->rank_of[leader(group, member)]);
    }
    piece->len += (uint32_t)snprintf(
        piece->text + piece->len, sizeof(piece->text) - piece->len,
        ",\"pid\":%llu,\"ts\":", TY_CHROME_PID0 + 0ULL + cast->gang->rank_of[member]);
}

const struct ty_chrome_piece *ty_chrome_pieces(struct ty_chrome *c, struct ty_chrome_cast *cast,
                                               uint32_t piece)
{
    const struct ty_program *p = c->program;
    if (cast->pieces[piece] != NULL) {
        return cast->pieces[piece];
    }
    struct ty_chrome_piece *row = ty_arena_array(&c->arena, struct ty_chrome_piece, cast->n);
    if (row == NULL) {
        return NULL;
    }
    const bool meets = piece > p->n_groups && piece <= p->n_groups + p->n_meets;
    const struct ty_gang *meeting = meets ? host(p, piece - 1 - p->n_groups) : NULL;
    for (uint32_t i = 0; i < cast->n; i++) {
        put_piece(c, cast, piece, meeting, cast->member[i], &row[i]);
    }
    return cast->pieces[piece] = row;
}

/* ---- who is shown ---- */

static int cast_gang(struct ty_chrome *c, struct ty_chrome_cast *cast, const bool *shown)
{
    const struct ty_gang *gang = cast->gang;
    const size_t rows =
        1 + (size_t)c->program->n_groups + c->program->n_meets + 2 * (size_t)c->program->n_channels;
    cast->member = ty_arena_array(&c->arena, uint32_t, gang->n_ranks);
    cast->slot = ty_arena_array(&c->arena, uint32_t, gang->n_ranks);
    cast->pieces = ty_arena_array(&c->arena, struct ty_chrome_piece *, rows);
    if (cast->member == NULL || cast->slot == NULL || cast->pieces == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t m = 0; m < gang->n_ranks; m++) {
        cast->slot[m] = TY_CHROME_NONE;
        if (shown[gang->rank_of[m]]) {
            cast->slot[m] = cast->n;
            cast->member[cast->n++] = m;
        }
    }
    c->largest = cast->n > c->largest ? cast->n : c->largest;
    return 0;
}

int ty_chrome_cast_all(struct ty_chrome *c, struct ty_err *err)
{
    const struct ty_program *p = c->program;
    bool *shown = ty_arena_array(&c->arena, bool, p->n_ranks);
    c->casts = ty_arena_array(&c->arena, struct ty_chrome_cast, p->n_gangs);
    int rc = shown == NULL || c->casts == NULL ? TY_ENOMEM : 0;
    for (uint32_t i = 0; i < c->trace->n_ranks && rc == 0; i++) {
        if (c->trace->ranks[i] >= p->n_ranks || shown[c->trace->ranks[i]]) {
            return ty_fail(err, TY_EBUG, "trace: rank %u does not exist or is listed twice",
                           (unsigned)c->trace->ranks[i]);
        }
        shown[c->trace->ranks[i]] = true;
    }
    for (uint32_t g = 0; g < p->n_gangs && rc == 0; g++) {
        c->casts[g].gang = &p->gangs[g];
        rc = cast_gang(c, &c->casts[g], shown);
    }
    return rc == 0 ? 0 : ty_fail(err, rc, "trace: out of memory");
}
