/* compute/kernels/layers/fastconv.c -- the layer fastconv (share/doc/methods.md 4.4; FastConv1d of
 * Parkinson & Wang): phi_j = max(0, max_a f_j . window_a), j < F.  The maximum starts at 0, which
 * is the rectifier.  All filters are applied to a window by three signed Hadamard transforms and a
 * scale (3.2), D log D for D of them, in single precision, several windows at a time in the lanes
 * of a vector. */
#include "compute/kernels/layers/fastconv.h"

#include "base/mem.h"
#include "compute/cpu/simd.h"
#include "compute/features/featmap.h"
#include "compute/kernels/kernels.h"
#include "compute/kernels/layers/layer.h"
#include "compute/kernels/layers/windows.h"

#include <stdlib.h>
#include <string.h>

struct fastconv {
    struct layer layer;
    size_t d, F;           /* numbers of a window; filters */
    double *filters;       /* F x d given filters; or NULL, and */
    struct featmap *map;   /* the drawn ones: signs and scales of its only term */
    double *ref;           /* the row of fastconv_refer, or NULL */
    size_t ref_windows;    /* its windows, and */
    float *proj;           /* their projections, ref_windows x F */
};

static struct fastconv *alloc(const struct layer *l, struct err *err)
{
    struct fastconv *f = mem_calloc(1, sizeof *f, "filters", err);

    if (!f)
        return NULL;
    f->layer = *l;
    f->d = l->width * l->channels;
    f->F = l->filters;
    return f;
}

struct fastconv *fastconv_new(const struct layer *l, uint64_t seed, struct err *err)
{
    struct fastconv *f = alloc(l, err);
    struct kernel k = { .nterms = 1, .term = { { .ops = &kernel_rbf, .layer = *l } } };

    if (!f)
        return NULL;
    k.term[0].layer.ops = &layer_conv; /* filters are drawn like the projections of conv */
    f->map = featmap_new(&k, 1 + f->d, 2 * f->F, seed, err);
    if (!f->map) {
        fastconv_free(f);
        return NULL;
    }
    return f;
}

struct fastconv *fastconv_given_for_tests(const struct layer *l, const double *filters,
                                          struct err *err)
{
    struct fastconv *f = alloc(l, err);

    if (!f)
        return NULL;
    f->filters = mem_calloc(f->F * f->d, sizeof *f->filters, "filters", err);
    if (!f->filters) {
        fastconv_free(f);
        return NULL;
    }
    memcpy(f->filters, filters, f->F * f->d * sizeof *filters);
    return f;
}

void fastconv_free(struct fastconv *f)
{
    if (!f)
        return;
    featmap_free(f->map);
    free(f->filters);
    free(f->ref);
    free(f->proj);
    free(f);
}

/* Entry e of the window whose first position is at x; symbols are unit vectors. */
static double entry(const struct layer *l, const double *x, size_t e)
{
    return l->symbols ? (double)(x[e / l->channels] == (double)(e % l->channels)) : x[e];
}

/* The destination of projections: phi takes the largest ones, or keep takes all of them. */
struct sink { double *phi; float *keep; };

static void take(const struct sink *s, size_t F, size_t window, size_t j, float v)
{
    if (s->keep)
        s->keep[window * F + j] = v;
    else if ((double)v > s->phi[j])
        s->phi[j] = (double)v;
}

static void given(const struct fastconv *f, const double *x, size_t window, const struct sink *s)
{
    for (size_t j = 0; j < f->F; j++) {
        double sum = 0.0;
        for (size_t e = 0; e < f->d; e++)
            sum += f->filters[j * f->d + e] * entry(&f->layer, x, e);
        if (s->keep)
            s->keep[window * f->F + j] = (float)sum;
        else if (sum > s->phi[j])
            s->phi[j] = sum;
    }
}

/* Projects n <= lanes windows: u holds D numbers of each (D x lanes), v one block of
 * projections. */
static void drawn(const struct fastconv *f, const struct simd_real *real, const double *const *at,
                  const size_t *window, size_t n, float *u, float *v, const struct sink *s)
{
    const struct fm_term *t = &f->map->term[0];
    const size_t L = real->lanes, rows = t->nb * t->D;

    memset(u, 0, t->D * L * sizeof *u);
    for (size_t i = 0; i < n; i++)
        for (size_t q = 0; q < f->layer.width; q++) {
            const size_t C = f->layer.channels;
            if (f->layer.symbols && at[i][q] < (double)C)
                u[(q * C + (size_t)at[i][q]) * L + i] = 1.0F;
            for (size_t e = q * C; !f->layer.symbols && e < (q + 1) * C; e++)
                u[e * L + i] = (float)at[i][e];
        }
    for (size_t b = 0; b < t->nb; b++) {
        const size_t left = t->mf - b * t->D, jn = left < t->D ? left : t->D;
        for (size_t q = 0; q < 3; q++) {
            real->sign(t->D, t->signs + q * rows + b * t->D, q ? v : u, v);
            real->fht(v, t->D);
        }
        real->scale(t->D, t->scale + b * t->D, v);
        for (size_t j = 0; j < jn; j++)
            for (size_t i = 0; i < n; i++)
                take(s, f->F, window[i], b * t->D + j, v[j * L + i]);
    }
}

