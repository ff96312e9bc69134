/* tests/check_prepare.c -- expressions held to values computed by hand, their three-valued logic to
 * its table, and the steps of a table: names, rows and columns, for a dataset and for new data. */
#include "data/dataset.h"
#include "data/expr.h"
#include "data/formats/import.h"
#include "data/prepare.h"
#include "base/mem.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char cars[] = "make,price,weight,height,sold,y\n"
                           "audi,10,80,2,2001-03-15,1\n"
                           "bmw,20,90,0,2001-06-30,2\n"
                           ",,70,1,2002-01-01,3\n"
                           "bmw,-5,,4,2004-02-29,4\n";

static struct table *table_of(const char *text)
{
    struct table *t;
    struct err err = { 0 };
    ck_assert_msg(import_bytes_for_tests(text, strlen(text), NULL, &t, &err) == ST_OK, "%s",
                  err.msg);
    return t;
}

static struct dataset *data_of(const char *text, const char *target)
{
    struct table *t = table_of(text);
    struct err err = { 0 };
    struct dataset *d = dataset_new(t, "cars", target, &err);
    table_unref(t);
    ck_assert_msg(d != NULL, "%s", err.msg);
    return d;
}

/* The value in one row of the cars. */
static double value_in(const char *text, size_t row)
{
    struct table *t = table_of(cars);
    struct expr *e = NULL;
    struct err err = { 0 };
    double x = 77.0;
    const char *word;
    ck_assert_msg(expr_parse(text, &e, &err) == ST_OK, "%s: %s", text, err.msg);
    ck_assert_msg(expr_bind(e, t, &err) == ST_OK, "%s: %s", text, err.msg);
    ck_assert_int_eq(expr_rows(e, row, 1, NULL, &x, &word, &err), ST_OK);
    if (expr_type(e) == EXPR_WORD)
        x = word == NULL ? NAN : (double)strlen(word);
    expr_free(e);
    table_unref(t);
    return x;
}

static void same(const char *text, size_t row, double want)
{
    const double x = value_in(text, row);
    /* 4 ulp: the functions of libm and one rounding more */
    ck_assert_msg(isnan(want) ? isnan(x) : fabs(x - want) <= 1e-15 * fabs(want),
                  "%s in row %zu is %.17g, not %.17g", text, row, x, want);
}

START_TEST(numbers)
{
    same("1+2*3", 0, 7);
    same("(1+2)*3", 0, 9);
    same("2^3^2", 0, 512);
    same("-2^2", 0, -4);
    same("2^-1", 0, 0.5);
    same("7-4-2", 0, 1);
    same("8/4/2", 0, 1);
    same("- -3", 0, 3);
    same("1e3 + .5", 0, 1000.5);
    same("price*weight", 0, 800);
    same("weight/height^2", 0, 20);
    same("weight/height^2", 1, NAN);
    same("price+1", 2, NAN);
    same("log(price)", 0, 2.302585092994046);
    same("log(price)", 3, NAN);
    same("sqrt(2)", 0, 1.4142135623730951);
    same("min(price, weight, 3)", 0, 3);
    same("max(price, weight)", 1, 90);
    same("coalesce(price, 8)", 2, 8);
    same("mod(-7, 3)", 0, 2);
    same("round(2.5) + floor(-1.5) + ceil(1.2) + abs(-4) + sign(-9)", 0, 6);
    same("sin(pi()/6)", 0, 0.5);
    same("if(price > 15, 1, -1)", 0, -1);
    same("if(price > 15, 1, -1)", 1, 1);
    same("if(price > 15, 1, -1)", 2, NAN);
    same("if(height = 0, 'none', make)", 1, 4);
    same("(price > 5) + (height > 1)", 0, 2);
}
END_TEST

