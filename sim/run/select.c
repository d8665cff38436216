/* select.c - see select.h.
 *
 * A selection is a predicate over ranks: a set of flags is filled by one of a few readers, then the
 * flagged ranks are sorted for display. */
#include "sim/run/select.h"

#include <stdlib.h>
#include <string.h>

#include "model/parallel.h"
#include "sim/base/number_text.h"
#include "sim/run/jobs.h"

static int wrong(struct ty_err *err)
{
    return ty_fail(err, TY_EUSAGE,
                   "not a selection of ranks; write all, a list such as 0-15,64, coordinates such "
                   "as tp=0,dp=0, one-per-stage, or slowest:8");
}

/* Whoever wrote the selection: the run file, or the option --ranks. */
static int blame(const struct ty_run *run, const char *text, const char *why, struct ty_err *err)
{
    if (text != run->config->output.ranks) {
        return ty_fail(err, TY_EUSAGE, "--ranks %s: %s", text, why);
    }
    const struct ty_place at = ty_section_place(&run->config->sections[TY_SECTION_OUTPUT], "ranks");
    return ty_fail_at(err, TY_EINPUT, &at, "output.ranks: %s: %s", text, why);
}

/* "7" or "0-15" at *s. */
static int read_range(const char **s, uint32_t *from, uint32_t *to, struct ty_err *err)
{
    if (!ty_scan_number(s, NULL, UINT32_MAX, from)) {
        return wrong(err);
    }
    *to = *from;
    if (**s == '-') {
        (*s)++;
        if (!ty_scan_number(s, NULL, UINT32_MAX, to)) {
            return wrong(err);
        }
    }
    return *to >= *from ? 0
                        : ty_fail(err, TY_EUSAGE, "%u-%u counts down; write %u-%u", (unsigned)*from,
                                  (unsigned)*to, (unsigned)*to, (unsigned)*from);
}

/* "0-15,64" */
static int by_list(const char *text, bool *flag, uint32_t n, struct ty_err *err)
{
    const char *s = text;
    for (;;) {
        uint32_t from, to;
        const int rc = read_range(&s, &from, &to, err);
        if (rc < 0) {
            return rc;
        }
        if (to >= n) {
            return ty_fail(err, TY_EUSAGE, "there is no rank %u; they are 0 to %u",
                           (unsigned)(from >= n ? from : to), (unsigned)(n - 1));
        }
        for (uint32_t r = from; r <= to; r++) {
            flag[r] = true;
        }
        if (*s == '\0') {
            return 0;
        }
        if (*s++ != ',') {
            return wrong(err);
        }
    }
}

/* Coordinates of a rank, in both grids. */
static const char *const names[] = {"tp", "cp", "dp", "pp", "ep", "etp", "edp"};
#define N_NAMES ((int)TY_COUNT(names))
#define EXPERTS 4 /* from here on those of the grid of experts */
struct coords {
    uint32_t at[TY_COUNT(names)];
};

static struct coords coords_of(const struct ty_run *run, uint32_t rank, bool experts)
{
    const struct ty_grid *grid = &run->lowered.grid;
    struct ty_expert_place e = {.expert = 0};
    uint32_t at[TY_N_AXES];
    if (experts) {
        e = ty_expert_place(&run->config->layout, grid, rank);
    }
    ty_grid_coords(grid, rank, at);
    return (struct coords){{at[TY_AXIS_TENSOR], at[TY_AXIS_CONTEXT], at[TY_AXIS_DATA],
                            at[TY_AXIS_PIPELINE], e.expert, e.tensor, e.data}};
}

/* A part of "tp=0,dp=0-1": values of one coordinate. */
#define PARTS_MAX 64u
struct part {
    int name;
    uint32_t from, to;
};

