/* slices.c - the hot path: two packets a slice, all shown members of a gang abreast.
 *
 *     packet { sequence, time since the last packet of the row, event { ... } }
 *
 * A packet does not say that it needs what came before on its sequence: that is for buffers that
 * lose packets, and four bytes of every slice.
 *
 * Bubbles have to come between the passes they lie between, since ends belong to the innermost
 * slice that is open on a row: passes are written as far as the next bubble waits. */
#include "sim/core/program/peers.h"

#include <stdio.h>

#include "traces/perfetto/perfetto.h"

/* ---- strings ---- */

/* ---- strings and beginnings of events ----
 *
 * The slices of a gang as the beginnings of events, and the strings they number.
 *
 * Strings are numbered stream by stream, because each row repeats those it uses. */

/* The number of a string; 0: no memory. */
static uint32_t pf_intern(struct ty_pf *f, uint32_t stream, uint32_t table, const char *text)
{
    struct ty_pf_strings *s = &f->strings[stream];
    for (uint32_t i = 0; i < s->n[table]; i++) {
        if (s->text[table][i] == text || strcmp(s->text[table][i], text) == 0) {
            return i + 1;
        }
    }
    if (s->n[table] == s->cap[table]) {
        const uint32_t cap = s->cap[table] == 0 ? 16 : 2 * s->cap[table];
        const char **wider = ty_arena_array(&f->arena, const char *, cap);
        if (wider == NULL) {
            return 0;
        }
        if (s->n[table] > 0) {
            memcpy(wider, s->text[table], s->n[table] * sizeof(*wider));
        }
        s->text[table] = wider;
        s->cap[table] = cap;
    }
    s->text[table][s->n[table]++] = text;
    return s->n[table];
}

/* ---- heads ---- */

struct builder {
    struct ty_pf *f;
    uint32_t stream;
    bool failed;
    char body[TY_PF_BODY], *p;
};

static uint32_t intern(struct builder *b, uint32_t table, const char *text)
{
    const uint32_t iid = pf_intern(b->f, b->stream, table, text != NULL ? text : "");
    b->failed = b->failed || iid == 0;
    return iid;
}

static void add_annotation(struct builder *b, const struct ty_view_arg *arg)
{
    char body[64];
    char *q = ty_proto_u64(body, TY_PF_KEY_IID, intern(b, TY_PF_TABLE_KEY, arg->key));
    q = arg->value == TY_VALUE_TEXT
            ? ty_proto_u64(q, TY_PF_STRING_IID, intern(b, TY_PF_TABLE_VALUE, arg->text))
            : ty_proto_u64(q, TY_PF_UINT, (uint64_t)arg->number);
    b->p = ty_proto_bytes(b->p, TY_PF_ANNOTATION, body, (size_t)(q - body));
}

static void render(struct builder *b, const struct ty_view_slice *slice, struct ty_pf_head *head)
{
    const struct ty_category_row *category = ty_category(b->f->view.program, slice->category);
    b->stream = slice->stream;
    b->p = ty_proto_u64(b->body, TY_PF_TYPE, TY_PF_BEGIN);
    b->p = ty_proto_u64(b->p, TY_PF_CATEGORY_IID, intern(b, TY_PF_TABLE_CATEGORY, category->name));
    b->p = ty_proto_u64(b->p, TY_PF_CORRELATION_IID,
                        intern(b, TY_PF_TABLE_CORRELATION, category->told));
    if (slice->numbered) {
        head->name = slice->name;
    } else {
        b->p = ty_proto_u64(b->p, TY_PF_NAME_IID, intern(b, TY_PF_TABLE_NAME, slice->name));
    }
    for (uint32_t i = 0; i < slice->n_args; i++) {
        const struct ty_view_arg *arg = &slice->arg[i];
        if (arg->value == TY_VALUE_HOLE) {
            head->key[head->n_holes] = (uint8_t)intern(b, TY_PF_TABLE_KEY, arg->key);
            head->hole[head->n_holes++] = arg->hole;
        } else {
            add_annotation(b, arg);
        }
    }
    if (slice->partner != 0) { /* its key comes with the member */
        intern(b, TY_PF_TABLE_KEY, "group");
        intern(b, TY_PF_TABLE_KEY, "peer");
    }
    head->len = (uint32_t)(b->p - b->body);
    char *text = ty_arena_array(&b->f->arena, char, head->len + 2 * (size_t)TY_PUT_BLOCK);
    b->failed = b->failed || text == NULL;
    if (text != NULL) {
        memcpy(text, b->body, head->len);
        head->text = text;
    }
}

/* Slices of the compute row nest: one ends before the first that begins after its last operation;
 * on other rows it ends at once. */
