/* bubbles.c - bubbles as grey slices that say why.
 *
 * Passes and bubbles tile the compute row from 0 to the end of the run. Waiting inside a pass stays
 * a hole in it: a slice there could overlap the parts. */
#include "traces/chrome/chrome.h"

struct bubbles {
    struct ty_chrome *c;
    uint64_t serial; /* of the bubble that `head` was made for */
    size_t head_len;
    char head[TY_CHROME_LINE];
};

static void make_head(struct bubbles *b, const struct ty_view_bubble *bubble)
{
    char *q = ty_put_str(b->head, ",\n{\"name\":\"bubble\",\"cat\":\"bubble\",\"cname\":\"grey\","
                                  "\"ph\":\"X\",\"tid\":");
    q = ty_put_u64(q, TY_FIRST_TID);
    if (b->c->view.trace->args != TY_ARGS_NONE) {
        q = ty_put_str(q, ",\"args\":{\"why\":\"");
        q = ty_put_str(q, bubble->why);
        q = ty_put_str(q, "\",\"kind\":\"");
        q = ty_put_str(q, bubble->kind);
        q = ty_put_str(q, "\"}");
    }
    b->head_len = (size_t)(q - b->head);
    b->serial = bubble->serial;
}

static void put_bubble(void *arg, const struct ty_view_bubble *bubble)
{
    struct bubbles *b = arg;
    if (b->serial != bubble->serial) {
        make_head(b, bubble);
    }
    const struct ty_chrome_piece *piece = /* made before the walk */
        ty_chrome_pieces(b->c, bubble->shown, 0) + bubble->i;
    char *p = ty_out_room(b->c->out, TY_CHROME_LINE);
    p = ty_put_blocks(p, b->head, b->head_len);
    p = ty_put_blocks(p, piece->text, piece->len);
    p = ty_put_ns_as_us(p, bubble->start);
    p = ty_put_str(p, ",\"dur\":");
    p = ty_put_tenths_as_us(p, ty_view_length(bubble->start, bubble->end, 0));
    *p++ = '}';
    ty_out_advance(b->c->out, p);
}

int ty_chrome_bubbles(struct ty_chrome *c)
{
    struct ty_gaps gaps;
    int rc = ty_gaps_init(&gaps, c->view.timeline, &c->view.arena);
    for (uint32_t g = 0; g < c->view.program->n_gangs && rc == 0; g++) {
        const struct ty_view_shown *shown = &c->view.shown[g];
        rc = shown->n > 0 && ty_chrome_pieces(c, shown, 0) == NULL ? TY_ENOMEM : 0;
        for (uint32_t i = 0, n; i < shown->n && rc == 0; i += n) {
            struct bubbles b = {.c = c};
            n = ty_view_stretch(shown, i);
            rc = ty_view_bubbles(&c->view, &gaps, shown, i, n, put_bubble, &b);
        }
    }
    return rc;
}
