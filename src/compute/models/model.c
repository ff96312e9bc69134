/* compute/models/model.c -- a fitted Gaussian process: reference counts, the factor behind its
 * variances, predictions.
 *
 * At amplitude 1 and noise ratio rho (methods.md B.3):
 *   mean = z' w,   var_f = amplitude^2 rho z' A1^-1 z = amplitude^2 rho |L^-1 z|^2
 * The exact model has mean = k' alpha, var_f = amplitude^2 (k(x,x) - |L^-1 k|^2). */
#include "compute/models/model.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/models/model_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct model *model_ref(struct model *m)
{
    if (m != NULL)
        __atomic_add_fetch(&m->refs, 1, __ATOMIC_RELAXED);
    return m;
}

void model_unref(struct model *m)
{
    if (m == NULL || __atomic_sub_fetch(&m->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(m->w);
    free(m->L);
    free(m->X);
    free(m);
}

double model_round(double x)
{
    int e;
    const double m = frexp(x, &e);

    return ldexp(nearbyint(ldexp(m, 40)), e - 40);
}

double model_ratio(double amplitude, double noise)
{
    return model_round(noise * noise / (amplitude * amplitude));
}

static double noise_ratio(const struct model *m)
{
    return model_ratio(m->amplitude, m->noise);
}

/* Phases. */

static void phase_tick(void *ctx, const struct tick *t)
{
    const struct phase_ctl *p = ctx;
    struct tick own = *t;

    own.phase = p->phase;
    ctl_tick(p->outer, &own);
}

const struct ctl *model_phase(struct phase_ctl *p, const struct ctl *outer, enum phase phase)
{
    *p = (struct phase_ctl){ .outer = outer, .phase = phase };
    p->ctl = (struct ctl){ .cancel = outer ? outer->cancel : NULL, .tick = phase_tick, .ctx = p };
    return &p->ctl;
}

void model_step(const struct ctl *ctl, enum phase phase, size_t done)
{
    ctl_tick(ctl, &(struct tick){.phase = phase,
                                 .method = phase_word(phase),
                                 .done = done,
                                 .value = NAN,
                                 .value2 = NAN,
                                 .target = NAN,
                                 .passes = NAN});
}

/* Features of sequences do not depend on how long the longest one is. */
static bool same_inputs(const struct model *m, const struct source *src)
{
    return src->d == m->d || (m->kind == MODEL_FEATURES && kernel_reads_windows(&m->kernel));
}

/* The factor. */

enum status model_open(const struct model *m, size_t columns, const struct source *src,
                       const double *row_scale, enum precision precision, enum storing store,
                       const struct backend_ops *be, struct pool *pool, struct featmap **map,
                       struct fop **f, struct err *err)
{
    struct fop_opts fo = { .pool = pool, .precision = precision, .store = store != STORE_AUTO,
                           .half = store == STORE_FLOAT16, .row_scale = row_scale };

    *f = NULL;
    *map = featmap_new(&m->kernel, src->d, columns, m->seed, err);
    if (*map == NULL)
        return err && err->code != ST_OK ? err->code : ST_NOMEM;
    *f = fop_new(be, *map, src, &fo, err);
    enum status rc = *f != NULL ? fop_set(*f, m->hp, err)
                     : err && err->code != ST_OK ? err->code : ST_NOMEM;
    if (rc != ST_OK) {
        fop_free(*f);
        featmap_free(*map);
        *f = NULL;
        *map = NULL;
    }
    return rc;
}

static void restore_lower(double *G, const double *diag, size_t M, double plus)
{
    enum { EDGE = 64 };

    for (size_t jb = 0; jb < M; jb += EDGE)
        for (size_t ib = jb; ib < M; ib += EDGE)
            for (size_t j = jb; j < M && j < jb + EDGE; j++)
                for (size_t i = ib > j ? ib : j + 1; i < M && i < ib + EDGE; i++)
                    G[i + j * M] = G[j + i * M];
    for (size_t i = 0; i < M; i++)
        G[i + i * M] = diag[i] + plus;
}

enum status model_refactor(struct pool *pool, size_t M, double *L, const double *diag,
                           double ratio, double jitter, const struct ctl *ctl, struct err *err)
{
    double least = INFINITY;

    restore_lower(L, diag, M, ratio + jitter);
    enum status rc = blas_dpotrf(pool, M, L, M, ctl, NULL, err);
    for (size_t i = 0; rc == ST_OK && i < M; i++)
        least = fmin(least, L[i + i * M] * L[i + i * M]);
    if (rc == ST_OK && least < 0.5 * ratio) /* no pivot of G + ratio I is below the ratio */
        rc = err_set(err, ST_NOT_PD, "rounding is as large as the noise");
    return rc;
}

enum status model_factor(struct fop *f, size_t t, const double *y, double ratio, double **L,
                         double *b, double *diag, double *jitter, const struct ctl *ctl,
                         struct err *err)
{
    const size_t M = fop_cols(f);
    const double n = (double)fop_rows(f);
    double *own = diag ? NULL : mem_calloc(M, sizeof *own, "the Gram's diagonal", err);
    double *G = diag || own ? mem_aligned(M * M, sizeof *G, "the Gram matrix", err) : NULL;
    enum status rc = G ? fop_gram_of(f, t, y, G, b, NULL, ctl, err) : ST_NOMEM;

    *L = NULL;
    *jitter = 0.0;
    if (diag == NULL)
        diag = own;
    for (size_t i = 0; rc == ST_OK && i < M; i++)
        diag[i] = G[i + i * M];
    model_step(ctl, PHASE_FACTOR, 0);
    while (rc == ST_OK) {
        rc = model_refactor(fop_pool(f), M, G, diag, ratio, *jitter, ctl, err);
        if (rc != ST_NOT_PD || *jitter > 1e-4 * n)
            break;
        *jitter = *jitter > 0.0 ? *jitter * 10.0 : fmax(0.5 * ratio, 1e-10 * n);
        err_clear(err);
        rc = ST_OK;
    }
    if (rc == ST_OK) {
        *L = G;
        G = NULL;
    }
    free(G);
    free(own);
    return rc;
}

enum status model_effdim(struct pool *pool, size_t M, const double *L, double ratio,
                         double *effdim, const struct ctl *ctl, struct err *err)
{
    enum { COLS = 256 };
    double *X = mem_aligned(M * COLS, sizeof *X, "columns of the inverse factor", err);
    double trace = 0.0;
    enum status rc = X ? ST_OK : ST_NOMEM;

    for (size_t j = 0; rc == ST_OK && j < M; j += COLS) {
        const size_t m = M - j, k = m < COLS ? m : COLS;
        memset(X, 0, m * k * sizeof *X);
        for (size_t c = 0; c < k; c++)
            X[c + c * m] = 1.0;
        rc = blas_dtrsm(pool, false, m, k, L + j + j * M, M, X, m, err);
        for (size_t c = 0; rc == ST_OK && c < k; c++)
            trace += blas_ddot(m - c, X + c + c * m, X + c + c * m);
        if (rc == ST_OK && ctl_stopped(ctl))
            rc = err_set(err, ST_CANCELLED, "stopped");
    }
    free(X);
    *effdim = (double)M - ratio * trace;
    return rc;
}

enum status model_effdim_half(struct pool *pool, size_t M, const double *L, double ratio,
                              double *effdim, const struct ctl *ctl, struct err *err)
{
    const size_t h = M / 2;
    double *H = mem_aligned(h * h, sizeof *H, "the Gram of half the features", err);

    if (H == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < h; i++) {
        double g = 0.0; /* G_ii + ratio */
        for (size_t k = 0; k <= i; k++)
            g += L[i + k * M] * L[i + k * M];
        H[i + i * h] = 2.0 * g - ratio;
        for (size_t j = 0; j < i; j++)
            H[i + j * h] = 2.0 * L[j + i * M];
    }
    enum status rc = blas_dpotrf(pool, h, H, h, ctl, NULL, err);
    if (rc == ST_OK)
        rc = model_effdim(pool, h, H, ratio, effdim, ctl, err);
    free(H);
    return rc;
}

void model_exact_unscale(size_t n, size_t t, const double *row_scale, double *L, double *w)
{
    for (size_t i = 0; row_scale && w && i < t * n; i++)
        w[i] *= row_scale[i % n];
    for (size_t j = 0; row_scale && L && j < n; j++)
        for (size_t i = j; i < n; i++)
            L[i + j * n] /= row_scale[i];
}

static enum status exact_variance(struct model *m, const double *row_scale, struct pool *pool,
                                  const struct ctl *ctl, double *effdim, struct err *err)
{
    double jitter;
    double *K = mem_aligned(m->M * m->M, sizeof *K, "the kernel matrix", err);
    enum status rc = K ? exact_factor(&(struct exact_rows){.k = &m->kernel,
                                                           .hp = m->hp,
                                                           .X = m->X,
                                                           .n = m->M,
                                                           .d = m->d,
                                                           .row_scale = row_scale,
                                                           .pool = pool},
                                      noise_ratio(m), K, &jitter, ctl, err)
                       : ST_NOMEM;

    if (rc == ST_OK && effdim != NULL)
        rc = model_effdim(pool, m->M, K, noise_ratio(m) + jitter, effdim, ctl, err);
    if (rc != ST_OK) {
        free(K);
        return rc;
    }
    model_exact_unscale(m->M, m->t, row_scale, K, NULL);
    free(m->L);
    m->L = K;
    m->Mv = m->M;
    return ST_OK;
}

enum status model_variance(struct model *m, const struct source *train, size_t Mv,
                           const struct backend_ops *be, struct pool *pool, const struct ctl *ctl,
                           double *effdim, struct err *err)
{
    struct featmap *map = NULL;
    struct fop *f = NULL;
    struct phase_ctl phase;
    double *L = NULL, jitter;

    ctl = model_phase(&phase, ctl, PHASE_VARIANCE);
    if (m->kind == MODEL_EXACT)
        return train->n != m->M ? err_set(err, ST_SHAPE, "the model has %zu training rows, the "
                                          "data %zu", m->M, train->n)
                                : exact_variance(m, train->row_scale, pool, ctl, effdim, err);
    if (Mv == 0)
        Mv = m->M < AUTO_VARIANCE ? m->M : AUTO_VARIANCE;
    if (!same_inputs(m, train))
        return err_set(err, ST_SHAPE, "the model has %zu inputs, the data %zu", m->d, train->d);
    const double *rs = train->row_scale;
    enum status rc = model_open(m, Mv, train, rs, m->precision, STORE_AUTO, be, pool, &map, &f,
                                err);
    if (rc == ST_OK)
        rc = model_factor(f, 1, NULL, noise_ratio(m), &L, NULL, NULL, &jitter, ctl, err);
    if (rc == ST_OK && jitter > 0.0 && m->precision == PREC_FLOAT) { /* more digits first */
        fop_free(f);
        featmap_free(map);
        free(L);
        L = NULL;
        rc = model_open(m, Mv, train, rs, PREC_DOUBLE, STORE_AUTO, be, pool, &map, &f, err);
        if (rc == ST_OK)
            rc = model_factor(f, 1, NULL, noise_ratio(m), &L, NULL, NULL, &jitter, ctl, err);
    }
    if (rc == ST_OK && effdim != NULL)
        rc = model_effdim(pool, Mv, L, noise_ratio(m) + jitter, effdim, ctl, err);
    fop_free(f);
    featmap_free(map);
    if (rc != ST_OK) {
        free(L);
        return rc;
    }
    free(m->L);
    m->L = L;
    m->Mv = Mv;
    return ST_OK;
}

/* Predictions. */

/* Rows are handled in fixed tiles, the last one padded, so that a row's bits depend neither on the
 * thread count nor on how a caller cuts the rows into tiles of this size. */
enum { ROWS = 64 };

struct predict {
    const struct model *m;
    struct fop *f;              /* of Mv columns */
    const struct source *src;
    size_t n;
    double *mean, *varf;
    double *work;               /* per worker */
    size_t work_len;
    const struct ctl *ctl;
    int failed;
    struct err *errs;           /* per worker */
};

static double squares(size_t n, const double *x)
{
    return blas_ddot(n, x, x);
}

/* var_f of one tile from features: |L^-1 z|^2. */
static enum status feature_tile(struct predict *p, size_t r0, size_t r1, double *Z,
                                struct err *err)
{
    const size_t Mv = p->m->Mv, rows = r1 - r0;
    enum status rc;

    if (p->m->precision == PREC_DOUBLE) {
        rc = fop_tile64(p->f, r0, r1, Z, Mv, err);
    } else { /* the same rounded features that the factor was made of */
        float *z = (float *)(void *)(Z + ROWS * Mv);
        rc = fop_tile(p->f, r0, r1, z, Mv, err);
        for (size_t i = 0; rc == ST_OK && i < rows * Mv; i++)
            Z[i] = (double)z[i];
    }
    if (rc != ST_OK)
        return rc;
    memset(Z + rows * Mv, 0, (ROWS - rows) * Mv * sizeof *Z);
    rc = blas_dtrsm(NULL, false, Mv, ROWS, p->m->L, Mv, Z, Mv, err);
    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < rows; i++) {
        const double q = squares(Mv, Z + i * Mv);
        for (size_t j = 0; j < p->m->t; j++) /* amplitude^2 ratio */
            p->varf[j * p->n + r0 + i] = p->m->noises[j] * p->m->noises[j] * q;
    }
    return ST_OK;
}

static enum status exact_tile(struct predict *p, size_t r0, size_t r1, double *work,
                              struct err *err)
{
    const struct model *m = p->m;
    const size_t n = m->M, rows = r1 - r0;
    double *Xt = work, *C = work + ROWS * m->d;
    enum status rc = p->src->rows(p->src, r0, r1, Xt, err);

    if (rc != ST_OK)
        return rc;
    exact_cross(&(struct exact_rows){.k = &m->kernel, .hp = m->hp, .X = m->X, .n = n, .d = m->d},
                Xt, rows, C);
    for (size_t j = 0; j < m->t; j++)
        for (size_t i = 0; i < rows; i++)
            p->mean[j * p->n + r0 + i] = blas_ddot(n, C + i * n, m->w + j * n);
    if (p->varf == NULL)
        return ST_OK;
    memset(C + rows * n, 0, (ROWS - rows) * n * sizeof *C);
    rc = blas_dtrsm(NULL, false, n, ROWS, m->L, n, C, n, err);
    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < rows; i++) {
        const double prior = kernel_exact(&m->kernel, m->hp, m->d, Xt + i * m->d, Xt + i * m->d,
                                          NULL);
        const double v = fmax(prior - squares(n, C + i * n), 0.0);
        for (size_t j = 0; j < m->t; j++)
            p->varf[j * p->n + r0 + i] = m->amplitudes[j] * m->amplitudes[j] * v;
    }
    return ST_OK;
}

