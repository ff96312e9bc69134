/* data/encoding.c -- from cells to the numbers that compute reads: one-hot levels, missing cells,
 * standardisation, all fitted on training rows and applied by column name to any table.
 *
 * A number becomes (x - mean) / sd.  A category of L levels becomes L indicators, centred and
 * divided by one common s with s^2 = sum p (1 - p), so that the whole category has variance one,
 * like a number, and two rows differ by the same distance whichever levels they have; s is at least
 * 1/4, or a flag that is hardly ever set would send its rows to infinity.  A column that does not
 * vary on the training rows beyond rounding noise is encoded as 0 always, and every encoded value
 * is cut at ten times the largest of training: a column that is nearly constant there and extreme
 * in a new row must not blow up a prediction.  Both are said. */
#include "data/dataset.h"

#include "data/formats/import.h"
#include "data/kinds/letters.h"
#include "data/kinds/nodes.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"
#include "compute/kernels/layers/layer_map.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONSTANT_NOISE 1e-10 /* sd below this share of the largest magnitude is rounding noise */
#define LEVEL_MIN_SD 0.25
#define CUT_FACTOR 10.0
#define GREATEST                                                                                   \
    1e150 /* whose squares, and those of the inverse of what is smaller, are numbers still */
enum {
    PIECE = 32,        /* rows at a time: far apart, they bring 64 KB each and column into memory */
    CHECK_ROWS = 8192, /* of tables on disk, between looks at their files */
};

static const char *shown(const char *name, char *out, size_t len)
{
    struct buf b = { 0 };
    text_safe(&b, name, 40);
    snprintf(out, len, "'%.*s'", (int)(len - 3), buf_str(&b));
    buf_free(&b);
    return out;
}

/* Bytes from one row of a column to the next. */
static size_t row_bytes(const struct column *c)
{
    if (c->type == COL_SEQUENCE)
        return c->seq->longest / 2 + sizeof *c->seq->at;
    return c->in != NULL ? mapped_array_stride(c->in) : c->type == COL_CATEGORY ? sizeof *c->code
                                                                          : sizeof *c->v;
}

/* Bytes that come into memory with these rows, `width` from one to the next: the system maps some
 * 64 KB around each. */
static size_t touched(const size_t *row, size_t n, size_t width)
{
    const size_t ends = n == 0                ? 0
                        : row[n - 1] > row[0] ? row[n - 1] - row[0]
                                              : row[0] - row[n - 1];
    const size_t columns = width / sizeof(double) + 1, most = n * 65536 * columns;
    const size_t span = (ends + 1) * width;

    if (n == 1) /* nobody asks for row after row */
        return most;
    return span < 1024 ? 1024 : span < most ? span : most; /* rows ascend, or nearly */
}

/* In a loop over rows, with i the one just read. */
static void step_used(const size_t *rows, size_t i, size_t width)
{
    if (i % PIECE == PIECE - 1)
        spill_used(touched(rows + i + 1 - PIECE, PIECE, width));
}

/* Is what is read in place what it was? */
static enum status still_there(const struct table *t, size_t first, size_t last, struct err *err)
{
    const enum status rc = table_check(t, first, last, err);

    if (rc != ST_OK || spill_cut() == t->cuts)
        return rc;
    err_named(err, ST_IO, "changed",
              "a file in which the data is kept was cut short while it was in use");
    err_hint(err, "open the data again");
    return ST_IO;
}

static bool cell_missing(const struct column *c, size_t row)
{
    return c->type == COL_REAL ? isnan(column_at(c, row)) : column_word(c, row) == NULL;
}

/* Life. */

void encoding_free(struct encoding *e)
{
    for (size_t j = 0; e->col != NULL && j < e->ncol; j++) {
        free(e->col[j].column);
        free(e->col[j].level);
    }
    free(e->col);
    free(e->target);
    for (size_t j = 0; e->more != NULL && j < e->nmore; j++)
        free(e->more[j].name);
    free(e->more);
    free(e->weight);
    free(e->seq.column);
    free(e->seq.value);
    for (size_t k = 0; e->seq.node != NULL && k < e->seq.layer.channels; k++)
        free(e->seq.node[k].name);
    free(e->seq.node);
    *e = (struct encoding){ 0 };
}

enum status encoding_copy(struct encoding *dst, const struct encoding *src, struct err *err)
{
    *dst = *src;
    dst->target = src->target != NULL ? mem_strdup(src->target, err) : NULL;
    dst->weight = src->weight != NULL ? mem_strdup(src->weight, err) : NULL;
    dst->seq.column = src->seq.column != NULL ? mem_strdup(src->seq.column, err) : NULL;
    const size_t values = strlen(src->seq.order) * src->seq.layer.channels;
    dst->seq.value = src->seq.value != NULL
                         ? mem_calloc(values, sizeof *dst->seq.value, "an encoding", err)
                         : NULL;
    if (dst->seq.value != NULL)
        memcpy(dst->seq.value, src->seq.value, values * sizeof *dst->seq.value);
    const size_t nodes = src->seq.node != NULL ? src->seq.layer.channels : 0;
    dst->seq.node = nodes > 0 ? mem_calloc(nodes, sizeof *dst->seq.node, "an encoding", err) : NULL;
    dst->more =
        src->nmore > 0 ? mem_calloc(src->nmore, sizeof *dst->more, "an encoding", err) : NULL;
    dst->col =
        src->col != NULL ? mem_calloc(src->ncol, sizeof *dst->col, "an encoding", err) : NULL;
    bool good = (dst->col != NULL || src->col == NULL) &&
                (src->seq.column == NULL || dst->seq.column != NULL) &&
                (src->seq.value == NULL || dst->seq.value != NULL) &&
                (src->target == NULL || dst->target != NULL) &&
                (src->weight == NULL || dst->weight != NULL) &&
                (src->nmore == 0 || dst->more != NULL) && (nodes == 0 || dst->seq.node != NULL);
    for (size_t k = 0; dst->seq.node != NULL && k < nodes && good; k++) {
        dst->seq.node[k] = src->seq.node[k];
        dst->seq.node[k].name = mem_strdup(src->seq.node[k].name, err);
        good = dst->seq.node[k].name != NULL;
    }
    for (size_t j = 0; j < src->nmore && good; j++) {
        dst->more[j] = src->more[j];
        dst->more[j].name = mem_strdup(src->more[j].name, err);
        good = dst->more[j].name != NULL;
    }
    for (size_t j = 0; src->col != NULL && j < src->ncol && good; j++) {
        dst->col[j] = src->col[j];
        dst->col[j].level = NULL;
        dst->col[j].column = mem_strdup(src->col[j].column, err);
        if (src->col[j].level != NULL)
            dst->col[j].level = mem_strdup(src->col[j].level, err);
        good = dst->col[j].column != NULL && (src->col[j].level == NULL) ==
                                                 (dst->col[j].level == NULL);
    }
    if (good)
        return ST_OK;
    encoding_free(dst);
    return ST_NOMEM;
}

size_t encoding_targets(const struct encoding *e)
{
    return 1 + e->nmore;
}

struct encoding encoding_for(const struct encoding *e, size_t j)
{
    struct encoding one = *e;
    if (j > 0) {
        one.target = e->more[j - 1].name;
        one.ymean = e->more[j - 1].mean;
        one.ysd = e->more[j - 1].sd;
    }
    one.nmore = 0;
    one.more = NULL;
    return one;
}

enum status encoding_find(const struct encoding *e, const char *name, size_t *j, struct err *err)
{
    char word[64];
    *j = 0;
    if (name == NULL || *name == '\0')
        return ST_OK;
    for (size_t i = 0; i < encoding_targets(e); i++)
        if (strcmp(encoding_for(e, i).target, name) == 0) {
            *j = i;
            return ST_OK;
        }
    struct buf all = { 0 };
    for (size_t i = 0; i < encoding_targets(e) && i < 12; i++) {
        buf_puts(&all, i > 0 ? ", " : "");
        text_safe(&all, encoding_for(e, i).target, 40);
    }
    err_set(err, ST_NOT_FOUND, "%s is no target of this run", shown(name, word, sizeof word));
    err_hint(err, "one of its targets: %s", buf_str(&all));
    buf_free(&all);
    return ST_NOT_FOUND;
}

static struct enc_col *add_column(struct encoding *e, size_t *cap, const char *column,
                                  enum enc_kind kind, struct err *err)
{
    void *p = e->col;
    enum status rc = mem_grow(&p, cap, e->ncol + 1, sizeof *e->col, "an encoding", err);
    e->col = p;
    char *name = rc == ST_OK ? mem_strdup(column, err) : NULL;
    if (name == NULL)
        return NULL;
    e->col[e->ncol] = (struct enc_col){ .column = name, .kind = kind, .sd = 1.0 };
    return &e->col[e->ncol++];
}

/* Statistics of the training rows. */

struct moments {
    size_t n;
    double mean, sd, min, max, magnitude;
    bool constant;
    bool beyond; /* too great or too small for its squares to be numbers */
    bool wanted;
    double sum, rest, squares; /* on the way */
    size_t width;              /* bytes of the column that a row brings */
};

/* Two passes in row order, over all columns together: the same bits whoever asks, and a table on
 * disk is read twice, however many columns it has. */
static void moments_first(const struct column *c, const size_t *rows, size_t a, size_t b, bool logs,
                          struct moments *m)
{
    for (size_t i = a; i < b; i++) {
        double x = logs ? log(column_at(c, rows[i])) : column_at(c, rows[i]);
        if (isnan(x))
            continue;
        m->n++;
        m->sum += x;
        m->min = fmin(m->min, x);
        m->max = fmax(m->max, x);
    }
    for (size_t i = a; i + PIECE <= b; i += PIECE)
        spill_used(touched(rows + i, PIECE, m->width));
}

static void moments_second(const struct column *c, const size_t *rows, size_t a, size_t b,
                           bool logs, struct moments *m)
{
    for (size_t i = a; i < b; i++) {
        double x = logs ? log(column_at(c, rows[i])) : column_at(c, rows[i]);
        if (isnan(x))
            continue;
        m->rest += x - m->mean;
        m->squares += (x - m->mean) * (x - m->mean);
    }
    for (size_t i = a; i + PIECE <= b; i += PIECE)
        spill_used(touched(rows + i, PIECE, m->width));
}

