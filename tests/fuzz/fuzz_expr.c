/* tests/fuzz/fuzz_expr.c -- expressions, lists of names and steps of preparation under any bytes:
 * they end, refuse in words, and what is accepted computes finite numbers or missing cells, and
 * does the same again from the text that a session keeps. */
#include "fuzz.h"

#include "data/dataset.h"
#include "data/expr.h"
#include "data/formats/import.h"
#include "data/prepare.h"

#include <math.h>
#include <string.h>

static const char cars[] = "make,price,height,sold,y\naudi,10,2,2001-03-15,1\n"
                           "bmw,20,0,2001-06-30,2\n,,1,2002-01-01,3\nbmw,-5,4,2004-02-29,4\n";

/* The caller gives it back.  It is read once: steps make a new table and leave this as it is, which
 * check_cars holds them to. */
static struct table *cars_table(void)
{
    static struct table *t;
    struct err err = { 0 };

    if (t != NULL)
        return table_ref(t);
    if (import_bytes_for_tests(cars, strlen(cars), NULL, &t, &err) != ST_OK)
        fuzz_fail(err.msg);
    return table_ref(t);
}

/* The table that all runs share is still that of the text. */
static void check_cars(void)
{
    struct table *t = cars_table();

    if (t->n != 4 || t->ncols != 5 || t->missing != 2 || t->col[1].v[0] != 10.0 ||
        t->col[4].v[3] != 4.0 || strcmp(t->col[2].name, "height") != 0)
        fuzz_fail("steps have changed the table that they began from");
    table_unref(t);
}

static void check_refusal(const struct err *err, enum status rc)
{
    if (err->code != rc || err->msg[0] == '\0')
        fuzz_fail("refused without words");
}

static void evaluate(const char *text)
{
    struct table *t = cars_table();
    struct expr *e = NULL;
    struct err err = { 0 };
    double x[4];
    const char *word[4];
    enum status rc = expr_parse(text, &e, &err);

    if (rc == ST_OK)
        rc = expr_bind(e, t, &err);
    if (rc == ST_OK && expr_rows(e, 0, 4, NULL, x, word, &err) != ST_OK)
        fuzz_fail(err.msg);
    if (rc != ST_OK)
        check_refusal(&err, rc);
    for (size_t i = 0; rc == ST_OK && expr_type(e) != EXPR_WORD && i < 4; i++)
        if (isinf(x[i]) || (expr_type(e) == EXPR_TRUTH && !isnan(x[i]) && x[i] != 0 && x[i] != 1))
            fuzz_fail("a value that is not finite, or no truth");
    expr_free(e);
    table_unref(t);
}

/* Applies steps; from the kept text they must give the same table. */
static void apply(const char *steps)
{
    struct table *t = cars_table(), *again = cars_table();
    struct err err = { 0 };
    struct dataset *d = dataset_new(t, NULL, "y", &err);
    struct buf notes = { 0 };

    if (d == NULL)
        fuzz_fail(err.msg);
    const enum status rc = prepare_dataset(d, steps, NULL, &notes, &err);
    if (rc != ST_OK)
        check_refusal(&err, rc);
    else if (d->steps != NULL && prepare_table(&again, d->steps, NULL, NULL, &err) != ST_OK)
        fuzz_fail(err.msg);
    else if (again->n != d->table->n || again->ncols != d->table->ncols ||
             again->missing != d->table->missing)
        fuzz_fail("the steps give another table");
    buf_free(&notes);
    table_unref(again);
    table_unref(t);
    dataset_unref(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = n <= 4096 ? malloc(n + 1) : NULL;
    struct buf step = { 0 };
    struct err err = { 0 };
    enum status rc = ST_OK;

    if (text == NULL)
        return 0;
    memcpy(text, data, n);
    text[n] = '\0';
    const char *rest = strchr(text, '\n') != NULL ? strchr(text, '\n') + 1 : text;
    struct table *t = cars_table();
    if (strncmp(text, "names\n", 6) == 0)
        rc = prepare_write_names(t, rest, &step, &err);
    else if (strncmp(text, "rename\n", 7) == 0)
        rc = prepare_write_rename(t, rest, &step, &err);
    else if (strncmp(text, "steps\n", 6) == 0)
        buf_puts(&step, rest);
    else if (strchr(text, '=') != NULL)
        rc = prepare_write_let(text, &step, &err);
    else
        rc = prepare_write_where(text, &step, &err);
    if (rc == ST_OK)
        apply(buf_str(&step));
    else
        check_refusal(&err, rc);
    evaluate(text);
    check_cars();
    table_unref(t);
    buf_free(&step);
    free(text);
    return 0;
}
