/* compute/models/model_watch.c -- an exact kernel's solve watched against another fit of the same
 * system, which has its solution a*: how far the weights a still are, |a - a*|^2 in the norms of K
 * and of K^2 (K at amplitude 1, so that the norm of K is that of the functions' difference), and
 * how well they predict held-out rows (Lin, Padhy, Antoran and others, ICLR 2024, Figures 1 to
 * 3). */
#include "compute/models/fit.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact_system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double every = 4.0; /* passes between two looks, each of which takes one product */

struct model_watch {
    struct solve_watch hook; /* first, so that a hook is its watch */
    const struct fit *ft;
    double *a, *e, *Ke;      /* t vectors of n: weights, errors, K times these */
    double *Y, *f;           /* held-out rows (m x d), their predictions (t vectors of m) */
    size_t m;
};

/* STATE unless both models solve the same system. */
static enum status same_system(const struct fit *ft, struct err *err)
{
    const struct model *m = ft->m, *star = ft->o->against;
    struct buf a = { 0 }, b = { 0 };
    const double ratio = model_ratio(star->amplitude, star->noise);
    bool same = star->kind == m->kind && star->M == m->M && star->d == m->d && star->t == m->t;

    kernel_print(&star->kernel, &a);
    kernel_print(&m->kernel, &b);
    same = same && strcmp(buf_str(&a), buf_str(&b)) == 0 &&
           memcmp(star->hp, m->hp, kernel_nhp(&m->kernel) * sizeof *m->hp) == 0 &&
           fabs(ratio - ft->ratio) <= 1e-9 * ft->ratio &&
           memcmp(star->X, m->X, m->M * m->d * sizeof *m->X) == 0;
    buf_free(&a);
    buf_free(&b);
    if (same)
        return ST_OK;
    err_set(err, ST_STATE, "the run of against= is not a fit of the same system: it has another "
                           "kernel, other hyperparameters or other rows");
    err_hint(err, "fit model=exact solver=exact, then race against= this fit");
    return ST_STATE;
}

/* The RMSE of the held-out rows, in scaled units. */
static double error_of_rows(struct model_watch *w, const struct ctl *ctl)
{
    const struct fit *ft = w->ft;
    const double *y = ft->o->ytest;
    double sum = 0.0;

    if (w->m == 0 || exact_op_apply(exact_system_op(ft->system), w->m, w->Y, ft->t, w->a, w->f, ctl,
                                    NULL) != ST_OK)
        return NAN;
    for (size_t i = 0; i < ft->t * w->m; i++)
        sum += (w->f[i] - y[i]) * (w->f[i] - y[i]);
    return sqrt(sum / (double)(ft->t * w->m));
}

/* Weights a = S x of the model (share/doc/methods.md 5). */
static void look(struct solve_watch *hook, const double *X, const struct ctl *ctl, struct tick *t)
{
    struct model_watch *w = (struct model_watch *)hook;
    const struct fit *ft = w->ft;
    const size_t n = ft->m->M, all = ft->t * n;
    const double *s = ft->src->row_scale, start = fit_now();
    struct phase_ctl phase;
    const struct ctl *quiet = model_phase(&phase, ctl, PHASE_PREDICT);

    phase.ctl.tick = NULL;
    for (size_t i = 0; i < all; i++) {
        w->a[i] = s ? s[i % n] * X[i] : X[i];
        w->e[i] = w->a[i] - ft->o->against->w[i];
    }
    if (exact_op_apply(exact_system_op(ft->system), n, NULL, ft->t, w->e, w->Ke, quiet, NULL) ==
        ST_OK) {
        t->error_k = fmax(0.0, blas_ddot(all, w->e, w->Ke));
        t->error_k2 = blas_ddot(all, w->Ke, w->Ke);
        t->rmse = error_of_rows(w, quiet);
        t->measured = true;
    }
    w->hook.apart += fit_now() - start;
}

enum status model_watch_open(const struct fit *ft, struct solve_watch **out, struct err *err)
{
    const struct source *test = ft->o->test;
    const size_t n = ft->m->M, m = test ? test->n : 0;
    enum status rc = same_system(ft, err);
    struct model_watch *w = rc == ST_OK ? mem_calloc(1, sizeof *w, "a watch", err) : NULL;

    *out = NULL;
    if (w == NULL)
        return rc == ST_OK ? ST_NOMEM : rc;
    *w = (struct model_watch){ .hook = { .look = look, .every = every }, .ft = ft, .m = m };
    *out = &w->hook;
    w->a = mem_calloc(ft->t * n, 3 * sizeof *w->a, "a watch", err);
    w->Y = w->a ? mem_calloc(m * (ft->m->d + ft->t) + 1, sizeof *w->Y, "held-out rows", err) : NULL;
    if (w->Y == NULL)
        return ST_NOMEM;
    w->e = w->a + ft->t * n;
    w->Ke = w->e + ft->t * n;
    w->f = w->Y + m * ft->m->d;
    return m ? test->rows(test, 0, m, w->Y, err) : ST_OK;
}

void model_watch_close(struct solve_watch *hook)
{
    struct model_watch *w = (struct model_watch *)hook;

    if (w == NULL)
        return;
    free(w->a);
    free(w->Y);
    free(w);
}
