/* web.c - the library behind one function, for pages: the module core.wasm, which host.js loads.
 *
 * A call has a name and a request, pairs of texts that each end with a zero: "name", "1f1b",
 * "pipeline", "4". A key may come several times where it means a list. What comes back is a struct
 * of 32-bit words, which host.js reads, and which lives until the next call.
 *
 * The last run is kept: calls that ask about the same run file with the same settings (a report,
 * then columns of its tasks) simulate it once. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sim/cli_api.h"

#define EXPORT(name) __attribute__((export_name(name)))

/* What a 32-bit module can have at most; the C library would say what it has now. */
#define MEMORY_MAX_B  4294967296.0
#define MEMORY_PAGE_B 65536

long sysconf(int name)
{
    switch (name) {
    case _SC_PAGESIZE:
        return MEMORY_PAGE_B;
    case _SC_PHYS_PAGES:
        return (long)(MEMORY_MAX_B / MEMORY_PAGE_B);
    case _SC_NPROCESSORS_ONLN:
        return 1;
    default:
        errno = EINVAL;
        return -1;
    }
}

/* What the module has, which never shrinks. */
int getrusage(int who, struct rusage *usage)
{
    (void)who;
    memset(usage, 0, sizeof(*usage));
    /* in KiB */
    usage->ru_maxrss = (long)(__builtin_wasm_memory_size(0) * (MEMORY_PAGE_B / 1024));
    return 0;
}

/* Files are opened by the host, which has those of the request. Emscripten, asked for a module
 * without its own JavaScript, would rather say that no file is permitted. */
int __syscall_openat(int folder, const char *path, int flags, ...);
long __syscall_open(const char *path, long flags, ...);
long __syscall_open(const char *path, long flags, ...)
{
    return __syscall_openat(AT_FDCWD, path, (int)flags);
}

/* ---- requests ---- */

struct request {
    const char *call;
    const char *bytes; /* pairs */
    size_t n;
};

struct reply {
    int32_t status; /* as the command line's */
    char *text;     /* of the answer; NULL: none */
    char *error;    /* the messages; NULL: none */
    char *remarks;  /* of ty_config_remarks; NULL: none */
    struct ty_tasks *tasks;
    struct ty_schedule_passes *passes;
};

static bool has_word(const char *words, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = words; n > 0 && (at = strstr(at, word)) != NULL; at++) {
        if (at > words && at[-1] == ' ' && (at[n] == ' ' || at[n] == '\0')) {
            return true;
        }
    }
    return false;
}

/* The value behind a key; of a list the one after `last`, which NULL begins. */
static const char *next(const struct request *r, const char *key, const char *last)
{
    const char *end = r->bytes + r->n;
    for (const char *at = r->bytes; at < end;) {
        const char *value = at + strlen(at) + 1;
        if (strcmp(at, key) == 0 && (last == NULL || value > last)) {
            return value;
        }
        at = value + strlen(value) + 1;
    }
    return NULL;
}

static const char *get(const struct request *r, const char *key)
{
    return next(r, key, NULL);
}

/* A mistake of the page, not of its user. */
static int refuse(struct reply *reply, const struct request *r, const char *key, const char *what)
{
    const size_t size = strlen(r->call) + strlen(key) + strlen(what) + 8;
    reply->status = 2;
    reply->error = malloc(size);
    if (reply->error != NULL) {
        (void)snprintf(reply->error, size, "%s: %s: %s", r->call, key, what);
    }
    return -1;
}

static int number(const struct request *r, const char *key, uint32_t *value, struct reply *reply)
{
    const char *text = get(r, key);
    char *end;
    if (text == NULL) {
        return 0;
    }
    errno = 0;
    const unsigned long long x = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || x > UINT32_MAX) {
        return refuse(reply, r, key, "not a whole number from 0 to 4294967295");
    }
    *value = (uint32_t)x;
    return 0;
}

/* ---- schedules, catalogues ---- */

