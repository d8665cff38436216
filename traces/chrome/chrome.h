/* chrome.h - what the files of the Chrome JSON writer share.
 *
 * Events come as view.h visits what there is; every viewer sorts on load, so file order is free.
 *
 * An event is one line: a head that is the same for all members (name, category, colour, thread,
 * arguments), a piece that is the same for all events of a member (process number, communicator),
 * and the two times. Heads are rendered once per block, pieces once per member; per slice remain
 * copies and, when a member is out of step with its neighbour, the digits of two times. */
#ifndef TY_TRACES_CHROME_CHROME_H
#define TY_TRACES_CHROME_CHROME_H

#include "traces/view/view.h"

/* Processes: no pid is 0 or equal to a tid. */
#define TY_CHROME_PID0     1000u /* of rank 0 */
#define TY_CHROME_NODE0    100u  /* of node 0; beyond 900 nodes they come after the ranks */
#define TY_CHROME_CLUSTER  1u    /* of what belongs to no node */
#define TY_CHROME_CRITICAL 2u    /* of the critical path */
#define TY_CHROME_TEXT     1536u /* most bytes of a rendered head */
#define TY_CHROME_LINE     2048u /* most bytes of a slice, padding included */

_Static_assert(TY_CHROME_LINE <= TY_OUT_SLACK, "a slice is put in one piece");

/* A slice of a plan as text with holes. It ends inside "args" when the piece of a member continues
 * there. */
struct ty_chrome_head {
    const char *text; /* [len], padded to whole blocks */
    uint32_t len;
    uint8_t n_holes;
    uint8_t hole[4];
    uint16_t at[4]; /* hole i comes before text[at[i]] */
};

/* What comes after the head for one member: `},"pid":1012,"ts":` and, before that, its partners
 * in a collective or message. Two cache lines. */
struct ty_chrome_piece {
    char text[124];
    uint32_t len;
};

struct ty_chrome {
    struct ty_view view;
    struct ty_out *out;
    struct ty_chrome_head **heads;   /* [view.n_plans][slices of the plan]; made when needed */
    struct ty_chrome_piece **pieces; /* [n_gangs][view.n_partners]: [members]; made when needed */
    bool named;                      /* an event was written: the next line begins with a comma */
};

/* plan.c: heads of the slices of a pass, rendered when first asked for; *plan is what they
 * are of. NULL when memory is exhausted. */
const struct ty_chrome_head *ty_chrome_heads(struct ty_chrome *c, const struct ty_pass *pass,
                                             const struct ty_view_plan **plan);

/* pieces.c: pieces of all shown members of a gang; NULL when memory is exhausted. */
const struct ty_chrome_piece *ty_chrome_pieces(struct ty_chrome *c,
                                               const struct ty_view_shown *shown, uint32_t partner);

#endif
