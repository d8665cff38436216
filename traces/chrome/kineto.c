/* kineto.c - a PyTorch profile of each rank, for the tools that read them.
 *
 * What Holistic Trace Analysis (facebookresearch/HolisticTraceAnalysis) and PARAM
 * (facebookresearch/ param, profiler_trace_analysis.py) ask for, found by trying: the first "rank":
 * of the file, with a blank after the colon, is that of distributedInfo; tasks are events of
 * category "kernel" with stream and correlation; communication is called nccl..., as NCCL's kernels
 * are, with the five arguments that PyTorch copies onto them and a numbered process group. Both
 * HTA and TraceLens (AMD-AGI/TraceLens, trace_to_tree.py) find kernels through the host: HTA takes
 * the iteration of a kernel from the ProfilerStep around the call of equal correlation, TraceLens
 * follows the ac2g flow of that number. A simulation has no host, so here it launches all kernels
 * of a step when the first of them begins, and takes no time for it.
 *
 * Types of elements are not known here: messages are counted in bytes, of type Byte. Times as in
 * the Chrome trace. Detail does not matter: a kernel is a task. */
#include <stdio.h>
#include <stdlib.h>

#include "sim/core/program/issue.h"
#include "sim/core/program/peers.h"
#include "traces/view/view.h"

/* The ranks that communicate in an operation of a member of a gang. */
struct kineto_group {
    uint64_t number;    /* of the process group: the same in the files of all its ranks */
    const char *what;   /* "tp", "pp" */
    uint32_t *ranks, n; /* ascending */
};

/* ---- groups ---- */

/* Which of the links of a program an operation uses: < kineto_links(p), each with one group on a
 * rank. */
static uint32_t kineto_links(const struct ty_program *p)
{
    return p->n_groups + p->n_meets + p->n_channels;
}

static uint32_t kineto_link(const struct ty_program *p, const struct ty_op *op)
{
    switch ((enum ty_sync)op->sync) {
    case TY_SYNC_LOCAL:
    case TY_SYNC_GROUP:
        return op->link;
    case TY_SYNC_MEET:
        return p->n_groups + op->link;
    case TY_SYNC_SEND:
    case TY_SYNC_RECV:
        return p->n_groups + p->n_meets + op->link;
    }
    return 0;
}

/* Appends the members of a group that has `member`, as global ranks. */
static void add_members(const struct ty_gang *gang, const struct ty_group *group, uint32_t member,
                        struct kineto_group *out)
{
    const uint32_t first = ty_group_first(group, member);
    for (uint32_t i = 0; i < group->count; i++) {
        out->ranks[out->n++] = gang->rank_of[first + i * group->stride];
    }
}

/* A gang takes part when it is listed or, without a list, when it issues the meeting. */
static bool takes_part(const struct ty_program *p, uint32_t gang, uint32_t number)
{
    const struct ty_meet *meet = &p->meets[number];
    for (uint32_t i = 0; meet->gangs != NULL && i < meet->n_gangs; i++) {
        if (meet->gangs[i] == gang) {
            return true;
        }
    }
    return meet->gangs == NULL && ty_gang_meets(p, &p->gangs[gang], number);
}

static void add_meeting(const struct ty_program *p, uint32_t number, uint32_t member,
                        struct kineto_group *out)
{
    const struct ty_meet *meet = &p->meets[number];
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        if (!takes_part(p, g, number)) {
            continue;
        }
        const struct ty_group group = ty_meet_group(p, meet, p->gangs[g].n_ranks);
        add_members(&p->gangs[g], &group, meet->n_members > 0 ? 0 : member, out);
    }
}

