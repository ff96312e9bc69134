/* compute/features/fop_products.c -- products of matrix with matrix for a feature operator: Gram,
 * its derivative, sketches.  Rows come in chunks; a tile's sums inside one chunk are float32, and
 * chunks meet in float64.  On matrix units (simd_tiles) the Grams take features packed for them,
 * rounded to 17 bits.
 *
 * There are two ways to share the work, and sizes alone choose.  A small result is summed over
 * segments of rows: a task makes the chunks of its segment and adds their products to sums of its
 * own.  A larger one is dealt out by its tiles: a block of rows is made by small pieces, then tasks
 * walk over its chunks in order.  Either way, the sums of fixed terms, segments or parts of them,
 * are folded with bounds that are known before (fop_bounds.c): nothing depends on who computed
 * what, nor on how many terms the workspace holds at a time. */
#include "compute/features/fop_panel.h"

#include "base/mem.h"
#include "compute/features/gram.h"
#include "compute/fold.h"
#include "compute/linalg/blas.h"
#include "compute/linalg/blas_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MERGE_COLS = 8, /* columns of the result in which a task adds up segments */
    MIRROR = 256,   /* edge of a tile that a task mirrors */
};

/* dZ in float32, if need be converted from the backend's float64 rows, a few at a time. */
enum status fop_product_slopes(struct panel *p, size_t r0, size_t r1, size_t worker, char *out,
                               struct err *err)
{
    const struct fop *f = p->f;
    double *row = (double *)(void *)(p->tmp + worker * p->tmp_bytes);
    const size_t step = p->tmp_bytes / sizeof(double) / f->M;

    if (p->dbl)
        return back_ops(f)->dtile(back_state(f), p->ihp, r0, r1, (double *)(void *)out, p->ldb,
                                  err);
    if (back_ops(f)->dtile32)
        return back_ops(f)->dtile32(back_state(f), p->ihp, r0, r1, (float *)(void *)out, p->ldb,
                                    err);
    for (size_t r = r0; r < r1; r += step) {
        const size_t e = r + step < r1 ? r + step : r1;
        const enum status rc = back_ops(f)->dtile(back_state(f), p->ihp, r, e, row, f->M, err);
        if (rc != ST_OK)
            return rc;
        for (size_t i = 0; i < e - r; i++)
            for (size_t j = 0; j < f->M; j++)
                ((float *)(void *)out)[(r - r0 + i) * p->ldb + j] = (float)row[i * f->M + j];
    }
    return ST_OK;
}

/* Rows of a chunk: where they go in its block, and sums of their own to which they are added. */
struct rows {
    size_t r0, r1;
    char *z, *b;
    double *zty, *cols; /* NULL: not wanted */
};

/* zty += Z'y for all y, in double precision. */
static void zty_rows(const struct panel *p, const struct rows *at, const char *z)
{
    const size_t M = p->f->M, n = p->f->n;

    for (size_t r = at->r0; r < at->r1; r++, z += p->ldz * p->size)
        for (size_t t = 0; t < p->ny; t++) {
            if (p->dbl)
                blas_daxpy(M, p->y[t * n + r], (const double *)(const void *)z, at->zty + t * M);
            else
                cpu_simd_now()->axpy_rows(M, p->y[t * n + r], (const float *)(const void *)z,
                                          at->zty + t * M);
        }
}

/* Subtracts the centre from rows of Z and adds up what is left (derivative: adds up rows of dZ). */
static void centre_rows(const struct panel *p, const struct rows *at, bool derivative, float *z,
                        size_t ldz)
{
    const size_t M = p->f->M;

    for (size_t r = at->r0; r < at->r1; r++, z += ldz) {
        const double s = row_factor(p->f, r);
        for (size_t j = 0; !derivative && j < M; j++)
            z[j] = (float)((double)z[j] - s * p->f->centre[j]);
        if (derivative == p->derivative)
            cpu_simd_now()->axpy_rows(M, s, z, at->cols);
    }
}

/* Packs a chunk of rows for matrix units, one factor after the other. */
static enum status packed_rows(struct panel *p, const struct rows *at, size_t worker,
                               struct err *err)
{
    const size_t r0 = at->r0, r1 = at->r1;
    char *row = p->tmp + worker * p->tmp_bytes;
    float *z = (float *)(void *)row;
    enum status rc = fop_tile(p->f, r0, r1, z, p->ldz, err);

