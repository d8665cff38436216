/* setting.h - one --set or --against-set of the command line. */
#ifndef TY_CONFIG_SETTING_H
#define TY_CONFIG_SETTING_H

#include "sim/config/config.h"

/* Where a value goes, and the value. */
struct ty_setting {
    const struct ty_field *field; /* NULL: not usable, was reported */
    enum ty_section_index section;
    struct ty_doc doc; /* root: the value */
};

/* Parses "section.key=value", which `option` ("--set") gave, into a zeroed setting; texts are owned
 * by the configuration. */
int ty_setting_parse(struct ty_setting *setting, struct ty_config *config, const char *option,
                     const char *text, struct ty_err *err);

#endif
