/* fleet.c - the report of a whole training: where its days go, what they come to, what would be
 * worth how much. */
#include "sim/report/fleet.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/compiler.h"
#include "sim/base/number_text.h"
#include "sim/base/words.h"
#include "sim/document/json.h"
#include "sim/fleet/energy.h"
#include "sim/fleet/stragglers.h"
#include "sim/fleet/worth.h"
#include "sim/report/table.h"

/* ---- days ---- */

#define CELLS             96u /* of a line: a quarter of an hour each */
#define LINES_MAX         400u
#define US                1e6
#define CHECKPOINTS_DRAWN 200000u /* in a Chrome trace; those after them are work */

const char *ty_fleet_state_words(enum ty_fleet_state state)
{
    static const char *const words[TY_N_FLEET_STATES] = {
        [TY_FLEET_WORK] = "work",
        [TY_FLEET_CHECKPOINT] = "checkpoint",
        [TY_FLEET_LOST] = "work that is lost",
        [TY_FLEET_DETECT] = "failure, until it is found",
        [TY_FLEET_RESTART] = "restart",
        [TY_FLEET_SPARES] = "waits for a node",
        [TY_FLEET_REPLICAS] = "too few replicas",
        [TY_FLEET_PLANNED] = "planned stop",
    };
    return words[state];
}

/* ---- text ---- */

static const char letters[TY_N_FLEET_STATES] = {
    [TY_FLEET_WORK] = '=',    [TY_FLEET_CHECKPOINT] = 'c', [TY_FLEET_LOST] = 'x',
    [TY_FLEET_DETECT] = 'D',  [TY_FLEET_RESTART] = 'R',    [TY_FLEET_SPARES] = 'N',
    [TY_FLEET_PLANNED] = 'P', [TY_FLEET_REPLICAS] = 'F',
};

/* What a cell shows: of what is not work the longest, from a twentieth of the cell on; of work a
 * checkpoint, from a quarter on, since short ones are in all cells. */
static char letter_of(const double s[TY_N_FLEET_STATES], double cell_s)
{
    int most = TY_FLEET_WORK;
    for (int i = TY_FLEET_LOST; i < TY_N_FLEET_STATES; i++) {
        const bool more = most == TY_FLEET_WORK ? s[i] > cell_s / 20 : s[i] > s[most];
        most = more ? i : most;
    }
    const bool stands = most == TY_FLEET_WORK && s[TY_FLEET_CHECKPOINT] > cell_s / 4;
    return letters[stands ? TY_FLEET_CHECKPOINT : most];
}

/* What a stretch puts into a cell. */
static void add_stretch(const struct ty_fleet *f, const struct ty_fleet_stretch *stretch,
                        double from, double to, double s[TY_N_FLEET_STATES])
{
    const double begin = fmax(stretch->start_s, from), end = fmin(stretch->end_s, to);
    const double stall = ty_fleet_stall_s(&f->job.days, stretch, begin, end);
    s[stretch->state] += end - begin - stall;
    s[TY_FLEET_CHECKPOINT] += stall;
}

/* What the letters mean; of checkpoints what share of the time they take, if none is to be seen. */
static void put_letters(struct ty_text *t, const struct ty_fleet *f,
                        const struct ty_fleet_history *h, bool checkpoints)
{
    for (int i = 0; i < TY_N_FLEET_STATES; i++) {
        if ((i != TY_FLEET_CHECKPOINT || checkpoints) && ty_fleet_lasts(f, i)) {
            ty_text_add(t, "%s %c %s", i > 0 ? "," : "", letters[i],
                        ty_fleet_state_words((enum ty_fleet_state)i));
        }
    }
    if (!checkpoints && h->sums.s[TY_FLEET_CHECKPOINT] > 0) {
        ty_text_add(t, "; checkpoints, %.2g %% of the time, are too short to be seen",
                    100 * h->sums.s[TY_FLEET_CHECKPOINT] / h->length_s);
    }
}

/* A line a day: what most of each quarter of an hour went to, failures before checkpoints before
 * work. */
