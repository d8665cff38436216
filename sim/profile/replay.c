/* replay.c - a profile becomes a program and its timeline, as they were measured. */
#include "sim/profile/replay.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/base/noise.h"
#include "sim/base/path.h"
#include "sim/cli_api.h"
#include "sim/profile/import.h"
#include "sim/profile/read/store.h"

/* ---- kinds ---- */

/* ---- groups ---- */

static const struct {
    const char *part; /* of the name, in lower case; the first that is found decides */
    const char *group;
    enum ty_category category;
} group_words[] = {
    {"expert_data", "edp", TY_CAT_COMM_DATA},
    {"edp", "edp", TY_CAT_COMM_DATA},
    {"dp_shard_mod_ep", "edp", TY_CAT_COMM_DATA},
    {"efsdp", "edp", TY_CAT_COMM_DATA},
    {"expert_tensor_parallel", "etp", TY_CAT_COMM_EXPERT},
    {"etp", "etp", TY_CAT_COMM_EXPERT},
    {"expert", "ep", TY_CAT_COMM_EXPERT},
    {"context", "cp", TY_CAT_COMM_CONTEXT},
    {"tensor", "tp", TY_CAT_COMM_TENSOR},
    {"pipeline", "pp", TY_CAT_COMM_PIPELINE},
    {"model", "mp", TY_CAT_COMM_DATA},
    {"mp", "mp", TY_CAT_COMM_DATA},
    {"world", "world", TY_CAT_COMM_DATA},
    {"data_parallel", "dp", TY_CAT_COMM_DATA},
    {"ep", "ep", TY_CAT_COMM_EXPERT},
    {"cp", "cp", TY_CAT_COMM_CONTEXT},
    {"tp", "tp", TY_CAT_COMM_TENSOR},
    {"pp", "pp", TY_CAT_COMM_PIPELINE},
    {"fsdp", "dp", TY_CAT_COMM_DATA},
    {"dp", "dp", TY_CAT_COMM_DATA},
    {"ddp", "dp", TY_CAT_COMM_DATA},
};

/* Whether a word stands in a name with no letter around it. */
static bool has_word(const char *name, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = strstr(name, word); at != NULL; at = strstr(at + 1, word)) {
        const bool left = at == name || !isalpha((unsigned char)at[-1]);
        if (left && !isalpha((unsigned char)at[n])) {
            return true;
        }
    }
    return false;
}

/* Of a kernel that communicates. */
static struct ty_replay_group replay_group_of(const struct ty_profile *profile,
                                              const struct ty_profile_rank *rank,
                                              const struct ty_profile_kernel *kernel)
{
    const uint32_t number =
        kernel->comm != TY_PROFILE_NONE ? rank->comms[kernel->comm].group : TY_PROFILE_NONE;
    char name[128] = "";
    if (number != TY_PROFILE_NONE) {
        const struct ty_profile_group *g = &profile->groups[number];
        const char *desc = ty_profile_text(profile, g->desc);
        const char *text = desc[0] != '\0' ? desc : ty_profile_text(profile, g->name);
        for (size_t i = 0; text[i] != '\0' && i + 1 < sizeof(name); i++) {
            name[i] = (char)tolower((unsigned char)text[i]);
        }
    }
    for (size_t i = 0; i < TY_COUNT(group_words); i++) {
        if (has_word(name, group_words[i].part)) {
            return (struct ty_replay_group){group_words[i].group, group_words[i].category, true};
        }
    }
    if (kernel->coll == TY_PROFILE_COLL_SEND || kernel->coll == TY_PROFILE_COLL_RECV ||
        kernel->coll == TY_PROFILE_COLL_SEND_RECV) {
        return (struct ty_replay_group){"pp", TY_CAT_COMM_PIPELINE, true};
    }
    return (struct ty_replay_group){"dp", TY_CAT_COMM_DATA, false};
}

/* ---- names ---- */

/* Of a demangled kernel: "void at::native::f<float>(int)" is f; other texts stay as they are. */
static void bare(const char *text, const char **from, size_t *n)
{
    const char *end = text + strcspn(text, "<(");
    const char *start = text;
    const bool demangled = *end != '\0' || strstr(text, "::") != NULL;
    for (const char *p = text; demangled && p < end; p++) {
        start = *p == ' ' || *p == ':' ? p + 1 : start;
    }
    *from = start < end ? start : text;
    *n = start < end ? (size_t)(end - start) : strlen(text);
}

