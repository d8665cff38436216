/* import.c - see import.h; the public function. */
#include "sim/profile/import.h"

#include <stdlib.h>
#include <string.h>

#include "sim/trainyard.h"

#define NODE_GPUS 8u /* of most nodes for training since DGX-1 */

/* ---- which steps ---- */

/* Whether "2-5,7" has a number; -1: it is no such text. */
static int selects(const char *text, uint32_t number)
{
    int found = 0;
    for (const char *p = text;;) {
        char *end;
        if (*p < '0' || *p > '9') {
            return -1;
        }
        const unsigned long from = strtoul(p, &end, 10);
        unsigned long to = from;
        if (*end == '-') {
            p = end + 1;
            if (*p < '0' || *p > '9') {
                return -1;
            }
            to = strtoul(p, &end, 10);
        }
        if (to < from) {
            return -1;
        }
        found = found || (number >= from && number <= to);
        if (*end == '\0') {
            return found;
        }
        if (*end != ',') {
            return -1;
        }
        p = end + 1;
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

static int choose_steps(struct ty_import *im)
{
    const struct ty_profile *p = im->profile;
    size_t n = 0, chosen = 0;
    if (im->steps == NULL) {
        return 0;
    }
    if (selects(im->steps, 0) < 0) {
        return ty_fail(im->err, TY_EUSAGE,
                       "--steps %s: not a selection; write numbers of steps, such as 3 or 2-5,7",
                       im->steps);
    }
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        n += p->ranks[r].n_steps;
    }
    im->chosen = ty_arena_array(&im->arena, bool, n + 1);
    im->chosen_at = ty_arena_array(&im->arena, uint32_t, p->n_ranks);
    if (im->chosen == NULL || im->chosen_at == NULL) {
        return ty_fail_memory(im->err);
    }
    n = 0;
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        im->chosen_at[r] = (uint32_t)n;
        for (uint32_t i = 0; i < p->ranks[r].n_steps; i++) {
            im->chosen[n] = selects(im->steps, p->ranks[r].steps[i].number) == 1;
            chosen += im->chosen[n++];
        }
    }
    if (n == 0) {
        return ty_fail(im->err, TY_EINPUT,
                       "--steps %s: the profile has no ProfilerStep marks; call profiler.step() "
                       "after each step, or leave the option out",
                       im->steps);
    }
    return chosen > 0 ? 0 : no_such_step(im);
}

/* ---- the whole ---- */

static int import(struct ty_import *im)
{
    im->left_of = ty_arena_array(&im->arena, uint32_t, ty_profile_texts(im->profile));
    int rc = im->left_of != NULL ? choose_steps(im) : ty_fail_memory(im->err);
    rc = rc < 0 ? rc : ty_import_measure_lanes(im);
    rc = rc < 0 ? rc : ty_import_operators(im);
    rc = rc < 0 ? rc : ty_import_collectives(im);
    return rc < 0 ? rc : ty_import_make_rows(im);
}

static int take(struct ty_text *t, char **out, struct ty_err *err)
{
    *out = ty_text_take(t);
    return *out != NULL ? 0 : ty_fail_memory(err);
}

static int put(const struct ty_import *im, bool json, char **report, char **table)
{
    struct ty_text t = {.data = NULL};
    if (json) {
        ty_import_put_json(im, &t);
    } else {
        ty_import_put_report(im, &t);
    }
    int rc = take(&t, report, im->err);
    if (rc == 0) {
        ty_import_put_table(im, &t);
        rc = take(&t, table, im->err);
    }
    return rc;
}

int ty_import_kineto(const struct ty_import_options *options, char **report, char **table,
                     struct ty_err *err)
{
    const char *format = options->stats != NULL ? options->stats : "table";
    const bool json = strcmp(format, "json") == 0;
    struct ty_profile *profile = NULL;
    *report = *table = NULL;
    if (!json && strcmp(format, "table") != 0) {
        return ty_fail(err, TY_EUSAGE, "--stats %s: unknown; write table or json", format);
    }
    int rc = ty_profile_read(&profile, options->paths, options->n_paths, err);
    if (rc < 0) {
        return rc;
    }
    struct ty_import im = {.profile = profile,
                           .gpus_per_node =
                               options->gpus_per_node != 0 ? options->gpus_per_node : NODE_GPUS,
                           .steps = options->steps,
                           .err = err};
    rc = import(&im);
    rc = rc < 0 ? rc : put(&im, json, report, table);
    if (rc < 0) {
        ty_text_free(*report);
        *report = NULL;
    }
    free(im.samples);
    free(im.left);
    free(im.traffic);
    ty_arena_release(&im.arena);
    ty_profile_free(profile);
    return rc;
}
