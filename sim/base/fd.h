/* fd.h - file descriptors. */
#ifndef TY_BASE_FD_H
#define TY_BASE_FD_H

#include <stddef.h>

/* All n bytes to fd, through interruptions and short writes. Returns 0 or an errno: EINTR when a
 * signal came and *stop is set (stop may be NULL). */
int ty_fd_write(int fd, const char *bytes, size_t n, const volatile int *stop);

#endif
