/* compute/tuners/tune.h -- hyperparameters by minimising the negative log marginal likelihood
 * (NMLL): the registry of tuners and the search (share/doc/methods.md 7).
 *
 * One factorisation at a kernel setting gives the best amplitude and noise there at almost no cost
 * (6.4, 6.5, 6.8), so that the search is over the kernel's own hyperparameters.  These are then
 * polished by L-BFGS with exact gradients (a single one, of many rows, by Brent's method), with
 * amplitude and noise at their best at each point or jointly with them: the kind of model says
 * which (models/tuning.h). */
#ifndef GPDESK_TUNE_H
#define GPDESK_TUNE_H

#include "compute/kernels/kernel.h"
#include "compute/likelihood/likelihood.h"
#include "compute/likelihood/nmll.h"
#include "compute/models/model.h"
#include "compute/tools.h"

struct tune_bound { double lo, hi; bool fixed; double value; }; /* fixed: value, else [lo, hi] */
/* The objective.  LOO and VALID: n/2 (1 + log(2 pi mse)) with the mean squared leave-one-out error
 * (6.9), or that on rows kept for validation, at the noise ratio where it is least; for feature
 * models only, and searched without gradients. */
enum tune_objective { TUNE_NMLL, TUNE_LOO, TUNE_VALID };
struct tune_opts {
    size_t targets;          /* vectors in y (and yvalid), one after the other; 0: one.  The NMLL is
                                the sum over them at one kernel and noise ratio */
    enum tune_objective objective;
    const struct source *valid; const double *yvalid; /* for VALID; scaled like y */
    const char *method;      /* "bayes" (then polish), "grid", "lbfgs", ...: tuner_find */
    const struct likelihood_ops *likelihood; /* NULL: Gaussian; its kind must suit */
    struct source_labels labels; /* of several classes, whose y is one vector of labels */
    const struct model_ops *kind; /* of model; NULL: the usual one with features */
    struct select_opts inducing; /* of a sparse model */
    bool approx;             /* the NMLL of all rows and columns by conjugate gradients and probes
                              * (10), where the matrix would be too large; the search uses that of
                              * fewer columns, or rows of an exact kernel */
    size_t rank, probes;     /* with approx; 0: the rank of least predicted time, and 16 probes */
    double error; /* approx: standard error of the final best value, as a share of it (at least 1e-4
                   * nats a row), reached by further probes; 0: no limit */
    size_t features;         /* columns of Z */
    size_t max_evals;        /* of all evaluations; 0: at most 30 to search and 20 to polish, more
                              * with many hyperparameters */
    size_t subsample;        /* rows used by the search; 0: automatic; the last points use all */
    bool polish;
    /* A kernel that learns (learn.h): steps of Adam, their rate at the start, and the number of
     * subsets, of which a step takes one; 0: the defaults.  `subsample`: the most rows of one. */
    size_t steps, subsets;
    double rate;
    bool stop_valid; /* it ends, and keeps its best, by the rows of `valid` */
    bool goes_on; /* from these weights and values, with fresh moments */
    struct kernel_nets from;
    double from_hp[KERNEL_MAX_HP], from_amplitudes[TARGETS_MOST], from_noise;
    size_t before;                     /* the steps that led there, which a repetition takes too */
    uint64_t seed;
    uint64_t dealt; /* learn_mark of the rows, kept by the caller for who fits them; 0: unknown */
    enum precision precision;
    enum plan plan; size_t mem_limit; /* bytes; 0: none */
    struct tune_bound hp[KERNEL_MAX_HP], amplitude, noise; /* lo, hi of 0: the default bounds */
    const double *start;     /* hp values to start from (nhp), or NULL: the kernel's own */
    size_t restart,
        restarts; /* this is search `restart` (from 0) of several that the caller compares.  The
                     first begins at start, the others each at a point and with draws of their own
                     (but with the same features), all with one descent.  restarts < 2: the only
                     search */
};
/* nmll: that of all training rows, estimated from a sample (and fewer columns) if subsampled.
 * effdim: the effective dimension there, NaN where not computed. */
struct tune_point {
    double hp[KERNEL_MAX_HP];
    double amplitude, noise, nmll, effdim; /* amplitude and noise: those of the first target */
    double amplitudes[TARGETS_MOST], noises[TARGETS_MOST];
    double se;    /* standard error of nmll where it is approximate, else 0 */
    double score; /* what is minimised, in nats: nmll, unless opts.objective says otherwise */
    bool subsampled;
};
struct tune_result {
    /* EVALS: the descent had not ended; TIE: further steps would gain less than the standard error
     * of that difference (approx). */
    enum outcome_tune { TUNE_DONE, TUNE_CANCELLED, TUNE_EVALS, TUNE_TIE } why;
    double tie_gain, tie_error;                /* for TIE, in nats; else 0 */
    size_t rank, probes;                       /* approx: rank used; probes behind best.nmll */
    size_t rounds;       /* a sparse model: how often its points were chosen */
    size_t nhp, evaluations;
    struct tune_point best;
    double effective_dimension;
    struct tune_point *trace; size_t ntrace;   /* every evaluation, in order */
    unsigned at_lower, at_upper;               /* hyperparameters on a bound, bits of tune_bit */
    /* How many hyperparameters are at a bound.  idle counts lengthscales of ARD at the
     * upper one: inputs without influence, no sign that the bounds are too narrow. */
    size_t nlower, nupper, idle;
    bool learned;            /* by a kernel that learns: */
    struct kernel_nets nets; /* what its maps are, */
    size_t halved;           /* and how often its rate was halved */
    /* The rows kept aside: their number, negative log density and squared error per row at the
     * result, and the least density, at which step; parted: it got worse while the likelihood
     * grew. */
    struct { size_t rows, step; double density, error, least; bool parted; } aside;
    bool degenerate;                           /* the noise explains nearly all of the variance */
    char verdict[256];
};
/* Default bounds of amplitude and noise, in standard deviations of the target. */
extern const double tune_amplitude_range[2], tune_noise_range[2];
/* The bit of hyperparameter i in at_lower and at_upper; i = nhp and nhp + 1 are amplitude and
 * noise. Hyperparameters beyond the thirtieth have none (0). */
static inline unsigned tune_bit(size_t nhp, size_t i)
{
    return i == nhp ? 1u << 30 : i == nhp + 1 ? 1u << 31 : i < 30 ? 1u << i : 0u;
}
struct tune_job;
struct tuner_ops {
    const char *name, *title, *help;
    bool gradients; /* follows exact gradients, which exist for the NMLL only */
    enum status (*search)(struct tune_job *, struct err *);
};
const struct tuner_ops *tuner_at(size_t i);
const struct tuner_ops *tuner_find(const char *name, struct err *err); /* NULL: the default */
/* "nmll", "loo", "validation", in the order of the enumeration; NULL ends. */
extern const char *const tune_objective_words[];
const char *tune_objective_name(enum tune_objective);
const struct model_ops *tune_kind(const struct tune_opts *);

/* Tunes the hyperparameters of a kernel on a source with scaled targets y (targets x n).  Each
 * evaluation reports a tick: value is the score, value2 the best so far, point = (hp..., amplitude,
 * noise).  A stop keeps the best point so far.  The result is never worse than a given start.  The
 * caller frees it with tune_result_free. */
enum status tune_run(const struct kernel *, const struct source *, const double *y,
                     const struct tune_opts *, const struct tools *, struct tune_result *,
                     struct err *);
void tune_result_free(struct tune_result *);

#endif
