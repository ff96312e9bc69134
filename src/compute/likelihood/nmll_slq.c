/* compute/likelihood/nmll_slq.c -- the marginal likelihood of many features without their Gram
 * matrix: conjugate gradients and stochastic Lanczos quadrature (Ubaru, Chen & Saad 2017;
 * Parkinson & Wang, Algorithm S5, with the corrections of share/doc/methods.md 10).
 *
 * A = Z'Z + ratio I (M x M), or K1 + ratio I of the exact kernel (n x n, with y in place of Z'y;
 * 10.7), is applied, never formed.  With a Nystrom preconditioner P and probes
 * u_i ~ N(0, I), the vectors c_i = P^1/2 u_i are right-hand sides beside Z'y.  Their CG
 * coefficients are the Lanczos matrices T_i of P^-1/2 A P^-1/2 started at u_i (10.1), so that
 *   log|A| = log|P| + log|P^-1/2 A P^-1/2|                                               (10.2)
 *          ~ log|P| + (M / nv) sum_i e_i,  e_i = e_1' log(T_i) e_1                       (10.3)
 * and the same solves give the traces of the gradient:
 *   tr(A^-1 B) = E[(A^-1 c)' B (P^-1 c)].                                                (10.4)
 * The preconditioner takes most of log|A| into log|P|, which is exact, and leaves to the probes a
 * matrix close to I, the logarithm of whose eigenvalues varies little. */
#include "compute/likelihood/nmll_impl.h"

#include "base/mem.h"
#include "compute/features/fop_rows.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact_system.h"
#include "compute/rng.h"
#include "compute/solvers/solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 64, MAXIT = 1000 }; /* rows of a tile; iterations of any column */
static const double LOG_2PI = 1.8378770664093454836;

/* A loose tolerance is enough for the probes.  The error of Gauss quadrature falls twice as fast as
 * that of the solve, and the gradient needs the solve only to the few per cent by which the probes
 * scatter.  On kin40k (M=4096), against a tolerance of 1e-6, 1e-2 moves the value by 2e-4 of its
 * standard error, 3e-2 by 5e-4 and 1e-1 by 3e-2, for 2.3 to 3 times less work. */
static const double PROBE_RTOL = 1e-2;

struct slq {
    struct fop *f;               /* NULL: A is the exact kernel's, n x n */
    struct linop A;
    const struct exact_rows *rows; /* of the exact kernel; else NULL */
    const struct nmll_slq_opts *o;
    size_t n, M, k, t;           /* rows, columns; k columns: the probes, then the t targets */
    double ratio;
    double *B, *X, *V;           /* M x k: right-hand sides; solutions; P^-1 c of the probes */
    double *T;                   /* n x k: Z X; its last t columns become r = y - Z w */
    struct solve_info *info;
    struct precond *pre;
    const struct ctl *ctl;
};

static void slq_free(struct slq *s)
{
    for (size_t c = 0; s->info != NULL && c < s->k; c++)
        solve_info_free(&s->info[c]);
    free(s->info);
    free(s->B);
    free(s->X);
    free(s->V);
    free(s->T);
    if (s->o->kept && s->pre) {
        precond_free(*s->o->kept);
        *s->o->kept = s->pre;
    } else {
        precond_free(s->pre);
    }
}

/* Allocates right-hand sides and solutions, and with a gradient V and T. */
static enum status slq_alloc(struct slq *s, bool gradient, struct err *err)
{
    const size_t size = s->M * s->k;

    s->info = mem_calloc(s->k, sizeof *s->info, "the probes", err);
    s->B = s->info ? mem_aligned(size, sizeof *s->B, "the probes", err) : NULL;
    s->X = s->B ? mem_aligned(size, sizeof *s->X, "the probes", err) : NULL;
    if (s->X == NULL)
        return ST_NOMEM;
    memset(s->X, 0, size * sizeof *s->X);
    if (!gradient)
        return ST_OK;
    s->V = mem_aligned(size, sizeof *s->V, "the probes", err);
    if (!s->f)
        return s->V ? ST_OK : ST_NOMEM;
    s->T = s->V ? mem_aligned(s->n * s->k, sizeof *s->T, "the probes", err) : NULL;
    return s->T ? ST_OK : ST_NOMEM;
}

