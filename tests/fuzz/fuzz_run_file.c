/* fuzz_run_file.c - any bytes as a run file: read, shown, read again, planned; small plans
 * executed.
 * */
#include <stdlib.h>
#include <string.h>

#include "sim/cli_api.h"
#include "sim/run/run.h"
#include "tests/fuzz/fuzz.h"

#define MOST_TASKS 100000u

/* What is shown of a configuration is the same the second time. */
static void check_shown(const struct ty_config *config, struct ty_err *err)
{
    char *once = NULL, *twice = NULL, *remarks = NULL;
    FUZZ_DEMAND(ty_config_show(config, &once, err) == 0 && once[0] != '\0');
    FUZZ_DEMAND(ty_config_show(config, &twice, err) == 0 && strcmp(once, twice) == 0);
    FUZZ_DEMAND(ty_config_remarks(config, &remarks, err) == 0);
    ty_text_free(once);
    ty_text_free(twice);
    ty_text_free(remarks);
}

static void plan(const struct ty_config *config, struct ty_err *err)
{
    struct ty_run *run = NULL;
    char *text = NULL;
    int rc = ty_run_new(&run, config, err);
    fuzz_check(rc, err);
    if (rc == 0 && run->lowered.program.n_tasks <= MOST_TASKS && config->n_jobs == 0) {
        rc = ty_run_execute(run, NULL, err);
        fuzz_check(rc, err);
        rc = rc < 0 ? rc : ty_run_report(run, "json", &text, err);
        fuzz_check(rc, err);
    }
    ty_text_free(text);
    ty_run_free(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ty_err *err = ty_err_new();
    struct ty_config *config = NULL;
    const int rc = ty_config_read(&config, &(struct ty_source){.path = fuzz_file(data, size)}, err);
    fuzz_check(rc, err);
    FUZZ_DEMAND((rc == 0) == (config != NULL));
    if (rc == 0) {
        check_shown(config, err);
        plan(config, err);
    }
    ty_config_free(config);
    ty_err_free(err);
    return 0;
}
