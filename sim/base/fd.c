/* fd.c - see fd.h. */
#include "sim/base/fd.h"

#include <errno.h>
#include <unistd.h>

int ty_fd_write(int fd, const char *bytes, size_t n, const volatile int *stop)
{
    while (n > 0) {
        const ssize_t written = write(fd, bytes, n);
        if (written < 0 && errno != EINTR) {
            return errno;
        }
        if (written > 0) {
            bytes += written;
            n -= (size_t)written;
        }
        /* a signal may also have cut a write short */
        if (n > 0 && stop != NULL && *stop != 0) {
            return EINTR;
        }
    }
    return 0;
}
