/* compute/ranks/crew.h -- a rank that is itself several processes, which were started together and
 * have a network's own collective calls (MPI).  To the front end they are one rank with all rows;
 * the first of them deals the rows out, hands requests on and sends the answers. */
#ifndef GPDESK_CREW_H
#define GPDESK_CREW_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

#define CREW_ABI 2
#define CREW_ENTRY "gpdesk_crew"

/* The calls of a network, from one thread of each process; `beat` and `silence` from another one at
 * the same time.  A call that fails ends all of them: the front end then finds the rank lost. */
struct crew_calls {
    unsigned abi;
    int (*begin)(size_t *rank, size_t *size);          /* 0 where the network is there */
    void (*end)(void);
    void (*share)(void *data, size_t bytes);           /* what the first has becomes that of all */
    void (*send)(size_t to, const void *data, size_t bytes);
    void (*receive)(size_t from, void *data, size_t bytes);
    void (*most)(size_t n, double *x);                 /* the largest of all, or their sum */
    void (*sum)(size_t n, double *x);
    void (*beat)(void);      /* tells the first that this one lives; does not wait */
    double (*silence)(void); /* the first: seconds since it heard the one silent longest */
};
struct answer;
struct answers;
struct ask_head;
/* The crew of a process.  NULL calls: it is alone, because MPI has not started it. */
struct crew { const struct crew_calls *calls; size_t rank, size; };
enum status crew_begin(struct crew *, struct err *err);
/* The first: answers a request with all others, as answer_open and answer_ask do. */
enum status crew_open(struct crew *, struct answers *, const struct ask_head *, void **body,
                      size_t bytes, bool *there, struct err *err);
enum status crew_ask(struct crew *, struct answers *, const struct ask_head *, void *body,
                     size_t bytes, struct answer *, struct err *err);
/* The first: ends all others in an orderly way, and itself. */
void crew_end(struct crew *);
/* All others: work with the first until it ends. */
void crew_work(struct crew *, struct answers *);
/* From another thread.  The first: false where one of the others has given no sign of life lately.
 * All others: give one every second, without end. */
bool crew_lives(const struct crew *);
void crew_beat(const struct crew *);
/* A meeting of an operator (share.h); CANCELLED where one has left the request by itself. */
enum status crew_meet(struct crew *, int sum, size_t n, double *x, struct err *err);

#endif
