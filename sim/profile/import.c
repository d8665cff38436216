/* import.c - reads profiles and writes the table of operators that they hold. */
#include "sim/profile/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/path.h"
#include "sim/document/json.h"
#include "sim/trainyard.h"

/* ---- rows of the table ----
 *
 * Samples become rows of a table.
 *
 * A row is the median of its samples. Of collectives it is that of the samples with most members,
 * each the shortest over these; where no other member's file is there, a kernel's time holds the
 * wait for the others, and the row is a low quantile instead: the members were together then, or
 * nearly so. */

#define LOW_QUANTILE 0.1 /* a guess; of ten samples or fewer it is the shortest */

static int key_order(const struct ty_import_key *x, const struct ty_import_key *y)
{
    int order = 8 * TY_ORDER(x->op, y->op) + 4 * TY_ORDER(x->role, y->role) +
                2 * TY_ORDER(x->kernel, y->kernel) + TY_ORDER(x->dtype, y->dtype);
    for (size_t i = 0; i < TY_IMPORT_DIMS && order == 0; i++) {
        order = TY_ORDER(x->dim[i], y->dim[i]);
    }
    return order;
}

/* Those of most members first. */
static int by_key(const void *a, const void *b)
{
    const struct ty_import_sample *x = a, *y = b;
    return 8 * key_order(&x->key, &y->key) + 4 * TY_ORDER(x->key.part, y->key.part) +
           2 * TY_ORDER(y->members, x->members) + TY_ORDER(x->ns, y->ns);
}

/* s[0 .. n) are of one key and part, most members first, then by time. */
static void make_row(struct ty_import_row *row, const struct ty_import_sample *s, uint32_t n)
{
    uint32_t best = 1;
    *row = (struct ty_import_row){.key = s->key, .members = s->members, .samples = n};
    for (uint32_t i = 0; i < n; i++) {
        row->gpu_ns += s[i].gpu_ns;
        best += i > 0 && s[i].members == s->members;
    }
    const bool waits = s->key.op >= TY_IMPORT_COLL && s->members == 1;
    const int64_t both = s[(best - 1) / 2].ns + s[best / 2].ns;
    const double middle = (double)both / 2;
    const uint32_t low = (uint32_t)((best - 1) * LOW_QUANTILE);
    row->time_us = (waits ? (double)s[low].ns : middle) / 1000;
    row->samples = best;
}

static int leave(struct ty_import *im, const struct ty_import_sample *s, uint32_t n)
{
    int rc = 0;
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        rc = ty_import_add_left(im, s[i].name, TY_IMPORT_NO_PARTNER, false, s[i].gpu_ns, 1);
    }
    return rc;
}

/* A row of each part; together they are one, if there are as many of each. */
static int join_parts(struct ty_import *im, const struct ty_import_sample *s, uint32_t n)
{
    struct ty_import_row whole, part;
    uint32_t parts = 0;
    bool even = true;
    for (uint32_t i = 0; i < n;) {
        uint32_t k = 1;
        while (i + k < n && s[i + k].key.part == s[i].key.part) {
            k++;
        }
        make_row(&part, &s[i], k);
        if (parts == 0) {
            whole = part;
        } else {
            even = even && part.samples == whole.samples;
            whole.time_us += part.time_us;
            whole.gpu_ns += part.gpu_ns;
        }
        parts++;
        i += k;
    }
    if (!even || parts != s->key.parts) {
        return leave(im, s, n);
    }
    im->rows[im->n_rows++] = whole;
    return 0;
}

/* colls.c */
static int import_make_rows(struct ty_import *im)
{
    int rc = 0;
    im->rows = ty_arena_array(&im->arena, struct ty_import_row, (size_t)im->n_samples + 1);
    if (im->rows == NULL) {
        return ty_fail_memory(im->err);
    }
    if (im->n_samples > 0) {
        qsort(im->samples, im->n_samples, sizeof(*im->samples), by_key);
    }
    for (uint32_t i = 0; i < im->n_samples && rc == 0;) {
        uint32_t n = 1;
        while (i + n < im->n_samples &&
               key_order(&im->samples[i].key, &im->samples[i + n].key) == 0) {
            n++;
        }
        rc = join_parts(im, &im->samples[i], n);
        i += n;
    }
    return rc;
}