/* u (M) <- probe i, keyed by (seed, probe, index). */
static void probe(const struct slq *s, size_t i, double *u)
{
    for (size_t j = 0; j < s->M; j++)
        u[j] = s->o->unit_for_tests
                   ? (i == j ? sqrt((double)s->M) : 0.0)
                   : rng_normal(s->o->seed, rng_stream(RNG_PROBE, (uint32_t)i), j);
}

/* B <- [P^1/2 u_1 .. P^1/2 u_nv, Z'y], or y itself for the exact kernel.  The probes are the same
 * at every setting of the hyperparameters, so that settings can be compared. */
static enum status slq_right_hand_sides(struct slq *s, const double *y, struct err *err)
{
    const size_t M = s->M, nv = s->k - s->t;

    for (size_t i = 0; i < nv; i++)
        probe(s, i, s->B + i * M);
    const enum status rc = precond_sqrt(s->pre, s->A.pool, nv, s->B, s->B, err);
    if (rc != ST_OK || s->f)
        return rc == ST_OK ? fop_ztv(s->f, s->t, y, s->B + nv * M, s->ctl, err) : rc;
    memcpy(s->B + nv * M, y, s->t * M * sizeof *y);
    return ST_OK;
}

static enum status indefinite(const struct slq *s, struct err *err)
{
    return err_set(err, ST_NOT_PD, "the operator is indefinite at noise ratio %.3g", s->ratio);
}

/* Solves A X = B for k columns and keeps the CG coefficients in info.  A solve ends when a device
 * is lost; its coefficients are then incomplete, and all columns are solved again on the CPU. */
static enum status slq_columns(struct slq *s, size_t k, const double *B, double *X,
                               const struct solve_opts *so, struct solve_info *info,
                               struct err *err)
{
    const bool lost = s->f && fop_lost(s->f, NULL);
    enum status rc = cg_solve(&s->A, k, B, X, so, s->ctl, info, err);

    if (rc != ST_OK || !s->f || lost || !fop_lost(s->f, NULL))
        return rc;
    for (size_t i = 0; i < k; i++)
        solve_info_free(&info[i]);
    return cg_solve(&s->A, k, B, X, so, s->ctl, info, err);
}

/* *out = e_1' log(T) e_1 = sum_j Y_1j^2 log theta_j with T = Y diag(theta) Y' (m x m, tridiagonal)
 * from the first m <= `steps` coefficients alpha, beta of one column (share/doc/methods.md 10.1,
 * 10.3): Gauss quadrature of the logarithm, whose nodes are the Ritz values theta.  It stays
 * accurate when the Lanczos vectors lose orthogonality: repeated Ritz values share the weight of
 * one (Meurant & Strakos, Acta Numerica 15 (2006)).  NOT_PD when there are no coefficients, or T
 * has an eigenvalue <= 0. */
static enum status lanczos_log(const struct slq *s, const struct solve_info *in, size_t steps,
                               double *out, struct err *err)
{
    const size_t m = in->nhist < steps ? in->nhist : steps;

    *out = 0.0;
    if (in->why == OUT_BREAKDOWN || m == 0)
        return indefinite(s, err);
    double *T = mem_calloc(m * m + m, sizeof *T, "a Lanczos matrix", err);
    if (!T)
        return ST_NOMEM;
    double *th = T + m * m;
    for (size_t i = 0; i < m; i++) {
        T[i + i * m] = 1.0 / in->alpha[i] + (i ? in->beta[i - 1] / in->alpha[i - 1] : 0.0);
        if (i + 1 < m)
            T[i + 1 + i * m] = T[i + (i + 1) * m] = sqrt(in->beta[i]) / in->alpha[i];
    }
    enum status rc = blas_dsyevd(m, T, m, th, true, err);
    for (size_t j = 0; rc == ST_OK && j < m; j++) {
        if (!(th[j] > 0.0))
            rc = indefinite(s, err);
        else
            *out += T[j * m] * T[j * m] * log(th[j]);
    }
    free(T);
    return rc;
}

