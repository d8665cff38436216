/* jobs.c - reads the jobs of a run file, each as a configuration of its own.
 *
 * A job is read like a run file with overlays: the weakest source is the run file (and its
 * overlays) without what a job has for itself, then the file that the entry names, then the entry.
 * Whatever is wrong is reported with the place it has, under the name "jobs.NAME". */
#include "sim/config/jobs.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/noise.h"

static const char *const own_keys[] = {"name", "file", "steps"};
static const char *const seat_keys[] = {"nodes", "gpus", "rank_file"};

#define NAME_MAX_LEN 40u
#define STEPS_MAX    65535u

bool ty_jobs_section(enum ty_section_index section)
{
    return section == TY_SECTION_MODEL || section == TY_SECTION_LAYOUT ||
           section == TY_SECTION_FRAMEWORK || section == TY_SECTION_SCHEDULE;
}

static bool is_among(const char *key, const char *const *keys, size_t n)
{
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        found = found || strcmp(key, keys[i]) == 0;
    }
    return found;
}

static bool is_text(const struct ty_node *node)
{
    return node->kind == TY_NODE_SCALAR && node->text != NULL && node->text[0] != '\0';
}

/* ---- the list ---- */

int ty_jobs_find(struct ty_loader *l)
{
    for (size_t i = 0; i < l->config->n_docs; i++) {
        const struct ty_node *list = ty_node_child(l->config->docs[i].root, TY_JOBS_KEY);
        if (list != NULL) {
            l->jobs = list;
            l->jobs_doc = &l->config->docs[i];
        }
    }
    if (l->jobs == NULL) {
        return 0;
    }
    const struct ty_place at = ty_node_place(l->jobs_doc, l->jobs);
    if (l->jobs->kind == TY_NODE_SCALAR && is_text(l->jobs) && strcmp(l->jobs->text, "none") == 0) {
        l->jobs = NULL;
        return 0;
    }
    if (l->jobs->kind != TY_NODE_LIST) {
        return ty_fail_at(l->err, TY_EINPUT, &at,
                          TY_JOBS_KEY ": not a list; write \"- name: other\" and sections that "
                                      "differ below it, for each job, or none");
    }
    if (l->jobs->first == NULL) {
        return ty_fail_at(l->err, TY_EINPUT, &at,
                          TY_JOBS_KEY ": an empty list; leave the key out, or write none");
    }
    if (l->jobs->n_children > TY_JOBS_MAX) {
        return ty_fail_at(l->err, TY_EINPUT, &at,
                          TY_JOBS_KEY ": %u jobs; at most %u are simulated together",
                          (unsigned)l->jobs->n_children, TY_JOBS_MAX);
    }
    l->config->shares = true;
    return 0;
}

/* ---- an entry ---- */

struct entry {
    struct ty_loader *l; /* of the run file */
    struct ty_job *job;  /* to be filled */
    const struct ty_doc *doc;
    const struct ty_node *node;
    const char *file; /* NULL: the run file's own sections are what it differs from */
};

static bool is_name(const char *text)
{
    const size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-_");
    return text[n] == '\0' && n > 0 && n <= NAME_MAX_LEN;
}

static int read_name(struct entry *e)
{
    const struct ty_config *c = e->l->config;
    const struct ty_node *name =
        e->node->kind == TY_NODE_MAP ? ty_node_child(e->node, "name") : NULL;
    const struct ty_place at = ty_node_place(e->doc, name != NULL ? name : e->node);
    if (e->node->kind != TY_NODE_MAP) {
        return ty_fail_at(e->l->err, TY_EINPUT, &at,
                          TY_JOBS_KEY
                          ": not a job; write \"name: other\" and sections that differ");
    }
    if (name == NULL) {
        return ty_fail_at(e->l->err, TY_EINPUT, &at,
                          TY_JOBS_KEY ": a job without a name; write one, such as name: other");
    }
    if (!is_text(name) || !is_name(name->text)) {
        return ty_fail_at(e->l->err, TY_EINPUT, &at,
                          TY_JOBS_KEY ": not a name (%.60s); write up to %u letters, digits, - "
                                      "and _",
                          is_text(name) ? name->text : "", NAME_MAX_LEN);
    }
    for (const struct ty_job *other = c->jobs; other < e->job; other++) {
        if (other->name != NULL && strcmp(other->name, name->text) == 0) {
            return ty_fail_at(e->l->err, TY_EINPUT, &at,
                              TY_JOBS_KEY ": two jobs of one name (%s); give each its own",
                              name->text);
        }
    }
    e->job->name = name->text;
    e->job->at = at;
    return 0;
}

