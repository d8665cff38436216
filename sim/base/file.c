/* file.c - reads and writes whole files, and renames those that are complete. */
#define _GNU_SOURCE /* renameat2 */
#include "sim/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what was read ---- */

static struct {
    pthread_mutex_t lock;
    bool keeps;
    size_t n, cap;
    struct id {
        dev_t device;
        ino_t inode;
    } * item; /* [n], as long as the process */
} inputs = {.lock = PTHREAD_MUTEX_INITIALIZER};

void ty_inputs_keep(void)
{
    inputs.keeps = true;
}

static bool is_kept(const struct stat *st)
{
    bool found = false;
    for (size_t i = 0; i < inputs.n && !found; i++) {
        found = inputs.item[i].device == st->st_dev && inputs.item[i].inode == st->st_ino;
    }
    return found;
}

/* Without memory for its name a file is not protected; reading it will fail for memory, too. */
void ty_inputs_add(const char *path)
{
    struct stat st;
    if (!inputs.keeps || stat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
        return;
    }
    pthread_mutex_lock(&inputs.lock);
    if (!is_kept(&st)) {
        if (inputs.n == inputs.cap) {
            const size_t cap = 2 * inputs.cap + 16;
            struct id *larger = realloc(inputs.item, cap * sizeof(*larger));
            inputs.cap = larger != NULL ? cap : inputs.cap;
            inputs.item = larger != NULL ? larger : inputs.item;
        }
        if (inputs.n < inputs.cap) {
            inputs.item[inputs.n++] = (struct id){st.st_dev, st.st_ino};
        }
    }
    pthread_mutex_unlock(&inputs.lock);
}

bool ty_inputs_have(const char *path)
{
    struct stat st;
    if (!inputs.keeps || stat(path, &st) != 0) {
        return false;
    }
    pthread_mutex_lock(&inputs.lock);
    const bool found = is_kept(&st);
    pthread_mutex_unlock(&inputs.lock);
    return found;
}

int ty_fail_overwrites(struct ty_err *err, const char *path)
{
    return ty_fail(err, TY_EUSAGE, "%s is an input and would be overwritten; name another file",
                   path);
}

/* ---- whole files ---- */

/* Reads at most one byte more than the limit, so that the caller sees that there is more. */
static int stream_read(FILE *stream, size_t most, char **data, size_t *len)
{
    size_t cap = 0;
    for (*len = 0; *len <= most;) {
        if (*len == cap) {
            cap = cap ? 2 * cap : 16384;
            char *larger = realloc(*data, cap);
            if (!larger) {
                return ENOMEM;
            }
            *data = larger;
        }
        const size_t n = fread(*data + *len, 1, cap - *len, stream);
        *len += n;
        if (n == 0) {
            return ferror(stream) ? errno : 0;
        }
    }
    return 0;
}

/* A path that names no file that can be read is a mistake of whoever wrote it, anything else one of
 * the machine. */
static int code_of(int error)
{
    static const int of_path[] = {ENOENT, ENOTDIR, EISDIR, EACCES, ELOOP, ENAMETOOLONG};
    for (size_t i = 0; i < TY_COUNT(of_path); i++) {
        if (error == of_path[i]) {
            return TY_EINPUT;
        }
    }
    return ty_code_of_errno(error);
}

int ty_file_read(struct ty_arena *arena, const char *path, size_t most, const char **text,
                 size_t *len, struct ty_err *err)
{
    const int is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "<stdin>" : path;
    errno = 0;
    FILE *stream = is_stdin ? stdin : fopen(path, "rb");
    if (!stream) {
        return ty_fail(err, code_of(errno), "%s: cannot be opened (%s)", name,
                       ty_errno_text(errno));
    }
    if (!is_stdin) {
        ty_inputs_add(path);
    }
    char *data = NULL;
    size_t n = 0;
    const int failure = stream_read(stream, most, &data, &n);
    if (!is_stdin) {
        (void)fclose(stream);
    }
    int rc = 0;
    if (failure == ENOMEM) {
        rc = ty_fail_memory(err);
    } else if (failure == EISDIR) {
        rc = ty_fail(err, TY_EINPUT, "%s: a folder, not a file; name a file in it", name);
    } else if (failure != 0) {
        rc =
            ty_fail(err, code_of(failure), "%s: cannot be read (%s)", name, ty_errno_text(failure));
    } else if (n > most) {
        rc = ty_fail(err, TY_ELIMIT, "%s: too large; a file may have at most %zu MiB", name,
                     most >> 20);
    } else {
        /* a byte order mark, as spreadsheets and some editors write, is no text */
        const size_t mark = n >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
        *text = ty_arena_strndup(arena, n > 0 ? data + mark : "", n - mark);
        *len = n - mark;
        rc = *text ? 0 : ty_fail_memory(err);
    }
    free(data);
    return rc;
}

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

/* Where two files can change places, they do, and the old one is removed under its new name.
 * Linux's ext4 (auto_da_alloc) takes a rename onto a file that exists as a wish to have the new one
 * on the disk: it waits for all of it, 0.6 s for 1 GB, which nobody asked for
 * (docs/internals/robustness.md). */
int ty_file_rename(const char *from, const char *to)
{
#ifdef RENAME_EXCHANGE
    struct stat old;
    if (lstat(to, &old) == 0 && S_ISREG(old.st_mode) &&
        renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0) {
        return unlink(from);
    }
#endif
    return rename(from, to);
}