static int read_schedule(const struct request *r, struct ty_schedule_options *o,
                         struct reply *reply)
{
    *o = (struct ty_schedule_options){.name = get(r, "name"),
                                      .text = get(r, "text"),
                                      .times = get(r, "times"),
                                      .stages = get(r, "stages"),
                                      .format = get(r, "format"),
                                      .svg_width = get(r, "svg_width"),
                                      .palette = get(r, "palette"),
                                      .bubbles = get(r, "bubbles")};
    const struct {
        const char *key;
        uint32_t *value;
    } numbers[] = {{"pipeline", &o->pipeline}, {"micro_batches", &o->micro_batches},
                   {"chunks", &o->chunks},     {"group", &o->group},
                   {"slices", &o->slices},     {"width", &o->width}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (number(r, numbers[i].key, numbers[i].value, reply) != 0) {
            return -1;
        }
    }
    return o->name == NULL ? refuse(reply, r, "name", "missing") : 0;
}

static int schedule(const struct request *r, struct reply *reply, struct ty_err *err)
{
    struct ty_schedule_options o;
    const int rc = read_schedule(r, &o, reply);
    return rc == 0 ? ty_schedule_show(&o, &reply->text, err) : rc;
}

static int compare(const struct request *r, struct reply *reply, struct ty_err *err)
{
    struct ty_schedule_options o;
    const int rc = read_schedule(r, &o, reply);
    return rc == 0 ? ty_schedule_compare(&o, &reply->text, err) : rc;
}

static int passes(const struct request *r, struct reply *reply, struct ty_err *err)
{
    struct ty_schedule_options o;
    const int rc = read_schedule(r, &o, reply);
    return rc == 0 ? ty_schedule_passes(&o, get(r, "shared") != NULL, &reply->passes, err) : rc;
}

static int list(const struct request *r, struct reply *reply, struct ty_err *err)
{
    const char *what = get(r, "what"), *name = get(r, "name");
    if (what == NULL) {
        return refuse(reply, r, "what", "missing");
    }
    return ty_list(what, name, &reply->text, err);
}

static int keys(const struct request *r, struct reply *reply, struct ty_err *err)
{
    return ty_list("keys", get(r, "about"), &reply->text, err);
}

static int init(const struct request *r, struct reply *reply, struct ty_err *err)
{
    struct ty_init_options o = {.model = get(r, "model"), .cluster = get(r, "cluster")};
    return number(r, "gpus", &o.gpus, reply) != 0 || number(r, "lora", &o.lora, reply) != 0
               ? -1
               : ty_init(&o, &reply->text, err);
}

static int version(const struct request *r, struct reply *reply, struct ty_err *err)
{
    (void)r;
    (void)err;
    reply->text = strdup(ty_version());
    return 0;
}

/* ---- runs ---- */

/* Keys that say which run it is; "files" is the host's number for those that it has. */
#define RUN_KEYS " name text set engine files"

/* What is known of the run that is kept; each has what those before it have. */
enum extent {
    PLANNED,
    FIGURES,
    WHOLE
};

static struct {
    char *key; /* the request's pairs that name it */
    size_t key_n;
    struct ty_config *config;
    struct ty_run *run;
    enum extent extent;
} kept;

static void forget(void)
{
    ty_run_free(kept.run);
    ty_config_free(kept.config);
    free(kept.key);
    memset(&kept, 0, sizeof(kept));
}

/* The pairs that name a run, in the order of the request; returns how many bytes. */
static size_t name_run(const struct request *r, char *key)
{
    size_t n = 0;
    for (const char *at = r->bytes; at < r->bytes + r->n;) {
        const char *value = at + strlen(at) + 1, *end = value + strlen(value) + 1;
        if (has_word(RUN_KEYS, at)) {
            memcpy(key + n, at, (size_t)(end - at));
            n += (size_t)(end - at);
        }
        at = end;
    }
    return n;
}

