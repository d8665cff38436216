/* huggingface.h - the model of a Hugging Face config.json, for readers of other files beside it. */
#ifndef TY_IMPORT_HUGGINGFACE_H
#define TY_IMPORT_HUGGINGFACE_H

#include "sim/import/draft.h"

/* Sets the section `model` as model.huggingface would, the file as its source. */
void ty_huggingface_import(struct ty_draft *draft, const struct ty_draft_file *file);

#endif
