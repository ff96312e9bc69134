/* compute/ranks/drawn.h -- a drawn feature map and the rows that it is for, as a message: the body
 * of ASK_OPEN behind its ask_head (ask.h).  A map is drawn anew from its kernel and seed, so that
 * only these travel, the kernel as text.  Then follow the rows of this rank and, where they have
 * weights, their factors. */
#ifndef GPDESK_DRAWN_H
#define GPDESK_DRAWN_H

#include "compute/backend.h"
#include "compute/ranks/wire.h"
#include "compute/share.h"

struct drawn_place { uint64_t first, count; };
struct drawn_head {
    uint64_t n, r0, r1; /* rows of all ranks, and those of this one */
    uint64_t d, inputs; /* inputs of the map; numbers of a row, with learned ones behind them */
    uint64_t M, seed;
    uint32_t precision, store, half, scaled;
    uint64_t text;      /* bytes of the kernel, padded to eights */
    struct drawn_place place[KERNEL_MAX_TERMS];
    struct row_layout layout;
};
/* The bytes of the message; it is written row by row, as the source gives them. */
struct drawn {
    const struct featmap *fm;
    const struct source *src;
    const struct fop_opts *opts;
    struct drawn_head head;
    char *text;
};
enum status drawn_of(struct drawn *, const struct featmap *, const struct source *,
                     const struct fop_opts *, struct err *);
void drawn_free(struct drawn *);
/* For the rank with rows r0 to r1 - 1.  IO: the connection failed, with *lost; else the source
 * failed, and the message is filled up with zeros. */
uint64_t drawn_bytes(struct drawn *, size_t r0, size_t r1);
enum status drawn_send(const struct drawn *, const struct wire *, bool *lost, struct err *);

/* What a rank reads from such a message of `bytes` bytes: all of it points into the body, which
 * the caller keeps.  FORMAT for what is none. */
struct drawn_there {
    struct drawn_head head;
    struct featmap *fm;
    struct source_array src;
    const double *row_scale; /* NULL: ones */
};
enum status drawn_read(struct drawn_there *, const void *body, size_t bytes, struct err *);

#endif
