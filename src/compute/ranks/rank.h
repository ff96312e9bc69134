/* compute/ranks/rank.h -- a rank: a process that answers the front end's requests about its rows,
 * until the connection ends.  One thread listens: it takes in what arrives, tells that the process
 * lives, and stops the work of the other. */
#ifndef GPDESK_RANK_H
#define GPDESK_RANK_H

#include "compute/ranks/wire.h"

#define RANK_ARGUMENT "--rank"
#define RANK_MPIRUN "mpirun"
/* What `--rank mpirun ARGUMENT...` exits with where there is no such program. */
enum { RANK_NO_PROGRAM = 127 };

/* For the main of a program that starts ranks, before all else: -1 where the arguments are others.
 * `--rank` serves over standard input and output and returns the exit status; the process is killed
 * when its parent has ended.  `--rank mpirun ARGUMENT...` becomes mpirun, which then has a SIGTERM:
 * so it ends processes that cannot see for themselves that the front end is gone, because they are
 * stopped. */
int rank_called(int argc, char **argv);

#endif
