/* figure/figure.c -- builds figures: curves, histograms, thinning, ranges and ticks.
 *
 * Everything that the renderers must agree on is decided here, so that the screen, the image and
 * the text of a figure show the same ranges with the same numbers along the axes. */
#include "figure/figure.h"

#include "figure/figure_layout.h"
#include "base/mem.h"
#include "base/text.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status replace_string(char **p, const char *s, struct err *err)
{
    char *copy = NULL;

    if (s != NULL) {
        copy = mem_strdup(s, err);
        if (copy == NULL)
            return ST_NOMEM;
    }
    free(*p);
    *p = copy;
    return ST_OK;
}

struct figure *figure_new(const char *name, const char *title, struct err *err)
{
    struct figure *f = mem_calloc(1, sizeof *f, "a figure", err);

    if (f == NULL)
        return NULL;
    f->x.lo = f->x.hi = f->y.lo = f->y.hi = NAN;
    if (replace_string(&f->name, name, err) != ST_OK ||
        replace_string(&f->title, title, err) != ST_OK) {
        figure_free(f);
        return NULL;
    }
    return f;
}

struct figure *figure_empty(const char *name, const char *reason, struct err *err)
{
    struct figure *f = figure_new(name, "", err);

    if (f != NULL && replace_string(&f->reason, reason, err) != ST_OK) {
        figure_free(f);
        return NULL;
    }
    return f;
}

static void axis_clear(struct axis *a)
{
    for (size_t i = 0; i < a->nname; i++)
        free(a->name[i]);
    free(a->name);
    free(a->label);
    *a = (struct axis){ .lo = NAN, .hi = NAN };
}

static void series_clear(struct series *s)
{
    free(s->title);
    free(s->x);
    free(s->y);
    free(s->y2);
    free(s->count);
    free(s->count_title);
    free(s->group);
    free(s->class_names);
    *s = (struct series){ .color = -1 };
}

void figure_free(struct figure *f)
{
    while (f != NULL) {
        struct figure *next = f->next;
        for (size_t i = 0; i < f->ns; i++)
            series_clear(&f->s[i]);
        free(f->s);
        free(f->name);
        free(f->title);
        axis_clear(&f->x);
        axis_clear(&f->y);
        free(f->verdict);
        free(f->reason);
        free(f->picture);
        free(f->drawn);
        free(f->undrawn);
        free(f->listing);
        free(f);
        f = next;
    }
}

static enum status copy_values(double **out, size_t n, const double *v, struct err *err)
{
    *out = mem_calloc(n > 0 ? n : 1, sizeof **out, "a curve", err);
    if (*out == NULL)
        return ST_NOMEM;
    if (n > 0)
        memcpy(*out, v, n * sizeof *v);
    return ST_OK;
}

struct series *figure_add(struct figure *f, const char *title, enum mark mark, size_t n,
                          const double *x, const double *y, struct err *err)
{
    void *p = f->s;

    if (mem_grow(&p, &f->cap, f->ns + 1, sizeof *f->s, "the curves of a figure", err) != ST_OK)
        return NULL;
    f->s = p;
    struct series s = { .mark = mark, .color = -1, .n = n };
    if (replace_string(&s.title, title, err) != ST_OK || copy_values(&s.y, n, y, err) != ST_OK ||
        (x != NULL && copy_values(&s.x, n, x, err) != ST_OK)) {
        series_clear(&s);
        return NULL;
    }
    f->s[f->ns] = s;
    return &f->s[f->ns++];
}

struct series *figure_add_band(struct figure *f, const char *title, size_t n, const double *x,
                               const double *lo, const double *hi, struct err *err)
{
    struct series *s = figure_add(f, title, MARK_BAND, n, x, lo, err);

    if (s != NULL && copy_values(&s->y2, n, hi, err) != ST_OK) {
        series_clear(s);
        f->ns--;
        return NULL;
    }
    return s;
}

struct series *figure_add_hline(struct figure *f, const char *title, double y, struct err *err)
{
    return figure_add(f, title, MARK_HLINE, 1, NULL, &y, err);
}

struct series *figure_add_vline(struct figure *f, const char *title, double x, struct err *err)
{
    return figure_add(f, title, MARK_VLINE, 1, &x, &x, err);
}

enum status figure_names(struct axis *a, size_t n, const char *const *name, struct err *err)
{
    char **copy = mem_calloc(n + 1, sizeof *copy, "the names on an axis", err);

    if (copy == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < a->nname; i++)
        free(a->name[i]);
    free(a->name);
    a->name = copy;
    for (a->nname = 0; a->nname < n; a->nname++) {
        copy[a->nname] = mem_strdup(name[a->nname], err);
        if (copy[a->nname] == NULL)
            return ST_NOMEM;
    }
    return ST_OK;
}

enum status figure_classes(struct series *s, const int *group, struct err *err)
{
    int *copy = mem_calloc(s->n > 0 ? s->n : 1, sizeof *copy, "the classes of a curve", err);

    if (copy == NULL)
        return ST_NOMEM;
    if (s->n > 0)
        memcpy(copy, group, s->n * sizeof *group);
    free(s->group);
    s->group = copy;
    return ST_OK;
}

