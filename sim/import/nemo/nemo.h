/* nemo.h - what the files that read NeMo share: YAML of its launcher and of runs, and
 * neuronx-distributed-training, which kept the words.
 *
 * Their words are fields of Megatron-Core, as Megatron-LM's flags are: they become these flags, and
 * what flags mean is found out once (sim/import/megatron). */
#ifndef TY_IMPORT_NEMO_NEMO_H
#define TY_IMPORT_NEMO_NEMO_H

#include "sim/import/megatron/megatron.h"
#include "sim/import/words.h"

/* omega.c: puts values in the place of ${...} in words of a document; what is not in it stays in
 * doubt. */
void ty_nemo_resolve(struct ty_flags *words, const struct ty_doc *doc);

/* model.c: flags of the lines of a section `model`. */
void ty_nemo_lines(struct ty_megatron *m, const char *lines, const struct ty_draft_from *from);

/* words.c: words become flags; those that do not are idle, remarked or unknown. */
void ty_nemo_words(struct ty_megatron *m, struct ty_flags *words);

#endif
