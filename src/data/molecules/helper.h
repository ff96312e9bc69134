/* data/molecules/helper.h -- one process of gpdesk-molecules: starting it, asking it, waiting for
 * its answer within limits, and ending it.  Only molecules.c uses it. */
#ifndef GPDESK_HELPER_H
#define GPDESK_HELPER_H

#include "base/status.h"
#include "molecules/protocol.h"

#include <stdbool.h>
#include <sys/types.h>

enum helper_doing { HELPER_ENDED, HELPER_STARTING, HELPER_IDLE, HELPER_BUSY };
struct helper {
    enum helper_doing doing;
    pid_t pid; /* 0: none */
    int fd;    /* a socket, our end; -1: none */
    uint32_t serial;
    struct molecules_ask asked;
    double since, cpu;  /* when it was asked: a clock, and its processor time, in seconds */
    unsigned char *in;  /* what has come of its message */
    size_t len, cap;
    char version[MOLECULES_REASON_MOST + 1]; /* of RDKit */
};

/* What happened to a helper. */
enum helper_event {
    HELPER_NOTHING,
    HELPER_READY,    /* it has told its version */
    HELPER_ANSWERED, /* helper_answer has the reply */
    HELPER_SLOW,     /* it has computed for too long; killed */
    HELPER_LOST,     /* it has ended, or not stirred for long; killed */
};

/* The path of the program, which the caller frees: $GPDESK_MOLECULES, beside this program, or where
 * it is installed.  NULL and NOT_FOUND, with what to do, if it is in none of these places. */
char *helper_program(struct err *);
/* Starts a process that may use `memory` bytes of address space, and asks for its version. */
enum status helper_start(struct helper *, const char *program, size_t memory, struct err *);
/* Asks about a molecule; only while it is idle.  `length` is at most MOLECULES_TEXT_MOST.  A
 * process that is gone is noticed by helper_look. */
void helper_ask(struct helper *, const struct molecules_ask *, const char *text, size_t length);
/* Reads what has come, and compares the time since the question with `seconds` of processor time.
 * BACKEND, with what to do, if it is of another version or writes what is no answer, or if it ended
 * before it has told its version. */
enum status helper_look(struct helper *, const char *program, double seconds, enum helper_event *,
                        struct err *);
/* The answer that has come; its texts and counts stay until the next question.  BACKEND if it is
 * none. */
enum status helper_answer(struct helper *, const char *program, struct molecules_reply *,
                          struct err *);
/* Kills its process, if there is one, and closes everything. */
void helper_end(struct helper *);

#endif