/* Letters in lower case; whatever else lies between them is one blank. */
static size_t plain(const char *text, size_t n, char *out, size_t size)
{
    size_t len = 0;
    for (size_t i = 0; i < n && len + 2 < size; i++) {
        if (isalpha((unsigned char)text[i])) {
            out[len++] = (char)tolower((unsigned char)text[i]);
        } else if (len > 0 && out[len - 1] != ' ') {
            out[len++] = ' ';
        }
    }
    len -= len > 0 && out[len - 1] == ' ';
    out[len] = '\0';
    return len;
}

/* What its name is made of: equal numbers, equal names. */
static uint32_t replay_name_text(const struct ty_profile_rank *rank,
                                 const struct ty_profile_kernel *kernel)
{
    const bool op = kernel->op != TY_PROFILE_NONE && kernel->class == TY_PROFILE_COMPUTE &&
                    !rank->ops[kernel->op].annotation;
    return op ? rank->ops[kernel->op].name : kernel->name;
}

/* Letters, blanks and hyphens; NULL: no memory. */
static const char *replay_name(const struct ty_profile *profile, const struct ty_profile_rank *rank,
                               const struct ty_profile_kernel *kernel, struct ty_arena *arena)
{
    const char *text = ty_profile_text(profile, replay_name_text(rank, kernel));
    char name[96];
    size_t n = strlen(text);
    if (kernel->class == TY_PROFILE_COMMUNICATION) {
        text = ty_profile_coll_words[kernel->coll];
        return ty_arena_strndup(arena, text, strlen(text));
    }
    if (strncmp(text, "aten::", 6) == 0) {
        text += 6;
        n -= 6;
    } else {
        bare(text, &text, &n);
    }
    if (plain(text, n, name, sizeof(name)) == 0) {
        return "kernel";
    }
    return ty_arena_strndup(arena, name, strlen(name));
}

/* ---- a recording ---- */

#define PAUSES    500 /* pauses of 1/500 of a step end a stretch of a phase: what a picture shows */
#define SPAN_NS   ((int64_t)1000000000000000)
#define STEPS_MAX 65535u /* the number of a step has 16 bits */

struct builder {
    struct ty_recording *r;
    struct ty_builder b;
    struct ty_arena arena; /* of what is not needed in the end */
    const struct ty_profile_rank *rank;
    struct ty_replay_item *items;
    uint32_t n;
    struct ty_profile_store kinds; /* numbered as those of the program, but from 1 */
    int64_t *start_ns, *dur_ns;    /* [n_tasks] in the order of operations */
    size_t n_tasks;
    uint32_t *number; /* [n_steps] as the profiler counted them, ascending */
    uint32_t n_steps;
    struct ty_err *err;
};

/* ---- which kernels ---- */

static bool is_replayed(const struct ty_recording *r, const struct ty_profile_kernel *k)
{
    return k->dur_ns > 0 && (!r->marked || k->step != TY_PROFILE_NONE);
}

static int find_span(struct ty_recording *r, const char *path, struct ty_err *err)
{
    const struct ty_profile *p = r->profile;
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        r->marked = r->marked || p->ranks[i].n_steps > 0;
        r->n_unmarked += p->ranks[i].n_steps == 0;
    }
    r->base_ns = INT64_MAX;
    r->end_ns = INT64_MIN;
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        for (uint32_t k = 0; k < p->ranks[i].n_kernels; k++) {
            const struct ty_profile_kernel *kernel = &p->ranks[i].kernels[k];
            if (is_replayed(r, kernel)) {
                const int64_t end = kernel->start_ns + kernel->dur_ns;
                r->base_ns = kernel->start_ns < r->base_ns ? kernel->start_ns : r->base_ns;
                r->end_ns = end > r->end_ns ? end : r->end_ns;
            }
        }
    }
    if (r->end_ns <= r->base_ns) {
        return ty_fail(err, TY_EINPUT,
                       "%s: no kernel on a GPU%s; was the profile taken with "
                       "ProfilerActivity.CUDA?",
                       path, r->marked ? " in a step" : "");
    }
    return r->end_ns - r->base_ns <= SPAN_NS
               ? 0
               : ty_fail(err, TY_EINPUT,
                         "%s: from the first kernel to the last are %.3g s; more than 11 days are "
                         "no profile of a few steps",
                         path, 1e-9 * (double)(r->end_ns - r->base_ns));
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return TY_ORDER(x, y);
}

