/* collectives.c - collectives timed alone as observations: the sizes of nccl-tests logs.
 *
 * Each stands next to the model's time of that collective over as many ranks on as many nodes, by
 * the algorithm that cluster.collectives says, without `collective_derate`. */
#include <math.h>
#include <string.h>

#include "sim/base/path.h"
#include "sim/calibrate/calibrate.h"
#include "topology/collectives/log.h"

#define ROWS_ASKED 256u /* as for kernels */

/* Bandwidths, then the latencies of the most used paths, then of the rarer ones. */
static const char *const keys[] = {
    "cluster.nvlink_efficiency",
    "cluster.nvlink_pair_efficiency",
    "cluster.nic_efficiency",
    "cluster.nvls_efficiency",
    "cluster.nvlink_latency",
    "cluster.nvlink_gather_latency",
    "cluster.net_latency",
    "cluster.net_step",
    "cluster.nvls_latency",
    "cluster.nvls_tree_latency",
    "cluster.nvlink_latency_per_rank",
    "cluster.nvlink_gather_latency_per_rank",
    "cluster.nvlink_step",
    "cluster.net_tree_step",
    "cluster.nvlink_tree_step",
    "cluster.nvlink_ll_efficiency",
    "cluster.nvlink_ll_latency",
    "cluster.nvlink_ll_latency_per_rank",
    "cluster.nvlink_floor",
    "cluster.nvlink_p2p_efficiency",
    "cluster.nvlink_p2p_latency",
    "cluster.net_p2p_efficiency",
    "cluster.net_p2p_latency",
    "cluster.net_ring_factor",
    "cluster.phase_overlap",
    NULL,
};

struct point {
    const struct ty_coll_log *log;
    uint32_t i; /* of its sizes */
};

struct logs {
    struct ty_coll_log *log; /* [n] */
    uint32_t n;
    struct point *point; /* by observation */
};

static const struct point *point_of(const struct ty_calibration *c, uint32_t row)
{
    return &((const struct logs *)c->data)->point[row];
}

/* ---- reading ---- */

/* Whether the machine of the run file has such a group. */
static int check_log(const struct ty_coll_log *log, const struct ty_cluster *cluster,
                     struct ty_err *err)
{
    if (log->per_node * log->nodes != log->ranks) {
        return ty_fail(err, TY_EINPUT,
                       "%s: %u ranks on %u nodes, up to %u on one: the model knows groups with as "
                       "many ranks on each node",
                       log->file, (unsigned)log->ranks, (unsigned)log->nodes,
                       (unsigned)log->per_node);
    }
    if (log->per_node > cluster->gpus_per_node) {
        return ty_fail(err, TY_EINPUT,
                       "%s: %u ranks on a node, but cluster.gpus_per_node is %u; give a run file "
                       "of the machine that was measured",
                       log->file, (unsigned)log->per_node, (unsigned)cluster->gpus_per_node);
    }
    if (log->nodes > 1 && cluster->net.nic_bandwidth <= 0) {
        return ty_fail(
            err, TY_EINPUT,
            "%s: %u nodes, but cluster.nic_bandwidth is missing; give the bandwidth of a "
            "network interface, such as 200 Gb/s",
            log->file, (unsigned)log->nodes);
    }
    return 0;
}

static int read_log(struct ty_calibration *c, struct logs *logs, const char *path,
                    const struct ty_cluster *cluster)
{
    struct ty_coll_log *log = &logs->log[logs->n];
    if (path[0] == '\0') {
        return ty_fail(c->err, TY_EUSAGE,
                       "--collectives %s: a name is missing; write paths of logs with commas "
                       "between",
                       c->options->collectives);
    }
    for (uint32_t i = 0; i < logs->n; i++) {
        if (strcmp(logs->log[i].file, path) == 0) {
            return ty_fail(c->err, TY_EUSAGE, "--collectives %s: named twice; keep one", path);
        }
    }
    int rc = ty_coll_log_load(log, path, &c->arena, c->err);
    if (rc == 0) {
        rc = check_log(log, cluster, c->err);
    }
    logs->n += rc == 0;
    return rc;
}

