/* gz.h - a gzip stream between a buffer and a file descriptor. */
#ifndef TY_TRACES_OUT_GZ_H
#define TY_TRACES_OUT_GZ_H

#include <stddef.h>
#include <stdint.h>

struct ty_gz;

/* A gzip stream at level 1 (deflate.h); NULL when memory is exhausted. Compressed by one thread per
 * core, at most GZ_THREADS, or so many; 1: by the caller alone. */
struct ty_gz *ty_gz_new(void);
void ty_gz_threads(struct ty_gz *gz, uint32_t threads); /* before the first write; 0: per core */
void ty_gz_free(struct ty_gz *gz);

/* Bytes written so far, compressed. */
uint64_t ty_gz_stored(const struct ty_gz *gz);

/* Compresses bytes[n] on their way to fd, which get there in order, sooner or later; n == 0 ends
 * the stream. Equal calls make equal files, whatever the threads. `stop` as in ty_fd_write. Returns
 * 0 or an errno. */
int ty_gz_write(struct ty_gz *gz, int fd, const char *bytes, size_t n, const volatile int *stop);

#endif