void ty_import_coverage(const struct ty_import *im, int64_t *compute_ns, int64_t *communication_ns)
{
    *compute_ns = *communication_ns = 0;
    for (uint32_t i = 0; i < im->n_rows; i++) {
        const struct ty_import_row *row = &im->rows[i];
        *(row->key.op >= TY_IMPORT_COLL ? communication_ns : compute_ns) += row->gpu_ns;
    }
}

/* ---- the file ---- */

static void put_quoted(struct ty_text *t, const char *text)
{
    ty_text_add(t, "\"");
    while (*text != '\0') {
        const size_t n = strcspn(text, "\"\n");
        ty_text_add(t, "%.*s%s", (int)n, text,
                    text[n] == '"'    ? "\"\""
                    : text[n] == '\n' ? "_"
                                      : "");
        text += n + (text[n] != '\0');
    }
    ty_text_add(t, "\"");
}

/* Where the sizes of a key stand among the columns m, n, k, batch, sequence, heads, kv_heads,
 * head_dim, causal, elements, ranks, nodes, bytes. */
#define COLUMNS 13
#define CAUSAL  8

static void put_sizes(struct ty_text *t, const struct ty_import_key *key, int first, int n)
{
    for (int i = 0; i < COLUMNS; i++) {
        const bool here = i >= first && i < first + n;
        if (here && i == CAUSAL) {
            ty_text_add(t, "%s", key->dim[i - first] != 0 ? "true" : "false");
        } else if (here) {
            ty_text_add(t, "%llu", (unsigned long long)key->dim[i - first]);
        }
        ty_text_add(t, ",");
    }
}

static void put_key(struct ty_text *t, const struct ty_import_key *key)
{
    if (key->op >= TY_IMPORT_COLL) {
        ty_text_add(t, "%s,,,,", ty_coll_name((enum ty_coll)(key->op - TY_IMPORT_COLL)));
        put_sizes(t, key, 10, 3);
        return;
    }
    ty_text_add(t, "%s,%s,%s,%s,", ty_operator_name(key->op), ty_operator_role_name(key->role),
                ty_operator_kernel_name(key->op, key->kernel), ty_dtype_words[key->dtype].name);
    if (key->op == TY_OPERATOR_MATMUL) {
        put_sizes(t, key, 0, 3);
    } else if (key->op == TY_OPERATOR_ATTENTION) {
        put_sizes(t, key, 3, 6);
    } else {
        put_sizes(t, key, 9, 1);
    }
}

static void import_put_table(const struct ty_import *im, struct ty_text *t)
{
    const struct ty_profile_rank *first = &im->profile->ranks[0];
    char source[256], more[32] = "";
    if (im->profile->n_ranks > 1) {
        (void)snprintf(more, sizeof(more), " and %u more", (unsigned)im->profile->n_ranks - 1);
    }
    (void)snprintf(source, sizeof(source), "%.200s%s", ty_path_name(first->file), more);
    ty_text_add(t, "op,role,kernel,dtype,m,n,k,batch,sequence,heads,kv_heads,head_dim,causal,"
                   "elements,ranks,nodes,bytes,time_us,gpu,source,members,note\n");
    for (uint32_t i = 0; i < im->n_rows; i++) {
        const struct ty_import_row *row = &im->rows[i];
        put_key(t, &row->key);
        ty_text_add(t, "%.10g,", row->time_us);
        put_quoted(t, first->gpu);
        ty_text_add(t, ",");
        put_quoted(t, source);
        if (row->key.op < TY_IMPORT_COLL) {
            ty_text_add(t, ",,\"median of %u\"\n", (unsigned)row->samples);
            continue;
        }
        /* what trainyard writes holds no waiting */
        const uint32_t all = (uint32_t)row->key.dim[0];
        ty_text_add(t, ",%u,", (unsigned)(im->profile->own ? all : row->members));
        if (row->members > 1) {
            ty_text_add(t, "\"median of %u, each the shortest of %u members\"\n",
                        (unsigned)row->samples, (unsigned)row->members);
        } else {
            ty_text_add(t, "\"10 %% quantile of %u, of one member\"\n", (unsigned)row->samples);
        }
    }
}

