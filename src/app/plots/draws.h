/* app/plots/draws.h -- functions of one input drawn from the current kernel and hyperparameters:
 * from the prior, or from the posterior given the current data. They use the exact kernel in double
 * precision and are computed whenever the picture is drawn, so that it follows `set l=..` at
 * once.
 *
 * Points drawn one after the other are a joint draw as well: y_n ~ p(y_n | y_1 .. y_{n-1})
 * (Rasmussen & Williams 2006, 2.2). This is how `point` chooses y if no measured value is given. */
#ifndef GPDESK_DRAWS_H
#define GPDESK_DRAWS_H

#include "app/core/workspace.h"

enum draw_on { DRAW_AUTO, DRAW_PRIOR, DRAW_DATA };
enum { DRAWS_MOST = 12, DRAW_POINTS_MOST = 400,
       DRAW_ROWS_MOST = 1000 };  /* limit of rows: 0.1 s on one core, for which the screen waits */

/* The settings of the last `draw`; the workspace keeps one. */
struct draw_state {
    enum draw_on on;
    size_t functions, points;    /* number of curves, and of places along each */
    double lo, hi;          /* range of the input, in its own units; NaN: chosen automatically */
    uint64_t seed;
    char along[128];             /* of a draw along an input of a fit; "": of none */
    size_t row;                  /* through this row, from 1; 0: at typical values */
};
struct draw_state draw_state_default(const struct workspace *);
extern const struct owner draws_owner;
const struct draw_state *draws_state_of(const struct workspace *); /* NULL if there is none */

/* A picture's numbers, all in the units of the columns (for a prior without data: standardised). */
struct draws {
    bool given;                  /* conditioned on data */
    size_t n, g, f;              /* number of rows, places and functions */
    double *x, *y;               /* n each */
    double *at, *mean, *lo, *hi; /* g each: place, mean, 95 % band of the function */
    double *sample;              /* f x g */
    double *sd;                  /* g: sd of the function, in scaled units */
    double nmll;                 /* for scaled y, in nats; NaN without data */
    size_t inside;               /* number of rows inside the 95 % band for measurements */
    double half;            /* distance at which the correlation is 1/2, in units of x; NaN: none */
    char *xname, *yname;
    double jitter;               /* added to the diagonal so that the factorisation succeeds */
};
/* If there is nothing to draw, the error is STATE, UNSUPPORTED or LIMIT, with a hint. Free the
 * result with draws_free. */
enum status draws_make(struct workspace *, const struct draw_state *, struct draws *, struct err *);
void draws_free(struct draws *);

/* Commands whose rows are in cmd_teach.c. */
enum status cmd_draw(struct workspace *, const struct args *, struct err *);
enum status cmd_point(struct workspace *, const struct args *, struct err *);

#endif
