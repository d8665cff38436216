/* goal.c - a run as GOAL, the language of LogGOPSim and ATLAHS: messages and calculations.
 *
 * Collectives do not exist there. Those of a ring are written as its steps, n - 1 or, of an
 * all-reduce, 2 (n - 1) blocks that each rank hands on; an all-to-all as messages to everyone,
 * nearest first:
 *
 *     calc rest -> send 0 ------> send 1 ------> ...      rest: what the collective takes beyond
 *             \--> recv 0 -/ \--> recv 1 -/ \--> ...            these messages, as launching it
 *
 * LogGOPSim counts a node as finished when it begins, and lets its CPU be busy: what is on the same
 * CPU waits, what is on another does not. So each stream is a CPU, messages between two stages are
 * one (and so for both of them, as a message takes the CPU number of its sender with it), and where
 * another CPU waits a calculation of no length stands behind, which begins when the CPU is free.
 * A rank has one NIC, on which messages queue.
 *
 * Time is counted in units that make G, the time of a byte, a whole number, as LogGOPSim knows no
 * other; or in ns. Sums of calculations of a stream are never off by more than half a unit.
 *
 * Sources: Hoefler, Schneider & Lumsdaine 2010 (LogGOPSim); notes on spcl/LogGOPSim 76451de1. When
 * nodes count as finished is from memory of its program, which was not run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/exchange/internal.h"
#include "sim/exchange/read/formats.h"
#include "traces/out/out.h"

struct goal_rank {
    struct ty_goal_node *node; /* [n] */
    uint32_t *requires;        /* [n_requires] */
    uint32_t n, n_requires, cap, cap_requires;
    bool failed; /* no memory for it */
};

/* ---- writing ---- */

static uint32_t goal_add(struct goal_rank *r, const struct ty_goal_node *node)
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

static void goal_require(struct goal_rank *r, uint32_t number)
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

/* The last node requires another, before it. */
static void goal_release(struct goal_rank *r)
{
    free(r->node);
    free(r->requires);
    *r = (struct goal_rank){.n = 0};
}

static void goal_put_text(const struct goal_rank *r, uint32_t rank, struct ty_out *out)
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

static void goal_put_u8(struct ty_out *out, uint8_t x)
{
    put_bytes(out, x, 1);
}

static void goal_put_u32(struct ty_out *out, uint32_t x)
{
    put_bytes(out, x, 4);
}

static void goal_put_u64(struct ty_out *out, uint64_t x)
{
    put_bytes(out, x, 8);
}

static uint32_t count_roots(const struct goal_rank *r)
{
    uint32_t roots = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        roots += r->node[i].n == 0;
    }
    return roots;
}

static uint64_t goal_binary_B(const struct goal_rank *r)
{
    return 8 + 4 * (uint64_t)count_roots(r) + TY_GOAL_NODE_B * (uint64_t)r->n +
           4 * (uint64_t)r->n_requires;
}

/* Who waits for whom: count[i] others wait for node i, those from waiting[start[i]] on. */
static void turn_round(const struct goal_rank *r, uint32_t *count, uint32_t *start,
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
    goal_put_u32(out, node->n);
    goal_put_u8(out, node->type);
    goal_put_u32(out, node->peer);
    goal_put_u64(out, node->size);
    goal_put_u32(out, node->tag);
    goal_put_u8(out, node->cpu);
    goal_put_u8(out, node->nic);
    goal_put_u32(out, count);
    goal_put_u32(out, start);
    goal_put_u32(out, 0); /* nobody waits for its start */
    goal_put_u32(out, start + count);
}