/* ---- JSON ----
 *
 * What a profile says, for scripts. Times in seconds, sizes in bytes. */

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

static void import_put_json(const struct ty_import *im, struct ty_text *t)
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

#define CLASS(class) (1u << TY_PROFILE_##class)

/* How long any kernel of some classes runs; kernels come in order of start. */
struct cover {
    unsigned classes;
    int64_t sum, to;
};

static void add(struct cover *cover, const struct ty_profile_kernel *k)
{
    const int64_t end = k->start_ns + k->dur_ns;
    const int64_t from = k->start_ns > cover->to ? k->start_ns : cover->to;
    if ((cover->classes >> k->class & 1u) != 0) {
        cover->sum += end > from ? end - from : 0;
        cover->to = end > cover->to ? end : cover->to;
    }
}

static void measure(struct ty_import *im, uint32_t r, struct ty_import_lanes *l)
{
    const struct ty_profile_rank *rank = &im->profile->ranks[r];
    struct cover compute = {CLASS(COMPUTE), 0, INT64_MIN};
    struct cover communication = {CLASS(COMMUNICATION), 0, INT64_MIN};
    struct cover both = {CLASS(COMPUTE) | CLASS(COMMUNICATION), 0, INT64_MIN};
    struct cover any = {both.classes | CLASS(MEMORY), 0, INT64_MIN};
    int64_t first = INT64_MAX;
    for (uint32_t i = 0; i < rank->n_kernels; i++) {
        const struct ty_profile_kernel *k = &rank->kernels[i];
        if (!ty_import_kernel_chosen(im, r, k)) {
            continue;
        }
        add(&compute, k);
        add(&communication, k);
        add(&both, k);
        add(&any, k);
        first = k->start_ns < first ? k->start_ns : first;
        im->n_kernels++;
        im->class_ns[k->class] += k->dur_ns;
    }
    *l = (struct ty_import_lanes){
        .span = any.to > first ? any.to - first : 0,
        .busy = any.sum,
        .compute = compute.sum,
        .communication = communication.sum,
        .overlap = compute.sum + communication.sum - both.sum,
        .exposed = both.sum - compute.sum,
        .memory_only = any.sum - both.sum,
    };
    l->idle = l->span - l->busy;
}

static int import_measure_lanes(struct ty_import *im)
{
    im->lanes = ty_arena_array(&im->arena, struct ty_import_lanes, im->profile->n_ranks);
    if (im->lanes == NULL) {
        return ty_fail_memory(im->err);
    }
    for (uint32_t r = 0; r < im->profile->n_ranks; r++) {
        measure(im, r, &im->lanes[r]);
    }
    return 0;
}

#define NODE_GPUS 8u /* of most nodes for training since DGX-1 */

/* ---- which steps ---- */

/* Whether "2-5,7" has a number; -1: it is no such text. */
static int selects(const char *text, uint32_t number)
{
    int found = 0;
    for (const char *p = text;; p++) {
        char *end;
        if (*p < '0' || *p > '9') {
            return -1;
        }
        const unsigned long from = strtoul(p, &end, 10);
        const bool range = *end == '-' && end[1] >= '0' && end[1] <= '9';
        const unsigned long to = range ? strtoul(end + 1, &end, 10) : from;
        if (to < from || (*end != ',' && *end != '\0')) {
            return -1;
        }
        found = found || (number >= from && number <= to);
        if (*end == '\0') {
            return found;
        }
        p = end;
    }
}

/* Nothing was chosen: which steps there are, of the ranks that have any. */
static int no_such_step(const struct ty_import *im)
{
    const struct ty_profile *p = im->profile;
    uint32_t least = UINT32_MAX, most = 0;
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        for (uint32_t i = 0; i < p->ranks[r].n_steps; i++) {
            const uint32_t number = p->ranks[r].steps[i].number;
            least = number < least ? number : least;
            most = number > most ? number : most;
        }
    }
    return ty_fail(im->err, TY_EINPUT, "--steps %s: no such step; the profile has %u to %u",
                   im->steps, (unsigned)least, (unsigned)most);
}

static bool is_chosen(const struct ty_import *im, const struct ty_profile_step *step)
{
    return im->steps == NULL || selects(im->steps, step->number) == 1;
}

