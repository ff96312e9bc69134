/* tests/compute/check_walled.c -- solvers, preconditioners, likelihoods, tuners and kinds of model
 * over rows that the backend alone may read, as when they are on other machines.  Everyone else may
 * read a sample of at most 4096 rows, whether from the source or as tiles of features.  Results
 * must have the bits that the CPU's backend gives over the same rows in the open. */
#include "compute/backend.h"
#include "compute/features/fop_rows.h"
#include "compute/kernels/layers/layer.h"
#include "compute/likelihood/dirichlet.h"
#include "compute/likelihood/likelihood.h"
#include "compute/models/model.h"
#include "compute/preconds/precond.h"
#include "compute/rng.h"
#include "compute/solvers/solver.h"
#include "compute/tuners/tune.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { N = 6000, NT = 5000, D = 3, M = 64, SAMPLE = 4096, CLASSES = 3 };

/* How deep calls are inside the backend.  Only then may rows be read without being counted. */
static atomic_int inside;

/* Rows that were read from outside: at most SAMPLE of them are served. */
struct seen { atomic_bool row[N]; atomic_size_t count; };

static bool may_see(struct seen *s, size_t r0, size_t r1)
{
    for (size_t r = r0; r < r1; r++)
        if (!atomic_exchange(&s->row[r], true))
            s->count++;
    return s->count <= SAMPLE;
}

static enum status refused(struct err *err)
{
    return err_set(err, ST_STATE, "more than %d rows were read from outside the backend", SAMPLE);
}

static struct source_array open_rows, open_test; /* training rows, rows to predict */

struct walled { struct source base; const double *x; struct seen seen; };

static enum status walled_rows(const struct source *base, size_t r0, size_t r1, double *x,
                               struct err *err)
{
    struct walled *w = base->ctx;

    if (!inside && !may_see(&w->seen, r0, r1))
        return refused(err);
    memcpy(x, w->x + r0 * D, (r1 - r0) * D * sizeof *x);
    return ST_OK;
}

static struct walled *walled_new(const double *x, size_t n)
{
    struct walled *w = calloc(1, sizeof *w);
    struct source_array a;

    ck_assert_ptr_nonnull(w);
    source_array_init(&a, x, n, D, D);
    w->base = a.base;
    w->base.layout = open_rows.base.layout;
    w->base.rows = walled_rows;
    w->base.ctx = w;
    w->x = x;
    return w;
}

/* The backend: an operator of its own behind every request, as a worker would have. */
struct far { struct fop *f; size_t n, M; struct seen seen; };

static void *far_open(const struct featmap *fm, const struct source *src,
                      const struct fop_opts *opts, struct err *err)
{
    struct far *s = calloc(1, sizeof *s);

    ck_assert_ptr_nonnull(s);
    inside++;
    s->f = fop_new(backend_cpu(), fm, src, opts, err);
    inside--;
    s->n = src->n;
    s->M = fm->M;
    if (s->f)
        return s;
    free(s);
    return NULL;
}

static void far_close(void *state)
{
    struct far *s = state;

    if (s)
        fop_free(s->f);
    free(s);
}

/* A request that the operator behind answers as it is. */
#define FAR(name, args, call)                                                                      \
    static enum status far_##name args                                                             \
    {                                                                                              \
        struct far *s = state;                                                                     \
        inside++;                                                                                  \
        const enum status rc = call;                                                               \
        inside--;                                                                                  \
        return rc;                                                                                 \
    }

FAR(set, (void *state, const double *hp, struct err *err), fop_set(s->f, hp, err))
FAR(pass, (void *state, size_t k, const double *P, double *W, const struct ctl *ctl,
           struct err *err), fop_pass(s->f, k, P, W, ctl, err))
FAR(pass_exact, (void *state, size_t k, const double *P, double *W, const struct ctl *ctl,
                 struct err *err), fop_pass_exact(s->f, k, P, W, ctl, err))
FAR(zp, (void *state, size_t k, const double *P, double *T, const struct ctl *ctl,
         struct err *err), fop_zp(s->f, k, P, T, ctl, err))
FAR(ztv, (void *state, size_t k, const double *V, double *W, const struct ctl *ctl,
          struct err *err), fop_ztv(s->f, k, V, W, ctl, err))
FAR(sketch, (void *state, size_t L, const double *Omega, double *Y, bool rough,
             const struct ctl *ctl, struct err *err),
    (rough ? fop_sketch_rough : fop_sketch)(s->f, L, Omega, Y, ctl, err))
