/* svg.c - schedules as a picture. */
#include <string.h>

#include "sim/config/options.h"
#include "sim/document/json.h"
#include "sim/schedule/run.h"

/* "1f1b, p = 4, m = 8"; beside others, which have them, too, the name. */
static void add_title(const struct ty_sched_run *r, bool alone, struct ty_text *out)
{
    ty_text_add(out, "%s", r->name);
    if (alone) {
        ty_text_add(out, ", p = %u, m = %u", (unsigned)r->shape.p, (unsigned)r->shape.m);
    }
    if (r->shape.v > 1) {
        ty_text_add(out, ", v = %u", (unsigned)r->shape.v);
    }
    if (r->shape.slices > 1) {
        ty_text_add(out, ", %u slices", (unsigned)r->shape.slices);
    }
}

/* Titles are kept in one arena: a panel borrows its own. */
static int add_panels(const struct ty_sched_run *const *runs, uint32_t n,
                      struct ty_svg_panel *panels, struct ty_text *about, struct ty_arena *arena)
{
    for (uint32_t i = 0; i < n; i++) {
        struct ty_text title = {.data = NULL};
        add_title(runs[i], n == 1, &title);
        const char *kept = title.failed ? NULL : ty_arena_strndup(arena, title.data, title.len);
        ty_text_release(&title);
        if (kept == NULL) {
            return TY_ENOMEM;
        }
        panels[i] = (struct ty_svg_panel){.timeline = &runs[i]->timeline, .title = kept};
        ty_text_add(about, i == 0 ? "" : "; ");
        ty_sched_describe(runs[i], about);
    }
    return 0;
}

int ty_sched_svg(const struct ty_sched_run *const *runs, uint32_t n,
                 const struct ty_schedule_options *options, struct ty_text *out, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_text about = {.data = NULL};
    struct ty_svg svg = {.n_panels = n, .unit = TY_SCHED_UNIT_PS};
    struct ty_svg_panel *panels = ty_arena_array(&arena, struct ty_svg_panel, n);
    int rc =
        ty_svg_style_read(&svg.style, options->svg_width, options->palette, options->bubbles, err);
    if (rc == 0) {
        rc = panels == NULL ? TY_ENOMEM : add_panels(runs, n, panels, &about, &arena);
        rc = about.failed ? TY_ENOMEM : rc;
        rc = rc == 0 ? 0 : ty_fail_memory(err);
    }
    if (rc == 0) {
        svg.panels = panels;
        svg.about = about.data;
        rc = ty_svg(&svg, out, err);
    }
    ty_text_release(&about);
    ty_arena_release(&arena);
    return rc;
}
