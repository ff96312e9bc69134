/* compute/features/fop.c -- the feature operator: thin over a backend, plain over a given matrix
 * (fop_products.c has its products of matrix with matrix). */
#include "compute/features/fop_impl.h"

#include "base/mem.h"
#include "compute/features/gram.h"
#include "compute/features/learned.h"
#include "compute/linalg/blas.h"

#include <stdlib.h>
#include <string.h>

enum { DENSE_GROUPS = 32 }; /* partial sums of a dense operator */

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
    if (opts->share && ((be != backend_cpu() && !be->shares) ||
                        opts->share->r1 - opts->share->r0 != src->n ||
                        !share_fits(opts->share->n, opts->share->r0, opts->share->r1))) {
        err_set(err, ST_SHAPE, "rows %zu to %zu of %zu cannot be a process's share",
                opts->share->r0, opts->share->r1, opts->share->n);
        return NULL;
    }
    const bool declined = be->serves && !be->serves(fm);
    be = declined || src->n < be->least ? backend_cpu() : be;
    struct fop *f = mem_calloc(1, sizeof *f, "feature operator", err);
    if (!f)
        return NULL;
    *f = (struct fop){ .declined = declined, .be = be, .n = src->n, .M = fm->M, .pool = opts->pool,
                       .precision = opts->precision, .half = opts->store && opts->half };
    f->centres = kernel_reads_windows(&fm->kernel) && opts->precision == PREC_FLOAT;
    f->row_scale = opts->row_scale;
    f->share = opts->share;
    if (behind && fm->d == src->d) {
        f->learned = learned_rows_new(&fm->kernel, src, be->nets, opts->pool, err);
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
    else if (f->state && f->learned && learned_rows_lost(f->learned, &f->why_lost))
        lose(f, NULL);
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

bool fop_goes_on(struct fop *f, enum status rc, struct err *err)
{
    if (rc != ST_BACKEND || !f->twin || f->lost)
        return false;
    lose(f, err);
    return true;
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

void fop_free(struct fop *f)
{
    if (!f)
        return;
    if (f->state)
        f->be->close(f->state);
    if (f->twin)
        f->host->close(f->twin);
    learned_rows_free(f->learned);
    fop_panel_free(f->panel);
    gram_free(f->formed);
    fop_outer_drop(f);
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
    fop_outer_drop(f);
    enum status rc = f->twin ? f->host->set(f->twin, hp, err) : ST_OK;
    if (rc == ST_OK && !f->lost)
        rc = f->be->set(f->state, hp, err);
    return fop_goes_on(f, rc, err) ? ST_OK : rc;
}

double *fop_take_formed(struct fop *f)
{
    double *G = f->formed ? gram_take(f->formed) : NULL;

    f->formed = NULL;
    return G;
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
        return fop_goes_on(f, rc, err) ? fop_pass(f, k, P, W, ctl, err) : rc;
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
    return fop_goes_on(f, rc, err) ? fop_pass(f, k, P, W, ctl, err) : rc;
}

enum status fop_zp(struct fop *f, size_t k, const double *P, double *T, const struct ctl *ctl,
                   struct err *err)
{
    enum status rc = ST_OK;

    if (!f->Z) {
        rc = ops_of(f)->zp(state_of(f), k, P, T, ctl, err);
        return fop_goes_on(f, rc, err) ? fop_zp(f, k, P, T, ctl, err) : rc;
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
        return fop_goes_on(f, rc, err) ? fop_ztv(f, k, V, W, ctl, err) : rc;
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
    if (rc == ST_OK || rc == ST_CANCELLED || fop_goes_on(f, rc, err))
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
    if (!fop_goes_on(f, rc, err))
        err_clear(err);
    return ST_UNSUPPORTED;
}

bool fop_basis(struct fop *f, size_t L, const double *U, double seconds)
{
    struct err err = { 0 };

    if (!f->be || !f->be->basis || f->lost || f->formed)
        return false;
    const enum status rc = f->be->basis(f->state, L, U, seconds, &err);
    fop_goes_on(f, rc, &err);
    return rc == ST_OK;
}

enum status fop_basis_add(struct fop *f, size_t k, const double *c, double *Y,
                          const struct ctl *ctl, struct err *err)
{
    if (f->lost)
        return ST_UNSUPPORTED;
    const enum status rc = f->be->basis_add(f->state, k, c, Y, ctl, err);
    if (rc == ST_OK || rc == ST_CANCELLED || rc == ST_NOMEM)
        return rc;
    fop_goes_on(f, rc, err);
    err_clear(err);
    return ST_UNSUPPORTED;
}

void fop_basis_drop(struct fop *f)
{
    if (!f->lost)
        f->be->basis(f->state, 0, NULL, 0.0, NULL);
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
    fop_goes_on(f, err.code, &err);
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