enum status figure_counts(struct series *s, const char *title, const double *count,
                          struct err *err)
{
    free(s->count);
    s->count = NULL;
    const enum status rc = replace_string(&s->count_title, title, err);
    return rc != ST_OK ? rc : copy_values(&s->count, s->n, count, err);
}

enum status figure_class_names(struct series *s, const char *lines, struct err *err)
{
    return replace_string(&s->class_names, lines, err);
}

enum status figure_label(struct figure *f, const char *x, const char *y, struct err *err)
{
    enum status rc = replace_string(&f->x.label, x, err);
    return rc != ST_OK ? rc : replace_string(&f->y.label, y, err);
}

enum status figure_verdict(struct figure *f, struct err *err, const char *fmt, ...)
{
    struct buf b = { 0 };
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    char *s = buf_take(&b);
    buf_free(&b);
    if (s == NULL)
        return err_nomem(err, 0, "a verdict");
    free(f->verdict);
    f->verdict = s;
    return ST_OK;
}

static enum status copy_series(struct figure *to, const struct series *s, struct err *err)
{
    struct series *c = figure_add(to, s->title, s->mark, s->n, s->x, s->y, err);

    if (c == NULL)
        return ST_NOMEM;
    c->color = s->color;
    c->dashed = s->dashed;
    c->faint = s->faint;
    c->foremost = s->foremost;
    c->across = s->across;
    c->steep = s->steep;
    c->sign = s->sign;
    c->reach = s->reach;
    c->classes_in_order = s->classes_in_order;
    if (s->y2 != NULL && copy_values(&c->y2, s->n, s->y2, err) != ST_OK)
        return ST_NOMEM;
    if (s->class_names != NULL && figure_class_names(c, s->class_names, err) != ST_OK)
        return ST_NOMEM;
    if (s->count != NULL && figure_counts(c, s->count_title, s->count, err) != ST_OK)
        return ST_NOMEM;
    return s->group == NULL ? ST_OK : figure_classes(c, s->group, err);
}

static struct figure *copy_panel(const struct figure *f, struct err *err)
{
    struct figure *c = figure_new(f->name, f->title, err);

    if (c == NULL)
        return NULL;
    c->x.log = f->x.log;
    c->x.whole = f->x.whole;
    c->x.lo = f->x.lo;
    c->x.hi = f->x.hi;
    c->y.log = f->y.log;
    c->y.whole = f->y.whole;
    c->y.lo = f->y.lo;
    c->y.hi = f->y.hi;
    c->square = f->square;
    c->across = f->across;
    c->picture_w = f->picture_w;
    c->picture_h = f->picture_h;
    enum status rc = figure_label(c, f->x.label, f->y.label, err);
    if (rc == ST_OK && f->x.nname > 0)
        rc = figure_names(&c->x, f->x.nname, (const char *const *)f->x.name, err);
    if (rc == ST_OK && f->y.nname > 0)
        rc = figure_names(&c->y, f->y.nname, (const char *const *)f->y.name, err);
    if (rc == ST_OK)
        rc = replace_string(&c->verdict, f->verdict, err);
    if (rc == ST_OK)
        rc = replace_string(&c->reason, f->reason, err);
    if (rc == ST_OK)
        rc = replace_string(&c->picture, f->picture, err);
    if (rc == ST_OK)
        rc = replace_string(&c->drawn, f->drawn, err);
    if (rc == ST_OK)
        rc = replace_string(&c->listing, f->listing, err);
    if (rc == ST_OK)
        rc = replace_string(&c->undrawn, f->undrawn, err);
    for (size_t i = 0; rc == ST_OK && i < f->ns; i++)
        rc = copy_series(c, &f->s[i], err);
    if (rc != ST_OK) {
        figure_free(c);
        return NULL;
    }
    return c;
}

struct figure *figure_copy(const struct figure *f, struct err *err)
{
    struct figure *first = NULL, **end = &first;

    for (; f != NULL; f = f->next) {
        *end = copy_panel(f, err);
        if (*end == NULL) {
            figure_free(first);
            return NULL;
        }
        end = &(*end)->next;
    }
    return first;
}

/* Histograms. */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Up to 20,000 finite values, evenly sampled and sorted; NULL if memory is exhausted or there are
 * none. */
static double *sorted_sample(size_t n, const double *v, size_t *out_n)
{
    enum { SAMPLE = 20000 };
    const size_t step = n > SAMPLE ? n / SAMPLE : 1;
    double *s = mem_calloc(n / step + 1, sizeof *s, "a histogram", NULL);
    size_t k = 0;

    *out_n = 0;
    if (s == NULL)
        return NULL;
    for (size_t i = 0; i < n; i += step)
        if (isfinite(v[i]))
            s[k++] = v[i];
    if (k == 0) {
        free(s);
        return NULL;
    }
    qsort(s, k, sizeof *s, by_value);
    *out_n = k;
    return s;
}

static bool all_whole(size_t n, const double *v)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] != floor(v[i]) || fabs(v[i]) > 1e9)
            return false;
    return true;
}

