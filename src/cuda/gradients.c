/* cuda/gradients.c -- the gradient with respect to all hyperparameters on the device: B = Z S + T
 * V' by tiles of rows, and its sum with all dZ (gradients_real.h), summed by blocks in a fixed
 * order. It is computed in double if the device is fast at that, because the sums are those of an
 * inverse. */
#include "cuda/backend_impl.h"

#include "base/mem.h"
#include "cuda/gradients.h"
#include "cuda/batch.h"

#include <stdlib.h>
#include <string.h>

enum {
    PART_BYTES = 64 << 20,  /* at most so many bytes of partial sums for one term */
    PIECE = 4 << 20,        /* numbers of the host that are rounded at once */
};

struct term_back { struct back_args a; struct room part; size_t blocks, chunks; };

struct back_run {
    bool dbl;
    size_t k, rows;             /* columns of T; the largest number of rows in a tile */
    const void *S, *V;          /* on the device, in the precision of the products; or NULL */
    const double *T;            /* on the host */
    double *temp;               /* on the host: k vectors for the rows of a tile */
    struct room B, S_there, V_there;
    struct term_back *term;
    struct room scratch;
};

/* How many rows go into each of at most `chunks` chunks. */
static int rows_per(size_t rows, size_t chunks)
{
    const size_t per = (rows + chunks - 1) / chunks;

    return per < 1 ? 1 : (int)per;
}

static enum status prepare_term(struct cuda *c, struct back_run *b, size_t i, struct err *err)
{
    const struct program *p = &c->prog;
    struct term_back *t = &b->term[i];
    struct back_args *a = &t->a;
    const size_t D = (size_t)p->term[i].D, nb = p->term[i].copied ? 1 : (size_t)p->term[i].nb;

    *a = (struct back_args){.s = {.term = p->term[i],
                                  .x64 = p->x64,
                                  .ldx = c->d,
                                  .wide = p->wide[i],
                                  .to = {.out = p->out[i]}},
                            .b64 = b->dbl,
                            .ldb = c->M};
    if (nb == 0 || p->term[i].cols == 0)
        return ST_OK;
    const enum status rc = program_links(p, i, a, err);
    if (rc != ST_OK)
        return rc;
    a->slots = p->term[i].copied ? p->term[i].cols : (2 * (size_t)a->links + 1) * D;
    const size_t bytes = nb * a->slots * sizeof(double), fit = PART_BYTES / bytes;
    size_t want = 8 * (size_t)c->info.sms / nb + 1; /* enough blocks to keep the device busy */
    want = want > fit && fit ? fit : want;
    a->s.per = rows_per(b->rows, want);
    t->chunks = (b->rows + (size_t)a->s.per - 1) / (size_t)a->s.per;
    t->blocks = nb * t->chunks;
    return tiles_room(c, &t->part, t->chunks * bytes, "sums of derivatives", err);
}

/* Copies a matrix of the host to the device, in the precision of the products. */
static enum status send_matrix(struct cuda *c, struct back_run *b, struct room *r, const double *A,
                               size_t numbers, struct err *err)
{
    enum status rc = tiles_room(c, r, numbers * (b->dbl ? 8 : 4), "the gradient's matrix", err);

    if (rc != ST_OK || b->dbl)
        return rc == ST_OK ? device_upload(c->dev, STREAM_WORK, r->at, A, numbers * 8, err) : rc;
    const size_t piece = PIECE < numbers ? PIECE : numbers;
    rc = tiles_room(c, &c->out, piece * 8, "the gradient's matrix", err);
    for (size_t at = 0; rc == ST_OK && at < numbers; at += piece) {
        const size_t some = numbers - at < piece ? numbers - at : piece;
        rc = device_upload(c->dev, STREAM_WORK, c->out.at, A + at, some * 8, err);
        if (rc == ST_OK)
            rc = device_narrow(c->dev, some, c->out.at, (float *)r->at + at, err);
    }
    return rc;
}

