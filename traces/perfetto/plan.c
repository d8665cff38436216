/* plan.c - the slices of a gang as the beginnings of events, and the strings they number.
 *
 * Strings are numbered stream by stream, because each row repeats those it uses. */
#include <stdio.h>

#include "traces/perfetto/perfetto.h"

/* ---- strings ---- */

/* The number of a string; 0: no memory. */
uint32_t ty_pf_intern(struct ty_pf *f, uint32_t stream, uint32_t table, const char *text)
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
    const uint32_t iid = ty_pf_intern(b->f, b->stream, table, text != NULL ? text : "");
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
    char *q = ty_proto_u64(
        body, TY_PF_KEY_IID,
        ty_pf_intern(f, stream, TY_PF_TABLE_KEY, other.group != NULL ? "group" : "peer"));
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

const struct ty_pf_piece *ty_pf_pieces(struct ty_pf *f, uint32_t partner, uint32_t stream)
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
