/* compute/cpu/backend_cpu.c -- the CPU backend (backend.h).  It recognises the paired chain of SORF
 * (share/doc/methods.md 3.1, 3.2) and runs it fused, with rows in vector lanes (simd.h).  All other
 * terms together are one part of the columns, made by backend_steps.c.
 *
 * Rows are cut into tiles whose features fit the second-level cache; a tile's features are made
 * once, met by the right-hand sides column by column, and used again for Z't while still there.
 * Tiles are dealt to a number of groups that follows from that of the rows; a group adds its tiles
 * in order into its own double sums, and what groups sum to does not depend on an order (fold.h):
 * the thread count changes nothing. */
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

/* Transposes columns of one lane tile (n rows) into rows of z, ld apart. */
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

/* A request for rows in row-major order, in precision `real`: features, or with `derivative` their
 * derivatives in log hp[ihp]; and its workspace. */
struct emit {
    struct cpu *c;
    const struct simd_real *real;
    const struct simd_term *term; /* of each part, for real */
    bool derivative;
    size_t ihp, ld;
    double *x;                    /* inputs of the rows */
    char *columns;                /* a lane tile of the part without a loop of its own */
    void *scratch, *room;
};

/* The columns of part i, which is over windows, for n rows; z: its first column in the first
 * row. */
static void emit_sums(const struct emit *e, size_t i, size_t row, size_t n, char *z)
{
    const struct cpu *c = e->c;
    const struct part *p = &c->seg[i];
    const struct windows w = windows_of(c, i, row, e->room, e->scratch);
    const struct simd_inputs in = {e->x, c->src->d, n};

    if (!e->derivative || p->fm->weight == e->ihp)
        windows_columns(&w, e->real, &in, p->out, z, e->ld);
    else if (p->fm->hp0 == e->ihp && !featmap_is_counts(p->fm)) /* has_dtile excludes products */
        windows_slopes(&w, e->real, &in, p->out, z, e->ld);
    else
        zero_rows(e->real, n, p->cols, z, e->ld);
}

/* The columns of any other part i for at most one lane tile of rows x. */
static void emit_part(const struct emit *e, size_t i, const double *x, size_t n, char *z)
{
    const struct cpu *c = e->c;
    const struct simd_real *real = e->real;
    const struct part *p = &c->seg[i];
    const struct simd_inputs in = {x + (p->fm ? p->fm->first : 0), c->src->d, n};

    if (!p->fm) { /* has_dtile has excluded derivatives */
        cpu_other_columns(c, real, p, &in, e->columns, real->lanes, e->scratch);
        turn(real, n, p->cols, e->columns, z, e->ld);
    } else if (!e->derivative || p->fm->weight == e->ihp) {
        /* dZ / dlog weight is the columns themselves. */
        real->rows(&e->term[i], &in, p->out, z, NULL, e->ld, e->scratch);
    } else if (p->fm->hp0 == e->ihp) {
        real->rows(&e->term[i], &in, p->out, NULL, z, e->ld, e->scratch);
    } else { /* this term does not depend on that hyperparameter */
        zero_rows(real, n, p->cols, z, e->ld);
    }
}

/* All parts for n rows from the r-th of the request on, into z. */
static void emit_tile(const struct emit *e, size_t r, size_t n, char *z)
{
    const struct cpu *c = e->c;
    const size_t size = e->real->size, lanes = e->real->lanes;

    for (size_t i = 0; i < c->nseg; i++) {
        char *to = z + c->seg[i].col0 * size;
        if (is_windows(&c->seg[i]))
            emit_sums(e, i, r, n, to);
        else
            for (size_t k = 0; k < n; k += lanes)
                emit_part(e, i, e->x + k * c->src->d, n - k < lanes ? n - k : lanes,
                          to + k * e->ld * size);
    }
    if (c->opts.row_scale)
        scale_rows(c, e->real, r, n, z, e->ld);
}

/* Makes rows r0 to r1 - 1; c, real, term, derivative, ihp and ld of `e` are set. */
static enum status emit_rows(struct emit *e, size_t r0, size_t r1, void *z, struct err *err)
{
    struct cpu *c = e->c;
    const size_t lanes = c->windows ? c->R : e->real->lanes, d = c->src->d;
    const size_t other = c->nseg && !c->seg[c->nseg - 1].fm
                             ? c->seg[c->nseg - 1].cols * e->real->lanes * e->real->size : 0;
    const size_t inputs = mem_lines(lanes * d * sizeof(double)), after = inputs + mem_lines(other);
    const size_t end = after + mem_lines(cpu_scratch_bytes(c));
    enum status rc = c->signs ? cpu_bits_need(c, err) : ST_OK;
    if (rc != ST_OK) /* what follows reads the bits, which another thread may be making */
        return rc;
    const size_t room = c->windows ? cpu_room_bytes(c, false) : 0;
    char *work = mem_spare_take(&c->spares, end + room, "tile of features", err);

    rc = work ? ST_OK : ST_NOMEM;
    if (work) {
        e->x = (double *)(void *)work;
        e->columns = work + inputs;
        e->scratch = work + after;
        e->room = work + end;
    }
    for (size_t r = r0; rc == ST_OK && r < r1; r += lanes) {
        const size_t n = r1 - r < lanes ? r1 - r : lanes;
        if (!c->all_bits)
            rc = c->src->rows(c->src, r, r + n, e->x, err);
        if (rc == ST_OK)
            emit_tile(e, r, n, (char *)z + (r - r0) * e->ld * e->real->size);
    }
    mem_spare_give(&c->spares, work);
    return rc;
}

static struct emit emit_double(struct cpu *c, size_t ld)
{
    return (struct emit){ .c = c, .real = &c->simd->f64, .term = c->term64, .ld = ld };
}

static struct emit emit_own(struct cpu *c, size_t ld)
{
    return (struct emit){ .c = c, .real = c->real, .term = c->term, .ld = ld };
}

static enum status cpu_tile64(void *state, size_t r0, size_t r1, double *z, size_t ld,
                              struct err *err)
{
    struct emit e = emit_double(state, ld);

    return emit_rows(&e, r0, r1, z, err);
}

/* With ard each lengthscale would need a transform of its own, while cpu_grad has the derivatives
 * in all of them for the price of one.  Only cpu_grad handles terms that are not plain. */
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
    struct emit e = emit_double(c, ld);
    e.derivative = true;
    e.ihp = i;
    return emit_rows(&e, r0, r1, dz, err);
}

/* Rows in float; with double precision they are made in double and rounded. */
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
    struct emit e = emit_own(c, ld);
    return emit_rows(&e, r0, r1, z, err);
}

/* Rows of derivatives in float.  With heavy tails they are made in double, because the derivative
 * is proportional to the whole phase, which float would lose. */
static enum status cpu_dtile32(void *state, size_t i, size_t r0, size_t r1, float *dz, size_t ld,
                               struct err *err)
{
    struct cpu *c = state;

    for (size_t t = 0; t < c->nseg; t++)
        if (c->real == &c->simd->f64 || c->term[t].wide)
            return narrow_rows(c, true, i, r0, r1, dz, ld, err);
    struct emit e = emit_own(c, ld);
    e.derivative = true;
    e.ihp = i;
    return emit_rows(&e, r0, r1, dz, err);
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
    .gram = cpu_gram,
};

const struct backend_ops *backend_cpu(void)
{
    return &cpu_ops;
}
