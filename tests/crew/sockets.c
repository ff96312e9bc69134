/* tests/crew/sockets.c -- the collective calls of a crew (compute/ranks/crew.h) over pairs of
 * sockets between processes that tests/crew/mpirun.c has started: what MPI does for the program,
 * without MPI.  A module that the program opens where GPDESK_MPI_MODULE names it.
 *
 * The last process adds its numbers to those of the one before it, and so on down to the first,
 * whose result then goes to all: another order than MPI's. */
#include "compute/ranks/crew.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) const struct crew_calls *gpdesk_crew(void);

enum { MOST = 16, SOME = 4096 };
static size_t rank, size;
static int meets[MOST], lives[MOST];
static double heard[MOST];

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int begin(size_t *r, size_t *s)
{
    const char *size_word = getenv("OMPI_COMM_WORLD_SIZE"),
               *rank_word = getenv("OMPI_COMM_WORLD_RANK"), *at = getenv("GPDESK_CREW_SOCKETS");
    char *end;

    if (!at || !size_word || !rank_word)
        return 1;
    size = strtoul(size_word, NULL, 10);
    rank = strtoul(rank_word, NULL, 10);
    for (size_t i = 0; i < 2 * size && size <= MOST; i++) {
        *(i < size ? &meets[i] : &lives[i - size]) = (int)strtol(at, &end, 10);
        if (*end != ',')
            return 1;
        at = end + 1;
    }
    for (size_t i = 0; i < size; i++)
        heard[i] = now();
    *r = rank;
    *s = size;
    return size > MOST;
}

static void end(void)
{
}

/* A process that another has left cannot go on. */
static void transfer(int fd, char *data, size_t bytes, int sends)
{
    while (bytes > 0) {
        const ssize_t n = sends ? send(fd, data, bytes, MSG_NOSIGNAL) : read(fd, data, bytes);
        if (n == 0 || (n < 0 && errno != EINTR))
            _exit(1);
        data += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
}

static void send_bytes(size_t to, const void *data, size_t bytes)
{
    transfer(meets[to], (char *)data, bytes, 1);
}

static void receive(size_t from, void *data, size_t bytes)
{
    transfer(meets[from], data, bytes, 0);
}

static void share(void *data, size_t bytes)
{
    if (rank > 0)
        receive(0, data, bytes);
    for (size_t i = 1; rank == 0 && i < size; i++)
        send_bytes(i, data, bytes);
}

static void together(size_t n, double *x, int adds)
{
    double other[SOME];

    for (size_t at = 0; at < n; at += SOME) {
        const size_t some = n - at < SOME ? n - at : SOME;
        if (rank + 1 < size) {
            receive(rank + 1, other, some * sizeof *x);
            for (size_t j = 0; j < some; j++)
                x[at + j] = adds ? other[j] + x[at + j] : fmax(other[j], x[at + j]);
        }
        if (rank > 0)
            send_bytes(rank - 1, x + at, some * sizeof *x);
    }
    share(x, n * sizeof *x);
}

static void most(size_t n, double *x)
{
    together(n, x, 0);
}

static void sum(size_t n, double *x)
{
    together(n, x, 1);
}

static void beat(void)
{
    const char one = 1;

    send(lives[0], &one, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static double silence(void)
{
    char some[64];
    double longest = 0.0;

    for (size_t i = 1; i < size; i++) {
        while (recv(lives[i], some, sizeof some, MSG_DONTWAIT) > 0)
            heard[i] = now();
        longest = fmax(longest, now() - heard[i]);
    }
    return longest;
}

const struct crew_calls *gpdesk_crew(void)
{
    static const struct crew_calls calls = {CREW_ABI, begin, end, share, send_bytes,
                                            receive,  most,  sum, beat,  silence};

    return &calls;
}