    if (rc != ST_OK)
        return rc;
    if (at->zty && at->cols) /* before the centre is subtracted */
        zty_rows(p, at, row);
    if (at->cols)
        centre_rows(p, at, false, z, p->ldz);
    p->units->pack(r1 - r0, p->f->M, z, p->ldz, p->derivative ? NULL : at->b, at->z);
    if (at->zty && !at->cols)
        zty_rows(p, at, row);
    if (p->derivative)
        rc = fop_product_slopes(p, r0, r1, worker, row, err);
    if (rc == ST_OK && p->derivative && at->cols)
        centre_rows(p, at, true, z, p->ldb);
    if (rc == ST_OK && p->derivative)
        p->units->pack(r1 - r0, p->f->M, z, p->ldz, at->b, NULL);
    return rc;
}

/* Makes rows of Z and, for a derivative, of dZ. */
static enum status rows_make(struct panel *p, const struct rows *at, size_t worker,
                             struct err *err)
{
    struct fop *f = p->f;
    enum status rc;

    if (p->units)
        return packed_rows(p, at, worker, err);
    rc = p->dbl ? fop_tile64(f, at->r0, at->r1, (double *)(void *)at->z, p->ldz, err)
                : fop_tile(f, at->r0, at->r1, (float *)(void *)at->z, p->ldz, err);
    if (rc == ST_OK && p->derivative)
        rc = fop_product_slopes(p, at->r0, at->r1, worker, at->b, err);
    if (rc != ST_OK)
        return rc;
    if (at->zty)
        zty_rows(p, at, at->z);
    if (at->cols)
        centre_rows(p, at, false, (float *)(void *)at->z, p->ldz);
    if (at->cols && p->derivative)
        centre_rows(p, at, true, (float *)(void *)at->b, p->ldb);
    return ST_OK;
}

/* n columns from j on of Z Omega, for some rows at z.  Row-major T = Z Omega is column-major
 * T' = Omega' Z'. */
void fop_product_omega(const struct panel *p, size_t rows, const char *z, size_t j, size_t n,
                       char *b)
{
    const size_t M = p->f->M;
    const char *omega = p->omega + j * M * p->size;

    b += j * p->size;
    if (p->dbl)
        blas_dgemm1(true, false, n, rows, M, 1.0, (const double *)(const void *)omega, M,
                    (const double *)(const void *)z, p->ldz, 0.0, (double *)(void *)b, p->ldb);
    else
        blas_sgemm1(true, false, n, rows, M, 1.0F, (const float *)(const void *)omega, M,
                    (const float *)(const void *)z, p->ldz, 0.0F, (float *)(void *)b, p->ldb);
}

/* Part of a result: mi rows from i0 on, nj columns from j0 on; sum has leading dimension lds and
 * counts as 0 with `fresh`. */
struct part_of { size_t i0, mi, j0, nj, lds; double *sum; bool fresh; };

/* sum += the sum over some chunks of Z_chunk' B_chunk. */
static void product_tile(const struct panel *p, const struct block *k, const struct span *s,
                         const struct part_of *t, size_t worker)
{
    const bool diagonal = p->lower && t->i0 == t->j0;
    float *tmp = (float *)(void *)(p->tmp + worker * p->tmp_bytes);

    for (size_t c = s->c0; c < s->c1; c++) {
        const size_t rows = chunk_row(s->t, c + 1) - chunk_row(s->t, c);
        const size_t at = chunk_row(s->t, c) - k->row0;
        const bool fresh = t->fresh && c == s->c0;
        const double kept = fresh ? 0.0 : 1.0;
        const char *z = k->z + (at * p->ldz + t->i0) * p->size;
        const char *b = (p->own ? k->b + at * p->ldb * p->size : k->z + at * p->ldz * p->size) +
                        t->j0 * p->size;
        if (p->dbl && diagonal)
            blas_dsyrk1(true, false, t->mi, rows, 1.0, (const double *)(const void *)z, p->ldz,
                        kept, t->sum, t->lds);
        else if (p->dbl)
            blas_dgemm1(false, true, t->mi, t->nj, rows, 1.0, (const double *)(const void *)z,
                        p->ldz, (const double *)(const void *)b, p->ldb, kept, t->sum, t->lds);
        else if (diagonal)
            blas_ssyrk1(true, false, t->mi, rows, 1.0F, (const float *)(const void *)z, p->ldz,
                        0.0F, tmp, TILE);
        else
            blas_sgemm1(false, true, t->mi, t->nj, rows, 1.0F, (const float *)(const void *)z,
                        p->ldz, (const float *)(const void *)b, p->ldb, 0.0F, tmp, TILE);
        for (size_t j = 0; !p->dbl && j < t->nj; j++) {
            const size_t top = diagonal ? j : 0;
            if (fresh)
                memset(t->sum + j * t->lds + top, 0, (t->mi - top) * sizeof *t->sum);
            cpu_simd_now()->add(t->mi - top, tmp + j * TILE + top, t->sum + j * t->lds + top);
        }
    }
}

