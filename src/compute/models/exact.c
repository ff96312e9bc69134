/* compute/models/exact.c -- exact kernel matrices by tiles over the pool, their Cholesky factor,
 * and products with a kernel matrix that is not stored (Rasmussen & Williams 2006, algorithm 2.1;
 * share/doc/methods.md 5.1).  K is n x n at amplitude 1, in double precision; only its lower
 * triangle is computed. */
#include "compute/models/exact.h"

#include "base/mem.h"
#include "base/text.h"
#include "compute/backend.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 64 }; /* columns of a task: fixed, so that no sum depends on the thread count */

enum status exact_allowed(size_t n, size_t matrices, size_t mem_limit, struct err *err)
{
    const double bytes = 8.0 * (double)n * (double)n * (double)matrices;
    char mem[32], time[32], rows[32];

    if (n <= EXACT_MAX_ROWS && (mem_limit == 0 || bytes <= (double)mem_limit))
        return ST_OK;
    mem_format(mem, sizeof mem, bytes);
    text_count(rows, sizeof rows, n);
    text_seconds(time, sizeof time, (double)n * (double)n * (double)n / 3.0 / 80e9);
    err_named(err, ST_LIMIT, "exact-size",
              "an exact GP on %s rows needs %s and about %s for each factorisation", rows, mem,
              time);
    err_hint(err, "fit solver=pcg features=8192");
    return ST_LIMIT;
}

double *exact_inputs(const struct source *src, struct err *err)
{
    double *X = mem_aligned(src->n * src->d + 1, sizeof *X, "the inputs", err);

    if (X != NULL && src->rows(src, 0, src->n, X, err) != ST_OK) {
        free(X);
        X = NULL;
    }
    return X;
}

/* A job over blocks of TILE columns: K is written, or W is summed with dK. */
struct matrix_job {
    const struct exact_rows *r;
    size_t nhp;
    double diag;
    double *K;       /* n x n, out; or NULL, and */
    const double *W; /* n x n, in */
    double *part;    /* tasks x nhp sums, added in the order of tasks */
    const struct ctl *ctl;
};

/* s_i s_j, the row factors of entry (i, j). */
static double factor(const struct exact_rows *r, size_t i, size_t j)
{
    return r->row_scale ? r->row_scale[i] * r->row_scale[j] : 1.0;
}

/* Columns j0 .. j1 of S K1 S + diag I, from the diagonal down. */
static void matrix_task(void *ctx, size_t task, size_t worker)
{
    const struct matrix_job *m = ctx;
    const struct exact_rows *r = m->r;
    const size_t n = r->n, d = r->d, j0 = task * TILE, j1 = j0 + TILE < n ? j0 + TILE : n;

    (void)worker;
    if (ctl_stopped(m->ctl))
        return;
    for (size_t j = j0; j < j1; j++) {
        const double *xj = r->X + j * d;
        m->K[j + j * n] = factor(r, j, j) * kernel_exact(r->k, r->hp, d, xj, xj, NULL) + m->diag;
        for (size_t i = j + 1; i < n; i++)
            m->K[i + j * n] = factor(r, i, j) *
                              kernel_exact(r->k, r->hp, d, r->X + i * d, xj, NULL);
    }
}

enum status exact_matrix(const struct exact_rows *r, double diag, double *K, const struct ctl *ctl,
                         struct err *err)
{
    struct matrix_job m = { .r = r, .diag = diag, .K = K, .ctl = ctl };

    pool_run(r->pool, (r->n + TILE - 1) / TILE, matrix_task, &m);
    return ctl_stopped(ctl) ? err_set(err, ST_CANCELLED, "stopped") : ST_OK;
}

/* part[h] = sum of W_ij s_i s_j dK1_ij / dlog hp[h] over the columns of a task; an entry below the
 * diagonal counts twice.  Kernels give the derivative in the logarithm. */
static void contract_task(void *ctx, size_t task, size_t worker)
{
    const struct matrix_job *m = ctx;
    const struct exact_rows *r = m->r;
    const size_t n = r->n, d = r->d, j0 = task * TILE, j1 = j0 + TILE < n ? j0 + TILE : n;
    double grad[KERNEL_MAX_HP], *part = m->part + task * m->nhp;

    (void)worker;
    if (ctl_stopped(m->ctl))
        return;
    for (size_t j = j0; j < j1; j++)
        for (size_t i = j; i < n; i++) {
            const double w = m->W[i + j * n] * factor(r, i, j) * (i == j ? 1.0 : 2.0);
            kernel_exact(r->k, r->hp, d, r->X + i * d, r->X + j * d, grad);
            for (size_t h = 0; h < m->nhp; h++)
                part[h] += w * grad[h];
        }
}

