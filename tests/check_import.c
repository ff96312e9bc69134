/* tests/check_import.c -- reading tables: numbers held to strtod, every message provoked, real
 * files against the figures of their README. */
#include "data/formats/import.h"
#include "data/table.h"
#include "base/mem.h"
#include "support.h"

#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

static struct table *good(const char *text, const struct import_opts *o)
{
    struct table *t;
    struct err err = { 0 };
    enum status rc = import_bytes_for_tests(text, strlen(text), o, &t, &err);
    ck_assert_msg(rc == ST_OK, "%s: error[%s]: %s", text, err.name, err.msg);
    return t;
}

/* Numbers. */

static void same_as_strtod(const char *s)
{
    char padded[512] = { 0 };
    double x = -1.0;
    ck_assert_uint_lt(strlen(s), sizeof padded - 16);
    strcpy(padded, s);
    char *end;
    double y = strtod(s, &end);
    const char *e = scan_number(padded, '.', &x);
    ck_assert_msg(e == padded + strlen(s) && *end == '\0', "%s: not read to its end", s);
    ck_assert_msg(memcmp(&x, &y, sizeof x) == 0, "%s: %.17g instead of %.17g", s, x, y);
}

static void print_number(char *s, size_t len, size_t how, double x)
{
    switch (how) {
    case 0: snprintf(s, len, "%.17g", x); return;
    case 1: snprintf(s, len, "%.16g", x); return;
    case 2: snprintf(s, len, "%.15g", x); return;
    case 3: snprintf(s, len, "%.9g", x); return;
    case 4: snprintf(s, len, "%.6g", x); return;
    case 5: snprintf(s, len, "%.3f", x); return;
    case 6: snprintf(s, len, "%.17e", x); return;
    case 7: snprintf(s, len, "%.20f", x); return;
    case 8: snprintf(s, len, "%+.5e", x); return;
    default: snprintf(s, len, "%.0f", x); return;
    }
}

START_TEST(numbers_are_those_of_strtod)
{
    struct splitmix r;
    splitmix_init(&r, 11);
    char s[400];
    for (size_t i = 0; i < 100000; i++) {
        uint64_t bits = splitmix_next(&r);
        double x;
        if (i % 3 == 0) { /* any finite double */
            memcpy(&x, &bits, sizeof x);
            if (!isfinite(x) || fabs(x) > 1e60)
                continue;
        } else {
            x = splitmix_normal(&r) * pow(10.0, (double)(bits % 30) - 15.0);
        }
        print_number(s, sizeof s, i % 10, x);
        same_as_strtod(s);
    }
}
END_TEST

START_TEST(hard_numbers_are_rounded_right)
{
    static const char *const hard[] = {
        "0", "-0", "0.0", "00012", "1.", ".5", "+7", "-.25", "1e5", "1E+05", "1e-05",
        "9007199254740992", "9007199254740993", "9007199254740993.0", "9007199254740995",
        "1e22", "1e23", "8.5e22", "123456789012345678", "18446744073709551615",
        "18446744073709551616", "99999999999999999999", "0.1", "0.3", "2.2250738585072011e-308",
        "2.2250738585072014e-308", "4.9406564584124654e-324", "2.47e-324", "1e-400",
        "1.7976931348623157e308", "0.000000000000000000000000000000000000000000001",
        "1000000000000000000000000000000", "3.14159265358979323846264338327950288419716939937510",
        "0.500000000000000166533453693773481063544750213623046875",
        "1.00000000000000011102230246251565404236316680908203125",
        "1.00000000000000011102230246251565404236316680908203124", "7.2057594037927933e16",
        "5e-324", "6.0221407599999999e23", "0.00000000000000000000000000000000000000000e50",
    };
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++)
        same_as_strtod(hard[i]);
    double x;
    ck_assert_ptr_nonnull(scan_number("1e400\0\0\0\0\0\0\0\0", '.', &x));
    ck_assert(isinf(x));
    /* Half-way cases of 17 and more digits: the digits of (m + 1/2) ulp. */
    struct splitmix r;
    splitmix_init(&r, 5);
    for (size_t i = 0; i < 20000; i++) {
        char s[80];
        uint64_t m = (splitmix_next(&r) >> 11 | (uint64_t)1 << 52) * 2 + 1;
        snprintf(s, sizeof s, "%llu", (unsigned long long)m);
        same_as_strtod(s);
        snprintf(s, sizeof s, "%llu.%llu", (unsigned long long)(m >> 20),
                 (unsigned long long)(splitmix_next(&r) >> 40));
        same_as_strtod(s);
    }
}
END_TEST

START_TEST(what_is_no_number_is_not_read)
{
    static const char *const bad[] = { "",     "-",    ".",     "+.",   "e5",  "--1",  "1e",
                                       "1e+",  "0x10", "1_000", "1 2",  "nan", "inf",  "1.2.3",
                                       "1,5",  "12a",  "\xd9\xa1", "1f", "1d5", "(1)", "$1" };
    double x;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!scan_number_all(bad[i], strlen(bad[i]), '.', &x), "%s was read", bad[i]);
    ck_assert(scan_number_all(" 1,5 ", 5, ',', &x) && x == 1.5);
    ck_assert(scan_number_all("-3,25e-2", 8, ',', &x) && x == -0.0325);
    ck_assert(!scan_number_all("1.5", 3, ',', &x));
    static const struct { const char *s; char dec, mark; double x;
    } marked[] = {
        {"1.234,50", ',', '.', 1234.5}, {" -12.345.678 ", ',', '.', -12345678},
        {"+1,000", '.', ',', 1000},     {"1'000.25", '.', '\'', 1000.25},
        {"999,5", ',', '.', 999.5},     {"1 000", '.', ' ', 1000},
    };
    for (size_t i = 0; i < sizeof marked / sizeof *marked; i++)
        ck_assert_msg(scan_number_marked(marked[i].s, strlen(marked[i].s), marked[i].dec,
                                         marked[i].mark, &x) &&
                          x == marked[i].x,
                      "%s", marked[i].s);
    static const char *const unmarked[] = {"1.23,5", "1.2345", ".123",      "1234.567", "1.234.56",
                                           "1..234", "1.234x", "1.234,5,6", "1.234."};
    for (size_t i = 0; i < sizeof unmarked / sizeof *unmarked; i++)
        ck_assert_msg(!scan_number_marked(unmarked[i], strlen(unmarked[i]), ',', '.', &x),
                      "%s was read", unmarked[i]);
}
END_TEST

