/* digest.c - a hash of what a configuration asks to be simulated, see config.h.
 *
 * Values count, not where they come from; of files, what is in them, not what they are called. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/noise.h"
#include "sim/config/jobs.h"
#include "sim/config/measured.h"
#include "sim/config/placement.h"

static uint64_t hash_field(uint64_t h, const struct ty_section *section,
                           const struct ty_field *field)
{
    const void *slot = (const char *)section->base + field->offset;
    const uint64_t key =
        ty_hash4(ty_hash_text(section->name), ty_hash_text(field->key), field->type, 0);
    uint64_t bits = 0;
    if (field->type == TY_TYPE_QUANTITY) {
        memcpy(&bits, slot, sizeof(double));
    } else if (field->type == TY_TYPE_UINT64) {
        memcpy(&bits, slot, sizeof(uint64_t));
    } else {
        /* Whole numbers, words and lists are written exactly. */
        char value[TY_CONFIG_VALUE];
        bits = ty_hash_text(ty_field_format(section, field, value, sizeof(value)));
    }
    return ty_hash4(h, key, bits, 0);
}

/* Orders that come from a file decide the run as much as any value. */
static uint64_t hash_slots(const struct ty_slots *slots)
{
    uint64_t h = slots->p;
    for (uint32_t r = 0; r < slots->p; r++) {
        for (uint32_t i = 0; i < slots->rank[r].n; i++) {
            uint64_t atom;
            memcpy(&atom, &slots->rank[r].slot[i], sizeof(atom));
            h = ty_hash4(h, atom, r, i);
        }
        for (uint32_t i = 0; i < slots->rank[r].n_colls; i++) {
            const struct ty_slot_coll *c = &slots->rank[r].coll[i];
            uint64_t bytes;
            memcpy(&bytes, &c->bytes, sizeof(bytes));
            h = ty_hash4(h, (uint64_t)c->after << 8 | c->coll, ty_hash_text(c->ranks), bytes);
        }
    }
    return h;
}

/* Lines of texts are left out as names; those that say what a cluster is like are none. */
static uint64_t hash_lines(const struct ty_string_list *texts)
{
    uint64_t h = 0;
    for (uint32_t i = 0; i < texts->n; i++) {
        h = ty_hash4(h, ty_hash_text(texts->item[i]), i, 1);
    }
    return h;
}

static bool is_default(const struct ty_section *section, const struct ty_field *field)
{
    char value[TY_CONFIG_VALUE];
    return strcmp(ty_field_format(section, field, value, sizeof(value)), field->fallback) == 0;
}

/* What is off the GPUs of a node matters where something is kept there. */
static bool is_idle(const struct ty_config *config, const struct ty_section *section,
                    const struct ty_field *field)
{
    const bool away = ty_layout_is_offloaded(&config->layout);
    const bool beside = field->offset >= offsetof(struct ty_cluster, host) &&
                        field->offset < offsetof(struct ty_cluster, nvme) + sizeof(struct ty_nvme);
    return section == &config->sections[TY_SECTION_CLUSTER] && beside && !away;
}

static uint64_t hash_section(uint64_t h, const struct ty_config *config,
                             enum ty_section_index number)
{
    const struct ty_section *section = &config->sections[number];
    for (uint32_t k = 0; k < section->n_fields; k++) {
        const enum ty_field_type type = section->fields[k].type;
        const bool absent = (section->fields[k].late && is_default(section, &section->fields[k])) ||
                            is_idle(config, section, &section->fields[k]);
        const bool text = type == TY_TYPE_STRING || type == TY_TYPE_STRINGS;
        if ((!text || section->fields[k].shape) && !section->fields[k].aside && !absent) {
            h = hash_field(h, section, &section->fields[k]);
        }
    }
    return h;
}

uint64_t ty_config_section_digest(const struct ty_config *config, enum ty_section_index section)
{
    return hash_section(0, config, section);
}

uint64_t ty_config_digest(const struct ty_config *config)
{
    uint64_t h = config->schedule.custom != NULL ? hash_slots(&config->schedule.custom->slots) : 0;
    h ^= ty_measured_digest(config) ^ ty_placement_digest(config) ^ ty_jobs_digest(config) ^
         ty_token_routing_digest(&config->routing) ^ ty_lengths_digest(&config->lengths);
    h ^= config->workload.job != NULL ? ty_traced_digest(config->workload.job) : 0;
    h ^= hash_lines(&config->cluster.exception_texts);
    h ^= hash_lines(&config->cluster.nvlink.pair_rows);
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        h = ty_config_matters((enum ty_section_index)i)
                ? hash_section(h, config, (enum ty_section_index)i)
                : h;
    }
    return h;
}

char *ty_config_digest_text(const struct ty_config *config, char buf[TY_DIGEST_TEXT])
{
    (void)snprintf(buf, TY_DIGEST_TEXT, "%016" PRIx64, ty_config_digest(config));
    return buf;
}
