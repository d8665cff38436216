/* measured.c - `check`: measurements that replace models, and what they replace. */
#include <math.h>
#include <string.h>

#include "model/kernel/operators.h"
#include "sim/base/path.h"
#include "sim/base/words.h"
#include "sim/core/program/issue.h"
#include "sim/report/table.h"
#include "sim/run/gpus.h"
#include "topology/collectives/measured.h"

#define COLUMN      26
#define LINES_MAX   64u   /* groups told apart; real runs have fewer than twenty */
#define KERNELS_MAX 1024u /* kernels; a run has some thirty, and one per stage for the optimizer */

static void put_extent(struct ty_text *t, uint32_t ranks, uint32_t nodes)
{
    ty_text_add(t, "%u ranks on %u node%s", (unsigned)ranks, (unsigned)nodes,
                nodes == 1 ? "" : "s");
}

/* ---- logs ---- */

static double fit_error(const struct ty_coll_table *table, uint32_t i)
{
    const struct ty_coll_log *log = &table->log;
    return ty_coll_fit_seconds(&table->fit, log, log->size_B[i]) / log->time_s[i] - 1;
}

/* "largest error by decade of size: 1 kB +3.1 %, 10 kB -0.2 %". */
static void put_errors(struct ty_text *t, const struct ty_coll_table *table)
{
    const struct ty_coll_log *log = &table->log;
    ty_text_add(t, "    its largest error from");
    for (uint32_t i = 0; i < log->n;) {
        const double decade = floor(log10(log->size_B[i]));
        double worst = 0;
        char size[64];
        uint32_t k = i;
        for (; k < log->n && floor(log10(log->size_B[k])) == decade; k++) {
            const double error = fit_error(table, k);
            worst = fabs(error) > fabs(worst) ? error : worst;
        }
        ty_quantity_format(pow(10, decade), TY_DIM_BYTES, size, sizeof(size));
        worst = fabs(worst) < 0.0005 ? 0 : worst; /* no "-0.0 %" */
        ty_text_add(t, "%s %s: %+.1f %%", i == 0 ? "" : ",", size, 100 * worst);
        i = k;
    }
    ty_text_add(t, "\n");
}

static void put_log(struct ty_text *t, const struct ty_coll_table *table)
{
    const struct ty_coll_log *log = &table->log;
    char a[64], b[64];
    ty_text_add(t, "  %s: %s, ", ty_path_name(log->file), ty_coll_name(log->coll));
    put_extent(t, log->ranks, log->nodes);
    if (log->sharing > 1) {
        ty_text_add(t, " (%u groups at once on a node)", (unsigned)log->sharing);
    }
    ty_text_add(t, ", %u size%s from %s to %s, %s\n", (unsigned)log->n, log->n == 1 ? "" : "s",
                ty_words_bytes(log->size_B[0], a, sizeof(a)),
                ty_words_bytes(log->size_B[log->n - 1], b, sizeof(b)), log->type);
    ty_text_add(t, "    fit: latency %s, bus bandwidth %.4g GB/s\n",
                ty_words_seconds(table->fit.latency_s, a, sizeof(a)), table->fit.bus_Bps * 1e-9);
    put_errors(t, table);
}

/* ---- what they replace ---- */

/* A collective of the run, as often as it differs. */
struct use {
    const struct ty_kind *kind;
    struct ty_reach reach; /* ranks 0: a message */
};

static struct ty_reach reach_of(const struct ty_kind *kind)
{
    return (struct ty_reach){
        .ranks = kind->ranks,
        .nodes = kind->nodes,
        .per_node = kind->nodes > 0 ? (kind->ranks + kind->nodes - 1) / kind->nodes : 0,
        .sharing = kind->sharing};
}

static bool same_use(const struct use *a, const struct use *b)
{
    return strcmp(a->kind->group, b->kind->group) == 0 &&
           strcmp(a->kind->name, b->kind->name) == 0 &&
           strcmp(a->kind->algorithm, b->kind->algorithm) == 0 &&
           a->reach.ranks == b->reach.ranks && a->reach.nodes == b->reach.nodes &&
           a->reach.sharing == b->reach.sharing;
}

