/* figure/figure_text.c -- the built-in plot: curves drawn as dots without another program. */
#include "figure/figure_layout.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where dots go: the plot area of one panel, in dots, and the id to set. */
struct brush {
    unsigned char *raster;
    size_t stride, x0, y0, w, h;
    unsigned char id;
    bool dashed;
    int depth;     /* of a band, as in struct entry */
    size_t walked; /* dots since the curve began, for dashes */
};

static void dot(struct brush *b, long x, long y)
{
    if (x >= 0 && y >= 0 && (size_t)x < b->w && (size_t)y < b->h)
        b->raster[(b->y0 + (size_t)y) * b->stride + b->x0 + (size_t)x] = b->id;
}

/* A place in dots; it may lie outside the area. The function returns false if the value cannot be
 * drawn at all. */
struct point {
    double x, y;
};

static bool place(const struct brush *b, const struct figure_scale *sc, double x, double y,
                  struct point *out)
{
    const double u = figure_place(x, sc->xlo, sc->xhi, sc->xlog);
    const double v = figure_place(y, sc->ylo, sc->yhi, sc->ylog);

    out->x = u * (double)(b->w - 1);
    out->y = (1 - v) * (double)(b->h - 1);
    return isfinite(u) && isfinite(v);
}

/* One side of Liang-Barsky clipping: keeps the part of t0..t1 where p t <= q. */
static bool clip(double p, double q, double *t0, double *t1)
{
    if (p == 0)
        return q >= 0;
    const double t = q / p;
    if (p < 0)
        *t0 = fmax(*t0, t);
    else
        *t1 = fmin(*t1, t);
    return *t0 <= *t1;
}

static void stroke(struct brush *b, struct point from, struct point to)
{
    const double dx = to.x - from.x, dy = to.y - from.y;
    double t0 = 0, t1 = 1;

    if (!clip(-dx, from.x + 0.5, &t0, &t1) ||
        !clip(dx, (double)b->w - 0.5 - from.x, &t0, &t1) || !clip(-dy, from.y + 0.5, &t0, &t1) ||
        !clip(dy, (double)b->h - 0.5 - from.y, &t0, &t1))
        return;
    const double length = fmax(fabs(dx), fabs(dy)) * (t1 - t0);
    const size_t steps = (size_t)ceil(length);
    for (size_t k = 0; k <= steps; k++) {
        const double t = steps > 0 ? t0 + (t1 - t0) * (double)k / (double)steps : t0;
        if (!b->dashed || b->walked % 8 < 5)
            dot(b, lround(from.x + t * dx), lround(from.y + t * dy));
        b->walked += k > 0;
    }
}

static void draw_line(struct brush *b, const struct panel *p, const struct series *s)
{
    struct point last = { 0, 0 };
    bool have = false;

    for (size_t i = 0; i < s->n; i++) {
        struct point at;
        const bool ok = place(b, &p->sc, figure_x(s, i), s->y[i], &at);
        if (ok && have && s->mark == MARK_STAIRS) {
            const struct point corner = { at.x, last.y };
            stroke(b, last, corner);
            last = corner;
        }
        if (ok)
            stroke(b, have ? last : at, at);
        last = at;
        have = ok;
    }
}

/* If there are few points, each gets more than one dot, because a single braille dot is hard to
 * see. */
static void draw_points(struct brush *b, const struct panel *p, const struct entry *e, bool big)
{
    const struct series *s = e->s;

    for (size_t i = 0; i < s->n; i++) {
        struct point at;
        if ((e->group >= 0 && s->group[i] != e->group) ||
            !place(b, &p->sc, figure_x(s, i), s->y[i], &at) || fabs(at.x) > 1e6 ||
            fabs(at.y) > 1e6)
            continue;
        const long x = lround(at.x), y = lround(at.y);
        dot(b, x, y);
        if (big && x >= 0 && y >= 0 && (size_t)x < b->w && (size_t)y < b->h) {
            const long right = x + ((size_t)x + 1 < b->w ? 1 : -1);
            const long below = y + ((size_t)y + 1 < b->h ? 1 : -1);
            dot(b, right, y);
            dot(b, x, below);
            dot(b, right, below);
        }
    }
}

bool layout_in_band(long x, long y, bool edge, int depth)
{
    const bool sparse = x % 4 == 0 && y % 4 == (x % 8 == 0 ? 0 : 2);
    const bool between = x % 4 == 2 && y % 4 == (x % 8 == 2 ? 2 : 0);
    return edge ? x % 2 == 0 : sparse || (depth > 0 && between);
}

