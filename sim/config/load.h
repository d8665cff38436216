/* load.h - a load in progress: what config.c and presets.c share. */
#ifndef TY_CONFIG_LOAD_H
#define TY_CONFIG_LOAD_H

#include "sim/config/setting.h"

/* What others call the keys; ends with NULL. */
extern const struct ty_synonym ty_config_synonyms[];

struct ty_loader {
    struct ty_config *config;
    struct ty_err *err;
    int code;                    /* of the first error */
    bool open;                   /* for a plan: layout and schedule are not completed */
    int filled;                  /* the same before anything was checked */
    bool misspelt;               /* a file has an unknown section: another may be missing for it */
    struct ty_setting *settings; /* [n_settings] */
    size_t n_settings;
    const struct ty_doc *jobs_doc; /* the list `jobs`, and the file it is in; NULL: there is none */
    const struct ty_node *jobs;
};

/* Remembers a failure: the section is not to be relied on. */
static inline void ty_loader_note(struct ty_loader *l, enum ty_section_index section, int rc)
{
    if (rc < 0) {
        l->config->failed[section] = true;
        l->code = l->code < 0 ? l->code : rc;
    }
}

/* Reads one file of sections, or its `text` where that is not NULL; one whose root is no mapping
 * ends the load. */
int ty_loader_doc(struct ty_loader *l, struct ty_doc *doc, const char *path, const char *text,
                  bool overlay);

/* Reads the run file and the overlays of a source. */
int ty_loader_docs(struct ty_loader *l, const struct ty_source *source);

/* All of a source into an empty configuration, which the caller frees, whatever comes back. */
int ty_loader_read(struct ty_loader *l, const struct ty_source *source);

/* Parses the settings. */
int ty_loader_settings(struct ty_loader *l, const struct ty_source *source);

/* From parsed files and settings to a configuration that is complete and checked; l->code says
 * whether it is good. */
void ty_loader_fill(struct ty_loader *l);

/* Looks up and applies the presets that files and settings name, before any of their values. */
void ty_loader_presets(struct ty_loader *l);

/* Derives what values leave open, and checks them. anew[TY_N_SECTIONS]: sections whose values are
 * as they were given; of others, layout and schedule aside, this has been done before. */
void ty_loader_check(struct ty_loader *l, const bool *anew);

/* Names a model that nobody named: after its preset, or the file that describes it. */
void ty_loader_name_model(struct ty_loader *l);

/* Remembers what the presets just applied said. 0 or TY_ENOMEM. */
int ty_loader_keep_preset_values(struct ty_loader *l);

#endif
