/* figure/figure_describe.c -- describes a figure for those who cannot see it: the facts that one
 * would read off the image, one per line. */
#include "figure/figure_layout.h"

#include "base/mem.h"
#include "base/text.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>


/* The drawable values of one entry. v is y, or its logarithm on a log axis. */
struct curve {
    size_t n, missing;
    double *x, *y, *v;
};

static void num(struct buf *b, double x)
{
    char s[32];

    text_number(s, sizeof s, x);
    buf_puts(b, s);
}

static const char *axis_name(const struct axis *a, const char *otherwise, struct buf *store)
{
    buf_clear(store);
    text_safe(store, a->label != NULL && *a->label != '\0' ? a->label : otherwise, 60);
    return buf_str(store);
}

/* Removes the unit from a name, for use in sentences. */
static void short_name(struct buf *name)
{
    char *unit = name->s != NULL ? strstr(name->s, " (") : NULL;

    if (unit != NULL && unit > name->s) {
        *unit = '\0';
        name->len = (size_t)(unit - name->s);
    }
}

static bool ok(double v, bool log)
{
    return isfinite(v) && (!log || v > 0);
}

static bool curve_get(struct curve *c, const struct figure *f, const struct entry *e)
{
    const struct series *s = e->s;

    *c = (struct curve){ 0 };
    c->x = mem_calloc(3 * (s->n + 1), sizeof *c->x, "a description", NULL);
    if (c->x == NULL)
        return false;
    c->y = c->x + s->n + 1;
    c->v = c->y + s->n + 1;
    for (size_t i = 0; i < s->n; i++) {
        if (e->group >= 0 && s->group[i] != e->group)
            continue;
        if (!ok(figure_x(s, i), f->x.log) || !ok(s->y[i], f->y.log)) {
            c->missing++;
            continue;
        }
        c->x[c->n] = figure_x(s, i);
        c->y[c->n] = s->y[i];
        c->v[c->n++] = f->y.log ? log(s->y[i]) : s->y[i];
    }
    return true;
}

/* Straight lines. */

/* Prefix sums of x and v about a first point: with them, a fit over any stretch takes constant
 * time. */
struct sums {
    double n, x, v, xx, xv, vv;
};

static struct sums minus(const struct sums *a, const struct sums *b)
{
    return (struct sums){ a->n - b->n, a->x - b->x, a->v - b->v, a->xx - b->xx, a->xv - b->xv,
                          a->vv - b->vv };
}

struct line_fit {
    double slope, sse, r2;
};

static struct line_fit fit(const struct sums *s)
{
    const double sxx = s->xx - s->x * s->x / s->n, sxv = s->xv - s->x * s->v / s->n;
    const double svv = fmax(0, s->vv - s->v * s->v / s->n);
    struct line_fit r = { 0, svv, 0 };

    if (s->n >= 2 && sxx > 0) {
        r.slope = sxv / sxx;
        r.sse = fmax(0, svv - sxv * sxv / sxx);
        r.r2 = svv > 0 ? 1 - r.sse / svv : 1;
    }
    return r;
}

/* sums[i] covers the first i values; x and v are scaled to 0..1 so that no digits are lost. */
static struct sums *running(const struct curve *c, double x0, double xs, double v0, double vs)
{
    struct sums *t = mem_calloc(c->n + 1, sizeof *t, "a description", NULL);

    for (size_t i = 0; t != NULL && i < c->n; i++) {
        const double x = (c->x[i] - x0) / xs, v = (c->v[i] - v0) / vs;
        t[i + 1] = (struct sums){ t[i].n + 1, t[i].x + x, t[i].v + v, t[i].xx + x * x,
                                  t[i].xv + x * v, t[i].vv + v * v };
    }
    return t;
}

static struct line_fit fit_between(const struct sums *t, size_t a, size_t b)
{
    const struct sums s = minus(&t[b], &t[a]);
    return fit(&s);
}

static void extremes(size_t n, const double *v, size_t *lo, size_t *hi)
{
    *lo = *hi = 0;
    for (size_t i = 1; i < n; i++) {
        *lo = v[i] < v[*lo] ? i : *lo;
        *hi = v[i] > v[*hi] ? i : *hi;
    }
}

