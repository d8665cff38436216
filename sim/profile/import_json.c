/* import_json.c - what a profile says, for scripts. Times in seconds, sizes in bytes. */
#include "sim/document/json.h"
#include "sim/profile/import.h"

static void put_seconds(struct ty_text *t, const char *key, int64_t ns)
{
    char buf[TY_JSON_NUMBER];
    ty_text_add(t, ", \"%s\": %s", key, ty_json_number((double)ns * 1e-9, buf));
}

static void put_steps(const struct ty_profile_rank *rank, struct ty_text *t)
{
    char buf[TY_JSON_NUMBER];
    ty_text_add(t, ", \"steps\": [");
    for (uint32_t i = 0; i < rank->n_steps; i++) {
        const struct ty_profile_step *step = &rank->steps[i];
        ty_text_add(t, "%s[%u, %s]", i > 0 ? ", " : "", (unsigned)step->number,
                    ty_json_number((double)(step->end_ns - step->start_ns) * 1e-9, buf));
    }
    ty_text_add(t, "]");
}

static void put_ranks(const struct ty_import *im, struct ty_text *t)
{
    ty_text_add(t, "  \"ranks\": [");
    for (uint32_t r = 0; r < im->profile->n_ranks; r++) {
        const struct ty_profile_rank *rank = &im->profile->ranks[r];
        const struct ty_import_lanes *l = &im->lanes[r];
        ty_text_add(t, "%s\n    {\"rank\": %u, \"file\": ", r > 0 ? "," : "", (unsigned)rank->rank);
        ty_json_put(t, rank->file);
        ty_text_add(t, ", \"kernels\": %u", (unsigned)rank->n_kernels);
        put_seconds(t, "span_s", l->span);
        put_seconds(t, "busy_s", l->busy);
        put_seconds(t, "compute_s", l->compute);
        put_seconds(t, "communication_s", l->communication);
        put_seconds(t, "overlap_s", l->overlap);
        put_seconds(t, "exposed_s", l->exposed);
        put_seconds(t, "memory_only_s", l->memory_only);
        put_seconds(t, "idle_s", l->idle);
        put_steps(rank, t);
        ty_text_add(t, "}");
    }
    ty_text_add(t, "\n  ],\n");
}

static void put_kinds(const struct ty_import *im, struct ty_text *t)
{
    char buf[TY_JSON_NUMBER];
    ty_text_add(t, "  \"computation_s\": {");
    for (int k = 0; k < TY_IMPORT_N_KINDS; k++) {
        ty_text_add(t, "%s\"%s\": %s", k > 0 ? ", " : "", ty_import_kind_word(k),
                    ty_json_number((double)im->kind_ns[k] * 1e-9, buf));
    }
    ty_text_add(t, "},\n");
}

static void put_traffic(const struct ty_import *im, struct ty_text *t)
{
    char buf[TY_JSON_NUMBER];
    ty_text_add(t, "  \"communication\": [");
    for (uint32_t i = 0; i < im->n_traffic; i++) {
        const struct ty_import_traffic *f = &im->traffic[i];
        ty_text_add(t, "%s\n    {\"name\": \"%s\", \"group\": ", i > 0 ? "," : "",
                    ty_profile_coll_word(f->coll));
        ty_json_put(t, ty_profile_text(im->profile, f->desc));
        ty_text_add(t, ", \"ranks\": %u, \"nodes\": %u, \"kernels\": %u", (unsigned)f->ranks,
                    (unsigned)f->nodes, (unsigned)f->count);
        put_seconds(t, "seconds", f->gpu_ns);
        ty_text_add(t, ", \"bytes\": %s", ty_json_number(f->bytes, buf));
        ty_text_add(t, ", \"bus_bytes_per_s\": %s}", ty_json_number(ty_import_bus_Bps(f), buf));
    }
    ty_text_add(t, "\n  ],\n");
}

static void put_left(const struct ty_import *im, struct ty_text *t)
{
    ty_text_add(t, "  \"not_in_table\": [");
    for (uint32_t i = 0; i < im->n_left; i++) {
        const struct ty_import_left *left = &im->left[i];
        ty_text_add(t, "%s\n    {\"name\": ", i > 0 ? "," : "");
        ty_json_put(t, ty_profile_text(im->profile, left->name));
        ty_text_add(t, ", \"kernels\": %u", (unsigned)left->count);
        put_seconds(t, "seconds", left->gpu_ns);
        ty_text_add(t, ", \"why\": ");
        ty_json_put(t, ty_import_reason_text((int)left->reason));
        ty_text_add(t, "}");
    }
    ty_text_add(t, "\n  ],\n");
}

void ty_import_put_json(const struct ty_import *im, struct ty_text *t)
{
    int64_t compute = 0, communication = 0;
    ty_text_add(t, "{\n  \"world_size\": %u, \"gpus_per_node\": %u, \"gpu\": ",
                (unsigned)im->profile->world, (unsigned)im->gpus_per_node);
    ty_json_put(t, im->profile->ranks[0].gpu);
    ty_text_add(t, ", \"kernels\": %llu,\n", (unsigned long long)im->n_kernels);
    put_ranks(im, t);
    put_kinds(im, t);
    put_traffic(im, t);
    ty_import_coverage(im, &compute, &communication);
    ty_text_add(t, "  \"table\": {\"rows\": %u", (unsigned)im->n_rows);
    put_seconds(t, "computation_s", compute);
    put_seconds(t, "communication_s", communication);
    ty_text_add(t, "},\n");
    put_left(im, t);
    ty_text_add(t, "  \"all\": {\"own\": %s", im->profile->own ? "true" : "false");
    put_seconds(t, "computation_s", im->compute_ns);
    put_seconds(t, "communication_s", im->communication_ns);
    put_seconds(t, "memory_s", im->memory_ns);
    ty_text_add(t, "}\n}\n");
}
