/* tokenizers.h - how many words the tokenizers of published models have. Scripts name them by a
 * file, a folder or a repository; the number is in the tokenizer alone, which is never opened. */
#ifndef TY_IMPORT_TOKENIZERS_H
#define TY_IMPORT_TOKENIZERS_H

#include <stdint.h>

/* Words of the tokenizer that a name has in it, in any case: "meta-llama/Llama-3.1-8B" has 128256;
 * 0: none is known by it. `whose` is for messages, and says when a number is not sure: "Llama 3's",
 * "Llama 4's, from memory". */
uint32_t ty_tokenizer_words(const char *name, const char **whose);

#endif