static void find_order(const struct ty_view_plan *plan, uint32_t *order)
{
    uint32_t stack[8], depth = 0, n = 0; /* pass, part, operation */
    for (uint32_t i = 0; i < plan->n; i++) {
        const struct ty_view_slice *slice = &plan->slices[i];
        const bool compute = slice->stream == TY_STREAM_COMPUTE;
        while (compute && depth > 0 && plan->slices[stack[depth - 1]].last < slice->first) {
            order[n++] = 2 * stack[--depth] + 1;
        }
        order[n++] = 2 * i;
        if (compute) {
            stack[depth++] = i;
        } else {
            order[n++] = 2 * i + 1;
        }
    }
    while (depth > 0) {
        order[n++] = 2 * stack[--depth] + 1;
    }
}

static int make_plan(struct ty_pf *f, const struct ty_pass *pass)
{
    struct ty_pf_plan *plan = &f->plans[ty_view_plan_number(pass)];
    const struct ty_view_plan *from = ty_view_plan(&f->view, pass);
    struct builder b = {.f = f};
    if (from == NULL || plan->heads != NULL) {
        return from == NULL ? TY_ENOMEM : 0;
    }
    plan->heads = ty_arena_array(&f->arena, struct ty_pf_head, (size_t)from->n + 1);
    plan->order = ty_arena_array(&f->arena, uint32_t, 2 * (size_t)from->n + 1);
    if (plan->heads == NULL || plan->order == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < from->n; i++) {
        render(&b, &from->slices[i], &plan->heads[i]);
    }
    find_order(from, plan->order);
    return b.failed ? TY_ENOMEM : 0;
}

/* Room for what is kept of a gang, empty. */
static int clear(struct ty_pf *f, const struct ty_view_shown *shown)
{
    ty_arena_release(&f->arena);
    f->arena = (struct ty_arena){.head = NULL};
    f->shown = shown;
    memset(f->strings, 0, sizeof(f->strings));
    f->plans = ty_arena_array(&f->arena, struct ty_pf_plan, f->view.n_plans);
    f->pieces = ty_arena_array(&f->arena, struct ty_pf_piece *, f->view.n_partners);
    return f->plans != NULL && f->pieces != NULL ? 0 : TY_ENOMEM;
}

int ty_pf_begin_gang(struct ty_pf *f, const struct ty_view_shown *shown)
{
    const struct ty_gang *gang = shown->gang;
    int rc = clear(f, shown);
    for (uint32_t i = 0; i < gang->n_passes && rc == 0; i++) {
        rc = make_plan(f, &ty_gang_passes(f->view.program, gang)[i]);
    }
    return rc;
}

/* ---- members ---- */

static void put_piece(struct ty_pf *f, uint32_t partner, uint32_t stream, uint32_t member,
                      struct ty_pf_piece *piece)
{
    const struct ty_view_partner other = ty_view_partner(&f->view, f->shown, partner, member);
    char body[56], name[33], text[48];
    *ty_view_put_name(name, other.group, sizeof(name) - 1) = '\0';
    char *q =
        ty_proto_u64(body, TY_PF_KEY_IID,
                     pf_intern(f, stream, TY_PF_TABLE_KEY, other.group != NULL ? "group" : "peer"));
    if (other.group == NULL) {
        q = ty_proto_u64(q, TY_PF_UINT, other.rank);
    } else {
        const int n = snprintf(text, sizeof(text), "%s%s%u", name, name[0] != '\0' ? " " : "",
                               (unsigned)other.rank);
        q = ty_proto_bytes(q, TY_PF_STRING, text, (size_t)n);
    }
    piece->len = (uint8_t)(ty_proto_bytes(piece->text, TY_PF_ANNOTATION, body, (size_t)(q - body)) -
                           piece->text);
}

static const struct ty_pf_piece *pf_pieces(struct ty_pf *f, uint32_t partner, uint32_t stream)
{
    if (f->pieces[partner] == NULL) {
        struct ty_pf_piece *row = ty_arena_array(&f->arena, struct ty_pf_piece, f->shown->n);
        for (uint32_t i = 0; row != NULL && i < f->shown->n; i++) {
            put_piece(f, partner, stream, f->shown->member[i], &row[i]);
        }
        f->pieces[partner] = row;
    }
    return f->pieces[partner];
}

/* ---- the critical path ---- */

static char *put_arg(char *p, const struct ty_view_arg *arg)
{
    char body[TY_PF_BODY / 2];
    char *q = ty_proto_str(body, TY_PF_KEY, arg->key);
    q = arg->value == TY_VALUE_TEXT ? ty_proto_str(q, TY_PF_STRING, arg->text)
                                    : ty_proto_u64(q, TY_PF_UINT, (uint64_t)arg->number);
    return ty_proto_bytes(p, TY_PF_ANNOTATION, body, (size_t)(q - body));
}

