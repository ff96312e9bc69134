/* compute/preconds/nystrom.c -- randomised Nystrom approximations of G = Z'Z (Martinsson & Tropp
 * 2020, algorithm 16; share/doc/methods.md 8.1 to 8.4).
 *
 *   Y = G Omega;  Yn = Y + nu Omega;  T = Omega'Yn = C'C;  B C = Yn;  B = U diag(sig) V'
 *   ev = max(0, sig^2 - nu),  G ~ U diag(ev) U'
 *
 * Omega, Y, B and U are M x L; C and T are L x L.  Omega has orthonormal columns.  The shift nu
 * makes T positive definite in floating point and is subtracted from the eigenvalues at the end
 * (Tropp et al. 2017), so that the result stays positive semidefinite.  Only the sketch Y reads the
 * data.  The rest is O(M L^2): products and triangular solves over the pool and one L x L
 * eigenproblem.  Correction to Parkinson & Wang, Algorithm S2, step 13: B C = Yn is solved, from
 * the right. */
#include "compute/preconds/precond_impl.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/rng.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct nystrom {
    const struct linop *A; /* G; NULL: that of f, or see diagonal */
    struct fop *f;         /* features; NULL: none */
    struct pool *pool;
    const struct ctl *ctl;
    size_t M, L;
    double *Omega, *Y; /* M x L; at the end Omega holds U */
    double *T, *W, *t; /* workspace: L x L, L x L, L */
    int passes;
    bool orthonormal;       /* Omega's columns are, to rounding */
    const double *diagonal; /* M: G is this diagonal matrix, A and f are NULL; else NULL */
    struct err *err;
};

/* Work on columns of M x L matrices, one column a task. */
struct columns {
    const struct nystrom *s;
    bool copy, round; /* Omega := Y first; rounds Omega to float32 */
    double nu;        /* Y += nu Omega */
    double *each;     /* L: the largest |Y| of a column, or a sum of squares */
    double scale;
};

static void omega_column(void *ctx, size_t column, size_t worker)
{
    const struct columns *c = ctx;
    const size_t M = c->s->M;
    double *omega = c->s->Omega + column * M;

    (void)worker;
    if (c->copy)
        memcpy(omega, c->s->Y + column * M, M * sizeof *omega);
    for (size_t i = 0; c->round && i < M; i++)
        omega[i] = (double)(float)omega[i];
}

static void largest_of_column(void *ctx, size_t column, size_t worker)
{
    const struct columns *c = ctx;
    const double *y = c->s->Y + column * c->s->M;
    double most = 0.0;

    (void)worker;
    for (size_t i = 0; i < c->s->M; i++)
        most = fmax(most, fabs(y[i]));
    c->each[column] = most;
}

static void squares_of_column(void *ctx, size_t column, size_t worker)
{
    const struct columns *c = ctx;
    const double *y = c->s->Y + column * c->s->M;
    double sum = 0.0;

    (void)worker;
    for (size_t i = 0; i < c->s->M; i++)
        sum += (y[i] / c->scale) * (y[i] / c->scale);
    c->each[column] = sum;
}

static void shift_column(void *ctx, size_t column, size_t worker)
{
    const struct columns *c = ctx;
    const size_t M = c->s->M;

    (void)worker;
    for (size_t i = column * M; i < (column + 1) * M; i++)
        c->s->Y[i] += c->nu * c->s->Omega[i];
}

/* The sketch of a float32 feature operator rounds Omega.  It is rounded here first, so that
 * T = Omega'G Omega is formed with the same matrix that was multiplied. */
static void round_to_operator(const struct nystrom *s)
{
    struct columns c = { .s = s, .round = s->f && fop_precision(s->f) == PREC_FLOAT };

    if (c.round)
        pool_run(s->pool, s->L, omega_column, &c);
}

/* |Y|_F, scaled by the largest entry so that no square overflows. */
static double frobenius(const struct nystrom *s)
{
    struct columns c = { .s = s, .each = s->t };
    double sum = 0.0;

    pool_run(s->pool, s->L, largest_of_column, &c);
    for (size_t j = 0; j < s->L; j++)
        c.scale = fmax(c.scale, s->t[j]);
    if (c.scale == 0.0 || !isfinite(c.scale))
        return c.scale;
    pool_run(s->pool, s->L, squares_of_column, &c);
    for (size_t j = 0; j < s->L; j++)
        sum += s->t[j];
    return c.scale * sqrt(sum);
}

