/* vocabulary.c - rows of the embedding: words of the tokenizer, padded so that tensor
 * ranks get equal shares: ceil(V / (n tp)) n tp. So parameters change with the layout. */
#include <string.h>
#include <strings.h>

#include "sim/base/number_text.h"
#include "sim/import/megatron/megatron.h"

#define DIVISOR 128u

/* Words of tokenizers, by what their type, file or name has in it; the first that fits counts. */
static const struct {
    const char *has;
    uint32_t words;
    const char *source;
} tokenizers[] = {
    {"nemotron_2_256k", 256000, "Nemotron's of 256k words"},
    {"llama-3", 128256, "Llama 3's"},
    {"llama3", 128256, "Llama 3's"},
    {"llama_3", 128256, "Llama 3's"},
    {"mixtral", 32000, "Mixtral's"},
    {"mistral", 32000, "Mistral's"},
    {"llama", 32000, "Llama 2's"},
    {"qwen2.5", 151665, "Qwen 2.5's"},
    {"qwen3", 151669, "Qwen 3's"},
    {"qwen2", 151646, "Qwen 2's"},
    {"deepseek-v3", 128815, "DeepSeek-V3's"},
    {"deepseek-v2", 100015, "DeepSeek-V2's"},
    {"t5-small", 32100, "T5's"},
    {"bigscience", 250680, "BLOOM's"},
    {"bloom", 250680, "BLOOM's"},
    {"tiktokenizer", 131072, "its default, 2^17"},
    {"gpt2", 50257, "GPT-2's"},
    {"gpt-2", 50257, "GPT-2's"},
};

static bool has(const char *text, const char *part)
{
    const size_t n = strlen(part);
    for (; text != NULL && *text != '\0'; text++) {
        if (strncasecmp(text, part, n) == 0) {
            return true;
        }
    }
    return false;
}

/* What a flag says as far as it can be read: a folder in it may be unknown. */
static const char *read_of(const struct ty_megatron *m, const char *flag)
{
    const struct ty_flag *f = ty_flags_find(&m->flags, flag);
    return f != NULL && f->n_values > 0 ? f->values[0].text : NULL;
}

/* Words of the tokenizer that the flags name; 0: none is known by that name. */
static uint32_t words_of(struct ty_megatron *m, struct ty_draft_from *from, const char **source)
{
    static const char *const names[] = {"--tokenizer-name-or-path", "--tokenizer-model",
                                        "--vocab-file", "--patch-tokenizer-type",
                                        "--tokenizer-type"};
    for (size_t i = 0; i < TY_COUNT(names); i++) {
        const char *name = read_of(m, names[i]);
        for (size_t k = 0; k < TY_COUNT(tokenizers); k++) {
            if (has(name, tokenizers[k].has)) {
                *from = ty_flags_from(&m->flags, names[i], "");
                *source = tokenizers[k].source;
                return tokenizers[k].words;
            }
        }
    }
    /* files of a byte-pair encoding, or nothing at all: GPT2BPETokenizer was the default */
    const char *type = read_of(m, "--tokenizer-type");
    if (ty_flags_find(&m->flags, "--merge-file") != NULL || type == NULL) {
        *from = ty_flags_from(&m->flags, "--vocab-file", "guess");
        *source = "a guess: GPT-2's byte pairs";
        return 50257;
    }
    return 0;
}

static uint32_t words(struct ty_megatron *m, struct ty_draft_from *from, const char **source)
{
    static const char option[] = "VOCAB_SIZE";
    const char *given = ty_draft_env(m->draft, option);
    uint32_t n = 0;
    *source = "";
    if (ty_flags_has(&m->flags, "--vocab-size")) {
        *from = ty_flags_from(&m->flags, "--vocab-size", "");
        return ty_flags_count(&m->flags, "--vocab-size", 0);
    }
    if (given != NULL && ty_scan_number(&given, NULL, 100000000, &n) && *given == '\0') {
        *from = (struct ty_draft_from){.word = "--env VOCAB_SIZE"};
        return n;
    }
    n = words_of(m, from, source);
    if (n > 0) {
        ty_draft_remark(m->draft, from,
                        "how many words the tokenizer has is in its files: %u, %s; "
                        "--env %s=N says it",
                        (unsigned)n, *source, option);
        return n;
    }
    *from = ty_flags_from(&m->flags, "--tokenizer-type", "guess");
    *source = "a guess";
    ty_draft_remark(m->draft, from,
                    "how many words the tokenizer has is in its files: 32000 is a guess; "
                    "--env %s=N says it",
                    option);
    return 32000;
}

void ty_megatron_vocabulary(struct ty_megatron *m)
{
    static const char *const whole[] = {"--padded-vocab-size", "--pad-vocab-size-to"};
    struct ty_flags *f = &m->flags;
    for (size_t i = 0; i < TY_COUNT(whole); i++) {
        if (ty_flags_has(f, whole[i])) {
            ty_flags_set_count(f, whole[i], "model.vocabulary");
            return;
        }
    }
    const uint64_t n = ty_flags_count(f, "--make-vocab-size-divisible-by", DIVISOR);
    const uint64_t step = n * ty_draft_count(m->draft, "layout.tensor", 1);
    struct ty_draft_from from = {.word = ""};
    const char *source = "";
    uint64_t rows = words(m, &from, &source);
    if (step > 0 && rows > 0) {
        rows = (rows + step - 1) / step * step;
    }
    ty_draft_set(m->draft, "model.vocabulary", &from, "%llu", (unsigned long long)rows);
    ty_draft_explain(m->draft, "model.vocabulary", "%s%sin whole %llu", source,
                     source[0] != '\0' ? ", " : "", (unsigned long long)step);
}
