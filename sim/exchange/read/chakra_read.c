/* chakra_read.c - Chakra execution traces read, as ASTRA-sim does: data and control dependencies,
 * one CPU operation, one computation and one communication of a rank at a time.
 *
 * Sources: those of sim/exchange/chakra.c. */
#include <chakra.pb-c.h>
#include <stdlib.h>
#include <string.h>

#include "model/vocabulary.h"
#include "sim/base/number_text.h"
#include "sim/exchange/read/formats.h"
#include "sim/exchange/read/traced.h"

#define US_MAX    UINT64_C(1000000000000) /* 11 days: no step takes as long */
#define BYTES_MAX 1e18

struct numbered {
    uint64_t id;
    uint32_t index;
};

/* A file being read. `deps` are as the file numbers them until all nodes are known. */
struct reader {
    struct ty_traced *job;
    struct ty_traced_rank *rank;
    uint32_t number; /* of the rank */
    uint64_t *dep;   /* [n_deps] ids */
    uint32_t n_deps, cap_deps;
    struct ty_arena *arena;
    struct ty_err *err;
};

static int wrong(const struct reader *r, const ChakraProtoMsg__Node *n, const char *what)
{
    return ty_fail(r->err, TY_EINPUT, "%s: node %llu (%.60s): %s", r->rank->file,
                   (unsigned long long)n->id, n->name, what);
}

/* ---- attributes ---- */

static const ChakraProtoMsg__AttributeProto *find(const ChakraProtoMsg__Node *n, const char *name)
{
    for (size_t i = 0; i < n->n_attr; i++) {
        if (strcmp(n->attr[i]->name, name) == 0) {
            return n->attr[i];
        }
    }
    return NULL;
}

/* Whichever kind of number it is; false: it is none, or negative. */
static bool number_of(const ChakraProtoMsg__AttributeProto *a, double *out)
{
    switch (a->value_case) {
#define CASE(id, member)                                                                           \
    case CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_##id:                                            \
        *out = (double)a->member;                                                                  \
        break;
        CASE(DOUBLE_VAL, double_val)
        CASE(FLOAT_VAL, float_val)
        CASE(INT32_VAL, int32_val)
        CASE(INT64_VAL, int64_val)
        CASE(UINT32_VAL, uint32_val)
        CASE(UINT64_VAL, uint64_val)
        CASE(SINT32_VAL, sint32_val)
        CASE(SINT64_VAL, sint64_val)
        CASE(FIXED32_VAL, fixed32_val)
        CASE(FIXED64_VAL, fixed64_val)
        CASE(SFIXED32_VAL, sfixed32_val)
        CASE(SFIXED64_VAL, sfixed64_val)
        CASE(BOOL_VAL, bool_val)
#undef CASE
    default:
        return false;
    }
    return *out >= 0 && *out <= BYTES_MAX;
}

/* An attribute that is a number: 1 it is there, 0 it is not, negative what is wrong. */
static int read_number(const struct reader *r, const ChakraProtoMsg__Node *n, const char *name,
                       double *out)
{
    const ChakraProtoMsg__AttributeProto *a = find(n, name);
    char text[96];
    if (a == NULL) {
        return 0;
    }
    if (!number_of(a, out)) {
        ty_snprintf(text, sizeof(text), "%s is not a number from 0 to 1e18", name);
        return wrong(r, n, text);
    }
    return 1;
}

static int need_number(const struct reader *r, const ChakraProtoMsg__Node *n, const char *name,
                       double most, double *out)
{
    char text[128];
    const int rc = read_number(r, n, name, out);
    if (rc == 0) {
        ty_snprintf(text, sizeof(text), "%s is missing", name);
        return wrong(r, n, text);
    }
    if (rc > 0 && *out > most) {
        ty_snprintf(text, sizeof(text), "%s is %.0f; %.0f is the most", name, *out, most);
        return wrong(r, n, text);
    }
    return rc < 0 ? rc : 0;
}

/* ---- nodes ---- */

