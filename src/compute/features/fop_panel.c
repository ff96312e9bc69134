/* compute/features/fop_panel.c -- how the rows of a product of matrix with matrix are cut, and its
 * workspace (fop_panel.h). */
#include "compute/features/fop_panel.h"

#include "base/limits.h"
#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/linalg/blas_kernels.h"

#include <stdlib.h>
#include <string.h>

enum {
    SEGMENT_LEAST = 512, /* rows of a segment, or twice as many with more than SMALL columns */
    SMALL = 512,
    TERM_LEAST = SHARE_JOINED - SHARE_ROWS, /* rows of a term, if there is more than one */
    SEGMENTED = 2048,    /* results of this edge squared or less are summed by segments */
};
static const size_t sums_bytes = (size_t)128 << 20; /* of segments, but one for each thread */
/* Of a workspace of a Gram that is kept, and for each thread. */
static const size_t stays_bytes = (size_t)64 << 20, stays_each = (size_t)8 << 20;

/* Tiles of a result, of which only those on and below the diagonal are made with `lower`. */
static size_t tiles_of(size_t M, size_t L, size_t edge, bool lower)
{
    const size_t down = blas_tiles(M, edge);

    return lower ? down * (down + 1) / 2 : down * blas_tiles(L, edge);
}

/* True where TASKS threads are better served by smaller tiles: there are fewer tiles, or some of
 * the threads would be idle for more than a sixth of the time.  The second would make a Gram slower
 * on one thread, but not a product of two factors. */
static bool uneven(size_t tiles, bool lower)
{
    return tiles < TASKS || (!lower && 6 * tiles < 5 * TASKS * blas_tiles(tiles, TASKS));
}

static struct cut cut_of(size_t n, size_t M, size_t L, bool units, bool lower)
{
    struct cut cut = { .segments = share_segments(n, SHARE_JOINED) };
    const bool small = M * L <= (size_t)SMALL * SMALL;
    const size_t worth = small                                ? 2048
                         : M * L <= (size_t)4 * SMALL * SMALL ? 16384
                                                              : 65536;

    cut.apart = M * L <= (size_t)SEGMENTED * SEGMENTED && n > worth - CHUNK_ROWS;
    if (cut.apart)
        cut.segments = share_segments(n, small ? SEGMENT_LEAST : 2 * SEGMENT_LEAST);
    cut.edge = units ? TILE_UNITS : TILE;
    while (!units && !cut.apart && cut.edge > TILE_LEAST &&
           uneven(tiles_of(M, L, cut.edge, lower), lower))
        cut.edge -= TILE_LEAST / 2;
    return cut;
}

/* The terms of segment s that are here, to term (NULL: none are written); n: the rows here. */
static size_t terms_of(const struct cut *cut, const struct share *share, size_t n, size_t s,
                       struct term *term)
{
    size_t r0, r1;

    share_part(share, n, s, cut->segments, &r0, &r1);
    const size_t rows = r1 - r0, parts = cut->apart ? rows > 0 : blas_tiles(rows, TERM_ROWS);
    for (size_t i = 0; term && i < parts; i++) {
        const size_t steps = blas_tiles(rows, CHUNK_STEP), from = steps * i / parts * CHUNK_STEP,
                     to = at_most(rows, steps * (i + 1) / parts * CHUNK_STEP);
        term[i] = (struct term){ r0 + from, to - from, blas_tiles(to - from, CHUNK_ROWS) };
    }
    return parts;
}

/* Counts the terms of all processes and of this one, and finds the most rows of one. */
static void terms_count(struct panel *p, const struct share *share, size_t n)
{
    const size_t all = share_rows(share, n);

    for (size_t s = 0; s < p->cut.segments; s++) {
        const size_t rows = share_row(all, s + 1, p->cut.segments) -
                            share_row(all, s, p->cut.segments);
        const size_t parts = terms_of(&p->cut, NULL, all, s, NULL);
        p->count += parts;
        p->terms += terms_of(&p->cut, share, n, s, NULL);
        p->rows = parts ? at_least(p->rows, blas_tiles(rows, parts) + CHUNK_STEP) : p->rows;
    }
}

/* Bytes of the sums of a segment that are touched. */
static double segment_bytes(size_t M, size_t L, size_t edge, bool lower)
{
    const double down = (double)(M + PAD), across = (double)L;

    return 8.0 * (lower && M > edge ? 0.5 * across * (down + (double)edge) : across * down);
}

/* Segments that are summed at a time: up to four for each thread, at least one. */
static size_t batch_of(size_t segments, double bytes, size_t threads)
{
    const size_t held = (size_t)((double)sums_bytes / bytes) / threads;

    return at_most(segments, threads * at_least(1, at_most(4, held)));
}

/* Rows of a block, of n here and `all` of all processes, which together need no more room than one:
 * whole terms that `bytes` have room for, but one at least; or chunks of one. */