/* Appends the numbers of the steps in which a rank has a kernel. */
static int add_steps(struct builder *b, const struct ty_profile_rank *rank)
{
    bool *seen = ty_arena_array(&b->arena, bool, rank->n_steps);
    if (seen == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < rank->n_kernels; i++) {
        const uint32_t step = rank->kernels[i].step;
        if (is_replayed(b->r, &rank->kernels[i]) && step != TY_PROFILE_NONE && !seen[step]) {
            seen[step] = true;
            b->number[b->n_steps++] = rank->steps[step].number;
            b->r->n_cut_steps += rank->steps[step].cut;
        }
    }
    return 0;
}

/* Numbers of the steps that have a kernel, each once and in order: not every rank begins with the
 * same one, and steps in which nothing ran are none. Without marks there is one step. */
static int find_steps(struct builder *b, const char *path)
{
    const struct ty_profile *p = b->r->profile;
    size_t most = 1;
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        most += p->ranks[i].n_steps;
    }
    b->number = ty_arena_array(&b->arena, uint32_t, most);
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        if (b->number == NULL || add_steps(b, &p->ranks[i]) < 0) {
            return TY_ENOMEM;
        }
    }
    const uint32_t n = b->n_steps;
    qsort(b->number, n, sizeof(*b->number), by_number);
    b->n_steps = 1;
    for (uint32_t i = 1; i < n; i++) {
        if (b->number[b->n_steps - 1] != b->number[i]) {
            b->number[b->n_steps++] = b->number[i];
        }
    }
    return b->n_steps <= STEPS_MAX
               ? 0
               : ty_fail(b->err, TY_ELIMIT, "%s: more than %u steps", path, STEPS_MAX);
}

/* Which of these steps a kernel is of. */
static uint16_t step_of(const struct builder *b, const struct ty_profile_kernel *k)
{
    if (!b->r->marked) {
        return 0;
    }
    const uint32_t *at = bsearch(&b->rank->steps[k->step].number, b->number, b->n_steps,
                                 sizeof(*b->number), by_number);
    return (uint16_t)(at - b->number);
}

/* ---- kinds ---- */

/* What makes the kind of a kernel that communicates. */
static void describe_message(struct builder *b, const struct ty_profile_kernel *k,
                             struct ty_kind *kind)
{
    const struct ty_replay_group group = replay_group_of(b->r->profile, b->rank, k);
    kind->category = (uint8_t)group.category;
    kind->group = group.name;
    b->r->group_unknown = b->r->group_unknown || !group.told;
    if (k->comm != TY_PROFILE_NONE) {
        const struct ty_profile_comm *comm = &b->rank->comms[k->comm];
        const uint64_t most =
            comm->in_nelems > comm->out_nelems ? comm->in_nelems : comm->out_nelems;
        kind->bytes = (double)most * comm->element_B;
    }
}

/* The kind of a kernel, made when it is the first. Negative on failure. */
static int kind_of(struct builder *b, const struct ty_profile_kernel *k)
{
    static const uint8_t categories[] = {[TY_PROFILE_OTHER] = TY_CAT_OTHER,
                                         [TY_PROFILE_FORWARD] = TY_CAT_FORWARD,
                                         [TY_PROFILE_RECOMPUTE] = TY_CAT_RECOMPUTE,
                                         [TY_PROFILE_BACKWARD] = TY_CAT_BACKWARD,
                                         [TY_PROFILE_OPTIMIZER] = TY_CAT_OPTIMIZER};
    const bool communicates = k->class == TY_PROFILE_COMMUNICATION;
    struct ty_kind kind = {.category = categories[k->phase]};
    if (communicates) {
        describe_message(b, k, &kind);
    }
    /* bytes go by their bits: a message may have more than 32 bits can count */
    const uint64_t key[] = {communicates ? k->coll : replay_name_text(b->rank, k), communicates,
                            kind.category, (uintptr_t)kind.group, ty_bits(kind.bytes)};
    const uint32_t number = ty_profile_intern(&b->kinds, (const char *)key, sizeof(key));
    if (number == TY_PROFILE_NONE) {
        return ty_build_no_memory(&b->b);
    }
    if (number > b->b.program->n_kinds) {
        kind.name = replay_name(b->r->profile, b->rank, k, &b->r->arena);
        return kind.name != NULL ? ty_build_kind(&b->b, &kind) : ty_build_no_memory(&b->b);
    }
    return (int)number - 1;
}