static void add_use(struct use *uses, uint32_t *n, const struct use *use)
{
    for (uint32_t i = 0; i < *n; i++) {
        if (same_use(&uses[i], use)) {
            return;
        }
    }
    if (*n < LINES_MAX) {
        uses[(*n)++] = *use;
    }
}

static enum ty_coll coll_of(const char *name)
{
    enum ty_coll coll = 0;
    while (coll < TY_COLL_SEND_RECV && strcmp(ty_coll_name(coll), name) != 0) {
        coll++;
    }
    return coll;
}

/* Why the model stays. */
static void put_reason(struct ty_text *t, const struct ty_run *run, const struct use *use)
{
    const struct ty_coll_measured *measured = run->config->cluster.collectives.measured;
    const enum ty_coll coll = coll_of(use->kind->name);
    for (uint32_t i = 0; i < measured->n && use->reach.ranks > 0; i++) {
        const struct ty_coll_log *log = &measured->table[i].log;
        if (log->coll == coll && log->ranks == use->reach.ranks && log->nodes == use->reach.nodes) {
            ty_text_add(t, "; %s was measured with %u group%s on a node, here %u share its NICs",
                        ty_path_name(log->file), (unsigned)log->sharing,
                        log->sharing == 1 ? "" : "s", (unsigned)use->reach.sharing);
            return;
        }
    }
    ty_text_add(t, ", no log of this");
}

static void put_use(struct ty_text *t, const struct ty_run *run, const struct use *use)
{
    const struct ty_kind *kind = use->kind;
    const struct ty_coll_table *table =
        use->reach.ranks > 0
            ? ty_coll_measured_find(&run->config->cluster, coll_of(kind->name), &use->reach)
            : NULL;
    ty_text_add(t, "  %s %s", kind->group, kind->name);
    ty_text_pad(t, COLUMN);
    if (use->reach.ranks > 0) {
        put_extent(t, use->reach.ranks, use->reach.nodes);
        ty_text_add(t, ": ");
    }
    if (strcmp(kind->algorithm, ty_coll_measured.name) == 0) {
        ty_text_add(t, "measured%s%s\n", table != NULL ? ", " : "",
                    table != NULL ? ty_path_name(table->log.file) : "");
        return;
    }
    ty_text_add(t, "model (%s)", kind->algorithm);
    put_reason(t, run, use);
    ty_text_add(t, "\n");
}

/* The kinds a pipeline rank issues; each is its own, but for those of computation. */
static void gang_uses(const struct ty_run *run, const struct ty_gang *gang, struct use *uses,
                      uint32_t *n)
{
    const struct ty_program *p = &run->lowered.program;
    uint8_t seen[(UINT16_MAX + 1) / 8] = {0}; /* bits */
    for (struct ty_issue at = ty_issue_of(p, gang); ty_issue_next(&at);) {
        const struct ty_kind *kind = &p->kinds[at.op->kind];
        const uint8_t bit = (uint8_t)(1u << at.op->kind % 8);
        if ((seen[at.op->kind / 8] & bit) == 0 && kind->group != NULL && kind->algorithm != NULL) {
            const struct use use = {kind, reach_of(kind)};
            add_use(uses, n, &use);
        }
        seen[at.op->kind / 8] |= bit;
    }
}

static void put_waiting(struct ty_text *t, const struct ty_operators *table)
{
    const uint32_t n = table != NULL ? ty_operators_waiting(table) : 0;
    if (n > 0) {
        ty_text_add(t,
                    "  of %u rows of communication in %s %u may hold waiting: not all members "
                    "were recorded\n",
                    (unsigned)table->n_colls, ty_path_name(table->file), (unsigned)n);
    }
}

static void put_collectives(struct ty_text *t, const struct ty_run *run)
{
    const struct ty_coll_measured *measured = run->config->cluster.collectives.measured;
    struct use uses[LINES_MAX];
    uint32_t n = 0;
    ty_text_add(t, "\nmeasured collectives\n");
    for (uint32_t i = 0; i < measured->n; i++) {
        put_log(t, &measured->table[i]);
    }
    ty_text_add(t, "collectives of this run, as seen from the first rank of each stage\n");
    for (uint32_t s = 0; s < run->lowered.program.n_gangs; s++) {
        gang_uses(run, &run->lowered.program.gangs[s], uses, &n);
    }
    for (uint32_t i = 0; i < n; i++) {
        put_use(t, run, &uses[i]);
    }
    put_waiting(t, run->config->cluster.gpu.operator_table);
}

