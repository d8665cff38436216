/* merge.c - copies several programs on the same links into one. Rows are copied with their
 * indices moved behind those that are there. */
#include "sim/core/program/merge.h"

/* Rows before those of the part at hand. */
struct merger {
    struct ty_builder b;
    struct ty_program *out;
    const struct ty_program *p; /* the part */
    uint32_t kinds, blocks, groups, meets, channels, gangs, flows, uses, ranks;
    uint32_t scripts, messages, sends, afters;
    struct ty_tenant *tenants;
    double *slow; /* [ranks of all] */
    bool any_slow;
};

static uint16_t moved(uint16_t index, uint32_t by)
{
    return index == TY_NONE ? TY_NONE : (uint16_t)(index + by);
}

static int check_alike(const struct ty_program *a, const struct ty_program *b, struct ty_err *err)
{
    bool same = a->n_links == b->n_links;
    if (a->words->streams != b->words->streams) {
        return ty_fail(err, TY_EBUG, "programs that are merged have different vocabularies");
    }
    for (uint32_t l = 0; same && l < a->n_links; l++) {
        same = !(a->links[l].capacity < b->links[l].capacity) &&
               !(a->links[l].capacity > b->links[l].capacity);
    }
    return same ? 0 : ty_fail(err, TY_EBUG, "programs that are merged have different links");
}

static void add_kinds(struct merger *m)
{
    for (uint32_t i = 0; i < m->p->n_uses; i++) {
        ty_build_use(&m->b, &m->p->uses[i]);
    }
    for (uint32_t i = 0; i < m->p->n_flows; i++) {
        struct ty_flow flow = m->p->flows[i];
        flow.first_use += m->uses;
        ty_build_flow(&m->b, &flow);
    }
    for (uint32_t i = 0; i < m->p->n_kinds; i++) {
        struct ty_kind kind = m->p->kinds[i];
        kind.first_flow += kind.first_flow == 0 ? 0 : m->flows;
        kind.script += kind.script == 0 ? 0 : m->scripts;
        ty_build_kind(&m->b, &kind);
    }
}

static void add_scripts(struct merger *m)
{
    for (uint32_t i = 0; i < m->p->n_scripts; i++) {
        struct ty_script script = m->p->scripts[i];
        script.first += m->messages;
        script.first_send += m->sends;
        ty_build_script(&m->b, &script);
    }
    for (uint32_t i = 0; i < m->p->n_messages; i++) {
        struct ty_message message = m->p->messages[i];
        message.first_after += m->afters;
        ty_build_message(&m->b, &message);
    }
    for (uint32_t i = 0; i < m->p->n_sends; i++) {
        ty_build_send(&m->b, m->p->sends[i]);
    }
    for (uint32_t i = 0; i < m->p->n_afters; i++) {
        ty_build_after(&m->b, m->p->afters[i]);
    }
}

/* Who comes to a meeting, where it says so. */
static const uint32_t *moved_gangs(struct merger *m, const struct ty_meet *meet)
{
    if (meet->gangs == NULL) {
        return NULL;
    }
    uint32_t *gangs = ty_arena_array(m->b.arena, uint32_t, (size_t)meet->n_gangs + 1);
    if (gangs == NULL) {
        ty_build_no_memory(&m->b);
        return NULL;
    }
    for (uint32_t i = 0; i < meet->n_gangs; i++) {
        gangs[i] = meet->gangs[i] + m->gangs;
    }
    return gangs;
}

static void add_partners(struct merger *m)
{
    for (uint32_t i = 0; i < m->p->n_groups; i++) {
        ty_build_group(&m->b, &m->p->groups[i]);
    }
    for (uint32_t i = 0; i < m->p->n_meets; i++) {
        struct ty_meet meet = m->p->meets[i];
        meet.group = moved(meet.group, m->groups);
        meet.gangs = moved_gangs(m, &meet);
        ty_build_meet(&m->b, &meet);
    }
    for (uint32_t i = 0; i < m->p->n_channels; i++) {
        struct ty_channel channel = m->p->channels[i];
        channel.from += m->gangs;
        channel.to += m->gangs;
        ty_build_channel(&m->b, &channel);
    }
}