static void put_step(void *arg, const struct ty_view_step *step)
{
    struct ty_pf *f = arg;
    const struct ty_category_row *category = ty_category(f->view.program, step->category);
    char body[TY_PF_BODY], name[TY_VIEW_NAME + 24];
    char *q = ty_view_put_name(name, step->name, TY_VIEW_NAME);
    if (step->numbered) {
        *q++ = ' ';
        q = ty_put_u64(q, step->mb);
    }
    char *p = ty_proto_u64(body, TY_PF_TYPE, TY_PF_BEGIN);
    p = ty_proto_u64(p, TY_PF_TRACK_UUID, TY_PF_ROOT);
    p = ty_proto_bytes(p, TY_PF_NAME, name, (size_t)(q - name));
    p = ty_proto_str(p, TY_PF_CATEGORY, category->name);
    p = ty_proto_str(p, TY_PF_CORRELATION, category->told);
    for (uint32_t i = 0; i < step->n_args; i++) {
        p = put_arg(p, &step->arg[i]);
    }
    ty_pf_put_event(f, step->start, body, (size_t)(p - body));
    p = ty_proto_u64(body, TY_PF_TYPE, TY_PF_END);
    p = ty_proto_u64(p, TY_PF_TRACK_UUID, TY_PF_ROOT);
    ty_pf_put_event(f, step->end, body, (size_t)(p - body));
}

void ty_pf_critical(struct ty_pf *f)
{
    if (f->view.path != NULL) {
        ty_view_critical(&f->view, put_step, f);
    }
}

/* Rows list their strings before their slices. */
static int pf_intern_critical(struct ty_pf *f)
{
    const struct ty_program *p = f->view.program;
    for (uint32_t l = 0; l < p->n_lanes && f->view.path != NULL; l++) {
        if (pf_intern(f, p->stream_of[l], TY_PF_TABLE_KEY, "critical") == 0) {
            return TY_ENOMEM;
        }
    }
    return 0;
}

/* The event of a slice that lies on the path. Returns its length. */
static size_t pf_mark_body(struct ty_pf *f, uint32_t stream, const char *body, size_t n,
                           char out[TY_PF_BODY])
{
    char value[16];
    memcpy(out, body, n);
    char *q = ty_proto_u64(value, TY_PF_KEY_IID, pf_intern(f, stream, TY_PF_TABLE_KEY, "critical"));
    q = ty_proto_u64(q, TY_PF_BOOL, 1);
    return (size_t)(ty_proto_bytes(out + n, TY_PF_ANNOTATION, value, (size_t)(q - value)) - out);
}

/* ---- why a slice began ---- */

static int pf_intern_why(struct ty_pf *f)
{
    const bool full = f->view.trace->args == TY_ARGS_FULL;
    const struct ty_program *p = f->view.program;
    for (uint32_t l = 0; l < p->n_lanes && full; l++) {
        if (pf_intern(f, p->stream_of[l], TY_PF_TABLE_KEY, "why") == 0) {
            return TY_ENOMEM;
        }
    }
    return 0;
}

/* The number of a text that does not last; 0: no memory. */
static uint32_t intern_copy(struct ty_pf *f, uint32_t stream, const char *text)
{
    struct ty_pf_strings *s = &f->strings[stream];
    const uint32_t before = s->n[TY_PF_TABLE_VALUE];
    const uint32_t iid = pf_intern(f, stream, TY_PF_TABLE_VALUE, text);
    if (iid <= before) {
        return iid;
    }
    const char *kept = ty_arena_strndup(&f->arena, text, strlen(text));
    if (kept == NULL) {
        s->n[TY_PF_TABLE_VALUE] = before;
        return 0;
    }
    s->text[TY_PF_TABLE_VALUE][before] = kept;
    return iid;
}

/* Why the slice of a shown member started when it did, as an annotation. It
 * needs a string, and may be one more of the row. 0 or TY_ENOMEM. */
