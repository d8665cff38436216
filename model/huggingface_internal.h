/* huggingface_internal.h - for the files that read a Hugging Face config.json; see arch.h. */
#ifndef TY_MODEL_HUGGINGFACE_INTERNAL_H
#define TY_MODEL_HUGGINGFACE_INTERNAL_H

#include "model/arch.h"
#include "sim/document/yaml.h"

struct ty_hf_reader {
    struct ty_doc doc;
    struct ty_arena *arena;
    struct ty_err *err;
    const char *text; /* of the model section, so far */
    int code;
    const char *asked[128]; /* [n_asked]: keys that somebody has looked for */
    uint32_t n_asked;
};

/* The value of a key, "a.b" that of b in the mapping a; NULL when it is missing or null. */
const struct ty_node *ty_hf_value(struct ty_hf_reader *r, const char *key);

/* Reports what is wrong with the value of a key; without one at the start of the file. */
void ty_hf_fail(struct ty_hf_reader *r, const struct ty_node *node, const char *key,
                const char *what);

/* Appends "key: value". */
void ty_hf_put(struct ty_hf_reader *r, const char *key, const char *value);

/* A JSON number: a whole one, or one with a point. */
bool ty_hf_is_number(const struct ty_node *node, bool whole);

/* A whole number, or one of so many equal parts of it, under another name. */
void ty_hf_number(struct ty_hf_reader *r, const char *to, const char *from, bool needed,
                  unsigned long parts);

bool ty_hf_flag(struct ty_hf_reader *r, const char *key, bool otherwise);

/* ---- huggingface_sparse.c ---- */

/* Which keys a family with experts has for them. */
struct ty_hf_experts {
    const char *experts, *per_token, *width;
    const char *n_shared, *shared_width; /* so many of that width; or of this together */
    bool shared_gate, sinks, router_bias, latent;
};
extern const struct ty_hf_experts ty_hf_mixtral, ty_hf_qwen2_moe, ty_hf_qwen3_moe, ty_hf_deepseek,
    ty_hf_gpt_oss, ty_hf_olmoe, ty_hf_dbrx;

void ty_hf_convert_sparse(struct ty_hf_reader *r, const struct ty_hf_experts *experts);

/* Which layers have the window: the period at which one has none. `alternate`: every other, where
 * the file does not say. False: none has it. */
bool ty_hf_window_period(struct ty_hf_reader *r, bool alternate);

/* Lines about keys that nobody has asked for and that may be about the shape; NULL: there are
 * none. */
const char *ty_hf_unknown(struct ty_hf_reader *r);

#endif