static void moments_end(struct moments *m)
{
    if (m->n == 0) {
        *m = (struct moments){ .constant = true, .sd = 0.0 };
        return;
    }
    m->mean += m->rest / (double)m->n; /* what the first pass lost to rounding */
    m->sd = sqrt(fmax(m->squares - m->rest * m->rest / (double)m->n, 0.0) / (double)m->n);
    m->magnitude = fmax(fabs(m->min), fabs(m->max));
    m->beyond = m->max > m->min && !(m->magnitude <= GREATEST && m->magnitude >= 1.0 / GREATEST);
    m->constant = m->max == m->min || !(m->sd > CONSTANT_NOISE * m->magnitude) ||
                  !isfinite(m->sd);
}

/* Of each column of numbers that is an input or a target; logs: of the target's logarithm. */
static void take_moments(const struct dataset *d, const size_t *rows, size_t n, bool logs,
                         struct moments *m)
{
    enum { BLOCK = 4096 };
    const struct table *t = d->table;

    for (size_t j = 0; j < t->ncols; j++) {
        const struct column *c = &t->col[j];
        const bool wanted = c->type == COL_REAL &&
                            (d->role[j] == ROLE_TARGET || d->role[j] == ROLE_INPUT);
        m[j] = (struct moments){ .min = INFINITY, .max = -INFINITY, .wanted = wanted };
        if (wanted && (j == 0 || c->in == NULL || c->in != c[-1].in || !m[j - 1].wanted ||
                       mapped_array_stride(c->in) <= sizeof(double)))
            m[j].width = row_bytes(c); /* else its pages came with its neighbour's */
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t a = 0; a < n; a += BLOCK)
            for (size_t j = 0; j < t->ncols; j++)
                if (m[j].wanted)
                    (pass == 0 ? moments_first
                               : moments_second)(&t->col[j], rows, a, n - a < BLOCK ? n : a + BLOCK,
                                                 logs && d->role[j] == ROLE_TARGET, &m[j]);
        for (size_t j = 0; pass == 0 && j < t->ncols; j++)
            m[j].mean = m[j].n > 0 ? m[j].sum / (double)m[j].n : 0.0;
    }
    for (size_t j = 0; j < t->ncols; j++)
        if (m[j].wanted)
            moments_end(&m[j]);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static enum status median(const struct column *c, const size_t *rows, size_t n, double *out,
                          struct err *err)
{
    double *w = mem_calloc(n, sizeof *w, "a median", err);
    if (w == NULL)
        return ST_NOMEM;
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(column_at(c, rows[i]))) {
            w[m++] = column_at(c, rows[i]);
            step_used(rows, i, row_bytes(c));
        }
    qsort(w, m, sizeof *w, by_value);
    *out = m == 0 ? 0.0 : m % 2 == 1 ? w[m / 2] : 0.5 * (w[m / 2 - 1] + w[m / 2]);
    free(w);
    return ST_OK;
}

struct fitting {
    const struct dataset *d;
    size_t *rows, n; /* training rows that count */
    struct moments *m; /* of each column of the table */
    struct encoding *e;
    size_t cap;
    struct buf *notes;
    size_t constants;
    char first_constant[64];
    struct err *err;
};

static void note_constant(struct fitting *f, const char *name)
{
    if (f->constants++ == 0)
        shown(name, f->first_constant, sizeof f->first_constant);
}

/* A column whose moments cannot be had is not "constant": its squares overflow, or vanish. */
static enum status beyond(struct fitting *f, const struct column *c, bool target)
{
    const struct moments *m = &f->m[c - f->d->table->col];
    char name[64];

    if (!m->beyond)
        return ST_OK;
    err_named(f->err, ST_STATE, "magnitude",
              "the %s %s reaches %.3g: between %g and %g its squares can "
              "be computed; give it other units in the file",
              target ? "target" : "input", shown(c->name, name, sizeof name), m->magnitude,
              1.0 / GREATEST, GREATEST);
    if (!target)
        err_hint(f->err, "cols NAME role=skip");
    return ST_STATE;
}

static enum status fit_real(struct fitting *f, const struct column *c)
{
    const enum status far = beyond(f, c, false);
    if (far != ST_OK)
        return far;

    struct enc_col *e = add_column(f->e, &f->cap, c->name, ENC_REAL, f->err);
    if (e == NULL)
        return ST_NOMEM;
    const struct moments m = f->m[c - f->d->table->col];
    e->fill = m.mean;
    e->constant = m.constant;
    if (f->d->missing == MISSING_MEDIAN) {
        enum status rc = median(c, f->rows, f->n, &e->fill, f->err);
        if (rc != ST_OK)
            return rc;
    }
    if (m.constant)
        note_constant(f, c->name);
    e->mean = m.mean;
    if (f->d->xscale == X_NONE) {
        e->mean = m.constant ? m.mean : 0.0;
        return ST_OK;
    }
    if (!m.constant) {
        e->sd = m.sd;
        e->limit = CUT_FACTOR * fmax(1.0, fmax(m.max - m.mean, m.mean - m.min) / m.sd);
    }
    return ST_OK;
}

static enum status fit_category(struct fitting *f, const struct column *c)
{
    size_t *count = mem_calloc(c->nlevels, sizeof *count, "levels", f->err), total = 0, seen = 0;
    if (count == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < f->n; i++) {
        uint32_t k = c->code[f->rows[i]];
        if (k == UINT32_MAX)
            continue;
        count[k]++;
        total++;
    }
    spill_used(f->n * sizeof *c->code);
    double s2 = 0.0;
    for (size_t k = 0; k < c->nlevels; k++) {
        double p = total > 0 ? (double)count[k] / (double)total : 0.0;
        s2 += p * (1.0 - p);
        seen += count[k] > 0;
    }
    enum status rc = ST_OK;
    for (size_t k = 0; k < c->nlevels && rc == ST_OK; k++) {
        if (count[k] == 0)
            continue;
        struct enc_col *e = add_column(f->e, &f->cap, c->name, ENC_LEVEL, f->err);
        if (e == NULL || (e->level = mem_strdup(c->level[k], f->err)) == NULL) {
            rc = ST_NOMEM;
            break;
        }
        e->fill = (double)count[k] / (double)total;
        e->constant = seen == 1;
        e->mean = f->d->xscale == X_NONE && seen > 1 ? 0.0 : e->fill;
        e->sd = f->d->xscale == X_NONE || seen == 1 ? 1.0 : fmax(sqrt(s2), LEVEL_MIN_SD);
    }
    if (seen == 1)
        note_constant(f, c->name);
    free(count);
    return rc;
}

static enum status fit_flag(struct fitting *f, const struct column *c)
{
    size_t missing = 0;
    for (size_t i = 0; i < f->n; i++)
        missing += cell_missing(c, f->rows[i]);
    if (missing == 0)
        return ST_OK;
    struct enc_col *e = add_column(f->e, &f->cap, c->name, ENC_MISSING, f->err);
    if (e == NULL)
        return ST_NOMEM;
    double p = (double)missing / (double)f->n;
    e->constant = missing == f->n;
    if (f->d->xscale == X_STANDARD && !e->constant) {
        e->mean = p;
        e->sd = fmax(sqrt(p * (1.0 - p)), LEVEL_MIN_SD);
    }
    return ST_OK;
}

/* The target. */

static enum status check_logs(struct fitting *f, const struct column *c)
{
    char name[64];
    for (size_t i = 0; f->d->yscale == Y_LOG && i < f->n; i++)
        if (!(column_at(c, f->rows[i]) > 0.0)) {
            err_named(f->err, ST_STATE, "log", "the target %s is %.6g in row %zu: it has no "
                      "logarithm", shown(c->name, name, sizeof name), column_at(c, f->rows[i]),
                      f->rows[i] + 1);
            err_hint(f->err, "scale y=standard");
            return ST_STATE;
        }
    return ST_OK;
}

/* Name, mean and sd: of the first one in its own place, of the others in a list. */
static enum status fit_target(struct fitting *f, const struct column *c)
{
    char name[64];
    struct encoding *e = f->e;
    struct enc_target one = { 0 };
    const struct moments m = f->m[c - f->d->table->col];
    const enum status far = beyond(f, c, true);
    if (far != ST_OK)
        return far;
    if (m.constant) {
        err_named(f->err, ST_STATE, "constant-target", "the target %s is %.6g in all %zu training "
                  "rows: there is nothing to learn", shown(c->name, name, sizeof name),
                  f->n > 0 ? column_at(c, f->rows[0]) : (double)NAN, f->n);
        err_hint(f->err, "cols NAME role=target  chooses another one");
        return ST_STATE;
    }
    one.name = mem_strdup(c->name, f->err);
    one.mean = e->yscale == Y_NONE ? 0.0 : m.mean;
    one.sd = e->yscale == Y_NONE ? 1.0 : m.sd;
    if (one.name == NULL)
        return ST_NOMEM;
    if (e->target != NULL) {
        e->more[e->nmore++] = one;
        return ST_OK;
    }
    e->target = one.name;
    e->ymean = one.mean;
    e->ysd = one.sd;
    return ST_OK;
}

/* Rows that count. */

static enum status missing_error(const struct table *t, size_t col, size_t row, size_t cells,
                                 bool target, struct err *err)
{
    char name[64];
    err_named(err, ST_STATE, "missing", "%s %s is missing in %zu of the rows, first in row %zu",
              target ? "the target" : "input", shown(t->col[col].name, name, sizeof name), cells,
              row + 1);
    err_hint(err, target ? "missing drop" : "missing mean  |  missing median  |  missing drop  |  "
                                            "cols NAME role=skip");
    return ST_STATE;
}

/* Its word's length; *word NULL where it is missing. */
static size_t letters_of(const struct column *c, size_t row, const char **word)
{
    size_t len = 0;

    if (c->type == COL_SEQUENCE) {
        *word = sequence_at(c->seq, row, &len);
        return len;
    }
    *word = column_word(c, row);
    return *word != NULL ? strlen(*word) : 0;
}

static enum status too_short(const struct table *t, const struct column *c, size_t row,
                             size_t width, struct err *err)
{
    char name[64];
    const char *s, *id = NULL;
    const size_t len = letters_of(c, row, &s);

    for (size_t j = 0; id == NULL && j < t->ncols; j++) /* a record's own name, where it has one */
        if (t->col[j].type == COL_TEXT)
            id = column_word(&t->col[j], row);
    const bool nodes = c->type == COL_SEQUENCE && c->seq->nodes != NULL;
    err_named(err, ST_STATE, "short", "row %zu%s%.40s%s: the %s has %zu %s, a window %zu", row + 1,
              id != NULL ? " (" : "", id != NULL ? shown(id, name, sizeof name) : "",
              id != NULL ? ")" : "", nodes ? "set" : "sequence", len, nodes ? "nodes" : "letters",
              width);
    if (len > 0 && !nodes)
        err_hint(err, "kernel conv(rbf,width=%zu)  |  missing drop", len);
    else
        err_hint(err, "missing drop");
    return ST_STATE;
}

