/* compute/models/model_left_out.c -- left-out residuals of a feature model, squared and divided by
 * their predictive variances at amplitude 1.
 *
 * With A1 = Z'Z + ratio I = L L' (M x M), h_i = |L^-1 z_i|^2 and the residual r_i = y_i - z_i'w,
 * leaving row i out gives the error e_i = r_i / (1 - h_i) and, at amplitude 1, the variance
 * v_i = ratio / (1 - h_i), of which ratio is noise (share/doc/methods.md 6.9, 6.10):
 *   e_i^2 / v_i = r_i^2 / ((1 - h_i) ratio).
 * One triangular solve for a sample of rows, M^2 operations each.
 *
 * Where the variances have fewer features (Mv) than the mean (M), the error is that of all M and
 * the variance that of Mv, as in predictions: with leverages h of the former and g of the latter
 *   e_i^2 / v_i = r_i^2 (1 - g_i) / ((1 - h_i)^2 ratio).
 *
 * With few rows both come from an n x n matrix, 1 - h_i = ratio C_ii with
 * C = (Z Z' + ratio I)^-1, which does not cancel where a model with more columns than rows passes
 * through its targets.  Then r_i = ratio (C y)_i, too: r_i / (1 - h_i) would magnify what an
 * iterative solve has left over by 1 / (1 - h_i).  With more rows leverages are small, and g stands
 * for h. */
#include "compute/models/fit.h"

#include "base/mem.h"
#include "compute/likelihood/nmll.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE = 2048 }; /* rows of the sample at most */
static const double all_most = 512e6; /* bytes: Z is formed as a whole for the n x n matrix */

struct job {
    const struct fit *ft;
    struct left_out *out;
    struct fop *f;
    size_t workers, strip; /* strip: rows of a task */
    double *work;      /* per worker: strip x M */
    double *all, *own; /* 1 - h_i, 1 - g_i of every row (n); NULL: by the factor */
    double *r;         /* with all: r_i of every row (t x n) */
    enum status *rc;   /* of each task */
};

static size_t sample_row(const struct job *j, size_t i)
{
    return (size_t)((double)i * (double)j->ft->src->n / (double)j->out->m);
}

static void strip_task(void *ctx, size_t task, size_t worker)
{
    struct job *j = ctx;
    const struct model *m = j->ft->m;
    const size_t M = m->Mv, n = j->ft->src->n, i0 = task * j->strip;
    const size_t i1 = i0 + j->strip < j->out->m ? i0 + j->strip : j->out->m;
    double *Z = j->work + worker * j->strip * M;
    enum status rc = ST_OK;

    for (size_t i = i0; i < i1 && rc == ST_OK; i++) {
        const size_t r = sample_row(j, i);
        rc = fop_tile64(j->f, r, r + 1, Z + (i - i0) * M, M, NULL);
    }
    if (rc == ST_OK)
        rc = blas_dtrsm_task(M, i1 - i0, m->L, M, Z, M, NULL);
    for (size_t i = i0; i < i1 && rc == ST_OK; i++) {
        const double g = blas_ddot(M, Z + (i - i0) * M, Z + (i - i0) * M);
        const size_t row = sample_row(j, i);
        const double keep = j->own ? j->own[row] : fmax(1.0 - g, 1e-6);
        const double all = j->all ? j->all[row] : keep;
        const double s = j->ft->src->row_scale ? j->ft->src->row_scale[row] : 1.0;
        j->out->latent[i] = j->ft->ratio * g / (keep * s * s);
        for (size_t q = 0; q < m->t; q++) {
            const double e = (j->r ? j->r : j->ft->residual)[q * n + row] / all;
            j->out->z2[q * j->out->m + i] = e * e * keep / j->ft->ratio;
        }
    }
    j->rc[task] = rc;
}

/* Z Z' (n x n) of M features into K. */
static enum status rows_gram(struct fit *ft, const struct fop_opts *fo, size_t M, double *K,
                             struct err *err)
{
    struct model_map z = { .f = NULL };
    enum status rc = model_open(ft->m, M, ft->src, fo, ft->on.be, &z, err);

    if (rc == ST_OK)
        rc = nmll_dual_matrix(z.f, K, ft->on.ctl, err);
    model_close(&z);
    return rc;
}

/* *r (t x n; the caller frees it): ratio C y of each target, from the factor K of C^-1 (n x n). */
static enum status residuals_of(struct fit *ft, const double *K, double **r, struct err *err)
{
    const size_t n = ft->src->n, all = ft->t * n;
    double *u = mem_calloc(all, sizeof *u, "residuals", err);
    enum status rc = u ? ST_OK : ST_NOMEM;

