/* words.h - a tree of settings, YAML, TOML or JSON, as words with their path: "training.seq_len".
 *
 * They are flags (flags.h) in all but name, so that a table of rows says what becomes of each. */
#ifndef TY_IMPORT_WORDS_H
#define TY_IMPORT_WORDS_H

#include "sim/document/yaml.h"
#include "sim/import/flags.h"

/* The tree of a file: TOML by its name, else YAML or JSON; NULL: refused. */
struct ty_doc *ty_words_doc(struct ty_draft *draft, const struct ty_draft_file *file);

/* Adds all words below a map; `prefix` is "" or ends with a point. What is null is idle: the same
 * as if it were not there. Items of lists are values, maps in lists words without a number. */
void ty_words_add(struct ty_flags *words, const struct ty_doc *doc, const struct ty_node *map,
                  const char *prefix);

/* The words of a file; NULL: refused. */
struct ty_doc *ty_words_read(struct ty_flags *words, const struct ty_draft_file *file);

/* Whether a value is none at all: null, None, nothing. */
bool ty_words_is_null(const struct ty_node *node);

/* Whether a text is true, in any spelling of YAML 1.1: 1 or 0; -1: it is neither. */
int ty_words_truth(const char *text);

/* Whether a word is true; `otherwise` where it is absent, a refusal where it is neither. */
bool ty_words_true(struct ty_flags *words, const char *name, bool otherwise);

/* The key is true or false as the word is; nothing where it is absent. */
void ty_words_set_truth(struct ty_flags *words, const char *name, const char *key);

/* Whether one of the values of a word begins like this. */
bool ty_words_list(struct ty_flags *words, const char *name, const char *item);

/* Sets "section.key" of every line "key: value". */
void ty_words_set_lines(struct ty_draft *draft, const char *section,
                        const struct ty_draft_from *from, const char *lines);

/* A whole number that --env says; `otherwise` where it does not, a refusal where it is none. */
uint32_t ty_words_env(struct ty_draft *draft, const char *name, uint32_t otherwise);

/* Where neither files nor options say how many GPUs there are: --env NAME=N, or a comment such as
 * "a preset for 64 A100 GPUs". */
void ty_words_world(struct ty_draft *draft, const char *env, const struct ty_draft_file *file);

/* GPUs, as far as they are known before the draft is settled; 0. */
uint32_t ty_words_gpus(const struct ty_draft *draft);

#endif