size_t figure_bins(size_t n, const double *values, double *lo, double *hi)
{
    enum { FEWEST = 5, MOST = 60 };
    size_t k = 0;
    double *s = sorted_sample(n, values, &k);

    if (s == NULL) {
        if (!isfinite(*lo) || !isfinite(*hi) || *lo >= *hi) {
            *lo = 0;
            *hi = 1;
        }
        return FEWEST;
    }
    const double iqr = s[k - 1 - k / 4] - s[k / 4];
    double width = 2 * iqr / cbrt((double)n);
    double a = s[0], b = s[k - 1];
    /* Distant outliers would put everything else into one bin; instead the end bins also count what
     * lies beyond. */
    const double q0 = s[k / 200], q1 = s[k - 1 - k / 200], reach = 0.75 * (q1 - q0);
    if (reach > 0 && isfinite(reach)) {
        a = fmax(a, q0 - reach);
        b = fmin(b, q1 + reach);
    }
    const bool whole = all_whole(k, s);
    free(s);
    if (isfinite(*lo) && isfinite(*hi) && *lo < *hi) {
        a = fmin(a, *lo);
        b = fmax(b, *hi);
    } else if (whole && b - a <= MOST - 1) {
        a -= 0.5;
        b += 0.5;
    }
    if (!(b > a)) {
        const double pad = fmax(fabs(a) * 0.05, DBL_MIN * 8);
        b = a + pad;
        a -= pad;
    }
    *lo = a;
    *hi = b;
    if (whole && b - a <= MOST)
        return (size_t)fmax(1, round(b - a));
    const double cells = width > 0 ? ceil((b - a) / width) : 10;
    return !(cells > FEWEST) ? FEWEST : cells > MOST ? MOST : (size_t)cells;
}

struct series *figure_histogram(struct figure *f, const char *title, enum mark mark, size_t n,
                                const double *values, const struct figure_cells *cells, bool share,
                                struct err *err)
{
    const double lo = cells->lo, hi = cells->hi;
    const size_t bins = cells->n;

    assert(bins > 0 && lo < hi);
    double *x = mem_calloc(2 * bins, sizeof *x, "a histogram", err), *count = x + bins;
    size_t beyond = 0, all = 0;
    struct buf b = { 0 };

    if (x == NULL)
        return NULL;
    const double width = hi / (double)bins - lo / (double)bins;
    for (size_t i = 0; i < bins; i++)
        x[i] = lo + ((double)i + 0.5) * width;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i]))
            continue;
        all++;
        beyond += values[i] < lo || values[i] > hi;
        const double at = (values[i] - lo) / width;
        const size_t cell = !(at > 0) ? 0 : at >= (double)bins ? bins - 1 : (size_t)at;
        count[cell]++;
    }
    for (size_t i = 0; share && all > 0 && i < bins; i++)
        count[i] /= (double)all;
    /* The number of values beyond the end bins is stated beside the name of the curve, or that of
     * the axis. */
    const bool named = title != NULL && *title != '\0', label = !named && f->x.label != NULL;
    buf_puts(&b, named ? title : label ? f->x.label : "");
    if (beyond > 0)
        buf_printf(&b, "%s%zu beyond the ends%s", named ? ", " : label ? " (" : "", beyond,
                   label ? ")" : "");
    struct series *s = NULL;
    if (!label || beyond == 0 || replace_string(&f->x.label, buf_str(&b), err) == ST_OK)
        s = figure_add(f, label ? "" : buf_str(&b), mark, bins, x, count, err);
    buf_free(&b);
    free(x);
    return s;
}

/* Thinning. */

double figure_x(const struct series *s, size_t i)
{
    return s->x != NULL ? s->x[i] : (double)i;
}

static bool drawable(double v, bool log)
{
    return isfinite(v) && (!log || v > 0);
}

/* Drops the values that `keep` does not mark. An implied x is made explicit first. */
static enum status series_compact(struct series *s, const unsigned char *keep, struct err *err)
{
    size_t k = 0;

    if (s->x == NULL) {
        s->x = mem_calloc(s->n, sizeof *s->x, "a curve", err);
        if (s->x == NULL)
            return ST_NOMEM;
        for (size_t i = 0; i < s->n; i++)
            s->x[i] = (double)i;
    }
    for (size_t i = 0; i < s->n; i++) {
        if (!keep[i])
            continue;
        s->x[k] = s->x[i];
        s->y[k] = s->y[i];
        if (s->y2 != NULL)
            s->y2[k] = s->y2[i];
        if (s->group != NULL)
            s->group[k] = s->group[i];
        k++;
    }
    s->n = k;
    return ST_OK;
}

/* Marks the first, lowest, highest and last of the values a..b-1, and one gap if there is any. */
static void keep_bucket(const struct series *s, size_t a, size_t b, unsigned char *keep)
{
    size_t lowest = b, highest = b, gap = b;

    for (size_t i = a; i < b; i++) {
        const double top = s->y2 != NULL ? s->y2[i] : s->y[i];
        if (!isfinite(s->y[i]) || !isfinite(top)) {
            gap = i;
            continue;
        }
        if (lowest == b || s->y[i] < s->y[lowest])
            lowest = i;
        if (highest == b || top > (s->y2 != NULL ? s->y2[highest] : s->y[highest]))
            highest = i;
    }
    keep[a] = keep[b - 1] = 1;
    if (lowest < b)
        keep[lowest] = keep[highest] = 1;
    if (gap < b)
        keep[gap] = 1;
}