/* Bytes of the rank in the binary, and itself. scratch[2 * n + n_requires]. */
static void goal_put_binary(const struct goal_rank *r, uint32_t *scratch, struct ty_out *out)
{
    uint32_t *count = scratch, *start = count + r->n, *waiting = start + r->n;
    turn_round(r, count, start, waiting);
    goal_put_u32(out, r->n);
    goal_put_u32(out, count_roots(r));
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->node[i].n == 0) {
            goal_put_u32(out, i);
        }
    }
    for (uint32_t i = 0; i < r->n; i++) {
        put_node(&r->node[i], count[i], start[i], out);
    }
    for (uint32_t i = 0; i < r->n_requires; i++) {
        goal_put_u32(out, waiting[i]);
    }
}

/* ---- a job as GOAL ---- */

#define CPUS_MAX 256u

struct writer {
    struct ty_export *x;
    struct goal_rank rank;
    uint32_t *done;   /* [tasks] node that stands for its end */
    uint32_t *colour; /* [channels] CPU of its messages, beyond those of streams */
    uint32_t done_cap, scratch_cap;
    uint32_t *scratch;
    double unit_ps; /* of time */
    double G;       /* units a byte takes; whole, but with --unit ns */
    uint64_t L;
    uint32_t max_cpu;
    ty_ps busy[TY_MAX_STREAMS];       /* sum of durations so far ... */
    uint64_t written[TY_MAX_STREAMS]; /* ... and of those written, units */
};

/* ---- CPUs ---- */

/* Colours the channels so that no two at one gang have the same. */
static int colour_channels(struct writer *w)
{
    const struct ty_program *p = w->x->members.program;
    w->colour = ty_arena_array(&w->x->arena, uint32_t, p->n_channels + 1u);
    if (w->colour == NULL) {
        return ty_fail_memory(w->x->err);
    }
    for (uint32_t c = 0; c < p->n_channels; c++) {
        bool taken[CPUS_MAX] = {false};
        for (uint32_t other = 0; other < c; other++) {
            const struct ty_channel *a = &p->channels[c], *b = &p->channels[other];
            taken[w->colour[other]] = taken[w->colour[other]] || a->from == b->from ||
                                      a->from == b->to || a->to == b->from || a->to == b->to;
        }
        while (taken[w->colour[c]]) {
            w->colour[c]++;
        }
        if (w->colour[c] + p->n_lanes >= CPUS_MAX - 1) {
            return ty_fail(w->x->err, TY_ELIMIT,
                           "a rank exchanges messages with more than %u others; GOAL has %u CPUs",
                           (unsigned)(w->colour[c] - 1), CPUS_MAX);
        }
    }
    return 0;
}

static uint8_t cpu_of(const struct writer *w, const struct ty_task *task)
{
    const struct ty_op *op = task->span.op;
    const bool message = (op->sync == TY_SYNC_SEND || op->sync == TY_SYNC_RECV) && !task->own;
    return (uint8_t)(message ? w->x->members.program->n_lanes + w->colour[op->link] : op->lane);
}

/* ---- nodes ---- */

static uint32_t add(struct writer *w, const struct ty_goal_node *node)
{
    w->max_cpu = node->cpu > w->max_cpu ? node->cpu : w->max_cpu;
    return goal_add(&w->rank, node);
}

static uint32_t add_calc(struct writer *w, uint64_t units, uint8_t cpu)
{
    return add(w, &(struct ty_goal_node){.type = TY_GOAL_CALC, .size = units, .cpu = cpu});
}

/* What the last node waits for, as its task does. */
static void require_all(struct writer *w, const struct ty_task *task)
{
    if (task->before != TY_TASK_NONE) {
        goal_require(&w->rank, w->done[task->before]);
    }
    for (uint32_t i = 0; i < task->n_after; i++) {
        goal_require(&w->rank, w->done[task->after[i]]);
    }
}

static uint64_t units_of(const struct writer *w, double ps)
{
    return (uint64_t)fmax(0, ps / w->unit_ps + 0.5);
}

/* The node that others may wait for in place of `node`, which is on that CPU. */
static uint32_t add_end(struct writer *w, uint32_t node, uint8_t cpu)
{
    const uint32_t end = add_calc(w, 0, cpu);
    goal_require(&w->rank, node);
    return end;
}

