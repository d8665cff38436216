/* json.c - a plan's answer for programs: keys of the run file, seconds, bytes, shares. */
#include <stdio.h>

#include "sim/document/json.h"
#include "sim/plan/search/row_text.h"
#include "sim/report/plan/plan.h"
#include "sim/run/bill.h"

static void put_key(struct ty_json *j, const struct ty_plan_space *space,
                    const struct ty_plan_point *point, uint32_t i)
{
    char name[TY_PLAN_VALUE], value[TY_PLAN_VALUE];
    ty_plan_key_name(i, name);
    ty_plan_key_value(space, point, i, value);
    if (ty_plan_key_is_plain(i)) {
        ty_json_key(j, name);
        j->put(j->to, value, strlen(value));
    } else {
        ty_json_text(j, name, value);
    }
}

static void put_row(struct ty_json *j, const struct ty_plan_result *r,
                    const struct ty_plan_row *row)
{
    ty_json_object(j, NULL);
    ty_json_whole(j, "row", row->row + 1);
    for (uint32_t i = 0; i < TY_PLAN_N_KEYS; i++) {
        if (ty_plan_key_is_told(&r->space, i)) {
            put_key(j, &r->space, &row->point, i);
        }
    }
    ty_json_whole(j, "gpus", ty_plan_gpus(&r->space));
    ty_json_real(j, "step_time_s", row->step_s);
    ty_json_real(j, "tokens_per_s", row->tokens_per_s);
    ty_json_real(j, "mfu", row->mfu);
    ty_json_real(j, "peak_memory_bytes", row->peak_B);
    ty_json_real(j, "capacity_bytes", row->capacity_B);
    ty_json_text(j, "verdict", ty_verdict_word(ty_memory_verdict(row->peak_B, row->capacity_B)));
    ty_json_whole(j, "fullest_stage", row->stage);
    ty_json_real(j, "bubble_fraction", row->bubble_fraction);
    if (ty_plan_cost(r, row) > 0) {
        ty_json_real(j, "cost_per_step", ty_plan_cost(r, row));
    }
    ty_json_object(j, "breakdown");
    for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
        ty_json_real(j, ty_transformer_words.buckets[b].name, row->bucket_s[b]);
    }
    ty_json_end(j);
    ty_json_end(j);
}

static void put_rows(struct ty_json *j, const char *key, const struct ty_plan_result *r,
                     const struct ty_plan_row *row, uint32_t n)
{
    ty_json_array(j, key);
    ty_json_lines(j);
    for (uint32_t i = 0; i < n; i++) {
        put_row(j, r, &row[i]);
    }
    ty_json_end(j);
}

/* Writes the best of each number of GPUs, and the tokens/s of a GPU over those of the first. */
static void put_scaling(struct ty_json *j, const struct ty_plan_answer *a)
{
    const struct ty_plan_result *first = NULL;
    ty_json_array(j, "scaling");
    ty_json_lines(j);
    for (uint32_t i = 0; i < a->n_results; i++) {
        const struct ty_plan_result *r = &a->result[i];
        const uint32_t gpus = ty_plan_gpus(&r->space);
        first = first == NULL && r->n_rows > 0 ? r : first;
        ty_json_object(j, NULL);
        ty_json_whole(j, "gpus", gpus);
        ty_json_whole(j, "space", r->space.n_points);
        ty_json_whole(j, "fit", r->n_fit);
        if (r->n_rows > 0) {
            ty_json_whole(j, "row", r->row[0].row + 1);
            ty_json_real(j, "step_time_s", r->row[0].step_s);
            ty_json_real(j, "tokens_per_s", r->row[0].tokens_per_s);
            ty_json_real(j, "efficiency",
                         r->row[0].tokens_per_s / gpus /
                             (first->row[0].tokens_per_s / ty_plan_gpus(&first->space)));
        }
        ty_json_end(j);
    }
    ty_json_end(j);
}

static void put_pareto(struct ty_json *j, const struct ty_plan_answer *a)
{
    if (a->objective != TY_PLAN_MEMORY) {
        ty_json_real(j, "pareto_within", TY_PLAN_SLOWEST);
    }
    ty_json_array(j, "pareto");
    ty_json_lines(j);
    for (uint32_t i = 0; i < a->n_pareto; i++) {
        put_row(j, &a->result[a->pareto_of[i]], &a->pareto[i]);
    }
    ty_json_end(j);
}

/* Writes the unequal stages that were found, which are not of the space. */
static void put_uneven(struct ty_json *j, const struct ty_plan_answer *a)
{
    const struct ty_plan_uneven *u = &a->uneven;
    const struct ty_plan_space *space = &a->result[a->best].space;
    ty_json_object(j, "uneven");
    ty_json_whole(j, "dealt", u->dealt);
    ty_json_whole(j, "simulated", u->simulated);
    ty_json_array(j, "rows");
    if (u->found) {
        ty_json_object(j, NULL);
        for (uint32_t i = 0; i < TY_PLAN_N_KEYS; i++) {
            if (!ty_plan_uneven_replaces(u, space, i) && ty_plan_key_is_told(space, i)) {
                put_key(j, space, &space->point[u->point], i);
            }
        }
        for (uint32_t i = 0; i < u->n_keys; i++) {
            ty_json_text(j, u->key[i].name, u->key[i].value);
        }
        ty_json_real(j, "step_time_s", u->stages.step_s);
        ty_json_real(j, "peak_memory_bytes", u->stages.peak_B);
        ty_json_real(j, "capacity_bytes", u->stages.capacity_B);
        ty_json_end(j);
    }
    ty_json_end(j);
    ty_json_end(j);
}

void ty_plan_json(const struct ty_plan_answer *a, bool seconds, struct ty_text *t)
{
    static const char *const objectives[] = {"time", "cost", "memory"};
    const struct ty_plan_result *best = &a->result[a->best];
    struct ty_json j = ty_json_to_text(t);
    uint64_t space = 0, fit = 0, bounded = 0, simulated = 0;
    char digest[TY_DIGEST_TEXT];
    for (uint32_t i = 0; i < a->n_results; i++) {
        space += a->result[i].space.n_points;
        fit += a->result[i].n_fit;
        bounded += a->result[i].n_bounded;
        simulated += a->result[i].n_simulated;
    }
    ty_json_object(&j, NULL);
    ty_json_lines(&j);
    ty_json_whole(&j, "space", space);
    ty_json_whole(&j, "fit", fit);
    ty_json_whole(&j, "bounded", bounded);
    ty_json_whole(&j, "simulated", simulated);
    ty_json_bool(&j, "exact", a->exact);
    ty_json_text(&j, "objective", objectives[a->objective]);
    if (a->n_shards > 1) {
        ty_json_whole(&j, "shard", a->shard + 1);
        ty_json_whole(&j, "shards", a->n_shards);
    }
    put_rows(&j, "rows", best, best->row, best->n_rows);
    put_pareto(&j, a);
    if (a->uneven.dealt > 0) {
        put_uneven(&j, a);
    }
    if (a->n_results > 1) {
        put_scaling(&j, a);
    }
    ty_json_bool(&j, "chance_set_aside", a->no_noise);
    ty_json_text(&j, "config_digest", ty_config_digest_text(best->base, digest));
    ty_json_whole(&j, "seed", best->base->run.seed);
    ty_json_text(&j, "version", TRAINYARD_VERSION);
    if (seconds) {
        ty_json_real(&j, "seconds", a->seconds);
    }
    ty_json_end(&j);
    ty_text_bytes(t, "\n", 1);
}
