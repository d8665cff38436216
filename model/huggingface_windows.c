/* huggingface_windows.c - which layers of a Hugging Face config.json see a window only: those that
 * a list names, or every so many, or those from one on. */
#include <string.h>

#include "model/huggingface_internal.h"

/* Of a list of words, one a layer. "chunked_attention" looks at a chunk of tokens, which is no
 * window: see ty_hf_llama4. */
static bool has_window(const struct ty_node *item)
{
    return item->kind == TY_NODE_SCALAR && item->text != NULL &&
           (strcmp(item->text, "sliding_attention") == 0 || strcmp(item->text, "local") == 0);
}

/* Whether a pattern of letters is that of `period` layers: LLLG. 0: it is none. */
static unsigned long letters(const struct ty_node *node)
{
    const size_t n = node->kind == TY_NODE_SCALAR && node->text != NULL ? strlen(node->text) : 0;
    return n > 1 && strspn(node->text, "L") == n - 1 && node->text[n - 1] == 'G' ? n : 0;
}

static unsigned long period_of(struct ty_hf_reader *r, const struct ty_hf_family *family)
{
    static const char key[] = "sliding_window_pattern|_sliding_window_pattern|layer_switch";
    const struct ty_node *node = ty_hf_value(r, key);
    const unsigned long period = node != NULL ? letters(node) : 0;
    return period > 0 ? period : ty_hf_number(r, key, family->period);
}

/* By the rule of the class. */
static bool is_full(const struct ty_hf_family *family, unsigned long layer, unsigned long n)
{
    switch (family->windows) {
    case TY_HF_WINDOWS_LATER:
        return layer < n;
    case TY_HF_WINDOWS_PERIOD:
        return n > 0 && (layer + 1) % n == 0;
    case TY_HF_WINDOWS_FIRST:
        return n > 0 && layer % n == 0;
    case TY_HF_WINDOWS_NONE:
        return true;
    case TY_HF_WINDOWS_ALL:
        break;
    }
    return false;
}

/* GPT-Neo's [[["global", "local"], 12]]: words, and how often they repeat. NULL: none. */
static const struct ty_node *repeated(struct ty_hf_reader *r)
{
    const struct ty_node *types = ty_hf_value(r, "attention_types");
    const struct ty_node *pair = types != NULL && types->kind == TY_NODE_LIST ? types->first : NULL;
    const struct ty_node *words = pair != NULL && pair->kind == TY_NODE_LIST ? pair->first : NULL;
    return words != NULL && words->kind == TY_NODE_LIST && pair->next == NULL ? words->first : NULL;
}

/* Fills full[layers] from a list, which repeats where it is shorter; false: there is none. */
static bool listed(struct ty_hf_reader *r, bool *full, unsigned long layers)
{
    const struct ty_node *list = ty_hf_value(r, "layer_types|attention_layers");
    const struct ty_node *again = repeated(r);
    const struct ty_node *first = list != NULL && list->kind == TY_NODE_LIST ? list->first : again;
    const struct ty_node *item = first;
    for (unsigned long i = 0; i < layers && first != NULL; i++) {
        full[i] = !has_window(item);
        item = item->next != NULL ? item->next : first;
    }
    return first != NULL;
}

/* The period of layers of which the last is full; 0: all are windows, 1: none is; NO_PERIOD: there
 * is no such period. */
#define NO_PERIOD (~0ul)
static unsigned long find_period(const bool *full, unsigned long layers)
{
    unsigned long period = 0;
    for (unsigned long i = 0; i < layers; i++) {
        period = period == 0 && full[i] ? i + 1 : period;
        if (period > 0 && full[i] != ((i + 1) % period == 0)) {
            return NO_PERIOD;
        }
    }
    return period;
}

static void put(struct ty_hf_reader *r, const bool *full, unsigned long layers,
                unsigned long window)
{
    const unsigned long period = find_period(full, layers);
    bool none = true;
    for (unsigned long i = 0; i < layers; i++) {
        none = none && full[i];
    }
    if (none) {
        return;
    }
    ty_hf_put_number(r, "window", window);
    if (period == NO_PERIOD) {
        ty_hf_put_layers(r, "full_layers", full, layers);
    } else if (period > 0) {
        ty_hf_put_number(r, "window_period", period);
    }
}

void ty_hf_put_windows(struct ty_hf_reader *r, const struct ty_hf_family *family,
                       const struct ty_hf_shape *shape)
{
    static const char key[] = "sliding_window|window_size";
    const bool given = ty_node_child(r->root, "sliding_window") != NULL;
    const unsigned long usual = family->defaults != NULL && !given ? family->defaults->window : 0;
    const bool optional = family->windows == TY_HF_WINDOWS_LATER;
    const struct ty_node *node = ty_hf_value(r, key);
    const bool number = node == NULL || ty_hf_is_number(node, false); /* none: false */
    const unsigned long window = number ? ty_hf_number(r, key, usual) : 0;
    const unsigned long n =
        optional ? ty_hf_number(r, "max_window_layers", shape->layers) : period_of(r, family);
    const bool used = ty_hf_flag(r, "use_sliding_window", !optional);
    bool *full = ty_arena_array(r->arena, bool, shape->layers);
    if (full == NULL) {
        r->code = ty_fail_memory(r->err);
        return;
    }
    for (unsigned long i = 0; i < shape->layers; i++) {
        full[i] = is_full(family, i, n);
    }
    (void)listed(r, full, shape->layers);
    if (window > 0 && used) {
        put(r, full, shape->layers, window);
    }
}