static uint32_t put_computation(struct writer *w, const struct ty_task *task)
{
    const uint8_t cpu = cpu_of(w, task), lane = task->span.op->lane;
    w->busy[lane] += task->span.dur;
    const uint64_t until = units_of(w, (double)w->busy[lane]);
    const uint32_t calc = add_calc(w, until - w->written[lane], cpu);
    w->written[lane] = until;
    require_all(w, task);
    return task->awaited ? add_end(w, calc, cpu) : calc;
}

static uint32_t put_message(struct writer *w, const struct ty_task *task)
{
    const struct ty_export *x = w->x;
    const struct ty_op *op = task->span.op;
    const bool sends = op->sync == TY_SYNC_SEND;
    const uint64_t bytes = ty_export_bytes(task->span.kind->bytes);
    const uint32_t node = add(
        w, &(struct ty_goal_node){.type = sends ? TY_GOAL_SEND : TY_GOAL_RECV,
                                  .cpu = cpu_of(w, task),
                                  .peer = ty_members_peer(x->members.program, x->tasks.member, op),
                                  .tag = ty_members_tag(x->members.program, task->span.pass, op),
                                  .size = bytes > 0 ? bytes : 1});
    require_all(w, task);
    if (sends && !task->awaited) {
        return node;
    }
    /* a sender is free at once there: whoever waits for it has the time of the bytes to wait */
    const uint64_t takes = units_of(w, (double)ty_kind_alone(task->span.kind, x->tasks.member));
    const uint64_t more = sends ? takes : takes > w->L ? takes - w->L : 0;
    const uint32_t end = add_end(w, node, cpu_of(w, task));
    if (more == 0) {
        return end;
    }
    const uint32_t calc = add_calc(w, more, op->lane); /* its stream is busy for as long */
    goal_require(&w->rank, end);
    return add_end(w, calc, op->lane);
}

/* ---- collectives ---- */

/* Messages of one rank in a collective: in step k it sends block `sent` to one rank and receives
 * `received` from another. A step of a ring waits for what the one before it brought. */
struct steps {
    uint32_t n;
    bool ring, whole; /* every message is the whole tensor */
};

static struct steps steps_of(enum ty_coll coll, uint32_t n)
{
    switch (coll) {
    case TY_COLL_ALL_REDUCE:
        return (struct steps){.n = 2 * (n - 1), .ring = true};
    case TY_COLL_ALL_TO_ALL:
        return (struct steps){.n = n - 1};
    case TY_COLL_SEND_RECV:
        return (struct steps){.n = 1, .ring = true, .whole = true};
    default:
        return (struct steps){.n = n - 1, .ring = true};
    }
}

/* Bytes of a block: they add up to the tensor. */
static uint64_t block_B(uint64_t bytes, uint32_t n, uint32_t block)
{
    const uint64_t from = bytes / n * block + bytes % n * block / n;
    const uint64_t to = bytes / n * (block + 1) + bytes % n * (block + 1) / n;
    return to > from ? to - from : 1; /* LogGOPSim takes the size less one */
}

/* What trainyard takes beyond the messages. */
static uint64_t rest_of(const struct writer *w, const struct ty_task *task,
                        const struct steps *steps, uint64_t block)
{
    const ty_ps alone = ty_kind_alone(task->span.kind, w->x->tasks.member);
    const uint64_t units = units_of(w, (double)alone);
    const uint64_t bytes = steps->n * (uint64_t)((double)(block - 1) * w->G);
    const uint64_t messages = (steps->ring ? steps->n : 1) * w->L + bytes;
    return units > messages ? units - messages : 0;
}

