/* compute/ranks/parted.c -- segments of rows that a device sums apart (parted.h). */
#include "compute/ranks/parted.h"

#include "base/mem.h"
#include "compute/features/fop_rows.h"
#include "compute/fold.h"
#include "compute/linalg/blas.h"
#include "compute/share.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAMPLE = 16,  /* rows of a segment by which its sums of squares are guessed */
    COLUMNS = 32, /* columns of a task; a power of two */
    LEAST = 16,   /* vectors of a request at least */
};
static const double room_bytes = 5e8; /* of the sums of all segments, about */
/* As in compute/features/fop_bounds.c: bounds are so many times the guess; a column whose sample is
 * 0 counts as one with this part of the largest sum. */
static const double headroom = 4.0, unseen = 1.0 / 256.0;

/* A segment of the rows here, as rows of its own for the processor. */
struct piece {
    struct source src;
    size_t r0;
    const struct source *of;
    struct fop *f; /* NULL: not needed so far */
};
struct parted {
    const struct featmap *fm;
    const struct source *src;
    struct fop_opts opts;
    void *there; /* the device's operator, or NULL */
    atomic_bool lost;
    size_t n, M, nhp;
    size_t of, pieces; /* segments of the rows of all processes, and of those here */
    struct piece piece[SHARE_SEGMENTS];
    double hp[KERNEL_MAX_HP];
    bool set, unhalved;
};

static const struct backend_ops *device;
static struct { pthread_mutex_t lock; bool news; struct err why; } failed = {
    .lock = PTHREAD_MUTEX_INITIALIZER
};

bool parted_lost(struct err *why)
{
    pthread_mutex_lock(&failed.lock);
    const bool news = failed.news;
    *why = failed.why;
    failed.news = false;
    pthread_mutex_unlock(&failed.lock);
    return news;
}

/* The processor goes on; callable from any task. */
static void lose(struct parted *p, struct err *err)
{
    pthread_mutex_lock(&failed.lock);
    if (!atomic_exchange(&p->lost, true)) {
        failed.news = true;
        failed.why = *err;
    }
    pthread_mutex_unlock(&failed.lock);
    err_clear(err);
}

/* Segments by the processor. */

static enum status piece_rows(const struct source *src, size_t r0, size_t r1, double *x,
                              struct err *err)
{
    const struct piece *piece = src->ctx;

    return piece->of->rows(piece->of, piece->r0 + r0, piece->r0 + r1, x, err);
}

/* The processor's operator over segment s. */
static struct fop *piece_open(struct parted *p, size_t s, struct err *err)
{
    struct piece *piece = &p->piece[s];
    struct fop_opts o = p->opts;

    if (piece->f)
        return piece->f;
    o.share = NULL;
    o.row_scale = o.row_scale ? o.row_scale + piece->r0 : NULL;
    piece->f = fop_new(backend_cpu(), p->fm, &piece->src, &o, err);
    if (piece->f && p->set && fop_set(piece->f, p->hp, err) != ST_OK) {
        fop_free(piece->f);
        piece->f = NULL;
    }
    if (piece->f && p->unhalved)
        fop_unhalve(piece->f);
    return piece->f;
}

/* Opening. */

static void parted_close(void *state)
{
    struct parted *p = state;

    if (p->there)
        device->close(p->there);
    for (size_t s = 0; s < p->pieces; s++)
        fop_free(p->piece[s].f);
    free(p);
}

static void cut(struct parted *p)
{
    const struct share *share = p->opts.share;
    const size_t all = share_rows(share, p->n);

    p->of = share_segments(all, SHARE_JOINED);
    for (size_t s = 0; s < p->of; s++) {
        size_t r0, r1;
        share_part(share, p->n, s, p->of, &r0, &r1);
        if (r0 == r1)
            continue;
        struct piece *piece = &p->piece[p->pieces++];
        *piece = (struct piece){ .src = *p->src, .r0 = r0, .of = p->src };
        piece->src.n = r1 - r0;
        piece->src.rows = piece_rows;
        piece->src.ctx = piece;
        piece->src.row_scale = NULL;
        piece->src.name = 0;
        piece->src.places = NULL;
    }
}

