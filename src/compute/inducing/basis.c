/* compute/inducing/basis.c -- see basis.h.  A point goes out by plane rotations that restore the
 * triangle of L; the same rotations turn the columns of V, and V'V and its inverse on both sides.
 * They are orthogonal, so that only the inverse loses digits, and that is bounded by the noise. */
#include "compute/inducing/basis.h"

#include "base/mem.h"
#include "compute/likelihood/nmll_impl.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum status basis_new(const struct basis_of *of, size_t most, struct basis *b, struct err *err)
{
    const size_t n = of->rows->n, d = of->rows->d, square = most * most;

    *b = (struct basis){ .of = *of, .n = n, .d = d, .most = most };
    b->Z = mem_calloc(most, d * sizeof *b->Z, "the inducing points", err);
    b->slot = b->Z ? mem_calloc(most, sizeof *b->slot, "the inducing points", err) : NULL;
    b->L = b->slot ? mem_calloc(square, 3 * sizeof *b->L, "their factor", err) : NULL;
    if (b->L && of->y) {
        b->rows = columns_new(of->rows, false, err);
        b->V = b->rows ? mem_calloc(most, n * sizeof *b->V, "their covariances", err) : NULL;
        b->b = b->V ? mem_calloc(of->t * most, sizeof *b->b, "their targets", err) : NULL;
        b->own = b->b ? mem_calloc(2 * n, sizeof *b->own, "their residuals", err) : NULL;
    }
    const struct columns_of points = { .k = of->rows->k, .hp = of->rows->hp, .X = b->Z, .n = most,
                                       .d = d };
    b->points = b->L && (b->own || !of->y) ? columns_new(&points, true, err) : NULL;
    if (b->points == NULL) {
        basis_free(b);
        return ST_NOMEM;
    }
    for (size_t i = 0; i < most; i++)
        b->slot[i] = i;
    b->G = b->L + square;
    b->C = b->G + square;
    if (of->y == NULL)
        return ST_OK;
    b->missed = b->own + n;
    columns_own(of->rows, b->own);
    memcpy(b->missed, b->own, n * sizeof *b->own);
    for (size_t i = 0; i < n; i++)
        b->trace += b->own[i];
    for (size_t j = 0; j < of->t; j++)
        b->yty[j] = blas_ddot(n, of->y + j * n, of->y + j * n);
    for (size_t j = 0; j < of->t; j++)
        b->value += nmll_from_terms((double)n, b->yty[j] / of->ratio, (double)n * log(of->ratio),
                                    of->amplitude[j]);
    if (of->bound)
        b->value += 0.5 * (double)of->t * b->trace / of->ratio;
    return ST_OK;
}

void basis_free(struct basis *b)
{
    columns_free(b->rows);
    columns_free(b->points);
    free(b->Z);
    free(b->slot);
    free(b->L);
    free(b->V);
    free(b->b);
    free(b->own);
    *b = (struct basis){ 0 };
}

struct basis_try *basis_try_new(const struct basis *b, size_t p, struct err *err)
{
    const size_t each = 3 * b->most + (b->V ? b->n : 0);
    const size_t head = mem_lines(p * sizeof(struct basis_try));
    char *all = mem_aligned(head + p * each * sizeof(double), 1, "candidates", err);
    struct basis_try *t = (struct basis_try *)(void *)all;
    double *at = all ? (double *)(void *)(all + head) : NULL, *q = at;

    if (all == NULL)
        return NULL;
    memset(all, 0, head + p * each * sizeof(double));
    if (b->V)
        at += p * b->n; /* columns of q stand side by side, for one product */
    for (size_t i = 0; i < p; i++, at += 3 * b->most)
        t[i] = (struct basis_try){ .a = at, .g = at + b->most, .h = at + 2 * b->most,
                                   .q = b->V ? q + i * b->n : NULL };
    return t;
}

void basis_try_free(struct basis_try *t)
{
    free(t);
}

/* The coordinates of point z with respect to the basis, and its distance from the span. */
static enum status place(const struct basis *b, const double *z, struct basis_try *t,
                         struct err *err)
{
    const struct columns_of *of = b->of.rows;
    const double own = kernel_exact(of->k, of->hp, b->d, z, z, NULL);
    enum status rc = columns_at(b->points, 1, z, t->h, err);

    for (size_t i = 0; i < b->m; i++)
        t->a[i] = t->h[b->slot[i]];
    if (rc == ST_OK && b->m)
        rc = blas_dtrsm(NULL, false, b->m, 1, b->L, b->most, t->a, b->most, err);
    t->d = own - blas_ddot(b->m, t->a, t->a);
    t->spanned = !(t->d > BASIS_SPANNED * own) || !isfinite(t->d);
    t->value = INFINITY;
    return rc;
}

