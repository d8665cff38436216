/* find.c - makes a plan: options, run files, searches, unequal stages, and what fails where nothing
 * fits. */
#include "sim/plan/search/find.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/base/check.h"
#include "sim/base/clock.h"
#include "sim/base/number_text.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "sim/config/vary.h"
#include "sim/document/json.h"
#include "sim/plan/meshes.h"
#include "sim/plan/search/front.h"
#include "sim/plan/search/remedy.h"
#include "sim/plan/search/row_text.h"
#include "sim/plan/search/search.h"
#include "sim/plan/search/sure.h"
#include "sim/plan/search/values.h"
#include "sim/search/trial.h"
#include "sim/sweep/inputs.h"
#include "sim/sweep/sweep_line.h"
#include "sim/plan/search/answer.h"
#include "sim/sweep/sweep_store.h"

struct ty_plan_store {
    struct ty_sweep_store rows;
    const struct ty_plan_answer *answer;
    struct ty_plan_row *kept; /* [n_kept] rows of an earlier search, by number */
    bool *used;               /* [n_kept] needed by this search, too */
    uint32_t n_kept, cap;
    char *head;
    struct ty_arena arena;
};

/* ---- rows.csv ----
 *
 * Writes and reads rows.csv, and checks what an earlier search left. */

#define FIGURES(X)                                                                                 \
    X(step_time_s, step_s)                                                                         \
    X(tokens_per_s, tokens_per_s)                                                                  \
    X(mfu, mfu)                                                                                    \
    X(bubble_fraction, bubble_fraction)                                                            \
    X(peak_memory_bytes, peak_B)                                                                   \
    X(capacity_bytes, capacity_B)

/* ---- lines ---- */

