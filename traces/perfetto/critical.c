/* critical.c - the critical path: the slices of the first track, above those of the ranks.
 *
 * Its events are on sequence 1: they are few, and in order of time. */
#include "traces/perfetto/perfetto.h"

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
int ty_pf_intern_critical(struct ty_pf *f)
{
    const struct ty_program *p = f->view.program;
    for (uint32_t l = 0; l < p->n_lanes && f->view.path != NULL; l++) {
        if (ty_pf_intern(f, p->stream_of[l], TY_PF_TABLE_KEY, "critical") == 0) {
            return TY_ENOMEM;
        }
    }
    return 0;
}

/* The event of a slice that lies on the path. Returns its length. */
size_t ty_pf_mark_body(struct ty_pf *f, uint32_t stream, const char *body, size_t n,
                       char out[TY_PF_BODY])
{
    char value[16];
    memcpy(out, body, n);
    char *q =
        ty_proto_u64(value, TY_PF_KEY_IID, ty_pf_intern(f, stream, TY_PF_TABLE_KEY, "critical"));
    q = ty_proto_u64(q, TY_PF_BOOL, 1);
    return (size_t)(ty_proto_bytes(out + n, TY_PF_ANNOTATION, value, (size_t)(q - value)) - out);
}