static size_t block_rows(const struct panel *p, size_t n, size_t all, size_t bytes, size_t columns)
{
    const size_t most = at_most(bytes / (columns * p->size), BLOCK_ROWS);
    const size_t room = n < all ? (size_t)((double)most * (double)n / (double)all) : most;
    const size_t chunks = at_least(1, at_most(room / CHUNK_ROWS, OWN_CHUNKS));

    return p->cut.apart ? chunks * CHUNK_ROWS : at_most(n, at_least(room, p->rows));
}

/* Fills in the sizes of a product's workspace over n rows here of `all`; right: columns of a right
 * factor with storage of its own, else 0. */
static void panel_sizes(struct panel *p, size_t n, size_t all, size_t M, size_t right,
                        size_t threads)
{
    const size_t columns = M + (p->units ? M : right);

    p->L = right ? right : M;
    p->ldz = M + PAD;
    p->ldb = p->L + PAD;
    p->most = block_rows(p, n, all, limits_block_bytes() / (p->units ? 1 : 2), columns);
    /* The last chunk, and the last slice, of each term of a block may have less rows. */
    const size_t more = p->cut.apart ? 0 : at_least(1, at_most(p->terms,
                                                               p->most / TERM_LEAST + 1)) - 1;
    p->slots = blas_tiles(p->most, CHUNK_ROWS) + more;
    p->chunk_bytes = p->units ? p->units->bytes(M) : 0;
    p->z_bytes = p->units ? p->slots * p->chunk_bytes : p->most * p->ldz * p->size;
    p->b_bytes = p->units ? p->z_bytes : right ? p->most * p->ldb * p->size : 0;
    p->tmp_bytes = p->units ? CHUNK_ROWS * p->ldz * sizeof(float)
                   : p->dbl ? sizeof(double) : at_least(M, TILE * TILE) * sizeof(double);
    p->lds = p->cut.apart ? M + PAD : p->cut.edge + PAD;
    p->batch = p->cut.apart ? batch_of(p->terms, segment_bytes(M, p->L, p->cut.edge, p->lower),
                                       threads)
                            : threads;
    p->parts = p->cut.apart ? p->batch : blas_tiles(p->most, PIECE_ROWS) + more;
}

/* Tiles of the result, or results, that each of `batch` sums has room for. */
static size_t sums_of(const struct panel *p)
{
    return p->cut.apart ? p->L : 2 * p->cut.edge;
}

/* The sum of what fop_panel_new allocates, as far as it is touched. */
static double panel_bytes(const struct panel *p, size_t M, size_t right, size_t threads)
{
    const double T = (double)threads, blocks = p->cut.apart ? T : 1.0;
    const double sums = p->cut.apart ? segment_bytes(M, p->L, p->cut.edge, p->lower)
                                     : 8.0 * (double)(sums_of(p) * p->lds);
    const double rest = p->dbl && p->cut.apart ? 8.0 * (double)(M * p->L) : 0.0;

    return blocks * (double)(p->z_bytes + p->b_bytes) + T * (double)p->tmp_bytes +
           (double)p->batch * sums + rest + (p->units ? 0.0 : (double)(M * right * p->size));
}

/* The sizes of a workspace over n rows of a share (NULL: all). */
static struct panel panel_of(const struct share *share, size_t n, size_t M, size_t right,
                             enum precision precision, bool units, bool lower, size_t threads)
{
    const bool dbl = precision == PREC_DOUBLE;
    struct panel p = { .dbl = dbl, .size = dbl ? sizeof(double) : sizeof(float), .lower = lower,
                       .units = units ? cpu_simd_now()->tiles : NULL,
                       .cut = cut_of(share_rows(share, n), M, right ? right : M, units, lower) };

    terms_count(&p, share, n);
    panel_sizes(&p, n, share_rows(share, n), M, right, threads ? threads : 1);
    return p;
}

/* True when matrix units can compute Z'Z in this precision. */
static bool has_units(enum precision precision)
{
    return cpu_simd_now()->tiles && precision == PREC_FLOAT;
}

double fop_product_bytes(size_t n, size_t M, size_t L, enum precision precision, size_t threads)
{
    const size_t T = threads ? threads : 1;
    const struct panel p = panel_of(NULL, n, M, L, precision, L == 0 && has_units(precision),
                                    L == 0, T);

    return panel_bytes(&p, M, L, T);
}

/* True for a workspace that is small enough to be kept for the next product. */
static bool stays(double bytes, size_t threads)
{
    return bytes <= (double)(stays_bytes + threads * stays_each);
}

double fop_kept_bytes(size_t n, size_t M, enum precision precision, size_t threads)
{
    const double bytes = fop_product_bytes(n, M, 0, precision, threads);

    return stays(bytes, threads) ? bytes : 0.0;
}

/* Partial sums of groups of rows, right-hand sides, and a tile of features for each thread, as
 * backend_cpu.c allocates them. */