/* All windows of a row against all filters; windows that agree with the remembered row at the
 * same position reuse its projections. */
static enum status project(const struct fastconv *f, const double *row, const struct sink *s,
                           struct err *err)
{
    const struct simd_real *real = &cpu_simd_now()->f32;
    const size_t m = windows_count(&f->layer, row), per = f->layer.symbols ? 1 : f->layer.channels;
    const size_t bytes = f->layer.width * per * sizeof *row;
    const size_t D = f->map ? f->map->term[0].D : 0;
    const double *at[SIMD_LANES_MOST];
    size_t window[SIMD_LANES_MOST], n = 0;
    float *u = f->map ? mem_aligned(2 * D * real->lanes, sizeof *u, "windows", err) : NULL;

    if (f->map && !u)
        return ST_NOMEM;
    for (size_t a = 0; a < m; a++) {
        const double *x = row + 1 + a * per;
        if (!s->keep && a < f->ref_windows && memcmp(x, f->ref + 1 + a * per, bytes) == 0) {
            const float *p = f->proj + a * f->F;
            for (size_t j = 0; j < f->F; j++)
                s->phi[j] = (double)p[j] > s->phi[j] ? (double)p[j] : s->phi[j];
            continue;
        }
        if (f->filters) {
            given(f, x, a, s);
            continue;
        }
        at[n] = x;
        window[n++] = a;
        if (n == real->lanes) {
            drawn(f, real, at, window, n, u, u + D * real->lanes, s);
            n = 0;
        }
    }
    if (n)
        drawn(f, real, at, window, n, u, u + D * real->lanes, s);
    free(u);
    return ST_OK;
}

enum status fastconv_refer(struct fastconv *f, const double *row, struct err *err)
{
    enum { MOST = 64 << 20 }; /* largest size of the projections in bytes */
    const size_t m = windows_count(&f->layer, row), per = f->layer.symbols ? 1 : f->layer.channels;
    const size_t len = 1 + (m + f->layer.width) * per;

    if (m == 0 || f->filters || m > MOST / sizeof(float) / f->F)
        return ST_OK;
    free(f->ref);
    free(f->proj);
    f->ref_windows = 0;
    f->ref = mem_calloc(len, sizeof *f->ref, "a sequence", err);
    f->proj =
        f->ref ? mem_calloc(m, f->F * sizeof *f->proj, "a sequence's projections", err) : NULL;
    if (!f->proj)
        return ST_NOMEM;
    memcpy(f->ref, row, (1 + (size_t)row[0] * per) * sizeof *row);
    const enum status rc = project(f, row, &(struct sink){ .keep = f->proj }, err);
    if (rc == ST_OK)
        f->ref_windows = m;
    return rc;
}

enum status fastconv_row(const struct fastconv *f, const double *row, double *phi, struct err *err)
{
    memset(phi, 0, f->F * sizeof *phi);
    return project(f, row, &(struct sink){ .phi = phi }, err);
}

static void *map_make(const struct layer *l, uint64_t seed, struct err *err)
{
    return fastconv_new(l, seed, err);
}

static void map_free(void *map)
{
    fastconv_free(map);
}

static enum status map_refer(void *map, const double *row, struct err *err)
{
    return fastconv_refer(map, row, err);
}

static enum status map_apply(const void *map, const double *row, double *numbers, struct err *err)
{
    return fastconv_row(map, row, numbers, err);
}

static const struct layer_map_ops fastconv_map = { map_make, map_free, map_refer, map_apply };

static const struct layer_setting fastconv_settings[] = {
    { .name = "width", .offset = offsetof(struct layer, width), .most = KERNEL_WIDTH_MOST },
    { .name = "filters", .offset = offsetof(struct layer, filters), .most = KERNEL_FILTERS_MOST },
    { 0 },
};

const struct layer_ops layer_fastconv = {
    .name = "fastconv",
    .title = "Static convolution",
    .formula = "k(phi, phi'), phi_j = max(0, largest of filter j over all "
               "windows); width, filters",
    .cite = "Parkinson & Wang 2023; Dempster et al. 2020",
    .example = "fastconv(rbf,width=9)",
    .help = "fastconv(rbf,width=9,filters=512)   uses each filter's largest value over the windows "
            "of a sequence\n"
            "           as an input of any kernel; it is faster and can also read other columns\n",
    .kind = LAYER_NUMBERS,
    .rows = ROWS_SYMBOLS | ROWS_VECTORS,
    .start = { .width = 9, .filters = 512 },
    .settings = fastconv_settings,
    .hint = "width=9, filters=512; a lengthscale goes inside: fastconv(rbf(l=2))",
    .map = &fastconv_map,
};
