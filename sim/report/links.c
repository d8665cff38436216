/* links.c - how hot the links of an executed run got, by class, with the busiest by name. */
#include "sim/report/links.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/sum.h"
#include "sim/base/words.h"
#include "sim/run/links.h"

#define SAME 1e-9 /* sums in different order */

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

enum {
    BYTES,
    CARRIED,
    CAPACITY,
    N_SUMS
};

/* What links add up to, class by class. Where the program is that of a window, its links of a class
 * come stretch by stretch, each as often as it has likes in the cluster, which follow it there. */
struct summing {
    const struct ty_run *run;
    const struct ty_link_load *load;
    const struct ty_link_load_peak *peak;
    double s, steps; /* length of the run */
    struct ty_term
        *term[N_SUMS]; /* [n of room] of the stretch: links that carry the same in a row */
    uint32_t n, room;
    /* of the class */
    struct ty_class_use *out;
    uint32_t n_busiest;
    double least, sum[N_SUMS];
};

#define AT_ONCE 512u /* terms: links without likes are added in parts of any size */

static int make_room(struct summing *s, struct ty_arena *arena, struct ty_err *err)
{
    const uint32_t n = s->run->lowered.program.n_links;
    s->room = s->run->lowered.window.times > 1 || n < AT_ONCE ? n : AT_ONCE;
    for (int k = 0; k < N_SUMS; k++) {
        s->term[k] = ty_arena_array(arena, struct ty_term, (size_t)s->room + 1);
        if (s->term[k] == NULL) {
            return ty_fail_memory(err);
        }
    }
    return 0;
}

/* Keeps the busiest in order. Links that differ by rounding are equal, the first comes first. */
static void rank_link(struct summing *s, const struct ty_link_use *use)
{
    struct ty_link_use *busiest = s->out->busiest;
    const uint32_t kept = s->n_busiest;
    uint32_t at = kept;
    while (at > 0 && use->mean > busiest[at - 1].mean * (1 + SAME)) {
        at--;
    }
    for (uint32_t i = kept < TY_BUSIEST ? kept : TY_BUSIEST - 1; i > at; i--) {
        busiest[i] = busiest[i - 1];
    }
    if (at < TY_BUSIEST) {
        busiest[at] = *use;
    }
    s->n_busiest += kept < TY_BUSIEST;
}

/* Adds the terms so far, as often as they have likes. */
static void add_terms(struct summing *s)
{
    for (int k = 0; k < N_SUMS; k++) {
        s->sum[k] = ty_sum_terms(s->sum[k], s->term[k], s->n, s->run->lowered.window.times);
    }
    s->n = 0;
}

static void add_link(struct summing *s, const struct ty_link_use *use, double capacity)
{
    const double x[N_SUMS] = {use->bytes, use->mean * capacity, capacity};
    struct ty_class_use *c = s->out;
    bool same = s->n > 0;
    s->least = c->n_used == 0 || use->mean < s->least ? use->mean : s->least;
    c->peak = use->peak > c->peak ? use->peak : c->peak;
    c->full_s = use->full_s > c->full_s ? use->full_s : c->full_s;
    c->n_used += s->run->lowered.window.times;
    for (int k = 0; k < N_SUMS; k++) {
        same = same && s->term[k][s->n - 1].x == x[k];
    }
    if (!same) {
        if (s->n == s->room) {
            add_terms(s);
        }
        for (int k = 0; k < N_SUMS; k++) {
            s->term[k][s->n] = (struct ty_term){x[k], 0};
        }
        s->n++;
    }
    /* Apart from the above: of `same ? term[n - 1].n : 0` gcc 14 loads term[-1] in any case. */
    for (int k = 0; k < N_SUMS; k++) {
        s->term[k][s->n - 1].n++;
    }
}

/* A link, or its k-th like in the cluster. */
static void look_at(struct summing *s, uint32_t l, uint32_t k)
{
    const struct ty_link *link = &s->load->program->links[l];
    const double bytes = s->load->bytes[l], capacity = link->capacity;
    const struct ty_link_use use = {.link = l,
                                    .node = ty_window_node(&s->run->lowered.window, link->node, k),
                                    .bytes = bytes / s->steps,
                                    .mean = bytes / s->s / capacity,
                                    .peak = share_of(s->peak[l].Bps, capacity),
                                    .full_s = ty_s_from_ps(s->peak[l].full) / s->steps};
    if (k == 0) {
        add_link(s, &use, capacity);
    }
    rank_link(s, &use);
}

