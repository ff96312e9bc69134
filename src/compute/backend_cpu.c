/* compute/backend_cpu.c -- the processor as a backend. */
#include "compute/backend.h"

#include "base/mem.h"
#include "compute/interp.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { TILE_ROWS = 64, GROUPS_MOST = 64 };

struct cpu {
    const struct featmap *fm;
    const struct source *src;
    struct fop_opts opts;
    size_t n, M, groups;
    double *hp;
    double *work; /* per worker: x tile, z tile, t, interpreter */
    size_t work_len;
    double *part; /* groups x M */
};

static size_t group_start(const struct cpu *c, size_t g)
{
    const size_t tiles = (c->n + TILE_ROWS - 1) / TILE_ROWS, at = tiles * g / c->groups * TILE_ROWS;

    return at < c->n ? at : c->n;
}

static void cpu_close(void *state)
{
    struct cpu *c = state;

    if (!c)
        return;
    free(c->hp);
    free(c->work);
    free(c->part);
    free(c);
}

static void *cpu_open(const struct featmap *fm, const struct source *src,
                      const struct fop_opts *opts, struct err *err)
{
    struct cpu *c = mem_calloc(1, sizeof *c, "feature operator", err);

    if (!c)
        return NULL;
    c->fm = fm;
    c->src = src;
    c->opts = *opts;
    c->n = src->n;
    c->M = fm->M;
    const size_t tiles = (c->n + TILE_ROWS - 1) / TILE_ROWS;
    c->groups = tiles < 1 ? 1 : tiles < GROUPS_MOST ? tiles : GROUPS_MOST;
    c->work_len = TILE_ROWS * (fm->M + src->d + 1) + interp_work(fm);
    c->hp = mem_calloc(kernel_nhp(&fm->kernel) + 1, sizeof *c->hp, "hyperparameters", err);
    c->work = mem_calloc(pool_threads(opts->pool), c->work_len * sizeof *c->work, "features", err);
    c->part = mem_calloc(c->groups, c->M * sizeof *c->part, "partial sums", err);
    if (!c->hp || !c->work || !c->part) {
        cpu_close(c);
        return NULL;
    }
    for (size_t i = 0; i < kernel_nhp(&fm->kernel); i++)
        c->hp[i] = 1.0;
    return c;
}

static enum status cpu_set(void *state, const double *hp, struct err *err)
{
    struct cpu *c = state;

    for (size_t i = 0; i < kernel_nhp(&c->fm->kernel); i++)
        if (!(hp[i] > 0.0 && isfinite(hp[i])))
            return err_set(err, ST_RANGE, "hyperparameter %zu is %g; it must be positive", i + 1,
                           hp[i]);
    memcpy(c->hp, hp, kernel_nhp(&c->fm->kernel) * sizeof *hp);
    return ST_OK;
}

static enum status tile_rows(struct cpu *c, size_t r0, size_t r1, double *z, double *dz, size_t ld,
                             size_t ihp, struct err *err)
{
    double *x = mem_calloc((r1 - r0) * c->src->d + interp_work(c->fm), sizeof *x, "tile", err);

    if (!x)
        return ST_NOMEM;
    const enum status rc = c->src->rows(c->src, r0, r1, x, err);
    double *zrow = dz ? mem_calloc(c->M, sizeof *zrow, "tile", err) : NULL;
    for (size_t r = r0; rc == ST_OK && r < r1; r++)
        interp_row(c->fm, c->hp, x + (r - r0) * c->src->d, dz ? zrow : z + (r - r0) * ld,
                   dz ? dz + (r - r0) * ld : NULL, ihp, x + (r1 - r0) * c->src->d);
    free(zrow);
    free(x);
    return rc;
}

static enum status cpu_tile64(void *state, size_t r0, size_t r1, double *z, size_t ld,
                              struct err *err)
{
    return tile_rows(state, r0, r1, z, NULL, ld, 0, err);
}

static enum status cpu_dtile(void *state, size_t i, size_t r0, size_t r1, double *dz, size_t ld,
                             struct err *err)
{
    return tile_rows(state, r0, r1, NULL, dz, ld, i, err);
}

static enum status cpu_tile(void *state, size_t r0, size_t r1, float *z, size_t ld,
                            struct err *err)
{
    struct cpu *c = state;
    double *row = mem_calloc(c->M, sizeof *row, "tile", err);
    enum status rc = row ? ST_OK : ST_NOMEM;

    for (size_t r = r0; rc == ST_OK && r < r1; r++) {
        rc = cpu_tile64(c, r, r + 1, row, c->M, err);
        for (size_t j = 0; j < c->M; j++)
            z[(r - r0) * ld + j] = (float)row[j];
    }
    free(row);
    return rc;
}

