/* test_keys.c - every key of a run file is a row with its meaning, its range and its words. */
#include <string.h>

#include "sim/config/config.h"
#include "sim/trainyard.h"
#include "tests/unit/suite.h"

static const struct ty_key *key_of(const struct ty_keys *keys, const char *name)
{
    for (size_t i = 0; i < keys->n; i++) {
        if (strcmp(keys->key[i].name, name) == 0) {
            return &keys->key[i];
        }
    }
    ck_abort_msg("there is no %s", name);
    return NULL;
}

/* What a word of a key means; NULL when it has no such word. */
static const char *word_of(const struct ty_key *key, const char *name)
{
    for (size_t i = 0; i < key->n_words; i++) {
        if (strcmp(key->words[i].name, name) == 0) {
            return key->words[i].doc;
        }
    }
    return NULL;
}

TEST(keys_are_rows_with_the_words_that_may_be_written)
{
    struct ty_keys *keys;
    ck_assert_int_eq(ty_keys_new(&keys, NULL), 0);
    ck_assert_uint_eq(keys->n_sections, TY_N_SECTIONS + 1);
    ck_assert_str_eq(keys->section[0].name, "cluster");
    ck_assert_str_eq(keys->section[TY_N_SECTIONS].name, "jobs");

    const struct ty_key *k = key_of(keys, "layout.global_batch");
    ck_assert(k->required && k->fallback == NULL && k->n_words == 0);
    k = key_of(keys, "layout.recompute");
    ck_assert(!k->required && word_of(k, "selective") != NULL);
    ck_assert(strncmp(k->accepts, "some of none, ffn, full, selective, ", 36) == 0);
    ck_assert_str_eq(k->fallback, "none");
    k = key_of(keys, "model.preset"); /* a text, but of a closed set */
    ck_assert_str_eq(word_of(k, "gpt3-125m"), "GPT-3 Small");
    k = key_of(keys, "schedule.name"); /* its words are told by the schedules themselves */
    ck_assert(strstr(word_of(k, "gpipe"), "all forwards") != NULL);
    ck_assert_uint_eq(key_of(keys, "run.contention")->n_words, 2);
    ck_assert_str_eq(key_of(keys, "layout.data")->words[0].name, "auto");
    ck_assert(key_of(keys, "jobs.name")->required);
    ty_keys_free(keys);
    ty_keys_free(NULL);
}

TEST(every_key_has_a_line_with_its_meaning)
{
    char *text;
    ck_assert_int_eq(ty_list("keys", NULL, &text, NULL), 0);
    static const char *const starts[] = {
        "\nrun.seed                          whole number from 0                   1 ",
        "\nrun.steps                         whole number 1 .. 1000                1 ",
        "\nrun.jitter                        like 3 % or 0.03, 0 % .. 100 % | none none ",
        "\nrun.engine                        auto | sweep | events                 auto ",
        "\noutput.trace                      list of texts                         [] ",
    };
    for (size_t i = 0; i < TY_COUNT(starts); i++) {
        ck_assert_msg(strstr(text, starts[i]) != NULL, "%s is not in\n%s", starts[i], text);
    }
    ty_text_free(text);

    struct ty_config config;
    ck_assert_int_eq(ty_config_init(&config, NULL), 0);
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        const struct ty_section *s = &config.sections[i];
        ck_assert_uint_gt(s->n_fields, 0);
        for (uint32_t k = 0; k < s->n_fields; k++) {
            const struct ty_field *f = &s->fields[k];
            ck_assert_msg(f->doc && strlen(f->doc) > 3, "%s.%s has no doc", s->name, f->key);
            ck_assert_msg(f->doc[strlen(f->doc) - 1] != '.', "%s.%s", s->name, f->key);
            ck_assert_msg(ty_section_field(s, f->key) == f, "%s.%s twice", s->name, f->key);
            ck_assert_msg(!(f->required && f->fallback), "%s.%s: both", s->name, f->key);
            ck_assert_msg(f->max == 0 || f->min <= f->max, "%s.%s: range", s->name, f->key);
        }
        ck_assert_int_eq(ty_section_defaults(s, &config.arena, NULL), 0);
    }
    ty_arena_release(&config.arena);
}

TY_SUITE("keys")