/* Links from .. end - 1. More than TY_BUSIEST likes of a link cannot be among the busiest. */
static void add_stretch(struct summing *s, uint32_t from, uint32_t end)
{
    const uint32_t times = s->run->lowered.window.times;
    for (uint32_t k = 0; k < times && k < TY_BUSIEST; k++) {
        for (uint32_t l = from; l < end; l++) {
            if (s->load->bytes[l] > 0) {
                look_at(s, l, k);
            }
        }
    }
    add_terms(s);
}

/* Whether the link after this one is of another class, or on a node of another stretch. */
static bool ends_stretch(const struct ty_run *run, const struct ty_link *link)
{
    const struct ty_window *window = &run->lowered.window;
    return link[0].class != link[1].class ||
           (window->times > 1 && link[0].node / window->stretch != link[1].node / window->stretch);
}

static void add_class(struct summing *s, uint32_t from, uint32_t end, struct ty_class_use *out)
{
    const struct ty_link *links = s->load->program->links;
    s->out = out;
    s->n_busiest = 0;
    memset(s->sum, 0, sizeof(s->sum));
    for (uint32_t l = from; l < end; l++) {
        if (l + 1 == end || ends_stretch(s->run, &links[l])) {
            add_stretch(s, from, l + 1);
            from = l + 1;
        }
    }
    if (out->n_used > 0) {
        out->bytes = s->sum[BYTES];
        out->mean = s->sum[CARRIED] / s->sum[CAPACITY];
        out->alike = out->busiest[0].mean <= s->least * (1 + SAME);
    }
}

uint32_t ty_run_n_links(const struct ty_run *run)
{
    uint32_t n = 0;
    for (enum ty_link_class c = 0; c < TY_N_LINK_CLASSES; c++) {
        n += ty_fabric_count(&run->lowered.fabric, c);
    }
    return n;
}

int ty_run_link_use(const struct ty_run *run, struct ty_class_use *out, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    const struct ty_program *p = &run->lowered.program;
    struct ty_link_load_peak *peak =
        ty_arena_array(&arena, struct ty_link_load_peak, (size_t)p->n_links + 1);
    struct summing s = {.run = run, .peak = peak};
    int rc = peak == NULL ? ty_fail_memory(err) : make_room(&s, &arena, err);
    rc = rc < 0 ? rc : ty_run_link_load(run, &s.load, err);
    if (rc == 0) {
        rc = ty_link_load_peaks(s.load, ty_run_link_times(run), peak, err);
        s.s = ty_s_from_ps(run->all.makespan);
        s.steps = steps_of(run);
    }
    uint32_t l = 0;
    for (enum ty_link_class c = 0; c < TY_N_LINK_CLASSES; c++) {
        const uint32_t first = l;
        while (l < p->n_links && p->links[l].class == c) {
            l++;
        }
        out[c] = (struct ty_class_use){.n_links = ty_fabric_count(&run->lowered.fabric, c)};
        if (rc == 0) {
            add_class(&s, first, l, &out[c]);
        }
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
        ty_text_add(t, "%s %s",
                    ty_fabric_like_name(&run->lowered.fabric, use->link, use->node, name),
                    ty_words_share(use->mean, share, sizeof(share)));
    }
    if (use->full_s > 0) {
        ty_text_add(t, ", full for %s", ty_words_seconds(use->full_s, full, sizeof(full)));
    }
    ty_text_add(t, "\n");
}

int ty_report_links_table(const struct ty_run *run, struct ty_text *t, double *full_s,
                          struct ty_err *err)
{
    struct ty_class_use use[TY_N_LINK_CLASSES];
    const int rc = ty_run_link_use(run, use, err);
    bool any = false;
    *full_s = 0;
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
        *full_s = use[c].full_s > *full_s ? use[c].full_s : *full_s;
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
    ty_json_text(j, "name", ty_fabric_like_name(&run->lowered.fabric, use->link, use->node, name));
    if (use->node == TY_NO_NODE) {
        ty_json_text(j, "node", NULL);
    } else {
        ty_json_whole(j, "node", use->node);
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
