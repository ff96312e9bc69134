/* tests/compute/check_rows.c -- rows of several parts: expressions over two sequences, counts and a
 * number against products and sums of the golden values of single kernels; features against exact
 * values and against the interpreter; rows whose first part is longer than in training; what does
 * not suit is refused. */
#include "tests/support.h"

#include "base/buf.h"
#include "base/mem.h"
#include "compute/backend.h"
#include "compute/features/featmap.h"
#include "compute/features/fop.h"
#include "compute/features/interp.h"
#include "compute/features/source.h"
#include "compute/kernels/kernel_tile.h"
#include "compute/models/exact.h"
#include "compute/models/model.h"
#include "compute/rng.h"

#include <check.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number, then counts, then vectors of 4, then symbols of 5 letters. */
enum { COUNTS, VECTORS, SYMBOLS, PARTS, PLACES = 16, NODES = 12, LETTERS = 5, LONG = 9 };
static const struct row_layout layout = {
    .flat = 1,
    .nparts = PARTS,
    .part = { { ROWS_COUNTS, COUNTS_CHANNELS, PLACES },
              { ROWS_VECTORS, 4, NODES },
              { ROWS_SYMBOLS, LETTERS, LONG } }
};
enum { HEAD = 1 + PARTS };

/* Which part each kernel of an expression reads follows from its layer. */
static struct kernel parsed(const char *text)
{
    struct kernel k;
    struct err err = { 0 };
    size_t part[KERNEL_MAX_TERMS] = { 0 };

    ck_assert_msg(kernel_parse(text, &k, NULL, &err) == ST_OK, "%s: %s", text, err.msg);
    for (size_t t = 0; t < k.nterms; t++) {
        if (!kterm_reads_windows(&k.term[t]))
            continue;
        part[t] = k.term[t].layer.ops->rows & ROWS_COUNTS ? COUNTS
                  : strcmp(k.term[t].on, "letters") == 0  ? SYMBOLS
                                                          : VECTORS;
    }
    ck_assert_msg(kernel_bind_rows(&k, &layout, part, &err) == ST_OK, "%s: %s", text, err.msg);
    return k;
}

/* Rows with room for `more` positions beyond the longest of each part. */
struct rows { struct source_array src; double *x; size_t n, d, at[PARTS]; };

static void rows_free(struct rows *r) { free(r->x); }

static struct rows rows_new(size_t n, size_t more)
{
    struct rows r = { .n = n, .at = { HEAD } };

    for (size_t p = 0, at = HEAD; p < PARTS; p++) {
        const size_t per = layout.part[p].rows == ROWS_SYMBOLS ? 1 : layout.part[p].channels;
        r.at[p] = at;
        at += 1 + (layout.part[p].positions + more) * per;
        r.d = at;
    }
    r.x = mem_calloc(n * r.d, sizeof *r.x, "rows", NULL);
    for (size_t i = 0; i < n; i++)
        for (size_t p = 0; p < PARTS; p++)
            r.x[i * r.d + layout.flat + p] = (double)r.at[p];
    source_array_init(&r.src, r.x, n, r.d, r.d);
    r.src.base.layout = layout;
    return r;
}

static double *part_of(const struct rows *r, size_t i, size_t p)
{
    return r->x + i * r->d + r->at[p];
}

/* The golden counts and vectors, and a number; without letters. */
static struct rows golden_rows(size_t more)
{
    size_t n, places, r, c, m, one;
    double *v = support_golden("tan_counts", &n, &places), *x = support_golden("conv_seqs", &r, &c),
           *len = support_golden("conv_lengths", &m, &one);

    ck_assert(places <= PLACES && c == 4 && r == NODES * m);
    n = n < m ? n : m;
    struct rows g = rows_new(n, more);
    for (size_t i = 0; i < n; i++) {
        double *a = part_of(&g, i, COUNTS), *b = part_of(&g, i, VECTORS);
        g.x[i * g.d] = 0.3 * (double)i;
        for (size_t p = 0; p < places; p++)
            if (v[i * places + p] > 0.0) {
                a[1 + 2 * (size_t)a[0]] = (double)(p * p);
                a[2 + 2 * (size_t)a[0]++] = v[i * places + p];
            }
        b[0] = len[i];
        memcpy(b + 1, x + i * NODES * 4, NODES * 4 * sizeof *x);
    }
    free(v), free(x), free(len);
    return g;
}

/* Random rows; every seventh lacks letters, every fifth counts. */
static struct rows drawn_rows(size_t n)
{
    struct rows g = rows_new(n, 0);
    const uint32_t s = RNG_TEST;

