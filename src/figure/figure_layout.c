/* figure/figure_layout.c -- a plot on a text screen: where axes, numbers, labels and key go, and
 * how dots become cells. */
#include "figure/figure_layout.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Colours after the Okabe-Ito palette, which colour-blind readers can distinguish. */

static const unsigned rgb_light[LAYOUT_IDS] = { 0x0072b2, 0xd55e00, 0x009e73, 0xa8468a,
                                                0xb8860b, 0x4db0e0, 0x6b4226, 0x222222 };
static const unsigned rgb_dark[LAYOUT_IDS] = { 0x56b4e9, 0xf0a020, 0x2fc997, 0xe08fc4,
                                               0xf0e442, 0xff7043, 0xb39ddb, 0xe8e8e8 };

unsigned figure_rgb(int slot, bool dark)
{
    if (slot >= 0)
        return (dark ? rgb_dark : rgb_light)[slot % LAYOUT_IDS];
    switch (slot) {
    case -1: return dark ? 0xe6e6e6 : 0x1a1a1a;
    case -2: return dark ? 0x9a9a9a : 0x555555;
    case -3: return dark ? 0x3a3d42 : 0xe0e0e0;
    default: return dark ? 0x16181c : 0xffffff;
    }
}

enum { SLOT_TEXT = -1, SLOT_AXIS = -2 };

static short terminal_color(const struct figure_style *st, int slot)
{
    static const short dark256[] = { 75, 214, 43, 176, 227, 209, 147, 252 };
    static const short light256[] = { 25, 166, 29, 133, 136, 38, 94, 235 };
    static const short dark16[] = { 12, 11, 10, 13, 14, 9, 3, 15 };
    static const short light16[] = { 4, 1, 2, 5, 6, 3, 8, 0 };
    static const short dark8[] = { 6, 3, 2, 5, 1, 4, 7, 7 };
    static const short light8[] = { 4, 1, 2, 5, 6, 3, 0, 0 };

    if (st->colors < 8 || slot == SLOT_TEXT)
        return -1;
    if (slot == SLOT_AXIS)
        return st->colors >= 256 ? (st->dark ? 246 : 241) : -1;
    slot %= LAYOUT_IDS;
    if (st->colors >= 256)
        return st->dark ? dark256[slot] : light256[slot];
    if (st->colors >= 16)
        return st->dark ? dark16[slot] : light16[slot];
    return st->dark ? dark8[slot] : light8[slot];
}

/* The curves of a panel. */

static bool has_group(const struct series *s, int g)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->group[i] == g)
            return true;
    return false;
}

static int last_group(const struct series *s)
{
    int g = -1;

    for (size_t i = 0; i < s->n; i++)
        g = s->group[i] > g ? s->group[i] : g;
    return g < LAYOUT_ENTRIES - 1 ? g : LAYOUT_ENTRIES - 1;
}

/* The sign that belongs to a colour, or the next free one. */
static int choose_look(int slot, bool taken[LAYOUT_IDS])
{
    for (int k = 0; k < LAYOUT_IDS; k++) {
        const int look = (slot + k) % LAYOUT_IDS;
        if (!taken[look]) {
            taken[look] = true;
            return look;
        }
    }
    return slot % LAYOUT_IDS;
}

size_t figure_entries(const struct figure *f, struct entry *out)
{
    bool taken[LAYOUT_IDS] = { false };
    /* Letters for the ninth class and further ones. */
    static const char glyph[] = "*+ox#@%&ABCDEFGH";
    size_t n = 0, ids = 0, colors = 0, dashes = 0;
    int rules = 0, bands[LAYOUT_IDS] = { 0 };

    for (size_t i = 0; i < f->ns && n < LAYOUT_ENTRIES; i++) {
        const struct series *s = &f->s[i];
        const bool level = s->mark == MARK_HLINE || s->mark == MARK_VLINE;
        if (s->mark == MARK_CELLS && figure_has_lines(f)) { /* only in images */
            out[n++] = (struct entry){ s, -1, 0, SLOT_AXIS, 0, 0, " " };
            continue;
        }
        if (level || s->faint) {
            out[n++] = (struct entry){ s, -1, 0, s->color >= 0 ? s->color : SLOT_TEXT,
                                       s->faint ? 0 : rules++, 0,
                                       { s->faint ? '.' : s->mark == MARK_VLINE ? '|' : '=' } };
            continue;
        }
        const bool grouped = s->group != NULL && s->mark != MARK_CELLS;
        const int groups = grouped ? last_group(s) : -1;
        for (int g = grouped ? 0 : -1; g <= groups && n < LAYOUT_ENTRIES; g++) {
            if (g >= 0 && !has_group(s, g))
                continue;
            /* A band has the colour of the curve that follows it, its mean. */
            const int slot = g >= 0 ? g : s->color >= 0 ? s->color : (int)colors;
            const bool plain = s->mark != MARK_BAND && s->mark != MARK_CELLS && !s->dashed;
            const int look = g >= LAYOUT_IDS ? LAYOUT_IDS + g % LAYOUT_IDS
                             : plain         ? choose_look(slot % LAYOUT_IDS, taken)
                                             : slot % LAYOUT_IDS;
            const char sign = s->sign != 0 ? s->sign > 0 ? '+' : '-'
                              : s->mark == MARK_BAND ? bands[slot % LAYOUT_IDS] > 0 ? '%' : ':'
                              : s->mark == MARK_CELLS                           ? ':'
                              : s->dashed                                     ? ".'`,"[dashes++ % 4]
                                                                              : glyph[look];
            const int depth = s->mark == MARK_BAND ? bands[slot % LAYOUT_IDS]++ : 0;
            out[n++] = (struct entry){ s, g, (unsigned char)(ids++ % LAYOUT_IDS + 1),
                                       slot % LAYOUT_IDS, look, depth, { sign } };
            colors += g < 0 && s->mark != MARK_BAND;
        }
        colors += groups >= 0 ? (size_t)groups + 1 : 0;
    }
    return n;
}

