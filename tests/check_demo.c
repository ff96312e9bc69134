/* tests/check_demo.c -- bundled and generated data against the formulas they claim. */
#include "data/demo/demo_molecules.h"
#include "data/demo/demo_motifs.h"
#include "data/demo/demo_proteins.h"
#include "data/kinds/nodes.h"
#include "data/table.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct table *demo(const char *name, const struct demo_opts *o)
{
    struct table *t;
    struct err err = { 0 };
    ck_assert_msg(demo_make(name, o, &t, &err) == ST_OK, "%s: %s", name, err.msg);
    return t;
}

START_TEST(every_demo_is_made)
{
    size_t n = 0;
    for (const struct demo *d; (d = demo_at(n)) != NULL; n++) {
        const bool by_hand = !strcmp(d->name, "points");
        const struct demo_opts o = { .noise = -1.0, .xy = "-1:0.5,0:1e-3,2.5:-3" };
        struct table *t = demo(d->name, by_hand ? &o : NULL);
        char start[64];
        snprintf(start, sizeof start, "demo:%s", d->name);
        ck_assert(strncmp(t->path, start, strlen(start)) == 0);
        ck_assert_uint_ge(t->n, by_hand ? 3 : 200);
        ck_assert(t->missing == 0 && t->duplicates == 0);
        for (size_t j = 0; j < t->ncols; j++)
            for (size_t i = 0; i < t->n && t->col[j].type == COL_REAL; i++)
                ck_assert(isfinite(t->col[j].v[i]));
        table_unref(t);
    }
    ck_assert_uint_eq(n, 9);
}
END_TEST

/* Two atoms at distance d: depth (d^-12 - 2 d^-6), -depth at 1; molecules do not depend on how many
 * there are. */
START_TEST(molecules_have_their_energy)
{
    const unsigned char kind[3] = { 1, 1, 0 };
    double at[3][3] = { { 0 }, { 1, 0, 0 }, { 0, 0, 100 } };

    ck_assert_double_le(fabs(molecules_energy(2, kind, (const double (*)[3])at) + 1.0), 1e-14);
    ck_assert_double_le(fabs(molecules_energy(3, kind, (const double (*)[3])at) + 1.0), 1e-10);
    at[1][0] = 2.0;
    ck_assert_double_le(
        fabs(molecules_energy(2, kind, (const double(*)[3])at) - (pow(2, -12) - 2 * pow(2, -6))),
        1e-14);
    struct demo_opts o = { .n = 40, .seed = 4, .noise = 0.0 };
    struct table *t = demo("molecules", &o), *u;
    o.n = 90;
    u = demo("molecules", &o);
    const size_t y = table_find(t, "energy"), c = table_find(t, "atoms2"),
                 s = table_find(t, "nodes");
    for (size_t i = 0; i < t->n; i++) {
        const struct nodes *q = t->col[s].held;
        const size_t atoms = nodes_count(q, i);
        ck_assert(t->col[y].v[i] == u->col[y].v[i] && t->col[c].v[i] == u->col[c].v[i]);
        ck_assert(atoms >= 5 && atoms <= 20);
    }
    table_unref(t);
    table_unref(u);
}
END_TEST

/* Variants have as many changes as they say, the split goes by that, two contacts are no sum of
 * their parts, and rows do not depend on how many there are. */
START_TEST(proteins_have_their_activity)
{
    struct demo_opts o = { .n = 300, .seed = 4, .noise = 0.0 };
    struct table *t = demo("proteins", &o), *u;
    const char *parent = proteins_parent_for_tests();
    double none, one, other, both, a, most = 0.0;
    char s[80];

    o.n = 500;
    u = demo("proteins", &o);
    for (size_t i = 0; i < t->n; i++) {
        const char *w = column_word(&t->col[0], i);
        size_t n = 0;
        for (size_t k = 0; parent[k]; k++)
            n += w[k] != parent[k];
        ck_assert_uint_eq(strlen(w), strlen(parent));
        ck_assert(t->col[2].v[i] == (double)n && n >= 1 && n <= 10);
        ck_assert_str_eq(column_word(&t->col[3], i), n <= PROTEINS_FEW ? "train" : "test");
        ck_assert_int_eq(proteins_activity_for_tests(w, &a, NULL), ST_OK);
        ck_assert(t->col[1].v[i] == a && u->col[1].v[i] == a);
        ck_assert_str_eq(column_word(&u->col[0], i), w);
        most = fmax(most, t->col[2].v[i]);
    }
    ck_assert(most >= 8);
    /* logit of activity is the stability that is left */
    ck_assert_int_eq(proteins_activity_for_tests(strcpy(s, parent), &none, NULL), ST_OK);
    s[24] = 'A';
    ck_assert_int_eq(proteins_activity_for_tests(s, &one, NULL), ST_OK);
    s[46] = 'A';
    ck_assert_int_eq(proteins_activity_for_tests(s, &both, NULL), ST_OK);
    s[24] = parent[24];
    ck_assert_int_eq(proteins_activity_for_tests(s, &other, NULL), ST_OK);
#define STABILITY(a) log((a) / (4.0 - (a)))
    ck_assert_double_le(fabs(STABILITY(none) - 3.2), 1e-12);
    ck_assert_double_le(
        fabs(STABILITY(both) - STABILITY(one) - STABILITY(other) + STABILITY(none) - 1.8), 1e-12);
#undef STABILITY
    ck_assert_int_eq(proteins_activity_for_tests("MK", &a, NULL), ST_RANGE);
    table_unref(t);
    table_unref(u);
}
END_TEST