/* Curves: four values per bucket of the x axis give the same pixels. */
static enum status thin_curve(struct series *s, size_t points, bool xlog, struct err *err)
{
    const size_t nb = points / 5 > 0 ? points / 5 : 1;
    unsigned char *keep = mem_calloc(s->n, 1, "thinning", err);

    if (keep == NULL)
        return ST_NOMEM;
    bool ordered = true;
    double lo = NAN, hi = NAN;
    for (size_t i = 0; ordered && i < s->n; i++) {
        const double x = figure_x(s, i);
        ordered = drawable(x, xlog) && !(x < hi);
        lo = i == 0 ? x : lo;
        hi = x;
    }
    ordered = ordered && lo < hi;
    for (size_t a = 0, b; a < s->n; a = b) {
        if (ordered) {
            const double cell = floor(figure_place(figure_x(s, a), lo, hi, xlog) * (double)nb);
            for (b = a + 1; b < s->n; b++)
                if (figure_place(figure_x(s, b), lo, hi, xlog) * (double)nb >= cell + 1)
                    break;
        } else {
            const size_t step = s->n / nb + 1;
            b = s->n - a > step ? a + step : s->n;
        }
        keep_bucket(s, a, b, keep);
    }
    enum status rc = series_compact(s, keep, err);
    free(keep);
    return rc;
}

struct extent {
    double lo, hi;
};

static void extend(struct extent *e, double v, bool log)
{
    if (drawable(v, log)) {
        e->lo = v < e->lo ? v : e->lo;
        e->hi = v > e->hi ? v : e->hi;
    }
}

/* Clouds: keeps one point per cell and class of a grid as fine as `points` allows, and the
 * extremes. */
static enum status thin_cloud(struct series *s, size_t points, bool xlog, bool ylog,
                              struct err *err)
{
    size_t grid = 4 * (size_t)sqrt((double)points) + 8, kept;
    struct extent ex = { INFINITY, -INFINITY }, ey = ex;
    unsigned char *keep = mem_calloc(s->n, 1, "thinning", err);
    int *seen = mem_calloc(grid * grid, sizeof *seen, "thinning", err);
    enum status rc = ST_NOMEM;

    if (keep == NULL || seen == NULL)
        goto done;
    for (size_t i = 0; i < s->n; i++)
        if (drawable(figure_x(s, i), xlog) && drawable(s->y[i], ylog)) {
            extend(&ex, figure_x(s, i), xlog);
            extend(&ey, s->y[i], ylog);
        }
    do {
        memset(seen, 0, grid * grid * sizeof *seen);
        memset(keep, 0, s->n);
        kept = 0;
        for (size_t i = 0; i < s->n; i++) {
            const double x = figure_x(s, i), y = s->y[i];
            if (!drawable(x, xlog) || !drawable(y, ylog))
                continue;
            const double u = figure_place(x, ex.lo, ex.hi, xlog), v = figure_place(y, ey.lo, ey.hi,
                                                                                 ylog);
            const size_t cx = u >= 0 ? (size_t)(u * (double)(grid - 1)) : 0;
            const size_t cy = v >= 0 ? (size_t)(v * (double)(grid - 1)) : 0;
            const int mark = s->group != NULL && s->group[i] >= 0 ? s->group[i] % 1000 + 2 : 1;
            const bool extreme = x == ex.lo || x == ex.hi || y == ey.lo || y == ey.hi;
            if (seen[cy * grid + cx] != mark || (extreme && kept < points / 2)) {
                seen[cy * grid + cx] = mark;
                keep[i] = 1;
                kept++;
            }
        }
        grid = grid * 3 / 4;
    } while (kept > points && grid > 4);
    rc = series_compact(s, keep, err);
done:
    free(keep);
    free(seen);
    return rc;
}

/* True for pairs of points with a gap after each, as contours are: no bucket holds a piece of a
 * line, and the grid has bounded their number. */
static bool loose_pieces(const struct series *s)
{
    for (size_t i = 2; i < s->n; i += 3)
        if (isfinite(s->y[i]))
            return false;
    return s->mark == MARK_LINE && s->n >= 6 && s->n % 3 == 0;
}

/* figure_thin with limits of their own for curves and for clouds of points. */
static enum status thin_kinds(struct figure *f, size_t curve, size_t cloud, struct err *err)
{
    for (; f != NULL; f = f->next) {
        for (size_t i = 0; i < f->ns; i++) {
            struct series *s = &f->s[i];
            const bool points = s->mark == MARK_POINTS;
            if (s->n <= (points ? cloud : curve) || s->n < 8 || s->mark == MARK_CELLS ||
                loose_pieces(s))
                continue;
            enum status rc = points ? thin_cloud(s, cloud, f->x.log, f->y.log, err)
                                    : thin_curve(s, curve, f->x.log, err);
            if (rc != ST_OK)
                return rc;
        }
    }
    return ST_OK;
}

enum status figure_thin(struct figure *f, size_t points, struct err *err)
{
    return thin_kinds(f, points, points, err);
}

