/* why.c - why slices started when they did, with --args full.
 *
 * Reasons without a number ("next in order after qkv") recur: they are strings of their row, put
 * into the file before the first slice that has them. Others are spelled out: most occur once. */
#include "traces/perfetto/perfetto.h"

int ty_pf_intern_why(struct ty_pf *f)
{
    const bool full = f->view.trace->args == TY_ARGS_FULL;
    const struct ty_program *p = f->view.program;
    for (uint32_t l = 0; l < p->n_lanes && full; l++) {
        if (ty_pf_intern(f, p->stream_of[l], TY_PF_TABLE_KEY, "why") == 0) {
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
    const uint32_t iid = ty_pf_intern(f, stream, TY_PF_TABLE_VALUE, text);
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

int ty_pf_why(struct ty_pf *f, const struct ty_pass *pass, const struct ty_view_slice *slice,
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
        ty_proto_u64(body, TY_PF_KEY_IID, ty_pf_intern(f, slice->stream, TY_PF_TABLE_KEY, "why"));
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
