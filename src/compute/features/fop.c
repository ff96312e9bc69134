/* compute/features/fop.c -- the feature operator: thin over a backend, plain over a given matrix,
 * and the products of matrix with matrix (Gram, its gradient, sketches) by blocks of rows.
 *
 * A block of rows is generated once, in chunks, by the pool; then tiles of the result are tasks
 * that each walk over the chunks in order.  A tile's sums inside one chunk are float32, chunks meet
 * in float64: nothing depends on who computed what.  On matrix units (simd_tiles) the Grams take
 * features packed for them, rounded to 17 bits. */
#include "compute/features/fop.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/linalg/blas_kernels.h"
#include "compute/features/gram.h"
#include "compute/features/learned.h"
#include "compute/cpu/simd.h"
#include "base/limits.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_ROWS = 256,   /* rows whose products are summed in float32 */
    CHUNKS_MOST = 16,   /* chunks in a block of rows */
    TILE = 512,         /* edge of a tile of the result */
    TILE_WIDE = 1024,   /* its edge in float64 from WIDE columns on, where BLAS packs less */
    WIDE = 2048,
    TILE_UNITS = 256,   /* its edge on matrix units */
    DENSE_GROUPS = 32,  /* partial sums of a dense operator */
    PAD = 16,           /* keeps rows of Z from falling into the same cache sets */
};

struct fop {
    const struct backend_ops *be;
    void *state;
    /* The CPU backend and its operator, for what `be` does not do, and in its place when it fails
     * (lost); NULL: not needed. */
    const struct backend_ops *host;
    void *twin;
    bool lost, declined;
    struct err why_lost;
    size_t n, M;
    struct pool *pool;
    enum precision precision;
    const double *Z; /* dense: given; else NULL */
    size_t ld;
    double *part; /* dense: DENSE_GROUPS x M */
    struct panel *panel; /* the workspace of the last product, for the next one of its kind */
    struct gram *formed; /* Z'Z, or NULL */
    bool half;           /* passes use stored features in float16 */
    /* Features of sequences have a large common mean, on which float32 sums would spend their
     * digits.  Gram matrices then sum the difference from a centre, and the rest is added in
     * float64 (centre_back). */
    bool centres;
    double *centre;      /* M; NULL: not computed at these hyperparameters */
    const double *row_scale;
    struct learned_rows *learned; /* of a map that learns: what the backend reads; else NULL */
};

static void lose(struct fop *f, struct err *err)
{
    if (err)
        f->why_lost = *err;
    err_clear(err);
    f->lost = true;
    f->half = false;
}

struct fop *fop_new(const struct backend_ops *be, const struct featmap *fm,
                    const struct source *src, const struct fop_opts *opts, struct err *err)
{
    if (opts->half && (opts->precision != PREC_FLOAT || be->pass_exact == NULL ||
                       !(kernel_half_error(&fm->kernel) < 1.0))) {
        err_set(err, ST_UNSUPPORTED,
                "features in float16 are for single precision and sums of stationary "
                "kernels");
        return NULL;
    }
    const size_t behind = kernel_learned_numbers(&fm->kernel);
    if (fm->d != src->d && fm->d + behind != src->d) {
        err_set(err, ST_SHAPE, "the feature map takes %zu inputs, the data has %zu", fm->d, src->d);
        return NULL;
    }
    if (source_suits(src, &fm->kernel, err) != ST_OK)
        return NULL;
    const bool declined = be->serves && !be->serves(fm);
    be = declined ? backend_cpu() : be;
    struct fop *f = mem_calloc(1, sizeof *f, "feature operator", err);
    if (!f)
        return NULL;
    *f = (struct fop){ .declined = declined, .be = be, .n = src->n, .M = fm->M, .pool = opts->pool,
                       .precision = opts->precision, .half = opts->store && opts->half };
    f->centres = kernel_reads_windows(&fm->kernel) && opts->precision == PREC_FLOAT;
    f->row_scale = opts->row_scale;
    if (behind && fm->d == src->d) {
        f->learned = learned_rows_new(&fm->kernel, src, opts->pool, err);
        if (!f->learned) {
            fop_free(f);
            return NULL;
        }
        src = learned_rows_source(f->learned);
    }
    struct fop_opts own = *opts;
    own.run = pool_run;
    own.threads = pool_threads(opts->pool);
    f->state = be->open(fm, src, &own, err);
    f->lost = !f->state && be != backend_cpu() && err && err->code == ST_BACKEND;
    if (f->lost)
        lose(f, err);
    if (be != backend_cpu() && (f->state || f->lost)) {
        own.store = own.half = false;
        f->host = backend_cpu();
        f->twin = f->host->open(fm, src, &own, err);
    }
    if ((!f->state && !f->lost) || (f->host && !f->twin)) {
        fop_free(f);
        return NULL;
    }
    return f;
}

bool fop_lost(const struct fop *f, struct err *why)
{
    if (f->lost && why)
        *why = f->why_lost;
    return f->lost;
}

bool fop_declined(const struct fop *f)
{
    return f->declined;
}

/* True when a device has failed and the CPU can take its place, which it does from now on. */
static bool goes_on(struct fop *f, enum status rc, struct err *err)
{
    if (rc != ST_BACKEND || !f->twin || f->lost)
        return false;
    lose(f, err);
    return true;
}

static const struct backend_ops *ops_of(const struct fop *f)
{
    return f->lost ? f->host : f->be;
}

static void *state_of(const struct fop *f)
{
    return f->lost ? f->twin : f->state;
}

/* The backend that makes derivatives. */
static const struct backend_ops *back_ops(const struct fop *f)
{
    return f->lost || !f->be->grad ? f->host : f->be;
}

