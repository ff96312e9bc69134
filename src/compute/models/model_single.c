/* compute/models/model_single.c -- what the variances would lose if their factor L were kept in
 * single precision.
 *
 * With D = L - (float)L, v = L^-1 z and a = L'^-1 v, the variance noise^2 |v|^2 of a row with the
 * features z changes to first order by -2 noise^2 a' D v: relatively, its sd by |a' D v| / |v|^2.
 * That is measured for random rows of two kinds.  z = L g with normal g has the mean square of the
 * training rows, A / n: rows like those.  A random z is that of a row far from all of them. */
#include "compute/models/model.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 8 }; /* rows, half of each kind */

/* Fills v with L^-1 z of the rows. */
static enum status draw(const struct model *m, unsigned part, double *v)
{
    const size_t n = m->Mv;

    for (size_t i = 0; i < n * AT_ONCE; i++)
        v[i] = rng_normal(m->seed, rng_stream(RNG_PROBE, UINT32_MAX - part), i);
    return blas_dtrsm(NULL, false, n, AT_ONCE / 2, m->L, n, v, n, NULL);
}

double model_single_loss(const struct model *m, unsigned part)
{
    const size_t n = m->Mv;
    double *v = mem_calloc(2 * n * AT_ONCE, sizeof *v, "rows of features", NULL), most = INFINITY;
    double *a = v ? v + n * AT_ONCE : NULL, change[AT_ONCE] = { 0 };

    if (v == NULL || draw(m, part, v) != ST_OK)
        goto done;
    memcpy(a, v, n * AT_ONCE * sizeof *a);
    if (blas_dtrsm(NULL, true, n, AT_ONCE, m->L, n, a, n, NULL) != ST_OK)
        goto done;
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            const double l = m->L[i + j * n], lost = l - (double)(float)l;
            for (size_t k = 0; k < AT_ONCE; k++)
                change[k] += a[i + k * n] * lost * v[j + k * n];
        }
    most = 0;
    for (size_t k = 0; k < AT_ONCE; k++) {
        const double e = fabs(change[k]) / blas_ddot(n, v + k * n, v + k * n);
        most = isfinite(e) ? fmax(most, e) : INFINITY;
    }
done:
    free(v);
    return most;
}
