/* cuda/ranges.c -- sketches of Z'Z, and the Nystrom preconditioner computed from them without
 * leaving the device: Cholesky QR, triangular solves, one small eigenproblem. */
#include "cuda/backend_impl.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sketches. */

/* Y = C Z^' (Z^ C Omega), where C contains the factors of the columns and Z^ the features in half
 * precision. It runs on matrix units, with the other factor as a sum of two halves. Both products
 * use the same Z^, so that the whole is symmetric to the 22 bits of the splits. */
struct rough {
    size_t L;
    float *T, *Y32;         /* L x rows and M x L, for a tile */
    uint16_t *z, *O[2], *t[2];
    double *Y;
    double back;    /* undoes the powers of two that keep numbers in the range of half precision */
};

static enum status rough_tile(struct cuda *c, void *ctx, size_t r0, size_t r1, const void *x,
                              struct err *err)
{
    struct rough *s = ctx;
    const size_t rows = r1 - r0;
    enum status rc = tiles_rows(c, r0, r1, x, s->z, FORM_F16, c->M, err);

    for (int i = 0; rc == ST_OK && i < 2; i++)
        rc = device_hgemm(c->dev, true, false, s->L, rows, c->M, s->O[i], c->M, s->z, c->M,
                          i ? 1.0F : 0.0F, s->T, s->L, err);
    if (rc == ST_OK)
        rc = device_split(c->dev, s->L * rows, 1.0F, s->T, s->t[0], s->t[1], err);
    for (int i = 0; rc == ST_OK && i < 2; i++)
        rc = device_hgemm(c->dev, false, true, c->M, s->L, rows, s->z, c->M, s->t[i], s->L,
                          i ? 1.0F : 0.0F, s->Y32, c->M, err);
    if (rc == ST_OK)
        rc = device_add_rows(c->dev, c->M, s->L, s->back, c->prog.d_column, s->Y32, s->Y, err);
    return rc;
}

static enum status rough_rooms(struct cuda *c, struct rough *s, size_t rows, struct err *err)
{
    const size_t o = c->M * s->L, t = rows * s->L;
    enum status rc = tiles_room(c, &c->tile, rows * c->M * 2, "a tile of features", err);

    if (rc == ST_OK)
        rc = tiles_room(c, &c->P, 2 * o * 2, "right-hand sides", err);
    if (rc == ST_OK)
        rc = tiles_room(c, &c->left, t * 4, "products with the rows", err);
    if (rc == ST_OK)
        rc = tiles_room(c, &c->right, 2 * t * 2, "products with the rows", err);
    if (rc == ST_OK)
        rc = tiles_room(c, &c->sums, o * 4, "sums of a tile", err);
    s->z = c->tile.at;
    s->O[0] = c->P.at;
    s->O[1] = s->O[0] + o;
    s->T = c->left.at;
    s->t[0] = c->right.at;
    s->t[1] = s->t[0] + t;
    s->Y32 = c->sums.at;
    return rc;
}

/* The power of two that scales the columns of C Omega, of norms `norm`, to at most 2^14 / |z^|:
 * then neither they nor Z^ C Omega exceed the range of half precision. */
static double rough_scale(const struct cuda *c, size_t L, const double *norm)
{
    double most = 0.0, features = 0.0;

    for (size_t i = 0; i < c->prog.nterms; i++)
        features += (double)c->prog.term[i].mf;
    for (size_t l = 0; l < L; l++)
        most = norm[l] > most ? norm[l] : most;
    return most > 0.0 && isfinite(most) ? exp2(14.0 - ceil(log2(most * sqrt(features)))) : 1.0;
}

/* Converts C Omega to halves in O, by way of Y and Y32. */
static enum status rough_omega(struct cuda *c, struct rough *s, const double *Omega,
                               struct err *err)
{
    const size_t numbers = c->M * s->L;
    double *norm = mem_calloc(s->L, sizeof *norm, "norms", err);
    enum status rc =
        norm ? device_copy(c->dev, s->Y, Omega, numbers * sizeof *Omega, err) : ST_NOMEM;

