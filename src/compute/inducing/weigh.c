/* compute/inducing/weigh.c -- see weigh.h. */
#include "compute/inducing/weigh.h"

#include "base/mem.h"
#include "compute/inducing/select.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* VFE and DTC: without point j the set loses the direction u = L^-1 e_j / |.| of its span. */
static enum status by_direction(const struct bound *b, const struct bound_at *a,
                                const double *amplitude, double *loss, struct err *err)
{
    const size_t m = b->m;
    double *u = mem_calloc(2 * m, sizeof *u, "the points' worth", err);
    enum status rc = u ? ST_OK : ST_NOMEM;

    for (size_t j = 0; rc == ST_OK && j < m; j++) {
        double *v = u + m;
        memset(u, 0, m * sizeof *u);
        u[j] = 1.0;
        rc = blas_dtrsm(NULL, false, m, 1, b->L, m, u, m, err);
        blas_dscal(m, 1.0 / blas_dnrm2(m, u), u);
        memcpy(v, u, m * sizeof *v);
        if (rc == ST_OK)
            rc = blas_dtrsm(NULL, false, m, 1, a->F, m, v, m, err);
        const double own = blas_ddot(m, v, v); /* u'(F F')^-1 u */
        loss[j] = 0.5 * (double)b->t * log(own);
        for (size_t k = 0; k < b->t; k++) {
            const double e = blas_ddot(m, u, a->u + k * m);
            loss[j] += 0.5 * e * e / (own * amplitude[k] * amplitude[k]);
        }
        blas_dgemv1(false, m, m, 1.0, b->G, m, u, 0.0, v);
        if (b->approx == BOUND_VFE)
            loss[j] += 0.5 * (double)b->t * blas_ddot(m, u, v) / a->ratio;
    }
    free(u);
    return rc;
}

/* FITC: Lambda changes with the set, so that each is computed anew. */
static enum status one_by_one(const struct columns_of *rows, const double *Z, const struct bound *b,
                              const struct bound_at *a, const double *amplitude, double *loss,
                              const struct ctl *ctl, struct err *err)
{
    const size_t m = b->m, d = rows->d;
    double *without = mem_calloc(m, d * sizeof *without, "the points' worth", err);
    const double all = bound_value(b, a, amplitude);
    enum status rc = without ? ST_OK : ST_NOMEM;

    for (size_t j = 0; rc == ST_OK && j < m && m > 1; j++) {
        struct bound less = { .approx = b->approx, .m = m - 1, .t = b->t, .y = b->y };
        struct bound_at at = { 0 };
        memcpy(without, Z, j * d * sizeof *Z);
        memcpy(without + j * d, Z + (j + 1) * d, (m - 1 - j) * d * sizeof *Z);
        rc = bound_make(rows, without, &less, ctl, err);
        if (rc == ST_OK)
            rc = bound_at(&less, a->ratio, &at, err);
        if (rc == ST_OK)
            loss[j] = bound_value(&less, &at, amplitude) - all;
        bound_at_free(&at);
        bound_free(&less);
        ctl_tell(ctl, PHASE_ROWS, j + 1, m, NAN);
    }
    free(without);
    return rc;
}

enum status weigh_points(const struct columns_of *rows, const double *Z, const struct bound *b,
                         const struct bound_at *a, const double *amplitude, double *loss,
                         const struct ctl *ctl, struct err *err)
{
    for (size_t j = 0; j < b->m; j++)
        loss[j] = NAN;
    return b->approx == BOUND_FITC && b->m > 1
               ? one_by_one(rows, Z, b, a, amplitude, loss, ctl, err)
               : by_direction(b, a, amplitude, loss, err);
}

/* In how many letters of their parts two rows differ, or `most` if it is no less; SIZE_MAX: a part
 * has another length. */
static size_t letters_apart(const struct row_layout *l, const double *x, const double *z,
                            size_t most)
{
    size_t apart = 0;

    for (size_t p = 0; p < l->nparts; p++) {
        const double *a = x + select_part(l, x, p), *b = z + select_part(l, z, p);
        if (l->part[p].rows != ROWS_SYMBOLS)
            continue;
        if (a[0] != b[0])
            return SIZE_MAX;
        for (size_t k = 1; k <= (size_t)a[0] && apart < most; k++)
            apart += a[k] != b[k];
    }
    return apart;
}

size_t weigh_letters(const struct source *s, const double *X, size_t n, size_t d, const double *z,
                     size_t *row)
{
    size_t least = SIZE_MAX;
    bool letters = false;

    for (size_t p = 0; p < s->layout.nparts; p++)
        letters |= s->layout.part[p].rows == ROWS_SYMBOLS;
    for (size_t i = 0; letters && i < n; i++) {
        const size_t apart = letters_apart(&s->layout, X + i * d, z, least);
        if (apart < least) {
            least = apart;
            *row = i;
        }
    }
    return least;
}
