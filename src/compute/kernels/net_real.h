/* compute/kernels/net_real.h -- the loops of a learned map for one precision: REAL, WORD (an
 * integer of its size), PASS, NET(name), the two ways and GEMM are set by net.c, which includes
 * this once for each.  Loops over a row go by vectors of LANES numbers, then over those that are
 * left. */

typedef REAL NET(vec) __attribute__((vector_size(16), aligned(sizeof(REAL)), may_alias));
typedef WORD NET(mask) __attribute__((vector_size(16), aligned(sizeof(REAL)), may_alias));
#define LANES (16 / sizeof(REAL))
#define AT(p) (*(NET(vec) *)(p))
#define OF(p) (*(const NET(vec) *)(p))
#define WHERE(condition, v) ((NET(vec))((condition) & (NET(mask))(v)))

static REAL NET(fold)(const NET(vec) *v)
{
    REAL sum = 0;

    for (size_t i = 0; i < LANES; i++)
        sum += (*v)[i];
    return sum;
}

/* Pixel (y, x) of a convolution: the first of the 3 pixels of a line that are inside the image, and
 * how many are. */
static size_t NET(inside)(const struct net_layer *l, size_t x, size_t *from)
{
    *from = x > 0 ? x - 1 : 0;
    return (x + 2 < l->cols ? x + 2 : l->cols) - *from;
}

/* The 3 x 3 pixels of each place of an image h beside each other, zeros outside. */
static void NET(patches)(const struct net_layer *l, const REAL *h, REAL *to)
{
    const size_t planes = l->in / 9;

    for (size_t y = 0; y < l->rows; y++)
        for (size_t x = 0; x < l->cols; x++, to += l->in) {
            size_t from;
            const size_t n = NET(inside)(l, x, &from), skip = x > 0 ? 0 : planes;
            for (size_t k = 0; k < 3; k++) {
                REAL *line = to + k * 3 * planes;
                if (n < 3 || y + k == 0 || y + k > l->rows)
                    memset(line, 0, 3 * planes * sizeof *line);
                if (y + k == 0 || y + k > l->rows)
                    continue;
                const REAL *of = h + ((y + k - 1) * l->cols + from) * planes;
                for (size_t j = 0; j < n * planes; j++)
                    line[skip + j] = of[j];
            }
        }
}

/* Adds the derivatives in these pixels to those in the image, dh. */
static void NET(patches_back)(const struct net_layer *l, const REAL *from, REAL *dh)
{
    const size_t planes = l->in / 9;

    for (size_t y = 0; y < l->rows; y++)
        for (size_t x = 0; x < l->cols; x++, from += l->in) {
            size_t first;
            const size_t n = NET(inside)(l, x, &first) * planes, skip = x > 0 ? 0 : planes;
            for (size_t k = 0; k < 3; k++) {
                const REAL *line = from + k * 3 * planes + skip;
                REAL *to = dh + ((y + k - 1) * l->cols + first) * planes;
                size_t j = 0;
                if (y + k == 0 || y + k > l->rows)
                    continue;
                for (; j + LANES <= n; j += LANES)
                    AT(to + j) += OF(line + j);
                for (; j < n; j++)
                    to[j] += line[j];
            }
        }
}

/* z (n rows of l->makes) = rows of h through a linear layer; room: of net_patch_size. */
static void NET(linear)(const struct net_layer *l, const REAL *w, size_t n, const REAL *h, REAL *z,
                        REAL *room)
{
    const size_t chunk = l->rows ? patch_rows(l) : n;

    for (size_t r = 0; r < n * l->places; r++)
        memcpy(z + r * l->out, w + l->b, l->out * sizeof *z);
    for (size_t r = 0; r < n; r += chunk) {
        const size_t m = n - r < chunk ? n - r : chunk;
        const REAL *x = h + r * l->reads;
        for (size_t i = 0; l->rows && i < m; i++)
            NET(patches)(l, x + i * l->reads, room + i * l->places * l->in);
        GEMM(true, false, l->out, m * l->places, l->in, 1, w + l->w, l->in, l->rows ? room : x,
             l->in, 1, z + r * l->makes, l->out);
    }
}