    if (rc == ST_OK)
        rc = device_scale_rows(c->dev, c->M, s->L, c->prog.d_column, s->Y, err);
    if (rc == ST_OK)
        rc = tiles_room(c, &c->out, s->L * sizeof *norm, "norms", err);
    if (rc == ST_OK)
        rc = device_norms(c->dev, c->M, s->L, s->Y, c->out.at, err);
    if (rc == ST_OK)
        rc = device_download(c->dev, norm, c->out.at, s->L * sizeof *norm, err);
    const double scale = rc == ST_OK ? rough_scale(c, s->L, norm) : 1.0;
    s->back = 1.0 / scale;
    if (rc == ST_OK)
        rc = device_narrow(c->dev, numbers, s->Y, s->Y32, err);
    if (rc == ST_OK)
        rc = device_split(c->dev, numbers, (float)scale, s->Y32, s->O[0], s->O[1], err);
    free(norm);
    return rc == ST_OK ? device_zero(c->dev, s->Y, numbers * sizeof *s->Y, err) : rc;
}

enum status ranges_sketch(struct cuda *c, size_t L, const double *Omega, double *Y, bool rough,
                           const struct ctl *ctl, struct err *err)
{
    const bool dbl = c->opts.precision == PREC_DOUBLE;
    struct product p = { .dbl = dbl, .there = true, .k = L, .up = true };

    if (!rough || dbl || !c->prog.bounded || c->factor)
        return tiles_product(c, &p, Omega, Y, ctl, err);
    const size_t most = tiles_height(c, c->M * 2 + L * 8), rows = most < 4096 ? most : 4096;
    struct rough s = { .L = L, .Y = Y };
    enum status rc = rough_rooms(c, &s, rows, err);
    if (rc == ST_OK)
        rc = rough_omega(c, &s, Omega, err);
    return rc == ST_OK ? tiles_over(c, c->from, c->to, rows, rough_tile, &s, ctl, err) : rc;
}

/* The preconditioner. */

/* As in compute/preconds/nystrom.c, step by step, where the mathematics is explained. Any failure
 * except a stop and a failure of the device makes the caller compute it in another way. */
struct nystrom {
    struct cuda *c;
    size_t M, L;
    double *O, *Y, *T, *w;  /* on the device: M x L twice, L x L, L */
    double *core, *ev;      /* on the host: L x L twice, L */
    const struct ctl *ctl;
    struct err *err;
};

/* T = A'B (L x L), on the device and on the host. */
static enum status core_of(struct nystrom *s, const double *A, const double *B)
{
    struct device *dev = s->c->dev;
    const enum status rc = device_dgemm(dev, true, false, s->L, s->L, s->M, A, s->M, B, s->M, 0.0,
                                        s->T, s->L, s->err);

    return rc == ST_OK ? device_download(dev, s->core, s->T, s->L * s->L * sizeof *s->core, s->err)
                       : rc;
}

/* T = the factor of core + shift I. */
static enum status factor_core(struct nystrom *s, double shift)
{
    const size_t L = s->L, bytes = L * L * sizeof *s->core;
    double *shifted = s->core + L * L;

    memcpy(shifted, s->core, bytes);
    for (size_t i = 0; i < L; i++)
        shifted[i + i * L] += shift;
    const enum status rc = device_upload(s->c->dev, STREAM_WORK, s->T, shifted, bytes, s->err);
    return rc == ST_OK ? device_potrf(s->c->dev, L, s->T, L, NULL, s->err) : rc;
}

/* The largest absolute entry of G - I, and of its diagonal. */
static double from_identity(size_t L, const double *G, double *diagonal)
{
    double worst = 0.0;

    *diagonal = 0.0;
    for (size_t j = 0; j < L; j++) {
        *diagonal = fmax(*diagonal, G[j + j * L]);
        for (size_t i = j; i < L; i++) {
            const double e = fabs(G[i + j * L] - (i == j ? 1.0 : 0.0));
            if (!(e <= worst))
                worst = isnan(e) ? INFINITY : e;
        }
    }
    return worst;
}

/* Repeats Cholesky QR until Q'Q is the identity to rounding (blas_dqr): A becomes Q. */
static enum status orthonormal(struct nystrom *s, double *A)
{
    const double tol = 8.0 * DBL_EPSILON * sqrt((double)s->M);
    double largest;
    enum status rc = ST_OK;

