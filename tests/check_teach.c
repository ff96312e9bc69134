/* tests/check_teach.c -- functions drawn from a Gaussian process against closed forms and against
 * the marginal likelihood of compute; the arithmetic of pages; lesson files, good and broken. */
#include "app/commands/app.h"
#include "app/plots/draws.h"
#include "app/teach/explain.h"
#include "app/runs/fitting.h"
#include "app/teach/lesson.h"
#include "app/teach/lesson_text.h"
#include "app/shell/options.h"
#include "app/core/workspace_exec.h"
#include "base/mem.h"
#include "compute/likelihood/nmll.h"
#include "support.h"

#include <check.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct workspace *fresh(void)
{
    struct options opt;
    struct err err;

    options_default(&opt);
    opt.threads = 1;
    struct workspace *ws = app_workspace(&opt, &err);
    ck_assert_ptr_nonnull(ws);
    return ws;
}

static void does(struct workspace *ws, const char *line)
{
    ck_assert_msg(workspace_exec(ws, line) == ST_OK, "%s", line);
    workspace_drain(ws);
    ck_assert_uint_eq(ws->errors, 0);
}

/* Values. */

START_TEST(arithmetic)
{
    static const struct { const char *text; double want; } good[] = {
        { "2 + 3 * 4", 14 }, { "(2 + 3) * 4", 20 }, { "-2*-3", 6 }, { "1e3/4", 250 },
        { "2-1", 1 }, { "sqrt(9) + abs(-1) + log(exp(2))", 6 }, { "min(3, 2) * max(1, 5)", 10 },
        { "1 < 2 & 3 >= 3", 1 }, { "1 < 2 & 3 > 3", 0 }, { "2 = 2", 1 }, { "2 != 2", 0 },
        { "a * 2", 7 },
    };
    static const char *const bad[] = {"",    "2 +",    "(2",   "nosuch", "cube(2)",
                                      "2 3", "min(2)", "1..2", "*"};
    struct value_vars vars = { 0 };
    struct err err;
    double x;

    ck_assert_int_eq(placeholder_keep(&vars, "a", 3.5, &err), ST_OK);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ck_assert_msg(placeholder_expression(NULL, &vars, good[i].text, &x, &err) == ST_OK,
                      "%s: %s", good[i].text, err.msg);
        ck_assert_msg(support_close(x, good[i].want, 1e-15), "%s gives %g", good[i].text, x);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(placeholder_expression(NULL, &vars, bad[i], &x, &err) == ST_USAGE, "'%s'",
                      bad[i]);
    /* A missing value is never true nor false. */
    ck_assert_int_eq(placeholder_expression(NULL, NULL, "rmse < 1", &x, &err), ST_OK);
    ck_assert(isnan(x));
    placeholder_vars_free(&vars);
}
END_TEST

START_TEST(sentences)
{
    struct workspace *ws = fresh();
    struct buf b = { 0 };
    struct err err;
    size_t missing;

    does(ws, "set noise=0.25 seed=1234567");
    ck_assert_int_eq(placeholder_expand(ws, NULL, "{{x} {noise} {2*noise} {rmse} {seed} {kernel}",
                                        false, &b, &missing, &err),
                     ST_OK);
    ck_assert_str_eq(buf_str(&b), "{x} 0.25 0.5 - 1,234,567 matern(nu=5/2)");
    ck_assert_uint_eq(missing, 1);
    buf_clear(&b);
    ck_assert_int_eq(placeholder_expand(ws, NULL, "seed={seed}", true, &b, &missing, &err), ST_OK);
    ck_assert_str_eq(buf_str(&b), "seed=1234567");
    ck_assert_int_eq(placeholder_expand(ws, NULL, "{noise", false, &b, &missing, &err), ST_USAGE);
    buf_free(&b);
    workspace_free(ws);
}
END_TEST

