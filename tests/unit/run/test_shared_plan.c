/* test_shared_plan.c - a search that several processes share; here they are threads. What MPI makes
 * of it is in tests/cli/ranks.py. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/trainyard.h"
#include "tests/common/crew_threads.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

static const char run_file[] =
    "cluster: {preset: dgx-a100-80g, nodes: 2, memory: 6 GiB}\n"
    "model: {layers: 8, hidden: 2048, heads: 8, vocabulary: 32000, sequence: 1024}\n"
    "layout: {global_batch: 32, order: [tensor, context, data, pipeline]}\n";

struct plan {
    struct temp_dir dir;
    char run[128];
    struct temp_dir folder; /* within */
    bool deaf;              /* nobody hears of what others have found before all meet */
};

static void member(const struct ty_crew *crew, void *arg)
{
    const struct plan *p = arg;
    struct ty_crew own = {.n = 0};
    if (crew != NULL) {
        own = *crew;
        own.tell = p->deaf ? NULL : own.tell;
        own.hear = p->deaf ? NULL : own.hear;
    }
    struct ty_err *err = ty_err_new();
    char *report = NULL;
    const struct ty_plan_options options = {.source = {.path = p->run},
                                            .folder = p->folder.path,
                                            .gpus = "8,16",
                                            .jobs = 1 + own.member,
                                            .crew = crew != NULL ? &own : NULL};
    ck_assert_msg(ty_plan(&options, &report, err) == 0, "%s", ty_err_text(err));
    free(report);
    ty_err_free(err);
}

static char *take_file(const struct plan *p, const char *name)
{
    char path[192];
    size_t size;
    snprintf(path, sizeof(path), "%s/%s", p->folder.path, name);
    char *text = file_text(path, &size);
    ck_assert_msg(text != NULL, "no %s", name);
    return text;
}

/* What n members write, both files in a row; 0: one process without a crew. To be freed. */
static char *answer_of(struct plan *p, uint32_t n)
{
    snprintf(p->folder.path, sizeof(p->folder.path), "%.40s/of-%u", p->dir.path, (unsigned)n);
    if (n == 0) {
        member(NULL, p);
    } else {
        crew_threads_play(n, member, p);
    }
    char *json = take_file(p, "plan.json"), *rows = take_file(p, "rows.csv");
    char *both = malloc(strlen(json) + strlen(rows) + 1);
    ck_assert_ptr_nonnull(both);
    strcat(strcpy(both, json), rows);
    free(json);
    free(rows);
    temp_dir_remove(&p->folder);
    return both;
}

TEST(members_find_what_one_process_finds)
{
    struct plan p = {.deaf = false};
    temp_dir_make(&p.dir);
    snprintf(p.run, sizeof(p.run), "%s/run.yaml", p.dir.path);
    FILE *file = fopen(p.run, "w");
    ck_assert(file != NULL && fputs(run_file, file) >= 0 && fclose(file) == 0);
    char *one = answer_of(&p, 0);
    for (uint32_t i = 0; i < 8; i++) {
        p.deaf = i >= 4;
        char *all = answer_of(&p, 1 + i % 4);
        ck_assert_str_eq(all, one);
        free(all);
    }
    free(one);
    temp_dir_remove(&p.dir);
}

TY_SUITE("shared plan")