static void fleet_gantt(struct ty_text *t, const struct ty_fleet *f,
                        const struct ty_fleet_history *h)
{
    const double cell_s = TY_DAY_S / CELLS;
    const uint32_t lines = (uint32_t)fmin(ceil(h->length_s / TY_DAY_S), LINES_MAX);
    size_t at = 0;
    bool checkpoints = false;
    ty_text_add(t,
                "day  0h          3h          6h          9h          12h         15h         18h"
                "         21h\n");
    for (uint32_t day = 0; day < lines; day++) {
        char line[CELLS + 1] = {0};
        for (uint32_t c = 0; c < CELLS; c++) {
            const double from = day * TY_DAY_S + c * cell_s, to = from + cell_s;
            double s[TY_N_FLEET_STATES] = {0};
            while (at > 0 && h->item[at - 1].end_s > from) {
                at--;
            }
            for (; at < h->n && h->item[at].start_s < to; at++) {
                add_stretch(f, &h->item[at], from, to, s);
            }
            line[c] = from < h->length_s ? letter_of(s, cell_s) : ' ';
            checkpoints |= line[c] == letters[TY_FLEET_CHECKPOINT];
        }
        ty_text_add(t, "%-4u %s\n", (unsigned)day, line);
    }
    ty_text_add(t, "%s%llu failures, goodput %.2f %%;",
                h->length_s > lines * TY_DAY_S ? "... the days after these are not shown\n" : "",
                (unsigned long long)h->sums.failures, 100 * h->sums.s[TY_FLEET_WORK] / h->length_s);
    put_letters(t, f, h, checkpoints);
    ty_text_add(t, "; seed %llu\n", (unsigned long long)f->run->config->run.seed);
}

/* ---- Chrome ---- */

/* Names of which Catapult and Perfetto make colours that are told apart. */
static const char *const cname[TY_N_FLEET_STATES] = {
    [TY_FLEET_WORK] = "thread_state_running",
    [TY_FLEET_CHECKPOINT] = "thread_state_runnable",
    [TY_FLEET_LOST] = "bad",
    [TY_FLEET_DETECT] = "terrible",
    [TY_FLEET_RESTART] = "rail_load",
    [TY_FLEET_SPARES] = "black",
    [TY_FLEET_PLANNED] = "grey",
};

static void put_slice(struct ty_json *j, enum ty_fleet_state state, double start_s, double end_s)
{
    ty_json_object(j, NULL);
    ty_json_text(j, "name", ty_fleet_state_words(state));
    ty_json_text(j, "ph", "X");
    ty_json_whole(j, "pid", 0);
    ty_json_whole(j, "tid", 0);
    ty_json_real(j, "ts", start_s * US);
    ty_json_real(j, "dur", (end_s - start_s) * US);
    ty_json_text(j, "cname", cname[state]);
    ty_json_end(j);
}

static void put_name(struct ty_json *j, const char *of, uint32_t thread, const char *name)
{
    ty_json_object(j, NULL);
    ty_json_text(j, "name", of);
    ty_json_text(j, "ph", "M");
    ty_json_whole(j, "pid", 0);
    ty_json_whole(j, "tid", thread);
    ty_json_object(j, "args");
    ty_json_text(j, "name", name);
    ty_json_end(j);
    ty_json_end(j);
}

/* A stretch, and the checkpoints of work, of which `left` are drawn. */
static void put_stretch(struct ty_json *j, const struct ty_fleet *f,
                        const struct ty_fleet_stretch *s, uint32_t *left)
{
    double at_s = s->start_s, begin_s, end_s;
    for (uint32_t k = 0; *left > 0 && ty_fleet_checkpoint_at(&f->job.days, s, k, &begin_s, &end_s);
         k++) {
        if (begin_s > at_s) {
            put_slice(j, s->state, at_s, begin_s);
        }
        put_slice(j, TY_FLEET_CHECKPOINT, begin_s, end_s);
        at_s = end_s;
        --*left;
    }
    if (s->end_s > at_s) {
        put_slice(j, s->state, at_s, s->end_s);
    }
}

