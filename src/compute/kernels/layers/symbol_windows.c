/* compute/kernels/layers/symbol_windows.c -- the pairs of windows of two rows of symbols at each
 * squared distance (symbol_windows.h).
 *
 * All pairs with equal a - b, a diagonal, are counted together: the distances of its positions are
 * found once, and those of windows are sums of `width` neighbours.  Sixteen at a time, in bytes;
 * wide windows, and alphabets too large for bytes, one at a time. */
#include "compute/kernels/layers/symbol_windows.h"

#include <stdbool.h>
#include <string.h>

enum {
    LANES = 16,
    TILE = 1024,     /* windows of each row at a time */
    WIDTH_MOST = 31, /* of windows sixteen at a time: a pair costs the more the wider they are */
    CODES = 255      /* letters of an alphabet; the last byte is a symbol outside it */
};
typedef unsigned char bytes __attribute__((vector_size(LANES)));

static bool sixteen_at_a_time(const struct layer *w)
{
    return w->width <= WIDTH_MOST && w->channels <= CODES;
}

double symbol_windows_ns(const struct layer *w)
{
    return sixteen_at_a_time(w) ? 0.3 + 0.08 * (double)w->width : 3.5;
}

/* A diagonal. */

struct diagonal {
    size_t a, b, pairs; /* its first windows, and how many pairs there are */
};

static struct diagonal diagonal_of(size_t m, size_t n, size_t i)
{
    const size_t a = i < m ? m - 1 - i : 0, b = i < m ? 0 : i - m + 1;

    return (struct diagonal){a, b, m - a < n - b ? m - a : n - b};
}

/* One at a time.  A pair of windows shares all positions but one with the pair before it. */

/* Without branches: which symbols are equal cannot be foretold. */
static size_t distance(double c, double x, double y)
{
    return (size_t)(-(x != y) & ((x < c) + (y < c)));
}

static void count_singly(const struct layer *w, const double *x, size_t m, const double *y,
                         size_t n, size_t *count)
{
    const double c = (double)w->channels;

    for (size_t i = 0; i < m + n - 1; i++) {
        const struct diagonal d = diagonal_of(m, n, i);
        const double *p = x + d.a, *q = y + d.b;
        size_t r2 = 0;
        for (size_t j = 0; j < w->width - 1; j++)
            r2 += distance(c, p[j], q[j]);
        for (size_t j = 0; j < d.pairs; j++) {
            r2 += distance(c, p[j + w->width - 1], q[j + w->width - 1]);
            count[r2]++;
            r2 -= distance(c, p[j], q[j]);
        }
    }
}

/* Sixteen at a time. */

struct letters {
    unsigned char code[TILE + WIDTH_MOST + LANES], known[TILE + WIDTH_MOST + LANES]; /* 0, 1 */
    bool all_known;
};

static bytes at(const unsigned char *p)
{
    bytes v;

    memcpy(&v, p, sizeof v);
    return v;
}

static void encode(struct letters *l, const struct layer *w, const double *x, size_t n)
{
    l->all_known = true;
    for (size_t i = 0; i < n; i++) {
        const bool known = x[i] < (double)w->channels;
        l->code[i] = known ? (unsigned char)x[i] : CODES;
        l->known[i] = known;
        l->all_known &= known;
    }
    memset(l->code + n, 0, LANES);
    memset(l->known + n, 0, LANES);
}

/* The squared distances of n positions; where all symbols are known, halves of them. */
static void position_distances(const struct letters *x, const struct letters *y,
                               const struct diagonal *d, size_t n, unsigned char *out)
{
    const bool all_known = x->all_known && y->all_known;

    for (size_t i = 0; i < n; i += LANES) {
        const bytes differ = (bytes)(at(x->code + d->a + i) != at(y->code + d->b + i));
        const bytes v =
            all_known ? differ & 1
                      : (differ & at(x->known + d->a + i)) + (differ & at(y->known + d->b + i));
        memcpy(out + i, &v, sizeof v);
    }
}

/* Sums of `width` neighbours; behind the last pair is a sum that there cannot be. */
static void window_sums(const unsigned char *position, size_t width, size_t pairs, bytes *sum)
{
    for (size_t i = 0; i < pairs; i += LANES) {
        bytes s = at(position + i);
        for (size_t j = 1; j < width; j++)
            s += at(position + i + j);
        sum[i / LANES] = s;
    }
    for (size_t i = pairs; i % LANES != 0; i++)
        sum[i / LANES][i % LANES] = 255;
}

static void take_counts(bytes *lanes, size_t sums, size_t step, size_t *count)
{
    for (size_t k = 0; k < sums; k++) {
        for (size_t i = 0; i < LANES; i++)
            count[step * k] += lanes[k][i];
        lanes[k] = (bytes){0};
    }
}

static void count_tile(const struct letters *x, size_t m, const struct letters *y, size_t n,
                       size_t width, size_t *count)
{
    const size_t step = x->all_known && y->all_known ? 2 : 1, sums = 2 * width / step + 1;
    unsigned char position[TILE + WIDTH_MOST + 2 * LANES];
    bytes sum[TILE / LANES], lanes[2 * WIDTH_MOST + 1] = {{0}};
    size_t counted = 0; /* at most, in a lane */

    for (size_t i = 0; i < m + n - 1; i++) {
        const struct diagonal d = diagonal_of(m, n, i);
        const size_t blocks = (d.pairs + LANES - 1) / LANES;
        position_distances(x, y, &d, d.pairs + width - 1, position);
        window_sums(position, width, d.pairs, sum);
        if (counted + blocks > 255) {
            take_counts(lanes, sums, step, count);
            counted = 0;
        }
        counted += blocks;
        for (size_t k = 0; k < sums; k++) {
            const bytes own = (bytes){0} + (unsigned char)k;
            bytes found = lanes[k];
            for (size_t j = 0; j < blocks; j++)
                found -= (bytes)(sum[j] == own);
            lanes[k] = found;
        }
    }
    take_counts(lanes, sums, step, count);
}

void symbol_windows_count(const struct layer *w, const double *x, size_t m, const double *y,
                          size_t n, size_t count[2 * KERNEL_WIDTH_MOST + 1])
{
    struct letters p, q;

    memset(count, 0, (2 * w->width + 1) * sizeof *count);
    if (!sixteen_at_a_time(w)) {
        count_singly(w, x, m, y, n, count);
        return;
    }
    for (size_t a = 0; a < m; a += TILE) {
        const size_t rows = m - a < TILE ? m - a : TILE;
        encode(&p, w, x + a, rows + w->width - 1);
        for (size_t b = 0; b < n; b += TILE) {
            const size_t columns = n - b < TILE ? n - b : TILE;
            encode(&q, w, y + b, columns + w->width - 1);
            count_tile(&p, rows, &q, columns, w->width, count);
        }
    }
}
