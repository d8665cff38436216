/* chakra.c - Chakra execution traces: one file a rank, for ASTRA-sim and whoever else reads them.
 *
 * A task is a node. A send-receive, which every member of a group does at once, is two. An
 * all-to-all of a part of the ranks is its messages, one send behind the other next to the
 * receives: ASTRA-sim has rings for such groups, which would hand every block from neighbour to
 * neighbour. Nodes are numbered by when they began, so that what one waits for has a smaller
 * number and comes before it:
 *   data_deps  the task whose event it waits for
 *   ctrl_deps  the task before it on its stream; of a communication also that which began last
 *              before it. ASTRA-sim runs one communication of a rank at a time; in which order is
 *              then the same for all members of a group, which one that takes what is ready first
 *              does not promise.
 * Durations are whole microseconds: those of a stream are rounded so that their sum is never off by
 * more than half of one. Picoseconds are in the attribute trainyard_ps.
 *
 * Sources: notes on mlcommons/chakra 21585d8f (et_def.proto) and on astra-sim/astra-sim 518bd513
 * with feeder v3 (Workload.cc, Ring.cc). ASTRA-sim itself was not run. */
#include "sim/exchange/chakra.h"

#include <assert.h>
#include <chakra.pb-c.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/exchange/internal.h"

#define PS_PER_US  1000000u
#define DEPS       (2 * (TY_WAITS + 2u))
#define ATTRIBUTES 8u
#define TEXT       128u

/* Numbers of the format. A broadcast is known and throws: it is written as the collective that
 * moves as much along the same ring. */
static const int64_t comm_types[TY_N_COLLECTIVES] = {
    [TY_COLL_ALL_REDUCE] = TY_CHAKRA_ALL_REDUCE,
    [TY_COLL_ALL_GATHER] = TY_CHAKRA_ALL_GATHER,
    [TY_COLL_REDUCE_SCATTER] = TY_CHAKRA_REDUCE_SCATTER,
    [TY_COLL_BROADCAST] = TY_CHAKRA_ALL_GATHER,
    [TY_COLL_REDUCE] = TY_CHAKRA_REDUCE_SCATTER,
    [TY_COLL_ALL_TO_ALL] = TY_CHAKRA_ALL_TO_ALL,
};

/* A node being made. */
struct node {
    ChakraProtoMsg__Node node;
    ChakraProtoMsg__AttributeProto attribute[ATTRIBUTES], *attributes[ATTRIBUTES];
    uint64_t ctrl[DEPS], data[DEPS];
    char name[TEXT], group[16];
};

struct writer {
    struct ty_export *x;
    struct ty_out out;
    uint64_t *first;                     /* [tasks + 1] number of its first node */
    ty_ps busy[TY_MAX_STREAMS];          /* sum of durations so far ... */
    uint64_t written_us[TY_MAX_STREAMS]; /* ... and of those written */
};

/* How many messages a rank sends and receives in a collective that is written as these; 0: it is a
 * node. The members are those of the task at hand. */
static uint32_t messages_of(const struct writer *w, const struct ty_task *task)
{
    const uint32_t n = w->x->set.n, all = w->x->members.program->n_ranks;
    if (task->own || n == 1 || task->span.kind->collective == NULL) {
        return 0;
    }
    const enum ty_coll coll = ty_export_coll(task->span.kind);
    return coll == TY_COLL_SEND_RECV ? 1 : coll == TY_COLL_ALL_TO_ALL && n < all ? n - 1 : 0;
}

static void find_members(const struct writer *w, const struct ty_task *task)
{
    struct ty_export *x = w->x;
    ty_members_of(&x->members, x->tasks.gang, x->tasks.member, task->span.op, &x->set);
}

/* Numbers the nodes of a rank. */
static int number_nodes(struct writer *w)
{
    const struct ty_task_list *l = &w->x->tasks;
    w->first = malloc((l->n + 1u) * sizeof(*w->first));
    if (w->first == NULL) {
        return ty_fail_memory(w->x->err);
    }
    w->first[0] = 1;
    for (uint32_t i = 0; i < l->n; i++) {
        find_members(w, &l->task[i]);
        const uint32_t messages = messages_of(w, &l->task[i]);
        w->first[i + 1] = w->first[i] + (messages > 0 ? 2 * messages : 1);
    }
    return 0;
}

/* A task is over when its last node is; of messages the last send and the last receive. */
static void add_dep(const struct writer *w, uint32_t task, uint64_t *deps, size_t *n)
{
    if (w->first[task + 1] - w->first[task] > 1) {
        deps[(*n)++] = w->first[task + 1] - 2;
    }
    deps[(*n)++] = w->first[task + 1] - 1;
}

static void add_deps(const struct writer *w, const struct ty_task *task, struct node *n)
{
    for (uint32_t i = 0; i < task->n_after; i++) {
        add_dep(w, task->after[i], n->data, &n->node.n_data_deps);
    }
    if (task->before != TY_TASK_NONE) {
        add_dep(w, task->before, n->ctrl, &n->node.n_ctrl_deps);
    }
    if (task->sent != TY_TASK_NONE && task->sent != task->before) {
        add_dep(w, task->sent, n->ctrl, &n->node.n_ctrl_deps);
    }
    n->node.data_deps = n->data;
    n->node.ctrl_deps = n->ctrl;
}

