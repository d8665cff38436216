/* page_schedules.c - what other schedules would do to a run, for its page: each that is legal here
 * executed on the same job, with its memory; next to it the share of idle time that its formula
 * promises for the passes of the run, where it has one that is claimed to hold. */
#include <math.h>

#include "sim/report/page/page.h"
#include "sim/run/pass_times.h"
#include "sim/search/neighbours.h"

/* Times of one of v chunks and q slices of a rank's work on a micro-batch, from those of one of
 * `own` pieces. A backward that was not split falls into halves (guess: both are one multiplication
 * per weight matrix). */
static struct ty_sched_times piece_times(const struct ty_sched_times *mean, uint32_t own,
                                         uint32_t pieces)
{
    const double scale = (double)own / pieces, half = mean->backward / 2;
    return (struct ty_sched_times){
        .forward = scale * mean->forward,
        .backward = scale * mean->backward,
        .input = scale * (mean->weight > 0 ? mean->input : half),
        .weight = scale * (mean->weight > 0 ? mean->weight : half),
        .overlap = -1,
    };
}

static uint32_t pieces_of(const struct ty_config *c)
{
    return ty_sched_chunks(&c->schedule) * ty_sched_slices(&c->schedule);
}

/* Share of idle time by the formula of a variant's schedule; NAN: there is none for it. */
static double promised(const struct ty_run *run, const struct ty_config *variant,
                       const struct ty_sched_times *mean)
{
    const struct ty_sched *sched = ty_sched_of(&variant->schedule);
    const struct ty_sched_shape shape = ty_sched_shape_of(
        &variant->schedule, variant->layout.pipeline, variant->layout.micro_batches);
    const uint32_t pieces = pieces_of(variant);
    const struct ty_sched_times times = piece_times(mean, pieces_of(run->config), pieces);
    if (sched->makespan == NULL || sched->asynchronous ||
        !ty_sched_in_domain(&variant->schedule, &shape, &times)) {
        return (double)NAN;
    }
    const double work = (double)shape.m * pieces * (times.forward + times.backward);
    return 1 - work / sched->makespan(&shape, &times);
}

static void put_item(struct ty_json *j, const struct ty_run *run, const struct ty_neighbour *n,
                     const struct ty_sched_times *mean)
{
    const struct ty_config *c = &n->trial.config;
    ty_json_object(j, NULL);
    ty_json_text(j, "name", ty_sched_of(&c->schedule)->name);
    ty_json_whole(j, "chunks", ty_sched_chunks(&c->schedule));
    ty_json_bool(j, "own", n->change.n == 0);
    ty_json_bool(j, "balance", n->topic == TY_NEIGHBOUR_BALANCE);
    ty_json_array(j, "set");
    for (uint32_t i = 0; i < n->change.n; i++) {
        ty_json_text(j, NULL, n->change.set[i]);
    }
    ty_json_end(j);
    ty_json_real(j, "step_s", n->trial.step_s);
    ty_json_real(j, "bubble", n->trial.bubble);
    ty_json_real(j, "formula", promised(run, c, mean));
    ty_json_real(j, "held", n->trial.held);
    ty_json_real(j, "peak", n->trial.peak_B);
    ty_json_real(j, "capacity", n->trial.capacity_B);
    ty_json_text(j, "verdict", ty_verdict_word(n->trial.verdict));
    ty_json_end(j);
}

int ty_page_put_schedules(struct ty_json *j, const struct ty_run *run, struct ty_err *err)
{
    const struct ty_stage_times st = ty_stage_times_of(run);
    struct ty_arena arena = {.head = NULL};
    struct ty_neighbours all = {.n = 0};
    const int rc =
        run->config->layout.pipeline > 1 ? ty_run_neighbours(run, true, &all, &arena, err) : 0;
    if (rc == 0) {
        ty_json_line(j, 0);
        ty_json_object(j, "schedules");
        ty_json_bool(j, "no_dice", all.no_noise);
        ty_json_whole(j, "left_out", all.left_out);
        ty_json_array(j, "items");
        ty_json_rows(j);
        for (uint32_t i = 0; i < all.n; i++) {
            put_item(j, run, &all.item[i], &st.mean);
        }
        ty_json_end(j);
        ty_json_end(j);
    }
    ty_arena_release(&arena);
    return rc;
}
