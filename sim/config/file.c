/* file.c - one file of a configuration: what it is, if it is none. */
#include <string.h>
#include <sys/stat.h>

#include "sim/base/file.h"
#include "sim/config/load.h"

/* Files that people have at hand, and what to do with them. */
static int other_file(struct ty_loader *l, const struct ty_doc *doc)
{
    if (ty_node_child(doc->root, "traceEvents")) {
        return ty_fail(l->err, TY_EINPUT,
                       "%s: a trace, not a run file; \"trainyard import kineto\" and \"trainyard "
                       "diff\" read those of PyTorch",
                       doc->file);
    }
    if (ty_node_child(doc->root, "architectures") || ty_node_child(doc->root, "model_type")) {
        return ty_fail(l->err, TY_EINPUT,
                       "%s: the configuration of a model, as Hugging Face has it, not a run file; "
                       "name it in one: model: {huggingface: %s}",
                       doc->file, doc->file);
    }
    return 0;
}

int ty_source_hold(struct ty_source *source, const struct ty_crew *crew, struct ty_arena *arena,
                   struct ty_err *err)
{
    const char *text;
    size_t len;
    if (source->text != NULL || strcmp(source->path, "-") != 0) {
        return 0;
    }
    if (crew != NULL) {
        return ty_fail(
            err, TY_EUSAGE,
            "-: processes that share work have no standard input in common; write a file");
    }
    const int rc = ty_file_read(arena, source->path, TY_YAML_MAX_BYTES, &text, &len, err);
    if (rc < 0) {
        return rc;
    }
    source->path = "<stdin>";
    source->text = text;
    return strlen(text) == len
               ? 0
               : ty_fail(err, TY_EINPUT, "<stdin>: a control character (byte 0x00); remove it");
}

int ty_loader_doc(struct ty_loader *l, struct ty_doc *doc, const char *path, const char *text,
                  bool overlay)
{
    struct ty_arena *arena = &l->config->arena;
    const int rc = text == NULL ? ty_doc_load(doc, arena, path, l->err)
                                : ty_doc_parse(doc, arena, path, text, strlen(text), l->err);
    if (rc < 0 && !doc->root) {
        struct stat status;
        if (rc == TY_EINPUT && !overlay && text == NULL && stat(path, &status) == 0 &&
            S_ISDIR(status.st_mode)) {
            ty_hint(l->err, "\"trainyard import kineto\" and \"trainyard diff\" read folders of "
                            "PyTorch profiles");
        }
        return rc;
    }
    if (!doc->root) {
        return ty_fail(l->err, TY_EINPUT, "%s: an empty file; write %s", doc->file,
                       overlay ? "sections and the keys that differ from those of the run file"
                               : "at least the sections cluster, model and layout");
    }
    const int other = other_file(l, doc);
    if (other < 0) {
        return other;
    }
    if (doc->root->kind != TY_NODE_MAP) {
        const struct ty_place at = ty_node_place(doc, doc->root);
        return ty_fail_at(l->err, TY_EINPUT, &at,
                          "%s where sections are due; write \"cluster:\", \"model:\", \"layout:\" "
                          "and keys below each",
                          doc->root->kind == TY_NODE_LIST ? "a list" : "one value");
    }
    l->code = l->code < 0 ? l->code : rc;
    return 0;
}
