/* old_glibc.c - lets the library of a wheel run where glibc is 2.28, whatever it was built with.
 *
 * glibc keeps old versions of its functions, and a link takes the newest. The functions here stand
 * for those that came later than 2.28. They call the old ones, whose results are the same. Only the
 * portable library has them (-Dstatic=true), for x86-64. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>

#define OLD(result, name, ...)                                                                     \
    result old_##name(__VA_ARGS__);                                                                \
    __asm__(".symver old_" #name "," #name "@GLIBC_2.2.5");                                        \
    result name(__VA_ARGS__);                                                                      \
    result name(__VA_ARGS__)

OLD(double, exp, double x)
{
    return old_exp(x);
}

OLD(double, log, double x)
{
    return old_log(x);
}

OLD(double, log2, double x)
{
    return old_log2(x);
}

OLD(double, pow, double x, double y)
{
    return old_pow(x, y);
}

OLD(double, hypot, double x, double y)
{
    return old_hypot(x, y);
}

OLD(int, pthread_create, pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
    void *arg)
{
    return old_pthread_create(thread, attr, run, arg);
}

OLD(int, pthread_join, pthread_t thread, void **result)
{
    return old_pthread_join(thread, result);
}

OLD(int, pthread_once, pthread_once_t *once, void (*run)(void))
{
    return old_pthread_once(once, run);
}

OLD(int, pthread_attr_setstacksize, pthread_attr_t *attr, size_t size)
{
    return old_pthread_attr_setstacksize(attr, size);
}

OLD(int, pthread_sigmask, int how, const sigset_t *set, sigset_t *old)
{
    return old_pthread_sigmask(how, set, old);
}

#define STAT_VERSION 1 /* of struct stat64 on x86-64 */

int old_stat(int version, const char *path, struct stat64 *out);
int old_fstat(int version, int file, struct stat64 *out);
int old_lstat(int version, const char *path, struct stat64 *out);
__asm__(".symver old_stat,__xstat64@GLIBC_2.2.5");
__asm__(".symver old_fstat,__fxstat64@GLIBC_2.2.5");
__asm__(".symver old_lstat,__lxstat64@GLIBC_2.2.5");

int stat64(const char *path, struct stat64 *out)
{
    return old_stat(STAT_VERSION, path, out);
}

int fstat64(int file, struct stat64 *out)
{
    return old_fstat(STAT_VERSION, file, out);
}

int lstat64(const char *path, struct stat64 *out)
{
    return old_lstat(STAT_VERSION, path, out);
}

/* That of the static GSL prints through a stderr that no shared library may hold. It is called for
 * arguments that GSL's own checks let through, so never. */
void cblas_xerbla(int position, const char *routine, const char *form, ...);
void cblas_xerbla(int position, const char *routine, const char *form, ...)
{
    (void)position;
    (void)routine;
    (void)form;
    abort();
}
