/* huggingface_names.c - names of families: model types and classes, and those that are refused. */
#include <ctype.h>
#include <string.h>

#include "model/huggingface_internal.h"

/* ---- what is refused ---- */

const struct ty_hf_refusal ty_hf_refusals[] = {
    {"mamba falcon_mamba rwkv rwkv5 rwkv6 xlstm retnet", "a recurrent model without attention"},
    {"zamba plamo2 hymba samba phi4flash nemotron_h_puzzle",
     "its layers of Mamba are of the first kind, or share weights"},
    {"recurrent_gemma", "recurrent layers are not simulated"},
    {"olmo_hybrid bailing_moe_linear bailing_hybrid", "linear attention is not simulated"},
    {"deepseek_v4", "sparse attention to compressed keys is not simulated"},
    {"nemotron-nas deci decilm openelm",
     "its layers differ in width; a model of equal layers can be "
     "simulated"},
    {"gemma3n gemma3n_text gemma4 gemma4_text",
     "its layers differ in heads, or share keys and values, or have inputs of their own"},
    {"mimo_v2_flash step3p5", "its layers differ in heads"},
    {"step3 step3_text step3_vl", "attention with factorized matrices is not simulated"},
    {"longcat_flash", "layers with two attention blocks and experts that do nothing are not "
                      "simulated"},
    {"afmoe", "gates behind attention are not simulated"},
    {"arctic", "an MLP beside the experts of a layer is not simulated"},
    {"jetmoe", "a mixture of attention heads is not simulated"},
    {"bitnet", "norms within attention and MLP are not simulated"},
    {"apertus", "an activation with parameters is not simulated"},
    {"diffllama doge", "attention with further parameters is not simulated"},
    {"mllama mllama_text_model", "layers of attention to images are not simulated"},
    {"openai-gpt ctrl", "a model without a norm before each block is not simulated"},
    {"t5 mt5 umt5 longt5 bart mbart pegasus pegasus_x marian m2m_100 nllb_moe nllb-moe "
     "switch_transformers led blenderbot prophetnet t5gemma whisper speech_to_text "
     "encoder-decoder vision-encoder-decoder seamless_m4t",
     "a model of encoder and decoder"},
    {"bert roberta xlm-roberta xlm-roberta-xl distilbert albert electra deberta deberta-v2 "
     "modernbert mpnet camembert funnel longformer big_bird esm ernie nomic_bert xlnet xlm "
     "megatron-bert roformer",
     "an encoder; decoders that predict the next token are simulated"},
    {"vit clip siglip dinov2 beit swin wav2vec2 hubert", "no language model"},
    {.model_types = NULL},
};

/* ---- names ---- */

/* Whether two names are the same but for case, _ and -. */
static bool same_name(const char *a, size_t n, const char *b, size_t m)
{
    size_t i = 0, k = 0;
    for (;;) {
        while (i < n && (a[i] == '_' || a[i] == '-')) {
            i++;
        }
        while (k < m && (b[k] == '_' || b[k] == '-')) {
            k++;
        }
        if (i == n || k == m) {
            return i == n && k == m;
        }
        if (tolower((unsigned char)a[i++]) != tolower((unsigned char)b[k++])) {
            return false;
        }
    }
}

/* Whether words with spaces between have a name. */
static bool has_word(const char *words, const char *name, size_t length)
{
    while (words != NULL && *words != '\0') {
        const size_t n = strcspn(words, " ");
        if (same_name(words, n, name, length)) {
            return true;
        }
        words += n + (words[n] == ' ');
    }
    return false;
}

const char *ty_hf_refused(const char *model_type, size_t length)
{
    for (const struct ty_hf_refusal *row = ty_hf_refusals; row->model_types != NULL; row++) {
        if (has_word(row->model_types, model_type, length)) {
            return row->why;
        }
    }
    return NULL;
}

size_t ty_hf_class_stem(const char *name)
{
    static const char *const ends[] = {"For", "LMHead", "Model"};
    size_t stem = strlen(name);
    for (size_t i = 0; i < TY_COUNT(ends); i++) {
        const char *end = strstr(name, ends[i]);
        const size_t at = end != NULL ? (size_t)(end - name) : 0;
        stem = at > 0 && at < stem ? at : stem;
    }
    return stem;
}

bool ty_hf_is_class(const struct ty_hf_family *family, const char *name)
{
    const size_t stem = ty_hf_class_stem(name);
    return same_name(family->model_type, strlen(family->model_type), name, stem) ||
           has_word(family->classes, name, stem);
}

const struct ty_hf_family *ty_hf_family_of_class(const char *name)
{
    for (const struct ty_hf_family *row = ty_hf_families; row->model_type != NULL; row++) {
        if (ty_hf_is_class(row, name)) {
            return row;
        }
    }
    return NULL;
}

const struct ty_hf_family *ty_hf_family_of_type(const char *model_type)
{
    for (const struct ty_hf_family *row = ty_hf_families; row->model_type != NULL; row++) {
        if (strcmp(row->model_type, model_type) == 0) {
            return row;
        }
    }
    return NULL;
}
