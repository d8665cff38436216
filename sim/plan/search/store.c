/* store.c - writes and reads rows.csv, and checks what an earlier search left. */
#include "sim/plan/search/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/base/check.h"
#include "sim/base/number_text.h"
#include "sim/document/json.h"
#include "sim/plan/search/row_text.h"
#include "sim/plan/search/search.h"
#include "sim/sweep/inputs.h"
#include "sim/sweep/sweep_line.h"

#define FIGURES(X)                                                                                 \
    X(step_time_s, step_s)                                                                         \
    X(tokens_per_s, tokens_per_s)                                                                  \
    X(mfu, mfu)                                                                                    \
    X(bubble_fraction, bubble_fraction)                                                            \
    X(peak_memory_bytes, peak_B)                                                                   \
    X(capacity_bytes, capacity_B)

/* ---- lines ---- */

static void put_head(struct ty_text *t, const struct ty_plan_space *space)
{
    char name[TY_PLAN_VALUE];
    ty_text_add(t, "row,gpus");
    for (uint32_t i = 0; i < TY_PLAN_N_KEYS; i++) {
        if (ty_plan_key_is_told(space, i)) {
            ty_text_add(t, ",%s", ty_plan_key_name(i, name));
        }
    }
#define X(name, member) ty_text_add(t, "," #name);
    FIGURES(X)
#undef X
    ty_text_add(t, ",fullest_stage");
    for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
        ty_text_add(t, ",%s", ty_transformer_words.buckets[b].name);
    }
    ty_text_add(t, "\n");
}

/* Appends the number of a row, and its layout. */
static void put_inputs(struct ty_text *t, const struct ty_plan_result *result, uint32_t number)
{
    assert(number >= result->first && number - result->first < result->space.n_points);
    const struct ty_plan_point *point = &result->space.point[number - result->first];
    char value[TY_PLAN_VALUE];
    ty_text_add(t, "%" PRIu32 ",%" PRIu32, number + 1, ty_plan_gpus(&result->space));
    for (uint32_t i = 0; i < TY_PLAN_N_KEYS; i++) {
        if (ty_plan_key_is_told(&result->space, i)) {
            ty_text_add(t, ",");
            ty_sweep_line_cell(t, ty_plan_key_value(&result->space, point, i, value));
        }
    }
}

static void put_row(struct ty_text *t, const struct ty_plan_result *result,
                    const struct ty_plan_row *row)
{
    char number[TY_JSON_NUMBER];
    put_inputs(t, result, row->row);
#define X(name, member) ty_text_add(t, ",%s", ty_json_number(row->member, number));
    FIGURES(X)
#undef X
    ty_text_add(t, ",%" PRIu32, row->stage);
    for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
        ty_text_add(t, ",%s", ty_json_number(row->bucket_s[b], number));
    }
    ty_text_add(t, "\n");
}

/* Reads the number behind a comma. */
static bool read_number(const char **at, double *value)
{
    char *end = NULL;
    if (**at != ',') {
        return false;
    }
    *value = ty_strtod(*at + 1, &end);
    const bool any = end > *at + 1;
    *at = end;
    return any;
}

static bool read_row(const char *line, const struct ty_plan_result *result, uint32_t number,
                     struct ty_plan_row *row)
{
    struct ty_text inputs = {.data = NULL};
    double stage = 0;
    put_inputs(&inputs, result, number);
    bool good = !inputs.failed && strncmp(line, inputs.data, inputs.len) == 0;
    const char *at = line + (good ? inputs.len : 0);
    ty_text_release(&inputs);
    *row =
        (struct ty_plan_row){.row = number, .point = result->space.point[number - result->first]};
#define X(name, member) good = good && read_number(&at, &row->member);
    FIGURES(X)
#undef X
    good = good && read_number(&at, &stage);
    row->stage = (uint32_t)stage;
    for (uint32_t b = 0; b < TY_N_BUCKETS && good; b++) {
        good = read_number(&at, &row->bucket_s[b]);
    }
    return good && strcmp(at, "\n") == 0;
}

/* ---- rows of an earlier search ---- */

static const struct ty_plan_result *result_of(const struct ty_plan_answer *a, uint32_t row)
{
    uint32_t i = a->n_results - 1;
    while (row < a->result[i].first) {
        i--;
    }
    return &a->result[i];
}

static int keep(void *arg, uint32_t number, const char *line)
{
    struct ty_plan_store *store = arg;
    if (store->n_kept == store->cap) {
        const uint32_t cap = store->cap > 0 ? 2 * store->cap : 64;
        struct ty_plan_row *larger = realloc(store->kept, cap * sizeof(*larger));
        if (larger == NULL) {
            return TY_ENOMEM;
        }
        store->kept = larger;
        store->cap = cap;
    }
    return read_row(line, result_of(store->answer, number), number, &store->kept[store->n_kept])
               ? (store->n_kept++, 1)
               : TY_EINPUT;
}