double fop_pass_bytes(size_t M, size_t k, enum precision precision, size_t threads)
{
    enum { GROUPS = 64, TILE_BYTES = 1 << 19, ROWS = 16 };
    const double size = precision == PREC_DOUBLE ? 8.0 : 4.0, tile = (double)M * ROWS * size;

    return (double)(M * k) * (8.0 * GROUPS + size) +
           (double)(threads ? threads : 1) * (tile > TILE_BYTES ? tile : TILE_BYTES);
}

void fop_panel_free(struct panel *p)
{
    if (!p)
        return;
    free(p->term);
    free(p->block);
    free(p->slice);
    free(p->z);
    free(p->b);
    free(p->omega);
    free(p->tmp);
    free(p->sum);
    free(p->rest);
    free(p->zty);
    free(p->zty_rest);
    free(p->cols);
    free(p->di);
    free(p->dy);
    free(p->errs);
    free(p);
}

/* Everything but the features and sums, which may be large. */
static bool panel_small(struct panel *p, size_t blocks, struct err *err)
{
    const size_t M = p->f->M;

    p->term = mem_calloc(p->terms + 1, sizeof *p->term, "row block", err);
    p->block = p->term ? mem_calloc(blocks, sizeof *p->block, "row block", err) : NULL;
    p->slice = p->block ? mem_calloc(2 * p->parts, sizeof *p->slice, "row block", err) : NULL;
    p->errs = p->slice ? mem_calloc(p->parts, sizeof *p->errs, "row block", err) : NULL;
    p->di = p->errs ? mem_calloc(2 * M + p->L, sizeof *p->di, "bounds of sums", err) : NULL;
    if (!p->di)
        return false;
    p->strip = p->slice + p->parts;
    p->dz = p->di + M;
    p->dj = p->own ? p->dz + M : p->di;
    for (size_t s = 0, at = 0; s < p->cut.segments; s++)
        at += terms_of(&p->cut, p->f->share, p->f->n, s, p->term + at);
    return true;
}

struct panel *fop_panel_new(struct fop *f, size_t right, bool units, bool lower, struct err *err)
{
    const size_t threads = pool_threads(f->pool);
    struct panel *p = mem_calloc(1, sizeof *p, "row block", err);

    if (!p)
        return NULL;
    *p = panel_of(f->share, f->n, f->M, right, f->precision, units, lower, threads);
    p->f = f;
    p->own = right != 0;
    const size_t blocks = p->cut.apart ? threads : 1;
    const bool small = panel_small(p, blocks, err), both = p->dbl && p->cut.apart;
    p->z = small ? mem_aligned(blocks, p->z_bytes, "features of a row block", err) : NULL;
    const bool b = p->z && p->b_bytes;
    p->b = b ? mem_aligned(blocks, p->b_bytes, "right factor of a row block", err) : NULL;
    p->tmp = p->z ? mem_aligned(threads, p->tmp_bytes, "product tiles", err) : NULL;
    p->sum = p->tmp ? mem_aligned(p->batch * sums_of(p), p->lds * sizeof *p->sum, "product tiles",
                                  err)
                    : NULL;
    p->rest = p->sum && both ? mem_aligned(f->M * p->L, sizeof *p->rest, "product tiles", err)
                             : NULL;
    if (!p->sum || (b && !p->b) || (both && !p->rest)) {
        fop_panel_free(p);
        return NULL;
    }
    for (size_t i = 0; i < blocks; i++) {
        p->block[i].z = p->z + i * p->z_bytes;
        p->block[i].b = p->b ? p->b + i * p->b_bytes : NULL;
    }
    return p;
}

size_t fop_panel_block(const struct panel *p, size_t at)
{
    size_t now = 1;

    for (size_t rows = p->term[at].rows; at + now < p->terms; now++) {
        rows += p->term[at + now].rows;
        if (rows > p->most)
            break;
    }
    return now;
}

/* True when matrix units compute Z'Z (derivative: Z'dZ). */
static bool units_serve(const struct fop *f, bool derivative)
{
    return has_units(f->precision) && !f->Z && (!derivative || back_ops(f)->dtile32);
}

struct panel *fop_panel_gram(struct fop *f, bool derivative, struct err *err)
{
    struct panel *kept = f->panel;

    if (derivative || !kept)
        return fop_panel_new(f, derivative ? f->M : 0, units_serve(f, derivative), !derivative,
                             err);
    f->panel = NULL;
    return kept;
}

/* Frees a workspace, or keeps that of a Gram: a search makes many of them, and the pages of a kept
 * workspace need not be cleared again. */
void fop_panel_done(struct panel *p)
{
    const size_t threads = p ? pool_threads(p->f->pool) : 1;

    if (!p || !p->lower || !stays(panel_bytes(p, p->f->M, 0, threads), threads)) {
        fop_panel_free(p);
        return;
    }
    free(p->zty);
    free(p->zty_rest);
    free(p->dy);
    p->zty = p->zty_rest = p->dy = NULL;
    p->y = NULL;
    p->ny = 0;
    p->failed = 0;
    memset(p->errs, 0, p->parts * sizeof *p->errs);
    p->f->panel = p;
}