/* Every name of the table gives a number or says that there is none, with and without runs. */
START_TEST(all_values)
{
    struct workspace *ws = fresh();
    size_t numbers = 0;
    struct value_row r;

    for (int full = 0; full < 2; full++) {
        if (full)
            does(
                ws,
                "demo toy n=80 seed=2; split test=25% seed=3; kernel rbf; tune features=64 evals=4;"
                "fit features=64 rank=16 solver=pcg; score; draw l=0.4; spectrum; cluster k=2..3");
        numbers = 0;
        for (size_t i = 0; placeholder_at_for_tests(i, &r); i++) {
            struct buf b = { 0 };
            numbers += r.text ? placeholder_text(ws, r.name, &b)
                               : isfinite(placeholder_number(ws, NULL, r.name));
            buf_free(&b);
        }
        ck_assert_uint_ge(numbers, full ? 60 : 8);
        ck_assert_uint_le(numbers, full ? 1000 : 20);
    }
    workspace_free(ws);
}
END_TEST

/* Draws. */

/* One point of value y at 0: mean k y / (1 + r), variance 1 - k^2 / (1 + r), k = exp(-x^2 / 2 l^2).
 */
START_TEST(one_point)
{
    const double l = 0.7, amp = 1.5, noise = 0.3, y = 0.8, r = noise * noise / (amp * amp);
    struct workspace *ws = fresh();
    struct draws w;
    struct err err;

    does(ws, "kernel rbf; point 0 0.8; draw l=0.7 amplitude=1.5 noise=0.3 n=0");
    ck_assert_int_eq(draws_make(ws, draws_state_of(ws), &w, &err), ST_OK);
    ck_assert(w.given && w.n == 1 && w.x[0] == 0 && w.y[0] == 0.8);
    for (size_t j = 0; j < w.g; j++) {
        const double k = exp(-0.5 * w.at[j] * w.at[j] / (l * l));
        const double sd = amp * sqrt(1 - k * k / (1 + r));
        ck_assert(support_close(w.mean[j], k * y / (1 + r), 1e-12));
        ck_assert(support_close(w.sd[j], sd, 1e-12));
        ck_assert(support_close(w.hi[j] - w.lo[j], 2 * 1.959963984540054 * sd, 1e-12));
    }
    const double v = amp * amp + noise * noise;
    ck_assert(support_close(w.nmll, 0.5 * (y * y / v + log(2 * M_PI * v)), 1e-12));
    ck_assert_uint_eq(w.inside, 1);
    ck_assert(support_close(w.half, l * sqrt(2 * log(2.0)), 1e-9));
    draws_free(&w);
    workspace_free(ws);
}
END_TEST

/* The likelihood shown is that of compute, on the rows as a fit has them. */
START_TEST(likelihood)
{
    struct workspace *ws = fresh();
    struct encoding enc;
    struct encoded e;
    struct draws w;
    struct err err;
    double want;

    does(ws, "demo toy n=60 seed=4; kernel matern(nu=3/2); draw l=0.4 amplitude=0.9 noise=0.2 n=2");
    ck_assert_int_eq(draws_make(ws, draws_state_of(ws), &w, &err), ST_OK);
    ck_assert_int_eq(fitting_rows(ws->data[0], PART_TRAIN, true, &enc, &e, NULL, &err), ST_OK);
    ck_assert_int_eq(
        nmll_exact(&ws->kernel, &e.base,
                   &(struct nmll_ask){.y = e.y, .hp = ws->hp, .amplitude = 0.9, .noise = 0.2},
                   &(struct nmll_told){.value = &want}, NULL, NULL, &err),
        ST_OK);
    ck_assert(support_close(w.nmll, want, 1e-10));
    draws_free(&w);
    encode_free(&e);
    encoding_free(&enc);
    workspace_free(ws);
}
END_TEST

/* Values drawn before any data at two places: variance amplitude^2 and correlation k, within five
 * standard errors of 3000 draws. */
