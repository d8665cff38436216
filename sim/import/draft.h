/* draft.h - a run file under way: what was found in the files of another stack.
 *
 *     files ── a reader: shell, flags, JSON, TOML ──> facts: key, value, word, place
 *     facts ── draft_settle.c ──> cluster and world; what contradicts is refused
 *     facts ── draft_write.c ──> text of a run file, a comment at each value; read back by
 *                                ty_config_read, so that what is written always loads
 *
 * A reader is one file <stack>.c and a row of ty_importers. It says what a value is as a user
 * writes it; whether the value can be is the run file's to check. Whatever it reads ends as one of
 * four: a fact, a remark (it matters, and trainyard has no key for it), an idle word (learning
 * rates and paths have no part in a step), or an unknown word; nothing is dropped. */
#ifndef TY_IMPORT_DRAFT_H
#define TY_IMPORT_DRAFT_H

#include "sim/base/arena.h"
#include "sim/base/compiler.h"
#include "sim/base/err.h"
#include "sim/base/text.h"
#include "sim/trainyard.h"

/* A file that is read: its text is in the arena. */
struct ty_draft_file {
    const char *path; /* as given */
    const char *text; /* zero-terminated */
    size_t len;
};

/* Where something was said: the word ("--num-layers", "training.seq_len") and its place. A place
 * without a line names a rule or an option. */
struct ty_draft_from {
    const char *word;
    struct ty_place at;
};

struct ty_draft_fact {
    const char *key;   /* "layout.tensor" */
    const char *value; /* as a user writes it: "8", "[1, 2]", "dgx-h100" */
    struct ty_draft_from from;
    const char *remark; /* behind word and place in the comment; NULL: none */
};

struct ty_draft_note {
    struct ty_draft_from from;
    const char *text; /* of a remark; of an unknown word its value, or "" */
};

struct ty_draft_notes {
    struct ty_draft_note *item; /* [n] */
    uint32_t n, cap;
};

struct ty_draft {
    struct ty_arena *arena;
    struct ty_err *err;
    int code; /* of the first refusal */
    const struct ty_import_job_options *options;
    struct ty_draft_file *files; /* [n_files] those that were named */
    uint32_t n_files;

    struct ty_draft_fact *facts; /* [n_facts] each key once */
    uint32_t n_facts, cap_facts;
    struct ty_draft_notes remarks, unknown, idle;

    /* The world, which a reader says as far as its files do; 0: they do not. */
    uint32_t gpus, per_node;
    struct ty_draft_from gpus_from;
    const char *no_world; /* why it is not known, as a sentence goes on; NULL */
    const char *gpu;      /* what the files call the GPU ("h100"), or NULL */
    struct ty_draft_from gpu_from;
    bool half; /* no model: what comes out is an overlay for --with */
};

/* A stack that jobs are imported from. `read` finds facts in draft->files; it may go on after
 * refusals, so that all are told at once. */
struct ty_importer {
    const char *name, *title;
    void (*read)(struct ty_draft *draft);
};
extern const struct ty_importer *const ty_importers[]; /* ends with NULL */
extern const struct ty_importer ty_import_megatron, ty_import_deepspeed, ty_import_torchtitan,
    ty_import_nanotron, ty_import_accelerate, ty_import_huggingface, ty_import_nemo, ty_import_neox;

/* ---- what readers say ---- */

/* The value of a key, instead of any before it. Without a place: {.word = "as --swiglu has it"}. */
void ty_draft_set(struct ty_draft *draft, const char *key, const struct ty_draft_from *from,
                  const char *format, ...) TY_PRINTF(4, 5);

/* What is to stand behind the value's origin in the comment; the key has a value. */
void ty_draft_explain(struct ty_draft *draft, const char *key, const char *format, ...)
    TY_PRINTF(3, 4);

/* The value of a key, or NULL; as a whole number, or `otherwise` where it is none. */
const struct ty_draft_fact *ty_draft_get(const struct ty_draft *draft, const char *key);
uint32_t ty_draft_count(const struct ty_draft *draft, const char *key, uint32_t otherwise);
bool ty_draft_is(const struct ty_draft *draft, const char *key, const char *value);

/* It matters to a step, and this is what became of it: no key, a guess, a contradiction. */
void ty_draft_remark(struct ty_draft *draft, const struct ty_draft_from *from, const char *format,
                     ...) TY_PRINTF(3, 4);

/* A word that no row of the reader knows. */
void ty_draft_unknown(struct ty_draft *draft, const struct ty_draft_from *from, const char *value);

/* A word that has no part in a step. */
void ty_draft_idle(struct ty_draft *draft, const struct ty_draft_from *from);

/* The job cannot be imported as it stands: "PLACE: word: message". Returns TY_EINPUT. */
int ty_draft_refuse(struct ty_draft *draft, const struct ty_draft_from *from, const char *format,
                    ...) TY_PRINTF(3, 4);

/* Text in the arena; "" and a refusal where memory is exhausted. */
const char *ty_draft_text(struct ty_draft *draft, const char *format, ...) TY_PRINTF(2, 3);

/* What a --env of the options says of a name, or NULL. */
const char *ty_draft_env(const struct ty_draft *draft, const char *name);

/* A file that a file names: one of the draft's with the same name, else the file of that name
 * beside `beside`; NULL: there is none. Nothing else is ever opened. */
const struct ty_draft_file *ty_draft_named(struct ty_draft *draft,
                                           const struct ty_draft_file *beside, const char *path);

/* Notes the GPU that a text names as a word of its own, "gpu:h100:8" or "train_h100.sh"; the first
 * one counts. */
void ty_draft_notice_gpu(struct ty_draft *draft, const char *text,
                         const struct ty_draft_from *from);

/* ---- behind the readers ---- */

/* draft_settle.c: cluster, nodes; whether the world is a multiple of what the layout takes. */
void ty_draft_settle(struct ty_draft *draft);

/* draft_write.c: the run file; the notes for standard error; whether the file loads. */
void ty_draft_write(const struct ty_draft *draft, const char *title, struct ty_text *out);
void ty_draft_notes(const struct ty_draft *draft, struct ty_text *out);
int ty_draft_check(struct ty_draft *draft, const char *text);

/* import.c: all of it, of files that are in memory. */
int ty_draft_import(const struct ty_import_job_options *options, struct ty_arena *arena,
                    struct ty_draft_file *files, uint32_t n_files, char **run_file, char **notes,
                    struct ty_err *err);

#endif
