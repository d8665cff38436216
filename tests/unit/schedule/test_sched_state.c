/* test_sched_state.c - the address of a classroom's page, of what was asked of `schedule`, and the
 * schedule of a run file as options. */
#include <stdio.h>
#include <string.h>

#include "sim/cli_api.h"
#include "tests/unit/suite.h"

static const char own[] = "rank 0: F0.0 B0.0\nrank 1: F0.1 B0.1\n";

/* The state, or the first line of what is wrong. The caller frees it. */
static char *state_of(const struct ty_schedule_options *options, bool many)
{
    struct ty_err *err = ty_err_new();
    char *text = NULL;
    if (ty_schedule_state(options, many, &text, err) < 0) {
        ck_assert_ptr_null(text);
        text = strdup(ty_err_text(err));
    }
    ty_err_free(err);
    return text;
}

static void expect(struct ty_schedule_options options, bool many, const char *want)
{
    char *text = state_of(&options, many);
    ck_assert_str_eq(text, want);
    ty_text_free(text);
}

TEST(an_address_has_what_was_asked_for)
{
    expect((struct ty_schedule_options){.name = "1f1b", .pipeline = 4, .micro_batches = 8}, false,
           "schedule=1f1b&p=4&m=8");
    expect((struct ty_schedule_options){.name = "interleaved",
                                        .pipeline = 2,
                                        .micro_batches = 4,
                                        .chunks = 3,
                                        .group = 4,
                                        .times = "F=1e+1,B=2",
                                        .stages = "1,1,2,1,1,1"},
           false, "schedule=interleaved&p=2&m=4&v=3&group=4&times=F=1e%2B1,B=2&stages=1,1,2,1,1,1");
    expect(
        (struct ty_schedule_options){
            .name = "seq1f1b", .pipeline = 2, .micro_batches = 2, .slices = 3},
        false, "schedule=seq1f1b&p=2&m=2&slices=3");
}

TEST(an_order_goes_with_it_by_the_last_part_of_its_path)
{
    expect((struct ty_schedule_options){.name = "my/a,b&c.slots", .text = own}, false,
           "schedule=a_b%26c.slots&slots=rank+0:+F0.0+B0.0;rank+1:+F0.1+B0.1");
}

/* Times of whole stages become those of the virtual stages that are drawn first. */
TEST(a_comparison_divides_what_is_of_whole_stages)
{
    expect(
        (struct ty_schedule_options){
            .name = "interleaved,1f1b", .pipeline = 2, .micro_batches = 4, .stages = "1,3"},
        true, "schedule=interleaved,1f1b&p=2&m=4&times=F=0.5,B=1,I=0.5,W=0.5,C=0&stages=1,1,3,3");
    expect((struct ty_schedule_options){.name = "1f1b,zb-1p", .pipeline = 2, .micro_batches = 4},
           true, "schedule=1f1b,zb-1p&p=2&m=4");
}

TEST(a_page_has_one_order_of_the_users_own)
{
    char *text = state_of(&(struct ty_schedule_options){.name = "a.slots,1f1b,b.slots"}, true);
    ck_assert_ptr_nonnull(strstr(text, "--compare a.slots,1f1b,b.slots: a page shows one order"));
    ty_text_free(text);
}

/* No buffer ends it. */
TEST(an_order_may_be_long)
{
    char *slots = NULL, *text;
    struct ty_schedule_options o = {
        .name = "gpipe", .pipeline = 32, .micro_batches = 256, .format = "slots"};
    ck_assert_int_eq(ty_schedule_show(&o, &slots, NULL), 0);
    ck_assert_uint_gt(strlen(slots), 65536);
    text = state_of(&(struct ty_schedule_options){.name = "long.slots", .text = slots}, false);
    ck_assert_uint_gt(strlen(text), strlen(slots));
    ck_assert_str_eq(text + strlen(text) - 8, "+B255.31");
    ty_text_free(text);
    ty_text_free(slots);
}

/* What a run file says of its schedule. */
static void options_of(const char *schedule, struct ty_schedule_options *o,
                       struct ty_config **config, int want)
{
    char yaml[512];
    struct ty_err *err = ty_err_new();
    (void)snprintf(yaml, sizeof(yaml),
                   "cluster: {preset: dgx-a100-80g, nodes: 2}\nmodel: {preset: llama-7b}\n"
                   "layout: {tensor: 8, pipeline: 2, global_batch: 4}\n%s",
                   schedule);
    const struct ty_source source = {.path = "run.yaml", .text = yaml};
    ck_assert_msg(ty_config_read(config, &source, err) == 0, "%s", ty_err_text(err));
    ck_assert_int_eq(ty_schedule_of(*config, o, err), want);
    ty_err_free(err);
}

TEST(a_run_file_is_asked_for_its_schedule)
{
    struct ty_schedule_options o;
    struct ty_config *config;
    options_of("schedule: {name: interleaved, chunks: 2, times: 'F=2,C=1', stages: '1,1,1,2'}\n",
               &o, &config, 0);
    ck_assert_str_eq(o.name, "interleaved");
    ck_assert_uint_eq(o.pipeline, 2);
    ck_assert_uint_eq(o.micro_batches, 4);
    ck_assert_uint_eq(o.chunks, 2);
    ck_assert_str_eq(o.times, "F=2,C=1");
    ck_assert_str_eq(o.stages, "1,1,1,2");
    ty_config_free(config);
    options_of("schedule:\n  file: |\n    rank 0: F0.0 F1.0 F2.0 F3.0 B0.0 B1.0 B2.0 B3.0\n"
               "    rank 1: F0.1 F1.1 F2.1 F3.1 B0.1 B1.1 B2.1 B3.1\n",
               &o, &config, 0);
    ck_assert_str_eq(o.name, "run.yaml: schedule.file");
    ck_assert_ptr_nonnull(strstr(o.text, "rank 1: F0.1"));
    ck_assert_uint_eq(o.pipeline, 0);
    ty_config_free(config);
}

TY_SUITE("sched_state")
