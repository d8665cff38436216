/* continue.c - writes the run file of the best layout, from what the user gave and what was found.
 *
 * Values stand as they were written, not as they were understood: a quantity would lose digits. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "sim/plan/search/continue.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/words.h"
#include "sim/cli_api.h"
#include "sim/config/config.h"
#include "sim/document/json.h"
#include "sim/plan/search/row_text.h"

#define FILE_PREFIX "file:" /* of run.routing */

struct writing {
    const struct ty_config *base;
    struct ty_text *out;
};

/* ---- values ---- */

/* Returns the absolute name of a file that the run file reads, to be freed. NULL: the text names
 * none. */
static char *file_of(const struct writing *w, const char *run_file, const char *text)
{
    struct ty_text path = {.data = NULL};
    const char *slash = strrchr(run_file, '/'), *input;
    char *found = NULL;
    if (text[0] == '/') {
        return NULL;
    }
    ty_text_bytes(&path, run_file, slash != NULL ? (size_t)(slash - run_file) + 1 : 0);
    ty_text_bytes(&path, text, strlen(text));
    for (size_t i = 0; !path.failed && (input = ty_config_input(w->base, i)) != NULL; i++) {
        if (path.len > 0 && strcmp(input, path.data) == 0) {
            found = realpath(input, NULL);
            break;
        }
    }
    ty_text_release(&path);
    return found;
}

static void put_scalar(const struct writing *w, const char *run_file, const char *text, bool quoted)
{
    const bool prefixed = ty_text_begins(text, FILE_PREFIX);
    char *file = file_of(w, run_file, text + (prefixed ? strlen(FILE_PREFIX) : 0));
    if (file != NULL) {
        ty_text_add(w->out, "%s%s", prefixed ? FILE_PREFIX : "", file);
    } else if (quoted) {
        ty_json_put(w->out, text);
    } else {
        ty_text_add(w->out, "%s", text);
    }
    free(file);
}

static void put_node(const struct writing *w, const char *run_file, const struct ty_node *node)
{
    if (node->kind == TY_NODE_SCALAR) {
        put_scalar(w, run_file, node->text != NULL ? node->text : "", node->quoted);
        return;
    }
    const bool list = node->kind == TY_NODE_LIST;
    assert(list || node->kind == TY_NODE_MAP);
    ty_text_add(w->out, list ? "[" : "{");
    for (const struct ty_node *child = node->first; child != NULL; child = child->next) {
        ty_text_add(w->out, "%s%s%s", child != node->first ? ", " : "", list ? "" : child->key,
                    list ? "" : ": ");
        put_node(w, run_file, child);
    }
    ty_text_add(w->out, list ? "]" : "}");
}

/* ---- keys ---- */

/* Returns the node of a key, which may be inside a mapping: "collectives.measured". */
static const struct ty_node *find_node(const struct ty_node *section, const struct ty_field *field)
{
    const char *dot = strchr(field->key, '.');
    const struct ty_node *node = ty_node_child(section, field->key);
    char first[64];
    if (node == NULL && dot != NULL && (size_t)(dot - field->key) < sizeof(first)) {
        memcpy(first, field->key, (size_t)(dot - field->key));
        first[dot - field->key] = '\0';
        const struct ty_node *map = ty_node_child(section, first);
        node = map != NULL && map->kind == TY_NODE_MAP ? ty_node_child(map, dot + 1) : NULL;
    }
    return node != NULL && node->kind == TY_NODE_MAP && field->inner != NULL
               ? ty_node_child(node, field->inner)
               : node;
}

/* Writes the value that the user gave, in a file or on the command line. Returns false if none. */
static bool put_given(const struct writing *w, const struct ty_section *section,
                      const struct ty_field *field)
{
    const struct ty_origin *origin = ty_field_origin(section, field);
    const char *run_file = w->base->docs[0].file;
    if (origin->kind == TY_ORIGIN_COMMAND && !origin->searched) {
        ty_text_add(w->out, "  %s: ", field->key);
        put_scalar(w, run_file, origin->at.source + origin->at.col - 1, false);
        ty_text_add(w->out, "\n");
    }
    for (size_t i = 0; origin->kind == TY_ORIGIN_FILE && !origin->searched && i < w->base->n_docs;
         i++) {
        const struct ty_doc *doc = &w->base->docs[i];
        const struct ty_node *node = doc->file == origin->at.file
                                         ? find_node(ty_node_child(doc->root, section->name), field)
                                         : NULL;
        if (node != NULL) {
            ty_text_add(w->out, "  %s: ", field->key);
            put_node(w, doc->file, node);
            ty_text_add(w->out, "\n");
            return true;
        }
    }
    return origin->kind == TY_ORIGIN_COMMAND && !origin->searched;
}

/* Returns the axis of a key, or TY_PLAN_N_AXES. */
static uint32_t axis_of(const struct ty_plan_space *space, const struct ty_section *section,
                        const char *key)
{
    uint32_t i = 0;
    while (i < TY_PLAN_N_AXES &&
           (strcmp(space->axis[i].key, key) != 0 ||
            strcmp(ty_config_section_name(space->axis[i].section), section->name) != 0)) {
        i++;
    }
    return i;
}

static void put_section(const struct writing *w, const struct ty_plan_answer *a,
                        const struct ty_section *section)
{
    const struct ty_plan_result *r = &a->result[a->best];
    const size_t begun = w->out->len;
    char value[TY_PLAN_VALUE];
    ty_text_add(w->out, "%s:\n", section->name);
    const size_t empty = w->out->len;
    for (uint32_t k = 0; k < section->n_fields; k++) {
        const struct ty_field *field = &section->fields[k];
        const uint32_t axis = axis_of(&r->space, section, field->key);
        const bool own = r->base->schedule.custom != NULL && axis < TY_PLAN_N_AXES &&
                         r->space.axis[axis].section == TY_SECTION_SCHEDULE;
        const char *dealt = ty_plan_uneven_value(&a->uneven, section->name, field->key);
        if (dealt != NULL) {
            ty_text_add(w->out, "  %s: %s\n", field->key, dealt);
        } else if (axis == TY_PLAN_N_AXES || own || !ty_plan_key_is_told(&r->space, axis)) {
            (void)put_given(w, section, field);
        } else if (axis != TY_PLAN_DATA) { /* data ranks follow from the others */
            ty_text_add(w->out, "  %s: %s\n", field->key,
                        ty_plan_key_value(&r->space, ty_plan_best_point(a), axis, value));
        }
    }
    if (w->out->len == empty) {
        w->out->len = begun;
    }
}

int ty_plan_continue(const struct ty_plan_answer *a, struct ty_text *out, struct ty_err *err)
{
    const struct ty_plan_result *r = &a->result[a->best];
    const struct writing w = {.base = r->base, .out = out};
    char step[32], space[32];
    if (r->n_rows == 0) {
        return 0;
    }
    const double step_s = a->uneven.found ? a->uneven.stages.step_s : r->row[0].step_s;
    ty_text_add(out, "# %s: the best %sof %s layouts on %u GPUs%s, %s a step (trainyard plan)\n",
                r->base->docs[0].file, a->exact ? "" : "so far, NOT exact, ",
                ty_words_count(r->space.n_points, space, sizeof(space)),
                (unsigned)ty_plan_gpus(&r->space), a->uneven.found ? " with unequal stages" : "",
                ty_words_seconds(step_s, step, sizeof(step)));
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        put_section(&w, a, &r->base->sections[i]);
    }
    return out->failed ? ty_fail_memory(err) : 0;
}