/* Further probes (share/doc/methods.md 10.5)
 *
 * A few steps of a probe tell most of what all its steps do.  With c_i the quadrature of probe i
 * after m steps and e_i that at convergence,
 *   E[e] ~ mean of c over all N probes + mean of (e - c) over the first nv,
 * an unbiased two-level estimate (Giles 2015) for which the N - nv further probes take m steps
 * each. On kin40k, at the rank chosen by the program, 8 of some 40 steps leave a tenth of the
 * standard deviation to e - c. */

enum { MORE_BLOCK = 64, MORE_ROUNDS = 4 };

struct more {
    struct slq *s;
    size_t nv, N, m;       /* first probes; all probes; steps of further ones (MAXIT: all) */
    const double *e;       /* nv: quadrature of the first probes at convergence */
    double *c;             /* N: quadrature of all probes after m steps */
    size_t cap;            /* allocated length of c */
    double first, done;    /* iterations of the first probes together, and of the further ones */
};

/* The two-level mean; the variances of c and of e - c, and their covariance, for one probe. */
struct spread { double mean, cheap, rest, both; };

/* Two passes (means first), so that the variances do not cancel. */
static struct spread spread_of(size_t nv, size_t N, const double *e, const double *c)
{
    struct spread r = { 0 };
    double all = 0.0, first = 0.0, rest = 0.0;

    for (size_t i = 0; i < N; i++)
        all += c[i] / (double)N;
    for (size_t i = 0; i < nv; i++) {
        first += c[i] / (double)nv;
        rest += (e[i] - c[i]) / (double)nv;
    }
    for (size_t i = 0; i < N; i++)
        r.cheap += (c[i] - all) * (c[i] - all) / (double)(N - 1);
    for (size_t i = 0; i < nv; i++) {
        const double d = e[i] - c[i] - rest;
        r.rest += d * d / (double)(nv - 1);
        r.both += d * (c[i] - first) / (double)(nv - 1);
    }
    r.mean = all + rest;
    return r;
}

/* The variance of the two-level mean of N probes of which nv are complete.  The nv first ones occur
 * in both means: var(c)/N + var(e - c)/nv + 2 cov(c, e - c)/N. */
static double squared_error(const struct spread *r, size_t nv, double N)
{
    return fmax(0.0, (r->cheap + 2.0 * r->both) / N) + r->rest / (double)nv;
}

/* c[i] <- the quadrature of each of the first probes after m steps. */
static enum status after(const struct more *p, size_t m, double *c, struct err *err)
{
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < p->nv; i++)
        rc = lanczos_log(p->s, &p->s->info[i], m, &c[i], err);
    return rc;
}

/* Chooses the steps p->m of further probes for the least work at a squared error `want`, and *N,
 * the number of probes that this takes.  p->m stays 0 when no choice can reach it. */
static enum status more_choose(struct more *p, double want, double *N, struct err *err)
{
    double least = INFINITY, *c = mem_calloc(p->nv, sizeof *c, "the probes", err);
    enum status rc = c ? ST_OK : ST_NOMEM;
    size_t longest = 0;

