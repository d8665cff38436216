/* omega.c - ${...} of OmegaConf, as NeMo's launcher writes them: ${a.b} from the root (`training.`
 * is the file itself), ${.sibling}, ${..uncle}, and the launcher's resolvers multiply, divide_ceil
 * and divide_floor. */
#include <math.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/import/nemo/nemo.h"

#define LEVELS 16u /* references inside each other */

/* A place in the tree: the maps from the root to the one that holds a value. */
struct path {
    const struct ty_node *map[TY_YAML_MAX_DEPTH];
    uint32_t n;
};

struct omega {
    struct ty_draft *draft;
    const struct ty_doc *doc;
    const char *doubt; /* the first thing that was not found */
};

static const char *evaluate(struct omega *o, const char *text, const struct path *at,
                            uint32_t level);

static const char *give_up(struct omega *o, const char *what, size_t n)
{
    if (o->doubt == NULL) {
        o->doubt = ty_draft_text(o->draft, "${%.*s} is not in this file", (int)n, what);
    }
    return "";
}

/* Bytes of a part up to `end` or the text's end, whatever braces hold. */
static size_t part_length(const char *text, const char *ends)
{
    size_t n = 0;
    for (int depth = 0; text[n] != '\0'; n++) {
        if (depth == 0 && strchr(ends, text[n]) != NULL) {
            break;
        }
        depth += text[n] == '{';
        depth -= text[n] == '}';
    }
    return n;
}

/* ---- references ---- */

/* Walks one key further; false: there is no such map or value. */
static bool step(struct path *at, const struct ty_node **value, const char *key)
{
    const struct ty_node *child = ty_node_child(at->map[at->n - 1], key);
    *value = child;
    if (child != NULL && child->kind == TY_NODE_MAP && at->n < TY_YAML_MAX_DEPTH) {
        at->map[at->n++] = child;
    }
    return child != NULL;
}

static const char *refer(struct omega *o, const char *name, size_t n, const struct path *from,
                         uint32_t level)
{
    const size_t dots = strspn(name, ".");
    struct path at = {.map = {o->doc->root}, .n = 1};
    const struct ty_node *value = NULL;
    const char *key = name + dots;
    if (dots > from->n) {
        return give_up(o, name, n);
    }
    if (dots > 0) {
        at = *from;
        at.n = from->n - (uint32_t)dots + 1;
    } else if (ty_text_begins(key, "training.") &&
               ty_node_child(o->doc->root, "training") == NULL) {
        key += strlen("training.");
    }
    while (key < name + n) {
        const size_t length = strcspn(key, ".}");
        if (!step(&at, &value, ty_draft_text(o->draft, "%.*s", (int)length, key))) {
            return give_up(o, name, n);
        }
        key += length + 1;
    }
    if (value == NULL || value->kind != TY_NODE_SCALAR || value->text == NULL) {
        return give_up(o, name, n);
    }
    return evaluate(o, value->text, &at, level + 1);
}

/* ---- resolvers ---- */

static const char *calculate(struct omega *o, const char *name, size_t n, const struct path *at,
                             uint32_t level)
{
    static const char *const known[] = {"multiply", "divide_ceil", "divide_floor", "add"};
    const size_t length = strcspn(name, ":");
    double value[2] = {0, 0};
    size_t which = 0, count = 0;
    while (which < TY_COUNT(known) &&
           (strlen(known[which]) != length || strncmp(known[which], name, length) != 0)) {
        which++;
    }
    for (const char *arg = name + length + 1; which < TY_COUNT(known) && arg < name + n; count++) {
        size_t bytes = part_length(arg, ",}");
        const char *end = arg + bytes;
        const char *trimmed = ty_text_trim(arg, &bytes);
        const char *text =
            evaluate(o, ty_draft_text(o->draft, "%.*s", (int)bytes, trimmed), at, level + 1);
        char *behind;
        if (count == 2) {
            break;
        }
        value[count] = ty_strtod(text, &behind);
        if (behind == text || *behind != '\0') {
            return give_up(o, name, n);
        }
        arg = end + 1;
    }
    if (which == TY_COUNT(known) || count != 2 || (which >= 1 && which <= 2 && value[1] == 0)) {
        return give_up(o, name, n);
    }
    const double result[] = {value[0] * value[1], ceil(value[0] / value[1]),
                             floor(value[0] / value[1]), value[0] + value[1]};
    return ty_draft_text(o->draft, "%.15g", result[which]);
}

/* ---- texts ---- */

static const char *evaluate(struct omega *o, const char *text, const struct path *at,
                            uint32_t level)
{
    const char *dollar = strstr(text, "${");
    if (dollar == NULL) {
        return text;
    }
    if (level >= LEVELS) {
        return give_up(o, dollar + 2, strcspn(dollar + 2, "}"));
    }
    const size_t n = part_length(dollar + 2, "}");
    const bool call = memchr(dollar + 2, ':', n) != NULL;
    const char *value =
        call ? calculate(o, dollar + 2, n, at, level) : refer(o, dollar + 2, n, at, level);
    const char *rest = dollar + 2 + n;
    return ty_draft_text(o->draft, "%.*s%s%s", (int)(dollar - text), text, value,
                         evaluate(o, *rest == '}' ? rest + 1 : rest, at, level + 1));
}

/* The maps on the way to a word; those of maps in lists cannot be told by name. */
static struct path path_of(struct ty_draft *d, const struct ty_doc *doc, const char *name)
{
    struct path at = {.map = {doc->root}, .n = 1};
    const struct ty_node *value;
    for (const char *dot = strchr(name, '.'); dot != NULL; dot = strchr(name, '.')) {
        if (!step(&at, &value, ty_draft_text(d, "%.*s", (int)(dot - name), name))) {
            break;
        }
        name = dot + 1;
    }
    return at;
}

void ty_nemo_resolve(struct ty_flags *words, const struct ty_doc *doc)
{
    for (uint32_t i = 0; i < words->n; i++) {
        const struct path at = path_of(words->draft, doc, words->item[i].name);
        for (uint32_t v = 0; v < words->item[i].n_values; v++) {
            struct ty_flag_value *value = &words->item[i].values[v];
            struct omega o = {.draft = words->draft, .doc = doc};
            value->text = evaluate(&o, value->text, &at, 0);
            value->doubt = o.doubt;
        }
    }
}