static void *back_state(const struct fop *f)
{
    return f->lost || !f->be->grad ? f->twin : f->state;
}

struct fop *fop_dense_for_tests(const double *Z, size_t n, size_t M, size_t ld, struct pool *pool,
                                struct err *err)
{
    struct fop *f = mem_calloc(1, sizeof *f, "feature operator", err);

    if (!f)
        return NULL;
    *f = (struct fop){ .n = n, .M = M, .pool = pool, .precision = PREC_DOUBLE, .Z = Z, .ld = ld };
    f->part = mem_calloc(DENSE_GROUPS, M * sizeof *f->part, "partial sums", err);
    if (!f->part) {
        free(f);
        return NULL;
    }
    return f;
}

static void panel_free(struct panel *p);

void fop_free(struct fop *f)
{
    if (!f)
        return;
    if (f->state)
        f->be->close(f->state);
    if (f->twin)
        f->host->close(f->twin);
    learned_rows_free(f->learned);
    panel_free(f->panel);
    gram_free(f->formed);
    free(f->centre);
    free(f->part);
    free(f);
}

size_t fop_rows(const struct fop *f)
{
    return f->n;
}

size_t fop_cols(const struct fop *f)
{
    return f->M;
}

struct pool *fop_pool(const struct fop *f)
{
    return f->pool;
}

enum precision fop_precision(const struct fop *f)
{
    return f->precision;
}

/* Dense operators. */

struct dense {
    const struct fop *f;
    const double *P, *V; /* t = Z P, or t = V */
    double *T, *W;       /* either may be NULL */
    const struct ctl *ctl;
};

/* t = z P or v for a fixed share of the rows, and the sum of t z. */
static void dense_group(void *ctx, size_t g, size_t worker)
{
    const struct dense *s = ctx;
    const struct fop *f = s->f;
    double *w = f->part + g * f->M;

    (void)worker;
    if (s->W)
        memset(w, 0, f->M * sizeof *w);
    if (ctl_stopped(s->ctl))
        return;
    for (size_t r = f->n * g / DENSE_GROUPS; r < f->n * (g + 1) / DENSE_GROUPS; r++) {
        const double *z = f->Z + r * f->ld;
        const double t = s->P ? blas_ddot(f->M, z, s->P) : s->V[r];
        if (s->T)
            s->T[r] = t;
        if (s->W)
            blas_daxpy(f->M, t, z, w);
    }
}

/* One pass for one vector; groups are added in order. */
static enum status dense_run(struct fop *f, const double *P, const double *V, double *T, double *W,
                             const struct ctl *ctl, struct err *err)
{
    struct dense s = { f, P, V, T, W, ctl };

    pool_run(f->pool, DENSE_GROUPS, dense_group, &s);
    if (ctl_stopped(ctl))
        return err_set(err, ST_CANCELLED, "stopped while passing over the rows");
    if (W) {
        memcpy(W, f->part, f->M * sizeof *W);
        for (size_t g = 1; g < DENSE_GROUPS; g++)
            blas_daxpy(f->M, 1.0, f->part + g * f->M, W);
    }
    return ST_OK;
}

static void unform(struct fop *f)
{
    gram_free(f->formed);
    f->formed = NULL;
}

enum status fop_set(struct fop *f, const double *hp, struct err *err)
{
    if (f->Z)
        return err_set(err, ST_STATE, "a given feature matrix has no hyperparameters");
    unform(f);
    free(f->centre);
    f->centre = NULL;
    enum status rc = f->twin ? f->host->set(f->twin, hp, err) : ST_OK;
    if (rc == ST_OK && !f->lost)
        rc = f->be->set(f->state, hp, err);
    return goes_on(f, rc, err) ? ST_OK : rc;
}

const double *fop_formed(const struct fop *f, size_t *ld)
{
    *ld = f->formed ? f->formed->ld : 0;
    return f->formed ? f->formed->A : NULL;
}

enum status fop_pass(struct fop *f, size_t k, const double *P, double *W, const struct ctl *ctl,
                     struct err *err)
{
    enum status rc = ST_OK;

    if (f->formed && ctl_stopped(ctl))
        return err_set(err, ST_CANCELLED, "stopped");
    if (f->formed)
        return gram_apply(f->formed, f->pool, k, P, W, err);
    if (!f->Z) {
        rc = ops_of(f)->pass(state_of(f), k, P, W, ctl, err);
        return goes_on(f, rc, err) ? fop_pass(f, k, P, W, ctl, err) : rc;
    }
    for (size_t c = 0; rc == ST_OK && c < k; c++)
        rc = dense_run(f, P + c * f->M, NULL, NULL, W + c * f->M, ctl, err);
    return rc;
}

bool fop_half(const struct fop *f)
{
    return f->half && f->formed == NULL;
}

void fop_unhalve(struct fop *f)
{
    if (f->half && !f->lost && f->be->unhalve)
        f->be->unhalve(f->state);
    f->half = false;
}

enum status fop_pass_exact(struct fop *f, size_t k, const double *P, double *W,
                           const struct ctl *ctl, struct err *err)
{
    if (!fop_half(f))
        return fop_pass(f, k, P, W, ctl, err);
    const enum status rc = f->be->pass_exact(f->state, k, P, W, ctl, err);
    return goes_on(f, rc, err) ? fop_pass(f, k, P, W, ctl, err) : rc;
}

enum status fop_zp(struct fop *f, size_t k, const double *P, double *T, const struct ctl *ctl,
                   struct err *err)
{
    enum status rc = ST_OK;

