/* tests/compute/summed.c -- every sum over rows that a feature operator has (summed.h). */
#include "summed.h"

#include "compute/backend.h"
#include "compute/features/fop_rows.h"
#include "compute/pool.h"
#include "compute/rng.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums by segments and by tiles; with their own centre; of bits; with rows so unlike a sample that
 * bounds have to be found anew. */
static const struct summed_task tasks[] = {
    { "rbf", 64, PREC_FLOAT, SUMMED_NUMBERS, false, false, false, NULL },
    { "rbf", 64, PREC_FLOAT, SUMMED_NUMBERS, true, true, false, "portable" },
    { "rbf", 576, PREC_FLOAT, SUMMED_NUMBERS, false, false, false, "portable" },
    { "rbf + matern(nu=3/2)", 500, PREC_FLOAT, SUMMED_NUMBERS, true, true, false, NULL },
    { "matern(nu=5/2)", 640, PREC_FLOAT, SUMMED_NUMBERS, true, false, false, NULL },
    { "rbf", 256, PREC_FLOAT, SUMMED_NUMBERS, false, true, true, NULL },
    { "rbf", 160, PREC_DOUBLE, SUMMED_NUMBERS, true, false, false, NULL },
    { "rbf", 576, PREC_DOUBLE, SUMMED_NUMBERS, false, true, false, NULL },
    { "rbf(ard)", 128, PREC_FLOAT, SUMMED_NUMBERS, false, false, false, NULL },
    { "conv(rbf,width=2)", 128, PREC_FLOAT, SUMMED_VECTORS, true, false, false, NULL },
    { "tanimoto", 128, PREC_FLOAT, SUMMED_COUNTS, false, false, false, NULL },
    { "linear + rbf", 128, PREC_FLOAT, SUMMED_SPARSE, false, false, false, NULL },
    { "linear + rbf", 576, PREC_FLOAT, SUMMED_SPARSE, true, false, false, NULL },
};

const struct summed_task *summed_task_at(size_t i)
{
    return i < sizeof tasks / sizeof tasks[0] ? &tasks[i] : NULL;
}

int summed_count(void)
{
    const int all = (int)(sizeof tasks / sizeof tasks[0]);
    const char *wanted = getenv("GPDESK_SUMS");
    const int some = wanted ? atoi(wanted) : 0;

    return some > 0 && some < all ? some : all;
}

const struct summed_task *summed_chosen(int i)
{
    return &tasks[(size_t)i * (sizeof tasks / sizeof tasks[0]) / (size_t)summed_count()];
}

static double *normals(size_t n, uint32_t sub)
{
    double *v = malloc(n * sizeof *v);

    ck_assert_ptr_nonnull(v);
    for (size_t i = 0; i < n; i++)
        v[i] = rng_normal(17, rng_stream(RNG_TEST, sub), i);
    return v;
}

static void rows_make(const struct summed_task *t, struct summed_given *g)
{
    g->X = normals(SUMMED_N * SUMMED_D, 1);
    for (size_t i = 0; i < SUMMED_N; i++) {
        double *x = g->X + i * SUMMED_D;
        if (t->rows == SUMMED_VECTORS) { /* 3 to 5 positions of 2 numbers */
            x[0] = 3.0 + (double)(i % 3);
            for (size_t j = 1; j < SUMMED_D; j++)
                x[j] += 1.0;
        } else if (t->rows == SUMMED_COUNTS) { /* 3 or 4 places */
            x[0] = 3.0 + (double)(i % 2);
            for (size_t j = 0; j < 4; j++) {
                x[1 + 2 * j] = (double)(10 * j + rng_below(17, RNG_TEST, 4 * i + j, 5));
                x[2 + 2 * j] = 1.0 + (double)(i * j % 3);
            }
        } else if (t->rows == SUMMED_SPARSE) { /* large numbers in few rows */
            for (size_t j = 0; j + 1 < SUMMED_D; j++)
                x[j] = i % 1000 == 500 + j ? 1e4 * x[j] : 0.0;
        }
    }
    if (t->rows == SUMMED_VECTORS || t->rows == SUMMED_COUNTS)
        g->layout = (struct row_layout){
            .nparts = 1,
            .part = { t->rows == SUMMED_VECTORS ? (struct row_part){ ROWS_VECTORS, 2, 5, 0 }
                                         : (struct row_part){ ROWS_COUNTS, COUNTS_CHANNELS, 4, 0 } }
        };
}