static int pf_why(struct ty_pf *f, const struct ty_pass *pass, const struct ty_view_slice *slice,
                  uint32_t member, struct ty_pf_note *note)
{
    struct ty_view_why *why = &note->why;
    char body[sizeof(why->text) + 16];
    const int known = ty_view_why(&f->view, f->shown, pass, slice->first, member, why);
    if (known > 0 && why->same) {
        return 0;
    }
    note->len = 0;
    note->value = 0;
    if (known <= 0) {
        why->known = false;
        return known;
    }
    char *q =
        ty_proto_u64(body, TY_PF_KEY_IID, pf_intern(f, slice->stream, TY_PF_TABLE_KEY, "why"));
    if (why->recurs) {
        note->value = intern_copy(f, slice->stream, why->text);
        q = ty_proto_u64(q, TY_PF_STRING_IID, note->value);
    } else {
        q = ty_proto_str(q, TY_PF_STRING, why->text);
    }
    note->len = (size_t)(ty_proto_bytes(note->text, TY_PF_ANNOTATION, body, (size_t)(q - body)) -
                         note->text);
    return why->recurs && note->value == 0 ? TY_ENOMEM : 0;
}

/* ---- slices ---- */

/* A row: what its packets begin with, and the time of the last one. */
struct lane {
    uint64_t bytes; /* sequence, little-endian */
    uint64_t last;  /* ns */
    uint32_t len;
    uint32_t n_values; /* strings that values of arguments have in the file so far */
};

struct walk {
    struct ty_pf *f;
    const struct ty_view_shown *shown;
    uint32_t from, to;                 /* shown members */
    uint32_t next;                     /* pass of the gang */
    struct lane *lane[TY_MAX_STREAMS]; /* [shown members] of streams in use */
    int rc;
    /* of the last bubble */
    uint64_t serial;
    size_t len;
    char body[TY_PF_BODY];
};

/* The fields before the event. */
static inline char *put_packet(char *p, struct lane *lane, uint64_t ns, size_t n)
{
    const uint64_t delta = ns - lane->last;
    const size_t size = lane->len + 1 + ty_proto_size(delta) + 1 + ty_proto_size(n) + n;
    lane->last = ns;
    *p++ = TY_PF_TRACE_PACKET << 3 | TY_PROTO_BYTES;
    p = ty_proto_varint(p, size);
    memcpy(p, &lane->bytes, sizeof(lane->bytes));
    p += lane->len;
    *p++ = TY_PF_TIME << 3 | TY_PROTO_VARINT;
    p = ty_proto_varint(p, delta);
    *p++ = TY_PF_EVENT << 3 | TY_PROTO_BYTES;
    return ty_proto_varint(p, n);
}

static inline void put_end(struct ty_out *out, struct lane *lane, uint64_t ns)
{
    char *p = put_packet(ty_out_room(out, TY_PF_PACKET), lane, ns, 2);
    *p++ = TY_PF_TYPE << 3 | TY_PROTO_VARINT;
    *p++ = TY_PF_END;
    ty_out_advance(out, p);
}

/* ---- strings ---- */

/* A string a packet, so that each fits. */
static void put_string(struct ty_pf *f, uint32_t stream, const struct lane *lane, uint32_t table,
                       uint32_t i)
{
    static const uint32_t fields[] = {
#define X(id, field) field,
        TY_PF_TABLES(X)
#undef X
    };
    char text[TY_VIEW_NAME], entry[sizeof(text) + 32], data[sizeof(entry) + 16];
    char *q = ty_view_put_name(text, f->strings[stream].text[table][i], sizeof(text));
    char *e = ty_proto_u64(entry, TY_PF_IID, i + 1ULL);
    e = ty_proto_bytes(e, TY_PF_TEXT, text, (size_t)(q - text));
    char *d = ty_proto_bytes(data, fields[table], entry, (size_t)(e - entry));
    char packet[sizeof(data) + 32];
    memcpy(packet, &lane->bytes, sizeof(lane->bytes));
    char *p = ty_proto_bytes(packet + lane->len, TY_PF_INTERNED, data, (size_t)(d - data));
    char *room = ty_out_room(f->out, TY_PF_PACKET);
    ty_out_advance(f->out, ty_proto_bytes(room, TY_PF_TRACE_PACKET, packet, (size_t)(p - packet)));
}

/* Values of arguments up to number n that the row does not have yet. */
static void put_values(struct ty_pf *f, uint32_t stream, struct lane *lane, uint32_t n)
{
    for (; lane->n_values < n; lane->n_values++) {
        put_string(f, stream, lane, TY_PF_TABLE_VALUE, lane->n_values);
    }
}

static void put_strings(struct ty_pf *f, uint32_t stream, struct lane *lane)
{
    const struct ty_pf_strings *s = &f->strings[stream];
    for (uint32_t t = 0; t < TY_PF_N_TABLES; t++) {
        for (uint32_t i = 0; i < s->n[t]; i++) {
            put_string(f, stream, lane, t, i);
        }
    }
    lane->n_values = s->n[TY_PF_TABLE_VALUE];
}

/* ---- messages ---- */

