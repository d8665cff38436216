/* json.c - what a profile says, for scripts. Times in seconds, sizes in bytes. */
#include "sim/document/json.h"
#include "sim/profile/import.h"

static void put_seconds(struct ty_json *j, const char *key, int64_t ns)
{
    ty_json_real(j, key, (double)ns * 1e-9);
}

static void put_rank(const struct ty_profile_rank *rank, const struct ty_import_lanes *l,
                     struct ty_json *j)
{
    ty_json_object(j, NULL);
    ty_json_whole(j, "rank", rank->rank);
    ty_json_text(j, "file", rank->file);
    ty_json_whole(j, "kernels", rank->n_kernels);
#define X(name) put_seconds(j, #name "_s", l->name);
    TY_IMPORT_LANES(X)
#undef X
    ty_json_array(j, "steps");
    for (uint32_t i = 0; i < rank->n_steps; i++) {
        const struct ty_profile_step *step = &rank->steps[i];
        ty_json_array(j, NULL);
        ty_json_whole(j, NULL, step->number);
        put_seconds(j, NULL, step->end_ns - step->start_ns);
        ty_json_end(j);
    }
    ty_json_end(j);
    ty_json_end(j);
}

/* Items on lines of their own, the end as well, also of none. */
static void begin_list(struct ty_json *j, const char *key)
{
    ty_json_array(j, key);
    ty_json_rows(j);
}

static void end_list(struct ty_json *j)
{
    ty_json_line(j, 2);
    ty_json_end(j);
}

static void put_ranks(const struct ty_import *im, struct ty_json *j)
{
    begin_list(j, "ranks");
    for (uint32_t r = 0; r < im->profile->n_ranks; r++) {
        put_rank(&im->profile->ranks[r], &im->lanes[r], j);
    }
    end_list(j);
}

static void put_kinds(const struct ty_import *im, struct ty_json *j)
{
    ty_json_object(j, "computation_s");
    for (int k = 0; k < TY_IMPORT_N_KINDS; k++) {
        put_seconds(j, ty_import_kind_words[k], im->kind_ns[k]);
    }
    ty_json_end(j);
}

static void put_traffic(const struct ty_import *im, struct ty_json *j)
{
    begin_list(j, "communication");
    for (uint32_t i = 0; i < im->n_traffic; i++) {
        const struct ty_import_traffic *f = &im->traffic[i];
        ty_json_object(j, NULL);
        ty_json_text(j, "name", ty_profile_coll_words[f->coll]);
        ty_json_text(j, "group", ty_profile_text(im->profile, f->desc));
        ty_json_whole(j, "ranks", f->ranks);
        ty_json_whole(j, "nodes", f->nodes);
        ty_json_whole(j, "kernels", f->count);
        put_seconds(j, "seconds", f->gpu_ns);
        ty_json_real(j, "bytes", f->bytes);
        ty_json_real(j, "bus_bytes_per_s", ty_import_bus_Bps(f));
        ty_json_end(j);
    }
    end_list(j);
}

static void put_table(const struct ty_import *im, struct ty_json *j)
{
    int64_t compute = 0, communication = 0;
    ty_import_coverage(im, &compute, &communication);
    ty_json_object(j, "table");
    ty_json_whole(j, "rows", im->n_rows);
    put_seconds(j, "computation_s", compute);
    put_seconds(j, "communication_s", communication);
    ty_json_end(j);
}

static void put_left(const struct ty_import *im, struct ty_json *j)
{
    begin_list(j, "not_in_table");
    for (uint32_t i = 0; i < im->n_left; i++) {
        const struct ty_import_left *left = &im->left[i];
        ty_json_object(j, NULL);
        ty_json_text(j, "name", ty_profile_text(im->profile, left->name));
        ty_json_whole(j, "kernels", left->count);
        put_seconds(j, "seconds", left->gpu_ns);
        ty_json_text(j, "why", ty_import_reasons[left->reason]);
        ty_json_end(j);
    }
    end_list(j);
}

static void put_all(const struct ty_import *im, struct ty_json *j)
{
    uint32_t cut, steps;
    ty_json_object(j, "all");
    ty_json_bool(j, "own", im->profile->own);
    put_seconds(j, "computation_s", im->class_ns[TY_PROFILE_COMPUTE]);
    put_seconds(j, "communication_s", im->class_ns[TY_PROFILE_COMMUNICATION]);
    put_seconds(j, "memory_s", im->class_ns[TY_PROFILE_MEMORY]);
    ty_import_count_steps(im, &cut, &steps);
    if (cut > 0) {
        ty_json_whole(j, "cut_steps", cut);
    }
    ty_json_end(j);
}

void ty_import_put_json(const struct ty_import *im, struct ty_text *t)
{
    struct ty_json j = ty_json_to_text(t);
    ty_json_object(&j, NULL);
    ty_json_line(&j, 2);
    ty_json_whole(&j, "world_size", im->profile->world);
    ty_json_whole(&j, "gpus_per_node", im->gpus_per_node);
    ty_json_text(&j, "gpu", im->profile->ranks[0].gpu);
    ty_json_whole(&j, "kernels", im->n_kernels);
    ty_json_lines(&j);
    put_ranks(im, &j);
    put_kinds(im, &j);
    put_traffic(im, &j);
    put_table(im, &j);
    put_left(im, &j);
    put_all(im, &j);
    ty_json_end(&j);
    ty_text_bytes(t, "\n", 1);
}