/* Sequences that are missing or have no window: there is no mean of these. */
static enum status lost_sequences(struct fitting *f, const struct column *c, const size_t *train,
                                  size_t n, bool *drop)
{
    const size_t kmer = letters_kmer(f->d->coding), more = kmer > 0 ? kmer - 1 : 0;
    const size_t least =
        more + (f->d->kernel.layer.ops ? f->d->kernel.layer.width : 1);
    size_t lost = 0, first = 0;

    for (size_t i = 0; i < n; i++) {
        const char *s;
        if (letters_of(c, train[i], &s) >= least)
            continue;
        if (f->d->missing != MISSING_DROP)
            return too_short(f->d->table, c, train[i], least, f->err);
        drop[i] = true;
        first = lost++ == 0 ? train[i] : first;
    }
    if (lost > 0 && least > 1)
        buf_printf(
            f->notes,
            "note[short]: %zu training sequence%s shorter than a window of %zu, first in row %zu\n",
            lost, lost == 1 ? " is" : "s are", least, first + 1);
    return ST_OK;
}

/* Training rows without those that the policy drops. */
static enum status choose_rows(struct fitting *f, const size_t *train, size_t n)
{
    const struct dataset *d = f->d;
    const struct table *t = d->table;
    f->rows = mem_calloc(n, sizeof *f->rows, "row numbers", f->err);
    bool *drop = mem_calloc(n, sizeof *drop, "row numbers", f->err);
    enum status rc = f->rows == NULL || drop == NULL ? ST_NOMEM : ST_OK;
    for (size_t j = 0; j < t->ncols && rc == ST_OK; j++) {
        const struct column *c = &t->col[j];
        if (d->role[j] == ROLE_INPUT && c->type == COL_SEQUENCE) {
            rc = lost_sequences(f, c, train, n, drop);
            continue;
        }
        const bool target = d->role[j] == ROLE_TARGET;
        if ((d->role[j] != ROLE_INPUT && !target &&
             (d->role[j] != ROLE_WEIGHT || d->missing != MISSING_DROP)) || c->missing == 0)
            continue;
        size_t cells = 0, first = 0;
        for (size_t i = 0; i < n; i++) {
            if (!cell_missing(c, train[i]))
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
            shown(c->name, name, sizeof name));
    err_hint(err, "cols NAME role=target  |  cols NAME type=real");
    return ST_STATE;
}

/* Sequences. */

/* Means and deviations of the numbers over all nodes of training rows.  Flags (a category's levels,
 * descriptions of atoms) share one deviation, that of all of them together; nodes that are not
 * centred one factor for all numbers. */
static enum status fit_nodes(struct fitting *f, const struct column *c)
{
    const struct nodes *o = c->seq->nodes;
    struct enc_sequence *s = &f->e->seq;
    const enum layer_norm norm = f->d->kernel.layer.norm;
    double flags = 0.0, length = 0.0;
    size_t n = 0;

    s->series = o->series;
    s->layer.norm = norm;
    s->layer.symbols = false;
    s->node = mem_calloc(o->d, sizeof *s->node, "numbers of nodes", f->err);
    double *square =
        s->node != NULL ? mem_calloc(o->d, sizeof *square, "numbers of nodes", f->err) : NULL;
    if (square == NULL)
        return ST_NOMEM;
    s->layer.channels = o->d;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < f->n; i++) {
            const double *v = nodes_at(c->seq, f->rows[i]);
            const size_t m = c->seq->at[f->rows[i] + 1] - c->seq->at[f->rows[i]] - 1;
            n += pass == 0 ? m : 0;
            for (size_t k = 0; k < m * o->d; k++) {
                struct enc_node *e = &s->node[k % o->d];
                const double u = v[k] - (pass == 0 ? 0.0 : e->mean);
                *(pass == 0 ? &e->mean : &square[k % o->d]) += pass == 0 ? u : u * u;
            }
            spill_used(m * o->d * sizeof *v);
        }
        for (size_t k = 0; pass == 0 && k < o->d; k++)
            s->node[k].mean /= (double)(n > 0 ? n : 1);
    }
    for (size_t k = 0; k < o->d; k++) {
        square[k] /= (double)(n > 0 ? n : 1);
        flags += o->flag[k] ? square[k] : 0.0;
        length += square[k] + s->node[k].mean * s->node[k].mean;
    }
    enum status rc = ST_OK;
    for (size_t k = 0; k < o->d && rc == ST_OK; k++) {
        struct enc_node *e = &s->node[k];
        const double v = o->flag[k] ? flags : square[k];
        e->flag = o->flag[k];
        e->name = mem_strdup(o->name[k], f->err);
        rc = e->name != NULL ? ST_OK : ST_NOMEM;
        e->sd = norm == NORM_STANDARD ? (v > 1e-20 * (1.0 + e->mean * e->mean) ? sqrt(v) : 1.0)
                                      : length > 0.0 ? sqrt(length) : 1.0;
        e->mean = norm == NORM_STANDARD ? e->mean : 0.0;
    }
    free(square);
    return rc;
}

/* What windows and filters read of the column, and which numbers letters have. */
static enum status fit_alphabet(struct fitting *f, const struct column *c)
{
    struct enc_sequence *s = &f->e->seq;
    struct letters l = { 0 };
    enum status rc = ST_OK;

    if (s->column != NULL)
        return ST_OK;
    s->column = mem_strdup(c->name, f->err);
    s->layer = f->d->kernel.layer;
    s->layer.positions = c->seq->longest;
    s->seed = 0;
    memcpy(s->order, c->seq->order, sizeof s->order);
    if (c->seq->nodes != NULL)
        return s->column == NULL ? ST_NOMEM : fit_nodes(f, c);
    s->kmer = letters_kmer(f->d->coding);
    s->layer.symbols = f->d->coding == NULL || s->kmer > 0;
    s->layer.channels = alphabet_channels(c->seq->kind, c->seq->order);
    if (s->kmer > 0) {
        const size_t letters = strlen(s->order);
        s->layer.channels = 1;
        for (size_t i = 0; i < s->kmer; i++)
            s->layer.channels *= letters;
        buf_printf(f->notes,
                   "note[encoding]: a position is one of %zu words of %zu letters; words with "
                   "other letters "
                   "count as none\n",
                   s->layer.channels, s->kmer);
    } else if (f->d->coding != NULL) {
        rc = letters_find(f->d->coding, &l, f->err);
        if (rc == ST_OK) {
            memcpy(s->order, l.order, sizeof l.order);
            s->layer.channels = l.channels;
            s->value = l.value;
            buf_printf(
                f->notes,
                "note[encoding]: %zu numbers for a letter (%s%s%s); letters other than %s have "
                "zeros\n",
                l.channels, f->d->coding, *l.source ? ", " : "", l.source, s->order);
        }
    }
    return rc != ST_OK ? rc : s->column != NULL ? ST_OK : ST_NOMEM;
}

/* Numbers of a position of a row. */
static size_t position_numbers(const struct enc_sequence *s)
{
    return s->value != NULL || s->node != NULL ? s->layer.channels : 1;
}

/* Each word of a row as a symbol: its letters are the digits of a number. */
static void words_of(const struct enc_sequence *e, const uint8_t code[256], const char *s,
                     size_t len, double *x)
{
    const size_t letters = strlen(e->order), n = len >= e->kmer ? len - e->kmer + 1 : 0;

    x[0] = (double)n;
    for (size_t p = 0; p < n; p++) {
        size_t word = 0;
        bool none = false;
        for (size_t i = 0; i < e->kmer; i++) {
            const size_t k = code[(unsigned char)s[p + i]];
            none |= k >= letters;
            word = word * letters + k;
        }
        x[1 + p] = (double)(none ? e->layer.channels : word);
    }
}

/* The letters of a row as symbols or vectors: source.h. */
static void symbols_of(const struct enc_sequence *e, const uint8_t code[256], const char *s,
                       size_t len, size_t room, double *x)
{
    const size_t per = position_numbers(e), letters = strlen(e->order);

    if (len > room)
        len = room;
    if (e->kmer > 0) {
        words_of(e, code, s, len, x);
        return;
    }
    x[0] = (double)len;
    for (size_t p = 0; p < len; p++) {
        const size_t k = code[(unsigned char)s[p]];
        if (e->value == NULL)
            x[1 + p] = (double)k;
        else if (k < letters)
            memcpy(x + 1 + p * per, e->value + k * per, per * sizeof *x);
        else
            memset(x + 1 + p * per, 0, per * sizeof *x);
    }
}

/* The nodes of a row as vectors: source.h.  from: where each number stands in this table's nodes,
 * SIZE_MAX: nowhere. */
static void vectors_of(const struct enc_sequence *e, const struct sequences *s, const size_t *from,
                       size_t row, size_t room, double *x)
{
    const size_t per = e->layer.channels, d = s->nodes->d;
    const double *v = nodes_at(s, row);
    size_t len = s->at[row + 1] - s->at[row] - 1;

    len = len > room ? room : len;
    *x++ = (double)len;
    for (size_t p = 0; p < len; p++, x += per) {
        double norm = 0.0;
        for (size_t k = 0; k < per; k++) {
            const double u = from == NULL          ? v[p * d + k]
                             : from[k] == SIZE_MAX ? 0.0
                                                   : v[p * d + from[k]];
            x[k] = (u - e->node[k].mean) / e->node[k].sd;
            norm += x[k] * x[k];
        }
        for (size_t k = 0; e->layer.norm == NORM_UNIT && norm > 0.0 && k < per; k++)
            x[k] /= sqrt(norm);
    }
    spill_used(len * d * sizeof *v);
}

/* A row of a column as windows and filters read it. */
static void positions_of(const struct enc_sequence *e, const struct column *c,
                         const uint8_t code[256], const size_t *from, size_t row, size_t room,
                         double *x)
{
    if (e->node != NULL) {
        vectors_of(e, c->seq, from, row, room, x);
        return;
    }
    const char *s;
    const size_t len = letters_of(c, row, &s);
    symbols_of(e, code, s, len, room, x);
}

