/* links.c - see links.h. */
#include "sim/report/links.h"

#include <stdio.h>

#include "sim/base/words.h"
#include "sim/run/links.h"

#define SAME 1e-9 /* sums in different order */

/* Keeps the busiest in order. Links that differ by rounding are equal, the first comes first. */
static void rank_link(struct ty_class_use *c, const struct ty_link_use *use)
{
    const uint32_t kept = c->n_used < TY_BUSIEST ? c->n_used : TY_BUSIEST;
    uint32_t at = kept;
    while (at > 0 && use->mean > c->busiest[at - 1].mean * (1 + SAME)) {
        at--;
    }
    for (uint32_t i = kept < TY_BUSIEST ? kept : TY_BUSIEST - 1; i > at; i--) {
        c->busiest[i] = c->busiest[i - 1];
    }
    if (at < TY_BUSIEST) {
        c->busiest[at] = *use;
    }
}

static void add_link(struct ty_class_use *c, const struct ty_link_use *use, double *least,
                     double *carried, double *capacity, double Bps)
{
    *least = c->n_used == 0 || use->mean < *least ? use->mean : *least;
    *carried += use->mean * Bps;
    *capacity += Bps;
    rank_link(c, use);
    c->n_used++;
    c->bytes += use->bytes;
    c->peak = use->peak > c->peak ? use->peak : c->peak;
    c->full_s = use->full_s > c->full_s ? use->full_s : c->full_s;
    c->mean = *carried / *capacity;
    c->alike = c->busiest[0].mean <= *least * (1 + SAME);
}

/* A link that is just full is not above its capacity by the rounding of sums. */
static double share_of(double Bps, double capacity)
{
    const double share = Bps / capacity;
    return share > 1 && share < 1 + SAME ? 1 : share;
}

/* How many steps of the run's own job the whole is as long as: others may go on after it. */
static double steps_of(const struct ty_run *run)
{
    const double longer = (double)run->all.makespan / (double)run->timeline.makespan;
    return run->lowered.program.n_steps * longer;
}

static void sum_up(const struct ty_run *run, const struct ty_link_load *load,
                   const struct ty_link_load_peak *peak, struct ty_class_use *out)
{
    const struct ty_program *p = load->program;
    const double s = ty_s_from_ps(run->all.makespan), steps = steps_of(run);
    double least[TY_N_LINK_CLASSES] = {0}, carried[TY_N_LINK_CLASSES] = {0},
           capacity[TY_N_LINK_CLASSES] = {0};
    for (uint32_t l = 0; l < p->n_links; l++) {
        const struct ty_link *link = &p->links[l];
        const struct ty_link_use use = {.link = l,
                                        .bytes = load->bytes[l] / steps,
                                        .mean = load->bytes[l] / s / link->capacity,
                                        .peak = share_of(peak[l].Bps, link->capacity),
                                        .full_s = ty_s_from_ps(peak[l].full) / steps};
        out[link->class].n_links++;
        if (load->bytes[l] > 0) {
            add_link(&out[link->class], &use, &least[link->class], &carried[link->class],
                     &capacity[link->class], link->capacity);
        }
    }
}

int ty_run_link_use(const struct ty_run *run, struct ty_class_use *out, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    const struct ty_link_load *load;
    const uint32_t n = run->lowered.program.n_links;
    struct ty_link_load_peak *peak =
        ty_arena_array(&arena, struct ty_link_load_peak, (size_t)n + 1);
    for (uint32_t c = 0; c < TY_N_LINK_CLASSES; c++) {
        out[c] = (struct ty_class_use){.n_links = 0};
    }
    int rc = peak == NULL ? ty_fail_memory(err) : ty_run_link_load(run, &load, err);
    if (rc == 0) {
        rc = ty_link_load_peaks(load, ty_run_link_times(run), peak, err);
    }
    if (rc == 0) {
        sum_up(run, load, peak, out);
    }
    ty_arena_release(&arena);
    return rc;
}

/* ---- for people ---- */

