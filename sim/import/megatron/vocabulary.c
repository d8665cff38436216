/* vocabulary.c - rows of the embedding: words of the tokenizer, padded so that tensor
 * ranks get equal shares: ceil(V / (n tp)) n tp. So parameters change with the layout. */
#include "sim/base/number_text.h"
#include "sim/import/megatron/megatron.h"
#include "sim/import/tokenizers.h"

#define DIVISOR 128u

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
        const uint32_t n = name != NULL ? ty_tokenizer_words(name, source) : 0;
        if (n > 0) {
            *from = ty_flags_from(&m->flags, names[i], "");
            return n;
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
