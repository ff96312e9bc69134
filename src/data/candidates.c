/* data/candidates.c -- see candidates.h. */
#include "data/candidates.h"

#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"
#include "compute/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A column and the values that it can take: an interval, in steps if `step` is not 0, or a list. */
struct range {
    size_t col;
    double lo, hi, step;
    double *value; /* a list, of codes for categories; NULL: an interval */
    size_t n;      /* number of values; 0: as many as there are numbers */
};
struct maker {
    const struct candidates_from *from;
    const struct table *t;
    struct range *range; size_t n;
    size_t *good; size_t ngood; /* measured rows */
};

static void maker_free(struct maker *m)
{
    for (size_t i = 0; m->range && i < m->n; i++)
        free(m->range[i].value);
    free(m->range);
    free(m->good);
}

/* Ranges. */

static enum status bad_range(const struct table *t, size_t col, const char *text, const char *why,
                             struct err *err)
{
    char name[48], quoted[48];

    err_named(err, ST_USAGE, "range", "%s=%s: %s", text_quoted(t->col[col].name, name, sizeof name),
              text_quoted(text, quoted, sizeof quoted), why);
    err_hint(err, t->col[col].type == COL_CATEGORY ? "NAME=water,dmso"
                                                   : "NAME=20..80  |  5..9/0.5  |  1,2,5");
    return ST_USAGE;
}

/* The number of values of an interval in steps; the last step may fall short of the end. */
static size_t steps_of(const struct range *r)
{
    const double n = floor((r->hi - r->lo) / r->step * (1.0 + 1e-12) + 1e-9) + 1.0;

    return n < 1e15 ? (size_t)n : (size_t)1e15;
}

static bool read_interval(const char *text, struct range *r)
{
    const char *dots = strstr(text, ".."), *slash = strchr(text, '/');
    const size_t end = slash ? (size_t)(slash - text) : strlen(text);

    if (!dots || dots + 2 > text + end ||
        !text_double(text, (size_t)(dots - text), &r->lo) ||
        !text_double(dots + 2, end - (size_t)(dots + 2 - text), &r->hi))
        return false;
    r->step = 0.0;
    return !slash || (text_double(slash + 1, strlen(slash + 1), &r->step) && r->step > 0.0);
}

/* One value of a list. */
static enum status read_value(const struct table *t, const char *word, size_t len, struct range *r,
                              struct err *err)
{
    const struct column *c = &t->col[r->col];
    char one[256];
    double v = NAN;

    snprintf(one, sizeof one, "%.*s", (int)(len < sizeof one ? len : sizeof one - 1), word);
    if (c->type == COL_REAL && !text_double(word, len, &v))
        return bad_range(t, r->col, one, "this is no number", err);
    for (size_t k = 0; c->type == COL_CATEGORY && k < c->nlevels; k++)
        if (!strcmp(c->level[k], one))
            v = (double)k;
    if (!isfinite(v))
        return bad_range(t, r->col, one, "the data have no such category", err);
    r->value[r->n++] = v;
    return ST_OK;
}

static enum status read_range(const struct table *t, const char *text, struct range *r,
                              struct err *err)
{
    const struct column *c = &t->col[r->col];
    size_t most = 1;
    enum status rc = ST_OK;

    if (c->type == COL_REAL && strstr(text, "..")) {
        if (!read_interval(text, r))
            return bad_range(t, r->col, text, "an interval is 20..80 or 20..80/5", err);
        if (!(r->lo < r->hi) || !isfinite(r->hi - r->lo))
            return bad_range(t, r->col, text, "the first end must be below the second", err);
        r->n = r->step > 0.0 ? steps_of(r) : 0;
        return ST_OK;
    }
    for (const char *p = text; *p; p++)
        most += *p == ',';
    r->value = mem_calloc(most, sizeof *r->value, "a range", err);
    if (!r->value)
        return ST_NOMEM;
    for (const char *p = text; rc == ST_OK; p++) {
        const size_t len = strcspn(p, ",");
        rc = read_value(t, p, len, r, err);
        p += len;
        if (!*p)
            break;
    }
    return rc;
}