START_TEST(dates_become_years)
{
    double y;
    ck_assert(scan_date("2020-01", 7, &y) && y == 2020.0);
    ck_assert(scan_date("2019-07-02", 10, &y) && fabs(y - (2019 + 182.0 / 365)) < 1e-12);
    ck_assert(scan_date("2020-12-31T12:00:00Z", 20, &y) && fabs(y - (2020 + 365.5 / 366)) < 1e-12);
    ck_assert(scan_date("2020-02-29 06:00", 16, &y));
    ck_assert(!scan_date("2019-02-29", 10, &y));
    ck_assert(!scan_date("2019-13-01", 10, &y));
    ck_assert(!scan_date("2019-01-0a", 10, &y));
    ck_assert(!scan_date("2019/01/01", 10, &y));
    ck_assert(!scan_date("2019-01-01T25:00", 16, &y));
}
END_TEST

/* Days of the year counted by hand: 31 March is day 90 of 2023 and 91 of 2024. */
START_TEST(dates_in_other_forms)
{
    static const struct { const char *text; enum date_order order; double day, days; } good[] = {
        { "2024-03-31", DATE_YMD, 90, 366 },
        { "2023/3/31", DATE_YMD, 89, 365 },
        { "31.03.2023", DATE_DMY, 89, 365 },
        { "31/3/2024 14:30", DATE_DMY, 90 + 14.5 / 24, 366 },
        { "03/31/2024 2:30:36 PM", DATE_MDY, 90 + (14.5 + 0.01) / 24, 366 },
        { "3-31-2023 12:00 am", DATE_MDY, 89, 365 },
        { "31 Mar 2023", DATE_NAMED, 89, 365 },
        { "31-March-2023", DATE_NAMED, 89, 365 },
        { "Mar 31, 2024, 06:00", DATE_NAMED, 90.25, 366 },
        { "2023-03-31T12:00:00+02:00", DATE_YMD, 89 + 10.0 / 24, 365 },
        { "2023-03-31 12:00-0130", DATE_YMD, 89 + 13.5 / 24, 365 },
    };
    static const char *const bad[] = { "31.13.2024", "30/02/2024", "2024-3", "1/2", "31 Mrz 2024",
                                       "12:00", "31/03-2024", "2024-03-31 13:00 PM", "3.31.2024",
                                       "31/03/24", "", "Mar", "2024-03-31 12:00+9" };
    double year;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const size_t len = strlen(good[i].text);
        ck_assert_msg(scan_date_as(good[i].text, len, good[i].order, &year), "%s", good[i].text);
        /* 1e-9 days: a tenth of a millisecond; a year near 2000 has 4e-11 days */
        ck_assert_msg(fabs((year - floor(year)) * good[i].days - good[i].day) < 1e-9, "%s is %.17g",
                      good[i].text, year);
        ck_assert_uint_ne(scan_date_orders(good[i].text, len) & 1u << good[i].order, 0);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(scan_date_orders(bad[i], strlen(bad[i])) == 0, "%s is a date", bad[i]);
    ck_assert_uint_eq(scan_date_orders("05/04/2024", 10), 1u << DATE_DMY | 1u << DATE_MDY);
    ck_assert_uint_eq(scan_date_orders("05.04.2024", 10), 1u << DATE_DMY);
}
END_TEST

/* What is read. */

START_TEST(plain_files_in_every_dress)
{
    static const char *const same[] = {
        "a,b\n1,2.5\n-3,4e2\n",
        "a,b\r\n1,2.5\r\n-3,4e2\r\n",
        "a,b\r1,2.5\r-3,4e2\r",
        "\xef\xbb\xbf"
        "a,b\n1,2.5\n-3,4e2",
        "a;b\n1;2.5\n-3;4e2\n",
        "a\tb\n1\t2.5\n-3\t4e2\n",
        "a|b\n1|2.5\n-3|4e2\n",
        "a;b\n1;2,5\n-3;4e2\n",
        "\"a\",\"b\"\n\"1\",\"2.5\"\n-3,\"4e2\"\n",
        " a , b \n 1 , 2.5 \n -3 , 4e2 \n",
        "# about\na,b\n1,2.5\n# more\n-3,4e2\n",
        "\n\na,b\n\n1,2.5\n   \n-3,4e2\n\n",
        "a, \"b\" \n1,2.5\n-3, \"4e2\" \n",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct table *t = good(same[i], NULL);
        ck_assert_msg(t->n == 2 && t->ncols == 2, "%s: %zu x %zu", same[i], t->n, t->ncols);
        ck_assert_str_eq(t->col[0].name, "a");
        ck_assert_str_eq(t->col[1].name, "b");
        ck_assert(t->col[0].v[0] == 1.0 && t->col[0].v[1] == -3.0);
        ck_assert_msg(t->col[1].v[0] == 2.5 && t->col[1].v[1] == 400.0, "%s", same[i]);
        ck_assert(t->col[0].integers && !t->col[1].integers);
        ck_assert(t->missing == 0 && t->duplicates == 0);
        table_unref(t);
    }
}
END_TEST

START_TEST(skipped_lines_are_counted)
{
    struct table *t = good("# a\n# b\nx,y\n1,2\n\n# c\n# d\n3,4\n  \n", NULL);
    ck_assert_uint_eq(t->n, 2);
    ck_assert_ptr_nonnull(
        strstr(t->notes, "note[comments]: 4 comment (#) lines skipped (line 1, 2, 6, ...)"));
    ck_assert_ptr_nonnull(strstr(t->notes, "note[blank-lines]: 2 blank lines skipped (line 5, 9)"));
    table_unref(t);
}
END_TEST

START_TEST(quotes_hold_anything)
{
    struct table *t = good("name,y\n\"a,b\",1\n\"say \"\"hi\"\"\",2\n\"two\nlines\",3\n\"\"\"\",4\n"
                           "5\" pipe,5\n\"a,b\",6\n", NULL);
    ck_assert_uint_eq(t->n, 6);
    ck_assert_int_eq(t->col[0].type, COL_CATEGORY);
    ck_assert_uint_eq(t->col[0].nlevels, 5);
    static const char *const level[] = { "\"", "5\" pipe", "a,b", "say \"hi\"", "two\nlines" };
    for (size_t k = 0; k < 5; k++)
        ck_assert_str_eq(t->col[0].level[k], level[k]); /* sorted */
    ck_assert_uint_eq(t->col[0].code[0], 2);
    ck_assert_uint_eq(t->col[0].code[5], 2);
    table_unref(t);
}
END_TEST

