/* cuda/dense.c -- factorisations of matrices of the host on the device in use (struct backend_dense): there,
 * factor, back.  What the host has is written when all has worked. */
#include "cuda/backend_impl.h"
#include "cuda/batch.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { PANEL = 256 };                           /* columns that are factorised without a look at ctl, at least */
static const size_t piece = (size_t)32 << 20;   /* of what comes back, through pinned memory */
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

struct there {
    struct device *dev;
    struct device_info info;
    size_t n;
    double *A, *more;   /* n x n; and what the caller asked for */
};

static enum status there_open(struct there *t, size_t n, size_t more, struct err *err)
{
    void *at = NULL;

    *t = (struct there){ .n = n };
    pthread_mutex_lock(&one);
    enum status rc = device_open(backend_device_in_use(), &t->dev, err);
    if (rc == ST_OK)
        rc = device_describe(t->dev, &t->info, err);
    if (rc == ST_OK)
        rc = device_alloc(t->dev, &at, (n * n + more) * sizeof(double), "a matrix", err);
    t->A = at;
    t->more = t->A ? t->A + n * n : NULL;
    return rc;
}

static void there_close(struct there *t)
{
    if (t->dev) {
        device_wait(t->dev, NULL);
        device_free(t->dev, t->A);
        device_close(t->dev);
    }
    pthread_mutex_unlock(&one);
}

static enum status send(struct there *t, const double *A, size_t lda, struct err *err)
{
    const size_t n = t->n;
    enum status rc = ST_OK;

    if (lda == n)
        return device_upload(t->dev, STREAM_WORK, t->A, A, n * n * sizeof *A, err);
    for (size_t j = 0; rc == ST_OK && j < n; j++)
        rc = device_upload(t->dev, STREAM_WORK, t->A + j * n, A + j * lda, n * sizeof *A, err);
    return rc;
}

/* Columns of the result, of which (lower) what lies above the diagonal stays as the host has it. */
static enum status fetch(struct there *t, bool lower, double *A, size_t lda, struct err *err)
{
    const size_t n = t->n, fit = piece / (n * sizeof *A), cols = fit < 1 ? 1 : fit < n ? fit : n;
    void *at = NULL;
    enum status rc = device_pinned(t->dev, &at, cols * n * sizeof *A, err);

    for (size_t j = 0; rc == ST_OK && j < n; j += cols) {
        const size_t some = n - j < cols ? n - j : cols;
        rc = device_download(t->dev, at, t->A + j * n, some * n * sizeof *A, err);
        for (size_t q = 0; rc == ST_OK && q < some; q++) {
            const size_t from = lower ? j + q : 0;
            memcpy(A + (j + q) * lda + from, (double *)at + q * n + from, (n - from) * sizeof *A);
        }
    }
    device_unpinned(t->dev, at);
    return rc;
}

/* By panels, with a look at ctl after each. */
static enum status factor(struct there *t, const struct ctl *ctl, size_t *pivot, struct err *err)
{
    const size_t n = t->n;
    enum status rc = ST_OK;

    for (size_t j = 0, m; rc == ST_OK && j < n; j += m) {
        const double left = (double)(n - j), each = left * left / batch_rate(&t->info, BATCH_DOUBLE);
        m = batch_count(0.0, each, PANEL, n - j);
        const size_t below = n - j - m;
        double *D = t->A + j + j * n, *B = D + m, *C = B + m * n;
        rc = device_wait(t->dev, err);
        if (rc == ST_OK)
            rc = backend_stopped(ctl, err);
        if (rc == ST_OK)
            rc = device_potrf(t->dev, m, D, n, pivot, err);
        if (rc == ST_NOT_PD) {
            *pivot += j;
            return err_set(err, ST_NOT_PD, "the %zu x %zu matrix is not positive definite (pivot %zu)",
                           n, n, *pivot + 1);
        }
        if (rc == ST_OK && below)
            rc = device_trsm(t->dev, true, true, below, m, D, n, B, n, err);
        if (rc == ST_OK && below)
            rc = device_dsyrk_add(t->dev, below, m, -1.0, B, n, C, n, err);
    }
    return rc;
}

