/* measured.c - loads the tables of measurements that a run file names. */
#include "sim/config/measured.h"

#include <string.h>

#include "model/kernel/operators.h"
#include "sim/base/noise.h"
#include "sim/base/path.h"
#include "topology/collectives/measured.h"

/* ---- collectives ---- */

static int read_log(struct ty_config *c, const struct ty_place *at, const char *path,
                    struct ty_coll_log *log, struct ty_err *err)
{
    const char *beside = ty_config_beside(c, at, path);
    return beside != NULL ? ty_coll_log_load(log, beside, &c->arena, err) : ty_fail_memory(err);
}

/* Two tables that would answer for the same groups. */
static int check_same(const struct ty_coll_measured *measured, const struct ty_coll_log *log,
                      const struct ty_place *at, struct ty_err *err)
{
    const struct ty_coll_table *other = ty_coll_measured_same(measured, log);
    if (other == NULL) {
        return 0;
    }
    return ty_fail_at(err, TY_EINPUT, at,
                      "cluster.collectives.measured: two logs of %s over %u ranks on %u node%s "
                      "(%s, %s); keep one",
                      ty_coll_name(log->coll), (unsigned)log->ranks, (unsigned)log->nodes,
                      log->nodes == 1 ? "" : "s", other->log.file, log->file);
}

static int add_log(struct ty_config *c, struct ty_coll_measured *measured, const char *path,
                   struct ty_err *err)
{
    const struct ty_place at =
        ty_section_place(&c->sections[TY_SECTION_CLUSTER], "collectives.measured");
    struct ty_coll_table *table = &measured->table[measured->n];
    int rc = read_log(c, &at, path, &table->log, err);
    if (rc < 0) {
        ty_hint_named(err, "cluster.collectives.measured", &at);
        return rc;
    }
    rc = check_same(measured, &table->log, &at, err);
    if (rc == 0) {
        rc = ty_coll_table_init(table, &c->arena, err);
    }
    measured->n += rc == 0;
    return rc;
}

/* The rows of one group of a table of operators, from `from` on, as a log. All GPUs of a node are
 * taken to have been in such groups, as ranks of a training run are; all send messages at once. */
static uint32_t log_of_rows(const struct ty_operators *table, uint32_t from, uint32_t per_node,
                            struct ty_arena *arena, struct ty_coll_log *log)
{
    const struct ty_operator_coll *first = &table->coll[from];
    const uint32_t together = (first->ranks + first->nodes - 1) / first->nodes;
    uint32_t n = 0;
    while (from + n < table->n_colls && first[n].coll == first->coll &&
           first[n].ranks == first->ranks && first[n].nodes == first->nodes) {
        n++;
    }
    double *size_B = ty_arena_array(arena, double, n), *time_s = ty_arena_array(arena, double, n);
    for (uint32_t i = 0; i < n && size_B != NULL && time_s != NULL; i++) {
        size_B[i] = first[i].bytes;
        time_s[i] = first[i].seconds;
    }
    *log = (struct ty_coll_log){.file = table->file,
                                .coll = first->coll,
                                .ranks = first->ranks,
                                .nodes = first->nodes,
                                .per_node = together,
                                .sharing = 1,
                                .type = "rows of a table",
                                .n = n,
                                .size_B = size_B,
                                .time_s = size_B != NULL ? time_s : NULL};
    if (first->nodes > 1 && first->coll == TY_COLL_SEND_RECV) {
        log->sharing = per_node;
    } else if (first->nodes > 1 && per_node > together) {
        log->sharing = per_node / together;
    }
    return n;
}

static int add_rows(struct ty_config *c, struct ty_coll_measured *measured,
                    const struct ty_operators *table, const struct ty_place *at, struct ty_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < table->n_colls && rc == 0;) {
        struct ty_coll_table *out = &measured->table[measured->n];
        i += log_of_rows(table, i, c->cluster.gpus_per_node, &c->arena, &out->log);
        rc = out->log.time_s != NULL ? check_same(measured, &out->log, at, err)
                                     : ty_fail_memory(err);
        if (rc == 0) {
            rc = ty_coll_table_init(out, &c->arena, err);
        }
        measured->n += rc == 0;
    }
    return rc;
}

static bool is_table(const char *path)
{
    return ty_path_ends(path, ".csv");
}

/* A table that was measured on another GPU is refused where it says so. */
static int check_gpu(const struct ty_config *c, const struct ty_operators *table, const char *key,
                     const struct ty_place *at, struct ty_err *err)
{
    const int rc = ty_operators_check_gpu(table, c->cluster.gpu_preset, err);
    if (rc < 0) {
        ty_hint_named(err, key, at);
    }
    return rc;
}