enum fill { FILL_ALL, FILL_DOTS, FILL_HATCH };
/* Fills one column of dots between two heights. */
static void fill_column(struct brush *b, long x, double y0, double y1, enum fill how)
{
    const double least = fmin(y0, y1), most = fmax(y0, y1);
    const long lo = lround(fmax(least, 0)), hi = lround(fmin(most, (double)b->h));

    for (long y = lo; y <= hi; y++)
        if (how == FILL_ALL || (how == FILL_HATCH ? (x + y) % 2 == 0
                                : layout_in_band(x, y, y == lround(least) || y == lround(most),
                                                 b->depth)))
            dot(b, x, y);
}

static double base_of(const struct figure_scale *sc)
{
    return sc->ylog || sc->ylo > 0 ? sc->ylo : sc->yhi < 0 ? sc->yhi : 0;
}

static void draw_bars(struct brush *b, const struct panel *p, const struct series *s)
{
    const double half = figure_bar(p->f, s), base = base_of(&p->sc);

    for (size_t i = 0; i < s->n; i++) {
        struct point a, c, mid;
        const double x = figure_x(s, i);
        if (!place(b, &p->sc, x, s->y[i], &mid) || s->y[i] == base)
            continue;
        if (!place(b, &p->sc, x - half, base, &a))
            place(b, &p->sc, p->sc.xlo, base, &a);
        if (!place(b, &p->sc, x + half, base, &c))
            c = mid;
        /* A column belongs to the bar whose half-open range contains its middle, so that wide bars
         * keep a gap and thin ones do not vanish. */
        const long from = lround(fmax(a.x, 0));
        long to = lround(fmin(c.x, (double)b->w));
        to = to - from >= 4 ? to - 2 : to > from ? to - 1 : from;
        for (long k = from; k <= to; k++)
            fill_column(b, k, a.y, mid.y, FILL_ALL);
    }
}

static void draw_steps(struct brush *b, const struct panel *p, const struct series *s)
{
    const double half = figure_half_bar(s), base = base_of(&p->sc);
    struct point last = { 0, 0 };
    bool have = false;

    for (size_t i = 0; i < s->n; i++) {
        struct point left, right, foot;
        const double x = figure_x(s, i);
        const bool ok = place(b, &p->sc, x - half, s->y[i], &left) &&
                        place(b, &p->sc, x + half, s->y[i], &right);
        if (ok) {
            if (!have && place(b, &p->sc, x - half, base, &foot))
                last = foot;
            stroke(b, last, left);
            stroke(b, left, right);
            last = right;
        }
        have = ok || have;
    }
    struct point foot = { last.x, 0 }, at;
    if (have && place(b, &p->sc, p->sc.xlo, base, &at)) {
        foot.y = at.y;
        stroke(b, last, foot);
    }
}

static void draw_band(struct brush *b, const struct panel *p, const struct series *s, enum fill how)
{
    for (size_t i = 0; i + 1 < s->n; i++) {
        struct point a, c, a2, c2;
        if (!place(b, &p->sc, figure_x(s, i), s->y[i], &a) ||
            !place(b, &p->sc, figure_x(s, i + 1), s->y[i + 1], &c) ||
            !place(b, &p->sc, figure_x(s, i), s->y2[i], &a2) ||
            !place(b, &p->sc, figure_x(s, i + 1), s->y2[i + 1], &c2))
            continue;
        const long from = lround(fmin(fmax(a.x, 0), (double)b->w)),
                   to = lround(fmin(fmax(c.x, 0), (double)b->w));
        for (long k = from; k <= to; k++) {
            const double t = c.x > a.x ? fmin(fmax(((double)k - a.x) / (c.x - a.x), 0), 1) : 0;
            fill_column(b, k, a.y + t * (c.y - a.y), a2.y + t * (c2.y - a2.y), how);
        }
    }
}