START_TEST(headers_are_told_from_data)
{
    static const struct {
        const char *text;
        bool header;
    } cases[] = {
        { "a,b\n1,2\n", true },       { "1,2\n3,4\n", false },     { "1,a\n2,b\n3,a\n", false },
        { "seq,kind\nACGT,u\nGGTT,v\n", true }, { "u,v\nv,u\nu,v\n", false }, { "x\n1\n2\n", true },
        { "5\n6\n7\n", false },       { "?,2\n3,4\n", false },     { ",b\n1,2\n2,3\n", true },
        { "when,y\n2020-01-01,1\n2020-01-02,2\n", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct table *t = good(cases[i].text, NULL);
        ck_assert_msg(strstr(t->decisions, cases[i].header ? ", header" : "no header") != NULL,
                      "%s: %s", cases[i].text, t->decisions);
        table_unref(t);
    }
    struct import_opts o = { .header = 1 };
    struct table *t = good("1,2\n3,4\n", &o);
    ck_assert_uint_eq(t->n, 1);
    ck_assert_str_eq(t->col[1].name, "2");
    table_unref(t);
    o.header = 0;
    t = good("a,b\nc,d\n", &o);
    ck_assert_uint_eq(t->n, 2);
    ck_assert_str_eq(t->col[1].name, "x2");
    ck_assert(!t->col[1].named);
    table_unref(t);
    t = good("x2,,b\n1,2,3\n", NULL); /* a made-up name keeps clear of given ones */
    ck_assert_str_eq(t->col[1].name, "x2_");
    table_unref(t);
}
END_TEST

START_TEST(missing_cells_in_every_dress)
{
    struct table *t = good("a,b,c\n1,?,u\n2,3,\n?,4,v\n,NA,?\n5,6,u\n", NULL);
    ck_assert_uint_eq(t->col[0].missing, 2);
    ck_assert_uint_eq(t->col[1].missing, 2);
    ck_assert_uint_eq(t->col[2].missing, 2);
    ck_assert_uint_eq(t->missing, 6);
    ck_assert(isnan(t->col[0].v[2]) && isnan(t->col[1].v[3]));
    ck_assert_uint_eq(t->col[2].code[1], UINT32_MAX);
    ck_assert_ptr_nonnull(strstr(t->notes, "note[missing]: read as missing: ?, NA"));
    table_unref(t);
    struct import_opts o = { .header = -1, .missing = "-99,nan" };
    t = good("a,b\n-99,1\n2,nan\n3,-99.5\n", &o);
    ck_assert_uint_eq(t->missing, 2);
    ck_assert(t->col[1].v[2] == -99.5);
    table_unref(t);
    t = good("a,b,c\n,1,\n,2,\n", NULL); /* nothing at all */
    ck_assert_uint_eq(t->col[0].missing, 2);
    ck_assert_int_eq(t->col[0].type, COL_REAL);
    ck_assert_ptr_nonnull(strstr(t->notes, "note[empty]: 2 columns hold no value"));
    table_unref(t);
}
END_TEST

START_TEST(types_follow_the_cells)
{
    struct buf b = { 0 };
    buf_puts(&b, "num,cat,text,day,flag\n");
    for (int i = 0; i < 60; i++)
        buf_printf(&b, "%d,%c,w%d,2021-%02d-01,%s\n", i, "abc"[i % 3], i, i % 12 + 1,
                   i % 2 ? "True" : "False");
    struct table *t = good(buf_str(&b), NULL);
    static const enum col_type want[] = {COL_REAL, COL_CATEGORY, COL_TEXT, COL_REAL, COL_CATEGORY};
    for (size_t j = 0; j < 5; j++)
        ck_assert_int_eq(t->col[j].type, want[j]);
    ck_assert(t->col[3].date && !t->col[0].date);
    ck_assert(fabs(t->col[3].v[1] - (2021 + 31.0 / 365)) < 1e-12);
    ck_assert_str_eq(t->col[2].text[59], "w59");
    table_unref(t);
    struct import_opts o = { .header = -1, .types = "num=category,#3=category,day=text" };
    t = good(buf_str(&b), &o);
    ck_assert_int_eq(t->col[0].type, COL_CATEGORY);
    ck_assert_int_eq(t->col[2].type, COL_CATEGORY);
    ck_assert_int_eq(t->col[3].type, COL_TEXT);
    ck_assert_uint_eq(t->col[0].nlevels, 60);
    table_unref(t);
    buf_free(&b);
}
END_TEST

START_TEST(repeated_rows_are_counted)
{
    struct table *t = good("a,b,c\n1,u,2\n1,u,2\n0,u,2\n-0,u,2\n1,v,2\n1,u,\n1,u,\n1,u,2\n", NULL);
    ck_assert_int_eq(t->duplicates, 4);
    table_unref(t);
    /* Against the plain definition, many small rows. */
    struct splitmix r;
    splitmix_init(&r, 3);
    struct buf b = { 0 };
    int cell[500][3];
    buf_puts(&b, "a,b,c\n");
    for (int i = 0; i < 500; i++) {
        for (int j = 0; j < 3; j++)
            cell[i][j] = (int)(splitmix_next(&r) % 6);
        buf_printf(&b, "%d,%c,%d\n", cell[i][0], 'a' + cell[i][1], cell[i][2]);
    }
    int repeated = 0;
    for (int i = 0; i < 500; i++)
        for (int k = 0; k < i; k++)
            if (memcmp(cell[i], cell[k], sizeof cell[i]) == 0) {
                repeated++;
                break;
            }
    t = good(buf_str(&b), NULL);
    ck_assert_int_eq(t->duplicates, repeated);
    table_unref(t);
    buf_free(&b);
}
END_TEST

START_TEST(hostile_names_come_through)
{
    static const char text[] =
        "\"a\"\"b`c\",\"$(reboot)\",%s%n,\"new\nline\",\xe6\x97\xa5\xe6\x9c\xac,"
        "\xff\xfe\x01,\x1b[31m,../../x,y\n1,2,3,4,5,6,7,8,9\n";
    static const char *const name[] = { "a\"b`c", "$(reboot)", "%s%n", "new\nline",
                                        "\xe6\x97\xa5\xe6\x9c\xac", "\xff\xfe\x01", "\x1b[31m",
                                        "../../x", "y" };
    struct table *t = good(text, NULL);
    ck_assert_uint_eq(t->ncols, 9);
    for (size_t j = 0; j < 9; j++)
        ck_assert_str_eq(t->col[j].name, name[j]);
    table_unref(t);
    /* A name of 10,000 bytes is legal. */
    struct buf b = { 0 };
    for (int i = 0; i < 10000; i++)
        buf_putc(&b, 'n');
    buf_puts(&b, ",y\n1,2\n");
    t = good(buf_str(&b), NULL);
    ck_assert_uint_eq(strlen(t->col[0].name), 10000);
    table_unref(t);
    buf_free(&b);
}
END_TEST

START_TEST(records_across_the_window)
{
    /* Larger than the window of 1 MiB, quotes with line ends at every offset. */
    struct buf b = { 0 };
    buf_puts(&b, "k,word,v\n");
    double sum = 0.0;
    int n = 0;
    while (b.len < 3 << 20) {
        buf_printf(&b, "%d,\"w%d \"\"q\"\"\nend\",%d.5\n", n, n % 7, n % 1000);
        sum += n % 1000 + 0.5;
        n++;
    }
    struct table *t = good(buf_str(&b), NULL);
    ck_assert_uint_eq(t->n, n);
    ck_assert_uint_eq(t->col[1].nlevels, 7);
    ck_assert_str_eq(t->col[1].level[3], "w3 \"q\"\nend");
    double have = 0.0;
    for (size_t i = 0; i < t->n; i++) {
        have += t->col[2].v[i];
        ck_assert(t->col[0].v[i] == (double)i);
    }
    ck_assert(have == sum);
    table_unref(t);
    buf_free(&b);
}
END_TEST

START_TEST(a_late_value_settles_an_empty_column)
{
    struct buf b = { 0 };
    buf_puts(&b, "a,b,c\n");
    while (b.len < (1 << 20) + 100)
        buf_puts(&b, ",1,\n");
    buf_puts(&b, "7,1,word\n");
    struct table *t = good(buf_str(&b), NULL);
    ck_assert_int_eq(t->col[0].type, COL_REAL);
    ck_assert_int_eq(t->col[2].type, COL_CATEGORY);
    ck_assert_uint_eq(t->col[2].missing, t->n - 1);
    ck_assert(t->col[0].v[t->n - 1] == 7.0);
    table_unref(t);
    buf_free(&b);
}
END_TEST

/* Every message. */

struct bad {
    const char *text;
    struct import_opts o;
    const char *name, *words;
};

static void expect(const char *bytes, size_t len, const struct import_opts *o, const char *name,
                   const char *words)
{
    struct table *t = (struct table *)&t;
    struct err err = { 0 };
    enum status rc = import_bytes_for_tests(bytes, len, o, &t, &err);
    ck_assert_msg(rc != ST_OK, "accepted: %.60s", bytes);
    ck_assert_int_eq(rc, err.code);
    ck_assert_ptr_null(t);
    ck_assert_msg(strcmp(err.name, name) == 0, "%.60s: error[%s] %s", bytes, err.name, err.msg);
    ck_assert_msg(strstr(err.msg, words) != NULL, "%.60s: %s", bytes, err.msg);
}

static const struct bad bad_texts[] = {
    {"", {.header = -1}, "empty", "is empty"},
    {"\n\n\n", {.header = -1}, "empty", "no records"},
    {"# only\n# words\n", {.header = -1}, "empty", "no records"},
    {"\xef\xbb\xbf", {.header = -1}, "empty", "no records"},
    {"a,b\n", {.header = 1}, "empty", "no rows below"},
    {"a,b\n1,2\n1,2,3\n4,5\n", {.header = -1}, "ragged", "line 3 has more than 2 cells"},
    {"a,b\n1,2\n\n# x\n3\n4,5\n", {.header = -1}, "ragged", "line 5 has 1 cells"},
    {"a,b\n1,2,3\n4,5,6\n7,8,9\n",
     {.header = -1},
     "ragged",
     "line 1 has 2 cells, all lines below have 3"},
    {"a,b\n1,2\n3,inf\n", {.header = -1}, "not-finite", "line 3, column 2 'b': 'inf'"},
    {"a,b\n1,2\n3,-Inf\n", {.header = -1}, "not-finite", "line 3, column 2 'b': '-Inf'"},
    {"a,b\n1,2\n3,1e999\n", {.header = -1}, "not-finite", "too large"},
    {"a,b\n1,2\n3,4\n5,six\n",
     {.header = -1},
     "cell",
     "line 4, column 2 'b': 'six' is not a number"},
    {"a,b\n1,2\n3,4\n5,six\n", {.header = -1, .types = "b=real"}, "cell", "types= says"},
    {"a,b\n1,2\n", {.header = -1, .types = "c=real"}, "not-found", "no column 'c'"},
    {"a,b\n1,2\n", {.header = -1, .types = "#3=real"}, "not-found", "no column '#3'"},
    {"a,b\n1,2\n", {.header = -1, .types = "a=number"}, "usage", "real|category|text|date"},
    {"a,b\n1,2\n", {.header = -1, .types = "a"}, "usage", "real|category|text|date"},
    {"d,b\n2020-01-01,2\n2020-01-02,3\nlater,4\n",
     {.header = -1, .types = "d=date"},
     "cell",
     "is no date in the form of the cells before"},
    {"a,b\n1,\"2\n3,4\n",
     {.header = -1},
     "quote",
     "line 2, column 2 'b': the quote opened here is never closed"},
    {"a,b\n\"1\"x,2\n", {.header = -1}, "quote", "more text follows"},
    {"\"a,b\n1,2\n", {.header = -1}, "quote", "never closed"},
    {"a;b,c\n1;2,3\n4;5,6\n", {.header = -1}, "delimiter", "columns with"},
    {"a;b;c,d\n1;x,y;3\n", {.header = -1}, "delimiter", "columns with"},
    {"a;b\n1;1,234\n2;5,678\n", {.header = -1}, "decimal", "'5,678'"},
    {"PK\3\4 zip", {.header = -1}, "binary", "spreadsheet"},
    {"PAR1xxxx", {.header = -1}, "binary", "Parquet"},
    {"SQLite format 3", {.header = -1}, "binary", "SQLite"},
    {"\xff\xfe"
     "a",
     {.header = -1},
     "utf16",
     "UTF-16"},
    {"{\"a\": 1}", {.header = -1}, "binary", "JSON"},
};

START_TEST(bad_text_is_refused)
{
    const struct bad *b = &bad_texts[_i];
    expect(b->text, strlen(b->text), &b->o, b->name, b->words);
}
END_TEST

START_TEST(bad_bytes_are_refused)
{
    expect("a,b\n1,\0\n", 8, NULL, "binary", "zero byte");
    struct buf b = { 0 };
    buf_puts(&b, "a,b\n");
    while (b.len < 70000)
        buf_puts(&b, "word,1\n");
    size_t before = b.len;
    buf_putn(&b, "w\0x,2\n", 6);
    expect(b.s, b.len, NULL, "binary", "zero byte");
    b.len = before;
    b.s[b.len] = '\0';
    buf_puts(&b, "w,2\nw,");
    for (size_t i = 0; i < 20; i++)
        buf_puts(&b, "9999999999");
    buf_puts(&b, "e9999\n");
    expect(b.s, b.len, NULL, "not-finite", "too large");
    buf_clear(&b);
    for (int i = 0; i < 10001; i++)
        buf_putc(&b, 'n');
    buf_puts(&b, ",y\n1,2\n");
    expect(b.s, b.len, NULL, "name", "10001 bytes");
    buf_clear(&b);
    buf_puts(&b, "a,b\n1,");
    while (b.len < 18 << 20)
        buf_puts(&b, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    expect(b.s, b.len, NULL, "limit", "line 2 is longer than 16777216 bytes");
    expect(b.s + 4, b.len - 4, NULL, "limit", "line");
    buf_clear(&b);
    buf_puts(&b, "a,b\n1,");
    while (b.len < 2 << 20)
        buf_puts(&b, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    buf_puts(&b, "\n");
    expect(b.s, b.len, NULL, "limit", "a cell of");
    buf_clear(&b);
    for (int i = 0; i < 70000; i++)
        buf_puts(&b, "1,");
    buf_puts(&b, "1\n");
    expect(b.s, b.len, NULL, "limit", "70001 columns");
    buf_free(&b);
}
END_TEST

START_TEST(the_types_are_proven_on_every_row)
{
    struct buf b = { 0 };
    buf_puts(&b, "a,b\n");
    size_t line = 1;
    while (b.len < 3 << 20) {
        buf_puts(&b, "1,2\n");
        line++;
    }
    size_t keep = b.len;
    char words[80];
    snprintf(words, sizeof words, "line %zu, column 2 'b': 'x'", line + 1);
    buf_puts(&b, "1,x\n1,2\n");
    expect(b.s, b.len, NULL, "cell", words);
    struct err err = { 0 };
    struct table *t;
    ck_assert_int_eq(import_bytes_for_tests(b.s, b.len, NULL, &t, &err), ST_FORMAT);
    ck_assert_str_eq(err.hint, "open FILE missing=x  or  open FILE types=b=category");
    b.len = keep;
    b.s[keep] = '\0';
    snprintf(words, sizeof words, "line %zu has more than 2", line + 1);
    buf_puts(&b, "1,2,3\n1,2\n");
    expect(b.s, b.len, NULL, "ragged", words);
    buf_free(&b);
}
END_TEST

START_TEST(memory_is_bounded)
{
    struct buf b = { 0 };
    while (b.len < 2 << 20)
        buf_puts(&b, "1,2,3,4,5,6,7,8\n");
    struct import_opts o = { .header = -1, .mem_limit = 1 << 20 };
    expect(b.s, b.len, &o, "memory", "needs about");
    o.mem_limit = 64 << 20;
    struct table *t = good(buf_str(&b), &o);
    table_unref(t);
    buf_free(&b);
}
END_TEST

/* Every allocation that can fail does, once. */
START_TEST(exhaustion_is_an_error)
{
    static const char text[] = "a,b,c\n1,u,w\"x\"\n2,v,\"q\"\"q\"\n,?,z\n";
    size_t failures = 0;
    for (size_t k = 1; k < 400; k++) {
        struct table *t;
        struct err err = { 0 };
        mem_fail_after_for_tests(k);
        enum status rc = import_bytes_for_tests(text, strlen(text), NULL, &t, &err);
        mem_fail_after_for_tests(0);
        if (rc == ST_OK) {
            table_unref(t);
            continue;
        }
        ck_assert_int_eq(rc, ST_NOMEM);
        failures++;
    }
    ck_assert_uint_gt(failures, 30);
}
END_TEST

/* Files. */

static enum status open_file(const char *path, const struct ctl *ctl, struct table **t,
                             struct err *err)
{
    *err = (struct err){ 0 };
    return import_file(path, NULL, ctl, t, err);
}

START_TEST(files_that_are_none)
{
    char *dir = support_tmpdir();
    struct table *t;
    struct err err;
    ck_assert_int_eq(open_file(support_path(dir, "absent.csv"), NULL, &t, &err), ST_IO);
    ck_assert_str_eq(err.name, "no-file");
    ck_assert_int_eq(open_file(dir, NULL, &t, &err), ST_IO);
    ck_assert_str_eq(err.name, "directory");
    const char *secret = support_path(dir, "secret.csv");
    support_write(secret, "a,b\n1,2\n", 8);
    chmod(secret, 0);
    if (geteuid() != 0) {
        ck_assert_int_eq(open_file(secret, NULL, &t, &err), ST_IO);
        ck_assert_str_eq(err.name, "permission");
    }
    ck_assert_int_eq(open_file("/dev/zero", NULL, &t, &err), ST_FORMAT);
    ck_assert_str_eq(err.name, "binary");
    ck_assert_int_eq(open_file("/dev/null", NULL, &t, &err), ST_FORMAT);
    ck_assert_str_eq(err.name, "empty");
    support_rmdir(dir);
}
END_TEST

static size_t gzip_to(const char *path, const char *text, size_t len, const char *mode)
{
    gzFile f = gzopen(path, mode);
    ck_assert_ptr_nonnull(f);
    for (size_t at = 0; at < len; at += 1 << 20)
        gzwrite(f, text + at, (unsigned)(len - at < 1 << 20 ? len - at : 1 << 20));
    gzclose(f);
    struct stat st;
    stat(path, &st);
    return (size_t)st.st_size;
}

START_TEST(packed_files)
{
    char *dir = support_tmpdir();
    struct buf b = { 0 };
    struct table *t;
    struct err err;
    buf_puts(&b, "a,b\n");
    for (int i = 0; i < 100000; i++)
        buf_printf(&b, "%d,%d\n", i, i * 7 % 1000);
    /* Names say nothing: the content does. Two members in one gzip file. */
    const char *gz = support_path(dir, "x.txt");
    gzip_to(gz, b.s, 300, "wb");
    size_t size = gzip_to(gz, b.s + 300, b.len - 300, "ab");
    ck_assert_msg(open_file(gz, NULL, &t, &err) == ST_OK, "%s", err.msg);
    ck_assert_uint_eq(t->n, 100000);
    ck_assert(t->col[0].v[99999] == 99999.0);
    ck_assert_uint_eq(t->file_size, size);
    unsigned char *bytes = malloc(size + 8);
    FILE *f = fopen(gz, "rb");
    ck_assert_uint_eq(fread(bytes, 1, size, f), size);
    fclose(f);
    char sum[32];
    snprintf(sum, sizeof sum, "crc32:%08lx", crc32(crc32(0, NULL, 0), bytes, (unsigned)size));
    ck_assert_str_eq(t->checksum, sum);
    table_unref(t);
    /* Cut short, garbage behind, a flipped byte. */
    const char *bad = support_path(dir, "bad");
    support_write(bad, bytes, size / 2);
    ck_assert_int_eq(open_file(bad, NULL, &t, &err), ST_FORMAT);
    ck_assert_str_eq(err.name, "truncated");
    memcpy(bytes + size, "garbage", 8);
    support_write(bad, bytes, size + 7);
    ck_assert_int_eq(open_file(bad, NULL, &t, &err), ST_FORMAT);
    ck_assert_str_eq(err.name, "gzip");
    memset(bytes + size, 0, 8); /* padding is harmless */
    support_write(bad, bytes, size + 8);
    ck_assert_int_eq(open_file(bad, NULL, &t, &err), ST_OK);
    table_unref(t);
    bytes[size - 6] ^= 1; /* its checksum */
    support_write(bad, bytes, size);
    ck_assert_int_eq(open_file(bad, NULL, &t, &err), ST_FORMAT);
    ck_assert_str_eq(err.name, "gzip");
    free(bytes);
    /* zstd: two frames. */
    size_t cap = ZSTD_compressBound(b.len), len;
    char *z = malloc(2 * cap);
    len = ZSTD_compress(z, cap, b.s, 300, 3);
    len += ZSTD_compress(z + len, cap, b.s + 300, b.len - 300, 3);
    support_write(bad, z, len);
    ck_assert_msg(open_file(bad, NULL, &t, &err) == ST_OK, "%s", err.msg);
    ck_assert_uint_eq(t->n, 100000);
    ck_assert_ptr_nonnull(strstr(t->decisions, "zstd"));
    table_unref(t);
    support_write(bad, z, len - 10);
    ck_assert_int_eq(open_file(bad, NULL, &t, &err), ST_FORMAT);
    ck_assert_str_eq(err.name, "truncated");
    z[len / 2] ^= 0x55;
    z[len / 2 + 1] ^= 0x55;
    support_write(bad, z, len);
    ck_assert_int_eq(open_file(bad, NULL, &t, &err), ST_FORMAT);
    free(z);
    /* Packed twice. */
    size = gzip_to(bad, "\x1f\x8b\x08 and so on", 12, "wb");
    ck_assert_int_eq(open_file(bad, NULL, &t, &err), ST_FORMAT);
    ck_assert_str_eq(err.name, "binary");
    buf_free(&b);
    support_rmdir(dir);
}
END_TEST

START_TEST(bombs_are_refused)
{
    /* Blank lines that pack about 1000 to 1: they would take no memory, but no end of time. */
    enum { CHUNK = 1 << 20 };
    char *dir = support_tmpdir(), *lines = malloc(CHUNK);
    const char *path = support_path(dir, "bomb.gz");
    memset(lines, '\n', CHUNK);
    gzFile f = gzopen(path, "wb9");
    gzputs(f, "a,b\n1,2\n");
    for (int i = 0; i < 300; i++)
        gzwrite(f, lines, CHUNK);
    gzclose(f);
    struct table *t;
    struct err err;
    ck_assert_int_eq(open_file(path, NULL, &t, &err), ST_FORMAT);
    ck_assert_str_eq(err.name, "bomb");
    free(lines);
    support_rmdir(dir);
}
END_TEST

/* A listener that changes the file, or stops, while it is read. */
struct meddler {
    const char *path;
    struct cancel cancel;
    bool stop;
    size_t ticks;
};

static void meddle(void *ctx, const struct tick *tick)
{
    struct meddler *m = ctx;
    (void)tick;
    if (m->ticks++ != 2)
        return;
    if (m->stop)
        atomic_store(&m->cancel.stop, true);
    else
        ck_assert_int_eq(truncate(m->path, 500000), 0);
}

START_TEST(files_that_change_meanwhile)
{
    char *dir = support_tmpdir();
    struct buf b = { 0 };
    while (b.len < 4 << 20)
        buf_puts(&b, "1,2\n");
    const char *path = support_path(dir, "big.csv");
    support_write(path, b.s, b.len);
    struct meddler m = { .path = path };
    struct ctl ctl = { .cancel = &m.cancel, .tick = meddle, .ctx = &m };
    struct table *t;
    struct err err;
    ck_assert_int_eq(open_file(path, &ctl, &t, &err), ST_IO);
    ck_assert_str_eq(err.name, "changed");
    support_write(path, b.s, b.len);
    m.stop = true;
    m.ticks = 0;
    ck_assert_int_eq(open_file(path, &ctl, &t, &err), ST_CANCELLED);
    buf_free(&b);
    support_rmdir(dir);
}
END_TEST

static void *feed(void *path)
{
    int fd = open(path, O_WRONLY);
    for (const char *p = "a,b\n1,2\n3,4\n"; *p != '\0'; p++) /* byte by byte */
        if (write(fd, p, 1) != 1)
            break;
    close(fd);
    return NULL;
}

START_TEST(pipes)
{
    char *dir = support_tmpdir();
    const char *path = support_path(dir, "fifo");
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    pthread_t thread;
    pthread_create(&thread, NULL, feed, (void *)(uintptr_t)path);
    struct table *t;
    struct err err;
    ck_assert_msg(open_file(path, NULL, &t, &err) == ST_OK, "%s", err.msg);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(t->n, 2);
    table_unref(t);
    /* A pipe that nobody writes to can be stopped. */
    struct meddler m = { .ticks = 0 };
    atomic_store(&m.cancel.stop, true);
    struct ctl ctl = { .cancel = &m.cancel };
    ck_assert_int_eq(open_file(path, &ctl, &t, &err), ST_CANCELLED);
    support_rmdir(dir);
}
END_TEST

START_TEST(standard_input)
{
    char *dir = support_tmpdir();
    const char *path = support_path(dir, "in");
    support_write(path, "a;b\n1;2,5\n", 10);
    int fd = open(path, O_RDONLY);
    dup2(fd, STDIN_FILENO);
    close(fd);
    struct table *t;
    struct err err;
    ck_assert_msg(open_file("-", NULL, &t, &err) == ST_OK, "%s", err.msg);
    ck_assert(t->col[1].v[0] == 2.5);
    ck_assert_str_eq(t->checksum, "");
    ck_assert_str_eq(t->path, "-");
    table_unref(t);
    support_rmdir(dir);
}
END_TEST

/* NPY. */

static size_t npy(char *out, int version, const char *header, const void *data, size_t bytes)
{
    size_t len = strlen(header), at = version == 1 ? 10 : 12;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (char)version;
    out[7] = 0;
    for (size_t i = 0; i < at - 8; i++)
        out[8 + i] = (char)(len >> 8 * i);
    memcpy(out + at, header, len);
    memcpy(out + at + len, data, bytes);
    return at + len + bytes;
}

START_TEST(npy_arrays)
{
    char file[512];
    struct table *t;
    struct err err = { 0 };
    const double f8[6] = { 1, 2, 3, 4, 5, 6.5 };
    const float f4[3] = { 0.5f, -2, 3 };
    const unsigned char be[4] = { 0xff, 0xfe, 0x01, 0x00 }; /* >i2: -2, 256 */
    const uint64_t u8[2] = { 1, UINT64_MAX };
    size_t len =
        npy(file, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }   \n", f8, 48);
    ck_assert_msg(import_bytes_for_tests(file, len, NULL, &t, &err) == ST_OK, "%s", err.msg);
    ck_assert(t->n == 2 && t->ncols == 3 && t->col[0].v[1] == 4 && t->col[2].v[1] == 6.5);
    ck_assert_str_eq(t->col[2].name, "x3");
    ck_assert(t->col[0].integers && !t->col[2].integers);
    table_unref(t);
    len = npy(file, 2, "{'shape': (2,3), 'fortran_order': True, 'descr': '<f8'}\n", f8, 48);
    ck_assert_int_eq(import_bytes_for_tests(file, len, NULL, &t, &err), ST_OK);
    ck_assert(t->n == 2 && t->col[1].v[0] == 3 && t->col[2].v[1] == 6.5);
    table_unref(t);
    len = npy(file, 3, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", f4, 12);
    ck_assert_int_eq(import_bytes_for_tests(file, len, NULL, &t, &err), ST_OK);
    ck_assert(t->n == 3 && t->ncols == 1 && t->col[0].v[1] == -2);
    table_unref(t);
    len = npy(file, 1, "{'descr': '>i2', 'fortran_order': False, 'shape': (1, 2), }\n", be, 4);
    ck_assert_int_eq(import_bytes_for_tests(file, len, NULL, &t, &err), ST_OK);
    ck_assert(t->col[0].v[0] == -2 && t->col[1].v[0] == 256);
    table_unref(t);
    len = npy(file, 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 2), }\n", "\1\0\0\1",
              4);
    ck_assert_int_eq(import_bytes_for_tests(file, len, NULL, &t, &err), ST_OK);
    ck_assert(t->col[0].v[0] == 1 && t->col[1].v[0] == 0);
    table_unref(t);
    len = npy(file, 1, "{'descr': '<u8', 'fortran_order': False, 'shape': (2, 1), }\n", u8, 16);
    ck_assert_int_eq(import_bytes_for_tests(file, len, NULL, &t, &err), ST_OK);
    ck_assert_ptr_nonnull(strstr(t->notes, "warning[rounded]"));
    table_unref(t);
}
END_TEST

static const struct {
    const char *header;
    size_t bytes;
    const char *name, *words;
} bad_npy[] = {
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", 40, "truncated", "items"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", 56, "npy", "more bytes follow"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 99999), }", 48, "limit",
     "columns"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999999, 9), }", 48, "truncated",
     "header tells"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999999, 1), }", 48, "npy",
     "dimension"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }", 0, "empty", "no data"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (), }", 8, "npy", "no dimension"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1, 1), }", 8, "npy",
     "four dimensions"},
    {"{'descr': '<c16', 'fortran_order': False, 'shape': (1,), }", 16, "npy", "type '<c16'"},
    {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", 16, "npy", "type '|O'"},
    {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", 8, "npy", "records"},
    {"{'descr': '<f8', 'fortran_order': Maybe, 'shape': (1,), }", 8, "npy",
     "neither True nor False"},
    {"{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", 8, "npy",
     "repeated"},
    {"{'descr': '<f8', 'shape': (1,), }", 8, "npy", "incomplete"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), } x", 8, "npy", "incomplete"},
    {"no dictionary", 8, "npy", "not a dictionary"},
};