/* Standardises each row of z; *rstd: one over its standard deviation (with 1e-5, 23.2). */
static void NET(standardise)(size_t n, size_t width, REAL *z, REAL *rstd)
{
    const size_t whole = width - width % LANES;

    for (size_t r = 0; r < n; r++, z += width) {
        NET(vec) sum = { 0 }, squares = { 0 };
        for (size_t j = 0; j < whole; j += LANES)
            sum += OF(z + j);
        REAL mean = NET(fold)(&sum), var;
        for (size_t j = whole; j < width; j++)
            mean += z[j];
        mean /= (REAL)width;
        for (size_t j = 0; j < whole; j += LANES) {
            AT(z + j) -= mean;
            squares += OF(z + j) * OF(z + j);
        }
        var = NET(fold)(&squares);
        for (size_t j = whole; j < width; j++) {
            z[j] -= mean;
            var += z[j] * z[j];
        }
        rstd[r] = 1 / (REAL)sqrt((double)(var / (REAL)width) + NORM_EPS);
        for (size_t j = 0; j < whole; j += LANES)
            AT(z + j) *= rstd[r];
        for (size_t j = whole; j < width; j++)
            z[j] *= rstd[r];
    }
}

/* The means and deviations of a batch norm. */
static void NET(centre)(const struct net_layer *l, const REAL *w, size_t n, REAL *z)
{
    const REAL *mean = w + l->mean, *rstd = w + l->rstd;

    for (size_t r = 0; r < n * l->places; r++, z += l->out)
        for (size_t j = 0; j < l->out; j++)
            z[j] = (z[j] - mean[j]) * rstd[j];
}

/* h = max(gain hat + shift, 0), without a norm max(hat, 0). */
static void NET(activate)(const struct net_layer *l, const REAL *w, size_t n, const REAL *hat,
                          REAL *h)
{
    const size_t width = l->out, whole = width - width % LANES;
    const bool norm = l->gain != SIZE_MAX;
    const REAL *gain = norm ? w + l->gain : NULL, *shift = norm ? w + l->shift : NULL;

    for (size_t r = 0; r < n; r++, hat += width, h += width) {
        for (size_t j = 0; norm && j < whole; j += LANES) {
            const NET(vec) v = OF(gain + j) * OF(hat + j) + OF(shift + j);
            AT(h + j) = WHERE(v > 0, v);
        }
        for (size_t j = 0; !norm && j < whole; j += LANES)
            AT(h + j) = WHERE(OF(hat + j) > 0, OF(hat + j));
        for (size_t j = whole; j < width; j++) {
            const REAL v = norm ? gain[j] * hat[j] + shift[j] : hat[j];
            h[j] = v > 0 ? v : 0;
        }
    }
}

/* The four numbers of channels j .. of a pixel of a pooled image, behind the gain and shift of the
 * norm: a vector of channels, or with one lane alone that channel. */
static void NET(four)(const struct net_layer *l, const REAL *gain, const REAL *shift,
                      const REAL *hat, size_t j, NET(vec) v[4])
{
    for (size_t k = 0; k < 4; k++) {
        v[k] = OF(hat + (k / 2 * l->cols + k % 2) * l->out + j);
        if (gain)
            v[k] = OF(gain + j) * v[k] + OF(shift + j);
    }
}

static REAL NET(one)(const struct net_layer *l, const REAL *gain, const REAL *shift,
                     const REAL *hat, size_t j, size_t k)
{
    const REAL v = hat[(k / 2 * l->cols + k % 2) * l->out + j];

    return gain ? gain[j] * v + shift[j] : v;
}

/* The largest of each 2 x 2 pixels of n images of normalised numbers, where it is above 0. */
static void NET(pool)(const struct net_layer *l, const REAL *w, size_t n, const REAL *hat, REAL *h)
{
    const size_t whole = l->out - l->out % LANES, up = l->rows / 2, across = l->cols / 2;
    const REAL *gain = l->gain != SIZE_MAX ? w + l->gain : NULL;
    const REAL *shift = gain ? w + l->shift : NULL;

    for (size_t i = 0; i < n * up * across; i++, h += l->out) {
        const size_t r = i / (up * across), y = i / across % up, x = i % across;
        const REAL *at = hat + r * l->makes + (2 * y * l->cols + 2 * x) * l->out;
        for (size_t j = 0; j < whole; j += LANES) {
            NET(vec) v[4], most = { 0 };
            NET(four)(l, gain, shift, at, j, v);
            for (size_t k = 0; k < 4; k++)
                most = WHERE(v[k] > most, v[k]) + WHERE(v[k] <= most, most);
            AT(h + j) = most;
        }
        for (size_t j = whole; j < l->out; j++) {
            h[j] = 0;
            for (size_t k = 0; k < 4; k++) {
                const REAL v = NET(one)(l, gain, shift, at, j, k);
                h[j] = v > h[j] ? v : h[j];
            }
        }
    }
}

