/* pool.c - hands independent pieces of work to threads. The calling thread works too; without
 * further threads it does all. */
#include "sim/base/pool.h"

#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

#define THREADS_MAX 256u
#define STACK_B     (1u << 20) /* of a thread: glibc gives 8 MB, musl 128 KiB */

struct pool {
    pthread_mutex_t lock;
    uint32_t next, n;
    ty_pool_fn *work;
    void *arg;
};

static void *take_pieces(void *arg)
{
    struct pool *pool = arg;
    for (bool more = true; more;) {
        pthread_mutex_lock(&pool->lock);
        const bool taken = pool->next < pool->n;
        const uint32_t i = pool->next;
        pool->next += taken;
        pthread_mutex_unlock(&pool->lock);
        more = taken;
        if (taken && !pool->work(pool->arg, i)) {
            pthread_mutex_lock(&pool->lock);
            pool->next = pool->n;
            pthread_mutex_unlock(&pool->lock);
        }
    }
    return NULL;
}

uint32_t ty_pool_threads(uint32_t jobs)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return jobs > 0 ? jobs : cores > 0 ? (uint32_t)cores : 1;
}

bool ty_thread_start(pthread_t *thread, void *(*work)(void *), void *arg)
{
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0) {
        return false;
    }
    const bool started = pthread_attr_setstacksize(&attr, STACK_B) == 0 &&
                         pthread_create(thread, &attr, work, arg) == 0;
    pthread_attr_destroy(&attr);
    return started;
}

void ty_pool_run(uint32_t from, uint32_t n, uint32_t jobs, ty_pool_fn *work, void *arg)
{
    struct pool pool = {.next = from, .n = n, .work = work, .arg = arg};
    pthread_t threads[THREADS_MAX];
    const uint32_t wanted = ty_pool_threads(jobs);
    uint32_t started = 0;
    pthread_mutex_init(&pool.lock, NULL);
    while (started + 1 < wanted && started + 1 < n - (from < n ? from : n) &&
           started < THREADS_MAX && ty_thread_start(&threads[started], take_pieces, &pool)) {
        started++;
    }
    take_pieces(&pool);
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_mutex_destroy(&pool.lock);
}
