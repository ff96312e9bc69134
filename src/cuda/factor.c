/* cuda/factor.c -- a Cholesky factor of Z'Z + lam2 I that stays on the device as a preconditioner:
 * features in half precision where they are bounded, sums and factor in single.  What that is off
 * costs conjugate gradients an iteration or two (performance: 0.8 s of products and 0.3 s of factor
 * at 32,768 features and 500,000 rows, counted on paper). */
#include "cuda/backend_impl.h"

#include "cuda/batch.h"

#include <math.h>

enum {
    BLOCK = 4096
}; /* columns in a block of the sum: blocks above the diagonal are not computed */

/* The largest change of the diagonal by rounding, relative to it. */
static const float ridge = 2e-6F;

static enum status factor_tile(struct cuda *c, void *ctx, size_t r0, size_t r1, const void *x,
                               struct err *err)
{
    const bool half = *(const bool *)ctx;
    const size_t M = c->M, rows = r1 - r0;
    float *G = c->chol.at;
    enum status rc = tiles_rows(c, r0, r1, x, c->tile.at, half ? FORM_F16 : FORM_F32, M, err);

    if (rc == ST_OK && !half)
        return device_ssyrk(c->dev, M, rows, c->tile.at, M, 1.0F, G, M, err);
    for (size_t j = 0; rc == ST_OK && j < M; j += BLOCK) {
        const uint16_t *z = (const uint16_t *)c->tile.at + j;
        const size_t some = M - j < BLOCK ? M - j : BLOCK;
        rc = device_hgemm(c->dev, false, true, M - j, some, rows, z, M, z, M, 1.0F, G + j + j * M,
                          M, err);
    }
    return rc;
}

static enum status factor_gram(struct cuda *c, double lam2, const struct ctl *ctl, struct err *err)
{
    const size_t M = c->M;
    bool half = c->prog.bounded && !c->factor && c->opts.precision == PREC_FLOAT;
    const double each =
        (double)M * (double)M / batch_rate(&c->info, half ? BATCH_HALF : BATCH_SINGLE);
    const size_t fit = tiles_height(c, M * (half ? 2 : 4)),
                 most = batch_count(0.0, each, 16, fit);
    const size_t rows = most < 4096 ? most : 4096;
    enum status rc =
        tiles_room(c, &c->chol, M * M * sizeof(float), "Z'Z as a preconditioner", err);

    if (rc == ST_OK)
        rc = tiles_room(c, &c->tile, rows * M * (half ? 2 : 4), "a tile of features", err);
    if (rc == ST_OK)
        rc = device_zero(c->dev, c->chol.at, M * M * sizeof(float), err);
    if (rc == ST_OK)
        rc = tiles_over(c, 0, c->n, rows, factor_tile, &half, ctl, err);
    const struct gram_args g = { .M = M, .A = c->chol.at, .row = half ? c->prog.d_column : NULL,
                                 .relative = ridge, .lam2 = lam2 };
    return rc == ST_OK ? device_gram_ready(c->dev, &g, err) : rc;
}

/* Factorises by panels and checks ctl after each. */
static enum status factorise(struct cuda *c, const struct ctl *ctl, struct err *err)
{
    const size_t M = c->M;
    float *A = c->chol.at;
    enum status rc = ST_OK;

    for (size_t j = 0, m; rc == ST_OK && j < M; j += m) {
        const double left = (double)(M - j),
                     each = left * left / batch_rate(&c->info, BATCH_SINGLE);
        m = batch_count(0.0, each, 256, M - j);
        float *D = A + j + j * M, *B = D + m, *C = B + m * M;
        const size_t below = M - j - m;
        rc = device_wait(c->dev, err);
        if (rc == ST_OK)
            rc = tiles_stopped(ctl, err);
        if (rc == ST_OK)
            rc = device_spotrf(c->dev, m, D, M, err);
        if (rc == ST_OK && below)
            rc = device_strsm(c->dev, true, true, below, m, D, M, B, M, err);
        if (rc == ST_OK && below)
            rc = device_ssyrk_add(c->dev, below, m, -1.0F, B, M, C, M, err);
    }
    return rc;
}

enum status factor_make(void *state, double lam2, const struct ctl *ctl, struct err *err)
{
    struct cuda *c = state;

    pthread_mutex_lock(&c->lock);
    c->factored = false;
    enum status rc = factor_gram(c, lam2, ctl, err);
    if (rc == ST_OK)
        rc = factorise(c, ctl, err);
    device_wait(c->dev, NULL);
    c->factored = rc == ST_OK;
    if (rc != ST_OK) {
        device_free(c->dev, c->chol.at);
        c->chol = (struct room){ NULL, 0 };
        c->moves++;
    }
    pthread_mutex_unlock(&c->lock);
    return rc;
}

enum status factor_apply(struct cuda *c, size_t k, const double *R, float *temp, double *Z,
                         struct err *err)
{
    const size_t M = c->M;
    enum status rc = device_narrow(c->dev, k * M, R, temp, err);

    for (int i = 0; rc == ST_OK && i < 2; i++)
        rc = device_strsm(c->dev, false, i == 1, M, k, c->chol.at, M, temp, M, err);
    if (rc == ST_OK)
        rc = device_zero(c->dev, Z, k * M * sizeof *Z, err);
    return rc == ST_OK ? device_add(c->dev, k * M, temp, Z, err) : rc;
}