static void *parted_open(const struct featmap *fm, const struct source *src,
                         const struct fop_opts *opts, struct err *err)
{
    struct parted *p = mem_calloc(1, sizeof *p, "feature operator", err);
    struct err why = { 0 };

    if (!p)
        return NULL;
    p->fm = fm, p->src = src, p->opts = *opts;
    p->n = src->n, p->M = fm->M, p->nhp = kernel_nhp(&fm->kernel);
    cut(p);
    if (!device || (device->serves && !device->serves(fm))) {
        p->lost = true; /* it was told when the process began, or is no failure */
        return p;
    }
    p->there = device->open(fm, src, opts, &why);
    if (!p->there)
        lose(p, &why);
    return p;
}

static enum status parted_set(void *state, const double *hp, struct err *err)
{
    struct parted *p = state;
    struct err why = { 0 };
    enum status rc = p->lost ? ST_OK : device->set(p->there, hp, &why);

    if (rc == ST_BACKEND || rc == ST_NOMEM) {
        lose(p, &why);
        rc = ST_OK;
    }
    if (rc != ST_OK && err)
        *err = why;
    for (size_t s = 0; rc == ST_OK && s < p->pieces; s++)
        if (p->piece[s].f)
            rc = fop_set(p->piece[s].f, hp, err);
    memcpy(p->hp, hp, p->nhp * sizeof *hp);
    p->set = true;
    return rc;
}

static void parted_unhalve(void *state)
{
    struct parted *p = state;

    p->unhalved = true;
    if (!p->lost && device->unhalve)
        device->unhalve(p->there);
    for (size_t s = 0; s < p->pieces; s++)
        if (p->piece[s].f)
            fop_unhalve(p->piece[s].f);
}

/* Requests of one segment. */

enum what { PASS, EXACT, ZTV, ZP, SKETCH, ROUGH, BACK, GRAM };
/* k vectors `in`, of M or of n numbers; what comes of them in `out`; the vectors V and the matrix S
 * of BACK; Z'in of GRAM.  Vectors of n are those of all rows here. */
struct asked {
    enum what what;
    size_t k;
    const double *in, *V, *S;
    double *out, *zty;
};

static enum status by_device(struct parted *p, const struct asked *a, size_t s,
                             const struct ctl *ctl, struct err *err)
{
    const struct piece *piece = &p->piece[s];
    const size_t M = p->M;

    device->range(p->there, piece->r0, piece->r0 + piece->src.n);
    switch (a->what) {
    case PASS: return device->pass(p->there, a->k, a->in, a->out, ctl, err);
    case EXACT: return device->pass_exact(p->there, a->k, a->in, a->out, ctl, err);
    case ZTV: return device->ztv(p->there, a->k, a->in, a->out, ctl, err);
    case ZP: return device->zp(p->there, a->k, a->in, a->out, ctl, err);
    case SKETCH:
    case ROUGH:
        return device->sketch(p->there, a->k, a->in, a->out, a->what == ROUGH, ctl, err);
    case BACK:
        memset(a->out, 0, p->nhp * sizeof *a->out);
        return device->back ? device->back(p->there, a->S, a->k, a->in, a->V, a->out, ctl, err)
                            : ST_UNSUPPORTED;
    default:
        return device->gram ? device->gram(p->there, a->k, a->in, a->out, M, a->zty, ctl, err)
                            : ST_UNSUPPORTED;
    }
}