/* code[c]: symbol of letter c, or with numbers for letters its place among them. */
static void codes_of(const struct enc_sequence *e, uint8_t code[256])
{
    alphabet_codes(e->order, e->value != NULL || e->kmer > 0 ? strlen(e->order) : e->layer.channels,
                   code);
}

/* Which letters the training rows have at each position; how many rows are shorter than the
 * longest. */
static size_t count_letters(const struct fitting *f, const struct column *c, size_t (*count)[256])
{
    size_t short_rows = 0;

    for (size_t i = 0; i < f->n; i++) {
        const char *s;
        const size_t len = letters_of(c, f->rows[i], &s);
        for (size_t p = 0; p < len; p++)
            count[p][(unsigned char)s[p]]++;
        short_rows += len < c->seq->longest;
        step_used(f->rows, i, row_bytes(c));
    }
    return short_rows;
}

/* The inputs of one position: a number of each channel, or one for each letter that occurs there.
 */
static enum status position_columns(struct fitting *f, const struct column *c, size_t p,
                                    const size_t count[256], size_t channels)
{
    for (size_t k = 1; k < (channels ? channels + 1 : 256); k++) {
        char word[48];
        if (!channels && count[k] == 0)
            continue;
        if (channels)
            snprintf(word, sizeof word, "%zu#%zu", p + 1, k);
        else
            snprintf(word, sizeof word, "%zu%c", p + 1, (char)k);
        struct enc_col *e = add_column(f->e, &f->cap, c->name, ENC_LETTER, f->err);
        if (e == NULL || (e->level = mem_strdup(word, f->err)) == NULL)
            return ST_NOMEM;
    }
    return ST_OK;
}

/* One letter only, in all rows: the position says nothing. */
static bool is_constant(const size_t count[256], size_t n)
{
    size_t seen = 0, first = 0;

    for (size_t k = 1; k < 256; k++)
        if (count[k] > 0 && seen++ == 0)
            first = k;
    return seen == 0 || (seen == 1 && count[first] == n);
}

/* One-hot of the letters that occur at each position; positions that do not vary tell nothing and
 * are left out.  Beyond the end of a sequence there is no letter. */
static enum status fit_letters(struct fitting *f, const struct column *c)
{
    const size_t longest = c->seq->longest;
    if (letters_kmer(f->d->coding) > 0) {
        err_named(f->err, ST_UNSUPPORTED, "encoding",
                  "encoding=%s is read by kernels over windows, not by position", f->d->coding);
        err_hint(f->err, "kernel conv(rbf,width=1)  |  cols %.40s encoding=onehot", c->name);
        return ST_UNSUPPORTED;
    }
    size_t (*count)[256] = mem_calloc(longest, sizeof *count, "letters by position", f->err);
    size_t varying = 0, was = f->e->ncol;

    if (count == NULL)
        return ST_NOMEM;
    enum status rc = ST_OK;
    if (f->d->coding != NULL && f->e->seq.column == NULL)
        rc = fit_alphabet(f, c);
    const size_t channels = f->e->seq.value != NULL ? f->e->seq.layer.channels : 0;
    const size_t short_rows = count_letters(f, c, count);
    for (size_t p = 0; p < longest && rc == ST_OK; p++)
        if (!is_constant(count[p], f->n)) {
            varying++;
            rc = position_columns(f, c, p, count[p], channels);
        }
    free(count);
    if (rc != ST_OK)
        return rc;
    char name[64];
    shown(c->name, name, sizeof name);
    if (f->e->ncol == was)
        return err_named(f->err, ST_STATE, "inputs", "all training rows have the same sequence %s",
                         name);
    buf_printf(f->notes, "note[letters]: %zu of %zu positions of %s vary: %zu inputs, %s\n",
               varying, longest, name, f->e->ncol - was,
               channels ? "the numbers of the letter there"
                        : "one for each letter that occurs there");
    if (short_rows > 0)
        buf_printf(
            f->notes,
            "warning[lengths]: %zu of %zu training sequences are shorter than %zu: they are "
            "aligned at their first letter, and have none beyond their last (kernel conv(rbf) "
            "compares windows instead)\n",
            short_rows, f->n, longest);
    return ST_OK;
}

/* Means and deviations of the filters' values over the training rows. */
static enum status fit_filters(struct fitting *f, const struct column *c)
{
    enum status rc = fit_alphabet(f, c);
    const struct enc_sequence *s = &f->e->seq;
    const size_t F = s->layer.filters, room = c->seq->longest;
    struct layer_map *conv = rc == ST_OK ? layer_map_new(&s->layer, s->seed, f->err) : NULL;
    double *x =
        conv ? mem_calloc(room * position_numbers(s) + 1, sizeof *x, "a sequence", f->err) : NULL;
    double *phi = x ? mem_calloc(4 * F, sizeof *phi, "filters", f->err) : NULL;
    double *mean = phi ? phi + F : NULL, *square = phi ? mean + F : NULL,
           *first = phi ? square + F : NULL;
    uint8_t code[256];

    if (phi == NULL && rc == ST_OK)
        rc = ST_NOMEM;
    codes_of(s, code);
    for (size_t i = 0; i < f->n && rc == ST_OK; i++) { /* moments around the first row's values */
        positions_of(s, c, code, NULL, f->rows[i], room, x);
        if (i == 0)
            rc = layer_map_refer(conv, x, f->err);
        if (rc == ST_OK)
            rc = layer_map_apply(conv, x, phi, f->err);
        for (size_t j = 0; j < F && rc == ST_OK; j++) {
            if (i == 0)
                first[j] = phi[j];
            mean[j] += phi[j] - first[j];
            square[j] += (phi[j] - first[j]) * (phi[j] - first[j]);
        }
        step_used(f->rows, i, row_bytes(c));
    }
    size_t dead = 0;
    for (size_t j = 0; j < F && rc == ST_OK; j++) {
        struct enc_col *e = add_column(f->e, &f->cap, c->name, ENC_FILTER, f->err);
        if (e == NULL) {
            rc = ST_NOMEM;
            break;
        }
        const double m = mean[j] / (double)f->n, v = square[j] / (double)f->n - m * m;
        e->mean = e->fill = first[j] + m;
        e->constant = !(v > 1e-12 * (1.0 + e->mean * e->mean));
        e->sd = e->constant ? 1.0 : sqrt(v);
        e->limit = CUT_FACTOR * 10.0;
        dead += e->constant;
    }
    free(phi);
    free(x);
    layer_map_free(conv);
    if (rc == ST_OK && dead == F)
        return err_named(f->err, ST_STATE, "inputs",
                         "no filter tells the training rows apart: all have the "
                         "same sequence");
    if (rc == ST_OK && dead > 0)
        buf_printf(
            f->notes,
            "note[filters]: %zu of %zu filters have one value on all training rows and count "
            "as 0\n",
            dead, F);
    return rc;
}

/* A row of symbols, for kernels over windows. */
static enum status fit_windows(struct fitting *f, const struct column *c)
{
    const enum status rc = fit_alphabet(f, c);

    f->e->seq.inputs = 1 + c->seq->longest * position_numbers(&f->e->seq);
    return rc;
}

/* Kernels over windows alone: the sequence is the one input. */
static enum status check_alone(const struct dataset *d, struct err *err)
{
    char name[64];

    for (size_t j = 0; j < d->table->ncols; j++)
        if (d->role[j] == ROLE_INPUT && d->table->col[j].type != COL_SEQUENCE) {
            err_named(err, ST_STATE, "inputs",
                      "conv reads the sequence and no other input: %s is one",
                      shown(d->table->col[j].name, name, sizeof name));
            err_hint(err, "kernel conv(rbf) + rbf on %.60s  |  cols %.60s role=skip",
                     d->table->col[j].name, d->table->col[j].name);
            return ST_STATE;
        }
    return ST_OK;
}

/* The kernel reads a sequence: is there one, and one only? */
static enum status check_sequence(const struct dataset *d, struct err *err)
{
    size_t n = 0;

    for (size_t j = 0; j < d->table->ncols; j++)
        n += d->role[j] == ROLE_INPUT && d->table->col[j].type == COL_SEQUENCE;
    if (!d->kernel.layer.ops || n == 1)
        return layer_kind(&d->kernel.layer) == LAYER_WINDOWS && !kernel_reads_parts(&d->kernel)
                   ? check_alone(d, err)
                   : ST_OK;
    err_named(err, ST_STATE, "sequence",
              n == 0 ? "the kernel reads a sequence, and no input is one"
                     : "the kernel reads one sequence: several inputs are");
    err_hint(err, n == 0 ? "cols NAME type=sequence  |  kernel rbf" : "cols NAME role=skip");
    return ST_STATE;
}

/* One number of all training rows, as group g has it: mean, deviation. */
static enum status fit_pool(struct fitting *f, const struct column *c, const char *level,
                            enum enc_kind kind, size_t position, size_t k)
{
    struct enc_col *e = add_column(f->e, &f->cap, c->name, kind, f->err);
    double sum = 0.0, squares = 0.0, first = 0.0;
    const size_t d = c->seq->nodes->d;

    if (e == NULL || (e->level = mem_strdup(level, f->err)) == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < f->n; i++) {
        const size_t m = c->seq->at[f->rows[i] + 1] - c->seq->at[f->rows[i]] - 1;
        const double *v = nodes_at(c->seq, f->rows[i]);
        double u = kind == ENC_LETTER ? v[position * d + k] : k == SIZE_MAX ? (double)m : 0.0;
        for (size_t p = 0; kind == ENC_POOL && k != SIZE_MAX && p < m; p++)
            u += v[p * d + k] / (double)m;
        first = i == 0 ? u : first;
        sum += u - first;
        squares += (u - first) * (u - first);
    }
    const double m = sum / (double)f->n, var = squares / (double)f->n - m * m;
    e->mean = e->fill = first + m;
    e->constant = !(var > 1e-18 * (1.0 + e->mean * e->mean));
    e->sd = e->constant ? 1.0 : sqrt(var);
    e->limit = CUT_FACTOR * 10.0;
    return ST_OK;
}

/* Nodes for kernels of columns: how many they are and the means of their numbers; of stretches of a
 * series, which are all as long, the values themselves. */
static enum status fit_pools(struct fitting *f, const struct column *c)
{
    const struct nodes *o = c->seq->nodes;
    enum status rc = fit_alphabet(f, c);
    char word[48];

