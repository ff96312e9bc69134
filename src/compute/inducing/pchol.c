/* compute/inducing/pchol.c -- the pivots of a Cholesky factorisation of the kernel matrix: each
 * time the training row that is farthest from the span of those chosen before (Fine & Scheinberg
 * 2001).  Targets do not matter.  Ties go to the smallest index. */
#include "compute/inducing/basis.h"
#include "compute/inducing/select.h"

#include <math.h>

/* The row with the largest residual at its own weight; n: all are spanned. */
static size_t farthest(const struct select_job *job, const struct basis *b)
{
    const double *s = job->rows->row_scale;
    size_t best = b->n;
    double most = 0.0;

    for (size_t i = 0; i < b->n; i++) {
        const double left = s ? b->missed[i] / (s[i] * s[i]) : b->missed[i];
        if (left > most && b->missed[i] > BASIS_SPANNED * b->own[i]) {
            most = left;
            best = i;
        }
    }
    return best;
}

static enum status pchol_choose(struct select_job *job, struct err *err)
{
    const size_t m = job->out->m, d = job->rows->d;
    struct basis b;
    enum status rc = select_basis(job, m, false, &b, err);

    if (rc != ST_OK)
        return rc;
    struct basis_try *t = basis_try_new(&b, 1, err);
    rc = t ? ST_OK : ST_NOMEM;
    while (rc == ST_OK && b.m < m && !job->stopped) {
        const size_t row = farthest(job, &b);
        if (row == b.n)
            break;
        rc = basis_tries(&b, 1, job->rows->X + row * d, t, err);
        if (rc != ST_OK)
            break;
        if (t->spanned) { /* rounding alone was left of it */
            b.missed[row] = 0.0;
            job->out->skipped++;
            continue;
        }
        select_take(job, b.m, row);
        basis_add(&b, job->rows->X + row * d, t);
        b.missed[row] = 0.0;
        select_tick(job, b.m, m, -b.value, -b.value, 1.0);
        job->stopped = ctl_stopped(job->ctl);
    }
    job->out->m = b.m;
    basis_try_free(t);
    basis_free(&b);
    return rc == ST_OK && job->out->m == 0 ? err_set(err, ST_RANGE, "the kernel of every training "
                                                     "row with itself is 0") : rc;
}

const struct select_ops pchol_select = {
    .name = "pchol",
    .help = "the row farthest from those chosen, one after the other (pivoted Cholesky)",
    .choose = pchol_choose,
};