#define ARROW_B 10 /* the key of a field, two bytes, and 64 bits */

/* The other end of a message, when it can be in the file. */
struct peer {
    const struct ty_view_shown *shown; /* NULL: no arrow */
    struct ty_view_extent extent;
    uint64_t id;        /* of the first time of the slot */
    uint32_t field;     /* leaves or arrives */
    uint32_t own, wide; /* members of this gang, times of a message: see struct ty_channel */
};

static struct peer find_peer(const struct ty_pf *f, const struct ty_pass *pass,
                             const struct ty_op *op)
{
    const struct ty_program *p = f->view.program;
    struct peer peer = {.shown = NULL};
    if ((op->sync != TY_SYNC_SEND && op->sync != TY_SYNC_RECV) ||
        f->view.trace->flows == TY_FLOWS_NONE) {
        return peer;
    }
    const struct ty_channel *channel = &p->channels[op->link];
    const bool sends = op->sync == TY_SYNC_SEND;
    const uint32_t slot = ty_op_slot(p, pass, op);
    const struct ty_view_end *end = sends ? &f->ends.recv[slot] : &f->ends.send[slot];
    if (end->pass != TY_VIEW_NONE) {
        const uint32_t gang = sends ? channel->to : channel->from;
        const uint32_t others = p->gangs[gang].n_ranks;
        peer.own = p->gangs[sends ? channel->from : channel->to].n_ranks;
        peer.wide = others > peer.own ? others : peer.own;
        peer.shown = &f->view.shown[gang];
        peer.extent = ty_view_end_extent(&f->view, gang, end);
        peer.id = (uint64_t)slot * p->slot_width + 1;
        peer.field = sends ? TY_PF_FLOW : TY_PF_FLOW_ENDS;
    }
    return peer;
}

static bool peer_shows(const struct ty_pf *f, const struct peer *peer, uint32_t member)
{
    uint64_t s, e;
    return peer->shown->slot[member] != TY_VIEW_NONE &&
           ty_view_clip(&f->view, peer->extent.start[member],
                        ty_view_extent_end(&peer->extent, member), &s, &e);
}

/* Arrows of a member's slice, one for each partner that is shown. Returns their length; out NULL:
 * that alone. */
static size_t put_arrows(const struct ty_pf *f, const struct peer *peer, uint32_t member,
                         char **out)
{
    const struct ty_peers times =
        peer->shown == NULL ? (struct ty_peers){0, 0} : ty_peers_of(member, peer->own, peer->wide);
    const uint32_t apart = peer->shown == NULL ? 1 : peer->wide / peer->shown->gang->n_ranks;
    size_t n = 0;
    for (uint32_t k = times.first; k < times.first + times.n; k++) {
        if (peer_shows(f, peer, k / apart)) {
            n += ARROW_B;
            *out = *out == NULL ? NULL : ty_proto_fixed64(*out, peer->field, peer->id + k);
        }
    }
    return n;
}

/* ---- slices ---- */

/* The head with the numbers of this pass. Returns its length. */
static size_t assemble(const struct ty_pf *f, const struct ty_pass *pass,
                       const struct ty_view_slice *slice, const struct ty_pf_head *head,
                       char body[TY_PF_BODY])
{
    uint64_t number[TY_N_HOLES];
    char *p = ty_put_blocks(body, head->text, head->len);
    ty_view_numbers(&f->view, pass, slice, number);
    if (head->name != NULL) {
        char name[TY_VIEW_NAME + 24];
        char *q = ty_view_put_name(name, head->name, TY_VIEW_NAME);
        *q++ = ' ';
        q = ty_put_u64(q, number[TY_HOLE_MB]);
        p = ty_proto_bytes(p, TY_PF_NAME, name, (size_t)(q - name));
    }
    for (uint32_t i = 0; i < head->n_holes; i++) {
        const uint64_t x = number[head->hole[i]];
        *p++ = TY_PF_ANNOTATION << 3 | TY_PROTO_BYTES;
        *p++ = (char)(3 + ty_proto_size(x)); /* keys are few: a byte each */
        p = ty_proto_u64(p, TY_PF_KEY_IID, head->key[i]);
        p = ty_proto_u64(p, TY_PF_UINT, x);
    }
    return (size_t)(p - body);
}

