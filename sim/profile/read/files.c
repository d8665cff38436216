/* files.c - the files of a profile: which there are, whose each is, and their clocks. */
#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/base/number_text.h"
#include "sim/base/path.h"
#include "sim/profile/read/read.h"

/* ---- groups ---- */

#define MAX_GROUPS 65536u
#define MAX_RANK   999999999u

static int ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return TY_ORDER(x, y);
}

/* "[0, 1, 2]" as ranks; they are not whole ("...") unless it is such a list. */
static void parse_ranks(struct ty_arena *arena, const char *text, struct ty_profile_pg *pg)
{
    const size_t len = strlen(text);
    uint32_t n = 0;
    uint32_t *ranks = ty_arena_array(arena, uint32_t, len / 2 + 1);
    if (ranks == NULL || len < 3 || text[0] != '[' || text[len - 1] != ']') {
        return;
    }
    for (const char *p = text + 1; *p != ']' && *p != '\0';) {
        if (!ty_scan_number(&p, NULL, MAX_RANK, &ranks[n++])) {
            return;
        }
        p += strspn(p, ", ");
    }
    pg->ranks = ranks;
    pg->n = n;
    pg->whole = n > 0;
}

/* What is said of a group: by the list on the kernel, if it is whole; by distributedInfo. */
static struct ty_profile_pg describe(const struct ty_profile_groups *t,
                                     const struct ty_profile_file *file, uint32_t comm)
{
    const struct ty_profile_named *named = &file->named[comm];
    const struct ty_profile_pg *listed = NULL;
    struct ty_profile_pg pg = {.name = named->name, .desc = named->desc};
    for (uint32_t i = 0; i < file->n_pgs && listed == NULL; i++) {
        listed = file->pgs[i].name == pg.name ? &file->pgs[i] : NULL;
    }
    parse_ranks(&t->store->arena, t->store->text[named->ranks], &pg);
    if (!pg.whole && listed != NULL) {
        pg.ranks = listed->ranks;
        pg.n = listed->n;
        pg.whole = listed->whole;
    }
    pg.desc = pg.desc == 0 && listed != NULL ? listed->desc : pg.desc;
    if (pg.whole) {
        qsort(pg.ranks, pg.n, sizeof(*pg.ranks), ascending);
    } else {
        pg.n = pg.n != 0 ? pg.n : file->rank.comms[comm].group_size;
    }
    return pg;
}

/* The number of a group by a text that stands for it: 1 + the number, 0 unless it is known; NULL
 * when memory is exhausted. */
static uint32_t *number_of(struct ty_profile_groups *t, const uint32_t *key, uint32_t n)
{
    const uint32_t text = ty_profile_intern(t->store, (const char *)key, n * sizeof(*key));
    if (text >= t->n_of_text && text != TY_PROFILE_NONE) {
        const uint32_t cap = t->store->cap_texts;
        uint32_t *wider = realloc(t->of_text, cap * sizeof(*wider));
        if (wider == NULL) {
            return NULL;
        }
        memset(wider + t->n_of_text, 0, (cap - t->n_of_text) * sizeof(*wider));
        t->of_text = wider;
        t->n_of_text = cap;
    }
    return text != TY_PROFILE_NONE ? &t->of_text[text] : NULL;
}

/* By the ranks, as far as they are known. */
static uint32_t *number_of_group(struct ty_profile_groups *t, const struct ty_profile_pg *pg)
{
    const uint32_t n = pg->whole ? pg->n : 0;
    uint32_t *key = malloc(((size_t)n + 3) * sizeof(*key)), *number = NULL;
    if (key != NULL) {
        key[0] = pg->name;
        key[1] = pg->n;
        key[2] = pg->whole;
        memcpy(key + 3, n > 0 ? pg->ranks : key, n * sizeof(*key));
        number = number_of(t, key, n + 3);
    }
    free(key);
    return number;
}