int figure_layer(const struct series *s)
{
    switch (s->mark) {
    case MARK_CELLS:
    case MARK_BAND: return 0;
    case MARK_BARS: return 1;
    case MARK_HLINE:
    case MARK_VLINE: return 2;
    case MARK_POINTS: return s->n > 150 ? 3 : 5;
    default: return 4;
    }
}

void figure_entry_title(const struct entry *e, struct buf *out)
{
    const char *t = e->s->title != NULL ? e->s->title : "";

    const char *name = e->group >= 0 ? e->s->class_names : NULL;

    for (int g = 0; name != NULL && g < e->group; g++)
        if ((name = strchr(name, '\n')) != NULL)
            name++;
    if (e->group < 0)
        buf_puts(out, t);
    else if (name != NULL && *name != '\0' && *name != '\n')
        buf_printf(out, "%s%s%.*s", t, *t != '\0' ? " " : "", (int)strcspn(name, "\n"), name);
    else
        buf_printf(out, "%s%s%d", t, *t != '\0' ? " " : "class ", e->group);
}

bool figure_has_values(const struct figure *f)
{
    for (size_t i = 0; i < f->ns; i++) {
        const struct series *s = &f->s[i];
        if (s->mark == MARK_HLINE || s->mark == MARK_VLINE)
            continue;
        for (size_t j = 0; j < s->n; j++)
            if (!isnan(figure_place(figure_x(s, j), 1, 2, f->x.log)) &&
                !isnan(figure_place(s->y[j], 1, 2, f->y.log)))
                return true;
    }
    return false;
}

const char *figure_panel_nothing(const struct figure *f)
{
    return f->reason != NULL      ? f->reason
           : figure_has_values(f) ? NULL
           : f->y.log || f->x.log ? "no values above zero to draw"
                                  : "no values to draw";
}

const char *figure_nothing(const struct figure *f)
{
    for (const struct figure *p = f; p != NULL; p = p->next)
        if (figure_panel_nothing(p) == NULL)
            return NULL;
    return figure_panel_nothing(f);
}

/* Geometry. */

struct box {
    size_t x, y, w, h;
};

static size_t label_width(const char *s)
{
    struct buf b = { 0 };

    if (s == NULL || *s == '\0')
        return 0;
    text_safe(&b, s, 0);
    const size_t w = text_width(buf_str(&b));
    buf_free(&b);
    return w;
}

static size_t ticks_width(const struct ticks *t)
{
    size_t w = 0;

    for (size_t i = 0; i < t->n; i++)
        w = strlen(t->text[i]) > w ? strlen(t->text[i]) : w;
    return w;
}

/* True for a surface under curves: a text screen leaves it out. */
static bool unseen(const struct entry *e)
{
    return e->s->mark == MARK_CELLS && e->id == 0;
}

/* What the key says of an entry. An image has a colour bar instead of an entry for a surface; on a
 * screen of text the range stands in the key. */
static void key_title(const struct entry *e, bool image, struct buf *b)
{
    const struct series *s = e->s;
    double lowest, highest;

    if (unseen(e) || (image && s->mark == MARK_CELLS && s->sign == 0))
        return;
    figure_entry_title(e, b);
    if (image || b->len == 0 || s->mark != MARK_CELLS)
        return;
    figure_heights(s, &lowest, &highest);
    if (s->sign == 0 && lowest <= highest)
        buf_printf(b, ": %.3g (light) to %.3g", lowest, highest);
    else if (s->sign != 0 && lowest <= highest)
        buf_printf(b, ", by %.3g at most", fmax(fabs(lowest), fabs(highest)));
}

static size_t key_entries(const struct panel *p, bool image, size_t *width)
{
    size_t n = 0;

    *width = 0;
    for (size_t i = 0; i < p->ne; i++) {
        struct buf b = { 0 };
        key_title(&p->e[i], image, &b);
        const size_t w = label_width(buf_str(&b));
        buf_free(&b);
        n += w > 0;
        *width = w > *width ? w : *width;
    }
    *width += 2;
    return n;
}

const char *figure_headline(const struct figure *f)
{
    const size_t n = f->title != NULL ? strlen(f->title) : 0;

    if (n == 0 || (f->x.label != NULL && strncmp(f->title, f->x.label, n) == 0 &&
                   (f->x.label[n] == '\0' || strncmp(f->x.label + n, " (", 2) == 0)))
        return "";
    return f->title;
}

