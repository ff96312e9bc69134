/* data/encoding_fit.c -- fits an encoding on training rows: which rows count, the target, and for
 * each kernel of the expression the columns that it reads, each by its kind (kinds/kind.h).
 *
 * A number becomes (x - mean) / sd. A column that does not vary on the training rows beyond
 * rounding noise is always encoded as 0, and every encoded value is limited to ten times the
 * largest one in training: a column that is nearly constant there and extreme in a new row must not
 * ruin a prediction. Notes report both. */
#include "data/classes.h"
#include "data/decision.h"
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
    for (size_t i = 0; f->d->yscale == Y_LOG && f->d->link == NULL && i < f->n; i++)
        if (!(column_at(c, f->rows[i]) > 0.0)) {
            err_named(f->err, ST_STATE, "log", "the target %s is %.6g in row %zu: it has no "
                      "logarithm", text_quoted(c->name, name, sizeof name),
                      column_at(c, f->rows[i]), f->rows[i] + 1);
            err_hint(f->err, "scale y=standard");
            return ST_STATE;
        }
    return ST_OK;
}

/* The classes of the encoding: both of two, or all of several. */
static enum status find_classes(struct encoding_fitting *f)
{
    struct encoding *e = f->e;

    e->alpha = f->d->alpha;
    e->balanced = f->d->balanced;
    if (f->d->rule != NULL && (e->rule = mem_strdup(f->d->rule, f->err)) == NULL)
        return ST_NOMEM;
    enum status rc;
    if (e->alpha > 0.0) {
        rc = classes_list(f->d, &e->classes, &e->nclasses, f->err);
    } else {
        e->classes = mem_calloc(2, sizeof *e->classes, "the classes", f->err);
        rc = e->classes ? classes_find(f->d, e->classes, f->err) : ST_NOMEM;
        e->nclasses = rc == ST_OK ? 2 : 0;
    }
    struct decision rule = { .cost = NULL };
    if (rc == ST_OK)
        rc = decision_parse(e->rule, e->nclasses, e->classes, &rule, f->err);
    decision_free(&rule);
    return rc;
}

/* Tells of classes with one training row or none; *seen: those with any. */
static void tell_classes(struct encoding_fitting *f, const size_t *n, size_t *seen)
{
    char name[64];
    size_t none = 0, first = 0;

    *seen = 0;
    for (size_t k = 0; k < f->e->nclasses; k++) {
        *seen += n[k] > 0;
        none += n[k] == 0;
        first = n[k] == 0 && none == 1 ? k : first;
        if (n[k] == 1)
            buf_printf(f->notes, "warning[lone-row]: one training row alone is of class %s\n",
                       text_quoted(f->e->classes[k], name, sizeof name));
    }
    if (none > 0 && *seen > 1)
        buf_printf(f->notes, "warning[unseen-class]: %zu of %zu classes have no training row, the "
                   "first of them %s: nothing is known about them\n", none, f->e->nclasses,
                   text_quoted(f->e->classes[first], name, sizeof name));
}

/* Classes: their cells; nothing is standardised. Two at least must occur in the training rows. */
static enum status fit_classes(struct encoding_fitting *f, const struct column *c)
{
    struct encoding *e = f->e;
    size_t n[TARGETS_MOST] = { 0 }, seen = 0;
    char name[64];
    const enum status rc = find_classes(f);

    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < f->n; i++) {
        const double label = classes_label(e, c, f->rows[i]);
        if (label >= 0.0)
            n[(size_t)label]++;
    }
    tell_classes(f, n, &seen);
    if (seen < 2) {
        err_named(f->err, ST_STATE, "constant-target",
                  "all %zu training rows are of one class of %s: there is nothing to learn", f->n,
                  text_quoted(c->name, name, sizeof name));
        err_hint(f->err, "split test=20%% stratify=yes");
        return ST_STATE;
    }
    e->target = mem_strdup(c->name, f->err);
    e->ymean = 0.0;
    e->ysd = e->yown = 1.0;
    e->yscale = Y_NONE;
    return e->target != NULL ? ST_OK : ST_NOMEM;
}

/* Name, mean and sd of a target; the first has a place of its own, the others are in a list. */
static enum status fit_target(struct encoding_fitting *f, const struct column *c)
{
    char name[64];
    struct encoding *e = f->e;
    struct enc_target one = { 0 };
    const struct encoding_moments m = f->m[c - f->d->table->col];

    if (f->d->link != NULL)
        return fit_classes(f, c);
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
            if (d->table->col[j].type == COL_TEXT)
                err_hint(err, "cols %.60s type=category  (each distinct word becomes a level)",
                         d->table->col[j].name);
            else
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
    return rc;
}

