/* fleet.c - reads and checks the `fleet` section. */
#include "sim/config/fleet.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/text.h"

/* ---- the lines of fleet.failures: a cause, its rate, what it takes to go on ---- */

/*
 *     line = NAME.. RATE ["detect" TIME] ["replace" TIME] ["healed"]
 *
 * RATE: failures in 1000 days of one node. NAME may have blanks, and no word that begins with a
 * digit. */

#define EXAMPLE    "\"gpu 1.34 detect 10 s\" or \"maintenance 0.29 detect 1 min replace 5 min\""
#define CAUSES_MAX 64u
#define TEXT_MAX   64u

struct line {
    const char *text, *rest;
    struct ty_place at;
    struct ty_err *err;
};

static int wrong(const struct line *l, const char *what)
{
    return ty_fail_at(l->err, TY_EINPUT, &l->at, "fleet.failures: %s (%.60s); write %s", what,
                      l->text, EXAMPLE);
}

/* A number and its unit, up to the second blank. */
static int take_time(struct line *l, double *out)
{
    char text[TEXT_MAX], why[160];
    ty_text_skip_blanks(&l->rest);
    size_t n = strcspn(l->rest, " ");
    n += strspn(l->rest + n, " ");
    n += strcspn(l->rest + n, " ");
    (void)snprintf(text, sizeof(text), "%.*s", (int)n, l->rest);
    if (ty_quantity_parse(text, TY_DIM_SECONDS, out, why, sizeof(why)) != 0) {
        return ty_fail_at(l->err, TY_EINPUT, &l->at, "fleet.failures: %s; write %s", why, EXAMPLE);
    }
    l->rest += n;
    return *out < 0 ? wrong(l, "a time below 0") : 0;
}

/* The name, up to the first word that begins with a digit, and the rate. */
static int take_rate(struct line *l, struct ty_fleet_cause *cause, struct ty_arena *arena)
{
    ty_text_skip_blanks(&l->rest);
    const char *name = l->rest;
    while (*l->rest != '\0' && (*l->rest < '0' || *l->rest > '9')) {
        l->rest += strcspn(l->rest, " ");
        ty_text_skip_blanks(&l->rest);
    }
    size_t n = (size_t)(l->rest - name);
    name = ty_text_trim(name, &n);
    if (n == 0) {
        return wrong(l, "no cause before the rate");
    }
    char *end;
    cause->per_1000_node_days = ty_strtod(l->rest, &end);
    if (end == l->rest || (*end != '\0' && *end != ' ') || !(cause->per_1000_node_days < 1e6)) {
        return wrong(l, "no rate behind the cause");
    }
    l->rest = end;
    cause->name = ty_arena_strndup(arena, name, n);
    return cause->name == NULL ? ty_fail_memory(l->err) : 0;
}

static int read_line(struct line *l, struct ty_fleet_cause *cause, struct ty_arena *arena)
{
    int rc = take_rate(l, cause, arena);
    if (rc == 0 && ty_text_take_word(&l->rest, "detect")) {
        rc = take_time(l, &cause->detect_s);
    }
    if (rc == 0 && ty_text_take_word(&l->rest, "replace")) {
        rc = take_time(l, &cause->replace_s);
    }
    cause->drained = !ty_text_take_word(&l->rest, "healed");
    ty_text_skip_blanks(&l->rest);
    return rc == 0 && *l->rest != '\0' ? wrong(l, "a word too many") : rc;
}