static int read_steps(struct entry *e, const struct ty_node *node)
{
    const struct ty_place at = ty_node_place(e->doc, node);
    const char *text = is_text(node) ? node->text : "";
    if (strcmp(text, "auto") == 0) {
        return 0;
    }
    const bool digits = text[0] != '\0' && strspn(text, "0123456789") == strlen(text);
    const unsigned long n = digits && strlen(text) < 10 ? strtoul(text, NULL, 10) : 0;
    e->job->steps = (uint32_t)n;
    if (n == 0 || n > STEPS_MAX) {
        return ty_fail_at(e->l->err, TY_EINPUT, &at,
                          TY_JOBS_KEY ".%s.steps: not a number of steps (%.40s); write 1 to %u, or "
                                      "auto: until the run file's own job is done",
                          e->job->name, text, STEPS_MAX);
    }
    return 0;
}

static int read_file(struct entry *e, const struct ty_node *node)
{
    const struct ty_place at = ty_node_place(e->doc, node);
    if (!is_text(node)) {
        return ty_fail_at(e->l->err, TY_EINPUT, &at,
                          TY_JOBS_KEY ".%s.file: not a file; write the path of a run file",
                          e->job->name);
    }
    e->file = ty_config_beside(e->l->config, &at, node->text);
    return e->file != NULL ? 0 : ty_fail_memory(e->l->err);
}

static int wrong_key(const struct entry *e, const char *key, const struct ty_place *at)
{
    static const char *const names[] = {"name",   "file",      "steps",   "model",
                                        "layout", "framework", "schedule"};
    if (strcmp(key, TY_JOBS_KEY) == 0) {
        return ty_fail_at(e->l->err, TY_EINPUT, at,
                          TY_JOBS_KEY ".%s.%s: a job in a job; write each as an entry of the run "
                                      "file's own list",
                          e->job->name, key);
    }
    if (ty_config_section(key, strlen(key)) != TY_N_SECTIONS) {
        return ty_fail_at(e->l->err, TY_EINPUT, at,
                          TY_JOBS_KEY ".%s.%s: all jobs share this section of the run file; leave "
                                      "it out here",
                          e->job->name, key);
    }
    char hint[TY_SUGGESTION];
    return ty_fail_at(e->l->err, TY_EINPUT, at,
                      TY_JOBS_KEY ".%s.%.60s: unknown key; write name, file, steps, or one of the "
                                  "sections model, layout, framework, schedule%s",
                      e->job->name, key, ty_suggestion(key, names, TY_COUNT(names), hint));
}

static int read_keys(struct entry *e)
{
    int code = 0;
    for (const struct ty_node *node = e->node->first; node != NULL; node = node->next) {
        const struct ty_place at = ty_node_key_place(e->doc, node);
        const enum ty_section_index section = ty_config_section(node->key, strlen(node->key));
        int rc = 0;
        if (strcmp(node->key, "steps") == 0) {
            rc = read_steps(e, node);
        } else if (strcmp(node->key, "file") == 0) {
            rc = read_file(e, node);
        } else if (strcmp(node->key, "name") != 0 &&
                   (section == TY_N_SECTIONS || !ty_jobs_section(section))) {
            rc = wrong_key(e, node->key, &at);
        }
        code = code < 0 ? code : rc;
    }
    return code;
}

/* ---- its sources ---- */

/* A copy of a map without some keys; children are shared. NULL: no memory. */
static struct ty_node *without(struct ty_arena *arena, const struct ty_node *map,
                               bool (*keep)(const char *key))
{
    struct ty_node *copy = ty_arena_array(arena, struct ty_node, 1);
    struct ty_node **last = copy != NULL ? &copy->first : NULL;
    if (copy == NULL) {
        return NULL;
    }
    *copy = *map;
    copy->n_children = 0;
    *last = NULL;
    for (const struct ty_node *node = map->first; node != NULL; node = node->next) {
        if (!keep(node->key)) {
            continue;
        }
        *last = ty_arena_array(arena, struct ty_node, 1);
        if (*last == NULL) {
            return NULL;
        }
        **last = *node;
        last = &(*last)->next;
        *last = NULL;
        copy->n_children++;
    }
    return copy;
}

static bool keep_shared(const char *key)
{
    const enum ty_section_index section = ty_config_section(key, strlen(key));
    return section != TY_N_SECTIONS && !ty_jobs_section(section);
}

static bool keep_all(const char *key)
{
    return strcmp(key, TY_JOBS_KEY) != 0;
}

/* What a job has of another run file; misspelt sections are reported. */
static bool keep_job(const char *key)
{
    return !keep_shared(key) && keep_all(key);
}

static bool keep_sections(const char *key)
{
    return keep_job(key) && !is_among(key, own_keys, TY_COUNT(own_keys));
}