static int ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The group of an operation that is not LOCAL; ranks are the arena's. 0 or TY_ENOMEM. */
static int kineto_group(const struct ty_program *p, struct ty_seat seat, const struct ty_op *op,
                        struct ty_arena *arena, struct kineto_group *out)
{
    const struct ty_gang *gang = &p->gangs[seat.gang];
    *out = (struct kineto_group){.ranks = ty_arena_array(arena, uint32_t, p->n_ranks)};
    if (out->ranks == NULL) {
        return TY_ENOMEM;
    }
    if (op->sync == TY_SYNC_GROUP) {
        add_members(gang, &p->groups[op->link], seat.member, out);
    } else if (op->sync == TY_SYNC_MEET) {
        add_meeting(p, op->link, seat.member, out);
    } else {
        const struct ty_peers peers = ty_op_peers(p, op, seat.member);
        const struct ty_gang *other = &p->gangs[ty_op_peer_gang(p, op)];
        out->ranks[out->n++] = gang->rank_of[seat.member];
        for (uint32_t i = 0; i < peers.n; i++) {
            out->ranks[out->n++] = other->rank_of[peers.first + i];
        }
    }
    qsort(out->ranks, out->n, sizeof(*out->ranks), ascending);
    out->number = (uint64_t)kineto_link(p, op) * p->n_ranks + out->ranks[0];
    out->what = p->kinds[op->kind].group != NULL ? p->kinds[op->kind].group : "pp";
    return 0;
}

/* ---- events ---- */

#define LINE        4096u /* most bytes of an event */
#define NAME        200u
#define LISTED      16u /* ranks named in an event; all are in pg_config */
#define COLLECTIVES 5u

_Static_assert(LINE <= TY_OUT_SLACK, "an event is put in one piece");

/* Names of a kind of communication: PyTorch's, and the part of the kernel's name. The share of a
 * rank of n, of the bytes of a kind, that goes in and comes out: all or an n-th. */
static const struct collective {
    const char *name, *torch, *kernel;
    bool in_part, out_part;
} collectives[COLLECTIVES] = {
    {"all-reduce", "allreduce", "AllReduce_Sum", false, false},
    {"all-gather", "all_gather", "AllGather", true, false},
    {"reduce-scatter", "reduce_scatter", "ReduceScatter_Sum", false, true},
    {"all-to-all", "all_to_allv", "SendRecv", false, false},
    {"broadcast", "broadcast", "Broadcast", false, false},
};

struct kineto {
    const struct ty_trace *trace;
    const struct ty_program *p;
    struct ty_out *out;
    struct ty_arena arena;
    uint32_t rank, device;
    struct ty_seat seat;
    struct kineto_group *groups; /* [links of the program]; ranks NULL: not this rank's */
    uint32_t n_groups;
    uint64_t correlation; /* of the next kernel */
    uint64_t *begin;      /* [n_steps + 1] ns: of the first kernel written of a step or a later one;
                           * the last: of the end of all kernels */
    uint8_t *parts;       /* [n_steps] enum part */
};

static char *put_safe(char *p, const char *name)
{
    for (size_t i = 0; name != NULL && name[i] != '\0' && i < NAME; i++) {
        const unsigned char ch = (unsigned char)name[i];
        *p++ = (char)(ch < 0x20 || ch >= 0x7f || ch == '"' || ch == '\\' ? '_' : ch);
    }
    return p;
}

/* ---- head ---- */

static void put_ranks(struct ty_out *out, const struct kineto_group *group)
{
    ty_out_str(out, "[");
    for (uint32_t i = 0; i < group->n; i++) {
        ty_out_printf(out, "%s%u", i > 0 ? ", " : "", (unsigned)group->ranks[i]);
    }
    ty_out_str(out, "]");
}

static void put_distributed(struct kineto *k)
{
    struct ty_out *out = k->out;
    const char *comma = "";
    ty_out_printf(out,
                  "\"distributedInfo\": {\"rank\": %u, \"backend\": \"nccl\", \"world_size\": %u, "
                  "\"pg_count\": %u, \"pg_config\": [",
                  (unsigned)k->rank, (unsigned)k->p->n_ranks, (unsigned)k->n_groups);
    for (uint32_t i = 0; i < kineto_links(k->p); i++) {
        const struct kineto_group *group = &k->groups[i];
        if (group->ranks != NULL) {
            ty_out_printf(out, "%s\n{\"pg_name\": \"%llu\", \"pg_desc\": ", comma,
                          (unsigned long long)group->number);
            ty_out_json_string(out, group->what);
            ty_out_printf(out, ", \"backend_config\": \"cuda:nccl\", \"pg_size\": %u, \"ranks\": ",
                          (unsigned)group->n);
            put_ranks(out, group);
            ty_out_str(out, "}");
            comma = ",";
        }
    }
    ty_out_str(out, "]},\n");
}

