/* uncertainty.c - reads the `uncertainty` section and checks what its rows name. */
#include "sim/config/uncertainty.h"

#include <gsl/gsl_eigen.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/config/config.h"

#define ROW(key_, type_, ...)                                                                      \
    TY_FIELD(struct ty_uncertainty_options, #key_, key_, type_, __VA_ARGS__)

const struct ty_field ty_uncertainty_fields[] = {
    ROW(errors, STRINGS, .fallback = "[]", .example = "cluster.derate 3 % fitted to 28 rows",
        .doc = "uncertain keys: key, relative standard error, and its origin; overlays add theirs"),
    ROW(correlations, STRINGS, .fallback = "[]",
        .example = "cluster.derate cluster.norm_passes -0.3",
        .doc = "correlations of these errors: a key, then other keys, each with its correlation; 0 "
               "where not named"),
    ROW(scatter, QUANTITY, .dim = TY_DIM_RATIO, .max = TY_ERROR_MAX, .zero = TY_SCATTER_MIN,
        .fallback = "auto", .blank = "auto",
        .doc =
            "standard deviation of a run's step time that no key explains; auto: by kind of GPU, "
            "type, model, framework and size, from published runs"),
    ROW(shared_scatter, QUANTITY, .dim = TY_DIM_RATIO, .max = TY_ERROR_MAX, .zero = TY_SCATTER_MIN,
        .fallback = "auto", .blank = "auto",
        .doc = "the same for the part that all runs of one model on one machine share; auto: as "
               "there"),
    ROW(layout_scatter, QUANTITY, .dim = TY_DIM_RATIO, .max = TY_ERROR_MAX, .fallback = "4.5 %",
        .doc = "what takes the place of `scatter` between two layouts of one model on one machine; "
               "4.5 %: median of 13 published sets of sweeps (docs/internals/accuracy.md)"),
    ROW(guesses, BOOL, .fallback = "true",
        .doc = "whether values that presets call a guess count as uncertain"),
};
const uint32_t ty_n_uncertainty_fields = TY_COUNT(ty_uncertainty_fields);

/* An entry of a list, and how strong its source is. */
struct entry {
    const char *text;
    struct ty_place at;
    size_t strength; /* number of the file; --set is above all */
};

struct reader {
    const struct ty_config *c;
    struct ty_uncertain *out;
    struct ty_arena *arena;
    struct ty_err *err;
    size_t strength[TY_UNCERTAIN_KEYS]; /* of the source that gave key i its error */
    bool gone[TY_UNCERTAIN_KEYS];       /* a stronger value took it away */
    struct ty_place last;               /* of the last correlation */
    int code;
};

static double value_of(const struct ty_section *section, const struct ty_field *field)
{
    return *(const double *)(const void *)((const char *)section->base + field->offset);
}

/* The number of the file that a value stands in, those of --set above all; 0: of presets, too. */
static size_t strength(const struct ty_config *c, const struct ty_origin *origin)
{
    for (size_t i = 0; origin->kind == TY_ORIGIN_FILE && i < c->n_docs; i++) {
        if (strcmp(c->docs[i].file, origin->at.file) == 0) {
            return i;
        }
    }
    return origin->kind == TY_ORIGIN_COMMAND ? c->n_docs : 0;
}

/* ---- entries ---- */

static void wrong(struct reader *r, int rc)
{
    r->code = r->code < 0 ? r->code : rc;
}

/* The next word of a text, copied; "": there is none. NULL: no memory, which is told. */
static const char *next_word(struct reader *r, const char **text)
{
    const char *from = *text + strspn(*text, " ");
    const size_t n = strcspn(from, " ");
    const char *word = ty_arena_strndup(r->arena, from, n);
    *text = from + n;
    if (word == NULL) {
        wrong(r, ty_fail_memory(r->err));
    }
    return word;
}

/* Finds what an entry names; NULL, with a message, where that has no error. */
static const struct ty_field *find_key(struct reader *r, const struct entry *e, const char *name,
                                       enum ty_section_index *section)
{
    const struct ty_field *field = ty_config_field(r->c, name, section);
    const char *names[256];
    char hint[TY_SUGGESTION];
    size_t n = 0;
    if (field != NULL && field->type == TY_TYPE_QUANTITY) {
        return field;
    }
    if (field != NULL) {
        wrong(r,
              ty_fail_at(r->err, TY_EINPUT, &e->at,
                         "uncertainty.errors: %s: a key without an error; name a time, a rate, a "
                         "share or a factor",
                         name));
        return NULL;
    }
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        const struct ty_section *s = &r->c->sections[i];
        for (uint32_t k = 0; k < s->n_fields && n < TY_COUNT(names); k++) {
            if (s->fields[k].type == TY_TYPE_QUANTITY) {
                names[n] = ty_arena_printf(r->arena, "%s.%s", s->name, s->fields[k].key);
                n += names[n] != NULL; /* without memory there is one name less to hint at */
            }
        }
    }
    wrong(r,
          ty_fail_at(r->err, TY_EINPUT, &e->at,
                     "uncertainty.errors: %.60s: no such key; \"trainyard list keys\" shows all%s",
                     name, ty_suggestion(name, names, n, hint)));
    return NULL;
}