/* The values that the table has. */
static enum status measured_range(const struct table *t, struct range *r, struct err *err)
{
    const struct column *c = &t->col[r->col];

    if (c->type == COL_CATEGORY) {
        r->value = mem_calloc(c->nlevels ? c->nlevels : 1, sizeof *r->value, "a range", err);
        if (!r->value)
            return ST_NOMEM;
        for (size_t k = 0; k < c->nlevels; k++)
            r->value[r->n++] = (double)k;
        return r->n ? ST_OK : bad_range(t, r->col, "", "the column is empty", err);
    }
    r->lo = INFINITY, r->hi = -INFINITY;
    for (size_t i = 0; i < t->n; i++) {
        const double v = column_at(c, i);
        r->lo = v < r->lo ? v : r->lo;
        r->hi = v > r->hi ? v : r->hi;
    }
    if (!isfinite(r->hi - r->lo))
        return bad_range(t, r->col, "", "the column has no numbers to take a range from", err);
    r->step = c->integers ? 1.0 : 0.0;
    r->n = r->step > 0.0 ? steps_of(r) : 0;
    if (r->lo < r->hi)
        return ST_OK;
    r->value = mem_calloc(1, sizeof *r->value, "a range", err);
    if (!r->value)
        return ST_NOMEM;
    r->value[0] = r->lo;
    r->n = 1;
    return ST_OK;
}

/* The range that was given for a column; NULL: none. */
static const char *given_range(const struct candidates_from *f, const char *name)
{
    const size_t n = strlen(name);

    for (size_t i = 0; i < f->nrange; i++)
        if (!strncmp(f->range[i], name, n) && f->range[i][n] == '=')
            return f->range[i] + n + 1;
    return NULL;
}

static enum status check_names(const struct candidates_from *f, struct err *err)
{
    const struct table *t = f->d->table;

    for (size_t i = 0; i < f->nrange; i++) {
        bool found = false, target = false;
        for (size_t j = 0; j < t->ncols; j++) {
            const size_t n = strlen(t->col[j].name);
            if (strncmp(f->range[i], t->col[j].name, n) || f->range[i][n] != '=')
                continue;
            found = true;
            target = f->d->role[j] == ROLE_TARGET;
        }
        const size_t len = strcspn(f->range[i], "=");
        char *name = found && !target ? NULL : strndup(f->range[i], len);
        if (found && !target)
            continue;
        enum status rc = !name ? err_nomem(err, len, "a name") : ST_USAGE;
        if (name && target)
            rc = bad_range(t, table_find(t, name), "", "a target has no range", err);
        else if (name)
            rc = dataset_find_column(t, name, err);
        free(name);
        return rc;
    }
    return ST_OK;
}

static enum status read_ranges(struct maker *m, struct err *err)
{
    const struct candidates_from *f = m->from;
    enum status rc = check_names(f, err);

    m->range = mem_calloc(m->t->ncols + 1, sizeof *m->range, "ranges", err);
    if (rc != ST_OK || !m->range)
        return rc != ST_OK ? rc : ST_NOMEM;
    for (size_t j = 0; rc == ST_OK && j < m->t->ncols; j++) {
        const struct column *c = &m->t->col[j];
        const char *given = given_range(f, c->name);
        if (!given && f->d->role[j] != ROLE_INPUT)
            continue;
        if (c->type != COL_REAL && c->type != COL_CATEGORY) {
            char name[48];
            err_named(err, ST_STATE, "range",
                      "column %s has neither numbers nor categories, so that it has no range",
                      text_quoted(c->name, name, sizeof name));
            err_hint(err, "suggest 8 pool=FILE");
            return ST_STATE;
        }
        m->range[m->n] = (struct range){ .col = j };
        rc = given ? read_range(m->t, given, &m->range[m->n++], err)
                   : measured_range(m->t, &m->range[m->n++], err);
    }
    return rc;
}