bool ty_import_kernel_chosen(const struct ty_import *im, uint32_t rank,
                             const struct ty_profile_kernel *k)
{
    return im->steps == NULL ||
           (k->step != TY_PROFILE_NONE && is_chosen(im, &im->profile->ranks[rank].steps[k->step]));
}

void ty_import_count_steps(const struct ty_import *im, uint32_t *cut, uint32_t *all)
{
    *cut = *all = 0;
    for (uint32_t r = 0; r < im->profile->n_ranks; r++) {
        const struct ty_profile_rank *rank = &im->profile->ranks[r];
        for (uint32_t i = 0; i < rank->n_steps; i++) {
            const bool chosen = is_chosen(im, &rank->steps[i]);
            *cut += chosen && rank->steps[i].cut;
            *all += chosen;
        }
    }
}

static int check_steps(struct ty_import *im)
{
    uint32_t cut, chosen;
    bool marks = false;
    for (uint32_t r = 0; r < im->profile->n_ranks; r++) {
        marks = marks || im->profile->ranks[r].n_steps > 0;
    }
    if (im->steps == NULL) {
        return 0;
    }
    if (selects(im->steps, 0) < 0) {
        return ty_fail(im->err, TY_EUSAGE,
                       "--steps %s: not a selection; write numbers of steps, such as 3 or 2-5,7",
                       im->steps);
    }
    if (!marks) {
        return ty_fail(im->err, TY_EINPUT,
                       "--steps %s: the profile has no ProfilerStep marks; call profiler.step() "
                       "after each step, or leave the option out",
                       im->steps);
    }
    ty_import_count_steps(im, &cut, &chosen);
    return chosen > 0 ? 0 : no_such_step(im);
}

/* ---- the whole ---- */

static int make_stores(struct ty_import *im)
{
    const bool made =
        ty_profile_store_init(&im->lefts) == 0 && ty_profile_store_init(&im->traffics) == 0;
    return made ? 0 : ty_fail_memory(im->err);
}

static int import(struct ty_import *im)
{
    int (*const parts[])(struct ty_import *) = {
        check_steps,         make_stores,           import_measure_lanes,
        ty_import_operators, ty_import_collectives, import_make_rows,
    };
    int rc = 0;
    for (size_t i = 0; i < TY_COUNT(parts) && rc == 0; i++) {
        rc = parts[i](im);
    }
    return rc;
}

static int put(const struct ty_import *im, bool json, char **report, char **table)
{
    struct ty_text summary = {.data = NULL}, rows = {.data = NULL};
    if (json) {
        import_put_json(im, &summary);
    } else {
        ty_import_put_report(im, &summary);
    }
    import_put_table(im, &rows);
    *report = ty_text_take(&summary);
    *table = ty_text_take(&rows);
    if (*report != NULL && *table != NULL) {
        return 0;
    }
    ty_text_free(*report);
    ty_text_free(*table);
    *report = *table = NULL;
    return ty_fail_memory(im->err);
}

int ty_import_kineto(const struct ty_import_options *options, char **report, char **table,
                     struct ty_err *err)
{
    const char *format = options->stats != NULL ? options->stats : "table";
    const bool json = strcmp(format, "json") == 0;
    struct ty_import im = {.gpus_per_node =
                               options->gpus_per_node != 0 ? options->gpus_per_node : NODE_GPUS,
                           .steps = options->steps,
                           .err = err};
    struct ty_profile *profile = NULL;
    *report = *table = NULL;
    if (!json && strcmp(format, "table") != 0) {
        return ty_fail(err, TY_EUSAGE, "--stats %s: unknown; write table or json", format);
    }
    int rc = ty_profile_read(&profile, options->paths, options->n_paths, err);
    im.profile = profile;
    if (rc == 0) {
        rc = import(&im);
    }
    if (rc == 0) {
        rc = put(&im, json, report, table);
    }
    free(im.samples);
    free(im.left);
    free(im.traffic);
    ty_profile_store_release(&im.lefts);
    ty_profile_store_release(&im.traffics);
    ty_arena_release(&im.arena);
    ty_profile_free(profile);
    return rc;
}
