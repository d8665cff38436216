/* files.c - the files of a profile: which there are, whose each is, and their clocks. */
#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/base/path.h"
#include "traces/profile/internal.h"

#define MAX_FILES   16384u
#define MAX_SPAN_NS ((int64_t)500000000000000) /* nearly six days */

struct reading {
    struct ty_profile *profile;
    struct ty_profile_store *store;
    const char **paths; /* [n_paths] */
    bool *told;         /* [n_paths]: the rank is known from the file or its name */
    int64_t *base_ns;   /* [n_paths] */
    uint32_t n_paths, cap_paths;
    struct ty_profile_groups groups;
    struct ty_err *err;
};

static int no_memory(struct reading *r)
{
    return ty_fail_memory(r->err);
}

/* ---- which files ---- */

static int add_path(struct reading *r, const char *path)
{
    if (r->n_paths == MAX_FILES) {
        return ty_fail(r->err, TY_ELIMIT, "more than %u profiles", MAX_FILES);
    }
    char *copy = ty_arena_strndup(&r->store->arena, path, strlen(path));
    if (copy == NULL || !ty_profile_grow(&r->paths, r->n_paths, &r->cap_paths, sizeof(*r->paths))) {
        return no_memory(r);
    }
    r->paths[r->n_paths++] = copy;
    return 0;
}

/* By name; numbers in them by value, so that rank-2 comes before rank-10. */
static int by_name(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    while (*x != '\0' && *y != '\0') {
        if (isdigit((unsigned char)*x) && isdigit((unsigned char)*y)) {
            x += strspn(x, "0");
            y += strspn(y, "0");
            const size_t n = strspn(x, "0123456789"), k = strspn(y, "0123456789");
            const int order = n != k ? (n < k ? -1 : 1) : strncmp(x, y, n);
            if (order != 0) {
                return order;
            }
            x += n;
            y += k;
        } else if (*x != *y) {
            return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
        } else {
            x++;
            y++;
        }
    }
    return (*x != '\0') - (*y != '\0');
}

static int add_folder(struct reading *r, const char *path)
{
    const uint32_t from = r->n_paths;
    DIR *dir = opendir(path);
    int rc = 0;
    if (dir == NULL) {
        return ty_fail(r->err, ty_code_of_errno(errno), "%s: cannot be opened (%s)", path,
                       ty_errno_text(errno));
    }
    for (struct dirent *entry; rc == 0 && (entry = readdir(dir)) != NULL;) {
        const char *name = entry->d_name;
        if (name[0] != '.' && (ty_path_ends(name, ".json") || ty_path_ends(name, ".json.gz"))) {
            char *file = ty_arena_printf(&r->store->arena, "%s%s%s", path,
                                         ty_path_ends(path, "/") ? "" : "/", name);
            rc = file != NULL ? add_path(r, file) : no_memory(r);
        }
    }
    (void)closedir(dir);
    if (rc == 0 && r->n_paths == from) {
        return ty_fail(r->err, TY_EINPUT,
                       "%s: a folder without profiles; they end in .json or .json.gz", path);
    }
    if (rc == 0) {
        qsort(r->paths + from, r->n_paths - from, sizeof(*r->paths), by_name);
    }
    return rc;
}

/* ---- whose ---- */

/* The number behind the last "rank" of the file's name: rank-3, rank3, rank_3. */
static bool rank_in_name(const char *path, uint32_t *rank)
{
    const char *name = ty_path_name(path);
    bool found = false;
    for (const char *p = name; (p = strstr(p, "rank")) != NULL;) {
        p += strlen("rank");
        const char *digits = *p == '-' || *p == '_' ? p + 1 : p;
        const size_t n = strspn(digits, "0123456789");
        if (n > 0 && n < 9) {
            *rank = (uint32_t)strtoul(digits, NULL, 10);
            found = true;
        }
    }
    return found;
}

static int by_rank(const void *a, const void *b)
{
    const struct ty_profile_rank *x = a, *y = b;
    return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : strcmp(x->file, y->file);
}

