/* explicit_job.c - see explicit_job.h. */
#include "model/vocabulary.h"
#include "tests/common/explicit_job.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Of short times: they fit. */
static ty_ps ps_of(double s)
{
    return (ty_ps)(s * 1e12 + 0.5);
}

/* ---- links ----
 *
 * two-level  host h: out 2h, in 2h + 1; then node k: out, in
 * fat tree   host h: up 2h, down 2h + 1; then leaf l and spine s: up, down */

static uint32_t unit_of(const struct explicit_fabric *f)
{
    return f->platform == EXPLICIT_TWO_LEVEL ? EXPLICIT_NODE : EXPLICIT_LEAF;
}

/* The pair of links of a node's NIC, or of a leaf to a spine. */
static uint32_t upper_link(const struct explicit_fabric *f, uint32_t unit, uint32_t spine)
{
    return 2 * f->hosts +
           2 * (f->platform == EXPLICIT_TWO_LEVEL ? unit : unit * EXPLICIT_LEAF + spine);
}

bool explicit_fabric_new(struct explicit_fabric *f, const struct explicit_spec *spec,
                         struct ty_arena *arena)
{
    const bool two_level = spec->platform == EXPLICIT_TWO_LEVEL;
    *f = (struct explicit_fabric){.platform = spec->platform, .hosts = spec->hosts};
    f->n_links = upper_link(f, f->hosts / unit_of(f), 0);
    f->links = ty_arena_array(arena, struct ty_link, f->n_links);
    f->latency_s = ty_arena_array(arena, double, f->n_links);
    for (uint32_t l = 0; f->links != NULL && f->latency_s != NULL && l < f->n_links; l++) {
        const bool port = l < 2 * f->hosts;
        f->links[l] = (struct ty_link){
            .class = !two_level ? TY_LINK_LEAF
                     : port     ? TY_LINK_NVLINK
                                : TY_LINK_NIC,
            .node = TY_NO_NODE,
            .capacity = !two_level ? EXPLICIT_TREE_BPS
                        : port     ? EXPLICIT_PORT_BPS
                                   : EXPLICIT_NIC_BPS,
        };
        f->latency_s[l] = !two_level ? EXPLICIT_TREE_S : port ? EXPLICIT_PORT_S : EXPLICIT_NIC_S;
    }
    return f->links != NULL && f->latency_s != NULL;
}

static void add_link(struct explicit_route *r, const struct explicit_fabric *f, uint32_t link)
{
    uint32_t i = r->n++;
    for (; i > 0 && r->link[i - 1] > link; i--) {
        r->link[i] = r->link[i - 1];
    }
    r->link[i] = link;
    r->latency_s += f->latency_s[link];
    r->Bps = r->n == 1 || f->links[link].capacity < r->Bps ? f->links[link].capacity : r->Bps;
}

struct explicit_route explicit_route(const struct explicit_fabric *f, uint32_t from, uint32_t to)
{
    struct explicit_route route = {.n = 0};
    const uint32_t unit = unit_of(f), spine = to % EXPLICIT_LEAF;
    add_link(&route, f, 2 * from);
    add_link(&route, f, 2 * to + 1);
    if (from / unit != to / unit) {
        add_link(&route, f, upper_link(f, from / unit, spine));
        add_link(&route, f, upper_link(f, to / unit, spine) + 1);
    }
    return route;
}

ty_ps explicit_message_ps(const struct explicit_route *route, uint64_t bytes)
{
    return ps_of(route->latency_s) + ps_of((double)bytes / route->Bps);
}

/* Returns the row. */
static uint32_t add_flow(struct ty_builder *b, const struct explicit_route *route)
{
    const double shares_as = route->latency_s > 0 ? 1 / route->latency_s : 1;
    const struct ty_flow flow = {.first_use = b->program->n_uses,
                                 .n_uses = route->n,
                                 .weight = shares_as / route->Bps,
                                 .lead = ps_of(route->latency_s)};
    for (uint32_t i = 0; i < route->n; i++) {
        ty_build_use(b, &(struct ty_use){route->link[i], route->Bps});
    }
    return (uint32_t)ty_build_flow(b, &flow);
}

