/* quick_run.c - see quick_run.h. */
#include "tests/common/quick_run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void give_up(const struct ty_err *err)
{
    fprintf(stderr, "%s\n", ty_err_text(err));
    abort();
}

struct quick_run quick_run(const char *yaml, const char *engine, const char *const *sets)
{
    struct quick_run q = {.config = NULL};
    struct ty_err *err = ty_err_new();
    char path[] = "/tmp/trainyard-quick-XXXXXX";
    const int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL || fputs(yaml, file) < 0 || fclose(file) != 0) {
        abort();
    }
    size_t n = 0;
    while (sets != NULL && sets[n] != NULL) {
        n++;
    }
    if (ty_config_read(&q.config, &(struct ty_source){.path = path, .sets = sets, .n_sets = n},
                       err) < 0) {
        give_up(err);
    }
    q.config->run.contention &= engine == NULL || strcmp(engine, "events") != 0;
    if (ty_run_new(&q.run, q.config, err) < 0 ||
        ty_run_execute(q.run, &(struct ty_execute_options){.engine = engine}, err) < 0) {
        give_up(err);
    }
    unlink(path);
    ty_run_figures(q.run, &q.figures);
    ty_err_free(err);
    return q;
}

void quick_run_free(struct quick_run *q)
{
    ty_run_free(q->run);
    ty_config_free(q->config);
}

double quick_run_traffic(const struct quick_run *q, const char *group)
{
    double bytes = 0;
    for (uint32_t i = 0; i < q->figures.n_traffic; i++) {
        if (strcmp(q->figures.traffic[i].group, group) == 0) {
            bytes += q->figures.traffic[i].nvlink_B + q->figures.traffic[i].net_B;
        }
    }
    return bytes;
}

void quick_run_demand_same(const char *yaml, const char *const *sets)
{
    struct quick_run a = quick_run(yaml, "sweep", sets), b = quick_run(yaml, "events", sets);
    double sum = 0;
    for (uint32_t k = 0; k < TY_N_BUCKETS; k++) {
        sum += a.figures.bucket_s[k];
    }
    ck_assert_double_eq(a.figures.step_s, b.figures.step_s);
    ck_assert_double_eq_tol(sum, a.figures.step_s, 1e-9 * sum);
    quick_run_free(&a);
    quick_run_free(&b);
}
