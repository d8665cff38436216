/* pieces.c - what the lines of a member end with. */
#include <stdio.h>

#include "traces/chrome/chrome.h"

static void put_piece(struct ty_chrome *c, const struct ty_view_shown *shown, uint32_t partner,
                      uint32_t member, struct ty_chrome_piece *piece)
{
    piece->len = 0;
    if (partner > 0) {
        const struct ty_view_partner other = ty_view_partner(&c->view, shown, partner, member);
        char name[33];
        *ty_view_put_name(name, other.group, sizeof(name) - 1) = '\0';
        piece->len =
            (uint32_t)(other.group == NULL
                           ? snprintf(piece->text, sizeof(piece->text), "\"peer\":%u}",
                                      (unsigned)other.rank)
                           : snprintf(piece->text, sizeof(piece->text), "\"group\":\"%s%s%u\"}",
                                      name, name[0] != '\0' ? " " : "", (unsigned)other.rank));
    }
    piece->len += (uint32_t)snprintf(
        piece->text + piece->len, sizeof(piece->text) - piece->len,
        ",\"pid\":%llu,\"ts\":", TY_CHROME_PID0 + 0ULL + shown->gang->rank_of[member]);
}

const struct ty_chrome_piece *ty_chrome_pieces(struct ty_chrome *c,
                                               const struct ty_view_shown *shown, uint32_t partner)
{
    struct ty_chrome_piece **pieces =
        &c->pieces[(size_t)(shown - c->view.shown) * c->view.n_partners + partner];
    if (*pieces != NULL) {
        return *pieces;
    }
    struct ty_chrome_piece *row = ty_arena_array(&c->view.arena, struct ty_chrome_piece, shown->n);
    for (uint32_t i = 0; row != NULL && i < shown->n; i++) {
        put_piece(c, shown, partner, shown->member[i], &row[i]);
    }
    return *pieces = row;
}
