/* test_nearest.c - measured runs beside a run: the nearest come first. */
#include "sim/report/nearest.h"

#include <string.h>

#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

static const char gpt3[] = "cluster: {preset: dgx-h100, nodes: 64}\n"
                           "model: {preset: gpt3-175b, sequence: 2048, dtype: fp8}\n"
                           "layout: {tensor: 4, pipeline: 8, global_batch: 256}\n"
                           "framework: {preset: nemo}\n";

/* The lines for a run with some values set. */
static char *lines(const char *const *sets)
{
    struct quick_run q = quick_run(gpt3, NULL, sets);
    struct ty_text t = {.data = NULL};
    ty_report_nearest(q.run, &t);
    quick_run_free(&q);
    return ty_text_take(&t);
}

TEST(the_same_model_and_machine_come_first)
{
    char *text = lines(NULL);
    ck_assert_msg(strstr(text, "mlperf-gpt-3: ") != NULL &&
                      strstr(text, "512 h100-sxm, fp8") != NULL,
                  "%s", text);
    ck_assert(strstr(text, "mlperf-gpt-3: ") < strchr(text, '\n'));
    ty_text_free(text);
}

TEST(another_framework_finds_its_own_runs)
{
    static const char *const fsdp[] = {
        "framework.preset=fsdp", "model.preset=llama-7b", "model.dtype=bf16", "layout.tensor=1",
        "layout.pipeline=1",     "cluster.nodes=1",       "layout.zero=3",    NULL};
    char *text = lines(fsdp);
    ck_assert_msg(strstr(text, "llm-foundry-h100: ") != NULL, "%s", text);
    ty_text_free(text);
}

TY_SUITE("nearest")
