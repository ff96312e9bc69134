/* cuda/dense.c -- factorises matrices of the host on the current device (struct dense_ops): upload,
 * factorise, download. The host's matrix is overwritten only after everything has succeeded. */
#include "cuda/backend_impl.h"
#include "cuda/batch.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { PANEL = 256 }; /* at least this many columns are factorised between checks of ctl */
static const size_t piece = (size_t)32 << 20;   /* bytes of a download, through pinned memory */
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

struct there {
    struct device *dev;
    struct device_info info;
    size_t n;
    double *A, *more;   /* n x n; and additional memory that the caller asked for */
};

static enum status there_open(struct there *t, size_t n, size_t more, struct err *err)
{
    void *at = NULL;

    *t = (struct there){ .n = n };
    pthread_mutex_lock(&one);
    enum status rc = device_open(chosen_device(), &t->dev, err);
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

/* Downloads columns of the result. If `lower`, what is above the diagonal stays unchanged on the
 * host. */
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

/* Factorises by panels and checks ctl after each. */
static enum status factor(struct there *t, const struct ctl *ctl, size_t *pivot, struct err *err)
{
    const size_t n = t->n;
    enum status rc = ST_OK;

    for (size_t j = 0, m; rc == ST_OK && j < n; j += m) {
        const double left = (double)(n - j),
                     each = left * left / batch_rate(&t->info, BATCH_DOUBLE);
        m = batch_count(0.0, each, PANEL, n - j);
        const size_t below = n - j - m;
        double *D = t->A + j + j * n, *B = D + m, *C = B + m * n;
        rc = device_wait(t->dev, err);
        if (rc == ST_OK)
            rc = tiles_stopped(ctl, err);
        if (rc == ST_OK)
            rc = device_potrf(t->dev, m, D, n, pivot, err);
        if (rc == ST_NOT_PD) {
            *pivot += j;
            return err_set(err, ST_NOT_PD,
                           "the %zu x %zu matrix is not positive definite (pivot %zu)", n, n,
                           *pivot + 1);
        }
        if (rc == ST_OK && below)
            rc = device_trsm(t->dev, true, true, below, m, D, n, B, n, err);
        if (rc == ST_OK && below)
            rc = device_dsyrk_add(t->dev, below, m, -1.0, B, n, C, n, err);
    }
    return rc;
}

static enum status dense_potrf(size_t n, double *A, size_t lda, const struct ctl *ctl,
                               size_t *pivot, struct err *err)
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
        rc = device_upload(t.dev, STREAM_WORK, t.more + (2 + j) * n, b + j * ldb, n * sizeof *b,
                           err);
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

/* Factors of a matrix that stays on the device. */

struct kept {
    struct there t;         /* A: the factor; it has n + 1 rows so that its diagonal is row 0 */
    size_t k;
    double *G, *b, *x, *diag, *ones, *shift;
    double *host;           /* n + k n numbers */
};

static void kept_drop(void *state)
{
    struct kept *c = state;

    if (c->t.dev) {
        device_wait(c->t.dev, NULL);
        device_free(c->t.dev, c->t.A);
        device_close(c->t.dev);
    }
    free(c->host);
    free(c);
}

static enum status kept_fill(struct kept *c, const double *A, const double *b, struct err *err)
{
    const size_t n = c->t.n, kn = c->k * n;
    void *at = NULL;
    enum status rc = device_open(chosen_device(), &c->t.dev, err);

    if (rc == ST_OK)
        rc = device_describe(c->t.dev, &c->t.info, err);
    if (rc == ST_OK)
        rc = device_alloc(c->t.dev, &at, (n * (n + 1) + n * n + 2 * kn + 2 * n + 1) * sizeof *A,
                          "a matrix", err);
    if (rc != ST_OK)
        return rc;
    c->t.A = at;
    c->G = c->t.A + n * (n + 1);
    c->b = c->G + n * n;
    c->x = c->b + kn;
    c->diag = c->x + kn;
    c->ones = c->diag + n;
    c->shift = c->ones + n;
    for (size_t i = 0; i < n; i++)
        c->host[i] = 1.0;
    rc = device_upload(c->t.dev, STREAM_WORK, c->G, A, n * n * sizeof *A, err);
    if (rc == ST_OK)
        rc = device_upload(c->t.dev, STREAM_WORK, c->b, b, kn * sizeof *A, err);
    if (rc == ST_OK)
        rc = device_upload(c->t.dev, STREAM_WORK, c->ones, c->host, n * sizeof *A, err);
    /* The memory that was sent belongs to the caller. */
    return rc == ST_OK ? device_wait(c->t.dev, err) : rc;
}

static void *kept_new(size_t n, const double *A, size_t k, const double *b, struct err *err)
{
    struct kept *c = mem_calloc(1, sizeof *c, "a matrix", err);

    if (!c)
        return NULL;
    *c = (struct kept){ .t = { .n = n }, .k = k };
    c->host = mem_aligned(n * (1 + k), sizeof *c->host, "a matrix", err);
    pthread_mutex_lock(&one);
    const enum status rc = c->host ? kept_fill(c, A, b, err) : ST_NOMEM;
    pthread_mutex_unlock(&one);
    if (rc == ST_OK)
        return c;
    kept_drop(c);
    return NULL;
}

/* Copies the diagonal to the host, as a product with a row of ones. */
static enum status kept_diagonal(struct kept *c, double *to, struct err *err)
{
    const size_t n = c->t.n;
    const enum status rc = device_dgemm(c->t.dev, false, false, 1, n, 1, c->ones, 1, c->t.A, n + 1,
                                        0.0, c->diag, 1, err);