    for (int sweep = 0; rc == ST_OK && sweep < 5; sweep++) {
        rc = core_of(s, A, A);
        if (rc == ST_OK && from_identity(s->L, s->core, &largest) <= tol)
            return ST_OK;
        if (rc == ST_OK && !isfinite(largest))
            return err_set(s->err, ST_UNSUPPORTED, "a sketch that is not finite");
        double shift = 0.0;
        enum status good = ST_NOT_PD;
        for (int i = 0; rc == ST_OK && i < 8 && good == ST_NOT_PD; i++) {
            good = factor_core(s, shift);
            shift = shift > 0.0 ? 10.0 * shift : 20.0 * (double)s->L * DBL_EPSILON * largest;
        }
        rc = rc == ST_OK ? good : rc;
        if (rc == ST_OK)
            rc = device_trsm(s->c->dev, true, true, s->M, s->L, s->T, s->L, A, s->M, s->err);
        if (rc == ST_OK)
            rc = tiles_stopped(s->ctl, s->err);
    }
    return rc == ST_OK ? err_set(s->err, ST_UNSUPPORTED, "columns that are not independent") : rc;
}

static enum status one_sketch(struct nystrom *s, int pass)
{
    struct cuda *c = s->c;
    const size_t numbers = s->M * s->L;
    enum status rc = ST_OK;

    if (pass > 0) {
        rc = device_copy(c->dev, s->O, s->Y, numbers * sizeof *s->O, s->err);
        if (rc == ST_OK)
            rc = orthonormal(s, s->O);
    }
    if (rc == ST_OK && c->opts.precision == PREC_FLOAT) { /* rounded as in the sketch */
        rc = tiles_room(c, &c->sums, numbers * sizeof(float), "a test matrix", s->err);
        if (rc == ST_OK)
            rc = device_narrow(c->dev, numbers, s->O, c->sums.at, s->err);
        if (rc == ST_OK)
            rc = device_zero(c->dev, s->O, numbers * sizeof *s->O, s->err);
        if (rc == ST_OK)
            rc = device_add(c->dev, numbers, c->sums.at, s->O, s->err);
    }
    return rc == ST_OK ? ranges_sketch(c, s->L, s->O, s->Y, true, s->ctl, s->err) : rc;
}

/* (T + T') / 2 of the core. Returns its skew part, 2 |E|_F / sqrt(L). */
static double symmetric(size_t L, double *T)
{
    double skew = 0.0;

    for (size_t j = 0; j < L; j++)
        for (size_t i = j + 1; i < L; i++) {
            const double a = T[i + j * L], b = T[j + i * L];
            T[i + j * L] = T[j + i * L] = 0.5 * (a + b);
            skew += (a - b) * (a - b);
        }
    return 2.0 * sqrt(skew / (double)L);
}

/* Y := B = (Y + nu O) C^-1, C'C = O'Y + nu I. */
static enum status square_root(struct nystrom *s, double *nu)
{
    struct device *dev = s->c->dev;
    double size = 0.0;
    enum status rc = device_norms(dev, s->M, s->L, s->Y, s->w, s->err);

    if (rc == ST_OK)
        rc = device_download(dev, s->ev, s->w, s->L * sizeof *s->ev, s->err);
    for (size_t i = 0; rc == ST_OK && i < s->L; i++)
        size = hypot(size, s->ev[i]);
    if (rc == ST_OK && !isfinite(size))
        return err_set(s->err, ST_UNSUPPORTED, "a sketch that is not finite");
    if (rc == ST_OK)
        rc = core_of(s, s->O, s->Y);
    if (rc != ST_OK)
        return rc;
    *nu = fmax(sqrt((double)s->M) * (nextafter(size, INFINITY) - size), symmetric(s->L, s->core));
    rc = factor_core(s, *nu);
    for (int i = 0; i < 11 && rc == ST_NOT_PD; i++)
        rc = factor_core(s, *nu *= 10.0);
    if (rc == ST_OK)
        rc = device_axpy(dev, s->M * s->L, *nu, s->O, s->Y, s->err);
    return rc == ST_OK ? device_trsm(dev, true, true, s->M, s->L, s->T, s->L, s->Y, s->M, s->err)
                       : rc;
}