static enum status by_processor(struct parted *p, const struct asked *a, size_t s,
                                const struct ctl *ctl, struct err *err)
{
    const size_t r0 = p->piece[s].r0, rows = p->piece[s].src.n, k = a->k;
    struct fop *f = piece_open(p, s, err);
    double *own = f && k ? mem_aligned(k * rows, sizeof *own, "vectors of rows", err) : NULL;
    enum status rc = f && (own || !k) ? ST_OK : err ? err->code : ST_NOMEM;

    if (rc != ST_OK)
        return rc;
    if (a->what == ZTV || a->what == BACK || a->what == GRAM)
        for (size_t c = 0; c < k; c++)
            memcpy(own + c * rows, a->in + c * p->n + r0, rows * sizeof *own);
    const struct fop_slope slope = { a->S, own, a->V, k, p->nhp };
    switch (a->what) {
    case PASS: rc = fop_pass(f, k, a->in, a->out, ctl, err); break;
    case EXACT: rc = fop_pass_exact(f, k, a->in, a->out, ctl, err); break;
    case ZTV: rc = fop_ztv(f, k, own, a->out, ctl, err); break;
    case ZP: rc = fop_zp(f, k, a->in, own, ctl, err); break;
    case SKETCH: rc = fop_sketch(f, k, a->in, a->out, ctl, err); break;
    case ROUGH: rc = fop_sketch_rough(f, k, a->in, a->out, ctl, err); break;
    case BACK:
        memset(a->out, 0, p->nhp * sizeof *a->out);
        rc = fop_back(f, &slope, a->out, ctl, err);
        break;
    case GRAM: rc = fop_gram_of(f, k, own, a->out, a->zty, NULL, ctl, err); break;
    }
    for (size_t c = 0; rc == ST_OK && a->what == ZP && c < k; c++)
        memcpy(a->out + c * p->n + r0, own + c * rows, rows * sizeof *own);
    free(own);
    return rc;
}

static enum status segment(struct parted *p, const struct asked *a, size_t s,
                           const struct ctl *ctl, struct err *err)
{
    struct err why = { 0 };

    if (!p->lost) {
        const enum status rc = by_device(p, a, s, ctl, &why);
        if (rc == ST_BACKEND || rc == ST_NOMEM) {
            lose(p, &why);
        } else if (rc != ST_UNSUPPORTED) {
            if (rc != ST_OK && err)
                *err = why;
            return rc;
        }
    }
    return by_processor(p, a, s, ctl, err);
}

/* Rows of features of a segment, from its first one on, for bounds. */
static enum status sample(struct parted *p, size_t s, size_t rows, double *z, struct err *err)
{
    const size_t r0 = p->piece[s].r0, r1 = r0 + rows;
    struct err why = { 0 };

    if (!p->lost) {
        if (device->tile64(p->there, r0, r1, z, p->M, &why) == ST_OK)
            return ST_OK;
        lose(p, &why);
    }
    struct fop *f = piece_open(p, s, err);
    return f ? fop_tile64(f, 0, rows, z, p->M, err) : err ? err->code : ST_NOMEM;
}

/* Vectors of M. */

/* out (`per` numbers for each of k vectors) = the sums of all segments, a part of the vectors after
 * the other; how many these are does not depend on how rows are shared. */
static enum status vectors(struct parted *p, const struct asked *a, size_t per, double *out,
                           const struct ctl *ctl, struct err *err)
{
    const double fit = room_bytes / (8.0 * (double)per * (double)p->of);
    const size_t each = a->what == BACK || !(fit < (double)a->k) ? a->k
                        : fit > (double)LEAST                    ? (size_t)fit
                                                                 : LEAST;
    const size_t in = a->what == ZTV ? p->n : p->M;
    const size_t most = a->what == BACK ? 1 : each < a->k ? each : a->k;
    double *part = mem_aligned(p->pieces * most, per * sizeof *part, "sums of segments", err);
    enum status rc = part ? ST_OK : ST_NOMEM;
    size_t at = 0;

    do {
        struct asked some = *a;
        some.k = a->what == BACK || a->k - at < each ? a->k - at : each;
        some.in = a->in ? a->in + at * in : NULL;
        const size_t numbers = a->what == BACK ? per : some.k * per;
        for (size_t s = 0; rc == ST_OK && s < p->pieces; s++) {
            some.out = part + s * numbers;
            rc = segment(p, &some, s, ctl, err);
        }
        const struct share_parts parts = { p->of, p->pieces, numbers, part, true };
        if (rc == ST_OK)
            rc = share_fold(p->opts.share, p->opts.pool, &parts, out + at * per, err);
        at += some.k;
    } while (rc == ST_OK && at < a->k);
    free(part);
    return rc;
}

