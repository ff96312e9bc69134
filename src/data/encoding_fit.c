/* data/encoding_fit.c -- fits an encoding on training rows: which rows count, the target, and for
 * each kernel of the expression the columns that it reads, each by its kind (kinds/kind.h).
 *
 * A number becomes (x - mean) / sd. A column that does not vary on the training rows beyond
 * rounding noise is always encoded as 0, and every encoded value is limited to ten times the
 * largest one in training: a column that is nearly constant there and extreme in a new row must not
 * ruin a prediction. Notes report both. */
#include "data/encoding_column.h"
#include "data/encoding_moments.h"
#include "data/page_use.h"
#include "data/prepare_rows.h"
#include "data/kinds/kind.h"
#include "data/kinds/positions.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool has_positions(const struct column *c)
{
    return (kind_of(c)->rows & ~(unsigned)ROWS_NUMBERS) != 0;
}

static enum status check_logs(struct encoding_fitting *f, const struct column *c)
{
    char name[64];
    for (size_t i = 0; f->d->yscale == Y_LOG && i < f->n; i++)
        if (!(column_at(c, f->rows[i]) > 0.0)) {
            err_named(f->err, ST_STATE, "log", "the target %s is %.6g in row %zu: it has no "
                      "logarithm", text_quoted(c->name, name, sizeof name),
                      column_at(c, f->rows[i]), f->rows[i] + 1);
            err_hint(f->err, "scale y=standard");
            return ST_STATE;
        }
    return ST_OK;
}

/* Name, mean and sd of a target; the first has a place of its own, the others are in a list. */
static enum status fit_target(struct encoding_fitting *f, const struct column *c)
{
    char name[64];
    struct encoding *e = f->e;
    struct enc_target one = { 0 };
    const struct encoding_moments m = f->m[c - f->d->table->col];
    const enum status far = encoding_moments_check(f, c, true);
    if (far != ST_OK)
        return far;
    if (m.constant) {
        err_named(f->err, ST_STATE, "constant-target", "the target %s is %.6g in all %zu training "
                  "rows: there is nothing to learn", text_quoted(c->name, name, sizeof name),
                  f->n > 0 ? column_at(c, f->rows[0]) : (double)NAN, f->n);
        err_hint(f->err, "cols NAME role=target  chooses another one");
        return ST_STATE;
    }
    one.name = mem_strdup(c->name, f->err);
    one.mean = e->yscale == Y_NONE ? 0.0 : m.mean;
    one.sd = e->yscale == Y_NONE ? 1.0 : m.sd;
    one.own = e->yscale == Y_LOG ? encoding_moments_of(c, f->rows, f->n).sd : m.sd;
    if (one.name == NULL)
        return ST_NOMEM;
    if (e->target != NULL) {
        e->more[e->nmore++] = one;
        return ST_OK;
    }
    e->target = one.name;
    e->ymean = one.mean;
    e->ysd = one.sd;
    e->yown = one.own;
    return ST_OK;
}

static enum status missing_error(const struct table *t, size_t col, size_t row, size_t cells,
                                 bool target, struct err *err)
{
    char name[64];
    err_named(err, ST_STATE, "missing", "%s %s is missing in %zu of the rows, first in row %zu",
              target ? "the target" : "input", text_quoted(t->col[col].name, name, sizeof name),
              cells, row + 1);
    err_hint(err, target ? "missing drop" : "missing mean  |  missing median  |  missing drop  |  "
                                            "cols NAME role=skip");
    return ST_STATE;
}