static uint16_t moved_link(const struct merger *m, const struct ty_op *op)
{
    switch ((enum ty_sync)op->sync) {
    case TY_SYNC_LOCAL:
        break;
    case TY_SYNC_GROUP:
        return moved(op->link, m->groups);
    case TY_SYNC_MEET:
        return moved(op->link, m->meets);
    case TY_SYNC_SEND:
    case TY_SYNC_RECV:
        return moved(op->link, m->channels);
    }
    return op->link;
}

static void add_blocks(struct merger *m)
{
    for (uint32_t i = 0; i < m->p->n_blocks; i++) {
        const struct ty_block *block = &m->p->blocks[i];
        ty_build_block(&m->b, block);
        for (uint32_t k = 0; k < block->n_ops; k++) {
            struct ty_op op = m->p->ops[block->first + k];
            op.kind = moved(op.kind, m->kinds);
            op.link = moved_link(m, &op);
            ty_build_op(&m->b, &op);
        }
    }
}

static void add_gangs(struct merger *m, uint32_t tenant, const char *name)
{
    for (uint32_t g = 0; g < m->p->n_gangs; g++) {
        struct ty_gang gang = m->p->gangs[g];
        uint32_t *rank_of = ty_arena_array(m->b.arena, uint32_t, (size_t)gang.n_ranks + 1);
        if (rank_of == NULL) {
            ty_build_no_memory(&m->b);
            return;
        }
        for (uint32_t i = 0; i < gang.n_ranks; i++) {
            rank_of[i] = m->p->gangs[g].rank_of[i] + m->ranks;
        }
        gang.rank_of = rank_of;
        gang.tenant = tenant;
        if (name[0] != '\0') {
            gang.name = ty_arena_printf(m->b.arena, "%s %s", name, gang.name);
        }
        if (name[0] != '\0' && gang.name == NULL) {
            ty_build_no_memory(&m->b);
            return;
        }
        ty_build_gang(&m->b, &gang);
        for (uint32_t i = 0; i < m->p->gangs[g].n_passes; i++) {
            struct ty_pass pass = ty_gang_passes(m->p, &m->p->gangs[g])[i];
            pass.block += m->blocks;
            ty_build_pass(&m->b, &pass);
        }
    }
}

/* What is the part's own. Lasting factors, drawn or given, are kept as what they came to. */
static void add_tenant(struct merger *m, uint32_t tenant, const char *name)
{
    struct ty_jitter jitter = m->p->jitter;
    jitter.group = moved(jitter.group, m->groups);
    m->tenants[tenant] = (struct ty_tenant){.name = name,
                                            .first_gang = m->gangs,
                                            .n_gangs = m->p->n_gangs,
                                            .first_rank = m->ranks,
                                            .n_ranks = m->p->n_ranks,
                                            .overlapping_steps = m->p->overlapping_steps,
                                            .observed = m->p->observed,
                                            .jitter = jitter};
    for (uint32_t r = 0; r < m->p->n_ranks; r++) {
        m->slow[m->ranks + r] = m->p->spread_of != NULL ? m->p->spread_of[r] : 1;
    }
    m->out->observed = m->out->observed || m->p->observed;
    m->out->matched = m->out->matched && m->p->matched;
    m->any_slow = m->any_slow || m->p->spread_of != NULL;
    m->out->n_steps = m->p->n_steps > m->out->n_steps ? m->p->n_steps : m->out->n_steps;
    m->out->jitter.cv = jitter.cv > m->out->jitter.cv ? jitter.cv : m->out->jitter.cv;
}

