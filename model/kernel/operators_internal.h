/* operators_internal.h - shared by the reader of a table of kernels and its lookup. */
#ifndef TY_MODEL_OPERATORS_INTERNAL_H
#define TY_MODEL_OPERATORS_INTERNAL_H

#include "model/kernel/operators.h"

/* The kernels told apart of this operator, or NULL. */
const struct ty_word *ty_operator_kernel_words(int op);

/* An order of keys. */
int ty_operator_key_compare(const struct ty_operator_key *a, const struct ty_operator_key *b);

#endif