/* Training rows without those that the policy drops. */
static enum status choose_rows(struct encoding_fitting *f, const size_t *train, size_t n)
{
    const struct dataset *d = f->d;
    const struct table *t = d->table;
    f->rows = mem_calloc(n, sizeof *f->rows, "row numbers", f->err);
    bool *drop = mem_calloc(n, sizeof *drop, "row numbers", f->err);
    enum status rc = f->rows == NULL || drop == NULL ? ST_NOMEM : ST_OK;
    for (size_t j = 0; j < t->ncols && rc == ST_OK; j++) {
        const struct column *c = &t->col[j];
        if (d->role[j] == ROLE_INPUT && has_positions(c)) {
            rc = positions_lost(f, kind_of(c), c, train, n, drop);
            continue;
        }
        const bool target = d->role[j] == ROLE_TARGET;
        if ((d->role[j] != ROLE_INPUT && !target &&
             (d->role[j] != ROLE_WEIGHT || d->missing != MISSING_DROP)) || c->missing == 0)
            continue;
        size_t cells = 0, first = 0;
        for (size_t i = 0; i < n; i++) {
            if (!column_missing(c, train[i]))
                continue;
            first = cells++ == 0 ? train[i] : first;
            drop[i] = drop[i] || target || d->missing == MISSING_DROP;
        }
        if (cells > 0 && d->missing == MISSING_ERROR)
            rc = missing_error(t, j, first, cells, target, f->err);
    }
    for (size_t i = 0; i < n && rc == ST_OK; i++)
        if (!drop[i])
            f->rows[f->n++] = train[i];
    free(drop);
    if (rc == ST_OK && f->n < n)
        buf_printf(f->notes, "note[dropped]: %zu of %zu training rows with missing cells are left "
                   "out\n", n - f->n, n);
    if (rc == ST_OK && f->n < 2)
        rc = err_named(f->err, ST_STATE, "rows", "%s: a model needs two at least",
                       f->n ? "one training row is left" : "no training row is left");
    return rc;
}

static enum status check_target(const struct dataset *d, size_t target, struct err *err)
{
    char name[64];
    if (target == SIZE_MAX) {
        err_set(err, ST_STATE, "the data has no target");
        err_hint(err, "cols NAME role=target");
        return ST_STATE;
    }
    const struct column *c = &d->table->col[target];
    if (c->type == COL_REAL)
        return ST_OK;
    err_set(err, ST_STATE, "the target %s holds words; a Gaussian process predicts numbers",
            text_quoted(c->name, name, sizeof name));
    err_hint(err, "cols NAME role=target  |  cols NAME type=real");
    return ST_STATE;
}

/* If all kernels are over windows, the column of positions must be the only input. */
static enum status check_alone(const struct dataset *d, struct err *err)
{
    char name[64];

    for (size_t j = 0; j < d->table->ncols; j++)
        if (d->role[j] == ROLE_INPUT && !has_positions(&d->table->col[j])) {
            err_named(err, ST_STATE, "inputs",
                      "conv reads the sequence and no other input: %s is one",
                      text_quoted(d->table->col[j].name, name, sizeof name));
            err_hint(err, "kernel conv(rbf) + rbf on %.60s  |  cols %.60s role=skip",
                     d->table->col[j].name, d->table->col[j].name);
            return ST_STATE;
        }
    return ST_OK;
}

static bool is_input(const struct dataset *d, size_t j)
{
    return d->role[j] == ROLE_INPUT && d->table->col[j].type != COL_TEXT;
}

/* The columns that kernel t reads: all inputs, or those after "on", which must be inputs. */
static enum status part_columns(const struct dataset *d, const struct kterm *t, bool *in,
                                struct err *err)
{
    const size_t n = d->table->ncols;
    char name[64];

