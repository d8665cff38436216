/* flag_rows.h - short names for rows of a table of flags (flags.h), for files that have one. */
#ifndef TY_IMPORT_FLAG_ROWS_H
#define TY_IMPORT_FLAG_ROWS_H

#include "sim/import/flags.h"

/* Code looks it up; the key has its value, or this one; it matters, and there is no key; it has no
 * part in a step. */
#define TAKEN(name)                                                                                \
    {                                                                                              \
        name, TY_FLAG_TAKEN, NULL, NULL, NULL                                                      \
    }
#define KEY(name, key)                                                                             \
    {                                                                                              \
        name, TY_FLAG_KEY, key, NULL, NULL                                                         \
    }
#define KEY_AS(name, key, value)                                                                   \
    {                                                                                              \
        name, TY_FLAG_KEY, key, value, NULL                                                        \
    }
#define NO_KEY(name, note)                                                                         \
    {                                                                                              \
        name, TY_FLAG_NO_KEY, NULL, NULL, note                                                     \
    }
#define IDLE(name)                                                                                 \
    {                                                                                              \
        name, TY_FLAG_IDLE, NULL, NULL, NULL                                                       \
    }
#define LAST                                                                                       \
    {                                                                                              \
        NULL, TY_FLAG_IDLE, NULL, NULL, NULL                                                       \
    }

#endif
