/* config_load.h - a load in progress: what config.c and config_presets.c share. */
#ifndef TY_RUN_CONFIG_LOAD_H
#define TY_RUN_CONFIG_LOAD_H

#include "sim/run/setting.h"

struct ty_loader {
    struct ty_config *config;
    struct ty_err *err;
    int code;                    /* of the first error */
    bool misspelt;               /* a file has an unknown section: another may be missing for it */
    struct ty_setting *settings; /* [n_settings] */
    size_t n_settings;
};

/* Remembers a failure: the section is not to be relied on. */
static inline void ty_loader_note(struct ty_loader *l, enum ty_section_index section, int rc)
{
    if (rc < 0) {
        l->config->failed[section] = true;
        l->code = l->code < 0 ? l->code : rc;
    }
}

/* Looks up and applies the presets that files and settings name, before any of their values. */
void ty_loader_presets(struct ty_loader *l);

#endif