    for (size_t i = 0; i < n; i++) {
        double *a = part_of(&g, i, COUNTS), *b = part_of(&g, i, VECTORS),
               *c = part_of(&g, i, SYMBOLS);
        g.x[i * g.d] = rng_normal(4, rng_stream(s, 1), i);
        for (size_t p = 0; i % 5 != 2 && p < PLACES; p++)
            if (rng_below(4, rng_stream(s, 2), i * PLACES + p, 3) == 0) {
                a[1 + 2 * (size_t)a[0]] = 100.0 * (double)p;
                a[2 + 2 * (size_t)a[0]++] = 1.0 + (double)rng_below(4, s, i * PLACES + p, 3);
            }
        b[0] = 3.0 + (double)rng_below(4, rng_stream(s, 3), i, NODES - 2);
        for (size_t k = 0; k < 4 * NODES; k++)
            b[1 + k] = 0.5 * rng_normal(4, rng_stream(s, 4), i * 4 * NODES + k);
        c[0] = i % 7 == 6 ? 0.0 : 3.0 + (double)rng_below(4, rng_stream(s, 5), i, LONG - 2);
        for (size_t k = 0; k < LONG; k++)
            c[1 + k] = (double)rng_below(4, rng_stream(s, 6), i * LONG + k, LETTERS + 1);
    }
    return g;
}

/* The same rows with other room. */
static struct rows widened(const struct rows *of, size_t more)
{
    struct rows w = rows_new(of->n, more);

    for (size_t i = 0; i < of->n; i++) {
        memcpy(w.x + i * w.d, of->x + i * of->d, layout.flat * sizeof *w.x);
        for (size_t p = 0; p < PARTS; p++)
            memcpy(part_of(&w, i, p), part_of(of, i, p),
                   ((p + 1 < PARTS ? of->at[p + 1] : of->d) - of->at[p]) * sizeof *w.x);
    }
    return w;
}

/* Exact values: golden ones of single kernels, multiplied and added. */
START_TEST(values_of_golden_parts)
{
    static const char *const text[] = { "tanimoto * conv(rbf,width=3,average=none) + rbf",
                                        "conv(rbf,width=3,average=none) * tanimoto * rbf",
                                        "rbf * tanimoto + conv(rbf,width=3,average=none)",
                                        "tanimoto + tanimotodp(power=1) * conv(rbf,width=3)" };
    struct rows g = golden_rows(0), wide = golden_rows(8);
    const struct kernel k = parsed(text[_i]);
    size_t r, c, m;
    double *T = support_golden("tan_tmm", &r, &m), *D = support_golden("tan_tdp_raw", &r, &m),
           *C = support_golden("conv_K_rbf_none", &r, &c),
           *S = support_golden("conv_K_rbf_sqrt", &r, &c);
    double hp[KERNEL_MAX_HP], tile[64], cross[64], K[64];
    const double l = 1.0 / 0.6, w = 0.8;
    const size_t n = g.n;

    ck_assert(n <= 8);
    for (size_t h = 0; h < kernel_nhp(&k); h++) {
        char name[KERNEL_NAME_MAX];
        kernel_hp_info(&k, h, name, NULL);
        hp[h] = strstr(name, "weight") ? w : l;
    }
    const struct exact_rows rows = { .k = &k, .hp = hp, .X = g.x, .n = n, .d = g.d };
    struct kernel_tile *t = kernel_tile_new(&k, hp, wide.d, n, wide.x, wide.d);
    ck_assert_ptr_nonnull(t);
    kernel_tile_values(t, n, g.x, g.d, tile, n);
    kernel_tile_free(t);
    exact_cross_wide(&rows, wide.x, wide.d, n, cross);
    ck_assert_int_eq(exact_matrix(&rows, 0.0, K, NULL, NULL), ST_OK);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const double u = (g.x[i * g.d] - g.x[j * g.d]) / l, e = exp(-0.5 * u * u),
                         a = T[i * m + j], b = C[i * c + j];
            const double want = _i == 0   ? a * b + w * w * e
                                : _i == 1 ? b * a * e
                                : _i == 2 ? e * a + w * w * b
                                          : a + w * w * D[i * m + j] * S[i * c + j];
            const double v = kernel_exact(&k, hp, g.d, g.x + i * g.d, g.x + j * g.d, NULL);
            ck_assert_msg(support_close(v, want, 1e-12), "%s: %.17g, not %.17g", text[_i], v, want);
            ck_assert(support_close(tile[i + j * n], want, 1e-12));
            ck_assert(support_close(cross[i + j * n], want, 1e-12));
            ck_assert(j > i || support_close(K[i + j * n], want, 1e-12));
        }
    free(T), free(D), free(C), free(S);
    rows_free(&g);
    rows_free(&wide);
}
END_TEST