    if (!f->d->kernel.layer.ops)
        f->e->seq.layer.ops = NULL;
    for (size_t p = 0; rc == ST_OK && o->series && p < c->seq->longest; p++)
        for (size_t k = 0; rc == ST_OK && k < o->d; k++) {
            snprintf(word, sizeof word, "%zu#%zu", p + 1, k + 1);
            rc = fit_pool(f, c, word, ENC_LETTER, p, k);
        }
    if (o->series || rc != ST_OK)
        return rc;
    rc = fit_pool(f, c, "", ENC_POOL, 0, SIZE_MAX);
    for (size_t k = 0; rc == ST_OK && k < o->d; k++)
        rc = fit_pool(f, c, o->name[k], ENC_POOL, 0, k);
    if (rc == ST_OK)
        buf_printf(f->notes,
                   "note[pool]: the nodes of a row are read as their number and the means of their "
                   "%zu numbers "
                   "(kernel graph(rbf) compares them one by one)\n",
                   o->d);
    return rc;
}

/* A column as a kernel in such a layer reads it. */
static enum status fit_column(struct fitting *f, const struct column *c,
                              enum layer_kind layer)
{
    const struct dataset *d = f->d;
    enum status rc = c->type == COL_REAL       ? fit_real(f, c)
                     : c->type != COL_SEQUENCE ? fit_category(f, c)
                     : layer == LAYER_WINDOWS  ? fit_windows(f, c)
                     : layer == LAYER_NUMBERS  ? fit_filters(f, c)
                     : c->seq->nodes != NULL   ? fit_pools(f, c)
                                               : fit_letters(f, c);

    if (rc == ST_OK && d->missing_flag && c->type != COL_SEQUENCE &&
        (d->missing == MISSING_MEAN || d->missing == MISSING_MEDIAN))
        rc = fit_flag(f, c);
    return rc;
}

static bool is_input(const struct dataset *d, size_t j)
{
    return d->role[j] == ROLE_INPUT && d->table->col[j].type != COL_TEXT;
}

/* The columns that kernel t reads: all inputs, or those behind "on", which must be inputs. */
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
            err_named(err, ST_STATE, "inputs", "the kernel reads column %s, which is no input",
                      shown(d->table->col[j].name, name, sizeof name));
            err_hint(err, "cols %.60s role=input", d->table->col[j].name);
            return ST_STATE;
        }
        in[j] = in[j] && is_input(d, j);
        named += in[j];
    }
    if (rc == ST_OK && named == 0) {
        err_named(err, ST_STATE, "inputs", "no input is called %s",
                  shown(t->on, name, sizeof name));
        err_hint(err, "summary lists the columns; cols NAME role=input makes one an input");
        return ST_STATE;
    }
    for (size_t j = 0; rc == ST_OK && layer_kind(&t->layer) == LAYER_NUMBERS && j < n;
         j++) /* its filters too */
        in[j] = in[j] || (is_input(d, j) && d->table->col[j].type == COL_SEQUENCE);
    return rc;
}

/* The part of kernel t: that of an earlier one that reads the same, or columns of its own. */
static enum status fit_part(struct fitting *f, size_t t, bool *in)
{
    const struct dataset *d = f->d;
    const struct kterm *term = &d->kernel.term[t];
    struct enc_part *p = &f->e->part[t];
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
            rc = fit_column(f, &d->table->col[j], layer_kind(&term->layer));
    p->n = f->e->ncol - p->first;
    if (rc == ST_OK && p->n == 0) {
        rc = err_named(f->err, ST_STATE, "inputs", "a kernel of the expression has no input");
        err_hint(f->err, "kernel rbf on x1 + linear on x2");
    }
    return rc;
}

/* Inputs that no kernel reads, for a note. */
static void note_unread(struct fitting *f, const bool *read)
{
    size_t n = 0;
    char name[64];

    for (size_t j = 0; j < f->d->table->ncols; j++)
        if (is_input(f->d, j) && !read[j] && n++ == 0)
            shown(f->d->table->col[j].name, name, sizeof name);
    if (n > 0)
        buf_printf(f->notes, "note[unread]: %zu input%s no kernel of the expression: %s%s\n", n,
                   n == 1 ? " is read by" : "s are read by", name, n > 1 ? ", ..." : "");
}

/* Each kernel reads columns of its own; behind them the sequence, where one is over windows. */
static enum status fit_parts(struct fitting *f)
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
        if (is_input(d, j) && d->table->col[j].type == COL_SEQUENCE) {
            rc = fit_windows(f, &d->table->col[j]);
            read[j] = true;
        }
    if (rc == ST_OK)
        note_unread(f, read);
    free(in);
    return rc;
}

static enum status fit_columns(struct fitting *f)
{
    const struct dataset *d = f->d;
    enum status rc = check_sequence(d, f->err);

    if (rc == ST_OK && kernel_reads_parts(&d->kernel))
        rc = fit_parts(f);
    else
        for (size_t j = 0; rc == ST_OK && j < d->table->ncols; j++)
            if (is_input(d, j))
                rc = fit_column(f, &d->table->col[j], layer_kind(&d->kernel.layer));
    f->e->d = f->e->ncol + f->e->seq.inputs;
    if (rc != ST_OK || f->e->d > 0)
        return rc;
    err_named(f->err, ST_STATE, "inputs", "the data has no input column");
    err_hint(f->err, "cols NAME role=input");
    return ST_STATE;
}

enum status encoding_bind(const struct encoding *e, struct kernel *k, struct err *err)
{
    const struct layer *l = &e->seq.layer;
    const bool bound = k->layer.channels != 0;
    enum status rc = kernel_bind_rows(k, l->channels, l->symbols, l->positions, err);

    if (rc == ST_OK)
        rc = kernel_bind_flat(k, e->ncol, err);
    if (rc == ST_OK && e->nparts > 0 && e->nparts != k->nterms)
        rc = err_set(err, ST_SHAPE,
                     "the data were encoded for an expression of %zu kernels, not %zu", e->nparts,
                     k->nterms);
    for (size_t t = 0; rc == ST_OK && t < e->nparts; t++)
        if (e->part[t].n > 0)
            rc = kernel_bind_inputs(k, t, e->part[t].first, e->part[t].n, err);
    if (rc == ST_OK && !bound)
        kernel_choose_filters(k);
    return rc;
}

enum status encoding_fit(const struct dataset *d, const size_t *train, size_t ntrain,
                         struct encoding *out, struct buf *notes, struct err *err)
{
    *out = (struct encoding){ .yscale = d->yscale, .missing = d->missing, .ysd = 1.0 };
    struct buf unread = { 0 };
    struct fitting f = { .d = d, .e = out, .notes = notes != NULL ? notes : &unread, .err = err };
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
        rc = still_there(d->table, 0, d->table->n - 1, err);
    for (size_t j = 0; j < ncols && rc == ST_OK; j++)
        if (d->role[j] == ROLE_TARGET)
            rc = check_logs(&f, &d->table->col[j]);
    if (rc == ST_OK && (f.m = mem_calloc(d->table->ncols, sizeof *f.m, "moments", err)) == NULL)
        rc = ST_NOMEM;
    if (rc == ST_OK)
        take_moments(d, f.rows, f.n, d->yscale == Y_LOG, f.m);
    if (rc == ST_OK)
        rc = still_there(d->table, 0, d->table->n - 1, err);
    for (size_t j = 0; j < ncols && rc == ST_OK; j++)
        if (d->role[j] == ROLE_TARGET)
            rc = fit_target(&f, &d->table->col[j]);
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

/* Applying it. */

/* The encoded columns that come from one column of the table. */
struct group {
    const struct column *c;
    size_t col;             /* of the table */
    size_t first, n;        /* of its numbers or levels in the encoding; n == 0: only a flag */
    size_t flag;            /* its ENC_MISSING; SIZE_MAX: none */
    bool levels;
    enum enc_kind kind;     /* of its numbers; sequences: */
    struct column *own;     /* words of new data as sequences: c points there */
    bool windows;           /* the row of symbols itself, of `room` letters */
    size_t room, *position; /* ENC_LETTER: of each, from 0, and its letter */
    unsigned char *letter;
    size_t
        *channel; /* with numbers for letters, or of nodes: which of them; SIZE_MAX: their number */
    size_t *from; /* of nodes: where each of the encoding's numbers stands in this table */
    uint8_t code[256];
    struct layer_map *conv;  /* ENC_FILTER */
    uint32_t *to;           /* table code -> level of the encoding; UINT32_MAX: never seen */
    double *value;          /* levels as numbers, when the table has numbers there */
};

static bool is_sequence(const struct group *g)
{
    return g->windows || g->kind == ENC_LETTER || g->kind == ENC_FILTER || g->kind == ENC_POOL;
}

static size_t find_level(const struct encoding *e, const struct group *g, const char *word)
{
    size_t lo = 0, hi = g->n; /* levels are sorted */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int order = strcmp(e->col[g->first + mid].level, word);
        if (order == 0)
            return mid;
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return SIZE_MAX;
}

/* Level of a cell that is not missing; SIZE_MAX: never seen. */
static size_t level_of(const struct encoding *e, const struct group *g, size_t row)
{
    const struct column *c = g->c;
    if (c->type == COL_CATEGORY)
        return g->to[c->code[row]] == UINT32_MAX ? SIZE_MAX : g->to[c->code[row]];
    if (c->type == COL_TEXT)
        return find_level(e, g, c->text[row]);
    for (size_t k = 0; k < g->n; k++)
        if (g->value[k] == column_at(c, row))
            return k;
    return SIZE_MAX;
}

static enum status map_levels(const struct encoding *e, struct group *g, struct err *err)
{
    if (g->c->type == COL_CATEGORY) {
        g->to = mem_calloc(g->c->nlevels, sizeof *g->to, "levels", err);
        if (g->to == NULL)
            return ST_NOMEM;
        for (size_t k = 0; k < g->c->nlevels; k++) {
            size_t l = find_level(e, g, g->c->level[k]);
            g->to[k] = l == SIZE_MAX ? UINT32_MAX : (uint32_t)l;
        }
    } else if (g->c->type == COL_REAL) {
        g->value = mem_calloc(g->n, sizeof *g->value, "levels", err);
        if (g->value == NULL)
            return ST_NOMEM;
        for (size_t k = 0; k < g->n; k++) {
            const char *word = e->col[g->first + k].level;
            if (!scan_number_all(word, strlen(word), '.', &g->value[k]))
                g->value[k] = NAN;
        }
    }
    return ST_OK;
}

static enum status map_letters(const struct encoding *e, struct group *g, struct err *err)
{
    g->position = mem_calloc(g->n, sizeof *g->position, "letters", err);
    g->letter = mem_calloc(g->n, 1, "letters", err);
    g->channel = e->seq.value ? mem_calloc(g->n, sizeof *g->channel, "letters", err) : NULL;
    if (g->position == NULL || g->letter == NULL || (e->seq.value && g->channel == NULL))
        return ST_NOMEM;
    if (e->seq.value)
        codes_of(&e->seq, g->code);
    for (size_t k = 0; k < g->n; k++) {
        char *end;
        g->position[k] = strtoul(e->col[g->first + k].level, &end, 10) - 1;
        g->letter[k] = (unsigned char)*end;
        if (g->channel)
            g->channel[k] = strtoul(end + 1, NULL, 10) - 1;
    }
    return ST_OK;
}

/* The longest word among some rows of a column (NULL: all). */
static size_t longest_of(const struct column *c, const size_t *rows, size_t n)
{
    size_t most = 0;

    for (size_t i = 0; i < n; i++) {
        const char *s;
        const size_t len = letters_of(c, rows != NULL ? rows[i] : i, &s);
        most = len > most ? len : most;
    }
    return most;
}

/* Where each number of the encoding's nodes stands in this table's. */
static enum status map_nodes(const struct encoding *e, struct group *g, struct err *err)
{
    const struct nodes *o = g->c->seq->nodes;
    const size_t n = e->seq.layer.channels;
    char name[64];

