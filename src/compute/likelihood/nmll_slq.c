/* compute/likelihood/nmll_slq.c -- the marginal likelihood of many features without their Gram:
 * conjugate gradients and stochastic Lanczos quadrature (Ubaru, Chen & Saad 2017;
 * share/doc/methods.md 10).
 *
 * With a Nystrom preconditioner P and probes n_i ~ N(0, I), c_i = P^1/2 n_i are right-hand sides
 * beside Z'y.  Their CG coefficients are the Lanczos matrices T_i of P^-1/2 A P^-1/2 started at
 * n_i: log|A| = log|P| + log|P^-1/2 A P^-1/2|,   the latter about (M / nv) sum_i e_1' log(T_i) e_1,
 * and the same solves give the gradient: E[(A^-1 c)' B (P^-1 c)] = tr(A^-1 B). */
#include "compute/likelihood/nmll_impl.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/rng.h"
#include "compute/solvers/solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 64, MAXIT = 1000 };
static const double LOG_2PI = 1.8378770664093454836;

/* Gauss quadrature converges twice as fast as the solve, and the gradient needs the solve to the
 * few per cent that the probes scatter: on kin40k (M=4096) 1e-2 moves the value by 2e-4 of its
 * standard error, 3e-2 by 5e-4 and 1e-1 by 3e-2, for 2.3 to 3 times less work than 1e-6. */
static const double PROBE_RTOL = 1e-2;

struct slq {
    struct fop *f;
    const struct nmll_slq_opts *o;
    size_t n, M, k, t;           /* k: probes and, last, the t targets */
    double ratio;
    double *B, *X, *V;           /* M x k: right-hand sides, solutions; P^-1 of the probes */
    double *T;                   /* n x k: Z X; the last t columns become y - Z w */
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
    s->T = s->V ? mem_aligned(s->n * s->k, sizeof *s->T, "the probes", err) : NULL;
    return s->T ? ST_OK : ST_NOMEM;
}

/* Probes by (seed, probe, index): the same for every candidate, so that candidates compare. */
static enum status slq_right_hand_sides(struct slq *s, const double *y, struct err *err)
{
    const size_t M = s->M, nv = s->k - s->t;

    for (size_t i = 0; i < nv; i++)
        for (size_t j = 0; j < M; j++)
            s->B[i * M + j] = rng_normal(s->o->seed, rng_stream(RNG_PROBE, (uint32_t)i), j);
    enum status rc = precond_sqrt(s->pre, fop_pool(s->f), nv, s->B, s->B, err);
    return rc == ST_OK ? fop_ztv(s->f, s->t, y, s->B + nv * M, s->ctl, err) : rc;
}

static enum status indefinite(const struct slq *s, struct err *err)
{
    return err_set(err, ST_NOT_PD, "the operator is indefinite at noise ratio %.3g", s->ratio);
}

/* Solves whose coefficients are wanted, too: they end where a device is lost, and all is done anew
 * without. */
static enum status slq_columns(struct slq *s, const struct linop *A, size_t k, const double *B,
                               double *X, const struct solve_opts *so, struct solve_info *info,
                               struct err *err)
{
    const bool lost = fop_lost(s->f, NULL);
    enum status rc = cg_solve(A, k, B, X, so, s->ctl, info, err);

    if (rc != ST_OK || lost || !fop_lost(s->f, NULL))
        return rc;
    for (size_t i = 0; i < k; i++)
        solve_info_free(&info[i]);
    return cg_solve(A, k, B, X, so, s->ctl, info, err);
}

/* e_1' log(T) e_1 from the first `steps` coefficients of one column; ST_NOT_PD: there are none, or
 * T has an eigenvalue <= 0. */
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

/* Further probes
 *
 * A few steps of a probe say most of what all of them do: with c_i the quadrature after m steps,
 *   mean of e over the first nv = mean of c over all N + mean of (e - c) over the first nv,
 * on average (Giles 2015), where the further N - nv cost m steps each.  kin40k at the rank that is
 * chosen: 8 of some 40 steps leave a tenth of the standard deviation to e - c. */

enum { MORE_BLOCK = 64, MORE_ROUNDS = 4 };

struct more {
    struct slq *s;
    size_t nv, N, m;       /* of the first; of all; steps of the further ones (MAXIT: to the end) */
    const double *e;       /* of the first */
    double *c;             /* of all, after m steps; */
    size_t cap;            /* room for so many */
    double first, done;    /* steps of the first together, and of the further ones */
};

/* Mean and variance (of one) of what the first and all say. */
struct spread { double mean, cheap, rest, both; };

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

static double squared_error(const struct spread *r, size_t nv, double N)
{
    return fmax(0.0, (r->cheap + 2.0 * r->both) / N) + r->rest / (double)nv;
}

/* What the first say after m steps. */
static enum status after(const struct more *p, size_t m, double *c, struct err *err)
{
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < p->nv; i++)
        rc = lanczos_log(p->s, &p->s->info[i], m, &c[i], err);
    return rc;
}

