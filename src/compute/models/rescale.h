/* compute/models/rescale.h -- what a fit may do with the amplitude and the noise that a tuning
 * found: the table of the words of `fit rescale=` (share/doc/methods.md 6.17). */
#ifndef GPDESK_RESCALE_H
#define GPDESK_RESCALE_H

#include "compute/models/model.h"

/* A rule: its word, whether the ratio of noise to amplitude may move to the one that suits the
 * features, how the amplitude follows the data at that ratio, and a description.  Where the
 * amplitude follows left-out rows, so does the reach of intervals (6.20); otherwise they reach as
 * far as those of normal distributions.  The first one is the default.  `sep` stands between the
 * rows. */
#define RESCALE_TABLE(row, sep)                                                                    \
    row("yes", true, SCALE_LEFT_OUT,                                                               \
        "the ratio of the best left-out score, the scale at which left-out errors have mean z^2 "  \
        "of about 1, intervals that hold their share of left-out errors") sep                      \
    row("ratio", true, SCALE_LIKELIEST,                                                            \
        "the ratio of the best left-out score, the likeliest amplitude there, intervals of 1.96 "  \
        "sd") sep                                                                                  \
    row("scale", false, SCALE_LEFT_OUT,                                                            \
        "the given ratio, scale and intervals as with yes") sep                                    \
    row("no", false, SCALE_GIVEN, "amplitude and noise as given, intervals of 1.96 sd")
#define RESCALE_WORD(word, ratio, scale, title) word
/* "yes|ratio|...", as the choices of an argument */
#define RESCALE_CHOICES RESCALE_TABLE(RESCALE_WORD, "|")

struct rescale { const char *name; bool ratio; enum scale_rule scale; const char *title; };
const struct rescale *rescale_at_for_tests(size_t i); /* NULL past the end */
/* The rule of that name; NULL: none. */
const struct rescale *rescale_find(const char *name);
/* Enters the rule into the options of a fit. */
void rescale_apply(const struct rescale *, struct fit_opts *);
/* The rule that the options of a fit follow. */
const struct rescale *rescale_of(const struct fit_opts *);

#endif