/* True if there is a row above the plot for the y label and the title. */
static bool panel_header(const struct figure *f, const struct box *b)
{
    const bool words = (f->y.label != NULL && *f->y.label != '\0') || *figure_headline(f) != '\0';
    return b->h >= 8 && words;
}

/* Sets the plot area inside the box, without `right` columns and the line of the key, if any. */
static void panel_place(struct panel *p, const struct box *b, size_t right)
{
    p->left = b->x;
    p->axes = b->h >= 5u + p->kline && b->w >= 20;
    p->head = p->axes && panel_header(p->f, b);
    const size_t head = p->head + (size_t)p->kline;

    const size_t label = label_width(p->f->x.label);
    p->foot = p->axes && b->h >= 10 && (label > 12 || (label > 0 && b->h >= 16));

    if (!p->axes) {
        p->x = b->x;
        p->y = b->y + p->kline;
        p->w = b->w;
        p->h = b->h > p->kline ? b->h - p->kline : 0;
        figure_scale(p->f, 3, 3, &p->sc);
        return;
    }
    p->y = b->y + head;
    p->h = b->h - head - 2 - p->foot;
    size_t nx = (b->w - right) / 7;
    const size_t ny = p->f->y.nname > 0 ? p->h
                      : p->h >= 4       ? p->h / 2
                                        : 2; /* words: one for each row */
    struct figure_range r;
    figure_range(p->f, &r);
    for (;; nx--) {
        figure_scale_range(p->f, &r, nx, ny, &p->sc);
        size_t yw = ticks_width(&p->sc.yt);
        yw = yw > b->w / 3 ? b->w / 3 : yw;
        p->x = b->x + yw + 2;
        p->w = b->w > yw + 2 + right ? b->w - yw - 2 - right : 1;
        if (nx <= 2 || p->sc.xt.n * (ticks_width(&p->sc.xt) + 5) <= p->w)
            break;
    }
}

/* The number of raster dots in a box that is one column wider on each side. */
static size_t dots_in(const struct layout *l, const struct panel *p, const struct box *b)
{
    const size_t x0 = b->x > p->x ? b->x - 1 : b->x;
    size_t k = 0;

    for (size_t y = b->y * l->sy; y < (b->y + b->h) * l->sy; y++)
        for (size_t x = x0 * l->sx; x < (b->x + b->w) * l->sx; x++)
            k += l->raster[y * l->w * l->sx + x] != 0;
    return k;
}

/* The number of horizontal and vertical lines through a box: they are drawn later than the
 * raster. */
static size_t rules_in(const struct panel *p, const struct box *b)
{
    size_t k = 0;

    for (size_t i = 0; i < p->ne; i++) {
        const struct series *s = p->e[i].s;
        if (s->n == 0 || (s->mark != MARK_HLINE && s->mark != MARK_VLINE))
            continue;
        const double u =
            s->mark == MARK_VLINE
                ? (double)p->x +
                      (double)p->w * figure_place(figure_x(s, 0), p->sc.xlo, p->sc.xhi, p->sc.xlog)
                : (double)p->y +
                      (double)p->h * (1 - figure_place(s->y[0], p->sc.ylo, p->sc.yhi, p->sc.ylog));
        const double from = (double)(s->mark == MARK_VLINE ? b->x : b->y);
        k += u >= from - 0.5 && u <= from + (double)(s->mark == MARK_VLINE ? b->w : b->h) + 0.5;
    }
    return k;
}

/* Finds a corner without curves; with `over`, the one where the key covers least. */
static bool key_corner(const struct layout *l, struct panel *p, size_t kw, size_t kh, bool over)
{
    if (kw + 6 > p->w || kh + 1 > p->h || (!over && kw * 2 > p->w + 8))
        return false;
    const size_t right = p->x + p->w - kw, mid = p->x + (p->w - kw) / 2, bottom = p->y + p->h - kh;
    const struct box at[] = { { right, p->y, kw, kh },   { p->x + 1, p->y, kw, kh },
                              { right, bottom, kw, kh }, { p->x + 1, bottom, kw, kh },
                              { mid, p->y, kw, kh },     { mid, bottom, kw, kh } };

    size_t least = SIZE_MAX, best = 0;
    for (size_t i = 0; i < sizeof at / sizeof at[0] && least > 0; i++) {
        const size_t dots = dots_in(l, p, &at[i]) + (l->key_room > 0 ? rules_in(p, &at[i]) : 0);
        if (dots < least) {
            least = dots;
            best = i;
        }
    }
    if (least > 0 && !over)
        return false;
    p->kx = at[best].x;
    p->ky = at[best].y;
    p->kw = kw;
    p->kh = kh;
    p->kover = least > 0;
    return true;
}

static void raster_panel(struct layout *l, const struct panel *p)
{
    for (size_t y = p->y * l->sy; y < (p->y + p->h) * l->sy; y++)
        memset(l->raster + y * l->w * l->sx + p->x * l->sx, 0, p->w * l->sx);
    layout_raster(l, p);
}

