/* calibration.h - a folder with a run file and measurements, and what a calibration makes of
 * them. */
#ifndef TY_TESTS_CALIBRATION_H
#define TY_TESTS_CALIBRATION_H

#include <math.h>

#include "sim/base/err.h"
#include "sim/config/config.h"
#include "sim/trainyard.h"
#include "tests/unit/json_tree.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

struct place {
    struct temp_dir dir;
    char run[192], rows[192], overlay[192];
    struct ty_arena arena;
    struct js *report; /* of the last calibration */
};

static inline void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static inline void place_make(struct place *p, const char *run)
{
    memset(p, 0, sizeof(*p));
    temp_dir_make(&p->dir);
    snprintf(p->run, sizeof(p->run), "%s", temp_dir_file(&p->dir, "run.yaml"));
    snprintf(p->rows, sizeof(p->rows), "%s", temp_dir_file(&p->dir, "rows.csv"));
    snprintf(p->overlay, sizeof(p->overlay), "%s", temp_dir_file(&p->dir, "overlay.yaml"));
    put(p->run, run);
}

static inline void place_remove(struct place *p)
{
    ty_arena_release(&p->arena);
    temp_dir_remove(&p->dir);
}

/* Calibrates the run file and keeps report and overlay. Returns the code. */
static inline int place_calibrate(struct place *p, const struct ty_calibrate_options *options,
                                  struct ty_err *err)
{
    char *report = NULL, *overlay = NULL, why[100];
    struct ty_calibrate_options o = *options;
    o.source.path = p->run;
    o.stats = "json";
    *err = (struct ty_err)TY_ERR_NONE;
    const int rc = ty_calibrate(&o, &report, &overlay, err);
    if (rc == 0) {
        char *kept = ty_arena_strndup(&p->arena, report, strlen(report));
        p->report = js_parse(&p->arena, kept, strlen(kept), why, sizeof(why));
        ck_assert_msg(p->report != NULL, "%s: %s", why, report);
        put(p->overlay, overlay);
    } else {
        ck_assert(report == NULL && overlay == NULL);
    }
    ty_text_free(report);
    ty_text_free(overlay);
    return rc;
}

static inline double number(const struct js *node, const char *key)
{
    const struct js *value = js_get(node, key);
    ck_assert_msg(value != NULL, "%s", key);
    return value->type == JS_NUMBER ? strtod(value->raw, NULL) : (double)NAN;
}

/* The report of a key; NULL when it was not fitted. */
static inline const struct js *key_of(const struct place *p, const char *name)
{
    for (const struct js *k = js_need(p->report, "keys")->first; k != NULL; k = k->next) {
        if (js_is(js_get(k, "key"), name)) {
            return k;
        }
    }
    return NULL;
}

static inline bool is_identified(const struct js *key)
{
    const struct js *answer = js_get(key, "identified");
    ck_assert(answer != NULL && answer->type == JS_BOOL);
    return answer->raw[0] == 't';
}

/* ---- what is to be recovered ---- */

/* The machine of the run file under settings that end with NULL; to be freed. */
static inline struct ty_config *machine(const struct place *p, const char *with,
                                        const char *const *sets)
{
    struct ty_err err = TY_ERR_NONE;
    struct ty_config *config = NULL;
    size_t n = 0;
    while (sets != NULL && sets[n] != NULL) {
        n++;
    }
    const struct ty_source source = {
        .path = p->run, .with = &with, .n_with = with != NULL ? 1 : 0, .sets = sets, .n_sets = n};
    ck_assert_msg(ty_config_read(&config, &source, &err) == 0, "%s", err.text);
    return config;
}

/* A key, its value in the base unit, and the setting for it. */
struct truth {
    const char *key;
    double value;
    const char *set;
};

static inline void sets_of(const struct truth *truth, size_t n, const char **sets)
{
    for (size_t i = 0; i < n; i++) {
        sets[i] = truth[i].set;
    }
    sets[n] = NULL;
}

/* Every key of truth[0..n) is fitted, identified and right. */
static inline void check_truth(const struct place *p, const struct truth *truth, size_t n,
                               double tolerance)
{
    for (size_t i = 0; i < n; i++) {
        const struct js *key = key_of(p, truth[i].key);
        ck_assert_msg(key != NULL, "%s is not fitted", truth[i].key);
        ck_assert_msg(fabs(number(key, "value") / truth[i].value - 1) < tolerance, "%s: %g",
                      truth[i].key, number(key, "value"));
        ck_assert_msg(is_identified(key), "%s", truth[i].key);
    }
}

#endif
