/* fleet_svg.c - a training as a picture: its days, and goodput over what decides it. */
#include <math.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/words.h"
#include "sim/report/axes.h"
#include "sim/report/fleet.h"
#include "traces/svg/internal.h"

#define WIDTH    960.0
#define LEFT     84.0
#define RIGHT    930.0
#define TOP      92.0
#define ROW      14.0 /* of a day, of which GAP is left free */
#define GAP      3.0
#define DAYS_MAX 60.0 /* drawn */
#define PLOT     240.0
#define SEEN     0.5 /* a checkpoint so wide is drawn */
#define POINTS   160u
#define WORD     128u

const char *ty_fleet_colour(enum ty_fleet_state state)
{
    /* Told apart by those who see no colours, too (Okabe and Ito 2008). */
    static const char *const colours[TY_N_FLEET_STATES] = {
        [TY_FLEET_WORK] = "#9fd4bf",    [TY_FLEET_CHECKPOINT] = "#56b4e9",
        [TY_FLEET_LOST] = "#e69f00",    [TY_FLEET_DETECT] = "#d55e00",
        [TY_FLEET_RESTART] = "#0072b2", [TY_FLEET_SPARES] = "#000000",
        [TY_FLEET_PLANNED] = "#999999", [TY_FLEET_REPLICAS] = "#cc79a7",
    };
    return colours[state];
}

/* How long what is just wide enough to be seen takes. */
static const double seen_s = SEEN / (RIGHT - LEFT) * TY_DAY_S;

/* The shortest and longest checkpoint; 0: there is none. */
static double longest_s(const struct ty_days *d)
{
    return isinf(d->every_s) ? 0 : d->stall_s + d->store_stall_s;
}

static double shortest_s(const struct ty_days *d)
{
    return d->store_every > 1 && !isinf(d->every_s) ? d->stall_s : longest_s(d);
}

static void put_head(struct ty_text *out, const struct ty_fleet *f,
                     const struct ty_fleet_history *h, double height)
{
    char word[WORD], note[WORD] = "";
    const double shortest = shortest_s(&f->job.days);
    if (shortest > 0 && shortest < seen_s) {
        (void)ty_snprintf(note, sizeof(note),
                          "; checkpoints under %.0f s are not drawn (%.2g %% of the time)", seen_s,
                          100 * f->job.share[TY_FLEET_CHECKPOINT]);
    }
    ty_axes_begin(out, WIDTH, height);
    ty_text_add(out, "<text x=\"24\" y=\"30\" font-size=\"18\" font-weight=\"bold\">");
    ty_svg_put_escaped(out,
                       f->run->config->arch.name != NULL ? f->run->config->arch.name : "A job");
    ty_words_seconds(1 / f->job.days.rate, word, sizeof(word));
    ty_text_add(
        out,
        " on %u GPUs, day by day</text>\n<text x=\"24\" y=\"50\" fill=\"#555\">goodput %.2f "
        "%% (closed form %.2f %%); %s between failures; seed %llu. trainyard %s%s</text>\n",
        (unsigned)f->gpus, 100 * h->sums.s[TY_FLEET_WORK] / h->length_s,
        100 * f->job.share[TY_FLEET_WORK], f->job.days.rate > 0 ? word : "for ever",
        (unsigned long long)f->run->config->run.seed, ty_version(), note);
}

static void put_legend(struct ty_text *out, const struct ty_fleet *f)
{
    double x = 24; /* all of them fit into a line */
    for (int i = 0; i < TY_N_FLEET_STATES; i++) {
        const char *words = ty_fleet_state_words((enum ty_fleet_state)i);
        const bool seen = i != TY_FLEET_CHECKPOINT || longest_s(&f->job.days) >= seen_s;
        if (seen && ty_fleet_lasts(f, i)) {
            ty_text_add(out, "<rect x=\"%.1f\" y=\"64\" width=\"12\" height=\"12\" fill=\"%s\"/>\n",
                        x, ty_fleet_colour((enum ty_fleet_state)i));
            ty_axes_text(out, x + 17, 75, "start", words);
            x += 26 + 6.5 * (double)strlen(words);
        }
    }
}

/* A stretch from line to line. */
static void put_stretch(struct ty_text *out, const struct ty_fleet_stretch *s, double days)
{
    for (double day = floor(s->start_s / TY_DAY_S); day < days && day * TY_DAY_S < s->end_s;
         day++) {
        const double from = fmax(s->start_s - day * TY_DAY_S, 0);
        const double to = fmin(s->end_s - day * TY_DAY_S, TY_DAY_S);
        const double width = (to - from) / TY_DAY_S * (RIGHT - LEFT);
        if (width > 0) {
            ty_text_add(out,
                        "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" "
                        "fill=\"%s\"/>\n",
                        LEFT + from / TY_DAY_S * (RIGHT - LEFT), TOP + day * ROW, fmax(width, 0.4),
                        ROW - GAP, ty_fleet_colour(s->state));
        }
    }
}