/* The value from the log determinant, the quadratic terms and the trace of a set of m points. */
static double value_of(const struct basis *b, size_t m, double logdet, const double *quad,
                       double trace)
{
    const double n = (double)b->n, ratio = b->of.ratio;
    const double all = logdet + (n - (double)m) * log(ratio);
    double sum = b->of.bound ? 0.5 * (double)b->of.t * trace / ratio : 0.0;

    for (size_t j = 0; j < b->of.t; j++)
        sum += nmll_from_terms(n, (b->yty[j] - quad[j]) / ratio, all, b->of.amplitude[j]);
    return sum;
}

/* quad[j] <- b'C b of each target. */
static void quadratic(const struct basis *b, double *work, double *quad)
{
    for (size_t j = 0; j < b->of.t; j++) {
        const double *v = b->b + j * b->most;
        blas_dgemv1(false, b->m, b->m, 1.0, b->C, b->most, v, 0.0, work);
        quad[j] = blas_ddot(b->m, v, work);
    }
}

/* With q and g: gamma, q'y, h = C g and the value of the set with the point added. */
static void judge(const struct basis *b, const double *quad, struct basis_try *t)
{
    double with[TARGETS_MOST];

    t->gamma = blas_ddot(b->n, t->q, t->q);
    for (size_t j = 0; j < b->of.t; j++)
        t->qy[j] = blas_ddot(b->n, t->q, b->of.y + j * b->n);
    blas_dgemv1(false, b->m, b->m, 1.0, b->C, b->most, t->g, 0.0, t->h);
    t->s = b->of.ratio + t->gamma - blas_ddot(b->m, t->g, t->h);
    for (size_t j = 0; j < b->of.t; j++) {
        const double e = t->qy[j] - blas_ddot(b->m, t->h, b->b + j * b->most);
        with[j] = quad[j] + e * e / t->s;
    }
    t->value = t->s > 0.0
                   ? value_of(b, b->m + 1, b->logdet + log(t->s), with, b->trace - t->gamma)
                   : INFINITY;
}

enum status basis_tries(const struct basis *b, size_t p, const double *Z, struct basis_try *t,
                        struct err *err)
{
    const size_t n = b->n, m = b->m;
    struct pool *pool = b->of.rows->pool;
    double quad[TARGETS_MOST];
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < p; i++)
        rc = place(b, Z + i * b->d, &t[i], err);
    if (rc != ST_OK || b->V == NULL)
        return rc;
    rc = columns_at(b->rows, p, Z, t[0].q, err);
    for (size_t i = 0; rc == ST_OK && i < p; i++)
        for (size_t j = 0; j < n; j++)
            if (!isfinite(t[i].q[j]))
                t[i].spanned = true; /* a value that does not exist serves nobody */
    if (rc == ST_OK && m && p > 1) /* the candidates' vectors a and g are 3 most apart */
        rc = blas_dgemm(pool, false, false, n, p, m, -1.0, b->V, n, t[0].a, 3 * b->most, 1.0,
                        t[0].q, n, err);
    else if (rc == ST_OK && m)
        blas_dgemv1(false, n, m, -1.0, b->V, n, t->a, 1.0, t->q);
    for (size_t i = 0; rc == ST_OK && i < p; i++)
        blas_dscal(n, t[i].spanned ? 0.0 : 1.0 / sqrt(t[i].d), t[i].q);
    if (rc == ST_OK && m && p > 1)
        rc = blas_dgemm(pool, true, false, m, p, n, 1.0, b->V, n, t[0].q, n, 0.0, t[0].g,
                        3 * b->most, err);
    else if (rc == ST_OK && m)
        blas_dgemv1(true, n, m, 1.0, b->V, n, t->q, 0.0, t->g);
    if (rc == ST_OK)
        quadratic(b, t[0].h, quad);
    for (size_t i = 0; rc == ST_OK && i < p; i++)
        if (!t[i].spanned)
            judge(b, quad, &t[i]);
    return rc;
}

/* Its coordinates are its row of V. */
void basis_row(const struct basis *b, size_t row, struct basis_try *t)
{
    const double s = b->of.rows->row_scale ? b->of.rows->row_scale[row] : 1.0;
    const double own = b->own[row] / (s * s);
    double quad[TARGETS_MOST];

    for (size_t k = 0; k < b->m; k++)
        t->a[k] = b->V[row + k * b->n] / s;
    t->d = own - blas_ddot(b->m, t->a, t->a);
    t->spanned = !(t->d > BASIS_SPANNED * own) || !isfinite(t->d);
    t->value = INFINITY;
    if (t->spanned)
        return;
    if (b->m)
        blas_dgemv1(false, b->n, b->m, -1.0, b->V, b->n, t->a, 1.0, t->q);
    blas_dscal(b->n, 1.0 / sqrt(t->d), t->q);
    if (b->m)
        blas_dgemv1(true, b->n, b->m, 1.0, b->V, b->n, t->q, 0.0, t->g);
    quadratic(b, t->h, quad);
    judge(b, quad, t);
}

