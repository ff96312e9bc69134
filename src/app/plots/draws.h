/* app/plots/draws.h -- functions of one input drawn from the current kernel and hyperparameters:
 * the prior, or given the current data.  All by the exact kernel, in double precision, made anew
 * whenever somebody looks, so that the picture follows `set l=..` at once.
 *
 * Sequentially drawn points are a draw as well: y_n ~ p(y_n | y_1 .. y_{n-1}) (Rasmussen & Williams
 * 2006, 2.2), which is how `point` answers where nobody says what was measured. */
#ifndef GPDESK_DRAWS_H
#define GPDESK_DRAWS_H

#include "app/core/workspace.h"

enum draw_on { DRAW_AUTO, DRAW_PRIOR, DRAW_DATA };
enum { DRAWS_MOST = 12, DRAW_POINTS_MOST = 400,
       DRAW_ROWS_MOST = 1000 };  /* rows: 0.1 s on one core; the screen waits for it */

/* What the last `draw` asked for; the workspace keeps one. */
struct draw_state {
    enum draw_on on;
    size_t functions, points;    /* curves; places of each */
    double lo, hi;               /* of the input, in its units; NaN: chosen */
    uint64_t seed;
};
struct draw_state draw_state_default(const struct workspace *);
extern const struct owner draws_owner;
const struct draw_state *draws_state_of(const struct workspace *); /* NULL: none yet */

/* All in the units of the columns (a prior without data: standardised). */
struct draws {
    bool given;                  /* data were used */
    size_t n, g, f;              /* rows, places, functions */
    double *x, *y;               /* n */
    double *at, *mean, *lo, *hi; /* g: place, mean, 95 % band of the function */
    double *sample;              /* f x g */
    double *sd;                  /* g: of the function, scaled units */
    double nmll;                 /* scaled y, nats; NaN without data */
    size_t inside;               /* rows in the 95 % band of a measurement */
    double half;                 /* distance at which the correlation is 1/2, units of x; NaN */
    char *xname, *yname;
    double jitter;               /* that the factorisation needed */
};
/* STATE, UNSUPPORTED or LIMIT with the way out when there is nothing to draw. */
enum status draws_make(struct workspace *, const struct draw_state *, struct draws *, struct err *);
void draws_free(struct draws *);

/* Commands: rows in cmd_teach.c. */
enum status cmd_draw(struct workspace *, const struct args *, struct err *);
enum status cmd_point(struct workspace *, const struct args *, struct err *);

#endif