static ChakraProtoMsg__AttributeProto *add_attribute(
    struct node *n, const char *name, ChakraProtoMsg__AttributeProto__ValueCase which)
{
    ChakraProtoMsg__AttributeProto *a = &n->attribute[n->node.n_attr];
    chakra_proto_msg__attribute_proto__init(a);
    a->name = (char *)(uintptr_t)name; /* packed, never changed */
    a->value_case = which;
    n->attributes[n->node.n_attr++] = a;
    n->node.attr = n->attributes;
    return a;
}

static void add_u64(struct node *n, const char *name, uint64_t value)
{
    add_attribute(n, name, CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_UINT64_VAL)->uint64_val = value;
}
static void add_i64(struct node *n, const char *name, int64_t value)
{
    add_attribute(n, name, CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_INT64_VAL)->int64_val = value;
}
static void add_i32(struct node *n, const char *name, uint32_t value)
{
    add_attribute(n, name, CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_INT32_VAL)->int32_val =
        (int32_t)value;
}

/* "F3.1 12 qkv": phase, micro-batch and stage as in schedules, layer, operation. */
static void name_node(const struct ty_task *task, struct node *n)
{
    const struct ty_pass *pass = task->span.pass;
    const char letter = ty_phase_letter((enum ty_phase)pass->phase);
    int len = pass->mb == TY_NONE ? snprintf(n->name, TEXT, "%c", letter)
                                  : snprintf(n->name, TEXT, "%c%u.%u", letter, (unsigned)pass->mb,
                                             (unsigned)pass->stage);
    if (task->span.op->layer != TY_NONE) {
        len += snprintf(n->name + len, TEXT - (size_t)len, " %u", (unsigned)task->span.op->layer);
    }
    snprintf(n->name + len, TEXT - (size_t)len, " %s", task->span.kind->name);
    n->node.name = n->name;
}

static void begin(const struct writer *w, uint32_t number, ChakraProtoMsg__NodeType type,
                  struct node *n)
{
    const struct ty_task *task = &w->x->tasks.task[number];
    chakra_proto_msg__node__init(&n->node);
    n->node.id = w->first[number];
    n->node.type = type;
    n->node.start_time_micros = task->span.start / PS_PER_US;
    name_node(task, n);
    add_deps(w, task, n);
    add_attribute(n, "is_cpu_op", CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_BOOL_VAL)->bool_val =
        type == CHAKRA_PROTO_MSG__NODE_TYPE__COMP_NODE &&
        task->span.op->stream != TY_STREAM_COMPUTE;
    add_u64(n, "trainyard_ps", task->span.dur);
}

/* Its length, then itself. */
static void put_message(struct ty_out *out, const ProtobufCMessage *message)
{
    const size_t n = protobuf_c_message_get_packed_size(message);
    char *end = ty_out_room(out, TY_OUT_SLACK);
    assert(n <= TY_OUT_SLACK - 10);
    size_t left = n;
    for (; left > 127; left >>= 7) {
        *end++ = (char)(left | 128);
    }
    *end++ = (char)left;
    protobuf_c_message_pack(message, (uint8_t *)end);
    ty_out_advance(out, end + n);
}

static void put(struct writer *w, struct node *n)
{
    put_message(&w->out, &n->node.base);
    w->x->n_nodes++;
}

static void put_computation(struct writer *w, uint32_t number)
{
    const struct ty_task *task = &w->x->tasks.task[number];
    const uint8_t lane = task->span.op->lane;
    struct node n;
    begin(w, number, CHAKRA_PROTO_MSG__NODE_TYPE__COMP_NODE, &n);
    w->busy[lane] += task->span.dur;
    n.node.duration_micros = (w->busy[lane] + PS_PER_US / 2) / PS_PER_US - w->written_us[lane];
    w->written_us[lane] += n.node.duration_micros;
    add_i64(&n, "num_ops", (int64_t)task->span.kind->flops);
    put(w, &n);
}

/* One of the messages of a task: number k of those it sends, or of those it receives, which follow
 * each other. */
static void put_message_node(struct writer *w, uint32_t number, bool sends, uint32_t k,
                             uint32_t peer, double bytes)
{
    const struct ty_task_list *l = &w->x->tasks;
    const struct ty_task *task = &l->task[number];
    struct node n;
    begin(w, number,
          sends ? CHAKRA_PROTO_MSG__NODE_TYPE__COMM_SEND_NODE
                : CHAKRA_PROTO_MSG__NODE_TYPE__COMM_RECV_NODE,
          &n);
    if (w->first[number + 1] - w->first[number] > 1) {
        n.node.id += 2 * k + !sends;
    }
    if (k > 0) {
        n.ctrl[0] = n.node.id - 2;
        n.node.n_ctrl_deps = 1;
        n.node.n_data_deps = 0;
    }
    add_i64(&n, "comm_size", (int64_t)ty_export_bytes(bytes));
    add_i32(&n, "comm_src", sends ? l->rank : peer);
    add_i32(&n, "comm_dst", sends ? peer : l->rank);
    add_i32(&n, "comm_tag", ty_members_tag(l->timeline->program, task->span.pass, task->span.op));
    put(w, &n);
}