struct sweep {
    struct cpu *c;
    const double *P, *V; /* one of M, one of n; or both NULL */
    double *T;           /* n, or NULL */
    bool down;           /* accumulate Z't into part */
    const struct ctl *ctl;
    _Atomic int failed;
    struct err *errs; /* one per group */
};

static void sweep_group(void *ctx, size_t g, size_t worker)
{
    struct sweep *s = ctx;
    struct cpu *c = s->c;
    double *x = c->work + worker * c->work_len, *z = x + TILE_ROWS * c->src->d;
    double *t = z + TILE_ROWS * c->M, *work = t + TILE_ROWS, *w = c->part + g * c->M;
    const size_t end = group_start(c, g + 1);

    memset(w, 0, c->M * sizeof *w);
    for (size_t r0 = group_start(c, g); r0 < end; r0 += TILE_ROWS) {
        const size_t r1 = r0 + TILE_ROWS < end ? r0 + TILE_ROWS : end;
        if (ctl_stopped(s->ctl) || s->failed)
            return;
        if (c->src->rows(c->src, r0, r1, x, &s->errs[g]) != ST_OK) {
            s->failed = 1;
            return;
        }
        for (size_t r = r0; r < r1; r++) {
            double *zr = z + (r - r0) * c->M;
            interp_row(c->fm, c->hp, x + (r - r0) * c->src->d, zr, NULL, 0, work);
            t[r - r0] = s->V ? s->V[r] : 0.0;
            for (size_t j = 0; s->P && j < c->M; j++)
                t[r - r0] += zr[j] * s->P[j];
            if (s->T)
                s->T[r] = t[r - r0];
            for (size_t j = 0; s->down && j < c->M; j++)
                w[j] += zr[j] * t[r - r0];
        }
    }
}

static enum status sweep_run(struct cpu *c, const double *P, const double *V, double *T, double *W,
                             const struct ctl *ctl, struct err *err)
{
    struct err errs[GROUPS_MOST] = { 0 };
    struct sweep s = { c, P, V, T, W != NULL, ctl, 0, errs };

    pool_run(c->opts.pool, c->groups, sweep_group, &s);
    for (size_t g = 0; g < c->groups; g++)
        if (errs[g].code != ST_OK) {
            if (err)
                *err = errs[g];
            return errs[g].code;
        }
    if (ctl_stopped(ctl))
        return err_set(err, ST_CANCELLED, "stopped while passing over the rows");
    for (size_t g = 0; W && g < c->groups; g++)
        for (size_t j = 0; j < c->M; j++)
            W[j] = (g ? W[j] : 0.0) + c->part[g * c->M + j];
    return ST_OK;
}

static enum status cpu_pass(void *state, size_t k, const double *P, double *W,
                            const struct ctl *ctl, struct err *err)
{
    struct cpu *c = state;
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < k; i++)
        rc = sweep_run(c, P + i * c->M, NULL, NULL, W + i * c->M, ctl, err);
    return rc;
}

static enum status cpu_zp(void *state, size_t k, const double *P, double *T, const struct ctl *ctl,
                          struct err *err)
{
    struct cpu *c = state;
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < k; i++)
        rc = sweep_run(c, P + i * c->M, NULL, T + i * c->n, NULL, ctl, err);
    return rc;
}

static enum status cpu_ztv(void *state, size_t k, const double *V, double *W,
                           const struct ctl *ctl, struct err *err)
{
    struct cpu *c = state;
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < k; i++)
        rc = sweep_run(c, NULL, V + i * c->n, NULL, W + i * c->M, ctl, err);
    return rc;
}

static int cpu_probe(char *why, size_t len)
{
    (void)why;
    (void)len;
    return 1;
}

const char *cpu_level(void)
{
    return "portable";
}

enum status cpu_force_level(const char *level, struct err *err)
{
    if (strcmp(level, "portable") == 0)
        return ST_OK;
    return err_set(err, ST_UNSUPPORTED, "this processor has no level \"%s\"", level);
}

static const struct backend_ops cpu_ops = {
    .abi = BACKEND_ABI,
    .name = "cpu",
    .summary = "processor",
    .probe = cpu_probe,
    .open = cpu_open,
    .close = cpu_close,
    .set = cpu_set,
    .pass = cpu_pass,
    .zp = cpu_zp,
    .ztv = cpu_ztv,
    .tile = cpu_tile,
    .tile64 = cpu_tile64,
    .dtile = cpu_dtile,
};

const struct backend_ops *backend_cpu(void)
{
    return &cpu_ops;
}