FAR(dgram, (void *state, size_t ihp, double *C, const struct ctl *ctl, struct err *err),
    fop_dgram(s->f, ihp, C, ctl, err))
FAR(diagonal, (void *state, double *diag, const struct ctl *ctl, struct err *err),
    fop_diagonal(s->f, diag, ctl, err))
FAR(slope_form, (void *state, size_t ihp, const double *r, const double *w, double *out,
                 struct err *err), fop_slope_form(s->f, ihp, r, w, out, err))
FAR(forms, (void *state, const struct fop_factors *of, double *q, const struct ctl *ctl,
            struct err *err), fop_forms(s->f, of, q, ctl, err))
FAR(means, (void *state, const struct fop_groups *of, double *C, const struct ctl *ctl,
            struct err *err), fop_means(s->f, of, C, ctl, err))
FAR(dots, (void *state, const float *v, double *dot, double *square, const struct ctl *ctl,
           struct err *err), fop_dots(s->f, v, dot, square, ctl, err))
FAR(softmax, (void *state, const struct fop_softmax *of, double *sum, double *loss,
              const struct ctl *ctl, struct err *err), fop_softmax(s->f, of, sum, loss, ctl, err))
FAR(outer, (void *state, bool keep, double *K, const struct ctl *ctl, struct err *err),
    fop_outer(s->f, keep, K, ctl, err))
FAR(outer_back, (void *state, const double *S, size_t nhp, double *grad, const struct ctl *ctl,
                 struct err *err), fop_outer_back(s->f, S, nhp, grad, ctl, err))

static void far_unhalve(void *state)
{
    const struct far *s = state;

    fop_unhalve(s->f);
}

static size_t hyperparameters; /* of the kernel of the moment, which `back` is not told */

static enum status far_back(void *state, const double *S, size_t k, const double *T,
                            const double *V, double *grad, const struct ctl *ctl, struct err *err)
{
    const struct fop_slope of = { S, T, V, k, hyperparameters };
    struct far *s = state;

    inside++;
    const enum status rc = fop_back(s->f, &of, grad, ctl, err);
    inside--;
    return rc;
}

static enum status far_gram(void *state, size_t ny, const double *y, double *G, size_t ld,
                            double *zty, const struct ctl *ctl, struct err *err)
{
    struct far *s = state;
    double *A = calloc(s->M * s->M, sizeof *A);

    ck_assert_ptr_nonnull(A);
    inside++;
    const enum status rc = fop_gram_of(s->f, ny, y, A, zty, NULL, ctl, err);
    inside--;
    for (size_t j = 0; j < s->M; j++)
        memcpy(G + j * ld, A + j * s->M, s->M * sizeof *A);
    free(A);
    return rc;
}

static enum status far_blocks(void *state, const struct fop_chosen *at, size_t k, const double *P,
                              double *W, struct err *err)
{
    struct far *s = state;

    inside++;
    struct fop_blocks *b = fop_blocks_new(s->f, at->rows, at->per, k, err);
    const enum status rc = b ? fop_blocks_pass(b, at->at, P, W, err) : ST_NOMEM;
    inside--;
    fop_blocks_free(b);
    return rc;
}

/* Features of a sample. */
FAR(tile, (void *state, size_t r0, size_t r1, float *z, size_t ld, struct err *err),
    may_see(&s->seen, r0, r1) ? fop_tile(s->f, r0, r1, z, ld, err) : refused(err))
FAR(tile64, (void *state, size_t r0, size_t r1, double *z, size_t ld, struct err *err),
    may_see(&s->seen, r0, r1) ? fop_tile64(s->f, r0, r1, z, ld, err) : refused(err))

static const struct backend_ops far_ops = {
    .abi = BACKEND_ABI,
    .name = "far",
    .summary = "rows that nobody else may read",
    .open = far_open,
    .close = far_close,
    .set = far_set,
    .pass = far_pass,
    .pass_exact = far_pass_exact,
    .unhalve = far_unhalve,
    .zp = far_zp,
    .ztv = far_ztv,
    .tile = far_tile,
    .tile64 = far_tile64,
    .back = far_back,
    .gram = far_gram,
    .sketch = far_sketch,
    .dgram = far_dgram,
    .diagonal = far_diagonal,
    .slope_form = far_slope_form,
    .forms = far_forms,
    .means = far_means,
    .dots = far_dots,
    .outer = far_outer,
    .softmax = far_softmax,
    .outer_back = far_outer_back,
    .blocks = far_blocks,
};

