/* vary.c - copies a configuration with other values for a few keys.
 *
 * What a setting touches decides what is done again. Keys that choose presets or files choose the
 * base. Of a section with any other setting the values are put back to what was given, and it is
 * derived and checked anew; so is one that the base has wrong: a row may put it right, or has to be
 * told. A setting that cannot be read makes the whole file be read again, to tell why. */
#include "sim/config/vary.h"

#include <stdlib.h>
#include <string.h>

#include "sim/config/load.h"

/* ---- values ---- */

void ty_config_vary(struct ty_config *out, const struct ty_config *base)
{
    *out = *base;
    out->layout = base->given.layout;
    out->schedule = base->given.schedule;
    out->cap_inputs = out->n_inputs; /* what is added to the list is not the base's */
    out->arena = (struct ty_arena){.head = NULL};
    ty_config_point(out);
}

int ty_config_complete(struct ty_config *config, struct ty_err *err)
{
    const bool none[TY_N_SECTIONS] = {false};
    struct ty_loader l = {.config = config, .err = err};
    ty_loader_check(&l, none);
    return l.code;
}

void ty_config_drop(struct ty_config *config)
{
    ty_arena_release(&config->arena);
}

/* ---- texts ---- */

/* Keys that bring values of others with them. Where no stack is named layout.zero chooses it. */
static const struct {
    enum ty_section_index section;
    const char *key, *name;
} choosing[] = {
    {TY_SECTION_CLUSTER, "preset", "cluster.preset"},
    {TY_SECTION_CLUSTER, "gpu", "cluster.gpu"},
    {TY_SECTION_FABRIC, "preset", "fabric.preset"},
    {TY_SECTION_MODEL, "preset", "model.preset"},
    {TY_SECTION_MODEL, "huggingface", "model.huggingface"},
    {TY_SECTION_FRAMEWORK, "preset", "framework.preset"},
    {TY_SECTION_SCHEDULE, "file", "schedule.file"},
    {TY_SECTION_LAYOUT, "zero", "layout.zero"},
    {TY_SECTION_LAYOUT, "offload", "layout.offload"},
};

/* Whether a setting does, as it is usually written. */
static bool chooses(const char *set)
{
    const size_t n = strcspn(set, "=");
    bool found = false;
    for (size_t i = 0; i < TY_COUNT(choosing) && !found; i++) {
        found = strlen(choosing[i].name) == n && memcmp(choosing[i].name, set, n) == 0;
    }
    return found;
}

/* The same of one that was parsed, however it is written. */
static bool is_choice(const struct ty_setting *setting)
{
    bool found = false;
    for (size_t i = 0; i < TY_COUNT(choosing) && !found; i++) {
        found = choosing[i].section == setting->section &&
                strcmp(choosing[i].key, setting->field->key) == 0;
    }
    return found;
}

#define BASES_MAX 16u

struct base {
    struct ty_config *config; /* values that it cannot stand by itself are among its failed */
    bool stands;              /* all its files and settings could be read */
    const char **set;         /* [n_sets] its choices */
    size_t n_sets;
    struct ty_arena arena;
};

struct ty_config_bases {
    struct ty_source source;
    struct base base[BASES_MAX]; /* [n] */
    uint32_t n, next;            /* the one to make room for another */
};

struct ty_config_bases *ty_config_bases_new(const struct ty_source *source)
{
    struct ty_config_bases *bases = calloc(1, sizeof(*bases));
    if (bases != NULL) {
        bases->source = *source;
    }
    return bases;
}

static void base_free(struct base *base)
{
    ty_config_free(base->config);
    ty_arena_release(&base->arena);
    *base = (struct base){.config = NULL};
}

void ty_config_bases_free(struct ty_config_bases *bases)
{
    for (uint32_t i = 0; bases != NULL && i < bases->n; i++) {
        base_free(&bases->base[i]);
    }
    free(bases);
}

