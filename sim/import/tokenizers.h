/* tokenizers.h - how many words the tokenizers of published models have. Scripts name them by a
 * file, a folder or a repository; the number is in the tokenizer alone. */
#ifndef TY_IMPORT_TOKENIZERS_H
#define TY_IMPORT_TOKENIZERS_H

#include <stdint.h>

/* Words of the tokenizer that a name has in it, in any case: "meta-llama/Llama-3.1-8B" has 128256;
 * 0: none is known by it. `whose` is for messages: "Llama 3's". */
uint32_t ty_tokenizer_words(const char *name, const char **whose);

#endif
