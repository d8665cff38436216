/* digest.c - one 64-bit number for a whole run: equal digests mean equal runs.
 *
 * Every task of every rank counts (whatever ranks, window or detail a trace would show) with its
 * rank, stream, name, layer, micro-batch, start and duration. The hashes of the tasks are added,
 * so the order in which they are visited cannot matter. Three levels keep it cheap: a hash per
 * operation of a block, one per pass, and two multiplications per task. */
#include <stdio.h>

#include "sim/base/noise.h"
#include "sim/core/program/issue.h"
#include "traces/out/writer.h"

/* Mixes a task's own words into the hash of its operation and rank: multiply, fold, multiply, fold,
 * with the odd constants of splitmix64's finaliser. */
static inline uint64_t mix(uint64_t who, ty_ps start, ty_ps dur)
{
    uint64_t h = (who ^ start) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ (h >> 29) ^ dur) * UINT64_C(0x94d049bb133111eb);
    return h ^ (h >> 32);
}

struct digest {
    const struct ty_timeline *t;
    const uint64_t *op_hash;   /* [n_ops] */
    const uint64_t *rank_hash; /* [n_ranks] */
    uint64_t sum;
};

/* All tasks of one operation. */
static void add_op(struct digest *d, const struct ty_issue *at)
{
    const struct ty_program *p = d->t->program;
    const struct ty_gang *gang = at->gang;
    const uint64_t what = ty_hash4(d->op_hash[at->op - p->ops], ty_op_mb(at->pass, at->op), 0, 0);
    const struct ty_kind *kind = &p->kinds[at->op->kind];
    const ty_ps *starts = ty_timeline_starts(d->t, gang, at->ordinal);
    const ty_ps *durs = d->t->dur != NULL
                            ? d->t->dur + gang->first_task + at->ordinal * gang->n_ranks
                            : kind->dur_of;
    uint64_t sum = 0;
    for (uint32_t m = 0; m < gang->n_ranks; m++) {
        sum += mix(what + d->rank_hash[gang->rank_of[m]], starts[m],
                   durs != NULL ? durs[m] : kind->dur);
    }
    d->sum += sum;
}

/* Hashes of what operations and ranks are; NULL when memory is exhausted. */
static uint64_t *hash_ops(const struct ty_program *p, struct ty_arena *arena)
{
    uint64_t *hash = ty_arena_array(arena, uint64_t, p->n_ops);
    for (uint32_t i = 0; i < p->n_ops && hash != NULL; i++) {
        const struct ty_op *op = &p->ops[i];
        hash[i] = ty_hash4(ty_hash_text(p->kinds[op->kind].name), op->layer,
                           ty_hash_text(ty_stream_name(p, op->stream)), 1);
    }
    return hash;
}

static uint64_t *hash_ranks(const struct ty_program *p, struct ty_arena *arena)
{
    uint64_t *hash = ty_arena_array(arena, uint64_t, p->n_ranks);
    for (uint32_t r = 0; r < p->n_ranks && hash != NULL; r++) {
        hash[r] = ty_hash4(r, 0, 0, 2);
    }
    return hash;
}

static int digest_write(const struct ty_trace *trace, struct ty_out *out, struct ty_err *err)
{
    const struct ty_program *p = trace->timeline->program;
    if (trace->timeline->halt != NULL) {
        return ty_fail(err, TY_EDEADLOCK, "digest: none of a run that did not finish");
    }
    struct ty_arena arena = {.head = NULL};
    struct digest d = {
        .t = trace->timeline, .op_hash = hash_ops(p, &arena), .rank_hash = hash_ranks(p, &arena)};
    const bool ok = d.op_hash != NULL && d.rank_hash != NULL;
    for (uint32_t g = 0; g < p->n_gangs && ok; g++) {
        for (struct ty_issue at = ty_issue_of(p, &p->gangs[g]); ty_issue_next(&at);) {
            add_op(&d, &at);
        }
    }
    ty_arena_release(&arena);
    if (!ok) {
        return ty_fail_memory(err);
    }
    ty_out_printf(out, "%016llx\n", (unsigned long long)d.sum);
    return 0;
}

const struct ty_trace_format ty_trace_digest = {
    .name = "digest",
    .extension = "txt",
    .summary = "one hash of every task of every rank: equal digests mean equal runs",
    .write = digest_write,
};