/* Gives a group its number among the profile's, new or known: 1 + it. */
static int find_group(struct ty_profile_groups *t, const struct ty_profile_pg *pg, uint32_t *out,
                      struct ty_err *err)
{
    struct ty_profile *p = t->profile;
    uint32_t *number = number_of_group(t, pg);
    if (number == NULL || !TY_PROFILE_GROW(p->groups, p->n_groups, t->cap_groups)) {
        return ty_fail_memory(err);
    }
    if (*number == 0) {
        if (p->n_groups == MAX_GROUPS) {
            return ty_fail(err, TY_ELIMIT, "more than %u process groups", MAX_GROUPS);
        }
        p->groups[p->n_groups] = (struct ty_profile_group){
            .name = pg->name, .desc = pg->desc, .ranks = pg->whole ? pg->ranks : NULL, .n = pg->n};
        *number = ++p->n_groups;
    }
    *out = *number;
    return 0;
}

/* Numbers the groups of the file's communications among those of the profile. 0, TY_ENOMEM, or
 * TY_ELIMIT with a message. */
static int profile_find_groups(struct ty_profile_groups *t, struct ty_profile_file *file,
                               struct ty_err *err)
{
    for (uint32_t c = 0; c < file->rank.n_comms; c++) {
        struct ty_profile_comm *comm = &file->rank.comms[c];
        const struct ty_profile_named *named = &file->named[c];
        /* as it is called in this file, which no other group is: the third word is never 0 or 1 */
        const uint32_t key[] = {named->name, named->ranks, t->profile->n_ranks + 2,
                                comm->group_size};
        uint32_t *known, number;
        if (named->name == 0 && named->ranks == 0) {
            continue; /* nothing is said */
        }
        known = number_of(t, key, TY_COUNT(key));
        if (known == NULL) {
            return ty_fail_memory(err);
        }
        number = *known;
        if (number == 0) {
            const uint32_t text = (uint32_t)(known - t->of_text);
            const struct ty_profile_pg pg = describe(t, file, c);
            const int rc = find_group(t, &pg, &number, err);
            if (rc < 0) {
                return rc;
            }
            t->of_text[text] = number; /* what is known may have moved */
        }
        comm->group = number - 1;
    }
    return 0;
}

/* ---- files ---- */

#define MAX_FILES   16384u
#define MAX_NAMED   99999999u                  /* rank in a file's name */
#define MAX_SPAN_NS ((int64_t)500000000000000) /* nearly six days */

struct source {
    const char *path;
    bool told; /* the rank is known from the file or its name */
    int64_t base_ns;
};

struct reading {
    struct ty_profile *profile;
    struct ty_profile_store *store;
    struct source *sources; /* [n], in the order of the profile's ranks until they are checked */
    uint32_t n, cap;
    struct ty_profile_groups groups;
    struct ty_err *err;
};

/* ---- which files ---- */

static int add_path(struct reading *r, const char *path)
{
    if (r->n == MAX_FILES) {
        return ty_fail(r->err, TY_ELIMIT, "more than %u profiles", MAX_FILES);
    }
    char *copy = ty_arena_strndup(&r->store->arena, path, strlen(path));
    if (copy == NULL || !TY_PROFILE_GROW(r->sources, r->n, r->cap)) {
        return ty_fail_memory(r->err);
    }
    r->sources[r->n++] = (struct source){.path = copy};
    return 0;
}

/* By name; numbers in them by value, so that rank-2 comes before rank-10. */
static int by_name(const void *a, const void *b)
{
    const char *x = ((const struct source *)a)->path, *y = ((const struct source *)b)->path;
    while (*x != '\0' && *y != '\0') {
        if (isdigit((unsigned char)*x) && isdigit((unsigned char)*y)) {
            x += strspn(x, "0");
            y += strspn(y, "0");
            const size_t n = strspn(x, "0123456789"), k = strspn(y, "0123456789");
            const int order = n != k ? TY_ORDER(n, k) : strncmp(x, y, n);
            if (order != 0) {
                return order;
            }
            x += n;
            y += k;
        } else if (*x != *y) {
            return TY_ORDER((unsigned char)*x, (unsigned char)*y);
        } else {
            x++;
            y++;
        }
    }
    return (*x != '\0') - (*y != '\0');
}

