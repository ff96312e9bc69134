/* tests/fuzz/fuzz_csv.c -- the CSV reader under any bytes.
 *
 * The first byte chooses the options, the rest is the file (also packed: the reader looks).  Held
 * to: it ends; what it refuses it refuses with words and keeps nothing; what it accepts is a
 * consistent table whose numbers are finite, and which is the same table when written out and
 * read again.  Built with libFuzzer (make fuzz) and into `make check` by fuzz_main.c. */
#include "fuzz.h"

#include "data/dataset.h"
#include "data/formats/import.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_column(const struct table *t, const struct column *c)
{
    size_t missing = 0;
    if (c->name == NULL || strlen(c->name) > IMPORT_MAX_NAME)
        fuzz_fail("a column without a proper name");
    for (size_t i = 0; i < t->n; i++) {
        if (c->type == COL_REAL) {
            missing += isnan(c->v[i]);
            if (isinf(c->v[i]))
                fuzz_fail("an infinite number");
        } else if (c->type == COL_CATEGORY) {
            missing += c->code[i] == UINT32_MAX;
            if (c->code[i] != UINT32_MAX && c->code[i] >= c->nlevels)
                fuzz_fail("a code without a level");
        } else {
            missing += column_word(c, i) == NULL;
        }
    }
    for (size_t k = 0; c->type == COL_CATEGORY && k < c->nlevels; k++)
        if (c->level[k][0] == '\0' || (k > 0 && strcmp(c->level[k - 1], c->level[k]) >= 0))
            fuzz_fail("levels out of order");
    if (missing != c->missing)
        fuzz_fail("missing cells miscounted");
}

static void put_quoted(struct buf *b, const char *s)
{
    buf_putc(b, '"');
    for (; *s != '\0'; s++) {
        if (*s == '"')
            buf_putc(b, '"');
        buf_putc(b, *s);
    }
    buf_putc(b, '"');
}

/* Written with every cell quoted and its type said, the table comes back. */
static void check_round_trip(const struct table *t)
{
    static const char *const type[] = { "real", "category", "text", "sequence" };
    struct buf b = { 0 }, types = { 0 }, cell = { 0 };
    for (size_t j = 0; j < t->ncols; j++) {
        buf_puts(&b, j > 0 ? "," : "");
        put_quoted(&b, t->col[j].name);
        buf_printf(&types, "%s#%zu=%s", j > 0 ? "," : "", j + 1, type[t->col[j].type]);
    }
    for (size_t i = 0; i < t->n; i++) {
        buf_putc(&b, '\n');
        for (size_t j = 0; j < t->ncols; j++) {
            buf_clear(&cell);
            table_cell(t, i, j, &cell);
            buf_puts(&b, j > 0 ? "," : "");
            put_quoted(&b, buf_str(&cell));
        }
    }
    const struct import_opts o = { .sep = ',', .header = 1, .missing = "", .decimal = '.',
                                   .types = buf_str(&types) };
    struct table *u;
    struct err err = { 0 };
    if (b.len < 1 << 20 && b.len > 0) {
        if (import_bytes_for_tests(b.s, b.len, &o, &u, &err) != ST_OK) {
            fprintf(stderr, "error[%s] %s\n", err.name, err.msg);
            fuzz_fail("what was written is not read");
        }
        if (u->n != t->n || u->ncols != t->ncols || u->missing != t->missing ||
            u->duplicates != t->duplicates)
            fuzz_fail("another table came back");
        for (size_t j = 0; j < t->ncols; j++) {
            /* sequences (of a FASTA file) are found in text after the import, by kind.h */
            const bool held = t->col[j].type == COL_HELD && u->col[j].type == COL_TEXT;
            if ((u->col[j].type != t->col[j].type && !held) ||
                strcmp(u->col[j].name, t->col[j].name) != 0) {
                fprintf(stderr, "column %zu: %s '%s' and %s '%s'\n", j + 1, type[t->col[j].type],
                        t->col[j].name, type[u->col[j].type], u->col[j].name);
                fuzz_fail("another column came back");
            }
            for (size_t i = 0; t->col[j].type == COL_REAL && i < t->n; i++)
                if (!(u->col[j].v[i] == t->col[j].v[i]) && !isnan(t->col[j].v[i]))
                    fuzz_fail("another number came back");
        }
        table_unref(u);
    }
    buf_free(&cell);
    buf_free(&types);
    buf_free(&b);
}

/* A dataset of it: roles, a split, an encoding. */
static void check_dataset(struct table *t)
{
    struct err err = { 0 };
    struct dataset *d = dataset_new(t, NULL, NULL, &err);
    if (d == NULL)
        fuzz_fail("no dataset of an accepted table");
    d->missing = MISSING_MEAN;
    size_t *rows, n;
    struct encoding e;
    struct encoded x;
    if (t->n > 3)
        split_random(d, 0.3, 0.0, 1, &err);
    if (dataset_rows(d, PART_TRAIN, &rows, &n, &err) != ST_OK)
        fuzz_fail("no rows");
    if (dataset_inputs_for_tests(d) < 1000 && encoding_fit(d, rows, n, &e, NULL, &err) == ST_OK) {
        if (encode(&e, t, NULL, 0, true, &x, &err) == ST_OK) {
            for (size_t i = 0; x.x && i < x.n * e.d; i++)
                if (!isfinite(x.x[i]))
                    fuzz_fail("an input that is not finite");
            encode_free(&x);
        }
        encoding_free(&e);
    }
    free(rows);
    dataset_unref(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0)
        return 0;
    static const char seps[] = { 0, 0, ',', ';', '\t', '|', ' ', ':' };
    const uint8_t how = data[0];
    const struct import_opts o = {
        .sep = seps[how & 7],
        .header = (how >> 3 & 3) % 3 - 1,
        .decimal = how & 32 ? ',' : 0,
        .missing = how & 64 ? "NA,-99,nan" : NULL,
        .types = how & 128 ? "#1=category,#2=text" : NULL,
        .mem_limit = (size_t)64 << 20,
    };
    struct table *t;
    struct err err = { 0 };
    enum status rc = import_bytes_for_tests(data + 1, n - 1, &o, &t, &err);
    if (rc != ST_OK) {
        if (t != NULL || err.code != rc || err.msg[0] == '\0')
            fuzz_fail("refused without words");
        return 0;
    }
    if (t->n == 0 || t->ncols == 0)
        fuzz_fail("an empty table");
    for (size_t j = 0; j < t->ncols; j++)
        check_column(t, &t->col[j]);
    check_round_trip(t);
    check_dataset(t);
    table_unref(t);
    return 0;
}
