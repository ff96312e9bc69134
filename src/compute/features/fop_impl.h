/* compute/features/fop_impl.h -- the state of a feature operator, for the files fop*.c of this
 * folder. */
#ifndef GPDESK_FOP_IMPL_H
#define GPDESK_FOP_IMPL_H

#include "compute/features/fop.h"
#include "compute/share.h"

struct fop {
    const struct backend_ops *be;
    void *state;
    /* The CPU backend and its operator, for what `be` does not do, and in its place when it fails
     * (lost); NULL: not needed. */
    const struct backend_ops *host;
    void *twin;
    bool lost, declined;
    struct err why_lost;
    size_t n, M;
    struct pool *pool;
    enum precision precision;
    const double *Z; /* dense: given; else NULL */
    size_t ld;
    double *part; /* dense: DENSE_GROUPS x M */
    struct panel *panel; /* the workspace of the last product, for the next one of its kind */
    struct gram *formed; /* Z'Z, or NULL */
    bool half;           /* passes use stored features in float16 */
    /* Features of sequences have a large common mean, on which float32 sums would spend their
     * digits.  Gram matrices then sum the difference from a centre, and the rest is added in
     * float64 (centre_back). */
    bool centres;
    double *centre;      /* M; NULL: not computed at these hyperparameters */
    double *outer;       /* fop_outer, fop_softmax: the features of all rows; or NULL */
    const double *row_scale;
    const struct share *share; /* of the rows here; NULL: they are all */
    struct learned_rows *learned; /* of a map that learns: what the backend reads; else NULL */
};

/* fop.c: true when a device has failed and the CPU can take its place, which it does from now
 * on. */
bool fop_goes_on(struct fop *, enum status rc, struct err *err);
/* fop_products.c: frees the workspace of products. */
void fop_panel_free(struct panel *);
/* fop_rows.c: makes the features of all rows, and frees them. */
enum status fop_outer_make(struct fop *, const struct ctl *, struct err *);
void fop_outer_drop(struct fop *);

static inline const struct backend_ops *ops_of(const struct fop *f)
{
    return f->lost ? f->host : f->be;
}

static inline void *state_of(const struct fop *f)
{
    return f->lost ? f->twin : f->state;
}

/* The backend that makes derivatives. */
static inline const struct backend_ops *back_ops(const struct fop *f)
{
    return f->lost || !f->be->grad ? f->host : f->be;
}

static inline void *back_state(const struct fop *f)
{
    return f->lost || !f->be->grad ? f->twin : f->state;
}

#endif
