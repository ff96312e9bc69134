/* mpi/module.c -- the collective calls of MPI for a rank of several processes
 * (compute/ranks/crew.h), a module that is opened where mpirun has started the program.  Waiting
 * processes sleep: those of Open MPI would spin.
 *
 * Signs of life come from a thread of their own.  No call here waits inside MPI, so a lock around
 * each lets two threads take turns (MPI_THREAD_SERIALIZED). */
#include "compute/ranks/crew.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) const struct crew_calls *gpdesk_crew(void);

enum { BEAT, LAST }; /* tags of signs of life */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static MPI_Comm lives; /* all processes again, for signs of life */
static int rank, size;
/* The sign of life of this process that is on its way. */
static MPI_Request sent = MPI_REQUEST_NULL;
/* The first: what is to come from each other process, when it has been heard, and whether that was
 * its last sign of life. */
static struct sign {
    MPI_Request came;
    double heard;
    int over;
} * signs;

static void nap(long nanoseconds)
{
    nanosleep(&(struct timespec){0, nanoseconds}, NULL);
}

/* Tests a request until it is done, less and less often: at first it is likely to be soon. */
static void await(MPI_Request *request)
{
    long pause = 0;

    for (int done = 0, tries = 0; !done; tries++) {
        pthread_mutex_lock(&turn);
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        pthread_mutex_unlock(&turn);
        if (done || tries < 200)
            continue;
        pause = pause < 1000000 ? pause + 5000 : pause;
        nap(pause);
    }
}

/* Signs of life. */

static void beat(void)
{
    int done = 1;

    pthread_mutex_lock(&turn);
    MPI_Test(&sent, &done, MPI_STATUS_IGNORE);
    if (done)
        MPI_Isend(NULL, 0, MPI_BYTE, 0, BEAT, lives, &sent);
    pthread_mutex_unlock(&turn);
}

/* Takes what has come from process i. */
static void hear(int i)
{
    struct sign *s = &signs[i];
    MPI_Status status;

    for (int done = 1; done && !s->over;) {
        if (s->came == MPI_REQUEST_NULL)
            MPI_Irecv(NULL, 0, MPI_BYTE, i, MPI_ANY_TAG, lives, &s->came);
        MPI_Test(&s->came, &done, &status);
        if (done) {
            s->heard = MPI_Wtime();
            s->over = status.MPI_TAG == LAST;
        }
    }
}

static double silence(void)
{
    double longest = 0.0;

    pthread_mutex_lock(&turn);
    for (int i = 1; i < size; i++) {
        hear(i);
        const double s = signs[i].over ? 0.0 : MPI_Wtime() - signs[i].heard;
        longest = s > longest ? s : longest;
    }
    pthread_mutex_unlock(&turn);
    return longest;
}

/* Shared memory. */

/* Processes of a machine meet in files of /dev/shm, which Open MPI leaves when mpirun is killed.
 * Once each has opened those of all others their names are not needed. */
static void unlink_shared(void)
{
    static const char *const of[] = { "/vader_segment.", "/sm_segment." };
    char line[4352];
    FILE *maps = fopen("/proc/self/maps", "r");

    while (maps && fgets(line, sizeof line, maps)) {
        char *name = strchr(line, '/');
        if (!name)
            continue;
        name[strcspn(name, "\n")] = '\0';
        const char *last = strrchr(name, '/');
        for (size_t i = 0; i < sizeof of / sizeof of[0]; i++)
            if (strncmp(last, of[i], strlen(of[i])) == 0)
                unlink(name);
    }
    if (maps)
        fclose(maps);
}