static void units_tile(const struct panel *p, const struct block *k, const struct span *s,
                       const struct part_of *t)
{
    for (size_t c = s->c0; c < s->c1; c++) {
        const size_t slot = s->slot + c - s->c0;
        const char *z = k->z + slot * p->chunk_bytes, *b = k->b + slot * p->chunk_bytes;
        const bool more = c + 1 < s->c1;
        const struct simd_product product = {
            .rows = chunk_row(s->t, c + 1) - chunk_row(s->t, c),
            .right = z,
            .i0 = t->i0,
            .mi = t->mi,
            .left = b,
            .j0 = t->j0,
            .nj = t->nj,
            .lower = p->lower,
            .fresh = t->fresh && c == s->c0,
            .next_right = more ? z + p->chunk_bytes : NULL,
            .next_left = more ? b + p->chunk_bytes : NULL};
        p->units->product(&product, t->sum, t->lds);
    }
}

static void tile_add(const struct panel *p, const struct block *k, const struct span *s,
                     const struct part_of *t, size_t worker)
{
    if (p->units)
        units_tile(p, k, s, t);
    else
        product_tile(p, k, s, t, worker);
}

/* Adds n sums of a term, of bounds di[i] d, to `sum`, and with `rest` the second fold. */
static void term_fold(struct panel *p, size_t n, const double *di, double d, const double *s,
                      double *sum, double *rest)
{
    double unit[STRIP];

    if (p->count == 1) { /* the only one */
        memcpy(sum, s, n * sizeof *sum);
        return;
    }
    for (size_t at = 0; at < n; at += STRIP) {
        const size_t some = at_most(n - at, STRIP);
        fold_units_of(some, p->count, di + at, d, unit);
        if (fold_add_within(some, p->count, s + at, unit, sum + at, rest ? rest + at : NULL))
            p->beyond = true;
    }
}

/* Products by segments. */

/* The products of a task's block, added to the sums of its segment. */
static void block_products(const struct panel *p, const struct block *k, const struct span *s,
                           size_t worker)
{
    const size_t M = p->f->M, edge = p->cut.edge;

    for (size_t j = 0; j < p->L; j += edge)
        for (size_t i = p->lower ? j : 0; i < M; i += edge) {
            const struct part_of t = { i, at_most(M - i, edge), j, at_most(p->L - j, edge),
                                       k->ldc, k->C + j * k->ldc + i, s->c0 == 0 };
            tile_add(p, k, s, &t, worker);
        }
}

/* Makes the rows of a task's block. */
static enum status block_make(struct panel *p, const struct block *k, const struct span *s,
                              size_t task, size_t worker)
{
    enum status rc = ST_OK;

    for (size_t c = s->c0; rc == ST_OK && c < s->c1; c++) {
        const size_t r0 = chunk_row(s->t, c), at = r0 - k->row0;
        const struct rows rows = {
            .r0 = r0,
            .r1 = chunk_row(s->t, c + 1),
            .z = k->z + (p->units ? (c - s->c0) * p->chunk_bytes : at * p->ldz * p->size),
            .b = k->b + (p->units ? (c - s->c0) * p->chunk_bytes : at * p->ldb * p->size),
            .zty = p->zty ? p->zty + task * p->ny * p->f->M : NULL,
            .cols = p->cols ? p->cols + task * p->f->M : NULL,
        };
        rc = rows_make(p, &rows, worker, &p->errs[task]);
        if (rc == ST_OK && p->omega)
            fop_product_omega(p, rows.r1 - r0, rows.z, 0, p->L, rows.b);
    }
    return rc;
}

/* The sums of one segment of rows. */
static void segment_task(void *ctx, size_t task, size_t worker)
{
    struct panel *p = ctx;
    struct block *k = &p->block[worker];
    const size_t M = p->f->M, step = p->most / CHUNK_ROWS;
    struct span s = { .t = &p->term[p->at + task] };

    k->C = p->sum + task * p->L * p->lds;
    k->ldc = p->lds;
    if (p->zty)
        memset(p->zty + task * p->ny * M, 0, p->ny * M * sizeof *p->zty);
    if (p->cols)
        memset(p->cols + task * M, 0, M * sizeof *p->cols);
    for (s.c0 = 0; s.c0 < s.t->chunks; s.c0 = s.c1) {
        if (p->failed || ctl_stopped(p->ctl))
            return;
        s.c1 = at_most(s.c0 + step, s.t->chunks);
        k->row0 = chunk_row(s.t, s.c0);
        if (block_make(p, k, &s, task, worker) != ST_OK) {
            p->failed = 1;
            return;
        }
        block_products(p, k, &s, worker);
    }
}

