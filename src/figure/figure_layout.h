/* figure/figure_layout.h -- where things go on a text screen. It is shared by the built-in plot and
 * by the pane that shows gnuplot's image, and private to the plot files.
 *
 * A layout is a frame with axes, numbers, labels and key already drawn, and a raster of dots, one
 * byte each, that says which curve covers which dot. The raster is filled by figure_text.c or by
 * gnuplot; everything else is the same for both. */
#ifndef GPDESK_FIGURE_LAYOUT_H
#define GPDESK_FIGURE_LAYOUT_H

#include "figure/figure.h"

enum { LAYOUT_PANELS = 16, LAYOUT_ENTRIES = 32, LAYOUT_IDS = 8, LAYOUT_LOOKS = 2 * LAYOUT_IDS };

/* A curve, or one class of one. */
struct entry {
    const struct series *s;
    int group;        /* -1: all of the series */
    /* 1..LAYOUT_IDS in the raster; 0: a reference line, which is drawn separately. */
    unsigned char id;
    int slot;         /* index into the colours of the theme */
    /* Sign, below LAYOUT_LOOKS: that of the colour, unless another curve of this colour has it. Of
     * a reference line: its dashes. */
    int look;
    int depth; /* of a band: how many of its colour lie below it, so that it is darker */
    char glyph[5];
};

struct panel {
    const struct figure *f;
    struct figure_scale sc;
    size_t left;           /* left edge of the panel */
    size_t x, y, w, h;     /* the plot area, in cells of the frame */
    size_t ne;
    struct entry e[LAYOUT_ENTRIES];
    size_t kx, ky, kw, kh; /* box of the key, in cells of the frame; kw 0: none, or in a line */
    bool kline;            /* the key is one line above the plot */
    bool kover;            /* the key covers parts of curves; only in images */
    bool axes, head;       /* there is room for axes, and for a row with label and title */
    bool foot;             /* the x label has its own row */
};

struct layout {
    struct figure_style style;
    size_t w, h, sx, sy;  /* size in cells; dots per cell: 2 x 4, or 1 x 1 without UTF-8 */
    unsigned char *raster; /* (w sx) x (h sy) dots, row by row */
    size_t key_room;       /* extra rows for the key: images have larger signs */
    bool glyphs_only;     /* classes must be distinguishable without colour: no braille */
    size_t np, more;    /* number of panels shown, and of those left out because there is no room */
    struct panel p[LAYOUT_PANELS];
};

/* Plans the layout and fills the raster with the built-in plot. Free it with layout_free. */
enum status layout_init(struct layout *, const struct figure *, size_t w, size_t h,
                        const struct figure_style *, size_t key_room, struct err *);
void layout_free(struct layout *);
/* Draws the curves of a panel into the empty raster; defined in figure_text.c. */
void layout_raster(struct layout *, const struct panel *);
/* Draws its surfaces where no dot is set. */
void layout_cells(struct layout *, const struct panel *);
/* True if a band has a dot at this column and row of a panel. The dots are sparse, so that curves
 * on the band remain visible. */
bool layout_in_band(long x, long y, bool edge, int depth);
/* Draws everything into the cells of a frame. */
enum status layout_draw(const struct layout *, struct frame *out, struct err *);

/* Writes gnuplot commands that draw the raster: an image of nothing but the curves, in colours that
 * layout_read recognises. dumb: characters, otherwise a colour bitmap. */
void layout_gnuplot(const struct layout *, struct buf *out);
/* Fills the raster from gnuplot's output. Returns false if that is not such an image. */
bool layout_read(struct layout *, const char *bytes, size_t n);
/* An upper limit of the bytes of such an image. */
size_t layout_read_limit(const struct layout *);

