/* app/runs/fitting_scales.c -- hyperparameters, amplitudes and noises as JSON and as text. See
 * fitting.h. */
#include "app/runs/fitting.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_SCALES = 12 };

/* The number of hyperparameters from i on that are the lengthscales of one ARD term. `name`
 * receives their name without the index. */
static size_t hp_group(const struct kernel *k, size_t i, char name[KERNEL_NAME_MAX])
{
    char next[KERNEL_NAME_MAX];
    size_t n = 1;

    kernel_hp_info(k, i, name, NULL);
    char *bracket = strchr(name, '[');
    if (!bracket)
        return 1;
    *bracket = '\0';
    for (; i + n < kernel_nhp(k); n++) {
        kernel_hp_info(k, i + n, next, NULL);
        if (strncmp(next, name, strlen(name)) != 0 || next[strlen(name)] != '[' ||
            strstr(next, "[1]"))
            break;
    }
    return n;
}

/* Hyperparameters with t amplitudes and noises: arrays, unless t is 1. */
void fitting_scales_json(struct rec *rec, const struct kernel *k, const double *hp, size_t t,
                        const double *amplitudes, const double *noises)
{
    rec_open(rec, "hyperparameters");
    for (size_t i = 0, n; i < kernel_nhp(k); i += n) {
        char name[KERNEL_NAME_MAX];
        n = hp_group(k, i, name);
        if (n > 1)
            rec_nums(rec, name, hp + i, n);
        else
            rec_num(rec, name, hp[i]);
    }
    if (t > 1) {
        rec_nums(rec, "amplitude", amplitudes, t);
        if (noises)
            rec_nums(rec, "noise", noises, t);
    } else {
        rec_num(rec, "amplitude", amplitudes[0]);
        rec_num(rec, "noise", noises ? noises[0] : NAN);
    }
    rec_close(rec);
}

void fitting_hp_json(struct rec *rec, const struct kernel *k, const double *hp, double amplitude,
                     double noise)
{
    fitting_scales_json(rec, k, hp, 1, &amplitude, &noise);
}

void fitting_hp_text(struct buf *b, const struct kernel *k, const double *hp, double amplitude,
                     double noise)
{
    fitting_scales_text(b, k, hp, 1, &amplitude, &noise);
}

void fitting_targets_json(struct rec *rec, const struct encoding *enc)
{
    const char *names[TARGETS_MOST];
    const size_t t = encoding_targets(enc);

    for (size_t j = 0; j < t; j++)
        names[j] = encoding_for(enc, j).target;
    if (t > 1)
        rec_strs(rec, "targets", names, t);
}

bool fitting_scales_equal(size_t t, const double *v)
{
    size_t j = 1;

    while (j < t && v[j] == v[0])
        j++;
    return t > 1 && j == t;
}

static void each_text(struct buf *b, const char *name, size_t t, const double *v)
{
    char num[32];

    buf_puts(b, name);
    if (fitting_scales_equal(t, v)) {
        text_number(num, sizeof num, v[0]);
        buf_printf(b, " %s (all %zu)", num, t);
        return;
    }
    for (size_t j = 0; j < t && j < SHOWN_SCALES; j++) {
        text_number(num, sizeof num, v[j]);
        buf_printf(b, " %s", num);
    }
    if (t > SHOWN_SCALES)
        buf_printf(b, " ... (%zu targets)", t);
}

void fitting_scales_text(struct buf *b, const struct kernel *k, const double *hp, size_t t,
                         const double *amplitudes, const double *noises)
{
    char num[32];

    for (size_t i = 0, n; i < kernel_nhp(k); i += n) {
        char name[KERNEL_NAME_MAX];
        n = hp_group(k, i, name);
        buf_puts(b, name);
        for (size_t j = 0; j < n && j < SHOWN_SCALES; j++) {
            text_number(num, sizeof num, hp[i + j]);
            buf_printf(b, " %s", num);
        }
        if (n > SHOWN_SCALES)
            buf_printf(b, " ... (%zu inputs)", n);
        buf_puts(b, "   ");
    }
    each_text(b, "amplitude", t, amplitudes);
    if (noises)
        each_text(b, "   noise", t, noises);
}
