/* huggingface_hybrid.c - layers of several kinds in a Hugging Face config.json: which have experts,
 * which block each has, as model.layer_pattern says it, and the sizes of those that keep a
 * state. */
#include <stdlib.h>
#include <string.h>

#include "model/huggingface_internal.h"

/* ---- which layers have experts ---- */

static void every(bool *dense, unsigned long layers, unsigned long n, unsigned long shift)
{
    for (unsigned long i = 0; i < layers && n > 1; i++) {
        dense[i] = dense[i] || (i + shift) % n != 0;
    }
}

static void first_ones(bool *dense, unsigned long layers, unsigned long n)
{
    for (unsigned long i = 0; i < layers && i < n; i++) {
        dense[i] = true;
    }
}

/* The layers of a list become dense, or all others do. */
static void listed_dense(struct ty_hf_reader *r, const char *key, bool *dense, unsigned long layers,
                         bool others)
{
    const struct ty_node *list = ty_hf_value(r, key);
    if (list == NULL || list->kind != TY_NODE_LIST || (others && list->first == NULL)) {
        return;
    }
    bool *in = ty_arena_array(r->arena, bool, layers);
    if (in == NULL) {
        r->code = ty_fail_memory(r->err);
        return;
    }
    memset(in, 0, layers * sizeof(*in));
    for (const struct ty_node *item = list->first; item != NULL; item = item->next) {
        unsigned long number = layers;
        if (!ty_hf_is_number(item, true) || (number = strtoul(item->text, NULL, 10)) >= layers) {
            ty_hf_fail(r, item, key, "no number of a layer, from 0 on");
            return;
        }
        in[number] = true;
    }
    for (unsigned long i = 0; i < layers; i++) {
        dense[i] = dense[i] || in[i] != others;
    }
}

/* A number n, every n-th layer from the first on, or a list with 1 for each layer that has them. */
static void frequency(struct ty_hf_reader *r, bool *dense, unsigned long layers)
{
    static const char key[] = "moe_layer_freq";
    const struct ty_node *list = ty_hf_value(r, key);
    unsigned long i = 0;
    if (list == NULL || list->kind != TY_NODE_LIST) {
        every(dense, layers, ty_hf_number(r, key, 1), 0);
        return;
    }
    for (const struct ty_node *item = list->first; item != NULL && i < layers; item = item->next) {
        dense[i] = dense[i] || !ty_hf_is_number(item, true) || strcmp(item->text, "0") == 0;
        i++;
    }
}

/* A word for each layer: "dense", "sparse". */
static void listed_words(struct ty_hf_reader *r, bool *dense, unsigned long layers)
{
    const struct ty_node *item = ty_hf_value(r, "mlp_layer_types");
    item = item != NULL && item->kind == TY_NODE_LIST ? item->first : NULL;
    for (unsigned long i = 0; item != NULL && i < layers; item = item->next, i++) {
        dense[i] = dense[i] || (item->kind == TY_NODE_SCALAR && strcmp(item->text, "dense") == 0);
    }
}

void ty_hf_find_dense(struct ty_hf_reader *r, bool *dense, unsigned long layers)
{
    const unsigned long start = ty_hf_number(r, "moe_layer_start_index", 0);
    const struct ty_node *end = ty_hf_value(r, "moe_layer_end_index");
    const unsigned long period = ty_hf_number(r, "expert_layer_period", 1);
    first_ones(dense, layers,
               ty_hf_number(r, "first_k_dense_replace|moe_layer_num_skipped|num_dense_layers", 0));
    every(dense, layers, period,
          period - ty_hf_number(r, "expert_layer_offset", 0) % (period | !period));
    first_ones(dense, layers, start);
    for (unsigned long i = 0; end != NULL && ty_hf_is_number(end, true) && i < layers; i++) {
        dense[i] = dense[i] || i > strtoul(end->text, NULL, 10); /* -1: up to the last */
    }
    every(dense, layers, ty_hf_number(r, "decoder_sparse_step", 1), 1);
    every(dense, layers, ty_hf_number(r, "moe_layer_interval", 1), 1);
    every(dense, layers, ty_hf_number(r, "interleave_moe_layer_step", 1), 1);
    frequency(r, dense, layers);
    listed_words(r, dense, layers);
    listed_dense(r, "mlp_only_layers", dense, layers, false);
    listed_dense(r, "moe_layers", dense, layers, true);
}

/* ---- which block each has ---- */

/* Words of lists, whatever the family; "state" is the letter of its own layers with a state. */
static const struct {
    const char *word, *letters;
} words[] = {
    {"attention", "*"},
    {"full_attention", "*"},
    {"mlp", "-"},
    {"moe", "E"},
    {"mamba", "state"},
    {"mamba2", "state"},
    {"conv", "state"},
    {"recurrent", "state"},
    {"linear_attention", "state"},
    {"m", "state"},
    {"hybrid", "Z"},
    {"g", "Z"},
    {"0", "state"},
    {"1", "*"},
};

/* The letter of a layer's first block, 0: of a word that nobody knows. */
static char letter_of(const struct ty_hf_hybrid *x, const char *word)
{
    for (size_t i = 0; i < TY_COUNT(words); i++) {
        if (strcmp(words[i].word, word) == 0) {
            return words[i].letters[1] != '\0' ? x->state : words[i].letters[0];
        }
    }
    return 0;
}