/* Slices for ui.perfetto.dev: work, checkpoints, failures, restarts; microseconds. */
static void fleet_chrome(struct ty_text *t, const struct ty_fleet *f,
                         const struct ty_fleet_history *h)
{
    struct ty_json j = ty_json_to_text(t);
    ty_json_object(&j, NULL);
    ty_json_array(&j, "traceEvents");
    ty_json_rows(&j);
    put_name(&j, "process_name", 0, "the job, day by day");
    put_name(&j, "thread_name", 0, "state");
    uint32_t left = CHECKPOINTS_DRAWN;
    for (size_t i = 0; i < h->n; i++) {
        put_stretch(&j, f, &h->item[i], &left);
    }
    ty_json_end(&j);
    ty_json_text(&j, "displayTimeUnit", "ms");
    ty_json_object(&j, "otherData");
    if (left == 0) {
        char note[96];
        (void)snprintf(note, sizeof(note), "after %u checkpoints the others are drawn as work",
                       CHECKPOINTS_DRAWN);
        ty_json_text(&j, "note", note);
    }
    ty_json_text(&j, "version", ty_version());
    ty_json_whole(&j, "seed", f->run->config->run.seed);
    ty_json_end(&j);
    ty_json_end(&j);
    ty_text_add(t, "\n");
}

/* ---- the report ---- */

#define DAYS_PLAYED      365.0
#define CAUSE_WIDTH      22u /* of the column of names, at least */
#define DAYS_SHOWN       30.0
#define HISTORIES_PLAYED 100u
#define HISTORIES_MOST   1000000u /* of a few hundred bytes each */

/* ---- JSON ---- */

/* What was not asked for is null. */
static void put_asked(struct ty_json *j, const char *key, double value)
{
    ty_json_real(j, key, value > 0 ? value : NAN);
}

static void put_losses(struct ty_json *j, const char *key, const double share[TY_N_FLEET_STATES])
{
    ty_json_object(j, key);
    for (int i = TY_FLEET_WORK + 1; i < TY_FLEET_EVALUATION + (share[TY_FLEET_EVALUATION] > 0);
         i++) {
        ty_json_real(j, ty_fleet_state_name((enum ty_fleet_state)i), share[i]);
    }
    ty_json_end(j);
}

static void put_energy_json(struct ty_json *j, const struct ty_fleet *f)
{
    const struct ty_fleet_energy e = ty_fleet_energy(f);
    put_asked(j, "energy_j_per_token", e.per_token_J);
    put_asked(j, "node_power_w", e.working_W);
    put_asked(j, "facility_power_w", e.facility_W);
    put_asked(j, "power_step_w", e.drop_W);
}

static void put_causes_json(struct ty_json *j, const struct ty_fleet *f)
{
    const struct ty_days *d = &f->job.days;
    ty_json_array(j, "causes");
    ty_json_rows(j);
    for (uint32_t i = 0; i < d->n_causes; i++) {
        ty_json_object(j, NULL);
        ty_json_text(j, "name", d->cause[i].name);
        ty_json_real(j, "per_day", d->cause[i].rate * TY_DAY_S);
        ty_json_real(j, "wait_s", d->cause[i].wait_s);
        ty_json_real(j, "loss", ty_fleet_cause_share(&f->job, &d->cause[i]));
        ty_json_end(j);
    }
    ty_json_end(j);
}

static void put_changes_json(struct ty_json *j, const struct ty_fleet *f)
{
    struct ty_fleet_change change[TY_FLEET_CHANGES];
    const uint32_t n = ty_fleet_changes(f, change);
    ty_json_array(j, "worth");
    ty_json_rows(j);
    for (uint32_t i = 0; i < n; i++) {
        ty_json_object(j, NULL);
        ty_json_text(j, "what", change[i].what);
        ty_json_real(j, "goodput", f->job.share[TY_FLEET_WORK] + change[i].gain);
        ty_json_end(j);
    }
    ty_json_end(j);
}

