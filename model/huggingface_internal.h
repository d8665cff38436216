/* huggingface_internal.h - for the files that read a Hugging Face config.json; see arch.h.
 *
 *     huggingface.c           the file: which family it is of, what is refused, the text it becomes
 *     huggingface_families.c  the table of families, with what single ones say in words of their
 *                             own
 *     huggingface_names.c     model types and classes, and those that are refused
 *     huggingface_hybrid.c    which block each layer has, where they differ
 *     huggingface_keys.c      values of keys, and keys that nobody understands */
#ifndef TY_MODEL_HUGGINGFACE_INTERNAL_H
#define TY_MODEL_HUGGINGFACE_INTERNAL_H

#include "model/arch.h"
#include "sim/document/yaml.h"

/* A key that somebody has looked for: of a constant text, so many letters. */
struct ty_hf_asked {
    const char *key;
    size_t length;
};

struct ty_hf_reader {
    struct ty_doc doc;
    const struct ty_node *root; /* of the decoder's keys: the document's, or a part of it */
    struct ty_arena *arena;
    struct ty_err *err;
    const char *text;    /* of the model section, so far */
    const char *remarks; /* lines, so far; NULL: none */
    int code;
    struct ty_hf_asked asked[256]; /* [n_asked] */
    uint32_t n_asked;
};

/* What the model section will say. 0 of a number: it says nothing of it. */
struct ty_hf_shape {
    unsigned long layers, hidden, heads, kv_heads, head_dim, ffn, vocabulary;
    unsigned long positions, sequence;
    bool gated, parallel, tied, head_bias, embedding_norm;
    unsigned norms;
    enum ty_norm_kind norm_kind;
    bool qk_norm;
    enum ty_qk_norm qk_norm_kind;
    int bias;              /* of enum ty_bias */
    double rotary;         /* share of a head */
    const char *dropout;   /* NULL: none */
    unsigned long experts; /* 0: layers have MLPs */
    unsigned long further; /* layers, beyond those that the file counts */
};

/* ---- families ---- */

/* Where the sizes are; NULL: the family has no such key. "a|b": a, else b; "a.b": b of the mapping
 * a. */
struct ty_hf_keys {
    const char *layers, *hidden, *heads, *kv_heads, *head_dim, *ffn, *vocabulary;
};

/* A key that is true where linear layers have biases, or where they have none. */
struct ty_hf_bias {
    const char *key;
    int bits; /* of enum ty_bias */
    bool without;
};

/* Which keys a family with experts has for them. */
struct ty_hf_experts {
    const char *experts, *per_token, *width;
    const char *n_shared, *shared_width; /* so many of that width; or of this together */
    const char *groups, *group_limit;
    bool shared_gate, sinks, router_bias, latent;
    bool indexed;  /* an indexer may choose keys */
    bool optional; /* a file that gives no number of them is of a model without */
};

/* Layers of several kinds, and the sizes of those that keep a state. */
struct ty_hf_hybrid {
    const char *types; /* the key of a text of letters, or of a list of words; */
    const char *every; /* where it is missing, of so many layers one has attention, */
    const char *which; /* this one, from 0 on; NULL: the last; */
    const char *at;    /* or the layers of a list have; without a key all have a state, */
    bool from_one;     /* such a list counts from 1 */
    bool beside;       /* next to which attention stands */
    char state;        /* the letter of layers that keep a state */
    bool alone;        /* a layer is one block; else an MLP or experts follow */
    const char *heads, *head_dim, *groups, *size, *conv;
};

/* What the class of a family has where a file says nothing. Sizes count in a decoder that is a part
 * of a file only: such parts are written without what is usual, whole files with all. */
struct ty_hf_defaults {
    unsigned long layers, hidden, heads, ffn, vocabulary;
    unsigned long kv_heads, head_dim, window;
};

/* Which of the layers of a family see the window, where no list says so. */
enum ty_hf_windows {
    TY_HF_WINDOWS_NONE,   /* whatever the key says */
    TY_HF_WINDOWS_ALL,    /* unless a key says that none does */
    TY_HF_WINDOWS_LATER,  /* those from max_window_layers on, where use_sliding_window says so */
    TY_HF_WINDOWS_PERIOD, /* of so many the last sees all tokens */
    TY_HF_WINDOWS_FIRST   /* of so many the first does */
};

/* A family; what is not there is as in llama: gated MLP, RMSNorm, no bias, output matrix of its
 * own. */
