/* compute/ranks/rank.h -- a rank: a process that answers the front end's requests about its rows,
 * until the connection ends.  One thread listens: it takes in what arrives, tells that the process
 * lives, and stops the work of the other. */
#ifndef GPDESK_RANK_H
#define GPDESK_RANK_H

#include "compute/ranks/wire.h"

/* For the program's main: the word that makes it one, as its only argument. */
#define RANK_ARGUMENT "--rank"

/* Serves over two descriptors and returns the exit status of the process. */
int rank_main(int in, int out);

#endif