START_TEST(co2_is_the_measured_series)
{
    struct table *t = demo("co2", NULL);
    ck_assert_uint_eq(t->n, 741);
    ck_assert_str_eq(t->col[1].name, "ppm");
    ck_assert(t->col[0].v[0] == 1958.2083 && t->col[1].v[0] == 315.70);
    ck_assert(t->col[1].v[740] == 416.18);
    for (size_t i = 1; i < t->n; i++)
        ck_assert(t->col[0].v[i] > t->col[0].v[i - 1] && t->col[1].v[i] > 300 &&
                  t->col[1].v[i] < 420);
    table_unref(t);
    struct err err = { 0 };
    ck_assert_int_eq(demo_make("co2", &(struct demo_opts){ .n = 9 }, &t, &err), ST_USAGE);
}
END_TEST

START_TEST(rows_depend_on_seed_and_row_alone)
{
    struct demo_opts a = {.n = 500, .seed = 4, .noise = -1}, b = {.n = 100, .seed = 4, .noise = -1},
                     c = {.n = 100, .seed = 5, .noise = -1};
    static const char *const name[] = { "robot", "friedman1", "toy", "draw" };
    for (size_t k = 0; k < 4; k++) {
        struct table *x = demo(name[k], &a), *y = demo(name[k], &b), *z = demo(name[k], &c);
        for (size_t j = 0; j < x->ncols; j++) {
            ck_assert(memcmp(x->col[j].v, y->col[j].v, 100 * sizeof(double)) == 0);
            ck_assert(memcmp(y->col[j].v, z->col[j].v, 100 * sizeof(double)) != 0);
        }
        table_unref(x);
        table_unref(y);
        table_unref(z);
    }
}
END_TEST

START_TEST(formulas_hold_without_noise)
{
    struct demo_opts o = { .n = 300, .seed = 2, .noise = 0 };
    struct table *t = demo("friedman1", &o);
    ck_assert_uint_eq(t->ncols, 11);
    for (size_t i = 0; i < t->n; i++) {
        double x[10];
        for (size_t j = 0; j < 10; j++) {
            x[j] = t->col[j].v[i];
            ck_assert(x[j] > 0 && x[j] < 1);
        }
        ck_assert(support_close(t->col[10].v[i], 10 * sin(M_PI * x[0] * x[1]) +
                                20 * pow(x[2] - 0.5, 2) + 10 * x[3] + 5 * x[4], 1e-13));
    }
    table_unref(t);
    t = demo("toy", &o);
    for (size_t i = 0; i < t->n; i++) {
        double x = t->col[0].v[i];
        ck_assert(support_close(t->col[1].v[i], sin(0.8 * x) + 0.3 * sin(8 * x), 1e-13));
    }
    table_unref(t);
    /* The hand by explicit rotation matrices, base first: T <- T R_k, p <- p + T link. */
    t = demo("robot", &o);
    for (size_t i = 0; i < t->n; i++) {
        double T[3][3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } }, p[3] = { 0 };
        for (size_t k = 0; k < 8; k++) {
            double a = t->col[k].v[i], U[3][3];
            const double z[3][3] = { { cos(a), -sin(a), 0 }, { sin(a), cos(a), 0 }, { 0, 0, 1 } };
            const double y[3][3] = { { cos(a), 0, sin(a) }, { 0, 1, 0 }, { -sin(a), 0, cos(a) } };
            ck_assert(fabs(a) < M_PI / 2);
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < 3; c++) {
                    U[r][c] = 0;
                    for (int s = 0; s < 3; s++)
                        U[r][c] += T[r][s] * (k % 2 == 0 ? z[s][c] : y[s][c]);
                }
            memcpy(T, U, sizeof T);
            for (int r = 0; r < 3; r++)
                p[r] += 0.125 * T[r][0];
        }
        double want = sqrt(pow(p[0] - 0.1, 2) + pow(p[1] - 0.1, 2) + pow(p[2] - 0.1, 2));
        ck_assert(support_close(t->col[8].v[i], want, 1e-12));
    }
    table_unref(t);
}
END_TEST

/* Some word of five letters occurs as often as the count says, overlaps included; many says whether
 * that is more than five times; rows do not depend on how many there are; copies are uniform from 0
 * to 10, so that counts are 5 and what chance adds (.09) on average. */
