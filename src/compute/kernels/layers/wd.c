/* compute/kernels/layers/wd.c -- wd(n=6): the weighted degree kernel of aligned sequences, which
 * counts equal words of 1 to n letters at the same place in both; a word of k letters weighs
 * 2 (n - k + 1)/(n (n + 1)) (share/doc/methods.md 4.8; Raetsch & Sonnenburg 2004).  A word with a
 * letter outside the alphabet is no word.  It has no hyperparameters.
 *
 * Equal words come in runs: r equal letters in a row hold r - k + 1 words of k letters. */
#include "compute/kernels/kernel.h"
#include "compute/kernels/layers/layer.h"

/* The weight of all words inside a run of r equal letters, for words of at most n letters. */
static double run_weight(double r, double n)
{
    const double m = r < n ? r : n;
    /* sum over k = 1..m of (n + 1 - k)(r + 1 - k) */
    const double sum = m * (n + 1.0) * (r + 1.0) - (n + r + 2.0) * m * (m + 1.0) / 2.0 +
                       m * (m + 1.0) * (2.0 * m + 1.0) / 6.0;

    return 2.0 * sum / (n * (n + 1.0));
}

static double sum_of_runs(const struct layer *l, const double *x, const double *y)
{
    const size_t length = (size_t)(x[0] < y[0] ? x[0] : y[0]);
    double sum = 0.0;
    size_t run = 0;

    for (size_t i = 0; i < length; i++) {
        if (x[1 + i] == y[1 + i] && x[1 + i] < (double)l->channels) {
            run++;
            continue;
        }
        sum += run > 0 ? run_weight((double)run, (double)l->width) : 0.0;
        run = 0;
    }
    return sum + (run > 0 ? run_weight((double)run, (double)l->width) : 0.0);
}

static double wd_exact(const struct kterm *t, const double *hp, const double *x, const double *y,
                       double *grad)
{
    (void)hp, (void)grad;
    return sum_of_runs(&t->layer, x, y);
}

static const struct layer_setting settings[] = {
    { .name = "n", .offset = offsetof(struct layer, width), .most = KERNEL_WIDTH_MOST },
    { 0 },
};

#define TITLE "Weighted degree"
#define FORMULA "sum over places and k = 1..n of 2(n-k+1)/(n(n+1)) [words of k letters are equal]"
#define CITE "Raetsch & Sonnenburg 2004"

/* What stands inside is never evaluated: the layer compares whole sequences. */
static double places_pair(const double *params, const double *hp, size_t nl, size_t d,
                          const double *x, const double *y, double *grad)
{
    (void)params, (void)hp, (void)nl, (void)d, (void)x, (void)y, (void)grad;
    return 1.0;
}

static const struct hparam none[] = { { 0 } };

static const struct kernel_ops places = {
    .name = "places",
    .title = TITLE,
    .formula = FORMULA,
    .cite = CITE,
    .hparams = none,
    .pair = places_pair,
};

const struct layer_ops layer_wd = {
    .name = "wd",
    .title = TITLE,
    .formula = FORMULA,
    .cite = CITE,
    .example = "wd(n=6)",
    .help = "wd(n=6)   compares aligned sequences: equal words of 1 to 6 letters at the same "
            "place, short\n"
            "           ones weighing more. It has no hyperparameters, and its models are exact\n",
    .kind = LAYER_WINDOWS,
    .rows = ROWS_SYMBOLS,
    .family = &layer_conv,
    .start = { .width = 6 },
    .settings = settings,
    .hint = "kernel wd(n=6)",
    .inside = &places,
    .exact = wd_exact,
    .drawn_none = true,
};
