/* plan.c - the heads of slices: lines of JSON with holes for the numbers of a pass. */
#include <stdio.h>

#include "sim/base/number_text.h"

#include "traces/chrome/chrome.h"

/* Fixed text, at most two names and a few numbers: fits. */
struct text {
    char text[TY_CHROME_TEXT];
    struct ty_chrome_head head;
};

static void add(struct text *h, const char *s)
{
    h->head.len = (uint32_t)(ty_put_str(h->text + h->head.len, s) - h->text);
}

static void add_hole(struct text *h, uint8_t hole)
{
    h->head.hole[h->head.n_holes] = hole;
    h->head.at[h->head.n_holes++] = (uint16_t)h->head.len;
}

static void add_name(struct text *h, const char *name)
{
    h->head.len = (uint32_t)(ty_view_put_name(h->text + h->head.len, name, TY_VIEW_NAME) - h->text);
}

static void add_arg(struct text *h, const struct ty_view_arg *arg, bool first)
{
    char digits[40];
    add(h, first ? "\"" : ",\"");
    add(h, arg->key);
    add(h, "\":");
    switch ((enum ty_view_value)arg->value) {
    case TY_VALUE_HOLE:
        add_hole(h, arg->hole);
        break;
    case TY_VALUE_NUMBER:
        ty_snprintf(digits, sizeof(digits), "%.0f", arg->number);
        add(h, digits);
        break;
    case TY_VALUE_TEXT:
        add(h, "\"");
        add_name(h, arg->text);
        add(h, "\"");
        break;
    }
}

/* Ends the arguments, unless the piece of the member goes on. */
static void add_args(struct text *h, const struct ty_view_slice *slice)
{
    if (slice->n_args == 0 && slice->partner == 0) {
        return;
    }
    add(h, ",\"args\":{");
    for (uint32_t i = 0; i < slice->n_args; i++) {
        add_arg(h, &slice->arg[i], i == 0);
    }
    if (slice->partner == 0) {
        add(h, "}");
    } else if (slice->n_args > 0) {
        add(h, ",");
    }
}

/* The colour that a part of a layer asks for. */
static const char *part_colour(const struct ty_vocabulary *words, const char *name)
{
    for (uint32_t i = 0; i < words->n_parts; i++) {
        if (strcmp(name, words->parts[i].name) == 0) {
            return words->parts[i].colour;
        }
    }
    return NULL;
}

/* Catapult alone honours colours. It hashes others from the name with its number, so passes would
 * flicker without, and one kind of communication has several names. Computation without a number
 * keeps to one colour. NULL: it asks for none. */
static const char *colour_of(const struct ty_chrome *c, const struct ty_view_slice *slice)
{
    const struct ty_program *p = c->view.program;
    if (c->view.trace->args == TY_ARGS_FULL || slice->numbered ||
        slice->stream != TY_STREAM_COMPUTE) {
        return ty_category(p, slice->category)->colour;
    }
    return slice->depth == 1 ? part_colour(p->words, slice->name) : NULL;
}

static void render(const struct ty_chrome *c, struct text *h, const struct ty_view_slice *slice)
{
    const char *colour = colour_of(c, slice);
    char tid[24];
    h->head = (struct ty_chrome_head){.len = 0};
    add(h, ",\n{\"name\":\"");
    add_name(h, slice->name);
    if (slice->numbered) {
        add(h, " ");
        add_hole(h, TY_HOLE_MB);
    }
    add(h, "\",\"cat\":\"");
    add(h, ty_category(c->view.program, slice->category)->name);
    if (colour != NULL) {
        add(h, "\",\"cname\":\"");
        add(h, colour);
    }
    snprintf(tid, sizeof(tid), "\",\"ph\":\"X\",\"tid\":%u",
             (unsigned)c->view.program->words->streams[slice->stream].tid);
    add(h, tid);
    add_args(h, slice);
}

const struct ty_chrome_head *ty_chrome_heads(struct ty_chrome *c, const struct ty_pass *pass,
                                             const struct ty_view_plan **plan)
{
    struct ty_chrome_head **heads = &c->heads[ty_view_plan_number(pass)];
    struct text h;
    *plan = ty_view_plan(&c->view, pass);
    if (*plan == NULL || *heads != NULL) {
        return *plan != NULL ? *heads : NULL;
    }
    struct ty_chrome_head *row =
        ty_arena_array(&c->view.arena, struct ty_chrome_head, (size_t)(*plan)->n + 1);
    for (uint32_t i = 0; row != NULL && i < (*plan)->n; i++) {
        render(c, &h, &(*plan)->slices[i]);
        char *text = ty_arena_array(&c->view.arena, char, h.head.len + 2 * (size_t)TY_PUT_BLOCK);
        if (text == NULL) {
            return NULL;
        }
        memcpy(text, h.text, h.head.len);
        row[i] = h.head;
        row[i].text = text;
    }
    return *heads = row;
}