enum status encoding_can_read(const struct dataset *d, const struct kernel *k, struct err *err)
{
    bool *in = mem_calloc(d->table->ncols, sizeof *in, "columns", err);
    enum status rc = in ? ST_OK : ST_NOMEM;

    for (size_t t = 0; rc == ST_OK && t < k->nterms; t++) {
        memset(in, 0, d->table->ncols * sizeof *in);
        rc = part_columns(d, &k->term[t], in, err);
    }
    free(in);
    return rc;
}

/* True if a layer can read positions of input j. */
static bool layer_can(const struct dataset *d, const struct layer *l, size_t j)
{
    return is_input(d, j) && (kind_of(&d->table->col[j])->rows & l->ops->rows) != 0;
}

/* The column whose positions kernel t, in a layer, reads: the one behind "on", or the only one.
 * in: those that it reads, which are marked on return; the number of candidates is returned, and
 * *column is one of them. */
static enum status layer_columns(const struct dataset *d, const struct kterm *t, bool *in,
                                 size_t *candidates, size_t *column, struct err *err)
{
    const size_t n = d->table->ncols;
    const enum status rc = part_columns(d, t, in, err);
    bool named = false;

    *candidates = 0;
    for (size_t j = 0; rc == ST_OK && j < n; j++)
        named |= in[j] && layer_can(d, &t->layer, j);
    if (rc == ST_OK && !named && layer_kind(&t->layer) == LAYER_NUMBERS)
        for (size_t j = 0; j < n; j++) /* the sequence of its filters need not be named */
            in[j] |= layer_can(d, &t->layer, j);
    for (size_t j = 0; rc == ST_OK && j < n; j++) {
        in[j] = in[j] && (layer_kind(&t->layer) == LAYER_NUMBERS || layer_can(d, &t->layer, j));
        if (in[j] && layer_can(d, &t->layer, j)) {
            ++*candidates;
            *column = j;
        }
    }
    return rc;
}

/* The widest window of a layer that reads column j; 0: none does. */
static size_t widest_on(const struct encoding_fitting *f, size_t j)
{
    const struct kernel *k = &f->d->kernel;
    bool *in = mem_calloc(f->d->table->ncols, sizeof *in, "columns", NULL);
    size_t widest = 0;

    for (size_t t = 0; in != NULL && t < k->nterms; t++) {
        const struct layer *l = &k->term[t].layer;
        size_t n, column = SIZE_MAX;
        if (l->ops == NULL || layer_columns(f->d, &k->term[t], in, &n, &column, NULL) != ST_OK)
            continue;
        if (n == 1 && column == j && layer_least(l) > widest)
            widest = layer_least(l);
    }
    free(in);
    return widest;
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
            rc = positions_lost(f, kind_of(c), c, widest_on(f, j), train, n, drop);
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
    if (c->type == COL_REAL || (d->link != NULL && c->type != COL_HELD))
        return ST_OK;
    err_set(err, ST_STATE, "the target %s holds words, and a Gaussian likelihood is of numbers",
            text_quoted(c->name, name, sizeof name));
    err_hint(err, "likelihood bernoulli  (two classes)  |  likelihood dirichlet  (several)  |  "
             "cols NAME role=target");
    return ST_STATE;
}

/* The names of the marked columns. */
static void names_of(const struct dataset *d, const bool *in, struct buf *out)
{
    size_t n = 0;

    for (size_t j = 0; j < d->table->ncols; j++)
        if (in[j] && n++ < 12) {
            buf_puts(out, n > 1 ? ", " : "");
            text_safe(out, d->table->col[j].name, 40);
        }
    buf_puts(out, n > 12 ? ", ..." : "");
}

/* The error for a layer that can read no column, or several. */
static enum status not_one(const struct dataset *d, const struct layer_ops *layer, bool *in,
                           size_t n, struct err *err)
{
    const bool counts = (layer->rows & ROWS_COUNTS) != 0;
    struct buf names = { 0 };
    size_t first = 0;

    for (size_t j = 0; j < d->table->ncols; j++)
        in[j] = in[j] && (kind_of(&d->table->col[j])->rows & layer->rows) != 0;
    while (n > 0 && !in[first])
        first++;
    names_of(d, in, &names);
    if (n == 0)
        err_named(err, ST_STATE, counts ? "counts" : "sequence",
                  "the kernel reads %s, and no input is one",
                  counts ? "a list of counts" : "a sequence");
    else
        err_named(err, ST_STATE, counts ? "counts" : "sequence",
                  "%s reads one %s: %zu inputs are (%s)", layer->name,
                  counts ? "list of counts" : "sequence", n, buf_str(&names));
    if (n > 0)
        err_hint(err, "kernel %s on %.60s", layer->example, d->table->col[first].name);
    else
        err_hint(err, counts ? "cols NAME type=counts  |  kernel rbf"
                             : "cols NAME type=sequence  |  kernel rbf");
    buf_free(&names);
    return ST_STATE;
}

