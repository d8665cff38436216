/* traffic.c - `check --traffic`: who talks over which class of link, and how much. */
#include <stdio.h>
#include <string.h>

#include "sim/base/words.h"
#include "sim/core/analyse/link_load.h"
#include "sim/report/table.h"
#include "sim/run/jobs.h"
#include "sim/run/traffic.h"

/* What a row sends over the kinds of links that the table shows. */
enum over {
    OVER_NVLINK,
    OVER_NETWORK,
    OVER_LEAF,
    OVER_POD,
    OVER_HOST,
    OVER_MEMORY,
    OVER_DRIVES,
    N_OVER
};
static const char *const over_names[N_OVER] = {
    "NVLink", "network", "leaf uplinks", "pod uplinks", "host links", "host memory", "drives"};

/* Classes of links that are counted one by one. Of uplinks what climbs: as many may come down or,
 * of a sum that goes to several leaves, more. */
static const struct {
    enum over over;
    bool counted, both_ways;
} counted[TY_N_LINK_CLASSES] = {
    [TY_LINK_LEAF] = {OVER_LEAF, true, false},   [TY_LINK_POD] = {OVER_POD, true, false},
    [TY_LINK_HOST] = {OVER_HOST, true, true},    [TY_LINK_MEMORY] = {OVER_MEMORY, true, true},
    [TY_LINK_DRIVE] = {OVER_DRIVES, true, true},
};

struct table {
    const struct ty_run *run;
    struct ty_traffic_row row[TY_TRAFFIC_ROWS];
    struct ty_traffic_place place[TY_TRAFFIC_ROWS];
    double B[TY_TRAFFIC_ROWS][N_OVER];
    uint32_t n;
    int width; /* of operations' names */
};

/* The row of every kind, UINT32_MAX: none. Kinds with flows are of one operation each. */
static void rows_of_kinds(const struct table *t, uint32_t *row_of)
{
    const struct ty_program *p = &t->run->lowered.program;
    for (uint32_t k = 0; k < p->n_kinds; k++) {
        row_of[k] = UINT32_MAX;
    }
    for (uint32_t k = 0; k < p->n_ops; k++) {
        const struct ty_traffic_row *row = ty_traffic_row_of(t->row, t->n, p, &p->ops[k]);
        if (row != NULL) {
            row_of[p->ops[k].kind] = (uint32_t)(row - t->row);
        }
    }
}

static int count_links(struct table *t, struct ty_err *err)
{
    const struct ty_program *p = &t->run->lowered.program;
    struct ty_arena arena = {.head = NULL};
    struct ty_link_load load;
    uint32_t *row_of = ty_arena_array(&arena, uint32_t, (size_t)p->n_kinds + 1);
    int rc = row_of == NULL ? ty_fail_memory(err) : ty_link_load_init(&load, p, &arena, err);
    if (rc == 0) {
        rows_of_kinds(t, row_of);
    }
    for (uint32_t l = 0; rc == 0 && l < p->n_links; l++) {
        const uint8_t class = p->links[l].class;
        const bool out = ty_fabric_leads_out(&t->run->lowered.fabric, l);
        if (!counted[class].counted || (!out && !counted[class].both_ways)) {
            continue;
        }
        for (uint32_t i = load.first_part[l]; i < load.first_part[l + 1]; i++) {
            const struct ty_link_load_part *part = &load.part[i];
            const double B = part->bytes * (double)load.times[part->kind] / p->n_steps;
            if (row_of[part->kind] != UINT32_MAX) {
                t->B[row_of[part->kind]][counted[class].over] += B;
            }
        }
    }
    ty_arena_release(&arena);
    return rc;
}

/* "inside a node", "across 4 nodes", "8 of 64 across 2 to 3 nodes" */
static void where(const struct ty_traffic_place *p, char *out, size_t size)
{
    char part[48] = "", nodes[48];
    if (p->n_straddling == 0) {
        snprintf(out, size, "inside a node");
        return;
    }
    if (p->n_straddling < p->n_groups) {
        snprintf(part, sizeof(part), "%u of them ", (unsigned)p->n_straddling);
    }
    if (p->fewest_nodes == p->most_nodes) {
        snprintf(nodes, sizeof(nodes), "%u nodes", (unsigned)p->most_nodes);
    } else {
        snprintf(nodes, sizeof(nodes), "%u to %u nodes", (unsigned)p->fewest_nodes,
                 (unsigned)p->most_nodes);
    }
    snprintf(out, size, "%sacross %s", part, nodes);
}