/* T <- (T + T') / 2, T = Omega'Y (L x L).  In exact arithmetic T is symmetric, so that its skew
 * part is the error E of the sketch.  Returns an estimate of |E|_2: a random L x L matrix has |E|_2
 * ~ 2 |E|_F / sqrt(L). */
static double symmetric_core(const struct nystrom *s)
{
    enum { EDGE = 32 }; /* of tiles: rows and columns of L entries are far apart */
    const size_t L = s->L;
    double skew = 0.0;
    for (size_t jb = 0; jb < L; jb += EDGE)
        for (size_t ib = jb; ib < L; ib += EDGE)
            for (size_t j = jb; j < L && j < jb + EDGE; j++)
                for (size_t i = ib > j ? ib : j + 1; i < L && i < ib + EDGE; i++) {
                    const double a = s->T[i + j * L], b = s->T[j + i * L];
                    s->T[i + j * L] = s->T[j + i * L] = 0.5 * (a + b);
                    skew += (a - b) * (a - b);
                }
    return 2.0 * sqrt(skew / (double)L);
}

/* W := the Cholesky factor of T + nu I = Omega'Yn (Omega is orthonormal); nu grows tenfold until
 * the factor exists. */
static enum status shifted_factor(const struct nystrom *s, double *nu)
{
    const size_t L = s->L;
    enum status rc = ST_NOT_PD;
    for (int attempt = 0; attempt < 12 && rc == ST_NOT_PD; attempt++) {
        if (attempt)
            *nu *= 10.0;
        memcpy(s->W, s->T, L * L * sizeof *s->W);
        for (size_t i = 0; i < L; i++)
            s->W[i + i * L] += *nu;
        rc = blas_dpotrf(s->pool, L, s->W, L, s->ctl, NULL, s->err);
    }
    if (rc == ST_NOT_PD)
        err_set(s->err, ST_NOT_PD, "the sketch of Z'Z is not positive definite");
    return rc;
}

/* Y := G Omega, by one pass over the data; from the second pass on Omega is an orthonormal basis of
 * the last Y (subspace iteration). */
static enum status sketch(const struct nystrom *s, int pass)
{
    ctl_tell(s->ctl, PHASE_PRECOND, (size_t)pass, (size_t)s->passes + 1, NAN);
    enum status rc = ST_OK;
    if (pass > 0) {
        struct columns c = { .s = s, .copy = true };
        pool_run(s->pool, s->L, omega_column, &c);
        rc = blas_dqr(s->pool, s->M, s->L, s->Omega, s->M, s->err);
    }
    round_to_operator(s);
    if (rc == ST_OK && s->f)
        return fop_sketch_rough(s->f, s->L, s->Omega, s->Y, s->ctl, s->err);
    if (rc == ST_OK && s->A)
        return s->A->product(s->A->ctx, s->L, s->Omega, s->Y, s->ctl, s->err);
    for (size_t i = 0; rc == ST_OK && i < s->M * s->L; i++)
        s->Y[i] = s->diagonal[i % s->M] * s->Omega[i];
    return rc;
}

/* Y := B = (Y + nu Omega) C^-1 with nu = sqrt(M) spacing(|Y|_F), or the error estimate of
 * symmetric_core where that is larger (share/doc/methods.md 8.2). */
static enum status square_root(const struct nystrom *s, double *nu)
{
    const size_t M = s->M, L = s->L;
    const double size = frobenius(s);
    if (!isfinite(size))
        return err_set(s->err, ST_RANGE, "the sketch of Z'Z is not finite");
    enum status rc = blas_dgemm(s->pool, true, false, L, L, M, 1.0, s->Omega, M, s->Y, M, 0.0,
                                s->T, L, s->err);
    if (rc != ST_OK)
        return rc;
    *nu = fmax(sqrt((double)M) * (nextafter(size, INFINITY) - size), symmetric_core(s));
    rc = shifted_factor(s, nu);
    if (rc != ST_OK)
        return rc;
    pool_run(s->pool, L, shift_column, &(struct columns){ .s = s, .nu = *nu });
    return blas_dtrsm_right(s->pool, true, M, L, s->W, L, s->Y, M, s->err);
}

