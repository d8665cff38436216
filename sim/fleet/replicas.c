/* replicas.c - see replicas.h. */
#include "sim/fleet/replicas.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_randist.h>

#include "sim/config/fleet.h"
#include "sim/run/run.h"

/* ---- which can leave ---- */

/* Data ranks that together hold one copy of everything. */
static uint32_t data_ranks_of_a_copy(const struct ty_layout *l)
{
    const uint32_t sharded = l->zero == 0 ? 1 : l->shard == 0 ? l->data : l->shard;
    const uint32_t there = l->tensor * l->context, experts = l->expert * l->expert_tensor;
    const uint32_t spread = l->expert_data == 0 ? 1 : (experts + there - 1) / there;
    return sharded > spread ? sharded : spread;
}

static uint32_t top_of(uint32_t *above, uint32_t i)
{
    while (above[i] != i) {
        above[i] = above[above[i]];
        i = above[i];
    }
    return i;
}

uint32_t ty_replicas_of(const struct ty_run *run)
{
    const struct ty_grid *grid = &run->lowered.grid;
    const uint32_t each = data_ranks_of_a_copy(&run->config->layout);
    const uint32_t copies = run->config->layout.data / each, nodes = ty_grid_nodes(grid);
    uint32_t *above = malloc((size_t)(copies + nodes) * sizeof(*above));
    if (above == NULL) {
        return 0;
    }
    for (uint32_t i = 0; i < copies + nodes; i++) {
        above[i] = i;
    }
    uint32_t parts = copies + nodes;
    for (uint32_t rank = 0; rank < grid->n_ranks; rank++) {
        uint32_t coord[TY_N_AXES];
        ty_grid_coords(grid, rank, coord);
        const uint32_t copy = coord[TY_AXIS_DATA] / each;
        const uint32_t a = top_of(above, copy < copies ? copy : copies - 1);
        const uint32_t b = top_of(above, copies + ty_grid_node(grid, rank));
        parts -= a != b;
        above[a] = b;
    }
    free(above);
    return parts;
}

/* ---- in closed form ---- */

struct ty_replicas_mean ty_replicas_mean(const struct ty_replicas *r, double load, double repairs,
                                         uint32_t spares)
{
    const double each = load / r->n, away = each / (1 + each);
    const bool enough = spares == TY_FLEET_SPARES_ENOUGH;
    double running = 0, there = 0, seen = 0;
    for (uint32_t lacking = 0; lacking <= r->n && seen < 1 - 1e-13; lacking++) {
        /* Nodes in repair that leave so many replicas without. */
        double p = enough ? lacking == 0 : 0;
        const uint32_t from = lacking == 0 ? 0 : spares + (lacking - 1) * r->nodes + 1;
        for (uint32_t k = from; !enough && k <= spares + lacking * r->nodes; k++) {
            p += repairs > 0 ? gsl_ran_poisson_pdf(k, repairs) : k == 0;
        }
        seen += p;
        for (uint32_t k = 0; k + lacking + r->least <= r->n; k++) {
            const double both = p * gsl_ran_binomial_pdf(k, away, r->n - lacking);
            running += both;
            there += both * (r->n - k - lacking) / r->n;
            if (k > 10 + 2 * load && both < 1e-16 * p) {
                break;
            }
        }
    }
    return (struct ty_replicas_mean){running, running > 0 ? there / running : 0};
}

/* ---- in a history ---- */

int ty_absent_init(struct ty_absent *a, const struct ty_replicas *replicas, uint32_t spares,
                   double repair_s)
{
    const bool enough = spares == TY_FLEET_SPARES_ENOUGH;
    *a = (struct ty_absent){.replicas = replicas, .spares = spares, .repair_s = repair_s};
    a->n_nodes = enough ? 0 : spares + 1 + replicas->n * replicas->nodes;
    a->repaired_s = malloc((a->n_nodes + 1) * sizeof(*a->repaired_s));
    a->back_s = malloc((replicas->n + 1) * sizeof(*a->back_s));
    return a->repaired_s == NULL || a->back_s == NULL ? TY_ENOMEM : 0;
}

void ty_absent_release(struct ty_absent *a)
{
    free(a->repaired_s);
    free(a->back_s);
}

/* Replicas that no node is left for. */
static uint32_t lacking(const struct ty_absent *a)
{
    const uint32_t each = a->replicas->nodes;
    return a->nodes > a->spares ? (a->nodes - a->spares + each - 1) / each : 0;
}

uint32_t ty_absent_count(const struct ty_absent *a)
{
    return a->n + lacking(a);
}

double ty_absent_next_s(const struct ty_absent *a)
{
    const double back_s = a->n > 0 ? a->back_s[a->first] : INFINITY;
    const double repaired_s = a->nodes > 0 ? a->repaired_s[a->first_node] : INFINITY;
    return fmin(back_s, repaired_s);
}

static void restart(struct ty_absent *a, double now_s)
{
    a->back_s[(a->first + a->n++) % a->replicas->n] = now_s + a->replicas->restart_s;
}

void ty_absent_leave(struct ty_absent *a, double now_s, bool drained)
{
    const uint32_t before = lacking(a);
    if (drained && a->spares != TY_FLEET_SPARES_ENOUGH) {
        a->repaired_s[(a->first_node + a->nodes++) % a->n_nodes] = now_s + a->repair_s;
    }
    if (lacking(a) == before) {
        restart(a, now_s);
    }
}

bool ty_absent_advance(struct ty_absent *a, double now_s)
{
    while (a->nodes > 0 && a->repaired_s[a->first_node] <= now_s) {
        const uint32_t before = lacking(a);
        const double at_s = a->repaired_s[a->first_node];
        a->first_node = (a->first_node + 1) % a->n_nodes;
        a->nodes--;
        if (lacking(a) < before) {
            restart(a, at_s);
        }
    }
    bool back = false;
    while (a->n > 0 && a->back_s[a->first] <= now_s) {
        a->first = (a->first + 1) % a->replicas->n;
        a->n--;
        back = true;
    }
    return back;
}

void ty_absent_restart(struct ty_absent *a)
{
    a->n = 0;
}
