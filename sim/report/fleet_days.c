/* fleet_days.c - the days of a training as text, and as a Chrome trace. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/words.h"
#include "sim/document/json.h"
#include "sim/report/fleet.h"

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

void ty_fleet_gantt(struct ty_text *t, const struct ty_fleet *f, const struct ty_fleet_history *h)
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

void ty_fleet_chrome(struct ty_text *t, const struct ty_fleet *f, const struct ty_fleet_history *h)
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
