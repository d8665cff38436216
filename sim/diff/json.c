/* json.c - a comparison for programs: seconds, bytes, shares in 0..1. */
#include <inttypes.h>

#include "sim/document/json.h"
#include "sim/base/text.h"
#include "sim/diff/diff.h"

static void side(struct ty_text *t, const struct ty_diff_side *s)
{
    ty_text_add(t, "    {\"name\": ");
    ty_json_put(t, s->from->name);
    ty_text_add(t, ", \"letter\": \"%c\", \"gpus\": %u, \"steps\": %u,\n     ", s->letter,
                (unsigned)s->n_gpus, (unsigned)s->n_steps);
    ty_json_put_member(t, "step_time_s", s->step_s);
    ty_text_add(t, ", ");
    ty_json_put_member(t, "tokens_per_step", s->tokens);
    ty_text_add(t, ", ");
    ty_json_put_member(t, "tokens_per_s", s->tokens_per_s);
    ty_text_add(t, ", ");
    ty_json_put_member(t, "mfu", s->mfu);
    ty_text_add(t, ",\n     ");
    ty_json_put_member(t, "idle_fraction", s->idle);
    ty_text_add(t, ", ");
    ty_json_put_member(t, "peak_memory_bytes", s->peak_B);
    if (s->from->run == NULL) {
        ty_text_add(t, ", \"measured\": true, \"ranks\": %u}", (unsigned)s->n_counted);
        return;
    }
    ty_text_add(t, ", \"measured\": false, \"ranks\": %u,\n     \"fullest_stage\": %u, ",
                (unsigned)s->n_counted, (unsigned)s->stage);
    ty_text_add(t, "\"framework\": ");
    ty_json_put(t, s->stack);
    ty_text_add(t, ", \"fits\": %s, \"config_digest\": \"%016" PRIx64 "\"}",
                s->fits ? "true" : "false", ty_config_digest(s->from->run->config));
}

static void keys(struct ty_text *t, const struct ty_diff_pair *p)
{
    ty_text_add(t, "     \"keys\": [");
    for (uint32_t i = 0; i < p->n_keys; i++) {
        const struct ty_diff_key *key = &p->key[i];
        ty_text_add(t, "%s\n      {\"key\": \"%s\", \"a\": ", i == 0 ? "" : ",", key->key);
        ty_json_put(t, key->a);
        ty_text_add(t, ", \"b\": ");
        ty_json_put(t, key->b);
        ty_text_add(t, ", \"given\": %s}", key->given ? "true" : "false");
    }
    ty_text_add(t, "],\n");
}

static void remarks(struct ty_text *t, const struct ty_diff_pair *p)
{
    ty_text_add(t, "     \"remarks\": [");
    for (uint32_t i = 0; i < p->n_remarks; i++) {
        ty_text_add(t, i == 0 ? "" : ", ");
        ty_json_put(t, p->remark[i]);
    }
    ty_text_add(t, "],\n");
}

static void parts(struct ty_text *t, const struct ty_diff_pair *p)
{
    const double whole = p->b->step_s - p->a->step_s;
    ty_text_add(t, "     \"breakdown\": [");
    for (uint32_t i = 0; i < p->n_parts; i++) {
        const struct ty_diff_part *part = &p->part[i];
        ty_text_add(t, "%s\n      {\"part\": \"%s\", ", i == 0 ? "" : ",", part->name);
        ty_json_put_member(t, "a_s", part->a);
        ty_text_add(t, ", ");
        ty_json_put_member(t, "b_s", part->b);
        ty_text_add(t, ", ");
        ty_json_put_member(t, "difference_s", part->b - part->a);
        ty_text_add(t, ", ");
        ty_json_put_member(t, "share", whole < 0 || whole > 0 ? (part->b - part->a) / whole : 0);
        ty_text_add(t, "}");
    }
    ty_text_add(t, "],\n");
}

static void kind_side(struct ty_text *t, const char *key, const struct ty_diff_kind *kind)
{
    ty_text_add(t, "\"%s\": {", key);
    ty_json_put_member(t, "count", kind->count);
    ty_text_add(t, ", ");
    ty_json_put_member(t, "time_s", kind->seconds);
    ty_text_add(t, "}, ");
}

static void kinds(struct ty_text *t, const struct ty_diff_pair *p)
{
    ty_text_add(t, "     \"operations\": [");
    for (uint32_t i = 0; i < p->n_kinds; i++) {
        const struct ty_diff_both *both = &p->kind[i];
        ty_text_add(t, "%s\n      {\"name\": ", i == 0 ? "" : ",");
        ty_json_put(t, both->a.name);
        ty_text_add(
            t, ", \"part\": \"%s\", \"group\": ", ty_bucket_name((enum ty_bucket)both->a.bucket));
        if (both->a.group != NULL) {
            ty_json_put(t, both->a.group);
        } else {
            ty_text_add(t, "null");
        }
        ty_text_add(t, ", ");
        kind_side(t, "a", &both->a);
        kind_side(t, "b", &both->b);
        ty_json_put_member(t, "difference_s", both->b.seconds - both->a.seconds);
        ty_text_add(t, "}");
    }
    ty_text_add(t, "]}");
}

void ty_diff_json(const struct ty_diff *d, struct ty_text *t)
{
    ty_text_add(t, "{\n  \"runs\": [\n");
    for (uint32_t i = 0; i < d->n; i++) {
        side(t, &d->side[i]);
        ty_text_add(t, i + 1 < d->n ? ",\n" : "],\n");
    }
    ty_text_add(t, "  \"against_first\": [");
    for (uint32_t i = 1; i < d->n; i++) {
        const struct ty_diff_pair *p = &d->pair[i];
        ty_text_add(t, "%s\n    {\"run\": %u, ", i == 1 ? "" : ",", (unsigned)i);
        ty_json_put_member(t, "step_time_difference_s", p->b->step_s - p->a->step_s);
        ty_text_add(t, ",\n");
        remarks(t, p);
        keys(t, p);
        parts(t, p);
        kinds(t, p);
    }
    ty_text_add(t, "],\n  \"version\": \"%s\"\n}\n", TRAINYARD_VERSION);
}
