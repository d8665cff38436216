/* pattern.c - which blocks the layers of a hybrid model have: `model.layer_pattern`.
 *
 * A layer is a word of letters, TY_LAYER_BLOCKS: "M" a Mamba-2 block alone, "ME" one and experts
 * behind it, "M*-" Mamba-2 and attention side by side and an MLP behind them. A pattern is one text
 * whose letters are a layer each, as in Megatron-LM and Nemotron-H, or several words. It repeats
 * where it is shorter than the layers. */
#include <string.h>

#include "model/arch.h"
#include "model/check.h"

static const struct {
    char letter;
    uint32_t block;
} letters[] = {
#define X(id, letter, bit) {letter, bit},
    TY_LAYER_BLOCKS(X)
#undef X
};

/* The block of a letter; 0: there is none. */
static uint32_t block_of(char letter)
{
    for (size_t i = 0; i < TY_COUNT(letters); i++) {
        if (letters[i].letter == letter) {
            return letters[i].block;
        }
    }
    return 0;
}

/* Word i of a pattern, `length` letters; NULL: there are no more. */
static const char *word(const struct ty_string_list *pattern, uint32_t i, size_t *length)
{
    for (uint32_t k = 0; k < pattern->n; k++) {
        const char *text = pattern->item[k] + strspn(pattern->item[k], " ");
        if (pattern->n == 1 && strchr(text, ' ') == NULL) {
            *length = 1;
            return i < strlen(text) ? text + i : NULL;
        }
        for (; *text != '\0'; text += *length + strspn(text + *length, " ")) {
            *length = strcspn(text, " ");
            if (i-- == 0) {
                return text;
            }
        }
    }
    return NULL;
}

static uint32_t blocks_of(const char *text, size_t length)
{
    uint32_t blocks = 0;
    for (size_t i = 0; i < length; i++) {
        blocks |= block_of(text[i]);
    }
    return blocks;
}

uint32_t ty_arch_pattern_number(const struct ty_arch *arch, uint32_t layer)
{
    const uint32_t last = arch->layers - 1;
    return arch->n_patterns > 0 ? arch->word[(layer < last ? layer : last) % arch->n_words] : 0;
}

uint32_t ty_arch_blocks(const struct ty_arch *arch, uint32_t layer)
{
    if (arch->n_patterns == 0) {
        return TY_HAS_ATTENTION | (ty_arch_has_experts(arch, layer) ? TY_HAS_EXPERTS : TY_HAS_MLP);
    }
    return arch->patterns[ty_arch_pattern_number(arch, layer)];
}

/* Which of the kinds of layers found so far has these blocks; their number: none. */
static uint8_t number_of(const struct ty_arch *arch, uint32_t blocks)
{
    uint8_t i = 0;
    while (i < arch->n_patterns && arch->patterns[i] != blocks) {
        i++;
    }
    return i;
}

bool ty_arch_has_block(const struct ty_arch *arch, uint32_t blocks)
{
    uint32_t all = arch->n_patterns == 0 ? ty_arch_blocks(arch, 0) | TY_HAS_ATTENTION : 0;
    for (uint32_t i = 0; i < arch->n_patterns; i++) {
        all |= arch->patterns[i];
    }
    return (all & blocks) != 0;
}

char *ty_arch_block_letters(const struct ty_arch *arch, uint32_t layer, char buf[TY_BLOCK_LETTERS])
{
    const uint32_t blocks = arch->n_patterns > 0 ? ty_arch_blocks(arch, layer) : 0;
    size_t n = 0;
    for (size_t i = 0; i < TY_COUNT(letters); i++) {
        if ((blocks & letters[i].block) != 0) {
            buf[n++] = letters[i].letter;
        }
    }
    buf[n] = '\0';
    return buf;
}

/* ---- checks ---- */

/* What is wrong with the letters of a layer; NULL: nothing. */
static const char *wrong(const char *text, size_t length)
{
    uint32_t blocks = 0;
    for (size_t i = 0; i < length; i++) {
        const uint32_t block = block_of(text[i]);
        if (block == 0) {
            return "has a letter that is no block";
        }
        if ((blocks & block) != 0) {
            return "has a block twice";
        }
        if ((blocks & TY_HAS_FFN) != 0) {
            return "has something behind its MLP or experts, which come last";
        }
        blocks |= block;
    }
    return NULL;
}

static int find_patterns(struct ty_arch *arch, const struct ty_section *section, struct ty_err *err)
{
    size_t length = 0;
    const char *text;
    for (uint32_t i = 0; (text = word(&arch->layer_pattern, i, &length)) != NULL; i++) {
        const char *why = wrong(text, length);
        if (why != NULL) {
            return ty_check_fail(section, "layer_pattern", err,
                                 "layer %u (%.*s) %s; letters are " TY_LETTERS_TEXT, (unsigned)i,
                                 (int)length, text, why);
        }
        const uint32_t blocks = blocks_of(text, length);
        const uint8_t number = number_of(arch, blocks);
        if (number == TY_LAYER_KINDS || i == TY_PATTERN_WORDS) {
            return ty_check_fail(section, "layer_pattern", err, "has more than %u %s; write fewer",
                                 (unsigned)(i == TY_PATTERN_WORDS ? i : number),
                                 i == TY_PATTERN_WORDS ? "layers" : "kinds of layers");
        }
        if (number == arch->n_patterns) {
            arch->patterns[arch->n_patterns++] = blocks;
        }
        arch->word[arch->n_words++] = number;
    }
    return 0;
}

