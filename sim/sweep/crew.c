/* crew.c - see crew.h. The threads of a process take from the counter of the crew, one piece at a
 * time: it costs microseconds where a row takes milliseconds, and the last rows of a sweep are then
 * spread as evenly as they can be. */
#include "sim/sweep/crew.h"

struct shared {
    const struct ty_crew *crew;
    uint32_t n;
    ty_pool_fn *work;
    void *arg;
};

/* What one thread does, until nothing is left: false, as no further thread is needed then. */
static bool take_pieces(void *arg, uint32_t thread)
{
    const struct shared *s = arg;
    (void)thread;
    for (;;) {
        const uint64_t i = s->crew->take(s->crew->arg, 1);
        if (i >= s->n) {
            return false;
        }
        if (!s->work(s->arg, (uint32_t)i)) {
            (void)s->crew->take(s->crew->arg, s->n); /* all that could be left */
            return false;
        }
    }
}

void ty_crew_run(const struct ty_crew *crew, uint32_t n, uint32_t jobs, ty_pool_fn *work, void *arg)
{
    struct shared s = {.crew = crew, .n = n, .work = work, .arg = arg};
    if (crew == NULL) {
        ty_pool_run(0, n, jobs, work, arg);
    } else {
        ty_pool_run(0, jobs > 0 ? jobs : n, jobs, take_pieces, &s);
    }
}

int ty_crew_meet(const struct ty_crew *crew, int rc, struct ty_err *err)
{
    if (crew == NULL || crew->meet(crew->arg, rc == 0)) {
        return rc;
    }
    return rc < 0 ? rc : ty_fail(err, TY_EIO, "another process of this job cannot go on");
}