/* ---- passes and operations ---- */

static void begin_pass(struct builder *b, const struct ty_replay_item *item)
{
    const struct ty_block block = {.n_ops = 0};
    const int index = ty_build_block(&b->b, &block);
    const struct ty_pass pass = {.block = (uint32_t)(index < 0 ? 0 : index),
                                 .mb = TY_NONE,
                                 .mb2 = TY_NONE,
                                 .step = step_of(b, item->kernel),
                                 .phase = item->phase};
    ty_build_pass(&b->b, &pass);
}

static void add_op(struct builder *b, const struct ty_replay_item *item)
{
    struct ty_op op = TY_OP_INIT;
    const int kind = kind_of(b, item->kernel);
    const double seconds = 1e-9 * (double)(item->end_ns - item->start_ns);
    if (kind < 0) {
        ty_build_note(&b->b, kind);
        return;
    }
    op.kind = (uint16_t)kind;
    op.stream = item->row;
    op.wait[0] = TY_NO_EVENT;
    ty_build_op(&b->b, &op);
    b->start_ns[b->n_tasks] = item->start_ns;
    b->dur_ns[b->n_tasks++] = item->end_ns - item->start_ns;
    if (item->kernel->class == TY_PROFILE_COMPUTE) {
        b->r->computed_s += seconds;
        b->r->unphased_s += item->kernel->phase == TY_PROFILE_OTHER ? seconds : 0;
    }
}

/* Of the matrix products of the rank, each once. */
static int add_products(struct builder *b)
{
    const struct ty_profile_rank *rank = b->rank;
    bool *seen = ty_arena_array(&b->arena, bool, rank->n_ops);
    for (uint32_t i = 0; i < rank->n_kernels && seen != NULL; i++) {
        const struct ty_profile_kernel *k = &rank->kernels[i];
        const bool counts = k->op != TY_PROFILE_NONE && k->class == TY_PROFILE_COMPUTE &&
                            (!b->r->marked || k->step != TY_PROFILE_NONE);
        if (counts && !seen[k->op]) {
            seen[k->op] = true;
            b->r->product_flops += ty_import_product_flops(b->r->profile, rank, k->op);
        }
    }
    return seen != NULL ? 0 : TY_ENOMEM;
}

static int fill_items(struct builder *b)
{
    b->items = calloc((size_t)b->rank->n_kernels + 1, sizeof(*b->items));
    b->n = 0;
    for (uint32_t k = 0; b->items != NULL && k < b->rank->n_kernels; k++) {
        const struct ty_profile_kernel *kernel = &b->rank->kernels[k];
        if (is_replayed(b->r, kernel)) {
            b->items[b->n++] = (struct ty_replay_item){.kernel = kernel,
                                                       .start_ns = kernel->start_ns - b->r->base_ns,
                                                       .end_ns = kernel->start_ns + kernel->dur_ns -
                                                                 b->r->base_ns};
        }
    }
    return b->items != NULL ? 0 : TY_ENOMEM;
}

static int add_rank(struct builder *b, uint32_t number)
{
    struct ty_recording *r = b->r;
    const char **names = ty_arena_array(&r->arena, const char *, TY_N_STREAMS);
    uint32_t *self = ty_arena_array(&r->arena, uint32_t, 1);
    struct ty_gang gang = {.n_ranks = 1, .rank_of = self, .row = names};
    bool open = false;
    int rc = 0;
    b->rank = &r->profile->ranks[number];
    gang.name = ty_arena_printf(&r->arena, "rank %u", (unsigned)b->rank->rank);
    if (names == NULL || self == NULL || gang.name == NULL || fill_items(b) < 0 ||
        add_products(b) < 0) {
        return TY_ENOMEM;
    }
    *self = number;
    r->rank[number] = b->rank->rank;
    r->gpu[number] = b->rank->gpu;
    ty_build_gang(&b->b, &gang);
    r->n_left_out += ty_replay_rows(b->items, b->n, names, &r->arena, &rc);
    ty_replay_passes(b->items, b->n, (r->end_ns - r->base_ns) / b->n_steps / PAUSES);
    for (uint32_t i = 0; i < b->n && b->b.code == 0 && rc == 0; i++) {
        const struct ty_replay_item *item = &b->items[i];
        if (item->row == TY_REPLAY_DROPPED) {
            continue;
        }
        if (item->begins || !open) {
            begin_pass(b, item);
            open = true;
        }
        add_op(b, item);
    }
    free(b->items);
    b->items = NULL;
    return rc < 0 ? rc : b->b.code;
}