START_TEST(motifs_have_their_counts)
{
    enum { N = 2000 };
    struct demo_opts o = { .n = N, .seed = 3, .noise = 0.0 };
    struct table *t = demo("motifs", &o), *u;
    double sum = 0.0;

    o.n = 200;
    u = demo("motifs", &o);
    for (size_t i = 0; i < t->n; i++) {
        const char *w = column_word(&t->col[0], i);
        const double y = t->col[1].v[i];
        bool found = y == 0.0;
        ck_assert(strlen(w) == 100 && strspn(w, "ACGT") == 100);
        for (size_t p = 0; p + 5 <= 100 && !found; p++) {
            size_t n = 0;
            for (size_t q = 0; q + 5 <= 100; q++)
                n += strncmp(w + p, w + q, 5) == 0;
            found = (double)n == y;
        }
        ck_assert_msg(found, "%s: no word %g times", w, y);
        ck_assert(t->col[2].v[i] == (y > MOTIFS_MANY));
        if (i < u->n) {
            char *again = strdup(w);
            ck_assert_str_eq(column_word(&u->col[0], i), again);
            free(again);
        }
        sum += y;
    }
    ck_assert(fabs(sum / N - 5.09) < 5.0 * sqrt(10.0 / N));
    table_unref(t);
    table_unref(u);
}
END_TEST

START_TEST(noise_is_as_large_as_asked)
{
    struct demo_opts quiet = { .n = 20000, .seed = 2, .noise = 0 },
                     loud = { .n = 20000, .seed = 2, .noise = 0.5 };
    struct table *a = demo("toy", &quiet), *b = demo("toy", &loud);
    double s = 0, q = 0;
    for (size_t i = 0; i < a->n; i++) {
        double e = b->col[1].v[i] - a->col[1].v[i];
        s += e;
        q += e * e;
    }
    ck_assert(fabs(s / 20000) < 5 * 0.5 / sqrt(20000));
    ck_assert(fabs(sqrt(q / 20000) - 0.5) < 5 * 0.5 / sqrt(40000));
    table_unref(a);
    table_unref(b);
}
END_TEST

/* Over many seeds the draws have the kernel's covariance. */
static void check_covariance(const char *kernel, double (*k)(double r))
{
    enum { SEEDS = 3000 };
    double lag0 = 0, near = 0, far = 0, rn = 0, rf = 0;
    for (uint64_t s = 0; s < SEEDS; s++) {
        struct demo_opts o = { .n = 3, .seed = s, .noise = 0, .kernel = kernel };
        struct table *t = demo("draw", &o);
        const double *x = t->col[0].v, *y = t->col[1].v;
        lag0 += y[0] * y[0] / SEEDS;
        near += y[0] * y[1] / SEEDS;
        far += y[1] * y[2] / SEEDS;
        rn += k(fabs(x[0] - x[1])) / SEEDS;
        rf += k(fabs(x[1] - x[2])) / SEEDS;
        ck_assert(fabs(x[0]) < sqrt(3.0));
        table_unref(t);
    }
    const double tol = 5 * sqrt(2.0 / SEEDS); /* var(y y') <= 2 */
    ck_assert_msg(fabs(lag0 - 1) < tol, "%s: variance %g", kernel, lag0);
    ck_assert_msg(fabs(near - rn) < tol && fabs(far - rf) < tol, "%s: %g %g, %g %g", kernel, near,
                  rn, far, rf);
}

static double rbf(double r) { return exp(-r * r / 2 / 0.64); }
static double matern(double r) { return exp(-r / 0.7); }

START_TEST(draws_have_the_kernel_s_covariance)
{
    check_covariance("rbf(l=0.8)", rbf);
    check_covariance("matern(nu=1/2,l=0.7)", matern);
}
END_TEST

START_TEST(refusals)
{
    struct table *t;
    struct err err = { 0 };
    ck_assert_int_eq(demo_make("nope", NULL, &t, &err), ST_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.hint, "friedman1"));
    ck_assert_int_eq(demo_make("toy", &(struct demo_opts){ .n = 1 }, &t, &err), ST_RANGE);
    ck_assert_int_eq(demo_make("toy", &(struct demo_opts){ .n = SIZE_MAX }, &t, &err), ST_RANGE);
    ck_assert_int_eq(demo_make("toy", &(struct demo_opts){ .kernel = "rbf" }, &t, &err), ST_USAGE);
    ck_assert_int_ne(demo_make("draw", &(struct demo_opts){ .kernel = "rbf(" }, &t, &err), ST_OK);
    ck_assert_int_ne(demo_make("draw", &(struct demo_opts){ .kernel = "nope" }, &t, &err), ST_OK);
    ck_assert_ptr_null(t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("demo");
    TCase *tc = tcase_create("demo");
    tcase_set_timeout(tc, 120);
    const TTest *const tests[] = {
        every_demo_is_made,
        molecules_have_their_energy,
        proteins_have_their_activity,
        motifs_have_their_counts,
        co2_is_the_measured_series,
        rows_depend_on_seed_and_row_alone,
        formulas_hold_without_noise,
        noise_is_as_large_as_asked,
        draws_have_the_kernel_s_covariance,
        refusals,
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tc, tests[i]);
    suite_add_tcase(s, tc);
    return support_run(s);
}
