/* compute/cpu/backend_cpu.c -- the processor as a backend: recognises the paired SORF chain and
 * runs it fused, rows in vector lanes (simd.h); all other terms together are one part of the
 * columns, made by backend_steps.c.
 *
 * Rows are cut into tiles whose features fit the second-level cache; a tile's features are made
 * once, met by the right-hand sides column by column, and used again for Z't while still there.
 * Tiles are dealt to a fixed number of groups; a group adds its tiles in order into its own double
 * sums, groups are added in order: the thread count changes nothing. */
#include "compute/cpu/cpu_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void scale_rows(const struct cpu *c, const struct simd_real *real, size_t r0, size_t n,
                       void *z, size_t ld)
{
    for (size_t r = 0; z && r < n; r++) {
        const double s = c->opts.row_scale[r0 + r];
        if (real->size == sizeof(double))
            for (size_t j = 0; j < c->M; j++)
                ((double *)z)[r * ld + j] *= s;
        else
            for (size_t j = 0; j < c->M; j++)
                ((float *)z)[r * ld + j] = (float)(s * (double)((float *)z)[r * ld + j]);
    }
}

/* Columns of one lane tile from row 0 of z as rows of ld. */
static void turn(const struct simd_real *real, size_t n, size_t cols, const char *from, char *z,
                 size_t ld)
{
    for (size_t j = 0; j < cols; j++)
        for (size_t r = 0; r < n; r++)
            memcpy(z + (r * ld + j) * real->size, from + (j * real->lanes + r) * real->size,
                   real->size);
}

static void zero_rows(const struct simd_real *real, size_t n, size_t cols, char *z, size_t ld)
{
    for (size_t row = 0; row < n; row++)
        memset(z + row * ld * real->size, 0, cols * real->size);
}

/* Columns of part i, which is over windows, or their derivatives in hyperparameter ihp: n rows of
 * x, each whole, into z, row-major, the part's first column. */
static void emit_sums(struct cpu *c, const struct simd_real *real, size_t i, const double *x,
                      size_t n, bool derivative, size_t ihp, char *z, size_t ld, void *scratch,
                      void *room)
{
    const struct part *p = &c->seg[i];
    const struct windows w = windows_of(c, i, room);

    if (!derivative || p->fm->weight == ihp)
        windows_columns(&w, real, x, c->src->d, n, p->out, z, ld, scratch);
    else if (p->fm->hp0 == ihp) /* no product: has_dtile */
        windows_slopes(&w, real, x, c->src->d, n, p->out, z, ld, scratch);
    else
        zero_rows(real, n, p->cols, z, ld);
}

/* The same of any other part, at most one lane tile; z or dz. */
static void emit_part(struct cpu *c, const struct simd_real *real, const struct simd_term *term,
                      const struct part *p, const double *x, size_t n, char *z, char *dz,
                      size_t ihp, size_t ld, char *columns, void *scratch)
{
    const size_t d = c->src->d;
    char *to = dz ? dz : z;

    if (!p->fm) { /* no derivatives: has_dtile */
        cpu_other_columns(c, real, p, x, n, columns, real->lanes, scratch);
        turn(real, n, p->cols, columns, to, ld);
    } else if (!dz || p->fm->weight == ihp) { /* d/d log weight is the columns themselves */
        real->rows(term, x + p->fm->first, d, n, p->out, to, NULL, ld, scratch);
    } else if (p->fm->hp0 == ihp) {
        real->rows(term, x + p->fm->first, d, n, p->out, NULL, to, ld, scratch);
    } else { /* this term does not depend on that hyperparameter */
        zero_rows(real, n, p->cols, to, ld);
    }
}

/* Rows in row-major order, some at a time, in precision `real`; z or dz. */
static enum status emit_rows(struct cpu *c, const struct simd_real *real, struct simd_term *term,
                             size_t r0, size_t r1, void *z, void *dz, size_t ihp, size_t ld,
                             struct err *err)
{
    const size_t lanes = c->windows ? c->R : real->lanes, d = c->src->d;
    const size_t other = c->nseg && !c->seg[c->nseg - 1].fm
                             ? c->seg[c->nseg - 1].cols * real->lanes * real->size : 0;
    const size_t inputs = mem_lines(lanes * d * sizeof(double)), after = inputs + mem_lines(other);
    const size_t end = after + mem_lines(cpu_scratch_bytes(c)),
                 room = c->windows ? cpu_room_bytes(c, false) : 0;
    char *work = mem_spare_take(&c->spares, end + room, "tile of features", err);
    double *x = (double *)(void *)work;
    char *columns = work ? work + inputs : NULL;
    void *scratch = work ? work + after : NULL;
    enum status rc = work ? ST_OK : ST_NOMEM;