/* Adds the segments of a batch to some columns of the result. */
static void segments_merge(void *ctx, size_t task, size_t worker)
{
    struct panel *p = ctx;
    const size_t M = p->f->M, end = at_most((task + 1) * MERGE_COLS, p->L);

    (void)worker;
    for (size_t j = task * MERGE_COLS; j < end; j++)
        for (size_t i = p->lower ? j : 0; i < M; i += STRIP) {
            const size_t n = at_most(M - i, STRIP);
            double *C = p->C + j * p->ldc + i, *rest = p->rest ? p->rest + j * M + i : NULL;
            double unit[STRIP];
            bool beyond = false;
            fold_units_of(n, p->count, p->di + i, p->dj[j], unit);
            if (p->at == 0)
                memset(C, 0, n * sizeof *C);
            if (p->at == 0 && rest)
                memset(rest, 0, n * sizeof *rest);
            for (size_t s = 0; s < p->now; s++)
                beyond |= fold_add_within(n, p->count, p->sum + (s * p->L + j) * p->lds + i, unit,
                                          C, rest);
            if (beyond)
                p->beyond = true;
        }
    pool_moved(8.0 * (double)(p->now * M * MERGE_COLS) * (p->lower ? 0.5 : 1.0));
}

/* The upper triangle of a tile of the result. */
static void mirror_task(void *ctx, size_t task, size_t worker)
{
    const struct panel *p = ctx;
    const size_t M = p->f->M;
    size_t i, j;

    (void)worker;
    blas_lower_tile(task, &i, &j);
    i *= MIRROR, j *= MIRROR;
    blas_mirror(i, at_most(M - i, MIRROR), j, at_most(M - j, MIRROR), p->C, p->ldc);
}

/* Products by tiles of the result. */

/* The sums of a tile over the terms of a block.  They are made in one buffer and added in another,
 * because columns of C, often a power of two apart, would evict each other from the cache. */
static void result_tile(struct panel *p, size_t i0, size_t j0, size_t worker)
{
    const struct block *k = p->block;
    const size_t M = p->f->M, edge = p->cut.edge, lds = p->lds;
    const struct part_of t = { i0, at_most(M - i0, edge), j0, at_most(p->L - j0, edge), lds,
                               p->sum + worker * 2 * edge * lds, true };
    const bool one = p->count == 1;
    double *all = one ? t.sum : t.sum + edge * lds;
    struct span s = { .slot = 0 };

    for (size_t j = 0; !one && j < t.nj; j++)
        memset(all + j * lds, 0, t.mi * sizeof *all);
    for (size_t a = 0; a < p->now; a++, s.slot += s.c1) {
        s.t = &p->term[p->at + a];
        s.c1 = s.t->chunks;
        tile_add(p, k, &s, &t, worker);
        for (size_t j = 0; !one && j < t.nj; j++) {
            const size_t top = p->lower && i0 == j0 ? j : 0;
            term_fold(p, t.mi - top, p->di + i0 + top, p->dj[j0 + j], t.sum + j * lds + top,
                      all + j * lds + top, NULL);
        }
    }
    for (size_t j = 0; j < t.nj; j++) {
        const size_t top = p->lower && i0 == j0 ? j : 0;
        double *C = p->C + (j0 + j) * p->ldc + i0 + top;
        if (p->at == 0)
            memcpy(C, all + j * lds + top, (t.mi - top) * sizeof *C);
        else
            blas_daxpy(t.mi - top, 1.0, all + j * lds + top, C);
    }
}

static void panel_tile(void *ctx, size_t task, size_t worker)
{
    struct panel *p = ctx;
    const size_t edge = p->cut.edge, down = blas_tiles(p->f->M, edge);
    size_t i, j;

    if (ctl_stopped(p->ctl))
        return;
    if (p->lower) { /* the halves on the diagonal last */
        if (task >= down * (down - 1) / 2) {
            i = j = task - down * (down - 1) / 2;
        } else {
            blas_lower_tile(task, &i, &j);
            i++;
        }
        result_tile(p, i * edge, j * edge, worker);
    } else {
        result_tile(p, task % down * edge, task / down * edge, worker);
    }
}

/* Cuts the block into slices of `step` rows of a term, or into chunks (0); returns how many. */
static size_t slices_cut(const struct panel *p, size_t step, struct slice *slice)
{
    size_t n = 0, slot = 0;

    for (size_t a = 0; a < p->now; a++) {
        const struct term *t = &p->term[p->at + a];
        const size_t parts = step ? blas_tiles(t->rows, step) : t->chunks;
        for (size_t i = 0; i < parts; i++) {
            const size_t r0 = step ? t->r0 + i * step : chunk_row(t, i);
            const size_t r1 = step ? at_most(r0 + step, t->r0 + t->rows) : chunk_row(t, i + 1);
            slice[n++] = (struct slice){ r0, r1, a, slot + i };
        }
        slot += t->chunks;
    }
    return n;
}