/* `why` NULL: slices do not say it. */
static inline void put_each(struct walk *w, const struct ty_pass *pass,
                            const struct ty_view_slice *slice, const char *body, size_t len,
                            struct ty_pf_note *why)
{
    static const struct ty_pf_piece nothing = {.len = 0};
    struct ty_pf *f = w->f;
    const struct ty_view_extent e =
        ty_view_extent(&f->view, w->shown->gang, pass, slice->first, slice->last);
    const struct ty_pf_piece *pieces =
        slice->partner != 0 ? pf_pieces(f, slice->partner, slice->stream) : NULL;
    const struct peer peer = find_peer(f, pass, &ty_pass_ops(f->view.program, pass)[slice->first]);
    w->rc = slice->partner != 0 && pieces == NULL ? TY_ENOMEM : w->rc;
    for (uint32_t i = w->from; i < w->to && w->rc == 0; i++) {
        const uint32_t m = w->shown->member[i];
        const struct ty_pf_piece *piece = pieces != NULL ? &pieces[i] : &nothing;
        uint64_t start, end;
        if (!ty_view_clip(&f->view, e.start[m], ty_view_extent_end(&e, m), &start, &end)) {
            continue;
        }
        struct lane *lane = &w->lane[slice->stream][i];
        if (why != NULL) {
            w->rc = pf_why(f, pass, slice, m, why);
            put_values(f, slice->stream, lane, why->value);
        }
        char *nowhere = NULL;
        const size_t arrows = put_arrows(f, &peer, m, &nowhere);
        const size_t n = len + piece->len + (why != NULL ? why->len : 0) + arrows;
        char *p = put_packet(ty_out_room(f->out, TY_PF_PACKET + arrows), lane, start, n);
        p = ty_put_blocks(p, body, len);
        p = pieces != NULL ? ty_put_blocks(p, piece->text, piece->len) : p;
        p = why != NULL ? ty_put_blocks(p, why->text, why->len) : p;
        (void)put_arrows(f, &peer, m, &p);
        ty_out_advance(f->out, p);
    }
}

static void put_begins(struct walk *w, const struct ty_pass *pass,
                       const struct ty_view_slice *slice, const char *body, size_t len)
{
    struct ty_pf_note why;
    if (w->f->view.trace->args != TY_ARGS_FULL) {
        put_each(w, pass, slice, body, len, NULL);
        return;
    }
    why.why.known = false;
    why.len = 0;
    why.value = 0;
    put_each(w, pass, slice, body, len, &why);
}

static void put_ends(struct walk *w, const struct ty_pass *pass, const struct ty_view_slice *slice)
{
    const struct ty_view_extent e =
        ty_view_extent(&w->f->view, w->shown->gang, pass, slice->first, slice->last);
    for (uint32_t i = w->from; i < w->to; i++) {
        const uint32_t m = w->shown->member[i];
        uint64_t start, end;
        if (ty_view_clip(&w->f->view, e.start[m], ty_view_extent_end(&e, m), &start, &end)) {
            put_end(w->f->out, &w->lane[slice->stream][i], end);
        }
    }
}

/* For every shown member; those on the critical path say so. */
static void put_members(struct walk *w, const struct ty_pass *pass, uint32_t number,
                        const struct ty_view_slice *slice, const char *body, size_t len)
{
    uint32_t n;
    const struct ty_view_mark_at *mark = ty_view_critical_slices(&w->f->view, w->shown, pass, &n);
    const uint32_t from = w->from, to = w->to;
    for (uint32_t k = 0; k < n; k++) {
        char marked[TY_PF_BODY];
        if (mark[k].slice == number && mark[k].i >= from && mark[k].i < to) {
            w->to = mark[k].i;
            put_begins(w, pass, slice, body, len);
            w->from = mark[k].i;
            w->to = mark[k].i + 1;
            put_begins(w, pass, slice, marked,
                       pf_mark_body(w->f, slice->stream, body, len, marked));
            w->from = w->to;
        }
    }
    w->to = to;
    put_begins(w, pass, slice, body, len);
    w->from = from;
}

static void put_pass(struct walk *w, const struct ty_pass *pass)
{
    const struct ty_view_plan *plan = ty_view_plan(&w->f->view, pass);
    const struct ty_pf_plan *mine = &w->f->plans[ty_view_plan_number(pass)];
    char body[TY_PF_BODY];
    for (uint32_t k = 0; k < 2 * plan->n; k++) {
        const uint32_t i = mine->order[k] / 2;
        const struct ty_pf_head *head = &mine->heads[i];
        if (mine->order[k] % 2 == 1) {
            put_ends(w, pass, &plan->slices[i]);
        } else if (head->name == NULL && head->n_holes == 0) {
            put_members(w, pass, i, &plan->slices[i], head->text, head->len);
        } else {
            const size_t len = assemble(w->f, pass, &plan->slices[i], head, body);
            put_members(w, pass, i, &plan->slices[i], body, len);
        }
    }
}

/* ---- bubbles ---- */