static void predict_task(void *ctx, size_t task, size_t worker)
{
    struct predict *p = ctx;
    const size_t r0 = task * ROWS, r1 = r0 + ROWS < p->n ? r0 + ROWS : p->n;
    double *work = p->work + worker * p->work_len;

    if (__atomic_load_n(&p->failed, __ATOMIC_RELAXED) || ctl_stopped(p->ctl))
        return;
    enum status rc = p->m->kind == MODEL_EXACT ? exact_tile(p, r0, r1, work, &p->errs[worker])
                                               : feature_tile(p, r0, r1, work, &p->errs[worker]);
    if (rc != ST_OK)
        __atomic_store_n(&p->failed, (int)worker + 1, __ATOMIC_RELAXED);
}

static enum status predict_tiles(struct predict *p, struct pool *pool, struct err *err)
{
    const size_t threads = pool_threads(pool);
    struct predict part = *p;

    part.work = mem_aligned(threads * p->work_len, sizeof *p->work, "prediction tiles", err);
    part.errs = part.work ? mem_calloc(threads, sizeof *part.errs, "error slots", err) : NULL;
    enum status rc = part.errs ? ST_OK : ST_NOMEM;
    if (rc == ST_OK)
        pool_run(pool, (p->n + ROWS - 1) / ROWS, predict_task, &part);
    if (rc == ST_OK && part.failed) {
        const struct err *e = &part.errs[part.failed - 1];
        if (err != NULL)
            *err = *e;
        rc = e->code != ST_OK ? e->code : ST_INTERNAL;
    }
    if (rc == ST_OK && ctl_stopped(p->ctl))
        rc = err_set(err, ST_CANCELLED, "stopped while predicting");
    free(part.work);
    free(part.errs);
    return rc;
}