/* Makes a slice of the block, with sums of its own. */
static void panel_slice(void *ctx, size_t task, size_t worker)
{
    struct panel *p = ctx;
    const struct block *k = p->block;
    const struct slice *s = &p->slice[task];
    const size_t M = p->f->M, at = s->r0 - k->row0;
    const struct rows rows = {
        .r0 = s->r0,
        .r1 = s->r1,
        .z = k->z + (p->units ? s->slot * p->chunk_bytes : at * p->ldz * p->size),
        .b = k->b + (p->units ? s->slot * p->chunk_bytes : at * p->ldb * p->size),
        .zty = p->zty ? p->zty + task * p->ny * M : NULL,
        .cols = p->cols ? p->cols + task * M : NULL,
    };

    if (p->failed || ctl_stopped(p->ctl))
        return;
    if (p->zty)
        memset(rows.zty, 0, p->ny * M * sizeof *rows.zty);
    if (p->cols)
        memset(rows.cols, 0, M * sizeof *rows.cols);
    if (rows_make(p, &rows, worker, &p->errs[task]) != ST_OK)
        p->failed = 1;
}

/* A tile of Z Omega. */
static void sketch_task(void *ctx, size_t task, size_t worker)
{
    const struct panel *p = ctx;
    const struct block *k = p->block;
    const size_t across = blas_tiles(p->L, SKETCH_COLS), j = task % across * SKETCH_COLS;
    const struct slice *s = &p->strip[task / across];
    const size_t at = s->r0 - k->row0;

    (void)worker;
    if (!ctl_stopped(p->ctl))
        fop_product_omega(p, s->r1 - s->r0, k->z + at * p->ldz * p->size, j,
                          at_most(p->L - j, SKETCH_COLS), k->b + at * p->ldb * p->size);
}

/* The centre: the mean of some rows, which is close enough to the mean of all. */
static enum status centre_find(struct fop *f, struct err *err)
{
    enum { SOME = 64 };
    const size_t M = f->M, n = f->n < SOME ? f->n : SOME;
    const bool first = share_from(f->share) == 0; /* the process that has these rows */
    float *z = f->centre ? NULL : mem_aligned(n * M, sizeof *z, "rows of features", err);
    double *c = z ? mem_calloc(M, sizeof *c, "a centre", err) : NULL;
    enum status rc = f->centre || c ? ST_OK : ST_NOMEM;

    if (c && first)
        rc = fop_tile(f, 0, n, z, M, err);
    for (size_t r = 0; c && first && rc == ST_OK && r < n; r++)
        cpu_simd_now()->axpy_rows(M, 1.0 / (row_factor(f, r) * (double)n), z + r * M, c);
    if (c && rc == ST_OK)
        rc = share_sum(f->share, M, c, err);
    free(z);
    if (c && rc == ST_OK)
        f->centre = c;
    else
        free(c);
    return rc;
}

/* The sum of the squares of the row factors. */
static enum status factors_sum(const struct panel *p, double *w, struct err *err)
{
    const struct fop *f = p->f;
    double *part = mem_calloc(p->terms + 1, sizeof *part, "partial sums", err);
    enum status rc = part ? ST_OK : ST_NOMEM;

    for (size_t t = 0; part && t < p->terms; t++)
        for (size_t r = p->term[t].r0; r < p->term[t].r0 + p->term[t].rows; r++)
            part[t] += row_factor(f, r) * row_factor(f, r);
    if (part)
        rc = share_fold(f->share, f->pool,
                        &(struct share_parts){ p->count, p->terms, 1, part, true }, w, err);
    free(part);
    return rc;
}

/* Adds to C what the centre m (M) took away.  With rows s_i (z_i - m), s_i the row factors, u the
 * sums of their columns times s_i, and w = sum s_i^2:
 *   Z'Z = C + m u' + u m' + w m m';  Z'dZ = C + m u', u the sums of the columns of dZ. */
static enum status centre_back(const struct panel *p, struct err *err)
{
    const size_t M = p->f->M;
    const double *m = p->f->centre, *u = p->cols + p->parts * M;
    double w = 0.0;
    const enum status rc = factors_sum(p, &w, err);

    for (size_t j = 0; rc == ST_OK && j < M; j++) {
        double *C = p->C + j * p->ldc;
        for (size_t i = 0; p->derivative && i < M; i++)
            C[i] += m[i] * u[j];
        for (size_t i = 0; !p->derivative && i < M; i++) {
            const size_t a = i < j ? i : j, b = i < j ? j : i; /* the same bits in both triangles */
            C[i] += (u[a] * m[b] + m[a] * u[b]) + w * m[a] * m[b];
        }
    }
    return rc;
}

