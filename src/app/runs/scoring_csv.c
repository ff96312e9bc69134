/* app/runs/scoring_csv.c -- writes predictions as a file of comma-separated values. */
#include "app/runs/scoring_impl.h"

#include "base/outfile.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static void csv_cell(struct buf *b, const struct column *c, size_t row, text_csv_fn *csv)
{
    if (c->type == COL_REAL) {
        if (isfinite(column_at(c, row)))
            buf_json_double(b, column_at(c, row));
    } else {
        struct buf room = { 0 };
        const char *s = table_column_text(c, row, &room);
        if (s)
            csv(b, s);
        buf_free(&room);
    }
}

/* True for a column of this table whose name has role id in the training data. */
static bool is_id(const struct dataset *d, const struct table *t, size_t col)
{
    if (!d) /* a resumed run whose data is not loaded: the roles are unknown */
        return false;
    const size_t j = table_find(d->table, t->col[col].name);
    return j != SIZE_MAX && d->role[j] == ROLE_ID;
}

/* Writes WHAT_TARGET. It begins with a letter, so that no spreadsheet takes it for a formula. */
static void csv_named(struct buf *b, const char *what, const char *target)
{
    struct buf name = { 0 };

    buf_printf(&name, "%s_%s", what, target);
    buf_putc(b, ',');
    text_csv(b, buf_str(&name));
    buf_free(&name);
}

void scoring_csv_head(struct buf *b, const struct scoring *s, const struct table *t)
{
    const struct encoding *enc = &s->enc;
    const bool sd = s->pred.sd != NULL;

    buf_puts(b, "row");
    for (size_t c = 0; c < t->ncols; c++)
        if (is_id(s->data, t, c)) {
            buf_putc(b, ',');
            s->csv(b, t->col[c].name);
        }
    const size_t targets = encoding_targets(enc);
    for (size_t j = 0; targets > 1 && j < targets; j++) {
        const char *name = encoding_for(enc, j).target;
        csv_named(b, "mean", name);
        if (sd) {
            csv_named(b, "sd_latent", name);
            csv_named(b, "sd", name);
        }
    }
    buf_puts(b, targets > 1 ? "\n" : sd ? ",mean,sd_latent,sd\n" : ",mean\n");
}

void scoring_csv_row(struct buf *b, const struct scoring *s, const struct table *t, size_t i)
{
    const struct prediction *p = &s->pred;

    buf_printf(b, "%zu", p->row[i] + 1);
    for (size_t c = 0; c < t->ncols; c++)
        if (is_id(s->data, t, c)) {
            buf_putc(b, ',');
            csv_cell(b, &t->col[c], p->row[i], s->csv);
        }
    for (size_t j = 0, at = i; j < p->t; j++, at += p->n) {
        buf_putc(b, ',');
        buf_json_double(b, p->mean[at]);
        if (p->sd) {
            buf_putc(b, ',');
            buf_json_double(b, p->sd_latent[at]);
            buf_putc(b, ',');
            buf_json_double(b, p->sd[at]);
        }
    }
    buf_putc(b, '\n');
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