/* "x0.934 per iteration" or "-12.1 per iteration", per unit of x. */
static void say_slope(struct buf *b, double slope, bool ylog, bool xlog, const char *x)
{
    if (xlog) {
        if (ylog) { /* v and x are both natural logarithms: the slope is an order */
            buf_puts(b, "order ");
            num(b, slope);
            buf_printf(b, " in %s", x);
        } else {
            num(b, slope * log(10));
            buf_printf(b, " per factor 10 of %s", x);
        }
        return;
    }
    if (ylog) {
        buf_puts(b, "x");
        num(b, exp(slope));
    } else {
        num(b, slope);
    }
    buf_printf(b, " per %s%s", strchr(x, ' ') != NULL ? "unit of " : "", x);
}

/* The best division into two straight pieces; 0 if a single line fits as well. */
static size_t knee(const struct sums *t, size_t a, size_t b)
{
    const double whole = fit_between(t, a, b).sse;
    const size_t least = (b - a) / 10 > 3 ? (b - a) / 10 : 3;
    size_t best = 0;
    double least_sse = whole;

    if (b - a < 2 * least + 2 || whole < 1e-4 * (double)(b - a))
        return 0; /* straight within 1 % of the range */
    for (size_t i = a + least; i + least < b; i++) {
        const double sse = fit_between(t, a, i).sse + fit_between(t, i, b).sse;
        if (sse < least_sse) {
            least_sse = sse;
            best = i;
        }
    }
    if (best == 0 || least_sse > 0.3 * whole)
        return 0;
    const double s1 = fit_between(t, a, best).slope, s2 = fit_between(t, best, b).slope;
    return fabs(s1 - s2) > 0.3 * fmax(fabs(s1), fabs(s2)) ? best : 0;
}

/* The longest stretch whose values stay within 3 % of the range. Returns true if it covers a fifth
 * of x. */
static bool plateau(const struct curve *c, double range, double span, size_t *from, size_t *to)
{
    const double within = 0.03 * range;
    double longest = 0, lo = c->v[0], hi = c->v[0];

    for (size_t a = 0, b = 0; b < c->n; b++) {
        lo = fmin(lo, c->v[b]);
        hi = fmax(hi, c->v[b]);
        if (hi - lo > within) { /* restart after the value that no longer fits */
            while (a < b && fabs(c->v[a] - c->v[b]) > within)
                a++;
            size_t k = b;
            lo = hi = c->v[b];
            while (k > a && fmax(hi, c->v[k - 1]) - fmin(lo, c->v[k - 1]) <= within) {
                k--;
                lo = fmin(lo, c->v[k]);
                hi = fmax(hi, c->v[k]);
            }
            a = k;
        }
        if (b - a >= 4 && fabs(c->x[b] - c->x[a]) > longest) {
            longest = fabs(c->x[b] - c->x[a]);
            *from = a;
            *to = b;
        }
    }
    return longest >= 0.2 * span;
}

/* One curve. */

static void say_ends(struct buf *b, const struct curve *c, const char *x)
{
    size_t lo, hi;

    extremes(c->n, c->y, &lo, &hi);
    buf_puts(b, "starts at ");
    num(b, c->y[0]);
    buf_printf(b, " (%s ", x);
    num(b, c->x[0]);
    buf_puts(b, "), ends at ");
    num(b, c->y[c->n - 1]);
    buf_printf(b, " (%s ", x);
    num(b, c->x[c->n - 1]);
    buf_puts(b, "); lowest ");
    num(b, c->y[lo]);
    buf_puts(b, " at ");
    num(b, c->x[lo]);
    buf_puts(b, ", highest ");
    num(b, c->y[hi]);
    buf_puts(b, " at ");
    num(b, c->x[hi]);
    buf_puts(b, ".\n");
}