    if (!f->Z) {
        rc = ops_of(f)->zp(state_of(f), k, P, T, ctl, err);
        return goes_on(f, rc, err) ? fop_zp(f, k, P, T, ctl, err) : rc;
    }
    for (size_t c = 0; rc == ST_OK && c < k; c++)
        rc = dense_run(f, P + c * f->M, NULL, T + c * f->n, NULL, ctl, err);
    return rc;
}

enum status fop_ztv(struct fop *f, size_t k, const double *V, double *W, const struct ctl *ctl,
                    struct err *err)
{
    enum status rc = ST_OK;

    if (!f->Z) {
        rc = ops_of(f)->ztv(state_of(f), k, V, W, ctl, err);
        return goes_on(f, rc, err) ? fop_ztv(f, k, V, W, ctl, err) : rc;
    }
    for (size_t c = 0; rc == ST_OK && c < k; c++)
        rc = dense_run(f, NULL, V + c * f->n, NULL, W + c * f->M, ctl, err);
    return rc;
}

enum status fop_tile(struct fop *f, size_t r0, size_t r1, float *z, size_t ld, struct err *err)
{
    if (!f->Z) {
        const enum status rc = ops_of(f)->tile(state_of(f), r0, r1, z, ld, err);
        if (rc != ST_BACKEND || !f->twin)
            return rc;
        err_clear(err); /* other tasks may be here, too: the next pass will notice the loss */
        return f->host->tile(f->twin, r0, r1, z, ld, err);
    }
    for (size_t r = r0; r < r1; r++)
        for (size_t j = 0; j < f->M; j++)
            z[(r - r0) * ld + j] = (float)f->Z[r * f->ld + j];
    return ST_OK;
}

enum status fop_tile64(struct fop *f, size_t r0, size_t r1, double *z, size_t ld, struct err *err)
{
    if (!f->Z) {
        const enum status rc = ops_of(f)->tile64(state_of(f), r0, r1, z, ld, err);
        if (rc != ST_BACKEND || !f->twin)
            return rc;
        err_clear(err); /* other tasks may be here, too: the next pass will notice the loss */
        return f->host->tile64(f->twin, r0, r1, z, ld, err);
    }
    for (size_t r = r0; r < r1; r++)
        memcpy(z + (r - r0) * ld, f->Z + r * f->ld, f->M * sizeof *z);
    return ST_OK;
}

enum status fop_nystrom(struct fop *f, size_t L, int passes, double *Omega, double *ev,
                        const struct ctl *ctl, struct err *err)
{
    if (!f->be || !f->be->nystrom || f->lost || f->formed)
        return ST_UNSUPPORTED;
    const enum status rc = f->be->nystrom(f->state, L, passes, Omega, ev, ctl, err);
    if (rc == ST_OK || rc == ST_CANCELLED || goes_on(f, rc, err))
        return rc == ST_BACKEND ? ST_UNSUPPORTED : rc;
    err_clear(err);
    return ST_UNSUPPORTED;
}

enum status fop_factor(struct fop *f, double lam2, const struct ctl *ctl, struct err *err)
{
    if (!f->be || !f->be->factor || f->lost || f->formed)
        return ST_UNSUPPORTED;
    const enum status rc = f->be->factor(f->state, lam2, ctl, err);
    if (rc == ST_OK || rc == ST_CANCELLED)
        return rc;
    if (!goes_on(f, rc, err))
        err_clear(err);
    return ST_UNSUPPORTED;
}

/* Conjugate gradients on the device. */

struct fop_cg { struct fop *f; void *at; };

struct fop_cg *fop_cg_open(struct fop *f, size_t k, double lam2, const struct backend_inverse *pre)
{
    if (!f->be || !f->be->cg || f->lost || f->formed)
        return NULL;
    struct err err = { 0 }; /* that the device has no room is not an error */
    struct fop_cg *c = mem_calloc(1, sizeof *c, "conjugate gradients", &err);

    if (!c)
        return NULL;
    *c = (struct fop_cg){ f, f->be->cg->open(f->state, k, lam2, pre, &err) };
    if (c->at)
        return c;
    goes_on(f, err.code, &err);
    free(c);
    return NULL;
}

void fop_cg_close(struct fop_cg *c)
{
    if (!c)
        return;
    c->f->be->cg->close(c->at);
    free(c);
}

/* After BACKEND the operator continues without the device; cg.c restarts the recursion. */
static enum status cg_said(struct fop_cg *c, enum status rc, struct err *err)
{
    if (rc == ST_BACKEND && !c->f->lost)
        lose(c->f, err);
    return rc;
}

enum status fop_cg_put(struct fop_cg *c, size_t slot, const double *X, const double *R,
                       struct err *err)
{
    return c->f->lost ? ST_BACKEND : cg_said(c, c->f->be->cg->put(c->at, slot, X, R, err), err);
}

enum status fop_cg_get(struct fop_cg *c, size_t slot, double *X, double *R, struct err *err)
{
    return c->f->lost ? ST_BACKEND : cg_said(c, c->f->be->cg->get(c->at, slot, X, R, err), err);
}

enum status fop_cg_swap(struct fop_cg *c, size_t i, size_t j, struct err *err)
{
    return c->f->lost ? ST_BACKEND : cg_said(c, c->f->be->cg->swap(c->at, i, j, err), err);
}

enum status fop_cg_run(struct fop_cg *c, size_t active, size_t m, const struct cg_slot *slots,
                       struct cg_step *steps, size_t *done, const struct ctl *ctl, struct err *err)
{
    *done = 0;
    if (c->f->lost)
        return ST_BACKEND;
    return cg_said(c, c->f->be->cg->run(c->at, active, m, slots, steps, done, ctl, err), err);
}

bool fop_has_dtile(const struct fop *f)
{
    return f->be && back_ops(f)->dtile && back_ops(f)->has_dtile(back_state(f));
}

