/* json.c - a comparison for programs: seconds, bytes, shares in 0..1. */
#include "sim/diff/diff.h"
#include "sim/document/json.h"

static void put_side(struct ty_json *j, const struct ty_diff_side *s)
{
    const bool measured = s->from->run == NULL;
    char digest[TY_DIGEST_TEXT];
    ty_json_object(j, NULL);
    ty_json_text(j, "name", s->from->name);
    ty_json_text(j, "letter", (const char[]){s->letter, '\0'});
    ty_json_whole(j, "gpus", s->n_gpus);
    ty_json_whole(j, "steps", s->n_steps);
    ty_json_line(j, 5);
    ty_json_real(j, "step_time_s", s->step_s);
    ty_json_real(j, "tokens_per_step", s->tokens);
    ty_json_real(j, "tokens_per_s", s->tokens_per_s);
    ty_json_real(j, "mfu", s->mfu);
    ty_json_line(j, 5);
    ty_json_real(j, "idle_fraction", s->idle);
    ty_json_real(j, "peak_memory_bytes", s->peak_B);
    ty_json_bool(j, "measured", measured);
    ty_json_whole(j, "ranks", s->n_counted);
    if (!measured) {
        ty_json_line(j, 5);
        ty_json_whole(j, "fullest_stage", s->stage);
        ty_json_text(j, "framework", s->stack);
        ty_json_bool(j, "fits", s->fits);
        ty_json_text(j, "config_digest", ty_config_digest_text(s->from->run->config, digest));
    }
    ty_json_end(j);
}

static void put_remarks(struct ty_json *j, const struct ty_diff_pair *p)
{
    ty_json_line(j, 5);
    ty_json_array(j, "remarks");
    for (uint32_t i = 0; i < p->n_remarks; i++) {
        ty_json_text(j, NULL, p->remark[i]);
    }
    ty_json_end(j);
}

/* An item of a list of a pair: on a line of its own. */
static void put_row(struct ty_json *j)
{
    ty_json_line(j, 6);
    ty_json_object(j, NULL);
}

static void put_keys(struct ty_json *j, const struct ty_diff_pair *p)
{
    ty_json_line(j, 5);
    ty_json_array(j, "keys");
    for (uint32_t i = 0; i < p->n_keys; i++) {
        const struct ty_diff_key *key = &p->key[i];
        put_row(j);
        ty_json_text(j, "key", key->key);
        ty_json_text(j, "a", key->a);
        ty_json_text(j, "b", key->b);
        ty_json_bool(j, "given", key->given);
        ty_json_end(j);
    }
    ty_json_end(j);
}

static void put_parts(struct ty_json *j, const struct ty_diff_pair *p)
{
    const double whole = p->b->step_s - p->a->step_s;
    ty_json_line(j, 5);
    ty_json_array(j, "breakdown");
    for (uint32_t i = 0; i < p->n_parts; i++) {
        const struct ty_diff_part *part = &p->part[i];
        const double change = part->b - part->a;
        put_row(j);
        ty_json_text(j, "part", part->name);
        ty_json_real(j, "a_s", part->a);
        ty_json_real(j, "b_s", part->b);
        ty_json_real(j, "difference_s", change);
        ty_json_real(j, "share", whole < 0 || whole > 0 ? change / whole : 0);
        ty_json_end(j);
    }
    ty_json_end(j);
}

static void put_kind(struct ty_json *j, const char *key, const struct ty_diff_kind *kind)
{
    ty_json_object(j, key);
    ty_json_real(j, "count", kind->count);
    ty_json_real(j, "time_s", kind->seconds);
    ty_json_end(j);
}

static void put_kinds(struct ty_json *j, const struct ty_diff_pair *p)
{
    ty_json_line(j, 5);
    ty_json_array(j, "operations");
    for (uint32_t i = 0; i < p->n_kinds; i++) {
        const struct ty_diff_both *both = &p->kind[i];
        put_row(j);
        ty_json_text(j, "name", both->a.name);
        ty_json_text(j, "part", ty_transformer_words.buckets[both->a.bucket].name);
        ty_json_text(j, "group", both->a.group);
        put_kind(j, "a", &both->a);
        put_kind(j, "b", &both->b);
        ty_json_real(j, "difference_s", both->b.seconds - both->a.seconds);
        ty_json_end(j);
    }
    ty_json_end(j);
}

static void put_pair(struct ty_json *j, const struct ty_diff_pair *p, uint32_t run)
{
    ty_json_object(j, NULL);
    ty_json_whole(j, "run", run);
    ty_json_real(j, "step_time_difference_s", p->b->step_s - p->a->step_s);
    put_remarks(j, p);
    put_keys(j, p);
    put_parts(j, p);
    put_kinds(j, p);
    ty_json_end(j);
}

void ty_diff_json(const struct ty_diff *d, struct ty_text *t)
{
    struct ty_json j = ty_json_to_text(t);
    ty_json_object(&j, NULL);
    ty_json_lines(&j);
    ty_json_array(&j, "runs");
    ty_json_rows(&j);
    for (uint32_t i = 0; i < d->n; i++) {
        put_side(&j, &d->side[i]);
    }
    ty_json_end(&j);
    ty_json_array(&j, "against_first");
    ty_json_rows(&j);
    for (uint32_t i = 1; i < d->n; i++) {
        put_pair(&j, &d->pair[i], i);
    }
    ty_json_end(&j);
    ty_json_text(&j, "version", TRAINYARD_VERSION);
    ty_json_end(&j);
    ty_text_bytes(t, "\n", 1);
}
