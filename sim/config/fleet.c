/* fleet.c - see fleet.h. */
#include "sim/config/fleet.h"

#define ROW(key_, type_, ...) TY_FIELD(struct ty_fleet_options, #key_, key_, type_, __VA_ARGS__)

const struct ty_field ty_fleet_fields[] = {
    ROW(price, QUANTITY, .dim = TY_DIM_COUNT, .min = 1e-6, .max = 1e6, .blank = "none",
        .fallback = "none", .example = "2.5",
        .doc = "of a GPU for an hour, in whatever currency; none: no cost is told"),
    ROW(tokens, QUANTITY, .dim = TY_DIM_COUNT, .min = 1, .max = 1e18, .blank = "none",
        .fallback = "none", .example = "15.6e12",
        .doc = "of the whole training; none: its days and GPU-hours are not told"),
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