/* Weights that are shared: of attention without latents and of dense MLPs, all of them trained. */
static int check_shared(const struct ty_arch *arch, const struct ty_section *section,
                        struct ty_err *err)
{
    uint32_t uses = 0;
    for (uint32_t i = 0; i < arch->layers; i++) {
        uses += (ty_arch_blocks(arch, i) & TY_HAS_ATTENTION) != 0;
    }
    const char *what = ty_arch_is_moe(arch)                       ? "experts"
                       : ty_arch_is_latent(arch)                  ? "latent attention"
                       : arch->lora.rank > 0 || arch->frozen != 0 ? "frozen weights"
                                                                  : NULL;
    if (what != NULL) {
        return ty_check_fail(section, "shared_blocks", err,
                             "%u: %s beside weights that layers share: that is not simulated; "
                             "write none",
                             (unsigned)arch->shared_blocks, what);
    }
    return arch->shared_blocks <= uses
               ? 0
               : ty_check_fail(section, "shared_blocks", err,
                               "%u is more than the layers with attention (%u), which share them; "
                               "write %u or less",
                               (unsigned)arch->shared_blocks, (unsigned)uses, (unsigned)uses);
}

/* What blocks need, and keys that no block reads. */
static int check_needs(struct ty_arch *arch, const struct ty_section *section, struct ty_err *err)
{
    static const struct {
        const char *key;
        uint32_t blocks;
    } needed[] = {{"state_heads", TY_HAS_SCAN},
                  {"state_head_dim", TY_HAS_SCAN},
                  {"state_size", TY_HAS_SCAN},
                  {"state_conv", TY_HAS_CONVOLUTION},
                  {"state_rank", TY_HAS_KDA | TY_HAS_SELECTIVE | TY_HAS_RWKV}};
    const bool state = ty_arch_has_block(arch, TY_HAS_SCAN);
    const bool experts = ty_arch_has_block(arch, TY_HAS_EXPERTS);
    int rc = 0;
    if (experts != ty_arch_is_moe(arch)) {
        rc = ty_check_fail(section, experts ? "layer_pattern" : "experts", err,
                           experts ? "has experts (E), and model.experts is 0; write how many"
                                   : "no layer of model.layer_pattern has them; write E for some");
    }
    for (size_t i = 0; i < TY_COUNT(needed); i++) {
        if (ty_arch_has_block(arch, needed[i].blocks) &&
            ty_field_is_blank(section, ty_section_field(section, needed[i].key))) {
            rc = ty_check_first(rc, ty_check_fail(section, "layer_pattern", err,
                                                  "has layers with a state; write a model.%s for "
                                                  "them",
                                                  needed[i].key));
        }
    }
    arch->state_groups = arch->state_groups == 0 ? arch->state_heads : arch->state_groups;
    if (rc == 0 && state && arch->state_heads % arch->state_groups != 0) {
        rc = ty_check_fail(section, "state_groups", err,
                           "%u does not divide model.state_heads (%u); try %u",
                           (unsigned)arch->state_groups, (unsigned)arch->state_heads,
                           (unsigned)ty_check_divisor(arch->state_heads, arch->state_groups));
    }
    if (rc == 0 && arch->state_chunk > arch->sequence) {
        rc = ty_check_fail(section, "state_chunk", err,
                           "%u is more than model.sequence (%u); write less, or auto",
                           (unsigned)arch->state_chunk, (unsigned)arch->sequence);
    }
    if (rc == 0 && arch->shared_blocks > 0) {
        rc = check_shared(arch, section, err);
    }
    if (rc == 0 && arch->first_rank > arch->state_rank) {
        rc = ty_check_fail(section, "first_rank", err,
                           "%u is more than model.state_rank (%u), of which it is a part",
                           (unsigned)arch->first_rank, (unsigned)arch->state_rank);
    }
    return rc;
}

int ty_arch_finish_pattern(struct ty_arch *arch, const struct ty_section *section,
                           struct ty_err *err)
{
    arch->n_patterns = arch->n_words = 0;
    const int rc = find_patterns(arch, section, err);
    if (rc < 0 || arch->n_words == 0) {
        return rc;
    }
    if (arch->layers % arch->n_words != 0) {
        return ty_check_fail(section, "layer_pattern", err,
                             "has %u layers, of which model.layers (%u) is no multiple; write all "
                             "of them, or layers: %u",
                             (unsigned)arch->n_words, (unsigned)arch->layers,
                             (unsigned)arch->n_words);
    }
    if (arch->block == TY_BLOCK_PARALLEL) {
        return ty_check_fail(section, "block", err,
                             "parallel: a layer_pattern says which blocks stand side by side; "
                             "write serial");
    }
    return check_needs(arch, section, err);
}