/* The key goes into a free corner, otherwise beside the plot, otherwise (in images) where it covers
 * least, otherwise into a line above the plot. */
static void panel_plan(struct layout *l, struct panel *p, const struct box *b)
{
    size_t kw, kh = key_entries(p, l->key_room > 0, &kw);

    panel_place(p, b, 0);
    raster_panel(l, p);
    if (kh == 0 || b->h < 3 || b->w < 12)
        return;
    kw += 4 * l->key_room;
    kh += l->key_room;
    if (key_corner(l, p, kw, kh, false) && !(l->key_room > 0 && 2 * kh > p->h && b->w >= 40))
        return;
    p->kw = 0;
    const bool tall = l->key_room > 0 && 2 * kh > p->h;
    if (b->w >= (tall ? 40 : 56) && kw <= (tall ? b->w / 2 : b->w / 3) && kh + 1 < b->h) {
        panel_place(p, b, kw + 1);
        raster_panel(l, p);
        p->kx = p->x + p->w + 1;
        p->ky = p->y;
        p->kw = kw;
        p->kh = kh;
        return;
    }
    if (l->key_room > 0 && key_corner(l, p, kw, kh, true))
        return;
    if (b->h >= 6) {
        p->kline = true;
        panel_place(p, b, 0);
        raster_panel(l, p);
        p->ky = p->y - 1;
    }
}

static size_t count_panels(const struct figure *f)
{
    size_t n = 0;

    for (; f != NULL; f = f->next)
        n++;
    return n;
}

/* How many panels fit side by side and below each other. */
static void grid_shape(const struct figure *f, size_t w, size_t h, size_t n, size_t *across,
                       size_t *down)
{
    enum { LEAST_W = 26, LEAST_H = 6 };
    size_t a = f->across > 0 ? f->across : 1;

    a = a > n ? n : a;
    while (a > 1 && w / a < LEAST_W)
        a--;
    size_t d = (n + a - 1) / a;
    while (d > 1 && h / d < LEAST_H)
        d--;
    *across = a;
    *down = d;
}

enum status layout_init(struct layout *l, const struct figure *f, size_t w, size_t h,
                        const struct figure_style *st, size_t key_room, struct err *err)
{
    *l = (struct layout){ .style = *st, .w = w, .h = h };
    l->sx = st->utf8 ? 2 : 1;
    l->sy = st->utf8 ? 4 : 1;
    l->key_room = key_room;
    l->raster = mem_calloc(w * h * l->sx * l->sy + 1, 1, "a plot", err);
    if (l->raster == NULL)
        return ST_NOMEM;
    if (w == 0 || h == 0)
        return ST_OK;
    const size_t n = count_panels(f);
    size_t across, down;
    grid_shape(f, w, h, n, &across, &down);
    for (size_t i = 0; f != NULL && i < across * down && i < LAYOUT_PANELS; i++, f = f->next) {
        struct panel *p = &l->p[l->np++];
        const size_t cw = w / across, ch = (h - (n > across * down)) / down;
        const size_t gap = across > 1 ? 2 : 0;
        const size_t col = i % across, row = i / across;
        struct box b = { col * cw, row * ch, cw - (col + 1 < across ? gap : 0), ch };
        p->f = f;
        if (f->reason != NULL || f->listing != NULL) {
            p->x = b.x;
            p->y = b.y;
            p->w = b.w;
            p->h = b.h;
            continue;
        }
        p->ne = figure_entries(f, p->e);
        panel_plan(l, p, &b);
    }
    l->more = n - l->np;
    return ST_OK;
}

void layout_free(struct layout *l)
{
    free(l->raster);
    l->raster = NULL;
}

/* Drawing cells. */

static void put(struct frame *fr, size_t x, size_t y, const char *ch, short fg)
{
    if (x >= fr->w || y >= fr->h)
        return;
    struct frame_cell *c = &fr->cell[y * fr->w + x];
    const size_t n = strlen(ch);
    memset(c->ch, 0, sizeof c->ch);
    memcpy(c->ch, ch, n < sizeof c->ch ? n : sizeof c->ch - 1);
    c->fg = fg;
}

/* Length of the UTF-8 character at s (text_safe guarantees that it is one). */
static size_t char_bytes(const char *s)
{
    const unsigned char c = (unsigned char)*s;
    const size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    return strnlen(s, n);
}

/* Writes user text, made safe, in at most `cols` columns. A wide character leaves an empty cell
 * after it. Returns the number of columns used. */
static size_t put_text(struct frame *fr, const struct figure_style *st, size_t x, size_t y,
                       const char *s, size_t cols, short fg)
{
    struct buf b = { 0 };
    size_t used = 0;

    if (s == NULL || cols == 0)
        return 0;
    text_safe(&b, s, cols);
    for (const char *p = buf_str(&b); *p != '\0';) {
        char one[5] = "";
        const size_t n = char_bytes(p);
        memcpy(one, p, n);
        p += n;
        const size_t cw = text_width(one);
        if (cw == 0)
            continue;
        if (used + cw > cols)
            break;
        put(fr, x + used, y, st->utf8 || n == 1 ? one : "?", fg);
        if (cw == 2)
            put(fr, x + used + 1, y, st->utf8 ? "" : "?", fg);
        used += cw;
    }
    buf_free(&b);
    return used;
}

