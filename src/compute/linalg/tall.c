/* compute/linalg/tall.c -- see tall.h. */
#include "compute/linalg/tall.h"

#include "compute/linalg/blas.h"

enum { PIECE_ROWS = 256 }; /* fewer are not worth a task */

struct job {
    const struct tall *b;
    size_t k, first; /* first: the first piece here */
    const double *c;
    double *Y, *part, *T; /* part: L x k of each piece here; T: their sum */
    size_t ldy;
};

size_t tall_pieces(size_t M)
{
    return share_segments(M, PIECE_ROWS);
}

size_t tall_row(size_t M, size_t piece)
{
    return share_row(M, piece, tall_pieces(M));
}

/* The pieces that begin before a row. */
static size_t before(size_t M, size_t row)
{
    size_t p = 0;

    while (p < tall_pieces(M) && tall_row(M, p) < row)
        p++;
    return p;
}

size_t tall_work(const struct tall *b, size_t k)
{
    return (before(b->M, b->r1) - before(b->M, b->r0) + 4) * b->L * k + 1;
}

/* |u'y| of a piece is at most the product of both norms. */
void tall_bounds(size_t M, size_t k, const double *Y, size_t ldy, double *bound)
{
    for (size_t v = 0; v < k; v++)
        bound[v] = 2.0 * blas_dnrm2(M, Y + v * ldy);
}

/* The rows of a piece, counted from the first one here. */
static size_t piece_rows(const struct job *j, size_t task, size_t *from)
{
    const size_t r0 = tall_row(j->b->M, j->first + task);

    *from = r0 - j->b->r0;
    return tall_row(j->b->M, j->first + task + 1) - r0;
}

static void down_task(void *ctx, size_t task, size_t worker)
{
    const struct job *j = ctx;
    size_t from;
    const size_t rows = piece_rows(j, task, &from), L = j->b->L;

    (void)worker;
    if (j->k == 1)
        blas_dgemv1(true, rows, L, 1.0, j->b->U + from, j->b->ldu, j->Y + from, 0.0,
                    j->part + task * L);
    else
        blas_dgemm1(true, false, L, j->k, rows, 1.0, j->b->U + from, j->b->ldu, j->Y + from,
                    j->ldy, 0.0, j->part + task * L * j->k, L);
}

static void up_task(void *ctx, size_t task, size_t worker)
{
    const struct job *j = ctx;
    size_t from;
    const size_t rows = piece_rows(j, task, &from), L = j->b->L;

    (void)worker;
    if (j->k == 1)
        blas_dgemv1(false, rows, L, 1.0, j->b->U + from, j->b->ldu, j->T, 1.0, j->Y + from);
    else
        blas_dgemm1(false, false, rows, j->k, L, 1.0, j->b->U + from, j->b->ldu, j->T, L, 1.0,
                    j->Y + from, j->ldy);
}

enum status tall_add(const struct tall *b, const struct share *meet, struct pool *pool, size_t k,
                      const double *c, double *Y, size_t ldy, double *work, struct err *err)
{
    const size_t first = before(b->M, b->r0), pieces = before(b->M, b->r1) - first, n = b->L * k;
    struct job j = { b, k, first, c, Y, work + 4 * n + 1, work, ldy };
    const struct share_parts parts = { tall_pieces(b->M), pieces, n, j.part, true };
    double *bound = work + n;

    for (size_t i = 0; i < n; i++)
        bound[i] = c[b->L + i / b->L];
    pool_run(pool, pieces, down_task, &j);
    const enum status rc = share_fold_within(meet, pool, &parts, bound, work + 2 * n, j.T, err);
    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < n; i++)
        j.T[i] *= c[i % b->L];
    pool_run(pool, pieces, up_task, &j);
    return ST_OK;
}