    if (!*t->on) {
        for (size_t j = 0; j < n; j++)
            in[j] = is_input(d, j);
        return ST_OK;
    }
    const enum status rc = dataset_select(d->table, t->on, in, err);
    size_t named = 0;
    for (size_t j = 0; rc == ST_OK && j < n; j++) {
        const bool exact = in[j] && !strpbrk(t->on, "*");
        if (exact && !is_input(d, j)) {
            err_named(err, ST_STATE, "inputs", "the kernel reads column %s, which is not an input",
                      text_quoted(d->table->col[j].name, name, sizeof name));
            err_hint(err, "cols %.60s role=input", d->table->col[j].name);
            return ST_STATE;
        }
        in[j] = in[j] && is_input(d, j);
        named += in[j];
    }
    if (rc == ST_OK && named == 0) {
        err_named(err, ST_STATE, "inputs", "no input is called %s",
                  text_quoted(t->on, name, sizeof name));
        err_hint(err, "summary lists the columns; cols NAME role=input makes one an input");
        return ST_STATE;
    }
    for (size_t j = 0; rc == ST_OK && layer_kind(&t->layer) == LAYER_NUMBERS && j < n;
         j++) /* its filters, too */
        in[j] = in[j] || (is_input(d, j) &&
                          (kind_of(&d->table->col[j])->rows & t->layer.ops->rows) != 0);
    return rc;
}

/* Marks the inputs whose positions the layers of the expression read: those behind "on" of kernels
 * over windows, or all. */
static enum status layer_columns(const struct dataset *d, bool *in, bool *one, struct err *err)
{
    const size_t n = d->table->ncols;
    enum status rc = ST_OK;

    memset(in, 0, n * sizeof *in);
    for (size_t t = 0; rc == ST_OK && t < d->kernel.nterms; t++) {
        const struct kterm *term = &d->kernel.term[t];
        const struct layer_ops *layer = term->layer.ops;
        memset(one, 0, n * sizeof *one);
        if (layer != NULL && kterm_reads_windows(term) && *term->on)
            rc = part_columns(d, term, one, err);
        for (size_t j = 0; rc == ST_OK && layer != NULL && j < n; j++)
            in[j] |= (one[j] || !kterm_reads_windows(term) || !*term->on) && is_input(d, j) &&
                     (kind_of(&d->table->col[j])->rows & layer->rows) != 0;
    }
    return rc;
}

static enum status not_one(const struct dataset *d, size_t n, struct err *err)
{
    const struct layer_ops *layer = d->kernel.layer.ops;
    const bool counts = (layer->rows & ROWS_COUNTS) != 0;

    err_named(err, ST_STATE, counts ? "counts" : "sequence",
              n == 0 ? "the kernel reads %s, and no input is one"
                     : "the kernel reads one %.20s: several inputs are",
              counts ? n == 0 ? "a list of counts" : "list of counts"
              : n == 0 ? "a sequence" : "sequence");
    if (n > 0)
        err_hint(err, "kernel %s on NAME  |  cols NAME role=skip", layer->example);
    else
        err_hint(err, counts ? "cols NAME type=counts  |  kernel rbf"
                             : "cols NAME type=sequence  |  kernel rbf");
    return ST_STATE;
}

/* For a kernel inside a layer that reads positions: there must be exactly one input that has them
 * and that it reads.  It is marked in `in`. */
static enum status check_layer(const struct dataset *d, bool *in, struct err *err)
{
    bool *one = mem_calloc(d->table->ncols, sizeof *one, "columns", err);
    size_t n = 0;

    if (d->kernel.layer.ops == NULL || one == NULL) {
        free(one);
        return one != NULL || d->kernel.layer.ops == NULL ? ST_OK : ST_NOMEM;
    }
    const enum status rc = layer_columns(d, in, one, err);
    free(one);
    for (size_t j = 0; j < d->table->ncols; j++)
        n += in[j];
    if (rc != ST_OK || n != 1)
        return rc != ST_OK ? rc : not_one(d, n, err);
    return layer_kind(&d->kernel.layer) == LAYER_WINDOWS && !kernel_reads_parts(&d->kernel)
               ? check_alone(d, err)
               : ST_OK;
}

