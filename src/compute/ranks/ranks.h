/* compute/ranks/ranks.h -- a backend of several processes, ranks, that share the rows: each has an
 * operator of the processor's backend, or of a device (parted.h), over whole segments of them, and
 * they meet for every sum (share.h), so that results have the bits of one process.  Vectors,
 * preconditioners and all that is not a function of a backend stay with the caller.
 *
 * When a rank is lost, the rows are dealt out anew among those that are left and what was asked is
 * done again; when none is, the operator goes on here (fop.h).  There is one team of ranks for the
 * program. */
#ifndef GPDESK_RANKS_H
#define GPDESK_RANKS_H

#include "compute/backend.h"
#include "compute/ranks/hosts.h"

enum { RANKS_MOST = HOSTS_MOST, RANKS_ROWS = 4096 /* operators of fewer rows stay here */ };

/* `count` ranks on this machine, or those at `hosts` ("a:2,b"; "mpi:4": processes that mpirun
 * starts; "": none), of so many threads each.  device: 0 for none, else 1 + the number of the
 * device that the first rank of each host takes; the others take those that follow, modulo the
 * host's devices.  device_asked: the user wants one; else those that are there are taken. */
struct ranks_plan {
    size_t count, threads;
    const char *hosts;
    uint32_t device;
    bool device_asked;
};
/* The backend of such a team, which starts when the first operator is opened; a team that is as
 * planned is kept, unless it has lost ranks.  Not while an operator is open.  An operator that
 * finds no team because a rank cannot be had goes on here, as when all are lost. */
const struct backend_ops *ranks_use(const struct ranks_plan *);
/* Starts it now; USAGE for words that are no hosts, BACKEND when a rank cannot be had. */
enum status ranks_start_for_tests(const struct ctl *, struct err *err);
/* Ends their processes; hurried: someone waits at the keyboard, and what does not end at once is
 * killed. */
void ranks_end(bool hurried);
/* What ranks have done since they were started.  Seconds of work, of waiting for other ranks, and
 * of sums on their way. */
struct ranks_one {
    char host[96];
    long pid;
    size_t processes; /* 1, or those of MPI, which are one rank */
    size_t threads, rows; /* threads of each process; rows of the last operator */
    bool alive;
    double work, waiting, sums;
    uint64_t sent; /* bytes of rows and requests */
    /* The device that it has, "" for none; lacks: there is none, though one was wanted, or it has
     * failed, and why. */
    char device[96], lack[256];
    unsigned number; /* of the device */
    bool lacks;
};
/* Callable from any thread, and never waits for work. */
size_t ranks_count(void);
bool ranks_at(size_t i, struct ranks_one *); /* false past the last */
/* The meetings through the front end since the program began, and their numbers. */
struct ranks_sums {
    uint64_t meetings, numbers;
};
struct ranks_sums ranks_sums(void);
/* How many were lost or could not be had since the program began, and why the last one was. */
size_t ranks_lost(struct err *why);
/* Another program to start, and the seconds of silence after which a rank counts as lost. */
void ranks_program_for_tests(const char *path, double patience);
/* The seconds that ranks have to say their first word. */
void ranks_start_within_for_tests(double seconds);
/* Preconditioners are handed out even where that does not pay. */
void basis_ops_always_for_tests(bool always);
/* The seconds of work after which it is looked at whether some rank is slow. */
void ranks_balance_for_tests(double seconds);

#endif