/* The same from the places of attention. */
static bool read_places(struct ty_hf_reader *r, const struct ty_hf_hybrid *x, char *first,
                        unsigned long n)
{
    const struct ty_node *list = ty_hf_value(r, x->at);
    const unsigned long period = x->every != NULL ? ty_hf_number(r, x->every, 4) : 0;
    if (x->types != NULL && x->every == NULL && list == NULL) {
        ty_hf_fail(r, NULL, x->types, "missing; what the layers are cannot be known without it");
        return false;
    }
    const unsigned long which = ty_hf_number(r, x->which, period - 1);
    for (unsigned long i = 0; i < n; i++) {
        first[i] = period > 0 && i % period == which ? '*' : x->state;
    }
    const struct ty_node *item = list != NULL && list->kind == TY_NODE_LIST ? list->first : NULL;
    for (; item != NULL; item = item->next) {
        const unsigned long from = x->from_one ? 1 : 0;
        const unsigned long at =
            ty_hf_is_number(item, true) ? strtoul(item->text, NULL, 10) - from : n;
        if (at >= n) {
            ty_hf_fail(r, item, x->at,
                       from > 0 ? "no number of a layer, from 1 on"
                                : "no number of a layer, from 0 on");
            return false;
        }
        first[at] = '*';
    }
    return true;
}

/* The first blocks of [n] layers, from a text of letters or a list of words. */
static bool read_types(struct ty_hf_reader *r, const struct ty_hf_hybrid *x, char *first,
                       unsigned long n)
{
    const struct ty_node *node = ty_hf_value(r, x->types);
    unsigned long i = 0;
    if (node == NULL) {
        return read_places(r, x, first, n);
    }
    if (node->kind == TY_NODE_SCALAR) {
        for (; node->text[i] != '\0' && i < n; i++) {
            first[i] = node->text[i];
        }
        i += strlen(node->text + i);
    }
    for (const struct ty_node *item = node->kind == TY_NODE_LIST ? node->first : NULL; item != NULL;
         item = item->next, i++) {
        const char letter = item->kind == TY_NODE_SCALAR ? letter_of(x, item->text) : 0;
        if (letter == 0) {
            ty_hf_fail(r, item, x->types, "no kind of layer that is simulated");
            return false;
        }
        if (i < n) {
            first[i] = letter;
        }
    }
    if (i != n) {
        const char *what =
            ty_arena_printf(r->arena, "has %lu layers, and num_hidden_layers is %lu", i, n);
        ty_hf_fail(r, node, x->types, what != NULL ? what : "has another number of layers");
    }
    return i == n;
}

/* The pattern as a text: letters, or words with an MLP or experts in each. */
static void put_pattern(struct ty_hf_reader *r, const struct ty_hf_hybrid *x,
                        const struct ty_hf_shape *shape, const char *first, const bool *dense)
{
    const unsigned long n = shape->layers;
    char *text = ty_arena_array(r->arena, char, 4 * n + 3), *to = text;
    if (text == NULL) {
        r->code = ty_fail_memory(r->err);
        return;
    }
    *to++ = '\'';
    for (unsigned long i = 0; i < n; i++) {
        const bool hybrid = first[i] == 'Z'; /* attention, an MLP, and what the others have */
        if (hybrid) {
            *to++ = '*';
            *to++ = '-';
        }
        *to++ = hybrid ? x->state : first[i];
        if (x->beside) {
            *to++ = '*';
        }
        if (!x->alone) {
            *to++ = shape->experts > 0 && !dense[i] ? 'E' : '-';
            *to++ = ' ';
        }
    }
    to -= x->alone ? 0 : 1;
    *to++ = '\'';
    *to = '\0';
    ty_hf_put(r, "layer_pattern", text);
}

static void put_state(struct ty_hf_reader *r, const struct ty_hf_hybrid *x)
{
    const struct {
        const char *key, *from;
    } sizes[] = {{"state_heads", x->heads},
                 {"state_head_dim", x->head_dim},
                 {"state_groups", x->groups},
                 {"state_size", x->size},
                 {"state_conv", x->conv}};
    for (size_t i = 0; i < TY_COUNT(sizes); i++) {
        const unsigned long value = sizes[i].from != NULL ? ty_hf_needed(r, sizes[i].from) : 0;
        if (value > 0) {
            ty_hf_put_number(r, sizes[i].key, value);
        }
    }
}

bool ty_hf_put_hybrid(struct ty_hf_reader *r, const struct ty_hf_hybrid *x,
                      const struct ty_hf_shape *shape, const bool *dense)
{
    char *first = ty_arena_array(r->arena, char, shape->layers);
    if (first == NULL) {
        r->code = ty_fail_memory(r->err);
        return true;
    }
    if (!read_types(r, x, first, shape->layers)) {
        return true;
    }
    const bool state = memchr(first, x->state, shape->layers) != NULL;
    if (state || x->alone) {
        put_pattern(r, x, shape, first, dense);
    }
    if (state) {
        put_state(r, x);
    }
    return state || x->alone;
}
