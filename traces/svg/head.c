/* head.c - what is written above a panel, and across it of the one it is compared with. */
#include <stdio.h>

#include "traces/svg/page.h"
#include "traces/view/axis.h"

static void add_time(const struct ty_svg_page *page, ty_ps t, struct ty_text *text)
{
    double unit = (double)page->svg->unit;
    const char *name = t == page->svg->unit ? "time unit" : "time units";
    if (page->svg->unit == 0) {
        name = ty_axis_unit(t, &unit);
    }
    ty_text_add(text, "%.*g %s", page->svg->unit != 0 ? 6 : 4, (double)t / unit, name);
}

/* "33 time units, idle 27.3 %: fill 9.1, stall 9.1, drain 9.1" */
static void add_figures(const struct ty_svg_page *page, const struct ty_svg_sheet *sheet,
                        struct ty_text *text)
{
    const struct ty_svg_items *items = &sheet->items;
    const double whole = (double)(items->end - page->from) * items->n_rows / 100;
    double idle = 0, inside = 0;
    bool any = false;
    if (items->end == page->from) {
        ty_text_add(text, "nothing happens");
        return;
    }
    ty_text_add(text, items->halted ? "incomplete: " : "");
    add_time(page, items->end - page->from, text);
    if (sheet->panel->remark != NULL) {
        ty_text_add(text, " (%s)", sheet->panel->remark);
    }
    for (uint32_t k = TY_SVG_CAUSE; k < TY_SVG_N_KINDS; k++) {
        idle += (double)items->time[k];
    }
    ty_text_add(text, ", idle %.1f %%", idle / whole);
    for (uint32_t i = 0, k; (k = ty_svg_cause(page->words, i)) < TY_SVG_N_KINDS; i++) {
        if ((double)items->time[k] / whole >= 0.05) {
            ty_text_add(text, "%s%s %.1f", any ? ", " : ": ", ty_svg_word(page->words, k),
                        (double)items->time[k] / whole);
            any = true;
        }
    }
    for (uint32_t b = 0; b < page->words->n_buckets; b++) {
        inside += (double)items->inside[b];
    }
    if (inside / whole >= 0.05) {
        ty_text_add(text, "; waiting within boxes %.1f %%", inside / whole);
    }
}

bool ty_svg_heads_fit(struct ty_svg_page *page)
{
    bool fit = true;
    for (uint32_t i = 0; i < page->svg->n_panels && fit; i++) {
        const struct ty_svg_sheet *sheet = &page->sheet[i];
        const char *title = sheet->panel->title;
        struct ty_text figures = {.data = NULL};
        add_figures(page, sheet, &figures);
        page->out->failed = page->out->failed || figures.failed;
        fit = title != NULL && figures.data != NULL &&
              ty_svg_text_um(title, page->font * 108 / 100) + page->font +
                      ty_svg_text_um(figures.data, page->small * 9 / 10) <=
                  page->plot;
        ty_text_release(&figures);
    }
    return fit;
}

void ty_svg_put_head(struct ty_svg_page *page, const struct ty_svg_sheet *sheet)
{
    const char *title = sheet->panel->title;
    struct ty_text figures = {.data = NULL};
    add_figures(page, sheet, &figures);
    page->out->failed = page->out->failed || figures.failed;
    const char *words = figures.data != NULL ? figures.data : "";
    const int32_t right = page->left + page->plot, font = page->small * 9 / 10;
    if (title != NULL) {
        page->y += page->font;
        ty_svg_put_lines(page, page->font, " fill=\"#111\" font-weight=\"bold\"", title);
    }
    if (page->beside) {
        ty_svg_put_text(page, right, page->y, font, "end", " fill=\"#555\"", words);
    } else {
        page->y += page->small * 13 / 10;
        ty_svg_put_lines(page, font, " fill=\"#555\"", words);
    }
    page->y += page->font * 5 / 10;
    ty_text_release(&figures);
}

void ty_svg_put_difference(struct ty_svg_page *page, const struct ty_svg_sheet *sheet,
                           int32_t height)
{
    const int32_t own = ty_svg_page_x(page, sheet->items.end);
    const int32_t first = ty_svg_page_x(page, page->sheet[0].items.end);
    const int32_t font = page->small * 9 / 10, tip = font / 3, y = height / 2;
    const int32_t needed = ty_svg_text_um(sheet->panel->difference, font) + font;
    struct ty_text *out = page->out;
    ty_text_add(out, "<path fill=\"none\" stroke=\"#555\" stroke-width=\"0.2\" "
                     "stroke-dasharray=\"0.8 0.6\" d=\"M");
    ty_svg_put_um(out, first);
    ty_text_add(out, " 0v");
    ty_svg_put_um(out, height);
    ty_text_add(out, "\"/>\n");
    if (first - own < 4 * tip) {
        return;
    }
    ty_text_add(out, "<path fill=\"none\" stroke=\"#333\" stroke-width=\"0.2\" d=\"M");
    ty_svg_put_um(out, own + tip);
    ty_text_add(out, " ");
    ty_svg_put_um(out, y - tip / 2);
    ty_text_add(out, "l");
    ty_svg_put_um(out, -tip);
    ty_text_add(out, " ");
    ty_svg_put_um(out, tip / 2);
    ty_text_add(out, "l");
    ty_svg_put_um(out, tip);
    ty_text_add(out, " ");
    ty_svg_put_um(out, tip / 2);
    ty_text_add(out, "M");
    ty_svg_put_um(out, own);
    ty_text_add(out, " ");
    ty_svg_put_um(out, y);
    ty_text_add(out, "h");
    ty_svg_put_um(out, first - own);
    ty_text_add(out, "\"/>\n");
    if (first - own >= needed) {
        ty_svg_put_text(page, (own + first) / 2, y - font * 4 / 10, font, "middle",
                        " fill=\"#333\"", sheet->panel->difference);
    }
}
