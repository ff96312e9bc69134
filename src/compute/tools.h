/* compute/tools.h -- the means of a piece of work: the backend that makes features, the threads,
 * and the control that watches and may stop it.  Everything is borrowed. */
#ifndef GPDESK_TOOLS_H
#define GPDESK_TOOLS_H

struct backend_ops;
struct ctl;
struct pool;

struct tools {
    const struct backend_ops *be;
    struct pool *pool;     /* NULL: the calling thread alone */
    const struct ctl *ctl; /* NULL: no reports, no stop */
};

#endif