static enum status dense_potrf(size_t n, double *A, size_t lda, const struct ctl *ctl, size_t *pivot,
                               struct err *err)
{
    struct there t;
    size_t at = 0;
    enum status rc = there_open(&t, n, 0, err);

    if (rc == ST_OK)
        rc = send(&t, A, lda, err);
    if (rc == ST_OK)
        rc = factor(&t, ctl, &at, err);
    if (rc == ST_OK)
        rc = fetch(&t, true, A, lda, err);
    if (rc == ST_NOT_PD && pivot)
        *pivot = at;
    there_close(&t);
    return rc;
}

static enum status dense_potri(size_t n, double *A, size_t lda, struct err *err)
{
    struct there t;
    enum status rc = there_open(&t, n, 0, err);

    if (rc == ST_OK)
        rc = send(&t, A, lda, err);
    if (rc == ST_OK)
        rc = device_potri(t.dev, n, t.A, n, err);
    if (rc == ST_OK)
        rc = fetch(&t, true, A, lda, err);
    there_close(&t);
    return rc;
}

static enum status dense_tridiag(size_t n, double *A, size_t lda, double *d, double *e, size_t k,
                                 double *b, size_t ldb, struct err *err)
{
    struct there t;
    double *temp = mem_aligned(n * (2 + k), sizeof *temp, "a tridiagonal form", err);
    enum status rc = ST_NOMEM;

    if (!temp)
        return rc;
    rc = there_open(&t, n, n * (2 + k), err);
    if (rc == ST_OK)
        rc = send(&t, A, lda, err);
    for (size_t j = 0; rc == ST_OK && j < k; j++)
        rc = device_upload(t.dev, STREAM_WORK, t.more + (2 + j) * n, b + j * ldb, n * sizeof *b, err);
    if (rc == ST_OK)
        rc = device_sytrd(t.dev, n, t.A, n, t.more, t.more + n, k, t.more + 2 * n, n, err);
    if (rc == ST_OK)
        rc = device_download(t.dev, temp, t.more, n * (2 + k) * sizeof *temp, err);
    if (rc == ST_OK) {
        memcpy(d, temp, n * sizeof *d);
        memcpy(e, temp + n, (n - 1) * sizeof *e);
    }
    for (size_t j = 0; rc == ST_OK && j < k; j++)
        memcpy(b + j * ldb, temp + (2 + j) * n, n * sizeof *b);
    there_close(&t);
    free(temp);
    return rc;
}

static enum status dense_eigen(size_t n, double *A, size_t lda, double *w, bool vectors,
                               struct err *err)
{
    struct there t;
    double *temp = mem_aligned(n, sizeof *temp, "eigenvalues", err);
    enum status rc = ST_NOMEM;

    if (!temp)
        return rc;
    rc = there_open(&t, n, n, err);
    if (rc == ST_OK)
        rc = send(&t, A, lda, err);
    if (rc == ST_OK)
        rc = device_syevd(t.dev, n, t.A, n, t.more, vectors, err);
    if (rc == ST_OK)
        rc = device_download(t.dev, temp, t.more, n * sizeof *w, err);
    if (rc == ST_OK && vectors)
        rc = fetch(&t, false, A, lda, err);
    if (rc == ST_OK)
        memcpy(w, temp, n * sizeof *w);
    there_close(&t);
    free(temp);
    return rc;
}

static size_t dense_least(void)
{
    struct device_info info = { .dense = SIZE_MAX };
    struct device *dev = NULL;

    pthread_mutex_lock(&one);
    if (device_open(backend_device_in_use(), &dev, NULL) == ST_OK)
        device_describe(dev, &info, NULL);
    device_close(dev);
    pthread_mutex_unlock(&one);
    return info.dense ? info.dense : SIZE_MAX;
}

const struct backend_dense backend_dense = {
    .least = dense_least, .potrf = dense_potrf, .potri = dense_potri, .tridiag = dense_tridiag,
    .eigen = dense_eigen,
};