const struct figure *figure_thinned(const struct figure *f, size_t w, struct err *err)
{
    const size_t curve = 8 * w + 200, cloud = 20 * w + 400;
    bool any = false;

    for (const struct figure *p = f; p != NULL; p = p->next)
        for (size_t i = 0; i < p->ns; i++)
            any = any || p->s[i].n > (p->s[i].mark == MARK_POINTS ? cloud : curve);
    if (!any)
        return f;
    struct figure *copy = figure_copy(f, err);
    if (copy != NULL && thin_kinds(copy, curve, cloud, err) != ST_OK) {
        figure_free(copy);
        copy = NULL;
    }
    return copy;
}

void figure_thinned_free(const struct figure *thinned, const struct figure *original)
{
    if (thinned != original)
        figure_free((struct figure *)thinned);
}

size_t figure_dropped_for_tests(const struct figure *f)
{
    size_t k = 0;

    for (; f != NULL; f = f->next) {
        for (size_t i = 0; i < f->ns; i++) {
            const struct series *s = &f->s[i];
            for (size_t j = 0; j < s->n; j++) {
                const bool x = s->mark == MARK_HLINE || drawable(figure_x(s, j), f->x.log);
                const bool y = s->mark == MARK_VLINE || drawable(s->y[j], f->y.log);
                k += !x || !y ||
                     (s->y2 != NULL && !drawable(s->y2[j], f->y.log && s->mark != MARK_CELLS));
            }
        }
    }
    return k;
}

/* Ranges and ticks. */

double figure_place(double v, double lo, double hi, bool log)
{
    if (!drawable(v, log))
        return NAN;
    if (log)
        return (log10(v) - log10(lo)) / (log10(hi) - log10(lo));
    return (v / 2 - lo / 2) / (hi / 2 - lo / 2);  /* halved first, because hi - lo may overflow */
}

/* Half the distance between neighbouring bars. */
double figure_half_bar(const struct series *s)
{
    double gap = INFINITY;

    for (size_t i = 1; i < s->n; i++) {
        const double d = fabs(figure_x(s, i) - figure_x(s, i - 1));
        if (isfinite(d) && d > 0 && d < gap)
            gap = d;
    }
    return isfinite(gap) ? gap / 2 : 0.5;
}

/* Bars with names have gaps between them. */
double figure_bar(const struct figure *f, const struct series *s)
{
    return figure_half_bar(s) * (f->x.nname > 0 ? 0.7 : 1);
}

static void cells_extent(const struct series *s, const struct figure *f, struct extent *ex,
                         struct extent *ey)
{
    double edge[2];

    for (size_t i = 0; i < s->n; i++) {
        if (!drawable(s->x[i], f->x.log) || !drawable(s->y[i], f->y.log))
            continue;
        figure_cell(s, &f->x, s->x[i], true, edge);
        extend(ex, edge[0], f->x.log);
        extend(ex, edge[1], f->x.log);
        figure_cell(s, &f->y, s->y[i], false, edge);
        extend(ey, edge[0], f->y.log);
        extend(ey, edge[1], f->y.log);
    }
}

static void series_extent(const struct series *s, bool xlog, bool ylog, struct extent *ex,
                          struct extent *ey)
{
    const bool wide = s->mark == MARK_BARS || s->mark == MARK_STEPS;
    const double half = wide ? figure_half_bar(s) : 0;

    for (size_t i = 0; i < s->n; i++) {
        const double x = figure_x(s, i), y = s->y[i];
        if (s->mark == MARK_HLINE) {
            extend(ey, y, ylog);
        } else if (s->mark == MARK_VLINE) {
            extend(ex, x, xlog);
        } else if (drawable(x, xlog) && drawable(y, ylog)) {
            extend(ex, x - half, xlog);
            extend(ex, x + half, xlog);
            extend(ey, y, ylog);
            if (s->y2 != NULL)
                extend(ey, s->y2[i], ylog);
            if (wide && !ylog)
                extend(ey, 0, false);
        }
    }
}

/* The largest of 1, 2, 5 x 10^k that is at most v, or the smallest that is at least v. */
static double nice(double v, bool up)
{
    static const double step[] = { 1, 2, 5, 10 };
    const double base = pow(10, floor(log10(v)));

    for (int i = 0; i < 4; i++) {
        const int j = up ? i : 3 - i;
        if (up ? step[j] * base >= v * (1 - 1e-9) : step[j] * base <= v * (1 + 1e-9))
            return step[j] * base;
    }
    return up ? 10 * base : base;
}

/* The next finer step that divides this one. */
static double finer(double step)
{
    const double lead = step / pow(10, floor(log10(step) + 1e-9));
    return lead > 1.5 && lead < 2.5 ? step / 4 : step / 5;
}

