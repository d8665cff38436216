/* world.c - how many GPUs there are, by what launchers are told. */
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/import/megatron/megatron.h"

/* The first of two flags that is there. */
static const char *either(const struct ty_flags *f, const char *a, const char *b)
{
    return ty_flags_find(f, a) != NULL ? a : b;
}

/* What a launcher is told, where that is known: "8", "1:4" (the most); else 0, and why. */
static uint32_t told(struct ty_megatron *m, const char *name)
{
    const struct ty_flag *flag = ty_flags_find(&m->flags, name);
    uint32_t n = 0;
    if (flag == NULL || flag->n_values == 0) {
        return 0;
    }
    const struct ty_flag_value *value = &flag->values[0];
    const char *colon = strchr(value->text, ':');
    const char *at = colon != NULL ? colon + 1 : value->text;
    if (flag->doubt != NULL || value->doubt != NULL) {
        m->draft->no_world = flag->doubt != NULL ? flag->doubt : value->doubt;
        m->draft->gpus_from = flag->from;
    } else if (!ty_scan_number(&at, NULL, 1u << 24, &n) || *at != '\0') {
        m->draft->no_world = ty_draft_text(m->draft, "%s is no whole number", value->text);
        m->draft->gpus_from = flag->from;
        n = 0;
    }
    return n;
}

void ty_megatron_world(struct ty_megatron *m)
{
    struct ty_draft *d = m->draft;
    const struct ty_flags *f = &m->flags;
    const char *each = either(f, "--nproc-per-node", "--num-gpus");
    const char *nodes = either(f, "--nnodes", "--num-nodes");
    const char *all = either(f, "--num-processes", "--world-size");
    if (d->options->gpus > 0) {
        return;
    }
    const uint32_t per_node = told(m, each), n_nodes = told(m, nodes), whole = told(m, all);
    if (whole > 0) {
        d->gpus = whole;
        d->gpus_from = ty_flags_from(f, all, "");
    } else if (per_node > 0 && (n_nodes > 0 || ty_flags_find(f, nodes) == NULL)) {
        const uint64_t gpus = (uint64_t)per_node * (n_nodes > 0 ? n_nodes : 1);
        d->gpus = gpus < UINT32_MAX ? (uint32_t)gpus : 0;
        d->per_node = per_node;
        d->gpus_from = ty_flags_from(f, ty_flags_find(f, nodes) != NULL ? nodes : each, "");
    }
}
