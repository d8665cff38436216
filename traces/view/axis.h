/* axis.h - numbers on a time axis. */
#ifndef TY_TRACES_VIEW_AXIS_H
#define TY_TRACES_VIEW_AXIS_H

#include "sim/base/units.h"

/* The unit in which a time reads best: the largest that leaves at least 1. *ps: its length. */
const char *ty_axis_unit(ty_ps t, double *ps);

/* 1, 2 or 5 times a power of ten, at least x > 0. */
double ty_axis_step(double x);

#endif
