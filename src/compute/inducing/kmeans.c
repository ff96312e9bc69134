/* compute/inducing/kmeans.c -- centres of k-means clusters of the training rows, which are
 * numbers; no target matters.  Centres are no training rows. */
#include "compute/inducing/basis.h"
#include "compute/inducing/select.h"
#include "compute/stats/kpca.h"

static enum status kmeans_choose(struct select_job *job, struct err *err)
{
    const size_t n = job->rows->n, d = job->rows->d, m = job->out->m;
    const struct kmeans_opts o = { .k = m, .restarts = 3, .seed = job->seed,
                                   .pool = job->rows->pool };
    struct kmeans km = { 0 };
    struct basis span;

    if (job->src->layout.nparts > 0) {
        err_set(err, ST_UNSUPPORTED, "select=kmeans averages rows of numbers; these rows hold "
                                     "sequences or molecules, which have no average");
        err_hint(err, "fit solver=sparse select=greedy, pchol, dpp, anneal or random");
        return ST_UNSUPPORTED;
    }
    enum status rc = kmeans_fit(n, d, job->rows->X, &o, job->ctl, &km, err);
    if (rc == ST_CANCELLED) { /* random rows are the best there is by then */
        err_clear(err);
        job->stopped = true;
        return random_select.choose(job, err);
    }
    if (rc == ST_OK)
        rc = select_basis(job, m, true, &span, err);
    if (rc != ST_OK) {
        kmeans_free(&km);
        return rc;
    }
    struct basis_try *t = basis_try_new(&span, 1, err);
    rc = t ? ST_OK : ST_NOMEM;
    for (size_t c = 0; rc == ST_OK && c < m; c++) {
        const double *z = km.centers + c * d;
        rc = basis_tries(&span, 1, z, t, err);
        if (rc != ST_OK || t->spanned) {
            job->out->skipped += rc == ST_OK;
            continue;
        }
        select_put(job, span.m, z);
        basis_add(&span, z, t);
    }
    const size_t have = span.m;
    if (rc == ST_OK)
        rc = select_fill(job, &span, have, err);
    basis_try_free(t);
    basis_free(&span);
    kmeans_free(&km);
    return rc;
}

const struct select_ops kmeans_select = {
    .name = "kmeans",
    .help = "centres of clusters of the training rows, where these are numbers",
    .drawn = true,
    .choose = kmeans_choose,
};