static enum status parted_pass(void *state, size_t k, const double *P, double *W,
                               const struct ctl *ctl, struct err *err)
{
    struct parted *p = state;

    return vectors(p, &(struct asked){ .what = PASS, .k = k, .in = P }, p->M, W, ctl, err);
}

static enum status parted_pass_exact(void *state, size_t k, const double *P, double *W,
                                     const struct ctl *ctl, struct err *err)
{
    struct parted *p = state;

    return vectors(p, &(struct asked){ .what = EXACT, .k = k, .in = P }, p->M, W, ctl, err);
}

static enum status parted_ztv(void *state, size_t k, const double *V, double *W,
                              const struct ctl *ctl, struct err *err)
{
    struct parted *p = state;

    return vectors(p, &(struct asked){ .what = ZTV, .k = k, .in = V }, p->M, W, ctl, err);
}

static enum status parted_sketch(void *state, size_t L, const double *Omega, double *Y, bool rough,
                                 const struct ctl *ctl, struct err *err)
{
    struct parted *p = state;
    const struct asked a = { .what = rough ? ROUGH : SKETCH, .k = L, .in = Omega };

    return vectors(p, &a, p->M, Y, ctl, err);
}

static enum status parted_zp(void *state, size_t k, const double *P, double *T,
                             const struct ctl *ctl, struct err *err)
{
    struct parted *p = state;
    const struct asked a = { .what = ZP, .k = k, .in = P, .out = T };
    enum status rc = ST_OK;

    for (size_t s = 0; rc == ST_OK && s < p->pieces; s++)
        rc = segment(p, &a, s, ctl, err);
    return rc;
}

static enum status parted_back(void *state, const double *S, size_t k, const double *T,
                               const double *V, double *grad, const struct ctl *ctl,
                               struct err *err)
{
    struct parted *p = state;
    const struct asked a = { .what = BACK, .k = k, .in = T, .V = V, .S = S };
    double *sum = mem_calloc(p->nhp + 1, sizeof *sum, "a gradient", err);
    enum status rc = sum ? ST_OK : ST_NOMEM;

    if (rc == ST_OK && p->nhp > 0)
        rc = vectors(p, &a, p->nhp, sum, ctl, err);
    if (rc == ST_OK)
        blas_daxpy(p->nhp, 1.0, sum, grad);
    free(sum);
    return rc;
}

/* Gram matrices: too large for those of all segments, so that they are added one after the other,
 * with units that follow from bounds (fold.h). */

struct summing {
    struct parted *p;
    double *W, *G, *rest; /* of a segment; sums; what rounding leaves, or NULL */
    double *d;            /* M roots of bounds of the sums of squares of columns */
    size_t ld;
    char *room;           /* M numbers of each worker */
    atomic_bool beyond;
};

static void fold_columns(void *ctx, size_t task, size_t worker)
{
    struct summing *g = ctx;
    const size_t M = g->p->M, end = (task + 1) * COLUMNS < M ? (task + 1) * COLUMNS : M;
    double *unit = (double *)(void *)(g->room + worker * mem_lines(M * sizeof *unit));
    bool beyond = false;

    for (size_t j = task * COLUMNS; j < end; j++) {
        fold_units_of(M - j, g->p->of, g->d + j, g->d[j], unit);
        beyond |= fold_add_within(M - j, g->p->of, g->W + j * M + j, unit, g->G + j * g->ld + j,
                                  g->rest ? g->rest + j * M + j : NULL);
    }
    if (beyond)
        g->beyond = true;
}