static void tell_range(const struct maker *m, const struct range *r, struct buf *told)
{
    char a[32], b[32], c[32];

    buf_puts(told, told->len ? ", " : "");
    text_safe(told, m->t->col[r->col].name, 24);
    text_number(a, sizeof a, r->value ? r->value[0] : r->lo);
    text_number(b, sizeof b, r->hi);
    text_number(c, sizeof c, r->step);
    if (r->value && r->n > 1)
        buf_printf(told, " (%zu values)", r->n);
    else if (r->value && m->t->col[r->col].type == COL_REAL)
        buf_printf(told, " %s", a);
    else if (r->value)
        buf_puts(told, " (1 value)");
    else if (r->step > 0.0)
        buf_printf(told, " %s..%s by %s", a, b, c);
    else
        buf_printf(told, " %s..%s", a, b);
}

/* Rows. */

/* The k-th value of a range. */
static double value_at(const struct range *r, size_t k)
{
    return r->value ? r->value[k] : r->lo + (double)k * r->step;
}

/* A value on the steps of the range. */
static double snap(const struct range *r, double v)
{
    v = v < r->lo ? r->lo : v > r->hi ? r->hi : v;
    if (!(r->step > 0.0))
        return v;
    const double k = nearbyint((v - r->lo) / r->step), most = (double)(r->n - 1);
    return r->lo + (k < most ? k : most) * r->step;
}

enum { DRAW_SPREAD, DRAW_NEAR, DRAW_KEEP, DRAWS }; /* streams of a column */
enum { ROW_PARENT, ROW_SCALE, ROW_STREAMS };       /* streams of a row */

static uint64_t stream_of(size_t col, unsigned draw)
{
    return rng_stream(RNG_SUGGEST, (uint32_t)(ROW_STREAMS + 8 + col * DRAWS + draw));
}

static double spread(const struct maker *m, const struct range *r, size_t i)
{
    const uint64_t seed = m->from->seed, stream = stream_of(r->col, DRAW_SPREAD);

    if (r->n > 0)
        return value_at(r, (size_t)rng_below(seed, stream, i, r->n));
    return r->lo + (r->hi - r->lo) * rng_uniform(seed, stream, i);
}

/* Near the value `from` of a good row. */
static double near(const struct maker *m, const struct range *r, size_t i, double from,
                   double scale)
{
    const uint64_t seed = m->from->seed;

    if (!isfinite(from) || rng_uniform(seed, stream_of(r->col, DRAW_KEEP), i) < 0.1)
        return spread(m, r, i);
    if (!r->value)
        return snap(r, from + scale * (r->hi - r->lo) *
                                  rng_normal(seed, stream_of(r->col, DRAW_NEAR), i));
    for (size_t k = 0; k < r->n; k++)
        if (r->value[k] == from)
            return from;
    return spread(m, r, i);
}

static double table_value(const struct column *c, size_t row)
{
    if (c->type == COL_REAL)
        return column_at(c, row);
    return c->code[row] == UINT32_MAX ? NAN : (double)c->code[row];
}

/* The best of four measured rows. */
static size_t parent_of(const struct maker *m, size_t i)
{
    const uint64_t stream = rng_stream(RNG_SUGGEST, ROW_PARENT);
    size_t best = SIZE_MAX;

    for (size_t k = 0; k < 4; k++) {
        const size_t row = m->good[rng_below(m->from->seed, stream, 4 * i + k, m->ngood)];
        if (best == SIZE_MAX || m->from->utility[row] > m->from->utility[best])
            best = row;
    }
    return best;
}

static void put(struct column *c, size_t i, double v)
{
    if (c->type == COL_REAL)
        c->v[i] = v;
    else
        c->code[i] = (uint32_t)v;
}