static int load(const struct request *r, struct ty_config **config, struct ty_err *err)
{
    const char *path = get(r, "name");
    struct ty_source source = {.path = path != NULL ? path : "run.yaml", .text = get(r, "text")};
    const char **sets = malloc((r->n / 2 + 1) * sizeof(*sets)); /* a pair has two bytes or more */
    for (const char *set = NULL; sets != NULL && (set = next(r, "set", set)) != NULL;) {
        sets[source.n_sets++] = set;
    }
    source.sets = sets;
    const int rc = ty_config_read(config, &source, err);
    free(sets);
    return rc;
}

/* Loads and plans anew, unless it is the run that is kept. */
static int keep(const struct request *r, struct ty_err *err)
{
    char *key = malloc(r->n + 1);
    const size_t key_n = key != NULL ? name_run(r, key) : 0;
    if (key != NULL && kept.run != NULL && kept.key_n == key_n &&
        memcmp(key, kept.key, key_n) == 0) {
        free(key);
        return 0;
    }
    forget();
    kept.key = key;
    kept.key_n = key_n;
    const int rc = load(r, &kept.config, err);
    return rc == 0 ? ty_run_new(&kept.run, kept.config, err) : rc;
}

/* Makes the run of a request the one that is kept, known so far or further. */
static int know(const struct request *r, enum extent extent, struct ty_err *err)
{
    int rc = keep(r, err);
    if (rc == 0 && kept.extent < extent) {
        const struct ty_execute_options o = {.engine = get(r, "engine"),
                                             .figures = extent != WHOLE};
        rc = ty_run_execute(kept.run, &o, err);
    }
    if (rc != 0) {
        forget();
        return rc;
    }
    kept.extent = extent > kept.extent ? extent : kept.extent;
    return 0;
}

/* After an answer: does it fit, and what is right and still may not be meant. */
static int conclude(const struct ty_config *config, const struct ty_run *run, struct reply *reply,
                    struct ty_err *err)
{
    reply->status = ty_run_fits(run) ? 0 : 1;
    return ty_config_remarks(config, &reply->remarks, err);
}

static int run(const struct request *r, struct reply *reply, struct ty_err *err)
{
    const char *format = get(r, "format");
    int rc = know(r, FIGURES, err);
    if (rc == 0) {
        rc = ty_run_report(kept.run, format != NULL ? format : "json", &reply->text, err);
    }
    return rc == 0 ? conclude(kept.config, kept.run, reply, err) : rc;
}

static int explain(const struct request *r, struct reply *reply, struct ty_err *err)
{
    int rc = know(r, WHOLE, err);
    rc = rc == 0 ? ty_run_report(kept.run, "explain", &reply->text, err) : rc;
    return rc == 0 ? conclude(kept.config, kept.run, reply, err) : rc;
}

static int tasks(const struct request *r, struct reply *reply, struct ty_err *err)
{
    int rc = know(r, WHOLE, err);
    rc = rc == 0 ? ty_run_tasks(kept.run, get(r, "ranks"), &reply->tasks, err) : rc;
    return rc == 0 ? conclude(kept.config, kept.run, reply, err) : rc;
}

/* A trace goes to standard output, which is the host's. */
static int trace_as(const char *format, const struct request *r, struct reply *reply,
                    struct ty_err *err)
{
    const struct ty_trace_options o = {.ranks = get(r, "ranks"),
                                       .detail = get(r, "detail"),
                                       .window = get(r, "window"),
                                       .order = get(r, "order"),
                                       .counters = get(r, "counters"),
                                       .steps = get(r, "steps"),
                                       .args = get(r, "args"),
                                       .flows = get(r, "flows"),
                                       .critical = get(r, "critical"),
                                       .width = get(r, "width"),
                                       .palette = get(r, "palette"),
                                       .bubbles = get(r, "bubbles")};
    char target[64];
    (void)snprintf(target, sizeof(target), "%.60s:-", format);
    int rc = know(r, WHOLE, err);
    rc = rc == 0 ? ty_run_trace(kept.run, target, &o, NULL, err) : rc;
    return rc == 0 ? conclude(kept.config, kept.run, reply, err) : rc;
}

