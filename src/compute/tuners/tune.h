/* compute/tuners/tune.h -- hyperparameters by minimising the NMLL: the registry of tuners and the
 * search.
 *
 * Amplitude and noise are free after one factorisation per kernel setting (B.3, B.4), so the search
 * is over the kernel's own hyperparameters; these are then polished by L-BFGS with exact gradients,
 * amplitude and noise at their best for each (exact kernel: jointly with them). */
#ifndef GPDESK_TUNE_H
#define GPDESK_TUNE_H

#include "compute/kernels/kernel.h"
#include "compute/likelihood/nmll.h"
#include "compute/tools.h"

struct tune_bound { double lo, hi; bool fixed; double value; }; /* fixed: value, else [lo, hi] */
/* What is minimised.  LOO, VALID: n/2 (1 + log(2 pi mse)) with the mean squared leave-one-out
 * error, or that on the rows kept for validation, the noise ratio at its best for it; feature
 * models only, searched without gradients. */
enum tune_objective { TUNE_NMLL, TUNE_LOO, TUNE_VALID };
struct tune_opts {
    size_t targets;          /* that y (and yvalid) has, one vector after the other; 0: one.  The
                                NMLL is the sum over them at one kernel and noise ratio */
    enum tune_objective objective;
    const struct source *valid; const double *yvalid; /* of VALID; scaled as y */
    const char *method;      /* "bayes" (then polish), "grid", "lbfgs", ...: tuner_find */
    bool exact;              /* exact kernel instead of features */
    bool approx;             /* features: on all rows and columns the NMLL by PCG and probes, for
                                columns whose Gram is too much; the search has a Gram of few */
    size_t rank, probes;     /* of that; 0: the rank of least predicted time, and 16 */
    double error; /* approx: standard error of the best value at the end, as a share of it
                   * (at least 1e-4 nats a row), by further probes; 0: as it comes */
    size_t features;         /* columns of Z */
    size_t max_evals;        /* search and polish together; 0: 30 and 20 at most */
    size_t subsample;        /* rows used while searching; 0: automatic; the last points use all */
    bool polish;
    uint64_t seed;
    enum precision precision;
    enum plan plan; size_t mem_limit; /* bytes; 0: none */
    struct tune_bound hp[KERNEL_MAX_HP], amplitude, noise; /* lo, hi of 0: the default bounds */
    const double *start;     /* hp values to start from (nhp), or NULL: the kernel's own */
    size_t restart,
        restarts; /* this is search `restart`, from 0, of several that the caller compares: the
                     first begins at start, each other at a point and with draws of its own
                     (the features stay), all with one descent; restarts < 2: the only one */
};
/* nmll: of all training rows; estimated from a sample (and fewer columns) where subsampled.
 * effdim: effective dimension there, NaN where not computed. */
struct tune_point {
    double hp[KERNEL_MAX_HP];
    double amplitude, noise, nmll, effdim; /* amplitude, noise: of the first target */
    double amplitudes[TARGETS_MOST], noises[TARGETS_MOST];
    double se;    /* standard error of nmll where it is approximate, else 0 */
    double score; /* what is minimised, in nats: nmll, unless opts.objective says otherwise */
    bool subsampled;
};
struct tune_result {
    /* EVALS: still descending; TIE: what further steps would gain is less than the standard error
     * of that difference (approx). */
    enum outcome_tune { TUNE_DONE, TUNE_CANCELLED, TUNE_EVALS, TUNE_TIE } why;
    double tie_gain, tie_error;                /* of TIE, in nats; else 0 */
    size_t rank, probes;                       /* approx: of the preconditioner; behind best.nmll */
    size_t nhp, evaluations;
    struct tune_point best;
    double effective_dimension;
    struct tune_point *trace; size_t ntrace;   /* every evaluation, in order */
    unsigned at_lower, at_upper;               /* bits of tune_bit */
    /* How many hyperparameters are at a bound.  idle counts the lengthscales of an ARD kernel at
     * the upper one: inputs without influence, no sign that the bounds are too narrow. */
    size_t nlower, nupper, idle;
    bool degenerate;                           /* noise explains nearly everything */
    char verdict[256];
};
/* Where amplitude and noise are searched unless bounds are given; standard deviations of the scaled
 * target. */
extern const double tune_amplitude_range[2], tune_noise_range[2];
/* Bit of hyperparameter i in at_lower, at_upper; i = nhp, nhp + 1: amplitude, noise.  0: none, for
 * hyperparameters beyond the thirtieth. */
static inline unsigned tune_bit(size_t nhp, size_t i)
{
    return i == nhp ? 1u << 30 : i == nhp + 1 ? 1u << 31 : i < 30 ? 1u << i : 0u;
}
struct tune_job;
struct tuner_ops {
    const char *name, *title, *help;
    bool gradients; /* follows exact gradients, which only the NMLL has */
    enum status (*search)(struct tune_job *, struct err *);
};
const struct tuner_ops *tuner_at(size_t i);
const struct tuner_ops *tuner_find(const char *name, struct err *err); /* NULL: the default */
const char *tune_objective_name(enum tune_objective); /* "nmll", "loo", "validation" */

/* y: scaled targets (n). Ticks: phase "tune" (else "tune-loo", "tune-validation"), value the score,
 * value2 best so far, point = (hp..., amplitude, noise).  Cancel keeps the best point so far. Never
 * worse than the start. */
enum status tune_run(const struct kernel *, const struct source *, const double *y,
                     const struct tune_opts *, const struct tools *, struct tune_result *,
                     struct err *);
void tune_result_free(struct tune_result *);

#endif
