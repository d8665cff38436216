/* file.h - files, read and written whole. */
#ifndef TY_BASE_FILE_H
#define TY_BASE_FILE_H

#include <stdbool.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"

/* Reads a file ("-": standard input) of at most `most` bytes into the arena, without a byte order
 * mark at its beginning. text[*len] is zero. TY_EIO, TY_ENOMEM, or TY_ELIMIT when it is larger. */
int ty_file_read(struct ty_arena *arena, const char *path, size_t most, const char **text,
                 size_t *len, struct ty_err *err);

/* The files that this process has read, for a program whose outputs must not replace them. Nothing
 * is kept before ty_inputs_keep: a library does not know what its caller still needs. */
void ty_inputs_keep(void);
void ty_inputs_add(const char *path);
bool ty_inputs_have(const char *path);

/* TY_EUSAGE, with words for it. */
int ty_fail_overwrites(struct ty_err *err, const char *path);

/* All n bytes to fd, through interruptions and short writes. Returns 0 or an errno: EINTR when a
 * signal came and *stop is set (stop may be NULL). */
int ty_fd_write(int fd, const char *bytes, size_t n, const volatile int *stop);

/* Gives a finished file the name of another, which is no more; or a name that nobody has. At every
 * moment the name stands for one of the two. 0, or -1 and errno. */
int ty_file_rename(const char *from, const char *to);

#endif