enum status exact_contract(const struct exact_rows *r, const double *W, double *sum,
                           const struct ctl *ctl, struct err *err)
{
    const size_t tasks = (r->n + TILE - 1) / TILE, nhp = kernel_nhp(r->k);
    struct matrix_job m = { .r = r, .nhp = nhp, .W = W, .ctl = ctl };

    m.part = mem_calloc(tasks * (nhp ? nhp : 1), sizeof *m.part, "partial sums", err);
    if (m.part == NULL)
        return ST_NOMEM;
    pool_run(r->pool, tasks, contract_task, &m);
    for (size_t h = 0; h < nhp; h++) {
        sum[h] = 0.0;
        for (size_t t = 0; t < tasks; t++)
            sum[h] += m.part[t * nhp + h];
    }
    free(m.part);
    return ctl_stopped(ctl) ? err_set(err, ST_CANCELLED, "stopped") : ST_OK;
}

struct cross_job { const struct exact_rows *r; const double *Xt; size_t m; double *C; };

static void cross_task(void *ctx, size_t task, size_t worker)
{
    const struct cross_job *c = ctx;
    const struct exact_rows *r = c->r;
    const size_t t1 = (task + 1) * 8 < c->m ? (task + 1) * 8 : c->m;

    (void)worker;
    for (size_t t = task * 8; t < t1; t++)
        for (size_t i = 0; i < r->n; i++)
            c->C[i + t * r->n] = kernel_exact(r->k, r->hp, r->d, r->X + i * r->d,
                                              c->Xt + t * r->d, NULL);
}

void exact_cross(const struct exact_rows *r, const double *Xt, size_t m, double *C)
{
    struct cross_job c = { .r = r, .Xt = Xt, .m = m, .C = C };

    pool_run(r->pool, (m + 7) / 8, cross_task, &c);
}

/* K := L with L L' = S K1 S + (ratio + jitter) I.  A Cholesky factorisation is backward stable: it
 * fails only where the smallest eigenvalue is within rounding, about n times the machine epsilon of
 * the largest, of 0.  Such a matrix (repeated rows and hardly any noise) gets a jitter: 1e-12 +
 * 1e-14 n first, then a hundred times more, up to a last attempt from 1e-4 on.  The matrix is
 * computed anew each time, because the failed factorisation has overwritten it. */
enum status exact_factor(const struct exact_rows *r, double ratio, double *K, double *jitter,
                         const struct ctl *ctl, struct err *err)
{
    const size_t n = r->n;

    *jitter = 0.0;
    for (;;) {
        enum status rc = exact_matrix(r, ratio + *jitter, K, ctl, err);
        if (rc == ST_OK)
            rc = blas_dpotrf(r->pool, n, K, n, ctl, NULL, err);
        if (rc != ST_NOT_PD || *jitter >= 1e-4)
            return rc;
        *jitter = *jitter > 0.0 ? *jitter * 100.0 : 1e-14 * (double)n + 1e-12;
    }
}

/* Products without the matrix. */

struct exact_op {
    const struct backend_exact *be;
    void *at;       /* the backend's object; NULL: the CPU computes */
    struct err why; /* the error of a device that was lost */
    const struct kernel *k;
    const double *hp, *X;
    size_t n, d;
    struct pool *pool;
};

/* The distance r = v / (1 - v) (in lengthscales) at v in [0, 1]: a table evenly spaced in v reaches
 * from 0 to far away.  v = 1 stands for r = 1e12. */
static double distance_at(double v)
{
    return v < 1.0 ? v / (1.0 - v) : 1e12;
}

/* A table of the kernel of one factor over v: on each of BACKEND_TABLE parts the cubic
 * c0 + x (c1 + x (c2 + x c3)), x in [0, 1], through the four points x = 0, 1/3, 2/3, 1 (Lagrange
 * interpolation).  Its error is tested at twelve points between them.  False where it exceeds 2e-7,
 * about the rounding of single precision. */
static bool fill_table(const struct kterm *t, float *table)
{
    const double h = 1.0 / BACKEND_TABLE;

    for (size_t i = 0; i < BACKEND_TABLE; i++) {
        double y[4], worst = 0.0;
        for (int q = 0; q < 4; q++)
            y[q] = t->ops->exact(t->params, distance_at(((double)i + (double)q / 3.0) * h));
        const double c1 = -5.5 * y[0] + 9.0 * y[1] - 4.5 * y[2] + y[3];
        const double c2 = 9.0 * y[0] - 22.5 * y[1] + 18.0 * y[2] - 4.5 * y[3];
        const double c3 = -4.5 * y[0] + 13.5 * y[1] - 13.5 * y[2] + 4.5 * y[3];
        for (int q = 0; q < 12; q++) {
            const double x = ((double)q + 0.5) / 12.0, p = y[0] + x * (c1 + x * (c2 + x * c3));
            const double e = fabs(p - t->ops->exact(t->params, distance_at(((double)i + x) * h)));
            worst = e <= worst ? worst : e;
        }
        if (!(worst <= 2e-7))
            return false;
        float *to = table + 4 * i;
        to[0] = (float)y[0], to[1] = (float)c1, to[2] = (float)c2, to[3] = (float)c3;
    }
    return true;
}