    if (rc == ST_OK) {
        memcpy(u, ft->y, all * sizeof *u);
        rc = blas_dtrsm(ft->on.pool, false, n, ft->t, K, n, u, n, NULL);
    }
    if (rc == ST_OK)
        rc = blas_dtrsm(ft->on.pool, true, n, ft->t, K, n, u, n, NULL);
    for (size_t i = 0; i < all && rc == ST_OK; i++)
        u[i] *= ft->ratio;
    *r = u;
    return rc;
}

/* *keep (n): ratio C_ii with M features, or NULL where rounding makes the matrix indefinite; *r, if
 * it is asked for, as above.  The caller frees both. */
static enum status keep_of(struct fit *ft, const struct fop_opts *fo, size_t M, double **keep,
                           double **r, struct err *err)
{
    const size_t n = ft->src->n;
    double effdim, *K = mem_aligned(n * n, sizeof *K, "the kernel matrix", err);
    double *C = K ? mem_calloc(n, sizeof *C, "leverages", err) : NULL;
    enum status rc = C ? rows_gram(ft, fo, M, K, err) : ST_NOMEM;

    for (size_t i = 0; i < n && rc == ST_OK; i++)
        K[i + i * n] += ft->ratio;
    if (rc == ST_OK)
        rc = blas_dpotrf(ft->on.pool, n, K, n, ft->on.ctl, NULL, err);
    if (rc == ST_OK && r)
        rc = residuals_of(ft, K, r, err);
    if (rc == ST_OK)
        rc = model_effdim(ft->on.pool, n, K, ft->ratio, &effdim, C, ft->on.ctl, err);
    for (size_t i = 0; i < n && rc == ST_OK; i++)
        C[i] *= ft->ratio;
    free(K);
    if (rc == ST_OK)
        *keep = C;
    else
        free(C);
    if (rc != ST_NOT_PD)
        return rc;
    err_clear(err);
    return ST_OK;
}

/* True if leverages come from the n x n matrix: few rows, and other features than those of the
 * factor, or more columns than rows. */
static bool by_rows(double n, double M, double Mv)
{
    return n <= AUTO_VARIANCE && 8.0 * n * M <= all_most && (Mv < M || n < Mv);
}

double model_left_out_bytes(double n, double M, double Mv, double threads)
{
    const double strip = (double)blas_task_columns(SAMPLE, (size_t)threads);

    return 8.0 * threads * strip * Mv + (by_rows(n, M, Mv) ? 8.0 * n * M + 8.0 * n * n : 0.0);
}

enum status model_left_out_features(struct fit *ft, struct left_out *out, struct err *err)
{
    const struct fop_opts fo = {.pool = ft->on.pool,
                                .ctl = ft->on.ctl,
                                .precision = ft->m->precision,
                                .row_scale = ft->src->row_scale};
    struct model_map z = { .f = NULL };
    const size_t n = ft->src->n, m = n < SAMPLE ? n : SAMPLE, threads = pool_threads(ft->on.pool);
    const size_t strip = blas_task_columns(m, threads), strips = (m + strip - 1) / strip;
    const size_t M = ft->m->M, Mv = ft->m->Mv;
    struct job j = { .ft = ft, .out = out, .workers = threads, .strip = strip };

    out->m = m;
    out->z2 = mem_calloc(ft->t * m, sizeof *out->z2, "left-out residuals", err);
    out->latent = out->z2 ? mem_calloc(m, sizeof *out->latent, "left-out variances", err) : NULL;
    j.work = out->latent ? mem_aligned(j.workers * strip * ft->m->Mv, sizeof *j.work,
                                   "features of a sample", err) : NULL;
    j.rc = j.work ? mem_calloc(strips, sizeof *j.rc, "left-out residuals", err) : NULL;
    enum status rc = j.rc ? model_open(ft->m, ft->m->Mv, ft->src, &fo, ft->on.be, &z, err)
                          : ST_NOMEM;
    const bool rows = by_rows((double)n, (double)M, (double)Mv);
    if (rc == ST_OK && rows)
        rc = keep_of(ft, &fo, M, &j.all, &j.r, err);
    if (rc == ST_OK && rows && Mv < M && n < Mv)
        rc = keep_of(ft, &fo, Mv, &j.own, NULL, err);
    if (Mv == M)
        j.own = j.all;
    if (rc == ST_OK) {
        j.f = z.f;
        pool_run(ft->on.pool, strips, strip_task, &j);
        for (size_t k = 0; k < strips && rc == ST_OK; k++)
            if (j.rc[k] != ST_OK)
                rc = err_set(err, j.rc[k], "the leverages of a sample could not be computed");
    }
    model_close(&z);
    if (j.own != j.all)
        free(j.own);
    free(j.all);
    free(j.r);
    free(j.work);
    free(j.rc);
    return rc;
}