/* The first error of `parts` parts. */
static enum status parts_error(const struct panel *p, size_t parts, struct err *err)
{
    for (size_t i = 0; p->failed && i < parts; i++)
        if (p->errs[i].code != ST_OK) {
            if (err)
                *err = p->errs[i];
            return p->errs[i].code;
        }
    return ST_OK;
}

/* Adds what the parts of a term have summed apart from the product: first one another in order,
 * then the sum to those of other terms. */
static void parts_merge(struct panel *p, size_t from, size_t to, double *zty)
{
    const size_t M = p->f->M;
    double *y = p->zty ? p->zty + from * p->ny * M : NULL;
    double *u = p->cols ? p->cols + from * M : NULL, *total = p->cols ? p->cols + p->parts * M : u;

    for (size_t i = from + 1; i < to; i++) {
        if (y)
            blas_daxpy(p->ny * M, 1.0, p->zty + i * p->ny * M, y);
        if (u)
            blas_daxpy(M, 1.0, p->cols + i * M, u);
    }
    for (size_t t = 0; y && t < p->ny; t++)
        term_fold(p, M, p->dz, p->count > 1 ? p->dy[t] : 0.0, y + t * M, zty + t * M,
                  p->zty_rest ? p->zty_rest + t * M : NULL);
    if (u)
        term_fold(p, M, p->dj, p->ds, u, total, NULL);
}

static enum status stopped_at(size_t row, size_t n, enum phase phase, struct err *err)
{
    return err_set(err, ST_CANCELLED, "stopped at row %zu of %zu (%s)", row, n, phase_word(phase));
}

static enum status segments_run(struct panel *p, double *zty, enum phase phase, struct err *err)
{
    struct fop *f = p->f;
    enum status rc = ST_OK;

    for (p->at = 0; rc == ST_OK && p->at < p->terms; p->at += p->now) {
        p->now = at_most(p->batch, p->terms - p->at);
        const size_t row = p->term[p->at].r0;
        ctl_tell(p->ctl, phase, row, f->n, NAN);
        pool_run(f->pool, p->now, segment_task, p);
        rc = parts_error(p, p->now, err);
        if (rc == ST_OK && ctl_stopped(p->ctl))
            rc = stopped_at(row, f->n, phase, err);
        for (size_t i = 0; rc == ST_OK && i < p->now; i++)
            parts_merge(p, i, i + 1, zty);
        if (rc == ST_OK)
            pool_run(f->pool, blas_tiles(p->L, MERGE_COLS), segments_merge, p);
    }
    return rc;
}

static enum status tiles_run(struct panel *p, double *zty, enum phase phase, struct err *err)
{
    struct fop *f = p->f;
    struct block *k = p->block;
    const size_t down = blas_tiles(f->M, p->cut.edge), across = blas_tiles(p->L, p->cut.edge);
    const size_t tiles = p->lower ? down * (down + 1) / 2 : down * across;
    enum status rc = ST_OK;

    for (p->at = 0; rc == ST_OK && p->at < p->terms; p->at += p->now) {
        p->now = fop_panel_block(p, p->at);
        k->row0 = p->term[p->at].r0;
        p->slices = slices_cut(p, p->units ? 0 : PIECE_ROWS, p->slice);
        p->strips = slices_cut(p, SKETCH_ROWS, p->strip);
        ctl_tell(p->ctl, phase, k->row0, f->n, NAN);
        pool_run(f->pool, p->slices, panel_slice, p);
        if (!p->failed && p->omega)
            pool_run(f->pool, p->strips * blas_tiles(p->L, SKETCH_COLS), sketch_task, p);
        if (!p->failed && !ctl_stopped(p->ctl))
            pool_run(f->pool, tiles, panel_tile, p);
        rc = parts_error(p, p->slices, err);
        if (rc == ST_OK && ctl_stopped(p->ctl))
            rc = stopped_at(k->row0, f->n, phase, err);
        for (size_t from = 0, to = 0; rc == ST_OK && from < p->slices; from = to) {
            while (to < p->slices && p->slice[to].term == p->slice[from].term)
                to++;
            parts_merge(p, from, to, zty);
        }
    }
    return rc;
}

/* All sums of the rows here; *beyond: some term, here or elsewhere, was more than its bound. */
static enum status panel_sum(struct panel *p, double *zty, enum phase phase, bool *beyond,
                             struct err *err)
{
    const size_t M = p->f->M;