int ty_fleet_check(struct ty_fleet_options *fleet, const struct ty_section *section,
                   struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_string_list *lines = &fleet->failures;
    struct ty_place at = ty_section_place(section, "failures");
    if (lines->n > CAUSES_MAX) {
        return ty_fail_at(err, TY_EINPUT, &at, "fleet.failures: %u lines; give %u at most",
                          (unsigned)lines->n, CAUSES_MAX);
    }
    struct ty_fleet_cause *cause = ty_arena_array(arena, struct ty_fleet_cause, lines->n + 1);
    if (cause == NULL) {
        return ty_fail_memory(err);
    }
    int code = 0;
    for (uint32_t i = 0; i < lines->n; i++) {
        at.line = lines->at[i].line;
        at.col = lines->at[i].col;
        cause[i] =
            (struct ty_fleet_cause){.detect_s = fleet->detect_s, .replace_s = fleet->replace_s};
        struct line l = {.text = lines->item[i], .rest = lines->item[i], .at = at, .err = err};
        const int rc = read_line(&l, &cause[i], arena);
        code = code < 0 ? code : rc;
    }
    const struct ty_field *rate = ty_section_field(section, "failures_per_1000_node_days");
    if (lines->n > 0 && ty_field_origin(section, rate)->kind > TY_ORIGIN_DEFAULT) {
        at = ty_section_place(section, "failures_per_1000_node_days");
        code = ty_fail_at(err, TY_EINPUT, &at,
                          "fleet.failures_per_1000_node_days: given beside fleet.failures, whose "
                          "rates add up to it; take one of them away");
    }
    fleet->cause = cause;
    fleet->n_causes = code == 0 ? lines->n : 0;
    return code;
}

#define ROW(key_, type_, ...) TY_FIELD(struct ty_fleet_options, #key_, key_, type_, __VA_ARGS__)
#define AT(key_, member_, type_, ...)                                                              \
    TY_FIELD(struct ty_fleet_options, key_, member_, type_, __VA_ARGS__)
#define SECONDS(key_, member_, fallback_, doc_)                                                    \
    AT(key_, member_, QUANTITY, .dim = TY_DIM_SECONDS, .max = 1e8, .fallback = (fallback_),        \
       .doc = (doc_))