/* "3 %" at the start of a text, which is moved behind it; negative where there is none. */
static double read_share(const char **text)
{
    char *end;
    const char *from = *text + strspn(*text, " ");
    const double x = ty_strtod(from, &end);
    end += strspn(end, " ");
    if (end == from || *end != '%') {
        return NAN;
    }
    *text = end + 1;
    return x / 100;
}

static uint32_t index_of(const struct ty_uncertain *u, const char *name)
{
    uint32_t i = 0;
    while (i < u->n && strcmp(u->key[i].name, name) != 0) {
        i++;
    }
    return i;
}

/* The place of a key's error: a weaker one's, or a new one. */
static uint32_t room(struct reader *r, const struct entry *e, const char *name)
{
    struct ty_uncertain *u = r->out;
    const uint32_t i = index_of(u, name);
    if (i < u->n && r->strength[i] == e->strength) {
        wrong(r, ty_fail_at(r->err, TY_EINPUT, &e->at,
                            "uncertainty.errors: %s: named twice; keep one", name));
    } else if (i == TY_UNCERTAIN_KEYS) {
        wrong(r, ty_fail_at(r->err, TY_EINPUT, &e->at,
                            "uncertainty.errors: more than %u keys; leave out those that hardly "
                            "matter",
                            TY_UNCERTAIN_KEYS));
        return i;
    }
    if (i == u->n) {
        u->correlation[i][i] = 1;
        u->n++;
    }
    r->strength[i] = e->strength;
    return i;
}

static void read_error(struct reader *r, const struct entry *e)
{
    enum ty_section_index section;
    const char *rest = e->text, *name = next_word(r, &rest);
    if (name == NULL) {
        return;
    }
    if (*name == '\0') {
        wrong(r,
              ty_fail_at(r->err, TY_EINPUT, &e->at,
                         "uncertainty.errors: an empty entry; write a key and its error, such as "
                         "cluster.derate 3 %%"));
        return;
    }
    const struct ty_field *field = find_key(r, e, name, &section);
    if (field == NULL) {
        return;
    }
    const double error = read_share(&rest);
    if (!(error > 0 && error <= TY_ERROR_MAX)) {
        wrong(r,
              ty_fail_at(r->err, TY_EINPUT, &e->at,
                         "uncertainty.errors: %s: %s (%.40s); write a share above 0 %% and up to "
                         "%.0f %%, such as %s 3 %%",
                         name, isnan(error) ? "no error behind it" : "its error is out of range",
                         e->text, 100 * TY_ERROR_MAX, name));
        return;
    }
    const struct ty_section *s = &r->c->sections[section];
    const double value = value_of(s, field);
    const uint32_t i = room(r, e, name);
    if (i == TY_UNCERTAIN_KEYS) {
        return;
    }
    r->gone[i] = strength(r->c, ty_field_origin(s, field)) > e->strength;
    if (!r->gone[i] && !(value > 0)) {
        wrong(r,
              ty_fail_at(r->err, TY_EINPUT, &e->at,
                         "uncertainty.errors: %s: its value is 0, and a share of 0 is 0; give it a "
                         "value, or leave its error out",
                         name));
    }
    rest += strspn(rest, " ");
    const char *why = ty_arena_strndup(r->arena, rest, strlen(rest));
    if (why == NULL) {
        wrong(r, ty_fail_memory(r->err));
    }
    r->out->key[i] = (struct ty_uncertain_key){
        .name = name, .field = field, .value = value, .error = error, .why = why};
}

/* A key that has an error; n: it has none, and is told. */
static uint32_t find_error(struct reader *r, const struct entry *e, const char *name)
{
    const uint32_t i = name != NULL ? index_of(r->out, name) : r->out->n;
    if (i == r->out->n && name != NULL) {
        wrong(r, ty_fail_at(r->err, TY_EINPUT, &e->at,
                            "uncertainty.correlations: %.60s: a key without an error; add it to "
                            "uncertainty.errors",
                            *name != '\0' ? name : "nothing"));
    }
    return i;
}