/* ---- operators ---- */

/* A kernel of the run, and what the table says of it. */
struct kernel {
    struct ty_operator_key key;
    double size;
    bool found;
    double at;
};

struct kernels {
    struct kernel *row; /* [n] of KERNELS_MAX */
    uint32_t n;
};

static void note_kernel(void *arg, const struct ty_operator_key *key, double size,
                        const struct ty_operator_time *found)
{
    struct kernels *seen = arg;
    for (uint32_t i = 0; i < seen->n; i++) {
        /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): whole numbers without padding */
        if (seen->row[i].size == size && memcmp(&seen->row[i].key, key, sizeof(*key)) == 0) {
            return;
        }
    }
    if (seen->n < KERNELS_MAX) {
        seen->row[seen->n++] =
            (struct kernel){*key, size, found != NULL, found != NULL ? found->at : 0};
    }
}

/* Plans the run once more, on a cluster whose table tells what it is asked. */
static int look_up(const struct ty_run *run, struct kernels *seen, struct ty_arena *arena,
                   struct ty_err *err)
{
    struct ty_cluster cluster = run->config->cluster;
    struct ty_operators table = *cluster.gpu.operator_table;
    struct ty_lowered lowered = {.stage = NULL};
    seen->row = ty_arena_array(arena, struct kernel, KERNELS_MAX);
    if (seen->row == NULL) {
        return ty_fail_memory(err);
    }
    table.note = note_kernel;
    table.note_arg = seen;
    cluster.gpu.operator_table = &table;
    return ty_run_lower(run->config, &cluster, &lowered, arena, err);
}

static void put_kernel(struct ty_text *t, const struct kernel *k)
{
    char words[TY_OPERATOR_WORDS], sizes[TY_OPERATOR_WORDS];
    ty_text_add(t, "    %s", ty_operator_words(&k->key, words));
    ty_text_pad(t, COLUMN + 8);
    ty_text_add(t, "%s", ty_operator_sizes(&k->key, k->size, sizes));
    if (k->found && k->at != k->size) {
        ty_text_add(t, "; %s %.0f in the table, scaled by the model's ratio",
                    ty_operator_size_name(&k->key), k->at);
    }
    ty_text_add(t, "\n");
}

static void put_kernels(struct ty_text *t, const struct kernels *seen, bool found)
{
    for (uint32_t i = 0; i < seen->n; i++) {
        if (seen->row[i].found == found) {
            put_kernel(t, &seen->row[i]);
        }
    }
}

static int put_operators(struct ty_text *t, const struct ty_run *run, struct ty_err *err)
{
    const struct ty_operators *table = run->config->cluster.gpu.operator_table;
    struct ty_arena arena = {.head = NULL};
    struct kernels seen = {.n = 0};
    const int rc = look_up(run, &seen, &arena, err);
    uint32_t n = 0;
    for (uint32_t i = 0; i < seen.n; i++) {
        n += seen.row[i].found;
    }
    if (rc == 0) {
        ty_text_add(t,
                    "\nmeasured kernels\n  %s: %u rows; %u of the %u kernels of this run come "
                    "from it, derate and gemm_sustained come on top\n",
                    ty_path_name(table->file), (unsigned)table->n_rows, (unsigned)n,
                    (unsigned)seen.n);
        if (ty_run_gpus(run, 0) < run->lowered.grid.n_ranks) {
            ty_text_add(t, "  on %u x %s; on GPUs of other kinds all is by the model\n",
                        (unsigned)ty_run_gpus(run, 0), ty_run_gpu_name(run, 0));
        }
        put_kernels(t, &seen, true);
        ty_text_add(t, n < seen.n ? "  by the model, for lack of a row\n" : "");
        put_kernels(t, &seen, false);
    }
    ty_arena_release(&arena);
    return rc;
}