/* The rest is added, and the upper triangle follows the lower one. */
static void finish_columns(void *ctx, size_t task, size_t worker)
{
    struct summing *g = ctx;
    const size_t M = g->p->M, end = (task + 1) * COLUMNS < M ? (task + 1) * COLUMNS : M;

    (void)worker;
    for (size_t j = task * COLUMNS; g->rest && j < end; j++)
        blas_daxpy(M - j, 1.0, g->rest + j * M + j, g->G + j * g->ld + j);
    for (size_t b = task * COLUMNS; b < M; b += COLUMNS)
        for (size_t i = b; i < M && i < b + COLUMNS; i++)
            for (size_t j = task * COLUMNS; j < end && j < i; j++)
                g->G[i * g->ld + j] = g->G[j * g->ld + i];
}

/* d = the roots of bounds: from samples, or from the diagonals of all segments. */
static enum status bounds(struct summing *g, bool all, const struct ctl *ctl, struct err *err)
{
    struct parted *p = g->p;
    const size_t M = p->M;
    double *z = mem_aligned(SAMPLE, M * sizeof *z, "a sample's features", err), most = 0.0;
    const struct asked a = { .what = GRAM, .out = g->W };
    enum status rc = z ? ST_OK : ST_NOMEM;

    memset(g->d, 0, M * sizeof *g->d);
    for (size_t s = 0; rc == ST_OK && s < p->pieces; s++) {
        const size_t n = p->piece[s].src.n, rows = n < SAMPLE ? n : SAMPLE;
        rc = all ? segment(p, &a, s, ctl, err) : sample(p, s, rows, z, err);
        for (size_t j = 0; rc == ST_OK && j < M; j++) {
            double sum = all ? g->W[j * M + j] : 0.0;
            for (size_t r = 0; !all && r < rows; r++)
                sum += z[r * M + j] * z[r * M + j] * (double)n / (double)rows;
            g->d[j] = fmax(g->d[j], sum);
        }
    }
    free(z);
    if (rc == ST_OK)
        rc = share_most(p->opts.share, M, g->d, err);
    for (size_t j = 0; j < M; j++)
        most = fmax(most, g->d[j]);
    for (size_t j = 0; j < M; j++)
        g->d[j] = sqrt(headroom * (g->d[j] > 0.0 || all ? g->d[j] : unseen * most));
    return rc;
}

/* The sums of all segments here, and whether some term, here or elsewhere, was beyond its bound. */
static enum status add_all(struct summing *g, struct asked *a, double *zty, bool *beyond,
                           const struct ctl *ctl, struct err *err)
{
    struct parted *p = g->p;
    const size_t M = p->M, tasks = (M + COLUMNS - 1) / COLUMNS;
    enum status rc = ST_OK;
    double flag;

    for (size_t j = 0; j < M; j++)
        memset(g->G + j * g->ld, 0, M * sizeof *g->G);
    if (g->rest)
        memset(g->rest, 0, M * M * sizeof *g->rest);
    g->beyond = false;
    for (size_t s = 0; rc == ST_OK && s < p->pieces; s++) {
        a->zty = zty ? zty + s * a->k * M : NULL;
        rc = segment(p, a, s, ctl, err);
        if (rc == ST_OK)
            pool_run(p->opts.pool, tasks, fold_columns, g);
    }
    flag = g->beyond ? 1.0 : 0.0;
    if (rc == ST_OK)
        rc = share_most(p->opts.share, 1, &flag, err);
    *beyond = flag > 0.0;
    return rc;
}

static enum status meet_all(struct summing *g, const struct share_parts *zty, double *out,
                            struct err *err)
{
    struct parted *p = g->p;
    const struct share *share = p->opts.share;
    const size_t M = p->M;
    enum status rc = share_sum_matrix(share, M, M, true, g->G, g->ld, err);