/* Computes from B: O := U, and ev. */
static enum status spectrum(struct nystrom *s, double nu)
{
    const size_t L = s->L, bytes = L * L * sizeof *s->core;
    struct device *dev = s->c->dev;
    double *W = s->core + L * L;
    enum status rc =
        device_dgemm(dev, true, false, L, L, s->M, s->Y, s->M, s->Y, s->M, 0.0, s->T, L, s->err);
    if (rc == ST_OK)
        rc = device_syevd(dev, L, s->T, L, s->w, true, s->err);
    if (rc == ST_OK)
        rc = device_download(dev, s->core, s->T, bytes, s->err);
    if (rc == ST_OK)
        rc = device_download(dev, s->ev, s->w, L * sizeof *s->ev, s->err);
    if (rc != ST_OK)
        return rc;
    const double top = s->ev[L - 1], bottom = s->ev[0], least = fmax(top, 0.0) * DBL_EPSILON;
    for (size_t j = 0; j < L; j++) { /* descending, and scaled by 1 / sig */
        const double sig2 = s->ev[L - 1 - j], scale = sig2 > least ? 1.0 / sqrt(sig2) : 0.0;
        for (size_t i = 0; i < L; i++)
            W[i + j * L] = scale * s->core[i + (L - 1 - j) * L];
    }
    for (size_t j = 0; j < (L + 1) / 2; j++) {
        const double a = s->ev[j], b = s->ev[L - 1 - j];
        s->ev[j] = fmax(0.0, b - nu);
        s->ev[L - 1 - j] = fmax(0.0, a - nu);
    }
    rc = device_upload(dev, STREAM_WORK, s->T, W, bytes, s->err);
    if (rc == ST_OK)
        rc = device_dgemm(dev, false, false, s->M, L, L, s->Y, s->M, s->T, L, 0.0, s->O, s->M,
                          s->err);
    return rc == ST_OK && !(bottom > 1e-6 * top) ? orthonormal(s, s->O) : rc;
}

static enum status build(struct nystrom *s, int passes, double *Omega, double *ev)
{
    const size_t bytes = s->M * s->L * sizeof *Omega, all = (size_t)passes + 1;
    double nu = 0.0;
    enum status rc = device_upload(s->c->dev, STREAM_WORK, s->O, Omega, bytes, s->err);

    if (rc == ST_OK)
        rc = orthonormal(s, s->O);
    for (int pass = 0; rc == ST_OK && pass < passes; pass++) {
        ctl_tell(s->ctl, PHASE_PRECOND, (size_t)pass, all, NAN);
        rc = one_sketch(s, pass);
    }
    ctl_tell(s->ctl, PHASE_PRECOND, (size_t)passes, all, NAN);
    if (rc == ST_OK)
        rc = square_root(s, &nu);
    if (rc == ST_OK)
        rc = spectrum(s, nu);
    if (rc == ST_OK)
        rc = device_download(s->c->dev, Omega, s->O, bytes, s->err);
    if (rc == ST_OK)
        memcpy(ev, s->ev, s->L * sizeof *ev);
    return rc;
}

enum status ranges_build(void *state, size_t L, int passes, double *Omega, double *ev,
                          const struct ctl *ctl, struct err *err)
{
    struct cuda *c = state;
    struct nystrom s = { .c = c, .M = c->M, .L = L, .ctl = ctl, .err = err };
    void *there = NULL;
    double *here = mem_aligned(L * (2 * L + 1), sizeof *here, "the Nystrom core", err);

    if (!here)
        return ST_NOMEM;
    s.core = here;
    s.ev = here + 2 * L * L;
    pthread_mutex_lock(&c->lock);
    enum status rc = device_alloc(c->dev, &there, (2 * c->M + L + 1) * L * sizeof(double),
                                  "a preconditioner", err);
    if (rc == ST_OK) {
        s.O = there;
        s.Y = s.O + c->M * L;
        s.T = s.Y + c->M * L;
        s.w = s.T + L * L;
        rc = build(&s, passes, Omega, ev);
    }
    device_wait(c->dev, NULL);
    device_free(c->dev, there);
    pthread_mutex_unlock(&c->lock);
    free(here);
    return rc;
}
