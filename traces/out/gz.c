/* gz.c - deflate between a buffer and a file descriptor.
 *
 * Level 1: on trace text zlib runs at about three times the speed of level 6 and loses a quarter of
 * the ratio. The writer in front of it is thirty times as fast, so blocks are compressed side by
 * side: each as deflate blocks of its own, with the 32 KiB before it as dictionary, ended by an
 * empty stored block on a byte boundary (a sync flush); put one after the other they are one
 * stream, and the check sums of blocks make that of all (crc32_combine). The scheme is that of
 * pigz (M. Adler). One member, not one for each block: browsers' DecompressionStream refuses a
 * second one.
 *
 *     the caller   fills blocks in turn, waits for the oldest, writes it
 *     threads      take the next filled block, compress it
 *
 * What is written depends on the calls alone. Without threads the caller compresses. The header
 * carries no time and no name, so equal traces are equal files. */
#include "traces/out/gz.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "sim/base/file.h"
#include "sim/base/pool.h"
#include "traces/out/deflate.h"

#define GZ_DICT    ((size_t)1 << 15) /* as far back as deflate refers */
#define GZ_BLOCK   ((size_t)1 << 20)
#define GZ_OUT     (GZ_BLOCK + (GZ_BLOCK >> 3)) /* more than a block of noise takes, and a flush */
#define GZ_THREADS 8
#define GZ_BLOCKS  (2 * GZ_THREADS)

enum state {
    FREE,
    FILLED,
    TAKEN,
    DONE
};

struct block {
    unsigned char in[GZ_DICT + GZ_BLOCK]; /* dictionary, then bytes */
    unsigned char out[GZ_OUT];
    size_t dict, n, n_out;
    bool last;
    enum state state;
    uint32_t crc;
    int error;
};

#define GZ_FRAME 18u /* bytes of header and trailer */

struct ty_gz {
    struct block *block[GZ_BLOCKS]; /* made when first needed */
    unsigned n_blocks;              /* used in turn */
    unsigned fill, take, drain;     /* next to be filled, taken, written; counted on for ever */
    unsigned char tail[GZ_DICT];    /* the end of what came before */
    size_t n_tail;
    bool begun, asked; /* asked: for threads */
    uint32_t crc;
    uint64_t total, stored;  /* bytes that came, and that were written */
    struct ty_deflater *own; /* of the caller, where there are no threads */
    pthread_mutex_t lock;
    pthread_cond_t filled, done;
    bool quit;
    uint32_t wanted; /* threads; 0: one per core */
    unsigned n_threads;
    pthread_t thread[GZ_THREADS];
};

/* ---- compression ---- */

static void compress_block(struct ty_deflater *d, struct block *b)
{
    b->n_out =
        ty_deflate(d, b->in + GZ_DICT, b->n, b->dict, b->last, b->out, sizeof(b->out), &b->crc);
    b->error = b->n_out > 0 ? 0 : EIO;
}

static void *work(void *arg)
{
    struct ty_gz *gz = arg;
    struct ty_deflater *own = ty_deflater_new();
    pthread_mutex_lock(&gz->lock);
    while (!gz->quit) {
        if (gz->take == gz->fill) {
            pthread_cond_wait(&gz->filled, &gz->lock);
            continue;
        }
        struct block *b = gz->block[gz->take++ % gz->n_blocks];
        b->state = TAKEN;
        pthread_mutex_unlock(&gz->lock);
        if (own != NULL) {
            compress_block(own, b);
        } else {
            b->error = ENOMEM;
        }
        pthread_mutex_lock(&gz->lock);
        b->state = DONE;
        pthread_cond_signal(&gz->done);
    }
    pthread_mutex_unlock(&gz->lock);
    ty_deflater_free(own);
    return NULL;
}