struct ty_hf_family {
    const char *model_type;
    const char *doc;     /* models of this type */
    const char *classes; /* beginnings of its classes' names in lower case, with spaces between,
                          * next to the model_type without _ */
    const struct ty_hf_keys *keys; /* NULL: llama's */
    const struct ty_hf_experts *experts;
    const struct ty_hf_hybrid *hybrid; /* NULL: all layers have attention */
    const struct ty_hf_bias *biases;   /* up to a NULL key; NULL: attention_bias and mlp_bias */
    const struct ty_hf_defaults *defaults;
    int bias;                    /* of enum ty_bias, where no key says */
    bool layer_norm;             /* a LayerNorm; else, */
    enum ty_norm_kind norm_kind; /* this kind; 0: RMSNorm */
    bool plain;                  /* the MLP has no gate */
    bool halved_ffn;             /* its width counts both halves: gate and up */
    bool tied;                   /* where tie_word_embeddings is missing */
    bool parallel, head_bias, embedding_norm;
    uint8_t norms; /* 0: as many as usual */
    bool qk_norm;  /* q and k have norms, of this kind */
    enum ty_qk_norm qk_norm_kind;
    const char *qk_key;    /* which says whether it has these norms; NULL: it has */
    bool qk_default;       /* what a missing one says */
    double rotary;         /* share of a head; 0: all of it; < 0: none, for ALiBi or no positions */
    const char *positions; /* the key of learned positions; NULL: it has none */
    unsigned more;         /* rows of their table beyond that */
    const char *dropout;   /* the key of dropout; NULL: none worth reading */
    const char *dropout_is; /* where it is missing; NULL: 0 */
    enum ty_hf_windows windows;
    uint8_t period; /* of layers, where no key says */
    /* what else it says; may fail */
    void (*special)(struct ty_hf_reader *r, struct ty_hf_shape *shape);
};
extern const struct ty_hf_family ty_hf_families[]; /* up to a NULL model_type */

/* Why models of these types are not simulated. */
struct ty_hf_refusal {
    const char *model_types; /* with spaces between */
    const char *why;
};
extern const struct ty_hf_refusal ty_hf_refusals[]; /* up to NULL */
/* The same of one; NULL: nothing is known of it. Case, _ and - do not count. */
const char *ty_hf_refused(const char *model_type, size_t length);

/* Which family a model_type names, or a class out of "architectures"; NULL: none that is known. */
const struct ty_hf_family *ty_hf_family_of_type(const char *model_type);
const struct ty_hf_family *ty_hf_family_of_class(const char *name);
/* Whether that class is one of this family. */
bool ty_hf_is_class(const struct ty_hf_family *family, const char *name);
/* Letters of a class that name its family: LlamaForCausalLM has 5. */
size_t ty_hf_class_stem(const char *name);

/* ---- keys ---- */

/* The value of a key of struct ty_hf_keys; NULL when it is missing or null. */
const struct ty_node *ty_hf_value(struct ty_hf_reader *r, const char *key);

/* Reports what is wrong with the value of a key; without one at the start of the file. */
void ty_hf_fail(struct ty_hf_reader *r, const struct ty_node *node, const char *key,
                const char *what);
/* A line of the remarks. */
void ty_hf_remark(struct ty_hf_reader *r, const struct ty_node *node, const char *key,
                  const char *what);

/* Appends "key: value". */
void ty_hf_put(struct ty_hf_reader *r, const char *key, const char *value);
void ty_hf_put_number(struct ty_hf_reader *r, const char *key, unsigned long value);
/* The same of a list of layers: those of [n] that `in` says. Nothing where there are none. */
void ty_hf_put_layers(struct ty_hf_reader *r, const char *key, const bool *in, unsigned long n);

/* A JSON number: a whole one, or one with a point. */
bool ty_hf_is_number(const struct ty_node *node, bool whole);

/* A whole number, or a list of equal ones (Hunyuan); `otherwise` where it is missing. */
unsigned long ty_hf_number(struct ty_hf_reader *r, const char *key, unsigned long otherwise);
/* One that must be there. */
unsigned long ty_hf_needed(struct ty_hf_reader *r, const char *key);

bool ty_hf_flag(struct ty_hf_reader *r, const char *key, bool otherwise);
bool ty_hf_is_text(struct ty_hf_reader *r, const char *key, const char *text);

/* The next key, after this one or the first, that nobody has asked for and that may be about the
 * shape; NULL: there are no more. */
const struct ty_node *ty_hf_unknown(struct ty_hf_reader *r, const struct ty_node *after);

/* ---- parts of the model section, each in a file of its own ---- */

/* huggingface_hybrid.c: sets which of so many layers have no experts: every key that a family has
 * for it takes them from some. */
void ty_hf_find_dense(struct ty_hf_reader *r, bool *dense, unsigned long layers);

/* The same file: model.layer_pattern, where `dense` says which layers have no experts, and
 * the sizes of layers with a state. False: no layer has one, and none of it is needed. */
bool ty_hf_put_hybrid(struct ty_hf_reader *r, const struct ty_hf_hybrid *x,
                      const struct ty_hf_shape *shape, const bool *dense);

#endif
