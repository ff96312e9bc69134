/* ui/views/axes.c -- see axes.h. */
#include "ui/views/axes.h"

#include "figure/figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool axes_act(const struct view *v, enum act act, struct axes *a)
{
    const struct figure *f = v->plot ? plotpane_figure(v->plot) : NULL;
    const bool zoomed = a->hi > a->lo;
    const double lo = zoomed ? a->lo : 0, hi = zoomed ? a->hi : 1, w = hi - lo;
    switch (act) {
    case ACT_LOGX: a->x = f && f->x.log ? 2 : 1; return true;
    case ACT_LOGY: a->y = f && f->y.log ? 2 : 1; return true;
    case ACT_AXES: *a = (struct axes){ 0 }; return true;
    case ACT_ZOOM_IN:
        if (w > 1.0 / 4096) {
            a->lo = lo + w / 4;
            a->hi = hi - w / 4;
        }
        return true;
    case ACT_ZOOM_OUT:
        a->lo = fmax(0, lo - w / 2);
        a->hi = fmin(1, hi + w / 2);
        if (a->hi - a->lo >= 1)
            a->lo = a->hi = 0;
        return true;
    case ACT_ZOOM_ALL: a->lo = a->hi = 0; return true;
    case ACT_PAN_LEFT: case ACT_PAN_RIGHT:
        if (zoomed) {
            const double by = act == ACT_PAN_LEFT ? -fmin(w / 4, lo) : fmin(w / 4, 1 - hi);
            a->lo += by;
            a->hi += by;
        }
        return true;
    default: return false;
    }
}

uint64_t axes_stamp(const struct axes *a)
{
    return (uint64_t)(a->x * 4 + a->y) +
           ((uint64_t)(a->lo * 8192) + (uint64_t)(a->hi * 8192) * 8193) * 16;
}

/* y is fitted to the visible part of x: otherwise zooming into the flat end of a curve would show a
 * flat line. */
static void fit_y(struct figure *f)
{
    double lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i < f->ns; i++) {
        const struct series *s = &f->s[i];
        if (s->mark == MARK_HLINE || s->mark == MARK_VLINE || s->faint)
            continue;
        for (size_t k = 0; k < s->n; k++) {
            const double x = s->x ? s->x[k] : (double)k;
            for (int side = 0; side < (s->mark == MARK_BAND && s->y2 ? 2 : 1); side++) {
                const double y = side ? s->y2[k] : s->y[k];
                if (x < f->x.lo || x > f->x.hi || !isfinite(y) || (f->y.log && y <= 0))
                    continue;
                lo = fmin(lo, y);
                hi = fmax(hi, y);
            }
        }
    }
    if (!(lo < hi))
        return;
    const double room = f->y.log ? pow(hi / lo, 0.05) : 0.05 * (hi - lo);
    f->y.lo = f->y.log ? lo / room : lo - room;
    f->y.hi = f->y.log ? hi * room : hi + room;
}

void axes_apply(struct figure *f, const struct axes *a)
{
    for (; f; f = f->next) {
        if (a->x)
            f->x.log = a->x == 1;
        if (a->y)
            f->y.log = a->y == 1;
        if (!(a->hi > a->lo) || f->square)
            continue;
        struct figure_scale s;
        figure_scale(f, 5, 5, &s);
        const double l0 = s.xlog ? log(s.xlo) : s.xlo, l1 = s.xlog ? log(s.xhi) : s.xhi;
        const double lo = l0 + a->lo * (l1 - l0), hi = l0 + a->hi * (l1 - l0);
        f->x.lo = s.xlog ? exp(lo) : lo;
        f->x.hi = s.xlog ? exp(hi) : hi;
        fit_y(f);
    }
}

/* The iterations of a run, one by one. */

size_t axes_scrub_at(const struct desk *d, const struct run *r)
{
    return r && d->scrub && strcmp(d->scrub_run, r->id) == 0 && d->scrub < r->ntrace ? d->scrub : 0;
}

bool axes_scrub(struct view *v, enum act act, struct run *r)
{
    struct desk *d = v->desk;
    if ((act != ACT_BACK && act != ACT_FORTH) || !r || r->ntrace < 2)
        return act == ACT_BACK || act == ACT_FORTH;
    const size_t n = r->ntrace, at = axes_scrub_at(d, r) ? axes_scrub_at(d, r) : n;
    const size_t step = n > 60 ? n / 60 : 1;
    snprintf(d->scrub_run, sizeof d->scrub_run, "%s", r->id);
    if (act == ACT_BACK)
        d->scrub = at > step + 1 ? at - step : 1;
    else
        d->scrub = at + step < n ? at + step : 0;
    return true;
}
