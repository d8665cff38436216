/* main.c - trainyard-mpi: the commands whose work processes can share, started by mpirun or srun.
 *
 * All that ranks need of each other is struct ty_crew: a counter in the memory of rank 0, which
 * others reach by one-sided operations, meetings, and letters to all others. What is said is said
 * once: by rank 0, or by the first rank that cannot go on, whose exit status is then that of all. A
 * rank that dies ends the job, which is what MPI does. */
#define _XOPEN_SOURCE 700 /* nanosleep, setenv */

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

#include "sim/cli/cli.h"

#define MOST_BYTES ((size_t)1 << 30) /* MPI counts in int */
#define PUMP_NS    200000L           /* an answer takes three turns; they take 5 % of a core */

#define LETTER 1 /* tag of what ranks tell each other */

/* What has been told another rank, until it has arrived. */
struct letter {
    struct letter *before;
    MPI_Request request;
    unsigned char bytes[];
};

struct job {
    int rank, n;
    MPI_Win window;       /* of rank 0: uint64_t, the pieces that are taken */
    pthread_mutex_t lock; /* one thread at a time is in MPI */
    int speaker;          /* the first rank that cannot go on; n: all can */
    bool over;            /* they have met for the last time */
    bool pumps;           /* rank 0 has a thread that answers */
    FILE *said;           /* what another rank than 0 has said, in case it is the speaker, ... */
    int err;              /* ... and where it would have */
    struct letter *sent;
};

/* ---- struct ty_crew ---- */

static uint64_t take(void *arg, uint32_t pieces)
{
    struct job *job = arg;
    const uint64_t n = pieces;
    uint64_t first = 0;
    pthread_mutex_lock(&job->lock);
    MPI_Fetch_and_op(&n, &first, MPI_UINT64_T, 0, 0, MPI_SUM, job->window);
    MPI_Win_flush(0, job->window);
    pthread_mutex_unlock(&job->lock);
    return first;
}

/* Nothing taken; by rank 0. */
static void begin_anew(struct job *job)
{
    const uint64_t taken = 0;
    MPI_Accumulate(&taken, 1, MPI_UINT64_T, 0, 0, 1, MPI_UINT64_T, MPI_REPLACE, job->window);
    MPI_Win_flush(0, job->window);
}