/* Most reasons occur once, and are spelled out; kinds are few. */
static char *add_why(struct ty_pf *f, char *p, const struct ty_view_bubble *bubble)
{
    const uint32_t s = TY_STREAM_COMPUTE;
    char body[TY_PF_BODY / 2];
    char *q = ty_proto_u64(body, TY_PF_KEY_IID, pf_intern(f, s, TY_PF_TABLE_KEY, "why"));
    q = ty_proto_str(q, TY_PF_STRING, bubble->why);
    p = ty_proto_bytes(p, TY_PF_ANNOTATION, body, (size_t)(q - body));
    q = ty_proto_u64(body, TY_PF_KEY_IID, pf_intern(f, s, TY_PF_TABLE_KEY, "kind"));
    q = ty_proto_u64(q, TY_PF_STRING_IID, pf_intern(f, s, TY_PF_TABLE_VALUE, bubble->kind));
    return ty_proto_bytes(p, TY_PF_ANNOTATION, body, (size_t)(q - body));
}

static char *put_bubble_head(struct ty_pf *f, char *p)
{
    const uint32_t s = TY_STREAM_COMPUTE;
    p = ty_proto_u64(p, TY_PF_TYPE, TY_PF_BEGIN);
    p = ty_proto_u64(p, TY_PF_CATEGORY_IID, pf_intern(f, s, TY_PF_TABLE_CATEGORY, "bubble"));
    p = ty_proto_u64(p, TY_PF_CORRELATION_IID, pf_intern(f, s, TY_PF_TABLE_CORRELATION, "bubble"));
    return ty_proto_u64(p, TY_PF_NAME_IID, pf_intern(f, s, TY_PF_TABLE_NAME, "bubble"));
}

static void put_passes(struct walk *w, uint32_t until)
{
    const struct ty_pass *passes = ty_gang_passes(w->f->view.program, w->shown->gang);
    for (; w->next < until && w->rc == 0; w->next++) {
        put_pass(w, &passes[w->next]);
    }
}

static void put_bubble(void *arg, const struct ty_view_bubble *bubble)
{
    struct walk *w = arg;
    const struct ty_gang *gang = w->shown->gang;
    put_passes(w, bubble->before != NULL
                      ? (uint32_t)(bubble->before - ty_gang_passes(w->f->view.program, gang))
                      : gang->n_passes);
    if (w->serial != bubble->serial) {
        char *p = put_bubble_head(w->f, w->body);
        if (w->f->view.trace->args != TY_ARGS_NONE) {
            p = add_why(w->f, p, bubble);
        }
        w->len = (size_t)(p - w->body);
        w->serial = bubble->serial;
    }
    struct lane *lane = &w->lane[TY_STREAM_COMPUTE][bubble->i];
    char *p = put_packet(ty_out_room(w->f->out, TY_PF_PACKET), lane, bubble->start, w->len);
    ty_out_advance(w->f->out, ty_put_blocks(p, w->body, w->len));
    put_end(w->f->out, lane, bubble->end);
}

/* ---- rows ---- */

/* Strings of bubbles, before rows list what they use. */
static int intern_bubble(struct ty_pf *f)
{
    const uint32_t s = TY_STREAM_COMPUTE;
    const struct ty_program *p = f->view.program;
    bool ok = true;
    for (uint32_t bucket = 0; bucket < p->words->n_buckets; bucket++) {
        const char *kind = ty_view_bubble_kind(p, (uint8_t)bucket, false);
        ok = ok && pf_intern(f, s, TY_PF_TABLE_VALUE, kind) != 0;
    }
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        const char *kind =
            ty_view_bubble_kind(p, p->words->stall, ty_view_observed(p, &p->gangs[g]));
        ok = ok && pf_intern(f, s, TY_PF_TABLE_VALUE, kind) != 0;
    }
    return ok && pf_intern(f, s, TY_PF_TABLE_CATEGORY, "bubble") != 0 &&
                   pf_intern(f, s, TY_PF_TABLE_CORRELATION, "bubble") != 0 &&
                   pf_intern(f, s, TY_PF_TABLE_NAME, "bubble") != 0 &&
                   pf_intern(f, s, TY_PF_TABLE_KEY, "why") != 0 &&
                   pf_intern(f, s, TY_PF_TABLE_KEY, "kind") != 0
               ? 0
               : TY_ENOMEM;
}

/* The clock of the trace, and one that counts differences; 64 and above belong to a sequence. */
enum {
    BOOTTIME = 6,
    DIFFERENCES = 64
};