static int add_folder(struct reading *r, const char *path)
{
    const uint32_t from = r->n;
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
            rc = file != NULL ? add_path(r, file) : ty_fail_memory(r->err);
        }
    }
    (void)closedir(dir);
    if (rc == 0 && r->n == from) {
        return ty_fail(r->err, TY_EINPUT,
                       "%s: a folder without profiles; they end in .json or .json.gz", path);
    }
    if (rc == 0) {
        qsort(r->sources + from, r->n - from, sizeof(*r->sources), by_name);
    }
    return rc;
}

/* ---- whose ---- */

/* The number behind the last "rank" of the file's name: rank-3, rank3, rank_3. */
static bool rank_in_name(const char *path, uint32_t *rank)
{
    bool found = false;
    for (const char *p = ty_path_name(path); (p = strstr(p, "rank")) != NULL;) {
        p += strlen("rank");
        const char *digits = *p == '-' || *p == '_' ? p + 1 : p;
        uint32_t number;
        if (ty_scan_number(&digits, NULL, MAX_NAMED, &number)) {
            *rank = number;
            found = true;
        }
    }
    return found;
}

static int by_rank(const void *a, const void *b)
{
    const struct ty_profile_rank *x = a, *y = b;
    return 2 * TY_ORDER(x->rank, y->rank) + TY_ORDER(strcmp(x->file, y->file), 0);
}

static bool is_told(const struct reading *r, uint32_t rank)
{
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->sources[i].told && r->profile->ranks[i].rank == rank) {
            return true;
        }
    }
    return false;
}

/* Files that do not say get the smallest ranks that are left. */
static void number_rest(struct reading *r)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        if (!r->sources[i].told) {
            while (is_told(r, next)) {
                next++;
            }
            r->profile->ranks[i].rank = next++;
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

/* All but the arrays of its rank. */
static void release_file(struct ty_profile_file *file)
{
    free(file->launches);
    free(file->named);
    free(file->calls);
    free(file->pgs);
    free(file->cuts);
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

static int read_file(struct reading *r, struct source *source, struct ty_profile_rank *rank)
{
    struct ty_profile_file file = {.base_ns = 0};
    int rc = ty_profile_parse(&file, r->store, source->path, r->err);
    if (rc == 0 && file.rank.n_kernels == 0) {
        rc = ty_fail(
            r->err, TY_EINPUT, "%s: no kernels of a GPU in it; record with ProfilerActivity.CUDA%s",
            source->path, file.rank.n_ops > 0 ? "" : " (of trainyard: --trace kineto:FOLDER)");
    }
    if (rc == 0) {
        rc = ty_profile_link(&file, r->store, r->err);
    }
    if (rc == 0) {
        rc = check_times(&file.rank, r->err);
    }
    if (rc == 0) {
        rc = profile_find_groups(&r->groups, &file, r->err);
    }
    source->told = file.has_rank || rank_in_name(source->path, &file.rank.rank);
    source->base_ns = file.base_ns;
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
    assert(r->n > 0);
    p->ranks = calloc((size_t)r->n + 1, sizeof(*p->ranks));
    p->base_ns = INT64_MAX;
    if (p->ranks == NULL) {
        return ty_fail_memory(r->err);
    }
    for (uint32_t i = 0; i < r->n; i++) {
        const int one = read_file(r, &r->sources[i], &p->ranks[i]); /* all wrong ones are told of */
        if (rc == 0) {
            rc = one;
        }
        p->base_ns = r->sources[i].base_ns < p->base_ns ? r->sources[i].base_ns : p->base_ns;
    }
    for (uint32_t i = 0; i < r->n && rc == 0; i++) {
        rc = shift(r, &p->ranks[i], r->sources[i].base_ns - p->base_ns);
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
    if (rc == 0) {
        rc = read_files(&r);
    }
    free(r.sources);
    free(r.groups.of_text);
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
        free(profile->ranks[i].kernels);
        free(profile->ranks[i].comms);
        free(profile->ranks[i].ops);
        free(profile->ranks[i].steps);
    }
    free(profile->ranks);
    free(profile->groups);
    ty_profile_store_release(profile->store);
    free(profile->store);
    free(profile);
}