const struct ty_field ty_fleet_fields[] = {
    ROW(price, QUANTITY, .dim = TY_DIM_COUNT, .min = 1e-6, .max = 1e6, .blank = "none",
        .fallback = "none", .example = "2.5",
        .doc = "of a GPU for an hour, in whatever currency; none: no cost is printed"),
    ROW(tokens, QUANTITY, .dim = TY_DIM_COUNT, .min = 1, .max = 1e18, .blank = "none",
        .fallback = "none", .example = "15.6e12",
        .doc = "of the whole training; none: its days and GPU-hours are not printed"),
    ROW(failures_per_1000_node_days, QUANTITY, .dim = TY_DIM_COUNT, .max = 1e6, .fallback = "3.8",
        .doc = "interruptions of nodes, any of which stops the job (Llama 3: 419 in 54 days of "
               "2,048 nodes; Meta's RSC-1 6.5, RSC-2 2.34)"),
    ROW(job_failures_per_day, QUANTITY, .dim = TY_DIM_COUNT, .max = 1e6, .fallback = "0.3",
        .doc = "interruptions that do not grow with the job: software, storage, power (guess; "
               "about 2.2 in a cluster for research)"),
    ROW(failures, STRINGS, .fallback = "none", .blank = "none",
        .example = "[gpu 1.34 detect 10 s, network 0.32 detect 60 s healed]",
        .doc =
            "those of nodes by cause, in place of failures_per_1000_node_days: NAME RATE [detect "
            "TIME] [replace TIME] [healed] (a restart on the same node will do)"),
    ROW(failure_shape, QUANTITY, .dim = TY_DIM_COUNT, .min = 0.2, .max = 10, .fallback = "1",
        .doc = "of the Weibull distribution of times between failures, whose mean stays; 1: "
               "exponential, of which alone the closed form is exact"),
    AT("checkpoint", checkpoint.every_s, QUANTITY, .inner = "every", .dim = TY_DIM_SECONDS,
       .min = 1e-3, .max = 1e8, .blank = "auto", .fallback = "auto",
       .doc = "work between two checkpoints; auto: the optimum of the closed form"),
    AT("checkpoint.stall", checkpoint.stall_s, QUANTITY, .dim = TY_DIM_SECONDS, .min = 1e-6,
       .max = 1e8, .blank = "auto", .fallback = "auto",
       .doc =
           "time that a checkpoint stops the job; auto: to copy a GPU's share of the states to its "
           "host, and with checkpoint.async false to write all of them to storage"),
    AT("checkpoint.durable_after", checkpoint.durable_after_s, QUANTITY, .dim = TY_DIM_SECONDS,
       .max = 1e8, .blank = "auto", .fallback = "auto",
       .doc = "further time until a job can restart from it; auto: until all is in storage if "
              "checkpoint.stall is auto, else none"),
    AT("checkpoint.async", checkpoint.async, BOOL, .fallback = "true",
       .doc = "whether checkpoints are written to storage while training continues"),
    AT("checkpoint.copy", checkpoint.copy_Bps, QUANTITY, .dim = TY_DIM_BYTES_PER_S, .min = 1e6,
       .max = 1e13, .blank = "auto", .fallback = "auto",
       .doc = "bandwidth of each GPU when all of a node copy to its memory at once; auto: by "
              "cluster.host.link and host.gpus_per_link"),
    AT("checkpoint.storage", checkpoint.storage_Bps, QUANTITY, .dim = TY_DIM_BYTES_PER_S,
       .min = 1e6, .max = 1e15, .fallback = "100 GB/s",
       .doc = "bandwidth of a job's writes to storage (guess; 50 to 200 GB/s seen in production, "
              "Llama 3's sustained 2 TB/s)"),
    AT("checkpoint.store_every", checkpoint.store_every, UINT, .min = 1, .max = 1e6,
       .fallback = "1",
       .doc = "one of so many checkpoints goes to storage, and all go to the memory of other "
              "nodes; 1: no second level"),
    SECONDS("checkpoint.memory_stall", checkpoint.memory_stall_s, "0 s",
            "time that every checkpoint stops the job; those to storage add checkpoint.stall"),
    AT("checkpoint.from_memory", checkpoint.from_memory, QUANTITY, .dim = TY_DIM_RATIO, .max = 1,
       .fallback = "0",
       .doc = "share of failures after which a job restarts from the memory of other nodes"),
    SECONDS("detect", detect_s, "600 s",
            "time until a failure is found (NCCL's watchdog; inspection of nodes 10 to 60 s)"),
    SECONDS("replace", replace_s, "0 s",
            "further time until a spare node replaces the failed one (0 s: spares are kept warm)"),
    AT("restart", restart_s, QUANTITY, .dim = TY_DIM_SECONDS, .min = 1e-3, .max = 1e8,
       .blank = "auto", .fallback = "auto",
       .doc = "time to restart processes, communicators and states, during which the job may fail "
              "again; auto: 90 s and 9 ms a GPU (a line through 200 s at 16,384 and 900 s at "
              "98,304 GPUs)"),
    AT("memory_restart", memory_restart_s, QUANTITY, .dim = TY_DIM_SECONDS, .min = 1e-3, .max = 1e8,
       .blank = "auto", .fallback = "auto",
       .doc = "the same from the memory of other nodes; auto: as restart"),
    ROW(spares, UINT, .max = TY_FLEET_SPARES_ENOUGH, .fallback = "1000000",
        .doc = "nodes that wait to replace failed ones, and are paid for; left out: always enough, "
               "at no cost"),
    AT("repair", repair_s, QUANTITY, .dim = TY_DIM_SECONDS, .max = 1e8, .fallback = "24 h",
       .doc = "of a node"),
    ROW(drained, QUANTITY, .dim = TY_DIM_RATIO, .max = 1, .fallback = "100 %",
        .doc = "share of the failures of nodes after which the node has to be repaired; after the "
               "others a restart will do"),
    AT("elastic", elastic.on, BOOL, .inner = "replicas", .fallback = "false",
       .doc =
           "whether a job continues with a smaller batch while replicas with failed nodes are "
           "away, instead of a full restart; needs layout.zero 0, or layout.shard below all data "
           "ranks"),
    SECONDS("elastic.regroup", elastic.regroup_s, "30 s",
            "time that all replicas stop when one leaves, once that is found, and when it returns "
            "(guess: new communicators)"),
    AT("elastic.least", elastic.least, QUANTITY, .dim = TY_DIM_RATIO, .max = 1, .fallback = "50 %",
       .doc = "share of the replicas below which the job waits (guess)"),
    AT("planned", planned.per_day, QUANTITY, .inner = "per_day", .dim = TY_DIM_COUNT, .max = 1000,
       .fallback = "0", .doc = "stops a day before which nothing is lost (Llama 3: 47 in 54 days)"),
    AT("evaluation", evaluation.every, UINT, .inner = "every", .max = 1000000000, .fallback = "0",
       .doc = "steps between two evaluations: forward passes over sequences that are held back"),
    AT("evaluation.sequences", evaluation.sequences, UINT, .max = 1000000000, .fallback = "0",
       .doc = "sequences of each; must be given with evaluation.every"),
    AT("stragglers", stragglers.spread, QUANTITY, .inner = "spread", .dim = TY_DIM_RATIO,
       .max = 0.2, .fallback = "1 %",
       .doc = "standard deviation of the time of equal work over the GPUs of a fleet (guess); jobs "
              "of other sizes wait for their slowest GPU"),
    AT("stragglers.slow_hosts", stragglers.slow_hosts, QUANTITY, .dim = TY_DIM_RATIO, .max = 1,
       .fallback = "0.5 %", .doc = "share of hosts that are slower than the others (guess)"),
    AT("stragglers.slow_by", stragglers.slow_by, QUANTITY, .dim = TY_DIM_RATIO, .max = 10,
       .fallback = "10 %",
       .doc = "share by which they take longer (MegaScale: some hosts, about "
              "10 %)"),
    AT("stragglers.per_1000_node_days", stragglers.per_1000_node_days, QUANTITY,
       .dim = TY_DIM_COUNT, .max = 1e6, .fallback = "0", .doc = "hosts that become so slow"),
    SECONDS("stragglers.found", stragglers.found_s, "3600 s",
            "time until such a host is found and, if hosts are evicted, the job restarts without "
            "it"),
    AT("stragglers.evict", stragglers.evict, BOOL, .fallback = "true",
       .doc = "whether the job restarts without a host that is found slow; else it stays until the "
              "next restart or planned stop"),
    AT("stragglers.drift_per_day", stragglers.drift_per_day, QUANTITY, .dim = TY_DIM_RATIO,
       .max = 10, .fallback = "0",
       .doc = "by which steps grow each day since the last restart or planned stop, as launches of "
              "GPUs drift apart (MegaScale saw MFU fall over days; how much is not printed)"),
    ROW(pue, QUANTITY, .dim = TY_DIM_COUNT, .min = 1, .max = 5, .fallback = "1.2",
        .doc =
            "power of the facility over that of its computers (guess; 1.1 in the largest, 1.4 to "
            "1.6 on average)"),
    SECONDS("planned.each", planned.each_s, "600 s", "length of such a stop"),
};

const uint32_t ty_n_fleet_fields = TY_COUNT(ty_fleet_fields);

struct ty_fleet_figures ty_fleet_figures(const struct ty_fleet_options *fleet, double tokens_per_s,
                                         double gpus)
{
    const double hours = fleet->tokens / tokens_per_s / 3600;
    return (struct ty_fleet_figures){
        .days_for_tokens = hours / 24,
        .gpu_hours = hours * gpus,
        .cost = hours * gpus * fleet->price,
        .cost_per_billion_tokens = 1e9 / tokens_per_s / 3600 * gpus * fleet->price,
    };
}