    return rc == ST_OK ? device_download(c->t.dev, to, c->diag, n * sizeof *to, err) : rc;
}

static enum status kept_factor(struct kept *c, double shift, const struct ctl *ctl, struct err *err)
{
    const size_t n = c->t.n;
    size_t pivot = 0;
    enum status rc = device_copy(c->t.dev, c->t.A, c->G, n * n * sizeof shift, err);

    if (rc == ST_OK)
        rc = device_upload(c->t.dev, STREAM_WORK, c->shift, &shift, sizeof shift, err);
    if (rc == ST_OK)
        rc = device_dgemm(c->t.dev, false, false, 1, n, 1, c->shift, 1, c->ones, 1, 1.0, c->t.A,
                          n + 1, err);
    return rc == ST_OK ? factor(&c->t, ctl, &pivot, err) : rc; /* it waits first */
}

static enum status kept_some(struct kept *c, double shift, double *diag, double *quad,
                             double *trace, const struct ctl *ctl, struct err *err)
{
    const size_t n = c->t.n, kn = c->k * n;
    enum status rc = kept_factor(c, shift, ctl, err);

    if (rc == ST_OK)
        rc = kept_diagonal(c, diag, err);
    if (rc == ST_OK)
        rc = device_copy(c->t.dev, c->x, c->b, kn * sizeof *diag, err);
    if (rc == ST_OK)
        rc = device_trsm(c->t.dev, false, false, n, c->k, c->t.A, n, c->x, n, err);
    if (rc == ST_OK)
        rc = device_download(c->t.dev, c->host, c->x, kn * sizeof *diag, err);
    for (size_t j = 0; rc == ST_OK && j < c->k; j++) {
        quad[j] = 0.0;
        for (size_t i = 0; i < n; i++)
            quad[j] += c->host[j * n + i] * c->host[j * n + i];
    }
    if (rc != ST_OK || !trace)
        return rc;
    rc = device_potri(c->t.dev, n, c->t.A, n, err);
    if (rc == ST_OK)
        rc = kept_diagonal(c, c->host, err);
    *trace = 0.0;
    for (size_t i = 0; rc == ST_OK && i < n; i++)
        *trace += c->host[i];
    return rc;
}

static enum status kept_at(void *state, double shift, double *diag, double *quad, double *trace,
                           const struct ctl *ctl, struct err *err)
{
    struct kept *c = state;

    pthread_mutex_lock(&one);
    const enum status rc = kept_some(c, shift, diag, quad, trace, ctl, err);
    if (rc != ST_OK)
        device_wait(c->t.dev, NULL);
    pthread_mutex_unlock(&one);
    return rc;
}

static struct device_info dense_info(void)
{
    struct device_info info = { .dense = SIZE_MAX };
    struct device *dev = NULL;

    pthread_mutex_lock(&one);
    if (device_open(chosen_device(), &dev, NULL) == ST_OK)
        device_describe(dev, &info, NULL);
    device_close(dev);
    pthread_mutex_unlock(&one);
    return info;
}

static size_t dense_least(void)
{
    const struct device_info info = dense_info();

    return info.dense ? info.dense : SIZE_MAX;
}

static bool kept_pays(size_t n, size_t factors)
{
    const struct device_info info = dense_info();

    return info.sms > 0 && (double)factors * batch_cholesky(&info, n) < batch_tridiagonal(&info, n);
}

const struct backend_dense dense_ops = {
    .least = dense_least, .potrf = dense_potrf, .potri = dense_potri, .tridiag = dense_tridiag,
    .eigen = dense_eigen, .pays = kept_pays, .keep = kept_new, .drop = kept_drop, .at = kept_at,
};