    if (rc == ST_OK && g->rest)
        rc = share_sum_matrix(share, M, M, true, g->rest, M, err);
    if (rc == ST_OK)
        pool_run(p->opts.pool, (M + COLUMNS - 1) / COLUMNS, finish_columns, g);
    return rc == ST_OK && out ? share_fold(share, p->opts.pool, zty, out, err) : rc;
}

static enum status parted_gram(void *state, size_t ny, const double *y, double *G, size_t ld,
                               double *zty, const struct ctl *ctl, struct err *err)
{
    struct parted *p = state;
    const size_t M = p->M, k = y && zty ? ny : 0;
    const bool both = p->opts.precision == PREC_DOUBLE;
    struct summing g = { .p = p, .G = G, .ld = ld };
    bool beyond = true;

    double *room = mem_aligned(M * (both ? 2 : 1) + 1, M * sizeof *room, "a Gram matrix", err);
    double *part = room ? mem_calloc(p->pieces * k + 1, M * sizeof *part, "partial sums", err)
                        : NULL;
    g.room = part ? mem_aligned(pool_threads(p->opts.pool), mem_lines(M * sizeof *room),
                                "units of sums", err)
                  : NULL;
    enum status rc = g.room ? ST_OK : ST_NOMEM;
    g.W = room;
    g.d = room ? room + M * M : NULL;
    g.rest = room && both ? g.d + M : NULL;
    struct asked a = { .what = GRAM, .k = k, .in = y, .out = g.W };
    for (int all = 0; rc == ST_OK && beyond && all < 2; all++) {
        rc = bounds(&g, all, ctl, err);
        if (rc == ST_OK)
            rc = add_all(&g, &a, k ? part : NULL, &beyond, ctl, err);
    }
    const struct share_parts parts = { p->of, p->pieces, k * M, part, true };
    if (rc == ST_OK)
        rc = meet_all(&g, &parts, k ? zty : NULL, err);
    free(room);
    free(part);
    free(g.room);
    return rc;
}

/* Rows: where the device fails, the caller has an operator of the processor. */

static enum status tile_said(struct parted *p, enum status rc, struct err *why, struct err *err)
{
    if (rc == ST_BACKEND || rc == ST_NOMEM) {
        lose(p, why);
        return ST_BACKEND;
    }
    if (rc != ST_OK && err)
        *err = *why;
    return rc;
}

static enum status parted_tile(void *state, size_t r0, size_t r1, float *z, size_t ld,
                               struct err *err)
{
    struct parted *p = state;
    struct err why = { 0 };

    return p->lost ? ST_BACKEND
                   : tile_said(p, device->tile(p->there, r0, r1, z, ld, &why), &why, err);
}

static enum status parted_tile64(void *state, size_t r0, size_t r1, double *z, size_t ld,
                                 struct err *err)
{
    struct parted *p = state;
    struct err why = { 0 };

    return p->lost ? ST_BACKEND
                   : tile_said(p, device->tile64(p->there, r0, r1, z, ld, &why), &why, err);
}

static const struct backend_ops parted_ops = {
    .abi = BACKEND_ABI,
    .name = "parted",
    .summary = "segments of rows by a device",
    .shares = true,
    .open = parted_open,
    .close = parted_close,
    .set = parted_set,
    .pass = parted_pass,
    .pass_exact = parted_pass_exact,
    .unhalve = parted_unhalve,
    .zp = parted_zp,
    .ztv = parted_ztv,
    .tile = parted_tile,
    .tile64 = parted_tile64,
    .back = parted_back,
    .gram = parted_gram,
    .sketch = parted_sketch,
};

const struct backend_ops *parted_backend(const struct backend_ops *of)
{
    device = of && of->range ? of : NULL;
    return &parted_ops;
}