START_TEST(prior_moments)
{
    enum { SEEDS = 250 };
    struct workspace *ws = fresh();
    double aa = 0, ab = 0, k = NAN;
    size_t n = 0;
    struct err err;

    does(ws, "kernel rbf(l=0.9); set amplitude=2");
    for (size_t seed = 0; seed < SEEDS; seed++) {
        struct draw_state s = {
            .on = DRAW_PRIOR, .functions = 12, .points = 20, .lo = NAN, .hi = NAN, .seed = seed};
        struct draws w;
        ck_assert_int_eq(draws_make(ws, &s, &w, &err), ST_OK);
        for (size_t f = 0; f < 12; f++, n++) {
            aa += w.sample[f * 20 + 7] * w.sample[f * 20 + 7];
            ab += w.sample[f * 20 + 7] * w.sample[f * 20 + 10];
        }
        const double d = w.at[10] - w.at[7];
        k = exp(-0.5 * d * d / 0.81);
        draws_free(&w);
    }
    const double N = (double)n;
    ck_assert(fabs(aa / N - 4) < 5 * 4 * sqrt(2 / N));
    ck_assert(fabs(ab / N - 4 * k) < 5 * 4 * sqrt((1 + k * k) / N));
    workspace_free(ws);
}
END_TEST

/* The same seed bends the same function: nearby settings give nearby curves. */
START_TEST(sliders_bend)
{
    struct workspace *ws = fresh();
    struct draw_state s = draw_state_default(ws);
    struct draws a, b;
    struct err err;
    double most = 0;

    does(ws, "kernel rbf(l=1)");
    ck_assert_int_eq(draws_make(ws, &s, &a, &err), ST_OK);
    does(ws, "set l=1.001");
    ck_assert_int_eq(draws_make(ws, &s, &b, &err), ST_OK);
    for (size_t i = 0; i < a.f * a.g; i++)
        most = fmax(most, fabs(a.sample[i] - b.sample[i]));
    ck_assert(most > 0 && most < 0.05);
    draws_free(&a), draws_free(&b);
    workspace_free(ws);
}
END_TEST

START_TEST(draw_refuses)
{
    static const char *const bad[] = {
        "demo robot n=20; draw data",
        "demo toy n=1200; draw data",
        "draw data",
        "kernel conv(rbf,width=3); draw",
        "draw x=3..1",
        "point nan",
        "demo points",
        "demo points xy=1:2,3",
        "demo toy xy=1:2",
        "demo points xy=1:2 n=3",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct workspace *ws = fresh();
        workspace_exec(ws, bad[i]);
        workspace_drain(ws);
        ck_assert_msg(ws->errors == 1, "%s: %zu errors", bad[i], ws->errors);
        workspace_free(ws);
    }
    for (size_t i = 1; i < 60; i++) { /* every allocation in turn */
        struct workspace *ws = fresh();
        struct draw_state s = draw_state_default(ws);
        struct draws w;
        struct err err;
        does(ws, "kernel rbf; point 0 1; point 1 0");
        mem_fail_after_for_tests(i);
        const enum status rc = draws_make(ws, &s, &w, &err);
        mem_fail_after_for_tests(0);
        ck_assert(rc == ST_OK || rc == ST_NOMEM);
        if (rc == ST_OK)
            draws_free(&w);
        workspace_free(ws);
    }
}
END_TEST

/* Points by hand: kept in order, taken as they are, and alone the same for the same seed. */
START_TEST(points)
{
    struct workspace *ws = fresh();
    double first[4];

    does(ws, "kernel rbf(l=0.5); point; point; point; point 3 -1");
    const struct dataset *d = ws->data[ws->cur];
    ck_assert_str_eq(d->name, "points");
    ck_assert_uint_eq(d->table->n, 4);
    ck_assert(d->xscale == X_NONE && d->yscale == Y_NONE);
    ck_assert(column_at(&d->table->col[0], 3) == 3 && column_at(&d->table->col[1], 3) == -1);
    for (size_t i = 0; i < 4; i++)
        first[i] = column_at(&d->table->col[1], i);
    workspace_free(ws);
    ws = fresh();
    does(ws, "kernel rbf(l=0.5); point; point; point; point 3 -1");
    for (size_t i = 0; i < 4; i++)
        ck_assert(column_at(&ws->data[ws->cur]->table->col[1], i) == first[i]);
    does(ws, "demo points xy=-1:0.5,2:1e-3 as=mine");
    ck_assert(column_at(&ws->data[ws->cur]->table->col[0], 0) == -1);
    ck_assert(column_at(&ws->data[ws->cur]->table->col[1], 1) == 1e-3);
    workspace_free(ws);
}
END_TEST