static void put_collective(struct writer *w, uint32_t number, enum ty_coll coll)
{
    const struct ty_task *task = &w->x->tasks.task[number];
    const struct ty_member_set *set = &w->x->set;
    const bool gathers = comm_types[coll] == TY_CHAKRA_ALL_GATHER;
    struct node n;
    begin(w, number, CHAKRA_PROTO_MSG__NODE_TYPE__COMM_COLL_NODE, &n);
    add_i64(&n, "comm_type", comm_types[coll]);
    add_i64(&n, "comm_size",
            (int64_t)ty_export_bytes(task->span.kind->bytes / (gathers ? set->n : 1)));
    snprintf(n.group, sizeof(n.group), "%u", (unsigned)set->number);
    add_attribute(&n, "pg_name", CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_STRING_VAL)->string_val =
        n.group;
    put(w, &n);
}

/* To the next member and from the one before, to the one after next, ... */
static void put_messages(struct writer *w, uint32_t number)
{
    const struct ty_task *task = &w->x->tasks.task[number];
    const struct ty_member_set *set = &w->x->set;
    const uint32_t n = set->n, messages = messages_of(w, task);
    const bool whole = ty_export_coll(task->span.kind) == TY_COLL_SEND_RECV;
    const double bytes = task->span.kind->bytes / (whole ? 1 : n);
    for (uint32_t k = 0; k < messages; k++) {
        put_message_node(w, number, true, k, set->ranks[(set->position + k + 1) % n], bytes);
        put_message_node(w, number, false, k, set->ranks[(set->position + n - k - 1) % n], bytes);
    }
}

static void put_task(struct writer *w, uint32_t number)
{
    struct ty_export *x = w->x;
    const struct ty_task *task = &x->tasks.task[number];
    const struct ty_op *op = task->span.op;
    if (task->own) {
        put_computation(w, number);
        return;
    }
    if (op->sync == TY_SYNC_SEND || op->sync == TY_SYNC_RECV) {
        put_message_node(w, number, op->sync == TY_SYNC_SEND, 0,
                         ty_members_peer(x->members.program, x->tasks.member, op),
                         task->span.kind->bytes);
        return;
    }
    find_members(w, task);
    if (x->set.n == 1) {
        put_computation(w, number);
    } else if (messages_of(w, task) > 0) {
        put_messages(w, number);
    } else {
        put_collective(w, number, ty_export_coll(task->span.kind));
    }
}

static int write_rank(struct ty_export *x, uint32_t rank)
{
    char name[64];
    struct writer w = {.x = x};
    ChakraProtoMsg__GlobalMetadata metadata;
    chakra_proto_msg__global_metadata__init(&metadata);
    metadata.version = (char *)(uintptr_t)TY_CHAKRA_VERSION;
    snprintf(name, sizeof(name), "trace.%u.et", (unsigned)rank);
    int rc = ty_task_list_fill(&x->tasks, &x->run->timeline, rank, x->err);
    rc = rc < 0 ? rc : number_nodes(&w);
    rc = rc < 0 ? rc : ty_export_open(x, &w.out, name);
    if (rc < 0) {
        free(w.first);
        return rc;
    }
    put_message(&w.out, &metadata.base);
    for (uint32_t i = 0; i < x->tasks.n; i++) {
        put_task(&w, i);
    }
    free(w.first);
    return ty_export_close(x, &w.out, 0);
}

static void put_set(void *arg, const struct ty_member_set *set)
{
    struct ty_out *out = arg;
    ty_out_printf(out, "%s\n \"%u\": [", set->number == 1 ? "" : ",", (unsigned)set->number);
    for (uint32_t i = 0; i < set->n; i++) {
        ty_out_printf(out, "%s%u", i == 0 ? "" : ", ", (unsigned)set->ranks[i]);
    }
    ty_out_str(out, "]");
}

static int write_groups(struct ty_export *x)
{
    struct ty_out out;
    int rc = ty_export_open(x, &out, "comm.json");
    if (rc < 0) {
        return rc;
    }
    ty_out_str(&out, "{");
    rc = ty_members_each(&x->members, put_set, &out, x->err);
    ty_out_str(&out, "}\n");
    return ty_export_close(x, &out, rc);
}

static int write_chakra(struct ty_export *x)
{
    int rc = write_groups(x);
    rc = rc < 0 ? rc : ty_astra_write(x);
    for (uint32_t i = 0; i < x->n_ranks && rc == 0; i++) {
        rc = write_rank(x, x->ranks[i]);
    }
    return rc;
}

const struct ty_export_format ty_export_chakra = {
    .name = "chakra", .has_dimensions = true, .write = write_chakra, .about = ty_astra_about};
