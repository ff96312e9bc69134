/* compute/models/tuning_nn.c -- how a Gaussian process on nearest rows is tuned: by the exact
 * marginal likelihood of a random subset of rows, since there is no one matrix of all of them
 * (share/doc/methods.md 24).  Amplitude and noise are found anew by the fit. */
#include "compute/models/exact.h"
#include "compute/models/tuning.h"

enum { SEARCH_ROWS = 1000, ALL_ROWS = 2000 };

static struct tuning_sizes nn_sizes(const struct kernel *k, size_t n, size_t d, size_t features,
                                    size_t rows)
{
    const size_t wanted = rows ? rows : ALL_ROWS, all = wanted < n ? wanted : n,
                 low = all < SEARCH_ROWS ? all : SEARCH_ROWS;

    (void)k;
    (void)d;
    (void)features;
    return (struct tuning_sizes){ .rows = low, .cols = low, .all_cols = all, .all_rows = all };
}

static enum status nn_allowed(size_t n, size_t features, size_t mem_limit, struct err *err)
{
    const enum status rc = exact_allowed(n, 1, mem_limit, err);

    (void)features;
    if (rc != ST_OK)
        err_hint(err, "tune solver=nn rows=2000");
    return rc;
}

static enum status nn_value(struct tuning_level *l, const struct nmll_ask *ask,
                            const struct nmll_told *told, struct err *err)
{
    return nmll_exact(l->task->kernel, l->src, ask, told, l->task->on.pool, l->task->on.ctl, err);
}

static void nn_close(struct tuning_level *l)
{
    (void)l; /* an evaluation frees its matrix */
}

const struct model_tuning nn_tuning = {
    .joint = true,
    .in_double = true,
    .sizes = nn_sizes,
    .allowed = nn_allowed,
    .best = nn_value,
    .at = nn_value,
    .no_errors = "is for feature models, method=bayes or grid",
    .no_probes = "nmll=approx is for the likelihood of many rows; solver=nn takes that of a subset",
    .close = nn_close,
};
