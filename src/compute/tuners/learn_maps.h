/* compute/tuners/learn_maps.h -- the features of an expression with maps that learn, and the way
 * back from derivatives in them to those in the weights of its nets and in its hyperparameters
 * (share/doc/methods.md 23.1 to 23.4, 23.10, 23.11).
 *
 * Work goes by groups of NET_GROUP rows (of images fewer: net_group), whose gradients are added in
 * their order, so that any number of threads gives the same bits.  What the way back needs of the
 * rows is bounded: of many rows it is made again, group by group. */
#ifndef GPDESK_LEARN_MAPS_H
#define GPDESK_LEARN_MAPS_H

#include "compute/features/fop.h"
#include "compute/tuners/tune.h"

struct learn_net; /* a net on its way */
/* An expression that is one map alone has its features as they are; any other has those of a drawn
 * feature map, whose rows are the inputs and what the maps make of them. */
struct learn_maps {
    const struct kernel *k;
    struct pool *pool;
    size_t d, most, q, group;      /* inputs, most rows at once, features, rows of a group */
    size_t kept_most;              /* bytes: more of the way back is made again, group by group */
    size_t weights, nhp, count;    /* parameters: weights, then logarithms of hyperparameters */
    size_t nnets, numbers;
    struct learn_net *net;
    struct featmap *fm;            /* NULL: one map alone; with it: */
    struct fop *head;              /* over rows X of `wide` numbers */
    struct source_array rows;
    double *X, *room, *hpart, *hp; /* room: of a worker, for derivatives in a row */
    size_t wide, room_each;
    float *w, *parts, *work;
    double *sums;                  /* of batch norms, for each group: `sums_each` numbers */
    size_t work_each, sums_each;
    enum status *rc;               /* of each group */
    const float *x;                /* the rows on their way: n of d */
    size_t n, wave;
    bool keep, whole; /* whole: what the way back needs is kept of all rows */
    double *F, *dF;                /* n x q each */
};
/* Sizes for at most `most` rows at once; features: columns, of which the maps take what they need.
 * The kernel is borrowed.  Close it also after a failure. */
enum status learn_maps_open(struct learn_maps *, const struct kernel *, size_t d, size_t features,
                            uint64_t seed, struct err *err);
double learn_maps_bytes(const struct learn_maps *, size_t most, size_t threads);
enum status learn_maps_room(struct learn_maps *, size_t most, struct pool *, struct err *err);
void learn_maps_close(struct learn_maps *);
/* The start: weights and shifts uniform within one over the root of the layer's inputs, norms 1 and
 * 0, hyperparameters as the options say; and those of options that go on from a result. */
void learn_maps_begin(const struct learn_maps *, const struct tune_opts *, double *theta);
/* Moves the hyperparameters into their ranges. */
void learn_maps_hold(const struct learn_maps *, const struct tune_opts *, double *theta);
/* The squared length that features have at the start, about. */
double learn_maps_size(const struct learn_maps *);
/* F (n x q) <- the features of n rows x of d inputs at theta; keep: for the way back, and the means
 * and deviations of batch norms, which are those of these rows, for theta. */
enum status learn_maps_forward(struct learn_maps *, double *theta, size_t n, const float *x,
                               bool keep, double *F, struct err *err);
/* grad (count) <- the gradient per row of a function whose derivatives in F are dF. */
enum status learn_maps_back(struct learn_maps *, double *dF, double *grad, struct err *err);
/* The nets of theta, kept (net_keep). */
enum status learn_maps_nets(const struct learn_maps *, const double *theta, struct kernel_nets *,
                            struct err *err);

#endif