void summed_make(const struct summed_task *t, struct summed_given *g)
{
    size_t from[KERNEL_MAX_HP];
    struct err err = { 0 };

    *g = (struct summed_given){ .w = NULL };
    rows_make(t, g);
    ck_assert_msg(kernel_parse(t->kernel, &g->k, g->hp, &err) == ST_OK, "%s", err.msg);
    if (g->layout.nparts)
        ck_assert_msg(kernel_bind_rows(&g->k, &g->layout, NULL, &err) == ST_OK, "%s", err.msg);
    else
        ck_assert_int_eq(kernel_bind(&g->k, SUMMED_D, from, NULL), ST_OK);
    for (size_t h = 0; h < kernel_nhp(&g->k); h++)
        g->hp[h] = t->rows == SUMMED_VECTORS ? 1.0 : 2.0 + 0.1 * (double)h;
    g->fm = featmap_new(&g->k, SUMMED_D, t->M, 5, &err);
    ck_assert_msg(g->fm != NULL, "%s", err.msg);
    g->w = t->weights ? normals(SUMMED_N, 2) : NULL;
    for (size_t i = 0; g->w && i < SUMMED_N; i++)
        g->w[i] = 0.5 + fabs(g->w[i]);
    g->y = normals(SUMMED_RHS * SUMMED_N, 3);
    g->P = normals(SUMMED_RHS * t->M, 4);
    g->labels = malloc(SUMMED_N * sizeof *g->labels);
    for (size_t i = 0; i < SUMMED_N; i++)
        g->labels[i] = (double)(i * i % SUMMED_CLASSES);
    g->omega = normals(SUMMED_SKETCH * t->M, 5);
    g->S = normals(t->M * t->M, 6);
    for (size_t j = 0; j < t->M; j++)
        for (size_t i = 0; i < j; i++)
            g->S[i * t->M + j] = g->S[j * t->M + i];
    for (size_t i = 0; i < SUMMED_PER; i++)
        g->block[i] = 37 * i % (SUMMED_N / 16 + 1);
}

void summed_free(struct summed_given *g)
{
    free(g->X), free(g->w), free(g->y), free(g->P), free(g->omega), free(g->S);
    free(g->labels);
    featmap_free(g->fm);
}

static double *result(struct summed *p, size_t n)
{
    double *v = calloc(n + 1, sizeof *v);

    ck_assert_ptr_nonnull(v);
    ck_assert_uint_lt(p->results, SUMMED_RESULTS);
    p->out[p->results] = v;
    p->len[p->results++] = n;
    return v;
}

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) != ST_OK && p->failed.code == ST_OK)                                            \
            p->failed = err;                                                                       \
    } while (0)

static void products(struct summed *p, struct fop *f, const double *y)
{
    const struct summed_given *g = p->g;
    const size_t M = p->t->M;
    struct err err = { 0 };
    double *G = result(p, M * M), *zty = result(p, 3 * M), *C = result(p, M * M);

    MUST(fop_gram_of(f, 3, y, G, zty, NULL, NULL, &err));
    if (fop_has_dtile(f))
        MUST(fop_dgram(f, 0, C, NULL, &err));
    MUST(fop_sketch(f, SUMMED_SKETCH, g->omega, result(p, SUMMED_SKETCH * M), NULL, &err));
    MUST(fop_pass(f, 1, g->P, result(p, M), NULL, &err));
    MUST(fop_pass(f, SUMMED_RHS, g->P, result(p, SUMMED_RHS * M), NULL, &err));
    MUST(fop_pass_exact(f, 2, g->P, result(p, 2 * M), NULL, &err));
    MUST(fop_ztv(f, SUMMED_RHS, y, result(p, SUMMED_RHS * M), NULL, &err));
}

