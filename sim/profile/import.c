/* import.c - reads profiles and writes the table of operators that they hold. */
#include "sim/profile/import.h"

#include <stdlib.h>
#include <string.h>

#include "sim/trainyard.h"

#define CLASS(class) (1u << TY_PROFILE_##class)

/* How long any kernel of some classes runs; kernels come in order of start. */
struct cover {
    unsigned classes;
    int64_t sum, to;
};

static void add(struct cover *cover, const struct ty_profile_kernel *k)
{
    const int64_t end = k->start_ns + k->dur_ns;
    const int64_t from = k->start_ns > cover->to ? k->start_ns : cover->to;
    if ((cover->classes >> k->class & 1u) != 0) {
        cover->sum += end > from ? end - from : 0;
        cover->to = end > cover->to ? end : cover->to;
    }
}

static void measure(struct ty_import *im, uint32_t r, struct ty_import_lanes *l)
{
    const struct ty_profile_rank *rank = &im->profile->ranks[r];
    struct cover compute = {CLASS(COMPUTE), 0, INT64_MIN};
    struct cover communication = {CLASS(COMMUNICATION), 0, INT64_MIN};
    struct cover both = {CLASS(COMPUTE) | CLASS(COMMUNICATION), 0, INT64_MIN};
    struct cover any = {both.classes | CLASS(MEMORY), 0, INT64_MIN};
    int64_t first = INT64_MAX;
    for (uint32_t i = 0; i < rank->n_kernels; i++) {
        const struct ty_profile_kernel *k = &rank->kernels[i];
        if (!ty_import_kernel_chosen(im, r, k)) {
            continue;
        }
        add(&compute, k);
        add(&communication, k);
        add(&both, k);
        add(&any, k);
        first = k->start_ns < first ? k->start_ns : first;
        im->n_kernels++;
        im->class_ns[k->class] += k->dur_ns;
    }
    *l = (struct ty_import_lanes){
        .span = any.to > first ? any.to - first : 0,
        .busy = any.sum,
        .compute = compute.sum,
        .communication = communication.sum,
        .overlap = compute.sum + communication.sum - both.sum,
        .exposed = both.sum - compute.sum,
        .memory_only = any.sum - both.sum,
    };
    l->idle = l->span - l->busy;
}

static int import_measure_lanes(struct ty_import *im)
{
    im->lanes = ty_arena_array(&im->arena, struct ty_import_lanes, im->profile->n_ranks);
    if (im->lanes == NULL) {
        return ty_fail_memory(im->err);
    }
    for (uint32_t r = 0; r < im->profile->n_ranks; r++) {
        measure(im, r, &im->lanes[r]);
    }
    return 0;
}

#define NODE_GPUS 8u /* of most nodes for training since DGX-1 */

/* ---- which steps ---- */

/* Whether "2-5,7" has a number; -1: it is no such text. */
static int selects(const char *text, uint32_t number)
{
    int found = 0;
    for (const char *p = text;; p++) {
        char *end;
        if (*p < '0' || *p > '9') {
            return -1;
        }
        const unsigned long from = strtoul(p, &end, 10);
        const bool range = *end == '-' && end[1] >= '0' && end[1] <= '9';
        const unsigned long to = range ? strtoul(end + 1, &end, 10) : from;
        if (to < from || (*end != ',' && *end != '\0')) {
            return -1;
        }
        found = found || (number >= from && number <= to);
        if (*end == '\0') {
            return found;
        }
        p = end;
    }
}

/* Nothing was chosen: which steps there are, of the ranks that have any. */
static int no_such_step(const struct ty_import *im)
{
    const struct ty_profile *p = im->profile;
    uint32_t least = UINT32_MAX, most = 0;
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        for (uint32_t i = 0; i < p->ranks[r].n_steps; i++) {
            const uint32_t number = p->ranks[r].steps[i].number;
            least = number < least ? number : least;
            most = number > most ? number : most;
        }
    }
    return ty_fail(im->err, TY_EINPUT, "--steps %s: no such step; the profile has %u to %u",
                   im->steps, (unsigned)least, (unsigned)most);
}

static bool is_chosen(const struct ty_import *im, const struct ty_profile_step *step)
{
    return im->steps == NULL || selects(im->steps, step->number) == 1;
}