/* 2001-03-15 was a Thursday, 2004-02-29 a Sunday, 2002-01-01 a Tuesday. */
START_TEST(dates)
{
    same("year(sold)", 0, 2001);
    same("month(sold)", 0, 3);
    same("day(sold)", 0, 15);
    same("weekday(sold)", 0, 4);
    same("month(sold)", 3, 2);
    same("day(sold)", 3, 29);
    same("weekday(sold)", 3, 7);
    same("weekday(sold)", 2, 2);
    same("month(sold) + day(sold)", 2, 2);
    same("dayshare(sold) + hour(sold)", 1, 0);
    same("month(sold)*100 + day(sold)", 1, 630);
    same("sold >= '2001-06-30'", 0, 0);
    same("sold >= '2001-06-30'", 1, 1);
    same("'2002' < make", 0, 1);
    for (int m = 1; m <= 12; m++) { /* every day of a leap year and of a plain one */
        static const int length[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
        for (int d = 1; d <= length[m - 1]; d += m == 2 ? 1 : 10) {
            char date[40], line[120];
            double x, y[1];
            struct err err = { 0 };
            snprintf(date, sizeof date, "2024-%02d-%02d", m, d);
            ck_assert(scan_date(date, strlen(date), &x));
            snprintf(line, sizeof line, "month(%.17g)*100 + day(%.17g)", x, x);
            struct table *t = table_of(cars);
            struct expr *e;
            ck_assert_int_eq(expr_parse(line, &e, &err), ST_OK);
            ck_assert_int_eq(expr_bind(e, t, &err), ST_OK);
            ck_assert_int_eq(expr_rows(e, 0, 1, NULL, y, NULL, &err), ST_OK);
            ck_assert_double_eq(y[0], 100 * m + d);
            expr_free(e);
            table_unref(t);
        }
    }
}
END_TEST

/* The table of SQL: false and unknown is false, true or unknown is true, all else is unknown. */
START_TEST(logic)
{
    static const char *const t[] = { "1=1", "1=2", "price=1" }; /* in row 2: price is missing */
    static const double value[] = { 1, 0, NAN };
    char text[80];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            const double a = value[i], b = value[k];
            snprintf(text, sizeof text, "%s and %s", t[i], t[k]);
            same(text, 2, a == 0 || b == 0 ? 0 : isnan(a) || isnan(b) ? (double)NAN : 1);
            snprintf(text, sizeof text, "%s or %s", t[i], t[k]);
            same(text, 2, a == 1 || b == 1 ? 1 : isnan(a) || isnan(b) ? (double)NAN : 0);
        }
    same("not price = 1", 2, NAN);
    same("not price is missing", 2, 0);
    same("price is not missing", 0, 1);
    same("make is missing", 2, 1);
    same("make = 'bmw' or make is missing", 2, 1);
    same("make != 'bmw' and price > 0", 0, 1);
}
END_TEST

static enum status refused(const char *text, struct err *err)
{
    struct table *t = table_of(cars);
    struct expr *e = NULL;
    *err = (struct err){ 0 };
    enum status rc = expr_parse(text, &e, err);
    if (rc == ST_OK)
        rc = expr_bind(e, t, err);
    expr_free(e);
    table_unref(t);
    return rc;
}

START_TEST(refusals)
{
    static const char *const bad[] = {
        "",           "1+",        "(1",         "1)",         "price >",      "price > 1 > 2",
        "make > 3",   "price='a'", "not price",  "price and 1=1", "log()",     "log(1,2)",
        "nofn(1)",    "'open",     "\"open",     "1 2",        "if(1,2,3)",    "price is",
        "1..2",       "make + 1",  "if(1=1,make,2)", "and",    "#",            "prize > 1",
    };
    struct err err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(refused(bad[i], &err) != ST_OK, "%s is accepted", bad[i]);
        ck_assert_msg(*err.msg != '\0' && *err.hint + (err.code == ST_NOT_FOUND) != 0, "%s",
                      bad[i]);
    }
    ck_assert_int_eq(refused("prize > 1", &err), ST_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.hint, "price"));
    char deep[4000] = { 0 };
    memset(deep, '(', 3000);
    ck_assert_int_eq(refused(deep, &err), ST_LIMIT);
    memset(deep, '-', 3000);
    ck_assert_int_eq(refused(deep, &err), ST_LIMIT);
}
END_TEST

static void step(struct dataset *d, const char *text, struct buf *notes)
{
    struct err err = { 0 };
    ck_assert_msg(prepare_dataset(d, text, NULL, notes, &err) == ST_OK, "%s: %s", text, err.msg);
}

START_TEST(steps)
{
    struct dataset *d = data_of(cars, "y");
    struct buf notes = { 0 }, line = { 0 };
    struct err err = { 0 };
    struct table *before = d->table;
    ck_assert_int_eq(split_ordered(d, 0.5, 0.0, &err), ST_OK);
    step(d, "let bmi = weight/height^2", &notes);
    ck_assert_ptr_nonnull(strstr(buf_str(&notes), "division by zero in 1 row, first in row 2"));
    ck_assert_uint_eq(d->table->ncols, 7);
    ck_assert_int_eq(d->role[6], ROLE_INPUT);
    ck_assert_uint_eq(d->table->col[6].missing, 2);
    ck_assert_double_eq(d->table->col[6].v[2], 70);
    step(d, "let twice = y*2", &notes);
    ck_assert_int_eq(d->role[7], ROLE_SKIP);
    step(d, "where make = 'bmw'\nrename \"make\"=brand,\"price\"=weight,\"weight\"=price", &notes);
    ck_assert_uint_eq(d->table->n, 2);
    ck_assert_str_eq(d->table->col[0].name, "brand");
    ck_assert_str_eq(d->table->col[1].name, "weight");
    ck_assert_uint_eq(d->table->col[0].nlevels, 1);
    ck_assert_double_eq(d->table->col[1].v[1], -5);
    ck_assert_uint_eq(d->split.count[PART_TRAIN] + d->split.count[PART_TEST], 2);
    ck_assert_uint_eq(d->split.part[0], PART_TRAIN);
    ck_assert_uint_eq(d->split.part[1], PART_TEST);
    ck_assert_uint_eq(before->n, 4); /* the table that was read stays as it was */
    ck_assert_str_eq(before->col[0].name, "make");
    const struct table *now = d->table;
    ck_assert_int_ne(prepare_dataset(d, "let a = 1\nwhere brand = 'fiat'", NULL, NULL, &err),
                     ST_OK);
    ck_assert_ptr_eq(d->table, now);
    ck_assert_int_eq(prepare_write_names(d->table, "a,b,c,d,e,f,g,\"h h\"", &line, &err), ST_OK);
    step(d, buf_str(&line), NULL);
    ck_assert_str_eq(d->table->col[7].name, "h h");
    /* The same steps from the file give the same table. */
    struct table *again = table_of(cars);
    ck_assert_msg(prepare_table(&again, d->steps, NULL, NULL, &err) == ST_OK, "%s", err.msg);
    ck_assert_uint_eq(again->n, 2);
    ck_assert_uint_eq(again->ncols, 8);
    for (size_t j = 0; j < 8; j++)
        ck_assert_str_eq(again->col[j].name, d->table->col[j].name);
    table_unref(again);
    dataset_unref(d);
    buf_free(&notes);
    buf_free(&line);
}
END_TEST