static bool meet(void *arg, bool good)
{
    struct job *job = arg;
    const int own = good ? job->n : job->rank;
    pthread_mutex_lock(&job->lock);
    MPI_Allreduce(&own, &job->speaker, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    const bool all_good = job->speaker == job->n;
    if (all_good && job->rank == 0) {
        begin_anew(job);
    }
    if (all_good) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    job->over = !all_good;
    pthread_mutex_unlock(&job->lock);
    return all_good;
}

static void combine(void *arg, void *bytes, size_t n)
{
    struct job *job = arg;
    pthread_mutex_lock(&job->lock);
    for (size_t at = 0; at < n; at += MOST_BYTES) {
        const int part = (int)(n - at < MOST_BYTES ? n - at : MOST_BYTES);
        MPI_Allreduce(MPI_IN_PLACE, (char *)bytes + at, part, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    }
    pthread_mutex_unlock(&job->lock);
}

/* Frees what has arrived. */
static void forget_letters(struct job *job)
{
    struct letter **at = &job->sent;
    while (*at != NULL) {
        struct letter *letter = *at;
        int arrived = 0;
        MPI_Test(&letter->request, &arrived, MPI_STATUS_IGNORE);
        if (arrived) {
            *at = letter->before;
            free(letter);
        } else {
            at = &letter->before;
        }
    }
}

static void tell(void *arg, const void *bytes, size_t n)
{
    struct job *job = arg;
    pthread_mutex_lock(&job->lock);
    forget_letters(job);
    for (int other = 0; other < job->n; other++) {
        struct letter *letter = other == job->rank ? NULL : malloc(sizeof(*letter) + n);
        if (letter != NULL) {
            memcpy(letter->bytes, bytes, n);
            MPI_Isend(letter->bytes, (int)n, MPI_BYTE, other, LETTER, MPI_COMM_WORLD,
                      &letter->request);
            letter->before = job->sent;
            job->sent = letter;
        } else if (other != job->rank) { /* it would be waited for */
            (void)fprintf(stderr, "trainyard-mpi: memory is exhausted on rank %d\n", job->rank);
            MPI_Abort(MPI_COMM_WORLD, 4);
        }
    }
    pthread_mutex_unlock(&job->lock);
}

static bool hear(void *arg, void *bytes, size_t n)
{
    struct job *job = arg;
    MPI_Status status;
    int any = 0;
    pthread_mutex_lock(&job->lock);
    MPI_Iprobe(MPI_ANY_SOURCE, LETTER, MPI_COMM_WORLD, &any, &status);
    if (any) {
        MPI_Recv(bytes, (int)n, MPI_BYTE, status.MPI_SOURCE, LETTER, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
    pthread_mutex_unlock(&job->lock);
    return any != 0;
}

/* ---- rank 0 answers ---- */

/* One-sided operations over a network get no answer while the rank whose memory it is does not call
 * MPI, unless the hardware gives it, and that is for as long as its rows take. */
static void *pump(void *arg)
{
    struct job *job = arg;
    const struct timespec pause = {.tv_nsec = PUMP_NS};
    for (bool over = false; !over;) {
        int flag;
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&job->lock);
        over = job->over;
        if (!over) {
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
        pthread_mutex_unlock(&job->lock);
    }
    return NULL;
}

/* Starts it, unless all ranks are on one machine, whose memory they share. */
static bool start_pump(struct job *job, pthread_t *pumping)
{
    MPI_Comm near;
    int n;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, job->rank, MPI_INFO_NULL, &near);
    MPI_Comm_size(near, &n);
    MPI_Comm_free(&near);
    job->pumps = job->rank == 0 && n < job->n;
    return !job->pumps || pthread_create(pumping, NULL, pump, job) == 0;
}

/* ---- what is said ---- */

/* Of other ranks than 0 nobody sees standard output, and messages only where they speak for all. */
static bool keep_quiet(struct job *job)
{
    const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    job->said = tmpfile();
    job->err = dup(STDERR_FILENO);
    return nothing >= 0 && job->said != NULL && job->err >= 0 &&
           dup2(nothing, STDOUT_FILENO) >= 0 && dup2(fileno(job->said), STDERR_FILENO) >= 0;
}

static void speak(const struct job *job)
{
    char text[4096];
    size_t n;
    rewind(job->said);
    while ((n = fread(text, 1, sizeof(text), job->said)) > 0 && write(job->err, text, n) > 0) {}
}

/* ---- the program ---- */

static void open_window(struct job *job)
{
    uint64_t *shared;
    const MPI_Aint size = job->rank == 0 ? (MPI_Aint)sizeof(*shared) : 0;
    MPI_Win_allocate(size, sizeof(*shared), MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &job->window);
    MPI_Win_lock_all(0, job->window);
    if (job->rank == 0) {
        begin_anew(job);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* How all end: the status of rank 0, or of the speaker. */
static int agree(struct job *job, int status)
{
    const bool good = status <= 1; /* 1: the answer is no */
    if (!job->over && meet(job, good)) {
        job->speaker = 0;
        pthread_mutex_lock(&job->lock);
        job->over = true;
        pthread_mutex_unlock(&job->lock);
    }
    MPI_Bcast(&status, 1, MPI_INT, job->speaker, MPI_COMM_WORLD);
    if (job->speaker == job->rank && job->said != NULL) {
        speak(job);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct job job = {.speaker = 0};
    pthread_t pumping;
    int threads;
    /* Open MPI 4.1.4 prefers osc/rdma where it cannot make a window: between machines, over TCP.
     * Whoever has set the variable knows better; to another MPI it means nothing. */
    (void)setenv("OMPI_MCA_osc", "^rdma", 0);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &threads);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.n);
    pthread_mutex_init(&job.lock, NULL);
    open_window(&job);
    const bool ready = start_pump(&job, &pumping) && (job.rank == 0 || keep_quiet(&job));
    if (!ready || threads < MPI_THREAD_SERIALIZED) {
        (void)fprintf(stderr, "trainyard-mpi: rank %d cannot begin\n", job.rank);
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    const struct ty_crew crew = {.member = (uint32_t)job.rank,
                                 .n = (uint32_t)job.n,
                                 .arg = &job,
                                 .take = take,
                                 .meet = meet,
                                 .combine = combine,
                                 .tell = tell,
                                 .hear = hear};
    const int status = agree(&job, cli_main(argc, argv, &crew));
    if (job.pumps) {
        pthread_join(pumping, NULL);
    }
    forget_letters(&job);
    MPI_Win_unlock_all(job.window);
    MPI_Win_free(&job.window);
    pthread_mutex_destroy(&job.lock);
    MPI_Finalize();
    return status;
}