/* Threads leave signals to the caller, whose writes they are to interrupt. */
static void start_threads(struct ty_gz *gz)
{
    const uint32_t wanted = ty_pool_threads(gz->wanted);
    const unsigned n = wanted < 2 ? 0 : wanted < GZ_THREADS ? wanted : GZ_THREADS;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (gz->n_threads < n && ty_thread_start(&gz->thread[gz->n_threads], work, gz)) {
        gz->n_threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct ty_gz *ty_gz_new(void)
{
    struct ty_gz *gz = calloc(1, sizeof(*gz));
    if (gz != NULL) {
        gz->own = ty_deflater_new();
    }
    if (gz == NULL || gz->own == NULL) {
        free(gz);
        return NULL;
    }
    pthread_mutex_init(&gz->lock, NULL);
    pthread_cond_init(&gz->filled, NULL);
    pthread_cond_init(&gz->done, NULL);
    gz->n_blocks = GZ_BLOCKS;
    return gz;
}

void ty_gz_free(struct ty_gz *gz)
{
    if (gz == NULL) {
        return;
    }
    pthread_mutex_lock(&gz->lock);
    gz->quit = true;
    pthread_cond_broadcast(&gz->filled);
    pthread_mutex_unlock(&gz->lock);
    for (unsigned i = 0; i < gz->n_threads; i++) {
        pthread_join(gz->thread[i], NULL);
    }
    for (unsigned i = 0; i < GZ_BLOCKS; i++) {
        free(gz->block[i]);
    }
    pthread_cond_destroy(&gz->done);
    pthread_cond_destroy(&gz->filled);
    pthread_mutex_destroy(&gz->lock);
    ty_deflater_free(gz->own);
    free(gz);
}

void ty_gz_threads(struct ty_gz *gz, uint32_t threads)
{
    gz->wanted = threads;
}

uint64_t ty_gz_stored(const struct ty_gz *gz)
{
    return gz->stored;
}

/* ---- the stream ---- */

/* Writes the oldest block, waiting for it. */
static int drain(struct ty_gz *gz, int fd, const volatile int *stop)
{
    struct block *b = gz->block[gz->drain++ % gz->n_blocks];
    pthread_mutex_lock(&gz->lock);
    while (b->state != DONE) {
        pthread_cond_wait(&gz->done, &gz->lock);
    }
    b->state = FREE;
    pthread_mutex_unlock(&gz->lock);
    gz->crc = (uint32_t)crc32_combine(gz->crc, b->crc, (z_off_t)b->n);
    gz->total += b->n;
    gz->stored += b->n_out;
    return b->error != 0 ? b->error : ty_fd_write(fd, (const char *)b->out, b->n_out, stop);
}

/* The next block to fill; NULL: no memory. */
static struct block *next_block(struct ty_gz *gz)
{
    struct block **b = &gz->block[gz->fill % gz->n_blocks];
    if (*b == NULL) {
        *b = malloc(sizeof(**b));
    }
    return *b;
}

/* Keeps the end of the bytes so far. */
static void keep_tail(struct ty_gz *gz, const char *bytes, size_t n)
{
    const size_t old = n >= GZ_DICT ? 0 : gz->n_tail + n > GZ_DICT ? GZ_DICT - n : gz->n_tail;
    const size_t fresh = n < GZ_DICT ? n : GZ_DICT;
    memmove(gz->tail, gz->tail + gz->n_tail - old, old);
    memcpy(gz->tail + old, bytes + n - fresh, fresh);
    gz->n_tail = old + fresh;
}

static int put_block(struct ty_gz *gz, int fd, const char *bytes, size_t n, bool last,
                     const volatile int *stop)
{
    int error = gz->fill - gz->drain == gz->n_blocks ? drain(gz, fd, stop) : 0;
    struct block *b = error == 0 ? next_block(gz) : NULL;
    if (b == NULL) {
        return error != 0 ? error : ENOMEM;
    }
    b->dict = gz->n_tail;
    memcpy(b->in + GZ_DICT - gz->n_tail, gz->tail, gz->n_tail);
    memcpy(b->in + GZ_DICT, bytes, n);
    b->n = n;
    b->last = last;
    keep_tail(gz, bytes, n);
    if (gz->n_threads == 0) {
        compress_block(gz->own, b);
    }
    pthread_mutex_lock(&gz->lock);
    b->state = gz->n_threads == 0 ? DONE : FILLED;
    gz->fill++;
    gz->take += gz->n_threads == 0; /* threads that come later begin behind it */
    pthread_cond_signal(&gz->filled);
    pthread_mutex_unlock(&gz->lock);
    /* with nobody next to us there is nothing to wait for */
    return gz->n_threads == 0 ? drain(gz, fd, stop) : 0;
}

static int put_header(int fd, const volatile int *stop)
{
    /* RFC 1952: magic, deflate, no flags, no time, fastest, Unix */
    static const char header[10] = {'\x1f', '\x8b', 8, 0, 0, 0, 0, 0, 4, 3};
    return ty_fd_write(fd, header, sizeof(header), stop);
}

/* The last block, all that are still under way, check sum and length. */
static int end_stream(struct ty_gz *gz, int fd, const volatile int *stop)
{
    int error = put_block(gz, fd, "", 0, true, stop);
    while (error == 0 && gz->drain != gz->fill) {
        error = drain(gz, fd, stop);
    }
    char trailer[8];
    for (unsigned i = 0; i < 4; i++) {
        trailer[i] = (char)(unsigned char)(gz->crc >> 8 * i);
        trailer[4 + i] = (char)(unsigned char)(gz->total >> 8 * i);
    }
    return error != 0 ? error : ty_fd_write(fd, trailer, sizeof(trailer), stop);
}

int ty_gz_write(struct ty_gz *gz, int fd, const char *bytes, size_t n, const volatile int *stop)
{
    int error = 0;
    if (!gz->begun) {
        gz->begun = true;
        error = put_header(fd, stop);
        gz->stored = GZ_FRAME;
    } else if (n > 0 && !gz->asked) { /* what comes in one piece needs no help */
        gz->asked = true;
        start_threads(gz);
    }
    if (n == 0) {
        return error != 0 ? error : end_stream(gz, fd, stop);
    }
    while (n > 0 && error == 0) {
        const size_t part = n < GZ_BLOCK ? n : GZ_BLOCK;
        error = put_block(gz, fd, bytes, part, false, stop);
        bytes += part;
        n -= part;
    }
    return error;
}