static void add_part(struct merger *m, uint32_t tenant, const struct ty_merge_part *part)
{
    const struct ty_program *out = m->out;
    m->p = part->program;
    m->kinds = out->n_kinds;
    m->blocks = out->n_blocks;
    m->groups = out->n_groups;
    m->meets = out->n_meets;
    m->channels = out->n_channels;
    m->gangs = out->n_gangs;
    m->flows = out->n_flows;
    m->uses = out->n_uses;
    m->scripts = out->n_scripts;
    m->messages = out->n_messages;
    m->sends = out->n_sends;
    m->afters = out->n_afters;
    add_tenant(m, tenant, part->name);
    add_kinds(m);
    add_scripts(m);
    add_partners(m);
    add_blocks(m);
    add_gangs(m, tenant, part->name);
    assert(m->b.code < 0 || m->gangs + m->p->n_gangs == out->n_gangs);
    m->ranks += m->p->n_ranks;
}

int ty_program_merge(struct ty_program *out, const struct ty_merge_part *parts, uint32_t n,
                     struct ty_arena *arena, struct ty_err *err)
{
    struct merger m = {.out = out, .b = {.program = out, .arena = arena, .err = err}};
    size_t ranks = 0;
    *out = (struct ty_program){.words = parts[0].program->words,
                               .links = parts[0].program->links,
                               .n_links = parts[0].program->n_links,
                               .jitter = {.group = TY_NONE},
                               .matched = true,
                               .n_tenants = n};
    for (uint32_t i = 0; i < n; i++) {
        const int rc = check_alike(parts[0].program, parts[i].program, err);
        if (rc < 0) {
            return rc;
        }
        ranks += parts[i].program->n_ranks;
        if (parts[i].program->uneven) { /* whose words are those of all, and more */
            out->uneven = true;
            out->words = parts[i].program->words;
        }
    }
    m.tenants = ty_arena_array(arena, struct ty_tenant, (size_t)n + 1);
    m.slow = ty_arena_array(arena, double, ranks + 1);
    if (m.tenants == NULL || m.slow == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t i = 0; i < n && m.b.code == 0; i++) {
        add_part(&m, i, &parts[i]);
    }
    if (m.b.code < 0) {
        return m.b.code;
    }
    out->tenants = m.tenants;
    out->slow_of = m.any_slow ? m.slow : NULL;
    return ty_program_seal(out, arena, err);
}

/* Whether a gang of the tenant stopped on the way. */
static bool halted(const struct ty_timeline *whole, const struct ty_tenant *t)
{
    bool any = false;
    for (uint32_t g = t->first_gang; g < t->first_gang + t->n_gangs; g++) {
        any = any || ty_timeline_halts(whole, g);
    }
    return any;
}

int ty_timeline_part(struct ty_timeline *out, const struct ty_timeline *whole, uint32_t tenant,
                     const struct ty_program *part, struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_tenant *t = &whole->program->tenants[tenant];
    assert(tenant < whole->program->n_tenants && part->n_gangs == t->n_gangs);
    const uint64_t from = whole->program->gangs[t->first_gang].first_task;
    *out = (struct ty_timeline){.program = part,
                                .start = whole->start + from,
                                .dur = whole->dur == NULL ? NULL : whole->dur + from};
    out->makespan = ty_timeline_end(whole, t->first_gang, t->n_gangs);
    if (!halted(whole, t)) {
        return 0;
    }
    assert(whole->halt != NULL);
    /* gangs stop where they do, in either numbering */
    struct ty_stop *fronts =
        ty_arena_array(arena, struct ty_stop, (size_t)t->n_gangs * part->n_lanes + 1);
    if (fronts == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t i = 0; i < t->n_gangs * part->n_lanes; i++) {
        fronts[i] =
            ty_stream_front(whole->program, whole->halt->front, t->first_gang + i / part->n_lanes,
                            part->stream_of[i % part->n_lanes]);
    }
    const struct ty_halt halt = {.stop = whole->halt->stop + t->first_gang, .front = fronts};
    return ty_timeline_cut_program(out, &halt, arena, err);
}