/* Jobs of a run file make room for each other on the cluster: each is read with all of them. */
static bool can_vary(const struct ty_loader *l)
{
    const struct ty_sched_options *schedule = &l->config->given.schedule;
    const bool lacks_order = schedule->file != NULL && schedule->custom == NULL;
    return l->filled == 0 && l->jobs == NULL && !lacks_order;
}

/* Whatever is wrong is told when a row is. */
static int base_read(struct base *base, const struct ty_config_bases *bases,
                     const char *const *sets, size_t n_sets)
{
    struct ty_source source = bases->source;
    const char **all = ty_arena_array(&base->arena, const char *, source.n_sets + n_sets + 1);
    base->config = calloc(1, sizeof(*base->config));
    if (all == NULL || base->config == NULL) {
        return TY_ENOMEM;
    }
    for (size_t i = 0; i < source.n_sets; i++) {
        all[i] = source.sets[i];
    }
    base->set = all + source.n_sets;
    for (size_t i = 0; i < n_sets; i++) {
        if (chooses(sets[i])) {
            base->set[base->n_sets] = ty_arena_strndup(&base->arena, sets[i], strlen(sets[i]));
            if (base->set[base->n_sets++] == NULL) {
                return TY_ENOMEM;
            }
        }
    }
    source.sets = all;
    source.n_sets += base->n_sets;
    struct ty_loader l = {.config = base->config, .filled = TY_EINPUT}; /* until it is */
    const int rc = ty_loader_read(&l, &source);
    base->stands = can_vary(&l);
    return rc == TY_ENOMEM ? rc : 0;
}

/* Whether a base is that of a row's choices. */
static bool is_of(const struct base *base, const char *const *sets, size_t n_sets)
{
    size_t n = 0;
    bool same = true;
    for (size_t i = 0; i < n_sets && same; i++) {
        if (chooses(sets[i])) {
            same = n < base->n_sets && strcmp(base->set[n], sets[i]) == 0;
            n++;
        }
    }
    return same && n == base->n_sets;
}

/* The base of a row; NULL: no memory. */
static const struct base *base_of(struct ty_config_bases *bases, const char *const *sets,
                                  size_t n_sets)
{
    for (uint32_t i = 0; i < bases->n; i++) {
        if (is_of(&bases->base[i], sets, n_sets)) {
            return &bases->base[i];
        }
    }
    struct base *base = &bases->base[bases->next];
    base_free(base);
    bases->n += bases->n < BASES_MAX;
    bases->next = (bases->next + 1) % BASES_MAX;
    if (base_read(base, bases, sets, n_sets) == 0) {
        return base;
    }
    base_free(base);
    base->stands = false;
    return NULL;
}

/* ---- a row ---- */

struct row {
    struct ty_config *c;
    const struct ty_config *base;
    struct ty_setting *setting; /* [n] */
    size_t n;
    bool set[TY_N_SECTIONS];  /* has settings of its own */
    bool anew[TY_N_SECTIONS]; /* is derived anew, from what was given */
};

/* False: reading the whole file tells why. */
static bool parse(struct row *r, const char *const *sets, size_t n_sets)
{
    r->setting = ty_arena_array(&r->c->arena, struct ty_setting, n_sets);
    for (size_t i = 0; i < n_sets && r->setting != NULL; i++) {
        struct ty_setting *setting = &r->setting[r->n];
        if (chooses(sets[i])) {
            continue;
        }
        if (ty_setting_parse(setting, r->c, "--set", sets[i], NULL) < 0 || is_choice(setting)) {
            return false;
        }
        r->set[setting->section] = true;
        r->n++;
    }
    return r->setting != NULL;
}

/* Where values come from belongs to a row that changes some. */
static bool own_origins(struct row *r, enum ty_section_index i)
{
    struct ty_section *section = &r->c->sections[i];
    const uint32_t n = section->n_fields;
    const struct ty_origin *origins = section->origins;
    const bool *blank = r->c->was_blank[i];
    section->origins = ty_arena_array(&r->c->arena, struct ty_origin, n);
    r->c->was_blank[i] = ty_arena_array(&r->c->arena, bool, n);
    if (section->origins == NULL || r->c->was_blank[i] == NULL) {
        return false;
    }
    memcpy(section->origins, origins, n * sizeof(*origins));
    memcpy(r->c->was_blank[i], blank, n * sizeof(*blank));
    return true;
}