static int read_part(const char **s, const struct ty_run *run, bool lenient, struct part *part,
                     struct ty_err *err)
{
    size_t n = 0;
    for (part->name = 0; part->name < N_NAMES; part->name++) {
        n = strlen(names[part->name]);
        if (strncmp(*s, names[part->name], n) == 0 && (*s)[n] == '=') {
            break;
        }
    }
    if (part->name == N_NAMES) {
        return wrong(err);
    }
    *s += n + 1;
    const int rc = read_range(s, &part->from, &part->to, err);
    const uint32_t last = coords_of(run, run->lowered.grid.n_ranks - 1, true).at[part->name];
    if (rc == 0 && part->to > last && !lenient) {
        return ty_fail(err, TY_EUSAGE, "%s=%u does not exist; %s goes from 0 to %u",
                       names[part->name], (unsigned)part->to, names[part->name], (unsigned)last);
    }
    return rc;
}

/* Whether every coordinate that is named has one of the values named for it. */
static bool is_meant(const struct ty_run *run, uint32_t rank, const struct part *part, uint32_t n)
{
    bool named[TY_COUNT(names)] = {false}, held[TY_COUNT(names)] = {false}, experts = false;
    for (uint32_t i = 0; i < n; i++) {
        experts = experts || part[i].name >= EXPERTS;
    }
    const struct coords coords = coords_of(run, rank, experts);
    for (uint32_t i = 0; i < n; i++) {
        const int k = part[i].name;
        named[k] = true;
        held[k] = held[k] || (coords.at[k] >= part[i].from && coords.at[k] <= part[i].to);
    }
    bool all = true;
    for (int k = 0; k < N_NAMES; k++) {
        all = all && held[k] == named[k];
    }
    return all;
}

/* "tp=0,dp=0-1": all coordinates must hold; several values of one ("dp=0,dp=4") are any of them.
 * `lenient`: a coordinate that does not exist is nobody's. */
static int by_coordinates(const struct ty_run *run, const char *text, bool lenient, bool *flag,
                          struct ty_err *err)
{
    struct part part[PARTS_MAX];
    uint32_t n = 0;
    const char *s = text;
    do {
        if (n == PARTS_MAX) {
            return ty_fail(err, TY_EUSAGE, "more than %u coordinates; write ranges such as dp=0-7",
                           PARTS_MAX);
        }
        const int rc = read_part(&s, run, lenient, &part[n++], err);
        if (rc < 0) {
            return rc;
        }
    } while (*s++ == ',');
    if (s[-1] != '\0') {
        return wrong(err);
    }
    for (uint32_t r = 0; r < run->lowered.grid.n_ranks; r++) {
        flag[r] = is_meant(run, r, part, n);
    }
    return 0;
}

/* The same in every job; of a degree that not all of them have, the run's own decides. */
static int by_coordinates_of_all(const struct ty_run *run, const char *text, bool *flag,
                                 struct ty_err *err)
{
    const uint32_t n = ty_run_jobs_ranks(run);
    int rc = 0;
    for (uint32_t first = 0; first < n && rc == 0;) {
        const struct ty_located at = ty_run_jobs_locate(run, first);
        rc = by_coordinates(at.run, text, at.number > 0, flag + first, err);
        first += ty_run_ranks(at.run);
    }
    return rc;
}

static ty_ps compute_time(const struct ty_run *run, uint32_t rank)
{
    const struct ty_located at = ty_run_jobs_locate(run, rank);
    return at.run->stats.rank[at.rank].stream_busy[TY_STREAM_COMPUTE];
}

/* The n ranks whose compute stream is busy longest; the lower rank of equals. */
static void slowest(const struct ty_run *run, uint32_t n, bool *flag)
{
    for (uint32_t k = 0; k < n; k++) {
        uint32_t best = UINT32_MAX;
        for (uint32_t r = 0; r < ty_run_jobs_ranks(run); r++) {
            if (!flag[r] &&
                (best == UINT32_MAX || compute_time(run, r) > compute_time(run, best))) {
                best = r;
            }
        }
        flag[best] = true;
    }
}

