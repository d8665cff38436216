/* emit.h - a configuration in the words of the stack that is to run it.
 *
 * What that stack has no word for is told in comments at the end, so that nothing is lost without a
 * line that says so. Words are those that sim/import reads, from the same sources. */
#ifndef TY_EMIT_EMIT_H
#define TY_EMIT_EMIT_H

#include "sim/base/text.h"
#include "sim/config/config.h"

/* A text under way. */
struct ty_emission {
    const struct ty_config *config;
    struct ty_text *out;
    struct ty_text unsaid; /* lines of what has no word */
};

/* A stack: one file <name>.c, and a row of ty_emitters. */
struct ty_emitter {
    const char *name, *title, *doc;
    const char *habits[4]; /* presets of framework that are it, the usual one first; NULL ends */
    bool offloads;         /* it has words for states beside the GPU */
    void (*emit)(struct ty_emission *e);
};
extern const struct ty_emitter *const ty_emitters[]; /* ends with NULL */
extern const struct ty_emitter ty_emit_megatron, ty_emit_deepspeed, ty_emit_torchtitan;

/* Whether --emit may name a stack, or yaml: 0, or TY_EUSAGE with those that it may. */
int ty_emit_check(const char *stack, struct ty_err *err);

/* Appends a complete configuration in the words of a stack, by its name. 0, TY_ENOMEM, or TY_EUSAGE
 * as ty_emit_check. */
int ty_emit(struct ty_text *out, const char *stack, const struct ty_config *config,
            struct ty_err *err);

/* ---- for writers ---- */

/* A line of a bash array, of a literal format that ends it: "--flag %u\n", value. */
#define TY_EMIT_FLAG(e, ...) ty_text_add((e)->out, "    " __VA_ARGS__)

/* Notes that a value has no word: "layout.zero 3: it shares ...\n". */
#define TY_EMIT_UNSAID(e, ...) ty_text_add(&(e)->unsaid, "#   " __VA_ARGS__)

/* The value of a key as a user writes it. Returns buf. */
#define TY_EMIT_VALUE 256u
const char *ty_emit_value(const struct ty_emission *e, enum ty_section_index section,
                          const char *key, char buf[TY_EMIT_VALUE]);

/* The first line of a file, and how it is started: nodes and processes on each. */
void ty_emit_head(struct ty_emission *e, const char *launcher);

/* megatron.c: the flags of the model that Megatron-LM and DeepSpeed's fork of it share, those of
 * pipeline and tensor ranks and of the batch. */
void ty_emit_transformer(struct ty_emission *e);

/* Whether messages between stages are sent while the next pass already runs. */
bool ty_emit_overlaps_p2p(const struct ty_config *config);

#endif