/* Factor f of the kernel in the form of struct backend_radial: inverse lengthscales of its inputs
 * (inv), its table, and the weight of its term (0 for a factor that multiplies the one before).
 * False when the factor is not a function of one distance. */
static bool fill_factor(const struct kernel *k, size_t f, const double *hp, size_t d, float *inv,
                        float *table, float *weight)
{
    const struct kterm *t = &k->term[f];
    const struct kernel_place p = kernel_place(k, f);
    const size_t inputs = kernel_inputs(k, f, d);

    if (!t->ops->exact || kterm_reads_windows(t) || t->first + inputs > d)
        return false;
    for (size_t i = 0; i < inputs; i++) {
        const size_t l = t->grouped && t->ard > 1 ? k->group[i] : p.nl > 1 ? i : 0;
        inv[t->first + i] = (float)(1.0 / hp[p.hp0 + l]);
    }
    const double w = p.weight == SIZE_MAX ? 1.0 : hp[p.weight];
    *weight = f > 0 && t->times ? 0.0F : (float)(w * w);
    return fill_table(t, table);
}

/* Opens the operator on the backend's device if it has one for this kernel; otherwise op->at stays
 * NULL and the CPU computes.  Only NOMEM is a failure. */
static enum status open_there(struct exact_op *op, const struct backend_exact *be, struct err *err)
{
    const size_t F = op->k->nterms, d = op->d, table = 4 * BACKEND_TABLE;
    float *form = mem_calloc(F * (d + table + 1), sizeof *form, "an exact kernel", err);
    float *tables = form ? form + F * d : NULL, *weight = form ? tables + F * table : NULL;
    bool good = form != NULL;

    for (size_t f = 0; good && f < F; f++)
        good = fill_factor(op->k, f, op->hp, d, form + f * d, tables + f * table, weight + f);
    if (good)
        op->at = be->open(&(struct backend_radial){d, F, form, tables, weight}, op->n, op->X, err);
    free(form);
    if (!form || (good && !op->at && err && err->code == ST_NOMEM))
        return ST_NOMEM;
    if (good && !op->at && err)
        op->why = *err;
    err_clear(err);
    op->be = be;
    return ST_OK;
}

enum status exact_op_open(const struct backend_ops *be, const struct exact_rows *r,
                          struct exact_op **out, struct err *err)
{
    struct exact_op *op = mem_calloc(1, sizeof *op, "an exact kernel", err);
    enum status rc = op ? ST_OK : ST_NOMEM;

    *out = NULL;
    if (op)
        *op = (struct exact_op){ .k = r->k, .hp = r->hp, .X = r->X, .n = r->n, .d = r->d,
                                 .pool = r->pool };
    if (op && be->exact)
        rc = open_there(op, be->exact, err);
    if (rc == ST_OK)
        *out = op;
    else
        free(op);
    return rc;
}

void exact_op_close(struct exact_op *op)
{
    if (!op)
        return;
    if (op->at)
        op->be->close(op->at);
    free(op);
}

bool exact_op_there(const struct exact_op *op, struct err *why)
{
    if (!op->at && why)
        *why = op->why;
    return op->at != NULL;
}

/* W (m x k) = K1(Y, X) V on the CPU: tasks of TILE rows of Y, sums over i in order. */
struct product_job {
    const struct exact_op *op;
    size_t m, k;
    const double *Y, *V;
    double *W;
    const struct ctl *ctl;
};

/* Rows of W = K1(Y, X) V; each kernel value serves all k vectors. */
static void product_task(void *ctx, size_t task, size_t worker)
{
    const struct product_job *p = ctx;
    const struct exact_op *op = p->op;
    const size_t r1 = (task + 1) * TILE < p->m ? (task + 1) * TILE : p->m;

    (void)worker;
    for (size_t r = task * TILE; r < r1 && !ctl_stopped(p->ctl); r++) {
        for (size_t c = 0; c < p->k; c++)
            p->W[c * p->m + r] = 0.0;
        for (size_t i = 0; i < op->n; i++) {
            const double v =
                kernel_exact(op->k, op->hp, op->d, p->Y + r * op->d, op->X + i * op->d, NULL);
            for (size_t c = 0; c < p->k; c++)
                p->W[c * p->m + r] += v * p->V[c * op->n + i];
        }
    }
}

enum status exact_op_apply(struct exact_op *op, size_t m, const double *Y, size_t k,
                           const double *V, double *W, const struct ctl *ctl, struct err *err)
{
    if (op->at) {
        const enum status rc = op->be->apply(op->at, m, Y, k, V, W, ctl, err);
        if (rc != ST_BACKEND)
            return rc;
        op->why = err ? *err : (struct err){ .code = ST_BACKEND };
        err_clear(err);
        op->be->close(op->at);
        op->at = NULL;
    }
    struct product_job p = { op, Y ? m : op->n, k, Y ? Y : op->X, V, W, ctl };
    pool_run(op->pool, (p.m + TILE - 1) / TILE, product_task, &p);
    return ctl_stopped(ctl) ? err_set(err, ST_CANCELLED, "stopped") : ST_OK;
}