static size_t tick_column(const struct layout *l, const struct panel *p, double v)
{
    const double u = figure_place(v, p->sc.xlo, p->sc.xhi, p->sc.xlog);
    return p->x + (size_t)lround(u * (double)(p->w * l->sx - 1)) / l->sx;
}

static size_t tick_row(const struct layout *l, const struct panel *p, double v)
{
    const double u = figure_place(v, p->sc.ylo, p->sc.yhi, p->sc.ylog);
    return p->y + (size_t)lround((1 - u) * (double)(p->h * l->sy - 1)) / l->sy;
}

static bool inside(double v, double lo, double hi, bool log)
{
    const double u = figure_place(v, lo, hi, log);
    return u >= 0 && u <= 1;
}

static void draw_y_axis(const struct layout *l, const struct panel *p, struct frame *fr)
{
    const short grey = terminal_color(&l->style, SLOT_AXIS);
    const bool u8 = l->style.utf8;

    for (size_t y = p->y; y < p->y + p->h; y++)
        put(fr, p->x - 1, y, u8 ? "\u2502" : "|", grey);
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < p->sc.yt.n; i++) {
        if (!inside(p->sc.yt.at[i], p->sc.ylo, p->sc.yhi, p->sc.ylog))
            continue;
        const size_t y = tick_row(l, p, p->sc.yt.at[i]), n = strlen(p->sc.yt.text[i]);
        if (y == last)
            continue;
        last = y;
        for (size_t k = 0; k < n && n + 2 <= p->x; k++)
            put(fr, p->x - 2 - n + k + (u8 ? 1 : 0), y,
                (char[2]){ p->sc.yt.text[i][k], '\0' }, -1);
        if (u8)
            put(fr, p->x - 1, y, "\u2524", grey);
    }
}

/* True if the words of the axis fit only when each is cut to its share of the width. */
static bool names_cut(const struct panel *p)
{
    enum { LEAST = 4 }; /* three letters and a blank */
    const size_t n = p->f->x.nname;

    return n > p->sc.xt.n && p->w / n >= LEAST;
}

/* The least distance between neighbouring words of the axis, in columns. */
static size_t names_apart(const struct layout *l, const struct panel *p)
{
    size_t least = p->w / p->f->x.nname; /* less where the axis reaches beyond the outer bars */

    for (size_t i = 1; i < p->f->x.nname; i++) {
        const size_t from = tick_column(l, p, (double)i - 1.0), to = tick_column(l, p, (double)i);
        least = to > from && to - from < least ? to - from : least;
    }
    return least;
}

/* Writes the words of an axis, each cut to its share of the width: no bar goes without a name, and
 * a blank is between two of them. */
static void draw_names(const struct layout *l, const struct panel *p, struct frame *fr, size_t y)
{
    const struct axis *a = &p->f->x;
    const size_t share = names_apart(l, p);

    for (size_t i = 0; i < a->nname; i++) {
        if (!inside((double)i, p->sc.xlo, p->sc.xhi, false))
            continue;
        const size_t x = tick_column(l, p, (double)i);
        struct buf safe = { 0 }, cut = { 0 };
        text_safe(&safe, a->name[i], 0);
        buf_putn(&cut, buf_str(&safe), text_fit(buf_str(&safe), share - 1));
        const size_t n = text_width(buf_str(&cut)), at = x >= n / 2 ? x - n / 2 : 0;
        put(fr, x, y, l->style.utf8 ? "\u252c" : "|", terminal_color(&l->style, SLOT_AXIS));
        put_text(fr, &l->style, at, y + 1, buf_str(&cut), share, -1);
        buf_free(&safe);
        buf_free(&cut);
    }
}

static void draw_x_axis(const struct layout *l, const struct panel *p, struct frame *fr)
{
    const short grey = terminal_color(&l->style, SLOT_AXIS);
    const bool u8 = l->style.utf8;
    const size_t y = p->y + p->h, end = p->x + p->w;

    put(fr, p->x - 1, y, u8 ? "\u2514" : "+", grey);
    for (size_t x = p->x; x < end; x++)
        put(fr, x, y, u8 ? "\u2500" : "-", grey);
    size_t room = end, lw = label_width(p->f->x.label);
    if (p->foot) { /* in the middle of its own row */
        lw = lw > p->w ? p->w : lw;
        put_text(fr, &l->style, p->x + (p->w - lw) / 2, y + 2, p->f->x.label, lw, -1);
    } else if (lw > 0 && !names_cut(p)) {
        lw = lw > p->w * 2 / 5 ? p->w * 2 / 5 : lw;
        put_text(fr, &l->style, end - lw, y + 1, p->f->x.label, lw, -1);
        room = end - lw - 1;
    }
    size_t from = p->x > 4 ? p->x - 4 : 0;
    if (names_cut(p)) {
        draw_names(l, p, fr, y);
        return;
    }
    for (size_t i = 0; i < p->sc.xt.n; i++) {
        if (!inside(p->sc.xt.at[i], p->sc.xlo, p->sc.xhi, p->sc.xlog))
            continue;
        const size_t x = tick_column(l, p, p->sc.xt.at[i]), n = strlen(p->sc.xt.text[i]);
        put(fr, x, y, u8 ? "\u252c" : "|", grey);
        size_t at = x >= n / 2 ? x - n / 2 : 0;
        at = at + n > end && end >= n ? end - n : at;
        if (at < from || at + n > room)
            continue;
        for (size_t k = 0; k < n; k++)
            put(fr, at + k, y + 1, (char[2]){ p->sc.xt.text[i][k], '\0' }, -1);
        from = at + n + 1;
    }
}