static int build(struct builder *b)
{
    struct ty_recording *r = b->r;
    size_t most = 1;
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        most += r->profile->ranks[i].n_kernels;
    }
    r->program = (struct ty_program){.words = &ty_transformer_words,
                                     .n_steps = b->n_steps,
                                     .observed = true,
                                     .jitter = {.group = TY_NONE}};
    b->start_ns = ty_arena_array(&b->arena, int64_t, most);
    b->dur_ns = ty_arena_array(&b->arena, int64_t, most);
    r->rank = ty_arena_array(&r->arena, uint32_t, r->n_ranks);
    r->gpu = ty_arena_array(&r->arena, const char *, r->n_ranks);
    if (b->start_ns == NULL || b->dur_ns == NULL || r->rank == NULL || r->gpu == NULL ||
        ty_profile_store_init(&b->kinds) < 0) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        const int rc = add_rank(b, i);
        if (rc < 0) {
            return rc;
        }
    }
    return ty_program_seal(&r->program, &r->arena, b->err);
}

/* The columns of times: gangs of one rank each, in order. */
static int fill_timeline(struct builder *b)
{
    struct ty_timeline *t = &b->r->timeline;
    int rc = ty_timeline_init(t, &b->r->program, b->err);
    if (rc == 0) {
        rc = ty_timeline_keep_durations(t, b->err);
    }
    for (size_t i = 0; i < b->n_tasks && rc == 0; i++) {
        t->start[i] = (ty_ps)b->start_ns[i] * 1000;
        t->dur[i] = (ty_ps)b->dur_ns[i] * 1000;
        t->makespan = t->start[i] + t->dur[i] > t->makespan ? t->start[i] + t->dur[i] : t->makespan;
    }
    return rc;
}

static int replay(struct ty_recording *r, const char *path, struct ty_err *err)
{
    struct builder b = {
        .r = r, .err = err, .b = {.program = &r->program, .arena = &r->arena, .err = err}};
    r->n_ranks = r->profile->n_ranks;
    r->world = r->profile->world;
    int rc = find_span(r, path, err);
    if (rc == 0) {
        rc = find_steps(&b, path);
    }
    if (rc == 0) {
        rc = build(&b);
    }
    if (rc == 0) {
        rc = fill_timeline(&b);
    }
    if (rc < 0 && (err == NULL || err->code == 0)) {
        ty_fail_memory(err);
    }
    free(b.items);
    ty_profile_store_release(&b.kinds);
    ty_arena_release(&b.arena);
    return rc;
}

/* ---- the public part ---- */

bool ty_recording_named(const char *path)
{
    struct stat status;
    return ty_path_ends(path, ".json") || ty_path_ends(path, ".json.gz") ||
           (stat(path, &status) == 0 && S_ISDIR(status.st_mode));
}

bool ty_recording_has(const struct ty_recording *r, uint32_t rank)
{
    return bsearch(&rank, r->rank, r->n_ranks, sizeof(rank), by_number) != NULL;
}

int ty_recording_read(struct ty_recording **out, const char *path, struct ty_err *err)
{
    struct ty_recording *r = calloc(1, sizeof(*r));
    *out = NULL;
    if (r == NULL) {
        return ty_fail_memory(err);
    }
    int rc = ty_profile_read(&r->profile, &path, 1, err);
    if (rc == 0) {
        rc = replay(r, path, err);
    }
    if (rc < 0) {
        ty_recording_free(r);
        return rc;
    }
    *out = r;
    return 0;
}

void ty_recording_free(struct ty_recording *r)
{
    if (r == NULL) {
        return;
    }
    ty_timeline_release(&r->timeline);
    ty_arena_release(&r->arena);
    ty_profile_free(r->profile);
    free(r);
}