/* The curves of a panel in the order of the key, at most LAYOUT_ENTRIES. */
size_t figure_entries(const struct figure *, struct entry *out);
/* The text of an entry in the key; "" if it has none. */
void figure_entry_title(const struct entry *, struct buf *out);
/* The title, unless it only repeats the x label; never NULL. */
const char *figure_headline(const struct figure *);
/* figure_scale in two steps: first the range of the data (lo > hi: there are none), then the
 * numbers that fit. */
struct figure_range {
    double xlo, xhi, ylo, yhi;
};
void figure_range(const struct figure *, struct figure_range *);
void figure_scale_range(const struct figure *, const struct figure_range *, size_t nx, size_t ny,
                        struct figure_scale *out);
/* figure_thin into a copy when there is anything to thin, for a screen of w columns; NULL when
 * memory is short.  figure_thinned_free frees what it returned, but not the figure itself. */
const struct figure *figure_thinned(const struct figure *, size_t w, struct err *);
void figure_thinned_free(const struct figure *thinned, const struct figure *original);
/* The drawing order, 0..5: areas are at the bottom, and few points (which lie on curves) at the
 * top. */
enum { LAYERS = 6 };
int figure_layer(const struct series *);
/* The edges of a surface's cell around v, along x or along y. */
void figure_cell(const struct series *, const struct axis *, double v, bool along_x,
                 double edge[2]);
/* The shade of a cell, 0..1: its height between the lowest and the highest; -1..1 for a surface
 * with a sign; NaN: no cell. */
double figure_shade(const struct series *, size_t i, double lowest, double highest);
double figure_shade_at(const struct series *, const struct figure_scale *, double u, double v,
                       /* At the place u, v of the panel, each 0..1. */
                       double lowest, double highest);
/* The number of bytes of s that fit into a line of `cols` columns: up to a blank if there is one in
 * its second half. */
size_t figure_line(const char *s, size_t cols);
bool figure_dotted(double shade, size_t x, size_t y);  /* decided by an ordered dither */
bool figure_marked(double shade); /* visibly shaded; false for NaN */
bool figure_hatched(const struct series *, size_t i);  /* a cell below 0 that gets a stroke */
void figure_heights(const struct series *, double *lowest, double *highest);
bool figure_has_lines(const struct figure *); /* curves are drawn over the surface of this panel */
/* The colour of a shade (another hue below 0), paler if curves are drawn over it. */
unsigned figure_ramp(double shade, bool pale, bool dark);
/* Half the distance between bars, and half their width. */
double figure_half_bar(const struct series *);
double figure_bar(const struct figure *, const struct series *);
double figure_x(const struct series *, size_t i);
bool figure_has_values(const struct figure *);  /* this panel has something to draw */
const char *figure_panel_nothing(const struct figure *); /* as figure_nothing, for this panel */
/* The colour of a cell with this shade: that of its class, or figure_ramp. */
unsigned figure_cell_rgb(const struct series *, size_t i, double shade, bool pale, bool dark);
/* That of words on a cell of this colour: dark or light. */
unsigned figure_ink(unsigned rgb);
/* The most digits of the counts in a table's cells; 0: it has none. */
size_t figure_digits(const struct series *);
/* The colour of an entry as 0xRRGGBB; classes in an order of size go from light to dark. */
unsigned figure_entry_rgb(const struct entry *, bool dark);
double figure_band_alpha(const struct entry *); /* how opaque its band is, with those below it */

/* The colour bar of an image with a surface: what its shades mean. */
struct color_bar {
    const char *title;   /* "" if there is none */
    double lo;           /* the shade at its lower end, 0 or -1; the upper end is 1 */
    bool pale;           /* for figure_ramp */
    size_t n;
    double at[5];        /* shades with a number beside them, */
    char text[5][16];    /* and the number */
};
bool figure_color_bar(const struct figure *, struct color_bar *); /* false: no surface */
/* The colours of the theme as 0xRRGGBB; slot -1: text, -2: axes, -3: grid, -4: background. */
unsigned figure_rgb(int slot, bool dark);

#endif