/* Makes lo < hi, wide enough that doubles can distinguish the ticks. */
static void widen(double *lo, double *hi, bool log)
{
    const double big = 1e300, small = 1e-300;

    if (!(*lo <= *hi)) {
        *lo = log ? 1 : 0;
        *hi = log ? 10 : 1;
    }
    if (log) {
        *lo = fmin(fmax(*lo, small), big);
        *hi = fmin(fmax(*hi, small), big);
        if (*hi / *lo < 1 + 1e-9) {
            *lo = fmax(*lo / 3, small / 3);
            *hi *= 3;
        }
        return;
    }
    *lo = fmin(fmax(*lo, -big), big);
    *hi = fmin(fmax(*hi, -big), big);
    const double size = fmax(fabs(*lo), fabs(*hi));
    if (size < 1e-300) {
        *lo = *lo < 0 ? -1 : 0;
        *hi = 1;
    } else if (*hi - *lo < 1e-9 * size) {
        const double mid = *lo / 2 + *hi / 2, pad = fmax(size * 0.1, 1e-300);
        *lo = mid - pad;
        *hi = mid + pad;
    }
}

static void tick_add(struct ticks *t, double v)
{
    if (t->n < FIGURE_TICKS)
        t->at[t->n++] = v;
}

/* Writes 12,345.5 if thousands marks are wanted; `decimals` digits after the point. */
static void number_text(char *out, size_t len, double v, int decimals, bool marks)
{
    char raw[64];
    size_t k = 0;

    snprintf(raw, sizeof raw, "%.*f", decimals, fabs(v));
    const size_t whole = strcspn(raw, ".");
    if (v < 0 && k + 1 < len)
        out[k++] = '-';
    for (size_t i = 0; raw[i] != '\0' && k + 2 < len; i++) {
        if (marks && i > 0 && i < whole && (whole - i) % 3 == 0)
            out[k++] = ',';
        out[k++] = raw[i];
    }
    out[k] = '\0';
}

static void label_linear(struct ticks *t, double step)
{
    double most = 0;

    for (size_t i = 0; i < t->n; i++)
        most = fmax(most, fabs(t->at[i]));
    const int decimals = (int)fmax(0, -floor(log10(step) + 1e-9));
    const bool plain = most < 1e7 && decimals <= 5;
    const int digits = (int)fmin(7, fmax(0, floor(log10(fmax(most, step)) + 1e-9) -
                                                floor(log10(step) + 1e-9)));
    for (size_t i = 0; i < t->n; i++) {
        const double v = fabs(t->at[i]) < step * 1e-6 ? 0 : t->at[i];
        t->at[i] = v;
        if (plain)
            number_text(t->text[i], sizeof t->text[i], v, decimals, most >= 10000);
        else if (v == 0)
            snprintf(t->text[i], sizeof t->text[i], "0");
        else
            snprintf(t->text[i], sizeof t->text[i], "%.*e", digits, v);
    }
}

static void ticks_linear(double lo, double hi, double step, struct ticks *t)
{
    const double first = ceil(lo / step - 1e-6);

    t->n = 0;
    for (double k = first; k * step <= hi + step * 1e-6 && t->n < FIGURE_TICKS; k++)
        tick_add(t, k * step);
    label_linear(t, step);
}

/* A linear axis: y ends at whole ticks; x may end on a finer grid, to waste less room. */
static void scale_linear(double *lo, double *hi, bool free_lo, bool free_hi, bool whole, bool snap,
                         size_t n, struct ticks *t)
{
    const double span = *hi - *lo;
    double step = nice(span / (double)(n > 1 ? n : 1), true);

    if (whole && step < 1)
        step = 1;
    double grid = step;
    if (!snap) {
        grid = finer(step);
        if (whole && grid < 1)
            grid = 1;
    }
    if (free_lo)
        *lo = floor(*lo / grid + 1e-6) * grid;
    if (free_hi)
        *hi = ceil(*hi / grid - 1e-6) * grid;
    if (!(*lo < *hi))
        *hi = *lo + grid;
    while ((*hi - *lo) / step > FIGURE_TICKS - 2)
        step = nice(step * 1.5, true);
    ticks_linear(*lo, *hi, step, t);
}

/* Ticks at 1, 2 and 5 of every decade if these are few, otherwise at every k-th decade. */
static void ticks_log(double lo, double hi, size_t n, struct ticks *t)
{
    static const int lead[] = { 1, 2, 5 };
    const double eps = 1e-9;
    const int first = (int)ceil(log10(lo) - eps), last = (int)floor(log10(hi) + eps);
    const int decades = last - first + 1;

    size_t fine = 0; /* the number of ticks at 1, 2 and 5 x 10^k */
    for (int k = first - 1; k <= last + 1; k++)
        for (int i = 0; i < 3; i++) {
            const double v = lead[i] * pow(10, k);
            fine += v >= lo * (1 - eps) && v <= hi * (1 + eps);
        }
    t->n = 0;
    if ((decades >= 2 && (fine > n || decades > 2)) || n < 2) {
        int stride = 1;
        while (decades / stride > (int)(n < FIGURE_TICKS - 1 ? n : FIGURE_TICKS - 2))
            stride++;
        for (int k = first; k <= last; k++)
            if (k % stride == 0)
                tick_add(t, pow(10, k));
    }
    if (t->n < 2) {
        t->n = 0;
        for (int k = first - 1; k <= last + 1; k++)
            for (int i = 0; i < 3; i++) {
                const double v = lead[i] * pow(10, k);
                if (v >= lo * (1 - eps) && v <= hi * (1 + eps))
                    tick_add(t, v);
            }
    }
    if (t->n < 2) {
        const double step = nice((hi - lo) / (double)(n > 2 ? n : 2), true);
        ticks_linear(lo, hi, step, t);
        return;
    }
    const bool plain = t->at[0] >= 0.99e-3 && t->at[t->n - 1] <= 1.01e5;
    for (size_t i = 0; i < t->n; i++) {
        const double v = t->at[i], e = floor(log10(v) + eps);
        const int decimals = (int)fmax(0, -e);
        t->power[i] = !plain && fabs(log10(v) - e) < 1e-6;
        if (plain)
            number_text(t->text[i], sizeof t->text[i], v, decimals, v >= 10000);
        else
            snprintf(t->text[i], sizeof t->text[i], "%.0e", v);
    }
}

