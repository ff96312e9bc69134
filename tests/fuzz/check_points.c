/* tests/fuzz/check_points.c -- sessions whose models were tampered with, under checksums that are
 * right: inducing points, strings, support vectors, sites and levels of two classes, and how data
 * was made. */
#include "app/session/store_impl.h"
#include "compute/models/classes/csvc.h"
#include "data/checksum.h"
#include "store_support.h"
#include "support.h"

#include <check.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *dir;
static char session[512];

static void set_up(void)
{
    /* In memory where possible: a sync then costs nothing, and nothing here needs a disk. */
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
    dir = support_tmpdir();
    snprintf(session, sizeof session, "%s", support_path(dir, "a.gpd"));
}

static void tear_down(void)
{
    support_rmdir(dir);
}

static void begin(struct desk *d, const char *path)
{
    struct err err = { 0 };
    const enum status rc = desk_open(d, path, &err);
    ck_assert_msg(rc == ST_OK, "%s", err.msg);
}

static void run(struct desk *d, const char *line)
{
    const bool good = desk_run(d, line);
    ck_assert_msg(good, "%s\n%s", line, buf_str(&d->said));
}

/* The checksum of a row as sessions have it: CRC-32 over type, length and bytes of each value, so
 * that changed arrays pass for whole. */
static void rowsum(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    uint32_t sum = 0;

    for (int i = 0; i < argc; i++) {
        const int type = sqlite3_value_type(argv[i]);
        const bool whole = type == SQLITE_INTEGER;
        const void *bytes = whole ? NULL : sqlite3_value_blob(argv[i]);
        const uint64_t n = whole ? (uint64_t)sqlite3_value_int64(argv[i])
                                 : (uint64_t)sqlite3_value_bytes(argv[i]);
        unsigned char head[9] = { (unsigned char)type };
        for (int k = 0; k < 8; k++)
            head[1 + k] = (unsigned char)(n >> 8 * k);
        sum = checksum_add(sum, head, sizeof head);
        sum = bytes ? checksum_add(sum, bytes, n) : sum;
    }
    sqlite3_result_int64(ctx, sum);
}

