/* compute/ranks/wire.h -- messages between the front end and a rank: a head, then that many bytes.
 * They go over a pair of sockets on one machine, and over the input and output of ssh to another
 * one, which has the same program, so numbers are sent as they stand in memory. */
#ifndef GPDESK_WIRE_H
#define GPDESK_WIRE_H

#include "compute/ctl.h"

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* The body of each kind:
 * HELLO  struct wire_hello, in both directions
 * ASK    struct ask_head and what it asks with (ask.h), to a rank
 * STOP   the serial number of what is to be stopped, to a rank
 * MET    the numbers of a meeting (share.h), to a rank; ENDED: nothing, the meeting does not happen
 * BEAT   nothing: the rank lives
 * TICK   struct wire_tick
 * MOST, SUM  the numbers that a rank brings to a meeting
 * DONE   struct wire_done and the answer (ask.h) */
enum wire_kind {
    WIRE_HELLO, WIRE_ASK, WIRE_STOP, WIRE_MET, WIRE_ENDED, WIRE_BEAT, WIRE_TICK, WIRE_MOST,
    WIRE_SUM, WIRE_DONE, WIRE_KINDS
};
enum { WIRE_VERSION = 3, WIRE_WORDS = 96, WIRE_CARD = 256 };
#define WIRE_MAGIC 0x4b525047u /* "GPRK" */
#define WIRE_MOST_BYTES ((uint64_t)1 << 42)

struct wire_head { uint32_t magic, kind; uint64_t bytes; };
/* What both sides must have in common, and what else they tell of themselves.  build: the linker's
 * identification of the program; level, blas: of the vector code and the library of dense products,
 * on which the last bits of sums depend.  device: what the front end wants, 0 for none, else 1 + a
 * number, which counts on from the first device behind the last one; what a rank has, 0 for none,
 * else 1 + that device's number.  card: its name, or why there is none. */
struct wire_hello {
    uint32_t version, threads, cores, pid;
    uint32_t machines, device; /* machines: of the processes that are this rank */
    char program[32], build[48], level[16], blas[WIRE_WORDS], host[WIRE_WORDS];
    char card[WIRE_CARD];
};
struct wire_tick { uint64_t phase, done, total; };
struct wire_done {
    uint64_t serial, numbers;
    int32_t rc, machine; /* enum status; the error's `machine` */
    char name[32], msg[768], hint[256];
    char device[WIRE_CARD]; /* why a device failed since the last answer, or "" */
};

/* The two ends of a connection as descriptors, which may be the same; `patience`: seconds without
 * a byte after which the other side counts as hung (0: no limit).  ctl: once it is stopped, so does
 * a side that is silent for WIRE_STOPPED_MS (NULL: nothing stops). */
enum { WIRE_STOPPED_MS = 40, WIRE_LOOK_MS = 20 };
struct wire {
    int in, out;
    double patience;
    const struct ctl *ctl;
};
/* All of them return IO when the other side has ended or is hung, and the message says which. */
enum status wire_begin(const struct wire *, enum wire_kind, uint64_t bytes, struct err *err);
enum status wire_put(const struct wire *, const void *, size_t bytes, struct err *err);
enum status wire_get(const struct wire *, void *, size_t bytes, struct err *err);
/* Reads bytes and forgets them. */
enum status wire_skip(const struct wire *, uint64_t bytes, struct err *err);
/* FORMAT for what is no head of a message. */
enum status wire_next(const struct wire *, struct wire_head *, struct err *err);
/* Waits for a byte; false after so many milliseconds. */
bool wire_waits(const struct wire *, int milliseconds);
/* Whether a small message can be written at once. */
bool wire_takes(const struct wire *);
/* What this program tells. */
void wire_hello_of(struct wire_hello *, size_t threads);
/* Ends all strings where they are; false where version, program or build are not ours. */
bool wire_hello_sound(struct wire_hello *);
bool wire_hello_alike(const struct wire_hello *, const struct wire_hello *, struct err *err);

#endif
