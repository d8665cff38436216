/* lanes.c - which ranks of several runs are shown, in which order, and what they are called.
 *
 * Ranks of the whole count through: those of B after those of A. A recording has those that were
 * measured, under numbers of its own; rank[] says who they are. */
#include "sim/diff/lanes.h"

#include <stdio.h>
#include <string.h>

/* ---- simulated or measured ---- */

const struct ty_timeline *ty_lanes_timeline(const struct ty_lanes *l, uint32_t i)
{
    const struct ty_diff_run *run = &l->runs[i];
    return run->run != NULL ? &run->run->timeline : &run->recording->timeline;
}

static uint32_t n_ranks_of(const struct ty_lanes *l, uint32_t i)
{
    const struct ty_diff_run *run = &l->runs[i];
    return run->run != NULL ? run->run->lowered.program.n_ranks : run->recording->n_ranks;
}

bool ty_lanes_halted(const struct ty_lanes *l, uint32_t i)
{
    return l->runs[i].run != NULL && ty_run_halted(l->runs[i].run);
}

/* The first run that is simulated; n: none is. */
static uint32_t first_simulated(const struct ty_lanes *l)
{
    uint32_t i = 0;
    while (i < l->n && l->runs[i].run == NULL) {
        i++;
    }
    return i;
}

/* What is not asked for is as the first run file says. */
const struct ty_output_options *ty_lanes_defaults(const struct ty_lanes *l)
{
    static const struct ty_output_options none = {.trace_limit = 2e9, .detail = TY_DETAIL_LAYER};
    const uint32_t i = first_simulated(l);
    return i < l->n ? &l->runs[i].run->config->output : &none;
}

/* "A", or where one of two is measured, which of them this is. */
const char *ty_lanes_word(const struct ty_lanes *l, uint32_t i, char buf[16])
{
    const bool both = l->n == 2 && (l->runs[0].run == NULL) != (l->runs[1].run == NULL);
    if (both) {
        return l->runs[i].run == NULL ? "measured" : "simulated";
    }
    snprintf(buf, 16, "%c%s", (char)('A' + i), l->runs[i].run == NULL ? " measured" : "");
    return buf;
}

/* ---- who is shown ---- */

/* Which run a rank of the whole is of; *rank becomes its number there. */
uint32_t ty_lanes_locate(const struct ty_lanes *l, uint32_t *rank)
{
    uint32_t i = 0;
    while (i + 1 < l->n && *rank >= n_ranks_of(l, i)) {
        *rank -= n_ranks_of(l, i++);
    }
    return i;
}

const char *ty_lanes_rank_name(void *arg, uint32_t rank)
{
    struct ty_lanes *l = arg;
    char name[160], word[16];
    const uint32_t i = ty_lanes_locate(l, &rank);
    struct ty_trace_labels labels = {.run = l->runs[i].run};
    const struct ty_recording *r = l->runs[i].recording;
    if (r != NULL) {
        snprintf(name, sizeof(name), "rank %u", (unsigned)r->rank[rank]);
    } else {
        snprintf(name, sizeof(name), "%s", ty_trace_rank_name(&labels, rank));
    }
    snprintf(l->name, sizeof(l->name), "%s %s", ty_lanes_word(l, i, word), name);
    return l->name;
}

const char *ty_lanes_rank_label(void *arg, uint32_t rank)
{
    struct ty_lanes *l = arg;
    const uint32_t i = ty_lanes_locate(l, &rank);
    struct ty_trace_labels labels = {.run = l->runs[i].run};
    if (l->runs[i].recording != NULL) {
        const char *gpu = l->runs[i].recording->gpu[rank];
        return gpu[0] != '\0' ? gpu : "measured";
    }
    snprintf(l->label, sizeof(l->label), "%s", ty_trace_rank_label(&labels, rank));
    return l->label;
}

static bool grouped(const struct ty_trace_options *options)
{
    return options->order != NULL && strcmp(options->order, "run") == 0;
}