    g->from = mem_calloc(n, sizeof *g->from, "numbers of nodes", err);
    g->channel =
        g->windows ? NULL : mem_calloc(g->n + 1, sizeof *g->channel, "numbers of nodes", err);
    g->position =
        g->windows ? NULL : mem_calloc(g->n + 1, sizeof *g->position, "numbers of nodes", err);
    if (g->from == NULL || (!g->windows && (g->channel == NULL || g->position == NULL)))
        return ST_NOMEM;
    for (size_t k = 0; k < n; k++) {
        size_t j = k < o->d && strcmp(o->name[k], e->seq.node[k].name) == 0 ? k : 0;
        while (j < o->d && strcmp(o->name[j], e->seq.node[k].name) != 0)
            j++;
        g->from[k] = j < o->d ? j : SIZE_MAX;
        if (j == o->d && !e->seq.node[k].flag)
            return err_named(err, ST_STATE, "column",
                             "the nodes have no number %s, which the model reads",
                             shown(e->seq.node[k].name, name, sizeof name));
    }
    for (size_t j = 0; j < o->d; j++) { /* a word that was never seen would count as none */
        size_t k = j < n && strcmp(o->name[j], e->seq.node[j].name) == 0 ? j : 0;
        while (o->flag[j] && k < n && strcmp(o->name[j], e->seq.node[k].name) != 0)
            k++;
        if (o->flag[j] && k == n)
            return err_named(err, ST_STATE, "unseen",
                             "nodes have %s, which never occurs in the training rows",
                             shown(o->name[j], name, sizeof name));
    }
    for (size_t k = 0; !g->windows && g->kind != ENC_FILTER && k < g->n; k++) {
        const char *level = e->col[g->first + k].level;
        char *end = NULL;
        if (g->kind == ENC_LETTER) {
            g->position[k] = strtoul(level, &end, 10) - 1;
            g->channel[k] = strtoul(end + 1, NULL, 10) - 1;
            continue;
        }
        g->channel[k] = SIZE_MAX;
        for (size_t c = 0; *level != '\0' && c < n; c++)
            if (strcmp(e->seq.node[c].name, level) == 0)
                g->channel[k] = c;
    }
    return ST_OK;
}

static enum status map_sequence(const struct encoding *e, const struct table *t, const size_t *rows,
                                size_t n, struct group *g, struct err *err)
{
    char name[64];

    if (g->c->type == COL_REAL) {
        err_named(err, ST_STATE, "column",
                  "column %s holds numbers here but sequences in the training data",
                  shown(g->c->name, name, sizeof name));
        return ST_STATE;
    }
    if ((e->seq.node != NULL) != (g->c->type == COL_SEQUENCE && g->c->seq->nodes != NULL)) {
        err_named(err, ST_STATE, "column", "column %s holds %s here but %s in the training data",
                  shown(g->c->name, name, sizeof name),
                  e->seq.node != NULL ? "words" : "sets of nodes",
                  e->seq.node != NULL ? "sets of nodes" : "sequences");
        err_hint(err, e->seq.node != NULL
                          ? "predict FILE graph=COLUMN, as the training file was opened"
                          : "predict FILE");
        return ST_STATE;
    }
    if (e->seq.node != NULL) {
        const enum status mapped = map_nodes(e, g, err);
        if (mapped != ST_OK || !(g->windows || g->kind == ENC_FILTER))
            return mapped;
    }
    if (g->c->type != COL_SEQUENCE) {
        g->own = mem_calloc(1, sizeof *g->own, "sequences", err);
        const enum status made = g->own != NULL ? sequence_words(t, g->col, g->own, err) : ST_NOMEM;
        if (made != ST_OK)
            return made;
        g->c = g->own;
    }
    if (g->kind == ENC_LETTER)
        return map_letters(e, g, err);
    const size_t per = position_numbers(&e->seq);
    codes_of(&e->seq, g->code);
    g->room = longest_of(g->c, rows, n);
    if (g->windows) {
        g->room = g->room < (e->seq.inputs - 1) / per ? (e->seq.inputs - 1) / per : g->room;
        return ST_OK;
    }
    g->conv = layer_map_new(&e->seq.layer, e->seq.seed, err);
    double *x =
        g->conv != NULL ? mem_calloc(g->room * per + 1, sizeof *x, "a sequence", err) : NULL;
    enum status rc = x != NULL ? ST_OK : ST_NOMEM;
    if (rc == ST_OK && n > 0) {
        positions_of(&e->seq, g->c, g->code, g->from, rows != NULL ? rows[0] : 0, g->room, x);
        rc = layer_map_refer(g->conv, x, err);
    }
    free(x);
    return rc;
}

/* likely: where the column stands when the tables agree; a wide one is then not searched. */
static enum status map_group(const struct encoding *e, const struct table *t, const size_t *rows,
                             size_t n, size_t likely, struct group *g, struct err *err)
{
    const char *column = g->windows ? e->seq.column : e->col[g->first].column;
    char name[64];
    g->col = likely < t->ncols && strcmp(t->col[likely].name, column) == 0
                 ? likely : table_find(t, column);
    if (g->col == SIZE_MAX) {
        err_named(err, ST_STATE, "column", "the data has no column %s, which the model reads",
                  shown(column, name, sizeof name));
        if (e->seq.node != NULL && strcmp(column, e->seq.column) == 0)
            err_hint(err, "predict FILE graph=COLUMN (describe=, lengths=, window=), as the "
                          "training file was opened");
        else
            err_hint(err, "give the file's columns the names of the training data");
        return ST_STATE;
    }
    g->c = &t->col[g->col];
    if (is_sequence(g))
        return map_sequence(e, t, rows, n, g, err);
    if (g->levels)
        return map_levels(e, g, err);
    if (g->c->type == COL_REAL || g->n == 0 || g->c->missing == t->n)
        return ST_OK;
    err_named(err, ST_STATE, "column", "column %s holds words here but numbers in the training "
              "data", shown(column, name, sizeof name));
    err_hint(err, "open FILE types=NAME=real  tells which cell does not fit");
    return ST_STATE;
}

static void free_groups(struct group *g, size_t n)
{
    for (size_t k = 0; g != NULL && k < n; k++) {
        free(g[k].to);
        free(g[k].value);
        free(g[k].position);
        free(g[k].letter);
        if (g[k].own != NULL)
            column_clear(g[k].own);
        free(g[k].own);
        free(g[k].channel);
        free(g[k].from);
        layer_map_free(g[k].conv);
    }
    free(g);
}

/* Does a part of the kernel begin at column j? */
static bool part_begins(const struct encoding *e, size_t j)
{
    for (size_t t = 0; t < e->nparts; t++)
        if (e->part[t].n > 0 && e->part[t].first == j)
            return true;
    return false;
}

static enum status make_groups(const struct encoding *e, const struct table *t, const size_t *rows,
                               size_t nrows, struct group **out, size_t *n, struct err *err)
{
    size_t runs = 2; /* of columns of one name; a sequence behind them */
    for (size_t j = 1; j < e->ncol; j++)
        runs += strcmp(e->col[j].column, e->col[j - 1].column) != 0 || part_begins(e, j);
    struct group *g = mem_calloc(runs, sizeof *g, "an encoding", err);
    if (g == NULL)
        return ST_NOMEM;
    *n = 0;
    enum status rc = ST_OK;
    for (size_t j = 0; j < e->ncol && rc == ST_OK;) {
        struct group *k = &g[(*n)++];
        *k = (struct group){ .first = j, .flag = SIZE_MAX };
        const char *column = e->col[j].column;
        do {
            if (e->col[j].kind == ENC_MISSING)
                k->flag = j;
            else
                k->n++;
            k->levels |= e->col[j].kind == ENC_LEVEL;
            k->kind = e->col[j].kind != ENC_MISSING ? e->col[j].kind : k->kind;
            j++;
        } while (j < e->ncol && strcmp(e->col[j].column, column) == 0 && !part_begins(e, j));
        rc = map_group(e, t, rows, nrows, *n > 1 ? g[*n - 2].col + 1 : 0, k, err);
    }
    if (rc == ST_OK && e->seq.inputs > 0) {
        g[(*n)++] = (struct group){ .first = e->ncol, .flag = SIZE_MAX, .windows = true };
        rc = map_group(e, t, rows, nrows, *n > 1 ? g[*n - 2].col + 1 : 0, &g[*n - 1], err);
    }
    if (rc != ST_OK) {
        free_groups(g, *n);
        g = NULL;
    }
    *out = g;
    return rc;
}

static double encode_one(const struct enc_col *c, double x, size_t *cut)
{
    if (c->constant)
        return 0.0;
    double z = (x - c->mean) / c->sd;
    if (c->limit > 0.0 && fabs(z) > c->limit) {
        z = copysign(c->limit, z);
        ++*cut;
    }
    return z;
}

/* Means over the nodes, or the values of a series at its positions, for kernels of columns. */
static void encode_nodes(const struct encoding *e, const struct group *g, size_t row, double *x,
                         size_t *cut)
{
    const struct sequences *s = g->c->seq;
    const size_t m = s->at[row + 1] - s->at[row] - 1, d = s->nodes->d;
    const double *v = nodes_at(s, row);

    for (size_t k = 0; k < g->n; k++) {
        double sum = 0.0;
        const size_t from = g->channel[k] == SIZE_MAX ? SIZE_MAX : g->from[g->channel[k]];
        if (g->kind == ENC_LETTER)
            sum = g->position[k] < m && from != SIZE_MAX ? v[g->position[k] * d + from]
                                                         : e->col[g->first + k].mean;
        else if (g->channel[k] == SIZE_MAX)
            sum = (double)m;
        for (size_t p = 0; g->kind == ENC_POOL && from != SIZE_MAX && p < m; p++)
            sum += v[p * d + from] / (double)m;
        x[g->first + k] = encode_one(&e->col[g->first + k], sum, cut);
    }
    spill_used(m * d * sizeof *v);
}

/* A sequence: x is the row's numbers from its first on. */
static enum status encode_sequence(const struct encoding *e, const struct group *g, size_t row,
                                   double *x, size_t *cut, struct err *err)
{
    const char *s;
    const size_t len = letters_of(g->c, row, &s);

    if (g->windows) {
        positions_of(&e->seq, g->c, g->code, g->from, row, g->room, x + g->first);
        return ST_OK;
    }
    if (e->seq.node != NULL && g->kind != ENC_FILTER) {
        encode_nodes(e, g, row, x, cut);
        return ST_OK;
    }
    for (size_t k = 0; g->kind == ENC_LETTER && k < g->n; k++) {
        const size_t p = g->position[k];
        if (g->channel) {
            const size_t i = p < len ? g->code[(unsigned char)s[p]] : SIZE_MAX;
            const double v = i < strlen(e->seq.order)
                                 ? e->seq.value[i * e->seq.layer.channels + g->channel[k]] : 0.0;
            x[g->first + k] = encode_one(&e->col[g->first + k], v, cut);
            continue;
        }
        const bool has = p < len && ((unsigned char)s[p] == g->letter[k] ||
                                     (g->own != NULL &&
                                      toupper((unsigned char)s[p]) == g->letter[k]));
        x[g->first + k] = encode_one(&e->col[g->first + k], has ? 1.0 : 0.0, cut);
    }
    if (g->kind == ENC_LETTER)
        return ST_OK;
    double *w = mem_calloc(g->room * position_numbers(&e->seq) + 1, sizeof *w, "a sequence", err);
    if (w == NULL)
        return ST_NOMEM;
    positions_of(&e->seq, g->c, g->code, g->from, row, g->room, w);
    const enum status rc = layer_map_apply(g->conv, w, x + g->first, err);
    for (size_t k = 0; k < g->n; k++)
        x[g->first + k] = encode_one(&e->col[g->first + k], x[g->first + k], cut);
    free(w);
    return rc;
}

static enum status encode_cell(const struct encoding *e, const struct group *g, size_t row,
                               double *x, size_t *cut, struct err *err)
{
    if (is_sequence(g))
        return encode_sequence(e, g, row, x, cut, err);
    bool missing = cell_missing(g->c, row);
    size_t level = g->levels && !missing ? level_of(e, g, row) : SIZE_MAX;
    missing = missing || (g->levels && level == SIZE_MAX);
    for (size_t k = 0; k < g->n; k++) {
        const struct enc_col *c = &e->col[g->first + k];
        double value = missing ? c->fill : g->levels ? (double)(k == level) : column_at(g->c, row);
        x[g->first + k] = encode_one(c, value, cut);
    }
    if (g->flag != SIZE_MAX)
        x[g->flag] = encode_one(&e->col[g->flag], missing ? 1.0 : 0.0, cut);
    return ST_OK;
}

/* From one row of the table to the next, of all columns that are read. */
static size_t groups_bytes(const struct group *g, size_t n)
{
    size_t bytes = 0;

    for (size_t k = 0; k < n; k++)
        if (k == 0 || g[k].c->in == NULL || g[k].c->in != g[k - 1].c->in ||
            mapped_array_stride(g[k].c->in) <= sizeof(double))
            bytes += row_bytes(g[k].c);
    return bytes;
}

static enum status policy_error(const struct table *t, size_t col, size_t row, bool unseen,
                                struct err *err)
{
    char name[64], value[64];
    struct buf cell = { 0 };
    shown(t->col[col].name, name, sizeof name);
    table_cell(t, row, col, &cell);
    if (unseen)
        err_named(err, ST_STATE, "unseen", "row %zu: %s in column %s never occurs in the training "
                  "rows", row + 1, shown(buf_str(&cell), value, sizeof value), name);
    else
        err_named(err, ST_STATE, "missing", "row %zu: column %s is missing", row + 1, name);
    err_hint(err, "missing mean  |  missing median  |  missing drop");
    buf_free(&cell);
    return ST_STATE;
}

/* Which rows stay, and what is to be counted. */
static enum status judge_rows(const struct encoding *e, const struct table *t,
                              const struct group *g, size_t ng, const struct column *const *y,
                              const struct column *w, const size_t *rows, size_t n,
                              struct encoded *out, struct err *err)
{
    const size_t width = groups_bytes(g, ng) + (1 + out->t) * sizeof(double);