static int fill(const struct ty_run *run, const char *text, bool *flag, struct ty_err *err)
{
    const uint32_t n_ranks = ty_run_jobs_ranks(run);
    if (strcmp(text, "all") == 0) {
        memset(flag, 1, n_ranks * sizeof(*flag));
        return 0;
    }
    if (strcmp(text, "one-per-stage") == 0) {
        return by_coordinates_of_all(run, "tp=0,cp=0,dp=0", flag, err);
    }
    if (strncmp(text, "slowest:", 8) == 0) {
        const char *s = text + 8;
        uint32_t n;
        if (!ty_scan_number(&s, NULL, UINT32_MAX, &n) || *s != '\0' || n == 0) {
            return wrong(err);
        }
        /* before, and where one stands for many, the text is checked and nobody is chosen */
        if (run->executed && !ty_run_is_folded(run)) {
            slowest(run, n < n_ranks ? n : n_ranks, flag);
        }
        return 0;
    }
    return strchr(text, '=') != NULL ? by_coordinates_of_all(run, text, flag, err)
                                     : by_list(text, flag, n_ranks, err);
}

/* ---- display order ---- */

struct keyed {
    uint64_t key;
    uint32_t rank;
};

static int compare(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Sorts by stage first (of one job after the other), by node first, or by rank alone. */
static int sort(const struct ty_run *run, const char *order, struct keyed *rows, uint32_t n,
                struct ty_err *err)
{
    const bool stage = order == NULL || strcmp(order, "stage") == 0;
    const bool node = !stage && strcmp(order, "node") == 0;
    if (!stage && !node && strcmp(order, "rank") != 0) {
        return ty_fail(err, TY_EUSAGE, "--order %s: unknown; write rank, stage or node", order);
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct ty_located at = ty_run_jobs_locate(run, rows[i].rank);
        const struct ty_grid *grid = &at.run->lowered.grid;
        uint32_t coord[TY_N_AXES];
        ty_grid_coords(grid, at.rank, coord);
        rows[i].key = stage  ? (uint64_t)at.number << 32 | coord[TY_AXIS_PIPELINE]
                      : node ? ty_grid_node(grid, at.rank)
                             : 0;
    }
    qsort(rows, n, sizeof(*rows), compare);
    return 0;
}

/* The ranks that are flagged, in their order, into out; rows: room for all. */
static int put_in_order(const struct ty_run *run, const char *order, const bool *flag,
                        struct keyed *rows, struct ty_selection *out, struct ty_err *err)
{
    const uint32_t n = ty_run_jobs_ranks(run);
    out->n = 0;
    for (uint32_t r = 0; r < n; r++) {
        if (flag[r]) {
            rows[out->n++].rank = r;
        }
    }
    const int rc = sort(run, order, rows, out->n, err);
    for (uint32_t i = 0; i < out->n; i++) {
        out->ranks[i] = rows[i].rank;
    }
    return rc;
}

int ty_select_ranks(const struct ty_run *run, const char *text, const char *order,
                    struct ty_arena *arena, struct ty_selection *out, struct ty_err *err)
{
    const struct ty_grid *grid = &run->lowered.grid;
    const uint32_t n = ty_run_jobs_ranks(run);
    bool *flag = ty_arena_array(arena, bool, n);
    struct keyed *rows = ty_arena_array(arena, struct keyed, n);
    out->ranks = ty_arena_array(arena, uint32_t, n);
    if (flag == NULL || rows == NULL || out->ranks == NULL) {
        return ty_fail_memory(err);
    }
    /* in the run file an empty text leaves the choice to the rule; nobody types one to mean that */
    const bool chosen = text != NULL && (text[0] != '\0' || text != run->config->output.ranks);
    struct ty_err why;
    ty_err_init(&why);
    out->by_rule = !chosen && n > TY_SELECT_ALL_BELOW && grid->size[TY_AXIS_DATA] > 1;
    const int rc = fill(run, chosen ? text : out->by_rule ? "dp=0" : "all", flag, &why);
    if (rc < 0) {
        return rc == TY_EUSAGE ? blame(run, text, why.text, err) : rc;
    }
    return put_in_order(run, order, flag, rows, out, err);
}