/* Where a column comes from, through names that changed on the way. */
START_TEST(origins)
{
    static const char made[] = "let \"log w\" = log(weight)\nlet twice = 2*\"log w\"\n"
                               "rename \"weight\"=kg,\"log w\"=lw,\"price\"=weight\n"
                               "let both = kg*weight\nlet lw = lw + 1\nlet root = sqrt(weight)\n"
                               "rename \"kg\"=mass,\"twice\"=double";
    static const struct { const char *column, *origin; } want[] = {
        { "lw", "mass" },     /* another name and another value since */
        { "double", "mass" }, /* two steps back, whose names are others by now */
        { "root", "weight" }, /* which was called price; the old weight is called mass */
        { "both", NULL }, { "mass", NULL }, { "weight", NULL },
    };

    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct buf out = { 0 };
        const bool found = prepare_origin(made, want[i].column, &out);
        ck_assert_msg(found == (want[i].origin != NULL), "%s", want[i].column);
        if (found)
            ck_assert_msg(!strcmp(buf_str(&out), want[i].origin), "%s comes from %s",
                          want[i].column, buf_str(&out));
        buf_free(&out);
    }
}
END_TEST

/* New data go through the same steps; rows keep their numbers. */
START_TEST(new_data)
{
    struct dataset *d = data_of("a,b,y\n1,2,3\n2,3,5\n3,5,8\n4,9,1\n-1,2,4\n", "y");
    struct err err = { 0 };
    struct encoding e;
    struct buf notes = { 0 };
    size_t *rows, n;
    step(d, "where a > 0\nlet r = b/a\nwhere y < 100", NULL);
    size_t train[] = { 0, 1, 2, 3 };
    ck_assert_msg(encoding_fit(d, train, 4, &e, NULL, &err) == ST_OK, "%s", err.msg);
    struct table *t = table_of("b,a\n4,-2\n6,2\n5,0\n9,3\n");
    ck_assert_msg(prepare_new_data(&e, &t, &rows, &n, NULL, &notes, &err) == ST_OK, "%s", err.msg);
    ck_assert_uint_eq(n, 2);
    ck_assert_uint_eq(rows[0], 1);
    ck_assert_uint_eq(rows[1], 3);
    ck_assert_double_eq(t->col[table_find(t, "r")].v[3], 3);
    ck_assert_ptr_nonnull(strstr(buf_str(&notes), "2 rows are left out by a > 0"));
    ck_assert_ptr_nonnull(strstr(buf_str(&notes), "the file has no column y"));
    ck_assert_ptr_null(strstr(buf_str(&notes), "division by zero")); /* that row is out */
    free(rows);
    table_unref(t);
    t = table_of("b,c\n1,2\n3,4\n");
    ck_assert_int_ne(prepare_new_data(&e, &t, &rows, &n, NULL, NULL, &err), ST_OK);
    ck_assert_ptr_nonnull(strstr(err.msg, "the file has no column a"));
    table_unref(t);
    /* The encoding keeps its steps in a session. */
    char *json = encoding_to_json(&e, &err);
    struct encoding back;
    ck_assert_int_eq(encoding_from_json(json, &back, &err), ST_OK);
    ck_assert_str_eq(back.steps, "where a > 0\nlet r = b/a\nwhere y < 100");
    encoding_free(&back);
    free(json);
    encoding_free(&e);
    buf_free(&notes);
    dataset_unref(d);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("prepare");
    TCase *tc = tcase_create("prepare");
    tcase_add_test(tc, numbers);
    tcase_add_test(tc, dates);
    tcase_add_test(tc, logic);
    tcase_add_test(tc, refusals);
    tcase_add_test(tc, steps);
    tcase_add_test(tc, origins);
    tcase_add_test(tc, new_data);
    suite_add_tcase(s, tc);
    return support_run(s);
}