static int trace(const struct request *r, struct reply *reply, struct ty_err *err)
{
    const char *format = get(r, "format");
    return format != NULL ? trace_as(format, r, reply, err) : refuse(reply, r, "format", "missing");
}

static int digest(const struct request *r, struct reply *reply, struct ty_err *err)
{
    return trace_as("digest", r, reply, err);
}

/* What `trainyard check` prints; nothing is executed, and nothing kept. */
static int check(const struct request *r, struct reply *reply, struct ty_err *err)
{
    struct ty_config *config = NULL;
    struct ty_run *plan = NULL;
    int rc = load(r, &config, err);
    rc = rc == 0 ? ty_run_outline(&plan, config, err) : rc;
    rc = rc == 0 ? ty_run_report(plan, "check", &reply->text, err) : rc;
    rc = rc == 0 ? conclude(config, plan, reply, err) : rc;
    ty_run_free(plan);
    ty_config_free(config);
    return rc;
}

/* ---- calls ---- */

#define SCHEDULE_KEYS                                                                              \
    " name text pipeline micro_batches chunks group slices times stages format width svg_width"    \
    " palette bubbles"
#define PICTURE_KEYS                                                                               \
    " ranks detail window order counters steps args flows critical width palette bubbles"

static const struct call {
    const char *name;
    const char *keys; /* that a request may have, each behind a space */
    bool needs_text;
    int (*answer)(const struct request *, struct reply *, struct ty_err *);
} calls[] = {
    {"schedule", SCHEDULE_KEYS, false, schedule},
    {"compare", SCHEDULE_KEYS, false, compare},
    {"passes", SCHEDULE_KEYS " shared", false, passes},
    {"run", RUN_KEYS " format", true, run},
    {"explain", RUN_KEYS, true, explain},
    {"tasks", RUN_KEYS " ranks", true, tasks},
    {"digest", RUN_KEYS, true, digest},
    {"trace", RUN_KEYS " format" PICTURE_KEYS, true, trace},
    {"check", RUN_KEYS, true, check},
    {"init", " model cluster gpus files", false, init},
    {"list", " what name", false, list},
    {"keys", " about", false, keys},
    {"version", "", false, version},
};

/* Whether all keys of a request are known to the call, and those that it needs are there. */
static int check_keys(const struct call *call, const struct request *r, struct reply *reply)
{
    for (const char *at = r->bytes; at < r->bytes + r->n;) {
        const char *value = at + strlen(at) + 1;
        if (!has_word(call->keys, at)) {
            return refuse(reply, r, at, "not a key of this call");
        }
        at = value + strlen(value) + 1;
    }
    return call->needs_text && get(r, "text") == NULL ? refuse(reply, r, "text", "missing") : 0;
}

static const struct call *find(const char *name)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (strcmp(calls[i].name, name) == 0) {
            return &calls[i];
        }
    }
    return NULL;
}

/* Answers a call; see above. The request's last byte is a zero, unless it is empty. */
EXPORT("ty_web_call")
const struct reply *ty_web_call(const char *name, const char *bytes, size_t n)
{
    static struct reply reply;
    const struct request r = {name, bytes, n};
    const struct call *call = find(name);
    ty_text_free(reply.text);
    ty_text_free(reply.remarks);
    ty_tasks_free(reply.tasks);
    ty_schedule_passes_free(reply.passes);
    free(reply.error);
    memset(&reply, 0, sizeof(reply));
    if (call == NULL) {
        (void)refuse(&reply, &r, name, "no such call");
        return &reply;
    }
    struct ty_err *err = ty_err_new();
    if (check_keys(call, &r, &reply) == 0 && call->answer(&r, &reply, err) != 0 &&
        reply.error == NULL) {
        reply.status = ty_err_exit_status(err);
        reply.error = strdup(ty_err_text(err));
    }
    ty_err_free(err);
    (void)fflush(stdout);
    return &reply;
}
