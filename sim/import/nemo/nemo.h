/* nemo.h - what the files that read NeMo share: YAML of its launcher and of runs, recipes in
 * Python, and neuronx-distributed-training, which kept the words.
 *
 * Their words are fields of Megatron-Core, as Megatron-LM's flags are: they become these flags, and
 * what flags mean is found out once (sim/import/megatron). */
#ifndef TY_IMPORT_NEMO_NEMO_H
#define TY_IMPORT_NEMO_NEMO_H

#include "sim/import/megatron/megatron.h"
#include "sim/import/words.h"

#define TY_NEMO_MODEL "model name" /* the word for what a recipe calls its model */

/* omega.c: puts values in the place of ${...} in words of a document; what is not in it stays in
 * doubt. */
void ty_nemo_resolve(struct ty_flags *words, const struct ty_doc *doc);

/* python.c: the settings of a recipe, read and never run, as words. */
void ty_nemo_python(struct ty_flags *words, const struct ty_draft_file *file);

/* model.c: flags of a model that is named; of the lines of a section `model`. */
void ty_nemo_named(struct ty_megatron *m, const char *name, const struct ty_draft_from *from);
void ty_nemo_lines(struct ty_megatron *m, const char *lines, const struct ty_draft_from *from);

/* words.c: words become flags; those that do not are idle, remarked or unknown. */
void ty_nemo_words(struct ty_megatron *m, struct ty_flags *words);

#endif