static uint32_t put_collective(struct writer *w, const struct ty_task *task)
{
    const struct ty_member_set *set = &w->x->set;
    const uint32_t n = set->n, at = set->position;
    const struct steps steps = steps_of(ty_export_coll(task->span.kind), n);
    const uint64_t bytes = ty_export_bytes(task->span.kind->bytes);
    const uint64_t mean = steps.whole ? bytes : block_B(bytes, n, 0);
    struct ty_goal_node node = {
        .cpu = cpu_of(w, task),
        .tag = ty_members_tag(w->x->members.program, task->span.pass, task->span.op)};
    const uint32_t begin = add_calc(w, rest_of(w, task, &steps, mean), node.cpu);
    uint32_t sent = begin, received = begin;
    require_all(w, task);
    for (uint32_t k = 0; k < steps.n; k++) {
        const uint32_t far = steps.ring ? 1 : k + 1;
        const uint32_t to = (at + far) % n, from = (at + n - far) % n;
        const uint32_t out = steps.ring ? (at + 2 * n - k) % n : to;
        const uint32_t in = steps.ring ? (from + 2 * n - k) % n : at;
        node.type = TY_GOAL_SEND;
        node.peer = set->ranks[to];
        node.size = steps.whole ? mean : block_B(bytes, n, out);
        const uint32_t send = add(w, &node);
        goal_require(&w->rank, sent);
        if (steps.ring && k > 0) {
            goal_require(&w->rank, received);
        }
        node.type = TY_GOAL_RECV;
        node.peer = set->ranks[from];
        node.size = steps.whole ? mean : block_B(bytes, n, in);
        const uint32_t receive = add(w, &node);
        goal_require(&w->rank, received);
        sent = send;
        received = receive;
    }
    const uint32_t end = add_calc(w, 0, node.cpu);
    goal_require(&w->rank, sent);
    goal_require(&w->rank, received);
    return end;
}

static uint32_t put_task(struct writer *w, const struct ty_task *task)
{
    struct ty_export *x = w->x;
    const struct ty_op *op = task->span.op;
    if (!task->own && (op->sync == TY_SYNC_SEND || op->sync == TY_SYNC_RECV)) {
        return put_message(w, task);
    }
    ty_members_of(&x->members, x->tasks.gang, x->tasks.member, op, &x->set);
    return task->own || x->set.n == 1 ? put_computation(w, task) : put_collective(w, task);
}

/* The schedule of a rank, in w->rank. */
static int make_rank(struct writer *w, uint32_t rank)
{
    struct ty_export *x = w->x;
    int rc = ty_task_list_fill(&x->tasks, &x->run->timeline, rank, x->err);
    if (rc == 0 && x->tasks.n > w->done_cap) {
        free(w->done);
        w->done_cap = x->tasks.n;
        w->done = malloc(w->done_cap * sizeof(*w->done));
        rc = w->done != NULL ? 0 : ty_fail_memory(x->err);
    }
    w->rank.n = w->rank.n_requires = 0;
    for (uint32_t i = 0; i < TY_MAX_STREAMS; i++) {
        w->busy[i] = w->written[i] = 0;
    }
    for (uint32_t i = 0; i < x->tasks.n && rc == 0; i++) {
        w->done[i] = put_task(w, &x->tasks.task[i]);
        rc = w->rank.failed ? ty_fail_memory(x->err) : 0;
    }
    return rc;
}

/* ---- files ---- */

/* Where each rank is in the binary has to be known before the first is written. */
static int put_places(struct writer *w, struct ty_out *bin)
{
    struct ty_export *x = w->x;
    uint64_t at = TY_GOAL_HEAD + 6 + 16 * (uint64_t)x->n_ranks - TY_GOAL_HEAD;
    uint64_t *size = ty_arena_array(&x->arena, uint64_t, x->n_ranks);
    int rc = size != NULL ? 0 : ty_fail_memory(x->err);
    for (uint32_t i = 0; i < x->n_ranks && rc == 0; i++) {
        rc = make_rank(w, i);
        size[i] = goal_binary_B(&w->rank);
        x->n_nodes += w->rank.n;
    }
    goal_put_u64(bin, TY_GOAL_MAGIC);
    goal_put_u32(bin, x->n_ranks);
    goal_put_u8(bin, (uint8_t)w->max_cpu);
    goal_put_u8(bin, 0);
    for (uint32_t i = 0; i < x->n_ranks && rc == 0; i++) {
        goal_put_u64(bin, at);
        at += size[i];
        goal_put_u64(bin, at);
    }
    return rc;
}