/* The derivatives dh in these, each at the pixel that was the largest: to (n images as made). */
static void NET(pool_back)(const struct net_layer *l, const REAL *w, size_t n, const REAL *hat,
                           const REAL *dh, REAL *to)
{
    const size_t whole = l->out - l->out % LANES, up = l->rows / 2, across = l->cols / 2;
    const REAL *gain = l->gain != SIZE_MAX ? w + l->gain : NULL;
    const REAL *shift = gain ? w + l->shift : NULL;

    memset(to, 0, n * l->makes * sizeof *to);
    for (size_t i = 0; i < n * up * across; i++, dh += l->out) {
        const size_t r = i / (up * across), y = i / across % up, x = i % across;
        const size_t at = r * l->makes + (2 * y * l->cols + 2 * x) * l->out;
        for (size_t j = 0; j < whole; j += LANES) {
            NET(vec) v[4], most = { 0 }, left = OF(dh + j);
            NET(four)(l, gain, shift, hat + at, j, v);
            for (size_t k = 0; k < 4; k++)
                most = WHERE(v[k] > most, v[k]) + WHERE(v[k] <= most, most);
            for (size_t k = 0; k < 4; k++) {
                AT(to + at + (k / 2 * l->cols + k % 2) * l->out + j) = WHERE(v[k] == most, left);
                left = WHERE(v[k] != most, left);
            }
        }
        for (size_t j = whole; j < l->out; j++) {
            size_t best = 0;
            for (size_t k = 1; k < 4; k++)
                if (NET(one)(l, gain, shift, hat + at, j, k) >
                    NET(one)(l, gain, shift, hat + at, j, best))
                    best = k;
            to[at + (best / 2 * l->cols + best % 2) * l->out + j] = dh[j];
        }
    }
}

/* What a hidden layer gives on. */
static void NET(give)(const struct net_layer *l, const REAL *w, size_t n, const REAL *hat, REAL *h)
{
    if (l->rows)
        NET(pool)(l, w, n, hat, h);
    else
        NET(activate)(l, w, n, hat, h);
}

void NET_FORWARD(const struct net_shape *s, const REAL *w, size_t n, const struct PASS *p)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];
    const size_t one = net_widest(s, layer) * n;
    REAL *f = p->f, *rstd = p->rstd, *h = p->work, *own = h + one, *spread = own + one;
    REAL *room = h + 3 * one + n;

    for (size_t i = 0; i < s->depth; i++) {
        REAL *z = p->hat ? p->hat + layer[i].before * n : own;
        NET(linear)(&layer[i], w, n, i ? h : p->x, z, room);
        if (s->norm == NET_LAYER)
            NET(standardise)(n, layer[i].makes, z, rstd ? rstd + i * n : spread);
        else if (s->norm == NET_BATCH)
            NET(centre)(&layer[i], w, n, z);
        NET(give)(&layer[i], w, n, z, h);
    }
    NET(linear)(&layer[s->depth], w, n, h, f, room);
    for (size_t r = 0; s->unit_rows && r < n; r++) {
        REAL sum = 0;
        for (size_t j = 0; j < s->out; j++)
            sum += f[r * s->out + j] * f[r * s->out + j];
        const REAL inverse = sum > 0 ? 1 / (REAL)sqrt((double)sum) : 0;
        for (size_t j = 0; j < s->out; j++)
            f[r * s->out + j] *= inverse;
        if (rstd)
            rstd[s->depth * n + r] = inverse;
    }
}

/* The gradient in the weights and shifts of a linear layer from dz (n rows of l->makes), and unless
 * dh is NULL that in what it reads. */
static void NET(linear_back)(const struct net_layer *l, const REAL *w, size_t n, const REAL *h,
                             const REAL *dz, REAL *grad, REAL *dh, REAL *room)
{
    const size_t whole = l->out - l->out % LANES, chunk = l->rows ? patch_rows(l) : n;
    REAL *db = grad + l->b;

    for (size_t r = 0; r < n; r += chunk) {
        const size_t m = n - r < chunk ? n - r : chunk, places = m * l->places;
        const REAL *x = h + r * l->reads, *from = dz + r * l->makes;
        for (size_t i = 0; l->rows && i < m; i++)
            NET(patches)(l, x + i * l->reads, room + i * l->places * l->in);
        GEMM(false, true, l->in, l->out, places, 1, l->rows ? room : x, l->in, from, l->out, r > 0,
             grad + l->w, l->in);
        if (!dh)
            continue;
        REAL *to = dh + r * l->reads;
        GEMM(false, false, l->in, places, l->out, 1, w + l->w, l->in, from, l->out, 0,
             l->rows ? room : to, l->in);
        if (l->rows)
            memset(to, 0, m * l->reads * sizeof *to);
        for (size_t i = 0; l->rows && i < m; i++)
            NET(patches_back)(l, room + i * l->places * l->in, to + i * l->reads);
    }
    for (size_t j = 0; j < l->out; j++)
        db[j] = 0;
    for (size_t r = 0; r < n * l->places; r++, dz += l->out) {
        for (size_t j = 0; j < whole; j += LANES)
            AT(db + j) += OF(dz + j);
        for (size_t j = whole; j < l->out; j++)
            db[j] += dz[j];
    }
}

