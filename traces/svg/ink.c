/* ink.c - what boxes and idle stretches look like.
 *
 * traces: the colours that Catapult gives the names of the vocabulary (its
 * tracing/base/color_scheme.html), idle stretches pale. safe: Okabe and Ito, Color Universal Design
 * (2008), those five that stay furthest apart together with their light versions, idle stretches on
 * greys of different lightness. In both, idle stretches are hatched, as in the page. print: grey,
 * and black lines on white. The other chunk of a rank, or the other direction, is lighter; in print
 * it is on darker grey. */
#include "traces/svg/internal.h"

/* One row for a kind of stretch: word, colours, and what is drawn into a tile of so many tenths of
 * a millimetre, turned by so many degrees: in print, in colours where it is idle. */
struct ink {
    const char *word;
    const char *traces, *safe;
    const char *ground;   /* under a pattern, and in print */
    const char *pattern;  /* path in the tile; NULL: none */
    const char *id, *pen; /* of the pattern: name, stroke */
    int tile, turn;
};

#define BLACK "#222\" stroke-width=\"1.3"
#define GREY  "#8a8a8a\" stroke-width=\"1"
#define DOTS  "#333\" stroke-linecap=\"round\" stroke-width=\"2.8"
#define FLY   "#8a8a8a\" stroke-linecap=\"round\" stroke-width=\"2"

#define HATCH    "M0 2.5h10M0 7.5h10"
#define BACKWARD "M0 4.5h9"
#define DGRAD    "M2 2h.01M7 7h.01"
#define WGRAD    "M0 4.5h9M4.5 0v9"

static const struct ink inks[TY_SVG_N_KINDS] = {
    [TY_PHASE_FORWARD] = {"forward", "#7ec894", "#56b4e9", "#e8e8e8", NULL, "", "", 0, 0},
    [TY_PHASE_BACKWARD] = {"backward", "#4387fd", "#e69f00", "#fff", BACKWARD, "b", BLACK, 9, -45},
    [TY_PHASE_DGRAD] = {"input gradient", "#85a0d2", "#d55e00", "#fff", DGRAD, "i", DOTS, 10, 0},
    [TY_PHASE_WGRAD] = {"weight gradient", "#ffff77", "#f0e442", "#fff", WGRAD, "w", BLACK, 9, 45},
    [TY_PHASE_STEP] = {"optimizer step", "#0da861", "#0072b2", "#444", NULL, "", "", 0, 0},
    [TY_PHASE_OTHER] = {"other computation", "#b0b0b0", "#999999", "#d0d0d0", NULL, "", "", 0, 0},

    [TY_N_PHASES + TY_PHASE_FORWARD] = {"", "#bfe4ca", "#c4e5f7", "#bbb", NULL, "", "", 0, 0},
    [TY_N_PHASES +
        TY_PHASE_BACKWARD] = {"", "#a1c3fe", "#f6dda6", "#c6c6c6", BACKWARD, "bo", BLACK, 9, -45},
    [TY_N_PHASES +
        TY_PHASE_DGRAD] = {"", "#c2d0e9", "#f0c7a6", "#c6c6c6", DGRAD, "io", DOTS, 10, 0},
    [TY_N_PHASES +
        TY_PHASE_WGRAD] = {"", "#ffffc4", "#faf6bd", "#c6c6c6", WGRAD, "wo", BLACK, 9, 45},

    [TY_SVG_DEADLOCK] = {"deadlock", "#f0a8a8", "#b5a0c0", "#888", NULL, "", "", 0, 0},
    [TY_SVG_UNKNOWN] = {"unknown", "#e9e9e9", "#e6e6e6", "#fff", "M6 6h.01", "unknown", FLY, 12, 0},
};

uint32_t ty_svg_cause(const struct ty_vocabulary *words, uint32_t i)
{
    uint32_t n = 0;
    for (uint32_t b = 0; b < words->n_buckets; b++) {
        n += words->buckets[b].legend > 0;
        if (words->buckets[b].legend == i + 1) {
            return TY_SVG_CAUSE + b;
        }
    }
    return i == n ? TY_SVG_DEADLOCK : i == n + 1 ? TY_SVG_UNKNOWN : TY_SVG_N_KINDS;
}

static const struct ink nothing = {"idle", "#eee", "#eee", "#fff", NULL, "", "", 0, 0};

static struct ink ink_of(const struct ty_vocabulary *words, int palette, uint32_t kind)
{
    const uint32_t bucket = kind - TY_SVG_CAUSE;
    if (kind >= TY_SVG_CAUSE && bucket < words->n_buckets) {
        const struct ty_bucket_row *row = &words->buckets[bucket];
        const struct ty_ink *ink = &row->ink;
        struct ink hatched = {
            row->short_name,          ink->pale, ink->safe, "#fff", ink->path, ink->id,
            ink->dotted ? FLY : GREY, ink->tile, ink->turn};
        if (palette != TY_SVG_PRINT) {
            hatched.ground = palette == TY_SVG_SAFE ? ink->safe : ink->pale;
            hatched.pattern = ink->line != NULL ? HATCH : NULL;
            hatched.pen = palette == TY_SVG_SAFE ? "#777" : ink->line;
            hatched.tile = 10;
            hatched.turn = -45;
        }
        return hatched;
    }
    struct ink ink = inks[kind].word != NULL ? inks[kind] : nothing;
    ink.pattern = palette == TY_SVG_PRINT ? ink.pattern : NULL;
    return ink;
}

const char *ty_svg_word(const struct ty_vocabulary *words, uint32_t kind)
{
    return ink_of(words, TY_SVG_PRINT, kind).word;
}

void ty_svg_put_fill(const struct ty_vocabulary *words, int palette, uint32_t kind,
                     struct ty_text *out)
{
    const struct ink ink = ink_of(words, palette, kind);
    if (ink.pattern != NULL) {
        ty_text_add(out, "url(#ty-%s)", ink.id);
    } else {
        ty_text_add(out, "%s",
                    palette == TY_SVG_PRINT  ? ink.ground
                    : palette == TY_SVG_SAFE ? ink.safe
                                             : ink.traces);
    }
}

bool ty_svg_patterned(const struct ty_vocabulary *words, int palette, uint32_t kind)
{
    return ink_of(words, palette, kind).pattern != NULL;
}

const char *ty_svg_line(int palette)
{
    return palette == TY_SVG_PRINT ? "#222" : "#fff";
}

/* Coordinates and pens in a tile are tenths of a millimetre. */
void ty_svg_put_patterns(const struct ty_vocabulary *words, int palette, const bool *used,
                         struct ty_text *out)
{
    bool any = false;
    for (uint32_t k = 0; k < TY_SVG_N_KINDS; k++) {
        const struct ink ink = ink_of(words, palette, k);
        if (!used[k] || ink.pattern == NULL) {
            continue;
        }
        ty_text_add(out, any ? "" : "<defs>\n");
        any = true;
        ty_text_add(out,
                    "<pattern id=\"ty-%s\" patternUnits=\"userSpaceOnUse\" width=\"%d.%d\" "
                    "height=\"%d.%d\" patternTransform=\"rotate(%d)\"><path fill=\"%s\" "
                    "d=\"M0 0h9v9h-9z\"/><path transform=\"scale(.1)\" fill=\"none\" "
                    "stroke=\"%s\" d=\"%s\"/></pattern>\n",
                    ink.id, ink.tile / 10, ink.tile % 10, ink.tile / 10, ink.tile % 10, ink.turn,
                    ink.ground, ink.pen, ink.pattern);
    }
    ty_text_add(out, any ? "</defs>\n" : "");
}
