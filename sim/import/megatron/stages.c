/* stages.c - the pipeline: virtual stages, and which layers each has.
 *
 * A list of stages is in the order in which a micro-batch visits them, as Megatron-LM's layout is:
 * item a p + b is chunk a of rank b. */
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/document/fields.h"
#include "sim/import/megatron/megatron.h"

#define RULE       "default of Megatron-LM"
#define STAGES_MAX TY_LIST_MAX
#define UNITS_MAX  20000u

struct stages {
    uint32_t n, layers[STAGES_MAX];
};

static void set_stages(struct ty_megatron *m, const struct ty_draft_from *from,
                       const struct stages *s)
{
    const char *list = "";
    for (uint32_t i = 0; i < s->n; i++) {
        list = ty_draft_text(m->draft, "%s%s%u", list, i > 0 ? ", " : "", (unsigned)s->layers[i]);
    }
    ty_draft_set(m->draft, "layout.stage_layers", from, "[%s]", list);
}

/* ---- --pipeline-model-parallel-layout ---- */

struct unrolled {
    char text[UNITS_MAX];
    uint32_t n;
};

static bool put(struct unrolled *u, const char *from, size_t n, uint32_t times)
{
    for (uint32_t i = 0; i < times; i++) {
        if (u->n + n >= UNITS_MAX) {
            return false;
        }
        memmove(u->text + u->n, from, n);
        u->n += (uint32_t)n;
    }
    return true;
}

static uint32_t times_behind(const char **at)
{
    uint32_t times = 1;
    if (**at == '*') {
        const char *number = *at + 1;
        if (ty_scan_number(&number, NULL, UNITS_MAX, &times)) {
            *at = number;
        }
    }
    return times;
}

/* "t*3" is ttt, "(tt|)*2" tt|tt|, commas are nothing; parentheses do not hold others. */
static bool unroll(const char *text, struct unrolled *u)
{
    u->n = 0;
    for (const char *at = text; *at != '\0';) {
        if (*at == '(') {
            const char *end = strchr(at, ')');
            struct unrolled inner = {.n = 0};
            if (end == NULL) {
                return false;
            }
            for (const char *c = at + 1; c < end;) {
                const char *unit = c++;
                if (!put(&inner, unit, 1, times_behind(&c))) {
                    return false;
                }
            }
            at = end + 1;
            if (!put(u, inner.text, inner.n, times_behind(&at))) {
                return false;
            }
        } else if (*at == ',' || *at == ' ') {
            at++;
        } else {
            const char *unit = at++;
            if (!put(u, unit, 1, times_behind(&at))) {
                return false;
            }
        }
    }
    return true;
}

static bool count_stages(const struct unrolled *u, struct stages *s)
{
    *s = (struct stages){.n = 1};
    for (uint32_t i = 0; i < u->n; i++) {
        if (u->text[i] == '|') {
            if (s->n == STAGES_MAX) {
                return false;
            }
            s->n++;
        } else if (u->text[i] == 't') {
            s->layers[s->n - 1]++;
        } else if (u->text[i] == '\0' || strchr("EmL,", u->text[i]) == NULL) {
            return false;
        }
    }
    return true;
}

/* A stage between others that has only what predicts further tokens. Here that runs on the last
 * stage, and a stage without layers cannot be: it takes one of the nearest before it. */
static void fill_stages(struct ty_megatron *m, const struct ty_draft_from *from, struct stages *s)
{
    for (uint32_t i = 1; i + 1 < s->n; i++) {
        uint32_t giver = i;
        while (s->layers[i] == 0 && giver > 0 && s->layers[giver] < 2) {
            giver--;
        }
        if (s->layers[i] > 0 || s->layers[giver] < 2) {
            continue;
        }
        s->layers[i]++;
        s->layers[giver]--;
        ty_draft_remark(m->draft, from,
                        "stage %u has no layers there, at most what predicts further tokens: that "
                        "runs on the last stage here, and one layer of stage %u comes instead",
                        (unsigned)i, (unsigned)giver);
    }
}

/* Virtual stages of a rank; 0: refused. */
static uint32_t import_map(struct ty_megatron *m, uint32_t ranks)
{
    struct ty_flags *f = &m->flags;
    const char *map = ty_flags_text(f, "--pipeline-model-parallel-layout", "");
    const struct ty_draft_from from = ty_flags_from(f, "--pipeline-model-parallel-layout", RULE);
    struct unrolled u;
    struct stages s;
    if (!unroll(map, &u) || !count_stages(&u, &s)) {
        ty_draft_refuse(m->draft, &from,
                        "'%s' cannot be read; it has E, t, m, L, |, x*N and (..)*N, and at most "
                        "%u stages",
                        map, STAGES_MAX);
        return 0;
    }
    if (s.n % ranks != 0) {
        ty_draft_refuse(m->draft, &from, "%u stages are no multiple of %u pipeline ranks",
                        (unsigned)s.n, (unsigned)ranks);
        return 0;
    }
    fill_stages(m, &from, &s);
    set_stages(m, &from, &s);
    return s.n / ranks;
}

