/* loads.c - how many rows routing brings to each member of a pipeline rank, layer by layer.
 *
 * Members of a gang are groups that hold all experts of a layer once, expert-tensor ranks side by
 * side; expert rank r of a group has the r-th stretch of experts (model/parallel/expert.c):
 *
 *     member      0 1 | 2 3 | 4 5 | 6 7 | ...        expert-tensor 2, expert 4
 *     experts     0 1 | 2 3 | 4 5 | 6 7 |            of 8
 *     group       0                     | 1 ...
 *
 * A group's tokens are its own, so loads of groups differ by chance, those of ranks by popularity,
 * too. With a capacity what is above it is dropped; padded to it, all experts work alike. */
#include "model/lower/internal.h"

#include <math.h>

/* Whether ranks may have different loads. */
bool ty_lower_is_routed(const struct ty_lowering *l)
{
    const struct ty_token_routing *routing = l->in->routing;
    return routing != NULL && routing->method != TY_TOKENS_BALANCED && ty_arch_is_moe(l->in->arch);
}

/* Rows of an expert that are kept; *dropped: sum of those that are not. */
static double kept(const struct ty_lowering *l, double rows, double mean, double *dropped)
{
    const struct ty_framework *f = &l->in->layout->framework;
    /* as each sender counts: ceil(c k T / E) of its rows (Megatron-LM's get_capacity) */
    const double senders = (double)l->in->layout->expert * l->in->layout->expert_tensor;
    const double room = f->capacity > 0 ? senders * ceil(f->capacity * mean / senders) : rows;
    *dropped += rows > room ? rows - room : 0;
    return f->pad_to_capacity && f->capacity > 0 ? room : fmin(rows, room);
}

/* The rows of one group's experts, and of its members. */
static int load_group(struct ty_lowering *l, struct ty_layer_load *load, uint32_t group)
{
    const struct ty_layout *layout = l->in->layout;
    const struct ty_arch *arch = l->in->arch;
    const uint32_t ranks = layout->expert * layout->expert_tensor;
    const uint32_t n = arch->experts, local = n / layout->expert;
    const struct ty_routed who = {
        .seed = l->in->seed,
        .layer = load->layer,
        .group = l->here.rank * (l->members / ranks) + group,
        .experts = n,
        .top_k = arch->experts_per_token,
        .rows = round(l->prices->part->shard.own_tokens * ranks) * arch->experts_per_token,
    };
    double *rows = &load->expert_rows[(size_t)group * n], dropped = 0;
    const int rc = ty_token_routing_rows(l->in->routing, &who, rows, l->b.err);
    for (uint32_t e = 0; e < n && rc == 0; e++) {
        rows[e] = kept(l, rows[e], who.rows / n, &dropped);
    }
    for (uint32_t i = 0; i < ranks && rc == 0; i++) {
        const uint32_t first = i / layout->expert_tensor * local;
        for (uint32_t e = first; e < first + local; e++) {
            load->rows[group * ranks + i] += rows[e];
        }
    }
    load->mean = l->prices->part->shard.expert_rows;
    load->dropped += dropped / who.rows / (l->members / ranks);
    return rc;
}

int ty_lower_load(struct ty_lowering *l, uint32_t layer, struct ty_layer_load *load)
{
    const uint32_t ranks = l->in->layout->expert * l->in->layout->expert_tensor;
    const uint32_t groups = l->members / ranks;
    *load = (struct ty_layer_load){.layer = layer};
    load->rows = ty_arena_array(l->arena, double, l->members);
    load->expert_rows = ty_arena_array(l->arena, double, (size_t)groups * l->in->arch->experts);
    if (load->rows == NULL || load->expert_rows == NULL) {
        return ty_fail_memory(l->b.err);
    }
    int rc = 0;
    for (uint32_t g = 0; g < groups && rc == 0; g++) {
        rc = load_group(l, load, g);
    }
    return rc;
}

const double *ty_layer_load_experts(const struct ty_layer_load *load,
                                    const struct ty_layout *layout, uint32_t experts,
                                    uint32_t member)
{
    const uint32_t ranks = layout->expert * layout->expert_tensor;
    const uint32_t place = member % ranks / layout->expert_tensor;
    return &load->expert_rows[(size_t)(member / ranks) * experts +
                              (size_t)place * (experts / layout->expert)];
}

double ty_layer_load_most(const struct ty_layer_load *load, uint32_t members, uint32_t *where)
{
    *where = 0;
    for (uint32_t i = 1; i < members; i++) {
        *where = load->rows[i] > load->rows[*where] ? i : *where;
    }
    return load->rows[*where] / load->mean;
}