static int read_calc(const struct reader *r, const ChakraProtoMsg__Node *n,
                     struct ty_traced_node *out)
{
    double cpu = 0, ps = 0;
    int rc = read_number(r, n, "is_cpu_op", &cpu);
    rc = rc < 0 ? rc : read_number(r, n, "trainyard_ps", &ps);
    if (rc < 0) {
        return rc;
    }
    if (n->duration_micros > US_MAX || ps > 1e6 * (double)US_MAX) {
        return wrong(r, n, "takes more than 11 days");
    }
    const bool exact = rc > 0;
    out->what = TY_TRACED_CALC;
    out->stream = cpu > 0 ? TY_STREAM_HOST : TY_STREAM_COMPUTE;
    out->dur = exact ? (ty_ps)ps : n->duration_micros * 1000000;
    if (out->dur == 0 && !exact) { /* then it is said what there is to compute */
        rc = read_number(r, n, "num_ops", &out->flops);
        rc = rc < 0 ? rc : read_number(r, n, "tensor_size", &out->bytes);
    }
    return rc < 0 ? rc : 0;
}

static int read_message(const struct reader *r, const ChakraProtoMsg__Node *n, bool sends,
                        struct ty_traced_node *out)
{
    double bytes = 0, from = 0, to = 0, tag = 0;
    const double ranks = r->job->n_ranks - 1.0;
    int rc = need_number(r, n, "comm_size", BYTES_MAX, &bytes);
    rc = rc < 0 ? rc : need_number(r, n, "comm_src", ranks, &from);
    rc = rc < 0 ? rc : need_number(r, n, "comm_dst", ranks, &to);
    rc = rc < 0 ? rc : need_number(r, n, "comm_tag", UINT32_MAX, &tag);
    if (rc < 0) {
        return rc;
    }
    if ((uint32_t)(sends ? from : to) != r->number) {
        return wrong(r, n,
                     sends ? "comm_src is another rank; a send runs on its source"
                           : "comm_dst is another rank; a receive runs on its destination");
    }
    out->what = sends ? TY_TRACED_SEND : TY_TRACED_RECV;
    out->stream = sends ? TY_STREAM_DATA : TY_STREAM_RECV;
    out->bytes = bytes;
    out->peer = (uint32_t)(sends ? to : from);
    out->tag = (uint32_t)tag;
    return 0;
}

/* Whom a collective joins: "" and "0" are everybody. */
static int read_group(const struct reader *r, const ChakraProtoMsg__Node *n, uint32_t *out)
{
    const ChakraProtoMsg__AttributeProto *a = find(n, "pg_name");
    const char *name =
        a != NULL && a->value_case == CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_STRING_VAL
            ? a->string_val
            : "";
    uint32_t number = 0;
    char text[160];
    if (name[0] != '\0' && (!ty_scan_number(&name, NULL, UINT32_MAX, &number) || *name != '\0')) {
        return wrong(r, n, "pg_name is not a whole number");
    }
    const struct ty_traced_group *g = number < r->job->n_groups ? &r->job->group[number] : NULL;
    if (g == NULL || g->n == 0) {
        ty_snprintf(text, sizeof(text),
                    "group %u is in no file; name that of the groups in workload.groups",
                    (unsigned)number);
        return wrong(r, n, text);
    }
    bool member = false;
    for (uint32_t i = 0; i < g->n; i++) {
        member = member || g->rank[i] == r->number;
    }
    if (!member) {
        ty_snprintf(text, sizeof(text), "group %u does not have rank %u", (unsigned)number,
                    (unsigned)r->number);
        return wrong(r, n, text);
    }
    *out = number;
    return 0;
}

static int read_coll(const struct reader *r, const ChakraProtoMsg__Node *n,
                     struct ty_traced_node *out)
{
    static const int8_t colls[] = {
        [TY_CHAKRA_ALL_REDUCE] = TY_COLL_ALL_REDUCE,
        [TY_CHAKRA_REDUCE] = TY_COLL_REDUCE,
        [TY_CHAKRA_ALL_GATHER] = TY_COLL_ALL_GATHER,
        [TY_CHAKRA_GATHER] = -1,
        [TY_CHAKRA_SCATTER] = -1,
        [TY_CHAKRA_BROADCAST] = TY_COLL_BROADCAST,
        [TY_CHAKRA_ALL_TO_ALL] = TY_COLL_ALL_TO_ALL,
        [TY_CHAKRA_REDUCE_SCATTER] = TY_COLL_REDUCE_SCATTER,
        [TY_CHAKRA_REDUCE_SCATTER_BLOCK] = TY_COLL_REDUCE_SCATTER,
        [TY_CHAKRA_BARRIER] = TY_COLL_ALL_REDUCE,
    };
    double type = 0, bytes = 0;
    int rc = need_number(r, n, "comm_type", TY_CHAKRA_BARRIER, &type);
    rc = rc < 0 ? rc : read_group(r, n, &out->group);
    if (rc < 0) {
        return rc;
    }
    const enum ty_chakra_coll coll = (enum ty_chakra_coll)type;
    if (colls[coll] < 0) {
        return wrong(r, n, "gathers to one rank and scatters from one cannot be executed");
    }
    rc = coll == TY_CHAKRA_BARRIER ? 0 : need_number(r, n, "comm_size", BYTES_MAX, &bytes);
    out->what = TY_TRACED_COLL;
    out->stream = TY_STREAM_DATA;
    out->coll = (uint8_t)colls[coll];
    /* of an all-gather there is the piece of one rank */
    out->bytes = bytes * (coll == TY_CHAKRA_ALL_GATHER ? r->job->group[out->group].n : 1);
    return rc;
}

