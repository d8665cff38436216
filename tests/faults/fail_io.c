/* fail_io.c - to be preloaded: the n-th call that reads, writes, names or starts something fails.
 *
 *     FAIL_IO=n            which call; 0 or unset: none
 *     FAIL_IO_HOW          error  (default) this call fails, with the number in FAIL_IO_ERRNO
 *                          ever   and so do all after it but close: a disk that stays full
 *                          short  a write takes half of its bytes, a read gives fewer
 *                          signal a write is interrupted before the first byte (EINTR)
 *                          kill   the process ends before this call, as by SIGKILL
 *                          user   somebody types Ctrl-C before this call (SIGINT)
 *     FAIL_IO_CALLS=a,b    calls that count; unset: all of those below but pthread_create
 *     FAIL_IO_LOG=path     at the end, the number of calls; the name of the call that failed
 *
 * Calls inside the C library, of its own streams, are not seen: standard output through printf has
 * to be tried on a full device. */
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS /* open and open64 are both here, not one under the other's name */

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* The function that is called when none fails. ISO C has no cast from the pointer that dlsym
 * gives. */
#define REAL(name)                                                                                 \
    static __typeof__(name) *real;                                                                 \
    if (real == NULL) {                                                                            \
        void *found = dlsym(RTLD_NEXT, #name);                                                     \
        memcpy(&real, &found, sizeof(found));                                                      \
    }

enum how {
    ERROR,
    EVER,
    SHORT,
    SIGNAL,
    KILL,
    USER
};

static unsigned long count, fail_at;
static enum how how;
static int error = EIO;
static const char *calls, *failed = "none";

__attribute__((constructor)) static void start(void)
{
    static const char *const names[] = {"error", "ever", "short", "signal", "kill", "user"};
    const char *text = getenv("FAIL_IO"), *word = getenv("FAIL_IO_HOW");
    fail_at = text != NULL ? strtoul(text, NULL, 10) : 0;
    for (int i = 0; word != NULL && i < 6; i++) {
        how = strcmp(word, names[i]) == 0 ? (enum how)i : how;
    }
    text = getenv("FAIL_IO_ERRNO");
    error = text != NULL ? (int)strtol(text, NULL, 10) : EIO;
    calls = getenv("FAIL_IO_CALLS");
    count = 0;
}

static void put_log(void)
{
    const unsigned long n = count;
    const char *path = getenv("FAIL_IO_LOG");
    fail_at = 0; /* what follows is ours */
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    if (file != NULL) {
        fprintf(file, "%lu %s\n", n, failed);
        fclose(file);
    }
}

__attribute__((destructor)) static void end(void)
{
    put_log();
}

/* Whether a call is one of FAIL_IO_CALLS. */
static bool counts(const char *name)
{
    if (calls == NULL) {
        return strcmp(name, "pthread_create") != 0;
    }
    const size_t n = strlen(name);
    for (const char *p = calls; (p = strstr(p, name)) != NULL; p += n) {
        if ((p == calls || p[-1] == ',') && (p[n] == ',' || p[n] == '\0')) {
            return true;
        }
    }
    return false;
}

/* Whether it is this call's turn. */
static bool is_hit(const char *name)
{
    if (!counts(name)) {
        return false;
    }
    const unsigned long n = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    const bool hit = fail_at != 0 && (n == fail_at || (how == EVER && n > fail_at));
    if (n == fail_at) {
        failed = name;
    }
    if (hit && how == KILL) {
        put_log();
        raise(SIGKILL);
    } else if (hit && how == USER) {
        raise(SIGINT);
    }
    return hit && how != USER;
}

/* Calls that do all or nothing. */
static bool fails(const char *name)
{
    const bool hit = is_hit(name) && how <= EVER;
    errno = hit ? error : errno;
    return hit;
}

EXPORT ssize_t write(int fd, const void *bytes, size_t n)
{
    REAL(write)
    if (!is_hit("write")) {
        return real(fd, bytes, n);
    }
    if (how == SHORT) {
        return real(fd, bytes, n > 1 ? n / 2 : n);
    }
    errno = how == SIGNAL ? EINTR : error;
    return -1;
}

EXPORT ssize_t read(int fd, void *bytes, size_t n)
{
    REAL(read)
    if (!is_hit("read") || how == SIGNAL) {
        return real(fd, bytes, n);
    }
    if (how == SHORT) {
        return real(fd, bytes, n > 1 ? n / 2 : n);
    }
    errno = error;
    return -1;
}

EXPORT size_t fread(void *bytes, size_t size, size_t n, FILE *file)
{
    REAL(fread)
    if (!is_hit("fread") || how == SIGNAL) {
        return real(bytes, size, n, file);
    }
    if (how == SHORT) {
        return real(bytes, size, n > 1 ? n / 2 : n, file);
    }
    file->_flags |= 0x20; /* _IO_ERR_SEEN, glibc's libio.h: what ferror looks at */
    errno = error;
    return 0;
}

static int open_as(const char *name, const char *path, int flags, mode_t mode)
{
    REAL(open64)
    return fails(name) ? -1 : real(path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    return open_as("open", path, flags, mode);
}

EXPORT int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    return open_as("open", path, flags, mode);
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
    REAL(fopen64)
    return fails("fopen") ? NULL : real(path, mode);
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
    REAL(fopen)
    return fails("fopen") ? NULL : real(path, mode);
}

/* What was opened is closed even where that is an error, as Linux does; a full disk says so
 * once. */
EXPORT int close(int fd)
{
    REAL(close)
    const bool hit = is_hit("close") && how == ERROR;
    const int rc = real(fd);
    errno = hit ? error : errno;
    return hit ? -1 : rc;
}

EXPORT int fsync(int fd)
{
    REAL(fsync)
    return fails("fsync") ? -1 : real(fd);
}

EXPORT int flock(int fd, int operation)
{
    REAL(flock)
    return fails("flock") ? -1 : real(fd, operation);
}

EXPORT int ftruncate64(int fd, off64_t length)
{
    REAL(ftruncate64)
    return fails("ftruncate") ? -1 : real(fd, length);
}

EXPORT off64_t lseek64(int fd, off64_t offset, int from)
{
    REAL(lseek64)
    return fails("lseek") ? -1 : real(fd, offset, from);
}

EXPORT int rename(const char *from, const char *to)
{
    REAL(rename)
    return fails("rename") ? -1 : real(from, to);
}

/* Files cannot change places: the program renames. */
EXPORT int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    REAL(renameat2)
    return fails("renameat2") ? -1 : real(from_dir, from, to_dir, to, flags);
}

EXPORT int mkdir(const char *path, mode_t mode)
{
    REAL(mkdir)
    return fails("mkdir") ? -1 : real(path, mode);
}

EXPORT DIR *opendir(const char *path)
{
    REAL(opendir)
    return fails("opendir") ? NULL : real(path);
}

EXPORT char *realpath(const char *path, char *resolved)
{
    REAL(realpath)
    return fails("realpath") ? NULL : real(path, resolved);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*work)(void *),
                          void *arg)
{
    REAL(pthread_create)
    return fails("pthread_create") ? EAGAIN : real(thread, attr, work, arg);
}
