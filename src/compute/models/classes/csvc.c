/* compute/models/classes/csvc.c -- see csvc.h.  LIBSVM reads a kernel matrix as rows of nodes: the
 * number of the row, from 1, then the kernel values with all rows.  A subset of the rows is a list
 * of such rows. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "compute/models/classes/csvc.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBSVM
#include <libsvm/svm.h>
#include <pthread.h>

/* A cache of the library beside the matrix would only repeat it, and values in it outlive a stop.
 * It keeps two columns in any case. */
#define CACHE_MB 1e-6

struct csvc {
    size_t n;
    const double *y;
    struct svm_node *node; /* n rows of n + 2 */
    bool spoiled;
};

bool csvc_here(void)
{
    return true;
}

static struct svm_node *row_of(const struct csvc *c, size_t i)
{
    return c->node + i * (c->n + 2);
}

struct csvc *csvc_new(size_t n, const double *K, const double *y, struct err *err)
{
    struct csvc *c = mem_calloc(1, sizeof *c, "the support vector machine", err);

    if (c == NULL)
        return NULL;
    *c = (struct csvc){ .n = n, .y = y };
    c->node = mem_calloc(n, (n + 2) * sizeof *c->node, "the support vector machine", err);
    if (c->node == NULL) {
        free(c);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        struct svm_node *x = row_of(c, i);
        x[0] = (struct svm_node){ 0, (double)(i + 1) };
        for (size_t j = 0; j < n; j++)
            x[j + 1] = (struct svm_node){ (int)(j + 1), K[i * n + j] };
        x[n + 1] = (struct svm_node){ -1, 0.0 };
    }
    return c;
}

void csvc_free(struct csvc *c)
{
    if (c != NULL)
        free(c->node);
    free(c);
}

/* A training under way, on a thread of its own.  The library tells of its progress by one function
 * of text for the whole program, which has no argument of ours. */
struct training {
    struct csvc *c;
    const struct ctl *ctl;
    const struct svm_problem *problem;
    const struct svm_parameter *how;
    struct svm_model *out;
    size_t each, steps, iterations, after;
    bool stopped;
};
static _Thread_local struct training *now;

/* Every comparison with NaN is false, so that the solver finds no pair that violates a condition,
 * and ends. */
static void spoil(struct csvc *c)
{
    for (size_t i = 0; i < c->n; i++)
        for (size_t j = 1; j <= c->n; j++)
            row_of(c, i)[j].value = NAN;
    c->spoiled = true;
}

/* The library cannot be asked to stop.  Spoiled values end it within some steps, unless it works on
 * so few rows that it keeps all their values: then its thread ends here, which unwinds its frames,
 * and some 100 bytes a row that it had not yet handed over are lost. */
static void heard(const char *text)
{
    struct training *t = now;
    size_t iterations;

    if (t == NULL)
        return;
    if (sscanf(text, " optimization finished, #iter = %zu", &iterations) == 1)
        t->iterations = iterations;
    if (strcmp(text, ".") != 0)
        return;
    t->steps += t->each;
    if (t->c->spoiled && ++t->after > 1)
        pthread_exit(NULL);
    t->stopped = t->stopped || ctl_stopped(t->ctl);
    if (!t->c->spoiled && (t->stopped || t->steps >= CSVC_STEPS))
        spoil(t->c);
}

static void *work(void *arg)
{
    struct training *t = arg;

    now = t;
    t->out = svm_train(t->problem, t->how);
    now = NULL;
    return NULL;
}

static enum status ended(const struct training *t, struct err *err)
{
    if (!t->c->spoiled)
        return ST_OK;
    if (t->stopped || ctl_stopped(t->ctl))
        return err_set(err, ST_CANCELLED, "stopped");
    err_named(err, ST_LIMIT, "svm",
              "the support vector machine had not converged after %d steps: C=%g is too high a "
              "price at this amplitude", CSVC_STEPS, t->how->C);
    err_hint(err, "fit solver=svm C=%g", t->how->C / 100.0);
    return ST_LIMIT;
}