static void draw_header(const struct layout *l, const struct panel *p, struct frame *fr)
{
    const size_t y = p->y - 1 - p->kline, end = p->x + p->w;
    const size_t left = p->x >= p->left + 8 ? p->x - 8 : p->left;

    const size_t used = put_text(fr, &l->style, left, y, p->f->y.label, end - left, -1);
    const size_t tw = label_width(figure_headline(p->f));
    if (tw > 0 && left + used + 3 + tw <= end)
        put_text(fr, &l->style, end - tw, y, figure_headline(p->f), tw, -1);
}

static const char *line_glyph(const struct layout *l, const struct entry *e)
{
    if (l->style.utf8 && e->id == 0)
        return e->s->mark == MARK_VLINE ? "\u254e" : e->s->faint ? "\u00b7" : "\u254c";
    return e->glyph;
}

static void draw_key(const struct layout *l, const struct panel *p, struct frame *fr)
{
    size_t x = p->kline ? p->x : p->kx, y = p->ky;
    const size_t end = p->kline ? p->x + p->w : p->kx + p->kw;

    if (!p->kline && p->kw == 0)
        return;
    for (size_t i = 0; i < p->ne; i++) {
        struct buf b = { 0 };
        key_title(&p->e[i], l->key_room > 0, &b);
        if (b.len > 0 && x + 4 < end && y < fr->h) {
            put(fr, x, y, line_glyph(l, &p->e[i]),
                terminal_color(&l->style, p->e[i].s->faint ? SLOT_AXIS : p->e[i].slot));
            const size_t n = put_text(fr, &l->style, x + 2, y, buf_str(&b), end - x - 2, -1);
            x = p->kline ? x + n + 4 : x;
            y += !p->kline;
        }
        buf_free(&b);
    }
}

/* The curve that covers most dots of a cell. *bits receives the braille pattern of all dots. */
static unsigned char cell_owner(const struct layout *l, size_t cx, size_t cy, unsigned *bits)
{
    static const unsigned char dot[4][2] = { { 0x01, 0x08 }, { 0x02, 0x10 }, { 0x04, 0x20 },
                                             { 0x40, 0x80 } };
    unsigned count[LAYOUT_IDS + 1] = { 0 };
    unsigned char best = 0;

    *bits = 0;
    for (size_t y = 0; y < l->sy; y++)
        for (size_t x = 0; x < l->sx; x++) {
            const unsigned char id = l->raster[(cy * l->sy + y) * l->w * l->sx + cx * l->sx + x];
            if (id == 0 || id > LAYOUT_IDS)
                continue;
            *bits |= dot[y][x];
            if (++count[id] >= count[best] || best == 0)
                best = id;
        }
    return best;
}

static const struct entry *entry_of(const struct panel *p, unsigned char id)
{
    for (size_t i = 0; id != 0 && i < p->ne; i++)
        if (p->e[i].id == id)
            return &p->e[i];
    return NULL;
}

static void draw_dots(const struct layout *l, const struct panel *p, struct frame *fr)
{
    for (size_t y = p->y; y < p->y + p->h; y++)
        for (size_t x = p->x; x < p->x + p->w; x++) {
            unsigned bits;
            const struct entry *e = entry_of(p, cell_owner(l, x, y, &bits));
            if (e == NULL)
                continue;
            const short fg = terminal_color(&l->style, e->slot);
            const unsigned u = 0x2800 + bits;
            const char braille[4] = { (char)(0xe0 | (u >> 12)), (char)(0x80 | ((u >> 6) & 63)),
                                      (char)(0x80 | (u & 63)), '\0' };
            put(fr, x, y, l->style.utf8 && !l->glyphs_only ? braille : e->glyph, fg);
        }
}

/* The numbers of a table's cells, a blank on each side, where they fit. */
static void draw_counts(const struct layout *l, const struct panel *p, const struct series *s,
                        struct frame *fr)
{
    const size_t down = s->across > 0 ? s->n / s->across : 1, digits = figure_digits(s);

    if (p->w < s->across * (digits + 2) || p->h < down)
        return;
    for (size_t i = 0; i < s->n; i++) {
        char text[32];
        const int n = snprintf(text, sizeof text, " %.0f ", s->count[i]);
        const size_t x = tick_column(l, p, s->x[i]);
        if (s->count[i] != 0 && x >= p->x + (size_t)n / 2)
            put_text(fr, &l->style, x - (size_t)n / 2, tick_row(l, p, s->y[i]), text, (size_t)n,
                     -1);
    }
}

