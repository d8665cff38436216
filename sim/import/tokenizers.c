/* tokenizers.c - see tokenizers.h. Words with special and added ones, as len(tokenizer) counts
 * them: that is what training frameworks pad. No tokenizer's own files were looked at. CONFIG is
 * the vocab_size of the model's config.json, which may have padded rows, too; rows with neither
 * word are of published jobs whose right answers are known; the rest is from memory, and is told
 * so. */
#include "sim/import/tokenizers.h"

#include <string.h>
#include <strings.h>

#include "sim/base/compiler.h"

#define MEMORY ", from memory"
#define CONFIG ", by its config.json"

/* The first row whose text a name has counts: longer names come before those that they have in
 * them. */
static const struct {
    const char *has;
    uint32_t words;
    const char *whose;
} tokenizers[] = {
    {"nemotron_2_256k", 256000, "a guess by its name"},
    {"nemotron-4", 256000, "Nemotron-4's" MEMORY},
    {"minitron", 256000, "Nemotron-4's" MEMORY},
    {"codellama", 32016, "Code Llama's" MEMORY},
    {"llama-4", 201135, "Llama 4's" MEMORY},
    {"llama4", 201135, "Llama 4's" MEMORY},
    {"llama-3", 128256, "Llama 3's"},
    {"llama3", 128256, "Llama 3's"},
    {"llama_3", 128256, "Llama 3's"},
    {"mixtral", 32000, "Mixtral's" CONFIG},
    {"mistral-nemo", 131072, "Mistral NeMo's" MEMORY},
    {"mistral-small-24b", 131072, "Mistral Small's" MEMORY},
    {"mistral-7b-v0.3", 32768, "Mistral 7B's of v0.3" CONFIG},
    {"mistral-7b-instruct-v0.3", 32768, "Mistral 7B's of v0.3" CONFIG},
    {"mistral", 32000, "Mistral's" MEMORY},
    {"vicuna", 32000, "Llama 2's" MEMORY},
    {"llama", 32000, "Llama 2's"},
    {"qwen2.5", 151665, "Qwen 2.5's" MEMORY},
    {"qwen3", 151669, "Qwen 3's" MEMORY},
    {"qwen2", 151646, "Qwen 2's" MEMORY},
    {"qwen1.5", 151646, "Qwen 1.5's" MEMORY},
    {"deepseek-v3", 128815, "DeepSeek-V3's" MEMORY},
    {"deepseek-r1", 128815, "DeepSeek-V3's" MEMORY},
    {"deepseek-v2", 100015, "DeepSeek-V2's" MEMORY},
    {"kimi-k2", 163840, "Kimi K2's" CONFIG},
    {"moonlight", 163840, "Moonlight's" MEMORY},
    {"gemma-3", 262145, "Gemma 3's" MEMORY},
    {"gemma", 256000, "Gemma's" CONFIG},
    {"falcon", 65024, "Falcon's" CONFIG},
    {"starcoder", 49152, "StarCoder's" CONFIG},
    {"smollm", 49152, "SmolLM's" MEMORY},
    {"cosmo2", 49152, "SmolLM's" MEMORY},
    {"internlm2", 92544, "InternLM2's" CONFIG},
    {"baichuan2", 125696, "Baichuan 2's" MEMORY},
    {"baichuan", 64000, "Baichuan's" MEMORY},
    {"yi-6b", 64000, "Yi's" MEMORY},
    {"yi-9b", 64000, "Yi's" MEMORY},
    {"yi-34b", 64000, "Yi's" MEMORY},
    {"gpt-neox", 50277, "GPT-NeoX-20B's" MEMORY},
    {"20b_tokenizer", 50277, "GPT-NeoX-20B's" MEMORY},
    {"pythia", 50277, "GPT-NeoX-20B's" MEMORY},
    {"t5-small", 32100, "T5's" MEMORY},
    {"t5-base", 32100, "T5's" MEMORY},
    {"t5-large", 32100, "T5's" MEMORY},
    {"bigscience", 250680, "BLOOM's" MEMORY},
    {"bloom", 250680, "BLOOM's" MEMORY},
    {"tiktokenizer", 131072, "its default, 2^17" MEMORY},
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