static double X[N * D], Xt[NT * D], y[N], labels[N];
static struct pool *pool;

static void rows_make(void)
{
    for (size_t i = 0; i < N * D; i++)
        X[i] = rng_normal(31, rng_stream(RNG_TEST, 1), i);
    for (size_t i = 0; i < NT * D; i++)
        Xt[i] = rng_normal(31, rng_stream(RNG_TEST, 2), i);
    for (size_t i = 0; i < N; i++)
        y[i] = sin(2.0 * X[i * D]) + 0.5 * X[i * D + 1] * X[i * D + 2] +
               0.1 * rng_normal(31, rng_stream(RNG_TEST, 3), i);
    for (size_t i = 0; i < N; i++)
        labels[i] = fmin(fmax(floor(y[i] + 1.5), 0.0), CLASSES - 1);
    source_array_init(&open_rows, X, N, D, D);
    source_array_init(&open_test, Xt, NT, D, D);
    pool = pool_new(2, NULL);
}

static void rows_done(void)
{
    pool_free(pool);
}

static struct kernel parse(const char *text, double *hp)
{
    struct kernel k;
    size_t from[KERNEL_MAX_HP];

    ck_assert_int_eq(kernel_parse(text, &k, hp, NULL), ST_OK);
    ck_assert_int_eq(kernel_bind(&k, D, from, NULL), ST_OK);
    hyperparameters = kernel_nhp(&k);
    for (size_t h = 0; h < hyperparameters; h++)
        hp[h] = 0.9 + 0.1 * (double)h;
    return k;
}

static struct fit_opts options(const char *solver)
{
    struct fit_opts o = { .solver = solver, .features = M, .rtol = 1e-4, .maxit = 20, .seed = 3,
                          .amplitude = 1.0, .noise = 0.3, .keep_scale = true,
                          .plan = PLAN_REGENERATE };

    o.kernel = parse("rbf", o.hp);
    return o;
}

struct figures { double mean[CLASSES * NT], var[CLASSES * NT]; struct fit_info info; };

static void fit_over(const struct source *src, const struct source *test,
                     const struct backend_ops *be, const struct fit_opts *o, struct figures *out)
{
    struct tools on = { be, pool, NULL };
    struct model *m = NULL;
    const double *targets = o->labels.classes ? labels : y;
    struct err err = { 0 };

    ck_assert_msg(model_fit(src, targets, o, &on, &m, &out->info, NULL, &err) == ST_OK, "%s %s: %s",
                  o->kind ? o->kind->name : o->solver, o->precond ? o->precond : "", err.msg);
    ck_assert_msg(model_predict(m, test, out->mean, out->var, &on, &err) == ST_OK, "%s: %s",
                  o->solver, err.msg);
    model_unref(m);
}

/* A fit and its predictions behind the wall and in the open. */
static void same_fit(const struct fit_opts *o)
{
    static struct figures figures[2];
    struct walled *w = walled_new(X, N), *t = walled_new(Xt, NT);

    fit_over(&open_rows.base, &open_test.base, backend_cpu(), o, &figures[0]);
    fit_over(&w->base, &t->base, &far_ops, o, &figures[1]);
    ck_assert_msg(figures[0].info.iterations == figures[1].info.iterations &&
                      memcmp(figures[0].mean, figures[1].mean, sizeof figures[0].mean) == 0,
                  "%s %s: another mean", o->solver, o->precond ? o->precond : "");
    ck_assert_msg(memcmp(figures[0].var, figures[1].var, sizeof figures[0].var) == 0,
                  "%s: other variances", o->solver);
    free(w);
    free(t);
}

START_TEST(solvers)
{
    for (size_t i = 0; solver_at(i); i++) {
        struct fit_opts o = options(solver_at(i)->name);
        if (solver_at(i)->dual)
            continue; /* products_need_rows */
        o.plan = solver_at(i)->iterative ? PLAN_REGENERATE : PLAN_DIRECT;
        same_fit(&o);
        o.keep_scale = false; /* the ratio is refined by left-out rows */
        same_fit(&o);
    }
}
END_TEST

/* Kernels of the registry, of numbers and over windows; those that learn (mlp, cnn) are nets, which
 * a tuning trains in the front end. */