    for (size_t i = 0; i < p->nv; i++)
        longest = p->s->info[i].nhist > longest ? p->s->info[i].nhist : longest;
    for (size_t m = 1; rc == ST_OK && m != 0; m = m == MAXIT        ? 0
                                                  : m < longest / 2 ? m + 1 + m / 4
                                                                    : MAXIT) {
        rc = after(p, m, c, err);
        const struct spread r = spread_of(p->nv, p->nv, p->e, c);
        const double left = want - r.rest / (double)p->nv;
        if (rc != ST_OK || !(left > 0.3 * want))
            continue; /* e - c of the first probes alone has too large an error */
        const double n = fmax((double)p->nv + 1.0, ceil((r.cheap + 2.0 * r.both) / left));
        const double steps = m == MAXIT ? p->first / (double)p->nv : (double)m;
        if ((n - (double)p->nv) * steps < least) {
            least = (n - (double)p->nv) * steps;
            p->m = m;
            *N = n;
        }
    }
    free(c);
    return rc;
}

/* One block of further probes, at most `room` of them; B and X are M x MORE_BLOCK, X zero. */
static enum status more_block(struct more *p, size_t room, double *B, double *X,
                              struct solve_info *info, struct err *err)
{
    struct slq *s = p->s;
    const size_t M = s->M, k = room < MORE_BLOCK ? room : MORE_BLOCK;
    const struct solve_opts so = {.rtol = s->o->rtol,
                                  .maxit = p->m,
                                  .check_every = MAXIT,
                                  .nprobes = k,
                                  .probe_rtol =
                                      s->o->probe_rtol > 0.0 ? s->o->probe_rtol : PROBE_RTOL,
                                  .pre = s->pre};

