/* critical.c - the critical path: a process with one row, above the ranks.
 *
 * Slices of ranks that lie on it have `critical` among their arguments, too. */
#include "traces/chrome/chrome.h"

#define TID 10u

static void put_naming(struct ty_chrome *c, const char *what, const char *key, const char *value)
{
    ty_chrome_put_naming(c, what, TY_CHROME_CRITICAL, TID, key);
    ty_out_str(c->out, value);
    ty_out_str(c->out, "}}");
}

static char *put_arg(char *p, const struct ty_view_arg *arg, bool first)
{
    p = ty_put_str(p, first ? "\"" : ",\"");
    p = ty_put_str(p, arg->key);
    p = ty_put_str(p, "\":");
    if (arg->value != TY_VALUE_TEXT) {
        return ty_put_u64(p, (uint64_t)arg->number);
    }
    *p++ = '"';
    p = ty_put_str(p, arg->text); /* made of safe names */
    *p++ = '"';
    return p;
}

static void put_step(void *arg, const struct ty_view_step *step)
{
    struct ty_chrome *c = arg;
    const struct ty_category_row *category = ty_category(c->view.program, step->category);
    char *p = ty_out_room(c->out, TY_CHROME_LINE);
    p = ty_put_str(p, ",\n{\"name\":\"");
    p = ty_view_put_name(p, step->name, TY_VIEW_NAME);
    if (step->numbered) {
        *p++ = ' ';
        p = ty_put_u64(p, step->mb);
    }
    p = ty_put_str(p, "\",\"cat\":\"");
    p = ty_put_str(p, category->name);
    p = ty_put_str(p, "\",\"cname\":\"");
    p = ty_put_str(p, category->colour);
    p = ty_put_str(p, "\",\"ph\":\"X\",\"tid\":");
    p = ty_put_u64(p, TID);
    p = ty_put_str(p, ",\"args\":{");
    for (uint32_t i = 0; i < step->n_args; i++) {
        p = put_arg(p, &step->arg[i], i == 0);
    }
    p = ty_put_str(p, "},\"pid\":");
    p = ty_put_u64(p, TY_CHROME_CRITICAL);
    p = ty_put_str(p, ",\"ts\":");
    p = ty_put_ns_as_us(p, step->start);
    p = ty_put_str(p, ",\"dur\":");
    p = ty_put_tenths_as_us(p, ty_view_length(step->start, step->end, 0));
    *p++ = '}';
    ty_out_advance(c->out, p);
}

/* Sorts before rank 0, whose index is 0. */
void ty_chrome_critical(struct ty_chrome *c)
{
    if (c->view.path == NULL) {
        return;
    }
    put_naming(c, "process_name", "name", "\"critical path\"");
    put_naming(c, "process_sort_index", "sort_index", "-1");
    put_naming(c, "process_labels", "labels", "\"what the run is as long as\"");
    put_naming(c, "thread_name", "name", "\"critical path\"");
    put_naming(c, "thread_sort_index", "sort_index", "10" /* TID */);
    ty_view_critical(&c->view, put_step, c);
}

/* A head ends with its arguments, inside them where the piece of a member goes on, or without. */
size_t ty_chrome_mark_head(const struct ty_view_slice *slice, const char *head, size_t n, char *out)
{
    static const char mark[] = "\"critical\":true";
    memcpy(out, head, n);
    char *p = out + n;
    if (slice->partner != 0) {
        p = ty_put_str(ty_put_str(p, mark), ",");
    } else if (slice->n_args > 0) {
        p[-1] = ',';
        p = ty_put_str(ty_put_str(p, mark), "}");
    } else {
        p = ty_put_str(ty_put_str(ty_put_str(p, ",\"args\":{"), mark), "}");
    }
    return (size_t)(p - out);
}
