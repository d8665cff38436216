/* profile_text.h - PyTorch profiles written by hand, a line an event, and read back. */
#ifndef TY_TESTS_PROFILE_TEXT_H
#define TY_TESTS_PROFILE_TEXT_H

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "sim/profile/read/profile.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

/* Of rank 0 of 2, with a group of both; base 5 s after 1970. */
#define PROFILE_HEAD                                                                               \
    "{\n\"schemaVersion\": 1,\n"                                                                   \
    "\"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H100\", \"totalGlobalMem\": 1}],\n"     \
    "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 2, \"pg_count\": "  \
    "1, \"pg_config\": [{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"pg_size\": 2, "        \
    "\"ranks\": [0, 1]}]},\n"                                                                      \
    "\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": 5000000000,\n\"traceEvents\": [\n"
#define PROFILE_TAIL "\n],\n\"traceName\": \"a.json\"\n}\n"

#define KERNEL(name, ts, dur, stream, id)                                                          \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" name "\", \"pid\": 0, \"tid\": " #stream   \
    ", \"ts\": " ts ", \"dur\": " dur ", \"args\": {\"External id\": " #id                         \
    ", \"queued\": 0, \"device\": 0, \"context\": 1, "                                             \
    "\"stream\": " #stream ", \"correlation\": " #id ", \"grid\": [1, 2, 3]}}"
#define OP(name, ts, dur, id, more)                                                                \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"" name                                       \
    "\", \"pid\": 4, \"tid\": 4, \"ts\": " ts ", \"dur\": " dur                                    \
    ", \"args\": {\"External id\": " #id more "}}"

struct profile_case {
    struct temp_dir dir;
    struct ty_profile *profile;
    struct ty_err err;
    int code;
};

static inline void profile_write(struct profile_case *c, const char *name, const char *text,
                                 size_t n)
{
    FILE *file = fopen(temp_dir_file(&c->dir, name), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, n, file), n);
    ck_assert_int_eq(fclose(file), 0);
}

static inline void profile_begin(struct profile_case *c)
{
    temp_dir_make(&c->dir);
    c->profile = NULL;
}

/* Reads the folder of the case. */
static inline void profile_read(struct profile_case *c)
{
    const char *path = c->dir.path;
    ty_profile_free(c->profile);
    c->err = (struct ty_err)TY_ERR_NONE;
    c->code = ty_profile_read(&c->profile, &path, 1, &c->err);
}

static inline void profile_end(struct profile_case *c)
{
    ty_profile_free(c->profile);
    temp_dir_remove(&c->dir);
}

/* It was refused, with these words among what is said. */
static inline void refused(const struct profile_case *c, const char *said)
{
    ck_assert_int_eq(ty_exit_status(c->code), 3);
    ck_assert_msg(strstr(c->err.text, said) != NULL, "%s, not %s", c->err.text, said);
    ck_assert_ptr_null(c->profile);
}

/* One file of that text, which must be right. */
static inline void profile_of(struct profile_case *c, const char *text);

/* A profile of n events. */
static inline void profile_of_events(struct profile_case *c, const char *const *events, size_t n)
{
    char text[8192] = PROFILE_HEAD;
    size_t at = strlen(text);
    for (size_t i = 0; i < n; i++) {
        at +=
            (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i == 0 ? "" : ",\n", events[i]);
        ck_assert_uint_lt(at, sizeof(text));
    }
    snprintf(text + at, sizeof(text) - at, "%s", PROFILE_TAIL);
    profile_of(c, text);
}

static inline void profile_of(struct profile_case *c, const char *text)
{
    profile_begin(c);
    profile_write(c, "a.json", text, strlen(text));
    profile_read(c);
    ck_assert_msg(c->code == 0, "%s", c->err.text);
}

#endif
