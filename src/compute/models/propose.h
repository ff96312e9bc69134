/* compute/models/propose.h -- which of many rows to measure next, by a fitted model
 * (share/doc/methods.md 15). */
#ifndef GPDESK_PROPOSE_H
#define GPDESK_PROPOSE_H

#include "compute/models/model.h"
#include "compute/stats/acquisition.h"

/* Rules: the best row of a function from the posterior for each proposal; or the rows with the
 * largest expected improvement, upper bound, utility of the mean, or standard deviation. */
enum propose_rule {
    PROPOSE_THOMPSON, PROPOSE_IMPROVEMENT, PROPOSE_BOUND, PROPOSE_MEAN, PROPOSE_SD
};
/* Their words in the order of the enumeration; NULL ends. */
extern const char *const propose_words[];

struct propose_opts {
    enum propose_rule by;
    struct acquisition goal;
    size_t target, count;
    double apart;     /* 15.7; 0: proposals only differ */
    bool by_inputs;   /* 15.7 with the lengthscales of 15.12 */
    uint64_t seed;    /* of the functions */
    bool joint;       /* an exact model draws jointly at up to JOINT_ROWS rows (models/joint.h) */
    const bool *left; /* src->n: rows that are not proposed; NULL: none */
    /* The ranges of inputs that can take any value (d each; equal ends: an input that cannot).  A
     * proposal of a function then climbs it from its row, within them (15.10).  NULL: none can. */
    const double *lo, *hi;
};
/* What is found: the predictions of model_predict, src->n for each target of the model, and the
 * numbers of n rows, the first proposal first, at most opts->count.  The caller owns the arrays.
 * varf may be NULL for the rules that weigh no variances, the mean and functions. */
struct proposed {
    double *mean, *varf;
    size_t *row, n;
    double *x; /* with opts->lo: the inputs of proposals (count x d), which have left their rows */
};
/* Chooses rows of src: fewer than opts->count when no other rows are far enough apart.
 * The same arguments give the same rows for any number of threads.  Errors are those of
 * model_predict and functions_new.  Memory: 16 bytes for each row, and for functions 16 (4 count +
 * 64) count bytes beside blocks of fixed size. */
enum status propose(const struct model *, const struct source *, const struct propose_opts *,
                    const struct tools *, struct proposed *, struct err *);

#endif