    for (size_t i = 0; i < n; i++) {
        size_t row = rows != NULL ? rows[i] : i;
        bool drop = false;
        if (i > 0 && i % PIECE == 0)
            spill_used(rows != NULL ? touched(rows + i - PIECE, PIECE, width) : PIECE * width);
        for (size_t k = 0; k < ng; k++) {
            const bool seq = is_sequence(&g[k]);
            const size_t more = seq && e->seq.kmer > 0 ? e->seq.kmer - 1 : 0;
            const size_t least =
                more + (seq && e->seq.layer.ops ? e->seq.layer.width : 1);
            const char *s;
            if (seq && letters_of(g[k].c, row, &s) < least) { /* there is no mean of sequences */
                if (e->missing != MISSING_DROP)
                    return too_short(t, g[k].c, row, least, err);
                out->missing_cells++;
                drop = true;
            }
            if (seq)
                continue;
            bool missing = cell_missing(g[k].c, row);
            bool unseen = !missing && g[k].levels && level_of(e, &g[k], row) == SIZE_MAX;
            if (!missing && !unseen)
                continue;
            out->missing_cells += missing;
            out->unseen_levels += unseen && e->missing != MISSING_DROP; /* else: dropped */
            if (e->missing == MISSING_ERROR)
                return policy_error(t, g[k].col, row, unseen, err);
            drop = drop || e->missing == MISSING_DROP;
        }
        for (size_t k = 0; k < out->t; k++) {
            if (!isnan(column_at(y[k], row)))
                continue;
            if (e->missing == MISSING_ERROR)
                return policy_error(t, (size_t)(y[k] - t->col), row, false, err);
            drop = true;
        }
        drop = drop || (w != NULL && e->missing == MISSING_DROP && isnan(column_at(w, row)));
        if (drop)
            out->dropped++;
        else
            out->row[out->n++] = row;
    }
    return ST_OK;
}

/* known[256 p + c]: some training row has letter c at position p, or p does not vary. */
static bool *known_letters(const struct group *g, size_t *positions, struct err *err)
{
    *positions = 0;
    for (size_t k = 0; k < g->n; k++)
        *positions = g->position[k] + 1 > *positions ? g->position[k] + 1 : *positions;
    bool *known = mem_calloc(*positions * 256 + 1, sizeof *known, "letters", err);
    bool *varies =
        known != NULL ? mem_calloc(*positions + 1, sizeof *varies, "letters", err) : NULL;
    for (size_t k = 0; varies != NULL && k < g->n; k++) {
        known[g->position[k] * 256 + g->letter[k]] = varies[g->position[k]] = true;
        if (g->own != NULL)
            known[g->position[k] * 256 + (size_t)tolower(g->letter[k])] = true;
    }
    for (size_t p = 0; varies != NULL && p < *positions; p++)
        for (size_t c = 0; !varies[p] && c < 256; c++)
            known[p * 256 + c] = true;
    if (varies == NULL) {
        free(known);
        known = NULL;
    }
    free(varies);
    return known;
}

/* Letters of new rows that the model cannot tell from one another, or sees as none. */
static enum status count_strange(const struct encoding *e, const struct group *g,
                                 struct encoded *out, struct err *err)
{
    const bool place = g->kind == ENC_LETTER && !g->windows && g->channel == NULL;
    const size_t letters = strlen(e->seq.order);
    size_t positions = 0, n = 0, first = 0;
    uint8_t code[256];