static void put_head(struct ty_text *t, const struct ty_plan_result *result)
{
    const struct ty_plan_space *space = &result->space;
    char name[TY_PLAN_VALUE];
    ty_text_add(t, "row,gpus");
    if (result->set != NULL) {
        ty_text_add(t, ",%.*s", (int)strcspn(result->set, "="), result->set);
    }
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
    if (result->set != NULL) {
        ty_text_add(t, ",");
        ty_sweep_line_cell(t, strchr(result->set, '=') + 1);
    }
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

/* Returns a row that was kept, or NULL. */
static const struct ty_plan_row *plan_store_row(const struct ty_plan_store *store, uint32_t row)
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
                     "%s: row %" PRIu32 " has another result now: the run file, a file that it "
                     "names, or this program changed; remove it to start again",
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

/* Opens the folder of the options, or makes it, for a search of so many rows. Rows that are there
 * are an error without --resume. With it one of them is simulated again and must come out the same.
 * Processes that share the search meet here. To be released in any case. */
static int plan_store_open(struct ty_plan_store *store, const struct ty_plan_answer *answer,
                           uint32_t n_rows, const struct ty_plan_options *options,
                           struct ty_err *err)
{
    struct ty_text head = {.data = NULL};
    *store = (struct ty_plan_store){.answer = answer, .rows = {.fd = -1}};
    put_head(&head, &answer->result[0]);
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

/* Adds a finished row, unless it was kept. One call at a time. */
static int plan_store_add(struct ty_plan_store *store, const struct ty_plan_result *result,
                          const struct ty_plan_row *row, struct ty_err *err)
{
    struct ty_text line = {.data = NULL};
    const struct ty_plan_row *kept = plan_store_row(store, row->row);
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

/* Writes the rows of this search in order under their name. */
static int plan_store_finish(struct ty_plan_store *store, struct ty_err *err)
{
    for (uint32_t i = 0; i < store->n_kept; i++) { /* the earlier search simulated more */
        if (!store->used[i]) {
            ty_sweep_store_drop(&store->rows, store->kept[i].row);
        }
    }
    return ty_sweep_store_finish(&store->rows, err);
}

static void plan_store_release(struct ty_plan_store *store)
{
    ty_sweep_store_release(&store->rows);
    free(store->kept);
    free(store->head);
    ty_arena_release(&store->arena);
}

#define RESULTS_MAX TY_PLAN_RESULTS_MOST /* numbers of GPUs */
#define TOP_USUAL   10u
#define NODES_MOST  65536u /* of cluster.nodes */
#define SHOWN       3u     /* changes that would make the nearest layout fit */

/* ---- options ---- */

static int read_objective(const char *word, enum ty_plan_objective *out, struct ty_err *err)
{
    static const char *const words[] = {"time", "cost", "memory"};
    for (size_t i = 0; word != NULL && i < TY_COUNT(words); i++) {
        if (strcmp(word, words[i]) == 0) {
            *out = (enum ty_plan_objective)i;
            return 0;
        }
    }
    return word == NULL
               ? 0
               : ty_fail(err, TY_EUSAGE, "--objective %.40s: write time, cost or memory", word);
}

/* "64,128" into gpus[RESULTS_MAX]. */
static int read_gpus(const char *text, uint32_t *gpus, uint32_t *n, struct ty_err *err)
{
    *n = 0;
    for (const char *at = text;; at++) {
        uint32_t *out = &gpus[*n];
        if (!ty_scan_number(&at, NULL, UINT32_MAX, out) || *out == 0 ||
            (*at != ',' && *at != '\0')) {
            return ty_fail(err, TY_EUSAGE,
                           "--gpus %.80s: not a number of GPUs, or several with commas between; "
                           "write it like 64 or 64,128,256",
                           text);
        }
        for (uint32_t i = 0; i < *n; i++) {
            if (gpus[i] == *out) {
                return ty_fail(err, TY_EUSAGE, "--gpus %.80s: %u is there twice; keep one", text,
                               (unsigned)*out);
            }
        }
        (*n)++;
        if (*at == '\0') {
            return 0;
        }
        if (*n == RESULTS_MAX) {
            return ty_fail(err, TY_EUSAGE, "--gpus: more than %u numbers; write fewer",
                           RESULTS_MAX);
        }
    }
}

/* "5 %" or "0.05"; NULL: what a run calls tight. */
static int read_margin(const char *text, double *margin, struct ty_err *err)
{
    char why[256];
    *margin = TY_FITS_TIGHT;
    if (text != NULL && (ty_quantity_parse(text, TY_DIM_RATIO, margin, why, sizeof(why)) < 0 ||
                         !(*margin >= 0 && *margin < 1))) {
        return ty_fail(err, TY_EUSAGE,
                       "--margin %.40s: not a share of the memory below 100 %%; write one, such as "
                       "5 %%",
                       text);
    }
    return 0;
}

/* ---- a run file ---- */

/* Adds settings for as many nodes as make up so many GPUs. */
static int set_gpus(struct ty_source *source, uint32_t gpus, const struct ty_config *whole,
                    struct ty_arena *arena, struct ty_err *err)
{
    const uint32_t node = whole->cluster.gpus_per_node;
    if (whole->layout.nodes.n + whole->layout.gpus.n > 0) {
        return ty_fail(err, TY_EUSAGE,
                       "--gpus: the run file says where the job sits (layout.nodes, layout.gpus); "
                       "leave one of the two out");
    }
    if (gpus / node > NODES_MOST) {
        return ty_fail(err, TY_EUSAGE, "--gpus %u: more than %u nodes of %u GPUs; write at most %u",
                       (unsigned)gpus, NODES_MOST, (unsigned)node, (unsigned)(NODES_MOST * node));
    }
    if (gpus > node && gpus % node != 0) {
        return ty_fail(err, TY_EUSAGE,
                       "--gpus %u: not a whole number of nodes of %u GPUs; write %u or %u",
                       (unsigned)gpus, (unsigned)node, (unsigned)(gpus - gpus % node),
                       (unsigned)(gpus - gpus % node + node));
    }
    assert(gpus > 0 && (gpus < node || gpus % node == 0));
    const unsigned nodes = gpus < node ? 1 : gpus / node;
    const int rc =
        ty_plan_values_set(source, ty_arena_printf(arena, "cluster.nodes=%u", nodes), arena, err);
    return rc < 0 || gpus >= node
               ? rc
               : ty_plan_values_set(
                     source, ty_arena_printf(arena, "cluster.gpus_per_node=%u", (unsigned)gpus),
                     arena, err);
}

/* Reads the run file for a number of GPUs; 0: as many as the file has. */
static int read_result(struct ty_plan_result *r, const struct ty_plan_options *options,
                       const struct ty_plan_values *values, uint32_t gpus, struct ty_plan_answer *a,
                       struct ty_err *err)
{
    struct ty_source source = options->source;
    int rc = r->set != NULL ? ty_plan_values_set(&source, r->set, &r->arena, err) : 0;
    rc = rc < 0 ? rc : ty_config_read_open(&r->base, &source, err);
    if (rc == 0 && gpus > 0) {
        rc = set_gpus(&source, gpus, r->base, &r->arena, err);
        ty_config_free(r->base);
        r->base = NULL;
        rc = rc < 0 ? rc : ty_config_read_open(&r->base, &source, err);
    }
    if (rc < 0) {
        return rc;
    }
    a->no_noise = ty_trial_disable_noise(r->base, INFINITY);
    r->source = source;
    rc = ty_plan_space(&r->space, r->base, &source, values->over, values->n_over, &r->arena, err);
    return rc < 0 ? rc : read_margin(options->margin, &r->space.margin, err);
}

static int read_results(struct ty_plan_answer *a, const struct ty_plan_options *options,
                        struct ty_err *err)
{
    uint32_t gpus[RESULTS_MAX] = {0}, n = 1;
    uint64_t rows = 0;
    struct ty_plan_values values;
    int rc = options->gpus != NULL ? read_gpus(options->gpus, gpus, &n, err) : 0;
    rc = rc < 0 ? rc : ty_plan_values(&values, options, &a->arena, err);
    const uint32_t each = rc == 0 && values.n > 0 ? values.n : 1;
    if (rc == 0 && n * each > RESULTS_MAX) {
        rc = ty_fail(err, TY_EUSAGE, "--over: more than %u values and numbers of GPUs; write fewer",
                     RESULTS_MAX);
    }
    a->result = rc == 0 ? ty_arena_array(&a->arena, struct ty_plan_result, n * each) : NULL;
    if (a->result == NULL) {
        return rc < 0 ? rc : ty_fail_memory(err);
    }
    for (uint32_t i = 0; i < n * each && rc == 0; i++) {
        struct ty_plan_result *r = &a->result[a->n_results++];
        r->first = (uint32_t)rows;
        r->set = values.n > 0 ? values.set[i % each] : NULL;
        rc = read_result(r, options, &values, gpus[i / each], a, err);
        rows += r->space.n_points;
    }
    return rc == 0 && rows > UINT32_MAX ? ty_fail(err, TY_ELIMIT, "--gpus: too many layouts") : rc;
}

/* ---- all results together ---- */

/* Returns whether a layout on as many or fewer GPUs is as fast with as little memory. */
static bool is_beaten(const struct ty_plan_answer *a, uint32_t result,
                      const struct ty_plan_row *row)
{
    const struct ty_plan_result *own = &a->result[result];
    const uint32_t gpus = ty_plan_gpus(&own->space);
    for (uint32_t i = 0; i < a->n_results; i++) {
        const struct ty_plan_result *r = &a->result[i];
        const uint32_t others = ty_plan_gpus(&r->space);
        for (uint32_t k = 0; i != result && k < r->n_pareto && others <= gpus; k++) {
            const struct ty_plan_row *x = &r->pareto[k];
            const bool as_good = x->step_s <= row->step_s && x->peak_B <= row->peak_B;
            if (as_good && (others < gpus || x->row < row->row)) {
                return true;
            }
        }
    }
    return false;
}

static int join(struct ty_plan_answer *a, struct ty_err *err)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->n_results; i++) {
        n += a->result[i].n_pareto;
    }
    struct ty_plan_row *row = ty_arena_array(&a->arena, struct ty_plan_row, n + 1);
    uint32_t *of = ty_arena_array(&a->arena, uint32_t, n + 1);
    if (row == NULL || of == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t i = 0; i < a->n_results; i++) {
        for (uint32_t k = 0; k < a->result[i].n_pareto; k++) {
            if (!is_beaten(a, i, &a->result[i].pareto[k])) {
                of[a->n_pareto] = i;
                row[a->n_pareto++] = a->result[i].pareto[k];
            }
        }
    }
    assert(a->n_pareto <= n);
    a->pareto = row;
    a->pareto_of = of;
    return 0;
}

static void choose_best(struct ty_plan_answer *a)
{
    for (uint32_t i = 0; i < a->n_results; i++) {
        const struct ty_plan_result *r = &a->result[i], *best = &a->result[a->best];
        if (r->n_rows > 0 && (best->n_rows == 0 || ty_plan_worth(a, r, &r->row[0]) <
                                                       ty_plan_worth(a, best, &best->row[0]))) {
            a->best = i;
        }
    }
}

/* ---- the search ---- */

struct finding {
    struct ty_plan_answer *answer;
    const struct ty_plan_options *options;
    struct ty_plan_store store;
    uint32_t at;    /* index of the result that is being searched */
    double until_s; /* of ty_wall_s, when the search ends; 0: open */
};

static void tell(void *arg, double share)
{
    const struct finding *f = arg;
    f->options->progress(f->options->progress_arg, (f->at + share) / f->answer->n_results);
}

static int finished(void *arg, const struct ty_plan_result *result, const struct ty_plan_row *row,
                    struct ty_err *err)
{
    struct finding *f = arg;
    return plan_store_add(&f->store, result, row, err);
}

static const struct ty_plan_row *known(void *arg, uint32_t row)
{
    struct finding *f = arg;
    return plan_store_row(&f->store, row);
}

static int search_all(struct finding *f, struct ty_err *err)
{
    const struct ty_crew *crew = f->options->crew;
    struct ty_plan_answer *a = f->answer;
    const bool stores = f->options->folder != NULL;
    const struct ty_plan_search search = {
        .objective = a->objective,
        .top = f->options->top > 0 ? f->options->top : TOP_USUAL,
        .jobs = f->options->jobs,
        .shard = a->shard,
        .n_shards = a->n_shards,
        .crew = crew,
        .until_s = f->until_s,
        .stop = f->options->stop,
        .progress = f->options->progress != NULL ? tell : NULL,
        .progress_arg = f,
        .finished = stores && ty_crew_leads(crew) ? finished : NULL,
        .known = stores ? known : NULL,
        .arg = f,
    };
    int rc = 0;
    a->exact = true;
    for (f->at = 0; f->at < a->n_results && rc == 0; f->at++) {
        bool exact = false;
        rc = ty_plan_search(&a->result[f->at], &search, &exact, err);
        a->exact = a->exact && exact;
    }
    return rc;
}

static uint32_t all_rows(const struct ty_plan_answer *a)
{
    const struct ty_plan_result *last = &a->result[a->n_results - 1];
    return last->first + last->space.n_points;
}

static int search_and_store(struct finding *f, struct ty_err *err)
{
    struct ty_plan_answer *a = f->answer;
    const struct ty_plan_options *o = f->options;
    int rc = o->folder != NULL ? plan_store_open(&f->store, a, all_rows(a), o, err) : 0;
    rc = rc < 0 ? rc : search_all(f, err);
    if (rc == 0 && o->crew != NULL && !a->exact) {
        rc = ty_fail(err, TY_EIO, "interrupted; --resume continues after the finished rows");
    }
    if (rc == 0 && ty_crew_leads(o->crew) && o->folder != NULL && a->exact) {
        rc = plan_store_finish(&f->store, err);
    }
    plan_store_release(&f->store);
    return rc;
}

/* Checks the options of processes that share a search. */
static int check_crew(const struct ty_plan_options *options, struct ty_err *err)
{
    if (options->crew != NULL && options->n_shards > 0) {
        return ty_fail(err, TY_EUSAGE,
                       "--shard is for processes that do not know of each other; leave it out");
    }
    if (options->crew != NULL && options->within_s > 0) {
        return ty_fail(err, TY_EUSAGE,
                       "--within: processes that share a search end together; interrupt them");
    }
    if (options->crew != NULL && options->folder == NULL) {
        return ty_fail(err, TY_EUSAGE,
                       "processes that share a search put its rows into a folder; name it, such as "
                       "-o plan");
    }
    return 0;
}

/* Looks for unequal stages that are faster than the best result. An interrupted search does not
 * know that result, nor does a shard. */
static int find_uneven(struct ty_plan_answer *a, const struct ty_plan_options *options,
                       struct ty_err *err)
{
    assert(a->best < a->n_results);
    const struct ty_plan_result *best = &a->result[a->best];
    double step_s = best->n_rows > 0 ? best->row[0].step_s : 0;
    int rc = 0;
    if (!a->exact || best->n_rows == 0) {
        return 0;
    }
    if (options->uneven > 0) {
        rc = ty_plan_uneven(&best->space, step_s, options->uneven, options->stop, &a->uneven,
                            &a->arena, err);
        step_s = a->uneven.found ? a->uneven.stages.step_s : step_s;
    }
    if (rc == 0 && options->meshes > 0) {
        rc = ty_plan_meshes(&best->space, &step_s, options->meshes, options->stop, &a->uneven,
                            &a->arena, err);
    }
    return rc;
}

/* ---- where nothing fits ---- */

/* Returns whether a space has several values of a key. */
static bool varies(const struct ty_plan_space *space, uint32_t i)
{
    const uint32_t first = ty_plan_key_number(&space->point[0], i);
    bool several = false;
    for (uint32_t k = 1; k < space->n_points && !several; k++) {
        several = ty_plan_key_number(&space->point[k], i) != first;
    }
    return several;
}

/* Writes the searched keys of a layout: "layout.tensor 8, ...". */
static void put_layout(struct ty_text *t, const struct ty_plan_result *r, uint32_t point)
{
    char name[TY_PLAN_VALUE], value[TY_PLAN_VALUE];
    for (uint32_t i = 0; i < TY_PLAN_N_AXES; i++) {
        if (i != TY_PLAN_DATA && varies(&r->space, i)) {
            ty_text_add(t, "%s%s %s", t->len > 0 ? ", " : "", ty_plan_key_name(i, name),
                        ty_plan_key_value(&r->space, &r->space.point[point], i, value));
        }
    }
}

static void hint_remedies(const struct ty_remedies *list, struct ty_err *err)
{
    for (uint32_t i = 0; i < list->n && i < SHOWN; i++) {
        struct ty_text t = {.data = NULL};
        for (uint32_t k = 0; k < list->item[i].change.n; k++) {
            ty_text_add(&t, " --set ");
            ty_change_put(&t, list->item[i].change.set[k]);
        }
        char *sets = ty_text_take(&t);
        if (sets != NULL) {
            ty_hint(err, "the nearest would fit with%s", sets);
        }
        ty_text_free(sets);
    }
    if (list->n == 0) {
        ty_hint(err, "no single change makes it fit; more GPUs (--gpus N), a smaller "
                     "layout.global_batch or model.sequence may");
    }
}

/* Finds changes that would make the nearest layout fit. */
static int find_remedies(const struct ty_plan_result *r, struct ty_remedies *list,
                         struct ty_arena *arena)
{
    struct ty_config config;
    struct ty_run *run = NULL;
    int rc = ty_plan_apply(&r->space, &r->space.point[r->nearest], &config, NULL);
    rc = rc < 0 ? rc : ty_run_plan(&run, &config, NULL, NULL);
    rc = rc < 0 ? rc : ty_run_execute_folded(run, NULL);
    rc = rc < 0 ? rc : ty_run_remedies(run, 1, list, arena, NULL);
    ty_run_free(run);
    ty_config_drop(&config);
    return rc;
}

/* Fails with the layout that lacks least memory, and with what would make it fit. */
static int fail_nearest(const struct ty_plan_answer *a, struct ty_err *err)
{
    const struct ty_plan_result *r = &a->result[0];
    struct ty_arena arena = {.head = NULL};
    struct ty_remedies list = {.n = 0};
    struct ty_text layout = {.data = NULL};
    char all[32], has[64], needs[64];
    for (uint32_t i = 1; i < a->n_results; i++) {
        const struct ty_plan_result *x = &a->result[i];
        const bool less =
            x->nearest_peak_B - x->nearest_capacity_B < r->nearest_peak_B - r->nearest_capacity_B;
        r = less ? x : r;
    }
    put_layout(&layout, r, r->nearest);
    char *words = ty_text_take(&layout);
    if (words == NULL) {
        return ty_fail_memory(err);
    }
    const char *away = r->nearest_away;
    const unsigned gpus = ty_plan_gpus(&r->space), n = r->space.n_points;
    ty_fail(err, TY_EINFEASIBLE,
            "none of %s layout%s fits on %u GPU%s; nearest is %s, with %s of %s%s%s",
            ty_words_count(n, all, sizeof(all)), n == 1 ? "" : "s", gpus, gpus == 1 ? "" : "s",
            words[0] != '\0' ? words : "that one",
            ty_words_bytes(r->nearest_peak_B, needs, sizeof(needs)),
            ty_words_bytes(r->nearest_capacity_B, has, sizeof(has)),
            away != NULL ? " that a node has: " : "", away != NULL ? away : "");
    ty_text_free(words);
    if (find_remedies(r, &list, &arena) == 0) {
        hint_remedies(&list, err);
    }
    ty_arena_release(&arena);
    return TY_EINFEASIBLE;
}

/* Fails where layouts fit and none keeps the margin, with the first of those. */
static int fail_tight(const struct ty_plan_answer *a, struct ty_err *err)
{
    const struct ty_plan_result *r = &a->result[0];
    while (r->n_tight == 0) {
        r++;
    }
    const struct ty_plan_row *row = &r->tight[0];
    const double left = 1 - row->peak_B / row->capacity_B;
    struct ty_text layout = {.data = NULL};
    char margin[32], share[32], step[32], n[32];
    put_layout(&layout, r, row->row - r->first);
    char *words = ty_text_take(&layout);
    if (words == NULL) {
        return ty_fail_memory(err);
    }
    ty_fail(err, TY_EINFEASIBLE,
            "none of %s layout%s that fit%s leaves %s of the memory free (--margin); the best of "
            "them: %s%s%s a step, %s free",
            ty_words_count(r->n_fit, n, sizeof(n)), r->n_fit == 1 ? "" : "s",
            r->n_fit == 1 ? "s" : "", ty_words_share(r->space.margin, margin, sizeof(margin)),
            words, words[0] != '\0' ? ", " : "", ty_words_seconds(row->step_s, step, sizeof(step)),
            ty_words_share(left, share, sizeof(share)));
    ty_text_free(words);
    ty_hint(err, "--margin %.3g%% takes it; more GPUs (--gpus N) or --free layout leave more",
            floor(1000 * left) / 10);
    return TY_EINFEASIBLE;
}

/* ---- a plan ---- */

static int check_options(const struct ty_plan_answer *a, const struct ty_plan_options *options,
                         struct ty_err *err)
{
    if (options->top > TY_PLAN_TOP_MOST) {
        return ty_fail(err, TY_EUSAGE, "--top %u: at most %u rows are kept; write fewer",
                       (unsigned)options->top, TY_PLAN_TOP_MOST);
    }
    if (options->uneven + options->meshes > 0 &&
        (a->n_shards > 1 || a->objective != TY_PLAN_TIME)) {
        return ty_fail(err, TY_EUSAGE,
                       "%s: looks for what is faster than the best of all layouts; leave %s out",
                       options->uneven > 0 ? "--uneven" : "--meshes",
                       a->n_shards > 1 ? "--shard" : "--objective");
    }
    return 0;
}

/* Reads and checks everything before the search. */
static int prepare(struct ty_plan_answer *a, const struct ty_plan_options *options,
                   struct ty_err *err)
{
    int rc = read_objective(options->objective, &a->objective, err);
    rc = rc < 0 ? rc : check_options(a, options, err);
    rc = rc < 0 ? rc : check_crew(options, err);
    return rc < 0 ? rc : read_results(a, options, err);
}

/* Simulates the file as it stands, on the GPUs that it has. What cannot be run is no layout to
 * compare with. */
static int simulate_own(struct ty_plan_answer *a, const struct ty_plan_options *options,
                        struct ty_err *err)
{
    struct ty_config *own = a->result[0].space.own;
    struct ty_run *run = NULL;
    struct ty_bill bill;
    if (own == NULL || options->gpus != NULL || a->result[0].set != NULL || own->n_jobs > 0) {
        return 0;
    }
    if (a->no_noise) {
        (void)ty_trial_disable_noise(own, HUGE_VAL);
    }
    int rc = ty_run_plan(&run, own, NULL, NULL);
    rc = rc < 0 ? rc : ty_run_execute_folded(run, NULL);
    if (rc == 0) {
        ty_run_fullest(run, &bill);
        a->own = (struct ty_plan_own){
            .step_s = ty_s_from_ps(run->timeline.makespan) / own->run.steps,
            .peak_B = bill.total_B,
            .fits = ty_run_fits(run),
            .tight = ty_plan_is_tight(&a->result[0].space, bill.total_B, bill.capacity_B)};
    }
    ty_run_free(run);
    return rc == TY_ENOMEM ? ty_fail_memory(err) : 0;
}

int ty_plan_find(struct ty_plan_answer *a, const struct ty_plan_options *options,
                 struct ty_err *err)
{
    struct ty_plan_options held = *options;
    struct finding f = {.answer = a, .options = &held};
    const double t0 = ty_wall_s();
    f.until_s = options->within_s > 0 ? t0 + options->within_s : 0;
    *a = (struct ty_plan_answer){.n_shards = options->n_shards > 0 ? options->n_shards : 1,
                                 .shard = options->n_shards > 0 ? options->shard - 1 : 0};
    int rc = ty_source_hold(&held.source, options->crew, &a->arena, err);
    rc = ty_crew_meet(options->crew, rc < 0 ? rc : prepare(a, &held, err));
    rc = rc < 0 ? rc : search_and_store(&f, err);
    if (!ty_crew_leads(options->crew)) {
        return rc;
    }
    rc = rc < 0 ? rc : join(a, err);
    if (rc == 0) {
        if (options->stopped != NULL) {
            *options->stopped = !a->exact;
        }
        choose_best(a);
        rc = ty_plan_rank(a, options->top > 0 ? options->top : TOP_USUAL, err);
        rc = rc < 0 ? rc : find_uneven(a, options, err);
        rc = rc < 0 ? rc : simulate_own(a, options, err);
        if (rc == 0 && options->uncertain) {
            rc = ty_plan_sure(a, options->jobs, options->stop, err);
        }
        a->seconds = ty_wall_s() - t0;
    }
    uint32_t n_tight = 0;
    for (uint32_t i = 0; rc == 0 && i < a->n_results; i++) {
        n_tight += a->result[i].n_tight;
    }
    const bool none = rc == 0 && a->exact && a->result[a->best].n_rows == 0;
    return !none ? rc : n_tight > 0 ? fail_tight(a, err) : fail_nearest(a, err);
}

void ty_plan_answer_release(struct ty_plan_answer *a)
{
    for (uint32_t i = 0; i < a->n_results; i++) {
        struct ty_plan_result *r = &a->result[i];
        ty_plan_space_release(&r->space);
        ty_config_free(r->base);
        ty_arena_release(&r->arena);
    }
    ty_arena_release(&a->arena);
}
