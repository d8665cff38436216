/* crew_threads.c - see crew_threads.h. */
#include "tests/common/crew_threads.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOST 8

/* What they share. */
struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t over;
    uint64_t taken;
    unsigned char *bytes; /* of all, while they combine theirs; or NULL */
    uint32_t told;        /* members that know them */
    uint32_t n, here, round;
    bool good, all_good; /* of this round; of the one before */
};

/* What one was told and has not heard. */
struct letter {
    struct letter *before;
    unsigned char bytes[];
};

struct player {
    struct ty_crew crew;
    crew_member_fn *member;
    void *arg;
    struct meeting *meeting;
    struct player *all; /* [n] */
    struct letter *letters;
};

static uint64_t take(void *arg, uint32_t pieces)
{
    struct meeting *m = ((struct player *)arg)->meeting;
    pthread_mutex_lock(&m->lock);
    const uint64_t first = m->taken;
    m->taken += pieces;
    pthread_mutex_unlock(&m->lock);
    return first;
}

static bool meet(void *arg, bool good)
{
    struct meeting *m = ((struct player *)arg)->meeting;
    pthread_mutex_lock(&m->lock);
    const uint32_t round = m->round;
    m->good = m->good && good;
    if (++m->here == m->n) {
        m->all_good = m->good;
        m->taken = 0;
        m->here = 0;
        m->round++;
        pthread_cond_broadcast(&m->over);
    }
    while (m->round == round) {
        pthread_cond_wait(&m->over, &m->lock);
    }
    const bool all_good = m->all_good;
    pthread_mutex_unlock(&m->lock);
    return all_good;
}

static void combine(void *arg, void *bytes, size_t n)
{
    struct meeting *m = ((struct player *)arg)->meeting;
    unsigned char *own = bytes;
    pthread_mutex_lock(&m->lock);
    if (m->bytes == NULL) {
        m->bytes = calloc(n, 1);
    }
    for (size_t i = 0; i < n; i++) {
        m->bytes[i] |= own[i];
    }
    pthread_mutex_unlock(&m->lock);
    meet(arg, true);
    pthread_mutex_lock(&m->lock);
    memcpy(own, m->bytes, n);
    if (++m->told == m->n) {
        free(m->bytes);
        m->bytes = NULL;
        m->told = 0;
    }
    pthread_mutex_unlock(&m->lock);
    meet(arg, true); /* nobody begins the next one before */
}

static void tell(void *arg, const void *bytes, size_t n)
{
    struct player *own = arg;
    pthread_mutex_lock(&own->meeting->lock);
    for (uint32_t i = 0; i < own->meeting->n; i++) {
        struct player *other = &own->all[i];
        struct letter *letter = other == own ? NULL : malloc(sizeof(*letter) + n);
        if (letter != NULL) {
            memcpy(letter->bytes, bytes, n);
            letter->before = other->letters;
            other->letters = letter;
        }
    }
    pthread_mutex_unlock(&own->meeting->lock);
}

static bool hear(void *arg, void *bytes, size_t n)
{
    struct player *own = arg;
    pthread_mutex_lock(&own->meeting->lock);
    struct letter *letter = own->letters;
    if (letter != NULL) {
        memcpy(bytes, letter->bytes, n);
        own->letters = letter->before;
        free(letter);
    }
    pthread_mutex_unlock(&own->meeting->lock);
    return letter != NULL;
}

static void *play(void *arg)
{
    const struct player *player = arg;
    player->member(&player->crew, player->arg);
    return NULL;
}

void crew_threads_play(uint32_t n, crew_member_fn *member, void *arg)
{
    struct meeting m = {.n = n, .good = true};
    struct player player[MOST];
    pthread_t thread[MOST];
    assert(n <= MOST);
    pthread_mutex_init(&m.lock, NULL);
    pthread_cond_init(&m.over, NULL);
    for (uint32_t i = 0; i < n; i++) {
        player[i] = (struct player){.crew = {.member = i,
                                             .n = n,
                                             .arg = &player[i],
                                             .take = take,
                                             .meet = meet,
                                             .combine = combine,
                                             .tell = tell,
                                             .hear = hear},
                                    .member = member,
                                    .arg = arg,
                                    .meeting = &m,
                                    .all = player};
    }
    for (uint32_t i = 0; i < n; i++) {
        if (pthread_create(&thread[i], NULL, play, &player[i]) != 0) {
            abort();
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        pthread_join(thread[i], NULL);
        assert(player[i].letters == NULL);
    }
    pthread_cond_destroy(&m.over);
    pthread_mutex_destroy(&m.lock);
}
