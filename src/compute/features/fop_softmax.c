/* compute/features/fop_softmax.c -- the multinomial logistic loss over the rows of a feature
 * operator (fop_rows.h).  Segments of rows are summed by a task each, a tile of rows after the
 * other, and what they sum to is folded (fold.h). */
#include "compute/features/fop_rows.h"

#include "base/mem.h"
#include "compute/features/fop_impl.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 128 };

struct pass {
    struct fop *f;
    const struct fop_softmax *of;
    size_t segments, parts; /* of all rows; sums of each: C vectors of M (or none), and the loss */
    double *part;
    const struct ctl *ctl;
    enum status rc[SHARE_SEGMENTS];
};

static size_t segments_of(size_t n)
{
    return share_segments(n, SHARE_JOINED / 2);
}

double fop_softmax_bytes(size_t n, size_t M, size_t classes, size_t threads)
{
    const double m = (double)M, c = (double)classes;

    return 8.0 * ((double)segments_of(n) * m * c + (double)threads * TILE * (m + 2.0 * c));
}

/* f (C numbers) becomes its softmax; returns the logarithm of the sum of exponentials. */
static double normalise(size_t C, double *f)
{
    double most = f[0], sum = 0.0;

    for (size_t c = 1; c < C; c++)
        most = fmax(most, f[c]);
    for (size_t c = 0; c < C; c++)
        sum += f[c] = exp(f[c] - most);
    for (size_t c = 0; c < C; c++)
        f[c] /= sum;
    return most + log(sum);
}

/* What rows from r0 on, with their functions T (C x rows) and changes of these D (or NULL), add:
 * T becomes the factor of Z in the sum. */
static double rows_of_tile(const struct fop_softmax *s, size_t r0, size_t rows, double *T,
                           const double *D)
{
    const size_t C = s->classes;
    const double scale = (double)C / (double)(C - 1);
    double loss = 0.0;

    for (size_t i = 0; i < rows; i++) {
        double *t = T + i * C, along = 0.0;
        const size_t own = (size_t)s->labels[r0 + i];
        const double *d = D ? D + i * C : NULL, u = s->weight ? s->weight[own] : 1.0;
        for (size_t c = 0; c < C; c++)
            t[c] += s->offset[c];
        const double seen = t[own], all = normalise(C, t);
        loss += u * (all - seen);
        if (s->h)
            s->h[r0 + i] = u * scale * t[s->c] * (1.0 - t[s->c]);
        for (size_t c = 0; d && c < C; c++)
            along += t[c] * d[c];
        for (size_t c = 0; c < C; c++)
            t[c] = u * (d ? t[c] * (d[c] - along) : t[c] - (c == own ? 1.0 : 0.0));
    }
    return loss;
}

static enum status tile(const struct pass *p, size_t r0, size_t rows, double *work, double *sum)
{
    const struct fop_softmax *s = p->of;
    const size_t M = p->f->M, C = s->classes;
    double *Z = p->f->outer ? p->f->outer + r0 * M : work, *T = work + TILE * M;
    double *D = s->V ? T + TILE * C : NULL;
    const enum status rc = p->f->outer ? ST_OK : fop_tile64(p->f, r0, r0 + rows, Z, M, NULL);

    if (rc != ST_OK)
        return rc;
    blas_dgemm1(true, false, C, rows, M, 1.0, s->W, M, Z, M, 0.0, T, C);
    if (D)
        blas_dgemm1(true, false, C, rows, M, 1.0, s->V, M, Z, M, 0.0, D, C);
    sum[p->parts - 1] += rows_of_tile(s, r0, rows, T, D);
    if (p->parts > 1)
        blas_dgemm1(false, true, M, C, rows, 1.0, Z, M, T, C, 1.0, sum, M);
    return ST_OK;
}

static void segment_task(void *ctx, size_t g, size_t worker)
{
    struct pass *p = ctx;
    const struct fop *f = p->f;
    double *work = mem_aligned(TILE * (f->M + 2 * p->of->classes), sizeof *work,
                               "a tile of features", NULL);
    double *sum = p->part + g * p->parts;
    size_t begin, end;

    (void)worker;
    share_part(f->share, f->n, g, p->segments, &begin, &end);
    memset(sum, 0, p->parts * sizeof *sum);
    p->rc[g] = work ? ST_OK : ST_NOMEM;
    for (size_t r = begin; p->rc[g] == ST_OK && r < end && !ctl_stopped(p->ctl); r += TILE)
        p->rc[g] = tile(p, r, r + TILE < end ? TILE : end - r, work, sum);
    free(work);
}

/* The pass, with `all` room for the sums. */
static enum status pass_run(struct pass *p, double *all, struct err *err)
{
    struct fop *f = p->f;

    pool_run(f->pool, p->segments, segment_task, p);
    if (ctl_stopped(p->ctl))
        return err_set(err, ST_CANCELLED, "stopped");
    for (size_t g = 0; g < p->segments; g++)
        if (p->rc[g] != ST_OK)
            return err_set(err, p->rc[g], "a tile of rows could not be computed");
    return share_fold(f->share, f->pool,
                      &(struct share_parts){ p->segments, p->segments, p->parts, p->part, true },
                      all, err);
}

enum status fop_softmax(struct fop *f, const struct fop_softmax *of, double *sum, double *loss,
                        const struct ctl *ctl, struct err *err)
{
    struct pass p = { .f = f, .of = of, .segments = segments_of(share_rows(f->share, f->n)),
                      .parts = 1 + (sum ? f->M * of->classes : 0), .ctl = ctl };

    if (f->be && ops_of(f)->softmax) {
        const enum status rc = ops_of(f)->softmax(state_of(f), of, sum, loss, ctl, err);
        if (rc != ST_UNSUPPORTED && !fop_goes_on(f, rc, err))
            return rc;
        err_clear(err);
    }
    if (of->keep && fop_outer_make(f, ctl, err) != ST_OK) {
        if (ctl_stopped(ctl))
            return err_set(err, ST_CANCELLED, "stopped");
        err_clear(err); /* without it: slower */
    }
    p.part = mem_aligned((p.segments + 1) * p.parts, sizeof *p.part, "partial sums", err);
    double *all = p.part ? p.part + p.segments * p.parts : NULL;
    enum status rc = p.part ? pass_run(&p, all, err) : ST_NOMEM;
    if (rc == ST_OK && sum)
        memcpy(sum, all, (p.parts - 1) * sizeof *sum);
    if (rc == ST_OK && loss)
        *loss = all[p.parts - 1];
    free(p.part);
    return rc;
}