/* Lessons. */

START_TEST(good_lesson)
{
    static const char text[] =
        "\xef\xbb\xbf# 7 A title\r\nsummary What it shows.\nminutes 3\n\n"
        "% a remark\n== Read: one\nfirst line\nsecond line\n\nother paragraph\n"
        "> demo toy n=30 seed={seed}\n: a = rows\n@ a = 30\n"
        "== Quiz\n? how\nmany?\n= a +- 2%\n! because\nof this\n? which?\n- no\n+ yes\n";
    struct lesson l;
    struct err err;

    ck_assert_msg(lesson_parse(text, "x.lesson", &l, &err) == ST_OK, "%s", err.msg);
    ck_assert_str_eq(l.id, "7");
    ck_assert_str_eq(l.title, "A title");
    ck_assert_uint_eq(l.n, 2);
    ck_assert_uint_eq(l.step[0].n, 5);
    ck_assert_str_eq(l.step[0].part[0].text, "first line second line");
    ck_assert_uint_eq(l.step[0].part[2].line, 11);
    ck_assert_str_eq(l.step[1].part[0].text, "how many?");
    ck_assert(l.step[1].part[0].within == 0.02);
    ck_assert_uint_eq(l.step[1].part[2].nanswer, 2);
    lesson_clear(&l);
}
END_TEST

START_TEST(broken_lessons)
{
#define HEAD "# 1 T\n== S\n"
    static const struct { const char *text; size_t line;
    } bad[] = {
        {"", 1},
        {"text\n", 1},
        {"# 1\n", 1},
        {"# a/b T\n", 1},
        {"# 1 T\n# 2 U\n", 2},
        {"== S\n", 1},
        {"# 1 T\n", 1},
        {"# 1 T\nminutes x\n== S\nt\n", 2},
        {"# 1 T\nbla\n", 2},
        {HEAD, 2},
        {HEAD "t\n== U\n== V\nt\n", 4},
        {HEAD "> nosuch\n", 3},
        {HEAD ">\n", 3},
        {HEAD "t\n> fit rank=x\n", 4},
        {HEAD "> quit\n", 3},
        {HEAD "> lesson 2\n", 3},
        {HEAD "- a\n", 3},
        {HEAD "= 3\n", 3},
        {HEAD "! why\n", 3},
        {HEAD "? q\n- a\n", 3},
        {HEAD "? q\n- a\n- b\n", 3},
        {HEAD "? q\n+ a\n+ b\n", 3},
        {HEAD "? q\n= 1\n+ a\n", 5},
        {HEAD "? q\n+ a\n= 1\n", 5},
        {HEAD "? q\n= 1 +- x%\n", 4},
        {HEAD "? q\n= nosuch\n", 4},
        {HEAD ": a = nosuch\n", 3},
        {HEAD ": rmse = 1\n", 3},
        {HEAD ": 1a = 1\n", 3},
        {HEAD ": a\n", 3},
        {HEAD "@ 1 <\n", 3},
        {HEAD "a {nosuch} value\n", 3},
        {HEAD "{open\n", 3},
        {HEAD "a\nb {nosuch}\n", 4},
        {HEAD "? q {nosuch}\n", 3},
        {"# 1 T\n> fit\n", 2},
        {"# 1 T\n==\n", 2},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct lesson l;
        struct err err = { 0 };
        char want[40];
        snprintf(want, sizeof want, "line %zu of my.lesson", bad[i].line);
        ck_assert_msg(lesson_parse(bad[i].text, "my.lesson", &l, &err) == ST_FORMAT, "case %zu", i);
        ck_assert_msg(strstr(err.msg, want) != NULL, "case %zu: '%s' for line %zu", i, err.msg,
                      bad[i].line);
        ck_assert(!strcmp(err.name, "lesson") && *err.hint && l.n == 0 && !l.title);
    }
}
END_TEST