/* How many steps further probes take: least work for a squared error `want`; N: probes then. */
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
            continue; /* what the first alone say of the rest is too uncertain */
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

/* One block of further probes, at most `room` of them. */
static enum status more_block(struct more *p, size_t room, double *B, double *X,
                              struct solve_info *info, struct err *err)
{
    struct slq *s = p->s;
    const size_t M = s->M, k = room < MORE_BLOCK ? room : MORE_BLOCK;
    struct ridge ridge = { s->f, s->ratio };
    const struct linop A = solve_ridge(&ridge);
    const struct solve_opts so = {.rtol = s->o->rtol,
                                  .maxit = p->m,
                                  .check_every = MAXIT,
                                  .nprobes = k,
                                  .probe_rtol =
                                      s->o->probe_rtol > 0.0 ? s->o->probe_rtol : PROBE_RTOL,
                                  .pre = s->pre};

    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < M; j++)
            B[i * M + j] = rng_normal(s->o->seed, rng_stream(RNG_PROBE, (uint32_t)(p->N + i)), j);
    enum status rc = precond_sqrt(s->pre, fop_pool(s->f), k, B, B, err);
    if (rc != ST_OK)
        return rc;
    rc = slq_columns(s, &A, k, B, X, &so, info, err);
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

/* Further probes until the mean of e has the error wanted, or the work is as much as allowed. */
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

/* log|A| and its standard error, over probes. */
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

double nmll_slq_difference(size_t probes, const double *a, const double *b)
{
    double mean = 0.0, var = 0.0;

    for (size_t i = 0; i < probes; i++)
        mean += (a[i] - b[i]) / (double)probes;
    for (size_t i = 0; i < probes; i++)
        var += (a[i] - b[i] - mean) * (a[i] - b[i] - mean);
    return probes > 1 ? sqrt(var / ((double)probes * (double)(probes - 1))) : NAN;
}

struct slq_rows { struct slq *s; size_t nhp; double *part; enum status *rc; const double *noise; };

/* B = (t/nv) sum_i (Z u_i) v_i' - sum of r w' / noise^2 over a tile of rows, and its sum with all
 * dZ. */
static void grad_task(void *ctx, size_t task, size_t worker)
{
    struct slq_rows *g = ctx;
    const struct slq *s = g->s;
    const size_t M = s->M, nv = s->k - s->t, r0 = task * ROWS;
    const size_t rows = r0 + ROWS < s->n ? ROWS : s->n - r0;

    (void)worker;
    if (ctl_stopped(s->ctl))
        return;
    double *Z = mem_aligned(2 * rows * M, sizeof *Z, "a tile of features", NULL), *B = Z + rows * M;
    g->rc[task] = Z ? fop_tile64(s->f, r0, r0 + rows, Z, M, NULL) : ST_NOMEM;
    if (g->rc[task] == ST_OK) {
        blas_dgemm1(false, true, M, rows, nv, (double)s->t / (double)nv, s->V, M, s->T + r0, s->n,
                    0.0, B, M);
        for (size_t i = 0; i < rows; i++)
            for (size_t q = 0; q < s->t; q++)
                blas_daxpy(M, -s->T[(nv + q) * s->n + r0 + i] / (g->noise[q] * g->noise[q]),
                           s->X + (nv + q) * M, B + i * M);
        g->rc[task] = fop_grad(s->f, r0, r0 + rows, Z, B, M, g->part + task * g->nhp, NULL);
    }
    free(Z);
}

/* The same sum where the features are, on a device; UNSUPPORTED: there is none. */
static enum status slq_there(struct slq *s, size_t nhp, const double *noise, double *grad,
                             struct err *err)
{
    const size_t M = s->M, nv = s->k - s->t;

    if (!fop_has_back(s->f))
        return ST_UNSUPPORTED;
    double *V = mem_aligned(s->k * M, sizeof *V, "the gradient's vectors", err);
    if (!V)
        return ST_NOMEM;
    for (size_t i = 0; i < nv * M; i++)
        V[i] = (double)s->t / (double)nv * s->V[i];
    for (size_t q = 0; q < s->t; q++)
        for (size_t i = 0; i < M; i++)
            V[(nv + q) * M + i] = -s->X[(nv + q) * M + i] / (noise[q] * noise[q]);
    memset(grad, 0, nhp * sizeof *grad);
    const enum status rc = fop_back(s->f, NULL, s->k, s->T, V, grad, s->ctl, err);
    free(V);
    return rc;
}

