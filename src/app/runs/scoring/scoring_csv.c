/* app/runs/scoring/scoring_csv.c -- writes predictions as a file of comma-separated values. */
#include "app/runs/scoring/scoring_impl.h"

#include "base/outfile.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* Writes WHAT_TARGET. It begins with a letter, so that no spreadsheet takes it for a formula. */
static void csv_named(struct buf *b, const char *what, const char *target)
{
    struct buf name = { 0 };

    buf_printf(&name, "%s_%s", what, target);
    buf_putc(b, ',');
    text_csv(b, buf_str(&name));
    buf_free(&name);
}

static void csv_number(struct buf *b, double v)
{
    buf_putc(b, ',');
    if (!isnan(v))
        buf_json_double(b, v);
}

/* Columns first to end - 1 have a column for each target: all of them for the first target, then
 * all for the next. i SIZE_MAX: their names. */
static void csv_targets(struct buf *b, const struct scoring *s, size_t first, size_t end, size_t i)
{
    const size_t targets = encoding_targets(&s->enc);

    for (size_t j = 0; j < targets; j++)
        for (size_t c = first; c < end; c++) {
            const struct predict_column *column = s->columns.at[c];
            if (i != SIZE_MAX)
                csv_number(b, column->value(s, j, i));
            else if (targets > 1)
                csv_named(b, column->name, encoding_for(&s->enc, j).target);
            else
                buf_printf(b, ",%s", column->name);
        }
}

/* A line of the file without its first comma. */
static void csv_line(struct buf *out, const struct scoring *s, const struct table *t, size_t i)
{
    const size_t start = out->len;

    for (size_t c = 0, end; c < s->columns.n; c = end) {
        end = c + 1;
        if (s->columns.at[c]->write) {
            s->columns.at[c]->write(s, t, i, out);
            continue;
        }
        while (end < s->columns.n && !s->columns.at[end]->write)
            end++;
        csv_targets(out, s, c, end, i);
    }
    scoring_functions_cells(out, s, i);
    if (!out->failed && out->len > start) {
        memmove(out->s + start, out->s + start + 1, out->len - start);
        out->len--;
    }
    buf_putc(out, '\n');
}

void scoring_csv_head(struct buf *b, const struct scoring *s, const struct table *t)
{
    csv_line(b, s, t, SIZE_MAX);
}

void scoring_csv_row(struct buf *b, const struct scoring *s, const struct table *t, size_t i)
{
    csv_line(b, s, t, i);
}

enum status scoring_csv_name(const char *out, struct err *err)
{
    static const char *const other[] = { ".npy", ".npz", ".json", ".xlsx", ".xls", ".parquet",
                                         ".h5", ".hdf5" };
    const char *dot = out ? strrchr(out, '.') : NULL;

    for (size_t i = 0; dot && i < sizeof other / sizeof *other; i++)
        if (!strcasecmp(dot, other[i])) {
            err_named(err, ST_USAGE, "out", "%.200s: predict writes CSV, and %s is another format",
                      out, other[i]);
            err_hint(err, "out=FILE.csv; or score, then export what=predictions out=FILE.npy");
            return ST_USAGE;
        }
    return ST_OK;
}

enum status scoring_csv_write(const struct scoring *s, const struct table *t, struct err *err)
{
    const struct prediction *p = &s->pred;
    struct outfile f;
    struct buf b = { 0 };
    enum status rc = outfile_open(&f, s->out, 0666, err);

    if (rc != ST_OK) {
        err_hint(err, "predict ... out=FILE.csv in a directory that you may write to");
        return rc;
    }
    scoring_csv_head(&b, s, t);
    for (size_t i = 0; i < p->n && rc == ST_OK; i++) {
        scoring_csv_row(&b, s, t, i);
        if (b.failed)
            rc = err_nomem(err, b.len, "predictions");
        else if (b.len > 1 << 20 || i + 1 == p->n)
            rc = outfile_write(&f, b.s, b.len, err), buf_clear(&b);
    }
    if (rc == ST_OK && b.len)
        rc = outfile_write(&f, b.s, b.len, err);
    if (rc == ST_OK)
        rc = outfile_commit(&f, err);
    else
        outfile_abort(&f);
    buf_free(&b);
    return rc;
}
