/* axes.c - what diagrams of reports have in common: axes with ticks at round values, and text
 * (axes.h). */
#include "sim/report/axes.h"

#include <math.h>

#include "sim/base/number_text.h"
#include "traces/svg/internal.h"

#define TICKS 6.0 /* about as many on an axis */
#define WORD  32u

/* 1, 2 or 5 times a power of ten: about TICKS of them in a range. */
static double nice_step(double range)
{
    const double raw = range / TICKS, power = pow(10, floor(log10(raw)));
    const double head = raw / power;
    return power * (head < 1.5 ? 1 : head < 3.5 ? 2 : head < 7.5 ? 5 : 10);
}

struct ty_scale ty_scale_linear(double low, double high, double from, double to)
{
    const double range = high > low ? high - low : high > 0 ? high / 5 : 1;
    struct ty_scale axis = {.from = from, .to = to, .step = nice_step(range)};
    axis.low = floor(low / axis.step) * axis.step;
    axis.high = ceil(high / axis.step) * axis.step;
    axis.high = axis.high > axis.low ? axis.high : axis.low + axis.step;
    return axis;
}

/* The largest of 1, 2 and 5 times a power of ten that is not above x. */
static double round_down(double x)
{
    const double power = pow(10, floor(log10(x) + 1e-12));
    return power * (x >= 5 * power ? 5 : x >= 2 * power ? 2 : 1);
}

struct ty_scale ty_scale_log(double low, double high, double from, double to)
{
    struct ty_scale axis = {.from = from, .to = to, .step = 10, .log = true};
    axis.low = round_down(low);
    axis.high = round_down(high);
    axis.high = axis.high < high ? round_down(2.5 * axis.high) : axis.high;
    return axis;
}

double ty_scale_at(const struct ty_scale *axis, double value)
{
    const double share = axis->log ? log(value / axis->low) / log(axis->high / axis->low)
                                   : (value - axis->low) / (axis->high - axis->low);
    return axis->from + share * (axis->to - axis->from);
}

void ty_axes_begin(struct ty_text *out, double width, double height)
{
    ty_text_add(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
                "font-family=\"sans-serif\" font-size=\"13\">\n"
                "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                width, height);
}

void ty_axes_text(struct ty_text *out, double x, double y, const char *anchor, const char *text)
{
    ty_text_add(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    ty_svg_put_escaped(out, text);
    ty_text_add(out, "</text>\n");
}

void ty_axes_text_up(struct ty_text *out, double x, double y, const char *text)
{
    ty_text_add(out, "<text transform=\"translate(%.0f %.1f) rotate(-90)\" text-anchor=\"middle\">",
                x, y);
    ty_svg_put_escaped(out, text);
    ty_text_add(out, "</text>\n");
}

static double first(const struct ty_scale *axis)
{
    return axis->log ? pow(10, ceil(log10(axis->low) - 1e-9)) : axis->low;
}

static double next(const struct ty_scale *axis, double v)
{
    return axis->log ? v * axis->step : v + axis->step;
}

static bool within(const struct ty_scale *axis, double v)
{
    return axis->log ? v <= axis->high * (1 + 1e-9) : v <= axis->high + axis->step / 2;
}

static void put_value(struct ty_text *out, const struct ty_scale *axis, double v, double x,
                      double y, const char *anchor)
{
    char word[WORD];
    const double step = axis->log ? v : axis->step;
    const double digits = step < 1 ? ceil(-log10(step) - 1e-9) : 0;
    (void)ty_snprintf(word, sizeof(word), "%.*f", (int)digits, v);
    ty_axes_text(out, x, y, anchor, word);
}

void ty_axes_put(struct ty_text *out, const struct ty_scale *x, const struct ty_scale *y)
{
    ty_text_add(out, "<g stroke=\"#ddd\">\n");
    for (double v = first(x); within(x, v); v = next(x, v)) {
        ty_text_add(out, "<path d=\"M%.1f %.1fV%.1f\"/>\n", ty_scale_at(x, v), y->to, y->from);
    }
    for (double v = first(y); within(y, v); v = next(y, v)) {
        ty_text_add(out, "<path d=\"M%.1f %.1fH%.1f\"/>\n", x->from, ty_scale_at(y, v), x->to);
    }
    ty_text_add(out, "</g>\n");
    for (double v = first(x); within(x, v); v = next(x, v)) {
        put_value(out, x, v, ty_scale_at(x, v), y->from + 18, "middle");
    }
    for (double v = first(y); within(y, v); v = next(y, v)) {
        put_value(out, y, v, x->from - 8, ty_scale_at(y, v) + 4, "end");
    }
    ty_text_add(out, "<path d=\"M%.1f %.1fV%.1fH%.1f\" fill=\"none\" stroke=\"#333\"/>\n", x->from,
                y->to, y->from, x->to);
}
