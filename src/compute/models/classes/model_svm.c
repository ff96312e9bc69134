/* compute/models/classes/model_svm.c -- two classes by a support vector machine: what a Gaussian
 * process of two classes is compared with (share/doc/methods.md 18).  It reads the kernel matrix
 * amplitude^2 K1 of that process, LIBSVM trains it at the price C of errors (csvc.h), and a sigmoid
 * of the decision values of rows left out of the training, in five folds, makes probabilities
 * (stats/platt.h).
 *
 * The model keeps the M support vectors: X, their training rows in `origin`, in ascending order,
 * and weights w = amplitude^2 y alpha.  Its state is rho, a and b of the sigmoid, and C.  The
 * decision value is k'w - rho with k at amplitude 1; there is no variance. */
#include "compute/models/classes/csvc.h"
#include "compute/models/fit.h"

#include "base/mem.h"
#include "base/text.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/models/tuning.h"
#include "compute/rng.h"
#include "compute/stats/platt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_MOST = 10000, /* of a fit: 24 n^2 bytes at the peak */
    FOLDS = 5,         /* for the sigmoid */
    STATE_RHO = 0, STATE_A, STATE_B, STATE_C, STATES
};

/* Seconds of one core for the trainings of n rows, with about 4 n steps in each, which read two
 * rows of the matrix.  A price at which few errors are left takes MORE_STEPS times as many, where
 * LIBSVM gives up: on 2,000 rows 0.5, 5.3, 25 and 26 s were measured at growing prices. */
enum { MORE_STEPS = 70 };
static double seconds(size_t n, double steps)
{
    const double rows = (double)n;

    return 0.5 * exact_seconds(n) + steps * (FOLDS + 1) * 4.0 * rows * rows * 5e-9;
}

static enum status refused(const struct fit_opts *o, size_t n, struct err *err)
{
    char rows[32];

    if (o->likelihood == NULL || !o->likelihood->classes || o->likelihood->several) {
        err_named(err, ST_UNSUPPORTED, "svm",
                  "a support vector machine separates two classes, and the target is %s",
                  o->likelihood && o->likelihood->several ? "one of several" : "a number");
        err_hint(err, "likelihood bernoulli, then fit solver=svm  |  fit");
        return ST_UNSUPPORTED;
    }
    if (o->labels.balanced) {
        err_named(err, ST_UNSUPPORTED, "svm",
                  "classweights=balanced weighs rows of a Gaussian process; a support vector "
                  "machine has one price for all");
        err_hint(err, "likelihood bernoulli, then fit solver=svm  |  fit");
        return ST_UNSUPPORTED;
    }
    if (!csvc_here())
        return csvc_new(0, NULL, NULL, err) ? ST_INTERNAL : ST_UNSUPPORTED;
    if (n <= ROWS_MOST)
        return ST_OK;
    text_count(rows, sizeof rows, n);
    err_named(err, ST_LIMIT, "classes-size",
              "a support vector machine reads the whole kernel matrix in each of %d trainings: %s "
              "training rows are more than %d", FOLDS + 1, rows, ROWS_MOST);
    err_hint(err, "split train=%d  |  fit solver=sparse  |  likelihood gaussian", ROWS_MOST);
    return ST_LIMIT;
}

static enum status plan(const struct fit_opts *o, size_t n, size_t d, size_t threads,
                        struct fit_plan *p, char note[256], struct err *err)
{
    char mem[24], time[32], most[32], rows[24];
    enum status rc = refused(o, n, err);

    p->plan = PLAN_DIRECT;
    p->threads = threads;
    p->Mv = 0;
    p->bytes = 24.0 * (double)n * (double)n + 8.0 * (double)n * (double)d;
    if (rc == ST_OK)
        rc = exact_allowed(n, 3, o->mem_limit, err);
    if (rc != ST_OK)
        return rc;
    mem_format(mem, sizeof mem, p->bytes);
    text_seconds(time, sizeof time, seconds(n, 1.0));
    text_seconds(most, sizeof most, seconds(n, MORE_STEPS));
    text_count(rows, sizeof rows, n);
    snprintf(note, 256, "svm: %d trainings of %s rows at C=%g in %s, about %s, by the price "
                        "up to %s; %d of them leave a fold out, for the probabilities",
             FOLDS + 1, rows, o->cost, mem, time, most, FOLDS);
    return ST_OK;
}

static size_t size(const struct fit_opts *o, size_t n)
{
    (void)o;
    return n;
}