/* ---- the other ways ---- */

/* Embedding and loss count as layers: the first and the last stage have one fewer. */
static void import_accounts(struct ty_megatron *m, uint32_t n_stages)
{
    static const char embedding[] = "--account-for-embedding-in-pipeline-split";
    static const char loss[] = "--account-for-loss-in-pipeline-split";
    struct ty_flags *f = &m->flags;
    const uint32_t first = ty_flags_has(f, embedding), last = ty_flags_has(f, loss);
    const uint32_t units = ty_draft_count(m->draft, "model.layers", 0) + first + last;
    const struct ty_draft_from from = ty_flags_from(f, first > 0 ? embedding : loss, RULE);
    struct stages s = {.n = n_stages};
    if (units % n_stages != 0 || units / n_stages == 0) {
        ty_draft_refuse(m->draft, &from,
                        "%u layers, embedding and loss counted, are no multiple "
                        "of %u stages",
                        (unsigned)units, (unsigned)n_stages);
        return;
    }
    for (uint32_t i = 0; i < n_stages; i++) {
        s.layers[i] = units / n_stages;
    }
    s.layers[0] -= first;
    s.layers[n_stages - 1] -= last;
    set_stages(m, &from, &s);
}

/* Layers of the first and last rank; the others have the rest, equally. */
static void import_ends(struct ty_megatron *m, uint32_t ranks, uint32_t chunks)
{
    static const char *const names[] = {"--decoder-first-pipeline-num-layers",
                                        "--decoder-last-pipeline-num-layers"};
    struct ty_flags *f = &m->flags;
    const bool given[] = {ty_flags_has(f, names[0]), ty_flags_has(f, names[1])};
    const uint32_t ends[] = {ty_flags_count(f, names[0], 0), ty_flags_count(f, names[1], 0)};
    const uint32_t inner = ranks - (uint32_t)given[0] - (uint32_t)given[1];
    const uint32_t layers = ty_draft_count(m->draft, "model.layers", 0);
    const struct ty_draft_from from = ty_flags_from(f, names[given[0] ? 0 : 1], RULE);
    const uint64_t said = (uint64_t)ends[0] + ends[1];
    const uint64_t rest = layers - said;
    if (said > layers || (inner == 0 ? rest != 0 : rest % ((uint64_t)inner * chunks) != 0) ||
        ends[0] % chunks != 0 || ends[1] % chunks != 0) {
        ty_draft_refuse(m->draft, &from,
                        "%u layers do not go evenly on %u ranks of %u stages behind it",
                        (unsigned)layers, (unsigned)inner, (unsigned)chunks);
        return;
    }
    struct stages s = {.n = ranks * chunks};
    for (uint32_t i = 0; i < s.n; i++) {
        const uint32_t rank = i % ranks;
        const bool first = rank == 0 && given[0], last = rank == ranks - 1 && given[1];
        s.layers[i] = first  ? ends[0] / chunks
                      : last ? ends[1] / chunks
                             : (uint32_t)(rest / ((uint64_t)inner * chunks));
    }
    set_stages(m, &from, &s);
}

/* DeepSpeed's type:transformer|embedding: the two embeddings weigh as much as a layer each, and the
 * fullest stage is as empty as it can be; the first ones are filled. */
static void import_balance(struct ty_megatron *m, uint32_t ranks)
{
    struct ty_flags *f = &m->flags;
    const char *method = ty_flags_text(f, "--pp-partition-method", "type:transformer");
    const struct ty_draft_from from = ty_flags_from(f, "--pp-partition-method", RULE);
    const uint32_t layers = ty_draft_count(m->draft, "model.layers", 0);
    const bool embeddings = strstr(method, "embedding") != NULL;
    const uint32_t units = layers + (embeddings ? 2 : 0);
    const uint32_t most = (units + ranks - 1) / ranks;
    struct stages s = {.n = ranks};
    if (!embeddings && layers % ranks == 0) {
        return; /* equal stages, as without a word */
    }
    uint32_t left = units;
    for (uint32_t i = 0; i < ranks; i++) {
        s.layers[i] = left < most ? left : most;
        left -= s.layers[i];
    }
    if (embeddings && (s.layers[0] == 0 || s.layers[ranks - 1] == 0)) {
        ty_draft_remark(m->draft, &from, "%s: stages are not dealt as there", method);
        return;
    }
    s.layers[0] -= embeddings;
    s.layers[ranks - 1] -= embeddings;
    set_stages(m, &from, &s);
}

