/* ranks.c - `trainyard list ranks`: which rank is in which group, on which GPU of which node.
 *
 * Along every axis of the layout a rank has a place in a group. Groups of an axis are numbered by
 * their lowest rank, as frameworks do that list them in the order of ranks. Nodes that repeat the
 * node before them, counted on, take one line. */
#include <stdio.h>
#include <string.h>

#include "model/parallel.h"
#include "sim/base/compiler.h"
#include "sim/cli_api.h"
#include "sim/report/table.h"
#include "sim/run/select.h"

#define NOBODY UINT32_MAX
#define LABEL  12u  /* characters before the first GPU of a row */
#define WIDTH  10   /* of a cell */
#define ROW    8u   /* GPUs side by side */
#define DRAWN  256u /* GPUs in a picture, but for those that share a node with one of them */

/* Behind the axes of the grid of ranks those of the grid of experts. */
enum {
    EXPERT = TY_N_AXES,
    EXPERT_TENSOR,
    EXPERT_DATA,
    N_AXES
};

static const char *const names[N_AXES] = {"tensor", "context",       "data",       "pipeline",
                                          "expert", "expert_tensor", "expert_data"};

/* The axes of both grids. */
static const int grids[2][TY_N_AXES] = {
    {TY_AXIS_TENSOR, TY_AXIS_CONTEXT, TY_AXIS_DATA, TY_AXIS_PIPELINE},
    {EXPERT_TENSOR, EXPERT, EXPERT_DATA, TY_AXIS_PIPELINE}};

/* Where a rank is; `group` NOBODY: there are no groups. */
struct seat {
    uint32_t place[N_AXES], group[N_AXES];
};

struct places {
    const struct ty_grid *grid;
    uint32_t n, nodes, per_node;
    int n_axes;        /* N_AXES, or those of the first grid where there are no experts */
    struct seat *seat; /* [n] */
    uint32_t *rank_of; /* [nodes * per_node] of a GPU; NOBODY: none */
    bool *selected;    /* [n] */
    bool all;          /* nobody chose */
    uint32_t size[N_AXES], groups[N_AXES], group_nodes[N_AXES];
};

static uint32_t rank_at(const struct places *p, uint32_t node, uint32_t gpu)
{
    return p->rank_of[node * p->per_node + gpu];
}

static void find_seats(struct places *p, const struct ty_layout *layout)
{
    memset(p->rank_of, 0xff, (size_t)p->nodes * p->per_node * sizeof(*p->rank_of));
    memset(p->selected, 0, p->n * sizeof(*p->selected));
    for (uint32_t r = 0; r < p->n; r++) {
        uint32_t *place = p->seat[r].place;
        const struct ty_expert_place e = ty_expert_place(layout, p->grid, r);
        ty_grid_coords(p->grid, r, place);
        place[EXPERT] = e.expert;
        place[EXPERT_TENSOR] = e.tensor;
        place[EXPERT_DATA] = e.data;
        for (int a = 0; a < p->n_axes; a++) {
            p->size[a] = place[a] >= p->size[a] ? place[a] + 1 : p->size[a];
        }
        p->rank_of[ty_grid_gpu(p->grid, r)] = r;
    }
}

/* Numbers the groups along `a`: ranks that agree along the other `axes`. */
static int number_groups(struct places *p, const int axes[TY_N_AXES], int a, bool none,
                         struct ty_arena *arena, struct ty_err *err)
{
    size_t room = 1;
    for (int i = 0; i < TY_N_AXES; i++) {
        room *= axes[i] != a ? p->size[axes[i]] : 1;
    }
    uint32_t *number = ty_arena_array(arena, uint32_t, room);
    if (number == NULL) {
        return ty_fail_memory(err);
    }
    memset(number, 0xff, room * sizeof(*number));
    for (uint32_t r = 0; r < p->n; r++) {
        size_t key = 0;
        for (int i = 0; i < TY_N_AXES; i++) {
            key = axes[i] != a ? key * p->size[axes[i]] + p->seat[r].place[axes[i]] : key;
        }
        number[key] = number[key] == NOBODY && !none ? p->groups[a]++ : number[key];
        p->seat[r].group[a] = number[key];
    }
    for (uint32_t node = 0; node < p->nodes; node++) {
        bool any = false;
        for (uint32_t g = 0; g < p->per_node; g++) {
            const uint32_t r = rank_at(p, node, g);
            any = any || (r != NOBODY && p->seat[r].group[a] == 0);
        }
        p->group_nodes[a] += any;
    }
    return 0;
}