/* ---- rings ---- */

struct rings {
    struct ty_builder *b;
    const struct explicit_spec *spec;
    const struct explicit_fabric *fabric;
    const uint32_t *hosts;
    const uint64_t *bytes;
};

/* Position p's message of step s is number p * steps + s. It waits for that of the step before from
 * the position before: that is the part of the tensor that it passes on. */
static uint32_t add_script(struct rings *r, uint32_t ring, ty_ps *alone)
{
    const struct explicit_spec *spec = r->spec;
    const uint32_t n = explicit_ring_size(spec), steps = explicit_ring_steps(spec);
    const uint32_t *host = r->hosts + (size_t)ring * n;
    struct ty_script script = {.first = r->b->program->n_messages,
                               .n = n * steps,
                               .first_send = r->b->program->n_sends,
                               .positions = n,
                               .n_pairs = n};
    for (uint32_t p = 0; p < n; p++) {
        const uint32_t before = (p + n - 1) % n, next = (p + 1) % n;
        const struct explicit_route route = explicit_route(r->fabric, host[p], host[next]);
        ty_build_send(r->b, p * steps);
        for (uint32_t s = 0; s < steps; s++) {
            struct ty_message m = {
                .to = next,
                .pair = p,
                .first_after = r->b->program->n_afters,
                .n_after = s > 0,
                .alone = explicit_message_ps(
                    &route, r->bytes[(size_t)s * spec->hosts + (size_t)ring * n + p]),
            };
            if (s > 0) {
                ty_build_after(r->b, before * steps + s - 1);
            }
            *alone = m.alone > *alone ? m.alone : *alone;
            ty_build_message(r->b, &m);
        }
    }
    ty_build_send(r->b, n * steps);
    return (uint32_t)ty_build_script(r->b, &script);
}

static void add_ring(struct rings *r, uint32_t ring, uint16_t group)
{
    const uint32_t n = explicit_ring_size(r->spec);
    const uint32_t *host = r->hosts + (size_t)ring * n;
    ty_ps longest = 0;
    struct ty_kind kind = {.name = "all-reduce", .category = TY_CAT_COMM_DATA};
    kind.script = add_script(r, ring, &longest) + 1;
    kind.dur = explicit_ring_steps(r->spec) * longest;
    for (uint32_t p = 0; p < n; p++) {
        const struct explicit_route route = explicit_route(r->fabric, host[p], host[(p + 1) % n]);
        const uint32_t row = add_flow(r->b, &route);
        kind.first_flow = p == 0 ? row + 1 : kind.first_flow;
    }
    struct ty_op op = TY_OP_INIT;
    op.kind = (uint16_t)ty_build_kind(r->b, &kind);
    op.stream = TY_STREAM_DATA;
    op.sync = TY_SYNC_GROUP;
    op.link = group;
    ty_build_gang(r->b, &(struct ty_gang){.name = "ring", .n_ranks = n, .rank_of = host});
    const int block = ty_build_block(r->b, &(struct ty_block){.n_ops = 0});
    ty_build_op(r->b, &op);
    ty_build_pass(r->b, &(struct ty_pass){.block = (uint32_t)block});
}

static int build_rings(struct ty_builder *b, const struct explicit_spec *spec,
                       const struct explicit_fabric *fabric)
{
    uint32_t *hosts = explicit_ring_hosts(spec);
    uint64_t *bytes = explicit_ring_bytes(spec);
    uint32_t *kept = ty_arena_array(b->arena, uint32_t, spec->hosts);
    if (hosts == NULL || bytes == NULL || kept == NULL) {
        free(hosts);
        free(bytes);
        return ty_fail(b->err, TY_ENOMEM, "out of memory");
    }
    memcpy(kept, hosts, spec->hosts * sizeof(*kept));
    struct rings r = {.b = b, .spec = spec, .fabric = fabric, .hosts = kept, .bytes = bytes};
    const int group = ty_build_group(b, &(struct ty_group){"ring", 1, explicit_ring_size(spec)});
    for (uint32_t ring = 0; ring < spec->rings; ring++) {
        add_ring(&r, ring, (uint16_t)group);
    }
    free(hosts);
    free(bytes);
    return 0;
}