static void busiest(const struct ty_run *run, const struct ty_class_use *c, struct ty_text *t)
{
    const struct ty_link_use *use = &c->busiest[0];
    char share[32], full[64], name[TY_LINK_NAME];
    if (c->alike) {
        ty_text_add(t, "all %u alike", (unsigned)c->n_used);
    } else {
        ty_text_add(t, "%s %s", ty_fabric_link_name(&run->lowered.fabric, use->link, name),
                    ty_words_share(use->mean, share, sizeof(share)));
    }
    if (use->full_s > 0) {
        ty_text_add(t, ", full for %s", ty_words_seconds(use->full_s, full, sizeof(full)));
    }
    ty_text_add(t, "\n");
}

int ty_report_links_table(const struct ty_run *run, struct ty_text *t, struct ty_err *err)
{
    struct ty_class_use use[TY_N_LINK_CLASSES];
    const int rc = ty_run_link_use(run, use, err);
    bool any = false;
    for (uint32_t c = 0; rc == 0 && c < TY_N_LINK_CLASSES; c++) {
        char bytes[64], mean[32], peak[32];
        if (use[c].n_used == 0) {
            continue;
        }
        if (!any) {
            ty_text_add(t, "\nuse of links, in and out%s\n",
                        run->jobs != NULL ? ", by all jobs" : "");
        }
        ty_text_add(t, "  %s", ty_link_class_title((enum ty_link_class)c));
        any = true;
        ty_text_pad(t, 22);
        ty_text_add(t, "%12s   mean %8s   peak %8s   busiest: ",
                    ty_words_bytes(use[c].bytes, bytes, sizeof(bytes)),
                    ty_words_share(use[c].mean, mean, sizeof(mean)),
                    ty_words_share(use[c].peak, peak, sizeof(peak)));
        busiest(run, &use[c], t);
    }
    return rc;
}

/* ---- for programs ---- */

/* What links and classes of them have alike. */
static void put_use(struct ty_json *j, double bytes, double mean, double peak, double full_s)
{
    ty_json_real(j, "bytes", bytes);
    ty_json_real(j, "mean_utilisation", mean);
    ty_json_real(j, "peak_utilisation", peak);
    ty_json_real(j, "full_s", full_s);
}

static void put_link(const struct ty_run *run, const struct ty_link_use *use, struct ty_json *j)
{
    const struct ty_link *link = &run->lowered.program.links[use->link];
    char name[TY_LINK_NAME];
    ty_json_object(j, NULL);
    ty_json_text(j, "name", ty_fabric_link_name(&run->lowered.fabric, use->link, name));
    if (link->node == TY_NO_NODE) {
        ty_json_text(j, "node", NULL);
    } else {
        ty_json_whole(j, "node", link->node);
    }
    ty_json_real(j, "capacity_bytes_per_s", link->capacity);
    put_use(j, use->bytes, use->mean, use->peak, use->full_s);
    ty_json_end(j);
}

int ty_report_links_json(const struct ty_run *run, struct ty_json *j, struct ty_err *err)
{
    struct ty_class_use use[TY_N_LINK_CLASSES];
    const int rc = ty_run_link_use(run, use, err);
    if (rc < 0) {
        return rc;
    }
    ty_json_object(j, "links");
    ty_json_lines(j);
    for (uint32_t c = 0; c < TY_N_LINK_CLASSES; c++) {
        if (use[c].n_used == 0) {
            continue;
        }
        ty_json_object(j, ty_link_class_key((enum ty_link_class)c));
        ty_json_whole(j, "links", use[c].n_links);
        ty_json_whole(j, "used", use[c].n_used);
        put_use(j, use[c].bytes, use[c].mean, use[c].peak, use[c].full_s);
        ty_json_array(j, "busiest");
        ty_json_rows(j);
        for (uint32_t i = 0; i < TY_BUSIEST && i < use[c].n_used; i++) {
            put_link(run, &use[c].busiest[i], j);
        }
        ty_json_end(j);
        ty_json_end(j);
    }
    ty_json_end(j);
    return 0;
}
