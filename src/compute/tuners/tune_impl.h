/* compute/tuners/tune_impl.h -- what the tuners share: a job that evaluates the NMLL at two
 * fidelities. Only tune.c, tune_nlopt.c and tuners/ include this.
 *
 * A search asks for many points and needs them only roughly: it runs on fewer rows and columns
 * ("low").  What is reported is evaluated on all rows at all columns ("full").  Positions are
 * u[0..nfree): the free hyperparameters, mapped from [log lo, log hi] to [0, 1]. */
#ifndef GPDESK_TUNE_IMPL_H
#define GPDESK_TUNE_IMPL_H

#include "compute/features/featmap.h"
#include "compute/features/fop.h"
#include "compute/tuners/tune.h"

enum { TUNE_DEFAULT_EVALS = 30, TUNE_MANY_EVALS = 90, TUNE_RANK_LEAST = 16 };
/* Approximate values: how far probes and the data are solved for (nmll_slq.c has why). */
#define TUNE_PROBE_RTOL 1e-2
#define TUNE_DATA_RTOL 1e-5

/* The rows and columns of one fidelity. */
struct tune_level {
    const struct source *src;
    const double *y;         /* job's targets of n; multiplied by the row factors of src, where it
                                has them */
    double log_scale;        /* sum of the logarithms of those, for every target */
    size_t n, M;
    bool stored;             /* the operator keeps its features */
    enum precision precision; /* of features; rises to double when single limits the answer */
    struct featmap *map; /* features: made at the first use */
    struct fop *fop, *valid;
    double amplitude, noise; /* of the last evaluation; 0: none yet */
};

struct tune_job {
    const struct kernel *kernel;
    const struct tune_opts *opts;
    const struct backend_ops *be;
    struct pool *pool;
    const struct ctl *ctl;
    struct ctl quiet;               /* the same cancel, no ticks from inside an evaluation */
    struct tune_result *res;
    size_t trace_cap, max_evals, targets;
    size_t nhp, nfree, free_at[KERNEL_MAX_HP];
    double lo[KERNEL_MAX_HP], hi[KERNEL_MAX_HP]; /* natural scale; equal when fixed */
    double start[KERNEL_MAX_HP];
    bool have_start;                             /* it is somebody's choice, and is scored */
    struct nmll_bounds within;                   /* of amplitude and noise; equal when fixed */
    struct tune_level low, full;                 /* low.n == full.n && low.M == full.M: the same */
    bool have_low;                               /* low is cheaper than full */
    struct source_subset subset;
    struct source_array sample;                  /* its rows, gathered once */
    double *xsub;
    size_t *idx;
    double *yown, *ysub, *ssub;                  /* with row factors: of all rows; the sample's */
    struct tune_point best_low;                  /* score +inf: none yet */
    double start_low;                            /* the start's score at the low level; NaN */
    struct precond *basis;                       /* of the last setting with probes; or NULL */
    double rank_ratio;                           /* approx: where its rank was chosen */
    bool other_probes; /* approx: the last value and the one before do not compare
                          probe by probe: the rank was chosen anew between them */
    double error;                                /* approx: that wanted of a value; 0: any */
    size_t nprobes;                              /* approx: how many, and */
    double *terms, *best_terms, *other_terms;    /* what each said of the last value, the best, and
                                                    one to compare with */
};

void tune_level_close(struct tune_level *); /* frees its operators and map */
void tune_to_hp(const struct tune_job *, const double *u, double *hp);
void tune_from_hp(const struct tune_job *, const double *hp, double *u);
/* One evaluation with amplitude and noise at their best within bounds; recorded, told, counted.
 * gradu: d nmll / d u (nfree) or NULL.  A point where the arithmetic fails has nmll = +inf and is
 * not an error.  CANCELLED when stopped. */
enum status tune_eval(struct tune_job *, const double *u, bool full, double *gradu,
                      struct tune_point *out, struct err *);
/* The same at given amplitude and noise, on all rows; gradu has nfree + 2 entries, the last two in
 * log amplitude and log noise.  With several targets only the ratio of noise to amplitude is taken:
 * each target's own amplitude is at its best, and the last but one derivative is 0. */
enum status tune_eval_at(struct tune_job *, const double *u, double amplitude, double noise,
                         double *gradu, struct tune_point *out, struct err *);
/* Whether the full level is searched with amplitude and noise at their best for each kernel setting
 * (features), or jointly in all of them (exact kernel: one factorisation an evaluation). */
bool tune_profiles_full(const struct tune_job *);
/* Approximate likelihood: the rank of least predicted time at a point; the same for any thread
 * count. */
enum status tune_rank(struct tune_job *, struct tune_level *, const struct tune_point *at,
                      size_t *rank, struct err *);
/* Descends from a point by L-BFGS with exact gradients (tune_nlopt.c), at most max_evals
 * evaluations; what it finds is in the job's trace. */
enum status tune_descend(struct tune_job *, const struct tune_point *from, bool full,
                         size_t max_evals, struct err *);
/* The same without gradients: by Nelder & Mead's simplex, or by Powell's BOBYQA, which models the
 * objective by a quadratic (and needs two or more free hyperparameters, else the simplex is taken).
 */
enum tune_free { TUNE_SIMPLEX, TUNE_BOBYQA };
enum status tune_descend_free(struct tune_job *, const struct tune_point *from, bool full,
                              enum tune_free, double step, size_t max_evals, struct err *err);
size_t tune_evals_left(const struct tune_job *); /* of the search's share */
/* A point within a third of the bounds of the start, for draw `which` of a stream of RNG_TUNE. */
void tune_scatter(const struct tune_job *, uint32_t stream, size_t which, double *u);
/* How many descents from points of their own a search makes: `most`, but one where others are runs
 * of their own.  And a stream of RNG_TUNE that only this search draws from. */
size_t tune_starts(const struct tune_job *, size_t most);
uint64_t tune_stream(const struct tune_job *, uint32_t base);

/* The registry: a row for each, in the order in which help lists them; the first is the default. */
#define TUNER_ROWS(row) \
    row(tuner_bayes)    \
    row(tuner_grid)     \
    row(tuner_lbfgs)    \
    row(tuner_simplex)  \
    row(tuner_bobyqa)

#define TUNER_DECLARED(name) extern const struct tuner_ops name;
TUNER_ROWS(TUNER_DECLARED)
#undef TUNER_DECLARED

#endif