static void put_sizes_json(struct ty_json *j, const struct ty_fleet *f)
{
    struct ty_fleet_size size[TY_FLEET_SIZES];
    const uint32_t n = ty_fleet_sizes(f, size);
    ty_json_array(j, "sizes");
    ty_json_rows(j);
    for (uint32_t i = 0; i < n; i++) {
        ty_json_object(j, NULL);
        ty_json_whole(j, "gpus", size[i].gpus);
        ty_json_real(j, "mtbf_s", size[i].mtbf_s);
        ty_json_real(j, "checkpoint_interval_s", size[i].every_s);
        ty_json_real(j, "goodput", size[i].goodput);
        ty_json_real(j, "slowest", size[i].slowest);
        ty_json_real(j, "together", size[i].together);
        ty_json_end(j);
    }
    ty_json_end(j);
}

static void put_slow_json(struct ty_json *j, const struct ty_fleet *f)
{
    const struct ty_fleet_slow_host slow = ty_fleet_slow_host(f);
    ty_json_object(j, "slow_hosts");
    ty_json_real(j, "per_day", slow.per_day);
    ty_json_bool(j, "evicted", slow.evicts);
    ty_json_real(j, "loss", slow.share);
    ty_json_real(j, "loss_otherwise", slow.otherwise);
    ty_json_end(j);
}

static void put_json(struct ty_text *t, const struct ty_fleet *f)
{
    const struct ty_fleet_job *job = &f->job;
    struct ty_json j = ty_json_to_text(t);
    ty_json_object(&j, NULL);
    ty_json_lines(&j);
    ty_json_real(&j, "step_time_s", f->step.step_s);
    ty_json_real(&j, "step_slowest_gpu_s", f->step.step_s * ty_fleet_slowest(f, false));
    ty_json_real(&j, "step_slow_hosts_s", f->step.step_s * ty_fleet_slowest(f, true));
    ty_json_real(&j, "mfu", f->step.mfu);
    ty_json_whole(&j, "gpus", f->gpus);
    ty_json_whole(&j, "nodes", f->nodes);
    ty_json_bool(&j, "fits", ty_run_fits(f->run));
    ty_json_real(&j, "mtbf_s", 1 / job->days.rate);
    ty_json_real(&j, "checkpoint_interval_s", job->days.every_s);
    ty_json_real(&j, "checkpoint_stall_s", job->days.store_stall_s);
    ty_json_real(&j, "checkpoint_durable_after_s", job->days.durable_after_s);
    ty_json_real(&j, "checkpoint_bytes", f->checkpoint.bytes);
    ty_json_real(&j, "checkpoint_gpu_bytes", f->checkpoint.gpu_bytes);
    ty_json_real(&j, "restart_s", job->days.restart_s);
    ty_json_whole(&j, "elastic_replicas", job->days.replicas.n);
    ty_json_real(&j, "goodput", job->share[TY_FLEET_WORK]);
    ty_json_real(&j, "goodput_mfu", f->goodput_mfu);
    ty_json_real(&j, "tokens_per_day", f->tokens_per_day);
    put_asked(&j, "days_for_tokens", f->days_for_tokens);
    put_asked(&j, "gpu_hours", f->gpu_hours);
    put_asked(&j, "cost", f->cost);
    put_energy_json(&j, f);
    put_losses(&j, "loss", job->share);
    put_causes_json(&j, f);
    put_changes_json(&j, f);
    put_sizes_json(&j, f);
    put_slow_json(&j, f);
    ty_json_object(&j, "monte_carlo");
    ty_json_real(&j, "goodput", f->played.share[TY_FLEET_WORK]);
    ty_json_real(&j, "standard_error", f->played.standard_error);
    ty_json_whole(&j, "runs", f->histories);
    ty_json_real(&j, "days", f->played_days);
    ty_json_real(&j, "failures_per_day", f->played.failures_per_day);
    ty_json_whole(&j, "seed", f->run->config->run.seed);
    put_losses(&j, "loss", f->played.share);
    ty_json_end(&j);
    ty_json_text(&j, "version", ty_version());
    ty_json_end(&j);
    ty_text_add(t, "\n");
}

/* ---- for people ---- */

static void put_line(struct ty_text *t, const char *label, const char *value)
{
    ty_text_add(t, "  %s", label);
    ty_text_pad(t, 28);
    ty_text_add(t, "%s\n", value);
}