static void rows_summed(struct summed *p, struct fop *f, const double *y)
{
    const struct summed_given *g = p->g;
    const size_t M = p->t->M, nhp = kernel_nhp(&g->k);
    const struct fop_slope with = { g->S, y, g->P, 2, nhp }, without = { NULL, y, g->P, 2, nhp };
    const struct fop_groups groups = { SUMMED_GROUPS, SUMMED_EACH, p->t->precision };
    struct err err = { 0 };

    MUST(fop_diagonal(f, result(p, M), NULL, &err));
    if (fop_has_dtile(f))
        MUST(fop_slope_form(f, 0, y, g->P, result(p, 1), &err));
    MUST(fop_back(f, &with, result(p, nhp), NULL, &err));
    MUST(fop_back(f, &without, result(p, nhp), NULL, &err));
    MUST(fop_means(f, &groups, result(p, SUMMED_GROUPS * M), NULL, &err));
    struct fop_blocks *b = fop_blocks_new(f, 16, SUMMED_PER, 2, &err);
    ck_assert_ptr_nonnull(b);
    MUST(fop_blocks_pass(b, g->block, g->P, result(p, 2 * M), &err));
    fop_blocks_free(b);
}

/* The gradient of a multinomial logistic loss and a product with its Hessian. */
static void classes_summed(struct summed *p, struct fop *f)
{
    static const double offset[SUMMED_CLASSES] = { 0.1, -0.2, 0.3 };
    static const double weight[SUMMED_CLASSES] = { 1.0, 2.0, 0.5 };
    const size_t M = p->t->M;
    struct fop_softmax of = { .classes = SUMMED_CLASSES, .labels = p->g->labels + p->r0,
                              .weight = weight, .offset = offset, .W = p->g->P };
    struct err err = { 0 };

    MUST(fop_softmax(f, &of, result(p, SUMMED_CLASSES * M), result(p, 1), NULL, &err));
    of.V = p->g->omega;
    of.keep = true;
    MUST(fop_softmax(f, &of, result(p, SUMMED_CLASSES * M), NULL, NULL, &err));
}

void summed_all(struct summed *p, struct fop *f, const double *y)
{
    products(p, f, y);
    rows_summed(p, f, y);
    classes_summed(p, f);
}

void summed_done(struct summed *p)
{
    for (size_t i = 0; i < p->results; i++)
        free(p->out[i]);
}

void summed_over(const struct backend_ops *be, const struct summed_task *t,
                 const struct summed_given *g, struct summed *out)
{
    struct pool *pool = pool_new(2, NULL);
    const struct fop_opts o = { .pool = pool, .precision = t->precision, .store = t->store,
                                .half = t->half, .row_scale = g->w };
    struct source_array src;
    struct err err = { 0 };

    *out = (struct summed){ .t = t, .g = g };
    source_array_init(&src, g->X, SUMMED_N, SUMMED_D, SUMMED_D);
    src.base.layout = g->layout;
    struct fop *f = fop_new(be, g->fm, &src.base, &o, &err);
    ck_assert_msg(f != NULL, "%s: %s", t->kernel, err.msg);
    ck_assert_int_eq(fop_set(f, g->hp, &err), ST_OK);
    summed_all(out, f, g->y);
    ck_assert_msg(out->failed.code == ST_OK, "%s: %s", t->kernel, out->failed.msg);
    ck_assert_msg(!fop_lost(f, &err), "%s: %s", t->kernel, err.msg);
    fop_free(f);
    pool_free(pool);
}