static const char *trend(const struct line_fit *f, const struct curve *c, double range)
{
    const double change = c->v[c->n - 1] - c->v[0];
    bool up = true, down = true;

    for (size_t i = 1; i < c->n; i++) {
        up = up && c->v[i] >= c->v[i - 1];
        down = down && c->v[i] <= c->v[i - 1];
    }
    if (range <= 0)
        return "constant";
    if (up || down)
        return up ? "rises throughout" : "falls throughout";
    if (fabs(change) > 0.5 * range && f->slope * change > 0)
        return change > 0 ? "rises on the whole" : "falls on the whole";
    return f->r2 < 0.3 ? "no clear trend" : f->slope > 0 ? "rises" : "falls";
}

static void say_shape(struct buf *b, const struct figure *f, const struct curve *c, const char *x)
{
    size_t lo, hi, from = 0, to = 0;

    extremes(c->n, c->v, &lo, &hi);
    const double range = c->v[hi] - c->v[lo];
    struct curve cx = *c;
    double *lx = NULL;
    if (f->x.log) { /* rates are read off the axes as drawn */
        lx = mem_calloc(c->n, sizeof *lx, "a description", NULL);
        if (lx == NULL)
            return;
        for (size_t i = 0; i < c->n; i++)
            lx[i] = log(c->x[i]);
        cx.x = lx;
    }
    const double span = cx.x[c->n - 1] - cx.x[0];
    struct sums *t = range > 0 && span > 0 ? running(&cx, cx.x[0], span, c->v[lo], range) : NULL;
    if (range <= 0) {
        buf_puts(b, "  constant.\n");
    } else if (t != NULL) {
        const struct line_fit all = fit_between(t, 0, c->n);
        buf_printf(b, "  %s: ", trend(&all, c, range));
        say_slope(b, all.slope * range / span, f->y.log, f->x.log, x);
        buf_printf(b, " by a straight line (R2 %.2f).\n", all.r2);
        const size_t k = knee(t, 0, c->n);
        if (k > 0) {
            const struct line_fit p = fit_between(t, 0, k), q = fit_between(t, k, c->n);
            buf_printf(b, "  knee near %s ", x);
            num(b, c->x[k]);
            buf_puts(b, ": ");
            say_slope(b, p.slope * range / span, f->y.log, f->x.log, x);
            buf_puts(b, " before, ");
            say_slope(b, q.slope * range / span, f->y.log, f->x.log, x);
            buf_puts(b, " after.\n");
        }
        if (plateau(&cx, range, span, &from, &to)) {
            buf_puts(b, "  plateau near ");
            num(b, c->y[(from + to) / 2]);
            buf_printf(b, " from %s ", x);
            num(b, c->x[from]);
            buf_puts(b, " to ");
            num(b, c->x[to]);
            buf_puts(b, ".\n");
        }
    }
    free(t);
    free(lx);
}