static void put_states(struct ty_text *t, const struct ty_fleet *f)
{
    ty_text_add(t, "where the time goes         closed form   simulated\n");
    for (int i = 0; i < TY_N_FLEET_STATES; i++) {
        if (!ty_fleet_knows(f, i)) {
            continue;
        }
        char label[64];
        (void)snprintf(label, sizeof(label), "%s",
                       i == TY_FLEET_WORK ? "goodput"
                                          : ty_fleet_state_name((enum ty_fleet_state)i));
        for (char *c = label; *c != '\0'; c++) {
            *c = *c == '_' ? ' ' : *c;
        }
        char closed[24], played[24];
        ty_snprintf(closed, sizeof(closed), "%.3f %%", 100 * f->job.share[i]);
        ty_snprintf(played, sizeof(played), "%.3f %%", 100 * f->played.share[i]);
        ty_text_add(t, "  %-22s %14s  %10s", label, closed, played);
        if (i == TY_FLEET_WORK && f->histories > 1) {
            ty_text_add(t, " +- %.3f", 100 * f->played.standard_error);
        }
        ty_text_add(t, "\n");
    }
    if (f->job.days.shape != 1) {
        ty_text_add(t, "  (the closed form is that of failure_shape 1, not %g)\n",
                    f->job.days.shape);
    }
}

static void put_causes(struct ty_text *t, const struct ty_fleet *f)
{
    const struct ty_days *d = &f->job.days;
    size_t widest = CAUSE_WIDTH;
    for (uint32_t i = 0; i < d->n_causes; i++) {
        const size_t n = strlen(d->cause[i].name) + 1;
        widest = n > widest ? n : widest;
    }
    if (d->rate > 0 || d->evicts) {
        ty_text_add(t, "\nwhat fails");
        ty_text_pad(t, widest + 3);
        ty_text_add(t, "%8s %15s\n", "a day", "of the time");
    }
    for (uint32_t i = 0; i < d->n_causes; i++) {
        if (d->cause[i].rate > 0) {
            ty_text_add(t, "  %s", d->cause[i].name);
            ty_text_pad(t, widest + 2);
            ty_text_add(t, "%9.3f %13.3f %%\n", d->cause[i].rate * TY_DAY_S,
                        100 * ty_fleet_cause_share(&f->job, &d->cause[i]));
        }
    }
}

static void put_changes(struct ty_text *t, const struct ty_fleet *f)
{
    struct ty_fleet_change change[TY_FLEET_CHANGES];
    const uint32_t n = ty_fleet_changes(f, change);
    if (n > 0) {
        ty_text_add(t, "\nwhat improvements are worth (closed form)\n");
    }
    for (uint32_t i = 0; i < n; i++) {
        char hours[32];
        ty_words_count(change[i].gain * 365 * 24 * f->gpus, hours, sizeof(hours));
        ty_text_add(t, "  %s", change[i].what);
        ty_text_pad(t, 52);
        ty_text_add(t, "+%.3f %% of goodput, %s GPU-hours a year\n", 100 * change[i].gain, hours);
    }
}

static void put_sizes(struct ty_text *t, const struct ty_fleet *f)
{
    struct ty_fleet_size size[TY_FLEET_SIZES];
    const struct ty_fleet_slow_host slow = ty_fleet_slow_host(f);
    const uint32_t n = ty_fleet_sizes(f, size);
    ty_text_add(t,
                "\njobs of other sizes: goodput, the slowest GPU that a step may wait for, both\n"
                "       GPUs  between failures   goodput   slowest  together\n");
    for (uint32_t i = 0; i < n; i++) {
        char mtbf[32], gpus[32];
        if (isinf(size[i].mtbf_s)) {
            ty_snprintf(mtbf, sizeof(mtbf), "none");
        } else {
            ty_words_seconds(size[i].mtbf_s, mtbf, sizeof(mtbf));
        }
        ty_words_count(size[i].gpus, gpus, sizeof(gpus));
        ty_text_add(t, "  %9s  %16s  %6.2f %%  %8.3f  %6.2f %%\n", gpus, mtbf,
                    100 * size[i].goodput, size[i].slowest, 100 * size[i].together);
    }
    if (slow.per_day > 0) {
        ty_text_add(t,
                    "hosts that become slow: %.2f a day, %s; they take %.3f %% of the time, and "
                    "%.3f %% if they %s\n",
                    slow.per_day, slow.evicts ? "evicted when they are found" : "left alone",
                    100 * slow.share, 100 * slow.otherwise,
                    slow.evicts ? "were left alone" : "were evicted");
    }
}