static void sql_summed(const char *path, const char *text)
{
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_create_function_v2(db, "rowsum", -1, SQLITE_UTF8, NULL, rowsum, NULL,
                                                NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, /* what || has put together is text */
                                  "UPDATE blob SET data = CAST(data AS BLOB);"
                                  "UPDATE blob SET sum = "
                                      "rowsum('blob', owner, what, part, data);"
                                      "UPDATE run SET sum = rowsum('run', id, name, body);"
                                  "UPDATE dataset SET sum = rowsum('dataset', id, body)",
                                  NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* The first model of a session that these commands have made, SQL has changed and the desk has
 * opened again; NULL: it was left out.  It has to be there where `whole` says so. */
static const struct model *tampered(struct desk *d, const char *made, const char *sql, bool whole)
{
    begin(d, session);
    run(d, made);
    desk_close(d);
    sql_summed(session, sql);
    begin(d, session);
    const struct model *m = d->ws->nrun ? d->ws->run[0]->model : NULL;
    ck_assert_msg((m != NULL) == whole, "%s: %s", sql, buf_str(&d->said));
    return m;
}

/* Inducing points of rows that are not there, that are no numbers, too few or too many of them,
 * words that are none: the model is left out, or predicts; nothing crashes.  Doubles are
 * little-endian: 1e300, -2, NaN, 0.5, infinity. */
static const char *const hostile_points[] = {
    "SELECT 1",
    "UPDATE blob SET data = x'9c7500883ce4377e' || substr(data, 9) WHERE what = 'origin'",
    "UPDATE blob SET data = x'00000000000000c0' || substr(data, 9) WHERE what = 'origin'",
    "UPDATE blob SET data = x'000000000000f87f' || substr(data, 9) WHERE what = 'origin'",
    "UPDATE blob SET data = x'000000000000e03f' || substr(data, 9) WHERE what = 'origin'",
    "UPDATE blob SET data = x'000000000000f07f' || substr(data, 9) WHERE what = 'X'",
    "UPDATE blob SET data = substr(data, 9) WHERE what = 'origin'",
    "DELETE FROM blob WHERE what = 'origin'",
    "DELETE FROM blob WHERE what = 'X'",
    "UPDATE run SET body = replace(body, '\"M\":8', '\"M\":9')",
    "UPDATE run SET body = replace(body, '\"M\":8', '\"M\":4000000000')",
    "UPDATE run SET body = replace(body, '\"approx\":\"vfe\"', '\"approx\":\"xyz\"')",
    "UPDATE run SET body = replace(body, '\"select\":\"random\"', '\"select\":\"lucky(\"')",
    "UPDATE run SET body = replace(body, '\"points\":8', '\"points\":-1')",
    "UPDATE blob SET data = zeroblob(length(data)) WHERE what = 'X'",
};

START_TEST(hostile_points_do_no_harm)
{
    const int last = sizeof hostile_points / sizeof *hostile_points - 1;
    const bool whole = _i == 0 || _i == last;
    struct desk d;
    const struct model *m = tampered(&d, "demo toy n=30; kernel rbf; fit solver=sparse inducing=8",
                                     hostile_points[_i], whole);

    ck_assert(whole || strstr(buf_str(&d.said), "session") != NULL);
    if (m != NULL) /* equal points: the factor takes a jitter */
        run(&d, "score on=train; inducing; plot inducing");
    desk_close(&d);
}
END_TEST

/* Points that are strings: of lengths that are no numbers, negative, beyond the row; letters that
 * are none; words of no or of too many letters, or of another alphabet.  1e300, -2, NaN, 0.5, 2^30
 * in the place of the first point's length and of its first letter. */
static const char *const hostile_strings[] = {
    "SELECT 1",
    "UPDATE blob SET data = x'9c7500883ce4377e' || substr(data, 9) WHERE what = 'X'",
    "UPDATE blob SET data = x'00000000000000c0' || substr(data, 9) WHERE what = 'X'",
    "UPDATE blob SET data = x'000000000000f87f' || substr(data, 9) WHERE what = 'X'",
    "UPDATE blob SET data = x'000000000000e03f' || substr(data, 9) WHERE what = 'X'",
    "UPDATE blob SET data = x'000000000000d041' || substr(data, 9) WHERE what = 'X'",
    "UPDATE blob SET data = substr(data, 1, 8) || x'9c7500883ce4377e' || substr(data, 17) "
    "WHERE what = 'X'",
    "UPDATE blob SET data = substr(data, 1, 8) || x'00000000000000c0' || substr(data, 17) "
    "WHERE what = 'X'",
    "UPDATE blob SET data = substr(data, 1, 8) || x'000000000000f87f' || substr(data, 17) "
    "WHERE what = 'X'",
    "UPDATE blob SET data = substr(data, 1, 8) || x'000000000000e03f' || substr(data, 17) "
    "WHERE what = 'X'",
    "UPDATE run SET body = replace(body, 'n=3,symbols=4', 'n=1000,symbols=4')",
    "UPDATE run SET body = replace(body, 'n=3,symbols=4', 'n=0,symbols=4')",
    "UPDATE run SET body = replace(body, 'n=3,symbols=4', 'n=3,symbols=5')",
    "UPDATE run SET body = replace(body, 'n=3,symbols=4', 'n=3,symbols=4+1')",
    "UPDATE run SET body = replace(body, 'n=3,symbols=4', 'n=3,symbols=0+4')",
    "UPDATE run SET body = replace(body, 'n=3,symbols=4', 'n=3,symbols=3+1')",
    "UPDATE blob SET data = substr(data, 1, 8) || x'000000000000d041' || substr(data, 17) "
    "WHERE what = 'X'",
    "UPDATE blob SET data = zeroblob(length(data)) WHERE what = 'X'",
};
enum { HARMLESS_STRINGS = 3 }; /* the last ones: other letters are unknown, and rows may be empty */

START_TEST(hostile_strings_do_no_harm)
{
    const int all = sizeof hostile_strings / sizeof *hostile_strings;
    struct desk d;
    const struct model *m =
        tampered(&d, "demo motifs n=30; kernel spectrum(n=3); fit solver=sparse inducing=8 "
                     "select=anneal(steps=40)",
                 hostile_strings[_i], _i == 0 || _i >= all - HARMLESS_STRINGS);

    if (m != NULL && _i < all - 1) /* points without words have no factor, which is an error */
        run(&d, "score on=train; inducing; words; motif; explain-row row:2; plot inducing");
    else if (m != NULL)
        (void)desk_run(&d, "score on=train; inducing; words; explain-row row:2");
    desk_close(&d);
}
END_TEST

/* The same of a support vector machine: rows that are not there, that are no numbers, negative,
 * between two rows, twice; coefficients of 0, beyond what C allows, no numbers; a decision function
 * that is short, absent, not finite, or of a price of 0 or -1.  1, -1, 0 and infinity end in
 * f03f, f0bf, 0000 and f07f. */
static const char *const hostile_vectors[] = {
    "SELECT 1",
    "UPDATE blob SET data = x'9c7500883ce4377e' || substr(data, 9) WHERE what = 'origin'",
    "UPDATE blob SET data = x'000000000000f87f' || substr(data, 9) WHERE what = 'origin'",
    "UPDATE blob SET data = x'000000000000f0bf' || substr(data, 9) WHERE what = 'origin'",
    "UPDATE blob SET data = x'000000000000e03f' || substr(data, 9) WHERE what = 'origin'",
    "UPDATE blob SET data = substr(data, 9, 8) || substr(data, 9) WHERE what = 'origin'",
    "DELETE FROM blob WHERE what = 'origin'",
    "UPDATE blob SET data = x'0000000000000000' || substr(data, 9) WHERE what = 'w'",
    "UPDATE blob SET data = x'9c7500883ce4377e' || substr(data, 9) WHERE what = 'w'",
    "UPDATE blob SET data = x'000000000000f87f' || substr(data, 9) WHERE what = 'w'",
    "UPDATE blob SET data = substr(data, 9) WHERE what = 'w'",
    "UPDATE blob SET data = x'000000000000f07f' || substr(data, 9) WHERE what = 'X'",
    "UPDATE blob SET data = substr(data, 9) WHERE what = 'state'",
    "DELETE FROM blob WHERE what = 'state'",
    "UPDATE blob SET data = x'000000000000f07f' || substr(data, 9) WHERE what = 'state'",
    "UPDATE blob SET data = substr(data, 1, 8) || x'000000000000f87f' || substr(data, 17) "
    "WHERE what = 'state'",
    "UPDATE blob SET data = substr(data, 1, 24) || x'0000000000000000' WHERE what = 'state'",
    "UPDATE blob SET data = substr(data, 1, 24) || x'000000000000f0bf' WHERE what = 'state'",
    "UPDATE run SET body = replace(body, '\"M\":', '\"M\":9')",
    "UPDATE run SET body = replace(body, '\"cost\":1', '\"cost\":-1')",
};

START_TEST(hostile_vectors_do_no_harm)
{
    struct desk d;

    if (!csvc_here())
        return;
    const struct model *m =
        tampered(&d, "demo friedman1 n=60; let big = y > 14; cols big role=target; "
                     "cols y role=skip; likelihood bernoulli; kernel rbf; fit solver=svm",
                 hostile_vectors[_i], _i == 0);
    ck_assert(_i == 0 || strstr(buf_str(&d.said), "session") != NULL);
    if (m != NULL)
        run(&d, "score on=train");
    desk_close(&d);
}
END_TEST

/* Two classes at inducing points: a level that is no number, or not finite, is not taken; sites
 * that are too few, negative or no numbers cannot make the factor of the variances again. */
static const char *const hostile_classes[] = {
    "SELECT 1",
    "UPDATE run SET body = replace(body, '\"level\":', '\"level\":\"low\",\"other\":')",
    "UPDATE run SET body = replace(body, '\"level\":', '\"level\":1e999,\"other\":')",
    "UPDATE run SET body = replace(body, '\"level\":', '\"level\":[1],\"other\":')",
    "UPDATE blob SET data = substr(data, 9) WHERE what = 'state'",
    "UPDATE blob SET data = x'000000000000f0bf' || substr(data, 9) WHERE what = 'state'",
    "UPDATE blob SET data = x'000000000000f87f' || substr(data, 9) WHERE what = 'state'",
};
enum { HOSTILE_LEVELS = 4 }; /* and before them one that is whole */

START_TEST(hostile_classes_do_no_harm)
{
    char sql[512]; /* and the factor has to be made again */
    struct desk d;

    snprintf(sql, sizeof sql, "%s; DELETE FROM blob WHERE what = 'L'", hostile_classes[_i]);
    const struct model *m =
        tampered(&d, "demo motifs n=60; cols many role=target; cols count role=skip; "
                     "likelihood bernoulli; kernel spectrum(n=3); fit inducing=8",
                 sql, _i == 0 || _i >= HOSTILE_LEVELS);
    if (_i == 0)
        ck_assert(m->level != 0.0);
    if (m != NULL)
        ck_assert_msg(desk_run(&d, "score on=train") == (_i == 0), "%s: %s", hostile_classes[_i],
                      buf_str(&d.said));
    desk_close(&d);
}
END_TEST

/* How bundled data was made: a line without its name, of unknown data, of another number of rows,
 * or no line; the data is left out, the fit stays. */
static const char *const hostile_recipes[] = {
    "SELECT 1",
    "UPDATE dataset SET body = replace(body, 'demo toy n=30', 'demo n=30')",
    "UPDATE dataset SET body = replace(body, 'demo toy n=30', 'demo nothing')",
    "UPDATE dataset SET body = replace(body, 'demo toy n=30', 'demo toy n=31')",
    "UPDATE dataset SET body = replace(body, 'demo toy n=30', 'demo')",
    "UPDATE dataset SET body = replace(body, 'demo toy n=30', 'open')",
};

START_TEST(hostile_recipes_do_no_harm)
{
    struct desk d;

    (void)tampered(&d, "demo toy n=30; kernel rbf; fit solver=exact", hostile_recipes[_i], true);
    ck_assert_msg((d.ws->ndata == 1) == (_i == 0), "%s: %s", hostile_recipes[_i],
                  buf_str(&d.said));
    ck_assert(_i == 0 || strstr(buf_str(&d.said), "toy") != NULL);
    desk_close(&d);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("points");
    const struct {
        const char *name;
        const TTest *test;
        int loop;
    } group[] = {
        { "vectors", hostile_vectors_do_no_harm,
          (int)(sizeof hostile_vectors / sizeof *hostile_vectors) },
        { "strings", hostile_strings_do_no_harm,
          (int)(sizeof hostile_strings / sizeof *hostile_strings) },
        { "classes", hostile_classes_do_no_harm,
          (int)(sizeof hostile_classes / sizeof *hostile_classes) },
        { "recipes", hostile_recipes_do_no_harm,
          (int)(sizeof hostile_recipes / sizeof *hostile_recipes) },
        { "points", hostile_points_do_no_harm,
          (int)(sizeof hostile_points / sizeof *hostile_points) },
    };

    for (size_t i = 0; i < sizeof group / sizeof *group; i++) {
        TCase *tc = tcase_create(group[i].name);
        tcase_add_checked_fixture(tc, set_up, tear_down);
        tcase_set_timeout(tc, 120);
        tcase_add_loop_test(tc, group[i].test, 0, group[i].loop);
        suite_add_tcase(s, tc);
    }
    return support_run(s);
}