/* Copies T of a tile, rows x k, to c->right in the precision of the products. */
static enum status send_T(struct cuda *c, struct back_run *b, size_t r0, size_t rows,
                          struct err *err)
{
    /* The upload of temp for the previous tile must be complete. */
    enum status rc = device_wait(c->dev, err);

    for (size_t i = 0; rc == ST_OK && i < b->k; i++)
        memcpy(b->temp + i * rows, b->T + i * c->n + r0, rows * sizeof *b->temp);
    if (rc == ST_OK)
        rc = device_upload(c->dev, STREAM_WORK, c->left.at, b->temp, rows * b->k * sizeof(double),
                           err);
    return rc == ST_OK && !b->dbl ? device_narrow(c->dev, rows * b->k, c->left.at, c->right.at, err)
                                  : rc;
}

/* Computes B of a tile: M x rows, column-major. */
static enum status tile_B(struct cuda *c, struct back_run *b, size_t r0, size_t r1, const void *x,
                          struct err *err)
{
    const size_t rows = r1 - r0, M = c->M;
    enum status rc = ST_OK;

    if (b->S) {
        rc = tiles_rows(c, r0, r1, x, c->tile.at, b->dbl ? FORM_F64 : FORM_F32, M, err);
        if (rc == ST_OK)
            rc = b->dbl ? device_dgemm(c->dev, false, false, M, rows, M, b->S, M, c->tile.at, M,
                                       0.0, b->B.at, M, err)
                        : device_sgemm(c->dev, false, false, M, rows, M, b->S, M, c->tile.at, M,
                                       0.0F, b->B.at, M, err);
    }
    if (rc != ST_OK || b->k == 0)
        return rc;
    rc = send_T(c, b, r0, rows, err);
    if (rc == ST_OK && b->dbl)
        return device_dgemm(c->dev, false, true, M, rows, b->k, b->V, M, c->left.at, rows,
                            b->S ? 1.0 : 0.0, b->B.at, M, err);
    return rc == ST_OK ? device_sgemm(c->dev, false, true, M, rows, b->k, b->V, M, c->right.at,
                                      rows, b->S ? 1.0F : 0.0F, b->B.at, M, err)
                       : rc;
}

static enum status back_tile(struct cuda *c, void *ctx, size_t r0, size_t r1, const void *x,
                             struct err *err)
{
    struct back_run *b = ctx;
    enum status rc = tile_B(c, b, r0, r1, x, err);

    for (size_t i = 0; rc == ST_OK && i < c->prog.nterms; i++) {
        struct back_args a = b->term[i].a;
        if (a.slots == 0)
            continue;
        a.B = b->B.at;
        a.part = b->term[i].part.at;
        a.s.x = x;
        a.s.rows = r1 - r0;
        a.s.to.factor = c->factor ? (const double *)c->factor + r0 : NULL;
        rc = tiles_scratch(c, &b->scratch, back_grid(&a), &a.s, err);
        if (rc == ST_OK)
            rc = device_back(c->dev, &a, err);
    }
    return rc;
}

/* Adds the sums of a term's slots to the hyperparameters that they belong to. */
static enum status collect(struct cuda *c, struct back_run *b, size_t i, double *grad,
                           struct err *err)
{
    const struct term_back *t = &b->term[i];
    const size_t slots = t->a.slots;
    struct back_sum_args s = { t->blocks, slots, t->part.at, NULL };
    double *sum = slots ? mem_calloc(slots, sizeof *sum, "derivatives", err) : NULL;
    enum status rc = slots && !sum ? ST_NOMEM : ST_OK;

