/* setting.c - "section.key=value" of the command line.
 *
 * The key is looked up in the tables of the run file, the value is read as YAML, and places count
 * from the start of the text. */
#include "sim/config/setting.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/text.h"
#include "sim/config/jobs.h"

int ty_setting_outside(const struct ty_config *config, const char *key, const struct ty_place *at,
                       struct ty_err *err)
{
    const char *found[TY_N_SECTIONS];
    char list[160] = "";
    size_t n = 0, len = 0;
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        if (ty_section_field(&config->sections[i], key)) {
            found[n++] = config->sections[i].name;
        }
    }
    for (size_t i = 0; i < n && len < sizeof(list); i++) {
        len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
                                i == 0       ? ""
                                : i + 1 == n ? " or "
                                             : ", ",
                                found[i]);
    }
    return n == 0 ? ty_config_unknown_section(key, at, err)
                  : ty_fail_at(err, TY_EINPUT, at,
                               "%.60s: a key outside its section; indent it under %s", key, list);
}

/* Finds the field that "section.key" names, or reports why there is none. */
static int setting_find(struct ty_config *config, struct ty_setting *setting, const char *key,
                        const struct ty_place *at, struct ty_err *err)
{
    const char *dot = strchr(key, '.');
    setting->section = ty_config_section(key, dot ? (size_t)(dot - key) : strlen(key));
    if (!dot) {
        for (int i = 0; i < TY_N_SECTIONS; i++) {
            if (ty_section_field(&config->sections[i], key)) {
                return ty_fail_at(err, TY_EINPUT, at,
                                  "%.60s: a key without its section; hint: did you mean \"%s.%s\"?",
                                  key, config->sections[i].name, key);
            }
        }
        if (strcmp(key, TY_JOBS_KEY) == 0) {
            return ty_fail_at(err, TY_EINPUT, at,
                              "jobs: a list of the run file; write it there, or in an overlay "
                              "(--with)");
        }
        return ty_fail_at(
            err, TY_EINPUT, at, "%.60s: %s; write section.key=value, such as layout.tensor=8", key,
            setting->section < TY_N_SECTIONS ? "a section, not a key" : "unknown key");
    }
    if (setting->section == TY_N_SECTIONS) {
        const char *name = ty_arena_strndup(&config->arena, key, (size_t)(dot - key));
        return ty_config_unknown_section(name ? name : key, at, err);
    }
    const struct ty_section *section = &config->sections[setting->section];
    const struct ty_field *field = ty_section_field(section, dot + 1);
    if (!field) {
        struct ty_place key_at = *at;
        key_at.col += (uint32_t)(dot - key) + 1;
        return ty_section_unknown(section, dot + 1, &key_at, err);
    }
    setting->field = field;
    return 0;
}

int ty_setting_parse(struct ty_setting *setting, struct ty_config *config, const char *option,
                     const char *text, struct ty_err *err)
{
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : 0;
    const char *begin = ty_text_trim(text, &n); /* blanks at its ends are no part of a key */
    if (n == 0) {
        return ty_fail(err, TY_EUSAGE, "%s %.80s: not KEY=VALUE; write it like %s layout.tensor=8",
                       option, text, option);
    }
    const char *own = ty_arena_strndup(&config->arena, text, strlen(text));
    const char *key = ty_arena_strndup(&config->arena, begin, n);
    const char *file = own ? ty_arena_printf(&config->arena, "%s %s", option, own) : NULL;
    if (!file || !own || !key) {
        return ty_fail_memory(err);
    }
    const struct ty_place at = {
        .file = file, .source = own, .line = 1, .col = (uint32_t)(begin - text) + 1};
    int rc = setting_find(config, setting, key, &at, err);
    if (rc < 0) {
        return rc;
    }
    const size_t from = (size_t)(equals - text) + 1;
    rc = ty_doc_parse_value(&setting->doc, &config->arena, file, own, from, err);
    if (rc == 0 && !setting->doc.root) {
        struct ty_node *nothing = ty_arena_array(&config->arena, struct ty_node, 1);
        if (!nothing) {
            return ty_fail_memory(err);
        }
        *nothing = (struct ty_node){.line = 1, .col = (uint32_t)from + 1, .text = ""};
        setting->doc.root = nothing;
    }
    if (rc < 0) {
        setting->field = NULL;
        config->failed[setting->section] = true;
    }
    return rc;
}