static void put_metadata(struct kineto *k)
{
    ty_out_str(k->out, "\"trainyard\": {");
    for (uint32_t i = 0; i < k->trace->n_meta; i++) {
        const struct ty_meta *meta = &k->trace->meta[i];
        ty_out_str(k->out, i > 0 ? ", " : "");
        ty_out_json_string(k->out, meta->key);
        ty_out_str(k->out, ": ");
        ty_trace_put_meta(k->out, meta);
    }
    ty_out_str(k->out, "},\n");
}

/* The process of the host, and its only thread. */
static uint32_t host_of(const struct kineto *k)
{
    return 1000 + k->rank;
}

static void put_naming(struct kineto *k, const char *what, uint32_t pid, uint32_t tid,
                       const char *key, const char *text)
{
    ty_out_printf(k->out,
                  "{\"ph\": \"M\", \"name\": \"%s\", \"pid\": %u, \"tid\": %u, \"ts\": 0.000, "
                  "\"args\": {\"%s\": ",
                  what, (unsigned)pid, (unsigned)tid, key);
    ty_out_json_string(k->out, text);
    ty_out_str(k->out, "}},\n");
}

/* The model of the GPU, where all are of one. */
static const char *gpu_name(const struct ty_trace *trace)
{
    for (uint32_t i = 0; i < trace->n_meta; i++) {
        if (strcmp(trace->meta[i].key, "gpu") == 0 && trace->meta[i].text != NULL) {
            return trace->meta[i].text;
        }
    }
    return "";
}

