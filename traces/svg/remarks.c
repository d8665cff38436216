/* remarks.c - what is said below a picture: what it leaves out, and who is slow. */
#include <math.h>

#include "sim/base/number_text.h"
#include "traces/svg/page.h"
#include "traces/view/axis.h"

/* Whether two thirds of the boxes of a phase would have room for their numbers in a picture so many
 * times as wide. */
static bool would_fit(const struct ty_svg_sheet *sheet, uint32_t phase, double times)
{
    size_t n = 0, fit = 0;
    for (size_t k = 0; k < sheet->marks.n; k++) {
        struct ty_svg_mark mark = sheet->marks.mark[k];
        if (!ty_svg_is_idle(mark.kind) && mark.kind % TY_SVG_OTHER == phase) {
            mark.x1 = mark.x0 + (int32_t)((mark.x1 - mark.x0) * times);
            n++;
            fit += ty_svg_number_fits(&mark, TY_SVG_MIN_NUMBER);
        }
    }
    return 3 * fit >= 2 * n;
}

/* The width from which on all phases have numbers, mm; 0: they have, or there is none. */
static double width_for_numbers(const struct ty_svg_page *page)
{
    const double most = TY_SVG_MAX_WIDTH_M * 1e6 / page->width;
    double times = 1;
    for (uint32_t i = 0; i < page->svg->n_panels; i++) {
        const struct ty_svg_sheet *sheet = &page->sheet[i];
        for (uint32_t phase = 0; phase < TY_N_PHASES; phase++) {
            const bool numbered = phase != TY_PHASE_STEP && sheet->number[phase] == 0;
            while (numbered && times <= most && !would_fit(sheet, phase, times)) {
                times *= 1.02;
            }
        }
    }
    return times == 1 || times > most ? 0 : ceil(times * page->width / 1e4) * 10;
}

/* A time of the axis, with its unit. */
static void add_time(const struct ty_svg_page *page, ty_ps t, struct ty_text *out)
{
    double unit = (double)page->svg->unit;
    const char *name = page->svg->unit != 0 ? "" : ty_axis_unit(t > 0 ? t : page->to, &unit);
    ty_text_add(out, "%.4g%s%s", (double)t / unit, name[0] != '\0' ? " " : "", name);
}

static void put_remark(struct ty_svg_page *page, const char *remark)
{
    page->y += page->small;
    ty_svg_put_lines(page, page->small * 9 / 10, " fill=\"#555\"", remark);
    page->y += page->small * 2 / 10;
}

static void put_remark_of_numbers(struct ty_svg_page *page)
{
    char remark[160];
    const double mm = width_for_numbers(page);
    if (mm > 0) {
        ty_snprintf(remark, sizeof(remark),
                    "boxes are too narrow for the numbers of all micro-batches: from a width of "
                    "%.0f mm on they fit",
                    mm);
        put_remark(page, remark);
    }
}

/* Which part of a run there is, where it is not the whole. */
static void put_remark_of_stretch(struct ty_svg_page *page)
{
    ty_ps end = 0;
    struct ty_text remark = {.data = NULL};
    for (uint32_t i = 0; i < page->svg->n_panels; i++) {
        const ty_ps own = page->svg->panels[i].timeline->makespan;
        end = own > end ? own : end;
    }
    if (page->from == 0 && page->to >= end) {
        return;
    }
    ty_text_add(&remark, "a part of the run: ");
    add_time(page, page->from, &remark);
    ty_text_add(&remark, " to ");
    add_time(page, page->to < end ? page->to : end, &remark);
    ty_text_add(&remark, " of ");
    add_time(page, end, &remark);
    page->out->failed = page->out->failed || remark.failed;
    if (!remark.failed) {
        put_remark(page, remark.data);
    }
    ty_text_release(&remark);
}

static void put_remark_of_slow(struct ty_svg_page *page)
{
    char remark[160];
    for (uint32_t i = 0; i < page->svg->n_panels; i++) {
        const struct ty_svg_items *items = &page->sheet[i].items;
        if (items->slowest.by > 0) {
            ty_snprintf(remark, sizeof(remark),
                        "rank %u computes %.0f %% longer than the median of its stage%s%s",
                        (unsigned)items->slowest.rank, 100 * items->slowest.by,
                        items->slowest.shown ? "" : "; it is not shown",
                        items->marked && !items->slowest.shown ? ", others are marked" : "");
            put_remark(page, remark);
        }
    }
}

void ty_svg_put_remarks(struct ty_svg_page *page)
{
    uint64_t n = 0, merged = 0;
    bool shared = false;
    char remark[160];
    for (uint32_t i = 0; i < page->svg->n_panels; i++) {
        n += page->sheet[i].marks.n_boxes;
        merged += page->sheet[i].marks.n_merged;
        shared = shared || page->sheet[i].items.merged;
    }
    if (merged > 0) {
        ty_snprintf(
            remark, sizeof(remark),
            "%llu of %llu passes are thinner than %g mm: drawn together, heights are shares "
            "of time",
            (unsigned long long)merged, (unsigned long long)n, page->thin / 1000.0);
        put_remark(page, remark);
    }
    put_remark_of_numbers(page);
    put_remark_of_stretch(page);
    put_remark_of_slow(page);
    if (shared) {
        put_remark(page, "ranks that do the same at the same time share a row");
    }
}