/* U (M x L) and ev from B = U diag(sig) V', by the eigenproblem B'B = V diag(sig^2) V' and
 * U = B V diag(1 / sig), which costs less than an SVD of B.  The division by small singular values
 * loses orthogonality (about eps sig_1^2 / sig_L^2).  Where that exceeds 1e-10 or so, a QR
 * factorisation restores it; in descending order it leaves the large directions unchanged. */
static enum status spectrum(const struct nystrom *s, const double *B, double nu, double *U,
                            double *ev)
{
    const size_t M = s->M, L = s->L;
    double *T = s->T, *W = s->W, *t = s->t;
    enum status rc = blas_dgram(s->pool, M, L, B, M, T, L, s->err);
    if (rc == ST_OK)
        rc = blas_dsyevd(L, T, L, t, true, s->err);
    if (rc != ST_OK)
        return rc;
    const double least = fmax(t[L - 1], 0.0) * DBL_EPSILON;
    for (size_t j = 0; j < L; j++) { /* W: columns of V in descending order, times 1 / sig */
        const double sig2 = t[L - 1 - j], scale = sig2 > least ? 1.0 / sqrt(sig2) : 0.0;
        ev[j] = fmax(0.0, sig2 - nu);
        for (size_t i = 0; i < L; i++)
            W[i + j * L] = scale * T[i + (L - 1 - j) * L];
    }
    rc = blas_dgemm(s->pool, false, false, M, L, L, 1.0, B, M, W, L, 0.0, U, M, s->err);
    if (rc == ST_OK && !(t[0] > 1e-6 * t[L - 1]))
        rc = blas_dqr(s->pool, M, L, U, M, s->err);
    return rc;
}

enum status precond_from_root(struct precond *p, struct pool *pool, size_t L, double *B,
                              struct err *err)
{
    p->ev = mem_calloc(L, sizeof *p->ev, "eigenvalues", err);
    p->U = p->ev ? mem_aligned(p->M * L, sizeof *p->U, "eigenvectors", err) : NULL;
    double *T = p->U ? mem_aligned(L * (2 * L + 1), sizeof *T, "eigenvectors", err) : NULL;
    if (T == NULL)
        return ST_NOMEM;
    p->L = L;
    const struct nystrom s = { .pool = pool, .M = p->M, .L = L, .T = T, .W = T + L * L,
                               .t = T + 2 * L * L, .err = err };
    const enum status rc = spectrum(&s, B, 0.0, p->U, p->ev);
    free(T);
    return rc;
}

/* The construction on the CPU: U into Omega, ev (L).  qr: orthonormalise Omega first. */
static enum status by_blas(struct nystrom *s, bool qr, double *ev)
{
    const size_t M = s->M, L = s->L;
    double nu = 0.0;
    s->Y = mem_aligned(M * L, sizeof *s->Y, "the Nystrom sketch", s->err);
    s->T = s->Y ? mem_aligned(L * (2 * L + 1), sizeof *s->T, "the Nystrom core", s->err) : NULL;
    enum status rc = s->T ? ST_OK : ST_NOMEM;
    if (rc == ST_OK) {
        s->W = s->T + L * L;
        s->t = s->W + L * L;
        if (qr && !s->orthonormal)
            rc = blas_dqr(s->pool, M, L, s->Omega, M, s->err);
    }
    for (int pass = 0; rc == ST_OK && pass < s->passes; pass++)
        rc = sketch(s, pass);
    if (rc == ST_OK) {
        ctl_tell(s->ctl, PHASE_PRECOND, (size_t)s->passes, (size_t)s->passes + 1, NAN);
        rc = square_root(s, &nu);
    }
    if (rc == ST_OK)
        rc = spectrum(s, s->Y, nu, s->Omega, ev);
    free(s->Y);
    free(s->T);
    return rc;
}