static void put_head(struct kineto *k)
{
    const struct ty_trace *trace = k->trace;
    char text[64];
    snprintf(text, sizeof(text), "rank %u", (unsigned)k->rank);
    ty_out_str(k->out, "{");
    put_distributed(k);
    ty_out_printf(k->out, "\"schemaVersion\": 1,\n\"deviceProperties\": [{\"id\": %u, \"name\": ",
                  (unsigned)k->device);
    ty_out_json_string(k->out, gpu_name(trace));
    ty_out_str(k->out, "}],\n\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": 0,\n");
    put_metadata(k);
    ty_out_str(k->out, "\"traceEvents\": [\n");
    put_naming(k, "process_name", host_of(k), 0, "name", "host: launches take no time");
    put_naming(k, "process_labels", host_of(k), 0, "labels", "CPU");
    put_naming(k, "process_name", k->device, 0, "name",
               trace->rank_name != NULL ? trace->rank_name(trace->arg, k->rank) : text);
    snprintf(text, sizeof(text), "GPU %u", (unsigned)k->device);
    put_naming(k, "process_labels", k->device, 0, "labels", text);
    for (uint32_t l = 0; l < k->p->n_lanes; l++) {
        const uint32_t s = k->p->stream_of[l];
        const unsigned tid = k->p->words->streams[s].tid;
        snprintf(text, sizeof(text), "stream %u: %s", tid, ty_stream_name(k->p, s));
        put_naming(k, "thread_name", k->device, tid, "name", text);
    }
}

/* ---- kernels ---- */

static const struct collective *collective_of(const struct ty_kind *kind)
{
    const char *name = kind->collective != NULL ? kind->collective : kind->name;
    for (uint32_t i = 0; i < COLLECTIVES; i++) {
        if (name != NULL && strcmp(name, collectives[i].name) == 0) {
            return &collectives[i];
        }
    }
    return NULL;
}

/* What is done off the GPU. Copies are what a profile of PyTorch calls them, the rest is work of
 * the host: no kernel, so that nobody counts it as the GPU's. */
static bool is_beside(const struct kineto *k, const struct ty_op *op)
{
    return (k->p->words->beside >> op->stream & 1u) != 0;
}

/* NULL: work of the host. */
static const char *copy_name(const struct kineto *k, const struct ty_span *span)
{
    static const char *const copies[][2] = {{"h2d", "Memcpy HtoD (Pinned -> Device)"},
                                            {"d2h", "Memcpy DtoH (Device -> Pinned)"}};
    for (size_t i = 0; i < TY_COUNT(copies) && is_beside(k, span->op); i++) {
        if (strcmp(ty_stream_name(k->p, span->op->stream), copies[i][0]) == 0) {
            return copies[i][1];
        }
    }
    return NULL;
}

/* "qkv", or "ncclDevKernel_AllReduce_Sum_RING(trainyard)": PARAM wants a bracket. */
static char *put_name(char *p, const struct kineto *k, const struct ty_op *op,
                      const struct ty_kind *kind)
{
    const struct collective *known = collective_of(kind);
    if (ty_kind_computes(k->p, kind) || is_beside(k, op)) {
        return put_safe(p, kind->name);
    }
    p = ty_put_str(p, "ncclDevKernel_");
    if (op->sync == TY_SYNC_SEND || op->sync == TY_SYNC_RECV) {
        p = ty_put_str(p, op->sync == TY_SYNC_SEND ? "Send" : "Recv");
    } else {
        p = known != NULL ? ty_put_str(p, known->kernel) : put_safe(p, kind->name);
    }
    if (kind->algorithm != NULL) {
        *p++ = '_';
        p = put_safe(p, kind->algorithm);
    }
    return ty_put_str(p, "(trainyard)");
}

static char *put_arg_u64(char *p, const char *key, uint64_t x)
{
    p = ty_put_str(p, ", \"");
    p = ty_put_str(p, key);
    p = ty_put_str(p, "\": ");
    return ty_put_u64(p, x);
}

static char *put_group(char *p, const struct kineto_group *group)
{
    p = ty_put_str(p, ", \"Process Group Name\": \"");
    p = ty_put_u64(p, group->number);
    p = ty_put_str(p, "\", \"Process Group Description\": \"");
    p = put_safe(p, group->what);
    p = ty_put_str(p, "\", \"Process Group Ranks\": \"[");
    for (uint32_t i = 0; i < group->n && i < LISTED; i++) {
        p = ty_put_str(p, i > 0 ? ", " : "");
        p = ty_put_u64(p, group->ranks[i]);
    }
    return ty_put_str(p, group->n > LISTED ? ", ...]\"" : "]\"");
}

/* Parts of an all-to-all, one for each rank, where they are equal; as PyTorch, not all of many. */
static char *put_splits(char *p, const char *key, uint64_t bytes, uint32_t n)
{
    p = ty_put_str(p, ", \"");
    p = ty_put_str(p, key);
    p = ty_put_str(p, "\": \"[");
    for (uint32_t i = 0; i < n && i < LISTED; i++) {
        p = ty_put_str(p, i > 0 ? ", " : "");
        p = ty_put_u64(p, bytes * (i + 1) / n - bytes * i / n);
    }
    return ty_put_str(p, n > LISTED ? ", ...]\"" : "]\"");
}

/* Of an all-to-all whose parts are known. */
static char *put_parts(char *p, const struct ty_kind *kind, const struct collective *known,
                       uint64_t bytes, uint32_t n)
{
    if (known == NULL || strcmp(known->name, "all-to-all") != 0 || kind->dur_of != NULL) {
        return p;
    }
    p = put_splits(p, "In split size", bytes, n);
    return put_splits(p, "Out split size", bytes, n);
}

/* What the message is for, where that is not the collective's name: "dispatch". */
static char *put_purpose(char *p, const struct ty_kind *kind)
{
    if (kind->collective == NULL || strcmp(kind->collective, kind->name) == 0) {
        return p;
    }
    p = ty_put_str(p, ", \"purpose\": \"");
    p = put_safe(p, kind->name);
    return ty_put_str(p, "\"");
}

/* Of a message: of several, the first. */
static char *put_ends(char *p, const struct kineto *k, const struct ty_op *op)
{
    const uint32_t peer = ty_op_peer(k->p, op, k->seat.member);
    const bool sends = op->sync == TY_SYNC_SEND;
    p = put_arg_u64(p, "Src Rank", sends ? k->rank : peer);
    return put_arg_u64(p, "Dst Rank", sends ? peer : k->rank);
}

static char *put_communication(char *p, const struct kineto *k, const struct ty_span *span)
{
    const struct ty_op *op = span->op;
    const struct collective *known = collective_of(span->kind);
    const uint64_t bytes = span->kind->bytes > 0 ? (uint64_t)span->kind->bytes : 0;
    const bool sends = op->sync == TY_SYNC_SEND, takes = op->sync == TY_SYNC_RECV;
    if (op->sync == TY_SYNC_LOCAL) {
        return p;
    }
    const struct kineto_group *group = &k->groups[kineto_link(k->p, op)];
    p = ty_put_str(p, ", \"Collective name\": \"");
    p = sends           ? ty_put_str(p, "send")
        : takes         ? ty_put_str(p, "recv")
        : known != NULL ? ty_put_str(p, known->torch)
                        : put_safe(p, span->kind->name);
    *p++ = '"';
    p = put_arg_u64(p, "In msg nelems", known != NULL && known->in_part ? bytes / group->n : bytes);
    p = put_arg_u64(p, "Out msg nelems",
                    known != NULL && known->out_part ? bytes / group->n : bytes);
    p = put_arg_u64(p, "Group size", group->n);
    p = ty_put_str(p, ", \"dtype\": \"Byte\"");
    p = put_parts(p, span->kind, known, bytes, group->n);
    p = put_purpose(p, span->kind);
    p = put_group(p, group);
    if (sends || takes) {
        p = put_ends(p, k, op);
    }
    return put_arg_u64(p, "Seq",
                       sends || takes             ? ty_op_seq(span->pass, op)
                       : op->sync == TY_SYNC_MEET ? ty_meet_number(k->p, span->pass, op)
                                                  : span->ordinal);
}

/* Ends an event of the flow from the launch of a kernel to it. */
static char *put_flow(char *p, const struct kineto *k, char ph, uint64_t pid, uint64_t tid,
                      uint64_t ns)
{
    p = ty_put_str(p, "{\"ph\": \"");
    *p++ = ph;
    p = ty_put_str(p, "\", \"cat\": \"ac2g\", \"name\": \"ac2g\"");
    p = put_arg_u64(p, "id", k->correlation);
    p = put_arg_u64(p, "pid", pid);
    p = put_arg_u64(p, "tid", tid);
    p = ty_put_ns_as_us(ty_put_str(p, ", \"ts\": "), ns);
    return ty_put_str(p, ph == 'f' ? ", \"bp\": \"e\"},\n" : "},\n");
}

/* The call by which the host launches the next kernel, and the flow from it. */
static void put_launch(struct kineto *k, const char *call, uint32_t step, unsigned stream,
                       uint64_t s)
{
    const uint32_t host = host_of(k);
    char *p = ty_put_str(ty_out_room(k->out, LINE), "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", "
                                                    "\"name\": \"");
    p = ty_put_str(ty_put_str(p, call), "\"");
    p = put_arg_u64(p, "pid", host);
    p = put_arg_u64(p, "tid", host);
    p = ty_put_ns_as_us(ty_put_str(p, ", \"ts\": "), k->begin[step]);
    p = ty_put_str(p, ", \"dur\": 0.000, \"args\": {\"External id\": ");
    p = ty_put_u64(p, k->correlation);
    p = ty_put_str(put_arg_u64(p, "correlation", k->correlation), "}},\n");
    p = put_flow(p, k, 's', host, host, k->begin[step]);
    ty_out_advance(k->out, put_flow(p, k, 'f', k->device, stream, s));
}

static void put_kernel(struct kineto *k, const struct ty_span *span, uint64_t s, uint64_t e)
{
    const unsigned stream = k->p->words->streams[span->op->stream].tid;
    const char *copy = copy_name(k, span);
    const bool host = is_beside(k, span->op) && copy == NULL;
    if (!host) {
        put_launch(k, copy != NULL ? "cudaMemcpyAsync" : "cudaLaunchKernel", span->pass->step,
                   stream, s);
    }
    char *p = ty_put_str(ty_out_room(k->out, LINE), "{\"ph\": \"X\", \"cat\": \"");
    p = ty_put_str(p, host ? "cpu_op" : copy != NULL ? "gpu_memcpy" : "kernel");
    p = ty_put_str(p, "\", \"name\": \"");
    p = copy != NULL ? ty_put_str(p, copy) : put_name(p, k, span->op, span->kind);
    p = ty_put_str(p, "\", \"pid\": ");
    p = ty_put_u64(p, k->device);
    p = ty_put_str(p, ", \"tid\": ");
    p = ty_put_u64(p, stream);
    p = ty_put_str(p, ", \"ts\": ");
    p = ty_put_ns_as_us(p, s);
    p = ty_put_str(p, ", \"dur\": ");
    p = ty_put_tenths_as_us(p, ty_view_length(s, e, 0));
    p = ty_put_str(p, ", \"args\": {\"External id\": ");
    p = ty_put_u64(p, k->correlation);
    if (!host) {
        p = put_arg_u64(p, "device", k->device);
        p = put_arg_u64(p, "context", 1);
        p = put_arg_u64(p, "stream", stream);
        p = put_arg_u64(p, "correlation", k->correlation);
    }
    k->correlation++;
    p = ty_put_str(p, ", \"phase\": \"");
    p = ty_put_str(p, ty_phase_word((enum ty_phase)span->pass->phase));
    *p++ = '"';
    if (span->pass->phase != TY_PHASE_STEP) {
        p = put_arg_u64(p, "mb", ty_op_mb(span->pass, span->op));
    }
    p = put_arg_u64(p, "step", span->pass->step);
    if (span->op->layer != TY_NONE) {
        p = put_arg_u64(p, "layer", span->op->layer);
    }
    if (copy != NULL) {
        p = put_arg_u64(p, "bytes", (uint64_t)span->kind->bytes);
    }
    p = ty_kind_computes(k->p, span->kind) ? p : put_communication(p, k, span);
    ty_out_advance(k->out, ty_put_str(p, "}},\n"));
}

/* Notes of each step whether any of it was written, and whether any was not. */
enum part {
    WRITTEN = 1,
    CUT = 2
};

/* The part of a span that is inside the window, in ns; false: nothing is. */
static bool clip(struct kineto *k, const struct ty_span *span, uint64_t *s, uint64_t *e)
{
    const uint64_t from = k->trace->window_from / 1000, to = k->trace->window_to / 1000;
    const uint64_t start = span->start / 1000, end = (span->start + span->dur) / 1000;
    *s = start < from ? from : start;
    *e = end > to ? to : end;
    k->parts[span->pass->step] |= start < from || end > to ? CUT : 0;
    return *e > *s;
}

/* Marks the steps as the host goes through them: one after the other, each until the next. */
static void put_steps(struct kineto *k)
{
    const uint32_t n = k->p->n_steps;
    struct ty_span_cursor cursor = ty_spans_of(k->trace->timeline, k->rank);
    struct ty_span span;
    uint64_t s, e, last = 0;
    memset(k->begin, 0xff, ((size_t)n + 1) * sizeof(*k->begin));
    while (ty_span_next(&cursor, &span)) {
        uint64_t *begin = &k->begin[span.pass->step];
        if (clip(k, &span, &s, &e)) {
            *begin = s < *begin ? s : *begin;
            last = e > last ? e : last;
        }
    }
    k->begin[n] = last;
    for (uint32_t i = n; i-- > 0;) {
        const uint64_t end = k->begin[i + 1];
        k->begin[i] = k->begin[i] < end ? k->begin[i] : end;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (k->begin[i] < k->begin[i + 1]) {
            char *p = ty_put_str(ty_out_room(k->out, LINE),
                                 "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": "
                                 "\"ProfilerStep#");
            p = ty_put_str(ty_put_u64(p, i), "\"");
            p = put_arg_u64(p, "pid", host_of(k));
            p = put_arg_u64(p, "tid", host_of(k));
            p = ty_put_ns_as_us(ty_put_str(p, ", \"ts\": "), k->begin[i]);
            p = ty_put_str(p, ", \"dur\": ");
            p = ty_put_tenths_as_us(p, ty_view_length(k->begin[i], k->begin[i + 1], 0));
            ty_out_advance(k->out, ty_put_str(p, ", \"args\": {}},\n"));
        }
    }
}

static void put_kernels(struct kineto *k)
{
    struct ty_span_cursor cursor = ty_spans_of(k->trace->timeline, k->rank);
    struct ty_span span;
    uint64_t s, e;
    while (ty_span_next(&cursor, &span)) {
        if (clip(k, &span, &s, &e)) {
            k->parts[span.pass->step] |= WRITTEN;
            put_kernel(k, &span, s, e);
        }
    }
}

/* The first step that a deadlock left undone on any rank; the number of steps: there was none. */
static uint32_t first_undone(const struct kineto *k)
{
    uint32_t first = k->p->n_steps;
    for (uint32_t g = 0; g < k->p->n_gangs; g++) {
        const struct ty_pass *pass = NULL;
        if (ty_timeline_blocked_op(k->trace->timeline, g, &pass) != NULL && pass->step < first) {
            first = pass->step;
        }
    }
    return first;
}

/* The steps of which the file has only a part, for who takes it for a recording of whole ones. */
static void put_cut_steps(struct kineto *k)
{
    const uint32_t undone = first_undone(k);
    bool any = false;
    for (uint32_t step = 0; step < k->p->n_steps; step++) {
        if (k->parts[step] == (WRITTEN | CUT) || (k->parts[step] != 0 && step >= undone)) {
            ty_out_printf(k->out, "%s%u", any ? ", " : "\"trainyardCutSteps\": [", (unsigned)step);
            any = true;
        }
    }
    ty_out_str(k->out, any ? "],\n" : "");
}

/* ---- the file ---- */

/* All groups that this rank communicates in, and room for the parts of steps. */
static int find_groups(struct kineto *k)
{
    k->groups = ty_arena_array(&k->arena, struct kineto_group, (size_t)kineto_links(k->p) + 1);
    k->parts = ty_arena_array(&k->arena, uint8_t, (size_t)k->p->n_steps + 1);
    k->begin = ty_arena_array(&k->arena, uint64_t, (size_t)k->p->n_steps + 1);
    int rc = k->groups == NULL || k->parts == NULL || k->begin == NULL ? TY_ENOMEM : 0;
    struct ty_issue at = ty_issue_of(k->p, &k->p->gangs[k->seat.gang]);
    while (rc == 0 && ty_issue_next(&at)) {
        struct kineto_group *group = &k->groups[kineto_link(k->p, at.op)];
        if (at.op->sync != TY_SYNC_LOCAL && group->ranks == NULL) {
            rc = kineto_group(k->p, k->seat, at.op, &k->arena, group);
            k->n_groups++;
        }
    }
    return rc;
}

/* Which of the GPUs of its node a rank has: in the order of ranks. */
static uint32_t device_of(const struct ty_trace *trace, uint32_t rank)
{
    uint32_t n = 0;
    for (uint32_t r = 0; trace->node_of != NULL && r < rank; r++) {
        n += trace->node_of[r] == trace->node_of[rank];
    }
    return n;
}

static int kineto_write(const struct ty_trace *trace, struct ty_out *out, struct ty_err *err)
{
    struct kineto k = {.trace = trace, .p = trace->timeline->program, .out = out};
    if (trace->n_ranks != 1 || trace->ranks[0] >= k.p->n_ranks) {
        return ty_fail(err, TY_EBUG, "trace: a Kineto file is of one rank");
    }
    k.rank = trace->ranks[0];
    k.seat = ty_program_seat(k.p, k.rank);
    k.device = device_of(trace, k.rank);
    k.correlation = 1;
    const int rc = find_groups(&k);
    if (rc == 0) {
        put_head(&k);
        put_steps(&k);
        put_kernels(&k);
        ty_out_printf(
            out, "{\"ph\": \"i\", \"s\": \"g\", \"name\": \"Record Window End\", \"pid\": \"\", "
                 "\"tid\": \"\", \"ts\": ");
        char end[32];
        *ty_put_ns_as_us(end, trace->timeline->makespan / 1000) = '\0';
        ty_out_printf(out, "%s}\n],\n", end);
        put_cut_steps(&k);
        ty_out_printf(out, "\"traceName\": \"rank-%u.json\"}\n", (unsigned)k.rank);
    }
    ty_arena_release(&k.arena);
    return rc == 0 ? 0 : ty_fail_memory(err);
}

static double kineto_estimate(const struct ty_trace *trace)
{
    const struct ty_program *p = trace->timeline->program;
    const double kernel_B = 566, message_B = 330,
                 file_B = 4000; /* measured; of communication more */
    double bytes = 0;
    for (uint32_t i = 0; i < trace->n_ranks; i++) {
        const struct ty_gang *gang = &p->gangs[ty_program_seat(p, trace->ranks[i]).gang];
        for (struct ty_issue at = ty_issue_of(p, gang); ty_issue_next(&at);) {
            bytes += kernel_B + (at.op->stream != TY_STREAM_COMPUTE ? message_B : 0);
        }
    }
    const double listed_B = 6.0 * p->n_ranks; /* the ranks of the largest group */
    return ty_trace_window_share(trace) * bytes + (file_B + listed_B) * trace->n_ranks;
}

const struct ty_trace_format ty_trace_kineto = {
    .name = "kineto",
    .extension = "json",
    .summary = "a folder with a PyTorch profile for each rank, for Holistic Trace Analysis",
    .per_rank = true,
    .estimate = kineto_estimate,
    .write = kineto_write,
};