/* ---- 1F1B ---- */

enum {
    COMPUTED, /* event: the last layer of a pass */
    ARRIVED   /* event: what a pass takes */
};

/* Streams that carry messages when a GPU sends several at a time. */
static const uint8_t SEND_STREAM[] = {TY_STREAM_SEND, TY_STREAM_DATA, TY_STREAM_TENSOR,
                                      TY_STREAM_REPLICA};
#define SENDS_MAX 4u

struct pipe {
    struct ty_builder *b;
    const struct explicit_spec *spec;
    const struct explicit_fabric *fabric;
    uint16_t compute[2], recv;    /* kinds, by forward */
    uint16_t send[2][SENDS_MAX];  /* of the stage at hand: its messages have flows */
    uint32_t block[2][SENDS_MAX]; /* likewise */
};

static uint16_t add_kind(struct pipe *p, const char *name, uint8_t category, ty_ps dur)
{
    return (uint16_t)ty_build_kind(
        p->b, &(struct ty_kind){.name = name, .category = category, .dur = dur});
}

/* Messages of a stage, forward or back: a flow for each replica. */
static void add_send_kinds(struct pipe *p, uint32_t stage, bool forward)
{
    const struct explicit_spec *spec = p->spec;
    const uint32_t to = forward ? stage + 1 : stage - 1;
    struct ty_kind kind = {.name = "send", .category = TY_CAT_COMM_PIPELINE};
    ty_ps *alone = ty_arena_array(p->b->arena, ty_ps, spec->replicas);
    for (uint32_t r = 0; r < spec->replicas && alone != NULL; r++) {
        const struct explicit_route route =
            explicit_route(p->fabric, r * spec->stages + stage, r * spec->stages + to);
        const uint32_t row = add_flow(p->b, &route);
        kind.first_flow = r == 0 ? row + 1 : kind.first_flow;
        alone[r] = explicit_message_ps(&route, (uint64_t)spec->message_bytes);
        kind.dur = alone[r] > kind.dur ? alone[r] : kind.dur;
    }
    kind.dur_of = alone;
    for (uint32_t i = 0; i < spec->sends; i++) {
        p->send[forward][i] = (uint16_t)ty_build_kind(p->b, &kind);
    }
}

/* Channel 2k: activations from stage k to k + 1; 2k + 1: gradients back. */
static void add_message_op(struct pipe *p, bool send, uint32_t stage, bool forward, uint32_t i)
{
    struct ty_op op = TY_OP_INIT;
    const uint32_t boundary = send == forward ? stage : stage - 1;
    op.kind = send ? p->send[forward][i] : p->recv;
    op.stream = send ? SEND_STREAM[i] : TY_STREAM_RECV;
    op.sync = send ? TY_SYNC_SEND : TY_SYNC_RECV;
    op.link = (uint16_t)(2 * boundary + !forward);
    op.wait[0] = send ? COMPUTED : TY_NO_EVENT;
    op.record = send ? TY_NO_EVENT : ARRIVED;
    ty_build_op(p->b, &op);
}

static uint32_t add_block(struct pipe *p, uint32_t stage, bool forward, uint32_t send)
{
    const uint32_t last = p->spec->stages - 1, layers = p->spec->layers;
    const bool takes = stage != (forward ? 0 : last), gives = stage != (forward ? last : 0);
    const int block = ty_build_block(p->b, &(struct ty_block){.n_ops = 0});
    if (takes) {
        add_message_op(p, false, stage, forward, 0);
    }
    for (uint32_t l = 0; l < layers; l++) {
        struct ty_op op = TY_OP_INIT;
        op.kind = p->compute[forward];
        op.stream = TY_STREAM_COMPUTE;
        op.wait[0] = takes && l == 0 ? ARRIVED : TY_NO_EVENT;
        op.record = l == layers - 1 ? COMPUTED : TY_NO_EVENT;
        ty_build_op(p->b, &op);
    }
    if (gives) {
        add_message_op(p, true, stage, forward, send);
    }
    return (uint32_t)block;
}