/* The unit vector u of the basis on which all points but one have no part: L u is a multiple of
 * unit vector `place`. */
static enum status apart(const struct basis *b, size_t place, double *u, struct err *err)
{
    memset(u, 0, b->m * sizeof *u);
    u[place] = 1.0;
    const enum status rc = blas_dtrsm(NULL, false, b->m, 1, b->L, b->most, u, b->most, err);
    blas_dscal(b->m, 1.0 / blas_dnrm2(b->m, u), u);
    return rc;
}

enum status basis_exchange(const struct basis *b, size_t at, const double *z, struct basis_try *t,
                           struct err *err)
{
    const size_t n = b->n, m = b->m;
    double quad[TARGETS_MOST], *u = t->h + 0;
    double *work = mem_calloc(3 * m, sizeof *work, "an exchange", err);
    enum status rc = work ? place(b, z, t, err) : ST_NOMEM;

    if (rc == ST_OK)
        rc = apart(b, at, u, err);
    if (rc != ST_OK) {
        free(work);
        return rc;
    }
    /* in the span of the others: a without its part along u */
    const double own = t->d + blas_ddot(m, t->a, t->a), ua = blas_ddot(m, u, t->a);
    blas_daxpy(m, -ua, u, t->a);
    t->d += ua * ua;
    t->spanned = !(t->d > BASIS_SPANNED * own) || !isfinite(t->d);
    if (t->spanned || b->V == NULL) {
        free(work);
        return ST_OK;
    }
    double *cu = work, *cg = work + m, *gu = work + 2 * m;
    rc = columns_at(b->rows, 1, z, t->q, err);
    if (rc == ST_OK) {
        blas_dgemv1(false, n, m, -1.0, b->V, n, t->a, 1.0, t->q);
        blas_dscal(n, 1.0 / sqrt(t->d), t->q);
        blas_dgemv1(true, n, m, 1.0, b->V, n, t->q, 0.0, t->g);
        quadratic(b, cu, quad);
        blas_dgemv1(false, m, m, 1.0, b->C, b->most, u, 0.0, cu);
        blas_dgemv1(false, m, m, 1.0, b->C, b->most, t->g, 0.0, cg);
        blas_dgemv1(false, m, m, 1.0, b->G, b->most, u, 0.0, gu);
        const double ucu = blas_ddot(m, u, cu), ucg = blas_ddot(m, u, cg);
        const double trace = b->trace + blas_ddot(m, u, gu);
        t->gamma = blas_ddot(n, t->q, t->q);
        const double s = b->of.ratio + t->gamma - blas_ddot(m, t->g, cg) + ucg * ucg / ucu;
        for (size_t j = 0; j < b->of.t; j++) {
            const double *v = b->b + j * b->most, ucb = blas_ddot(m, v, cu);
            t->qy[j] = blas_ddot(n, t->q, b->of.y + j * n);
            const double e = t->qy[j] - blas_ddot(m, v, cg) + ucb * ucg / ucu;
            quad[j] += e * e / s - ucb * ucb / ucu;
        }
        t->value = s > 0.0 && ucu > 0.0
                       ? value_of(b, m, b->logdet + log(ucu) + log(s), quad, trace - t->gamma)
                       : INFINITY;
        if (!isfinite(t->value))
            t->value = INFINITY;
    }
    free(work);
    return rc;
}

void basis_add(struct basis *b, const double *z, const struct basis_try *t)
{
    const size_t m = b->m, ld = b->most, at = b->slot[m];
    double quad[TARGETS_MOST];

    memcpy(b->Z + at * b->d, z, b->d * sizeof *z);
    columns_put(b->points, at);
    for (size_t k = 0; k < m; k++)
        b->L[m + k * ld] = t->a[k];
    b->L[m + m * ld] = sqrt(t->d);
    b->m = m + 1;
    if (b->V == NULL)
        return;
    memcpy(b->V + m * b->n, t->q, b->n * sizeof *t->q);
    for (size_t k = 0; k < m; k++) {
        b->G[m + k * ld] = b->G[k + m * ld] = t->g[k];
        blas_daxpy(m, t->h[k] / t->s, t->h, b->C + k * ld);
    }
    for (size_t k = 0; k < m; k++)
        b->C[m + k * ld] = b->C[k + m * ld] = -t->h[k] / t->s;
    b->G[m + m * ld] = t->gamma;
    b->C[m + m * ld] = 1.0 / t->s;
    b->logdet += log(t->s);
    for (size_t j = 0; j < b->of.t; j++)
        b->b[j * ld + m] = t->qy[j];
    for (size_t i = 0; i < b->n; i++)
        b->missed[i] -= t->q[i] * t->q[i];
    b->trace -= t->gamma;
    quadratic(b, t->a, quad); /* a is in L by now */
    b->value = value_of(b, b->m, b->logdet, quad, b->trace);
}

