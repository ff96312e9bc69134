/* mpi/module.c -- the collective calls of MPI for a rank of several processes
 * (compute/ranks/crew.h), a module that is opened where mpirun has started the program.  Waiting
 * processes sleep: those of Open MPI would spin. */
#include "compute/ranks/crew.h"

#include <limits.h>
#include <mpi.h>
#include <time.h>

__attribute__((visibility("default"))) const struct crew_calls *gpdesk_crew(void);

/* Tests a request until it is done, less and less often: at first it is likely to be soon. */
static void await(MPI_Request *request)
{
    long pause = 0;

    for (int done = 0, tries = 0; !done; tries++) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (done || tries < 200)
            continue;
        pause = pause < 1000000 ? pause + 5000 : pause;
        nanosleep(&(struct timespec){ 0, pause }, NULL);
    }
}

static int begin(size_t *rank, size_t *size)
{
    int there = 0, r = 0, s = 0;

    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &there) != MPI_SUCCESS ||
        there < MPI_THREAD_FUNNELED || MPI_Comm_rank(MPI_COMM_WORLD, &r) != MPI_SUCCESS ||
        MPI_Comm_size(MPI_COMM_WORLD, &s) != MPI_SUCCESS)
        return 1;
    *rank = (size_t)r;
    *size = (size_t)s;
    return 0;
}

static void end(void)
{
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
        MPI_Ibcast((char *)data + at, (int)step(bytes - at, STEP), MPI_BYTE, 0, MPI_COMM_WORLD,
                   &request);
        await(&request);
    }
}

static void send_bytes(size_t to, const void *data, size_t bytes)
{
    MPI_Request request;

    for (size_t at = 0; at < bytes; at += STEP) {
        MPI_Isend((const char *)data + at, (int)step(bytes - at, STEP), MPI_BYTE, (int)to, 0,
                  MPI_COMM_WORLD, &request);
        await(&request);
    }
}

static void receive(size_t from, void *data, size_t bytes)
{
    MPI_Request request;

    for (size_t at = 0; at < bytes; at += STEP) {
        MPI_Irecv((char *)data + at, (int)step(bytes - at, STEP), MPI_BYTE, (int)from, 0,
                  MPI_COMM_WORLD, &request);
        await(&request);
    }
}

static void together(size_t n, double *x, MPI_Op op)
{
    MPI_Request request;

    for (size_t at = 0; at < n; at += STEP) {
        MPI_Iallreduce(MPI_IN_PLACE, x + at, (int)step(n - at, STEP), MPI_DOUBLE, op,
                       MPI_COMM_WORLD, &request);
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
    static const struct crew_calls calls = { CREW_ABI, begin, end, share, send_bytes, receive, most,
                                             sum };

    return &calls;
}
