/* goal_write.c - GOAL as text and in binary; see goal.h.
 *
 * Source: notes on spcl/LogGOPSim 76451de1: the grammar of its txt2bin, and the binary (little
 * endian, packed). */
#include <stdlib.h>
#include <string.h>

#include "sim/exchange/goal.h"

uint32_t ty_goal_add(struct ty_goal_rank *r, const struct ty_goal_node *node)
{
    if (r->n == r->cap) {
        const uint32_t cap = r->cap > 0 ? 2 * r->cap : 1024;
        struct ty_goal_node *larger = realloc(r->node, cap * sizeof(*larger));
        r->failed = r->failed || larger == NULL;
        if (r->failed) {
            return 0;
        }
        r->node = larger;
        r->cap = cap;
    }
    r->node[r->n] = *node;
    r->node[r->n].first = r->n_requires;
    r->node[r->n].n = 0;
    return r->n++;
}

void ty_goal_require(struct ty_goal_rank *r, uint32_t number)
{
    if (r->n_requires == r->cap_requires) {
        const uint32_t cap = r->cap_requires > 0 ? 2 * r->cap_requires : 1024;
        uint32_t *larger = realloc(r->requires, cap * sizeof(*larger));
        r->failed = r->failed || larger == NULL;
        if (r->failed) {
            return;
        }
        r->requires = larger;
        r->cap_requires = cap;
    }
    if (!r->failed) {
        r->requires[r->n_requires++] = number;
        r->node[r->n - 1].n++;
    }
}

void ty_goal_release(struct ty_goal_rank *r)
{
    free(r->node);
    free(r->requires);
    *r = (struct ty_goal_rank){.n = 0};
}

void ty_goal_put_text(const struct ty_goal_rank *r, uint32_t rank, struct ty_out *out)
{
    ty_out_printf(out, "\nrank %u {\n", (unsigned)rank);
    for (uint32_t i = 0; i < r->n; i++) {
        const struct ty_goal_node *node = &r->node[i];
        ty_out_printf(out, "l%u: ", (unsigned)i);
        if (node->type == TY_GOAL_CALC) {
            ty_out_printf(out, "calc %llu cpu %u\n", (unsigned long long)node->size,
                          (unsigned)node->cpu);
        } else {
            const bool sends = node->type == TY_GOAL_SEND;
            ty_out_printf(out, "%s %llub %s %u tag %u cpu %u nic %u\n", sends ? "send" : "recv",
                          (unsigned long long)node->size, sends ? "to" : "from",
                          (unsigned)node->peer, (unsigned)node->tag, (unsigned)node->cpu,
                          (unsigned)node->nic);
        }
        for (uint32_t k = 0; k < node->n; k++) {
            ty_out_printf(out, "l%u requires l%u\n", (unsigned)i,
                          (unsigned)r->requires[node->first + k]);
        }
    }
    ty_out_str(out, "}\n");
}

/* ---- binary ---- */

static void put_bytes(struct ty_out *out, uint64_t x, uint32_t n)
{
    char *to = ty_out_room(out, n);
    for (uint32_t i = 0; i < n; i++) {
        to[i] = (char)(unsigned char)(x >> 8 * i);
    }
    ty_out_advance(out, to + n);
}

void ty_goal_put_u8(struct ty_out *out, uint8_t x)
{
    put_bytes(out, x, 1);
}

void ty_goal_put_u32(struct ty_out *out, uint32_t x)
{
    put_bytes(out, x, 4);
}

void ty_goal_put_u64(struct ty_out *out, uint64_t x)
{
    put_bytes(out, x, 8);
}

static uint32_t count_roots(const struct ty_goal_rank *r)
{
    uint32_t roots = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        roots += r->node[i].n == 0;
    }
    return roots;
}

uint64_t ty_goal_binary_B(const struct ty_goal_rank *r)
{
    return 8 + 4 * (uint64_t)count_roots(r) + TY_GOAL_NODE_B * (uint64_t)r->n +
           4 * (uint64_t)r->n_requires;
}

/* Who waits for whom: count[i] others wait for node i, those from waiting[start[i]] on. */
static void turn_round(const struct ty_goal_rank *r, uint32_t *count, uint32_t *start,
                       uint32_t *waiting)
{
    memset(count, 0, r->n * sizeof(*count));
    for (uint32_t i = 0; i < r->n_requires; i++) {
        count[r->requires[i]]++;
    }
    for (uint32_t i = 0, at = 0; i < r->n; i++) {
        start[i] = at;
        at += count[i];
        count[i] = 0;
    }
    for (uint32_t i = 0; i < r->n; i++) {
        for (uint32_t k = 0; k < r->node[i].n; k++) {
            const uint32_t other = r->requires[r->node[i].first + k];
            waiting[start[other] + count[other]++] = i;
        }
    }
}

static void put_node(const struct ty_goal_node *node, uint32_t count, uint32_t start,
                     struct ty_out *out)
{
    ty_goal_put_u32(out, node->n);
    ty_goal_put_u8(out, node->type);
    ty_goal_put_u32(out, node->peer);
    ty_goal_put_u64(out, node->size);
    ty_goal_put_u32(out, node->tag);
    ty_goal_put_u8(out, node->cpu);
    ty_goal_put_u8(out, node->nic);
    ty_goal_put_u32(out, count);
    ty_goal_put_u32(out, start);
    ty_goal_put_u32(out, 0); /* nobody waits for its start */
    ty_goal_put_u32(out, start + count);
}

void ty_goal_put_binary(const struct ty_goal_rank *r, uint32_t *scratch, struct ty_out *out)
{
    uint32_t *count = scratch, *start = count + r->n, *waiting = start + r->n;
    turn_round(r, count, start, waiting);
    ty_goal_put_u32(out, r->n);
    ty_goal_put_u32(out, count_roots(r));
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->node[i].n == 0) {
            ty_goal_put_u32(out, i);
        }
    }
    for (uint32_t i = 0; i < r->n; i++) {
        put_node(&r->node[i], count[i], start[i], out);
    }
    for (uint32_t i = 0; i < r->n_requires; i++) {
        ty_goal_put_u32(out, waiting[i]);
    }
}
