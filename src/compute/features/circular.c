/* compute/features/circular.c -- circular convolutions (circular.h): by one complex Fourier
 * transform of x + iy there and one back, of a power of two N >= 2 m numbers, where nothing wraps
 * around; what lies behind m is added to the front. */
#include "compute/features/circular.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* turn: cos and sin of 2 pi j / N for j < N / 2. */
struct circular { size_t m, N; double *turn; };

struct circular *circular_new(size_t m, struct err *err)
{
    struct circular *c = mem_calloc(1, sizeof *c, "convolutions", err);

    if (c == NULL)
        return NULL;
    c->m = m;
    for (c->N = 2; c->N < 2 * m;)
        c->N *= 2;
    c->turn = mem_calloc(c->N, sizeof *c->turn, "convolutions", err);
    if (c->turn == NULL) {
        free(c);
        return NULL;
    }
    for (size_t j = 0; j < c->N / 2; j++) {
        c->turn[2 * j] = cos(2.0 * M_PI * (double)j / (double)c->N);
        c->turn[2 * j + 1] = sin(2.0 * M_PI * (double)j / (double)c->N);
    }
    return c;
}

void circular_free(struct circular *c)
{
    if (c == NULL)
        return;
    free(c->turn);
    free(c);
}

size_t circular_work(const struct circular *c)
{
    return 4 * c->N;
}

/* The transform of N complex numbers, in natural order without any reordering (Stockham): each
 * stage goes from one array to the other.  sign: -1 there, 1 back, not divided by N.  Returns the
 * array with the result. */
static double *transform(const struct circular *c, double sign, double *from, double *to)
{
    const size_t N = c->N;

    for (size_t n = N, s = 1; n > 1; n /= 2, s *= 2) { /* N / n sub-vectors, s apart */
        const size_t half = n / 2;
        for (size_t p = 0; p < half; p++) {
            const double wr = c->turn[2 * p * s], wi = sign * c->turn[2 * p * s + 1];
            const double *a = from + 2 * s * p, *b = from + 2 * s * (p + half);
            double *y = to + 4 * s * p, *z = y + 2 * s;
            for (size_t q = 0; q < 2 * s; q += 2) {
                const double dr = a[q] - b[q], di = a[q + 1] - b[q + 1];
                y[q] = a[q] + b[q];
                y[q + 1] = a[q + 1] + b[q + 1];
                z[q] = dr * wr - di * wi;
                z[q + 1] = dr * wi + di * wr;
            }
        }
        double *was = from;
        from = to;
        to = was;
    }
    return from;
}

void circular_product(const struct circular *c, const double *x, const double *y, double *out,
                      double *work)
{
    const size_t m = c->m, N = c->N;
    double *a = work, *b = work + 2 * N;

    memset(a, 0, 2 * N * sizeof *a);
    for (size_t i = 0; i < m; i++) {
        a[2 * i] = x[i];
        a[2 * i + 1] = y[i];
    }
    double *f = transform(c, -1.0, a, b), *g = f == a ? b : a;
    /* With F of x + iy, X = (F_k + conj F_-k)/2 and Y = (F_k - conj F_-k)/2i. */
    for (size_t k = 0; k < N; k++) {
        const size_t n = (N - k) % N;
        const double pr = f[2 * k], pi = f[2 * k + 1], qr = f[2 * n], qi = -f[2 * n + 1];
        const double xr = 0.5 * (pr + qr), xi = 0.5 * (pi + qi);
        const double yr = 0.5 * (pi - qi), yi = -0.5 * (pr - qr);
        g[2 * k] = xr * yr - xi * yi;
        g[2 * k + 1] = xr * yi + xi * yr;
    }
    const double *back = transform(c, 1.0, g, f);
    for (size_t i = 0; i < m; i++)
        out[i] = (back[2 * i] + back[2 * (i + m)]) / (double)N;
}
