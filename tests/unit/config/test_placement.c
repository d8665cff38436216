/* test_placement.c - runs with any order of the grid, any cluster shape, and ranks from a file. */
#include "sim/config/placement.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/noise.h"
#include "sim/run/figures.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

/* Two nodes of 6 GPUs: tensor groups of 4 straddle, three of 4 fill 12. */
static const char tiny[] =
    "cluster: {gpu: a100-sxm-40g, nodes: 2, gpus_per_node: 6, nvlink_bandwidth: 300 GB/s,\n"
    "  nics_per_node: %u, nic_bandwidth: 200 Gb/s, collectives: ring}\n"
    "model: {layers: 6, hidden: 1024, heads: 16, ffn: 4096, mlp: gelu, vocabulary: 32000,\n"
    "  sequence: 512, tied: true}\n"
    "layout: {tensor: %u, pipeline: %u, global_batch: 24, zero: %u, order: [%s, %s, %s, %s]%s}\n";

struct folder {
    struct temp_dir dir;
    struct ty_config *config;
    struct ty_run *run;
    struct ty_err err;
};

static void put(struct folder *f, const char *name, const char *text)
{
    FILE *file = fopen(temp_dir_file(&f->dir, name), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static int load(struct folder *f)
{
    f->err = (struct ty_err)TY_ERR_NONE;
    return ty_config_read(&f->config,
                          &(struct ty_source){.path = temp_dir_file(&f->dir, "run.yaml")}, &f->err);
}

static void plan(struct folder *f)
{
    ck_assert_msg(load(f) == 0, "%s", f->err.text);
    ck_assert_msg(ty_run_new(&f->run, f->config, &f->err) == 0, "%s", f->err.text);
}

static void end(struct folder *f)
{
    ty_run_free(f->run);
    ty_config_free(f->config);
}

/* Permutation number i of the four axes, as words. */
static void nth_order(uint32_t i, const char *order[4])
{
    const char *left[4] = {"tensor", "context", "data", "pipeline"};
    uint32_t radix = 6;
    for (uint32_t k = 0; k < 4; k++) {
        const uint32_t pick = i / radix;
        i %= radix;
        radix /= k < 2 ? 3 - k : 1;
        order[k] = left[pick];
        memmove(&left[pick], &left[pick + 1], (3 - pick) * sizeof(*left));
    }
}

/* Writes the run file, and a random map for ranks of two nodes of six when asked for. */
static void write_tiny(struct folder *f, uint32_t nics, uint32_t tensor, uint32_t pipeline,
                       uint32_t zero, uint32_t order, bool map)
{
    const char *word[4];
    char text[1200], lines[300];
    uint32_t gpu_of[12] = {0};
    size_t n = 0;
    nth_order(order, word);
    snprintf(text, sizeof(text), tiny, (unsigned)nics, (unsigned)tensor, (unsigned)pipeline,
             (unsigned)zero, word[0], word[1], word[2], word[3], map ? ", rank_file: map" : "");
    put(f, "run.yaml", text);
    for (uint32_t i = 0; i < 12; i++) {
        const uint32_t k = (uint32_t)(ty_hash4(order, i, tensor, 0) % (i + 1));
        gpu_of[i] = gpu_of[k];
        gpu_of[k] = i;
    }
    for (uint32_t i = 0; i < 12; i++) {
        n += (size_t)snprintf(lines + n, sizeof(lines) - n, "%u %u.%u\n", (unsigned)i,
                              (unsigned)gpu_of[i] / 6, (unsigned)gpu_of[i] % 6);
    }
    put(f, "map", lines);
}

/* Bytes that all GPUs send; with rings these do not depend on where anybody sits. */
static double all_traffic(const struct ty_run *run)
{
    struct ty_figures figures;
    double sum = 0;
    ty_run_figures(run, &figures);
    for (uint32_t i = 0; i < figures.n_traffic; i++) {
        sum += figures.traffic[i].nvlink_B + figures.traffic[i].net_B;
    }
    return sum;
}

TEST(every_order_runs_on_any_shape_with_any_map)
{
    static const struct {
        uint32_t nics, tensor, pipeline, zero;
    } shapes[] = {{6, 4, 1, 1}, {6, 2, 3, 0}, {4, 1, 6, 3}, {2, 4, 3, 1}, {1, 2, 2, 2}};
    struct folder f;
    temp_dir_make(&f.dir);
    for (size_t s = 0; s < TY_COUNT(shapes); s++) {
        double bytes = 0;
        for (uint32_t i = 0; i < 48; i++) {
            write_tiny(&f, shapes[s].nics, shapes[s].tensor, shapes[s].pipeline, shapes[s].zero,
                       i / 2, i % 2 == 1);
            plan(&f);
            f.config->run.contention = false; /* as the sweep */
            ck_assert_msg(ty_run_execute(f.run, &(struct ty_execute_options){.engine = "events"},
                                         &f.err) == 0,
                          "%s", f.err.text);
            const ty_ps makespan = f.run->timeline.makespan;
            ck_assert_msg(
                ty_run_execute(f.run, &(struct ty_execute_options){.engine = "sweep"}, &f.err) == 0,
                "%s", f.err.text);
            ck_assert_uint_eq(makespan, f.run->timeline.makespan);
            bytes = i == 0 ? all_traffic(f.run) : bytes;
            ck_assert_double_eq_tol(all_traffic(f.run), bytes, 1e-9 * bytes);
            end(&f);
        }
    }
    temp_dir_remove(&f.dir);
}

static const char two_nodes[] =
    "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
    "model: {preset: llama-7b}\n"
    "layout: {tensor: 4, global_batch: 64, order: [tensor, context, data, pipeline]%s}\n";

/* The makespan with ranks on these GPUs, in the order of ranks; NULL: without a file. */
static ty_ps makespan(struct folder *f, const uint32_t *gpu_of, uint64_t *digest)
{
    char text[600], lines[400];
    size_t n = 0;
    snprintf(text, sizeof(text), two_nodes, gpu_of != NULL ? ", rank_file: map" : "");
    put(f, "run.yaml", text);
    for (uint32_t i = 0; i < 16 && gpu_of != NULL; i++) {
        n += (size_t)snprintf(lines + n, sizeof(lines) - n, "%u %u.%u\n", (unsigned)i,
                              (unsigned)gpu_of[i] / 8, (unsigned)gpu_of[i] % 8);
    }
    put(f, "map", gpu_of != NULL ? lines : "");
    plan(f);
    ck_assert_msg(ty_run_execute(f->run, NULL, &f->err) == 0, "%s", f->err.text);
    const ty_ps out = f->run->timeline.makespan;
    *digest = ty_config_digest(f->config);
    end(f);
    return out;
}

TEST(a_rank_file_decides_what_crosses_nodes)
{
    uint32_t same[16], swapped[16], spread[16];
    uint64_t none_digest, same_digest, swapped_digest, spread_digest;
    struct folder f;
    temp_dir_make(&f.dir);
    for (uint32_t r = 0; r < 16; r++) {
        same[r] = r;
        swapped[r] = r ^ 8;            /* the nodes change places */
        spread[r] = r % 2 * 8 + r / 2; /* every tensor group on both nodes */
    }
    const ty_ps none = makespan(&f, NULL, &none_digest);
    ck_assert_uint_eq(makespan(&f, same, &same_digest), none);
    ck_assert_uint_eq(makespan(&f, swapped, &swapped_digest), none);
    ck_assert_uint_gt(makespan(&f, spread, &spread_digest), none + none / 10);
    /* Equal digests promise equal runs: a file that moves nobody is as good as none. */
    ck_assert(same_digest == none_digest);
    ck_assert(swapped_digest != none_digest && spread_digest != none_digest);
    ck_assert(spread_digest != swapped_digest);
    temp_dir_remove(&f.dir);
}

TEST(a_rank_file_does_what_the_same_order_does)
{
    static const char by_order[] =
        "cluster: {preset: dgx-a100-80g, nodes: 2}\nmodel: {preset: llama-7b}\n"
        "layout: {tensor: 4, global_batch: 64, order: [data, tensor, context, pipeline]}\n";
    uint32_t gpu_of[16];
    uint64_t digest;
    struct folder f;
    temp_dir_make(&f.dir);
    put(&f, "run.yaml", by_order);
    plan(&f);
    ck_assert_msg(ty_run_execute(f.run, NULL, &f.err) == 0, "%s", f.err.text);
    const ty_ps expected = f.run->timeline.makespan;
    end(&f);
    for (uint32_t r = 0; r < 16; r++) {
        gpu_of[r] = r % 4 * 4 + r / 4; /* tensor rank t of replica d sits on GPU 4 t + d */
    }
    ck_assert_uint_eq(makespan(&f, gpu_of, &digest), expected);
    temp_dir_remove(&f.dir);
}

TEST(a_wrong_file_is_reported_with_who_names_it)
{
    static const struct {
        const char *map, *message;
    } rows[] = {
        {"0 0.0\n", "map:1:1: the file ends without ranks 1, 2, 3, 4, 5, 6, 7, 8 and 7 more; every "
                    "rank from 0 to 15 needs a line\n    0 0.0\n    ^\nhint: the file is named by "
                    "layout.rank_file at "},
        {NULL, "map: cannot be opened (No such file or directory)\nhint: the file is named by "
               "layout.rank_file at "},
    };
    struct folder f;
    temp_dir_make(&f.dir);
    char text[600];
    snprintf(text, sizeof(text), two_nodes, ", rank_file: map");
    put(&f, "run.yaml", text);
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        if (rows[i].map != NULL) {
            put(&f, "map", rows[i].map);
        } else {
            (void)remove(temp_dir_file(&f.dir, "map"));
        }
        ck_assert_int_lt(load(&f), 0);
        ck_assert_int_eq(ty_exit_status(f.err.code), 3);
        ck_assert_msg(strstr(f.err.text, rows[i].message) != NULL, "row %zu: %s", i, f.err.text);
    }
    temp_dir_remove(&f.dir);
}

TEST(a_byte_order_mark_is_passed_over)
{
    char lines[500] = "\xEF\xBB\xBF", text[600];
    struct folder f;
    size_t n = 3;
    temp_dir_make(&f.dir);
    snprintf(text, sizeof(text), two_nodes, ", rank_file: map");
    put(&f, "run.yaml", text);
    for (uint32_t r = 0; r < 16; r++) {
        n += (size_t)snprintf(lines + n, sizeof(lines) - n, "%u %u.%u\n", (unsigned)r,
                              (unsigned)(1 - r / 8), (unsigned)r % 8);
    }
    put(&f, "map", lines);
    ck_assert_msg(load(&f) == 0, "%s", f.err.text);
    ck_assert_uint_eq(f.config->layout.gpu_of[0], 8);
    ty_config_free(f.config);
    temp_dir_remove(&f.dir);
}

TY_SUITE("placement")