/* Fits a column for kernels that read `rows` in such a layer. */
static enum status fit_column(struct encoding_fitting *f, const struct column *c,
                              const struct layer *layer, unsigned rows)
{
    const struct row_kind *kind = kind_of(c);
    const bool inside = layer->ops != NULL && (kind->rows & layer->ops->rows) != 0;
    char name[64];

    if (inside && layer_kind(layer) == LAYER_WINDOWS)
        return positions_fit_windows(f, kind, c);
    if (inside && layer_kind(layer) == LAYER_NUMBERS)
        return positions_fit_filters(f, kind, c);
    if ((kind->rows & rows) != 0)
        return kind->fit(f, c);
    return err_named(f->err, ST_STATE, "inputs", "column %s holds %s, which the kernel cannot read",
                     text_quoted(c->name, name, sizeof name), kind->several);
}

/* The part of kernel t: that of an earlier kernel that reads the same columns, or columns of its
 * own. */
static enum status fit_part(struct encoding_fitting *f, size_t t, bool *in)
{
    const struct dataset *d = f->d;
    const struct kterm *term = &d->kernel.term[t];
    struct enc_part *p = &f->e->part[t];
    const unsigned rows = term->ops->rows != 0 ? term->ops->rows : ROWS_NUMBERS;
    enum status rc = ST_OK;

    for (size_t s = 0; s < t; s++)
        if (!kterm_reads_windows(&d->kernel.term[s]) &&
            layer_kind(&d->kernel.term[s].layer) == layer_kind(&term->layer) &&
            strcmp(d->kernel.term[s].on, term->on) == 0) {
            *p = f->e->part[s];
            return ST_OK;
        }
    memset(in, 0, d->table->ncols * sizeof *in);
    rc = part_columns(d, term, in, f->err);
    p->first = f->e->ncol;
    for (size_t j = 0; rc == ST_OK && j < d->table->ncols; j++)
        if (in[j])
            rc = fit_column(f, &d->table->col[j], &term->layer, rows);
    p->n = f->e->ncol - p->first;
    if (rc == ST_OK && p->n == 0) {
        rc = err_named(f->err, ST_STATE, "inputs", "a kernel of the expression has no input");
        err_hint(f->err, "kernel rbf on x1 + linear on x2");
    }
    return rc;
}

/* Notes the inputs that no kernel reads. */
static void note_unread(struct encoding_fitting *f, const bool *read)
{
    size_t n = 0;
    char name[64];

    for (size_t j = 0; j < f->d->table->ncols; j++)
        if (is_input(f->d, j) && !read[j] && n++ == 0)
            text_quoted(f->d->table->col[j].name, name, sizeof name);
    if (n > 0)
        buf_printf(f->notes, "note[unread]: %zu input%s no kernel of the expression: %s%s\n", n,
                   n == 1 ? " is read by" : "s are read by", name, n > 1 ? ", ..." : "");
}

/* Each kernel reads its own columns; the positions of column `held` follow if a kernel is over
 * windows. */
static enum status fit_parts(struct encoding_fitting *f, const bool *held)
{
    const struct dataset *d = f->d;
    const size_t n = d->table->ncols;
    bool *in = mem_calloc(2 * n, sizeof *in, "columns", f->err), *read = in + n;
    enum status rc = in != NULL ? ST_OK : ST_NOMEM;

    f->e->nparts = rc == ST_OK ? d->kernel.nterms : 0;
    for (size_t t = 0; rc == ST_OK && t < d->kernel.nterms; t++) {
        if (kterm_reads_windows(&d->kernel.term[t]))
            continue;
        rc = fit_part(f, t, in);
        memset(in, 0, n * sizeof *in);
        if (rc == ST_OK)
            rc = part_columns(d, &d->kernel.term[t], in, f->err);
        for (size_t j = 0; rc == ST_OK && j < n; j++)
            read[j] = read[j] || in[j];
        if (rc == ST_OK)
            memset(in, 0, n * sizeof *in);
    }
    for (size_t j = 0; rc == ST_OK && kernel_reads_windows(&d->kernel) && j < n; j++)
        if (held[j]) {
            rc = positions_fit_windows(f, kind_of(&d->table->col[j]), &d->table->col[j]);
            read[j] = true;
        }
    if (rc == ST_OK)
        note_unread(f, read);
    free(in);
    return rc;
}