/* The places where a curve crosses each level line. */
static void say_crossings(struct buf *b, const struct figure *f, const struct curve *c,
                          const char *x)
{
    for (size_t k = 0; k < f->ns; k++) {
        const struct series *s = &f->s[k];
        if (s->mark != MARK_HLINE || s->n == 0 || !ok(s->y[0], f->y.log))
            continue;
        const double level = s->y[0];
        size_t times = 0, first = 0;
        for (size_t i = 1; i < c->n; i++)
            if ((c->y[i - 1] > level) != (c->y[i] > level)) {
                first = times++ == 0 ? i : first;
            }
        buf_puts(b, "  ");
        if (times > 0) {
            const double v = f->y.log ? log(level) : level;
            const double u = (v - c->v[first - 1]) / (c->v[first] - c->v[first - 1]);
            buf_printf(b, "%s ", times == 1 ? "crosses" : "first crosses");
            text_safe(b, s->title != NULL && *s->title != '\0' ? s->title : "the line", 40);
            buf_puts(b, " (");
            num(b, level);
            buf_printf(b, ") near %s ", x);
            num(b, c->x[first - 1] + u * (c->x[first] - c->x[first - 1]));
            if (times > 1)
                buf_printf(b, ", %zu crossings in all", times);
            buf_puts(b, ".\n");
        } else {
            const double end = c->y[c->n - 1];
            buf_puts(b, "does not reach ");
            text_safe(b, s->title != NULL && *s->title != '\0' ? s->title : "the line", 40);
            buf_puts(b, " (");
            num(b, level);
            buf_puts(b, "): ends ");
            num(b, f->y.log ? fmax(end / level, level / end) : fabs(end - level));
            buf_printf(b, "%s %s it.\n", f->y.log ? " times" : "", end > level ? "above" : "below");
        }
    }
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(size_t n, const double *v)
{
    double *s = mem_calloc(n + 1, sizeof *s, "a description", NULL);

    if (s == NULL || n == 0) {
        free(s);
        return NAN;
    }
    memcpy(s, v, n * sizeof *v);
    qsort(s, n, sizeof *s, by_value);
    const double m = n % 2 == 1 ? s[n / 2] : s[n / 2 - 1] / 2 + s[n / 2] / 2;
    free(s);
    return m;
}

/* Values that differ from the straight line by more than 6 robust standard deviations (1.4826
 * MAD). */
static void say_outliers(struct buf *b, const struct curve *c, const char *x)
{
    double *r = mem_calloc(2 * c->n + 1, sizeof *r, "a description", NULL);
    struct curve flat = *c;
    size_t lo, hi;

    if (r == NULL || c->n < 10) {
        free(r);
        return;
    }
    extremes(c->n, c->x, &lo, &hi);
    const double span = c->x[hi] - c->x[lo] > 0 ? c->x[hi] - c->x[lo] : 1, x0 = c->x[lo];
    extremes(c->n, c->v, &lo, &hi);
    const double range = c->v[hi] - c->v[lo] > 0 ? c->v[hi] - c->v[lo] : 1, v0 = c->v[lo];
    struct sums *t = running(&flat, x0, span, v0, range);
    if (t != NULL) {
        const struct line_fit l = fit(&t[c->n]);
        const double icept = (t[c->n].v - l.slope * t[c->n].x) / t[c->n].n;
        double *away = r + c->n;
        for (size_t i = 0; i < c->n; i++)
            r[i] = (c->v[i] - v0) / range - icept - l.slope * (c->x[i] - x0) / span;
        const double mid = median_of(c->n, r);
        for (size_t i = 0; i < c->n; i++)
            away[i] = fabs(r[i] - mid);
        const double limit = 6 * 1.4826 * median_of(c->n, away);
        size_t many = 0, worst = 0;
        for (size_t i = 0; i < c->n; i++) {
            many += away[i] > limit;
            worst = away[i] > away[worst] ? i : worst;
        }
        if (many > 0 && limit > 0 && many < c->n / 10) {
            buf_printf(b, "  %zu outlier%s; farthest: ", many, many == 1 ? "" : "s");
            num(b, c->y[worst]);
            buf_printf(b, " at %s ", x);
            num(b, c->x[worst]);
            buf_puts(b, ".\n");
        }
    }
    free(t);
    free(r);
}

static void say_cloud(struct buf *b, const struct figure *f, const struct curve *c, const char *x,
                      bool grouped)
{
    size_t xl, xh, yl, yh;

    extremes(c->n, c->x, &xl, &xh);
    extremes(c->n, c->y, &yl, &yh);
    buf_printf(b, "%s from ", x);
    num(b, c->x[xl]);
    buf_puts(b, " to ");
    num(b, c->x[xh]);
    buf_puts(b, ", values from ");
    num(b, c->y[yl]);
    buf_puts(b, " to ");
    num(b, c->y[yh]);
    buf_puts(b, ", centre ");
    num(b, median_of(c->n, c->x));
    buf_puts(b, ", ");
    num(b, median_of(c->n, c->y));
    buf_puts(b, " (medians).\n");
    const double xs = c->x[xh] - c->x[xl], vs = c->v[yh] - c->v[yl];
    if (grouped || !(xs > 0) || !(vs > 0) || c->n < 3)
        return;
    struct sums *t = running(c, c->x[xl], xs, c->v[yl], vs);
    if (t != NULL) {
        const struct line_fit l = fit(&t[c->n]);
        buf_printf(b, "  correlation %.2f.\n", copysign(sqrt(fmax(0, l.r2)), l.slope));
    }
    free(t);
    say_outliers(b, c, x);
    if (f->square) {
        double *d = mem_calloc(c->n, sizeof *d, "a description", NULL);
        for (size_t i = 0; d != NULL && i < c->n; i++)
            d[i] = fabs(c->y[i] - c->x[i]);
        if (d != NULL) {
            buf_puts(b, "  half of the points lie within ");
            num(b, median_of(c->n, d));
            buf_puts(b, " of the diagonal.\n");
        }
        free(d);
    }
}

/* Histograms. */

/* The place below which a share q of the heights lies, interpolated within its bar. */
static double quantile(const struct curve *c, double half, double total, double q)
{
    double sum = 0;

    for (size_t i = 0; i < c->n; i++) {
        if (sum + c->y[i] >= q * total && c->y[i] > 0)
            return c->x[i] - half + 2 * half * (q * total - sum) / c->y[i];
        sum += c->y[i];
    }
    return c->x[c->n - 1] + half;
}

static void say_histogram(struct buf *b, const struct entry *e, const struct curve *c,
                          const char *x)
{
    const double half = figure_half_bar(e->s);
    double total = 0;
    size_t mode = 0;

    for (size_t i = 0; i < c->n; i++) {
        total += c->y[i] > 0 ? c->y[i] : 0;
        mode = c->y[i] > c->y[mode] ? i : mode;
    }
    if (!(total > 0)) {
        buf_puts(b, "all bars are empty.\n");
        return;
    }
    buf_printf(b, "%zu bars over %s ", c->n, x);
    num(b, c->x[0] - half);
    buf_puts(b, " to ");
    num(b, c->x[c->n - 1] + half);
    buf_puts(b, "; mode ");
    num(b, c->x[mode]);
    buf_printf(b, " (%.1f %% of all)", 100 * c->y[mode] / total);
    buf_puts(b, ", median ");
    const double q5 = quantile(c, half, total, 0.05), q50 = quantile(c, half, total, 0.5),
                 q95 = quantile(c, half, total, 0.95);
    num(b, q50);
    buf_puts(b, ", 5 % below ");
    num(b, q5);
    buf_puts(b, ", 5 % above ");
    num(b, q95);
    buf_puts(b, ".\n");
    const double left = q50 - q5, right = q95 - q50;
    buf_printf(b, "  %s.\n", right > 1.3 * left   ? "longer tail on the right"
                              : left > 1.3 * right ? "longer tail on the left"
                                                   : "tails of about the same length");
}

/* Bars with names: each by name, at most twelve. */
static void say_bars(struct buf *b, const struct figure *f, const struct series *s)
{
    size_t said = 0;

    for (size_t i = 0; i < s->n; i++) {
        const double x = figure_x(s, i);
        if (!(x >= 0) || x >= (double)f->x.nname || said == 12)
            continue;
        buf_puts(b, said++ > 0 ? ", " : "");
        text_safe(b, f->x.name[(size_t)x], 24);
        buf_putc(b, ' ');
        num(b, s->y[i]);
    }
    buf_puts(b, s->n > said ? ", ..\n" : ".\n");
}

/* Lines from a lower to an upper end of what has a name: three values each, the last a gap. */
static bool is_intervals(const struct figure *f, const struct series *s)
{
    bool yes = s->mark == MARK_LINE && f->x.nname > 0 && s->n >= 3 && s->n % 3 == 0 && s->x;

    for (size_t i = 0; yes && i < s->n; i += 3)
        yes = s->x[i] == s->x[i + 1] && s->x[i] >= 0 && s->x[i] < (double)f->x.nname &&
              isnan(s->x[i + 2]);
    return yes;
}

/* Each by name, at most twelve. */
static void say_intervals(struct buf *b, const struct figure *f, const struct series *s)
{
    size_t said = 0;

    for (size_t i = 0; i < s->n && said < 12; i += 3) {
        buf_puts(b, said++ > 0 ? ", " : "");
        text_safe(b, f->x.name[(size_t)s->x[i]], 24);
        buf_putc(b, ' ');
        num(b, s->y[i]);
        buf_puts(b, " to ");
        num(b, s->y[i + 1]);
    }
    buf_puts(b, s->n > 3 * said ? ", ..\n" : ".\n");
}

static void say_band(struct buf *b, const struct figure *f, const struct series *s, const char *x)
{
    double first = NAN, last = NAN, widest = -1, at = 0;

    for (size_t i = 0; i < s->n && s->y2 != NULL; i++) {
        const double w = s->y2[i] - s->y[i];
        if (!ok(figure_x(s, i), f->x.log) || !isfinite(w))
            continue;
        first = isnan(first) ? w : first;
        last = w;
        if (fabs(w) > widest) {
            widest = fabs(w);
            at = figure_x(s, i);
        }
    }
    buf_puts(b, "a band, ");
    num(b, first);
    buf_puts(b, " wide at the start, ");
    num(b, last);
    buf_puts(b, " at the end, widest ");
    num(b, widest);
    buf_printf(b, " at %s ", x);
    num(b, at);
    buf_puts(b, ".\n");
}

/* A place on an axis: its word if the axis has words. */
static void say_place(struct buf *b, const struct axis *a, double v)
{
    if (v >= 0 && v < (double)a->nname)
        text_safe(b, a->name[(size_t)v], 40);
    else
        num(b, v);
}

/* The place of the highest cell in each row of a table, from the top. */
static void say_table(struct buf *b, const struct figure *f, const struct series *s)
{
    enum { MOST = 12 };
    const size_t down = s->n / s->across;

    buf_printf(b, "a table of %zu x %zu cells", s->across, down);
    for (size_t j = down; j-- > 0 && down - j <= MOST;) {
        size_t best = j * s->across;
        for (size_t i = best; i < (j + 1) * s->across; i++)
            best = s->y2[i] > s->y2[best] || isnan(s->y2[best]) ? i : best;
        buf_puts(b, "; ");
        say_place(b, &f->y, s->y[best]);
        buf_puts(b, ": most at ");
        say_place(b, &f->x, s->x[best]);
        buf_puts(b, ", ");
        num(b, s->y2[best]);
        buf_printf(b, " (%.0f)", s->count[best]);
    }
    buf_puts(b, down > MOST ? "; ....\n" : ".\n");
}

static void say_surface(struct buf *b, const struct figure *f, const struct series *s)
{
    double lowest, highest;
    size_t lo = s->n, hi = s->n;

    figure_heights(s, &lowest, &highest);
    for (size_t i = 0; i < s->n; i++) {
        lo = lo == s->n && s->y2[i] == lowest ? i : lo;
        hi = hi == s->n && s->y2[i] == highest ? i : hi;
    }
    if (lo == s->n || hi == s->n) {
        buf_puts(b, "a surface without values.\n");
        return;
    }
    buf_printf(b, "a surface of %zu x %zu values; %s ", s->across, s->n / s->across,
               s->sign > 0 ? "highest" : "lowest");
    const size_t at[2] = { lo, hi };
    for (int k = s->sign > 0; k < (s->sign < 0 ? 1 : 2); k++) {
        num(b, s->y2[at[k]]);
        buf_puts(b, " at ");
        say_place(b, &f->x, s->x[at[k]]);
        buf_puts(b, ", ");
        say_place(b, &f->y, s->y[at[k]]);
        buf_puts(b, k == 0 && s->sign == 0 ? "; highest " : ".\n");
    }
}

static void say_entry(struct buf *b, const struct figure *f, const struct entry *e, const char *x)
{
    struct buf title = { 0 };
    struct curve c;

    figure_entry_title(e, &title);
    if (title.len > 0)
        text_safe(b, buf_str(&title), 60);
    else
        buf_puts(b, "curve");
    buf_free(&title);
    buf_puts(b, ": ");
    if (e->s->mark == MARK_HLINE || e->s->mark == MARK_VLINE) {
        buf_puts(b, e->s->mark == MARK_HLINE ? "a level line at " : "an upright line at ");
        num(b, e->s->n == 0 ? NAN : e->s->mark == MARK_HLINE ? e->s->y[0] : figure_x(e->s, 0));
        buf_puts(b, ".\n");
        return;
    }
    if (e->s->mark == MARK_CELLS && e->s->count != NULL) {
        say_table(b, f, e->s);
        return;
    }
    if (e->s->mark == MARK_CELLS) {
        say_surface(b, f, e->s);
        return;
    }
    if (is_intervals(f, e->s)) {
        say_intervals(b, f, e->s);
        return;
    }
    if (!curve_get(&c, f, e)) {
        b->failed = true;
        return;
    }
    if (c.n == 0) {
        buf_puts(b, "no values to draw.\n");
    } else if (e->s->mark == MARK_BAND) {
        say_band(b, f, e->s, x);
    } else if (e->s->mark == MARK_BARS && f->x.nname > 0) {
        say_bars(b, f, e->s);
    } else if (e->s->mark == MARK_BARS || e->s->mark == MARK_STEPS) {
        say_histogram(b, e, &c, x);
    } else {
        buf_printf(b, e->s->faint ? "for reference; " : "%zu point%s; ", c.n,
                   c.n == 1 ? "" : "s");
        if (e->s->mark == MARK_POINTS) {
            say_cloud(b, f, &c, x, e->group >= 0);
        } else {
            say_ends(b, &c, x);
            if (c.n >= 3 && !e->s->faint) {
                say_shape(b, f, &c, x);
                say_crossings(b, f, &c, x);
            }
        }
    }
    if (c.missing > 0)
        buf_printf(b, "  %zu value%s left out: missing, infinite%s.\n", c.missing,
                   c.missing == 1 ? "" : "s", f->x.log || f->y.log ? ", or not above zero" : "");
    free(c.x);
}

static void say_panel(struct buf *b, const struct figure *f)
{
    struct entry *e = mem_calloc(LAYOUT_ENTRIES, sizeof *e, "a description", NULL);
    struct figure_scale sc;
    struct buf xs = { 0 }, ys = { 0 };

    if (f->title != NULL && *f->title != '\0')
        text_safe(b, f->title, 100);
    else
        text_safe(b, f->name != NULL ? f->name : "plot", 40);
    buf_puts(b, "\n");
    if (f->reason != NULL) {
        text_safe(b, f->reason, 0);
        buf_puts(b, "\n");
    } else if (f->listing != NULL) {
        buf_puts(b, f->listing);
    } else if (e == NULL) {
        b->failed = true;
    } else {
        figure_scale(f, 5, 5, &sc);
        const char *x = axis_name(&f->x, "x", &xs), *y = axis_name(&f->y, "y", &ys);
        buf_printf(b, "across: %s%s, ", x, f->x.log ? " (log)" : "");
        num(b, sc.xlo);
        buf_puts(b, " to ");
        num(b, sc.xhi);
        buf_printf(b, "; up: %s%s, ", y, f->y.log ? " (log)" : "");
        num(b, sc.ylo);
        buf_puts(b, " to ");
        num(b, sc.yhi);
        buf_puts(b, ".\n");
        short_name(&xs);
        const size_t n = figure_entries(f, e);
        for (size_t i = 0; i < n; i++)
            say_entry(b, f, &e[i], x);
        if (n == 0)
            buf_puts(b, "no values to draw.\n");
        else if (n == LAYOUT_ENTRIES)
            buf_printf(b, "(the first %d curves)\n", LAYOUT_ENTRIES);
    }
    if (f->verdict != NULL && *f->verdict != '\0') {
        text_safe(b, f->verdict, 0);
        buf_puts(b, "\n");
    }
    free(e);
    buf_free(&xs);
    buf_free(&ys);
}

/* Clouds and histograms are described completely; only long curves are thinned. */
static bool long_curves(const struct figure *f)
{
    for (; f != NULL; f = f->next)
        for (size_t i = 0; i < f->ns; i++)
            if (f->s[i].n > 200000)
                return true;
    return false;
}

void figure_describe(const struct figure *f, struct buf *out)
{
    struct figure *thin = NULL;

    if (long_curves(f)) {
        thin = figure_copy(f, NULL);
        if (thin == NULL || figure_thin(thin, 200000, NULL) != ST_OK) {
            figure_free(thin);
            out->failed = true;
            return;
        }
        f = thin;
    }
    for (bool first = true; f != NULL; f = f->next, first = false) {
        if (!first)
            buf_putc(out, '\n');
        say_panel(out, f);
    }
    figure_free(thin);
}