/* x <- c x + s y, y <- c y - s x for n entries, `step` apart. */
static void rotate(size_t n, size_t step, double *x, double *y, double c, double s)
{
    for (size_t i = 0; i < n * step; i += step) {
        const double p = x[i], q = y[i];
        x[i] = c * p + s * q;
        y[i] = c * q - s * p;
    }
}

/* Turns basis functions k and k + 1 so that row k of L (k + 2 entries) ends at its diagonal. */
static void turn(struct basis *b, size_t k)
{
    const size_t m = b->m, ld = b->most;
    const double p = b->L[k + k * ld], q = b->L[k + (k + 1) * ld], r = hypot(p, q);
    const double c = r > 0.0 ? p / r : 1.0, s = r > 0.0 ? q / r : 0.0;

    rotate(m - 1 - k, 1, b->L + k + k * ld, b->L + k + (k + 1) * ld, c, s);
    b->L[k + (k + 1) * ld] = 0.0;
    if (b->V == NULL)
        return;
    rotate(b->n, 1, b->V + k * b->n, b->V + (k + 1) * b->n, c, s);
    rotate(m, 1, b->G + k * ld, b->G + (k + 1) * ld, c, s);
    rotate(m, ld, b->G + k, b->G + k + 1, c, s);
    rotate(m, 1, b->C + k * ld, b->C + (k + 1) * ld, c, s);
    rotate(m, ld, b->C + k, b->C + k + 1, c, s);
    for (size_t j = 0; j < b->of.t; j++)
        rotate(1, 1, b->b + j * ld + k, b->b + j * ld + k + 1, c, s);
}

/* Drops the last basis function, on which no point has a part any more. */
static void drop_last(struct basis *b)
{
    const size_t last = b->m - 1, ld = b->most;
    const double *v = b->V + last * b->n, *c = b->C + last * ld, own = c[last];

    for (size_t k = 0; k < last; k++)
        blas_daxpy(last, -c[k] / own, c, b->C + k * ld);
    b->logdet += log(own);
    b->trace += b->G[last + last * ld];
    for (size_t i = 0; i < b->n; i++)
        b->missed[i] += v[i] * v[i];
}

void basis_remove(struct basis *b, size_t at)
{
    const size_t m = b->m, ld = b->most, slot = b->slot[at];
    double quad[TARGETS_MOST];

    for (size_t i = at; i + 1 < m; i++) {
        b->slot[i] = b->slot[i + 1];
        for (size_t k = 0; k <= i + 1; k++)
            b->L[i + k * ld] = b->L[i + 1 + k * ld];
    }
    b->slot[m - 1] = slot;
    for (size_t k = at; k + 1 < m; k++)
        turn(b, k);
    if (b->V)
        drop_last(b);
    b->m = m - 1;
    if (b->V) {
        quadratic(b, b->C + (m - 1) * ld, quad); /* what is no longer in use serves as work */
        b->value = value_of(b, b->m, b->logdet, quad, b->trace);
    }
}

enum status basis_refresh(struct basis *b, struct err *err)
{
    const size_t m = b->m;
    struct basis_try *t = basis_try_new(b, 1, err);
    double *Z = t ? mem_calloc(m, b->d * sizeof *Z, "the inducing points", err) : NULL;
    struct basis fresh;
    enum status rc = Z ? basis_new(&b->of, b->most, &fresh, err) : ST_NOMEM;

    if (rc != ST_OK) {
        basis_try_free(t);
        free(Z);
        return rc;
    }
    for (size_t i = 0; i < m; i++)
        memcpy(Z + i * b->d, basis_point(b, i), b->d * sizeof *Z);
    for (size_t i = 0; rc == ST_OK && i < m && fresh.m == i; i++) {
        rc = basis_tries(&fresh, 1, Z + i * b->d, t, err);
        if (rc == ST_OK && !t->spanned)
            basis_add(&fresh, Z + i * b->d, t);
    }
    basis_try_free(t);
    free(Z);
    if (rc != ST_OK || fresh.m < m) { /* a point at the edge of the span: it stays as it is */
        basis_free(&fresh);
        return rc;
    }
    basis_free(b);
    *b = fresh;
    return ST_OK;
}