/* The tables in cluster.collectives.measured; of others nothing is read. */
static int load_tables(struct ty_config *c, struct ty_operators *tables, struct ty_err *err)
{
    const struct ty_place at =
        ty_section_place(&c->sections[TY_SECTION_CLUSTER], "collectives.measured");
    int code = 0;
    for (uint32_t i = 0; i < c->cluster.collectives.measured_files.n; i++) {
        const char *file = c->cluster.collectives.measured_files.item[i];
        const char *path = is_table(file) ? ty_config_beside(c, &at, file) : NULL;
        int rc = path == NULL ? 0 : ty_operators_load(&tables[i], path, &c->arena, err);
        if (path != NULL && rc == 0) {
            rc = check_gpu(c, &tables[i], "cluster.collectives.measured", &at, err);
        }
        if (path != NULL && rc == 0 && tables[i].n_colls == 0) {
            rc = ty_fail_at(err, TY_EINPUT, &at,
                            "cluster.collectives.measured: a table without collectives (%s)", file);
        }
        code = code < 0 ? code : rc;
    }
    return code;
}

static int load_collectives(struct ty_config *c, struct ty_err *err)
{
    const struct ty_place at =
        ty_section_place(&c->sections[TY_SECTION_CLUSTER], "collectives.measured");
    const struct ty_operators *rows = c->cluster.gpu.operator_table;
    const struct ty_string_list *files = &c->cluster.collectives.measured_files;
    struct ty_coll_measured *measured = ty_arena_array(&c->arena, struct ty_coll_measured, 1);
    struct ty_cluster *on = ty_arena_array(&c->arena, struct ty_cluster, 1);
    struct ty_operators *tables = ty_arena_array(&c->arena, struct ty_operators, files->n + 1);
    size_t n = files->n + (rows != NULL ? rows->n_colls : 0);
    if (n == 0) {
        return 0;
    }
    if (measured == NULL || on == NULL || tables == NULL) {
        return ty_fail_memory(err);
    }
    int code = load_tables(c, tables, err);
    for (uint32_t i = 0; i < files->n; i++) {
        n += tables[i].n_colls;
    }
    measured->table = ty_arena_array(&c->arena, struct ty_coll_table, n);
    if (measured->table == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t i = 0; i < files->n; i++) {
        const int rc = is_table(files->item[i]) ? add_rows(c, measured, &tables[i], &at, err)
                                                : add_log(c, measured, files->item[i], err);
        code = code < 0 ? code : rc;
    }
    if (rows != NULL && rows->n_colls > 0) {
        const int rc = add_rows(c, measured, rows, &at, err);
        code = code < 0 ? code : rc;
    }
    *on = c->cluster;
    measured->on = on;
    c->cluster.collectives.measured = measured;
    return code;
}

/* ---- operators ---- */

static int load_operators(struct ty_config *c, struct ty_err *err)
{
    const struct ty_place at = ty_section_place(&c->sections[TY_SECTION_CLUSTER], "operators");
    struct ty_operators *table = ty_arena_array(&c->arena, struct ty_operators, 1);
    if (c->cluster.operators == NULL) {
        return 0;
    }
    const char *path = table != NULL ? ty_config_beside(c, &at, c->cluster.operators) : NULL;
    const int rc =
        path != NULL ? ty_operators_load(table, path, &c->arena, err) : ty_fail_memory(err);
    if (rc < 0) {
        ty_hint_named(err, "cluster.operators", &at);
        return rc;
    }
    c->cluster.gpu.operator_table = table;
    return check_gpu(c, table, "cluster.operators", &at, err);
}

int ty_measured_load(struct ty_config *config, struct ty_err *err)
{
    const int rc = load_operators(config, err);
    const int other = load_collectives(config, err);
    return rc < 0 ? rc : other;
}

/* ---- digest ---- */

static uint64_t hash_doubles(uint64_t h, const double *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof(bits));
        h = ty_hash4(h, bits, i, 0);
    }
    return h;
}

static uint64_t hash_logs(uint64_t h, const struct ty_coll_measured *measured)
{
    for (uint32_t i = 0; measured != NULL && i < measured->n; i++) {
        const struct ty_coll_log *log = &measured->table[i].log;
        h = ty_hash4(h, log->coll, (uint64_t)log->ranks << 32 | log->nodes, log->sharing);
        h = hash_doubles(h, log->size_B, log->n);
        h = hash_doubles(h, log->time_s, log->n);
    }
    return h;
}

static uint64_t hash_operators(uint64_t h, const struct ty_operators *table)
{
    for (uint32_t i = 0; table != NULL && i < table->n; i++) {
        const struct ty_operator_key *key = &table->curve[i].key;
        const struct ty_curve *curve = &table->curve[i].curve;
        h = ty_hash4(h, (uint64_t)key->op, (uint64_t)key->role,
                     (uint64_t)key->dtype << 32 | (uint32_t)key->kernel);
        h = hash_doubles(h, key->dim, TY_OPERATOR_DIMS);
        h = hash_doubles(h, curve->x, curve->n);
        h = hash_doubles(h, curve->log_y, curve->n);
    }
    return h;
}

uint64_t ty_measured_digest(const struct ty_config *config)
{
    return hash_operators(hash_logs(0, config->cluster.collectives.measured),
                          config->cluster.gpu.operator_table);
}