    p->beyond = false;
    if (zty)
        memset(zty, 0, p->ny * M * sizeof *zty);
    if (p->zty_rest)
        memset(p->zty_rest, 0, p->ny * M * sizeof *zty);
    if (p->cols)
        memset(p->cols + p->parts * M, 0, M * sizeof *p->cols);
    enum status rc = (p->cut.apart ? segments_run : tiles_run)(p, zty, phase, err);
    double flag = p->beyond ? 1.0 : 0.0;
    if (rc == ST_OK)
        rc = share_most(p->f->share, 1, &flag, err);
    *beyond = flag > 0.0;
    return rc;
}

/* The sums of all processes. */
static enum status panel_meet(struct panel *p, double *zty, struct err *err)
{
    const struct share *share = p->f->share;
    const size_t M = p->f->M;
    enum status rc = share_sum_matrix(share, M, p->L, p->lower, p->C, p->ldc, err);

    if (rc == ST_OK && p->rest)
        rc = share_sum_matrix(share, M, p->L, p->lower, p->rest, M, err);
    for (size_t j = 0; rc == ST_OK && p->rest && j < p->L; j++) {
        const size_t top = p->lower ? j : 0;
        blas_daxpy(M - top, 1.0, p->rest + j * M + top, p->C + j * p->ldc + top);
    }
    if (rc == ST_OK && zty)
        rc = share_sum(share, p->ny * M, zty, err);
    if (rc == ST_OK && zty && p->zty_rest)
        rc = share_sum(share, p->ny * M, p->zty_rest, err);
    if (rc == ST_OK && zty && p->zty_rest)
        blas_daxpy(p->ny * M, 1.0, p->zty_rest, zty);
    if (rc == ST_OK && p->cols)
        rc = share_sum(share, M, p->cols + p->parts * M, err);
    return rc;
}

/* C = Z'B over all rows. */
static enum status panel_run(struct panel *p, double *C, size_t ldc, double *zty, enum phase phase,
                             const struct ctl *ctl, struct err *err)
{
    struct fop *f = p->f;
    const size_t tiles = blas_tiles(f->M, MIRROR);
    enum status rc = ST_OK;
    bool beyond = true;

    p->C = C;
    p->ldc = ldc;
    p->ctl = ctl;
    p->centred = f->centres && !p->omega;
    if (p->centred) {
        free(p->cols);
        p->cols = mem_calloc(p->parts + 1, f->M * sizeof *p->cols, "sums of columns", err);
        rc = p->cols ? centre_find(f, err) : ST_NOMEM;
    }
    for (int all = 0; rc == ST_OK && beyond && all < 2; all++) {
        if (p->count > 1)
            rc = fop_bounds_find(p, all, err);
        if (rc == ST_OK)
            rc = panel_sum(p, zty, phase, &beyond, err);
    }
    if (rc == ST_OK)
        rc = panel_meet(p, zty, err);
    if (rc == ST_OK && p->lower)
        pool_run(f->pool, tiles * (tiles + 1) / 2, mirror_task, p);
    if (rc == ST_OK && p->cols)
        rc = centre_back(p, err);
    if (rc == ST_OK)
        ctl_tell(ctl, phase, f->n, f->n, NAN);
    return rc;
}

/* G = Z'Z and zty = Z'y, on the device or by blocks of rows; only tiles on and below the
 * diagonal are computed. */
static enum status gram_into(struct fop *f, size_t ny, const double *y, double *G, size_t ld,
                             double *zty, const struct ctl *ctl, struct err *err)
{
    if (!f->Z && ops_of(f)->gram) {
        ctl_tell(ctl, PHASE_GRAM, 0, f->n, NAN);
        const enum status done = ops_of(f)->gram(state_of(f), ny, y, G, ld, zty, ctl, err);
        if (!fop_goes_on(f, done, err) && done != ST_UNSUPPORTED) {
            ctl_tell(ctl, PHASE_GRAM, f->n, f->n, NAN);
            return done;
        }
    }
    struct panel *p = fop_panel_gram(f, false, err);
    enum status rc = p ? ST_OK : ST_NOMEM;

    if (rc == ST_OK && y && zty) {
        p->y = y;
        p->ny = ny;
        p->zty = mem_calloc(p->parts * ny, f->M * sizeof *p->zty, "partial sums", err);
        if (p->zty && p->dbl)
            p->zty_rest = mem_calloc(ny, f->M * sizeof *p->zty, "partial sums", err);
        rc = p->zty && (p->zty_rest || !p->dbl) ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK) {
        rc = panel_run(p, G, ld, p->zty ? zty : NULL, PHASE_GRAM, ctl, err);
    }
    fop_panel_done(p);
    return rc;
}

enum status fop_gram(struct fop *f, const double *y, double *G, double *zty, double *yty,
                     const struct ctl *ctl, struct err *err)
{
    return fop_gram_of(f, 1, y, G, zty, yty, ctl, err);
}

