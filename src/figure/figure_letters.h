/* figure/figure_letters.h -- which letters a picture can hold. gnuplot's terminals of cairo draw a
 * shape over the whole page in place of a letter that no installed font has, and leave out the rest
 * of the text. Which fonts there are gpdesk cannot know; what all usual ones have it can. */
#ifndef GPDESK_FIGURE_LETTERS_H
#define GPDESK_FIGURE_LETTERS_H

#include "figure/figure.h"

#include <stdint.h>

/* The width of a letter of size 1 in the widest usual font without serifs, and in a monospaced
 * one. */
double figure_letters_width(uint32_t point, bool bold);
double figure_letters_mono(uint32_t point);
/* The length in bytes of the beginning of s that is at most so wide, in letters of size 1. */
size_t figure_letters_fit(const char *s, double width);
/* Appends s with each letter that a usual font may lack as \u65e5, and returns how many there were.
 * Latin, Greek, Cyrillic, punctuation and common signs are not among them. */
size_t figure_letters(struct buf *, const char *s);
/* The same for all texts of a figure and of the panels after it. NOMEM if memory is short. */
enum status figure_letters_all(struct figure *, size_t *rare);
/* True if a text of the figure has a rare letter. */
bool figure_letters_found(const struct figure *);

#endif