/* What the kernels of the expression read. */
struct reading {
    size_t column[KERNEL_MAX_TERMS]; /* of kernels in a layer, the column of its positions */
    bool *in; /* one for each column of the table: intermediate */
    bool *read; /* the columns that some kernel reads */
};

/* Finds the column of each layer: there must be exactly one. */
static enum status find_layers(const struct dataset *d, struct reading *r, struct err *err)
{
    enum status rc = ST_OK;

    for (size_t t = 0; rc == ST_OK && t < d->kernel.nterms; t++) {
        const struct kterm *term = &d->kernel.term[t];
        size_t n = 0;
        r->column[t] = SIZE_MAX;
        if (term->layer.ops == NULL)
            continue;
        memset(r->in, 0, d->table->ncols * sizeof *r->in);
        rc = layer_columns(d, term, r->in, &n, &r->column[t], err);
        if (rc == ST_OK && n != 1)
            rc = not_one(d, term->layer.ops, r->in, n, err);
    }
    return rc;
}

/* If all kernels are over windows of what they find themselves, nothing else may be an input. */
static enum status check_alone(const struct dataset *d, const struct reading *r, struct err *err)
{
    char name[64];

    for (size_t j = 0; j < d->table->ncols; j++) {
        bool read = false;
        for (size_t t = 0; t < d->kernel.nterms; t++)
            read |= r->column[t] == j;
        if (d->role[j] != ROLE_INPUT || read)
            continue;
        const bool positions = has_positions(&d->table->col[j]);
        err_named(err, ST_STATE, "inputs", "conv reads the sequence and no other input: %s is one",
                  text_quoted(d->table->col[j].name, name, sizeof name));
        if (positions)
            err_hint(err, "cols %.60s role=skip", d->table->col[j].name);
        else
            err_hint(err, "kernel conv(rbf) + rbf on %.60s  |  cols %.60s role=skip",
                     d->table->col[j].name, d->table->col[j].name);
        return ST_STATE;
    }
    return ST_OK;
}

/* Fits a column for kernels of columns, or in a layer with filters whose positions are in column
 * `filtered`. */
static enum status fit_column(struct encoding_fitting *f, size_t j, const struct layer *layer,
                              size_t filtered, unsigned rows)
{
    const struct column *c = &f->d->table->col[j];
    const struct row_kind *kind = kind_of(c);
    char name[64];

    if (layer_kind(layer) == LAYER_NUMBERS && j == filtered)
        return positions_fit_filters(f, kind, c, layer);
    if ((kind->rows & rows) != 0)
        return kind->fit(f, c);
    return err_named(f->err, ST_STATE, "inputs", "column %s holds %s, which the kernel cannot read",
                     text_quoted(c->name, name, sizeof name), kind->several);
}

/* Fits the positions of the column that kernel t reads, for a part of a row. */
static enum status fit_windows(struct encoding_fitting *f, const struct reading *r, size_t t,
                               size_t *at)
{
    const struct column *c = &f->d->table->col[r->column[t]];

    r->read[r->column[t]] = true;
    return positions_fit_windows(f, kind_of(c), c, &f->d->kernel.term[t].layer, at);
}

/* True if kernels s and t read the same columns in the same way. */
static bool reads_alike(const struct kterm *s, const struct kterm *t)
{
    return !kterm_reads_windows(s) && layer_same_numbers(&s->layer, &t->layer) &&
           strcmp(s->on, t->on) == 0;
}

/* The part of kernel t: that of an earlier kernel that reads the same columns, or columns of its
 * own. */
static enum status fit_part(struct encoding_fitting *f, const struct reading *r, size_t t)
{
    const struct dataset *d = f->d;
    const struct kterm *term = &d->kernel.term[t];
    struct enc_part *p = &f->e->part[t];
    const unsigned rows = term->ops->rows != 0 ? term->ops->rows : ROWS_NUMBERS;
    bool *in = r->in;
    size_t n, column;

    for (size_t s = 0; s < t; s++)
        if (reads_alike(&d->kernel.term[s], term)) {
            *p = f->e->part[s];
            return ST_OK;
        }
    memset(in, 0, d->table->ncols * sizeof *in);
    enum status rc = term->layer.ops != NULL ? layer_columns(d, term, in, &n, &column, f->err)
                                             : part_columns(d, term, in, f->err);
    p->first = f->e->ncol;
    for (size_t j = 0; rc == ST_OK && j < d->table->ncols; j++) {
        if (in[j])
            rc = fit_column(f, j, &term->layer, r->column[t], rows);
        r->read[j] |= in[j];
    }
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

/* Each kernel reads its own columns; the parts of a row that kernels over windows read follow. */
static enum status fit_parts(struct encoding_fitting *f, const struct reading *r)
{
    const struct kernel *k = &f->d->kernel;
    enum status rc = ST_OK;