/* The construction on a device if it has one, otherwise here. */
static enum status build(struct nystrom *s, bool qr, const struct precond_ops *ops,
                         struct precond **out)
{
    const size_t M = s->M, L = s->L;
    struct precond *p = precond_new(ops, M, s->err);
    if (!p)
        return ST_NOMEM;
    p->ev = mem_calloc(L, sizeof *p->ev, "Nystrom eigenvalues", s->err);
    enum status rc = p->ev ? ST_OK : ST_NOMEM;
    if (rc == ST_OK && qr && s->f)
        rc = fop_nystrom(s->f, L, s->passes, s->Omega, p->ev, s->ctl, s->err);
    if (rc == ST_UNSUPPORTED || (rc == ST_OK && !(qr && s->f)))
        rc = by_blas(s, qr, p->ev);
    if (rc != ST_OK) {
        precond_free(p);
        return rc;
    }
    ctl_tell(s->ctl, PHASE_PRECOND, (size_t)s->passes + 1, (size_t)s->passes + 1, NAN);
    p->L = L;
    p->U = s->Omega;
    s->Omega = NULL;
    *out = p;
    return ST_OK;
}

enum status precond_check_rank(size_t L, size_t M, struct err *err)
{
    if (L >= 1 && L <= M)
        return ST_OK;
    err_set(err, ST_RANGE, "rank=%zu: a preconditioner's rank lies between 1 and the %zu features",
            L, M);
    err_hint(err, "fit rank=%zu", M < 8 ? (size_t)1 : M / 8);
    return ST_RANGE;
}

/* Runs the construction on a copy of Omega. */
static enum status run_given(struct nystrom *s, const double *Omega, bool qr, struct precond **out)
{
    *out = NULL;
    if (s->passes < 1 || s->passes > 3)
        return err_set(s->err, ST_RANGE, "%d passes: between 1 and 3", s->passes);
    if (precond_check_rank(s->L, s->M, s->err) != ST_OK)
        return ST_RANGE;
    s->Omega = mem_aligned(s->M * s->L, sizeof *s->Omega, "the Nystrom test matrix", s->err);
    if (!s->Omega)
        return ST_NOMEM;
    memcpy(s->Omega, Omega, s->M * s->L * sizeof *s->Omega);
    const enum status rc = build(s, qr, qr ? &precond_gauss : s->passes > 1 ? &precond_srht2
                                                                           : &precond_srht, out);
    free(s->Omega);
    return rc;
}

enum status nystrom_diagonal(size_t M, const double *diagonal, size_t L, const double *Omega,
                             int passes, struct pool *pool, struct precond **out, struct err *err)
{
    struct nystrom s = {
        .diagonal = diagonal, .pool = pool, .M = M, .L = L, .passes = passes, .err = err};
    return run_given(&s, Omega, true, out);
}

enum status nystrom_build_for_tests(struct fop *f, size_t L, const double *Omega, bool qr,
                                    int passes, const struct ctl *ctl, struct precond **out,
                                    struct err *err)
{
    struct nystrom s = { .f = f, .pool = fop_pool(f), .ctl = ctl, .M = fop_cols(f), .L = L,
                         .passes = passes, .err = err };
    return run_given(&s, Omega, qr, out);
}

/* Test matrices. */

struct draw {
    double *Omega;
    size_t M, L;
    uint64_t seed;
    const double *signs; /* SRHT */
    const size_t *rows;
};

static void draw_gauss(void *ctx, size_t column, size_t worker)
{
    (void)worker;
    const struct draw *d = ctx;
    const uint64_t stream = rng_stream(RNG_SKETCH, 0);
    for (size_t i = 0; i < d->M; i++)
        d->Omega[column * d->M + i] = rng_normal(d->seed, stream, column * d->M + i);
}

/* Column j of Omega is row r_j of the Hadamard matrix times random signs (share/doc/methods.md
 * 8.4). Entry (r, i) of the matrix is (-1)^(number of common one bits of r and i).  The scale to
 * unit length cancels in the approximation. */
static void draw_srht(void *ctx, size_t column, size_t worker)
{
    (void)worker;
    const struct draw *d = ctx;
    const double scale = 1.0 / sqrt((double)d->M);
    for (size_t i = 0; i < d->M; i++) {
        const double s = d->signs[i] * scale;
        d->Omega[column * d->M + i] = __builtin_parityll(d->rows[column] & i) ? -s : s;
    }
}