static int put_rank(struct writer *w, uint32_t rank, struct ty_out *text, struct ty_out *bin)
{
    int rc = make_rank(w, rank);
    const uint32_t need = 2 * w->rank.n + w->rank.n_requires;
    if (rc == 0 && need > w->scratch_cap) {
        free(w->scratch);
        w->scratch_cap = need;
        w->scratch = malloc(need * sizeof(*w->scratch));
        rc = w->scratch != NULL ? 0 : ty_fail_memory(w->x->err);
    }
    if (rc == 0) {
        goal_put_text(&w->rank, rank, text);
        goal_put_binary(&w->rank, w->scratch, bin);
    }
    return rc;
}

static void find_units(struct writer *w)
{
    const double byte_ps = 1e12 / w->x->flat.Bps;
    w->unit_ps = w->x->options->unit != NULL ? 1000 : byte_ps / ceil(byte_ps);
    w->G = byte_ps / w->unit_ps;
    w->L = units_of(w, 1e12 * w->x->flat.latency_s);
}

static int write_files(struct writer *w)
{
    struct ty_export *x = w->x;
    struct ty_out text, bin;
    int rc = ty_export_open(x, &text, "trace.goal");
    if (rc < 0) {
        return rc;
    }
    rc = ty_export_open(x, &bin, "trace.bin");
    if (rc < 0) {
        ty_out_discard(&text);
        return rc;
    }
    rc = put_places(w, &bin);
    ty_out_printf(&text, "num_ranks %u\n", (unsigned)x->n_ranks);
    for (uint32_t i = 0; i < x->n_ranks && rc == 0; i++) {
        rc = put_rank(w, i, &text, &bin);
    }
    rc = ty_export_close(x, &text, rc);
    return ty_export_close(x, &bin, rc);
}

static int write_goal(struct ty_export *x)
{
    struct writer w = {.x = x};
    find_units(&w);
    int rc = colour_channels(&w);
    rc = rc < 0 ? rc : write_files(&w);
    goal_release(&w.rank);
    free(w.done);
    free(w.scratch);
    return rc;
}

static void about_goal(struct ty_export *x, struct ty_out *readme)
{
    struct writer w = {.x = x};
    find_units(&w);
    if (x->options->unit != NULL) {
        ty_out_str(readme, "trace.goal is the text, trace.bin the binary. One unit of time is 1000 "
                           "ps, as packet simulators read it (htsim in ATLAHS). Give them the "
                           "network above.\n\n");
    } else {
        ty_out_printf(readme,
                      "trace.goal is the text, trace.bin what ATLAHS' LogGOPSim reads:\n\n    "
                      "LogGOPSim -f trace.bin -L %llu -o 0 -g 0 -G %.0f -O 0 -S 2147483647\n\nOne "
                      "unit of its time is %.9g ps, which makes G, the time of a byte, a whole "
                      "number. -S is above the size of every message, as a sender of NCCL does not "
                      "wait for a late receive.\n\n",
                      (unsigned long long)w.L, w.G, w.unit_ps);
    }
    ty_out_str(readme,
               "The CPUs of a rank are its streams, then its connections to other pipeline stages. "
               "A calculation before the messages of a collective is the simulated time beyond "
               "latency and bytes; calculations of length 0 join dependencies of other CPUs.\n\n");
    ty_out_str(readme,
               "What the trace loses: shared links (messages of a rank queue at its NIC instead), "
               "algorithms other than rings and direct messages, and names. A late member of a "
               "group delays its neighbours here, but the whole group in trainyard.\n");
}

const struct ty_export_format ty_export_goal = {
    .name = "goal", .all_ranks = true, .has_unit = true, .write = write_goal, .about = about_goal};