/* Derivatives in the logarithms of the hyperparameters against differences of values. */
START_TEST(slopes_of_products)
{
    const struct kernel k =
        parsed("tanimoto * conv(rbf,width=2) * conv(matern(nu=5/2),width=3) on letters + rbf");
    struct rows g = drawn_rows(12);
    double hp[KERNEL_MAX_HP], grad[KERNEL_MAX_HP];
    const size_t n = kernel_nhp(&k);

    for (size_t h = 0; h < n; h++)
        hp[h] = 0.8 + 0.3 * (double)h;
    for (size_t i = 0; i + 1 < g.n; i++) {
        const double *x = g.x + i * g.d, *y = x + g.d;
        kernel_exact(&k, hp, g.d, x, y, grad);
        for (size_t h = 0; h < n; h++) {
            double up[KERNEL_MAX_HP], down[KERNEL_MAX_HP];
            memcpy(up, hp, sizeof up);
            memcpy(down, hp, sizeof down);
            up[h] *= exp(1e-5);
            down[h] *= exp(-1e-5);
            const double want = (kernel_exact(&k, up, g.d, x, y, NULL) -
                                 kernel_exact(&k, down, g.d, x, y, NULL)) / 2e-5;
            ck_assert(fabs(grad[h] - want) <= 1e-8 * (1.0 + fabs(want)));
        }
    }
    rows_free(&g);
}
END_TEST

static const char *const drawn[] = {
    "conv(rbf,width=3) + conv(rbf,width=2) on letters + rbf",
    "conv(matern(nu=5/2),width=2) * rbf + convdense(rbf,width=3) on letters * linear",
    "graphpoly(degree=2) + conv(cauchy,width=3) on letters",
};
enum { DRAWN = sizeof drawn / sizeof *drawn };

/* Columns of the CPU are those of the interpreter, for rows of both widths. */
START_TEST(features_as_interpreted)
{
    enum { M = 96 };
    struct rows g = drawn_rows(23), wide = widened(&g, 5);
    const struct kernel k = parsed(drawn[_i]);
    struct err err = { 0 };
    double hp[KERNEL_MAX_HP], z[M], Z[23 * M];

    for (size_t h = 0; h < kernel_nhp(&k); h++)
        hp[h] = 0.9 + 0.2 * (double)h;
    for (int pass = 0; pass < 2; pass++) {
        const struct rows *r = pass ? &wide : &g;
        struct featmap *fm = featmap_new(&k, r->d, M, 7, &err);
        ck_assert_msg(fm != NULL, "%s", err.msg);
        double *work = mem_calloc(interp_work_for_tests(fm), sizeof *work, "room", NULL);
        struct fop *f = fop_new(backend_cpu(), fm, &r->src.base,
                                &(struct fop_opts){ .precision = PREC_DOUBLE }, &err);
        ck_assert_msg(f != NULL, "%s", err.msg);
        ck_assert_int_eq(fop_set(f, hp, &err), ST_OK);
        ck_assert_int_eq(fop_tile64(f, 0, r->n, Z, M, &err), ST_OK);
        for (size_t i = 0; i < r->n; i++) {
            interp_row_for_tests(fm, hp, r->x + i * r->d, z, NULL, 0, work);
            for (size_t j = 0; j < M; j++)
                ck_assert_msg(fabs(Z[i * M + j] - z[j]) <= 1e-9 * (1.0 + fabs(z[j])), "%s: %g %g",
                              drawn[_i], Z[i * M + j], z[j]);
        }
        fop_free(f);
        featmap_free(fm);
        free(work);
    }
    rows_free(&g);
    rows_free(&wide);
}
END_TEST

/* Inner products approach the kernel: the mean over entries of their squared error is that of
 * independent features, at most 2 k(x, x)^2 / frequencies of a product. */