static void fill_all(const struct maker *m, struct table *out)
{
    for (size_t i = 0; i < out->n; i++)
        for (size_t j = m->n, at = i; j-- > 0; at /= m->range[j].n)
            put(&out->col[j], i, value_at(&m->range[j], at % m->range[j].n));
}

static void fill_random(const struct maker *m, struct table *out)
{
    for (size_t i = 0; i < out->n; i++) {
        const bool local = m->ngood > 0 && i % 2;
        const size_t parent = local ? parent_of(m, i) : 0;
        /* Distances of 30 % to 0.1 % of the range. */
        const double u = rng_uniform(m->from->seed, rng_stream(RNG_SUGGEST, ROW_SCALE), i),
                     scale = pow(10.0, -0.5 - 2.5 * u);
        for (size_t j = 0; j < m->n; j++) {
            const struct range *r = &m->range[j];
            const struct column *c = &m->t->col[r->col];
            put(&out->col[j], i, local ? near(m, r, i, table_value(c, parent), scale)
                                       : spread(m, r, i));
        }
    }
}

/* A column of n cells like c; the strings of levels belong to the table of c. */
static enum status column_like(const struct column *c, size_t n, struct column *to,
                               struct err *err)
{
    to->name = mem_strdup(c->name, err);
    to->type = c->type;
    to->date = c->date;
    to->named = c->named;
    if (to->name && c->type == COL_REAL) {
        to->v = spill_array(n, sizeof *to->v, "candidates", err);
        return to->v ? ST_OK : ST_NOMEM;
    }
    to->code = to->name ? spill_array(n, sizeof *to->code, "candidates", err) : NULL;
    to->level = to->code ? mem_calloc(c->nlevels, sizeof *to->level, "categories", err) : NULL;
    if (!to->level)
        return ST_NOMEM;
    memcpy(to->level, c->level, c->nlevels * sizeof *to->level);
    to->nlevels = c->nlevels;
    return ST_OK;
}

static enum status find_good(struct maker *m, struct err *err)
{
    m->good = mem_calloc(m->t->n + 1, sizeof *m->good, "measured rows", err);
    for (size_t i = 0; m->good && i < m->t->n; i++)
        if (m->from->utility && isfinite(m->from->utility[i]))
            m->good[m->ngood++] = i;
    return m->good ? ST_OK : ST_NOMEM;
}

static enum status make(struct maker *m, struct table **out, struct err *err)
{
    double all = 1.0;
    enum status rc = ST_OK;

    for (size_t j = 0; j < m->n; j++)
        all *= m->range[j].n > 0 ? (double)m->range[j].n : INFINITY;
    struct table *t = table_new("candidates", m->n, err);
    if (!t)
        return ST_NOMEM;
    t->n = all <= (double)m->from->most ? (size_t)all : m->from->most;
    t->base = table_ref((struct table *)(uintptr_t)m->t);
    t->duplicates = -1;
    for (size_t j = 0; rc == ST_OK && j < m->n; j++)
        rc = column_like(&m->t->col[m->range[j].col], t->n, &t->col[j], err);
    if (rc == ST_OK && all <= (double)m->from->most)
        fill_all(m, t);
    else if (rc == ST_OK)
        fill_random(m, t);
    if (rc == ST_OK)
        *out = t;
    else
        table_unref(t);
    return rc;
}

enum status candidates_make(const struct candidates_from *from, struct table **out,
                            struct buf *told, struct err *err)
{
    struct maker m = { .from = from, .t = from->d->table };
    enum status rc = read_ranges(&m, err);

    if (rc == ST_OK)
        rc = find_good(&m, err);
    for (size_t i = 0; rc == ST_OK && i < m.n; i++)
        tell_range(&m, &m.range[i], told);
    if (rc == ST_OK && m.n == 0)
        rc = err_set(err, ST_STATE, "the data have no input to make rows of");
    if (rc == ST_OK)
        rc = make(&m, out, err);
    maker_free(&m);
    return rc;
}