static void add_stage(struct pipe *p, uint32_t stage)
{
    const struct explicit_spec *spec = p->spec;
    uint32_t *ranks = ty_arena_array(p->b->arena, uint32_t, spec->replicas);
    for (uint32_t r = 0; ranks != NULL && r < spec->replicas; r++) {
        ranks[r] = r * spec->stages + stage;
    }
    for (int forward = 0; forward < 2; forward++) {
        if (stage != (forward ? spec->stages - 1 : 0)) {
            add_send_kinds(p, stage, forward);
        }
    }
    ty_build_gang(p->b,
                  &(struct ty_gang){.name = "stage", .n_ranks = spec->replicas, .rank_of = ranks});
    for (int forward = 0; forward < 2; forward++) {
        for (uint32_t i = 0; i < spec->sends; i++) {
            p->block[forward][i] = add_block(p, stage, forward, i);
        }
    }
    struct explicit_slot *slots = explicit_pipe_slots(spec, stage);
    assert(spec->sends > 0); /* explicit_spec_parse takes no other */
    for (uint32_t i = 0; slots != NULL && i < 2 * spec->micro_batches; i++) {
        ty_build_pass(p->b, &(struct ty_pass){
                                .block = p->block[slots[i].forward][i % spec->sends],
                                .seq = slots[i].mb,
                                .mb = (uint16_t)slots[i].mb,
                                .stage = (uint16_t)stage,
                                .phase = slots[i].forward ? TY_PHASE_FORWARD : TY_PHASE_BACKWARD,
                            });
    }
    free(slots);
}

static int build_pipe(struct ty_builder *b, const struct explicit_spec *spec,
                      const struct explicit_fabric *fabric)
{
    struct pipe p = {.b = b, .spec = spec, .fabric = fabric};
    if (spec->sends > SENDS_MAX) {
        return ty_fail(b->err, TY_ELIMIT, "more than %u messages of a GPU at a time", SENDS_MAX);
    }
    const double layer_s = spec->forward_s / spec->layers;
    p.compute[true] = add_kind(&p, "forward", TY_CAT_FORWARD, ps_of(layer_s));
    p.compute[false] = add_kind(&p, "backward", TY_CAT_BACKWARD, ps_of(2 * layer_s));
    p.recv = add_kind(&p, "recv", TY_CAT_COMM_PIPELINE, 0);
    for (uint32_t s = 0; s + 1 < spec->stages; s++) {
        const struct ty_channel act = {
            .name = "act", .from = s, .to = s + 1, .n_seq = spec->micro_batches};
        const struct ty_channel grad = {
            .name = "grad", .from = s + 1, .to = s, .n_seq = spec->micro_batches};
        ty_build_channel(b, &act);
        ty_build_channel(b, &grad);
    }
    for (uint32_t s = 0; s < spec->stages; s++) {
        add_stage(&p, s);
    }
    return 0;
}

/* ---- public ---- */

uint64_t explicit_messages(const struct explicit_spec *spec)
{
    return spec->pipe ? 2 * (uint64_t)(spec->stages - 1) * spec->micro_batches * spec->replicas
                      : (uint64_t)spec->hosts * explicit_ring_steps(spec);
}

int explicit_job(struct ty_program *program, const struct explicit_spec *spec,
                 const struct explicit_fabric *fabric, struct ty_arena *arena, struct ty_err *err)
{
    struct ty_builder b = {.program = program, .arena = arena, .err = err};
    *program = (struct ty_program){.words = &ty_transformer_words, .n_steps = 1};
    program->links = fabric->links;
    program->n_links = fabric->n_links;
    const int rc = spec->pipe ? build_pipe(&b, spec, fabric) : build_rings(&b, spec, fabric);
    if (rc < 0 || b.code < 0) {
        return rc < 0 ? rc : b.code;
    }
    return ty_program_seal(program, arena, err);
}
