/* tests/check_formats.c -- SQLite databases as tables: values, and databases that are hostile, cut
 * short or damaged anywhere. */
#include "data/formats/import.h"
#include "data/table.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The bytes of a database made by these statements; free them with sqlite3_free. */
static unsigned char *database(const char *sql, size_t *len)
{
    sqlite3 *db;
    sqlite3_int64 n;
    ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    unsigned char *bytes = sqlite3_serialize(db, "main", &n, 0);
    ck_assert_ptr_nonnull(bytes);
    sqlite3_close(db);
    *len = (size_t)n;
    return bytes;
}

static enum status read_table(const char *sql, const char *table, struct table **t, struct err *err)
{
    const struct import_opts o = { .header = -1, .table = table };
    size_t len;
    unsigned char *bytes = database(sql, &len);
    *err = (struct err){ 0 };
    const enum status rc = import_bytes_for_tests(bytes, len, &o, t, err);
    sqlite3_free(bytes);
    return rc;
}

START_TEST(tables_are_read)
{
    struct table *t;
    struct err err;
    ck_assert_msg(read_table("CREATE TABLE \"a b\"(n INTEGER, \"x,y\" REAL, w TEXT, d TEXT);"
                             "INSERT INTO \"a b\" VALUES (1, 0.1, '# one', '2024-01-01'),"
                             "(NULL, 2e300, 'say \"so\"', '2024-07-02'), (-3, 7, '', NULL)",
                             NULL, &t, &err) == ST_OK, "%s", err.msg);
    ck_assert_uint_eq(t->n, 3);
    ck_assert_uint_eq(t->ncols, 4);
    ck_assert_str_eq(t->col[1].name, "x,y");
    ck_assert_double_eq(t->col[0].v[2], -3);
    ck_assert(isnan(t->col[0].v[1]));
    ck_assert_double_eq(t->col[1].v[0], 0.1);
    ck_assert_double_eq(t->col[1].v[1], 2e300);
    ck_assert_str_eq(column_word(&t->col[2], 0), "# one");
    ck_assert_str_eq(column_word(&t->col[2], 1), "say \"so\"");
    ck_assert_double_eq(t->col[3].v[1], 2024.5); /* day 183 of 366 */
    ck_assert_str_eq(t->decisions, "SQLite, table a b");
    table_unref(t);
}
END_TEST

START_TEST(what_is_refused)
{
    static const struct { const char *sql, *table, *words; } bad[] = {
        { "CREATE TABLE a(x); CREATE TABLE b(x)", NULL, "has the tables a, b" },
        { "CREATE TABLE a(x)", "c", "has the tables a" },
        { "CREATE TABLE a(x)", NULL, "no rows" },
        { "CREATE TABLE a(x); CREATE VIEW v AS SELECT 1", "v", "has the tables a" },
        { "CREATE TABLE a(x); INSERT INTO a VALUES (x'00ff')", NULL, "holds bytes" },
        { "CREATE TABLE a(x, y); INSERT INTO a VALUES (1, 2), (3, 9e999), (4, 5)", NULL,
          "is not a finite number" },
        { "PRAGMA user_version=1", NULL, "no tables" },
    };
    struct table *t = NULL;
    struct err err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_ne(read_table(bad[i].sql, bad[i].table, &t, &err), ST_OK);
        ck_assert_msg(strstr(err.msg, bad[i].words) != NULL, "%s: %s", bad[i].sql, err.msg);
        ck_assert_str_ne(err.hint, "");
    }
}
END_TEST

/* Generated columns, triggers and cut or changed bytes: it ends, with a table or with words. */
START_TEST(hostile_databases)
{
    static const char sql[] =
        "CREATE TABLE t(a, b AS (a * 2), w); CREATE INDEX i ON t(a);"
        "CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM t; END;"
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 300)"
        "INSERT INTO t(a, w) SELECT n, 'word ' || n FROM c";
    const struct import_opts o = { .header = -1, .table = "t", .mem_limit = 1 << 26 };
    size_t len;
    unsigned char *bytes = database(sql, &len), *copy = malloc(len);
    struct splitmix r;
    struct table *t;
    struct err err;
    splitmix_init(&r, 9);
    ck_assert_ptr_nonnull(copy);
    for (int i = 0; i < 2000; i++) {
        const size_t n = i % 4 == 0 ? (size_t)(splitmix_next(&r) % len) : len;
        memcpy(copy, bytes, len);
        for (int k = 0; k < 1 + i % 5; k++)
            copy[i % 3 ? splitmix_next(&r) % len : splitmix_next(&r) % 120] =
                (unsigned char)splitmix_next(&r);
        err = (struct err){ 0 };
        if (import_bytes_for_tests(copy, n, &o, &t, &err) == ST_OK)
            table_unref(t);
        else
            ck_assert_str_ne(err.msg, "");
    }
    free(copy);
    sqlite3_free(bytes);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("formats");
    TCase *tc = tcase_create("formats");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, tables_are_read);
    tcase_add_test(tc, what_is_refused);
    tcase_add_test(tc, hostile_databases);
    suite_add_tcase(s, tc);
    return support_run(s);
}