static void fit_with(const char *text, const struct row_layout *layout)
{
    struct fit_opts o = options("pcg");
    struct err err = { 0 };

    if (layout) {
        ck_assert_msg(kernel_parse(text, &o.kernel, o.hp, &err) == ST_OK, "%s", err.msg);
        ck_assert_msg(kernel_bind_rows(&o.kernel, layout, NULL, &err) == ST_OK, "%s", err.msg);
        open_rows.base.layout = open_test.base.layout = *layout;
        hyperparameters = kernel_nhp(&o.kernel);
        for (size_t h = 0; h < hyperparameters; h++)
            o.hp[h] = 0.9 + 0.1 * (double)h;
    } else {
        o.kernel = parse(text, o.hp);
    }
    same_fit(&o);
    o.plan = PLAN_DIRECT;
    o.solver = "direct";
    same_fit(&o);
}

START_TEST(kernels)
{
    for (size_t i = 0; kernel_at(i); i++)
        if (kernel_at(i)->rows == 0 && !kernel_at(i)->learns)
            fit_with(kernel_at(i)->name, NULL);
    fit_with("rbf(ard) * periodic + linear", NULL);
}
END_TEST

/* One position of each row, of two numbers: a vector, or a substructure and how often it occurs. */
START_TEST(layers)
{
    const struct row_layout vectors = { .nparts = 1, .part = { { ROWS_VECTORS, 2, 1, 0 } } },
                            counts = { .nparts = 1,
                                       .part = { { ROWS_COUNTS, COUNTS_CHANNELS, 1, 0 } } };

    for (size_t i = 0; i < N; i++)
        X[i * D] = 1.0;
    for (size_t i = 0; i < NT; i++)
        Xt[i * D] = 1.0;
    fit_with("conv(rbf,width=1)", &vectors);
    for (size_t i = 0; i < N; i++) {
        X[i * D + 1] = (double)rng_below(17, RNG_TEST, i, 5);
        X[i * D + 2] = 1.0 + (double)(i % 3);
    }
    for (size_t i = 0; i < NT; i++) {
        Xt[i * D + 1] = (double)rng_below(18, RNG_TEST, i, 5);
        Xt[i * D + 2] = 1.0 + (double)(i % 2);
    }
    fit_with("tanimoto", &counts);
}
END_TEST

/* Solvers in dual variables have a number for each row, and their products are of the kernel itself
 * with all rows in one memory: behind the wall they are refused, by the word of the rows. */
START_TEST(products_need_rows)
{
    size_t refusals = 0;

    for (size_t i = 0; solver_at(i); i++) {
        struct walled *w = walled_new(X, N);
        struct fit_opts o = options(solver_at(i)->name);
        struct tools on = { &far_ops, pool, NULL };
        struct fit_info info;
        struct model *m = NULL;
        struct err err = { 0 };

        if (solver_at(i)->dual) {
            o.kind = model_kind_usual(true);
            o.features = 0;
            const enum status rc = model_fit(&w->base, y, &o, &on, &m, &info, NULL, &err);
            ck_assert_msg(rc == ST_STATE, "%s: %d %s", o.solver, rc, err.msg);
            ck_assert_msg(strstr(err.msg, "read from outside") != NULL, "%s", err.msg);
            refusals++;
        }
        free(w);
    }
    ck_assert_uint_gt(refusals, 0);
}
END_TEST

START_TEST(preconditioners)
{
    for (size_t i = 0; precond_at(i); i++) {
        struct fit_opts o = options("pcg");
        o.precond = precond_at(i)->name;
        o.rank = 16;
        same_fit(&o);
    }
}
END_TEST

/* Values and gradients of an operator behind the wall (1) and in the open (0). */
struct asked { double value[2], grad[2][KERNEL_MAX_HP + 2], mse[2]; };

static void compare(const struct asked *a, const char *what)
{
    ck_assert_msg(isfinite(a->value[0]) && a->value[0] == a->value[1] && a->mse[0] == a->mse[1],
                  "%s: %.17g, %.17g", what, a->value[0], a->value[1]);
    ck_assert_msg(memcmp(a->grad[0], a->grad[1], sizeof a->grad[0]) == 0, "%s: another gradient",
                  what);
}

