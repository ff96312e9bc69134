/* ui/theme.h -- what a colour means here, and how the present terminal can show it.
 *
 * Code names roles, never colours. Every role can also be recognised without colour, by bold,
 * underline or reverse, and states are always marked by a glyph as well. */
#ifndef GPDESK_THEME_H
#define GPDESK_THEME_H

#include "ui/ui.h"

enum role {
    R_TEXT, R_DIM, R_HEAD, R_HEAD_DIM, R_TAB, R_TAB_ON, R_RULE, R_FRAME, R_FRAME_ON, R_TITLE,
    R_COLUMN,     /* heading of a table column */
    R_KEY,        /* a key in a help text */
    R_GOOD, R_WARN, R_BAD, R_NOTE, R_ACCENT,
    R_SELECT,     /* the cursor in a list */
    R_PROMPT, R_COMMAND, R_BAR, R_BAR_REST,
    N_ROLES
};
/* Glyphs: UTF-8 or ASCII strings, each one column wide. */
struct glyphs {
    const char *h, *v, *tl, *tr, *bl, *br, *bar, *bar_end, *bar_rest, *dot, *dots, *star, *arrow;
    const char *spark[8];
    bool utf8;
};
extern struct glyphs theme_glyph;

/* Call it after newterm. It reads NO_COLOR, GPDESK_THEME and terminfo. */
void theme_init(const struct ui_opts *);
/* Sets a theme by name, built in or from the directory of themes. Returns false if there is no such
 * theme. */
bool theme_set(const char *name);
/* "ascii", "utf8", or "auto" (by the locale). Without UTF-8 in the locale it is always ASCII. */
void theme_glyphs(const char *which);
const char *theme_name(void);
bool theme_dark(void);              /* for plots: true unless the theme says light */
int theme_colors(void);             /* 0, 8 or 256 */
unsigned long theme_attr(enum role);    /* an attr_t including its colour pair */
/* A colour of the 256 palette (for frames of gnuplot), as near as the terminal can show it; -1:
 * default. */
unsigned long theme_palette(int color);

#endif