static int find(struct places *p, const struct ty_run *run, struct ty_arena *arena,
                struct ty_err *err)
{
    const struct ty_layout *layout = &run->config->layout;
    const struct ty_grid *grid = &run->lowered.grid;
    *p = (struct places){.grid = grid,
                         .n = grid->n_ranks,
                         .n_axes = layout->expert_data > 0 ? N_AXES : TY_N_AXES,
                         .nodes = ty_grid_nodes(grid),
                         .per_node = grid->gpus_per_node};
    p->seat = ty_arena_array(arena, struct seat, p->n);
    p->rank_of = ty_arena_array(arena, uint32_t, p->nodes * p->per_node);
    p->selected = ty_arena_array(arena, bool, p->n);
    if (p->seat == NULL || p->rank_of == NULL || p->selected == NULL) {
        return ty_fail_memory(err);
    }
    find_seats(p, layout);
    int rc = 0;
    for (int i = 0; i < p->n_axes && rc == 0; i++) {
        const int *axes = grids[i / TY_N_AXES], a = axes[i % TY_N_AXES];
        /* between stages of different shape a rank has no one partner */
        rc = number_groups(p, axes, a, a == TY_AXIS_PIPELINE && layout->unlike, arena, err);
    }
    return rc;
}

static int select_ranks(struct places *p, const struct ty_run *run, const char *text,
                        struct ty_arena *arena, struct ty_err *err)
{
    struct ty_selection chosen;
    p->all = text == NULL;
    const int rc = ty_select_ranks(run, p->all ? "all" : text, "rank", arena, &chosen, err);
    for (uint32_t i = 0; rc == 0 && i < chosen.n; i++) {
        if (chosen.ranks[i] < p->n) { /* those of other jobs follow */
            p->selected[chosen.ranks[i]] = true;
        } else if (!p->all) {
            return ty_fail(err, TY_EUSAGE,
                           "--ranks %s: rank %u is of another job; write ranks 0 to %u", text,
                           (unsigned)chosen.ranks[i], (unsigned)p->n - 1);
        }
    }
    return rc;
}

/* ---- table ---- */

/* The first two members of the first group, and the last. */
static void put_members(struct ty_text *t, const struct places *p, int a)
{
    uint32_t member[3], seen = 0;
    for (uint32_t r = 0; r < p->n; r++) {
        if (p->seat[r].group[a] == 0) {
            member[seen < 2 ? seen : 2] = r;
            seen++;
        }
    }
    for (uint32_t i = 0; i < seen && i < 3; i++) {
        ty_text_add(t, "%s%u",
                    i == 0               ? ""
                    : i < 2 || seen == 3 ? ", "
                                         : " .. ",
                    (unsigned)member[i]);
    }
    ty_text_add(t, "\n");
}

static void put_head(struct ty_text *t, const struct places *p)
{
    const char *between = "";
    ty_text_add(t, "%u ranks on %u nodes of %u GPUs%s\nranks count ", (unsigned)p->n,
                (unsigned)p->nodes, (unsigned)p->per_node,
                p->grid->gpu_of != NULL ? ", placed by a rank file" : "");
    for (int i = 0; i < TY_N_AXES; i++) {
        if (p->size[p->grid->order[i]] > 1) {
            ty_text_add(t, "%s%s", between, names[p->grid->order[i]]);
            between = ", then ";
        }
    }
    ty_text_add(t, "\na cell 3.1 means: group 3, place 1 in it\n\n"
                   "axis           size  groups  nodes of one  ranks of group 0\n");
    for (int a = 0; a < p->n_axes; a++) {
        if (p->size[a] > 1) {
            ty_text_add(t, "%-13s  %4u  %6u  %12u  ", names[a], (unsigned)p->size[a],
                        (unsigned)p->groups[a], (unsigned)p->group_nodes[a]);
            put_members(t, p, a);
        }
    }
}

