/* app/runs/effects_draw.c -- see effects_draw.h. */
#include "app/runs/effects_draw.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PANELS = 6 };

double effects_draw_range(const struct effect *f)
{
    return f->value[f->high * EFFECT_VALUES + EFFECT_MEAN] -
           f->value[f->low * EFFECT_VALUES + EFFECT_MEAN];
}

static bool label(const struct effects_run *w, struct figure *f, const char *x, const char *y,
                  struct err *err)
{
    struct buf bx = { 0 }, by = { 0 };

    (void)w;
    text_safe(&bx, x, 40);
    text_safe(&by, y, 40);
    const bool ok = figure_label(f, buf_str(&bx), buf_str(&by), err) == ST_OK;
    buf_free(&bx);
    buf_free(&by);
    return ok;
}

/* One value of all places. */
static void take(const struct effect *f, size_t k, double less, double *out)
{
    for (size_t p = 0; p < f->n; p++)
        out[p] = f->value[p * EFFECT_VALUES + k] - less;
}

static bool number_panel(const struct effects_run *w, const struct effect *e, struct figure *f,
                         struct err *err)
{
    double x[EFFECTS_PLACES], y[EFFECTS_PLACES], lo[EFFECTS_PLACES], hi[EFFECTS_PLACES];
    bool ok = true;

    take(e, EFFECT_AT, 0.0, x);
    take(e, EFFECT_P10, 0.0, lo);
    take(e, EFFECT_P90, 0.0, hi);
    struct series *s = figure_add_band(f, "80 % of the rows", e->n, x, lo, hi, err);
    ok = s != NULL;
    if (s)
        s->color = 3;
    take(e, EFFECT_LO, 0.0, lo);
    take(e, EFFECT_HI, 0.0, hi);
    if (ok && w->bands) {
        s = figure_add_band(f, "95 % of the average", e->n, x, lo, hi, err);
        ok = s != NULL;
        if (s)
            s->color = 1;
    }
    take(e, EFFECT_MEAN, 0.0, y);
    s = ok ? figure_add(f, "average", MARK_LINEPOINTS, e->n, x, y, err) : NULL;
    if (s)
        s->color = 0;
    return s != NULL;
}

/* The cells of a column at its places, for an axis. */
static bool name_places(const struct movable *m, size_t c, const size_t *row, size_t n,
                        struct axis *axis, struct err *err)
{
    char *word[EFFECTS_LEVELS] = { NULL };
    bool ok = true;

    for (size_t p = 0; p < n; p++) {
        struct buf cell = { 0 }, b = { 0 };
        char number[24];
        if (m->col[c].kind == MOVABLE_NUMBER)
            text_number(number, sizeof number, column_at(&m->data->table->col[m->col[c].at],
                                                         m->train.e.row[row[p]]));
        else
            movable_cell(m, c, m->train.e.row[row[p]], &cell);
        if (m->col[c].kind == MOVABLE_NUMBER)
            buf_puts(&cell, number);
        text_safe(&b, buf_str(&cell), 16);
        word[p] = buf_take(&b);
        ok = ok && word[p];
        buf_free(&cell);
    }
    ok = ok && figure_names(axis, n, (const char *const *)word, err) == ST_OK;
    for (size_t p = 0; p < n; p++)
        free(word[p]);
    return ok;
}

/* Bars from the average of all rows, with their 95 % as lines: levels have no order. */
static bool levels_panel(const struct effects_run *w, const struct effect *e, struct figure *f,
                         struct err *err)
{
    double x[EFFECTS_LEVELS], y[EFFECTS_LEVELS], bx[3 * EFFECTS_LEVELS], by[3 * EFFECTS_LEVELS];

    take(e, EFFECT_AT, 0.0, x);
    take(e, EFFECT_MEAN, w->average, y);
    for (size_t p = 0; p < e->n; p++) {
        const double *v = e->value + p * EFFECT_VALUES;
        bx[3 * p] = bx[3 * p + 1] = x[p];
        bx[3 * p + 2] = by[3 * p + 2] = NAN;
        by[3 * p] = v[EFFECT_LO] - w->average;
        by[3 * p + 1] = v[EFFECT_HI] - w->average;
    }
    struct series *s = figure_add(f, "average", MARK_BARS, e->n, x, y, err);
    if (!s)
        return false;
    s->color = 0;
    s = w->bands ? figure_add(f, "95 % of the average", MARK_LINE, 3 * e->n, bx, by, err) : s;
    if (s && w->bands)
        s->color = 1;
    return s && name_places(&w->m, e->c, e->row, e->n, &f->x, err);
}

