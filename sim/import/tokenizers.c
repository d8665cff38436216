/* tokenizers.c - see tokenizers.h. Words with special and added ones, as len(tokenizer) counts
 * them: that is what training frameworks pad. The config.json of a model often has more, padded
 * rows. Sources: tokenizer.json and tokenizer_config.json beside the weights of each. */
#include "sim/import/tokenizers.h"

#include <string.h>
#include <strings.h>

#include "sim/base/compiler.h"

/* The first row whose text a name has counts: longer names come before those that they have in
 * them. */
static const struct {
    const char *has;
    uint32_t words;
    const char *whose;
} tokenizers[] = {
    {"nemotron_2_256k", 256000, "Nemotron's of 256k words"},
    {"nemotron-4", 256000, "Nemotron-4's"},
    {"minitron", 256000, "Nemotron-4's"},
    {"codellama", 32016, "Code Llama's"},
    {"llama-4", 201135, "Llama 4's"},
    {"llama4", 201135, "Llama 4's"},
    {"llama-3", 128256, "Llama 3's"},
    {"llama3", 128256, "Llama 3's"},
    {"llama_3", 128256, "Llama 3's"},
    {"mixtral", 32000, "Mixtral's"},
    {"mistral-nemo", 131072, "Mistral NeMo's"},
    {"mistral-small-24b", 131072, "Mistral Small's"},
    {"mistral-7b-v0.3", 32768, "Mistral 7B's of v0.3"},
    {"mistral-7b-instruct-v0.3", 32768, "Mistral 7B's of v0.3"},
    {"mistral", 32000, "Mistral's"},
    {"vicuna", 32000, "Llama 2's"},
    {"llama", 32000, "Llama 2's"},
    {"qwen2.5", 151665, "Qwen 2.5's"},
    {"qwen3", 151669, "Qwen 3's"},
    {"qwen2", 151646, "Qwen 2's"},
    {"qwen1.5", 151646, "Qwen 1.5's"},
    {"deepseek-v3", 128815, "DeepSeek-V3's"},
    {"deepseek-r1", 128815, "DeepSeek-V3's"},
    {"deepseek-v2", 100015, "DeepSeek-V2's"},
    {"kimi-k2", 163840, "Kimi K2's"},
    {"moonlight", 163840, "Moonlight's"},
    {"gemma-3", 262145, "Gemma 3's"},
    {"gemma", 256000, "Gemma's"},
    {"falcon", 65024, "Falcon's"},
    {"starcoder", 49152, "StarCoder's"},
    {"smollm", 49152, "SmolLM's"},
    {"cosmo2", 49152, "SmolLM's"},
    {"internlm2", 92544, "InternLM2's"},
    {"baichuan2", 125696, "Baichuan 2's"},
    {"baichuan", 64000, "Baichuan's"},
    {"yi-6b", 64000, "Yi's"},
    {"yi-9b", 64000, "Yi's"},
    {"yi-34b", 64000, "Yi's"},
    {"gpt-neox", 50277, "GPT-NeoX-20B's"},
    {"20b_tokenizer", 50277, "GPT-NeoX-20B's"},
    {"pythia", 50277, "GPT-NeoX-20B's"},
    {"t5-small", 32100, "T5's"},
    {"t5-base", 32100, "T5's"},
    {"t5-large", 32100, "T5's"},
    {"bigscience", 250680, "BLOOM's"},
    {"bloom", 250680, "BLOOM's"},
    {"tiktokenizer", 131072, "its default, 2^17"},
    {"gpt2", 50257, "GPT-2's"},
    {"gpt-2", 50257, "GPT-2's"},
};

static int has(const char *text, const char *part)
{
    const size_t n = strlen(part);
    for (; *text != '\0'; text++) {
        if (strncasecmp(text, part, n) == 0) {
            return 1;
        }
    }
    return 0;
}

uint32_t ty_tokenizer_words(const char *name, const char **whose)
{
    for (size_t i = 0; i < TY_COUNT(tokenizers); i++) {
        if (has(name, tokenizers[i].has)) {
            *whose = tokenizers[i].whose;
            return tokenizers[i].words;
        }
    }
    return 0;
}