/* Files that do not say get the smallest ranks that are left. */
static void number_rest(struct reading *r)
{
    struct ty_profile *p = r->profile;
    uint32_t next = 0;
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        for (uint32_t k = 0; !r->told[i] && k < p->n_ranks; k++) {
            if (r->told[k] && p->ranks[k].rank == next) {
                next++;
                k = UINT32_MAX;
            }
        }
        if (!r->told[i]) {
            p->ranks[i].rank = next++;
        }
    }
}

static int check_ranks(struct reading *r)
{
    struct ty_profile *p = r->profile;
    int code = 0;
    qsort(p->ranks, p->n_ranks, sizeof(*p->ranks), by_rank);
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        const struct ty_profile_rank *rank = &p->ranks[i];
        if (i > 0 && rank->rank == rank[-1].rank) {
            code = ty_fail(r->err, TY_EINPUT,
                           "%s: of rank %u, as is %s; give one file a rank, of one recording",
                           rank->file, (unsigned)rank->rank, rank[-1].file);
        }
        if (rank->world != 0 && rank->rank >= rank->world) {
            code = ty_fail(r->err, TY_EINPUT, "%s: rank %u of a run of %u", rank->file,
                           (unsigned)rank->rank, (unsigned)rank->world);
        }
        if (rank->world != 0 && p->world_told && p->world != rank->world) {
            code = ty_fail(r->err, TY_EINPUT,
                           "%s: of a run of %u ranks, others of %u; give files of one run",
                           rank->file, (unsigned)rank->world, (unsigned)p->world);
        }
        if (rank->world != 0) {
            p->world = rank->world;
            p->world_told = true;
        } else if (!p->world_told && rank->rank >= p->world) {
            p->world = rank->rank + 1;
        }
    }
    return code;
}

/* ---- the whole ---- */

static void release_rank(struct ty_profile_rank *rank)
{
    free(rank->kernels);
    free(rank->comms);
    free(rank->ops);
    free(rank->steps);
}

/* All but the arrays of its rank. */
static void release_file(struct ty_profile_file *file)
{
    free(file->launches);
    free(file->externals);
    free(file->calls);
    free(file->pgs);
    free(file->pg_names);
    free(file->pg_ranks);
    free(file->pg_descs);
}

/* Times that can be added up, whatever a hostile file says: sums over MAX_FILES have 63 bits. */
static int check_times(const struct ty_profile_rank *rank, struct ty_err *err)
{
    int64_t sum = 0, end = INT64_MIN;
    for (uint32_t i = 0; i < rank->n_kernels; i++) {
        const struct ty_profile_kernel *k = &rank->kernels[i];
        end = k->start_ns + k->dur_ns > end ? k->start_ns + k->dur_ns : end;
        sum += k->dur_ns;
        if (sum > MAX_SPAN_NS) {
            return ty_fail(err, TY_EINPUT,
                           "%s: kernels run for more than five days, one after another; a profile "
                           "is of a few steps",
                           rank->file);
        }
    }
    if (rank->n_kernels > 0 && end - rank->kernels[0].start_ns > MAX_SPAN_NS) {
        return ty_fail(err, TY_EINPUT,
                       "%s: from the first kernel to the last are %.3g s, more than five days; a "
                       "profile is of a few steps",
                       rank->file, 1e-9 * (double)(end - rank->kernels[0].start_ns));
    }
    return 0;
}

static int read_file(struct reading *r, uint32_t i)
{
    struct ty_profile_file file = {.base_ns = 0};
    struct ty_profile_rank *rank = &r->profile->ranks[i];
    int rc = ty_profile_parse(&file, r->store, r->paths[i], r->err);
    if (rc == 0 && file.rank.n_kernels == 0) {
        rc = ty_fail(
            r->err, TY_EINPUT, "%s: no kernels of a GPU in it; record with ProfilerActivity.CUDA%s",
            r->paths[i], file.rank.n_ops > 0 ? "" : " (of trainyard: --trace kineto:FOLDER)");
    }
    rc = rc == 0 ? ty_profile_link(&file, r->store, r->err) : rc;
    rc = rc == 0 ? check_times(&file.rank, r->err) : rc;
    rc = rc == 0 ? ty_profile_find_groups(&r->groups, &file, r->err) : rc;
    r->told[i] = file.has_rank || rank_in_name(r->paths[i], &file.rank.rank);
    r->base_ns[i] = file.base_ns;
    r->profile->own = r->profile->own || file.own;
    *rank = file.rank;
    release_file(&file);
    r->profile->n_ranks++;
    return rc;
}