static struct figure *effect_panel(const struct effects_run *w, const struct effect *e,
                                   struct err *err)
{
    const struct encoding one = encoding_for(&w->m.enc, w->m.target);
    const bool number = w->m.col[e->c].kind == MOVABLE_NUMBER;
    char title[120], y[80];
    struct buf name = { 0 };

    text_safe(&name, w->m.col[e->c].name, 40);
    snprintf(title, sizeof title, "Effect of %s (%s)", buf_str(&name), w->m.run);
    buf_free(&name);
    snprintf(y, sizeof y, number ? "%s" : "%s less its average", one.target);
    struct figure *f = figure_new("effects", title, err);
    const bool ok = f && label(w, f, w->m.col[e->c].name, y, err) &&
                    (number ? number_panel(w, e, f, err) : levels_panel(w, e, f, err));
    if (ok)
        return f;
    figure_free(f);
    return NULL;
}

static struct figure *pair_panel(const struct effects_run *w, const struct effects_pair *p,
                                 struct err *err)
{
    const struct encoding one = encoding_for(&w->m.enc, w->m.target);
    double x[EFFECTS_GRID], y[EFFECTS_GRID];
    struct buf title = { 0 }, key = { 0 };

    for (size_t i = 0; i < EFFECTS_GRID; i++)
        x[i] = y[i] = (double)i;
    buf_puts(&title, "Effect of ");
    text_safe(&title, w->m.col[p->a].name, 24);
    buf_puts(&title, " and ");
    text_safe(&title, w->m.col[p->b].name, 24);
    buf_printf(&title, " (%s)", w->m.run);
    buf_puts(&key, "average, "); /* in units of the target */
    text_safe(&key, one.target, 40);
    const struct figure_surface z = { p->na, p->nb, x, y, p->z };
    struct figure *f = figure_new("effects", buf_str(&title), err);
    const bool ok = f && label(w, f, w->m.col[p->a].name, w->m.col[p->b].name, err) &&
                    figure_add_cells(f, buf_str(&key), &z, err) &&
                    name_places(&w->m, p->a, p->row, p->na, &f->x, err) &&
                    name_places(&w->m, p->b, p->row + p->na, p->nb, &f->y, err);
    buf_free(&title);
    buf_free(&key);
    if (ok)
        return f;
    figure_free(f);
    return NULL;
}

static bool verdict(const struct effects_run *w, struct figure *f, struct err *err)
{
    struct buf name = { 0 }, low = { 0 }, high = { 0 };
    const struct effect *e = w->of;
    bool ok;

    if (w->n) {
        text_safe(&name, w->m.col[e->c].name, 24);
        movable_show(&w->m, e->c, w->m.train.e.row[e->row[e->low]], &low);
        movable_show(&w->m, e->c, w->m.train.e.row[e->row[e->high]], &high);
        ok = figure_verdict(f, err, "%s moves the average by %.3g: %.4g at %.20s, %.4g at %.20s",
                            buf_str(&name), effects_draw_range(e),
                            e->value[e->low * EFFECT_VALUES + EFFECT_MEAN], buf_str(&low),
                            e->value[e->high * EFFECT_VALUES + EFFECT_MEAN], buf_str(&high))
             == ST_OK;
    } else {
        ok = figure_verdict(f, err, "H of the pair is %.3g (0: they add up, 1: only together); "
                            "places are quantiles", w->pair[0].h) == ST_OK;
    }
    buf_free(&name);
    buf_free(&low);
    buf_free(&high);
    return ok;
}

struct figure *effects_draw(const struct effects_run *w, struct err *err)
{
    struct figure *head = NULL, **tail = &head;
    size_t panels = 0;
    bool ok = true;

    for (size_t i = 0; ok && i < w->n && panels < PANELS; i++, panels++) {
        *tail = effect_panel(w, &w->of[i], err);
        ok = *tail != NULL;
        tail = ok ? &(*tail)->next : tail;
    }
    for (size_t i = 0; ok && i < w->pairs && panels < PANELS; i++, panels++) {
        *tail = pair_panel(w, &w->pair[i], err);
        ok = *tail != NULL;
        tail = ok ? &(*tail)->next : tail;
    }
    if (ok && head) {
        head->across = panels > 4 ? 3 : panels > 1 ? 2 : 0;
        ok = verdict(w, head, err);
    }
    if (ok)
        return head;
    figure_free(head);
    return NULL;
}