static bool cell_empty(const struct frame *fr, size_t x, size_t y)
{
    return fr->cell[y * fr->w + x].ch[0] == ' ';
}

/* Draws reference lines where there are no curves. */
static void draw_levels(const struct layout *l, const struct panel *p, struct frame *fr)
{
    for (size_t i = 0; i < p->ne; i++) {
        const struct entry *e = &p->e[i];
        const struct series *s = e->s;
        const short fg = terminal_color(&l->style, s->faint ? SLOT_AXIS : e->slot);
        if (e->id != 0 || s->n == 0 || s->mark == MARK_CELLS)
            continue;
        if (s->mark == MARK_HLINE && inside(s->y[0], p->sc.ylo, p->sc.yhi, p->sc.ylog)) {
            const size_t y = tick_row(l, p, s->y[0]);
            for (size_t x = p->x; x < p->x + p->w; x++)
                if (cell_empty(fr, x, y))
                    put(fr, x, y, line_glyph(l, e), fg);
        } else if (s->mark == MARK_VLINE &&
                   inside(figure_x(s, 0), p->sc.xlo, p->sc.xhi, p->sc.xlog)) {
            const size_t x = tick_column(l, p, figure_x(s, 0));
            for (size_t y = p->y; y < p->y + p->h; y++)
                if (cell_empty(fr, x, y))
                    put(fr, x, y, line_glyph(l, e), fg);
        } else if (s->mark != MARK_HLINE && s->mark != MARK_VLINE) {
            for (size_t j = 0; j + 1 < s->n; j++) { /* a faint curve: one mark per column */
                const double x0 = figure_place(figure_x(s, j), p->sc.xlo, p->sc.xhi, p->sc.xlog);
                const double x1 = figure_place(figure_x(s, j + 1), p->sc.xlo, p->sc.xhi,
                                               p->sc.xlog);
                const double y0 = figure_place(s->y[j], p->sc.ylo, p->sc.yhi, p->sc.ylog);
                const double y1 = figure_place(s->y[j + 1], p->sc.ylo, p->sc.yhi, p->sc.ylog);
                if (isnan(x0 + x1 + y0 + y1))
                    continue;
                const double cols = fabs(x1 - x0) * (double)p->w,
                             rows = fabs(y1 - y0) * (double)p->h;
                const size_t steps = (size_t)fmin(1000, fmax(cols, rows)) + 1;
                for (size_t k = 0; k <= steps; k++) {
                    const double t = (double)k / (double)steps;
                    const double u = x0 + t * (x1 - x0), v = y0 + t * (y1 - y0);
                    if (!(u >= 0 && u <= 1 && v >= 0 && v <= 1))
                        continue;
                    const size_t x = p->x + (size_t)lround(u * (double)(p->w * l->sx - 1)) / l->sx;
                    const size_t y =
                        p->y + (size_t)lround((1 - v) * (double)(p->h * l->sy - 1)) / l->sy;
                    if (cell_empty(fr, x, y))
                        put(fr, x, y, line_glyph(l, e), fg);
                }
            }
        }
    }
}

/* True for curves, and for points of any class. */
static bool has_sign(const struct entry *e)
{
    return e->id != 0 && e->s->mark <= MARK_LINEPOINTS;
}

/* Draws the sign of a curve where it crosses every k-th column. */
static void sign_line(const struct layout *l, const struct panel *p, const struct entry *e,
                      size_t from, size_t every, struct frame *fr)
{
    unsigned bits;

    for (size_t x = p->x + from; x < p->x + p->w; x += every)
        for (size_t y = p->y; y < p->y + p->h; y++)
            if (cell_owner(l, x, y, &bits) == e->id) {
                put(fr, x, y, e->glyph, terminal_color(&l->style, e->slot));
                break;
            }
}

/* Draws the sign of points in every third cell that they dominate, in a pattern that omits no row
 * or column; at least once. Points that are foremost have it in each of their cells. */
static void sign_points(const struct layout *l, const struct panel *p, const struct entry *e,
                        struct frame *fr)
{
    const struct series *s = e->s;
    const short fg = terminal_color(&l->style, e->slot);
    size_t at = SIZE_MAX;
    unsigned bits;
    bool any = false;

    for (size_t i = 0; i < s->n; i++) {
        const double u = figure_place(figure_x(s, i), p->sc.xlo, p->sc.xhi, p->sc.xlog);
        const double v = figure_place(s->y[i], p->sc.ylo, p->sc.yhi, p->sc.ylog);
        if ((e->group >= 0 && s->group[i] != e->group) || !(u >= 0 && u <= 1 && v >= 0 && v <= 1))
            continue;
        const size_t x = p->x + (size_t)lround(u * (double)(p->w * l->sx - 1)) / l->sx;
        const size_t y = p->y + (size_t)lround((1 - v) * (double)(p->h * l->sy - 1)) / l->sy;
        if (!s->foremost && cell_owner(l, x, y, &bits) != e->id)
            continue;
        at = at == SIZE_MAX ? y * fr->w + x : at;
        if (!s->foremost && (x + y) % 3 != 0)
            continue;
        put(fr, x, y, e->glyph, fg);
        any = true;
    }
    if (!any && at != SIZE_MAX)
        put(fr, at % fr->w, at / fr->w, e->glyph, fg);
}

