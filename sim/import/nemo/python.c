/* python.c - the settings of a recipe in Python, read and never run: keyword arguments and their
 * defaults, `tensor_parallelism: int = 4`, and flat assignments, `cfg.model.num_layers = 32`.
 *
 * What is no literal is in doubt, as is what stands below an if; doubt is refused where the word
 * counts, and the YAML that a run writes (run_config.yaml) has it all. */
#include "sim/import/nemo/python.h"

#include <string.h>

#include "sim/base/number_text.h"

#define CONSTANTS 256u

static const char dumped[] = "write the YAML that a run dumps (run_config.yaml) and import that";

struct constant {
    const char *name, *value;
};

struct walk {
    struct ty_draft *draft;
    struct ty_flags *words;
    const struct ty_draft_file *file;
    const struct ty_python_token *token; /* [n] */
    uint32_t n;
    const char *only;     /* the one function that is read; NULL: all but those left out */
    const char *function; /* that what comes stands in; "" */
    uint32_t branch;      /* column of the if, for or try that it stands in; 0: none */
    struct constant constants[CONSTANTS];
    uint32_t n_constants;
};

static bool is(const struct ty_python_token *t, const char *text)
{
    return t->kind != TY_PYTHON_STRING && strcmp(t->text, text) == 0;
}

static struct ty_draft_from from_of(const struct walk *w, const struct ty_python_token *t)
{
    return (struct ty_draft_from){
        .word = t->text,
        .at = {.file = w->file->path, .source = w->file->text, .line = t->line, .col = t->col}};
}

/* ---- values ---- */

static const char *constant(const struct walk *w, const char *name)
{
    for (uint32_t i = w->n_constants; i > 0; i--) {
        if (strcmp(w->constants[i - 1].name, name) == 0) {
            return w->constants[i - 1].value;
        }
    }
    return NULL;
}

static const char *without_underscores(struct ty_draft *d, const char *number)
{
    char *copy = ty_arena_strndup(d->arena, number, strlen(number));
    size_t n = 0;
    for (const char *c = number; copy != NULL && *c != '\0'; c++) {
        if (*c != '_') {
            copy[n++] = *c;
        }
    }
    if (copy != NULL) {
        copy[n] = '\0';
    }
    return copy != NULL ? copy : "";
}

/* One literal, or a name that stands for one; NULL: it is code. */
static const char *literal(const struct walk *w, const struct ty_python_token *t)
{
    switch (t->kind) {
    case TY_PYTHON_STRING:
        return t->text;
    case TY_PYTHON_NUMBER:
        return without_underscores(w->draft, t->text);
    case TY_PYTHON_NAME:
        return is(t, "True") || is(t, "False") || is(t, "None") ? t->text : constant(w, t->text);
    case TY_PYTHON_OTHER:
    case TY_PYTHON_LINE:
        break;
    }
    return NULL;
}

/* Products of whole numbers, 8 * 512. */
static const char *product(const struct walk *w, uint32_t begin, uint32_t end)
{
    double value = 1;
    for (uint32_t i = begin; i < end; i += 2) {
        const char *factor = literal(w, &w->token[i]);
        char *behind;
        if (factor == NULL || (i + 1 < end && !is(&w->token[i + 1], "*"))) {
            return NULL;
        }
        value *= ty_strtod(factor, &behind);
        if (behind == factor || *behind != '\0') {
            return NULL;
        }
    }
    return ty_draft_text(w->draft, "%.15g", value);
}

/* The value of tokens begin..end, or NULL. "bf16_mixed()" is called as it is named. */
static const char *value_of(const struct walk *w, uint32_t begin, uint32_t end)
{
    const struct ty_python_token *t = &w->token[begin];
    if (end == begin + 1) {
        return literal(w, t);
    }
    if (end == begin + 3 && t->kind == TY_PYTHON_NAME && is(t + 1, "(") && is(t + 2, ")")) {
        return t->text;
    }
    if (end == begin + 2 && is(t, "-") && t[1].kind == TY_PYTHON_NUMBER) {
        return ty_draft_text(w->draft, "-%s", t[1].text);
    }
    return end > begin && (end - begin) % 2 == 1 ? product(w, begin, end) : NULL;
}

/* Behind the value that begins at `begin`: its comma, bracket or line end. */
static uint32_t end_of(const struct walk *w, uint32_t begin, uint32_t depth)
{
    uint32_t i = begin;
    while (i < w->n && w->token[i].kind != TY_PYTHON_LINE &&
           !(w->token[i].depth <= depth && (is(&w->token[i], ",") || w->token[i].depth < depth))) {
        i++;
    }
    return i;
}

/* ---- words ---- */