static enum status run(struct training *t, struct err *err)
{
    pthread_t thread;
    enum status rc = ended(t, err);

    if (rc != ST_OK)
        return rc;
    svm_set_print_string_function(heard);
    if (pthread_create(&thread, NULL, work, t) != 0)
        return err_set(err, ST_NOMEM, "no thread for the support vector machine");
    pthread_join(thread, NULL);
    return ended(t, err);
}

/* Coefficients of the rows from a trained model, which has +1 as its positive class unless it says
 * otherwise. */
static void take(const struct svm_model *m, const size_t *rows, double *coef, double *rho)
{
    const double sign = m->label[0] > 0 ? 1.0 : -1.0;

    for (int k = 0; k < m->l; k++)
        coef[rows[m->sv_indices[k] - 1]] = sign * m->sv_coef[0][k];
    *rho = sign * m->rho[0];
}

enum status csvc_train(struct csvc *c, double C, size_t m, const size_t *rows, double *coef,
                       struct csvc_end *end, const struct ctl *ctl, struct err *err)
{
    const struct svm_parameter how = { .svm_type = C_SVC, .kernel_type = PRECOMPUTED,
                                       .cache_size = CACHE_MB, .eps = CSVC_EPS, .C = C,
                                       .shrinking = 1 };
    struct svm_node **x = mem_calloc(m, sizeof *x, "the support vector machine", err);
    double *y = x ? mem_calloc(m, sizeof *y, "the support vector machine", err) : NULL;
    struct svm_problem problem = { .l = (int)m, .y = y, .x = x };
    struct training t = { .c = c, .ctl = ctl, .problem = &problem, .how = &how,
                          .each = m < 1000 ? m : 1000 };
    enum status rc = y ? ST_OK : ST_NOMEM;

    memset(coef, 0, c->n * sizeof *coef);
    *end = (struct csvc_end){ .rho = 0.0 };
    for (size_t i = 0; rc == ST_OK && i < m; i++) {
        x[i] = row_of(c, rows[i]);
        y[i] = c->y[rows[i]];
    }
    const char *wrong = rc == ST_OK ? svm_check_parameter(&problem, &how) : NULL;
    if (wrong != NULL)
        rc = err_set(err, ST_RANGE, "LIBSVM refuses C=%g: %s", C, wrong);
    if (rc == ST_OK)
        rc = run(&t, err);
    if (rc == ST_OK && t.out->nr_class != 2)
        rc = err_set(err, ST_RANGE, "a support vector machine needs rows of both classes");
    if (rc == ST_OK) {
        take(t.out, rows, coef, &end->rho);
        end->iterations = t.iterations;
    }
    if (t.out != NULL)
        svm_free_and_destroy_model(&t.out);
    free(x);
    free(y);
    return rc;
}

double csvc_value(const struct csvc *c, const double *coef, double rho, size_t i)
{
    const struct svm_node *x = row_of(c, i) + 1;
    double sum = 0.0;

    for (size_t j = 0; j < c->n; j++)
        sum += coef[j] * x[j].value;
    return sum - rho;
}

#else

bool csvc_here(void)
{
    return false;
}

struct csvc *csvc_new(size_t n, const double *K, const double *y, struct err *err)
{
    (void)n, (void)K, (void)y;
    err_named(err, ST_UNSUPPORTED, "svm",
              "solver=svm needs LIBSVM, and this program was built without it");
    err_hint(err, "apt-get install libsvm-dev, then configure and make again  |  fit");
    return NULL;
}

void csvc_free(struct csvc *c)
{
    (void)c;
}

enum status csvc_train(struct csvc *c, double C, size_t m, const size_t *rows, double *coef,
                       struct csvc_end *end, const struct ctl *ctl, struct err *err)
{
    (void)c, (void)C, (void)m, (void)rows, (void)coef, (void)end, (void)ctl;
    return err_set(err, ST_UNSUPPORTED, "built without LIBSVM");
}

double csvc_value(const struct csvc *c, const double *coef, double rho, size_t i)
{
    (void)c, (void)coef, (void)rho, (void)i;
    return NAN;
}

#endif