START_TEST(hostile_npy_is_refused)
{
    char file[512];
    static const double data[8];
    size_t len = npy(file, 1, bad_npy[_i].header, data, bad_npy[_i].bytes);
    expect(file, len, NULL, bad_npy[_i].name, bad_npy[_i].words);
}
END_TEST

START_TEST(npy_without_an_end)
{
    char file[512];
    const double bad[2] = { 1, NAN };
    size_t len =
        npy(file, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n", bad, 16);
    expect(file, len, NULL, "not-finite", "row 2, column 1 (byte 76): nan");
    struct import_opts o = { .header = -1, .missing = "nan" };
    struct table *t;
    struct err err = { 0 };
    ck_assert_int_eq(import_bytes_for_tests(file, len, &o, &t, &err), ST_OK);
    ck_assert_uint_eq(t->missing, 1);
    table_unref(t);
    for (size_t cut = 6; cut < len; cut++) /* cut anywhere: an error, never a crash */
        ck_assert_int_ne(import_bytes_for_tests(file, cut, &o, &t, &err), ST_OK);
    file[6] = 9;
    expect(file, len, NULL, "npy", "version 9");
}
END_TEST

/* Real files: rows, columns, missing cells and repeats as their README tells. */

static const struct {
    const char *name;
    size_t rows, cols;
    long missing, repeats; /* -1: not told */
} real_files[] = {
    { "pol", 15000, 27, 0, 42 },        { "bike", 17379, 18, 0, -1 },
    { "kin40k", 40000, 9, 0, -1 },      { "protein", 45730, 10, 0, 1712 },
    { "keggundirected", 63608, 28, 0, 45033 }, { "sml", 4137, 27, 0, -1 },
    { "wine", 1599, 12, 0, 240 },       { "pumadyn32nm", 8192, 33, 0, -1 },
    { "tamielectric", 45781, 4, 0, -1 }, { "sulfur", 10081, 7, 0, -1 },
    { "airfoil", 1503, 6, 0, -1 },      { "concrete", 1030, 9, 0, -1 },
    { "energy", 768, 9, 0, -1 },        { "yacht", 308, 7, 0, -1 },
    { "gas", 2565, 129, 0, -1 },        { "skillcraft", 3338, 20, 0, -1 },
    { "breastcancer", 194, 34, 0, -1 }, { "diamonds", 53940, 10, 0, -1 },
    { "sgemm", 241600, 19, 0, -1 },     { "flights200k", 200000, 3, 0, -1 },
    { "road3d_sample", 5000, 3, 0, -1 }, { "slice_sample", 681, 386, 0, -1 },
    { "song_sample", 1176, 91, 0, -1 }, { "letter", 20000, 17, 0, -1 },
    { "eeg", 14980, 15, 0, -1 },        { "htru2", 17898, 9, 0, -1 },
    { "skin", 244962, 4, 0, -1 },       { "covbin10k", 10000, 56, 0, -1 },
    { "mnist10k", 10000, 785, 0, -1 },  { "iris", 150, 5, 0, -1 },
    { "banknote", 1372, 5, 0, -1 },     { "gb1", 8733, 6, 0, -1 },
    { "fluorescence", 54025, 5, 0, -1 }, { "stability_ssm2", 12851, 7, 0, -1 },
    { "aav28", 44128, 7, 0, -1 },       { "pab1", 40852, 4, 0, -1 },
    { "splice", 3190, 4, 0, -1 },       { "pbm8mer", 32896, 6, 0, -1 },
    { "dream5_cebpb", 80539, 5, 0, -1 }, { "smsspam", 5575, 2, 0, -1 },
    { "esol", 1128, 3, 0, -1 },         { "freesolv", 642, 3, 0, -1 },
    { "photoswitch", 392, 2, 0, -1 },   { "qm9small", 14862, 16, 0, 147 },
    { "qm9smiles", 133247, 3, 0, -1 },  { "hiv", 41913, 3, 0, -1 },
    { "guacamol", 10000, 2, 0, -1 },    { "graph_proteins", 1113, 6, 0, -1 },
    { "graph_enzymes", 600, 6, 0, -1 }, { "co2", 741, 3, 0, -1 },
    { "airline", 144, 2, 0, -1 },       { "sunspots_monthly", 2820, 2, 0, -1 },
    { "sunspots_yearly", 309, 2, 0, -1 }, { "daily_min_temp", 3650, 2, 0, -1 },
    { "dirty_titanic", 891, 15, 177 + 688 + 2 + 2, -1 }, { "dirty_mpg", 398, 9, 6, -1 },
    { "dirty_autos", 201, 26, -1, -1 }, { "dirty_horse_colic", 300, 28, -1, -1 },
    { "dirty_adult", 32561, 15, 1836 + 1843 + 583, 24 },
};

START_TEST(real_files_are_read)
{
    char path[200];
    snprintf(path, sizeof path, "data/%s/data.csv.gz", real_files[_i].name);
    const char *full = support_shared(path);
    if (full == NULL)
        exit(77);
    struct table *t;
    struct err err;
    ck_assert_msg(open_file(full, NULL, &t, &err) == ST_OK, "%s: %s", path, err.msg);
    ck_assert_msg(t->n == real_files[_i].rows && t->ncols == real_files[_i].cols, "%s: %zu x %zu",
                  path, t->n, t->ncols);
    if (real_files[_i].missing >= 0)
        ck_assert_uint_eq(t->missing, real_files[_i].missing);
    if (real_files[_i].repeats >= 0)
        ck_assert_int_eq(t->duplicates, real_files[_i].repeats);
    if (strcmp(real_files[_i].name, "dirty_autos") == 0)
        ck_assert_uint_eq(t->col[1].missing, 37);
    if (strcmp(real_files[_i].name, "dirty_horse_colic") == 0)
        ck_assert_uint_eq(llround((double)t->missing / 84.0), 19); /* per cent of 300 x 28 */
    table_unref(t);
}
END_TEST

static void add(TCase *tc, const TTest *const *tests)
{
    for (; *tests != NULL; tests++)
        tcase_add_test(tc, *tests);
}

int main(void)
{
    Suite *s = suite_create("import");
    TCase *tc = tcase_create("import");
    tcase_set_timeout(tc, 120);
    add(tc, (const TTest *const[]){
        numbers_are_those_of_strtod, hard_numbers_are_rounded_right, what_is_no_number_is_not_read,
        dates_become_years, dates_in_other_forms, plain_files_in_every_dress,
        skipped_lines_are_counted,
        quotes_hold_anything, headers_are_told_from_data, missing_cells_in_every_dress,
        types_follow_the_cells, repeated_rows_are_counted, hostile_names_come_through,
        records_across_the_window, a_late_value_settles_an_empty_column, bad_bytes_are_refused,
        the_types_are_proven_on_every_row, memory_is_bounded, exhaustion_is_an_error,
        files_that_are_none, packed_files, bombs_are_refused, files_that_change_meanwhile, pipes,
        standard_input, npy_arrays, npy_without_an_end, NULL });
    tcase_add_loop_test(tc, bad_text_is_refused, 0, sizeof bad_texts / sizeof *bad_texts);
    tcase_add_loop_test(tc, hostile_npy_is_refused, 0, sizeof bad_npy / sizeof *bad_npy);
    tcase_add_loop_test(tc, real_files_are_read, 0, sizeof real_files / sizeof *real_files);
    suite_add_tcase(s, tc);
    return support_run(s);
}