    for (size_t r = r0; rc == ST_OK && r < r1; r += lanes) {
        const size_t n = r1 - r < lanes ? r1 - r : lanes, at = (r - r0) * ld;
        rc = c->src->rows(c->src, r, r + n, x, err);
        for (size_t i = 0; rc == ST_OK && i < c->nseg; i++) {
            char *to = (char *)(dz ? dz : z) + (at + c->seg[i].col0) * real->size;
            if (is_windows(&c->seg[i]))
                emit_sums(c, real, i, x, n, dz != NULL, ihp, to, ld, scratch, work + end);
            else
                for (size_t k = 0; k < n; k += real->lanes)
                    emit_part(c, real, &term[i], &c->seg[i], x + k * d,
                              n - k < real->lanes ? n - k : real->lanes,
                              z ? to + k * ld * real->size : NULL,
                              dz ? to + k * ld * real->size : NULL, ihp, ld, columns, scratch);
        }
        if (rc == ST_OK && c->opts.row_scale) {
            scale_rows(c, real, r, n, z ? (char *)z + at * real->size : NULL, ld);
            scale_rows(c, real, r, n, dz ? (char *)dz + at * real->size : NULL, ld);
        }
    }
    mem_spare_give(&c->spares, work);
    return rc;
}

static enum status cpu_tile64(void *state, size_t r0, size_t r1, double *z, size_t ld,
                              struct err *err)
{
    struct cpu *c = state;

    return emit_rows(c, &c->simd->f64, c->term64, r0, r1, z, NULL, 0, ld, err);
}

/* With ARD the derivative in one lengthscale would need a transform of its own for each:
 * cpu_grad
 * has all of them for the price of one; and it alone knows the terms that are not plain. */
static bool cpu_has_dtile(void *state)
{
    const struct cpu *c = state;

    for (size_t i = 0; i < c->fm->nterms; i++)
        if (c->fm->term[i].nl > 1)
            return false;
    return c->steps == NULL;
}

static enum status cpu_dtile(void *state, size_t i, size_t r0, size_t r1, double *dz, size_t ld,
                             struct err *err)
{
    struct cpu *c = state;

    if (!cpu_has_dtile(c))
        return err_set(err, ST_UNSUPPORTED, "rows of derivatives are for plain kernels with one "
                       "lengthscale");
    return emit_rows(c, &c->simd->f64, c->term64, r0, r1, NULL, dz, i, ld, err);
}

/* Float rows; in double precision mode rounded from double ones. */
static enum status narrow_rows(struct cpu *c, bool derivative, size_t ihp, size_t r0, size_t r1,
                               float *z, size_t ld, struct err *err)
{
    double *row = mem_aligned(c->M, sizeof *row, "row of features", err);
    enum status rc = row ? ST_OK : ST_NOMEM;

    for (size_t r = r0; rc == ST_OK && r < r1; r++, z += ld) {
        rc = derivative ? cpu_dtile(c, ihp, r, r + 1, row, c->M, err)
                        : cpu_tile64(c, r, r + 1, row, c->M, err);
        for (size_t j = 0; rc == ST_OK && j < c->M; j++)
            z[j] = (float)row[j];
    }
    free(row);
    return rc;
}

static enum status cpu_tile(void *state, size_t r0, size_t r1, float *z, size_t ld,
                            struct err *err)
{
    struct cpu *c = state;

    if (c->real == &c->simd->f64)
        return narrow_rows(c, false, 0, r0, r1, z, ld, err);
    return emit_rows(c, c->real, c->term, r0, r1, z, NULL, 0, ld, err);
}

/* Heavy tails: the derivative needs the whole phase, which float would lose. */
static enum status cpu_dtile32(void *state, size_t i, size_t r0, size_t r1, float *dz, size_t ld,
                               struct err *err)
{
    struct cpu *c = state;

    for (size_t t = 0; t < c->nseg; t++)
        if (c->real == &c->simd->f64 || c->term[t].wide)
            return narrow_rows(c, true, i, r0, r1, dz, ld, err);
    return emit_rows(c, c->real, c->term, r0, r1, NULL, dz, i, ld, err);
}

static int cpu_probe(char *why, size_t len)
{
    if (why && len)
        why[0] = '\0';
    return 1;
}

static const struct backend_ops cpu_ops = {
    .abi = BACKEND_ABI,
    .name = "cpu",
    .summary = "this processor: vector loops chosen at start, our own threads",
    .probe = cpu_probe,
    .open = cpu_open,
    .close = cpu_close,
    .set = cpu_set,
    .pass = cpu_pass,
    .pass_exact = cpu_pass_exact,
    .unhalve = cpu_unhalve,
    .zp = cpu_zp,
    .ztv = cpu_ztv,
    .tile = cpu_tile,
    .tile64 = cpu_tile64,
    .dtile = cpu_dtile,
    .dtile32 = cpu_dtile32,
    .has_dtile = cpu_has_dtile,
    .grad = cpu_grad,
};

const struct backend_ops *backend_cpu(void)
{
    return &cpu_ops;
}