bool ty_import_kernel_chosen(const struct ty_import *im, uint32_t rank,
                             const struct ty_profile_kernel *k)
{
    return im->steps == NULL ||
           (k->step != TY_PROFILE_NONE && is_chosen(im, &im->profile->ranks[rank].steps[k->step]));
}

void ty_import_count_steps(const struct ty_import *im, uint32_t *cut, uint32_t *all)
{
    *cut = *all = 0;
    for (uint32_t r = 0; r < im->profile->n_ranks; r++) {
        const struct ty_profile_rank *rank = &im->profile->ranks[r];
        for (uint32_t i = 0; i < rank->n_steps; i++) {
            const bool chosen = is_chosen(im, &rank->steps[i]);
            *cut += chosen && rank->steps[i].cut;
            *all += chosen;
        }
    }
}

static int check_steps(struct ty_import *im)
{
    uint32_t cut, chosen;
    bool marks = false;
    for (uint32_t r = 0; r < im->profile->n_ranks; r++) {
        marks = marks || im->profile->ranks[r].n_steps > 0;
    }
    if (im->steps == NULL) {
        return 0;
    }
    if (selects(im->steps, 0) < 0) {
        return ty_fail(im->err, TY_EUSAGE,
                       "--steps %s: not a selection; write numbers of steps, such as 3 or 2-5,7",
                       im->steps);
    }
    if (!marks) {
        return ty_fail(im->err, TY_EINPUT,
                       "--steps %s: the profile has no ProfilerStep marks; call profiler.step() "
                       "after each step, or leave the option out",
                       im->steps);
    }
    ty_import_count_steps(im, &cut, &chosen);
    return chosen > 0 ? 0 : no_such_step(im);
}

/* ---- the whole ---- */

static int make_stores(struct ty_import *im)
{
    const bool made =
        ty_profile_store_init(&im->lefts) == 0 && ty_profile_store_init(&im->traffics) == 0;
    return made ? 0 : ty_fail_memory(im->err);
}

static int import(struct ty_import *im)
{
    int (*const parts[])(struct ty_import *) = {
        check_steps,         make_stores,           import_measure_lanes,
        ty_import_operators, ty_import_collectives, ty_import_make_rows,
    };
    int rc = 0;
    for (size_t i = 0; i < TY_COUNT(parts) && rc == 0; i++) {
        rc = parts[i](im);
    }
    return rc;
}

static int put(const struct ty_import *im, bool json, char **report, char **table)
{
    struct ty_text summary = {.data = NULL}, rows = {.data = NULL};
    if (json) {
        ty_import_put_json(im, &summary);
    } else {
        ty_import_put_report(im, &summary);
    }
    ty_import_put_table(im, &rows);
    *report = ty_text_take(&summary);
    *table = ty_text_take(&rows);
    if (*report != NULL && *table != NULL) {
        return 0;
    }
    ty_text_free(*report);
    ty_text_free(*table);
    *report = *table = NULL;
    return ty_fail_memory(im->err);
}

int ty_import_kineto(const struct ty_import_options *options, char **report, char **table,
                     struct ty_err *err)
{
    const char *format = options->stats != NULL ? options->stats : "table";
    const bool json = strcmp(format, "json") == 0;
    struct ty_import im = {.gpus_per_node =
                               options->gpus_per_node != 0 ? options->gpus_per_node : NODE_GPUS,
                           .steps = options->steps,
                           .err = err};
    struct ty_profile *profile = NULL;
    *report = *table = NULL;
    if (!json && strcmp(format, "table") != 0) {
        return ty_fail(err, TY_EUSAGE, "--stats %s: unknown; write table or json", format);
    }
    int rc = ty_profile_read(&profile, options->paths, options->n_paths, err);
    im.profile = profile;
    if (rc == 0) {
        rc = import(&im);
    }
    if (rc == 0) {
        rc = put(&im, json, report, table);
    }
    free(im.samples);
    free(im.left);
    free(im.traffic);
    ty_profile_store_release(&im.lefts);
    ty_profile_store_release(&im.traffics);
    ty_arena_release(&im.arena);
    ty_profile_free(profile);
    return rc;
}