static void likelihoods_of(const char *kernel, size_t n, size_t cols)
{
    static const struct nmll_bounds within = { { 0.01, 100 }, { 1e-3, 20 } };
    struct walled *w = walled_new(X, N);
    struct asked best = { .mse = { 0 } }, given = best, slq = best, loo = best;
    double hp[KERNEL_MAX_HP];
    const struct kernel k = parse(kernel, hp);
    struct featmap *fm = featmap_new(&k, D, cols, 5, NULL);
    const struct fop_opts fo = { .pool = pool };

    w->base.n = open_rows.base.n = n;
    for (int i = 0; i < 2; i++) {
        struct fop *f = fop_new(i ? &far_ops : backend_cpu(), fm, i ? &w->base : &open_rows.base,
                                &fo, NULL);
        double amplitude = 0.0, noise = 0.0;
        struct nmll_ask q = { .y = y, .hp = hp, .nhp = kernel_nhp(&k), .scale = NMLL_BEST,
                              .within = &within, .amplitude = 1.0, .noise = 0.3 };
        struct nmll_told out = { .value = &best.value[i], .amplitude = &amplitude, .noise = &noise,
                                 .grad = best.grad[i] };
        struct nmll_slq_opts so = { .rank = 8, .probes = 4, .rtol = 1e-6, .seed = 3 };

        ck_assert_ptr_nonnull(f);
        ck_assert_int_eq(nmll_features(f, &q, &out, NULL, NULL), ST_OK);
        out.grad = NULL;
        out.value = &loo.value[i];
        out.mse = &loo.mse[i];
        ck_assert_int_eq(nmll_loo(f, &q, NULL, NULL, &out, NULL, NULL), ST_OK);
        q.scale = NMLL_GIVEN;
        out = (struct nmll_told){ .value = &given.value[i], .grad = given.grad[i] };
        ck_assert_int_eq(nmll_features(f, &q, &out, NULL, NULL), ST_OK);
        out = (struct nmll_told){ .value = &slq.value[i], .grad = slq.grad[i] };
        ck_assert_int_eq(nmll_slq(f, &q, &so, &out, NULL, NULL), ST_OK);
        fop_free(f);
    }
    compare(&best, "best");
    compare(&given, "given");
    compare(&loo, "left out");
    compare(&slq, "approximate");
    open_rows.base.n = N;
    featmap_free(fm);
    free(w);
}

START_TEST(likelihoods)
{
    likelihoods_of("rbf", N, M);
    likelihoods_of("matern(nu=5/2,ard)", N, M); /* all derivatives at once */
    likelihoods_of("rbf", 150, 256);            /* through the kernel matrix of the rows */
}
END_TEST

/* Regressions of classes, the rows of each an operator of their own. */
START_TEST(classes)
{
    static const struct nmll_bounds within = { { 0.01, 100 }, { 1e-3, 20 } };
    struct asked best = { .mse = { 0 } }, given = best;
    double hp[KERNEL_MAX_HP];
    const struct kernel k = parse("rbf", hp);
    struct featmap *fm = featmap_new(&k, D, M, 5, NULL);
    struct walled *w = walled_new(X, N);

    for (int i = 0; i < 2; i++) {
        const struct dirichlet_rows rows = { .map = fm, .src = i ? &w->base : &open_rows.base,
                                             .labels = labels, .hp = hp, .classes = CLASSES,
                                             .alpha = 0.01,
                                             .on = { i ? &far_ops : backend_cpu(), pool, NULL } };
        struct nmll_ask q = { .hp = hp, .nhp = 1, .scale = NMLL_BEST, .within = &within,
                              .amplitude = 1.0 };
        struct nmll_told out = { .value = &best.value[i], .grad = best.grad[i] };

        ck_assert_int_eq(dirichlet_nmll(&rows, &q, &out, NULL), ST_OK);
        q.scale = NMLL_GIVEN;
        out = (struct nmll_told){ .value = &given.value[i], .grad = given.grad[i] };
        ck_assert_int_eq(dirichlet_nmll(&rows, &q, &out, NULL), ST_OK);
    }
    compare(&best, "classes, best");
    compare(&given, "classes, given");
    featmap_free(fm);
    free(w);
}
END_TEST

