/* figure/figure_layout.h -- where things go on a text screen: shared by the built-in plot and by
 * the pane that shows gnuplot's picture.  Private to the plot files.
 *
 * A layout is a frame with axes, numbers, labels and key already drawn, and a raster of dots, one
 * byte each, that says which curve covers which dot.  Who fills the raster (figure_text.c or
 * gnuplot) does not matter for the rest. */
#ifndef GPDESK_FIGURE_LAYOUT_H
#define GPDESK_FIGURE_LAYOUT_H

#include "figure/figure.h"

enum { LAYOUT_PANELS = 16, LAYOUT_ENTRIES = 32, LAYOUT_IDS = 8, LAYOUT_LOOKS = 2 * LAYOUT_IDS };

/* A curve, or one class of one. */
struct entry {
    const struct series *s;
    int group;        /* -1: all of the series */
    unsigned char id; /* 1..LAYOUT_IDS in the raster; 0: a reference line, drawn otherwise */
    int slot;         /* colour: index into the theme's cycle */
    int look; /* sign, below LAYOUT_LOOKS: that of the slot unless another curve of this colour has
                 it */
    char glyph[5];
};

struct panel {
    const struct figure *f;
    struct figure_scale sc;
    size_t left;           /* where the panel begins */
    size_t x, y, w, h;     /* the plot area, in cells of the frame */
    size_t ne;
    struct entry e[LAYOUT_ENTRIES];
    size_t kx, ky, kw, kh; /* the key's box, in cells of the frame; kw 0: none, or in a line */
    bool kline;            /* the key is one line above the plot */
    bool kover;            /* the key lies over some of the curves: pictures only */
    bool axes, head;       /* there is room for axes, and for a row with label and title */
    bool foot;             /* the x label has a row of its own */
};

struct layout {
    struct figure_style style;
    size_t w, h, sx, sy;  /* cells; dots per cell: 2 x 4, or 1 x 1 without UTF-8 */
    unsigned char *raster; /* (w sx) x (h sy) dots, row by row */
    size_t key_room;       /* rows more than the key's words need: pictures have larger signs */
    bool glyphs_only;     /* classes must be told apart without colour: no braille */
    size_t np, more;      /* panels shown, and left out for want of room */
    struct panel p[LAYOUT_PANELS];
};

/* Plans the layout and fills the raster with the built-in plot. */
enum status layout_init(struct layout *, const struct figure *, size_t w, size_t h,
                        const struct figure_style *, size_t key_room, struct err *);
void layout_free(struct layout *);
/* Draws the curves of a panel into the (empty) raster: figure_text.c. */
void layout_raster(struct layout *, const struct panel *);
/* Its surfaces alone, where no dot is set. */
void layout_cells(struct layout *, const struct panel *);
/* Is there a dot of a band at this column and row of a panel?  Few, so that curves on it can be
 * told. */
bool layout_in_band(long x, long y, bool edge);
/* Draws everything into frame cells. */
enum status layout_draw(const struct layout *, struct frame *out, struct err *);

/* gnuplot commands that draw the raster: a picture of nothing but the curves, in colours that
 * layout_read knows again.  dumb: characters, else a colour bitmap. */
void layout_gnuplot(const struct layout *, struct buf *out);
/* Fills the raster from what gnuplot wrote; false when that is not such a picture. */
bool layout_read(struct layout *, const char *bytes, size_t n);
/* More bytes than such a picture can have. */
size_t layout_read_limit(const struct layout *);

/* The curves of a panel in the order of the key, at most LAYOUT_ENTRIES. */
size_t figure_entries(const struct figure *, struct entry *out);
/* The key's text for one ("" when it has none). */
void figure_entry_title(const struct entry *, struct buf *out);
/* The title, unless it only repeats the x label; never NULL. */
const char *figure_headline(const struct figure *);
/* figure_scale in two steps: what the data span (lo > hi: nothing), then numbers for the room. */
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
/* What lies on top of what, 0..5: areas below, few points (which sit on curves) on top. */
enum { LAYERS = 6 };
int figure_layer(const struct series *);
/* The edges of a surface's cell around v, along x or along y. */
void figure_cell(const struct series *, const struct axis *, double v, bool along_x,
                 double edge[2]);
/* Its shade 0..1: the height between the lowest and the highest; -1..1 of one with a sign; NaN: no
 * cell. */
double figure_shade(const struct series *, size_t i, double lowest, double highest);
double figure_shade_at(const struct series *, const struct figure_scale *, double u, double v,
                       double lowest, double highest); /* at the place u, v of the panel, 0..1 */
/* How many bytes of s a line of so many columns takes: up to a blank in its second half where there
 * is one. */
size_t figure_line(const char *s, size_t cols);
bool figure_dotted(double shade, size_t x, size_t y);  /* by an ordered dither */
bool figure_marked(double shade); /* more than hardly anything; false for NaN */
bool figure_hatched(const struct series *, size_t i);  /* a cell below 0 that bears a stroke */
void figure_heights(const struct series *, double *lowest, double *highest);
bool figure_has_lines(const struct figure *); /* curves are drawn over this panel's surface */
/* The colour of a shade (another hue below 0), paler where curves are drawn over it. */
unsigned figure_ramp(double shade, bool pale, bool dark);
/* Half the distance of bars, and half their width. */
double figure_half_bar(const struct series *);
double figure_bar(const struct figure *, const struct series *);
double figure_x(const struct series *, size_t i);
bool figure_has_values(const struct figure *);  /* this panel has something to draw */
/* The theme's colours as 0xRRGGBB; slot -1: text, -2: axes, -3: grid, -4: background. */
unsigned figure_rgb(int slot, bool dark);

#endif