#define WIDTH  15 /* of the names of operations, where none is longer */
#define FORMAT "  %-10s %-*s %6s %7s  %-28s %-13s %12s %12s\n"

static void put_row(const struct table *t, uint32_t i, struct ty_text *text)
{
    const struct ty_traffic_row *row = &t->row[i];
    const struct ty_traffic_place *place = &t->place[i];
    char ranks[16], groups[16], lie[96], each[64], all[64];
    bool first = true;
    snprintf(ranks, sizeof(ranks), "%u", (unsigned)place->ranks);
    snprintf(groups, sizeof(groups), "%u", (unsigned)place->n_groups);
    where(place, lie, sizeof(lie));
    for (uint32_t c = 0; c < N_OVER; c++) {
        const double B = t->B[i][c], senders = place->n_senders > 0 ? place->n_senders : 1;
        if (B <= 0) {
            continue;
        }
        ty_text_add(text, FORMAT, first ? row->group : "", t->width, first ? row->operation : "",
                    first ? ranks : "", first ? groups : "", first ? lie : "", over_names[c],
                    ty_words_bytes(B / senders, each, sizeof(each)),
                    ty_words_bytes(B, all, sizeof(all)));
        first = false;
    }
}

static void put_table(const struct table *t, struct ty_text *text)
{
    double sum[N_OVER] = {0};
    bool any = false;
    ty_text_add(text, FORMAT, "group", t->width, "operation", "ranks", "groups", "where", "over",
                "a rank", "in all");
    for (uint32_t i = 0; i < t->n; i++) {
        put_row(t, i, text);
        for (uint32_t c = 0; c < N_OVER; c++) {
            sum[c] += t->B[i][c];
        }
    }
    for (uint32_t c = 0; c < N_OVER; c++) {
        char each[64], all[64];
        if (sum[c] > 0) {
            const double ranks = t->run->lowered.program.n_ranks;
            ty_text_add(text, FORMAT, any ? "" : "in all", t->width, "", "", "", "", over_names[c],
                        ty_words_bytes(sum[c] / ranks, each, sizeof(each)),
                        ty_words_bytes(sum[c], all, sizeof(all)));
            any = true;
        }
    }
    if (!any) {
        ty_text_add(text, "  nobody\n");
    }
}

/* A framework that reduces whole gradients although ZeRO shards states. X: bytes of gradients. */
static void put_all_reduced(const struct ty_layout *layout, struct ty_text *text)
{
    if ((layout->zero == 1 || layout->zero == 2) && !layout->framework.reduce_scatter &&
        ty_layout_alike(layout) > 1) {
        ty_text_add(text,
                    "%s all-reduces gradients at ZeRO-%u (framework.reduce_scatter false): 3 X of "
                    "data-parallel traffic, where a reduce-scatter and the gather make it 2 X\n",
                    layout->framework.preset, (unsigned)layout->zero);
    }
}

/* The table of one job. */
static int describe_job(const struct ty_run *run, struct ty_text *out, struct ty_err *err)
{
    struct table t = {.run = run, .width = WIDTH};
    t.n = ty_traffic_rows(&run->lowered.program, 1, t.row);
    for (uint32_t i = 0; i < t.n; i++) {
        t.B[i][OVER_NVLINK] = t.row[i].nvlink_B;
        t.B[i][OVER_NETWORK] = t.row[i].net_B;
        const int width = (int)strlen(t.row[i].operation);
        t.width = width > t.width ? width : t.width;
    }
    int rc = ty_traffic_places(run, t.row, t.n, t.place, err);
    if (rc == 0) {
        rc = count_links(&t, err);
    }
    if (rc == 0) {
        put_table(&t, out);
        put_all_reduced(&run->config->layout, out);
    }
    return rc;
}

int ty_report_traffic(const struct ty_run *run, struct ty_text *out, struct ty_err *err)
{
    const struct ty_run_jobs *others = run->jobs;
    int rc = ty_run_check_planned(run, "traffic", err);
    rc =
        rc < 0 ? rc : ty_run_schedule_check(run, err); /* who never comes to a group is not in it */
    if (rc < 0) {
        return rc;
    }
    ty_report_head(run, out);
    ty_text_add(out, "traffic by group and link, bytes sent in a step\n");
    rc = describe_job(run, out, err);
    for (uint32_t i = 0; rc == 0 && others != NULL && i < others->n; i++) {
        ty_text_add(out, "\njob %s\n", others->other[i].job->name);
        rc = describe_job(others->other[i].run, out, err);
    }
    return rc;
}