/* ---- how many ---- */

/* Chunks of a rank by the two flags that say it without a map. */
static uint32_t chunks_of(struct ty_megatron *m, uint32_t ranks)
{
    static const char each[] = "--num-layers-per-virtual-pipeline-stage";
    static const char many[] = "--num-virtual-stages-per-pipeline-rank";
    struct ty_flags *f = &m->flags;
    const uint32_t units = ty_draft_count(m->draft, "model.layers", 0) +
                           (uint32_t)ty_flags_has(f, "--account-for-embedding-in-pipeline-split") +
                           (uint32_t)ty_flags_has(f, "--account-for-loss-in-pipeline-split");
    const uint32_t layers = ty_flags_count(f, each, 0);
    if (!ty_flags_has(f, each)) {
        return ty_flags_count(f, many, 1);
    }
    if (layers == 0 || units % ((uint64_t)ranks * layers) != 0) {
        const struct ty_draft_from from = ty_flags_from(f, each, RULE);
        ty_draft_refuse(m->draft, &from, "%u layers are no multiple of %u ranks with stages of %u",
                        (unsigned)units, (unsigned)ranks, (unsigned)layers);
        return 0;
    }
    return units / ranks / layers;
}

static void set_schedule(struct ty_megatron *m, uint32_t chunks)
{
    static const char *const names[] = {"--num-layers-per-virtual-pipeline-stage",
                                        "--num-virtual-stages-per-pipeline-rank",
                                        "--pipeline-model-parallel-layout"};
    struct ty_flags *f = &m->flags;
    struct ty_draft_from from = ty_flags_from(f, "--pipeline-model-parallel-size", RULE);
    for (size_t i = 0; i < TY_COUNT(names); i++) {
        from = ty_flags_find(f, names[i]) != NULL ? ty_flags_from(f, names[i], RULE) : from;
    }
    ty_draft_set(m->draft, "schedule.name", &from, "%s", chunks > 1 ? "interleaved" : "1f1b");
    if (chunks > 1) {
        ty_draft_set(m->draft, "schedule.chunks", &from, "%u", (unsigned)chunks);
        ty_flags_set_count(f, "--microbatch-group-size-per-vp-stage", "schedule.group");
        ty_flags_set_count(f, "--microbatch-group-size-per-virtual-pipeline-stage",
                           "schedule.group");
    }
}

/* Modules that predict further tokens stand behind equal stages: nobody makes room for them. */
static void keep_even(struct ty_megatron *m, uint32_t n_stages)
{
    const struct ty_draft_fact *mtp = ty_draft_get(m->draft, "model.mtp");
    const uint32_t layers = ty_draft_count(m->draft, "model.layers", 0);
    struct stages s = {.n = n_stages};
    if (mtp == NULL || strcmp(mtp->value, "0") == 0 || layers % n_stages != 0) {
        return;
    }
    for (uint32_t i = 0; i < n_stages; i++) {
        s.layers[i] = layers / n_stages;
    }
    set_stages(m, &mtp->from, &s);
}

void ty_megatron_stages(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    const uint32_t ranks = ty_draft_count(m->draft, "layout.pipeline", 1);
    const bool mapped = ty_flags_has(f, "--pipeline-model-parallel-layout");
    if (ranks < 2 || m->draft->code < 0) {
        return;
    }
    const uint32_t chunks = mapped ? import_map(m, ranks) : chunks_of(m, ranks);
    if (chunks == 0) {
        return;
    }
    if ((uint64_t)ranks * chunks > STAGES_MAX) {
        set_schedule(m, chunks); /* too many for a list: the run file's reader says what it takes */
        return;
    }
    if (!mapped && (ty_flags_has(f, "--account-for-embedding-in-pipeline-split") ||
                    ty_flags_has(f, "--account-for-loss-in-pipeline-split"))) {
        import_accounts(m, ranks * chunks);
    } else if (!mapped && (ty_flags_has(f, "--decoder-first-pipeline-num-layers") ||
                           ty_flags_has(f, "--decoder-last-pipeline-num-layers"))) {
        import_ends(m, ranks, chunks);
    } else if (m->deepspeed) {
        import_balance(m, ranks);
    } else if (!mapped) {
        keep_even(m, ranks * chunks);
    }
    set_schedule(m, chunks);
}