static void read_correlation(struct reader *r, const struct entry *e)
{
    const char *rest = e->text;
    const uint32_t a = find_error(r, e, next_word(r, &rest)), n = r->out->n;
    r->last = e->at;
    while (a < n && rest[strspn(rest, " ")] != '\0') {
        const uint32_t b = find_error(r, e, next_word(r, &rest));
        char *end;
        const double x = ty_strtod(rest, &end);
        if (b == n) {
            return;
        }
        if (end == rest || !(fabs(x) <= 1) || a == b) {
            wrong(r, ty_fail_at(r->err, TY_EINPUT, &e->at,
                                "uncertainty.correlations: not a key and others with their "
                                "correlations from -1 to 1 (%.80s); write cluster.derate "
                                "cluster.norm_passes -0.3",
                                e->text));
            return;
        }
        rest = end;
        if (r->strength[a] <= e->strength && r->strength[b] <= e->strength) {
            r->out->correlation[a][b] = r->out->correlation[b][a] = x;
        } /* else it was of an error that a stronger one replaced */
    }
}

/* ---- lists ---- */

typedef void entry_fn(struct reader *r, const struct entry *e);

/* Every entry of a list: of the run file, of its overlays, of --set. */
static void each_entry(struct reader *r, const char *key, const struct ty_string_list *list,
                       entry_fn *read)
{
    const struct ty_section *s = &r->c->sections[TY_SECTION_UNCERTAINTY];
    for (size_t d = 0; d < r->c->n_docs; d++) {
        const struct ty_doc *doc = &r->c->docs[d];
        const struct ty_node *node = ty_node_child(ty_node_child(doc->root, s->name), key);
        const struct ty_node *item =
            node != NULL && node->kind == TY_NODE_LIST ? node->first : node;
        for (; item != NULL; item = item != node ? item->next : NULL) {
            const struct entry e = {item->text != NULL ? item->text : "", ty_node_place(doc, item),
                                    d};
            read(r, &e);
        }
    }
    const struct ty_origin *origin = ty_field_origin(s, ty_section_field(s, key));
    for (uint32_t i = 0; origin->kind == TY_ORIGIN_COMMAND && i < list->n; i++) {
        const struct entry e = {list->item[i], origin->at, r->c->n_docs};
        read(r, &e);
    }
}

/* Without those that a stronger value took away. */
static void drop_gone(struct reader *r)
{
    struct ty_uncertain *u = r->out;
    for (uint32_t i = u->n; i-- > 0;) {
        if (!r->gone[i]) {
            continue;
        }
        for (uint32_t k = i; k + 1 < u->n; k++) {
            u->key[k] = u->key[k + 1];
            memcpy(u->correlation[k], u->correlation[k + 1], sizeof(u->correlation[k]));
        }
        for (uint32_t row = 0; row < u->n; row++) {
            memmove(&u->correlation[row][i], &u->correlation[row][i + 1],
                    (u->n - i - 1) * sizeof(double));
        }
        u->n--;
        for (uint32_t k = 0; k <= u->n; k++) { /* a guess may come to stand there */
            u->correlation[k][u->n] = u->correlation[u->n][k] = 0;
        }
    }
}

/* Correlations that cannot all be: some sum of the values would vary by less than nothing. */
static int check_together(struct reader *r)
{
    const uint32_t n = r->out->n;
    if (r->last.line == 0 || n == 0) {
        return 0;
    }
    gsl_matrix *m = gsl_matrix_alloc(n, n);
    gsl_vector *eigen = gsl_vector_alloc(n);
    gsl_eigen_symm_workspace *w = gsl_eigen_symm_alloc(n);
    int rc = m == NULL || eigen == NULL || w == NULL ? ty_fail_memory(r->err) : 0;
    for (uint32_t a = 0; a < n && rc == 0; a++) {
        for (uint32_t b = 0; b < n; b++) {
            gsl_matrix_set(m, a, b, r->out->correlation[a][b]);
        }
    }
    if (rc == 0 && gsl_eigen_symm(m, eigen, w) == 0 &&
        gsl_vector_min(eigen) < -1e-3) { /* four digits leave less */
        rc = ty_fail_at(r->err, TY_EINPUT, &r->last,
                        "uncertainty.correlations: they contradict each other (not positive "
                        "definite); bring them nearer to 0");
    }
    gsl_matrix_free(m);
    gsl_vector_free(eigen);
    if (w != NULL) {
        gsl_eigen_symm_free(w);
    }
    return rc;
}