START_TEST(features_approach_the_kernel)
{
    enum { M = 6144, N = 20 };
    struct rows g = drawn_rows(N);
    const struct kernel k = parsed(drawn[0]);
    double hp[KERNEL_MAX_HP] = { 1.0, 1.3, 0.9, 1.1, 0.8 }, off = 0.0, most = 0.0;
    double *Z = mem_calloc(N * M, sizeof *Z, "features", NULL);
    struct featmap *fm = featmap_new(&k, g.d, M, 7, NULL);
    const struct fop_opts opts = { .precision = PREC_DOUBLE };
    struct fop *f = fop_new(backend_cpu(), fm, &g.src.base, &opts, NULL);

    ck_assert_int_eq(fop_set(f, hp, NULL), ST_OK);
    ck_assert_int_eq(fop_tile64(f, 0, N, Z, M, NULL), ST_OK);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            double dot = 0.0;
            const double v = kernel_exact(&k, hp, g.d, g.x + i * g.d, g.x + j * g.d, NULL);
            for (size_t c = 0; c < M; c++)
                dot += Z[i * M + c] * Z[j * M + c];
            off += (dot - v) * (dot - v) / (N * N);
            most = v > most ? v : most;
        }
    ck_assert_msg(sqrt(off) <= 2.0 * most / sqrt(M / 6.0), "%g of %g", sqrt(off), most);
    fop_free(f);
    featmap_free(fm);
    free(Z);
    rows_free(&g);
}
END_TEST

/* With many features the model is the exact one; new rows whose parts have more room are predicted
 * the same by both. */
START_TEST(models_of_parts)
{
    enum { N = 90 };
    struct rows g = drawn_rows(N), wide = widened(&g, 6);
    double y[N], mean[3][N], var[3][N], off = 0.0;
    struct fit_opts o = { .solver = "auto", .features = 3072, .rtol = 1e-8, .maxit = 500,
                          .variance = VAR_ALL, .seed = 3, .hp = { 1.5, 1.5, 1.0, 1.2, 1.0 },
                          .amplitude = 1.0, .noise = 0.4, .keep_scale = true,
                          .precision = PREC_DOUBLE, .kernel = parsed(drawn[0]) };
    const struct tools on = { backend_cpu(), NULL, NULL };
    struct model *m = NULL, *e = NULL;
    struct fit_info info;
    struct err err = { 0 };

    for (size_t i = 0; i < N; i++)
        y[i] = sin(2.0 * g.x[i * g.d]) + 0.2 * part_of(&g, i, SYMBOLS)[0] - 1.0;
    ck_assert_msg(model_fit(&g.src.base, y, &o, &on, &m, &info, NULL, &err) == ST_OK, "%s",
                  err.msg);
    o.solver = "exact";
    ck_assert_msg(model_fit(&g.src.base, y, &o, &on, &e, &info, NULL, &err) == ST_OK, "%s",
                  err.msg);
    ck_assert_int_eq(model_predict(m, &wide.src.base, mean[0], var[0], &on, &err), ST_OK);
    ck_assert_int_eq(model_predict(e, &g.src.base, mean[1], var[1], &on, &err), ST_OK);
    ck_assert_int_eq(model_predict(e, &wide.src.base, mean[2], var[2], &on, &err), ST_OK);
    for (size_t i = 0; i < N; i++) {
        off = fmax(off, fabs(mean[0][i] - mean[1][i]));
        ck_assert_double_eq_tol(mean[2][i], mean[1][i], 1e-12);
        ck_assert_double_eq_tol(var[2][i], var[1][i], 1e-12);
    }
    ck_assert_msg(off <= 0.12, "%g", off); /* 1 / sqrt(frequencies of a product) = 0.044 */
    model_unref(m);
    model_unref(e);
    rows_free(&g);
    rows_free(&wide);
}
END_TEST

/* Writes no more of a row than it has. */
static enum status rows_as_long(const struct source *s, size_t r0, size_t r1, double *x,
                                struct err *err)
{
    const struct rows *of = s->ctx;

    (void)err;
    for (size_t r = r0; r < r1; r++, x += s->d) {
        memcpy(x, of->x + r * of->d, HEAD * sizeof *x);
        for (size_t p = 0; p < PARTS; p++) {
            const size_t per = layout.part[p].rows == ROWS_SYMBOLS ? 1 : layout.part[p].channels;
            const double *own = part_of(of, r, p);
            memcpy(x + of->at[p], own, (1 + (size_t)own[0] * per) * sizeof *x);
        }
    }
    return ST_OK;
}

/* What a model keeps and sessions write has nothing in it that was never written. */
START_TEST(inputs_without_holes)
{
    struct rows g = drawn_rows(40);
    struct source src = { .n = g.n, .d = g.d, .rows = rows_as_long, .ctx = &g, .layout = layout };

    mallopt(M_PERTURB, 0x55); /* memory is full of something */
    double *X = exact_inputs(&src, NULL);
    mallopt(M_PERTURB, 0);
    for (size_t i = 0; i < g.n; i++)
        for (size_t p = 0; p < PARTS; p++) {
            const size_t per = layout.part[p].rows == ROWS_SYMBOLS ? 1 : layout.part[p].channels,
                         end = p + 1 < PARTS ? g.at[p + 1] : g.d;
            const double *own = X + i * g.d;
            for (size_t j = g.at[p] + 1 + (size_t)own[g.at[p]] * per; j < end; j++)
                ck_assert(own[j] == 0.0);
        }
    free(X);
    rows_free(&g);
}
END_TEST