static int by_row(const void *a, const void *b)
{
    const struct ty_plan_row *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

const struct ty_plan_row *ty_plan_store_row(const struct ty_plan_store *store, uint32_t row)
{
    const struct ty_plan_row wanted = {.row = row};
    return store->n_kept == 0
               ? NULL
               : bsearch(&wanted, store->kept, store->n_kept, sizeof(wanted), by_row);
}

/* Simulates a row of each file again. A change of the run file, of a file that it names or of this
 * program shows in no other way, and one table must not mix two of them. */
static int check_kept(const struct ty_plan_store *store, const struct ty_sweep_sample *sample,
                      struct ty_err *err)
{
    struct ty_text line = {.data = NULL};
    struct ty_plan_row again;
    const struct ty_plan_result *result = result_of(store->answer, sample->row);
    int rc = ty_plan_simulate(result, sample->row - result->first, &again, err);
    if (rc == 0) {
        put_row(&line, result, &again);
        rc = line.failed ? ty_fail_memory(err) : 0;
    }
    if (rc == 0 && strcmp(line.data, store->rows.rows.line[sample->row]) != 0) {
        rc = ty_fail(err, TY_EINPUT,
                     "%s: row %" PRIu32 " comes out differently now: the run file, a file that it "
                     "names, or this program is not what it was; remove it to start anew",
                     sample->path, sample->row + 1);
    }
    ty_text_release(&line);
    return rc;
}

/* ---- the folder ---- */

/* Checks that no file is overwritten that the plan reads. */
static int check_names(struct ty_plan_store *store, const struct ty_plan_options *options,
                       struct ty_err *err)
{
    static const char *const names[] = {"plan.json", "rows.csv", "best.yaml"};
    int rc = 0;
    for (size_t i = 0; i < TY_COUNT(names) && rc == 0; i++) {
        const char *path = ty_arena_printf(&store->arena, "%s/%s", options->folder, names[i]);
        rc = path != NULL ? ty_config_spares(&options->source, path, err) : ty_fail_memory(err);
    }
    return rc;
}

int ty_plan_store_open(struct ty_plan_store *store, const struct ty_plan_answer *answer,
                       uint32_t n_rows, const struct ty_plan_options *options, struct ty_err *err)
{
    struct ty_text head = {.data = NULL};
    *store = (struct ty_plan_store){.answer = answer, .rows = {.fd = -1}};
    put_head(&head, &answer->result[0].space);
    store->head = ty_text_take(&head);
    const char *path = ty_arena_printf(&store->arena, "%s/rows.csv", options->folder);
    if (store->head == NULL || path == NULL) {
        return ty_fail_memory(err);
    }
    if (mkdir(options->folder, 0777) != 0 && errno != EEXIST) {
        return ty_fail_write(err, options->folder, errno);
    }
    const struct ty_sweep_target target = {
        .what = "plan",
        .output = path,
        .header = store->head,
        .n_rows = n_rows,
        .member = options->crew != NULL ? options->crew->member : 0,
        .numbered = answer->n_shards > 1,
    };
    const struct ty_sweep_earlier earlier = {
        .resume = options->resume,
        .merge = options->merge,
        .n_merge = options->n_merge,
        .look = keep,
        .arg = store,
    };
    int rc = check_names(store, options, err);
    rc = rc < 0 ? rc : ty_sweep_store_open(&store->rows, &target, &store->arena, err);
    rc = rc < 0 ? rc : ty_sweep_store_read(&store->rows, &earlier, err);
    for (size_t i = 0; rc == 0 && i < store->rows.n_samples; i++) {
        rc = check_kept(store, &store->rows.sample[i], err);
    }
    rc = ty_crew_meet(options->crew, rc); /* no member writes before all have read */
    if (rc == 0) {
        rc = ty_crew_leads(options->crew) ? ty_sweep_store_begin(&store->rows, err) : 0;
        rc = ty_crew_meet(options->crew, rc);
    }
    if (store->n_kept > 1) {
        qsort(store->kept, store->n_kept, sizeof(*store->kept), by_row);
    }
    store->used = ty_arena_array(&store->arena, bool, store->n_kept + 1);
    return rc == 0 && store->used == NULL ? ty_fail_memory(err) : rc;
}

int ty_plan_store_add(struct ty_plan_store *store, const struct ty_plan_result *result,
                      const struct ty_plan_row *row, struct ty_err *err)
{
    struct ty_text line = {.data = NULL};
    const struct ty_plan_row *kept = ty_plan_store_row(store, row->row);
    if (kept != NULL) {
        assert(kept->row == row->row && kept < store->kept + store->n_kept);
        store->used[kept - store->kept] = true;
        return 0;
    }
    put_row(&line, result, row);
    char *text = ty_text_take(&line);
    if (text == NULL) {
        return ty_fail_memory(err);
    }
    return ty_sweep_store_add(&store->rows, row->row, text)
               ? 0
               : ty_sweep_store_fail(&store->rows, err);
}

int ty_plan_store_finish(struct ty_plan_store *store, struct ty_err *err)
{
    for (uint32_t i = 0; i < store->n_kept; i++) { /* the earlier search simulated more */
        if (!store->used[i]) {
            ty_sweep_store_drop(&store->rows, store->kept[i].row);
        }
    }
    return ty_sweep_store_finish(&store->rows, err);
}

void ty_plan_store_release(struct ty_plan_store *store)
{
    ty_sweep_store_release(&store->rows);
    free(store->kept);
    free(store->head);
    ty_arena_release(&store->arena);
}