/* ---- guesses ---- */

/* "guess 15 %: as A100" in text[0..n), and what is behind it. Negative or NAN: none is stated. */
static double stated(const char *text, size_t n, const char **why)
{
    static const char word[] = "guess ";
    for (size_t i = 0; i + sizeof(word) < n; i++) {
        if (strncmp(text + i, word, sizeof(word) - 1) == 0) {
            const char *rest = text + i + sizeof(word) - 1;
            const double share = read_share(&rest);
            *why = rest + strspn(rest, ": ");
            return share;
        }
    }
    return NAN;
}

/* What a preset of the section says of a key; NULL: nothing. */
static const char *preset_line(struct ty_arena *arena, enum ty_section_index section,
                               const char *name, const char *key)
{
    static const char *const keys[] = {"preset", "gpu"};
    for (size_t i = 0; i < TY_COUNT(keys); i++) {
        const struct ty_preset *all = ty_config_presets(section, keys[i]);
        const struct ty_preset *one = all != NULL ? ty_preset_find(all, name) : NULL;
        if (one != NULL) {
            return ty_preset_line(ty_preset_text(all, one, arena), key);
        }
    }
    return NULL;
}

/* Where a value came from says that it is a guess, and by how much it may be off. */
static void add_guess(struct reader *r, enum ty_section_index section, uint32_t k)
{
    const struct ty_section *s = &r->c->sections[section];
    const struct ty_field *field = &s->fields[k];
    const struct ty_origin *origin = &s->origins[k];
    const char *line = NULL, *why = "";
    if (field->type != TY_TYPE_QUANTITY || r->out->n == TY_UNCERTAIN_KEYS) {
        return;
    }
    if (origin->kind == TY_ORIGIN_PRESET) {
        line = preset_line(r->arena, section, origin->name, field->key);
    } else if (origin->kind == TY_ORIGIN_DEFAULT) {
        line = field->doc;
    }
    const size_t n = line != NULL ? strcspn(line, "\n") : 0;
    const double error = stated(line, n, &why), value = value_of(s, field);
    if (!(error > 0) || !(value > 0)) {
        return;
    }
    const int len = (int)strcspn(why, "\n)");
    const char *name = ty_arena_printf(r->arena, "%s.%s", s->name, field->key);
    const char *how = origin->kind == TY_ORIGIN_PRESET
                          ? ty_arena_printf(r->arena, "guess of %s: %.*s", origin->name, len, why)
                          : "guess: the default";
    if (name == NULL || how == NULL) {
        wrong(r, ty_fail_memory(r->err));
        return;
    }
    if (index_of(r->out, name) < r->out->n) {
        return;
    }
    const uint32_t i = r->out->n++;
    r->out->correlation[i][i] = 1;
    r->out->key[i] = (struct ty_uncertain_key){
        .name = name, .field = field, .value = value, .error = error, .guess = true, .why = how};
}

/* ---- all of it ---- */

static int read_lists(struct reader *r)
{
    const struct ty_uncertainty_options *o = &r->c->uncertainty;
    each_entry(r, "errors", &o->errors, read_error);
    if (r->code == 0) {
        each_entry(r, "correlations", &o->correlations, read_correlation);
    }
    ty_gsl_quiet();
    return r->code < 0 ? r->code : check_together(r);
}

int ty_uncertain_read(const struct ty_config *config, struct ty_uncertain *uncertain,
                      struct ty_arena *arena, struct ty_err *err)
{
    struct reader r = {.c = config, .out = uncertain, .arena = arena, .err = err};
    const int rc = read_lists(&r);
    if (rc < 0) {
        return rc;
    }
    drop_gone(&r);
    for (int i = 0; i < TY_N_SECTIONS && config->uncertainty.guesses; i++) {
        const enum ty_section_index section = (enum ty_section_index)i;
        for (uint32_t k = 0; ty_config_matters(section) && k < config->sections[i].n_fields; k++) {
            add_guess(&r, section, k);
        }
    }
    return r.code;
}

int ty_uncertain_check(const struct ty_config *config, struct ty_err *err)
{
    const struct ty_uncertainty_options *o = &config->uncertainty;
    if (o->errors.n + o->correlations.n == 0) {
        return 0;
    }
    struct ty_uncertain *u = calloc(1, sizeof(*u));
    struct ty_arena arena = {.head = NULL};
    struct reader r = {.c = config, .out = u, .arena = &arena, .err = err};
    const int rc = u != NULL ? read_lists(&r) : ty_fail_memory(err);
    ty_arena_release(&arena);
    free(u);
    return rc;
}
