"""How many words the tokenizers of published models have. Scripts name them by a file, a folder or a
repository; the number is in the tokenizer alone, which is never opened.

Words with special and added ones, as len(tokenizer) counts them: that is what training frameworks
pad. No tokenizer's own files were looked at. "config" is the vocab_size of the model's config.json,
which may have padded rows, too; rows without a word behind are of published jobs whose right answers
are known; the rest is from memory, and is told so.
"""
from typing import Tuple

# The first row whose text a name has counts: longer names come before those that they have in them.
ROWS = [row.strip().rsplit(" | ", 2) for row in """
    nemotron_2_256k | 256000 | a guess by its name
    nemotron-4, minitron | 256000 | Nemotron-4's memory
    codellama | 32016 | Code Llama's memory
    llama-4, llama4 | 201135 | Llama 4's memory
    llama-3, llama3, llama_3 | 128256 | Llama 3's
    mixtral | 32000 | Mixtral's config
    mistral-nemo | 131072 | Mistral NeMo's memory
    mistral-small-24b | 131072 | Mistral Small's memory
    mistral-7b-v0.3, mistral-7b-instruct-v0.3 | 32768 | Mistral 7B's of v0.3 config
    mistral | 32000 | Mistral's memory
    vicuna | 32000 | Llama 2's memory
    llama | 32000 | Llama 2's
    qwen2.5 | 151665 | Qwen 2.5's memory
    qwen3 | 151669 | Qwen 3's memory
    qwen2 | 151646 | Qwen 2's memory
    qwen1.5 | 151646 | Qwen 1.5's memory
    deepseek-v3, deepseek-r1 | 128815 | DeepSeek-V3's memory
    deepseek-v2 | 100015 | DeepSeek-V2's memory
    kimi-k2 | 163840 | Kimi K2's config
    moonlight | 163840 | Moonlight's memory
    gemma-3 | 262145 | Gemma 3's memory
    gemma | 256000 | Gemma's config
    falcon | 65024 | Falcon's config
    starcoder | 49152 | StarCoder's config
    smollm, cosmo2 | 49152 | SmolLM's memory
    internlm2 | 92544 | InternLM2's config
    baichuan2 | 125696 | Baichuan 2's memory
    baichuan | 64000 | Baichuan's memory
    yi-6b, yi-9b, yi-34b | 64000 | Yi's memory
    gpt-neox, 20b_tokenizer, pythia | 50277 | GPT-NeoX-20B's memory
    t5-small, t5-base, t5-large | 32100 | T5's memory
    bigscience, bloom | 250680 | BLOOM's memory
    tiktokenizer | 131072 | its default, 2^17 memory
    gpt2, gpt-2 | 50257 | GPT-2's
""".strip().splitlines()]
SURE = {" config": ", by its config.json", " memory": ", from memory"}


def words_of(name: str) -> Tuple[int, str]:
    """Words of the tokenizer that a name has in it, in any case, and whose it is, for messages;
    "meta-llama/Llama-3.1-8B" has 128256; 0: none is known by it."""
    for parts, words, whose in ROWS:
        if any(part in name.lower() for part in parts.split(", ")):
            for word, said in SURE.items():
                whose = whose[:-len(word)] + said if whose.endswith(word) else whose
            return int(words), whose
    return 0, ""