static enum status slq_hp_gradient(struct slq *s, const double *y, size_t nhp,
                                   const double *noise, double *grad, struct err *err)
{
    const size_t tasks = (s->n + ROWS - 1) / ROWS, nv = s->k - s->t;
    struct slq_rows g = { .s = s, .nhp = nhp, .noise = noise };
    enum status rc = fop_zp(s->f, s->k, s->X, s->T, s->ctl, err);

    for (size_t i = 0; rc == ST_OK && i < s->t * s->n; i++)
        s->T[nv * s->n + i] = y[i] - s->T[nv * s->n + i];
    if (rc == ST_OK)
        rc = precond_apply(s->pre, fop_pool(s->f), nv, s->B, s->V, err);
    const enum status there = rc == ST_OK ? slq_there(s, nhp, noise, grad, err) : ST_OK;
    if (rc != ST_OK || there != ST_UNSUPPORTED)
        return rc == ST_OK ? there : rc;
    g.part = mem_calloc(tasks * (nhp + 1), sizeof *g.part, "partial sums", err);
    g.rc = g.part ? mem_calloc(tasks, sizeof *g.rc, "partial sums", err) : NULL;
    if (g.rc == NULL)
        rc = ST_NOMEM;
    if (rc == ST_OK)
        pool_run(fop_pool(s->f), tasks, grad_task, &g);
    memset(grad, 0, nhp * sizeof *grad);
    for (size_t t = 0; rc == ST_OK && t < tasks; t++) {
        if (g.rc[t] != ST_OK)
            rc = err_set(err, g.rc[t], "the features' derivatives could not be computed");
        for (size_t h = 0; h < nhp; h++)
            grad[h] += g.part[t * nhp + h];
    }
    if (rc == ST_OK && ctl_stopped(s->ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    free(g.part);
    free(g.rc);
    return rc;
}

static enum status slq_solve(struct slq *s, const double *y, struct err *err)
{
    const size_t M = s->M;
    struct ridge ridge = { s->f, s->ratio };
    const struct linop A = solve_ridge(&ridge);
    const struct precond_opts po = { .rank = s->o->rank < M / 2 ? s->o->rank : M / 2,
                                     .seed = s->o->seed,
                                     .like = s->o->kept ? *s->o->kept : NULL };
    struct solve_opts so = { .rtol = s->o->rtol, .maxit = MAXIT, .check_every = MAXIT,
                             .nprobes = s->k - s->t,
                             .probe_rtol = s->o->probe_rtol > 0.0 ? s->o->probe_rtol : PROBE_RTOL };
    enum status rc = precond_srht2.build(s->f, &po, s->ctl, &s->pre, err);

    if (rc != ST_OK)
        return rc;
    precond_set_noise(s->pre, s->ratio);
    so.pre = s->pre;
    rc = slq_right_hand_sides(s, y, err);
    if (rc == ST_OK)
        rc = slq_columns(s, &A, s->k, s->B, s->X, &so, s->info, err);
    if (rc == ST_OK && ctl_stopped(s->ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    return rc;
}

/* What the solves say of the value: y'y, g'A^-1 g and y'(K1 + ratio I)^-1 y of each target. */
struct terms { double yty[TARGETS_MOST], quad[TARGETS_MOST], c[TARGETS_MOST]; };

/* amplitude: of each target. */
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

static enum status slq_gradient(struct slq *s, const struct nmll_ask *ask, const struct terms *v,
                                const double *amplitude, const double *noise, double *grad,
                                struct err *err)
{
    const size_t M = s->M, nv = s->k - s->t, nhp = ask->nhp;
    const double n = (double)s->n;
    const enum status rc = slq_hp_gradient(s, ask->y, nhp, noise, grad, err);
    double trace = 0.0, amp = 0.0, noisy = 0.0; /* of A^-1; of the logarithms of both */

    for (size_t i = 0; i < nv; i++)
        trace += blas_ddot(M, s->X + i * M, s->V + i * M) / (double)nv;
    for (size_t q = 0; q < s->t; q++) {
        const double *w = s->X + (nv + q) * M, wtw = blas_ddot(M, w, w);
        const double rr = v->yty[q] - v->quad[q] - s->ratio * wtw;
        amp += -wtw / (amplitude[q] * amplitude[q]) + (double)M - s->ratio * trace;
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
        v.c[q] = (v.yty[q] - v.quad[q]) / s->ratio;
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

enum status nmll_slq(struct fop *f, const struct nmll_ask *q, const struct nmll_slq_opts *o,
                     const struct nmll_told *out, const struct ctl *ctl, struct err *err)
{
    const size_t t = q->t ? q->t : 1;
    const double ratio = q->scale == NMLL_GIVEN
                             ? q->noise * q->noise / (q->amplitude * q->amplitude)
                             : q->ratio;
    struct slq s = { .f = f, .o = o, .n = fop_rows(f), .M = fop_cols(f), .k = o->probes + t, .t = t,
                     .ratio = ratio, .ctl = ctl };
    enum status rc = slq_check(q, t, ratio, o->probes, err);

    if (rc != ST_OK)
        return rc;
    if (q->nhp > 0)
        rc = fop_set(f, q->hp, err);
    if (rc == ST_OK)
        rc = slq_alloc(&s, out->grad != NULL, err);
    if (rc == ST_OK)
        rc = slq_run(&s, q, out, err);
    slq_free(&s);
    return rc;
}