static enum status predict_features(struct predict *p, const struct backend_ops *be,
                                    struct pool *pool, struct err *err)
{
    const struct model *m = p->m;
    struct featmap *map = NULL;
    struct fop *f = NULL;
    enum status rc = model_open(m, m->M, p->src, NULL, m->precision, STORE_AUTO, be, pool, &map,
                                &f, err);

    if (rc == ST_OK)
        rc = fop_zp(f, m->t, m->w, p->mean, p->ctl, err);
    if (rc == ST_OK && p->varf != NULL && m->Mv != m->M) {
        fop_free(f);
        featmap_free(map);
        rc = model_open(m, m->Mv, p->src, NULL, m->precision, STORE_AUTO, be, pool, &map, &f, err);
    }
    if (rc == ST_OK && p->varf != NULL) {
        p->f = f;
        p->work_len = ROWS * m->Mv + (m->precision == PREC_FLOAT ? ROWS * m->Mv / 2 : 0) + 8;
        rc = predict_tiles(p, pool, err);
    }
    fop_free(f);
    featmap_free(map);
    return rc;
}

/* Means of an exact model without variances, the kernel made anew in tiles where the backend is. */
static enum status predict_products(struct predict *p, const struct backend_ops *be,
                                    struct pool *pool, struct err *err)
{
    const struct model *m = p->m;
    double *Y = exact_inputs(p->src, err);
    struct exact_op *op = NULL;
    enum status rc =
        Y ? exact_op_open(
                be,
                &(struct exact_rows){
                    .k = &m->kernel, .hp = m->hp, .X = m->X, .n = m->M, .d = m->d, .pool = pool},
                &op, err)
          : ST_NOMEM;

