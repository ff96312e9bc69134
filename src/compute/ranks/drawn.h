/* compute/ranks/drawn.h -- a drawn feature map and the rows that it is for, as a message: the body
 * of ASK_OPEN behind its ask_head (ask.h).  A map is drawn anew from its kernel and seed, so that
 * only these travel, the kernel as text.
 *
 * Rows are described first: by the sums of their segments (content.h), by which a rank finds those
 * that it has (kept.h), and by where they lie in files, where it reads them (places.h).  Only a
 * rank that has neither is sent them, in a second message.  Parts of the message, in this order:
 * the head, the kernel, places, the rows that these are of, sums, factors of rows where they have
 * weights, and rows. */
#ifndef GPDESK_DRAWN_H
#define GPDESK_DRAWN_H

#include "base/buf.h"
#include "compute/backend.h"
#include "compute/ranks/places.h"
#include "compute/ranks/wire.h"
#include "compute/share.h"

struct drawn_place { uint64_t first, count; };
struct drawn_head {
    uint64_t n, r0, r1; /* rows of all ranks, and those of this one */
    uint64_t d, inputs; /* inputs of the map; numbers of a row, with learned ones behind them */
    uint64_t M, seed;
    uint32_t precision, store, half, scaled;
    uint32_t device, unused; /* device 1: segments are summed apart (parted.h) */
    /* Bytes of the kernel, of places (0: not known) and of the rows in them, padded to eights;
     * these begin with row `from`, as do the sums, and there are `listed` of them. */
    uint64_t text, places, list, from, listed;
    uint64_t sent; /* 1: the rows follow */
    struct drawn_place place[KERNEL_MAX_TERMS];
    struct row_layout layout;
};
/* Bytes of what is the same for every part of the rows (kernel, places, their rows, sums), and of
 * everything behind the head. */
double drawn_common(const struct drawn_head *);
double drawn_body(const struct drawn_head *);
/* The message; rows are written as the source gives them. */
struct drawn {
    const struct featmap *fm;
    const struct source *src;
    const struct fop_opts *opts;
    const uint64_t *sum; /* of all segments, lent */
    bool device;         /* some rank has one */
    struct drawn_head head;
    struct buf text, places, list;
};
enum status drawn_of(struct drawn *, const struct featmap *, const struct source *,
                     const struct fop_opts *, const uint64_t *sum, struct err *);
void drawn_free(struct drawn *);
/* For the rank with rows r0 to r1 - 1: a description, or with the rows.  NOMEM. */
enum status drawn_for(struct drawn *, size_t r0, size_t r1, bool sent, struct err *);
uint64_t drawn_bytes(const struct drawn *);
/* IO: the connection failed, with *lost; else the source failed, and the message is filled up with
 * zeros. */
enum status drawn_send(const struct drawn *, const struct wire *, bool *lost, struct err *);

/* What a rank reads from such a message of `bytes` bytes: all of it points into the body, which
 * the caller keeps.  FORMAT for what is none. */
struct drawn_there {
    struct drawn_head head;
    struct featmap *fm;
    const uint64_t *sum; /* of its segments */
    struct places_told places;
    const double *row_scale, *x; /* NULL: ones; x NULL: rows were not sent */
};
/* *fm is the caller's when this succeeds. */
enum status drawn_read(struct drawn_there *, const void *body, size_t bytes, struct err *);
/* FORMAT for rows that are not as the head says. */
enum status drawn_check(const struct drawn_head *, const double *x, struct err *);

#endif