static int read_kind(const struct reader *r, const ChakraProtoMsg__Node *n,
                     struct ty_traced_node *out)
{
    switch (n->type) {
    case CHAKRA_PROTO_MSG__NODE_TYPE__METADATA_NODE:
        *out = (struct ty_traced_node){.name = out->name,
                                       .id = out->id,
                                       .first_dep = out->first_dep,
                                       .stream = TY_STREAM_HOST};
        return 0;
    case CHAKRA_PROTO_MSG__NODE_TYPE__COMP_NODE:
        return read_calc(r, n, out);
    case CHAKRA_PROTO_MSG__NODE_TYPE__COMM_SEND_NODE:
    case CHAKRA_PROTO_MSG__NODE_TYPE__COMM_RECV_NODE:
        return read_message(r, n, n->type == CHAKRA_PROTO_MSG__NODE_TYPE__COMM_SEND_NODE, out);
    case CHAKRA_PROTO_MSG__NODE_TYPE__COMM_COLL_NODE:
        return read_coll(r, n, out);
    case CHAKRA_PROTO_MSG__NODE_TYPE__MEM_LOAD_NODE:
    case CHAKRA_PROTO_MSG__NODE_TYPE__MEM_STORE_NODE:
        return wrong(r, n, "loads and stores of remote memory cannot be executed");
    default:
        return wrong(r, n, "a type that is none; 1 to 7 are");
    }
}

static int keep_dep(struct reader *r, uint64_t id)
{
    if (r->n_deps == r->cap_deps) {
        const uint32_t cap = r->cap_deps > 0 ? 2 * r->cap_deps : 256;
        uint64_t *larger = realloc(r->dep, cap * sizeof(*larger));
        if (larger == NULL) {
            return TY_ENOMEM;
        }
        r->dep = larger;
        r->cap_deps = cap;
    }
    r->dep[r->n_deps++] = id;
    return ty_traced_depend(r->rank, 0, r->arena);
}

static int read_node(struct reader *r, const ChakraProtoMsg__Node *n)
{
    struct ty_traced_node *out = ty_traced_add(r->rank, r->arena);
    if (out == NULL) {
        return ty_fail_memory(r->err);
    }
    out->id = n->id;
    out->name = ty_arena_strndup(r->arena, n->name, strlen(n->name));
    int rc = out->name != NULL ? 0 : ty_fail_memory(r->err);
    rc = rc < 0 ? rc : read_kind(r, n, out);
    if (rc < 0) {
        return rc;
    }
    for (size_t i = 0; i < n->n_data_deps && rc == 0; i++) {
        rc = keep_dep(r, n->data_deps[i]);
    }
    for (size_t i = 0; i < n->n_ctrl_deps && rc == 0; i++) {
        rc = keep_dep(r, n->ctrl_deps[i]);
    }
    return rc < 0 ? ty_fail_memory(r->err) : 0;
}

/* ---- a file ---- */

static int by_id(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    return TY_ORDER(x->id, y->id);
}

