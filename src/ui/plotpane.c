/* ui/plotpane.c -- see plotpane.h. */
#include "ui/plotpane.h"

#include "figure/gnuplot.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVERY 0.3       /* seconds between figures of streaming data */

struct plotpane {
    struct gnuplot *gp;
    struct figure *fig;
    struct err err;             /* the reason why there is no figure */
    uint64_t what, stamp;
    int w, h;                   /* size at the last request */
    double made, due;
    unsigned stale;             /* serial of the frame that was shown when `what` changed */
    bool has_stale, awaited;
    bool off;                   /* words are shown instead */
    char told[256];             /* the last reported state of gnuplot */
};

struct plotpane *plotpane_new(void)
{
    return calloc(1, sizeof(struct plotpane));
}

void plotpane_free(struct plotpane *p)
{
    if (!p)
        return;
    gnuplot_free(p->gp);
    figure_free(p->fig);
    free(p);
}

const struct figure *plotpane_figure(const struct plotpane *p)
{
    return p->off ? NULL : p->fig;
}

void plotpane_off(struct plotpane *p)
{
    if (p)
        p->off = true;
}

double plotpane_due(const struct plotpane *p)
{
    return p->due;
}

void plotpane_forget(struct plotpane *p)
{
    p->w = p->h = 0;
    p->what = 0;
}

static void remake(struct plotpane *p, const struct canvas *c, plotpane_make *make, void *ctx)
{
    if (make) {
        figure_free(p->fig);
        err_clear(&p->err);
        p->fig = make(ctx, &p->err);
    }
    p->w = c->w;
    p->h = c->h;
    if (!p->fig || p->fig->reason)
        return;
    if (!p->gp)
        p->gp = gnuplot_new(&p->err);
    if (!p->gp)
        return;
    gnuplot_style(p->gp, theme_colors(), theme_dark());
    gnuplot_request(p->gp, p->fig, (size_t)c->w, (size_t)c->h, theme_glyph.utf8, &p->err);
}

/* Draws the reason for a missing plot in the middle of the pane. */
static void draw_reason(const struct canvas *c, const char *why)
{
    struct buf b = { 0 };
    text_safe(&b, why, 0);
    struct canvas in = draw_inner(c, c->h / 3, c->w / 10, c->h - c->h / 3, c->w - c->w / 5);
    draw_paragraph(&in, 0, 0, theme_attr(R_DIM), buf_str(&b));
    buf_free(&b);
}

static void draw_frame_cells(const struct canvas *c, const struct frame *f)
{
    for (size_t y = 0; y < f->h && (int)y < c->h; y++) {
        const struct frame_cell *row = f->cell + y * f->w;
        for (size_t x = 0; x < f->w && (int)x < c->w;) {
            char run[1024];
            size_t n = 0, x0 = x;
            short fg = row[x].fg;
            while (x < f->w && (int)x < c->w && row[x].fg == fg && n + 8 < sizeof run) {
                size_t k = strlen(row[x].ch);
                memcpy(run + n, row[x].ch, k); /* empty: the second cell of a wide character */
                n += k;
                x++;
            }
            run[n] = '\0';
            draw_text(c, (int)y, (int)x0, theme_palette(fg), run);
        }
    }
}

void plotpane_draw(struct plotpane *p, const struct canvas *c, uint64_t what, uint64_t stamp,
                   plotpane_make *make, void *ctx, double now)
{
    p->off = false;
    if (c->w < 4 || c->h < 2)
        return;
    const bool other = what != p->what || !p->made, size = c->w != p->w || c->h != p->h;
    const bool data = stamp != p->stamp;
    p->due = 0;
    if (other || (data && now >= p->made + EVERY)) {
        const struct frame *f = p->gp ? gnuplot_frame(p->gp) : NULL;
        if (other) {
            p->has_stale = f != NULL;
            p->stale = f ? f->serial : 0;
            p->awaited = true;
        }
        remake(p, c, make, ctx);
        p->what = what;
        p->stamp = stamp;
        p->made = now;
    } else {
        if (data)
            p->due = p->made + EVERY;
        if (size)
            remake(p, c, NULL, NULL);
    }
    if (!p->fig) {
        draw_reason(c, p->err.msg[0] ? p->err.msg : "nothing to draw yet");
        return;
    }
    if (p->fig->reason) {
        draw_reason(c, p->fig->reason);
        return;
    }
    const struct frame *f = p->gp ? gnuplot_frame(p->gp) : NULL;
    if (f && !(p->has_stale && f->serial == p->stale)) {
        p->has_stale = p->awaited = false;
        draw_frame_cells(c, f);
    }
}

size_t plotpane_poll(struct plotpane *p, struct pollfd *fds, int *timeout_ms)
{
    return p->gp ? gnuplot_poll(p->gp, fds, timeout_ms) : 0;
}

bool plotpane_service(struct plotpane *p)
{
    return p->gp && gnuplot_service(p->gp);
}

bool plotpane_awaited(const struct plotpane *p)
{
    return p->awaited;
}

const char *plotpane_trouble(struct plotpane *p)
{
    const char *s = p->gp ? gnuplot_state(p->gp) : "";
    if (strcmp(s, p->told) == 0)
        return NULL;
    snprintf(p->told, sizeof p->told, "%s", s);
    return *s ? p->told : "gnuplot draws the plots again.";
}