/* A fit under way: the machine, and arrays of n. */
struct machine {
    struct csvc *c;
    size_t n, folds, *rows, *fold;
    double *coef, *value;
    const double *y;
};

static void machine_free(struct machine *s)
{
    csvc_free(s->c);
    free(s->rows);
    free(s->coef);
}

/* The matrix amplitude^2 K1, both triangles, in the form that LIBSVM reads. */
static enum status machine_make(struct machine *s, const struct fit *ft, struct err *err)
{
    const struct model *m = ft->m;
    const size_t n = s->n;
    const struct exact_rows rows = { .k = &m->kernel, .hp = m->hp, .X = m->X, .n = n, .d = m->d,
                                     .pool = ft->on.pool };
    struct phase_ctl phase;
    double *K = mem_aligned(n * n, sizeof *K, "the kernel matrix", err);
    enum status rc = K ? exact_matrix(&rows, 0.0, K,
                                      model_phase(&phase, ft->on.ctl, PHASE_KERNEL), err)
                       : ST_NOMEM;

    if (rc == ST_OK) {
        blas_dscal(n * n, m->amplitude * m->amplitude, K);
        blas_mirror(0, n, 0, n, K, n);
        s->c = csvc_new(n, K, ft->y, err);
        rc = s->c ? ST_OK : err_status(err);
    }
    free(K);
    s->rows = rc == ST_OK ? mem_calloc(3 * n, sizeof *s->rows, "the folds", err) : NULL;
    s->coef = s->rows ? mem_calloc(2 * n, sizeof *s->coef, "the support vectors", err) : NULL;
    if (rc == ST_OK && s->coef == NULL)
        return ST_NOMEM;
    s->fold = s->rows ? s->rows + n : NULL;
    s->value = s->coef ? s->coef + n : NULL;
    return rc;
}

/* Deals the rows of each class at random to the folds, of which no class has fewer rows: five, or
 * fewer for a class of fewer rows; one leaves no row out. */
static void deal(struct machine *s, uint64_t seed)
{
    const size_t n = s->n;
    size_t *of_class = s->rows, *order = s->fold + n, count[2] = { 0, 0 };

    for (size_t i = 0; i < n; i++)
        count[s->y[i] > 0.0]++;
    const size_t fewer = count[0] < count[1] ? count[0] : count[1];
    s->folds = fewer < FOLDS ? fewer : FOLDS;
    for (unsigned c = 0; c < 2; c++) {
        size_t k = 0;
        for (size_t i = 0; i < n; i++)
            if ((s->y[i] > 0.0) == (c == 1))
                of_class[k++] = i;
        rng_permutation(seed, rng_stream(RNG_SVM, c), k, order);
        for (size_t i = 0; i < k; i++)
            s->fold[of_class[order[i]]] = i % s->folds;
    }
}

/* Trains on the rows outside a fold; `all`, on all rows. */
static enum status train(struct machine *s, const struct fit *ft, bool all, size_t fold,
                         struct csvc_end *end, struct err *err)
{
    size_t m = 0;

    for (size_t i = 0; i < s->n; i++)
        if (all || s->fold[i] != fold)
            s->rows[m++] = i;
    return csvc_train(s->c, ft->o->cost, m, s->rows, s->coef, end, ft->on.ctl, err);
}

static void tell(const struct fit *ft, const struct machine *s, size_t done)
{
    ctl_tell(ft->on.ctl, PHASE_FOLDS, done, s->folds + 1, NAN);
}

/* The sigmoid from rows that each training has left out.  A class of one row cannot be left out:
 * then from the decision values of the training, which are further apart than those of new rows. */
static enum status scale(struct machine *s, struct fit *ft, struct platt *p, struct err *err)
{
    const bool lone = s->folds < 2;
    enum status rc = ST_OK;

    for (size_t k = 0; rc == ST_OK && k < s->folds; k++) {
        struct csvc_end end;
        tell(ft, s, k);
        rc = train(s, ft, lone, k, &end, err);
        for (size_t i = 0; rc == ST_OK && i < s->n; i++)
            if (s->fold[i] == k)
                s->value[i] = csvc_value(s->c, s->coef, end.rho, i);
    }
    if (rc != ST_OK)
        return rc;
    *p = platt_fit(s->n, s->value, s->y);
    if (lone)
        fit_warn(ft->info, "platt", "one training row alone is of a class, so that the "
                 "probabilities come from rows that the machine was trained on: they are too sure");
    else if (!(p->a < 0.0))
        fit_warn(ft->info, "platt", "decision values of left-out rows rank the classes no better "
                 "than chance, and the probabilities do not rise with them");
    return ST_OK;
}

