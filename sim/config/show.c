/* show.c - a configuration as text: every value with its origin. */
#include "sim/config/config.h"

#include "sim/base/text.h"
#include "sim/config/jobs.h"
#include "sim/trainyard.h"

#define VALUE_COLUMN  34 /* of a value in --show-config */
#define ORIGIN_COLUMN 58

static int hand_over(struct ty_text *out, char **text, struct ty_err *err)
{
    *text = ty_text_take(out);
    return *text ? 0 : ty_fail_memory(err);
}

/* Where a value came from; "derived" for what was blank until the modules filled it. */
static void origin_add(struct ty_text *out, const struct ty_section *section,
                       const struct ty_field *field, bool was_blank)
{
    char origin[256];
    const struct ty_origin *from = ty_field_origin(section, field);
    ty_origin_format(from, origin, sizeof(origin));
    if (!was_blank || ty_field_is_blank(section, field)) {
        ty_text_add(out, "# %s\n", origin);
    } else if (from->kind == TY_ORIGIN_UNSET || !field->blank) {
        ty_text_add(out, "# derived\n");
    } else {
        ty_text_add(out, "# derived (%s, %s)\n", field->blank, origin);
    }
}

static void show_sections(struct ty_text *out, const struct ty_config *config, bool job)
{
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        const struct ty_section *section = &config->sections[i];
        if (job && !ty_jobs_section((enum ty_section_index)i)) {
            continue;
        }
        for (uint32_t k = 0; k < section->n_fields; k++) {
            const struct ty_field *field = &section->fields[k];
            char value[TY_CONFIG_VALUE];
            const bool unset = section->origins[k].kind == TY_ORIGIN_UNSET && !field->blank &&
                               ty_field_is_blank(section, field);
            ty_text_add(out, "%s.%s", section->name, field->key);
            ty_text_pad(out, VALUE_COLUMN);
            ty_text_add(out, "%s",
                        unset ? "-" : ty_field_format(section, field, value, sizeof(value)));
            ty_text_pad(out, ORIGIN_COLUMN);
            origin_add(out, section, field, config->was_blank[i][k]);
        }
    }
}

int ty_config_show(const struct ty_config *config, char **text, struct ty_err *err)
{
    struct ty_text out = {0};
    show_sections(&out, config, false);
    for (uint32_t i = 0; i < config->n_jobs; i++) {
        show_sections(&out, config->jobs[i].config, true);
    }
    return hand_over(&out, text, err);
}