enum status fop_dtile(struct fop *f, size_t ihp, size_t r0, size_t r1, double *dz, size_t ld,
                      struct err *err)
{
    if (f->Z)
        return err_set(err, ST_STATE, "a given feature matrix has no hyperparameters");
    return back_ops(f)->dtile(back_state(f), ihp, r0, r1, dz, ld, err);
}

enum status fop_grad(struct fop *f, size_t r0, size_t r1, const double *Z, const double *B,
                     size_t ld, double *grad, struct err *err)
{
    if (f->Z)
        return err_set(err, ST_STATE, "a given feature matrix has no hyperparameters");
    return back_ops(f)->grad(back_state(f), r0, r1, Z, B, ld, grad, err);
}

bool fop_has_back(const struct fop *f)
{
    return f->be && f->be->back && !f->lost;
}

enum status fop_back(struct fop *f, const double *S, size_t k, const double *T, const double *V,
                     double *grad, const struct ctl *ctl, struct err *err)
{
    if (!fop_has_back(f))
        return ST_UNSUPPORTED;
    const enum status rc = f->be->back(f->state, S, k, T, V, grad, ctl, err);
    if (rc == ST_OK || rc == ST_CANCELLED)
        return rc;
    if (!goes_on(f, rc, err)) /* the device has no room: use tiles */
        err_clear(err);
    return ST_UNSUPPORTED;
}

/* Products by blocks of rows. */

/* The workspace of one product Z'B over a block of rows, in single or double precision; B is Z
 * again (Gram), dZ, or Z Omega (sketch). */
struct panel {
    struct fop *f;
    bool dbl;
    size_t size, most;         /* bytes of a number; rows of a block */
    size_t rows, chunks;       /* of the current block */
    size_t r0, ldz, ldb, L;    /* first row; leading dimensions; columns of the right factor */
    size_t edge;               /* of a tile of the result */
    char *z, *b;               /* block of Z, right factor (row-major; b NULL: z itself) */
    const struct simd_tiles *units; /* matrix units: z and b hold packed chunks, chunk_bytes
                                     * apart */
    size_t chunk_bytes;
    char *omega;               /* sketch: M x L */
    bool derivative;           /* b is dZ/dlog hp[ihp] */
    size_t ihp;
    char *tmp;                 /* for each worker: a chunk's product, rows of dtile or to be
                                * packed */
    double *sum;               /* for each worker: a tile of the result, edge columns of lds */
    size_t lds;
    size_t tmp_bytes;
    size_t ny;                 /* Gram: also Z'y for ny vectors y of n, chunk by chunk */
    const double *y;
    double *zty;               /* CHUNKS_MOST x ny x M */
    double *cols;              /* with a centre: sums of columns, CHUNKS_MOST x M, then the total */
    double *C;                 /* result: M x L, column-major */
    size_t ldc;
    bool lower;                /* only tiles on and below the diagonal */
    const struct ctl *ctl;
    atomic_int failed;
    struct err errs[CHUNKS_MOST];
};

static void panel_free(struct panel *p)
{
    if (!p)
        return;
    free(p->z);
    free(p->b);
    free(p->omega);
    free(p->tmp);
    free(p->sum);
    free(p->zty);
    free(p->cols);
    free(p);
}

static size_t block_rows(size_t n, size_t bytes, size_t columns, size_t size)
{
    size_t chunks = bytes / (CHUNK_ROWS * columns * size);

    chunks = chunks < 1 ? 1 : chunks > CHUNKS_MOST ? CHUNKS_MOST : chunks;
    const size_t rows = chunks * CHUNK_ROWS;
    return rows < n ? rows : n;
}

/* True for a workspace that is small enough to be kept for the next product. */
static bool panel_stays(size_t rows, size_t columns)
{
    return rows * columns * 2 * sizeof(float) <= (size_t)80 << 20;
}

static size_t tile_edge(size_t M, bool dbl)
{
    return dbl && M >= WIDE ? TILE_WIDE : TILE;
}

/* The sum of what panel_new and panel_gram allocate. */
double fop_product_bytes(size_t n, size_t M, size_t L, enum precision precision, size_t threads)
{
    const size_t size = precision == PREC_DOUBLE ? sizeof(double) : sizeof(float);
    const struct simd_tiles *units =
        L == 0 && precision == PREC_FLOAT ? cpu_simd_now()->tiles : NULL;
    const double T = threads ? (double)threads : 1.0;

    if (units) {
        const size_t rows = block_rows(n, limits_block_bytes(), 2 * M, sizeof(float));
        const double chunks = (double)((rows + CHUNK_ROWS - 1) / CHUNK_ROWS);
        return 2.0 * chunks * (double)units->bytes(M) +
               T * (4.0 * CHUNK_ROWS * (double)(M + PAD) + 8.0 * TILE_UNITS * (TILE_UNITS + PAD));
    }
    const double rows = (double)block_rows(n, limits_block_bytes() / 2, M + L, size);
    const bool dbl = precision == PREC_DOUBLE;
    const double edge = (double)tile_edge(M, dbl), tile = (double)(dbl               ? 0
                                                                   : M > TILE * TILE ? M
                                                                                     : TILE * TILE);
    return rows * (double)(M + PAD + (L ? L + PAD : 0)) * (double)size + (double)(M * L * size) +
           T * 8.0 * (tile + edge * (edge + PAD));
}

double fop_kept_bytes(size_t n, size_t M, enum precision precision, size_t threads)
{
    if (precision != PREC_FLOAT || !cpu_simd_now()->tiles ||
        !panel_stays(block_rows(n, limits_block_bytes(), 2 * M, sizeof(float)), M))
        return 0.0;
    return fop_product_bytes(n, M, 0, precision, threads);
}