/* Two clocks that agree at 0. */
static char *put_clocks(char *p)
{
    char clock[16], body[48];
    char *q = ty_proto_u64(clock, TY_PF_CLOCK_ID, BOOTTIME);
    q = ty_proto_u64(q, TY_PF_CLOCK_NOW, 0);
    char *b = ty_proto_bytes(body, TY_PF_CLOCK, clock, (size_t)(q - clock));
    q = ty_proto_u64(clock, TY_PF_CLOCK_ID, DIFFERENCES);
    q = ty_proto_u64(q, TY_PF_CLOCK_NOW, 0);
    q = ty_proto_u64(q, TY_PF_CLOCK_INCREMENTAL, true);
    b = ty_proto_bytes(b, TY_PF_CLOCK, clock, (size_t)(q - clock));
    return ty_proto_bytes(p, TY_PF_CLOCKS, body, (size_t)(b - body));
}

static char *put_defaults(char *p, uint64_t track)
{
    char event[24], body[48];
    char *q = ty_proto_u64(event, TY_PF_TRACK_UUID, track);
    char *b = ty_proto_u64(body, TY_PF_TIME_CLOCK, DIFFERENCES);
    b = ty_proto_bytes(b, TY_PF_EVENT_DEFAULTS, event, (size_t)(q - event));
    return ty_proto_bytes(p, TY_PF_DEFAULTS, body, (size_t)(b - body));
}

/* The first packets of a row. */
static void start_row(struct ty_pf *f, struct lane *lane, uint32_t rank, uint32_t stream)
{
    const uint64_t sequence = ty_pf_row_sequence(f, rank, stream);
    char packet[160], bytes[32] = {0};
    char *p = ty_proto_u64(packet, TY_PF_SEQUENCE, sequence);
    p = ty_proto_u64(p, TY_PF_FLAGS, TY_PF_CLEARED);
    p = put_clocks(p);
    p = put_defaults(p, ty_pf_row_track(f, rank, stream));
    char *room = ty_out_room(f->out, TY_PF_PACKET);
    ty_out_advance(f->out, ty_proto_bytes(room, TY_PF_TRACE_PACKET, packet, (size_t)(p - packet)));
    p = ty_proto_u64(bytes, TY_PF_SEQUENCE, sequence);
    *lane = (struct lane){.len = (uint32_t)(p - bytes)}; /* at most 6 bytes */
    memcpy(&lane->bytes, bytes, sizeof(lane->bytes));
    put_strings(f, stream, lane);
}

static int put_gang(struct ty_pf *f, struct walk *w, struct ty_gaps *gaps)
{
    const struct ty_view_shown *shown = w->shown;
    const unsigned streams = ty_view_streams(&f->view, shown->gang);
    int rc = ty_pf_begin_gang(f, shown);
    rc = rc == 0 && f->view.trace->bubbles ? intern_bubble(f) : rc;
    rc = rc == 0 ? pf_intern_critical(f) : rc;
    rc = rc == 0 ? pf_intern_why(f) : rc;
    for (uint32_t l = 0; l < f->view.program->n_lanes && rc == 0; l++) {
        const uint32_t s = f->view.program->stream_of[l];
        for (uint32_t i = 0; i < shown->n && (streams >> s & 1u) != 0; i++) {
            start_row(f, &w->lane[s][i], shown->gang->rank_of[shown->member[i]], s);
        }
    }
    for (uint32_t n; w->from < shown->n && rc == 0; w->from += n) {
        n = ty_view_stretch(shown, w->from);
        w->to = w->from + n;
        w->next = 0;
        w->serial = 0;
        rc = f->view.trace->bubbles
                 ? ty_view_bubbles(&f->view, gaps, shown, w->from, n, put_bubble, w)
                 : 0;
        put_passes(w, shown->gang->n_passes);
        rc = rc != 0 ? rc : w->rc;
    }
    return rc;
}

int ty_pf_slices(struct ty_pf *f)
{
    struct ty_gaps gaps;
    struct walk w = {.f = f};
    int rc = ty_gaps_init(&gaps, f->view.timeline, &f->view.arena);
    rc = rc == 0 ? ty_view_ends(&f->view, &f->ends) : rc;
    for (uint32_t l = 0; l < f->view.program->n_lanes && rc == 0; l++) {
        const uint32_t s = f->view.program->stream_of[l];
        w.lane[s] = ty_arena_array(&f->view.arena, struct lane, (size_t)f->view.largest + 1);
        rc = w.lane[s] == NULL ? TY_ENOMEM : 0;
    }
    for (uint32_t g = 0; g < f->view.program->n_gangs && rc == 0; g++) {
        w.shown = &f->view.shown[g];
        w.from = 0;
        rc = w.shown->n > 0 ? put_gang(f, &w, &gaps) : 0;
    }
    return rc;
}