START_TEST(tuners)
{
    for (size_t i = 0; tuner_at(i); i++)
        for (int approx = 0; approx < 2; approx++) {
            struct walled *w = walled_new(X, N);
            struct tune_result res[2];
            double hp[KERNEL_MAX_HP];
            const struct kernel k = parse("rbf", hp);
            struct tune_opts o = { .method = tuner_at(i)->name, .features = M, .max_evals = 6,
                                   .approx = approx, .polish = true, .seed = 3, .subsample = N };
            for (int far = 0; far < 2; far++) {
                struct tools on = { far ? &far_ops : backend_cpu(), pool, NULL };
                struct err err = { 0 };
                ck_assert_msg(tune_run(&k, far ? &w->base : &open_rows.base, y, &o, &on, &res[far],
                                       &err) == ST_OK,
                              "%s: %s", o.method, err.msg);
            }
            ck_assert_msg(res[0].evaluations == res[1].evaluations &&
                              res[0].best.nmll == res[1].best.nmll &&
                              res[0].best.hp[0] == res[1].best.hp[0],
                          "%s: %.17g, %.17g", o.method, res[0].best.nmll, res[1].best.nmll);
            tune_result_free(&res[0]);
            tune_result_free(&res[1]);
            free(w);
        }
}
END_TEST

/* Kinds whose weights belong to features: all others keep rows, or choose points among them. */
START_TEST(models)
{
    for (size_t i = 0; model_kind_at(i); i++) {
        const struct model_ops *kind = model_kind_at(i);
        struct fit_opts o = options(NULL);
        if (!kind->draws)
            continue;
        o.kind = kind;
        if (kind->several) {
            o.likelihood = kind->of;
            o.labels = (struct source_labels){ .classes = CLASSES, .alpha = 0.01 };
        }
        o.variance = VAR_AUTO;
        for (int plan = 0; plan < 3; plan++) {
            o.plan = plan == 0 ? PLAN_STORE : plan == 1 ? PLAN_REGENERATE : PLAN_DIRECT;
            same_fit(&o);
        }
    }
}
END_TEST

static enum status torn_rows(const struct source *base, size_t r0, size_t r1, double *x,
                             struct err *err)
{
    (void)base, (void)r1, (void)x;
    return err_set(err, ST_IO, "row %zu cannot be read", r0);
}

/* Rows of which none can be read: every kind of model says so, whatever it reads them for. */
START_TEST(torn)
{
    size_t told = 0;

    for (size_t i = 0; model_kind_at(i); i++) {
        struct fit_opts o = options(NULL);
        struct tools on = { backend_cpu(), pool, NULL };
        struct source_array a;
        struct fit_info info;
        struct model *m = NULL;
        struct err err = { 0 };

        source_array_init(&a, X, 500, D, D);
        a.base.rows = torn_rows;
        o.kind = model_kind_at(i);
        o.plan = PLAN_AUTO;
        o.features = M;
        o.inducing.m = o.kind->points ? 20 : 0;
        const bool labelled = o.kind->classes, several = o.kind->several;
        if (labelled) {
            o.likelihood = o.kind->of ? o.kind->of : likelihood_linked("probit");
            o.labels = (struct source_labels){ .classes = several ? CLASSES : 2, .alpha = 0.01 };
        }
        for (size_t r = 0; r < N; r++)
            labels[r] = several ? (double)(r % CLASSES) : r % 2 ? 1.0 : -1.0;
        const enum status rc = model_fit(&a.base, labelled ? labels : y, &o, &on, &m, &info, NULL,
                                         &err);
        ck_assert_msg(rc == ST_IO && err.code == ST_IO && strstr(err.msg, "cannot be read"),
                      "%s: %s, %s: %s", o.kind->name, status_name(rc), status_name(err.code),
                      err.msg);
        told++;
    }
    ck_assert_uint_gt(told, 4);
}
END_TEST

static TCase *one(const char *name, const TTest *test)
{
    TCase *c = tcase_create(name);

    tcase_add_checked_fixture(c, rows_make, rows_done);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, test);
    return c;
}

int main(void)
{
    Suite *s = suite_create("walled");

    suite_add_tcase(s, one("solvers", solvers));
    suite_add_tcase(s, one("kernels", kernels));
    suite_add_tcase(s, one("layers", layers));
    suite_add_tcase(s, one("products need rows", products_need_rows));
    suite_add_tcase(s, one("preconditioners", preconditioners));
    suite_add_tcase(s, one("likelihoods", likelihoods));
    suite_add_tcase(s, one("classes", classes));
    suite_add_tcase(s, one("tuners", tuners));
    suite_add_tcase(s, one("models", models));
    suite_add_tcase(s, one("torn", torn));
    return support_run(s);
}
