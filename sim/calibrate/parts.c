/* parts.c - parts of a machine as observations: the run file is read, nothing is run.
 *
 * The model is fitted, so tables of measurements that the run file itself names must not answer in
 * its place: they are set aside here, and the report says so. */
#include <math.h>

#include "sim/calibrate/calibrate.h"

/* Stronger than the run file, its overlays and --set. */
static const char *const set_aside[] = {"cluster.operators=none",
                                        "cluster.collectives.measured=none"};

int ty_cal_parts_open(struct ty_calibration *c, struct ty_config **config)
{
    const int rc = ty_config_read(config, &c->options->source, c->err);
    if (rc < 0) {
        return rc;
    }
    const bool operators = (*config)->cluster.operators != NULL;
    const bool logs = (*config)->cluster.collectives.measured_files.n > 0;
    if (operators && logs) {
        c->unused = "cluster.operators and cluster.collectives.measured";
    } else if (operators) {
        c->unused = "cluster.operators";
    } else if (logs) {
        c->unused = "cluster.collectives.measured";
    }
    return 0;
}

int ty_cal_parts_answer(const struct ty_calibration *c, const struct ty_cal_question *q,
                        ty_cal_part_fn *part, struct ty_err *err)
{
    const struct ty_source *own = &c->options->source;
    struct ty_arena arena = {.head = NULL};
    struct ty_config *config = NULL;
    struct ty_source source = *own;
    const char **sets =
        ty_arena_array(&arena, const char *, own->n_sets + q->n_sets + TY_COUNT(set_aside));
    source.sets = sets;
    source.n_sets = 0;
    for (size_t i = 0; sets != NULL && i < own->n_sets; i++) {
        sets[source.n_sets++] = own->sets[i];
    }
    for (size_t i = 0; sets != NULL && i < q->n_sets; i++) {
        sets[source.n_sets++] = q->sets[i];
    }
    for (size_t i = 0; sets != NULL && i < TY_COUNT(set_aside); i++) {
        sets[source.n_sets++] = set_aside[i];
    }
    int rc = sets == NULL ? ty_fail_memory(err) : ty_config_read(&config, &source, err);
    for (uint32_t i = 0; i < q->n_rows && rc == 0; i++) {
        rc = part(c, config, q->rows[i], &q->seconds[i], err);
    }
    if (rc == 0 && q->stand != NULL) {
        rc = ty_cal_locate_keys(c, config, q->stand, err);
    }
    ty_config_free(config);
    ty_arena_release(&arena);
    return rc;
}