    if (slots && rc == ST_OK)
        rc = tiles_room(c, &c->out, slots * sizeof *sum, "derivatives", err);
    s.out = c->out.at;
    if (slots && rc == ST_OK)
        rc = device_back_sum(c->dev, &s, err);
    if (slots && rc == ST_OK)
        rc = device_download(c->dev, sum, s.out, slots * sizeof *sum, err);
    if (slots && rc == ST_OK)
        program_collect(&c->prog, i, &t->a, sum, grad);
    free(sum);
    return rc;
}

static enum status back_rooms(struct cuda *c, struct back_run *b, const double *S, const double *V,
                              struct err *err)
{
    const size_t size = b->dbl ? 8 : 4;
    enum status rc = tiles_room(c, &b->B, b->rows * c->M * size, "the gradient's rows", err);

    if (rc == ST_OK && S)
        rc = tiles_room(c, &c->tile, b->rows * c->M * size, "a tile of features", err);
    if (rc == ST_OK && S)
        rc = send_matrix(c, b, &b->S_there, S, c->M * c->M, err);
    if (rc == ST_OK && b->k)
        rc = send_matrix(c, b, &b->V_there, V, c->M * b->k, err);
    if (rc == ST_OK && b->k)
        rc = tiles_room(c, &c->left, b->rows * b->k * 8, "products with the rows", err);
    if (rc == ST_OK && b->k && !b->dbl)
        rc = tiles_room(c, &c->right, b->rows * b->k * 4, "products with the rows", err);
    b->S = b->S_there.at;
    b->V = b->V_there.at;
    for (size_t i = 0; rc == ST_OK && i < c->prog.nterms; i++) {
        rc = prepare_term(c, b, i, err);
        if (rc == ST_OK && b->term[i].part.at)
            rc = device_zero(c->dev, b->term[i].part.at, b->term[i].part.bytes, err);
    }
    return rc;
}

static enum status back_all(struct cuda *c, struct back_run *b, const double *S, const double *V,
                            double *grad, const struct ctl *ctl, struct err *err)
{
    enum status rc = back_rooms(c, b, S, V, err);

    if (rc == ST_OK)
        rc = tiles_over(c, c->from, c->to, b->rows, back_tile, b, ctl, err);
    for (size_t i = 0; rc == ST_OK && i < c->prog.nterms; i++)
        rc = collect(c, b, i, grad, err);
    device_wait(c->dev, NULL);
    for (size_t i = 0; i < c->prog.nterms; i++)
        device_free(c->dev, b->term[i].part.at);
    device_free(c->dev, b->B.at);
    device_free(c->dev, b->S_there.at);
    device_free(c->dev, b->V_there.at);
    device_free(c->dev, b->scratch.at);
    return rc;
}

enum status gradients_back(void *state, const double *S, size_t k, const double *T, const double *V,
                           double *grad, const struct ctl *ctl, struct err *err)
{
    struct cuda *c = state;
    struct back_run b = {
        .dbl = c->opts.precision == PREC_DOUBLE || c->info.fast_double, .k = k, .T = T};
    const size_t size = b.dbl ? 8 : 4;

    pthread_mutex_lock(&c->lock);
    const double M = (double)c->M, flops = 2.0 * M * (S ? M + (double)k : (double)k);
    const double steps =
        8.0 * M / batch_rate(&c->info, BATCH_STEPS); /* forward and back, link by link */
    const double each = flops / batch_rate(&c->info, b.dbl ? BATCH_DOUBLE : BATCH_SINGLE) + steps;
    b.rows = batch_count(0.0, each, 16, tiles_height(c, 2 * c->M * size + k * 12));
    b.term = mem_calloc(c->prog.nterms, sizeof *b.term, "derivatives", err);
    b.temp = k ? mem_aligned(b.rows * k, sizeof *b.temp, "derivatives", err) : NULL;
    const enum status rc =
        b.term && (b.temp || !k) ? back_all(c, &b, S, V, grad, ctl, err) : ST_NOMEM;
    pthread_mutex_unlock(&c->lock);
    free(b.term);
    free(b.temp);
    return rc;
}