/* Sections that are derived anew are as they were given. */
static bool put_back(struct row *r)
{
    bool good = true;
    for (enum ty_section_index i = 0; i < TY_N_SECTIONS && good; i++) {
        r->anew[i] = r->set[i] || r->base->failed[i];
        r->c->failed[i] = false;
        good = !r->set[i] || own_origins(r, i);
    }
    /* they are checked together */
    r->anew[TY_SECTION_CLUSTER] = r->anew[TY_SECTION_CLUSTER] || r->anew[TY_SECTION_FABRIC];
    if (r->anew[TY_SECTION_CLUSTER]) {
        r->c->cluster = r->base->given.cluster;
        r->c->fabric = r->base->given.fabric;
    }
    if (r->anew[TY_SECTION_MODEL]) {
        r->c->arch = r->base->given.arch;
    }
    return good;
}

static bool apply(struct row *r)
{
    bool good = true;
    for (size_t k = 0; k < r->n && good; k++) {
        const struct ty_setting *s = &r->setting[k];
        const struct ty_section *section = &r->c->sections[s->section];
        const struct ty_value_source command = {&s->doc, TY_ORIGIN_COMMAND, s->doc.file};
        good = ty_field_apply(section, s->field, &command, s->doc.root, &r->c->arena, NULL) == 0 &&
               !ty_field_origin(section, s->field)->searched; /* left to a plan: to be refused */
        r->c->was_blank[s->section][s->field - section->fields] =
            ty_field_is_blank(section, s->field);
    }
    return good;
}

/* What has to be given, and all that follows. */
static int check(struct row *r, struct ty_err *err)
{
    struct ty_loader l = {.config = r->c, .err = err};
    for (enum ty_section_index i = 0; i < TY_N_SECTIONS; i++) {
        if (r->anew[i]) {
            ty_loader_note(&l, i, ty_section_require(&r->c->sections[i], err));
        }
    }
    ty_loader_check(&l, r->anew);
    return l.code;
}

/* False: the whole file is to be read. */
static bool vary(struct ty_config *c, const struct ty_config *base, const char *const *sets,
                 size_t n_sets, int *rc, struct ty_err *err)
{
    struct row r = {.c = c, .base = base};
    ty_config_vary(c, base);
    if (!parse(&r, sets, n_sets) || !put_back(&r) || !apply(&r)) {
        return false;
    }
    *rc = check(&r, err);
    return true;
}

static int read_whole(struct ty_config **config, const struct ty_config_bases *bases,
                      const char *const *sets, size_t n_sets, struct ty_err *err)
{
    struct ty_source source = bases->source;
    const char **all = malloc((source.n_sets + n_sets + 1) * sizeof(*all));
    if (all == NULL) {
        return ty_fail_memory(err);
    }
    for (size_t i = 0; i < source.n_sets; i++) {
        all[i] = source.sets[i];
    }
    for (size_t i = 0; i < n_sets; i++) {
        all[source.n_sets + i] = sets[i];
    }
    source.sets = all;
    source.n_sets += n_sets;
    const int rc = ty_config_read(config, &source, err);
    free(all);
    return rc;
}

int ty_config_bases_read(struct ty_config **config, struct ty_config_bases *bases,
                         const char *const *sets, size_t n_sets, struct ty_err *err)
{
    const struct base *base = base_of(bases, sets, n_sets);
    struct ty_config *c = malloc(sizeof(*c));
    int rc = 0;
    *config = NULL;
    if (base == NULL || c == NULL) {
        free(c);
        return ty_fail_memory(err);
    }
    const bool varied = base->stands && vary(c, base->config, sets, n_sets, &rc, err);
    if (varied && rc == 0) {
        *config = c;
        return 0;
    }
    if (base->stands) {
        ty_config_drop(c);
    }
    free(c);
    return varied ? rc : read_whole(config, bases, sets, n_sets, err);
}
