/* compute/tools.h -- what a piece of work is done with: the backend that makes features, the
 * threads, and who watches and may stop it.  Everything is lent. */
#ifndef GPDESK_TOOLS_H
#define GPDESK_TOOLS_H

struct backend_ops;
struct ctl;
struct pool;

struct tools {
    const struct backend_ops *be;
    struct pool *pool;     /* NULL: the calling thread alone */
    const struct ctl *ctl; /* NULL: nobody watches */
};

#endif