/* Omega (M x L): Gaussian, or L distinct rows of the Hadamard matrix with random signs. */
static enum status draw_omega(struct draw *d, bool srht, struct pool *pool, struct err *err)
{
    if (!srht) {
        pool_run(pool, d->L, draw_gauss, d);
        return ST_OK;
    }
    size_t padded = 1;
    while (padded < d->M)
        padded *= 2;
    double *signs = mem_calloc(d->M, sizeof *signs, "SRHT signs", err);
    size_t *rows = signs ? mem_calloc(padded, sizeof *rows, "SRHT rows", err) : NULL;
    if (!rows) {
        free(signs);
        return ST_NOMEM;
    }
    for (size_t i = 0; i < d->M; i++)
        signs[i] = rng_u64(d->seed, rng_stream(RNG_SKETCH, 1), i) & 1 ? 1.0 : -1.0;
    rng_permutation(d->seed, rng_stream(RNG_SKETCH, 2), padded, rows);
    d->signs = signs;
    d->rows = rows;
    pool_run(pool, d->L, draw_srht, d);
    free(signs);
    free(rows);
    return ST_OK;
}

/* Builds from a random test matrix, or from the basis of a similar preconditioner with one pass
 * less. */
static enum status draw_and_run(const struct linop *A, const struct precond_opts *opts,
                                const struct precond_ops *ops, bool srht, const struct ctl *ctl,
                                struct precond **out, struct err *err)
{
    struct nystrom s = { .A = A, .f = A->fop, .pool = A->pool, .ctl = ctl, .M = A->n,
                         .L = opts->rank, .passes = ops->sketches, .err = err };
    struct draw d = { .M = A->n, .L = opts->rank, .seed = opts->seed };
    *out = NULL;
    if (precond_check_rank(d.L, d.M, err) != ST_OK)
        return ST_RANGE;
    d.Omega = mem_aligned(d.M * d.L, sizeof *d.Omega, "the Nystrom test matrix", err);
    if (!d.Omega)
        return ST_NOMEM;
    const struct precond *like = opts->like;
    enum status rc = ST_OK;
    if (like && like->U && like->M == d.M && like->L == d.L) { /* replaces the first pass */
        memcpy(d.Omega, like->U, d.M * d.L * sizeof *d.Omega);
        s.passes = s.passes > 1 ? s.passes - 1 : 1;
    } else {
        rc = draw_omega(&d, srht, A->pool, err);
        s.orthonormal = srht && (d.M & (d.M - 1)) == 0;
    }
    s.Omega = d.Omega;
    /* Hadamard columns are orthonormal when M is a power of two; otherwise the QR is needed. */
    if (rc == ST_OK)
        rc = build(&s, true, ops, out);
    free(s.Omega);
    return rc;
}

static enum status gauss_build(const struct linop *A, const struct precond_opts *opts,
                               const struct ctl *ctl, struct precond **out, struct err *err)
{
    return draw_and_run(A, opts, &precond_gauss, false, ctl, out, err);
}

static enum status srht_build(const struct linop *A, const struct precond_opts *opts,
                              const struct ctl *ctl, struct precond **out, struct err *err)
{
    return draw_and_run(A, opts, &precond_srht, true, ctl, out, err);
}

static enum status srht2_build(const struct linop *A, const struct precond_opts *opts,
                               const struct ctl *ctl, struct precond **out, struct err *err)
{
    return draw_and_run(A, opts, &precond_srht2, true, ctl, out, err);
}

const struct precond_ops precond_gauss = {
    .name = "gauss",
    .title = "Nystrom, Gaussian",
    .help = "one pass over the data with a random orthonormal basis",
    .build = gauss_build,
    .ranked = true,
    .sketches = 1,
};
const struct precond_ops precond_srht = {
    .name = "srht", .title = "Nystrom, Hadamard",
    .help = "one pass with a subsampled Hadamard basis (SRHT)", .build = srht_build, .ranked = true,
    .sketches = 1,
};
const struct precond_ops precond_srht2 = {
    .name = "srht2", .title = "Nystrom, Hadamard, two passes",
    .help = "a second pass sharpens the basis: 20 to 25 % fewer iterations than srht",
    .build = srht2_build, .ranked = true, .sketches = 2,
};