enum status fop_gram_of(struct fop *f, size_t ny, const double *y, double *G, double *zty,
                        double *yty, const struct ctl *ctl, struct err *err)
{
    enum status rc = ST_OK;

    if (!f->formed)
        rc = gram_into(f, ny, y, G, f->M, zty, ctl, err);
    for (size_t j = 0; f->formed && j < f->M; j++)
        memcpy(G + j * f->M, f->formed->A + j * f->formed->ld, f->M * sizeof *G);
    if (f->formed && y && zty)
        rc = fop_ztv(f, ny, y, zty, ctl, err);
    for (size_t t = 0; rc == ST_OK && y && yty && t < ny; t++)
        yty[t] = blas_ddot(f->n, y + t * f->n, y + t * f->n);
    return rc;
}

enum status fop_form(struct fop *f, const struct ctl *ctl, struct err *err)
{
    struct gram *g = NULL;
    enum status rc = f->formed ? ST_OK : gram_new(&g, f->M, err);

    if (rc == ST_OK && g)
        rc = gram_into(f, 0, NULL, g->A, g->ld, NULL, ctl, err);
    if (rc != ST_OK)
        gram_free(g);
    else if (g)
        f->formed = g;
    return rc;
}

enum status fop_dgram(struct fop *f, size_t ihp, double *C, const struct ctl *ctl, struct err *err)
{
    if (f->Z)
        return err_set(err, ST_STATE, "a given feature matrix has no hyperparameters");
    if (ops_of(f)->dgram) {
        const enum status done = ops_of(f)->dgram(state_of(f), ihp, C, ctl, err);
        if (done != ST_UNSUPPORTED && !fop_goes_on(f, done, err))
            return done;
        err_clear(err);
    }
    struct panel *p = fop_panel_gram(f, true, err);
    enum status rc = p ? ST_OK : ST_NOMEM;

    if (rc == ST_OK) {
        p->derivative = true;
        p->ihp = ihp;
        rc = panel_run(p, C, f->M, NULL, PHASE_GRAM, ctl, err);
    }
    fop_panel_done(p);
    return rc;
}

/* A column of the test matrix in the precision of the features. */
struct omega { const struct panel *p; const double *from; };

static void omega_column(void *ctx, size_t column, size_t worker)
{
    const struct omega *o = ctx;
    const size_t M = o->p->f->M;
    char *to = o->p->omega + column * M * o->p->size;

    (void)worker;
    for (size_t i = 0; i < M; i++) {
        if (o->p->dbl)
            ((double *)(void *)to)[i] = o->from[column * M + i];
        else
            ((float *)(void *)to)[i] = (float)o->from[column * M + i];
    }
}

/* Y = Z'(Z Omega) from a formed matrix, on the device, or by blocks of rows. */
static enum status sketch(struct fop *f, size_t L, const double *Omega, double *Y, bool rough,
                          const struct ctl *ctl, struct err *err)
{
    if (f->formed && ctl_stopped(ctl))
        return err_set(err, ST_CANCELLED, "stopped");
    if (f->formed)
        return blas_dgemm(f->pool, false, false, f->M, L, f->M, 1.0, f->formed->A, f->formed->ld,
                          Omega, f->M, 0.0, Y, f->M, err);
    if (f->be && !f->lost && f->be->sketch) {
        ctl_tell(ctl, PHASE_SKETCH, 0, f->n, NAN);
        const enum status done = f->be->sketch(f->state, L, Omega, Y, rough, ctl, err);
        if (!fop_goes_on(f, done, err)) {
            ctl_tell(ctl, PHASE_SKETCH, f->n, f->n, NAN);
            return done;
        }
    }
    struct panel *p = fop_panel_new(f, L, false, false, err);
    enum status rc = p ? ST_OK : ST_NOMEM;

    if (rc == ST_OK) {
        p->omega = mem_aligned(f->M * L, p->size, "test matrix", err);
        rc = p->omega ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK) {
        pool_run(f->pool, L, omega_column, &(struct omega){ p, Omega });
        rc = panel_run(p, Y, f->M, NULL, PHASE_SKETCH, ctl, err);
    }
    fop_panel_free(p);
    return rc;
}

enum status fop_sketch(struct fop *f, size_t L, const double *Omega, double *Y,
                       const struct ctl *ctl, struct err *err)
{
    return sketch(f, L, Omega, Y, false, ctl, err);
}

enum status fop_sketch_rough(struct fop *f, size_t L, const double *Omega, double *Y,
                             const struct ctl *ctl, struct err *err)
{
    return sketch(f, L, Omega, Y, true, ctl, err);
}