/* "3.1"; a dot where the rank is not shown, a dash where there is none. */
static void put_cell(struct ty_text *t, const struct places *p, int row, uint32_t r)
{
    char cell[40] = "-";
    if (r != NOBODY && !p->selected[r]) {
        (void)snprintf(cell, sizeof(cell), ".");
    } else if (r != NOBODY && row < 0) {
        (void)snprintf(cell, sizeof(cell), "%u", (unsigned)r);
    } else if (r != NOBODY) {
        const struct seat *s = &p->seat[r];
        (void)snprintf(cell, sizeof(cell), s->group[row] == NOBODY ? "-.%u" : "%u.%u",
                       (unsigned)(s->group[row] == NOBODY ? s->place[row] : s->group[row]),
                       (unsigned)s->place[row]);
    }
    ty_text_add(t, "%*s", WIDTH, cell);
}

static void put_node(struct ty_text *t, const struct places *p, uint32_t node)
{
    for (uint32_t from = 0; from < p->per_node; from += ROW) {
        const uint32_t to = from + ROW < p->per_node ? from + ROW : p->per_node;
        ty_text_add(t, "\nnode %-*u", (int)LABEL - 5, (unsigned)node);
        for (uint32_t g = from; g < to; g++) {
            ty_text_add(t, "%*s%2u", WIDTH - 2, "GPU", (unsigned)g);
        }
        for (int a = -1; a < p->n_axes; a++) {
            if (a >= 0 && p->size[a] == 1) {
                continue;
            }
            ty_text_add(t, "\n  %-*s", (int)LABEL - 2, a < 0 ? "rank" : names[a]);
            for (uint32_t g = from; g < to; g++) {
                put_cell(t, p, a, rank_at(p, node, g));
            }
        }
        ty_text_add(t, "\n");
    }
}

/* By how much a rank's numbers are above those of another. */
struct apart {
    int64_t rank, group[N_AXES], place[N_AXES];
};

/* Whether all ranks of a node are equally far from those of the node before. */
static bool continues(const struct places *p, uint32_t node, struct apart *by)
{
    bool any = false, alike = true;
    for (uint32_t g = 0; g < p->per_node && alike; g++) {
        const uint32_t r = rank_at(p, node, g), q = rank_at(p, node - 1, g);
        struct apart d = {.rank = (int64_t)r - q};
        if (r == NOBODY || q == NOBODY) {
            alike = r == q;
            continue;
        }
        for (int a = 0; a < p->n_axes; a++) {
            d.group[a] = (int64_t)p->seat[r].group[a] - p->seat[q].group[a];
            d.place[a] = (int64_t)p->seat[r].place[a] - p->seat[q].place[a];
        }
        alike = !any || memcmp(&d, by, sizeof(d)) == 0;
        *by = d;
        any = true;
    }
    return alike && any;
}

/* The nodes behind `first` that go on as the one after it does. Returns the last. */
static uint32_t put_alike(struct ty_text *t, const struct places *p, uint32_t first)
{
    struct apart by = {.rank = 0}, next;
    uint32_t last = first;
    while (last + 1 < p->nodes && continues(p, last + 1, &next) &&
           (last == first || memcmp(&next, &by, sizeof(next)) == 0)) {
        by = next;
        last++;
    }
    if (last < first + 2) { /* one more is as short in full */
        return first;
    }
    ty_text_add(t, "nodes %u to %u: each the node before with rank %+lld", (unsigned)first + 1,
                (unsigned)last, (long long)by.rank);
    for (int i = 0; i < 2 * p->n_axes; i++) {
        const int64_t more = i % 2 == 0 ? by.group[i / 2] : by.place[i / 2];
        if (p->size[i / 2] > 1 && more != 0) {
            ty_text_add(t, ", %s %s %+lld", names[i / 2], i % 2 == 0 ? "group" : "place",
                        (long long)more);
        }
    }
    ty_text_add(t, "\n");
    return last;
}

static void put_table(struct ty_text *t, const struct places *p)
{
    put_head(t, p);
    for (uint32_t node = 0; node < p->nodes; node++) {
        bool shown = false;
        for (uint32_t g = 0; g < p->per_node; g++) {
            shown = shown || (rank_at(p, node, g) != NOBODY && p->selected[rank_at(p, node, g)]);
        }
        if (shown) {
            put_node(t, p, node);
        }
        node = shown && p->all ? put_alike(t, p, node) : node;
    }
}