    for (size_t i = 0; i < k; i++)
        probe(s, p->N + i, B + i * M);
    enum status rc = precond_sqrt(s->pre, s->A.pool, k, B, B, err);
    if (rc != ST_OK)
        return rc;
    rc = slq_columns(s, k, B, X, &so, info, err);
    if (rc == ST_OK && ctl_stopped(s->ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    for (size_t i = 0; rc == ST_OK && i < k; i++) {
        rc = lanczos_log(s, &info[i], p->m, &p->c[p->N + i], err);
        p->done += (double)info[i].iterations;
    }
    for (size_t i = 0; i < k; i++)
        solve_info_free(&info[i]);
    p->N += rc == ST_OK ? k : 0;
    return rc;
}

/* Blocks of further probes until there are `wanted` in all, or the work has reached its limit. */
static enum status more_run(struct more *p, double wanted, struct err *err)
{
    const size_t M = p->s->M;
    double *B = mem_aligned(2 * MORE_BLOCK * M, sizeof *B, "the probes", err);
    struct solve_info *info = B ? mem_calloc(MORE_BLOCK, sizeof *info, "the probes", err) : NULL;
    enum status rc = info ? ST_OK : ST_NOMEM;

    while (rc == ST_OK && (double)p->N < wanted && p->done < p->s->o->most * p->first) {
        const double room = fmin(ceil(wanted - (double)p->N), MORE_BLOCK);
        rc = mem_grow((void **)&p->c, &p->cap, p->N + MORE_BLOCK, sizeof *p->c, "the probes", err);
        memset(B + MORE_BLOCK * M, 0, MORE_BLOCK * M * sizeof *B);
        if (rc == ST_OK)
            rc = more_block(p, (size_t)room, B, B + MORE_BLOCK * M, info, err);
    }
    free(info);
    free(B);
    return rc;
}

/* Adds probes until the mean of e has the standard error `error`, or the work has reached its
 * limit;
 * *mean and *se are replaced by those of the two-level estimate. */
static enum status more_probes(struct slq *s, const double *e, double error, double *mean,
                               double *se, struct err *err)
{
    struct more p = { .s = s, .nv = s->k - s->t, .N = s->k - s->t, .e = e };
    double wanted = 0.0;
    enum status rc = ST_OK;

    for (size_t i = 0; i < p.nv; i++)
        p.first += (double)s->info[i].iterations;
    rc = more_choose(&p, error * error, &wanted, err);
    if (rc == ST_OK)
        rc = mem_grow((void **)&p.c, &p.cap, p.nv, sizeof *p.c, "the probes", err);
    if (rc == ST_OK && p.m > 0)
        rc = after(&p, p.m, p.c, err);
    for (int round = 0; rc == ST_OK && p.m > 0 && round < MORE_ROUNDS && *se > error; round++) {
        rc = more_run(&p, wanted, err);
        if (rc != ST_OK)
            break;
        const struct spread r = spread_of(p.nv, p.N, e, p.c);
        *mean = r.mean;
        *se = sqrt(squared_error(&r, p.nv, (double)p.N));
        wanted = 1.05 * (double)p.N * fmax(1.05, (*se / error) * (*se / error));
    }
    if (s->o->used)
        *s->o->used = p.N;
    free(p.c);
    return rc;
}

/* log|A| by share/doc/methods.md 10.2 and 10.3, and its standard error over the probes.  Each e_i
 * has the weight M in place of |u_i|^2: E|u_i|^2 = M, and |u_i|^2 is independent of the direction
 * of u_i, so that the estimate stays unbiased and loses the scatter of |u_i|^2. */
static enum status slq_logdet(struct slq *s, double *logdet, double *se, struct err *err)
{
    const size_t nv = s->k - s->t;
    const double unit = 0.5 * (double)s->t * (double)s->M; /* nats of the value */
    double *e = mem_calloc(nv, sizeof *e, "the probes", err), mean = 0.0, var = 0.0;
    enum status rc = e ? ST_OK : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && i < nv; i++) {
        rc = lanczos_log(s, &s->info[i], MAXIT, &e[i], err);
        mean += e[i] / (double)nv;
        if (s->o->terms)
            s->o->terms[i] = unit * e[i];
    }
    for (size_t i = 0; i < nv && rc == ST_OK; i++)
        var += (e[i] - mean) * (e[i] - mean) / (double)(nv - 1);
    double error = sqrt(var / (double)nv);
    if (s->o->used)
        *s->o->used = nv;
    if (rc == ST_OK && s->o->error > 0.0 && nv >= 4 && error * unit > s->o->error)
        rc = more_probes(s, e, s->o->error / unit, &mean, &error, err);
    *logdet = precond_logdet(s->pre) + (double)s->M * mean;
    *se = (double)s->M * error;
    free(e);
    return rc;
}

/* The standard error of the mean of the differences a_i - b_i (share/doc/methods.md 10.6). */
double nmll_slq_difference(size_t probes, const double *a, const double *b)
{
    double mean = 0.0, var = 0.0;

    for (size_t i = 0; i < probes; i++)
        mean += (a[i] - b[i]) / (double)probes;
    for (size_t i = 0; i < probes; i++)
        var += (a[i] - b[i] - mean) * (a[i] - b[i] - mean);
    return probes > 1 ? sqrt(var / ((double)probes * (double)(probes - 1))) : NAN;
}

/* grad[0 .. nhp): sum of B o dZ / dlog hp with the matrix B of share/doc/methods.md 6.12, whose
 * Z A^-1 is replaced by its estimate from the probes (10.4):
 *   B = (t/nv) sum_i (Z x_i) v_i' - sum over targets of r w' / noise^2,
 * x_i = A^-1 c_i, v_i = P^-1 c_i. */
static enum status slq_hp_gradient(struct slq *s, const double *y, size_t nhp,
                                   const double *noise, double *grad, struct err *err)
{
    const size_t M = s->M, nv = s->k - s->t;
    double *V = mem_aligned(s->k * M, sizeof *V, "the gradient's vectors", err);
    const struct fop_slope back = { .T = s->T, .V = V, .k = s->k, .nhp = nhp };
    enum status rc = V ? fop_zp(s->f, s->k, s->X, s->T, s->ctl, err) : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && i < s->t * s->n; i++)
        s->T[nv * s->n + i] = y[i] - s->T[nv * s->n + i];
    if (rc == ST_OK)
        rc = precond_apply(s->pre, fop_pool(s->f), nv, s->B, s->V, err);
    for (size_t i = 0; rc == ST_OK && i < nv * M; i++)
        V[i] = (double)s->t / (double)nv * s->V[i];
    for (size_t q = 0; rc == ST_OK && q < s->t; q++)
        for (size_t i = 0; i < M; i++)
            V[(nv + q) * M + i] = -s->X[(nv + q) * M + i] / (noise[q] * noise[q]);
    memset(grad, 0, nhp * sizeof *grad);
    if (rc == ST_OK)
        rc = fop_back(s->f, &back, grad, s->ctl, err);
    free(V);
    return rc;
}