/* dh, the derivatives behind the ReLU of one place of a layer, times the gain of its norm; their
 * sums, alone and times the normalised numbers, are added to. */
static void NET(gain_back)(const struct net_layer *l, const REAL *w, const REAL *hat, REAL *dh,
                           REAL *grad, NET(vec) sums[2], REAL rest[2])
{
    const REAL *gain = w + l->gain, *shift = w + l->shift;
    REAL *dgain = grad + l->gain, *dshift = grad + l->shift;
    const size_t whole = l->out - l->out % LANES;

    for (size_t j = 0; j < whole; j += LANES) {
        const NET(vec) t = OF(hat + j);
        const NET(vec) g = WHERE(OF(gain + j) * t + OF(shift + j) > 0, OF(dh + j));
        AT(dgain + j) += g * t;
        AT(dshift + j) += g;
        AT(dh + j) = g * OF(gain + j);
        sums[0] += OF(dh + j);
        sums[1] += OF(dh + j) * t;
    }
    for (size_t j = whole; j < l->out; j++) {
        const REAL g = gain[j] * hat[j] + shift[j] > 0 ? dh[j] : 0;
        dgain[j] += g * hat[j];
        dshift[j] += g;
        dh[j] = g * gain[j];
        rest[0] += dh[j];
        rest[1] += dh[j] * hat[j];
    }
}

/* dh, the derivatives behind a layer's ReLU, becomes that before its norm (23.3). */
static void NET(norm_back)(const struct net_layer *l, const REAL *w, size_t n, const REAL *hat,
                           const REAL *rstd, REAL *dh, REAL *grad)
{
    const size_t width = l->makes, whole = width - width % LANES;

    for (size_t j = 0; j < l->out; j++)
        grad[l->gain + j] = grad[l->shift + j] = 0;
    for (size_t r = 0; r < n; r++, hat += width, dh += width) {
        NET(vec) sums[2] = { { 0 }, { 0 } };
        REAL rest[2] = { 0, 0 };
        for (size_t k = 0; k < l->places; k++)
            NET(gain_back)(l, w, hat + k * l->out, dh + k * l->out, grad, sums, rest);
        const REAL mean = (NET(fold)(&sums[0]) + rest[0]) / (REAL)width;
        const REAL slope = (NET(fold)(&sums[1]) + rest[1]) / (REAL)width;
        for (size_t j = 0; j < whole; j += LANES)
            AT(dh + j) = (OF(dh + j) - mean - OF(hat + j) * slope) * rstd[r];
        for (size_t j = whole; j < width; j++)
            dh[j] = (dh[j] - mean - hat[j] * slope) * rstd[r];
    }
}

/* The derivatives before rows=unit (23.4). */
static void NET(unit_back)(const struct net_shape *s, size_t n, const struct PASS *p, REAL *df)
{
    const REAL *f = p->f;

    for (size_t r = 0; s->unit_rows && r < n; r++, f += s->out, df += s->out) {
        REAL along = 0;
        for (size_t j = 0; j < s->out; j++)
            along += f[j] * df[j];
        for (size_t j = 0; j < s->out; j++)
            df[j] = (df[j] - along * f[j]) * p->rstd[s->depth * n + r];
    }
}

void NET_BACK(const struct net_shape *s, const REAL *w, size_t n, const struct PASS *p, REAL *df,
              REAL *grad)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];
    const size_t one = net_widest(s, layer) * n;
    const REAL *rstd = p->rstd;
    REAL *h = p->work, *dz = h + one, *dh = dz + one, *room = h + 3 * one + n;

    NET(unit_back)(s, n, p, df);
    const REAL *from = df;
    for (size_t i = s->depth + 1; i-- > 0;) {
        const struct net_layer *below = &layer[i - (i > 0)];
        const REAL *hat = p->hat + below->before * n;
        if (i > 0)
            NET(give)(below, w, n, hat, h);
        NET(linear_back)(&layer[i], w, n, i ? h : p->x, from, grad, i ? dh : NULL, room);
        if (i == 0)
            break;
        REAL *spare = dz;
        if (below->rows)
            NET(pool_back)(below, w, n, hat, dh, dz);
        else
            dz = dh, dh = spare;
        if (s->norm == NET_LAYER)
            NET(norm_back)(below, w, n, hat, rstd + (i - 1) * n, dz, grad);
        else
            for (size_t e = 0; e < n * below->makes; e++)
                dz[e] = hat[e] > 0 ? dz[e] : 0;
        from = dz;
    }
}

#undef LANES
#undef AT
#undef OF
#undef WHERE
