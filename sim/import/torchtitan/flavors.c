/* flavors.c - the model of a file of torchtitan, by its name and flavor. */
#include "sim/import/torchtitan/torchtitan.h"

#include <string.h>
#include <strings.h>

#include "sim/emit/torchtitan_flavors.h"

/* "8B", or "8B_flex", which has other attention kernels. */
static bool is_flavor(const char *given, const char *flavor)
{
    const size_t n = strlen(flavor);
    return strncasecmp(given, flavor, n) == 0 && (given[n] == '\0' || given[n] == '_');
}

/* "llama3", and other ways of training it: "llama3_simple_fsdp", "simple_fsdp.llama3". */
static bool is_model(const char *given, const char *name)
{
    const size_t n = strlen(name), all = strlen(given);
    const char *tail = all > n ? given + all - n : given;
    return (strncmp(given, name, n) == 0 && strchr("_.", given[n]) != NULL) ||
           (tail > given && strchr("_.", tail[-1]) != NULL && strcmp(tail, name) == 0);
}

/* The flavors of a name, or all names: for messages. */
static const char *known(struct ty_draft *d, const char *name)
{
    const char *list = "", *last = "";
    for (const struct ty_titan_flavor *f = ty_titan_flavors; f->name != NULL; f++) {
        const bool same = is_model(name, f->name);
        if (same || (name[0] == '\0' && strcmp(f->name, last) != 0)) {
            list = ty_draft_text(d, "%s%s%s", list, list[0] != '\0' ? ", " : "",
                                 same ? f->flavor : f->name);
        }
        last = f->name;
    }
    return list;
}

static const char instead[] =
    "give the config.json of the model as a second file, and it is taken from there";

void ty_titan_model(struct ty_flags *words)
{
    struct ty_draft *d = words->draft;
    const char *name = ty_flags_text(words, "model.name", "llama3");
    const char *given = ty_flags_text(words, "model.flavor", "debugmodel");
    struct ty_draft_from from = ty_flags_from(words, "model.flavor", TY_TITAN_RULE);
    if (ty_draft_get(d, "model.layers") != NULL) {
        return; /* a config.json said it */
    }
    if (ty_flags_find(words, "model.flavor") == NULL) {
        from = ty_flags_from(words, "model.name", "model.flavor");
        ty_draft_refuse(d, &from, "no model.flavor: of %s there is no model without one; %s", name,
                        instead);
        return;
    }
    bool any = false;
    for (const struct ty_titan_flavor *f = ty_titan_flavors; f->name != NULL; f++) {
        const bool same = is_model(name, f->name);
        any = any || same;
        if (same && is_flavor(given, f->flavor)) {
            ty_words_set_lines(d, "model", &from, f->lines);
            ty_draft_explain(d, "model.layers", "sizes are those of %s %s in torchtitan%s", f->name,
                             f->flavor, f->sure);
            return;
        }
    }
    if (!any) {
        from = ty_flags_from(words, "model.name", TY_TITAN_RULE);
    }
    ty_draft_refuse(d, &from, "no sizes of %s %s are known here (%s); %s", name, given,
                    known(d, any ? name : ""), instead);
}
