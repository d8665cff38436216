/* say.c - names gangs, passes and operations in messages about a program. */
#include "sim/core/program/say.h"

#include <stdio.h>

/* "rank 3", "ranks 0-7", "ranks 1, 5, ... 29": whatever the order of the grid;
 * counted from the first of its job, `from`. */
static void say_ranks(const struct ty_gang *gang, uint32_t from, char *buf, size_t size)
{
    const uint32_t *rank = gang->rank_of;
    const uint32_t n = gang->n_ranks;
    bool even = true;
    for (uint32_t i = 2; i < n; i++) {
        even = even && rank[i] - rank[i - 1] == rank[1] - rank[0];
    }
    if (n == 1) {
        snprintf(buf, size, "rank %u", (unsigned)(rank[0] - from));
    } else if (even && rank[1] == rank[0] + 1) {
        snprintf(buf, size, "ranks %u-%u", (unsigned)(rank[0] - from),
                 (unsigned)(rank[n - 1] - from));
    } else if (n == 2) {
        snprintf(buf, size, "ranks %u and %u", (unsigned)(rank[0] - from),
                 (unsigned)(rank[1] - from));
    } else if (even) {
        snprintf(buf, size, "ranks %u, %u, ... %u", (unsigned)(rank[0] - from),
                 (unsigned)(rank[1] - from), (unsigned)(rank[n - 1] - from));
    } else {
        snprintf(buf, size, "rank %u and %u more", (unsigned)(rank[0] - from), (unsigned)(n - 1));
    }
}

char *ty_say_gang(const struct ty_program *p, uint32_t gang, char buf[TY_SAY])
{
    char ranks[64];
    const char *name = p->gangs[gang].name;
    const uint32_t from = p->n_tenants > 0 ? p->tenants[p->gangs[gang].tenant].first_rank : 0;
    say_ranks(&p->gangs[gang], from, ranks, sizeof(ranks));
    snprintf(buf, TY_SAY, "%.64s (%s)", name != NULL ? name : "gang", ranks);
    return buf;
}

char *ty_say_pass(const struct ty_program *p, const struct ty_pass *pass, char buf[TY_SAY])
{
    const char *word = ty_phase_word((enum ty_phase)pass->phase);
    if (p->traced) {
        snprintf(buf, TY_SAY, "node %u", (unsigned)pass->seq2);
        return buf;
    }
    int n = pass->phase == TY_PHASE_STEP ? snprintf(buf, TY_SAY, "%s", word)
                                         : snprintf(buf, TY_SAY, "%s %u", word, (unsigned)pass->mb);
    if (p->n_steps > 1) {
        snprintf(buf + n, TY_SAY - (size_t)n, " of step %u", (unsigned)pass->step);
    }
    return buf;
}

char *ty_say_op(const struct ty_program *p, const struct ty_pass *pass, const struct ty_op *op,
                char buf[TY_SAY])
{
    const struct ty_kind *kind = &p->kinds[op->kind];
    const bool message = op->sync == TY_SYNC_SEND || op->sync == TY_SYNC_RECV;
    char bytes[48] = "", group[48] = "";
    if (kind->bytes > 0) {
        (void)ty_quantity_format(kind->bytes, TY_DIM_BYTES, bytes, sizeof(bytes));
    }
    if (kind->group != NULL) {
        snprintf(group, sizeof(group), "group %.36s", kind->group);
    }
    const char *between = bytes[0] != '\0' && group[0] != '\0' ? ", " : "";
    const bool any = bytes[0] != '\0' || group[0] != '\0';
    if (message && !p->traced) {
        snprintf(buf, TY_SAY, "%.40s of micro-batch %u%s%s%s%s%s", p->channels[op->link].name,
                 (unsigned)ty_op_mb(pass, op), any ? " (" : "", bytes, between, group,
                 any ? ")" : "");
    } else {
        snprintf(buf, TY_SAY, "%.40s%s%s%s%s%s", kind->name, any ? " (" : "", bytes, between, group,
                 any ? ")" : "");
    }
    return buf;
}