static void add_items(struct walk *w, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin + 1; i < end; i++) {
        const char *item = literal(w, &w->token[i]);
        if (item != NULL) {
            ty_flags_value(w->words, item, NULL);
        }
    }
}

static void add(struct walk *w, const struct ty_python_token *name, const char *word,
                uint32_t begin, uint32_t end)
{
    const struct ty_draft_from from = from_of(w, name);
    const char *value = value_of(w, begin, end);
    const bool call = value == NULL && end > begin + 1 && w->token[begin].kind == TY_PYTHON_NAME &&
                      is(&w->token[begin + 1], "(");
    if (value != NULL && strcmp(value, "None") == 0) {
        ty_draft_idle(w->draft, &from);
        return;
    }
    if (call && strchr(word, '.') == NULL) {
        return; /* an argument that is an object: its own arguments are read */
    }
    const uint32_t before = w->words->n;
    ty_flags_put(w->words, word, &from,
                 w->branch > 0
                     ? ty_draft_text(w->draft, "it stands below an if or a loop; %s", dumped)
                     : NULL);
    if (w->words->n == before || begin == end) {
        return;
    }
    if (value == NULL && is(&w->token[begin], "[")) {
        add_items(w, begin, end);
    } else {
        ty_flags_value(w->words, value != NULL ? value : w->token[begin].text,
                       value == NULL ? ty_draft_text(w->draft, "it is code; %s", dumped) : NULL);
    }
}

static void remember(struct walk *w, const char *name, const char *value)
{
    if (value != NULL && w->n_constants < CONSTANTS) {
        w->constants[w->n_constants++] = (struct constant){name, value};
    }
}

/* A configuration that a function makes: what it sets is not known. */
static void note_helper(struct walk *w, uint32_t i)
{
    static const char *const made[] = {"cfg", "config", "recipe"};
    const struct ty_python_token *name = &w->token[i], *by = &w->token[i + 2];
    for (size_t k = 0; k < TY_COUNT(made) && i + 3 < w->n; k++) {
        if (is(name, made[k]) && by->kind == TY_PYTHON_NAME && is(by + 1, "(") &&
            !ty_text_begins(by->text, "run.") && !is(by, "ConfigContainer")) {
            const struct ty_draft_from from = from_of(w, by);
            ty_draft_remark(w->draft, &from,
                            "what this function sets is not known here; for all of it, %s", dumped);
        }
    }
}

/* "cfg.model.x = 4" is the word model.x; "x = 4" a name for 4. */
static uint32_t assign(struct walk *w, uint32_t i)
{
    const struct ty_python_token *name = &w->token[i];
    const uint32_t end = end_of(w, i + 2, 0);
    const char *dot = strchr(name->text, '.');
    if (dot != NULL) {
        add(w, name, dot + 1, i + 2, end);
    } else if (w->branch == 0) {
        remember(w, name->text, value_of(w, i + 2, end));
        note_helper(w, i);
    }
    return i + 2;
}

/* "name=4" between brackets, and "name: int = 4" between those of a def. */
static uint32_t argument(struct walk *w, uint32_t i)
{
    const struct ty_python_token *name = &w->token[i];
    uint32_t equals = i + 1;
    if (is(&w->token[equals], ":")) {
        while (equals < w->n && w->token[equals].kind != TY_PYTHON_LINE &&
               !is(&w->token[equals], "=") &&
               !(w->token[equals].depth <= name->depth &&
                 (is(&w->token[equals], ",") || w->token[equals].depth < name->depth))) {
            equals++;
        }
    }
    if (equals >= w->n || !is(&w->token[equals], "=")) {
        return i + 1;
    }
    const uint32_t end = end_of(w, equals + 1, name->depth);
    add(w, name, name->text, equals + 1, end);
    if (equals > i + 1) {
        remember(w, name->text, value_of(w, equals + 1, end));
    }
    return equals + 1;
}

/* ---- models and worlds by name ---- */

static void name_model(struct walk *w, const struct ty_python_token *t)
{
    const struct ty_draft_from from = from_of(w, t);
    const uint32_t before = w->words->n;
    ty_flags_put(w->words, TY_NEMO_MODEL, &from, NULL);
    if (w->words->n > before) {
        ty_flags_value(w->words, t->text, NULL);
    }
}

/* "..._1024gpu_h100_..." */
static void name_world(struct walk *w, const struct ty_python_token *t)
{
    struct ty_draft *d = w->draft;
    const struct ty_draft_from from = from_of(w, t);
    for (const char *at = strchr(t->text, '_'); at != NULL; at = strchr(at + 1, '_')) {
        const char *digits = at + 1;
        uint32_t n;
        if (ty_scan_number(&digits, NULL, 1u << 24, &n) && ty_text_begins(digits, "gpu")) {
            d->gpus = n;
            d->gpus_from = from;
        }
    }
    ty_draft_notice_gpu(d, t->text, &from);
}

