/* data/encoding_moments.c -- see encoding_moments.h. */
#include "data/encoding_moments.h"

#include "data/page_use.h"
#include "base/text.h"

#define CONSTANT_NOISE 1e-10 /* sd below this share of the largest magnitude is rounding noise */
/* Squares of smaller magnitudes, and inverse squares of those above the reciprocal, are finite. */
#define GREATEST 1e150

/* Two passes in row order over all columns together: every caller gets the same bits, and a table
 * on disk is read only twice, however many columns it has. */
static void moments_first(const struct column *c, const size_t *rows, size_t a, size_t b, bool logs,
                          struct encoding_moments *m)
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
    for (size_t i = a; i + PAGE_USE_PIECE <= b; i += PAGE_USE_PIECE)
        spill_used(page_use_touched(rows + i, PAGE_USE_PIECE, m->width));
}

static void moments_second(const struct column *c, const size_t *rows, size_t a, size_t b,
                           bool logs, struct encoding_moments *m)
{
    for (size_t i = a; i < b; i++) {
        double x = logs ? log(column_at(c, rows[i])) : column_at(c, rows[i]);
        if (isnan(x))
            continue;
        m->rest += x - m->mean;
        m->squares += (x - m->mean) * (x - m->mean);
    }
    for (size_t i = a; i + PAGE_USE_PIECE <= b; i += PAGE_USE_PIECE)
        spill_used(page_use_touched(rows + i, PAGE_USE_PIECE, m->width));
}

static void moments_end(struct encoding_moments *m)
{
    if (m->n == 0) {
        *m = (struct encoding_moments){ .constant = true, .sd = 0.0 };
        return;
    }
    m->mean += m->rest / (double)m->n; /* corrects the rounding error of the first pass */
    m->sd = sqrt(fmax(m->squares - m->rest * m->rest / (double)m->n, 0.0) / (double)m->n);
    m->magnitude = fmax(fabs(m->min), fabs(m->max));
    m->beyond = m->max > m->min && !(m->magnitude <= GREATEST && m->magnitude >= 1.0 / GREATEST);
    m->constant = m->max == m->min || !(m->sd > CONSTANT_NOISE * m->magnitude) ||
                  !isfinite(m->sd);
}

void encoding_moments_take(const struct dataset *d, const size_t *rows, size_t n, bool logs,
                         struct encoding_moments *m)
{
    enum { BLOCK = 4096 };
    const struct table *t = d->table;

    for (size_t j = 0; j < t->ncols; j++) {
        const struct column *c = &t->col[j];
        const bool wanted = c->type == COL_REAL &&
                            (d->role[j] == ROLE_TARGET || d->role[j] == ROLE_INPUT);
        m[j] = (struct encoding_moments){ .min = INFINITY, .max = -INFINITY, .wanted = wanted };
        if (wanted && (j == 0 || c->in == NULL || c->in != c[-1].in || !m[j - 1].wanted ||
                       mapped_array_stride(c->in) <= sizeof(double)))
            m[j].width = page_use_row_bytes(c); /* else its neighbour brings its pages */
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

struct encoding_moments encoding_moments_of(const struct column *c, const size_t *rows, size_t n)
{
    struct encoding_moments m = {
        .min = INFINITY, .max = -INFINITY, .wanted = true, .width = page_use_row_bytes(c) };

    moments_first(c, rows, 0, n, false, &m);
    m.mean = m.n > 0 ? m.sum / (double)m.n : 0.0;
    moments_second(c, rows, 0, n, false, &m);
    moments_end(&m);
    return m;
}

enum status encoding_moments_check(struct encoding_fitting *f, const struct column *c, bool target)
{
    const struct encoding_moments *m = &f->m[c - f->d->table->col];
    char name[64];

    if (!m->beyond)
        return ST_OK;
    err_named(f->err, ST_STATE, "magnitude",
              "the %s %s reaches %.3g: between %g and %g its squares can "
              "be computed; give it other units in the file",
              target ? "target" : "input", text_quoted(c->name, name, sizeof name), m->magnitude,
              1.0 / GREATEST, GREATEST);
    if (!target)
        err_hint(f->err, "cols NAME role=skip");
    return ST_STATE;
}