/* Out of memory at any place: an error, no leak (valgrind and ASan look). */
START_TEST(lesson_memory)
{
    for (size_t i = 1; i < 400; i += 3) {
        struct lesson l;
        struct err err;
        mem_fail_after_for_tests(i);
        const enum status rc = lesson_parse(lesson_text[0].text, "x", &l, &err);
        mem_fail_after_for_tests(0);
        if (rc == ST_OK)
            lesson_clear(&l);
    }
}
END_TEST

START_TEST(bundled_lessons)
{
    struct lesson_list l;
    struct err err;

    ck_assert_msg(lesson_list(&l, &err) == ST_OK, "%s", err.msg);
    ck_assert_str_eq(l.id[0], "1");
    for (size_t i = 0; i < l.n; i++) {
        struct lesson one;
        ck_assert_msg(lesson_open(l.id[i], &one, &err) == ST_OK, "%s", err.msg);
        ck_assert(*one.summary && one.minutes > 0 && one.n >= 2);
        size_t questions = 0;
        for (size_t k = 0; k < one.n; k++)
            for (size_t p = 0; p < one.step[k].n; p++)
                questions += one.step[k].part[p].kind == LESSON_QUESTION;
        ck_assert_msg(questions >= 2 || !strcmp(one.id, "tour"), "lesson %s asks too little",
                      one.id);
        lesson_clear(&one);
    }
    lesson_list_free(&l);
}
END_TEST

/* Pages. */

/* All render without a workspace, with an empty one, and with one that has everything. */
/* The number that is none as a word, not as a part of one ("discriminant"). */
static bool has_nan(const char *text)
{
    for (const char *s = text; (s = strstr(s, "nan")) != NULL; s++)
        if ((s == text || !isalpha((unsigned char)s[-1])) && !isalpha((unsigned char)s[3]))
            return true;
    return false;
}

START_TEST(pages)
{
    struct workspace *ws = fresh();
    struct err err = { 0 };
    const char *name;
    size_t n = 0;

    ck_assert_msg(explain_check_for_tests(&err) == ST_OK, "%s", err.msg);
    for (int full = 0; full < 2; full++) {
        if (full)
            does(
                ws,
                "demo toy n=80 seed=2; split test=25% seed=3; kernel rbf; tune features=64 evals=4;"
                "fit features=64 rank=16 solver=pcg; score; draw l=0.4; spectrum");
        for (n = 0; (name = explain_at(n)) != NULL; n++) {
            struct buf page = { 0 };
            char keep[64];
            snprintf(keep, sizeof keep, "%s", name);
            ck_assert_msg(explain_page(ws, keep, &page, &err) == ST_OK, "%s: %s", keep, err.msg);
            ck_assert_msg(!has_nan(buf_str(&page)) && page.len > 60, "%s:\n%s", keep,
                          buf_str(&page));
            for (const char *s = buf_str(&page); *s;
                 s += strcspn(s, "\n") + (s[strcspn(s, "\n")] != 0))
                ck_assert_msg(strcspn(s, "\n") <= 100, "%s: a line too long: %.60s", keep, s);
            for (size_t k = 0; k < n; k++)
                ck_assert_str_ne(explain_at(k), keep);
            buf_free(&page);
        }
    }
    ck_assert_uint_ge(n, 200);
    ck_assert_int_eq(explain_page(ws, "nosuchname", &(struct buf){ 0 }, &err), ST_NOT_FOUND);
    workspace_free(ws);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("teach");
    TCase *t = tcase_create("teach");

    app_begin();
    tcase_set_timeout(t, 120);
    tcase_add_test(t, arithmetic);
    tcase_add_test(t, sentences);
    tcase_add_test(t, all_values);
    tcase_add_test(t, one_point);
    tcase_add_test(t, likelihood);
    tcase_add_test(t, prior_moments);
    tcase_add_test(t, sliders_bend);
    tcase_add_test(t, draw_refuses);
    tcase_add_test(t, points);
    tcase_add_test(t, good_lesson);
    tcase_add_test(t, broken_lessons);
    tcase_add_test(t, lesson_memory);
    tcase_add_test(t, bundled_lessons);
    tcase_add_test(t, pages);
    suite_add_tcase(s, t);
    return support_run(s);
}