static void draw_entry(struct brush *b, const struct layout *l, const struct panel *p,
                       const struct entry *e)
{
    b->walked = 0;
    /* It is not drawn as dots, but keeps the key away. */
    b->id = e->id != 0 ? e->id : LAYOUT_IDS + 1;
    b->dashed = e->s->dashed && l->style.utf8;
    b->depth = e->depth;
    switch (e->s->mark) {
    case MARK_POINTS:
        draw_points(b, p, e, l->style.utf8 && e->s->n <= 200);
        break;
    case MARK_LINEPOINTS:
        draw_line(b, p, e->s);
        b->dashed = false;
        if (e->s->n <= p->w / 3)
            draw_points(b, p, e, l->style.utf8);
        break;
    case MARK_BARS:
        draw_bars(b, p, e->s);
        break;
    case MARK_STEPS:
        draw_steps(b, p, e->s);
        break;
    case MARK_BAND:
        if (e->s->y2 != NULL)
            draw_band(b, p, e->s, l->style.utf8 ? FILL_DOTS : FILL_HATCH);
        break;
    case MARK_CELLS: /* layout_cells draws it later, below everything else */
        break;
    default:
        draw_line(b, p, e->s);
    }
}

void layout_cells(struct layout *l, const struct panel *p)
{
    const size_t stride = l->w * l->sx, w = p->w * l->sx, h = p->h * l->sy;
    double lowest, highest;

    if (w < 2 || h < 2 || p->f->reason != NULL)
        return;
    for (size_t i = 0; i < p->ne; i++) {
        const struct series *s = p->e[i].s;
        if (s->mark != MARK_CELLS || p->e[i].id == 0)
            continue;
        figure_heights(s, &lowest, &highest);
        for (size_t y = 0; y < h; y++)
            for (size_t x = 0; x < w; x++) {
                unsigned char *d = l->raster + (p->y * l->sy + y) * stride + p->x * l->sx + x;
                const double u = (double)x / (double)(w - 1), v = 1 - (double)y / (double)(h - 1);
                if (*d != 0)
                    continue;
                const double shade = figure_shade_at(s, &p->sc, u, v, lowest, highest);
                if (s->sign != 0 && (l->glyphs_only || !l->style.utf8) ? figure_marked(shade)
                                                                       : figure_dotted(shade, x, y))
                    *d = p->e[i].id;
            }
    }
}

void layout_raster(struct layout *l, const struct panel *p)
{
    struct brush b = { .raster = l->raster, .stride = l->w * l->sx, .x0 = p->x * l->sx,
                       .y0 = p->y * l->sy, .w = p->w * l->sx, .h = p->h * l->sy };
    size_t clouds = 0;

    if (b.w == 0 || b.h == 0)
        return;
    for (size_t i = 0; i < p->ne; i++) /* reference lines come first, because curves cover them */
        if (p->e[i].id == 0 && p->e[i].s->mark < MARK_HLINE)
            draw_entry(&b, l, p, &p->e[i]);
    for (int k = 0; k < LAYERS; k++)
        for (size_t i = 0; i < p->ne; i++)
            if (p->e[i].id != 0 && figure_layer(p->e[i].s) == k)
                draw_entry(&b, l, p, &p->e[i]);
    for (size_t i = 0; i < p->ne; i++)
        clouds += p->e[i].id != 0 && (p->e[i].s->mark == MARK_POINTS || p->e[i].s->sign != 0);
    if (clouds > 1 && l->style.colors < 8)
        l->glyphs_only = true;
    layout_cells(l, p);
}

enum status figure_frame(const struct figure *f, size_t w, size_t h, const struct figure_style *st,
                         struct frame *out, struct err *err)
{
    /* 20 KB are too much for the stack. */
    struct layout *l = mem_calloc(1, sizeof *l, "a plot", err);
    const struct figure *thin = figure_thinned(f, w, err);
    enum status rc = ST_NOMEM;

    *out = (struct frame){ 0 };
    if (l != NULL && thin != NULL)
        rc = layout_init(l, thin, w, h, st, 0, err);
    if (rc == ST_OK)
        rc = layout_draw(l, out, err);
    if (l != NULL)
        layout_free(l);
    free(l);
    figure_thinned_free(thin, f);
    return rc;
}

void frame_free(struct frame *fr)
{
    free(fr->cell);
    *fr = (struct frame){ 0 };
}

void figure_text(const struct figure *f, size_t w, size_t h, bool utf8, struct buf *out)
{
    const struct figure_style st = { .utf8 = utf8 };
    struct frame fr;

    if (figure_frame(f, w, h, &st, &fr, NULL) != ST_OK) {
        out->failed = true;
        return;
    }
    for (size_t y = 0; y < fr.h; y++) {
        size_t end = fr.w;
        while (end > 0 && strcmp(fr.cell[y * fr.w + end - 1].ch, " ") == 0)
            end--;
        for (size_t x = 0; x < end; x++)
            buf_puts(out, fr.cell[y * fr.w + x].ch);
        buf_putc(out, '\n');
    }
    frame_free(&fr);
}
