/* app/runs/effects_draw.h -- the result of `effects`, and its figure. */
#ifndef GPDESK_EFFECTS_DRAW_H
#define GPDESK_EFFECTS_DRAW_H

#include "app/runs/interactions.h"
#include "figure/figure.h"

/* Values of a number, levels of a category, values along each side of a pair. */
enum { EFFECTS_PLACES = 20, EFFECTS_LEVELS = 40, EFFECTS_GRID = 12 };
/* Of each place, in units of the target: the value of the column (the index of a level), the
 * average prediction with its sd and its 95 % interval (NaN without variances), and the range of
 * 80 % of the rows. */
enum { EFFECT_AT, EFFECT_MEAN, EFFECT_SD, EFFECT_LO, EFFECT_HI, EFFECT_P10, EFFECT_P90,
       EFFECT_VALUES };
struct effect {
    size_t c;          /* column of movable */
    size_t n, *row;    /* places: rows of the training sample */
    double *value;     /* n x EFFECT_VALUES */
    size_t low, high;  /* the places with the least and the largest average */
};
struct effects_pair {
    size_t a, b;
    size_t na, nb, *row; /* places of a, then of b */
    double *z;           /* nb x na: the average prediction */
    double h;
};
struct effects_run {
    struct movable m;
    size_t rows, top;
    char *out;
    struct effect *of;
    size_t n, room;
    struct effects_pair *pair;
    size_t pairs, pairs_room;
    size_t skipped;    /* columns of sequences and sets of nodes */
    bool variance;     /* the fit had variances: so have effects, where the model allows it */
    bool bands;
    double average;    /* prediction, over the sample as it is */
};
/* The largest average less the least. */
double effects_draw_range(const struct effect *);
/* A panel for each of the first columns, and for each pair. */
struct figure *effects_draw(const struct effects_run *, struct err *);

#endif