/* A byte to each other process of this machine opens its file. */
static int meet_neighbours(void)
{
    MPI_Comm here;
    MPI_Request all = MPI_REQUEST_NULL;
    int own = 0, count = 0, rc = MPI_SUCCESS;
    char gone = 0, came = 0;

    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here) !=
        MPI_SUCCESS)
        return 1;
    MPI_Comm_rank(here, &own);
    MPI_Comm_size(here, &count);
    for (int d = 1; d < count && rc == MPI_SUCCESS; d++)
        rc = MPI_Sendrecv(&gone, 1, MPI_BYTE, (own + d) % count, 0, &came, 1, MPI_BYTE,
                          (own + count - d) % count, 0, here, MPI_STATUS_IGNORE);
    if (rc == MPI_SUCCESS && MPI_Ibarrier(here, &all) == MPI_SUCCESS) {
        await(&all);
        unlink_shared();
    }
    MPI_Comm_free(&here);
    return rc != MPI_SUCCESS;
}

static int begin(size_t *r, size_t *s)
{
    int there = 0;

    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &there) != MPI_SUCCESS ||
        there < MPI_THREAD_SERIALIZED || MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS ||
        MPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS ||
        MPI_Comm_dup(MPI_COMM_WORLD, &lives) != MPI_SUCCESS || meet_neighbours() != 0)
        return 1;
    signs = calloc((size_t)size, sizeof *signs);
    for (int i = 0; signs && i < size; i++)
        signs[i] = (struct sign){MPI_REQUEST_NULL, MPI_Wtime(), 0};
    *r = (size_t)rank;
    *s = (size_t)size;
    return signs ? 0 : 1;
}

/* Takes the turn for good: no other thread calls MPI any more. */
static void end(void)
{
    pthread_mutex_lock(&turn);
    if (rank > 0) {
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 0, LAST, lives);
    }
    for (int i = 1; rank == 0 && i < size; i++)
        for (hear(i); !signs[i].over; hear(i))
            nap(100000);
    MPI_Finalize();
}

/* MPI counts in int. */
enum { STEP = 1 << 28 };

static size_t step(size_t left, size_t most)
{
    return left < most ? left : most;
}

static void share(void *data, size_t bytes)
{
    MPI_Request request;

    for (size_t at = 0; at < bytes; at += STEP) {
        pthread_mutex_lock(&turn);
        MPI_Ibcast((char *)data + at, (int)step(bytes - at, STEP), MPI_BYTE, 0, MPI_COMM_WORLD,
                   &request);
        pthread_mutex_unlock(&turn);
        await(&request);
    }
}

static void send_bytes(size_t to, const void *data, size_t bytes)
{
    MPI_Request request;

    for (size_t at = 0; at < bytes; at += STEP) {
        pthread_mutex_lock(&turn);
        MPI_Isend((const char *)data + at, (int)step(bytes - at, STEP), MPI_BYTE, (int)to, 0,
                  MPI_COMM_WORLD, &request);
        pthread_mutex_unlock(&turn);
        await(&request);
    }
}

static void receive(size_t from, void *data, size_t bytes)
{
    MPI_Request request;

    for (size_t at = 0; at < bytes; at += STEP) {
        pthread_mutex_lock(&turn);
        MPI_Irecv((char *)data + at, (int)step(bytes - at, STEP), MPI_BYTE, (int)from, 0,
                  MPI_COMM_WORLD, &request);
        pthread_mutex_unlock(&turn);
        await(&request);
    }
}

static void together(size_t n, double *x, MPI_Op op)
{
    MPI_Request request;

    for (size_t at = 0; at < n; at += STEP) {
        pthread_mutex_lock(&turn);
        MPI_Iallreduce(MPI_IN_PLACE, x + at, (int)step(n - at, STEP), MPI_DOUBLE, op,
                       MPI_COMM_WORLD, &request);
        pthread_mutex_unlock(&turn);
        await(&request);
    }
}

static void most(size_t n, double *x)
{
    together(n, x, MPI_MAX);
}

static void sum(size_t n, double *x)
{
    together(n, x, MPI_SUM);
}

const struct crew_calls *gpdesk_crew(void)
{
    static const struct crew_calls calls = {CREW_ABI, begin, end, share, send_bytes,
                                            receive,  most,  sum, beat,  silence};

    return &calls;
}