/* The support vectors become the model; X was that of all rows. */
static enum status keep(struct fit *ft, const struct machine *s, const struct csvc_end *end,
                        const struct platt *p, struct err *err)
{
    struct model *m = ft->m;
    struct fit_info *info = ft->info;
    const double C = ft->o->cost;
    size_t k = 0;

    for (size_t i = 0; i < s->n; i++)
        k += s->coef[i] != 0.0;
    if (k == 0)
        return err_set(err, ST_RANGE, "the kernel has values that are not finite at amplitude %g",
                       m->amplitude);
    m->state = mem_calloc(STATES, sizeof *m->state, "the decision function", err);
    m->origin = m->state ? mem_calloc(k + 1, sizeof *m->origin, "the support vectors", err) : NULL;
    if (m->origin == NULL)
        return ST_NOMEM;
    m->nstate = STATES;
    m->state[STATE_RHO] = end->rho;
    m->state[STATE_A] = p->a;
    m->state[STATE_B] = p->b;
    m->state[STATE_C] = C;
    m->M = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->coef[i] == 0.0)
            continue;
        m->origin[m->M] = (double)i;
        m->w[m->M] = m->amplitude * m->amplitude * s->coef[i];
        memmove(m->X + m->M * m->d, m->X + i * m->d, m->d * sizeof *m->X);
        m->M++;
        info->bounded += fabs(s->coef[i]) >= C;
    }
    info->support = m->M;
    info->cost = C;
    info->iterations = end->iterations;
    info->sigmoid_a = p->a;
    info->sigmoid_b = p->b;
    info->sigmoid_loss = platt_loss(s->n, s->value, s->y, p);
    info->residual = info->true_residual = NAN;
    return ST_OK;
}

static enum status fit(struct fit *ft, struct err *err)
{
    struct model *m = ft->m;
    struct machine s = { .n = ft->src->n, .y = ft->y };
    struct csvc_end end = { 0 };
    struct platt p = { 0 };
    const double start = fit_now();
    enum status rc = ST_OK;

    if (ft->src->row_scale != NULL) {
        rc = err_named(err, ST_UNSUPPORTED, "classes",
                       "weights of rows belong to Gaussian noise; two classes have none");
        err_hint(err, "cols NAME role=skip");
        return rc;
    }
    m->likelihood = ft->o->likelihood;
    m->X = exact_inputs(ft->src, err);
    rc = m->X ? machine_make(&s, ft, err) : err_status(err);
    if (rc == ST_OK) {
        deal(&s, ft->o->seed);
        rc = scale(&s, ft, &p, err);
    }
    if (rc == ST_OK) {
        tell(ft, &s, s.folds);
        rc = train(&s, ft, true, 0, &end, err);
    }
    if (rc == ST_OK)
        rc = keep(ft, &s, &end, &p, err);
    machine_free(&s);
    ft->info->why = OUT_RTOL;
    ft->info->seconds.solve = fit_now() - start;
    return rc;
}

static void end(struct fit *ft, enum status rc)
{
    (void)ft;
    (void)rc; /* nothing is held */
}

/* A session may hold anything. */
static enum status loaded(const struct model *m, size_t rows, struct err *err)
{
    const double *s = m->state;

    bool finite = m->nstate == STATES;

    for (size_t i = 0; finite && i < STATES; i++)
        finite = isfinite(s[i]);
    if (!finite || !(s[STATE_C] > 0.0) || m->temperature > 0.0)
        return err_set(err, ST_FORMAT, "its decision function is not of four finite numbers");
    const double most = m->amplitude * m->amplitude * s[STATE_C] * (1.0 + 1e-9);
    for (size_t i = 0; i < m->M; i++) {
        if (!(fabs(m->w[i]) > 0.0 && fabs(m->w[i]) <= most))
            return err_set(err, ST_FORMAT, "the coefficient of support vector %zu is %g", i + 1,
                           m->w[i]);
        if (m->origin[i] < 0.0 || m->origin[i] >= (double)rows ||
            (i > 0 && m->origin[i] <= m->origin[i - 1]))
            return err_set(err, ST_FORMAT, "support vector %zu is not the next of %zu rows", i + 1,
                           rows);
    }
    return ST_OK;
}