/* ---- JSON ---- */

static void put_rank(struct ty_json *j, const struct places *p, uint32_t r)
{
    ty_json_object(j, NULL);
    ty_json_whole(j, "rank", r);
    ty_json_whole(j, "node", ty_grid_node(p->grid, r));
    ty_json_whole(j, "gpu", ty_grid_gpu(p->grid, r) % p->per_node);
    for (int a = 0; a < p->n_axes; a++) {
        char group[32];
        (void)snprintf(group, sizeof(group), "%s_group", names[a]);
        ty_json_whole(j, names[a], p->seat[r].place[a]);
        if (p->seat[r].group[a] != NOBODY) {
            ty_json_whole(j, group, p->seat[r].group[a]);
        } else {
            ty_json_text(j, group, NULL);
        }
    }
    ty_json_end(j);
}

/* The members of the object: sizes, axes, and the ranks that are selected. */
static void put_members_json(struct ty_json *j, const struct places *p)
{
    ty_json_whole(j, "nodes", p->nodes);
    ty_json_whole(j, "gpus_per_node", p->per_node);
    ty_json_array(j, "axes");
    for (int a = 0; a < p->n_axes; a++) {
        ty_json_object(j, NULL);
        ty_json_text(j, "axis", names[a]);
        ty_json_whole(j, "size", p->size[a]);
        ty_json_whole(j, "groups", p->groups[a]);
        ty_json_whole(j, "nodes", p->group_nodes[a]);
        ty_json_end(j);
    }
    ty_json_end(j);
    ty_json_array(j, "ranks");
    ty_json_lines(j);
    for (uint32_t r = 0; r < p->n; r++) {
        if (p->selected[r]) {
            put_rank(j, p, r);
        }
    }
    ty_json_end(j);
}

static void put_json(struct ty_text *t, const struct places *p)
{
    struct ty_json j = ty_json_to_text(t);
    ty_json_object(&j, NULL);
    ty_json_lines(&j);
    put_members_json(&j, p);
    ty_json_end(&j);
    ty_text_bytes(t, "\n", 1);
}

int ty_run_places(const struct ty_run *run, const char *form, const char *ranks, char **text,
                  struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_text t = {.data = NULL};
    struct places p;
    const bool json = strcmp(form, "json") == 0;
    *text = NULL;
    if (!json && strcmp(form, "table") != 0) {
        return ty_fail(err, TY_EUSAGE, "--stats %.40s: write table or json", form);
    }
    int rc = find(&p, run, &arena, err);
    rc = rc < 0 ? rc : select_ranks(&p, run, ranks, &arena, err);
    if (rc == 0) {
        (json ? put_json : put_table)(&t, &p);
        *text = ty_text_take(&t);
        rc = *text != NULL ? 0 : ty_fail_memory(err);
    }
    ty_arena_release(&arena);
    return rc;
}

/* ---- the page ---- */

/* Selects what a picture has: all nodes of a small job, of a large one those of the first replica,
 * until there are DRAWN GPUs. */
static void select_drawn(struct places *p)
{
    uint32_t drawn = 0;
    for (uint32_t node = 0; node < p->nodes && drawn < DRAWN; node++) {
        bool first = p->n <= DRAWN;
        for (uint32_t g = 0; g < p->per_node; g++) {
            const uint32_t r = rank_at(p, node, g);
            first = first || (r != NOBODY && p->seat[r].place[TY_AXIS_DATA] == 0);
        }
        for (uint32_t g = 0; g < p->per_node && first; g++) {
            const uint32_t r = rank_at(p, node, g);
            drawn++;
            if (r != NOBODY) {
                p->selected[r] = true;
            }
        }
    }
}

int ty_report_places_page(struct ty_json *j, const struct ty_run *run, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct places p;
    const int rc = find(&p, run, &arena, err);
    if (rc == 0) {
        select_drawn(&p);
        ty_json_line(j, 0);
        ty_json_object(j, "places");
        put_members_json(j, &p);
        ty_json_end(j);
    }
    ty_arena_release(&arena);
    return rc;
}