static bool keep_unseated(const char *key)
{
    return !is_among(key, seat_keys, TY_COUNT(seat_keys));
}

/* The run file as a job sees it: nobody sits where another does. */
static struct ty_node *inherit(const struct entry *e, const struct ty_node *root)
{
    struct ty_arena *arena = &e->l->config->arena;
    struct ty_node *copy = without(arena, root, e->file != NULL ? keep_shared : keep_all);
    const char *const layout = ty_config_section_name(TY_SECTION_LAYOUT);
    for (struct ty_node *node = copy != NULL ? copy->first : NULL; node; node = node->next) {
        if (strcmp(node->key, layout) == 0 && node->kind == TY_NODE_MAP) {
            struct ty_node *next = node->next;
            struct ty_node *map = without(arena, node, keep_unseated);
            if (map == NULL) {
                return NULL;
            }
            *node = *map;
            node->next = next;
        }
    }
    return copy;
}

/* Another run file; a list of jobs in it would be lost. */
static int load_file(struct entry *e, struct ty_loader *l, struct ty_doc *doc)
{
    int rc = ty_loader_doc(l, doc, e->file, NULL, false);
    if (rc < 0) {
        ty_hint(l->err, "the file is named by the job %s at %s:%u", e->job->name, e->job->at.file,
                (unsigned)e->job->at.line);
        return rc;
    }
    const struct ty_node *jobs = ty_node_child(doc->root, TY_JOBS_KEY);
    if (jobs != NULL && !(is_text(jobs) && strcmp(jobs->text, "none") == 0)) {
        const struct ty_place at = ty_node_key_place(doc, jobs);
        return ty_fail_at(l->err, TY_EINPUT, &at,
                          TY_JOBS_KEY ": a job in a job: the file is that of the job %s; write "
                                      "them as entries of one list",
                          e->job->name);
    }
    doc->root = without(&l->config->arena, doc->root, keep_job);
    return doc->root != NULL ? 0 : TY_ENOMEM;
}

static int make_docs(struct entry *e, struct ty_loader *l)
{
    const struct ty_config *of = e->l->config;
    struct ty_config *c = l->config;
    c->docs = ty_arena_array(&c->arena, struct ty_doc, of->n_docs + 2);
    if (c->docs == NULL) {
        return ty_fail_memory(l->err);
    }
    for (size_t i = 0; i < of->n_docs; i++) {
        c->docs[i] = of->docs[i];
        c->docs[i].root = inherit(e, of->docs[i].root);
        if (c->docs[i].root == NULL) {
            return ty_fail_memory(l->err);
        }
    }
    c->n_docs = of->n_docs;
    const int rc = e->file != NULL ? load_file(e, l, &c->docs[c->n_docs]) : 0;
    c->n_docs += e->file != NULL;
    struct ty_doc *last = &c->docs[c->n_docs++];
    *last = *e->doc;
    last->root = without(&c->arena, e->node, keep_sections);
    return rc < 0 || last->root != NULL ? rc : ty_fail_memory(l->err);
}

/* Settings of what jobs share. */
static int shared_settings(struct ty_loader *l, const struct ty_source *source)
{
    const char **sets = ty_arena_array(&l->config->arena, const char *, source->n_sets + 1);
    struct ty_source shared = {.sets = sets};
    if (sets == NULL) {
        return ty_fail_memory(l->err);
    }
    for (size_t i = 0; i < source->n_sets; i++) {
        const char *dot = strchr(source->sets[i], '.');
        const size_t len = dot != NULL ? (size_t)(dot - source->sets[i]) : 0;
        const enum ty_section_index section = ty_config_section(source->sets[i], len);
        if (section != TY_N_SECTIONS && !ty_jobs_section(section)) {
            sets[shared.n_sets++] = source->sets[i];
            shared.n_against += i >= source->n_sets - source->n_against;
        }
    }
    return ty_loader_settings(l, &shared);
}

/* "jobs.other.layout" instead of "layout" in messages. */
static int name_sections(struct ty_config *c, const char *name, struct ty_err *err)
{
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        if (ty_jobs_section((enum ty_section_index)i)) {
            c->sections[i].name = ty_arena_printf(&c->arena, TY_JOBS_KEY ".%s.%s", name,
                                                  ty_config_section_name((enum ty_section_index)i));
            if (c->sections[i].name == NULL) {
                return ty_fail_memory(err);
            }
        }
    }
    return 0;
}

