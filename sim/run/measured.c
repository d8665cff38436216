/* measured.c - see measured.h. */
#include "sim/run/measured.h"

#include <string.h>

#include "model/operators.h"
#include "sim/base/noise.h"
#include "topology/coll_measured.h"

/* ---- collectives ---- */

static int read_log(struct ty_config *c, const struct ty_place *at, const char *path,
                    struct ty_coll_log *log, struct ty_err *err)
{
    const char *beside = ty_config_beside(c, at, path);
    return beside != NULL ? ty_coll_log_load(log, beside, &c->arena, err)
                          : ty_fail(err, TY_ENOMEM, "memory is exhausted");
}

static int add_log(struct ty_config *c, struct ty_coll_measured *measured, const char *path,
                   struct ty_err *err)
{
    const struct ty_place at =
        ty_section_place(&c->sections[TY_SECTION_CLUSTER], "collectives.measured");
    struct ty_coll_table *table = &measured->table[measured->n];
    int rc = read_log(c, &at, path, &table->log, err);
    if (rc < 0) {
        ty_hint(err, "the file is named by cluster.collectives.measured at %s:%u", at.file,
                (unsigned)at.line);
        return rc;
    }
    const struct ty_coll_table *other = ty_coll_measured_same(measured, &table->log);
    if (other != NULL) {
        return ty_fail_at(err, TY_EINPUT, &at,
                          "cluster.collectives.measured: two logs of %s over %u ranks on %u node%s "
                          "(%s, %s); keep one",
                          ty_coll_name(table->log.coll), (unsigned)table->log.ranks,
                          (unsigned)table->log.nodes, table->log.nodes == 1 ? "" : "s",
                          other->log.file, table->log.file);
    }
    rc = ty_coll_table_init(table, &c->arena, err);
    measured->n += rc == 0;
    return rc;
}

static int load_collectives(struct ty_config *c, struct ty_err *err)
{
    const struct ty_string_list *files = &c->cluster.measured_files;
    struct ty_coll_measured *measured = ty_arena_array(&c->arena, struct ty_coll_measured, 1);
    struct ty_cluster *on = ty_arena_array(&c->arena, struct ty_cluster, 1);
    int code = 0;
    if (files->n == 0) {
        return 0;
    }
    if (measured == NULL || on == NULL) {
        return ty_fail(err, TY_ENOMEM, "memory is exhausted");
    }
    measured->table = ty_arena_array(&c->arena, struct ty_coll_table, files->n);
    if (measured->table == NULL) {
        return ty_fail(err, TY_ENOMEM, "memory is exhausted");
    }
    for (uint32_t i = 0; i < files->n; i++) {
        const int rc = add_log(c, measured, files->item[i], err);
        code = code < 0 ? code : rc;
    }
    *on = c->cluster;
    measured->on = on;
    c->cluster.measured = measured;
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
    const int rc = path != NULL ? ty_operators_load(table, path, &c->arena, err)
                                : ty_fail(err, TY_ENOMEM, "memory is exhausted");
    if (rc < 0) {
        ty_hint(err, "the file is named by cluster.operators at %s:%u", at.file, (unsigned)at.line);
        return rc;
    }
    c->cluster.operator_table = table;
    return 0;
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
    return hash_operators(hash_logs(0, config->cluster.measured), config->cluster.operator_table);
}
