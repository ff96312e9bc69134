/* tests/compute/fits.h -- fits of a problem with a known truth, for the programs that test models:
 * check_model.c and check_fit.c. */
#ifndef GPDESK_TESTS_FITS_H
#define GPDESK_TESTS_FITS_H

#include "compute/models/model.h"

#include <stdbool.h>
#include <stddef.h>

bool near_rel(double a, double b, double tol);
struct kernel parse(const char *text);
/* A fit whose amplitude and noise stay as given. */
struct fit_opts options(const char *kernel, const char *solver, size_t features);
/* The fitted model; a fit that fails fails the test. */
struct model *fit(const struct source *src, const double *y, const struct fit_opts *o,
                  struct pool *pool, struct fit_info *info);

/* N rows of D standard normals with targets, and T rows to predict. */
enum { N = 700, D = 3, T = 150 };
struct prob { double X[N * D], y[N], Xt[T * D]; struct source_array src, test; };
/* The caller frees it. */
struct prob *prob_make(void);

#endif