static int load_entry(struct entry *e, const struct ty_source *source, uint32_t first_gpu)
{
    struct ty_loader l = {.err = e->l->err, .config = calloc(1, sizeof(struct ty_config))};
    e->job->config = l.config;
    if (l.config == NULL) {
        return ty_fail_memory(l.err);
    }
    int rc = ty_config_init(l.config, l.err);
    if (rc == 0) {
        rc = name_sections(l.config, e->job->name, l.err);
    }
    if (rc == 0) {
        rc = make_docs(e, &l);
    }
    if (rc == 0) {
        rc = shared_settings(&l, source);
    }
    if (rc < 0) {
        return rc;
    }
    l.config->shares = true;
    l.config->first_gpu = first_gpu;
    l.config->job_at = e->job->at;
    ty_loader_fill(&l);
    /* every job draws its own numbers */
    const uint64_t number = (uint64_t)(e->job - e->l->config->jobs) + 1;
    l.config->run.seed = ty_hash4(e->l->config->run.seed, number, 0, 0);
    return l.code;
}

/* ---- who sits where ---- */

static uint32_t gpu_of(const struct ty_config *c, uint32_t rank)
{
    return c->layout.gpu_of != NULL ? c->layout.gpu_of[rank] : rank;
}

/* One more than the last GPU of a job. */
static uint32_t gpus_end(const struct ty_config *c)
{
    uint32_t end = 0;
    for (uint32_t r = 0; r < c->layout.ranks; r++) {
        const uint32_t gpu = gpu_of(c, r);
        end = gpu >= end ? gpu + 1 : end;
    }
    return end;
}

/* Marks the GPUs of a job; one that is another's is reported. sitter[]: 0 nobody, 1 the run file's
 * own, 2 the first entry, ... */
static int sit(struct ty_loader *l, const struct ty_config *c, uint32_t number, uint32_t *sitter)
{
    uint32_t first = UINT32_MAX, n = 0;
    for (uint32_t r = 0; r < c->layout.ranks; r++) {
        const uint32_t gpu = gpu_of(c, r);
        if (sitter[gpu] == 0) {
            sitter[gpu] = number;
        } else {
            first = gpu < first ? gpu : first;
            n++;
        }
    }
    if (n == 0) {
        return 0;
    }
    const struct ty_job *job = &l->config->jobs[number - 2];
    const uint32_t other = sitter[first], per_node = c->cluster.gpus_per_node;
    return ty_fail_at(l->err, TY_EINPUT, &job->at,
                      TY_JOBS_KEY ".%s: GPU %u of node %u has another job, %s%s (%u of the %u GPUs "
                                  "in all); write where each sits, such as layout: {nodes: 4-7}",
                      job->name, (unsigned)(first % per_node), (unsigned)(first / per_node),
                      other == 1 ? "that of the run file itself" : "",
                      other == 1 ? "" : l->config->jobs[other - 2].name, (unsigned)n,
                      (unsigned)c->layout.ranks);
}

static int seat_all(struct ty_loader *l)
{
    struct ty_config *c = l->config;
    uint32_t *sitter =
        ty_arena_array(&c->arena, uint32_t, (size_t)ty_cluster_gpus(&c->cluster) + 1);
    if (sitter == NULL) {
        return ty_fail_memory(l->err);
    }
    int code = sit(l, c, 1, sitter);
    for (uint32_t i = 0; i < c->n_jobs; i++) {
        const int rc = sit(l, c->jobs[i].config, i + 2, sitter);
        code = code < 0 ? code : rc;
    }
    return code;
}

/* ---- public ---- */

int ty_jobs_load(struct ty_loader *l, const struct ty_source *source)
{
    struct ty_config *c = l->config;
    uint32_t first_gpu = gpus_end(c);
    int code = 0;
    if (l->jobs == NULL) {
        return 0;
    }
    c->jobs = ty_arena_array(&c->arena, struct ty_job, l->jobs->n_children);
    if (c->jobs == NULL) {
        return ty_fail_memory(l->err);
    }
    for (const struct ty_node *node = l->jobs->first; node != NULL; node = node->next) {
        struct entry e = {.l = l, .job = &c->jobs[c->n_jobs++], .doc = l->jobs_doc, .node = node};
        int rc = read_name(&e);
        if (rc == 0) {
            rc = read_keys(&e);
        }
        rc = rc < 0 || l->code < 0 ? rc : load_entry(&e, source, first_gpu);
        first_gpu = rc == 0 && e.job->config != NULL ? gpus_end(e.job->config) : first_gpu;
        code = code < 0 ? code : rc;
    }
    return code < 0 || l->code < 0 ? code : seat_all(l);
}

uint64_t ty_jobs_digest(const struct ty_config *config)
{
    uint64_t h = 0;
    for (uint32_t i = 0; i < config->n_jobs; i++) {
        h = ty_hash4(h, ty_config_digest(config->jobs[i].config), config->jobs[i].steps, i + 1);
    }
    return h;
}