/* Times of a file from its base to times from the earliest base. */
static int shift(struct reading *r, struct ty_profile_rank *rank, int64_t by)
{
    const int64_t most = ((int64_t)1 << 62) - by;
    for (uint32_t i = 0; i < rank->n_kernels; i++) {
        if (rank->kernels[i].start_ns >= most) {
            return ty_fail(r->err, TY_EINPUT,
                           "%s: a kernel that starts more than a century after 1970", rank->file);
        }
        rank->kernels[i].start_ns += by;
    }
    for (uint32_t i = 0; i < rank->n_ops; i++) {
        rank->ops[i].start_ns = rank->ops[i].start_ns < most ? rank->ops[i].start_ns + by : most;
    }
    for (uint32_t i = 0; i < rank->n_steps; i++) {
        struct ty_profile_step *step = &rank->steps[i];
        step->start_ns = step->start_ns < most ? step->start_ns + by : most;
        step->end_ns = step->end_ns < most ? step->end_ns + by : most;
    }
    return 0;
}

static int read_files(struct reading *r)
{
    struct ty_profile *p = r->profile;
    int rc = 0;
    assert(r->n_paths > 0);
    p->ranks = calloc(r->n_paths, sizeof(*p->ranks));
    r->told = calloc(r->n_paths, sizeof(*r->told));
    r->base_ns = calloc(r->n_paths, sizeof(*r->base_ns));
    if (p->ranks == NULL || r->told == NULL || r->base_ns == NULL) {
        return no_memory(r);
    }
    for (uint32_t i = 0; i < r->n_paths; i++) {
        const int one = read_file(r, i); /* all wrong files are told of */
        rc = rc < 0 ? rc : one;
    }
    p->base_ns = r->base_ns[0];
    for (uint32_t i = 1; i < r->n_paths; i++) {
        p->base_ns = r->base_ns[i] < p->base_ns ? r->base_ns[i] : p->base_ns;
    }
    for (uint32_t i = 0; i < r->n_paths && rc == 0; i++) {
        rc = shift(r, &p->ranks[i], r->base_ns[i] - p->base_ns);
    }
    if (rc == 0) {
        number_rest(r);
        rc = check_ranks(r);
    }
    return rc;
}

int ty_profile_read(struct ty_profile **profile, const char *const *paths, size_t n,
                    struct ty_err *err)
{
    struct ty_profile *p = calloc(1, sizeof(*p));
    struct ty_profile_store *store = calloc(1, sizeof(*store));
    struct reading r = {
        .profile = p, .store = store, .groups = {.profile = p, .store = store}, .err = err};
    *profile = NULL;
    if (p == NULL || store == NULL || ty_profile_store_init(store) != 0) {
        free(p);
        free(store);
        return ty_fail_memory(err);
    }
    p->store = store;
    int rc = n > 0 ? 0 : ty_fail(err, TY_EUSAGE, "no profile to read");
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct stat about;
        const bool folder = stat(paths[i], &about) == 0 && S_ISDIR(about.st_mode);
        rc = folder ? add_folder(&r, paths[i]) : add_path(&r, paths[i]);
    }
    rc = rc == 0 ? read_files(&r) : rc;
    free(r.paths);
    free(r.told);
    free(r.base_ns);
    ty_profile_groups_release(&r.groups);
    if (rc != 0) {
        ty_profile_free(p);
        return rc;
    }
    *profile = p;
    return 0;
}

void ty_profile_free(struct ty_profile *profile)
{
    if (profile == NULL) {
        return;
    }
    for (uint32_t i = 0; i < profile->n_ranks && profile->ranks != NULL; i++) {
        release_rank(&profile->ranks[i]);
    }
    free(profile->ranks);
    free(profile->groups);
    ty_profile_store_release(profile->store);
    free(profile->store);
    free(profile);
}