/* With several curves or classes in braille, each has its sign here and there, so that they can be
 * distinguished without colour. */
static void draw_signs(const struct layout *l, const struct panel *p, struct frame *fr)
{
    size_t lines = 0, all = 0, k = 0;

    for (size_t i = 0; i < p->ne; i++) {
        all += has_sign(&p->e[i]);
        lines += has_sign(&p->e[i]) && p->e[i].s->mark != MARK_POINTS;
    }
    const bool needed = l->style.utf8 && all > 1;
    for (size_t i = 0; i < p->ne; i++) {
        const struct entry *e = &p->e[i];
        const size_t every = p->w / 5 + 4;
        if (has_sign(e) && e->s->mark == MARK_POINTS && (needed || e->s->foremost))
            sign_points(l, p, e, fr);
        else if (has_sign(e) && needed && e->s->mark != MARK_POINTS)
            sign_line(l, p, e, k++ * every / lines + 2, every, fr);
    }
}

size_t figure_line(const char *s, size_t cols)
{
    const size_t n = text_fit(s, cols);

    if (s[n] != '\0')
        for (size_t k = n; k > n / 2; k--)
            if (s[k] == ' ')
                return k;
    return n;
}

/* Writes words in the middle of a box, instead of a plot. */
static void draw_words(const struct layout *l, const char *words, const struct box *b,
                       struct frame *fr)
{
    struct buf safe = { 0 };
    const size_t cols = b->w > 4 ? b->w - 4 : b->w;

    if (b->w == 0 || b->h == 0)
        return;
    text_safe(&safe, words, 0);
    const char *s = buf_str(&safe);
    size_t rows = 0;
    for (const char *p = s; *p != '\0' && rows < b->h; rows++) {
        const size_t n = figure_line(p, cols);
        if (n == 0)
            break;
        p += n;
        p += *p == ' ';
    }
    size_t y = b->y + (b->h - rows) / 2;
    for (const char *p = s; *p != '\0' && y < b->y + b->h; y++) {
        const size_t n = figure_line(p, cols);
        if (n == 0)
            break;
        struct buf line = { 0 };
        buf_putn(&line, p, n);
        const size_t w = text_width(buf_str(&line));
        put_text(fr, &l->style, b->x + (b->w > w ? (b->w - w) / 2 : 0), y, buf_str(&line), cols,
                 -1);
        buf_free(&line);
        p += n;
        p += *p == ' ';
    }
    buf_free(&safe);
}

/* Writes lines from the top of a box; where there is no room for all, the last tells of it. */
static void draw_listing(const struct layout *l, const char *lines, const struct box *b,
                         struct frame *fr)
{
    size_t y = 0;

    while (*lines != '\0' && y < b->h) {
        const size_t n = strcspn(lines, "\n");
        struct buf line = { 0 };
        const bool last = y + 1 == b->h && lines[n] == '\n' && lines[n + 1] != '\0';
        buf_putn(&line, last ? ".." : lines, last ? 2 : n);
        put_text(fr, &l->style, b->x, b->y + y++, buf_str(&line), b->w, -1);
        buf_free(&line);
        lines += n + (lines[n] == '\n');
    }
}

static void draw_panel(const struct layout *l, const struct panel *p, struct frame *fr)
{
    const char *nothing = figure_panel_nothing(p->f);

    if (nothing == NULL && p->f->listing != NULL) {
        draw_listing(l, p->f->listing, &(struct box){ p->x, p->y, p->w, p->h }, fr);
        return;
    }
    if (p->axes) {
        draw_y_axis(l, p, fr);
        draw_x_axis(l, p, fr);
    }
    if (p->head)
        draw_header(l, p, fr);
    const struct box inner = { p->x, p->y, p->w, p->h };
    if (nothing != NULL) {
        draw_words(l, nothing, &inner, fr);
    } else {
        draw_dots(l, p, fr);
        for (size_t i = 0; i < p->ne; i++)
            if (p->e[i].s->count != NULL && p->e[i].id != 0)
                draw_counts(l, p, p->e[i].s, fr);
        draw_levels(l, p, fr);
        if (!l->glyphs_only)
            draw_signs(l, p, fr);
    }
    draw_key(l, p, fr);
}

enum status layout_draw(const struct layout *l, struct frame *out, struct err *err)
{
    static unsigned serial;

    *out = (struct frame){ .w = l->w, .h = l->h };
    out->cell = mem_calloc(l->w * l->h + 1, sizeof *out->cell, "a plot", err);
    if (out->cell == NULL)
        return ST_NOMEM;
    out->serial = __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
    for (size_t i = 0; i < l->w * l->h; i++)
        out->cell[i] = (struct frame_cell){ " ", -1 };
    for (size_t i = 0; i < l->np; i++)
        draw_panel(l, &l->p[i], out);
    if (l->more > 0 && l->w >= 30) {
        struct buf b = { 0 };
        buf_printf(&b, "+%zu more panels", l->more);
        put_text(out, &l->style, 0, l->h - 1, buf_str(&b), l->w, -1);
        buf_free(&b);
    }
    return ST_OK;
}