    if (rc == ST_OK)
        rc = exact_op_apply(op, p->n, Y, m->t, m->w, p->mean, p->ctl, err);
    exact_op_close(op);
    free(Y);
    return rc;
}

enum status model_predict(const struct model *m, const struct source *src, double *mean,
                          double *varf, const struct backend_ops *be, struct pool *pool,
                          const struct ctl *ctl, struct err *err)
{
    struct phase_ctl phase;
    struct predict p = { .m = m, .src = src, .n = src->n, .mean = mean, .varf = varf };

    p.ctl = model_phase(&phase, ctl, PHASE_PREDICT);
    enum status rc = source_suits(src, &m->kernel, err);
    if (rc != ST_OK)
        return rc;
    if (!same_inputs(m, src) && kernel_reads_windows(&m->kernel)) {
        err_set(err, ST_SHAPE,
                "an exact model compares sequences of up to %zu numbers, these have up "
                "to %zu",
                m->d - 1, src->d - 1);
        err_hint(err, "fit features=8192, or fit on the longer ones too");
        return ST_SHAPE;
    }
    if (!same_inputs(m, src))
        return err_set(err, ST_SHAPE, "the model has %zu inputs, the data %zu", m->d, src->d);
    if (varf != NULL && m->L == NULL)
        return err_set(err, ST_STATE, "this model keeps no variances");
    if (src->n == 0)
        return ST_OK;
    if (m->kind == MODEL_FEATURES)
        return predict_features(&p, be, pool, err);
    if (varf == NULL && be != NULL && be->exact != NULL && m->L == NULL)
        return predict_products(&p, be, pool, err);
    p.work_len = ROWS * (m->d + m->M) + 8;
    return predict_tiles(&p, pool, err);
}