/* Those that are wide enough. */
static void put_checkpoints(struct ty_text *out, const struct ty_days *d,
                            const struct ty_fleet_stretch *work, double days)
{
    struct ty_fleet_stretch s = {.state = TY_FLEET_CHECKPOINT};
    for (uint32_t k = 0;
         longest_s(d) >= seen_s && ty_fleet_checkpoint_at(d, work, k, &s.start_s, &s.end_s); k++) {
        if (s.end_s - s.start_s >= seen_s) {
            put_stretch(out, &s, days);
        }
    }
}

/* Returns where they end. */
static double put_days(struct ty_text *out, const struct ty_fleet *f,
                       const struct ty_fleet_history *h)
{
    const double days = fmin(ceil(h->length_s / TY_DAY_S), DAYS_MAX);
    char word[WORD];
    for (size_t i = 0; i < h->n; i++) {
        put_stretch(out, &h->item[i], days);
        put_checkpoints(out, &f->job.days, &h->item[i], days);
    }
    for (double day = 0; day < days; day++) {
        if (days < 15 || fmod(day, 5) == 0) {
            (void)ty_snprintf(word, sizeof(word), "day %.0f", day);
            ty_axes_text(out, LEFT - 8, TOP + day * ROW + 10, "end", word);
        }
    }
    const double end = TOP + days * ROW;
    for (double hour = 0; hour <= 24; hour += 6) {
        (void)ty_snprintf(word, sizeof(word), "%.0f h", hour);
        ty_axes_text(out, LEFT + hour / 24 * (RIGHT - LEFT), end + 12, "middle", word);
    }
    return end + 16;
}

/* ---- goodput over something ---- */

typedef void vary_fn(const struct ty_fleet *f, double value, struct ty_fleet_job *job);

static void other_interval(const struct ty_fleet *f, double value, struct ty_fleet_job *job)
{
    struct ty_fleet_options o = f->options;
    o.checkpoint.every_s = value;
    ty_fleet_job(&o, f->nodes, f->gpus, job);
}

static double value_at(const struct ty_scale *x, uint32_t i)
{
    return x->low * pow(x->high / x->low, (double)i / POINTS);
}

/* A line up to the curve with its name. */
static void put_here(struct ty_text *out, const struct ty_scale *x, const struct ty_scale *y,
                     double value, double goodput, const char *name)
{
    const double at = ty_scale_at(x, value);
    ty_text_add(out,
                "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#d55e00\" stroke-dasharray=\"4 3\"/>\n"
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#d55e00\"/>\n",
                at, y->from, ty_scale_at(y, 100 * goodput), at, ty_scale_at(y, 100 * goodput));
    ty_axes_text(out, at + 8, y->from - 8, "start", name);
}

/* Goodput in percent over what is varied, from the least of it on, and where the job is. */
static void put_plot(struct ty_text *out, const struct ty_fleet *f, double top,
                     const struct ty_scale *x, vary_fn *vary, double here, const char *over)
{
    double percent[POINTS + 1], least = f->job.share[TY_FLEET_WORK];
    struct ty_fleet_job job;
    for (uint32_t i = 0; i <= POINTS; i++) {
        vary(f, value_at(x, i), &job);
        percent[i] = 100 * job.share[TY_FLEET_WORK];
        least = fmin(least, job.share[TY_FLEET_WORK]);
    }
    const struct ty_scale y = ty_scale_linear(100 * least, 100, top + PLOT, top);
    ty_axes_put(out, x, &y);
    ty_axes_text(out, (LEFT + RIGHT) / 2, top + PLOT + 38, "middle", over);
    ty_axes_text_up(out, 24, top + PLOT / 2, "goodput, %");
    ty_text_add(out, "<path fill=\"none\" stroke=\"#0072b2\" stroke-width=\"2\" d=\"");
    for (uint32_t i = 0; i <= POINTS; i++) {
        ty_text_add(out, "%c%.1f %.1f", i == 0 ? 'M' : 'L', ty_scale_at(x, value_at(x, i)),
                    ty_scale_at(&y, percent[i]));
    }
    ty_text_add(out, "\"/>\n");
    put_here(out, x, &y, here, f->job.share[TY_FLEET_WORK], "this job");
}

void ty_fleet_svg(struct ty_text *out, const struct ty_fleet *f, const struct ty_fleet_history *h)
{
    const double days = fmin(ceil(h->length_s / TY_DAY_S), DAYS_MAX);
    const double plots = f->job.days.rate > 0 ? 2 : 0; /* nothing fails: nothing to choose */
    put_head(out, f, h, TOP + days * ROW + 40 + plots * (PLOT + 70));
    put_legend(out, f);
    const double end = put_days(out, f, h);
    if (plots > 0) {
        const double every = f->job.days.every_s;
        const struct ty_scale intervals = ty_scale_log(every / 30, every * 30, LEFT, RIGHT);
        const struct ty_scale sizes =
            ty_scale_log(fmin(256, f->gpus), fmax(131072, f->gpus), LEFT, RIGHT);
        put_plot(out, f, end + 24, &intervals, other_interval, every,
                 "work between two checkpoints, s");
        put_plot(out, f, end + 24 + PLOT + 70, &sizes, ty_fleet_resized, f->gpus,
                 "GPUs of the job; spares enough, and checkpoints as often as is best");
    }
    ty_text_add(out, "</svg>\n");
}