/* ---- functions ---- */

static bool is_left_out(const struct walk *w, const char *function)
{
    if (w->only != NULL) {
        return strcmp(function, w->only) != 0;
    }
    return strstr(function, "finetune") != NULL || strstr(function, "performance") != NULL;
}

/* Whether a function is a recipe of its own, of which a file may have many. */
static bool is_recipe(const char *function)
{
    return strstr(function, "gpu") != NULL &&
           (strstr(function, "config") != NULL || strstr(function, "recipe") != NULL);
}

static bool is_definition(const struct walk *w, uint32_t i)
{
    return is(&w->token[i], "def") && w->token[i].depth == 0 && i + 1 < w->n &&
           w->token[i + 1].kind == TY_PYTHON_NAME;
}

/* Of several recipes one has to be named; false: refused. */
static bool choose(struct walk *w)
{
    const char *list = "", *one = NULL;
    uint32_t n = 0;
    bool found = false;
    w->only = ty_draft_env(w->draft, "RECIPE");
    for (uint32_t i = 0; i < w->n; i++) {
        const char *name = is_definition(w, i) ? w->token[i + 1].text : "";
        found = found || (w->only != NULL && strcmp(name, w->only) == 0);
        if (is_recipe(name)) {
            list = n < 8 ? ty_draft_text(w->draft, "%s%s%s", list, n > 0 ? ", " : "", name) : list;
            one = name;
            n++;
        }
    }
    const struct ty_draft_from from = {.word = w->file->path};
    if (w->only != NULL && !found) {
        ty_draft_refuse(w->draft, &from, "no function %s in it; there are %s", w->only, list);
        return false;
    }
    if (w->only == NULL && n > 1) {
        ty_draft_refuse(w->draft, &from,
                        "%u recipes are in it (%s%s); say which with --env "
                        "RECIPE=NAME",
                        (unsigned)n, list, n > 8 ? ", ..." : "");
        return false;
    }
    w->only = w->only != NULL ? w->only : one;
    return true;
}

/* ---- the walk ---- */

/* What the first word of a line changes. */
static void begin_line(struct walk *w, uint32_t i)
{
    static const char *const branches[] = {"if", "elif", "else", "for", "while", "try", "except"};
    const struct ty_python_token *t = &w->token[i];
    bool opens = false;
    for (size_t b = 0; b < TY_COUNT(branches); b++) {
        opens = opens || is(t, branches[b]);
    }
    if (w->branch > 0 && t->col <= w->branch) {
        w->branch = 0;
    }
    if (opens && w->branch == 0) {
        w->branch = t->col;
    }
    if (is_definition(w, i)) {
        w->function = w->token[i + 1].text;
        if (!is_left_out(w, w->function)) {
            name_world(w, &w->token[i + 1]);
        }
    } else if (t->col == 1) {
        w->function = "";
    }
}

static uint32_t visit(struct walk *w, uint32_t i)
{
    const struct ty_python_token *t = &w->token[i];
    const bool left_out = w->function[0] != '\0' && is_left_out(w, w->function);
    if (left_out) {
        return i + 1;
    }
    const bool hub = t->kind == TY_PYTHON_STRING && strchr(t->text, '/') != NULL;
    const bool class = t->kind == TY_PYTHON_NAME && strstr(t->text, "Config") != NULL;
    if (hub || class) {
        name_model(w, t);
    }
    if (t->kind != TY_PYTHON_NAME || i + 1 >= w->n) {
        return i + 1;
    }
    if (t->depth > 0) {
        return argument(w, i);
    }
    const bool first = i == 0 || w->token[i - 1].kind == TY_PYTHON_LINE;
    return first && is(&w->token[i + 1], "=") ? assign(w, i) : i + 1;
}

void ty_nemo_python(struct ty_flags *words, const struct ty_draft_file *file)
{
    struct walk w = {.draft = words->draft, .words = words, .file = file, .function = ""};
    w.token = ty_python_tokens(words->draft, file, &w.n);
    if (w.token == NULL || !choose(&w)) {
        return;
    }
    for (uint32_t i = 0; i < w.n;) {
        if (i == 0 || w.token[i - 1].kind == TY_PYTHON_LINE) {
            begin_line(&w, i);
        }
        i = visit(&w, i);
    }
    for (uint32_t i = 0; i < w.n; i++) { /* when nothing else names the model */
        if (is_definition(&w, i) && !is_left_out(&w, w.token[i + 1].text)) {
            name_model(&w, &w.token[i + 1]);
        }
    }
}