/* Partial sums of 32 groups of rows, right-hand sides, and a tile of features for each thread, as
 * backend_cpu.c allocates them. */
double fop_pass_bytes(size_t M, size_t k, enum precision precision, size_t threads)
{
    enum { GROUPS = 32, TILE_BYTES = 1 << 19, ROWS = 16 };
    const double size = precision == PREC_DOUBLE ? 8.0 : 4.0, tile = (double)M * ROWS * size;

    return (double)(M * k) * (8.0 * GROUPS + size) +
           (double)(threads ? threads : 1) * (tile > TILE_BYTES ? tile : TILE_BYTES);
}

/* L: the columns of the right factor if it has storage of its own, else 0. */
static struct panel *panel_new(struct fop *f, size_t L, struct err *err)
{
    struct panel *p = mem_calloc(1, sizeof *p, "row block", err);
    const size_t threads = pool_threads(f->pool);

    if (!p)
        return NULL;
    p->f = f;
    p->dbl = f->precision == PREC_DOUBLE;
    p->size = p->dbl ? sizeof(double) : sizeof(float);
    p->ldz = f->M + PAD;
    p->L = L ? L : f->M;
    p->ldb = L ? L + PAD : p->ldz;
    p->edge = tile_edge(f->M, p->dbl);
    p->most = block_rows(f->n, limits_block_bytes() / 2, f->M + L, p->size);
    p->tmp_bytes =
        p->dbl ? sizeof(double) : (f->M > TILE * TILE ? f->M : TILE * TILE) * sizeof(double);
    p->z = mem_aligned(p->most * p->ldz, p->size, "features of a row block", err);
    p->b = L ? mem_aligned(p->most * p->ldb, p->size, "right factor of a row block", err) : NULL;
    p->lds = p->edge + PAD;
    p->tmp = mem_aligned(threads, p->tmp_bytes, "product tiles", err);
    p->sum = mem_aligned(threads * p->edge, p->lds * sizeof *p->sum, "product tiles", err);
    if (!p->z || (L && !p->b) || !p->tmp || !p->sum) {
        panel_free(p);
        return NULL;
    }
    return p;
}

/* True when matrix units compute Z'Z (derivative: Z'dZ). */
static bool units_serve(const struct fop *f, bool derivative)
{
    return cpu_simd_now()->tiles && !f->Z && f->precision == PREC_FLOAT &&
           (!derivative || back_ops(f)->dtile32);
}

/* A panel for a Gram, or for Z'dZ. */
static struct panel *panel_gram(struct fop *f, bool derivative, struct err *err)
{
    if (!units_serve(f, derivative))
        return panel_new(f, derivative ? f->M : 0, err);
    if (f->panel) {
        struct panel *kept = f->panel;
        f->panel = NULL;
        return kept;
    }
    struct panel *p = mem_calloc(1, sizeof *p, "row block", err);
    if (!p)
        return NULL;
    *p = (struct panel){ .f = f, .units = cpu_simd_now()->tiles, .size = sizeof(float), .L = f->M,
                         .edge = TILE_UNITS, .ldz = f->M + PAD, .ldb = f->M + PAD };
    p->most = block_rows(f->n, limits_block_bytes(), 2 * f->M, sizeof(float));
    p->chunk_bytes = p->units->bytes(f->M);
    p->tmp_bytes = CHUNK_ROWS * p->ldz * sizeof(float);
    const size_t chunks = (p->most + CHUNK_ROWS - 1) / CHUNK_ROWS;
    p->z = mem_aligned(chunks, p->chunk_bytes, "features of a row block", err);
    p->b = p->z ? mem_aligned(chunks, p->chunk_bytes, "right factor of a row block", err) : NULL;
    p->lds = p->edge + PAD;
    p->tmp = p->b ? mem_aligned(pool_threads(f->pool), p->tmp_bytes, "rows of features", err)
                  : NULL;
    p->sum = p->tmp ? mem_aligned(pool_threads(f->pool) * p->edge, p->lds * sizeof *p->sum,
                                  "product tiles", err)
                    : NULL;
    if (!p->sum) {
        panel_free(p);
        return NULL;
    }
    return p;
}

/* Frees a workspace or keeps it: a search makes many Gram matrices, and the pages of a kept
 * workspace need not be cleared again. */
static void panel_done(struct panel *p)
{
    if (!p || !p->units || !panel_stays(p->most, p->L)) {
        panel_free(p);
        return;
    }
    free(p->zty);
    p->zty = NULL;
    p->y = NULL;
    p->lower = p->derivative = false;
    p->failed = 0;
    memset(p->errs, 0, sizeof p->errs);
    p->f->panel = p;
}

