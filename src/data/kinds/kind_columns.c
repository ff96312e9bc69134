/* data/kinds/kind_columns.c -- numbers and categories, as files contain them.
 *
 * A category of L levels becomes L indicators, centred and divided by a common s with s^2 = sum p
 * (1 - p). So the whole category has variance one, like a number, and the distance between two rows
 * does not depend on which levels they have. s is at least 1/4, because a flag that is hardly ever
 * set would otherwise move its rows to infinity. */
#include "data/kinds/kind.h"

#include "data/encode_group.h"
#include "data/encoding_column.h"
#include "data/encoding_moments.h"
#include "data/page_use.h"
#include "data/formats/import.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL_MIN_SD 0.25

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
            page_use_step(rows, i, page_use_row_bytes(c));
        }
    qsort(w, m, sizeof *w, by_value);
    *out = m == 0 ? 0.0 : m % 2 == 1 ? w[m / 2] : 0.5 * (w[m / 2 - 1] + w[m / 2]);
    free(w);
    return ST_OK;
}

static enum status fit_real(struct encoding_fitting *f, const struct column *c)
{
    const enum status far = encoding_moments_check(f, c, false);
    if (far != ST_OK)
        return far;

    struct enc_col *e = encoding_column_add(f, &kind_columns, c, ENC_REAL);
    if (e == NULL)
        return ST_NOMEM;
    const struct encoding_moments m = f->m[c - f->d->table->col];
    e->fill = m.mean;
    e->constant = m.constant;
    if (f->d->missing == MISSING_MEDIAN) {
        enum status rc = median(c, f->rows, f->n, &e->fill, f->err);
        if (rc != ST_OK)
            return rc;
    }
    if (m.constant)
        encoding_column_constant(f, c->name);
    e->mean = m.mean;
    if (f->d->xscale == X_NONE) {
        e->mean = m.constant ? m.mean : 0.0;
        return ST_OK;
    }
    if (!m.constant) {
        e->sd = f->common > 0.0 ? f->common : m.sd;
        e->limit = ENCODING_COLUMN_CUT * fmax(1.0, fmax(m.max - m.mean, m.mean - m.min) / e->sd);
    }
    return ST_OK;
}

static enum status fit_category(struct encoding_fitting *f, const struct column *c)
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
        struct enc_col *e = encoding_column_add(f, &kind_columns, c, ENC_LEVEL);
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
        encoding_column_constant(f, c->name);
    free(count);
    return rc;
}

static enum status fit_flag(struct encoding_fitting *f, const struct column *c)
{
    size_t missing = 0;
    for (size_t i = 0; i < f->n; i++)
        missing += column_missing(c, f->rows[i]);
    if (missing == 0)
        return ST_OK;
    struct enc_col *e = encoding_column_add(f, &kind_columns, c, ENC_MISSING);
    if (e == NULL)
        return ST_NOMEM;
    double p = (double)missing / (double)f->n;
    e->constant = missing == f->n;
    if (f->d->xscale != X_NONE && !e->constant) {
        e->mean = p;
        e->sd = fmax(sqrt(p * (1.0 - p)), LEVEL_MIN_SD);
    }
    return ST_OK;
}

/* Levels of the table's column (encode_group.map); a numeric column without levels has none. */
struct levels {
    uint32_t *to;  /* table code to level of the encoding; UINT32_MAX: never seen */
    double *value; /* levels as numbers, if the table has numbers there */
};

static size_t find_level(const struct encoding *e, const struct encode_group *g, const char *word)
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

/* The level of a cell that is not missing; SIZE_MAX: never seen. */
static size_t level_of(const struct encoding *e, const struct encode_group *g, size_t row)
{
    const struct column *c = g->c;
    const struct levels *m = g->map;
    if (c->type == COL_CATEGORY)
        return m->to[c->code[row]] == UINT32_MAX ? SIZE_MAX : m->to[c->code[row]];
    if (c->type == COL_TEXT || c->type == COL_HELD)
        return column_word(c, row) != NULL ? find_level(e, g, column_word(c, row)) : SIZE_MAX;
    for (size_t k = 0; k < g->n; k++)
        if (m->value[k] == column_at(c, row))
            return k;
    return SIZE_MAX;
}

