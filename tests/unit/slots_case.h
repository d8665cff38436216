/* slots_case.h - files of schedules in tests/golden/schedules, and every schedule on small
 * shapes. */
#ifndef TY_TESTS_SLOTS_CASE_H
#define TY_TESTS_SLOTS_CASE_H

#include <stdlib.h>

#include "model/orders/text.h"
#include "tests/unit/sched_play.h"

static struct ty_err err;

static inline void clear_err(void)
{
    err = (struct ty_err)TY_ERR_NONE;
}

/* Ranks by themselves, then beside each other. */
static inline int check_all(enum ty_sched_placement placement, const struct ty_sched_shape *shape,
                            const struct ty_slots *slots)
{
    const int rc = ty_slots_check(placement, shape, slots, NULL, &err);
    return rc < 0 ? rc : ty_slots_check_between(placement, shape, slots, NULL, &err);
}

static inline int read_all(struct ty_slots_file *file, const char *name, const char *text,
                           size_t len, struct ty_arena *arena)
{
    const int rc = ty_slots_read(file, name, text, len, arena, &err);
    return rc < 0 ? rc
                  : ty_slots_check_between(file->placement, &file->shape, &file->slots,
                                           &file->marks, &err);
}

static inline char *read_file(const char *name)
{
    char path[1024];
    const char *top = getenv("TRAINYARD_SOURCE");
    snprintf(path, sizeof(path), "%s/tests/golden/schedules/%s", top != NULL ? top : ".", name);
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s cannot be read; TRAINYARD_SOURCE names the top", path);
    char *text = calloc(1, 65536);
    ck_assert_uint_lt(fread(text, 1, 65535, file), 65535);
    fclose(file);
    return text;
}

/* Calls `visit` with every schedule on every shape of a small grid that it accepts. */
static inline void for_each_schedule(void (*visit)(const struct play *))
{
    const struct play_times times = play_even(1, 1, 1, 0);
    for (size_t i = 0; ty_schedules[i] != NULL; i++) {
        unsigned n = 0;
        for (uint32_t k = 0; k < 6 * 12 * 4 * 3; k++) {
            const struct ty_sched_shape shape = {
                .p = 1 + k % 6, .m = 1 + k / 6 % 12, .v = 1 + k / 72 % 4, .slices = 1 + k / 288};
            struct play play;
            if (shape.slices > 1 && strcmp(ty_schedules[i]->name, "seq1f1b") != 0) {
                continue; /* the others know whole sequences only */
            }
            if (play_begin(&play, ty_schedules[i]->name, &shape, &times, NULL) == 0) {
                visit(&play);
                n++;
            }
            play_end(&play);
        }
        ck_assert_msg(n >= 6, "%s accepts %u shapes", ty_schedules[i]->name, n);
    }
}

#endif