    if (e->seq.node != NULL || (!place && letters == 0))
        return ST_OK;
    bool *known = place ? known_letters(g, &positions, err) : NULL;
    if (place && known == NULL)
        return ST_NOMEM;
    alphabet_codes(e->seq.order, letters, code);
    for (size_t i = 0; i < out->n; i++) {
        const char *s;
        const size_t len = letters_of(g->c, out->row[i], &s);
        bool strange = false;
        for (size_t p = 0; p < len && !strange; p++)
            strange = place ? p < positions && !known[p * 256 + (unsigned char)s[p]]
                            : code[(unsigned char)s[p]] >= letters;
        if (strange && n++ == 0)
            first = out->row[i];
        step_used(out->row, i, row_bytes(g->c));
    }
    free(known);
    if (n > out->strange) {
        out->strange = n;
        out->strange_first = first;
        out->strange_place = place;
    }
    return ST_OK;
}

static enum status encode_target(const struct encoding *e, const struct column *y, double *scaled,
                                 double *raw, struct encoded *out, struct err *err)
{
    for (size_t i = 0; i < out->n; i++) {
        double v = raw[i] = column_at(y, out->row[i]);
        if (e->yscale == Y_LOG && !(v > 0.0)) {
            char name[64];
            err_named(err, ST_STATE, "log", "the target %s is %.6g in row %zu: it has no logarithm",
                      shown(e->target, name, sizeof name), v, out->row[i] + 1);
            err_hint(err, "scale y=standard");
            return ST_STATE;
        }
        scaled[i] = ((e->yscale == Y_LOG ? log(v) : v) - e->ymean) / e->ysd;
        step_used(out->row, i, row_bytes(y) + 3 * sizeof v);
    }
    return ST_OK;
}

static enum status encode_targets(const struct encoding *e, const struct column *const *y,
                                  struct encoded *out, struct err *err)
{
    enum status rc = ST_OK;
    out->y = spill_array(out->t * out->n, sizeof *out->y, "targets", err);
    out->yraw = spill_array(out->t * out->n, sizeof *out->yraw, "targets", err);
    if (out->y == NULL || out->yraw == NULL)
        return ST_NOMEM;
    for (size_t k = 0; k < out->t && rc == ST_OK; k++) {
        const struct encoding one = encoding_for(e, k);
        rc = encode_target(&one, y[k], out->y + k * out->n, out->yraw + k * out->n, out, err);
    }
    return rc;
}

/* The targets' columns, all or none. */
static enum status find_targets(const struct encoding *e, const struct table *t,
                                const struct column **y, size_t *n, struct err *err)
{
    char name[64];
    *n = encoding_targets(e);
    for (size_t k = 0; k < encoding_targets(e); k++) {
        const char *target = encoding_for(e, k).target;
        const size_t j = target != NULL ? table_find(t, target) : SIZE_MAX;
        y[k] = j != SIZE_MAX ? &t->col[j] : NULL;
        if (j == SIZE_MAX)
            *n = 0;
    }
    for (size_t k = 0; k < *n; k++)
        if (y[k]->type != COL_REAL) {
            err_named(err, ST_STATE, "column", "the target %s holds words here",
                             shown(y[k]->name, name, sizeof name));
            err_hint(err, "open FILE types=NAME=real  shows the cell that is no number");
            return ST_STATE;
        }
    return ST_OK;
}

static enum status encode_weights(const struct encoding *e, const struct column *w,
                                  struct encoded *out, struct err *err)
{
    out->row_scale = spill_array(out->n, sizeof *out->row_scale, "weights", err);
    if (out->row_scale == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < out->n; i++) {
        const double v = column_at(w, out->row[i]);
        if (!(v > 0.0) || !isfinite(v)) {
            char name[64];
            err_named(err, ST_STATE, "weight", "the weight %s is %s%.6g in row %zu; weights are "
                      "numbers above 0", shown(e->weight, name, sizeof name),
                      isnan(v) ? "missing: " : "", v, out->row[i] + 1);
            err_hint(err,
                     isnan(v) ? "missing drop  |  cols NAME role=skip" : "cols NAME role=skip");
            return ST_STATE;
        }
        out->row_scale[i] = sqrt(v);
        step_used(out->row, i, row_bytes(w) + 2 * sizeof v);
    }
    return ST_OK;
}

static enum status encoded_rows(const struct source *s, size_t r0, size_t r1, double *x,
                                struct err *err)
{
    const struct encoded *e = (const struct encoded *)s; /* base comes first; out may be moved */
    size_t cut;

    if (e->x != NULL) {
        if (r1 > r0)
            memcpy(x, e->x + r0 * s->d, (r1 - r0) * s->d * sizeof *x);
        return ST_OK;
    }
    for (size_t a = r0, b; a < r1; a = b) {
        b = a + PIECE < r1 ? a + PIECE : r1;
        for (size_t k = 0; k < e->ngroup; k++)
            for (size_t i = a; i < b; i++) {
                const enum status rc = encode_cell(e->enc, &e->group[k], e->row[i],
                                                   x + (i - r0) * s->d, &cut, err);
                if (rc != ST_OK)
                    return rc;
            }
        spill_used(touched(e->row + a, b - a, groups_bytes(e->group, e->ngroup)));
        const size_t p = e->row[a], q = e->row[b - 1];
        const enum status rc = spill_cut() != e->table->cuts || p / CHECK_ROWS != q / CHECK_ROWS ||
                                       p % CHECK_ROWS == 0
                                   ? still_there(e->table, p < q ? p : q, p < q ? q : p, err)
                                   : ST_OK;
        if (rc != ST_OK)
            return rc;
    }
    return ST_OK;
}

/* Rows of letters are quickly made again, and would take far more room than the letters. */
static bool made_anew(const struct encoding *e)
{
    return e->seq.inputs > 0 || (e->seq.node != NULL && e->ncol == 0) ||
           (e->d > 256 && (e->col[0].kind == ENC_LETTER || e->col[e->ncol - 1].kind == ENC_LETTER));
}

static enum status make_room(const struct encoding *e, size_t n, struct encoded *out,
                             struct err *err)
{
    double bytes = (double)n * (double)e->d * sizeof(double);
    if (bytes > 0.9 * (double)mem_physical() && spill_fits(bytes) && !made_anew(e)) {
        char need[32], have[32];
        mem_format(need, sizeof need, bytes);
        mem_format(have, sizeof have, (double)mem_physical());
        err_named(err, ST_NOMEM, "memory", "%zu rows of %zu encoded inputs need %s; the machine "
                  "has %s", n, e->d, need, have);
        err_hint(err, "cols NAME role=skip  for categories of very many levels");
        return ST_NOMEM;
    }
    out->row = spill_array(n, sizeof *out->row, "row numbers", err);
    return out->row != NULL ? ST_OK : ST_NOMEM;
}

static enum status fill_matrix(const struct encoding *e, const struct group *g, size_t ng,
                               struct encoded *out, struct err *err)
{
    const bool keep = spill_fits((double)out->n * (double)e->d * sizeof(double)) && !made_anew(e);
    if (e->ncol == 0) /* nothing to count */
        return ST_OK;
    ng -= e->seq.inputs > 0;
    double *block = keep ? NULL : mem_calloc(PIECE * e->d, sizeof *block, "encoded inputs", err);
    out->x = keep ? spill_array(out->n * e->d, sizeof *out->x, "encoded inputs", err) : NULL;
    if (out->x == NULL && block == NULL)
        return ST_NOMEM;
    for (size_t r0 = 0; r0 < out->n; r0 += PIECE) { /* all rows once, if only to count */
        size_t r1 = r0 + PIECE < out->n ? r0 + PIECE : out->n;
        double *x = keep ? out->x + r0 * e->d : block;
        for (size_t k = 0; k < ng; k++)
            for (size_t i = r0; i < r1; i++)
                if (encode_cell(e, &g[k], out->row[i], x + (i - r0) * e->d, &out->cut, err) !=
                    ST_OK) {
                    free(block);
                    return ST_NOMEM;
                }
        spill_used(touched(out->row + r0, r1 - r0, groups_bytes(g, ng)));
    }
    free(block);
    return ST_OK;
}

enum status encode(const struct encoding *e, const struct table *t, const size_t *rows, size_t n,
                   bool want_y, struct encoded *out, struct err *err)
{
    *out = (struct encoded){ 0 };
    n = rows != NULL ? n : t->n;
    size_t ng = 0, weight = e->weight != NULL ? table_find(t, e->weight) : SIZE_MAX;
    const struct column *y[TARGETS_MOST];
    const struct column *w = weight != SIZE_MAX ? &t->col[weight] : NULL;
    struct group *g = NULL;
    enum status rc = n > 0 ? still_there(t, 0, t->n - 1, err) : ST_OK;
    if (rc == ST_OK)
        rc = make_groups(e, t, rows, n, &g, &ng, err);
    if (rc == ST_OK && want_y)
        rc = find_targets(e, t, y, &out->t, err);
    if (rc == ST_OK && w != NULL && w->type != COL_REAL) {
        char name[64];
        rc = err_named(err, ST_STATE, "column", "the weight %s holds words here",
                       shown(e->weight, name, sizeof name));
    }
    if (rc == ST_OK)
        rc = make_room(e, n, out, err);
    if (rc == ST_OK)
        rc = judge_rows(e, t, g, ng, y, w, rows, n, out, err);
    for (size_t k = 0; rc == ST_OK && !want_y && k < ng; k++)
        if (is_sequence(&g[k]) && g[k].kind != ENC_POOL)
            rc = count_strange(e, &g[k], out, err);
    if (rc == ST_OK)
        rc = fill_matrix(e, g, ng, out, err);
    if (rc == ST_OK && out->t > 0)
        rc = encode_targets(e, y, out, err);
    if (rc == ST_OK && w != NULL)
        rc = encode_weights(e, w, out, err);
    if (rc == ST_OK && n > 0)
        rc = still_there(t, 0, t->n - 1, err);
    out->table = t;
    const bool windows = e->seq.inputs > 0;
    const size_t room = rc == ST_OK && windows ? g[ng - 1].room * position_numbers(&e->seq) : 0;
    if (rc == ST_OK && out->x == NULL) {
        out->enc = e;
        out->group = g;
        out->ngroup = ng;
    } else {
        free_groups(g, ng);
    }
    if (rc != ST_OK)
        encoded_free(out);
    else
        out->base =
            (struct source){.n = out->n,
                            .d = windows ? e->ncol + 1 + room : e->d,
                            .rows = encoded_rows,
                            .row_scale = out->row_scale,
                            .row = !windows                                      ? ROW_FLAT
                                   : e->seq.value != NULL || e->seq.node != NULL ? ROW_VECTORS
                                                                                 : ROW_SYMBOLS,
                            .channels = windows ? e->seq.layer.channels : 0,
                            .flat = windows ? e->ncol : 0};
    return rc;
}

void encoded_free(struct encoded *e)
{
    spill_free(e->x);
    spill_free(e->y);
    spill_free(e->yraw);
    spill_free(e->row_scale);
    spill_free(e->row);
    free_groups(e->group, e->ngroup);
    *e = (struct encoded){ 0 };
}

/* Back to units of the target. */

double encoding_value(const struct encoding *e, double scaled)
{
    double y = scaled * e->ysd + e->ymean;
    return e->yscale == Y_LOG ? exp(y) : y;
}

void encoding_unscale(const struct encoding *e, size_t n, const double *mean, const double *var,
                      double *out_mean, double *out_sd)
{
    for (size_t i = 0; i < n; i++) {
        double m = mean[i] * e->ysd + e->ymean, v = var ? var[i] * e->ysd * e->ysd : 0;
        if (e->yscale == Y_LOG) /* of a log-normal */
            out_mean[i] = exp(m + 0.5 * v);
        else
            out_mean[i] = m;
        if (var)
            out_sd[i] = e->yscale == Y_LOG ? out_mean[i] * sqrt(expm1(v)) : sqrt(v);
    }
}
