/* compute/ranks/team.h -- the front end's side of ranks: their processes, and requests that all of
 * them work on while they meet through here (share.h).
 *
 * A team serves one request at a time.  A rank that dies, sends what is no message or is silent for
 * too long is lost: its process is killed, the others stop what they do, and the request ends with
 * BACKEND.  What then is asked anew is for the ranks that are left. */
#ifndef GPDESK_TEAM_H
#define GPDESK_TEAM_H

#include "compute/ctl.h"
#include "compute/ranks/ask.h"
#include "compute/ranks/hosts.h"
#include "compute/ranks/wire.h"

#include <sys/types.h>

enum { TEAM_MOST = HOSTS_MOST, TEAM_PARTS = 4 };

/* A block of numbers that goes to all ranks or comes from the first: columns of `rows` numbers. */
struct team_block { double *p; size_t rows, cols, ld; };
/* k vectors of rows, of which each rank has its own. */
struct team_rows { double *p; size_t k; };
/* A request: with every rank in `rank`, of rows from `row[i]` to `row[i + 1]` of n. */
struct team_ask {
    struct ask_head head;
    const struct team_deal *deal;
    struct team_block all[TEAM_PARTS], out[TEAM_PARTS];
    struct team_rows rows, out_rows[2];
    double *told; /* a number from each rank, after all others; NULL: they send none */
};
/* How rows are dealt out: count ranks of the team. */
struct team_deal { size_t count, n, rank[TEAM_MOST], row[TEAM_MOST + 1]; };

/* Where a rank is with the request of the moment. */
enum team_doing { TEAM_IDLE, TEAM_WORKS, TEAM_MEETS };
struct team_rank {
    pid_t pid;
    struct wire wire;
    bool alive;
    char place[WIRE_WORDS]; /* as the user names the host; "": this machine */
    size_t crew;            /* processes of MPI that are this rank; 0: it is one */
    struct wire_hello hello;
    enum team_doing doing;
    double heard;                /* when it was heard last */
    /* Bytes of a message of a stopped request that are still to be read, and what it does then. */
    uint64_t unread;
    enum team_doing then;
    uint64_t unsent;             /* bytes of a message to it that was left in the middle */
    enum wire_kind kind;         /* of its meeting, with its numbers: */
    double *x;
    size_t n, cap;
    /* Seconds of all requests so far: of work, of waiting for others in meetings, and of sums; when
     * what it does now began; and the rows of its last operator. */
    double work, waiting, sums, since;
    size_t rows;
    uint64_t sent; /* bytes of requests */
    bool lacks;    /* it has no device, though one was wanted, or it has failed; why: */
    char lack[WIRE_CARD];
    /* How many rows it takes for each that the others take, on average (0: not known, as many); and
     * its work when that was looked at last. */
    double speed, looked;
};
struct team {
    struct team_rank rank[TEAM_MOST];
    size_t count, alive, lost;
    size_t devices; /* ranks that had one when they were started */
    unsigned generation; /* changes when rows have to be dealt out anew */
    uint64_t serial;     /* of the last request */
    uint32_t names;      /* of operators so far */
    size_t met;          /* numbers of the last meeting, and the seconds of their sums */
    double met_seconds;
    uint64_t meetings, numbers; /* of all of them */
    struct err why;      /* why the last rank was lost */
    /* A request that was stopped, at which ranks may still work: its ranks (count 0: there is none)
     * and serial number. */
    struct team_deal late;
    uint64_t late_serial;
};

/* The processes: `count` here, or those at `hosts` ("a:2,b"; NULL or "": none), with so many
 * threads each.  USAGE for words that are no hosts; BACKEND, with the reason, when one cannot be
 * had, CANCELLED when stopped.  What has been started is then ended again. */
struct ranks_plan; /* ranks.h */
enum status team_start(struct team *, const struct ranks_plan *, const struct ctl *,
                       struct err *err);
/* hurried: someone waits at the keyboard. */
void team_end(struct team *, bool hurried);
/* The program that is started here, and the seconds of silence after which a rank is lost; those
 * that it has to say the first word. */
void team_program(const char *path, double patience);
void team_start_within(double seconds);
/* Deals n rows out to the ranks that are alive; BACKEND: none is. */
enum status team_deal(struct team *, size_t n, struct team_deal *, struct err *err);
/* After a request: where the work of a rank, of some seconds at least, was half as much again as
 * the average, rows are dealt out by speed from now on. */
void team_balance(struct team *, const struct team_deal *);
void team_balance_after(double seconds);
/* Takes the team of the program for one request after another, and for its start and end; CANCELLED
 * when stopped before it is free. */
enum status team_take(const struct ctl *, struct err *err);
void team_give(void);
/* Waits for the ranks that are still at work on a stopped request, or loses them; CANCELLED when
 * stopped again.  To be called before each request. */
enum status team_settle(struct team *, const struct ctl *, struct err *err);
/* Sends a request and waits for the answers.  A failed rank's error is the request's.  One that is
 * stopped is left after TEAM_LEAVE_MS, whatever the ranks do. */
enum { TEAM_LEAVE_MS = 30 };
enum status team_ask(struct team *, struct team_ask *, const struct ctl *, struct err *err);
/* The two halves of it, for a request whose body the caller sends: begin, for each rank, then
 * wait. */
/* Writes numbers of a message to a rank, as many as come before a stop. */
enum { TEAM_PIECE = 1 << 21 }; /* bytes between looks at that */
enum status team_put(struct team_rank *, const double *, size_t numbers, struct err *err);
void team_begin(struct team *, struct ask_head *, const struct team_deal *, const struct ctl *);
enum status team_tell(struct team *, const struct team_ask *, size_t i, uint64_t bytes);
enum status team_wait(struct team *, const struct team_ask *, const struct ctl *,
                      struct err *err);
/* Ends the process of a rank that is lost. */
void team_lose(struct team *, size_t rank, const struct err *why);

#endif