    f->e->nparts = k->nterms;
    for (size_t t = 0; rc == ST_OK && t < k->nterms; t++)
        if (kterm_reads_windows(&k->term[t]))
            rc = fit_windows(f, r, t, &f->e->part[t].held);
    for (size_t t = 0; rc == ST_OK && t < k->nterms; t++)
        if (!kterm_reads_windows(&k->term[t]))
            rc = fit_part(f, r, t);
    if (rc == ST_OK)
        note_unread(f, r->read);
    return rc;
}

/* All kernels read the same: all inputs or, over windows, the positions of one column. */
static enum status fit_whole(struct encoding_fitting *f, const struct reading *r)
{
    const struct dataset *d = f->d;
    const struct kernel *k = &d->kernel;
    enum status rc = ST_OK;
    size_t at;

    if (kernel_reads_windows(k)) {
        rc = check_alone(d, r, f->err);
        for (size_t t = 0; rc == ST_OK && t < k->nterms; t++)
            rc = fit_windows(f, r, t, &at);
        return rc;
    }
    for (size_t j = 0; rc == ST_OK && j < d->table->ncols; j++)
        if (is_input(d, j))
            rc = fit_column(f, j, &k->term[0].layer, r->column[0], kernel_rows(k));
    return rc;
}

/* True if kernels read different inputs, or one column in different ways. */
static bool reads_parts(const struct kernel *k, const struct reading *r)
{
    bool parts = kernel_reads_parts(k);

    for (size_t t = 1; t < k->nterms; t++)
        parts |= r->column[t] != r->column[0] || k->term[t].layer.norm != k->term[0].layer.norm ||
                 !layer_same_numbers(&k->term[t].layer, &k->term[0].layer);
    return parts;
}

static enum status fit_columns(struct encoding_fitting *f)
{
    const struct dataset *d = f->d;
    struct reading r = { .in = mem_calloc(2 * d->table->ncols, sizeof *r.in, "columns", f->err) };
    enum status rc = r.in != NULL ? find_layers(d, &r, f->err) : ST_NOMEM;

    r.read = r.in != NULL ? r.in + d->table->ncols : NULL;
    if (rc == ST_OK)
        rc = reads_parts(&d->kernel, &r) ? fit_parts(f, &r) : fit_whole(f, &r);
    free(r.in);
    encoding_width(f->e);
    if (rc != ST_OK || f->e->d > 0)
        return rc;
    err_named(f->err, ST_STATE, "inputs", "the data has no input column");
    bool text = false;
    for (size_t j = 0; j < d->table->ncols; j++)
        text = text || (d->role[j] == ROLE_SKIP && d->table->col[j].type == COL_TEXT);
    err_hint(f->err, "%scols NAME role=input",
             text ? "cols NAME type=sequence, then kernel spectrum(n=3,norm=cosine)  |  " : "");
    return ST_STATE;
}

/* The root of the mean variance of all inputs that are numbers and vary; 0 without any. */
static double common_sd(const struct dataset *d, const struct encoding_moments *m)
{
    double sum = 0.0;
    size_t n = 0;

    for (size_t j = 0; j < d->table->ncols; j++)
        if (d->role[j] == ROLE_INPUT && d->table->col[j].type == COL_REAL && m[j].wanted &&
            !m[j].constant && isfinite(m[j].sd)) {
            sum += m[j].sd * m[j].sd;
            n++;
        }
    return n && isfinite(sum) ? sqrt(sum / (double)n) : 0.0;
}

enum status encoding_fit(const struct dataset *d, const size_t *train, size_t ntrain,
                         struct encoding *out, struct buf *notes, struct err *err)
{
    *out = (struct encoding){ .yscale = d->yscale, .missing = d->missing, .ysd = 1.0 };
    struct buf unread = { 0 };
    struct encoding_fitting f = {
        .d = d, .e = out, .notes = notes != NULL ? notes : &unread, .err = err };
    const size_t ncols = d->table->ncols, targets = dataset_targets(d);
    enum status rc = targets > TARGET_COLUMNS_MOST
                         ? err_set(err, ST_STATE, "%zu columns are targets; a model has %d at most",
                                   targets, TARGET_COLUMNS_MOST)
                     : targets == 0 ? check_target(d, SIZE_MAX, err)
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
    if (rc == ST_OK && d->xscale == X_COMMON)
        f.common = common_sd(d, f.m);
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