/* Of those, ranks of the run's own job that were measured, unless somebody chose. */
static int select_of(struct ty_lanes *l, uint32_t i, const struct ty_trace_options *options,
                     const char *ranks, struct ty_err *err)
{
    const struct ty_run *run = l->runs[i].run;
    struct ty_selection *s = &l->shown[i];
    uint32_t n = 0;
    const int rc =
        ty_select_ranks(run, ranks, grouped(options) ? NULL : options->order, &l->arena, s, err);
    if (rc < 0) {
        ty_hint(err, "this is about %s", l->runs[i].name);
        return rc;
    }
    for (uint32_t k = 0; k < s->n; k++) {
        if (s->ranks[k] < n_ranks_of(l, i) &&
            (options->ranks != NULL ||
             ty_diff_was_measured(l->runs, l->n, n_ranks_of(l, i), s->ranks[k]))) {
            s->ranks[n++] = s->ranks[k];
        }
    }
    s->n = n;
    return 0;
}

/* Of a simulated run. Where what is shown by itself was not measured, all that was. */
static int select_simulated(struct ty_lanes *l, uint32_t i, const struct ty_trace_options *options,
                            struct ty_err *err)
{
    const char *ranks =
        options->ranks != NULL ? options->ranks : l->runs[i].run->config->output.ranks;
    const int rc = select_of(l, i, options, ranks, err);
    return rc == 0 && l->shown[i].n == 0 && options->ranks == NULL
               ? select_of(l, i, options, "all", err)
               : rc;
}

/* Of a measured run: in the order of a simulated one of as many GPUs, else all. */
static int select_measured(struct ty_lanes *l, uint32_t i, struct ty_err *err)
{
    const struct ty_recording *r = l->runs[i].recording;
    const uint32_t like = first_simulated(l);
    const bool same = like < l->n && r->world == n_ranks_of(l, like);
    struct ty_selection *s = &l->shown[i];
    *s =
        (struct ty_selection){.ranks = ty_arena_array(&l->arena, uint32_t, (size_t)r->n_ranks + 1)};
    if (s->ranks == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t k = 0; same && k < l->shown[like].n; k++) {
        for (uint32_t m = 0; m < r->n_ranks; m++) {
            if (r->rank[m] == l->shown[like].ranks[k]) {
                s->ranks[s->n++] = m;
            }
        }
    }
    for (uint32_t m = 0; !same && m < r->n_ranks; m++) {
        s->ranks[s->n++] = m;
    }
    return 0;
}

int ty_lanes_select(struct ty_lanes *l, const struct ty_trace_options *options, struct ty_err *err)
{
    int rc = 0;
    if (first_simulated(l) == l->n && options->ranks != NULL &&
        strcmp(options->ranks, "all") != 0) {
        return ty_fail(err, TY_EUSAGE,
                       "--ranks %s: profiles do not say who is who; compare with a run file, or "
                       "leave the other ranks' files out",
                       options->ranks);
    }
    for (uint32_t i = 0; i < l->n && rc == 0; i++) {
        rc = l->runs[i].run != NULL ? select_simulated(l, i, options, err) : 0;
    }
    for (uint32_t i = 0; i < l->n && rc == 0; i++) {
        rc = l->runs[i].run == NULL ? select_measured(l, i, err) : 0;
    }
    return rc;
}

/* The ranks of all runs as numbers of the whole, in display order. */
int ty_lanes_order(struct ty_lanes *l, const struct ty_trace_options *options,
                   struct ty_trace *trace, struct ty_err *err)
{
    uint32_t first[TY_DIFF_RUNS_MAX] = {0}, total = 0, ranks = 0, longest = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        first[i] = ranks;
        ranks += n_ranks_of(l, i);
        total += l->shown[i].n;
        longest = l->shown[i].n > longest ? l->shown[i].n : longest;
    }
    uint32_t *order = ty_arena_array(&l->arena, uint32_t, (size_t)total + 1);
    if (order == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t k = 0; k < longest && !grouped(options); k++) {
        for (uint32_t i = 0; i < l->n; i++) {
            if (k < l->shown[i].n) {
                order[trace->n_ranks++] = first[i] + l->shown[i].ranks[k];
            }
        }
    }
    for (uint32_t i = 0; i < l->n && grouped(options); i++) {
        for (uint32_t k = 0; k < l->shown[i].n; k++) {
            order[trace->n_ranks++] = first[i] + l->shown[i].ranks[k];
        }
    }
    trace->ranks = order;
    return 0;
}
