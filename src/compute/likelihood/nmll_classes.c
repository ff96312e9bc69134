/* compute/likelihood/nmll_classes.c -- the negative logarithm of the approximate evidence of two
 * classes under an exact kernel, and its gradient (share/doc/methods.md 16.6, 16.8 to 16.10).
 * There is no noise: the amplitude says how far the function moves the probabilities. */
#include "compute/likelihood/nmll_impl.h"

#include "base/mem.h"
#include "compute/likelihood/latent.h"
#include "compute/likelihood/likelihood.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"

#include <math.h>
#include <stdlib.h>

#define SEARCHED 1e-4 /* tolerance while the amplitude is searched for */

/* The rows, and the posterior at one amplitude after the other. */
struct classes {
    const struct likelihood_ops *of;
    struct exact_rows rows;
    double *K1, *K; /* n x n, both triangles: at amplitude 1, and at the present one */
    struct latent l;
    const struct ctl *ctl;
    struct err *err;
    enum status rc;
};

/* K = amplitude^2 K1 and the posterior there. */
static enum status value_at(void *ctx, double amplitude, double *value, struct err *err)
{
    struct classes *c = ctx;
    const size_t n = c->rows.n;

    for (size_t i = 0; i < n * n; i++)
        c->K[i] = amplitude * amplitude * c->K1[i];
    const enum status rc = c->of->posterior(&c->l, c->ctl, err);
    *value = -c->l.evidence;
    return rc;
}

/* Derivatives in log hp; in log amplitude dK = 2 K; the noise moves nothing. */
static enum status slope(struct classes *c, double amplitude, bool scale, double *grad)
{
    const size_t n = c->rows.n, nhp = kernel_nhp(c->rows.k);
    double *W = c->l.V, own = 0.0;
    enum status rc = latent_slope(&c->l, W, c->err);

    if (rc == ST_OK)
        rc = exact_contract(&c->rows, W, grad, c->ctl, c->err);
    for (size_t h = 0; rc == ST_OK && h < nhp; h++)
        grad[h] *= -amplitude * amplitude;
    for (size_t j = 0; rc == ST_OK && scale && j < n; j++)
        for (size_t i = j; i < n; i++)
            own += (i == j ? 1.0 : 2.0) * W[i + j * n] * c->K[i + j * n];
    if (scale) {
        grad[nhp] = -2.0 * own;
        grad[nhp + 1] = 0.0;
    }
    return rc;
}

static enum status answer(struct classes *c, const struct nmll_ask *q, const struct nmll_told *out)
{
    double amplitude = q->amplitude;

    if (q->scale == NMLL_BEST) {
        amplitude = out->amplitude ? out->amplitude[0] : 0.0;
        c->l.tolerance = SEARCHED;
        c->rc = nmll_search_amplitude(value_at, c, q->within->amplitude, &amplitude, c->err);
        c->l.tolerance = 0.0;
    }
    if (c->rc == ST_OK) /* once more with what the gradient needs */
        c->rc = value_at(c, amplitude, out->value, c->err);
    if (out->amplitude != NULL)
        out->amplitude[0] = amplitude;
    if (out->noise != NULL)
        out->noise[0] = q->within ? q->within->noise[0] : q->noise;
    if (out->effdim != NULL)
        *out->effdim = NAN;
    return c->rc == ST_OK && out->grad
               ? slope(c, amplitude, q->scale == NMLL_GIVEN, out->grad) : c->rc;
}

enum status nmll_classes(const struct likelihood_ops *of, const struct kernel *k,
                         const struct source *src, const struct nmll_ask *q,
                         const struct nmll_told *out, struct pool *pool, const struct ctl *ctl,
                         struct err *err)
{
    const size_t n = src->n;
    struct classes c = { .of = of, .ctl = ctl, .err = err };
    double *X = exact_inputs(src, err);
    double *all = X ? mem_aligned(4 * n * n, sizeof *all, "the kernel matrix", err) : NULL;
    double *rows = all ? mem_calloc(4 * n, sizeof *rows, "the sites", err) : NULL;

    c.rows = (struct exact_rows){ .k = k, .hp = q->hp, .X = X, .n = n, .d = src->d, .pool = pool };
    c.rc = rows ? ST_OK : err_status(err);
    if (rows != NULL) {
        c.K1 = all;
        c.K = all + n * n;
        c.l = (struct latent){ .pool = pool, .n = n, .K = c.K, .y = q->y, .tau = rows,
                               .alpha = rows + n, .B = all + 2 * n * n, .V = all + 3 * n * n,
                               .u = rows + 2 * n, .g = rows + 3 * n };
        c.rc = exact_matrix(&c.rows, 0.0, c.K1, ctl, err);
    }
    if (c.rc == ST_OK) {
        blas_mirror(0, n, 0, n, c.K1, n);
        c.rc = answer(&c, q, out);
    }
    free(rows);
    free(all);
    free(X);
    return c.rc;
}
