/* flows.c - where messages leave and arrive.
 *
 * A message is shown as an arrow when both its send and its receive are, with a length. Its number
 * is the slot of the message and the member: unique, known without a table. */
#include "sim/core/program/issue.h"
#include "traces/view/view.h"

int ty_view_ends(struct ty_view *v, struct ty_view_ends *ends)
{
    const struct ty_program *p = v->program;
    struct ty_view_end *all = ty_arena_array(&v->arena, struct ty_view_end, 2 * (size_t)p->n_slots);
    if (all == NULL) {
        return TY_ENOMEM;
    }
    for (size_t i = 0; i < 2 * (size_t)p->n_slots; i++) {
        all[i].pass = TY_VIEW_NONE;
    }
    *ends = (struct ty_view_ends){.send = all, .recv = all + p->n_slots};
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        for (struct ty_issue at = ty_issue_of(p, &p->gangs[g]); ty_issue_next(&at);) {
            const bool sends = at.op->sync == TY_SYNC_SEND;
            if ((sends || at.op->sync == TY_SYNC_RECV) &&
                ty_view_shows(v->program, v->trace->detail, at.op)) {
                struct ty_view_end *side = sends ? ends->send : ends->recv;
                side[ty_op_slot(p, at.pass, at.op)] = (struct ty_view_end){
                    (uint32_t)(at.pass - p->passes), (uint32_t)(at.op - ty_pass_ops(p, at.pass))};
            }
        }
    }
    return 0;
}

struct ty_view_extent ty_view_end_extent(const struct ty_view *v, uint32_t gang,
                                         const struct ty_view_end *end)
{
    return ty_view_extent(v, &v->program->gangs[gang], &v->program->passes[end->pass], end->op,
                          end->op);
}