/* All that are named; the first wrong one does not hide the others. */
static int read_logs(struct ty_calibration *c, struct logs *logs, const struct ty_cluster *cluster)
{
    const char *list = c->options->collectives;
    uint32_t n = 1;
    int code = 0;
    for (const char *p = list; (p = strchr(p, ',')) != NULL; p++) {
        n++;
    }
    logs->log = ty_arena_array(&c->arena, struct ty_coll_log, n);
    for (uint32_t i = 0; i < n; i++) {
        const size_t len = strcspn(list, ",");
        const char *path = ty_arena_strndup(&c->arena, list, len);
        const int rc = path != NULL && logs->log != NULL ? read_log(c, logs, path, cluster)
                                                         : ty_fail_memory(c->err);
        code = code < 0 ? code : rc;
        list += len + 1;
    }
    return code;
}

static int take_points(struct ty_calibration *c, struct logs *logs)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < logs->n; i++) {
        n += logs->log[i].n;
    }
    const int rc = ty_cal_room(c, n);
    logs->point = ty_arena_array(&c->arena, struct point, (size_t)n + 1);
    if (rc < 0 || logs->point == NULL) {
        return rc < 0 ? rc : ty_fail_memory(c->err);
    }
    n = 0;
    for (uint32_t i = 0; i < logs->n; i++) {
        const struct ty_coll_log *log = &logs->log[i];
        for (uint32_t k = 0; k < log->n; k++) {
            logs->point[n] = (struct point){log, k};
            c->measured[n++] = log->time_s[k];
        }
    }
    c->data = logs;
    return 0;
}

static int read_all(struct ty_calibration *c)
{
    struct ty_config *config = NULL;
    struct logs *logs = ty_arena_array(&c->arena, struct logs, 1);
    int rc = logs == NULL ? ty_fail_memory(c->err) : ty_cal_parts_open(c, &config);
    if (rc == 0) {
        rc = read_logs(c, logs, &config->cluster);
    }
    if (rc == 0) {
        rc = take_points(c, logs);
    }
    ty_config_free(config);
    return rc;
}

/* ---- the evaluator ---- */

static int seconds_of(const struct ty_calibration *c, const struct ty_config *config, uint32_t row,
                      double *seconds, struct ty_err *err)
{
    const struct point *point = point_of(c, row);
    const struct ty_coll_log *log = point->log;
    const double bytes = log->size_B[point->i];
    const struct ty_reach reach = {.ranks = log->ranks,
                                   .nodes = log->nodes,
                                   .per_node = log->per_node,
                                   .sharing = log->sharing};
    struct ty_coll_cost cost;
    if (log->coll == TY_COLL_SEND_RECV) {
        ty_p2p_cost(&config->cluster, log->nodes == 1, bytes, &cost);
    } else {
        ty_coll_cost(&config->cluster, NULL, log->coll, bytes, &reach, &cost);
    }
    *seconds = ty_coll_seconds(&cost);
    return isfinite(*seconds) && *seconds > 0
               ? 0
               : ty_fail(err, TY_EINPUT, "no algorithm of this cluster can do it");
}

static int answer(const struct ty_calibration *c, const struct ty_cal_question *q,
                  struct ty_err *err)
{
    return ty_cal_parts_answer(c, q, seconds_of, err);
}

/* ---- words ---- */

/* A log; of a single one a decade of sizes. */
static const char *group(struct ty_calibration *c, uint32_t row)
{
    const struct logs *logs = c->data;
    const struct point *point = point_of(c, row);
    if (logs->n > 1) {
        return ty_path_name(point->log->file);
    }
    char size[64];
    const double decade = pow(10, floor(log10(point->log->size_B[point->i])));
    return ty_arena_printf(&c->arena, "from %s",
                           ty_quantity_format(decade, TY_DIM_BYTES, size, sizeof(size)));
}

static const char *name(struct ty_calibration *c, uint32_t row)
{
    const struct point *point = point_of(c, row);
    return ty_arena_printf(&c->arena, "%s, %.0f B", ty_path_name(point->log->file),
                           point->log->size_B[point->i]);
}

static const char *title(struct ty_calibration *c)
{
    return c->options->collectives;
}

const struct ty_cal_source ty_cal_collectives = {
    .option = "collectives",
    .times = "collective's time",
    .rows = "sizes",
    .one = "size",
    .grouped = "log, or of a single one decade of size",
    .rows_asked = ROWS_ASKED,
    .keys = keys,
    .keys_are_all = true,
    .read = read_all,
    .answer = answer,
    .group = group,
    .name = name,
    .title = title,
};
