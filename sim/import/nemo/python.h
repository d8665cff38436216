/* python.h - the words of a file in Python, as far as settings are concerned. */
#ifndef TY_IMPORT_NEMO_PYTHON_H
#define TY_IMPORT_NEMO_PYTHON_H

#include "sim/import/nemo/nemo.h"

enum ty_python_kind {
    TY_PYTHON_NAME,   /* with its points: cfg.model.num_layers */
    TY_PYTHON_NUMBER, /* as it stands, 1_024 */
    TY_PYTHON_STRING, /* without its quotes */
    TY_PYTHON_OTHER,  /* one character, but "==" and the like are one */
    TY_PYTHON_LINE    /* the end of a line outside of brackets */
};
struct ty_python_token {
    enum ty_python_kind kind;
    const char *text;
    uint32_t line, col;
    uint32_t depth; /* brackets around it; of a closing one those around the pair */
};

/* The tokens of a file, without comments, and how many; NULL: refused. */
const struct ty_python_token *ty_python_tokens(struct ty_draft *draft,
                                               const struct ty_draft_file *file, uint32_t *n);

#endif