int ty_report_measured(const struct ty_run *run, struct ty_text *t, struct ty_err *err)
{
    if (run->config->cluster.collectives.measured != NULL) {
        put_collectives(t, run);
    }
    return run->config->cluster.gpu.operator_table != NULL ? put_operators(t, run, err) : 0;
}

/* ---- in short ---- */

struct cover {
    const struct ty_operators *table; /* or NULL */
    bool logs;                        /* of collectives are there, too */
    uint32_t kernels, kernels_found, products, products_found, colls, colls_found;
    uint32_t waiting; /* rows of the table */
};

static int find_cover(const struct ty_run *run, struct cover *cover, struct ty_err *err)
{
    const struct ty_cluster *cluster = &run->config->cluster;
    struct use uses[LINES_MAX] = {{.kind = NULL}};
    struct kernels seen = {.n = 0};
    struct ty_arena arena = {.head = NULL};
    int rc = 0;
    *cover = (struct cover){.table = cluster->gpu.operator_table,
                            .logs = cluster->collectives.measured != NULL};
    if (cover->table != NULL) {
        rc = look_up(run, &seen, &arena, err);
        cover->waiting = ty_operators_waiting(cover->table);
    }
    for (uint32_t i = 0; i < seen.n; i++) {
        const bool product = seen.row[i].key.op == TY_OPERATOR_MATMUL;
        cover->kernels_found += seen.row[i].found;
        cover->products += product;
        cover->products_found += product && seen.row[i].found;
    }
    cover->kernels = seen.n;
    for (uint32_t s = 0; s < run->lowered.program.n_gangs && cover->logs; s++) {
        gang_uses(run, &run->lowered.program.gangs[s], uses, &cover->colls);
    }
    for (uint32_t i = 0; i < cover->colls; i++) {
        cover->colls_found += strcmp(uses[i].kind->algorithm, ty_coll_measured.name) == 0;
    }
    ty_arena_release(&arena);
    return rc;
}

static void put_cover_of_table(struct ty_text *t, const struct cover *c)
{
    const char *file = ty_path_name(c->table->file);
    if (c->table->n == 0) {
        return;
    }
    ty_text_add(t, "  %u of the %u kernels of this run are from %s, the others the model's\n",
                (unsigned)c->kernels_found, (unsigned)c->kernels, file);
    if (c->kernels_found == 0 || (c->products > 0 && c->products_found == 0)) {
        ty_text_add(t,
                    "  none of its %u %s is there: the table has other shapes or another type "
                    "(model, layout,\n  micro-batch)\n",
                    (unsigned)(c->kernels_found == 0 ? c->kernels : c->products),
                    c->kernels_found == 0 ? "kernels" : "GEMMs");
    }
}

int ty_report_cover(const struct ty_run *run, struct ty_text *t, struct ty_err *err)
{
    struct cover c;
    const int rc = find_cover(run, &c, err);
    if (rc < 0 || (c.table == NULL && !c.logs)) {
        return rc;
    }
    ty_text_add(t, "\nmeasured (trainyard check lists what)\n");
    if (c.table != NULL) {
        put_cover_of_table(t, &c);
    }
    if (c.logs) {
        ty_text_add(t, "  %u of the %u kinds of communication of this run\n",
                    (unsigned)c.colls_found, (unsigned)c.colls);
    }
    put_waiting(t, c.table);
    return 0;
}

int ty_report_cover_json(const struct ty_run *run, struct ty_json *j, struct ty_err *err)
{
    struct cover c;
    const int rc = find_cover(run, &c, err);
    if (rc < 0 || (c.table == NULL && !c.logs)) {
        return rc;
    }
    ty_json_object(j, "measured");
    ty_json_whole(j, "kernels", c.kernels_found);
    ty_json_whole(j, "kernels_of_run", c.kernels);
    ty_json_whole(j, "collectives", c.colls_found);
    ty_json_whole(j, "collectives_of_run", c.colls);
    ty_json_whole(j, "rows_with_waiting", c.waiting);
    ty_json_end(j);
    return 0;
}