static void put_energy(struct ty_text *t, const struct ty_fleet *f)
{
    const struct ty_fleet_energy e = ty_fleet_energy(f);
    char line[160];
    if (e.per_token_J > 0) {
        ty_snprintf(line, sizeof(line), "%.3g J a token, %.3g MW of the facility", e.per_token_J,
                    e.facility_W / 1e6);
        put_line(t, "energy", line);
        ty_snprintf(line, sizeof(line), "%.3g MW when all stop at once", e.drop_W / 1e6);
        put_line(t, "power step", line);
    }
}

/* What the step would take that waits for the slowest of the job's GPUs. */
static void put_slowest(struct ty_text *t, const struct ty_fleet *f)
{
    const double alike = ty_fleet_slowest(f, false), slow = ty_fleet_slowest(f, true);
    char a[64], b[64], line[160];
    ty_words_seconds(f->step.step_s * alike, a, sizeof(a));
    ty_words_seconds(f->step.step_s * slow, b, sizeof(b));
    if (slow > 1) {
        ty_snprintf(line, sizeof(line), "up to %s by its slowest GPU, %s with slow hosts", a, b);
        put_line(t, "where it waits", line);
    }
}

static void put_table(struct ty_text *t, const struct ty_fleet *f)
{
    const struct ty_days *d = &f->job.days;
    char a[64], b[64], line[160];
    ty_report_head(f->run, t);
    ty_words_seconds(f->step.step_s, a, sizeof(a));
    put_line(t, "step time", a);
    put_slowest(t, f);
    ty_snprintf(line, sizeof(line), "%.1f %% in a step, %.1f %% of all time", 100 * f->step.mfu,
                100 * f->goodput_mfu);
    put_line(t, "MFU", line);
    if (!ty_run_fits(f->run)) {
        put_line(t, "memory", "too little, so that there is no such step: see trainyard check");
    }
    if (d->rate > 0) {
        ty_words_seconds(1 / d->rate, a, sizeof(a));
        ty_snprintf(line, sizeof(line), "%s, %.2f a day", a, d->rate * TY_DAY_S);
        put_line(t, "between failures", line);
    }
    if (d->replicas.n > 0) {
        ty_words_seconds(d->replicas.restart_s, a, sizeof(a));
        ty_snprintf(line, sizeof(line), "%u replicas of %u node%s, each back after %s or more",
                    (unsigned)d->replicas.n, (unsigned)d->replicas.nodes,
                    d->replicas.nodes == 1 ? "" : "s", a);
        put_line(t, "elastic", line);
    }
    if (!isinf(d->every_s)) {
        ty_words_seconds(d->every_s, a, sizeof(a));
        ty_words_seconds(d->store_stall_s + d->stall_s, b, sizeof(b));
        ty_snprintf(line, sizeof(line), "every %s of work, which stops for %s", a, b);
        put_line(t, "checkpoints", line);
        ty_words_bytes(f->checkpoint.bytes, a, sizeof(a));
        ty_words_seconds(d->durable_after_s, b, sizeof(b));
        ty_snprintf(line, sizeof(line), "%s, durable %s after that", a, b);
        put_line(t, "each", line);
    }
    if (f->options.evaluation.every > 0) {
        ty_words_seconds(f->options.evaluation.s, a, sizeof(a));
        ty_snprintf(line, sizeof(line), "every %u steps, each %s",
                    (unsigned)f->options.evaluation.every, a);
        put_line(t, "evaluations", line);
    }
    ty_words_count(f->tokens_per_day, a, sizeof(a));
    put_line(t, "tokens a day", a);
    if (f->days_for_tokens > 0) {
        ty_words_count(f->gpu_hours, a, sizeof(a));
        ty_snprintf(line, sizeof(line), "%.1f days, %s GPU-hours", f->days_for_tokens, a);
        put_line(t, "the whole training", line);
    }
    if (f->cost > 0) {
        ty_words_count(f->cost, a, sizeof(a));
        put_line(t, "its cost", a);
    }
    put_energy(t, f);
    ty_text_add(t, "\n");
    put_states(t, f);
    put_causes(t, f);
    put_changes(t, f);
    put_sizes(t, f);
}

