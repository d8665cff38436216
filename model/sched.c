/* sched.c - the table of schedules and what they share. */
#include "model/sched.h"

#include <stdio.h>
#include <string.h>

#define X(id, name) extern const struct ty_sched ty_sched_##id;
TY_SCHEDULES(X)
#undef X

const struct ty_sched *const ty_schedules[] = {
#define X(id, name) &ty_sched_##id,
    TY_SCHEDULES(X)
#undef X
        NULL,
};

enum sched_index {
#define X(id, name) SCHED_##id,
    TY_SCHEDULES(X)
#undef X
};

const struct ty_word ty_sched_words[] = {
#define X(id, name) {name, SCHED_##id, NULL},
    TY_SCHEDULES(X)
#undef X
        {NULL, 0, NULL},
};

const struct ty_field ty_sched_fields[] = {
    {.key = "name",
     .type = TY_TYPE_WORD,
     .offset = offsetof(struct ty_sched_options, name),
     .words = ty_sched_words,
     .fallback = "1f1b",
     .doc = "pipeline schedule: in which order a stage runs its forward and backward passes"},
    {.key = "chunks",
     .type = TY_TYPE_UINT,
     .offset = offsetof(struct ty_sched_options, chunks),
     .min = 1,
     .max = 64,
     .fallback = "1",
     .doc = "virtual stages (model chunks) per pipeline rank"},
};
const uint32_t ty_n_sched_fields = TY_COUNT(ty_sched_fields);

const struct ty_sched *ty_sched_find(const char *name)
{
    for (size_t i = 0; ty_schedules[i] != NULL; i++) {
        if (strcmp(ty_schedules[i]->name, name) == 0) {
            return ty_schedules[i];
        }
    }
    return NULL;
}

char *ty_slot_text(const struct ty_slot *slot, char *buf, size_t size)
{
    snprintf(buf, size, "%c%u.%u", ty_phase_letter((enum ty_phase)slot->phase),
             (unsigned)slot->mb, (unsigned)slot->stage);
    return buf;
}