/* dZ in float32, if need be converted from the backend's float64 rows, a few at a time. */
static enum status derivative_rows(struct panel *p, size_t r0, size_t r1, size_t worker, char *out,
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

/* Z'y over a chunk of rows for all y, in double precision. */
static void zty_chunk(struct panel *p, size_t chunk, size_t r0, size_t r1, const char *z)
{
    const size_t M = p->f->M, n = p->f->n;
    double *w = p->zty + chunk * p->ny * M;

    memset(w, 0, p->ny * M * sizeof *w);
    for (size_t r = r0; r < r1; r++, z += p->ldz * p->size)
        for (size_t t = 0; t < p->ny; t++) {
            if (p->dbl)
                blas_daxpy(M, p->y[t * n + r], (const double *)(const void *)z, w + t * M);
            else
                cpu_simd_now()->axpy_rows(M, p->y[t * n + r], (const float *)(const void *)z,
                                      w + t * M);
        }
}

static double row_factor(const struct fop *f, size_t row)
{
    return f->row_scale ? f->row_scale[row] : 1.0;
}

/* Subtracts the centre from rows of Z and adds up what is left (derivative: adds up rows of dZ). */
static void centre_rows(const struct panel *p, size_t chunk, size_t r0, size_t r1, bool derivative,
                        float *z, size_t ldz)
{
    const size_t M = p->f->M;
    double *sum = p->cols + chunk * M;

    if (derivative == p->derivative)
        memset(sum, 0, M * sizeof *sum);
    for (size_t r = r0; r < r1; r++, z += ldz) {
        const double s = row_factor(p->f, r);
        for (size_t j = 0; !derivative && j < M; j++)
            z[j] = (float)((double)z[j] - s * p->f->centre[j]);
        if (derivative == p->derivative)
            cpu_simd_now()->axpy_rows(M, s, z, sum);
    }
}

/* Packs a chunk of rows for matrix units, one factor after the other. */
static enum status packed_chunk(struct panel *p, size_t chunk, size_t r0, size_t r1, size_t worker,
                                struct err *err)
{
    char *row = p->tmp + worker * p->tmp_bytes;
    float *z = (float *)(void *)row;
    char *right = p->z + chunk * p->chunk_bytes, *left = p->b + chunk * p->chunk_bytes;
    enum status rc = fop_tile(p->f, r0, r1, z, p->ldz, err);

    if (rc != ST_OK)
        return rc;
    if (p->zty && p->cols) /* before the centre is subtracted */
        zty_chunk(p, chunk, r0, r1, row);
    if (p->cols)
        centre_rows(p, chunk, r0, r1, false, z, p->ldz);
    p->units->pack(r1 - r0, p->f->M, z, p->ldz, p->derivative ? NULL : left, right);
    if (p->zty && !p->cols)
        zty_chunk(p, chunk, r0, r1, row);
    if (p->derivative)
        rc = derivative_rows(p, r0, r1, worker, row, err);
    if (rc == ST_OK && p->derivative && p->cols)
        centre_rows(p, chunk, r0, r1, true, z, p->ldb);
    if (rc == ST_OK && p->derivative)
        p->units->pack(r1 - r0, p->f->M, z, p->ldz, left, NULL);
    return rc;
}

/* Makes a chunk of Z and of the right factor: dZ, or Z Omega. */
static void panel_chunk(void *ctx, size_t chunk, size_t worker)
{
    struct panel *p = ctx;
    struct fop *f = p->f;
    const size_t at = chunk * CHUNK_ROWS, r0 = p->r0 + at;
    const size_t r1 = p->rows < at + CHUNK_ROWS ? p->r0 + p->rows : r0 + CHUNK_ROWS;
    char *z = p->z + at * p->ldz * p->size, *b = p->b + at * p->ldb * p->size;
    struct err *err = &p->errs[chunk];
    enum status rc;

    if (p->failed || ctl_stopped(p->ctl))
        return;
    if (p->units) {
        if (packed_chunk(p, chunk, r0, r1, worker, err) != ST_OK)
            p->failed = 1;
        return;
    }
    rc = p->dbl ? fop_tile64(f, r0, r1, (double *)(void *)z, p->ldz, err)
                : fop_tile(f, r0, r1, (float *)(void *)z, p->ldz, err);
    if (rc == ST_OK && p->derivative)
        rc = derivative_rows(p, r0, r1, worker, b, err);
    if (rc != ST_OK) {
        p->failed = 1;
        return;
    }
    if (p->zty)
        zty_chunk(p, chunk, r0, r1, z);
    if (p->cols)
        centre_rows(p, chunk, r0, r1, false, (float *)(void *)z, p->ldz);
    if (p->cols && p->derivative)
        centre_rows(p, chunk, r0, r1, true, (float *)(void *)b, p->ldb);
    if (!p->omega)
        return;
    /* Row-major T = Z Omega is column-major T' = Omega' Z'. */
    if (p->dbl)
        blas_dgemm1(true, false, p->L, r1 - r0, f->M, 1.0, (double *)(void *)p->omega, f->M,
                    (double *)(void *)z, p->ldz, 0.0, (double *)(void *)b, p->ldb);
    else
        blas_sgemm1(true, false, p->L, r1 - r0, f->M, 1.0F, (float *)(void *)p->omega, f->M,
                    (float *)(void *)z, p->ldz, 0.0F, (float *)(void *)b, p->ldb);
}

/* C(i0.., j0..) += sum over chunks of Z_chunk' B_chunk. */
static void product_tile(struct panel *p, size_t i0, size_t mi, size_t j0, size_t nj, size_t worker,
                         double *sum)
{
    const bool diagonal = p->lower && i0 == j0;
    float *tmp = (float *)(void *)(p->tmp + worker * p->tmp_bytes);

    for (size_t at = 0; at < p->rows; at += CHUNK_ROWS) {
        const size_t rows = p->rows - at < CHUNK_ROWS ? p->rows - at : CHUNK_ROWS;
        const char *z = p->z + (at * p->ldz + i0) * p->size;
        const char *b = (p->b ? p->b + at * p->ldb * p->size : p->z + at * p->ldz * p->size) +
                        j0 * p->size;
        if (p->dbl && diagonal)
            blas_dsyrk1(true, false, mi, rows, 1.0, (const double *)(const void *)z, p->ldz, 1.0,
                        sum, p->lds);
        else if (p->dbl)
            blas_dgemm1(false, true, mi, nj, rows, 1.0, (const double *)(const void *)z, p->ldz,
                        (const double *)(const void *)b, p->ldb, 1.0, sum, p->lds);
        else if (diagonal)
            blas_ssyrk1(true, false, mi, rows, 1.0F, (const float *)(const void *)z, p->ldz, 0.0F,
                        tmp, TILE);
        else
            blas_sgemm1(false, true, mi, nj, rows, 1.0F, (const float *)(const void *)z, p->ldz,
                        (const float *)(const void *)b, p->ldb, 0.0F, tmp, TILE);
        for (size_t j = 0; !p->dbl && j < nj; j++) {
            const size_t top = diagonal ? j : 0;
            cpu_simd_now()->add(mi - top, tmp + j * TILE + top, sum + j * p->lds + top);
        }
    }
}

static void units_tile(struct panel *p, size_t i0, size_t mi, size_t j0, size_t nj, double *sum)
{
    for (size_t c = 0; c < p->chunks; c++) {
        const size_t left = p->rows - c * CHUNK_ROWS;
        const char *z = p->z + c * p->chunk_bytes, *b = p->b + c * p->chunk_bytes;
        const bool more = c + 1 < p->chunks;
        const struct simd_product product = {
            .rows = left < CHUNK_ROWS ? left : CHUNK_ROWS,
            .right = z,
            .i0 = i0,
            .mi = mi,
            .left = b,
            .j0 = j0,
            .nj = nj,
            .lower = p->lower,
            .next_right = more ? z + p->chunk_bytes : NULL,
            .next_left = more ? b + p->chunk_bytes : NULL};
        p->units->product(&product, sum, p->lds);
    }
}

/* The sums of a tile over a block of rows.  They are made in a buffer, because columns of C, often
 * a power of two apart, would evict each other from the cache at every chunk.  They continue those
 * of the earlier blocks, chunk after chunk, so that the size of a block does not change the
 * result. */
static void result_tile(struct panel *p, size_t i0, size_t j0, size_t width, size_t worker)
{
    const size_t M = p->f->M, mi = M - i0 < p->edge ? M - i0 : p->edge;
    const size_t nj = p->L - j0 < width ? p->L - j0 : width;
    double *sum = p->sum + worker * p->edge * p->lds;

    memset(sum, 0, nj * p->lds * sizeof *sum);
    for (size_t j = 0; p->r0 && j < nj; j++) {
        const size_t top = p->lower && i0 == j0 ? j : 0;
        memcpy(sum + j * p->lds + top, p->C + (j0 + j) * p->ldc + i0 + top,
               (mi - top) * sizeof *sum);
    }
    if (p->units)
        units_tile(p, i0, mi, j0, nj, sum);
    else
        product_tile(p, i0, mi, j0, nj, worker, sum);
    for (size_t j = 0; j < nj; j++) {
        const size_t top = p->lower && i0 == j0 ? j : 0;
        memcpy(p->C + (j0 + j) * p->ldc + i0 + top, sum + j * p->lds + top,
               (mi - top) * sizeof *sum);
    }
    if (p->lower && p->r0 + p->rows == p->f->n)
        blas_mirror(i0, mi, j0, nj, p->C, p->ldc);
}

static size_t lower_tasks(const struct panel *p)
{
    const size_t down = (p->f->M + p->edge - 1) / p->edge;

    return p->edge == TILE_WIDE ? down * down : down * (down + 1) / 2;
}

/* A task of wide tiles: the squares on the diagonal first, then halves of the squares below it,
 * which take as long. */
static void wide_tile(struct panel *p, size_t task, size_t worker)
{
    const size_t down = (p->f->M + p->edge - 1) / p->edge, half = p->edge / 2;
    size_t i = task, j = task;

    if (task < down) {
        result_tile(p, i * p->edge, j * p->edge, p->edge, worker);
        return;
    }
    blas_lower_tile((task - down) / 2, &i, &j);
    result_tile(p, (i + 1) * p->edge, j * p->edge + (task - down) % 2 * half, half, worker);
}

/* A task of other tiles, in the order of columns. */
static void lower_tile(struct panel *p, size_t task, size_t worker)
{
    size_t j = 0;

    for (size_t left = (p->f->M + p->edge - 1) / p->edge; task >= left; left--) {
        task -= left;
        j++;
    }
    result_tile(p, (j + task) * p->edge, j * p->edge, p->edge, worker);
}

static void panel_tile(void *ctx, size_t task, size_t worker)
{
    struct panel *p = ctx;
    const size_t down = (p->f->M + p->edge - 1) / p->edge;

    if (ctl_stopped(p->ctl))
        return;
    if (p->lower)
        (p->edge == TILE_WIDE ? wide_tile : lower_tile)(p, task, worker);
    else
        result_tile(p, task % down * p->edge, task / down * p->edge, p->edge, worker);
}

/* The centre: the mean of some rows, which is close enough to the mean of all. */
static enum status centre_find(struct fop *f, struct err *err)
{
    enum { SOME = 64 };
    const size_t M = f->M, n = f->n < SOME ? f->n : SOME;
    float *z = f->centre ? NULL : mem_aligned(n * M, sizeof *z, "rows of features", err);
    double *c = z ? mem_calloc(M, sizeof *c, "a centre", err) : NULL;
    enum status rc = f->centre || c ? ST_OK : ST_NOMEM;

    if (c)
        rc = fop_tile(f, 0, n, z, M, err);
    for (size_t r = 0; c && rc == ST_OK && r < n; r++)
        cpu_simd_now()->axpy_rows(M, 1.0 / (row_factor(f, r) * (double)n), z + r * M, c);
    free(z);
    if (c && rc == ST_OK)
        f->centre = c;
    else
        free(c);
    return rc;
}

/* Adds to C what the centre m (M) took away.  With rows s_i (z_i - m), s_i the row factors, u the
 * sums of their columns times s_i, and w = sum s_i^2:
 *   Z'Z = C + m u' + u m' + w m m';  Z'dZ = C + m u', u the sums of the columns of dZ. */
static void centre_back(const struct panel *p)
{
    const size_t M = p->f->M;
    const double *m = p->f->centre, *u = p->cols + CHUNKS_MOST * M;
    double w = 0.0;

    for (size_t r = 0; r < p->f->n; r++)
        w += row_factor(p->f, r) * row_factor(p->f, r);
    for (size_t j = 0; j < M; j++) {
        double *C = p->C + j * p->ldc;
        for (size_t i = 0; p->derivative && i < M; i++)
            C[i] += m[i] * u[j];
        for (size_t i = 0; !p->derivative && i < M; i++) {
            const size_t a = i < j ? i : j, b = i < j ? j : i; /* the same bits in both triangles */
            C[i] += (u[a] * m[b] + m[a] * u[b]) + w * m[a] * m[b];
        }
    }
}

/* C = Z'B over all blocks of rows: chunks are made, then multiplied into tiles of C; blocks, and
 * chunks in a block, are added in order. */
static enum status panel_run(struct panel *p, double *C, size_t ldc, double *zty, enum phase phase,
                             const struct ctl *ctl, struct err *err)
{
    struct fop *f = p->f;
    const size_t most = p->most, down = (f->M + p->edge - 1) / p->edge;
    const size_t across = (p->L + p->edge - 1) / p->edge;
    const size_t tiles = p->lower ? lower_tasks(p) : down * across;

    p->C = C;
    p->ldc = ldc;
    p->ctl = ctl;
    if (f->centres && !p->omega) {
        free(p->cols);
        p->cols = mem_calloc(CHUNKS_MOST + 1, f->M * sizeof *p->cols, "sums of columns", err);
        const enum status rc = p->cols ? centre_find(f, err) : ST_NOMEM;
        if (rc != ST_OK)
            return rc;
    }
    for (p->r0 = 0; p->r0 < f->n; p->r0 += most) {
        p->rows = f->n - p->r0 < most ? f->n - p->r0 : most;
        p->chunks = (p->rows + CHUNK_ROWS - 1) / CHUNK_ROWS;
        ctl_tell(ctl, phase, p->r0, f->n, NAN);
        pool_run(f->pool, p->chunks, panel_chunk, p);
        for (size_t c = 0; p->failed && c < p->chunks; c++)
            if (p->errs[c].code != ST_OK) {
                if (err)
                    *err = p->errs[c];
                return p->errs[c].code;
            }
        if (!ctl_stopped(ctl))
            pool_run(f->pool, tiles, panel_tile, p);
        if (ctl_stopped(ctl))
            return err_set(err, ST_CANCELLED, "stopped at row %zu of %zu (%s)", p->r0, f->n,
                           phase_word(phase));
        for (size_t c = 0; zty && c < p->chunks; c++)
            blas_daxpy(p->ny * f->M, 1.0, p->zty + c * p->ny * f->M, zty);
        for (size_t c = 0; p->cols && c < p->chunks; c++)
            blas_daxpy(f->M, 1.0, p->cols + c * f->M, p->cols + CHUNKS_MOST * f->M);
    }
    if (p->cols)
        centre_back(p);
    ctl_tell(ctl, phase, f->n, f->n, NAN);
    return ST_OK;
}

/* G = Z'Z and zty = Z'y, on the device or by blocks of rows; only tiles on and below the
 * diagonal are computed. */
static enum status gram_into(struct fop *f, size_t ny, const double *y, double *G, size_t ld,
                             double *zty, const struct ctl *ctl, struct err *err)
{
    if (!f->Z && ops_of(f)->gram) {
        ctl_tell(ctl, PHASE_GRAM, 0, f->n, NAN);
        const enum status done = ops_of(f)->gram(state_of(f), ny, y, G, ld, zty, ctl, err);
        if (!goes_on(f, done, err) && done != ST_UNSUPPORTED) {
            ctl_tell(ctl, PHASE_GRAM, f->n, f->n, NAN);
            return done;
        }
    }
    struct panel *p = panel_gram(f, false, err);
    enum status rc = p ? ST_OK : ST_NOMEM;

    if (rc == ST_OK && y && zty) {
        p->y = y;
        p->ny = ny;
        p->zty = mem_calloc(CHUNKS_MOST * ny, f->M * sizeof *p->zty, "partial sums", err);
        memset(zty, 0, ny * f->M * sizeof *zty);
        rc = p->zty ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK) {
        p->lower = true;
        rc = panel_run(p, G, ld, p->zty ? zty : NULL, PHASE_GRAM, ctl, err);
    }
    panel_done(p);
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
    struct panel *p = panel_gram(f, true, err);
    enum status rc = p ? ST_OK : ST_NOMEM;

    if (rc == ST_OK) {
        p->derivative = true;
        p->ihp = ihp;
        rc = panel_run(p, C, f->M, NULL, PHASE_GRAM, ctl, err);
    }
    panel_done(p);
    return rc;
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
        if (!goes_on(f, done, err)) {
            ctl_tell(ctl, PHASE_SKETCH, f->n, f->n, NAN);
            return done;
        }
    }
    struct panel *p = panel_new(f, L, err);
    enum status rc = p ? ST_OK : ST_NOMEM;

    if (rc == ST_OK) {
        p->omega = mem_aligned(f->M * L, p->size, "test matrix", err);
        rc = p->omega ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK) {
        for (size_t i = 0; i < f->M * L; i++) {
            if (p->dbl)
                ((double *)(void *)p->omega)[i] = Omega[i];
            else
                ((float *)(void *)p->omega)[i] = (float)Omega[i];
        }
        rc = panel_run(p, Y, f->M, NULL, PHASE_SKETCH, ctl, err);
    }
    panel_free(p);
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