static enum status fit_columns(struct encoding_fitting *f)
{
    const struct dataset *d = f->d;
    bool *held = mem_calloc(d->table->ncols, sizeof *held, "columns", f->err);
    enum status rc = held != NULL ? check_layer(d, held, f->err) : ST_NOMEM;

    if (rc == ST_OK && kernel_reads_parts(&d->kernel))
        rc = fit_parts(f, held);
    else
        for (size_t j = 0; rc == ST_OK && j < d->table->ncols; j++)
            if (is_input(d, j))
                rc = fit_column(f, &d->table->col[j], &d->kernel.layer, kernel_rows(&d->kernel));
    free(held);
    f->e->d = f->e->ncol + f->e->held.inputs;
    if (rc != ST_OK || f->e->d > 0)
        return rc;
    err_named(f->err, ST_STATE, "inputs", "the data has no input column");
    err_hint(f->err, "cols NAME role=input");
    return ST_STATE;
}

enum status encoding_fit(const struct dataset *d, const size_t *train, size_t ntrain,
                         struct encoding *out, struct buf *notes, struct err *err)
{
    *out = (struct encoding){ .yscale = d->yscale, .missing = d->missing, .ysd = 1.0 };
    struct buf unread = { 0 };
    struct encoding_fitting f = {
        .d = d, .e = out, .notes = notes != NULL ? notes : &unread, .err = err };
    const size_t ncols = d->table->ncols, targets = dataset_targets(d);
    enum status rc = targets > TARGETS_MOST ? err_set(err, ST_STATE, "%zu columns are targets; a "
                                                      "model has %d at most", targets, TARGETS_MOST)
                     : targets == 0         ? check_target(d, SIZE_MAX, err)
                                            : ST_OK;
    for (size_t j = 0; j < ncols && rc == ST_OK; j++)
        if (d->role[j] == ROLE_TARGET)
            rc = check_target(d, j, err);
    if (rc == ST_OK && targets > 1)
        rc = (out->more = mem_calloc(targets - 1, sizeof *out->more, "an encoding", err)) != NULL
                 ? ST_OK : ST_NOMEM;
    if (rc == ST_OK)
        rc = choose_rows(&f, train, ntrain);
    if (rc == ST_OK)
        rc = page_use_check(d->table, 0, d->table->n - 1, err);
    for (size_t j = 0; j < ncols && rc == ST_OK; j++)
        if (d->role[j] == ROLE_TARGET)
            rc = check_logs(&f, &d->table->col[j]);
    if (rc == ST_OK && (f.m = mem_calloc(d->table->ncols, sizeof *f.m, "moments", err)) == NULL)
        rc = ST_NOMEM;
    if (rc == ST_OK)
        encoding_moments_take(d, f.rows, f.n, d->yscale == Y_LOG, f.m);
    if (rc == ST_OK)
        rc = page_use_check(d->table, 0, d->table->n - 1, err);
    for (size_t j = 0; j < ncols && rc == ST_OK; j++)
        if (d->role[j] == ROLE_TARGET)
            rc = fit_target(&f, &d->table->col[j]);
    if (rc == ST_OK && d->steps != NULL)
        rc = prepare_rows_without(d->steps, &out->steps, err);
    if (rc == ST_OK && dataset_weight(d) != SIZE_MAX) {
        out->weight = mem_strdup(d->table->col[dataset_weight(d)].name, err);
        rc = out->weight != NULL ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK)
        rc = fit_columns(&f);
    if (rc == ST_OK && f.constants > 0)
        buf_printf(f.notes, "note[constant]: %zu input%s not vary on the training rows and "
                   "count%s as 0: %s%s\n", f.constants, f.constants == 1 ? " does" : "s do",
                   f.constants == 1 ? "s" : "", f.first_constant, f.constants > 1 ? ", ..." : "");
    free(f.rows);
    free(f.m);
    buf_free(&unread);
    if (rc != ST_OK)
        encoding_free(out);
    return rc;
}
