/* axis.c - numbers on a time axis (axis.h). */
#include "traces/view/axis.h"

#include "sim/base/compiler.h"

const char *ty_axis_unit(ty_ps t, double *ps)
{
    static const struct {
        const char *name;
        double ps;
    } units[] = {{"s", 1e12}, {"ms", 1e9}, {"us", 1e6}, {"ns", 1e3}, {"ps", 1}};
    size_t i = 0;
    while (i + 1 < TY_COUNT(units) && (double)t < units[i].ps) {
        i++;
    }
    *ps = units[i].ps;
    return units[i].name;
}

double ty_axis_step(double x)
{
    double power = 1;
    while (power * 10 <= x) {
        power *= 10;
    }
    while (power > x) {
        power /= 10;
    }
    const double factor = x <= power ? 1 : x <= 2 * power ? 2 : x <= 5 * power ? 5 : 10;
    return factor * power;
}
