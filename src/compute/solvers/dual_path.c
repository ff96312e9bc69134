/* compute/solvers/dual_path.c -- the iterate of a descent with momentum and its average, in lazy
 * form (dual.h).
 *
 * With w = a + rho / (1 - rho) v a step changes w only where the gradient is not 0:
 *   w <- w - length / (1 - rho) g,   v <- rho v - length g            (share/doc/methods.md 9.11)
 * or, where the velocity takes the share s of a step, length (1 + s rho / (1 - rho)) g and s length
 * g (9.19),
 * so that m steps that leave a coordinate alone keep w and turn v into rho^m v, and the average is
 * a combination of itself, w and v (9.12).  Nothing grows, so that nothing has to be rescaled. */
#include "compute/solvers/dual.h"

#include "base/mem.h"
#include "compute/pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512, POWERS_MOST = 100000 };

enum status dual_path_new(struct dual_path *p, struct err *err)
{
    const size_t kn = p->k * p->n, parts = p->average == DUAL_NONE ? 2 : 3;

    p->powers = 1;
    for (double x = p->rho; x > 0.0 && p->powers < POWERS_MOST; x *= p->rho)
        p->powers++;
    p->w = mem_calloc(kn, parts * sizeof *p->w, "the iterate of a descent", err);
    p->last = p->w ? mem_calloc(p->n, sizeof *p->last, "the iterate of a descent", err) : NULL;
    p->power = p->last ? mem_calloc(p->powers, sizeof *p->power, "powers of the momentum", err)
                       : NULL;
    if (!p->power)
        return ST_NOMEM;
    p->v = p->w + kn;
    p->a = parts == 3 ? p->v + kn : NULL;
    for (size_t m = 0; m < p->powers; m++)
        p->power[m] = pow(p->rho, (double)m);
    return ST_OK;
}

void dual_path_free(struct dual_path *p)
{
    free(p->w);
    free(p->last);
    free(p->power);
    p->w = p->v = p->a = p->power = NULL;
    p->last = NULL;
}

void dual_path_start(struct dual_path *p, const double *X)
{
    const size_t n = p->n, k = p->k;

    memset(p->w, 0, (p->a ? 3 : 2) * k * n * sizeof *p->w);
    memset(p->last, 0, n * sizeof *p->last);
    p->t = p->changed = 0;
    p->log_before = 0.0;
    for (size_t c = 0; X && c < k; c++)
        for (size_t i = 0; i < n; i++)
            p->w[i * k + c] = X[c * n + i];
}

/* What m steps that leave a coordinate alone make of it: v <- move v and
 * average <- keep average + w_part w + v_part v, with v from before them. */
struct coast { double move, keep, w_part, v_part; };

/* (q^m - rho^m) / (q - rho) = sum over j < m of q^j rho^(m-1-j), without cancellation where q and
 * rho are close or the same; m >= 1. */
static double divided(double q, double rho, size_t m)
{
    const double most = fmax(q, rho), gap = most > 0.0 ? (most - fmin(q, rho)) / most : 0.0;
    const double first = pow(most, (double)(m - 1));

    return gap > 0.0 ? first * -expm1((double)m * log1p(-gap)) / gap : first * (double)m;
}

static double decay(const struct dual_path *p, size_t m)
{
    return m < p->powers ? p->power[m] : 0.0;
}

static struct coast coast(const struct dual_path *p, size_t m)
{
    const double rho = p->rho, lever = rho / (1.0 - rho);
    struct coast f = { decay(p, m), 1.0, 0.0, 0.0 };

    if (m == 0 || p->average == DUAL_NONE)
        return f;
    if (p->average == DUAL_ARITHMETIC) {
        f.w_part = (double)m;
        f.v_part = -lever * rho * (1.0 - f.move) / (1.0 - rho);
        return f;
    }
    const double log_keep = (double)m * log1p(-p->r);
    f.keep = exp(log_keep);
    f.w_part = -expm1(log_keep);
    f.v_part = -p->r * lever * rho * divided(1.0 - p->r, rho, m);
    return f;
}

void dual_path_coast(const struct dual_path *p, size_t m, double f[4])
{
    const struct coast c = coast(p, m);

    f[0] = c.move;
    f[1] = c.keep;
    f[2] = c.w_part;
    f[3] = c.v_part;
}

/* Brings coordinate i forward to step t. */
static void bring(struct dual_path *p, size_t i, size_t t)
{
    const struct coast f = coast(p, t - p->last[i]);
    const size_t k = p->k;
    double *v = p->v + i * k;

    if (p->last[i] == t)
        return;
    if (p->a) {
        double *a = p->a + i * k;
        const double *w = p->w + i * k;
        for (size_t c = 0; c < k; c++)
            a[c] = f.keep * a[c] + f.w_part * w[c] + f.v_part * v[c];
    }
    for (size_t c = 0; c < k; c++)
        v[c] *= f.move;
    p->last[i] = t;
}

/* A job over blocks of coordinates. */
struct path_job {
    struct dual_path *to;
    const struct dual_path *p;
    double length;
    const double *E;
    double *out; /* k vectors of n */
};

