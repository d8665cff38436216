/* pool.h - independent pieces of work on several threads. */
#ifndef TY_BASE_POOL_H
#define TY_BASE_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Starts a thread with a stack of known size, whatever ulimit -s and the C library give. False:
 * none could be started. */
bool ty_thread_start(pthread_t *thread, void *(*work)(void *), void *arg);

/* One piece; false: start no further ones. */
typedef bool ty_pool_fn(void *arg, uint32_t i);

/* How many are meant by `jobs`: a thread per core where it is 0. */
uint32_t ty_pool_threads(uint32_t jobs);

/* Calls work(arg, i) for i = from .. n-1. Pieces are taken in this order and end in any; all that
 * were taken have ended on return. Threads as
 * ty_pool_threads(jobs) says; with 1 nothing runs elsewhere. */
void ty_pool_run(uint32_t from, uint32_t n, uint32_t jobs, ty_pool_fn *work, void *arg);

#endif