static enum status variance(struct model *m, const struct source *train_rows, size_t Mv,
                            const struct tools *on, double *effdim, struct err *err)
{
    (void)m, (void)train_rows, (void)Mv, (void)on, (void)effdim;
    return err_set(err, ST_UNSUPPORTED, "a support vector machine has no variances");
}

static bool suits(const struct model *m, const struct source *src, struct err *err)
{
    return exact_model.suits(m, src, err);
}

/* Decision values of a tile of rows; C (M x rows) has the covariances of each row at amplitude
 * 1. */
static enum status tile(const struct prediction *p, size_t r0, size_t r1, double *work,
                        struct err *err)
{
    const struct model *m = p->m;
    const size_t d = p->src->d;
    double *Xt = work, *C = work + MODEL_TILE * d;
    const struct exact_rows rows = { .k = &m->kernel, .hp = m->hp, .X = m->X, .n = m->M,
                                     .d = m->d };
    const enum status rc = p->src->rows(p->src, r0, r1, Xt, err);

    if (rc != ST_OK)
        return rc;
    exact_cross_wide(&rows, Xt, d, r1 - r0, C);
    for (size_t i = r0; i < r1; i++)
        p->mean[i] = blas_ddot(m->M, C + (i - r0) * m->M, m->w) - m->state[STATE_RHO];
    return ST_OK;
}

static enum status predict(struct prediction *p, struct err *err)
{
    if (p->m->nstate != STATES)
        return err_set(err, ST_STATE, "the model keeps no decision function: fit again");
    p->tile = tile;
    p->work_len = MODEL_TILE * (p->src->d + p->m->M) + 8;
    return model_tiles(p, err);
}

static double probability(const struct model *m, double value)
{
    return platt_probability(&(struct platt){ m->state[STATE_A], m->state[STATE_B] }, value);
}

static double constant(const struct model *m)
{
    return -m->state[STATE_RHO];
}

static void words(const struct fit_info *i, char *out, size_t n)
{
    snprintf(out, n, "%zu support vectors, %zu of them at the price C=%g; p = 1/(1 + "
                     "exp(%.4g f %+.4g)) of the decision value f, by rows of five folds, whose log "
                     "loss is %.4f",
             i->support, i->bounded, i->cost, i->sigmoid_a, i->sigmoid_b, i->sigmoid_loss);
}

/* Tuning: there is nothing to maximise. */

static struct tuning_sizes sizes(const struct kernel *k, size_t n, size_t d, size_t features,
                                 size_t rows)
{
    const size_t low = rows && rows < n ? rows : n;

    (void)k, (void)d, (void)features;
    return (struct tuning_sizes){ .rows = low, .cols = low, .all_cols = low, .all_rows = low };
}

static enum status no_evidence(struct err *err)
{
    err_named(err, ST_UNSUPPORTED, "svm",
              "a support vector machine has no evidence by which hyperparameters could be tuned");
    err_hint(err, "tune, then fit solver=svm C=1  (at the hyperparameters of the Gaussian "
                  "process)");
    return ST_UNSUPPORTED;
}

static enum status allowed(size_t n, size_t features, size_t mem_limit, struct err *err)
{
    (void)n, (void)features, (void)mem_limit;
    return no_evidence(err);
}

static enum status tuned(struct tuning_level *l, const struct nmll_ask *ask,
                         const struct nmll_told *told, struct err *err)
{
    (void)l, (void)ask, (void)told;
    return no_evidence(err);
}

static void close_level(struct tuning_level *l)
{
    (void)l; /* nothing is held */
}

static const struct model_tuning tuning = {
    .joint = true,
    .in_double = true,
    .no_noise = true,
    .sizes = sizes,
    .allowed = allowed,
    .best = tuned,
    .at = tuned,
    .no_errors = "is the squared error of a regression",
    .no_probes = "nmll=approx estimates the marginal likelihood of a regression",
    .close = close_level,
};

const struct model_ops svm_model = {
    .name = "svm",
    .solver = "svm",
    .words = "support vectors, two classes",
    .cite = "support vectors: Cortes & Vapnik 1995; probabilities: Platt 1999",
    .classes = true,
    .alone = true,
    .margin = true,
    .keeps_inputs = true,
    .size = size,
    .plan = plan,
    .fit = fit,
    .end = end,
    .loaded = loaded,
    .variance = variance,
    .suits = suits,
    .predict = predict,
    .probability = probability,
    .constant = constant,
    .verdict = words,
    .tuning = &tuning,
};
