/* compute/models/tuning.h -- what the tuner (tuners/tune.h) asks of a kind of model: how many rows
 * and columns an evaluation uses, how the objective is computed from them, and which objectives the
 * kind does not have.  A row of MODEL_KINDS (model.h) points to a struct model_tuning; the tuner
 * never asks which kind it has.
 *
 * A search evaluates many points at a "low" level, with fewer rows and columns; reported values
 * come from the "full" level (share/doc/methods.md 7). */
#ifndef GPDESK_TUNING_H
#define GPDESK_TUNING_H

#include "compute/backend.h"
#include "compute/kernels/kernel.h"
#include "compute/inducing/select.h"
#include "compute/likelihood/likelihood.h"
#include "compute/likelihood/nmll.h"
#include "compute/tools.h"

/* What all evaluations of one tuning share; borrowed. */
struct tuning_task {
    const struct kernel *kernel;
    const struct likelihood_ops *likelihood; /* NULL: Gaussian */
    struct source_labels labels;         /* of several classes */
    struct tools on; /* ctl stops an evaluation; it reports nothing from inside of one */
    uint64_t seed;
    size_t mem_limit;           /* bytes; 0: none */
    const struct select_opts *inducing; /* NULL: none */
    const struct source *valid; /* rows kept for validation, where their error is the objective; */
    const double *yvalid;       /* else NULL */
};

/* The rows and columns of one fidelity. */
struct tuning_level {
    const struct tuning_task *task;
    const struct source *src;
    const double *y; /* the targets (targets x n), multiplied by the row factors of src if any */
    size_t n, M;
    bool many_passes;         /* evaluations pass over the features many times: store them */
    enum precision precision; /* of features; becomes double when single limits the result */
    void *held;               /* the kind's own state: NULL until the first use, freed by `close` */
    /* For the tuner alone. */
    double log_scale;        /* the sum of the logarithms of the row factors, times the targets */
    double amplitude, noise; /* of the last evaluation; 0: none yet */
};

/* nmll=approx: random probes (share/doc/methods.md 10). */
struct tuning_probes {
    size_t n;            /* number of probes of an evaluation */
    double error;        /* standard error wanted for this value, in nats; 0: any */
    size_t given;        /* rank of the preconditioner; 0: the kind chooses */
    double *terms;       /* out: what each probe contributed (nmll_slq_opts) */
    size_t *rank;        /* in and out: the rank in use; 0: none yet */
    size_t *used;        /* out: probes behind the value */
    bool *other; /* out: true when the rank was chosen anew, so that the value cannot be compared
                  * with the last one probe by probe */
};

/* Rows and columns of a search, and those of the full level. */
struct tuning_sizes { size_t rows, cols, all_cols, all_rows; };

struct model_tuning {
    /* True: `best` has no gradient, and the full level is searched in amplitude, noise and the
     * kernel's hyperparameters jointly, by `at`.  False: with amplitude and noise at their best for
     * each kernel setting, at both levels. */
    bool joint;
    bool no_noise;  /* it has no noise, which stays at 1 and is not searched */
    bool in_double; /* values are smooth to double precision, whatever precision= says */
    /* rows: those wanted for the search, 0: as many as suit the kind; n: all rows, of d inputs. */
    struct tuning_sizes (*sizes)(const struct kernel *, size_t n, size_t d, size_t features,
                                 size_t rows);
    /* LIMIT or RANGE where that many rows or features are not possible. */
    enum status (*allowed)(size_t n, size_t features, size_t mem_limit, struct err *);
    /* The NMLL with amplitude and noise at their best within bounds (NMLL_BEST), and its gradient
     * unless `joint`.  Where single precision limits the result it sets told->limited. */
    enum status (*best)(struct tuning_level *, const struct nmll_ask *, const struct nmll_told *,
                        struct err *);
    /* Evaluates several settings that `best` will be asked for next, in this order and without
     * gradients, side by side; what it does not do is done then.  It returns how many of the first
     * ones it was worth looking at.  NULL: the kind evaluates one at a time. */
    size_t (*ahead)(struct tuning_level *, const struct nmll_ask *, size_t count);
    /* The NMLL at a given amplitude and noise, or of several targets at a ratio (NMLL_GIVEN,
     * NMLL_RATIO), with a gradient if told asks for one.  At the full level only. */
    enum status (*at)(struct tuning_level *, const struct nmll_ask *, const struct nmll_told *,
                      struct err *);
    /* objective=loo and validation: told->mse, as nmll_loo.  NULL: the kind has none, and the
     * objective is refused by "objective=NAME" and then the words of no_errors. */
    enum status (*errors)(struct tuning_level *, const struct nmll_ask *, const struct nmll_told *,
                          struct err *);
    const char *no_errors;
    /* nmll=approx: as `at`, by probes.  NULL: refused with the sentence no_probes. */
    enum status (*probes)(struct tuning_level *, const struct nmll_ask *, const struct nmll_told *,
                          const struct tuning_probes *, struct err *);
    const char *no_probes;
    /* What a value by probes reads and keeps at n rows, and what the other way takes; NULL: the
     * kind has nothing to tell before it begins. */
    void (*probes_note)(size_t n, size_t mem_limit, char note[256]);
    /* Chooses anew what does not follow the hyperparameters from one evaluation to the next, as
     * inducing points, at a setting (NMLL_BEST).  *moved: values are better than before, and a
     * search can go on.  NULL: there is no such thing. */
    enum status (*again)(struct tuning_level *, const struct nmll_ask *, bool *moved,
                         struct err *);
    void (*close)(struct tuning_level *); /* frees what is held; may be called again */
};

/* Used by features_model, sparse_model and nn_model. */
extern const struct model_tuning features_tuning, sparse_tuning, nn_tuning;
/* The rank of the preconditioner with which an evaluation at a point by `probes` probes takes the
 * least predicted time; it is the same for any number of threads (tuning_rank.c). */
#define TUNING_PROBE_RTOL 1e-2 /* relative residuals of the solves for probes */
#define TUNING_DATA_RTOL 1e-5  /* and for the data (nmll_slq.c) */
enum status tuning_rank(struct tuning_level *, struct fop *, bool stored, const struct nmll_ask *at,
                        size_t probes, size_t *rank, struct err *);

#endif