/* The end of a short logarithmic axis: 1, 2 or 5 x 10^k, or slightly beyond the data if that is far
 * away. */
static double snug(double v, bool up)
{
    const double round = nice(v, up), far = up ? round / v : v / round;
    return far <= 1.3 ? round : up ? v * 1.1 : v / 1.1;
}

static void scale_log(double *lo, double *hi, bool free_lo, bool free_hi, size_t n,
                      struct ticks *t)
{
    const bool decades = *hi / *lo >= 30;

    if (free_lo)
        *lo = decades ? pow(10, floor(log10(*lo) + 1e-9)) : snug(*lo, false);
    if (free_hi) { /* a residual that starts at 1.03 needs no further decade */
        const double over = log10(*hi) - floor(log10(*hi) + 1e-9);
        *hi = !decades ? snug(*hi, true)
              : over < 0.1 ? *hi * 1.05 : pow(10, ceil(log10(*hi) - 1e-9));
    }
    widen(lo, hi, true);
    ticks_log(*lo, *hi, n, t);
}

/* One byte per character, for any kind of screen. */
static void plain_word(char *out, size_t len, const char *s)
{
    size_t n = 0;

    for (; *s != '\0' && n + 1 < len; s++)
        if (((unsigned char)*s & 0xc0) != 0x80)
            out[n++] = *s >= ' ' && *s < 0x7f ? *s : '?';
    out[n] = '\0';
    if (*s != '\0' && n > 1)
        out[n - 1] = '~'; /* mark the cut */
}

/* Words at whole numbers; only every k-th if there is no room for all. */
static void ticks_named(const struct axis *a, double lo, double hi, size_t n, struct ticks *t)
{
    size_t every = 1;

    n = n < 1 ? 1 : n > FIGURE_TICKS ? FIGURE_TICKS : n;
    while ((a->nname + every - 1) / every > n)
        every++;
    *t = (struct ticks){ 0 };
    for (size_t i = 0; i < a->nname; i += every) {
        if ((double)i < lo || (double)i > hi)
            continue;
        plain_word(t->text[t->n], sizeof t->text[0], a->name[i]);
        t->at[t->n++] = (double)i;
    }
}

static void scale_axis(const struct axis *a, struct extent e, size_t n, bool snap, double *lo,
                       double *hi, struct ticks *t)
{
    if (a->nname > 0) {
        *lo = isfinite(a->lo) ? a->lo : -0.5;
        *hi = isfinite(a->hi) ? a->hi : (double)a->nname - 0.5;
        ticks_named(a, *lo, *hi, n, t);
        return;
    }
    const bool free_lo = !drawable(a->lo, a->log), free_hi = !drawable(a->hi, a->log);

    *lo = free_lo ? e.lo : a->lo;
    *hi = free_hi ? e.hi : a->hi;
    if (!free_lo && !free_hi && *lo > *hi) {
        *lo = a->hi;
        *hi = a->lo;
    }
    if (*lo > *hi && free_lo != free_hi) { /* all data lie beyond the one end that was given */
        *lo = free_lo ? *hi - fmax(1, fabs(*hi)) : *lo;
        *hi = free_hi ? *lo + fmax(1, fabs(*lo)) : *hi;
        if (a->log && *lo <= 0)
            *lo = *hi / 10;
    }
    widen(lo, hi, a->log);
    *t = (struct ticks){ 0 };
    if (a->log)
        scale_log(lo, hi, free_lo, free_hi, n, t);
    else
        scale_linear(lo, hi, free_lo, free_hi, a->whole, snap, n, t);
}

void figure_range(const struct figure *f, struct figure_range *r)
{
    struct extent ex = { INFINITY, -INFINITY }, ey = ex;

    for (size_t i = 0; i < f->ns; i++) {
        if (f->s[i].mark == MARK_CELLS)
            cells_extent(&f->s[i], f, &ex, &ey);
        else
            series_extent(&f->s[i], f->x.log, f->y.log, &ex, &ey);
    }
    for (size_t i = 0; i < f->ns; i++) /* a surface fills the panel to its edges */
        if (f->s[i].mark == MARK_CELLS && f->s[i].n > 0) {
            ex = ey = (struct extent){ INFINITY, -INFINITY };
            cells_extent(&f->s[i], f, &ex, &ey);
        }
    *r = (struct figure_range){ ex.lo, ex.hi, ey.lo, ey.hi };
}

void figure_scale(const struct figure *f, size_t nx, size_t ny, struct figure_scale *out)
{
    struct figure_range r;

    figure_range(f, &r);
    figure_scale_range(f, &r, nx, ny, out);
}

