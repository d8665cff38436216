/* chakra_files.c - the files of a Chakra execution trace: one of each rank, one of its groups. */
#include <stdlib.h>
#include <unistd.h>

#include "sim/base/compiler.h"
#include "sim/base/file.h"
#include "sim/base/number_text.h"
#include "sim/document/yaml.h"
#include "sim/exchange/read/traced.h"

#define FILE_MAX_B ((size_t)4 << 30)

/* ---- groups ---- */

static int by_rank(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return TY_ORDER(*x, *y);
}

static int read_members(struct ty_traced *job, const struct ty_doc *doc, const struct ty_node *node,
                        uint32_t number, struct ty_arena *arena, struct ty_err *err)
{
    struct ty_traced_group *g = &job->group[number];
    const struct ty_place at = ty_node_place(doc, node);
    g->rank = ty_arena_array(arena, uint32_t, node->n_children + 1u);
    if (g->rank == NULL) {
        return ty_fail_memory(err);
    }
    for (const struct ty_node *item = node->first; item != NULL; item = item->next) {
        const char *text = item->kind == TY_NODE_SCALAR && item->text != NULL ? item->text : "";
        uint32_t rank = 0;
        if (!ty_scan_number(&text, NULL, UINT32_MAX, &rank) || *text != '\0' ||
            rank >= job->n_ranks) {
            return ty_fail_at(err, TY_EINPUT, &at, "group %u: ranks are 0 to %u", (unsigned)number,
                              (unsigned)(job->n_ranks - 1));
        }
        for (uint32_t i = 0; i < g->n; i++) {
            if (g->rank[i] == rank) {
                return ty_fail_at(err, TY_EINPUT, &at, "group %u: rank %u is there twice",
                                  (unsigned)number, (unsigned)rank);
            }
        }
        g->rank[g->n++] = rank;
    }
    qsort(g->rank, g->n, sizeof(*g->rank), by_rank);
    return g->n > 0 ? 0
                    : ty_fail_at(err, TY_EINPUT, &at, "group %u: a list of ranks is expected",
                                 (unsigned)number);
}

#define GROUPS_MAX 1000000u

static int read_groups(struct ty_traced *job, const char *path, struct ty_arena *arena,
                       struct ty_err *err)
{
    struct ty_doc doc;
    int rc = ty_doc_load(&doc, arena, path, err);
    if (rc < 0) {
        return rc;
    }
    if (doc.root == NULL || doc.root->kind != TY_NODE_MAP) {
        return ty_fail(err, TY_EINPUT, "%s: an object is expected, {\"1\": [0, 1], ...}", path);
    }
    uint32_t most = 0;
    for (int pass = 0; pass < 2 && rc == 0; pass++) {
        for (const struct ty_node *node = doc.root->first; node != NULL && rc == 0;
             node = node->next) {
            const struct ty_place at = ty_node_key_place(&doc, node);
            const char *key = node->key;
            uint32_t number = 0;
            if (!ty_scan_number(&key, NULL, GROUPS_MAX, &number) || *key != '\0' || number == 0) {
                return ty_fail_at(err, TY_EINPUT, &at,
                                  "%.40s: groups are called by whole numbers from 1 to %u",
                                  node->key, GROUPS_MAX);
            }
            most = number > most ? number : most;
            rc = pass == 0 ? 0 : read_members(job, &doc, node, number, arena, err);
        }
        if (pass == 0) {
            struct ty_traced_group *all = job->group;
            job->group = ty_arena_array(arena, struct ty_traced_group, most + 1u);
            if (job->group == NULL) {
                return ty_fail_memory(err);
            }
            job->group[0] = all[0];
            job->n_groups = most + 1;
        }
    }
    return rc;
}

/* ---- all files ---- */

static char *file_of(const char *prefix, uint32_t rank, struct ty_arena *arena)
{
    return ty_arena_printf(arena, "%s.%u.et", prefix, (unsigned)rank);
}

/* Group 0 has everybody. */
static int begin(struct ty_traced *job, const char *prefix, struct ty_arena *arena,
                 struct ty_err *err)
{
    const char *file = file_of(prefix, 0, arena);
    while (file != NULL && access(file, F_OK) == 0 && job->n_ranks < TY_TRACED_RANKS_MAX) {
        file = file_of(prefix, ++job->n_ranks, arena);
    }
    const uint32_t n = job->n_ranks > 0 ? job->n_ranks : 1;
    job->name = prefix;
    job->rank = ty_arena_array(arena, struct ty_traced_rank, n);
    job->group = ty_arena_array(arena, struct ty_traced_group, 1);
    uint32_t *all = ty_arena_array(arena, uint32_t, n);
    if (file == NULL || job->rank == NULL || job->group == NULL || all == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t r = 0; r < job->n_ranks; r++) {
        all[r] = r;
    }
    job->group[0] = (struct ty_traced_group){all, job->n_ranks};
    job->n_groups = 1;
    return job->n_ranks > 0
               ? 0
               : ty_fail(err, TY_EINPUT,
                         "%s: there is no such file; a trace is PREFIX.0.et, PREFIX.1.et, ...",
                         file);
}

int ty_traced_read_chakra(struct ty_traced *out, const char *prefix, const char *groups,
                          struct ty_arena *arena, struct ty_err *err)
{
    *out = (struct ty_traced){.n_ranks = 0};
    int rc = begin(out, prefix, arena, err);
    if (rc == 0 && groups != NULL) {
        rc = read_groups(out, groups, arena, err);
    }
    for (uint32_t r = 0; r < out->n_ranks && rc == 0; r++) {
        struct ty_arena scratch = {.head = NULL};
        const char *bytes = NULL;
        size_t n = 0;
        out->rank[r].file = file_of(prefix, r, arena);
        rc = out->rank[r].file != NULL
                 ? ty_file_read(&scratch, out->rank[r].file, FILE_MAX_B, &bytes, &n, err)
                 : ty_fail_memory(err);
        rc = rc < 0 ? rc : ty_traced_parse_chakra(out, r, bytes, n, arena, err);
        ty_arena_release(&scratch);
    }
    return rc;
}