/* Builds P (rank at most M / 2; two passes of SRHT, or from columns of the exact kernel) and solves
 * A X = B for all columns. */
static enum status slq_solve(struct slq *s, const double *y, struct err *err)
{
    const size_t M = s->M;
    const struct precond_opts po = { .rank = s->o->rank < M / 2 ? s->o->rank : M / 2,
                                     .seed = s->o->seed,
                                     .like = s->o->kept ? *s->o->kept : NULL };
    struct solve_opts so = { .rtol = s->o->rtol, .maxit = MAXIT, .check_every = MAXIT,
                             .nprobes = s->k - s->t,
                             .probe_rtol = s->o->probe_rtol > 0.0 ? s->o->probe_rtol : PROBE_RTOL };
    enum status rc = s->f ? precond_srht2.build(SOLVE_RIDGE(s->f, 0.0), &po, s->ctl, &s->pre, err)
                          : precond_pchol.build(&s->A, &po, s->ctl, &s->pre, err);

    if (rc != ST_OK)
        return rc;
    precond_set_noise(s->pre, s->ratio);
    so.pre = s->pre;
    rc = slq_right_hand_sides(s, y, err);
    if (rc == ST_OK)
        rc = slq_columns(s, s->k, s->B, s->X, &so, s->info, err);
    if (rc == ST_OK && ctl_stopped(s->ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    return rc;
}

/* For each target: y'y, b'A^-1 b with b = Z'y, and c = y'(K1 + ratio I)^-1 y. */
struct terms { double yty[TARGETS_MOST], quad[TARGETS_MOST], c[TARGETS_MOST]; };

/* The sum over targets of share/doc/methods.md 6.2, with c = (y'y - b'w) / ratio.  NOT_PD where
 * cancellation has left c <= 0. */
static enum status slq_sum(const struct slq *s, const struct terms *v, double logdet,
                           const double *amplitude, double *value, struct err *err)
{
    const double n = (double)s->n, rest = logdet + (n - (double)s->M) * log(s->ratio);
    enum status rc = ST_OK;

    *value = 0.0;
    for (size_t q = 0; q < s->t; q++) {
        const double b2 = amplitude[q] * amplitude[q];
        *value += 0.5 * (v->c[q] / b2 + rest + n * (LOG_2PI + log(b2)));
        if (!(v->c[q] > 0.0))
            rc = err_set(err, ST_NOT_PD, "rounding is as large as the noise (ratio %.3g)",
                         s->ratio);
    }
    return rc;
}

/* The same for the exact kernel: 1/2 sum of W o dK1 / dlog hp (5.4) with
 *   W = (t/nv) sum_i x_i v_i' - sum over targets of w w' / beta^2,
 * of rank k, whose entries exact_contract_low makes tile by tile. */
static enum status slq_exact_gradient(struct slq *s, size_t nhp, const double *amplitude,
                                      double *grad, struct err *err)
{
    const size_t n = s->n, nv = s->k - s->t;
    enum status rc = precond_apply(s->pre, s->A.pool, nv, s->B, s->V, err);

    for (size_t i = 0; i < nv * n; i++)
        s->B[i] = (double)s->t / (double)nv * s->V[i];
    for (size_t q = 0; q < s->t; q++)
        for (size_t i = (nv + q) * n; i < (nv + q + 1) * n; i++)
            s->B[i] = -s->X[i] / (amplitude[q] * amplitude[q]);
    if (rc == ST_OK)
        rc = exact_contract_low(s->rows, s->k, s->X, s->B, grad, s->ctl, err);
    for (size_t h = 0; h < nhp; h++)
        grad[h] *= 0.5;
    return rc;
}

/* The whole gradient: 6.6 for the hyperparameters, 6.13 for amplitude and noise, with
 * tr A^-1 ~ mean of x_i'v_i over the probes (share/doc/methods.md 10.4 with B = I). */
static enum status slq_gradient(struct slq *s, const struct nmll_ask *ask, const struct terms *v,
                                const double *amplitude, const double *noise, double *grad,
                                struct err *err)
{
    const size_t M = s->M, nv = s->k - s->t, nhp = ask->nhp;
    const double n = (double)s->n;
    const enum status rc = s->f ? slq_hp_gradient(s, ask->y, nhp, noise, grad, err)
                                : slq_exact_gradient(s, nhp, amplitude, grad, err);
    double trace = 0.0, amp = 0.0, noisy = 0.0; /* tr A^-1; derivatives in log beta, log sigma */

    for (size_t i = 0; i < nv; i++)
        trace += blas_ddot(M, s->X + i * M, s->V + i * M) / (double)nv;
    for (size_t q = 0; q < s->t; q++) {
        const double *w = s->X + (nv + q) * M, wtw = blas_ddot(M, w, w);
        const double b2 = amplitude[q] * amplitude[q];
        if (!s->f) { /* nmll_exact.c, exact_gradient */
            const double own = s->ratio * (trace - wtw / b2);
            amp += n - v->c[q] / b2 - own;
            noisy += own;
            continue;
        }
        const double rr = v->yty[q] - v->quad[q] - s->ratio * wtw;
        amp += -wtw / b2 + (double)M - s->ratio * trace;
        noisy += -rr / (noise[q] * noise[q]) + (n - (double)M) + s->ratio * trace;
    }
    if (ask->scale == NMLL_GIVEN) {
        grad[nhp] = amp;
        grad[nhp + 1] = noisy;
    } else {
        grad[nhp] =
            noisy + nmll_moving_scale(s->t, n, v->c, s->ratio, ask->within, amplitude);
    }
    return rc;
}

/* The value by share/doc/methods.md 6.2 with b'w and log|A| from the solves, then its gradient.
 * b'w from the last iterate x of conjugate gradients has an error of second order in x, because
 * r is orthogonal to x. */
static enum status slq_run(struct slq *s, const struct nmll_ask *ask, const struct nmll_told *out,
                           struct err *err)
{
    const size_t M = s->M, n = s->n, nv = s->k - s->t;
    const bool given = ask->scale == NMLL_GIVEN;
    const double *amplitude = given ? &ask->amplitude : out->amplitude;
    const double *noise = given ? &ask->noise : out->noise;
    double logdet = 0.0, error = NAN;
    struct terms v;
    enum status rc = slq_solve(s, ask->y, err);

    if (rc == ST_OK)
        rc = slq_logdet(s, &logdet, &error, err);
    if (rc != ST_OK)
        return rc;
    for (size_t q = 0; q < s->t; q++) {
        v.yty[q] = blas_ddot(n, ask->y + q * n, ask->y + q * n);
        v.quad[q] = blas_ddot(M, s->B + (nv + q) * M, s->X + (nv + q) * M);
        v.c[q] = s->f ? (v.yty[q] - v.quad[q]) / s->ratio : v.quad[q];
    }
    if (!given)
        nmll_pick_scale(s->t, (double)n, v.c, s->ratio, ask->within, out->amplitude, out->noise);
    rc = slq_sum(s, &v, logdet, amplitude, out->value, err);
    if (out->se != NULL)
        *out->se = 0.5 * (double)s->t * error;
    for (size_t i = 0; out->iterations != NULL && i < s->k; i++)
        if (i == 0 || s->info[i].iterations > *out->iterations)
            *out->iterations = s->info[i].iterations;
    return rc == ST_OK && out->grad != NULL
               ? slq_gradient(s, ask, &v, amplitude, noise, out->grad, err)
               : rc;
}

/* RANGE unless the scale is GIVEN or RATIO, positive and finite, with at least two probes. */
static enum status slq_check(const struct nmll_ask *q, size_t t, double ratio, size_t probes,
                             struct err *err)
{
    if (q->scale == NMLL_BEST)
        return err_set(err, ST_INTERNAL, "probes are asked for a given noise ratio");
    if (q->scale == NMLL_GIVEN &&
        (!(q->amplitude > 0.0) || !(q->noise > 0.0) || !isfinite(ratio) || probes < 2))
        return err_set(err, ST_RANGE,
                       "amplitude %g and noise %g must be positive, probes 2 or more",
                       q->amplitude, q->noise);
    if (q->scale == NMLL_RATIO &&
        (!(ratio > 0.0) || !isfinite(ratio) || probes < 2 || t > TARGETS_MOST))
        return err_set(err, ST_RANGE,
                       "noise ratio %g must be positive, probes 2 or more, targets 1 to %d", ratio,
                       TARGETS_MOST);
    return ST_OK;
}

static enum status slq(struct slq *s, const struct nmll_ask *q, const struct nmll_told *out,
                       struct err *err)
{
    enum status rc = slq_alloc(s, out->grad != NULL, err);

    if (rc == ST_OK)
        rc = slq_run(s, q, out, err);
    slq_free(s);
    return rc;
}

/* The noise ratio of a question. */
static double ratio_of(const struct nmll_ask *q)
{
    return q->scale == NMLL_GIVEN ? q->noise * q->noise / (q->amplitude * q->amplitude) : q->ratio;
}

enum status nmll_slq(struct fop *f, const struct nmll_ask *q, const struct nmll_slq_opts *o,
                     const struct nmll_told *out, const struct ctl *ctl, struct err *err)
{
    const size_t t = q->t ? q->t : 1;
    const struct ridge ridge = { f, ratio_of(q) };
    struct slq s = { .f = f, .A = solve_ridge(&ridge), .o = o, .n = fop_rows(f), .M = fop_cols(f),
                     .k = o->probes + t, .t = t, .ratio = ridge.lam2, .ctl = ctl };
    enum status rc = slq_check(q, t, s.ratio, o->probes, err);

    if (rc == ST_OK && q->nhp > 0)
        rc = fop_set(f, q->hp, err);
    return rc == ST_OK ? slq(&s, q, out, err) : rc;
}

enum status nmll_slq_exact(const struct backend_ops *be, const struct exact_rows *rows, bool store,
                           const struct nmll_ask *q, const struct nmll_slq_opts *o,
                           const struct nmll_told *out, const struct ctl *ctl, struct err *err)
{
    const size_t t = q->t ? q->t : 1;
    struct slq s = { .rows = rows, .o = o, .n = rows->n, .M = rows->n, .k = o->probes + t, .t = t,
                     .ratio = ratio_of(q), .ctl = ctl };
    struct exact_system *system = NULL;
    enum status rc = slq_check(q, t, s.ratio, o->probes, err);

    if (rc == ST_OK)
        rc = exact_system_open(be, rows, &system, err);
    if (rc == ST_OK && store)
        rc = exact_system_store(system, false, ctl, err);
    if (rc == ST_OK) {
        s.A = exact_system_linop(system, s.ratio);
        rc = slq(&s, q, out, err);
    }
    exact_system_close(system);
    return rc;
}