void figure_scale_fit(const struct figure *f, size_t nx, size_t ny, double room, double letter,
                      struct figure_scale *out)
{
    for (;; nx--) {
        size_t most = 0;
        figure_scale(f, nx, ny, out);
        for (size_t i = 0; i < out->xt.n; i++)
            most = strlen(out->xt.text[i]) > most ? strlen(out->xt.text[i]) : most;
        if (nx <= 2 || (double)out->xt.n * (double)(most + 2) * letter <= room)
            return;
    }
}

void figure_scale_range(const struct figure *f, const struct figure_range *r, size_t nx, size_t ny,
                        struct figure_scale *out)
{
    struct extent ex = { r->xlo, r->xhi }, ey = { r->ylo, r->yhi };

    const size_t most_x =
        f->x.nname > 0 ? FIGURE_TICKS : FIGURE_TICKS - 4; /* numbers may use a few more */
    const size_t most_y = f->y.nname > 0 ? FIGURE_TICKS : FIGURE_TICKS - 4;

    nx = nx < 1 ? 1 : nx > most_x ? most_x : nx;
    ny = ny < 1 ? 1 : ny > most_y ? most_y : ny;
    if (f->square) {
        const struct extent both = { fmin(ex.lo, ey.lo), fmax(ex.hi, ey.hi) };
        ex = ey = both;
    }
    out->xlog = f->x.log;
    out->ylog = f->y.log;
    struct axis ax = f->x, ay = f->y;
    for (size_t i = 0; i < f->ns; i++)
        if (f->s[i].mark == MARK_CELLS && f->s[i].n > 0) { /* up to its edges and no further */
            ax.lo = isnan(ax.lo) ? ex.lo : ax.lo;
            ax.hi = isnan(ax.hi) ? ex.hi : ax.hi;
            ay.lo = isnan(ay.lo) ? ey.lo : ay.lo;
            ay.hi = isnan(ay.hi) ? ey.hi : ay.hi;
        }
    scale_axis(&ax, ex, nx, false, &out->xlo, &out->xhi, &out->xt);
    scale_axis(&ay, ey, ny, !f->square, &out->ylo, &out->yhi, &out->yt);
    if (f->square && isnan(ax.lo) && isnan(f->y.lo) && isnan(f->y.hi) && isnan(f->x.lo) &&
        isnan(f->x.hi)) {
        /* The ticks depend on the room along each axis, but the range must not. */
        const double lo = fmin(out->xlo, out->ylo), hi = fmax(out->xhi, out->yhi);
        struct axis fx = f->x, fy = f->y;
        fx.lo = fy.lo = lo;
        fx.hi = fy.hi = hi;
        scale_axis(&fx, ex, nx, true, &out->xlo, &out->xhi, &out->xt);
        scale_axis(&fy, ey, ny, true, &out->ylo, &out->yhi, &out->yt);
    }
}

/* Numbers. */

static void csv_number(struct buf *out, double v)
{
    buf_putc(out, ',');
    if (isinf(v))
        buf_puts(out, v > 0 ? "inf" : "-inf");
    else if (!isnan(v))
        buf_json_double(out, v);
}

/* The name of a place on the axis of a table. */
static void csv_name(struct buf *out, const struct axis *a, double v)
{
    if (!(v >= 0 && v < (double)a->nname)) {
        csv_number(out, v);
        return;
    }
    buf_putc(out, ',');
    text_csv(out, a->name[(size_t)v]);
}

/* The cells of a table: heights, then counts. */
static void csv_table(const struct figure *f, const struct series *s, size_t panel,
                      struct buf *out)
{
    for (size_t k = 0; k < 2; k++)
        for (size_t j = 0; j < s->n; j++) {
            buf_printf(out, "%zu,", panel);
            text_csv(out, (k > 0 ? s->count_title : s->title) ? k > 0 ? s->count_title : s->title
                                                              : "");
            csv_name(out, &f->x, s->x[j]);
            csv_name(out, &f->y, s->y[j]);
            csv_number(out, k > 0 ? s->count[j] : s->y2[j]);
            buf_puts(out, ",\n");
        }
}

void figure_csv(const struct figure *f, struct buf *out)
{
    size_t panel = 1;

    buf_puts(out, "panel,series,x,y,y2,class\n");
    for (; f != NULL; f = f->next, panel++) {
        for (size_t i = 0; i < f->ns; i++) {
            const struct series *s = &f->s[i];
            if (s->count != NULL)
                csv_table(f, s, panel, out);
            for (size_t j = 0; s->count == NULL && j < s->n; j++) {
                buf_printf(out, "%zu,", panel);
                text_csv(out, s->title ? s->title : "");
                csv_number(out, s->mark == MARK_HLINE ? NAN : figure_x(s, j));
                csv_number(out, s->mark == MARK_VLINE ? NAN : s->y[j]);
                csv_number(out, s->y2 != NULL ? s->y2[j] : NAN);
                buf_putc(out, ',');
                if (s->group != NULL)
                    buf_printf(out, "%d", s->group[j]);
                buf_putc(out, '\n');
            }
        }
    }
}