/* What the file calls by ids becomes numbers of nodes. */
static int resolve(struct reader *r)
{
    struct ty_traced_rank *rank = r->rank;
    struct numbered *of = calloc((size_t)rank->n + 1, sizeof(*of));
    int rc = of != NULL ? 0 : ty_fail_memory(r->err);
    for (uint32_t i = 0; rc == 0 && i < rank->n; i++) {
        of[i] = (struct numbered){rank->node[i].id, i};
    }
    if (rc == 0) {
        qsort(of, rank->n, sizeof(*of), by_id);
    }
    for (uint32_t i = 1; rc == 0 && i < rank->n; i++) {
        if (of[i].id == of[i - 1].id) {
            rc = ty_fail(r->err, TY_EINPUT, "%s: node %llu: there are two of that id", rank->file,
                         (unsigned long long)of[i].id);
        }
    }
    for (uint32_t i = 0; rc == 0 && i < rank->n; i++) {
        const struct ty_traced_node *n = &rank->node[i];
        for (uint32_t k = n->first_dep; rc == 0 && k < n->first_dep + n->n_deps; k++) {
            const struct numbered key = {.id = r->dep[k]};
            const struct numbered *at = bsearch(&key, of, rank->n, sizeof(*of), by_id);
            rc = at != NULL ? 0
                            : ty_fail(r->err, TY_EINPUT,
                                      "%s: node %llu (%.60s): waits for node %llu, which the file "
                                      "does not have",
                                      rank->file, (unsigned long long)n->id, n->name,
                                      (unsigned long long)key.id);
            rank->dep[k] = at != NULL ? at->index : 0;
        }
    }
    free(of);
    return rc;
}

/* The length of the next message and where it begins; NULL: the file ends within. */
static const char *next_message(const char *at, const char *end, size_t *size)
{
    uint64_t n = 0;
    for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
        const unsigned char byte = (unsigned char)*at++;
        n |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *size = (size_t)n;
            return n <= (uint64_t)(end - at) ? at : NULL;
        }
    }
    return NULL;
}

/* The schema of a trace: its version, or as Chakra's own converters say it, an attribute such as
 * "1.0.2-chakra.0.0.4". What names no version of Chakra is taken for 0.0.4. */
static const char *schema_of(const ChakraProtoMsg__GlobalMetadata *m)
{
    for (size_t i = 0; i < m->n_attr && m->version[0] == '\0'; i++) {
        const ChakraProtoMsg__AttributeProto *a = m->attr[i];
        if (strcmp(a->name, "schema") == 0 &&
            a->value_case == CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_STRING_VAL) {
            const char *chakra = strstr(a->string_val, "chakra.");
            return chakra != NULL ? chakra + strlen("chakra.") : TY_CHAKRA_VERSION;
        }
    }
    return m->version;
}

static int read_metadata(const struct reader *r, const char *bytes, size_t n)
{
    ChakraProtoMsg__GlobalMetadata *m =
        chakra_proto_msg__global_metadata__unpack(NULL, n, (const uint8_t *)bytes);
    int rc = 0;
    if (m == NULL) {
        rc = ty_fail(r->err, TY_EINPUT, "%s: does not begin as a Chakra execution trace",
                     r->rank->file);
    } else if (strcmp(schema_of(m), TY_CHAKRA_VERSION) != 0 && strcmp(schema_of(m), "1.0.0") != 0) {
        rc = ty_fail(r->err, TY_EINPUT, "%s: schema version \"%.20s\"; 0.0.4 and 1.0.0 are read",
                     r->rank->file, schema_of(m));
    }
    if (m != NULL) {
        chakra_proto_msg__global_metadata__free_unpacked(m, NULL);
    }
    return rc;
}

static int read_messages(struct reader *r, const char *bytes, size_t n)
{
    const char *at = bytes, *end = bytes + n;
    int rc = 0;
    for (uint64_t number = 0; at < end && rc == 0; number++) {
        size_t size;
        at = next_message(at, end, &size);
        if (at == NULL) {
            return ty_fail(r->err, TY_EINPUT, "%s: ends within message %llu", r->rank->file,
                           (unsigned long long)number);
        }
        if (number == 0) {
            rc = read_metadata(r, at, size);
        } else {
            ChakraProtoMsg__Node *node =
                chakra_proto_msg__node__unpack(NULL, size, (const uint8_t *)at);
            rc = node != NULL ? read_node(r, node)
                              : ty_fail(r->err, TY_EINPUT, "%s: message %llu is no node",
                                        r->rank->file, (unsigned long long)number);
            if (node != NULL) {
                chakra_proto_msg__node__free_unpacked(node, NULL);
            }
        }
        at += size;
    }
    return rc < 0 ? rc : resolve(r);
}

int ty_traced_parse_chakra(struct ty_traced *job, uint32_t rank, const char *bytes, size_t n,
                           struct ty_arena *arena, struct ty_err *err)
{
    struct reader r = {
        .job = job, .rank = &job->rank[rank], .number = rank, .arena = arena, .err = err};
    const int rc =
        n > 0 ? read_messages(&r, bytes, n) : ty_fail(err, TY_EINPUT, "%s: is empty", r.rank->file);
    free(r.dep);
    return rc;
}