static size_t block_end(const struct dual_path *p, size_t task)
{
    return (task + 1) * BLOCK < p->n ? (task + 1) * BLOCK : p->n;
}

static void ahead_task(void *ctx, size_t task, size_t worker)
{
    const struct path_job *j = ctx;
    const struct dual_path *p = j->p;
    const size_t n = p->n, k = p->k, i0 = task * BLOCK, i1 = block_end(p, task);
    double part[BLOCK];

    (void)worker;
    for (size_t i = i0; i < i1; i++) /* a + rho v = w - rho^2 / (1 - rho) v */
        part[i - i0] = p->rho * p->rho / (1.0 - p->rho) * decay(p, p->t - p->last[i]);
    for (size_t c = 0; c < k; c++)
        for (size_t i = i0; i < i1; i++)
            j->out[c * n + i] = p->w[i * k + c] - part[i - i0] * p->v[i * k + c];
}

void dual_path_ahead(const struct dual_path *p, double *U)
{
    struct path_job j = { .p = p, .out = U };
    pool_run(p->pool, (p->n + BLOCK - 1) / BLOCK, ahead_task, &j);
}

/* One entry of g: a falls by length g, and so does the newest term of the average. */
static void move(struct dual_path *p, size_t i, size_t m, double length, const double *g)
{
    const size_t k = p->k;
    const double newest = p->average == DUAL_GEOMETRIC ? p->r : 1.0;
    const double far = 1.0 / (1.0 - p->rho), less = p->kept * p->rho * far, taken = 1.0 - p->kept;

    for (size_t c = 0; c < k; c++) {
        const double d = length * g[c * m];
        p->v[i * k + c] -= taken * d;
        p->w[i * k + c] -= (far - less) * d;
        if (p->a)
            p->a[i * k + c] -= newest * d;
    }
}

static void step_task(void *ctx, size_t task, size_t worker)
{
    const struct path_job *j = ctx;
    struct dual_path *p = j->to;

    (void)worker;
    for (size_t i = task * BLOCK; i < block_end(p, task); i++) {
        bring(p, i, p->t);
        if (j->E)
            move(p, i, p->n, j->length, j->E + i);
    }
}

void dual_path_step(struct dual_path *p, size_t m, const size_t *at, double length,
                    const double *E)
{
    struct path_job j = { .to = p };
    const size_t tasks = (p->n + BLOCK - 1) / BLOCK;

    if (p->average == DUAL_ARITHMETIC && p->from > 0 && p->t == p->from) {
        pool_run(p->pool, tasks, step_task, &j);
        memset(p->a, 0, p->n * p->k * sizeof *p->a);
    }
    p->t++;
    if (at == NULL) {
        j.length = length;
        j.E = E;
        pool_run(p->pool, tasks, step_task, &j);
        return;
    }
    for (size_t i = 0; i < m; i++) {
        bring(p, at[i], p->t);
        move(p, at[i], m, length, E + i);
    }
}

void dual_path_reweigh(struct dual_path *p, double r, size_t from)
{
    struct path_job j = { .to = p };

    if (p->average == DUAL_ARITHMETIC && p->t <= p->from)
        p->from = from > p->t ? from : p->t;
    if (p->average != DUAL_GEOMETRIC || r == p->r)
        return;
    pool_run(p->pool, (p->n + BLOCK - 1) / BLOCK, step_task, &j); /* the past has the old r */
    if (p->t > p->changed)
        p->log_before += (double)(p->t - p->changed) * log1p(-p->r);
    p->changed = p->t;
    p->r = r;
}

/* 1 - (1 - r)^t: the sum of the weights of a geometric average over t steps. */
static double geometric_weights(const struct dual_path *p)
{
    const double steps = (double)(p->t - p->changed);
    return -expm1(p->log_before + (steps > 0.0 ? steps * log1p(-p->r) : 0.0));
}

static void result_task(void *ctx, size_t task, size_t worker)
{
    const struct path_job *j = ctx;
    const struct dual_path *p = j->p;
    const size_t n = p->n, k = p->k, begun = p->average == DUAL_ARITHMETIC ? p->from : 0;
    const bool none = p->a == NULL || p->t <= begun;
    const double weights = p->average == DUAL_ARITHMETIC ? (double)p->t - (double)p->from
                                                         : geometric_weights(p);

    (void)worker;
    for (size_t i = task * BLOCK; i < block_end(p, task); i++) {
        const struct coast f = coast(p, p->t - p->last[i]);
        for (size_t c = 0; c < k; c++) {
            const double w = p->w[i * k + c], v = p->v[i * k + c];
            j->out[c * n + i] =
                none ? w - p->rho / (1.0 - p->rho) * f.move * v
                     : (f.keep * p->a[i * k + c] + f.w_part * w + f.v_part * v) / weights;
        }
    }
}

void dual_path_result(const struct dual_path *p, double *X)
{
    struct path_job j = { .p = p, .out = X };
    pool_run(p->pool, (p->n + BLOCK - 1) / BLOCK, result_task, &j);
}