START_TEST(what_does_not_suit)
{
    struct rows g = drawn_rows(9);
    struct kernel k = parsed("conv(rbf,width=3) on letters + rbf"), pair =
        parsed("conv(rbf,width=3) * conv(rbf,width=2) on letters");
    struct row_layout other = layout;
    struct err err = { 0 };
    const size_t part[] = { VECTORS, 0 }, same[] = { SYMBOLS, 0 };
    struct buf text = { 0 };

    ck_assert_int_eq(source_suits(&g.src.base, &k, &err), ST_OK);
    ck_assert_int_eq(kernel_bind_rows(&k, &layout, part, &err), ST_SHAPE);
    ck_assert_int_eq(kernel_bind_rows(&k, &layout, same, &err), ST_OK);
    other.part[SYMBOLS].channels++;
    g.src.base.layout = other;
    ck_assert_int_eq(source_suits(&g.src.base, &k, &err), ST_SHAPE);
    other = layout;
    other.part[SYMBOLS].rows = ROWS_VECTORS;
    g.src.base.layout = other;
    ck_assert_int_eq(source_suits(&g.src.base, &k, &err), ST_SHAPE);
    other = layout;
    other.nparts = 2;
    g.src.base.layout = other;
    ck_assert_int_eq(source_suits(&g.src.base, &k, &err), ST_SHAPE);
    ck_assert_int_eq(kernel_bind_rows(&k, &other, same, &err), ST_SHAPE);
    ck_assert(kernel_draws_none(&pair) && !kernel_draws_none(&k));
    ck_assert_ptr_null(featmap_new(&pair, g.d, 64, 1, &err));
    ck_assert_int_eq(err.code, ST_UNSUPPORTED);
    kernel_print(&k, &text); /* as saved: it reads the same part again */
    struct kernel again;
    ck_assert_int_eq(kernel_parse(buf_str(&text), &again, NULL, &err), ST_OK);
    g.src.base.layout = layout;
    ck_assert_int_eq(source_suits(&g.src.base, &again, &err), ST_OK);
    buf_free(&text);
    rows_free(&g);
}
END_TEST

/* Rows of a damaged file. */
START_TEST(rows_that_are_sound)
{
    struct rows g = drawn_rows(9);
    double *x = g.x + g.d;
    struct { size_t at; double v; } bad[] = {
        { 1, 3.0 }, { 1, -1.0 }, { 1, (double)g.d }, { 2, (double)NAN }, { 3, 4.5 }, { 3, 1e300 },
        { g.at[COUNTS], 1e6 }, { g.at[COUNTS], -1.0 }, { g.at[COUNTS], 0.5 },
        { g.at[COUNTS] + 1, 1e10 }, { g.at[COUNTS] + 2, 0.0 }, { g.at[COUNTS] + 3, 0.0 },
        { g.at[VECTORS], NODES + 30.0 }, { g.at[SYMBOLS], LONG + 1.0 },
        { g.at[SYMBOLS] + 1, (double)INFINITY }, { g.at[SYMBOLS] + 1, -2.0 },
    };

    for (size_t i = 0; i < g.n; i++)
        ck_assert(source_row_sound(&layout, g.d, g.x + i * g.d));
    ck_assert(x[g.at[COUNTS]] >= 2.0 && x[g.at[SYMBOLS]] >= 1.0);
    ck_assert(!source_row_sound(&layout, HEAD - 1, x));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const double was = x[bad[i].at];
        x[bad[i].at] = bad[i].v;
        ck_assert_msg(!source_row_sound(&layout, g.d, x), "%zu", i);
        x[bad[i].at] = was;
    }
    rows_free(&g);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rows");
    TCase *tc = tcase_create("rows");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, values_of_golden_parts, 0, 4);
    tcase_add_test(tc, slopes_of_products);
    tcase_add_loop_test(tc, features_as_interpreted, 0, DRAWN);
    tcase_add_test(tc, features_approach_the_kernel);
    tcase_add_test(tc, models_of_parts);
    tcase_add_test(tc, inputs_without_holes);
    tcase_add_test(tc, what_does_not_suit);
    tcase_add_test(tc, rows_that_are_sound);
    suite_add_tcase(s, tc);
    return support_run(s);
}