/* ---- one history ---- */

typedef void show_fn(struct ty_text *t, const struct ty_fleet *f, const struct ty_fleet_history *h);

static int put_history(struct ty_text *t, const struct ty_fleet *f, show_fn *show,
                       struct ty_err *err)
{
    struct ty_fleet_history h;
    const int rc =
        ty_fleet_history(&f->job.days, f->played_days * TY_DAY_S, f->run->config->run.seed, &h);
    if (rc == 0) {
        show(t, f, &h);
    }
    free(h.item);
    return rc < 0 ? ty_fail_memory(err) : 0;
}

static const struct form {
    const char *name;
    void (*put)(struct ty_text *t, const struct ty_fleet *f);
    show_fn *show;
} forms[] = {{"table", put_table, NULL},
             {"json", put_json, NULL},
             {"gantt", NULL, fleet_gantt},
             {"svg", NULL, ty_fleet_svg},
             {"chrome", NULL, fleet_chrome}};

static int find_form(const char *name, const struct form **form, struct ty_err *err)
{
    const char *names[TY_COUNT(forms)];
    char hint[TY_SUGGESTION];
    for (size_t i = 0; i < TY_COUNT(forms); i++) {
        names[i] = forms[i].name;
        if (name == NULL || strcmp(name, names[i]) == 0) {
            *form = &forms[i];
            return 0;
        }
    }
    return ty_fail(err, TY_EUSAGE,
                   "%.40s: not a form of a training; write table, json, gantt, svg or chrome%s",
                   name, ty_suggestion(name, names, TY_COUNT(names), hint));
}

static int read_request(const struct ty_fleet_request *r, const struct form **form,
                        struct ty_err *err)
{
    if (r->runs <= HISTORIES_MOST) {
        return find_form(r->form, form, err);
    }
    return ty_fail(err, TY_EUSAGE,
                   "--runs %" PRIu32 ": at most %u trainings are simulated; write fewer, a mean of "
                   "10000 is exact within 1 %% of their spread",
                   r->runs, HISTORIES_MOST);
}

int ty_run_fleet(const struct ty_run *run, const struct ty_fleet_request *request, char **report,
                 struct ty_err *err)
{
    static const struct ty_fleet_request nothing = {.form = NULL};
    const struct ty_fleet_request *r = request != NULL ? request : &nothing;
    const struct form *form = NULL;
    struct ty_text t = {.data = NULL};
    struct ty_fleet fleet;
    *report = NULL;
    if (ty_run_check_model(run, "a training of weeks", err) < 0) {
        return TY_EUSAGE;
    }
    if (!run->executed) {
        return ty_fail(err, TY_EUSAGE, "a fleet is asked for before the run was executed");
    }
    int rc = read_request(r, &form, err);
    if (rc < 0) {
        return rc;
    }
    const double days = r->days > 0 ? r->days : form->show != NULL ? DAYS_SHOWN : DAYS_PLAYED;
    const uint32_t runs = form->show != NULL ? 1 : r->runs > 0 ? r->runs : HISTORIES_PLAYED;
    const struct ty_progress progress = {r->progress, r->progress_arg, r->stop};
    rc = ty_fleet_work_out(run, days, runs, r->jobs, &progress, &fleet, err);
    if (rc == 0 && form->show != NULL) {
        rc = put_history(&t, &fleet, form->show, err);
    } else if (rc == 0) {
        form->put(&t, &fleet);
    }
    *report = rc == 0 ? ty_text_take(&t) : NULL;
    ty_text_release(&t);
    return rc == 0 && *report == NULL ? ty_fail_memory(err) : rc;
}