static void unmap(void *map)
{
    struct levels *m = map;

    if (m == NULL)
        return;
    free(m->to);
    free(m->value);
    free(m);
}

static enum status map_levels(const struct encoding *e, struct encode_group *g, struct err *err)
{
    struct levels *m = g->map = mem_calloc(1, sizeof *m, "levels", err);

    if (m == NULL)
        return ST_NOMEM;
    if (g->c->type == COL_CATEGORY) {
        m->to = mem_calloc(g->c->nlevels, sizeof *m->to, "levels", err);
        if (m->to == NULL)
            return ST_NOMEM;
        for (size_t k = 0; k < g->c->nlevels; k++) {
            size_t l = find_level(e, g, g->c->level[k]);
            m->to[k] = l == SIZE_MAX ? UINT32_MAX : (uint32_t)l;
        }
    } else if (g->c->type == COL_REAL) {
        m->value = mem_calloc(g->n, sizeof *m->value, "levels", err);
        if (m->value == NULL)
            return ST_NOMEM;
        for (size_t k = 0; k < g->n; k++) {
            const char *word = e->col[g->first + k].level;
            if (!scan_number_all(word, strlen(word), '.', &m->value[k]))
                m->value[k] = NAN;
        }
    }
    return ST_OK;
}

static enum status fit(struct encoding_fitting *f, const struct column *c)
{
    const struct dataset *d = f->d;
    const enum status rc = c->type == COL_REAL ? fit_real(f, c) : fit_category(f, c);

    if (rc == ST_OK && d->missing_flag &&
        (d->missing == MISSING_MEAN || d->missing == MISSING_MEDIAN))
        return fit_flag(f, c);
    return rc;
}

static enum status map(const struct encoding *e, struct encode_group *g, struct err *err)
{
    char name[64];

    if (g->n > 0 && e->col[g->first].kind == ENC_LEVEL)
        return map_levels(e, g, err);
    if (g->c->type == COL_REAL || g->n == 0 || g->empty)
        return ST_OK;
    err_named(err, ST_STATE, "column", "column %s holds words here but numbers in the training "
              "data", text_quoted(e->col[g->first].column, name, sizeof name));
    err_hint(err, "open FILE types=NAME=real  tells which cell does not fit");
    return ST_STATE;
}

static enum cell_state judge(const struct encoding *e, const struct encode_group *g, size_t row)
{
    if (column_missing(g->c, row))
        return CELL_MISSING;
    return g->map != NULL && level_of(e, g, row) == SIZE_MAX ? CELL_UNSEEN : CELL_THERE;
}

static void encode_cell(const struct encoding *e, const struct encode_group *g, size_t row,
                        double *x, size_t *cut)
{
    const bool levels = g->map != NULL;
    bool missing = column_missing(g->c, row);
    size_t level = levels && !missing ? level_of(e, g, row) : SIZE_MAX;
    missing = missing || (levels && level == SIZE_MAX);
    for (size_t k = 0; k < g->n; k++) {
        const struct enc_col *c = &e->col[g->first + k];
        double value = missing ? c->fill : levels ? (double)(k == level) : column_at(g->c, row);
        x[g->first + k] = encoding_column_value(c, value, cut);
    }
    if (g->flag != SIZE_MAX)
        x[g->flag] = encoding_column_value(&e->col[g->flag], missing ? 1.0 : 0.0, cut);
}

const struct row_kind kind_columns = {
    .name = "columns",
    .several = "numbers or categories",
    .rows = ROWS_NUMBERS,
    .fit = fit,
    .map = map,
    .unmap = unmap,
    .judge = judge,
    .encode = encode_cell,
    .example = "colour\nred\ngreen\nblue\nwhite\n",
};
